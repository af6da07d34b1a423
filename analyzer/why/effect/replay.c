#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "timeline/tape.h"

#define LATER_MOST 1e15 /* bytes: clamp a change to more than any device has, and to whole numbers */

/* ---- sites ---------------------------------------------------------------------------------------------------------------- */

static void take_site(struct replay_site *site, const struct scene *scene, const struct scene_site *from)
{
	*site = (struct replay_site){ .id = from->id,
				      .process = scene->process[from->process].id,
				      .node = from->node,
				      .phase = (uint8_t)from->phase,
				      .category = (uint8_t)from->category,
				      .known = from->known != SCENE_PROBABLE,
				      .driver = from->driver,
				      .ignored = !from->in_use,
				      .tags = from->tags,
				      .words = from->words,
				      .element = from->element };
}

static int take_sites(struct replay *replay)
{
	const struct scene *scene = replay->scene;
	size_t i;

	replay->ids = scene->sites ? (uint32_t)scene->site[scene->sites - 1].id + 1 : 1;
	replay->site = calloc(scene->sites + 1, sizeof(*replay->site));
	replay->index = malloc(replay->ids * sizeof(*replay->index));
	if (!replay->site || !replay->index)
		return -MT_E_MEMORY;
	memset(replay->index, 255, replay->ids * sizeof(*replay->index));
	for (i = 0; i < scene->sites; i++) {
		if (scene->site[i].device != replay->device)
			continue;
		replay->index[scene->site[i].id] = replay->sites;
		take_site(&replay->site[replay->sites++], scene, &scene->site[i]);
	}
	return 0;
}

uint32_t replay_index(const struct replay *replay, int64_t id)
{
	return id > 0 && id < replay->ids ? replay->index[id] : SCENE_NONE;
}

/* Adds the bytes of `births` allocations: of the largest and of the smallest. */
static void note_births(struct replay_site *site, uint64_t births, uint64_t most, uint64_t least)
{
	site->births += births;
	site->largest = most > site->largest ? most : site->largest;
	site->smallest = least && (!site->smallest || least < site->smallest) ? least : site->smallest;
}

static int take_births(void *context, struct db_stmt *row)
{
	struct replay *replay = context;
	uint32_t site = replay_index(replay, db_int(row, 0));

	if (site != SCENE_NONE)
		note_births(&replay->site[site], (uint64_t)db_int(row, 1), (uint64_t)db_int(row, 2),
			    (uint64_t)db_int(row, 3));
	return 0;
}

static int load_births(struct replay *replay)
{
	static const char
		lives[] = "SELECT site, count(*), max(bytes), min(nullif(bytes, 0)) FROM allocation_raw "
			  "WHERE device = ?1 AND site IS NOT NULL GROUP BY site",
		kept[] = "SELECT site, sum(births), max(most), min(nullif(least, 0)) FROM temp.kept_sum GROUP BY site";
	const int64_t device[DB_PARAMETERS] = { replay->device };

	return replay->scene->kept ? db_rows(replay->scene->db, kept, NULL, take_births, replay)
				   : db_rows(replay->scene->db, lives, device, take_births, replay);
}

/* Returns in *first the index of the first site with this key. Returns 0 or -MT_E_MEMORY. */
static int first_of(struct tuple_table *table, struct tuple key, uint32_t own, uint32_t *first)
{
	*first = tuple_find(table, &key);
	if (*first != TUPLE_NONE)
		return 0;
	*first = own;
	return tuple_add(table, &key, own);
}

/* Sets `alike`: sites are alike if their stacks have the same frames, and if phase and category are equal. */
static int find_alike(struct replay *replay)
{
	const struct scene *scene = replay->scene;
	struct tuple_table nodes = { 0 }, sites = { 0 };
	uint32_t *plain = malloc((scene->nodes + 1) * sizeof(*plain)), i, up;
	struct replay_site *site;
	int error = plain ? 0 : -MT_E_MEMORY;

	for (i = 0; i < scene->nodes && !error; i++) {
		up = scene->node[i].parent;
		error = first_of(&nodes, (struct tuple){ { up == SCENE_NONE ? up : plain[up], scene->node[i].frame } },
				 i, &plain[i]);
	}
	for (i = 0; i < replay->sites && !error; i++) {
		site = &replay->site[i];
		site->alike = i;
		if (site->node != SCENE_NONE)
			error = first_of(&sites,
					 (struct tuple){ { (uint64_t)site->process, plain[site->node], site->phase,
							   site->category | (uint64_t)site->driver << 8 } },
					 i, &site->alike);
	}
	tuple_release(&nodes);
	tuple_release(&sites);
	free(plain);
	return error;
}

/* ---- a sweep over the moves ---------------------------------------------------------------------------------------- */

struct sweep;

