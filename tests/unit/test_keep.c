/*
 * test_keep.c - the flight recorder. After any cut the file is a trace with the right live set at its beginning, and with the number
 * of cut events. Out-of-memory errors stay in the file with the steps before them.
 */
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include "memtrace/ledger.h"
#include "memtrace/phase.h"
#include "trace/defs.h"
#include "trace_kit.h"

#define KEEP (96u << 10)
#define STEP_EVENTS 400u /* in a step of the program that is played */
#define SLOTS 300u       /* tensors it has at most */
#define SEGMENT (1ull << 30)

/* ---- a program --------------------------------------------------------------------------------------------------- */

/* Everything that was ever written; seq of events[i] is 64 * (i + 1). */
struct play {
	struct kit_random random;
	struct mt_writer *writer;
	const char *path;
	struct mt_event *events;
	uint32_t *ranges; /* ranges open after event i */
	size_t count, room;
	uint64_t addr[SLOTS], size[SLOTS]; /* addresses and sizes of live tensors, 0: none */
	uint64_t held;
	uint32_t step, open;
	size_t rotations;
	uint64_t oom_at[64]; /* seqs of them */
	uint32_t oom_step[64];
	size_t ooms;
};

static uint32_t name_of(struct play *play, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %zu", what, play->count);
	return mt_defs_add_name(mt_writer_defs(play->writer), text, strlen(text));
}

static struct mt_event make_tensor(struct play *play)
{
	struct mt_event event = { .kind = MT_TENSOR_FREE, .device = 1 };
	size_t slot = kit_below(&play->random, SLOTS);

	if (!play->addr[slot]) {
		event.kind = MT_TENSOR_ALLOC;
		play->addr[slot] = SEGMENT + (kit_below(&play->random, 1 << 16) * SLOTS + slot) * 4096;
		play->size[slot] = 512 * (1 + kit_below(&play->random, 8));
		play->held += play->size[slot];
	} else {
		play->held -= play->size[slot];
	}
	event.addr = play->addr[slot];
	event.size = play->size[slot];
	event.total = play->held;
	event.reserved = SEGMENT;
	if (event.kind == MT_TENSOR_FREE)
		play->addr[slot] = 0;
	return event;
}

static struct mt_event make_memory(struct play *play)
{
	struct mt_event event = { .addr = SEGMENT / 2 + kit_below(&play->random, 64) * (1 << 20) };

	event.kind = kit_below(&play->random, 3) ? MT_DRIVER_ALLOC : MT_DRIVER_FREE;
	if (event.kind == MT_DRIVER_ALLOC) {
		event.device = 1;
		event.size = 1 << 20;
		event.handle = 0xc0de;
	}
	return event;
}

static struct mt_event make_range(struct play *play)
{
	struct mt_event event = { .kind = MT_RANGE_PUSH };

	if (play->open && kit_below(&play->random, 2)) {
		event.kind = MT_RANGE_POP;
		play->open--;
	} else {
		event.name = name_of(play, "range");
		play->open++;
	}
	return event;
}

/* The program's next action; `oom` 1: it runs out of memory. */
static struct mt_event next_event(struct play *play, int oom)
{
	struct mt_event event;
	uint64_t what = kit_below(&play->random, 100);

	if (oom)
		return (struct mt_event){ .kind = MT_TENSOR_OOM, .device = 1, .size = 1ull << 40 };
	if (play->count % STEP_EVENTS == STEP_EVENTS - 1)
		return (struct mt_event){ .kind = MT_STEP, .value = play->step++, .name = name_of(play, "step") };
	if (what < 4 && play->open < 20)
		return make_range(play);
	if (what < 8)
		return make_memory(play);
	if (what == 8)
		return (struct mt_event){ .kind = MT_LOST,
					  .value = 1 + kit_below(&play->random, 3),
					  .flags = kit_below(&play->random, 2) };
	event = (struct mt_event){ .kind = MT_SOURCE, .flags = kit_below(&play->random, 3), .value = MT_SOURCE_ON };
	if (what == 9)
		event.name = name_of(play, "why");
	else
		event = make_tensor(play);
	return event;
}

static void remember(struct play *play, const struct mt_event *event)
{
	if (play->count == play->room) {
		play->room = play->room ? 2 * play->room : 1 << 14;
		play->events = realloc(play->events, play->room * sizeof(*event));
		play->ranges = realloc(play->ranges, play->room * sizeof(*play->ranges));
		CHECK(play->events && play->ranges);
	}
	play->ranges[play->count] = play->open;
	play->events[play->count++] = *event;
}

