#include "figures.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"

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
			row->in_use += steps_phase(&lane->row[lane->ended - 1], (uint32_t)phase);
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

/* ---- all figures ---- */

int growth_figures_load(struct growth_figures *figures, struct db *db, int parts)
{
	uint64_t lost = 0;
	int error;

	memset(figures, 0, sizeof(*figures));
	error = growth_load(&figures->growth, db);
	if (!error)
		error = answer_say_lost(&figures->lost, db, &lost);
	if (!error && parts & GROWTH_STEPS)
		error = steps_load(&figures->steps, db, &figures->growth);
	if (!error && parts & (GROWTH_PHASES | GROWTH_PEAKS))
		error = phases_load(&figures->phases, db, parts & GROWTH_PEAKS);
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

	sentence_say(sentence, "%s", figures->lost.text);
	if (!lane)
		sentence_say(
			sentence, "%s",
			!text_known.history ? answer_no_history
			: text_known.snapshot
				? "No step ended in this snapshot: its history has no optimizer that ran and was "
				  "left. memana phases and memana retained look inside the one step it has."
				: "No ended step was recorded. memana oom looks for memory that requests keep. "
				  "memrec --step-mark PATTERN says what one step is; memana info lists what was recorded.");
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
		sentence_say(sentence, " %s more is in sleeping pools, without memory then.", text_bytes(size, asleep));
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

/* ---- steps whose events were let go ---- */

static const char *say_let_go(char store[COLUMN_STORE], const struct let_go_row *row)
{
	int64_t first = row->step - row->steps + 1, last = row->step;

	if (first < last)
		snprintf(store, COLUMN_STORE, "%lld-%lld", (long long)first, (long long)last);
	else
		snprintf(store, COLUMN_STORE, "%lld", (long long)last);
	return store;
}

#define LET_GO_COLUMNS(X, T)                                                                         \
	X(T, step_range, FIGURE, "step", say_let_go(value->store, it), "steps of the row")           \
	X(T, step, NUMBER, NULL, it->step, "the last step of the row")                               \
	X(T, steps, COUNT, NULL, it->steps, "steps that the row stands for")                         \
	X(T, end_ns, MOMENT, NULL, it->time, "end of the last step, since the run began")            \
	X(T, peak_bytes, BYTES, "peak", it->peak, "the most that the process held meanwhile")        \
	X(T, peak_phase, PHASE, "in", it->phase, "phase of the event that made the peak")            \
	X(T, held_bytes, BYTES, "held at end", it->held, "held at the end of the last step")         \
	X(T, tensor_bytes, BYTES, "in tensors", it->tensors, "the part in tensors, resident or not") \
	X(T, slack_bytes, BYTES, NULL, it->slack, "the part in the caching allocator and in no tensor")

COLUMN_TABLE(let_go, struct let_go_row, LET_GO_COLUMNS)

static int take_row(void *context, struct db_stmt *stmt)
{
	struct let_go *let_go = context;
	struct let_go_row *row;

	if (MT_ARRAY_ROOM(let_go->row, let_go->count, let_go->room))
		return -MT_E_MEMORY;
	row = &let_go->row[let_go->count++];
	*row = (struct let_go_row){ .step = db_int(stmt, 0),
				    .steps = db_int(stmt, 1),
				    .time = db_int(stmt, 2),
				    .peak = (uint64_t)db_int(stmt, 3),
				    .held = (uint64_t)db_int(stmt, 5),
				    .slack = (uint64_t)db_int(stmt, 6),
				    .tensors = (uint64_t)db_int(stmt, 7) };
	mt_copy_text(row->phase, sizeof(row->phase), db_text(stmt, 4));
	return 0;
}

int let_go_load(struct let_go *let_go, struct db *db, int64_t process, int64_t device)
{
	memset(let_go, 0, sizeof(*let_go));
	return db_rows(db,
		       "SELECT step, steps, end_time, peak_bytes, peak_phase, held_bytes, slack_bytes, tensor_bytes FROM step_let_go "
		       "WHERE process = ?1 AND device = ?2 ORDER BY step",
		       DB_NUMBERS(process, device), take_row, let_go);
}

void let_go_release(struct let_go *let_go)
{
	free(let_go->row);
	memset(let_go, 0, sizeof(*let_go));
}

/* `newer` then stands for both rows. */
static void join(const struct let_go_row *older, struct let_go_row *newer)
{
	newer->steps += older->steps;
	if (older->peak < newer->peak)
		return;
	newer->peak = older->peak;
	memcpy(newer->phase, older->phase, sizeof(newer->phase));
}

void let_go_thin(struct let_go *let_go, size_t most)
{
	size_t each = (let_go->count + most - 1) / most, i, kept = 0;

	for (i = 0; i < let_go->count; i++) {
		if (i % each)
			join(&let_go->row[i - 1], &let_go->row[i]);
		if (i % each == each - 1 || i + 1 == let_go->count)
			let_go->row[kept++] = let_go->row[i];
	}
	let_go->count = kept;
}

/* ---- commands ---- */

struct asked {
	const struct growth_answer *answer;
};

/* Prints or fills in the answer for one process and device. */
static int print_or_fill(const struct text *text, struct doc *doc, struct db *db, const struct answer_options *options)
{
	const struct growth_answer *answer = ((const struct asked *)options->own)->answer;
	struct growth_figures figures;
	int error = growth_figures_load(&figures, db, answer->parts);

	if (!error)
		error = text ? answer->text(text, db, &figures, options) : answer->json(doc, db, &figures, options);
	growth_figures_release(&figures);
	return error;
}

static int print_figures(const struct text *text, struct db *db, const struct answer_options *options)
{
	return print_or_fill(text, NULL, db, options);
}

static int json_figures(struct doc *doc, struct db *db, const struct answer_options *options)
{
	return print_or_fill(NULL, doc, db, options);
}

int growth_answer_command(int argc, char **argv, const struct growth_answer *answer)
{
	const struct command_option options[] = {
		{ 'n', NULL, "N", answer->limit_help },
		COMMAND_RULES_OPTION,
		COMMAND_FULL_OPTION,
		COMMAND_JSON_OPTION,
		COMMAND_HELP_OPTION,
	};
	const struct answer shared = {
		.options = answer->limit_help ? options : options + 1,
		.parts = answer->parts & GROWTH_PHASES ? LOAD_PHASES : LOAD_ENDS,
		.limit = answer->limit,
		.text = print_figures,
		.json = json_figures,
	};

	return answer_command(argc, argv, &shared, &(struct asked){ answer });
}
