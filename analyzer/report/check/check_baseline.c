/*
 * The baseline: the figures of a run in a file, with which later runs are compared.
 *
 * A figure has a rule and a subject, as in the answer: "max-peak", "GPU 0 in forward". Growth is a sum over all processes on a device: pids differ
 * between runs. Host memory is not a figure: it differs from run to run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/command.h"
#include "source/partial_file.h"

#define BASELINE_SCHEMA "urn:memana:baseline:1"
#define BASELINE_LEAST (1u << 20) /* bytes: the tolerance is at least this, as in memana diff */
#define BASELINE_FIGURES_MAX 4096u

struct figure {
	const char *rule; /* static text */
	char subject[96];
	int64_t bytes;
};

struct measured {
	struct check *check;
	struct db *db;
	const struct query_device *device;
	struct figure *figure;
	size_t count, room;
};

/* ---- the figures of a run ---------------------------------------------------------------------------------------- */

/* Adds a figure. NULL: out of memory. */
static struct figure *add_figure(struct measured *measured, const char *rule, int64_t bytes)
{
	struct figure *larger;

	if (MT_ARRAY_ROOM(measured->figure, measured->count, measured->room))
		return NULL;
	larger = &measured->figure[measured->count++];
	*larger = (struct figure){ .rule = rule, .bytes = bytes };
	return larger;
}

static int add_phase(void *context, const struct query_phase_peak *row)
{
	struct measured *measured = context;
	struct figure *figure = add_figure(measured, "max-peak", (int64_t)row->bytes);
	char device[TEXT_SIZE_MAX];

	if (!figure)
		return -MT_E_MEMORY;
	snprintf(figure->subject, sizeof(figure->subject), "%s in %.24s",
		 answer_device(device, measured->device->number, measured->device->kind), row->phase);
	return 0;
}

static int add_device(void *context, const struct query_device *row)
{
	struct measured *measured = context;
	char device[TEXT_SIZE_MAX];
	struct figure *figure;

	if (!check_wants(measured->check, row))
		return 0;
	figure = add_figure(measured, "max-peak", (int64_t)row->peak.bytes);
	if (!figure)
		return -MT_E_MEMORY;
	snprintf(figure->subject, sizeof(figure->subject), "%s", answer_device(device, row->number, row->kind));
	measured->device = row;
	return query_phase_peaks(measured->db, row->id, add_phase, measured);
}

/* Returns the growth of a device; 0: it does not grow. */
static uint64_t growth_of(const struct growth *growth, int64_t device)
{
	size_t i;

	for (i = 0; i < growth->devices; i++)
		if (growth->device[i].device == device)
			return growth->device[i].each;
	return 0;
}

static int add_growth(void *context, const struct query_device *row)
{
	struct measured *measured = context;
	const struct growth *growth = &measured->check->figures.growth;
	char device[TEXT_SIZE_MAX];
	struct figure *figure;

	if (!check_wants(measured->check, row))
		return 0;
	figure = add_figure(measured, "growth", (int64_t)growth_of(growth, row->id));
	if (!figure)
		return -MT_E_MEMORY;
	snprintf(figure->subject, sizeof(figure->subject), "%s", answer_device(device, row->number, row->kind));
	return 0;
}

/* Adds the figures of the run. Growth over too few steps is no figure. */
static int measure(struct measured *measured)
{
	struct check *check = measured->check;
	int error = query_devices(measured->db, add_device, measured);

	if (!error && !check->limits->has_growth) {
		growth_figures_release(&check->figures);
		check->growth.size = 0;
		error = growth_figures_load(&check->figures, measured->db, GROWTH_STEPS);
		if (!error)
			growth_say(&check->growth, &check->figures.growth, 0);
	}
	if (!error && check->figures.growth.state != GROWTH_UNKNOWN)
		error = query_devices(measured->db, add_growth, measured);
	return error;
}

/* ---- the file of figures ----------------------------------------------------------------------------------------- */

static void put_figures(struct doc *doc, const struct measured *measured)
{
	size_t i;

	doc_object(doc, NULL);
	doc_int(doc, "version", 1);
	doc_string(doc, "schema", BASELINE_SCHEMA);
	doc_array(doc, "figures");
	for (i = 0; i < measured->count; i++) {
		doc_object(doc, NULL);
		doc_string(doc, "rule", measured->figure[i].rule);
		doc_string(doc, "subject", measured->figure[i].subject);
		doc_int(doc, "bytes", measured->figure[i].bytes);
		doc_end(doc);
	}
	doc_end(doc);
	doc_end(doc);
}

