/* ring_read.c - a bounds-checked view of a ring; see ring_read.h. */
#include "ring_read.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define RECORD_HEAD_BYTES 8u /* bytes of a PAD, and of the head of any record */

/* ---- opening ------------------------------------------------------------------------------------------------ */

/* Takes the sizes from the header and checks each of them. */
static int view_check(struct ring_view *view)
{
	const struct ring_header *header = view->header;
	uint64_t slots_end;

	if (memcmp(header->magic, RING_MAGIC, sizeof(header->magic)))
		return -MT_E_MAGIC;
	atomic_thread_fence(memory_order_acquire);
	if (header->version != RING_VERSION)
		return -MT_E_VERSION;
	view->header_bytes = header->header_bytes;
	view->slots = header->slots;
	view->slot_bytes = header->slot_bytes;
	view->log_offset = header->log_offset;
	view->log_bytes = header->log_bytes;
	if (view->header_bytes < sizeof(*header) || view->header_bytes > RING_HEADER_BYTES_MAX ||
	    view->header_bytes % 8 || !view->slots || view->slots > RING_SLOTS)
		return -MT_E_CORRUPT;
	if (view->slot_bytes < RING_SLOT_BYTES_MIN || view->slot_bytes > RING_SLOT_BYTES_MAX ||
	    (view->slot_bytes & (view->slot_bytes - 1)))
		return -MT_E_CORRUPT;
	slots_end = view->header_bytes + (uint64_t)view->slots * view->slot_bytes;
	if (view->log_bytes > RING_LOG_BYTES_MAX || view->log_offset < slots_end || view->log_offset % 8)
		return -MT_E_CORRUPT;
	if (view->log_offset > view->map_bytes || view->log_bytes > view->map_bytes - view->log_offset)
		return -MT_E_TRUNCATED;
	return 0;
}

/* Ends the header's texts in NUL, because the file may lack it. */
static void end_texts(struct ring_header *header)
{
	struct {
		char *text;
		size_t size;
	} texts[] = {
		{ header->host, sizeof(header->host) },
		{ header->boot_id, sizeof(header->boot_id) },
		{ header->options, sizeof(header->options) },
		{ header->output, sizeof(header->output) },
		{ header->run_dir, sizeof(header->run_dir) },
		{ header->command, sizeof(header->command) },
		{ header->step_mark, sizeof(header->step_mark) },
		{ header->visible_devices, sizeof(header->visible_devices) },
		{ header->control, sizeof(header->control) },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(texts); i++)
		if (!memchr(texts[i].text, 0, texts[i].size))
			texts[i].text[texts[i].size - 1] = 0;
}

