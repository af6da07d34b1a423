/*
 * diff.h - compares two runs. Rows of both runs are joined by device and name. A place has function, file name and phase as its name, because lines
 * move and folders differ.
 */
#ifndef MEMANA_DIFF_H
#define MEMANA_DIFF_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

/* The compared parts: X(NAME, key in JSON, title, decides). decides 1: a difference makes the answer "different". */
#define DIFF_LIST(X)                                                           \
	X(DEVICE, "devices", "Peak of each device", 1)                         \
	X(PHASE_PEAK, "phase_peaks", "The most while each phase ran", 1)       \
	X(STEP_PEAK, "step_peaks", "Peak of each step that ended in both", 1)  \
	X(PHASE, "by_phase", "At the peak, by the phase that allocated it", 0) \
	X(CATEGORY, "by_category", "At the peak, by what it is", 0)            \
	X(OWNER, "by_owner", "At the peak, by who asked for it", 1)            \
	X(MODULE, "by_module", "At the peak, by module", 0)                    \
	X(SITE, "sites", "At the peak, by place", 0)

enum diff_kind {
#define DIFF_ENUM(name, key, title, decides) DIFF_##name,
	DIFF_LIST(DIFF_ENUM)
#undef DIFF_ENUM
		DIFF_COUNT
};

struct diff_figure {
	int in;                /* 0: the run does not have the row */
	uint64_t bytes, count; /* count: number of allocations */
};

struct diff_row {
	int64_t device;    /* number of the device */
	char *key, *label; /* label: words for people, from the second run if it has the row */
	const char *phase; /* DIFF_SITE: a static word; slack and other kinds: NULL */
	int allocations;   /* 1: all allocations are of one kind: bytes / count has a meaning */
	struct diff_figure a, b;
};

struct diff_table {
	struct diff_row *row; /* largest change first */
	size_t count, room;
};

struct diff {
	struct diff_table table[DIFF_COUNT];
	struct {
		uint64_t steps, batches; /* largest number: ended steps of a process; micro-batches of a step */
		struct sentence lost;    /* answer_say_lost; "": nothing is lost */
	} a, b;
};

/* Compares the runs. Returns 0 or -MT_E_x. Release after an error, too. */
int diff_load(struct diff *diff, struct db *a, struct db *b);
void diff_release(struct diff *diff);

/* Whether the bytes differ by more than 1 MiB, and by more than `permille` of the larger number. */
int diff_differs(const struct diff_row *row, uint64_t permille);

/* Returns 2: the second run has as many allocations with twice the bytes; -2: with half the bytes; 0: neither. */
int diff_factor(const struct diff_row *row);

/* Returns the bytes of the second run minus the bytes of the first run. */
int64_t diff_change(const struct diff_row *row);

#endif
