/* config.c - see config.h. */
#include "config.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096u

static struct standin_config config;
static struct {
#define TEXT_ROOM(member, variable) char member[TEXT_MAX];
	STANDIN_TEXT_LIST(TEXT_ROOM)
#undef TEXT_ROOM
} texts;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void refuse(const char *variable, const char *text)
{
	fprintf(stderr, "stand-in GPU: %s=%s: not a number or size (such as 4096, 512MiB, 80GiB)\n", variable, text);
	exit(2);
}

static uint64_t parse(const char *variable, const char *text)
{
	static const struct {
		const char *word;
		int shift;
	} units[] = { { "", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "TiB", 40 } };
	char *end;
	unsigned long long number;
	size_t i;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || end == text || *text == '-')
		refuse(variable, text);
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].word) && number <= UINT64_MAX >> units[i].shift)
			return (uint64_t)number << units[i].shift;
	refuse(variable, text);
	return 0;
}

static uint64_t number_of(const char *variable, uint64_t def)
{
	const char *text = getenv(variable);

	return text && *text ? parse(variable, text) : def;
}

/*
 * Copies a variable to `copy`, because the program may change its environment. No malloc, so an unload leaves no leak.
 */
static const char *text_of(const char *variable, char copy[TEXT_MAX])
{
	const char *text = getenv(variable);

	if (!text || !*text)
		return NULL;
	if (strlen(text) >= TEXT_MAX) {
		fprintf(stderr, "stand-in GPU: %s is too long\n", variable);
		exit(2);
	}
	return memcpy(copy, text, strlen(text) + 1);
}

static void load(void)
{
#define LOAD_NUMBER(member, variable, def) config.member = number_of(variable, def);
	STANDIN_NUMBER_LIST(LOAD_NUMBER)
#undef LOAD_NUMBER
#define LOAD_TEXT(member, variable) config.member = text_of(variable, texts.member);
	STANDIN_TEXT_LIST(LOAD_TEXT)
#undef LOAD_TEXT
	if (config.gpus > STANDIN_GPUS_MAX)
		refuse("STANDIN_GPUS", "more than 16");
}

const struct standin_config *standin_config(void)
{
	pthread_once(&once, load);
	return &config;
}

void standin_uuid(unsigned int gpu, unsigned char bytes[16])
{
	memcpy(bytes, "stand-in GPU \0\0\0", 16);
	bytes[15] = (unsigned char)(gpu + 1);
}

void standin_uuid_text(unsigned int gpu, char text[STANDIN_UUID_TEXT])
{
	unsigned char b[16];
	size_t i, used;

	standin_uuid(gpu, b);
	used = (size_t)snprintf(text, STANDIN_UUID_TEXT, "GPU-");
	for (i = 0; i < sizeof(b); i++)
		used += (size_t)snprintf(text + used, STANDIN_UUID_TEXT - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
}
