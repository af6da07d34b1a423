/*
 * knobs.h - the settings of frameworks that change memory use: formats/knobs/<framework>.yaml, read and checked.
 *
 * formats/knobs/README.md describes the rows. All texts are ASCII or UTF-8 of at most YAML_TEXT_MAX bytes. They belong
 * to struct mt_knobs and live as long as it. A struct mt_knobs does not change after mt_knobs_new and mt_knobs_add.
 */
#ifndef MEMTRACE_KNOBS_H
#define MEMTRACE_KNOBS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "memtrace/why.h"

/* The process that has the memory. X(NAME, word) */
#define MT_KNOB_PROCESS_LIST(X)   \
	X(TRAINER, "trainer")     \
	X(REFERENCE, "reference") \
	X(CRITIC, "critic")       \
	X(REWARD, "reward")       \
	X(ENGINE, "engine")       \
	X(LOADER, "loader")

/* The change of the value that saves memory. X(NAME, word) */
#define MT_KNOB_SAVES_LIST(X) \
	X(NONE, "none")       \
	X(LOWER, "lower")     \
	X(HIGHER, "higher")   \
	X(ON, "on")           \
	X(OFF, "off")         \
	X(CHOOSE, "choose")

/* The way to compute the saving from a trace. X(NAME, word) */
#define MT_KNOB_METHOD_LIST(X) \
	X(NONE, "none")        \
	X(TOKENS, "tokens")    \
	X(LOGITS, "logits")    \
	X(DIVIDED, "divided")  \
	X(REMOVED, "removed")  \
	X(BUCKET, "bucket")    \
	X(SHARE, "share")      \
	X(KEPT, "kept")        \
	X(ALLOCATOR, "allocator")

/* The thing that a number of tokens or samples is about. X(NAME, word) */
#define MT_KNOB_OF_LIST(X)            \
	X(MICRO_BATCH, "micro-batch") \
	X(SAMPLE, "sample")           \
	X(ANSWER, "answer")           \
	X(PADDING, "padding")         \
	X(PROMPT, "prompt")

/* The part of the bytes that a saving leaves. X(NAME, words) */
#define MT_KNOB_LEAVES_LIST(X)                  \
	X(NOTHING, "nothing")                   \
	X(BOUNDARIES, "boundaries and a layer") \
	X(LAYER, "a layer")                     \
	X(ADAPTERS, "adapters")                 \
	X(PIECE, "a piece")

/* The cost of a saving, cheapest first. X(NAME, words) */
#define MT_KNOB_COST_LIST(X)      \
	X(FREE, "free")           \
	X(SOME_TIME, "some time") \
	X(MUCH_TIME, "much time") \
	X(GPUS, "more GPUs")      \
	X(RESULTS, "changes results")

/* The syntax of a value. X(NAME, word) */
#define MT_KNOB_WRITTEN_LIST(X)                              \
	X(HYDRA, "hydra")             /* a.b=1 */            \
	X(DOTLIST, "dotlist")         /* a.b=1, all alike */ \
	X(YAML, "yaml")               /* a path in it */     \
	X(FLAG, "flag")               /* --a-b 1 */          \
	X(ARGUMENT, "argument")       /* function(a=1) */    \
	X(ENVIRONMENT, "environment") /* VARIABLE=a:1 */     \
	X(JSON, "json")               /* a path in it */     \
	X(CODE, "code")               /* in the program */

/* The owner of the train loop. Only a user's own loop can get a new call. X(NAME, word) */
#define MT_KNOB_LOOP_LIST(X)      \
	X(FRAMEWORK, "framework") \
	X(USER, "user")

enum mt_knob_loop {
#define MT_KNOB_LOOP_ENUM(name, word) MT_KNOB_LOOP_##name,
	MT_KNOB_LOOP_LIST(MT_KNOB_LOOP_ENUM)
#undef MT_KNOB_LOOP_ENUM
		MT_KNOB_LOOPS
};

/* The kinds of a value. SIZE: bytes. X(NAME) */
#define MT_KNOB_KIND_LIST(X) \
	X(SWITCH)            \
	X(COUNT)             \
	X(SIZE)              \
	X(SHARE)             \
	X(NUMBER)            \
	X(WORD)

