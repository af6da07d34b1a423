/*
 * figures.h - how the memory of a run changes over its steps, computed once. memana growth, steps, phases, check and retained print parts of this,
 * and have no other source for growth.
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

/* The bytes that a phase keeps on a device, over all processes. */
struct growth_phase {
	int64_t number; /* number of the device */
	char kind[8];
	const char *phase;    /* static */
	uint64_t bytes, each; /* sums of the places that grow in the phase */
	uint32_t places;
	int64_t in_use; /* bytes from the phase that are in use at the end of each process's last step */
	int64_t peak;   /* peak of the device during the phase; COLUMN_NONE: the phase did not run */
};

enum growth_part {
	GROWTH_STEPS = 1,
	GROWTH_PHASES = 2,
	GROWTH_PEAKS = 8,  /* only the peaks of phases */
	GROWTH_STACKS = 4, /* the stacks of places that grow */
};

struct growth_figures {
	struct growth growth; /* always filled: whether memory grows, and where */
	struct steps steps;
	struct phases phases;
	struct growth_phase *phase; /* sorted by device, then by growth, largest first; needs two of the parts */
	size_t phase_count;
	struct sentence lost; /* answer_say_lost; "": nothing is lost */
};

extern const struct column_table growth_phase_columns;

/* Loads these parts (enum growth_part) from a database. Returns 0 or -MT_E_x. The caller releases `figures`, also after an error. */
int growth_figures_load(struct growth_figures *figures, struct db *db, int parts);
void growth_figures_release(struct growth_figures *figures);

/* Returns the lane that grows fastest; if no lane grows, the lane with the highest peak. NULL: no step ended. */
const struct steps_lane *growth_worst_lane(const struct growth_figures *figures);

/* Whether lane `one` has the higher peak; of equal peaks, whether it made the peak. */
int growth_peaks_higher(const struct steps_lane *one, const struct steps_lane *two);

/*
 * Says what is lost, then in one or two sentences whether memory grows (growth_say), or the state at the end of the worst lane's last step;
 * without steps, the reason.
 * Never empty.
 */
void growth_say_state(struct sentence *sentence, const struct growth_figures *figures);

/* Says the bytes of pools that sleep at the end of the worst lane's last step, if there are any. */
void growth_say_asleep(struct sentence *sentence, const struct growth_figures *figures);

/* ---- steps whose events a flight recorder (--keep) dropped ---- */

/* The recorder keeps one record for each such step, or one for several steps. Places, categories and phases of their memory are unknown. */
struct let_go_row {
	int64_t step, steps;           /* last step of the row, and number of steps */
	int64_t time;                  /* ns: end of the last step */
	uint64_t peak;                 /* largest bytes that the process held in these steps */
	char phase[24];                /* phase of the event that made the peak */
	uint64_t held, slack, tensors; /* bytes at the end of the last step */
};

struct let_go {
	struct let_go_row *row; /* sorted by step */
	size_t count, room;
};

extern const struct column_table let_go_columns;

/* Loads the steps of the process (id) on the device (id). Returns 0 or -MT_E_x. Release after an error, too. */
int let_go_load(struct let_go *let_go, struct db *db, int64_t process, int64_t device);
void let_go_release(struct let_go *let_go);

/* Joins rows until at most `most` are left. */
void let_go_thin(struct let_go *let_go, size_t most);

/* ---- commands that print parts of the figures: memana growth, steps, phases ---- */

/* A command that prints parts of the figures. Both functions return 0 or -MT_E_x. */
struct growth_answer {
	int parts;              /* enum growth_part: the parts that these functions print */
	int64_t limit;          /* largest number of rows of a list in text */
	const char *limit_help; /* help of -n (changes the limit); NULL: no -n */
	int (*text)(const struct text *text, struct db *db, const struct growth_figures *figures,
		    const struct answer_options *options);
	int (*json)(struct doc *doc, struct db *db, const struct growth_figures *figures,
		    const struct answer_options *options);
};

/* Runs the command. Returns the exit status. */
int growth_answer_command(int argc, char **argv, const struct growth_answer *answer);

#endif
