/*
 * knobs.h - the settings of the frameworks that move memory: what formats/knobs/<framework>.yaml say, checked.
 *
 * formats/knobs/README.md says what a row can say and mean. All texts are ASCII or UTF-8 of at most YAML_TEXT_MAX bytes,
 * belong to the struct mt_knobs and live as long; it never changes once it is made.
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

/* Which way it saves. X(NAME, word) */
#define MT_KNOB_SAVES_LIST(X) \
	X(NONE, "none")       \
	X(LOWER, "lower")     \
	X(HIGHER, "higher")   \
	X(ON, "on")           \
	X(OFF, "off")         \
	X(CHOOSE, "choose")

/* How the saving is computed from a trace. X(NAME, word) */
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

/* The part that stays when bytes go. X(NAME, words) */
#define MT_KNOB_LEAVES_LIST(X)                  \
	X(NOTHING, "nothing")                   \
	X(BOUNDARIES, "boundaries and a layer") \
	X(LAYER, "a layer")                     \
	X(ADAPTERS, "adapters")                 \
	X(PIECE, "a piece")

/* Its cost, the cheapest first. X(NAME, words) */
#define MT_KNOB_COST_LIST(X)      \
	X(FREE, "free")           \
	X(SOME_TIME, "some time") \
	X(MUCH_TIME, "much time") \
	X(GPUS, "more GPUs")      \
	X(RESULTS, "changes results")

/* How a value is written down. X(NAME, word) */
#define MT_KNOB_WRITTEN_LIST(X)                              \
	X(HYDRA, "hydra")             /* a.b=1 */            \
	X(DOTLIST, "dotlist")         /* a.b=1, all alike */ \
	X(YAML, "yaml")               /* a path in it */     \
	X(FLAG, "flag")               /* --a-b 1 */          \
	X(ARGUMENT, "argument")       /* function(a=1) */    \
	X(ENVIRONMENT, "environment") /* VARIABLE=a:1 */     \
	X(JSON, "json")               /* a path in it */     \
	X(CODE, "code")               /* in the program */

/* The owner of the train loop: a user can put a call around code of his own loop. X(NAME, word) */
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

/* The framework's answer to a fact larger than a value that has to be at least as large. X(NAME, word) */
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
/* A bit for each category, and one more for the host's memory, which no category of a GPU is. */
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
	const char *commit; /* commit of the repository in which it was read; NULL: the package of this version */
};

/* A default from a release on. */
struct mt_knob_default {
	uint32_t since; /* index of the release */
	const char *value;
};

