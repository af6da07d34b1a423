#include "alloc_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define MIB (1ull << 20)
#define BLOCK_BYTES 512u        /* every block is a multiple */
#define LARGE_SEGMENT 20        /* MiB; the least max_split_size_mb of PyTorch */
#define LARGE_SEGMENT_MIN 10    /* MiB; requests below this must fit into such a segment */
#define MEGABYTES_MAX (1 << 24) /* more megabytes than any GPU has */
#define WORD_MAX 64

/* Known keys of PyTorch that do not change bytes of the device. */
static const char *const idle_keys[] = {
	"backend",
	"graph_capture_record_stream_reuse",
	"pinned_free_catch_all",
	"pinned_num_register_threads",
	"pinned_reserve_segment_size_mb",
	"pinned_use_background_threads",
	"pinned_use_cuda_host_register",
	"pinned_use_hip_host_register",
	"release_lock_on_cudamalloc",
	"release_lock_on_hipmalloc",
	"throw_on_cudamalloc_oom",
};

/* The rest of a configuration: words, separated by one of , : [ ]. */
struct conf {
	const char *at;
	char word[WORD_MAX]; /* newest word; cut if longer */
	char *why;
	size_t size;
};

void alloc_config_init(struct alloc_config *config)
{
	memset(config, 0, sizeof(*config));
	config->max_split = UINT64_MAX;
	config->large_segment = LARGE_SEGMENT * MIB;
	config->max_rounding = LARGE_SEGMENT * MIB;
}

static int fail(const struct conf *conf, const char *key, const char *want)
{
	if (conf->size)
		snprintf(conf->why, conf->size, "%.40s: %s", key, want);
	return -MT_E_ARGUMENT;
}

/* Takes the next word. NULL: a separator, or the end. */
static const char *take_word(struct conf *conf)
{
	size_t length = 0;

	while (*conf->at == ' ')
		conf->at++;
	for (; *conf->at && !strchr(",:[]", *conf->at); conf->at++)
		if (*conf->at != ' ' && length + 1 < sizeof(conf->word))
			conf->word[length++] = *conf->at;
	conf->word[length] = 0;
	return length ? conf->word : NULL;
}

static int take_sign(struct conf *conf, char sign)
{
	while (*conf->at == ' ')
		conf->at++;
	if (*conf->at != sign)
		return 0;
	conf->at++;
	return 1;
}

static int take_number(struct conf *conf, const char *key, long least, long most, uint64_t *value)
{
	const char *word = take_word(conf);
	char want[64], *end;
	long number;

	snprintf(want, sizeof(want), "not a number from %ld to %ld", least, most);
	if (!word)
		return fail(conf, key, want);
	errno = 0;
	number = strtol(word, &end, 10);
	if (errno || *end || number < least || number > most)
		return fail(conf, key, want);
	*value = (uint64_t)number;
	return 0;
}

static int take_megabytes(struct conf *conf, const char *key, long least, uint64_t *bytes)
{
	int error = take_number(conf, key, least, MEGABYTES_MAX, bytes);

	*bytes *= MIB;
	return error;
}

/* Takes a number above 0, at most 1. */
static int take_share(struct conf *conf, const char *key, double *share)
{
	const char *word = take_word(conf);
	char *end;

	if (word) {
		*share = strtod(word, &end);
		if (!*end && *share > 0 && *share <= 1)
			return 0;
	}
	return fail(conf, key, "not a share such as 0.8");
}

static int take_flag(struct conf *conf, const char *key, int *flag)
{
	const char *word = take_word(conf);

	if (!word || (strcmp(word, "True") && strcmp(word, "False")))
		return fail(conf, key, "neither True nor False");
	*flag = *word == 'T';
	return 0;
}

static int is_power(uint64_t number)
{
	return number && !(number & (number - 1));
}

static void set_divisions(uint32_t *divisions, size_t from, size_t to, uint64_t value)
{
	for (; from < to; from++)
		divisions[from] = (uint32_t)value;
}

/*
 * Takes "[256:1,512:2,>:8]": sizes in megabytes and their divisions. Sizes below the first have the first's divisions.
 */
