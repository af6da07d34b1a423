/*
 * progress.h - shows one line on the terminal while a long input is read. A pipe, a file and a short input get no line.
 *
 *     memana: train.rank3.zst 42% 9.8 M events/s
 */
#ifndef MEMANA_PROGRESS_H
#define MEMANA_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct progress {
	FILE *file;           /* NULL: no line is shown */
	const char *name;     /* name of the input */
	uint64_t total, done; /* bytes */
	uint64_t events;
	int64_t start, shown; /* ns; shown 0: no line was shown so far */
};

/* `file`: gets the line if it is a terminal (stderr); NULL: no line. `name` must live as long as the progress. `now`: CLOCK_MONOTONIC, ns. */
void progress_init(struct progress *progress, FILE *file, const char *name, uint64_t total, int64_t now);

/* Adds input that was read. Shows the line after one second, then a few times each second. */
void progress_add(struct progress *progress, uint64_t bytes, uint64_t events, int64_t now);

/* Removes the line. */
void progress_release(struct progress *progress);

int64_t progress_now(void);

#endif
