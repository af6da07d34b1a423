#include "peak_points.h"

#include <string.h>
#include "answer.h"
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "query/query.h"

#define WORD_COLUMNS 26
#define TABLE_SHOWN 7

struct table {
	const struct text *text;
	const char *title;
	uint64_t whole, rows;
};

static int sum_part(void *context, const struct query_part *part)
{
	struct table *table = context;

	table->whole += part->bytes;
	table->rows++;
	return 0;
}

static int print_part(void *context, const struct query_part *part)
{
	struct table *table = context;
	char clean[128], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	if (!table->rows++)
		answer_title(table->text, table->title);
	if (table->rows > TABLE_SHOWN || !part->bytes)
		return 0;
	text_print(table->text, "  %-*s %10s  %5s", WORD_COLUMNS,
		   text_fit(clean, sizeof(clean), part->word, WORD_COLUMNS, 0), text_bytes(size, part->bytes),
		   text_percent(share, part->bytes, table->whole));
	text_bar(table->text, part->bytes, table->whole, 30);
	text_print(table->text, "\n");
	return 0;
}

static int print_by(struct table *table, struct db *db, int64_t device, enum query_by by, uint64_t least)
{
	int error;

	table->whole = table->rows = 0;
	error = query_parts(db, device, by, sum_part, table);
	if (error || table->rows < least)
		return error;
	table->rows = 0;
	return query_parts(db, device, by, print_part, table);
}

int peak_table_print(const struct text *text, struct db *db, int64_t device)
{
	struct table table = { .text = text, .title = "Who had the peak, by what it is" };
	int error = print_by(&table, db, device, QUERY_BY_CATEGORY, 1);

	table.title = "By process";
	return error ? error : print_by(&table, db, device, QUERY_BY_PROCESS, 2);
}
