/* The terminal: the only user of curses. It knows no other part of the program. */
#include "ui.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include "base/colour.h"
#include "base/progress.h"
#include "memtrace/error.h"
#include "screen/draw/palette.h"
#include "ui_signals.h"

/* term.h defines capabilities as macros. Include it last. */
#include <term.h>

#define ESCAPE_MS 50   /* a lone Esc, or the beginning of a key's sequence */
#define DOUBLE_MS 400  /* between the clicks of a double click */
#define PAIRS_MAX 1024 /* pairs of colours; far more than styles make */

/*
 * Mouse reports: presses, movements with a button held, and columns beyond 223. Curses would join events that come
 * together (a press and its release become a click); here each event counts, in its order.
 */
#define MOUSE_ON "\033[?1000h\033[?1002h\033[?1006h"
#define MOUSE_OFF "\033[?1006l\033[?1002l\033[?1000l"
#define MOUSE_NUMBERS "\033[<" /* the begin of events */
#define MOUSE_BYTES "\033[M"   /* as above, from terminals without mode 1006 */
#define KEY_NUMBERS (KEY_MAX + 1)
#define INTERRUPT 3 /* Ctrl-C, if it is not a signal */
#define SUSPEND 26  /* Ctrl-Z, the same */

struct look {
	int known;
	attr_t attributes;
	short pair;
};

static struct {
	SCREEN *screen; /* NULL: not open */
	int colours, mouse;
	int mouse_is_off; /* 1: switch the mouse on after the next frame */
	struct look look[STYLE_ALL][STYLE_ALL];
	struct {
		int foreground, background; /* as of 256 or 8 */
	} pair[PAIRS_MAX];
	int pairs;
	struct bytes {
		char byte[512];
		size_t size;
	} restore, resume; /* bytes that reset the terminal (also after a crash), and bytes that set it up again */
	int shared;        /* 1: keys are no signals: memrec --live started us so, and shares our job */
	int aside;         /* 1: the shell has the terminal, in its former state */
	pid_t starter;     /* pid of that process */
	struct termios settings;
	struct {
		int x, y;
		int64_t time;
	} press;
} ui;

/* ---- opening ---- */

#define COMMON_TERM "xterm-256color"
#define IN_WORDS "memana top TRACE says the same in words"

/* Whether terminfo knows the terminal, or a common one can replace it; a line after the screen says so. */
static int knows(const char *name, int *found)
{
	int known = setupterm(NULL, STDOUT_FILENO, found) == OK;

	if (known || setupterm(COMMON_TERM, STDOUT_FILENO, found) != OK)
		return known;
	fprintf(stderr, "memana: TERM=%.60s: terminfo does not know it; the screen is drawn as for " COMMON_TERM "\n",
		name);
	return !setenv("TERM", COMMON_TERM, 1);
}

/* Whether terminfo can show a screen on this terminal; if not, `why` gets the reason. */
static int check_terminal(char *why, size_t size)
{
	const char *name = getenv("TERM");
	int found = 0, usable;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		snprintf(why, size, "%s is not a terminal (" IN_WORDS ")", isatty(STDIN_FILENO) ? "stdout" : "stdin");
		return -MT_E_SYSTEM;
	}
	if (!name || !*name) {
		snprintf(why, size, "TERM is not set (try TERM=" COMMON_TERM "; " IN_WORDS ")");
		return -MT_E_SYSTEM;
	}
	if (!knows(name, &found)) {
		snprintf(why, size,
			 "TERM=%.60s: %s (install ncurses-base, or set TERMINFO to where it lies; " IN_WORDS ")", name,
			 found < 0 ? "there is no terminfo database" : "terminfo does not know it");
		return -MT_E_SYSTEM;
	}
	usable = cursor_address && clear_screen;
	del_curterm(cur_term);
	if (!usable)
		snprintf(why, size, "TERM=%.60s cannot show a screen (" IN_WORDS ")", name);
	return usable ? 0 : -MT_E_SYSTEM;
}

static struct bytes *kept; /* buffer in which keep_byte puts them */

static int keep_byte(int byte)
{
	if (kept->size < sizeof(kept->byte))
		kept->byte[kept->size++] = (char)byte;
	return byte;
}

static void keep(struct bytes *bytes, const char *part)
{
	kept = bytes;
	if (part)
		tputs(part, 1, keep_byte);
}

/* Collects in advance the bytes that reset the terminal. */
static void prepare_restore(void)
{
	const char *restore[] = { exit_attribute_mode, orig_pair, keypad_local, cursor_normal, exit_ca_mode };
	const char *resume[] = { enter_ca_mode, keypad_xmit, cursor_invisible };
	size_t i;

	ui.restore.size = ui.resume.size = 0;
	keep(&ui.restore, ui.mouse ? MOUSE_OFF : NULL);
	for (i = 0; i < MT_ARRAY_SIZE(restore); i++)
		keep(&ui.restore, restore[i]);
	for (i = 0; i < MT_ARRAY_SIZE(resume); i++)
		keep(&ui.resume, resume[i]);
}

