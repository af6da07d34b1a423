/* Writes the definitions that events refer to: modules, frames, the stack tree, threads. */
#include "rows/row_id.h"
#include "store.h"
#include "store_shared.h"

#include <stdlib.h>
#include "base/demangle.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

int64_t store_id(uint32_t process, uint64_t definition)
{
	return row_id(process, definition);
}

int64_t store_process_id(uint32_t process)
{
	return row_process_id(process);
}

int64_t store_device_id(uint32_t device)
{
	return row_device_id(device);
}

void store_bind_id(struct db_stmt *stmt, int parameter, int64_t id)
{
	if (id)
		db_bind(stmt, parameter, id);
	else
		db_bind_null(stmt, parameter);
}

int store_each_process(struct db *db, const struct analysis *analysis, const char *sql,
		       int (*rows)(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number))
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, sql);

	for (i = 0; i < analysis->processes && !error; i++)
		error = rows(stmt, &analysis->process[i], i);
	db_finish(stmt);
	return error;
}

/* The rows that a definition needs. */
enum need {
	NEED_NOTHING,
	NEED_FRAMES, /* for a node: no row of its own, but rows of its frames that are not plain */
	NEED_ROW
};

/* The needs of a process's definitions: enum need by id. */
struct needed {
	uint8_t *node, *frame, *module;
};

static void needed_release(struct needed *needed)
{
	free(needed->node);
	free(needed->frame);
	free(needed->module);
}

static int needed_init(struct needed *needed, const struct mt_defs *defs)
{
	needed->node = calloc((size_t)mt_defs_count(defs, MT_DEF_NODE) + 1, 1);
	needed->frame = calloc((size_t)mt_defs_count(defs, MT_DEF_FRAME) + 1, 1);
	needed->module = calloc((size_t)mt_defs_count(defs, MT_DEF_MODULE) + 1, 1);
	return needed->node && needed->frame && needed->module ? 0 : -MT_E_MEMORY;
}

static void need(uint8_t *needed, uint8_t kind)
{
	if (*needed < kind)
		*needed = kind;
}

/* The need of the node's row, or of the frame's, which may be those of a process before. */
static uint8_t *need_of_node(struct needed *needed, const struct analysis *analysis, uint32_t process, uint32_t node)
{
	int64_t id = store_node_id(analysis, process, node);

	return &needed[id >> 32].node[(uint32_t)id];
}

static uint8_t *need_of_frame(struct needed *needed, const struct analysis *analysis, uint32_t process, uint32_t frame)
{
	int64_t id = store_frame_id(analysis, process, frame);

	return &needed[id >> 32].frame[(uint32_t)id];
}

/*
 * Notes the needs of all stacks; `needed` is an array by process. All stacks need the frames that are not plain, to find helpers. load_place.c reads
 * plain frames itself.
 */
static void need_stacks(struct needed *needed, const struct analysis *analysis, const uint8_t *own)
{
	const struct site *site;
	uint32_t i, process;

	for (i = 1; i < analysis->attribution.sites; i++) {
		site = &analysis->attribution.site[i];
		if (site->key.process < analysis->processes && site->key.stack)
			need(need_of_node(needed, analysis, site->key.process, site->key.stack),
			     !own || own[i] ? NEED_ROW : NEED_FRAMES);
	}
	for (i = 0; i < analysis->ooms; i++) {
		process = analysis->oom[i].process;
		if (process < analysis->processes && analysis->oom[i].stack &&
		    analysis->oom[i].stack <= mt_defs_count(analysis->process[process].defs, MT_DEF_NODE))
			*need_of_node(needed, analysis, process, analysis->oom[i].stack) = NEED_ROW;
	}
}

