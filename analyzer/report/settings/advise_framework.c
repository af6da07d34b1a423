/*
 * advise_framework.c - whose knobs hold in a run: by the code that its call stacks go through and by its command lines.
 * Several show at once (a trainer, its engine, what both are built on): the one that is built on others is the main one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "memtrace/nearest.h"

#define FRAMEWORKS_MAX 64u
#define CLASS_MAX (sizeof(((struct advise_part *)0)->class_))

/* What speaks for a framework. */
struct trail {
	uint64_t frames;   /* places in call stacks */
	uint64_t commands; /* words of command lines */
	char example[128]; /* the first file of it, or the command's word */
	char version[sizeof(((struct advise_part *)0)->version)];
	char class_[CLASS_MAX]; /* of the trainer most seen */
	uint64_t class_frames;
};

struct search {
	struct advise_config *config;
	struct trail trail[FRAMEWORKS_MAX]; /* as in config->knobs */
	uint32_t count;
};

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static int same_letter(char a, char b)
{
	return tolower((unsigned char)(a == '_' ? '-' : a)) == tolower((unsigned char)(b == '_' ? '-' : b));
}

static size_t begins_with(const char *text, const char *word)
{
	size_t i;

	for (i = 0; word[i]; i++)
		if (!same_letter(text[i], word[i]))
			return 0;
	return i;
}

/* Length of "-0.9.1", "==0.9.1", "@v0.9" and the like, and where the figures begin; 0: it is none. */
static size_t version_at(const char *text, size_t *begin)
{
	size_t at = strspn(text, "-_=@"), end;

	if (!at)
		return 0;
	at += text[at] == 'v';
	end = at + strspn(text + at, "0123456789.");
	while (end > at && text[end - 1] == '.')
		end--;
	*begin = at;
	return isdigit((unsigned char)text[at]) && memchr(text + at, '.', end - at) ? end : 0;
}

/* "…/verl-0.9.1/verl/…", "verl==0.9.1": the version of `name` in a path or a command. */
static void find_version(char *version, size_t size, const char *text, const char *name)
{
	const char *at;
	size_t length, end, begin = 0;

	if (!name || *version)
		return;
	for (at = text; *at; at++) {
		length = (at == text || !isalnum((unsigned char)at[-1])) ? begins_with(at, name) : 0;
		end = length ? version_at(at + length, &begin) : 0;
		if (end && end - begin < size) {
			memcpy(version, at + length + begin, end - begin);
			version[end - begin] = '\0';
			return;
		}
	}
}

/* Which of two versions is the later one, by the numbers in them: below, at or above 0. */
static int compare_versions(const char *one, const char *two)
{
	unsigned long a, b;

	while (*one || *two) {
		a = strtoul(one, (char **)&one, 10);
		b = strtoul(two, (char **)&two, 10);
		if (a != b)
			return a < b ? -1 : 1;
		one += *one != '\0' && !isdigit((unsigned char)*one);
		two += *two != '\0' && !isdigit((unsigned char)*two);
	}
	return 0;
}

/* The newest release read that is not after the version. */
static uint32_t release_of(const struct mt_knob_file *file, const char *version)
{
	uint32_t i, release = *version ? 0 : file->releases - 1;

	for (i = 0; *version && i < file->releases; i++)
		if (compare_versions(file->release[i].version, version) <= 0)
			release = i;
	return release;
}

/* ---- the trail --------------------------------------------------------------------------------------------------- */

/* Where the path of code begins in a file's: a whole part of it, which "verl/trainer" is of "/x/verl/trainer/ppo.py". */
static const char *find_part(const char *file, const char *part, char separator)
{
	const char *at;
	size_t i;

	for (at = file; *at; at++) {
		if (at != file && at[-1] != '/' && at[-1] != ' ')
			continue;
		for (i = 0; part[i] && at[i] == (part[i] == '/' ? separator : part[i]); i++)
			;
		if (!part[i] && (!at[i] || at[i] == separator || at[i] == ' '))
			return at;
	}
	return NULL;
}

