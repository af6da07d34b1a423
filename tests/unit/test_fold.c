/* test_fold.c - what becomes of single events, stacks, steps and losses on the way from a ring to a trace. */
#include <signal.h>
#include <sys/resource.h>
#include "fold_kit.h"
#include "memtrace/base.h"
#include "ring/emitter.h"

static struct kit kit;

static struct ring_event tensor(uint32_t kind, uint64_t addr, uint64_t size, uint64_t stack)
{
	struct ring_event event = kit_event(kind);

	event.device_type = MT_DEVICE_CUDA;
	event.device_index = 3;
	event.time = 5000 + addr;
	event.thread = 1;
	event.stack = stack;
	event.addr = addr;
	event.size = size;
	return event;
}

static void put(uint32_t slot, struct ring_event event)
{
	ring_builder_event(&kit.builder, slot, event, NULL, NULL);
}

static void put_kind(uint32_t kind)
{
	put(0, kit_event(kind));
}

/* ---- events --------------------------------------------------------------------------------------------------- */

TEST(an_event_keeps_its_fields)
{
	struct ring_event event = tensor(MT_TENSOR_ALLOC, 0x7f0000001000, 512, 0);
	const struct mt_event *got;

	kit_init(&kit, 2, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "trainer");
	event.total = 1000;
	event.reserved = 2000;
	event.flags = MT_FLAG_NO_TOTAL;
	event.entry = event.result = 9;
	event.value = event.handle = event.offset = 9; /* no fields of this kind */
	put(0, event);
	kit_fold(&kit, NULL);

	CHECK_EQ(kit.count, 2);
	got = &kit.events[0];
	CHECK_EQ(got->kind, MT_TENSOR_ALLOC);
	CHECK_EQ(got->seq, 1 << KIT_SHIFT);
	CHECK_EQ(got->time, event.time);
	CHECK_EQ(got->addr, event.addr);
	CHECK_EQ(got->size, 512);
	CHECK_EQ(got->total, 1000);
	CHECK_EQ(got->reserved, 2000);
	CHECK_EQ(got->flags, MT_FLAG_NO_TOTAL);
	CHECK_EQ(got->entry + got->result + got->value + got->handle + got->offset, 0);
	CHECK_EQ(mt_defs_thread(mt_reader_defs(kit.reader), (uint32_t)got->thread)->tid, 77);
	CHECK_EQ(kit.events[1].kind, MT_END);
	CHECK_EQ(kit.events[1].value, MT_END_EXIT);
	CHECK_EQ(kit.summary.events, 2);
	CHECK_EQ(kit.summary.peak_bytes, 512);
	CHECK_EQ(kit.summary.peak_time, event.time);
	kit_release(&kit);
}

TEST(the_process_is_described)
{
	const struct mt_process *process;

	kit_init(&kit, 1, 1 << 12);
	kit_fold(&kit, NULL);
	process = mt_reader_process(kit.reader);
	CHECK_EQ(process->pid, 4242);
	CHECK_EQ(process->rank, -1);
	CHECK_EQ(process->python_version, 0x030b07f0);
	CHECK_STR(process->host, "node7");
	CHECK_STR(process->command, "python train.py");
	CHECK_STR(process->ring_path, kit.ring);
	kit_release(&kit);
}

static int namings;

static void name_devices(void *context)
{
	namings++;
	mt_fold_device(context, 3, "NVIDIA H100", "GPU-1234", 80ull << 30);
}

/* Names are asked for when the first GPU turns up in the middle of things, and once. */
TEST(devices_are_named_when_they_are_needed)
{
	const struct mt_device *device;
	struct ring_event event = tensor(MT_TENSOR_ALLOC, 4096, 10, 0);
	uint64_t folded;

	kit_init(&kit, 1, 1 << 12);
	event.device_type = MT_DEVICE_CPU;
	event.device_index = -1;
	put(0, event);
	CHECK_EQ(mt_fold_open(&kit.fold, kit.ring, kit.rules, NULL), 0);
	mt_fold_names(kit.fold, name_devices, kit.fold);
	CHECK_EQ(mt_fold_create(kit.fold, kit.trace), 0);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	CHECK_EQ(namings, 0);
	put(0, tensor(MT_TENSOR_ALLOC, 8192, 10, 0));
	put(0, tensor(MT_TENSOR_ALLOC, 12288, 10, 0));
	CHECK_EQ(kit_run_final(&kit), 0);
	CHECK_EQ(namings, 1);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	device = mt_defs_device(mt_reader_defs(kit.reader), (uint32_t)kit.events[1].device);
	CHECK_EQ(device->index, 3);
	CHECK_STR(kit_string(&kit, device->name), "NVIDIA H100");
	kit_release(&kit);
}