/* The unit that a value counts. X(NAME, word, kind, what one is, in bytes where it is a size) */
#define MT_KNOB_UNIT_LIST(X)                      \
	X(SWITCH, "switch", SWITCH, 1)            \
	X(TOKENS, "tokens", COUNT, 1)             \
	X(SAMPLES, "samples", COUNT, 1)           \
	X(SEQUENCES, "sequences", COUNT, 1)       \
	X(PARTS, "parts", COUNT, 1)               \
	X(GPUS, "GPUs", COUNT, 1)                 \
	X(LAYERS, "layers", COUNT, 1)             \
	X(ELEMENTS, "elements", COUNT, 1)         \
	X(STEPS, "steps", COUNT, 1)               \
	X(PROCESSES, "processes", COUNT, 1)       \
	X(RANK, "rank", COUNT, 1)                 \
	X(STAGE, "stage", COUNT, 1)               \
	X(LEVEL, "level", COUNT, 1)               \
	X(BYTES, "bytes", SIZE, 1)                \
	X(MIB, "MiB", SIZE, 1024.0 * 1024)        \
	X(GIB, "GiB", SIZE, 1024.0 * 1024 * 1024) \
	X(SHARE, "share", SHARE, 1)               \
	X(NUMBER, "number", NUMBER, 1)            \
	X(WORD, "word", WORD, 1)

/* The fact of the model or run that a constraint is about. X(NAME, words) */
#define MT_KNOB_FACT_LIST(X)                  \
	X(LONGEST_SAMPLE, "longest sample")   \
	X(LARGEST_WEIGHT, "largest weight")   \
	X(ATTENTION_HEADS, "attention heads") \
	X(LAYERS, "layers")                   \
	X(EXPERTS, "experts")                 \
	X(MINI_BATCH, "mini-batch")           \
	X(GPUS, "gpus")

/*
 * The framework's reaction to a fact that is larger than the value, if the value must be at least as large. X(NAME,
 * word)
 */
#define MT_KNOB_BEYOND_LIST(X) \
	X(UNTOLD, "untold")    \
	X(ERROR, "error")      \
	X(ALONE, "alone")

/* The demand of a constraint; WORDS: nothing that a program can check. X(NAME, key) */
#define MT_KNOB_CONSTRAINT_LIST(X) \
	X(WORDS, "says")           \
	X(NEEDS, "needs")          \
	X(EXCLUDES, "excludes")    \
	X(AT_LEAST, "at-least")    \
	X(DIVIDES, "divides")      \
	X(MULTIPLE, "multiple-of")

enum mt_knob_process {
#define MT_KNOB_PROCESS_ENUM(name, word) MT_KNOB_PROCESS_##name,
	MT_KNOB_PROCESS_LIST(MT_KNOB_PROCESS_ENUM)
#undef MT_KNOB_PROCESS_ENUM
		MT_KNOB_PROCESSES
};

enum mt_knob_saves {
#define MT_KNOB_SAVES_ENUM(name, word) MT_KNOB_SAVES_##name,
	MT_KNOB_SAVES_LIST(MT_KNOB_SAVES_ENUM)
#undef MT_KNOB_SAVES_ENUM
		MT_KNOB_SAVES_WORDS
};

enum mt_knob_method {
#define MT_KNOB_METHOD_ENUM(name, word) MT_KNOB_METHOD_##name,
	MT_KNOB_METHOD_LIST(MT_KNOB_METHOD_ENUM)
#undef MT_KNOB_METHOD_ENUM
		MT_KNOB_METHODS
};

enum mt_knob_of {
#define MT_KNOB_OF_ENUM(name, word) MT_KNOB_OF_##name,
	MT_KNOB_OF_LIST(MT_KNOB_OF_ENUM)
#undef MT_KNOB_OF_ENUM
		MT_KNOB_OFS
};

enum mt_knob_leaves {
#define MT_KNOB_LEAVES_ENUM(name, words) MT_KNOB_LEAVES_##name,
	MT_KNOB_LEAVES_LIST(MT_KNOB_LEAVES_ENUM)
#undef MT_KNOB_LEAVES_ENUM
		MT_KNOB_LEAVES_WORDS
};

enum mt_knob_cost {
#define MT_KNOB_COST_ENUM(name, word) MT_KNOB_COST_##name,
	MT_KNOB_COST_LIST(MT_KNOB_COST_ENUM)
#undef MT_KNOB_COST_ENUM
		MT_KNOB_COSTS
};

