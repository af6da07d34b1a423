/* Writes the table `parameter`: the census, one row for each tensor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "store.h"

/* The newest census of each optimizer. */
struct newest {
	char (*optimizer)[CENSUS_WORD_MAX];
	uint32_t *census;
	uint32_t count;
};

#define OPTIMIZERS_MAX 1024u /* largest number of optimizers with a newest census of their own; all others share one */

static void newest_release(struct newest *newest)
{
	free(newest->optimizer);
	free(newest->census);
}

static uint32_t newest_find(const struct newest *newest, const char *optimizer)
{
	uint32_t i = 0;

	while (i < newest->count && strcmp(newest->optimizer[i], optimizer))
		i++;
	return i < OPTIMIZERS_MAX ? i : OPTIMIZERS_MAX - 1;
}

static uint32_t number_of(const struct census_row *row)
{
	return row->flags >> MT_CENSUS_NUMBER_SHIFT;
}

static int newest_collect(struct newest *newest, const struct census *census, const struct mt_defs *defs)
{
	struct census_text text;
	uint32_t i, at;

	newest->optimizer = calloc(OPTIMIZERS_MAX, sizeof(*newest->optimizer));
	newest->census = calloc(OPTIMIZERS_MAX, sizeof(*newest->census));
	if (!newest->optimizer || !newest->census)
		return -MT_E_MEMORY;
	for (i = 0; i < census->rows; i++) {
		census_parse(&text, mt_defs_string(defs, census->row[i].text));
		at = newest_find(newest, text.optimizer);
		if (at == newest->count)
			memcpy(newest->optimizer[newest->count++], text.optimizer, CENSUS_WORD_MAX);
		if (number_of(&census->row[i]) > newest->census[at])
			newest->census[at] = number_of(&census->row[i]);
	}
	return 0;
}

#define NAME_MAX_BYTES 1025u

/* Writes "layers.12.weight" as "layers.*.weight". */
static const char *pattern_of(char *pattern, const char *name)
{
	size_t used = 0;

	while (*name && used + 1 < NAME_MAX_BYTES) {
		int digits = (int)strspn(name, "0123456789");
		int number = digits && (!used || pattern[used - 1] == '.') && (name[digits] == '.' || !name[digits]);

		pattern[used++] = number ? '*' : *name;
		name += number ? digits : 1;
	}
	pattern[used] = '\0';
	return pattern;
}

static void bind_word(struct db_stmt *stmt, int parameter, const char *word)
{
	db_bind_text(stmt, parameter, strcmp(word, "-") ? word : NULL);
}

static void bind_device(struct db_stmt *stmt, int parameter, const struct mt_device *device, char text[32])
{
	if (device && device->kind == MT_DEVICE_CUDA)
		snprintf(text, 32, "cuda:%u", device->index);
	else
		snprintf(text, 32, "cpu");
	db_bind_text(stmt, parameter, device ? text : NULL);
}

static int store_row(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number,
		     const struct census_row *row, const struct newest *newest)
{
	const char *name = mt_defs_string(process->defs, row->name);
	char pattern[NAME_MAX_BYTES], device[32];
	struct census_text text;

	census_parse(&text, mt_defs_string(process->defs, row->text));
	db_bind(stmt, 1, store_process_id(number));
	db_bind(stmt, 2, number_of(row));
	db_bind(stmt, 3, newest->census[newest_find(newest, text.optimizer)] == number_of(row));
	db_bind(stmt, 4, analysis_time(process, row->time));
	db_bind_unsigned(stmt, 5, row->seq);
	db_bind_text(stmt, 6, name);
	db_bind_text(stmt, 7, pattern_of(pattern, name));
	db_bind_text(stmt, 8, mt_census_name(row->flags & MT_CENSUS_WHAT));
	bind_word(stmt, 9, text.state);
	bind_word(stmt, 10, text.model);
	bind_word(stmt, 11, text.module);
	bind_word(stmt, 12, text.optimizer);
	bind_word(stmt, 13, text.dtype);
	bind_word(stmt, 14, text.shape);
	bind_word(stmt, 15, text.local);
	bind_device(stmt, 16, mt_defs_device(process->defs, row->device), device);
	db_bind_unsigned(stmt, 17, row->addr);
	db_bind_unsigned(stmt, 18, row->bytes);
	db_bind(stmt, 19, (row->flags & MT_CENSUS_TIED) != 0);
	store_bind_id(stmt, 20, row->block <= INT64_MAX ? (int64_t)row->block : 0);
	if (row->block)
		db_bind_unsigned(stmt, 21, row->block_bytes);
	else
		db_bind_null(stmt, 21);
	store_bind_id(stmt, 22, census_site(&process->census, row->block));
	return db_run(stmt);
}

static int store_process(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct census *census = &process->census;
	struct newest newest = { 0 };
	uint32_t i;
	int error = newest_collect(&newest, census, process->defs);

	for (i = 0; i < census->rows && !error; i++)
		error = store_row(stmt, process, number, &census->row[i], &newest);
	newest_release(&newest);
	return error;
}

int store_parameters(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt,
			       "INSERT INTO parameter VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
			       "?, ?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->processes && !error; i++)
		if (analysis->process[i].census.rows)
			error = store_process(stmt, &analysis->process[i], i);
	db_finish(stmt);
	return error;
}
