/* intake.c - from names in ring events to definitions; see intake.h. */
#include "intake.h"

#include <stdlib.h>
#include <string.h>
#include "base/addrmap.h"
#include "base/pool.h"
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "module_map.h"

#define RECORD_MAX (1u << 20) /* bytes of a log record; a longer record is ignored */
#define CUDA_DEVICES MT_LEDGER_DEVICES

/* A stack of the log: its record, later its node. */
struct intake_stack {
	struct ring_log_entry entry;
	int built;
	enum mt_intake_status status; /* once built: FOUND or MISSING */
	uint32_t node;
};

struct intake_code {
	uint32_t function, file; /* strings */
	uint32_t first_line, table_bytes;
	uint8_t table[];
};

struct intake_device {
	uint32_t id; /* 0: not defined yet */
	uint32_t name, uuid;
	uint64_t total;
};

struct intake_frame {
	uint32_t id;
	uint32_t nest; /* 0: the frame is no call of an instance */
};

struct mt_intake {
	struct ring_view *view;
	struct mt_defs *defs;
	struct addrmap stacks;    /* hash -> struct intake_stack in stack_pool */
	struct addrmap codes;     /* key -> struct intake_code, own malloc */
	struct addrmap threads;   /* serial -> thread id in place of a pointer */
	struct addrmap instances; /* key -> instance id in place of a pointer */
	struct pool stack_pool;
	struct module_map modules; /* instants are offsets in the log */
	struct intake_device cpu, cuda[CUDA_DEVICES];
	uint8_t *record; /* buffer of RECORD_MAX bytes for the current record */
	/* The stack under construction, outermost frame first. */
	struct intake_frame frames[MT_STACK_DEPTH_MAX];
	size_t frame_count;
	uint32_t nest; /* nest of all calls in the frames so far; 0: none */
};

struct mt_intake *mt_intake_new(struct ring_view *view, struct mt_defs *defs)
{
	struct mt_intake *intake = calloc(1, sizeof(*intake));

	if (!intake)
		return NULL;
	intake->view = view;
	intake->defs = defs;
	intake->record = malloc(RECORD_MAX);
	pool_init(&intake->stack_pool, sizeof(struct intake_stack));
	if (!intake->record) {
		mt_intake_free(intake);
		return NULL;
	}
	return intake;
}

void mt_intake_free(struct mt_intake *intake)
{
	size_t cursor = 0;
	void *code;

	if (!intake)
		return;
	while ((code = addrmap_next(&intake->codes, &cursor)))
		free(code);
	addrmap_release(&intake->stacks);
	addrmap_release(&intake->codes);
	addrmap_release(&intake->threads);
	addrmap_release(&intake->instances);
	pool_release(&intake->stack_pool);
	module_map_release(&intake->modules);
	free(intake->record);
	free(intake);
}

/* ---- the log: each function adds one record; a record that contradicts itself is ignored ----------------------- */

static void take_stack(struct mt_intake *intake, const struct ring_log_entry *entry)
{
	struct intake_stack *stack;

	if (entry->bytes < sizeof(struct ring_log_stack) || addrmap_find(&intake->stacks, entry->key) ||
	    addrmap_reserve(&intake->stacks) || pool_reserve(&intake->stack_pool, 1))
		return;
	stack = pool_take(&intake->stack_pool);
	*stack = (struct intake_stack){ .entry = *entry };
	addrmap_put(&intake->stacks, entry->key, stack);
}

static void take_code(struct mt_intake *intake, const struct ring_log_entry *entry)
{
	const struct ring_log_code *record = (const void *)intake->record;
	const char *name = (const char *)(record + 1), *qualname, *file;
	struct intake_code *code;

	if (entry->bytes < sizeof(*record) || addrmap_find(&intake->codes, entry->key) ||
	    (uint64_t)record->name_bytes + record->qualname_bytes + record->file_bytes + record->table_bytes >
		    entry->bytes - sizeof(*record) ||
	    addrmap_reserve(&intake->codes))
		return;
	code = malloc(sizeof(*code) + record->table_bytes);
	if (!code)
		return;
	qualname = name + record->name_bytes;
	file = qualname + record->qualname_bytes;
	code->function = record->qualname_bytes ? mt_defs_add_string(intake->defs, qualname, record->qualname_bytes)
						: mt_defs_add_string(intake->defs, name, record->name_bytes);
	code->file = mt_defs_add_string(intake->defs, file, record->file_bytes);
	code->first_line = record->first_line;
	code->table_bytes = record->table_bytes;
	memcpy(code->table, file + record->file_bytes, record->table_bytes);
	addrmap_put(&intake->codes, entry->key, code);
}

