/* A run that ended for want of host memory: what to do about that, by who has it and where it grew. */
#include <stdio.h>
#include <string.h>
#include "advise.h"
#include "memtrace/base.h"
#include "report/host_seen.h"
#include "report/top_host.h"

#define OWN_SHARE 4    /* of the host: a process with less than one part in so many did not fill it */
#define FULL_SHARE 100 /* less free than one part in so many is full */

struct host_words {
	struct advice *advice;
	int told;
	char *evidence, *instead;
	uint64_t recorded; /* what all recorded processes had resident at most */
	uint32_t processes;
	int rose;        /* the host filled while they were there, and much of that is theirs */
	int others_rose; /* a cgroup of its own filled, and hardly any of that is */
};

static int add_host(void *context, const struct query_host *row)
{
	struct host_words *words = context;

	words->recorded += row->most_resident;
	words->processes++;
	return 0;
}

static int is_set_by_user(const struct advise_value *value)
{
	return value->origin >= ADVISE_COMMAND && value->text;
}

/* A setting keeps bytes on the host that the GPU may have room for. */
static int offloads_here(const struct advice *advice, char *instead, size_t room)
{
	const struct advise_config *config = advice->config;
	uint64_t free = advice->run.total > advice->run.peak ? advice->run.total - advice->run.peak : 0;
	char why[ADVISE_WORDS_MAX], size[TEXT_SIZE_MAX];
	const struct mt_knob *knob;
	struct advise_value value;
	double number;
	uint32_t i;

	for (i = 0; free > advice->run.total / 2 && config->parts && i < config->part[0].file->knobs; i++) {
		knob = &config->part[0].file->knob[i];
		value = advise_config_value(advice->config, knob, ADVISE_AS_IS);
		if (knob->method != MT_KNOB_METHOD_REMOVED || knob->measure != MT_KNOB_UNIT_SWITCH ||
		    knob->saves != MT_KNOB_SAVES_ON || !strstr(knob->name.key, "offload"))
			continue;
		if (!advise_is_proved(advice, knob, why) &&
		    (!is_set_by_user(&value) || advise_value_number(knob, value.text, &number) || number < 1))
			continue;
		snprintf(instead, room,
			 "turn %s off, as %s of the GPU was never held, or give the job more host memory; see "
			 "also checkpoints, workers of data loaders and pinned buffers (memana top shows whose it is)",
			 knob->name.key, text_bytes(size, free));
		return 1;
	}
	return 0;
}

#define SLEEP "sleep"

/* Of a place of which no more is known than that they grew alike; and of one where a single rank did. */
static const char copies[] =
	"the ranks grew alike: if what they collect is the same, each makes a copy of its own, so let one make it for all of the node "
	"(shared memory, mmap), or let each keep its own part of it alone";
static const char alone[] =
	"let each rank do its own part: one alone grew so, by far more than the others that were there; or let it do that piece by piece "
	"(a shard, a layer at a time), and keep nothing of what it has passed on";

/*
 * What keeps less on the host, by a part of the name of what ran while it filled up. `alike`: where each rank grew by as much there, so
 * that each has its part, or each has the whole; `anew`: where it had about as much before; `apart`: where one grew by far more than
 * the others that were there.
 */
static const struct {
	const char *word, *remedy, *alike, *anew, *apart;
} host_remedy[] = {
	{ "checkpoint",
	  "save the checkpoint in shards, each rank its own, without gathering the whole model or optimizer on the host, and keep less there "
	  "beside it (what is offloaded or backed up); if that is not enough, save no optimizer state",
	  "keep less on the host beside the checkpoint (what is offloaded or backed up there), and less in it: no optimizer state",
	  NULL },
	{ "state_dict",
	  "let the state dict be of shards, each rank its own, so that none gathers the whole model or optimizer on the host; if that is not "
	  "enough, leave the optimizer's state out of it",
	  "let the state dict be of shards, or rank 0 alone make it: the ranks grew alike, so probably each has a whole one on the host" },
	{ "offload",
	  "offload less to the host, or give the job more host memory; see, too, whether it makes its copies anew each time, while the old "
	  "ones are held (pinned ones beside them): one buffer that stays and is copied into needs half",
	  NULL,
	  "let the offload copy into one (pinned) buffer that stays: if it had offloaded before, it made its copies anew here while the old "
	  "ones were held (where that is not your code, another version may do so); else offload less to the host, or give the job more of "
	  "it" },
	{ SLEEP,
	  "let the engine throw its weights away when it sleeps (level 2), where the trainer sends new ones anyway: each keeps a copy "
	  "on the host; or let it not sleep, where the GPU has room for both" },
	{ "from_pretrained",
	  "let rank 0 alone load the weights, the others on the meta device (with FSDP fsdp_cpu_ram_efficient_loading; with "
	  "DeepSpeed ZeRO-3 a HfDeepSpeedConfig made before), or start fewer ranks a node",
	  NULL, NULL, alone },
	{ "load", "load once a node, or lazily (mmap, meta device): every rank that loads has its own copy on the host",
	  NULL, NULL, alone },
	{ "kv_buffer",
	  "let the engine's cache on the host be smaller (SGLang: hicache_size or hicache_ratio): each rank has its own, and some versions "
	  "take the size once more for the states of a hybrid model" },
	{ "pin", "pin less memory: fewer or smaller buffers, pin_memory=False" },
	{ "collate", "fewer workers of data loaders, or a smaller prefetch_factor" },
};

