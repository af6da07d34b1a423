/* What is larger than all before: a sample, a micro-batch, or what one rank has of them. What could come in pieces, or in smaller messages. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "advise.h"
#include "advise_choice.h"
#include "advise_turn.h"
#include "memtrace/base.h"
#include "report/answer.h"
#include "report/oom/oom_words.h"

#define SQUARE 3 /* so many times as many bytes: below, a root of them may be anything's */
#define FAR 3    /* a GPU that has more than another by one part in so many */

/* ---- one that is larger than all before ---------------------------------------------------------------------------------- */

/* A row: there is one. */
static int takes_row(void *context, struct db_stmt *row)
{
	(void)row;
	*(int *)context = 1;
	return 0;
}

/* The place is below a part of the model that sees pictures. */
static int is_of_pictures(const struct advice *advice)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE function LIKE '%vision%' OR function LIKE '%visual%' LIMIT 1";
	const int64_t node[ANSWER_PARAMETERS] = { advice->run.oom.place->node };
	int seen = 0;

	return node[0] && !answer_rows(advice->run.db, sql, node, takes_row, &seen) && seen;
}

/* How many times as large as all before the place's largest may be, that the request fits; 0: as things are, it does not. */
static double times_that_fit(const struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	const struct replay *replay = &advice->run.replay;
	double there = (double)oom->place->bytes, kept;
	uint32_t i;

	if (advice->needed && replay->site[replay->request.site].node == oom->place->node)
		there += (double)oom->it->requested;
	/* What comes after it, of which what is missing has its part, goes with the sample, too. */
	for (i = 0; i < replay->later.changes; i++)
		if (TURN_PASSING & 1u << replay->site[replay->later.change[i].site].category &&
		    replay->later.change[i].bytes > 0)
			there += replay->later.change[i].bytes;
	kept = there - (double)advice->needed;
	return kept > 0 ? kept / there * (double)oom->piece / (double)oom->piece_before : 0;
}

/*
 * What helps in the place of the usual was said, and it is about what passes through the model: that its sample is larger than all
 * before is another thing, and the user has to know it.
 */
static int is_larger_too(const struct advice *advice)
{
	static const enum mt_category of_samples[] = { MT_CATEGORY_ACTIVATIONS, MT_CATEGORY_RECOMPUTED,
						       MT_CATEGORY_LOGITS,      MT_CATEGORY_WORKSPACE,
						       MT_CATEGORY_KV_CACHE,    MT_CATEGORY_EVALUATION };
	const struct oom *oom = &advice->run.oom;
	size_t i;

	if (!advice->run.failed || advice->refusals != 1 || !advice->refusal[0].told || !oom->place ||
	    oom_is_others(oom) || oom->left_over || oom->waits || oom->own_engine || oom->crowded || oom->starved ||
	    oom->outlier)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(of_samples); i++)
		if (!strcmp(oom->place->category, mt_category_name(of_samples[i])))
			return 1;
	return 0;
}

struct longer {
	double times; /* 0: it is not known */
	char function[128], place[128];
};

static int take_longer(void *context, struct db_stmt *row)
{
	struct longer *longer = context;

	longer->times = (double)db_int(row, 0) / (double)db_int(row, 1);
	mt_copy_text(longer->function, sizeof(longer->function), db_text(row, 2));
	mt_copy_text(longer->place, sizeof(longer->place), db_text(row, 3));
	return 0;
}

/*
 * Attention has a number for each pair of tokens: bytes that are 26 times as many are of a sample that is 5.1 times as long. What else
 * came with this sample tells, where there is something that grew by the root of it.
 */
static int find_longer(const struct advice *advice, struct longer *longer)
{
	static const char sql[] =
		"WITH asker AS (SELECT process, phase, place, function FROM site JOIN place USING (node) WHERE node = ?1 LIMIT 1), "
		"every AS MATERIALIZED (SELECT alloc_seq, allocation.bytes AS bytes, place.function AS function, place.place AS place, "
		"place.place = asker.place AND place.function = asker.function AS own FROM allocation JOIN place USING (node) "
		"JOIN asker USING (process) WHERE alloc_seq <= ?2 AND memory = 'tensor' AND allocation.phase IN (asker.phase, 'other') "
		"AND category NOT IN ('weights', 'gradients', 'optimizer state', 'kv cache')), "
		"edge AS (SELECT max(alloc_seq) AS seq FROM every WHERE own AND alloc_seq < (SELECT min(alloc_seq) FROM every WHERE own "
		"AND bytes > ?4)) "
		"SELECT now, before, function, place FROM (SELECT max(bytes) FILTER (WHERE alloc_seq > seq) AS now, "
		"max(bytes) FILTER (WHERE alloc_seq <= seq) AS before, function, place FROM every, edge WHERE NOT own GROUP BY function, place) "
		"WHERE now > before AND (1.0 * now / before) * now / before * ?4 / ?3 BETWEEN 0.9 AND 1.1 ORDER BY now DESC LIMIT 1";
	const struct oom *oom = &advice->run.oom;
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->place->node, oom->it->seq, (int64_t)oom->piece,
						       (int64_t)oom->piece_before };

	*longer = (struct longer){ .times = 0 };
	if (oom->piece < SQUARE * oom->piece_before)
		return 0;
	return answer_rows(advice->run.db, sql, parameter, take_longer, longer);
}

