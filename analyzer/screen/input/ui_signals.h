/*
 * ui_signals.h - signals of a program that owns the terminal. No curses.
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

/* Sets the action of a crash on the terminal: writes `text` (kept, not copied) and applies the settings. */
void ui_signals_on_crash(const char *text, size_t size, const struct termios *settings);

/* Restores the former handlers. */
void ui_signals_end(void);

/* Readable while there is something to take. */
int ui_signals_descriptor(void);
struct ui_events ui_signals_take(void);

/* Stops the process as ^Z would, and returns when it goes on. `all`: stops the whole job, if keys are no signals. */
void ui_signals_stop(int all);

#endif
