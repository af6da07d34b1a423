/*
 * stack_python.c - walks the chain of Python frames by the offsets of python_layout.h, with checks on the way.
 *
 *     PyThreadState ──> [cframe ──>] innermost frame ──back──> frame ──back──> ... ──> NULL
 *                                        │ code, instruction
 *                                        ▼
 *                                    PyCodeObject (its type must be PyCode_Type, else the walk ends)
 *
 * A walk follows each link of the chain. Frames that equal those of the last walk, from the inside on, add what they
 * added then (struct python_last).
 */
#include "stack_python.h"

#include "agent/ring/hash_set.h"
#include "memtrace/base.h"
#include "memtrace/defs.h"
#include "own_stack.h"
#include "stack_python_impl.h"

/*
 * Returns the state that runs on this thread. If only the thread's first state is known, and there are other
 * interpreters, this state counts only while it holds the GIL.
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
static inline const uint8_t *innermost_frame(int checked)
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

#define PYTHON_INLINE static inline __attribute__((always_inline))
#define PYTHON_RARE static __attribute__((noinline, cold))
#define USUALLY(condition) __builtin_expect(!!(condition), 1)
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Byte offset of the instruction; -1: the frame has not begun. */
PYTHON_INLINE int64_t instruction_of(const struct python_layout *at, const uint8_t *frame, const uint8_t *code)
{
	int32_t units;

	if (!at->lasti_scale)
		return python_pointer(frame, at->frame_instr) - (code + at->code_bytes);
	units = python_int(frame, at->frame_instr);
	return units < 0 ? -1 : (int64_t)units * at->lasti_scale;
}

/* A frame of the walk, before it is known whether the frame will be kept. */
struct step {
	const uint8_t *code;
	const struct python_known *known; /* valid until the next look_at; NULL: python_know finds it */
	uint64_t lasti;                   /* fits into 32 bits */
};

/*
 * 1: *step is a frame; 2: it is a generator's that is not entered; 0: skip the frame; -1: end the walk. CPython's own
 * tracebacks skip the same frames: since 3.11, those whose arguments are not in place yet.
 */
PYTHON_INLINE int look_at(const struct python_layout *at, struct python_codes *codes, const uint8_t *frame,
			  struct step *step)
{
	uint32_t owner = python_owner(at, frame);
	int64_t offset, first;

	if (RARELY(owner >= PYTHON_OWNER_SHIM))
		return 0;
	step->code = python_code(at, frame);
	step->known = NULL;
	if (at->code_version == PYTHON_NONE) {
		step->known = python_know(codes, step->code);
		if (RARELY(!step->known))
			return -1;
		first = step->known->first;
	} else {
		if (RARELY(!python_is_plausible(step->code) ||
			   python_pointer(step->code, PYTHON_OBJECT_TYPE) != python_found.code_type))
			return -1;
		first = 2 * (int64_t)python_int(step->code, at->code_bytes - PYTHON_FIRST_TRACEABLE_BACK);
	}
	offset = instruction_of(at, frame, step->code);
	step->lasti = (uint32_t)offset;
	if (USUALLY((uint64_t)(offset - first) <= INT32_MAX))
		return 1;
	return offset >= -2 && offset <= INT32_MAX && owner == PYTHON_OWNER_GENERATOR ? 2 : 0;
}

/* `codes` NULL: the interpreter numbers its codes, but this one has no number. */
PYTHON_RARE uint64_t known_key(struct python_codes *codes, const uint8_t *code)
{
	const struct python_known *known = python_know(codes ? codes : python_codes_begin(), code);

	return known ? known->key : 0;
}

/* The hash of the frames is a polynomial modulo 2^64: the factors are odd, and no bit of a frame is lost. */
#define STEP_FACTOR 0xa0761d6478bd642full
#define SUM_FACTOR 0x9e3779b97f4a7c15ull

/*
 * Returns the term of a frame in the sum. For a numbered code, address and number are enough: this runs for each frame of each
 * event. The key, which is the code's name in the log, is made for new stacks only.
 */
PYTHON_INLINE uint64_t term_of(const struct python_layout *at, struct python_codes *codes, const struct step *step)
{
	uint64_t number = python_number(at, step->code);

	if (USUALLY(number))
		return (uintptr_t)step->code + (number << 32 | step->lasti) * STEP_FACTOR;
	return (step->known ? step->known->key : known_key(codes, step->code)) + step->lasti * STEP_FACTOR;
}