/* Callbacks: `move` for each move of a site in use, `settled` after each change; `phase` is the change's phase. */
struct sweep_eye {
	void (*move)(struct sweep *sweep, uint32_t site, const struct tape_event *event);
	void (*settled)(struct sweep *sweep, uint8_t phase);
};

struct sweep {
	const struct replay *replay;
	const struct sweep_eye *eye;
	void *context;                                                  /* context of the eye */
	uint32_t *span;                                                 /* current span of each process */
	uint32_t mover;                                                 /* site of the newest move of the change */
	int moved;                                                      /* 1: the change has counting moves */
	enum { ASKED_NOT, ASKED_ALONE, ASKED_LATER, ASKED_DONE } asked; /* progress of the failed request */
	uint64_t change;                                                /* number of changes so far */
	int64_t time;
	uint64_t changes_now; /* number of changes at `time` */
};

static uint8_t phase_now(struct sweep *sweep, int64_t id, int64_t time)
{
	const struct scene *scene = sweep->replay->scene;
	uint32_t process = scene_process_of(scene, id), *at;
	const struct scene_span *span;

	if (process == SCENE_NONE || !scene->process[process].spans)
		return MT_PHASE_OTHER;
	at = &sweep->span[process];
	span = &scene->span[scene->process[process].first_span];
	while (*at + 1 < scene->process[process].spans && span[*at + 1].first_time <= time)
		(*at)++;
	return (uint8_t)span[*at].phase;
}

/* Adds the later changes of the step; sign -1: takes them back. */
static void move_later(struct sweep *sweep, double sign)
{
	const struct replay *replay = sweep->replay;
	struct tape_event change = { .time = replay->request.time };
	uint32_t i;

	for (i = 0; i < replay->sites; i++) {
		change.bytes = (int64_t)(sign * replay_later_of(replay, i));
		if (change.bytes)
			sweep->eye->move(sweep, i, &change);
	}
}

/* Adds the request, then its later changes, reports each sum, and takes all back. */
static void ask(struct sweep *sweep)
{
	const struct replay *replay = sweep->replay;
	struct tape_event request = { .time = replay->request.time,
				      .bytes = (int64_t)replay->request.bytes,
				      .count = 1 };

	sweep->asked = ASKED_ALONE;
	sweep->eye->move(sweep, replay->request.site, &request);
	sweep->eye->settled(sweep, replay->request.phase);
	if (replay->later.bytes) {
		sweep->asked = ASKED_LATER;
		move_later(sweep, 1);
		sweep->eye->settled(sweep, replay->later.phase);
		move_later(sweep, -1);
	}
	request.bytes = -request.bytes;
	request.count = -1;
	sweep->asked = ASKED_DONE;
	sweep->eye->move(sweep, replay->request.site, &request);
}

static int is_asked_before(const struct sweep *sweep, int64_t time)
{
	const struct replay *replay = sweep->replay;

	return replay->request.bytes && !sweep->asked &&
	       (time > replay->request.time ||
		(time == replay->request.time &&
		 (!replay->request.changes || (sweep->time == time && sweep->changes_now >= replay->request.changes))));
}

static int take_event(void *context, const struct tape_event *event)
{
	struct sweep *sweep = context;
	const struct replay *replay = sweep->replay;
	uint32_t site = replay_index(replay, TAPE_SITE(event->cell));

	if (!sweep->moved && is_asked_before(sweep, event->time))
		ask(sweep);
	sweep->changes_now = event->time == sweep->time ? sweep->changes_now : 0;
	sweep->time = event->time;
	if (site != SCENE_NONE && !TAPE_IS_SLACK(event->cell) && !replay->site[site].ignored) {
		sweep->eye->move(sweep, site, event);
		sweep->mover = site;
		sweep->moved = 1;
	}
	if (event->more)
		return 0;
	sweep->changes_now++;
	sweep->change++;
	if (sweep->moved)
		sweep->eye->settled(sweep, phase_now(sweep, replay->site[sweep->mover].process, event->time));
	sweep->moved = 0;
	return 0;
}

static int run(const struct replay *replay, const struct sweep_eye *eye, void *context)
{
	struct sweep sweep = { .replay = replay,
			       .eye = eye,
			       .context = context,
			       .span = calloc(replay->scene->processes + 1, sizeof(*sweep.span)),
			       .time = INT64_MIN };
	int error = sweep.span ? tape_rows(replay->scene->db, take_event, &sweep) : -MT_E_MEMORY;

	if (!error && replay->request.bytes && !sweep.asked)
		ask(&sweep);
	free(sweep.span);
	return error;
}

/* ---- as it was ------------------------------------------------------------------------------------------------------ */

/* The first sweep finds the peaks. The second sweep finds the bytes of the sites at these peaks. */
struct survey {
	struct replay *replay;
	int is_second;
	uint64_t all;
	uint64_t *held; /* by site */
	uint32_t *count;
};