static void play_one(struct play *play, int oom)
{
	struct mt_event event = next_event(play, oom);
	uint64_t before = mt_writer_bytes(play->writer);
	int error;

	event.seq = 64 * (play->count + 1);
	event.time = 1000 * event.seq;
	event.thread = 1;
	if (oom && play->ooms < MT_ARRAY_SIZE(play->oom_at)) {
		play->oom_at[play->ooms] = event.seq;
		play->oom_step[play->ooms++] = play->step;
	}
	remember(play, &event);
	error = mt_writer_event(play->writer, &event, MT_PHASE_FORWARD, play->step);
	CHECK(!error || error == -MT_E_SPACE);
	mt_writer_trim(play->writer);
	play->rotations += mt_writer_bytes(play->writer) < before;
}

static void play_on(struct play *play, size_t events)
{
	while (events--)
		play_one(play, 0);
}

static const struct mt_writer_options options = { .keep = KEEP, .chunk_events = 256 };

static void define(struct mt_defs *defs)
{
	mt_defs_add_thread(defs, &(struct mt_thread){ .tid = 7,
						      .name = mt_defs_add_string(defs, "main", 4),
						      .flags = MT_THREAD_MAIN });
	mt_defs_add_device(defs, &(struct mt_device){ .kind = MT_DEVICE_CUDA, .total = 80ull << 30 });
}

static void begin(struct play *play, const char *path, uint64_t seed)
{
	memset(play, 0, sizeof(*play));
	play->random.state = seed;
	play->step = 1;
	play->path = path;
	CHECK_EQ(mt_writer_open(&play->writer, path, &kit_process, &options), 0);
	define(mt_writer_defs(play->writer));
}

static void release(struct play *play)
{
	free(play->events);
	free(play->ranges);
}

/* ---- what must hold of the file ---------------------------------------------------------------------------------- */

struct found {
	uint64_t events, cut, lost, steps; /* steps: number of the newest one that is told of */
	size_t stretches, first;           /* first: index of the first event that is there */
	uint8_t *has;                      /* by index of the event */
};

/* A reader's view, event by event. */
struct check {
	const struct play *play;
	struct mt_reader *reader;
	struct found found;
	size_t next; /* index of the event that must come */
	int cutting; /* inside a carry */
	uint32_t open;
};

static void check_name(const struct check *check, uint64_t id, const char *what, size_t index)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %zu", what, index);
	CHECK_STR(mt_defs_string(mt_reader_defs(check->reader), (uint32_t)id), text);
}

static void check_names(const struct check *check, const struct mt_event *event, size_t index)
{
	if (event->kind == MT_STEP)
		check_name(check, event->name, "step", index);
	if (event->kind == MT_RANGE_PUSH)
		check_name(check, event->name, "range", index);
	if (event->kind == MT_SOURCE)
		check_name(check, event->name, "why", index);
}

/* One event that stands for those that are gone. */
static void take_carried(struct check *check, const struct mt_event *event)
{
	const char *text = mt_defs_string(mt_reader_defs(check->reader), (uint32_t)event->name);

	switch (event->kind) {
	case MT_CUT:
		CHECK(!check->cutting);
		check->cutting = 1;
		check->open = 0;
		check->found.cut += event->value;
		break;
	case MT_STEP:
		CHECK(!strncmp(text, "step ", 5));
		check->found.steps = event->value;
		break;
	case MT_LOST:
		check->found.lost += event->value;
		break;
	case MT_SOURCE:
		CHECK(!strncmp(text, "why ", 4));
		break;
	default:
		CHECK_EQ(event->kind, MT_RANGE_PUSH);
		CHECK(!strncmp(text, "range ", 6));
		check->open++;
	}
}

static void take_event(struct check *check, const struct mt_event *event)
{
	struct mt_event want;

	CHECK(check->next < check->play->count);
	want = check->play->events[check->next];
	want.name = event->name; /* ids may have changed; the text is looked at */
	CHECK(kit_same_event(event, &want));
	check_names(check, event, check->next);
	if (event->kind == MT_STEP)
		check->found.steps = event->value;
	if (event->kind == MT_LOST)
		check->found.lost += event->value;
	check->found.has[check->next++] = 1;
	check->found.events++;
}

