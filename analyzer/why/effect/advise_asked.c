/* The failed request as logits: tokens x words of the vocabulary, and the most tokens before. */
#include <stdlib.h>
#include "advise_run.h"
#include "label/category_sizes.h"
#include "memtrace/error.h"
#include "report/answer.h"

/* Numbers sizes like `memana top`: in the order of birth, early ones from before the first computation. */
static int take_size(void *context, struct db_stmt *row)
{
	struct category_sizes *sizes = context;
	uint8_t number;

	sizes->closed = !db_int(row, 1);
	number = sizes_number(sizes, (uint64_t)db_int(row, 0));
	if (number && !sizes->closed)
		sizes->weights[number] = (uint64_t)db_int(row, 2);
	return 0;
}

struct earlier {
	const struct category_sizes *sizes;
	struct advise_asked *asked;
};

/* Rows are largest first: the first logits count. */
static int take_earlier(void *context, struct db_stmt *row)
{
	struct earlier *earlier = context;
	uint64_t figure[3];

	if (!earlier->asked->earlier && sizes_vocabulary(earlier->sizes, (uint64_t)db_int(row, 0), figure) &&
	    figure[1] == earlier->asked->words)
		earlier->asked->earlier = figure[0];
	return 0;
}

/* Looks at earlier steps, and at freed pieces of the same place. Weights are excluded: an embedding reads as logits. */
static int find_earlier(struct advise_run *run, const struct category_sizes *sizes)
{
	static const char sql[] =
		"SELECT bytes FROM allocation WHERE process = ?1 AND memory = 'tensor' "
		"AND (step < ?2 OR (node = ?5 AND free_seq < ?3)) AND alloc_seq < ?3 AND bytes % ?4 = 0 AND phase <> 'init' "
		"AND category NOT IN ('weights', 'gradients', 'optimizer state') AND bytes NOT IN (SELECT bytes FROM allocation "
		"WHERE process = ?1 AND memory = 'tensor' AND category = 'weights' AND alloc_seq < ?3) "
		"GROUP BY bytes ORDER BY bytes DESC";
	const int64_t parameter[ANSWER_PARAMETERS] = { run->it->process, run->it->step, run->it->seq,
						       (int64_t)run->asked.words, run->it->node };
	struct earlier earlier = { sizes, &run->asked };

	return answer_rows(run->db, sql, parameter, take_earlier, &earlier);
}

int advise_find_asked(struct advise_run *run)
{
	static const char sql[] =
		"WITH computed AS (SELECT ifnull(min(alloc_seq), ?2 + 1) AS seq FROM allocation WHERE process = ?1 "
		"AND memory = 'tensor' AND phase <> 'init' AND (phase <> 'other' OR node IS NOT NULL)) "
		"SELECT bytes, min(alloc_seq) < computed.seq, count(*) FILTER (WHERE alloc_seq < computed.seq "
		"AND (free_seq IS NULL OR free_seq >= computed.seq)) FROM allocation, computed "
		"WHERE process = ?1 AND memory = 'tensor' AND alloc_seq <= ?2 GROUP BY bytes ORDER BY min(alloc_seq)";
	const int64_t parameter[ANSWER_PARAMETERS] = { run->it->process, run->it->seq };
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];
	int error;

	if (!sizes)
		return -MT_E_MEMORY;
	error = answer_rows(run->db, sql, parameter, take_size, sizes);
	if (!error && sizes_vocabulary(sizes, run->it->requested, figure)) {
		run->asked = (struct advise_asked){ .tokens = figure[0], .words = figure[1], .element = figure[2] };
		error = find_earlier(run, sizes);
	}
	sizes_release(sizes);
	free(sizes);
	return error;
}
