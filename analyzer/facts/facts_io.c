#include "facts_io.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define VARINT_MAX 10u

static void fail(struct facts_io *io, int error)
{
	if (!io->error)
		io->error = error;
}

void facts_check(struct facts_io *io, int right)
{
	if (!right)
		fail(io, -MT_E_CORRUPT);
}

/* Makes room for `size` more bytes. Returns 0 if there is none. */
static int make_room(struct facts_io *io, size_t size)
{
	size_t room = io->room ? io->room * 2 : 4096;
	uint8_t *grown;

	while (room < io->size + size)
		room *= 2;
	if (io->error)
		return 0;
	if (io->size + size <= io->room)
		return 1;
	grown = realloc(io->data, room);
	if (!grown) {
		fail(io, -MT_E_MEMORY);
		return 0;
	}
	io->data = grown;
	io->room = room;
	return 1;
}

static void put(struct facts_io *io, uint64_t value)
{
	if (!make_room(io, VARINT_MAX))
		return;
	for (; value >= 0x80; value >>= 7)
		io->data[io->size++] = (uint8_t)value | 0x80;
	io->data[io->size++] = (uint8_t)value;
}

static uint64_t get(struct facts_io *io)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && io->at < io->end && !io->error; shift += 7) {
		value |= (uint64_t)(*io->at & 0x7f) << shift;
		if (!(*io->at++ & 0x80))
			return value;
	}
	fail(io, -MT_E_CORRUPT);
	return 0;
}

void facts_number(struct facts_io *io, uint64_t *number)
{
	if (io->writing)
		put(io, *number);
	else
		*number = get(io);
}

uint32_t facts_count(struct facts_io *io, uint32_t count, uint32_t least, uint32_t most)
{
	uint64_t number = count;

	facts_number(io, &number);
	if (!io->writing)
		facts_check(io, number <= most && number * least <= (uint64_t)(io->end - io->at));
	return io->error ? 0 : (uint32_t)number;
}

/* ---- rows ---- */

static uint64_t load(const uint8_t *at, size_t size)
{
	uint64_t value = 0;

	if (size == sizeof(value)) /* memcpy of a constant size compiles to one load */
		memcpy(&value, at, sizeof(value));
	else
		memcpy(&value, at, size); /* little-endian: the low bytes come first */
	return value;
}

static void store(struct facts_io *io, uint8_t *at, size_t size, uint64_t value)
{
	if (size == sizeof(value)) {
		memcpy(at, &value, sizeof(value));
		return;
	}
	facts_check(io, !(value >> size * 8));
	memcpy(at, &value, size);
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t code)
{
	return code >> 1 ^ (0 - (code & 1));
}

static void differences(struct facts_io *io, uint8_t *rows, size_t size, size_t count,
			const struct facts_member *member)
{
	uint8_t *at = rows + member->offset;
	uint64_t last = 0, value;
	size_t i;

	for (i = 0; i < count && !io->error; i++, at += size) {
		if (io->writing) {
			value = load(at, member->size);
			put(io, zigzag(value - last));
		} else {
			value = last + unzigzag(get(io));
			store(io, at, member->size, value);
		}
		last = value;
	}
}

void facts_rows(struct facts_io *io, void *rows, size_t size, size_t count, const struct facts_member *member,
		size_t members)
{
	size_t i;

	for (i = 0; i < members; i++)
		differences(io, rows, size, count, &member[i]);
}

/* A column of rows. `shift`: number of low bits that are 0 in all differences, and are not stored. */
struct column {
	uint8_t *at;
	size_t size, bytes; /* size: of a row */
	unsigned shift;
};

static uint64_t cell(const struct column *column, size_t row)
{
	return load(column->at + row * column->size, column->bytes);
}

/* Returns the number of low bits that are 0 in all differences. */
static unsigned common_bits(const struct column *column, size_t count)
{
	uint64_t last = 0, any = 0, value;
	size_t i;

	for (i = 0; i < count; i++) {
		value = cell(column, i);
		any |= value - last;
		last = value;
	}
	return any ? (unsigned)__builtin_ctzll(any) : 0;
}

