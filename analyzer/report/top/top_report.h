/*
 * top_report.h - the parts of the text of `memana top`. Private to top_text.c (the whole text), top_verdict.c, top_tables.c, top_places.c (the places
 * of a device's peak), and top_run.c (other facts of the recording). Functions with an int as result return 0 or -MT_E_x.
 */
#ifndef MEMANA_TOP_REPORT_H
#define MEMANA_TOP_REPORT_H

#include <stdint.h>
#include "base/text.h"
#include "query/query.h"
#include "report/places.h"
#include "report/top_host.h"
#include "top.h"

#define TOP_WORD_COLUMNS 24
#define TOP_WHY_COLUMNS 140 /* columns for texts whose length others decide */

struct top_report {
	const struct text *text;
	struct db *db;
	struct symbols *symbols;
	const struct top_options *options;
	uint64_t steps; /* sum over all processes */
	uint64_t events, lost, let_go;
	int damaged; /* 1: a trace ends with damage */
	int processes;
	const struct query_device *device; /* current device */
	int devices;                       /* number of devices in the text so far */
	int64_t only;                      /* the only GPU (id) with details; 0: all have details */
	struct places places;              /* places of the current device, or of the previous one */
	struct host_sum host;
};

/* Says "alloc_activations (rl_step.c:211)". */
void top_say_frame(struct sentence *sentence, const struct callstack_frame *frame);

/* Prints the name of the device, and the verdict. */
int top_print_verdict(const struct top_report *report);

/* Prints the parts of the peak, and the peaks of the phases. */
int top_print_parts(struct top_report *report, enum query_by by);
int top_has_owners(const struct top_report *report); /* 1: the peak has several owners: print their table */
int top_print_phase_peaks(struct top_report *report);

/* Prints the places that held most of the peak. */
void top_print_places(const struct top_report *report);

/* Prints the failed requests, each once. */
int top_print_ooms(const struct top_report *report);

/* Prints the sources that were recorded, and those that are missing. */
int top_print_recording(struct top_report *report);

/* Prints the command to try next. */
void top_print_blocks(const struct top_report *report); /* if tensors have their requested sizes */
int top_print_before(const struct top_report *report);
void top_print_next(const struct top_report *report);

#endif