static uint64_t lost_before(const struct play *play, size_t count)
{
	uint64_t lost = 0;
	size_t i;

	for (i = 0; i < count; i++)
		lost += play->events[i].kind == MT_LOST ? play->events[i].value : 0;
	return lost;
}

/* The live set after the first `count` events of the program. */
static void check_live(const struct play *play, size_t count, const struct mt_event *live, size_t lives)
{
	struct mt_ledger *want = mt_ledger_new(NULL, NULL), *got = mt_ledger_new(NULL, NULL);
	size_t i;

	for (i = 0; i < count; i++)
		CHECK_EQ(mt_ledger_event(want, &play->events[i], 0, 0, 0, NULL), 0);
	for (i = 0; i < lives; i++)
		CHECK_EQ(mt_ledger_event(got, &live[i], 0, 0, 0, NULL), 0);
	CHECK_EQ(mt_ledger_count(got), mt_ledger_count(want));
	CHECK_EQ(mt_ledger_held(got, 1), mt_ledger_held(want, 1));
	CHECK_EQ(mt_ledger_tensors(got, 1), mt_ledger_tensors(want, 1));
	CHECK_EQ(mt_ledger_slack(got, 1), mt_ledger_slack(want, 1));
	mt_ledger_free(got);
	mt_ledger_free(want);
}

/* A stretch begins: what the carry before it has said is true of all that is gone. */
static void take_anew(struct check *check, const struct mt_event *live, size_t lives)
{
	uint32_t chunks;
	const struct mt_chunk_info *chunk = mt_reader_chunks(check->reader, &chunks);
	uint64_t after = 0;
	size_t i;

	for (i = 0; i < chunks; i++) /* the checkpoint is the one whose seq nobody has passed */
		if (chunk[i].kind == MT_CHUNK_CHECKPOINT && chunk[i].last_seq >= 64 * check->next) {
			after = chunk[i].last_seq / 64;
			break;
		}
	CHECK(check->cutting && after > check->next);
	check->next = after;
	check->cutting = 0;
	if (!check->found.stretches++)
		check->found.first = after;
	CHECK_EQ(check->found.cut + check->found.events, after);
	CHECK_EQ(check->found.steps, after / STEP_EVENTS);
	CHECK_EQ(check->found.lost, lost_before(check->play, after));
	CHECK_EQ(check->open, check->play->ranges[after - 1]);
	check_live(check->play, after, live, lives);
}

/* Reads the file and holds it against what was played. `whole` 1: the newest event is in it, too. */
static struct found check_file(const struct play *play, const char *path, int whole)
{
	struct check check = { .play = play };
	const struct mt_event *events;
	size_t count, i;
	int batch;

	check.found.has = calloc(play->count + 1, 1);
	CHECK_EQ(mt_reader_open(&check.reader, path), 0);
	while (!mt_reader_next(check.reader, &events, &count, &batch) && count) {
		if (batch == MT_BATCH_ANEW)
			take_anew(&check, events, count);
		for (i = 0; i < count && batch == MT_BATCH_EVENTS; i++) {
			if (check.cutting || events[i].kind == MT_CUT)
				take_carried(&check, &events[i]);
			else
				take_event(&check, &events[i]);
		}
	}
	CHECK_EQ(mt_reader_state(check.reader)->error, 0);
	CHECK(!check.cutting);
	CHECK_EQ(check.found.cut + check.found.events, check.next);
	CHECK(!whole || check.next == play->count);
	mt_reader_free(check.reader);
	return check.found;
}

static uint64_t bytes_of(const char *path)
{
	struct stat st;

	CHECK(!stat(path, &st));
	return (uint64_t)st.st_size;
}