static int count_colours(void)
{
	const char *no_colour = getenv("NO_COLOR");

	if ((no_colour && *no_colour) || !has_colors())
		return 0;
	start_color();
	use_default_colors();
	return colour_depth(COLORS);
}

static void set_modes(void)
{
	/* If keys are no signals when we start (memrec --live), this stays so, and Ctrl-C is a key that quits. */
	if (ui.shared)
		raw();
	else
		cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	scrollok(stdscr, FALSE);
	ui.mouse = key_mouse != NULL;
	if (ui.mouse) {
		define_key(MOUSE_NUMBERS, KEY_NUMBERS);
		define_key(MOUSE_BYTES, KEY_MOUSE);
	}
	mouseinterval(0);
	ui.mouse_is_off = ui.mouse;
}

/* ESCDELAY, as in all programs of curses. On a slow line a key's sequence may come in pieces. */
static int escape_ms(void)
{
	const char *set = getenv("ESCDELAY");
	long ms = set ? strtol(set, NULL, 10) : 0;

	return ms > 0 && ms <= 10000 ? (int)ms : ESCAPE_MS;
}

int ui_open(struct ui_size *size, char *why, size_t why_size)
{
	static int at_exit;
	int error = check_terminal(why, why_size);

	if (error)
		return error;
	tcgetattr(STDIN_FILENO, &ui.settings);
	ui.shared = !(ui.settings.c_lflag & ISIG);
	ui.starter = getppid();
	/* The terminal's own size overrides LINES and COLUMNS. */
	use_env(TRUE);
	use_tioctl(TRUE);
	set_escdelay(escape_ms());
	if (ui_signals_begin()) {
		snprintf(why, why_size, "no pipe for signals: %s", strerror(errno));
		return -MT_E_SYSTEM;
	}
	ui.screen = newterm(NULL, stdout, stdin);
	if (!ui.screen) {
		ui_signals_end();
		snprintf(why, why_size, "the terminal cannot be used: %s (" IN_WORDS ")", strerror(errno));
		return -MT_E_SYSTEM;
	}
	if (!at_exit)
		atexit(ui_close);
	at_exit = 1;
	set_modes();
	prepare_restore();
	ui_signals_on_crash(ui.restore.byte, ui.restore.size, &ui.settings);
	ui.colours = count_colours();
	*size = (struct ui_size){ COLS, LINES, ui.colours, strcmp(nl_langinfo(CODESET), "UTF-8") != 0 };
	return 0;
}

static void write_bytes(const char *bytes, size_t size)
{
	if (write(STDOUT_FILENO, bytes, size) < 0)
		errno = 0; /* the terminal is gone; the next ui_read reports this */
}

static void write_terminal(const char *bytes)
{
	write_bytes(bytes, strlen(bytes));
}

/* ---- a terminal that is shared with the process that started us ---- */

/* Whether our process group has the terminal. A lost terminal has no group: the next read fails. */
static int is_in_front(void)
{
	pid_t front = tcgetpgrp(STDIN_FILENO);

	return front < 0 || front == getpgrp();
}

/* Removes our text from the terminal. The shell has set its own modes already. */
static void step_aside(void)
{
	if (!ui.aside)
		write_bytes(ui.restore.byte, ui.restore.size);
	ui.aside = 1;
}

/* Makes keys signals again if the process that started us, and handled the keys, has ended. */
static void give_keys_back(void)
{
	struct termios settings = ui.settings;

	if (getppid() == ui.starter)
		return;
	settings.c_lflag |= ISIG;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
}

void ui_close(void)
{
	SCREEN *screen = ui.screen;

	if (!screen)
		return;
	if (ui.shared && !is_in_front()) {
		step_aside();
	} else {
		if (ui.mouse)
			write_terminal(MOUSE_OFF);
		endwin();
		if (ui.shared)
			give_keys_back();
	}
	ui_signals_end();
	delscreen(screen);
	memset(&ui, 0, sizeof(ui));
}

/* ---- showing ---- */

/* A colour for terminals whose colour numbers are red, green and blue (TERM=xterm-direct), not indices of a table. */
static int terminal_colour(int colour)
{
	return COLORS >= 1 << 24 && colour >= 0 ? colour_direct(colour) : colour;
}