/* A node needs its frame and its parent: of its process a smaller id, or of a process before. A frame needs its module. */
static void need_closure(struct needed *needed, const struct analysis *analysis, uint32_t process)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	const struct needed *own = &needed[process];
	const struct mt_node *node;
	uint32_t i;

	for (i = mt_defs_count(defs, MT_DEF_NODE); i; i--) {
		node = mt_defs_node(defs, i);
		if (!own->node[i])
			continue;
		if (node->parent)
			need(need_of_node(needed, analysis, process, node->parent), own->node[i]);
		if (node->frame &&
		    (own->node[i] == NEED_ROW || !store_frame_is_plain(mt_defs_frame(defs, node->frame))))
			*need_of_frame(needed, analysis, process, node->frame) = NEED_ROW;
	}
	for (i = mt_defs_count(defs, MT_DEF_FRAME); i; i--)
		if (own->frame[i])
			own->module[mt_defs_frame(defs, i)->module] = NEED_ROW;
}

static int store_module(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	const struct mt_module *module = mt_defs_module(defs, id);

	db_bind(stmt, 1, store_id(process, id));
	db_bind(stmt, 2, store_process_id(process));
	db_bind_text(stmt, 3, mt_defs_string(defs, module->path));
	if (module->build_id_size)
		db_bind_blob(stmt, 4, module->build_id, module->build_id_size);
	else
		db_bind_null(stmt, 4);
	db_bind(stmt, 5, (int64_t)module->start);
	db_bind(stmt, 6, (int64_t)module->end);
	db_bind(stmt, 7, (int64_t)module->bias);
	return db_run(stmt);
}

/* Returns the C++ name of a native frame that the recorder named at its end. The caller frees the name. NULL: the symbol is the name. */
static char *plain_name(const struct mt_defs *defs, const struct mt_frame *frame)
{
	return frame->symbol ? demangle(mt_defs_string(defs, frame->symbol)) : NULL;
}

static int store_frame(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	static const char *const kinds[] = {
		[MT_FRAME_PYTHON] = "python", [MT_FRAME_NATIVE] = "native", [MT_FRAME_ELIDED] = "elided"
	};
	const struct mt_frame *frame = mt_defs_frame(defs, id);
	uint32_t name = frame->symbol ? frame->symbol : frame->function;
	char *plain = plain_name(defs, frame);
	int error;

	db_bind(stmt, 1, store_id(process, id));
	db_bind_text(stmt, 2,
		     frame->kind < MT_ARRAY_SIZE(kinds) && kinds[frame->kind] ? kinds[frame->kind] : "unknown");
	db_bind_text(stmt, 3, plain ? plain : name ? mt_defs_string(defs, name) : NULL);
	db_bind_text(stmt, 4, frame->file ? mt_defs_string(defs, frame->file) : NULL);
	store_bind_id(stmt, 5, frame->line);
	store_bind_id(stmt, 6, store_id(process, frame->module));
	if (frame->kind == MT_FRAME_NATIVE)
		db_bind(stmt, 7, (int64_t)frame->offset);
	else
		db_bind_null(stmt, 7);
	error = db_run(stmt);
	free(plain);
	return error;
}

static int store_node(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_node *node = mt_defs_node(analysis->process[process].defs, id);

	db_bind(stmt, 1, store_id(process, id));
	store_bind_id(stmt, 2, store_node_id(analysis, process, node->parent));
	db_bind(stmt, 3, store_frame_id(analysis, process, node->frame));
	store_bind_id(stmt, 4, store_id(process, node->nest));
	return db_run(stmt);
}

static int store_instance(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	const struct mt_instance *instance = mt_defs_instance(defs, id);

	db_bind(stmt, 1, store_id(process, id));
	db_bind(stmt, 2, store_process_id(process));
	db_bind(stmt, 3, (int64_t)instance->address);
	db_bind_text(stmt, 4, mt_defs_string(defs, instance->type));
	return db_run(stmt);
}

static int store_nest(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	const struct mt_nest *nest = mt_defs_nest(defs, id);

	db_bind(stmt, 1, store_id(process, id));
	store_bind_id(stmt, 2, store_id(process, nest->parent));
	db_bind(stmt, 3, store_id(process, nest->instance));
	return db_run(stmt);
}

