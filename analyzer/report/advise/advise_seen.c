/* What the recorded stacks say of a setting: whether what it is about runs here at all, and whether it is on. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "advise.h"
#include "advise_turn.h"
#include "memtrace/base.h"
#include "report/oom/oom_words.h"

#define NEEDS_DEPTH 3 /* of settings that need settings */
#define ONE_UNIT 4ull /* gathered so often in a step at most, all weights are one unit of FSDP */

/*
 * Settings of what nothing was seen of do nothing. An engine is set by the framework that starts it, where one does: its own
 * settings are for who starts it himself.
 */
int advise_is_there(const struct advice *advice, uint32_t part)
{
	/* They run in the process of whatever builds on them. */
	static const char *const below_all[] = { "pytorch", "transformers" };
	const struct advise_part *it = &advice->config->part[part];
	uint32_t i, own = 0;

	if (!part)
		return 1;
	for (i = 0; i < MT_ARRAY_SIZE(below_all); i++)
		if (!strcmp(it->file->framework, below_all[i]))
			return 1;
	/* Where the main framework is not set by flags, nobody can give it another one's. */
	if (it->file->written == MT_KNOB_WRITTEN_FLAG && advice->config->part[0].file->written != MT_KNOB_WRITTEN_FLAG)
		return 0;
	for (i = 0; i < it->file->knobs; i++)
		own += (it->file->knob[i].processes & ~(1u << MT_KNOB_PROCESS_ENGINE)) != 0;
	return own && it->seen;
}

/* Counts with a backend only, which the recorded stacks show, whatever the defaults say. */
static int is_seen_backend(const struct advice *advice, const struct mt_knob *knob)
{
	const struct advise_config *config = advice->config;
	uint32_t i, part;

	for (i = 0; i < knob->constraints; i++)
		for (part = 1; knob->constraint[i].kind == MT_KNOB_CONSTRAINT_NEEDS && part < config->parts; part++)
			if (config->part[part].seen &&
			    (strstr(knob->constraint[i].key, config->part[part].file->framework) ||
			     !strcmp(knob->constraint[i].value[0], config->part[part].file->framework)))
				return 1;
	return 0;
}

/* Only with a backend of which nothing was seen. */
static int needs_unseen(const struct advice *advice, const struct mt_knob *knob)
{
	const struct advise_config *config = advice->config;
	const struct mt_knob_constraint *constraint;
	uint32_t i, part;

	for (i = 0; i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		if (constraint->kind != MT_KNOB_CONSTRAINT_NEEDS || constraint->values != 1)
			continue;
		for (part = 1; part < config->parts; part++)
			if (!config->part[part].seen &&
			    !strcmp(constraint->value[0], config->part[part].file->framework))
				return 1;
	}
	return 0;
}

/* A row: there is one. */
static int takes_file(void *context, struct db_stmt *row)
{
	(void)row;
	*(int *)context = 1;
	return 0;
}

/* Rows of one trainer's configuration, GRPOConfig.beta, hold where that trainer was seen: grpo_trainer.py. */
static int is_class_used(const struct advice *advice, const struct mt_knob *knob)
{
	const char *key = knob->name.key, *end = strstr(key, "Config.");
	const struct advise_part *part = advise_config_part(advice->config, knob);
	char sql[256];
	int used = 0;

	if (!end || !strncmp(knob->name.source, "torch/", 6) || strcspn(key, ".(") != (size_t)(end - key) + 6 ||
	    !part || *part->class_)
		return 1;
	if (end - key > 32 || strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") < (size_t)(end - key))
		return 0;
	snprintf(sql, sizeof(sql),
		 "SELECT 1 FROM frame WHERE lower(file) LIKE '%%' || lower('%.*s') || '_trainer%%' LIMIT 1",
		 (int)(end - key), key);
	return !answer_rows(advice->run.db, sql, NULL, takes_file, &used) && used;
}

/*
 * Without a framework, or with accelerate alone, the loop is the user's, who can change it, and put one of PyTorch's functions around what
 * is there. How it is distributed nobody changes by a switch of what he does not use.
 */
static int can_be_added(const struct advice *advice, const struct mt_knob *knob)
{
	static const char *const loops_of_ones_own[] = { "pytorch", "accelerate" };
	const struct advise_part *part = advise_config_part(advice->config, knob);
	int own = 0;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(loops_of_ones_own) && advice->config->parts; i++)
		own |= !strcmp(advice->config->part[0].file->framework, loops_of_ones_own[i]);
	return own && part && !strcmp(part->file->framework, "pytorch") && strchr(knob->name.key, '(') &&
	       (knob->written == MT_KNOB_WRITTEN_CODE ||
		(islower((unsigned char)*knob->name.key) && strncmp(knob->name.source, "torch/distributed/", 18) != 0));
}