/* A pair of these colours; the terminal's own colours if there are no more pairs. */
static short pair_of(int foreground, int background)
{
	int i;

	if (!ui.colours || (foreground < 0 && background < 0))
		return 0;
	for (i = 0; i < ui.pairs; i++)
		if (ui.pair[i].foreground == foreground && ui.pair[i].background == background)
			return (short)(i + 1);
	if (i == PAIRS_MAX || i + 1 >= COLOR_PAIRS ||
	    init_extended_pair(i + 1, terminal_colour(foreground), terminal_colour(background)) == ERR)
		return 0;
	ui.pair[i].foreground = foreground;
	ui.pair[i].background = background;
	ui.pairs++;
	return (short)(i + 1);
}

static const struct look *look_of(uint8_t style, uint8_t behind)
{
	struct look *look = &ui.look[style % STYLE_ALL][behind % STYLE_ALL];
	struct palette_look wanted;

	if (look->known)
		return look;
	wanted = palette_look(style, behind, ui.colours);
	look->known = 1;
	look->pair = pair_of(wanted.foreground, wanted.background);
	look->attributes = (wanted.bold ? A_BOLD : 0) | (wanted.dim ? A_DIM : 0) | (wanted.reverse ? A_REVERSE : 0) |
			   (wanted.underline ? A_UNDERLINE : 0);
	return look;
}

static void show_cell(int x, int y, const struct canvas_cell *cell)
{
	const struct look *look = look_of(cell->style, cell->behind);
	wchar_t wide[2] = { L' ' };
	cchar_t character;

	if (!cell->text[0])
		return; /* the right half of the one before */
	if ((cell->text[0] & 0x80) ? mbtowc(wide, cell->text, strlen(cell->text)) <= 0 : 0)
		wide[0] = L'?';
	if (!(cell->text[0] & 0x80))
		wide[0] = (wchar_t)cell->text[0];
	setcchar(&character, wide, look->attributes, look->pair, NULL);
	mvadd_wch(y, x, &character);
}

/* Goes on after a stop: another process, most likely a shell, may have used the terminal. */
static void go_on(void)
{
	reset_prog_mode();
	ui_forget();
	ui.mouse_is_off = ui.mouse;
}

/*
 * If only the process that started us was stopped, or runs in the background, the shell has the terminal, and we stop,
 * too. Returns 0: we have the terminal; 1: it was away, or it is still away and a signal asks us to end.
 */
static int wait_for_terminal(void)
{
	if (!ui.shared || is_in_front())
		return 0;
	step_aside();
	while (!is_in_front() && !ui_signal())
		raise(SIGSTOP);
	if (ui_signal())
		return 1;
	write_bytes(ui.resume.byte, ui.resume.size);
	ui.aside = 0;
	go_on();
	return 1;
}

void ui_show(const struct canvas *canvas)
{
	int width = canvas->width < COLS ? canvas->width : COLS;
	int height = canvas->height < LINES ? canvas->height : LINES, x, y;

	wait_for_terminal();
	if (ui.aside)
		return;
	for (y = 0; y < height; y++)
		for (x = 0; x < width; x++)
			show_cell(x, y, &canvas->cell[(size_t)y * (size_t)canvas->width + (size_t)x]);
	refresh();
	if (ui.mouse_is_off)
		write_terminal(MOUSE_ON);
	ui.mouse_is_off = 0;
}

void ui_forget(void)
{
	clearok(curscr, TRUE);
}

/* ---- signals ---- */

static struct input size_input(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	erase();
	return (struct input){ .kind = INPUT_RESIZE, .x = COLS, .y = LINES };
}

static void suspend(void)
{
	if (ui.mouse)
		write_terminal(MOUSE_OFF);
	endwin();
	ui_signals_stop(ui.shared);
}

static int take_signals(struct input *input)
{
	struct ui_events events = ui_signals_take();

	if (ui_signal()) {
		input->kind = INPUT_QUIT;
		return 1;
	}
	if (events.stop) {
		suspend();
		events.continued = 1;
	}
	if (events.continued && !wait_for_terminal())
		go_on();
	if (ui_signal()) {
		input->kind = INPUT_QUIT;
		return 1;
	}
	if (events.continued || events.resized)
		*input = size_input();
	return input->kind != INPUT_NONE;
}

/* ---- input ---- */

static const struct {
	int curses, key;
} keys[] = {
	{ KEY_LEFT, KEY_CODE_LEFT },
	{ KEY_RIGHT, KEY_CODE_RIGHT },
	{ KEY_UP, KEY_CODE_UP },
	{ KEY_DOWN, KEY_CODE_DOWN },
	{ KEY_PPAGE, KEY_CODE_PAGE_UP },
	{ KEY_NPAGE, KEY_CODE_PAGE_DOWN },
	{ KEY_HOME, KEY_CODE_HOME },
	{ KEY_END, KEY_CODE_END },
	{ KEY_ENTER, KEY_CODE_ENTER },
	{ KEY_BTAB, KEY_CODE_TAB },
	{ KEY_BACKSPACE, KEY_CODE_BACKSPACE },
	{ KEY_DC, KEY_CODE_DELETE },
};

