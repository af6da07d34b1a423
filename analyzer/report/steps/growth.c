#include "growth.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/event.h"
#include "memtrace/phase.h"
#include "report/finding.h"

#define STEPS_MAX (1u << 20) /* newest steps of a run */
#define STEPS_ENOUGH 3       /* fewest steps to judge growth */

/* ---- the rule ---- */

static void add_part(struct growth_run *run, const uint64_t *kept, uint32_t part)
{
	run->growing++;
	run->parts = part + 1 - run->first;
	run->kept += kept[part];
	run->most = kept[part] > run->most ? kept[part] : run->most;
}

/* Finds the longest run of parts that ends late. Returns 1 if it is long enough. */
static int find_run(const uint64_t *kept, uint32_t parts, uint64_t threshold, struct growth_run *found)
{
	struct growth_run run = { 0 };
	uint32_t judged = parts - 1, many = 0, most = 0, last = 0, i;

	*found = run;
	for (i = 0; i < judged; i++) {
		if (kept[i] <= threshold)
			continue;
		if (!many || i - last > parts / GROWTH_GAP + 1) {
			run = (struct growth_run){ .first = i };
			many = 0;
		}
		many++;
		last = i;
		add_part(&run, kept, i);
		if (many > most && i + 1 + parts / GROWTH_LATE >= judged) {
			*found = run;
			most = many;
		}
	}
	return most >= GROWTH_PARTS || (most && most + 1 >= GROWTH_PARTS && !found->first && kept[judged] > threshold);
}

/* Finds the parts with one distance, back from the newest one that kept bytes. Returns 1 if they are enough, and end late. */
static int find_period(const uint64_t *kept, uint32_t parts, uint64_t threshold, struct growth_run *found)
{
	uint32_t judged = parts - 1, first = 0, last = 0, many = 0, period = 0, gap, i;

	for (i = judged; i-- > 0;) {
		if (kept[i] <= threshold)
			continue;
		gap = first - i;
		if (many == 1)
			period = gap;
		if (many > 1 && (gap > period + period / GROWTH_GAP || gap + period / GROWTH_GAP < period))
			break;
		last = many++ ? last : i;
		first = i;
	}
	*found = (struct growth_run){ .first = first };
	for (i = first; i <= last; i++)
		if (kept[i] > threshold)
			add_part(found, kept, i);
	return many > GROWTH_PARTS && last + parts / GROWTH_LATE >= judged;
}

/*
 * Returns the rise of the held bytes from before part `from` to the end of part `to`. Before part 0 the place held the bytes that were freed later.
 */
static uint64_t rise(const uint64_t *kept, const uint64_t *held, uint32_t from, uint32_t to)
{
	uint64_t before = from ? held[from - 1] : held[0] > kept[0] ? held[0] - kept[0] : 0;

	return held[to] > before ? held[to] - before : 0;
}

/* Whether the held bytes rose by at least half of the bytes that the last parts kept. */
static int still_grows(const uint64_t *kept, const uint64_t *held, uint32_t parts)
{
	uint32_t judged = parts - 1, late = parts / GROWTH_LATE, from, i;
	uint64_t sum = 0;

	from = late > 1 ? judged - late : judged - 1;
	for (i = from; i < judged; i++)
		sum += kept[i];
	return sum && rise(kept, held, from, judged - 1) >= sum - sum / 2;
}

int growth_find(const uint64_t *kept, const uint64_t *held, uint32_t parts, uint64_t threshold, struct growth_run *run)
{
	uint64_t more;

	if (parts < GROWTH_PARTS ||
	    (!find_run(kept, parts, threshold, run) && !find_period(kept, parts, threshold, run)) ||
	    !still_grows(kept, held, parts))
		return 0;
	more = rise(kept, held, run->first, run->first + run->parts - 1);
	run->bytes = more < run->kept ? more : run->kept;
	return run->bytes >= run->kept / 2;
}

