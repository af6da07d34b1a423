#include "driver_cause.h"

#include <stddef.h>
#include "memtrace/base.h"

enum change { MORE = 1, LESS = 2, BOTH = 3 };

static const struct {
	uint32_t entry;
	struct driver_cause cause;
} causes[] = {
#define CAUSE_ROW(id, call, name, change) { id, { GPU_TOTAL_##name, (change)&MORE, (change)&LESS } },
	DRIVER_CAUSE_LIST(CAUSE_ROW)
#undef CAUSE_ROW
};

const struct driver_cause *driver_cause_of(uint64_t entry)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(causes); i++)
		if (causes[i].entry == entry)
			return &causes[i].cause;
	return NULL;
}
