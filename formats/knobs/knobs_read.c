/*
 * knobs_read.c - reads a knob file (README.md). Everything in it is checked: a field that nobody knows, a word that is on no
 * list, a release that is not listed, and a constraint about a key that is not there are errors with file and line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "knobs_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/yaml_cursor.h"

#define WORD(name, word) word,
const char *const knob_process_words[] = { MT_KNOB_PROCESS_LIST(WORD) };
const char *const knob_saves_words[] = { MT_KNOB_SAVES_LIST(WORD) };
const char *const knob_method_words[] = { MT_KNOB_METHOD_LIST(WORD) };
const char *const knob_of_words[] = { MT_KNOB_OF_LIST(WORD) };
const char *const knob_leaves_words[] = { MT_KNOB_LEAVES_LIST(WORD) };
const char *const knob_cost_word[] = { MT_KNOB_COST_LIST(WORD) };
const char *const knob_fact_word[] = { MT_KNOB_FACT_LIST(WORD) };
const char *const knob_written_words[] = { MT_KNOB_WRITTEN_LIST(WORD) };
const char *const knob_constraint_keys[] = { MT_KNOB_CONSTRAINT_LIST(WORD) };
#undef WORD

#define WORD(name, word, kind, one) word,
const char *const knob_unit_words[] = { MT_KNOB_UNIT_LIST(WORD) };
#undef WORD

const char *knobs_keep(struct mt_knobs *knobs, const char *text, size_t size)
{
	struct knobs_text *kept = malloc(sizeof(*kept) + size + 1);

	if (!kept)
		return NULL;
	memcpy(kept->text, text, size);
	kept->text[size] = '\0';
	kept->next = knobs->texts;
	knobs->texts = kept;
	return kept->text;
}

#define KNOBS_MAX 1024u /* per file */

struct source {
	struct mt_knobs *knobs;
	struct mt_knob_file *file;
	struct yaml_cursor *yaml;
	struct mt_knob *knob;      /* that is being read; the rest is about it */
	struct mt_knob_name *name; /* .. the key, or an older one of it */
	struct mt_knob_constraint *constraint;
	uint32_t knobs_max;
};

/* A key of a mapping, and what reads its value. */
struct field {
	const char *key;
	int (*read)(struct source *source, const struct field *field);
	int required;
	size_t at; /* where it goes in the struct that the mapping is; for read_text and read_words */
	const char *const *word;
	size_t words;
};

static int fail_here(struct source *source, const char *words, const char *about)
{
	return yaml_cursor_fail(source->yaml, yaml_cursor_line(source->yaml), words, about);
}

static int keep(struct source *source, const char *text, const char **kept)
{
	*kept = knobs_keep(source->knobs, text, strlen(text));
	return *kept ? 0 : -MT_E_MEMORY;
}

/* ---- mappings and lists ------------------------------------------------------------------------------------------ */

static int read_field(struct source *source, const char *what, const struct field *field, size_t fields, uint32_t *seen)
{
	const char *key = yaml_cursor_text(source->yaml);
	size_t i;

	for (i = 0; key && i < fields; i++)
		if (!strcmp(field[i].key, key))
			break;
	if (!key || i == fields)
		return yaml_cursor_fail(source->yaml, yaml_cursor_line(source->yaml), "%s has no field \"%.64s\"", what,
					key ? key : "(not a word)");
	if (*seen & 1u << i)
		return fail_here(source, "\"%s\" is there twice", field[i].key);
	*seen |= 1u << i;
	return field[i].read(source, &field[i]);
}