/* The key of struct python_frame. */
static uint64_t key_of(struct python_codes *codes, const uint8_t *code)
{
	uint64_t number = python_number(&python_found.at, code);

	return number ? python_numbered_key(code, number) : known_key(codes, code);
}

/* Returns the kind of module call that this code is. A new code may have the address of a dead call's code. */
static enum python_call call_of(struct python_codes *codes, const uint8_t *code)
{
	uint32_t i;

	if (!(atomic_load_explicit(&python_calls.marks, memory_order_relaxed) & python_mark(code)))
		return PYTHON_CALL_NONE;
	for (i = 0; i < PYTHON_CALLS_MAX; i++) {
		if (atomic_load_explicit(&python_calls.of[i].code, memory_order_acquire) != code)
			continue;
		if (python_calls.of[i].number ? python_calls.of[i].number == python_number(&python_found.at, code)
					      : python_calls.of[i].key == key_of(codes, code))
			return python_calls.of[i].call;
	}
	return PYTHON_CALL_NONE;
}

/* Hash of a module's call, for each event. log_new finds the module itself, once for each stack. */
static inline uint64_t hash_call(const uint8_t *frame, uint32_t number)
{
	const uint8_t *object = python_first_local(&python_found.at, frame), *type = NULL;

	if (object)
		type = python_pointer(object, PYTHON_OBJECT_TYPE);
	if (!object || type == python_found.cell_type) {
		object = python_argument_in_cell(frame, object);
		type = object ? python_pointer(object, PYTHON_OBJECT_TYPE) : NULL;
	}
	return object ? hash_two(number, (uintptr_t)object, (uintptr_t)type) : 0;
}

/* A _call_impl whose caller is not seen yet: if it is _wrapped_call_impl, the module is the same. */
struct inner_call {
	const uint8_t *frame; /* NULL: none */
	uint32_t number;
};

/* Hash of the module calls that are certain at the next frame. */
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

/* A circular buffer of the outermost frames so far. */
struct outer {
	struct step step[STACK_PYTHON_MAX / 4];
	uint32_t size, next;
};

static inline void note_outer(struct outer *outer, const uint8_t *code, uint64_t lasti)
{
	if (!outer->size)
		return;
	outer->step[outer->next] = (struct step){ code, NULL, lasti };
	outer->next = outer->next + 1 < outer->size ? outer->next + 1 : 0;
}

/* One walk. */
struct walk {
	struct python_codes *codes; /* NULL: the interpreter numbers its codes */
	struct outer outer;
	struct inner_call inner;
	uint64_t calls, inner_sum; /* inner_sum: sum of the frames before the outer ones, if not all frames fit */
	uint32_t depth, passed;    /* passed: frames that follow() skipped */
	struct python_last *last;  /* NULL: the frames are stored */
	uint32_t known;            /* levels of `last` that may be compared */
	uint64_t marks;            /* python_calls.marks */
	const uint8_t *frame;      /* next frame; NULL: the chain has ended */
};

static __attribute__((noinline)) void note_call(struct walk *walk, const uint8_t *frame, const uint8_t *code,
						uint32_t number)
{
	enum python_call call = call_of(walk->codes, code);

	if (call || walk->inner.frame)
		walk->calls += hash_calls(&walk->inner, frame, number, call);
}

static void fill(struct python_stack *stack, uint32_t index, struct python_codes *codes, const struct step *step)
{
	stack->frame[index] = (struct python_frame){ step->code, key_of(codes, step->code), (uint32_t)step->lasti };
}

/* Notes a frame that may be one of the outer ones. */
static __attribute__((noinline)) void leave_inner(struct walk *walk, int first, uint64_t sum, const uint8_t *code,
						  uint64_t lasti)
{
	if (first)
		walk->inner_sum = sum;
	note_outer(&walk->outer, code, lasti);
}

/* Returns the frame's instruction as the frame has it: an address, or a number of units. */
PYTHON_INLINE uint64_t instruction_word(const struct python_layout *at, const uint8_t *frame)
{
	return at->lasti_scale ? (uint32_t)python_int(frame, at->frame_instr) : python_word(frame, at->frame_instr);
}

/* 1: the frame is what it was in the last walk. The code is alive as long as the frame has it. */
PYTHON_INLINE int has_code(const struct python_level *level, const struct python_layout *at, const uint8_t *frame,
			   const uint8_t *code)
{
	return USUALLY(python_code(at, frame) == code) && USUALLY(instruction_word(at, frame) == level->instruction) &&
	       USUALLY(at->code_version == PYTHON_NONE || python_number(at, code) == level->number);
}

