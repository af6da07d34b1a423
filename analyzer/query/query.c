#include "query.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"

/* The caller's function and its context. The question gives `row` its type. */
struct asker {
	void (*row)(void);
	void *context;
};

#define ASKER(function, data) (&(struct asker){ .row = (void (*)(void))(function), .context = (data) })
#define ANSWER(type, asker, filled) \
	(((type *)((struct asker *)(asker))->row)(((struct asker *)(asker))->context, (filled)))

static int64_t int_or(const struct db_stmt *stmt, int column, int64_t otherwise)
{
	return db_type(stmt, column) == DB_NULL ? otherwise : db_int(stmt, column);
}

/* ---- the run ---- */

static int is_torn(const char *damage)
{
	return !strcmp(damage, mt_strerror(-MT_E_TRUNCATED));
}

static int give_process(void *asker, struct db_stmt *stmt)
{
	struct query_process row = {
		.id = db_int(stmt, 0),
		.pid = db_int(stmt, 1),
		.rank = int_or(stmt, 2, -1),
		.file = db_text(stmt, 3),
		.host = db_text(stmt, 4),
		.command = db_text(stmt, 5),
		.options = db_text(stmt, 6),
		.python_version = db_text(stmt, 7),
		.tool_version = db_text(stmt, 8),
		.start_realtime = db_int(stmt, 9),
		.first_time = db_int(stmt, 10),
		.last_time = db_int(stmt, 11),
		.steps = (uint64_t)db_int(stmt, 12),
		.events = (uint64_t)db_int(stmt, 13),
		.lost = (uint64_t)db_int(stmt, 14),
		.unknown_frees = (uint64_t)db_int(stmt, 15),
		.chunks = (uint64_t)db_int(stmt, 16),
		.file_bytes = (uint64_t)db_int(stmt, 17),
		.complete = db_int(stmt, 18) != 0,
		.ended = db_text(stmt, 19),
		.torn = is_torn(db_text(stmt, 20)),
		.damage = is_torn(db_text(stmt, 20)) ? "" : db_text(stmt, 20),
		.damage_offset = (uint64_t)db_int(stmt, 21),
		.let_go = (uint64_t)db_int(stmt, 22),
	};

	return ANSWER(query_process_row, asker, &row);
}

#define PROCESS_COLUMNS                                                                                      \
	"SELECT id, pid, rank, file, host, command, options, python_version, tool_version, start_realtime, " \
	"first_time, last_time, steps, events, lost, unknown_frees, chunks, file_bytes, complete, ended, "   \
	"damage, damage_offset, let_go FROM process "

int query_processes(struct db *db, query_process_row *row, void *context)
{
	return db_rows(db, PROCESS_COLUMNS "ORDER BY id", NULL, give_process, ASKER(row, context));
}

int query_processes_on(struct db *db, int64_t device, query_process_row *row, void *context)
{
	return db_rows(db,
		       PROCESS_COLUMNS "WHERE id IN (SELECT process FROM allocation_raw WHERE device = ?1) ORDER BY id",
		       DB_NUMBERS(device), give_process, ASKER(row, context));
}

static int give_loss(void *asker, struct db_stmt *stmt)
{
	struct query_loss row = {
		.pid = db_int(stmt, 0),
		.reason = db_text(stmt, 1),
		.events = (uint64_t)db_int(stmt, 2),
		.records = (uint64_t)db_int(stmt, 3),
		.rank = int_or(stmt, 4, -1),
	};

	return ANSWER(query_loss_row, asker, &row);
}

int query_losses(struct db *db, query_loss_row *row, void *context)
{
	return db_rows(db,
		       "SELECT pid, reason, lost_events.events, records, rank FROM lost_events JOIN process ON process.id = process "
		       "ORDER BY process, lost_events.events DESC, reason",
		       NULL, give_loss, ASKER(row, context));
}

