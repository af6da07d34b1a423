#include "json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "text.h"

#define DEPTH_MAX 544 /* a tree of modules has two levels for each of the 255 parts of a name */

struct doc {
	json_t *root;
	json_t *open[DEPTH_MAX]; /* borrowed references: each parent owns its values */
	int depth;
	int failed;
};

struct doc *doc_new(void)
{
	return calloc(1, sizeof(struct doc));
}

void doc_free(struct doc *doc)
{
	if (!doc)
		return;
	json_decref(doc->root);
	free(doc);
}

void doc_fail(struct doc *doc)
{
	doc->failed = 1;
}

/* Adds `value`, and takes ownership. */
static void put(struct doc *doc, const char *key, json_t *value)
{
	json_t *parent = doc->depth ? doc->open[doc->depth - 1] : NULL;
	int error = !value;

	if (parent && key)
		error = json_object_set_new(parent, key, value);
	else if (parent)
		error = json_array_append_new(parent, value);
	else
		doc->root = value;
	if (error)
		doc->failed = 1;
}

static void begin(struct doc *doc, const char *key, json_t *value)
{
	put(doc, key, value);
	if (doc->depth == DEPTH_MAX)
		doc->failed = 1;
	else
		doc->open[doc->depth++] = value;
}

void doc_object(struct doc *doc, const char *key)
{
	begin(doc, key, json_object());
}

void doc_array(struct doc *doc, const char *key)
{
	begin(doc, key, json_array());
}

void doc_end(struct doc *doc)
{
	doc->depth--;
}

void doc_int(struct doc *doc, const char *key, int64_t value)
{
	put(doc, key, json_integer(value));
}

void doc_answer(struct doc *doc, const char *command)
{
	char type[64];

	snprintf(type, sizeof(type), "urn:memana:%s:1", command);
	doc_object(doc, NULL);
	doc_int(doc, "version", 1);
	doc_string(doc, "schema", type);
}

void doc_int_or_null(struct doc *doc, const char *key, int64_t value, int known)
{
	if (known)
		doc_int(doc, key, value);
	else
		doc_null(doc, key);
}

void doc_range(struct doc *doc, const char *key, uint64_t low, uint64_t high)
{
	doc_object(doc, key);
	doc_int(doc, "low", (int64_t)low);
	doc_int(doc, "high", (int64_t)high);
	doc_end(doc);
}

void doc_time(struct doc *doc, const char *key, int64_t ns)
{
	doc_int_or_null(doc, key, ns, text_known.times);
}

void doc_pid(struct doc *doc, const char *key, int64_t pid)
{
	doc_int_or_null(doc, key, pid, pid != 0);
}

void doc_real(struct doc *doc, const char *key, double value)
{
	put(doc, key, isfinite(value) ? json_real(value) : json_null());
}

void doc_bool(struct doc *doc, const char *key, int value)
{
	put(doc, key, json_boolean(value));
}

void doc_null(struct doc *doc, const char *key)
{
	put(doc, key, json_null());
}

/* NULL: out of memory. */
static json_t *clean_string(const char *text)
{
	size_t size = strlen(text), at = 0, length;
	char *clean = strdup(text);
	json_t *string;
	uint32_t code;

	while (clean && at < size) {
		length = mt_utf8(clean + at, size - at, &code);
		if (!length)
			clean[at] = '?';
		at += length ? length : 1;
	}
	string = clean ? json_stringn(clean, size) : NULL;
	free(clean);
	return string;
}

void doc_string(struct doc *doc, const char *key, const char *text)
{
	put(doc, key, clean_string(text));
}

void doc_text(struct doc *doc, const char *key, const char *text)
{
	if (text && *text)
		doc_string(doc, key, text);
	else
		doc_null(doc, key);
}

static void add_missing(struct doc *doc, json_t *object, const char *key, json_t *value)
{
	if (json_object_get(object, key))
		json_decref(value);
	else if (json_object_set_new(object, key, value))
		doc->failed = 1;
}

static void shape_device(struct doc *doc, json_t *object, const struct doc_device *device)
{
	add_missing(doc, object, "id", json_integer(device->id));
	add_missing(doc, object, "kind", json_string(device->kind));
	add_missing(doc, object, "name", json_string(device->name));
	add_missing(doc, object, "uuid", json_string(device->uuid));
	add_missing(doc, object, "total_bytes", device->total ? json_integer((int64_t)device->total) : json_null());
	add_missing(doc, object, "verdict", json_null());
}

static const struct doc_device *device_of(const json_t *object, const struct doc_device *device, size_t count)
{
	const json_t *id = json_object_get(object, "id");
	size_t i;

	if (!id)
		id = json_object_get(object, "device");
	for (i = 0; i < count; i++)
		if (json_is_integer(id) && json_integer_value(id) == device[i].id)
			return &device[i];
	return NULL;
}

/* Replaces an empty verdict by null: both mean that there is no verdict. */
static json_t *verdict_of(json_t *object)
{
	json_t *verdict = json_object_get(object, "verdict");

	if (json_is_string(verdict) && !*json_string_value(verdict))
		json_object_set_new(object, "verdict", json_null());
	verdict = json_object_get(object, "verdict");
	return json_is_string(verdict) ? verdict : NULL;
}

