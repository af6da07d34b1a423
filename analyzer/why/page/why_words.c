#include "why_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"
#include "why/detect/detectors.h"

static const char *const says[MT_CAUSES] = {
#define SAYS_ROW(name, function, kind, says) [MT_CAUSE_##name] = says,
	DETECTOR_LIST(SAYS_ROW)
#undef SAYS_ROW
};

/* ---- words ---- */

static void say_process(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	const struct scene_process *process = &why->scene.process[candidate->process];
	char who[TEXT_SIZE_MAX];

	answer_process(who, process->rank, process->pid);
	if (process->rank >= 0 && process->pid)
		sentence_say(sentence, "%s (pid %lld)", who, (long long)process->pid);
	else
		sentence_say(sentence, "%s", who);
}

/* The node of the user's line on a stack, outside of common helpers; SCENE_NONE: none. */
static uint32_t user_node(const struct scene *scene, uint32_t stack)
{
	struct db_stmt *row = NULL;
	const struct callstack_frame *frame;
	uint32_t node = SCENE_NONE;

	if (!db_prepare(scene->db, &row, "SELECT file, line FROM place WHERE node = ?1")) {
		db_bind(row, 1, scene->node[stack].id);
		if (db_step(row) > 0)
			node = stack;
	}
	for (; node != SCENE_NONE; node = scene->node[node].parent) {
		frame = &scene->frame[scene->node[node].frame].frame;
		if (frame->line == db_int(row, 1) && *frame->file && !strcmp(frame->file, db_text(row, 0)))
			break;
	}
	db_finish(row);
	return node;
}

uint32_t why_place(const struct why *why, const struct candidate *candidate)
{
	const struct scene *scene = &why->scene;
	uint32_t node = candidate->node == SCENE_NONE ? SCENE_NONE : scene_telling(scene, candidate->node), user;

	if (node == SCENE_NONE)
		return candidate->node;
	user = candidate->stack == SCENE_NONE ? SCENE_NONE : user_node(scene, candidate->stack);
	return user != SCENE_NONE && scene_is_in(scene, node, user) ? user : node;
}

static int say_place(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	const struct scene *scene = &why->scene;
	uint32_t node = why_place(why, candidate);
	const struct callstack_frame *frame;
	char function[CALLSTACK_PLACE_MAX], place[CALLSTACK_PLACE_MAX];

	if (node == SCENE_NONE)
		return 0;
	frame = &scene->frame[scene->node[node].frame].frame;
	answer_say_place(sentence, callstack_function(function, sizeof(function), frame),
			 callstack_place(place, sizeof(place), frame));
	return 1;
}

static int say_bytes(struct sentence *sentence, uint64_t bytes)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s", text_bytes(size, bytes));
	return bytes > 0;
}

/* "3 GiB of weights", "3 GiB, probably weights", "3 GiB of unknown kind". */
static int say_of(struct sentence *sentence, const struct candidate *candidate)
{
	if (candidate->category == MT_CATEGORY_OTHER)
		sentence_say(sentence, " of unknown kind");
	else
		sentence_say(sentence, "%s%s", candidate->known == SCENE_PROBABLE ? ", probably " : " of ",
			     mt_category_name((uint32_t)candidate->category));
	return 1;
}

static int say_phase(struct sentence *sentence, enum mt_phase phase)
{
	sentence_say(sentence, "%s", answer_phase(mt_phase_name((uint32_t)phase)));
	return 1;
}

static int say_unneeded(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	enum mt_phase asking = why->scene.request.phase;

	if (candidate->need == MT_NEED_NEVER)
		sentence_say(sentence, "no longer needed");
	else if (asking == MT_PHASE_OTHER)
		sentence_say(sentence, "not needed now");
	else
		sentence_say(sentence, "not needed in %s", mt_phase_name((uint32_t)asking));
	return 1;
}

static int say_before(struct sentence *sentence, const struct why *why)
{
	sentence_say(sentence, why->scene.request.has_before == SCENE_SAME_PLACE ? "when this place last got memory"
										 : "in the step before");
	return 1;
}

/* Whether the candidate is the request itself: no byte of it is resident. */
static int is_request(const struct candidate *candidate)
{
	return !candidate->parts && candidate->fact[FACT_REQUESTED];
}

static const struct scene_host *host_of(const struct scene *scene, uint32_t process)
{
	size_t i;

	for (i = 0; i < scene->hosts; i++)
		if (scene->host[i].process == process)
			return &scene->host[i];
	return NULL;
}

/* "rank 0 (pid 4100) uses", "9 processes such as rank 0 (pid 4100) use" */
static int say_hosted(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	const struct scene_host *host = host_of(&why->scene, candidate->process);
	int64_t processes = candidate->fact[FACT_PROCESSES];
	int is_own = processes || !host || host->resident == candidate->bytes;

	if (processes > 1)
		sentence_say(sentence, "%lld processes such as ", (long long)processes);
	if (!is_own)
		sentence_say(sentence, "processes that were not recorded");
	else
		say_process(sentence, why, candidate);
	sentence_say(sentence, is_request(candidate) ? " requests" : is_own && processes < 2 ? " uses" : " use");
	return 1;
}

