/* dump.h - a trace as text, everything that a reader sees: what golden files are compared by. */
#ifndef GOLDEN_DUMP_H
#define GOLDEN_DUMP_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/reader.h"

static void dump_text(FILE *out, const char *text, size_t size)
{
	size_t i;

	fputc('"', out);
	for (i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 32 || c > 126 || c == '"' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void dump_string(FILE *out, const char *label, const char *text)
{
	fprintf(out, " %s ", label);
	dump_text(out, text, strlen(text));
}

static void dump_process(FILE *out, const struct mt_process *process)
{
	fprintf(out, "process pid %u ppid %u rank %d depth %u python 0x%08x tool 0x%06x", process->pid, process->ppid,
		process->rank, process->depth, process->python_version, process->tool_version);
	fprintf(out, " start %" PRIu64 " real %" PRIu64 " error %" PRIu64, process->start_monotonic,
		process->start_realtime, process->clock_error);
	dump_string(out, "host", process->host);
	dump_string(out, "boot", process->boot_id);
	dump_string(out, "command", process->command);
	dump_string(out, "options", process->options);
	dump_string(out, "ring", process->ring_path);
	if (*process->run)
		dump_string(out, "run", process->run);
	fputc('\n', out);
}

static void dump_defs(FILE *out, const struct mt_defs *defs)
{
	const struct mt_module *module;
	const struct mt_frame *frame;
	const struct mt_node *node;
	const struct mt_thread *thread;
	const struct mt_device *device;
	const struct mt_symbol *symbol;
	const struct mt_instance *instance;
	const struct mt_nest *nest;
	uint32_t id, i;

	for (id = 1; id <= mt_defs_count(defs, MT_DEF_STRING); id++) {
		fprintf(out, "string %u ", id);
		dump_text(out, mt_defs_string(defs, id), mt_defs_string_size(defs, id));
		fputc('\n', out);
	}
	for (id = 1; (module = mt_defs_module(defs, id)); id++) {
		fprintf(out, "module %u path %u start %" PRIx64 " end %" PRIx64 " bias %" PRIx64 " build-id ", id,
			module->path, module->start, module->end, module->bias);
		for (i = 0; i < module->build_id_size; i++)
			fprintf(out, "%02x", module->build_id[i]);
		fputc('\n', out);
	}
	for (id = 1; (frame = mt_defs_frame(defs, id)); id++)
		fprintf(out, "frame %u kind %u function %u file %u line %u module %u offset %" PRIx64 "\n", id,
			frame->kind, frame->function, frame->file, frame->line, frame->module, frame->offset);
	for (id = 1; (node = mt_defs_node(defs, id)); id++)
		fprintf(out, node->nest ? "node %u parent %u frame %u nest %u\n" : "node %u parent %u frame %u\n", id,
			node->parent, node->frame, node->nest);
	for (id = 1; (thread = mt_defs_thread(defs, id)); id++)
		fprintf(out, "thread %u tid %u name %u flags %u\n", id, thread->tid, thread->name, thread->flags);
	for (id = 1; (device = mt_defs_device(defs, id)); id++)
		fprintf(out, "device %u kind %u index %u name %u uuid %u total %" PRIu64 "\n", id, device->kind,
			device->index, device->name, device->uuid, device->total);
	for (id = 1; (symbol = mt_defs_symbol(defs, id)); id++)
		fprintf(out, "symbol %u frame %u name %u\n", id, symbol->frame, symbol->name);
	for (id = 1; (instance = mt_defs_instance(defs, id)); id++)
		fprintf(out, "instance %u address %" PRIx64 " type %u\n", id, instance->address, instance->type);
	for (id = 1; (nest = mt_defs_nest(defs, id)); id++)
		fprintf(out, "nest %u parent %u instance %u\n", id, nest->parent, nest->instance);
}

static void dump_event(FILE *out, const struct mt_event *event)
{
	fprintf(out, "%s", mt_kind_name(event->kind));
#define DUMP_FIELD(name, number, encoding, meaning) \
	if (event->name)                            \
		fprintf(out, " " #name " %" PRIu64, event->name);
	MT_FIELD_LIST(DUMP_FIELD)
#undef DUMP_FIELD
	fputc('\n', out);
}

/* Names of errors, for lists that people read. */
static const char *dump_error(int error)
{
#define DUMP_ERROR(name, number, exit_code, text) \
	if (error == -MT_E_##name)                \
		return #name;
	MT_ERROR_LIST(DUMP_ERROR)
#undef DUMP_ERROR
	return "OK";
}

static void dump_chunks(FILE *out, const struct mt_reader *reader)
{
	uint32_t i, count;
	const struct mt_chunk_info *chunk = mt_reader_chunks(reader, &count);

	for (i = 0; i < count; i++, chunk++)
		fprintf(out,
			"chunk %u kind %u events %u seq %" PRIu64 "..%" PRIu64 " time %" PRIu64 "..%" PRIu64
			" live %" PRIu64 "..%" PRIu64 " phases %x\n",
			i, chunk->kind, chunk->events, chunk->first_seq, chunk->last_seq, chunk->first_time,
			chunk->last_time, chunk->live_start, chunk->live_max, chunk->phases);
}

/* 0, or the error of opening. */
static int dump_trace(FILE *out, const char *path)
{
	const struct mt_event *events;
	const struct mt_trace_state *state;
	struct mt_reader *reader;
	size_t count, i;
	int checkpoint, error = mt_reader_open(&reader, path);

	if (error)
		return error;
	dump_process(out, mt_reader_process(reader));
	while (!mt_reader_next(reader, &events, &count, &checkpoint) && count) {
		if (checkpoint)
			fprintf(out, "checkpoint %zu\n", count);
		for (i = 0; i < count; i++)
			dump_event(out, &events[i]);
	}
	dump_defs(out, mt_reader_defs(reader));
	dump_chunks(out, reader);
	state = mt_reader_state(reader);
	fprintf(out,
		"complete %d error %s at %" PRIu64 " of %" PRIu64 " events %" PRIu64 " lost %" PRIu64 " chunks %u\n",
		state->complete, dump_error(state->error), state->error_offset, state->file_bytes, state->events,
		state->lost, state->chunks);
	mt_reader_free(reader);
	return 0;
}

#endif
