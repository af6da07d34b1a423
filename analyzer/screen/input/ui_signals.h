/*
 * ui_signals.h - what happens to a program that owns the terminal when a signal comes. No curses.
 *
 *     asks to end (INT, TERM, HUP)   the loop hears of it and ends in order
 *     size, stop, continue           the loop hears of it
 *     crash (SEGV, ABRT, BUS, ...)   the terminal is put in order here and now; then the signal has its usual effect
 */
#ifndef MEMANA_TUI_UI_SIGNALS_H
#define MEMANA_TUI_UI_SIGNALS_H

#include <stddef.h>
#include <termios.h>

/* The signals that the handlers saw since the last ui_signals_take. */
struct ui_events {
	int resized, stop, continued;
};

/* Takes the signals. 0 or -MT_E_SYSTEM. */
int ui_signals_begin(void);

/* The action of a crash on the terminal from now on: writes `text` (kept) and gives it the settings. */
void ui_signals_on_crash(const char *text, size_t size, const struct termios *settings);

/* Gives them back as they were. */
void ui_signals_end(void);

/* Readable while there is something to take. */
int ui_signals_descriptor(void);
struct ui_events ui_signals_take(void);

/* Stops the process as ^Z would, and returns when it goes on. `all`: with its whole job, where keys are no signals. */
void ui_signals_stop(int all);

#endif
