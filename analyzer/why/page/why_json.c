/* Writes the list of causes as JSON (docs/schema/parts.schema.json). */
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/places.h"
#include "why.h"

#define CAUSES_LEAST 10 /* least number of causes in the list, even with a smaller -n */

static const char *const known_words[] = { "census", "rule", "probable" };

static const char *const reference_words[] = {
#define REFERENCE_WORD(name, word) word,
	REFERENCE_LIST(REFERENCE_WORD)
#undef REFERENCE_WORD
};

/* Writes the place, and the whole stack of the part with most bytes. */
static int json_place(struct doc *doc, const struct why *why, const struct candidate *candidate)
{
	const struct scene *scene = &why->scene;
	uint32_t node = why_place(why, candidate);
	const struct callstack_frame *frame;
	char place[CALLSTACK_PLACE_MAX];

	if (node == SCENE_NONE) {
		doc_null(doc, "place");
	} else {
		frame = &scene->frame[scene->node[node].frame].frame;
		doc_object(doc, "place");
		doc_string(doc, "function", frame->function);
		doc_string(doc, "place", callstack_place(place, sizeof(place), frame));
		doc_end(doc);
	}
	return stack_json(doc, scene->db, NULL, candidate->stack == SCENE_NONE ? 0 : scene->node[candidate->stack].id);
}

static void json_next_peak(struct doc *doc, const struct candidate *candidate)
{
	if (!candidate->next_peak) {
		doc_null(doc, "next_peak");
		return;
	}
	doc_object(doc, "next_peak");
	doc_int(doc, "bytes", (int64_t)candidate->next_peak);
	doc_string(doc, "phase", mt_phase_name((uint32_t)candidate->next_phase));
	doc_end(doc);
}

static int json_cause(struct doc *doc, const struct why *why, const struct candidate *candidate)
{
	const struct scene_process *process = &why->scene.process[candidate->process];
	struct sentence action = { .size = 0 };
	int error, i;

	why_say_action(&action, why, candidate);
	doc_object(doc, NULL);
	doc_string(doc, "id", mt_cause_word(candidate->cause));
	doc_int(doc, "process", process->id);
	doc_pid(doc, "pid", process->pid);
	doc_int_or_null(doc, "rank", process->rank, process->rank >= 0);
	error = json_place(doc, why, candidate);
	doc_string(doc, "category", mt_category_name(candidate->category));
	doc_string(doc, "phase", mt_phase_name(candidate->phase));
	doc_int(doc, "bytes", (int64_t)candidate->bytes);
	doc_int_or_null(doc, "expected_bytes", (int64_t)candidate->expected, candidate->reference != REFERENCE_NONE);
	doc_string(doc, "reference", reference_words[candidate->reference]);
	doc_string(doc, "need", mt_need_word(candidate->need));
	doc_string(doc, "known", known_words[candidate->known]);
	doc_bool(doc, "fits", candidate->fits);
	doc_range(doc, "freed", candidate->freed_low, candidate->freed_high);
	json_next_peak(doc, candidate);
	doc_string(doc, "action", action.text);
	doc_string(doc, "action_id", mt_action_word(candidate->fix->action));
	doc_object(doc, "facts");
	for (i = 0; i < FACTS; i++)
		if (candidate->fact[i])
			doc_int(doc, why_facts[i].word, candidate->fact[i]);
	doc_end(doc);
	doc_end(doc);
	return error;
}

int why_json(struct doc *doc, const struct why *why, int64_t limit)
{
	const struct find *find = &why->find;
	int64_t room = limit > CAUSES_LEAST ? limit : CAUSES_LEAST;
	int error = 0;
	size_t i;

	doc_array(doc, "causes");
	for (i = 0; i < find->candidates && room && !error; i++)
		if (why_is_told(why, &find->candidate[i]) && room--)
			error = json_cause(doc, why, &find->candidate[i]);
	doc_end(doc);
	return error;
}

int why_json_verdict(struct doc *doc, const struct why *why)
{
	const struct candidate *row[WHY_ROWS];
	struct sentence verdict = { .size = 0 };
	int error = why_say_opening(&verdict, why);

	if (!error && why_rows(why, row)) {
		sentence_say(&verdict, " ");
		why_say_cause(&verdict, why, row[0]);
		why_say_effect(&verdict, why, row[0]);
	}
	doc_string(doc, "verdict", verdict.text);
	return error;
}
