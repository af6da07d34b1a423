/*
 * tui_kit.h - for tests of the screen: a run to look at, keys by their words, and screens as text. All work for the screen is done
 * at once, in this thread if possible.
 *
 *     struct kit *kit = kit_open(kit_rl_run(), NULL);
 *     kit_screen(kit, 80, 24, 256, 0);
 *     kit_keys(kit, "p Enter");
 *     CHECK(kit_shows(kit, "who freed it"));
 *     kit_close(kit);
 */
#ifndef TUI_KIT_H
#define TUI_KIT_H

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include "memtrace/error.h"
#include "screen/input/request.h"
#include "screen/view/app.h"
#include "source/source.h"
#include "test.h"
#include "trace_builder.h"

#define GIB (1024 * MIB)
#define KIT_TRACES_MAX 8

/* ---- a run: three steps of RL training on one GPU, the fourth runs out of memory ------------------------------- */

#define KIT_LAYERS 14
#define KIT_ADDRESS(number) (0x7f0000000000ull + (uint64_t)(number)*64 * GIB)

/* Numbers of addresses. Activations and gradients: one for each layer. */
enum kit_object {
	KIT_WEIGHTS = 0,
	KIT_ACTIVATIONS = 100,
	KIT_GRADIENTS = 200,
	KIT_STATE = 300,
	KIT_KV,
	KIT_LOGITS,
	KIT_BUCKET,
	KIT_KEPT = 400,
};

static inline void kit_wait(struct builder *builder, uint64_t milliseconds)
{
	builder->time += milliseconds * 1000000;
}

static inline uint32_t kit_stack(struct builder *builder, const char *caller, const char *function, const char *file,
				 uint32_t line)
{
	uint32_t main = builder_python(builder, 0, "main", "train.py", 210);

	return builder_python(builder, builder_python(builder, main, caller, "trainer.py", 40), function, file, line);
}

/* Memory of its own from the driver; the allocator keeps it when the tensor is freed, unless it is given back. */
static inline void kit_reserve(struct builder *builder, unsigned number, uint64_t size)
{
	builder_driver_alloc(builder, KIT_ADDRESS(number), size);
}

static inline void kit_alloc(struct builder *builder, unsigned number, uint64_t size, int reserve)
{
	if (reserve)
		kit_reserve(builder, number, size);
	builder_tensor_alloc(builder, KIT_ADDRESS(number), size);
}

static inline void kit_free(struct builder *builder, unsigned number, uint64_t size, int give_back)
{
	builder_tensor_free(builder, KIT_ADDRESS(number), size);
	if (give_back)
		builder_driver_free(builder, KIT_ADDRESS(number));
}

static inline void kit_run_init(struct builder *builder)
{
	unsigned layer;

	builder_phase(builder, "init");
	builder->stack = kit_stack(builder, "init_model", "load_layer", "model.py", 56);
	for (layer = 0; layer < KIT_LAYERS; layer++) {
		kit_wait(builder, 60);
		kit_alloc(builder, KIT_WEIGHTS + layer, GIB, 1);
	}
	builder_phase_end(builder);
}

static inline void kit_run_rollout(struct builder *builder)
{
	builder_phase(builder, "rollout");
	builder->stack = kit_stack(builder, "generate", "allocate_kv_cache", "engine.py", 88);
	kit_wait(builder, 40);
	kit_alloc(builder, KIT_KV, 26 * GIB, 1);
	kit_wait(builder, 800);
	kit_free(builder, KIT_KV, 26 * GIB, 1);
	builder_phase_end(builder);
	builder_phase(builder, "logprob");
	builder->stack = kit_stack(builder, "compute_log_prob", "logits", "model.py", 131);
	kit_wait(builder, 20);
	kit_alloc(builder, KIT_LOGITS, 5 * GIB, 1);
	kit_wait(builder, 160);
	kit_free(builder, KIT_LOGITS, 5 * GIB, 1);
	builder_phase_end(builder);
}

static inline void kit_run_forward(struct builder *builder, unsigned step)
{
	unsigned layer;

	builder_phase(builder, "forward");
	for (layer = 0; layer < KIT_LAYERS; layer++) {
		kit_wait(builder, 20);
		builder->stack = layer % 2 ? kit_stack(builder, "forward", "attention", "model.py", 95)
					   : kit_stack(builder, "forward", "mlp", "model.py", 112);
		kit_alloc(builder, KIT_ACTIVATIONS + layer, GIB + GIB / 2, step == 1);
	}
	builder->stack = kit_stack(builder, "forward", "keep_for_metrics", "metrics.py", 17);
	kit_alloc(builder, KIT_KEPT + step, 2 * GIB, 1);
	builder_phase_end(builder);
}

