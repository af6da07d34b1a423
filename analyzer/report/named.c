/* named.c - writes the traces of a command line as words of the next command that a report proposes. */
#include "named.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/shell.h"
#include "source/folder.h"

#define WORDS_SIZE 8192u
#define NAMES_SHORT 3u /* more names than this are shortened */

static size_t folder_length(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? (size_t)(slash + 1 - name) : 0;
}

/* The beginning and the end that all names share. */
struct shared {
	size_t head, tail; /* bytes; the head includes the folder */
	size_t shortest;
};

static void share(struct shared *shared, const char *first, const char *name)
{
	size_t size = strlen(name), whole = strlen(first), same = 0;

	while (same < shared->head && name[same] == first[same])
		same++;
	shared->head = same;
	for (same = 0; same < shared->tail && same < size && name[size - 1 - same] == first[whole - 1 - same];)
		same++;
	shared->tail = same;
	if (size < shared->shortest)
		shared->shortest = size;
}

static int matches(const struct shared *shared, const char *first, const char *name)
{
	size_t size = strlen(name);

	return size >= shared->head + shared->tail && !strncmp(name, first, shared->head) &&
	       !strcmp(name + size - shared->tail, first + strlen(first) - shared->tail);
}

/* Returns the number of files in the folder of `first` that match "HEAD*TAIL". */
static uint32_t count_files(const struct shared *shared, const char *first, const char *path)
{
	size_t skip = folder_length(first) ? 0 : strlen("./");
	struct folder folder;
	uint32_t i, count = 0;

	if (!folder_list(&folder, path))
		for (i = 0; i < folder.count; i++)
			count += matches(shared, first, folder.path[i] + skip) != 0;
	folder_release(&folder);
	return count;
}

/* Writes "HEAD*TAIL" if it matches exactly these names. Returns 1; 0: it does not. */
static int write_pattern(char *words, char *const *names, uint32_t count)
{
	struct shared shared = { strlen(names[0]), strlen(names[0]), strlen(names[0]) };
	size_t folder = folder_length(names[0]);
	char text[WORDS_SIZE / 20], path[WORDS_SIZE / 20], word[WORDS_SIZE / 2];
	uint32_t i;

	for (i = 1; i < count; i++)
		share(&shared, names[0], names[i]);
	if (shared.head + shared.tail > shared.shortest) /* "trace*.zst" would match trace.zst, too */
		shared.head = shared.tail < shared.shortest ? shared.shortest - shared.tail : 0;
	while (shared.tail &&
	       names[0][strlen(names[0]) - shared.tail] == '-') /* a pattern that begins with '-' would be an option */
		shared.tail--;
	if (shared.head < folder || shared.head >= sizeof(text) || folder + 2 >= sizeof(path))
		return 0;
	for (i = 0; i < count; i++)
		if (folder_length(names[i]) != folder)
			return 0;
	snprintf(path, sizeof(path), "%.*s", folder ? (int)folder - (folder > 1) : 1, folder ? names[0] : ".");
	if (count_files(&shared, names[0], path) != count)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)shared.head, names[0]);
	snprintf(words, WORDS_SIZE, "%s*", *text ? mt_shell_word(word, sizeof(word), text) : "");
	if (shared.tail)
		strncat(words, mt_shell_word(word, sizeof(word), names[0] + strlen(names[0]) - shared.tail),
			WORDS_SIZE - 1 - strlen(words));
	return 1;
}

/* Writes all names. Returns 1; 0: they do not fit. */
static int write_all(char *words, char *const *names, uint32_t count)
{
	char word[WORDS_SIZE];
	size_t used = 0, size;
	uint32_t i;

	for (i = 0; i < count; i++) {
		size = strlen(mt_shell_word(word, sizeof(word), names[i]));
		if (!size || used + size + 2 > WORDS_SIZE)
			return 0;
		used += (size_t)snprintf(words + used, WORDS_SIZE - used, "%s%s", i ? " " : "", word);
	}
	return 1;
}

const char *named_words(char *const *names, uint32_t count)
{
	static __thread char words[WORDS_SIZE];

	if ((count > NAMES_SHORT && write_pattern(words, names, count)) || write_all(words, names, count))
		return words;
	return "TRACE...";
}
