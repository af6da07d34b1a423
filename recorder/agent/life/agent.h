/*
 * agent.h - the part of memrec that lives inside the recorded process, seen by its hooks.
 *
 *     asleep ──options in the environment──> armed ──first memory event──> starting ──> on ──> off
 *        ^                                                                              │
 *        └───────────────────────────── fork: the child ────────────────────────────────┘
 *
 * Under `memrec --paused` the states are paused ──memrec start──> armed .. on ──memrec stop──> paused (pause.c).
 *     memrec attach brings the agent into a process that runs, and back from `off` to `armed`.
 *
 * A hook fills in a ring_event and hands it over. From then on: no malloc, no lock, no GIL, no CUDA or CUPTI call,
 * no stdio, errno as it was. Every function here may be called at any time in any state, from any thread.
 */
#ifndef RECORDER_AGENT_H
#define RECORDER_AGENT_H

#include <stdint.h>
#include "agent/ring/ring.h"
#include "agent/stacks/stack.h"
#include "memtrace/event.h"
#include "shared/control.h"
#include "shared/options.h"

/*
 * A memory event: the first one of the process starts the recording. Fill in kind, device_type, device_index and the
 * fields of the kind; the rest 0. The event is changed.
 */
void agent_memory(struct ring_event *event, enum stack_wish wish);

/* A range, mark or phase: kept in memory until a memory event starts the recording. NULL texts are empty. */
void agent_mark(enum mt_kind kind, uint64_t handle, const char *name, const char *domain);

/* An event of no interest unless the process is being recorded already. */
void agent_follow(enum mt_kind kind);

/*
 * Something that was found out on the way, with up to two texts (at most RING_TEXT_MAX, the second at most 255 bytes), while
 * the process is being recorded. Fill in the event as for agent_memory; 1: it was taken, 0: nothing is recorded.
 */
int agent_tell(struct ring_event *event, const char *name, const char *second);

/*
 * After agent_attach or agent_start_telling: something that was there before the recording, as a birth (ring.h, RING_BEFORE); an event of kind MARK
 * ends the telling. 1: it was taken, 0: nothing is recorded.
 */
int agent_before(struct ring_event *event);

/*
 * Does `work` on a stack of ours, as a part of the recorder: what a signal handler allocates meanwhile on this thread is lost,
 * and counted. It may have stopped `work` inside the loader, with the loader's lock half given back. 0: not done, because
 * this thread is in the recorder already, must be left alone, or no stack is free. `work` hands over no events.
 */
int agent_work(void (*work)(void *context), void *context);

/* 1: the caller has interrupted the recorder on this thread: it is a signal handler's. */
int agent_is_inside(void);

/* 1: the recording runs, and this thread may take part. */
int agent_is_recording(void);

/* 1: modules are on recorded stacks. */
int agent_has_instances(void);

/* Modules that came in on stacks and have not been told by their names. */
uint32_t agent_untold(void);

/* A module of the program has been told by its name: the object and its class. */
void agent_told(const void *module, const void *type);

/* All modules that could be found have been told; `untold`: agent_untold when this began. */
void agent_all_told(uint32_t untold);

/* Another number in a forked child that is recorded by itself, and in each further recording. */
uint64_t agent_life(void);

/* The calling thread runs autograd's loop. */
void agent_thread_is_autograd(void);

/* The calling thread must not make system calls any more: it is left alone, and its events are lost. */
void agent_thread_is_sealed(void);
int agent_is_sealed(void); /* 1: this thread */

/* How a source of events is doing; at most 255 bytes of `why` are copied. Reported once the recording starts. */
void agent_source(enum mt_source source, enum mt_source_state state, const char *why);

/* A further word about a source: in place of its last `why`. */
void agent_source_note(enum mt_source source, const char *why);

/* 1: the source has said how it is doing. */
int agent_has_source(enum mt_source source);

/* "CUPTI failed" where the environment says that another tool has the driver's one place for tools. */
void agent_source_check_injection(void);

/* For the start of a recording: its header is there, to be written to from the state ON on; and then: what was said before. */
void agent_source_begin(struct ring_header *header);
void agent_source_publish(void);

/* The options; NULL: this process is not to be recorded. Constant once they are there. */
const struct memrec_options *agent_options(void);

