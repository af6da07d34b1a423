/* agent_source.c - how the sources of events are doing: kept here until there is a recording, then in its header. */
#include "agent.h"

#include <stdlib.h>
#include <string.h>
#include "agent/stacks/own_stack.h"
#include "life.h"
#include "shared/textbuf.h"

#define CUDA_INJECTION "CUDA_INJECTION64_PATH"

static struct {
	struct ring_header *header; /* header of the current ring */
	struct {
		_Atomic uint32_t state; /* as in the header: enum mt_source_state + 1; 0: not set */
		char why[256];
	} source[MT_SOURCE_COUNT];
} sources;

/* Clears the source's state in the header meanwhile, so no reader takes a half-written text. */
static void publish_source(enum mt_source source)
{
	uint32_t state = atomic_load(&sources.source[source].state);

	if (!state)
		return;
	atomic_store(&sources.header->source_state[source], 0);
	memcpy(sources.header->source_why[source], sources.source[source].why,
	       sizeof(sources.header->source_why[source]));
	atomic_store(&sources.header->source_state[source], state);
}

static void set_why(enum mt_source source, const char *why)
{
	struct textbuf text;

	textbuf_init(&text, sources.source[source].why, sizeof(sources.source[source].why));
	textbuf_add(&text, why);
}

struct unseen {
	enum mt_source source;
	const char *why;
};

/* On a stack of ours. */
static void note_unseen(void *context)
{
	const struct unseen *unseen = context;

	agent_place_unseen(&life_options, unseen->source, unseen->why);
}

static __attribute__((noinline)) void change_source(enum mt_source source, enum mt_source_state state, const char *why)
{
	struct unseen unseen = { source, why };

	if (atomic_load(&sources.source[source].state) == (uint32_t)state + 1 &&
	    !strcmp(sources.source[source].why, why))
		return;
	set_why(source, why);
	atomic_store(&sources.source[source].state, (uint32_t)state + 1);
	if (life_state() == LIFE_ON)
		publish_source(source);
	else if (state != MT_SOURCE_ON)
		own_stack_call(note_unseen, &unseen);
}

/* Each event says that its source is on. */
void agent_source(enum mt_source source, enum mt_source_state state, const char *why)
{
	if (state != MT_SOURCE_ON ||
	    atomic_load_explicit(&sources.source[source].state, memory_order_relaxed) != MT_SOURCE_ON + 1)
		change_source(source, state, why);
}

void agent_source_note(enum mt_source source, const char *why)
{
	set_why(source, why);
	if (life_state() == LIFE_ON)
		publish_source(source);
}

int agent_has_source(enum mt_source source)
{
	return atomic_load(&sources.source[source].state) != 0;
}

/*
 * Reports a variable that keeps the driver from calling the agent. After a call of the driver, CUPTI's state is known
 * already. CUDA tools write "none" for nothing.
 */
void agent_source_check_injection(void)
{
	const char *path = getenv(CUDA_INJECTION);
	char why[256];
	struct textbuf text;

	if (agent_options()->no_cupti || agent_has_source(MT_SOURCE_CUPTI))
		return;
	if (!path || !*path || !strcmp(path, "none") || defaults_name_us(CUDA_INJECTION))
		return;
	textbuf_init(&text, why, sizeof(why));
	textbuf_add(&text, "another tool has " CUDA_INJECTION " (");
	textbuf_add(&text, path);
	textbuf_add(&text, "): driver memory is not recorded");
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

void agent_source_begin(struct ring_header *header)
{
	sources.header = header;
}

void agent_source_publish(void)
{
	int i;

	for (i = 0; i < MT_SOURCE_COUNT; i++)
		publish_source((enum mt_source)i);
}