static int take_intervals(struct conf *conf, const char *key, uint32_t *divisions)
{
	uint64_t from, value;
	size_t at = 0, first = 1;
	int error, rest;

	do {
		rest = take_word(conf) && !strcmp(conf->word, ">");
		errno = 0;
		from = rest ? 1 : strtoull(conf->word, NULL, 10);
		if (errno || !is_power(from) || !take_sign(conf, ':'))
			return fail(conf, key, "not a list such as [256:1,512:2,>:4]");
		error = take_number(conf, key, 0, 1 << 20, &value);
		if (error)
			return error;
		if (value && !is_power(value))
			return fail(conf, key, "divisions are powers of two");
		if (!rest) {
			at = (size_t)__builtin_ctzll(from);
			at = at < ALLOC_CONFIG_INTERVALS ? at : ALLOC_CONFIG_INTERVALS - 1;
		}
		set_divisions(divisions, first && !rest ? 0 : at, rest ? ALLOC_CONFIG_INTERVALS : at + 1, value);
		first = 0;
	} while (take_sign(conf, ','));
	return take_sign(conf, ']') ? 0 : fail(conf, key, "the list has no end");
}

static int take_divisions(struct conf *conf, const char *key, uint32_t *divisions)
{
	uint64_t value;
	int error;

	if (take_sign(conf, '['))
		return take_intervals(conf, key, divisions);
	error = take_number(conf, key, 1, 1 << 20, &value);
	if (error)
		return error;
	if (!is_power(value))
		return fail(conf, key, "not a power of two");
	set_divisions(divisions, 0, ALLOC_CONFIG_INTERVALS, value);
	return 0;
}

static int take_idle(struct conf *conf, const char *key)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(idle_keys) && strcmp(idle_keys[i], key); i++)
		;
	if (i == MT_ARRAY_SIZE(idle_keys))
		return fail(conf, key, "no such setting of PyTorch's allocator is known here");
	if (!take_word(conf))
		return fail(conf, key, "has no value");
	if (!strcmp(key, "backend") && strcmp(conf->word, "native"))
		return fail(conf, key, "there is a model of the native allocator only");
	return 0;
}

static int take_setting(struct alloc_config *config, struct conf *conf, const char *key)
{
	if (!take_sign(conf, ':'))
		return fail(conf, key, "has no value (KEY:VALUE)");
	if (!strcmp(key, "expandable_segments"))
		return take_flag(conf, key, &config->expandable);
	if (!strcmp(key, "max_split_size_mb"))
		return take_megabytes(conf, key, LARGE_SEGMENT, &config->max_split);
	if (!strcmp(key, "large_segment_size_mb"))
		return take_megabytes(conf, key, LARGE_SEGMENT_MIN, &config->large_segment);
	if (!strcmp(key, "max_non_split_rounding_mb"))
		return take_megabytes(conf, key, LARGE_SEGMENT, &config->max_rounding);
	if (!strcmp(key, "garbage_collection_threshold"))
		return take_share(conf, key, &config->gc_threshold);
	if (!strcmp(key, "per_process_memory_fraction"))
		return take_share(conf, key, &config->fraction);
	if (!strcmp(key, "roundup_power2_divisions"))
		return take_divisions(conf, key, config->divisions);
	return take_idle(conf, key);
}

int alloc_config_parse(struct alloc_config *config, const char *text, char *why, size_t size)
{
	struct conf conf = { .at = text, .why = why, .size = size };
	char key[WORD_MAX];
	int error;

	while (take_word(&conf)) {
		snprintf(key, sizeof(key), "%s", conf.word);
		error = take_setting(config, &conf, key);
		if (error)
			return error;
		if (!take_sign(&conf, ','))
			break;
	}
	return *conf.at ? fail(&conf, conf.at, "not KEY:VALUE,KEY:VALUE") : 0;
}

uint64_t alloc_config_allowed(const struct alloc_config *config)
{
	if (!config->fraction || !config->device_bytes)
		return UINT64_MAX;
	return (uint64_t)(config->fraction * (double)config->device_bytes);
}

static uint32_t divisions_for(const struct alloc_config *config, uint64_t bytes)
{
	int log = 63 - __builtin_clzll(bytes) - 20; /* the first interval begins at 1 MiB */

	log = log < 0 ? 0 : log;
	return config->divisions[log < ALLOC_CONFIG_INTERVALS ? log : ALLOC_CONFIG_INTERVALS - 1];
}

/* Rounds up to the next of `divisions` equal steps between two powers of two. */
static uint64_t round_to_division(uint64_t bytes, uint32_t divisions)
{
	uint64_t floor = 1ull << (63 - __builtin_clzll(bytes)), step = floor >> __builtin_ctz(divisions);

	if (floor == bytes)
		return bytes;
	return step ? (bytes + step - 1) / step * step : floor * 2;
}

uint64_t alloc_config_round(const struct alloc_config *config, uint64_t bytes)
{
	uint32_t divisions;

	if (bytes < BLOCK_BYTES)
		return BLOCK_BYTES;
	divisions = divisions_for(config, bytes);
	if (divisions > 1 && bytes > (uint64_t)BLOCK_BYTES * divisions)
		return round_to_division(bytes, divisions);
	return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}
