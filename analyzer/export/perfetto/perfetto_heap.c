/*
 * perfetto_heap.c - writes heap dumps: the bytes of each process on each device at the peak of each step.
 *
 * Perfetto reads the sums of allocated and of freed bytes of each stack since the beginning. A dump has the stacks
 * whose sums differ from the dump before.
 */
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "perfetto.h"

#define ROWS_MAX (1u << 18) /* largest number of rows and dumps; with more, every second step is dropped */
#define NAME_BYTES 64

/* A site whose bytes differ from the dump before. */
struct row {
	uint32_t site;
	struct perfetto_bytes bytes;
};

struct dump {
	uint32_t pair, step;
	int64_t time;
	uint64_t bytes; /* bytes of the device */
	uint32_t rows;
};

/* The sums of a stack of a pair since the beginning. */
struct sum {
	uint32_t stack;
	int changed;
	uint64_t allocated, freed, allocations, frees;
};

struct perfetto_heap {
	struct row *row;
	size_t rows, row_room;
	struct dump *dump;
	size_t dumps, dump_room;
	uint32_t stride;          /* steps with a multiple of this number are kept */
	char (*name)[NAME_BYTES]; /* names of devices */
	uint32_t names;
	struct tuple_table known; /* index in `sum` by pair and stack */
	struct sum *sum;
	size_t sums, sum_room;
	uint32_t *changed; /* sums that change in the running dump */
	size_t changes, changed_room;
};

int perfetto_heap_new(struct perfetto *perfetto)
{
	perfetto->heap = calloc(1, sizeof(*perfetto->heap));
	if (!perfetto->heap)
		return -MT_E_MEMORY;
	perfetto->heap->stride = 1;
	return 0;
}

void perfetto_heap_free(struct perfetto *perfetto)
{
	struct perfetto_heap *heap = perfetto->heap;

	if (!heap)
		return;
	tuple_release(&heap->known);
	free(heap->row);
	free(heap->dump);
	free(heap->name);
	free(heap->sum);
	free(heap->changed);
	free(heap);
	perfetto->heap = NULL;
}

/* ---- take dumps -------------------------------------------------------------------------------------------------- */

static int is_same(const struct perfetto_bytes *one, const struct perfetto_bytes *two)
{
	return one->plain == two->plain && one->slack == two->slack && one->count == two->count;
}

static const struct perfetto_bytes *bytes_at(const struct perfetto_site *site, const struct perfetto_moment *moment)
{
	if (moment->seq && site->peak_seq == moment->seq && site->peak_process == moment->process)
		return &site->peak;
	return &site->now;
}

static int add_row(struct perfetto_heap *heap, uint32_t site, const struct perfetto_bytes *bytes)
{
	int error = export_grow(&heap->row, heap->rows, &heap->row_room, sizeof(*heap->row));

	if (!error)
		heap->row[heap->rows++] = (struct row){ .site = site, .bytes = *bytes };
	return error;
}

static int add_rows(struct perfetto *perfetto, const struct perfetto_pair *pair, const struct perfetto_moment *moment)
{
	struct perfetto_site *site;
	const struct perfetto_bytes *bytes;
	uint32_t i;
	int error = 0;

	for (i = pair->first_site; i && !error; i = site->next) {
		site = &perfetto->site[i];
		bytes = bytes_at(site, moment);
		if (is_same(bytes, &site->dumped))
			continue;
		site->dumped = *bytes;
		error = add_row(perfetto->heap, i, bytes);
	}
	return error;
}

/* 1: the dump is kept. The highest peak of a pair is always kept, because it may be the peak of the device. */
static int is_kept(const struct perfetto *perfetto, const struct dump *dump)
{
	return dump->step % perfetto->heap->stride == 0 || dump->bytes == perfetto->pair[dump->pair].highest;
}

/* ---- drop dumps -------------------------------------------------------------------------------------------------- */

/* The sites that changed since the last kept dump of their pair. */
struct pending {
	uint32_t *site;              /* first site of a pair, 0: none */
	uint32_t *next;              /* next site of the pair, by site */
	uint8_t *is;                 /* 1: the site is in the list, by site */
	struct perfetto_bytes *kept; /* bytes in the kept dump, by site */
};

static void pending_release(struct pending *pending)
{
	free(pending->site);
	free(pending->next);
	free(pending->is);
	free(pending->kept);
}

