/* Fields of a table, and the table of all allocations. */
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "export_moment.h"
#include "memtrace/base.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"

/* ---- fields ------------------------------------------------------------------------------------------------------ */

char *csv_field(const char *text)
{
	int is_quoted = text[strcspn(text, ",\"\r\n")] != '\0';
	size_t size = strlen(text), used = 0, at, length;
	char *field = malloc(2 * size + 3);
	uint32_t code;

	if (!field)
		return NULL;
	if (is_quoted)
		field[used++] = '"';
	for (at = 0; at < size; at += length) {
		length = mt_utf8(text + at, size - at, &code);
		if (text[at] == '"')
			field[used++] = '"';
		memcpy(field + used, length ? text + at : "?", length ? length : 1);
		length += !length;
		used += length;
	}
	if (is_quoted)
		field[used++] = '"';
	field[used] = '\0';
	return field;
}

void csv_text(struct export_out *out, const char *text)
{
	char *field = csv_field(text);

	if (field)
		export_text(out, field);
	else
		export_fail(out, -MT_E_MEMORY);
	free(field);
}

/* ---- sites ------------------------------------------------------------------------------------------------------- */

/* The fields that all allocations of a site share, with the commas. */
struct csv_site {
	char *head, *meaning, *tail; /* before the memory; phase and category; after the thread. NULL: no such site */
	uint32_t phase;              /* bytes of `meaning` that are the phase's */
	uint32_t twin;               /* the site of those that died, 0: this one */
	int twin_home;               /* 1: of those only that died at home */
};

struct lives {
	struct export_run *run;
	struct export_out *out;
	struct export_range range;
	struct csv_site *site;
	uint32_t sites;
	uint64_t id;
};

static const char sites_sql[] =
	"SELECT site.id, ifnull(rank, '') || ',' || ifnull(pid, '') || ',' || ifnull(number, '') || ',' || kind || ',', site.phase || ',', site.category || ',', "
	"iif(?1, '', ifnull(place.place, '')), ifnull(place.function, ''), ifnull(path, '') FROM site JOIN process ON "
	"process.id = site.process JOIN device ON device.id = site.device LEFT JOIN place ON place.node = site.node "
	"LEFT JOIN site_module ON site_module.site = site.id LEFT JOIN submodule ON submodule.id = submodule";

/* "train.py:12,forward,layers.0,17" and the end of the line. NULL: out of memory. */
static char *make_tail(const struct db_stmt *row)
{
	char *field[3], *tail = NULL;
	int i, is_whole = 1;

	for (i = 0; i < 3; i++) {
		field[i] = csv_field(db_text(row, 4 + i));
		is_whole &= field[i] != NULL;
	}
	if (is_whole && asprintf(&tail, "%s,%s,%s,%" PRId64 "\r\n", field[0], field[1], field[2], db_int(row, 0)) < 0)
		tail = NULL;
	for (i = 0; i < 3; i++)
		free(field[i]);
	return tail;
}

static int take_site(struct lives *lives, const struct db_stmt *row)
{
	int64_t number = db_int(row, 0);
	struct csv_site *site;

	if (number <= 0 || number >= (int64_t)lives->sites)
		return 0;
	site = &lives->site[number];
	site->head = strdup(db_text(row, 1));
	site->phase = (uint32_t)strlen(db_text(row, 2));
	if (asprintf(&site->meaning, "%s%s", db_text(row, 2), db_text(row, 3)) < 0)
		site->meaning = NULL;
	site->tail = make_tail(row);
	return site->head && site->meaning && site->tail ? 0 : -MT_E_MEMORY;
}

/* Everything of the pass so far that rows need. */
static int take_sites(struct lives *lives)
{
	const struct analysis *analysis = &lives->run->analysis;
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(lives->run->db, &stmt, sites_sql), more;

	lives->sites = analysis->attribution.sites;
	lives->site = calloc((size_t)lives->sites + 1, sizeof(*lives->site));
	if (!error && !lives->site)
		error = -MT_E_MEMORY;
	for (i = 1; i < lives->sites && i < analysis->categories.room && !error; i++) {
		lives->site[i].twin = analysis->categories.site[i].twin;
		lives->site[i].twin_home = analysis->categories.site[i].twin_home;
	}
	if (!error)
		db_bind(stmt, 1, lives->run->options->confidential);
	while (!error && (more = db_step(stmt)) != 0)
		error = more < 0 ? more : take_site(lives, stmt);
	db_finish(stmt);
	return error;
}

