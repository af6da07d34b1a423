/* attach_look.c - looks at a process from outside, and finds the reasons not to attach. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach.h"
#include "gather.h"
#include "memtrace/base.h"
#include "run/rundir.h"
#include "run/target.h"

#define STATUS_BYTES 16384u
#define CAP_SYS_PTRACE_BIT 19
#define ROOM_BYTES (1ull << 24) /* free bytes on both sides of the page for the code */
#define ROOM_FROM (1ull << 32)  /* lowest address for the page; programs with fixed addresses lie below */

/* The number after `key` in /proc/PID/status; -1: no such line. */
static long status_number(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);

	return at ? (long)strtoul(at + strlen(key), NULL, base) : -1;
}

/* 1: /proc/PID/LINK is the same for the process and for memrec, or cannot be read. */
static int same_link(pid_t pid, const char *link)
{
	char path[64], theirs[256], ours[256];
	ssize_t size, own;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, link);
	size = readlink(path, theirs, sizeof(theirs));
	snprintf(path, sizeof(path), "/proc/self/%s", link);
	own = readlink(path, ours, sizeof(ours));
	return size <= 0 || own <= 0 || (size == own && !memcmp(theirs, ours, (size_t)size));
}

static int same_root(pid_t pid)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
	return stat(path, &theirs) || stat("/", &ours) ||
	       (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

static int same_machine(pid_t pid)
{
	Elf64_Ehdr theirs, ours;
	char path[64];
	int fd, fine = 1;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	if (read(fd, &theirs, sizeof(theirs)) == (ssize_t)sizeof(theirs)) {
		close(fd);
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		fine = fd < 0 || read(fd, &ours, sizeof(ours)) != (ssize_t)sizeof(ours) ||
		       (theirs.e_machine == ours.e_machine && theirs.e_ident[EI_CLASS] == ours.e_ident[EI_CLASS]);
	}
	if (fd >= 0)
		close(fd);
	return fine;
}

/* 1: the kernel allows ptrace. For /proc/PID/mem, the kernel checks the same rights, and the process is not stopped. */
static int may_trace(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static long trace_scope(void)
{
	char text[16] = "0";
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '0';
	if (file)
		fclose(file);
	return strtol(text, NULL, 10);
}

static int has_capability(void)
{
	char status[STATUS_BYTES];
	unsigned long mask;

	proc_read(getpid(), "status", status, sizeof(status));
	mask = (unsigned long)status_number(status, "\nCapEff:", 16);
	return mask >> CAP_SYS_PTRACE_BIT & 1;
}

static enum attach_refusal why_not_traced(struct attach_process *process)
{
	if (process->uid != geteuid() && !has_capability()) {
		process->number = (long)process->uid;
		return ATTACH_USER;
	}
	if (has_capability())
		return ATTACH_OUTSIDE;
	process->number = trace_scope();
	return process->number > 0 ? ATTACH_SCOPE : ATTACH_DENIED;
}

/* ---- the mappings of the process ---- */

struct maps {
	struct attach_process *process;
	int has_memory; /* 1: PyTorch or CUDA is among the mappings */
	uint64_t end;   /* end of the newest mapping, at least ROOM_FROM */
};

static int begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static void take_symbols(struct attach_process *process, const char *name, const char *path, uint64_t base)
{
	const struct attach_symbol libc[] = { { "mmap", &process->mmap } },
				   python[] = { { "Py_AddPendingCall", &process->pending_call },
						{ "PyRun_SimpleString", &process->run_string } };

	if (!strcmp(name, "libc.so.6"))
		attach_symbols(path, base, libc, MT_ARRAY_SIZE(libc));
	else if (begins_with(name, "libpython") || begins_with(name, "python"))
		attach_symbols(path, base, python, MT_ARRAY_SIZE(python));
}

static void take_file(struct maps *maps, const char *path, uint64_t base)
{
	static const char *const memory[] = { "libc10.so", "libtorch", "libcuda.so" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(memory); i++)
		maps->has_memory |= begins_with(name, memory[i]);
	if (strstr(path, "/" RING_RUN_PREFIX) && strstr(name, ".ring") && !strstr(name, "(deleted)"))
		snprintf(maps->process->ring, sizeof(maps->process->ring), "%s", path);
	else
		take_symbols(maps->process, name, path, base);
}

/* Takes a line of /proc/PID/maps: "start-end rights offset device inode   path". */
static void take_line(struct maps *maps, char *line)
{
	uint64_t start, end, offset;
	int used = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end, &offset, &used) < 3 ||
	    !used)
		return;
	if (!maps->process->room && start > maps->end && start - maps->end > 2 * ROOM_BYTES)
		maps->process->room = maps->end + ROOM_BYTES;
	maps->end = end > ROOM_FROM ? end : ROOM_FROM;
	line[used + (int)strcspn(line + used, "\n")] = '\0';
	if (line[used] == '/' && !offset)
		take_file(maps, line + used, start);
}