uint32_t growth_covers(const struct growth_run *run)
{
	return run->growing > 1 ? run->parts + (run->parts - run->growing) / (run->growing - 1) : run->parts;
}

int growth_parts_begin(struct growth_parts *all, uint32_t parts, uint64_t threshold)
{
	uint64_t **figures[] = { &all->kept, &all->held, &all->count }, *more;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(figures); i++) {
		more = parts > all->room ? realloc(*figures[i], parts * sizeof(*more)) : *figures[i];
		if (!more)
			return -MT_E_MEMORY;
		*figures[i] = more;
		memset(more, 0, parts * sizeof(*more));
	}
	all->room = parts > all->room ? parts : all->room;
	all->parts = parts;
	all->threshold = threshold;
	return 0;
}

void growth_parts_release(struct growth_parts *all)
{
	free(all->kept);
	free(all->held);
	free(all->count);
	memset(all, 0, sizeof(*all));
}

int growth_parts_find(struct growth_parts *all, struct growth_run *run)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < all->parts; i++)
		all->held[i] = sum += all->held[i];
	return growth_find(all->kept, all->held, all->parts, all->threshold, run);
}

/* ---- one place, while its rows come in ---- */

struct growing {
	struct growth *growth;
	struct growth_place key; /* the place */
	struct growth_parts at;  /* steps, or groups of `grain` steps */
	int64_t first_step, last_step, grain;
	uint64_t category[MT_CATEGORY_COUNT]; /* bytes made */
	int64_t node[MT_CATEGORY_COUNT];
	int open;
};

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return (one > two) - (one < two);
}

/* 1: the first step sets things up: it kept more than one and a half times the median of the later steps. */
static int sets_up(const uint64_t *kept, const struct growth_run *run)
{
	uint64_t *later = run->first || run->parts < 3 ? NULL : malloc(run->parts * sizeof(*later)), middle;
	uint32_t count = run->parts - 1;

	if (!later)
		return 0;
	memcpy(later, kept + 1, count * sizeof(*later));
	qsort(later, count, sizeof(*later), by_size);
	middle = later[count / 2];
	free(later);
	return kept[0] > middle + middle / 2;
}

static void take_category(struct growing *growing)
{
	uint32_t i, most = 0;

	for (i = 1; i < MT_CATEGORY_COUNT; i++)
		if (growing->category[i] > growing->category[most])
			most = i;
	growing->key.category = mt_category_name(most);
	growing->key.node = growing->node[most];
}

/* Whether there are too few steps to judge: the bytes of the second step may be the beginning of growth. */
static int is_open_question(const struct growing *growing)
{
	return growing->at.parts == STEPS_ENOUGH && growing->at.kept[0] <= growing->at.threshold &&
	       growing->at.kept[1] > growing->at.threshold && growing->at.kept[2] > growing->at.threshold;
}

/* Groups of steps become steps. The first and the last group may have fewer than the others. */
static void take_steps(struct growing *growing, const struct growth_run *run)
{
	struct growth_place *place = &growing->key;
	int64_t grain = growing->grain, first = (growing->first_step / grain + run->first) * grain;
	int64_t end = first + run->parts * grain;
	int64_t before = growing->first_step > first ? growing->first_step - first : 0;
	int64_t after = end > growing->last_step + 1 ? end - growing->last_step - 1 : 0;

	place->first = (uint32_t)(first + before);
	place->parts = (uint32_t)(run->parts * grain - before - after);
	place->of = (uint32_t)(growing->last_step - growing->first_step + 1);
	place->each = run->bytes / (uint64_t)(growth_covers(run) * grain - before - after);
}

/* The threshold of the last group, in proportion to its steps. */
static uint64_t last_threshold(const struct growing *growing)
{
	uint64_t grain = (uint64_t)growing->grain;

	return growing->at.threshold * ((uint64_t)growing->last_step % grain + 1) / grain;
}

