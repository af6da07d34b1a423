/* pickle_machine.c - the stack machine that runs a pickle: one jump for each opcode, and no opcode that runs code. */
#include "pickle_impl.h"

#include <stdlib.h>
#include <string.h>
#include "base/varint.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define FIRST_ROOM 4u /* items of a new container; the room doubles when it is full */
#define BLOCK_ITEMS (64u << 10)

/* The argument that follows an opcode. */
enum argument { ARG_NONE, ARG_U1, ARG_U2, ARG_U4, ARG_S4, ARG_U8, ARG_TEXT1, ARG_TEXT4, ARG_TEXT8 };

/* The argument of an opcode. The opcode decides which member counts. */
struct operand {
	int64_t number;
	const char *text;
	size_t size;
};

/* ---- arrays --------------------------------------------------------------------------------------------------- */

static int grow(struct ids *ids)
{
	size_t room = ids->room ? ids->room * 2 : 64;
	uint32_t *larger = realloc(ids->id, room * sizeof(*larger));

	if (!larger)
		return -MT_E_MEMORY;
	ids->id = larger;
	ids->room = room;
	return 0;
}

static inline int push(struct ids *ids, uint32_t id)
{
	if (ids->count == ids->room && grow(ids))
		return -MT_E_MEMORY;
	ids->id[ids->count++] = id;
	return 0;
}

static int grow_values(struct pickle *pickle)
{
	size_t room = pickle->room ? pickle->room * 2 : 1024;
	struct value *larger = realloc(pickle->value, room * sizeof(*larger));

	if (!larger)
		return -MT_E_MEMORY;
	pickle->value = larger;
	pickle->room = room;
	return 0;
}

static inline int add_value(struct pickle *pickle, const struct value *value)
{
	if (pickle->values == UINT32_MAX)
		return -MT_E_LIMIT;
	if (pickle->values == pickle->room && grow_values(pickle))
		return -MT_E_MEMORY;
	pickle->value[pickle->values++] = *value;
	return 0;
}

static inline int push_value(struct pickle *pickle, const struct value *value)
{
	int error = add_value(pickle, value);

	return error ? error : push(&pickle->stack, (uint32_t)(pickle->values - 1));
}

static int is_container(const struct value *value)
{
	return value->type == PICKLE_LIST || value->type == PICKLE_DICT;
}

/* Returns the number of items for which a container with `count` items has room. */
static size_t room_for(size_t count)
{
	if (count <= FIRST_ROOM)
		return count ? FIRST_ROOM : 0;
	return (size_t)2 << (63 - __builtin_clzll(count - 1));
}

/* Returns room for this number of items; NULL: out of memory. The room lives as long as the pickle. */
static pickle_id *take_items(struct pickle *pickle, size_t count)
{
	size_t room = count > BLOCK_ITEMS / 8 ? count : BLOCK_ITEMS;
	struct block *block = pickle->blocks;

	if (!block || block->left < count) {
		block = malloc(sizeof(*block) + room * sizeof(block->item[0]));
		if (!block)
			return NULL;
		*block = (struct block){ .next = pickle->blocks, .left = room };
		pickle->blocks = block;
	}
	/* Items are taken from the end of the block: `left` is enough to find them. */
	block->left -= count;
	return &block->item[block->left];
}

static inline int add_items(struct pickle *pickle, struct value *container, const pickle_id *from, size_t count)
{
	pickle_id *larger;
	size_t room;

	if (count > UINT32_MAX / 2 - container->count)
		return -MT_E_LIMIT;
	room = room_for(container->count + count);
	if (!container->count || room != room_for(container->count)) {
		larger = take_items(pickle, room);
		if (!larger)
			return -MT_E_MEMORY;
		if (container->count)
			memcpy(larger, container->item, container->count * sizeof(*larger));
		container->item = larger;
	}
	if (count)
		memcpy(container->item + container->count, from, count * sizeof(*from));
	container->count += (uint32_t)count;
	return 0;
}

