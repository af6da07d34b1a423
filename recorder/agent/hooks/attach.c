/*
 * attach.c - the agent's entry into a running program: memrec attach has it loaded and calls memrec_attach.
 *
 * The caller is Python's main thread between two bytecodes, without the GIL. There the loader and malloc may be called.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "agent/census/agent_census.h"
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "hooks.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "shared/textbuf.h"

#define TRIES 1000 /* 1 s for threads to leave the hooks of the last recording */
#define TRY_NS 1000000

/* 0: memrec has given up and removed its note. */
static int is_wanted(const struct memrec_options *options)
{
	char path[MEMREC_PATH_MAX];
	struct textbuf text;

	textbuf_init(&text, path, sizeof(path));
	textbuf_add(&text, options->run_dir);
	textbuf_add(&text, "/");
	textbuf_add_number(&text, (uint64_t)getpid());
	textbuf_add(&text, MEMREC_ATTACH_SUFFIX);
	return *options->run_dir && !text.cut && !access(path, F_OK);
}

static const char *begin(const struct memrec_options *options)
{
	struct timespec pause = { 0, TRY_NS };
	int tries, error = agent_attach(options);

	for (tries = 0; error == -MT_E_BUSY && !agent_is_listening() && tries < TRIES; tries++) {
		nanosleep(&pause, NULL);
		error = agent_attach(options);
	}
	if (!error)
		return NULL;
	if (!loaded_is_first_agent())
		return "another copy of memrec's agent is in the process (attach with that memrec)";
	if (agent_is_listening())
		return "memrec records it already";
	return error == -MT_E_BUSY ? "a thread is still inside of the last recording (try again)"
				   : "there is no memory for the recorder";
}

/* Unmaps the debugger's page, whose code has been read. */
static void drop_page(const char *hex)
{
	uintptr_t page = 0;

	for (; *hex; hex++)
		page = page << 4 | (uintptr_t)(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
	if (page)
		munmap((void *)page, MEMREC_ATTACH_BYTES);
}

MT_EXPORT int memrec_attach(const char *text, const char *page);

/*
 * Begins a recording. `text`: options. `page`: hexadecimal address of the launcher's MEMREC_ATTACH_BYTES; "0": none. 1:
 * the process is recorded.
 */
int memrec_attach(const char *text, const char *page)
{
	static struct memrec_options options;
	static _Atomic int busy;
	int saved = errno, idle = 0, started = 0;
	const char *why;

	if (!atomic_compare_exchange_strong(&busy, &idle, 1))
		return 0;
	drop_page(page);
	if (!memrec_options_decode(&options, text) && is_wanted(&options)) {
		why = begin(&options);
		if (!why) {
			injection_attach();
			started = agent_start();
			if (started)
				census_before();
		}
		if (why || started)
			agent_place_attached(&options, why);
	}
	atomic_store(&busy, 0);
	errno = saved;
	return started;
}
