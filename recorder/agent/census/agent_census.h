/*
 * agent_census.h - asks PyTorch for the kind of its memory, instead of guessing.
 *
 *     tensor event ── census_look ── Py_AddPendingCall ──> main thread, between two bytecodes, with its GIL:
 *                                                            begin() of census.py registers a hook
 *     optimizer.step() ── PyTorch ── hook ── after_step() of census.py ── tell ── agent_tell ──> ring
 *
 * The interpreter is found by stack_python_find, and its functions by name in the loaded libraries. The agent uses no
 * header or library of Python and no ctypes, which would need an import and release the GIL at each call. No thread
 * waits for the GIL: Py_AddPendingCall adds a call to a short list, and Python runs the list later.
 *
 * census.py is the only Python code of the agent. It does not run while the thread is traced or profiled (sys.settrace,
 * sys.setprofile), because the program would see it.
 */
#ifndef RECORDER_AGENT_CENSUS_H
#define RECORDER_AGENT_CENSUS_H

/* PyTorch reported a tensor. Cheap; any thread, under any lock, with or without the GIL; errno is kept. */
void census_look(void);

/*
 * After a failed request for memory: modules are named once more, when Python's main thread comes by. Callable where
 * census_look is.
 */
void census_oom(void);

/*
 * After memrec attach: asks PyTorch's allocator for its blocks, when Python's main thread comes by. agent_before gets
 * each block, and then the end. Do not call in a hook.
 */
void census_before(void);

/*
 * Asks Python's main thread to begin the recording of memrec start, to call `ready`, and to list the memory from
 * before. 1: asked. Callable where census_look is.
 */
int census_ask_to_begin(void (*ready)(void));

/* Text of census.py. */
extern const char census_code[] __attribute__((visibility("hidden")));

#endif