/* ---- the machine ---------------------------------------------------------------------------------------------- */

/* Returns the stack height of the newest mark; without a mark, 0. */
static size_t mark_height(const struct pickle *pickle)
{
	return pickle->marks.count ? pickle->marks.id[pickle->marks.count - 1] : 0;
}

/* Moves the values of the stack from `from` up into the container `id`. */
static inline int gather(struct pickle *pickle, pickle_id id, size_t from)
{
	struct value *container = &pickle->value[id];
	size_t count = pickle->stack.count - from;

	if (!is_container(container))
		return -MT_E_CORRUPT;
	if (container->type == PICKLE_DICT && count % 2)
		return -MT_E_CORRUPT;
	if (!count) /* a stack without values has no memory */
		return 0;
	pickle->stack.count = from;
	return add_items(pickle, container, pickle->stack.id + from, count);
}

static int do_none(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push(&pickle->stack, VALUE_NONE);
}

static int do_false(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push(&pickle->stack, VALUE_FALSE);
}

static int do_true(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push(&pickle->stack, VALUE_TRUE);
}

static int do_int(struct pickle *pickle, const struct operand *operand)
{
	return push_value(pickle, &(struct value){ .type = PICKLE_INT, .number = operand->number });
}

/* Reads an int: two's complement, as short as possible, little-endian. Addresses from 2^63 on have nine bytes. */
static int do_long(struct pickle *pickle, const struct operand *operand)
{
	const unsigned char *byte = (const unsigned char *)operand->text;
	size_t i = operand->size < 8 ? operand->size : 8;
	uint64_t number = operand->size && byte[operand->size - 1] & 0x80 ? UINT64_MAX : 0;

	if (i && pickle->data + pickle->size - byte >= 8) /* usually: one load of eight bytes */
		number = (uint64_t)((int64_t)(mt_load_u64(byte) << (64 - 8 * i)) >> (64 - 8 * i));
	else
		while (i--)
			number = number << 8 | byte[i];
	return push_value(pickle, &(struct value){ .type = PICKLE_INT, .number = (int64_t)number });
}

/* Nobody asks for the value of a float. */
static int do_float(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push_value(pickle, &(struct value){ .type = PICKLE_FLOAT });
}

static int do_text(struct pickle *pickle, const struct operand *operand)
{
	if (operand->size > UINT32_MAX)
		return -MT_E_LIMIT;
	return push_value(pickle, &(struct value){ .type = PICKLE_TEXT,
						   .count = (uint32_t)operand->size,
						   .text = operand->text });
}

static int do_list(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push_value(pickle, &(struct value){ .type = PICKLE_LIST });
}

static int do_dict(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push_value(pickle, &(struct value){ .type = PICKLE_DICT });
}

static int do_mark(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return push(&pickle->marks, (uint32_t)pickle->stack.count);
}

/* Replaces the values of the stack from `from` up by a new container of `type`. */
static int wrap(struct pickle *pickle, enum pickle_type type, size_t from)
{
	int error = add_value(pickle, &(struct value){ .type = type });

	if (!error)
		error = gather(pickle, (pickle_id)(pickle->values - 1), from);
	return error ? error : push(&pickle->stack, (uint32_t)(pickle->values - 1));
}

static int wrap_last(struct pickle *pickle, size_t count)
{
	if (pickle->stack.count - mark_height(pickle) < count)
		return -MT_E_CORRUPT;
	return wrap(pickle, PICKLE_LIST, pickle->stack.count - count);
}

static int do_tuple1(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return wrap_last(pickle, 1);
}

static int do_tuple2(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return wrap_last(pickle, 2);
}

static int do_tuple3(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return wrap_last(pickle, 3);
}

static int wrap_marked(struct pickle *pickle, enum pickle_type type)
{
	size_t from = mark_height(pickle);

	if (!pickle->marks.count)
		return -MT_E_CORRUPT;
	pickle->marks.count--;
	return wrap(pickle, type, from);
}