enum mt_knob_written {
#define MT_KNOB_WRITTEN_ENUM(name, word) MT_KNOB_WRITTEN_##name,
	MT_KNOB_WRITTEN_LIST(MT_KNOB_WRITTEN_ENUM)
#undef MT_KNOB_WRITTEN_ENUM
		MT_KNOB_WRITTENS
};

enum mt_knob_kind {
#define MT_KNOB_KIND_ENUM(name) MT_KNOB_KIND_##name,
	MT_KNOB_KIND_LIST(MT_KNOB_KIND_ENUM)
#undef MT_KNOB_KIND_ENUM
};

enum mt_knob_unit {
#define MT_KNOB_UNIT_ENUM(name, word, kind, one) MT_KNOB_UNIT_##name,
	MT_KNOB_UNIT_LIST(MT_KNOB_UNIT_ENUM)
#undef MT_KNOB_UNIT_ENUM
		MT_KNOB_UNITS
};

enum mt_knob_fact {
#define MT_KNOB_FACT_ENUM(name, word) MT_KNOB_FACT_##name,
	MT_KNOB_FACT_LIST(MT_KNOB_FACT_ENUM)
#undef MT_KNOB_FACT_ENUM
		MT_KNOB_FACTS
};

enum mt_knob_beyond {
#define MT_KNOB_BEYOND_ENUM(name, word) MT_KNOB_BEYOND_##name,
	MT_KNOB_BEYOND_LIST(MT_KNOB_BEYOND_ENUM)
#undef MT_KNOB_BEYOND_ENUM
		MT_KNOB_BEYONDS
};

enum mt_knob_constraint_kind {
#define MT_KNOB_CONSTRAINT_ENUM(name, word) MT_KNOB_CONSTRAINT_##name,
	MT_KNOB_CONSTRAINT_LIST(MT_KNOB_CONSTRAINT_ENUM)
#undef MT_KNOB_CONSTRAINT_ENUM
		MT_KNOB_CONSTRAINTS
};
/* Bit number for host memory, after the bits of the categories, which are of GPU memory. */
#define MT_KNOB_HOST MT_CATEGORY_COUNT

/* Limits of a file. */
#define MT_KNOB_RELEASES_MAX 32u
#define MT_KNOB_OLDER_MAX 4u
#define MT_KNOB_DEFAULTS_MAX 6u
#define MT_KNOB_CONSTRAINTS_MAX 6u
#define MT_KNOB_VALUES_MAX 4u
#define MT_KNOB_WITHIN_MAX 8u
#define MT_KNOB_WEIGHS_MAX 32u
#define MT_KNOB_WEIGHT_MAX 64u
#define MT_KNOB_FRAMES_MAX 16u /* paths of code, frameworks that one builds on, variables */
#define MT_KNOB_HANDS_MAX 8u
#define MT_KNOB_WRAPPERS_MAX 8u

struct mt_knob_release {
	const char *version;
	const char *commit; /* commit that the rows were read from; NULL: the package of this version */
};

/* A default from a release on. */
struct mt_knob_default {
	uint32_t since; /* index of the release */
	const char *value;
};

/* A key and its releases: from `since` up to, but without, `gone`. */
struct mt_knob_name {
	const char *key;
	const char *source; /* place in the source, as README.md describes it */
	uint32_t since, gone;
	uint32_t defaults;                                       /* 0: no default of its own */
	struct mt_knob_default by_release[MT_KNOB_DEFAULTS_MAX]; /* in order */
};

struct mt_knob_constraint {
	const char *says;
	enum mt_knob_constraint_kind kind;
	enum mt_knob_fact fact;                /* AT_LEAST, DIVIDES */
	const char *key;                       /* NEEDS, EXCLUDES, MULTIPLE: of this file */
	enum mt_knob_beyond beyond;            /* AT_LEAST */
	const char *times;                     /* AT_LEAST: factor of the value; a key of this file, or NULL */
	const char *value[MT_KNOB_VALUES_MAX]; /* NEEDS, EXCLUDES: one of these; "N..": N or more */
	uint32_t values;
};

/* With this value of the knob, another knob of the file changes, too: "VALUE: KEY=TO". */
struct mt_knob_with {
	const char *value, *key, *to;
};

