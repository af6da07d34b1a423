/* advise_config_impl.h - what the files of struct advise_config share. */
#ifndef MEMANA_ADVISE_CONFIG_IMPL_H
#define MEMANA_ADVISE_CONFIG_IMPL_H

#include "advise_config.h"
#include "memtrace/base.h"

#define ADVISE_KEY_MAX 512      /* bytes of a key; a longer one is no knob */
#define ADVISE_WARNINGS_MAX 64u /* after that no more are collected */

/* Texts, newest first. */
struct advise_text {
	struct advise_text *next;
	char text[];
};

/* A name of a knob of the frameworks at hand, as keys are compared: no dashes before it, _ for -, function.name. */
struct advise_key {
	const char *text;
	size_t size;
	const char *bare; /* in text: the name without the class of a configuration; NULL: it has none */
	const struct mt_knob *knob;
	const struct mt_knob_name *name;
	uint32_t part;
};

/* A copy, fit for a terminal, that lives as long as the configuration; NULL: out of memory. */
const char *advise_keep(struct advise_config *config, const char *text, size_t size);

/* Into config->message; returns -MT_E_ARGUMENT. */
int advise_fail(struct advise_config *config, const char *format, ...) MT_PRINTF(2, 3);
int advise_no_memory(struct advise_config *config); /* .. -MT_E_MEMORY */

/* One more, unless it is there already. 0 or -MT_E_MEMORY. */
int advise_warn(struct advise_config *config, const char *format, ...) MT_PRINTF(2, 3);

/* Makes `key` of all names of the parts. 0 or -MT_E_MEMORY. */
int advise_index(struct advise_config *config);

/*
 * Takes in that somebody says KEY is VALUE (NULL: something that cannot be known): finds the knob, warns of what is none and
 * looks like one. 0, -MT_E_ARGUMENT (--now, --set), -MT_E_MEMORY.
 */
int advise_say(struct advise_config *config, const char *key, const char *value, const char *where,
	       enum advise_origin origin);

/* A key, matched with the names of knobs. */
struct advise_match {
	const struct mt_knob *knob; /* NULL: none, or several */
	const struct mt_knob_name *name;
	uint32_t others;  /* of other processes that end so, where this one is the trainer's own */
	uint32_t several; /* how many are alike; else 0 or 1 */
	int is_weak; /* 1: a short everyday word, such as "type", that may well mean something else in a configuration */
};

struct advise_match advise_match(const struct advise_config *config, const char *key);

/* The key as keys are compared; 0: it is too long for any. */
size_t advise_canonical(char out[ADVISE_KEY_MAX], const char *key, size_t size);

/* Warns of a key that is no knob, where it is near one or was given by hand. 0 or -MT_E_MEMORY. */
int advise_unknown(struct advise_config *config, const char *key, const char *where, enum advise_origin origin);

/* "ppo_max_token_len_per_gpu" of a path, a flag as it is: what a sentence needs of a key. */
const char *advise_short_key(const char *key);

/* The default of a knob in the release at hand, and the knob that has it. NULL: none. */
const char *advise_default(const struct advise_config *config, const struct mt_knob *knob,
			   const struct advise_part **part);

/* Is the name there in the release? */
static inline int advise_name_in(const struct mt_knob_name *name, uint32_t release)
{
	return name->since <= release && release < name->gone;
}

#endif