/* The same, for all kinds of levels. `frame` is that of the level. */
PYTHON_INLINE int is_same(const struct python_level *level, const struct python_layout *at, const uint8_t *frame)
{
	switch ((enum python_level_kind)level->kind) {
	case LEVEL_FRAME:
	case LEVEL_CALL:
		return has_code(level, at, frame, level->code);
	case LEVEL_SHIM:
		return python_owner(at, frame) >= PYTHON_OWNER_SHIM;
	default:
		return 0;
	}
}

/* How far a walk has come. */
struct progress {
	const uint8_t *frame;      /* the next one */
	uint64_t sum;              /* hash of the frames before it */
	uint32_t looked_at, count; /* frames before it, and those of them that are not skipped */
};

static inline void set_levels(struct python_last *last, uint32_t levels)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&last->count, levels, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Passes the innermost frames that are what they were, up to a module's call. */
PYTHON_INLINE void pass_plain(const struct python_last *last, const struct python_layout *at, struct progress *now)
{
	const struct python_level *level = last->level,
				  *end = level + atomic_load_explicit(&last->count, memory_order_relaxed);
	const uint8_t *frame = now->frame;

	for (; level < end && frame == level->frame; level++) {
		if (RARELY(!has_code(level, at, frame, level->plain))) {
			if (level->kind != LEVEL_SHIM || !is_same(level, at, frame))
				break;
		}
		frame = python_pointer(frame, at->frame_back);
	}
	now->frame = frame;
	now->looked_at = (uint32_t)(level - last->level);
	if (now->looked_at) {
		now->sum = level[-1].sum;
		now->count = level[-1].count;
	}
}

/* Passes further frames that are what they were. */
PYTHON_INLINE void pass_calls(struct walk *walk, const struct python_layout *at, struct progress *now)
{
	const struct python_level *level = &walk->last->level[now->looked_at], *end = walk->last->level + walk->known;

	for (; level < end && now->frame == level->frame && is_same(level, at, now->frame); level++) {
		if (level->kind == LEVEL_CALL || (walk->inner.frame && level->kind == LEVEL_FRAME))
			note_call(walk, now->frame, level->code, level->count);
		now->frame = python_pointer(now->frame, at->frame_back);
		now->sum = level->sum;
		now->count = level->count;
		now->looked_at++;
	}
}

/* Notes a frame that was looked at. */
PYTHON_INLINE void put_level(const struct walk *walk, struct python_level *level, const struct python_layout *at,
			     const uint8_t *frame, const struct step *step, int kind)
{
	enum python_level_kind as = LEVEL_ANEW;

	level->frame = frame;
	level->plain = PYTHON_NO_CODE;
	if (python_owner(at, frame) >= PYTHON_OWNER_SHIM) {
		as = LEVEL_SHIM;
	} else if (kind == 1) {
		level->code = step->code;
		level->number = (uint32_t)python_number(at, step->code);
		level->instruction = instruction_word(at, frame);
		if (level->number || at->code_version == PYTHON_NONE)
			as = walk->marks & python_mark(step->code) ? LEVEL_CALL : LEVEL_FRAME;
		if (as == LEVEL_FRAME)
			level->plain = step->code;
	}
	level->kind = (uint16_t)as;
}

/* As look_at(), and what the frame adds to the sum. `level`: of the frame; NULL: it has none. */
PYTHON_INLINE int look_again(const struct walk *walk, const struct python_layout *at, const struct progress *now,
			     struct python_level *level, struct step *step, uint64_t *term)
{
	int kind;

	step->code = NULL;
	if (level && now->looked_at < walk->known && now->frame == level->frame && is_same(level, at, now->frame)) {
		step->code = level->code;
		*term = level->term;
		return level->kind != LEVEL_SHIM;
	}
	kind = look_at(at, walk->codes, now->frame, step);
	*term = kind > 0 ? term_of(at, walk->codes, step) : 0;
	if (level && kind >= 0)
		put_level(walk, level, at, now->frame, step, kind);
	return kind;
}

/* The level of the next frame; NULL: none, as of the frames that may be the outer ones. */
PYTHON_INLINE struct python_level *next_level(const struct walk *walk, const struct progress *now, uint32_t inner)
{
	return now->looked_at < PYTHON_LEVELS && now->count < inner ? &walk->last->level[now->looked_at] : NULL;
}

/* Notes a frame for the next walk. */
PYTHON_INLINE void end_level(struct python_level *level, const struct progress *now, uint64_t term)
{
	level->term = term;
	level->sum = now->sum;
	level->count = (uint16_t)now->count;
}

