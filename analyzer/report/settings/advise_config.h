/*
 * advise_config.h - what is set in the run at hand, and what is to be set, as rows of formats/knobs (memtrace/knobs.h).
 *
 *   advise_config_new, advise_config_framework     whose knobs hold
 *   advise_config_command, _file, _pair            what is said of them; in any order, after the framework
 *   advise_config_value, _standing, ..., paste     asking
 *
 * Whom to trust when two say something: --now before the configuration before the command line before the default; of one
 * kind the last. Files and command lines may come from anybody: sizes are limited, and every text in here is fit for a
 * terminal (memtrace/clean.h). Errors: -MT_E_ARGUMENT (what was given is wrong), -MT_E_RULES (the configuration cannot be
 * read), -MT_E_SYSTEM, -MT_E_MEMORY, -MT_E_SQL, with one line in config->message for all of them.
 */
#ifndef MEMANA_ADVISE_CONFIG_H
#define MEMANA_ADVISE_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "memtrace/knobs.h"

#define ADVISE_FILE_MAX (4u << 20)    /* bytes of a configuration */
#define ADVISE_SETTINGS_MAX 65536u    /* keys of one, and of all command lines */
#define ADVISE_COMMAND_MAX (1u << 20) /* bytes of a command line that are read */
#define ADVISE_WORDS_MAX 512          /* bytes of a sentence, with NUL */
#define ADVISE_PARTS_MAX (MT_KNOB_FRAMES_MAX + 1)

/* The source of a value, the least trusted first. */
enum advise_origin {
	ADVISE_NOBODY,
	ADVISE_DEFAULT,
	ADVISE_SHOWN, /* the recording alone shows the value */
	ADVISE_COMMAND,
	ADVISE_CONFIG,
	ADVISE_NOW,
	ADVISE_SET, /* a change to try: no value of the run */
};

/* A framework whose knobs hold in the run. No recording tells its version: keys and defaults are those of the newest release. */
struct advise_part {
	const struct mt_knob_file *file;
	int seen; /* 1: the trace shows it, or --framework says so; 0: only because another one builds on it */
	const char *trainer; /* its rows count, and no other trainer's; NULL: all rows do */
	char by_default[96]; /* "default of verl 0.9.1, the newest read" */
};

/* Something that is said of a knob. */
struct advise_setting {
	const char *value; /* as written; NULL: an interpolation or an alias, whose value is elsewhere */
	const char *where; /* "config.yaml:12", "the command line", "--now", "--set" */
	enum advise_origin origin;
	const struct mt_knob *knob;
};

struct advise_text; /* storage of the texts */
struct advise_key;  /* the names of the knobs, for finding */

struct advise_config {
	const struct mt_knobs *knobs;
	struct advise_part
		part[ADVISE_PARTS_MAX]; /* the main one first, then those that it builds on, then others seen */
	uint32_t parts;
	const char *wrapper; /* a program on the stacks that has keys and defaults of its own for these; NULL: none is */
	struct advise_setting *setting; /* room for ADVISE_SETTINGS_MAX */
	uint32_t settings;
	const char **warning; /* for the caller to print, each a line without "memana: " */
	uint32_t warnings;
	const char *variable, *variable_words; /* the allocator's variable of the environment; NULL: not set */
	struct advise_text *texts;
	struct advise_key *key;
	uint32_t keys;
	char message[ADVISE_WORDS_MAX]; /* the newest error */
};

/* `knobs` outlive it. 0 or -MT_E_MEMORY. */
int advise_config_new(struct advise_config **config, const struct mt_knobs *knobs);
void advise_config_free(struct advise_config *config); /* NULL is fine */

/*
 * Finds the frameworks with knobs that hold. `wanted`: a framework of formats/knobs, or "auto" or NULL for the one that the database shows, pytorch where
 * it shows none. -MT_E_ARGUMENT: there is no such framework.
 */
int advise_config_framework(struct advise_config *config, struct db *db, const char *wanted);

/* Reads the command lines of all processes; or a given one. */
int advise_config_command(struct advise_config *config, struct db *db);
int advise_config_command_line(struct advise_config *config, const char *command);

/* Reads a YAML or JSON file. -MT_E_RULES: it is none, or beyond the limits. */
int advise_config_file(struct advise_config *config, const char *path);
int advise_config_yaml(struct advise_config *config, const char *name, const char *text, size_t size);