static void release(struct lives *lives)
{
	uint32_t i;

	for (i = 0; lives->site && i < lives->sites; i++) {
		free(lives->site[i].head);
		free(lives->site[i].meaning);
		free(lives->site[i].tail);
	}
	free(lives->site);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The fields of a row that are its own: as text, printed from the end of the room to its begin. */
#define NUMBERS_SIZE 256u

static char *put_number(char *end, int64_t number)
{
	uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	*--end = ',';
	do
		*--end = (char)('0' + magnitude % 10);
	while (magnitude /= 10);
	if (number < 0)
		*--end = '-';
	return end;
}

static void put_word(struct export_out *out, const char *word)
{
	export_put(out, word, strlen(word));
}

/* SQLite has no numbers beyond. */
static int64_t capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void put_memory(struct export_out *out, const struct mt_live *live)
{
	const char *word = live->kind == MT_TENSOR_ALLOC ? "tensor" : mt_space_name(live->flags);

	put_word(out, word ? word : "unknown");
	export_put(out, ",", 1);
}

static void put_life(struct lives *lives, uint32_t process, const struct mt_live *live, const struct csv_site *site,
		     int64_t birth, const int64_t *death, uint32_t step)
{
	const struct mt_thread *thread = mt_defs_thread(lives->run->analysis.process[process].defs, live->thread);
	char numbers[NUMBERS_SIZE], *end = numbers + sizeof(numbers), *at;
	struct export_out *out = lives->out;

	at = put_number(end, (int64_t)lives->id);
	export_put(out, at, (size_t)(end - at));
	put_word(out, site->head);
	put_memory(out, live);
	at = end;
	*--at = ',';
	if (death)
		at = put_number(at + 1, step);
	at = put_number(at, live->step);
	if (death)
		at = put_number(at, *death);
	else
		*--at = ',';
	at = put_number(at, birth);
	at = put_number(at, capped(live->size));
	at = put_number(at, (int64_t)live->addr);
	export_put(out, at, (size_t)(end - at));
	export_put(out, site->meaning, live->tensors_seen ? site->phase : strlen(site->meaning));
	if (live->tensors_seen)
		put_word(out, "allocator slack,");
	at = end;
	*--at = ',';
	if (thread && live->thread)
		at = put_number(at + 1, thread->tid);
	export_put(out, at, (size_t)(end - at));
	put_word(out, site->tail);
	lives->run->written++;
}

/* The site, or its twin for what lived otherwise than the rest. */
static const struct csv_site *site_of(const struct lives *lives, const struct mt_live *live, int died)
{
	const struct csv_site *site = live->tag < lives->sites ? &lives->site[live->tag] : NULL;

	if (site && site->twin && died && !live->tensors_seen &&
	    (!site->twin_home || lives->run->analysis.categories.home))
		site = site->twin < lives->sites ? &lives->site[site->twin] : NULL;
	return site && site->head ? site : NULL;
}

static int gone(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		uint32_t step)
{
	struct lives *lives = context;
	const struct analysis_process *owner = &lives->run->analysis.process[process];
	const struct csv_site *site = site_of(lives, live, event != NULL);
	int64_t birth = analysis_time(owner, live->time), death = event ? analysis_time(owner, event->time) : INT64_MAX;

	lives->id++;
	if (site && birth <= lives->range.last && death >= lives->range.first)
		put_life(lives, process, live, site, birth, event ? &death : NULL, step);
	return export_out_failed(lives->out) ? -MT_E_SYSTEM : 0;
}

static int has_failed_frees(const struct analysis *analysis)
{
	uint32_t i;

	for (i = 0; i < analysis->processes; i++)
		if (analysis->process[i].kinds[MT_DRIVER_KEEP])
			return 1;
	return 0;
}

int csv_lives(struct export_run *run, struct export_out *out, const struct export_range *range)
{
	struct lives lives = { .run = run, .out = out, .range = *range };
	const struct analysis_sink sink = { .context = &lives, .gone = gone };
	int error;

	if (run->source.db)
		return 1;
	error = export_load_peak(run);
	if (!error && has_failed_frees(&run->analysis))
		return 1;
	if (!error)
		error = take_sites(&lives);
	if (!error) {
		export_text(out,
			    "id,rank,pid,device,device_kind,memory,address,bytes,alloc_ns,free_ns,step,free_step,phase,category,"
			    "thread,place,function,module,site\r\n");
		error = export_pass(run, &sink);
	}
	release(&lives);
	return error;
}