/* A key as spelled, and where it holds: in releases [since, gone). */
struct mt_knob_name {
	const char *key;
	const char *source; /* as README.md has it */
	uint32_t since, gone;
	uint32_t defaults;                                       /* 0: it has none of its own */
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

/* With the value, a knob takes another one of its file: "VALUE: KEY=TO". */
struct mt_knob_with {
	const char *value, *key, *to;
};

struct mt_knob {
	struct mt_knob_name name; /* today's */
	const char *trainer;      /* the one of `trainers` that has the row alone; NULL: all have it */
	struct mt_knob_name older[MT_KNOB_OLDER_MAX];
	uint32_t olders;
	const char *what;
	const char *unit; /* the word of `measure` */
	enum mt_knob_unit measure;
	enum mt_knob_written written;
	const char *unset;   /* the key whose value it has while it is null; NULL: null is a value like others */
	const char *passes;  /* the framework whose key it hands on; NULL: none */
	const char *instead; /* the replacement of a key that is gone; NULL: it is not */
	const char *effect, *not_so; /* NULL: nothing is said */
	uint32_t processes;          /* bits 1 << enum mt_knob_process */
	uint32_t phases;             /* .. enum mt_phase */
	uint32_t categories;         /* .. enum mt_category and MT_KNOB_HOST */
	enum mt_knob_saves saves;
	enum mt_knob_method method;
	enum mt_action does; /* MT_ACTIONS: method, category and process tell */
	enum mt_knob_cost cost;
	uint32_t copies;            /* pieces of a bucket that are alive at once */
	enum mt_knob_of of;         /* TOKENS */
	enum mt_knob_leaves leaves; /* REMOVED, LOGITS */
	const char
		*within[MT_KNOB_WITHIN_MAX]; /* only bytes whose stacks have a function with one of these words in it */
	uint32_t withins;                    /* 0: all of the category */
	const char
		*outside[MT_KNOB_WITHIN_MAX]; /* bytes whose stacks have a function with one of these do not go by it */
	uint32_t outsides;
	const char *proof[MT_KNOB_WITHIN_MAX]; /* functions, files or folders that run only where it is on */
	uint32_t proofs;
	const char *seen[MT_KNOB_WITHIN_MAX]; /* the same: it can be set only where one of these runs */
	uint32_t seens;                       /* 0: anywhere */
	struct mt_knob_with with[MT_KNOB_WITHIN_MAX];
	uint32_t withs;
	const char *turned_on;  /* a word: the one that turns it on; NULL: it needs none, or weighs say it */
	const char *turned_off; /* a word that saves where it is off: the one that turns it off; of others NULL */
	struct {
		const char *value;
		uint32_t weight;
	} weigh[MT_KNOB_WEIGHS_MAX]; /* DIVIDED: the bytes are as these numbers */
	uint32_t weighs;
	struct mt_knob_constraint constraint[MT_KNOB_CONSTRAINTS_MAX];
	uint32_t constraints;
	size_t line; /* in its file */
};

/* Functions, files or folders that run for one of several models: bytes of their stacks are that model's. */
struct mt_knob_model {
	enum mt_knob_process process;
	const char *seen[MT_KNOB_WITHIN_MAX];
	uint32_t seens;
};

/* Keys of another framework that can be set through this one: as `before` and the key. */
struct mt_knob_hand {
	const char *framework, *before;
};

/* A program that runs this one and has keys and defaults of its own, and functions, files or folders by which stacks show it. */
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
	const char *builds_on[MT_KNOB_FRAMES_MAX]; /* files with knobs that hold, too */
	uint32_t below;
	enum mt_knob_written written; /* a row's own word goes before */
	const char *class_;           /* class of arguments with a key that has no class or function; NULL: none */
	const char *frame[MT_KNOB_FRAMES_MAX]; /* paths of its code: "verl/trainer" */
	uint32_t frames;
	const char *variable[MT_KNOB_FRAMES_MAX]; /* names in the environment, the first holds in all releases */
	uint32_t variables;
	struct mt_knob_hand hand[MT_KNOB_HANDS_MAX];
	uint32_t hands;
	struct mt_knob_model model[MT_KNOB_PROCESSES]; /* models with rows of their own */
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

/* Their names with a blank before each. */
#define MT_KNOBS_NAME(symbol, framework) " " framework
#define MT_KNOBS_FRAMEWORKS MT_KNOBS_LIST(MT_KNOBS_NAME)

struct mt_knobs {
	struct mt_knob_file *file; /* in the order of MT_KNOBS_LIST */
	uint32_t files;
	struct knobs_text *texts; /* all of them, for freeing */
};

/*
 * Reads the files that the program carries. 0; -MT_E_RULES or -MT_E_MEMORY, with "FILE:LINE: words" in the message.
 * *knobs is the caller's, NULL on error.
 */
int mt_knobs_new(struct mt_knobs **knobs, char *message, size_t message_size);
void mt_knobs_free(struct mt_knobs *knobs); /* NULL is fine */

/* Adds the file `text`, which counts as a whole or not at all. Errors as of mt_knobs_new. `text` may go afterwards. */
int mt_knobs_add(struct mt_knobs *knobs, const char *name, const char *text, size_t size, char *message,
		 size_t message_size);

/* Is every framework there that another one names? Errors as of mt_knobs_new. */
int mt_knobs_check(const struct mt_knobs *knobs, char *message, size_t message_size);

/* NULL: no file is about it. */
const struct mt_knob_file *mt_knobs_find(const struct mt_knobs *knobs, const char *framework);

/* The knob of the file that has the key, as today's name or an older one; NULL: none has. */
const struct mt_knob *mt_knob_find(const struct mt_knob_file *file, const char *key);

/* The default in a release of the file; NULL: nothing of its own. */
const char *mt_knob_default_in(const struct mt_knob_name *name, uint32_t release);

/* 1: of a word that has one, the value turns it off; an older key of it may be a switch. */
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
