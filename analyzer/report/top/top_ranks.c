#include "top.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "query/callstack.h"
#include "report/peak_verdict.h"

/* ---- text ---- */

/* Says "alloc_activations (rl_step.c)". */
static void say_place(struct sentence *sentence, const struct rank *rank)
{
	sentence_say_clean(sentence, *rank->function ? rank->function
				     : *rank->file   ? "code without a name"
						     : "code without a recorded stack");
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
	sentence_say(sentence, "The highest peak of %u GPUs is %s (%s)", ranks->count, text_bytes(size, highest->bytes),
		     ranks_name(name, highest));
	if (text_known.history) {
		sentence_say(sentence, ", ");
		peak_say_phase(sentence, highest->phase, 0, 0);
	}
	sentence_say(sentence, "; the median is %s, the least %s (%s).", text_bytes(median, ranks->median),
		     text_bytes(least, lowest->bytes), ranks_name(name, lowest));
}

/* Returns the first rank with another largest place; NULL: no such rank. */
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
		sentence_say(sentence, " The largest part is not by the same place on most of them:");
	}
	if (!highest->is_usual)
		odd = highest;
	sentence_say(sentence, " on %s by ", ranks_name(name, odd));
	say_place(sentence, odd);
	sentence_say(sentence, ".");
}

/* Writes "+36%": the largest peak compared with the median. */
static const char *excess(char out[TEXT_SIZE_MAX], const struct rank_phase *phase)
{
	char share[TEXT_SIZE_MAX];

	if (!phase->median || phase->most == phase->median)
		return "even";
	snprintf(out, TEXT_SIZE_MAX, "+%.30s", text_percent(share, phase->most - phase->median, phase->median));
	return out;
}

static const char *highest_words(char store[COLUMN_STORE], const struct rank_phase *phase)
{
	return phase->most == phase->least ? "" : ranks_name(store, phase->highest);
}

#define RANKS_PHASE_COLUMNS(X, T)                                                                  \
	X(T, phase, PHASE, "Peak by phase", it->phase, "name of the phase")                        \
	X(T, ranks, NUMBER, "GPUs", it->ranks, "GPUs whose processes ran it")                      \
	X(T, least_bytes, BYTES, "least", it->least, "lowest of their peaks while it ran")         \
	X(T, median_bytes, BYTES, "median", it->median, "median of these peaks")                   \
	X(T, most_bytes, BYTES, "most", it->most, "highest of these peaks")                        \
	X(T, over, FIGURE, "over", excess(value->store, it), "the highest over the median")        \
	X(T, most_device, NUMBER, NULL, it->highest->number, "number of the GPU with the highest") \
	X(T, by, LABEL, "by", highest_words(value->store, it), "that GPU, by its rank")

COLUMN_TABLE(ranks_phase, struct rank_phase, RANKS_PHASE_COLUMNS)

void top_ranks_text(const struct text *text, const struct ranks *ranks, const char *name)
{
	struct sentence sentence = { 0 };
	char who[RANKS_WORD_MAX];

	if (ranks->count < 2)
		return;
	say_peaks(&sentence, ranks);
	say_sites(&sentence, ranks);
	text_style(text, TEXT_BOLD);
	text_wrap(text, 0, 0, sentence.text);
	text_style(text, TEXT_PLAIN);
	text_print(text, "\n");
	if (ranks->phases) {
		column_text(text, &ranks_phase_columns, ranks->phase, ranks->phases, sizeof(*ranks->phase));
		text_print(text, "\n");
	}
	if (ranks->count < TOP_RANKS_MANY)
		return;
	text_style(text, TEXT_DIM);
	text_print(text, "Below: %s. The others: memana top --device N %s\n\n",
		   ranks_name(who, &ranks->rank[ranks->highest]), name);
	text_style(text, TEXT_PLAIN);
}

/* ---- JSON ---- */

static void list_site(struct doc *doc, const char *key, const void *row)
{
	const struct rank *rank = row;

	doc_object(doc, key);
	doc_string(doc, "function", rank->function);
	doc_string(doc, "file", rank->file);
	doc_int(doc, "line", rank->line);
	doc_int(doc, "bytes", (int64_t)rank->site_bytes);
	doc_end(doc);
}

#define RANKS_COLUMNS(X, T)                                                                                  \
	X(T, rank, NUMBER, NULL, COLUMN_IF(it->rank >= 0, it->rank), "rank of the process that was at work") \
	X(T, device, NUMBER, NULL, it->number, "number of the GPU")                                          \
	X(T, pid, PID, NULL, it->pid, "the process")                                                         \
	X(T, bytes, BYTES, NULL, it->bytes, "peak")                                                          \
	X(T, phase, PHASE, NULL, it->phase, "phase of the peak")                                             \
	X(T, step, NUMBER, NULL, it->step, "step of the peak")                                               \
	X(T, site, LIST, NULL, list_site, "largest place at the peak")                                       \
	X(T, usual_site, FLAG, NULL, it->is_usual, "whether most GPUs have the same place")

COLUMN_TABLE(ranks, struct rank, RANKS_COLUMNS)

void top_ranks_json(struct doc *doc, const struct ranks *ranks)
{
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
	column_json_rows(doc, "phases", &ranks_phase_columns, ranks->phase, ranks->phases, sizeof(*ranks->phase));
	column_json_rows(doc, "gpus", &ranks_columns, ranks->rank, ranks->count, sizeof(*ranks->rank));
	doc_end(doc);
}
