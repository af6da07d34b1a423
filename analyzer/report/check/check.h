/* check.h - limits for a run: the limits from the command line, the findings, and their output. Private to the room, except for the columns. */
#ifndef MEMANA_CHECK_H
#define MEMANA_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include "base/column.h"
#include "query/query.h"
#include "report/answer.h"
#include "report/steps/figures.h"

struct check_limits {
	int has_peak, has_growth, has_host, growth_is_percent;
	uint64_t peak, growth, host; /* bytes */
	double percent;
	const char *phase;           /* NULL: any phase */
	const char *save, *baseline; /* names of files; NULL: not given */
	double tolerance;            /* percent above the baseline */
	const char *junit;           /* file for JUnit XML; NULL: not given */
	int github;                  /* 1: annotations of GitHub instead of text */
	struct answer_options options;
};

/* The result of one rule. */
struct check_finding {
	const char *rule;
	char subject[96]; /* "GPU 0", "rank 3 on GPU 0" */
	int holds, known, has_base;
	int64_t value, limit, base; /* bytes; `value` if known; `base` from the baseline */
	char words[160];            /* reason why `value` is unknown */
};

struct check {
	const struct check_limits *limits;
	struct check_finding *finding;
	size_t count, room;
	size_t broken;
	uint64_t lost; /* number of events that the traces do not have */
	int gpus;
	uint64_t phase_peak;
	int phase_ran;
	struct sentence growth;        /* the growth, in words */
	struct growth_figures figures; /* empty without a limit of growth */
};

/* ---- check_find.c ---- */

/* Adds a finding. NULL: out of memory. */
struct check_finding *check_add(struct check *check, const char *rule);
void check_judge(struct check *check, struct check_finding *finding, int64_t value, uint64_t limit);
void check_cannot_tell(struct check *check, struct check_finding *finding, uint64_t limit, const char *why);

/* Whether limits apply to the device: a GPU with memory in the run; without such a GPU, the CPU. */
int check_wants(const struct check *check, const struct query_device *device);

/* Compares the run with all limits of the command line. Returns 0 or -MT_E_x. */
int check_find(struct check *check, struct db *db);

/* ---- check_baseline.c ---- */

#define CHECK_TOLERANCE 1.0 /* percent */

/* Writes the run's figures to the file limits->save. Returns 0; after a message, the exit status. */
int check_save(struct check *check, struct db *db);

/* Compares the run with the figures of limits->baseline. Returns 0; after a message, the exit status. */
int check_against(struct check *check, struct db *db);

/* ---- check_output.c ---- */

void check_print_text(const struct check *check);
int check_json(struct doc *doc, void *check);
void check_print_github(const struct check *check);

/* Writes limits->junit. Returns 0; after a message, the exit status. */
int check_write_junit(const struct check *check);

extern const struct column_table check_columns;

#endif
