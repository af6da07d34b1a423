/* ending.c - ends a recording before its process: see ending.h. */
#include "ending.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "shared/options.h"

#define LEAST_NS MT_NSEC_PER_SEC /* shortest wait for the end of a step, also if steps are shorter */

void ending_begin(struct ending *ending, const struct ring_header *header)
{
	struct memrec_options *options = malloc(sizeof(*options));

	memset(ending, 0, sizeof(*ending));
	if (options && !memrec_options_decode(options, header->options) && options->duration)
		ending->deadline = header->start_monotonic + options->duration * MT_NSEC_PER_SEC;
	free(options);
}

static void follow_steps(struct ending *ending, const struct mt_fold *fold, uint64_t now)
{
	uint64_t steps = mt_fold_steps(fold);

	if (steps == ending->steps)
		return;
	ending->step_ns = ending->last_step ? now - ending->last_step : 0;
	ending->last_step = now;
	ending->steps = steps;
}

int ending_is_due(struct ending *ending, struct mt_fold *fold, int asked, uint64_t now)
{
	uint64_t patience;

	if (ending->deadline && now >= ending->deadline)
		return 1;
	follow_steps(ending, fold, now);
	if (!asked)
		return 0;
	if (asked > 1 || !ending->last_step)
		return 1;
	if (!ending->asked) {
		ending->asked = now;
		mt_fold_end_with_step(fold, MT_END_SIGNAL);
	}
	patience = 2 * ending->step_ns > LEAST_NS ? 2 * ending->step_ns : LEAST_NS;
	return now - ending->asked >= patience;
}
