/*
 * intake.h - from the names that ring events carry (hashes, serials, device numbers) to definitions of the trace.
 *
 * Reads the ring's log forward, only as far as events need. A stack is put together when an event first names it:
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

/* Keeps pointers to both; they must outlive it. NULL: out of memory. */
struct mt_intake *mt_intake_new(struct ring_view *view, struct mt_defs *defs);
void mt_intake_free(struct mt_intake *intake);

enum mt_intake_status {
	MT_INTAKE_FOUND = 0,
	MT_INTAKE_MISSING = 1, /* the log does not have it and never will */
	MT_INTAKE_BLOCKED = 2, /* it may lie behind a record that is not finished yet */
};

/* Stack node of the hash / thread of the serial; *id is 0 unless FOUND. A damaged definition is MISSING. */
enum mt_intake_status mt_intake_stack(struct mt_intake *intake, uint64_t hash, uint32_t *id);
enum mt_intake_status mt_intake_thread(struct mt_intake *intake, uint32_t serial, uint32_t *id);

/* Builds with what is there: frames whose code is unknown have no name. For when waiting makes no sense any more. */
uint32_t mt_intake_stack_partly(struct mt_intake *intake, uint64_t hash);

/* Device id; 0 for index -1 and whatever the ledger has no room for. */
uint32_t mt_intake_device(struct mt_intake *intake, int type, int32_t index);

/* Device id of CUDA device `index` if the trace has it already, else 0. */
uint32_t mt_intake_known_device(const struct mt_intake *intake, uint32_t index);

/* The facts of CUDA device `index`, for its definition; texts may be NULL, both are copied. */
void mt_intake_describe(struct mt_intake *intake, uint32_t index, const char *name, const char *uuid, uint64_t total);

/*
 * Which line of the source a Python instruction belongs to, from the table that CPython keeps in the code
 * object. The agent copies the table as it is; it is decoded here, where time does not matter.
 *
 *   before 3.10   co_lnotab      pairs: bytes of code, lines (signed)
 *   3.10          co_linetable   the same with ranges that have no line (PEP 626)
 *   from 3.11     co_linetable   entries of one flag byte (kind, length) and what the kind needs
 */

/*
 * `version`: PY_VERSION_HEX of the process; `table`, `size`: the table (size 0: unknown); `first_line`:
 * co_firstlineno; `offset`: of the instruction, bytes; negative as int32_t: the code has not begun. 0: the
 * instruction has no line. Without the table or the version: first_line. Tables may be hostile.
 */
uint32_t mt_pyline(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset);

#endif
