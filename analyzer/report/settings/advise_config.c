/* advise_config.c - all that is said of the knobs of a run, by whom, and which of it counts. */
#include "advise_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "base/text.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"

int advise_config_new(struct advise_config **config, const struct mt_knobs *knobs)
{
	*config = calloc(1, sizeof(**config));
	if (!*config)
		return -MT_E_MEMORY;
	(*config)->knobs = knobs;
	return 0;
}

void advise_config_free(struct advise_config *config)
{
	struct advise_text *text, *following;

	if (!config)
		return;
	for (text = config->texts; text; text = following) {
		following = text->next;
		free(text);
	}
	free(config->setting);
	free(config->warning);
	free(config->key);
	free(config);
}

/* ---- taking in --------------------------------------------------------------------------------------------------- */

static struct advise_setting *next_setting(struct advise_config *config)
{
	uint32_t room = config->settings_room ? config->settings_room * 2 : 64;
	struct advise_setting *larger;

	if (config->settings == config->settings_room) {
		larger = realloc(config->setting, room * sizeof(*larger));
		if (!larger)
			return NULL;
		config->setting = larger;
		config->settings_room = room;
	}
	return &config->setting[config->settings];
}

static int by_hand(enum advise_origin origin)
{
	return origin == ADVISE_NOW || origin == ADVISE_SET;
}

/* 'a' and "a" are a: what is left of quotes that a shell, or YAML, has not taken. */
static const char *without_quotes(const char *text, size_t *size)
{
	*size = strlen(text);
	if (*size < 2 || (*text != '"' && *text != '\'') || text[*size - 1] != *text)
		return text;
	*size -= 2;
	return text + 1;
}

static int check_value(struct advise_config *config, const struct mt_knob *knob, const char *value, const char *where)
{
	static const char *const words[] = {
		[MT_KNOB_KIND_SWITCH] = "true or false", [MT_KNOB_KIND_COUNT] = "a whole number",
		[MT_KNOB_KIND_SIZE] = "a size (1GiB)",   [MT_KNOB_KIND_SHARE] = "a share from 0 to 1",
		[MT_KNOB_KIND_NUMBER] = "a number",      [MT_KNOB_KIND_WORD] = "a word",
	};
	double number;

	if (advise_value_number(knob, value, &number) >= 0)
		return 0;
	return advise_fail(config, "%s %.128s=%.64s: %s is %s, in %s", where, knob->name.key, value,
			   advise_short_key(knob->name.key), words[mt_knob_unit_kind(knob->measure)], knob->unit);
}

/* A name that the release does not have, or has no more: what to write instead. */
static int warn_of_name(struct advise_config *config, const struct advise_setting *setting)
{
	const struct advise_part *part = advise_config_part(config, setting->knob);
	const struct mt_knob_name *name = setting->name;
	const struct mt_knob_file *file = part->file;
	const char *older = *part->version ? "" : "; an older one reads it";

	if (name->gone < file->releases && (!*part->version || part->release >= name->gone))
		return advise_warn(config, "%s: %.128s: gone since %s %s%s%.200s%s", setting->where, setting->key,
				   file->framework, file->release[name->gone].version,
				   name == &setting->knob->name ? ": " : ", it is ",
				   name == &setting->knob->name ? setting->knob->instead : setting->knob->name.key,
				   older);
	if (*part->version && part->release < name->since)
		return advise_warn(config, "%s: %.128s: %s has it from %s on, and this is %s", setting->where,
				   setting->key, file->framework, file->release[name->since].version, part->version);
	return 0;
}

static int add(struct advise_config *config, const struct mt_knob *knob, const struct mt_knob_name *name,
	       const char *key, const char *value, const char *where, enum advise_origin origin)
{
	const struct advise_part *part = advise_config_part(config, knob);
	struct advise_setting *setting = next_setting(config);
	size_t size;

	if (!setting)
		return advise_no_memory(config);
	memset(setting, 0, sizeof(*setting));
	setting->knob = knob;
	setting->name = name;
	setting->origin = origin;
	setting->counts = !*part->version || advise_name_in(name, part->release);
	setting->key = advise_keep(config, key, strlen(key));
	setting->where = advise_keep(config, where, strlen(where));
	if (value) {
		value = without_quotes(value, &size);
		setting->value = advise_keep(config, value, size);
	}
	if (!setting->key || !setting->where || (value && !setting->value))
		return advise_no_memory(config);
	config->settings++;
	return warn_of_name(config, setting);
}