static int give_source(void *asker, struct db_stmt *stmt)
{
	struct query_source row = {
		.pid = db_int(stmt, 0),
		.name = db_text(stmt, 1),
		.state = db_text(stmt, 2),
		.why = db_text(stmt, 3),
		.rank = int_or(stmt, 4, -1),
		.processes = (uint32_t)db_int(stmt, 5),
		.last_rank = int_or(stmt, 6, -1),
	};

	return ANSWER(query_source_row, asker, &row);
}

int query_sources(struct db *db, query_source_row *row, void *context)
{
	return db_rows(db,
		       "SELECT pid, name, state, why, rank, 1, rank FROM source JOIN process ON process.id = process "
		       "ORDER BY process, source.rowid",
		       NULL, give_source, ASKER(row, context));
}

int query_sources_missing(struct db *db, query_source_row *row, void *context)
{
	return db_rows(db,
		       "SELECT min(pid), name, state, why, min(coalesce(rank, -1)), count(*), max(coalesce(rank, -1)) "
		       "FROM source JOIN process ON process.id = process WHERE state <> 'on' GROUP BY name, state, why "
		       "ORDER BY min(source.rowid)",
		       NULL, give_source, ASKER(row, context));
}

/* ---- devices ---- */

static int give_device(void *asker, struct db_stmt *stmt)
{
	struct query_device row = {
		.id = db_int(stmt, 0),
		.number = db_int(stmt, 1),
		.kind = db_text(stmt, 2),
		.name = db_text(stmt, 3),
		.uuid = db_text(stmt, 4),
		.total = (uint64_t)db_int(stmt, 5),
		.peak = {
			.bytes = (uint64_t)db_int(stmt, 6),
			.slack = (uint64_t)db_int(stmt, 7),
			.time = db_int(stmt, 8),
			.step = db_int(stmt, 9),
			.phase = db_text(stmt, 10),
			.role = db_text(stmt, 11),
			.pid = db_int(stmt, 12),
			.rank = int_or(stmt, 17, -1),
			.imported = (uint64_t)db_int(stmt, 13),
			.requested = int_or(stmt, 14, -1),
			.blocks = int_or(stmt, 15, -1),
			.blocks_exact = db_int(stmt, 16) != 0,
		},
	};

	return ANSWER(query_device_row, asker, &row);
}

struct moment_names {
	char *out;
	size_t size;
};

static int give_moment(void *context, struct db_stmt *stmt)
{
	struct moment_names *names = context;
	int length = snprintf(names->out + names->size, QUERY_MOMENTS_MAX - names->size, "%s%s",
			      names->size ? ", " : "", db_text(stmt, 0));

	if (length < 0 || (size_t)length >= QUERY_MOMENTS_MAX - names->size) {
		names->out[names->size] = '\0';
		return 1;
	}
	names->size += (size_t)length;
	return 0;
}

const char *query_moments(char out[QUERY_MOMENTS_MAX], struct db *db)
{
	static const char sql[] =
		"WITH named AS (SELECT DISTINCT name, name GLOB '*:[0-9]*' AS numbered FROM named_moment), "
		"part AS (SELECT iif(numbered, substr(name, 1, instr(name, ':')), name) AS before, "
		"iif(numbered AND name LIKE '%:end', ':end', '') AS after, "
		"iif(numbered, CAST(substr(name, instr(name, ':') + 1) AS INTEGER), NULL) AS number FROM named) "
		"SELECT before || ifnull(min(number) || after || iif(max(number) > min(number), ' to ' || before || max(number) "
		"|| after, ''), '') FROM part GROUP BY before, after ORDER BY min(number) IS NOT NULL, before, after";
	struct moment_names names = { .out = out };

	*out = '\0';
	db_rows(db, sql, NULL, give_moment, &names);
	return out;
}

int query_is_moment(struct db *db, const char *name)
{
	struct db_stmt *stmt;
	int found = db_prepare(db, &stmt, "SELECT 1 FROM named_moment WHERE name = ?");

	if (found)
		return found;
	db_bind_text(stmt, 1, name);
	found = db_step(stmt);
	db_finish(stmt);
	return found;
}

