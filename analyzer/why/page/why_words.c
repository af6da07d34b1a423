#include "why.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"
#include "why/detect/detectors.h"

/* ---- words ---- */

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

static int say_process(struct sentence *sentence, const struct why *why, const struct candidate *it)
{
	const struct scene_process *process = &why->scene.process[it->process];
	char who[TEXT_SIZE_MAX];

	say(sentence, answer_process(who, process->rank, process->pid));
	if (process->rank >= 0 && process->pid)
		sentence_say(sentence, " (pid %lld)", (long long)process->pid);
	return 1;
}

/* Returns the node of the line that the table `place` has for the stack: a line outside of common helpers. SCENE_NONE: no line. */
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

/* Returns the innermost node of the user's own code, from `node` outwards; SCENE_NONE: the stack has no such code. */
static uint32_t user_node(const struct scene *scene, uint32_t node)
{
	while (node != SCENE_NONE && !callstack_is_user(&scene->frame[scene->node[node].frame].frame))
		node = scene->node[node].parent;
	return node;
}

uint32_t why_place(const struct why *why, const struct candidate *candidate)
{
	const struct scene *scene = &why->scene;
	uint32_t place = scene_telling(scene, candidate->node), named;

	if (place == SCENE_NONE)
		place = user_node(scene, candidate->node); /* a main loop, if no function tells more */
	if (place == SCENE_NONE)
		place = candidate->node;
	if (place == SCENE_NONE || candidate->stack == SCENE_NONE)
		return place;
	named = named_node(scene, candidate->stack);
	return scene_is_in(scene, place, named) ? named : place;
}

/* "f (x.py:1)"; for a library's function with the user's line that leads to it: "f (train.py:7 > library/x.py:1)". */
static void say_node(struct sentence *sentence, const struct scene *scene, uint32_t node)
{
	const struct callstack_frame *frame = &scene->frame[scene->node[node].frame].frame;
	uint32_t user = user_node(scene, node);
	char function[CALLSTACK_PLACE_MAX], line[CALLSTACK_PLACE_MAX], place[2 * CALLSTACK_PLACE_MAX];
	size_t size = 0;

	if (user != node && user != SCENE_NONE) {
		callstack_place(line, sizeof(line), &scene->frame[scene->node[user].frame].frame);
		size = (size_t)snprintf(place, sizeof(place), "%s > ", line);
	}
	callstack_place(place + size, sizeof(place) - size, frame);
	answer_say_place(sentence, callstack_function(function, sizeof(function), frame), place);
}

static int say_place(struct sentence *sentence, const struct why *why, const struct candidate *it)
{
	uint32_t node = why_place(why, it);

	if (node != SCENE_NONE)
		say_node(sentence, &why->scene, node);
	return node != SCENE_NONE;
}

/* Says the category: "4.6 GiB of weights", "4.6 GiB, probably weights", or "4.6 GiB, the largest part probably weights". */
static int say_of(struct sentence *sentence, const struct candidate *it)
{
	if (it->category == MT_CATEGORY_OTHER)
		return say(sentence, " of unknown kind");
	say(sentence, it->mixed ? ", the largest part" : it->known == SCENE_PROBABLE ? "," : " of ");
	say(sentence, it->known == SCENE_PROBABLE ? " probably " : it->mixed ? " " : "");
	return say(sentence, mt_category_name((uint32_t)it->category));
}

static int say_unneeded(struct sentence *sentence, const struct why *why, const struct candidate *it)
{
	enum mt_phase asking = why->scene.request.phase;

	if (it->need == MT_NEED_NEVER)
		return say(sentence, "no longer needed");
	if (asking == MT_PHASE_OTHER)
		return say(sentence, "not needed now");
	say(sentence, "not needed in ");
	return say(sentence, mt_phase_name((uint32_t)asking));
}

/* "rank 0 (pid 4100) uses", "9 processes such as rank 0 (pid 4100) use" */
static int say_hosted(struct sentence *sentence, const struct why *why, const struct candidate *it)
{
	int64_t processes = it->fact[FACT_PROCESSES];
	int is_request = rank_is_request(it);

	if (!processes && !is_request)
		return say(sentence, "processes that were not recorded use");
	if (processes > 1)
		sentence_say(sentence, "%lld processes such as ", (long long)processes);
	say_process(sentence, why, it);
	return say(sentence, is_request ? " requests" : processes > 1 ? " use" : " uses");
}

