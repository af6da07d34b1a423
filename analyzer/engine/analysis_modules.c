#include "analysis.h"

#include <stdlib.h>
#include "base/tuple.h"
#include "label/alike.h"
#include "memtrace/error.h"

int analysis_alike(const struct analysis *analysis, uint32_t **first)
{
	uint32_t **plain = calloc((size_t)analysis->processes + 1, sizeof(*plain)), i;
	int error = plain ? 0 : -MT_E_MEMORY;

	*first = NULL;
	for (i = 0; i < analysis->processes && !error; i++)
		error = alike_stacks(&plain[i], analysis->process[i].defs);
	if (!error)
		error = alike_sites(first, &analysis->attribution, (const uint32_t *const *)plain);
	for (i = 0; i < analysis->processes && plain; i++)
		free(plain[i]);
	free(plain);
	return error;
}

/* The module row of a site's stack, by the names in the time of the site's births. */
static uint32_t row_of_site(struct analysis *analysis, uint32_t number)
{
	const struct site *site = &analysis->attribution.site[number];
	struct module_tree *tree = &analysis->process[site->key.process].modules;
	const struct category_site *facts = number < analysis->categories.room ? &analysis->categories.site[number]
									       : NULL;
	int is_known = facts && facts->born;

	return module_tree_of_nest(tree, module_tree_nest(tree, site->key.stack), is_known ? facts->first_seq : 0,
				   is_known ? facts->last_seq : UINT64_MAX);
}

static uint32_t row_of_oom(struct analysis *analysis, const struct analysis_oom *oom)
{
	struct module_tree *tree = &analysis->process[oom->process].modules;

	return module_tree_of_nest(tree, module_tree_nest(tree, oom->stack), oom->seq, oom->seq);
}

/* The named births of one process. */
static int take_named(struct analysis *analysis, uint32_t number)
{
	struct analysis_process *process = &analysis->process[number];
	struct parameter_moment *peak = calloc((size_t)analysis->devices + 1, sizeof(*peak));
	uint32_t i;
	int error;

	if (!peak)
		return -MT_E_MEMORY;
	for (i = 0; i < analysis->devices; i++)
		peak[i] = analysis_moment(analysis, number, i);
	error = parameter_lives_answer(&process->named, &process->lives, &process->census, &process->modules,
				       &analysis->attribution, peak);
	free(peak);
	return error;
}

static int by_site_and_row(const void *a, const void *b)
{
	const struct parameter_bytes *one = a, *two = b;

	if (one->site != two->site)
		return one->site < two->site ? -1 : 1;
	return one->row < two->row ? -1 : one->row > two->row;
}

/* Collects the named bytes of the peak, of all processes, and adds up equal sites and rows. NULL: out of memory. */
static struct parameter_bytes *join(const struct analysis *analysis, size_t *count)
{
	const struct parameter_answer *named;
	struct parameter_bytes *part;
	size_t room = 1, all = 0, used = 0, i;
	uint32_t process;

	for (process = 0; process < analysis->processes; process++)
		room += analysis->process[process].named.count;
	part = malloc(room * sizeof(*part));
	for (process = 0; process < analysis->processes && part; process++) {
		named = &analysis->process[process].named;
		for (i = 0; i < named->count; i++)
			if (named->item[i].here)
				part[all++] = named->item[i];
	}
	if (all)
		qsort(part, all, sizeof(*part), by_site_and_row);
	for (i = 0; i < all; i++) {
		if (used && !by_site_and_row(&part[used - 1], &part[i])) {
			part[used - 1].bytes += part[i].bytes;
			part[used - 1].count += part[i].count;
		} else {
			part[used++] = part[i];
		}
	}
	*count = used;
	return part;
}

