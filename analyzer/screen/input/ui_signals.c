#include "ui_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "ui.h"

#define CRASH_STACK 65536

/* X(signal, handler) */
#define SIGNAL_LIST(X)        \
	X(SIGINT, on_event)   \
	X(SIGTERM, on_event)  \
	X(SIGHUP, on_event)   \
	X(SIGWINCH, on_event) \
	X(SIGTSTP, on_event)  \
	X(SIGCONT, on_event)  \
	X(SIGSEGV, on_crash)  \
	X(SIGBUS, on_crash)   \
	X(SIGILL, on_crash)   \
	X(SIGFPE, on_crash)   \
	X(SIGABRT, on_crash)

static void on_event(int number);
static void on_crash(int number);

static const struct {
	int number;
	void (*handler)(int);
} signals[] = {
#define SIGNAL_ENTRY(number, handler) { number, handler },
	SIGNAL_LIST(SIGNAL_ENTRY)
#undef SIGNAL_ENTRY
};

static struct sigaction before[MT_ARRAY_SIZE(signals)];
static int pipe_ends[2] = { -1, -1 };
static volatile sig_atomic_t asked_to_end, resized, stopped, continued;
static const char *crash_text;
static size_t crash_size;
static struct termios crash_settings;
static stack_t stack_before;
static char crash_stack[CRASH_STACK]; /* a separate stack, for a crash by stack overflow */

int ui_signal(void)
{
	return asked_to_end;
}

static void on_event(int number)
{
	int saved = errno;

	if (number == SIGWINCH)
		resized = 1;
	else if (number == SIGTSTP)
		stopped = 1;
	else if (number == SIGCONT)
		continued = 1;
	else if (!asked_to_end)
		asked_to_end = number;
	if (write(pipe_ends[1], "", 1) < 0)
		errno = 0; /* it is full: then it is readable, too */
	errno = saved;
}

/* Resets the terminal, then returns to the signal's usual effect: a core file, or a sanitizer's report. */
static void on_crash(int number)
{
	size_t i;

	if (crash_text) {
		if (write(STDOUT_FILENO, crash_text, crash_size) < 0)
			errno = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &crash_settings);
	}
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++)
		if (signals[i].number == number)
			sigaction(number, &before[i], NULL);
	raise(number);
}

/* An ignored SIGHUP stays ignored (nohup): a read notices the lost terminal. */
static int is_left_alone(size_t i)
{
	return signals[i].number == SIGHUP && before[i].sa_handler == SIG_IGN;
}

static int make_pipe(void)
{
	return pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) ? -MT_E_SYSTEM : 0;
}

void ui_signals_on_crash(const char *text, size_t size, const struct termios *settings)
{
	crash_settings = *settings;
	crash_text = text;
	crash_size = size;
}

int ui_signals_begin(void)
{
	stack_t stack = { .ss_sp = crash_stack, .ss_size = sizeof(crash_stack) };
	size_t i;

	crash_text = NULL;
	asked_to_end = resized = stopped = continued = 0;
	if (make_pipe())
		return -MT_E_SYSTEM;
	sigaltstack(&stack, &stack_before);
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++) {
		struct sigaction action = { .sa_handler = signals[i].handler };

		action.sa_flags = signals[i].handler == on_crash ? SA_ONSTACK : SA_RESTART;
		sigaction(signals[i].number, NULL, &before[i]);
		if (!is_left_alone(i))
			sigaction(signals[i].number, &action, NULL);
	}
	return 0;
}

void ui_signals_end(void)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(signals); i++)
		if (!is_left_alone(i))
			sigaction(signals[i].number, &before[i], NULL);
	sigaltstack(&stack_before, NULL);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	pipe_ends[0] = pipe_ends[1] = -1;
}

int ui_signals_descriptor(void)
{
	return pipe_ends[0];
}

struct ui_events ui_signals_take(void)
{
	struct ui_events events;
	char bytes[64];

	while (read(pipe_ends[0], bytes, sizeof(bytes)) > 0)
		;
	events = (struct ui_events){ resized, stopped, continued };
	if (events.resized)
		resized = 0;
	if (events.stop)
		stopped = 0;
	if (events.continued)
		continued = 0;
	return events;
}

void ui_signals_stop(int all)
{
	struct sigaction ours, usual = { .sa_handler = SIG_DFL };

	sigaction(SIGTSTP, &usual, &ours);
	if (all)
		kill(0, SIGTSTP);
	else
		raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
}
