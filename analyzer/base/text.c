#include "text.h"

#include <ctype.h>
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "colour.h"
#include "memtrace/base.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "memtrace/shell.h"

#define WORD_SIZE 8192
#define COLUMNS_LEAST 60
#define COLUMNS_MOST 200

static enum text_when colour_when;
static struct {
	FILE *file; /* the terminal that a pager writes to; NULL: no pager */
	int columns;
} paged;

void text_set_colour(enum text_when when)
{
	colour_when = when;
}

static int is_terminal(FILE *file)
{
	return file == paged.file || isatty(fileno(file));
}

/* Returns the columns of the terminal; 0: unknown. */
static int terminal_columns(FILE *file)
{
	struct winsize size;

	if (file == paged.file)
		return paged.columns;
	return isatty(fileno(file)) && !ioctl(fileno(file), TIOCGWINSZ, &size) ? size.ws_col : 0;
}

void text_keep_terminal(FILE *file)
{
	paged.columns = terminal_columns(file);
	paged.file = file;
}

static int columns_here(FILE *file)
{
	const char *said = getenv("COLUMNS");
	long columns = said ? strtol(said, NULL, 10) : 0;

	if (columns <= 0)
		columns = terminal_columns(file);
	if (columns <= 0)
		return TEXT_COLUMNS;
	return columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns > COLUMNS_MOST ? COLUMNS_MOST : (int)columns;
}

static int wants_colour(FILE *file)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (colour_when != TEXT_AUTO)
		return colour_when == TEXT_ALWAYS;
	return is_terminal(file) && !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb");
}

int text_columns(const struct text *text)
{
	return text->columns ? text->columns : TEXT_COLUMNS;
}

void text_init(struct text *text, FILE *file)
{
	text->file = file;
	text->colour = wants_colour(file);
	text->colours = text->colour ? colour_of_terminal() : 0;
	text->blocks = is_terminal(file) && !strcmp(nl_langinfo(CODESET), "UTF-8");
	text->columns = columns_here(file);
}

/* ---- numbers ---- */