static void take_module(struct mt_intake *intake, const struct ring_log_entry *entry)
{
	const struct ring_log_module *record = (const void *)intake->record;
	const uint8_t *build_id = (const uint8_t *)(record + 1);
	struct module_item item = { .instant = entry->offset };
	struct mt_module module = { 0 };

	if (entry->bytes < sizeof(*record) || record->start >= record->end ||
	    (uint64_t)record->build_id_bytes + record->path_bytes > entry->bytes - sizeof(*record))
		return;
	module.path = mt_defs_add_string(intake->defs, (const char *)build_id + record->build_id_bytes,
					 record->path_bytes);
	if (record->build_id_bytes <= MT_BUILD_ID_MAX) {
		module.build_id_size = record->build_id_bytes;
		memcpy(module.build_id, build_id, record->build_id_bytes);
	}
	item.start = module.start = record->start;
	item.end = module.end = record->end;
	item.bias = module.bias = record->bias;
	item.id = mt_defs_add_module(intake->defs, &module);
	item.role = module_role_of(mt_defs_string(intake->defs, module.path));
	module_map_add(&intake->modules, &item);
}

static void take_thread(struct mt_intake *intake, const struct ring_log_entry *entry)
{
	const struct ring_log_thread *record = (const void *)intake->record;
	struct mt_thread thread = { 0 };
	uint32_t id;

	if (entry->bytes < sizeof(*record) || record->name_bytes > entry->bytes - sizeof(*record))
		return;
	thread.tid = record->tid;
	thread.flags = record->flags;
	thread.name = mt_defs_add_string(intake->defs, (const char *)(record + 1), record->name_bytes);
	id = mt_defs_add_thread(intake->defs, &thread);
	if (id && !addrmap_reserve(&intake->threads))
		addrmap_put(&intake->threads, entry->key, (void *)(uintptr_t)id);
}

static void take_instance(struct mt_intake *intake, const struct ring_log_entry *entry)
{
	const struct ring_log_instance *record = (const void *)intake->record;
	uint32_t type, id;

	if (entry->bytes < sizeof(*record) || record->name_bytes > entry->bytes - sizeof(*record))
		return;
	type = mt_defs_add_string(intake->defs, (const char *)(record + 1), record->name_bytes);
	id = mt_defs_add_instance(intake->defs, record->address, type);
	if (id && !addrmap_reserve(&intake->instances))
		addrmap_put(&intake->instances, entry->key, (void *)(uintptr_t)id);
}

/* Reads one record of the log. */
static enum ring_log_status log_step(struct mt_intake *intake)
{
	struct ring_log_entry entry;
	enum ring_log_status status = ring_view_log(intake->view, &entry);

	if (status != RING_LOG_ENTRY || entry.bytes > RECORD_MAX)
		return status;
	ring_view_log_copy(intake->view, &entry, intake->record);
	switch (entry.kind) {
	case RING_LOG_STACK:
		take_stack(intake, &entry);
		break;
	case RING_LOG_CODE:
		take_code(intake, &entry);
		break;
	case RING_LOG_MODULE:
		take_module(intake, &entry);
		break;
	case RING_LOG_THREAD:
		take_thread(intake, &entry);
		break;
	case RING_LOG_INSTANCE:
		take_instance(intake, &entry);
		break;
	}
	return status;
}

/* Looks `key` up, and reads the log until it has the key. *found is not NULL only after MT_INTAKE_FOUND. */
static enum mt_intake_status look_up(struct mt_intake *intake, const struct addrmap *map, uint64_t key, void **found)
{
	enum ring_log_status status = RING_LOG_ENTRY;

	while (!(*found = addrmap_find(map, key)) && status == RING_LOG_ENTRY)
		status = log_step(intake);
	if (*found)
		return MT_INTAKE_FOUND;
	return status == RING_LOG_BLOCKED ? MT_INTAKE_BLOCKED : MT_INTAKE_MISSING;
}

/* ---- stacks --------------------------------------------------------------------------------------------------- */

/* The record of a stack, copied and checked. */
struct stack_record {
	struct ring_log_stack head;
	struct ring_python python[MT_STACK_DEPTH_MAX];
	uint64_t native[MT_STACK_DEPTH_MAX];
	struct ring_instance instance[MT_NEST_DEPTH_MAX];
};

