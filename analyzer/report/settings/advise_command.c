/*
 * advise_command.c - the settings in a command line: Hydra's overrides, flags, and assignments to the environment before it.
 *
 * A trace has the arguments joined by blanks: what was quoted is told by its brackets and quotes only.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/error.h"
#include "memtrace/ring.h"

#define WHERE "the command line"
#define JOINED_MAX 4096          /* bytes of a value that has blanks */
#define LOOKED_AT_MAX (4u << 20) /* bytes that are looked through for the ends of such values */

/* A command line that is cut into words, in place. */
struct words {
	struct advise_config *config;
	char *at, *end;
	size_t looked_at;
};

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Bytes until brackets and quotes that the word has opened are closed; 0: they never are. */
static size_t closed_size(struct words *words, const char *word, size_t size)
{
	const char *end = words->end;
	const char *at = word;
	char quote = '\0';
	int depth = 0;

	for (; at < end && at < word + JOINED_MAX && words->looked_at < LOOKED_AT_MAX; at++, words->looked_at++) {
		if (quote)
			quote = *at == quote ? '\0' : quote;
		else if ((*at == '"' || *at == '\'') && (at == word || strchr("=[{(,: ", at[-1])))
			quote = *at;
		else
			depth += (strchr("[{(", *at) != NULL) - (strchr("]})", *at) != NULL);
		if ((size_t)(at - word) + 1 >= size && !quote && depth <= 0 && (at + 1 == end || is_blank(at[1])))
			return (size_t)(at - word) + 1;
	}
	return 0;
}

/* The next word without taking it; NULL: none. Its size; its value in brackets may have blanks. */
static char *peek(struct words *words, size_t *size)
{
	size_t closed;
	char *word;

	while (words->at < words->end && is_blank(*words->at))
		words->at++;
	for (*size = 0; words->at + *size < words->end && !is_blank(words->at[*size]);)
		++*size;
	if (!*size)
		return NULL;
	word = words->at;
	closed = memchr(word, '=', *size) || strchr("[{\"'", *word) ? closed_size(words, word, *size) : 0;
	if (closed)
		*size = closed;
	return word;
}

/* The next word, ended by NUL. */
static char *take(struct words *words)
{
	size_t size;
	char *word = peek(words, &size);

	if (!word)
		return NULL;
	words->at += size + (words->at + size < words->end);
	word[size] = '\0';
	return word;
}

static int say(struct words *words, const char *key, const char *value)
{
	return advise_say(words->config, key, value, WHERE, ADVISE_COMMAND);
}

/* ---- flags ------------------------------------------------------------------------------------------------------- */

