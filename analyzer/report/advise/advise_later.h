/*
 * advise_later.h - what a step takes after the request that failed: a value that lets this one pass alone would fail at the next.
 *
 * Two things tell. An earlier step came past the same place, and what it took then is known:
 *
 *     in use      ...........*        here the request of step 4 failed
 *     step 3      ......./~~~*~~~\___   after the same place it rose by so much more, at sizes of its own
 *
 * Or the request is one of a series - a cache or a weight for each layer - that has not come to its end: as many as there are
 * layers will be asked for.
 */
#ifndef MEMANA_ADVISE_LATER_H
#define MEMANA_ADVISE_LATER_H

#include "advise_replay.h"

/*
 * Fills replay->later. `layers`: of the model, 0: nobody says. After replay_init() with a request, before replay_survey().
 * Needs the lives of allocations in the database. 0 or -MT_E_x.
 */
int later_find(struct replay *replay, const struct oom_failure *failed, uint64_t layers);

#endif