/*
 * "KEY=VALUE" of --now (ADVISE_NOW) and --set (ADVISE_SET). -MT_E_ARGUMENT: no "=", a value that the knob cannot have, or a key that several knobs
 * end in. A key that is no knob is 0 and a warning.
 */
int advise_config_pair(struct advise_config *config, const char *text, enum advise_origin origin);

/* It is the same whoever runs the framework: a variable of the environment, the program's own code, a file that is read as it is. */
int advise_is_anybodys(const struct mt_knob *knob);

/* The framework of a knob. NULL: it is none of these. */
const struct advise_part *advise_config_part(const struct advise_config *config, const struct mt_knob *knob);

/*
 * The knob of the main framework that sets this one, of an engine or of what is below: verl's ...rollout.enforce_eager for
 * vLLM's enforce_eager. NULL: none does, or it is the main framework's.
 */
const struct mt_knob *advise_config_through(const struct advise_config *config, const struct mt_knob *knob);

/* 1: nobody has told how the run was configured: values are defaults, which hold where nothing else was set. */
int advise_config_is_blind(const struct advise_config *config);

/* A value. Text and where live as long as the configuration. */
struct advise_value {
	const char *text;          /* NULL: not known, or there is none */
	const char *where;         /* "config.yaml:12"; "default of verl 0.9.1"; empty: no source */
	enum advise_origin origin; /* ADVISE_NOBODY: nothing says so, and there is no default */
};

struct advise_value advise_config_value(const struct advise_config *config, const struct mt_knob *knob);

/* ---- values ---- */

/*
 * The number in a value of the knob's unit: switches are 0 and 1, sizes are bytes ("1GiB"; a bare number counts in the unit),
 * shares 0 to 1. 0; 1: it is no number (null, a word); -MT_E_ARGUMENT: the knob cannot have it.
 */
int advise_value_number(const struct mt_knob *knob, const char *text, double *number);

/* null, None, ~ and nothing at all. */
int advise_is_null(const char *text);

#define ADVISE_VALUE_MAX 64

/* The number as a value of the knob: "true", "1024" (of MiB, for 1 GiB), "0.45". Into `out`, which is returned. */
const char *advise_value_text(char out[ADVISE_VALUE_MAX], const struct mt_knob *knob, double number);

/* ---- constraints ---- */

enum advise_holds { ADVISE_HOLDS_UNKNOWN, ADVISE_HOLDS_YES, ADVISE_HOLDS_NO };

/*
 * Whether another knob has the value that the constraint needs or excludes; other constraints are UNKNOWN. In `words` what is against
 * it: "is not read with dynamic batches: use_dynamic_bsz is true (config.yaml:12)".
 */
enum advise_holds advise_constraint_holds(struct advise_config *config, const struct mt_knob *knob,
					  const struct mt_knob_constraint *constraint, char words[ADVISE_WORDS_MAX]);

/*
 * The least value that constraints leave, in the knob's unit as advise_value_number has it; 0: none is known. `largest_weight`: bytes of
 * the model's largest weight, 0: not known. Other facts of constraints are in no recording.
 */
double advise_floor(struct advise_config *config, const struct mt_knob *knob, uint64_t largest_weight);

/* Whether turning a knob is worth a thought, as things are. */
enum advise_standing {
	ADVISE_STANDING_OPEN,      /* it is */
	ADVISE_STANDING_ALREADY,   /* it stands where it saves already: "already on" */
	ADVISE_STANDING_FLOOR,     /* no lower value is possible: "at its floor: ..." */
	ADVISE_STANDING_NO_EFFECT, /* another setting keeps it from counting: `words` say which */
	ADVISE_STANDING_ABSENT,    /* the newest release, or this trainer, does not have it */
};

/* `words` says why it is not OPEN ("" where it is, or where it is ABSENT), as the end of a sentence whose beginning is the key. */
enum advise_standing advise_config_standing(struct advise_config *config, const struct mt_knob *knob,
					    uint64_t largest_weight, char words[ADVISE_WORDS_MAX]);

/* ---- what to paste ---- */

struct advise_change {
	const struct mt_knob *knob;
	const char *value;
};

/*
 * The text that makes the changes, a line each, as the main framework wants it (`written` in formats/knobs). Settings that a change takes
 * along are in the text, unless they are set. The allocator's words come with those that are set already. Lines end in "\n", the last one, too. The caller's, for free(); NULL: out of memory.
 */
char *advise_paste(struct advise_config *config, const struct advise_change *change, size_t changes);

#endif