TEST(devices_are_described)
{
	const struct mt_device *device;
	struct ring_event event = tensor(MT_TENSOR_ALLOC, 4096, 10, 0);

	kit_init(&kit, 1, 1 << 12);
	put(0, event);
	event.device_type = MT_DEVICE_CPU;
	event.device_index = -1;
	event.addr = 8192;
	put(0, event);
	event.device_type = -1;
	put(0, event);
	CHECK_EQ(mt_fold_open(&kit.fold, kit.ring, kit.rules, NULL), 0);
	mt_fold_device(kit.fold, 3, "NVIDIA H100", "GPU-1234", 80ull << 30);
	mt_fold_device(kit.fold, 1000000, "none", "none", 1);
	CHECK_EQ(mt_fold_create(kit.fold, kit.trace), 0);
	CHECK_EQ(kit_run_final(&kit), 0);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);

	device = mt_defs_device(mt_reader_defs(kit.reader), (uint32_t)kit.events[0].device);
	CHECK_EQ(device->kind, MT_DEVICE_CUDA);
	CHECK_EQ(device->index, 3);
	CHECK_EQ(device->total, 80ull << 30);
	CHECK_STR(kit_string(&kit, device->name), "NVIDIA H100");
	CHECK_STR(kit_string(&kit, device->uuid), "GPU-1234");
	device = mt_defs_device(mt_reader_defs(kit.reader), (uint32_t)kit.events[1].device);
	CHECK_EQ(device->kind, MT_DEVICE_CPU);
	CHECK_STR(kit_string(&kit, device->name), "CPU");
	CHECK_EQ(kit.events[2].device, 0);
	kit_release(&kit);
}

TEST(ranges_carry_name_and_domain)
{
	kit_init(&kit, 1, 1 << 12);
	ring_builder_event(&kit.builder, 0, kit_event(MT_RANGE_PUSH), "forward", "torch");
	ring_builder_event(&kit.builder, 0, kit_event(MT_RANGE_PUSH), "inner", NULL);
	ring_builder_event(&kit.builder, 0, kit_event(MT_RANGE_POP), NULL, NULL);
	ring_builder_event(&kit.builder, 0, kit_event(MT_RANGE_POP), NULL, "torch");
	ring_builder_event(&kit.builder, 0, kit_event(MT_PHASE_PUSH), "rollout", NULL);
	kit_fold(&kit, NULL);
	CHECK_STR(kit_string(&kit, kit.events[0].name), "forward");
	CHECK_STR(kit_string(&kit, kit.events[0].value), "torch");
	CHECK_STR(kit_string(&kit, kit.events[1].name), "inner");
	CHECK_EQ(kit.events[1].value, 0);
	CHECK_EQ(kit.events[2].value, 0);
	CHECK_EQ(kit.events[3].value, kit.events[0].value);
	CHECK_STR(kit_string(&kit, kit.events[4].name), "rollout");
	kit_release(&kit);
}

TEST(failures_are_counted)
{
	struct ring_event event = kit_event(MT_DRIVER_FAIL);

	kit_init(&kit, 1, 1 << 12);
	event.result = 2;
	put(0, event);
	put_kind(MT_TENSOR_OOM); /* the request of the refusal before */
	put(0, event);
	event.result = 1;
	put(0, event);
	kit_fold(&kit, NULL);
	CHECK_EQ(kit.summary.ooms, 2);
	CHECK_EQ(kit.summary.survived, 0);
	kit_release(&kit);
}

/* ---- stacks --------------------------------------------------------------------------------------------------- */

/* The stack of the first tensor event, outermost first: "main:10 train:21 ...", native frames as "file+offset". */
static const char *stack_words(void)
{
	const struct mt_defs *defs = mt_reader_defs(kit.reader);
	uint32_t node = (uint32_t)kit_find(&kit, MT_TENSOR_ALLOC, 0)->stack;
	static char words[2048];
	char rest[1024];

	words[0] = 0;
	for (; node; node = mt_defs_node(defs, node)->parent) {
		const struct mt_frame *frame = mt_defs_frame(defs, mt_defs_node(defs, node)->frame);
		const struct mt_module *module = mt_defs_module(defs, frame->module);

		snprintf(rest, sizeof(rest), "%s", words);
		if (frame->kind == MT_FRAME_PYTHON)
			snprintf(words, sizeof(words), "%s:%u %s", mt_defs_string(defs, frame->function), frame->line,
				 rest);
		else if (frame->kind == MT_FRAME_NATIVE)
			snprintf(words, sizeof(words), "%s+%llx %s", module ? mt_defs_string(defs, module->path) : "?",
				 (unsigned long long)frame->offset, rest);
		else
			snprintf(words, sizeof(words), "... %s", rest);
	}
	return words;
}

