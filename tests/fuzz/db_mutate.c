/* db_mutate.c - mutates databases by SQL, or the bytes of one page; see fuzz.h. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include "fuzz.h"

#define SQL_MAX 512

/* The one text that `sql` gives, "" if none. */
static void ask(sqlite3 *db, const char *sql, char *text, size_t size)
{
	sqlite3_stmt *stmt = NULL;

	*text = 0;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(text, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

static void make_value(struct fuzz_random *random, const char *column, char *value, size_t size)
{
	switch (fuzz_below(random, 7)) {
	case 0:
		snprintf(value, size, "NULL");
		break;
	case 1:
		snprintf(value, size, "%s || char(27, 10, 155, 0x202e)", column);
		break;
	case 2:
		snprintf(value, size, "randomblob(%u)", (unsigned int)fuzz_below(random, 300));
		break;
	case 3:
		snprintf(value, size, "%s + %lld", column, (long long)(fuzz_number(random) >> 40) - (1 << 20));
		break;
	case 4:
		snprintf(value, size, "%u.5e%u", (unsigned int)fuzz_below(random, 10),
			 (unsigned int)fuzz_below(random, 330));
		break;
	default:
		snprintf(value, size, "%lld", (long long)fuzz_number(random));
	}
}

/* A statement that changes something in the table. */
static void make_change(struct fuzz_random *random, sqlite3 *db, const char *table, char *sql, size_t size)
{
	char column[64], value[128], question[SQL_MAX];

	snprintf(question, sizeof(question), "SELECT name FROM pragma_table_info('%s') ORDER BY random() LIMIT 1",
		 table);
	ask(db, question, column, sizeof(column));
	make_value(random, column, value, sizeof(value));
	switch (fuzz_below(random, 8)) {
	case 0:
		snprintf(sql, size, "DELETE FROM %s WHERE random() %% 3 = 0", table);
		break;
	case 1:
		snprintf(sql, size, "UPDATE OR IGNORE %s SET %s = %s", table, column, value);
		break;
	case 2:
		snprintf(sql, size, "INSERT OR IGNORE INTO %s SELECT * FROM %s ORDER BY random() LIMIT 3", table,
			 table);
		break;
	default:
		snprintf(sql, size,
			 "UPDATE OR IGNORE %s SET %s = %s WHERE rowid IN (SELECT rowid FROM %s ORDER BY random() LIMIT %u)",
			 table, column, value, table, 1 + (unsigned int)fuzz_below(random, 3));
	}
}

static void change_rows(struct fuzz_random *random, sqlite3 *db)
{
	char table[64], sql[2 * SQL_MAX];
	size_t changes;

	sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
	for (changes = 1 + fuzz_below(random, 4); changes; changes--) {
		ask(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY random() LIMIT 1", table,
		    sizeof(table));
		make_change(random, db, table, sql, sizeof(sql));
		sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
}

/* 0: it is no database any more. */
static size_t mutate_rows(struct fuzz_random *random, uint8_t *data, size_t size, size_t room)
{
	unsigned char *copy = sqlite3_malloc64(size + 1), *after;
	sqlite3_int64 bytes = 0;
	sqlite3 *db = NULL;
	size_t made = 0;

	FUZZ_CHECK(copy && sqlite3_open(":memory:", &db) == SQLITE_OK);
	memcpy(copy, data, size);
	if (sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK) {
		change_rows(random, db);
		after = sqlite3_serialize(db, "main", &bytes, 0);
		if (after && bytes && (uint64_t)bytes <= room) {
			memcpy(data, after, (size_t)bytes);
			made = (size_t)bytes;
		}
		sqlite3_free(after);
	}
	sqlite3_close(db);
	return made;
}

size_t db_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_random random = { seed };
	size_t made = 0, bytes, at;

	if (fuzz_below(&random, 4))
		made = mutate_rows(&random, data, size, room);
	if (made || !size)
		return made;
	bytes = 1 + fuzz_below(&random, size < 32 ? size : 32);
	at = fuzz_below(&random, size - bytes + 1);
	fuzz_in_place(data + at, bytes);
	return size;
}
