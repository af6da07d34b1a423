/*
 * text.h - words for people: sizes, times, bars, colours, and strings of unknown origin made fit for a terminal.
 */
#ifndef MEMANA_TEXT_H
#define MEMANA_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "memtrace/base.h"

#define TEXT_COLUMNS 80  /* default columns of a line */
#define TEXT_SIZE_MAX 32 /* bytes that any of the small formats needs, with NUL */

/* X(NAME, SGR codes): the meanings of parts of a report, and their look. */
#define TEXT_STYLE_LIST(X) \
	X(PLAIN, "0")      \
	X(BOLD, "1")       \
	X(DIM, "2")        \
	X(HEAD, "1;36")    \
	X(GOOD, "32")      \
	X(WARN, "33")      \
	X(BAD, "1;31")     \
	X(BAR, "2") /* a bar without a phase: phases have colours of their own */

enum text_style {
#define TEXT_STYLE_ENUM(name, codes) TEXT_##name,
	TEXT_STYLE_LIST(TEXT_STYLE_ENUM)
#undef TEXT_STYLE_ENUM
};

/* The destination of a text, and its limits. */
struct text {
	FILE *file;
	int colour;  /* 1: a terminal without NO_COLOR; or as text_set_colour says */
	int colours; /* for phases: 256, 8 or 0 */
	int blocks;  /* a terminal that shows UTF-8 block characters */
	int columns; /* columns of a line; 0: TEXT_COLUMNS */
};

/* Sets up the text. A line has the columns of COLUMNS, else those of the terminal (60 to 200), else TEXT_COLUMNS. */
void text_init(struct text *text, FILE *file);

/* Whether text has colours. X(NAME, word of --color) */
#define TEXT_WHEN_LIST(X)   \
	X(AUTO, "auto")     \
	X(ALWAYS, "always") \
	X(NEVER, "never")

enum text_when {
#define TEXT_WHEN_ENUM(name, word) TEXT_##name,
	TEXT_WHEN_LIST(TEXT_WHEN_ENUM)
#undef TEXT_WHEN_ENUM
};

/* For the whole program; overrides NO_COLOR. Call it before text_init. */
void text_set_colour(enum text_when when);

/* Keeps the terminal `file` for text_init, before a pager's pipe replaces it. For the whole program. */
void text_keep_terminal(FILE *file);

/*
 * Facts that may be missing in the run. Traces of memrec have all. Some snapshots of PyTorch have no times, or no
 * history. An unknown fact is left out of text, and is null in JSON, never 0. There is one answer for the whole
 * program: command_open sets it before any output.
 */
struct text_known {
	int snapshot; /* 1: a part is a PyTorch snapshot, no part is a trace of memrec */
	int cut;      /* 1: a snapshot lacks the oldest events of its history */
	int times;    /* 0: times only order events */
	int history;  /* 0: only the memory at the end: neither phases nor steps */
};

extern struct text_known text_known; /* all known, until a caller restricts it */

/* "61.3 GiB", "512 B"; "12.4 s", "3.2 ms"; "42%", "0.3%"; "1,234,567". Into `out`, which is returned. */
const char *text_bytes(char out[TEXT_SIZE_MAX], uint64_t bytes);
const char *text_change(char out[TEXT_SIZE_MAX], int64_t bytes); /* "+1.5 GiB", "-3 B", "0 B" */
const char *text_time(char out[TEXT_SIZE_MAX], int64_t ns);
/* " at 12.4 s", for sentences; "" if times are unknown. text_time is "-" then. */
const char *text_at(char out[TEXT_SIZE_MAX], int64_t ns);
const char *text_percent(char out[TEXT_SIZE_MAX], uint64_t part, uint64_t whole);
const char *text_number(char out[TEXT_SIZE_MAX], uint64_t number);

/* "1 event", "2 events", "2,000 events". */
const char *text_count(char *out, size_t size, uint64_t count, const char *noun);

/* "70GiB", "512 MiB", "1.5G", "1000000": units are powers of 1024. 0 or -MT_E_ARGUMENT. */
int text_parse_size(const char *text, uint64_t *bytes);

/* Switches the style; nothing without colour. End with TEXT_PLAIN. */
void text_style(const struct text *text, enum text_style style);

/* Two blanks and `part` of `whole` as a bar of at most `width` columns; nothing where it would be empty. */
void text_bar(const struct text *text, uint64_t part, uint64_t whole, int width);

/*
 * As text_bar, in the phase's colour of the screen. `phase` is a word of MT_PHASE_LIST, or the category of slack.
 * Without colours, and for other words, the bar is that of text_bar.
 */
void text_phase_bar(const struct text *text, const char *phase, uint64_t part, uint64_t whole, int width);

/* printf with harmful characters replaced, see memtrace/clean.h. text_say prints to stdout. */
void text_print(const struct text *text, const char *format, ...) MT_PRINTF(2, 3);
void text_say(const char *format, ...) MT_PRINTF(1, 2);

/*
 * text_print of a text that begins with a blank; the blank gets the phase's colour as background (text_phase_bar). A
 * colour of letters could be illegible on a dark or a light terminal.
 */
void text_phase_print(const struct text *text, const char *phase, const char *format, ...) MT_PRINTF(3, 4);

/* The columns of a line. */
int text_columns(const struct text *text);

/* Prints `words` broken at blanks to lines of at most text_columns(), each after `indent` blanks; the first begins at
 * `column`. */
void text_wrap(const struct text *text, int indent, int column, const char *words);

/* A name as a word of a command to paste (memtrace/shell.h). Static, until the thread's next call; "" if it is too long. */
const char *text_word(const char *name);

/*
 * Copies `from` into at most `columns` columns. Harmful characters (memtrace/clean.h) become '?'. A text that is too
 * long loses its beginning (`keep_end`, for paths) or its end, marked by "...". `out` has `size` bytes.
 */
const char *text_fit(char *out, size_t size, const char *from, size_t columns, int keep_end);

/* The part of a path after the last '/'. */
const char *text_base_name(const char *path);

/* A sentence or two, built from pieces. */

struct sentence {
	char text[2048]; /* a longer text is cut off */
	size_t size;
};

void sentence_say(struct sentence *sentence, const char *format, ...) MT_PRINTF(2, 3);

/* Words of unknown origin, made fit for a terminal and not longer than a line. */
void sentence_say_clean(struct sentence *sentence, const char *words);

/* Columns of characters on a terminal, for any locale. */

/* A character that is safe to show, and its columns; 0 for one that combines with the one before. */
struct columns_character {
	char text[5];
	int columns;
};

/*
 * Takes the next character of `at` (not at its end). Returns the bytes of the character. A harmful character becomes
 * '?'.
 */
size_t columns_next(struct columns_character *out, const char *at);

/* Columns that the text takes. */
int columns_of(const char *text);

#endif
