/* attach_way.c - brings the code into a running process: by Python's sys.remote_exec (PEP 768), or by a debugger. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "attach.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"
#include "run/rundir.h"
#include "run/say.h"

#define ANSWER_MS 10000u /* longest wait for the agent after the helper has ended */
#define HELPER_MS 60000u /* longest wait for a debugger; a busy machine makes it slow */
#define LATE_MS 300u     /* wait for code that had begun before its file was removed */
#define END_MS 3000u     /* wait for the end of a debugger after each signal */
#define LOOK_MS 3
#define SAID_BYTES 4096u
#define MAP_FLAGS 0x100022u /* MAP_PRIVATE, MAP_ANONYMOUS, MAP_FIXED_NOREPLACE (Linux 4.17) */
#define WORD_BYTES (MEMREC_PATH_MAX + 256)
#define NO_REMOTE 3 /* exit status of an interpreter without sys.remote_exec */

struct attempt {
	const struct attach_process *process;
	const struct attach_plan *plan;
	enum attach_method method;
	char code[MEMREC_PATH_MAX]; /* path of the file with the code */
	FILE *said;                 /* output of the helper */
	pid_t helper;               /* the debugger, or the interpreter that calls sys.remote_exec */
	int is_late;                /* 1: the helper did not end in time */
	int helper_status;          /* exit status of the helper, 128 + N after signal N; -1: the helper runs */
};

static const char *const method_words[] = {
#define METHOD_WORD(name, word) word,
	ATTACH_METHOD_LIST(METHOD_WORD)
#undef METHOD_WORD
};

/* ---- the code ---- */

static void print_bytes(FILE *file, const char *text)
{
	fputs("b'", file);
	for (; *text; text++)
		fprintf(file, "\\x%02x", (unsigned char)*text);
	putc('\'', file);
}

/*
 * Writes the Python code, for version 3.9 and later. sys.remote_exec takes the code as a script, PyRun_SimpleString
 * takes the code as a text and runs it in __main__. So the code sets no name there, and catches all exceptions. The
 * code does nothing after its file is removed.
 */
static void print_code(const struct attempt *attempt, FILE *file, const char *options)
{
	const char *run_dir = attempt->plan->options->run_dir;
	char failed[MEMREC_PATH_MAX + 64], page[64];

	snprintf(failed, sizeof(failed), "%s/%d" MEMREC_FAILED_SUFFIX, run_dir, (int)attempt->process->pid);
	snprintf(page, sizeof(page), "%" PRIx64, attempt->method == ATTACH_PYTHON_METHOD ? 0 : attempt->process->room);
	fputs("try:\n    exec(r\"\"\"\nimport posix, _ctypes\nif posix.access(", file);
	print_bytes(file, attempt->code);
	fputs(", 0):\n    try:\n        _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(", file);
	print_bytes(file, attempt->plan->library);
	fputs(", 2), 'memrec_attach'), (", file);
	print_bytes(file, options);
	fputs(", ", file);
	print_bytes(file, page);
	fputs("))\n    except BaseException as error:\n        posix.symlink(repr(error)[:200] or '-', ", file);
	print_bytes(file, failed);
	fputs(")\n\"\"\", {})\nexcept BaseException:\n    pass\n", file);
}

/* Writes the code to its file, which only the user of the process may read. Returns 0, -MT_E_SYSTEM or -MT_E_LIMIT. */
static int write_code(struct attempt *attempt)
{
	char options[MEMREC_OPTIONS_MAX];
	struct stat st;
	FILE *file;
	int fd, error;

	error = memrec_options_encode(attempt->plan->options, options, sizeof(options));
	if (error)
		return error;
	fd = open(attempt->code, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!file)
		return -MT_E_SYSTEM;
	print_code(attempt, file, options);
	error = fflush(file) || ferror(file) || fstat(fd, &st) ||
		(!geteuid() && fchown(fd, attempt->process->uid, attempt->process->gid));
	fclose(file);
	if (!error && st.st_size >= (off_t)MEMREC_ATTACH_BYTES)
		return -MT_E_LIMIT;
	return error ? -MT_E_SYSTEM : 0;
}

/* ---- helpers ---- */