static int do_marked_list(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return wrap_marked(pickle, PICKLE_LIST);
}

static int do_marked_dict(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return wrap_marked(pickle, PICKLE_DICT);
}

/* Moves the last `count` values into the container below them. */
static inline int take_in(struct pickle *pickle, enum pickle_type type, size_t count)
{
	size_t height = pickle->stack.count;
	pickle_id id;

	if (height < mark_height(pickle) + count + 1)
		return -MT_E_CORRUPT;
	id = pickle->stack.id[height - count - 1];
	return pickle->value[id].type == type ? gather(pickle, id, height - count) : -MT_E_CORRUPT;
}

static int do_append(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return take_in(pickle, PICKLE_LIST, 1);
}

static int do_setitem(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return take_in(pickle, PICKLE_DICT, 2);
}

static int take_in_marked(struct pickle *pickle, enum pickle_type type)
{
	size_t from = mark_height(pickle);

	if (!pickle->marks.count)
		return -MT_E_CORRUPT;
	pickle->marks.count--;
	return take_in(pickle, type, pickle->stack.count - from);
}

static int do_appends(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return take_in_marked(pickle, PICKLE_LIST);
}

static int do_setitems(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return take_in_marked(pickle, PICKLE_DICT);
}

static int do_pop(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	if (pickle->stack.count <= mark_height(pickle))
		return -MT_E_CORRUPT;
	pickle->stack.count--;
	return 0;
}

static int do_pop_mark(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	if (!pickle->marks.count)
		return -MT_E_CORRUPT;
	pickle->stack.count = mark_height(pickle);
	pickle->marks.count--;
	return 0;
}

/* Stores the top of the stack under a number. Writers count up: a number far above all others is damage. */
static int put(struct pickle *pickle, uint64_t number)
{
	int error = 0;

	if (pickle->stack.count <= mark_height(pickle) || number > pickle->values + pickle->memo.count)
		return -MT_E_CORRUPT;
	while (pickle->memo.count <= number && !error)
		error = push(&pickle->memo, VALUE_NONE);
	if (!error)
		pickle->memo.id[number] = pickle->stack.id[pickle->stack.count - 1];
	return error;
}

static int do_put(struct pickle *pickle, const struct operand *operand)
{
	return put(pickle, (uint64_t)operand->number);
}

static int do_memoize(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	return put(pickle, pickle->memo.count);
}

static int do_get(struct pickle *pickle, const struct operand *operand)
{
	if ((uint64_t)operand->number >= pickle->memo.count)
		return -MT_E_CORRUPT;
	return push(&pickle->stack, pickle->memo.id[operand->number]);
}

static int do_nothing(struct pickle *pickle MT_UNUSED, const struct operand *operand MT_UNUSED)
{
	return 0;
}

static int do_stop(struct pickle *pickle, const struct operand *operand MT_UNUSED)
{
	pickle->stopped = 1;
	return pickle->stack.count == 1 && !pickle->marks.count ? 0 : -MT_E_CORRUPT;
}

static int do_refuse(struct pickle *pickle MT_UNUSED, const struct operand *operand MT_UNUSED)
{
	return -MT_E_REFUSED;
}