static int take_run(struct growing *growing, struct growth_run *run)
{
	uint64_t last = growing->at.kept[growing->at.parts - 1];
	uint32_t missing = growing->at.parts - run->first - run->parts; /* steps from the run to the end */
	struct growth_place *place = &growing->key;
	uint32_t i;

	place->replaced = run->kept - run->bytes;
	if (sets_up(growing->at.kept, run)) {
		run->bytes -= growing->at.kept[0] < run->bytes ? growing->at.kept[0] : 0;
		run->growing--;
		do {
			run->first++;
			run->parts--;
		} while (run->parts > 1 && growing->at.kept[run->first] <= growing->at.threshold);
	}
	if (missing <= growing->at.parts / GROWTH_GAP + 1 && last > last_threshold(growing)) {
		run->bytes += last < run->most + run->most / 2 ? last : run->most;
		run->parts += missing;
		run->growing++;
	}
	for (i = run->first, place->count = 0; i < run->first + run->parts; i++)
		place->count += growing->at.count[i];
	place->bytes = run->bytes;
	take_steps(growing, run);
	take_category(growing);
	return growth_list_add(&growing->growth->table.places, place) ? 0 : -MT_E_MEMORY;
}

static struct growth_lane *find_lane(const struct growth *growth, int64_t process, int64_t device)
{
	size_t low = 0, high = growth->lanes, middle;
	struct growth_lane *lane;

	while (low < high) {
		middle = (low + high) / 2;
		lane = &growth->lane[middle];
		if (lane->process < process || (lane->process == process && lane->device < device))
			low = middle + 1;
		else
			high = middle;
	}
	lane = &growth->lane[low];
	return low < growth->lanes && lane->process == process && lane->device == device ? lane : NULL;
}

/* Judges the place when all of its rows are in. */
static int judge(struct growing *growing)
{
	struct growth_lane *lane = find_lane(growing->growth, growing->key.process, growing->key.device);
	struct growth_run run;

	if (!growing->open || !lane)
		return 0;
	growing->open = 0;
	if (growth_parts_find(&growing->at, &run)) {
		lane->state = GROWTH_GROWING;
		return take_run(growing, &run);
	}
	if (is_open_question(growing) && lane->state == GROWTH_STEADY)
		lane->state = GROWTH_UNKNOWN;
	return 0;
}

static int begin(struct growing *growing, const struct growth_place *key, uint32_t parts, uint64_t threshold)
{
	growing->key = *key;
	growing->open = 1;
	memset(growing->category, 0, sizeof(growing->category));
	memset(growing->node, 0, sizeof(growing->node));
	return growth_parts_begin(&growing->at, parts, threshold);
}

static int same_key(const struct growth_place *one, const struct growth_place *two)
{
	return one->device == two->device && one->process == two->process && one->first_node == two->first_node &&
	       one->phase == two->phase;
}

/*
 * Counts an allocation made in `step` and freed in `gone`. An allocation that lives only to the end of the next step is
 * replaced, and not held. Memory that is freed after the last end of a step, or never, is kept.
 */
static void count_step(struct growing *growing, int64_t step, int64_t gone, uint64_t bytes, uint64_t count)
{
	int64_t grain = growing->grain, first = growing->first_step / grain, last = growing->at.parts;
	int64_t made = step / grain - first, to = gone > growing->last_step ? INT64_MAX : gone / grain - first;

	if (made >= last || to <= 0)
		return;
	if (made >= 0 && to >= last) {
		growing->at.kept[made] += bytes;
		growing->at.count[made] += count;
	}
	if (to == made + 1 || made + 1 == last)
		return;
	growing->at.held[made < 0 ? 0 : made] += bytes;
	if (to < last)
		growing->at.held[to] -= bytes; /* differences may wrap around; their sums are right */
}

