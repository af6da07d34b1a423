/* worker_kit.h - for tests of the worker: runs with known numbers, and asking. */
#ifndef WORKER_KIT_H
#define WORKER_KIT_H

#include <dirent.h>
#include "screen/worker/worker.h"
#include "tui_kit.h"

#define ANSWER_WITHIN 120 /* seconds: a worker that hangs fails here; a machine under load took 31 */

/* ---- runs with known numbers --------------------------------------------------------------------------------------- */

#define STEPS 5

/*
 * Each step: weights once (4 MiB, kept), two activations of 3 MiB that backward frees 20 us later, and a leak of 1 MiB.
 * The stack of each: main, then the function.
 */
static inline void write_steps(const char *path)
{
	struct builder m;
	uint32_t main_frame, weights, activations, leak, backward;
	uint64_t step, i;

	builder_open(&m, path, 100, -1);
	main_frame = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	weights = builder_python(&m, main_frame, "load", "/home/me/model.py", 7);
	activations = builder_python(&m, main_frame, "attention", "/home/me/model.py", 20);
	leak = builder_python(&m, main_frame, "keep", "/home/me/metrics.py", 3);
	backward = builder_python(&m, main_frame, "backward", "/home/me/train.py", 42);
	builder_phase(&m, "init");
	m.stack = weights;
	builder_tensor_alloc(&m, 0x100000000, 4 * MIB);
	builder_phase_end(&m);
	for (step = 1; step <= STEPS; step++) {
		builder_phase(&m, "forward");
		m.stack = activations;
		for (i = 0; i < 2; i++)
			builder_tensor_alloc(&m, 0x200000000 + i * 0x1000000, 3 * MIB);
		m.stack = leak;
		builder_tensor_alloc(&m, 0x300000000 + step * 0x1000000, MIB);
		builder_phase_end(&m);
		builder_phase(&m, "backward");
		m.stack = backward;
		m.time += 20000 - 5000;
		for (i = 0; i < 2; i++)
			builder_tensor_free(&m, 0x200000000 + i * 0x1000000, 3 * MIB);
		builder_phase_end(&m);
		builder_step(&m, step);
	}
	builder_close(&m);
}

/* Many short-lived tensors: something to load. */
static inline void write_long(const char *path, unsigned rounds)
{
	struct builder m;
	uint32_t stack[50];
	char name[32];
	unsigned i;

	builder_open(&m, path, 100, -1);
	for (i = 0; i < MT_ARRAY_SIZE(stack); i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		stack[i] = builder_python(&m, 0, name, "/home/me/model.py", i + 1);
	}
	builder_phase(&m, "forward");
	for (i = 0; i < rounds; i++) {
		m.stack = stack[i % MT_ARRAY_SIZE(stack)];
		builder_tensor_alloc(&m, 0x100000000 + i % 1000 * 0x100000, 4096);
		builder_tensor_free(&m, 0x100000000 + i % 1000 * 0x100000, 4096);
	}
	builder_close(&m);
}

/* A file of the test's own; TMPDIR becomes the folder that it lies in, where temporary files would be. */
static inline const char *new_path(void)
{
	static char path[512];
	const char *dir = test_dir();

	CHECK(dir && !setenv("TMPDIR", dir, 1));
	snprintf(path, sizeof(path), "%s/run.zst", dir);
	return path;
}

/* Files in TMPDIR beside the trace. */
static inline int files_left(void)
{
	DIR *folder = opendir(getenv("TMPDIR"));
	struct dirent *entry;
	int count = 0;

	CHECK(folder);
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.' && strcmp(entry->d_name, "run.zst");
	closedir(folder);
	return count;
}

/* ---- asking -------------------------------------------------------------------------------------------------------- */

static inline struct kit *open_steps(void)
{
	const char *path = new_path();

	alarm(ANSWER_WITHIN);
	write_steps(path);
	return kit_open(path, NULL);
}

static inline struct worker_answer *ask(struct kit *kit, const struct worker_question *question)
{
	uint32_t number = worker_ask(kit->worker, question);
	struct worker_answer *answer;

	CHECK(number);
	worker_wait(kit->worker);
	answer = worker_answer(kit->worker, number);
	CHECK(answer);
	CHECK(!worker_pending(kit->worker, number) && !worker_answer(kit->worker, number)); /* it is handed out once */
	return answer;
}

static inline struct worker_answer *ask_sql(struct kit *kit, const char *sql)
{
	struct worker_question question = { .kind = WORKER_SQL };

	mt_copy_text(question.text, sizeof(question.text), sql);
	return ask(kit, &question);
}

static inline const char *cell(const struct worker_answer *answer, uint32_t row, const char *column)
{
	uint32_t i;

	CHECK(row < answer->rows);
	for (i = 0; i < answer->columns; i++)
		if (!strcmp(answer->column[i].title, column))
			return answer->text[row * answer->columns + i];
	printf("# there is no column %s\n", column);
	CHECK(0);
	return "";
}

static inline int has(const char *text, const char *words)
{
	if (!strstr(text, words))
		printf("# \"%s\" is not in: %s\n", words, text);
	return strstr(text, words) != NULL;
}

/* The site whose function has this name. */
static inline uint32_t site_called(const struct kit *kit, const char *function)
{
	uint32_t i;

	for (i = 1; i < kit->model.sites; i++)
		if (kit->model.site[i].function && !strcmp(kit->model.site[i].function, function))
			return i;
	printf("# no site is called %s\n", function);
	CHECK(0);
	return 0;
}

#endif
