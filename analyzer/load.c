#include "load.h"

#include <string.h>
#include "memtrace/error.h"
#include "store.h"
#include "symbol.h"

struct loader {
	const struct analysis *analysis;
	struct db_stmt *allocation, *forget, *span, *step;
};

static const char *memory_word(const struct mt_live *live)
{
	const char *space = live->kind == MT_TENSOR_ALLOC ? "tensor" : mt_space_name(live->flags);

	return space ? space : "unknown";
}

static void bind_death(struct db_stmt *stmt, const struct analysis_process *process, const struct mt_event *event,
		       uint32_t step)
{
	if (event) {
		db_bind_unsigned(stmt, 8, event->seq);
		db_bind(stmt, 9, analysis_time(process, event->time));
		db_bind(stmt, 16, step);
	} else {
		db_bind_null(stmt, 8);
		db_bind_null(stmt, 9);
		db_bind_null(stmt, 16);
	}
}

static int load_allocation(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
			   uint32_t step)
{
	struct loader *loader = context;
	const struct analysis_process *owner = &loader->analysis->process[process];
	const struct site *site = &loader->analysis->attribution.site[live->tag];
	struct db_stmt *stmt = loader->allocation;

	db_bind(stmt, 1, store_process_id(process));
	db_bind(stmt, 2, store_device_id(site->key.device));
	db_bind_text(stmt, 3, memory_word(live));
	db_bind(stmt, 4, (int64_t)live->addr);
	db_bind_unsigned(stmt, 5, live->size);
	db_bind_unsigned(stmt, 6, live->seq);
	db_bind(stmt, 7, analysis_time(owner, live->time));
	bind_death(stmt, owner, event, step);
	store_bind_id(stmt, 10, (int64_t)live->tag);
	store_bind_id(stmt, 11, store_id(process, site->key.stack));
	store_bind_id(stmt, 12, store_id(process, live->thread));
	db_bind_text(stmt, 13, mt_phase_name(live->phase));
	db_bind_text(stmt, 14, mt_category_name(live->tensors_seen ? MT_CATEGORY_SLACK : site->key.category));
	db_bind(stmt, 15, live->step);
	db_bind(stmt, 17, live->tensors_seen != 0);
	return db_run(stmt);
}

/* A call to free failed, which is rare: looking through the table is fine. */
static int forget_death(void *context, uint32_t process, const struct mt_live *live)
{
	struct loader *loader = context;

	db_bind(loader->forget, 1, store_process_id(process));
	db_bind_unsigned(loader->forget, 2, live->seq);
	return db_run(loader->forget);
}

static int load_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		     const struct mt_event *last)
{
	struct loader *loader = context;
	const struct analysis_process *owner = &loader->analysis->process[process];

	db_bind(loader->span, 1, store_process_id(process));
	db_bind_text(loader->span, 2, mt_phase_name(phase));
	db_bind(loader->span, 3, step);
	db_bind_unsigned(loader->span, 4, first->seq);
	db_bind_unsigned(loader->span, 5, last->seq);
	db_bind(loader->span, 6, analysis_time(owner, first->time));
	db_bind(loader->span, 7, analysis_time(owner, last->time));
	return db_run(loader->span);
}

static int load_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct loader *loader = context;
	const struct analysis_process *owner = &loader->analysis->process[process];

	db_bind(loader->step, 1, store_process_id(process));
	db_bind_unsigned(loader->step, 2, event->value);
	db_bind_unsigned(loader->step, 3, event->seq);
	db_bind(loader->step, 4, analysis_time(owner, event->time));
	db_bind_text(loader->step, 5, mt_defs_string(owner->defs, (uint32_t)event->name));
	return db_run(loader->step);
}

static int prepare(struct loader *loader, struct db *db)
{
	int error =
		db_prepare(db, &loader->allocation,
			   "INSERT INTO allocation (process, device, memory, address, bytes, alloc_seq, alloc_time, "
			   "free_seq, free_time, site, node, thread, phase, category, step, free_step, tensors_inside) "
			   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	if (!error)
		error = db_prepare(db, &loader->forget, "DELETE FROM allocation WHERE process = ? AND alloc_seq = ?");
	if (!error)
		error = db_prepare(
			db, &loader->span,
			"INSERT INTO phase_span (process, phase, step, first_seq, last_seq, first_time, last_time) "
			"VALUES (?, ?, ?, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &loader->step, "INSERT INTO step VALUES (?, ?, ?, ?, ?)");
	return error;
}

int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules)
{
	struct loader loader = { .analysis = analysis };
	struct analysis_sink sink = {
		.context = &loader, .gone = load_allocation, .back = forget_death, .span = load_span, .step = load_step,
	};
	int error = prepare(&loader, db);

	memset(analysis, 0, sizeof(*analysis));
	if (!error)
		error = analysis_run(analysis, input, inputs, rules, &sink);
	db_finish(loader.allocation);
	db_finish(loader.forget);
	db_finish(loader.span);
	db_finish(loader.step);
	if (!error)
		error = store_summary(db, analysis, 1);
	return error;
}

/* The innermost function at the address of the frame in the row of `frames`. */
static int load_name(struct db_stmt *update, const struct db_stmt *frames, struct symbols *symbols)
{
	struct symbol symbol;
	size_t size;
	const void *build_id = db_blob(frames, 2, &size);

	if (!symbols_find(symbols, db_text(frames, 1), build_id, size, (uint64_t)db_int(frames, 3), &symbol, 1))
		return 0;
	db_bind(update, 1, db_int(frames, 0));
	db_bind_text(update, 2, symbol.function);
	db_bind_text(update, 3, *symbol.file ? symbol.file : NULL);
	store_bind_id(update, 4, symbol.line);
	return db_run(update);
}

int load_names(struct db *db)
{
	struct symbols *symbols = symbols_new();
	struct db_stmt *frames = NULL, *update = NULL;
	int error = symbols ? 0 : -MT_E_MEMORY, more = 0;

	if (!error)
		error = db_prepare(db, &frames, "SELECT frame.id, path, build_id, offset FROM frame "
						"JOIN module ON module.id = module WHERE kind = 'native'");
	if (!error)
		error = db_prepare(db, &update, "UPDATE frame SET function = ?2, file = ?3, line = ?4 WHERE id = ?1");
	while (!error && (more = db_step(frames)) == 1)
		error = load_name(update, frames, symbols);
	db_finish(frames);
	db_finish(update);
	symbols_free(symbols);
	return error ? error : more;
}
