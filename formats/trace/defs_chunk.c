/* defs_chunk.c - DEFS chunks: definitions as bytes and back (trace-v1.md, "DEFS"). */
#include <string.h>
#include "chunk.h"
#include "defs.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"

/* A chunk takes no further definitions beyond this size. One more of the longest stays far below MT_CHUNK_BYTES_MAX. */
#define PAYLOAD_BYTES (8u << 20)

/* Strings to write; all others are written as "". */
struct wanted {
	const uint8_t *by_id;
	uint32_t count;
};

static void encode_string(struct mt_buffer *out, const struct mt_defs *defs, uint32_t id, const struct wanted *wanted)
{
	size_t size = mt_defs_string_size(defs, id);

	if (wanted->by_id && mt_defs_is_spare(defs, id, wanted->by_id, wanted->count))
		size = 0;
	mt_buffer_put_varint(out, size);
	mt_buffer_put(out, mt_defs_string(defs, id), size);
}

static void encode_module(struct mt_buffer *out, const struct mt_module *module)
{
	mt_buffer_put_varint(out, module->path);
	mt_buffer_put_varint(out, module->start);
	mt_buffer_put_varint(out, module->end);
	mt_buffer_put_varint(out, module->bias);
	mt_buffer_put_varint(out, module->build_id_size);
	mt_buffer_put(out, module->build_id, module->build_id_size);
}

static void encode_frame(struct mt_buffer *out, const struct mt_frame *frame)
{
	mt_buffer_put_varint(out, frame->kind);
	mt_buffer_put_varint(out, frame->function);
	mt_buffer_put_varint(out, frame->file);
	mt_buffer_put_varint(out, frame->line);
	mt_buffer_put_varint(out, frame->module);
	mt_buffer_put_varint(out, frame->offset);
}

static void encode_thread(struct mt_buffer *out, const struct mt_thread *thread)
{
	mt_buffer_put_varint(out, thread->tid);
	mt_buffer_put_varint(out, thread->name);
	mt_buffer_put_varint(out, thread->flags);
}

static void encode_device(struct mt_buffer *out, const struct mt_device *device)
{
	mt_buffer_put_varint(out, device->kind);
	mt_buffer_put_varint(out, device->index);
	mt_buffer_put_varint(out, device->name);
	mt_buffer_put_varint(out, device->uuid);
	mt_buffer_put_varint(out, device->total);
}

static void encode_symbol(struct mt_buffer *out, const struct mt_symbol *symbol)
{
	mt_buffer_put_varint(out, symbol->frame);
	mt_buffer_put_varint(out, symbol->name);
}

static void encode_instance(struct mt_buffer *out, const struct mt_instance *instance)
{
	mt_buffer_put_varint(out, instance->address);
	mt_buffer_put_varint(out, instance->type);
}

static void encode_nest(struct mt_buffer *out, const struct mt_nest *nest, uint32_t id)
{
	mt_buffer_put_varint(out, id - nest->parent);
	mt_buffer_put_varint(out, nest->instance);
}

/* Nested nodes of one stack follow each other, so the difference to the node before is small. */
static void encode_nested(struct mt_buffer *out, const struct mt_defs *defs, uint32_t id)
{
	const struct mt_nested *nested = mt_defs_nested(defs, id), *before = mt_defs_nested(defs, id - 1);

	mt_buffer_put_varint(out, mt_defs_stack_told(defs, nested->node).node -
					  (before ? mt_defs_stack_told(defs, before->node).node : 0));
	mt_buffer_put_varint(out, nested->nest);
}

/* `id` is a number of nodes without variants. */
static void encode_node(struct mt_buffer *out, const struct mt_defs *defs, uint32_t id)
{
	const struct mt_node *node = mt_defs_node(defs, mt_defs_id_told(defs, MT_DEF_NODE, id));

	mt_buffer_put_varint(out, id - mt_defs_stack_told(defs, node->parent).node);
	mt_buffer_put_varint(out, node->frame);
}

/* Number of nodes between this variant and the one before. */
static uint32_t nodes_between(const struct mt_defs *defs, uint32_t id)
{
	return mt_defs_id_told(defs, MT_DEF_VARIANT, id) - mt_defs_id_told(defs, MT_DEF_VARIANT, id - 1) - 1;
}

