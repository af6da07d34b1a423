/*
 * figures.h - what a run did with memory over its steps: computed once. memana growth, steps, phases, check and retained print parts
 * of these figures, and ask nothing else about growth.
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
	uint64_t bytes, each; /* sums over the places that grow in it */
	uint32_t places;
	int64_t in_use; /* at the end of the last step of each process, allocated in it */
	int64_t peak;   /* peak of the device while the phase ran, COLUMN_NONE: it did not */
};

enum growth_part {
	GROWTH_STEPS = 1,
	GROWTH_PHASES = 2,
	GROWTH_PEAKS = 8,  /* of the phases nothing but their peaks */
	GROWTH_STACKS = 4, /* the stacks of the places that grow */
};

struct growth_figures {
	struct growth growth; /* whether it grows, and who keeps what: always */
	struct steps steps;
	struct phases phases;
	struct growth_phase *phase; /* by device, then the one that grows most first; of both parts */
	size_t phase_count;
};

extern const struct column_table growth_phase_columns;

/* Fills in these parts (enum growth_part) from a database. 0 or -MT_E_x. Release in any case. */
int growth_figures_load(struct growth_figures *figures, struct db *db, int parts);
void growth_figures_release(struct growth_figures *figures);

/* The lane that grows fastest, else the one that peaks highest. NULL: no step ended. */
const struct steps_lane *growth_worst_lane(const struct growth_figures *figures);

/* True for the lane with the higher peak; of two lanes that saw the same peak, for the one that made it. */
int growth_peaks_higher(const struct steps_lane *one, const struct steps_lane *two);

/*
 * Whether it grows, in a sentence or two: growth_say, or what the last step of the worst lane ended with. "" never: without steps the
 * sentence says why there are none.
 */
void growth_say_state(struct sentence *sentence, const struct growth_figures *figures);

/* The bytes of pools that sleep at the end of the last step of the worst lane, if there are any. */
void growth_say_asleep(struct sentence *sentence, const struct growth_figures *figures);

/* ---- steps whose events a flight recorder (--keep) let go ---- */

/*
 * The recorder keeps a record of each such step, or one for several. No place, category or phase is known of what was alive then.
 */
struct let_go_row {
	int64_t step, steps;           /* the last one, and how many */
	int64_t time;                  /* ns: end of the last one */
	uint64_t peak;                 /* the most that the process held meanwhile */
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

/* At most `most` rows, each of which may stand for more steps. */
void let_go_thin(struct let_go *let_go, size_t most);

/* ---- commands that print parts of the figures: memana growth, steps, phases ---- */

/* Both functions: 0 or -MT_E_x. */
struct growth_answer {
	int parts;              /* enum growth_part: those that the functions print */
	int64_t limit;          /* most rows of lists in text */
	const char *limit_help; /* the help of -n, which changes the limit; NULL: there is no -n */
	int (*text)(const struct text *text, struct db *db, const struct growth_figures *figures,
		    const struct answer_options *options);
	int (*json)(struct doc *doc, struct db *db, const struct growth_figures *figures,
		    const struct answer_options *options);
};

/* The whole of such a command. The exit code. */
int growth_answer_command(int argc, char **argv, const struct growth_answer *answer);

#endif
