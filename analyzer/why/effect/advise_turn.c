#include "advise_turn.h"

#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"

#define LAYERS_USUAL 24.0 /* number of layers, if unknown */
#define INNER 3           /* number of inner frames that name an allocation */

static int is_file(const char *word)
{
	size_t size = strlen(word);

	return size > 3 && !strcmp(word + size - 3, ".py");
}

struct frames {
	const char *const *word;
	uint32_t words;
};

/* "evaluate >" matches at any depth of the stack. Other words match the inner frames. */
static const char below[] = " >";

static size_t name_size(const char *word)
{
	size_t size = strlen(word), end = sizeof(below) - 1;

	return size > end && !strcmp(word + size - end, below) ? size - end : size;
}

static int has_part(const char *function, const char *part, size_t size)
{
	for (; *function; function++)
		if (!strncmp(function, part, size))
			return 1;
	return 0;
}

/* Matches a function among the inner frames, or the file of the innermost frame. */
static int takes_frame(void *context, struct db_stmt *row)
{
	const struct frames *frames = context;
	const char *file = db_text(row, 1), *slash = strrchr(file, '/'), *word;
	uint32_t i;

	for (i = 0; i < frames->words; i++) {
		word = frames->word[i];
		if (is_file(word)) {
			if (!db_int(row, 2) && !strcmp(slash ? slash + 1 : file, word))
				return 1;
		} else if ((db_int(row, 2) < INNER || word[name_size(word)]) &&
			   has_part(db_text(row, 0), word, name_size(word))) {
			return 1;
		}
	}
	return 0;
}

/* Whether the counting frames of the site's stack have one of the words. 1, 0 or an error. */
static int has_frame(const struct advise_run *run, const struct replay_site *site, struct frames frames)
{
	/* Outer frames make many other allocations. */
	static const char sql[] =
		"WITH RECURSIVE up(id, depth) AS (SELECT ?1, 0 UNION SELECT parent, depth + (kind = 'python') FROM up JOIN stack_node "
		"USING (id) JOIN frame ON frame.id = stack_node.frame WHERE parent IS NOT NULL AND depth < ?2) "
		"SELECT function, ifnull(file, ''), depth FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE function IS NOT NULL AND depth < ?2";
	int64_t parameter[ANSWER_PARAMETERS] = { site->node, INNER };
	uint32_t i;

	for (i = 0; i < frames.words; i++)
		if (frames.word[i][name_size(frames.word[i])])
			parameter[1] = MT_STACK_DEPTH_MAX;
	return site->node ? answer_rows(run->db, sql, parameter, takes_frame, &frames) : 0;
}

int turn_has_frame(const struct advise_run *run, const struct mt_knob *knob, const struct replay_site *site)
{
	return knob->withins ? has_frame(run, site, (struct frames){ knob->within, knob->withins }) : 1;
}

uint64_t turn_inner_tags(const struct advise_run *run, const struct replay_site *site)
{
	const struct scene *scene = run->scene;
	uint32_t node = scene && site->node ? scene_node_of(scene, site->node) : SCENE_NONE, depth;
	uint64_t tags = 0;

	for (depth = 0; depth < INNER && node != SCENE_NONE; depth++, node = scene->node[node].parent)
		tags |= scene->frame[scene->node[node].frame].tags;
	return tags;
}

/* What the row says that it does not reach, and whole numbers, which no type of floats makes smaller. */
static int is_beyond(const struct advise_run *run, const struct mt_knob *knob, const struct replay_site *site)
{
	int beyond = knob->outsides ? has_frame(run, site, (struct frames){ knob->outside, knob->outsides }) : 0;

	if (!beyond && knob->weighs && TURN_PASSING & 1u << site->category)
		beyond = (turn_inner_tags(run, site) & MT_TAG_BIT(INTEGERS)) != 0;
	return beyond;
}

/*
 * The phases of the row. Work between forward and optimizer, such as a loss, has the phase "other" in the recording: rows of the
 * forward include it.
 */
uint32_t turn_phases(const struct mt_knob *knob)
{
	/* A smaller cache is smaller in all phases. */
	if (knob->method == MT_KNOB_METHOD_SHARE ||
	    (!(knob->categories & ~CATEGORY(KV_CACHE)) &&
	     (knob->method == MT_KNOB_METHOD_BUCKET || knob->method == MT_KNOB_METHOD_DIVIDED)))
		return ALL_PHASES;
	/* A captured graph stays in all phases. */
	if (!(knob->categories & ~CATEGORY(GRAPHS)))
		return ALL_PHASES;
	return knob->phases | (knob->phases & 1u << MT_PHASE_FORWARD ? 1u << MT_PHASE_OTHER : 0) |
	       (knob->method == MT_KNOB_METHOD_DIVIDED && knob->categories & CATEGORY(WEIGHTS) ? 1u << MT_PHASE_INIT
											       : 0);
}

/*
 * The phases of birth. Bytes that wait for a backward come from a forward, even if the stack was too deep to show this. Bytes of
 * the start do not.
 */