static int read_maps(struct maps *maps)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)maps->process->pid);
	file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0)
		take_line(maps, line);
	free(line);
	if (file)
		fclose(file);
	return file != NULL;
}

static void take_python(struct attach_process *process)
{
	char path[64], *slash;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
	size = readlink(path, process->python, sizeof(process->python) - 1);
	process->python[size > 0 ? size : 0] = '\0';
	slash = strrchr(process->python, '/');
	if (!slash || !begins_with(slash + 1, "python"))
		process->python[0] = '\0';
}

/* 1: `process` is being recorded into its `ring`; *header is the header of the ring. */
static int attach_ring(const struct attach_process *process, struct ring_header *header)
{
	return process->ring[0] && !rundir_read_header(process->ring, header) &&
	       header->pid == (uint32_t)process->pid && header->start_ticks == process->start_ticks &&
	       !atomic_load(&header->stop);
}

static enum attach_refusal look_inside(struct attach_process *process)
{
	struct maps maps = { .process = process, .end = ROOM_FROM };
	struct ring_header *header;
	int recorded;

	process->was_read = read_maps(&maps);
	if (!process->was_read)
		return ATTACH_UNREADABLE;
	take_python(process);
	header = malloc(sizeof(*header));
	recorded = header && attach_ring(process, header);
	free(header);
	if (recorded) {
		process->number = process->pid;
		return ATTACH_RECORDED;
	}
	if (!maps.has_memory)
		return ATTACH_NO_MEMORY;
	if (!process->pending_call || !process->run_string)
		return ATTACH_NO_PYTHON;
	return process->mmap && process->room ? ATTACH_FINE : ATTACH_NO_LIBC;
}

static uint64_t start_ticks(pid_t pid)
{
	char stat[1024], *at;
	unsigned long long ticks = 0;

	proc_read(pid, "stat", stat, sizeof(stat));
	at = strrchr(stat, ')');
	if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			  &ticks) != 1)
		return 0;
	return ticks;
}

/*
 * ATTACH_FINE: paths and pids have the same meaning for the process and for memrec, and its program fits the machine.
 */
static enum attach_refusal why_elsewhere(pid_t pid)
{
	if (!same_link(pid, "ns/mnt"))
		return ATTACH_MOUNTS;
	if (!same_link(pid, "ns/pid"))
		return ATTACH_PIDS;
	if (!same_root(pid))
		return ATTACH_ROOT;
	return same_machine(pid) ? ATTACH_FINE : ATTACH_MACHINE;
}

enum attach_refusal attach_look(struct attach_process *process, pid_t pid)
{
	char status[STATUS_BYTES];
	enum attach_refusal refusal;
	long tracer;

	memset(process, 0, sizeof(*process));
	process->pid = pid;
	process->start_ticks = start_ticks(pid);
	if (!process->start_ticks || !proc_read(pid, "status", status, sizeof(status)) || strstr(status, "\nState:\tZ"))
		return ATTACH_GONE;
	process->uid = (uid_t)status_number(status, "\nUid:", 10);
	process->gid = (gid_t)status_number(status, "\nGid:", 10);
	refusal = why_elsewhere(pid);
	if (!refusal)
		refusal = look_inside(process);
	if (refusal != ATTACH_RECORDED && !may_trace(pid))
		return why_not_traced(process);
	if (refusal && !process->was_read)
		return refusal;
	tracer = status_number(status, "\nTracerPid:", 10);
	if (refusal == ATTACH_RECORDED || tracer <= 0)
		return refusal;
	process->number = tracer;
	return ATTACH_TRACED;
}