static int pending_init(struct pending *pending, const struct perfetto *perfetto)
{
	*pending = (struct pending){ .site = calloc((size_t)perfetto->pairs + 1, sizeof(*pending->site)),
				     .next = calloc((size_t)perfetto->sites + 1, sizeof(*pending->next)),
				     .is = calloc((size_t)perfetto->sites + 1, 1),
				     .kept = calloc((size_t)perfetto->sites + 1, sizeof(*pending->kept)) };
	if (pending->site && pending->next && pending->is && pending->kept)
		return 0;
	pending_release(pending);
	return -MT_E_MEMORY;
}

/* Adds the rows of the dump. They are pending until a dump of the pair is kept. */
static void add_pending(struct perfetto *perfetto, struct pending *pending, const struct dump *dump, size_t first)
{
	const struct row *row;
	size_t i;

	for (i = first; i < first + dump->rows; i++) {
		row = &perfetto->heap->row[i];
		perfetto->site[row->site].dumped = row->bytes;
		if (pending->is[row->site])
			continue;
		pending->is[row->site] = 1;
		pending->next[row->site] = pending->site[dump->pair];
		pending->site[dump->pair] = row->site;
	}
}

/* Writes the pending sites of the pair as rows, in place of rows that were read, from `at` on. Returns their number. */
static uint32_t keep_pending(struct perfetto *perfetto, struct pending *pending, uint32_t pair, size_t at)
{
	uint32_t i, rows = 0;

	for (i = pending->site[pair]; i; i = pending->next[i]) {
		pending->is[i] = 0;
		if (is_same(&perfetto->site[i].dumped, &pending->kept[i]))
			continue;
		pending->kept[i] = perfetto->site[i].dumped;
		perfetto->heap->row[at + rows++] = (struct row){ .site = i, .bytes = pending->kept[i] };
	}
	pending->site[pair] = 0;
	return rows;
}

/* Drops the dumps for which is_kept returns 0. The next kept dump gets their rows. */
static int thin_out(struct perfetto *perfetto)
{
	struct perfetto_heap *heap = perfetto->heap;
	struct pending pending;
	struct dump *dump;
	size_t i, from = 0, rows = 0, dumps = 0;
	int error = pending_init(&pending, perfetto);

	if (error)
		return error;
	for (i = 0; i < heap->dumps; i++) {
		dump = &heap->dump[i];
		add_pending(perfetto, &pending, dump, from);
		from += dump->rows;
		if (!is_kept(perfetto, dump))
			continue;
		dump->rows = keep_pending(perfetto, &pending, dump->pair, rows);
		rows += dump->rows;
		heap->dump[dumps++] = *dump;
	}
	for (i = 1; i < perfetto->sites; i++)
		perfetto->site[i].dumped = pending.kept[i];
	perfetto->run->left_out += heap->dumps - dumps;
	heap->rows = rows;
	heap->dumps = dumps;
	pending_release(&pending);
	return 0;
}

void perfetto_heap_dump(struct perfetto *perfetto, struct perfetto_pair *pair, const struct perfetto_moment *moment)
{
	struct perfetto_heap *heap = perfetto->heap;
	struct dump dump = { .pair = (uint32_t)(pair - perfetto->pair),
			     .step = moment->step,
			     .time = moment->time,
			     .bytes = moment->bytes };
	size_t first = heap->rows;
	int error = 0;

	if (perfetto->error || !moment->bytes || !perfetto_is_in(perfetto, moment->time))
		return;
	pair->highest = moment->bytes > pair->highest ? moment->bytes : pair->highest;
	if (is_kept(perfetto, &dump))
		error = export_grow(&heap->dump, heap->dumps, &heap->dump_room, sizeof(*heap->dump));
	else
		return;
	if (!error)
		error = add_rows(perfetto, pair, moment);
	if (!error) {
		dump.rows = (uint32_t)(heap->rows - first);
		heap->dump[heap->dumps++] = dump;
	}
	while (!error && heap->rows + heap->dumps > ROWS_MAX && heap->stride < UINT32_MAX / 2) {
		heap->stride *= 2;
		error = thin_out(perfetto);
	}
	perfetto_fail(perfetto, error);
}

/* ---- write dumps ------------------------------------------------------------------------------------------------- */

