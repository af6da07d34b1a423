/*
 * advise_find.c - which knob a key means. Keys come in many spellings: a path or its end, a flag, a field with the name of
 * its class or without, one of before, one that is handed on to an engine.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/error.h"
#include "memtrace/nearest.h"

size_t advise_canonical(char out[ADVISE_KEY_MAX], const char *key, size_t size)
{
	size_t used = 0, i = 0;

	while (i < size && key[i] == '-')
		i++;
	for (; i < size && used + 1 < ADVISE_KEY_MAX; i++)
		if (key[i] != ')')
			out[used++] = key[i] == '-' ? '_' : key[i] == '(' ? '.' : key[i];
	out[used] = '\0';
	return i < size ? 0 : used;
}

const char *advise_short_key(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot && strncmp(key, "--", 2) ? dot + 1 : key;
}

/* ---- the index --------------------------------------------------------------------------------------------------- */

/* "GRPOConfig.max_length" can be said without the class; "DataLoader(num_workers)" is no field of a configuration. */
static const char *bare_of(const char *key, const char *canonical)
{
	const char *dot = strchr(canonical, '.');

	return dot && isupper((unsigned char)*key) && !strchr(key, '(') ? dot + 1 : NULL;
}

static int add_key(struct advise_config *config, const char *before, const struct mt_knob *knob,
		   const struct mt_knob_name *name, uint32_t part)
{
	char whole[ADVISE_KEY_MAX], canonical[ADVISE_KEY_MAX];
	const char *key = name->key + (*before ? strspn(name->key, "-") : 0);
	uint32_t room = config->keys_room ? config->keys_room * 2 : 256;
	struct advise_key *larger;
	size_t size;

	if (config->keys == config->keys_room) {
		larger = realloc(config->key, room * sizeof(*larger));
		if (!larger)
			return advise_no_memory(config);
		config->key = larger;
		config->keys_room = room;
	}
	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", before, key) >= sizeof(whole))
		return 0;
	size = advise_canonical(canonical, whole, strlen(whole));
	larger = &config->key[config->keys];
	memset(larger, 0, sizeof(*larger));
	larger->text = advise_keep(config, canonical, size);
	if (!larger->text)
		return advise_no_memory(config);
	larger->size = size;
	larger->bare = bare_of(whole, larger->text);
	larger->knob = knob;
	larger->name = name;
	larger->part = part;
	config->keys++;
	return 0;
}

/* All names of a framework's knobs, after `before`. */
static int add_part(struct advise_config *config, const char *before, uint32_t part)
{
	const struct mt_knob_file *file = config->part[part].file;
	uint32_t i, k;
	int error = 0;

	for (i = 0; i < file->knobs && !error; i++) {
		error = add_key(config, before, &file->knob[i], &file->knob[i].name, part);
		for (k = 0; k < file->knob[i].olders && !error; k++)
			error = add_key(config, before, &file->knob[i], &file->knob[i].older[k], part);
	}
	return error;
}