static const char *find_frame(const struct mt_knob_file *knobs, const char *file, char separator)
{
	const char *found = NULL;
	uint32_t i;

	for (i = 0; i < knobs->frames && !found; i++)
		found = find_part(file, knobs->frame[i], separator);
	return found;
}

/* The class whose trainer is in the file: GRPOConfig of ".../grpo_trainer.py". */
static void find_class(struct trail *trail, const struct mt_knob_file *knobs, const char *file, uint64_t frames)
{
	const char *base = strrchr(file, '/'), *dot;
	char stem[CLASS_MAX];
	size_t length;
	uint32_t i, k;

	for (i = 0; base && i < knobs->knobs; i++) {
		dot = strchr(knobs->knob[i].name.key, '.');
		length = dot ? (size_t)(dot - knobs->knob[i].name.key) : 0;
		if (length <= strlen("Config") || length >= sizeof(stem) || memcmp(dot - 6, "Config", 6) != 0)
			continue;
		for (k = 0; k < length - 6; k++)
			stem[k] = (char)tolower((unsigned char)knobs->knob[i].name.key[k]);
		stem[k] = '\0';
		if (strncmp(base + 1, stem, k) != 0 || strcmp(base + 1 + k, "_trainer.py") != 0 ||
		    frames <= trail->class_frames)
			continue;
		memcpy(trail->class_, knobs->knob[i].name.key, length);
		trail->class_[length] = '\0';
		trail->class_frames = frames;
	}
}

static int is_file_or_folder(const char *word)
{
	return strchr(word, '/') != NULL;
}

/* "init_model" and "FSDPWorker.init_model" are FSDPWorker.init_model; a recording may have the name without its class. */
static int is_function(const char *function, const char *word)
{
	size_t size = strlen(function), length = strlen(word);

	return size >= length && !strcmp(function + size - length, word) &&
	       (size == length || function[size - length - 1] == '.');
}

/* A program with keys of its own, by a file that it has or by one of its functions. */
static void note_wrapper(struct search *search, const char *text, int is_file)
{
	const struct mt_knob_file *knobs;
	const struct mt_knob_wrapper *wrapper;
	uint32_t i, k, w;

	for (i = 0; i < search->count && !search->config->wrapper; i++)
		for (knobs = &search->config->knobs->file[i], k = 0; k < knobs->wrappers; k++)
			for (wrapper = &knobs->wrapper[k], w = 0; w < wrapper->seens; w++)
				if (is_file_or_folder(wrapper->seen[w]) == is_file &&
				    (is_file ? find_part(text, wrapper->seen[w], '/') != NULL
					     : is_function(text, wrapper->seen[w])))
					search->config->wrapper = wrapper->name;
}

static void note_file(struct search *search, const char *file, uint64_t frames)
{
	const struct mt_knob_file *knobs;
	const char *part;
	struct trail *trail;
	uint32_t i;

	note_wrapper(search, file, 1);
	for (i = 0; i < search->count; i++) {
		knobs = &search->config->knobs->file[i];
		trail = &search->trail[i];
		find_version(trail->version, sizeof(trail->version), file, knobs->framework);
		find_version(trail->version, sizeof(trail->version), file, knobs->package);
		part = find_frame(knobs, file, '/');
		if (!part)
			continue;
		if (!trail->frames)
			snprintf(trail->example, sizeof(trail->example), "%.120s", part);
		trail->frames += frames;
		find_class(trail, knobs, file, frames);
	}
}

/* The word that the command runs: "trl" of "/usr/bin/python3 /opt/bin/trl sft", "vllm" of "vllm serve". */
static int runs(const char *command, const char *framework)
{
	size_t length = strlen(framework), size;
	const char *base;
	int word;

	for (word = 0; word < 2; word++) {
		command += strspn(command, " ");
		size = strcspn(command, " ");
		for (base = command + size; base > command && base[-1] != '/'; base--)
			;
		if ((size_t)(command + size - base) == length && !memcmp(base, framework, length))
			return 1;
		command += size;
	}
	return 0;
}

