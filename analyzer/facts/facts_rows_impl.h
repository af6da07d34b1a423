/* facts_rows_impl.h - limits and columns that writing and reading of facts_rows.h share. */
#ifndef MEMANA_FACTS_ROWS_IMPL_H
#define MEMANA_FACTS_ROWS_IMPL_H

#include "facts_rows.h"

#define FACTS_ROWS_WORDS_MOST (1u << 20)
#define FACTS_ROWS_CHANGES_MOST (1u << 22)
#define FACTS_ROWS_WORD_MOST 65536u

/* Part of the first number of the bytes. The number is 0 without rows; else 1 + detail of lives, + FACTS_ROWS_USE with figures of phases. */
#define FACTS_ROWS_USE (SUMS_ALL + 1u)
#define FACTS_ROWS_FIRST (2 * FACTS_ROWS_USE)

/* Returns the largest number of rows of a table. `detail`: of the stored lives, or of the lives that a reader wants. */
uint32_t facts_rows_limit(uint32_t table, enum sums_detail detail);

/* Members of struct row_residence; one member of 8 bytes. */
#define FACTS_ROWS_CHANGE 6
extern const struct facts_member facts_rows_change[FACTS_ROWS_CHANGE], facts_rows_number[1];

#endif