static int is_flag(const char *word)
{
	return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

/* May the word be the value of the flag before it? A switch takes none, but for the Trainer's "--bf16 True". */
static int is_value_of(const struct mt_knob *knob, const char *word, size_t size)
{
	char text[16];
	double number;

	if (is_flag(word))
		return 0;
	if (!knob || mt_knob_unit_kind(knob->measure) != MT_KNOB_KIND_SWITCH)
		return 1;
	if (size >= sizeof(text))
		return 0;
	memcpy(text, word, size);
	text[size] = '\0';
	return advise_value_number(knob, text, &number) >= 0;
}

/* Several words after a flag are a list where it takes words: "--recompute-modules core_attn mlp". */
static int say_list(struct words *words, const struct mt_knob *knob, const char *key, char *value)
{
	char list[JOINED_MAX];
	size_t used = (size_t)snprintf(list, sizeof(list), "%s", value), size;
	const char *word;

	while (used < sizeof(list) && mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_WORD &&
	       (word = peek(words, &size)) && !is_flag(word) && !memchr(word, '=', size) && !memchr(word, '/', size))
		used += (size_t)snprintf(list + used, sizeof(list) - used, " %s", take(words));
	return say(words, key, list);
}

/* "--no-enforce-eager", where that is no flag of its own. */
static int say_no(struct words *words, const char *flag)
{
	const char *key = strncmp(flag, "--no-", 5) != 0 && strncmp(flag, "--no_", 5) != 0 ? NULL : flag + 5;
	struct advise_match match = { 0 };

	if (key)
		match = advise_match(words->config, key);
	if (!match.knob || mt_knob_unit_kind(match.knob->measure) != MT_KNOB_KIND_SWITCH)
		return say(words, flag, "true");
	return say(words, key, "false");
}

static int take_flag(struct words *words, char *flag)
{
	char *equals = strchr(flag, '=');
	struct advise_match match;
	const char *word;
	size_t size;

	if (equals) {
		*equals = '\0';
		return say(words, flag, equals + 1);
	}
	match = advise_match(words->config, flag);
	if (!match.knob)
		return say_no(words, flag);
	word = peek(words, &size);
	if (word && is_value_of(match.knob, word, size))
		return say_list(words, match.knob, flag, take(words));
	return say(words, flag, mt_knob_unit_kind(match.knob->measure) == MT_KNOB_KIND_SWITCH ? "true" : NULL);
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

/* "expandable_segments:True,max_split_size_mb:128"; commas in brackets part no settings. */
static int take_variable(struct words *words, const char *name, char *text)
{
	char *end, *colon;
	int depth, error = 0, more = 1;

	words->config->variable = advise_keep(words->config, name, strlen(name));
	words->config->variable_words = advise_keep(words->config, text, strlen(text));
	if (!words->config->variable || !words->config->variable_words)
		return advise_no_memory(words->config);
	for (; more && !error; text = end + 1) {
		depth = 0;
		for (end = text; *end && (*end != ',' || depth > 0); end++)
			depth += (*end == '[') - (*end == ']');
		more = *end == ',';
		*end = '\0';
		colon = strchr(text, ':');
		if (!colon)
			continue;
		*colon = '\0';
		error = say(words, text + strspn(text, " "), colon + 1);
	}
	return error;
}

/* "a.b=1", "+a.b=1", "++a.b=1", "~a.b". */
static int take_override(struct words *words, char *word)
{
	int removed = *word == '~';
	char *key = word + strspn(word, "+~"), *equals = strchr(key, '=');

	if (equals)
		*equals = '\0';
	if ((!equals && !removed) ||
	    key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@")] ||
	    !(isalpha((unsigned char)*key) || *key == '_'))
		return 0;
	if (equals && is_variable(words->config, key))
		return take_variable(words, key, equals + 1);
	return say(words, key, removed ? "null" : equals + 1);
}

int advise_config_command_line(struct advise_config *config, const char *command)
{
	size_t size = strnlen(command, ADVISE_COMMAND_MAX);
	char *copy = malloc(size + 1), *word;
	struct words words;
	int error = 0;

	if (!copy)
		return advise_no_memory(config);
	words = (struct words){ config, copy, copy + size, 0 };
	memcpy(copy, command, size);
	copy[size] = '\0';
	while (!error && (word = take(&words)))
		error = *word == '-' ? take_flag(&words, word) : take_override(&words, word);
	free(copy);
	return error;
}

/* ---- of the run -------------------------------------------------------------------------------------------------- */

/* A recorder keeps so much of a command line. Of one that is cut the last word is half. */
static int take_command(struct advise_config *config, const char *command)
{
	const size_t kept = sizeof(((struct ring_header *)0)->command) - 1;
	size_t size = strlen(command);
	char *whole;
	int error;

	if (size != kept)
		return advise_config_command_line(config, command);
	whole = malloc(size + 1);
	if (!whole)
		return advise_no_memory(config);
	memcpy(whole, command, size + 1);
	while (size && !is_blank(whole[size - 1]))
		size--;
	whole[size] = '\0';
	error = advise_config_command_line(config, whole);
	free(whole);
	return error ? error
		     : advise_warn(config,
				   "the command line in the trace ends after %zu bytes: what follows is not known "
				   "(--config or --now says it)",
				   kept);
}

int advise_config_command(struct advise_config *config, struct db *db)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "SELECT command FROM process GROUP BY command ORDER BY min(id)"), row = 0;

	while (!error && (row = db_step(stmt)) > 0)
		error = take_command(config, db_text(stmt, 0));
	db_finish(stmt);
	if (row < 0)
		snprintf(config->message, sizeof(config->message), "%s", db_message(db));
	return error ? error : row;
}