/* Entry: two code units, 0 lines on; then two units, 5 lines on (3.11). */
static const uint8_t table[] = { 0x80 | 0 << 3 | 1, 0, 0x80 | 13 << 3 | 1, 10 };

static void make_codes(void)
{
	ring_builder_code(&kit.builder, 101, 10, "main", "", "train.py", table, sizeof(table));
	ring_builder_code(&kit.builder, 102, 20, "step", "Trainer.step", "train.py", table, sizeof(table));
	ring_builder_code(&kit.builder, 103, 30, "forward", "Net.forward", "net.py", NULL, 0);
}

static void make_modules(void)
{
	ring_builder_module(&kit.builder, 0x10000, 0x20000, 0x10000, "/opt/libmemrec.so");
	ring_builder_module(&kit.builder, 0x20000, 0x30000, 0x20000, "/opt/libcupti.so.13");
	ring_builder_module(&kit.builder, 0x30000, 0x40000, 0x30000, "/usr/lib/libcuda.so.1");
	ring_builder_module(&kit.builder, 0x40000, 0x50000, 0x40000, "/torch/libc10.so");
	ring_builder_module(&kit.builder, 0x50000, 0x60000, 0, "/usr/bin/python3.11");
}

static const struct ring_python python[] = { { 103, 0, 0 }, { 102, 6, 0 }, { 101, 2, 0 } };
static const uint64_t native[] = { 0x10101, 0x20101, 0x10101, 0x30101, 0x40101, 0x50101, 0x40101 };

static const char *fold_stack(struct ring_log_stack counts)
{
	ring_builder_stack(&kit.builder, 55, &counts, python, native);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	put(0, tensor(MT_TENSOR_ALLOC, 4096, 512, 55));
	kit_fold(&kit, NULL);
	return stack_words();
}

static void make_all(void)
{
	kit_init(&kit, 1, 1 << 12);
	make_codes();
	make_modules();
}

TEST(python_stack)
{
	make_all();
	CHECK_STR(fold_stack((struct ring_log_stack){ .python = 3 }), "main:10 Trainer.step:25 Net.forward:30 ");
	CHECK_EQ(kit.summary.lost, 0);
	kit_release(&kit);
}

TEST(left_out_frames_are_marked)
{
	make_all();
	CHECK_STR(fold_stack((struct ring_log_stack){ .python = 3, .python_elided = 2 }),
		  "main:10 ... Trainer.step:25 Net.forward:30 ");
	kit_release(&kit);
	make_all();
	CHECK_STR(fold_stack((struct ring_log_stack){ .python = 2, .python_elided = 2 }),
		  "... Trainer.step:25 Net.forward:30 ");
	kit_release(&kit);
}

TEST(native_frames_lie_inside_python)
{
	make_all();
	CHECK_STR(fold_stack((struct ring_log_stack){ .python = 1, .native = 7 }),
		  "Net.forward:30 /torch/libc10.so+100 /usr/lib/libcuda.so.1+100 ");
	kit_release(&kit);
	make_all();
	CHECK_STR(fold_stack((struct ring_log_stack){ .python = 1, .native = 4, .native_cut = 1 }),
		  "Net.forward:30 ... /usr/lib/libcuda.so.1+100 ");
	kit_release(&kit);
}

TEST(native_frames_alone_are_all_kept)
{
	make_all();
	CHECK_STR(fold_stack((struct ring_log_stack){ .native = 7, .native_cut = 1 }),
		  "... /torch/libc10.so+100 /usr/bin/python3.11+50100 /torch/libc10.so+100 /usr/lib/libcuda.so.1+100 ");
	kit_release(&kit);
}

TEST(unknown_addresses_stay_numbers)
{
	kit_init(&kit, 1, 1 << 12);
	CHECK_STR(fold_stack((struct ring_log_stack){ .native = 1 }), "?+10100 ");
	kit_release(&kit);
}

/* The last return address ends the module: the call before it is what counts. */
TEST(a_call_at_the_end_belongs_to_its_module)
{
	static const uint64_t end[] = { 0x50000 };
	struct ring_log_stack counts = { .native = 1 };

	make_all();
	ring_builder_stack(&kit.builder, 56, &counts, NULL, end);
	put(0, tensor(MT_TENSOR_ALLOC, 4096, 512, 56));
	kit_fold(&kit, NULL);
	CHECK_STR(stack_words(), "/torch/libc10.so+ffff ");
	kit_release(&kit);
}