/* X(word, expression that says the word and is 0 if the candidate `it` does not have it) */
#define WORD_LIST(X)                                                                                                  \
	X(process, say_process(sentence, why, it))                                                                    \
	X(place, say_place(sentence, why, it))                                                                        \
	X(bytes, say_size(sentence, it->bytes))                                                                       \
	X(expected, say_size(sentence, it->reference == REFERENCE_BEFORE ? it->expected : 0))                         \
	X(excess, say_size(sentence, it->bytes - it->expected))                                                       \
	X(of, say_of(sentence, it))                                                                                   \
	X(category, say(sentence, mt_category_name((uint32_t)it->category)))                                          \
	X(phase, say(sentence, answer_phase(mt_phase_name((uint32_t)it->phase))) && it->phase != MT_PHASE_OTHER)      \
	X(unneeded, say_unneeded(sentence, why, it) && it->category != MT_CATEGORY_OTHER)                             \
	X(before, say(sentence, why->scene.request.has_before == SCENE_SAME_PLACE ? "when this place last got memory" \
										  : "in the step before"))            \
	X(rhythm, say(sentence, it->fact[FACT_STEPS] ? "each step" : "each time"))                                    \
	X(holds, say(sentence, rank_is_request(it) ? "requests" : "holds"))                                           \
	X(hosted, say_hosted(sentence, why, it))

const struct why_fact why_facts[FACTS] = {
#define FACT_ROW(name, word, is_bytes) [FACT_##name] = { word, is_bytes },
	FACT_LIST(FACT_ROW)
#undef FACT_ROW
};

/* Says the fact, and returns whether it is worth a word: a single piece, process or rank is not. */
static int say_fact(struct sentence *sentence, const struct candidate *candidate, enum fact fact)
{
	int64_t number = candidate->fact[fact], each = candidate->fact[FACT_EACH];
	char text[TEXT_SIZE_MAX];

	say(sentence,
	    why_facts[fact].is_bytes ? text_bytes(text, (uint64_t)number) : text_number(text, (uint64_t)number));
	if (fact == FACT_RATE && llabs(number - each) <= each / 16)
		return 0; /* {each} has given this number */
	return number > (fact == FACT_PIECES || fact == FACT_PROCESSES || fact == FACT_RANKS);
}

/* ---- forms ---- */

static int is_word(const char *word, const char *name, size_t size)
{
	return !strncmp(word, name, size) && !word[size];
}

static int say_word(struct sentence *sentence, const struct why *why, const struct candidate *it, const char *name,
		    size_t size)
{
	size_t i;

#define WORD_SAY(word, says)            \
	if (is_word(#word, name, size)) \
		return says;
	WORD_LIST(WORD_SAY)
#undef WORD_SAY
	for (i = 0; i < FACTS; i++)
		if (is_word(why_facts[i].word, name, size))
			return say_fact(sentence, it, (enum fact)i);
	return 0;
}

/* Replaces {name} by the word or fact. Leaves out a part in [brackets] if one of its words is unknown. */
static void fill(struct sentence *sentence, const struct why *why, const struct candidate *candidate, const char *form)
{
	struct sentence before = *sentence;
	int known = 1;
	size_t size;

	for (; *form; form++) {
		if (*form == '{') {
			size = strcspn(++form, "}");
			known &= say_word(sentence, why, candidate, form, size);
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
	static const char place[] = "{place}";
	const char *form = detectors[candidate->cause].says;
	char *first = sentence->text + sentence->size;
	int of_place = !strncmp(form, place, sizeof(place) - 1), has_stack = candidate->node != SCENE_NONE;

	/* Bytes without a recorded stack, and bytes of another process than the requesting one, are named by their process. */
	if (of_place && (!has_stack || candidate->process != why->scene.request.process)) {
		if (has_stack && say_place(sentence, why, candidate))
			say(sentence, " of ");
		say_process(sentence, why, candidate);
		form += sizeof(place) - 1;
	}
	fill(sentence, why, candidate, form);
	if (!of_place || !has_stack)
		*first = (char)toupper((unsigned char)*first);
}

/* Whether the page compares the freed bytes with the missing bytes. */
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
