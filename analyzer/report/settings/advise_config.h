/*
 * advise_config.h - the settings of the run, and changes to try, as rows of formats/knobs (memtrace/knobs.h).
 *
 *   advise_config_new, advise_config_framework     find the frameworks of the run
 *   advise_config_command, _file, _pair            add settings; in any order, after the framework
 *   advise_config_value, _standing, ..., paste     ask for values, constraints and texts to paste
 *
 * If two sources set a knob, --now counts before the configuration, the configuration before the command line, and the
 * command line before the default. If one source sets a knob twice, the last value counts. Files and command lines are
 * hostile input: sizes are limited, and every text in here is fit for a terminal (memtrace/clean.h). Errors:
 * -MT_E_ARGUMENT (a wrong argument), -MT_E_RULES (the configuration cannot be read), -MT_E_SYSTEM, -MT_E_MEMORY,
 * -MT_E_SQL. Each of them puts one line into config->message.
 */
#ifndef MEMANA_ADVISE_CONFIG_H
#define MEMANA_ADVISE_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "memtrace/knobs.h"
#include "memtrace/texts.h"

#define ADVISE_FILE_MAX (4u << 20)    /* largest size of a configuration, bytes */
#define ADVISE_SETTINGS_MAX 65536u    /* largest number of keys in a configuration, and of settings in all */
#define ADVISE_COMMAND_MAX (1u << 20) /* largest number of bytes that are read of a command line */
#define ADVISE_WORDS_MAX 512          /* room for a sentence, bytes with the NUL */
#define ADVISE_PARTS_MAX (MT_KNOB_FRAMES_MAX + 1)

/* The source of a value, the least trusted first. */
enum advise_origin {
	ADVISE_NOBODY,  /* no source, and no default */
	ADVISE_DEFAULT, /* the default of the newest release */
	ADVISE_SHOWN,   /* only the recording shows the value */
	ADVISE_COMMAND, /* the command line */
	ADVISE_CONFIG,  /* a configuration file */
	ADVISE_NOW,     /* --now */
	ADVISE_SET,     /* --set: a change to try, and no value of the run */
};

/* A framework of the run. No recording has its version: keys and defaults are those of the newest release. */
struct advise_part {
	const struct mt_knob_file *file;
	int seen;            /* 1: the trace or --framework names it; 0: another framework builds on it */
	const char *trainer; /* only rows of this trainer, and rows of no trainer, count; NULL: all rows count */
	char by_default[96]; /* "default of verl 0.9.1, the newest read" */
};

/* A value of a knob from one source. */
struct advise_setting {
	const char *value; /* as written; NULL: an interpolation or an alias of another value */
	const char *where; /* "config.yaml:12", "the command line", "--now", "--set" */
	enum advise_origin origin;
	const struct mt_knob *knob;
};

struct advise_key; /* a name of a knob, in the form for comparison */

struct advise_config {
	const struct mt_knobs *knobs;
	struct advise_part
		part[ADVISE_PARTS_MAX]; /* the main framework, then those that it builds on, then others in the run */
	uint32_t parts;
	const char *wrapper;            /* name of a program on the stacks with its own keys and defaults; NULL: none */
	struct advise_setting *setting; /* room for ADVISE_SETTINGS_MAX */
	uint32_t settings;
	const char **warning; /* lines for the caller to print, without "memana: " */
	uint32_t warnings;
	const char *variable, *variable_words; /* name and value of the allocator's variable; NULL: not set */
	struct mt_text *texts;
	struct advise_key *key;
	uint32_t keys;
	char message[ADVISE_WORDS_MAX]; /* the newest error */
};

/* Makes an empty configuration. `knobs` must outlive *config. Returns 0 or -MT_E_MEMORY; free *config in any case. */
int advise_config_new(struct advise_config **config, const struct mt_knobs *knobs);
void advise_config_free(struct advise_config *config); /* `config` may be NULL */

/*
 * Finds the frameworks of the run. `wanted`: name of the main framework in formats/knobs. "auto" or NULL: the framework
 * that the stacks and command lines show; pytorch if they show none. -MT_E_ARGUMENT: no such framework.
 */
int advise_config_framework(struct advise_config *config, struct db *db, const char *wanted);

/* Adds the settings in the command lines of all processes, or in one command line. */
int advise_config_command(struct advise_config *config, struct db *db);
int advise_config_command_line(struct advise_config *config, const char *command);

/* Adds the settings in a YAML or JSON file or text. -MT_E_RULES: not YAML or JSON, or beyond the limits. */
int advise_config_file(struct advise_config *config, const char *path);
int advise_config_yaml(struct advise_config *config, const char *name, const char *text, size_t size);

