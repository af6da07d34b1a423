/*
 * mark_buffer.c - an append-only buffer of ring_events with their texts. One atomic exchange hands out space.
 *
 *     | push a | mark | push b |        free        | pop b | pop a |
 *     0                         used    reserved: what is open can be closed
 *
 * A range without its end would cover all that follows. So the begin of a range is kept only if its end has room, too.
 * Otherwise its end is dropped as well, even after the recording has started. A nest is a stack of such ranges: the
 * phases of a thread, its ranges of one domain, or one range that is ended by its handle.
 */
#include "mark_buffer.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include "hash_set.h"

#define MARK_BUFFER_BYTES (16u << 10)
#define NESTS 128u
#define PATIENCE 1000 /* yields to a thread that is writing its mark */

enum role { ALONE, BEGINS, ENDS };

/* Ranges from the bottom up: kept, refused, above. Only the nest's own thread uses members other than `key`. */
struct nest {
	_Atomic uint64_t key; /* 0: free */
	uint32_t kept;
	uint32_t refused;
	uint32_t above; /* begun in the ring, above refused ones */
};

/* The size of the buffer, bytes. */
struct fill {
	uint32_t used;
	uint32_t reserved : 31;
	uint32_t closed : 1; /* the marks were replayed */
};

static struct {
	_Atomic(struct fill) fill;
	_Atomic uint32_t owing; /* nests with refused ranges */
	struct nest nest[NESTS];
	_Alignas(8) uint8_t data[MARK_BUFFER_BYTES];
} buffer;

static enum role role_of(uint32_t kind)
{
	switch (kind) {
	case MT_PHASE_PUSH:
	case MT_RANGE_PUSH:
	case MT_RANGE_START:
		return BEGINS;
	case MT_PHASE_POP:
	case MT_RANGE_POP:
	case MT_RANGE_END:
		return ENDS;
	default:
		return ALONE;
	}
}

/* The same for both ends of a range. */
static uint64_t key_of(const struct ring_event *event, const struct ring_text *text)
{
	int is_phase = event->kind == MT_PHASE_PUSH || event->kind == MT_PHASE_POP;
	uint64_t key = hash_start(HASH_NEST);
	uint32_t i;

	if (event->kind == MT_RANGE_START || event->kind == MT_RANGE_END)
		return hash_finish(hash_mix(hash_mix(key, MT_RANGE_START), event->handle));
	key = hash_mix(key, is_phase ? MT_PHASE_PUSH : MT_RANGE_PUSH);
	key = hash_mix(key, event->thread);
	for (i = 0; i < text->domain_bytes; i++)
		key = hash_mix(key, (uint8_t)text->domain[i]);
	return hash_finish(key);
}

static struct nest *find_nest(uint64_t key)
{
	uint32_t i;

	for (i = 0; i < NESTS; i++)
		if (atomic_load_explicit(&buffer.nest[i].key, memory_order_acquire) == key)
			return &buffer.nest[i];
	return NULL;
}

/* NULL: all are taken. */
static struct nest *find_or_take_nest(uint64_t key)
{
	struct nest *nest = find_nest(key);
	uint64_t nobody;
	uint32_t i;

	for (i = 0; i < NESTS && !nest; i++) {
		nobody = 0;
		if (atomic_compare_exchange_strong(&buffer.nest[i].key, &nobody, key))
			nest = &buffer.nest[i];
	}
	return nest;
}

static void leave_nest(struct nest *nest)
{
	if (!nest->kept && !nest->refused)
		atomic_store_explicit(&nest->key, 0, memory_order_release);
}

static void refuse(struct nest *nest)
{
	if (!nest->refused++)
		atomic_fetch_add(&buffer.owing, 1);
}

static void swallow(struct nest *nest)
{
	if (!--nest->refused)
		atomic_fetch_sub(&buffer.owing, 1);
	leave_nest(nest);
}

static uint32_t record_bytes(uint32_t texts)
{
	return (uint32_t)(sizeof(struct ring_event) + texts + 7) & ~7u;
}

/* `bytes` of the record is written last; 0: not finished. */
static _Atomic uint32_t *bytes_of(uint32_t at)
{
	return (_Atomic uint32_t *)(buffer.data + at);
}

static void put(uint32_t at, uint32_t bytes, const struct ring_event *event, const struct ring_text *text)
{
	struct ring_event copy = *event;
	uint8_t *to = buffer.data + at;

	copy.bytes = 0;
	copy.name_bytes = text->name_bytes;
	copy.domain_bytes = text->domain_bytes;
	memcpy(to, &copy, sizeof(copy));
	memcpy(to + sizeof(copy), text->name, text->name_bytes);
	memcpy(to + sizeof(copy) + text->name_bytes, text->domain, text->domain_bytes);
	atomic_store_explicit(bytes_of(at), bytes, memory_order_release);
}