/* Variants of one stack follow each other like its nodes, so differences are small. */
static void encode_variant(struct mt_buffer *out, const struct mt_defs *defs, uint32_t id)
{
	struct mt_variant variant = mt_defs_variant(defs, id), before = mt_defs_variant(defs, id - 1);
	uint32_t node = mt_defs_stack_told(defs, variant.node).node,
		 node_before = mt_defs_stack_told(defs, before.node).node;

	mt_buffer_put_varint(out, nodes_between(defs, id));
	mt_buffer_put_varint(out, id - mt_defs_stack_told(defs, variant.parent).variant);
	mt_buffer_put_varint(out, mt_zigzag((uint64_t)node - node_before));
	mt_buffer_put_varint(out, mt_zigzag((uint64_t)variant.nest - before.nest));
}

static void encode_one(struct mt_buffer *out, const struct mt_defs *defs, enum mt_def kind, uint32_t id,
		       const struct wanted *wanted)
{
	switch (kind) {
	case MT_DEF_STRING:
		encode_string(out, defs, id, wanted);
		break;
	case MT_DEF_MODULE:
		encode_module(out, mt_defs_module(defs, id));
		break;
	case MT_DEF_FRAME:
		encode_frame(out, mt_defs_frame(defs, id));
		break;
	case MT_DEF_NODE:
		encode_node(out, defs, id);
		break;
	case MT_DEF_THREAD:
		encode_thread(out, mt_defs_thread(defs, id));
		break;
	case MT_DEF_DEVICE:
		encode_device(out, mt_defs_device(defs, id));
		break;
	case MT_DEF_SYMBOL:
		encode_symbol(out, mt_defs_symbol(defs, id));
		break;
	case MT_DEF_INSTANCE:
		encode_instance(out, mt_defs_instance(defs, id));
		break;
	case MT_DEF_NEST:
		encode_nest(out, mt_defs_nest(defs, id), id);
		break;
	case MT_DEF_NESTED:
		encode_nested(out, defs, id);
		break;
	case MT_DEF_VARIANT:
		encode_variant(out, defs, id);
		break;
	}
}

/* Appends the section of one kind: as many ids after *done as fit. */
static void encode_section(struct mt_buffer *payload, const struct mt_defs *defs, enum mt_def kind, uint32_t *done,
			   const struct wanted *wanted)
{
	uint32_t id = *done, last = mt_defs_told(defs, kind);
	struct mt_buffer head = { 0 }, body = { 0 };

	while (id < last && payload->size + body.size < PAYLOAD_BYTES && !body.error)
		encode_one(&body, defs, kind, ++id, wanted);
	mt_buffer_put_varint(&head, *done + 1);
	mt_buffer_put_varint(&head, id - *done);
	mt_buffer_put_varint(payload, kind);
	mt_buffer_put_varint(payload, head.size + body.size);
	mt_buffer_put(payload, head.data, head.size);
	mt_buffer_put(payload, body.data, body.size);
	if (head.error || body.error)
		payload->error = -MT_E_MEMORY;
	mt_buffer_release(&head);
	mt_buffer_release(&body);
	*done = id;
}

int mt_defs_encode(const struct mt_defs *defs, uint32_t done[MT_DEF_END], const uint8_t *wanted_by_id, uint32_t count,
		   struct mt_buffer *payload)
{
	const struct wanted wanted = { wanted_by_id, count };
	int some = 0;
	int kind;

	mt_payload_begin(payload, MT_CHUNK_DEFS);
	for (kind = 1; kind < MT_DEF_END && payload->size < PAYLOAD_BYTES && !payload->error; kind++) {
		if (done[kind] == mt_defs_told(defs, (enum mt_def)kind))
			continue;
		encode_section(payload, defs, (enum mt_def)kind, &done[kind], &wanted);
		some = 1;
	}
	return some;
}

static void decode_string(struct mt_cursor *in, struct mt_text *string)
{
	uint64_t size = mt_cursor_varint(in);

	if (size > MT_STRING_MAX) {
		in->error = -MT_E_LIMIT;
		return;
	}
	string->size = (uint32_t)size;
	string->text = (const char *)mt_cursor_bytes(in, size);
}

