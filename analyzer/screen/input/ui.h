/*
 * ui.h - shows a canvas on a real terminal, and reads a person's input. Only ui.c uses curses.
 *
 * ui_close resets the terminal. An exit or a signal does so, too.
 */
#ifndef MEMANA_TUI_UI_H
#define MEMANA_TUI_UI_H

#include "request.h"
#include "screen/draw/canvas.h"

struct ui_size {
	int width, height, colours, ascii;
};

/*
 * Takes the terminal of stdin and stdout. Returns 0, or -MT_E_SYSTEM with the remedy in one line in `why` (no terminal;
 * TERM missing, dumb or unknown to terminfo).
 */
int ui_open(struct ui_size *size, char *why, size_t why_size);
void ui_close(void);

/* Shows the cells that changed. */
void ui_show(const struct canvas *canvas);

/* Forgets the contents of the terminal: the next ui_show draws all cells. */
void ui_forget(void);

/*
 * Waits for input, at most `timeout` ms (INPUT_NONE: none came); -1: without limit. A lost terminal gives INPUT_QUIT.
 */
struct input ui_read(int timeout);

/* The signal that asked the program to end (SIGTERM, SIGHUP, SIGINT), 0: none. */
int ui_signal(void);

#endif
