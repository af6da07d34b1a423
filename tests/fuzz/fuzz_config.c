/*
 * fuzz_config.c - what a stranger says of how a run is set: the configuration, --now, --set, a command line, and the
 * allocator's words. Inputs are these texts with NUL bytes between them (enum part); a NUL byte in the configuration
 * itself is written \0.
 *
 * Whatever it is, the texts that come of it are fit for a terminal, and every knob can be asked for all that there is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "allocator/alloc_config.h"
#include "fuzz.h"
#include "memtrace/base.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "report/settings/advise_config.h"

enum part { PART_FRAMEWORK, PART_NOW, PART_SET, PART_COMMAND, PART_ALLOCATOR, PART_FILE, PARTS };

static struct mt_knobs *knobs;
static struct db *db; /* a run that shows nothing of its framework */

static void make_world(void)
{
	char message[256];

	if (knobs)
		return;
	FUZZ_CHECK(!mt_knobs_new(&knobs, message, sizeof(message)) && !db_create(&db, NULL, schema_sql));
}

/* The texts of the input, each with NUL; free(part[0]). */
static void split(char *part[PARTS], size_t size_of[PARTS], const uint8_t *data, size_t size)
{
	char *text = malloc(size + PARTS + 1), *end = text + size;
	int i;

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, size);
	memset(end, 0, PARTS + 1);
	for (i = 0; i < PARTS; i++) {
		part[i] = text;
		size_of[i] = i + 1 < PARTS ? strlen(text) : text < end ? (size_t)(end - text) : 0;
		text += size_of[i] + 1 < (size_t)(end - text) + 1 ? size_of[i] + 1 : (size_t)(end - text);
	}
}

/* Fit for a terminal; of `keep` (ASCII) there may be some. */
static int is_clean_but(const char *text, const char *keep)
{
	size_t size = strlen(text), length;
	uint32_t code;

	for (; size; text += length, size -= length) {
		length = mt_utf8(text, size, &code);
		if (!length || (mt_is_harmful(code) && (code > 127 || !strchr(keep, (int)code))))
			return 0;
	}
	return 1;
}

static int is_clean(const char *text)
{
	return is_clean_but(text, "");
}

static void check_texts(const struct advise_config *config)
{
	uint32_t i;

	for (i = 0; i < config->settings; i++) {
		FUZZ_CHECK(is_clean(config->setting[i].where));
		FUZZ_CHECK(!config->setting[i].value || is_clean(config->setting[i].value));
	}
	for (i = 0; i < config->warnings; i++)
		FUZZ_CHECK(is_clean(config->warning[i]));
}

/* All that can be asked of a knob, with the value that it has. */
static void ask_knob(struct advise_config *config, const struct mt_knob *knob)
{
	struct advise_value now = advise_config_value(config, knob);
	char words[ADVISE_WORDS_MAX];
	double number;
	uint32_t i;

	FUZZ_CHECK(!now.text || is_clean(now.text));
	if (now.text)
		advise_value_number(knob, now.text, &number);
	for (i = 0; i < knob->constraints; i++) {
		advise_constraint_holds(config, knob, &knob->constraint[i], words);
		FUZZ_CHECK(is_clean(words));
	}
	advise_config_standing(config, knob, 0, words);
	FUZZ_CHECK(is_clean(words));
	advise_floor(config, knob, 0);
}

static void ask_all(struct advise_config *config)
{
	struct advise_change change[8];
	size_t changes = 0;
	uint32_t i;
	char *paste;

	for (i = 0; i < config->part[0].file->knobs; i++)
		ask_knob(config, &config->part[0].file->knob[i]);
	for (i = 0; i < config->settings && changes < MT_ARRAY_SIZE(change); i++)
		if (config->setting[i].knob && config->setting[i].value && config->setting[i].origin == ADVISE_SET)
			change[changes++] = (struct advise_change){ config->setting[i].knob, config->setting[i].value };
	paste = advise_paste(config, change, changes);
	FUZZ_CHECK(paste && is_clean_but(paste, "\n"));
	free(paste);
}