/* Which keys could be meant, for a sentence. */
static int fail_several(struct advise_config *config, const char *key, const char *where)
{
	char words[300] = "", canonical[ADVISE_KEY_MAX];
	size_t used = 0, size = advise_canonical(canonical, key, strlen(key));
	const struct advise_key *other;
	uint32_t i;

	for (i = 0; i < config->keys && used < sizeof(words); i++) {
		other = &config->key[i];
		if (other->size > size && !strcmp(other->text + other->size - size, canonical) &&
		    other->text[other->size - size - 1] == '.' && other->name == &other->knob->name)
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", used ? ", " : "",
						 other->name->key);
	}
	return advise_fail(config, "%s %.128s: which one? %s", where, key, words);
}

int advise_say(struct advise_config *config, const char *key, const char *value, const char *where,
	       enum advise_origin origin)
{
	struct advise_match match;
	const struct mt_knob *through;
	int error;

	if (config->settings == ADVISE_SETTINGS_MAX)
		return 0;
	match = advise_match(config, key);
	if (match.several > 1)
		return by_hand(origin) ? fail_several(config, key, where) : 0;
	if (!match.knob)
		return advise_unknown(config, key, where, origin);
	if (match.is_weak && !by_hand(origin))
		return 0;
	through = advise_config_through(config, match.knob);
	if (through) {
		match.knob = through;
		match.name = &through->name;
	}
	if (by_hand(origin) && value) {
		error = check_value(config, match.knob, value, where);
		if (error)
			return error;
	}
	error = add(config, match.knob, match.name, key, value, where, origin);
	if (error || !match.others || !by_hand(origin))
		return error;
	return advise_warn(config, "%s: %.128s: taken for %s (%u more end so: say more of the key for them)", where,
			   key, match.name->key, match.others);
}

static int say_pair(struct advise_config *config, const char *text, const char *where, enum advise_origin origin)
{
	const char *equals = strchr(text, '=');
	char key[ADVISE_KEY_MAX];

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(key))
		return advise_fail(config, "%s %.128s: not KEY=VALUE", where, text);
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	return advise_say(config, key, equals + 1, where, origin);
}

int advise_config_now(struct advise_config *config, const char *text)
{
	return say_pair(config, text, "--now", ADVISE_NOW);
}

