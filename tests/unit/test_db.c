/* Statements in one call: all rows, the first row, the number of the first row. */
#include "database/db.h"

#include "memtrace/error.h"
#include "test.h"

static struct db *of_numbers(void)
{
	struct db *db;

	CHECK_EQ(db_create(&db, NULL, "CREATE TABLE number (n); INSERT INTO number VALUES (3), (5), (8);"), 0);
	return db;
}

static int add(void *context, struct db_stmt *row)
{
	*(int64_t *)context += db_int(row, 0);
	return db_int(row, 0) == 5 ? 7 : 0;
}

TEST(rows_come_until_a_result)
{
	struct db *db = of_numbers();
	int64_t sum = 0;

	CHECK_EQ(db_rows(db, "SELECT n FROM number WHERE n > ?2 AND n < ?1", DB_NUMBERS(9, 5), add, &sum), 0);
	CHECK_EQ(sum, 8);
	CHECK_EQ(db_rows(db, "SELECT n FROM number ORDER BY n", NULL, add, &sum), 7);
	CHECK_EQ(sum, 16);
	CHECK_EQ(db_rows(db, "SELECT n FROM nothing", NULL, add, &sum), -MT_E_SQL);
	db_close(db);
}

TEST(the_first_row_is_there_or_not)
{
	struct db *db = of_numbers();
	struct db_stmt *stmt;

	CHECK_EQ(db_first(db, &stmt, "SELECT n FROM number WHERE n > ?1 ORDER BY n", DB_NUMBERS(3)), 1);
	CHECK_EQ(db_int(stmt, 0), 5);
	db_finish(stmt);
	CHECK_EQ(db_first(db, &stmt, "SELECT n FROM number WHERE n > ?1", DB_NUMBERS(8)), 0);
	CHECK(!stmt);
	CHECK_EQ(db_first(db, &stmt, "SELECT nothing FROM number", NULL), -MT_E_SQL);
	CHECK(!stmt);
	db_close(db);
}

TEST(without_a_row_the_number_stays)
{
	struct db *db = of_numbers();
	int64_t number = 42;

	CHECK_EQ(db_number(db, "SELECT n FROM number WHERE n > 8", NULL, &number), 0);
	CHECK_EQ(number, 42);
	CHECK_EQ(db_number(db, "SELECT max(n) FROM number WHERE n < ?1", DB_NUMBERS(8), &number), 0);
	CHECK_EQ(number, 5);
	CHECK_EQ(db_number(db, "SELECT n FROM", NULL, &number), -MT_E_SQL);
	CHECK_EQ(number, 5);
	db_close(db);
}

TEST_MAIN()
