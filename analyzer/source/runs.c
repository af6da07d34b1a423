#include "runs.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/runs.h"

/* One word of a trace about its run. */
struct word {
	const char *at;
	size_t size;
	const char *host; /* host, if the word means a run of this host alone; "" for all hosts */
	int unique;
	uint32_t trace;
	int64_t first, last; /* times of the traces with this word, if it is unique */
};

/* Sets of traces: `up` leads to the representative of the set. */
struct sets {
	struct runs_trace *trace;
	uint32_t *up;
	uint32_t count;
};

static uint32_t root_of(struct sets *sets, uint32_t i)
{
	while (sets->up[i] != i)
		i = sets->up[i] = sets->up[sets->up[i]];
	return i;
}

/* Joins two sets. The representative gets the times of both. */
static void join(struct sets *sets, uint32_t one, uint32_t two)
{
	one = root_of(sets, one);
	two = root_of(sets, two);
	if (one == two)
		return;
	sets->up[two] = one;
	if (sets->trace[two].first < sets->trace[one].first)
		sets->trace[one].first = sets->trace[two].first;
	if (sets->trace[two].last > sets->trace[one].last)
		sets->trace[one].last = sets->trace[two].last;
}

/* ---- words ---- */

static int is_unique(const char *at, size_t size)
{
	static const struct {
		const char *name;
		int unique;
	} kinds[] = {
#define RUN_KIND(name, variable, second, unique) { name "=", unique },
		MT_RUN_LIST(RUN_KIND)
#undef RUN_KIND
	};
	size_t i, name;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		name = strlen(kinds[i].name);
		if (size > name && !memcmp(at, kinds[i].name, name))
			return kinds[i].unique;
	}
	return -1; /* a word of a later recorder */
}

/* Whether the word has the loopback address for the first rank of torch.distributed. Every host has this address. */
static int is_loopback(const char *at, size_t size)
{
	static const char *const begins[] = { "master=localhost", "master=ip6-localhost", "master=::1", "master=[::1]",
					      "master=127" };
	size_t i, length;

	for (i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		length = strlen(begins[i]);
		if (size >= length && !memcmp(at, begins[i], length) && (size == length || at[length] == '.'))
			return 1;
	}
	return 0;
}

/* The words of one trace. `word` NULL: only their number. */
static size_t words_of(const struct runs_trace *trace, uint32_t number, struct word *word)
{
	const char *at = trace->run;
	size_t size, count = 0;
	int unique;

	for (; *at; at += size + (at[size] != '\0')) {
		size = strcspn(at, " ");
		unique = is_unique(at, size);
		if (unique < 0)
			continue;
		if (word)
			word[count] = (struct word){ .at = at,
						     .size = size,
						     .host = is_loopback(at, size) && trace->host ? trace->host : "",
						     .unique = unique,
						     .trace = number };
		count++;
	}
	return count;
}

static int by_text(const struct word *one, const struct word *two)
{
	size_t size = one->size < two->size ? one->size : two->size;
	int order = memcmp(one->at, two->at, size);

	if (!order)
		order = (one->size > two->size) - (one->size < two->size);
	return order ? order : strcmp(one->host, two->host);
}

/* Puts equal words together, in order of time. */
static int by_word(const void *a, const void *b)
{
	const struct word *one = a, *two = b;
	int order = by_text(one, two);

	if (order)
		return order;
	return one->first != two->first ? (one->first < two->first ? -1 : 1)
					: (one->trace > two->trace) - (one->trace < two->trace);
}

static void join_words(struct sets *sets, struct word *word, size_t count, int unique)
{
	int64_t last = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		word[i].first = sets->trace[root_of(sets, word[i].trace)].first;
		word[i].last = sets->trace[root_of(sets, word[i].trace)].last;
	}
	qsort(word, count, sizeof(*word), by_word);
	for (i = 0; i < count; i++) {
		if (word[i].unique != unique)
			continue;
		if (i && !by_text(&word[i - 1], &word[i]) && (unique || word[i].first <= last))
			join(sets, word[i - 1].trace, word[i].trace);
		else
			last = word[i].last;
		last = word[i].last > last ? word[i].last : last;
	}
}

