/* db_impl.h - what the files of this room share of SQLite. */
#ifndef MEMANA_DB_IMPL_H
#define MEMANA_DB_IMPL_H

#include <sqlite3.h>
#include "db.h"

#define KEPT 64 /* finished statements */

struct db {
	sqlite3 *handle;
	int restricted;
	struct db_stmt *kept[KEPT]; /* the newest first */
	int kept_count;
	const struct db_feed *lots; /* NULL: no table is made of lots */
};

/* A statement in use, or a kept one. Keeping saves preparing a question again for each device or process. */
struct db_stmt {
	sqlite3_stmt *raw;
	struct db *db;
	int restricted; /* made after db_restrict: not kept */
};

/* The error of SQLite's code. */
int db_error_of(int code);

void db_discard(struct db_stmt *stmt);

#endif
