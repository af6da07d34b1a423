#include "balance.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "gpu_moment.h"

static int take_sample(void *context, const struct query_gpu_total *row)
{
	struct balance *balance = context;

	if (strcmp(row->peak, "peak"))
		return 0;
	balance->sample = *row;
	balance->sample.peak = balance->sample.mixed = "";
	balance->sampled = row->known;
	return 0;
}

/* Drops the table of this moment afterwards: other questions are about the peaks. */
static int load_sample(struct balance *balance, const struct balance_question *question, struct db *db)
{
	char moments[96];
	int error, dropped;

	snprintf(moments, sizeof(moments), "SELECT device, time, process FROM oom WHERE id = %lld",
		 (long long)question->oom);
	error = gpu_moment_totals(db, moments);
	if (!error)
		error = query_gpu_totals(db, question->device, take_sample, balance);
	dropped = db_execute(db, "DROP TABLE IF EXISTS temp.gpu_total");
	return error ? error : dropped;
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

/*
 * Subtracts known bytes from the bytes of others. In a sample, these include all processes without a sample: also processes of the run and, with old
 * drivers, the driver.
 */
static void leave_others(struct balance *balance)
{
	struct query_gpu_total *sample = &balance->sample;

	sample->others = less(sample->others, less(sample->total, balance->total));
	if (sample->absent)
		sample->others = less(sample->others, less(balance->recorded, sample->recorded));
}

static int64_t counted(const struct balance *balance)
{
	int64_t sum = 0;

	if (!balance->sampled)
		return 0;
#define BALANCE_ADD(member, column, words) sum += balance->sample.member;
	QUERY_GPU_TOTAL_LIST(BALANCE_ADD)
#undef BALANCE_ADD
	return sum + (int64_t)balance->sample.others;
}

/* Sets the free bytes. If no source has them, the unknown rest counts as free, unless the request would fit. */
static void find_free(struct balance *balance, const struct balance_question *question)
{
	if (strcmp(question->free_by, "bound") != 0)
		balance->free = question->free;
	else if (balance->total && balance->sampled && balance->unknown >= 0 &&
		 (uint64_t)balance->unknown < question->requested)
		balance->free = balance->unknown;
	if (balance->free > 0)
		balance->unknown -= balance->free;
}

int balance_load(struct balance *balance, const struct balance_question *question, struct db *db)
{
	int error;

	*balance = (struct balance){ .total = question->total, .free = -1, .recorded = question->recorded };
	error = load_sample(balance, question, db);
	if (balance->sampled)
		leave_others(balance);
	balance->later = balance->sample.time - question->time;
	balance->unknown = (int64_t)balance->total - (int64_t)balance->recorded - counted(balance);
	find_free(balance, question);
	return error;
}

int64_t balance_unrecorded(const struct balance *balance)
{
	int64_t rest = (int64_t)balance->total - (int64_t)balance->recorded - balance->free;

	return !balance->total || balance->free < 0 ? -1 : rest > 0 ? rest : 0;
}

/* ---- as rows ---- */

/* Writes the source of the row, "by nvidia-smi's count 17.5 ms later". */
static const char *say_sample(char *note, size_t size, int64_t later)
{
	char time[TEXT_SIZE_MAX];

	snprintf(note, size, "by nvidia-smi's count %s %s", text_time(time, later < 0 ? -later : later),
		 later < 0 ? "before" : "later");
	return note;
}

static void give_counted(const struct balance *balance, balance_row *row, void *context)
{
	const struct query_gpu_total *sample = &balance->sample;
	char text[80];
	const char *note = say_sample(text, sizeof(text), balance->later);

#define BALANCE_ROW(member, column, words)                 \
	if (sample->member) {                              \
		row(context, words, sample->member, note); \
		note = "";                                 \
	}
	QUERY_GPU_TOTAL_LIST(BALANCE_ROW)
#undef BALANCE_ROW
	row(context, "other processes", (int64_t)sample->others,
	    sample->absent ? "and contexts of processes without a sample" : note);
}

void balance_rows(const struct balance *balance, balance_row *row, void *context)
{
	if (!balance->total)
		return;
	if (balance->sampled)
		give_counted(balance, row, context);
	if (!balance->unknown)
		return;
	if (balance->free < 0)
		row(context, "free, or not recorded", balance->unknown, "no call told the free bytes");
	else if (balance->sampled)
		row(context, "changed in between", balance->unknown, "from the request to that count");
	else
		row(context, "not recorded", balance->unknown, "contexts, code, other processes");
}

/* ---- as JSON ---- */

void balance_json(struct doc *doc, const struct balance *balance)
{
	const struct query_gpu_total *sample = &balance->sample;
	int sampled = balance->sampled;

	if (!balance->total) {
		doc_null(doc, "balance");
		return;
	}
	doc_object(doc, "balance");
	doc_int(doc, "total_bytes", (int64_t)balance->total);
	doc_int_or_null(doc, "free_bytes", balance->free, balance->free >= 0);
	doc_int(doc, "recorded_bytes", (int64_t)balance->recorded);
	doc_int_or_null(doc, "sampled_at_ns", sample->time, sampled);
	doc_int_or_null(doc, "sampled_processes", (int64_t)sample->processes, sampled);
	doc_int_or_null(doc, "absent_processes", (int64_t)sample->absent, sampled);
#define BALANCE_JSON(member, column, words) doc_int_or_null(doc, #column, sample->member, sampled);
	QUERY_GPU_TOTAL_LIST(BALANCE_JSON)
#undef BALANCE_JSON
	doc_int_or_null(doc, "other_processes_bytes", (int64_t)sample->others, sampled);
	doc_int(doc, "unknown_bytes", balance->unknown);
	doc_end(doc);
}
