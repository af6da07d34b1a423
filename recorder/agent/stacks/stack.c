/* stack.c - Python and native frames of one event: walk, hash, and write to the log what is new. */
#include "stack.h"

#include <string.h>
#include "agent/ring/guest_map.h"
#include "agent/ring/hash_set.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "shared/options.h"
#include "stack_python.h"

/* Longest texts of a code object, bytes; paths longer than that are cut. */
#define NAME_MAX_BYTES 1024u
#define FILE_MAX_BYTES 4096u

struct native_stack {
	uint32_t count;
	uint16_t cut;
	uint64_t address[STACK_NATIVE_MAX];
};

int stacks_init(struct stacks *stacks, struct ring *ring, uint32_t depth, uint32_t kinds)
{
	stacks->ring = ring;
	stacks->depth = depth < STACK_PYTHON_MAX ? depth : STACK_PYTHON_MAX;
	stacks->kinds = kinds;
	atomic_store(&stacks->full, 0);
	atomic_store(&stacks->news, 0);
	atomic_store(&stacks->jumps, 0);
	modules_init(&stacks->modules);
	return hash_set_init(&stacks->known);
}

void stacks_release(struct stacks *stacks)
{
	hash_set_release(&stacks->known);
}

static uint64_t hash_python(uint64_t hash, const struct python_stack *python)
{
	const struct python_frame *frame = python->frame;
	uint32_t i;

	for (i = 0; i + 1 < python->count; i += 2)
		hash = hash_two(hash, frame[i].key + frame[i].lasti, frame[i + 1].key + frame[i + 1].lasti);
	return i < python->count ? hash_two(hash, frame[i].key, frame[i].lasti) : hash;
}

static uint64_t hash_native(uint64_t hash, const struct native_stack *native)
{
	uint32_t i;

	for (i = 0; i + 1 < native->count; i += 2)
		hash = hash_two(hash, native->address[i], native->address[i + 1]);
	return i < native->count ? hash_two(hash, native->address[i], i) : hash;
}

static uint64_t hash_stack(const struct python_stack *python, const struct native_stack *native, uint32_t generation)
{
	uint64_t hash = hash_mix(hash_start(HASH_STACK), (uint64_t)python->count << 32 | python->elided);

	hash = hash_python(hash, python);
	if (!native->count)
		return hash_finish(hash);
	return hash_finish(hash_native(hash_mix(hash, (uint64_t)generation << 32 | native->count), native));
}

static int log_code(struct stacks *stacks, const struct python_frame *frame)
{
	char name[NAME_MAX_BYTES], qualname[NAME_MAX_BYTES], file[FILE_MAX_BYTES];
	struct ring_log_code *record;
	struct python_code code;
	size_t sizes[3], bytes;
	uint8_t *at;

	stack_python_code(frame, &code);
	sizes[0] = stack_python_text(code.name, name, sizeof(name));
	sizes[1] = stack_python_text(code.qualname, qualname, sizeof(qualname));
	sizes[2] = stack_python_text(code.file, file, sizeof(file));
	bytes = sizeof(*record) + sizes[0] + sizes[1] + sizes[2] + code.table_bytes;
	record = (struct ring_log_code *)ring_log_begin(stacks->ring, RING_LOG_CODE, bytes);
	if (!record)
		return -MT_E_SPACE;
	record->log.key = frame->key;
	record->first_line = code.first_line;
	record->name_bytes = (uint16_t)sizes[0];
	record->qualname_bytes = (uint16_t)sizes[1];
	record->file_bytes = (uint16_t)sizes[2];
	record->table_bytes = code.table_bytes;
	at = (uint8_t *)(record + 1);
	memcpy(at, name, sizes[0]);
	memcpy(at + sizes[0], qualname, sizes[1]);
	memcpy(at + sizes[0] + sizes[1], file, sizes[2]);
	if (code.table_bytes)
		memcpy(at + sizes[0] + sizes[1] + sizes[2], code.table, code.table_bytes);
	ring_log_end(&record->log, bytes);
	return 0;
}

static int log_codes(struct stacks *stacks, const struct python_stack *python)
{
	uint32_t i;

	for (i = 0; i < python->count; i++) {
		if (hash_set_has(&stacks->known, python->frame[i].key))
			continue;
		if (log_code(stacks, &python->frame[i]))
			return -MT_E_SPACE;
		hash_set_add(&stacks->known, python->frame[i].key);
	}
	return 0;
}

