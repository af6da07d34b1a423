/*
 * stack_python.c - walk the chain of frames by the offsets of python_layout.h, verifying while walking.
 *
 *     PyThreadState ──> [cframe ──>] innermost frame ──back──> frame ──back──> ... ──> NULL
 *                                        │ code, instruction
 *                                        ▼
 *                                    PyCodeObject (its type must be PyCode_Type, else the walk ends)
 */
#include "stack_python.h"

#include "agent/ring/hash_set.h"
#include "memtrace/base.h"
#include "memtrace/defs.h"
#include "stack_python_impl.h"

#define KEYS_KEPT 32u
#define FILES_KEPT 8u

/*
 * The state that runs on this thread. If only the first of its states is known, and there are other interpreters, it
 * counts only while it is the one that holds the GIL.
 */
static const uint8_t *this_thread(void)
{
	const uint8_t *thread = python_found.thread();

	if (!python_is_plausible(thread))
		return NULL;
	if (python_found.newest_interpreter && python_found.newest_interpreter() != python_found.main_interpreter() &&
	    python_found.running_thread() != thread)
		return NULL;
	return thread;
}

/* `checked` 0: the layout may be wrong. */
static const uint8_t *innermost_frame(int checked)
{
	const struct python_layout *at = &python_found.at;
	const uint8_t *thread = this_thread();
	const uint8_t *frame;

	if (!thread)
		return NULL;
	frame = python_pointer(thread, at->thread_frame);
	if (at->cframe_frame == PYTHON_NONE || !python_is_plausible(frame))
		return frame;
	if (!checked && !python_is_readable(frame + at->cframe_frame))
		return frame;
	return python_pointer(frame, at->cframe_frame);
}

/* Byte offset of the instruction; -1: the frame has not begun. */
static int64_t instruction_of(const uint8_t *frame, const uint8_t *code)
{
	const struct python_layout *at = &python_found.at;
	int32_t units;

	if (!at->lasti_scale)
		return python_pointer(frame, at->frame_instr) - (code + at->code_bytes);
	units = python_int(frame, at->frame_instr);
	return units < 0 ? -1 : (int64_t)units * at->lasti_scale;
}

/* 0: the frame is there, but not for CPython's own tracebacks: since 3.11, before its arguments are in place. */
static int is_entered(const uint8_t *frame, const uint8_t *code, int64_t offset)
{
	const struct python_layout *at = &python_found.at;

	return at->lasti_scale || python_owner(frame) == PYTHON_OWNER_GENERATOR ||
	       offset >= 2 * (int64_t)python_int(code, at->code_bytes - PYTHON_FIRST_TRACEABLE_BACK);
}

/* One frame of the walk before it is known whether it will be kept. */
struct step {
	const uint8_t *code;
	uint32_t lasti;
};

/* 1: *step is a frame, 0: pass over it, -1: end here. */
static inline __attribute__((always_inline)) int look_at(const uint8_t *frame, struct step *step)
{
	int64_t offset;

	if (python_owner(frame) >= PYTHON_OWNER_SHIM)
		return 0;
	step->code = python_code(frame);
	if (!python_is_plausible(step->code) ||
	    python_pointer(step->code, PYTHON_OBJECT_TYPE) != python_found.code_type)
		return -1;
	offset = instruction_of(frame, step->code);
	step->lasti = (uint32_t)offset;
	return offset >= -2 && offset <= INT32_MAX && is_entered(frame, step->code, offset);
}

/* The cache of this walk, during which nothing dies: the same few functions and files come again and again. */
struct keys {
	const uint8_t *code[KEYS_KEPT], *file[FILES_KEPT];
	uint64_t key[KEYS_KEPT], file_hash[FILES_KEPT];
	uint8_t call[KEYS_KEPT]; /* enum python_call */
};

/* At each event: a call of memset, or what stands for one, takes longer than all of this. */
static inline void keys_init(struct keys *keys)
{
	typedef uint64_t words __attribute__((vector_size(16), may_alias, aligned(8)));
	words *at = (words *)keys, *end = (words *)keys->key;

	for (; at < end; at++) {
		*at = (words){ 0, 0 };
		__asm__ volatile("" : : : "memory");
	}
}

static inline uint32_t place_of(const uint8_t *object, uint32_t places)
{
	return (uint32_t)((uintptr_t)object >> 4) % places;
}

static uint64_t file_hash(struct keys *keys, const uint8_t *file)
{
	uint32_t place = place_of(file, FILES_KEPT);

	if (keys->file[place] != file) {
		keys->file[place] = file;
		keys->file_hash[place] = python_text_hash(file);
	}
	return keys->file_hash[place];
}