struct mt_knob {
	struct mt_knob_name name; /* today's */
	const char *trainer;      /* the one trainer of `trainers` with this row; NULL: all of them */
	struct mt_knob_name older[MT_KNOB_OLDER_MAX];
	uint32_t olders;
	const char *what;
	const char *unit; /* the word of `measure` */
	enum mt_knob_unit measure;
	enum mt_knob_written written;
	const char *unset;   /* key whose value counts while this one is null; NULL: null is a value like others */
	const char *passes;  /* framework that gets this key passed on; NULL: none */
	const char *instead; /* replacement of a removed key; NULL: the key still exists */
	const char *effect, *not_so; /* NULL: not given */
	uint32_t processes;          /* bits 1 << enum mt_knob_process */
	uint32_t phases;             /* .. enum mt_phase */
	uint32_t categories;         /* .. enum mt_category and MT_KNOB_HOST */
	enum mt_knob_saves saves;
	enum mt_knob_method method;
	enum mt_action does; /* MT_ACTIONS: derived from method, category and process */
	enum mt_knob_cost cost;
	uint32_t copies;                         /* number of buckets alive at once */
	enum mt_knob_of of;                      /* TOKENS */
	enum mt_knob_leaves leaves;              /* REMOVED, LOGITS */
	const char *within[MT_KNOB_WITHIN_MAX];  /* words: only bytes with one in a function of the stack */
	uint32_t withins;                        /* 0: the knob moves all bytes of the category */
	const char *outside[MT_KNOB_WITHIN_MAX]; /* words: no bytes with one in a function of the stack */
	uint32_t outsides;
	const char *proof[MT_KNOB_WITHIN_MAX]; /* functions, files or folders that run only while the knob is on */
	uint32_t proofs;
	const char *seen[MT_KNOB_WITHIN_MAX]; /* functions, files or folders: no effect unless one runs */
	uint32_t seens;                       /* 0: the knob always has an effect */
	struct mt_knob_with with[MT_KNOB_WITHIN_MAX];
	uint32_t withs;
	const char *turned_on; /* for a knob of words: the word that turns it on; NULL: not needed, or `weigh` has it */
	const char *turned_off; /* for a knob of words that saves when off: the word that turns it off; else NULL */
	struct {
		const char *value;
		uint32_t weight;
	} weigh[MT_KNOB_WEIGHS_MAX]; /* DIVIDED: relative bytes for each value */
	uint32_t weighs;
	struct mt_knob_constraint constraint[MT_KNOB_CONSTRAINTS_MAX];
	uint32_t constraints;
	size_t line; /* in its file */
};

/* One of several models in a process. Bytes belong to it if its functions, files or folders are on their stack. */
struct mt_knob_model {
	enum mt_knob_process process;
	const char *seen[MT_KNOB_WITHIN_MAX];
	uint32_t seens;
};

/* Another framework whose keys are set through this one, with `before` in front of the key. */
struct mt_knob_hand {
	const char *framework, *before;
};

/*
 * A program that runs this framework with keys and defaults of its own. Its functions, files or folders show it on a
 * stack.
 */
struct mt_knob_wrapper {
	const char *name;
	const char *seen[MT_KNOB_WITHIN_MAX];
	uint32_t seens;
};

struct mt_knob_file {
	const char *name; /* name of the file */
	const char *framework;
	const char *package;                                  /* on PyPI; NULL: on none */
	const char *repository;                               /* OWNER/NAME on GitHub; NULL: not needed */
	struct mt_knob_release release[MT_KNOB_RELEASES_MAX]; /* oldest first */
	uint32_t releases;
	const char *builds_on[MT_KNOB_FRAMES_MAX]; /* frameworks whose knobs apply as well */
	uint32_t below;
	enum mt_knob_written written; /* for rows without a word of their own */
	const char *class_;           /* class of the arguments for keys without class or function; NULL: none */
	const char *frame[MT_KNOB_FRAMES_MAX]; /* paths of its code: "verl/trainer" */
	uint32_t frames;
	const char *variable[MT_KNOB_FRAMES_MAX]; /* environment variables; the first one exists in all releases */
	uint32_t variables;
	struct mt_knob_hand hand[MT_KNOB_HANDS_MAX];
	uint32_t hands;
	struct mt_knob_model model[MT_KNOB_PROCESSES]; /* models that have rows of their own */
	uint32_t models;
	struct mt_knob_wrapper wrapper[MT_KNOB_WRAPPERS_MAX];
	uint32_t wrappers;
	/* The trainers, one of which runs. A key that begins with a trainer's name and a dot belongs to it. Words are files or folders. */
	struct mt_knob_wrapper trainer[MT_KNOB_WRAPPERS_MAX];
	uint32_t trainers;
	/* The backends, one of which runs the model. A key with a backend's name or word belongs to it. Words are parts of files and functions. */
	struct mt_knob_wrapper backend[MT_KNOB_WRAPPERS_MAX];
	uint32_t backends;
	enum mt_knob_loop loop; /* the owner of the train loop */
	struct mt_knob *knob;
	uint32_t knobs;
};

