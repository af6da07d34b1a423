#include "request.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"

const struct request_entry request_entries[REQUEST_COUNT] = {
#define REQUEST_ENTRY(name, group, key, other, words) \
	[REQUEST_##name] = { #name, KEY_GROUP_##group, key, other, words },
	REQUEST_LIST(REQUEST_ENTRY)
#undef REQUEST_ENTRY
};

const char *const key_group_titles[KEY_GROUP_COUNT] = {
#define KEY_GROUP_TITLE(name, title) [KEY_GROUP_##name] = title,
	KEY_GROUP_LIST(KEY_GROUP_TITLE)
#undef KEY_GROUP_TITLE
};

static const char *const key_words[] = {
#define KEY_WORD(name, word) word,
	KEY_LIST(KEY_WORD)
#undef KEY_WORD
};

enum request request_of_key(int key)
{
	int i;

	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++)
		if (key && (request_entries[i].key == key || request_entries[i].other == key))
			return (enum request)i;
	return REQUEST_NONE;
}

/* The keys after KEY_FIRST, in the order of the list. */
static size_t key_index(int key)
{
	return (size_t)(key - KEY_FIRST - 1);
}

const char *request_key_word(char out[16], int key)
{
	if (key > KEY_FIRST && key_index(key) < MT_ARRAY_SIZE(key_words))
		snprintf(out, 16, "%s", key_words[key_index(key)]);
	else if (key == ' ')
		snprintf(out, 16, "Space");
	else if (key > 0 && key < ' ')
		snprintf(out, 16, "^%c", key + '@');
	else
		snprintf(out, 16, "%c", key > ' ' && key < 0x7f ? key : '?');
	return out;
}

int request_key_of_word(const char *word)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(key_words); i++)
		if (!strcmp(word, key_words[i]))
			return KEY_FIRST + 1 + (int)i;
	if (!strcmp(word, "Space"))
		return ' ';
	if (word[0] == '^' && word[1] > '@' && word[1] < 0x60 && !word[2])
		return word[1] - '@';
	return word[0] > 0 && !word[1] ? word[0] : 0;
}
