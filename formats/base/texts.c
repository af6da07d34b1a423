#include "memtrace/texts.h"

#include <stdlib.h>
#include <string.h>

struct mt_text {
	struct mt_text *next;
	char text[];
};

char *mt_texts_keep(struct mt_text **texts, const char *text, size_t size)
{
	struct mt_text *kept = malloc(sizeof(*kept) + size + 1);

	if (!kept)
		return NULL;
	memcpy(kept->text, text, size);
	kept->text[size] = '\0';
	kept->next = *texts;
	*texts = kept;
	return kept->text;
}

void mt_texts_free(struct mt_text **texts)
{
	struct mt_text *text;

	while ((text = *texts)) {
		*texts = text->next;
		free(text);
	}
}