int query_devices(struct db *db, query_device_row *row, void *context)
{
	return db_rows(
		db,
		"SELECT device.id, number, kind, name, uuid, total_bytes, bytes, slack_bytes, time, step, phase, role, "
		"pid, imported_bytes, requested_bytes, block_bytes, block_bytes_exact, rank FROM device JOIN peak ON peak.device = device.id JOIN process ON process.id = peak.process "
		"ORDER BY number",
		NULL, give_device, ASKER(row, context));
}

static int give_phase_peak(void *asker, struct db_stmt *stmt)
{
	struct query_phase_peak row = {
		.phase = db_text(stmt, 0),
		.bytes = (uint64_t)db_int(stmt, 1),
		.time = db_int(stmt, 2),
		.step = db_int(stmt, 3),
		.process = db_int(stmt, 4),
		.seq = db_int(stmt, 5),
		.tensors = (uint64_t)db_int(stmt, 6),
	};

	return ANSWER(query_phase_peak_row, asker, &row);
}

int query_phase_peaks(struct db *db, int64_t device, query_phase_peak_row *row, void *context)
{
	return db_rows(
		db,
		"SELECT phase, bytes, time, step, process, seq, tensor_bytes FROM phase_peak WHERE device = ?1 ORDER BY time, phase",
		DB_NUMBERS(device), give_phase_peak, ASKER(row, context));
}

/* ---- holders of the peak ---- */

int query_tensors(struct db *db, int64_t device, uint64_t *bytes)
{
	*bytes = 0;
	return db_number(db,
			 "SELECT ifnull(sum(bytes), 0) FROM peak_part AS part JOIN site ON site.id = part.site "
			 "WHERE part.device = ?1 AND memory = 'tensor' AND part.category <> 'allocator slack'",
			 DB_NUMBERS(device), (int64_t *)bytes);
}

const char *const query_by_words[QUERY_BY_COUNT] = {
#define QUERY_BY_WORD(name, word, column) [QUERY_BY_##name] = word,
	QUERY_BY_LIST(QUERY_BY_WORD)
#undef QUERY_BY_WORD
};

static int give_part(void *asker, struct db_stmt *stmt)
{
	struct query_part row = {
		.word = db_text(stmt, 0),
		.bytes = (uint64_t)db_int(stmt, 1),
		.count = (uint64_t)db_int(stmt, 2),
		.pid = db_int(stmt, 3),
		.rank = int_or(stmt, 4, -1),
		.known = (uint64_t)db_int(stmt, 5),
		.rule = (uint64_t)db_int(stmt, 6),
	};

	return ANSWER(query_part_row, asker, &row);
}

