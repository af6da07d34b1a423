/*
 * facts_rows.h - writes and reads the rows of a pass (rows/row_sink.h), with lives as sums: lots of one table, column by column.
 *
 * Lives are summed once more, between fewer instants (rows/sums_instants.h), when one of three limits is exceeded: FACTS_ROWS_MOST lives,
 * FACTS_ROWS_BYTES_MOST bytes, or half a byte for each event. Facts must stay a small part of the trace. Sums between ends of steps may be
 * FACTS_BY_STEP times as many, because a reader adds them up and keeps none (facts_fold.h).
 *
 *     instants of the pass    | | | | | | | | | | | | | |            until the room is full
 *     thinned                 |     |     |     |     | | | |        later instants fill the room
 *
 * If even sums between ends of steps have no room, no life has a row: the other rows are enough for `memana oom`. If the other rows have no room, or
 * if a free failed, the pass has no rows: sums cannot undo a death.
 */
#ifndef MEMANA_FACTS_ROWS_H
#define MEMANA_FACTS_ROWS_H

#include "facts.h"
#include "facts_fold.h"
#include "facts_io.h"
#include "facts_join.h"
#include "rows/course.h"
#include "rows/kept.h"
#include "rows/row_sink.h"
#include "rows/sums_instants.h"

#define FACTS_ROWS_MOST (1u << 24)
#define FACTS_BY_STEP 8u
#define FACTS_ROWS_BYTES_MOST (32u << 20) /* rows, moment and state share a chunk of at most 64 MiB */

#define FACTS_MOVES 256u /* 8 KiB, which stay in the processor's cache */

extern size_t facts_rows_room;   /* FACTS_ROWS_BYTES_MOST for lives; tests lower this and facts_rows_most */
extern uint32_t facts_rows_most; /* FACTS_ROWS_MOST for lives */

struct facts_lot {
	void *row;
	uint32_t rows, written; /* rows of the open lot; rows of earlier lots */
};

/* The rows of a running pass. */
struct facts_rows {
	struct row_sink rows;            /* must be the first member: the context of `sink` */
	struct analysis_sink sink, rest; /* rest: the original calls, which make rows */
	struct row_maker maker;
	const struct analysis *analysis;
	struct sums_instants instants;
	size_t due;              /* lives are thinned when they have more bytes; 0: never thinned so far */
	enum sums_detail detail; /* detail of the lives; SUMS_NONE: no life has a row */
	struct facts_lot lot[LOAD_TABLE_COUNT];
	struct facts_io io, lives; /* written lots; lives: of table allocation_raw */
	const char **word;         /* the different texts of cells */
	uint32_t *slot;            /* by hash: number of a text, plus 1 */
	uint32_t words, word_room;
	struct row_residence *change;
	uint32_t changes, change_room;
	int none; /* 1: the rows were given up */
	struct kept *kept;
	struct course *course;
	struct outline *outline;
	struct course_move move[FACTS_MOVES]; /* moves that course and outline have not got so far */
	uint32_t moves;
	uint64_t event; /* number of the event of the newest move; 0: no move */
	int goes_on;    /* 1: the first of `move` has the event of the last move passed on */
	struct phase_use *use;
};

/* Sets up rows->sink for the pass over `analysis`. 0 or -MT_E_MEMORY; call facts_rows_release in any case. */
int facts_rows_init(struct facts_rows *rows, const struct analysis *analysis);
void facts_rows_release(struct facts_rows *rows);

/* After the last event: writes the guess, the kept moment, the figures of phases and the rows, behind the state of the analysis. */
void facts_rows_write(struct facts_io *io, struct facts_rows *rows);

/* `io` is behind the state of the analysis. Whether there are rows and all that the taker wants: 1, 0, or an error of the bytes. */
int facts_rows_are_there(struct facts_io io, const struct facts_taker *taker);

/*
 * `io` is behind the state of the analysis. Reads the moment of a run of one process, the moves for advice, and the outline, as far as the taker
 * wants them; the taker releases them in any case. 1; 0: the taker wants the moment, and none was kept; or an error of the bytes.
 */
int facts_rows_moment(struct facts_io io, const struct analysis *run, const struct facts_taker *taker);

/*
 * `io` is behind the state of the analysis. Passes the rows to the taker, with numbers and times of the run by `place`, and lives as sums in the
 * wanted detail. `fold`, if not NULL, gets the lives instead of the maker. 1; 0: no rows, and nothing was passed on; or an error, of the bytes or of
 * the maker.
 */
int facts_rows_read(struct facts_io *io, const struct analysis *run, const struct facts_place *place,
		    const struct facts_taker *taker, struct facts_fold *fold);

#endif