/* From inside of a mapping to its end; all that it must have is there then. */
static int read_fields(struct source *source, const char *what, const struct field *field, size_t fields)
{
	size_t line = yaml_cursor_line(source->yaml), i;
	uint32_t seen = 0;
	int error;

	while (!(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END) {
		error = read_field(source, what, field, fields, &seen);
		if (error)
			return error;
	}
	for (i = 0; !error && i < fields; i++)
		if (field[i].required && !(seen & 1u << i))
			error = yaml_cursor_fail(source->yaml, line, "%s has no \"%s\"", what, field[i].key);
	return error;
}

/* All of a list: `item` is called with the cursor on each of its nodes, at most `max` times. */
static int read_list(struct source *source, const char *key, uint32_t max,
		     int (*item)(struct source *source, const struct field *field), const struct field *field)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_LIST, "a list");
	uint32_t count = 0;

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END) {
		if (count++ == max)
			return yaml_cursor_fail(source->yaml, yaml_cursor_line(source->yaml), "more than %u of %s", max,
						key);
		error = item(source, field);
	}
	return error;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int read_kept(struct source *source, const char *key, const char **kept)
{
	const char *text;
	int error = yaml_cursor_read(source->yaml, key, &text);

	return error ? error : keep(source, text, kept);
}

static int read_file_text(struct source *source, const struct field *field)
{
	return read_kept(source, field->key, (const char **)((char *)source->file + field->at));
}

static int read_knob_text(struct source *source, const struct field *field)
{
	return read_kept(source, field->key, (const char **)((char *)source->knob + field->at));
}

static int read_name_text(struct source *source, const struct field *field)
{
	return read_kept(source, field->key, (const char **)((char *)source->name + field->at));
}

/* One word, its number into an enum. */
static int read_word(struct source *source, const struct field *field)
{
	size_t number;
	int error = yaml_cursor_read_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->knob + field->at) = (uint32_t)number;
	return error;
}

static int read_unit(struct source *source, const struct field *field)
{
	int error = read_word(source, field);

	source->knob->unit = knob_unit_words[source->knob->measure];
	return error;
}

static int read_file_word(struct source *source, const struct field *field)
{
	size_t number;
	int error = yaml_cursor_read_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->file + field->at) = (uint32_t)number;
	return error;
}

static int add_bit(struct source *source, const struct field *field)
{
	size_t number;
	int error = yaml_cursor_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->knob + field->at) |= 1u << number;
	return error;
}

/* A list of words, as bits. */
static int read_words(struct source *source, const struct field *field)
{
	int error = read_list(source, field->key, 32, add_bit, field);

	if (!error && !*(uint32_t *)((char *)source->knob + field->at))
		return fail_here(source, "%s is an empty list", field->key);
	return error;
}

/* The release that the cursor's text names. */
static int release_here(struct source *source, uint32_t *release)
{
	const char *text = yaml_cursor_text(source->yaml);
	uint32_t i;

	for (i = 0; text && i < source->file->releases; i++)
		if (!strcmp(source->file->release[i].version, text)) {
			*release = i;
			return 0;
		}
	return fail_here(source, "\"%.64s\" is none of the releases of the file", text ? text : "(not a text)");
}

static int read_release(struct source *source, const struct field *field)
{
	int error = yaml_cursor_next(source->yaml);

	return error ? error : release_here(source, (uint32_t *)((char *)source->name + field->at));
}

/* A default, whose text the cursor stands on; it may be empty. */
static int add_default(struct source *source, uint32_t since)
{
	struct mt_knob_name *name = source->name;
	const char *text = yaml_cursor_text(source->yaml);

	if (!text)
		return fail_here(source, "%s must be a text", "default");
	if (name->defaults == MT_KNOB_DEFAULTS_MAX)
		return fail_here(source, "too many of %s", "default");
	if (name->defaults && name->by_release[name->defaults - 1].since >= since)
		return fail_here(source, "the releases of %s are not in order", "default");
	name->by_release[name->defaults].since = since;
	return keep(source, text, &name->by_release[name->defaults++].value);
}

/* One value, or a mapping of releases to values. */
static int read_default(struct source *source, const struct field *field)
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

static int read_copies(struct source *source, const struct field *field)
{
	const char *text;
	int error = yaml_cursor_read(source->yaml, field->key, &text);

	if (error)
		return error;
	if (strlen(text) != 1 || *text < '1' || *text > '9')
		return fail_here(source, "%s must be a number from 1 to 9", field->key);
	source->knob->copies = (uint32_t)(*text - '0');
	return 0;
}

