/* facts_kept.h - the moment that a pass kept (rows/kept.h), as bytes and back. */
#ifndef MEMANA_FACTS_KEPT_H
#define MEMANA_FACTS_KEPT_H

#include "facts_guess.h"
#include "facts_io.h"
#include "rows/kept.h"

/* Behind the guess, in front of the rows. The moment holds differences from what is guessed then. */
void facts_kept_write(struct facts_io *io, struct kept_moment *moment, struct facts_guess *guess);

/* `moment` NULL: its bytes are skipped. Release the moment also after an error. */
void facts_kept_read(struct facts_io *io, const struct analysis *analysis, struct kept_moment *moment,
		     struct facts_guess *guess);

#endif
