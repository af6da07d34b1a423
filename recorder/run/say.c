/* say.c - prints messages for people. */
#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/clean.h"
#include "memtrace/error.h"

static enum say_level level = SAY_NORMAL;

void say_set_level(enum say_level wanted)
{
	level = wanted;
}

static MT_PRINTF(3, 0) void write_line(int fd, const char *prefix, const char *format, va_list args)
{
	char line[9216];
	size_t size = strlen(prefix);
	int n;

	memcpy(line, prefix, size);
	n = vsnprintf(line + size, sizeof(line) - size - 1, format, args);
	size += n < 0 ? 0 : strlen(mt_clean(line + size, ""));
	line[size++] = '\n';
	while (write(fd, line, size) < 0 && errno == EINTR)
		;
}

static MT_PRINTF(1, 0) void say_words(const char *format, va_list args)
{
	write_line(STDERR_FILENO, "memrec: ", format, args);
}

void say_answer(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(STDOUT_FILENO, "", format, args);
	va_end(args);
}

#define SAY_FUNCTION(name, least)          \
	void name(const char *format, ...) \
	{                                  \
		va_list args;              \
                                           \
		if (level < (least))       \
			return;            \
		va_start(args, format);    \
		say_words(format, args);   \
		va_end(args);              \
	}

SAY_FUNCTION(say, SAY_QUIET)
SAY_FUNCTION(say_result, SAY_NORMAL)
SAY_FUNCTION(say_detail, SAY_VERBOSE)
#undef SAY_FUNCTION

/* SIGPIPE is blocked and not ignored: a program that memrec starts gets the old mask from `before`. */
void say_outlive_readers(sigset_t *before)
{
	sigset_t pipes;

	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipes, before);
}

const char *say_why(int error, int system_error)
{
	if (system_error && (error == -MT_E_SYSTEM || error == MT_E_SYSTEM))
		return strerror(system_error);
	return mt_strerror(error);
}

const char *say_size(char *text, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < MT_ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, SAY_SIZE, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}