static int say_fact(struct sentence *sentence, const struct candidate *candidate, const char *word, size_t size)
{
	static const struct {
		const char *word;
		int is_bytes;
	} facts[] = {
#define FACT_ROW(name, word, is_bytes) { word, is_bytes },
		FACT_LIST(FACT_ROW)
#undef FACT_ROW
	};
	const int64_t *fact = candidate->fact;
	char number[TEXT_SIZE_MAX];
	int i;

	for (i = 0; i < FACTS; i++) {
		if (strlen(facts[i].word) != size || memcmp(facts[i].word, word, size))
			continue;
		if (facts[i].is_bytes)
			text_bytes(number, (uint64_t)fact[i]);
		else
			text_number(number, (uint64_t)fact[i]);
		sentence_say(sentence, "%s", number);
		if (i == FACT_RATE && llabs(fact[i] - fact[FACT_EACH]) <= fact[FACT_EACH] / 16)
			return 0; /* {each} has already given the number */
		return fact[i] > (i == FACT_PIECES || i == FACT_PROCESSES || i == FACT_RANKS);
	}
	return 0;
}

/* 0: the word's value is unknown. */
static int say_word(struct sentence *sentence, const struct why *why, const struct candidate *candidate,
		    const char *word, size_t size)
{
#define IS(name) (size == sizeof(name) - 1 && !memcmp(word, name, size))
	if (IS("process")) {
		say_process(sentence, why, candidate);
		return 1;
	}
	if (IS("place"))
		return say_place(sentence, why, candidate);
	if (IS("bytes"))
		return say_bytes(sentence, candidate->bytes);
	if (IS("expected"))
		return say_bytes(sentence, candidate->reference == REFERENCE_BEFORE ? candidate->expected : 0);
	if (IS("excess"))
		return say_bytes(sentence, candidate->bytes - candidate->expected);
	if (IS("of"))
		return say_of(sentence, candidate);
	if (IS("holds"))
		return sentence_say(sentence, is_request(candidate) ? "requests" : "holds"), 1;
	if (IS("hosted"))
		return say_hosted(sentence, why, candidate);
	if (IS("unneeded"))
		return say_unneeded(sentence, why, candidate);
	if (IS("before"))
		return say_before(sentence, why);
	if (IS("category"))
		return sentence_say(sentence, "%s", mt_category_name((uint32_t)candidate->category)), 1;
	if (IS("phase"))
		return say_phase(sentence, candidate->phase);
	if (IS("asking"))
		return say_phase(sentence, why->scene.request.phase);
	return say_fact(sentence, candidate, word, size);
#undef IS
}

/* Fills the form up to the next bracket or the end; 0: a word is unknown. */
static int fill_part(struct sentence *sentence, const struct why *why, const struct candidate *candidate,
		     const char **at)
{
	const char *end;
	int known = 1;

	while (**at && **at != '[' && **at != ']') {
		end = **at == '{' ? strchr(*at, '}') : NULL;
		if (end) {
			known &= say_word(sentence, why, candidate, *at + 1, (size_t)(end - *at - 1));
			*at = end + 1;
		} else {
			sentence_say(sentence, "%c", *(*at)++);
		}
	}
	return known;
}

void why_fill(struct sentence *sentence, const struct why *why, const struct candidate *candidate, const char *form)
{
	struct sentence before;
	int known, optional = 0;

	while (*form) {
		before = *sentence;
		known = fill_part(sentence, why, candidate, &form);
		if (optional && !known)
			*sentence = before;
		optional = *form == '[';
		form += *form == '[' || *form == ']';
	}
}

/* ---- sentences ---- */

/* Whether the freed bytes can be compared with the missing bytes. */
static int has_effect(const struct why *why, const struct candidate *candidate)
{
	return why->scene.request.failure && candidate->freed_high && !is_request(candidate) &&
	       candidate->cause != MT_CAUSE_TOO_LARGE && candidate->cause != MT_CAUSE_CRASHED &&
	       candidate->cause != MT_CAUSE_HOST;
}

void why_say_effect(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	char size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], missing[TEXT_SIZE_MAX];

	if (!has_effect(why, candidate))
		return;
	text_bytes(all, candidate->bytes);
	text_bytes(size, candidate->freed_high);
	sentence_say(sentence, strcmp(size, all) ? " Without %s of these" : " Without these %s", size);
	if (candidate->fits)
		sentence_say(sentence, " the request fits.");
	else
		sentence_say(sentence, ", %s are still missing.",
			     text_bytes(missing, why->scene.request.missing - candidate->freed_high));
}