#define HELPER_WORDS 40

struct helper {
	char *word[HELPER_WORDS + 1];
	size_t count;
};

static void add(struct helper *helper, const char *format, ...) MT_PRINTF(2, 3);

static void add(struct helper *helper, const char *format, ...)
{
	char *word = NULL;
	va_list values;

	va_start(values, format);
	if (helper->count < HELPER_WORDS && vasprintf(&word, format, values) >= 0)
		helper->word[helper->count++] = word;
	va_end(values);
	helper->word[helper->count] = NULL;
}

static void release(struct helper *helper)
{
	while (helper->count)
		free(helper->word[--helper->count]);
}

#define MMAP_TYPE "(unsigned long (*)(unsigned long, unsigned long, int, int, int, long))"
#define PENDING_TYPE "(int (*)(unsigned long, unsigned long))"

/* gdb gets addresses instead of names, because it takes long to read the symbols of all libraries. */
static void make_gdb(const struct attempt *attempt, struct helper *helper)
{
	const struct attach_process *process = attempt->process;
	static const char *const settings[] = { "auto-solib-add off", "auto-load off",          "pagination off",
						"confirm off",        "debuginfod enabled off", "unwindonsignal on",
						"language c" };
	size_t i;

	add(helper, "gdb");
	add(helper, "-nx");
	add(helper, "-batch");
	for (i = 0; i < MT_ARRAY_SIZE(settings); i++) {
		add(helper, "-iex");
		add(helper, "set %s", settings[i]);
	}
	add(helper, "-p");
	add(helper, "%d", (int)process->pid);
	add(helper, "-ex");
	add(helper, "set $page = (" MMAP_TYPE "0x%" PRIx64 ")(0x%" PRIx64 ", %u, 3, %u, -1, 0)", process->mmap,
	    process->room, MEMREC_ATTACH_BYTES, MAP_FLAGS);
	add(helper, "-ex");
	add(helper, "restore %s binary $page", attempt->code);
	add(helper, "-ex");
	add(helper, "print ($page == 0x%" PRIx64 ") ? (" PENDING_TYPE "0x%" PRIx64 ")(0x%" PRIx64 ", $page) : -1",
	    process->room, process->pending_call, process->run_string);
	add(helper, "-ex");
	add(helper, "detach");
}

static void make_lldb(const struct attempt *attempt, struct helper *helper)
{
	const struct attach_process *process = attempt->process;

	add(helper, "lldb");
	add(helper, "--no-lldbinit");
	add(helper, "--batch");
	add(helper, "-o");
	add(helper, "settings set target.preload-symbols false");
	add(helper, "-o");
	add(helper, "settings set plugin.jit-loader.gdb.enable off"); /* the JIT loader searches all libraries */
	add(helper, "-o");
	add(helper, "process attach --pid %d", (int)process->pid);
	add(helper, "-o");
	add(helper, "expression -l c -i true -u true -- (" MMAP_TYPE "0x%" PRIx64 ")(0x%" PRIx64 ", %u, 3, %u, -1, 0)",
	    process->mmap, process->room, MEMREC_ATTACH_BYTES, MAP_FLAGS);
	add(helper, "-o");
	add(helper, "memory write --infile \"%s\" 0x%" PRIx64, attempt->code, process->room);
	add(helper, "-o");
	add(helper,
	    "expression -l c -i true -u true -- *(char *)0x%" PRIx64 " == 't' ? (" PENDING_TYPE "0x%" PRIx64
	    ")(0x%" PRIx64 ", 0x%" PRIx64 ") : -1",
	    process->room, process->pending_call, process->run_string, process->room);
	add(helper, "-o");
	add(helper, "detach");
}

static void make_python(const struct attempt *attempt, struct helper *helper)
{
	add(helper, "%s", attempt->plan->python ? attempt->plan->python : attempt->process->python);
	add(helper, "-ISc");
	add(helper, "import sys; f = getattr(sys, 'remote_exec', None); f or sys.exit(%d); f(%d, sys.argv[1])",
	    NO_REMOTE, (int)attempt->process->pid);
	add(helper, "%s", attempt->code);
}

