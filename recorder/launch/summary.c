/* summary.c - prints the last lines of a recording: figures, failures and the next command. */
#include "launch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "memtrace/shell.h"
#include "run/say.h"

#define WORD_SIZE 8192
#define NEXT_TRACES 8 /* largest number of traces in the line with the next command */

const char *summary_path(const char *path)
{
	char here[PATH_MAX];
	size_t size;

	if (!getcwd(here, sizeof(here)))
		return path;
	size = strlen(here);
	return !strncmp(path, here, size) && path[size] == '/' && path[size + 1] ? path + size + 1 : path;
}

const char *summary_word(const char *path)
{
	static char word[WORD_SIZE];

	return mt_shell_word(word, sizeof(word), summary_path(path));
}

/* Writes "no steps", "1 step" or "12 steps". */
static const char *counted(char *text, size_t size, int64_t count, const char *one, const char *many)
{
	if (count)
		snprintf(text, size, "%" PRId64 " %s", count, count == 1 ? one : many);
	else
		snprintf(text, size, "no %s", many);
	return text;
}

static int is_disk_full(const struct run_result *result)
{
	int64_t why = result->system_error;

	return result->error == MT_E_SPACE || why == ENOSPC || why == EDQUOT || why == EFBIG;
}

static void print_error(const struct run_result *result, const char *path)
{
	if (is_disk_full(result) && result->trace[0])
		say("disk full: %s ends early (free some space, then: memrec recover %s)", path,
		    summary_word(result->trace));
	else if (result->trace[0])
		say("%s: ends early: %s (memrec recover %s tries again)", path,
		    say_why((int)result->error, (int)result->system_error), summary_word(result->trace));
	else
		say("process %" PRId64 " was not recorded: %s", result->pid,
		    say_why((int)result->error, (int)result->system_error));
}

/* 1: the file was deleted while it was written, which does not stop the writer. */
static int is_gone(const struct run_result *result)
{
	return result->trace[0] && access(result->trace, F_OK) && (errno == ENOENT || errno == ENOTDIR);
}

static void print_gone(const struct run_result *result)
{
	char lost[48];

	say("%s: the trace is gone: deleted while it was written, or in a file system that only process %" PRId64
	    " sees (%s)",
	    summary_path(result->trace), result->pid,
	    counted(lost, sizeof(lost), result->events + result->lost, "event LOST", "events LOST"));
}

/* Prints a line for each source that failed, or that works with a note. */
static void summary_print_failures(const struct run_result *result)
{
	size_t i;

	for (i = 0; i < MT_SOURCE_COUNT; i++)
		if (result->why[i][0])
			say_result("process %" PRId64 ": %s%s: %s", result->pid,
				   result->noted >> i & 1 ? "" : "without ", mt_source_name((uint32_t)i),
				   result->why[i]);
}

void summary_print(const struct run_result *result)
{
	char events[32], cut[64] = "", steps[32], ooms[32], refusals[32], survived[48] = "", lost[48], size[SAY_SIZE],
			 peak[SAY_SIZE];
	const char *path = summary_path(result->trace);

	if (is_gone(result)) {
		print_gone(result);
		return;
	}
	if (result->cut)
		snprintf(cut, sizeof(cut), " (%" PRId64 " let go)", result->cut);
	if (result->survived)
		snprintf(survived, sizeof(survived), ", %s survived",
			 counted(refusals, sizeof(refusals), result->survived, "refusal", "refusals"));
	if (result->trace[0])
		say_result("%s%s: peak %s, %s, %s%s, %s%s, %s, %s", path,
			   result->error ? ", as far as it was written" : "",
			   say_size(peak, (uint64_t)result->peak_bytes),
			   counted(steps, sizeof(steps), result->steps, "step", "steps"),
			   result->ooms ? counted(ooms, sizeof(ooms), result->ooms, "OOM", "OOMs") : "no OOM", survived,
			   counted(events, sizeof(events), result->events, "event", "events"), cut,
			   result->lost ? counted(lost, sizeof(lost), result->lost, "event LOST", "events LOST")
					: "nothing lost",
			   say_size(size, (uint64_t)result->bytes));
	if (result->error)
		print_error(result, path);
	if (result->keep_error && result->trace[0])
		say("%s: is larger than --keep: old events could not be let go: %s (the new file needs room beside the old one)",
		    path, mt_strerror((int)result->keep_error));
	summary_print_failures(result);
}

void summary_print_next(const char *program, const char *command, const struct run_result *results, size_t count)
{
	const char *slash = strrchr(program, '/');
	char line[WORD_SIZE], memana[MEMREC_PATH_MAX];
	size_t i, named = 0, used;

	/* If memrec was called by its path, memana may not be in PATH either: it gets the same folder. */
	snprintf(memana, sizeof(memana), "%.*smemana", slash ? (int)(slash + 1 - program) : 0, program);
	used = (size_t)snprintf(line, sizeof(line), "next: %s %s", summary_word(memana), command);
	for (i = 0; i < count && named < NEXT_TRACES; i++) {
		const char *word = results[i].trace[0] && !is_gone(&results[i]) ? summary_word(results[i].trace) : "";

		if (!*word || used + strlen(word) + 2 > sizeof(line)) /* a name that does not fit is left out whole */
			continue;
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", word);
		named++;
	}
	if (named)
		say_result("%s", line);
}
