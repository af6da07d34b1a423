/* sums_instants.c - notes ends of steps and begins of micro-batches, and lists the instants of a detail. */
#include "sums_instants.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"

static int add(struct sums_instants_list *list, uint64_t seq)
{
	if (MT_ARRAY_ROOM(list->seq, list->count, list->room))
		return -MT_E_MEMORY;
	list->seq[list->count++] = seq;
	return 0;
}

int sums_instants_step(struct sums_instants *instants, uint64_t seq)
{
	return add(&instants->ends, seq);
}

/*
 * A micro-batch begins with a forward that does not follow another forward of its step (retained.h). Births count from its first event on, deaths
 * from the next event on: one instant is before the first event, and one after.
 */
int sums_instants_span(struct sums_instants *instants, uint8_t phase, uint32_t step, uint64_t first_seq,
		       uint64_t last_seq)
{
	int error = 0;

	if (phase == MT_PHASE_FORWARD && (!instants->forward || instants->step != step)) {
		error = add(&instants->begins, instants->last_seq);
		if (!error)
			error = add(&instants->begins, first_seq);
		if (!error)
			error = add(&instants->steps, step);
	}
	if (phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD) {
		instants->forward = phase == MT_PHASE_FORWARD;
		instants->step = step;
	}
	instants->last_seq = last_seq;
	return error;
}

int sums_instants_copy(struct sums_instants *instants, const struct sums_instants *other, size_t batch)
{
	int error = add(&instants->begins, other->begins.seq[2 * batch]);

	return error ? error : add(&instants->begins, other->begins.seq[2 * batch + 1]);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

/* Appends the events of the phases' peaks to `seq`. Returns their number. */
static size_t take_peaks(const struct analysis *analysis, uint32_t process, uint64_t *seq)
{
	const struct analysis_phase_peak *peak;
	size_t count = 0;
	uint32_t i, phase;

	for (i = 0; i < analysis->devices; i++)
		for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
			peak = &analysis->device[i].phase_peak[phase];
			if (peak->ran && peak->process == process)
				seq[count++] = peak->seq;
		}
	return count;
}

int sums_instants_all(const struct sums_instants *instants, enum sums_detail detail, const struct analysis *analysis,
		      uint32_t process, uint64_t **seq, size_t *count)
{
	size_t ends = instants->ends.count, begins = detail == SUMS_BATCHES ? instants->begins.count : 0;
	uint64_t *all = malloc((ends + begins + (size_t)analysis->devices * MT_PHASE_COUNT + 1) * sizeof(*all));

	*seq = all;
	*count = 0;
	if (!all)
		return -MT_E_MEMORY;
	if (ends)
		memcpy(all, instants->ends.seq, ends * sizeof(*all));
	if (begins)
		memcpy(all + ends, instants->begins.seq, begins * sizeof(*all));
	*count = ends + begins;
	if (detail == SUMS_BATCHES)
		*count += take_peaks(analysis, process, all + *count);
	if (*count)
		qsort(all, *count, sizeof(*all), by_number);
	return 0;
}

void sums_instants_release(struct sums_instants *instants)
{
	free(instants->ends.seq);
	free(instants->begins.seq);
	free(instants->steps.seq);
	memset(instants, 0, sizeof(*instants));
}
