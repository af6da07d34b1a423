/*
 * attach.h - memrec attach: loads the agent into a running process.
 *
 *     look ──refusal──> a message; the process was not touched
 *      │
 *      └─> run folder: PID.attach, Python code that loads the agent and calls memrec_attach (agent/hooks/attach.c)
 *             │  python: sys.remote_exec (Python 3.14)
 *             │  gdb, lldb: mmap a page, write the code there, Py_AddPendingCall(PyRun_SimpleString, page), detach
 *             v
 *          Python's main thread runs the code between two bytecodes ──> PID.attached, or PID.failed with the reason
 *
 * A debugger calls two functions in the stopped process. Neither waits for a lock of a stopped thread: mmap is a system
 * call, and Py_AddPendingCall holds a lock of its own for a few instructions. The debugger sets no breakpoint. Python's
 * main thread calls the loader and malloc later.
 */
#ifndef MEMREC_ATTACH_H
#define MEMREC_ATTACH_H

#include <stdint.h>
#include <sys/types.h>
#include "memtrace/error.h"
#include "shared/options.h"

/* Reasons not to attach to a process: X(NAME, words). In the words, %ld is `number` of struct attach_process. */
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
	long number;                  /* number for %ld in the words of the refusal */
	int was_read;                 /* 1: memrec could read its mappings, and knows whether a ring is among them */
	char python[MEMREC_PATH_MAX]; /* path of its program, if the name begins with python; else "" */
	char ring[MEMREC_PATH_MAX];   /* path of a ring among its mappings, not checked; "": none */
	uint64_t mmap, pending_call, run_string; /* addresses of three functions in the process */
	uint64_t room;                           /* free address, at least 16 MiB away from any mapping */
};

/* ---- attach_look.c: looks at a process from outside ---- */

/* Reads *process from /proc. Returns ATTACH_FINE, or the reason not to attach; *process is then incomplete. */
enum attach_refusal attach_look(struct attach_process *process, pid_t pid);

/* ---- attach_symbol.c ---- */

/* A function to find in an ELF file. */
struct attach_symbol {
	const char *name;
	uint64_t *address; /* result; a value other than 0 is not changed */
};

/*
 * Looks up `count` names in the dynamic symbols of the file at `path`, whose first mapping is at `base`. A name that is
 * not found keeps its address. A file that is no 64-bit ELF file has no symbols.
 */
void attach_symbols(const char *path, uint64_t base, const struct attach_symbol *symbols, size_t count);

/* ---- attach_way.c: brings the code into the process ---- */

/* Values of --method: X(NAME, word). */
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
	const char *python; /* interpreter that calls sys.remote_exec; NULL: the process's own */
	struct memrec_options *options;
	char library[MEMREC_PATH_MAX]; /* libmemrec.so */
};

/*
 * Loads the agent into the process, and waits for the agent's answer: at most 60 s for the helper (a debugger or an
 * interpreter), and 10 s after it. Returns 0; else -MT_E_SYSTEM or -MT_E_LIMIT, and `why` (`size` bytes) has the
 * reason. After an error the code in the process does nothing, also if the main thread runs it later.
 */
int attach_bring(const struct attach_process *process, const struct attach_plan *plan, char *why, size_t size);

/* ---- attach.c: the commands ---- */

/* `memrec attach ...` and `memrec detach ...`: each returns the exit status. */

int attach_main(int argc, char **argv);
int detach_main(int argc, char **argv);

#endif
