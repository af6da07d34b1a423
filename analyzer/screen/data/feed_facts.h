/*
 * feed_facts.h - the first picture of a long run, from the facts of its trace (facts/facts.h), before its events are read.
 *
 *     facts   ──> phases, steps, errors, sites, and the outline as the tape (rows/outline.h)   at once
 *     events  ──> the exact tape, which takes the place of the outline                          seconds later
 */
#ifndef MEMANA_SCREEN_FEED_FACTS_H
#define MEMANA_SCREEN_FEED_FACTS_H

#include "engine/analysis.h"
#include "timeline/model.h"

/*
 * Fills a model that has only its processes, from facts; takes its lock. 1: *analysis has the facts' results with categories, and the caller releases
 * it; 0: the facts are missing, and the model is unchanged; or -MT_E_x.
 */
int feed_facts(struct model *model, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	       const struct mt_rules *rules);

/*
 * Moves the tape, and figures that facts lack, from `exact` into `model`. `exact` is a model filled from the events of the same trace. Takes the lock
 * of `model`. Returns 0; -MT_E_CORRUPT: the facts belong to another run.
 */
int feed_facts_replace(struct model *model, struct model *exact);

#endif
