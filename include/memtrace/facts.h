/*
 * facts.h - what one pass over a trace finds, kept in the trace: `memana top`, `oom`, `advise`, `growth`, `steps`, `phases`, `retained`, `check` and
 * `diff` without its events.
 *
 *     collector   writes events ──> trace.zst ──> a pass of its own, in a thread behind the collector
 *                 END, index    <── FACTS <────── as the pass stands after END
 *     memana      FACTS of exactly these bytes ──> the pass is there; else it is made
 *
 * Facts are what the same program would find: they are of one identity (of the sources of the pass) and of one file (a hash of
 * all bytes before them). Facts of another identity, and of a file that has changed, are not there. So facts save time, and never
 * change an answer.
 */
#ifndef MEMTRACE_FACTS_H
#define MEMTRACE_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "memtrace/reader.h"

/* ---- the pass (analyzer/facts) ---- */

struct mt_facts;

/* The identity of this program's pass. */
uint64_t mt_facts_identity(void);

/* A pass over the trace at `path`, which is being written. `path` and `rules` outlive it. NULL: it cannot be had. */
struct mt_facts *mt_facts_new(const char *path, const struct mt_rules *rules);
void mt_facts_free(struct mt_facts *facts); /* NULL is fine */

/* Takes at most about `most` events that are in the file. 1: there were some; 0: none; below 0: there will be no facts. */
int mt_facts_take(struct mt_facts *facts, uint32_t most);

/* The number of events that the pass has taken. */
uint64_t mt_facts_taken(const struct mt_facts *facts);

/* The file has all its events, and mt_facts_take gave 0. *data is freed by the caller. 0 or -MT_E_x: there are none. */
int mt_facts_end(struct mt_facts *facts, uint8_t **data, size_t *size);

/* ---- the file (formats) ---- */

/*
 * The facts of a trace that is whole and says so in its index: *data, which the caller frees, and all definitions are known. The
 * reader is at its end. 1; 0: there are none, and the reader is at its beginning; -MT_E_MEMORY; -MT_E_SYSTEM. Time: all bytes of
 * the file are read, and not unpacked.
 */
int mt_reader_facts(struct mt_reader *reader, uint64_t identity, uint8_t **data, size_t *size);

/*
 * The caller's pass over a trace that is about to be closed: all its events are in the file. The writer frees *data. 1: there are facts;
 * 0: there are none.
 */
struct mt_facts_maker {
	uint64_t identity;
	void *context;
	/* fd, events: of the trace. */
	int (*make)(void *context, int fd, uint64_t events, uint8_t **data, size_t *size);
};

#endif
