/* test_ring.c - the view of a ring: order, wrapping, giving back, and what it does with nonsense. */
#include <sys/stat.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "ring/ring_read.h"
#include "ring_builder.h"
#include "test.h"

#define SLOT_BYTES 4096u
#define LOG_BYTES 65536u

static struct ring_builder builder;
static char path[512];

static void make(uint32_t slots)
{
	snprintf(path, sizeof(path), "%s/ring", test_dir());
	CHECK(!ring_builder_open(&builder, path, slots, SLOT_BYTES, LOG_BYTES));
}

static struct ring_view *open_view(void)
{
	struct ring_view *view;

	CHECK_EQ(ring_view_open(&view, path, 1), 0);
	return view;
}

static struct ring_event mark(uint64_t time)
{
	return (struct ring_event){ .kind = MT_MARK, .device_type = -1, .device_index = -1, .time = time };
}

static void put(uint32_t slot, uint64_t time)
{
	ring_builder_event(&builder, slot, mark(time), NULL, NULL);
}

/* Takes the next event, which must be number `seq`. */
static void expect(struct ring_view *view, uint64_t seq)
{
	const struct ring_event *event = ring_view_peek(view);

	CHECK(event);
	CHECK_EQ(event->seq, seq);
	ring_view_take(view);
}

/* Its owner may do so at any time, and a reader of a mapping would die of SIGBUS. */
TEST(a_leftover_that_is_shortened_meanwhile_is_read_as_it_was)
{
	struct ring_view *view;
	uint64_t i;

	make(4);
	for (i = 0; i < 100; i++)
		put(i % 4, i);
	CHECK_EQ(ring_view_open(&view, path, 0), 0);
	CHECK_EQ(truncate(path, 0), 0);
	ring_view_refresh(view);
	for (i = 1; i <= 100; i++)
		expect(view, i);
	CHECK(!ring_view_peek(view));
	ring_view_close(view);
}

TEST(a_link_is_no_ring)
{
	struct ring_view *view;
	char link[600];
	int shared;

	make(4);
	snprintf(link, sizeof(link), "%s.link", path);
	CHECK_EQ(symlink(path, link), 0);
	for (shared = 0; shared <= 1; shared++)
		CHECK_EQ(ring_view_open(&view, link, shared), -MT_E_SYSTEM);
	unlink(link);
}

TEST(events_come_by_number)
{
	static const uint32_t slots[] = { 2, 0, 0, 1, 2, 2, 2, 1, 0, 3, 1, 0, 0, 2 };
	struct ring_view *view;
	uint64_t i;

	make(4);
	for (i = 0; i < MT_ARRAY_SIZE(slots); i++)
		put(slots[i], i);
	view = open_view();
	CHECK(!ring_view_peek(view));
	ring_view_refresh(view);
	for (i = 1; i <= MT_ARRAY_SIZE(slots); i++)
		expect(view, i);
	CHECK(!ring_view_peek(view));
	CHECK_EQ(view->rejected, 0);
	ring_view_close(view);
}

TEST(slots_wrap_and_texts_survive)
{
	char name[64], text[RING_TEXT_MAX];
	struct ring_view *view;
	uint64_t i;

	make(1);
	view = open_view();
	for (i = 1; i <= 1000; i++) {
		const struct ring_event *event;
		int size = snprintf(name, sizeof(name), "event %0*llu", (int)(i % 40) + 1, (unsigned long long)i);

		ring_builder_event(&builder, 0, mark(i), name, "torch");
		ring_view_refresh(view);
		event = ring_view_peek(view);
		CHECK(event);
		CHECK_EQ(event->seq, i);
		CHECK_EQ(event->name_bytes, size);
		CHECK_EQ(event->domain_bytes, 5);
		ring_view_text(view, text);
		CHECK(!memcmp(text, name, (size_t)size) && !memcmp(text + size, "torch", 5));
		ring_view_take(view);
		ring_view_release(view);
	}
	CHECK_EQ(view->rejected, 0);
	ring_view_close(view);
}

TEST(space_goes_back_on_release_only)
{
	struct ring_slot *shared;
	struct ring_view *view;

	make(1);
	shared = &builder.header->slot[0];
	put(0, 1);
	put(0, 2);
	view = open_view();
	ring_view_refresh(view);
	CHECK_EQ(view->fullest, 2 * sizeof(struct ring_event));
	expect(view, 1);
	CHECK_EQ(atomic_load(&shared->tail), 0);
	CHECK_EQ(view->unreturned, sizeof(struct ring_event));
	ring_view_release(view);
	CHECK_EQ(atomic_load(&shared->tail), sizeof(struct ring_event));
	CHECK_EQ(view->unreturned, 0);
	ring_view_close(view);
}

