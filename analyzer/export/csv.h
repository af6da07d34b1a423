/*
 * csv.h - writes tables as comma-separated values (RFC 4180). The first line has the names of the columns, and lines
 * end with CRLF. A field with a comma, a quote or an end of a line is in quotes. Bytes that are not UTF-8 become '?'. A
 * field without a value is empty.
 */
#ifndef MEMANA_CSV_H
#define MEMANA_CSV_H

#include "export.h"

/* Writes a text as one field, in quotes where RFC 4180 asks for quotes. */
void csv_text(struct export_out *out, const char *text);

/*
 * Writes the allocations that were alive in the range, with the columns that to_csv.c asks of a database. It takes one
 * pass over the events, the memory of memana top, and a temporary file of about 17 bytes for each row. Returns 0 or
 * -MT_E_x. 1: nothing was written, because the source is a database, or because a free failed: the failure comes after
 * the row of its allocation.
 */
int csv_lives(struct export_run *run, struct export_out *out, const struct export_range *range);

#endif
