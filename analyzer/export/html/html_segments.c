/* html_segments.c - writes the map of a device's segments at its peak: tensors, and the holes between them. */
#include <stdio.h>
#include <stdlib.h>
#include "html.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/frag/frag.h"
#include "timeline/tape.h"

#define PARTS_MAX 50000u /* largest number of parts of all devices; the page counts segments that are left out */

struct map {
	struct html *html;
	struct doc *doc;
	uint32_t parts;
};

/* The cell on the page for the site of a block; -1: none. */
static int64_t cell_of(const struct html *html, const struct frag_map *map, const struct segment_block *block)
{
	uint64_t cell = TAPE_CELL(map->tensor[block->id].site, 0);

	return cell < html->cells ? (int64_t)html->cell_of[cell] - 1 : -1;
}

/* Writes the parts of a segment. Neighbouring tensors of one cell are one part. */
static void put_parts(struct map *to, const struct frag_map *map, const struct segment *segment)
{
	struct segment_walk walk = segment_walk_begin(segment, map->block);
	struct segment_part part;
	uint64_t from = 0, until = 0;
	int64_t cell = -1, next;

	doc_array(to->doc, "parts");
	while (segment_walk_next(&walk, &part)) {
		next = part.block ? cell_of(to->html, map, part.block) : -1;
		if (cell >= 0 && (next != cell || part.from != until)) {
			doc_int(to->doc, NULL, (int64_t)(from - segment->address));
			doc_int(to->doc, NULL, (int64_t)(until - from));
			doc_int(to->doc, NULL, cell);
			to->parts++;
			cell = -1;
		}
		if (next >= 0 && cell < 0)
			from = part.from;
		cell = next;
		until = part.to;
	}
	if (cell >= 0) {
		doc_int(to->doc, NULL, (int64_t)(from - segment->address));
		doc_int(to->doc, NULL, (int64_t)(until - from));
		doc_int(to->doc, NULL, cell);
		to->parts++;
	}
	doc_end(to->doc);
}

static int by_size(const void *one, const void *two)
{
	const struct segment *a = *(const struct segment *const *)one, *b = *(const struct segment *const *)two;

	return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : (a > b) - (a < b);
}

/* Writes the segments, the largest first. */
static int put_segments(struct map *to, const struct frag_map *map)
{
	const struct segment **sorted = calloc(map->map.count + 1, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return -MT_E_MEMORY;
	for (i = 0; i < map->map.count; i++)
		sorted[i] = &map->map.segment[i];
	qsort(sorted, map->map.count, sizeof(*sorted), by_size);
	doc_array(to->doc, "segments");
	for (i = 0; i < map->map.count && to->parts < PARTS_MAX; i++) {
		doc_object(to->doc, NULL);
		doc_int(to->doc, "bytes", (int64_t)sorted[i]->bytes);
		doc_int(to->doc, "used", (int64_t)sorted[i]->used);
		doc_int(to->doc, "process", sorted[i]->process - 1);
		doc_bool(to->doc, "mapped", sorted[i]->mapped);
		put_parts(to, map, sorted[i]);
		doc_end(to->doc);
	}
	doc_end(to->doc);
	doc_int(to->doc, "left_out", (int64_t)(map->map.count - i));
	free(sorted);
	return 0;
}

static int take_device(void *context, const struct query_device *row)
{
	struct map *to = context;
	const struct moves_all *all = &to->html->moves;
	struct frag_instant instant;
	struct frag_map map = { 0 };
	int error;

	if (row->id > (int64_t)all->devices || !all->device[row->id - 1].changes)
		return 0;
	error = frag_instant(&instant, to->html->db, row->id, "peak", 0);
	if (error == 1)
		error = frag_load(&map, to->html->db, row->id, 0, &instant.when);
	doc_object(to->doc, NULL);
	if (!error)
		error = put_segments(to, &map);
	doc_end(to->doc);
	frag_release(&map);
	return error;
}

int html_segments(struct html *html, struct doc *doc)
{
	struct map map = { .html = html, .doc = doc };
	int error = 0;

	doc_array(doc, "maps");
	if (html->has_lives)
		error = query_devices(html->db, take_device, &map);
	doc_end(doc);
	return error;
}
