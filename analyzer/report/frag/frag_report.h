/* frag_report.h - the report of memana frag about one device: its text, its JSON. */
#ifndef MEMANA_FRAG_REPORT_H
#define MEMANA_FRAG_REPORT_H

#include "base/column.h"
#include "base/json.h"
#include "base/text.h"
#include "frag.h"
#include "frag_replay.h"
#include "query/query.h"

/* The question. */
struct frag_command {
	const char *at; /* a name of the table moment; NULL: `time` */
	int64_t time;
	size_t limit;
	int json, help;
	struct frag_replay_ask replay;
};

/* The report's answer for one device. */
struct frag_report {
	const struct frag_command *command;
	struct db *db;
	const struct text *text; /* exactly one of `text` and `doc` is set */
	struct doc *doc;
	const struct query_device *device;
	struct frag_state state;
	int devices, phases; /* devices that have the instant; phases of the device with segments */
};

extern const struct column_table segment_columns;

/* One device. 0 or -MT_E_x. */
int frag_text(struct frag_report *report);
int frag_json(struct frag_report *report);

#endif
