/*
 * advise_paste.c - writes changes as text to paste: overrides, flags, arguments, a configuration, or a variable of the
 * environment. Each change is one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "advise_config_impl.h"
#include "memtrace/shell.h"

#define WITHS_MAX 16 /* largest number of settings that the changes need in all */

/* The words of each language for a switch and for no value. */
static const struct {
	const char *on, *off, *null;
	int quotes; /* 1: a word needs quotes */
} language[MT_KNOB_WRITTENS] = {
	[MT_KNOB_WRITTEN_HYDRA] = { "True", "False", "null" },
	[MT_KNOB_WRITTEN_DOTLIST] = { "True", "False", "null" },
	[MT_KNOB_WRITTEN_YAML] = { "true", "false", "null", 1 },
	[MT_KNOB_WRITTEN_JSON] = { "true", "false", "null", 1 },
	[MT_KNOB_WRITTEN_ARGUMENT] = { "True", "False", "None", 1 },
	[MT_KNOB_WRITTEN_FLAG] = { "true", "false", "" },
	[MT_KNOB_WRITTEN_ENVIRONMENT] = { "True", "False", "" },
	[MT_KNOB_WRITTEN_CODE] = { "", "", "" },
};

/* One change in the language of its line. */
struct line {
	const struct mt_knob *knob;
	enum mt_knob_written written;
	char within[ADVISE_KEY_MAX];   /* text before the key: "DataLoader(", "PYTORCH_ALLOC_CONF=" */
	char key[ADVISE_KEY_MAX];      /* key in the language of the line */
	char value[ADVISE_KEY_MAX];    /* value in the language of the line */
	int is_null, is_switch, is_on; /* kind of the value */
	int handed;                    /* 1: the key goes to another framework, and the configuration may lack it */
	const char *own;               /* framework that needs the setting itself; NULL: the main one passes it on */
};

/* ---- key and value ----------------------------------------------------------------------------------------------- */

/* Sets class or function and argument from a key: "GRPOConfig.beta", "DataLoader(num_workers)". */
static void set_argument(const struct advise_config *config, struct line *line, const char *key)
{
	const struct advise_part *part = advise_config_part(config, line->knob);
	const char *class_ = part->file->class_ ? part->file->class_ : "", *end, *name;
	size_t size = strcspn(key, "(");

	/* The class of the main framework's trainer inherits the fields of the framework below. */
	if (part != config->part && config->part[0].file->written == MT_KNOB_WRITTEN_ARGUMENT &&
	    config->part[0].trainer)
		class_ = config->part[0].trainer;
	end = key[size] ? key + size : strrchr(key, '.');
	name = end ? end + 1 : key;
	snprintf(line->within, sizeof(line->within), "%.*s(", (int)(end ? end - key : (ptrdiff_t)strlen(class_)),
		 end ? key : class_);
	snprintf(line->key, sizeof(line->key), "%.*s", (int)strcspn(name, ")"), name);
}

static void set_key(const struct advise_config *config, struct line *line)
{
	const struct advise_part *part = advise_config_part(config, line->knob);
	const char *key = line->knob->name.key;
	const struct mt_knob_file *main_file = config->part[0].file;
	const char *before = line->knob->written == MT_KNOB_WRITTEN_FLAG && strncmp(key, "--", 2) != 0 ? "--" : "";
	uint32_t hand = 0;
	char *c;

	while (hand < main_file->hands && strcmp(main_file->hand[hand].framework, part->file->framework) != 0)
		hand++;
	line->written = line->knob->written;
	line->handed = line->knob->passes != NULL;
	if (line->written == MT_KNOB_WRITTEN_ENVIRONMENT) {
		snprintf(line->within, sizeof(line->within),
			 "%s=", config->variable ? config->variable : part->file->variable[0]);
	} else if (part != config->part && hand < main_file->hands) {
		line->written = main_file->written;
		line->handed = 1;
		before = main_file->hand[hand].before;
		key += strspn(key, "-");
	} else if (part != config->part) {
		line->own = part->file->framework;
	}
	if (line->written == MT_KNOB_WRITTEN_ARGUMENT) {
		set_argument(config, line, key);
		return;
	}
	snprintf(line->key, sizeof(line->key), "%s%s", before, key);
	/* A flag with a text before its key has dashes in place of underscores. */
	for (c = line->key; *c && *before && line->written == MT_KNOB_WRITTEN_FLAG; c++)
		*c = *c == '_' ? '-' : *c;
}

static void set_value(struct line *line, const char *text)
{
	char canonical[ADVISE_VALUE_MAX];
	double number;
	int is_word = advise_value_number(line->knob, text, &number);

	line->is_null = advise_is_null(text);
	line->is_switch = mt_knob_unit_kind(line->knob->measure) == MT_KNOB_KIND_SWITCH && !is_word;
	line->is_on = line->is_switch && number > 0;
	if (line->is_null)
		text = language[line->written].null;
	else if (line->is_switch)
		text = line->is_on ? language[line->written].on : language[line->written].off;
	else if (!is_word)
		text = advise_value_text(canonical, line->knob, number);
	/* A list, a mapping, a call and a number need no quotes in any language. */
	if (is_word && !line->is_null && language[line->written].quotes && !strpbrk(text, "[{(") &&
	    text[strspn(text, "0123456789.")])
		snprintf(line->value, sizeof(line->value), "\"%s\"", text);
	else
		snprintf(line->value, sizeof(line->value), "%s", text);
}

/* ---- flags ---------------------------------------------------------------------------------------------------- */

