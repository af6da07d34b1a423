/*
 * json.h - builds a document from the outside in, and prints it. No other file uses jansson.
 *
 *     doc_object(doc, NULL);                   {
 *     doc_int(doc, "version", 1);                  "version": 1,
 *     doc_array(doc, "devices");                   "devices": [
 *     doc_end(doc);                                ]
 *     doc_end(doc);                            }
 *
 * `key` is NULL inside of arrays. If memory runs out, doc_print returns the error.
 */
#ifndef MEMANA_JSON_H
#define MEMANA_JSON_H

#include <stdint.h>
#include <stdio.h>

struct doc;

struct doc *doc_new(void); /* NULL: out of memory */
void doc_free(struct doc *doc);

void doc_fail(struct doc *doc); /* marks the document as failed: its caller ran out of memory */

void doc_object(struct doc *doc, const char *key);
void doc_array(struct doc *doc, const char *key);
void doc_end(struct doc *doc);

void doc_int(struct doc *doc, const char *key, int64_t value);
void doc_int_or_null(struct doc *doc, const char *key, int64_t value, int known);
void doc_range(struct doc *doc, const char *key, uint64_t low, uint64_t high); /* an object of "low" and "high" */
void doc_time(struct doc *doc, const char *key, int64_t ns);                   /* null if times are unknown (text.h) */
void doc_pid(struct doc *doc, const char *key, int64_t pid);   /* null for 0: PyTorch's snapshots have no process ids */
void doc_real(struct doc *doc, const char *key, double value); /* null for infinity: JSON has no such number */
void doc_bool(struct doc *doc, const char *key, int value);
void doc_null(struct doc *doc, const char *key);
void doc_string(struct doc *doc, const char *key, const char *text); /* bytes that are not UTF-8 become '?' */
void doc_text(struct doc *doc, const char *key, const char *text);   /* null for NULL and "" */

/* Opens the document of a command's answer, with its version and its type in docs/schema. */
void doc_answer(struct doc *doc, const char *command);

/* The fields of a device that every answer has. */
struct doc_device {
	int64_t id; /* number of the device, as people count */
	const char *kind, *name, *uuid;
	uint64_t total; /* bytes, 0: unknown */
};

/*
 * Adds to the document what all answers have (docs/schema): `verdict`, a text or null, and `devices`, each with id, kind, name, uuid, total_bytes and
 * verdict. Existing fields stay. A document without a verdict gets the first verdict of its devices.
 */
void doc_shape(struct doc *doc, const struct doc_device *device, size_t count);

/*
 * Stores names of files that belong to another run. From now on, doc_shape adds them to documents as `left_out`, with the files of earlier calls.
 * Without such files, or if memory runs out, the field is left out.
 */
void doc_left_out(const char *const *file, uint32_t count);

/* Reading of documents that this program wrote and that may have been changed since. */

struct doc_row; /* an object */

#define DOC_READ_MAX (16u << 20) /* bytes of a file; a larger one is refused */

/*
 * Reads a file. Returns 0, -MT_E_SYSTEM (see errno), -MT_E_LIMIT, -MT_E_CORRUPT (no JSON object) or -MT_E_MEMORY. `why` gets words for -MT_E_LIMIT
 * and -MT_E_CORRUPT. The caller frees *doc, which is NULL after an error.
 */
int doc_read(struct doc **doc, const char *path, char *why, size_t size);

/* Returns the whole document as an object. */
const struct doc_row *doc_root(const struct doc *doc);

/*
 * Calls `row` for each element of the array `key`. Returns 0; -MT_E_CORRUPT: there is no such array, or an element is no object; or the first result
 * of `row` that is not 0.
 */
int doc_each(const struct doc *doc, const char *key, int (*row)(void *context, const struct doc_row *row),
	     void *context);

/* Returns the text; NULL: the object has no such text. The text lives as long as the document. */
const char *doc_row_text(const struct doc_row *row, const char *key);

/* Returns 0; or -MT_E_CORRUPT: the object has no such integer. */
int doc_row_int(const struct doc_row *row, const char *key, int64_t *value);

/*
 * Prints the whole document and a newline. Returns 0, -MT_E_MEMORY, or -MT_E_SYSTEM: a write failed. main checks writes
 * to stdout.
 */
int doc_print(const struct doc *doc, FILE *file);

/* As doc_print, in one line and without a newline, for arrays of documents. */
int doc_print_line(const struct doc *doc, FILE *file);

#endif
