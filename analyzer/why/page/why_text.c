/* The page: at most three causes with their actions. */
#include <stdio.h>
#include <string.h>
#include "why_words.h"

#define CAUSES_SHOWN 3  /* number of causes that a person reads in a minute; --why lists all */
#define WORDS_SHOWN 120 /* most words before the details */

struct row {
	struct sentence cause, effect, action;
};

static int count_words(const char *text)
{
	int words = 0;

	for (; *text; text++)
		words += *text != ' ' && (text[1] == ' ' || !text[1]);
	return words;
}

static int words_of(const struct row *row)
{
	return 2 + count_words(row->cause.text) + count_words(row->effect.text) + count_words(row->action.text);
}

static void make_row(struct row *row, const struct why *why, const struct candidate *candidate)
{
	row->cause.size = row->effect.size = row->action.size = 0;
	row->cause.text[0] = row->effect.text[0] = row->action.text[0] = '\0';
	why_say_cause(&row->cause, why, candidate);
	why_say_effect(&row->effect, why, candidate);
	why_say_action(&row->action, why, candidate);
}

static int load_rows(struct row row[CAUSES_SHOWN], const struct why *why)
{
	const struct find *find = &why->find;
	int rows = 0;
	size_t i;

	for (i = 0; i < find->candidates && rows < CAUSES_SHOWN; i++)
		if (why_is_row(why, &find->candidate[i]))
			make_row(&row[rows++], why, &find->candidate[i]);
	return rows;
}

#define CLAUSE_LEAST 5 /* least number of words of a first clause that stands alone */

/* Keeps the first clause of an action: the other clauses say how and why. */
static void drop_reasons(struct sentence *action)
{
	size_t at = strcspn(action->text, ",:(");
	char end = action->text[at];

	if (end != ',' && end != ':')
		return;
	action->text[at] = '\0';
	if (count_words(action->text) >= CLAUSE_LEAST)
		memcpy(action->text + at, ".", 2);
	else
		action->text[at] = end;
}

static void drop_effect(struct row *row)
{
	row->effect.text[0] = '\0';
}

static int words_of_rows(const struct row *row, int rows)
{
	int words = 0, i;

	for (i = 0; i < rows; i++)
		words += words_of(&row[i]);
	return words;
}

/* Shortens a page that is too long: effects go first, then reasons, both from the last row up, then whole rows. */
static int fit_rows(struct row row[CAUSES_SHOWN], const struct why *why, const char *opening)
{
	int rows = load_rows(row, why), room = WORDS_SHOWN - count_words(opening), i;

	for (i = rows; i-- > 1 && words_of_rows(row, rows) > room;)
		drop_effect(&row[i]);
	for (i = rows; i-- > 0 && words_of_rows(row, rows) > room;)
		drop_reasons(&row[i].action);
	if (words_of_rows(row, rows) > room)
		drop_effect(&row[0]);
	while (rows > 1 && words_of_rows(row, rows) > room)
		rows--;
	return rows;
}

static void print_row(const struct text *text, struct row *row, int number)
{
	sentence_say(&row->cause, "%s", row->effect.text);
	text_print(text, "%d. ", number);
	text_wrap(text, 3, 3, row->cause.text);
	text_style(text, TEXT_GOOD);
	text_print(text, "   Do:");
	text_wrap(text, 3, 6, row->action.text);
	text_style(text, TEXT_PLAIN);
}

void why_page(const struct text *text, const struct why *why, const char *opening, int causes)
{
	struct row row[CAUSES_SHOWN];
	int rows = fit_rows(row, why, opening), i;

	for (i = 0; i < rows && i < (causes ? causes : CAUSES_SHOWN); i++)
		print_row(text, &row[i], i + 1);
}

void why_table(const struct text *text, const struct why *why)
{
	static const char *const keys[] = {
#define RANK_KEY_WORD(name, word) word,
		RANK_KEY_LIST(RANK_KEY_WORD)
#undef RANK_KEY_WORD
	};
	const struct candidate *candidate;
	struct sentence sentence;
	size_t i;
	int k;

	text_print(text, "\nAll candidates, by their keys (smaller goes first):\n     ");
	for (k = 0; k < RANK_KNOWN + 1; k++)
		text_print(text, " %6s", keys[k]);
	text_print(text, "  cause\n");
	for (i = 0; i < why->find.candidates; i++) {
		candidate = &why->find.candidate[i];
		text_print(text, " %4zu", i + 1);
		for (k = 0; k < RANK_KNOWN + 1; k++)
			text_print(text, " %6llu", (unsigned long long)candidate->key[k]);
		sentence.size = 0;
		sentence_say(&sentence, "%s: ", mt_cause_word(candidate->cause));
		why_say_cause(&sentence, why, candidate);
		why_say_effect(&sentence, why, candidate);
		if (candidate->within != SCENE_NONE)
			sentence_say(&sentence, " In row %u.", candidate->within + 1);
		text_print(text, "  ");
		text_wrap(text, 42, 42, sentence.text);
	}
}
