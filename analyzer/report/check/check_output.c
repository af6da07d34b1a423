/* The output of memana check: text, JSON, JUnit XML, and annotations of GitHub. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "check.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "report/command.h"

static void say_finding(struct sentence *sentence, const struct check *check, const struct check_finding *finding)
{
	int is_growth = !strcmp(finding->rule, "growth");
	char value[TEXT_SIZE_MAX], limit[TEXT_SIZE_MAX], base[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s%s%s", finding->subject, *finding->subject ? ": " : "",
		     is_growth && !finding->known ? "growth " : "");
	if (!finding->known) {
		sentence_say(sentence, "unknown: %s", finding->words);
		return;
	}
	if (is_growth)
		text_change(value, finding->value);
	else
		text_bytes(value, (uint64_t)finding->value);
	sentence_say(sentence, "%s%s%s, limit %s%s", check->lost ? "at least " : "", value, is_growth ? " a step" : "",
		     text_bytes(limit, (uint64_t)finding->limit), check->lost ? " (events are lost)" : "");
	if (finding->has_base)
		sentence_say(sentence, " (baseline %s)", text_bytes(base, (uint64_t)finding->base));
}

static void make_verdict(struct sentence *sentence, const struct check *check)
{
	const struct check_finding *worst = NULL;
	char count[64];
	size_t i;

	for (i = 0; i < check->count && !worst; i++)
		if (!check->finding[i].holds)
			worst = &check->finding[i];
	if (!worst) {
		sentence_say(sentence, "%s: all hold.", text_count(count, sizeof(count), check->count, "limit"));
		return;
	}
	sentence_say(sentence, "%zu of %s broken; ", check->broken,
		     text_count(count, sizeof(count), check->count, "limit"));
	sentence_say(sentence, "%s of ",
		     !strcmp(worst->rule, "growth")     ? "growth"
		     : !strcmp(worst->rule, "max-host") ? "use"
							: "peak");
	say_finding(sentence, check, worst);
	sentence_say(sentence, ".");
	if (!strcmp(worst->rule, "growth") && check->growth.size)
		sentence_say(sentence, " %s", check->growth.text);
}

void check_print_text(const struct check *check)
{
	struct sentence sentence = { .size = 0 };
	struct text text;
	size_t i;

	text_init(&text, stdout);
	make_verdict(&sentence, check);
	answer_verdict(&text, &sentence);
	for (i = 0; i < check->count; i++) {
		sentence.size = 0;
		say_finding(&sentence, check, &check->finding[i]);
		text_style(&text, check->finding[i].holds ? TEXT_GOOD : TEXT_BAD);
		text_print(&text, "%s", check->finding[i].holds ? "ok      " : "not ok  ");
		text_style(&text, TEXT_PLAIN);
		text_print(&text, "%-9s ", check->finding[i].rule);
		text_wrap(&text, 18, 18, sentence.text);
	}
}

#define CHECK_COLUMNS(X, T)                                                                    \
	X(T, rule, WORD, NULL, it->rule, "the limit: max-peak, growth or max-host")            \
	X(T, subject, WORD, NULL, it->subject, "device, process or both")                      \
	X(T, ok, FLAG, NULL, it->holds, "whether it holds")                                    \
	X(T, bytes, BYTES, NULL, COLUMN_IF(it->known, it->value), "the figure; null: unknown") \
	X(T, limit_bytes, BYTES, NULL, it->limit, "most that it may be")                       \
	X(T, baseline_bytes, BYTES, NULL, COLUMN_IF(it->has_base, it->base),                   \
	  "the figure of the baseline; null: the limit is another one")                        \
	X(T, why, WORD, NULL, it->words, "why the figure is unknown")

COLUMN_TABLE(check, struct check_finding, CHECK_COLUMNS)

int check_json(struct doc *doc, void *context)
{
	const struct check *check = context;
	struct sentence sentence = { .size = 0 };

	make_verdict(&sentence, check);
	doc_string(doc, "verdict", sentence.text);
	doc_bool(doc, "ok", !check->broken);
	doc_int(doc, "lost", (int64_t)check->lost);
	column_json_rows(doc, "limits", &check_columns, check->finding, check->count, sizeof(*check->finding));
	if (check->limits->has_growth)
		growth_json(doc, &check->figures.growth, SIZE_MAX);
	return 0;
}

/* ---- JUnit XML --------------------------------------------------------------------------------------------------- */

/* Writes a text as the value of an attribute, without the characters that XML forbids. */
static void put_xml(FILE *file, const char *text)
{
	char clean[2048];
	const char *at;

	snprintf(clean, sizeof(clean), "%s", text);
	for (at = mt_clean(clean, ""); *at; at++) {
		if (strchr("&<>\"'", *at))
			fprintf(file, "&#%d;", *at);
		else
			fputc(*at, file);
	}
}

static void put_case(FILE *file, const struct check *check, const struct check_finding *finding)
{
	struct sentence sentence = { .size = 0 };

	say_finding(&sentence, check, finding);
	fputs("    <testcase classname=\"memana.check.", file);
	put_xml(file, finding->rule);
	fputs("\" name=\"", file);
	put_xml(file, finding->subject);
	fputs("\">\n", file);
	if (finding->holds) {
		fputs("      <system-out>", file);
		put_xml(file, sentence.text);
		fputs("</system-out>\n", file);
	} else {
		fputs("      <failure message=\"", file);
		put_xml(file, sentence.text);
		fprintf(file, "\" type=\"%s\"/>\n", finding->known ? "limit" : "unknown");
	}
	fputs("    </testcase>\n", file);
}

int check_write_junit(const struct check *check)
{
	FILE *file = fopen(check->limits->junit, "w");
	size_t i;
	int failed = !file;

	if (file) {
		fprintf(file,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"memana check\" tests=\"%zu\" failures=\"%zu\" "
			"errors=\"0\" skipped=\"0\">\n",
			check->count, check->broken);
		for (i = 0; i < check->count; i++)
			put_case(file, check, &check->finding[i]);
		fputs("  </testsuite>\n</testsuites>\n", file);
		failed = ferror(file);
		failed |= fclose(file) != 0;
	}
	return failed ? command_fail(mt_exit_code(-MT_E_SYSTEM), "check: %s: %s", check->limits->junit, strerror(errno))
		      : 0;
}

/* ---- GitHub ------------------------------------------------------------------------------------------------------ */

/* Prints "::error title=..::words", with '%' and line ends escaped. The texts have no other harmful characters. */
static void print_annotation(const char *level, const char *title, const char *words)
{
	char clean[2048];
	const char *at;

	snprintf(clean, sizeof(clean), "%s", words);
	fputs("::", stdout);
	fputs(level, stdout);
	fputs(" title=memana check", stdout);
	if (*title)
		putchar(' ');
	fputs(title, stdout); /* a rule's name needs no escapes */
	fputs("::", stdout);
	for (at = mt_clean(clean, ""); *at; at++) {
		if (*at == '%')
			fputs("%25", stdout);
		else
			putchar(*at);
	}
	putchar('\n');
}

void check_print_github(const struct check *check)
{
	struct sentence sentence = { .size = 0 };
	size_t i;

	make_verdict(&sentence, check);
	print_annotation(check->broken ? "error" : "notice", "", sentence.text);
	for (i = 0; i < check->count; i++) {
		if (check->finding[i].holds)
			continue;
		sentence.size = 0;
		say_finding(&sentence, check, &check->finding[i]);
		print_annotation("error", check->finding[i].rule, sentence.text);
	}
}