static inline void kit_run_backward(struct builder *builder, unsigned step)
{
	unsigned layer;

	builder_phase(builder, "backward");
	builder->stack = kit_stack(builder, "backward", "accumulate", "grad.py", 33);
	for (layer = KIT_LAYERS; layer-- > 0;) {
		kit_wait(builder, 40);
		kit_alloc(builder, KIT_GRADIENTS + layer, GIB, 1);
		kit_free(builder, KIT_ACTIVATIONS + layer, GIB + GIB / 2, 0);
	}
	builder_phase_end(builder);
	builder_phase(builder, "optimizer");
	builder->stack = kit_stack(builder, "update", "create_state", "optim.py", 64);
	kit_wait(builder, 30);
	if (step == 1)
		kit_alloc(builder, KIT_STATE, 10 * GIB, 1);
	kit_wait(builder, 120);
	builder->stack = kit_stack(builder, "update", "zero_grad", "optim.py", 80);
	for (layer = 0; layer < KIT_LAYERS; layer++)
		kit_free(builder, KIT_GRADIENTS + layer, GIB, 1);
	builder_phase_end(builder);
}

static inline void kit_run_update(struct builder *builder)
{
	builder_phase(builder, "weight-update");
	builder->stack = kit_stack(builder, "send_weights", "fill_bucket", "sync.py", 21);
	kit_alloc(builder, KIT_BUCKET, 2 * GIB, 1);
	kit_wait(builder, 90);
	kit_free(builder, KIT_BUCKET, 2 * GIB, 1);
	builder_phase_end(builder);
}

static inline void kit_run_step(struct builder *builder, unsigned step)
{
	kit_run_rollout(builder);
	kit_run_forward(builder, step);
	kit_run_backward(builder, step);
	kit_run_update(builder);
	builder_step(builder, step);
	CHECK_EQ(mt_writer_flush(builder->writer), 0);
}

/* Its init and three steps; the trace is still open. */
static inline void kit_begin_rl_run(struct builder *builder, const char *path)
{
	unsigned step;

	builder_open_on(builder, path, 4711, 0, 80 * GIB);
	builder->device = builder->cpu;
	builder->stack = kit_stack(builder, "init_model", "read_dataset", "data.py", 12);
	builder_tensor_alloc(builder, 0x1000000, 300 * MIB);
	builder->total = 0;
	builder->device = builder->cuda;
	kit_run_init(builder);
	for (step = 1; step <= 3; step++)
		kit_run_step(builder, step);
}

static inline void kit_write_rl_run(const char *path)
{
	struct builder builder;

	kit_begin_rl_run(&builder, path);
	kit_run_rollout(&builder);
	builder_phase(&builder, "forward");
	kit_wait(&builder, 20);
	builder.stack = kit_stack(&builder, "forward", "mlp", "model.py", 112);
	builder_event(&builder, (struct mt_event){ .kind = MT_TENSOR_OOM,
						   .device = builder.device,
						   .stack = builder.stack,
						   .size = 30 * GIB,
						   .total = builder.total,
						   .reserved = builder.total + 21 * GIB });
	builder_close(&builder);
}

/* ---- where things are ------------------------------------------------------------------------------------------ */

/* The source tree, found before anything goes elsewhere. */
static inline const char *kit_tree(void)
{
	static char path[512];

	if (!path[0] && getenv("SRC"))
		snprintf(path, sizeof(path), "%s", getenv("SRC"));
	if (!path[0])
		CHECK(getcwd(path, sizeof(path)));
	return path;
}

/* Goes to a folder of the test's own: screens show names of files, which should be the same in every run. */
static inline void kit_go_apart(void)
{
	const char *dir;

	kit_tree();
	dir = test_dir();
	CHECK(dir && !chdir(dir));
}

/* rl.zst in a folder of the test's own. */
static inline const char *kit_rl_run(void)
{
	kit_go_apart();
	kit_write_rl_run("rl.zst");
	return "rl.zst";
}

/* The traces of tests/cases/NAME.case, in a folder of the test's own; skips the test where make_case was not built. */
static inline void kit_play_case(const char *name)
{
	const char *build = getenv("BUILD");
	char command[1500];

	kit_go_apart();
	if (!build)
		SKIP("BUILD does not say where make_case is");
	snprintf(command, sizeof(command), "'%s/cases/make_case' '%s/tests/cases/%s.case' .", build, kit_tree(), name);
	CHECK_EQ(system(command), 0);
}

