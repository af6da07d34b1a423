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
 * Fills a model that has its processes and nothing else, and takes its lock. *analysis: of the facts, with categories; the caller releases it after
 * 1. 1; 0: there are no such facts, and nothing has changed; or -MT_E_x.
 */
int feed_facts(struct model *model, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	       const struct mt_rules *rules);

/*
 * Takes the tape of `exact` over, a model that the events of the same trace have filled, with what only these tell. Takes the lock of `model`.
 * Returns 0; -MT_E_CORRUPT: the facts were of another run.
 */
int feed_facts_replace(struct model *model, struct model *exact);

#endif
