#include "oom_none.h"

#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"
#include "report/peak_verdict.h"
#include "report/top_host.h"

#define NEAR 20 /* divisor: at most 1/20 left is a near miss */

/* The device that came nearest to its limit. */
struct nearest {
	int64_t device, number, step, steps; /* device 0: no device was recorded; steps: of the run */
	char kind[8], phase[24];
	uint64_t peak, total; /* peak: held by recorded processes; total 0: unknown */
	uint64_t used;        /* largest count of nvidia-smi, for all processes; 0: no sample */
};

/* A device without a known limit comes last. */
static const char nearest_sql[] =
	"SELECT device.id, number, kind, peak.phase, peak.step, peak.bytes, ifnull(device.total_bytes, 0), "
	"(SELECT ifnull(max(used_bytes), 0) FROM gpu_sample WHERE gpu_sample.device = device.id) AS used, "
	"(SELECT ifnull(max(steps), 0) FROM process) FROM peak JOIN device ON device.id = peak.device "
	"ORDER BY kind = 'cpu', ifnull(max(peak.bytes, used) * 1.0 / nullif(device.total_bytes, 0), 0) DESC, number LIMIT 1";

static int take_nearest(void *context, struct db_stmt *row)
{
	struct nearest *it = context;

	*it = (struct nearest){ .device = db_int(row, 0),
				.number = db_int(row, 1),
				.step = db_int(row, 4),
				.peak = (uint64_t)db_int(row, 5),
				.total = (uint64_t)db_int(row, 6),
				.used = (uint64_t)db_int(row, 7),
				.steps = db_int(row, 8) };
	mt_copy_text(it->kind, sizeof(it->kind), db_text(row, 2));
	mt_copy_text(it->phase, sizeof(it->phase), db_text(row, 3));
	return 0;
}

static void say_peak(struct sentence *sentence, const struct nearest *it)
{
	char name[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];
	uint64_t fullest = it->used > it->peak ? it->used : it->peak;
	int is_near = fullest >= it->total - it->total / NEAR;

	sentence_say(sentence, "%s%s had its peak at %s",
		     !it->total ? ". The size of the GPU is not in it: "
		     : is_near  ? ". The nearest miss: "
				: ", and none came near: ",
		     answer_device(name, it->number, it->kind), text_bytes(size, it->peak));
	if (it->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, it->total),
			     text_percent(share, it->peak, it->total));
	sentence_say(sentence, ", ");
	peak_say_phase(sentence, it->phase, it->step, it->steps != 0);
	if (it->used > it->peak)
		sentence_say(sentence, "; nvidia-smi counted %s in use", text_bytes(size, it->used));
	sentence_say(sentence, ".");
}

/* A trace with a damaged part can have lost a failed request. */
static int say_none(struct sentence *sentence, struct db *db)
{
	const int64_t none[ANSWER_PARAMETERS] = { 0 };
	struct nearest nearest = { 0 };
	int damaged = 0, error = answer_rows(db, nearest_sql, NULL, take_nearest, &nearest);

	if (!error)
		error = answer_flag(db, "SELECT EXISTS (SELECT 1 FROM process WHERE damage IS NOT NULL)", none,
				    &damaged);
	if (error)
		return error;
	sentence_say(sentence, "No request for GPU memory failed in %s",
		     damaged ? "the part of this recording that can be read" : "this recording");
	if (!nearest.device)
		sentence_say(sentence, ".");
	else if (!strcmp(nearest.kind, "cpu"))
		sentence_say(sentence, ": it has tensors of the CPU only (memana top).");
	else
		say_peak(sentence, &nearest);
	return 0;
}

int oom_none_say(struct sentence *sentence, struct db *db)
{
	int error = top_host_say_briefly(sentence, db);

	if (error)
		return error;
	if (sentence->size)
		sentence_say(sentence, " No request for GPU memory failed.");
	else if (!text_known.history)
		sentence_say(sentence, "%s", answer_no_history);
	else
		return say_none(sentence, db);
	return 0;
}

int oom_none_json(struct doc *doc, struct db *db)
{
	struct nearest it = { 0 };
	int error = answer_rows(db, nearest_sql, NULL, take_nearest, &it), known = text_known.history;

	if (error || !it.device)
		return error;
	doc_object(doc, "nearest");
	doc_int(doc, "device", it.number);
	doc_text(doc, "phase", known ? it.phase : NULL);
	doc_int_or_null(doc, "step", it.step, known);
	doc_int(doc, "peak_bytes", (int64_t)it.peak);
	doc_int_or_null(doc, "total_bytes", (int64_t)it.total, it.total != 0);
	doc_int_or_null(doc, "used_bytes", (int64_t)it.used, it.used != 0);
	doc_end(doc);
	return 0;
}
