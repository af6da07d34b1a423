/* finding.h - helpers that retained, diff and frag share, in addition to answer.h: places, stacks, and messages. */
#ifndef MEMANA_FINDING_H
#define MEMANA_FINDING_H

#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

#define FINDING_BYTES_MAX ((int64_t)1 << 62) /* bytes: a larger number is damage; two of these can be added */

/*
 * Makes the temporary table same_place (node, first_node) unless it exists. Stacks of one place have the same first_node, the lowest of their nodes.
 * A stack without a place has no row. Returns 0 or -MT_E_x.
 */
int finding_same_places(struct db *db);

/* The place that a stack allocates at. "" and 0: unknown. */
struct finding_place {
	char function[256], file[512], place[256];
	int64_t line;
};

/* Finds the place of stack `node`; 0: no stack. Returns 0 or -MT_E_x. */
int finding_place_of(struct finding_place *place, struct db *db, int64_t node);

#define FINDING_MODULE_MAX 256 /* bytes of a module's name, with NUL */

/* Returns the phase with this word; MT_PHASE_OTHER for any other word. */
uint32_t finding_phase(const char *word);

/* Returns a number of a row, clamped to [min, max]: only a damaged database has other numbers. */
int64_t finding_int(const struct db_stmt *row, int column, int64_t min, int64_t max);

/* Writes "forward_step (actor.py:312)", or "code without a stack", safe for a terminal. Returns `out`. */
const char *finding_place_words(char *out, size_t size, const struct finding_place *named);
const char *finding_place(char *out, size_t size, struct db *db, int64_t node);

/* Prints " 1.2 GiB words", broken into lines that begin below the first word. */
void finding_line(const struct text *text, uint64_t bytes, const char *words);

/* As finding_line, with the phase's colour before the bytes (text_phase_print). */
void finding_phase_line(const struct text *text, const char *phase, uint64_t bytes, const char *words);

/* Prints the reason why `command` has no answer about `name`. Returns the exit status. */
int finding_fail(const char *command, const char *name, struct db *db, int error);

#endif
