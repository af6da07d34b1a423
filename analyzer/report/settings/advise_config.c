/* advise_config.c - keeps the settings of all sources, and chooses the setting that counts for each knob. */
#include "advise_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"

int advise_config_new(struct advise_config **config, const struct mt_knobs *knobs)
{
	struct advise_config *made = calloc(1, sizeof(*made));

	*config = made;
	if (!made)
		return -MT_E_MEMORY;
	made->knobs = knobs;
	made->setting = calloc(ADVISE_SETTINGS_MAX, sizeof(*made->setting));
	made->warning = calloc(ADVISE_WARNINGS_MAX, sizeof(*made->warning));
	return made->setting && made->warning ? 0 : advise_no_memory(made);
}

void advise_config_free(struct advise_config *config)
{
	if (!config)
		return;
	mt_texts_free(&config->texts);
	free(config->setting);
	free(config->warning);
	free(config->key);
	free(config);
}

/* ---- add settings ------------------------------------------------------------------------------------------------ */

static int add(struct advise_config *config, const struct mt_knob *knob, const char *value, const char *where,
	       enum advise_origin origin)
{
	struct advise_setting *setting = &config->setting[config->settings];

	*setting = (struct advise_setting){ .knob = knob, .origin = origin };
	setting->where = advise_keep(config, where, strlen(where));
	if (value && strstr(value, "${")) /* an interpolation: the value is in another key */
		value = NULL;
	setting->value = value ? advise_keep(config, value, strlen(value)) : NULL;
	if (!setting->where || (value && !setting->value))
		return advise_no_memory(config);
	config->settings++;
	return 0;
}

int advise_say(struct advise_config *config, const char *key, const char *value, const char *where,
	       enum advise_origin origin)
{
	int by_hand = origin == ADVISE_NOW || origin == ADVISE_SET;
	struct advise_match match = advise_match(config, key);
	const struct mt_knob *through;
	double number;

	if (config->settings == ADVISE_SETTINGS_MAX || (!by_hand && (!match.knob || match.is_end)))
		return 0;
	if (match.several)
		return advise_fail(config, "%s %.128s: %u keys of \"memana knobs %s\" end so: say more of it", where,
				   key, match.several + 1, config->part[0].file->framework);
	if (!match.knob)
		return advise_unknown(config, key, where, origin == ADVISE_SET);
	through = advise_config_through(config, match.knob);
	match.knob = through ? through : match.knob;
	if (by_hand && advise_value_number(match.knob, value, &number) < 0)
		return advise_fail(config, "%s %.128s=%.64s: not a value of the unit %s", where, match.knob->name.key,
				   value, match.knob->unit);
	return add(config, match.knob, value, where, origin);
}

int advise_config_pair(struct advise_config *config, const char *text, enum advise_origin origin)
{
	const char *equals = strchr(text, '='), *where = origin == ADVISE_NOW ? "--now" : "--set";
	char key[ADVISE_KEY_MAX];

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(key))
		return advise_fail(config, "%s %.128s: not KEY=VALUE", where, text);
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	return advise_say(config, key, equals + 1, where, origin);
}

/* ---- ask for values ---------------------------------------------------------------------------------------------- */

/* The setting of the knob from the most trusted source; NULL: no source has one. Changes of --set do not count. */
static const struct advise_setting *said(const struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_setting *best = NULL, *setting;

	for (setting = config->setting; setting < config->setting + config->settings; setting++)
		if (setting->knob == knob && setting->origin != ADVISE_SET &&
		    (!best || setting->origin >= best->origin))
			best = setting;
	return best;
}

const char *advise_default(const struct advise_config *config, const struct mt_knob *knob,
			   const struct advise_part **part)
{
	const char *value = NULL;

	for (; knob && !value; knob = advise_passed_to(config, knob)) {
		*part = advise_config_part(config, knob);
		value = *part ? mt_knob_default_in(&knob->name, (*part)->file->releases - 1) : NULL;
	}
	return value;
}

int advise_config_is_blind(const struct advise_config *config)
{
	uint32_t i;

	for (i = 0; i < config->settings; i++)
		if (config->setting[i].origin < ADVISE_SET)
			return 0;
	return 1;
}

int advise_is_anybodys(const struct mt_knob *knob)
{
	return knob->written == MT_KNOB_WRITTEN_ENVIRONMENT || knob->written == MT_KNOB_WRITTEN_CODE ||
	       knob->written == MT_KNOB_WRITTEN_JSON;
}

static struct advise_value default_value(const struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_part *part;
	const char *text = advise_default(config, knob, &part);
	const struct mt_knob *other = NULL;

	if (!text || (config->wrapper && !advise_is_anybodys(knob)))
		return (struct advise_value){ NULL, "", ADVISE_NOBODY };
	if (knob->unset && advise_is_null(text))
		other = advise_match(config, knob->unset).knob;
	return other ? advise_config_value(config, other)
		     : (struct advise_value){ text, part->by_default, ADVISE_DEFAULT };
}

struct advise_value advise_config_value(const struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_setting *setting = said(config, knob);
	const struct mt_knob *through = setting ? NULL : advise_config_through(config, knob);

	if (through)
		return advise_config_value(config, through);
	if (!setting)
		return default_value(config, knob);
	return (struct advise_value){ setting->value, setting->where, setting->origin };
}
