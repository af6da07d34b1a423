/* advise_config_impl.h - private functions for the files that read and search struct advise_config. */
#ifndef MEMANA_ADVISE_CONFIG_IMPL_H
#define MEMANA_ADVISE_CONFIG_IMPL_H

#include "advise_config.h"
#include "memtrace/base.h"

#define ADVISE_KEY_MAX 512      /* room for a key, bytes; a longer key is no knob */
#define ADVISE_WARNINGS_MAX 64u /* largest number of warnings; later ones are dropped */

/* A name of a knob in the form for comparison: without dashes before it, _ in place of -, function.name. */
struct advise_key {
	const char *text;
	size_t size;
	const struct mt_knob *knob;
	const struct mt_knob_name *name;
	uint32_t part;
};

/* Copies a text and makes it fit for a terminal. The copy lives as long as the configuration; NULL: out of memory. */
const char *advise_keep(struct advise_config *config, const char *text, size_t size);

/* Writes an error to config->message. Returns -MT_E_ARGUMENT or -MT_E_MEMORY. */
int advise_fail(struct advise_config *config, const char *format, ...) MT_PRINTF(2, 3);
int advise_no_memory(struct advise_config *config);

/* Adds a warning, unless the same one is there. Returns 0 or -MT_E_MEMORY. */
int advise_warn(struct advise_config *config, const char *format, ...) MT_PRINTF(2, 3);

/* Makes config->key from the names of all knobs of config->part. Returns 0 or -MT_E_MEMORY. */
int advise_index(struct advise_config *config);

/*
 * Adds KEY=VALUE of one source (`value` NULL: not known). A key that is no knob is a warning for --now and an error for
 * --set; other sources have many such keys. Returns 0, -MT_E_ARGUMENT (--now, --set) or -MT_E_MEMORY.
 */
int advise_say(struct advise_config *config, const char *key, const char *value, const char *where,
	       enum advise_origin origin);

/*
 * The knob for a key. The key is a name of the knob, the end of a name, or a name with a text before it
 * ("args.max_length"). The main framework goes before the others.
 */
struct advise_match {
	const struct mt_knob *knob; /* NULL: no knob, or several */
	uint32_t several;           /* number of further knobs that match equally well */
	int is_end;                 /* 1: the key is the end of a name; in a configuration it may mean something else */
};

struct advise_match advise_match(const struct advise_config *config, const char *key);

/* Reports a key that is no knob. `is_asked` 1: as an error, -MT_E_ARGUMENT; 0: as a warning, 0 or -MT_E_MEMORY. */
int advise_unknown(struct advise_config *config, const char *key, const char *where, int is_asked);

/* The part of a key for a sentence: the last word of a path ("ppo_max_token_len_per_gpu"), or the whole flag. */
const char *advise_last_word(const char *key);

/* The knob of another framework that gets the value of this knob; NULL: no knob does. */
const struct mt_knob *advise_passed_to(const struct advise_config *config, const struct mt_knob *knob);

/* The default of a knob, and *part, the framework that has this default. NULL: no default. */
const char *advise_default(const struct advise_config *config, const struct mt_knob *knob,
			   const struct advise_part **part);

/* Number of bytes of the first word in the allocator's variable. A comma ends a word, except in brackets. */
size_t advise_variable_word(const char *text);

#endif