TEST(a_left_slot_is_free_when_empty)
{
	struct ring_view *view;

	make(2);
	CHECK_EQ(ring_builder_claim(&builder), 0);
	put(0, 1);
	put(0, 2);
	ring_builder_leave(&builder, 0);
	view = open_view();
	ring_view_refresh(view);
	expect(view, 1);
	ring_view_release(view);
	CHECK_EQ(atomic_load(&builder.header->slot[0].state), RING_SLOT_LEFT);
	expect(view, 2);
	ring_view_release(view);
	CHECK_EQ(atomic_load(&builder.header->slot[0].state), RING_SLOT_FREE);

	/* The next thread goes on where the one before was. */
	CHECK_EQ(ring_builder_claim(&builder), 0);
	put(0, 3);
	ring_view_refresh(view);
	expect(view, 3);
	ring_view_close(view);
}

TEST(drain_takes_everything)
{
	struct ring_view *view;

	make(2);
	put(0, 1);
	put(1, 2);
	view = open_view();
	CHECK_EQ(ring_view_drain(view), 1);
	CHECK(!ring_view_peek(view));
	ring_view_release(view);
	CHECK_EQ(atomic_load(&builder.header->slot[1].tail), sizeof(struct ring_event));
	CHECK_EQ(ring_view_drain(view), 0);
	put(1, 3);
	ring_view_refresh(view);
	expect(view, 3);
	ring_view_close(view);
}

TEST(a_private_view_leaves_the_file_alone)
{
	struct ring_view *view;

	make(1);
	put(0, 1);
	CHECK_EQ(ring_view_open(&view, path, 0), 0);
	ring_view_refresh(view);
	expect(view, 1);
	ring_view_release(view);
	CHECK_EQ(atomic_load(&builder.header->slot[0].tail), 0);
	ring_view_close(view);
}

/* ---- nonsense ------------------------------------------------------------------------------------------------- */

static int open_error(void)
{
	struct ring_view *view;
	int err = ring_view_open(&view, path, 1);

	CHECK(!view == !!err);
	ring_view_close(view);
	return err;
}

TEST(refuses_what_is_no_ring)
{
	make(2);
#define REFUSED(member, wrong, error)                                              \
	do {                                                                       \
		__typeof__(builder.header->member) right = builder.header->member; \
		builder.header->member = (wrong);                                  \
		CHECK_EQ(open_error(), -(error));                                  \
		builder.header->member = right;                                    \
		CHECK_EQ(open_error(), 0);                                         \
	} while (0)
	REFUSED(magic[0], 'X', MT_E_MAGIC);
	REFUSED(version, RING_VERSION + 1, MT_E_VERSION);
	REFUSED(header_bytes, 64, MT_E_CORRUPT);
	REFUSED(header_bytes, 1u << 31, MT_E_CORRUPT);
	REFUSED(slots, 0, MT_E_CORRUPT);
	REFUSED(slots, RING_SLOTS + 1, MT_E_CORRUPT);
	REFUSED(slot_bytes, 5000, MT_E_CORRUPT);
	REFUSED(slot_bytes, 0, MT_E_CORRUPT);
	REFUSED(slot_bytes, 1u << 31, MT_E_CORRUPT);
	REFUSED(slots, RING_SLOTS, MT_E_CORRUPT); /* they would reach into the log */
	REFUSED(log_offset, 0, MT_E_CORRUPT);
	REFUSED(log_offset, UINT64_MAX - 7, MT_E_TRUNCATED);
	REFUSED(log_bytes, UINT64_MAX, MT_E_CORRUPT);
	REFUSED(log_bytes, LOG_BYTES + 8, MT_E_TRUNCATED);
#undef REFUSED
	CHECK(!truncate(path, 100));
	CHECK_EQ(open_error(), -MT_E_TRUNCATED);
	CHECK(!unlink(path));
	CHECK_EQ(open_error(), -MT_E_SYSTEM);
}

TEST(texts_end_in_nul)
{
	struct ring_view *view;

	make(1);
	memset(builder.header->host, 'x', sizeof(builder.header->host));
	memset(builder.header->command, 'x', sizeof(builder.header->command));
	view = open_view();
	CHECK_EQ(strlen(view->header->host), sizeof(view->header->host) - 1);
	CHECK_EQ(strlen(view->header->command), sizeof(view->header->command) - 1);
	ring_view_close(view);
}

static struct ring_event *event_at(uint32_t slot, uint64_t index)
{
	return (struct ring_event *)ring_builder_at(&builder, slot, index * sizeof(struct ring_event));
}

