#include "retained.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "report/answer.h"
#include "report/finding.h"

/* Returns the sum of all places of one process that grow by micro-batches. */
static struct growth_place sum_of(const struct growth_list *list, const struct growth_place *most, uint64_t *places)
{
	struct growth_place sum = *most;
	size_t i;

	sum.bytes = sum.each = 0;
	for (i = 0, *places = 0; i < list->count; i++) {
		if (list->place[i].process != most->process || list->place[i].device != most->device)
			continue;
		sum.bytes += list->place[i].bytes;
		sum.each += list->place[i].each;
		++*places;
	}
	return sum;
}

/* Says the process that keeps most, and which processes do the same. */
static void say_batches(struct sentence *sentence, const struct retained *retained)
{
	const struct growth_table *table = &retained->batch_table;
	const struct growth_place *most = table->row[0].most;
	uint64_t places;
	struct growth_place sum = sum_of(&retained->batches, most, &places);
	char each[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], others[64];

	growth_say_name(sentence, most->name);
	if (places > 1)
		sentence_say(sentence, " and %s", text_count(others, sizeof(others), places - 1, "other place"));
	sentence_say(sentence, " keep%s %s more with every micro-batch (%u of the %u before the last one of step %lld",
		     places > 1 ? "" : "s", text_bytes(each, sum.each), most->parts, most->of - 1,
		     (long long)most->step);
	if (most->steps_of > 1)
		sentence_say(sentence, "; so in %u of %u steps", most->steps, most->steps_of);
	sentence_say(sentence, "), %s when the last one begins", text_bytes(all, sum.bytes));
	if (table->row[0].count > 1) {
		sentence_say(sentence, ", in each of ");
		growth_say_processes(sentence, &table->row[0]);
	}
}

/* Says "12.1 GiB since step 1 (weights 4.0 GiB, optimizer state 8.1 GiB)". */
static void say_stays(struct sentence *sentence, const struct retained *retained)
{
	char size[TEXT_SIZE_MAX];
	uint32_t i;
	int parts = 0;

	sentence_say(sentence, "%s since step 1", text_bytes(size, retained->stays_bytes));
	/* "other" comes last; small parts are left out */
	for (i = 1; i <= MT_CATEGORY_COUNT; i++)
		if (retained->stays[i % MT_CATEGORY_COUNT] > retained->stays_bytes / 100)
			sentence_say(sentence, "%s%s %s", parts++ ? ", " : " (",
				     mt_category_name(i % MT_CATEGORY_COUNT),
				     text_bytes(size, retained->stays[i % MT_CATEGORY_COUNT]));
	sentence_say(sentence, parts ? ")" : "");
}

/* Says the bytes that sleeping pools will need when they wake up. */
static void say_asleep(struct sentence *sentence, const struct retained *retained)
{
	char size[TEXT_SIZE_MAX];

	if (retained->asleep_bytes)
		sentence_say(sentence, " %s more is in sleeping pools, without memory then.",
			     text_bytes(size, retained->asleep_bytes));
}

/* Says "1 step ended, and 6.0 GiB that no later one needs outlived it, ...". */
static void say_outlived(struct sentence *sentence, const struct retained *retained)
{
	const struct retained_crossings *list = &retained->outlived;
	const struct retained_crossing *most = list->crossing;
	char size[TEXT_SIZE_MAX], part[TEXT_SIZE_MAX], place[256], steps[64];
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < list->count; i++)
		bytes += list->crossing[i].bytes;
	sentence_say(sentence, "%s ended, and %s that no later step should need outlived %s, %s of it %s from %s by %s",
		     text_count(steps, sizeof(steps), retained->step_count, "step"), text_bytes(size, bytes),
		     retained->step_count == 1 ? "it" : "them",
		     most->bytes == bytes ? "all" : text_bytes(part, most->bytes), answer_category(most->category),
		     most->from, finding_place(place, sizeof(place), retained->db, most->node));
}

static void say_few_steps(struct sentence *sentence, const struct retained *retained)
{
	char size[TEXT_SIZE_MAX], steps[64];

	if (retained->step_count && retained->outlived.count)
		say_outlived(sentence, retained);
	else
		sentence_say(sentence, "%s ended", text_count(steps, sizeof(steps), retained->step_count, "step"));
	sentence_say(sentence, GROWTH_RECORD_MORE);
	if (!retained->step_count)
		return;
	sentence_say(sentence, " Alive at the end of the last step: ");
	say_stays(sentence, retained);
	if (retained->later_bytes)
		sentence_say(sentence, ", and %s made later", text_bytes(size, retained->later_bytes));
	sentence_say(sentence, ".");
}

static void say_nothing_grows(struct sentence *sentence, const struct retained *retained)
{
	char size[TEXT_SIZE_MAX], steps[64];

	sentence_say(sentence, "Nothing grows over %s. In use in all of them: ",
		     text_count(steps, sizeof(steps), retained->step_count, "step"));
	say_stays(sentence, retained);
	if (retained->later_bytes)
		sentence_say(sentence, ", and %s replaced or allocated once", text_bytes(size, retained->later_bytes));
	sentence_say(sentence, ".");
}

void retained_say_device(struct sentence *sentence, const struct retained *retained,
			 const struct retained_crossing *crossing)
{
	char device[TEXT_SIZE_MAX];

	if (retained->devices > 1)
		sentence_say(sentence, " on %s", answer_device(device, crossing->number, crossing->device_kind));
}

/* Says the pair of phases with most bytes, and the place with most of these. */
static void say_asked(struct sentence *sentence, const struct retained *retained,
		      const struct retained_question *question)
{
	const struct retained_crossing *pair = retained->phases.crossing, *at = retained->places.crossing;
	char size[TEXT_SIZE_MAX], place[256], when[64] = "";

	if (question->step)
		snprintf(when, sizeof(when), "begins in step %lld", (long long)question->step);
	if (!retained->phases.count) {
		sentence_say(sentence, "Nothing that was allocated in %s is alive %s %s%s%s.",
			     question->from ? question->from : "another phase", *when ? "where" : "at the peak of",
			     question->to ? question->to : "another phase", *when ? " " : "", when);
		return;
	}
	sentence_say(sentence, "%s allocated in %s is alive %s %s%s%s", text_bytes(size, pair->bytes), pair->from,
		     *when ? "where" : "at the peak of", pair->to, *when ? " " : "", when);
	retained_say_device(sentence, retained, pair);
	while (at->from != pair->from || at->to != pair->to || at->device != pair->device)
		at++; /* each pair has at least one place */
	sentence_say(sentence, ": %s of it %s, by %s.", at->bytes == pair->bytes ? "all" : text_bytes(size, at->bytes),
		     at->category, finding_place(place, sizeof(place), retained->db, at->node));
}

struct sentence retained_verdict(const struct retained *retained, const struct retained_question *question)
{
	struct sentence sentence = retained->lost;
	int batches = retained->batches.count != 0, steps = retained->steps.count != 0;

	if (!text_known.history) {
		sentence_say(&sentence, "%s", answer_no_history);
		return sentence;
	}
	if (question->from || question->to) {
		say_asked(&sentence, retained, question);
		return sentence;
	}
	if (steps)
		growth_say(&sentence, &retained->growth, 0);
	else if (batches)
		say_batches(&sentence, retained);
	if (batches || steps)
		growth_say_remedy(&sentence, &retained->steps, &retained->batches);
	else if (retained->growth.state == GROWTH_UNKNOWN)
		say_few_steps(&sentence, retained);
	else
		say_nothing_grows(&sentence, retained);
	say_asleep(&sentence, retained);
	return sentence;
}
