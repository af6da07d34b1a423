/*
 * request.h - the list of all requests to the screen. The keys, the help and the manual page come from this list.
 *
 * A key becomes a request before a view gets it. The top view answers first, then the app.
 */
#ifndef MEMANA_TUI_REQUEST_H
#define MEMANA_TUI_REQUEST_H

/* Keys beyond Unicode. ui.c makes them from curses' keys. X(NAME, word) */
#define KEY_LIST(X)               \
	X(LEFT, "Left")           \
	X(RIGHT, "Right")         \
	X(UP, "Up")               \
	X(DOWN, "Down")           \
	X(PAGE_UP, "PgUp")        \
	X(PAGE_DOWN, "PgDn")      \
	X(HOME, "Home")           \
	X(END, "End")             \
	X(ENTER, "Enter")         \
	X(TAB, "Tab")             \
	X(ESCAPE, "Esc")          \
	X(BACKSPACE, "Backspace") \
	X(DELETE, "Del")

enum key {
	KEY_FIRST = 0x110000, /* after the last character */
#define KEY_ENUM(name, word) KEY_CODE_##name,
	KEY_LIST(KEY_ENUM)
#undef KEY_ENUM
};

#define K(name) KEY_CODE_##name

/* The sections of the help that explain keys. X(NAME, title) */
#define KEY_GROUP_LIST(X)         \
	X(MOVE, "Moving in time") \
	X(LOOK, "What is shown")  \
	X(LIST, "Lists")          \
	X(ASK, "Questions")       \
	X(OTHER, "Leaving, and others")

enum key_group {
#define KEY_GROUP_ENUM(name, title) KEY_GROUP_##name,
	KEY_GROUP_LIST(KEY_GROUP_ENUM)
#undef KEY_GROUP_ENUM
		KEY_GROUP_COUNT
};

/* X(NAME, group, first key, second key or 0, words of the help) */
#define REQUEST_LIST(X)                                                                         \
	X(LEFT, MOVE, 'h', K(LEFT), "one column back")                                          \
	X(RIGHT, MOVE, 'l', K(RIGHT), "one column on")                                          \
	X(PHASE_BACK, MOVE, '[', 0, "to the beginning of the phase, or the one before")         \
	X(PHASE_ON, MOVE, ']', 0, "to the next phase")                                          \
	X(STEP_BACK, MOVE, '{', 0, "to the beginning of the step, or the one before")           \
	X(STEP_ON, MOVE, '}', 0, "to the next step")                                            \
	X(PEAK, MOVE, 'p', 0, "to the peak; then to where most was in use")                     \
	X(OOM, MOVE, 'o', 0, "to the out-of-memory error, then to the next one")                \
	X(GOTO, MOVE, '@', 0, "to a moment: 12.5s, 3 (the step), r2 (the second rollout)")      \
	X(ZOOM_IN, MOVE, '+', '=', "zoom in around the cursor")                                 \
	X(ZOOM_OUT, MOVE, '-', '_', "zoom out")                                                 \
	X(FOLLOW, MOVE, 'F', 0, "follow a running recording, or hold still")                    \
	X(ALL, MOVE, '0', 0, "the whole run")                                                   \
	X(MARK, MOVE, 'm', 0, "set mark A, then mark B; a third press removes both")            \
	X(SPAN, MOVE, 'z', 0, "zoom to the time between the marks")                             \
	X(COLOUR, LOOK, 'c', 0, "colour by phase, category, owner, process")                    \
	X(DEVICE, LOOK, 'D', 0, "the next device")                                              \
	X(LAYER, LOOK, 'H', 0, "hide or show the process of the row")                           \
	X(SORT, LOOK, 's', 0, "sort by size, count, phase, category, place")                    \
	X(FILTER, LOOK, 'f', 0, "filter: a phase, a category, a word, or a size such as >1GiB") \
	X(SEARCH, LOOK, '/', 0, "search in functions and files")                                \
	X(SEARCH_ON, LOOK, 'n', 0, "the next one found")                                        \
	X(SEARCH_BACK, LOOK, 'N', 0, "the one before")                                          \
	X(UP, LIST, 'k', K(UP), "one row up")                                                   \
	X(DOWN, LIST, 'j', K(DOWN), "one row down")                                             \
	X(PAGE_UP, LIST, 'b', K(PAGE_UP), "a page up")                                          \
	X(PAGE_DOWN, LIST, ' ', K(PAGE_DOWN), "a page down")                                    \
	X(FIRST, LIST, 'g', K(HOME), "to the first row")                                        \
	X(LAST, LIST, 'G', K(END), "to the last row")                                           \
	X(PANE, LIST, K(TAB), 0, "to the other pane")                                           \
	X(ENTER, ASK, K(ENTER), 0, "into the row: its stack, its life, who freed it")           \
	X(FLAME, ASK, 't', 0, "flame view of what is alive at the cursor")                      \
	X(MAP, ASK, 'M', 0, "map of the segments at the cursor: what lives in them, holes")     \
	X(MODULES, ASK, 'L', 0, "what each module holds at the cursor: a bar for each layer")   \
	X(DIFF, ASK, 'd', 0, "what grew between the marks: allocated, freed, kept")             \
	X(STEPS, ASK, '2', 0, "what grew between two steps: 3 (since the first), or 2 5")       \
	X(RETAINED, ASK, 'r', 0, "what outlives the step or phase that made it")                \
	X(ADVICE, ASK, 'a', 0, "which setting would have helped")                               \
	X(SQL, ASK, ':', 0, "ask the database (SELECT ...)")                                    \
	X(WRITE, OTHER, 'w', 0, "write what is on the screen, as text, to a file")              \
	X(HELP, OTHER, '?', 0, "this help")                                                     \
	X(REDRAW, OTHER, 'L' - '@', 0, "redraw the screen")                                     \
	X(BACK, OTHER, 'q', K(ESCAPE), "back, then quit")                                       \
	X(QUIT, OTHER, 'Q', 'C' - '@', "quit at once")

enum request {
	REQUEST_NONE,
#define REQUEST_ENUM(name, group, key, other, words) REQUEST_##name,
	REQUEST_LIST(REQUEST_ENUM)
#undef REQUEST_ENUM
		REQUEST_MOUSE, /* see struct input */
	REQUEST_COUNT
};

/* The action of a person. */
enum input_kind { INPUT_NONE, INPUT_KEY, INPUT_MOUSE, INPUT_RESIZE, INPUT_QUIT /* a signal */ };

enum mouse_button { MOUSE_PRESS, MOUSE_DRAG, MOUSE_RELEASE, MOUSE_DOUBLE, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

struct input {
	enum input_kind kind;
	int key;  /* a Unicode character or an enum key */
	int x, y; /* mouse: the cell; resize: the new size */
	enum mouse_button button;
};

struct request_entry {
	const char *name; /* "zoom-in" is ZOOM_IN here */
	enum key_group group;
	int key, other;
	const char *words;
};

/* [REQUEST_NONE] and [REQUEST_MOUSE] are empty. */
extern const struct request_entry request_entries[REQUEST_COUNT];
extern const char *const key_group_titles[KEY_GROUP_COUNT];

/* REQUEST_NONE: the key means nothing. */
enum request request_of_key(int key);

/* "h", "Left", "^L"; into `out`. */
const char *request_key_word(char out[16], int key);

/* The key with that word, 0: there is none. For tests and scripts. */
int request_key_of_word(const char *word);

#endif
