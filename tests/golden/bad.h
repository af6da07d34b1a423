/*
 * bad.h - the bad golden files: each is sound but for one kind of damage.
 *
 * BAD(NAME, ERROR, EVENTS) { ... } appends the damage to `build`, which holds what comes before it. EVENTS is what
 * a reader must still deliver; NEVER_OPENS: mt_reader_open fails, and `build` was empty.
 */
#ifndef GOLDEN_BAD_H
#define GOLDEN_BAD_H

#include "build.h"

#define NEVER_OPENS (-1)

struct bad {
	const char *name, *error;
	int events;
	void (*make)(struct build *build);
};

extern const struct bad __start_bad_files[], __stop_bad_files[];

#define BAD(title, expected, delivered)                                                                   \
	static void bad_##title(struct build *build);                                                     \
	static const struct bad bad_file_##title                                                          \
		__attribute__((used, section("bad_files"), aligned(8))) = { #title, #expected, delivered, \
									    bad_##title };                \
	static void bad_##title(struct build *build)

static void flip_at(struct build *build, size_t from_end)
{
	build->out.data[build->out.size - from_end] ^= 0x10;
}

static void put(struct build *build, const uint8_t *data, size_t size)
{
	mt_buffer_put(&build->out, data, size);
}

/* A chunk of marks with one section changed, and a good one behind it that must not be delivered. */
static void bad_section(struct build *build, uint32_t number, const uint8_t *data, size_t size)
{
	build_marks(build, 5, &(struct build_section){ number, data, size });
	build_marks(build, 20, NULL);
}

static void bad_column(struct build *build, uint32_t field, const uint8_t *data, size_t size)
{
	bad_section(build, MT_SECTION_COLUMN + field, data, size);
}

/* A DEFS chunk of one section, and good events behind it. */
static void bad_defs(struct build *build, uint32_t kind, const uint8_t *data, size_t size)
{
	mt_payload_begin(&build->payload, MT_CHUNK_DEFS);
	mt_payload_section(&build->payload, kind, data, size);
	build_chunk(build, (struct mt_chunk_info){ 0 });
	build_marks(build, 20, NULL);
}

/* ---- files that do not open -------------------------------------------------------------------------------------- */

BAD(empty, TRUNCATED, NEVER_OPENS)
{
	build->out.size = 0;
}

BAD(recognition_only, TRUNCATED, NEVER_OPENS)
{
	mt_recognition_put(&build->out);
}

BAD(recognition_cut, TRUNCATED, NEVER_OPENS)
{
	mt_recognition_put(&build->out);
	build->out.size = 13;
}

BAD(text_file, MAGIC, NEVER_OPENS)
{
	put(build, (const uint8_t *)"This is not a trace, but it is long enough for one.\n", 52);
}

BAD(other_zstd_file, MAGIC, NEVER_OPENS)
{
	build_head(build);
	memmove(build->out.data, build->out.data + 20, build->out.size -= 20);
}

BAD(other_skippable_frame, MAGIC, NEVER_OPENS)
{
	build_head(build);
	build->out.data[8] = 'm';
}

BAD(recognition_too_short, MAGIC, NEVER_OPENS)
{
	build_head(build);
	build->out.data[4] = 11;
}

BAD(recognition_too_long, MAGIC, NEVER_OPENS)
{
	build_head(build);
	build->out.data[5] = 0x10;
}

BAD(version_2, VERSION, NEVER_OPENS)
{
	build_head(build);
	build->out.data[16] = 2;
}

static void process_head(struct build *build, const char *magic, uint8_t version)
{
	uint8_t head[9];

	mt_recognition_put(&build->out);
	mt_payload_begin(&build->payload, MT_CHUNK_PROCESS);
	memcpy(head, magic, 8);
	head[8] = version;
	mt_payload_section(&build->payload, MT_PROCESS_HEAD, head, sizeof(head));
}

BAD(process_version_2, VERSION, NEVER_OPENS)
{
	process_head(build, MT_TRACE_MAGIC, 2);
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

BAD(process_magic, MAGIC, NEVER_OPENS)
{
	process_head(build, "MEMTRICK", 1);
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

BAD(process_without_head, MAGIC, NEVER_OPENS)
{
	mt_recognition_put(&build->out);
	mt_payload_begin(&build->payload, MT_CHUNK_PROCESS);
	mt_payload_section(&build->payload, 2, BYTES(42));
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

BAD(process_pid_too_large, LIMIT, NEVER_OPENS)
{
	process_head(build, MT_TRACE_MAGIC, 1);
	mt_payload_section(&build->payload, 2, BYTES(0x80, 0x80, 0x80, 0x80, 0x10));
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

BAD(process_text_too_long, LIMIT, NEVER_OPENS)
{
	uint8_t *text = calloc(1, MT_STRING_MAX + 1);

	process_head(build, MT_TRACE_MAGIC, 1);
	mt_payload_section(&build->payload, 13, text, MT_STRING_MAX + 1);
	build_chunk(build, (struct mt_chunk_info){ 0 });
	free(text);
}

BAD(process_number_cut, CORRUPT, NEVER_OPENS)
{
	process_head(build, MT_TRACE_MAGIC, 1);
	mt_payload_section(&build->payload, 2, BYTES(0x80));
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

BAD(process_cut, TRUNCATED, NEVER_OPENS)
{
	build_head(build);
	build->out.size -= 5;
}

BAD(process_checksum, CHECKSUM, NEVER_OPENS)
{
	build_head(build);
	flip_at(build, 2);
}

BAD(process_missing, CORRUPT, NEVER_OPENS)
{
	mt_recognition_put(&build->out);
	build_defs(build);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

BAD(second_process, CORRUPT, 2)
{
	build_head(build);
}

BAD(chunk_checksum, CHECKSUM, 2)
{
	build_marks(build, 5, NULL);
	flip_at(build, 1);
	build_marks(build, 20, NULL);
}

BAD(chunk_cut, TRUNCATED, 2)
{
	build_marks(build, 5, NULL);
	build->out.size -= 9;
}

BAD(chunk_without_content_size, CORRUPT, 2)
{
	put(build, BYTES(0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x00, 0x09, 0x00, 0x00, 0x09, 0, 0, 0, 0));
	build_marks(build, 20, NULL);
}

BAD(chunk_without_checksum, CORRUPT, 2)
{
	put(build, BYTES(0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x01, 0x09, 0x00, 0x00, 0x09));
	build_marks(build, 20, NULL);
}

BAD(chunk_with_dictionary, CORRUPT, 2)
{
	put(build, BYTES(0x28, 0xB5, 0x2F, 0xFD, 0x25, 0x07, 0x01, 0x09, 0x00, 0x00, 0x09, 0, 0, 0, 0));
	build_marks(build, 20, NULL);
}

BAD(chunk_of_65_mib, LIMIT, 2)
{
	put(build, BYTES(0x28, 0xB5, 0x2F, 0xFD, 0xA4, 0x00, 0x00, 0x10, 0x04, 0x01, 0x00, 0x00, 0, 0, 0, 0));
	build_marks(build, 20, NULL);
}

BAD(chunk_with_reserved_block, CORRUPT, 2)
{
	put(build, BYTES(0x28, 0xB5, 0x2F, 0xFD, 0x24, 0x01, 0x0F, 0x00, 0x00, 0x09, 0, 0, 0, 0));
	build_marks(build, 20, NULL);
}

BAD(chunk_shorter_than_it_says, CORRUPT, 2)
{
	put(build, BYTES(0x28, 0xB5, 0x2F, 0xFD, 0x24, 0x05, 0x09, 0x00, 0x00, 0x09, 0, 0, 0, 0));
	build_marks(build, 20, NULL);
}

BAD(skippable_frame_cut, TRUNCATED, 2)
{
	put(build, BYTES(0x50, 0x2A, 0x4D, 0x18, 0xff, 0xff, 0xff, 0xff, 1, 2, 3));
}

BAD(garbage_behind, CORRUPT, 2)
{
	put(build, (const uint8_t *)"garbage garbage garbage", 23);
}

BAD(zeros_behind, CORRUPT, 2)
{
	put(build, (const uint8_t[100]){ 0 }, 100);
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static void raw_events(struct build *build, const uint8_t *data, size_t size)
{
	mt_payload_begin(&build->payload, MT_CHUNK_EVENTS);
	mt_buffer_put(&build->payload, data, size);
	build_chunk(build, (struct mt_chunk_info){ 0 });
	build_marks(build, 20, NULL);
}

BAD(payload_empty, CORRUPT, 2)
{
	mt_buffer_clear(&build->payload);
	build_chunk(build, (struct mt_chunk_info){ 0 });
	build_marks(build, 20, NULL);
}

BAD(section_too_long, CORRUPT, 2)
{
	raw_events(build, BYTES(1, 8, 2, 5, 6, 10, 20, 0, 0, 0, 2, 200, 36, 36));
}

BAD(section_twice, CORRUPT, 2)
{
	raw_events(build, BYTES(1, 8, 2, 5, 6, 10, 20, 0, 0, 0, 2, 2, 36, 36, 2, 2, 36, 36));
}

BAD(section_zero, CORRUPT, 2)
{
	raw_events(build, BYTES(0, 1, 1));
}

BAD(section_number_too_large, LIMIT, 2)
{
	raw_events(build, BYTES(1, 8, 2, 5, 6, 10, 20, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0));
}

BAD(summary_missing, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, NULL, 0);
}

BAD(summary_cut, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, BYTES(2, 5, 6, 10, 20, 0, 0));
}

BAD(summary_events, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, BYTES(3, 5, 6, 10, 20, 0, 0, 0));
}

BAD(summary_first_seq, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, BYTES(2, 4, 6, 10, 20, 0, 0, 0));
}

BAD(summary_last_seq, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, BYTES(2, 5, 7, 10, 20, 0, 0, 0));
}

BAD(summary_time, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, BYTES(2, 5, 6, 10, 21, 0, 0, 0));
}

BAD(too_many_events, LIMIT, 2)
{
	bad_section(build, MT_SECTION_SUMMARY, BYTES(0x81, 0x80, 0x40, 5, 6, 10, 20, 0, 0, 0));
}

BAD(kinds_missing, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_KINDS, NULL, 0);
}

BAD(kinds_long, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_KINDS, BYTES(MT_MARK, MT_MARK, MT_MARK));
}

