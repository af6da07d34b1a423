/*
 * csv.h - tables as RFC 4180 has them: a header, fields with commas between, ends of lines are CRLF. A field with a comma, a quote
 * or an end of a line stands in quotes. Bytes that are not UTF-8 are '?'. A field without a value is empty.
 */
#ifndef MEMANA_CSV_H
#define MEMANA_CSV_H

#include "export.h"

/* A field, which the caller frees; NULL: out of memory. */
char *csv_field(const char *text);
void csv_text(struct export_out *out, const char *text);

/*
 * The allocations of traces that were alive in the range: the columns and rows of the table that to_csv.c asks a database for. One pass
 * over the events; memory as for memana top; a temporary file, some 17 bytes a row. 0; 1: not of these traces, and nothing was written:
 * a free failed, which shows after its row, or it is a database; or -MT_E_x.
 */
int csv_lives(struct export_run *run, struct export_out *out, const struct export_range *range);

#endif
