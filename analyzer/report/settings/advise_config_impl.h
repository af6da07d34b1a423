/* advise_config_impl.h - what the files of struct advise_config share. */
#ifndef MEMANA_ADVISE_CONFIG_IMPL_H
#define MEMANA_ADVISE_CONFIG_IMPL_H

#include "advise_config.h"
#include "memtrace/base.h"

#define ADVISE_KEY_MAX 512      /* bytes of a key; a longer one is no knob */
#define ADVISE_WARNINGS_MAX 64u /* after that no more are collected */

/* A name of a knob of the frameworks at hand, as keys are compared: no dashes before it, _ for -, function.name. */
struct advise_key {
	const char *text;
	size_t size;
	const struct mt_knob *knob;
	const struct mt_knob_name *name;
	uint32_t part;
};

/* A copy, fit for a terminal, that lives as long as the configuration; NULL: out of memory. */
const char *advise_keep(struct advise_config *config, const char *text, size_t size);
void advise_drop_texts(struct advise_config *config); /* all copies */

/* Into config->message; returns -MT_E_ARGUMENT. */
int advise_fail(struct advise_config *config, const char *format, ...) MT_PRINTF(2, 3);
int advise_no_memory(struct advise_config *config); /* .. -MT_E_MEMORY */

/* One more, unless it is there already. 0 or -MT_E_MEMORY. */
int advise_warn(struct advise_config *config, const char *format, ...) MT_PRINTF(2, 3);

/* Makes `key` of all names of the parts. 0 or -MT_E_MEMORY. */
int advise_index(struct advise_config *config);

/*
 * Takes in KEY=VALUE of one source (NULL: the value cannot be known). A key of --now or --set that is no knob is a
 * warning. 0, -MT_E_ARGUMENT (--now, --set), -MT_E_MEMORY.
 */
int advise_say(struct advise_config *config, const char *key, const char *value, const char *where,
	       enum advise_origin origin);

/*
 * A key, matched with the names of knobs: any of them, an end of one, or one before which something stands ("args.max_length"). The
 * main framework goes before the others.
 */
struct advise_match {
	const struct mt_knob *knob; /* NULL: none, or several */
	uint32_t several;           /* how many more it could be than one */
	int is_end;                 /* 1: the end of a name: in a configuration it may well mean something else */
};

struct advise_match advise_match(const struct advise_config *config, const char *key);

/* A key that is no knob: a warning, 0 or -MT_E_MEMORY. If the answer is about the key (`is_asked`): -MT_E_ARGUMENT. */
int advise_unknown(struct advise_config *config, const char *key, const char *where, int is_asked);

/* "ppo_max_token_len_per_gpu" of a path, a flag as it is: what a sentence needs of a key. */
const char *advise_last_word(const char *key);

/* The knob of another framework to which this one hands its value on; NULL: it hands on none. */
const struct mt_knob *advise_passed_to(const struct advise_config *config, const struct mt_knob *knob);

/* The default of a knob, and the part that has it. NULL: none. */
const char *advise_default(const struct advise_config *config, const struct mt_knob *knob,
			   const struct advise_part **part);

/* Bytes of the first of several words of the allocator's variable; commas in brackets part no words. */
size_t advise_variable_word(const char *text);

#endif