static size_t write_run(struct facts_io *io, const struct column *column, size_t row, size_t count, uint64_t step)
{
	size_t same = 0;

	while (same < count && same < FACTS_RUN_MOST && cell(column, row + same + 1) - cell(column, row + same) == step)
		same++;
	put(io, same);
	return same;
}

static size_t read_run(struct facts_io *io, const struct column *column, size_t row, size_t count, uint64_t step)
{
	uint64_t same = get(io), i;
	uint64_t value = cell(column, row);

	facts_check(io, same <= count && same <= FACTS_RUN_MOST);
	for (i = 1; i <= same && !io->error; i++)
		store(io, column->at + (row + i) * column->size, column->bytes, value += step);
	return io->error ? 0 : (size_t)same;
}

/* Like `differences`; a difference equal to the one before is followed by the number of further equal ones. */
static void column_of_runs(struct facts_io *io, const struct column *column, size_t count)
{
	size_t i, same;
	uint64_t step = 0, before, last = 0;

	for (i = 0; i < count && !io->error; i += 1 + same) {
		before = step;
		same = 0;
		if (io->writing) {
			step = cell(column, i) - last;
			put(io, zigzag((uint64_t)((int64_t)step >> column->shift)));
		} else {
			step = unzigzag(get(io)) << column->shift;
			store(io, column->at + i * column->size, column->bytes, last + step);
		}
		if (i && step == before)
			same = (io->writing ? write_run(io, column, i, count - i - 1, step)
					    : read_run(io, column, i, count - i - 1, step));
		last = cell(column, i + same);
	}
}

void facts_runs(struct facts_io *io, void *rows, size_t size, size_t count, const struct facts_member *member,
		size_t members)
{
	struct column column = { .size = size };
	size_t i;

	for (i = 0; i < members && count; i++) {
		column.at = (uint8_t *)rows + member[i].offset;
		column.bytes = member[i].size;
		column.shift = facts_count(io, io->writing ? common_bits(&column, count) : 0, 0, 63);
		column_of_runs(io, &column, count);
	}
}

void *facts_new_rows(struct facts_io *io, size_t size, size_t count)
{
	void *rows = io->error ? NULL : calloc(count, size);

	if (!rows)
		fail(io, -MT_E_MEMORY);
	return rows;
}

void facts_array(struct facts_io *io, void **rows, size_t size, size_t count, const struct facts_member *member,
		 size_t members)
{
	if (!io->writing && !io->error && count)
		*rows = facts_new_rows(io, size, count);
	if (*rows && !io->error)
		facts_rows(io, *rows, size, count, member, members);
}

void facts_run_array(struct facts_io *io, void **rows, size_t size, uint32_t *count, uint32_t most,
		     const struct facts_member *member, size_t members)
{
	if (io->writing && *count > most)
		fail(io, -MT_E_LIMIT);
	*count = facts_count(io, *count, 0, most);
	if (!io->writing) {
		facts_check(io, *count * members <= (uint64_t)(io->end - io->at) * (FACTS_RUN_MOST + 1));
		*rows = io->error || !*count ? NULL : facts_new_rows(io, size, *count);
	}
	if (io->error)
		*count = 0;
	if (*count)
		facts_runs(io, *rows, size, *count, member, members);
}

void facts_bytes(struct facts_io *io, const uint8_t *bytes, size_t size)
{
	if (!size || !make_room(io, size))
		return;
	memcpy(io->data + io->size, bytes, size);
	io->size += size;
}

const char *facts_text(struct facts_io *io, const char *text, uint32_t most)
{
	uint32_t size = facts_count(io, io->writing ? (uint32_t)strlen(text) + 1 : 0, 1, most);
	const char *read = (const char *)io->at;

	if (io->error || !size) {
		facts_check(io, size > 0);
		return "";
	}
	if (io->writing) {
		if (make_room(io, size))
			memcpy(io->data + io->size, text, size);
		io->size += io->error ? 0 : size;
		return text;
	}
	io->at += size;
	facts_check(io, strnlen(read, size) == size - 1);
	return io->error ? "" : read;
}
