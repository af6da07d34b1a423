/*
 * knobs_row.c - reads a row of a knob file: names, effect, saving and needs of a setting (README.md). An unknown word or release is an error with
 * file and line.
 */
#include <stdlib.h>
#include <string.h>
#include "knobs_source.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int read_knob_text(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_kept(source, field->key, (const char **)((char *)source->knob + field->at));
}

static int read_name_text(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_kept(source, field->key, (const char **)((char *)source->name + field->at));
}

/* Reads one word and stores its number, an enum. */
static int read_word(struct knobs_source *source, const struct knobs_field *field)
{
	size_t number;
	int error = yaml_cursor_read_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->knob + field->at) = (uint32_t)number;
	return error;
}

static int read_unit(struct knobs_source *source, const struct knobs_field *field)
{
	int error = read_word(source, field);

	source->knob->unit = knob_unit_words[source->knob->measure];
	return error;
}

static int add_bit(struct knobs_source *source, const struct knobs_field *field)
{
	size_t number;
	int error = yaml_cursor_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->knob + field->at) |= 1u << number;
	return error;
}

/* Reads a list of words and stores their bits. */
static int read_words(struct knobs_source *source, const struct knobs_field *field)
{
	int error = knobs_read_list(source, field->key, 32, add_bit, field);

	if (!error && !*(uint32_t *)((char *)source->knob + field->at))
		return yaml_cursor_fail(source->yaml, "%s is an empty list", field->key);
	return error;
}

/* Finds the release with the cursor's text. */
static int release_here(struct knobs_source *source, uint32_t *release)
{
	const char *text = yaml_cursor_text(source->yaml);
	uint32_t i;

	for (i = 0; text && i < source->file->releases; i++)
		if (!strcmp(source->file->release[i].version, text)) {
			*release = i;
			return 0;
		}
	return yaml_cursor_fail(source->yaml, "\"%.64s\" is none of the releases of the file",
				text ? text : "(not a text)");
}

static int read_release(struct knobs_source *source, const struct knobs_field *field)
{
	int error = yaml_cursor_next(source->yaml);

	return error ? error : release_here(source, (uint32_t *)((char *)source->name + field->at));
}

/* Adds the cursor's text as default from a release on. The text can be empty. */
static int add_default(struct knobs_source *source, uint32_t since)
{
	struct mt_knob_name *name = source->name;
	const char *text = yaml_cursor_text(source->yaml);

	if (!text)
		return yaml_cursor_fail(source->yaml, "%s must be a text", "default");
	if (name->defaults == MT_KNOB_DEFAULTS_MAX)
		return yaml_cursor_fail(source->yaml, "too many of %s", "default");
	if (name->defaults && name->by_release[name->defaults - 1].since >= since)
		return yaml_cursor_fail(source->yaml, "the releases of %s are not in order", "default");
	name->by_release[name->defaults].since = since;
	return knobs_keep_text(source, text, &name->by_release[name->defaults++].value);
}

/* Reads one default, or a mapping from releases to defaults. */
static int read_default(struct knobs_source *source, const struct knobs_field *field)
{
	int error = yaml_cursor_next(source->yaml);
	uint32_t since = 0;

	(void)field;
	if (error || yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return error ? error : add_default(source, 0);
	while (!(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END) {
		error = release_here(source, &since);
		if (!error)
			error = yaml_cursor_next(source->yaml);
		if (!error)
			error = add_default(source, since);
		if (error)
			return error;
	}
	return error;
}

static int read_copies(struct knobs_source *source, const struct knobs_field *field)
{
	const char *text;
	int error = yaml_cursor_read(source->yaml, field->key, &text);

	if (error)
		return error;
	if (strlen(text) != 1 || *text < '1' || *text > '9')
		return yaml_cursor_fail(source->yaml, "%s must be a number from 1 to 9", field->key);
	source->knob->copies = (uint32_t)(*text - '0');
	return 0;
}

static int add_text(struct knobs_source *source, const struct knobs_field *field)
{
	char *knob = (char *)source->knob;

	return knobs_add_text(source, field, (const char **)(knob + field->at), (uint32_t *)(knob + field->words));
}

static int read_texts(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_text, field);
}

/* Reads "full: --recompute-method=uniform". */
static int add_with(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_with *with = &source->knob->with[source->knob->withs];
	const char *text = yaml_cursor_text(source->yaml), *colon = text ? strstr(text, ": ") : NULL,
		   *equals = colon ? strchr(colon, '=') : NULL;

	if (!equals)
		return yaml_cursor_fail(source->yaml, "%s is a list of \"VALUE: KEY=VALUE\"", field->key);
	source->knob->withs++;
	with->value = knobs_keep(source->knobs, text, (size_t)(colon - text));
	with->key = knobs_keep(source->knobs, colon + 2, (size_t)(equals - colon) - 2);
	with->to = knobs_keep(source->knobs, equals + 1, strlen(equals + 1));
	return with->value && with->key && with->to ? 0 : -MT_E_MEMORY;
}

static int read_with(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_with, field);
}

