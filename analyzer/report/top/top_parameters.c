/* PyTorch's names for its parameters: `top --by parameter`, and "parameters" in JSON. */
#include <stdio.h>
#include <string.h>
#include "query/query.h"
#include "report/answer.h"
#include "top.h"

#define NAME_COLUMNS 34

struct table {
	const struct text *text;
	uint64_t all; /* bytes of all parameters of the census */
	int rows;
};

static void print_figures(const struct text *text, const struct query_parameter *row)
{
	const uint64_t figure[] = { row->bytes, row->weights + row->buffers, row->gradients, row->state + row->master };
	char size[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < sizeof(figure) / sizeof(figure[0]); i++)
		text_print(text, "%10s ", figure[i] || !i ? text_bytes(size, figure[i]) : "-");
}

/* Prints "24 of 4864x896 bfloat16, AdamW#1, Qwen2ForCausalLM#1". */
static void print_details(const struct text *text, const struct query_parameter *row)
{
	struct sentence sentence = { 0 };
	char count[TEXT_SIZE_MAX], clean[128];

	if (row->count > 1)
		sentence_say(&sentence, "%s of ", text_number(count, row->count));
	sentence_say(&sentence, "%s ", text_fit(clean, sizeof(clean), *row->shape ? row->shape : "one number", 40, 0));
	sentence_say(&sentence, "%s, ", text_fit(clean, sizeof(clean), row->dtype, 20, 0));
	sentence_say(&sentence, "%s",
		     text_fit(clean, sizeof(clean), *row->optimizer ? row->optimizer : "no optimizer", 40, 0));
	if (*row->model)
		sentence_say(&sentence, ", %s", text_fit(clean, sizeof(clean), row->model, 40, 1));
	if (row->processes > 1)
		sentence_say(&sentence, ", in %s processes", text_number(count, row->processes));
	text_style(text, TEXT_DIM);
	text_wrap(text, 12, 0, sentence.text);
	text_style(text, TEXT_PLAIN);
}

static int print_row(void *context, const struct query_parameter *row)
{
	struct table *table = context;
	char name[256];

	if (!row->bytes)
		return 0;
	print_figures(table->text, row);
	text_print(table->text, " %s\n",
		   text_fit(name, sizeof(name), *row->name ? row->name : "(no name)", NAME_COLUMNS, 1));
	print_details(table->text, row);
	return 0;
}

static int print_sum(void *context, const struct query_parameter *row)
{
	struct table *table = context;
	char count[64];

	answer_title(table->text, "By parameter, as PyTorch said (census)");
	text_print(table->text, "%10s %10s %10s %10s\n", "all", "weights", "gradients", "optimizer");
	print_figures(table->text, row);
	text_print(table->text, " %s\n", text_count(count, sizeof(count), row->count, "parameter"));
	table->rows++;
	return 0;
}

int top_parameters_text(const struct text *text, struct db *db, int64_t limit)
{
	struct table table = { .text = text };
	int error = query_parameter_sum(db, print_sum, &table);

	if (error)
		return error;
	if (!table.rows) {
		text_print(text, "\n");
		text_wrap(text, 0, 0,
			  "No census: PyTorch did not say what its parameters are. It is asked after the first two "
			  "steps of an optimizer, and where there is none, after 20 s.");
		return 0;
	}
	return query_parameters(db, limit, print_row, &table);
}

static int json_row(void *context, const struct query_parameter *row)
{
	struct doc *doc = context;

	doc_object(doc, NULL);
	doc_string(doc, "name", row->name);
	doc_string(doc, "model", row->model);
	doc_string(doc, "module", row->module);
	doc_string(doc, "optimizer", row->optimizer);
	doc_string(doc, "dtype", row->dtype);
	doc_string(doc, "shape", row->shape);
	doc_int(doc, "count", (int64_t)row->count);
	doc_int(doc, "processes", (int64_t)row->processes);
	doc_int(doc, "bytes", (int64_t)row->bytes);
#define JSON_BYTES(member, word) doc_int(doc, #member "_bytes", (int64_t)row->member);
	QUERY_PARAMETER_LIST(JSON_BYTES)
#undef JSON_BYTES
	doc_end(doc);
	return 0;
}

int top_parameters_json(struct doc *doc, struct db *db, int64_t limit)
{
	int error;

	doc_array(doc, "parameters");
	error = query_parameters(db, limit, json_row, doc);
	doc_end(doc);
	return error;
}