static void note_command(struct search *search, const char *command)
{
	const struct mt_knob_file *knobs;
	const char *part;
	struct trail *trail;
	uint32_t i;

	for (i = 0; i < search->count; i++) {
		knobs = &search->config->knobs->file[i];
		trail = &search->trail[i];
		find_version(trail->version, sizeof(trail->version), command, knobs->framework);
		part = find_frame(knobs, command, '.');
		if (!part)
			part = find_frame(knobs, command, '/');
		if (!part && runs(command, knobs->framework))
			part = knobs->framework;
		if (!part)
			continue;
		if (!trail->frames && !trail->commands)
			snprintf(trail->example, sizeof(trail->example), "%.*s", (int)strcspn(part, " "), part);
		trail->commands++;
	}
}

enum text { IS_COMMAND, IS_FILE, IS_FUNCTION };

/* Asks for rows of a text and a number. 0 or -MT_E_x. */
static int ask(struct search *search, struct db *db, const char *sql, enum text is)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql), row = 0;

	while (!error && (row = db_step(stmt)) > 0) {
		if (is == IS_FILE)
			note_file(search, db_text(stmt, 0), (uint64_t)db_int(stmt, 1));
		else if (is == IS_FUNCTION)
			note_wrapper(search, db_text(stmt, 0), 0);
		else
			note_command(search, db_text(stmt, 0));
	}
	db_finish(stmt);
	return error ? error : row;
}

/* Python's files on stacks: of all that ran, or without what only ran while a module was imported. */
static int look_at_files(struct search *search, struct db *db, int imports)
{
	static const char all[] =
		"SELECT file, count(*) FROM frame JOIN stack_node ON stack_node.frame = frame.id WHERE kind = 'python' "
		"AND file IS NOT NULL GROUP BY file ORDER BY 2 DESC, 1";
	static const char used[] =
		"WITH RECURSIVE importing(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE '<frozen importlib%' UNION SELECT stack_node.id FROM stack_node JOIN importing ON stack_node.parent = importing.id) "
		"SELECT file, count(*) FROM frame JOIN stack_node ON stack_node.frame = frame.id WHERE kind = 'python' "
		"AND file IS NOT NULL AND stack_node.id NOT IN importing GROUP BY file ORDER BY 2 DESC, 1";

	return ask(search, db, imports ? all : used, IS_FILE);
}

static int is_seen(const struct trail *trail)
{
	return trail->frames || trail->commands;
}

static int any_is_seen(const struct search *search)
{
	uint32_t i;

	for (i = 0; i < search->count; i++)
		if (is_seen(&search->trail[i]))
			return 1;
	return 0;
}