BAD(layout_missing, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_LAYOUT, NULL, 0);
}

BAD(layout_of_another_kind, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_LAYOUT, BYTES(MT_STEP_MARK, 0x87, 0x40));
}

BAD(layout_twice, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_LAYOUT, BYTES(MT_MARK, 0x87, 0x40, MT_MARK, 0x87, 0x40));
}

BAD(layout_without_seq, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_LAYOUT, BYTES(MT_MARK, 0x86, 0x40));
}

BAD(layout_kind_too_large, CORRUPT, 2)
{
	bad_section(build, MT_SECTION_LAYOUT, BYTES(MT_MARK, 0x87, 0x40, 0x80, 2, 7));
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

BAD(column_missing, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_time, NULL, 0);
}

BAD(column_short, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_time, BYTES(20));
}

BAD(column_long, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_time, BYTES(20, 20, 0));
}

BAD(column_cut, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_time, BYTES(20, 20, 0x80));
}

BAD(column_nobody_has, CORRUPT, 2)
{
	raw_events(build, BYTES(1, 8, 1, 5, 5, 10, 10, 0, 0, 0, 2, 1, 39, 3, 2, 39, 7, 32, 1, 4, 33, 1, 20, 34, 1, 0,
				38, 1, 0));
}

BAD(varint_too_long, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_name, BYTES(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2));
}