int advise_config_set(struct advise_config *config, const char *text)
{
	return say_pair(config, text, "--set", ADVISE_SET);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* What is said of the knob by whom is to be trusted most; NULL: nobody says anything. */
static const struct advise_setting *said(const struct advise_config *config, const struct mt_knob *knob,
					 enum advise_when when)
{
	const struct advise_setting *best = NULL, *setting;
	uint32_t i;

	for (i = 0; i < config->settings; i++) {
		setting = &config->setting[i];
		if (setting->knob == knob && setting->counts &&
		    (setting->origin != ADVISE_SET || when == ADVISE_WITH_SET) &&
		    (!best || setting->origin >= best->origin))
			best = setting;
	}
	return best;
}

/* The knob of another framework to which this one hands its value on. */
static const struct mt_knob *passed_to(const struct advise_config *config, const struct mt_knob *knob)
{
	char mine[ADVISE_KEY_MAX];
	size_t size = knob->passes ? advise_canonical(mine, knob->name.key, strlen(knob->name.key)) : 0;
	const struct advise_key *key, *best = NULL;
	uint32_t i;

	for (i = 0; size && i < config->keys; i++) {
		key = &config->key[i];
		if (!strcmp(config->part[key->part].file->framework, knob->passes) && key->size <= size &&
		    !strcmp(mine + size - key->size, key->text) &&
		    (key->size == size || strchr("._", mine[size - key->size - 1])) &&
		    (!best || key->size > best->size))
			best = key;
	}
	return best ? best->knob : NULL;
}

static const char *default_of(const struct mt_knob *knob, uint32_t release)
{
	const char *value = NULL;
	uint32_t i;

	if (advise_name_in(&knob->name, release))
		value = mt_knob_default_in(&knob->name, release);
	for (i = 0; i < knob->olders && !value; i++)
		if (advise_name_in(&knob->older[i], release))
			value = mt_knob_default_in(&knob->older[i], release);
	return value;
}

const char *advise_default(const struct advise_config *config, const struct mt_knob *knob,
			   const struct advise_part **part)
{
	const char *value;

	*part = advise_config_part(config, knob);
	value = *part ? default_of(knob, (*part)->release) : NULL;
	if (!value && knob->passes) {
		knob = passed_to(config, knob);
		*part = knob ? advise_config_part(config, knob) : NULL;
		value = *part ? default_of(knob, (*part)->release) : NULL;
	}
	return value;
}

int advise_config_is_blind(const struct advise_config *config)
{
	uint32_t i;

	for (i = 0; i < config->settings; i++)
		if (config->setting[i].knob && config->setting[i].origin > ADVISE_SHOWN &&
		    config->setting[i].origin < ADVISE_SET)
			return 0;
	return 1;
}

const char *advise_example(const struct mt_knob *knob)
{
	static const char ends[] = ".yaml";
	const char *at = knob->name.source ? strstr(knob->name.source, "examples/") : NULL,
		   *slash = at ? strrchr(at, '/') : NULL;
	size_t size = slash ? strlen(slash) : 0;

	return size >= sizeof(ends) && !strcmp(slash + size + 1 - sizeof(ends), ends) ? slash + 1 : "";
}

static const char *make_default_words(struct advise_config *config, const struct advise_part *part, const char *example)
{
	char words[256];

	snprintf(words, sizeof(words), "default of %.64s%s%s %s%s%s%s", example, *example ? " of " : "",
		 part->file->framework, part->file->release[part->release].version,
		 *part->version ? "" : ", the newest read", advise_config_is_blind(config) ? ", if it is not set" : "",
		 config->elsewhere && part == config->part ? ", if no file that the configuration names says otherwise"
							   : "");
	return advise_keep(config, words, strlen(words));
}

/* "default of verl 0.9.1"; made once, after all that is said has been: for the framework, and for each of its examples. */
static const char *default_words(struct advise_config *config, const struct advise_part *of, const struct mt_knob *knob)
{
	struct advise_part *part = &config->part[of - config->part];
	const char *example = advise_example(knob), **words = &part->by_default;
	uint32_t i = 0;

	if (*example) {
		while (i < part->examples && strcmp(part->example[i].name, example) != 0)
			i++;
		if (i == ADVISE_EXAMPLES_MAX)
			return "default";
		part->example[i].name = example;
		part->examples += i == part->examples;
		words = &part->example[i].words;
	}
	if (!*words)
		*words = make_default_words(config, part, example);
	return *words ? *words : "default";
}

int advise_is_anybodys(const struct mt_knob *knob)
{
	return knob->written == MT_KNOB_WRITTEN_ENVIRONMENT || knob->written == MT_KNOB_WRITTEN_CODE ||
	       knob->written == MT_KNOB_WRITTEN_JSON;
}

/* The knob of these frameworks that has the key; NULL: none has. */
static const struct mt_knob *knob_with_key(const struct advise_config *config, const char *key)
{
	uint32_t part, i;

	for (part = 0; part < config->parts; part++)
		for (i = 0; i < config->part[part].file->knobs; i++)
			if (!strcmp(config->part[part].file->knob[i].name.key, key))
				return &config->part[part].file->knob[i];
	return NULL;
}

static struct advise_value default_value(struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_part *part;
	struct advise_value value = { advise_default(config, knob, &part), "", ADVISE_NOBODY };
	const struct mt_knob *other = knob->unset && value.text && advise_is_null(value.text)
					      ? knob_with_key(config, knob->unset)
					      : NULL;

	if (config->wrapper && !advise_is_anybodys(knob))
		return (struct advise_value){ NULL, "", ADVISE_NOBODY };
	if (other && other != knob && !other->unset)
		return advise_config_value(config, other, ADVISE_AS_IS);
	if (value.text) {
		value.where = default_words(config, part, knob);
		value.origin = ADVISE_DEFAULT;
	}
	return value;
}

struct advise_value advise_config_value(struct advise_config *config, const struct mt_knob *knob, enum advise_when when)
{
	const struct advise_setting *setting = said(config, knob, when);
	const struct mt_knob *through = setting ? NULL : advise_config_through(config, knob);
	struct advise_value value;

	if (through)
		return advise_config_value(config, through, when);
	if (!setting)
		return default_value(config, knob);
	value.text = setting->value;
	value.where = setting->where;
	value.origin = setting->origin;
	return value;
}

uint32_t advise_config_names(const struct advise_config *config, const struct mt_knob *knob,
			     const struct mt_knob_name *name[MT_KNOB_OLDER_MAX + 1])
{
	const struct advise_part *part = advise_config_part(config, knob);
	uint32_t count = 0, i;

	if (!part || !*part->version || advise_name_in(&knob->name, part->release))
		name[count++] = &knob->name;
	if (count && part && *part->version)
		return count;
	for (i = 0; i < knob->olders; i++)
		if (!part || !*part->version || advise_name_in(&knob->older[i], part->release))
			name[count++] = &knob->older[i];
	return count;
}
