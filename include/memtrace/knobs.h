/*
 * knobs.h - the settings of frameworks that change memory use: formats/knobs/<framework>.yaml, read and checked.
 *
 * formats/knobs/README.md describes the rows. All texts are ASCII or UTF-8 of at most YAML_TEXT_MAX bytes. struct mt_knobs owns all texts, and never
 * changes after mt_knobs_new and mt_knobs_add.
 */
#ifndef MEMTRACE_KNOBS_H
#define MEMTRACE_KNOBS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "memtrace/texts.h"
#include "memtrace/why.h"

/* The process that holds the memory. X(NAME, word) */
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

/* The method that computes the saving from a trace. X(NAME, word) */
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

/* The thing that a number of tokens or samples counts. X(NAME, word) */
#define MT_KNOB_OF_LIST(X)            \
	X(MICRO_BATCH, "micro-batch") \
	X(SAMPLE, "sample")           \
	X(ANSWER, "answer")           \
	X(PADDING, "padding")         \
	X(PROMPT, "prompt")

/* The part of the bytes that stays after a saving. X(NAME, words) */
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

/* The syntax of a setting. X(NAME, word) */
#define MT_KNOB_WRITTEN_LIST(X)                                 \
	X(HYDRA, "hydra")             /* a.b=1 */               \
	X(DOTLIST, "dotlist")         /* a.b=1, in all cases */ \
	X(YAML, "yaml")               /* a path in the file */  \
	X(FLAG, "flag")               /* --a-b 1 */             \
	X(ARGUMENT, "argument")       /* function(a=1) */       \
	X(ENVIRONMENT, "environment") /* VARIABLE=a:1 */        \
	X(JSON, "json")               /* a path in the file */  \
	X(CODE, "code")               /* code of the program */

/* The owner of the train loop: only a user's own loop can get a new call. X(NAME, word) */
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

/* The unit of a value. X(NAME, word, kind, one unit, in bytes for a size) */
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

/* The fact of a model or run that a constraint compares with. X(NAME, words) */
#define MT_KNOB_FACT_LIST(X)                  \
	X(LONGEST_SAMPLE, "longest sample")   \
	X(LARGEST_WEIGHT, "largest weight")   \
	X(ATTENTION_HEADS, "attention heads") \
	X(LAYERS, "layers")                   \
	X(EXPERTS, "experts")                 \
	X(MINI_BATCH, "mini-batch")           \
	X(GPUS, "gpus")

/* The framework's reaction to a fact above the value, if the value must be at least as large. X(NAME, word) */
#define MT_KNOB_BEYOND_LIST(X) \
	X(UNTOLD, "untold")    \
	X(ERROR, "error")      \
	X(ALONE, "alone")

/* The demand of a constraint; WORDS: a demand that no program can check. X(NAME, key) */
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
/* The bit number of host memory. It follows the bits of the categories. These are of GPU memory. */
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
#define MT_KNOB_FRAMES_MAX 16u /* paths of code, frameworks that a file builds on, variables */
#define MT_KNOB_HANDS_MAX 8u
#define MT_KNOB_WRAPPERS_MAX 8u

struct mt_knob_release {
	const char *version;
	const char *commit; /* commit from which the rows were read; NULL: the package of this version */
};

/* A default from a release on. */
struct mt_knob_default {
	uint32_t since; /* index of the release */
	const char *value;
};

/* A key with its releases: from `since` on, and before `gone`. */
struct mt_knob_name {
	const char *key;
	const char *source; /* place in the source, as README.md describes it */
	uint32_t since, gone;
	uint32_t defaults;                                       /* 0: the key has no defaults of its own */
	struct mt_knob_default by_release[MT_KNOB_DEFAULTS_MAX]; /* oldest release first */
};

struct mt_knob_constraint {
	const char *says;
	enum mt_knob_constraint_kind kind;
	enum mt_knob_fact fact;                /* AT_LEAST, DIVIDES */
	const char *key;                       /* NEEDS, EXCLUDES, MULTIPLE: key of this file */
	enum mt_knob_beyond beyond;            /* AT_LEAST */
	const char *times;                     /* AT_LEAST: key of this file, a factor of the value; NULL: no factor */
	const char *value[MT_KNOB_VALUES_MAX]; /* NEEDS, EXCLUDES: one of these values; "N..": N or more */
	uint32_t values;
};