static uint32_t born_in(const struct replay_site *site)
{
	int waits = site->held[MT_PHASE_BACKWARD] && !mt_phase_is_early(site->phase);

	return 1u << site->phase | (waits ? 1u << MT_PHASE_FORWARD : 0);
}

/* Whether the row is about weights of another model than the trained one. */
int turn_is_of_reference(const struct mt_knob *knob)
{
	return knob->method == MT_KNOB_METHOD_REMOVED && knob->processes & ROLE(REFERENCE) &&
	       !(knob->categories & ~CATEGORY(WEIGHTS));
}

/* Whether the bytes stay during the optimizer: then no micro-batch made them. */
static int outlives_backward(const struct replay_site *site)
{
	return site->phase != MT_PHASE_OPTIMIZER && site->held[MT_PHASE_OPTIMIZER] > turn_held_anywhere(site) / 2;
}

/*
 * Whether the bytes stay after trainer and engine are parted. The bytes of the one that made the request or the peak stay, and the
 * other's go.
 */
static int stays_apart(const struct turn *turn, const struct replay_site *site)
{
	const struct advise_run *run = turn->run;
	uint32_t both = ROLE(TRAINER) | ROLE(ENGINE);
	int engine_asks;

	if ((turn->knob->processes & both) != both || turn->knob->method != MT_KNOB_METHOD_REMOVED ||
	    turn->knob->measure != MT_KNOB_UNIT_SWITCH)
		return 0;
	engine_asks = run->failed
			      ? (advise_roles_of(run, &run->replay.site[run->replay.request.site]) & ROLE(ENGINE)) != 0
			      : !strcmp(run->phase, mt_phase_name(MT_PHASE_ROLLOUT));
	return ((advise_roles_of(run, site) & ROLE(ENGINE)) != 0) == engine_asks;
}

/* Whether the knob is about the site: by category and process, and by phase for bytes of micro-batches. 1, 0 or an error. */
int turn_means(const struct turn *turn, const struct replay_site *site)
{
	const struct mt_knob *knob = turn->knob;
	uint32_t categories = knob->categories;
	int beyond;

	if (site->ignored)
		return 0;
	/* Each engine has its own share. */
	if (knob->method == MT_KNOB_METHOD_SHARE && turn->run->engine.process &&
	    site->process != turn->run->engine.process)
		return 0;
	if (knob->method == MT_KNOB_METHOD_SHARE && advise_is_set_aside(site))
		return 1;
	if (!(advise_roles_of(turn->run, site) & knob->processes) || stays_apart(turn, site))
		return 0;
	if (TURN_PASSING & 1u << site->category &&
	    (outlives_backward(site) ||
	     (site->driver && knob->method == MT_KNOB_METHOD_TOKENS && site->category == MT_CATEGORY_OTHER)))
		return 0;
	if (knob->method == MT_KNOB_METHOD_TOKENS && categories & TURN_PASSING)
		categories |= CATEGORY(RECOMPUTED) | CATEGORY(WORKSPACE) | CATEGORY(OTHER);
	if (categories & CATEGORY(ACTIVATIONS) && knob->method == MT_KNOB_METHOD_DIVIDED)
		categories |= CATEGORY(RECOMPUTED);
	if (!(categories & 1u << site->category) &&
	    !(knob->method == MT_KNOB_METHOD_LOGITS && categories & CATEGORY(LOGITS) &&
	      advise_is_logits(turn->run, site)))
		return 0;
	if (TURN_PASSING & 1u << site->category && !(turn_phases(knob) & born_in(site)))
		return 0;
	if (!(knob->processes & ~ROLE(CRITIC)) && !(turn->run->phases & 1u << MT_PHASE_CRITIC))
		return 0;
	if (turn_is_of_reference(knob) && (1u << site->category == CATEGORY(WEIGHTS)) &&
	    !(turn->run->elsewhere & ROLE(REFERENCE)) && advise_untrained(turn->run) <= 0)
		return 0;
	beyond = is_beyond(turn->run, knob, site);
	return beyond ? beyond < 0 ? beyond : 0 : turn_has_frame(turn->run, knob, site);
}

/* Whether another process runs the phase at its peak: a setting that counts in the own phase has no effect then. */
static int is_anothers(const struct turn *turn, const struct replay_site *site, uint32_t phase)
{
	const struct replay *replay = &turn->run->replay;

	if (turn->knob->while_ != MT_KNOB_WHILE_ITSELF)
		return 0;
	if (turn->run->failed && phase == replay->request.phase &&
	    replay->site[replay->request.site].process != site->process)
		return 1;
	return replay->peak[phase].process && replay->peak[phase].process != site->process;
}

/* Whether the engine's cache is resident in the phase, at the request or at the peak. */
static int has_cache(const struct advise_run *run, uint32_t phase)
{
	const struct replay_site *site;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (site->category == MT_CATEGORY_KV_CACHE && site->process == run->engine.process &&
		    (run->failed && phase == run->replay.request.phase ? site->then : site->held[phase]))
			return 1;
	}
	return 0;
}

