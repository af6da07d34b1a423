/* host.h - whether a process ended because the host's memory, not the GPU's, was used up. */
#ifndef MEMANA_HOST_H
#define MEMANA_HOST_H

#include "analysis.h"

/* X(NAME, word): the end of a process, by the evidence of the traces. */
#define HOST_VERDICT_LIST(X)                                                                            \
	X(UNKNOWN, "")        /* no sign: it left in order, or there was room, or there is no sample */ \
	X(KILLED, "killed")   /* the kernel reports that it killed for lack of memory */                \
	X(CGROUP, "cgroup")   /* killed while its cgroup was at its limit */                            \
	X(MACHINE, "machine") /* killed while the machine had no memory left */                         \
	X(LEFT, "left")       /* left in order while the cgroup or the machine was nearly full */

enum host_verdict {
#define HOST_VERDICT_ENUM(name, word) HOST_##name,
	HOST_VERDICT_LIST(HOST_VERDICT_ENUM)
#undef HOST_VERDICT_ENUM
};

/* Static storage. */
const char *host_verdict_word(enum host_verdict verdict);

/*
 * Without the kernel's report, the verdict needs room on its GPUs at the end (a twentieth) and no recent failure of a
 * GPU request. A process that left in order may still count: Ray ends one worker, and the others follow.
 */
enum host_verdict host_verdict(const struct analysis *analysis, uint32_t process);

/*
 * Whether the host's memory is nearly used up: HOST_CGROUP, HOST_MACHINE, or HOST_UNKNOWN for no. The limit is 95 %,
 * where Ray ends workers. The machine's total is not recorded. It is at least the bytes that the cgroup uses, without
 * droppable bytes, plus the available bytes.
 */
enum host_verdict host_pressure(const struct analysis_host *host);

#endif