/* If the knob has this value, another knob of the file changes, too: "VALUE: KEY=TO". */
struct mt_knob_with {
	const char *value, *key, *to;
};

struct mt_knob {
	struct mt_knob_name name; /* newest name */
	const char *trainer;      /* the only one of `trainers` that has this row; NULL: all have it */
	struct mt_knob_name older[MT_KNOB_OLDER_MAX];
	uint32_t olders;
	const char *what;
	const char *unit; /* word of `measure` */
	enum mt_knob_unit measure;
	enum mt_knob_written written;
	const char *unset;           /* key whose value counts if this one is null; NULL: null is a value */
	const char *passes;          /* framework that the key is passed on to; NULL: none */
	const char *instead;         /* key that replaces a removed one; NULL: the key exists */
	const char *effect, *not_so; /* NULL: not given */
	uint32_t processes;          /* bits 1 << enum mt_knob_process */
	uint32_t phases;             /* bits 1 << enum mt_phase */
	uint32_t categories;         /* bits 1 << enum mt_category, and MT_KNOB_HOST */
	enum mt_knob_saves saves;
	enum mt_knob_method method;
	enum mt_action does; /* MT_ACTIONS: the action follows from method, categories and processes */
	enum mt_knob_cost cost;
	uint32_t copies;                         /* number of buckets that are alive at one time */
	enum mt_knob_of of;                      /* TOKENS */
	enum mt_knob_leaves leaves;              /* REMOVED, LOGITS */
	const char *within[MT_KNOB_WITHIN_MAX];  /* words: only bytes with one of these in a function of the stack */
	uint32_t withins;                        /* 0: the knob moves all bytes of the category */
	const char *outside[MT_KNOB_WITHIN_MAX]; /* words: not the bytes with one of these in a function of the stack */
	uint32_t outsides;
	const char *proof[MT_KNOB_WITHIN_MAX]; /* functions, files or folders that run only while the knob is on */
	uint32_t proofs;
	const char *
		seen[MT_KNOB_WITHIN_MAX]; /* functions, files or folders: without one on a stack, the knob has no effect */
	uint32_t seens;                   /* 0: the knob always has an effect */
	struct mt_knob_with with[MT_KNOB_WITHIN_MAX];
	uint32_t withs;
	const char *turned_on;  /* word that turns a knob of words on; NULL: not needed, or in `weigh` */
	const char *turned_off; /* word that turns off a knob of words that saves when off; else NULL */
	struct {
		const char *value;
		uint32_t weight;
	} weigh[MT_KNOB_WEIGHS_MAX]; /* DIVIDED: relative bytes of each value */
	uint32_t weighs;
	struct mt_knob_constraint constraint[MT_KNOB_CONSTRAINTS_MAX];
	uint32_t constraints;
	size_t line; /* line in the file */
};

/* One of several models in a process. Bytes belong to the model if one of its functions, files or folders is on their stack. */
struct mt_knob_model {
	enum mt_knob_process process;
	const char *seen[MT_KNOB_WITHIN_MAX];
	uint32_t seens;
};

/* Another framework whose keys are set through this one, with `before` in front of each key. */
struct mt_knob_hand {
	const char *framework, *before;
};

/* A program that runs this framework, with keys and defaults of its own. A function, file or folder on a stack shows the program. */
struct mt_knob_wrapper {
	const char *name;
	const char *seen[MT_KNOB_WITHIN_MAX];
	uint32_t seens;
};