/* "activation_checkpointing.x" of deepspeed/runtime/activation_checkpointing/config.py: a module's own settings. */
static int is_of_module(const struct mt_knob *knob)
{
	const char *source = knob->name.source;
	size_t size = strcspn(knob->name.key, "."), i;

	if (!knob->name.key[size] || size < 3)
		return 0;
	for (i = 0; source[i]; i++)
		if (source[i] == '/' && !strncmp(source + i + 1, knob->name.key, size) && source[i + 1 + size] == '/')
			return 1;
	return 0;
}

/*
 * A setting of a class or function of PyTorch's counts where the recording shows something of its folder, or where it can be
 * added; one of a module that has a folder, too.
 */
static int is_used(const struct advice *advice, const struct mt_knob *knob)
{
	const char *source = knob->name.source, *end = strchr(source, ' ');
	char sql[640], folder[256];
	int used = 0;

	if (!strpbrk(knob->name.key, "(.") || !end || can_be_added(advice, knob) ||
	    (strncmp(source, "torch/", 6) && !is_of_module(knob)))
		return 1;
	/* A loop that is somebody else's nobody changes; how the model is sharded is set up beside it. */
	if (knob->written == MT_KNOB_WRITTEN_CODE && strncmp(source, "torch/distributed/", 18))
		return 0;
	while (end > source && *end != '/')
		end--;
	if ((size_t)(end - source) >= sizeof(folder) || memchr(source, '\'', (size_t)(end - source)))
		return 0;
	memcpy(folder, source, (size_t)(end - source));
	folder[end - source] = '\0';
	snprintf(sql, sizeof(sql), "SELECT 1 FROM frame WHERE file LIKE '%%/%s/%%' OR file LIKE '%s/%%' LIMIT 1",
		 folder, folder);
	return !answer_rows(advice->run.db, sql, NULL, takes_file, &used) && used;
}

/* "update_actor > load_weights": the second is below the first. */
static int is_below(const struct advice *advice, const char *word, const char *arrow)
{
	char outer[128], above[640], below[640], sql[2048];
	int seen = 0;

	snprintf(outer, sizeof(outer), "%.*s", (int)(arrow - word), word);
	if (!advise_frame_condition(above, sizeof(above), outer) ||
	    !advise_frame_condition(below, sizeof(below), arrow + 3))
		return 0;
	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE up(id) AS (SELECT parent FROM stack_node JOIN frame ON frame.id = stack_node.frame WHERE %s AND "
		 "parent IS NOT NULL UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		 "SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame WHERE %s LIMIT 1",
		 below, above);
	return !answer_rows(advice->run.db, sql, NULL, takes_file, &seen) && seen;
}

static int is_seen(const struct advice *advice, const char *word)
{
	const char *arrow = strstr(word, " > ");
	char sql[1024], condition[896];
	int seen = 0;

	if (arrow)
		return is_below(advice, word, arrow);
	if (!advise_frame_condition(condition, sizeof(condition), word))
		return 0;
	snprintf(sql, sizeof(sql), "SELECT 1 FROM frame WHERE %s LIMIT 1", condition);
	return !answer_rows(advice->run.db, sql, NULL, takes_file, &seen) && seen;
}

/* The first of the words that is on a recorded stack; NULL: none is. */
static const char *first_seen(const struct advice *advice, const char *const *word, uint32_t words)
{
	uint32_t i;

	for (i = 0; i < words; i++)
		if (is_seen(advice, word[i]))
			return word[i];
	return NULL;
}

struct owners {
	const struct advise_run *run;
	uint32_t roles; /* of whom it should be */
	int any, own;   /* sites were seen; one of theirs */
};