BAD(addr_too_long, CORRUPT, 2)
{
	/* one RANGE_END: seq, time, thread, handle */
	raw_events(build,
		   BYTES(1, 8, 1, 5, 5, 10, 10, 0, 0, 0, 2, 1, MT_RANGE_END, 3, 3, MT_RANGE_END, 0x87, 4, 32, 1, 4, 33,
			 1, 20, 34, 1, 0, 41, 10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 4));
}

BAD(seq_twice_in_a_chunk, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_seq, BYTES(4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
}

BAD(seq_goes_back, CORRUPT, 2)
{
	build_marks(build, 2, NULL);
	build_marks(build, 20, NULL);
}

BAD(undefined_thread, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_thread, BYTES(0, 2));
}

BAD(undefined_string, CORRUPT, 2)
{
	bad_column(build, MT_FIELD_name, BYTES(2, 0));
}

BAD(undefined_stack, CORRUPT, 2)
{
	/* one VMM_RELEASE: seq, time, thread, stack, handle */
	raw_events(build, BYTES(1, 8, 1, 5, 5, 10, 10, 0, 0, 0, 2, 1, MT_VMM_RELEASE, 3, 3, MT_VMM_RELEASE, 0x8f, 4, 32,
				1, 4, 33, 1, 20, 34, 1, 0, 35, 1, 2, 41, 1, 0));
}

