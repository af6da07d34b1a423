#include "figures.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "report/answer.h"

/* ---- what each phase keeps ---- */

static void add_places(struct growth_phase *row, const struct growth *growth, const struct phases_device *device)
{
	const struct growth_place *place;
	size_t i, k;
	int is_on;

	for (i = 0; i < growth->table.rows; i++) {
		for (k = 0, is_on = 0; k < growth->table.row[i].count; k++) {
			place = &growth->table.row[i].place[k];
			if (place->device != device->id || strcmp(place->phase, row->phase))
				continue;
			row->bytes += place->bytes;
			row->each += place->each;
			is_on = 1;
		}
		row->places += (uint32_t)is_on;
	}
}

static void add_lanes(struct growth_phase *row, const struct steps *steps, const struct phases_device *device,
		      int phase)
{
	const struct steps_lane *lane;

	for (lane = steps->lane; lane < steps->lane + steps->count; lane++)
		if (lane->device == device->id && lane->ended)
			row->in_use += lane->row[lane->ended - 1].phase[phase];
}

static int by_growth(const void *a, const void *b)
{
	const struct growth_phase *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return (one->in_use < two->in_use) - (one->in_use > two->in_use);
}

static void fill_device(struct growth_figures *figures, const struct phases_device *device)
{
	struct growth_phase *first = figures->phase + figures->phase_count, *row = first;
	int phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		*row = (struct growth_phase){ .number = device->number,
					      .phase = mt_phase_name((uint32_t)phase),
					      .peak = COLUMN_IF(device->row[phase].ran_peak, device->row[phase].peak) };
		memcpy(row->kind, device->kind, sizeof(row->kind));
		add_places(row, &figures->growth, device);
		add_lanes(row, &figures->steps, device, phase);
		row += row->bytes || row->in_use || row->peak != COLUMN_NONE;
	}
	figures->phase_count += (size_t)(row - first);
	qsort(first, (size_t)(row - first), sizeof(*row), by_growth);
}

static int find_phases(struct growth_figures *figures)
{
	size_t i;

	figures->phase = calloc(figures->phases.count * MT_PHASE_COUNT + 1, sizeof(*figures->phase));
	if (!figures->phase)
		return -MT_E_MEMORY;
	for (i = 0; i < figures->phases.count; i++)
		fill_device(figures, &figures->phases.device[i]);
	return 0;
}

/* ---- all of it ---- */

int growth_figures_load(struct growth_figures *figures, struct db *db, int parts)
{
	int error;

	memset(figures, 0, sizeof(*figures));
	error = growth_load(&figures->growth, db);
	if (!error && parts & GROWTH_STEPS)
		error = steps_load(&figures->steps, db, &figures->growth);
	if (!error && parts & GROWTH_PHASES)
		error = phases_load(&figures->phases, db);
	if (!error && parts & GROWTH_STACKS)
		error = growth_table_stacks(&figures->growth.table, db, SIZE_MAX);
	return error ? error : find_phases(figures);
}

void growth_figures_release(struct growth_figures *figures)
{
	growth_release(&figures->growth);
	steps_release(&figures->steps);
	phases_release(&figures->phases);
	free(figures->phase);
	memset(figures, 0, sizeof(*figures));
}

/* ---- the state in words ---- */

int growth_peaks_higher(const struct steps_lane *one, const struct steps_lane *two)
{
	const struct steps_row *peak = one->highest, *other = two->highest;

	return peak->peak != other->peak ? peak->peak > other->peak
					 : one->device == two->device && peak->peak_process == one->process;
}

const struct steps_lane *growth_worst_lane(const struct growth_figures *figures)
{
	const struct steps_lane *worst = NULL, *lane;
	size_t i;

	for (i = 0; i < figures->steps.count; i++) {
		lane = &figures->steps.lane[i];
		if (!lane->ended)
			continue;
		if (!worst || lane->state > worst->state ||
		    (lane->state == worst->state &&
		     (lane->state == GROWTH_GROWING ? lane->each > worst->each : growth_peaks_higher(lane, worst))))
			worst = lane;
	}
	return worst;
}

static void say_lane(struct sentence *sentence, const struct growth_figures *figures, const struct steps_lane *lane)
{
	const struct steps_row *last = &lane->row[lane->ended - 1];
	char in_use[TEXT_SIZE_MAX], count[64], process[TEXT_SIZE_MAX], of[TEXT_SIZE_MAX + 8] = "";

	if (figures->steps.count > 1)
		snprintf(of, sizeof(of), " of %s", answer_process(process, lane->rank, lane->pid));
	if (lane->state == GROWTH_STEADY)
		sentence_say(sentence,
			     "Steady: nothing more is kept with every step%s. Step %lld, the last one, ends with %s in use.",
			     of, (long long)last->step, text_bytes(in_use, last->in_use));
	else
		sentence_say(sentence, "%s%s ended, the last one with %s in use" GROWTH_RECORD_MORE,
			     text_count(count, sizeof(count), lane->ended, "step"), of,
			     text_bytes(in_use, last->in_use));
}

void growth_say_state(struct sentence *sentence, const struct growth_figures *figures)
{
	const struct steps_lane *lane = growth_worst_lane(figures);

	if (!lane)
		sentence_say(sentence, "%s",
			     !text_known.history ? answer_no_history
			     : text_known.snapshot
				     ? "No step ended in this snapshot: its history has no optimizer that ran and was "
				       "left. memana phases and memana retained look inside the one step it has."
				     : "No step ended in this recording. What a step is, memrec --step-mark says; "
				       "memana info tells what was recorded.");
	else if (lane->state == GROWTH_GROWING)
		growth_say(sentence, &figures->growth, 0);
	else
		say_lane(sentence, figures, lane);
}

void growth_say_asleep(struct sentence *sentence, const struct growth_figures *figures)
{
	const struct steps_lane *lane = growth_worst_lane(figures);
	uint64_t asleep = lane ? lane->row[lane->ended - 1].asleep : 0;
	char size[TEXT_SIZE_MAX];

	if (asleep)
		sentence_say(sentence, " %s more is allocated, but asleep then.", text_bytes(size, asleep));
}

/* ---- columns ---- */

#define GROWTH_PHASE_COLUMNS(X, T)                                                                                 \
	X(T, device, NUMBER, NULL, it->number, "number of the device")                                             \
	X(T, kind, WORD, NULL, it->kind, "cuda or cpu")                                                            \
	X(T, phase, PHASE, "made in", it->phase, "phase that allocated the bytes")                                 \
	X(T, places, NUMBER, "places", it->places, "places that grow")                                             \
	X(T, bytes_per_step, BYTES, "a step", it->each, "kept of each step by these places")                       \
	X(T, bytes, BYTES, "so far", it->bytes, "kept so far by these places")                                     \
	X(T, in_use_bytes, BYTES, "at last end", it->in_use, "in use at the end of the last step of each process") \
	X(T, peak_bytes, BYTES, "peak", COLUMN_IF(it->peak != COLUMN_NONE, it->peak),                              \
	  "most that the device held while the phase ran")

COLUMN_TABLE(growth_phase, struct growth_phase, GROWTH_PHASE_COLUMNS)
