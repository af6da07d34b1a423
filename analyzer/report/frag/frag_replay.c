#include "frag_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "allocator/alloc_events.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "report/answer.h"
#include "report/finding.h"

/* A process on a device. */
struct frag_replay {
	const struct frag_replay_ask *ask;
	const struct text *text; /* exactly one of `text` and `doc` is set */
	struct doc *doc;
	struct db *db;
	const struct query_device *device;
	const struct query_process *process;
	struct alloc_replay replay;
	struct alloc_outcome outcome[FRAG_REPLAYS];
	int processes; /* number of processes in the output so far */
};

/* ---- settings of the replay ---- */

static int read_settings(struct alloc_config *config, const struct frag_replay_ask *ask, const char *conf,
			 const struct query_device *device, char *why, size_t size)
{
	alloc_config_init(config);
	config->device_bytes = device ? device->total : 0;
	if (conf != ask->recorded)
		config->limit = ask->limit;
	return conf ? alloc_config_parse(config, conf, why, size) : 0;
}

int frag_replay_check(const struct frag_replay_ask *ask, char *why, size_t size)
{
	const char *phase = ask->empty_after;
	struct alloc_config config;
	char what[160];
	size_t i;

	for (i = 0; i < ask->count; i++) {
		if (!read_settings(&config, ask, ask->conf[i], NULL, what, sizeof(what)))
			continue;
		snprintf(why, size, "--replay %s", what);
		return -MT_E_ARGUMENT;
	}
	if (ask->recorded && read_settings(&config, ask, ask->recorded, NULL, what, sizeof(what))) {
		snprintf(why, size, "--recorded %s", what);
		return -MT_E_ARGUMENT;
	}
	if (phase && mt_phase_parse(phase, strlen(phase)) < 0) {
		snprintf(why, size, "--empty-after %.40s: no phase (rollout, forward, ...)", phase);
		return -MT_E_ARGUMENT;
	}
	if (ask->count || (!phase && !ask->limit && !ask->recorded))
		return 0;
	snprintf(why, size,
		 "--limit, --empty-after and --recorded go with --replay (--replay \"\" for PyTorch's defaults)");
	return -MT_E_ARGUMENT;
}

static int run(struct frag_replay *report)
{
	const struct frag_replay_ask *ask = report->ask;
	struct alloc_scenario scenario[FRAG_REPLAYS] = { 0 };
	struct alloc_config recorded;
	int64_t *ends = NULL;
	size_t count = 0, i;
	char why[160];
	int error = read_settings(&recorded, ask, ask->recorded, report->device, why, sizeof(why));

	if (!error && ask->empty_after)
		error = alloc_events_ends(report->db, report->process->id, ask->empty_after, &ends, &count);
	for (i = 0; i < ask->count && !error; i++) {
		error = read_settings(&scenario[i].config, ask, ask->conf[i], report->device, why, sizeof(why));
		scenario[i].empty_at = ends;
		scenario[i].empties = count;
	}
	if (!error)
		error = alloc_replay(&report->replay, report->outcome, scenario, ask->count, report->db,
				     report->process->id, report->device->id, &recorded);
	free(ends);
	return error;
}

/* ---- for people ---- */

/* Says "expandable_segments:True, the cache emptied after rollout, with 80.0 GiB for the process". */
static void say_settings(struct sentence *sentence, const struct frag_replay_ask *ask, size_t i)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, "with %.200s", *ask->conf[i] ? ask->conf[i] : "PyTorch's defaults");
	if (ask->empty_after)
		sentence_say(sentence, ", the cache emptied after %s", ask->empty_after);
	if (ask->limit)
		sentence_say(sentence, ", %s for the process", text_bytes(size, ask->limit));
}

/* Writes "off by 0.3 %", or "exact". */
static const char *say_share(char out[TEXT_SIZE_MAX], double share)
{
	if (share <= 0)
		snprintf(out, TEXT_SIZE_MAX, "exact");
	else if (share < 0.0005)
		snprintf(out, TEXT_SIZE_MAX, "off by less than 0.1 %%");
	else
		snprintf(out, TEXT_SIZE_MAX, "off by %.1f %%", 100 * share);
	return out;
}

static void print_recorded(const struct frag_replay *report)
{
	const struct alloc_replay *replay = &report->replay;
	struct sentence sentence = { 0 };
	char who[TEXT_SIZE_MAX], one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	sentence_say(&sentence, "as recorded by %s (the model: %s, %s",
		     answer_process(who, report->process->rank, report->process->pid),
		     text_bytes(size, replay->modelled.peak_reserved), say_share(one, alloc_replay_error(replay)));
	if (alloc_replay_worst(replay) > 0)
		sentence_say(&sentence, "; at the worst of %s moments %s)", text_number(size, replay->moments),
			     say_share(two, alloc_replay_worst(replay)));
	else
		sentence_say(&sentence, " at all of %s moments)", text_number(size, replay->moments));
	if (replay->beside_bytes)
		sentence_say(&sentence, "; up to %s in pools that sleep count as they were",
			     text_bytes(size, replay->beside_bytes));
	finding_line(report->text, replay->recorded_peak, sentence.text);
}