/* Of the GPU in question by its place, of another one by its process. */
static int takes_owner(void *context, struct db_stmt *row)
{
	struct owners *owners = context;
	const struct replay *replay = &owners->run->replay;
	int64_t id = db_int(row, 0);
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX, roles = owners->roles;
	size_t i;

	for (i = 0; i < replay->processes && at == UINT32_MAX; i++)
		if (owners->run->role[i].process == db_int(row, 1))
			roles = owners->run->role[i].roles & ~owners->run->elsewhere;
	if (at != UINT32_MAX)
		roles = advise_roles_of(owners->run, &replay->site[at]);
	owners->any = 1;
	owners->own |= (roles & owners->roles) != 0;
	return 0;
}

/*
 * The word is on stacks of those whose memory the setting is about: a critic's recomputation proves nothing of the actor's. Where
 * nothing was allocated below it, nobody can tell whose it is.
 */
static int is_seen_of(const struct advice *advice, const char *word, uint32_t roles)
{
	struct owners owners = { .run = &advice->run, .roles = roles };
	const char *arrow = strstr(word, " > ");
	char outer[128] = "", above[640] = "1", below[640], sql[2560];

	snprintf(outer, sizeof(outer), "%.*s", arrow ? (int)(arrow - word) : 0, word);
	if ((arrow && !advise_frame_condition(above, sizeof(above), outer)) ||
	    !advise_frame_condition(below, sizeof(below), arrow ? arrow + 3 : word) || !is_seen(advice, word))
		return 0;
	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE above(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame WHERE %s "
		 "UNION SELECT stack_node.id FROM above JOIN stack_node ON stack_node.parent = above.id), "
		 "own(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame WHERE (%d OR stack_node.parent IN "
		 "(SELECT id FROM above)) AND %s UNION SELECT stack_node.id FROM own JOIN stack_node ON stack_node.parent = own.id) "
		 "SELECT site.id, site.process FROM own JOIN site ON site.node = own.id",
		 arrow ? above : "0", arrow == NULL, below);
	if (answer_rows(advice->run.db, sql, NULL, takes_owner, &owners))
		return 0;
	return owners.own || !owners.any;
}

int advise_lets_sleep(const struct mt_knob *knob)
{
	return knob->proofs && knob->processes == 1u << MT_KNOB_PROCESS_ENGINE &&
	       knob->method == MT_KNOB_METHOD_REMOVED && knob->saves == MT_KNOB_SAVES_ON &&
	       knob->categories & 1u << MT_CATEGORY_KV_CACHE;
}

/*
 * An engine's memory that the setting lets go was seen to go under its tensors: a pool sleeps, whatever frames the stacks have of who
 * told it to. Of an engine's pools alone: a trainer's sleep by a switch of theirs, beside those that move its tensors one by one.
 */
static int has_slept(const struct advice *advice, const struct mt_knob *knob)
{
	static const char sql[] =
		"SELECT DISTINCT slept.site, slept.process FROM resident_span JOIN allocation_raw AS slept ON slept.id = allocation "
		"WHERE resident_span.bytes = 0 AND since_seq > alloc_seq";
	struct owners owners = { .run = &advice->run, .roles = knob->processes };

	return advise_lets_sleep(knob) && !answer_rows(advice->run.db, sql, NULL, takes_owner, &owners) && owners.own;
}

/* The same of a trainer's weights, which come back for what it does with them. Of a model beside the trained one nothing tells whose they are. */
static int has_come_back(const struct advice *advice, const struct mt_knob *knob)
{
	return advice->run.failed && advice->run.came_back && advise_waits_on_host(knob) &&
	       knob->categories & 1u << MT_CATEGORY_WEIGHTS && knob->processes & 1u << MT_KNOB_PROCESS_TRAINER &&
	       !turn_is_of_reference(knob) && knob->phases & 1u << advice->run.replay.request.phase;
}