/*
 * Walks the frames that fit. `filled` 1: stores the frames as well, not only their sum. If a signal handler jumps out,
 * only levels that were passed before are compared in the next walk.
 */
PYTHON_INLINE void follow(struct walk *walk, struct python_stack *stack, const struct python_layout *at,
			  struct progress now, int filled)
{
	uint32_t depth = walk->depth, inner = depth - walk->outer.size, levels = now.looked_at;
	struct python_level *level = NULL;
	struct step step = { NULL, NULL, 0 };
	uint64_t term;
	int kind = 0;

	if (!filled)
		set_levels(walk->last, levels);
	for (; USUALLY(now.count < depth && python_is_plausible(now.frame)); now.looked_at++) {
		level = filled ? NULL : next_level(walk, &now, inner);
		kind = look_again(walk, at, &now, level, &step, &term);
		if (USUALLY(kind > 0)) {
			if (RARELY(now.count >= inner))
				leave_inner(walk, now.count == inner, now.sum, step.code, step.lasti);
			if (filled)
				fill(stack, now.count, walk->codes, &step);
			now.count++;
			now.sum = now.sum * SUM_FACTOR + term;
			if (RARELY(walk->marks & python_mark(step.code) || walk->inner.frame))
				note_call(walk, now.frame, step.code, now.count);
		} else if (kind < 0 || now.looked_at + 1 >= STACK_PYTHON_WALK) {
			break;
		}
		if (level) {
			end_level(level, &now, term);
			levels++;
		}
		now.frame = python_pointer(now.frame, at->frame_back);
	}
	if (!filled)
		set_levels(walk->last, levels);
	walk->frame = kind < 0 ? NULL : now.frame;
	walk->passed = now.looked_at - now.count;
	stack->count = now.count;
	stack->hash = now.sum;
}

