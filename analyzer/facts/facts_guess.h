/*
 * facts_guess.h - what a value of a row is likely to be, from what facts say anyway: the file has the difference, most often 0.
 *
 *     times   one event has one time, and comes in many rows: a table of times by event
 *     bytes   what outlived its step (engine/outlived.h), for allocations of the same place and steps, and for what was held at ends of steps
 *     peaks   are as far above what is held as in the step before
 *
 * No guess needs to be right. Times of events that the table lacks are guessed as those of the event before in the table.
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

/* Some events of the table that follow each other, as they are kept in memory: before the first. */
struct facts_moments_place {
	uint64_t first; /* seq of the first */
	struct facts_moment before;
	const uint8_t *seqs, *highs; /* in the bytes */
};

struct facts_moments_block;

/* Zeroed: it knows nothing. */
struct facts_guess {
	struct outlived_row *outlived;     /* by site, step and end */
	uint32_t outlives, newest;         /* newest: row that was found last */
	uint8_t *line;                     /* by site, from 0: of levels */
	uint8_t known[FACTS_LINES];        /* by line: its number from 1; 0: it has no rows */
	uint32_t sites, lines, first_step; /* lines: with rows */
	uint64_t steps, *level;     /* by number of line and step: bytes that outlived it; NULL: they are not known */
	struct facts_moment *noted; /* writing */
	size_t notes, note_room;
	uint64_t sieve;          /* writing: bits of a number of the event that are to be 0 */
	uint32_t moments, block; /* block: that was found last */
	const uint8_t *lows;     /* in the bytes, by moment */
	struct facts_moments_place *place;
	struct facts_moments_block *cache;
	uint8_t *own; /* the bytes that were written */
};

/* ---- writing: init, notes, write, and then the differences; release in any case ---- */

/* 0 or -MT_E_MEMORY. */
int facts_guess_init(struct facts_guess *guess, const struct analysis *analysis);
void facts_guess_release(struct facts_guess *guess);

/* Notes the times of rows. 0 or -MT_E_MEMORY. */
int facts_guess_note_lot(struct facts_guess *guess, uint32_t table, const uint64_t *cell, uint32_t rows);
int facts_guess_note_kept(struct facts_guess *guess, const struct kept_moment *moment);

/* After the notes. */
void facts_guess_write(struct facts_io *io, struct facts_guess *guess);

/* ---- reading: the bytes outlive the guess ---- */

void facts_guess_read(struct facts_io *io, struct facts_guess *guess);
void facts_guess_skip(struct facts_io *io);

/* Adds what outlived its step to the analysis, behind its state. `io` stays: facts_guess_read or facts_guess_skip follows. */
void facts_guess_outlived(struct facts_io *io, struct analysis *analysis);

/* ---- both ways ---- */

/* Rows of what outlived its step, by site, step and end. *row is NULL before it is read, and the caller's after. */
void facts_outlived(struct facts_io *io, struct outlived_row **row, uint32_t *rows);

enum facts_way { FACTS_AWAY, FACTS_BACK };

/* Values become differences, and differences values. `cell`: rows of the table, one after the other. */
void facts_guess_lot(struct facts_guess *guess, enum facts_way way, uint32_t table, uint64_t *cell, uint32_t rows);
void facts_guess_lives(struct facts_guess *guess, enum facts_way way, struct kept_life *life, uint32_t lives);

#endif