/* A text of a list, one more into an array of whoever it is of. */
static int add_text(struct source *source, const struct field *field, const char **array, uint32_t *count)
{
	const char *text = yaml_cursor_text(source->yaml);

	if (!text || !*text)
		return fail_here(source, "%s is a list of texts", field->key);
	return keep(source, text, &array[(*count)++]);
}

static int add_within(struct source *source, const struct field *field)
{
	return add_text(source, field, source->knob->within, &source->knob->withins);
}

static int read_within(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_within, field);
}

static int add_outside(struct source *source, const struct field *field)
{
	return add_text(source, field, source->knob->outside, &source->knob->outsides);
}

static int read_outside(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_outside, field);
}

static int add_seen(struct source *source, const struct field *field)
{
	return add_text(source, field, source->knob->seen, &source->knob->seens);
}

static int read_seen(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_seen, field);
}

static int add_proof(struct source *source, const struct field *field)
{
	return add_text(source, field, source->knob->proof, &source->knob->proofs);
}

static int read_proof(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_proof, field);
}

static int add_weight(struct source *source, const struct field *field)
{
	struct mt_knob *knob = source->knob;
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return fail_here(source, "%s must be a mapping of values to numbers", field->key);
	if (knob->weighs == MT_KNOB_WEIGHS_MAX)
		return fail_here(source, "too many of %s", field->key);
	error = keep(source, text, &knob->weigh[knob->weighs].value);
	if (!error)
		error = yaml_cursor_read(source->yaml, field->key, &text);
	if (error)
		return error;
	if (strspn(text, "0123456789") != strlen(text) || !*text || strlen(text) > 2 ||
	    strtoul(text, NULL, 10) > MT_KNOB_WEIGHT_MAX)
		return fail_here(source, "the numbers of %s are 0 to 64", field->key);
	knob->weigh[knob->weighs++].weight = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

static int read_weighs(struct source *source, const struct field *field)
{
	int error = yaml_cursor_next(source->yaml);

	if (!error && yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return fail_here(source, "%s must be a mapping of values to numbers", field->key);
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

static int check_name(struct source *source, struct mt_knob_name *name, size_t line)
{
	if (name->since >= name->gone)
		return yaml_cursor_fail(source->yaml, line, "%s is gone before it is there", name->key);
	return 0;
}

static int read_older(struct source *source, const struct field *unused)
{
	static const struct field fields[] = { NAME_FIELDS };
	struct mt_knob *knob = source->knob;
	size_t line = yaml_cursor_line(source->yaml);
	int error;

	(void)unused;
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return fail_here(source, "%s must be a mapping", "an older key");
	source->name = &knob->older[knob->olders++];
	source->name->gone = source->file->releases;
	error = read_fields(source, "an older key", fields, MT_ARRAY_SIZE(fields));
	if (!error)
		error = check_name(source, source->name, line);
	source->name = &knob->name;
	return error;
}

static int read_olders(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_OLDER_MAX, read_older, field);
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

static int read_says(struct source *source, const struct field *field)
{
	return read_kept(source, field->key, &source->constraint->says);
}

static int set_kind(struct source *source, enum mt_knob_constraint_kind kind)
{
	if (source->constraint->kind != MT_KNOB_CONSTRAINT_WORDS)
		return fail_here(source, "a constraint asks for one thing: no \"%s\" beside the other",
				 knob_constraint_keys[kind]);
	source->constraint->kind = kind;
	return 0;
}

static int read_about_key(struct source *source, const struct field *field)
{
	int error = set_kind(source, *field->key == 'n' ? MT_KNOB_CONSTRAINT_NEEDS : MT_KNOB_CONSTRAINT_EXCLUDES);

	return error ? error : read_kept(source, field->key, &source->constraint->key);
}

static int read_about_fact(struct source *source, const struct field *field)
{
	int error = set_kind(source, *field->key == 'd' ? MT_KNOB_CONSTRAINT_DIVIDES : MT_KNOB_CONSTRAINT_AT_LEAST);
	size_t fact = 0;

	if (!error)
		error = yaml_cursor_read_word(source->yaml, field->key, knob_fact_word, MT_KNOB_FACTS, &fact);
	source->constraint->fact = (enum mt_knob_fact)fact;
	return error;
}

static int read_times(struct source *source, const struct field *field)
{
	return read_kept(source, field->key, &source->constraint->times);
}

static int add_value(struct source *source, const struct field *field)
{
	struct mt_knob_constraint *constraint = source->constraint;
	const char *text = yaml_cursor_text(source->yaml);

	if (!text)
		return fail_here(source, "%s must be a list of texts", field->key);
	return keep(source, text, &constraint->value[constraint->values++]);
}

static int read_values(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_VALUES_MAX, add_value, field);
}

static int check_constraint(struct source *source, size_t line)
{
	const struct mt_knob_constraint *constraint = source->constraint;
	int about_key = constraint->kind == MT_KNOB_CONSTRAINT_NEEDS || constraint->kind == MT_KNOB_CONSTRAINT_EXCLUDES;

	if (about_key != (constraint->values > 0))
		return yaml_cursor_fail(source->yaml, line, "value goes with needs and excludes, and they with it");
	if (constraint->times && constraint->kind != MT_KNOB_CONSTRAINT_AT_LEAST)
		return yaml_cursor_fail(source->yaml, line, "times goes with at-least");
	return 0;
}

static int read_constraint(struct source *source, const struct field *unused)
{
	static const struct field fields[] = {
		{ "says", read_says, 1, 0, NULL, 0 },          { "needs", read_about_key, 0, 0, NULL, 0 },
		{ "excludes", read_about_key, 0, 0, NULL, 0 }, { "at-least", read_about_fact, 0, 0, NULL, 0 },
		{ "divides", read_about_fact, 0, 0, NULL, 0 }, { "times", read_times, 0, 0, NULL, 0 },
		{ "value", read_values, 0, 0, NULL, 0 },
	};
	size_t line = yaml_cursor_line(source->yaml);
	int error;

	(void)unused;
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return fail_here(source, "%s must be a mapping", "a constraint");
	source->constraint = &source->knob->constraint[source->knob->constraints++];
	error = read_fields(source, "a constraint", fields, MT_ARRAY_SIZE(fields));
	return error ? error : check_constraint(source, line);
}

static int read_constraints(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_CONSTRAINTS_MAX, read_constraint, field);
}

/* ---- a knob ------------------------------------------------------------------------------------------------------ */

#define WORD(name, number, word, ...) [number] = word,
static const char *const phase_words[] = { MT_PHASE_LIST(WORD) };
static const char *const category_words[] = { MT_CATEGORY_LIST(WORD)[MT_KNOB_HOST] = "host" };

#define AT(member) offsetof(struct mt_knob, member)
#define LIST(list) list, MT_ARRAY_SIZE(list)
#define FEW(list, count) list, count

static const struct field knob_fields[] = {
	NAME_FIELDS,
	{ "what", read_knob_text, 1, AT(what), NULL, 0 },
	{ "passes", read_knob_text, 0, AT(passes), NULL, 0 },
	{ "instead", read_knob_text, 0, AT(instead), NULL, 0 },
	{ "older", read_olders, 0, 0, NULL, 0 },
	{ "process", read_words, 1, AT(processes), FEW(knob_process_words, MT_KNOB_PROCESSES) },
	{ "phase", read_words, 1, AT(phases), LIST(phase_words) },
	{ "category", read_words, 1, AT(categories), LIST(category_words) },
	{ "saves", read_word, 1, AT(saves), FEW(knob_saves_words, MT_KNOB_SAVES_WORDS) },
	{ "unit", read_unit, 1, AT(measure), FEW(knob_unit_words, MT_KNOB_UNITS) },
	{ "written", read_word, 0, AT(written), FEW(knob_written_words, MT_KNOB_WRITTENS) },
	{ "method", read_word, 1, AT(method), FEW(knob_method_words, MT_KNOB_METHODS) },
	{ "copies", read_copies, 0, 0, NULL, 0 },
	{ "of", read_word, 0, AT(of), FEW(knob_of_words, MT_KNOB_OFS) },
	{ "leaves", read_word, 0, AT(leaves), FEW(knob_leaves_words, MT_KNOB_LEAVES_WORDS) },
	{ "within", read_within, 0, 0, NULL, 0 },
	{ "outside", read_outside, 0, 0, NULL, 0 },
	{ "proof", read_proof, 0, 0, NULL, 0 },
	{ "seen", read_seen, 0, 0, NULL, 0 },
	{ "turned-on", read_knob_text, 0, AT(turned_on), NULL, 0 },
	{ "weighs", read_weighs, 0, 0, NULL, 0 },
	{ "cost", read_word, 1, AT(cost), FEW(knob_cost_word, MT_KNOB_COSTS) },
	{ "effect", read_knob_text, 0, AT(effect), NULL, 0 },
	{ "constraint", read_constraints, 0, 0, NULL, 0 },
	{ "not-so", read_knob_text, 0, AT(not_so), NULL, 0 },
};

_Static_assert(sizeof(enum mt_knob_saves) == sizeof(uint32_t), "read_word writes enums");
_Static_assert(MT_ARRAY_SIZE(knob_fields) <= 32, "a bit for each field");

static int check_knob(struct source *source)
{
	const struct mt_knob *knob = source->knob;
	int is_gone = knob->name.gone < source->file->releases;

	if (!knob->name.source)
		return yaml_cursor_fail(source->yaml, knob->line, "a knob has no \"source\"");
	if (is_gone && !knob->instead)
		return yaml_cursor_fail(source->yaml, knob->line, "%s is gone: say what replaced it, with \"instead\"",
					knob->name.key);
	if (!is_gone && knob->instead)
		return yaml_cursor_fail(source->yaml, knob->line, "\"instead\" is for a key that is gone");
	if (knob->copies && knob->method != MT_KNOB_METHOD_BUCKET && knob->method != MT_KNOB_METHOD_DIVIDED)
		return yaml_cursor_fail(source->yaml, knob->line, "copies are those of a bucket");
	return 0;
}

static int add_knob(struct source *source)
{
	struct mt_knob_file *file = source->file;
	uint32_t max = source->knobs_max ? source->knobs_max * 2 : 16;
	struct mt_knob *larger;

	if (file->knobs == KNOBS_MAX)
		return yaml_cursor_fail(source->yaml, yaml_cursor_line(source->yaml), "more than %u knobs", KNOBS_MAX);
	if (file->knobs == source->knobs_max) {
		larger = realloc(file->knob, max * sizeof(*larger));
		if (!larger)
			return -MT_E_MEMORY;
		file->knob = larger;
		source->knobs_max = max;
	}
	source->knob = &file->knob[file->knobs++];
	memset(source->knob, 0, sizeof(*source->knob));
	source->name = &source->knob->name;
	source->name->gone = file->releases;
	source->knob->line = yaml_cursor_line(source->yaml);
	source->knob->written = MT_KNOB_WRITTENS; /* until the whole file is read */
	return 0;
}

static int read_knob(struct source *source, const struct field *unused)
{
	int error;

	(void)unused;
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return fail_here(source, "%s must be a mapping", "a knob");
	if (!source->file->releases)
		return fail_here(source, "\"releases\" stand before \"%s\"", "knobs");
	error = add_knob(source);
	if (!error)
		error = read_fields(source, "a knob", knob_fields, MT_ARRAY_SIZE(knob_fields));
	if (!error)
		error = check_name(source, &source->knob->name, source->knob->line);
	return error ? error : check_knob(source);
}

static int read_knobs(struct source *source, const struct field *field)
{
	return read_list(source, field->key, KNOBS_MAX, read_knob, field);
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

/* "VERSION" or "VERSION@COMMIT". */
static int add_release(struct source *source, const struct field *field)
{
	struct mt_knob_file *file = source->file;
	struct mt_knob_release *release = &file->release[file->releases];
	const char *text = yaml_cursor_text(source->yaml), *at = text ? strchr(text, '@') : NULL;
	uint32_t i;

	if (!text || !*text || at == text || (at && strspn(at + 1, "0123456789abcdef") != 40) || (at && at[41]))
		return fail_here(source, "%s are versions, or VERSION@COMMIT with all 40 digits", field->key);
	release->version = knobs_keep(source->knobs, text, at ? (size_t)(at - text) : strlen(text));
	if (!release->version || (at && keep(source, at + 1, &release->commit)))
		return -MT_E_MEMORY;
	for (i = 0; i < file->releases; i++)
		if (!strcmp(file->release[i].version, release->version))
			return fail_here(source, "%s is there twice", release->version);
	file->releases++;
	return 0;
}

static int read_releases(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_RELEASES_MAX, add_release, field);
}

static int add_below(struct source *source, const struct field *field)
{
	const char *text = yaml_cursor_text(source->yaml);

	if (!text || !*text)
		return fail_here(source, "%s is a list of frameworks", field->key);
	return keep(source, text, &source->file->builds_on[source->file->below++]);
}

static int read_builds_on(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_FRAMEWORKS_MAX, add_below, field);
}