static void put_flag(const struct advise_config *config, FILE *out, const struct line *line)
{
	const struct advise_part *part;
	const char *value = advise_default(config, line->knob, &part);
	char quoted[2 * ADVISE_KEY_MAX];
	double number;
	int is_default_on = value && !advise_value_number(line->knob, value, &number) && number > 0;

	if (line->is_null || (line->is_switch && !line->is_on && !is_default_on))
		fprintf(out, "# leave out %s", line->key);
	else if (line->is_switch)
		fprintf(out, "--%s%s", line->is_on ? "" : "no-", line->key + 2);
	else
		fprintf(out, "%s %s", line->key,
			*line->value == '-' ? line->value : mt_shell_word(quoted, sizeof(quoted), line->value));
	fputc('\n', out);
}

/* ---- environment, YAML and JSON ------------------------------------------------------------------------------------ */

/* Writes the allocator's variable: the words that are set already, and this setting in place of its own word. */
static void put_variable(const struct advise_config *config, FILE *out, const struct line *line)
{
	const char *word = config->variable_words;
	size_t size, key = strlen(line->key);

	fputs(line->within, out);
	for (; word && *word; word += size + (word[size] == ',')) {
		size = advise_variable_word(word);
		if (size && (strncmp(word, line->key, key) != 0 || word[key] != ':'))
			fprintf(out, "%.*s,", (int)size, word);
	}
	fprintf(out, "%s:%s\n", line->key, line->value);
}

/* Writes a path as mappings on one line: "actor: {mb_spec: {max_tokens_per_mb: 4096}}". */
static void put_path(FILE *out, const struct line *line, int is_json)
{
	const char *name = line->key, *quote = is_json ? "\"" : "";
	int size, depth = is_json;

	fputs(is_json ? "{" : "", out);
	for (;; name += size + 1) {
		size = (int)strcspn(name, ".");
		fprintf(out, "%s%.*s%s: ", quote, size, name, quote);
		if (!name[size])
			break;
		fputc('{', out);
		depth++;
	}
	fputs(line->value, out);
	while (depth--)
		fputc('}', out);
	fputc('\n', out);
}

/* ---- one line ---------------------------------------------------------------------------------------------------- */

static void put_line(const struct advise_config *config, FILE *out, const struct line *line)
{
	char word[2 * ADVISE_KEY_MAX + 8], quoted[2 * sizeof(word)];

	if (line->own && (line->written == MT_KNOB_WRITTEN_FLAG || line->written == MT_KNOB_WRITTEN_YAML))
		fprintf(out, "# for %s itself\n", line->own);
	switch (line->written) {
	case MT_KNOB_WRITTEN_HYDRA:   /* Hydra adds a key that the configuration lacks only with ++ */
	case MT_KNOB_WRITTEN_DOTLIST: /* OmegaConf's dot list has no ++ */
		snprintf(word, sizeof(word), "%s%s=%s",
			 line->handed && line->written == MT_KNOB_WRITTEN_HYDRA ? "++" : "", line->key, line->value);
		fprintf(out, "%s\n", mt_shell_word(quoted, sizeof(quoted), word));
		break;
	case MT_KNOB_WRITTEN_FLAG:
		put_flag(config, out, line);
		break;
	case MT_KNOB_WRITTEN_ARGUMENT:
		fprintf(out, "%s%s=%s)\n", line->within, line->key, line->value);
		break;
	case MT_KNOB_WRITTEN_ENVIRONMENT:
		put_variable(config, out, line);
		break;
	case MT_KNOB_WRITTEN_CODE:
		fprintf(out, "# in the program: %s\n", line->knob->what);
		break;
	case MT_KNOB_WRITTEN_YAML:
	case MT_KNOB_WRITTEN_JSON:
	case MT_KNOB_WRITTENS:
		put_path(out, line, line->written == MT_KNOB_WRITTEN_JSON);
	}
}

/* ---- settings that a change needs -------------------------------------------------------------------------------- */

/* Adds the settings that the changes need and that have no value yet, at most WITHS_MAX. Returns the new number. */
static size_t add_companions(struct advise_config *config, struct advise_change *change, size_t changes)
{
	const size_t given = changes;
	const struct mt_knob_with *with;
	const struct advise_part *part;
	const struct mt_knob *knob;
	struct advise_value now;
	size_t i, k;

	for (i = 0; i < given; i++) {
		part = advise_config_part(config, change[i].knob);
		for (with = change[i].knob->with; part && with < change[i].knob->with + change[i].knob->withs; with++) {
			knob = mt_knob_find(part->file, with->key);
			for (k = 0; k < changes && change[k].knob != knob; k++)
				;
			if (!change[i].value || strcasecmp(with->value, change[i].value) != 0 || k < changes ||
			    changes == given + WITHS_MAX)
				continue;
			now = advise_config_value(config, knob);
			if (!now.text || now.origin <= ADVISE_DEFAULT || advise_is_null(now.text))
				change[changes++] = (struct advise_change){ knob, with->to };
		}
	}
	return changes;
}

char *advise_paste(struct advise_config *config, const struct advise_change *change, size_t changes)
{
	struct advise_change *all = calloc(changes + WITHS_MAX, sizeof(*all));
	const struct mt_knob *through;
	struct line line;
	char *text = NULL;
	size_t size = 0, i;
	FILE *out = open_memstream(&text, &size);
	int error = !all || !out;

	if (!error) {
		memcpy(all, change, changes * sizeof(*all));
		changes = add_companions(config, all, changes);
	}
	for (i = 0; i < changes && !error; i++) {
		through = advise_config_through(config, all[i].knob);
		line = (struct line){ .knob = through ? through : all[i].knob };
		set_key(config, &line);
		set_value(&line, all[i].value);
		put_line(config, out, &line);
	}
	free(all);
	if (out)
		error |= fclose(out) != 0;
	if (!error)
		return text;
	free(text);
	return NULL;
}
