/*
 * to_pprof.c - writes stacks as a profile of pprof: one gzipped message of profile.proto (github.com/google/pprof). A
 * sample has the number of allocations and their bytes, as in the heap profiles of Go.
 *
 * The tables come after the samples, because they are complete only at the end. A message may have its fields in any
 * order.
 */
#include <string.h>
#include "export_moment.h"
#include "export_names.h"
#include "export_proto.h"
#include "memtrace/error.h"

/* Numbers of the fields in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

/* Keys of the tables. An id in the file is the number of the key plus 1. */
struct function {
	uint32_t name, file; /* numbers of texts */
};

struct location {
	uint32_t function, line;
};

struct writer {
	struct export_run *run;
	struct export_out *out;
	struct proto proto;
	struct export_names texts, functions, locations;
	int error;
};

static uint32_t number_of(struct writer *writer, struct export_names *names, const void *bytes, size_t size)
{
	uint32_t number = 0;
	int error = export_names_add(names, bytes, size, &number, NULL);

	if (error && !writer->error)
		writer->error = error;
	return number;
}

static uint32_t text(struct writer *writer, const char *text)
{
	return number_of(writer, &writer->texts, text, strlen(text));
}

static uint32_t location_id(struct writer *writer, const struct export_frame *frame)
{
	const struct function function = { text(writer, frame->function),
					   text(writer, *frame->file ? frame->file : frame->module) };
	struct location location = { .line = frame->line };

	location.function = number_of(writer, &writer->functions, &function, sizeof(function));
	return number_of(writer, &writer->locations, &location, sizeof(location)) + 1;
}

static void put_label(struct writer *writer, const char *key, const char *value)
{
	proto_begin(&writer->proto, SAMPLE_LABEL);
	proto_number(&writer->proto, LABEL_KEY, text(writer, key));
	proto_number(&writer->proto, LABEL_TEXT, text(writer, value));
	proto_end(&writer->proto);
}

static int put_stack(void *context, const struct export_stack *stack)
{
	struct writer *writer = context;
	struct proto *proto = &writer->proto;
	size_t i;

	proto_begin(proto, SAMPLE_LOCATION);
	for (i = stack->frames; i-- > 0;)
		proto_packed(proto, location_id(writer, &stack->frame[i]));
	proto_end(proto);
	proto_begin(proto, SAMPLE_VALUE);
	proto_packed(proto, stack->count);
	proto_packed(proto, stack->bytes);
	proto_end(proto);
	put_label(writer, "phase", stack->phase);
	put_label(writer, "category", stack->category);
	writer->run->written++;
	return writer->error ? writer->error : proto_put(proto, writer->out, PROFILE_SAMPLE);
}

static int put_type(struct writer *writer, const char *type, const char *unit)
{
	proto_number(&writer->proto, TYPE_TYPE, text(writer, type));
	proto_number(&writer->proto, TYPE_UNIT, text(writer, unit));
	return proto_put(&writer->proto, writer->out, PROFILE_SAMPLE_TYPE);
}

static int put_locations(struct writer *writer)
{
	struct location location;
	uint32_t i;
	int error = 0;

	for (i = 0; i < writer->locations.count && !error; i++) {
		memcpy(&location, export_names_get(&writer->locations, i, NULL), sizeof(location));
		proto_number(&writer->proto, LOCATION_ID, i + 1);
		proto_begin(&writer->proto, LOCATION_LINE);
		proto_number(&writer->proto, LINE_FUNCTION, location.function + 1);
		proto_number(&writer->proto, LINE_NUMBER, location.line);
		proto_end(&writer->proto);
		error = proto_put(&writer->proto, writer->out, PROFILE_LOCATION);
	}
	return error;
}

static int put_functions(struct writer *writer)
{
	struct function function;
	uint32_t i;
	int error = 0;

	for (i = 0; i < writer->functions.count && !error; i++) {
		memcpy(&function, export_names_get(&writer->functions, i, NULL), sizeof(function));
		proto_number(&writer->proto, FUNCTION_ID, i + 1);
		proto_number(&writer->proto, FUNCTION_NAME, function.name);
		proto_number(&writer->proto, FUNCTION_SYSTEM_NAME, function.name);
		proto_number(&writer->proto, FUNCTION_FILE, function.file);
		error = proto_put(&writer->proto, writer->out, PROFILE_FUNCTION);
	}
	return error;
}

/* Writes all texts, and the two fields of the profile that are numbers of texts. */
static int put_texts(struct writer *writer)
{
	char when[128];
	uint32_t comment = text(writer, export_moment_words(when, sizeof(when), writer->run)), i;

	proto_number(&writer->proto, PROFILE_COMMENT, comment);
	proto_number(&writer->proto, PROFILE_DEFAULT_TYPE, text(writer, "inuse_space"));
	for (i = 0; i < writer->texts.count; i++)
		proto_text(&writer->proto, PROFILE_STRING, export_names_get(&writer->texts, i, NULL));
	return writer->error ? writer->error : proto_put(&writer->proto, writer->out, 0);
}

int to_pprof(struct export_run *run, struct export_out *out)
{
	struct writer writer = { .run = run, .out = out };
	int error;

	run->what = "stack";
	export_gzip(out);
	text(&writer, ""); /* text number 0 must be empty */
	error = put_type(&writer, "inuse_objects", "count");
	if (!error)
		error = put_type(&writer, "inuse_space", "bytes");
	if (!error)
		error = export_stacks(run, put_stack, &writer);
	if (!error)
		error = put_locations(&writer);
	if (!error)
		error = put_functions(&writer);
	if (!error)
		error = put_texts(&writer);
	proto_release(&writer.proto);
	export_names_release(&writer.texts);
	export_names_release(&writer.functions);
	export_names_release(&writer.locations);
	return error || run->written ? error : -MT_E_MISSING;
}
