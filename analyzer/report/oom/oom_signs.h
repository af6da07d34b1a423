/*
 * oom_signs.h - what the database tells of a failed request beside who holds what: whose work is on the stack, whether a
 * backward comes for what is kept, whether the request is a wider copy. Part of query_oom.h.
 */
#ifndef MEMANA_OOM_SIGNS_H
#define MEMANA_OOM_SIGNS_H

#include "query_oom.h"

#define OOM_PILE 8 /* pieces of one stack: more than a function works with at once */

/* Fills by_frame, unneeded, infers, loaded_early, place_trains, whole, inputs, clone, stale, wider and outlier of `oom`, which was decided on. 0 or -MT_E_x. */
int oom_find_signs(struct oom *oom, struct db *db);

/*
 * What makes less of the category where a frame of that file and function is on its stack; NULL: nobody knows. `asks`: what is
 * said of a request by who asked, whatever there is most of. Static storage.
 */
const char *oom_remedy_of_frame(const char *category, const char *file, const char *function, int asks);

/* What helps with the scores of attention, weights made over, logits of an evaluation whose training makes none. Static storage. */
extern const char oom_scores_knob[];
extern const char oom_remade_knob[];
extern const char oom_fused_evaluation_knob[];

/* It is what helps an evaluation that asks for too much. */
int oom_is_of_evaluation(const char *remedy);

#endif