static int key_of_character(wint_t character)
{
	switch (character) {
	case '\r':
	case '\n':
		return KEY_CODE_ENTER;
	case '\t':
		return KEY_CODE_TAB;
	case 27:
		return KEY_CODE_ESCAPE;
	case 8:
	case 127:
		return KEY_CODE_BACKSPACE;
	default:
		return character < KEY_FIRST ? (int)character : 0;
	}
}

/* The second press on a cell within a moment. */
static int is_double(int x, int y)
{
	int64_t now = progress_now() / 1000000;
	int is = ui.press.x == x && ui.press.y == y && now - ui.press.time < DOUBLE_MS;

	ui.press.x = x;
	ui.press.y = y;
	ui.press.time = is ? 0 : now;
	return is;
}

/* The next byte of a sequence that the terminal has begun; 0: none comes. */
static int next_byte(void)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	wint_t character;

	if (get_wch(&character) == OK)
		return character < 0x80 ? (int)character : 0;
	return poll(&terminal, 1, ESCAPE_MS) > 0 && get_wch(&character) == OK && character < 0x80 ? (int)character : 0;
}

/*
 * Turns xterm's button code into input. Bits 0 and 1: button (3: released), 5: moved, 6: wheel; others are Shift and so
 * on.
 */
static int mouse_input(struct input *input, int code, int x, int y, int released)
{
	int button = code & 3;

	*input = (struct input){ .kind = INPUT_MOUSE, .x = x, .y = y };
	if (x < 0 || y < 0 || button == 2 || (button == 1 && !(code & 64)))
		input->kind = INPUT_NONE;
	else if (code & 64)
		input->button = button ? MOUSE_WHEEL_DOWN : MOUSE_WHEEL_UP;
	else if (released || button == 3)
		input->button = MOUSE_RELEASE;
	else if (code & 32)
		input->button = MOUSE_DRAG;
	else
		input->button = is_double(x, y) ? MOUSE_DOUBLE : MOUSE_PRESS;
	return input->kind != INPUT_NONE;
}

/* "CODE;X;YM", or with an m when the button was released. */
static int read_mouse_numbers(struct input *input)
{
	int number[3] = { 0 }, i = 0, byte = next_byte();

	for (; (byte >= '0' && byte <= '9') || (byte == ';' && i < 2); byte = next_byte()) {
		if (byte == ';')
			i++;
		else if (number[i] < 10000)
			number[i] = 10 * number[i] + byte - '0';
	}
	return (byte == 'M' || byte == 'm') && mouse_input(input, number[0], number[1] - 1, number[2] - 1, byte == 'm');
}

/* Three bytes, from 32 on. */
static int read_mouse_bytes(struct input *input)
{
	int code = next_byte(), x = next_byte(), y = next_byte();

	return code >= 32 && x > 32 && y > 32 && mouse_input(input, code - 32, x - 33, y - 33, 0);
}

/* Returns 1: an input; 0: none is there. Skips unknown sequences. */
static int read_input(struct input *input)
{
	wint_t character;
	size_t i;
	int result;

	while ((result = get_wch(&character)) != ERR) {
		if (result == KEY_CODE_YES && character == KEY_NUMBERS && read_mouse_numbers(input))
			return 1;
		if (result == KEY_CODE_YES && character == KEY_MOUSE && read_mouse_bytes(input))
			return 1;
		if (result == OK && character == INTERRUPT && ui.shared) {
			input->kind = INPUT_QUIT;
			return 1;
		}
		if (result == OK && character == SUSPEND && ui.shared) {
			raise(SIGTSTP);
			return take_signals(input);
		}
		input->key = result == OK ? key_of_character(character) : 0;
		for (i = 0; result == KEY_CODE_YES && i < MT_ARRAY_SIZE(keys); i++)
			if ((int)character == keys[i].curses)
				input->key = keys[i].key;
		if (input->key) {
			input->kind = INPUT_KEY;
			return 1;
		}
	}
	return 0;
}

/* Whether the terminal is gone: it is readable, with no bytes. */
static int is_gone(void)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	int bytes = 0;

	if (poll(&terminal, 1, 0) <= 0)
		return 0;
	return terminal.revents & (POLLHUP | POLLERR | POLLNVAL) || ioctl(STDIN_FILENO, FIONREAD, &bytes) || !bytes;
}

struct input ui_read(int timeout)
{
	struct pollfd descriptors[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					{ .fd = ui_signals_descriptor(), .events = POLLIN } };
	struct input input = { .kind = INPUT_NONE };

	wait_for_terminal();
	if (take_signals(&input) || read_input(&input))
		return input;
	if (poll(descriptors, 2, timeout) <= 0)
		return input;
	if (!take_signals(&input) && !read_input(&input) && descriptors[0].revents && is_gone())
		input.kind = INPUT_QUIT;
	return input;
}