const char *text_bytes(char out[TEXT_SIZE_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;
	double value = (double)bytes;

	while (value >= 1023.95 && unit + 1 < MT_ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	if (unit)
		snprintf(out, TEXT_SIZE_MAX, "%.1f %s", value, units[unit]);
	else
		snprintf(out, TEXT_SIZE_MAX, "%u B", (unsigned)bytes);
	return out;
}

const char *text_change(char out[TEXT_SIZE_MAX], int64_t bytes)
{
	char size[TEXT_SIZE_MAX];
	uint64_t amount = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	snprintf(out, TEXT_SIZE_MAX, "%s%.20s", bytes < 0 ? "-" : bytes ? "+" : "", text_bytes(size, amount));
	return out;
}

struct text_known text_known = { .times = 1, .history = 1 };

const char *text_time(char out[TEXT_SIZE_MAX], int64_t ns)
{
	double seconds = (double)ns / 1e9, size = seconds < 0 ? -seconds : seconds;

	if (!text_known.times)
		snprintf(out, TEXT_SIZE_MAX, "-");
	else if (size >= 3600)
		snprintf(out, TEXT_SIZE_MAX, "%.2f h", seconds / 3600);
	else if (size >= 600)
		snprintf(out, TEXT_SIZE_MAX, "%.1f min", seconds / 60);
	else if (size >= 1)
		snprintf(out, TEXT_SIZE_MAX, "%.1f s", seconds);
	else if (size >= 1e-3)
		snprintf(out, TEXT_SIZE_MAX, "%.1f ms", seconds * 1e3);
	else
		snprintf(out, TEXT_SIZE_MAX, "%.1f us", seconds * 1e6);
	return out;
}

const char *text_at(char out[TEXT_SIZE_MAX], int64_t ns)
{
	char time[TEXT_SIZE_MAX];

	*out = '\0';
	if (text_known.times)
		snprintf(out, TEXT_SIZE_MAX, " at %.*s", TEXT_SIZE_MAX - 5, text_time(time, ns));
	return out;
}

const char *text_percent(char out[TEXT_SIZE_MAX], uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (percent > 0 && percent < 0.05)
		snprintf(out, TEXT_SIZE_MAX, "<0.1%%");
	else
		snprintf(out, TEXT_SIZE_MAX, percent < 9.95 ? "%.1f%%" : "%.0f%%", percent);
	return out;
}

const char *text_number(char out[TEXT_SIZE_MAX], uint64_t number)
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number), i;
	char *to = out;

	for (i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

const char *text_count(char *out, size_t size, uint64_t count, const char *noun)
{
	char number[TEXT_SIZE_MAX];
	size_t end = strlen(noun);
	int hisses = end && strchr("sxh", noun[end - 1]);

	snprintf(out, size, "%s %s%s", text_number(number, count), noun, count == 1 ? "" : hisses ? "es" : "s");
	return out;
}

/* ---- output ---- */

void text_style(const struct text *text, enum text_style style)
{
	static const char *const codes[] = {
#define TEXT_STYLE_CODES(name, sgr) [TEXT_##name] = sgr,
		TEXT_STYLE_LIST(TEXT_STYLE_CODES)
#undef TEXT_STYLE_CODES
	};

	if (text->colour)
		fprintf(text->file, "\033[%sm", codes[style]);
}

static void print_clean(FILE *file, const char *format, va_list arguments)
{
	char *words;

	if (vasprintf(&words, format, arguments) < 0)
		return;
	fputs(mt_clean(words, "\n\t"), file);
	free(words);
}

void text_print(const struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_clean(text->file, format, arguments);
	va_end(arguments);
}

void text_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_clean(stdout, format, arguments);
	va_end(arguments);
}

const char *text_word(const char *name)
{
	static __thread char word[WORD_SIZE];

	return mt_shell_word(word, sizeof(word), name);
}

/* Returns the layer of the phase; -1: the word is no phase. */
static int layer_of_phase(const char *phase)
{
	int number = mt_phase_parse(phase, strlen(phase));

	if (number < 0 && !strcmp(phase, mt_category_name(MT_CATEGORY_SLACK)))
		number = COLOUR_SLACK;
	return number < COLOUR_LAYERS ? number : -1;
}

/* Begins the phase's colour for letters (`what` 3) or background (4). TEXT_PLAIN ends the colour. Returns 1 if the phase has a colour. */
static int begin_phase(const struct text *text, const char *phase, int what)
{
	int layer = text->colours ? layer_of_phase(phase) : -1;

	if (layer < 0)
		return 0;
	if (text->colours >= 256)
		fprintf(text->file, "\033[%d8;5;%dm", what, colour_of_layer[layer].bright);
	else
		fprintf(text->file, "\033[%d%dm", what, colour_of_layer[layer].of_8);
	return 1;
}

void text_phase_print(const struct text *text, const char *phase, const char *format, ...)
{
	va_list arguments;
	char *words;

	va_start(arguments, format);
	if (vasprintf(&words, format, arguments) < 0)
		words = NULL;
	va_end(arguments);
	if (!words)
		return;
	mt_clean(words, "\n\t");
	if (*words == ' ' && begin_phase(text, phase, 4)) {
		fputc(' ', text->file);
		text_style(text, TEXT_PLAIN);
		fputs(words + 1, text->file);
	} else {
		fputs(words, text->file);
	}
	free(words);
}

/* The bar has eighths of a column, if the terminal shows these. */
void text_phase_bar(const struct text *text, const char *phase, uint64_t part, uint64_t whole, int width)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double columns = whole ? (double)part / (double)whole * width : 0;
	int units = columns < width ? (int)(columns * 8 + 0.5) : width * 8, full,
	    i; /* `part` can be larger than `whole` */

	if (!text->blocks)
		units = (units + 4) / 8 * 8;
	if (part && !units)
		units = text->blocks ? 1 : 0;
	full = units / 8;
	if (!units)
		return;
	fputs("  ", text->file);
	if (!begin_phase(text, phase, 3))
		text_style(text, TEXT_BAR);
	for (i = 0; i < full; i++)
		fputs(text->blocks ? "█" : "#", text->file);
	fputs(eighths[units % 8], text->file);
	text_style(text, TEXT_PLAIN);
}

/* ---- strings of unknown origin ---- */

static size_t count_columns(const char *from, size_t size)
{
	size_t at = 0, columns = 0;
	char ignored[4];

	while (at < size) {
		mt_clean_character(ignored, from + at, size - at, &at);
		columns++;
	}
	return columns;
}