/*
 * Adds "KEY=VALUE" of --now (ADVISE_NOW) or --set (ADVISE_SET). -MT_E_ARGUMENT: the text has no "=", the knob cannot have the value, or
 * several knobs end in the key. A key that is no knob is a warning for --now and -MT_E_ARGUMENT for --set.
 */
int advise_config_pair(struct advise_config *config, const char *text, enum advise_origin origin);

/* 1: the knob is set in the same way under any wrapper: in the environment, in the program's code or in a JSON file. */
int advise_is_anybodys(const struct mt_knob *knob);

/* The framework of a knob. NULL: the knob is of no framework in config->part. */
const struct advise_part *advise_config_part(const struct advise_config *config, const struct mt_knob *knob);

/*
 * The knob of the main framework that sets this knob of another framework: verl's ...rollout.enforce_eager sets vLLM's
 * enforce_eager. NULL: no knob does, or `knob` is of the main framework.
 */
const struct mt_knob *advise_config_through(const struct advise_config *config, const struct mt_knob *knob);

/* 1: no source has a setting of the run, so all values are defaults. */
int advise_config_is_blind(const struct advise_config *config);

/* A value of the run. Its texts live as long as the configuration. */
struct advise_value {
	const char *text;          /* the value as written; NULL: not known */
	const char *where;         /* "config.yaml:12", "default of verl 0.9.1"; "": no source */
	enum advise_origin origin; /* ADVISE_NOBODY: no source has a value, and the knob has no default */
};

/* The value of the knob in the run, from the most trusted source. */
struct advise_value advise_config_value(const struct advise_config *config, const struct mt_knob *knob);

/* ---- values ---- */

/*
 * Reads a value of the knob as a number: 0 or 1 for a switch, bytes for a size ("1GiB"; a bare number is in the knob's unit), 0 to 1 for a
 * share. Returns 0; 1: the value is no number (null, a word); -MT_E_ARGUMENT: the knob cannot have this value.
 */
int advise_value_number(const struct mt_knob *knob, const char *text, double *number);

/* 1: the text is null, None, ~ or empty. */
int advise_is_null(const char *text);

#define ADVISE_VALUE_MAX 64

/* Writes the number as a value of the knob: "true", "1024" (1 GiB in MiB), "0.45". Returns `out`. */
const char *advise_value_text(char out[ADVISE_VALUE_MAX], const struct mt_knob *knob, double number);

/* ---- constraints ---- */

enum advise_holds { ADVISE_HOLDS_UNKNOWN, ADVISE_HOLDS_YES, ADVISE_HOLDS_NO };

/*
 * Checks a constraint that needs or excludes a value of another knob. ADVISE_HOLDS_UNKNOWN: a constraint of another kind, or the value is not known;
 * otherwise `words` has the constraint and the value: "is not read with dynamic batches: use_dynamic_bsz is true (config.yaml:12)".
 */
enum advise_holds advise_constraint_holds(struct advise_config *config, const struct mt_knob *knob,
					  const struct mt_knob_constraint *constraint, char words[ADVISE_WORDS_MAX]);

/*
 * The smallest value that the knob's constraints allow, as a number of advise_value_number; 0: no smallest value is known.
 * `largest_weight`: bytes of the model's largest weight, 0: not known. No recording has the other facts that constraints name.
 */
double advise_floor(struct advise_config *config, const struct mt_knob *knob, uint64_t largest_weight);

/* The use of a change to a knob in this run. */
enum advise_standing {
	ADVISE_STANDING_OPEN,      /* a change may save memory */
	ADVISE_STANDING_ALREADY,   /* the knob has the value that saves memory: "already on" */
	ADVISE_STANDING_FLOOR,     /* no lower value is possible: "at its floor: ..." */
	ADVISE_STANDING_NO_EFFECT, /* the knob has no effect because of another setting, which `words` names */
	ADVISE_STANDING_ABSENT,    /* the newest release, or this trainer, does not have the knob */
};

/*
 * The standing of a knob. `words` gets the reason for ALREADY, FLOOR and NO_EFFECT, as the end of a sentence that
 * begins with the key; "" for OPEN and ABSENT.
 */
enum advise_standing advise_config_standing(struct advise_config *config, const struct mt_knob *knob,
					    uint64_t largest_weight, char words[ADVISE_WORDS_MAX]);

/* ---- texts to paste ---- */

struct advise_change {
	const struct mt_knob *knob;
	const char *value;
};

/*
 * Writes the changes as text in the language of the main framework (`written` in formats/knobs), one line for each. The text also has the
 * settings that a change needs (`with`), if they have no value yet. A line for the allocator's variable keeps the words that are set
 * already. Each line ends in "\n". The caller frees the text; NULL: out of memory.
 */
char *advise_paste(struct advise_config *config, const struct advise_change *change, size_t changes);

#endif