static int add_frame(struct source *source, const struct field *field)
{
	return add_text(source, field, source->file->frame, &source->file->frames);
}

static int read_frames(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_FRAMES_MAX, add_frame, field);
}

static int add_variable(struct source *source, const struct field *field)
{
	return add_text(source, field, source->file->variable, &source->file->variables);
}

static int read_variables(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_VARIABLES_MAX, add_variable, field);
}

static int add_other(struct source *source, const struct field *field)
{
	return add_text(source, field, source->file->other, &source->file->others);
}

static int read_others(struct source *source, const struct field *field)
{
	return read_list(source, field->key, MT_KNOB_OTHERS_MAX, add_other, field);
}

static int add_hand(struct source *source, const struct field *field)
{
	struct mt_knob_file *file = source->file;
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return fail_here(source, "%s is a mapping of frameworks to texts", field->key);
	if (file->hands == MT_KNOB_HANDS_MAX)
		return fail_here(source, "too many of %s", field->key);
	error = keep(source, text, &file->hand[file->hands].framework);
	return error ? error : read_kept(source, field->key, &file->hand[file->hands++].before);
}

static int read_hands(struct source *source, const struct field *field)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_hand(source, field);
	return error;
}

static int add_model_seen(struct source *source, const struct field *field)
{
	struct mt_knob_model *model = &source->file->model[source->file->models];

	return add_text(source, field, model->seen, &model->seens);
}