void text_wrap(const struct text *text, int indent, int column, const char *words)
{
	int at = column, length;
	char *clean = strdup(words);
	size_t size;

	words = clean ? mt_clean(clean, "") : "";
	while (*words) {
		size = strcspn(words, " ");
		length = (int)count_columns(words, size);
		if (at > indent && at + 1 + length > text_columns(text)) {
			fputc('\n', text->file);
			at = 0;
		}
		if (at < indent) {
			fprintf(text->file, "%*s", indent - at, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', text->file);
			at++;
		}
		fwrite(words, 1, size, text->file);
		at += length;
		words += size + strspn(words + size, " ");
	}
	fputc('\n', text->file);
	free(clean);
}

const char *text_fit(char *out, size_t size, const char *from, size_t columns, int keep_end)
{
	size_t length = strlen(from), have = count_columns(from, length);
	size_t dots = have > columns && columns > 3 ? 3 : 0;
	size_t keep = have > columns ? columns - dots : have, skip = keep_end ? have - keep : 0;
	size_t at = 0, to = 0, used, column;
	char character[4];

	if (dots && keep_end)
		to = (size_t)snprintf(out, size, "...");
	for (column = 0; at < length && column < skip + keep; column++) {
		used = mt_clean_character(character, from + at, length - at, &at);
		if (column < skip || to + used + 4 > size)
			continue;
		memcpy(out + to, character, used);
		to += used;
	}
	out[to] = '\0';
	if (dots && !keep_end)
		mt_copy_text(out + to, size - to, "...");
	return out;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void sentence_say(struct sentence *sentence, const char *format, ...)
{
	size_t room = sizeof(sentence->text) - sentence->size;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(sentence->text + sentence->size, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		sentence->size += (size_t)length < room ? (size_t)length : room - 1;
}

void sentence_say_clean(struct sentence *sentence, const char *words)
{
	char clean[256];

	sentence_say(sentence, "%s", text_fit(clean, sizeof(clean), words, 60, 0));
}

struct range {
	uint32_t first, last;
};

static int in_ranges(const struct range *range, size_t count, uint32_t code)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (code >= range[i].first && code <= range[i].last)
			return 1;
	return 0;
}

/* Whether the character combines with the one before it: Mn and Me of Unicode, in common scripts. Widths of the C library depend on the locale. */
static int is_combining(uint32_t code)
{
	static const struct range range[] = {
		{ 0x0300, 0x036f },   { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a }, { 0x064b, 0x065f },
		{ 0x06d6, 0x06dc },   { 0x0900, 0x0902 }, { 0x093c, 0x093c }, { 0x0941, 0x0948 }, { 0x094d, 0x094d },
		{ 0x0e31, 0x0e31 },   { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
		{ 0x20d0, 0x20ff },   { 0x302a, 0x302d }, { 0x3099, 0x309a }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
		{ 0xe0100, 0xe01ef },
	};

	return in_ranges(range, MT_ARRAY_SIZE(range), code);
}

/* Whether the character has the East Asian width W or F. */
static int is_wide(uint32_t code)
{
	static const struct range range[] = {
		{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },   { 0x23e9, 0x23ec },
		{ 0x25fd, 0x25fe },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x26a1, 0x26a1 },
		{ 0x2705, 0x2705 },   { 0x2728, 0x2728 },   { 0x274c, 0x274c },   { 0x2753, 0x2757 },
		{ 0x2795, 0x2797 },   { 0x2e80, 0x303e },   { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },
		{ 0x4e00, 0x9fff },   { 0xa000, 0xa4cf },   { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },   { 0xfe10, 0xfe19 },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 },   { 0x1b000, 0x1b2ff }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff },
		{ 0x1f900, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
	};

	return code >= 0x1100 && in_ranges(range, MT_ARRAY_SIZE(range), code);
}

size_t columns_next(struct columns_character *out, const char *at)
{
	uint32_t code;
	size_t length = mt_utf8(at, strnlen(at, 4), &code);

	if (!length || mt_is_harmful(code)) {
		memcpy(out->text, "?", 2);
		out->columns = 1;
		return length ? length : 1;
	}
	memcpy(out->text, at, length);
	out->text[length] = '\0';
	out->columns = is_combining(code) ? 0 : is_wide(code) ? 2 : 1;
	return length;
}

int columns_of(const char *text)
{
	struct columns_character character;
	int columns = 0;

	while (*text) {
		text += columns_next(&character, text);
		columns += character.columns;
	}
	return columns;
}

int text_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGTP";
	char *end;
	double value = strtod(text, &end);
	const char *unit;
	int shift = 0;

	if (end == text || !(value >= 0))
		return -MT_E_ARGUMENT;
	end += strspn(end, " ");
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit && *unit) {
		shift = 10 * (int)(unit - units + 1);
		end += end[1] == 'i' ? 2 : 1;
	}
	if (*end == 'B')
		end++;
	value = ldexp(value, shift);
	if (*end || value > 9e18)
		return -MT_E_ARGUMENT;
	*bytes = (uint64_t)value;
	return 0;
}