static int store_thread(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	const struct mt_thread *thread = mt_defs_thread(defs, id);

	db_bind(stmt, 1, store_id(process, id));
	db_bind(stmt, 2, store_process_id(process));
	db_bind(stmt, 3, thread->tid);
	db_bind_text(stmt, 4, mt_defs_string(defs, thread->name));
	db_bind(stmt, 5, (thread->flags & MT_THREAD_MAIN) != 0);
	db_bind(stmt, 6, (thread->flags & MT_THREAD_AUTOGRAD) != 0);
	return db_run(stmt);
}

typedef int store_definition(struct db_stmt *stmt, const struct analysis *analysis, uint32_t process, uint32_t id);

/* Stores all definitions of one kind: those that `needed` marks (NULL: all), and of these the ones with an id of their own (NULL: all). */
static int store_kind(struct db *db, const char *sql, store_definition *store, const struct analysis *analysis,
		      enum mt_def kind, uint32_t process, const uint8_t *needed, const int64_t *ids)
{
	struct db_stmt *stmt;
	uint32_t id, count = mt_defs_count(analysis->process[process].defs, kind);
	int error = db_prepare(db, &stmt, sql);

	for (id = 1; id <= count && !error; id++)
		if ((!needed || needed[id] == NEED_ROW) && (!ids || ids[id] == store_id(process, id)))
			error = store(stmt, analysis, process, id);
	db_finish(stmt);
	return error;
}

static int store_process_definitions(struct db *db, const struct analysis *analysis, uint32_t process,
				     const struct needed *needed, int everything)
{
	const struct analysis_shared *shared = analysis->shared;
	int error = store_kind(db, "INSERT INTO elf_file VALUES (?, ?, ?, ?, ?, ?, ?)", store_module, analysis,
			       MT_DEF_MODULE, process, needed->module, NULL);

	if (!error)
		error = store_kind(db, "INSERT INTO frame VALUES (?, ?, ?, ?, ?, ?, ?)", store_frame, analysis,
				   MT_DEF_FRAME, process, needed->frame, shared ? shared->frame[process] : NULL);
	if (!error)
		error = store_kind(db, "INSERT INTO stack_node VALUES (?, ?, ?, ?)", store_node, analysis, MT_DEF_NODE,
				   process, needed->node, shared ? shared->node[process] : NULL);
	if (!error && everything)
		error = store_kind(db, "INSERT INTO module_instance VALUES (?, ?, ?, ?)", store_instance, analysis,
				   MT_DEF_INSTANCE, process, NULL, NULL);
	if (!error && everything)
		error = store_kind(db, "INSERT INTO module_call VALUES (?, ?, ?, NULL)", store_nest, analysis,
				   MT_DEF_NEST, process, NULL, NULL);
	if (!error)
		error = store_kind(db, "INSERT INTO thread VALUES (?, ?, ?, ?, ?, ?)", store_thread, analysis,
				   MT_DEF_THREAD, process, NULL, NULL);
	return error;
}

int store_definitions(struct db *db, const struct analysis *analysis, int everything, const uint8_t *own)
{
	struct needed *needed = calloc((size_t)analysis->processes + 1, sizeof(*needed));
	int error = needed ? 0 : -MT_E_MEMORY;
	uint32_t i;

	for (i = 0; i < analysis->processes && !everything && !error; i++)
		error = needed_init(&needed[i], analysis->process[i].defs);
	if (!error && !everything)
		need_stacks(needed, analysis, own);
	for (i = analysis->processes; i && !everything && !error; i--)
		need_closure(needed, analysis, i - 1);
	for (i = 0; i < analysis->processes && !error; i++)
		error = store_process_definitions(db, analysis, i, &needed[i], everything);
	for (i = 0; i < analysis->processes && needed; i++)
		needed_release(&needed[i]);
	free(needed);
	return error;
}
