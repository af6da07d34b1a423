/*
 * advise_paste.c - changes as the text that makes them: overrides, flags, arguments, a configuration, or a variable of the
 * environment. Changes of one call, file or variable are put together: the text can be pasted as it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "advise_config_impl.h"
#include "memtrace/shell.h"

#define WITHS_MAX 16 /* settings that others take, in all */

/* How each language writes a setting. */
static const struct {
	const char *on, *off, *null;
	int quotes; /* 1: words stand in quotes */
	const char *equals,
		*end; /* for settings on a shared line: text after a key, and at the end; NULL: no shared line */
} language[MT_KNOB_WRITTENS] = {
	[MT_KNOB_WRITTEN_HYDRA] = { "True", "False", "null" },
	[MT_KNOB_WRITTEN_DOTLIST] = { "True", "False", "null" },
	[MT_KNOB_WRITTEN_YAML] = { "true", "false", "null", 1 },
	[MT_KNOB_WRITTEN_JSON] = { "true", "false", "null", 1 },
	[MT_KNOB_WRITTEN_ARGUMENT] = { "True", "False", "None", 1, "=", ")" },
	[MT_KNOB_WRITTEN_FLAG] = { "true", "false", "" },
	[MT_KNOB_WRITTEN_ENVIRONMENT] = { "True", "False", "", 0, ":", "" },
	[MT_KNOB_WRITTEN_CODE] = { "", "", "" },
};

/* A change on its way out. */
struct line {
	const struct mt_knob *knob;
	enum mt_knob_written written;
	char within[ADVISE_KEY_MAX]; /* the begin of a shared line: "DataLoader(", "PYTORCH_ALLOC_CONF=" */
	char key[ADVISE_KEY_MAX];    /* as written there */
	char value[ADVISE_KEY_MAX];
	int is_null, is_switch, is_on; /* the value */
	int handed;                    /* 1: a mapping that the configuration does not have by itself */
	const char *own;               /* the framework that has to be told by itself; NULL: the main one hands it on */
	int done;
};

/* ---- what and where ---------------------------------------------------------------------------------------------- */

