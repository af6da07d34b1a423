#include "memtrace/phase.h"

#include <string.h>
#include "memtrace/base.h"

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

int mt_phase_parse(const char *word, size_t size)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(phases); i++)
		if (strlen(phases[i]) == size && !memcmp(phases[i], word, size))
			return (int)i;
	return -1;
}