TEST(a_damaged_record_costs_itself_only)
{
	struct ring_view *view;
	uint64_t i;

	make(2);
	for (i = 1; i <= 12; i++)
		put((uint32_t)(i & 1), i);
	event_at(0, 1)->bytes = 12345;     /* number 4 */
	event_at(0, 2)->record = 7;        /* number 6 */
	event_at(0, 4)->seq = 1ull << 40;  /* number 10 */
	event_at(1, 0)->kind = MT_STEP;    /* number 1: not for agents */
	event_at(1, 2)->name_bytes = 1025; /* number 5 */
	event_at(1, 4)->seq = 5;           /* number 9: goes back */
	view = open_view();
	ring_view_refresh(view);
	expect(view, 2);
	expect(view, 3);
	expect(view, 7);
	expect(view, 8);
	expect(view, 11);
	expect(view, 12);
	CHECK(!ring_view_peek(view));
	CHECK_EQ(view->rejected, 5); /* 4 and 6 are one stretch */
	ring_view_close(view);
}

TEST(impossible_cursors_stop_one_slot)
{
	struct ring_view *view;

	make(3);
	put(0, 1);
	put(1, 2);
	put(2, 3);
	atomic_store(&builder.header->slot[0].head, SLOT_BYTES + 8);
	atomic_store(&builder.header->slot[1].head, 13);
	view = open_view();
	ring_view_refresh(view);
	expect(view, 3);
	CHECK(!ring_view_peek(view));
	CHECK_EQ(view->rejected, 2);
	put(2, 4);
	ring_view_refresh(view);
	expect(view, 4);

	/* A head that goes back. */
	atomic_store(&builder.header->slot[2].head, 0);
	ring_view_refresh(view);
	CHECK(!ring_view_peek(view));
	CHECK_EQ(view->rejected, 3);
	ring_view_release(view);
	ring_view_close(view);
}

/* ---- the log -------------------------------------------------------------------------------------------------- */

TEST(log_is_read_in_order)
{
	struct ring_log_entry entry;
	struct ring_view *view;
	uint8_t record[256];

	make(1);
	view = open_view();
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_END);
	ring_builder_thread(&builder, 7, 100, "main");
	ring_builder_module(&builder, 4096, 8192, 0, "/lib/libc.so.6");
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_ENTRY);
	CHECK_EQ(entry.kind, RING_LOG_THREAD);
	CHECK_EQ(entry.key, 7);
	CHECK(entry.bytes <= sizeof(record));
	ring_view_log_copy(view, &entry, record);
	CHECK(!memcmp(record + sizeof(struct ring_log_thread), "main", 4));
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_ENTRY);
	CHECK_EQ(entry.kind, RING_LOG_MODULE);
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_END);
	ring_view_close(view);
}

TEST(log_waits_for_an_unfinished_record)
{
	struct ring_log_thread thread = { .tid = 1 };
	struct ring_piece piece = { &thread, sizeof(thread) };
	struct ring_log_entry entry;
	struct ring_view *view;
	struct ring_log *log;
	uint32_t bytes;

	make(1);
	view = open_view();
	log = ring_builder_begin(&builder, RING_LOG_THREAD, 1, &piece, 1, &bytes);
	ring_builder_thread(&builder, 2, 100, "second");
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_BLOCKED);
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_BLOCKED);
	ring_builder_finish(log, bytes);
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_ENTRY);
	CHECK_EQ(entry.key, 1);
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_ENTRY);
	CHECK_EQ(entry.key, 2);
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_END);

	/* Space that was handed out and never became real. */
	atomic_fetch_add(&builder.header->log_head, LOG_BYTES);
	CHECK_EQ(ring_view_log(view, &entry), RING_LOG_BLOCKED);
	ring_view_close(view);
}

TEST(log_stops_at_an_impossible_record)
{
	static const uint32_t sizes[] = { 8, 12, 1u << 31, LOG_BYTES };
	struct ring_log_entry entry;
	struct ring_view *view;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(sizes); i++) {
		make(1);
		ring_builder_thread(&builder, 1, 100, "main");
		ring_builder_thread(&builder, 2, 101, "other");
		ring_builder_finish((struct ring_log *)((uint8_t *)builder.header + builder.header->log_offset),
				    sizes[i]);
		view = open_view();
		CHECK_EQ(ring_view_log(view, &entry), RING_LOG_BLOCKED);
		CHECK(view->log_damaged);
		ring_view_close(view);
	}
}

/* A path that a file names: nothing but a regular file is opened, and no link is followed. */
TEST(a_named_path_is_looked_at_first)
{
	static const char *const names[] = { "link", "pipe", ".", "/dev/ptmx", "missing" };
	size_t i;
	int fd;

	make(1);
	unlink("link");
	unlink("pipe");
	fd = open("named", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !close(fd) && !symlink("named", "link") && !mkfifo("pipe", 0600));
	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		CHECK_EQ(mt_open_named(names[i]), -1);
	fd = mt_open_named("named");
	CHECK(fd >= 0 && !close(fd));
	unlink("link");
	unlink("pipe");
	unlink("named");
}

TEST_MAIN()
