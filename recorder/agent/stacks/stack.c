/* stack.c - takes the Python and native frames of an event: walks, hashes, and logs what is new. */
#include "stack.h"

#include <string.h>
#include "agent/ring/guest_map.h"
#include "agent/ring/hash_set.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "shared/options.h"
#include "stack_python.h"

/* Most bytes of a code object's texts; longer paths are cut. */
#define NAME_MAX_BYTES 1024u
#define FILE_MAX_BYTES 4096u
/* At this depth and beyond a module's call is soon among the frames: forward and _call_impl are next to each other. */
#define DEPTH_SHOWS_CALLS 8u

struct native_stack {
	uint32_t count;
	uint16_t cut;
	uint64_t address[STACK_NATIVE_MAX];
};

int stacks_init(struct stacks *stacks, struct ring *ring, uint32_t depth, uint32_t kinds, int instances)
{
	stacks->ring = ring;
	stacks->depth = depth < STACK_PYTHON_MAX ? depth : STACK_PYTHON_MAX;
	stacks->kinds = kinds;
	stacks->instances = instances;
	atomic_store(&stacks->full, 0);
	atomic_store(&stacks->bare, 0);
	atomic_store(&stacks->met, 0);
	atomic_store(&stacks->untold, 0);
	atomic_store(&stacks->news, 0);
	atomic_store(&stacks->jumps, 0);
	modules_init(&stacks->modules);
	return hash_set_init(&stacks->known);
}

void stacks_release(struct stacks *stacks)
{
	hash_set_release(&stacks->known);
}

static uint64_t hash_native(uint64_t hash, const struct native_stack *native)
{
	uint32_t i;

	for (i = 0; i + 1 < native->count; i += 2)
		hash = hash_two(hash, native->address[i], native->address[i + 1]);
	return i < native->count ? hash_two(hash, native->address[i], i) : hash;
}

static inline __attribute__((always_inline)) uint64_t hash_stack(const struct python_stack *python,
								 const struct native_stack *native, uint32_t generation)
{
	uint64_t hash = hash_mix(hash_start(HASH_STACK) + python->calls,
				 (uint64_t)python->count << 32 | python->elided);

	hash = hash_two(hash, python->hash, 0);
	if (!native->count)
		return hash_finish(hash);
	return hash_finish(hash_native(hash_mix(hash, (uint64_t)generation << 32 | native->count), native));
}

/* Logs a code. 1: it is a module's call, the first one seen. */
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
	return stacks->instances && stack_python_meet(frame, name, sizes[0], file, sizes[2]);
}

/* Logs the codes of the frames. 1: one of them is a new module's call. */
static int log_codes(struct stacks *stacks, const struct python_stack *python)
{
	int news = 0, logged;
	uint32_t i;

	for (i = 0; i < python->count; i++) {
		if (hash_set_has(&stacks->known, python->frame[i].key))
			continue;
		logged = log_code(stacks, &python->frame[i]);
		if (logged < 0)
			return logged;
		news |= logged;
		hash_set_add(&stacks->known, python->frame[i].key);
	}
	return news;
}

static uint64_t instance_key(const struct python_instance *instance)
{
	return hash_finish(hash_two(hash_start(HASH_INSTANCE), (uintptr_t)instance->object, (uintptr_t)instance->type));
}

static uint64_t told_key(const void *object, const void *type)
{
	return hash_finish(hash_two(hash_start(HASH_TOLD), (uintptr_t)object, (uintptr_t)type));
}

static void note_met(struct stacks *stacks, const struct python_instance *instance)
{
	atomic_fetch_add(&stacks->met, 1);
	if (!hash_set_has(&stacks->known, told_key(instance->object, instance->type)))
		atomic_fetch_add(&stacks->untold, 1);
}