int query_parts(struct db *db, int64_t device, enum query_by by, query_part_row *row, void *context)
{
	static const char *const sql[QUERY_BY_COUNT] = {
#define QUERY_BY_SQL(name, word, column)                                                                   \
	[QUERY_BY_##name] = "SELECT " #column ", sum(bytes), sum(count), NULL, NULL, 0, 0 FROM peak_part " \
			    "WHERE device = ?1 GROUP BY 1 ORDER BY 2 DESC, 1",
		QUERY_BY_LIST(QUERY_BY_SQL)
#undef QUERY_BY_SQL
	};
	static const char by_process[] =
		"SELECT iif(pid IS NULL, ifnull('rank ' || rank, file), ifnull('rank ' || rank || ', ', '') || 'pid ' || "
		"pid), sum(bytes), sum(count), pid, rank, 0, 0 "
		"FROM peak_part JOIN process ON process.id = process WHERE device = ?1 GROUP BY process ORDER BY 2 "
		"DESC, process";
	static const char by_category[] =
		"SELECT part.category, sum(bytes), sum(count), NULL, NULL, sum(iif(known = 'census', bytes, 0)), "
		"sum(iif(known = 'rule', bytes, 0)) FROM peak_part AS part JOIN site ON site.id = part.site "
		"WHERE part.device = ?1 GROUP BY 1 ORDER BY 2 DESC, 1";

	if (by == QUERY_BY_CATEGORY)
		return db_rows(db, by_category, DB_NUMBERS(device), give_part, ASKER(row, context));
	return db_rows(db, by == QUERY_BY_PROCESS ? by_process : sql[by], DB_NUMBERS(device), give_part,
		       ASKER(row, context));
}

const char *query_known(uint64_t bytes, uint64_t rule, uint64_t probable)
{
	uint64_t little = bytes / 100;

	return probable > little ? "probable" : rule + probable > little ? "rule" : "census";
}

static int give_site(void *asker, struct db_stmt *stmt)
{
	struct query_site row = {
		.id = db_int(stmt, 0),
		.node = db_int(stmt, 1),
		.pid = db_int(stmt, 2),
		.bytes = (uint64_t)db_int(stmt, 3),
		.count = (uint64_t)db_int(stmt, 4),
		.phase = db_text(stmt, 5),
		.category = db_text(stmt, 6),
		.owner = db_text(stmt, 7),
		.evidence = db_text(stmt, 8),
		.decided_by = db_text(stmt, 9),
		.rule = (uint64_t)db_int(stmt, 10),
		.probable = (uint64_t)db_int(stmt, 11),
		.parameter = db_text(stmt, 12),
		.rank = int_or(stmt, 13, -1),
		.submodule = db_text(stmt, 14),
		.sites = (uint64_t)db_int(stmt, 15),
	};

	return ANSWER(query_site_row, asker, &row);
}

/* The names of a site's parameters, from the framework. */
#define PARAMETER_OF(site)                                                                                                   \
	"ifnull((SELECT pattern || iif(names > 1, ' and ' || (names - 1) || ' more', '') FROM (SELECT pattern, max(bytes), " \
	"count(DISTINCT pattern) AS names FROM parameter WHERE parameter.site = " site " AND newest)), '')"

int query_sites(struct db *db, int64_t device, int64_t limit, query_site_row *row, void *context)
{
	return db_rows(
		db,
		"SELECT site, node, pid, bytes, count, part.phase, part.category, part.owner, evidence, "
		"decided_by, iif(known = 'rule', bytes, 0), iif(known = 'probable', bytes, 0), " PARAMETER_OF(
			"part.site") ", rank, ifnull((SELECT path FROM site_module "
				     "JOIN submodule ON submodule.id = submodule WHERE site_module.site = part.site), ''), 1 FROM peak_part AS part "
				     "JOIN site ON site.id = site JOIN process ON process.id = part.process "
				     "WHERE part.device = ?1 AND +part.site > 0 ORDER BY bytes DESC, site LIMIT ?2",
		DB_NUMBERS(device, limit), give_site, ASKER(row, context));
}

int query_lines(struct db *db, int64_t device, int64_t limit, query_site_row *row, void *context)
{
	/* Only max() picks the row of a group: all other columns come from the largest site of the group. */
	static const char sql[] =
		"WITH lone AS (SELECT part.site AS site, node, part.process AS process, bytes, count, part.phase AS phase, "
		"part.category AS category, part.owner AS owner, evidence, decided_by, iif(known = 'rule', bytes, 0) AS rule, "
		"iif(known = 'probable', bytes, 0) AS probable, '' AS submodule, 1 AS sites, part.site AS alike, 0 "
		"FROM peak_part AS part JOIN site ON site.id = site WHERE part.device = ?1 AND +part.site > 0 "
		"AND NOT EXISTS (SELECT 1 FROM site_module WHERE site_module.site = part.site) "
		"ORDER BY bytes DESC, site LIMIT ?2), "
		"alike AS (SELECT part.site AS site, site.node AS node, part.process AS process, sum(bytes) AS bytes, "
		"sum(count) AS count, part.phase AS phase, part.category AS category, part.owner AS owner, evidence, "
		"decided_by, sum(iif(known = 'rule', bytes, 0)) AS rule, sum(iif(known = 'probable', bytes, 0)) AS probable, "
		"iif(count(DISTINCT submodule) = 1, path, pattern) AS submodule, count(*) AS sites, alike, max(bytes) "
		"FROM peak_part AS part JOIN site ON site.id = part.site JOIN site_module ON site_module.site = part.site "
		"JOIN submodule ON submodule.id = submodule WHERE part.device = ?1 AND +part.site > 0 GROUP BY alike "
		"ORDER BY 4 DESC, alike LIMIT ?2) "
		"SELECT site, node, pid, bytes, count, phase, category, owner, evidence, decided_by, rule, probable, " PARAMETER_OF(
			"line.site") ", rank, submodule, sites FROM (SELECT * FROM lone UNION ALL SELECT * FROM alike) AS line "
				     "JOIN process ON process.id = line.process ORDER BY bytes DESC, alike LIMIT ?2";

	return db_rows(db, sql, DB_NUMBERS(device, limit), give_site, ASKER(row, context));
}

static int give_culprit(void *asker, struct db_stmt *stmt)
{
	struct query_culprit row = {
		.category = db_text(stmt, 0),
		.phase = db_text(stmt, 1),
		.bytes = (uint64_t)db_int(stmt, 2),
		.part = (uint64_t)db_int(stmt, 3),
		.probable = (uint64_t)db_int(stmt, 4),
	};

	return ANSWER(query_culprit_row, asker, &row);
}

int query_culprit(struct db *db, int64_t device, query_culprit_row *row, void *context)
{
	return db_rows(db,
		       "WITH part AS (SELECT part.category AS category, part.phase AS phase, sum(bytes) AS bytes, "
		       "sum(iif(known = 'probable', bytes, 0)) AS probable FROM peak_part AS part "
		       "JOIN site ON site.id = part.site WHERE part.device = ?1 GROUP BY 1, 2), "
		       "most AS (SELECT category, sum(bytes) AS bytes, sum(probable) AS probable FROM part GROUP BY 1 "
		       "ORDER BY 2 DESC, 1 LIMIT 1) "
		       "SELECT category, phase, most.bytes, part.bytes, most.probable FROM most JOIN part USING (category) "
		       "ORDER BY part.bytes DESC, phase LIMIT 1",
		       DB_NUMBERS(device), give_culprit, ASKER(row, context));
}

/* ---- bytes beyond recorded calls ---- */

static int give_gpu_total(void *asker, struct db_stmt *stmt)
{
	int column = 0;
	struct query_gpu_total row = { .peak = db_text(stmt, column++) };

	row.time = db_int(stmt, column++);
	row.processes = (uint64_t)db_int(stmt, column++);
	row.absent = (uint64_t)db_int(stmt, column++);
	row.used = (uint64_t)db_int(stmt, column++);
	row.total = (uint64_t)db_int(stmt, column++);
	row.recorded = (uint64_t)db_int(stmt, column++);
	row.known = db_type(stmt, column) != DB_NULL;
	row.process = (uint64_t)db_int(stmt, column++);
	row.others = (uint64_t)db_int(stmt, column++);
	row.mixed = db_text(stmt, column++);
#define QUERY_GPU_TOTAL_READ(member, name, words) row.member = db_int(stmt, column++);
	QUERY_GPU_TOTAL_LIST(QUERY_GPU_TOTAL_READ)
#undef QUERY_GPU_TOTAL_READ
	return ANSWER(query_gpu_total_row, asker, &row);
}

int query_gpu_totals(struct db *db, int64_t device, query_gpu_total_row *row, void *context)
{
#define QUERY_GPU_TOTAL_COLUMN(member, name, words) ", " #name
	return db_rows(db,
		       "SELECT peak, time, processes, absent, used_bytes, total_bytes, recorded_bytes, process_bytes, others_bytes, "
		       "mixed" QUERY_GPU_TOTAL_LIST(QUERY_GPU_TOTAL_COLUMN) " FROM gpu_total WHERE device = ?1 "
									    "ORDER BY peak <> 'peak', time, peak",
		       DB_NUMBERS(device), give_gpu_total, ASKER(row, context));
#undef QUERY_GPU_TOTAL_COLUMN
}

static int give_host(void *asker, struct db_stmt *stmt)
{
	struct query_host row = {
		.pid = db_int(stmt, 0),
		.time = db_int(stmt, 1),
		.resident = (uint64_t)db_int(stmt, 2),
		.pinned = (uint64_t)db_int(stmt, 3),
		.most_resident = (uint64_t)db_int(stmt, 4),
		.most_pinned = (uint64_t)db_int(stmt, 5),
		.cgroup = (uint64_t)db_int(stmt, 6),
		.cgroup_limit = (uint64_t)db_int(stmt, 7),
		.available = (uint64_t)db_int(stmt, 8),
		.killed = (uint64_t)db_int(stmt, 9),
		.pressure = db_text(stmt, 10),
		.verdict = db_text(stmt, 11),
		.rank = int_or(stmt, 12, -1),
	};

	return ANSWER(query_host_row, asker, &row);
}

int query_hosts(struct db *db, query_host_row *row, void *context)
{
	return db_rows(db,
		       "SELECT pid, time, rss_bytes, pinned_bytes, most_rss_bytes, most_pinned_bytes, cgroup_bytes, "
		       "cgroup_limit_bytes, available_bytes, killed, pressure, verdict, rank FROM host_memory "
		       "JOIN process ON process.id = process ORDER BY verdict IS 'left', process",
		       NULL, give_host, ASKER(row, context));
}

#define SUM(member, word) ", sum(CASE WHEN what = '" word "' AND NOT tied THEN bytes ELSE 0 END)"
#define SUMS "sum(CASE WHEN tied THEN 0 ELSE bytes END)" QUERY_PARAMETER_LIST(SUM)

static int give_parameter(void *asker, struct db_stmt *stmt)
{
	int column = 9;
	struct query_parameter row = {
		.name = db_text(stmt, 0),
		.model = db_text(stmt, 1),
		.module = db_text(stmt, 2),
		.optimizer = db_text(stmt, 3),
		.dtype = db_text(stmt, 4),
		.shape = db_text(stmt, 5),
		.count = (uint64_t)db_int(stmt, 6),
		.processes = (uint64_t)db_int(stmt, 7),
		.bytes = (uint64_t)db_int(stmt, 8),
	};

#define READ(member, word) row.member = (uint64_t)db_int(stmt, column++);
	QUERY_PARAMETER_LIST(READ)
#undef READ
	return ANSWER(query_parameter_row, asker, &row);
}

int query_parameters(struct db *db, int64_t limit, query_parameter_row *row, void *context)
{
	return db_rows(db,
		       "SELECT pattern, ifnull(model, ''), ifnull(max(module), ''), ifnull(optimizer, ''), "
		       "ifnull(max(CASE WHEN what IN ('weights', 'buffers', 'master weights') THEN dtype END), ''), "
		       "ifnull(max(CASE WHEN what IN ('weights', 'buffers', 'master weights') THEN shape END), ''), "
		       "count(DISTINCT name), count(DISTINCT process), " SUMS " FROM parameter WHERE newest "
		       "GROUP BY pattern, model, optimizer ORDER BY 9 DESC, 1, 2, 4 LIMIT ?1",
		       DB_NUMBERS(limit), give_parameter, ASKER(row, context));
}

int query_parameter_sum(struct db *db, query_parameter_row *row, void *context)
{
	return db_rows(
		db,
		"SELECT '', '', '', '', '', '', count(DISTINCT ifnull(model, '') || ' ' || name), count(DISTINCT process), " SUMS
		" FROM parameter WHERE newest HAVING count(*) > 0",
		NULL, give_parameter, ASKER(row, context));
}