int perfetto_heap_name(struct perfetto *perfetto, uint32_t device, const char *name)
{
	struct perfetto_heap *heap = perfetto->heap;
	char(*grown)[NAME_BYTES];

	if (device >= heap->names) {
		grown = realloc(heap->name, ((size_t)device + 1) * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		heap->name = grown;
		memset(grown + heap->names, 0, ((size_t)device + 1 - heap->names) * sizeof(*grown));
		heap->names = device + 1;
	}
	mt_copy_text(heap->name[device], NAME_BYTES, name);
	return 0;
}

const char *perfetto_heap_device(const struct perfetto *perfetto, uint32_t device)
{
	return device < perfetto->heap->names ? perfetto->heap->name[device] : "";
}

/* The sum of a stack in a pair. NULL: out of memory. */
static struct sum *sum_of(struct perfetto_heap *heap, uint32_t pair, uint32_t stack)
{
	const struct tuple key = { { pair, stack } };
	uint32_t number = tuple_find(&heap->known, &key);

	if (number != TUPLE_NONE)
		return &heap->sum[number];
	if (export_grow(&heap->sum, heap->sums, &heap->sum_room, sizeof(*heap->sum)) ||
	    tuple_add(&heap->known, &key, (uint32_t)heap->sums))
		return NULL;
	heap->sum[heap->sums] = (struct sum){ .stack = stack };
	return &heap->sum[heap->sums++];
}

static int add_change(struct perfetto_heap *heap, uint32_t pair, uint32_t stack, int64_t bytes, int64_t count)
{
	struct sum *sum = stack ? sum_of(heap, pair, stack) : NULL;
	int error = sum ? export_grow(&heap->changed, heap->changes, &heap->changed_room, sizeof(*heap->changed))
			: -MT_E_MEMORY;

	if (error)
		return error;
	if (!sum->changed)
		heap->changed[heap->changes++] = (uint32_t)(sum - heap->sum);
	sum->changed = 1;
	*(bytes > 0 ? &sum->allocated : &sum->freed) += (uint64_t)(bytes > 0 ? bytes : -bytes);
	*(count > 0 ? &sum->allocations : &sum->frees) += (uint64_t)(count > 0 ? count : -count);
	return 0;
}

static int64_t difference(uint64_t now, uint64_t before)
{
	return (int64_t)(now - before);
}

static int add_site(struct perfetto *perfetto, uint32_t pair, const struct row *row)
{
	struct perfetto_site *site = &perfetto->site[row->site];
	const struct perfetto_bytes before = site->dumped;
	int64_t plain = difference(row->bytes.plain, before.plain), slack = difference(row->bytes.slack, before.slack);
	int64_t count = difference(row->bytes.count, before.count);
	int error = 0;

	site->dumped = row->bytes;
	if (site->all_slack) {
		slack += plain;
		plain = 0;
	}
	if (plain || (count && !site->all_slack))
		error = add_change(perfetto->heap, pair, perfetto_site_stack(perfetto, row->site, 0), plain, count);
	if (!error && slack)
		error = add_change(perfetto->heap, pair, perfetto_site_stack(perfetto, row->site, 1), slack, 0);
	return error ? error : perfetto->error;
}

static void put_sample(struct proto *proto, const struct sum *sum)
{
	proto_begin(proto, 2);
	proto_number(proto, 1, sum->stack);
	proto_number(proto, 2, sum->allocated);
	proto_number(proto, 3, sum->freed);
	proto_number(proto, 5, sum->allocations);
	proto_number(proto, 6, sum->frees);
	proto_end(proto);
}

static void put_dump(struct perfetto *perfetto, const struct dump *dump, uint64_t number)
{
	const struct perfetto_pair *pair = &perfetto->pair[dump->pair];
	struct perfetto_heap *heap = perfetto->heap;
	struct proto *proto = &perfetto->proto;
	size_t i;

	perfetto_begin_at(perfetto, dump->time);
	proto_begin(proto, 37);
	proto_number(proto, 7, number);
	proto_begin(proto, 5);
	proto_number(proto, 1, (uint64_t)perfetto->process[pair->process].pid);
	proto_text(proto, 11, perfetto_heap_device(perfetto, pair->device));
	proto_number(proto, 12, 1);
	proto_number(proto, 9, perfetto_time(perfetto, dump->time));
	for (i = 0; i < heap->changes; i++) {
		heap->sum[heap->changed[i]].changed = 0;
		put_sample(proto, &heap->sum[heap->changed[i]]);
	}
	proto_end(proto);
	proto_end(proto);
	perfetto_end(perfetto);
	heap->changes = 0;
}

int perfetto_heap_write(struct perfetto *perfetto)
{
	struct perfetto_heap *heap = perfetto->heap;
	const struct row *row = heap->row;
	size_t i, k;
	int error = 0;

	for (i = 1; i < perfetto->sites; i++)
		perfetto->site[i].dumped = (struct perfetto_bytes){ 0 };
	for (i = 0; i < heap->dumps && !error; i++) {
		for (k = 0; k < heap->dump[i].rows && !error; k++)
			error = add_site(perfetto, heap->dump[i].pair, row++);
		if (!error)
			put_dump(perfetto, &heap->dump[i], i);
	}
	return error ? error : perfetto->error;
}
