/* Statements in one call: all rows, the first row, the number of the first row. A table whose rows are made as they are read. */
#include "database/db.h"

#include "memtrace/base.h"
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

/* ---- lots ---- */

struct made {
	int64_t id, square;
	const char *word;
};

static const struct db_column columns[] = { { "id", DB_INTEGER, 1 },
					    { "square", DB_INTEGER, 1 },
					    { "word", DB_TEXT, 1 } };

/* Ten rows, in lots of four. Row 7 has no square. */
#define MADE 10u
#define LOT 4u

struct maker {
	int filled, released;
	size_t bad; /* number of the lot that cannot be made, from 1; 0: none */
};

static int fill(void *context, size_t number, void *rows)
{
	struct maker *maker = context;
	struct made *row = rows;
	int64_t id = (int64_t)(number * LOT) + 1;
	size_t i;

	maker->filled++;
	for (i = 0; i < LOT && id <= (int64_t)MADE; i++, id++)
		row[i] = (struct made){ id, id == 7 ? DB_CELL_NULL : id * id, id % 2 ? "odd" : NULL };
	return number + 1 == maker->bad ? -MT_E_CORRUPT : 0;
}

static void note_release(void *context)
{
	((struct maker *)context)->released++;
}

static struct db *of_lots(struct maker *maker, size_t rows)
{
	const struct db_lots lots = {
		.rows = rows, .lot = LOT, .context = maker, .fill = fill, .release = note_release
	};
	struct db *db;

	CHECK_EQ(db_create(&db, NULL,
			   "CREATE TABLE made (id INTEGER PRIMARY KEY, square, word);"
			   "CREATE VIEW odd AS SELECT * FROM made WHERE word = 'odd';"
			   "CREATE TABLE wanted (id); INSERT INTO wanted VALUES (0), (4), (5), (10), (11), (NULL);"),
		 0);
	CHECK_EQ(db_lots_new(db, "made", columns, (int)MT_ARRAY_SIZE(columns), &lots), 0);
	return db;
}

static int64_t number_of(struct db *db, const char *sql)
{
	int64_t number = -1;

	CHECK_EQ(db_number(db, sql, NULL, &number), 0);
	return number;
}

static int add_square(void *context, const void *rows, size_t count)
{
	const struct made *row = rows;
	int64_t *sum = context;
	size_t i;

	for (i = 0; i < count; i++)
		*sum += row[i].square == DB_CELL_NULL ? 0 : row[i].square;
	return *sum > 1000 ? 9 : 0;
}

TEST(rows_of_lots_are_those_of_a_table)
{
	struct maker maker = { 0 };
	struct db *db = of_lots(&maker, MADE);
	int64_t sum = 0;

	CHECK_EQ(number_of(db, "SELECT sum(square) FROM made"), 385 - 49);
	CHECK_EQ(number_of(db, "SELECT count(*) FROM made WHERE square IS NULL"), 1);
	CHECK_EQ(number_of(db, "SELECT count(*) FROM odd"), 5);
	CHECK_EQ(number_of(db, "SELECT count(*) FROM made AS one JOIN made AS two ON two.id > one.id"), 45);
	CHECK_EQ(db_lots_each(db, add_square, &sum), 1);
	CHECK_EQ(sum, 385 - 49);
	sum = 1000;
	CHECK_EQ(db_lots_each(db, add_square, &sum), 9);
	CHECK_EQ(sum, 1000 + 1 + 4 + 9 + 16);
	db_close(db);
	CHECK_EQ(maker.released, 1);
}

TEST(a_row_of_lots_is_found_by_its_number)
{
	struct maker maker = { 0 };
	struct db *db = of_lots(&maker, MADE);

	CHECK_EQ(number_of(db, "SELECT sum(square) FROM wanted JOIN made ON made.id = wanted.id"), 16 + 25 + 100);
	CHECK_EQ(maker.filled, 3);
	CHECK_EQ(number_of(db, "SELECT count(*) FROM made WHERE id = 4 AND word IS NULL"), 1);
	CHECK_EQ(maker.filled, 4);
	db_close(db);
}

TEST(a_lot_that_cannot_be_made_is_an_error)
{
	struct maker maker = { .bad = 2 };
	struct db *db = of_lots(&maker, MADE);
	int64_t sum = 0;

	CHECK_EQ(db_number(db, "SELECT sum(square) FROM made", NULL, &sum), -MT_E_CORRUPT);
	CHECK_EQ(db_lots_each(db, add_square, &sum), -MT_E_CORRUPT);
	CHECK_EQ(sum, 1 + 4 + 9 + 16);
	db_close(db);
	db = of_numbers();
	CHECK_EQ(db_lots_each(db, add_square, &sum), 0);
	db_close(db);
	db = of_lots(&maker, 0);
	CHECK_EQ(number_of(db, "SELECT count(*) FROM made"), 0);
	CHECK_EQ(db_lots_each(db, add_square, &sum), 1);
	db_close(db);
	CHECK_EQ(maker.released, 2);
}

TEST(lots_without_a_table_are_released)
{
	struct maker maker = { 0 };
	struct db *db = of_numbers();

	CHECK_EQ(db_lots_new(db, "made", columns, 3, &(struct db_lots){ MADE, LOT, &maker, fill, note_release }),
		 -MT_E_SQL);
	CHECK_EQ(maker.released, 1);
	db_close(db);
	CHECK_EQ(maker.released, 1);
}

TEST_MAIN()