/* Once more what was there, or twice that: copies beside those of before. */
static int is_doubled(const struct host_growth *growth)
{
	uint64_t rose = growth->last - growth->first;

	return rose >= growth->first && rose / 2 <= growth->first;
}

/* The remedy for what grew there; NULL: nobody knows one. */
static const char *remedy_for(const struct host_growth *growth)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(host_remedy); i++) {
		if (!strstr(growth->function, host_remedy[i].word))
			continue;
		if (growth->alike > 1 && host_remedy[i].alike)
			return host_remedy[i].alike;
		if (growth->apart && host_remedy[i].apart)
			return host_remedy[i].apart;
		return is_doubled(growth) && host_remedy[i].anew ? host_remedy[i].anew : host_remedy[i].remedy;
	}
	return growth->alike > 1 ? copies : NULL;
}

/* By a good part of what it has now. */
static int is_much(const struct host_growth *growth)
{
	return *growth->place && growth->last - growth->first >= growth->last / OWN_SHARE;
}

/* Where it grew most, by a good part of what it has now, and where else. 1: that is known. */
static int grew_much(struct advice *advice, struct host_growth growth[HOST_PLACES])
{
	return !host_grew(growth, advice->run.db) && is_much(growth);
}

/* The setting is about what this function makes; of one that says nothing of that, nobody can tell. */
static int is_about(const struct mt_knob *knob, const char *function)
{
	uint32_t i;

	for (i = 0; i < knob->withins; i++)
		if (strstr(function, knob->within[i]))
			return 1;
	return 0;
}

/* What a release before the newest had is worth a word where nobody knows which one runs. */
static int may_be_there(const struct advise_config *config, const struct mt_knob *knob)
{
	return !knob->instead || (!*config->part[0].version && knob->name.gone < config->part[0].file->releases);
}

/* Nobody has set it so, as far as that is known. */
static int is_open(const struct advice *advice, const struct mt_knob *knob)
{
	char why[ADVISE_WORDS_MAX];

	return knob->instead ||
	       advise_config_standing(advice->config, knob, ADVISE_AS_IS, &advice->facts, why) == ADVISE_STANDING_OPEN;
}

/*
 * Settings of the main framework that free memory of the host where `function` filled it, and were not seen to be set so:
 * " (--a, --b before 1.2)", each with what else it does; "": none. Where an engine filled it in its sleep: what lets it sleep, " off".
 */
static void host_settings(const struct advice *advice, const char *function, char *out, size_t size)
{
	struct advise_config *config = advice->config;
	const struct mt_knob *knob;
	char before[48], effect[ADVISE_WORDS_MAX / 4];
	size_t used = 0;
	uint32_t i;
	int off;

	*out = '\0';
	for (i = 0; config->parts && i < config->part[0].file->knobs; i++) {
		knob = &config->part[0].file->knob[i];
		off = strstr(function, SLEEP) && !knob->instead && advise_lets_sleep(knob);
		if (!off && (knob->categories != 1u << MT_KNOB_HOST || knob->saves != MT_KNOB_SAVES_ON ||
			     !may_be_there(config, knob) || !is_about(knob, function) ||
			     !(knob->processes & 1u << MT_KNOB_PROCESS_TRAINER) || !is_open(advice, knob)))
			continue;
		snprintf(before, sizeof(before),
			 off             ? strncmp(knob->name.key, "--", 2) ? " off" : " left out"
			 : knob->instead ? " before %.32s"
					 : "",
			 knob->instead ? config->part[0].file->release[knob->name.gone].version : "");
		snprintf(effect, sizeof(effect), "%s%s", !off && knob->effect ? ": " : "",
			 !off && knob->effect ? knob->effect : "");
		if (used + strlen(knob->name.key) + strlen(before) + strlen(effect) + 8 > size)
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s%s%s", used ? "; " : " (", knob->name.key,
					 before, effect);
	}
	if (used)
		snprintf(out + used, size - used, ")");
}