/*
 * Appends a mark if it and `reserve` more bytes fit, and reserves these. An end uses the `release` bytes reserved for
 * it.
 */
static enum mark_buffer_status take_room(const struct ring_event *event, const struct ring_text *text, uint32_t reserve,
					 uint32_t release)
{
	uint32_t bytes = record_bytes((uint32_t)text->name_bytes + text->domain_bytes);
	struct fill fill = atomic_load(&buffer.fill), next;

	do {
		if (fill.closed)
			return MARK_BUFFER_CLOSED;
		next = fill;
		next.used += bytes;
		next.reserved = fill.reserved + reserve - release;
		if (next.used + next.reserved > MARK_BUFFER_BYTES)
			return MARK_BUFFER_FULL;
	} while (!atomic_compare_exchange_weak(&buffer.fill, &fill, next));
	put(fill.used, bytes, event, text);
	return MARK_BUFFER_KEPT;
}

static enum mark_buffer_status begin(const struct ring_event *event, const struct ring_text *text)
{
	struct nest *nest = find_or_take_nest(key_of(event, text));
	enum mark_buffer_status status = MARK_BUFFER_FULL;

	if (!nest)
		return atomic_load(&buffer.fill).closed ? MARK_BUFFER_CLOSED : MARK_BUFFER_DROPPED;
	if (!nest->refused)
		status = take_room(event, text, record_bytes(text->domain_bytes), 0);
	else if (atomic_load(&buffer.fill).closed)
		status = MARK_BUFFER_CLOSED;
	if (status == MARK_BUFFER_KEPT)
		nest->kept++;
	else if (status == MARK_BUFFER_FULL)
		refuse(nest);
	leave_nest(nest);
	return status == MARK_BUFFER_FULL ? MARK_BUFFER_DROPPED : status;
}

static enum mark_buffer_status end(const struct ring_event *event, const struct ring_text *text)
{
	struct nest *nest = find_nest(key_of(event, text));
	enum mark_buffer_status status;

	if (atomic_load(&buffer.fill).closed)
		return MARK_BUFFER_CLOSED;
	if (!nest)
		return MARK_BUFFER_DROPPED;
	if (nest->refused) {
		swallow(nest);
		return MARK_BUFFER_DROPPED;
	}
	status = take_room(event, text, 0, record_bytes(text->domain_bytes));
	if (status == MARK_BUFFER_KEPT) {
		nest->kept--;
		leave_nest(nest);
	}
	return status;
}

enum mark_buffer_status mark_buffer_add(const struct ring_event *event, const struct ring_text *text)
{
	switch (role_of(event->kind)) {
	case BEGINS:
		return begin(event, text);
	case ENDS:
		return end(event, text);
	default:
		return take_room(event, text, 0, 0);
	}
}

int mark_buffer_swallows(const struct ring_event *event, const struct ring_text *text)
{
	enum role role = role_of(event->kind);
	struct nest *nest;

	if (!atomic_load_explicit(&buffer.owing, memory_order_relaxed) || role == ALONE)
		return 0;
	nest = find_nest(key_of(event, text));
	if (!nest || !nest->refused)
		return 0;
	if (role == BEGINS) {
		nest->above++;
		return 0;
	}
	if (nest->above) {
		nest->above--;
		return 0;
	}
	swallow(nest);
	return 1;
}

/* The size of the finished record at `at`; 0: its thread does not finish. */
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

/* How much was used. */
static uint32_t close_buffer(void)
{
	struct fill fill = atomic_load(&buffer.fill), closed;

	do {
		closed = fill;
		closed.closed = 1;
	} while (!atomic_compare_exchange_weak(&buffer.fill, &fill, closed));
	return fill.used;
}

void mark_buffer_replay(void (*take)(void *context, struct ring_event *event, const struct ring_text *text),
			void *context)
{
	uint32_t used = close_buffer(), at = 0, bytes;
	struct ring_event event;
	struct ring_text text;

	while (at < used) {
		bytes = finished_bytes(at);
		if (!bytes)
			return;
		memcpy(&event, buffer.data + at, sizeof(event));
		text.name_bytes = event.name_bytes;
		text.domain_bytes = event.domain_bytes;
		text.name = (const char *)buffer.data + at + sizeof(event);
		text.domain = text.name + event.name_bytes;
		take(context, &event, &text);
		at += bytes;
	}
}

void mark_buffer_clear(void)
{
	memset(&buffer, 0, sizeof(buffer));
}