TEST(modules_are_those_of_their_time)
{
	struct ring_log_stack counts = { .native = 1 };
	static const uint64_t address[] = { 0x40101 };

	make_all();
	ring_builder_stack(&kit.builder, 55, &counts, NULL, address);
	ring_builder_module(&kit.builder, 0x40000, 0x41000, 0x40000, "/torch/libnew.so");
	ring_builder_stack(&kit.builder, 56, &counts, NULL, address);
	put(0, tensor(MT_TENSOR_ALLOC, 4096, 512, 56)); /* the newer one is built first */
	put(0, tensor(MT_TENSOR_FREE, 4096, 512, 55));
	kit_fold(&kit, NULL);
	CHECK_STR(stack_words(), "/torch/libnew.so+100 ");
	kit.events[0].stack = kit.events[1].stack;
	CHECK_STR(stack_words(), "/torch/libc10.so+100 ");
	kit_release(&kit);
}

TEST(an_event_with_an_unknown_stack_is_not_lost)
{
	kit_init(&kit, 1, 1 << 12);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	put(0, tensor(MT_TENSOR_ALLOC, 4096, 512, 999));
	kit_fold(&kit, NULL);
	CHECK_EQ(kit.events[0].kind, MT_TENSOR_ALLOC);
	CHECK_EQ(kit.events[0].stack, 0);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_DAMAGED), 0);
	kit_release(&kit);
}

/* A record of the log that is begun and not finished holds up what is behind it, but not for ever. */
TEST(an_unfinished_definition_holds_up_its_event)
{
	struct mt_fold_options options = { .patience_ms = 100000 };
	struct ring_log_thread thread = { .tid = 5 };
	struct ring_piece piece = { &thread, sizeof(thread) };
	struct ring_log *log;
	uint64_t folded;
	uint32_t bytes;

	make_all();
	log = ring_builder_begin(&kit.builder, RING_LOG_THREAD, 9, &piece, 1, &bytes);
	ring_builder_stack(&kit.builder, 55, &(struct ring_log_stack){ .python = 3 }, python, native);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	put(0, tensor(MT_TENSOR_ALLOC, 4096, 512, 55));
	put_kind(MT_MARK);
	kit_open(&kit, &options);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	CHECK_EQ(folded, 0);
	ring_builder_finish(log, bytes);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	CHECK_EQ(folded, 1 + 1);
	CHECK_EQ(kit_run_final(&kit), 0);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_STR(stack_words(), "main:10 Trainer.step:25 Net.forward:30 ");
	kit_release(&kit);
}

TEST(a_definition_that_never_ends_costs_stacks_only)
{
	struct mt_fold_options options = { .patience_ms = 1 };
	struct ring_log_thread thread = { .tid = 5 };
	struct ring_piece piece = { &thread, sizeof(thread) };
	uint64_t folded, sum = 0;
	uint32_t bytes;

	make_all();
	ring_builder_begin(&kit.builder, RING_LOG_THREAD, 9, &piece, 1, &bytes);
	ring_builder_stack(&kit.builder, 55, &(struct ring_log_stack){ .python = 3 }, python, native);
	put(0, tensor(MT_TENSOR_ALLOC, 4096, 512, 55));
	put(0, tensor(MT_TENSOR_FREE, 4096, 512, 55));
	kit_open(&kit, &options);
	while (sum < 2) {
		CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
		sum += folded;
	}
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit_find(&kit, MT_TENSOR_ALLOC, 0)->stack, 0);
	CHECK_EQ(kit_find(&kit, MT_TENSOR_FREE, 0)->stack, 0);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_DAMAGED), 0);
	kit_release(&kit);
}

/* ---- losses and sources --------------------------------------------------------------------------------------- */

/* Two writers took numbers 2 and 4 and died. */
TEST(numbers_that_never_came_are_torn)
{
	kit_init(&kit, 1, 1 << 12);
	put_kind(MT_MARK);
	atomic_fetch_add(&kit.builder.header->next_seq, 1);
	put_kind(MT_MARK);
	atomic_fetch_add(&kit.builder.header->next_seq, 1);
	kit_fold(&kit, NULL);
	CHECK_EQ(kit.count, 5);
	CHECK_EQ(kit.events[0].seq, 1 << KIT_SHIFT);
	CHECK_EQ(kit.events[1].kind, MT_LOST);
	CHECK_EQ(kit.events[1].flags, MT_LOSS_TORN);
	CHECK_EQ(kit.events[2].seq, 3 << KIT_SHIFT);
	CHECK_EQ(kit.events[3].kind, MT_LOST);
	CHECK_EQ(kit.summary.lost, 2);
	kit_release(&kit);
}