/* Functions, files or folders that run only where it is on are on recorded stacks, or what it does was seen. */
int advise_is_proved(const struct advice *advice, const struct mt_knob *knob, char why[ADVISE_WORDS_MAX])
{
	uint32_t i;

	for (i = 0; i < knob->proofs; i++)
		if (is_seen_of(advice, knob->proof[i], knob->processes)) {
			snprintf(why, ADVISE_WORDS_MAX, "already on: %s is on the recorded stacks", knob->proof[i]);
			return 1;
		}
	if (has_come_back(advice, knob)) {
		snprintf(why, ADVISE_WORDS_MAX, "already on: the weights had gone, and came back for this");
		return 1;
	}
	if (!has_slept(advice, knob))
		return 0;
	snprintf(why, ADVISE_WORDS_MAX, "already on: a pool of the engine slept in this recording");
	return 1;
}

/* ---- what is not recomputed beside what is ------------------------------------------------------------------------------ */

#define APART_SHARE 10 /* of what is in use: less than one part in so many is not worth a word */
#define APART_MANY 8   /* pieces at once: one from each of some layers */

static int takes_number(void *context, struct db_stmt *row)
{
	*(int *)context = (int)db_int(row, 0);
	return 0;
}

/*
 * A frame of something that computes again is on the stack: 1; or one of a compiler, which does without such frames, or frames were left
 * out: -1; 0: neither. The layers' own class is there whether it is on or not.
 */
static int computes_again(const struct advice *advice, int64_t node)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT max(CASE WHEN kind = 'elided' OR file LIKE '%torch/_functorch/%' OR file LIKE '%torch/_inductor/%' OR file LIKE "
		"'%torchinductor_%' THEN -1 WHEN file NOT LIKE '%/modeling_layers.py' AND (file LIKE '%checkpoint%' OR function LIKE "
		"'%checkpoint%' OR function LIKE '%recompute%') THEN 1 END) FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = "
		"stack_node.frame";
	const int64_t parameter[ANSWER_PARAMETERS] = { node };
	int say = 0;

	return !node || answer_rows(advice->run.db, sql, parameter, takes_number, &say) ? -1 : say;
}

static int take_place(void *context, struct db_stmt *row)
{
	struct advise_apart *apart = context;

	mt_copy_text(apart->function, sizeof(apart->function), db_text(row, 0));
	mt_copy_text(apart->place, sizeof(apart->place), db_text(row, 1));
	return 0;
}

/* The innermost frame of Python that is not torch's. */
static int name_place(const struct advice *advice, int64_t node, struct advise_apart *apart)
{
	static const char sql[] =
		"WITH RECURSIVE up(id, depth) AS (SELECT ?1, 0 UNION ALL SELECT parent, depth + 1 FROM up JOIN stack_node USING (id) "
		"WHERE parent IS NOT NULL AND depth < ?2) SELECT function, replace(file, rtrim(file, replace(file, '/', '')), '') || ':' || line "
		"FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE function IS NOT NULL AND kind = 'python' AND '/' || file NOT LIKE '%/torch/%' ORDER BY depth LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { node, MT_STACK_DEPTH_MAX };

	return answer_rows(advice->run.db, sql, parameter, take_place, apart);
}

int advise_find_apart(struct advice *advice)
{
	const struct replay *replay = &advice->run.replay;
	const struct replay_site *site, *most = NULL;
	struct advise_apart *apart = &advice->apart;
	uint64_t bytes = 0, pieces = 0, again = 0, all = 0;
	uint32_t i;
	int say;

	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		if (site->category != MT_CATEGORY_ACTIVATIONS || site->phase != MT_PHASE_FORWARD || site->ignored)
			continue;
		say = computes_again(advice, site->node);
		again += say > 0;
		all += site->then;
		if (say || site->then_count < APART_MANY || !advise_is_in_question(&advice->run, site))
			continue;
		bytes += site->then;
		pieces += site->then_count;
		most = !most || site->then > most->then ? site : most;
	}
	if (!most || bytes < advice->base / APART_SHARE || bytes < all / 2)
		return 0;
	advice->nothing_again = !again;
	if (!again)
		return 0;
	apart->bytes = bytes;
	apart->pieces = pieces;
	return name_place(advice, most->node, apart);
}