/* A library that others import is not in use for that; a program may run while it is imported itself. */
static int look(struct search *search, struct db *db)
{
	int error = look_at_files(search, db, 0);

	if (!error)
		error = ask(search, db, "SELECT path, 0 FROM elf_file GROUP BY path", IS_FILE);
	if (!error)
		error = ask(search, db, "SELECT DISTINCT command, 0 FROM process ORDER BY id", IS_COMMAND);
	if (!error)
		error = ask(search, db,
			    "SELECT DISTINCT function, 0 FROM frame WHERE kind = 'python' AND function IS NOT NULL",
			    IS_FUNCTION);
	return error || any_is_seen(search) ? error : look_at_files(search, db, 1);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static uint32_t number_of(const struct search *search, const char *framework)
{
	const struct mt_knob_file *file = mt_knobs_find(search->config->knobs, framework);

	return (uint32_t)(file - search->config->knobs->file);
}

/* Does `upper` build on `lower`, by whatever is between? */
static int builds_on(const struct search *search, uint32_t upper, uint32_t lower, uint32_t depth)
{
	const struct mt_knob_file *file = &search->config->knobs->file[upper];
	uint32_t i, below;

	for (i = 0; i < file->below && depth; i++) {
		below = number_of(search, file->builds_on[i]);
		if (below == lower || builds_on(search, below, lower, depth - 1))
			return 1;
	}
	return 0;
}

/* The one that no other one seen is built on; of several the one that most of the stacks go through. */
static uint32_t choose(const struct search *search)
{
	uint32_t best = number_of(search, "pytorch"), i, k;
	int found = 0;

	for (i = 0; i < search->count; i++) {
		if (!is_seen(&search->trail[i]))
			continue;
		for (k = 0; k < search->count; k++)
			if (k != i && is_seen(&search->trail[k]) && builds_on(search, k, i, 4))
				break;
		if (k < search->count)
			continue;
		if (!found || search->trail[i].frames > search->trail[best].frames)
			best = i;
		found = 1;
	}
	return best;
}

static void add_part(struct search *search, uint32_t number, int seen)
{
	struct advise_config *config = search->config;
	const struct mt_knob_file *file = &config->knobs->file[number];
	struct advise_part *part = &config->part[config->parts];
	const struct trail *trail = &search->trail[number];
	uint32_t i;

	for (i = 0; i < config->parts; i++)
		if (config->part[i].file == file)
			return;
	if (config->parts == ADVISE_PARTS_MAX)
		return;
	memset(part, 0, sizeof(*part));
	part->file = file;
	part->seen = seen;
	part->frames = trail->frames > UINT32_MAX ? UINT32_MAX : (uint32_t)trail->frames;
	memcpy(part->version, trail->version, sizeof(part->version));
	memcpy(part->class_, trail->class_, sizeof(part->class_));
	part->release = release_of(file, part->version);
	config->parts++;
}

/* What the main one is built on, nearest first, and what is seen beside it. */
static void add_parts(struct search *search, uint32_t number)
{
	struct advise_config *config = search->config;
	uint32_t i, k;

	add_part(search, number, 1);
	for (i = 0; i < config->parts; i++)
		for (k = 0; k < config->part[i].file->below; k++) {
			number = number_of(search, config->part[i].file->builds_on[k]);
			add_part(search, number, is_seen(&search->trail[number]));
		}
	for (i = 0; i < search->count; i++)
		if (is_seen(&search->trail[i]))
			add_part(search, i, 1);
}

static void say_evidence(struct advise_config *config, const struct trail *trail, const char *wanted)
{
	const char *name = config->part[0].file->framework;
	char *out = config->evidence;
	size_t size = sizeof(config->evidence);

	if (wanted)
		snprintf(out, size, "%s: --framework says so", name);
	else if (trail->frames)
		snprintf(out, size, "%s: call stacks go through its code (%s)", name, trail->example);
	else if (trail->commands)
		snprintf(out, size, "%s: the command line names it (%s)", name, trail->example);
	else
		snprintf(out, size, "%s: neither call stacks nor command lines show a framework", name);
	if (*config->part[0].version)
		snprintf(out + strlen(out), size - strlen(out), ", version %s", config->part[0].version);
}

static int bad_framework(struct advise_config *config, const char *wanted)
{
	struct mt_nearest nearest = { .word = wanted };
	char words[MT_NEAREST_WORDS];
	uint32_t i;

	for (i = 0; i < config->knobs->files; i++)
		mt_nearest_try(&nearest, config->knobs->file[i].framework);
	return advise_fail(config, "--framework %.64s: no file of knobs is about it%s", wanted,
			   mt_nearest_words(words, &nearest));
}

int advise_config_framework(struct advise_config *config, struct db *db, const char *wanted)
{
	struct search search = { .config = config };
	uint32_t number;
	int error;

	search.count = config->knobs->files < FRAMEWORKS_MAX ? config->knobs->files : FRAMEWORKS_MAX;
	if (wanted && !strcmp(wanted, "auto"))
		wanted = NULL;
	if (wanted && !mt_knobs_find(config->knobs, wanted))
		return bad_framework(config, wanted);
	error = look(&search, db);
	if (error) {
		snprintf(config->message, sizeof(config->message), "%s", db_message(db));
		return error;
	}
	number = wanted ? number_of(&search, wanted) : choose(&search);
	config->parts = 0;
	add_parts(&search, number);
	say_evidence(config, &search.trail[number], wanted);
	mt_clean(config->evidence, "");
	return advise_index(config);
}