/* "critic: [update_critic, dp_critic.py]", each process once. */
static int add_model(struct source *source, const struct field *field)
{
	struct mt_knob_file *file = source->file;
	size_t number;
	uint32_t i;
	int error = yaml_cursor_word(source->yaml, field->key, knob_process_words, MT_KNOB_PROCESSES, &number);

	if (error)
		return error;
	for (i = 0; i < file->models; i++)
		if (file->model[i].process == (enum mt_knob_process)number)
			return fail_here(source, "%s is there twice", knob_process_words[number]);
	file->model[file->models].process = (enum mt_knob_process)number;
	error = read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_model_seen, field);
	file->models += !error;
	return error;
}

static int read_models(struct source *source, const struct field *field)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_model(source, field);
	return error;
}

#define FILE_AT(member) offsetof(struct mt_knob_file, member)

static const struct field file_fields[] = {
	{ "framework", read_file_text, 1, offsetof(struct mt_knob_file, framework), NULL, 0 },
	{ "package", read_file_text, 0, offsetof(struct mt_knob_file, package), NULL, 0 },
	{ "repository", read_file_text, 0, offsetof(struct mt_knob_file, repository), NULL, 0 },
	{ "releases", read_releases, 1, 0, NULL, 0 },
	{ "builds-on", read_builds_on, 0, 0, NULL, 0 },
	{ "written", read_file_word, 1, FILE_AT(written), FEW(knob_written_words, MT_KNOB_WRITTENS) },
	{ "class", read_file_text, 0, FILE_AT(class_), NULL, 0 },
	{ "frames", read_frames, 0, 0, NULL, 0 },
	{ "variables", read_variables, 0, 0, NULL, 0 },
	{ "hands-on", read_hands, 0, 0, NULL, 0 },
	{ "others", read_others, 0, 0, NULL, 0 },
	{ "models", read_models, 0, 0, NULL, 0 },
	{ "knobs", read_knobs, 1, 0, NULL, 0 },
};

