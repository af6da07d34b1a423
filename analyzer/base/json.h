/*
 * json.h - the one user of jansson: builds a document from the outside in and prints it.
 *
 *     doc_object(doc, NULL);            {
 *     doc_int(doc, "version", 1);         "version": 1,
 *     doc_array(doc, "devices");          "devices": [
 *     doc_end(doc);                       ]
 *     doc_end(doc);                     }
 *
 * `key` is NULL inside arrays. Running out of memory is remembered; doc_print tells.
 */
#ifndef MEMANA_JSON_H
#define MEMANA_JSON_H

#include <stdint.h>
#include <stdio.h>

struct doc;

struct doc *doc_new(void); /* NULL: out of memory */
void doc_free(struct doc *doc);

void doc_fail(struct doc *doc); /* memory ran out for who fills the document */

void doc_object(struct doc *doc, const char *key);
void doc_array(struct doc *doc, const char *key);
void doc_end(struct doc *doc);

void doc_int(struct doc *doc, const char *key, int64_t value);
void doc_int_or_null(struct doc *doc, const char *key, int64_t value, int known);
void doc_time(struct doc *doc, const char *key, int64_t ns);   /* null where times are not known (text.h) */
void doc_pid(struct doc *doc, const char *key, int64_t pid);   /* null for 0: PyTorch's snapshots have none */
void doc_real(struct doc *doc, const char *key, double value); /* null for what JSON has no number for: infinity */
void doc_bool(struct doc *doc, const char *key, int value);
void doc_null(struct doc *doc, const char *key);
void doc_string(struct doc *doc, const char *key, const char *text); /* bytes that are not UTF-8 become '?' */

/* Opens the document of a command's answer: its version, and the type that it has in docs/schema. */
void doc_answer(struct doc *doc, const char *command);

/* The fields that every answer has for a device. */
struct doc_device {
	int64_t id; /* its number for people */
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
 * From now on doc_shape adds `left_out` to documents: these files, beside those of earlier calls, that were named and are of
 * another run. Documents have it only where there are some. The field is absent when memory runs out.
 */
void doc_left_out(const char *const *file, uint32_t count);

/* Prints the whole document and a newline. 0, -MT_E_MEMORY or -MT_E_SYSTEM. */
int doc_print(const struct doc *doc, FILE *file);

#endif