int advise_waits_on_host(const struct mt_knob *knob)
{
	uint32_t states = CATEGORY(WEIGHTS) | CATEGORY(GRADIENTS) | CATEGORY(OPTIMIZER_STATE);
	uint32_t work = 1u << MT_PHASE_LOGPROB | 1u << MT_PHASE_REF | 1u << MT_PHASE_CRITIC | 1u << MT_PHASE_FORWARD |
			1u << MT_PHASE_BACKWARD;

	return knob->method == MT_KNOB_METHOD_REMOVED && knob->leaves == MT_KNOB_LEAVES_NOTHING &&
	       knob->measure == MT_KNOB_UNIT_SWITCH && knob->saves == MT_KNOB_SAVES_ON && knob->categories & states &&
	       !(knob->categories & ~states) && knob->phases & 1u << MT_PHASE_ROLLOUT && (knob->phases & work) != work;
}

/* The part that stays for any value, 0 to 1: bytes that the phase brought for its own work. */
static double needed_in(const struct turn *turn, const struct replay_site *site, uint32_t phase)
{
	const struct advise_run *run = turn->run;

	if (!run->failed || phase != run->replay.request.phase || !site->brought || !advise_waits_on_host(turn->knob))
		return 0;
	return (double)site->brought / (double)site->then;
}

/* Scales the site by two parts that stay, in either order. */
void turn_keep(struct turn *turn, uint32_t site, double one, double other)
{
	uint32_t passing = TURN_PASSING & 1u << turn->run->replay.site[site].category, phase;
	double lean = one < other ? one : other, heavy = one < other ? other : one;
	struct replay_effect *at[2] = { &turn->scenario->lean[site], &turn->scenario->heavy[site] };
	double needed;
	int done = 0;

	if (lean == 1 && heavy == 1)
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!passing && (!(turn_phases(turn->knob) & 1u << phase) ||
				 is_anothers(turn, &turn->run->replay.site[site], phase)))
			continue;
		if (turn->refilled && has_cache(turn->run, phase))
			continue;
		needed = needed_in(turn, &turn->run->replay.site[site], phase);
		at[0]->keep[phase] *= (float)(needed + (1 - needed) * (lean > 0 ? lean : 0));
		at[1]->keep[phase] *= (float)(needed + (1 - needed) * (heavy > 0 ? heavy : 0));
		done = 1;
	}
	if (!done)
		return;
	at[0]->used = at[1]->used = 1;
	turn->effects++;
}

/* turn_keep() for all sites of the knob. 0 or an error. */
int turn_keep_all(struct turn *turn, double one, double other)
{
	const struct replay *replay = &turn->run->replay;
	uint32_t i;
	int meant;

	for (i = 0; i < replay->sites; i++) {
		meant = turn_means(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (meant)
			turn_keep(turn, i, one, other);
	}
	return 0;
}

/* Bytes of the knob's sites at the peak of the phase with most, among these phases. */
double turn_held_most(const struct turn *turn, uint32_t phases)
{
	const struct replay *replay = &turn->run->replay;
	double sum, most = 0;
	uint32_t i, phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!(phases & 1u << phase))
			continue;
		for (sum = 0, i = 0; i < replay->sites; i++)
			if (turn_means(turn, &replay->site[i]) > 0)
				sum += (double)replay->site[i].held[phase] +
				       (replay->later.changes && replay->later.phase == phase
						? advise_later_of(turn->run, i)
						: 0);
		most = sum > most ? sum : most;
	}
	return most;
}

int turn_silent(struct turn *turn, enum advise_silence silence)
{
	turn->silence = silence;
	return 0;
}

/* Number of the site's allocations at the peak of the phase with most. */
uint32_t turn_alive(const struct replay_site *site)
{
	uint32_t phase, most = 0;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = site->count[phase] > most ? site->count[phase] : most;
	return most;
}

double turn_layers(const struct advise_run *run)
{
	return run->model.layers > 1 ? (double)run->model.layers : LAYERS_USUAL;
}

uint64_t turn_held_anywhere(const struct replay_site *site)
{
	uint64_t most = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = site->held[phase] > most ? site->held[phase] : most;
	return most;
}

/* 1: the new value is the one that saves, -1: the old one was, 0: neither, or it is no switch. */
int turn_direction(const struct turn *turn)
{
	int saves_on = turn->knob->saves == MT_KNOB_SAVES_ON;

	if (turn->knob->saves != MT_KNOB_SAVES_ON && turn->knob->saves != MT_KNOB_SAVES_OFF)
		return 0;
	if (turn->knob->turned_off)
		return mt_knob_is_off(turn->knob, turn->to_text) -
		       (turn->now_text && mt_knob_is_off(turn->knob, turn->now_text));
	if (!turn->is_number || turn->now == turn->to)
		return 0;
	return (turn->to != 0) == saves_on ? 1 : -1;
}
