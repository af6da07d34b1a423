/*
 * facts_rows.h - the rows of a pass (rows/row_sink.h), with lives as sums, as bytes and back: lots of one table, column by column.
 *
 * More lives than FACTS_ROWS_MOST, or more bytes of them, are added up once more, between fewer instants (rows/sums_instants.h). So are lives
 * that take more than half a byte for each event: facts are to be a small part of the trace. Between ends of steps there may be FACTS_BY_STEP
 * times as many: a reader adds them up and keeps none (facts_fold.h).
 *
 *     instants of the pass    | | | | | | | | | | | | | |            room is short
 *     thinned                 |     |     |     |     | | | |        and filled by the instants that come
 *
 * A pass that has no room for sums between ends of steps has the other rows alone: `memana oom` asks for no more. The same number of the others
 * is too many. A pass in which a free failed has no rows: sums cannot undo a death.
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
#define FACTS_ROWS_BYTES_MOST (32u << 20) /* a chunk has at most 64 MiB: of them, of the moment and of the state */

#define FACTS_MOVES 256u /* 8 KiB stay in the cache */

extern size_t facts_rows_room;   /* FACTS_ROWS_BYTES_MOST, of lives; tests lower both */
extern uint32_t facts_rows_most; /* FACTS_ROWS_MOST, of lives */

struct facts_lot {
	void *row;
	uint32_t rows, written; /* in it; in the lots before */
};

/* The rows of a pass that goes on. */
struct facts_rows {
	struct row_sink rows;            /* the first: it is the context of `sink` */
	struct analysis_sink sink, rest; /* rest: the calls that make rows */
	struct row_maker maker;
	const struct analysis *analysis;
	struct sums_instants instants;
	size_t due;              /* lives with more bytes are thinned once more; 0: they never were */
	enum sums_detail detail; /* lives have it; SUMS_NONE: no life has a row */
	struct facts_lot lot[LOAD_TABLE_COUNT];
	struct facts_io io, lives; /* the lots that were full; lives: of allocation_raw */
	const char **word;         /* texts of cells, each once */
	uint32_t *slot;            /* by hash: the number of a text and 1 */
	uint32_t words, word_room;
	struct row_residence *change;
	uint32_t changes, change_room;
	int none; /* 1: there are no rows */
	struct kept *kept;
	struct course *course;
	struct outline *outline;
	struct course_move move[FACTS_MOVES]; /* the newest, which course and outline do not have yet */
	uint32_t moves;
	uint64_t event; /* number of the event of the newest move; 0: there was none */
	int goes_on;    /* 1: the first of these moves is of the event of the one before */
	struct phase_use *use;
};

/* `sink` is for the pass over `analysis`. 0 or -MT_E_MEMORY; release in any case. */
int facts_rows_init(struct facts_rows *rows, const struct analysis *analysis);
void facts_rows_release(struct facts_rows *rows);

/* After the last event, behind the state of the analysis: the guess, the moment that was kept, the figures of phases, and the rows. */
void facts_rows_write(struct facts_io *io, struct facts_rows *rows);

/* Behind the state of the analysis: whether there are rows, with all that the taker asks for. 1, 0, or an error of the bytes. */
int facts_rows_are_there(struct facts_io io, const struct facts_taker *taker);

/*
 * The same place: the moment that a run of one process kept, the moves that advice needs, and the outline. The taker asks for them, and
 * releases them in any case. 1; 0: it asks for the moment, and none was kept; or an error of the bytes.
 */
int facts_rows_moment(struct facts_io io, const struct analysis *run, const struct facts_taker *taker);

/*
 * The same place: tells the taker the rows, as of `place` in the run, and lives as sums between the instants that it asks for; `fold`, if
 * not NULL, is told of these lives in place of the maker. 1; 0: there are none, and nothing was told; or an error, of the bytes or of the maker.
 */
int facts_rows_read(struct facts_io *io, const struct analysis *run, const struct facts_place *place,
		    const struct facts_taker *taker, struct facts_fold *fold);

#endif
