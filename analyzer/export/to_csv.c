/* to_csv.c - writes a table of a run as comma-separated values: see csv.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "csv.h"
#include "export_moment.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

struct writer {
	struct export_run *run;
	struct export_out *out;
};

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void put_row(struct writer *writer, const struct db_stmt *row, int columns)
{
	int i;

	for (i = 0; i < columns; i++) {
		if (i)
			export_text(writer->out, ",");
		if (db_type(row, i) == DB_INTEGER)
			export_print(writer->out, "%" PRId64, db_int(row, i));
		else
			csv_text(writer->out, db_text(row, i));
	}
	export_text(writer->out, "\r\n");
	writer->run->written++;
}

/* Writes header and rows of a statement. Its parameters: ?1 and ?2 are the range, ?3 is 1 with --confidential. */
static int put_table(struct writer *writer, const char *sql, const struct export_range *range)
{
	struct db_stmt *stmt;
	int error = db_prepare(writer->run->db, &stmt, sql), columns, more = 0, i;

	if (error)
		return error;
	columns = db_columns(stmt);
	for (i = 0; i < columns; i++)
		export_print(writer->out, "%s%s", i ? "," : "", db_name(stmt, i));
	export_text(writer->out, "\r\n");
	db_bind(stmt, 1, range->first);
	db_bind(stmt, 2, range->last);
	db_bind(stmt, 3, writer->run->options->confidential);
	while (!export_out_failed(writer->out) && (more = db_step(stmt)) == 1)
		put_row(writer, stmt, columns);
	db_finish(stmt);
	return more < 0 ? more : 0;
}

/* Writes the allocations that were alive in the range, in the order of their deaths. */
static int put_allocations(struct writer *writer)
{
	static const char sql[] =
		"SELECT allocation.id AS id, rank, pid, number AS device, kind AS device_kind, memory, address, bytes, alloc_time AS "
		"alloc_ns, free_time AS free_ns, step, free_step, phase, category, tid AS thread, iif(?3, NULL, (SELECT place FROM place "
		"WHERE place.node = allocation.node)) AS place, (SELECT function FROM place WHERE place.node = allocation.node) AS function, "
		"path AS module, site FROM allocation JOIN process ON process.id = allocation.process JOIN device ON "
		"device.id = allocation.device LEFT JOIN thread ON thread.id = allocation.thread LEFT JOIN site_module USING (site) "
		"LEFT JOIN submodule ON submodule.id = submodule WHERE alloc_time <= ?2 AND (free_time IS NULL OR free_time >= ?1) "
		"ORDER BY allocation.id";
	struct export_range range;
	int error = export_find_range(writer->run, &range);

	writer->run->what = "allocation";
	if (!error)
		error = csv_lives(writer->run, writer->out, &range);
	if (error <= 0)
		return error;
	error = export_load(writer->run, LOAD_LIVES);
	return error ? error : put_table(writer, sql, &range);
}

static int put_steps(struct writer *writer)
{
	static const char sql[] =
		"SELECT rank, pid, step, number AS device, kind AS device_kind, begin_time AS begin_ns, end_time AS end_ns, peak_bytes, "
		"peak_time AS peak_ns, peak_phase, peak_tensor_bytes, held_bytes, slack_bytes, tensor_bytes FROM step JOIN step_device "
		"USING (process, step) JOIN process ON process.id = process JOIN device ON device.id = device "
		"WHERE begin_time < ?2 AND end_time > ?1 AND number IS NOT NULL AND ?3 IS NOT NULL ORDER BY process, step, device.id";
	struct export_range range;
	int error = export_load(writer->run, LOAD_STEPS);

	writer->run->what = "row";
	if (!error)
		error = export_find_range(writer->run, &range);
	return error ? error : put_table(writer, sql, &range);
}

static void put_stack(struct export_out *out, const struct export_stack *stack)
{
	char name[EXPORT_NAME_MAX + 300], line[8192];
	size_t used = 0, i;
	int size;

	for (i = stack->device_frames; i < stack->frames && used < sizeof(line); i++) {
		export_frame_words(name, sizeof(name), &stack->frame[i]);
		size = snprintf(line + used, sizeof(line) - used, "%s%s", used ? ";" : "", name);
		used += (size_t)size;
	}
	csv_text(out, line);
}

static int put_site(void *context, const struct export_stack *stack)
{
	const struct query_site *site = stack->site;
	struct writer *writer = context;
	struct export_out *out = writer->out;

	if (stack->rank >= 0)
		export_print(out, "%" PRId64, stack->rank);
	export_text(out, ",");
	if (stack->pid)
		export_print(out, "%" PRId64, stack->pid);
	export_print(out, ",%" PRId64 ",%s,", stack->device->number, stack->device->kind);
	csv_text(out, stack->phase);
	export_text(out, ",");
	csv_text(out, stack->category);
	export_text(out, ",");
	csv_text(out, site ? query_known(stack->bytes, site->rule ? stack->bytes : 0, site->probable ? stack->bytes : 0)
			   : "");
	export_text(out, ",");
	csv_text(out, site ? site->owner : "");
	export_text(out, ",");
	csv_text(out, site ? site->submodule : "");
	export_text(out, ",");
	csv_text(out, stack->place);
	export_print(out, ",%" PRIu64 ",%" PRIu64 ",", stack->bytes, stack->count);
	put_stack(out, stack);
	export_text(out, "\r\n");
	writer->run->written++;
	return 0;
}

static int put_sites(struct writer *writer)
{
	writer->run->what = "site";
	export_text(writer->out,
		    "rank,pid,device,device_kind,phase,category,known,owner,module,place,bytes,count,stack\r\n");
	return export_stacks(writer->run, put_site, writer);
}

int to_csv(struct export_run *run, struct export_out *out)
{
	static int (*const put[])(struct writer * writer) = {
#define TABLE_FUNCTION(name, sentence) put_##name,
		EXPORT_TABLE_LIST(TABLE_FUNCTION)
#undef TABLE_FUNCTION
	};
	struct writer writer = { run, out };
	int error = put[run->options->table](&writer);

	return error || run->written ? error : -MT_E_MISSING;
}
