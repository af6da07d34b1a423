/* prompt.h - one line that a person types, in the status row: search, filter, SQL, file names. */
#ifndef MEMANA_TUI_PROMPT_H
#define MEMANA_TUI_PROMPT_H

#include <stddef.h>
#include "screen/draw/canvas.h"

#define PROMPT_TEXT_MAX 4096u
#define PROMPT_HISTORY 32u /* lines remembered, of all questions together */

enum prompt_result { PROMPT_GOES_ON, PROMPT_DONE, PROMPT_GIVEN_UP };

struct prompt {
	int open;
	char question[32]; /* "/", "filter: ", "SQL: " */
	char text[PROMPT_TEXT_MAX];
	size_t size, at; /* bytes of the text; bytes before the cursor (between characters) */
	char *history[PROMPT_HISTORY];
	unsigned histories, recalled;
};

void prompt_open(struct prompt *prompt, const char *question, const char *text);
void prompt_release(struct prompt *prompt);

/*
 * A key (request.h): characters, Backspace, Del, Left, Right, Home, End, ^U, ^W, Up and Down through the history,
 * Enter, Esc.
 */
enum prompt_result prompt_key(struct prompt *prompt, int key);

/* Draws the prompt over the row. The text scrolls to keep the cursor, a cell of style CHOSEN, in sight. */
void prompt_draw(const struct prompt *prompt, struct area row);

#endif
