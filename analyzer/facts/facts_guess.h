/*
 * facts_guess.h - guesses the values of rows from other parts of the facts. The file stores the difference, which is most often 0.
 *
 *     times   one event is in many rows: a table has its time once
 *     bytes   from memory that outlived its step (engine/outlived.h): allocations of the same place and steps, and bytes held at ends of steps
 *     peaks   as far above the held bytes as in the step before
 *
 * A wrong guess costs bytes only. An event that is not in the table gets the time of the nearest earlier event of the table.
 */
#ifndef MEMANA_FACTS_GUESS_H
#define MEMANA_FACTS_GUESS_H

#include "engine/analysis.h"
#include "facts_io.h"
#include "rows/kept.h"
#include "rows/load_table.h"

#define FACTS_LINES (2u * MT_LEDGER_DEVICES) /* tensors and driver memory of each device */

struct facts_moment {
	uint64_t seq, time;
};

/* A block of successive events of the table: the state before its first event. */
struct facts_moments_place {
	uint64_t first; /* seq of the first */
	struct facts_moment before;
	const uint8_t *seqs, *highs; /* positions in the bytes */
};

struct facts_moments_block;

/* Zeroed: guesses 0. */
struct facts_guess {
	struct outlived_row *outlived;     /* by site, step and end */
	uint32_t outlives, newest;         /* newest: the row of the last search */
	uint8_t *line;                     /* by site, from 0: its line of levels */
	uint8_t known[FACTS_LINES];        /* by line: its number from 1; 0: a line without rows */
	uint32_t sites, lines, first_step; /* lines: number of lines with rows */
	uint64_t steps, *level;            /* by line number and step: bytes that outlived the step; NULL: unknown */
	struct facts_moment *noted;        /* writing */
	size_t notes, note_room;
	uint64_t sieve;          /* writing: an event is noted if these bits of its hash are 0 */
	uint32_t moments, block; /* block: the one of the last search */
	const uint8_t *lows;     /* by moment; a position in the bytes */
	struct facts_moments_place *place;
	struct facts_moments_block *cache;
	uint8_t *own; /* writing: the bytes of the section */
};

/* ---- writing: init, notes, write, and then the differences; release in any case ---- */

/* 0 or -MT_E_MEMORY. */
int facts_guess_init(struct facts_guess *guess, const struct analysis *analysis);
void facts_guess_release(struct facts_guess *guess);

/* Notes the times of a lot's rows. 0 or -MT_E_MEMORY. */
int facts_guess_note_lot(struct facts_guess *guess, uint32_t table, const uint64_t *cell, uint32_t rows);
int facts_guess_note_kept(struct facts_guess *guess, const struct kept_moment *moment);

/* Writes the section, after all notes. */
void facts_guess_write(struct facts_io *io, struct facts_guess *guess);

/* ---- reading: the bytes outlive the guess ---- */

void facts_guess_read(struct facts_io *io, struct facts_guess *guess);
void facts_guess_skip(struct facts_io *io);

/* Reads the memory that outlived its step into the analysis. `io` does not move: facts_guess_read or facts_guess_skip follows. */
void facts_guess_outlived(struct facts_io *io, struct analysis *analysis);

/* ---- both ways ---- */

/* Writes or reads the rows of memory that outlived its step, by site, step and end. Reading: *row must be NULL, and the caller frees it. */
void facts_outlived(struct facts_io *io, struct outlived_row **row, uint32_t *rows);

enum facts_way { FACTS_AWAY, FACTS_BACK };

/* Turns values into differences when writing, and back when reading. `cell`: rows of the table, one after the other. */
void facts_guess_lot(struct facts_guess *guess, enum facts_way way, uint32_t table, uint64_t *cell, uint32_t rows);
void facts_guess_lives(struct facts_guess *guess, enum facts_way way, struct kept_life *life, uint32_t lives);

#endif
