/*
 * advise_paste.c - changes as the text that makes them: overrides, flags, arguments, a configuration, or a variable of the
 * environment. What goes into one thing is put together, so that it can be pasted as it is.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"

/* A change on its way out. */
struct line {
	const struct mt_knob *knob;
	enum mt_knob_written written;
	char key[ADVISE_KEY_MAX]; /* as written there */
	char value[ADVISE_KEY_MAX];
	int is_null, is_switch, is_number; /* of the value */
	int is_on;                         /* .. of a switch */
	int handed;                        /* 1: a mapping that the configuration does not have by itself */
	const char *own; /* the framework that has to be told by itself; NULL: the main one hands it on */
	int done;
};

/* ---- what and where ---------------------------------------------------------------------------------------------- */

static const struct mt_knob_hand *hand_of(const struct advise_config *config, const struct mt_knob_file *file)
{
	const struct mt_knob_file *main_file = config->part[0].file;
	uint32_t i;

	for (i = 0; i < main_file->hands; i++)
		if (!strcmp(main_file->hand[i].framework, file->framework))
			return &main_file->hand[i];
	return NULL;
}

/* "max_num_seqs" as a flag of its own is "--max-num-seqs". */
static void with_dashes(char *key)
{
	for (; *key; key++)
		if (*key == '_')
			*key = '-';
}

static void flag_key(char key[ADVISE_KEY_MAX], const char *name)
{
	int is_flag = !strncmp(name, "--", 2);

	snprintf(key, ADVISE_KEY_MAX, "%s%s", is_flag ? "" : "--", name);
	if (!is_flag)
		with_dashes(key);
}

/* A field of the main framework's configuration holds those of the one that it is made from, too. */
static void argument_key(const struct advise_config *config, const struct advise_part *part, char key[ADVISE_KEY_MAX],
			 const char *name)
{
	const char *class_ = part->file->class_;

	if (strpbrk(name, ".(")) {
		snprintf(key, ADVISE_KEY_MAX, "%s", name);
		return;
	}
	if (part != config->part && config->part[0].file->written == MT_KNOB_WRITTEN_ARGUMENT &&
	    *config->part[0].class_)
		class_ = config->part[0].class_;
	snprintf(key, ADVISE_KEY_MAX, "%s.%s", class_ ? class_ : "", name);
}

static void set_key(const struct advise_config *config, struct line *line)
{
	const struct mt_knob_name *name[MT_KNOB_OLDER_MAX + 1];
	const struct advise_part *part = advise_config_part(config, line->knob);
	const char *key = advise_config_names(config, line->knob, name) ? name[0]->key : line->knob->name.key;
	const struct mt_knob_hand *hand = part == config->part ? NULL : hand_of(config, part->file);

	line->written = line->knob->written;
	if (hand && line->written != MT_KNOB_WRITTEN_ENVIRONMENT) {
		line->written = config->part[0].file->written;
		line->handed = 1;
		snprintf(line->key, sizeof(line->key), "%s%s", hand->before, key + strspn(key, "-"));
		if (line->written == MT_KNOB_WRITTEN_FLAG)
			with_dashes(line->key);
		return;
	}
	line->handed = line->knob->passes != NULL;
	if (part != config->part && line->written != MT_KNOB_WRITTEN_ENVIRONMENT &&
	    line->written != MT_KNOB_WRITTEN_ARGUMENT && line->written != MT_KNOB_WRITTEN_JSON)
		line->own = part->file->framework;
	if (line->written == MT_KNOB_WRITTEN_FLAG)
		flag_key(line->key, key);
	else if (line->written == MT_KNOB_WRITTEN_ARGUMENT)
		argument_key(config, part, line->key, key);
	else
		snprintf(line->key, sizeof(line->key), "%s", key);
}

