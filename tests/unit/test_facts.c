/* test_facts.c - an analysis from the facts of a trace is the analysis of the trace; other facts are none. */
#include <dirent.h>
#include <inttypes.h>
#include "database/db.h"
#include "facts/facts_course.h"
#include "facts/facts_kept.h"
#include "facts/facts_rows.h"
#include "facts/facts_state.h"
#include "facts_kit.h"
#include "trace_builder.h"
#include "trace_kit.h"

/* All traces of the folder that can have facts get them. */
static void seal_all(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[1024];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (strstr(entry->d_name, ".zst") && facts_kit_seal(path))
			printf("%s\n", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static const char *copy_of(const char *name)
{
	const char *path = kit_path("sealed.zst");
	char from[512];
	uint8_t *bytes;
	size_t size;

	snprintf(from, sizeof(from), "%s/tests/golden/%s.zst", getenv("SRC") ? getenv("SRC") : ".", name);
	bytes = kit_load(from, &size);
	kit_save(path, bytes, size);
	free(bytes);
	return path;
}

/* ---- the same analysis ---- */

/* All that facts are about, as bytes, after the analysis was settled; the caller frees. */
static uint8_t *bytes_of(const char *path, int full, size_t *size)
{
	struct facts_io io = { .writing = 1 };
	struct analysis_input input = { .file = path };
	struct mt_trace_state state;
	struct outlived_row *outlived;
	struct analysis analysis;
	uint32_t rows;

	CHECK(!mt_reader_open(&input.reader, path));
	CHECK(!(full ? analysis_run(&analysis, &input, 1, facts_kit_rules(), NULL)
		     : facts_run(&analysis, &input, 1, facts_kit_rules())));
	CHECK_EQ(analysis.facts != NULL, !full);
	state = *mt_reader_state(input.reader);
	facts_state(&io, &analysis);
	outlived = outlived_sorted(&analysis.process[0].outlived);
	rows = (uint32_t)analysis.process[0].outlived.rows;
	facts_outlived(&io, &outlived, &rows);
	free(outlived);
	facts_number(&io, &state.events);
	facts_number(&io, &state.file_bytes);
	CHECK(state.complete && !state.error);
	CHECK_EQ(io.error, 0);
	analysis_release(&analysis);
	mt_reader_free(input.reader);
	*size = io.size;
	return io.data;
}

static const char *const whole[] = { "v1-kinds", "v1-later",   "v1-kinds-more", "v1-skip",  "v1-samples",  "v1-census",
				     "v1-again", "v1-symbols", "v1-run",        "v1-nests", "v1-variants", "v1-keep" };

TEST(facts_are_the_analysis)
{
	const char *path;
	uint8_t *one, *two;
	size_t i, size, size_two, sealed = 0;

	for (i = 0; i < MT_ARRAY_SIZE(whole); i++) {
		path = copy_of(whole[i]);
		if (!facts_kit_seal(path)) {
			printf("# %s has no facts\n", whole[i]);
			continue;
		}
		sealed++;
		one = bytes_of(path, 0, &size);
		two = bytes_of(path, 1, &size_two);
		CHECK_EQ(size, size_two);
		CHECK(!memcmp(one, two, size));
		free(one);
		free(two);
	}
	CHECK(sealed >= MT_ARRAY_SIZE(whole) - 2);
}

/* ---- other facts ---- */

static int has_facts(const char *path, uint64_t identity)
{
	struct mt_reader *reader;
	uint8_t *data;
	size_t size;
	int found;

	if (mt_reader_open(&reader, path))
		return 0;
	found = mt_reader_facts(reader, identity, &data, &size);
	free(data);
	mt_reader_free(reader);
	return found;
}

TEST(facts_are_of_one_identity)
{
	const char *path = copy_of("v1-census");

	CHECK(facts_kit_seal(path));
	CHECK_EQ(has_facts(path, mt_facts_identity()), 1);
	CHECK_EQ(has_facts(path, mt_facts_identity() + 1), 0);
}

/* The offset of the facts in the file. */
static size_t end_of_events(const char *path)
{
	struct mt_reader *reader;
	const struct mt_chunk_info *list;
	uint32_t count;
	size_t end;

	CHECK(!mt_reader_open(&reader, path));
	list = mt_reader_chunks(reader, &count);
	CHECK_EQ(list[count - 1].kind, MT_CHUNK_FACTS);
	end = (size_t)list[count - 1].offset;
	mt_reader_free(reader);
	return end;
}

/* Any byte before the facts: the facts are of other bytes. */
TEST(facts_are_of_these_bytes)
{
	const char *path = copy_of("v1-census");
	uint8_t *bytes;
	size_t size, i, end;

	CHECK(facts_kit_seal(path));
	end = end_of_events(path);
	bytes = kit_load(path, &size);
	for (i = 0; i < end; i += 37) {
		bytes[i] ^= 0x10;
		kit_save(path, bytes, size);
		CHECK_EQ(has_facts(path, mt_facts_identity()), 0);
		bytes[i] ^= 0x10;
	}
	free(bytes);
}

/* ---- rows ---- */

#define RUN_ROWS 3000u

struct run_row {
	uint64_t number;
	uint32_t part;
	uint8_t flag;
};

static const struct facts_member run_members[] = { FACTS_MEMBER(run_row, number), FACTS_MEMBER(run_row, part),
						   FACTS_MEMBER(run_row, flag) };

/* Differences that are equal for a while, and none at all where `length` is 1. */
static void make_rows(struct run_row *row, struct kit_random *random, uint64_t length)
{
	uint64_t i, step = 0, number = kit_next(random);

	for (i = 0; i < RUN_ROWS; i++) {
		if (kit_below(random, length) == 0)
			step = kit_next(random);
		row[i] = (struct run_row){ number += step, (uint32_t)(i / length), (uint8_t)(step & 1) };
	}
}

TEST(rows_as_runs_come_back)
{
	static struct run_row row[RUN_ROWS], back[RUN_ROWS];
	struct facts_io to, from;
	struct kit_random random = { 11 };
	uint64_t length;
	size_t i;

	for (length = 1; length < 5000; length = length * 3 / 2 + 1) {
		memset(row, 0, sizeof(row));
		memset(back, 0, sizeof(back));
		make_rows(row, &random, length);
		to = (struct facts_io){ .writing = 1 };
		facts_runs(&to, row, sizeof(*row), RUN_ROWS, run_members, MT_ARRAY_SIZE(run_members));
		from = (struct facts_io){ .at = to.data, .end = to.data + to.size };
		facts_runs(&from, back, sizeof(*back), RUN_ROWS, run_members, MT_ARRAY_SIZE(run_members));
		CHECK(!to.error && !from.error && from.at == from.end);
		for (i = 0; i < RUN_ROWS; i++)
			CHECK(row[i].number == back[i].number && row[i].part == back[i].part &&
			      row[i].flag == back[i].flag);
		free(to.data);
	}
	CHECK(to.size < RUN_ROWS / 4);
}

TEST(a_run_beyond_the_rows_is_damage)
{
	static struct run_row back[4];
	const uint8_t bytes[] = { 0, 2, 2, 5 };
	struct facts_io from = { .at = bytes, .end = bytes + sizeof(bytes) };

	facts_runs(&from, back, sizeof(*back), 4, run_members, 1);
	CHECK_EQ(from.error, -MT_E_CORRUPT);
}

/* Lives of a run that are told, and rows that tell them. */
struct told {
	struct load_allocation_raw row;
	int64_t rows, allocations, bytes;
};

static void *take_sum(void *context, enum load_table table, int *error)
{
	struct told *told = context;

	*error = table != LOAD_allocation_raw;
	told->allocations += told->rows ? told->row.allocations : 0;
	told->bytes += told->rows++ ? told->row.bytes : 0;
	return &told->row;
}

TEST(an_interval_of_very_many_births)
{
	static struct told told;
	const struct row_maker maker = { .context = &told, .row = take_sum };
	struct load_sums sums = { .maker = &maker };
	struct load_death *death;
	uint32_t i;
	int64_t before;

	for (i = 1; i <= 300000; i++) {
		death = load_sums_gone(&sums, 0, 1, 0);
		CHECK(death != NULL);
		*death = (struct load_death){
			.memory = "tensor", .bytes = 8, .seq = 1000 + i, .site = i / 2, .step = i / 2 % 7
		};
	}
	before = told.rows;
	CHECK(before >= 131072 && !load_sums_finish(&sums));
	CHECK_EQ(take_sum(&told, LOAD_allocation_raw, &(int){ 0 }) == NULL, 0);
	CHECK_EQ(told.allocations, 300000);
	CHECK_EQ(told.bytes, 8 * 300000);
	load_sums_release(&sums);
}

/* Rows of lives that no instant sees are left out. Others come to a row for each pair of intervals and steps. */
TEST(a_row_of_no_allocation_is_damage)
{
	const int64_t counts[] = { 0, -1, INT64_MAX };
	const struct load_allocation_raw one = {
		.site = 1, .memory = "tensor", .free_seq = DB_CELL_NULL, .allocations = 1
	};
	struct load_sums sums;
	size_t i;

	for (i = 0; i < 3; i++) {
		struct load_allocation_raw row = one;

		sums = (struct load_sums){ 0 };
		row.allocations = counts[i];
		CHECK_EQ(load_sums_row(&sums, 0, &one), 0);
		CHECK_EQ(load_sums_row(&sums, 0, &row), -MT_E_CORRUPT);
		load_sums_release(&sums);
	}
}

TEST(fewer_instants_make_fewer_rows)
{
	static struct told told;
	const struct row_maker maker = { .context = &told, .row = take_sum };
	struct load_sums sums = { .maker = &maker, .seen_alone = 1 };
	struct load_allocation_raw row = { .site = 3, .memory = "tensor", .bytes = 8, .allocations = 2, .step = 1 };
	int64_t i;

	load_sums_instant(&sums, 0, 15);
	load_sums_instant(&sums, 0, 40);
	for (i = 0; i < 6; i++) {
		row.alloc_seq = 10 + i;
		row.free_seq = i < 3 ? 15 : 16 + i; /* the last three are alive at 15 */
		row.free_step = i < 4 ? 1 : 2;
		CHECK(!load_sums_row(&sums, 0, &row));
	}
	CHECK_EQ(told.rows, 0);
	row.alloc_seq = 20;
	row.free_seq = 41;
	CHECK(!load_sums_row(&sums, 0, &row));
	CHECK_EQ(told.rows, 2); /* deaths in steps 1 and 2 have one each; the newest waits */
	CHECK(!load_sums_finish(&sums));
	CHECK_EQ(told.rows, 3);
	take_sum(&told, LOAD_allocation_raw, &(int){ 0 });
	CHECK_EQ(told.allocations, 2 * 4);
	CHECK_EQ(told.bytes, 8 * 4);
	load_sums_release(&sums);
}

/* Passes, and the detail of lives that their facts keep. */
static const struct {
	uint32_t lives;
	uint64_t events;
	enum sums_detail detail;
} passes[] = {
	{ 1000, 0, SUMS_ALL },
	{ 4000, 1000, SUMS_BATCHES },
	{ 4000, 4000000, SUMS_ALL },
	{ 400000, 1u << 30, SUMS_NONE },
};

/* More bytes of lives than facts have room for, and more than half a byte for each event. */
TEST(too_many_lives_leave_the_other_rows)
{
	struct analysis_process process = { 0 };
	struct analysis analysis = { .process = &process, .processes = 1 };
	struct kit_random random = { 5 };
	struct facts_io io = { .writing = 1 }, from;
	struct phase_use_list use = { 0 };
	struct facts_rows rows;
	int error = 0;
	uint64_t *cell;
	size_t pass, i, k;

	for (pass = 0; pass < MT_ARRAY_SIZE(passes); pass++) {
		process.events = passes[pass].events;
		CHECK(!facts_rows_init(&rows, &analysis));
		for (i = 0; i < passes[pass].lives; i++) {
			cell = rows.maker.row(&rows, LOAD_allocation_raw, &error);
			for (k = 0; k < sizeof(struct load_allocation_raw) / sizeof(*cell); k++)
				cell[k] = kit_next(&random);
			((struct load_allocation_raw *)cell)->memory = "tensor";
			((struct load_allocation_raw *)cell)->allocations = 1;
		}
		memset(rows.maker.row(&rows, LOAD_mapping, &error), 0, sizeof(struct load_mapping));
		io = (struct facts_io){ .writing = 1 };
		facts_rows_write(&io, &rows);
		facts_rows_release(&rows);
		from = (struct facts_io){ .at = io.data, .end = io.data + io.size };
		CHECK(!io.error && !error);
		CHECK_EQ(facts_rows_are_there(from,
					      &(struct facts_taker){ .detail = passes[pass].detail, .use = &use }),
			 1);
		CHECK_EQ(facts_rows_are_there(from, &(struct facts_taker){ .detail = passes[pass].detail + 1 }), 0);
		CHECK_EQ(io.size > 1000, passes[pass].detail != SUMS_NONE);
		free(io.data);
	}
}

/* Takes rows, and looks at nothing. */
static void *take_row(void *context, enum load_table table, int *error)
{
	(void)table;
	*error = 0;
	return context;
}

static int take_change(void *context, const struct row_residence *change)
{
	(void)context;
	return change->process == INT64_MIN;
}

/* Adds lives to the moment that the facts have. */
static int take_lives(void *context, const struct kept_life *life, uint32_t lives)
{
	struct kept_moment *moment = context;
	struct kept_life *grown = realloc(moment->life, (moment->lives + lives) * sizeof(*grown));

	CHECK(grown != NULL);
	memcpy(grown + moment->lives, life, lives * sizeof(*grown));
	moment->life = grown;
	moment->lives += lives;
	return 0;
}

static void settle(struct analysis *run, struct facts_io *io, int of_a_moment)
{
	static unsigned detail;
	struct load_allocation_raw row[2];
	const struct row_maker maker = { .context = row, .row = take_row, .residence = take_change };
	struct facts_place *place = facts_places(run);
	struct row_freed freed = { 0 };
	struct kept_moment moment = { 0 };
	struct course_moves course = { 0 }, outline = { 0 };
	struct phase_use_list use = { 0 };
	const struct facts_taker taker = { &maker,
					   &freed,
					   of_a_moment ? SUMS_NONE : SUMS_STEPS + detail++ % 3,
					   of_a_moment ? &moment : NULL,
					   of_a_moment ? &course : NULL,
					   &outline,
					   &use,
					   of_a_moment ? take_lives : NULL,
					   &moment };

	CHECK(!analysis_settle(run));
	if (!of_a_moment || facts_rows_moment(*io, run, &taker) >= 0)
		CHECK(facts_rows_read(io, run, place, &taker, NULL) <= 1);
	row_freed_release(&freed);
	kept_moment_release(&moment);
	free(course.move);
	free(outline.move);
	free(use.row);
	free(place);
}

/* Made-up facts: refused, or an analysis that can be settled. */
static void settle_made_up(const char *path, uint8_t *data, size_t size)
{
	struct facts_io io = { .at = data, .end = data + size };
	struct analysis_input input = { .file = path };
	struct facts_joining joining;
	struct analysis run, one;
	uint8_t *facts;
	size_t facts_size;

	CHECK(!mt_reader_open(&input.reader, path));
	CHECK_EQ(mt_reader_facts(input.reader, mt_facts_identity(), &facts, &facts_size), 1);
	free(facts);
	CHECK(!analysis_begin(&run, &input, 1, facts_kit_rules()));
	CHECK(!analysis_begin(&one, &input, 1, facts_kit_rules()));
	facts_joining_init(&joining, &run);
	facts_state(&io, &one);
	if (!io.error)
		facts_guess_outlived(&io, &one);
	if (!io.error && facts_joining_add(&joining, &one, 0) == 1 && !facts_joining_end(&joining))
		settle(&run, &io, size % 2);
	facts_joining_release(&joining);
	analysis_release(&one);
	analysis_release(&run);
	mt_reader_free(input.reader);
}

TEST(made_up_facts)
{
	struct kit_random random = { 7 };
	uint8_t *data, *changed;
	struct mt_reader *reader;
	size_t i, size, place;

	for (place = 0; place < 2; place++) {
		const char *path = copy_of(place ? "v1-nests" : "v1-census");

		CHECK(facts_kit_seal(path));
		CHECK(!mt_reader_open(&reader, path));
		CHECK_EQ(mt_reader_facts(reader, mt_facts_identity(), &data, &size), 1);
		mt_reader_free(reader);
		changed = malloc(size);
		for (i = 0; i < 2000; i++) {
			memcpy(changed, data, size);
			changed[kit_below(&random, size)] = (uint8_t)kit_next(&random);
			settle_made_up(path, changed, i % 4 ? size : (size_t)kit_below(&random, size));
		}
		free(changed);
		free(data);
	}
}

/* ---- the moment of memana oom ---- */

/* The moment that the facts of the trace have; release it. `course`: with that of advice, which the caller frees; NULL: without. */
static struct kept_moment moment_of(const char *path, struct course_moves *course)
{
	struct load_allocation_raw row[2];
	const struct row_maker maker = { .context = row, .row = take_row, .residence = take_change };
	struct analysis_input input = { .file = path };
	struct kept_moment moment = { 0 };
	struct row_freed freed = { 0 };
	struct analysis analysis = { 0 };

	CHECK(!mt_reader_open(&input.reader, path));
	CHECK(facts_run_rows(&analysis, &input, 1, facts_kit_rules(),
			     &(struct facts_taker){ .maker = &maker,
						    .freed = &freed,
						    .moment = &moment,
						    .lives = take_lives,
						    .lives_context = &moment,
						    .course = course }) >= 0);
	row_freed_release(&freed);
	analysis_release(&analysis);
	mt_reader_free(input.reader);
	return moment;
}

TEST(facts_have_the_moment_of_memana_oom)
{
	const char *path = copy_of("v1-kinds");
	struct kept_moment moment;
	uint32_t i;

	CHECK(facts_kit_seal(path));
	moment = moment_of(path, NULL);
	CHECK(moment.there && moment.lives && moment.sums);
	for (i = 1; i < moment.lives && moment.life[i].gone_seq > moment.seq; i++)
		CHECK(moment.life[i].seq > moment.life[i - 1].seq);
	kept_moment_release(&moment);
}

TEST(lives_of_a_moment_come_in_lots_and_in_order)
{
	const char *path = kit_path("many-lives.zst");
	struct kept_moment moment;
	struct builder m;
	uint32_t i;

	builder_open(&m, path, 100, -1);
	m.stack = builder_python(&m, 0, "remember", "model.py", 7);
	for (i = 0; i < 5000; i++)
		builder_tensor_alloc(&m, 0x10000000 + (uint64_t)i * MIB, (i % 7 + 1) * 512);
	builder_close(&m);
	CHECK(facts_kit_seal(path));
	moment = moment_of(path, NULL);
	CHECK(moment.there);
	CHECK_EQ(moment.lives, 5000);
	for (i = 0; i < moment.lives; i++)
		CHECK(moment.life[i].bytes == (i % 7 + 1) * 512 && moment.life[i].gone_seq == KEPT_STAYS &&
		      moment.life[i].address == 0x10000000 + (uint64_t)i * MIB);
	kept_moment_release(&moment);
}

/* More steps than the pass has room for: the peak is in step 3, and is compared with step 2. */
TEST(a_peak_in_the_beginning_of_many_steps_is_kept)
{
	const char *path = kit_path("steps.zst");
	struct kept_moment moment;
	struct builder m;
	uint32_t step;

	builder_open(&m, path, 100, -1);
	m.stack = builder_python(&m, 0, "hidden_states", "model.py", 7);
	for (step = 1; step <= 70000; step++) {
		builder_phase(&m, "forward");
		builder_tensor_alloc(&m, 0x10000000, (step == 3 ? 2 : 1) * MIB);
		builder_tensor_free(&m, 0x10000000, (step == 3 ? 2 : 1) * MIB);
		builder_phase_end(&m);
		builder_step(&m, step);
	}
	builder_close(&m);
	CHECK(facts_kit_seal(path));
	moment = moment_of(path, NULL);
	CHECK(moment.there && moment.before == KEPT_STEP_BEFORE && moment.before_seq && moment.before_seq < moment.seq);
	CHECK(moment.lives && moment.life[0].step == 3 && moment.life[0].bytes == 2 * MIB);
	kept_moment_release(&moment);
}

/* ---- the same of many ranks ---- */

#define RANKS 12u
#define FAILING 11u /* its request fails */
#define EARLY 10u   /* begins first, and is not compared */

/* Two lives, of which one is over; a GPU of its own. */
static void write_rank(const char *path, uint32_t rank)
{
	char uuid[32];
	struct builder m;

	builder_start = BUILDER_START + (rank == EARLY ? 0 : 1000000u * (RANKS - rank));
	snprintf(uuid, sizeof(uuid), "GPU-of-%u", rank);
	builder_open(&m, path, 100 + rank, (int)rank);
	m.device = builder_device(&m, MT_DEVICE_CUDA, rank, "Test GPU", uuid, 1024 * MIB);
	m.stack = builder_python(&m, 0, "hidden_states", "model.py", 7);
	builder_phase(&m, "forward");
	builder_driver_alloc(&m, 0x10000000, 64 * MIB);
	builder_tensor_alloc(&m, 0x10000000, MIB);
	builder_tensor_alloc(&m, 0x10000000 + MIB, (1 + rank) * MIB);
	builder_tensor_free(&m, 0x10000000, MIB);
	if (rank == FAILING)
		builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_OOM,
						     .device = m.device,
						     .stack = m.stack,
						     .size = 4096 * MIB });
	builder_phase_end(&m);
	builder_close(&m);
	builder_start = BUILDER_START;
}

