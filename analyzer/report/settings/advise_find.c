/*
 * advise_find.c - finds the knob for a key. A key is a path, the end of a path, or a flag. A field may come without its
 * class. Older names of a knob match, too, and names with the text before keys for an engine.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/error.h"
#include "memtrace/nearest.h"

/* Writes the key in the form for comparison. Returns its size; 0: the key is too long for any knob. */
static size_t canonical_of(char out[ADVISE_KEY_MAX], const char *key, size_t size)
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

/* ---- the index --------------------------------------------------------------------------------------------------- */

/* Adds one name. `whole`: the name as spelled in formats/knobs. */
static int add_key(struct advise_config *config, const char *whole, const struct mt_knob *knob,
		   const struct mt_knob_name *name, uint32_t part)
{
	struct advise_key *key = &config->key[config->keys];
	char canonical[ADVISE_KEY_MAX];

	*key = (struct advise_key){ .knob = knob, .name = name, .part = part };
	key->size = canonical_of(canonical, whole, strlen(whole));
	key->text = advise_keep(config, canonical, key->size);
	if (!key->text)
		return advise_no_memory(config);
	config->keys++;
	return 0;
}

/* Adds a name, and a field such as GRPOConfig.max_length also without its class. DataLoader(num_workers) is no field. */
static int add_name(struct advise_config *config, const char *before, const struct mt_knob *knob,
		    const struct mt_knob_name *name, uint32_t part)
{
	const char *dot = strchr(name->key, '.');
	char whole[ADVISE_KEY_MAX];
	int error;

	snprintf(whole, sizeof(whole), "%s%s", before, name->key + (*before ? strspn(name->key, "-") : 0));
	error = add_key(config, whole, knob, name, part);
	if (!error && dot && isupper((unsigned char)*name->key) && !*before)
		error = add_key(config, dot + 1, knob, name, part);
	return error;
}

/* Adds all names of a framework's knobs, each with the text `before` before it. */
static int add_part(struct advise_config *config, const char *before, uint32_t part)
{
	const struct mt_knob_file *file = config->part[part].file;
	uint32_t i, k;
	int error = 0;

	for (i = 0; i < file->knobs && !error; i++) {
		error = add_name(config, before, &file->knob[i], &file->knob[i].name, part);
		for (k = 0; k < file->knob[i].olders && !error; k++)
			error = add_name(config, before, &file->knob[i], &file->knob[i].older[k], part);
	}
	return error;
}