TEST(a_number_is_waited_for)
{
	struct mt_fold_options options = { .patience_ms = 100000 };
	struct ring_event event = kit_event(MT_MARK);
	uint64_t head, folded;

	kit_init(&kit, 2, 1 << 12);
	head = ring_builder_write(&kit.builder, 1, &event, NULL, NULL);
	put_kind(MT_MARK);
	kit_open(&kit, &options);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	CHECK_EQ(folded, 0);
	ring_builder_publish(&kit.builder, 1, head);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	CHECK_EQ(folded, 2);
	kit_close(&kit, MT_END_EXIT);
	CHECK_EQ(kit.summary.lost, 0);
	kit_release(&kit);
}

TEST(a_number_that_comes_too_late_is_dropped_and_counted_once)
{
	struct mt_fold_options options = { .patience_ms = 1 };
	struct ring_event event = kit_event(MT_MARK);
	uint64_t head, folded = 0;

	kit_init(&kit, 2, 1 << 12);
	head = ring_builder_write(&kit.builder, 1, &event, NULL, NULL);
	put_kind(MT_MARK);
	kit_open(&kit, &options);
	while (!folded)
		CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	ring_builder_publish(&kit.builder, 1, head);
	put_kind(MT_MARK);
	CHECK_EQ(kit_run_final(&kit), 0);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit.count, 4);
	CHECK_EQ(kit.events[0].kind, MT_LOST);
	CHECK_EQ(kit.events[1].seq, 2 << KIT_SHIFT);
	CHECK_EQ(kit.events[2].seq, 3 << KIT_SHIFT);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_LATE), 1);
	kit_release(&kit);
}

TEST(what_the_agent_lost_is_told)
{
	uint64_t folded;

	kit_init(&kit, 1, 1 << 12);
	put_kind(MT_MARK);
	kit_open(&kit, NULL);
	atomic_store(&kit.builder.header->lost[MT_LOSS_RING_FULL], 5);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	put_kind(MT_MARK);
	atomic_store(&kit.builder.header->lost[MT_LOSS_RING_FULL], 7);
	atomic_store(&kit.builder.header->lost[MT_LOSS_REENTRY], 1);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_RING_FULL), 7);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_REENTRY), 1);
	CHECK_EQ(kit.summary.lost, 8);
	kit_release(&kit);
}

static void set_source(uint32_t state, const char *why)
{
	struct ring_header *header = kit.builder.header;

	snprintf(header->source_why[MT_SOURCE_CUPTI], sizeof(header->source_why[0]), "%s", why);
	atomic_store(&header->source_state[MT_SOURCE_CUPTI], state + 1);
}

TEST(sources_are_told_when_they_change)
{
	const struct mt_event *event;
	uint64_t folded;

	kit_init(&kit, 1, 1 << 12);
	set_source(MT_SOURCE_ON, "CUPTI 13");
	put_kind(MT_MARK);
	kit_open(&kit, NULL);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	set_source(MT_SOURCE_FAILED, "subscriber taken");
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit.count, 4);
	event = kit_find(&kit, MT_SOURCE, 0);
	CHECK_EQ(event->seq, 1);
	CHECK_EQ(event->value, MT_SOURCE_ON);
	CHECK_STR(kit_string(&kit, event->name), "CUPTI 13");
	event = kit_find(&kit, MT_SOURCE, 1);
	CHECK_EQ(event->flags, MT_SOURCE_CUPTI);
	CHECK_EQ(event->value, MT_SOURCE_FAILED);
	CHECK_STR(kit_string(&kit, event->name), "subscriber taken");
	kit_release(&kit);
}

/* Between two ring events there are 62 numbers for the fold's own; news beyond them wait. */
TEST(too_many_changes_wait_for_the_next_event)
{
	uint64_t folded;
	uint32_t i;

	kit_init(&kit, 1, 1 << 12);
	kit_open(&kit, NULL);
	for (i = 1; i <= 200; i++) {
		atomic_store(&kit.builder.header->lost[MT_LOSS_NO_SLOT], i);
		CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
	}
	put_kind(MT_MARK);
	kit_run_final(&kit);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit.summary.lost, 200);
	CHECK_EQ(kit_find(&kit, MT_MARK, 0)->seq, 1 << KIT_SHIFT);
	CHECK_EQ(kit_find(&kit, MT_END, 0)->seq, (1 << KIT_SHIFT) + 63);
	kit_release(&kit);
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