static json_t *left_out; /* array of texts; NULL: no file was left out */

void doc_left_out(const char *const *file, uint32_t count)
{
	uint32_t i;

	if (count && !left_out)
		left_out = json_array();
	for (i = 0; i < count && left_out; i++)
		json_array_append_new(left_out, clean_string(file[i]));
}

void doc_shape(struct doc *doc, const struct doc_device *device, size_t count)
{
	json_t *devices = json_object_get(doc->root, "devices"), *verdict = NULL, *object;
	const struct doc_device *it;
	size_t i;

	if (!devices) {
		devices = json_array();
		for (i = 0; i < count; i++)
			json_array_append_new(devices, json_pack("{s:I}", "id", (json_int_t)device[i].id));
		add_missing(doc, doc->root, "devices", devices);
	}
	json_array_foreach(devices, i, object)
	{
		it = device_of(object, device, count);
		if (it)
			shape_device(doc, object, it);
		if (!verdict)
			verdict = verdict_of(object);
		else
			verdict_of(object);
	}
	verdict_of(doc->root);
	if (left_out)
		add_missing(doc, doc->root, "left_out", json_incref(left_out));
	add_missing(doc, doc->root, "verdict", verdict ? json_incref(verdict) : json_null());
}

/* Prints a document with harmful characters as \uXXXX. They are in strings only, and JSON gives both forms one meaning. */
static void print_escaped(const char *text, FILE *file)
{
	size_t size = strlen(text), from = 0, at, length;
	uint32_t code;

	for (at = 0; at < size; at += length) {
		length = mt_utf8(text + at, size - at, &code); /* doc_string has made all text valid */
		length += !length;
		if (!mt_is_harmful(code) || code == '\n')
			continue;
		fwrite(text + from, 1, at - from, file);
		if (code > 0xffff)
			fprintf(file, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
		else
			fprintf(file, "\\u%04x", code);
		from = at + length;
	}
	fwrite(text + from, 1, size - from, file);
}

static int print_as(const struct doc *doc, FILE *file, size_t layout)
{
	char *text = doc->failed ? NULL : json_dumps(doc->root, layout | JSON_REAL_PRECISION(15));

	if (!text)
		return -MT_E_MEMORY;
	print_escaped(text, file);
	free(text);
	return 0;
}

/* Returns 0 for standard output: main reports its failed writes, once for all commands. */
static int check_written(FILE *file)
{
	return file != stdout && (fflush(file) || ferror(file)) ? -MT_E_SYSTEM : 0;
}

int doc_print_line(const struct doc *doc, FILE *file)
{
	int error = print_as(doc, file, 0);

	return error ? error : check_written(file);
}

int doc_print(const struct doc *doc, FILE *file)
{
	int error = print_as(doc, file, JSON_INDENT(1));

	if (error)
		return error;
	fputc('\n', file);
	return check_written(file);
}

/* ---- reading ---- */

int doc_read(struct doc **doc, const char *path, char *why, size_t size)
{
	FILE *file = fopen(path, "r");
	json_error_t error;
	int result = 0;

	*doc = NULL;
	if (!file)
		return -MT_E_SYSTEM;
	if (fseek(file, 0, SEEK_END) || ftell(file) > (long)DOC_READ_MAX || fseek(file, 0, SEEK_SET)) {
		snprintf(why, size, "not a file of at most %u MiB", DOC_READ_MAX >> 20);
		result = -MT_E_LIMIT;
	}
	*doc = result ? NULL : doc_new();
	if (*doc && !((*doc)->root = json_loadf(file, 0, &error))) {
		snprintf(why, size, "no JSON: %s (line %d)", error.text, error.line);
		result = -MT_E_CORRUPT;
	}
	if (!*doc && !result)
		result = -MT_E_MEMORY;
	fclose(file);
	if (!result && !json_is_object((*doc)->root))
		result = -MT_E_CORRUPT;
	if (result) {
		doc_free(*doc);
		*doc = NULL;
	}
	return result;
}

const struct doc_row *doc_root(const struct doc *doc)
{
	return (const struct doc_row *)doc->root;
}

int doc_each(const struct doc *doc, const char *key, int (*row)(void *context, const struct doc_row *row),
	     void *context)
{
	json_t *array = json_object_get(doc->root, key), *object;
	size_t i;
	int error = json_is_array(array) ? 0 : -MT_E_CORRUPT;

	json_array_foreach(array, i, object)
	{
		if (!error)
			error = json_is_object(object) ? row(context, (const struct doc_row *)object) : -MT_E_CORRUPT;
	}
	return error;
}

const char *doc_row_text(const struct doc_row *row, const char *key)
{
	return json_string_value(json_object_get((const json_t *)row, key));
}

int doc_row_int(const struct doc_row *row, const char *key, int64_t *value)
{
	const json_t *number = json_object_get((const json_t *)row, key);

	if (!json_is_integer(number))
		return -MT_E_CORRUPT;
	*value = json_integer_value(number);
	return 0;
}