static void open_ranks(struct analysis_input input[RANKS])
{
	static char path[RANKS][32];
	uint32_t i;

	for (i = 0; i < RANKS; i++) {
		snprintf(path[i], sizeof(path[i]), "rank%u.zst", i);
		write_rank(path[i], i);
		CHECK(facts_kit_seal(path[i]));
		input[i] = (struct analysis_input){ .file = path[i] };
		CHECK(!mt_reader_open(&input[i].reader, path[i]));
	}
}

static void moment_of_all_events(struct analysis *analysis, const struct analysis_input *input,
				 struct kept_moment *moment)
{
	struct load_allocation_raw row[2];
	const struct row_maker maker = { .context = row, .row = take_row, .residence = take_change };
	struct kept *kept = kept_new(analysis, 0);
	struct analysis_sink sink;
	struct row_sink rows;
	uint32_t i;

	for (i = 0; i < RANKS; i++)
		mt_reader_rewind(input[i].reader);
	row_sink_init(&rows, &sink, analysis, &maker, 0);
	row_sink_keep(&rows, &sink, kept, 1);
	CHECK(!analysis_run(analysis, input, RANKS, facts_kit_rules(), &sink));
	CHECK(!kept_find(kept, moment));
	row_sink_release(&rows);
	kept_free(kept);
}

