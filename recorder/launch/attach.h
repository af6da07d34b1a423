/*
 * attach.h - memrec attach: brings the agent into a process that runs.
 *
 *     look ──refusal──> a line, nothing was touched
 *      │
 *      └─> run folder: PID.attach, Python code that loads the agent and calls memrec_attach (agent/hooks/attach.c)
 *             │  python: sys.remote_exec (Python 3.14)
 *             │  gdb, lldb: mmap a page, write the code there, Py_AddPendingCall(PyRun_SimpleString, page), detach
 *             v
 *          Python's main thread runs the code between two bytecodes ──> PID.attached, or PID.failed with the reason
 *
 * A debugger calls two functions in the stopped process. Both take no lock that the stopped thread could hold: one is a system
 * call, the other has a lock of its own for some instructions. No breakpoint is set. The loader and malloc are called later, by
 * Python's main thread.
 */
#ifndef MEMREC_ATTACH_H
#define MEMREC_ATTACH_H

#include <stdint.h>
#include <sys/types.h>
#include "memtrace/error.h"
#include "shared/options.h"

/*
 * Reasons not to touch a process: X(NAME, words). In the words, %ld is `number` of struct attach_process.
 */
#define ATTACH_REFUSAL_LIST(X)                                                                                               \
	X(GONE, "there is no such process")                                                                                  \
	X(UNREADABLE, "/proc does not show it (mount /proc, or run memrec as root)")                                         \
	X(USER, "it belongs to user %ld (run memrec as that user or as root)")                                               \
	X(MOUNTS, "it runs in another mount namespace, such as a container (run memrec attach inside of it)")                \
	X(PIDS, "it runs in another pid namespace, such as a container (run memrec attach inside of it)")                    \
	X(ROOT, "it has another root directory, by chroot (run memrec attach inside of it)")                                 \
	X(MACHINE, "it is a program for another kind of processor than memrec")                                              \
	X(TRACED, "process %ld traces it already: a debugger or strace (end that first)")                                    \
	X(SCOPE,                                                                                                             \
	  "/proc/sys/kernel/yama/ptrace_scope is %ld (run memrec as root or with CAP_SYS_PTRACE, or write 0 there)")         \
	X(DENIED, "the kernel does not let memrec trace it (run as root; in a container: --cap-add SYS_PTRACE)")             \
	X(OUTSIDE,                                                                                                           \
	  "the kernel does not let memrec trace it, although memrec has CAP_SYS_PTRACE (it runs outside of this container)") \
	X(RECORDED, "memrec records it already (memrec detach %ld ends that)")                                               \
	X(NO_PYTHON, "it has no Python of 3.9 or later (start the program under memrec)")                                    \
	X(NO_MEMORY, "it has loaded neither PyTorch nor CUDA yet (attach later, or start the program under memrec)")         \
	X(NO_LIBC, "its C library was not found (start the program under memrec)")

enum attach_refusal {
	ATTACH_FINE = 0,
#define ATTACH_ENUM(name, words) ATTACH_##name,
	ATTACH_REFUSAL_LIST(ATTACH_ENUM)
#undef ATTACH_ENUM
};

struct attach_process {
	pid_t pid;
	uint64_t start_ticks;
	uid_t uid;
	gid_t gid;
	long number;                  /* a number in the words of the refusal */
	int was_read;                 /* 1: memrec has read what it maps, and so knows whether it is recorded */
	char python[MEMREC_PATH_MAX]; /* the program, if its name is python*; "": not */
	char ring[MEMREC_PATH_MAX];   /* the ring that it maps; "": none. Not believed yet: attach_ring */
	uint64_t mmap, pending_call, run_string; /* addresses of functions there */
	uint64_t room;                           /* an address with nothing near it */
};

/* ---- attach_look.c: what memrec can see without touching the process ---- */

/* Fills in all of *process. */
enum attach_refusal attach_look(struct attach_process *process, pid_t pid);

/* 1: `process` is recorded; the ring's header is in *header. */
struct ring_header;
int attach_ring(const struct attach_process *process, struct ring_header *header);

/* ---- attach_symbol.c ---- */

/* A symbol of an ELF file. */
struct attach_symbol {
	const char *name;
	uint64_t *address; /* gets the answer */
};

/*
 * Looks `count` names up in the dynamic symbols of the file at `path`, whose first mapping is at `base`. Answers that are there
 * already stay. Files that are no 64-bit ELF files of this machine have none.
 */
void attach_symbols(const char *path, uint64_t base, const struct attach_symbol *symbols, size_t count);

/* ---- attach_way.c: how the code gets there ---- */

/* X(NAME, word) */
#define ATTACH_METHOD_LIST(X) \
	X(AUTO, "auto")       \
	X(PYTHON, "python")   \
	X(GDB, "gdb")         \
	X(LLDB, "lldb")

enum attach_method {
#define METHOD_ENUM(name, word) ATTACH_##name##_METHOD,
	ATTACH_METHOD_LIST(METHOD_ENUM)
#undef METHOD_ENUM
};

struct attach_plan {
	enum attach_method method;
	const char *python; /* the interpreter that asks by remote_exec; NULL: the process's own */
	struct memrec_options *options;
	char library[MEMREC_PATH_MAX]; /* libmemrec.so */
};

/*
 * Brings the agent in. `why` (`size` bytes) gets a reason if it does not come. Returns when the agent has answered, or after ten
 * seconds: the process is then as it was, whatever its main thread does later. 0; -MT_E_SYSTEM.
 */
int attach_bring(const struct attach_process *process, const struct attach_plan *plan, char *why, size_t size);

/* ---- attach.c: the commands; each returns the exit status ---- */

int attach_main(int argc, char **argv);
int detach_main(int argc, char **argv);

#endif