/* ". GPU 0 had 26.0 GiB of 79.2 GiB at its peak: ..."; "": it has no room, or the remedy is about nothing that is offloaded. */
static void say_room(const struct advice *advice, const char *remedy, char *out, size_t size)
{
	const struct advise_run *run = &advice->run;
	char held[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];

	*out = '\0';
	if (remedy && strstr(remedy, "offload") && run->total && strcmp(run->kind, "cpu") && run->peak < run->total / 2)
		snprintf(out, size, ". %s had %s of %s at its peak: what is offloaded may have room there",
			 answer_device(device, run->number, run->kind), text_bytes(held, run->peak),
			 text_bytes(total, run->total));
}

/* Appends what helps where others grew, by a good part of what grew at the first place, if somebody knows that and it fits in whole. */
static void say_also(const struct advice *advice, const struct host_growth growth[HOST_PLACES], char *instead,
		     size_t room)
{
	const struct host_growth *other = &growth[1];
	const char *remedy = is_much(other) && other->rose >= growth->rose / OWN_SHARE ? remedy_for(other) : NULL;
	char size[2][TEXT_SIZE_MAX], settings[192], also[ADVISE_EVIDENCE_MAX];
	size_t used = strlen(instead);

	if (!remedy || remedy == copies || remedy == remedy_for(growth))
		return;
	host_settings(advice, other->function, settings, sizeof(settings));
	if (used + (size_t)snprintf(also, sizeof(also),
				    ". Also, in %.60s (%.60s), where another had grown from %s to %s: %s%s",
				    other->function, other->place, text_bytes(size[0], other->first),
				    text_bytes(size[1], other->last), remedy, settings) <
	    room)
		memcpy(instead + used, also, strlen(also) + 1);
}

/* Where it grew, and what helps there. 1: that is known. */
static int grew_here(struct advice *advice, char *instead, size_t room)
{
	struct host_growth growth[HOST_PLACES];
	char size[2][TEXT_SIZE_MAX], gpu[112], settings[192];
	const char *remedy;

	if (!grew_much(advice, growth))
		return 0;
	remedy = remedy_for(growth);
	say_room(advice, remedy, gpu, sizeof(gpu));
	host_settings(advice, growth->function, settings, sizeof(settings));
	snprintf(instead, room, "%s%s. When it was last seen, in %.80s (%.80s), it had grown from %s to %s%.111s",
		 remedy ? remedy
			: "keep less there: see what it collects on the host, and whether each rank holds it whole, not its part",
		 settings, growth->function, growth->place, text_bytes(size[0], growth->first),
		 text_bytes(size[1], growth->last), gpu);
	say_also(advice, growth, instead, room);
	return 1;
}

/* Several processes have it together: what helps where they grew, else what such processes usually have too much of. */
static void say_together(struct advice *advice, const struct host_words *words, char *instead, size_t room)
{
	struct host_growth growth[HOST_PLACES];
	const char *remedy = grew_much(advice, growth) ? remedy_for(growth) : NULL;
	char size[3][TEXT_SIZE_MAX], settings[192], gpu[112];
	int first;

	text_bytes(size[0], words->recorded);
	if (!remedy) {
		snprintf(instead, room,
			 "the %u processes recorded here have %s together, so let each have less: a model or dataset that every rank "
			 "loads whole (let rank 0 alone load it, the others on the meta device: fsdp_cpu_ram_efficient_loading, "
			 "low_cpu_mem_usage), workers of data loaders, states that are offloaded; or start fewer ranks a node",
			 words->processes, size[0]);
		return;
	}
	host_settings(advice, growth->function, settings, sizeof(settings));
	say_room(advice, remedy, gpu, sizeof(gpu));
	first = *gpu && growth->alike > 1; /* of no rank alone: what all of them leave there counts as often */
	snprintf(instead, room,
		 "the %u processes recorded here have %s together, and %s in %.60s (%.60s), %sfrom %s to %s%.111s%s%s%s%.111s",
		 words->processes, size[0], growth->apart ? "one alone grew far more than the others," : "grew",
		 growth->function, growth->place, growth->apart ? "" : "one ", text_bytes(size[1], growth->first),
		 text_bytes(size[2], growth->last), first ? gpu : "",
		 first ? ", so turn the offload off first; then, or where nothing is offloaded, " : ": ", remedy,
		 settings, first ? "" : gpu);
	say_also(advice, growth, instead, room);
}

