#include "partial_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static char path[4096];
static struct sigaction before[MT_ARRAY_SIZE(signals)], before_limit;

/* The handler is gone by now: the signal does what it always does as soon as this returns. */
static void remove_it(int signal)
{
	unlink(path);
	raise(signal);
}

void partial_file_begin(const char *file)
{
	struct sigaction action = { .sa_handler = remove_it, .sa_flags = (int)SA_RESETHAND };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	size_t i;

	if (strlen(file) >= sizeof(path) || *path)
		return;
	memcpy(path, file, strlen(file) + 1);
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	sigaction(SIGXFSZ, &ignore, &before_limit);
}

int partial_file_make(char *file)
{
	sigset_t all, mask;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	fd = mkstemp(file);
	if (fd >= 0)
		partial_file_begin(file);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return fd;
}

int partial_file_temporary(char *file, size_t size)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	snprintf(file, size, "%s/memana-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = partial_file_make(file);
	if (fd < 0)
		return -MT_E_SYSTEM;
	close(fd);
	return 0;
}

void partial_file_end(void)
{
	size_t i;

	if (!*path)
		return;
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &before[i], NULL);
	sigaction(SIGXFSZ, &before_limit, NULL);
	*path = '\0';
}
