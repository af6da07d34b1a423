/* knobs.c - holds the knobs of all frameworks, and answers questions about them. knobs_file.c reads a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "knobs_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

struct knobs_builtin {
	const char *name;
	const char *text, *end;
};

/* Embeds the files into the program. Paths are relative to the source root, where make runs. */
#define EMBED(symbol, framework)                                                     \
	__asm__(".pushsection .rodata\n" #symbol ":\n"                               \
		"\t.incbin \"formats/knobs/" framework ".yaml\"\n" #symbol "_end:\n" \
		"\t.byte 0\n"                                                        \
		"\t.popsection\n");                                                  \
	extern const char symbol[] __attribute__((visibility("hidden")));            \
	extern const char symbol##_end[] __attribute__((visibility("hidden")));

MT_KNOBS_LIST(EMBED)

static const struct knobs_builtin *knobs_builtin(size_t *count)
{
#define ENTRY(symbol, framework) { framework ".yaml", symbol, symbol##_end },
	static const struct knobs_builtin all[] = { MT_KNOBS_LIST(ENTRY) };
#undef ENTRY

	*count = MT_ARRAY_SIZE(all);
	return all;
}

const char *mt_knob_process_word(enum mt_knob_process process)
{
	return knob_process_words[process];
}

const char *mt_knob_saves_word(enum mt_knob_saves saves)
{
	return knob_saves_words[saves];
}

const char *mt_knob_method_word(enum mt_knob_method method)
{
	return knob_method_words[method];
}

const char *mt_knob_cost_words(enum mt_knob_cost cost)
{
	return knob_cost_word[cost];
}

const char *mt_knob_fact_words(enum mt_knob_fact fact)
{
	return knob_fact_word[fact];
}

enum mt_knob_kind mt_knob_unit_kind(enum mt_knob_unit unit)
{
#define KIND(name, word, kind, one) MT_KNOB_KIND_##kind,
	static const enum mt_knob_kind kinds[] = { MT_KNOB_UNIT_LIST(KIND) };
#undef KIND

	return kinds[unit];
}

double mt_knob_unit_one(enum mt_knob_unit unit)
{
#define ONE(name, word, kind, one) one,
	static const double ones[] = { MT_KNOB_UNIT_LIST(ONE) };
#undef ONE

	return ones[unit];
}

const char *mt_knob_beyond_word(enum mt_knob_beyond beyond)
{
	return knob_beyond_words[beyond];
}

const char *mt_knob_constraint_key(enum mt_knob_constraint_kind kind)
{
	return knob_constraint_keys[kind];
}

const char *mt_knob_category_words(uint32_t category)
{
	return category == MT_KNOB_HOST ? "host" : mt_category_name(category);
}

int mt_knobs_add(struct mt_knobs *knobs, const char *name, const char *text, size_t size, char *message,
		 size_t message_size)
{
	struct mt_knob_file *larger = realloc(knobs->file, (knobs->files + 1) * sizeof(*larger)), *file;
	int error;

	if (larger)
		knobs->file = larger;
	file = larger ? &larger[knobs->files] : NULL;
	if (file) {
		memset(file, 0, sizeof(*file));
		file->name = knobs_keep(knobs, name, strlen(name));
	}
	if (!file || !file->name) {
		snprintf(message, message_size, "%s: %s", name, mt_strerror(MT_E_MEMORY));
		return -MT_E_MEMORY;
	}
	error = knob_file_read(knobs, file, text, size, message, message_size);
	if (!error && mt_knobs_find(knobs, file->framework)) {
		snprintf(message, message_size, "%s:1: another file is about %s already", name, file->framework);
		error = -MT_E_RULES;
	}
	if (error)
		free(file->knob);
	else
		knobs->files++;
	return error;
}

static int unknown_framework(const struct mt_knob_file *file, size_t line, const char *framework, char *message,
			     size_t message_size)
{
	snprintf(message, message_size, "%s:%zu: no file is about %s", file->name, line, framework);
	return -MT_E_RULES;
}

/* Whether the file, or a file that it builds on, has the key. */
static int has_key_below(const struct mt_knobs *knobs, const struct mt_knob_file *file, const char *key)
{
	uint32_t i;

	for (i = 0; i < file->below; i++)
		if (mt_knob_find(mt_knobs_find(knobs, file->builds_on[i]), key))
			return 1;
	return mt_knob_find(file, key) != NULL;
}

int mt_knobs_check(const struct mt_knobs *knobs, char *message, size_t message_size)
{
	const struct mt_knob_file *file;
	uint32_t i, k;

	for (i = 0; i < knobs->files; i++) {
		file = &knobs->file[i];
		for (k = 0; k < file->below; k++)
			if (!mt_knobs_find(knobs, file->builds_on[k]))
				return unknown_framework(file, 1, file->builds_on[k], message, message_size);
		for (k = 0; k < file->hands; k++)
			if (!mt_knobs_find(knobs, file->hand[k].framework))
				return unknown_framework(file, 1, file->hand[k].framework, message, message_size);
		for (k = 0; k < file->knobs; k++) {
			if (file->knob[k].passes && !mt_knobs_find(knobs, file->knob[k].passes))
				return unknown_framework(file, file->knob[k].line, file->knob[k].passes, message,
							 message_size);
			if (file->knob[k].unset && !has_key_below(knobs, file, file->knob[k].unset)) {
				snprintf(message, message_size,
					 "%s:%zu: no knob of the file, or of what it builds on, is %.128s", file->name,
					 file->knob[k].line, file->knob[k].unset);
				return -MT_E_RULES;
			}
		}
	}
	return 0;
}

int mt_knobs_new(struct mt_knobs **out, char *message, size_t message_size)
{
	struct mt_knobs *knobs = calloc(1, sizeof(*knobs));
	const struct knobs_builtin *builtin;
	size_t count, i;
	int error = 0;

	*out = NULL;
	if (!knobs) {
		snprintf(message, message_size, "%s", mt_strerror(MT_E_MEMORY));
		return -MT_E_MEMORY;
	}
	builtin = knobs_builtin(&count);
	for (i = 0; i < count && !error; i++)
		error = mt_knobs_add(knobs, builtin[i].name, builtin[i].text,
				     (size_t)(builtin[i].end - builtin[i].text), message, message_size);
	if (!error)
		error = mt_knobs_check(knobs, message, message_size);
	if (error)
		mt_knobs_free(knobs);
	else
		*out = knobs;
	return error;
}

void mt_knobs_free(struct mt_knobs *knobs)
{
	uint32_t i;

	if (!knobs)
		return;
	for (i = 0; i < knobs->files; i++)
		free(knobs->file[i].knob);
	mt_texts_free(&knobs->texts);
	free(knobs->file);
	free(knobs);
}

const struct mt_knob_file *mt_knobs_find(const struct mt_knobs *knobs, const char *framework)
{
	uint32_t i;

	for (i = 0; i < knobs->files; i++)
		if (!strcmp(knobs->file[i].framework, framework))
			return &knobs->file[i];
	return NULL;
}

const char *mt_knob_default_in(const struct mt_knob_name *name, uint32_t release)
{
	const char *value = NULL;
	uint32_t i;

	for (i = 0; i < name->defaults && name->by_release[i].since <= release; i++)
		value = name->by_release[i].value;
	return value;
}

int mt_knob_is_off(const struct mt_knob *knob, const char *value)
{
	static const char *const off[] = { "false", "False", "null", "None" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(off) && knob->turned_off; i++)
		if (!strcmp(value, off[i]) || !strcmp(value, knob->turned_off))
			return 1;
	return 0;
}
