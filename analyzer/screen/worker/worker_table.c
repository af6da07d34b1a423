#include "worker_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/error.h"

#define TEXTS_BYTES 65536u /* bytes of one block */

/* Releases the map of an answer (worker_map.c); NULL is fine. */
static void worker_map_free(struct worker_map *map)
{
	if (!map)
		return;
	frag_state_release(&map->state);
	free(map->sorted);
	free(map);
}

/* Texts live in blocks that do not move, newest first. */
struct worker_texts {
	struct worker_texts *older;
	size_t size;
	char bytes[TEXTS_BYTES];
};

struct worker_table *worker_table_new(void)
{
	struct worker_table *table = calloc(1, sizeof(*table));

	if (table)
		table->answer.verdict = table->answer.trouble = "";
	return table;
}

void worker_answer_free(struct worker_answer *answer)
{
	struct worker_table *table = (struct worker_table *)answer; /* its first member */
	struct worker_texts *texts, *older;

	if (!answer)
		return;
	for (texts = table->texts; texts; texts = older) {
		older = texts->older;
		free(texts);
	}
	free(answer->column);
	free(answer->text);
	free(answer->site);
	free(answer->time);
	worker_map_free(answer->map);
	free(table);
}

/* A copy that lives as long as the table; "" without memory for it. */
static const char *keep(struct worker_table *table, const char *words)
{
	size_t size = strlen(words) + 1;
	struct worker_texts *texts = table->texts;

	if (size == 1)
		return "";
	if (size > TEXTS_BYTES)
		size = TEXTS_BYTES;
	if (!texts || TEXTS_BYTES - texts->size < size) {
		texts = malloc(sizeof(*texts));
		if (!texts) {
			table->failed = 1;
			return "";
		}
		texts->older = table->texts;
		texts->size = 0;
		table->texts = texts;
	}
	mt_copy_text(texts->bytes + texts->size, size, words);
	texts->size += size;
	return texts->bytes + texts->size - size;
}

void worker_table_column(struct worker_table *table, const char *title, int numbers)
{
	struct worker_answer *answer = &table->answer;
	struct worker_column *column = realloc(answer->column, (answer->columns + 1) * sizeof(*column));
	char clean[WORKER_CELL_MAX * 4 + 4];

	if (!column) {
		table->failed = 1;
		return;
	}
	answer->column = column;
	text_fit(clean, sizeof(clean), title, WORKER_CELL_MAX, 0);
	column[answer->columns++] = (struct worker_column){ .title = keep(table, clean),
							    .numbers = numbers == 1,
							    .whole = numbers == WORKER_WHOLE,
							    .brief = numbers == WORKER_BRIEF,
							    .phase = numbers == WORKER_PHASE };
}

static int grow(struct worker_table *table)
{
	struct worker_answer *answer = &table->answer;
	uint32_t room = table->room ? 2 * table->room : 64;
	const char **text = realloc(answer->text, (size_t)room * answer->columns * sizeof(*text));
	uint32_t *site;
	int64_t *time;

	answer->text = text ? text : answer->text;
	site = realloc(answer->site, room * sizeof(*site));
	answer->site = site ? site : answer->site;
	time = realloc(answer->time, room * sizeof(*time));
	answer->time = time ? time : answer->time;
	if (!text || !site || !time)
		return -MT_E_MEMORY;
	table->room = room;
	return 0;
}

int worker_table_row(struct worker_table *table, uint32_t site, int64_t time)
{
	struct worker_answer *answer = &table->answer;
	uint32_t column;

	if (answer->rows == WORKER_ROWS_MAX) {
		answer->cut = 1;
		return 1;
	}
	if (!answer->columns || (answer->rows == table->room && grow(table))) {
		table->failed = 1;
		return 1;
	}
	for (column = 0; column < answer->columns; column++)
		answer->text[(size_t)answer->rows * answer->columns + column] = "";
	answer->site[answer->rows] = site;
	answer->time[answer->rows++] = time;
	return 0;
}

void worker_table_cell(struct worker_table *table, uint32_t column, const char *words)
{
	struct worker_answer *answer = &table->answer;
	char clean[WORKER_CELL_MAX * 4 + 4];

	if (!answer->rows || column >= answer->columns)
		return;
	text_fit(clean, sizeof(clean), words, WORKER_CELL_MAX, 0);
	answer->text[(size_t)(answer->rows - 1) * answer->columns + column] = keep(table, clean);
}

void worker_table_print(struct worker_table *table, uint32_t column, const char *format, ...)
{
	char words[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	worker_table_cell(table, column, words);
}

void worker_table_verdict(struct worker_table *table, const char *words)
{
	table->answer.verdict = keep(table, words);
}

void worker_table_trouble(struct worker_table *table, const char *words)
{
	struct worker_answer *answer = &table->answer;

	answer->trouble = keep(table, words);
	if (!*answer->trouble) /* no memory for the words */
		answer->trouble = mt_strerror(-MT_E_MEMORY);
	answer->verdict = "";
	answer->rows = answer->columns = 0;
	answer->cut = 0;
	worker_map_free(answer->map);
	answer->map = NULL;
}

void worker_table_finish(struct worker_table *table)
{
	struct worker_answer *answer = &table->answer;
	uint32_t row, column;
	int width;

	for (column = 0; column < answer->columns; column++) {
		answer->column[column].width = columns_of(answer->column[column].title);
		for (row = 0; row < answer->rows; row++) {
			width = columns_of(answer->text[(size_t)row * answer->columns + column]);
			if (width > answer->column[column].width)
				answer->column[column].width = width;
		}
	}
	if (table->failed && !*answer->trouble)
		worker_table_trouble(table, mt_strerror(-MT_E_MEMORY));
}

/* ---- what all answers share ---- */

int worker_stops(void *context)
{
	return ((struct worker *)context)->stop;
}

uint32_t worker_site(struct worker *worker, int64_t number)
{
	int known;

	model_lock(worker->model);
	known = number > 0 && number < worker->model->sites;
	model_unlock(worker->model);
	return known ? (uint32_t)number : 0;
}

const char *worker_place(char *out, size_t size, const char *function, const char *place)
{
	if (*function && *place)
		snprintf(out, size, "%s (%s)", function, place);
	else
		snprintf(out, size, "%s", *function ? function : *place ? place : "no stack was recorded");
	return out;
}