/* The error and, before it, what its step and the two before that have done. */
static void check_window(const struct play *play, const struct found *found, size_t oom)
{
	size_t at = play->oom_at[oom] / 64 - 1, step = play->oom_step[oom] > 2 ? play->oom_step[oom] - 3 : 0, i;

	for (i = step * STEP_EVENTS; i <= at; i++)
		CHECK(found->has[i]);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST(after_each_rotation_the_file_is_right)
{
	const char *path = kit_path("keep.zst");
	struct play play;
	struct found found;
	size_t rotations = 0;
	uint64_t seed;

	for (seed = 1; seed <= 3; seed++) {
		begin(&play, path, seed);
		while (play.count < 90000) {
			play_one(&play, 0);
			CHECK(mt_writer_bytes(play.writer) <= KEEP);
			if (play.rotations == rotations)
				continue;
			rotations = play.rotations;
			CHECK_EQ(mt_writer_trim_error(play.writer), 0);
			CHECK(bytes_of(path) == mt_writer_bytes(play.writer) && bytes_of(path) < KEEP / 8 * 6);
			CHECK_EQ(mt_writer_flush(play.writer), 0);
			found = check_file(&play, path, 1);
			CHECK_EQ(found.stretches, 1);
			free(found.has);
		}
		CHECK(play.rotations > 4);
		CHECK_EQ(mt_writer_close(play.writer, 1), 0);
		CHECK(bytes_of(path) <= KEEP);
		found = check_file(&play, path, 1);
		CHECK(found.events * 3 > KEEP / 16);
		free(found.has);
		release(&play);
		rotations = 0;
	}
}

TEST(an_error_stays_with_the_steps_before_it)
{
	const char *path = kit_path("keep.zst");
	struct play play;
	struct found found;

	begin(&play, path, 7);
	play_on(&play, 6 * STEP_EVENTS + 100);
	play_one(&play, 1); /* before anything is gone */
	play_on(&play, 60000);
	CHECK(play.rotations > 2);
	found = check_file(&play, path, 0);
	check_window(&play, &found, 0);
	CHECK_EQ(found.stretches, 2); /* the error's and the newest */
	CHECK(!found.has[30000]);
	free(found.has);

	play_one(&play, 1); /* long after */
	play_on(&play, 60000);
	play_one(&play, 1); /* the newest one counts, and the first */
	play_on(&play, 60000);
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	CHECK(bytes_of(path) <= KEEP);
	found = check_file(&play, path, 1);
	check_window(&play, &found, 0);
	check_window(&play, &found, 2);
	CHECK(!found.has[play.oom_at[1] / 64 - 1]);
	CHECK_EQ(found.stretches, 3);
	free(found.has);
	release(&play);
}

TEST(an_error_late_in_a_long_run_stays)
{
	const char *path = kit_path("keep.zst");
	struct play play;
	struct found found;

	begin(&play, path, 8);
	play_on(&play, 50000);
	play_one(&play, 1);
	play_on(&play, 100000);
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	found = check_file(&play, path, 1);
	check_window(&play, &found, 0);
	CHECK_EQ(found.stretches, 2);
	free(found.has);
	release(&play);
}

/* No error of the driver is kept once there is one of the framework's allocator: those are tried again. */
TEST(errors_that_end_a_program_come_first)
{
	const char *path = kit_path("keep.zst");
	struct mt_event event = { .kind = MT_DRIVER_FAIL, .result = 2, .device = 1, .thread = 1 };
	struct mt_reader *reader;
	const struct mt_event *events;
	size_t count, i, fails = 0, ooms = 0, round;
	struct play play;
	int batch;

	begin(&play, path, 9);
	for (round = 0; round < 3; round++) {
		play_on(&play, 20000);
		event.seq = 64 * (play.count + 1);
		event.time = 1000 * event.seq;
		remember(&play, &event);
		CHECK_EQ(mt_writer_event(play.writer, &event, 0, play.step), 0);
		play_on(&play, 20000);
		if (round == 1)
			play_one(&play, 1);
	}
	play_on(&play, 30000);
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	while (!mt_reader_next(reader, &events, &count, &batch) && count)
		for (i = 0; i < count; i++) {
			fails += events[i].kind == MT_DRIVER_FAIL;
			ooms += events[i].kind == MT_TENSOR_OOM;
		}
	CHECK(!fails && ooms == 1);
	mt_reader_free(reader);
	release(&play);
}

/* The collector dies now and then and another one goes on, with and without an end of the file. */
TEST(going_on_keeps_keeping)
{
	const char *path = kit_path("keep.zst");
	struct play play;
	struct found found;
	uint64_t last;
	int life;

	begin(&play, path, 11);
	for (life = 0; life < 12; life++) {
		play_on(&play, 9000);
		if (life == 2 || life == 5)
			play_one(&play, 1);
		CHECK_EQ(mt_writer_close(play.writer, life % 2), 0);
		CHECK(bytes_of(path) <= KEEP);
		free(check_file(&play, path, 1).has);
		CHECK_EQ(mt_writer_reopen(&play.writer, path, &options, &last), 0);
		CHECK_EQ(last, 64 * play.count);
	}
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	found = check_file(&play, path, 1);
	check_window(&play, &found, 0);
	check_window(&play, &found, 1);
	free(found.has);
	release(&play);
}

/* Unique names do not pile up: neither in the file nor in memory. */
TEST(names_go_with_their_events)
{
	const char *path = kit_path("keep.zst");
	struct mt_event event = { .kind = MT_MARK, .thread = 1 };
	uint64_t largest = 0, text = 0;
	struct play play;
	char name[160];
	uint32_t id;

	begin(&play, path, 3);
	for (event.seq = 1; event.seq < 60000; event.seq++) {
		kit_next(&play.random);
		snprintf(name, sizeof(name), "%064llx%064llx", (unsigned long long)play.random.state,
			 (unsigned long long)event.seq);
		event.name = mt_defs_add_name(mt_writer_defs(play.writer), name, strlen(name));
		event.time = event.seq;
		CHECK_EQ(mt_writer_event(play.writer, &event, 0, 1), 0);
		mt_writer_trim(play.writer);
		if (mt_writer_bytes(play.writer) > largest)
			largest = mt_writer_bytes(play.writer);
	}
	CHECK(largest <= KEEP);
	for (id = 1; id <= mt_defs_count(mt_writer_defs(play.writer), MT_DEF_STRING); id++)
		text += mt_defs_string_size(mt_writer_defs(play.writer), id);
	CHECK(text < 60000 * 128 / 4);
	CHECK_STR(mt_defs_string(mt_writer_defs(play.writer), (uint32_t)event.name), name);
	/* One that comes again is there again. */
	snprintf(name, sizeof(name), "again");
	id = mt_defs_add_name(mt_writer_defs(play.writer), name, 5);
	CHECK_STR(mt_defs_string(mt_writer_defs(play.writer), id), "again");
	CHECK_EQ(mt_writer_close(play.writer, 0), 0);
	release(&play);
}

static void limit_files(uint64_t bytes)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

/* The disk gets full while the new file is made: the old one stays, and the next attempt makes up for it. */
TEST(a_full_disk_leaves_the_old_file)
{
	const char *path = kit_path("keep.zst"), *beside = kit_path("keep.zst" MT_KEEP_SUFFIX);
	struct play play;
	uint64_t before;
	size_t events;

	signal(SIGXFSZ, SIG_IGN);
	begin(&play, path, 21);
	while (mt_writer_bytes(play.writer) < KEEP / 8 * 6)
		play_one(&play, 0);
	CHECK_EQ(play.rotations, 0);
	limit_files(KEEP / 8);
	for (events = 0; events < 20000; events++)
		play_one(&play, 0);
	before = mt_writer_bytes(play.writer);
	CHECK(mt_writer_pending(play.writer) > 10000);
	CHECK(access(beside, F_OK));
	free(check_file(&play, path, 0).has);
	limit_files(1 << 30);
	CHECK_EQ(mt_writer_flush(play.writer), 0); /* nothing was lost: it waited */
	limit_files(KEEP / 8);
	mt_writer_trim(play.writer); /* now it is the new file that does not fit */
	CHECK_EQ(mt_writer_trim_error(play.writer), -MT_E_SPACE);
	CHECK_EQ(errno, EFBIG);
	CHECK(access(beside, F_OK));
	CHECK(mt_writer_bytes(play.writer) > before);
	free(check_file(&play, path, 1).has);
	limit_files(1 << 30);
	play_on(&play, 20000);
	CHECK(play.rotations > 0 && !mt_writer_trim_error(play.writer));
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	free(check_file(&play, path, 1).has);
	release(&play);
}

/* Killed at any moment: there is a trace, and the next writer goes on with it. */
TEST(killed_at_any_moment)
{
	const char *path = kit_path("killed.zst");
	struct kit_random random = { 5 };
	struct play play;
	uint64_t last;
	int round, pipes[2];
	char byte;

	begin(&play, kit_path("model.zst"), 33); /* the child plays the same */
	play_on(&play, 60000);
	CHECK_EQ(mt_writer_close(play.writer, 0), 0);
	for (round = 0; round < 15; round++) {
		struct play child;
		uint64_t wait = 1 + kit_below(&random, 50);
		pid_t pid;

		CHECK(!pipe(pipes));
		pid = fork();
		if (!pid) {
			begin(&child, path, 33);
			while (child.count < 60000) {
				play_on(&child, 1000);
				CHECK_EQ(mt_writer_flush(child.writer), 0);
				CHECK_EQ(write(pipes[1], "x", 1), 1);
			}
			_exit(0);
		}
		close(pipes[1]);
		while (wait-- && read(pipes[0], &byte, 1) == 1)
			;
		kill(pid, SIGKILL);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		close(pipes[0]);
		free(check_file(&play, path, 0).has);
		CHECK_EQ(mt_writer_reopen(&child.writer, path, &options, &last), 0);
		CHECK_EQ(mt_writer_close(child.writer, 1), 0);
		free(check_file(&play, path, 0).has);
	}
	release(&play);
}

/* A process that would take the file away while it is written finds it locked, under its name. */
TEST(the_new_file_is_locked)
{
	const char *path = kit_path("keep.zst");
	struct play play;
	int fd;

	begin(&play, path, 2);
	kit_save(kit_path("keep.zst" MT_KEEP_SUFFIX), (const uint8_t *)"of one that died", 16);
	while (!play.rotations && !mt_writer_trim_error(play.writer))
		play_one(&play, 0);
	CHECK_EQ(mt_writer_trim_error(play.writer), 0);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK);
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	CHECK(!flock(fd, LOCK_EX | LOCK_NB));
	close(fd);
	release(&play);
}