struct mt_knob_file {
	const char *name; /* name of the file */
	const char *framework;
	const char *package;                                  /* name on PyPI; NULL: not on PyPI */
	const char *repository;                               /* OWNER/NAME on GitHub; NULL: not needed */
	struct mt_knob_release release[MT_KNOB_RELEASES_MAX]; /* oldest first */
	uint32_t releases;
	const char *builds_on[MT_KNOB_FRAMES_MAX]; /* frameworks whose knobs this one has, too */
	uint32_t below;
	enum mt_knob_written written; /* syntax of rows without `written` */
	const char *class_;           /* class of the arguments, for keys without class or function; NULL: none */
	const char *frame[MT_KNOB_FRAMES_MAX]; /* paths of the framework's code: "verl/trainer" */
	uint32_t frames;
	const char *variable[MT_KNOB_FRAMES_MAX]; /* environment variables; the first one is in all releases */
	uint32_t variables;
	struct mt_knob_hand hand[MT_KNOB_HANDS_MAX];
	uint32_t hands;
	struct mt_knob_model model[MT_KNOB_PROCESSES]; /* models with rows of their own */
	uint32_t models;
	struct mt_knob_wrapper wrapper[MT_KNOB_WRAPPERS_MAX];
	uint32_t wrappers;
	/* The trainers, of which one runs. A key that begins with a trainer's name and a dot belongs to the trainer. Words are files or folders. */
	struct mt_knob_wrapper trainer[MT_KNOB_WRAPPERS_MAX];
	uint32_t trainers;
	/*
	 * The backends, of which one runs the model. A key that contains a backend's name or word belongs to the backend. Words are parts of files
	 * and functions.
	 */
	struct mt_knob_wrapper backend[MT_KNOB_WRAPPERS_MAX];
	uint32_t backends;
	enum mt_knob_loop loop; /* owner of the train loop */
	struct mt_knob *knob;
	uint32_t knobs;
};

/* The built-in files: X(symbol, framework), from formats/knobs/FRAMEWORK.yaml. */
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

/* The names of all frameworks, with a blank before each. */
#define MT_KNOBS_NAME(symbol, framework) " " framework
#define MT_KNOBS_FRAMEWORKS MT_KNOBS_LIST(MT_KNOBS_NAME)

struct mt_knobs {
	struct mt_knob_file *file; /* in the order of MT_KNOBS_LIST */
	uint32_t files;
	struct mt_text *texts; /* owns all texts; private */
};

/*
 * Reads the built-in files. Returns 0, -MT_E_RULES or -MT_E_MEMORY, with "FILE:LINE: words" in the message. The caller frees *knobs, which is NULL
 * after an error, with mt_knobs_free.
 */
int mt_knobs_new(struct mt_knobs **knobs, char *message, size_t message_size);
void mt_knobs_free(struct mt_knobs *knobs); /* NULL is allowed */

/* Adds a file; copies its text. After an error, no row of the file counts. Returns the errors of mt_knobs_new. */
int mt_knobs_add(struct mt_knobs *knobs, const char *name, const char *text, size_t size, char *message,
		 size_t message_size);

/* Checks that each framework that a file names exists. Returns the errors of mt_knobs_new. */
int mt_knobs_check(const struct mt_knobs *knobs, char *message, size_t message_size);

/* Returns the file of a framework; NULL: the framework is unknown. */
const struct mt_knob_file *mt_knobs_find(const struct mt_knobs *knobs, const char *framework);

/* Returns the knob with this key, its newest name or an older one; NULL: no such knob. */
const struct mt_knob *mt_knob_find(const struct mt_knob_file *file, const char *key);

/* Returns the default in a release of the file; NULL: the name has no default of its own. */
const char *mt_knob_default_in(const struct mt_knob_name *name, uint32_t release);

/* Whether the value turns off a knob that has a word for off. False and null turn it off, too: an older key can be a switch. */
int mt_knob_is_off(const struct mt_knob *knob, const char *value);

/* Return words in static storage. */
const char *mt_knob_process_word(enum mt_knob_process process);
const char *mt_knob_saves_word(enum mt_knob_saves saves);
const char *mt_knob_method_word(enum mt_knob_method method);
const char *mt_knob_cost_words(enum mt_knob_cost cost);
const char *mt_knob_fact_words(enum mt_knob_fact fact);
enum mt_knob_kind mt_knob_unit_kind(enum mt_knob_unit unit);
double mt_knob_unit_one(enum mt_knob_unit unit); /* size of one unit; for a size, in bytes */
const char *mt_knob_beyond_word(enum mt_knob_beyond beyond);
const char *mt_knob_constraint_key(enum mt_knob_constraint_kind kind);
const char *mt_knob_category_words(uint32_t category); /* also for MT_KNOB_HOST */

#endif