/* Is it a key of the file, of today or older? */
static int has_key(const struct mt_knob_file *file, const char *key)
{
	uint32_t i, k;

	for (i = 0; i < file->knobs; i++) {
		if (!strcmp(file->knob[i].name.key, key))
			return 1;
		for (k = 0; k < file->knob[i].olders; k++)
			if (!strcmp(file->knob[i].older[k].key, key))
				return 1;
	}
	return 0;
}

static int check_references(struct source *source, const struct mt_knob *knob)
{
	const struct mt_knob_constraint *constraint;
	uint32_t i;

	for (i = 0; i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		if (constraint->key && !has_key(source->file, constraint->key))
			return yaml_cursor_fail(source->yaml, knob->line, "no knob of the file is %s", constraint->key);
		if (constraint->times && !has_key(source->file, constraint->times))
			return yaml_cursor_fail(source->yaml, knob->line, "no knob of the file is %s",
						constraint->times);
	}
	return 0;
}

/* What the file says of all rows, where they say nothing. */
static int check_written(struct source *source, struct mt_knob *knob)
{
	if (knob->written == MT_KNOB_WRITTENS)
		knob->written = source->file->written;
	if (knob->written == MT_KNOB_WRITTEN_ENVIRONMENT && !source->file->variables)
		return yaml_cursor_fail(source->yaml, knob->line, "no \"variables\" of the environment are given");
	if (knob->written == MT_KNOB_WRITTEN_ARGUMENT && !source->file->class_ && !strpbrk(knob->name.key, ".("))
		return yaml_cursor_fail(source->yaml, knob->line,
					"%s is an argument of nothing, and no \"class\" is given", knob->name.key);
	return 0;
}

