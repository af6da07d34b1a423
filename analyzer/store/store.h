/*
 * store.h - writes the results of an analysis as rows of a database. `memana top` uses a database in memory, `memana load` a file; query.h asks both.
 */
#ifndef MEMANA_STORE_H
#define MEMANA_STORE_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"

/* Returns the database's id of a definition of a process, unique in the run. 0 stays 0 (null). */
int64_t store_id(uint32_t process, uint64_t definition);
int64_t store_process_id(uint32_t process);
int64_t store_device_id(uint32_t device);

/* Writes rows of one table for each process. Returns 0 or an error of the database. */
int store_each_process(struct db *db, const struct analysis *analysis, const char *sql,
		       int (*rows)(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number));

/* Binds an id; 0 becomes null. */
void store_bind_id(struct db_stmt *stmt, int parameter, int64_t id);

/* Whether the site held bytes at the peak of its device. */
int store_held_at_peak(const struct analysis *analysis, uint32_t site);

/*
 * Writes the definitions of all processes (store_defs.c). `everything`: see store_summary. `own`: see store_summary_of; NULL: all sites. Returns 0,
 * -MT_E_MEMORY or an error of the database.
 */
int store_definitions(struct db *db, const struct analysis *analysis, int everything, const uint8_t *own);

/*
 * Writes NVML's figures at the peaks (store_samples.c). Reads first_time and last_time of processes, and users, wholes and peaks of devices. Returns
 * 0 or an error of the database.
 */
int store_gpu_totals(struct db *db, const struct analysis *analysis);

/* Writes the samples of NVML and of the host (store_samples.c). Returns 0 or an error of the database. */
int store_samples(struct db *db, const struct analysis *analysis);

/* Writes the framework's names of tensors (store_parameter.c). Returns 0, -MT_E_MEMORY or an error of the database. */
int store_parameters(struct db *db, const struct analysis *analysis);

/*
 * Writes modules, their names, and the peak by module. row[site] is the id of the site's row; below 0: of the site's sum. `row` NULL: all sites have
 * rows. Returns 0, -MT_E_MEMORY or an error of the database.
 */
int store_modules(struct db *db, const struct analysis *analysis, int everything, const int64_t *row);

/*
 * Writes the summary tables. `everything` 1: with all definitions; 0: only for the stacks of sites and failed requests. Returns 0 or an error of the
 * database.
 */
int store_summary(struct db *db, const struct analysis *analysis, int everything);

/*
 * Chooses the sites that `memana top` needs as single rows (store_choice.c). These are the `most` largest sites and groups of sites alike of each
 * device at its peak, and the sites that may grow from step to step. Returns 1 for these, by number of the site. The caller frees the array. NULL:
 * out of memory.
 */
uint8_t *store_choose(const struct analysis *analysis, size_t most);

/*
 * As store_summary with `everything` 0, but sites that are not `own` are summed up. A sum is one row of `site` and `peak_part`, with a negative id,
 * for all sites that differ only in stack and evidence.
 */
int store_summary_of(struct db *db, const struct analysis *analysis, const uint8_t *own);

/* Returns the site of memory that outlived its step: the twin, if the site was split. */
uint32_t store_outlived_site(const struct analysis *analysis, const struct outlived_row *row);

/* Whether the growth of any process can be measured: at least two of its steps ended. */
int store_any_can_grow(const struct analysis *analysis);

/* The evidence for the category and the phase of a site, in words. */

/* Returns the source of the category: "census", "rule" or "probable". Static storage. */
const char *evidence_known(const struct analysis *analysis, uint32_t number);

/*
 * Returns the vocabulary of the site's logits in words, and sets *element to the bytes of an element. Both are 0 if unknown, or if the site has no
 * logits.
 */
int64_t evidence_vocabulary(const struct analysis *analysis, uint32_t number, int64_t *element);

/* Writes the evidence for the category as one sentence without its full stop; "": no evidence. Returns `text`. */
char *evidence_text(char *text, size_t size, const struct analysis *analysis, uint32_t number);

/* Writes the frame that decided the phase: "step (optimizer.py:88), rule pytorch.yaml:12"; "": no frame decided it. Returns `text`. */
char *evidence_decided_by(char *text, size_t size, const struct analysis *analysis, uint32_t number);

#define EVIDENCE_TEXT_MAX 512u

/* Whether the frame's definition is complete: no library has to be read for its name. */
static inline int store_frame_is_plain(const struct mt_frame *frame)
{
	return frame->kind == MT_FRAME_PYTHON && !frame->module && !frame->symbol;
}

#endif
