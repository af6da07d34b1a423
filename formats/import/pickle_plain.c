/*
 * pickle_plain.c - a fast loop for the few opcodes that are nearly all of a snapshot.
 *
 * An entry of a history is a dict of known keys and numbers, in 16 opcodes. This file has all of these but the last one, with the same effect as in
 * pickle_machine.c. pickle_machine.c has all opcodes. The loop stops before any other opcode, at a full array, at a number out of range, and before the last
 * bytes of the file.
 */
#include "base/varint.h"
#include "pickle_impl.h"

#define LOOKED_AT 10u /* bytes of an opcode with its argument, at most */

struct plain {
	const unsigned char *at;
	uint32_t *top;                        /* end of the stack */
	uint32_t *memo, *memo_top, *memo_end; /* begin, end, and end of the room of the memo */
	struct value *value;                  /* place of the next value */
	uint32_t id;                          /* number of the next value */
};

/* Pushes a value of the memo. Returns 0: the memo does not have the number. */
static inline int push_known(struct plain *plain, size_t number, size_t bytes)
{
	if (number >= (size_t)(plain->memo_top - plain->memo))
		return 0;
	*plain->top++ = plain->memo[number];
	plain->at += bytes;
	return 1;
}

static inline int push_new(struct plain *plain, enum pickle_type type, int64_t number, size_t bytes)
{
	plain->value->type = type;
	plain->value->count = 0;
	plain->value->number = number; /* a dict has no items yet */
	plain->value++;
	*plain->top++ = plain->id++;
	plain->at += bytes;
	return 1;
}

/* Pushes a number of `size` bytes in two's complement, little-endian. Returns 0: size is not 1 to 8. */
static inline int push_long(struct plain *plain, size_t size)
{
	if (!size || size > 8)
		return 0;
	return push_new(plain, PICKLE_INT, (int64_t)(mt_load_u64(plain->at + 2) << (64 - 8 * size)) >> (64 - 8 * size),
			2 + size);
}

/* Puts the top of the stack into the memo, unless a mark is the top: `floor`. */
static inline int memoize(struct plain *plain, const uint32_t *floor)
{
	if (plain->top <= floor || plain->memo_top == plain->memo_end)
		return 0;
	*plain->memo_top++ = plain->top[-1];
	plain->at++;
	return 1;
}

static inline int mark(struct plain *plain, struct pickle *pickle, const uint32_t **floor)
{
	if (pickle->marks.count == pickle->marks.room)
		return 0;
	pickle->marks.id[pickle->marks.count++] = (uint32_t)(plain->top - pickle->stack.id);
	*floor = plain->top;
	plain->at++;
	return 1;
}

/* Runs one opcode. Returns 0: the loop does not have the opcode. */
static inline int step(struct plain *plain, struct pickle *pickle, const uint32_t **floor)
{
	const unsigned char *at = plain->at;

	switch (*at) {
	case 'h':
		return push_known(plain, at[1], 2);
	case 'j':
		return push_known(plain, mt_load_u32(at + 1), 5);
	case 'K':
		return push_new(plain, PICKLE_INT, at[1], 2);
	case 'M':
		return push_new(plain, PICKLE_INT, at[1] | at[2] << 8, 3);
	case 'J':
		return push_new(plain, PICKLE_INT, (int32_t)mt_load_u32(at + 1), 5);
	case 0x8a:
		return push_long(plain, at[1]);
	case '}':
		return push_new(plain, PICKLE_DICT, 0, 1);
	case 0x94:
		return memoize(plain, *floor);
	case '(':
		return mark(plain, pickle, floor);
	default:
		return 0;
	}
}

/*
 * Returns the number of opcodes that can run without a check of the ends of file, stack and values. Each takes one place of stack and values, and
 * LOOKED_AT bytes.
 */
static size_t opcodes_at_once(const struct pickle *pickle)
{
	size_t room = pickle->room < UINT32_MAX ? pickle->room : UINT32_MAX;
	size_t opcodes = (pickle->size - pickle->at) / LOOKED_AT;

	if (opcodes > pickle->stack.room - pickle->stack.count)
		opcodes = pickle->stack.room - pickle->stack.count;
	if (room < pickle->values)
		return 0;
	return opcodes < room - pickle->values ? opcodes : room - pickle->values;
}

void pickle_plain(struct pickle *pickle)
{
	size_t left = opcodes_at_once(pickle);
	const uint32_t *floor = pickle->stack.id +
				(pickle->marks.count ? pickle->marks.id[pickle->marks.count - 1] : 0);
	struct plain plain = { .at = pickle->data + pickle->at,
			       .top = pickle->stack.id + pickle->stack.count,
			       .memo = pickle->memo.id,
			       .memo_top = pickle->memo.id + pickle->memo.count,
			       .memo_end = pickle->memo.id + pickle->memo.room,
			       .value = pickle->value + pickle->values,
			       .id = (uint32_t)pickle->values };

	while (left && step(&plain, pickle, &floor))
		left--;
	pickle->at = (size_t)(plain.at - pickle->data);
	pickle->stack.count = (size_t)(plain.top - pickle->stack.id);
	pickle->memo.count = (size_t)(plain.memo_top - pickle->memo.id);
	pickle->values = plain.id;
}
