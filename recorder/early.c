/* early.c - an append-only buffer of ring_events with their texts; space is handed out by one atomic addition. */
#include "early.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define EARLY_BYTES (16u << 10)
#define PATIENCE 1000 /* times to give way to a thread that is just writing its mark */
#define EARLY_CLOSED (1u << 30) /* added to `used` when the marks were replayed */

static struct {
	_Atomic uint32_t used;
	_Alignas(8) uint8_t data[EARLY_BYTES];
} early;

/* `bytes` of the record is written last; 0: not finished. */
static _Atomic uint32_t *bytes_of(uint32_t at)
{
	return (_Atomic uint32_t *)(early.data + at);
}

int early_add(const struct ring_event *event, const struct ring_text *text)
{
	uint32_t texts = (uint32_t)text->name_bytes + text->domain_bytes;
	uint32_t bytes = (uint32_t)(sizeof(*event) + texts + 7) & ~7u;
	uint32_t at = atomic_load(&early.used);
	struct ring_event copy = *event;
	uint8_t *to;

	do {
		if (at > EARLY_BYTES - bytes || at >= EARLY_CLOSED)
			return 0;
	} while (!atomic_compare_exchange_weak(&early.used, &at, at + bytes));
	to = early.data + at;
	copy.bytes = 0;
	copy.name_bytes = text->name_bytes;
	copy.domain_bytes = text->domain_bytes;
	memcpy(to, &copy, sizeof(copy));
	memcpy(to + sizeof(copy), text->name, text->name_bytes);
	memcpy(to + sizeof(copy) + text->name_bytes, text->domain, text->domain_bytes);
	atomic_store_explicit(bytes_of(at), bytes, memory_order_release);
	return 1;
}

/* The size of the finished record at `at`; 0: its thread does not get on. */
static uint32_t finished_bytes(uint32_t at)
{
	uint32_t bytes;
	int tries;

	for (tries = 0; tries < PATIENCE; tries++) {
		bytes = atomic_load_explicit(bytes_of(at), memory_order_acquire);
		if (bytes)
			return bytes;
		sched_yield();
	}
	return 0;
}

void early_replay(void (*take)(void *context, struct ring_event *event, const struct ring_text *text), void *context)
{
	uint32_t used = atomic_fetch_or(&early.used, EARLY_CLOSED), at = 0, bytes;
	struct ring_event event;
	struct ring_text text;

	while (at < used) {
		bytes = finished_bytes(at);
		if (!bytes)
			return;
		memcpy(&event, early.data + at, sizeof(event));
		text.name_bytes = event.name_bytes;
		text.domain_bytes = event.domain_bytes;
		text.name = (const char *)early.data + at + sizeof(event);
		text.domain = text.name + event.name_bytes;
		take(context, &event, &text);
		at += bytes;
	}
}

void early_clear(void)
{
	memset(early.data, 0, sizeof(early.data));
	atomic_store(&early.used, 0);
}
