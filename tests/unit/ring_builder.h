/*
 * ring_builder.h - makes rings for tests: a producer that follows memtrace/ring.h to the letter and knows nothing of the
 * agent. Waits for room by giving up the processor; nothing here is fast.
 */
#ifndef RING_BUILDER_H
#define RING_BUILDER_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "memtrace/ring.h"

struct ring_builder {
	struct ring_header *header;
	size_t bytes;
};

#define RING_BUILDER_PAGE 4096u

static inline size_t ring_builder_pages(size_t bytes)
{
	return (bytes + RING_BUILDER_PAGE - 1) / RING_BUILDER_PAGE * RING_BUILDER_PAGE;
}

static inline void ring_builder_fill(struct ring_header *header, uint32_t slots, uint32_t slot_bytes,
				     uint32_t log_bytes)
{
	header->version = RING_VERSION;
	header->header_bytes = (uint32_t)ring_builder_pages(sizeof(*header));
	header->slots = slots;
	header->slot_bytes = slot_bytes;
	header->log_offset = header->header_bytes + (uint64_t)slots * slot_bytes;
	header->log_bytes = log_bytes;
	header->pid = 4242;
	header->ppid = 4241;
	header->rank = -1;
	header->depth = 32;
	header->python_version = 0x030b07f0;
	header->start_monotonic = 1000;
	header->start_realtime = 1700000000ull * 1000000000ull;
	snprintf(header->host, sizeof(header->host), "node7");
	snprintf(header->command, sizeof(header->command), "python train.py");
	atomic_store(&header->next_seq, 1);
	atomic_store(&header->log_ready, log_bytes);
	memcpy(header->magic, RING_MAGIC, sizeof(header->magic));
}

