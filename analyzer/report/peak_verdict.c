#include "peak_verdict.h"

#include <string.h>
#include "answer.h"
#include "base/text.h"
#include "memtrace/phase.h"

/* The facts that the sentences about the culprit need. */
struct telling {
	struct sentence *sentence;
	const struct peak_verdict *verdict;
};

void peak_say_phase(struct sentence *sentence, const char *phase, int64_t step, int has_steps)
{
	if (!strcmp(phase, mt_phase_name(MT_PHASE_OTHER)))
		sentence_say(sentence, "outside any known phase");
	else if (!strcmp(phase, mt_phase_name(MT_PHASE_BEFORE)))
		sentence_say(sentence, "before the recording");
	else
		sentence_say(sentence, "in %s", phase);
	if (has_steps)
		sentence_say(sentence, " of step %lld", (long long)step);
}

/* Says " held (37.1 GiB in tensors, 3.3 GiB slack)". These are PyTorch's max_memory_reserved, max_memory_allocated, and their difference. */
static void say_held(struct sentence *sentence, const struct query_device *device, uint64_t tensors)
{
	char size[TEXT_SIZE_MAX], slack[TEXT_SIZE_MAX];
	uint64_t known = tensors + device->peak.slack;

	sentence_say(sentence, " held");
	if (!known)
		return;
	sentence_say(sentence, " (%s in tensors, %s slack", text_bytes(size, tensors),
		     text_bytes(slack, device->peak.slack));
	if (device->peak.bytes > known)
		sentence_say(sentence, ", %s other driver memory", text_bytes(size, device->peak.bytes - known));
	sentence_say(sentence, ")");
}

/* Says "Peak 40.4 GiB held (...) of 80.0 GiB (51%) at 1.2 s, in forward of step 2." On the CPU, only tensors are known. */
static void say_moment(struct sentence *sentence, const struct peak_verdict *verdict, uint64_t tensors)
{
	const struct query_device *device = verdict->device;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s%s", verdict->begins, text_bytes(size, device->peak.bytes));
	if (verdict->has_parts && strcmp(device->kind, "cpu"))
		say_held(sentence, device, tensors);
	if (device->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, device->total),
			     text_percent(share, device->peak.bytes, device->total));
	if (!text_known.history) {
		sentence_say(sentence, " when the snapshot was taken.");
		return;
	}
	sentence_say(sentence, "%s, ", text_at(time, device->peak.time));
	peak_say_phase(sentence, device->peak.phase, device->peak.step, verdict->has_steps);
	if (verdict->has_processes && device->peak.pid)
		sentence_say(sentence, " (%s)", answer_process(total, device->peak.rank, device->peak.pid));
	sentence_say(sentence, ".");
}

/* Says ", most of it by ffn_forward (rl_step.c:95)". */
static int say_largest_place(const struct telling *telling, const struct query_culprit *row)
{
	struct peak_place place = { 0 };
	int error = telling->verdict->place_of(telling->verdict->context, row, &place);

	if (error || (!*place.function && !*place.place))
		return error;
	sentence_say(telling->sentence, "%s",
		     place.bytes == row->bytes      ? ", by "
		     : place.bytes > row->bytes / 2 ? ", most of it by "
						    : ", the largest part by ");
	answer_say_place(telling->sentence, place.function, place.place);
	return 0;
}

static int say_culprit(void *context, const struct query_culprit *row)
{
	const struct telling *telling = context;
	uint64_t peak = telling->verdict->device->peak.bytes;
	int is_slack = !strcmp(row->category, mt_category_name(MT_CATEGORY_SLACK)), error;
	int is_other = !strcmp(row->category, mt_category_name(MT_CATEGORY_OTHER));
	int is_guess = !is_slack && !is_other && row->probable > row->bytes / 2;
	char share[TEXT_SIZE_MAX];

	sentence_say(telling->sentence, " %s of it is %s%s",
		     row->bytes == peak ? "All" : text_percent(share, row->bytes, peak), is_guess ? "probably " : "",
		     is_other ? "of unknown kind" : row->category);
	if (text_known.history) {
		sentence_say(telling->sentence, ", %s%s ",
			     row->part == row->bytes      ? ""
			     : row->part > row->bytes / 2 ? "most of it "
							  : "the largest part ",
			     is_slack ? "taken from the driver" : "allocated");
		peak_say_phase(telling->sentence, row->phase, 0, 0);
	}
	error = say_largest_place(telling, row);
	sentence_say(telling->sentence, ".");
	return error;
}

int peak_verdict_say(struct sentence *sentence, struct db *db, const struct peak_verdict *verdict)
{
	struct telling telling = { .sentence = sentence, .verdict = verdict };
	uint64_t tensors;
	int error = query_tensors(db, verdict->device->id, &tensors);

	if (error)
		return error;
	say_moment(sentence, verdict, tensors);
	return query_culprit(db, verdict->device->id, say_culprit, &telling);
}
