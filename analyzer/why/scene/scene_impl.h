/* scene_impl.h - shared declarations of this room. */
#ifndef MEMANA_WHY_SCENE_IMPL_H
#define MEMANA_WHY_SCENE_IMPL_H

#include <stdlib.h>
#include "scene.h"

struct scene_text {
	struct scene_text *next;
	char text[];
};

/* Runs `sql` with its parameters and calls `take` for each row, until an error. 0 or -MT_E_x. */
typedef int scene_take(struct scene *scene, const struct db_stmt *row, void *context);
int scene_each(struct scene *scene, const char *sql, const int64_t *parameter, int parameters, scene_take *take,
	       void *context);

/* A copy that lives as long as the scene. NULL: out of memory. */
const char *scene_keep(struct scene *scene, const char *text);

/* MT_PHASE_OTHER for unknown words. */
enum mt_phase scene_phase(const char *word);

/* The stacks of the database, and the tags of their frames. 0 or -MT_E_x. */
int scene_load_stacks(struct scene *scene);

/* Loads processes with their phase spans, and sites without bytes. */
int scene_load_processes(struct scene *scene);
int scene_load_sites(struct scene *scene);

/* The moments of SCENE_NOW and SCENE_BEFORE. has 0: no such reference. */
struct scene_moments {
	int has[SCENE_PEER];
	struct alive_moment at[SCENE_PEER];
	int64_t early_time; /* begin of the request's step, or of its phase if no step ended: older allocations of other processes are earlier */
	int freed_is_early; /* 1: no step ended, and freed allocations are earlier */
	int kept;           /* 1: lives that were over are in the sums of temp.kept_sum */
};

/* The reference of a kept moment. 1; 0: no pass kept one; -MT_E_BUSY: it kept another one, without the lives of this one; or -MT_E_x. */
int scene_take_kept(struct scene *scene, struct scene_moments *moments);

/* Adds the sums of a kept moment to the sites. */
int scene_load_kept(struct scene *scene);

/* Call after processes and sites are loaded. -MT_E_BUSY: as scene_take_kept. */
int scene_find_moments(struct scene *scene, struct scene_moments *moments);

/* Fills bytes of sites at each moment, resident blocks and the history of sites. Reads each life once. */
int scene_load_lives(struct scene *scene, struct scene_moments *moments);

/* Fills phase_peak. 0 or -MT_E_x. */
int scene_load_peaks(struct scene *scene);

/* Bytes at the end of the first and of the newest step. falls: some step did not raise them. */
struct scene_climb {
	uint64_t first, last;
	int64_t from, to;
	int falls;
};

void scene_climb(struct scene_climb *climb, const struct scene_span *span, uint64_t bytes);
int64_t scene_climbed(const struct scene_climb *climb); /* number of steps; 0: some step did not raise the bytes */

/* Loads host memory of each process. Call after processes are loaded. */
int scene_load_hosts(struct scene *scene);

/* Loads device bytes beyond recorded calls. Call after processes are loaded. */
int scene_load_outside(struct scene *scene, const struct scene_moments *moments);

/* Loads slack, and the tensors that pin it. Call after scene_load_lives. */
int scene_load_slack(struct scene *scene);

#endif