static void decode_module(struct mt_cursor *in, struct mt_module *module)
{
	const uint8_t *build_id;
	uint32_t i;

	module->path = mt_cursor_u32(in);
	module->start = mt_cursor_varint(in);
	module->end = mt_cursor_varint(in);
	module->bias = mt_cursor_varint(in);
	module->build_id_size = mt_cursor_u32(in);
	if (module->build_id_size > MT_BUILD_ID_MAX)
		in->error = -MT_E_LIMIT;
	build_id = mt_cursor_bytes(in, module->build_id_size);
	for (i = 0; build_id && i < module->build_id_size; i++)
		module->build_id[i] = build_id[i];
}

static void decode_frame(struct mt_cursor *in, struct mt_frame *frame)
{
	frame->kind = mt_cursor_u32(in);
	frame->function = mt_cursor_u32(in);
	frame->file = mt_cursor_u32(in);
	frame->line = mt_cursor_u32(in);
	frame->module = mt_cursor_u32(in);
	frame->offset = mt_cursor_varint(in);
}

static void decode_node(struct mt_cursor *in, struct mt_node *node, const struct mt_defs *defs, uint32_t id)
{
	uint32_t distance = mt_cursor_u32(in);

	if (!distance || distance > id)
		in->error = in->error ? in->error : -MT_E_CORRUPT;
	node->parent = mt_defs_id_told(defs, MT_DEF_NODE, id - distance);
	node->frame = mt_cursor_u32(in);
}

static void decode_thread(struct mt_cursor *in, struct mt_thread *thread)
{
	thread->tid = mt_cursor_u32(in);
	thread->name = mt_cursor_u32(in);
	thread->flags = mt_cursor_u32(in);
}

static void decode_device(struct mt_cursor *in, struct mt_device *device)
{
	device->kind = mt_cursor_u32(in);
	device->index = mt_cursor_u32(in);
	device->name = mt_cursor_u32(in);
	device->uuid = mt_cursor_u32(in);
	device->total = mt_cursor_varint(in);
}

static void decode_symbol(struct mt_cursor *in, struct mt_symbol *symbol)
{
	symbol->frame = mt_cursor_u32(in);
	symbol->name = mt_cursor_u32(in);
}

static void decode_instance(struct mt_cursor *in, struct mt_instance *instance)
{
	instance->address = mt_cursor_varint(in);
	instance->type = mt_cursor_u32(in);
}

static void decode_nest(struct mt_cursor *in, struct mt_nest *nest, uint32_t id)
{
	uint32_t distance = mt_cursor_u32(in);

	if (!distance || distance > id)
		in->error = in->error ? in->error : -MT_E_CORRUPT;
	nest->parent = id - distance;
	nest->instance = mt_cursor_u32(in);
}

static void decode_nested(struct mt_cursor *in, struct mt_nested *nested, const struct mt_defs *defs, uint32_t id)
{
	const struct mt_nested *before = mt_defs_nested(defs, id - 1);
	uint64_t node = (uint64_t)(before ? mt_defs_stack_told(defs, before->node).node : 0) + mt_cursor_u32(in);

	if (node > UINT32_MAX)
		in->error = in->error ? in->error : -MT_E_CORRUPT;
	nested->node = mt_defs_id_told(defs, MT_DEF_NODE, (uint32_t)node);
	nested->nest = mt_cursor_u32(in);
}

/* Decodes a variant; the number of nodes before it was read. */
static void decode_variant(struct mt_cursor *in, struct mt_variant *variant, const struct mt_defs *defs, uint32_t id)
{
	struct mt_variant before = mt_defs_variant(defs, id - 1);
	uint32_t distance = mt_cursor_u32(in);
	uint64_t node = mt_defs_stack_told(defs, before.node).node, nest = before.nest;

	node += mt_unzigzag(mt_cursor_varint(in));
	nest += mt_unzigzag(mt_cursor_varint(in));
	if (!distance || distance > id || node > UINT32_MAX || nest > UINT32_MAX)
		in->error = in->error ? in->error : -MT_E_CORRUPT;
	variant->parent = mt_defs_id_told(defs, MT_DEF_VARIANT, id - distance);
	variant->node = mt_defs_id_told(defs, MT_DEF_NODE, (uint32_t)node);
	variant->nest = (uint32_t)nest;
}

