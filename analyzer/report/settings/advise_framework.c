/*
 * advise_framework.c - finds the frameworks of a run by the files on its call stacks and by its command lines. A run can have several: a trainer, its
 * engine, and the library below both. The one that builds on the others is the main one.
 */
#include <stdio.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define FRAMEWORKS_MAX 64u

/* The evidence for a framework. */
struct trail {
	uint64_t frames;     /* number of lines in call stacks */
	uint64_t commands;   /* number of functions and command lines */
	const char *trainer; /* name of the trainer with the most frames, `trainer_frames` */
	uint64_t trainer_frames;
};

struct search {
	struct advise_config *config;
	const struct mt_knob_file *file; /* config->knobs */
	struct trail trail[FRAMEWORKS_MAX];
	uint32_t count;
};

/* ---- the evidence ------------------------------------------------------------------------------------------------ */

static int is_seen(const struct trail *trail)
{
	return trail->frames || trail->commands;
}

/* 1: the path of a file has `part` as whole folders: "/x/verl/trainer/ppo.py" has "verl/trainer". */
static int has_part(const char *file, const char *part, char separator)
{
	const char *at;
	size_t i;

	for (at = file; *at; at++) {
		if (at != file && at[-1] != '/' && at[-1] != ' ')
			continue;
		for (i = 0; part[i] && at[i] == (part[i] == '/' ? separator : part[i]); i++)
			;
		if (!part[i] && (!at[i] || at[i] == separator || at[i] == ' '))
			return 1;
	}
	return 0;
}

/* 1: the text has one of the paths, as a file (a/b) or as a module of Python (a.b). */
static int has_any(const char *text, const char *const *part, uint32_t parts)
{
	uint32_t i;

	for (i = 0; i < parts; i++)
		if (has_part(text, part[i], '/') || has_part(text, part[i], '.'))
			return 1;
	return 0;
}

static const char *find_named(const char *text, const struct mt_knob_wrapper *named, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (has_any(text, named[i].seen, named[i].seens))
			return named[i].name;
	return NULL;
}

/* Adds the evidence of a file with its number of frames, or of a function or command line (`frames` 0). */
static void note(struct search *search, const char *text, uint64_t frames)
{
	const struct mt_knob_file *file;
	struct trail *trail;
	uint32_t i;

	for (i = 0; i < search->count; i++) {
		file = &search->file[i];
		trail = &search->trail[i];
		if (!search->config->wrapper)
			search->config->wrapper = find_named(text, file->wrapper, file->wrappers);
		if (!has_any(text, file->frame, file->frames))
			continue;
		trail->frames += frames;
		trail->commands += !frames;
		if (frames <= trail->trainer_frames || !find_named(text, file->trainer, file->trainers))
			continue;
		trail->trainer = find_named(text, file->trainer, file->trainers);
		trail->trainer_frames = frames;
	}
}

static int take_text(void *context, struct db_stmt *row)
{
	note(context, db_text(row, 0), (uint64_t)db_int(row, 1));
	return 0;
}

/*
 * Looks at the files on stacks, each line once, then at functions, which alone show some wrappers, then at command lines. Frames below
 * an import do not count: an imported library may not be in use.
 */
static int look(struct search *search, struct db *db)
{
	static const char *const questions[] = {
		"WITH RECURSIVE importing(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE '<frozen importlib%' UNION SELECT stack_node.id FROM stack_node JOIN importing "
		"ON stack_node.parent = importing.id) SELECT file, count(DISTINCT ifnull(function, '') || ':' || ifnull(line, 0)) "
		"FROM frame JOIN stack_node ON stack_node.frame = frame.id WHERE kind = 'python' AND file IS NOT NULL "
		"AND stack_node.id NOT IN importing GROUP BY file ORDER BY 2 DESC, 1",
		"SELECT DISTINCT function, 0 FROM frame WHERE kind = 'python' AND function IS NOT NULL",
		"SELECT DISTINCT command, 0 FROM process ORDER BY id",
	};
	int error = 0;
	uint32_t i;

	for (i = 0; i < MT_ARRAY_SIZE(questions) && !error; i++)
		error = db_rows(db, questions[i], NULL, take_text, search);
	return error;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static uint32_t number_of(const struct search *search, const char *framework)
{
	return (uint32_t)(mt_knobs_find(search->config->knobs, framework) - search->file);
}

/* 1: a framework of the run builds on this one. "builds-on" names all frameworks below. */
static int is_below(const struct search *search, uint32_t lower)
{
	const struct mt_knob_file *file;
	uint32_t i, k;
	int found = 0;

	for (i = 0; i < search->count; i++)
		for (file = &search->file[i], k = 0; k < file->below && is_seen(&search->trail[i]); k++)
			found |= !strcmp(file->builds_on[k], search->file[lower].framework);
	return found;
}

/*
 * Chooses the main framework: no other framework of the run builds on it. If there are several, the one with the most
 * frames counts. If the run shows no framework, the choice is the one that builds on no other.
 */
static uint32_t choose(const struct search *search)
{
	uint32_t best = 0, i;
	int found = 0;

	for (i = 0; i < search->count; i++) {
		if (!found && !search->file[i].below)
			best = i;
		if (!is_seen(&search->trail[i]) || is_below(search, i) ||
		    (found && search->trail[i].frames <= search->trail[best].frames))
			continue;
		best = i;
		found = 1;
	}
	return best;
}

static void add_part(struct search *search, uint32_t number, int seen)
{
	struct advise_config *config = search->config;
	const struct trail *trail = &search->trail[number];
	struct advise_part *part = config->part;

	while (part < config->part + config->parts && part->file != &search->file[number])
		part++;
	if (part < config->part + config->parts || config->parts == ADVISE_PARTS_MAX)
		return;
	config->parts++;
	*part = (struct advise_part){ .file = &search->file[number], .seen = seen, .trainer = trail->trainer };
	snprintf(part->by_default, sizeof(part->by_default), "default of %.32s %.32s, the newest read",
		 part->file->framework, part->file->release[part->file->releases - 1].version);
}

/* Fills config->part: the main framework, those that it builds on, the nearest first, and the others of the run. */
static void add_parts(struct search *search, uint32_t number)
{
	const struct mt_knob_file *file = &search->file[number];
	uint32_t i;

	search->config->parts = 0;
	add_part(search, number, 1);
	for (i = 0; i < file->below; i++) {
		number = number_of(search, file->builds_on[i]);
		add_part(search, number, is_seen(&search->trail[number]));
	}
	for (i = 0; i < search->count; i++)
		if (is_seen(&search->trail[i]))
			add_part(search, i, 1);
}

int advise_config_framework(struct advise_config *config, struct db *db, const char *wanted)
{
	struct search search = { .config = config, .file = config->knobs->file };
	int error;

	search.count = config->knobs->files < FRAMEWORKS_MAX ? config->knobs->files : FRAMEWORKS_MAX;
	if (wanted && !strcmp(wanted, "auto"))
		wanted = NULL;
	if (wanted && !mt_knobs_find(config->knobs, wanted))
		return advise_fail(config,
				   "--framework %.64s: no file of knobs is about it (one of:" MT_KNOBS_FRAMEWORKS ")",
				   wanted);
	error = look(&search, db);
	if (error) {
		snprintf(config->message, sizeof(config->message), "%s", db_message(db));
		return error;
	}
	add_parts(&search, wanted ? number_of(&search, wanted) : choose(&search));
	return advise_index(config);
}