static void survey_move(struct sweep *sweep, uint32_t number, const struct tape_event *event)
{
	struct survey *survey = sweep->context;

	survey->all += (uint64_t)event->bytes;
	survey->held[number] += (uint64_t)event->bytes;
	survey->count[number] += (uint32_t)event->count;
}

static void take_peak(struct sweep *sweep, uint8_t phase)
{
	struct survey *survey = sweep->context;
	struct replay *replay = survey->replay;
	int alone = sweep->asked == ASKED_ALONE;

	if (alone)
		replay->request.alone = replay->request.all = survey->all;
	if (sweep->asked == ASKED_LATER && survey->all > replay->request.all)
		replay->request.all = survey->all;
	if (sweep->asked != ASKED_LATER && survey->all > replay->peak[phase].bytes)
		replay->peak[phase] = (struct replay_peak){ survey->all, alone ? UINT64_MAX : sweep->change };
}

static void survey_settled(struct sweep *sweep, uint8_t phase)
{
	struct survey *survey = sweep->context;
	struct replay *replay = survey->replay;
	uint64_t change = sweep->asked == ASKED_ALONE ? UINT64_MAX : sweep->change;
	int then = sweep->asked == ASKED_ALONE ||
		   (!replay->request.bytes && change == replay->peak[replay->highest].change);
	int peak = replay->peak[phase].bytes && replay->peak[phase].change == change;
	struct replay_site *site;
	uint32_t i;

	if (!survey->is_second)
		take_peak(sweep, phase);
	if (!survey->is_second || sweep->asked == ASKED_LATER || (!then && !peak))
		return;
	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		if (then)
			site->then = survey->held[i], site->then_count = survey->count[i];
		if (peak)
			site->held[phase] = survey->held[i], site->count[phase] = survey->count[i];
	}
}

/* Sets `many` of each site. `sum`: zeroed, one number for each site. */
static void count_alike(struct replay *replay, uint32_t *sum)
{
	struct replay_site *site, *end = replay->site + replay->sites;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		memset(sum, 0, replay->sites * sizeof(*sum));
		for (site = replay->site; site < end; site++)
			sum[site->alike] += site->count[phase];
		for (site = replay->site; site < end; site++)
			site->many = sum[site->alike] > site->many ? sum[site->alike] : site->many;
	}
}

int replay_survey(struct replay *replay)
{
	static const struct sweep_eye eye = { survey_move, survey_settled };
	struct survey survey = { .replay = replay,
				 .held = calloc(replay->sites + 1, sizeof(*survey.held)),
				 .count = calloc(replay->sites + 1, sizeof(*survey.count)) };
	int error = survey.held && survey.count ? run(replay, &eye, &survey) : -MT_E_MEMORY;
	uint8_t phase;

	for (phase = 1; phase < MT_PHASE_COUNT; phase++)
		replay->highest = replay->peak[phase].bytes > replay->peak[replay->highest].bytes ? phase
												  : replay->highest;
	survey.is_second = 1;
	if (!error) {
		memset(survey.held, 0, replay->sites * sizeof(*survey.held));
		memset(survey.count, 0, replay->sites * sizeof(*survey.count));
		error = run(replay, &eye, &survey);
	}
	if (!error)
		count_alike(replay, survey.count);
	free(survey.held);
	free(survey.count);
	return error;
}

/* ---- the request ---------------------------------------------------------------------------------------------------- */

/* Finds the site of the request by stack and phase, or adds a new one. */
static void place_request(struct replay *replay, const struct oom_failure *failed, uint8_t category)
{
	uint32_t node = scene_node_of(replay->scene, failed->node), i;
	uint8_t driver = !strcmp(failed->source, "driver");
	const struct replay_site *site;

	for (i = 0; i < replay->sites && node != SCENE_NONE; i++) {
		site = &replay->site[i];
		replay->request.site = i;
		if (site->process == failed->process && site->node == node && !site->ignored &&
		    (site->category == category || category != MT_CATEGORY_LOGITS) &&
		    site->phase == replay->request.phase && site->driver == driver)
			return;
	}
	replay->request.site = replay->sites;
	replay->site[replay->sites++] = (struct replay_site){ .process = failed->process,
							      .node = node,
							      .tags = node == SCENE_NONE
									      ? 0
									      : replay->scene->node[node].tags,
							      .phase = replay->request.phase,
							      .category = category,
							      .driver = driver };
}