/* "26", "5.1", "1.4" */
static const char *times_words(char out[32], double times)
{
	snprintf(out, 32, times < 10 ? "%.2g" : "%.0f", times);
	return out;
}

/* Whole tenths of its root. */
static double root_of(double number)
{
	unsigned tenths = 0;

	while (tenths < 10000 && (tenths + 1.0) * (tenths + 1.0) <= 100 * number)
		tenths++;
	return tenths / 10.0;
}

/* "look at this sample, and cap the length of samples: ..." */
static int say_cap(const struct advice *advice, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom *oom = &advice->run.oom;
	int pictures = is_of_pictures(advice), used;
	double times = (double)oom->piece / (double)oom->piece_before, fit = times_that_fit(advice);
	struct longer longer;
	char number[32];
	int error = find_longer(advice, &longer);

	if (error)
		return error;
	used = snprintf(out, ADVISE_EVIDENCE_MAX, "look at this sample, and cap %s: ",
			pictures ? "the pixels of a picture or video (max_pixels of the processor)"
				 : "the length of samples");
	if (longer.times > 0)
		used += snprintf(out + used, ADVISE_EVIDENCE_MAX - (size_t)used,
				 "it is %s times as %s as any before, by what %.100s (%.60s) makes of it, and what %.100s makes goes with the "
				 "square of that",
				 times_words(number, longer.times), pictures ? "large" : "long", longer.function,
				 longer.place, oom->place->function);
	else
		used += snprintf(out + used, ADVISE_EVIDENCE_MAX - (size_t)used,
				 "what is made of it is %s times as large as any before", times_words(number, times));
	if (fit > 1 && fit < times && longer.times > 0)
		snprintf(out + used, ADVISE_EVIDENCE_MAX - (size_t)used, ", so %.3g times as %s would have fitted",
			 root_of(fit), pictures ? "large" : "long");
	else if (fit > 1 && fit < times)
		snprintf(out + used, ADVISE_EVIDENCE_MAX - (size_t)used, ", and %.3g times as much would have fitted",
			 floor(10 * fit) / 10);
	return 0;
}

int advise_refuse_outlier(struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	char text[ADVISE_EVIDENCE_MAX], instead[ADVISE_EVIDENCE_MAX], now[TEXT_SIZE_MAX], before[TEXT_SIZE_MAX];
	char number[32];
	int error;

	if ((advice->refusals && !is_larger_too(advice)) || !advice->run.failed || oom->rule != OOM_LARGEST ||
	    !oom_is_larger(oom) || oom->uneven)
		return 0;
	error = say_cap(advice, instead);
	if (error)
		return error;
	snprintf(text, sizeof(text),
		 "%s nothing that %s allocated was larger than %s, now it is %s, %s times as much%s: one "
		 "micro-batch, or one sample of it, is larger than all before",
		 oom->by_samples ? "before," : "in the steps before",
		 *oom->place->function ? oom->place->function : oom->place->place,
		 text_bytes(before, oom->piece_before), text_bytes(now, oom->piece),
		 times_words(number, (double)oom->piece / (double)oom->piece_before),
		 oom_is_rising(oom) ? ", and each step before had more than the one before it" : "");
	return advise_add_refusal(advice, ADVISE_REASON_OUTLIER, 0, text, instead);
}

