#include "top.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "query/callstack.h"

/* ---- text ---- */

/* "alloc_activations (rl_step.c)" */
static void say_place(struct sentence *sentence, const struct rank *rank)
{
	sentence_say_clean(sentence, *rank->function ? rank->function : "code without a name");
	if (!*rank->file)
		return;
	sentence_say(sentence, " (");
	sentence_say_clean(sentence, text_base_name(rank->file));
	sentence_say(sentence, ")");
}

static void say_peaks(struct sentence *sentence, const struct ranks *ranks)
{
	const struct rank *highest = &ranks->rank[ranks->highest], *lowest = &ranks->rank[ranks->lowest];
	char name[RANKS_WORD_MAX], size[TEXT_SIZE_MAX], median[TEXT_SIZE_MAX], least[TEXT_SIZE_MAX];

	if (highest->bytes - lowest->bytes <= highest->bytes / 100) {
		sentence_say(sentence, "All %u GPUs peak within 1%% of each other, at %s at most (%s).", ranks->count,
			     text_bytes(size, highest->bytes), ranks_name(name, highest));
		return;
	}
	sentence_say(sentence, "Of %u GPUs that of %s peaks highest: %s", ranks->count, ranks_name(name, highest),
		     text_bytes(size, highest->bytes));
	if (strcmp(highest->phase, "other"))
		sentence_say(sentence, " in %s", highest->phase);
	sentence_say(sentence, "; the median is %s, the least %s (%s).", text_bytes(median, ranks->median),
		     text_bytes(least, lowest->bytes), ranks_name(name, lowest));
}

/* The first rank whose largest place is another one. */
static const struct rank *odd_one(const struct ranks *ranks)
{
	uint32_t i;

	for (i = 0; i < ranks->count; i++)
		if (!ranks->rank[i].is_usual)
			return &ranks->rank[i];
	return NULL;
}

static void say_sites(struct sentence *sentence, const struct ranks *ranks)
{
	const struct rank *highest = &ranks->rank[ranks->highest], *odd = odd_one(ranks);
	char name[RANKS_WORD_MAX];

	if (!odd) {
		sentence_say(sentence, " On all of them the largest part is by ");
		say_place(sentence, highest);
		sentence_say(sentence, ".");
		return;
	}
	if (ranks->usual_count * 2 > ranks->count) {
		sentence_say(sentence, " On %u the largest part is by ", ranks->usual_count);
		say_place(sentence, &ranks->rank[ranks->usual]);
		sentence_say(sentence, ",");
	} else {
		sentence_say(sentence, " No one place is behind it:");
	}
	if (!highest->is_usual)
		odd = highest;
	sentence_say(sentence, " on %s by ", ranks_name(name, odd));
	say_place(sentence, odd);
	sentence_say(sentence, ".");
}

/* "+36%" of the most over the median. */
static const char *excess(char out[TEXT_SIZE_MAX], const struct rank_phase *phase)
{
	char share[TEXT_SIZE_MAX];

	if (!phase->median || phase->most == phase->median)
		return "even";
	snprintf(out, TEXT_SIZE_MAX, "+%.30s", text_percent(share, phase->most - phase->median, phase->median));
	return out;
}

static void print_phase(const struct text *text, const struct ranks *ranks, const struct rank_phase *phase)
{
	char least[TEXT_SIZE_MAX], median[TEXT_SIZE_MAX], most[TEXT_SIZE_MAX], more[TEXT_SIZE_MAX];
	char name[RANKS_WORD_MAX];

	text_phase_print(text, phase->phase, "  %-14s", phase->phase);
	text_print(text, "%5u %11s %11s %11s %7s%s%.14s\n", phase->ranks, text_bytes(least, phase->least),
		   text_bytes(median, phase->median), text_bytes(most, phase->most), excess(more, phase),
		   phase->most == phase->least ? "" : "  ",
		   phase->most == phase->least ? "" : ranks_name(name, &ranks->rank[phase->highest]));
}

void top_ranks_text(const struct text *text, const struct ranks *ranks, const char *name)
{
	struct sentence sentence = { 0 };
	char who[RANKS_WORD_MAX];
	uint32_t i;

	if (ranks->count < 2)
		return;
	say_peaks(&sentence, ranks);
	say_sites(&sentence, ranks);
	text_style(text, TEXT_BOLD);
	text_wrap(text, 0, 0, sentence.text);
	text_style(text, TEXT_HEAD);
	text_print(text, "\n%-16s%5s %11s %11s %11s %7s  by\n", "Peak by phase", "GPUs", "least", "median", "most",
		   "over");
	text_style(text, TEXT_PLAIN);
	for (i = 0; i < ranks->phases; i++)
		print_phase(text, ranks, &ranks->phase[i]);
	text_print(text, "\n");
	if (ranks->count < TOP_RANKS_MANY)
		return;
	text_style(text, TEXT_DIM);
	text_print(text, "Below: %s. The others: memana top --device N %s\n\n",
		   ranks_name(who, &ranks->rank[ranks->highest]), name);
	text_style(text, TEXT_PLAIN);
}

/* ---- JSON ---- */

static void json_rank(struct doc *doc, const struct rank *rank)
{
	doc_object(doc, NULL);
	doc_int_or_null(doc, "rank", rank->rank, rank->rank >= 0);
	doc_int(doc, "device", rank->number);
	doc_pid(doc, "pid", rank->pid);
	doc_int(doc, "bytes", (int64_t)rank->bytes);
	doc_string(doc, "phase", rank->phase);
	doc_int(doc, "step", rank->step);
	doc_object(doc, "site");
	doc_string(doc, "function", rank->function);
	doc_string(doc, "file", rank->file);
	doc_int(doc, "line", rank->line);
	doc_int(doc, "bytes", (int64_t)rank->site_bytes);
	doc_end(doc);
	doc_bool(doc, "usual_site", rank->is_usual);
	doc_end(doc);
}

static void json_phase(struct doc *doc, const struct ranks *ranks, const struct rank_phase *phase)
{
	doc_object(doc, NULL);
	doc_string(doc, "phase", phase->phase);
	doc_int(doc, "ranks", phase->ranks);
	doc_int(doc, "least_bytes", (int64_t)phase->least);
	doc_int(doc, "median_bytes", (int64_t)phase->median);
	doc_int(doc, "most_bytes", (int64_t)phase->most);
	doc_int(doc, "most_device", ranks->rank[phase->highest].number);
	doc_end(doc);
}

void top_ranks_json(struct doc *doc, const struct ranks *ranks)
{
	uint32_t i;

	if (ranks->count < 2)
		return;
	doc_object(doc, "ranks");
	doc_int(doc, "count", ranks->count);
	doc_int(doc, "highest_device", ranks->rank[ranks->highest].number);
	doc_int(doc, "lowest_device", ranks->rank[ranks->lowest].number);
	doc_int(doc, "most_bytes", (int64_t)ranks->rank[ranks->highest].bytes);
	doc_int(doc, "median_bytes", (int64_t)ranks->median);
	doc_int(doc, "least_bytes", (int64_t)ranks->rank[ranks->lowest].bytes);
	doc_bool(doc, "same_site", ranks->usual_count == ranks->count);
	doc_array(doc, "phases");
	for (i = 0; i < ranks->phases; i++)
		json_phase(doc, ranks, &ranks->phase[i]);
	doc_end(doc);
	doc_array(doc, "gpus");
	for (i = 0; i < ranks->count; i++)
		json_rank(doc, &ranks->rank[i]);
	doc_end(doc);
	doc_end(doc);
}