int replay_init(struct replay *replay, const struct scene *scene, int64_t device, const struct oom_failure *failed,
		uint8_t category)
{
	const int64_t id[DB_PARAMETERS] = { failed ? failed->id : 0 };
	int phase = failed ? mt_phase_parse(failed->phase, strlen(failed->phase)) : -1, error;

	*replay = (struct replay){ .scene = scene, .device = device };
	error = take_sites(replay);
	if (!error)
		error = load_births(replay);
	if (!error && failed) {
		replay->request.bytes = failed->requested;
		replay->request.time = failed->time;
		replay->request.phase = phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
		replay->request.changes = UINT64_MAX;
		place_request(replay, failed, category);
		note_births(&replay->site[replay->request.site], failed->requested != 0, failed->requested,
			    failed->requested); /* the request counts as one more allocation of its site */
		error = answer_bytes(scene->db, "SELECT changes FROM timeline_mark WHERE oom = ?1", id,
				     &replay->request.changes);
	}
	return error ? error : find_alike(replay);
}

int replay_add_later(struct replay *replay, uint32_t site, double bytes)
{
	bytes = bytes > LATER_MOST ? LATER_MOST : bytes < -LATER_MOST ? -LATER_MOST : bytes;
	if (!replay->later.bytes)
		replay->later.bytes = calloc(replay->sites, sizeof(*replay->later.bytes));
	if (!replay->later.bytes)
		return -MT_E_MEMORY;
	replay->later.bytes[site] += bytes;
	replay->later.sum += bytes;
	return 0;
}

void replay_cap_later(struct replay *replay, double most)
{
	double share = most / replay->later.sum;
	uint32_t i;

	for (i = 0; i < replay->sites; i++)
		replay->later.bytes[i] *= share;
	replay->later.sum = most;
}

double replay_later_of(const struct replay *replay, uint32_t site)
{
	return replay->later.bytes ? replay->later.bytes[site] : 0;
}

void replay_release(struct replay *replay)
{
	free(replay->site);
	free(replay->index);
	free(replay->later.bytes);
	*replay = (struct replay){ 0 };
}

/* ---- with other sizes ----------------------------------------------------------------------------------------------- */

/* Bytes in units of 2^-40: sums do not depend on the order of moves. */
__extension__ typedef __int128 fixed;
#define FIXED_ONE ((double)(1ull << 40))
#define PART_MOST ((double)(1u << 20)) /* limits a change of bytes to a factor that no setting has */

static fixed part_of(int64_t bytes, float keep)
{
	double part = 1 - (double)keep;

	part = part < -PART_MOST ? -PART_MOST : part > PART_MOST ? PART_MOST : part;
	return (fixed)bytes * (int64_t)(part * FIXED_ONE);
}

struct scenarios {
	const struct replay_scenario *const *scenario;
	struct replay_result *result;
	uint32_t count;
	int64_t all;                                      /* bytes in use without effects */
	fixed less[REPLAY_SCENARIOS_MAX][MT_PHASE_COUNT]; /* bytes that each scenario removes; below 0: adds */
};

static void scenario_move(struct sweep *sweep, uint32_t site, const struct tape_event *event)
{
	struct scenarios *all = sweep->context;
	const struct replay_effect *effect;
	uint32_t i, phase;

	all->all += event->bytes;
	for (i = 0; i < all->count; i++) {
		effect = &all->scenario[i]->effect[site];
		if (!effect->used)
			continue;
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			all->less[i][phase] += part_of(event->bytes, effect->keep[phase]);
	}
}

static void scenario_settled(struct sweep *sweep, uint8_t phase)
{
	struct scenarios *all = sweep->context;
	struct replay_result *result;
	double now;
	uint64_t bytes;
	uint32_t i;

	for (i = 0; i < all->count; i++) {
		result = &all->result[i];
		now = (double)all->all - (double)all->less[i][phase] / FIXED_ONE + all->scenario[i]->extra[phase];
		bytes = now <= 0 ? 0 : now < (double)INT64_MAX ? (uint64_t)(now + 0.5) : (uint64_t)INT64_MAX;
		if (sweep->asked && sweep->asked != ASKED_DONE && bytes > result->asked)
			result->asked = bytes;
		if (sweep->asked != ASKED_LATER && bytes > result->peak[phase])
			result->peak[phase] = bytes;
	}
}

/* Finds the highest peak. The first phase wins among equal peaks. */
static void find_most(struct replay_result *result)
{
	uint8_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (result->peak[phase] > result->most)
			result->most = result->peak[phase], result->phase = phase;
}

int replay_sweep(const struct replay *replay, const struct replay_scenario *const *scenario, uint32_t count,
		 struct replay_result *result)
{
	static const struct sweep_eye eye = { scenario_move, scenario_settled };
	struct scenarios all = { .scenario = scenario, .result = result, .count = count };
	uint32_t i;
	int error;

	if (count > REPLAY_SCENARIOS_MAX)
		return -MT_E_LIMIT;
	memset(result, 0, count * sizeof(*result));
	error = run(replay, &eye, &all);
	for (i = 0; i < count; i++)
		find_most(&result[i]);
	return error;
}
