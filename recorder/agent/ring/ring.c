/*
 * ring.c - reserves space, fills it, publishes events.
 *
 * A new thread takes over the slot of an ended thread: the cursors go on, and the old records stay for the collector.
 * So no code must run at the end of a thread. If there are more threads than slots, threads share the last slots, with
 * one writer at a time, so readers see no difference.
 */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "guest_map.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"

#define PAGE 4096u
#define WAIT_STEP_NS 100000
#define GROW_TRIES 2000 /* steps to wait for the thread that extends the log, which may be descheduled for long */
#define SLOT_BYTES_LEAST (1u << 16)
#define CLAIM_PATIENCE 1024u
#define GROW_PATIENCE 1024u
#define SHARED_SLOTS 64u /* number of shared slots, the last ones */
#define OWNED_SLOTS (RING_SLOTS - SHARED_SLOTS)
#define SHARED_TRIES 200u /* before sleeping */
#define LONGEST_STEP_NS 20000000ull
#define WAITS_MAX 50    /* times wait_ns, as long as the collector gets on */
#define SHARED_WAITS 20 /* times wait_ns without progress: threads share a slot, and one can hold up all others */

const struct ring_event ring_event_none;

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* The system call itself: nanosleep() is a cancellation point. */
static void pause_ns(uint64_t ns)
{
	struct timespec step = { 0, (long)ns };

	syscall(SYS_nanosleep, &step, NULL);
}

static void pause_a_little(void)
{
	pause_ns(WAIT_STEP_NS);
}

/* A wait, measured by the clock and by its own pauses: a preloaded library may let the program's clock stand still. */
struct wait {
	uint64_t began, paused, step;
};

static struct wait wait_begin(uint64_t first_step_ns)
{
	return (struct wait){ mt_clock_ns(), 0, first_step_ns };
}

/* ns since the wait began, at least. */
static uint64_t wait_ns_of(const struct wait *wait)
{
	uint64_t by_clock = mt_clock_ns() - wait->began;

	return by_clock > wait->paused && by_clock < UINT64_MAX / 2 ? by_clock : wait->paused;
}

/* Each step is longer: thousands of threads may wait, and the one they wait for needs the processor. */
static void wait_a_step(struct wait *wait)
{
	wait->step = wait->step * 2 < LONGEST_STEP_NS ? wait->step * 2 : LONGEST_STEP_NS;
	pause_ns(wait->step);
	wait->paused += wait->step;
}

static int space_error(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG ? -MT_E_SPACE : -MT_E_SYSTEM;
}

static int reserve(int fd, uint64_t offset, uint64_t bytes)
{
	int error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);

	if (!error)
		return 0;
	errno = error;
	return space_error(error);
}

static uint64_t slot_offset(const struct ring_header *header, uint32_t slot)
{
	return header->header_bytes + (uint64_t)slot * header->slot_bytes;
}

/*
 * Reserves address space for the whole log, or less below a limit. Parts of the file are mapped into it when they are
 * reserved, so mlockall finds no unreserved page of the file.
 */
static int take_log_space(struct ring *ring, uint64_t bytes)
{
	while (bytes >= RING_LOG_STEP && !(ring->log = guest_map(bytes, PROT_NONE)))
		bytes /= 2;
	ring->log_bytes = ring->log ? bytes : 0;
	return ring->log ? 0 : -MT_E_MEMORY;
}

/* The collector maps all slots, under the limits of the program. */
static uint32_t fit_slots(uint32_t slot_bytes)
{
	uint64_t room = guest_room();

	while (slot_bytes > SLOT_BYTES_LEAST && (uint64_t)slot_bytes * RING_SLOTS / 4 > room)
		slot_bytes /= 2;
	return slot_bytes;
}

