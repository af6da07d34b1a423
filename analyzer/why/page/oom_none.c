/* The sentence about a recording without a failed request. */
#include "oom_none.h"

#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"
#include "report/peak_verdict.h"
#include "report/top_host.h"

#define NEAR 20 /* divisor: at most 1/20 left is a near miss */

/* A device without a known limit comes last. */
static const char nearest_sql[] =
	"SELECT device.id, number, kind, peak.phase, peak.step, peak.bytes, ifnull(device.total_bytes, 0), "
	"(SELECT ifnull(max(used_bytes), 0) FROM gpu_sample WHERE gpu_sample.device = device.id) AS used, "
	"(SELECT ifnull(max(steps), 0) FROM process) FROM peak JOIN device ON device.id = peak.device "
	"ORDER BY kind = 'cpu', ifnull(max(peak.bytes, used) * 1.0 / nullif(device.total_bytes, 0), 0) DESC, number LIMIT 1";

static int take_nearest(void *context, struct db_stmt *stmt)
{
	struct oom_none *none = context;

	none->device = db_int(stmt, 0);
	none->number = db_int(stmt, 1);
	mt_copy_text(none->kind, sizeof(none->kind), db_text(stmt, 2));
	mt_copy_text(none->phase, sizeof(none->phase), db_text(stmt, 3));
	none->step = db_int(stmt, 4);
	none->peak = (uint64_t)db_int(stmt, 5);
	none->total = (uint64_t)db_int(stmt, 6);
	none->used = (uint64_t)db_int(stmt, 7);
	none->steps = db_int(stmt, 8);
	return 0;
}

int oom_none_load(struct oom_none *none, struct db *db)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { 0 };
	int error;

	memset(none, 0, sizeof(*none));
	error = answer_rows(db, nearest_sql, NULL, take_nearest, none);

	return error ? error
		     : answer_flag(db, "SELECT EXISTS (SELECT 1 FROM process WHERE damage IS NOT NULL)", parameter,
				   &none->damaged);
}

/* Largest bytes in use: NVML's count for all processes, or the recorded peak. */
static uint64_t fullest(const struct oom_none *none)
{
	return none->used > none->peak ? none->used : none->peak;
}

static int is_near(const struct oom_none *none)
{
	return none->total && fullest(none) >= none->total - none->total / NEAR;
}

int oom_none_has_peak(const struct oom_none *none)
{
	return text_known.history && none->device && strcmp(none->kind, "cpu") != 0;
}

static void say_none(struct sentence *sentence, const struct oom_none *none)
{
	char name[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];
	uint64_t most = fullest(none);

	if (!text_known.history) {
		sentence_say(sentence, "%s", answer_no_history);
		return;
	}
	sentence_say(sentence,
		     none->damaged ? "No request for GPU memory failed in the part of this recording that can be read"
				   : "No request for GPU memory failed in this recording");
	if (!none->device || !strcmp(none->kind, "cpu")) {
		sentence_say(sentence, none->device
					       ? ": it has tensors of the CPU only. memana top tells what filled it; "
						 "memana check --max-host SIZE holds a limit on the host's memory."
					       : ".");
		return;
	}
	sentence_say(sentence, is_near(none) ? ". The nearest miss: "
			       : none->total ? ", and none came near: "
					     : "; how large the GPU is, and so how near one came, is not in it. ");
	sentence_say(sentence, "%s had its peak at %s", answer_device(name, none->number, none->kind),
		     text_bytes(size, none->peak));
	if (none->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, none->total),
			     text_percent(share, none->peak, none->total));
	sentence_say(sentence, ", ");
	peak_say_phase(sentence, none->phase, none->step, none->steps != 0);
	if (none->used > none->peak)
		sentence_say(sentence, "; with what was not recorded %s were in use", text_bytes(size, none->used));
	if (is_near(none))
		sentence_say(sentence, ", %s were left", text_bytes(size, none->total > most ? none->total - most : 0));
	sentence_say(sentence, ".");
}

int oom_none_say(struct sentence *sentence, const struct oom_none *none, struct db *db)
{
	int error = top_host_say_briefly(sentence, db);

	if (error)
		return error;
	if (sentence->size)
		sentence_say(sentence, " No request for GPU memory failed.");
	else
		say_none(sentence, none);
	return 0;
}