static uint64_t contents_key(uint64_t key, const uint8_t *code, struct keys *keys)
{
	const struct python_layout *at = &python_found.at;
	const uint8_t *table = python_pointer(code, at->code_table);

	key = hash_two(key, file_hash(keys, python_pointer(code, at->code_file)),
		       python_text_hash(python_pointer(code, at->code_name)));
	key = hash_two(key, python_word(code, PYTHON_OBJECT_SIZE), (uintptr_t)table);
	if (!python_is_plausible(table))
		return key;
	return hash_mix(key, python_bytes_hash(table + PYTHON_BYTES_DATA, python_word(table, PYTHON_OBJECT_SIZE)));
}

/*
 * A program that makes code as it goes (exec, torch.compile) frees it too. The next code then lies at the same
 * address, its name, file name and table likewise. So addresses say nothing: only a number that is given out once
 * does, or else all that there is to tell.
 */
static uint64_t key_of(const uint8_t *code, struct keys *keys)
{
	const struct python_layout *at = &python_found.at;
	uint32_t version = at->code_version == PYTHON_NONE ? 0 : (uint32_t)python_int(code, at->code_version);
	uint64_t numbers = (uint64_t)version << 32 | (uint32_t)python_int(code, at->code_line);
	uint64_t key = hash_start(HASH_CODE) ^ (uintptr_t)code;

	key = hash_two(key, numbers, python_word(code, at->code_name));
	return hash_finish(version ? key : contents_key(key, code, keys));
}

static __attribute__((noinline)) uint32_t learn(const uint8_t *code, uint32_t place, struct keys *keys)
{
	if (keys->code[place])
		place ^= 1;
	keys->code[place] = code;
	keys->key[place] = key_of(code, keys);
	keys->call[place] = python_may_be_call(code) ? (uint8_t)python_call_of(code, keys->key[place])
						     : PYTHON_CALL_NONE;
	return place;
}

/* The place in the cache that has the code: one of two, so that no pair of functions that call each other shares one. */
static inline uint32_t find(const uint8_t *code, struct keys *keys)
{
	uint32_t place = place_of(code, KEYS_KEPT);

	if (keys->code[place] == code)
		return place;
	if (keys->code[place ^ 1] == code)
		return place ^ 1;
	return learn(code, place, keys);
}

static inline enum python_call keep(struct python_frame *frame, const struct step *step, struct keys *keys)
{
	uint32_t place = find(step->code, keys);

	frame->code = step->code;
	frame->key = keys->key[place];
	frame->lasti = step->lasti;
	return (enum python_call)keys->call[place];
}

/* The same for a frame that is left out. */
static enum python_call call_of(const uint8_t *code, struct keys *keys)
{
	return python_may_be_call(code) ? (enum python_call)keys->call[find(code, keys)] : PYTHON_CALL_NONE;
}

/* Hash of a module's call. At each event: which module it is for a reader is found once for each stack (log_new). */
static inline __attribute__((always_inline)) uint64_t hash_call(const uint8_t *frame, uint32_t number)
{
	const uint8_t *object = python_first_local(frame), *type = NULL;

	if (object)
		type = python_pointer(object, PYTHON_OBJECT_TYPE);
	if (!object || type == python_found.cell_type) {
		object = python_argument_in_cell(frame, object);
		type = object ? python_pointer(object, PYTHON_OBJECT_TYPE) : NULL;
	}
	return object ? hash_two(number, (uintptr_t)object, (uintptr_t)type) : 0;
}

/* A _call_impl whose caller is to be seen yet: _wrapped_call_impl has the same module at hand. */
struct inner_call {
	const uint8_t *frame; /* NULL: there is none */
	uint32_t number;
};

/* The calls of modules that are known at the next frame. */
static inline uint64_t hash_calls(struct inner_call *inner, const uint8_t *frame, uint32_t number,
				  enum python_call call)
{
	uint64_t hash = inner->frame && call != PYTHON_CALL_WRAPPED ? hash_call(inner->frame, inner->number) : 0;

	inner->frame = NULL;
	if (call == PYTHON_CALL_WRAPPED)
		return hash + hash_call(frame, number);
	if (call == PYTHON_CALL_PLAIN)
		*inner = (struct inner_call){ frame, number };
	return hash;
}

/* The outermost frames so far, going round. */
struct outer {
	struct step step[STACK_PYTHON_MAX / 4];
	uint32_t size, next;
};

static void note_outer(struct outer *outer, const struct step *step)
{
	if (!outer->size)
		return;
	outer->step[outer->next] = *step;
	outer->next = outer->next + 1 < outer->size ? outer->next + 1 : 0;
}

/* More frames were there than fit: the outermost ones take the place of those that came last. */
static void put_outer(struct python_stack *stack, const struct outer *outer, struct keys *keys)
{
	uint32_t first = stack->count - outer->size, i;

	for (i = 0; i < outer->size; i++)
		keep(&stack->frame[first + i], &outer->step[(outer->next + i) % outer->size], keys);
	stack->elided = first;
}

