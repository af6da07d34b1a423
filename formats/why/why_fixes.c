/* why_fixes.c - fixes.yaml: the actions against causes. Chooses the most specific row that fits. */
#include <ctype.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "why_impl.h"

#define BIT(number) ((uint64_t)1 << (number))
#define AT(member) offsetof(struct why_fix_row, member)

static const struct why_field fields[] = {
	{ "cause", why_read_word, 1, AT(cause), why_cause_words, MT_CAUSES },
	{ "category", why_read_bits, 0, AT(category), why_category_words, MT_CATEGORY_COUNT },
	{ "phase", why_read_bits, 0, AT(phase), why_phase_words, MT_PHASE_COUNT },
	{ "asking", why_read_bits, 0, AT(asking), why_phase_words, MT_PHASE_COUNT },
	{ "who", why_read_bits, 0, AT(who), why_who_words, MT_WHOS },
	{ "need", why_read_bits, 0, AT(need), why_need_words, MT_NEEDS },
	{ "asked-by", why_read_bits, 0, AT(asker), why_asker_words, MT_ASKERS },
	{ "tags", why_read_bits, 0, AT(tags), why_tag_words, MT_TAGS },
	{ "action", why_read_word, 1, AT(fix.action), why_action_words, MT_ACTIONS },
	{ "text", why_read_text, 1, AT(fix.text), NULL, 0 },
};

/* ---- the text ---------------------------------------------------------------------------------------------------- */

static int is_fact(const char *at)
{
	size_t size = strcspn(at, "}"), i;

	for (i = 0; i < MT_FACTS; i++)
		if (strlen(why_fact_words[i]) == size && !strncmp(at, why_fact_words[i], size) && at[size])
			return 1;
	return 0;
}

static int check_facts(struct why_source *source, const struct why_fix_row *row)
{
	const char *at = row->fix.text;

	while ((at = strchr(at, '{')))
		if (!is_fact(++at))
			return yaml_cursor_fail_at(source->yaml, row->line, "unknown fact \"{%.32s\"", at);
	return 0;
}

static uint32_t count_words(const char *text)
{
	uint32_t words = 0;

	while (*(text += strspn(text, " "))) {
		words++;
		text += strcspn(text, " ");
	}
	return words;
}

static int check_text(struct why_source *source, struct why_fix_row *row)
{
	const char *text = row->fix.text;
	uint32_t words = count_words(text);

	if (!isupper((unsigned char)text[0]) || text[strlen(text) - 1] != '.')
		return yaml_cursor_fail_at(source->yaml, row->line,
					   "text is a sentence, with a capital letter and a full stop");
	if (words > WHY_WORDS_MAX)
		return yaml_cursor_fail_at(source->yaml, row->line, "text has %u words, more than %u", words,
					   WHY_WORDS_MAX);
	return check_facts(source, row);
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

static int same_conditions(const struct why_fix_row *a, const struct why_fix_row *b)
{
	return a->cause == b->cause && a->category == b->category && a->phase == b->phase && a->asking == b->asking &&
	       a->who == b->who && a->need == b->need && a->asker == b->asker && a->tags == b->tags;
}

/* Refuses a row with the conditions and the action of an earlier row: it would never be used. */
static int check_twin(struct why_source *source, const struct why_fix_row *row)
{
	const struct why_fix_row *other;

	for (other = source->why->fix; other < row; other++)
		if (same_conditions(other, row) && other->fix.action == row->fix.action)
			return yaml_cursor_fail_at(source->yaml, row->line,
						   "the row in line %zu has the same conditions and action",
						   other->line);
	return 0;
}

static int check_row(struct why_source *source, struct why_fix_row *row)
{
	if (row->who & BIT(MT_WHO_ANY))
		return yaml_cursor_fail_at(source->yaml, row->line, "who: any is no condition");
	row->conditions = (row->category != 0) + (row->phase != 0) + (row->asking != 0) + (row->who != 0) +
			  (row->need != 0) + (row->asker != 0) + (uint32_t)__builtin_popcountll(row->tags);
	return check_text(source, row);
}

static int read_row(struct why_source *source)
{
	struct mt_why *why = source->why;
	struct why_fix_row *row = why_add(&why->fix, &why->fixes, &why->fixes_max, sizeof(*row));
	int error;

	if (!row)
		return -MT_E_MEMORY;
	row->line = yaml_cursor_line(source->yaml);
	source->row = row;
	error = why_read_fields(source, fields, MT_ARRAY_SIZE(fields));
	if (!error)
		error = check_row(source, row);
	return error ? error : check_twin(source, row);
}

static int check(struct why_source *source)
{
	const struct why_fix_row *row;
	uint64_t plain = 0;
	int i;

	for (row = source->why->fix; row < source->why->fix + source->why->fixes; row++)
		if (!row->conditions)
			plain |= BIT(row->cause);
	for (i = 0; i < MT_CAUSES; i++)
		if (!(plain & BIT(i)))
			return yaml_cursor_fail_at(source->yaml, 1, "%s has no row without conditions",
						   why_cause_words[i]);
	return 0;
}

const struct why_file why_fixes_file = { "fixes.yaml", "fixes", read_row, check };

/* ---- questions --------------------------------------------------------------------------------------------------- */

static int allows(uint64_t allowed, unsigned int number)
{
	return !allowed || allowed & BIT(number);
}

static int fits(const struct why_fix_row *row, const struct mt_fix_question *question)
{
	return row->cause == question->cause && allows(row->category, question->category) &&
	       allows(row->phase, question->phase) && allows(row->asking, question->asking) &&
	       allows(row->who, question->who) && allows(row->need, question->need) &&
	       allows(row->asker, question->asker) && !(row->tags & ~question->tags);
}

/* Returns the row with most conditions that fits, and whose action is not in `without`; of equal rows, the first one. NULL: no such row. */
static const struct why_fix_row *best(const struct mt_why *why, const struct mt_fix_question *question,
				      uint64_t without)
{
	const struct why_fix_row *row, *found = NULL;

	for (row = why->fix; row < why->fix + why->fixes; row++)
		if (!(without & BIT(row->fix.action)) && (!found || row->conditions > found->conditions) &&
		    fits(row, question))
			found = row;
	return found;
}

/* Returns the actions that come last for the process: without other ranks, it cannot shard. */
static uint64_t not_alone(const struct mt_fix_question *question)
{
	return question->alone ? BIT(MT_ACTION_SHARD) : 0;
}

const struct mt_fix *mt_why_fix(const struct mt_why *why, const struct mt_fix_question *question)
{
	const struct why_fix_row *row = best(why, question, not_alone(question));

	return row ? &row->fix : &best(why, question, 0)->fix;
}

size_t mt_why_fixes(const struct mt_why *why, const struct mt_fix_question *question, const struct mt_fix **fix,
		    size_t room)
{
	uint64_t seen = BIT(mt_why_fix(why, question)->action) | not_alone(question);
	const struct why_fix_row *row;
	size_t count = 0;

	while (count < room && (row = best(why, question, seen))) {
		seen |= BIT(row->fix.action);
		fix[count++] = &row->fix;
	}
	return count;
}
