/*
 * ui.h - the only file that knows curses: a canvas on a real terminal, and what a person does there.
 *
 * The terminal is put back in order by ui_close, and by itself when the program ends by exit or by a signal.
 */
#ifndef MEMANA_TUI_UI_H
#define MEMANA_TUI_UI_H

#include "request.h"
#include "screen/draw/canvas.h"

struct ui_size {
	int width, height, colours, ascii;
};

/*
 * Takes the terminal of stdin and stdout. 0, or -MT_E_SYSTEM with a line in `why` that says what to do (no terminal,
 * TERM missing or dumb or unknown to terminfo).
 */
int ui_open(struct ui_size *size, char *why, size_t why_size);
void ui_close(void);

/* Shows what changed. */
void ui_show(const struct canvas *canvas);

/* Forgets what it believes the terminal shows: the next ui_show draws everything. */
void ui_forget(void);

/*
 * The next input, after at most `timeout` ms (INPUT_NONE: nothing came); -1: waits. A terminal that is gone is
 * INPUT_QUIT.
 */
struct input ui_read(int timeout);

/* The signal (SIGTERM, SIGHUP, SIGINT) that asked to end, 0: none did. */
int ui_signal(void);

#endif