BAD(undefined_device, CORRUPT, 2)
{
	/* one DRIVER_FAIL: seq, time, thread, stack, device, size, entry, result */
	raw_events(build, BYTES(1, 8, 1, 5, 5, 10, 10, 0, 0, 0, 2, 1, MT_DRIVER_FAIL, 3, 3, MT_DRIVER_FAIL, 0xdf, 0x30,
				32, 1, 4, 33, 1, 20, 34, 1, 0, 35, 1, 1, 36, 1, 2, 38, 1, 9, 43, 1, 0, 44, 1, 2));
}

BAD(undefined_domain, CORRUPT, 2)
{
	/* one RANGE_POP: seq, time, thread, value */
	raw_events(build, BYTES(1, 8, 1, 5, 5, 10, 10, 0, 0, 0, 2, 1, MT_RANGE_POP, 3, 4, MT_RANGE_POP, 0x87, 0x80, 1,
				32, 1, 4, 33, 1, 20, 34, 1, 0, 46, 1, 2));
}

BAD(live_outside_a_checkpoint, CORRUPT, 2)
{
	raw_events(build, BYTES(1, 8, 1, 5, 5, 10, 10, 0, 0, 0, 2, 1, MT_LIVE, 3, 2, MT_LIVE, 7, 32, 1, 4, 33, 1, 20,
				34, 1, 0));
}

BAD(mark_in_a_checkpoint, CORRUPT, 2)
{
	build_marks(build, 5, NULL);
	build->out.size = (size_t)build->list.info[--build->list.count].offset;
	build->payload.data[0] = MT_CHUNK_CHECKPOINT;
	build_chunk(build, (struct mt_chunk_info){ 0 });
	build_marks(build, 20, NULL);
}

/* The checkpoint stands for events up to 50; the ones behind it are of an earlier time. */
BAD(events_older_than_their_checkpoint, CORRUPT, 3)
{
	mt_payload_begin(&build->payload, MT_CHUNK_CHECKPOINT);
	mt_payload_section(&build->payload, MT_SECTION_SUMMARY, BYTES(0, 50, 50, 10, 20, 0, 0, 0));
	mt_payload_section(&build->payload, MT_SECTION_KINDS, NULL, 0);
	mt_payload_section(&build->payload, MT_SECTION_LAYOUT, NULL, 0);
	build_chunk(build,
		    (struct mt_chunk_info){ .first_seq = 50, .last_seq = 50, .first_time = 10, .last_time = 20 });
	build_marks(build, 5, NULL);
}

/* ---- definitions: events that name none of the bad ones are good ------------------------------------------------- */

BAD(defs_gap, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_STRING, BYTES(3, 1, 1, 'x'));
}

BAD(defs_again, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_STRING, BYTES(1, 1, 1, 'x'));
}

BAD(defs_cut, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_STRING, BYTES(2, 2, 1, 'x'));
}

BAD(defs_too_many, LIMIT, 4)
{
	bad_defs(build, MT_DEF_STRING, BYTES(2, 0x81, 0x80, 0x80, 0x20, 0));
}

BAD(string_too_long, LIMIT, 4)
{
	bad_defs(build, MT_DEF_STRING, BYTES(2, 1, 0x81, 0x80, 4, 'x'));
}

BAD(build_id_too_long, LIMIT, 4)
{
	bad_defs(build, MT_DEF_MODULE, BYTES(2, 1, 1, 0, 0, 0, 33, 0));
}

BAD(module_of_undefined_string, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_MODULE, BYTES(2, 1, 2, 0, 0, 0, 0));
}