/* 1: the instance is in the log; 0: no module; -MT_E_SPACE. */
static int log_instance(struct stacks *stacks, const struct python_instance *instance)
{
	struct ring_log_instance *record;
	char name[NAME_MAX_BYTES];
	uint64_t key = instance_key(instance);
	size_t name_bytes, bytes;

	if (hash_set_has(&stacks->known, key))
		return 1;
	name_bytes = stack_python_class(instance, name, sizeof(name));
	if (!name_bytes)
		return 0;
	bytes = sizeof(*record) + name_bytes;
	record = (struct ring_log_instance *)ring_log_begin(stacks->ring, RING_LOG_INSTANCE, bytes);
	if (!record)
		return -MT_E_SPACE;
	record->log.key = key;
	record->address = (uintptr_t)instance->object;
	record->name_bytes = (uint32_t)name_bytes;
	memcpy(record + 1, name, name_bytes);
	ring_log_end(&record->log, bytes);
	hash_set_add(&stacks->known, key);
	note_met(stacks, instance);
	return 1;
}

/* Logs instances and drops those that are no modules. */
static int log_instances(struct stacks *stacks, struct python_instances *instances)
{
	uint32_t i, kept = 0;
	int logged;

	for (i = 0; i < instances->count; i++) {
		logged = log_instance(stacks, &instances->of[i]);
		if (logged < 0)
			return logged;
		if (logged)
			instances->of[kept++] = instances->of[i];
	}
	instances->count = kept;
	return 0;
}

static int log_frames(struct stacks *stacks, uint64_t hash, const struct python_stack *python,
		      const struct python_instances *instances, const struct native_stack *native)
{
	size_t bytes = sizeof(struct ring_log_stack) + python->count * sizeof(struct ring_python) +
		       native->count * sizeof(uint64_t) + instances->count * sizeof(struct ring_instance);
	struct ring_log_stack *record = (struct ring_log_stack *)ring_log_begin(stacks->ring, RING_LOG_STACK, bytes);
	struct ring_instance *instance;
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
	record->instances = (uint16_t)instances->count;
	for (i = 0; i < python->count; i++) {
		frame[i].code = python->frame[i].key;
		frame[i].lasti = python->frame[i].lasti;
	}
	memcpy(frame + python->count, native->address, native->count * sizeof(uint64_t));
	instance = (struct ring_instance *)((uint64_t *)(frame + python->count) + native->count);
	for (i = 0; i < instances->count; i++) {
		instance[i].key = instance_key(&instances->of[i]);
		instance[i].frame = instances->of[i].frame;
	}
	ring_log_end(&record->log, bytes);
	return 0;
}

/* Logs all that a reader of this stack needs, definitions first. The codes are in the log already. */
static int log_stack(struct stacks *stacks, uint64_t hash, struct python_stack *python, struct native_stack *native)
{
	struct python_instances instances;
	uint32_t trusted;
	uint64_t held;
	int error;

	stack_python_instances(python, &instances);
	error = log_instances(stacks, &instances);
	guest_hold_signals(&held);
	trusted = modules_trust(&stacks->modules, native->address, native->count);
	guest_release_signals(&held);

	if (trusted < native->count)
		native->cut = 1;
	native->count = trusted;
	return error ? error : log_frames(stacks, hash, python, &instances, native);
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
	python->count = python->elided = 0;
	python->hash = python->calls = 0;
	if (!(stacks->kinds & MEMREC_STACKS_PYTHON))
		return;
	if (stack_python_walk(python, stacks->depth))
		atomic_store(&stacks->news, 1);
}

/*
 * Drops the stack's instances if the log has little room left: the line that asked for memory matters more than the
 * layer. 1: the stack has changed.
 */
static int strip(struct stacks *stacks, struct python_stack *python)
{
	if (!python->calls ||
	    (ring_log_taken(stacks->ring) < stacks->ring->log_bytes / 4 * 3 && !hash_set_is_crowded(&stacks->known)))
		return 0;
	python->calls = 0;
	atomic_store_explicit(&stacks->bare, 1, memory_order_relaxed);
	return 1;
}

/* Takes the frames of the stack and logs their codes. 1: one of them is a new module's call. */
static int take_frames(struct stacks *stacks, struct python_stack *python)
{
	if (!python->count)
		return 0;
	stack_python_frames(python, stacks->depth);
	return log_codes(stacks, python);
}

/*
 * Looks for the first module's call in all frames. A new code shows its name when it is logged (log_code), but with a
 * small depth the call's code may never be in a logged stack. 1: found one.
 */
