#include "load.h"

#include <string.h>
#include "load_more.h"
#include "load_sink.h"
#include "memtrace/error.h"
#include "store.h"
#include "base/symbol.h"

int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules)
{
	return load_run_watched(db, analysis, input, inputs, rules, NULL);
}

int load_run_watched(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, const struct load_watch *watch)
{
	struct load_sink load;
	struct analysis_sink sink;
	int error = load_sink_init(&load, &sink, db, analysis, watch);

	memset(analysis, 0, sizeof(*analysis));
	if (!error)
		error = analysis_run(analysis, input, inputs, rules, &sink);
	if (!error)
		error = load_sink_finish(&load);
	if (!error)
		error = store_summary(db, analysis, 1);
	if (!error)
		error = load_freed_store(&load.freed, db);
	if (!error)
		error = load_resident_finish(&load.resident, 1);
	if (!error)
		error = load_category_settle(&load.categories, db, analysis);
	load_sink_release(&load);
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