/* What to do about it, of one whose end the host was. */
static void say_instead(struct host_words *words, const struct query_host *row, char *instead)
{
	static const char others[] =
		"look at the other processes of the host, and at when they grew (memana top tells those that were recorded): this one is "
		"not what filled the host, and offloading more would make it worse";
	static const char children[] =
		"look at what else runs in this job's cgroup, such as forked workers of data loaders: start those with spawn or forkserver (what "
		"Python reads in a forked one becomes a copy of its own), or fewer of them, over data that is no Python objects (numpy, Arrow, "
		"memory-mapped); this process is not what filled it, and offloading more would make it worse";
	static const char anything[] =
		"give the job more host memory, or keep less there: states that are offloaded to it, checkpoints that are gathered on it, "
		"workers of data loaders, pinned buffers (memana top shows whose it is)";
	uint64_t all = !strcmp(row->pressure, "cgroup") || !strcmp(row->verdict, "cgroup")
			       ? (row->cgroup_limit ? row->cgroup_limit : row->cgroup)
			       : row->cgroup + row->available;
	int small = row->most_resident < all / OWN_SHARE;

	if (small && words->recorded > (words->processes > 1 ? row->cgroup / OWN_SHARE : all / 2)) {
		say_together(words->advice, words, instead, ADVISE_EVIDENCE_MAX);
		return;
	}
	if (!small && offloads_here(words->advice, instead, ADVISE_EVIDENCE_MAX))
		return;
	if ((!small || words->rose) && grew_here(words->advice, instead, ADVISE_EVIDENCE_MAX))
		return;
	snprintf(instead, ADVISE_EVIDENCE_MAX, "%s",
		 small && words->others_rose ? children
		 : small                     ? others
					     : anything);
}

/* The job's share of the machine is full, and the machine is not: more of it costs nothing but the asking. */
static void say_limit(const struct query_host *row, char *instead)
{
	size_t used = strlen(instead);
	char size[TEXT_SIZE_MAX], limit[TEXT_SIZE_MAX];

	if (row->cgroup_limit && row->cgroup >= row->cgroup_limit - row->cgroup_limit / FULL_SHARE &&
	    row->available > row->cgroup_limit / 2 && used < ADVISE_EVIDENCE_MAX)
		snprintf(instead + used, ADVISE_EVIDENCE_MAX - used,
			 ". Or raise the limit of its cgroup, %s (what the job or container asked for): the machine has %s "
			 "available",
			 text_bytes(limit, row->cgroup_limit), text_bytes(size, row->available));
}

static int take_host(void *context, const struct query_host *row)
{
	struct host_words *words = context;
	char size[TEXT_SIZE_MAX];

	if (!*row->verdict || words->told)
		return 0;
	words->told = 1;
	snprintf(words->evidence, ADVISE_EVIDENCE_MAX,
		 "pid %lld is gone for want of host memory (%s): it had %s resident; the GPU was not why",
		 (long long)row->pid,
		 strcmp(row->verdict, "left") ? row->verdict : "it left while the machine was nearly full",
		 text_bytes(size, row->most_resident));
	say_instead(words, row, words->instead);
	say_limit(row, words->instead);
	return 0;
}

int advise_host_says(struct advice *advice, char evidence[ADVISE_EVIDENCE_MAX], char instead[ADVISE_EVIDENCE_MAX])
{
	struct host_words words = { .advice = advice, .evidence = evidence, .instead = instead };
	struct host_sum sum;
	int error = query_hosts(advice->run.db, add_host, &words);

	if (!error)
		error = host_sum(&sum, advice->run.db);
	if (!error) {
		words.rose = host_sum_rose(&sum);
		words.others_rose = host_sum_others_rose(&sum);
		error = query_hosts(advice->run.db, take_host, &words);
	}
	return error ? error : words.told;
}