void why_say_cause(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	static const char place[] = "{place}", process[] = "{process}", hosted[] = "{hosted}";
	const char *form = says[candidate->cause];
	char *first = sentence->text + sentence->size;
	int names_place = !strncmp(form, place, sizeof(place) - 1);

	/* Bytes of a stack that was not recorded belong to their process. */
	if (names_place && candidate->node == SCENE_NONE) {
		say_process(sentence, why, candidate);
		form += sizeof(place) - 1;
		names_place = 0;
		*first = (char)toupper((unsigned char)*first);
	}
	why_fill(sentence, why, candidate, form);
	if (!strncmp(form, process, sizeof(process) - 1) || !strncmp(form, hosted, sizeof(hosted) - 1))
		*first = (char)toupper((unsigned char)*first);
}

void why_say_action(struct sentence *sentence, const struct why *why, const struct candidate *candidate)
{
	why_fill(sentence, why, candidate, candidate->fix->text);
}

static void say_free(struct sentence *sentence, const struct scene_request *request)
{
	const struct oom_failure *it = request->failure;
	const char *bound = strcmp(it->free_by, "bound") ? "" : "at most ";
	char size[TEXT_SIZE_MAX];

	if (it->free < 0)
		return;
	sentence_say(sentence, ", %s%s free", bound, text_bytes(size, (uint64_t)it->free));
	if ((uint64_t)it->free < it->requested)
		sentence_say(sentence, ", %s%s short", *bound ? "at least " : "", text_bytes(size, request->missing));
	else if (*bound)
		sentence_say(sentence, ", %s of these in no recorded call",
			     text_bytes(size, (uint64_t)it->free - it->requested));
	else
		sentence_say(sentence, ", but not for this request");
}

void why_say_request(struct sentence *sentence, const struct why *why)
{
	const struct scene_request *request = &why->scene.request;
	const struct oom_failure *it = request->failure;
	char word[TEXT_SIZE_MAX];

	if (!it)
		return;
	sentence_say(sentence, it->had ? "A request was refused on %s" : "Out of memory on %s",
		     answer_device(word, it->number, it->kind));
	if (it->rank >= 0 || it->processes > 1)
		sentence_say(sentence, ", %s", answer_process(word, it->rank, it->pid));
	if (request->phase != MT_PHASE_OTHER)
		sentence_say(sentence, ", %s", answer_phase(it->phase));
	if (it->steps)
		sentence_say(sentence, "%s step %lld", request->phase != MT_PHASE_OTHER ? " of" : ",",
			     (long long)it->step);
	sentence_say(sentence, ": %s requested", text_bytes(word, it->requested));
	say_free(sentence, request);
	sentence_say(sentence, it->had ? "; the process got as much within a second." : ".");
	if (*it->function || *it->place) {
		sentence_say(sentence, " Requested by ");
		answer_say_place(sentence, it->function, it->place);
		sentence_say(sentence, ".");
	}
}

/* Whether the cause explains the end of a run without a failed request. */
static int is_end(const struct candidate *candidate)
{
	return candidate->cause == MT_CAUSE_HOST || candidate->cause == MT_CAUSE_CRASHED;
}

static int has_end(const struct find *find)
{
	size_t i;

	for (i = 0; i < find->candidates; i++)
		if (is_end(&find->candidate[i]))
			return 1;
	return 0;
}

/* Whether another row of host memory already covers the process. */
static int is_told_with_others(const struct find *find, const struct candidate *candidate)
{
	size_t i;

	if (candidate->cause != MT_CAUSE_HOST || candidate->node == SCENE_NONE || candidate->fact[FACT_PROCESSES])
		return 0;
	for (i = 0; i < find->candidates; i++)
		if (find->candidate[i].cause == MT_CAUSE_HOST && find->candidate[i].fact[FACT_PROCESSES] > 1)
			return 1;
	return 0;
}

int why_is_row(const struct why *why, const struct candidate *candidate)
{
	if (candidate->within != SCENE_NONE || is_told_with_others(&why->find, candidate))
		return 0;
	if (why->scene.request.failure)
		return 1;
	return has_end(&why->find) ? is_end(candidate) : candidate->cause != MT_CAUSE_NO_EVIDENCE;
}

const struct candidate *why_first(const struct why *why)
{
	const struct find *find = &why->find;
	size_t i;

	for (i = 0; i < find->candidates; i++)
		if (why_is_row(why, &find->candidate[i]))
			return &find->candidate[i];
	return NULL;
}

void why_say_verdict(struct sentence *sentence, const struct why *why)
{
	const struct candidate *first = why_first(why);

	if (!sentence->size)
		why_say_request(sentence, why);
	if (!first)
		return;
	sentence_say(sentence, "%s", sentence->size ? " " : "");
	why_say_cause(sentence, why, first);
	why_say_effect(sentence, why, first);
}