static uint8_t phase_of(struct mt_tracker *tracker, const struct mt_event *event)
{
	struct mt_label label;

	mt_tracker_event(tracker, event, 0, &label);
	return label.phase;
}

/* A range open before a cut is closed after it, unless it is opened again. */
TEST(ranges_do_not_leak_through_a_cut)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .thread = 1, .device = 1, .addr = 4096, .size = 512 };
	struct mt_event push = { .kind = MT_PHASE_PUSH, .thread = 1 }, cut = { .kind = MT_CUT, .value = 10 };
	struct mt_defs *defs = mt_defs_new();
	struct mt_tracker *tracker;
	struct mt_rules *rules;
	char message[256];

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	define(defs);
	push.name = mt_defs_add_string(defs, "rollout", 7);
	tracker = mt_tracker_new(rules, defs);
	phase_of(tracker, &push);
	CHECK_EQ(phase_of(tracker, &event), MT_PHASE_ROLLOUT);
	phase_of(tracker, &cut);
	CHECK(phase_of(tracker, &event) != MT_PHASE_ROLLOUT);
	phase_of(tracker, &cut);
	phase_of(tracker, &push);
	CHECK_EQ(phase_of(tracker, &event), MT_PHASE_ROLLOUT);
	mt_tracker_free(tracker);
	mt_rules_free(rules);
	mt_defs_free(defs);
}