static int log_frames(struct stacks *stacks, uint64_t hash, const struct python_stack *python,
		      const struct native_stack *native)
{
	size_t bytes = sizeof(struct ring_log_stack) + python->count * sizeof(struct ring_python) +
		       native->count * sizeof(uint64_t);
	struct ring_log_stack *record = (struct ring_log_stack *)ring_log_begin(stacks->ring, RING_LOG_STACK, bytes);
	struct ring_python *frame;
	uint32_t i;

	if (!record)
		return -MT_E_SPACE;
	frame = (struct ring_python *)(record + 1);
	record->log.key = hash;
	record->python = (uint16_t)python->count;
	record->native = (uint16_t)native->count;
	record->python_elided = (uint16_t)python->elided;
	record->native_cut = native->cut;
	for (i = 0; i < python->count; i++) {
		frame[i].code = python->frame[i].key;
		frame[i].lasti = python->frame[i].lasti;
	}
	memcpy(frame + python->count, native->address, native->count * sizeof(uint64_t));
	ring_log_end(&record->log, bytes);
	return 0;
}

/* Everything a reader of this stack needs, definitions first. */
static int log_stack(struct stacks *stacks, uint64_t hash, const struct python_stack *python,
		     struct native_stack *native)
{
	int error = log_codes(stacks, python);
	uint32_t trusted;
	uint64_t held;

	guest_hold_signals(&held);
	trusted = modules_trust(&stacks->modules, native->address, native->count);
	guest_release_signals(&held);

	if (trusted < native->count)
		native->cut = 1;
	native->count = trusted;
	return error ? error : log_frames(stacks, hash, python, native);
}

static int wants_native(const struct stacks *stacks, enum stack_wish wish, const struct python_stack *python)
{
	if (stacks->kinds & MEMREC_STACKS_NATIVE_ALWAYS)
		return 1;
	return (stacks->kinds & MEMREC_STACKS_NATIVE) && (wish == STACK_DRIVER || !python->count);
}

/* A process without Python may get one: looks again when something was loaded. -MT_E_SPACE: the log is full. */
static int follow_loader(struct stacks *stacks)
{
	uint64_t held;
	int changed;

	if (!atomic_load_explicit(&stacks->jumps, memory_order_relaxed) && !modules_have_changed(&stacks->modules))
		return 0;
	guest_hold_signals(&held);
	changed = modules_log(&stacks->modules, stacks->ring, &stacks->known);
	guest_release_signals(&held);

	if (changed > 0 && stack_python_state() == PYTHON_ABSENT)
		atomic_store(&stacks->news, 1);
	return changed < 0 ? changed : 0;
}

static void take_python(struct stacks *stacks, struct python_stack *python)
{
	enum python_state before;

	python->count = python->elided = 0;
	if (!(stacks->kinds & MEMREC_STACKS_PYTHON))
		return;
	before = stack_python_state();
	stack_python_walk(python, stacks->depth);
	if (stack_python_state() != before)
		atomic_store(&stacks->news, 1);
}

uint64_t stacks_take(struct stacks *stacks, enum stack_wish wish)
{
	struct python_stack python;
	struct native_stack native;
	uint32_t generation = 0;
	uint64_t hash;
	int error = 0;

	if (wish == STACK_NONE || !stacks->depth)
		return 0;
	take_python(stacks, &python);
	native.count = 0;
	native.cut = 0;
	if (wants_native(stacks, wish, &python)) {
		error = follow_loader(stacks);
		generation = modules_generation(&stacks->modules);
		native.count = stack_native_walk(native.address, stacks->depth, &native.cut);
	} else if (!python.count) {
		error = follow_loader(stacks);
	}
	if (!error && !python.count && !native.count)
		return 0;
	hash = hash_stack(&python, &native, generation);
	if (!error && hash_set_has(&stacks->known, hash))
		return hash;
	if (error || !hash_set_has_room(&stacks->known, hash) || log_stack(stacks, hash, &python, &native)) {
		atomic_store(&stacks->full, 1);
		return 0;
	}
	hash_set_add(&stacks->known, hash);
	return hash;
}

void stacks_expect_jumps(struct stacks *stacks)
{
	atomic_store_explicit(&stacks->jumps, 1, memory_order_relaxed);
}

int stacks_have_news(struct stacks *stacks)
{
	return atomic_load_explicit(&stacks->news, memory_order_relaxed) && atomic_exchange(&stacks->news, 0);
}