/* Steps of three events: an allocation of step * 1000 + 1 bytes at its own address, a mark, the end of the step. */
static void make_steps(uint32_t steps)
{
	uint32_t i;

	for (i = 1; i <= steps; i++) {
		put(0, tensor(MT_TENSOR_ALLOC, i * 0x10000, i * 1000 + 1, 0));
		put_kind(MT_MARK);
		put_kind(MT_STEP_MARK);
	}
	put(0, tensor(MT_TENSOR_ALLOC, 0x7000000, 1, 0));
}

static uint64_t alloc_size(size_t index)
{
	const struct mt_event *event = kit_find(&kit, MT_TENSOR_ALLOC, index);

	return event ? event->size : 0;
}

TEST(steps_are_counted)
{
	kit_init(&kit, 1, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	make_steps(4);
	kit_fold(&kit, NULL);
	CHECK_EQ(kit.summary.steps, 4);
	CHECK_EQ(kit_find(&kit, MT_STEP, 0)->value, 1);
	CHECK_EQ(kit_find(&kit, MT_STEP, 3)->value, 4);
	CHECK(kit_string(&kit, kit_find(&kit, MT_STEP, 0)->name)[0]);
	CHECK(!kit_find(&kit, MT_STEP, 4));
	CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_EXIT);
	kit_release(&kit);
}

TEST(recording_stops_after_the_steps_asked_for)
{
	struct mt_fold_options options = { .steps = 2 };
	uint64_t folded;

	kit_init(&kit, 1, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	make_steps(4);
	kit_open(&kit, &options);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 1);
	put_kind(MT_MARK);
	CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 1);
	CHECK_EQ(atomic_load(&kit.builder.header->slot[0].tail), atomic_load(&kit.builder.header->slot[0].head));
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit.summary.steps, 2);
	CHECK_EQ(kit_find(&kit, MT_STEP, 1)->value, 2);
	CHECK_EQ(alloc_size(1), 2001);
	CHECK_EQ(alloc_size(2), 0);
	CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_STEPS);
	kit_release(&kit);
}

TEST(skipped_steps_leave_their_live_set)
{
	struct mt_fold_options options = { .skip = 2, .steps = 1 };
	const struct mt_event *events;
	size_t count;
	int checkpoint;

	kit_init(&kit, 1, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	make_steps(5);
	kit_fold(&kit, &options);
	CHECK_EQ(kit.summary.steps, 1);
	CHECK_EQ(kit_find(&kit, MT_STEP, 0)->value, 2); /* begin of the recording */
	CHECK_EQ(kit_find(&kit, MT_STEP, 1)->value, 3);
	CHECK(!kit_find(&kit, MT_STEP, 2));
	CHECK_EQ(alloc_size(0), 3001);
	CHECK_EQ(alloc_size(1), 0);
	CHECK_EQ(kit.summary.peak_bytes, 1001 + 2001 + 3001);

	mt_reader_rewind(kit.reader);
	CHECK_EQ(mt_reader_next(kit.reader, &events, &count, &checkpoint), 0);
	CHECK_EQ(checkpoint, MT_BATCH_ANEW);
	CHECK_EQ(count, 2);
	kit_release(&kit);
}

/* No checkpoint holds what was alive before the recording began: the trace says how much is missing. */
TEST(more_alive_than_a_checkpoint_holds)
{
	static const uint64_t live[] = { 1000, MT_CHUNK_EVENTS_MAX, MT_CHUNK_EVENTS_MAX + 1 };
	struct mt_fold_options options = { 0 };
	struct mt_process process = { .pid = 1 };
	struct mt_event event;
	struct mt_emitter *emitter;
	struct mt_fold_summary summary;
	uint64_t i, number, lost;

	for (i = 0; i < MT_ARRAY_SIZE(live); i++) {
		kit_init(&kit, 1, 1 << 16);
		CHECK_EQ(mt_emitter_create(&emitter, kit.trace, &process, kit.rules, &options), 0);
		for (number = 1; number <= live[i]; number++) {
			event = (struct mt_event){
				.kind = MT_TENSOR_ALLOC, .addr = number << 9, .size = 512, .time = 1
			};
			CHECK_EQ(mt_emitter_before(emitter, number, &event), 0);
		}
		for (; number <= live[i] + 3; number++) {
			event = (struct mt_event){ .kind = MT_MARK, .time = 2 };
			CHECK_EQ(mt_emitter_event(emitter, number, &event), 0);
		}
		CHECK_EQ(mt_emitter_close(emitter, MT_END_EXIT, &summary), 0);
		kit_read(&kit, kit.trace);
		lost = live[i] > MT_CHUNK_EVENTS_MAX ? live[i] : 0;
		CHECK_EQ(summary.lost, lost);
		CHECK_EQ(mt_reader_state(kit.reader)->lost, lost);
		CHECK(!lost == !kit_find(&kit, MT_LOST, 0) && !kit_find(&kit, MT_LOST, 1));
		if (lost)
			CHECK_EQ(kit_find(&kit, MT_LOST, 0)->flags, MT_LOSS_ALIVE);
		kit_release(&kit);
	}
}

/* A training loop whose script ends right after the optimizer: no event follows that could close the last step. */
TEST(the_last_step_counts)
{
	static const struct ring_python optimizer[] = { { 104, 0, 0 } }, forward[] = { { 103, 0, 0 } };
	struct ring_log_stack counts = { .python = 1 };
	uint32_t i;

	make_all();
	ring_builder_thread(&kit.builder, 1, 77, "main");
	ring_builder_code(&kit.builder, 104, 100, "step", "Adam.step", "/lib/torch/optim/adam.py", NULL, 0);
	ring_builder_stack(&kit.builder, 55, &counts, optimizer, NULL);
	ring_builder_stack(&kit.builder, 56, &counts, forward, NULL);
	for (i = 1; i <= 3; i++) {
		struct ring_event begin = kit_event(MT_BACKWARD_BEGIN), end = kit_event(MT_BACKWARD_END);

		begin.thread = end.thread = 1;
		put(0, tensor(MT_TENSOR_ALLOC, i * 0x10000, 100, 56));
		put(0, begin);
		put(0, end);
		put(0, tensor(MT_TENSOR_ALLOC, i * 0x10000 + 0x8000, 100, 55));
	}
	kit_fold(&kit, NULL);
	CHECK_EQ(kit.summary.steps, 3);
	CHECK_EQ(kit_find(&kit, MT_STEP, 2)->value, 3);
	CHECK_STR(kit_string(&kit, kit_find(&kit, MT_STEP, 2)->name), "optimizer");
	CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_EXIT);
	kit_release(&kit);
}

