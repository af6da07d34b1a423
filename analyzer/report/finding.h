/*
 * finding.h - what the reports retained, diff and frag share beside answer.h: rows of any question, places, stacks, and
 * why an answer failed.
 */
#ifndef MEMANA_FINDING_H
#define MEMANA_FINDING_H

#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

#define FINDING_BYTES_MAX ((int64_t)1 << 62) /* sums of two fit */

/* Calls `row` for every row of `sql`; a result other than 0 ends it and is handed on. 0, that result, or -MT_E_x. */
int finding_rows(struct db *db, const char *sql, int (*row)(void *context, const struct db_stmt *stmt), void *context);

/*
 * Makes the temporary table same_place (node, first_node): stacks of one place share first_node, the first of their nodes.
 * A stack without a place has no row. Does nothing where the table is there. 0 or -MT_E_x.
 */
int finding_same_places(struct db *db);

/* The place at which a stack allocates. Empty strings and 0: unknown. */
struct finding_place {
	char function[256], file[512], place[256];
	int64_t line;
};

/* `node`: a stack; 0: none. 0 or -MT_E_x. */
int finding_place_of(struct finding_place *place, struct db *db, int64_t node);

#define FINDING_MODULE_MAX 256 /* bytes of a module's name */

/* The phase of a word, MT_PHASE_OTHER for one that is none. */
uint32_t finding_phase(const char *word);

/* A number of a row; what lies outside [min, max], as only a damaged database has it, becomes the nearer of them. */
int64_t finding_int(const struct db_stmt *row, int column, int64_t min, int64_t max);

/* "forward_step (actor.py:312)"; "no stack was recorded". Fits a terminal. Returns `out`. */
const char *finding_place_words(char *out, size_t size, const struct finding_place *named);
const char *finding_place(char *out, size_t size, struct db *db, int64_t node);

/* "      1.2 GiB  words", broken to lines under the first word. */
void finding_line(const struct text *text, uint64_t bytes, const char *words);

/* The same with the colour of the phase that they are of before the bytes (text_phase_print). */
void finding_phase_line(const struct text *text, const char *phase, uint64_t bytes, const char *words);

/* Prints why `command` has no answer about `name`. The exit code. */
int finding_fail(const char *command, const char *name, struct db *db, int error);

#endif
