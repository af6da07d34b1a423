/* The first screen of memana oom: the request, and at most three causes with their actions. */
#include <string.h>
#include "report/answer.h"
#include "report/peak_verdict.h"
#include "report/top_host.h"
#include "why.h"

#define WORDS_SHOWN 120 /* largest number of words before the details */
#define NEAR 20         /* divisor: a peak is a near miss if at most 1/20 of the device is free */
#define CLAUSE_LEAST 5  /* least number of words with which a first clause can stand alone */

/* ---- the request ---- */

/* ", 0.7 GiB free, 3.9 GiB short"; without a query of free bytes, the number is a bound. */
static void say_free(struct sentence *sentence, const struct scene_request *request)
{
	const struct oom_failure *it = request->failure;
	int is_bound = !strcmp(it->free_by, "bound");
	char size[TEXT_SIZE_MAX];

	if (it->free < 0)
		return;
	sentence_say(sentence, ", %s%s free", is_bound ? "at most " : "", text_bytes(size, (uint64_t)it->free));
	if ((uint64_t)it->free < it->requested)
		sentence_say(sentence, ", %s%s short", is_bound ? "at least " : "", text_bytes(size, request->missing));
	else if (is_bound)
		sentence_say(sentence, ", at least %s of these taken without a recorded call",
			     text_bytes(size, (uint64_t)it->free - it->requested));
	else
		sentence_say(sentence, ", but not for this request");
}

/* Whether another process has the same rank: a GPU can have two groups of processes. */
static int is_shared_rank(const struct scene *scene, const struct oom_failure *it)
{
	size_t same = 0, i;

	for (i = 0; i < scene->processes; i++)
		same += scene->process[i].rank == it->rank;
	return it->rank >= 0 && same > 1;
}

static void say_request(struct sentence *sentence, const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct oom_failure *it = request->failure;
	int has_phase = request->phase != MT_PHASE_OTHER;
	char word[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s on %s", it->had ? "A request was refused" : "Out of memory",
		     answer_device(word, it->number, it->kind));
	if (it->rank >= 0 || it->processes > 1)
		sentence_say(sentence, ", %s", answer_process(word, it->rank, it->pid));
	if (is_shared_rank(scene, it))
		sentence_say(sentence, " (pid %lld)", (long long)it->pid);
	if (has_phase)
		sentence_say(sentence, ", %s", answer_phase(it->phase));
	if (it->steps)
		sentence_say(sentence, "%s step %lld", has_phase ? " of" : ",", (long long)it->step);
	sentence_say(sentence, ": %s requested", text_bytes(word, it->requested));
	say_free(sentence, request);
	sentence_say(sentence, it->had ? "; the process got as much within a second." : ".");
	if (*it->function || *it->place) {
		sentence_say(sentence, " Requested by ");
		answer_say_place(sentence, it->function, it->place);
		sentence_say(sentence, ".");
	}
}

/* ---- no failed request ---- */

static void say_peak(struct sentence *sentence, const struct scene_request *request, const struct scene_peak *peak)
{
	char name[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];
	uint64_t fullest = peak->used > peak->bytes ? peak->used : peak->bytes;
	int is_near = fullest >= request->total - request->total / NEAR;

	sentence_say(sentence, "%s%s had its peak at %s",
		     !request->total ? ". The size of the GPU is not in it: "
		     : is_near       ? ". The nearest miss: "
				     : ", and none came near: ",
		     answer_device(name, request->number, request->kind), text_bytes(size, peak->bytes));
	if (request->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, request->total),
			     text_percent(share, peak->bytes, request->total));
	sentence_say(sentence, ", ");
	peak_say_phase(sentence, mt_phase_name(peak->phase), request->step, peak->steps != 0);
	if (peak->used > peak->bytes)
		sentence_say(sentence, "; nvidia-smi counted %s in use", text_bytes(size, peak->used));
	sentence_say(sentence, ".");
}

/* A failed request may be among what is lost, or in the damaged part of a trace. */
static int say_none(struct sentence *sentence, const struct scene *scene)
{
	const int64_t none[DB_PARAMETERS] = { 0 };
	uint64_t lost = 0;
	int damaged = 0,
	    error = answer_flag(scene->db, "SELECT EXISTS (SELECT 1 FROM process WHERE damage IS NOT NULL)", none,
				&damaged);

	if (!error)
		error = answer_say_lost(sentence, scene->db, &lost);
	if (error)
		return error;
	sentence_say(sentence, "No request for GPU memory failed in %s",
		     damaged ? "the part of this recording that can be read"
		     : lost  ? "the rest"
			     : "this recording");
	if (!*scene->request.kind)
		sentence_say(sentence, ".");
	else if (!strcmp(scene->request.kind, "cpu"))
		sentence_say(sentence, ": it has tensors of the CPU only (memana top).");
	else
		say_peak(sentence, &scene->request, &scene->peak);
	return 0;
}