/* ---- going on, and failing ------------------------------------------------------------------------------------ */

/* Runs the body in a process that dies without closing anything. */
#define DIES(body)                                                           \
	do {                                                                 \
		pid_t pid_ = fork();                                         \
		int status_;                                                 \
		if (!pid_) {                                                 \
			body;                                                \
			raise(SIGKILL);                                      \
		}                                                            \
		CHECK(pid_ > 0 && waitpid(pid_, &status_, 0) == pid_);       \
		CHECK(WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL); \
	} while (0)

static void recover(void)
{
	CHECK_EQ(mt_fold_recover(kit.trace, kit.ring, kit.rules, kit.recovered, &kit.summary), 0);
	kit_read(&kit, kit.recovered);
}

TEST(a_dead_collectors_work_is_finished)
{
	uint64_t folded;

	kit_init(&kit, 2, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	atomic_store(&kit.builder.header->source_state[MT_SOURCE_API], MT_SOURCE_ON + 1);
	atomic_store(&kit.builder.header->lost[MT_LOSS_RING_FULL], 5);
	make_steps(2);
	atomic_fetch_add(&kit.builder.header->next_seq, 1);
	put_kind(MT_MARK);
	DIES(kit_open(&kit, NULL); mt_fold_run(kit.fold, 0, &folded); mt_fold_flush(kit.fold));
	atomic_store(&kit.builder.header->lost[MT_LOSS_RING_FULL], 6);
	make_steps(1);
	recover();
	CHECK_EQ(kit.summary.steps, 3);
	CHECK_EQ(kit_find(&kit, MT_STEP, 2)->value, 3);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_RING_FULL), 6);
	CHECK_EQ(kit_lost(&kit, MT_LOSS_TORN), 1);
	CHECK_EQ(kit_find(&kit, MT_MARK, 3)->seq >> KIT_SHIFT, 11);
	CHECK(kit_find(&kit, MT_SOURCE, 0) && !kit_find(&kit, MT_SOURCE, 1));
	CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_RECOVERED);
	CHECK_EQ(kit.summary.events, kit.count);
	CHECK_EQ(kit.summary.peak_bytes, 1001 + 2001 + 1);
	kit_release(&kit);
}

