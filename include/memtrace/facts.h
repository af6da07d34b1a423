/*
 * facts.h - the results of one pass over a trace, stored in the trace: `memana top`, `oom`, `advise`, `growth`, `steps`, `phases`, `retained`,
 * `check` and `diff` then read no events.
 *
 *     collector   writes events ──> trace.zst ──> the same pass as memana's, in a thread of the collector
 *                 END, index    <── FACTS <────── the pass after END, as bytes
 *     memana      if FACTS fit the file: reads the pass; else makes it from events
 *
 * Facts fit one program (their identity is made from the sources of the pass) and one file (a hash of all bytes before them). Facts with another
 * identity or hash count as missing. Facts save time and never change an answer.
 */
#ifndef MEMTRACE_FACTS_H
#define MEMTRACE_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "memtrace/reader.h"

/* ---- the pass (analyzer/facts) ---- */

struct mt_facts;

/* Returns the identity of this program's pass. */
uint64_t mt_facts_identity(void);

/*
 * Begins a pass over the trace at `path`, which is being written. `path` and `rules` must outlive the pass. NULL: out of memory, or the trace cannot
 * be read.
 */
struct mt_facts *mt_facts_new(const char *path, const struct mt_rules *rules);
void mt_facts_free(struct mt_facts *facts); /* NULL is fine */

/* Takes about `most` events from the file, at most. 1: took some; 0: none; below 0: there will be no facts. */
int mt_facts_take(struct mt_facts *facts, uint32_t most);

/* Returns the number of events taken so far. */
uint64_t mt_facts_taken(const struct mt_facts *facts);

/* Ends the pass. The file must have all its events, and mt_facts_take must have returned 0. The caller frees *data. 0; -MT_E_x: no facts. */
int mt_facts_end(struct mt_facts *facts, uint8_t **data, size_t *size);

/* ---- the file (formats) ---- */

/*
 * Reads the facts of a whole trace with an index. 1: *data is the caller's to free, all definitions are known, and the reader is at its end; 0: no
 * facts, and the reader is at its beginning; -MT_E_MEMORY; -MT_E_SYSTEM. Reads all bytes of the file for their hash, and unpacks none.
 */
int mt_reader_facts(struct mt_reader *reader, uint64_t identity, uint8_t **data, size_t *size);

/*
 * A callback that makes the facts of a trace whose events are all in the file, before the writer closes the file. The writer frees *data. 1: facts;
 * 0: none.
 */
struct mt_facts_maker {
	uint64_t identity;
	void *context;
	/* fd, events: the trace's descriptor and number of events. */
	int (*make)(void *context, int fd, uint64_t events, uint8_t **data, size_t *size);
};

#endif