/* A snapshot of ../shared/data/snapshots, in a folder of the test's own; skips the test where it is not there. */
static inline const char *kit_snapshot(const char *name)
{
	static char path[1024];

	kit_go_apart();
	snprintf(path, sizeof(path), "%s/../shared/data/snapshots/%s.pickle", kit_tree(), name);
	if (access(path, R_OK))
		SKIP("the snapshots are not there (../shared/data/snapshots)");
	CHECK(!symlink(path, "snapshot.pickle"));
	return "snapshot.pickle";
}

/* A recording that lies in samples, in a folder of the test's own. */
static inline const char *kit_sample(const char *name)
{
	char path[1024];

	kit_go_apart();
	snprintf(path, sizeof(path), "%s/samples/%s", kit_tree(), name);
	CHECK(!symlink(path, name));
	return name;
}

/* ---- everything that works for the screen ---------------------------------------------------------------------- */

struct kit {
	struct source source;
	struct model model;
	struct feed *feed;
	struct worker *worker;
	struct app app;
	int shown; /* the app is open */
	char *path[KIT_TRACES_MAX];
	uint32_t paths;
};

/* Begins to read a trace, with a worker from the first moment on. */
static inline struct kit *kit_open_early(const char *path)
{
	struct kit *kit = calloc(1, sizeof(*kit));

	CHECK(kit);
	kit->path[kit->paths++] = strdup(path);
	CHECK_EQ(source_open_traces(&kit->source, kit->path, kit->paths), 0);
	CHECK_EQ(model_init(&kit->model), 0);
	CHECK_EQ(feed_new(&kit->feed, &kit->model, &kit->source), 0);
	CHECK_EQ(worker_new(&kit->worker, &kit->model, kit->feed, kit->path, kit->paths), 0);
	return kit;
}

/* Reads the traces, a list of paths that ends with NULL. The worker has named the sites and loaded its database. */
static inline struct kit *kit_open(const char *path, ...)
{
	struct kit *kit = calloc(1, sizeof(*kit));
	va_list more;

	CHECK(kit);
	va_start(more, path);
	for (; path; path = va_arg(more, const char *)) {
		CHECK(kit->paths < KIT_TRACES_MAX);
		kit->path[kit->paths++] = strdup(path);
	}
	va_end(more);
	CHECK_EQ(source_open_traces(&kit->source, kit->path, kit->paths), 0);
	CHECK_EQ(model_init(&kit->model), 0);
	CHECK_EQ(feed_new(&kit->feed, &kit->model, &kit->source), 0);
	feed_wait(kit->feed);
	CHECK_EQ(worker_new(&kit->worker, &kit->model, kit->feed, kit->path, kit->paths), 0);
	worker_wait(kit->worker);
	return kit;
}

/*
 * Follows a trace that is still being written, as far as `until`, ns. However long the test takes, the file is as good as new.
 */
static inline struct kit *kit_open_live(const char *path, uint64_t until)
{
	const struct timespec pause = { .tv_nsec = 2000000 },
			      later[] = { { time(NULL) + 3600, 0 }, { time(NULL) + 3600, 0 } };
	struct kit *kit = calloc(1, sizeof(*kit));
	int64_t last = 0, wanted;

	CHECK(kit && !utimensat(AT_FDCWD, path, later, 0));
	kit->path[kit->paths++] = strdup(path);
	CHECK_EQ(source_open_live(&kit->source, kit->path, kit->paths, SOURCE_PATIENTLY), 0);
	CHECK_EQ(kit->source.written, 1);
	wanted = (int64_t)(until - mt_reader_process(kit->source.input[0].reader)->start_monotonic);
	CHECK_EQ(model_init(&kit->model), 0);
	CHECK_EQ(feed_new(&kit->feed, &kit->model, &kit->source), 0);
	while (last < wanted) {
		model_lock(&kit->model);
		last = kit->model.last_time;
		model_unlock(&kit->model);
		nanosleep(&pause, NULL);
	}
	CHECK_EQ(worker_new(&kit->worker, &kit->model, kit->feed, kit->path, kit->paths), 0);
	worker_wait(kit->worker);
	return kit;
}

static inline void kit_no_screen(struct kit *kit)
{
	if (kit->shown)
		app_release(&kit->app);
	kit->shown = 0;
}

