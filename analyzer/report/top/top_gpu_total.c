#include "top.h"

#include <string.h>
#include "base/text.h"

#define WORD_COLUMNS 24

struct block {
	const struct text *text;
	const struct query_device *device;
};

/* Prints " context 400.0 MiB". */
static void print_line(const struct text *text, const char *word, int64_t bytes)
{
	char size[TEXT_SIZE_MAX], signed_size[TEXT_SIZE_MAX + 1];

	text_bytes(size, bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes);
	snprintf(signed_size, sizeof(signed_size), "%s%s", bytes < 0 ? "-" : "", size);
	text_print(text, "  %-*s %10s", WORD_COLUMNS, word, signed_size);
}

static void print_part(const struct text *text, const char *word, int64_t bytes)
{
	/* Unexplained bytes have a line, also if they are 0. */
	if (!bytes && strcmp(word, "unexplained"))
		return;
	print_line(text, word, bytes);
	text_print(text, "\n");
}

static void print_title(const struct block *block, const struct query_gpu_total *row)
{
	char time[TEXT_SIZE_MAX], age[TEXT_SIZE_MAX];
	int64_t after = row->time - block->device->peak.time;

	text_print(block->text, "\n");
	text_style(block->text, TEXT_HEAD);
	text_print(block->text, "What nvidia-smi counts, sampled at %s, %s %s the peak\n", text_time(time, row->time),
		   text_time(age, after < 0 ? -after : after), after < 0 ? "before" : "after");
	text_style(block->text, TEXT_PLAIN);
}

static void print_parts(const struct text *text, const struct query_gpu_total *row)
{
	print_part(text, "recorded then", (int64_t)row->recorded);
#define PRINT_PART(member, column, words) print_part(text, words, row->member);
	QUERY_GPU_TOTAL_LIST(PRINT_PART)
#undef PRINT_PART
	print_line(text,
		   row->absent          ? "these samples together"
		   : row->processes > 1 ? "these processes"
					: "this process",
		   (int64_t)row->process);
	text_print(text, "\n");
	print_part(text, "other processes", (int64_t)row->others);
}

static void print_unknown(const struct text *text, const struct query_gpu_total *row)
{
	print_part(text, "recorded then", (int64_t)row->recorded);
	print_part(text, "everything else", (int64_t)(row->used - row->recorded));
}

static void print_notes(const struct text *text, const struct query_gpu_total *row)
{
	struct sentence sentence = { .size = 0 };
	char all[64];

	if (row->absent)
		sentence_say(&sentence, "Of %s, %llu had a sample at that time; the rest counts as other processes. ",
			     text_count(all, sizeof(all), row->processes + row->absent, "recorded process"),
			     (unsigned long long)row->processes);
	if (!row->known)
		sentence_say(&sentence, "NVML does not tell which bytes are this process's: everything else is "
					"context, code, other processes and the unexplained.");
	else if (*row->mixed) {
		sentence_say(&sentence, "Requested between the same two samples, so one sum: ");
		sentence_say_clean(&sentence, row->mixed);
		sentence_say(&sentence, ".");
	}
	if (!sentence.size)
		return;
	text_style(text, TEXT_DIM);
	text_wrap(text, 2, 0, sentence.text);
	text_style(text, TEXT_PLAIN);
}

static int print_block(void *context, const struct query_gpu_total *row)
{
	struct block *block = context;
	char total[TEXT_SIZE_MAX];

	if (strcmp(row->peak, "peak"))
		return 0;
	print_title(block, row);
	if (row->known)
		print_parts(block->text, row);
	else
		print_unknown(block->text, row);
	print_line(block->text, "in use on the GPU", (int64_t)row->used);
	text_print(block->text, " of %s\n",
		   text_bytes(total, block->device->total ? block->device->total : row->total));
	print_notes(block->text, row);
	return 0;
}

int top_gpu_total(const struct text *text, struct db *db, const struct query_device *device)
{
	struct block block = { .text = text, .device = device };
	char size[TEXT_SIZE_MAX];

	if (device->peak.imported)
		text_print(text, "\n%s more is shared by another process, which counts it.\n",
			   text_bytes(size, device->peak.imported));
	return query_gpu_totals(db, device->id, print_block, &block);
}
