/* facts_course.h - the moves that the highest sums need (rows/course.h), as bytes and back. */
#ifndef MEMANA_FACTS_COURSE_H
#define MEMANA_FACTS_COURSE_H

#include "facts_io.h"
#include "rows/course.h"

/* Behind the moment. A course that takes more than an eighth of a byte for each of `events` is left out: facts are to be a small part of the trace. */
void facts_course_write(struct facts_io *io, const struct course_moves *moves, uint64_t events);

/* `moves` NULL: its bytes are skipped. The caller frees the moves also after an error. */
void facts_course_read(struct facts_io *io, const struct analysis *analysis, struct course_moves *moves);

#endif