/* The opcodes: X(byte, argument, action). Python's pickletools documents all of them. */
#define OPCODE_LIST(X)                                                                                        \
	X(0x80, U1, nothing) /* PROTO; checked when the file is opened */                                     \
	X(0x95, U8, nothing) /* FRAME: number of bytes that may be read ahead */                              \
	X('.', NONE, stop)                                                                                    \
	X('N', NONE, none)                                                                                    \
	X(0x88, NONE, true)                                                                                   \
	X(0x89, NONE, false)                                                                                  \
	X('K', U1, int)                                                                                       \
	X('M', U2, int)                                                                                       \
	X('J', S4, int)                                                                                       \
	X(0x8a, TEXT1, long)                                                                                  \
	X(0x8b, TEXT4, long)                                                                                  \
	X('G', U8, float)                                                                                     \
	X('U', TEXT1, text)                                                                                   \
	X('T', TEXT4, text)                                                                                   \
	X('C', TEXT1, text)                                                                                   \
	X('B', TEXT4, text)                                                                                   \
	X(0x8e, TEXT8, text)                                                                                  \
	X(0x96, TEXT8, text)                                                                                  \
	X(0x8c, TEXT1, text)                                                                                  \
	X('X', TEXT4, text)                                                                                   \
	X(0x8d, TEXT8, text)                                                                                  \
	X(']', NONE, list)                                                                                    \
	X(')', NONE, list)                                                                                    \
	X(0x8f, NONE, list) /* a set */                                                                       \
	X('}', NONE, dict)                                                                                    \
	X('(', NONE, mark)                                                                                    \
	X(0x85, NONE, tuple1)                                                                                 \
	X(0x86, NONE, tuple2)                                                                                 \
	X(0x87, NONE, tuple3)                                                                                 \
	X('t', NONE, marked_list)                                                                             \
	X('l', NONE, marked_list)                                                                             \
	X(0x91, NONE, marked_list) /* a frozen set */                                                         \
	X('d', NONE, marked_dict)                                                                             \
	X('a', NONE, append)                                                                                  \
	X('e', NONE, appends)                                                                                 \
	X(0x90, NONE, appends)                                                                                \
	X('s', NONE, setitem)                                                                                 \
	X('u', NONE, setitems)                                                                                \
	X('0', NONE, pop)                                                                                     \
	X('1', NONE, pop_mark)                                                                                \
	X('q', U1, put)                                                                                       \
	X('r', U4, put)                                                                                       \
	X(0x94, NONE, memoize)                                                                                \
	X('h', U1, get)                                                                                       \
	X('j', U4, get)                                                                                       \
	X('c', NONE, refuse) /* from here on: classes, functions, calls, and objects outside of the pickle */ \
	X(0x93, NONE, refuse)                                                                                 \
	X('R', NONE, refuse)                                                                                  \
	X('b', NONE, refuse)                                                                                  \
	X('i', NONE, refuse)                                                                                  \
	X('o', NONE, refuse)                                                                                  \
	X(0x81, NONE, refuse)                                                                                 \
	X(0x92, NONE, refuse)                                                                                 \
	X(0x82, NONE, refuse)                                                                                 \
	X(0x83, NONE, refuse)                                                                                 \
	X(0x84, NONE, refuse)                                                                                 \
	X('P', NONE, refuse)                                                                                  \
	X('Q', NONE, refuse)                                                                                  \
	X(0x97, NONE, refuse)                                                                                 \
	X(0x98, NONE, refuse)

/* ---- bytes ---------------------------------------------------------------------------------------------------- */

/* Reads a little-endian number. */
static inline int read_number(struct pickle *pickle, size_t bytes, uint64_t *number)
{
	const unsigned char *at = pickle->data + pickle->at;

	if (pickle->size - pickle->at < bytes)
		return -MT_E_TRUNCATED;
	if (bytes == 8)
		*number = mt_load_u64(at);
	else if (bytes == 4)
		*number = mt_load_u32(at);
	else
		*number = bytes == 2 ? at[0] | (uint64_t)at[1] << 8 : at[0];
	pickle->at += bytes;
	return 0;
}

static inline int read_text(struct pickle *pickle, size_t length_bytes, struct operand *operand)
{
	uint64_t size;
	int error = read_number(pickle, length_bytes, &size);

	if (error)
		return error;
	if (size > pickle->size - pickle->at)
		return -MT_E_TRUNCATED;
	operand->text = (const char *)pickle->data + pickle->at;
	operand->size = (size_t)size;
	pickle->at += operand->size;
	return 0;
}

