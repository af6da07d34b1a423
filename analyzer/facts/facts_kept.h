/* facts_kept.h - writes and reads the moment that a pass kept (rows/kept.h). */
#ifndef MEMANA_FACTS_KEPT_H
#define MEMANA_FACTS_KEPT_H

#include "facts.h"
#include "facts_guess.h"
#include "facts_io.h"

/* Writes the moment, and then its lives in lots, between the guess and the rows. Lots hold differences from the guess. */
void facts_kept_write(struct facts_io *io, struct kept_moment *moment, struct facts_guess *guess);

/* Reads the moment without its lives; `moment` NULL: skips its bytes. Release the moment, also after an error. */
void facts_kept_read(struct facts_io *io, const struct analysis *analysis, struct kept_moment *moment);

/* Reads the lives behind the moment and passes them to `tell`; NULL: skips their bytes. 0 or an error, of the bytes or of `tell`. */
int facts_kept_lives(struct facts_io *io, const struct analysis *analysis, struct facts_guess *guess,
		     facts_tell_lives *tell, void *context);

#endif