/* The data that the program carries: X(symbol, framework), from formats/knobs/FRAMEWORK.yaml. */
#define MT_KNOBS_LIST(X)                      \
	X(knobs_verl, "verl")                 \
	X(knobs_areal, "areal")               \
	X(knobs_relax, "relax")               \
	X(knobs_slime, "slime")               \
	X(knobs_openrlhf, "openrlhf")         \
	X(knobs_skyrl, "skyrl")               \
	X(knobs_nemo_rl, "nemo-rl")           \
	X(knobs_trl, "trl")                   \
	X(knobs_transformers, "transformers") \
	X(knobs_accelerate, "accelerate")     \
	X(knobs_deepspeed, "deepspeed")       \
	X(knobs_megatron, "megatron")         \
	X(knobs_vllm, "vllm")                 \
	X(knobs_sglang, "sglang")             \
	X(knobs_pytorch, "pytorch")

/* The names of all frameworks, each after a blank. */
#define MT_KNOBS_NAME(symbol, framework) " " framework
#define MT_KNOBS_FRAMEWORKS MT_KNOBS_LIST(MT_KNOBS_NAME)

struct mt_knobs {
	struct mt_knob_file *file; /* in the order of MT_KNOBS_LIST */
	uint32_t files;
	struct knobs_text *texts; /* owns all texts; for mt_knobs_free */
};

/*
 * Reads the built-in files. Returns 0, -MT_E_RULES or -MT_E_MEMORY, with "FILE:LINE: words" in the message. The caller
 * frees *knobs with mt_knobs_free; it is NULL on error.
 */
int mt_knobs_new(struct mt_knobs **knobs, char *message, size_t message_size);
void mt_knobs_free(struct mt_knobs *knobs); /* NULL is fine */

/* Adds a file. After an error nothing of it counts. The text is copied. Errors as of mt_knobs_new. */
int mt_knobs_add(struct mt_knobs *knobs, const char *name, const char *text, size_t size, char *message,
		 size_t message_size);

/* Checks that each framework named by another one exists. Errors as of mt_knobs_new. */
int mt_knobs_check(const struct mt_knobs *knobs, char *message, size_t message_size);

/* The file of a framework; NULL: there is none. */
const struct mt_knob_file *mt_knobs_find(const struct mt_knobs *knobs, const char *framework);

/* The knob with this key, as today's name or an older one; NULL: none. */
const struct mt_knob *mt_knob_find(const struct mt_knob_file *file, const char *key);

/* The default in a release of the file; NULL: the name has no default of its own. */
const char *mt_knob_default_in(const struct mt_knob_name *name, uint32_t release);

/* 1: the value turns off a knob that has a word for off. False and null count as well: an older key may be a switch. */
int mt_knob_is_off(const struct mt_knob *knob, const char *value);

/* Static storage. */
const char *mt_knob_process_word(enum mt_knob_process process);
const char *mt_knob_saves_word(enum mt_knob_saves saves);
const char *mt_knob_method_word(enum mt_knob_method method);
const char *mt_knob_of_word(enum mt_knob_of of);
const char *mt_knob_leaves_words(enum mt_knob_leaves leaves);
const char *mt_knob_cost_words(enum mt_knob_cost cost);
const char *mt_knob_fact_words(enum mt_knob_fact fact);
const char *mt_knob_written_word(enum mt_knob_written written);
enum mt_knob_kind mt_knob_unit_kind(enum mt_knob_unit unit);
double mt_knob_unit_one(enum mt_knob_unit unit); /* the size of one unit, in bytes for a size */
const char *mt_knob_beyond_word(enum mt_knob_beyond beyond);
const char *mt_knob_constraint_key(enum mt_knob_constraint_kind kind);
const char *mt_knob_category_words(uint32_t category); /* MT_KNOB_HOST, too */

#endif
