#include "store.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"

/*
 * The sentences, by the figures that each needs: X(NAME, figures, words). F1: a count; F2: a count and the count of all; PHASE: the phase of the
 * births.
 */
#define SENTENCE_LIST(X)                                                                                            \
	X(CENSUS, NOTHING, "known: named by PyTorch's census")                                                      \
	X(AS_CENSUS, NOTHING, "known: PyTorch's census names others of this place and size")                        \
	X(RULE, NOTHING, "by a rule for a function on its stack")                                                   \
	X(RULE_VOCABULARY, F1_F2_F3, "by a rule for a function on its stack; %s tokens x %s words x %s bytes")      \
	X(OPINION, PHASE, "allocated in %s; nothing in the recording says more")                                    \
	X(STAYS, F1_F2, "allocated in init; %s of %s outlived two steps or more")                                   \
	X(SIZED_GRADIENT, F1_F2, "allocated in backward, in the size of a weight; %s of %s outlived the backward")  \
	X(GRADIENT, F1_F2, "allocated in backward; %s of %s outlived the backward")                                 \
	X(STATE, F1_F2, "allocated by the optimizer; %s of %s outlived its step")                                   \
	X(SIZED_STATE, F1_F2, "allocated by the optimizer, in the size of a weight; %s of %s outlived its step")    \
	X(TEMPORARY, F1_F2_PHASE, "%s of %s were freed in the %s that allocated them")                              \
	X(NOT_A_WEIGHT, NOTHING, "allocated in backward; no weight has this size")                                  \
	X(FOR_BACKWARD, F1_F2_PHASE, "%s of %s allocated in %s were freed in backward")                             \
	X(PASSING, F1_F2_PHASE, "%s of %s were freed in the %s that allocated them")                                \
	X(VOCABULARY, F1_F2_F3, "%s tokens x %s words x %s bytes")                                                  \
	X(REFUSED, F1_F2_F3, "%s tokens x %s words x %s bytes, like the request that failed")                       \
	X(HALF, F1, "half the size of a gradient buffer (%s bytes): its weights, in two-byte elements")             \
	X(LOSS, F1, "as many elements as the logits of the loss (%s bytes)")                                        \
	X(CENSUS_VOCABULARY, F1_F2_F3, "%s tokens x %s words x %s bytes; the words are those of PyTorch's census")  \
	X(RETAINED, F1_F2_PHASE, "%s of %s allocated in %s were still alive two steps later")                       \
	X(ANEW, NOTHING, "allocated by the optimizer in each step, and freed after the step")                       \
	X(IN_PLACE, NOTHING, "allocated by the optimizer in each step, in place of the tensors of the step before") \
	X(AS_GRADIENTS, F2_F1, "present from the start: %s of this size, as many as gradients of this size (%s)")   \
	X(AS_STATE, F2_F1, "present from the start: %s of this size, half as many as in the optimizer state (%s)")  \
	X(SEVERAL, F2_F1,                                                                                           \
	  "present from the start: %s of this size and %s gradients: weights and optimizer state together")         \
	X(BACK, F2_F1, "%s of this size: as many as were freed before (%s)")                                        \
	X(REPLACED, F1, "present from the start: the optimizer freed %s of this size and allocated as many")        \
	X(LOADED, F1, "loaded in init (%s of this size), where no other weights have this size")                    \
	X(LAYERS, F1,                                                                                               \
	  "present from the start, in the sizes of a model's layers (%s of this one); no tensor of this size was trained")

enum figures { NOTHING, PHASE, F1, F1_F2, F1_F2_PHASE, F1_F2_F3, F2_F1 };

static const struct {
	enum figures figures;
	const char *words;
} sentences[EVIDENCE_COUNT] = {
#define SENTENCE_ROW(name, figures, words) [EVIDENCE_##name] = { figures, words },
	SENTENCE_LIST(SENTENCE_ROW)
#undef SENTENCE_ROW
};

/* Each row's format has the arguments that its `figures` give. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void print(char *text, size_t size, const struct category_site *facts, const char *phase)
{
	const char *words = sentences[facts->why].words;
	char number[3][TEXT_SIZE_MAX];
	int i;

	for (i = 0; i < 3; i++)
		text_number(number[i], facts->figure[i]);
	switch (sentences[facts->why].figures) {
	case NOTHING:
		snprintf(text, size, "%s", words);
		break;
	case PHASE:
		snprintf(text, size, words, phase);
		break;
	case F1:
		snprintf(text, size, words, number[0]);
		break;
	case F1_F2:
		snprintf(text, size, words, number[0], number[1]);
		break;
	case F1_F2_PHASE:
		snprintf(text, size, words, number[0], number[1], phase);
		break;
	case F1_F2_F3:
		snprintf(text, size, words, number[0], number[1], number[2]);
		break;
	case F2_F1:
		snprintf(text, size, words, number[1], number[0]);
		break;
	}
}

#pragma GCC diagnostic pop

char *evidence_text(char *text, size_t size, const struct analysis *analysis, uint32_t number)
{
	const struct site *site = &analysis->attribution.site[number];
	const struct category_site *facts = number < analysis->categories.room ? &analysis->categories.site[number]
									       : NULL;

	*text = '\0';
	if (site->tensors_seen)
		snprintf(text, size, "taken from the driver by the allocator; no tensor fills it");
	else if (facts && facts->why == EVIDENCE_OWNER)
		snprintf(text, size, "%s asked the driver for it", analysis->owner[site->owner]);
	else if (facts && sentences[facts->why].words)
		print(text, size, facts, mt_phase_name(site->key.phase));
	return text;
}

int64_t evidence_vocabulary(const struct analysis *analysis, uint32_t number, int64_t *element)
{
	const struct category_site *facts;

	*element = 0;
	if (number >= analysis->categories.room)
		return 0;
	facts = &analysis->categories.site[number];
	if (sentences[facts->why].figures != F1_F2_F3)
		return 0;
	*element = (int64_t)facts->figure[2];
	return (int64_t)facts->figure[1];
}

const char *evidence_known(const struct analysis *analysis, uint32_t number)
{
	if (number >= analysis->categories.room)
		return "probable";
	switch (analysis->categories.site[number].why) {
	case EVIDENCE_CENSUS:
	case EVIDENCE_AS_CENSUS:
	case EVIDENCE_CENSUS_VOCABULARY:
		return "census";
	case EVIDENCE_RULE:
	case EVIDENCE_RULE_VOCABULARY:
	case EVIDENCE_OWNER:
		return "rule";
	default:
		return analysis->attribution.site[number].tensors_seen ? "rule" : "probable";
	}
}

char *evidence_decided_by(char *text, size_t size, const struct analysis *analysis, uint32_t number)
{
	const struct site *site = &analysis->attribution.site[number];
	const struct mt_defs *defs = analysis->process[site->key.process].defs;
	uint32_t id = number < analysis->categories.room ? analysis->categories.site[number].rule_frame : 0;
	const struct mt_frame *frame = mt_defs_frame(defs, id);
	const char *file, *base;
	char rule[256];

	*text = '\0';
	if (!frame)
		return text;
	file = mt_defs_string(defs, frame->file);
	base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	mt_rules_origin(analysis->rules, defs, id, rule, sizeof(rule));
	snprintf(text, size, "%s (%s:%u), rule %s", mt_defs_string(defs, frame->function), base, frame->line, rule);
	return text;
}