int advise_index(struct advise_config *config)
{
	const struct mt_knob_file *main_file = config->part[0].file;
	uint32_t i, k;
	int error = 0;

	config->keys = 0;
	for (i = 0; i < config->parts && !error; i++) {
		error = add_part(config, "", i);
		for (k = 0; k < main_file->hands && !error; k++)
			if (i && !strcmp(main_file->hand[k].framework, config->part[i].file->framework))
				error = add_part(config, main_file->hand[k].before, i);
	}
	return error;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

/* How a key says a name; the better, the greater. */
enum level {
	LEVEL_NO,
	LEVEL_INSIDE, /* "args.max_length", where something stands before the name */
	LEVEL_END,    /* "use_dynamic_bsz", the end of a path */
	LEVEL_SAME,
};

/* Is `end` the end of `text`, from a dot on? */
static int ends(const char *text, size_t size, const char *end, size_t end_size)
{
	return size > end_size && text[size - end_size - 1] == '.' && !memcmp(text + size - end_size, end, end_size);
}

/* What stands before a bare name says whether it can be this framework's: "vllm.max_num_seqs", but not "data.type". */
static int is_below(const struct advise_config *config, const struct advise_key *key, const char *text, size_t size)
{
	const char *framework = config->part[key->part].file->framework;
	size_t length = strlen(framework), before = size - key->size - 1;

	if (strchr(key->text, '.') || !key->part)
		return 1;
	return before >= length && !memcmp(text + before - length, framework, length) &&
	       (before == length || text[before - length - 1] == '.');
}

/* Rows of another class than that of the trainer at hand are not meant. */
static int is_other_class(const struct advise_config *config, const struct advise_key *key)
{
	const char *class_ = config->part[key->part].class_;

	return key->bare && *class_ && strncmp(key->text, class_, strlen(class_)) != 0;
}

static enum level compare(const struct advise_config *config, const struct advise_key *key, const char *text,
			  size_t size)
{
	size_t bare = key->bare ? key->size - (size_t)(key->bare - key->text) : 0;

	if (key->size == size && !memcmp(key->text, text, size))
		return LEVEL_SAME;
	if (bare && !is_other_class(config, key)) {
		if (bare == size && !memcmp(key->bare, text, size))
			return LEVEL_SAME;
		if (ends(text, size, key->bare, bare))
			return LEVEL_INSIDE;
	}
	if (!bare && ends(key->text, key->size, text, size))
		return LEVEL_END;
	if (ends(text, size, key->text, key->size) && is_below(config, key, text, size))
		return LEVEL_INSIDE;
	return LEVEL_NO;
}

/* All keys of one framework that match best. */
struct found {
	const struct advise_key *key, *trainers; /* the first; the first of the trainer itself */
	enum level level;
	uint32_t knobs, trainers_knobs;
};

static void take(struct found *found, const struct advise_key *key, enum level level)
{
	if (level > found->level)
		memset(found, 0, sizeof(*found));
	found->level = level;
	if (!found->key || key->knob != found->key->knob)
		found->knobs++;
	if (!found->key)
		found->key = key;
	if (key->knob->processes != 1u << MT_KNOB_PROCESS_TRAINER)
		return;
	if (!found->trainers || key->knob != found->trainers->knob)
		found->trainers_knobs++;
	if (!found->trainers)
		found->trainers = key;
}

static struct found find_in(const struct advise_config *config, uint32_t part, const char *text, size_t size,
			    enum level least)
{
	struct found found = { 0 };
	enum level level;
	uint32_t i;

	for (i = 0; i < config->keys; i++) {
		if (config->key[i].part != part)
			continue;
		level = compare(config, &config->key[i], text, size);
		if (level >= least && level >= found.level)
			take(&found, &config->key[i], level);
	}
	return found;
}

struct advise_match advise_match(const struct advise_config *config, const char *key)
{
	struct advise_match match = { 0 };
	char text[ADVISE_KEY_MAX];
	size_t size = advise_canonical(text, key, strlen(key));
	struct found found = { 0 };
	enum level least;
	uint32_t i;

	if (!size)
		return match;
	for (least = LEVEL_END; least >= LEVEL_INSIDE && !found.key; least = (enum level)(least - 1))
		for (i = 0; i < config->parts && !found.key; i++)
			found = find_in(config, i, text, size, least);
	if (found.knobs > 1 && found.trainers_knobs == 1) {
		match.others = found.knobs - 1;
		found.key = found.trainers;
		found.knobs = 1;
	}
	match.several = found.knobs;
	if (found.knobs != 1)
		return match;
	match.knob = found.key->knob;
	match.name = found.key->name;
	match.is_weak = found.level == LEVEL_END && !strpbrk(text, "._");
	return match;
}

const struct mt_knob *advise_config_find(const struct advise_config *config, const char *key,
					 const struct mt_knob_name **name, uint32_t *several)
{
	struct advise_match match = advise_match(config, key);

	*name = match.name;
	*several = match.several;
	return match.knob;
}

/* ---- from the main framework to those below ---------------------------------------------------------------------- */

/* Does the main framework's key end in the other's, with its framework's name before it or not? */
static int is_set_by(const struct advise_key *mine, const struct advise_key *other)
{
	size_t rest = mine->size > other->size ? mine->size - other->size : 0;

	return rest && !memcmp(mine->text + rest, other->text, other->size) &&
	       (mine->text[rest - 1] == '.' || mine->text[rest - 1] == '_');
}

const struct mt_knob *advise_config_through(const struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(config, knob);
	const struct advise_key *mine, *other = NULL;
	char prefix[64];
	uint32_t i;

	if (!part || part == config->part)
		return NULL;
	for (i = 0; i < config->keys && !other; i++)
		if (config->key[i].knob == knob)
			other = &config->key[i];
	snprintf(prefix, sizeof(prefix), "%s_", part->file->framework);
	for (i = 0; other && i < config->keys && !config->key[i].part; i++) {
		mine = &config->key[i];
		if (mine->name != &mine->knob->name || !(mine->knob->processes & knob->processes) ||
		    is_other_class(config, mine) || mine->knob->measure != knob->measure)
			continue;
		if (mine->size == other->size && !memcmp(mine->text, other->text, other->size))
			return mine->knob;
		if (!is_set_by(mine, other))
			continue;
		/* After a dot it is the name; after "vllm_" it is, too. After any other "_" it is another word. */
		if (mine->text[mine->size - other->size - 1] == '.' ||
		    (mine->size >= other->size + strlen(prefix) &&
		     !memcmp(mine->text + mine->size - other->size - strlen(prefix), prefix, strlen(prefix))))
			return mine->knob;
	}
	return NULL;
}

/* ---- keys that are none ------------------------------------------------------------------------------------------ */

#define LOOKED_AT_MAX 8192u /* keys of a configuration that are compared with all names */

/* The end of a key in canonical spelling. */
static const char *last_word(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot ? dot + 1 : text;
}

static int is_other(const struct advise_config *config, const char *word)
{
	const struct mt_knob_file *file;
	char other[ADVISE_KEY_MAX];
	uint32_t i, k;

	for (i = 0; i < config->parts; i++) {
		file = config->part[i].file;
		for (k = 0; k < file->others; k++)
			if (advise_canonical(other, file->other[k], strlen(file->other[k])) &&
			    !strcmp(last_word(other), word))
				return 1;
	}
	return 0;
}

/* Does a configuration or command line say this key, as it says the frameworks' own? Arguments of functions are in the code. */
static int is_said(const struct advise_key *key)
{
	return key->knob->written != MT_KNOB_WRITTEN_ENVIRONMENT && !strchr(key->name->key, '(');
}

/*
 * The name that somebody wanted to write. In a configuration there are many keys that are no knobs: of those only a name of
 * several words is near, with a mistake in every five letters, and none that ends like a knob, or like one of `others`.
 */
static const struct advise_key *nearest_key(struct advise_config *config, const char *word, int by_hand)
{
	struct mt_nearest nearest = { .word = word };
	const struct advise_key *best = NULL;
	size_t size = strlen(word), other, changes = by_hand ? size : size / 5;
	const char *end;
	uint32_t i;

	for (i = 0; i < config->keys; i++) {
		end = last_word(config->key[i].text);
		other = strlen(end);
		if (!by_hand && !strcmp(end, word))
			return NULL;
		if ((!by_hand && !is_said(&config->key[i])) || (other > size ? other - size : size - other) > changes)
			continue;
		mt_nearest_try(&nearest, end);
		if (nearest.best == end)
			best = &config->key[i];
	}
	return nearest.best && nearest.distance <= changes ? best : NULL;
}

/* The framework that does have it, for a run that was taken for another one. */
static const char *whose(const struct advise_config *config, const char *key)
{
	char mine[ADVISE_KEY_MAX], other[ADVISE_KEY_MAX];
	size_t size = advise_canonical(mine, key, strlen(key)), other_size;
	const struct mt_knob_file *file;
	uint32_t i, k;

	for (i = 0; i < config->knobs->files && size; i++) {
		file = &config->knobs->file[i];
		for (k = 0; k < file->knobs; k++) {
			other_size = advise_canonical(other, file->knob[k].name.key, strlen(file->knob[k].name.key));
			if ((other_size == size && !memcmp(other, mine, size)) || ends(other, other_size, mine, size))
				return file->framework;
		}
	}
	return NULL;
}

int advise_unknown(struct advise_config *config, const char *key, const char *where, enum advise_origin origin)
{
	int by_hand = origin == ADVISE_NOW || origin == ADVISE_SET;
	const char *framework = config->part[0].file->framework, *owner;
	const struct advise_key *near;
	char text[ADVISE_KEY_MAX];

	if (!advise_canonical(text, key, strlen(key)) || (!by_hand && config->looked_at++ >= LOOKED_AT_MAX))
		return by_hand ? advise_warn(config, "%s: %.128s: %s has no such key", where, key, framework) : 0;
	if (!by_hand && (!strchr(last_word(text), '_') || is_other(config, last_word(text))))
		return 0;
	owner = by_hand ? whose(config, key) : NULL;
	near = owner ? NULL : nearest_key(config, last_word(text), by_hand);
	if (owner)
		return advise_warn(config, "%s: %.128s: %s has no such key, %s has (--framework %s)", where, key,
				   framework, owner, owner);
	if (near)
		return advise_warn(config, "%s: %.128s: %s has no such key (did you mean %s?)", where, key, framework,
				   near->name->key);
	if (!by_hand)
		return 0;
	return advise_warn(config, "%s: %.128s: %s has no such key (memana knobs %s lists those that move memory)",
			   where, key, framework, framework);
}
