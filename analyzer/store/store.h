/*
 * store.h - what an analysis found, as rows of the database. `memana top` fills one in memory, `memana load` a file;
 * both are asked the same questions afterwards (query.h).
 */
#ifndef MEMANA_STORE_H
#define MEMANA_STORE_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"

/* Ids of the database: those of a process's definitions are unique in the run. 0 stays 0 (null). */
int64_t store_id(uint32_t process, uint64_t definition);
int64_t store_process_id(uint32_t process);
int64_t store_device_id(uint32_t device);

/* Binds a reference; id 0 is null. */
void store_bind_id(struct db_stmt *stmt, int parameter, int64_t id);

/* Whether the site held something when the peak of its device stood. */
int store_held_at_peak(const struct analysis *analysis, uint32_t site);

/* The definitions of all processes (store_defs.c); see store_summary and, for `own`, store_summary_of. NULL: all sites. */
int store_definitions(struct db *db, const struct analysis *analysis, int everything, const uint8_t *own);

/*
 * NVML's figures at the peaks (store_samples.c): processes are asked for their first_time and last_time, devices for
 * users, wholes and peaks. 0 or an error of the database.
 */
int store_gpu_totals(struct db *db, const struct analysis *analysis);

/* The samples of NVML and of the host (store_samples.c). 0 or an error of the database. */
int store_samples(struct db *db, const struct analysis *analysis);

/* The framework's words for its tensors (store_parameter.c). 0, -MT_E_MEMORY or an error of the database. */
int store_parameters(struct db *db, const struct analysis *analysis);

/*
 * Modules, their names, and the peak by them (store_module.c). row[site] is the id of the site's row, below 0 that of the sum
 * it is part of; NULL: all sites have rows of their own. 0, -MT_E_MEMORY or an error of the database.
 */
int store_modules(struct db *db, const struct analysis *analysis, int everything, const int64_t *row);

/*
 * Writes the summary tables. `everything` 0: only the stacks that are needed to show the sites and what failed; 1: all
 * definitions. 0 or an error of the database.
 */
int store_summary(struct db *db, const struct analysis *analysis, int everything);

/*
 * The sites that `memana top` needs one by one, as 1 by number. They are the `most` largest of each device at
 * its peak, the `most` largest groups of sites alike, and those that may grow from step to step. The caller frees; NULL: out of memory
 * (store_choice.c).
 */
uint8_t *store_choose(const struct analysis *analysis, size_t most);

/*
 * As store_summary with `everything` 0, but for sites that are not `own`. They are summed up in rows of `site` and
 * `peak_part` with negative ids, one for all that only stack and evidence tell apart.
 */
int store_summary_of(struct db *db, const struct analysis *analysis, const uint8_t *own);

/* The site of memory that was there when its step ended: the twin of a site that held two kinds of things. */
uint32_t store_outlived_site(const struct analysis *analysis, const struct outlived_row *row);

/* Whether growth can be told of a process: more than one of its steps ended. */
int store_can_grow(const struct analysis *analysis, uint32_t process);
int store_any_can_grow(const struct analysis *analysis);

/* Why a site has its category and its phase, in words. */

/* On whose word the category rests: "census", "rule", "probable". Static storage. */
const char *evidence_known(const struct analysis *analysis, uint32_t number);

/*
 * How many words the vocabulary has of which the site's allocations are logits, and bytes of an element; 0, both: it has
 * none, or nobody knows.
 */
int64_t evidence_vocabulary(const struct analysis *analysis, uint32_t number, int64_t *element);

/* One sentence without a full stop on why the site has its category; "" without a word. Returns `text`. */
char *evidence_text(char *text, size_t size, const struct analysis *analysis, uint32_t number);

/* "step (optimizer.py:88), rule pytorch.yaml:12": the frame that decided on the phase; "": no frame did. Returns `text`. */
char *evidence_decided_by(char *text, size_t size, const struct analysis *analysis, uint32_t number);

#define EVIDENCE_TEXT_MAX 512u

/* Whether the definition of a frame says all that its row would: no library has to be asked for its name. */
static inline int store_frame_is_plain(const struct mt_frame *frame)
{
	return frame->kind == MT_FRAME_PYTHON && !frame->module && !frame->symbol;
}

#endif