static int same_life(const struct kept_life *one, const struct kept_life *two)
{
	return one->site == two->site && one->seq == two->seq && one->time == two->time &&
	       one->gone_seq == two->gone_seq && one->gone_time == two->gone_time && one->bytes == two->bytes;
}

static int same_sum(const struct kept_sum *one, const struct kept_sum *two)
{
	return one->site == two->site && one->died == two->died && one->home == two->home && one->made == two->made &&
	       one->freed == two->freed && one->before_bytes == two->before_bytes;
}

/* `few` has what `all` has of the processes 0 .. KEPT_PEERS - 1 and FAILING, and nothing of others. */
static void check_moments(const struct analysis *run, const struct kept_moment *few, const struct kept_moment *all)
{
	uint32_t i, k, process, lives = 0, sums = 0;

	for (i = 0; i < all->lives; i++) {
		process = run->attribution.site[all->life[i].site].key.process;
		for (k = 0; k < few->lives && !same_life(&few->life[k], &all->life[i]); k++)
			;
		CHECK_EQ(k < few->lives, process < KEPT_PEERS || process == FAILING);
		lives += k < few->lives;
	}
	for (i = 0; i < all->sums; i++) {
		process = run->attribution.site[all->sum[i].site].key.process;
		for (k = 0; k < few->sums && !same_sum(&few->sum[k], &all->sum[i]); k++)
			;
		CHECK_EQ(k < few->sums, process < KEPT_PEERS || process == FAILING);
		sums += k < few->sums;
	}
	CHECK_EQ(lives, few->lives);
	CHECK_EQ(sums, few->sums);
	CHECK(few->lives >= 1 + KEPT_PEERS && few->sums >= 1 + KEPT_PEERS);
}

