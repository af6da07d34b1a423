#include "stack_words.h"

#include <string.h>

/* Whether `text` ends with the word, alone or after a separator. */
static int ends_with(const char *text, const char *word, size_t size, char separator)
{
	size_t length = strlen(text);

	return length >= size && !memcmp(text + length - size, word, size) &&
	       (length == size || text[length - size - 1] == separator);
}

static int is_word_of(const struct callstack_frame *frame, const char *word, size_t size)
{
	const char *at;

	if (!size)
		return 0;
	if (word[size - 1] != '/')
		return ends_with(frame->function, word, size, '.') || ends_with(frame->file, word, size, '/');
	for (at = frame->file; *at; at++)
		if ((at == frame->file || at[-1] == '/') && !strncmp(at, word, size))
			return 1;
	return 0;
}

/* Returns the nearest node outwards from `node` whose frame is the word; SCENE_NONE: no such node. */
static uint32_t nearest(const struct scene *scene, uint32_t node, const char *word, size_t size)
{
	while (node != SCENE_NONE && !is_word_of(&scene->frame[scene->node[node].frame].frame, word, size))
		node = scene->node[node].parent;
	return node;
}

int stack_has(const struct scene *scene, uint32_t node, const char *word)
{
	const char *arrow = strstr(word, " > "), *inner = arrow ? arrow + 3 : word;

	node = nearest(scene, node, inner, strlen(inner));
	if (node != SCENE_NONE && arrow)
		node = nearest(scene, scene->node[node].parent, word, (size_t)(arrow - word));
	return node != SCENE_NONE;
}

int stack_is_seen(const struct scene *scene, const char *word)
{
	const char *arrow = strstr(word, " > "), *inner = arrow ? arrow + 3 : word;
	int seen = 0;
	size_t i;

	for (i = 0; i < scene->frames && !seen; i++)
		seen = is_word_of(&scene->frame[i].frame, inner, strlen(inner));
	if (!seen || !arrow)
		return seen;
	for (i = 0; i < scene->nodes; i++)
		if (is_word_of(&scene->frame[scene->node[i].frame].frame, inner, strlen(inner)) &&
		    stack_has(scene, (uint32_t)i, word))
			return 1;
	return 0;
}

/* Whether the frame contains the word, with `depth` Python functions inside of it and at most `most` allowed. "NAME >" allows any depth. */
static int is_in(const struct callstack_frame *frame, const char *word, uint32_t depth, uint32_t most)
{
	size_t size = strlen(word);
	int is_any = size > 2 && !strcmp(word + size - 2, " >");
	const char *at;

	size -= is_any ? 2 : 0;
	if (size > 3 && !memcmp(word + size - 3, ".py", 3))
		return !depth && ends_with(frame->file, word, size, '/');
	for (at = frame->function; *at && (depth < most || is_any); at++)
		if (!strncmp(at, word, size))
			return 1;
	return 0;
}

int stack_is_within(const struct scene *scene, uint32_t node, const char *const *word, uint32_t words, uint32_t depth)
{
	const struct callstack_frame *frame;
	uint32_t inside = 0, i;

	for (; node != SCENE_NONE; node = scene->node[node].parent) {
		frame = &scene->frame[scene->node[node].frame].frame;
		for (i = 0; i < words; i++)
			if (is_in(frame, word[i], inside, depth))
				return 1;
		inside += !frame->native && !frame->elided;
	}
	return 0;
}

uint64_t stack_inner_tags(const struct scene *scene, uint32_t node, uint32_t depth)
{
	uint64_t tags = 0;

	for (; depth && node != SCENE_NONE; depth--, node = scene->node[node].parent)
		tags |= scene->frame[scene->node[node].frame].tags;
	return tags;
}