/* Logits, which tell the tokens, of more than all before; where no setting comes first that caps a sample, or that is cheap. */
int advise_refuse_tokens(struct advice *advice)
{
	const struct oom_logits *logits = &advice->run.oom.logits;
	char text[ADVISE_EVIDENCE_MAX], instead[ADVISE_EVIDENCE_MAX], now[TEXT_SIZE_MAX], before[TEXT_SIZE_MAX];

	if (!advise_is_outlier(advice) ||
	    (advice->rows && advice->row->fits &&
	     (advice->row->sample || (!*advice->row->only && advice->row->cost <= MT_KNOB_COST_SOME_TIME))))
		return 0;
	text_number(now, logits->tokens);
	text_number(before, logits->earlier);
	snprintf(text, sizeof(text),
		 "no micro-batch before it had more than %s tokens, this one has %s: one sample of it, or their number, is that much "
		 "larger",
		 before, now);
	snprintf(instead, sizeof(instead),
		 "look at this micro-batch: it has %s tokens, and none before had more than %s. If that is one sample, cap the length "
		 "of samples; else the tokens of a micro-batch",
		 now, before);
	return advise_add_told(advice, ADVISE_REASON_OUTLIER, 0, text, instead);
}

/* ---- ranks that are not alike -------------------------------------------------------------------------------------------- */

/* It deals samples out by their tokens. */
static int is_balancing(const struct mt_knob *knob)
{
	return knob->measure == MT_KNOB_UNIT_SWITCH && knob->saves == MT_KNOB_SAVES_ON && !knob->instead &&
	       knob->method == MT_KNOB_METHOD_TOKENS && knob->phases & 1u << MT_PHASE_FORWARD &&
	       (strstr(knob->name.key, "balance") || strstr(knob->name.key, "use_dynamic") ||
		strstr(knob->name.key, "use-dynamic"));
}

/* Names of such settings of the main framework that can be turned on, and of one that is on: ": a, b; c is on by default, ...". */
static void balancing_settings(const struct advice *advice, char *out, size_t size)
{
	struct advise_config *config = advice->config;
	const struct mt_knob *knob;
	char why[ADVISE_WORDS_MAX], on[192] = "";
	enum advise_standing standing;
	struct advise_value value;
	size_t used = 0;
	uint32_t i, names = 0;

	*out = '\0';
	for (i = 0; config->parts && i < config->part[0].file->knobs && names < 2; i++) {
		knob = &config->part[0].file->knob[i];
		if (!is_balancing(knob))
			continue;
		standing = advise_config_standing(config, knob, ADVISE_AS_IS, &advice->facts, why);
		value = advise_config_value(config, knob, ADVISE_AS_IS);
		if (standing == ADVISE_STANDING_ALREADY && value.origin == ADVISE_DEFAULT)
			snprintf(on, sizeof(on), "; %.96s is on by default, see that nothing turns it off",
				 knob->name.key);
		else if (standing == ADVISE_STANDING_ALREADY || advise_is_proved(advice, knob, why))
			snprintf(on, sizeof(on), "; %.96s is on and does not reach this", knob->name.key);
		else if (standing == ADVISE_STANDING_OPEN)
			used += (size_t)snprintf(out + used, size - used, "%s%.96s", names++ ? ", " : ": ",
						 knob->name.key);
	}
	snprintf(out + used, size - used, "%s", on);
}

struct others {
	uint64_t least;
	int64_t number;
};

static int take_other(void *context, struct db_stmt *row)
{
	*(struct others *)context = (struct others){ (uint64_t)db_int(row, 0), db_int(row, 1) };
	return 0;
}

/* Of what a micro-batch makes: what is there whatever the samples are no dealing moves. */
int advise_refuse_uneven(struct advice *advice)
{
	static const char sql[] =
		"SELECT peak.bytes, other.number FROM device AS other JOIN peak ON peak.device = other.id JOIN device AS one "
		"ON one.id = ?1 AND other.kind = one.kind AND other.id <> one.id AND one.kind <> 'cpu' "
		"WHERE EXISTS (SELECT 1 FROM site JOIN phase_span USING (process) WHERE site.device = other.id "
		"AND phase_span.phase IN ('forward', 'backward')) ORDER BY 1, 2 LIMIT 1";
	const int64_t device[ANSWER_PARAMETERS] = { advice->run.device };
	const struct advise_run *run = &advice->run;
	uint32_t passing = 1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_LOGITS | 1u << MT_CATEGORY_RECOMPUTED |
			   1u << MT_CATEGORY_WORKSPACE;
	char text[ADVISE_EVIDENCE_MAX], instead[ADVISE_EVIDENCE_MAX], names[400], size[2][TEXT_SIZE_MAX];
	struct others others = { UINT64_MAX, 0 };
	uint64_t more;
	int error = answer_rows(run->db, sql, device, take_other, &others);

	more = others.least < run->peak ? run->peak - others.least : 0;
	if (error || (!run->failed && run->peak < run->total / 10 * 9) || more < run->peak / FAR ||
	    advise_held_then(run, passing) < more)
		return error;
	balancing_settings(advice, names, sizeof(names));
	snprintf(text, sizeof(text), "GPU %lld had %s at most, %s less than this one", (long long)others.number,
		 text_bytes(size[0], others.least), text_bytes(size[1], more));
	snprintf(instead, sizeof(instead),
		 "deal the tokens out evenly%s. GPU %lld has %s less at its peak; half of that could go from here",
		 names, (long long)others.number, text_bytes(size[1], more));
	/* Where nothing failed the verdict has it. */
	return run->failed ? advise_add_refusal(advice, ADVISE_REASON_UNEVEN, 0, text, instead)
			   : advise_add_told(advice, ADVISE_REASON_UNEVEN, 0, text, instead);
}

