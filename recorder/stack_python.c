/*
 * stack_python.c - walk the chain of frames by the offsets of python_layout.h, verifying while walking.
 *
 *     PyThreadState ──> [cframe ──>] innermost frame ──back──> frame ──back──> ... ──> NULL
 *                                        │ code, instruction
 *                                        ▼
 *                                    PyCodeObject (its type must be PyCode_Type, else the walk ends)
 */
#include "stack_python.h"

#include <stdatomic.h>
#include <string.h>
#include "loaded.h"
#include "memtrace/base.h"
#include "memtrace/defs.h"
#include "python_layout.h"
#include "seen.h"
#include "textbuf.h"

#define VERSION(minor) (3u << 24 | (uint32_t)(minor) << 16)
#define VERSION_MINOR(hex) ((hex) >> 16 & 0xff)
#define OFFSET_MAX 4096u /* of anything _Py_DebugOffsets may say */

static const struct python_layout known[] = {
#define PYTHON_ROW(...) { __VA_ARGS__ },
	PYTHON_LAYOUT_LIST(PYTHON_ROW)
#undef PYTHON_ROW
};

/* Filled in once, before `ready` is set. */
static struct {
	_Atomic int ready;
	struct python_layout at;
	const void *code_type;	       /* &PyCode_Type */
	const uint8_t *(*thread)(void); /* PyGILState_GetThisThreadState: a TLS read, needs no GIL */
} python;

/* Reads of the target's own memory; the caller has checked `at` with is_plausible. */
static const uint8_t *pointer_at(const uint8_t *at, uint32_t offset)
{
	const uint8_t *value;

	memcpy(&value, at + offset, sizeof(value));
	return value;
}

static int32_t int_at(const uint8_t *at, uint32_t offset)
{
	int32_t value;

	memcpy(&value, at + offset, sizeof(value));
	return value;
}

static uint64_t word_at(const uint8_t *at, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, at + offset, sizeof(value));
	return value;
}

static int is_plausible(const void *pointer)
{
	uintptr_t value = (uintptr_t)pointer;

	return value >= 4096 && value < (uintptr_t)1 << 47 && !(value & 7);
}

/* "3.10.13 (main, ...": the number before and after the first point. */
static uint32_t parse_version(const char *text)
{
	uint32_t minor = 0;

	if (!text || text[0] != '3' || text[1] != '.')
		return 0;
	for (text += 2; *text >= '0' && *text <= '9'; text++)
		minor = minor * 10 + (uint32_t)(*text - '0');
	return VERSION(minor & 0xff);
}

static uint32_t find_version(void)
{
	const uint32_t *hex = loaded_find("Py_Version"); /* since 3.11 */
	const char *(*text)(void) = (const char *(*)(void))loaded_find("Py_GetVersion");

	if (hex)
		return *hex;
	return text ? parse_version(text()) : 0;
}

/* Lets the running interpreter correct the table. 0: it contradicts itself or has no GIL. */
static int apply_debug_offsets(struct python_layout *at, uint32_t version, const char **why)
{
	static const struct {
		uint16_t minor, frame, previous, filename, bytes;
	} rows[] = {
#define PYTHON_ROW(...) { __VA_ARGS__ },
		PYTHON_DEBUG_LIST(PYTHON_ROW)
#undef PYTHON_ROW
	};
	const uint64_t *said = loaded_find("_PyRuntime");
	uint32_t i, j;

	for (i = 0; i < MT_ARRAY_SIZE(rows) && rows[i].minor != at->minor; i++)
		;
	if (i == MT_ARRAY_SIZE(rows))
		return 1;
	*why = "this Python does not publish where its frames lie: no Python stacks";
	if (!said || memcmp(said, PYTHON_DEBUG_COOKIE, 8) || said[1] != version)
		return 0;
	*why = "this is a free-threaded Python: no Python stacks";
	if (said[2])
		return 0;
	*why = "this Python says that its frames lie where they cannot: no Python stacks";
	for (j = rows[i].frame; j <= rows[i].bytes; j++)
		if (j == rows[i].frame || (j >= rows[i].previous && j < rows[i].previous + 5u) || j >= rows[i].filename)
			if (said[j] >= OFFSET_MAX)
				return 0;
	at->thread_frame = (uint16_t)said[rows[i].frame];
	at->frame_back = (uint16_t)said[rows[i].previous];
	at->frame_code = (uint16_t)said[rows[i].previous + 1];
	at->frame_instr = (uint16_t)said[rows[i].previous + 2];
	at->frame_owner = (uint16_t)said[rows[i].previous + 4];
	at->code_file = (uint16_t)said[rows[i].filename];
	at->code_name = (uint16_t)said[rows[i].filename + 1];
	at->code_qualname = (uint16_t)said[rows[i].filename + 2];
	at->code_table = (uint16_t)said[rows[i].filename + 3];
	at->code_line = (uint16_t)said[rows[i].filename + 4];
	at->code_bytes = (uint16_t)said[rows[i].bytes];
	return 1;
}

