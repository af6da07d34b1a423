#include "load.h"
#include "load_rows.h"

#include <string.h>
#include "load_more.h"
#include "memtrace/error.h"
#include "store.h"
#include "symbol.h"

#define ALLOCATION_PARAMETERS 17

struct loader {
	const struct analysis *analysis;
	struct load_rows rows; /* of `allocation`; drained before any other statement is touched */
	struct db_stmt *allocation, *mapping, *forget, *span, *step, *step_device, *gpu, *host;
	int64_t bound[ALLOCATION_PARAMETERS + 1]; /* of `allocation`: what repeats from row to row */
	uint32_t is_bound;			  /* bit per parameter */
};

/* A statement keeps its parameters: only those that differ from the row before are bound again. */
static int is_new(struct loader *loader, int parameter, int64_t value)
{
	if (loader->is_bound & 1u << parameter && loader->bound[parameter] == value)
		return 0;
	loader->is_bound |= 1u << parameter;
	loader->bound[parameter] = value;
	return 1;
}

static void bind_again(struct loader *loader, int parameter, int64_t value)
{
	if (is_new(loader, parameter, value))
		db_bind(loader->allocation, parameter, value);
}

static void bind_id_again(struct loader *loader, int parameter, int64_t id)
{
	if (is_new(loader, parameter, id))
		store_bind_id(loader->allocation, parameter, id);
}

/* `word` is a literal: the same word is at the same place. */
static void bind_word_again(struct loader *loader, int parameter, const char *word)
{
	if (is_new(loader, parameter, (int64_t)(intptr_t)word))
		db_bind_text(loader->allocation, parameter, word);
}

static const char *memory_word(const struct mt_live *live)
{
	const char *space = live->kind == MT_TENSOR_ALLOC ? "tensor" : mt_space_name(live->flags);

	return space ? space : "unknown";
}

/* Before another statement is used. An error stays with the rows; load_run has it in the end. */
static void wait_for_rows(void *context)
{
	load_rows_drain(&((struct loader *)context)->rows);
}

static void bind_death(struct db_stmt *stmt, const struct load_row *row)
{
	if (row->died) {
		db_bind_unsigned(stmt, 8, row->death_seq);
		db_bind(stmt, 9, row->death);
		db_bind(stmt, 16, row->step);
	} else {
		db_bind_null(stmt, 8);
		db_bind_null(stmt, 9);
		db_bind_null(stmt, 16);
	}
}

static int insert_allocation(void *context, const struct load_row *row)
{
	struct loader *loader = context;
	const struct mt_live *live = &row->live;
	struct db_stmt *stmt = loader->allocation;

	bind_again(loader, 1, store_process_id(row->process));
	bind_again(loader, 2, store_device_id(row->device));
	bind_word_again(loader, 3, memory_word(live));
	db_bind(stmt, 4, (int64_t)live->addr);
	db_bind_unsigned(stmt, 5, live->size);
	db_bind_unsigned(stmt, 6, live->seq);
	db_bind(stmt, 7, row->birth);
	bind_death(stmt, row);
	bind_id_again(loader, 10, (int64_t)live->tag);
	bind_id_again(loader, 11, store_id(row->process, row->stack));
	bind_id_again(loader, 12, store_id(row->process, live->thread));
	bind_word_again(loader, 13, mt_phase_name(live->phase));
	bind_word_again(loader, 14, mt_category_name(live->tensors_seen ? MT_CATEGORY_SLACK : row->category));
	bind_again(loader, 15, live->step);
	bind_again(loader, 17, live->tensors_seen != 0);
	return db_run(stmt);
}

static int load_allocation(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
			   uint32_t step)
{
	struct loader *loader = context;
	const struct analysis_process *owner = &loader->analysis->process[process];
	const struct site *site = &loader->analysis->attribution.site[live->tag];
	struct load_row row = { .live = *live, .process = process, .device = site->key.device, .step = step,
				.stack = site->key.stack, .category = site->key.category, .died = event != NULL };

	row.birth = analysis_time(owner, live->time);
	if (event) {
		row.death = analysis_time(owner, event->time);
		row.death_seq = event->seq;
	}
	return load_rows_add(&loader->rows, &row);
}

static int load_mapping(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct loader *loader = context;
	const struct analysis_process *owner = &loader->analysis->process[process];
	struct db_stmt *stmt = loader->mapping;

	wait_for_rows(context);
	db_bind(stmt, 1, store_process_id(process));
	db_bind(stmt, 2, (int64_t)live->addr);
	db_bind_unsigned(stmt, 3, live->size);
	db_bind(stmt, 4, (int64_t)live->handle);
	db_bind_unsigned(stmt, 5, live->seq);
	db_bind(stmt, 6, analysis_time(owner, live->time));
	if (event) {
		db_bind_unsigned(stmt, 7, event->seq);
		db_bind(stmt, 8, analysis_time(owner, event->time));
	} else {
		db_bind_null(stmt, 7);
		db_bind_null(stmt, 8);
	}
	return db_run(stmt);
}

/* A call to free failed, which is rare: looking through the table is fine. */
static int forget_death(void *context, uint32_t process, const struct mt_live *live)
{
	struct loader *loader = context;

	wait_for_rows(context);
	db_bind(loader->forget, 1, store_process_id(process));
	db_bind_unsigned(loader->forget, 2, live->seq);
	return db_run(loader->forget);
}

