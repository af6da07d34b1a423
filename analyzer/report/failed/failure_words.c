/* Words for a failed request, the same in all reports and on the screen. */
#include <string.h>
#include "failures.h"
#include "report/answer.h"

const char *oom_free_words(const struct oom_failure *failure)
{
	if (failure->free < 0)
		return "unknown";
	return !strcmp(failure->free_by, "driver") ? "the driver says so"
	       : !strcmp(failure->free_by, "nvml") ? "by nvidia-smi's count, soon after"
						   : "at most, by what was recorded";
}

static void say_who(struct sentence *sentence, const struct oom_failure *it)
{
	int placed = *it->function || *it->place;
	char name[TEXT_SIZE_MAX];

	if (placed || it->processes > 1)
		sentence_say(sentence, " by ");
	if (placed)
		answer_say_place(sentence, it->function, it->place);
	if (it->processes > 1)
		sentence_say(sentence, "%s%s", placed ? " of " : "", answer_process(name, it->rank, it->pid));
}

void oom_say_failure(struct sentence *sentence, const char *what, const struct oom_failure *it, const char *note)
{
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s", what);
	if (*it->kind)
		sentence_say(sentence, " on %s", answer_device(name, it->number, it->kind));
	if (*note)
		sentence_say(sentence, " %s", note);
	sentence_say(sentence, ": %s asked for", text_bytes(size, it->requested));
	say_who(sentence, it);
	if (strcmp(it->phase, "other"))
		sentence_say(sentence, " in %s", it->phase);
	else
		sentence_say(sentence, " outside any known phase");
	if (it->steps)
		sentence_say(sentence, " of step %lld", (long long)it->step);
	sentence_say(sentence, "%s", text_at(time, it->time));
	if (it->free >= 0)
		sentence_say(sentence, ", %s%s free", strcmp(it->free_by, "bound") ? "" : "at most ",
			     text_bytes(size, (uint64_t)it->free));
	if (it->free >= 0 && (uint64_t)it->free >= it->requested)
		sentence_say(sentence,
			     strcmp(it->free_by, "bound")
				     ? " around that time, but not to be had then, or not in one piece"
				     : " by the recorded calls: memory without a recorded call has some of it");
}
