/*
 * figures.h - the figures of a run's memory over its steps, computed once. memana growth, steps, phases, check and
 * retained print parts of these figures, and have no other source for growth.
 */
#ifndef MEMANA_FIGURES_H
#define MEMANA_FIGURES_H

#include <stddef.h>
#include "base/column.h"
#include "database/db.h"
#include "growth.h"
#include "query_phases.h"
#include "query_steps.h"
#include "report/answer.h"

/* The bytes that one phase keeps on one device, over all processes. */
struct growth_phase {
	int64_t number; /* number of the device */
	char kind[8];
	const char *phase;    /* static */
	uint64_t bytes, each; /* sums over the places that grow in the phase */
	uint32_t places;
	int64_t in_use; /* bytes allocated in the phase and in use at the end of the last step of each process */
	int64_t peak;   /* peak of the device during the phase; COLUMN_NONE: the phase did not run */
};

enum growth_part {
	GROWTH_STEPS = 1,
	GROWTH_PHASES = 2,
	GROWTH_PEAKS = 8,  /* only the peaks of the phases */
	GROWTH_STACKS = 4, /* stacks of the places that grow */
};

struct growth_figures {
	struct growth growth; /* always filled: whether memory grows, and the places that keep it */
	struct steps steps;
	struct phases phases;
	struct growth_phase *phase; /* by device, then by growth, largest first; of both parts */
	size_t phase_count;
};

extern const struct column_table growth_phase_columns;

/*
 * Loads these parts (enum growth_part) from a database. Returns 0 or -MT_E_x. The caller releases `figures` in any
 * case.
 */
int growth_figures_load(struct growth_figures *figures, struct db *db, int parts);
void growth_figures_release(struct growth_figures *figures);

/* The lane that grows fastest; if none grows, the lane with the highest peak. NULL: no step ended. */
const struct steps_lane *growth_worst_lane(const struct growth_figures *figures);

/* 1: lane `one` has the higher peak or, if both peaks are equal, made the peak. */
int growth_peaks_higher(const struct steps_lane *one, const struct steps_lane *two);

/*
 * Says in one or two sentences whether memory grows: growth_say, or the state at the end of the worst lane's last step.
 * Without steps, says the reason. Never empty.
 */
void growth_say_state(struct sentence *sentence, const struct growth_figures *figures);

/* The bytes of pools that sleep at the end of the last step of the worst lane, if there are any. */
void growth_say_asleep(struct sentence *sentence, const struct growth_figures *figures);

/* ---- steps whose events a flight recorder (--keep) dropped ---- */

/*
 * The recorder keeps a record for each such step, or one for several. Places, categories and phases of their memory are
 * unknown.
 */
struct let_go_row {
	int64_t step, steps;           /* last step of the row, and number of steps */
	int64_t time;                  /* ns: end of the last step */
	uint64_t peak;                 /* most bytes that the process held in these steps */
	char phase[24];                /* phase of the event that made the peak */
	uint64_t held, slack, tensors; /* at the end of the last step */
};

struct let_go {
	struct let_go_row *row; /* by step */
	size_t count, room;
};

extern const struct column_table let_go_columns;

/* Steps of the process (id) on the device (id). 0 or -MT_E_x. Release in any case. */
int let_go_load(struct let_go *let_go, struct db *db, int64_t process, int64_t device);
void let_go_release(struct let_go *let_go);

/* Joins rows until there are at most `most`. */
void let_go_thin(struct let_go *let_go, size_t most);

/* ---- commands that print parts of the figures: memana growth, steps, phases ---- */

/* Both functions: 0 or -MT_E_x. */
struct growth_answer {
	int parts;              /* enum growth_part: parts that the functions print */
	int64_t limit;          /* most rows of lists in text */
	const char *limit_help; /* help of -n (changes the limit); NULL: no -n */
	int (*text)(const struct text *text, struct db *db, const struct growth_figures *figures,
		    const struct answer_options *options);
	int (*json)(struct doc *doc, struct db *db, const struct growth_figures *figures,
		    const struct answer_options *options);
};

/* Runs such a command. Returns the exit code. */
int growth_answer_command(int argc, char **argv, const struct growth_answer *answer);

#endif