/* 0: made. */
static inline int ring_builder_open(struct ring_builder *builder, const char *path, uint32_t slots, uint32_t slot_bytes,
				    uint32_t log_bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *map;

	builder->bytes = ring_builder_pages(sizeof(struct ring_header)) + (size_t)slots * slot_bytes + log_bytes;
	if (fd < 0 || ftruncate(fd, (off_t)builder->bytes))
		return -1;
	map = mmap(NULL, builder->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -1;
	builder->header = map;
	ring_builder_fill(builder->header, slots, slot_bytes, log_bytes);
	return 0;
}

static inline void ring_builder_close(struct ring_builder *builder)
{
	munmap(builder->header, builder->bytes);
}

/* ---- slots ---------------------------------------------------------------------------------------------------- */

static inline uint32_t ring_builder_claim(struct ring_builder *builder)
{
	uint32_t i, unused;

	for (i = 0;; i = (i + 1) % builder->header->slots) {
		unused = RING_SLOT_FREE;
		if (atomic_compare_exchange_strong(&builder->header->slot[i].state, &unused, RING_SLOT_CLAIMED))
			return i;
		sched_yield();
	}
}

static inline void ring_builder_leave(struct ring_builder *builder, uint32_t slot)
{
	atomic_store_explicit(&builder->header->slot[slot].state, RING_SLOT_LEFT, memory_order_release);
}

static inline uint8_t *ring_builder_at(const struct ring_builder *builder, uint32_t slot, uint64_t cursor)
{
	const struct ring_header *header = builder->header;

	return (uint8_t *)builder->header + header->header_bytes + (size_t)slot * header->slot_bytes +
	       (cursor & (header->slot_bytes - 1));
}

/* Waits until `bytes` fit without wrapping, filling the end of the slot where they do not. Returns the position. */
static inline uint64_t ring_builder_room(struct ring_builder *builder, uint32_t slot, uint32_t bytes)
{
	struct ring_slot *cursors = &builder->header->slot[slot];
	uint32_t slot_bytes = builder->header->slot_bytes;
	uint64_t head = atomic_load_explicit(&cursors->head, memory_order_relaxed);
	uint32_t to_end = slot_bytes - (uint32_t)(head & (slot_bytes - 1));
	uint32_t pad = to_end < bytes ? to_end : 0;
	struct ring_event mark = { .bytes = pad, .record = RING_PAD };

	while (head + pad + bytes - atomic_load_explicit(&cursors->tail, memory_order_acquire) > slot_bytes)
		sched_yield();
	if (pad)
		memcpy(ring_builder_at(builder, slot, head), &mark, 8);
	return head + pad;
}

static inline void ring_builder_publish(struct ring_builder *builder, uint32_t slot, uint64_t head)
{
	atomic_store_explicit(&builder->header->slot[slot].head, head, memory_order_release);
}

/* Writes a record without publishing it. Returns the head that publishes it. */
static inline uint64_t ring_builder_write(struct ring_builder *builder, uint32_t slot, struct ring_event *event,
					  const char *name, const char *domain)
{
	size_t name_bytes = name ? strlen(name) : 0, domain_bytes = domain ? strlen(domain) : 0;
	uint64_t position;
	uint8_t *at;

	if (event->record != RING_BEFORE)
		event->record = RING_EVENT;
	event->name_bytes = (uint16_t)name_bytes;
	event->domain_bytes = (uint16_t)domain_bytes;
	event->bytes = (uint32_t)(sizeof(*event) + name_bytes + domain_bytes + 7) / 8 * 8;
	position = ring_builder_room(builder, slot, event->bytes);
	if (!event->seq)
		event->seq = atomic_fetch_add(&builder->header->next_seq, 1);
	at = ring_builder_at(builder, slot, position);
	memcpy(at, event, sizeof(*event));
	if (name_bytes)
		memcpy(at + sizeof(*event), name, name_bytes);
	if (domain_bytes)
		memcpy(at + sizeof(*event) + name_bytes, domain, domain_bytes);
	return position + event->bytes;
}

/* One event; takes the next number unless event->seq is set. Returns the number. */
static inline uint64_t ring_builder_event(struct ring_builder *builder, uint32_t slot, struct ring_event event,
					  const char *name, const char *domain)
{
	ring_builder_publish(builder, slot, ring_builder_write(builder, slot, &event, name, domain));
	return event.seq;
}

static inline void ring_builder_record(struct ring_builder *builder, uint32_t slot, struct ring_event event,
				       enum ring_record_kind record)
{
	event.record = (uint16_t)record;
	ring_builder_event(builder, slot, event, NULL, NULL);
}

/* ---- the log -------------------------------------------------------------------------------------------------- */

/* A record that is put together piece by piece. */
struct ring_piece {
	const void *data;
	size_t size;
};

/* `log` points to the fixed part, the first piece. Returns the record, unfinished: finish with ring_builder_finish. */
static inline struct ring_log *ring_builder_begin(struct ring_builder *builder, uint32_t kind, uint64_t key,
						  const struct ring_piece *pieces, size_t count, uint32_t *bytes)
{
	struct ring_log *log;
	size_t size = 0, i;
	uint8_t *at;

	for (i = 0; i < count; i++)
		size += pieces[i].size;
	*bytes = (uint32_t)(size + 7) / 8 * 8;
	at = (uint8_t *)builder->header + builder->header->log_offset +
	     atomic_fetch_add(&builder->header->log_head, *bytes);
	log = (struct ring_log *)at;
	/* `bytes` stays 0 until the end. */
	memcpy(at + sizeof(*log), (const uint8_t *)pieces[0].data + sizeof(*log), pieces[0].size - sizeof(*log));
	at += pieces[0].size;
	for (i = 1; i < count; at += pieces[i++].size)
		if (pieces[i].size)
			memcpy(at, pieces[i].data, pieces[i].size);
	log->kind = kind;
	log->key = key;
	return log;
}

static inline void ring_builder_finish(struct ring_log *log, uint32_t bytes)
{
	atomic_store_explicit(&log->bytes, bytes, memory_order_release);
}

static inline void ring_builder_log(struct ring_builder *builder, uint32_t kind, uint64_t key,
				    const struct ring_piece *pieces, size_t count)
{
	uint32_t bytes;
	struct ring_log *log = ring_builder_begin(builder, kind, key, pieces, count, &bytes);

	ring_builder_finish(log, bytes);
}

static inline void ring_builder_thread(struct ring_builder *builder, uint32_t serial, uint32_t tid, const char *name)
{
	struct ring_log_thread record = { .tid = tid, .name_bytes = (uint32_t)strlen(name) };
	struct ring_piece pieces[] = { { &record, sizeof(record) }, { name, strlen(name) } };

	ring_builder_log(builder, RING_LOG_THREAD, serial, pieces, 2);
}

static inline void ring_builder_module(struct ring_builder *builder, uint64_t start, uint64_t end, uint64_t bias,
				       const char *path)
{
	struct ring_log_module record = {
		.start = start, .end = end, .bias = bias, .path_bytes = (uint32_t)strlen(path)
	};
	struct ring_piece pieces[] = { { &record, sizeof(record) }, { path, strlen(path) } };

	ring_builder_log(builder, RING_LOG_MODULE, 0, pieces, 2);
}

static inline void ring_builder_code(struct ring_builder *builder, uint64_t key, uint32_t first_line, const char *name,
				     const char *qualname, const char *file, const void *table, uint32_t table_bytes)
{
	struct ring_log_code record = { .first_line = first_line,
					.name_bytes = (uint16_t)strlen(name),
					.qualname_bytes = (uint16_t)strlen(qualname),
					.file_bytes = (uint16_t)strlen(file),
					.table_bytes = table_bytes };
	struct ring_piece pieces[] = { { &record, sizeof(record) },
				       { name, strlen(name) },
				       { qualname, strlen(qualname) },
				       { file, strlen(file) },
				       { table, table_bytes } };

	ring_builder_log(builder, RING_LOG_CODE, key, pieces, 5);
}

static inline void ring_builder_stack(struct ring_builder *builder, uint64_t hash, const struct ring_log_stack *counts,
				      const struct ring_python *python, const uint64_t *native)
{
	struct ring_piece pieces[] = { { counts, sizeof(*counts) },
				       { python, counts->python * sizeof(*python) },
				       { native, counts->native * sizeof(*native) } };

	ring_builder_log(builder, RING_LOG_STACK, hash, pieces, 3);
}

#endif
