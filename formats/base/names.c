/* names.c - words for the numbers of error.h and event.h. */
#include <ctype.h>
#include <pthread.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/event.h"

static const struct {
	int number, exit_code;
	const char *text;
} errors[] = {
#define ERROR_ROW(name, number, exit_code, text) { number, exit_code, text },
	MT_ERROR_LIST(ERROR_ROW)
#undef ERROR_ROW
};

/* Index in errors[], or -1. */
static int find_error(int error)
{
	size_t i;

	if (error < 0 && error > -1000)
		error = -error;
	for (i = 0; i < MT_ARRAY_SIZE(errors); i++)
		if (errors[i].number == error)
			return (int)i;
	return -1;
}

const char *mt_strerror(int error)
{
	int i = find_error(error);

	if (!error)
		return "no error";
	return i < 0 ? "an unknown error" : errors[i].text;
}

int mt_exit_code(int error)
{
	int i = find_error(error);

	if (!error)
		return 0;
	return i < 0 ? 4 : errors[i].exit_code;
}

static const uint32_t kind_fields[MT_KIND_MAX + 1] = {
#define FIELDS_ROW(name, number, fields, meaning) [number] = (fields),
	MT_KIND_LIST(FIELDS_ROW)
#undef FIELDS_ROW
};

uint32_t mt_kind_fields(uint32_t kind)
{
	return kind <= MT_KIND_MAX ? kind_fields[kind] : 0;
}

/* The list has the kinds as identifiers. Words for people are made from them once. */
static char kind_words[MT_KIND_MAX + 1][24];
static pthread_once_t kind_words_once = PTHREAD_ONCE_INIT;

#define KIND_FITS(name, number, fields, meaning) \
	_Static_assert(sizeof(#name) <= sizeof(kind_words[0]), "kind_words is too narrow for " #name);
MT_KIND_LIST(KIND_FITS)
#undef KIND_FITS

static void make_word(char *word, const char *identifier)
{
	for (; *identifier; identifier++)
		*word++ = *identifier == '_' ? '-' : (char)tolower((unsigned char)*identifier);
}

static void make_kind_words(void)
{
#define WORD_ROW(name, number, fields, meaning) make_word(kind_words[number], #name);
	MT_KIND_LIST(WORD_ROW)
#undef WORD_ROW
}

const char *mt_kind_name(uint32_t kind)
{
	if (kind > MT_KIND_MAX || !kind_fields[kind])
		return NULL;
	pthread_once(&kind_words_once, make_kind_words);
	return kind_words[kind];
}

#define NAME_ROW(name, number, word) [number] = word,

static const char *const spaces[] = { MT_SPACE_LIST(NAME_ROW) };
static const char *const losses[] = { MT_LOSS_LIST(NAME_ROW) };
static const char *const sources[] = { MT_SOURCE_LIST(NAME_ROW) };
static const char *const ends[] = { MT_END_LIST(NAME_ROW) };

const char *mt_space_name(uint32_t space)
{
	return space < MT_ARRAY_SIZE(spaces) ? spaces[space] : NULL;
}

const char *mt_loss_name(uint32_t loss)
{
	return loss < MT_ARRAY_SIZE(losses) ? losses[loss] : NULL;
}

const char *mt_source_name(uint32_t source)
{
	return source < MT_ARRAY_SIZE(sources) ? sources[source] : NULL;
}

const char *mt_census_name(uint32_t what)
{
	static const char *const words[MT_CENSUS_COUNT] = {
#define CENSUS_WORD(name, number, word) [number] = (word),
		MT_CENSUS_LIST(CENSUS_WORD)
#undef CENSUS_WORD
	};

	return what < MT_CENSUS_COUNT ? words[what] : NULL;
}

const char *mt_source_state_word(uint64_t state)
{
	static const char *const words[] = {
#define STATE_WORD(name, number, word) [number] = (word),
		MT_SOURCE_STATE_LIST(STATE_WORD)
#undef STATE_WORD
	};

	return words[state < MT_SOURCE_STATES ? state : MT_SOURCE_FAILED];
}

const char *mt_end_name(uint32_t end)
{
	return end < MT_ARRAY_SIZE(ends) ? ends[end] : NULL;
}
