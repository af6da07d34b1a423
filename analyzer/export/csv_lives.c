/* csv_lives.c - writes the fields of a table, and the table of all allocations: see csv.h. */
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "export_moment.h"
#include "memtrace/base.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "source/partial_file.h"

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* Makes a field from a text. The caller frees the field; NULL: out of memory. */
static char *csv_field(const char *text)
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

/* ---- lives in a file --------------------------------------------------------------------------------------------- */

/*
 * Phases and categories are known only at the end of the pass. Lives wait for them in a temporary file, as differences
 * from the life before. X(member, value from which the member differs).
 */
#define LIFE_LIST(X)              \
	X(id, last->id + 1)       \
	X(addr, last->addr)       \
	X(size, last->size)       \
	X(death, last->death)     \
	X(birth, life->death)     \
	X(step, last->step)       \
	X(free_step, life->step)  \
	X(site, last->site)       \
	X(thread, last->thread)   \
	X(process, last->process) \
	X(memory, last->memory)   \
	X(bits, last->bits)

#define LOG_BUFFER (1u << 16)

enum life_bit {
	LIFE_DEAD = 1,
	LIFE_AT_HOME = 2,     /* the allocation died in the phase and step of its birth */
	LIFE_HAD_TENSORS = 4, /* tensors were in the memory */
	LIFE_IS_TENSOR = 8
};

struct life {
#define LIFE_MEMBER(member, before) uint64_t member;
	LIFE_LIST(LIFE_MEMBER)
#undef LIFE_MEMBER
};

enum life_member {
#define LIFE_NUMBER(member, before) LIFE_##member,
	LIFE_LIST(LIFE_NUMBER)
#undef LIFE_NUMBER
};

/* Writes a difference with its sign in the lowest bit, seven bits in a byte: a small difference takes one byte. */
static void put_difference(FILE *log, uint64_t difference)
{
	uint64_t bits = difference << 1 ^ (0 - (difference >> 63));

	for (; bits >= 0x80; bits >>= 7)
		putc_unlocked((int)(bits & 0x7f) | 0x80, log);
	putc_unlocked((int)bits, log);
}

