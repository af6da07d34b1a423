/* process.h - the PROCESS chunk: the recorded process (trace-v1.md, "PROCESS"). */
#ifndef FORMATS_PROCESS_H
#define FORMATS_PROCESS_H

#include "base/buffer.h"
#include "base/varint.h"
#include "memtrace/writer.h"

#define MT_PROCESS_HEAD 1 /* section: magic and version */

/* The fields of struct mt_process. X(member, section number, type) */
#define MT_PROCESS_LIST(X)            \
	X(pid, 2, number)             \
	X(ppid, 3, number)            \
	X(rank, 4, signed)            \
	X(depth, 5, number)           \
	X(python_version, 6, number)  \
	X(tool_version, 7, number)    \
	X(start_monotonic, 8, number) \
	X(start_realtime, 9, number)  \
	X(clock_error, 10, number)    \
	X(host, 11, text)             \
	X(boot_id, 12, text)          \
	X(command, 13, text)          \
	X(options, 14, text)          \
	X(ring_path, 15, text)        \
	X(snapshot, 16, number)       \
	X(run, 17, text)

/* Texts beyond MT_STRING_MAX are cut. Out of memory shows in payload->error. */
void mt_process_encode(const struct mt_process *process, struct mt_buffer *payload);

/*
 * Reads a payload; the cursor stands after the chunk kind. The texts belong to *process (mt_process_release, also
 * after an error). 0, -MT_E_MAGIC, -MT_E_VERSION, -MT_E_CORRUPT, -MT_E_LIMIT, -MT_E_MEMORY.
 */
int mt_process_decode(struct mt_process *process, struct mt_cursor *payload);

/* Frees a struct that mt_process_decode filled, or that is all zero. */
void mt_process_release(struct mt_process *process);

#endif
