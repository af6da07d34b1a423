/*
 * host.h - whether a process went because the host's memory was used up, and not the GPU's.
 */
#ifndef MEMANA_HOST_H
#define MEMANA_HOST_H

#include "analysis.h"

/* X(NAME, word) - what the traces say of it. */
#define HOST_VERDICT_LIST(X)                                                                       \
	X(UNKNOWN, "")        /* nothing: it left in order, or there was room, or nobody looked */ \
	X(KILLED, "killed")   /* the kernel says that it killed for want of memory */              \
	X(CGROUP, "cgroup")   /* it was gone while its cgroup was at its limit */                  \
	X(MACHINE, "machine") /* it was gone while the machine had nothing left */                 \
	X(LEFT, "left")       /* it left in order while one of the two was as good as used up */

enum host_verdict {
#define HOST_VERDICT_ENUM(name, word) HOST_##name,
	HOST_VERDICT_LIST(HOST_VERDICT_ENUM)
#undef HOST_VERDICT_ENUM
};

/* Static storage. */
const char *host_verdict_word(enum host_verdict verdict);

/*
 * Without the kernel's word, only when its GPUs had room at the end (a twentieth) and no request for GPU memory had just
 * failed. A process that left in order may have been told to: Ray ends one worker, and the others follow it.
 */
enum host_verdict host_verdict(const struct analysis *analysis, uint32_t process);

/*
 * Whether the host's memory is as good as used up by these figures: HOST_CGROUP, HOST_MACHINE, HOST_UNKNOWN: no. It
 * is from 95 % on, where Ray ends workers. The machine's memory is not recorded: at least the bytes that the cgroup
 * uses, without those that can be dropped, and the available bytes.
 */
enum host_verdict host_pressure(const struct analysis_host *host);

#endif
