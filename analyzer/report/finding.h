/*
 * finding.h - shared by retained, diff and frag, next to answer.h: rows of any question, places, stacks, and messages
 * for failures.
 */
#ifndef MEMANA_FINDING_H
#define MEMANA_FINDING_H

#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

#define FINDING_BYTES_MAX ((int64_t)1 << 62) /* largest number of bytes; two of them can be added */

/* Calls `row` for every row of `sql`. A result other than 0 ends the question. Returns 0, this result, or -MT_E_x. */
int finding_rows(struct db *db, const char *sql, int (*row)(void *context, const struct db_stmt *stmt), void *context);

/*
 * Makes the temporary table same_place (node, first_node). Stacks of one place share first_node, the lowest of their
 * nodes. A stack without a place has no row. Does nothing if the table exists. Returns 0 or -MT_E_x.
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

/* The phase with this word; MT_PHASE_OTHER: no such word. */
uint32_t finding_phase(const char *word);

/* A number of a row, clamped to [min, max]. Only a damaged database has numbers outside. */
int64_t finding_int(const struct db_stmt *row, int column, int64_t min, int64_t max);

/* "forward_step (actor.py:312)"; "no stack was recorded". Fits a terminal. Returns `out`. */
const char *finding_place_words(char *out, size_t size, const struct finding_place *named);
const char *finding_place(char *out, size_t size, struct db *db, int64_t node);

/* "      1.2 GiB  words", broken to lines under the first word. */
void finding_line(const struct text *text, uint64_t bytes, const char *words);

/* The same, with the phase's colour before the bytes (text_phase_print). */
void finding_phase_line(const struct text *text, const char *phase, uint64_t bytes, const char *words);

/* Prints why `command` has no answer about `name`. Returns the exit code. */
int finding_fail(const char *command, const char *name, struct db *db, int error);

#endif