static int find_layout(uint32_t version, const char **why)
{
	uint32_t i;

	*why = "this Python version is not known: no Python stacks";
	if (version >> 24 != 3)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(known); i++) {
		if (known[i].minor != VERSION_MINOR(version))
			continue;
		python.at = known[i];
		return apply_debug_offsets(&python.at, version, why);
	}
	return 0;
}

enum python_state stack_python_find(uint32_t *version, const char **why)
{
	*version = find_version();
	*why = "";
	if (atomic_load(&python.ready))
		return PYTHON_READY;
	if (!*version)
		return PYTHON_ABSENT;
	if (!find_layout(*version, why))
		return PYTHON_REFUSED;
	python.code_type = loaded_find("PyCode_Type");
	python.thread = (const uint8_t *(*)(void))loaded_find("PyGILState_GetThisThreadState");
	*why = "this Python does not export what its stacks need: no Python stacks";
	if (!python.code_type || !python.thread)
		return PYTHON_REFUSED;
	*why = "";
	atomic_store_explicit(&python.ready, 1, memory_order_release);
	return PYTHON_READY;
}

static const uint8_t *innermost_frame(void)
{
	const uint8_t *thread = python.thread();
	const uint8_t *frame;

	if (!is_plausible(thread))
		return NULL;
	frame = pointer_at(thread, python.at.thread_frame);
	if (python.at.cframe_frame == PYTHON_NONE)
		return frame;
	return is_plausible(frame) ? pointer_at(frame, python.at.cframe_frame) : NULL;
}

static uint32_t owner_of(const uint8_t *frame)
{
	return python.at.frame_owner == PYTHON_NONE ? 0 : frame[python.at.frame_owner];
}

/* The code object of a frame; NULL: not one. The low bits of 3.14's references are tags. */
static const uint8_t *code_of(const uint8_t *frame)
{
	const uint8_t *code = pointer_at(frame, python.at.frame_code);

	code = (const uint8_t *)((uintptr_t)code & ~(uintptr_t)7);
	if (!is_plausible(code) || pointer_at(code, PYTHON_OBJECT_TYPE) != python.code_type)
		return NULL;
	return code;
}

/* Byte offset of the instruction; negative: the frame is not entered yet (as CPython's own tracebacks see it). */
static int64_t instruction_of(const uint8_t *frame, const uint8_t *code)
{
	const struct python_layout *at = &python.at;
	int64_t offset, first;

	if (at->lasti_scale)
		return (int64_t)int_at(frame, at->frame_instr) * at->lasti_scale;
	offset = pointer_at(frame, at->frame_instr) - (code + at->code_bytes);
	first = 2 * (int64_t)int_at(code, at->code_bytes - PYTHON_FIRST_TRACEABLE_BACK);
	if (offset < first && owner_of(frame) != PYTHON_OWNER_GENERATOR)
		return -1;
	return offset;
}

/* One frame of the walk before it is known whether it will be kept. */
struct step {
	const uint8_t *code;
	uint32_t lasti;
};

/* 1: *step is a frame, 0: pass over it, -1: end here. */
static int look_at(const uint8_t *frame, struct step *step)
{
	int64_t offset;

	if (owner_of(frame) >= PYTHON_OWNER_SHIM)
		return 0;
	step->code = code_of(frame);
	if (!step->code)
		return -1;
	offset = instruction_of(frame, step->code);
	step->lasti = (uint32_t)offset;
	return offset >= 0 && offset <= INT32_MAX;
}