static void set_value(struct line *line, const char *text)
{
	char canonical[ADVISE_VALUE_MAX];
	enum mt_knob_kind kind = mt_knob_unit_kind(line->knob->measure);
	double number;
	int is_word = advise_value_number(line->knob, text, &number);

	line->is_null = advise_is_null(text);
	line->is_switch = kind == MT_KNOB_KIND_SWITCH && !is_word;
	line->is_on = line->is_switch && number > 0;
	line->is_number = !is_word && !line->is_switch;
	snprintf(line->value, sizeof(line->value), "%s",
		 is_word ? text : advise_value_text(canonical, line->knob, number));
	if (!line->is_number && kind == MT_KNOB_KIND_WORD)
		line->is_number = *text && !text[strspn(text, "0123456789.")];
}

/* ---- values as each language has them ---------------------------------------------------------------------------- */

/* A list, a mapping or a call is itself in all of them. */
static int is_structure(const char *value)
{
	return strchr("[{", *value) || strchr(value, '(');
}

static void put_quoted(FILE *out, const char *value)
{
	fputc('"', out);
	for (; *value; value++) {
		if (strchr("\"\\", *value))
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

static void put_value(FILE *out, const struct line *line, const char *on, const char *off, const char *null)
{
	if (line->is_null)
		fputs(null, out);
	else if (line->is_switch)
		fputs(line->is_on ? on : off, out);
	else if (line->is_number || is_structure(line->value))
		fputs(line->value, out);
	else
		put_quoted(out, line->value);
}

/* YAML takes most words as they are. */
static void put_yaml_value(FILE *out, const struct line *line)
{
	const char *c = line->value;

	if (!line->is_null && !line->is_switch && !line->is_number && isalpha((unsigned char)*c) &&
	    !c[strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+/-")] &&
	    strcmp(c, "yes") != 0 && strcmp(c, "no") != 0 && strcmp(c, "on") != 0 && strcmp(c, "off") != 0)
		fputs(c, out);
	else
		put_value(out, line, "true", "false", "null");
}

/* A word of a shell. */
static void put_shell(FILE *out, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=+/@%-")]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	fputc('\'', out);
}

/* ---- overrides and flags ----------------------------------------------------------------------------------------- */

/* Hydra adds what the configuration does not have with ++ only; OmegaConf's own lists of them know no +. */
static void put_override(FILE *out, const struct line *line)
{
	char word[2 * ADVISE_KEY_MAX + 8];

	snprintf(word, sizeof(word), "%s%s=%s", line->handed && line->written == MT_KNOB_WRITTEN_HYDRA ? "++" : "",
		 line->key,
		 line->is_null     ? "null"
		 : line->is_switch ? (line->is_on ? "True" : "False")
				   : line->value);
	put_shell(out, word);
	fputc('\n', out);
}

/* "[1, 2]" is "1 2" after a flag. */
static void put_words(FILE *out, const char *value)
{
	char word[ADVISE_KEY_MAX];
	size_t size;

	if (*value != '[') {
		fputc(' ', out);
		put_shell(out, value);
		return;
	}
	for (value++; *(value += strspn(value, " ,]"));) {
		size = strcspn(value, " ,]");
		snprintf(word, sizeof(word), "%.*s", (int)size, value);
		fputc(' ', out);
		put_shell(out, word);
		value += size;
	}
}

static void put_flag(const struct advise_config *config, FILE *out, const struct line *line)
{
	const struct advise_part *part;
	const char *value = advise_default(config, line->knob, &part);
	double number;
	int is_default_on = line->is_switch && value && !advise_value_number(line->knob, value, &number) && number > 0;

	if (line->is_null || (line->is_switch && !line->is_on && !is_default_on))
		fprintf(out, "# leave out %s", line->key);
	else if (line->is_switch)
		fprintf(out, "--%s%s", line->is_on ? "" : "no-", line->key + 2);
	else
		fputs(line->key, out);
	if (!line->is_null && !line->is_switch)
		put_words(out, line->value);
	fputc('\n', out);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* The function or class of a key, and the name of the argument. */
static const char *split_argument(const char *key, size_t *size)
{
	*size = strcspn(key, "(");
	if (!key[*size])
		*size = strrchr(key, '.') ? (size_t)(strrchr(key, '.') - key) : 0;
	return key[*size] ? key + *size + 1 : key + *size;
}

/* All arguments of the function of line `first`. */
static void put_call(FILE *out, struct line *line, size_t lines, size_t first)
{
	const char *function = line[first].key, *name;
	size_t size, other, i, count = 0;

	split_argument(function, &size);
	fprintf(out, "%.*s(", (int)size, function);
	for (i = first; i < lines; i++) {
		name = split_argument(line[i].key, &other);
		if (line[i].done || line[i].written != MT_KNOB_WRITTEN_ARGUMENT || other != size ||
		    memcmp(line[i].key, function, size) != 0)
			continue;
		fprintf(out, "%s%.*s=", count++ ? ", " : "", (int)strcspn(name, ")"), name);
		put_value(out, &line[i], "True", "False", "None");
		line[i].done = 1;
	}
	fputs(")\n", out);
}

/* ---- YAML and JSON ----------------------------------------------------------------------------------------------- */

static int by_key(const void *one, const void *two)
{
	const struct line *const *a = one, *const *b = two;

	return strcmp((*a)->key, (*b)->key);
}

/* Bytes of the whole mappings that both keys are in: "actor." of actor.dtype and actor.optimizer.type. */
static size_t common(const char *one, const char *two)
{
	size_t i, dot = 0;

	for (i = 0; one[i] && one[i] == two[i]; i++)
		if (one[i] == '.')
			dot = i + 1;
	return dot;
}

static int dots(const char *key, size_t size)
{
	int count = 0;
	size_t i;

	for (i = 0; i < size; i++)
		count += key[i] == '.';
	return count;
}

/* From what the key before has opened, down to the value. */
static void put_path(FILE *out, const struct line *line, size_t from, int is_json)
{
	const char *key = line->key + from;
	int depth = dots(line->key, from);
	size_t size;

	for (;; key += size + 1, depth++) {
		size = strcspn(key, ".");
		fprintf(out, is_json ? "%*s\"%.*s\": " : "%*s%.*s:", 2 * depth + (is_json ? 2 : 0), "", (int)size, key);
		if (!key[size])
			break;
		fputs(is_json ? "{\n" : "\n", out);
	}
	if (is_json) {
		put_value(out, line, "true", "false", "null");
		return;
	}
	fputc(' ', out);
	put_yaml_value(out, line);
	fputc('\n', out);
}

/* The ends of mappings from `depth` up to `until`. */
static void close_maps(FILE *out, int depth, int until)
{
	while (depth-- > until)
		fprintf(out, "\n%*s}", 2 * depth + 2, "");
}

static void put_tree(FILE *out, struct line **line, size_t lines, int is_json)
{
	size_t i, shared;

	if (is_json)
		fputs("{\n", out);
	for (i = 0; i < lines; i++) {
		shared = i ? common(line[i - 1]->key, line[i]->key) : 0;
		if (is_json && i) {
			close_maps(out, dots(line[i - 1]->key, strlen(line[i - 1]->key)), dots(line[i]->key, shared));
			fputs(",\n", out);
		}
		put_path(out, line[i], shared, is_json);
	}
	if (is_json && lines)
		close_maps(out, dots(line[lines - 1]->key, strlen(line[lines - 1]->key)), 0);
	if (is_json)
		fputs("\n}\n", out);
}

/* All lines that are written so, as one. */
static int put_all(FILE *out, struct line *line, size_t lines, enum mt_knob_written written)
{
	struct line **some = malloc(lines * sizeof(struct line *));
	size_t count = 0, i;

	if (!some)
		return -1;
	for (i = 0; i < lines; i++)
		if (line[i].written == written && !line[i].done) {
			some[count++] = &line[i];
			line[i].done = 1;
		}
	qsort(some, count, sizeof(*some), by_key);
	put_tree(out, some, count, written == MT_KNOB_WRITTEN_JSON);
	free(some);
	return 0;
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static int is_changed(const struct line *line, size_t lines, const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < lines; i++)
		if (line[i].written == MT_KNOB_WRITTEN_ENVIRONMENT && strlen(line[i].key) == size &&
		    !memcmp(line[i].key, name, size))
			return 1;
	return 0;
}

/* "max_split_size_mb:128" of what is set already, where it stays. */
static int put_kept(FILE *out, const struct line *line, size_t lines, const char *words)
{
	size_t size, name;
	int count = 0, depth;

	for (; words && *words; words += size + (words[size] == ',')) {
		for (size = 0, depth = 0; words[size] && (words[size] != ',' || depth > 0); size++)
			depth += (words[size] == '[') - (words[size] == ']');
		name = strcspn(words, ":,");
		if (!size || is_changed(line, lines, words, name < size ? name : size))
			continue;
		fprintf(out, "%s%.*s", count++ ? "," : "", (int)size, words);
	}
	return count;
}

static void put_variable(const struct advise_config *config, FILE *out, struct line *line, size_t lines)
{
	const struct advise_part *part = NULL;
	size_t i;
	int count;

	for (i = 0; i < lines && !part; i++)
		if (line[i].written == MT_KNOB_WRITTEN_ENVIRONMENT)
			part = advise_config_part(config, line[i].knob);
	fprintf(out, "%s=", config->variable ? config->variable : part->file->variable[0]);
	count = put_kept(out, line, lines, config->variable_words);
	for (i = 0; i < lines; i++) {
		if (line[i].written != MT_KNOB_WRITTEN_ENVIRONMENT || line[i].done)
			continue;
		line[i].done = 1;
		if (line[i].is_null)
			continue;
		fprintf(out, "%s%s:%s", count++ ? "," : "", line[i].key,
			line[i].is_switch ? (line[i].is_on ? "True" : "False") : line[i].value);
	}
	fputc('\n', out);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int put_line(const struct advise_config *config, FILE *out, struct line *line, size_t lines, size_t i)
{
	if (line[i].own)
		fprintf(out, "# for %s itself\n", line[i].own);
	switch (line[i].written) {
	case MT_KNOB_WRITTEN_HYDRA:
	case MT_KNOB_WRITTEN_DOTLIST:
		put_override(out, &line[i]);
		break;
	case MT_KNOB_WRITTEN_FLAG:
		put_flag(config, out, &line[i]);
		break;
	case MT_KNOB_WRITTEN_ARGUMENT:
		put_call(out, line, lines, i);
		break;
	case MT_KNOB_WRITTEN_ENVIRONMENT:
		put_variable(config, out, line, lines);
		break;
	case MT_KNOB_WRITTEN_CODE:
		fprintf(out, "# in the program: %s\n", line[i].knob->what);
		break;
	case MT_KNOB_WRITTEN_YAML:
	case MT_KNOB_WRITTEN_JSON:
	case MT_KNOB_WRITTENS:
		return put_all(out, line, lines, line[i].written);
	}
	line[i].done = 1;
	return 0;
}

static int put_lines(struct advise_config *config, FILE *out, const struct advise_change *change, size_t changes)
{
	struct line *line = calloc(changes ? changes : 1, sizeof(*line));
	const struct mt_knob *through;
	size_t i;
	int error = line ? 0 : -1;

	for (i = 0; i < changes && !error; i++) {
		through = advise_config_through(config, change[i].knob);
		line[i].knob = through ? through : change[i].knob;
		set_key(config, &line[i]);
		set_value(&line[i], change[i].value);
	}
	for (i = 0; i < changes && !error; i++)
		if (!line[i].done)
			error = put_line(config, out, line, changes, i);
	free(line);
	return error;
}

#define WITHS_MAX 16 /* settings that others take, in all */

/* "full: --recompute-method=uniform": the key that the value takes, if it is this one; and its own value. NULL: it is not. */
static const char *companion(const char *with, const char *value, char key[ADVISE_WORDS_MAX])
{
	const char *colon = strstr(with, ": "), *equals = colon ? strchr(colon, '=') : NULL;

	if (!equals || strlen(value) != (size_t)(colon - with) || strncasecmp(value, with, strlen(value)) != 0)
		return NULL;
	snprintf(key, ADVISE_WORDS_MAX, "%.*s", (int)(equals - colon - 2), colon + 2);
	return equals + 1;
}

static const struct mt_knob *knob_of(const struct mt_knob_file *file, const char *key)
{
	uint32_t i;

	for (i = 0; i < file->knobs; i++)
		if (!strcmp(file->knob[i].name.key, key))
			return &file->knob[i];
	return NULL;
}

static int is_among(const struct mt_knob *knob, const struct advise_change *change, size_t changes)
{
	size_t i;

	for (i = 0; i < changes; i++)
		if (change[i].knob == knob)
			return 1;
	return 0;
}

/* What a change takes beside it, unless somebody has set it. `changes` of `change`, whose room is WITHS_MAX more; how many it has then. */
static size_t add_companions(struct advise_config *config, struct advise_change *change, size_t changes)
{
	const size_t given = changes;
	const struct advise_part *part;
	const struct mt_knob *knob;
	struct advise_value now;
	char key[ADVISE_WORDS_MAX];
	const char *value;
	size_t i;
	uint32_t k;

	for (i = 0; i < given; i++) {
		part = advise_config_part(config, change[i].knob);
		for (k = 0; part && k < change[i].knob->withs && changes < given + WITHS_MAX; k++) {
			value = companion(change[i].knob->with[k], change[i].value, key);
			knob = value ? knob_of(part->file, key) : NULL;
			if (!knob || is_among(knob, change, changes))
				continue;
			now = advise_config_value(config, knob, ADVISE_AS_IS);
			if (now.text && now.origin > ADVISE_DEFAULT && !advise_is_null(now.text))
				continue;
			change[changes++] = (struct advise_change){ knob, value };
		}
	}
	return changes;
}

const char *advise_taken_with(struct advise_config *config, struct advise_change change, char out[ADVISE_WORDS_MAX])
{
	struct advise_change all[1 + WITHS_MAX] = { change };
	size_t changes = change.value ? add_companions(config, all, 1) : 1, used = 0, i;

	*out = '\0';
	for (i = 1; i < changes && used < ADVISE_WORDS_MAX; i++)
		used += (size_t)snprintf(out + used, ADVISE_WORDS_MAX - used, "%s%s", i == 1 ? ", with " : " and ",
					 all[i].knob->name.key);
	return out;
}

int advise_takes(struct advise_config *config, struct advise_change change, const struct mt_knob *other)
{
	struct advise_change all[1 + WITHS_MAX] = { change };
	size_t changes = change.value ? add_companions(config, all, 1) : 1, i;

	for (i = 1; i < changes; i++)
		if (all[i].knob == other)
			return 1;
	return 0;
}

char *advise_paste(struct advise_config *config, const struct advise_change *change, size_t changes)
{
	struct advise_change *all = calloc(changes + WITHS_MAX, sizeof(*all));
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int error;

	if (all && changes)
		memcpy(all, change, changes * sizeof(*all));
	if (!out) {
		free(all);
		return NULL;
	}
	error = all ? put_lines(config, out, all, add_companions(config, all, changes)) : -1;
	free(all);
	if (!fclose(out) && !error)
		return text;
	free(text);
	return NULL;
}
