#include "moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

int moment_time(const char *word, int64_t *time)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "min", 60e9 } };
	char *unit;
	double value;
	size_t i;

	value = strtod(word, &unit);
	/* strtod knows more numbers: hexadecimal ones, with an exponent, infinity. */
	if (unit == word || strspn(word, "0123456789.") != (size_t)(unit - word))
		return -MT_E_ARGUMENT;
	for (i = 0; i < MT_ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		if (value * units[i].ns >= 9e18)
			return -MT_E_ARGUMENT;
		*time = (int64_t)(value * units[i].ns + 0.5);
		return 0;
	}
	return -MT_E_ARGUMENT;
}

static int parse_step(const char *word, uint32_t *step)
{
	unsigned long number;
	char *end;

	if (*word < '1' || *word > '9')
		return -MT_E_ARGUMENT;
	errno = 0;
	number = strtoul(word, &end, 10);
	if (errno || *end || number > UINT32_MAX)
		return -MT_E_ARGUMENT;
	*step = (uint32_t)number;
	return 0;
}

int moment_parse(struct moment *moment, const char *word)
{
	*moment = (struct moment){ .kind = MOMENT_PEAK };
	if (!strcmp(word, "peak"))
		return 0;
	moment->kind = MOMENT_OOM;
	if (!strcmp(word, "oom"))
		return 0;
	moment->kind = MOMENT_STEP;
	if (!strncmp(word, "step:", strlen("step:")))
		return parse_step(word + strlen("step:"), &moment->step);
	moment->kind = MOMENT_TIME;
	return moment_time(word, &moment->time);
}