static int join_by_words(struct sets *sets)
{
	struct word *word;
	size_t count = 0, at = 0;
	uint32_t i;

	for (i = 0; i < sets->count; i++)
		count += words_of(&sets->trace[i], i, NULL);
	word = calloc(count + 1, sizeof(*word));
	if (!word)
		return -MT_E_MEMORY;
	for (i = 0; i < sets->count; i++)
		at += words_of(&sets->trace[i], i, word + at);
	join_words(sets, word, count, 1);
	join_words(sets, word, count, 0);
	free(word);
	return 0;
}

/* ---- times ---- */

/* The times of a run, or of a trace without words. */
struct stretch {
	uint32_t root;
	int64_t first, last;
	int silent; /* the trace has no words */
};

static int by_first(const void *a, const void *b)
{
	const struct stretch *one = a, *two = b;

	if (one->first != two->first)
		return one->first < two->first ? -1 : 1;
	return (one->root > two->root) - (one->root < two->root);
}

/*
 * A silent trace joins the run that it overlaps. Silent traces that overlap are one run. If runs with names overlap the
 * trace, the longest of these runs gets the trace. Runs with names are never joined by time alone.
 */
static void join_silent(struct sets *sets, struct stretch *stretch, uint32_t count)
{
	const struct stretch *named = NULL, *open = NULL; /* longest so far */
	int64_t until = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (!stretch[i].silent) {
			if (open && stretch[i].first <= until)
				join(sets, stretch[i].root, open->root);
			if (!named || stretch[i].last >= named->last)
				named = &stretch[i];
			open = open && stretch[i].first <= until ? NULL : open;
			continue;
		}
		if (named && stretch[i].first <= named->last)
			join(sets, named->root, stretch[i].root);
		else if (open && stretch[i].first <= until)
			join(sets, open->root, stretch[i].root);
		if (!named || stretch[i].first > named->last) {
			until = open && stretch[i].first <= until && until > stretch[i].last ? until : stretch[i].last;
			open = &stretch[i];
		}
	}
}

static int join_by_time(struct sets *sets)
{
	struct stretch *stretch = calloc((size_t)sets->count + 1, sizeof(*stretch));
	uint32_t i, count = 0;
	const struct runs_trace *trace;

	if (!stretch)
		return -MT_E_MEMORY;
	for (i = 0; i < sets->count; i++) {
		trace = &sets->trace[i];
		if (root_of(sets, i) == i && !trace->any)
			stretch[count++] = (struct stretch){ i, trace->first, trace->last, !*trace->run };
	}
	if (count)
		qsort(stretch, count, sizeof(*stretch), by_first);
	join_silent(sets, stretch, count);
	free(stretch);
	return 0;
}

/* ---- runs ---- */

static void number_runs(struct sets *sets, uint32_t *newest, uint32_t *runs)
{
	struct runs_trace *trace = sets->trace;
	uint32_t i, best = UINT32_MAX;

	*runs = 0;
	for (i = 0; i < sets->count; i++) {
		if (root_of(sets, i) != i || trace[i].any)
			continue;
		if (best == UINT32_MAX || trace[i].first > trace[best].first)
			best = i;
		trace[i].of = (*runs)++;
	}
	*newest = best == UINT32_MAX ? 0 : trace[best].of;
	for (i = 0; i < sets->count; i++)
		trace[i].of = trace[i].any ? *newest : trace[root_of(sets, i)].of;
}

int runs_find(struct runs_trace *trace, uint32_t count, uint32_t *newest, uint32_t *runs)
{
	struct sets sets = { trace, calloc((size_t)count + 1, sizeof(*sets.up)), count };
	uint32_t i;
	int error = sets.up ? 0 : -MT_E_MEMORY;

	for (i = 0; i < count && !error; i++) {
		sets.up[i] = i;
		trace[i].any = !*trace[i].run && !trace[i].last;
		if (!trace[i].last || trace[i].last < trace[i].first)
			trace[i].last = trace[i].first;
	}
	if (!error)
		error = join_by_words(&sets);
	if (!error)
		error = join_by_time(&sets);
	if (!error)
		number_runs(&sets, newest, runs);
	free(sets.up);
	return error;
}