static int decode_one(struct mt_defs *defs, enum mt_def kind, uint32_t id, struct mt_cursor *in)
{
	union mt_definition definition;

	memset(&definition, 0, sizeof(definition));
	switch (kind) {
	case MT_DEF_STRING:
		decode_string(in, &definition.string);
		break;
	case MT_DEF_MODULE:
		decode_module(in, &definition.module);
		break;
	case MT_DEF_FRAME:
		decode_frame(in, &definition.frame);
		break;
	case MT_DEF_NODE:
		decode_node(in, &definition.node, defs, id);
		break;
	case MT_DEF_THREAD:
		decode_thread(in, &definition.thread);
		break;
	case MT_DEF_DEVICE:
		decode_device(in, &definition.device);
		break;
	case MT_DEF_SYMBOL:
		decode_symbol(in, &definition.symbol);
		break;
	case MT_DEF_INSTANCE:
		decode_instance(in, &definition.instance);
		break;
	case MT_DEF_NEST:
		decode_nest(in, &definition.nest, id);
		break;
	case MT_DEF_NESTED:
		decode_nested(in, &definition.nested, defs, id);
		break;
	case MT_DEF_VARIANT:
		decode_variant(in, &definition.variant, defs, id);
		break;
	}
	return in->error ? in->error : mt_defs_append(defs, kind, &definition);
}

/* The unread definitions of a section. */
struct rest {
	struct mt_cursor in;
	uint64_t count;
};

/* Begins a section. Its first definition must follow the known ones. 0 or an error. */
static int begin_section(struct rest *rest, const struct mt_defs *defs, enum mt_def kind, const struct mt_cursor *in)
{
	uint64_t first;

	rest->in = *in;
	first = mt_cursor_varint(&rest->in);
	rest->count = mt_cursor_varint(&rest->in);
	if (rest->in.error)
		return rest->in.error;
	if (first != (uint64_t)mt_defs_told(defs, kind) + 1)
		return -MT_E_CORRUPT;
	return rest->count > MT_DEFS_MAX ? -MT_E_LIMIT : 0;
}

static int decode_next(struct mt_defs *defs, enum mt_def kind, struct rest *rest)
{
	rest->count--;
	return decode_one(defs, kind, mt_defs_told(defs, kind) + 1, &rest->in);
}

static int decode_rest(struct mt_defs *defs, enum mt_def kind, struct rest *rest)
{
	int error = 0;

	while (!error && rest->count)
		error = decode_next(defs, kind, rest);
	return error;
}

/*
 * Decodes variants and, between them, nodes, in the order of their definition, so the ids are the writer's. They differ
 * only if definitions are missing or take several chunks.
 */
static int decode_variants(struct mt_defs *defs, struct rest *rest, struct rest *nodes)
{
	uint64_t id;
	int error = 0;

	while (!error && rest->count) {
		id = mt_defs_id_told(defs, MT_DEF_VARIANT, mt_defs_told(defs, MT_DEF_VARIANT)) + 1ull;
		id += mt_cursor_varint(&rest->in);
		while (!error && nodes->count && mt_defs_count(defs, MT_DEF_NODE) + 1ull < id)
			error = decode_next(defs, MT_DEF_NODE, nodes);
		if (!error)
			error = decode_next(defs, MT_DEF_VARIANT, rest);
	}
	return error;
}

int mt_defs_decode(struct mt_defs *defs, struct mt_cursor *payload)
{
	struct mt_section section = { 0 };
	struct rest rest, nodes = { .count = 0 };
	enum mt_def kind;
	int error, last;

	while ((error = mt_section_next(payload, &section)) > 0) {
		if (section.number >= MT_DEF_END)
			continue;
		kind = (enum mt_def)section.number;
		error = begin_section(&rest, defs, kind, &section.content);
		if (!error && kind == MT_DEF_NODE)
			nodes = rest;
		else if (!error && kind == MT_DEF_VARIANT)
			error = decode_variants(defs, &rest, &nodes);
		else if (!error && kind == MT_DEF_NESTED)
			error = decode_rest(defs, MT_DEF_NODE, &nodes);
		if (!error && kind != MT_DEF_NODE)
			error = decode_rest(defs, kind, &rest);
		if (error)
			break;
	}
	last = decode_rest(defs, MT_DEF_NODE, &nodes);
	return error ? error : last;
}
