#include "why_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"
#include "why/detect/detectors.h"

/* ---- words ---- */

/* The subject of a form. */
struct subject {
	const struct why *why;
	const struct candidate *it;
};

static int say(struct sentence *sentence, const char *words)
{
	sentence_say(sentence, "%s", words);
	return 1;
}

static int say_size(struct sentence *sentence, uint64_t bytes)
{
	char size[TEXT_SIZE_MAX];

	say(sentence, text_bytes(size, bytes));
	return bytes > 0;
}

static int say_process(struct sentence *sentence, const struct subject *subject)
{
	const struct scene_process *process = &subject->why->scene.process[subject->it->process];
	char who[TEXT_SIZE_MAX];

	say(sentence, answer_process(who, process->rank, process->pid));
	if (process->rank >= 0 && process->pid)
		sentence_say(sentence, " (pid %lld)", (long long)process->pid);
	return 1;
}

/* The node of the line that the table `place` names for the stack: outside of helpers that everybody calls. SCENE_NONE: none. */
static uint32_t named_node(const struct scene *scene, uint32_t node)
{
	struct db_stmt *row = NULL;
	const struct callstack_frame *frame;
	int found = db_prepare(scene->db, &row, "SELECT file, line FROM place WHERE node = ?1");

	if (!found) {
		db_bind(row, 1, scene->node[node].id);
		found = db_step(row);
	}
	for (; node != SCENE_NONE; node = scene->node[node].parent) {
		frame = &scene->frame[scene->node[node].frame].frame;
		if (found > 0 && *frame->file && frame->line == db_int(row, 1) && !strcmp(frame->file, db_text(row, 0)))
			break;
	}
	db_finish(row);
	return node;
}

uint32_t why_place(const struct why *why, const struct candidate *candidate)
{
	const struct scene *scene = &why->scene;
	uint32_t telling = scene_telling(scene, candidate->node), named;

	if (telling == SCENE_NONE || candidate->stack == SCENE_NONE)
		return telling == SCENE_NONE ? candidate->node : telling;
	named = named_node(scene, candidate->stack);
	return scene_is_in(scene, telling, named) ? named : telling;
}

void why_say_node(struct sentence *sentence, const struct scene *scene, uint32_t node)
{
	const struct callstack_frame *frame = &scene->frame[scene->node[node].frame].frame;
	char function[CALLSTACK_PLACE_MAX], place[CALLSTACK_PLACE_MAX];

	answer_say_place(sentence, callstack_function(function, sizeof(function), frame),
			 callstack_place(place, sizeof(place), frame));
}

static int say_place(struct sentence *sentence, const struct subject *subject)
{
	uint32_t node = why_place(subject->why, subject->it);

	if (node != SCENE_NONE)
		why_say_node(sentence, &subject->why->scene, node);
	return node != SCENE_NONE;
}

static int say_bytes(struct sentence *sentence, const struct subject *subject)
{
	return say_size(sentence, subject->it->bytes);
}

static int say_expected(struct sentence *sentence, const struct subject *subject)
{
	return say_size(sentence, subject->it->reference == REFERENCE_BEFORE ? subject->it->expected : 0);
}

static int say_excess(struct sentence *sentence, const struct subject *subject)
{
	return say_size(sentence, subject->it->bytes - subject->it->expected);
}

static int say_category(struct sentence *sentence, const struct subject *subject)
{
	return say(sentence, mt_category_name((uint32_t)subject->it->category));
}

/* Says the kind behind the bytes, as in "4.6 GiB of weights" or "4.6 GiB, probably weights". */
static int say_of(struct sentence *sentence, const struct subject *subject)
{
	if (subject->it->category == MT_CATEGORY_OTHER)
		return say(sentence, " of unknown kind");
	say(sentence, subject->it->known == SCENE_PROBABLE ? ", probably " : " of ");
	return say_category(sentence, subject);
}

static int say_phase(struct sentence *sentence, const struct subject *subject)
{
	say(sentence, answer_phase(mt_phase_name((uint32_t)subject->it->phase)));
	return subject->it->phase != MT_PHASE_OTHER;
}

static int say_unneeded(struct sentence *sentence, const struct subject *subject)
{
	enum mt_phase asking = subject->why->scene.request.phase;

	if (subject->it->need == MT_NEED_NEVER)
		return say(sentence, "no longer needed");
	if (asking == MT_PHASE_OTHER)
		return say(sentence, "not needed now");
	say(sentence, "not needed in ");
	return say(sentence, mt_phase_name((uint32_t)asking));
}

static int say_before(struct sentence *sentence, const struct subject *subject)
{
	return say(sentence, subject->why->scene.request.has_before == SCENE_SAME_PLACE
				     ? "when this place last got memory"
				     : "in the step before");
}

static int say_holds(struct sentence *sentence, const struct subject *subject)
{
	return say(sentence, rank_is_request(subject->it) ? "requests" : "holds");
}

