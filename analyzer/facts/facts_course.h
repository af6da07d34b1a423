/* facts_course.h - writes and reads the moves of rows/course.h. */
#ifndef MEMANA_FACTS_COURSE_H
#define MEMANA_FACTS_COURSE_H

#include "facts_io.h"
#include "rows/course.h"

/*
 * Writes the moves, behind the moment. A course of more than an eighth of a byte for each of `events` is not written: facts must stay a small part of
 * the trace.
 */
void facts_course_write(struct facts_io *io, const struct course_moves *moves, uint64_t events);

/* Reads the moves; `moves` NULL: skips their bytes. The caller frees the moves, also after an error. */
void facts_course_read(struct facts_io *io, const struct analysis *analysis, struct course_moves *moves);

#endif
