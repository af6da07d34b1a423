/* why.c - the built-in data about causes, and the words of the lists in why.h. */
#include "memtrace/why.h"

#include <stdio.h>
#include <stdlib.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "why_impl.h"

/* The files, in the order in which they are read. X(symbol, name) */
#define WHY_FILE_LIST(X)      \
	X(why_tags, "tags")   \
	X(why_needs, "needs") \
	X(why_fixes, "fixes")

/* Embeds the files unchanged into the program. Paths are relative to the source root, where make runs. */
#define EMBED(symbol, name)                                                        \
	__asm__(".pushsection .rodata\n" #symbol "_text:\n"                        \
		"\t.incbin \"formats/why/" name ".yaml\"\n" #symbol "_text_end:\n" \
		"\t.byte 0\n"                                                      \
		"\t.popsection\n");                                                \
	extern const char symbol##_text[] __attribute__((visibility("hidden")));   \
	extern const char symbol##_text_end[] __attribute__((visibility("hidden")));

WHY_FILE_LIST(EMBED)

static int read_builtin(struct mt_why *why, char *message, size_t message_size)
{
#define ENTRY(symbol, name) { &symbol##_file, symbol##_text, symbol##_text_end },
	static const struct {
		const struct why_file *file;
		const char *text, *end;
	} all[] = { WHY_FILE_LIST(ENTRY) };
#undef ENTRY
	size_t i;
	int error = 0;

	for (i = 0; i < MT_ARRAY_SIZE(all) && !error; i++)
		error = why_read(why, all[i].file, all[i].text, (size_t)(all[i].end - all[i].text), message,
				 message_size);
	return error;
}

int mt_why_new(struct mt_why **out, char *message, size_t message_size)
{
	struct mt_why *why = calloc(1, sizeof(*why));
	int error;

	*out = NULL;
	if (!why) {
		snprintf(message, message_size, "%s", mt_strerror(MT_E_MEMORY));
		return -MT_E_MEMORY;
	}
	error = read_builtin(why, message, message_size);
	if (error)
		mt_why_free(why);
	else
		*out = why;
	return error;
}

void mt_why_free(struct mt_why *why)
{
	size_t i;
	int p;

	if (!why)
		return;
	for (i = 0; i < why->tags; i++)
		for (p = 0; p < WHY_PATTERNS; p++)
			pattern_free(why->tag[i].pattern[p]);
	mt_texts_free(&why->texts);
	free(why->tag);
	free(why->fix);
	free(why);
}

const char *mt_cause_word(enum mt_cause cause)
{
	return why_cause_words[cause];
}

const char *mt_action_word(enum mt_action action)
{
	return why_action_words[action];
}

const char *mt_need_word(enum mt_need need)
{
	return why_need_words[need];
}