static void keep(struct python_frame *frame, const struct step *step)
{
	const struct python_layout *at = &python.at;
	uint64_t key = seen_mix(seen_start(SEEN_CODE), (uintptr_t)step->code);

	key = seen_mix(key, word_at(step->code, at->code_file));
	key = seen_mix(key, word_at(step->code, at->code_name));
	key = seen_mix(key, word_at(step->code, at->code_table));
	key = seen_mix(key, (uint32_t)int_at(step->code, at->code_line));
	frame->code = step->code;
	frame->key = seen_finish(key);
	frame->lasti = step->lasti;
}

/* The outermost frames so far, as a ring of `size`. */
struct outer {
	struct step step[STACK_PYTHON_MAX / 4];
	uint32_t size, total;
};

static void keep_outer(struct python_stack *stack, const struct outer *outer)
{
	uint32_t count = outer->total < outer->size ? outer->total : outer->size, i;

	if (outer->total > count)
		stack->elided = stack->count;
	for (i = outer->total - count; i < outer->total; i++)
		keep(&stack->frame[stack->count++], &outer->step[i % outer->size]);
}

void stack_python_walk(struct python_stack *stack, uint32_t depth)
{
	struct outer outer;
	const uint8_t *frame;
	struct step step;
	uint32_t walked;
	int kind;

	stack->count = 0;
	stack->elided = 0;
	if (!atomic_load_explicit(&python.ready, memory_order_acquire) || !depth)
		return;
	outer.size = depth / 4;
	outer.total = 0;
	frame = innermost_frame();
	for (walked = 0; walked < STACK_PYTHON_WALK && is_plausible(frame); walked++) {
		kind = look_at(frame, &step);
		if (kind < 0)
			break;
		if (kind && stack->count < depth - outer.size) {
			keep(&stack->frame[stack->count++], &step);
		} else if (kind) {
			if (outer.size)
				outer.step[outer.total % outer.size] = step;
			outer.total++;
		}
		frame = pointer_at(frame, python.at.frame_back);
	}
	keep_outer(stack, &outer);
}

void stack_python_code(const struct python_frame *frame, struct python_code *code)
{
	const struct python_layout *at = &python.at;
	const uint8_t *table = pointer_at(frame->code, at->code_table);
	uint64_t bytes;

	code->name = pointer_at(frame->code, at->code_name);
	code->file = pointer_at(frame->code, at->code_file);
	code->qualname = at->code_qualname == PYTHON_NONE ? NULL : pointer_at(frame->code, at->code_qualname);
	code->first_line = (uint32_t)int_at(frame->code, at->code_line);
	code->table = NULL;
	code->table_bytes = 0;
	if (!is_plausible(table))
		return;
	bytes = word_at(table, PYTHON_BYTES_SIZE);
	code->table = table + PYTHON_BYTES_DATA;
	code->table_bytes = bytes <= MT_STRING_MAX ? (uint32_t)bytes : 0;
}

static uint32_t character_at(const uint8_t *data, uint64_t i, uint32_t width)
{
	uint32_t wide;
	uint16_t half;

	if (width == 1)
		return data[i];
	if (width == 2) {
		memcpy(&half, data + 2 * i, sizeof(half));
		return half;
	}
	memcpy(&wide, data + 4 * i, sizeof(wide));
	return wide;
}

/* `state`: kind (bytes per character) in 3 bits, then compact, then ascii. */
size_t stack_python_text(const uint8_t *string, char *text, size_t size)
{
	struct textbuf out;
	uint64_t length, i;
	uint32_t state, width;

	if (!is_plausible(string) || !size)
		return 0;
	length = word_at(string, PYTHON_UNICODE_LENGTH);
	state = (uint32_t)int_at(string, PYTHON_UNICODE_STATE) >> python.at.unicode_kind;
	width = state & 7;
	if ((width != 1 && width != 2 && width != 4) || !(state & 8))
		return 0;
	textbuf_init(&out, text, size);
	if (state & 16) {
		string += python.at.unicode_ascii;
		textbuf_add_bytes(&out, (const char *)string, length < size ? length : size);
		return out.used;
	}
	string += python.at.unicode_wide;
	for (i = 0; i < length && !out.cut; i++)
		textbuf_add_character(&out, character_at(string, i, width));
	return out.used;
}