static inline int read_unsigned(struct pickle *pickle, size_t bytes, struct operand *operand)
{
	uint64_t number;
	int error = read_number(pickle, bytes, &number);

	if (!error)
		operand->number = (int64_t)number;
	return error;
}

/*
 * Reads the argument of an opcode. Each size has a case of its own, for which the compiler knows the size: this code runs a dozen times for each
 * entry of a history.
 */
static inline int read_operand(struct pickle *pickle, enum argument argument, struct operand *operand)
{
	int error;

	switch (argument) {
	case ARG_NONE:
		return 0;
	case ARG_U1:
		return read_unsigned(pickle, 1, operand);
	case ARG_U2:
		return read_unsigned(pickle, 2, operand);
	case ARG_U4:
		return read_unsigned(pickle, 4, operand);
	case ARG_S4:
		error = read_unsigned(pickle, 4, operand);
		if (!error)
			operand->number = (int32_t)operand->number;
		return error;
	case ARG_U8:
		return read_unsigned(pickle, 8, operand);
	case ARG_TEXT1:
		return read_text(pickle, 1, operand);
	case ARG_TEXT4:
		return read_text(pickle, 4, operand);
	case ARG_TEXT8:
		return read_text(pickle, 8, operand);
	}
	return -MT_E_CORRUPT;
}

/* Runs one opcode. Each opcode has a case with its operand and its action: the loop jumps once. */
static inline int step(struct pickle *pickle)
{
	struct operand operand;
	int error;

	if (pickle->at == pickle->size)
		return -MT_E_TRUNCATED;
	switch (pickle->data[pickle->at++]) {
#define OPCODE_CASE(byte, argument, what)                               \
	case byte:                                                      \
		error = read_operand(pickle, ARG_##argument, &operand); \
		return error ? error : do_##what(pickle, &operand);
		OPCODE_LIST(OPCODE_CASE)
#undef OPCODE_CASE
	default:
		pickle->at--;
		return -MT_E_CORRUPT;
	}
}

/* ---- from the first opcode to the last ---------------------------------------------------------------------------- */

/* Closes the open containers of a torn file from the inside out: all values that were read stay. */
static int close_open(struct pickle *pickle)
{
	const struct value *container;
	size_t from;
	int error = 0;

	while (pickle->marks.count && !error) {
		from = mark_height(pickle);
		pickle->marks.count--;
		if (!from)
			return -MT_E_TRUNCATED;
		container = &pickle->value[pickle->stack.id[from - 1]];
		if (!is_container(container))
			pickle->stack.count = from; /* drop the items of an unfinished tuple */
		else if (container->type == PICKLE_DICT && (pickle->stack.count - from) % 2)
			pickle->stack.count--; /* drop a key that has no value */
		if (is_container(container))
			error = gather(pickle, pickle->stack.id[from - 1], from);
	}
	return error ? error : pickle->stack.count ? 0 : -MT_E_TRUNCATED;
}

static int add_fixed(struct pickle *pickle)
{
	static const struct value fixed[VALUES_FIXED] = {
		[VALUE_NONE] = { .type = PICKLE_NONE },
		[VALUE_FALSE] = { .type = PICKLE_BOOL, .number = 0 },
		[VALUE_TRUE] = { .type = PICKLE_BOOL, .number = 1 },
	};
	size_t i;
	int error = 0;

	for (i = 0; i < VALUES_FIXED && !error; i++)
		error = add_value(pickle, &fixed[i]);
	return error;
}

int pickle_run(struct pickle *pickle, int *damage)
{
	int error = grow(&pickle->stack) || grow(&pickle->memo) ? -MT_E_MEMORY : add_fixed(pickle);

	while (!error && !pickle->stopped) {
		pickle_plain(pickle);
		error = step(pickle);
	}
	if (error != -MT_E_TRUNCATED && error != -MT_E_CORRUPT)
		return error;
	*damage = error;
	error = close_open(pickle);
	return error == -MT_E_TRUNCATED ? *damage : error;
}