static uint64_t take_difference(FILE *log)
{
	uint64_t bits = 0;
	int byte, shift = 0;

	do {
		byte = getc_unlocked(log);
		if (byte == EOF)
			return 0;
		bits |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return bits >> 1 ^ (0 - (bits & 1));
}

/* Writes two bytes with one bit for each member that differs, and then the differences. */
static void put_in_log(FILE *log, const struct life *life, const struct life *last)
{
	unsigned differ = 0;

#define LIFE_DIFFERS(member, before) differ |= (unsigned)(life->member != (before)) << LIFE_##member;
	LIFE_LIST(LIFE_DIFFERS)
#undef LIFE_DIFFERS
	putc_unlocked((int)(differ & 0xff), log);
	putc_unlocked((int)(differ >> 8), log);
#define LIFE_PUT(member, before)          \
	if (differ >> LIFE_##member & 1u) \
		put_difference(log, life->member - (before));
	LIFE_LIST(LIFE_PUT)
#undef LIFE_PUT
}

static void take_from_log(FILE *log, struct life *life, const struct life *last)
{
	unsigned differ = (unsigned)getc_unlocked(log);

	differ |= (unsigned)getc_unlocked(log) << 8;
#define LIFE_TAKE(member, before) life->member = (before) + (differ >> LIFE_##member & 1u ? take_difference(log) : 0);
	LIFE_LIST(LIFE_TAKE)
#undef LIFE_TAKE
}

/* ---- sites ------------------------------------------------------------------------------------------------------- */

/* The fields that all allocations of a site share, with the commas. */
struct csv_site {
	char *head, *meaning, *tail; /* before `memory`; phase and category; after `thread`. NULL: no such site */
	uint32_t phase;              /* bytes of the phase in `meaning` */
	uint32_t twin;               /* site of the allocations that died; 0: this site */
	int twin_home;               /* 1: `twin` has only allocations that died at home */
};

struct lives {
	struct export_run *run;
	struct export_out *out;
	struct export_range range;
	FILE *log; /* lives of the pass */
	char buffer[LOG_BUFFER];
	uint64_t logged;
	struct life last;
	uint64_t id;
	struct csv_site *site;
	uint32_t sites;
};

static const char sites_sql[] =
	"SELECT site.id, ifnull(rank, '') || ',' || ifnull(pid, '') || ',' || ifnull(number, '') || ',' || kind || ',', site.phase || ',', site.category || ',', "
	"iif(?1, '', ifnull(place.place, '')), ifnull(place.function, ''), ifnull(path, '') FROM site JOIN process ON "
	"process.id = site.process JOIN device ON device.id = site.device LEFT JOIN place ON place.node = site.node "
	"LEFT JOIN site_module ON site_module.site = site.id LEFT JOIN submodule ON submodule.id = submodule";

/* Makes "train.py:12,forward,layers.0,17" with the end of the line. NULL: out of memory. */
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

/* Takes the fields of all sites from the database, and their twins from the pass. */
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
	if (lives->log)
		fclose(lives->log);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Room for the numbers of one row. They are written from the end of the room to its beginning. */
#define NUMBERS_SIZE 256u

static const char two_digits[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495"
	"05152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697989"
	"9";

/* Writes a comma behind the number. Takes two digits at a time, because divisions take most of the time. */
static char *put_number(char *end, int64_t number)
{
	uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number, rest;

	*--end = ',';
	for (; magnitude >= 100; magnitude = rest) {
		rest = magnitude / 100;
		end -= 2;
		memcpy(end, &two_digits[2 * (magnitude - 100 * rest)], 2);
	}
	*--end = (char)('0' + magnitude % 10);
	if (magnitude >= 10)
		*--end = (char)('0' + magnitude / 10);
	if (number < 0)
		*--end = '-';
	return end;
}

static void put_word(struct export_out *out, const char *word)
{
	export_put(out, word, strlen(word));
}

/* SQLite has no larger numbers than INT64_MAX. */
static int64_t capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void put_memory(struct export_out *out, const struct life *life)
{
	const char *word = life->bits & LIFE_IS_TENSOR ? "tensor" : mt_space_name((uint32_t)life->memory);

	put_word(out, word ? word : "unknown");
	export_put(out, ",", 1);
}

static void put_life(struct lives *lives, const struct life *life, const struct csv_site *site)
{
	const struct analysis_process *process = &lives->run->analysis.process[life->process];
	const struct mt_thread *thread = mt_defs_thread(process->defs, (uint32_t)life->thread);
	char numbers[NUMBERS_SIZE], *end = numbers + sizeof(numbers), *at;
	struct export_out *out = lives->out;
	int died = life->bits & LIFE_DEAD, has_slack = life->bits & LIFE_HAD_TENSORS;

	at = put_number(end, (int64_t)life->id);
	export_put(out, at, (size_t)(end - at));
	put_word(out, site->head);
	put_memory(out, life);
	at = end;
	*--at = ',';
	if (died)
		at = put_number(at + 1, (int64_t)life->free_step);
	at = put_number(at, (int64_t)life->step);
	if (died)
		at = put_number(at, (int64_t)life->death);
	else
		*--at = ',';
	at = put_number(at, (int64_t)life->birth);
	at = put_number(at, capped(life->size));
	at = put_number(at, (int64_t)life->addr);
	export_put(out, at, (size_t)(end - at));
	export_put(out, site->meaning, has_slack ? site->phase : strlen(site->meaning));
	if (has_slack)
		put_word(out, "allocator slack,");
	at = end;
	*--at = ',';
	if (thread && life->thread)
		at = put_number(at + 1, thread->tid);
	export_put(out, at, (size_t)(end - at));
	put_word(out, site->tail);
	lives->run->written++;
}

/* The site of a life: the site of its birth, or the twin of this site (`twin`, `twin_home`). NULL: no such site. */
static const struct csv_site *site_of(const struct lives *lives, const struct life *life)
{
	const struct csv_site *site = life->site < lives->sites ? &lives->site[life->site] : NULL;

	if (site && site->twin && life->bits & LIFE_DEAD && !(life->bits & LIFE_HAD_TENSORS) &&
	    (!site->twin_home || life->bits & LIFE_AT_HOME))
		site = site->twin < lives->sites ? &lives->site[site->twin] : NULL;
	return site && site->head ? site : NULL;
}

/* ---- the pass over the events, then the lives of the log -------------------------------------------------------- */

static unsigned bits_of(const struct lives *lives, const struct mt_live *live, int died)
{
	return (died ? LIFE_DEAD : 0u) | (died && lives->run->analysis.categories.home ? LIFE_AT_HOME : 0u) |
	       (live->tensors_seen ? LIFE_HAD_TENSORS : 0u) | (live->kind == MT_TENSOR_ALLOC ? LIFE_IS_TENSOR : 0u);
}

static int gone(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		uint32_t step)
{
	struct lives *lives = context;
	const struct analysis_process *owner = &lives->run->analysis.process[process];
	int64_t birth = analysis_time(owner, live->time), death = event ? analysis_time(owner, event->time) : birth;
	const struct life life = { .id = ++lives->id,
				   .addr = live->addr,
				   .size = live->size,
				   .death = (uint64_t)death,
				   .birth = (uint64_t)birth,
				   .step = live->step,
				   .free_step = step,
				   .site = live->tag,
				   .thread = live->thread,
				   .process = process,
				   .memory = live->flags,
				   .bits = bits_of(lives, live, event != NULL) };

	if (birth > lives->range.last || (event && death < lives->range.first))
		return 0;
	put_in_log(lives->log, &life, &lives->last);
	lives->last = life;
	lives->logged++;
	return ferror_unlocked(lives->log) ? -MT_E_SYSTEM : 0;
}

static int has_failed_frees(const struct analysis *analysis)
{
	uint32_t i;

	for (i = 0; i < analysis->processes; i++)
		if (analysis->process[i].kinds[MT_DRIVER_KEEP])
			return 1;
	return 0;
}

static int put_lives(struct lives *lives)
{
	struct life life = { 0 }, last = { 0 };
	const struct csv_site *site;
	uint64_t i;

	export_text(lives->out,
		    "id,rank,pid,device,device_kind,memory,address,bytes,alloc_ns,free_ns,step,free_step,phase,category,"
		    "thread,place,function,module,site\r\n");
	rewind(lives->log);
	for (i = 0; i < lives->logged && !export_out_failed(lives->out); i++, last = life) {
		take_from_log(lives->log, &life, &last);
		if (feof_unlocked(lives->log) || ferror_unlocked(lives->log))
			return -MT_E_SYSTEM;
		site = site_of(lives, &life);
		if (site)
			put_life(lives, &life, site);
	}
	return 0;
}

/* Opens a temporary file without a name. NULL: errno has the reason. */
static FILE *open_log(char *buffer)
{
	int file = partial_file_nameless();
	FILE *log = file < 0 ? NULL : fdopen(file, "w+");

	if (log)
		setvbuf(log, buffer, _IOFBF, LOG_BUFFER);
	else if (file >= 0)
		close(file);
	return log;
}

int csv_lives(struct export_run *run, struct export_out *out, const struct export_range *range)
{
	struct lives lives = { .run = run, .out = out, .range = *range };
	const struct analysis_sink sink = { .context = &lives, .gone = gone };
	int error;

	if (run->source.db)
		return 1;
	lives.log = open_log(lives.buffer);
	error = lives.log ? export_pass(run, &sink) : -MT_E_SYSTEM;
	if (!error && fflush(lives.log))
		error = -MT_E_SYSTEM;
	if (!error && has_failed_frees(&run->analysis))
		error = 1;
	if (!error)
		error = export_store_peak(run);
	if (!error)
		error = take_sites(&lives);
	if (!error)
		error = put_lives(&lives);
	release(&lives);
	return error;
}