static int load_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		     const struct mt_event *last)
{
	struct loader *loader = context;
	const struct analysis_process *owner = &loader->analysis->process[process];

	wait_for_rows(context);
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

	wait_for_rows(context);
	db_bind(loader->step, 1, store_process_id(process));
	db_bind_unsigned(loader->step, 2, event->value);
	db_bind_unsigned(loader->step, 3, owner->step_seq);
	db_bind(loader->step, 4, owner->step_time);
	db_bind_unsigned(loader->step, 5, event->seq);
	db_bind(loader->step, 6, analysis_time(owner, event->time));
	db_bind_text(loader->step, 7, mt_defs_string(owner->defs, (uint32_t)event->name));
	return db_run(loader->step);
}

static int load_step_device(void *context, uint32_t process, uint32_t device, uint32_t step,
			    const struct analysis_step_device *end)
{
	struct db_stmt *stmt = ((struct loader *)context)->step_device;

	wait_for_rows(context);
	db_bind(stmt, 1, store_process_id(process));
	db_bind(stmt, 2, step);
	db_bind(stmt, 3, store_device_id(device));
	db_bind_unsigned(stmt, 4, end->peak.bytes);
	db_bind(stmt, 5, end->peak.time);
	db_bind_text(stmt, 6, mt_phase_name(end->peak.phase));
	db_bind_unsigned(stmt, 7, end->held);
	db_bind_unsigned(stmt, 8, end->slack);
	db_bind_unsigned(stmt, 9, end->tensors);
	return db_run(stmt);
}

static int load_gpu_sample(void *context, uint32_t process, uint32_t device, const struct whole_sample *sample,
			   const struct whole_parts *parts)
{
	struct db_stmt *stmt = ((struct loader *)context)->gpu;

	wait_for_rows(context);
	db_bind(stmt, 1, store_process_id(process));
	db_bind(stmt, 2, store_device_id(device));
	db_bind(stmt, 3, sample->time);
	db_bind_unsigned(stmt, 4, sample->used);
	db_bind_unsigned(stmt, 5, sample->total);
	if (sample->own_known)
		db_bind_unsigned(stmt, 6, sample->own);
	else
		db_bind_null(stmt, 6);
	if (parts)
		db_bind_unsigned(stmt, 7, parts->held);
	else
		db_bind_null(stmt, 7);
	return db_run(stmt);
}

static int load_host_sample(void *context, uint32_t process, const struct mt_event *event, uint64_t pinned)
{
	struct loader *loader = context;
	struct db_stmt *stmt = loader->host;

	wait_for_rows(context);
	db_bind(stmt, 1, store_process_id(process));
	db_bind(stmt, 2, analysis_time(&loader->analysis->process[process], event->time));
	store_bind_id(stmt, 3, (int64_t)(event->size <= INT64_MAX ? event->size : INT64_MAX));
	db_bind_unsigned(stmt, 4, pinned);
	db_bind_unsigned(stmt, 5, event->value);
	store_bind_id(stmt, 6, (int64_t)(event->offset <= INT64_MAX ? event->offset : INT64_MAX));
	db_bind_unsigned(stmt, 7, event->handle);
	db_bind_unsigned(stmt, 8, event->flags);
	return db_run(stmt);
}

static int prepare(struct loader *loader, struct db *db)
{
	int error =
		db_prepare(db, &loader->allocation,
			   "INSERT INTO allocation (process, device, memory, address, bytes, alloc_seq, alloc_time, "
			   "free_seq, free_time, site, node, thread, phase, category, step, free_step, tensors_inside) "
			   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	if (!error)
		error = db_prepare(db, &loader->mapping,
				   "INSERT INTO mapping (process, address, bytes, handle, map_seq, map_time, unmap_seq, "
				   "unmap_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &loader->forget, "DELETE FROM allocation WHERE process = ? AND alloc_seq = ?");
	if (!error)
		error = db_prepare(
			db, &loader->span,
			"INSERT INTO phase_span (process, phase, step, first_seq, last_seq, first_time, last_time) "
			"VALUES (?, ?, ?, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &loader->step, "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &loader->step_device,
				   "INSERT INTO step_device VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &loader->gpu, "INSERT INTO gpu_sample VALUES (?, ?, ?, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &loader->host, "INSERT INTO host_sample VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	return error;
}

int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules)
{
	struct loader loader = { .analysis = analysis };
	int rows_error;
	struct analysis_sink sink = {
		.context = &loader, .gone = load_allocation, .back = forget_death, .span = load_span, .step = load_step,
		.step_device = load_step_device,
		.unmapped = load_mapping, .gpu_sample = load_gpu_sample, .host_sample = load_host_sample,
	};
	int error = prepare(&loader, db);

	memset(analysis, 0, sizeof(*analysis));
	rows_error = load_rows_init(&loader.rows, insert_allocation, &loader);
	if (!error)
		error = rows_error;
	if (!error)
		error = analysis_run(analysis, input, inputs, rules, &sink);
	rows_error = error ? 0 : load_rows_drain(&loader.rows);
	load_rows_release(&loader.rows);
	error = error ? error : rows_error;
	db_finish(loader.allocation);
	db_finish(loader.mapping);
	db_finish(loader.forget);
	db_finish(loader.span);
	db_finish(loader.step);
	db_finish(loader.step_device);
	db_finish(loader.gpu);
	db_finish(loader.host);
	if (!error)
		error = store_summary(db, analysis, 1);
	if (!error)
		error = load_categories(db, analysis);
	return error ? error : load_moments(db, analysis);
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
	if (!error && !more)
		error = load_callsites(db, symbols);
	symbols_free(symbols);
	return error ? error : more;
}