/* Follows the chain from `frame` on. Returns the frames that did not fit; *end: NULL when it came to its end. */
static uint32_t follow(struct python_stack *stack, uint32_t depth, struct outer *outer, struct keys *keys,
		       const uint8_t **end)
{
	const uint8_t *frame = *end;
	uint32_t walked, more = 0;
	struct inner_call inner = { NULL, 0 };
	enum python_call call;
	uint64_t calls = 0;
	struct step step;
	int kind;

	for (walked = 0; walked < STACK_PYTHON_WALK && python_is_plausible(frame); walked++) {
		kind = look_at(frame, &step);
		if (kind < 0) {
			frame = NULL;
			break;
		}
		if (kind) {
			if (stack->count < depth) {
				call = keep(&stack->frame[stack->count++], &step, keys);
			} else {
				call = call_of(step.code, keys);
				more++;
			}
			if (call || inner.frame)
				calls += hash_calls(&inner, frame, stack->count + more, call);
			if (stack->count + outer->size > depth)
				note_outer(outer, &step);
		}
		frame = python_pointer(frame, python_found.at.frame_back);
	}
	stack->calls = calls + (inner.frame ? hash_call(inner.frame, inner.number) : 0);
	*end = frame;
	return more;
}

void stack_python_walk(struct python_stack *stack, uint32_t depth)
{
	uint32_t stage = atomic_load_explicit(&python_found.stage, memory_order_acquire);
	struct keys keys;
	const uint8_t *frame;
	struct outer outer;
	uint32_t more;

	stack->count = 0;
	stack->elided = 0;
	stack->calls = 0;
	if ((stage != PYTHON_STAGE_CHECKED && stage != PYTHON_STAGE_FOUND) || !depth)
		return;
	frame = innermost_frame(stage == PYTHON_STAGE_CHECKED);
	if (!frame || (stage == PYTHON_STAGE_FOUND && !python_check_frames(frame)))
		return;
	outer.size = depth / 4;
	outer.next = 0;
	keys_init(&keys);
	more = follow(stack, depth, &outer, &keys, &frame);
	if (!more)
		return;
	if (frame)
		stack->elided = stack->count;
	else
		put_outer(stack, &outer, &keys);
}

/* Makes indices of the numbers that instances have: how many of the frames that were walked came before them. */
static void place_instances(const struct python_stack *stack, struct python_instances *instances, uint32_t walked)
{
	uint32_t first = stack->elided ? stack->elided : stack->count, last = walked - (stack->count - first), i;

	for (i = 0; i < instances->count; i++) {
		struct python_instance *instance = &instances->of[i];

		if (instance->frame >= last)
			instance->frame = instance->frame - last + first;
		else if (instance->frame >= first)
			instance->frame = STACK_ELIDED;
	}
}

void stack_python_instances(const struct python_stack *stack, struct python_instances *instances)
{
	const uint8_t *frame = stack->calls ? innermost_frame(1) : NULL;
	uint32_t walked, number = 0;
	struct keys keys;
	struct step step;
	int kind = 0;

	instances->count = 0;
	keys_init(&keys);
	for (walked = 0; walked < STACK_PYTHON_WALK && python_is_plausible(frame); walked++) {
		kind = look_at(frame, &step);
		if (kind < 0)
			break;
		if (kind && call_of(step.code, &keys))
			python_note_instance(instances, frame, number);
		number += (uint32_t)kind;
		frame = python_pointer(frame, python_found.at.frame_back);
	}
	place_instances(stack, instances, number);
}

enum python_state stack_python_state(void)
{
	switch (atomic_load_explicit(&python_found.stage, memory_order_acquire)) {
	case PYTHON_STAGE_NONE:
		return PYTHON_ABSENT;
	case PYTHON_STAGE_LOOKING:
		return PYTHON_BUSY;
	case PYTHON_STAGE_REFUSED:
		return PYTHON_REFUSED;
	default:
		return PYTHON_READY;
	}
}

void stack_python_code(const struct python_frame *frame, struct python_code *code)
{
	const struct python_layout *at = &python_found.at;
	const uint8_t *table = python_pointer(frame->code, at->code_table);
	uint64_t bytes;

	code->name = python_pointer(frame->code, at->code_name);
	code->file = python_pointer(frame->code, at->code_file);
	code->qualname = at->code_qualname == PYTHON_NONE ? NULL : python_pointer(frame->code, at->code_qualname);
	code->first_line = (uint32_t)python_int(frame->code, at->code_line);
	code->table = NULL;
	code->table_bytes = 0;
	if (!python_is_plausible(table))
		return;
	bytes = python_word(table, PYTHON_OBJECT_SIZE);
	code->table = table + PYTHON_BYTES_DATA;
	code->table_bytes = bytes <= MT_STRING_MAX ? (uint32_t)bytes : 0;
}
