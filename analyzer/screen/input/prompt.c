#include "prompt.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "request.h"

void prompt_open(struct prompt *prompt, const char *question, const char *text)
{
	prompt->open = 1;
	mt_copy_text(prompt->question, sizeof(prompt->question), question);
	mt_copy_text(prompt->text, sizeof(prompt->text), text);
	prompt->size = prompt->at = strlen(prompt->text);
	prompt->recalled = prompt->histories;
}

void prompt_release(struct prompt *prompt)
{
	unsigned i;

	for (i = 0; i < prompt->histories; i++)
		free(prompt->history[i]);
	memset(prompt, 0, sizeof(*prompt));
}

/* ---- characters: the text is UTF-8 ---- */

static int continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t before(const struct prompt *prompt, size_t at)
{
	while (at && continues(prompt->text[--at]))
		;
	return at;
}

static size_t after(const struct prompt *prompt, size_t at)
{
	if (at < prompt->size)
		at++;
	while (at < prompt->size && continues(prompt->text[at]))
		at++;
	return at;
}

/* Takes out [from, to). The cursor is at `from` then. */
static void cut(struct prompt *prompt, size_t from, size_t to)
{
	memmove(prompt->text + from, prompt->text + to, prompt->size - to + 1);
	prompt->size -= to - from;
	prompt->at = from;
}

static void insert(struct prompt *prompt, int key)
{
	char bytes[4];
	size_t size = 0;

	if (key < 0x80)
		bytes[size++] = (char)key;
	else if (key < 0x800)
		bytes[size++] = (char)(0xc0 | key >> 6);
	else if (key < 0x10000)
		bytes[size++] = (char)(0xe0 | key >> 12);
	else
		bytes[size++] = (char)(0xf0 | key >> 18);
	if (key >= 0x10000)
		bytes[size++] = (char)(0x80 | (key >> 12 & 0x3f));
	if (key >= 0x800)
		bytes[size++] = (char)(0x80 | (key >> 6 & 0x3f));
	if (key >= 0x80)
		bytes[size++] = (char)(0x80 | (key & 0x3f));
	if (prompt->size + size >= sizeof(prompt->text))
		return;
	memmove(prompt->text + prompt->at + size, prompt->text + prompt->at, prompt->size - prompt->at + 1);
	memcpy(prompt->text + prompt->at, bytes, size);
	prompt->size += size;
	prompt->at += size;
}

static size_t word_before(const struct prompt *prompt)
{
	size_t at = prompt->at;

	while (at && prompt->text[at - 1] == ' ')
		at--;
	while (at && prompt->text[at - 1] != ' ')
		at--;
	return at;
}

/* ---- history ---- */

/* Remembers the line, and drops the oldest one. Without memory the line is not remembered. */
static void remember(struct prompt *prompt)
{
	char *line;

	if (!prompt->size || (prompt->histories && !strcmp(prompt->history[prompt->histories - 1], prompt->text)))
		return;
	line = strdup(prompt->text);
	if (!line)
		return;
	if (prompt->histories == PROMPT_HISTORY) {
		free(prompt->history[0]);
		memmove(prompt->history, prompt->history + 1, sizeof(prompt->history) - sizeof(prompt->history[0]));
		prompt->histories--;
	}
	prompt->history[prompt->histories++] = line;
}

static void recall(struct prompt *prompt, int step)
{
	if (step < 0 ? !prompt->recalled : prompt->recalled >= prompt->histories)
		return;
	prompt->recalled += (unsigned)step;
	mt_copy_text(prompt->text, sizeof(prompt->text),
		     prompt->recalled < prompt->histories ? prompt->history[prompt->recalled] : "");
	prompt->size = prompt->at = strlen(prompt->text);
}

/* ---- keys ---- */

static void edit(struct prompt *prompt, int key)
{
	switch (key) {
	case KEY_CODE_BACKSPACE:
		cut(prompt, before(prompt, prompt->at), prompt->at);
		break;
	case KEY_CODE_DELETE:
		cut(prompt, prompt->at, after(prompt, prompt->at));
		break;
	case KEY_CODE_LEFT:
		prompt->at = before(prompt, prompt->at);
		break;
	case KEY_CODE_RIGHT:
		prompt->at = after(prompt, prompt->at);
		break;
	case KEY_CODE_HOME:
		prompt->at = 0;
		break;
	case KEY_CODE_END:
		prompt->at = prompt->size;
		break;
	case KEY_CODE_UP:
		recall(prompt, -1);
		break;
	case KEY_CODE_DOWN:
		recall(prompt, 1);
		break;
	case 'U' - '@':
		cut(prompt, 0, prompt->at);
		break;
	case 'W' - '@':
		cut(prompt, word_before(prompt), prompt->at);
		break;
	default:
		if (key >= ' ' && key != 0x7f && key <= KEY_FIRST - 1)
			insert(prompt, key);
	}
}

enum prompt_result prompt_key(struct prompt *prompt, int key)
{
	if (key == KEY_CODE_ENTER) {
		remember(prompt);
		prompt->open = 0;
		return PROMPT_DONE;
	}
	if (key == KEY_CODE_ESCAPE || key == 'C' - '@') {
		prompt->open = 0;
		return PROMPT_GIVEN_UP;
	}
	edit(prompt, key);
	return PROMPT_GOES_ON;
}

void prompt_draw(const struct prompt *prompt, struct area row)
{
	char left[PROMPT_TEXT_MAX], at[8] = " ";
	size_t next = after(prompt, prompt->at), from = 0;
	struct area text;
	int x, columns;

	area_fill(row, " ", STYLE_PLAIN);
	x = area_text(row, 0, 0, STYLE_KEY, prompt->question);
	text = area_part(row, x, 0, row.width - x, 1);
	/* The text before the cursor loses its beginning until the cursor is visible. */
	mt_copy_text(left, sizeof(left), prompt->text);
	left[prompt->at] = '\0';
	for (columns = columns_of(left); columns >= text.width && from < prompt->at; columns = columns_of(left + from))
		from = after(prompt, from);
	x = area_text(text, 0, 0, STYLE_PLAIN, left + from);
	if (next > prompt->at && next - prompt->at < sizeof(at))
		mt_copy_text(at, next - prompt->at + 1, prompt->text + prompt->at);
	x = area_text(text, x, 0, STYLE_CHOSEN, at);
	area_text(text, x, 0, STYLE_PLAIN, prompt->text + next);
}