/* ---- in pieces ----------------------------------------------------------------------------------------------------------- */

/* Logits of half the size in the process that asks: the same ones, in 16 bits. 0: none are there. */
static uint64_t narrow_logits(const struct advice *advice)
{
	const struct oom_failure *it = advice->run.oom.it;
	const struct replay *replay = &advice->run.replay;
	const struct replay_site *site;
	uint32_t i;

	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		if (site->category == MT_CATEGORY_LOGITS && site->process == it->process && site->then_count &&
		    site->largest == it->requested / 2)
			return site->largest;
	}
	return 0;
}

/* Whoever asked is no function of PyTorch's own, but one that calls them. */
static int asks_itself(const struct advice *advice)
{
	static const char sql[] =
		"WITH RECURSIVE up(id, depth) AS (SELECT ?1, 0 UNION SELECT parent, depth + 1 FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL), "
		"python AS (SELECT file FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame WHERE kind = 'python' ORDER BY depth LIMIT 1) "
		"SELECT 1 FROM python WHERE file NOT LIKE 'torch/%' AND file NOT LIKE '%/torch/%'";
	const int64_t node[ANSWER_PARAMETERS] = { advice->run.oom.it->node };
	int seen = 0;

	return node[0] && !answer_rows(advice->run.db, sql, node, takes_row, &seen) && seen;
}

/* A setting that makes them in pieces, and is enough. */
static int has_fused(const struct advice *advice)
{
	size_t i;

	for (i = 0; i < advice->rows; i++)
		if (advice->row[i].fits && !*advice->row[i].only &&
		    advice->row[i].knob->method == MT_KNOB_METHOD_LOGITS)
			return 1;
	return 0;
}

/* Or one that makes fewer of them whatever the samples are, or gives the room that an engine was left. */
static int has_pieces(const struct advice *advice)
{
	const struct advise_row *first = advice->row;

	if (advice->rows && first->fits && !*first->only &&
	    (first->knob->method == MT_KNOB_METHOD_SHARE ||
	     (first->knob->method == MT_KNOB_METHOD_TOKENS && !advise_may_end_run(advice, first->knob))))
		return 1;
	return has_fused(advice);
}

/* Most of what is there and asked for are the same logits, one copy after another: more than any engine beside them has to give. */
static int refuse_copies(struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	const struct oom_same *same = &oom->same;
	char text[ADVISE_EVIDENCE_MAX], instead[ADVISE_EVIDENCE_MAX], size[2][TEXT_SIZE_MAX];

	text_bytes(size[0], oom->it->requested);
	text_bytes(size[1], same->bytes);
	snprintf(text, sizeof(text), "%s are asked for beside %llu tensors of logits as large, %s", size[0],
		 (unsigned long long)same->count, size[1]);
	snprintf(instead, sizeof(instead),
		 "let %.100s (%.100s) not copy the logits once more: %llu tensors as large are there already, %s; free what was copied (del) "
		 "before, or write them into one tensor from the start; where they are gathered of other ranks, let each have its own part; "
		 "else fewer tokens at a time",
		 oom->it->function, oom->it->place, (unsigned long long)same->count, size[1]);
	return advise_add_told(advice, ADVISE_REASON_LEFT, 0, text, instead);
}

/* Of all that was needed, half. */
static int is_of_copies(const struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;

	return oom->same.count && oom->same.wider == 1 && !oom->evaluates &&
	       !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_LOGITS)) &&
	       oom->same.bytes + oom->it->requested > oom->it->total / 2;
}

