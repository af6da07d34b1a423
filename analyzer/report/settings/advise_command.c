/*
 * advise_command.c - the settings in a command line: Hydra's overrides, flags, and assignments to the environment before it.
 *
 * A trace has the arguments joined by blanks: a value with blanks ends at the first one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/error.h"
#include "memtrace/ring.h"

/* Bytes of a command line that a recorder keeps. The last word of a longer one is cut. */
#define CUT_SIZE (sizeof(((struct ring_header *)0)->command) - 1)

#define BLANKS " \t\n\r"

/* A list may have blanks, which end words here: its value is not known. */
static int say(struct advise_config *config, const char *key, const char *value)
{
	return advise_say(config, key, value && *value && strchr("[{", *value) ? NULL : value, "the command line",
			  ADVISE_COMMAND);
}

/* ---- flags ------------------------------------------------------------------------------------------------------- */

static int is_flag(const char *word)
{
	return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

static int is_switch(const struct mt_knob *knob)
{
	return knob && mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SWITCH;
}

/* May the word be the value of the flag before it? A switch takes none, but for the Trainer's "--bf16 True". */
static int is_value_of(const struct mt_knob *knob, const char *word)
{
	double number;

	return !is_flag(word) && (!is_switch(knob) || advise_value_number(knob, word, &number) >= 0);
}

/* `next` is the word after the flag, NULL where there is none. *taken: whether it is the value. */
static int take_flag(struct advise_config *config, char *flag, const char *next, int *taken)
{
	char *equals = strchr(flag, '=');
	const struct mt_knob *knob;

	if (equals) {
		*equals = '\0';
		return say(config, flag, equals + 1);
	}
	knob = advise_match(config, flag).knob;
	if (!knob && (!strncmp(flag, "--no-", 5) || !strncmp(flag, "--no_", 5)) &&
	    is_switch(advise_match(config, flag + 5).knob))
		return say(config, flag + 5, "false");
	*taken = knob && next && is_value_of(knob, next);
	return say(config, flag, *taken ? next : is_switch(knob) ? "true" : NULL);
}

/* ---- assignments ------------------------------------------------------------------------------------------------- */

static int is_variable(const struct advise_config *config, const char *name)
{
	uint32_t i, k;

	for (i = 0; i < config->parts; i++)
		for (k = 0; k < config->part[i].file->variables; k++)
			if (!strcmp(config->part[i].file->variable[k], name))
				return 1;
	return 0;
}

size_t advise_variable_word(const char *text)
{
	size_t size;
	int depth = 0;

	for (size = 0; text[size] && (text[size] != ',' || depth > 0); size++)
		depth += (text[size] == '[') - (text[size] == ']');
	return size;
}

/* "expandable_segments:True,max_split_size_mb:128" */
static int take_variable(struct advise_config *config, const char *name, char *text)
{
	int error = 0, more = 1;
	char *end, *colon;

	config->variable = advise_keep(config, name, strlen(name));
	config->variable_words = advise_keep(config, text, strlen(text));
	if (!config->variable || !config->variable_words)
		return advise_no_memory(config);
	for (; more && !error; text = end + 1) {
		end = text + advise_variable_word(text);
		more = *end == ',';
		*end = '\0';
		colon = strchr(text, ':');
		if (!colon)
			continue;
		*colon = '\0';
		error = say(config, text + strspn(text, " "), colon + 1);
	}
	return error;
}

/* "a.b=1", "+a.b=1", "++a.b=1", "~a.b". */
static int take_override(struct advise_config *config, char *word)
{
	int removed = *word == '~';
	char *key = word + strspn(word, "+~"), *equals = strchr(key, '=');

	if (equals)
		*equals = '\0';
	if ((!equals && !removed) ||
	    key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@")] ||
	    !(isalpha((unsigned char)*key) || *key == '_'))
		return 0;
	if (equals && is_variable(config, key))
		return take_variable(config, key, equals + 1);
	return say(config, key, removed ? "null" : equals + 1);
}

int advise_config_command_line(struct advise_config *config, const char *command)
{
	size_t size = strnlen(command, ADVISE_COMMAND_MAX);
	char *copy = malloc(size + 1), *rest, *word, *next;
	int error = 0, taken;

	if (!copy)
		return advise_no_memory(config);
	memcpy(copy, command, size);
	if (size == CUT_SIZE) {
		while (size && !strchr(BLANKS, copy[size - 1]))
			size--;
		error = advise_warn(config,
				    "the command line in the trace ends after %zu bytes: what follows is not known "
				    "(--config or --now says it)",
				    CUT_SIZE);
	}
	copy[size] = '\0';
	for (word = strtok_r(copy, BLANKS, &rest); word && !error;
	     word = taken ? strtok_r(NULL, BLANKS, &rest) : next) {
		next = strtok_r(NULL, BLANKS, &rest);
		taken = 0;
		error = *word == '-' ? take_flag(config, word, next, &taken) : take_override(config, word);
	}
	free(copy);
	return error;
}

int advise_config_command(struct advise_config *config, struct db *db)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "SELECT command FROM process GROUP BY command ORDER BY min(id)"), row = 0;

	while (!error && (row = db_step(stmt)) > 0)
		error = advise_config_command_line(config, db_text(stmt, 0));
	db_finish(stmt);
	if (row < 0)
		snprintf(config->message, sizeof(config->message), "%s", db_message(db));
	return error ? error : row;
}