/* Copies the range `from` to `to` of the file. A part behind the end of the file stays 0. 0 or -MT_E_SYSTEM. */
static int copy_range(int fd, off_t from, off_t to, uint8_t *map)
{
	while (from < to) {
		ssize_t n = pread(fd, map + from, (size_t)(to - from), from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -MT_E_SYSTEM : 0;
		from += n;
	}
	return 0;
}

/* A ring is sparse: a copy of the whole file would touch pages that the file has not. */
static int copy_data(int fd, off_t size, uint8_t *map)
{
	off_t from = 0, hole = size;
	int err = 0;

	while (!err && from < size) {
		from = lseek(fd, from, SEEK_DATA);
		if (from < 0)
			return errno == ENXIO ? 0 : -MT_E_SYSTEM; /* holes up to the end */
		hole = lseek(fd, from, SEEK_HOLE);
		hole = hole < from || hole > size ? size : hole;
		err = copy_range(fd, from, hole, map);
		from = hole;
	}
	return err;
}

/*
 * Maps a live ring, but copies one without a process: its owner could shorten the file, and a mapping would then end
 * the reader by SIGBUS.
 */
static int view_map(struct ring_view *view, const char *path, int shared)
{
	int fd = shared ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : mt_open_named(path), err = 0;
	struct stat st;
	void *map;

	if (fd < 0)
		return errno == EPERM ? -MT_E_MAGIC : -MT_E_SYSTEM;
	if (fstat(fd, &st))
		err = -MT_E_SYSTEM;
	else if (!S_ISREG(st.st_mode))
		err = -MT_E_MAGIC;
	else if ((uint64_t)st.st_size < sizeof(struct ring_header))
		err = -MT_E_TRUNCATED;
	if (!err) {
		view->map_bytes = (size_t)st.st_size;
		map = shared ? mmap(NULL, view->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			     : mmap(NULL, view->map_bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (map == MAP_FAILED)
			err = -MT_E_SYSTEM;
		else
			view->header = map;
	}
	if (!err && !shared)
		err = copy_data(fd, st.st_size, map);
	close(fd);
	return err;
}

int ring_view_open(struct ring_view **out, const char *path, int shared)
{
	struct ring_view *view = calloc(1, sizeof(*view));
	uint32_t i;
	int err;

	*out = NULL;
	if (!view)
		return -MT_E_MEMORY;
	err = view_map(view, path, shared);
	if (!err)
		err = view_check(view);
	if (err) {
		ring_view_close(view);
		return err;
	}
	end_texts(view->header);
	for (i = 0; i < view->slots; i++) {
		view->slot[i].tail = view->slot[i].taken = view->slot[i].head =
			atomic_load_explicit(&view->header->slot[i].tail, memory_order_relaxed);
		if (view->slot[i].tail)
			view->used = i + 1;
	}
	*out = view;
	return 0;
}

void ring_view_close(struct ring_view *view)
{
	if (view && view->header)
		munmap(view->header, view->map_bytes);
	free(view);
}

/* ---- records ------------------------------------------------------------------------------------------------ */

static const uint8_t *slot_at(const struct ring_view *view, const struct ring_view_slot *slot, uint64_t cursor)
{
	size_t index = (size_t)(slot - view->slot);

	return (const uint8_t *)view->header + view->header_bytes + index * view->slot_bytes +
	       (cursor & (view->slot_bytes - 1));
}

/* 1: the agent sends events of this kind. The fold makes all others. */
static int kind_allowed(uint32_t kind)
{
	switch (kind) {
	case MT_STEP:
	case MT_LOST:
	case MT_SOURCE:
	case MT_LIVE:
	case MT_END:
		return 0;
	default:
		return mt_kind_fields(kind) != 0;
	}
}

static int event_good(const struct ring_view *view, const struct ring_view_slot *slot, const struct ring_event *event)
{
	uint32_t text = (uint32_t)event->name_bytes + event->domain_bytes;

	return text <= RING_TEXT_MAX && text <= event->bytes - sizeof(*event) && kind_allowed(event->kind) &&
	       event->seq > slot->last_seq && event->seq < view->seq_limit;
}

/*
 * Checks the record at slot->taken and copies it to slot->event. Returns its kind; -1: invalid. A valid record ends
 * before the head and within the slot.
 */
static int record_read(const struct ring_view *view, struct ring_view_slot *slot)
{
	uint64_t room = slot->head - slot->taken;
	uint64_t to_end = view->slot_bytes - (slot->taken & (view->slot_bytes - 1));
	const uint8_t *at = slot_at(view, slot, slot->taken);
	struct ring_event *event = &slot->event;

	if (room > to_end)
		room = to_end;
	if (room < sizeof(*event))
		memcpy(event, at, RECORD_HEAD_BYTES);
	else
		memcpy(event, at, sizeof(*event));
	if (event->bytes < RECORD_HEAD_BYTES || event->bytes > room || event->bytes % 8)
		return -1;
	if (event->record == RING_PAD)
		return event->bytes == to_end ? RING_PAD : -1;
	if ((event->record != RING_EVENT && event->record != RING_BEFORE) || event->bytes < sizeof(*event) ||
	    !event_good(view, slot, event))
		return -1;
	return RING_EVENT;
}

/* Finds the next event of the slot. 0: none. */
static int slot_next(struct ring_view *view, struct ring_view_slot *slot)
{
	int damaged = 0;

	while (slot->taken != slot->head) {
		int record = record_read(view, slot);

		if (record == RING_EVENT) {
			slot->last_seq = slot->event.seq;
			return 1;
		}
		if (record < 0 && !damaged) {
			damaged = 1;
			view->rejected++;
		}
		slot->taken += record < 0 ? 8 : slot->event.bytes;
	}
	return 0;
}

/* ---- the heap of waiting events ----------------------------------------------------------------------------- */

/* Replaces the top of the heap by `turn`. */
static void heap_down(struct ring_view *view, struct ring_turn turn)
{
	struct ring_turn *heap = view->heap;
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < view->heap_count) {
		if (child + 1 < view->heap_count && heap[child + 1].seq < heap[child].seq)
			child++;
		if (turn.seq <= heap[child].seq)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = turn;
}

static void heap_add(struct ring_view *view, struct ring_turn turn)
{
	struct ring_turn *heap = view->heap;
	uint32_t at = view->heap_count++;

	for (; at && turn.seq < heap[(at - 1) / 2].seq; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = turn;
}

/* ---- events ------------------------------------------------------------------------------------------------- */

static void slot_refresh(struct ring_view *view, struct ring_view_slot *slot, uint64_t head)
{
	if (slot->broken || head == slot->head)
		return;
	if (head < slot->head || head - slot->tail > view->slot_bytes || head % 8 || slot->tail % 8) {
		slot->broken = 1;
		view->rejected++;
		return;
	}
	slot->head = head;
}

void ring_view_refresh(struct ring_view *view)
{
	uint64_t next_seq, head;
	uint32_t i;

	for (i = 0; i < view->slots; i++) {
		head = atomic_load_explicit(&view->header->slot[i].head, memory_order_acquire);
		if (head && i >= view->used)
			view->used = i + 1;
		if (i < view->used)
			slot_refresh(view, &view->slot[i], head);
	}

	/* Read next_seq after the heads: each published event took its number before. */
	next_seq = atomic_load_explicit(&view->header->next_seq, memory_order_relaxed);
	if (next_seq > view->seq_limit && next_seq <= RING_SEQ_MAX)
		view->seq_limit = next_seq;

	view->fullest = 0;
	for (i = 0; i < view->used; i++) {
		struct ring_view_slot *slot = &view->slot[i];

		if (slot->head - slot->tail > view->fullest)
			view->fullest = slot->head - slot->tail;
		if (!slot->waiting && slot_next(view, slot)) {
			slot->waiting = 1;
			heap_add(view, (struct ring_turn){ slot->event.seq, i });
		}
	}
}

const struct ring_event *ring_view_peek(const struct ring_view *view)
{
	return view->heap_count ? &view->slot[view->heap[0].slot].event : NULL;
}

void ring_view_text(const struct ring_view *view, char *text)
{
	const struct ring_view_slot *slot = &view->slot[view->heap[0].slot];
	size_t size = (size_t)slot->event.name_bytes + slot->event.domain_bytes;

	memcpy(text, slot_at(view, slot, slot->taken) + sizeof(slot->event), size);
}

void ring_view_take(struct ring_view *view)
{
	struct ring_view_slot *slot = &view->slot[view->heap[0].slot];

	slot->taken += slot->event.bytes;
	if (slot->taken - slot->tail > view->unreturned)
		view->unreturned = slot->taken - slot->tail;
	if (slot_next(view, slot)) {
		heap_down(view, (struct ring_turn){ slot->event.seq, view->heap[0].slot });
	} else {
		slot->waiting = 0;
		view->heap_count--;
		heap_down(view, view->heap[view->heap_count]);
	}
}

int ring_view_drain(struct ring_view *view)
{
	uint32_t i;
	int any = 0;

	ring_view_refresh(view);
	for (i = 0; i < view->slots; i++) {
		struct ring_view_slot *slot = &view->slot[i];

		any |= slot->taken != slot->head;
		slot->taken = slot->head;
		slot->waiting = 0;
	}
	view->heap_count = 0;
	return any;
}

void ring_view_release(struct ring_view *view)
{
	uint32_t i;

	for (i = 0; i < view->slots; i++) {
		struct ring_view_slot *slot = &view->slot[i];
		struct ring_slot *shared = &view->header->slot[i];
		uint32_t left = RING_SLOT_LEFT;

		if (slot->broken)
			continue;
		if (slot->tail != slot->taken) {
			slot->tail = slot->taken;
			atomic_store_explicit(&shared->tail, slot->tail, memory_order_release);
		}
		/* A thread sets LEFT after its last event, so the head that is read after LEFT is final. */
		if (atomic_load_explicit(&shared->state, memory_order_acquire) == RING_SLOT_LEFT &&
		    atomic_load_explicit(&shared->head, memory_order_acquire) == slot->tail)
			atomic_compare_exchange_strong(&shared->state, &left, RING_SLOT_FREE);
	}
	view->unreturned = 0;
}

/* ---- the log ------------------------------------------------------------------------------------------------ */

enum ring_log_status ring_view_log(struct ring_view *view, struct ring_log_entry *entry)
{
	uint64_t head = atomic_load_explicit(&view->header->log_head, memory_order_acquire);
	uint64_t ready = atomic_load_explicit(&view->header->log_ready, memory_order_acquire);
	uint64_t end = head < ready ? head : ready;
	const struct ring_log *log;

	if (view->log_damaged)
		return RING_LOG_BLOCKED;
	if (head == view->log_at)
		return RING_LOG_END;
	if (end > view->log_bytes)
		end = view->log_bytes;
	if (view->log_at + sizeof(*log) > end)
		return RING_LOG_BLOCKED;
	log = (const void *)((const uint8_t *)view->header + view->log_offset + view->log_at);
	entry->bytes = atomic_load_explicit(&log->bytes, memory_order_acquire);
	if (!entry->bytes)
		return RING_LOG_BLOCKED;
	if (entry->bytes % 8 || entry->bytes < sizeof(*log) || entry->bytes > end - view->log_at) {
		view->log_damaged = 1;
		return RING_LOG_BLOCKED;
	}
	entry->kind = log->kind;
	entry->key = log->key;
	entry->offset = view->log_at;
	view->log_at += entry->bytes;
	return RING_LOG_ENTRY;
}

void ring_view_log_copy(const struct ring_view *view, const struct ring_log_entry *entry, void *record)
{
	memcpy(record, (const uint8_t *)view->header + view->log_offset + entry->offset, entry->bytes);
}
