/*
 * pyline.h - which line of the source a Python instruction belongs to, from the table that CPython keeps in the code
 * object. The agent copies the table as it is; it is decoded here, where time does not matter.
 *
 *   before 3.10   co_lnotab      pairs: bytes of code, lines (signed)
 *   3.10          co_linetable   the same with ranges that have no line (PEP 626)
 *   from 3.11     co_linetable   entries of one flag byte (kind, length) and what the kind needs
 */
#ifndef FORMATS_PYLINE_H
#define FORMATS_PYLINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * `version`: PY_VERSION_HEX of the process; `table`, `size`: the table (size 0: unknown); `first_line`:
 * co_firstlineno; `offset`: of the instruction, bytes; negative as int32_t: the code has not begun.
 * 0: the instruction has no line. Where the table or the version is unknown: first_line. Tables may be hostile.
 */
uint32_t mt_pyline(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset);

#endif