/* Runs in the child: becomes the helper. Does not return. */
static void become(const struct attempt *attempt, struct helper *helper)
{
	int null = open("/dev/null", O_RDONLY), out = fileno(attempt->said);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C reaches memrec alone: end_helper ends the debugger in order */
	unsetenv("DEBUGINFOD_URLS");
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	execvp(helper->word[0], helper->word);
	_exit(errno == ENOENT ? 127 : 126);
}

static int start(struct attempt *attempt)
{
	struct helper helper = { .count = 0 };

	if (attempt->method == ATTACH_PYTHON_METHOD)
		make_python(attempt, &helper);
	else if (attempt->method == ATTACH_GDB_METHOD)
		make_gdb(attempt, &helper);
	else
		make_lldb(attempt, &helper);
	attempt->helper_status = -1;
	attempt->said = tmpfile();
	attempt->helper = attempt->said ? fork() : -1;
	if (attempt->helper == 0)
		become(attempt, &helper);
	release(&helper);
	return attempt->helper < 0 ? -MT_E_SYSTEM : 0;
}

/* ---- the answer ---- */

static uint64_t now_ms(void)
{
	return mt_wait_clock_ns() / 1000000;
}

static int read_note(const struct attempt *attempt, const char *suffix, char *text, size_t size)
{
	char path[MEMREC_PATH_MAX + 64];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%d%s", attempt->plan->options->run_dir, (int)attempt->process->pid, suffix);
	length = readlink(path, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* 1: the agent is loaded; -1: the agent could not begin, and `why` has the reason; 0: no answer yet. */
static int look(struct attempt *attempt, char *why, size_t size)
{
	char text[16];
	int status;

	if (attempt->helper_status < 0 && waitpid(attempt->helper, &status, WNOHANG) == attempt->helper)
		attempt->helper_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (read_note(attempt, MEMREC_ATTACHED_SUFFIX, text, sizeof(text)))
		return 1;
	return read_note(attempt, MEMREC_FAILED_SUFFIX, why, size) ? -1 : 0;
}

/*
 * Waits at most `ms` for the answer; returns as look. Ends earlier if the process has ended, if the helper has failed
 * or, with `helper_only`, if the helper has ended.
 */
static int wait_for_answer(struct attempt *attempt, uint64_t ms, int helper_only, char *why, size_t size)
{
	uint64_t begin = now_ms();
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	int answer;

	while (!(answer = look(attempt, why, size)) && now_ms() - begin < ms && attempt->helper_status <= 0 &&
	       (!helper_only || attempt->helper_status < 0) && !kill(attempt->process->pid, 0))
		nanosleep(&pause, NULL);
	return answer;
}

/* Ends the helper. A debugger that gets SIGINT or SIGTERM detaches from the process. A killed debugger may not. */
static void end_helper(struct attempt *attempt)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGKILL };
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	uint64_t begin;
	char text[16];
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(signals); i++) {
		for (begin = now_ms(); attempt->helper_status < 0 && now_ms() - begin < END_MS;) {
			look(attempt, text, sizeof(text));
			nanosleep(&pause, NULL);
		}
		if (attempt->helper_status < 0)
			kill(attempt->helper, signals[i]);
	}
	if (attempt->helper_status < 0)
		waitpid(attempt->helper, NULL, 0);
}

/* Finds the newest line of the helper's output that reports an error; without one, the last line. */
static void read_said(struct attempt *attempt, char *line, size_t size)
{
	char next[SAID_BYTES];
	int found = 0, is_error;

	line[0] = '\0';
	rewind(attempt->said);
	while (fgets(next, sizeof(next), attempt->said)) {
		next[strcspn(next, "\n")] = '\0';
		is_error = strstr(next, "ptrace:") || strstr(next, "error:");
		if (*next && (is_error || !found))
			snprintf(line, size, "%.*s", (int)size - 1, next);
		found |= is_error;
	}
}

