/* trace_check.c - reads a trace as every command does; see fuzz.h. */

#include "engine/analysis.h"
#include "fuzz.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "memtrace/summary.h"
#include "summary/history.h"

const struct mt_rules *fuzz_rules(void)
{
	static struct mt_rules *rules;
	char message[512];

	if (!rules)
		FUZZ_CHECK(!mt_rules_new(&rules, message, sizeof(message)));
	return rules;
}

/* Ids that a reader hands out are those of definitions that it has. */
static void check_ids(const struct mt_defs *defs, const struct mt_event *event)
{
	FUZZ_CHECK(event->thread <= mt_defs_count(defs, MT_DEF_THREAD));
	FUZZ_CHECK(event->stack <= mt_defs_count(defs, MT_DEF_NODE));
	FUZZ_CHECK(event->device <= mt_defs_count(defs, MT_DEF_DEVICE));
	FUZZ_CHECK(event->name <= mt_defs_count(defs, MT_DEF_STRING));
}

void trace_check_record(const struct mt_defs *defs, const struct mt_summary *record)
{
	uint32_t i;

	FUZZ_CHECK(record->devices <= HISTORY_DEVICES_MAX && record->rows <= HISTORY_ROWS_MAX);
	FUZZ_CHECK(record->why < MT_SUMMARY_WHY_COUNT && record->anew <= 1);
	for (i = 0; i < record->devices; i++)
		FUZZ_CHECK(record->device[i].peak_phase < MT_PHASE_COUNT);
	for (i = 0; i < record->rows; i++)
		FUZZ_CHECK(record->row[i].stack <= mt_defs_count(defs, MT_DEF_NODE) &&
			   record->row[i].phase < MT_PHASE_COUNT && record->row[i].driver <= 1);
}

static void check_symbols(const struct mt_defs *defs)
{
	const struct mt_frame *frame;
	uint32_t id;

	for (id = 1; (frame = mt_defs_frame(defs, id)); id++)
		FUZZ_CHECK(frame->symbol <= mt_defs_count(defs, MT_DEF_STRING));
}

/* How many events there are, checkpoints and what stands for gaps included. */
static size_t read_all(struct mt_reader *reader)
{
	const struct mt_event *events;
	size_t count, i, total = 0;
	int batch;

	while (!mt_reader_next(reader, &events, &count, &batch) && count) {
		total += count;
		for (i = 0; i < count; i++)
			check_ids(mt_reader_defs(reader), &events[i]);
	}
	return total;
}

static int take_record(void *context, const struct mt_summary *record)
{
	trace_check_record(context, record);
	return 0;
}

int trace_read(const char *path)
{
	const struct mt_trace_state *state;
	struct mt_trace_state first;
	struct mt_reader *reader;
	int error = mt_reader_open(&reader, path);
	size_t total;

	if (error)
		return error;
	state = mt_reader_state(reader);
	total = read_all(reader);
	check_symbols(mt_reader_defs(reader));
	FUZZ_CHECK(!mt_reader_summaries(reader, take_record, (void *)mt_reader_defs(reader)));
	first = *state;
	mt_reader_rewind(reader);
	FUZZ_CHECK(read_all(reader) == total); /* though more is known of the file by now */
	FUZZ_CHECK(state->events == first.events && state->missed == first.missed && state->error == first.error);
	mt_reader_free(reader);
	return first.error;
}

/* ---- the analysis ---- */

/* Somebody who wants to hear everything, as the loader does, but takes no time. */
struct listener {
	uint64_t heard;
};

static int hear(void *context)
{
	((struct listener *)context)->heard++;
	return 0;
}

static void hear_moved(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	(void)site, (void)slack, (void)bytes, (void)time;
	hear(context);
}

static void hear_counted(void *context, uint32_t site, int change, int64_t time)
{
	(void)site, (void)change, (void)time;
	hear(context);
}

static int hear_gone(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		     uint32_t step)
{
	(void)process, (void)event, (void)step;
	FUZZ_CHECK(live != NULL);
	return hear(context);
}

static int hear_back(void *context, uint32_t process, const struct mt_live *live)
{
	(void)process;
	FUZZ_CHECK(live != NULL);
	return hear(context);
}

static int hear_resident(void *context, uint32_t process, const struct mt_live *tensor, uint64_t bytes,
			 const struct mt_event *event, uint32_t step)
{
	(void)process, (void)event, (void)step;
	FUZZ_CHECK(bytes <= tensor->size);
	return hear(context);
}

static int hear_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		     const struct mt_event *last)
{
	(void)process, (void)step, (void)first, (void)last;
	FUZZ_CHECK(phase < MT_PHASE_COUNT);
	return hear(context);
}

static int hear_step(void *context, uint32_t process, const struct mt_event *event)
{
	(void)process, (void)event;
	return hear(context);
}

static void run_analysis(struct mt_reader *reader, const char *path)
{
	struct listener listener = { 0 };
	const struct analysis_sink sink = {
		.context = &listener,
		.moved = hear_moved,
		.counted = hear_counted,
		.gone = hear_gone,
		.back = hear_back,
		.resident = hear_resident,
		.span = hear_span,
		.step = hear_step,
	};
	struct analysis_input input = { path, reader };
	struct analysis analysis = { 0 };

	if (!analysis_run(&analysis, &input, 1, fuzz_rules(), &sink))
		FUZZ_CHECK(analysis.processes == 1 && analysis.process[0].balanced);
	analysis_release(&analysis);
}

void trace_analyse(const char *path)
{
	struct mt_reader *reader;

	if (mt_reader_open(&reader, path))
		return;
	run_analysis(reader, path);
	mt_reader_free(reader);
}
