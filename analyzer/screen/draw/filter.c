#include "filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "palette.h"

/* One word of the text. */
struct word {
	char text[FILTER_TEXT_MAX];
	int negated; /* 1: the word must not match */
	char sign;   /* '<' or '>': a size; 0: a name or a piece of one */
	uint64_t bytes;
	int named; /* 1: a phase, category or owner begins with it */
};

void filter_release(struct filter *filter)
{
	free(filter->shown);
	memset(filter, 0, sizeof(*filter));
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Parses a size: "1GiB", "64M". Sizes are binary: "1.5 GB" is 1.5 GiB. Returns 0 or -MT_E_ARGUMENT. */
static int parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmgtp";
	double value = 1;
	const char *unit;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -MT_E_ARGUMENT;
	value = strtod(text, &end);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		value *= (double)(1ull << 10 * (unit - units + 1));
		end++;
		if (tolower((unsigned char)*end) == 'i')
			end++;
	}
	if (tolower((unsigned char)*end) == 'b')
		end++;
	if (*end || !(value >= 0) || value >= 1e19)
		return -MT_E_ARGUMENT;
	*bytes = (uint64_t)value;
	return 0;
}

/* Takes the next word off *text. Returns 1; 0: no more; -MT_E_ARGUMENT. */
static int next_word(const char **text, struct word *word)
{
	const char *at = *text + strspn(*text, " \t");
	size_t size;

	memset(word, 0, sizeof(*word));
	word->negated = *at == '!';
	at += word->negated;
	size = strcspn(at, " \t");
	*text = at + size;
	if (!size && !word->negated)
		return 0;
	memcpy(word->text, at, size); /* the whole text fits */
	if (!size)
		return -MT_E_ARGUMENT;
	if (*word->text != '<' && *word->text != '>')
		return 1;
	word->sign = *word->text;
	return parse_size(word->text + 1, &word->bytes) ? -MT_E_ARGUMENT : 1;
}

int filter_set(struct filter *filter, const char *text)
{
	const char *at = text;
	struct word word;
	int more;

	if (strlen(text) >= FILTER_TEXT_MAX)
		return -MT_E_ARGUMENT;
	while ((more = next_word(&at, &word)) > 0)
		;
	if (more)
		return more;
	memmove(filter->text, text, strlen(text) + 1);
	return 0;
}

/*
 * ---- matching a word ----------------------------------------------------------------------------------------------
 */

/* Whether `name` begins with `word`. Case does not matter; ' ', '-' and '_' are equal: "optimizer-state". */
static int begins_with(const char *name, const char *word)
{
	for (; *word; word++, name++)
		if (tolower((unsigned char)*word) != tolower((unsigned char)*name) &&
		    !(*name && strchr(" -_", *name) && strchr(" -_", *word)))
			return 0;
	return 1;
}

/* The name in "phase=other", after the dimension. NULL: the word has no dimension. */
static const char *name_in_dimension(const char *word, enum palette_by *by)
{
	size_t size = strcspn(word, "=");
	int i;

	for (i = 0; i < PALETTE_BY_COUNT; i++)
		if (word[size] && size == strlen(palette_by_words[i]) &&
		    !strncasecmp(word, palette_by_words[i], size)) {
			*by = (enum palette_by)i;
			return word + size + 1;
		}
	return NULL;
}

/* Whether it is the name of anything, or the beginning of one. */
static int is_name(const struct model *model, const char *word)
{
	uint32_t i;

	for (i = 0; i < MT_PHASE_COUNT; i++)
		if (begins_with(mt_phase_name(i), word))
			return 1;
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (begins_with(mt_category_name(i), word))
			return 1;
	for (i = 0; i < model->owners; i++)
		if (begins_with(model->owner[i], word))
			return 1;
	return 0;
}

int filter_frame_has(const struct callstack_frame *frame, const char *words)
{
	char place[CALLSTACK_PLACE_MAX];

	if (strcasestr(frame->function, words) || strcasestr(frame->file, words) || strcasestr(frame->module, words) ||
	    (frame->submodule && strcasestr(frame->submodule, words)))
		return 1;
	/* lines and offsets are only in the place */
	return strpbrk(words, ":+") && strcasestr(callstack_place(place, sizeof(place), frame), words);
}

int filter_site_has(const struct model *model, uint32_t site, const char *words)
{
	const struct model_site *place = &model->site[site];
	const struct callstack *stack = place->callstack;
	size_t i;

	if (strcasestr(place->function, words) || strcasestr(place->place, words))
		return 1;
	for (i = 0; stack && i < stack->count; i++)
		if (filter_frame_has(stack->frame[i], words))
			return 1;
	return 0;
}

static int is_true(const struct word *word, const struct model *model, uint32_t cell)
{
	const struct model_site *site = &model->site[TAPE_SITE(cell)];
	char have[PALETTE_NAME_MAX];
	enum palette_by by;
	const char *name = name_in_dimension(word->text, &by);

	if (name) {
		palette_cell_name(have, model, by, cell);
		return begins_with(have, name) && begins_with(name, have);
	}
	if (word->sign == '>')
		return site->most > word->bytes;
	if (word->sign == '<')
		return site->most < word->bytes;
	if (word->named)
		return begins_with(mt_phase_name(site->phase), word->text) ||
		       begins_with(mt_category_name(model_category(model, cell)), word->text) ||
		       begins_with(model->owner[model_cell_owner(model, cell)], word->text);
	if (site->process < model->processes && strcasestr(model->process[site->process].file, word->text))
		return 1;
	return filter_site_has(model, TAPE_SITE(cell), word->text);
}

int filter_make(struct filter *filter, const struct model *model)
{
	uint32_t cells = model->sites * 2, cell;
	const char *at = filter->text;
	struct word word;
	uint8_t *grown;

	if (cells > filter->room) {
		grown = realloc(filter->shown, cells);
		if (!grown)
			return -MT_E_MEMORY;
		filter->shown = grown;
		filter->room = cells;
	}
	filter->cells = cells;
	if (cells)
		memset(filter->shown, 1, cells);
	while (next_word(&at, &word) > 0) {
		word.named = !word.sign && is_name(model, word.text);
		for (cell = 2; cell < cells; cell++)
			if (is_true(&word, model, cell) == word.negated)
				filter->shown[cell] = 0;
	}
	return 0;
}
