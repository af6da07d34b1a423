#include "analysis.h"

#include <stdlib.h>
#include <string.h>
#include "label/owner.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "merge.h"
#include "stream.h"

/* Most tries to read groups of processes one after the other. The first devices are met early, and most groups are known by the second. */
#define TRIES_MOST 3u

/* ---- clocks ---- */

static int same_boot(const struct analysis_process *one, const struct analysis_process *two)
{
	return one == two || (*one->info->boot_id && !strcmp(one->info->boot_id, two->info->boot_id));
}

/* The run begins with its first process. The clocks of all other processes are set against the clock of the first. */
static void join_clocks(struct analysis *analysis)
{
	struct analysis_process *first = &analysis->process[0], *process;
	uint64_t origin;
	uint32_t i;

	for (i = 1; i < analysis->processes; i++)
		if (analysis->process[i].info->start_realtime < first->info->start_realtime)
			first = &analysis->process[i];
	origin = first->info->start_monotonic;
	for (i = 0; i < analysis->processes; i++) {
		process = &analysis->process[i];
		if (same_boot(first, process) && process->info->start_monotonic < origin)
			origin = process->info->start_monotonic;
	}
	for (i = 0; i < analysis->processes; i++) {
		process = &analysis->process[i];
		process->origin = (int64_t)origin;
		if (!same_boot(first, process))
			process->origin = (int64_t)(process->info->start_monotonic -
						    (process->info->start_realtime - first->info->start_realtime) -
						    (first->info->start_monotonic - origin));
	}
}

/* ---- the run ---- */

static void init_process(struct analysis_process *process, const struct analysis_input *input)
{
	process->file = input->file;
	process->running = input->running;
	process->info = mt_reader_process(input->reader);
	process->defs = mt_reader_defs(input->reader);
	process->state = mt_reader_state(input->reader);
	process->next_step = 1;
}

static int run_streams(struct analysis *analysis, struct stream *stream, struct stream **open)
{
	uint32_t count = analysis->processes, i, ready = 0;
	int error = 0;

	analysis->attribution.turn = INT64_MIN;
	if (stream->sink->idle)
		return merge_following(stream, count);
	for (i = 0; i < count && error >= 0; i++) {
		error = stream_ready(&stream[i]);
		if (error > 0)
			open[ready++] = &stream[i];
	}
	if (error >= 0)
		error = analysis->sequential ? merge_by_turns(open, ready) : merge_by_time(open, ready);
	analysis->attribution.turn = INT64_MAX;
	for (i = 0; i < count && !error && !analysis->entangled; i++)
		error = stream_finish(&stream[i]);
	if (analysis->sequential && !error && !analysis->entangled)
		error = analysis_number(analysis);
	return error;
}

/* Threads read ahead until this ends. */
static int read_ahead(struct analysis *analysis, const struct analysis_input *input, const struct stream *stream,
		      int quiet)
{
	struct mt_reader **reader = calloc(analysis->processes, sizeof(struct mt_reader *));
	struct mt_tracker **tracker = calloc(analysis->processes, sizeof(struct mt_tracker *));
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; reader && tracker && i < analysis->processes; i++) {
		reader[i] = input[i].reader;
		tracker[i] = stream[i].tracker;
		bytes += mt_reader_state(reader[i])->file_bytes;
	}
	progress_init(&analysis->progress, quiet ? NULL : stderr,
		      analysis->processes > 1 ? "all traces" : input[0].file, bytes, progress_now());
	analysis->ahead = reader && tracker
				  ? mt_ahead_new(reader, tracker, analysis->processes, quiet ? 0 : MT_AHEAD_THREADS)
				  : NULL;
	free(reader);
	free(tracker);
	return analysis->ahead ? 0 : -MT_E_MEMORY;
}

/* Sets the category of each site. Call it after the last event. */
static int settle_categories(struct analysis *analysis)
{
	struct category_told *told = calloc(analysis->processes + 1, sizeof(*told));
	uint32_t *first = NULL, i;
	int error = told ? analysis_alike(analysis, &first) : -MT_E_MEMORY;

	for (i = 0; i < analysis->processes && !error; i++)
		told[i] = (struct category_told){ &analysis->process[i].census, analysis->process[i].steps };
	if (!error)
		error = categories_settle(&analysis->categories, &analysis->attribution, told, analysis->processes,
					  first);
	free(first);
	free(told);
	return error;
}

int analysis_settle(struct analysis *analysis)
{
	int error = settle_categories(analysis);

	return error ? error : analysis_settle_modules(analysis);
}

