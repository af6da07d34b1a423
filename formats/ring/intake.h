/*
 * intake.h - turns the names in ring events (hashes, serials, device numbers) into definitions of the trace.
 *
 * Reads the ring's log forward, only as far as events need. A stack is built when an event first names it:
 *
 *     ring: innermost first                              trace: outermost is the root
 *     python:  step ◂ train ◂ main                       main ▸ train ▸ step ▸ at::empty ▸ cudaMalloc
 *     native:  agent ◂ cupti ◂ cudaMalloc ◂ at::empty    (agent and cupti in front are ours: left out; from the
 *              ◂ _PyEval_EvalFrame ◂ ... ◂ main           interpreter outwards Python's own frames say it better)
 */
#ifndef FORMATS_INTAKE_H
#define FORMATS_INTAKE_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "ring_read.h"

struct mt_intake;

/* `view` and `defs` must outlive it. NULL: out of memory. */
struct mt_intake *mt_intake_new(struct ring_view *view, struct mt_defs *defs);
void mt_intake_free(struct mt_intake *intake);

enum mt_intake_status {
	MT_INTAKE_FOUND = 0,
	MT_INTAKE_MISSING = 1, /* the log lacks it for good */
	MT_INTAKE_BLOCKED = 2, /* it may be behind an unfinished record */
};

/* Stack node of the hash / thread of the serial; *id is 0 unless FOUND. A damaged definition is MISSING. */
enum mt_intake_status mt_intake_stack(struct mt_intake *intake, uint64_t hash, uint32_t *id);
enum mt_intake_status mt_intake_thread(struct mt_intake *intake, uint32_t serial, uint32_t *id);

/* Builds a stack from the definitions so far. Frames with unknown code have no name. For use when waiting has ended. */
uint32_t mt_intake_stack_partly(struct mt_intake *intake, uint64_t hash);

/* Returns a device id; 0 for index -1 and for a device beyond the ledger's limit. */
uint32_t mt_intake_device(struct mt_intake *intake, int type, int32_t index);

/* Returns the id of CUDA device `index`, 0 if the trace does not have it yet. */
uint32_t mt_intake_known_device(const struct mt_intake *intake, uint32_t index);

/* Sets the facts for the definition of CUDA device `index`. Texts may be NULL and are copied. */
void mt_intake_describe(struct mt_intake *intake, uint32_t index, const char *name, const char *uuid, uint64_t total);

/*
 * Finds the source line of a Python instruction in the table that CPython keeps in the code object. The agent copies
 * the table as it is and leaves the slow decoding to this function.
 *
 *   before 3.10   co_lnotab      pairs: bytes of code, lines (signed)
 *   3.10          co_linetable   the same with ranges that have no line (PEP 626)
 *   from 3.11     co_linetable   entries of one flag byte (kind, length) and what the kind needs
 */

/*
 * `version`: PY_VERSION_HEX of the process. `table`, `size`: the table; size 0: unknown. `first_line`: co_firstlineno.
 * `offset`: bytes to the instruction; negative as int32_t: the code has not begun. Returns the line; 0: the instruction
 * has none. Without table or version: first_line. Tables may be hostile.
 */
uint32_t mt_pyline(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset);

#endif