/* Words for the failure. The helper has ended, or the time is over. */
static void say_why_not(struct attempt *attempt, char *why, size_t size)
{
	const char *word = method_words[attempt->method];
	char said[256];

	if (kill(attempt->process->pid, 0)) {
		snprintf(why, size, "it has ended");
	} else if (attempt->is_late) {
		snprintf(why, size, "%s has not come back within %u s (try another --method)", word, HELPER_MS / 1000);
	} else if (attempt->helper_status == 127) {
		snprintf(why, size, "%s was not found (install it, or choose another --method)", word);
	} else if (attempt->method == ATTACH_PYTHON_METHOD && attempt->helper_status == NO_REMOTE) {
		snprintf(why, size, "its Python has no sys.remote_exec, which 3.14 has (--method gdb)");
	} else if (attempt->helper_status > 0) {
		read_said(attempt, said, sizeof(said));
		snprintf(why, size, "%s ended with status %d: %s", word, attempt->helper_status, said);
	} else {
		snprintf(why, size,
			 "Python's main thread has not come by within %u s: it waits in C code (try again when it works)",
			 ANSWER_MS / 1000);
	}
}

static int try_method(struct attempt *attempt, char *why, size_t size)
{
	int answer = 0, error = start(attempt);

	if (!error)
		answer = wait_for_answer(attempt, HELPER_MS, 1, why, size);
	if (!error && !answer && !attempt->helper_status)
		answer = wait_for_answer(attempt, ANSWER_MS, 0, why, size);
	if (!error && !answer) {
		unlink(attempt->code); /* from now on, the code in the process does nothing */
		attempt->is_late = attempt->helper_status < 0;
		answer = wait_for_answer(attempt, LATE_MS, 0, why, size);
	}
	if (attempt->helper > 0)
		end_helper(attempt);
	if (!error && !answer)
		say_why_not(attempt, why, size);
	if (error)
		snprintf(why, size, "%s", strerror(errno));
	if (attempt->said)
		fclose(attempt->said);
	attempt->said = NULL;
	return answer > 0 ? 0 : -MT_E_SYSTEM;
}

static int is_there(const char *program)
{
	const char *path = getenv("PATH"), *end;
	char file[MEMREC_PATH_MAX];

	for (; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, program);
		if (!access(file, X_OK))
			return 1;
	}
	return 0;
}

/* 1: the interpreter has sys.remote_exec, and remote debugging is not switched off. */
static int has_remote(struct attempt *attempt)
{
	const char *python = attempt->plan->python ? attempt->plan->python : attempt->process->python;
	struct helper helper = { .count = 0 };
	int status = -1;
	pid_t pid;

	if (!*python)
		return 0;
	add(&helper, "%s", python);
	add(&helper, "-ISc");
	add(&helper, "import sys; sys.exit(not hasattr(sys, 'remote_exec') or not sys.is_remote_debug_enabled())");
	attempt->said = tmpfile();
	pid = attempt->said ? fork() : -1;
	if (pid == 0)
		become(attempt, &helper);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (attempt->said)
		fclose(attempt->said);
	release(&helper);
	return !status;
}

static enum attach_method choose(struct attempt *attempt)
{
	if (attempt->plan->method != ATTACH_AUTO_METHOD)
		return attempt->plan->method;
	if (has_remote(attempt))
		return ATTACH_PYTHON_METHOD;
	return !is_there("gdb") && is_there("lldb") ? ATTACH_LLDB_METHOD : ATTACH_GDB_METHOD;
}

int attach_bring(const struct attach_process *process, const struct attach_plan *plan, char *why, size_t size)
{
	struct attempt attempt = { .process = process, .plan = plan };
	int error;

	snprintf(attempt.code, sizeof(attempt.code), "%.*s/%d" MEMREC_ATTACH_SUFFIX, MEMREC_PATH_MAX - 32,
		 plan->options->run_dir, (int)process->pid);
	attempt.method = choose(&attempt);
	if (attempt.method == ATTACH_PYTHON_METHOD && !plan->python && !process->python[0]) {
		snprintf(why, size,
			 "its program is not named python: name the interpreter (--python FILE), or --method gdb");
		return -MT_E_SYSTEM;
	}
	say_detail("process %d: method %s", (int)process->pid, method_words[attempt.method]);
	error = write_code(&attempt);
	if (error)
		snprintf(why, size, "%s: %s", attempt.code,
			 error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error));
	else
		error = try_method(&attempt, why, size);
	unlink(attempt.code);
	return error;
}