static struct growth_place read_key(const struct db_stmt *row)
{
	return (struct growth_place){ .device = db_int(row, 0),
				      .process = db_int(row, 1),
				      .pid = db_int(row, 2),
				      .rank = db_type(row, 13) == DB_NULL ? -1 : db_int(row, 13),
				      .first_node = db_int(row, 3),
				      .phase = mt_phase_name(finding_phase(db_text(row, 4))) };
}

static int take_row(void *context, struct db_stmt *row)
{
	struct growing *growing = context;
	struct growth_place key = read_key(row);
	int64_t first = db_int(row, 10), last = db_int(row, 11), step = finding_int(row, 7, 0, UINT32_MAX);
	int64_t grain = finding_int(row, 15, 1, UINT32_MAX);
	int64_t gone = db_type(row, 8) == DB_NULL ? INT64_MAX : finding_int(row, 8, 0, UINT32_MAX);
	uint32_t category = mt_category_parse(db_text(row, 5));
	int error = 0;

	if (last < first || last > UINT32_MAX || first < 0)
		return 0;
	if (last / grain - first / grain >= STEPS_MAX)
		first = last - (STEPS_MAX - 1) * grain;
	if (!growing->open || !same_key(&growing->key, &key)) {
		error = judge(growing);
		growing->first_step = first;
		growing->last_step = last;
		growing->grain = grain;
		if (!error)
			error = begin(growing, &key, (uint32_t)(last / grain - first / grain + 1),
				      (uint64_t)db_int(row, 12));
	}
	if (error)
		return error;
	count_step(growing, step, gone, (uint64_t)db_int(row, 9), (uint64_t)db_int(row, 14));
	if (gone > last && step > first)
		growing->category[category] += (uint64_t)db_int(row, 9);
	if (!growing->node[category])
		growing->node[category] = db_int(row, 6);
	return 0;
}

/* ---- lanes, devices, rows ---- */

static int take_lane(void *context, struct db_stmt *row)
{
	struct growth *growth = context;
	struct growth_lane *more = growth->lane;

	/* The array has room up to the next power of two. */
	if (!(growth->lanes & (growth->lanes - 1)))
		more = realloc(growth->lane, (growth->lanes ? growth->lanes * 2 : 1) * sizeof(*more));
	if (!more)
		return -MT_E_MEMORY;
	growth->lane = more;
	growth->lane[growth->lanes++] = (struct growth_lane){ .process = db_int(row, 0),
							      .device = db_int(row, 1),
							      .state = db_int(row, 2) >= STEPS_ENOUGH
									       ? GROWTH_STEADY
									       : GROWTH_UNKNOWN };
	return 0;
}

static int take_device(void *context, const struct db_stmt *row)
{
	struct growth *growth = context;
	struct growth_device *more = growth->device, *device;
	const struct growth_place *place;
	int64_t free = db_int(row, 3) - db_int(row, 4);
	size_t i;

	if (!(growth->devices & (growth->devices - 1)))
		more = realloc(growth->device, (growth->devices ? growth->devices * 2 : 1) * sizeof(*more));
	if (!more)
		return -MT_E_MEMORY;
	growth->device = more;
	device = &growth->device[growth->devices];
	*device = (struct growth_device){ .device = db_int(row, 0), .number = db_int(row, 1), .left = -1 };
	mt_copy_text(device->kind, sizeof(device->kind), db_text(row, 2));
	for (i = 0; i < growth->lanes; i++)
		device->processes += growth->lane[i].device == device->device &&
				     growth->lane[i].state == GROWTH_GROWING;
	for (i = 0; i < growth->table.places.count; i++) {
		place = &growth->table.places.place[i];
		if (place->device != device->device)
			continue;
		device->bytes += place->bytes;
		device->each += place->each;
	}
	if (db_int(row, 5) && free > 0 && device->each)
		device->left = free / (int64_t)device->each + 1;
	growth->devices += device->each != 0;
	return 0;
}

static int by_each(const void *a, const void *b)
{
	const struct growth_device *one = a, *two = b;

	if (one->each != two->each)
		return one->each < two->each ? 1 : -1;
	return (one->number > two->number) - (one->number < two->number);
}

