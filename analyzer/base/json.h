/*
 * json.h - the one user of jansson: builds a document from the outside in and prints it.
 *
 *     doc_object(doc, NULL);            {
 *     doc_int(doc, "version", 1);         "version": 1,
 *     doc_array(doc, "devices");          "devices": [
 *     doc_end(doc);                       ]
 *     doc_end(doc);                     }
 *
 * `key` is NULL inside arrays. doc_print returns an error if memory ran out before.
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
void doc_time(struct doc *doc, const char *key, int64_t ns);   /* null where times are not known (text.h) */
void doc_pid(struct doc *doc, const char *key, int64_t pid);   /* null for 0: PyTorch's snapshots have none */
void doc_real(struct doc *doc, const char *key, double value); /* null for infinity: JSON has no number for it */
void doc_bool(struct doc *doc, const char *key, int value);
void doc_null(struct doc *doc, const char *key);
void doc_string(struct doc *doc, const char *key, const char *text); /* bytes that are not UTF-8 become '?' */
void doc_text(struct doc *doc, const char *key, const char *text);   /* null for NULL and "" */

/* Opens the document of a command's answer: its version, and its type in docs/schema. */
void doc_answer(struct doc *doc, const char *command);

/* The fields that every answer has for a device. */
struct doc_device {
	int64_t id; /* number of the device for people */
	const char *kind, *name, *uuid;
	uint64_t total; /* bytes, 0: unknown */
};

/*
 * Gives the whole document the shape that all answers share (docs/schema): `verdict`, a text or null, and `devices`,
 * each with id, kind, name, uuid, total_bytes and verdict. Fields that are there stay. A document without a verdict
 * takes the first one of its devices.
 */
void doc_shape(struct doc *doc, const struct doc_device *device, size_t count);

/*
 * Names files that belong to another run. From now on doc_shape adds them to documents as `left_out`, with the files of
 * earlier calls. The field is absent without such files, or when memory runs out.
 */
void doc_left_out(const char *const *file, uint32_t count);

/* Reading documents that this program wrote, and that may have been changed. */

struct doc_row; /* an object */

#define DOC_READ_MAX (16u << 20) /* bytes of a file; a larger one is refused */

/*
 * Reads a file. Returns 0, -MT_E_SYSTEM (errno says why), -MT_E_LIMIT, -MT_E_CORRUPT: no JSON object, or -MT_E_MEMORY.
 * `why` explains -MT_E_LIMIT and -MT_E_CORRUPT. The caller frees *doc. After an error *doc is NULL.
 */
int doc_read(struct doc **doc, const char *path, char *why, size_t size);

/* The whole document as an object. */
const struct doc_row *doc_root(const struct doc *doc);

/*
 * Calls `row` for each element of the array `key`. Returns 0; -MT_E_CORRUPT: no such array, or an element is no object;
 * or the first result of `row` other than 0.
 */
int doc_each(const struct doc *doc, const char *key, int (*row)(void *context, const struct doc_row *row),
	     void *context);

/* NULL: no such text. The text lives as long as the document. */
const char *doc_row_text(const struct doc_row *row, const char *key);

/* 0, or -MT_E_CORRUPT: there is no such integer. */
int doc_row_int(const struct doc_row *row, const char *key, int64_t *value);

/*
 * Prints the whole document and a newline. Returns 0, -MT_E_MEMORY, or -MT_E_SYSTEM: a write failed. main checks writes
 * to stdout.
 */
int doc_print(const struct doc *doc, FILE *file);

/* The same in one line without a newline, for arrays of documents. */
int doc_print_line(const struct doc *doc, FILE *file);

#endif