/* "GRPOConfig.beta", "DataLoader(num_workers)": the class or function, and its argument. */
static void set_argument(const struct advise_config *config, struct line *line, const char *key)
{
	const struct advise_part *part = advise_config_part(config, line->knob);
	const char *class_ = part->file->class_ ? part->file->class_ : "", *end, *name;
	size_t size = strcspn(key, "(");

	/* A field of the main framework's configuration holds those of the one that it is made from, too. */
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
	const struct mt_knob_name *name = advise_name_at(part, line->knob);
	const char *key = name ? name->key : line->knob->name.key;
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
	/* A key before which something stands is a flag with dashes alone. */
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
	/* A list, a mapping, a call and a number are the same in all languages. */
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

/* ---- lines that settings share ---------------------------------------------------------------------------------------- */

/* "max_split_size_mb:128" of what is set already, where no line changes it. */
static int is_kept(const struct line *line, size_t lines, const char *word)
{
	size_t i, size = strcspn(word, ":,");

	for (i = 0; i < lines; i++)
		if (line[i].written == MT_KNOB_WRITTEN_ENVIRONMENT && strlen(line[i].key) == size &&
		    !memcmp(line[i].key, word, size))
			return 0;
	return size > 0;
}

/* The line of which line[first] is the first setting. */
static void put_shared(const struct advise_config *config, FILE *out, struct line *line, size_t lines, size_t first)
{
	const enum mt_knob_written written = line[first].written;
	const char *word = written == MT_KNOB_WRITTEN_ENVIRONMENT ? config->variable_words : NULL, *between = "";
	const char *comma = written == MT_KNOB_WRITTEN_ENVIRONMENT ? "," : ", ";
	size_t size, i;

	fputs(line[first].within, out);
	for (; word && *word; word += size + (word[size] == ',')) {
		size = advise_variable_word(word);
		if (!is_kept(line, lines, word))
			continue;
		fprintf(out, "%s%.*s", between, (int)size, word);
		between = comma;
	}
	for (i = first; i < lines; i++) {
		if (line[i].written != written || strcmp(line[i].within, line[first].within) != 0)
			continue;
		line[i].done = 1;
		if (!*line[i].value)
			continue;
		fprintf(out, "%s%s%s%s", between, line[i].key, language[written].equals, line[i].value);
		between = comma;
	}
	fprintf(out, "%s\n", language[written].end);
}

/* ---- YAML and JSON ----------------------------------------------------------------------------------------------- */

static int by_key(const void *one, const void *two)
{
	const struct line *const *a = one, *const *b = two;

	return strcmp((*a)->key, (*b)->key);
}

/* Writes a mapping: the lines' keys share the first `shared` bytes. The lines are in order. */
static void put_map(FILE *out, struct line **line, size_t lines, size_t shared, int depth, int is_json)
{
	size_t i, end, size;

	for (i = 0; i < lines; i = end) {
		size = shared + strcspn(line[i]->key + shared, ".");
		for (end = i + 1; end < lines && !strncmp(line[i]->key, line[end]->key, size + 1); end++)
			;
		fprintf(out, is_json ? "%*s\"%.*s\": " : "%*s%.*s:", 2 * depth, "", (int)(size - shared),
			line[i]->key + shared);
		if (!line[i]->key[size]) {
			fprintf(out, is_json ? "%s" : " %s\n", line[i]->value);
		} else {
			fputs(is_json ? "{\n" : "\n", out);
			put_map(out, line + i, end - i, size + 1, depth + 1, is_json);
			fprintf(out, is_json ? "%*s}" : "", 2 * depth, "");
		}
		if (is_json)
			fputs(end < lines ? ",\n" : "\n", out);
	}
}

/* All lines that are written so, as one. */
static int put_tree(FILE *out, struct line *line, size_t lines, enum mt_knob_written written)
{
	struct line **some = malloc(lines * sizeof(struct line *));
	int is_json = written == MT_KNOB_WRITTEN_JSON;
	size_t count = 0, i;

	if (!some)
		return -1;
	for (i = 0; i < lines; i++)
		if (line[i].written == written) {
			some[count++] = &line[i];
			line[i].done = 1;
		}
	qsort(some, count, sizeof(*some), by_key);
	fputs(is_json ? "{\n" : "", out);
	put_map(out, some, count, 0, is_json, is_json);
	fputs(is_json ? "}\n" : "", out);
	free(some);
	return 0;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int put_line(const struct advise_config *config, FILE *out, struct line *line, size_t lines, size_t i)
{
	char word[2 * ADVISE_KEY_MAX + 8], quoted[2 * sizeof(word)];

	if (line[i].own && (line[i].written == MT_KNOB_WRITTEN_FLAG || line[i].written == MT_KNOB_WRITTEN_YAML))
		fprintf(out, "# for %s itself\n", line[i].own);
	switch (line[i].written) {
	case MT_KNOB_WRITTEN_HYDRA:   /* adds what the configuration does not have with ++ only */
	case MT_KNOB_WRITTEN_DOTLIST: /* OmegaConf's own lists know no + */
		snprintf(word, sizeof(word), "%s%s=%s",
			 line[i].handed && line[i].written == MT_KNOB_WRITTEN_HYDRA ? "++" : "", line[i].key,
			 line[i].value);
		fprintf(out, "%s\n", mt_shell_word(quoted, sizeof(quoted), word));
		break;
	case MT_KNOB_WRITTEN_FLAG:
		put_flag(config, out, &line[i]);
		break;
	case MT_KNOB_WRITTEN_ARGUMENT:
	case MT_KNOB_WRITTEN_ENVIRONMENT:
		put_shared(config, out, line, lines, i);
		break;
	case MT_KNOB_WRITTEN_CODE:
		fprintf(out, "# in the program: %s\n", line[i].knob->what);
		break;
	case MT_KNOB_WRITTEN_YAML:
	case MT_KNOB_WRITTEN_JSON:
	case MT_KNOB_WRITTENS:
		return put_tree(out, line, lines, line[i].written);
	}
	return 0;
}

static int put_lines(struct advise_config *config, FILE *out, const struct advise_change *change, size_t changes)
{
	struct line *line = calloc(changes + 1, sizeof(*line));
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

/* ---- what changes take with them --------------------------------------------------------------------------------- */

/* Adds the settings that the changes need and that have no value yet. There is room for WITHS_MAX more. Returns their number. */
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

const char *advise_taken_with(struct advise_config *config, struct advise_change change, char out[ADVISE_WORDS_MAX])
{
	struct advise_change all[1 + WITHS_MAX] = { change };
	size_t changes = add_companions(config, all, 1), used = 0, i;

	*out = '\0';
	for (i = 1; i < changes && used < ADVISE_WORDS_MAX; i++)
		used += (size_t)snprintf(out + used, ADVISE_WORDS_MAX - used, "%s%s", i == 1 ? ", with " : " and ",
					 all[i].knob->name.key);
	return out;
}

char *advise_paste(struct advise_config *config, const struct advise_change *change, size_t changes)
{
	struct advise_change *all = calloc(changes + WITHS_MAX, sizeof(*all));
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int error = !all || !out;

	if (!error) {
		memcpy(all, change, changes * sizeof(*all));
		error = put_lines(config, out, all, add_companions(config, all, changes));
	}
	free(all);
	if (out)
		error |= fclose(out) != 0;
	if (!error)
		return text;
	free(text);
	return NULL;
}