/* An error has its words, and nothing else has. */
static void check_error(const struct advise_config *config, int error)
{
	FUZZ_CHECK(!error || error == -MT_E_ARGUMENT || error == -MT_E_RULES);
	FUZZ_CHECK(!error || (*config->message && is_clean(config->message)));
}

static void configure(char *part[PARTS], const size_t size[PARTS])
{
	struct advise_config *config;

	FUZZ_CHECK(!advise_config_new(&config, knobs));
	if (advise_config_framework(config, db, part[PART_FRAMEWORK])) {
		check_error(config, -MT_E_ARGUMENT);
		FUZZ_CHECK(!advise_config_framework(config, db, "verl"));
	}
	check_error(config, advise_config_command_line(config, part[PART_COMMAND]));
	check_error(config, advise_config_yaml(config, "fuzz.yaml", part[PART_FILE], size[PART_FILE]));
	check_error(config, advise_config_pair(config, part[PART_NOW], ADVISE_NOW));
	check_error(config, advise_config_pair(config, part[PART_SET], ADVISE_SET));
	check_texts(config);
	ask_all(config);
	advise_config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *part[PARTS], why[256] = "";
	struct alloc_config allocator;
	size_t sizes[PARTS];

	make_world();
	split(part, sizes, data, size);
	configure(part, sizes);
	alloc_config_init(&allocator);
	if (alloc_config_parse(&allocator, part[PART_ALLOCATOR], why, sizeof(why)))
		FUZZ_CHECK(*why);
	else
		FUZZ_CHECK(alloc_config_round(&allocator, 1ull << 62) && alloc_config_round(&allocator, 1));
	free(part[0]);
	return 0;
}

/* ---- mutations ---- */

static const char *const values[] = {
	"",
	"null",
	"true",
	"-1",
	"0",
	"1e999",
	"18446744073709551616",
	"0x10",
	"${a}",
	"40%",
	"[1, 2, 3]",
	"'a\\u001b'",
	"inf",
	"1GiB",
	"&a [*a, *a]",
	"${oc.select:a,1}",
	"nan",
	"*a",
	"{a: {b: c}}",
	"-9223372036854775808",
	"1_000",
	"0.0000001",
	"!!binary AA==",
	"|\n  a\n  b",
};

/* A key of some knob, and a value that it may have or not. */
static int make_setting(struct fuzz_random *random, char *out, size_t size, const char *between)
{
	const struct mt_knob_file *file = &knobs->file[fuzz_below(random, knobs->files)];
	const struct mt_knob *knob = &file->knob[fuzz_below(random, file->knobs)];
	const char *key = knob->name.key;

	if (fuzz_below(random, 2) && strrchr(key, '.'))
		key = strrchr(key, '.') + 1;
	return snprintf(out, size, "%s%s%s", key, between, values[fuzz_below(random, MT_ARRAY_SIZE(values))]);
}

/* The begin of a line or a text of the input. */
static size_t line_of(struct fuzz_random *random, const uint8_t *data, size_t size)
{
	size_t at = fuzz_below(random, size + 1);

	while (at && data[at - 1] && data[at - 1] != '\n')
		at--;
	return at;
}

static size_t insert_setting(struct fuzz_random *random, uint8_t *data, size_t size, size_t room)
{
	char line[512];
	size_t at = line_of(random, data, size), spaces = fuzz_below(random, 3) * 2, length;
	int in_file = fuzz_below(random, 2) != 0;

	memset(line, ' ', spaces);
	length = spaces + (size_t)make_setting(random, line + spaces, sizeof(line) - spaces - 1, in_file ? ": " : "=");
	if (length >= sizeof(line) - 1)
		return size;
	if (in_file)
		line[length++] = '\n';
	if (size + length > room)
		return size;
	memmove(data + at + length, data + at, size - at);
	memcpy(data + at, line, length);
	return size + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_random random = { seed };

	make_world();
	if (fuzz_below(&random, 3))
		return LLVMFuzzerMutate(data, size, room);
	return insert_setting(&random, data, size, room);
}