/* A live set that is larger than the file was to be: it is not written all the time, and the file does not explode. */
TEST(many_live_things_in_a_small_file)
{
	enum { TENSORS = 12000 };
	static uint64_t addr[TENSORS];
	const char *path = kit_path("keep.zst");
	struct mt_event event = { .device = 1, .thread = 1, .size = 512 };
	const struct mt_chunk_info *chunks;
	uint64_t largest = 0, checkpoints = 0;
	struct mt_reader *reader;
	uint32_t count, i, rotations = 0;
	struct play play;

	begin(&play, path, 4);
	for (event.seq = 1; event.seq < 250000; event.seq++) {
		uint64_t *slot = &addr[event.seq <= TENSORS ? event.seq - 1 : event.seq / 2 * 7919 % TENSORS];
		uint64_t before = mt_writer_bytes(play.writer);

		event.kind = *slot ? MT_TENSOR_FREE : MT_TENSOR_ALLOC;
		event.addr = *slot ? *slot : kit_next(&play.random) >> 20 << 9;
		*slot = *slot ? 0 : event.addr;
		event.time = event.seq * 100;
		CHECK_EQ(mt_writer_event(play.writer, &event, 0, 1), 0);
		mt_writer_trim(play.writer);
		rotations += mt_writer_bytes(play.writer) < before;
		if (mt_writer_bytes(play.writer) > largest)
			largest = mt_writer_bytes(play.writer);
	}
	CHECK_EQ(mt_writer_close(play.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	chunks = mt_reader_chunks(reader, &count);
	for (i = 0; i < count; i++)
		checkpoints += chunks[i].kind == MT_CHUNK_CHECKPOINT ? chunks[i].size : 0;
	CHECK(checkpoints > KEEP / 2); /* or this test tests nothing */
	CHECK(rotations > 2 && rotations < 60);
	CHECK(largest < 8 * KEEP);
	mt_reader_free(reader);
	release(&play);
}

TEST_MAIN()
