/* run_kit.h - for tests of answers: traces that were just made, analysed into a database in memory. */
#ifndef RUN_KIT_H
#define RUN_KIT_H

#include <stdio.h>
#include <string.h>
#include "database/db.h"
#include "source/source.h"
#include "store/load.h"
#include "store/store.h"
#include "test.h"

struct run {
	struct source source;
	struct analysis analysis;
	struct db *db;
};

/* FOLDER/NAME; good until the fourth call after it. */
static inline const char *run_path(const char *folder, const char *name)
{
	static char path[4][512];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
	return path[next];
}

/* As `memana load` does (everything), or as `memana top` does, which has the summary and the places. */
static inline void run_open(struct run *run, char *const *paths, uint32_t count, int everything)
{
	struct symbols *symbols;

	memset(run, 0, sizeof(*run));
	CHECK_EQ(source_open(&run->source, paths, count), 0);
	CHECK_EQ(run->source.inputs, count);
	CHECK_EQ(db_create(&run->db, NULL, schema_sql), 0);
	if (everything) {
		CHECK_EQ(load_run(run->db, &run->analysis, run->source.input, count, run->source.rules, LOAD_TIMELINE),
			 0);
		return;
	}
	CHECK_EQ(analysis_run(&run->analysis, run->source.input, count, run->source.rules, NULL), 0);
	CHECK_EQ(store_summary(run->db, &run->analysis, 0), 0);
	symbols = symbols_new();
	CHECK_EQ(load_places(run->db, symbols), 0);
	symbols_free(symbols);
}

static inline void run_open_one(struct run *run, const char *path, int everything)
{
	char *paths[] = { (char *)path };

	run_open(run, paths, 1, everything);
}

static inline void run_close(struct run *run)
{
	db_close(run->db);
	analysis_release(&run->analysis);
	source_release(&run->source);
}

#endif
