/*
 * agent_census.h - ask PyTorch what its memory is, instead of guessing.
 *
 *     tensor event ── census_look ── Py_AddPendingCall ──> main thread, between two bytecodes, with its GIL:
 *                                                            begin() of census.py registers a hook
 *     optimizer.step() ── PyTorch ── hook ── after_step() of census.py ── tell ── agent_tell ──> ring
 *
 * The interpreter is found as stack_python_find finds it, and its functions by name in the loaded libraries. No
 * header of Python's, no library, and no ctypes, which would have to be imported and lets go of the GIL at every
 * call. Nobody waits for the GIL: Py_AddPendingCall takes a place in a short list, and Python comes by when it likes.
 *
 * census.py is the only code of ours that the interpreter runs. Nothing of it runs while the thread is traced or profiled
 * (sys.settrace, sys.setprofile), for the program would see it.
 */
#ifndef RECORDER_AGENT_CENSUS_H
#define RECORDER_AGENT_CENSUS_H

/* PyTorch reported a tensor. Cheap; any thread, under any lock, with or without the GIL; errno is kept. */
void census_look(void);

/*
 * A request for memory has failed: names of modules are told once more, when Python's main thread comes by. The same promises
 * as above.
 */
void census_oom(void);

/*
 * After memrec attach: PyTorch's allocator is asked what it holds, when Python's main thread comes by, and agent_before gets the
 * answer and the end of it. Not in a hook.
 */
void census_before(void);

/*
 * Python's main thread is asked to begin the recording that memrec start wishes for, to call `ready` then, and to tell what was there
 * before. 1: it was asked. The promises of census_look.
 */
int census_ask_to_begin(void (*ready)(void));

/* Text of census.py. */
extern const char census_code[] __attribute__((visibility("hidden")));

#endif
