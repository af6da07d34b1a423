/* pager.c - runs a child process that reads this program's stdout from a pipe. */
#include "pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/text.h"

static pid_t pager;

/* Returns the pager's command: MEMANA_PAGER, PAGER, or less; NULL: no pager. */
static const char *wanted(void)
{
	const char *name = getenv("MEMANA_PAGER");

	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "less";
	return *name && strcmp(name, "cat") ? name : NULL;
}

/* Whether PATH has the program, or the name is a command line for the shell. */
static int can_run(const char *name)
{
	const char *folder = getenv("PATH");
	char path[4096];

	if (strpbrk(name, " /|&;<>()$`\\\"'*?[#~="))
		return 1;
	for (; folder && *folder; folder += strspn(folder, ":")) {
		int size = (int)strcspn(folder, ":");

		if (snprintf(path, sizeof(path), "%.*s/%s", size, folder, name) < (int)sizeof(path) &&
		    !access(path, X_OK))
			return 1;
		folder += size;
	}
	return 0;
}

static void run_pager(const char *name, const int ends[2])
{
	signal(SIGINT, SIG_DFL);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
	setenv("LESS", "FRX", 0); /* F, X: a short answer stays on the terminal; R: colours are shown */
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", name, (char *)NULL);
	_exit(127);
}

/* Ignores the interrupt: the pager uses the terminal until it ends. */
static void on_interrupt(int number)
{
	close(STDOUT_FILENO);
	(void)waitpid(pager, NULL, 0);
	signal(number, SIG_DFL);
	raise(number);
}

void pager_begin(void)
{
	const char *name = wanted();
	int ends[2];

	if (!isatty(STDOUT_FILENO) || !name || !can_run(name) || pipe(ends))
		return;
	text_keep_terminal(stdout);
	pager = fork();
	if (!pager)
		run_pager(name, ends);
	if (pager > 0) {
		dup2(ends[1], STDOUT_FILENO);
		signal(SIGINT, on_interrupt);
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_end(void)
{
	if (pager <= 0)
		return;
	fclose(stdout);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	pager = 0;
}