BAD(frame_of_undefined_module, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_FRAME, BYTES(2, 1, MT_FRAME_NATIVE, 0, 0, 0, 2, 0));
}

BAD(frame_line_too_large, LIMIT, 4)
{
	bad_defs(build, MT_DEF_FRAME, BYTES(2, 1, 1, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0));
}

BAD(node_its_own_parent, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_NODE, BYTES(2, 1, 0, 1));
}

BAD(node_parent_below_zero, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_NODE, BYTES(2, 1, 3, 1));
}

BAD(node_of_undefined_frame, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_NODE, BYTES(2, 1, 1, 2));
}

BAD(thread_of_undefined_string, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_THREAD, BYTES(2, 1, 7, 2, 0));
}

BAD(device_of_undefined_string, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_DEVICE, BYTES(2, 1, 1, 0, 0, 2, 0));
}

BAD(symbol_of_undefined_frame, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_SYMBOL, BYTES(1, 1, 2, 1));
}

BAD(symbol_of_no_frame, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_SYMBOL, BYTES(1, 1, 0, 1));
}

BAD(symbol_of_undefined_string, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_SYMBOL, BYTES(1, 1, 1, 2));
}

BAD(instance_of_undefined_string, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_INSTANCE, BYTES(1, 1, 0, 2));
}

BAD(nest_of_undefined_instance, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_NEST, BYTES(1, 1, 1, 1));
}

BAD(nest_inside_a_later_one, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_NEST, BYTES(1, 1, 2, 1));
}

BAD(nested_node_of_undefined_nest, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_NESTED, BYTES(1, 1, 1, 1));
}

BAD(variant_of_undefined_nest, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_VARIANT, BYTES(1, 1, 0, 1, 2, 2));
}

BAD(variant_of_undefined_node, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_VARIANT, BYTES(1, 1, 0, 1, 4, 0));
}

BAD(variant_inside_a_later_one, CORRUPT, 4)
{
	bad_defs(build, MT_DEF_VARIANT, BYTES(1, 1, 0, 2, 2, 2));
}

BAD(stack_too_deep, LIMIT, 4)
{
	struct mt_buffer nodes = { 0 };
	int i;

	mt_buffer_put(&nodes, BYTES(2, 0x80, 8)); /* 1024 on top of the one that is there */
	for (i = 0; i < 1024; i++)
		mt_buffer_put(&nodes, BYTES(1, 1));
	bad_defs(build, MT_DEF_NODE, nodes.data, nodes.size);
	mt_buffer_release(&nodes);
}

/* ---- the index --------------------------------------------------------------------------------------------------- */

BAD(index_checksum, CHECKSUM, 2)
{
	build_index(build);
	flip_at(build, 60);
}

BAD(index_magic, CORRUPT, 2)
{
	build_index(build);
	flip_at(build, 1);
}

BAD(index_cut, TRUNCATED, 2)
{
	build_index(build);
	build->out.size -= 30;
}

BAD(index_with_wrong_events, CORRUPT, 2)
{
	build->list.info[2].events = 1;
	build_index(build);
}

BAD(index_with_wrong_live_bytes, CORRUPT, 2)
{
	build->list.info[2].live_max = 1 << 30;
	build_index(build);
}

BAD(index_with_wrong_kind, CORRUPT, 2)
{
	build->list.info[1].kind = MT_CHUNK_EVENTS;
	build_index(build);
}

BAD(index_with_wrong_sizes, CORRUPT, 2)
{
	build->list.info[1].size -= 3;
	build->list.info[2].offset -= 3;
	build->list.info[2].size += 3;
	build_index(build);
}

BAD(index_with_a_gap, CORRUPT, 2)
{
	build->list.info[2].offset += 1;
	build->list.info[2].size -= 1;
	build_index(build);
}

BAD(index_without_a_chunk, CORRUPT, 2)
{
	build->list.count--;
	build_index(build);
}

BAD(index_of_nothing, CORRUPT, 2)
{
	build->list.count = 0;
	build_index(build);
}

BAD(something_behind_the_index, CORRUPT, 2)
{
	build_index(build);
	build_marks(build, 20, NULL);
}

#endif