/* Adds named[first .. end) of one site, and the remaining bytes of the site, to part[]. Returns the number of parts. */
static size_t part_site(const struct analysis *analysis, uint32_t site, const struct parameter_bytes *named,
			size_t count, struct parameter_bytes *part)
{
	const struct site *of = &analysis->attribution.site[site];
	const struct module_tree *tree = &analysis->process[of->key.process].modules;
	struct site_bytes held = attribution_at_peak(&analysis->attribution, site);
	uint64_t bytes = held.plain + held.slack, sum = 0, counted = 0;
	uint32_t common = count ? named[0].row : 0;
	size_t used = 0, i;

	if (!bytes)
		return 0;
	for (i = 0; i < count; i++) {
		common = module_tree_common(tree, common, named[i].row);
		sum = sum + named[i].bytes < sum ? UINT64_MAX : sum + named[i].bytes;
		counted += named[i].count;
	}
	if (of->tensors_seen ||
	    sum > bytes) { /* slack belongs to no module; the awake part of sleeping memory is unknown */
		part[used++] = (struct parameter_bytes){
			.site = site, .row = of->tensors_seen ? 0 : common, .bytes = bytes, .count = held.count
		};
		return used;
	}
	for (; used < count; used++)
		part[used] = named[used];
	if (sum < bytes)
		part[used++] = (struct parameter_bytes){ .site = site,
							 .row = analysis->modules.of_site[site],
							 .bytes = bytes - sum,
							 .count = held.count > counted ? held.count - counted : 0 };
	return used;
}

static int part_all(struct analysis *analysis)
{
	struct analysis_modules *modules = &analysis->modules;
	uint32_t sites = analysis->attribution.sites, i;
	size_t first = 0, end, count;
	struct parameter_bytes *named = join(analysis, &count);

	modules->part = named ? malloc((sites + count + 1) * sizeof(*modules->part)) : NULL;
	for (i = 1; i < sites && modules->part; i++, first = end) {
		for (end = first; end < count && named[end].site == i; end++)
			;
		modules->parts += part_site(analysis, i, &named[first], end - first, &modules->part[modules->parts]);
	}
	free(named);
	return modules->part ? 0 : -MT_E_MEMORY;
}

/* Joins the sites that are alike (alike_sites) with one category and module paths that differ in numbers alone. */
static int join_lines(struct analysis *analysis)
{
	struct analysis_modules *modules = &analysis->modules;
	char path[MODULE_PATH_MAX], pattern[MODULE_PATH_MAX];
	struct tuple_table table = { 0 };
	const struct module_tree *tree;
	struct tuple key;
	uint32_t i, at;
	int error = analysis_alike(analysis, &modules->alike);

	for (i = 1; i < analysis->attribution.sites && !error; i++) {
		if (!modules->of_site[i]) {
			modules->alike[i] = i;
			continue;
		}
		tree = &analysis->process[analysis->attribution.site[i].key.process].modules;
		module_path_pattern(pattern, module_tree_path(path, sizeof(path), tree, modules->of_site[i]));
		key = (struct tuple){ { modules->alike[i], tuple_text(pattern),
					category_of_site(&analysis->categories, &analysis->attribution, i) } };

		at = tuple_find(&table, &key);
		if (at == TUPLE_NONE)
			error = tuple_add(&table, &key, i);
		modules->alike[i] = at == TUPLE_NONE ? i : at;
	}
	tuple_release(&table);
	return error;
}

int analysis_settle_modules(struct analysis *analysis)
{
	struct analysis_process *process;
	uint32_t i;
	int error = 0;

	analysis->modules.of_site = calloc((size_t)analysis->attribution.sites + 1, sizeof(*analysis->modules.of_site));
	if (!analysis->modules.of_site)
		return -MT_E_MEMORY;
	for (i = 0; i < analysis->processes && !error; i++) {
		process = &analysis->process[i];
		error = module_tree_init(&process->modules, process->defs, &process->tellings);
		if (!error)
			error = take_named(analysis, i);
	}
	for (i = 1; i < analysis->attribution.sites && !error; i++)
		analysis->modules.of_site[i] = row_of_site(analysis, i);
	for (i = 0; i < analysis->processes && !error; i++)
		error = module_tree_outwards(&analysis->process[i].modules);
	if (!error)
		error = join_lines(analysis);
	for (i = 0; i < analysis->ooms && !error; i++)
		analysis->oom[i].row = row_of_oom(analysis, &analysis->oom[i]);
	return error ? error : part_all(analysis);
}