int why_say_opening(struct sentence *sentence, const struct why *why)
{
	int error;

	if (why->scene.request.failure) {
		say_request(sentence, &why->scene);
		return 0;
	}
	error = top_host_say_briefly(sentence, why->scene.db);
	if (error)
		return error;
	if (sentence->size)
		sentence_say(sentence, " No request for GPU memory failed.");
	else if (!text_known.history)
		sentence_say(sentence, "%s", answer_no_history);
	else
		return say_none(sentence, &why->scene);
	return 0;
}

/* ---- rows ---- */

struct row {
	struct sentence cause, action;
};

static int count_words(const char *text)
{
	int words = 0;

	for (; *text; text++)
		words += *text != ' ' && (text[1] == ' ' || !text[1]);
	return words;
}

/* Keeps the first clause of an action. The other clauses give method and reason, but the clause after an "If" is the action. */
static void drop_reasons(struct sentence *action)
{
	size_t at = strcspn(action->text, ",:(");
	char end = action->text[at];

	if ((end != ',' && end != ':') || !strncmp(action->text, "If ", 3))
		return;
	action->text[at] = '\0';
	if (count_words(action->text) >= CLAUSE_LEAST)
		memcpy(action->text + at, ".", 2);
	else
		action->text[at] = end;
}

/*
 * Makes the texts of the rows, with `cuts` parts left out: first effects, then reasons, both from the last row up, at last the first row's effect.
 * Place, bytes and action stay. Returns the number of words.
 */
static int make_rows(struct row *row, const struct why *why, const struct candidate *const *candidate, int rows,
		     int cuts)
{
	int words = 0, i;

	for (i = 0; i < rows; i++) {
		row[i].cause.size = row[i].action.size = 0;
		why_say_cause(&row[i].cause, why, candidate[i]);
		if (cuts < (i ? rows - i : 2 * rows))
			why_say_effect(&row[i].cause, why, candidate[i]);
		why_say_action(&row[i].action, why, candidate[i]);
		if (cuts >= 2 * rows - 1 - i)
			drop_reasons(&row[i].action);
		words += 2 + count_words(row[i].cause.text) + count_words(row[i].action.text);
	}
	return words;
}

void why_print_row(const struct text *text, size_t number, const char *words, enum text_style style, const char *second)
{
	text_print(text, "%zu. ", number);
	text_wrap(text, 3, 3, words);
	if (!*second)
		return;
	text_style(text, style);
	text_print(text, "   ");
	text_wrap(text, 3, 3, second);
	text_style(text, TEXT_PLAIN);
}

void why_page(const struct text *text, const struct why *why, const char *opening, int brief)
{
	const struct candidate *candidate[WHY_ROWS];
	struct row row[WHY_ROWS];
	struct sentence action;
	int rows = (int)why_rows(why, candidate), room = WORDS_SHOWN - count_words(opening), cuts = 0, i;

	while (make_rows(row, why, candidate, rows, cuts) > room && rows > 1)
		if (++cuts > 2 * rows)
			rows--;
	if (rows)
		text_print(text, "\n");
	for (i = 0; i < rows && (!brief || !i); i++) {
		action.size = 0;
		sentence_say(&action, "Do: %s", row[i].action.text);
		why_print_row(text, (size_t)i + 1, row[i].cause.text, TEXT_GOOD, action.text);
	}
}

/* ---- --why ---- */

void why_table(const struct text *text, const struct why *why)
{
	static const char *const keys[] = {
#define RANK_KEY_WORD(name, word) word,
		RANK_KEY_LIST(RANK_KEY_WORD)
#undef RANK_KEY_WORD
	};
	const struct candidate *candidate;
	struct sentence sentence;
	size_t i;
	int k;

	text_print(text, "\nAll candidates, by their keys (smaller goes first):\n     ");
	for (k = 0; k < RANK_KNOWN + 1; k++)
		text_print(text, " %6s", keys[k]);
	text_print(text, "  cause\n");
	for (i = 0; i < why->find.candidates; i++) {
		candidate = &why->find.candidate[i];
		text_print(text, " %4zu", i + 1);
		for (k = 0; k < RANK_KNOWN + 1; k++)
			text_print(text, " %6llu", (unsigned long long)candidate->key[k]);
		sentence.size = 0;
		sentence_say(&sentence, "%s: ", mt_cause_word(candidate->cause));
		why_say_cause(&sentence, why, candidate);
		why_say_effect(&sentence, why, candidate);
		if (candidate->within != SCENE_NONE)
			sentence_say(&sentence, " In row %u.", candidate->within + 1);
		text_print(text, "  ");
		text_wrap(text, 42, 42, sentence.text);
	}
}
