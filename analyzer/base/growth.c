#include "growth.h"

int growth_find(const uint64_t *kept, const uint64_t *held, uint32_t parts, uint64_t threshold, struct growth *growth)
{
	struct growth run = { 0 };
	uint64_t before, after;
	uint32_t i;

	*growth = run;
	for (i = 0; i + 1 < parts; i++) {
		if (kept[i] <= threshold) {
			run = (struct growth){ .first = i + 1 };
			continue;
		}
		run.parts++;
		run.bytes += kept[i];
		if (run.parts > growth->parts)
			*growth = run;
	}
	if (growth->parts < GROWTH_PARTS)
		return 0;
	if (!held)
		return 1;
	before = growth->first ? held[growth->first - 1] : 0;
	after = held[growth->first + growth->parts - 1];
	return after >= before && after - before >= growth->bytes / 2;
}
