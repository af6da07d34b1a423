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

/* X(NAME, SGR codes) - what parts of a report mean; how that looks is decided here. */
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

/* The destination of text and its limits. */
struct text {
	FILE *file;
	int colour;  /* a terminal, and NO_COLOR is not set; or as text_set_colour says */
	int colours; /* for phases: 256, 8 or 0 */
	int blocks;  /* a terminal that shows UTF-8 block characters */
	int columns; /* columns of a line; 0: TEXT_COLUMNS */
};

/* A line has the columns that COLUMNS says, else those of the terminal, between 60 and 200; elsewhere TEXT_COLUMNS. */
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

/* For the whole program, and stronger than NO_COLOR. Before text_init. */
void text_set_colour(enum text_when when);

/* `file` is a terminal, and a pager's pipe will take its place: text_init sees the terminal. For the whole program. */
void text_keep_terminal(FILE *file);

/*
 * The facts that the run at hand does not have. Traces of memrec say everything; of PyTorch's snapshots some have no
 * times, some not even a history. An unknown fact is left out of text and null in JSON, never a 0. One answer for the
 * whole program: whoever opens what was named sets it (command_open), before anything is printed.
 */
struct text_known {
	int snapshot; /* 1: some of it is a PyTorch snapshot, none of memrec's */
	int cut;      /* 1: of a snapshot's history the oldest events are gone */
	int times;    /* 0: times only order events */
	int history;  /* 0: only what was there at the end: neither phases nor steps */
};

extern struct text_known text_known; /* all known, until a caller restricts it */

/* "61.3 GiB", "512 B"; "12.4 s", "3.2 ms"; "42%", "0.3%"; "1,234,567". Into `out`, which is returned. */
const char *text_bytes(char out[TEXT_SIZE_MAX], uint64_t bytes);
const char *text_change(char out[TEXT_SIZE_MAX], int64_t bytes); /* "+1.5 GiB", "-3 B", "0 B" */
const char *text_time(char out[TEXT_SIZE_MAX], int64_t ns);
/* " at 12.4 s", for sentences; "" if times are not known. text_time is "-" then. */
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
 * The same, in the colour that the phase has on the screen; `phase` is a word of MT_PHASE_LIST, or the category of slack.
 * Without colours, and for other words, the bar is that of text_bar.
 */
void text_phase_bar(const struct text *text, const char *phase, uint64_t part, uint64_t whole, int width);

/* printf, of what a terminal may have: see memtrace/clean.h. text_say: to stdout. */
void text_print(const struct text *text, const char *format, ...) MT_PRINTF(2, 3);
void text_say(const char *format, ...) MT_PRINTF(1, 2);

/*
 * text_print of a text that begins with a blank, and that has the phase's colour (text_phase_bar) behind it. Words
 * stay legible on dark and on light; a colour that tells phases apart need not be.
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
 * Copies `from` so that it takes at most `columns` columns: what is harmful (memtrace/clean.h) becomes '?', what is
 * too long loses its beginning (`keep_end`, for paths) or its end, marked by "...". `out` has `size` bytes.
 */
const char *text_fit(char *out, size_t size, const char *from, size_t columns, int keep_end);

/* The part of a path after the last '/'. */
const char *text_base_name(const char *path);

/* A sentence or two, put together piece by piece. */

struct sentence {
	char text[2048]; /* a longer text is cut off */
	size_t size;
};

void sentence_say(struct sentence *sentence, const char *format, ...) MT_PRINTF(2, 3);

/* Words of unknown origin, made fit for a terminal and not longer than a line. */
void sentence_say_clean(struct sentence *sentence, const char *words);

/* How many columns of a terminal characters take, whatever the locale. */

/* A character fit to be shown, and its columns: 0 for one that sits on the one before it. */
struct columns_character {
	char text[5];
	int columns;
};

/* Takes the next character of `at`, which is not at its end; the bytes that it had. A harmful character becomes '?'. */
size_t columns_next(struct columns_character *out, const char *at);

/* Columns that the text takes. */
int columns_of(const char *text);

#endif