static int check_file(struct source *source)
{
	struct mt_knob_file *file = source->file;
	uint32_t i, k;
	int error = 0;

	for (i = 0; i < file->releases; i++)
		if (!(file->release[i].commit ? file->repository : file->package))
			return yaml_cursor_fail(source->yaml, 1, "release %s is of a \"%s\" that is not given",
						file->release[i].version,
						file->release[i].commit ? "repository" : "package");
	for (i = 0; i < file->knobs && !error; i++) {
		for (k = 0; k < i; k++)
			if (!strcmp(file->knob[k].name.key, file->knob[i].name.key))
				return yaml_cursor_fail(source->yaml, file->knob[i].line, "%s is there twice",
							file->knob[i].name.key);
		error = check_references(source, &file->knob[i]);
		if (!error)
			error = check_written(source, &file->knob[i]);
	}
	return error;
}

int knob_file_read(struct mt_knobs *knobs, struct mt_knob_file *file, const char *text, size_t size, char *message,
		   size_t message_size)
{
	struct source source = { .knobs = knobs, .file = file };
	int error = yaml_cursor_new(&source.yaml, file->name, text, size, message, message_size);

	if (error)
		return error;
	error = read_fields(&source, "the file", file_fields, MT_ARRAY_SIZE(file_fields));
	if (!error)
		error = yaml_cursor_finish(source.yaml);
	if (!error)
		error = check_file(&source);
	if (error == -MT_E_MEMORY)
		snprintf(message, message_size, "%s: %s", file->name, mt_strerror(MT_E_MEMORY));
	yaml_cursor_free(source.yaml);
	return error;
}