/* Passes what is as it was and walks the rest, with offsets known to the compiler. */
#define PYTHON_ROW(minor, ...)                                                                              \
	static const struct python_layout at_##minor = { minor, __VA_ARGS__ };                              \
                                                                                                            \
	static __attribute__((noinline)) void follow_##minor(struct walk *walk, struct python_stack *stack, \
							     struct progress now)                           \
	{                                                                                                   \
		pass_calls(walk, &at_##minor, &now);                                                        \
		follow(walk, stack, &at_##minor, now, 0);                                                   \
	}
PYTHON_LAYOUT_LIST(PYTHON_ROW)
#undef PYTHON_ROW

static void follow_known(struct walk *walk, struct python_stack *stack, const struct progress *now)
{
	switch (python_found.usual) {
#define PYTHON_ROW(minor, ...)                     \
	case minor:                                \
		follow_##minor(walk, stack, *now); \
		break;
		PYTHON_LAYOUT_LIST(PYTHON_ROW)
#undef PYTHON_ROW
	default:
		follow(walk, stack, &python_found.at, *now, 0);
	}
}

/* For each event: most of them have the stack of the event before. */
static inline void pass_known(const struct python_last *last, struct progress *now)
{
	switch (python_found.usual) {
#define PYTHON_ROW(minor, ...)                      \
	case minor:                                 \
		pass_plain(last, &at_##minor, now); \
		break;
		PYTHON_LAYOUT_LIST(PYTHON_ROW)
#undef PYTHON_ROW
	default:
		break;
	}
}

/* Replaces the last frames by the outermost ones. */
static void put_outer(struct walk *walk, struct python_stack *stack, int filled)
{
	const struct outer *outer = &walk->outer;
	const struct step *step;
	uint32_t i;

	stack->elided = walk->depth - outer->size;
	stack->hash = walk->inner_sum;
	for (i = 0; i < outer->size; i++) {
		step = &outer->step[(outer->next + i) % outer->size];
		stack->hash = stack->hash * SUM_FACTOR + term_of(&python_found.at, walk->codes, step);
		if (filled)
			fill(stack, stack->elided + i, walk->codes, step);
	}
}

/* Walks the frames that do not fit. */
static __attribute__((noinline)) void follow_further(struct walk *walk, struct python_stack *stack, int filled)
{
	const struct python_layout *at = &python_found.at;
	uint32_t number = stack->count, walked = number + walk->passed;
	const uint8_t *frame = walk->frame;
	struct step step;
	int kind = 0;

	for (; walked < STACK_PYTHON_WALK && python_is_plausible(frame); walked++) {
		kind = look_at(at, walk->codes, frame, &step);
		if (kind < 0)
			break;
		if (kind) {
			note_outer(&walk->outer, step.code, step.lasti);
			note_call(walk, frame, step.code, ++number);
		}
		frame = python_pointer(frame, at->frame_back);
	}
	if (number == stack->count)
		return;
	if (kind >= 0 && frame)
		stack->elided = stack->count;
	else
		put_outer(walk, stack, filled);
}

/* The last walk on this stack. If it was one of other codes, calls or depth, nothing of it is compared. */
static inline struct python_last *last_walk(const struct python_codes *codes, uint32_t depth)
{
	uint64_t stamp = codes ? codes->stamp : 0,
		 marks = atomic_load_explicit(&python_calls.marks, memory_order_relaxed);
	struct python_last *last = &((struct python_kept *)own_stack_kept())->last;

	if (USUALLY(last->stamp == stamp && last->marks == marks && last->depth == depth))
		return last;
	set_levels(last, 0);
	last->stamp = stamp;
	last->marks = marks;
	last->depth = depth;
	return last;
}

/* `last` NULL: the frames are stored, and none is compared. */
static __attribute__((noinline)) void walk_on(struct python_stack *stack, uint32_t depth, struct python_codes *codes,
					      struct python_last *last, const struct progress *now)
{
	struct walk walk;

	walk.frame = now->frame;
	walk.codes = codes;
	walk.depth = depth;
	walk.outer.size = depth / 4;
	walk.outer.next = 0;
	walk.inner = (struct inner_call){ NULL, 0 };
	walk.calls = 0;
	walk.last = last;
	walk.known = last ? atomic_load_explicit(&last->count, memory_order_relaxed) : 0;
	walk.marks = last ? last->marks : atomic_load_explicit(&python_calls.marks, memory_order_relaxed);
	if (last)
		follow_known(&walk, stack, now);
	else
		follow(&walk, stack, &python_found.at, *now, 1);
	if (walk.frame)
		follow_further(&walk, stack, !last);
	stack->calls = walk.calls + (RARELY(walk.inner.frame) ? hash_call(walk.inner.frame, walk.inner.number) : 0);
}

/* Begins a walk at the innermost frame. NULL: there is none. *refused 1: the interpreter was refused. */
static inline const uint8_t *begin_walk(struct python_stack *stack, uint32_t depth, int *refused)
{
	uint32_t stage = atomic_load_explicit(&python_found.stage, memory_order_acquire);
	const uint8_t *frame;

	*refused = 0;
	stack->count = stack->elided = 0;
	stack->calls = stack->hash = 0;
	if ((stage != PYTHON_STAGE_CHECKED && stage != PYTHON_STAGE_FOUND) || !depth)
		return NULL;
	frame = innermost_frame(stage == PYTHON_STAGE_CHECKED);
	if (USUALLY(stage == PYTHON_STAGE_CHECKED) || !frame || python_check_frames(frame))
		return frame;
	*refused = stack_python_state() == PYTHON_REFUSED;
	return NULL;
}

int stack_python_walk(struct python_stack *stack, uint32_t depth)
{
	struct progress now = { NULL, 0, 0, 0 };
	struct python_codes *codes = NULL;
	struct python_last *last;
	int refused;

	now.frame = begin_walk(stack, depth, &refused);
	if (!now.frame)
		return refused;
	if (python_found.at.code_version == PYTHON_NONE)
		codes = python_codes_begin();
	last = last_walk(codes, depth);
	pass_known(last, &now);
	if (RARELY(now.frame)) {
		walk_on(stack, depth, codes, last, &now);
	} else {
		stack->count = now.count;
		stack->hash = now.sum;
	}
	return 0;
}

void stack_python_frames(struct python_stack *stack, uint32_t depth)
{
	struct progress now = { NULL, 0, 0, 0 };
	struct python_codes *codes = NULL;
	int refused;

	now.frame = begin_walk(stack, depth, &refused);
	if (!now.frame)
		return;
	if (python_found.at.code_version == PYTHON_NONE)
		codes = python_codes_begin();
	walk_on(stack, depth, codes, NULL, &now);
}

/* Turns the instances' numbers (frames walked before them) into indices. */
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
	struct python_codes *codes = python_found.at.code_version == PYTHON_NONE ? python_codes_begin() : NULL;
	uint32_t walked, number = 0;
	struct step step;
	int kind = 0;

	instances->count = 0;
	for (walked = 0; walked < STACK_PYTHON_WALK && python_is_plausible(frame); walked++) {
		kind = look_at(&python_found.at, codes, frame, &step);
		if (kind < 0)
			break;
		if (kind && call_of(codes, step.code))
			python_note_instance(instances, frame, number);
		number += kind > 0;
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