/* What is of the critic, the reference or a reward model alone counts where one was seen. */
static int is_model_there(const struct advice *advice, const struct mt_knob *knob)
{
	static const struct {
		enum mt_knob_process process;
		const char *sql;
	} models[] = {
		{ MT_KNOB_PROCESS_REFERENCE, "SELECT 1 FROM site WHERE phase = 'ref' LIMIT 1" },
		{ MT_KNOB_PROCESS_CRITIC, "SELECT 1 FROM site WHERE phase = 'critic' LIMIT 1" },
		{ MT_KNOB_PROCESS_REWARD,
		  "SELECT 1 FROM frame WHERE function LIKE '%reward%' OR file LIKE '%reward%' LIMIT 1" },
	};
	int seen = 0;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(models); i++)
		if (knob->processes == 1u << models[i].process && advise_has_model(&advice->run, models[i].process))
			return 1;
		else if (knob->processes == 1u << models[i].process)
			return !answer_rows(advice->run.db, models[i].sql, NULL, takes_file, &seen) && seen;
	return 1;
}

static const struct mt_knob *knob_of(const struct advise_part *part, const char *key)
{
	uint32_t i;

	for (i = 0; i < part->file->knobs; i++)
		if (!strcmp(part->file->knob[i].name.key, key))
			return &part->file->knob[i];
	return NULL;
}

/* The next row that it has such a constraint about, from `at` on; NULL: none. */
static const struct mt_knob *related(const struct advise_part *part, const struct mt_knob *knob,
				     enum mt_knob_constraint_kind kind, uint32_t *at)
{
	const struct mt_knob *other = NULL;

	while (!other && *at < knob->constraints) {
		if (knob->constraint[*at].kind == kind)
			other = knob_of(part, knob->constraint[*at].key);
		(*at)++;
	}
	return other;
}

/* The recorded stacks prove the switch: 1; or one with which it cannot be on: -1; 0: neither. */
static int stacks_say_of(const struct advice *advice, const struct advise_part *part, const struct mt_knob *knob)
{
	const struct mt_knob *rival;
	char why[ADVISE_WORDS_MAX];
	uint32_t at = 0;

	if (advise_is_proved(advice, knob, why))
		return 1;
	while (knob->proofs && (rival = related(part, knob, MT_KNOB_CONSTRAINT_EXCLUDES, &at)))
		if (advise_is_proved(advice, rival, why))
			return -1;
	return 0;
}

/* What it needs is not so, as it is set, or by default. */
static int is_missing(const struct advice *advice, const struct mt_knob *knob,
		      const struct mt_knob_constraint *constraint)
{
	char why[ADVISE_WORDS_MAX];

	return advise_constraint_holds(advice->config, knob, constraint, NULL, ADVISE_AS_IS, &advice->facts, why) ==
	       ADVISE_HOLDS_NO;
}

/* The same of what it needs, and of what that needs. What is proved of one thing does not make up for another one that is missing. */
static int stacks_say(const struct advice *advice, const struct mt_knob *knob, int depth)
{
	const struct advise_part *part = advise_config_part(advice->config, knob);
	const struct mt_knob *needed;
	uint32_t at = 0;
	int say, all = 0, missing = 0;

	while (part && depth && (needed = related(part, knob, MT_KNOB_CONSTRAINT_NEEDS, &at))) {
		say = stacks_say_of(advice, part, needed);
		missing |= !say && is_missing(advice, knob, &knob->constraint[at - 1]);
		say = say ? say : stacks_say(advice, needed, depth - 1);
		if (say < 0)
			return say;
		all |= say;
	}
	return all && !missing;
}

/* The recorded stacks prove a switch beside which it is not read. */
static int is_excluded(const struct advice *advice, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(advice->config, knob);
	char why[ADVISE_WORDS_MAX];
	const struct mt_knob *rival;
	uint32_t at = 0;

	while (part && !knob->proofs && (rival = related(part, knob, MT_KNOB_CONSTRAINT_EXCLUDES, &at)))
		if (!strcmp(knob->constraint[at - 1].value[0], "true") && advise_is_proved(advice, rival, why))
			return 1;
	return 0;
}

int advise_backend(const struct advice *advice, const struct mt_knob *knob)
{
	int say = is_excluded(advice, knob) ? -1 : stacks_say(advice, knob, NEEDS_DEPTH);

	return say ? say : is_seen_backend(advice, knob);
}

int advise_is_forward_only(const struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;

	return advice->run.failed && (oom->infers || oom->unneeded || oom->again.kind == OOM_AGAIN_NARROW ||
				      oom->again.kind == OOM_AGAIN_GRAPHS);
}

