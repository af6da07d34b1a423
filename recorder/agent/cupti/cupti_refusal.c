/* cupti_refusal.c - see cupti_find.h. */
#include "cupti_find.h"

#include <string.h>
#include "memtrace/base.h"

/*
 * X(error, words): the most informative error first. An error that is not listed ranks before the last two, which CUPTI
 * gives for many reasons. Without a GPU, 12.2 returns the first of these two and 13.0 the second.
 */
#define REFUSAL_LIST(X)                                                                      \
	X(CUPTI_TAKEN, "another tool holds the subscription")                                \
	X(CUPTI_LIMIT_REACHED, "another tool holds the subscription")                        \
	X(CUPTI_CONFIDENTIAL, "confidential computing does not allow it")                    \
	X(CUPTI_NO_PRIVILEGES, "the driver lets only privileged users profile")              \
	X(CUPTI_VIRTUALIZED_NO_PRIVILEGES, "the virtual GPU's host does not allow it")       \
	X(CUPTI_VIRTUALIZED, "not supported on a virtual GPU")                               \
	X(CUPTI_CMP, "not supported on this card")                                           \
	X(CUPTI_MIG, "not supported on a MIG instance")                                      \
	X(CUPTI_SLI, "not supported with SLI")                                               \
	X(CUPTI_WSL, "not supported in WSL")                                                 \
	X(CUPTI_NOT_INITIALIZED, "it does not fit the driver's version, or there is no GPU") \
	X(CUPTI_UNKNOWN, "it does not fit the driver's version, or there is no GPU")

#define UNFIT 2 /* entries at the end of the list */

static const struct {
	int error;
	const char *words;
} list[] = {
#define REFUSAL_ROW(error, words) { error, words },
	REFUSAL_LIST(REFUSAL_ROW)
#undef REFUSAL_ROW
};

#define LAST_INFORMATIVE (MT_ARRAY_SIZE(list) - UNFIT)

/* 0: none. */
static size_t place_of(int error)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(list); i++)
		if (list[i].error == error)
			return i + 1;
	return 0;
}

/* The rank: lower is more informative. "No callback enabled" is last. */
static size_t rank_of(int error)
{
	size_t place = place_of(error);

	if (!error)
		return 2 * MT_ARRAY_SIZE(list) + 1;
	return place ? 2 * place : 2 * LAST_INFORMATIVE + 1;
}

int cupti_is_taken(int error)
{
	return error == CUPTI_TAKEN || error == CUPTI_LIMIT_REACHED;
}

int cupti_is_unfit(int error)
{
	return place_of(error) > LAST_INFORMATIVE;
}

static void copy(char *to, size_t size, const char *from)
{
	struct textbuf text;

	textbuf_init(&text, to, size);
	textbuf_add(&text, from);
}

void cupti_refusal_add(struct cupti_refusal *refusal, int error, const char *holder, const char *path)
{
	if (refusal->found && rank_of(error) >= rank_of(refusal->error))
		return;
	refusal->found = 1;
	refusal->error = error;
	copy(refusal->holder, sizeof(refusal->holder), holder);
	copy(refusal->path, sizeof(refusal->path), path);
}

static void say_taken(const struct cupti_refusal *refusal, struct textbuf *text)
{
	textbuf_add(text, "another tool holds the CUPTI subscription");
	if (!refusal->holder[0])
		return;
	textbuf_add(text, " (");
	textbuf_add(text, refusal->holder);
	textbuf_add(text, ")");
}

static void say_error(const struct cupti_refusal *refusal, struct textbuf *text)
{
	size_t place = place_of(refusal->error);

	textbuf_add(text, "CUPTI refuses the subscription with error ");
	textbuf_add_number(text, (uint64_t)refusal->error);
	if (!place)
		return;
	textbuf_add(text, " (");
	textbuf_add(text, list[place - 1].words);
	textbuf_add(text, ")");
}

/* The path comes last because it may be long: the text is cut at its end. */
void cupti_refusal_say(const struct cupti_refusal *refusal, struct textbuf *text)
{
	static const char unseen[] = ": driver memory is not recorded";

	if (!refusal->found) {
		textbuf_add(text, "libcupti was not found");
		textbuf_add(text, unseen);
		textbuf_add(text, " (set CUDA_HOME)");
		return;
	}
	if (cupti_is_taken(refusal->error))
		say_taken(refusal, text);
	else if (refusal->error)
		say_error(refusal, text);
	else
		textbuf_add(text, "CUPTI enables no callback");
	textbuf_add(text, unseen);
	if (cupti_is_taken(refusal->error) || !refusal->path[0])
		return;
	textbuf_add(text, "; tried ");
	textbuf_add(text, refusal->path);
}