static inline void kit_close(struct kit *kit)
{
	uint32_t i;

	kit_no_screen(kit);
	worker_free(kit->worker);
	feed_free(kit->feed);
	model_release(&kit->model);
	source_release(&kit->source);
	for (i = 0; i < kit->paths; i++)
		free(kit->path[i]);
	free(kit);
}

/* The main loop's work between two keys: nothing is waited for. */
static inline void kit_glance(struct kit *kit)
{
	if (kit->app.quit)
		return;
	app_tick(&kit->app, 1 << 20);
	app_draw(&kit->app);
}

/* Draws what there is to be seen: answers that are waited for have come. */
static inline void kit_draw(struct kit *kit)
{
	struct view *view;
	int rounds;

	if (kit->app.quit)
		return;
	for (rounds = 0; rounds < 1000; rounds++) {
		while (app_tick(&kit->app, 1 << 20))
			;
		app_draw(&kit->app);
		view = kit->app.view;
		if (!view->ops->waits || !view->ops->waits(view))
			break;
		worker_wait(kit->worker);
	}
	CHECK(rounds < 1000); /* the answer comes */
}

/* Opens the app, once more if it was open. */
static inline void kit_screen(struct kit *kit, int width, int height, int colours, int ascii)
{
	kit_no_screen(kit);
	kit->shown = 1;
	CHECK_EQ(app_init(&kit->app, &kit->model, kit->worker, width, height, colours, ascii), 0);
	kit_draw(kit);
}

static inline void kit_resize(struct kit *kit, int width, int height)
{
	struct input input = { .kind = INPUT_RESIZE, .x = width, .y = height };

	app_input(&kit->app, &input);
	kit_draw(kit);
}

static inline void kit_mouse(struct kit *kit, enum mouse_button button, int x, int y)
{
	struct input input = { .kind = INPUT_MOUSE, .button = button, .x = x, .y = y };

	app_input(&kit->app, &input);
	kit_draw(kit);
}

static inline void kit_key(struct kit *kit, int key)
{
	struct input input = { .kind = INPUT_KEY, .key = key };

	app_input(&kit->app, &input);
	kit_draw(kit);
}

/* Presses keys, named as in the help, with blanks between them: "p Enter ^L". */
static inline void kit_keys(struct kit *kit, const char *words)
{
	char word[32];
	int length, key;

	for (; sscanf(words, " %31s%n", word, &length) == 1 && !kit->app.quit; words += length) {
		key = request_key_of_word(word);
		if (!key)
			printf("# there is no key \"%s\"\n", word);
		CHECK(key);
		kit_key(kit, key);
	}
}

/* Types a text of ASCII, for a prompt. */
static inline void kit_type(struct kit *kit, const char *text)
{
	for (; *text; text++)
		kit_key(kit, *text);
}

/* ---- screens as text ------------------------------------------------------------------------------------------- */

/* The caller's to free. */
static inline char *kit_text(struct kit *kit, int (*dump)(const struct canvas *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	CHECK(file && !dump(&kit->app.canvas, file) && !fclose(file));
	return text;
}

static inline char *kit_dump(struct kit *kit)
{
	return kit_text(kit, canvas_dump);
}

/* Whether the words are on the screen; prints the screen where they are not. */
static inline int kit_shows(struct kit *kit, const char *words)
{
	char *text = kit_dump(kit);
	int shows = strstr(text, words) != NULL;

	if (!shows)
		printf("# \"%s\" is not on the screen:\n%s", words, text);
	free(text);
	return shows;
}

/* ---- golden screens -------------------------------------------------------------------------------------------- */

static inline char *kit_read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	CHECK(text);
	if (file) {
		CHECK(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
		fclose(file);
	}
	return text;
}

static inline void kit_write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

/*
 * The screen, or its styles, is that of tests/golden/tui/NAME. With UPDATE_SCREENS set it becomes that: look at the
 * difference (git diff) before you believe it. 1: it is the same.
 */
static inline int kit_golden(struct kit *kit, const char *name, int (*dump)(const struct canvas *, FILE *))
{
	char path[1024], *text = kit_text(kit, dump), *golden;
	int same;

	snprintf(path, sizeof(path), "%s/tests/golden/tui/%s", kit_tree(), name);
	if (getenv("UPDATE_SCREENS"))
		kit_write_text(path, text);
	golden = kit_read_text(path);
	same = !strcmp(text, golden);
	if (!same)
		printf("# not as in %s:\n%s", path, text);
	free(golden);
	free(text);
	return same;
}

#endif