/* Begins with the default options, where nobody has given any. Nothing if another copy of the agent is at it. */
void agent_begin(void);

/*
 * Begins with these options in a process that runs (memrec attach): there was no recording, or the last one is over. The agent
 * is armed then. -MT_E_BUSY: it is recorded, or a thread is still inside of the last recording; -MT_E_MEMORY: the agent could
 * not begin, or another copy of it is there. One call at a time, not in a hook.
 */
int agent_attach(const struct memrec_options *options);

/* Starts the recording without waiting for memory to be taken. 1: it runs; 0: agent_place_failed has said why not. */
int agent_start(void);

/*
 * Under `memrec --paused`: from now on a thread that sees a wish to record calls `ask`, with signals held. 1: another thread was asked,
 * and will call agent_start_telling; the recording begins without that thread after a second. 0: it cannot be asked.
 */
void agent_ask_first(int (*ask)(void));

/* 1: it was asked, and the recording has not begun. */
int agent_is_awaited(void);

/* Begins the wished recording. Its first events are allocations from before the recording (agent_before). 1: call agent_before now. Not in a hook. */
int agent_start_telling(void);

/* The answer to memrec attach: a note for the launcher (place.c). NULL: the process is recorded; else why not (a sentence). */
void agent_place_attached(const struct memrec_options *options, const char *why);

/* 1: there was a recording, it has ended, and this thread may do what is left to do. */
int agent_is_over(void);

/* 1: the recording runs, the next memory event will start it, or the process is paused: it is worth being called. */
int agent_is_listening(void);

/*
 * For hooks that report memory, before anything else: 1: the process is paused, and the hook has nothing to do. One or
 * two loads; the first call in a paused process makes its page. errno is kept.
 */
int agent_is_paused(void);

/* 1: no recording of this process has begun, or the trace of the last one is closed. Looks after a collector that is gone. */
int agent_is_whole(void);

/* The CUDA driver has started in this process: a forked child that slept wakes up. */
void agent_cuda_started(void);
int agent_has_cuda(void);

/*
 * Makes the ring where the options say, else in shared memory that has room (shm_has_room), else beside the output, and fills
 * in its header; not published yet (place.c). 0, -MT_E_SPACE, -MT_E_SYSTEM.
 */
int agent_place_ring(struct ring *ring, const struct memrec_options *options);

/* Maps the process's page of wishes, in the folder of the run or another one as above; `path` has MEMREC_PATH_MAX bytes. Errors of control_map. */
int agent_place_control(struct control **page, char *path, const struct memrec_options *options);

/* Takes the ring's file away again, and the folder that was made for it. */
void agent_place_remove(struct ring *ring, const struct memrec_options *options);

/* The recording could not begin because of `error`: leaves a note for the launcher (place.c). */
void agent_place_failed(const struct memrec_options *options, int error);

/* A source is not seen here: a note for the launcher, which tells of some of them when nothing was recorded (place.c). */
void agent_place_unseen(const struct memrec_options *options, enum mt_source source, const char *why);

/*
 * Starts the collector for the published ring (spawn.c). The run's folder is an argument that the launcher may find it by,
 * "": there is no launcher. 0; -MT_E_MISSING: no program given or it did not start.
 */
int agent_spawn_collector(const char *program, const char *ring_path, const char *run_dir);

/* 1: the ring is there, and no collector has it any more (it was killed: place.c). Calls open() and close(). */
int agent_place_is_left(const struct ring *ring);

/* Fills in who is recorded in a header that nobody else sees yet (identity.c). */
void agent_identify(struct ring_header *header, const struct memrec_options *options);

/* The clocks at the begin of a recording. */
void agent_read_clocks(struct ring_header *header);

/* Field 22 of /proc/self/stat: tells processes with the same pid apart. 0: unreadable. */
uint64_t agent_start_ticks(void);

/* The agent's defaults when one variable alone brought it in. */

/*
 * Fills in the texts that are empty and must not be. The output: trace.zst in the working folder, with the pid in its
 * name when nobody is there to see that it is one alone. The collector: memrec beside libmemrec.so, or in ../../bin
 * of it; left empty when it is not there. Once, at the start.
 */
void memrec_defaults(struct memrec_options *options);

/* 1: environment variable `variable` is the path of the file that we were loaded from, by whatever name. */
int defaults_name_us(const char *variable);

#endif
