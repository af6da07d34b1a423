/* advise_notes.c - keeps texts, warnings and the error message of a configuration, and finds the framework of a knob. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config.h"
#include "advise_config_impl.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"

const char *advise_keep(struct advise_config *config, const char *text, size_t size)
{
	char *kept = mt_texts_keep(&config->texts, text, size);

	if (kept)
		mt_clean(kept, "");
	return kept;
}

int advise_no_memory(struct advise_config *config)
{
	snprintf(config->message, sizeof(config->message), "%s", mt_strerror(MT_E_MEMORY));
	return -MT_E_MEMORY;
}

int advise_fail(struct advise_config *config, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(config->message, sizeof(config->message), format, args);
	va_end(args);
	mt_clean(config->message, "");
	return -MT_E_ARGUMENT;
}

int advise_warn(struct advise_config *config, const char *format, ...)
{
	char words[ADVISE_WORDS_MAX];
	const char *kept;
	va_list args;
	uint32_t i;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (config->warnings == ADVISE_WARNINGS_MAX)
		return 0;
	kept = advise_keep(config, words, strlen(words));
	if (!kept)
		return advise_no_memory(config);
	for (i = 0; i < config->warnings; i++)
		if (!strcmp(config->warning[i], kept))
			return 0;
	config->warning[config->warnings++] = kept;
	return 0;
}

const struct advise_part *advise_config_part(const struct advise_config *config, const struct mt_knob *knob)
{
	const struct mt_knob_file *file;
	uint32_t i;

	for (i = 0; i < config->parts; i++) {
		file = config->part[i].file;
		if (knob >= file->knob && knob < file->knob + file->knobs)
			return &config->part[i];
	}
	return NULL;
}