/* "rank 0 (pid 4100) uses", "9 processes such as rank 0 (pid 4100) use" */
static int say_hosted(struct sentence *sentence, const struct subject *subject)
{
	int64_t processes = subject->it->fact[FACT_PROCESSES];

	if (!processes && !rank_is_request(subject->it))
		return say(sentence, "processes that were not recorded use");
	if (processes > 1)
		sentence_say(sentence, "%lld processes such as ", (long long)processes);
	say_process(sentence, subject);
	return say(sentence, rank_is_request(subject->it) ? " requests" : processes > 1 ? " use" : " uses");
}

/* A function says one word. 0: the word is unknown for this candidate. */
static const struct {
	const char *word;
	int (*say)(struct sentence *sentence, const struct subject *subject);
} words[] = {
	{ "process", say_process },   { "place", say_place },   { "bytes", say_bytes },
	{ "expected", say_expected }, { "excess", say_excess }, { "of", say_of },
	{ "category", say_category }, { "phase", say_phase },   { "unneeded", say_unneeded },
	{ "before", say_before },     { "holds", say_holds },   { "hosted", say_hosted },
};

static const struct {
	const char *word;
	int is_bytes;
} facts[FACTS] = {
#define FACT_ROW(name, word, is_bytes) [FACT_##name] = { word, is_bytes },
	FACT_LIST(FACT_ROW)
#undef FACT_ROW
};

/* A single piece, process or rank is no news. */
static int say_fact(struct sentence *sentence, const struct candidate *candidate, enum fact fact)
{
	int64_t number = candidate->fact[fact], each = candidate->fact[FACT_EACH];
	char text[TEXT_SIZE_MAX];

	say(sentence, facts[fact].is_bytes ? text_bytes(text, (uint64_t)number) : text_number(text, (uint64_t)number));
	if (fact == FACT_RATE && llabs(number - each) <= each / 16)
		return 0; /* {each} has already given the number */
	return number > (fact == FACT_PIECES || fact == FACT_PROCESSES || fact == FACT_RANKS);
}

/* ---- forms ---- */

static int is_word(const char *word, const char *name, size_t size)
{
	return !strncmp(word, name, size) && !word[size];
}

static int say_word(struct sentence *sentence, const struct subject *subject, const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (is_word(words[i].word, name, size))
			return words[i].say(sentence, subject);
	for (i = 0; i < FACTS; i++)
		if (is_word(facts[i].word, name, size))
			return say_fact(sentence, subject->it, (enum fact)i);
	return 0;
}

/* {name} is a word or a fact. A part in [brackets] is left out if one of its words is unknown. */
static void fill(struct sentence *sentence, const struct why *why, const struct candidate *candidate, const char *form)
{
	const struct subject subject = { why, candidate };
	struct sentence before = *sentence;
	int known = 1;
	size_t size;

	for (; *form; form++) {
		if (*form == '{') {
			size = strcspn(++form, "}");
			known &= say_word(sentence, &subject, form, size);
			form += size;
		} else if (*form == '[') {
			before = *sentence;
			known = 1;
		} else if (*form == ']' && !known) {
			*sentence = before;
		} else if (*form != ']') {
			sentence_say(sentence, "%c", *form);
		}
	}
}

/* ---- sentences ---- */

void why_say_cause(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	static const char *const forms[MT_CAUSES] = {
#define SAYS_ROW(name, function, kind, says) [MT_CAUSE_##name] = says,
		DETECTOR_LIST(SAYS_ROW)
#undef SAYS_ROW
	};
	static const char place[] = "{place}";
	const char *form = forms[candidate->cause];
	char *first = sentence->text + sentence->size;
	int of_place = !strncmp(form, place, sizeof(place) - 1), has_stack = candidate->node != SCENE_NONE;

	/* Bytes of a stack that was not recorded belong to their process. */
	if (of_place && !has_stack) {
		say_process(sentence, &(struct subject){ why, candidate });
		form += sizeof(place) - 1;
	}
	fill(sentence, why, candidate, form);
	if (!of_place || !has_stack)
		*first = (char)toupper((unsigned char)*first);
}

/* Whether the freed bytes can be compared with the missing bytes. */
static int has_effect(const struct why *why, const struct candidate *candidate)
{
	return why->scene.request.failure && candidate->freed_high && !rank_is_request(candidate) &&
	       candidate->cause != MT_CAUSE_HOST;
}

void why_say_effect(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	char size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX];

	if (!has_effect(why, candidate))
		return;
	text_bytes(all, candidate->bytes);
	text_bytes(size, candidate->freed_high);
	sentence_say(sentence, strcmp(size, all) ? " Without %s of these" : " Without these %s", size);
	if (candidate->fits)
		sentence_say(sentence, " the request fits.");
	else
		sentence_say(sentence, ", %s are still missing.",
			     text_bytes(size, why->scene.request.missing - candidate->freed_high));
}

void why_say_action(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	fill(sentence, why, candidate, candidate->fix->text);
}

void why_say_freed(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	if (candidate->freed_high && candidate->parts)
		fill(sentence, why, candidate, " This frees up to {excess}{of}[, made by {place}].");
}