/* The file has more than the ring's tail says: the collector died between writing and giving back. */
TEST(nothing_is_folded_twice)
{
	uint64_t tail, folded;
	size_t i;

	kit_init(&kit, 1, 1 << 16);
	make_steps(20);
	tail = atomic_load(&kit.builder.header->slot[0].tail);
	DIES(kit_open(&kit, NULL); mt_fold_run(kit.fold, 0, &folded); mt_fold_flush(kit.fold));
	atomic_store(&kit.builder.header->slot[0].tail, tail);
	recover();
	for (i = 0; i < 20; i++)
		CHECK_EQ(alloc_size(i), (i + 1) * 1000 + 1);
	CHECK_EQ(alloc_size(20), 1);
	CHECK_EQ(alloc_size(21), 0);
	kit_release(&kit);
}

/* Whether the collector died before the last step asked for, or just after it: no step more is in the trace. */
TEST(a_left_over_ring_knows_how_many_steps_were_asked_for)
{
	uint64_t folded;
	int before;

	for (before = 1; before <= 3; before += 2) {
		kit_init(&kit, 1, 1 << 16);
		kit.builder.header->steps = 2;
		make_steps(before);
		DIES(kit_open(&kit, NULL); mt_fold_run(kit.fold, 0, &folded); mt_fold_flush(kit.fold));
		make_steps(4 - before);
		recover();
		CHECK_EQ(kit.summary.steps, 2);
		CHECK(!kit_find(&kit, MT_STEP, 2));
		CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_STEPS);
		kit_release(&kit);
	}
}

/* Events reported before the first one happened when the process started, not when the machine did. */
TEST(a_trace_without_events_has_a_time)
{
	kit_init(&kit, 1, 1 << 16);
	DIES(kit_open(&kit, NULL));
	atomic_store(&kit.builder.header->source_state[MT_SOURCE_API], MT_SOURCE_ON + 1);
	make_steps(1);
	recover();
	CHECK_EQ(kit_find(&kit, MT_SOURCE, 0)->time, kit.builder.header->start_monotonic);
	kit_release(&kit);
}

TEST(a_finished_trace_stays_as_it_is)
{
	size_t count;

	kit_init(&kit, 1, 1 << 16);
	make_steps(3);
	kit_fold(&kit, &(struct mt_fold_options){ .steps = 1 });
	count = kit.count;
	make_steps(3);
	recover();
	CHECK_EQ(kit.count, count);
	CHECK_EQ(kit.summary.steps, 1);
	CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_STEPS);
	CHECK(!kit_find(&kit, MT_END, 1));
	CHECK_EQ(mt_fold_recover(kit.trace, kit.ring, kit.rules, kit.trace, NULL), -MT_E_ARGUMENT);
	kit_read(&kit, kit.trace);
	CHECK_EQ(kit.count, count);
	kit_release(&kit);
}

/* The collector died before it could say who was recorded. */
TEST(an_empty_trace_is_made_anew)
{
	kit_init(&kit, 1, 1 << 16);
	make_steps(3);
	CHECK(!close(open(kit.trace, O_WRONLY | O_CREAT, 0600)));
	recover();
	CHECK_EQ(alloc_size(2), 3001);
	CHECK_EQ(mt_reader_process(kit.reader)->pid, 4242);
	kit_release(&kit);
}

TEST(a_full_disk_loses_nothing)
{
	struct rlimit limit = { 0, RLIM_INFINITY };
	uint32_t i, random = 1;
	uint64_t folded;
	int status = 0;

	kit_init(&kit, 1, 1 << 20);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	signal(SIGXFSZ, SIG_IGN);
	kit_open(&kit, NULL);
	for (i = 0; i < 5000; i++) {
		random = random * 1664525u + 1013904223u;
		put(0, tensor(MT_TENSOR_ALLOC, (uint64_t)i << 20, random, 0));
	}
	limit.rlim_cur = 2048;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	mt_fold_run(kit.fold, 0, &folded);
	status = mt_fold_flush(kit.fold);
	CHECK(status == -MT_E_SYSTEM || status == -MT_E_SPACE);
	CHECK_EQ(atomic_load(&kit.builder.header->slot[0].tail), 0);
	CHECK(mt_fold_run(kit.fold, 0, &folded) < 0);
	limit.rlim_cur = RLIM_INFINITY;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_EQ(kit_run_final(&kit), 0);
	CHECK_EQ(mt_fold_flush(kit.fold), 0);
	CHECK_EQ(atomic_load(&kit.builder.header->slot[0].tail), atomic_load(&kit.builder.header->slot[0].head));
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
	for (i = 0; i < 5000; i++)
		CHECK_EQ(kit_find(&kit, MT_TENSOR_ALLOC, 0)[i].addr, (uint64_t)i << 20);
	CHECK_EQ(kit.summary.lost, 0);
	kit_release(&kit);
}

TEST_MAIN()
