#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include "text.h"

void sentence_say(struct sentence *sentence, const char *format, ...)
{
	size_t room = sizeof(sentence->text) - sentence->size;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(sentence->text + sentence->size, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		sentence->size += (size_t)length < room ? (size_t)length : room - 1;
}

void sentence_say_clean(struct sentence *sentence, const char *words)
{
	char clean[256];

	sentence_say(sentence, "%s", text_fit(clean, sizeof(clean), words, 60, 0));
}