static int add_weight(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob *knob = source->knob;
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return yaml_cursor_fail(source->yaml, "%s must be a mapping of values to numbers", field->key);
	if (knob->weighs == MT_KNOB_WEIGHS_MAX)
		return yaml_cursor_fail(source->yaml, "too many of %s", field->key);
	error = knobs_keep_text(source, text, &knob->weigh[knob->weighs].value);
	if (!error)
		error = yaml_cursor_read(source->yaml, field->key, &text);
	if (error)
		return error;
	if (strspn(text, "0123456789") != strlen(text) || !*text || strlen(text) > 2 ||
	    strtoul(text, NULL, 10) > MT_KNOB_WEIGHT_MAX)
		return yaml_cursor_fail(source->yaml, "the numbers of %s are 0 to 64", field->key);
	knob->weigh[knob->weighs++].weight = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

static int read_weighs(struct knobs_source *source, const struct knobs_field *field)
{
	int error = yaml_cursor_next(source->yaml);

	if (!error && yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return yaml_cursor_fail(source->yaml, "%s must be a mapping of values to numbers", field->key);
	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_weight(source, field);
	return error;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

#define NAME_FIELDS                                                                              \
	{ "key", read_name_text, 1, offsetof(struct mt_knob_name, key), NULL, 0 },               \
		{ "source", read_name_text, 0, offsetof(struct mt_knob_name, source), NULL, 0 }, \
		{ "since", read_release, 0, offsetof(struct mt_knob_name, since), NULL, 0 },     \
		{ "gone", read_release, 0, offsetof(struct mt_knob_name, gone), NULL, 0 },       \
	{                                                                                        \
		"default", read_default, 0, 0, NULL, 0                                           \
	}

static int check_name(struct knobs_source *source, struct mt_knob_name *name, size_t line)
{
	if (name->since >= name->gone)
		return yaml_cursor_fail_at(source->yaml, line, "%s is gone before it is there", name->key);
	return 0;
}

static int read_older(struct knobs_source *source, const struct knobs_field *unused)
{
	static const struct knobs_field fields[] = { NAME_FIELDS };
	struct mt_knob *knob = source->knob;
	size_t line = yaml_cursor_line(source->yaml);
	int error;

	(void)unused;
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return yaml_cursor_fail(source->yaml, "%s must be a mapping", "an older key");
	source->name = &knob->older[knob->olders++];
	source->name->gone = source->file->releases;
	error = knobs_read_fields(source, "an older key", fields, MT_ARRAY_SIZE(fields));
	if (!error)
		error = check_name(source, source->name, line);
	source->name = &knob->name;
	return error;
}

static int read_olders(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_OLDER_MAX, read_older, field);
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

static int read_says(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_kept(source, field->key, &source->constraint->says);
}

static int set_kind(struct knobs_source *source, enum mt_knob_constraint_kind kind)
{
	if (source->constraint->kind != MT_KNOB_CONSTRAINT_WORDS)
		return yaml_cursor_fail(source->yaml, "a constraint asks for one thing: no \"%s\" beside the other",
					knob_constraint_keys[kind]);
	source->constraint->kind = kind;
	return 0;
}

static int read_about_key(struct knobs_source *source, const struct knobs_field *field)
{
	int error = set_kind(source, *field->key == 'n'   ? MT_KNOB_CONSTRAINT_NEEDS
				     : *field->key == 'm' ? MT_KNOB_CONSTRAINT_MULTIPLE
							  : MT_KNOB_CONSTRAINT_EXCLUDES);

	return error ? error : knobs_read_kept(source, field->key, &source->constraint->key);
}

static int read_about_fact(struct knobs_source *source, const struct knobs_field *field)
{
	int error = set_kind(source, *field->key == 'd' ? MT_KNOB_CONSTRAINT_DIVIDES : MT_KNOB_CONSTRAINT_AT_LEAST);
	size_t fact = 0;

	if (!error)
		error = yaml_cursor_read_word(source->yaml, field->key, knob_fact_word, MT_KNOB_FACTS, &fact);
	source->constraint->fact = (enum mt_knob_fact)fact;
	return error;
}

static int read_beyond(struct knobs_source *source, const struct knobs_field *field)
{
	size_t number = 0;
	int error = yaml_cursor_read_word(source->yaml, field->key, knob_beyond_words, MT_KNOB_BEYONDS, &number);

	source->constraint->beyond = (enum mt_knob_beyond)number;
	return error;
}

static int read_times(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_kept(source, field->key, &source->constraint->times);
}

static int add_value(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_constraint *constraint = source->constraint;
	const char *text = yaml_cursor_text(source->yaml);

	if (!text)
		return yaml_cursor_fail(source->yaml, "%s must be a list of texts", field->key);
	return knobs_keep_text(source, text, &constraint->value[constraint->values++]);
}

static int read_values(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_VALUES_MAX, add_value, field);
}

static int check_constraint(struct knobs_source *source, size_t line)
{
	const struct mt_knob_constraint *constraint = source->constraint;
	int about_key = constraint->kind == MT_KNOB_CONSTRAINT_NEEDS || constraint->kind == MT_KNOB_CONSTRAINT_EXCLUDES;

	if (about_key != (constraint->values > 0))
		return yaml_cursor_fail_at(source->yaml, line, "value goes with needs and excludes, and they with it");
	if (constraint->times && constraint->kind != MT_KNOB_CONSTRAINT_AT_LEAST)
		return yaml_cursor_fail_at(source->yaml, line, "times goes with at-least");
	if (constraint->beyond && constraint->kind != MT_KNOB_CONSTRAINT_AT_LEAST)
		return yaml_cursor_fail_at(source->yaml, line, "beyond goes with at-least");
	return 0;
}

static int read_constraint(struct knobs_source *source, const struct knobs_field *unused)
{
	static const struct knobs_field fields[] = {
		{ "says", read_says, 1, 0, NULL, 0 },          { "needs", read_about_key, 0, 0, NULL, 0 },
		{ "excludes", read_about_key, 0, 0, NULL, 0 }, { "at-least", read_about_fact, 0, 0, NULL, 0 },
		{ "divides", read_about_fact, 0, 0, NULL, 0 }, { "times", read_times, 0, 0, NULL, 0 },
		{ "beyond", read_beyond, 0, 0, NULL, 0 },      { "multiple-of", read_about_key, 0, 0, NULL, 0 },
		{ "value", read_values, 0, 0, NULL, 0 },
	};
	size_t line = yaml_cursor_line(source->yaml);
	int error;

	(void)unused;
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return yaml_cursor_fail(source->yaml, "%s must be a mapping", "a constraint");
	source->constraint = &source->knob->constraint[source->knob->constraints++];
	error = knobs_read_fields(source, "a constraint", fields, MT_ARRAY_SIZE(fields));
	return error ? error : check_constraint(source, line);
}

static int read_constraints(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_CONSTRAINTS_MAX, read_constraint, field);
}

/* ---- a knob ------------------------------------------------------------------------------------------------------ */

#define ACTION_WORD(name, word) word,
static const char *const action_words[] = { MT_ACTION_LIST(ACTION_WORD) };
#define WORD(name, number, word, ...) [number] = word,
static const char *const phase_words[] = { MT_PHASE_LIST(WORD) };
static const char *const category_words[] = { MT_CATEGORY_LIST(WORD)[MT_KNOB_HOST] = "host" };

#define AT(member) offsetof(struct mt_knob, member)
#define LIST(list) list, MT_ARRAY_SIZE(list)

static const struct knobs_field knob_fields[] = {
	NAME_FIELDS,
	{ "what", read_knob_text, 1, AT(what), NULL, 0 },
	{ "passes", read_knob_text, 0, AT(passes), NULL, 0 },
	{ "unset", read_knob_text, 0, AT(unset), NULL, 0 },
	{ "instead", read_knob_text, 0, AT(instead), NULL, 0 },
	{ "older", read_olders, 0, 0, NULL, 0 },
	{ "process", read_words, 1, AT(processes), FEW(knob_process_words, MT_KNOB_PROCESSES) },
	{ "phase", read_words, 1, AT(phases), LIST(phase_words) },
	{ "category", read_words, 1, AT(categories), LIST(category_words) },
	{ "saves", read_word, 1, AT(saves), FEW(knob_saves_words, MT_KNOB_SAVES_WORDS) },
	{ "unit", read_unit, 1, AT(measure), FEW(knob_unit_words, MT_KNOB_UNITS) },
	{ "written", read_word, 0, AT(written), FEW(knob_written_words, MT_KNOB_WRITTENS) },
	{ "method", read_word, 1, AT(method), FEW(knob_method_words, MT_KNOB_METHODS) },
	{ "does", read_word, 0, AT(does), LIST(action_words) },
	{ "copies", read_copies, 0, 0, NULL, 0 },
	{ "of", read_word, 0, AT(of), FEW(knob_of_words, MT_KNOB_OFS) },
	{ "leaves", read_word, 0, AT(leaves), FEW(knob_leaves_words, MT_KNOB_LEAVES_WORDS) },
	{ "within", read_texts, 0, AT(within), NULL, AT(withins) },
	{ "outside", read_texts, 0, AT(outside), NULL, AT(outsides) },
	{ "proof", read_texts, 0, AT(proof), NULL, AT(proofs) },
	{ "seen", read_texts, 0, AT(seen), NULL, AT(seens) },
	{ "with", read_with, 0, 0, NULL, 0 },
	{ "turned-on", read_knob_text, 0, AT(turned_on), NULL, 0 },
	{ "turned-off", read_knob_text, 0, AT(turned_off), NULL, 0 },
	{ "weighs", read_weighs, 0, 0, NULL, 0 },
	{ "cost", read_word, 1, AT(cost), FEW(knob_cost_word, MT_KNOB_COSTS) },
	{ "effect", read_knob_text, 0, AT(effect), NULL, 0 },
	{ "constraint", read_constraints, 0, 0, NULL, 0 },
	{ "not-so", read_knob_text, 0, AT(not_so), NULL, 0 },
};

_Static_assert(sizeof(enum mt_knob_saves) == sizeof(uint32_t), "read_word writes enums");
_Static_assert(MT_ARRAY_SIZE(knob_fields) <= 64, "a bit for each field");

static int check_knob(struct knobs_source *source)
{
	const struct mt_knob *knob = source->knob;
	int is_gone = knob->name.gone < source->file->releases;

	if (!knob->name.source)
		return yaml_cursor_fail_at(source->yaml, knob->line, "a knob has no \"source\"");
	if (is_gone && !knob->instead)
		return yaml_cursor_fail_at(source->yaml, knob->line,
					   "%s is gone: say what replaced it, with \"instead\"", knob->name.key);
	if (!is_gone && knob->instead)
		return yaml_cursor_fail_at(source->yaml, knob->line, "\"instead\" is for a key that is gone");
	if ((knob->saves == MT_KNOB_SAVES_OFF && knob->measure == MT_KNOB_UNIT_WORD) != (knob->turned_off != NULL))
		return yaml_cursor_fail_at(source->yaml, knob->line,
					   "\"turned-off\" goes with a word that saves where it is off");
	if (knob->copies && knob->method != MT_KNOB_METHOD_BUCKET && knob->method != MT_KNOB_METHOD_DIVIDED)
		return yaml_cursor_fail_at(source->yaml, knob->line, "copies are those of a bucket");
	return 0;
}

static int add_knob(struct knobs_source *source)
{
	struct mt_knob_file *file = source->file;

	if (file->knobs == KNOBS_MAX)
		return yaml_cursor_fail(source->yaml, "more than %u knobs", KNOBS_MAX);
	if (MT_ARRAY_ROOM(file->knob, file->knobs, source->knobs_max))
		return -MT_E_MEMORY;
	source->knob = &file->knob[file->knobs++];
	memset(source->knob, 0, sizeof(*source->knob));
	source->name = &source->knob->name;
	source->name->gone = file->releases;
	source->knob->line = yaml_cursor_line(source->yaml);
	source->knob->does = MT_ACTIONS;
	source->knob->written = MT_KNOB_WRITTENS; /* not known before the whole file is read */
	return 0;
}

int knobs_read_row(struct knobs_source *source, const struct knobs_field *unused)
{
	int error;

	(void)unused;
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return yaml_cursor_fail(source->yaml, "%s must be a mapping", "a knob");
	if (!source->file->releases)
		return yaml_cursor_fail(source->yaml, "\"releases\" stand before \"%s\"", "knobs");
	error = add_knob(source);
	if (!error)
		error = knobs_read_fields(source, "a knob", knob_fields, MT_ARRAY_SIZE(knob_fields));
	if (!error)
		error = check_name(source, &source->knob->name, source->knob->line);
	return error ? error : check_knob(source);
}

const struct mt_knob *mt_knob_find(const struct mt_knob_file *file, const char *key)
{
	const struct mt_knob *knob;
	uint32_t k;

	for (knob = file->knob; knob < file->knob + file->knobs; knob++) {
		if (!strcmp(knob->name.key, key))
			return knob;
		for (k = 0; k < knob->olders; k++)
			if (!strcmp(knob->older[k].key, key))
				return knob;
	}
	return NULL;
}