int advise_refuse_cast(struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	char text[ADVISE_EVIDENCE_MAX], instead[ADVISE_EVIDENCE_MAX], size[2][TEXT_SIZE_MAX];
	uint64_t narrow;

	if (!advice->run.failed || advice->refusals)
		return 0;
	if (is_of_copies(advice) && asks_itself(advice) && !has_fused(advice))
		return refuse_copies(advice);
	if (!oom->logits.tokens || oom->logits.element != 4 || advice->needed > oom->it->requested ||
	    has_pieces(advice))
		return 0;
	narrow = narrow_logits(advice);
	if (!narrow || !asks_itself(advice))
		return 0;
	text_bytes(size[0], oom->it->requested);
	text_bytes(size[1], narrow);
	snprintf(text, sizeof(text), "%s are asked for beside logits of %s: probably the same ones, in float32",
		 size[0], size[1]);
	snprintf(instead, sizeof(instead),
		 "let %.100s (%.100s) cast fewer logits at a time, or only those that it reads: %s is what %s of them are in float32, all at "
		 "once (where that is not your code, another version may do it in pieces)",
		 oom->it->function, oom->it->place, size[0], size[1]);
	return advise_add_told(advice, ADVISE_REASON_LEFT, 0, text, instead);
}

/* An autoencoder of pictures is on the stack that asked. */
static int is_of_autoencoder(const struct advice *advice)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame WHERE file LIKE '%diffusers/%' AND "
		"(file LIKE '%/vae.py' OR file LIKE '%/autoencoder%') AND (function LIKE '%decode%' OR function LIKE '%encode%') LIMIT 1";
	const int64_t node[ANSWER_PARAMETERS] = { advice->run.oom.it->node };
	int seen = 0;

	return node[0] && !answer_rows(advice->run.db, sql, node, takes_row, &seen) && seen;
}

void advise_say_tiles(struct advice *advice)
{
	struct advise_refusal *refusal = advice->refusal;

	if (!advice->run.failed || !advice->refusals || !refusal->told || !advice->run.oom.infers ||
	    oom_special_remedy(&advice->run.oom) == NULL || !is_of_autoencoder(advice))
		return;
	snprintf(refusal->instead, sizeof(refusal->instead),
		 "nothing is trained in this process, and it is the autoencoder that asks: let it work in tiles (enable_vae_tiling() of the "
		 "pipeline, or enable_tiling() of the autoencoder), and on one picture at a time where it has several (enable_vae_slicing(), "
		 "enable_slicing()); else a smaller picture");
}

/* ---- what another program sends -------------------------------------------------------------------------------------------- */

/* Settings of those that send weights to engines, one of each framework; how many bytes of names fit. */
static void sending_settings(const struct advice *advice, char *out, size_t size)
{
	const struct mt_knob_file *file;
	const struct mt_knob *knob;
	size_t used = 0;
	uint32_t i, k;

	*out = '\0';
	for (i = 0; i < advice->knobs->files; i++)
		for (file = &advice->knobs->file[i], k = 0; k < file->knobs; k++) {
			knob = &file->knob[k];
			if (knob->method != MT_KNOB_METHOD_BUCKET || knob->saves != MT_KNOB_SAVES_LOWER ||
			    knob->categories != 1u << MT_CATEGORY_WEIGHT_BUFFERS || knob->instead ||
			    !(knob->processes & 1u << MT_KNOB_PROCESS_TRAINER) ||
			    used + strlen(knob->name.key) + 32 > size)
				continue;
			used += (size_t)snprintf(out + used, size - used, "%s%s of %s", used ? ", " : "",
						 knob->name.key, file->framework);
			break;
		}
}

/* An engine alone was recorded, and received more at once than it had room for: how much, its sender says. */
int advise_refuse_messages(struct advice *advice)
{
	const struct advise_config *config = advice->config;
	const char *engine = config->parts ? config->part[0].file->framework : "";
	char instead[ADVISE_EVIDENCE_MAX], names[320];
	struct sentence why = { .size = 0 };

	if (!advice->run.failed || advice->run.oom.rule != OOM_LARGEST ||
	    strcmp(advice->run.oom.rule_category, mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS)) ||
	    (strcmp(engine, "vllm") && strcmp(engine, "sglang")))
		return 0;
	sending_settings(advice, names, sizeof(names));
	snprintf(instead, sizeof(instead), "let whoever sends the weights send fewer at once (%s)", names);
	oom_say_next(&why, &advice->run.oom, "");
	return advise_add_told(advice, ADVISE_REASON_LEFT, 0, why.text, instead);
}
