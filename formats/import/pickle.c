/* pickle.c - opens the file of a pickle, and answers questions about its values. */
#include "pickle_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define PROTOCOL_MIN 2
#define PROTOCOL_MAX 5

static int map_file(struct pickle *pickle, const char *path)
{
	struct stat st;
	void *data;
	int saved, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -MT_E_SYSTEM;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		saved = S_ISREG(st.st_mode) ? errno : EINVAL;
		close(fd);
		errno = saved;
		return -MT_E_SYSTEM;
	}
	data = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	saved = errno;
	close(fd);
	errno = saved;
	if (data == MAP_FAILED)
		return -MT_E_SYSTEM;
	pickle->data = data;
	pickle->size = (size_t)st.st_size;
	return 0;
}

static int check_protocol(const struct pickle *pickle)
{
	if (pickle->size < 2 || pickle->data[0] != 0x80 || pickle->data[1] < PROTOCOL_MIN)
		return -MT_E_MAGIC;
	return pickle->data[1] > PROTOCOL_MAX ? -MT_E_VERSION : 0;
}

int pickle_open(struct pickle **out, const char *path, int *damage, uint64_t *offset)
{
	struct pickle *pickle = calloc(1, sizeof(*pickle));
	int error;

	*out = NULL;
	*damage = 0;
	*offset = 0;
	if (!pickle)
		return -MT_E_MEMORY;
	error = map_file(pickle, path);
	if (!error)
		error = check_protocol(pickle);
	if (!error)
		error = pickle_run(pickle, damage);
	*offset = pickle->at;
	if (error) {
		pickle_free(pickle);
		return error;
	}
	*out = pickle;
	return 0;
}

void pickle_free(struct pickle *pickle)
{
	struct block *block, *next;

	if (!pickle)
		return;
	for (block = pickle->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(pickle->value);
	free(pickle->stack.id);
	free(pickle->marks.id);
	free(pickle->memo.id);
	if (pickle->size)
		munmap((void *)pickle->data, pickle->size);
	free(pickle);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

uint64_t pickle_bytes(const struct pickle *pickle)
{
	return pickle->size;
}

size_t pickle_values(const struct pickle *pickle)
{
	return pickle->values;
}

pickle_id pickle_root(const struct pickle *pickle)
{
	return pickle->stack.id[0];
}

/* Returns the value; a missing value counts as None. */
static const struct value *value_of(const struct pickle *pickle, pickle_id value)
{
	return &pickle->value[value < pickle->values ? value : VALUE_NONE];
}

enum pickle_type pickle_type(const struct pickle *pickle, pickle_id value)
{
	return (enum pickle_type)value_of(pickle, value)->type;
}

int64_t pickle_int(const struct pickle *pickle, pickle_id value, int64_t missing)
{
	const struct value *is = value_of(pickle, value);

	return is->type == PICKLE_INT || is->type == PICKLE_BOOL ? is->number : missing;
}

const char *pickle_text(const struct pickle *pickle, pickle_id value, size_t *size)
{
	const struct value *is = value_of(pickle, value);

	*size = is->type == PICKLE_TEXT ? is->count : 0;
	return is->type == PICKLE_TEXT ? is->text : "";
}

int pickle_is(const struct pickle *pickle, pickle_id value, const char *text)
{
	const struct value *is = value_of(pickle, value);

	return is->type == PICKLE_TEXT && is->count == strlen(text) && !memcmp(is->text, text, is->count);
}

uint32_t pickle_count(const struct pickle *pickle, pickle_id value)
{
	const struct value *is = value_of(pickle, value);

	return is->type == PICKLE_LIST ? is->count : is->type == PICKLE_DICT ? is->count / 2 : 0;
}

pickle_id pickle_item(const struct pickle *pickle, pickle_id value, uint32_t i)
{
	const struct value *is = value_of(pickle, value);

	if (i >= pickle_count(pickle, value))
		return VALUE_NONE;
	return is->type == PICKLE_LIST ? is->item[i] : is->item[i * 2 + 1];
}

const pickle_id *pickle_pairs(const struct pickle *pickle, pickle_id value, uint32_t *pairs)
{
	const struct value *is = value_of(pickle, value);

	*pairs = is->type == PICKLE_DICT ? is->count / 2 : 0;
	return is->item;
}

pickle_id pickle_key(const struct pickle *pickle, pickle_id value, uint32_t i)
{
	const struct value *is = value_of(pickle, value);

	return is->type == PICKLE_DICT && i < is->count / 2 ? is->item[i * 2] : VALUE_NONE;
}

pickle_id pickle_get(const struct pickle *pickle, pickle_id value, const char *key)
{
	uint32_t i = pickle_type(pickle, value) == PICKLE_DICT ? pickle_count(pickle, value) : 0;

	while (i--)
		if (pickle_is(pickle, pickle_key(pickle, value, i), key))
			return pickle_item(pickle, value, i);
	return VALUE_NONE;
}
