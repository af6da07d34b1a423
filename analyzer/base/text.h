/* text.h - output for people: sizes, times, bars, colours, and safe forms of strings of unknown origin. */
#ifndef MEMANA_TEXT_H
#define MEMANA_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "memtrace/base.h"

#define TEXT_COLUMNS 80  /* default columns of a line */
#define TEXT_SIZE_MAX 32 /* bytes, with NUL, for any of the small formats */

/* X(NAME, SGR codes): the styles for the parts of a report. */
#define TEXT_STYLE_LIST(X) \
	X(PLAIN, "0")      \
	X(BOLD, "1")       \
	X(DIM, "2")        \
	X(HEAD, "1;36")    \
	X(GOOD, "32")      \
	X(WARN, "33")      \
	X(BAD, "1;31")     \
	X(BAR, "2") /* a bar without a phase */

enum text_style {
#define TEXT_STYLE_ENUM(name, codes) TEXT_##name,
	TEXT_STYLE_LIST(TEXT_STYLE_ENUM)
#undef TEXT_STYLE_ENUM
};

/* A destination of text, with its limits. */
struct text {
	FILE *file;
	int colour;  /* 1: colours: `file` is a terminal and NO_COLOR is not set, or text_set_colour says it */
	int colours; /* colours for phases: 256, 8 or 0 */
	int blocks;  /* 1: the terminal shows UTF-8 block characters */
	int columns; /* columns of a line; 0: TEXT_COLUMNS */
};

/* Sets up the text. A line has as many columns as COLUMNS says, else as the terminal has (60 to 200), else TEXT_COLUMNS. */
void text_init(struct text *text, FILE *file);

/* When text has colours. X(NAME, word of --color) */
#define TEXT_WHEN_LIST(X)   \
	X(AUTO, "auto")     \
	X(ALWAYS, "always") \
	X(NEVER, "never")

enum text_when {
#define TEXT_WHEN_ENUM(name, word) TEXT_##name,
	TEXT_WHEN_LIST(TEXT_WHEN_ENUM)
#undef TEXT_WHEN_ENUM
};

/* Sets this for the whole program, over NO_COLOR. Call it before text_init. */
void text_set_colour(enum text_when when);

/* Stores the terminal `file` for text_init, before a pager's pipe replaces it, for the whole program. */
void text_keep_terminal(FILE *file);

/*
 * Facts that a run can lack. Traces of memrec have all; some snapshots of PyTorch have no times or no history. An unknown fact is left out of text
 * and is null in JSON, never 0. command_open sets these for the whole program, before any output.
 */
struct text_known {
	int snapshot; /* 1: an input is a PyTorch snapshot, and none is a trace of memrec */
	int cut;      /* 1: the history of a snapshot lacks its oldest events */
	int times;    /* 0: times only give the order of events */
	int history;  /* 0: only the memory at the end is known, without phases and steps */
};

extern struct text_known text_known; /* 1 for all facts until command_open changes them */

/* Write "61.3 GiB", "512 B"; "12.4 s", "3.2 ms"; "42%", "0.3%"; "1,234,567" into `out`, and return it. */
const char *text_bytes(char out[TEXT_SIZE_MAX], uint64_t bytes);
const char *text_change(char out[TEXT_SIZE_MAX], int64_t bytes); /* "+1.5 GiB", "-3 B", "0 B" */
const char *text_time(char out[TEXT_SIZE_MAX], int64_t ns);
/* " at 12.4 s", for sentences; "" if times are unknown (text_time then writes "-"). */
const char *text_at(char out[TEXT_SIZE_MAX], int64_t ns);
const char *text_percent(char out[TEXT_SIZE_MAX], uint64_t part, uint64_t whole);
const char *text_number(char out[TEXT_SIZE_MAX], uint64_t number);

/* "1 event", "2 events", "2,000 events". */
const char *text_count(char *out, size_t size, uint64_t count, const char *noun);

/* Reads "70GiB", "512 MiB", "1.5G", "1000000": units are powers of 1024. Returns 0 or -MT_E_ARGUMENT. */
int text_parse_size(const char *text, uint64_t *bytes);

/* Switches the style, if text has colours. End it with TEXT_PLAIN. */
void text_style(const struct text *text, enum text_style style);

/*
 * Prints two blanks and a bar for `part` of `whole`, at most `width` columns wide; prints nothing for an empty bar. The bar has the screen's colour
 * of the phase if `phase` is a word of MT_PHASE_LIST or the category of slack, and the colour of bars otherwise.
 */
void text_phase_bar(const struct text *text, const char *phase, uint64_t part, uint64_t whole, int width);

/* Print as printf does, with harmful characters replaced (memtrace/clean.h). text_say prints to stdout. */
void text_print(const struct text *text, const char *format, ...) MT_PRINTF(2, 3);
void text_say(const char *format, ...) MT_PRINTF(1, 2);

/*
 * As text_print, for a text that begins with a blank. The blank gets the phase's colour as background: coloured letters can be illegible on a dark or
 * light terminal.
 */
void text_phase_print(const struct text *text, const char *phase, const char *format, ...) MT_PRINTF(3, 4);

/* Returns the columns of a line. */
int text_columns(const struct text *text);

/*
 * Prints `words` in lines of at most text_columns() columns, broken at blanks. Each line begins after `indent` blanks; the first one begins at
 * `column`.
 */
void text_wrap(const struct text *text, int indent, int column, const char *words);

/* Returns a name as one word of a command to paste (memtrace/shell.h); "": the name is too long. Valid until the thread's next call. */
const char *text_word(const char *name);

/*
 * Copies `from` into at most `columns` columns. Harmful characters (memtrace/clean.h) become '?'. If the text is too long, "..." replaces its
 * beginning (`keep_end`, for paths) or its end. `out` has `size` bytes.
 */
const char *text_fit(char *out, size_t size, const char *from, size_t columns, int keep_end);

/* Returns the part of a path after the last '/'. */
const char *text_base_name(const char *path);

/* A sentence, or a few, built from pieces. */

struct sentence {
	char text[2048]; /* longer text is cut */
	size_t size;
};

void sentence_say(struct sentence *sentence, const char *format, ...) MT_PRINTF(2, 3);

/* Adds words of unknown origin: safe for a terminal, and at most a line long. */
void sentence_say_clean(struct sentence *sentence, const char *words);

/* The columns of characters on a terminal, for any locale. */

/* A character that can be shown, and its columns; 0: it combines with the one before it. */
struct columns_character {
	char text[5];
	int columns;
};

/* Takes the next character of `at`. `at` is not at the end of its text. A harmful character becomes '?'. Returns the bytes that were taken. */
size_t columns_next(struct columns_character *out, const char *at);

/* Returns the columns that the text takes. */
int columns_of(const char *text);

#endif