static __attribute__((noinline)) int meet_calls(const struct stacks *stacks, const struct python_stack *kept)
{
	char name[NAME_MAX_BYTES], file[FILE_MAX_BYTES];
	struct python_stack python;
	struct python_code code;
	size_t name_bytes, file_bytes;
	uint32_t i;
	int met = 0;

	if (!stacks->instances || !kept->elided || stack_python_knows_calls())
		return 0;
	stack_python_frames(&python, STACK_PYTHON_MAX);
	for (i = 0; i < python.count; i++) {
		stack_python_code(&python.frame[i], &code);
		name_bytes = stack_python_text(code.name, name, sizeof(name));
		file_bytes = stack_python_text(code.file, file, sizeof(file));
		met |= stack_python_meet(&python.frame[i], name, name_bytes, file, file_bytes);
	}
	return met;
}

/* Logs a new stack. Codes come first: if one is a new module's call, the stack has instances and is taken again. */
static __attribute__((noinline)) int log_new(struct stacks *stacks, uint64_t *hash, uint32_t generation,
					     struct python_stack *python, struct native_stack *native)
{
	int met = take_frames(stacks, python);

	if (met > 0)
		met = take_frames(stacks, python);
	if (met < 0)
		return met;
	strip(stacks, python);
	*hash = hash_stack(python, native, generation);
	if (hash_set_has(&stacks->known, *hash))
		return 0;
	if (!hash_set_has_room(&stacks->known, *hash))
		return -MT_E_SPACE;
	return log_stack(stacks, *hash, python, native);
}

static uint32_t take_native(struct stacks *stacks, enum stack_wish wish, const struct python_stack *python,
			    struct native_stack *native, int *error)
{
	uint32_t generation = 0;

	native->count = 0;
	native->cut = 0;
	if (wants_native(stacks, wish, python)) {
		*error = follow_loader(stacks);
		generation = modules_generation(&stacks->modules);
		native->count = stack_native_walk(native->address, stacks->depth, &native->cut);
	} else if (!python->count) {
		*error = follow_loader(stacks);
	}
	return generation;
}

uint64_t stacks_take(struct stacks *stacks, enum stack_wish wish)
{
	struct python_stack python;
	struct native_stack native;
	uint32_t generation;
	uint64_t hash;
	int error = 0;

	if (wish == STACK_NONE || !stacks->depth)
		return 0;
	take_python(stacks, &python);
	if (stacks->depth < DEPTH_SHOWS_CALLS && meet_calls(stacks, &python))
		take_python(stacks, &python);
	generation = take_native(stacks, wish, &python, &native, &error);
	if (!error && !python.count && !native.count)
		return 0;
	hash = hash_stack(&python, &native, generation);
	if (!error && hash_set_has(&stacks->known, hash))
		return hash;
	if (!error && strip(stacks, &python)) {
		hash = hash_stack(&python, &native, generation);
		if (hash_set_has(&stacks->known, hash))
			return hash;
	}
	if (error || log_new(stacks, &hash, generation, &python, &native)) {
		atomic_store(&stacks->full, 1);
		return 0;
	}
	hash_set_add(&stacks->known, hash);
	return hash;
}

void stacks_all_told(struct stacks *stacks, uint32_t untold)
{
	uint32_t now = atomic_load(&stacks->untold);

	while (now >= untold && !atomic_compare_exchange_weak(&stacks->untold, &now, now - untold))
		continue;
}

void stacks_tell_again(struct stacks *stacks)
{
	atomic_store(&stacks->untold, atomic_load(&stacks->met));
}

void stacks_told(struct stacks *stacks, const void *object, const void *type)
{
	if (!hash_set_is_crowded(&stacks->known))
		hash_set_add(&stacks->known, told_key(object, type));
}

void stacks_expect_jumps(struct stacks *stacks)
{
	atomic_store_explicit(&stacks->jumps, 1, memory_order_relaxed);
}

int stacks_have_news(struct stacks *stacks)
{
	return atomic_load_explicit(&stacks->news, memory_order_relaxed) && atomic_exchange(&stacks->news, 0);
}