/* Sizes the open file and maps header and log. */
static int lay_out(struct ring *ring, int fd, uint32_t slot_bytes, uint64_t log_bytes)
{
	uint64_t header_bytes = round_up(sizeof(struct ring_header), PAGE), log_offset;
	struct ring_header *header;
	struct rlimit limit;
	int error = take_log_space(ring, log_bytes);

	if (error)
		return error;
	slot_bytes = fit_slots(slot_bytes);
	log_offset = header_bytes + (uint64_t)RING_SLOTS * slot_bytes;
	/* Beyond this limit the kernel sends a signal, not just an error. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < log_offset + ring->log_bytes)
		return -MT_E_SPACE;
	if (ftruncate(fd, (off_t)(log_offset + ring->log_bytes)))
		return space_error(errno);
	error = reserve(fd, 0, header_bytes + slot_bytes);
	if (!error)
		error = reserve(fd, log_offset, RING_LOG_STEP);
	if (error)
		return error;
	header = guest_map_file(fd, 0, header_bytes, ring->header, 0);
	if (header)
		ring->header = header;
	if (!header || !guest_map_file(fd, log_offset, RING_LOG_STEP, ring->log, 0))
		return -MT_E_SYSTEM;
	ring->header->version = RING_VERSION;
	ring->header->header_bytes = (uint32_t)header_bytes;
	ring->header->slots = RING_SLOTS;
	ring->header->slot_bytes = slot_bytes;
	ring->header->log_offset = log_offset;
	ring->header->log_bytes = ring->log_bytes;
	atomic_store(&ring->header->next_seq, 1);
	atomic_store(&ring->header->log_ready, RING_LOG_STEP);
	return 0;
}

int ring_create(struct ring *ring, const char *path, uint32_t slot_bytes, uint64_t log_bytes, uint64_t wait_ns)
{
	struct ring_header *header = ring->header;
	size_t length = strlen(path);
	int fd, error;

	memset(ring, 0, sizeof(*ring));
	ring->header = header; /* zero pages of an earlier ring: the place stays */
	if (length >= sizeof(ring->path))
		return -MT_E_SYSTEM;
	memcpy(ring->path, path, length + 1);
	ring->wait_ns = wait_ns;
	ring->has_counter = event_clock_has_counter();
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? -MT_E_BUSY : space_error(errno);
	error = fchmod(fd, 0600) ? -MT_E_SYSTEM
				 : lay_out(ring, fd, slot_bytes, log_bytes); /* independent of the umask */
	close(fd);
	if (error) {
		ring_unlink(ring);
		ring_forget(ring);
	}
	return error;
}

void ring_publish(struct ring *ring)
{
	atomic_thread_fence(memory_order_release);
	memcpy(ring->header->magic, RING_MAGIC, sizeof(ring->header->magic));
	atomic_thread_fence(memory_order_seq_cst);
}

void ring_end_replaced(const char *path, uint32_t pid, uint64_t start_ticks)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint64_t bytes = round_up(sizeof(struct ring_header), PAGE);
	struct ring_header *header = NULL;
	struct stat stat;

	if (fd >= 0 && !fstat(fd, &stat) && (uint64_t)stat.st_size >= bytes)
		header = guest_map_file(fd, 0, bytes, NULL, 0);
	if (fd >= 0)
		close(fd);
	if (!header)
		return;
	if (!memcmp(header->magic, RING_MAGIC, sizeof(header->magic)) && header->version == RING_VERSION &&
	    header->pid == pid && header->start_ticks == start_ticks)
		atomic_store(&header->ended, MT_END_REPLACED + 1);
	munmap(header, bytes);
}

void ring_unlink(struct ring *ring)
{
	unlink(ring->path);
}

void ring_forget(struct ring *ring)
{
	struct ring_header *header = ring->header;
	uint32_t slot_bytes = header ? header->slot_bytes : 0;
	uint32_t i;

	for (i = 0; i < RING_SLOTS; i++)
		if (ring->local[i].data)
			munmap(ring->local[i].data, slot_bytes);
	if (ring->log)
		munmap(ring->log, ring->log_bytes);
	if (header)
		guest_map_blank(header, round_up(sizeof(struct ring_header), PAGE));
	memset(ring, 0, sizeof(*ring));
	ring->header = header;
}