/* Returns 0 or an error. The caller releases the streams in any case. */
static int begin_streams(struct analysis *analysis, const struct analysis_input *input, const struct mt_rules *rules,
			 const struct analysis_sink *sink, struct stream *stream)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < analysis->processes && !error; i++) {
		stream[i].analysis = analysis;
		stream[i].sink = sink;
		stream[i].process = i;
		error = stream_init(&stream[i], rules);
	}
	for (i = 0; i < analysis->processes && !error; i++) {
		error = census_read(&analysis->process[i].census, input[i].reader);
		if (!error)
			error = parameter_lives_init(&analysis->process[i].lives, &analysis->process[i].census);
	}
	return error ? error : read_ahead(analysis, input, stream, sink->quiet);
}

static void end_reading(struct analysis *analysis)
{
	progress_release(&analysis->progress);
	mt_ahead_free(analysis->ahead);
	analysis->ahead = NULL;
}

static int run(struct analysis *analysis, const struct analysis_input *input, const struct mt_rules *rules,
	       const struct analysis_sink *sink)
{
	struct stream *stream = calloc(analysis->processes, sizeof(*stream));
	struct stream **open = calloc(analysis->processes, sizeof(*open));
	int error = stream && open ? begin_streams(analysis, input, rules, sink, stream) : -MT_E_MEMORY;
	uint32_t i;

	if (!error)
		error = run_streams(analysis, stream, open);
	end_reading(analysis);
	if (!error && !sink->idle && !analysis->entangled)
		error = analysis_settle(analysis);
	for (i = 0; stream && i < analysis->processes; i++)
		stream_release(&stream[i]);
	free(stream);
	free(open);
	return error;
}

int analysis_begin(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules)
{
	uint32_t i;
	int error;

	memset(analysis, 0, sizeof(*analysis));
	analysis->rules = rules;
	error = attribution_init(&analysis->attribution);
	analysis->process = calloc(inputs ? inputs : 1, sizeof(*analysis->process));
	analysis->owner = calloc(1, sizeof(*analysis->owner));
	analysis->site_known = calloc(ANALYSIS_SITES_KNOWN, sizeof(*analysis->site_known));
	if (error || !analysis->process || !analysis->owner || !analysis->site_known)
		return -MT_E_MEMORY;
	mt_copy_text(analysis->owner[analysis->owners++], OWNER_NAME_MAX, OWNER_PYTORCH);
	for (i = 0; i < inputs; i++)
		init_process(&analysis->process[i], &input[i]);
	analysis->processes = inputs;
	if (inputs)
		join_clocks(analysis);
	return 0;
}

/* One try. The readers are at the beginning. 0 or an error. */
static int run_once(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		    const struct mt_rules *rules, const struct analysis_sink *sink, uint32_t *group)
{
	int error = analysis_begin(analysis, input, inputs, rules);

	if (error || !inputs)
		return error;
	analysis->sequential = group != NULL;
	analysis->group = group;
	error = run(analysis, input, rules, sink);
	analysis->group = NULL;
	return error;
}

/* Whether another try with these groups can help: there are several, and more meet than before. */
static int may_try(const uint32_t *group, uint32_t processes, uint32_t *groups)
{
	uint32_t now = 0, i;

	for (i = 0; i < processes; i++)
		now += group[i] == i;
	if (now < 2 || now == *groups)
		return 0;
	*groups = now;
	return 1;
}

static void throw_away(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs)
{
	uint32_t i;

	analysis_release(analysis);
	for (i = 0; i < inputs; i++)
		mt_reader_rewind(input[i].reader);
}

/* 1; 0: the processes must be merged by time, and the readers are at the beginning; or an error. */
static int run_in_groups(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
			 const struct mt_rules *rules, const struct analysis_sink *sink)
{
	uint32_t *group = calloc((size_t)inputs + 1, sizeof(*group)), groups = 0, tries, i;
	int done = group ? 0 : -MT_E_MEMORY, error;

	for (i = 0; group && i < inputs; i++)
		group[i] = i;
	for (tries = 0; !done && tries < TRIES_MOST && may_try(group, inputs, &groups); tries++) {
		error = run_once(analysis, input, inputs, rules, sink, group);
		done = error ? error : 1;
		if (!analysis->entangled)
			continue;
		throw_away(analysis, input, inputs);
		done = sink->anew ? sink->anew(sink->context) : 0;
	}
	free(group);
	return done;
}