const char *advise_effect(const struct advice *advice, const struct mt_knob *knob)
{
	/* Fewer samples at a time are of no account to anybody but a step that adds up their gradients. */
	if (knob->method == MT_KNOB_METHOD_TOKENS && knob->measure == MT_KNOB_UNIT_SAMPLES &&
	    advise_is_forward_only(advice))
		return NULL;
	return knob->effect;
}

int advise_is_own_optimizer(const struct advice *advice)
{
	static const char sql[] =
		"SELECT 1 FROM site WHERE category = 'optimizer state' AND node IS NOT NULL AND (NOT EXISTS "
		"(SELECT 1 FROM frame WHERE file LIKE '%adam%' OR function LIKE '%adam%') OR EXISTS "
		"(SELECT 1 FROM frame WHERE file LIKE '%deepspeed/ops/adam/%')) LIMIT 1";
	int seen = 0;

	return !answer_rows(advice->run.db, sql, NULL, takes_file, &seen) && seen;
}

/* What would shard gradients sooner counts where whole ones wait, as large as the layers that are gathered. */
static int is_waited_for(const struct advice *advice, const struct mt_knob *knob)
{
	return knob->categories != 1u << MT_CATEGORY_GRADIENTS || knob->leaves != MT_KNOB_LEAVES_LAYER ||
	       (advice->run.failed && oom_has_whole_gradients(&advice->run.oom));
}

/* Weights, and what else was made before the first step: nothing tells all of them. */
static uint64_t made_first(const struct advise_run *run)
{
	const struct replay_site *site;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		bytes += !site->ignored && (site->category == MT_CATEGORY_WEIGHTS || site->phase == MT_PHASE_INIT)
				 ? site->then
				 : 0;
	}
	return bytes;
}

/* All weights are gathered at once: pieces larger than all that is there of them otherwise, a few in a step. */
static int gathers_all(const struct advise_run *run)
{
	uint64_t weights = made_first(run), steps = (uint64_t)(run->steps > 0 ? run->steps : 0) + 1;
	const struct replay_site *site;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (site->category == MT_CATEGORY_GATHER_BUFFERS && weights && site->largest >= weights &&
		    site->births <= ONE_UNIT * steps)
			return 1;
	}
	return 0;
}

/* What cuts a model into units counts where it is one. */
static int is_whole(const struct advice *advice, const struct mt_knob *knob)
{
	return knob->leaves != MT_KNOB_LEAVES_LAYER || !(knob->categories & 1u << MT_CATEGORY_GATHER_BUFFERS) ||
	       gathers_all(&advice->run);
}

/*
 * A key that has the name of one backend in it, "fsdp_config.param_offload", is not read where the stacks show another one, and
 * nothing of it.
 */
static int is_rivals(const struct advice *advice, const struct mt_knob *knob)
{
	/* A backend, and what else its stacks may be called. */
	static const char *const backends[][2] = { { "fsdp", "dtensor" },
						   { "megatron", "megatron" },
						   { "deepspeed", "deepspeed" } };
	char sql[512];
	int named = 0, rivals = 0, seen;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(backends); i++) {
		seen = 0;
		snprintf(sql, sizeof(sql),
			 "SELECT 1 FROM frame WHERE file LIKE '%%%s%%' OR file LIKE '%%%s%%' OR function LIKE '%%%s%%' LIMIT 1",
			 backends[i][0], backends[i][1], backends[i][0]);
		if (answer_rows(advice->run.db, sql, NULL, takes_file, &seen))
			return 0;
		if (!strcasestr(knob->name.key, backends[i][0]) && !strcasestr(knob->name.key, backends[i][1]))
			rivals |= seen;
		else if (seen)
			return 0;
		else
			named = 1;
	}
	return named && rivals;
}

int advise_is_meant(const struct advice *advice, const struct mt_knob *knob)
{
	if (knob->seens && !first_seen(advice, knob->seen, knob->seens))
		return 0;
	return is_used(advice, knob) && !is_rivals(advice, knob) && is_class_used(advice, knob) &&
	       is_model_there(advice, knob) && !needs_unseen(advice, knob) && is_waited_for(advice, knob) &&
	       is_whole(advice, knob);
}