static int thread_is_gone(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) && errno == ESRCH;
}

/*
 * Reserves bytes in the file of a ring in use and maps them at `place`; NULL: anywhere. Cancellation is off meanwhile,
 * because open() and close() are cancellation points, and no thread may end inside the recorder.
 */
static int reserve_more(struct ring *ring, uint64_t offset, uint64_t bytes, void *place, uint8_t **map)
{
	int fd, error, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = open(ring->path, O_RDWR | O_CLOEXEC);
	error = fd < 0 ? -MT_E_SYSTEM : reserve(fd, offset, bytes);
	if (!error) {
		*map = guest_map_file(fd, offset, bytes, place, MAP_POPULATE);
		error = *map ? 0 : -MT_E_SYSTEM;
	}
	if (fd >= 0)
		close(fd);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

/* Takes over a slot whose thread has ended or had this thread's id. */
static int take_over(struct ring *ring, uint32_t i, uint32_t tid)
{
	uint32_t owner = atomic_load(&ring->local[i].owner);

	if (!owner || !ring->local[i].data || (owner != tid && !thread_is_gone(owner)))
		return 0;
	return atomic_compare_exchange_strong(&ring->local[i].owner, &owner, tid);
}

static int take_fresh(struct ring *ring, uint32_t i, uint32_t tid)
{
	uint32_t nobody = 0;

	if (atomic_load(&ring->local[i].owner) || !atomic_compare_exchange_strong(&ring->local[i].owner, &nobody, tid))
		return 0;
	if (!ring->local[i].data &&
	    reserve_more(ring, slot_offset(ring->header, i), ring->header->slot_bytes, NULL, &ring->local[i].data)) {
		atomic_store(&ring->local[i].owner, 0);
		return -1;
	}
	atomic_store(&ring->header->slot[i].state, RING_SLOT_CLAIMED);
	return 1;
}

/* Returns the index of a slot for this thread alone; -1: none is left, or no space. */
static int find_slot(struct ring *ring, uint32_t tid)
{
	uint32_t i;
	int taken;

	for (i = 0; i < OWNED_SLOTS; i++)
		if (take_over(ring, i, tid))
			return (int)i;
	for (i = 0; i < OWNED_SLOTS; i++) {
		taken = take_fresh(ring, i, tid);
		if (taken)
			return taken > 0 ? (int)i : -1;
	}
	return -1;
}

/* Takes a shared slot that is free or whose thread has ended. 1: it is `tid`'s now. */
static int take_shared(_Atomic uint32_t *holder, uint32_t tid)
{
	uint32_t old = atomic_load_explicit(holder, memory_order_relaxed);

	if (old && old != tid && !thread_is_gone(old))
		return 0;
	return atomic_compare_exchange_strong(holder, &old, tid);
}

/*
 * Waits for a shared slot. Copying a record is short, but its thread can be descheduled while all others run. 1: the
 * slot is the caller's until leave_shared().
 */
static int enter_shared(struct ring *ring, uint32_t slot, uint32_t tid)
{
	_Atomic uint32_t *holder = &ring->local[slot].holder;
	struct wait wait;
	uint32_t tries, nobody;

	for (tries = 0; tries < SHARED_TRIES; tries++) {
		nobody = 0;
		if (atomic_compare_exchange_weak(holder, &nobody, tid))
			return 1;
	}
	for (wait = wait_begin(WAIT_STEP_NS); !take_shared(holder, tid); wait_a_step(&wait))
		if (wait_ns_of(&wait) >= WAITS_MAX * ring->wait_ns)
			return 0;
	return 1;
}

static void leave_shared(struct ring *ring, uint32_t slot)
{
	atomic_store_explicit(&ring->local[slot].holder, 0, memory_order_release);
}

/* 1: the shared slot can be written to. */
static int open_shared(struct ring *ring, uint32_t slot, uint32_t tid)
{
	const _Atomic uint32_t *state = &ring->header->slot[slot].state;
	int open;

	if (atomic_load(state) == RING_SLOT_CLAIMED && ring->local[slot].data)
		return 1;
	if (!enter_shared(ring, slot, tid))
		return 0;
	open = atomic_load(state) == RING_SLOT_CLAIMED || take_fresh(ring, slot, tid) > 0;
	leave_shared(ring, slot);
	return open;
}

/* Returns a shared slot: by the thread's id or, without space, any open one. -1: none. */
static int find_shared(struct ring *ring, uint32_t tid)
{
	uint32_t mine = OWNED_SLOTS + tid % SHARED_SLOTS, i;

	if (open_shared(ring, mine, tid))
		return (int)mine;
	for (i = OWNED_SLOTS; i < RING_SLOTS; i++)
		if (atomic_load(&ring->header->slot[i].state) == RING_SLOT_CLAIMED)
			return (int)i;
	return -1;
}

static void read_cursors(struct ring_writer *writer)
{
	writer->head = atomic_load_explicit(&writer->slot->head, memory_order_acquire);
	writer->tail = atomic_load_explicit(&writer->slot->tail, memory_order_acquire);
}

int ring_claim(struct ring *ring, struct ring_writer *writer, uint32_t tid)
{
	uint64_t held;
	int i;

	if (writer->slot)
		return 1;
	if (writer->patience) {
		writer->patience--;
		return 0;
	}
	guest_hold_signals(&held);
	i = find_slot(ring, tid);
	guest_release_signals(&held);
	if (i < 0) {
		i = find_shared(ring, tid);
		writer->shared = i < 0 ? 0 : tid;
	}
	if (i < 0) {
		writer->patience = CLAIM_PATIENCE;
		return 0;
	}
	writer->slot = &ring->header->slot[i];
	writer->data = ring->local[i].data;
	read_cursors(writer);
	return 1;
}

/* The collector has not emptied the slot since the last look, and the slot is half full. */
static void notice_stuck(const struct ring *ring)
{
	if (ring->on_stuck)
		ring->on_stuck();
}

/* Half of the slot is full, as of the collector's cursor that the writer knows. */
static __attribute__((noinline)) int has_room_now(const struct ring *ring, struct ring_writer *writer, uint32_t need)
{
	uint64_t half = ring->header->slot_bytes / 2, before = writer->tail;

	writer->tail = atomic_load_explicit(&writer->slot->tail, memory_order_acquire);
	if (writer->tail == before && writer->head >= writer->noticed + half / 4) {
		writer->noticed = writer->head;
		notice_stuck(ring);
	}
	return writer->head - writer->tail + need <= ring->header->slot_bytes;
}

/* Reads the collector's cursor only after each half slot. */
static inline int has_room(const struct ring *ring, struct ring_writer *writer, uint32_t need)
{
	return writer->head - writer->tail + need <= ring->header->slot_bytes / 2 || has_room_now(ring, writer, need);
}

/*
 * Slow path: waits for the collector. It counts as stuck after wait_ns without progress. The wait is longer while the
 * collector makes progress and other threads take the room first. It is also longer in a shared slot: with many more
 * threads than processors, a thread that is descheduled between taking its number and publishing its event stops the
 * collector.
 */
static int wait_for_room(struct ring *ring, struct ring_writer *writer, uint32_t need)
{
	uint64_t patience = ring->wait_ns * (writer->shared ? SHARED_WAITS : 1);
	uint64_t waited, stuck = patience, tail = writer->tail;
	struct wait wait = wait_begin(WAIT_STEP_NS / 2);

	if (!ring->wait_ns || writer->gave_up == writer->tail + 1)
		return 0;
	do {
		wait_a_step(&wait);
		read_cursors(writer);
		if (writer->tail == tail)
			notice_stuck(ring);
		if (has_room(ring, writer, need)) {
			writer->gave_up = 0;
			return 1;
		}
		waited = wait_ns_of(&wait);
		if (writer->tail != tail)
			stuck = waited + patience;
		tail = writer->tail;
	} while (waited < stuck && waited < WAITS_MAX * ring->wait_ns && !atomic_load(&ring->header->stop));
	writer->gave_up = writer->tail + 1;
	return 0;
}

static void put_pad(struct ring_writer *writer, uint32_t at, uint32_t bytes)
{
	struct ring_event *pad = (void *)(writer->data + at);

	pad->bytes = bytes;
	pad->record = RING_PAD;
}

#define RING_INLINE static inline __attribute__((always_inline)) /* for what each event does */

/* By single words: a wide load waits for the narrow stores that have just filled in the event. */
static inline void copy_event(uint8_t *at, const struct ring_event *event)
{
	uint64_t word;
	size_t i;

	for (i = 0; i < sizeof(*event); i += sizeof(word)) {
		memcpy(&word, (const uint8_t *)event + i, sizeof(word));
		__asm__("" : "+r"(word)); /* keeps the compiler from joining words */
		memcpy(at + i, &word, sizeof(word));
	}
}

RING_INLINE void put_event(struct ring *ring, struct ring_writer *writer, uint8_t *at, struct ring_event *event,
			   const struct ring_text *text)
{
	event->seq = atomic_fetch_add_explicit(&ring->header->next_seq, 1, memory_order_relaxed);
	if (!event->time)
		event->time = event_clock_now(&writer->clock, ring->has_counter);
	copy_event(at, event);
	if (!text)
		return;
	at += sizeof(*event);
	memcpy(at, text->name, text->name_bytes);
	memcpy(at + text->name_bytes, text->domain, text->domain_bytes);
}

/* The bytes that an event needs in the writer's slot. */
struct need {
	uint32_t pad, bytes; /* pad: rest of the slot if the record does not fit there; bytes: the record */
};

static inline struct need need_of(const struct ring *ring, const struct ring_writer *writer, uint32_t bytes)
{
	uint32_t size = ring->header->slot_bytes, at = (uint32_t)(writer->head & (size - 1));

	return (struct need){ bytes > size - at ? size - at : 0, bytes };
}

RING_INLINE void put(struct ring *ring, struct ring_writer *writer, const struct need *need, struct ring_event *event,
		     const struct ring_text *text)
{
	uint32_t at = (uint32_t)(writer->head & (ring->header->slot_bytes - 1));

	if (need->pad)
		put_pad(writer, at, need->pad);
	put_event(ring, writer, writer->data + (need->pad ? 0 : at), event, text);
	writer->head += need->pad + need->bytes;
	atomic_store_explicit(&writer->slot->head, writer->head, memory_order_release);
}

static inline int append_own(struct ring *ring, struct ring_writer *writer, struct ring_event *event,
			     const struct ring_text *text)
{
	struct need need = need_of(ring, writer, event->bytes);

	if (!has_room(ring, writer, need.pad + need.bytes) && !wait_for_room(ring, writer, need.pad + need.bytes))
		return -MT_E_SPACE;
	put(ring, writer, &need, event, text);
	return 0;
}

/* While it waits for room, the thread gives the slot to the others. */
static __attribute__((noinline)) int append_shared(struct ring *ring, struct ring_writer *writer,
						   struct ring_event *event, const struct ring_text *text)
{
	uint32_t slot = (uint32_t)(writer->slot - ring->header->slot);
	struct need need;
	int fits;

	do {
		if (!enter_shared(ring, slot, writer->shared))
			return -MT_E_SPACE;
		read_cursors(writer);
		need = need_of(ring, writer, event->bytes);
		fits = has_room(ring, writer, need.pad + need.bytes);
		if (fits)
			put(ring, writer, &need, event, text);
		leave_shared(ring, slot);
	} while (!fits && wait_for_room(ring, writer, need.pad + need.bytes));
	return fits ? 0 : -MT_E_SPACE;
}

int ring_append(struct ring *ring, struct ring_writer *writer, struct ring_event *event, const struct ring_text *text)
{
	size_t texts = text ? (size_t)text->name_bytes + text->domain_bytes : 0;

	if (event->record != RING_BEFORE)
		event->record = RING_EVENT;
	event->name_bytes = text ? text->name_bytes : 0;
	event->domain_bytes = text ? text->domain_bytes : 0;
	event->bytes = (uint32_t)round_up(sizeof(*event) + texts, 8);
	return writer->shared ? append_shared(ring, writer, event, text) : append_own(ring, writer, event, text);
}

/* Tries once to extend the log, with signals held. 1: extended; 0: no room; -1: another thread is extending it. */
static int extend_log(struct ring *ring, uint64_t end)
{
	struct ring_header *header = ring->header;
	uint64_t ready;
	uint32_t idle = 0;
	uint8_t *map;
	int done = 1;

	if (!atomic_compare_exchange_strong(&header->log_growing, &idle, 1))
		return -1;
	ready = atomic_load(&header->log_ready);
	if (ready < end)
		done = ready + RING_LOG_STEP <= ring->log_bytes &&
		       !reserve_more(ring, header->log_offset + ready, RING_LOG_STEP, ring->log + ready, &map);
	if (ready < end && done)
		atomic_store(&header->log_ready, ready + RING_LOG_STEP);
	if (!done)
		atomic_store(&ring->patience, GROW_PATIENCE);
	atomic_store(&header->log_growing, 0);
	return done;
}

/* Extends log_ready until `end` fits, or waits for the thread that does. 1: it fits. */
static int grow_log(struct ring *ring, uint64_t end)
{
	struct ring_header *header = ring->header;
	uint64_t held;
	int tries, extended;

	for (tries = 0; tries < GROW_TRIES; tries++) {
		if (atomic_load_explicit(&header->log_ready, memory_order_acquire) >= end)
			return 1;
		if (atomic_load_explicit(&ring->patience, memory_order_relaxed)) {
			atomic_fetch_sub(&ring->patience, 1);
			return 0;
		}
		guest_hold_signals(&held);
		extended = extend_log(ring, end);
		guest_release_signals(&held);
		if (!extended)
			return 0;
		if (extended < 0)
			pause_a_little();
	}
	atomic_store(&ring->patience, GROW_PATIENCE);
	return 0;
}

/* The end of the room for records of a kind. */
static uint64_t log_limit(const struct ring *ring, enum ring_log_kind kind)
{
	uint64_t kept = ring->log_bytes / 4 < RING_LOG_STEP ? ring->log_bytes / 4 : RING_LOG_STEP;

	return kind == RING_LOG_STACK || kind == RING_LOG_CODE ? ring->log_bytes - kept : ring->log_bytes;
}

/*
 * Signals held from ring_log_begin to ring_log_end. A handler that leaves by siglongjmp would leave a hole, which ends
 * the log.
 */
static __thread uint64_t held_signals;

struct ring_log *ring_log_begin(struct ring *ring, enum ring_log_kind kind, size_t bytes)
{
	struct ring_header *header = ring->header;
	uint64_t head = atomic_load(&header->log_head);
	uint64_t need = round_up(bytes, 8), limit = log_limit(ring, kind);
	struct ring_log *log;

	/* Space is taken only if it will surely be filled, because a hole would end the log for every reader. */
	for (;;) {
		if (head > limit || need > limit - head)
			return NULL;
		if (head + need > atomic_load_explicit(&header->log_ready, memory_order_acquire) &&
		    !grow_log(ring, head + need))
			return NULL;
		guest_hold_signals(&held_signals);
		if (atomic_compare_exchange_strong(&header->log_head, &head, head + need))
			break;
		guest_release_signals(&held_signals);
	}
	log = (struct ring_log *)(ring->log + head);
	log->kind = kind;
	return log;
}

uint64_t ring_log_taken(const struct ring *ring)
{
	return atomic_load_explicit(&ring->header->log_head, memory_order_relaxed);
}

void ring_log_end(struct ring_log *log, size_t bytes)
{
	atomic_store_explicit(&log->bytes, (uint32_t)round_up(bytes, 8), memory_order_release);
	guest_release_signals(&held_signals);
}
