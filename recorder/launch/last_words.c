/*
 * last_words.c - prints memana's first answers among memrec's last lines, so the user needs no second command.
 *
 *     Peak 24.0 GiB ... in backward of step 3. Growing: ...   memana top --brief, by a pipe
 *     Out of memory on GPU 0: 2.0 GiB requested, ...          memana oom --brief, if memory ended the run
 *     1. f (x.py:3) keeps 22.0 GiB ...
 *     trace.zst: peak 24.0 GiB, 3 steps, 1 OOM; 8123 events    summary.c
 *     next: memana oom trace.zst                              summary.c
 *
 * memana is another program. If memory ended the run, memrec waits at most ENDED_SECONDS for the peak, and then
 * ANSWER_SECONDS for the causes. The peak comes first, because it also shows the growth. For any other run, memrec asks
 * only about small traces, and waits PEAK_SECONDS. The answers do not change memrec's exit status. Without memana in
 * memrec's folder, nothing is printed.
 */
#include "launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "inject.h"
#include "memtrace/base.h"
#include "run/say.h"

#define ANSWER_SECONDS 30
#define PEAK_SECONDS 5
#define ENDED_SECONDS 15      /* longest wait for the peak if memory ended the run; a trace without facts takes long */
#define CAUSES_AFTER 10       /* s: if the peak took longer, ANSWER_SECONDS are too few for the causes */
#define PEAK_BYTES (16 << 20) /* largest size of all traces for which memrec asks about the peak of any other run */
#define TRACES_MAX 64         /* largest number of traces that memana reads: the first ones */
#define WORDS 4               /* memana COMMAND --brief -- */

enum { KILLED = 128 + SIGKILL };

const char *last_words_command(const struct run_result *results, size_t count, int status)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (results[i].ooms)
			return "oom";
	return status == KILLED ? "oom" : "top";
}

/* Runs in the child. memana must not be recorded, gets the old signal mask, and writes only to the pipe. */
static void become_memana(const char *const *words, unsigned seconds, int pipe_end, const sigset_t *before)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(pipe_end, STDOUT_FILENO) < 0 ||
	    dup2(nothing, STDERR_FILENO) < 0)
		_exit(MEMREC_EXIT_SYSTEM);
	inject_clear();
	alarm(seconds);
	sigprocmask(SIG_SETMASK, before, NULL);
	execv(words[0], (char *const *)words);
	_exit(MEMREC_EXIT_SYSTEM);
}

/* Prints the answer of memana as memrec's own lines. */
static void hand_on(FILE *said)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t size;

	while ((size = getline(&line, &room, said)) > 0) {
		line[size - 1] = line[size - 1] == '\n' ? '\0' : line[size - 1];
		if (*line)
			say_result("%s", line);
	}
	free(line);
}

/*
 * Runs memana and prints its answer. 0: a signal ended memana (Ctrl-C; SIGALRM does not count), so memrec stops asking.
 */
static int ask(const char *const *words, unsigned seconds, const sigset_t *before)
{
	FILE *said;
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return 1;
	pid = fork();
	if (pid == 0)
		become_memana(words, seconds, ends[1], before);
	close(ends[1]);
	said = fdopen(ends[0], "r");
	if (said && pid > 0)
		hand_on(said);
	if (said)
		fclose(said);
	else
		close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return !WIFSIGNALED(status) || WTERMSIG(status) == SIGALRM;
}

static int ask_of(const char *command, unsigned seconds, const struct run_result *results, size_t count,
		  const sigset_t *before)
{
	char memana[MEMREC_PATH_MAX];
	const char *words[WORDS + TRACES_MAX + 1] = { memana, command, "--brief", "--" };
	size_t i, used = WORDS;

	inject_find_memana(memana);
	for (i = 0; i < count && used < WORDS + TRACES_MAX; i++)
		if (results[i].trace[0] && !access(results[i].trace, R_OK))
			words[used++] = summary_path(results[i].trace);
	return !memana[0] || used == WORDS || ask(words, seconds, before);
}

void last_words_print(const char *command, const struct run_result *results, size_t count, const sigset_t *before)
{
	int is_ended = strcmp(command, "top") != 0, is_asked;
	int64_t bytes = 0;
	time_t began;
	size_t i;

	for (i = 0; i < count; i++)
		bytes += results[i].bytes;
	is_asked = bytes <= PEAK_BYTES || is_ended;
	began = time(NULL);
	if (is_asked && !ask_of("top", is_ended ? ENDED_SECONDS : PEAK_SECONDS, results, count, before))
		return;
	/* In a trace without facts, the causes take up to three times as long as the peak. */
	if (is_ended && time(NULL) - began <= CAUSES_AFTER)
		ask_of(command, ANSWER_SECONDS, results, count, before);
}