int analysis_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		 const struct mt_rules *rules, const struct analysis_sink *sink)
{
	static const struct analysis_sink no_sink;
	int done = 0;

	if (!sink)
		sink = &no_sink;
	if (sink == &no_sink || sink->anew)
		done = run_in_groups(analysis, input, inputs, rules, sink);
	if (done)
		return done < 0 ? done : 0;
	return run_once(analysis, input, inputs, rules, sink, NULL);
}

/* ---- a trace that is being written ---- */

struct analysis_pass {
	struct stream stream;
	uint64_t told; /* seq of the newest census event that the pass knew at its beginning */
};

static int begin_pass(struct analysis_pass *pass, struct analysis *analysis, const struct analysis_input *input,
		      const struct mt_rules *rules, const struct analysis_sink *sink)
{
	const struct census *census;
	int error = analysis_begin(analysis, input, 1, rules);

	if (!error)
		error = begin_streams(analysis, input, rules, sink, &pass->stream);
	if (error)
		return error;
	analysis->attribution.turn = INT64_MIN;
	census = &analysis->process[0].census;
	pass->told = census->rows ? census->row[census->rows - 1].seq : 0;
	return 0;
}

struct analysis_pass *analysis_pass_new(struct analysis *analysis, const struct analysis_input *input,
					const struct mt_rules *rules, const struct analysis_sink *sink)
{
	struct analysis_pass *pass = calloc(1, sizeof(*pass));

	if (pass && begin_pass(pass, analysis, input, rules, sink)) {
		analysis_pass_free(pass);
		pass = NULL;
	}
	return pass;
}

void analysis_pass_free(struct analysis_pass *pass)
{
	if (!pass)
		return;
	if (pass->stream.analysis)
		end_reading(pass->stream.analysis);
	stream_release(&pass->stream);
	free(pass);
}

int analysis_pass_take(struct analysis_pass *pass, uint32_t most)
{
	struct analysis *analysis = pass->stream.analysis;
	int more, ready = stream_ready(&pass->stream);

	if (!ready) {
		more = mt_ahead_more(analysis->ahead);
		if (more <= 0)
			return more;
		ready = stream_ready(&pass->stream);
	}
	if (ready > 0)
		ready = stream_take(&pass->stream, INT64_MAX, most) < 0 ? -MT_E_MEMORY : 1;
	return ready;
}

int analysis_pass_is_behind(const struct analysis_pass *pass)
{
	return stream_process(&pass->stream)->census_seq > pass->told;
}

int analysis_pass_end(struct analysis_pass *pass)
{
	struct stream *stream = &pass->stream;
	int error = 0;

	stream_process(stream)->running = 0;
	stream_ends(stream);
	if (stream->end == STREAM_ENDS)
		error = stream_take(stream, INT64_MAX, 1);
	stream->analysis->attribution.turn = INT64_MAX;
	return error < 0 ? error : stream_finish(stream);
}

void analysis_release(struct analysis *analysis)
{
	uint32_t i;

	for (i = 0; i < analysis->devices; i++) {
		free(analysis->device[i].user);
		free(analysis->device[i].gpu);
		free(analysis->device[i].step_peak);
	}
	for (i = 0; i < analysis->processes; i++) {
		outlived_release(&analysis->process[i].outlived);
		census_release(&analysis->process[i].census);
		tellings_release(&analysis->process[i].tellings);
		parameter_lives_release(&analysis->process[i].lives);
		module_tree_release(&analysis->process[i].modules);
		parameter_answer_release(&analysis->process[i].named);
		free(analysis->facts ? analysis->facts[i] : NULL);
	}
	free(analysis->modules.part);
	free(analysis->modules.of_site);
	free(analysis->modules.alike);
	attribution_release(&analysis->attribution);
	categories_release(&analysis->categories);
	free(analysis->process);
	free(analysis->device);
	tuple_release(&analysis->known_devices);
	free(analysis->oom);
	free(analysis->oom_holder);
	free(analysis->owner);
	free(analysis->site_known);
	free(analysis->facts);
	free(analysis->shared);
	free(analysis->renumbered.site);
	free(analysis->renumbered.device);
	memset(analysis, 0, sizeof(*analysis));
}

int analysis_damage(const struct analysis *analysis, const struct analysis_process **where)
{
	uint32_t i;
	int error;

	for (i = 0; i < analysis->processes; i++) {
		error = analysis->process[i].state->error;
		if (error && error != -MT_E_TRUNCATED) {
			*where = &analysis->process[i];
			return error;
		}
	}
	return 0;
}
