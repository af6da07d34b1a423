/* advise_choice.h - what is proposed for one setting: a new value, and what it is now. Part of advise.h, for advise_choose.c. */
#ifndef MEMANA_ADVISE_CHOICE_H
#define MEMANA_ADVISE_CHOICE_H

#include "advise.h"

#define CHOICE_WORDS_MAX 192
#define ADVISE_WORTH 200.0 /* less than one part in so many is no reason to relaunch */

struct choice {
	struct advise_turn turn;                              /* turn.now and .to may be the texts below */
	struct advise_value now;                              /* as the configuration, or the recording, has it */
	char to[ADVISE_VALUE_MAX], pretend[ADVISE_VALUE_MAX]; /* pretend: a value now, of one that nobody tells */
	int shown;                                            /* pretend is what the recording shows, not assumed */
	int halves; /* nobody knows what it is now: half of that, or twice, whatever it is; now and to are in that proportion */
	int asks;    /* whether what it needs is so, one look tells */
	int unread;  /* by defaults another setting keeps it from being read */
	int several; /* defaults of the releases that it may be */
	int taken;
	double by; /* of a share that nobody tells: so much less than whatever it is; 0: `to` is of a value that is known */
	char only[ADVISE_WORDS_MAX]; /* what has to be so for it to count; "": nothing */
};

/* What the recording shows goes before a default: it is `value` now, which outlives the choice. */
void choice_show(struct choice *choice, const char *value);

/*
 * A value that saves, of choice->turn.knob; choice->now is its value, as the configuration has it, and is what the recording
 * shows afterwards where that refutes a default. NULL: there is none to try. The text is in the choice, or static.
 */
const char *choice_propose(struct advice *advice, struct choice *choice);

/* "0.3 (default, if not set)". blind: nobody has told how the run was configured. Into `out`, which is returned. */
const char *choice_now_words(const struct choice *choice, int blind, char out[CHOICE_WORDS_MAX]);

/* ---- what speaks for it (advise_answer.c) ---- */

/* Nothing that the knob speaks of is reached, but only what goes along with that. */
int advise_is_beside(const struct mt_knob *knob, const struct advise_reach *reach);

/* Fills row->category, probable and evidence; the rest of it is there. */
void advise_take_evidence(const struct advice *advice, struct advise_row *row, const struct advise_reach *reach);

#endif
