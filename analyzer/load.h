/* load.h - every allocation, phase and step of a run as rows of the database. */
#ifndef MEMANA_LOAD_H
#define MEMANA_LOAD_H

#include "analysis.h"
#include "db.h"

/*
 * Runs the analysis and fills all tables of a new database; the transaction stays open. `analysis` is the caller's to
 * release, also after an error. 0; -MT_E_MEMORY; or an error of the database.
 */
int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules);

/*
 * Looks up the names of all native frames, so that the database has them on other machines too, and with them the
 * callsites. 0 or -MT_E_x.
 */
int load_names(struct db *db);

#endif
