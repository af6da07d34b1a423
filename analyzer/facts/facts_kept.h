/* facts_kept.h - the moment that a pass kept (rows/kept.h), as bytes and back. */
#ifndef MEMANA_FACTS_KEPT_H
#define MEMANA_FACTS_KEPT_H

#include "facts.h"
#include "facts_guess.h"
#include "facts_io.h"

/* Behind the guess, in front of the rows: the moment, and then its lives, in lots. These hold differences from what is guessed then. */
void facts_kept_write(struct facts_io *io, struct kept_moment *moment, struct facts_guess *guess);

/* The moment without its lives. `moment` NULL: its bytes are skipped. Release the moment also after an error. */
void facts_kept_read(struct facts_io *io, const struct analysis *analysis, struct kept_moment *moment);

/* Behind the moment: tells its lives. `tell` NULL: their bytes are skipped. 0 or an error, of the bytes or of `tell`. */
int facts_kept_lives(struct facts_io *io, const struct analysis *analysis, struct facts_guess *guess,
		     facts_tell_lives *tell, void *context);

#endif
