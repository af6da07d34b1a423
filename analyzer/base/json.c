#include "json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/clean.h"
#include "memtrace/error.h"

#define DEPTH_MAX 16

struct doc {
	json_t *root;
	json_t *open[DEPTH_MAX]; /* borrowed from their parents */
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

/* Takes over `value`. */
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

void doc_int_or_null(struct doc *doc, const char *key, int64_t value, int known)
{
	if (known)
		doc_int(doc, key, value);
	else
		doc_null(doc, key);
}

void doc_real(struct doc *doc, const char *key, double value)
{
	put(doc, key, json_real(value));
}

void doc_bool(struct doc *doc, const char *key, int value)
{
	put(doc, key, json_boolean(value));
}

void doc_null(struct doc *doc, const char *key)
{
	put(doc, key, json_null());
}

void doc_string(struct doc *doc, const char *key, const char *text)
{
	size_t size = strlen(text), at = 0, length;
	char *clean = strdup(text);
	uint32_t code;

	while (clean && at < size) {
		length = mt_utf8(clean + at, size - at, &code);
		if (!length)
			clean[at] = '?';
		at += length ? length : 1;
	}
	put(doc, key, clean ? json_stringn(clean, size) : NULL);
	free(clean);
}

/* A document with \uXXXX for what is harmful, which stands inside strings only: to who reads JSON it is the same. */
static void print_escaped(const char *text, FILE *file)
{
	size_t size = strlen(text), from = 0, at, length;
	uint32_t code;

	for (at = 0; at < size; at += length) {
		length = mt_utf8(text + at, size - at, &code); /* doc_string left nothing that is not valid */
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

int doc_print(const struct doc *doc, FILE *file)
{
	char *text = doc->failed ? NULL : json_dumps(doc->root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));

	if (!text)
		return -MT_E_MEMORY;
	print_escaped(text, file);
	free(text);
	if (fputc('\n', file) == EOF || fflush(file) || ferror(file))
		return -MT_E_SYSTEM;
	return 0;
}