/* Writes a temporary file and renames it: the old file stays until the new one is complete. Returns 0 or -MT_E_x. */
static int write_figures(const char *output, const struct measured *measured)
{
	struct doc *doc = doc_new();
	char path[4096];
	FILE *file;
	int error = doc ? 0 : -MT_E_MEMORY, system;

	if (doc)
		put_figures(doc, measured);
	partial_file_beside(path, sizeof(path), output);
	file = fopen(path, "w");
	if (!error)
		error = file ? doc_print(doc, file) : -MT_E_SYSTEM;
	if (file && fclose(file) && !error)
		error = -MT_E_SYSTEM;
	if (!error && rename(path, output))
		error = -MT_E_SYSTEM;
	system = errno;
	if (error)
		unlink(path);
	partial_file_end();
	doc_free(doc);
	errno = system;
	return error;
}

int check_save(struct check *check, struct db *db)
{
	struct measured measured = { .check = check, .db = db };
	const char *output = check->limits->save;
	char count[64];
	int error = measure(&measured), status = 0;

	if (error)
		status = report_no_answer("check", db, error);
	else if (!measured.count)
		status = command_fail(EXIT_NO, "check: --save %s: nothing was recorded on any device", output);
	else if ((error = write_figures(output, &measured)) != 0)
		status = command_fail(mt_exit_code(error), "check: %s: %s", output,
				      error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error));
	else if (!check->limits->options.json && !check->limits->github)
		text_say("%s: %s saved (memana check TRACE --baseline %s)\n", output,
			 text_count(count, sizeof(count), measured.count, "figure"), text_word(output));
	free(measured.figure);
	return status;
}

/* ---- comparing a run with a file --------------------------------------------------------------------------------- */

static uint64_t allowed(const struct check *check, int64_t base)
{
	double more = (double)base * check->limits->tolerance / 100;
	uint64_t room = more > 1e18 ? (uint64_t)1e18 : (uint64_t)more;

	return (uint64_t)base + (room > BASELINE_LEAST ? room : BASELINE_LEAST);
}

static const struct figure *find_figure(const struct measured *measured, const char *rule, const char *subject)
{
	size_t i;

	for (i = 0; i < measured->count; i++)
		if (!strcmp(measured->figure[i].rule, rule) && !strcmp(measured->figure[i].subject, subject))
			return &measured->figure[i];
	return NULL;
}

/* Takes a row of the file. Returns 0, or -MT_E_CORRUPT for a bad row. */
static int take_row(void *context, const struct doc_row *row)
{
	struct measured *measured = context;
	struct check *check = measured->check;
	const char *rule = doc_row_text(row, "rule"), *subject = doc_row_text(row, "subject");
	struct check_finding *finding;
	const struct figure *figure;
	int64_t base;

	if (!rule || !subject || doc_row_int(row, "bytes", &base) || base < 0 || base > INT64_MAX / 4 ||
	    strlen(subject) >= sizeof(finding->subject) || check->count >= BASELINE_FIGURES_MAX)
		return -MT_E_CORRUPT;
	figure = find_figure(measured, rule, subject);
	finding = check_add(check, !strcmp(rule, "growth") ? "growth" : "max-peak");
	if (!finding)
		return -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
	finding->has_base = 1;
	finding->base = base;
	if (figure)
		check_judge(check, finding, figure->bytes, allowed(check, base));
	else
		check_cannot_tell(check, finding, allowed(check, base),
				  "the baseline has this figure, the run does not");
	return 0;
}

int check_against(struct check *check, struct db *db)
{
	struct measured measured = { .check = check, .db = db };
	const char *path = check->limits->baseline, *schema;
	char why[256] = "not a baseline of memana check --save";
	struct doc *doc;
	int error = measure(&measured), read;

	if (error) {
		free(measured.figure);
		return report_no_answer("check", db, error);
	}
	read = doc_read(&doc, path, why, sizeof(why));
	schema = read ? NULL : doc_row_text(doc_root(doc), "schema");
	if (!read)
		read = schema && !strcmp(schema, BASELINE_SCHEMA) ? doc_each(doc, "figures", take_row, &measured)
								  : -MT_E_CORRUPT;
	doc_free(doc);
	free(measured.figure);
	if (!read)
		return 0;
	return command_fail(mt_exit_code(read), "check: --baseline %s: %s", path,
			    read == -MT_E_SYSTEM   ? strerror(errno)
			    : read == -MT_E_MEMORY ? mt_strerror(read)
						   : why);
}
