/*
 * options.h - the options of a recording: one struct, one list, one text form. The launcher parses the command line
 * into the struct and puts the text into the environment (MEMREC_OPTIONS), where the agent and the collector read it.
 * No allocation, no locale, no stdio, because the agent runs this code inside the target.
 *
 * Text form: "key=value key=value ..."; bytes of values other than letters, digits and _ . / - are %XX. A reader also
 * accepts "key:value+key:value", because some launchers split their variables at '=', ',' and blanks.
 */
#ifndef MEMREC_OPTIONS_H
#define MEMREC_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#define MEMREC_OPTIONS_VARIABLE "MEMREC_OPTIONS"
#define MEMREC_OPTIONS_MAX 16384u /* bytes of the text form with NUL */
#define MEMREC_PATH_MAX 4096u

/* Beside a ring, and left when it is gone (rundir.h): such a name is not to be used again. */
#define MEMREC_DONE_SUFFIX ".done"

/* Notes of the agent in run_dir: symbolic links PID.SUFFIX, whose target is the text of the note: */
#define MEMREC_FAILED_SUFFIX ".failed"       /* why the process is not recorded (a sentence) */
#define MEMREC_ELSEWHERE_SUFFIX ".elsewhere" /* path of its ring, which is not in run_dir */
#define MEMREC_ATTACHED_SUFFIX ".attached"   /* "on": memrec attach has loaded the agent, and it records */
#define MEMREC_ATTACH_BYTES (1u << 17) /* bound of its code: paths and options in it take four times their length */
#define MEMREC_ATTACH_SUFFIX ".attach" /* a file with memrec attach's code for the process; removed: memrec gave up */

/*
 * Likewise for a source that was not seen while nothing was recorded yet: the reason (a sentence). memrec reports the
 * note if nothing was recorded in the end. X(source, suffix, what the process did)
 */
#define MEMREC_UNSEEN_LIST(X)                                                                                \
	X(MT_SOURCE_CUPTI, ".unseen", "used CUDA and took no tensor memory; driver calls were not recorded") \
	X(MT_SOURCE_TENSORS_CUDA, ".torch", "ran PyTorch; its tensors on the GPU were not recorded")         \
	X(MT_SOURCE_TENSORS_CPU, ".cpu", "ran PyTorch; its tensors on the CPU were not recorded")

enum memrec_stacks { MEMREC_STACKS_PYTHON = 1, MEMREC_STACKS_NATIVE = 2, MEMREC_STACKS_NATIVE_ALWAYS = 4 };
enum memrec_cpu { MEMREC_CPU_AUTO = 0, MEMREC_CPU_ON = 1, MEMREC_CPU_OFF = 2 };

/*
 * Numbers: X(member, key, default, smallest, largest). `stacks`: bits of enum memrec_stacks; by default Python
 * everywhere and native frames where they are cheap to have or the only ones (architecture, "Sources").
 */
#define MEMREC_NUMBER_LIST(X)                                                                                     \
	X(depth, "depth", 32, 0, 256)                                                                             \
	X(stacks, "stacks", MEMREC_STACKS_PYTHON | MEMREC_STACKS_NATIVE, 0, 7)                                    \
	X(steps, "steps", 0, 0, UINT32_MAX)                                                                       \
	X(skip, "skip", 0, 0, UINT32_MAX)                                                                         \
	X(paused, "paused", 0, 0, 1) /* record nothing until memrec start says so (control.h) */                  \
	X(cpu, "cpu", MEMREC_CPU_AUTO, 0, 2)                                                                      \
	X(no_cupti, "no-cupti", 0, 0, 1)                                                                          \
	X(yield_cupti, "yield-cupti", 0, 0, 1) /* give the subscription to another tool that asks */              \
	X(no_census, "no-census", 0, 0, 1)                                                                        \
	X(no_modules, "no-modules", 0, 0, 1)                                                                      \
	X(census_ms, "census-ms", 20000, 0, 3600000) /* before a look at models without optimizer steps */        \
	X(names_ms, "names-ms", 1000, 0, 3600000)    /* at least, between two tellings of the names of modules */ \
	X(duration, "duration", 0, 0, UINT32_MAX)    /* s until the recording ends, 0: never */                   \
	X(attached, "attached", 0, 0, 1)             /* memrec attach: the process ran already */                 \
	X(keep, "keep", 0, 0, UINT64_MAX)            /* bytes of trace, 0: everything */                          \
	X(wait_ms, "wait-ms", 100, 0, 60000)         /* longest time that a full ring holds up one call */        \
	X(slot_bytes, "slot-bytes", 1 << 20, 1 << 16, 1 << 26)   /* ring slot, a power of two */                  \
	X(log_bytes, "log-bytes", 256 << 20, 1 << 20, 256 << 20) /* definitions in the ring */

/* Texts: X(member, key) - char[MEMREC_PATH_MAX], "" when not given. */
#define MEMREC_TEXT_LIST(X)                                                                              \
	X(output, "output") /* absolute, with its %p %r %h */                                            \
	X(step_mark, "step-mark")                                                                        \
	X(run_dir, "run-dir")     /* the launcher's folder for rings; "": agent picks a place */         \
	X(launch, "launch")       /* ID of the run by its launcher (memtrace/runs.h); "": no launcher */ \
	X(collector, "collector") /* absolute path of the memrec program */

struct memrec_options {
#define MEMREC_NUMBER_MEMBER(member, key, def, min, max) uint64_t member;
	MEMREC_NUMBER_LIST(MEMREC_NUMBER_MEMBER)
#undef MEMREC_NUMBER_MEMBER
#define MEMREC_TEXT_MEMBER(member, key) char member[MEMREC_PATH_MAX];
	MEMREC_TEXT_LIST(MEMREC_TEXT_MEMBER)
#undef MEMREC_TEXT_MEMBER
};

void memrec_options_init(struct memrec_options *options); /* the defaults */

/* 0, or -MT_E_LIMIT when `size` bytes are too few. */
int memrec_options_encode(const struct memrec_options *options, char *text, size_t size);

/* Starts from the defaults; unknown keys are ignored (an older agent under a newer launcher). 0 or -MT_E_ARGUMENT. */
int memrec_options_decode(struct memrec_options *options, const char *text);

/* Whether rings may lie in shared memory, for the launcher, and for the agent without a launcher. */

/*
 * 1: RING_SHM_DIR is writable and has much room. NCCL and data loader workers use it as well. A container has 64 MiB by
 * default, which rings must never fill.
 */
int shm_has_room(void);

#endif