static void print_outcome(const struct frag_replay *report, size_t i)
{
	const struct alloc_outcome *outcome = &report->outcome[i];
	struct sentence sentence = { 0 };
	char share[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], number[TEXT_SIZE_MAX];

	say_settings(&sentence, report->ask, i);
	if (outcome->is_refused)
		sentence_say(&sentence, ": fails at request %s, of %s", text_number(number, outcome->refused_request),
			     text_bytes(size, outcome->refused_bytes));
	if (outcome->retries)
		sentence_say(&sentence, "%s gives everything cached back %s times", outcome->is_refused ? ";" : ":",
			     text_number(number, outcome->retries));
	sentence_say(&sentence, " (model; as recorded it is %s)",
		     say_share(share, alloc_replay_error(&report->replay)));
	finding_line(report->text, outcome->peak_reserved, sentence.text);
}

static int print_process(struct frag_replay *report)
{
	size_t i;

	if (!report->processes++)
		answer_title(report->text, "Reserved at most, replayed in a model of PyTorch's allocator");
	print_recorded(report);
	for (i = 0; i < report->ask->count; i++)
		print_outcome(report, i);
	return 0;
}

/* ---- for programs ---- */

static void json_outcome(const struct frag_replay *report, size_t i)
{
	const struct alloc_outcome *outcome = &report->outcome[i];
	struct doc *doc = report->doc;

	doc_object(doc, NULL);
	doc_string(doc, "conf", report->ask->conf[i]);
	doc_int(doc, "reserved_peak_bytes", (int64_t)outcome->peak_reserved);
	doc_time(doc, "time_ns", outcome->peak_time);
	doc_int(doc, "allocated_peak_bytes", (int64_t)outcome->peak_allocated);
	doc_int(doc, "retries", (int64_t)outcome->retries);
	if (outcome->is_refused) {
		doc_object(doc, "fails");
		doc_int(doc, "request", (int64_t)outcome->refused_request);
		doc_int(doc, "bytes", (int64_t)outcome->refused_bytes);
		doc_time(doc, "time_ns", outcome->refused_time);
		doc_end(doc);
	} else {
		doc_null(doc, "fails");
	}
	doc_end(doc);
}

static int json_process(struct frag_replay *report)
{
	const struct alloc_replay *replay = &report->replay;
	struct doc *doc = report->doc;
	size_t i;

	doc_object(doc, NULL);
	doc_int_or_null(doc, "pid", report->process->pid, report->process->pid);
	doc_int_or_null(doc, "rank", report->process->rank, report->process->rank >= 0);
	doc_int(doc, "reserved_peak_bytes", (int64_t)replay->recorded_peak);
	doc_time(doc, "time_ns", replay->recorded_time);
	doc_bool(doc, "expandable_segments", replay->is_expandable);
	doc_int(doc, "requests", (int64_t)replay->requests);
	doc_int(doc, "pools", replay->pools);
	doc_int(doc, "sleeping_pool_bytes", (int64_t)replay->beside_bytes);
	doc_object(doc, "model");
	doc_int(doc, "reserved_peak_bytes", (int64_t)replay->modelled.peak_reserved);
	doc_real(doc, "error", alloc_replay_error(replay));
	doc_int(doc, "moments", (int64_t)replay->moments);
	doc_real(doc, "worst_error", alloc_replay_worst(replay));
	doc_time(doc, "worst_time_ns", replay->worst.time);
	doc_end(doc);
	doc_array(doc, "settings");
	for (i = 0; i < report->ask->count; i++)
		json_outcome(report, i);
	doc_end(doc);
	doc_end(doc);
	return 0;
}

/* ---- both ---- */

static int of_process(void *context, const struct query_process *process)
{
	struct frag_replay *report = context;
	int error;

	report->process = process;
	error = run(report);
	if (error || !report->replay.recorded_peak)
		return error;
	return report->doc ? json_process(report) : print_process(report);
}

int frag_replay_text(const struct frag_replay_ask *ask, const struct text *text, struct db *db,
		     const struct query_device *device)
{
	struct frag_replay report = { .ask = ask, .text = text, .db = db, .device = device };

	return query_processes_on(db, device->id, of_process, &report);
}

int frag_replay_json(const struct frag_replay_ask *ask, struct doc *doc, struct db *db,
		     const struct query_device *device)
{
	struct frag_replay report = { .ask = ask, .doc = doc, .db = db, .device = device };
	int error;

	doc_array(doc, "replays");
	error = query_processes_on(db, device->id, of_process, &report);
	doc_end(doc);
	return error;
}
