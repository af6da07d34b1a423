/* dropped.c - finds Python programs without the agent: see gather.h. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gather.h"
#include "memtrace/clock.h"
#include "run/say.h"

#define AGENT "/libmemrec.so"
#define C_LIBRARY "/libc.so." /* the loader maps the C library after preloaded libraries */

enum { FIRST_PAUSE_MS = 100, ANCESTORS_MAX = 64 };

static uint64_t now_ms(void)
{
	return mt_wait_clock_ns() / 1000000;
}

static int is_python(long pid)
{
	static const char python[] = "python";
	char path[64], program[PATH_MAX], *slash;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
	size = readlink(path, program, sizeof(program) - 1);
	program[size < 0 ? 0 : size] = '\0';
	slash = strrchr(program, '/');
	return slash && !strncmp(slash + 1, python, sizeof(python) - 1);
}

/* 1: the loader has mapped the libraries of the process, and the agent is not among them. */
static int lacks_agent(long pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int libraries = 0, agent = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	maps = fopen(path, "re");
	while (maps && !agent && getline(&line, &room, maps) > 0) {
		libraries |= strstr(line, C_LIBRARY) != NULL;
		agent = strstr(line, AGENT) != NULL;
	}
	if (maps)
		fclose(maps);
	free(line);
	return libraries && !agent;
}

static long parent_of(long pid)
{
	char text[512], *name_end;
	long parent;

	proc_read(pid, "stat", text, sizeof(text));
	name_end = strrchr(text, ')');
	return name_end && sscanf(name_end + 1, " %*c %ld", &parent) == 1 ? parent : 0;
}

static int has_rank(const char *environment, size_t size)
{
	const char *at = environment, *end = environment + size;

	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, "RANK=", 5))
			return 1;
	return 0;
}

/* Sets process->parent to the nearest ancestor with the run's environment. 1: memrec is an ancestor of the process. */
static int find_parent(struct dropped_process *process, const char *run_dir, char *text)
{
	long pid = process->pid;
	int i;

	for (i = 0; i < ANCESTORS_MAX && (pid = parent_of(pid)) > 0 && pid != getpid(); i++) {
		if (process->parent || !proc_names_run(text, proc_read(pid, "environ", text, PROC_FILE_MAX), run_dir))
			continue;
		process->parent = pid;
		proc_name(pid, process->parent_name, sizeof(process->parent_name));
	}
	return pid == getpid();
}

static int is_known(const struct dropped *dropped, long pid)
{
	size_t i;

	for (i = 0; i < dropped->count; i++)
		if (dropped->process[i].pid == pid)
			return 1;
	return 0;
}

static void look_at(void *context, long pid)
{
	struct dropped *dropped = context;
	struct dropped_process process = { .pid = pid };
	char *text;
	size_t size;

	if (dropped->count == DROPPED_MAX || is_known(dropped, pid) || !is_python(pid) || !lacks_agent(pid))
		return;
	text = malloc(PROC_FILE_MAX);
	if (!text)
		return;
	size = proc_read(pid, "environ", text, PROC_FILE_MAX);
	process.is_rank = has_rank(text, size);
	proc_name(pid, process.name, sizeof(process.name));
	if (!proc_names_run(text, size, dropped->run_dir) && find_parent(&process, dropped->run_dir, text) &&
	    *process.name)
		dropped->process[dropped->count++] = process;
	free(text);
}

void dropped_begin(struct dropped *dropped, const char *run_dir)
{
	*dropped = (struct dropped){ .run_dir = run_dir,
				     .pause_ms = FIRST_PAUSE_MS,
				     .due_ms = now_ms() + FIRST_PAUSE_MS };
}

void dropped_look(struct dropped *dropped)
{
	if (now_ms() < dropped->due_ms)
		return;
	proc_each(look_at, dropped);
	dropped->pause_ms *= 2;
	dropped->due_ms = now_ms() + dropped->pause_ms;
}

struct timespec dropped_pause(const struct dropped *dropped)
{
	uint64_t now = now_ms(), ms = now < dropped->due_ms ? dropped->due_ms - now : 1;

	return (struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000 * 1000000) };
}

static void say_process(const struct dropped_process *process, const char *beginning)
{
	static const char advice[] = "memrec env says what to set there";

	if (process->parent)
		say("%sprocess %ld (%s) ran without memrec: below %s (process %ld) its environment was dropped (%s)",
		    beginning, process->pid, process->name, process->parent_name, process->parent, advice);
	else
		say("%sprocess %ld (%s) ran without memrec: the command itself dropped the environment (%s)", beginning,
		    process->pid, process->name, advice);
}

size_t dropped_say(const struct dropped *dropped, int nothing_recorded)
{
	size_t i, said = 0;

	for (i = 0; i < dropped->count; i++) {
		if (!nothing_recorded && !dropped->process[i].is_rank)
			continue;
		say_process(&dropped->process[i], nothing_recorded && !said ? "nothing was recorded: " : "");
		said++;
	}
	return said;
}
