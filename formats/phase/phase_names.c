/* phase_names.c - helpers of the tracker: words, nesting of parts, growing arrays. */
#include "phase_impl.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define NAME(name, number, word, ...) [number] = word,

static const char *const phases[] = { MT_PHASE_LIST(NAME) };
static const char *const roles[] = { MT_ROLE_LIST(NAME) };
static const char *const categories[] = { MT_CATEGORY_LIST(NAME) };

const char *mt_phase_name(uint32_t phase)
{
	return phases[phase < MT_ARRAY_SIZE(phases) ? phase : MT_PHASE_OTHER];
}

const char *mt_role_name(uint32_t role)
{
	return roles[role < MT_ARRAY_SIZE(roles) ? role : MT_ROLE_OTHER];
}

const char *mt_category_name(uint32_t category)
{
	return categories[category < MT_ARRAY_SIZE(categories) ? category : MT_CATEGORY_OTHER];
}

enum mt_category mt_category_parse(const char *word)
{
	uint32_t i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (!strcmp(word, mt_category_name(i)))
			return (enum mt_category)i;
	return MT_CATEGORY_OTHER;
}

int mt_phase_parse(const char *word, size_t size)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(phases); i++)
		if (strlen(phases[i]) == size && !memcmp(phases[i], word, size))
			return (int)i;
	return -1;
}

int tracker_grow(void *array, size_t *count, uint64_t index, size_t item)
{
	size_t larger = *count ? *count : 64;
	char *grown;

	if (index < *count)
		return 0;
	if (index > 2 * (uint64_t)MT_DEFS_MAX)
		return -MT_E_LIMIT;
	while (larger <= index)
		larger *= 2;
	grown = realloc(*(void **)array, larger * item);
	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + *count * item, 0, (larger - *count) * item);
	*(void **)array = grown;
	*count = larger;
	return 0;
}

/* The name of `inner` inside `outer`: a forward inside a backward is done again. */
uint8_t part_inside(uint8_t outer, uint8_t inner)
{
	if (inner == MT_PART_FORWARD && (outer == MT_PART_BACKWARD || outer == MT_PART_RECOMPUTE))
		return MT_PART_RECOMPUTE;
	return inner == MT_PART_NONE ? outer : inner;
}
