/*
 * html.h - writes a run as one page without other files. Private to this folder.
 *
 *     html_read     traces or a database ──> run->db (tables), moves (moves.h)
 *     html_cells    the cells of the moves: phase, category, owner, process, place, stack
 *     html_tables   steps, modules, causes, settings, segments
 *     html_columns  moves and phases as columns of numbers
 *     to_html       page.html, page.css, page.js around them
 *
 * The page gets one gzip member in base64: the size of a JSON document (4 bytes, little endian), the document, then the
 * columns. Columns are numbers of seven bits a byte, as in the table `timeline` of the database.
 */
#ifndef MEMANA_HTML_H
#define MEMANA_HTML_H

#include "base/json.h"
#include "export/export.h"
#include "moves.h"
#include "query/callstack.h"

#define HTML_EVENTS_MAX \
	4000000u /* a page has no lives of allocations if the run has more events, unless --full is given */

struct html {
	struct export_run *run;
	struct db *db; /* database of the run */
	struct export_range range;
	struct moves_all moves;
	uint64_t events_most; /* HTML_EVENTS_MAX */
	int has_lives;        /* 1: the database has all allocations */
	int64_t at;           /* time of the cursor when the page opens; EXPORT_NO_TIME: at the peak or an error */
	uint32_t *cell_of;    /* number of the cell on the page, plus 1, by cell of the moves; 0: not on the page */
	uint32_t cells;       /* room of `cell_of` */
};

/* Fills run->db and the moves. Returns 0 or an error of export_function. */
int html_read(struct html *html);

/*
 * Writes "cells", "places", "frames", "nodes" and the names of layers, and fills html->cell_of. Returns 0 or -MT_E_x.
 */
int html_cells(struct html *html, struct doc *doc);

/* Writes the other tables of the page. Returns 0 or -MT_E_x. */
int html_tables(struct html *html, struct doc *doc);

/* Writes the segments at the peak of each device. Call it after html_cells. Returns 0 or -MT_E_x. */
int html_segments(struct html *html, struct doc *doc);

/* A growing buffer. */
struct html_bytes {
	unsigned char *byte;
	size_t size, room;
	int failed; /* 1: out of memory */
};

/*
 * Writes "devices", "spans" and "tick", and all columns, in the order of their lengths in these members. Returns 0 or
 * -MT_E_x. The caller frees bytes->byte.
 */
int html_columns(struct html *html, struct doc *doc, struct html_bytes *bytes);

#endif
