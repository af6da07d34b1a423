#include "advise_replay.h"

#include <stdlib.h>
#include <string.h>
#include "label/census.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "timeline/tape.h"

#define SITES_MAX (1u << 24)
#define ANOTHER 4       /* factor: the request is larger than earlier pieces of the place */
#define LATER_MOST 1e15 /* most bytes of a change: far above any device, and sums stay whole numbers */

struct replay_span {
	int64_t first;
	uint8_t phase;
};

/* ---- sites, processes, spans --------------------------------------------------------------------------------------- */

static uint8_t phase_of(const char *word)
{
	int phase = mt_phase_parse(word, strlen(word));

	return phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
}

/* NULL: out of memory. */
static struct replay_site *add_site(struct replay *replay)
{
	uint32_t room = replay->room ? replay->room * 2 : 256;
	struct replay_site *grown;

	if (replay->sites == replay->room) {
		grown = realloc(replay->site, room * sizeof(*grown));
		if (!grown)
			return NULL;
		replay->site = grown;
		replay->room = room;
	}
	grown = &replay->site[replay->sites++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

static int take_site(void *context, struct db_stmt *row)
{
	struct replay *replay = context;
	int64_t id = db_int(row, 0);
	struct replay_site *site;

	if (id < 1 || id >= replay->ids)
		return -MT_E_CORRUPT;
	replay->index[id] = replay->sites;
	site = add_site(replay);
	if (!site)
		return -MT_E_MEMORY;
	site->id = id;
	site->process = db_int(row, 1);
	site->node = db_int(row, 2);
	site->driver = !strcmp(db_text(row, 3), "driver");
	site->phase = phase_of(db_text(row, 4));
	site->category = (uint8_t)mt_category_parse(db_text(row, 5));
	mt_copy_text(site->owner, sizeof(site->owner), db_text(row, 6));
	site->ignored = db_int(row, 7) != 0;
	site->known = strcmp(db_text(row, 8), "probable") != 0;
	site->words = census_count(db_int(row, 9));
	site->element = census_element(db_int(row, 10));
	return 0;
}

static int take_ids(void *context, struct db_stmt *row)
{
	int64_t most = db_int(row, 0);

	if (most < 0 || most >= SITES_MAX)
		return -MT_E_CORRUPT;
	*(uint32_t *)context = (uint32_t)most + 1;
	return 0;
}

static int take_process(void *context, struct db_stmt *row)
{
	struct replay *replay = context;
	void *grown = realloc(replay->process, (replay->processes + 1) * sizeof(*replay->process));

	if (!grown)
		return -MT_E_MEMORY;
	replay->process = grown;
	replay->process[replay->processes++] = (struct replay_process){
		.id = db_int(row, 0), .pid = db_int(row, 1), .rank = db_type(row, 2) == DB_NULL ? -1 : db_int(row, 2)
	};
	return 0;
}

static struct replay_process *find_process(const struct replay *replay, int64_t id)
{
	size_t i;

	for (i = 0; i < replay->processes; i++)
		if (replay->process[i].id == id)
			return &replay->process[i];
	return NULL;
}

static int take_span(void *context, struct db_stmt *row)
{
	struct replay_process *process = find_process(context, db_int(row, 0));
	size_t room;
	void *grown;

	if (!process)
		return 0;
	if (process->spans == process->room) {
		room = process->room ? process->room * 2 : 64;
		grown = realloc(process->span, room * sizeof(*process->span));
		if (!grown)
			return -MT_E_MEMORY;
		process->span = grown;
		process->room = room;
	}
	process->span[process->spans++] = (struct replay_span){ .first = db_int(row, 2),
								.phase = phase_of(db_text(row, 1)) };
	return 0;
}

static int load_rows(struct replay *replay)
{
	const int64_t device[ANSWER_PARAMETERS] = { replay->device };
	int error = answer_rows(replay->db, "SELECT max(id) FROM site", NULL, take_ids, &replay->ids);

	if (error)
		return error;
	replay->index = malloc(replay->ids * sizeof(*replay->index));
	if (!replay->index)
		return -MT_E_MEMORY;
	memset(replay->index, 255, replay->ids * sizeof(*replay->index));
	error = answer_rows(replay->db,
			    "SELECT id, process, ifnull(node, 0), memory, phase, category, owner, tensors_inside, known, "
			    "words, element "
			    "FROM site WHERE device = ?1 ORDER BY id",
			    device, take_site, replay);
	if (!error)
		error = answer_rows(replay->db,
				    "SELECT id, pid, rank FROM process WHERE id IN (SELECT process FROM site WHERE device = ?1) "
				    "ORDER BY id",
				    device, take_process, replay);
	if (!error)
		error = answer_rows(replay->db, "SELECT process, phase, first_time FROM phase_span ORDER BY id", NULL,
				    take_span, replay);
	return error;
}

/* ---- a sweep over the moves ---------------------------------------------------------------------------------------- */

struct sweep;

/* Callbacks: each move of a counting site, then the end of each change, made in `phase`. */
struct sweep_eye {
	void (*move)(struct sweep *sweep, uint32_t site, const struct tape_event *event);
	void (*settled)(struct sweep *sweep, uint8_t phase);
};

struct sweep {
	const struct replay *replay;
	const struct sweep_eye *eye;
	void *context;            /* context of the eye */
	struct tape_event *event; /* events of a block */
	size_t *span;             /* current span of each process */
	uint32_t mover;           /* site of the newest move of the change */
	int moved;                /* 1: the change has counting moves */
	enum {
		ASKED_NOT,
		ASKED_ALONE,
		ASKED_LATER,
		ASKED_DONE
	} asked;         /* progress of the request, alone and with later changes */
	uint64_t change; /* number of changes up to now */
	int64_t time;
	uint64_t changes_now; /* number of changes at `time` */
};

static uint8_t phase_now(struct sweep *sweep, int64_t process, int64_t time)
{
	const struct replay_process *it = find_process(sweep->replay, process);
	size_t *at;

	if (!it || !it->spans)
		return MT_PHASE_OTHER;
	at = &sweep->span[it - sweep->replay->process];
	while (*at + 1 < it->spans && it->span[*at + 1].first <= time)
		(*at)++;
	return it->span[*at].phase;
}

/* Adds the later changes of the step (sign 1), or takes them back (sign -1). */
static void move_later(struct sweep *sweep, double sign)
{
	const struct replay *replay = sweep->replay;
	struct tape_event change = { .time = replay->request.time };
	uint32_t i;

	for (i = 0; i < replay->later.changes; i++) {
		change.bytes = (int64_t)(sign * replay->later.change[i].bytes);
		sweep->eye->move(sweep, replay->later.change[i].site, &change);
	}
}

/* Adds the request, then its later changes, settles after both, and takes all back. */
static void ask(struct sweep *sweep)
{
	const struct replay *replay = sweep->replay;
	struct tape_event request = { .time = replay->request.time,
				      .bytes = (int64_t)replay->request.bytes,
				      .count = 1 };

	sweep->asked = ASKED_ALONE;
	sweep->eye->move(sweep, replay->request.site, &request);
	sweep->eye->settled(sweep, replay->request.phase);
	if (replay->later.changes) {
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
		(time == replay->request.time && sweep->time == time && sweep->changes_now >= replay->request.changes));
}

static void take_event(struct sweep *sweep, const struct tape_event *event)
{
	const struct replay *replay = sweep->replay;
	uint32_t site = TAPE_SITE(event->cell);

	if (!sweep->moved && is_asked_before(sweep, event->time))
		ask(sweep);
	sweep->changes_now = event->time == sweep->time ? sweep->changes_now : 0;
	sweep->time = event->time;
	site = site < replay->ids ? replay->index[site] : UINT32_MAX;
	if (site != UINT32_MAX && !TAPE_IS_SLACK(event->cell) && !replay->site[site].ignored) {
		sweep->eye->move(sweep, site, event);
		sweep->mover = site;
		sweep->moved = 1;
	}
	if (event->more)
		return;
	sweep->changes_now++;
	sweep->change++;
	if (sweep->moved)
		sweep->eye->settled(sweep, phase_now(sweep, replay->site[sweep->mover].process, event->time));
	sweep->moved = 0;
}

static int take_block(void *context, struct db_stmt *row)
{
	struct sweep *sweep = context;
	size_t size;
	const unsigned char *bytes = db_blob(row, 1, &size);
	int64_t count = db_int(row, 0), i;
	int error = count < 0 || count > TAPE_BLOCK ? -MT_E_CORRUPT
						    : tape_unpack(sweep->event, (uint32_t)count, bytes, size);

	for (i = 0; i < count && !error; i++)
		take_event(sweep, &sweep->event[i]);
	return error;
}

static int run(const struct replay *replay, const struct sweep_eye *eye, void *context)
{
	struct sweep sweep = { .replay = replay,
			       .eye = eye,
			       .context = context,
			       .event = malloc(TAPE_BLOCK * sizeof(*sweep.event)),
			       .span = calloc(replay->processes + 1, sizeof(*sweep.span)),
			       .time = INT64_MIN };
	int error = -MT_E_MEMORY;

	if (sweep.event && sweep.span)
		error = answer_rows(replay->db, "SELECT events, moves FROM timeline ORDER BY block", NULL, take_block,
				    &sweep);
	if (!error && replay->request.bytes && !sweep.asked)
		ask(&sweep);
	free(sweep.event);
	free(sweep.span);
	return error;
}

/* ---- as it was ------------------------------------------------------------------------------------------------------ */

/* The first sweep finds the peaks, the second one the sites' bytes at the peaks. */
struct survey {
	struct replay *replay;
	uint64_t all;
	uint64_t *held; /* by site */
	uint32_t *count;
};

static void survey_move(struct sweep *sweep, uint32_t number, const struct tape_event *event)
{
	struct survey *survey = sweep->context;
	struct replay_site *site = &survey->replay->site[number];
	uint64_t each = event->count > 0 && event->bytes > 0 ? (uint64_t)event->bytes / (uint64_t)event->count : 0;

	survey->all += (uint64_t)event->bytes;
	survey->held[number] += (uint64_t)event->bytes;
	survey->count[number] += (uint32_t)event->count;
	if (!each)
		return;
	site->births += (uint64_t)event->count;
	site->largest = each > site->largest ? each : site->largest;
	site->smallest = !site->smallest || each < site->smallest ? each : site->smallest;
}

static void survey_settled(struct sweep *sweep, uint8_t phase)
{
	struct survey *survey = sweep->context;
	struct replay_peak *peak = &survey->replay->peak[phase];

	if (sweep->asked == ASKED_ALONE)
		survey->replay->request.alone = survey->replay->request.all = survey->all;
	if (sweep->asked == ASKED_LATER) {
		if (survey->all > survey->replay->request.all)
			survey->replay->request.all = survey->all;
		return;
	}
	if (survey->all > peak->bytes)
		*peak = (struct replay_peak){
			survey->all, sweep->time, sweep->asked == ASKED_ALONE ? UINT64_MAX : sweep->change,
			sweep->replay->site[sweep->asked == ASKED_ALONE ? sweep->replay->request.site : sweep->mover]
				.process
		};
}

static void count_move(struct sweep *sweep, uint32_t number, const struct tape_event *event)
{
	struct survey *survey = sweep->context;

	survey->held[number] += (uint64_t)event->bytes;
	survey->count[number] += (uint32_t)event->count;
}

static void count_settled(struct sweep *sweep, uint8_t phase)
{
	struct survey *survey = sweep->context;
	struct replay *replay = survey->replay;
	uint64_t change = sweep->asked == ASKED_ALONE ? UINT64_MAX : sweep->change;
	int then = sweep->asked == ASKED_ALONE || (!replay->request.bytes && change == replay->highest);
	uint32_t i;

	if (sweep->asked == ASKED_LATER)
		return;

	for (i = 0; i < replay->sites && then; i++) {
		replay->site[i].then = survey->held[i];
		replay->site[i].then_count = survey->count[i];
	}
	if (!replay->peak[phase].bytes || replay->peak[phase].change != change)
		return;
	for (i = 0; i < replay->sites; i++) {
		replay->site[i].held[phase] = survey->held[i];
		replay->site[i].count[phase] = survey->count[i];
	}
}

/* The change with the highest peak. */
static uint64_t highest(const struct replay *replay)
{
	const struct replay_peak *most = &replay->peak[0];
	uint32_t phase;

	for (phase = 1; phase < MT_PHASE_COUNT; phase++)
		most = replay->peak[phase].bytes > most->bytes ? &replay->peak[phase] : most;
	return most->change;
}

/* Another site of the stack with bytes; UINT32_MAX: none. */
static uint32_t beside(const struct replay *replay, uint32_t number)
{
	const struct replay_site *site = &replay->site[number], *other;
	uint32_t i;

	for (i = 0; i < replay->sites && site->node; i++) {
		other = &replay->site[i];
		if (i != number && other->then && other->node == site->node && other->process == site->process &&
		    other->phase == site->phase && other->driver == site->driver)
			return i;
	}
	return UINT32_MAX;
}

/*
 * A stack has two sites if some of its bytes go at once and some stay. Bytes at a failed request can be of either site. A later
 * change that removes more than its site has moves to the other site.
 */
static void settle_later(struct replay *replay)
{
	struct replay_later *change;
	uint32_t i, other;

	for (i = 0; i < replay->later.changes; i++) {
		change = &replay->later.change[i];
		if (change->bytes >= 0 || (double)replay->site[change->site].then + change->bytes >= -1)
			continue;
		other = beside(replay, change->site);
		change->site = other == UINT32_MAX ? change->site : other;
	}
}

int replay_survey(struct replay *replay)
{
	static const struct sweep_eye first = { survey_move, survey_settled }, second = { count_move, count_settled };
	struct survey survey = { .replay = replay,
				 .held = calloc(replay->sites + 1, sizeof(*survey.held)),
				 .count = calloc(replay->sites + 1, sizeof(*survey.count)) };
	int error = survey.held && survey.count ? run(replay, &first, &survey) : -MT_E_MEMORY;

	if (!error) {
		replay->highest = highest(replay);
		memset(survey.held, 0, replay->sites * sizeof(*survey.held));
		memset(survey.count, 0, replay->sites * sizeof(*survey.count));
		error = run(replay, &second, &survey);
		settle_later(replay);
	}
	free(survey.held);
	free(survey.count);
	return error;
}

/* ---- the request ---------------------------------------------------------------------------------------------------- */

static int take_changes(void *context, struct db_stmt *row)
{
	*(uint64_t *)context = (uint64_t)db_int(row, 0);
	return 0;
}

/*
 * Whether activations of the request are many times larger than earlier ones of the place. Such a request is no piece of a layer:
 * effects on those pieces do not reach it.
 */
static int is_another(struct replay *replay, const struct replay_site *site, uint64_t requested)
{
	const int64_t id[ANSWER_PARAMETERS] = { site->id };
	uint64_t most = 0;

	return site->category == MT_CATEGORY_ACTIVATIONS && site->id &&
	       !answer_rows(replay->db, "SELECT ifnull(max(bytes), 0) FROM allocation WHERE site = ?1", id,
			    take_changes, &most) &&
	       most && requested / ANOTHER > most;
}

/* Finds the request's site: one of its stack and phase, or a new one. */
static int place_request(struct replay *replay, const struct oom_failure *failed, uint8_t category)
{
	struct replay_site *site;
	uint32_t i;

	for (i = 0; i < replay->sites && failed->node; i++) {
		site = &replay->site[i];
		if (site->process == failed->process && site->node == failed->node && !site->ignored &&
		    (site->category == category || category != MT_CATEGORY_LOGITS) &&
		    site->phase == replay->request.phase && site->driver == !strcmp(failed->source, "driver")) {
			replay->request.site = i;
			if (!is_another(replay, site, failed->requested))
				return 0;
			category = site->category;
		}
	}
	replay->request.site = replay->sites;
	site = add_site(replay);
	if (!site)
		return -MT_E_MEMORY;
	site->process = failed->process;
	site->node = failed->node;
	site->phase = replay->request.phase;
	site->category = category;
	site->driver = !strcmp(failed->source, "driver");
	return 0;
}

static int take_request(struct replay *replay, const struct oom_failure *failed, uint8_t category)
{
	const int64_t id[ANSWER_PARAMETERS] = { failed->id };

	replay->request.bytes = failed->requested;
	replay->request.time = failed->time;
	replay->request.phase = phase_of(failed->phase);
	replay->request.changes = UINT64_MAX;
	if (place_request(replay, failed, category))
		return -MT_E_MEMORY;
	return answer_rows(replay->db, "SELECT changes FROM timeline_mark WHERE oom = ?1", id, take_changes,
			   &replay->request.changes);
}

int replay_init(struct replay *replay, struct db *db, int64_t device, const struct oom_failure *failed,
		uint8_t category)
{
	int error;

	*replay = (struct replay){ .db = db, .device = device };
	error = load_rows(replay);
	if (!error && failed)
		error = take_request(replay, failed, category);
	return error;
}

int replay_add_later(struct replay *replay, uint32_t site, double bytes)
{
	uint32_t room = replay->later.changes_room ? replay->later.changes_room * 2 : 16;
	struct replay_later *grown;

	if (replay->later.changes == replay->later.changes_room) {
		grown = realloc(replay->later.change, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		replay->later.change = grown;
		replay->later.changes_room = room;
	}
	bytes = bytes > LATER_MOST ? LATER_MOST : bytes < -LATER_MOST ? -LATER_MOST : bytes;
	replay->later.change[replay->later.changes++] = (struct replay_later){ site, bytes };
	return 0;
}

void replay_release(struct replay *replay)
{
	size_t i;

	for (i = 0; i < replay->processes; i++)
		free(replay->process[i].span);
	free(replay->process);
	free(replay->site);
	free(replay->index);
	free(replay->later.change);
	*replay = (struct replay){ 0 };
}

/* ---- with other sizes ----------------------------------------------------------------------------------------------- */

struct scenarios {
	const struct replay *replay;
	const struct replay_effect *const *effect;
	const struct replay_extra *const *extra;
	struct replay_result *result;
	uint32_t count;
	double all;                                        /* bytes in use without effects */
	double less[REPLAY_SCENARIOS_MAX][MT_PHASE_COUNT]; /* reduction by each scenario; below 0: more bytes */
};

static void scenario_move(struct sweep *sweep, uint32_t site, const struct tape_event *event)
{
	struct scenarios *all = sweep->context;
	double bytes = (double)event->bytes, allocations = event->count < 0 ? -event->count : event->count, kept;
	const struct replay_effect *effect;
	uint32_t i, phase;

	all->all += bytes;
	for (i = 0; i < all->count; i++) {
		effect = &all->effect[i][site];
		if (!effect->used)
			continue;
		kept = bytes;
		if (effect->cap != UINT64_MAX && allocations > 0) {
			kept = (double)effect->cap * allocations;
			kept = bytes < 0 ? (-kept > bytes ? -kept : bytes) : (kept < bytes ? kept : bytes);
		}
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			all->less[i][phase] += bytes - kept * (double)effect->keep[phase];
	}
}

static void scenario_settled(struct sweep *sweep, uint8_t phase)
{
	struct scenarios *all = sweep->context;
	double now;
	uint64_t bytes;
	uint32_t i;

	for (i = 0; i < all->count; i++) {
		now = all->all - all->less[i][phase] + all->extra[i]->bytes[phase];
		bytes = now <= 0 ? 0 : now < (double)INT64_MAX ? (uint64_t)(now + 0.5) : (uint64_t)INT64_MAX;
		if (sweep->asked && sweep->asked != ASKED_DONE && bytes > all->result[i].asked)
			all->result[i].asked = bytes;
		if (sweep->asked != ASKED_LATER && bytes > all->result[i].peak[phase])
			all->result[i].peak[phase] = bytes;
	}
}

int replay_sweep(const struct replay *replay, const struct replay_effect *const *effect,
		 const struct replay_extra *const *extra, uint32_t count, struct replay_result *result)
{
	static const struct sweep_eye eye = { scenario_move, scenario_settled };
	struct scenarios *all;
	uint32_t i;
	uint8_t phase;
	int error;

	if (count > REPLAY_SCENARIOS_MAX)
		return -MT_E_LIMIT;
	all = calloc(1, sizeof(*all));
	if (!all)
		return -MT_E_MEMORY;
	*all = (struct scenarios){
		.replay = replay, .effect = effect, .extra = extra, .result = result, .count = count
	};
	memset(result, 0, count * sizeof(*result));
	error = run(replay, &eye, all);
	for (i = 0; i < count; i++)
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			if (result[i].peak[phase] > result[i].most) {
				result[i].most = result[i].peak[phase];
				result[i].phase = phase;
			}
	free(all);
	return error;
}
