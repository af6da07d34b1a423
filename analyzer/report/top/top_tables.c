/* top_tables.c - prints the parts of a device's peak, and the peak of each phase. */
#include <stdio.h>
#include <string.h>
#include "memtrace/phase.h"
#include "report/answer.h"
#include "top_report.h"

#define BAR_COLUMNS 32
#define TRUST_COLUMNS 12

/* Whether the bar can be seen. Words before an invisible bar need no alignment. */
static int has_bar(uint64_t bytes, uint64_t whole, int columns)
{
	return bytes >= whole / (uint64_t)(columns * 2);
}

/*
 * Prints " forward 25.7 GiB 42% #############", in the phase's colour if the word is a phase. Categories have "probable " or the like before the bar.
 */
static void print_share(const struct top_report *report, const char *word, const char *phase, const char *trust,
			uint64_t bytes, uint64_t whole)
{
	char clean[128], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];
	int columns = BAR_COLUMNS;

	text_phase_print(report->text, phase, "  %-*s", TOP_WORD_COLUMNS,
			 text_fit(clean, sizeof(clean), word, TOP_WORD_COLUMNS, 0));
	text_print(report->text, " %10s  %5s", text_bytes(size, bytes), text_percent(share, bytes, whole));
	if (trust) {
		columns -= TRUST_COLUMNS + 2;
		text_style(report->text, TEXT_DIM);
		text_print(report->text, "  %-*s", has_bar(bytes, whole, columns) ? TRUST_COLUMNS : 0, trust);
		text_style(report->text, TEXT_PLAIN);
	}
	text_phase_bar(report->text, phase, bytes, whole, columns);
	text_print(report->text, "\n");
}

/* Prints the evidence of the largest place of the category. */
static void print_category_why(const struct top_report *report, const char *category, const char *trust)
{
	struct sentence sentence = { 0 };
	char clean[512];
	size_t i;

	for (i = 0; i < report->places.count; i++) {
		if (strcmp(report->places.place[i].category, category) || !*report->places.place[i].evidence)
			continue;
		text_fit(clean, sizeof(clean), report->places.place[i].evidence, TOP_WHY_COLUMNS, 0);
		sentence_say(&sentence, "largest: %s (all of it: %s)", clean, trust);
		text_style(report->text, TEXT_DIM);
		text_wrap(report->text, 4, 0, sentence.text);
		text_style(report->text, TEXT_PLAIN);
		return;
	}
}

/* Writes the source of the category: "known", "by a rule", "probable", "62% known". Slack is counted, and not judged. */
static const char *trust_of(char *out, size_t size, const struct query_part *row)
{
	const char *known = query_known(row->bytes, row->rule, row->bytes - row->known - row->rule);
	char share[TEXT_SIZE_MAX];

	if (!strcmp(row->word, mt_category_name(MT_CATEGORY_OTHER)))
		snprintf(out, size, "not known");
	else if (!strcmp(row->word, mt_category_name(MT_CATEGORY_SLACK)) || !strcmp(known, "census"))
		snprintf(out, size, "known");
	else if (!strcmp(known, "rule"))
		snprintf(out, size, "by a rule");
	else if (row->known + row->rule < row->bytes / 2)
		snprintf(out, size, "probable");
	else
		snprintf(out, size, "%s %s", text_percent(share, row->known + row->rule, row->bytes),
			 row->known >= row->rule ? "known" : "by rule");
	return out;
}

static int print_part(void *context, const struct query_part *row)
{
	const struct top_report *report = context;

	print_share(report, row->word, "", NULL, row->bytes, report->device->peak.bytes);
	return 0;
}

static int print_phase(void *context, const struct query_part *row)
{
	const struct top_report *report = context;

	print_share(report, answer_phase(row->word), row->word, NULL, row->bytes, report->device->peak.bytes);
	return 0;
}

static int print_category(void *context, const struct query_part *row)
{
	const struct top_report *report = context;
	char trust[64];

	trust_of(trust, sizeof(trust), row);
	print_share(report, row->word, "", report->options->why ? NULL : trust, row->bytes, report->device->peak.bytes);
	if (report->options->why)
		print_category_why(report, row->word, trust);
	return 0;
}

int top_print_parts(struct top_report *report, enum query_by by)
{
	static const char *const titles[QUERY_BY_COUNT] = {
		[QUERY_BY_PHASE] = "By the phase that allocated it",
		[QUERY_BY_CATEGORY] = "By what it is",
		[QUERY_BY_OWNER] = "By who asked for it",
		[QUERY_BY_PROCESS] = "By process",
	};

	if (by == QUERY_BY_PHASE && report->options->moment.kind <= MOMENT_STEP)
		answer_title(report->text, "At the peak, by the phase that allocated it");
	else
		answer_title(report->text, titles[by]);
	return query_parts(report->db, report->device->id, by,
			   by == QUERY_BY_PHASE      ? print_phase
			   : by == QUERY_BY_CATEGORY ? print_category
						     : print_part,
			   report);
}

static int print_phase_peak(void *context, const struct query_phase_peak *row)
{
	struct top_report *report = context;
	uint64_t whole = report->device->total ? report->device->total : report->device->peak.bytes;
	char word[64], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX] = "", time[TEXT_SIZE_MAX], step[48] = "";
	char tensors[TEXT_SIZE_MAX], what[64];

	if (row->tensors && strcmp(report->device->kind, "cpu"))
		snprintf(what, sizeof(what), "%s in tensors", text_bytes(tensors, row->tensors));
	else
		snprintf(what, sizeof(what), "%s", text_known.times ? text_at(time, row->time) + 1 : "");
	if (report->steps)
		snprintf(step, sizeof(step), "step %lld", (long long)row->step);
	if (row->bytes <= whole) /* if the size of the device is unknown, `whole` can be the bytes of another moment */
		text_percent(share, row->bytes, whole);
	text_phase_print(report->text, row->phase, "  %-*s", TOP_WORD_COLUMNS,
			 text_fit(word, sizeof(word), row->phase, TOP_WORD_COLUMNS, 0));
	text_print(report->text, " %10s  %5s%s", text_bytes(size, row->bytes), share, what[0] || *step ? "  " : "");
	text_style(report->text, TEXT_DIM);
	text_print(report->text, "%s%s%s\n", what, *what && *step ? ", " : "", step);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

static int count_part(void *context, const struct query_part *row)
{
	(void)row;
	++*(int *)context;
	return 0;
}

int top_has_owners(const struct top_report *report)
{
	int owners = 0;

	return !query_parts(report->db, report->device->id, QUERY_BY_OWNER, count_part, &owners) && owners > 1;
}

int top_print_phase_peaks(struct top_report *report)
{
	answer_title(report->text, "The most the device held while each phase ran");
	return query_phase_peaks(report->db, report->device->id, print_phase_peak, report);
}