/* Room for two marks stays free. 0: the record makes no sense. */
static int stack_read(struct mt_intake *intake, const struct ring_log_entry *entry, struct stack_record *stack)
{
	const uint8_t *at = intake->record;
	size_t python, native, instances;

	ring_view_log_copy(intake->view, entry, intake->record);
	memcpy(&stack->head, at, sizeof(stack->head));
	at += sizeof(stack->head);
	python = stack->head.python * sizeof(stack->python[0]);
	native = stack->head.native * sizeof(stack->native[0]);
	instances = stack->head.instances * sizeof(stack->instance[0]);
	if (stack->head.python + stack->head.native + 2u > MT_STACK_DEPTH_MAX ||
	    stack->head.instances > MT_NEST_DEPTH_MAX ||
	    python + native + instances > entry->bytes - sizeof(stack->head))
		return 0;
	memcpy(stack->python, at, python);
	memcpy(stack->native, at + python, native);
	memcpy(stack->instance, at + python + native, instances);
	return 1;
}

static void add_frame(struct mt_intake *intake, const struct mt_frame *frame)
{
	uint32_t id = mt_defs_add_frame(intake->defs, frame);

	if (id)
		intake->frames[intake->frame_count++] = (struct intake_frame){ .id = id };
}

static void add_elided(struct mt_intake *intake)
{
	struct mt_frame frame = { .kind = MT_FRAME_ELIDED };

	add_frame(intake, &frame);
}

static void add_python(struct mt_intake *intake, const struct ring_python *python)
{
	const struct intake_code *code = addrmap_find(&intake->codes, python->code);
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON };

	if (code) {
		frame.function = code->function;
		frame.file = code->file;
		frame.line = mt_pyline(intake->view->header->python_version, code->table, code->table_bytes,
				       code->first_line, python->lasti);
	}
	add_frame(intake, &frame);
}

static void add_native(struct mt_intake *intake, uint64_t address, const struct module_item *module)
{
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE, .offset = address - 1 };

	if (module) {
		frame.module = module->id;
		frame.offset -= module->bias;
	}
	add_frame(intake, &frame);
}

/*
 * Gives the newest frame its nest: the frame is the call of these instances. `*at`: number of instances left, outermost
 * last. An unknown instance changes nothing.
 */
static void nest_frame(struct mt_intake *intake, const struct stack_record *stack, size_t *at, uint32_t frame)
{
	uint32_t nest, instance;

	for (; *at && stack->instance[*at - 1].frame == frame; --*at) {
		instance = (uint32_t)(uintptr_t)addrmap_find(&intake->instances, stack->instance[*at - 1].key);
		nest = instance ? mt_defs_add_nest(intake->defs, intake->nest, instance) : 0;
		if (!nest || !intake->frame_count)
			continue;
		intake->nest = nest;
		intake->frames[intake->frame_count - 1].nest = nest;
	}
}

/* Adds Python frames, outermost first, with a marker for the frames that the agent left out. */
static void build_python(struct mt_intake *intake, const struct stack_record *stack)
{
	size_t elided = stack->head.python_elided, i = stack->head.python, instances = stack->head.instances;

	intake->nest = 0;
	if (elided == i && i) {
		add_elided(intake);
		nest_frame(intake, stack, &instances, RING_ELIDED);
	}
	while (i--) {
		add_python(intake, &stack->python[i]);
		nest_frame(intake, stack, &instances, (uint32_t)i);
		if (i && i == elided) {
			add_elided(intake);
			nest_frame(intake, stack, &instances, RING_ELIDED);
		}
	}
}

static const struct module_item *module_at(const struct mt_intake *intake, uint64_t address, uint64_t instant)
{
	return module_map_find(&intake->modules, address - 1, instant);
}

/* The program's own native frames, without ours in front and, under Python, without the interpreter and beyond. */
static void build_native(struct mt_intake *intake, const struct stack_record *stack, uint64_t instant)
{
	const struct module_item *module[MT_STACK_DEPTH_MAX];
	size_t first = 0, end = stack->head.native, i;

	for (i = 0; i < end; i++) {
		module[i] = module_at(intake, stack->native[i], instant);
		if (module[i] && module[i]->role == MODULE_RECORDER && first == i)
			first++;
		if (module[i] && module[i]->role == MODULE_INTERPRETER && stack->head.python)
			end = i;
	}
	if (stack->head.native_cut && end == stack->head.native)
		add_elided(intake);
	for (i = end; i-- > first;)
		add_native(intake, stack->native[i], module[i]);
}

static uint32_t chain(struct mt_intake *intake)
{
	uint32_t node = 0;
	size_t i;

	for (i = 0; i < intake->frame_count; i++) {
		node = mt_defs_add_node_in(intake->defs, node, intake->frames[i].id, intake->frames[i].nest);
		if (!node)
			return 0;
	}
	return node;
}