static void add_up(struct growth *growth)
{
	const struct growth_place *place;
	struct growth_lane *lane;
	size_t i;

	for (i = 0; i < growth->table.places.count; i++) {
		place = &growth->table.places.place[i];
		lane = find_lane(growth, place->process, place->device);
		lane->bytes += place->bytes;
		lane->each += place->each;
	}
	for (i = 0; i < growth->lanes; i++)
		if (growth->lane[i].state > growth->state)
			growth->state = growth->lane[i].state;
}

static const char lanes_sql[] =
	"SELECT DISTINCT site.process, site.device, process.steps FROM site JOIN process ON process.id = site.process "
	"JOIN device ON device.id = site.device WHERE number IS NOT NULL ORDER BY 1, 2";

static const char places_sql[] =
	"SELECT site.device, site.process, pid, ifnull(first_node, 0) AS first_node, site.phase, category, min(site.node), it.step, "
	"until_step, sum(bytes), first_step, last_step, max(4096, ifnull((SELECT bytes / 100000 FROM peak "
	"WHERE peak.device = site.device), 0)) * 100 / max(100, (last_step - first_step) / grain), rank, sum(count), grain FROM outlived_step AS it JOIN site ON site.id = it.site "
	"JOIN process ON process.id = site.process JOIN steps_ended ON steps_ended.process = site.process "
	"LEFT JOIN temp.same_place AS same ON same.node = site.node "
	"WHERE last_step > first_step AND (site.memory = 'tensor' OR NOT site.tensors_inside) "
	"GROUP BY 1, 2, 4, 5, 8, 9, 6 ORDER BY 1, 2, 4, 5, 8, 9, 6";

/* A program goes on if its recording stopped after a given number of steps. */
static const char devices_sql[] =
	"WITH user AS (SELECT DISTINCT device, process FROM site), "
	"cut AS (SELECT device, min(ifnull(ended, '') = ?1) AS is_cut FROM user JOIN process ON process.id = user.process "
	"GROUP BY device) "
	"SELECT device.id, number, kind, ifnull(total_bytes, 0), bytes, is_cut FROM device "
	"JOIN peak ON peak.device = device.id LEFT JOIN cut ON cut.device = device.id WHERE number IS NOT NULL ORDER BY number";

static int load_devices(struct growth *growth, struct db *db)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, devices_sql), more;

	if (!error)
		db_bind_text(stmt, 1, mt_end_name(MT_END_STEPS));
	while (!error && (more = db_step(stmt)) != 0)
		error = more < 0 ? more : take_device(growth, stmt);
	db_finish(stmt);
	if (growth->devices)
		qsort(growth->device, growth->devices, sizeof(*growth->device), by_each);
	return error;
}

int growth_load(struct growth *growth, struct db *db)
{
	struct growing growing = { .growth = growth };
	int error;

	memset(growth, 0, sizeof(*growth));
	error = finding_same_places(db);
	if (!error)
		error = db_rows(db, lanes_sql, NULL, take_lane, growth);
	if (!error)
		error = db_rows(db, places_sql, NULL, take_row, &growing);
	if (!error)
		error = judge(&growing);
	growth_parts_release(&growing.at);
	if (!error)
		error = growth_table_fill(&growth->table, db);
	if (error)
		return error;
	add_up(growth);
	return load_devices(growth, db);
}

void growth_release(struct growth *growth)
{
	growth_table_release(&growth->table);
	free(growth->lane);
	free(growth->device);
	memset(growth, 0, sizeof(*growth));
}

const struct growth_lane *growth_lane(const struct growth *growth, int64_t process, int64_t device)
{
	return find_lane(growth, process, device);
}

const char *growth_state_word(enum growth_state state)
{
	return state == GROWTH_GROWING ? "growing" : state == GROWTH_STEADY ? "steady" : "unknown";
}