int advise_index(struct advise_config *config)
{
	const struct mt_knob_file *file = config->part[0].file;
	size_t room = 0;
	uint32_t i, k;
	int error = 0;

	for (i = 0; i < config->parts; i++)
		room += (size_t)config->part[i].file->knobs * (MT_KNOB_OLDER_MAX + 1) * (file->hands + 2);
	free(config->key);
	config->key = calloc(room, sizeof(*config->key));
	config->keys = 0;
	if (!config->key)
		return advise_no_memory(config);
	for (i = 0; i < config->parts && !error; i++) {
		error = add_part(config, "", i);
		for (k = 0; k < file->hands && !error; k++)
			if (i && !strcmp(file->hand[k].framework, config->part[i].file->framework))
				error = add_part(config, file->hand[k].before, i);
	}
	return error;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

/* The match between a key and a name; a greater level is a better match. */
enum level {
	LEVEL_NO,
	LEVEL_INSIDE, /* the key is the name with a text before it: "args.max_length" */
	LEVEL_END,    /* the key is the end of the name: "use_dynamic_bsz" */
	LEVEL_SAME,   /* the key is the name */
	LEVELS,
};

/* 1: `text` ends with a dot and `end`. */
static int ends(const char *text, size_t size, const char *end, size_t end_size)
{
	return size > end_size && text[size - end_size - 1] == '.' && !memcmp(text + size - end_size, end, end_size);
}

/* 1: the knob is of another trainer than the one of the run. */
static int is_other_trainer(const struct advise_config *config, const struct advise_key *key)
{
	const char *trainer = config->part[key->part].trainer;

	return key->knob->trainer && trainer && strcmp(key->knob->trainer, trainer) != 0;
}

/*
 * Compares a key with a name. A short name of another framework matches inside of a key only after the framework's
 * name: "vllm.max_num_seqs" matches, "data.type" does not.
 */
static enum level compare(const struct advise_config *config, const struct advise_key *key, const char *text,
			  size_t size)
{
	const char *framework = config->part[key->part].file->framework;
	size_t length = strlen(framework), before = size > key->size ? size - key->size - 1 : 0;
	int is_same = key->size == size && !memcmp(key->text, text, size);

	if (is_other_trainer(config, key))
		return is_same && strchr(text, '.') ? LEVEL_SAME : LEVEL_NO;
	if (is_same)
		return LEVEL_SAME;
	if (ends(key->text, key->size, text, size))
		return LEVEL_END;
	if (!ends(text, size, key->text, key->size))
		return LEVEL_NO;
	return strchr(key->text, '.') || !key->part || (before == length && !memcmp(text, framework, length)) ||
			       ends(text, before, framework, length)
		       ? LEVEL_INSIDE
		       : LEVEL_NO;
}

/*
 * The rank of a match; 0: no match. First come keys that are a name or its end, then nearer frameworks, then better
 * levels, then knobs of the trainer's process.
 */
static uint32_t rank(const struct advise_config *config, const struct advise_key *key, enum level level)
{
	uint32_t nearness = config->parts - key->part, is_end = level >= LEVEL_END,
		 is_trainers = key->knob->processes == 1u << MT_KNOB_PROCESS_TRAINER;

	return level ? ((is_end * (ADVISE_PARTS_MAX + 1) + nearness) * LEVELS + level) * 2 + is_trainers : 0;
}

struct advise_match advise_match(const struct advise_config *config, const char *key)
{
	char text[ADVISE_KEY_MAX];
	size_t size = canonical_of(text, key, strlen(key));
	struct advise_match match = { 0 };
	const struct advise_key *other;
	uint32_t best = 0, here;
	enum level level;

	for (other = config->key; size && other < config->key + config->keys; other++) {
		level = compare(config, other, text, size);
		here = rank(config, other, level);
		if (here > best)
			match = (struct advise_match){ 0 };
		if (!here || here < best || match.knob == other->knob)
			continue;
		best = here;
		match.several += match.knob != NULL;
		match.knob = other->knob;
		match.is_end = level == LEVEL_END;
	}
	if (match.several)
		match.knob = NULL;
	return match;
}

/* ---- from the main framework to the others ----------------------------------------------------------------------- */

/* 1: the main framework's key ends with the other key, after a dot or the other framework's name: "vllm_max_num_seqs". */
static int is_set_by(const struct advise_config *config, const struct advise_key *mine, const struct advise_key *other)
{
	const char *framework = config->part[other->part].file->framework;
	size_t before = mine->size >= other->size ? mine->size - other->size : 0, length = strlen(framework);

	if (mine->part || !other->part || mine->name != &mine->knob->name || other->name != &other->knob->name ||
	    strcmp(mine->text + before, other->text) != 0 || is_other_trainer(config, mine) ||
	    !(mine->knob->processes & other->knob->processes) || mine->knob->measure != other->knob->measure)
		return 0;
	return !before || mine->text[before - 1] == '.' ||
	       (mine->text[before - 1] == '_' && before > length &&
		!memcmp(mine->text + before - 1 - length, framework, length));
}

/* The partner of the knob in the first pair of is_set_by. `is_main` 1: the knob is of the main framework. */
static const struct mt_knob *other_side(const struct advise_config *config, const struct mt_knob *of, int is_main)
{
	const struct advise_key *one, *two, *end = config->key + config->keys;

	for (one = config->key; one < end; one++)
		for (two = config->key; one->knob == of && two < end; two++)
			if (is_main ? is_set_by(config, one, two) : is_set_by(config, two, one))
				return two->knob;
	return NULL;
}

const struct mt_knob *advise_config_through(const struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(config, knob);

	return part && part != config->part ? other_side(config, knob, 0) : NULL;
}

const struct mt_knob *advise_passed_to(const struct advise_config *config, const struct mt_knob *knob)
{
	return knob->passes ? other_side(config, knob, 1) : NULL;
}

/* ---- unknown keys ------------------------------------------------------------------------------------------------ */

const char *advise_last_word(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot && strncmp(key, "--", 2) != 0 ? dot + 1 : key;
}

int advise_unknown(struct advise_config *config, const char *key, const char *where, int is_asked)
{
	const char *framework = config->part[0].file->framework;
	char text[ADVISE_KEY_MAX], words[MT_NEAREST_WORDS];
	struct mt_nearest nearest = { 0 };
	uint32_t i;

	canonical_of(text, key, strlen(key));
	nearest.word = advise_last_word(text);
	for (i = 0; i < config->keys; i++)
		mt_nearest_try(&nearest, advise_last_word(config->key[i].text));
	return (is_asked ? advise_fail : advise_warn)(config, "%s: %.128s: not a key of \"memana knobs %s\"%s", where,
						      key, framework, mt_nearest_words(words, &nearest));
}