/* Reads on in the log until every code object and every instance of the stack is known. */
static enum mt_intake_status find_parts(struct mt_intake *intake, const struct stack_record *stack)
{
	void *part;
	size_t i;

	for (i = 0; i < stack->head.python; i++)
		if (look_up(intake, &intake->codes, stack->python[i].code, &part) == MT_INTAKE_BLOCKED)
			return MT_INTAKE_BLOCKED;
	for (i = 0; i < stack->head.instances; i++)
		if (look_up(intake, &intake->instances, stack->instance[i].key, &part) == MT_INTAKE_BLOCKED)
			return MT_INTAKE_BLOCKED;
	return MT_INTAKE_FOUND;
}

static enum mt_intake_status stack_build(struct mt_intake *intake, struct intake_stack *stack, int partly)
{
	struct stack_record record;

	if (!stack_read(intake, &stack->entry, &record)) {
		stack->status = MT_INTAKE_MISSING;
	} else {
		if (find_parts(intake, &record) == MT_INTAKE_BLOCKED && !partly)
			return MT_INTAKE_BLOCKED;
		intake->frame_count = 0;
		build_python(intake, &record);
		build_native(intake, &record, stack->entry.offset);
		stack->node = chain(intake);
	}
	stack->built = 1;
	return stack->status;
}

static enum mt_intake_status find_stack(struct mt_intake *intake, uint64_t hash, int partly, uint32_t *id)
{
	enum mt_intake_status status;
	struct intake_stack *stack;
	void *found;

	*id = 0;
	if (!hash)
		return MT_INTAKE_FOUND;
	status = look_up(intake, &intake->stacks, hash, &found);
	if (status != MT_INTAKE_FOUND)
		return status;
	stack = found;
	status = stack->built ? stack->status : stack_build(intake, stack, partly);
	*id = stack->node;
	return status;
}

enum mt_intake_status mt_intake_stack(struct mt_intake *intake, uint64_t hash, uint32_t *id)
{
	return find_stack(intake, hash, 0, id);
}

uint32_t mt_intake_stack_partly(struct mt_intake *intake, uint64_t hash)
{
	uint32_t id;

	find_stack(intake, hash, 1, &id);
	return id;
}

/* ---- threads and devices -------------------------------------------------------------------------------------- */

enum mt_intake_status mt_intake_thread(struct mt_intake *intake, uint32_t serial, uint32_t *id)
{
	void *found = NULL;
	enum mt_intake_status status = serial ? look_up(intake, &intake->threads, serial, &found) : MT_INTAKE_FOUND;

	*id = (uint32_t)(uintptr_t)found;
	return status;
}

static uint32_t device_define(struct mt_intake *intake, struct intake_device *known, uint32_t kind, uint32_t index)
{
	struct mt_device device = {
		.kind = kind, .index = index, .name = known->name, .uuid = known->uuid, .total = known->total
	};

	if (kind == MT_DEVICE_CPU)
		device.name = mt_defs_add_string(intake->defs, "CPU", 3);
	known->id = mt_defs_add_device(intake->defs, &device);
	return known->id;
}

uint32_t mt_intake_device(struct mt_intake *intake, int type, int32_t index)
{
	struct intake_device *known;
	uint32_t id;

	if (type == MT_DEVICE_CPU)
		known = &intake->cpu;
	else if (type == MT_DEVICE_CUDA && index >= 0 && index < (int32_t)CUDA_DEVICES)
		known = &intake->cuda[index];
	else
		return 0;
	id = known->id;
	if (!id)
		id = device_define(intake, known, (uint32_t)type, type == MT_DEVICE_CPU ? 0 : (uint32_t)index);
	return id < MT_LEDGER_DEVICES ? id : 0;
}

uint32_t mt_intake_known_device(const struct mt_intake *intake, uint32_t index)
{
	return index < CUDA_DEVICES && intake->cuda[index].id < MT_LEDGER_DEVICES ? intake->cuda[index].id : 0;
}

static uint32_t text(struct mt_intake *intake, const char *string)
{
	return string && *string ? mt_defs_add_string(intake->defs, string, strlen(string)) : 0;
}

void mt_intake_describe(struct mt_intake *intake, uint32_t index, const char *name, const char *uuid, uint64_t total)
{
	if (index >= CUDA_DEVICES)
		return;
	intake->cuda[index].name = text(intake, name);
	intake->cuda[index].uuid = text(intake, uuid);
	intake->cuda[index].total = total;
}
