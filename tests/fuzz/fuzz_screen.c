/*
 * fuzz_screen.c - the timeline over traces and databases of others: every view, every key, the mouse on the chart. Inputs
 * are traces and database files; each is changed as its own targets do.
 */
#include "fuzz.h"
#include "test.h"

/* A failed check of the kit is a finding. */
#undef CHECK
#undef CHECK_EQ
#define CHECK(condition) FUZZ_CHECK(condition)
#define CHECK_EQ(got, want) FUZZ_CHECK((got) == (want))

#include "tui_kit.h"

/* Ways through the views, one an input: all of them would take too long. */
static const char *const ways[] = {
	"Left Right [ ] { } p p o o + + + + - 0 m } m z d Enter q",
	"0 g Right m G m z + + + + + + + + + + + + + + + + + + + + Left Right [ ] - - - 0",
	"c c c D s s s H H Tab Down Enter Enter Tab Enter Tab j k Enter Left q",
	"M Down Enter j Enter q q + - 0 n j j G Enter q p ] M q",
	"t Down Enter Down n Tab Right Enter q r Enter q a Enter q 2 Enter Enter q",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int sizes[][2] = { { 80, 24 }, { 200, 60 }, { 40, 10 } };
	size_t pick = fuzz_pick(data, size, MT_ARRAY_SIZE(ways) * MT_ARRAY_SIZE(sizes));
	const int *at = sizes[pick / MT_ARRAY_SIZE(ways)];
	char *path = (char *)fuzz_file("screen.zst", data, size);
	struct source source;
	struct kit *kit;
	int x;

	if (source_open_traces(&source, &path, 1)) {
		source_release(&source);
		return 0;
	}
	source_release(&source);
	kit = kit_open(path, NULL);
	kit_screen(kit, at[0], at[1], 256, 0);
	mt_copy_text(kit->app.search, sizeof(kit->app.search), "a");
	kit_keys(kit, ways[pick % MT_ARRAY_SIZE(ways)]);
	for (x = 0; x < at[0]; x += 13)
		kit_mouse(kit, MOUSE_PRESS, x, 4);
	kit_close(kit);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	static const char magic[] = "SQLite format 3";

	return size > sizeof(magic) && !memcmp(data, magic, sizeof(magic)) ? db_mutate(data, size, room, seed)
									   : trace_mutate(data, size, room, seed);
}
