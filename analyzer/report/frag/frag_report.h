/* frag_report.h - the report of memana frag about one device, as text and as JSON. */
#ifndef MEMANA_FRAG_REPORT_H
#define MEMANA_FRAG_REPORT_H

#include "base/column.h"
#include "base/json.h"
#include "base/text.h"
#include "frag.h"
#include "frag_replay.h"
#include "query/query.h"

/* The options of the command. */
struct frag_command {
	const char *at; /* a name of the table moment; NULL: `time` counts */
	int64_t time;
	size_t limit;
	int json, help;
	struct frag_replay_ask replay;
};

/* The report on one device. */
struct frag_report {
	const struct frag_command *command;
	struct db *db;
	const struct text *text; /* exactly one of `text` and `doc` is set */
	struct doc *doc;
	const struct query_device *device;
	struct frag_state state;
	int devices, phases; /* number of devices that have the instant; number of the device's phases with segments */
};

extern const struct column_table segment_columns;

/* Print the report on one device. Return 0 or -MT_E_x. */
int frag_text(struct frag_report *report);
int frag_json(struct frag_report *report);

#endif
