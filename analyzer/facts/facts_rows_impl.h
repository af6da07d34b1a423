/* facts_rows_impl.h - limits and columns that writing and reading of facts_rows.h share. */
#ifndef MEMANA_FACTS_ROWS_IMPL_H
#define MEMANA_FACTS_ROWS_IMPL_H

#include "facts_rows.h"

#define FACTS_ROWS_WORDS_MOST (1u << 20)
#define FACTS_ROWS_CHANGES_MOST (1u << 22)
#define FACTS_ROWS_WORD_MOST 65536u

/* The first number of the bytes: 0, there are no rows; else 1, the detail of lives, and FACTS_ROWS_USE where there are figures of phases. */
#define FACTS_ROWS_USE (SUMS_ALL + 1u)
#define FACTS_ROWS_FIRST (2 * FACTS_ROWS_USE)

/* The largest number of rows of a table. `detail`: of its lives, or what a reader asks of them. */
uint32_t facts_rows_limit(uint32_t table, enum sums_detail detail);

/* Columns of struct row_residence, and of a number of 8 bytes. */
#define FACTS_ROWS_CHANGE 6
extern const struct facts_member facts_rows_change[FACTS_ROWS_CHANGE], facts_rows_number[1];

#endif