/* Facts tell which ranks are compared: no event of the others is read. */
TEST(the_moment_of_many_ranks_needs_events_of_nine)
{
	struct load_allocation_raw row[2];
	const struct row_maker maker = { .context = row, .row = take_row, .residence = take_change };
	struct analysis_input input[RANKS];
	struct kept_moment few = { 0 }, all = { 0 };
	struct row_freed freed = { 0 };
	struct analysis run = { 0 }, full = { 0 };
	uint32_t i;

	open_ranks(input);
	CHECK_EQ(facts_run_rows(&run, input, RANKS, facts_kit_rules(),
				&(struct facts_taker){ .maker = &maker, .freed = &freed, .moment = &few }),
		 1);
	moment_of_all_events(&full, input, &all);
	CHECK(few.there && all.there);
	CHECK_EQ(few.process, FAILING);
	CHECK_EQ(few.process, all.process);
	CHECK_EQ(few.device, all.device);
	CHECK_EQ(few.seq, all.seq);
	check_moments(&full, &few, &all);
	row_freed_release(&freed);
	kept_moment_release(&few);
	kept_moment_release(&all);
	analysis_release(&run);
	analysis_release(&full);
	for (i = 0; i < RANKS; i++)
		mt_reader_free(input[i].reader);
}

/* The most detail of lives in the facts of the trace. */
static enum sums_detail detail_of(const char *path)
{
	struct load_allocation_raw row[2];
	const struct row_maker maker = { .context = row, .row = take_row, .residence = take_change };
	struct facts_taker taker = { .maker = &maker, .detail = SUMS_ALL };
	struct analysis_input input = { .file = path };
	struct row_freed freed = { 0 };
	struct analysis analysis = { 0 };
	int found = 0;

