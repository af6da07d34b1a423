/*
 * to_html.c - writes a run as one page without network and other files.
 *
 * The markup has nothing of the run: all names are in the packed data, and page.js shows them only as text. The policy
 * of the page allows one script and one style, by their hashes, which the Makefile computes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "html.h"
#include "memtrace/error.h"
#include "report/answer.h"

/* The files of this folder as texts that end in NUL. */
extern const char html_page[], html_style[], html_data_script[], html_time_script[], html_script[];

#define PAGE_FILE(symbol, file)                                 \
	__asm__(".section .rodata\n"                            \
		".global " #symbol "\n"                         \
		".type " #symbol ", @object\n" #symbol ":\n"    \
		"\t.incbin \"analyzer/export/html/" file "\"\n" \
		"\t.byte 0\n"                                   \
		".size " #symbol ", . - " #symbol "\n"          \
		".previous\n");
PAGE_FILE(html_page, "page.html")
PAGE_FILE(html_style, "page.css")
PAGE_FILE(html_data_script, "page_data.js")
PAGE_FILE(html_time_script, "page_time.js")
PAGE_FILE(html_script, "page.js")

static const char policy[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
			     "script-src 'sha256-" PAGE_SCRIPT_HASH "'; style-src 'sha256-" PAGE_STYLE_HASH
			     "'; base-uri 'none'; form-action 'none'\">\n";

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* Returns 0; -MT_E_ARGUMENT: the run has ended before this time; or -MT_E_x. */
static int check_time(struct html *html, int64_t time)
{
	int64_t is_over = 0;
	int error = db_number(html->db, "SELECT ifnull(max(last_time), 0) < ?1 FROM process", DB_NUMBERS(time),
			      &is_over);

	return error ? error : is_over ? -MT_E_ARGUMENT : 0;
}

/* Sets the cursor to the peak of a step, on the device with the highest peak. Returns 0, -MT_E_ARGUMENT or -MT_E_x. */
static int find_step(struct html *html, uint32_t step)
{
	struct db_stmt *stmt;
	int found = db_first(html->db, &stmt,
			     "SELECT peak_time FROM step_device WHERE step = ?1 ORDER BY peak_bytes DESC LIMIT 1",
			     DB_NUMBERS(step));

	if (found == 1)
		html->at = db_int(stmt, 0);
	db_finish(stmt);
	return found < 0 ? found : found ? 0 : -MT_E_ARGUMENT;
}

/* Writes the first position of the cursor, by --at. */
static int put_cursor(struct html *html, struct doc *doc)
{
	const struct moment *at = &html->run->options->moment;
	uint32_t i, ooms = 0;

	switch (at->kind) {
	case MOMENT_TIME:
		html->at = at->time;
		return check_time(html, at->time);
	case MOMENT_STEP:
		return find_step(html, at->step);
	case MOMENT_OOM:
		for (i = 0; i < html->moves.devices; i++)
			ooms += html->moves.device[i].marks;
		doc_string(doc, "at", "oom");
		return ooms ? 0 : -MT_E_ARGUMENT;
	default:
		return html->range.first == INT64_MIN ? 0 : check_time(html, html->range.first);
	}
}

static int fill(struct html *html, struct doc *doc, struct html_bytes *columns)
{
	int error;

	doc_string(doc, "title", html->run->options->confidential ? "" : html->run->name);
	doc_string(doc, "version", MEMREC_VERSION);
	doc_bool(doc, "confidential", html->run->options->confidential);
	doc_bool(doc, "has_times", text_known.times);
	doc_bool(doc, "has_lives", html->has_lives);
	error = put_cursor(html, doc);
	if (html->at != EXPORT_NO_TIME)
		doc_int(doc, "at_ns", html->at);
	if (!error)
		error = html_cells(html, doc);
	if (!error)
		error = html_columns(html, doc, columns);
	if (!error)
		error = html_tables(html, doc);
	return error ? error : html_segments(html, doc);
}

/* Makes the document as text. The caller frees *text. Returns 0 or -MT_E_x. */
static int print(struct html *html, struct html_bytes *columns, char **text, size_t *size)
{
	struct doc *doc = doc_new();
	FILE *file = doc ? open_memstream(text, size) : NULL;
	int error = file ? 0 : -MT_E_MEMORY;

	if (!error) {
		doc_object(doc, NULL);
		error = fill(html, doc, columns);
		doc_end(doc);
	}
	if (!error)
		error = doc_print(doc, file);
	if (file && fclose(file) && !error)
		error = -MT_E_MEMORY;
	doc_free(doc);
	return error;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void put_data(struct export_out *out, const char *text, size_t size, const struct html_bytes *columns)
{
	const unsigned char length[] = { (unsigned char)size, (unsigned char)(size >> 8), (unsigned char)(size >> 16),
					 (unsigned char)(size >> 24) };

	export_gzip_text(out);
	export_put(out, length, sizeof(length));
	export_put(out, text, size);
	export_put(out, columns->byte, columns->size);
	export_gzip_end(out);
}

static void put_page(struct export_out *out, const char *text, size_t size, const struct html_bytes *columns)
{
	export_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	export_text(out, policy);
	export_text(
		out,
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>memana</title>\n<style>");
	export_text(out, html_style);
	export_text(out, "</style>\n</head>\n");
	export_text(out, html_page);
	export_text(out, "<script type=\"text/plain\" id=\"data\">");
	put_data(out, text, size, columns);
	export_text(out, "</script>\n<script>");
	export_text(out, html_data_script);
	export_text(out, html_time_script);
	export_text(out, html_script);
	export_text(out, "</script>\n</body>\n</html>\n");
}

static void count(struct export_run *run, const struct moves_all *all)
{
	uint32_t i;

	run->what = "change";
	for (i = 0; i < all->devices; i++) {
		run->written += all->device[i].changes;
		run->left_out += all->device[i].told - all->device[i].changes;
	}
}

int to_html(struct export_run *run, struct export_out *out)
{
	struct html html = { .run = run, .moves.most = MOVES_MAX, .events_most = HTML_EVENTS_MAX, .at = EXPORT_NO_TIME };
	struct html_bytes columns = { 0 };
	char *text = NULL;
	size_t size = 0;
	int error = html_read(&html);

	if (!error)
		error = print(&html, &columns, &text, &size);
	if (!error && size > UINT32_MAX)
		error = -MT_E_LIMIT;
	if (!error) {
		put_page(out, text, size, &columns);
		count(run, &html.moves);
	}
	free(text);
	free(columns.byte);
	free(html.cell_of);
	moves_release(&html.moves);
	return error;
}
