/*
 * html.h - a run as one page that needs nothing else. Private to the files of this room.
 *
 *     html_read     traces or a database ──> run->db (tables), moves (moves.h)
 *     html_cells    the cells of the moves: phase, category, owner, process, place, stack
 *     html_tables   steps, modules, causes, settings, segments
 *     html_columns  moves and phases as columns of numbers
 *     to_html       page.html, page.css, page.js around them
 *
 * The page gets one gzip member in base64: the size of a JSON document (4 bytes, little endian), the document, then the columns.
 * Columns are numbers of seven bits a byte, as in the table `timeline` of the database.
 */
#ifndef MEMANA_HTML_H
#define MEMANA_HTML_H

#include "base/json.h"
#include "export/export.h"
#include "moves.h"
#include "query/callstack.h"

#define HTML_EVENTS_MAX \
	4000000u /* a run with more of them has no lives of allocations on its page, unless --full is given */

struct html {
	struct export_run *run;
	struct db *db; /* the run's */
	struct export_range range;
	struct moves_all moves;
	uint64_t events_most; /* HTML_EVENTS_MAX */
	int has_lives;        /* the database has all allocations */
	int64_t at;           /* time of the cursor when the page opens; EXPORT_NO_TIME: the peak, or an error */
	uint32_t *cell_of;    /* by cell of the moves: the page's cell + 1; 0: not on the page */
	uint32_t cells;       /* room of it */
};

/* Fills run->db and the moves. 0 or -MT_E_x of export_function. */
int html_read(struct html *html);

/* The members "cells", "places", "frames", "nodes" and the names of layers; html->cell_of. 0 or -MT_E_x. */
int html_cells(struct html *html, struct doc *doc);

/* The other tables of the page. 0 or -MT_E_x. */
int html_tables(struct html *html, struct doc *doc);

/* The segments at the peak of each device; after html_cells. 0 or -MT_E_x. */
int html_segments(struct html *html, struct doc *doc);

/* Bytes that grow. */
struct html_bytes {
	unsigned char *byte;
	size_t size, room;
	int failed; /* out of memory */
};

void html_put(struct html_bytes *bytes, uint64_t number);
void html_put_signed(struct html_bytes *bytes, int64_t number);

/*
 * The members "devices", "spans" and "tick", and all columns, in the order of the lengths that the members have. 0 or -MT_E_x; free
 * bytes->byte.
 */
int html_columns(struct html *html, struct doc *doc, struct html_bytes *bytes);

/* The word of the run's rows, as people say: "rank 3", "pid 123". In html_tables.c. */
const char *html_process_name(char *out, size_t size, int64_t rank, int64_t pid);

#endif
