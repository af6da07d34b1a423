/* scene_impl.h - declarations that the files of this room share. */
#ifndef MEMANA_WHY_SCENE_IMPL_H
#define MEMANA_WHY_SCENE_IMPL_H

#include <stdlib.h>
#include "scene.h"

/* Runs `sql` with its parameters and calls `take` for each row until `take` fails. Returns 0 or -MT_E_x. */
typedef int scene_take(struct scene *scene, const struct db_stmt *row, void *context);
int scene_each(struct scene *scene, const char *sql, const int64_t *parameter, int parameters, scene_take *take,
	       void *context);

/* Returns a copy of the text that lives as long as the scene. NULL: out of memory. */
const char *scene_keep(struct scene *scene, const char *text);

/* Returns the phase with this name; MT_PHASE_OTHER for an unknown name. */
enum mt_phase scene_phase(const char *word);

/* Loads the stacks of the database, and the tags of their frames. Returns 0 or -MT_E_x. */
int scene_load_stacks(struct scene *scene);

/* Load processes with their phase spans, and sites without bytes. Return 0 or -MT_E_x. */
int scene_load_processes(struct scene *scene);
int scene_load_sites(struct scene *scene);

/* The moments SCENE_NOW and SCENE_BEFORE. has 0: the scene has no such moment. */
struct scene_moments {
	int has[SCENE_PEER];
	struct alive_moment at[SCENE_PEER];
	int64_t early_time; /* begin of the request's step or phase: older allocations of other processes are earlier */
	int freed_is_early; /* 1: no step ended; freed allocations are the earlier ones */
};

/* Takes the reference of a moment that a pass kept. Returns 1; 0: no pass kept a moment; -MT_E_BUSY: only a different moment is kept; or -MT_E_x. */
int scene_take_kept(struct scene *scene, struct scene_moments *moments);

/* Adds the sums of a kept moment to the sites. Returns 0 or -MT_E_x. */
int scene_load_kept(struct scene *scene);

/* Fills the bytes of sites at each moment, the resident blocks, and the history of sites, in one pass. Returns 0 or -MT_E_x. */
int scene_load_lives(struct scene *scene, struct scene_moments *moments);

struct packed scene_no_blocks(void);

/* Fills phase_peak. Returns 0 or -MT_E_x. */
int scene_load_peaks(struct scene *scene);

/* Bytes at the first and the newest sample in a step, with the numbers of these steps. falls: some step did not raise the bytes. */
struct scene_climb {
	uint64_t first, last;
	int64_t from, to;
	int falls;
};

void scene_climb(struct scene_climb *climb, const struct scene_span *span, uint64_t bytes);
int64_t scene_climbed(const struct scene_climb *climb); /* number of steps that raised the bytes; 0: not all did */

/* Loads host memory of each process, after the processes. Returns 0 or -MT_E_x. */
int scene_load_hosts(struct scene *scene);

/* Loads device bytes beyond recorded calls, after the processes. Returns 0 or -MT_E_x. */
int scene_load_outside(struct scene *scene, const struct scene_moments *moments);

#endif
