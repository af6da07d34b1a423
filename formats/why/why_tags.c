/* why_tags.c - tags.yaml: patterns for functions, files and libraries, and the tags of a frame. */
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "why_impl.h"

/* A longer text is matched by its end: the end of a path says most. */
#define TEXT_MAX_BYTES 4096u

static int refuse_pattern(struct why_source *source, const char *key, const struct pattern_fault *fault)
{
	return yaml_cursor_fail(source->yaml, "%s is no pattern: %s, at byte %zu", key,
				pattern_fault_words(fault->kind), fault->at + 1);
}

static int read_pattern(struct why_source *source, const struct why_field *field)
{
	struct pattern **pattern = (struct pattern **)((char *)source->row + field->at);
	struct pattern_fault fault = { 0 };
	const char *text;
	int error = yaml_cursor_read(source->yaml, field->key, &text);

	if (error)
		return error;
	error = pattern_new(pattern, text, 1, &fault);
	if (error == -MT_E_LIMIT)
		return yaml_cursor_fail(source->yaml, "the pattern of %s is too long", field->key);
	return error == -MT_E_RULES ? refuse_pattern(source, field->key, &fault) : error;
}

#define AT(member) offsetof(struct why_tag_row, member)
#define PATTERN_FIELD(name, key) { key, read_pattern, 0, AT(pattern[WHY_##name]), NULL, 0 },

static const struct why_field fields[] = {
	WHY_PATTERN_LIST(PATTERN_FIELD){ "tags", why_read_bits, 1, AT(tags), why_tag_words, MT_TAGS },
};

static int read_row(struct why_source *source)
{
	struct mt_why *why = source->why;
	struct why_tag_row *row = why_add(&why->tag, &why->tags, &why->tags_max, sizeof(*row));
	size_t line = yaml_cursor_line(source->yaml);
	int error, i, patterns = 0;

	if (!row)
		return -MT_E_MEMORY;
	source->row = row;
	error = why_read_fields(source, fields, MT_ARRAY_SIZE(fields));
	for (i = 0; i < WHY_PATTERNS; i++)
		patterns += row->pattern[i] != NULL;
	if (!error && !patterns)
		error = yaml_cursor_fail_at(source->yaml, line,
					    "the row matches nothing (give function, file or module)");
	return error;
}

const struct why_file why_tags_file = { "tags.yaml", "tags", read_row, NULL };

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

static const char *tail(const char *text)
{
	size_t size = strlen(text);

	return size > TEXT_MAX_BYTES ? text + size - TEXT_MAX_BYTES : text;
}

static int fits(const struct pattern *pattern, const char *text)
{
	return !pattern || (*text && pattern_matches(pattern, text));
}

/* A pattern can match the qualified name "Adam.step", or its last part "step". */
static int fits_function(const struct pattern *pattern, const char *function)
{
	const char *dot = strrchr(function, '.');

	return (dot && fits(pattern, dot + 1)) || fits(pattern, function);
}

uint64_t mt_why_tags(const struct mt_why *why, const char *function, const char *file, const char *module)
{
	const struct why_tag_row *row;
	uint64_t tags = 0;

	function = tail(function);
	file = tail(file);
	module = tail(module);
	for (row = why->tag; row < why->tag + why->tags; row++)
		if ((row->tags & ~tags) && fits(row->pattern[WHY_FILE], file) &&
		    fits(row->pattern[WHY_MODULE], module) && fits_function(row->pattern[WHY_FUNCTION], function))
			tags |= row->tags;
	return tags;
}