	taker.freed = &freed;
	CHECK(!mt_reader_open(&input.reader, path));
	for (; taker.detail && !found; taker.detail -= !found) {
		found = facts_run_rows(&analysis, &input, 1, facts_kit_rules(), &taker);
		CHECK(found >= 0);
		if (found)
			analysis_release(&analysis);
	}
	row_freed_release(&freed);
	mt_reader_free(input.reader);
	return taker.detail;
}

/* "NUMBER:TRACE": the trace gets facts with room for NUMBER bytes of lives, or for NUMBER rows. Prints their detail. */
static void seal_small(const char *argument, int is_rows)
{
	char *path;
	uint64_t number = strtoull(argument, &path, 10);

	if (is_rows)
		facts_rows_most = (uint32_t)number;
	else
		facts_rows_room = number;
	CHECK(facts_kit_seal(++path));
	printf("%d\n", (int)detail_of(path));
}

/*
 * For tests of commands: --write FOLDER gives the folder's traces facts. --write untrue:TRACE gives it untrue ones. --write
 * room:BYTES:TRACE and rows:NUMBER:TRACE are seal_small. --write TRACE prints the event of the moment in its facts, and --write
 * course:TRACE the number of moves for advice.
 */
static void write_for_tests(const char *path)
{
	struct course_moves course = { 0 };
	struct kept_moment moment;

	if (!strncmp(path, "untrue:", 7)) {
		facts_kit_is_untrue = 1;
		exit(!facts_kit_seal(path + 7));
	}
	if (!strncmp(path, "course:", 7)) {
		moment = moment_of(path + 7, &course);
		printf("%" PRIu32 "\n", course.moves);
		kept_moment_release(&moment);
		free(course.move);
		return;
	}
	if (!strncmp(path, "room:", 5) || !strncmp(path, "rows:", 5)) {
		seal_small(path + 5, path[2] == 'w');
		return;
	}
	if (!strstr(path, ".zst")) {
		seal_all(path);
		return;
	}
	moment = moment_of(path, NULL);
	if (moment.there)
		printf("%" PRIu64 "\n", moment.seq);
	kept_moment_release(&moment);
}

TEST_MAIN_WRITE(write_for_tests)
