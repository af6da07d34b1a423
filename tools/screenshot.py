#!/usr/bin/env python3
"""Draws what `memana tui` shows on a trace as an SVG: the real screen, read from a real terminal (tmux).

    tools/screenshot.py MEMANA TRACE OUTPUT.svg [--size 110x36] [--keys "p c"] [--record COMMAND --until REGEX]

With --record it is `memana live`: COMMAND makes the trace meanwhile, and the picture is made when the screen says
REGEX; then COMMAND is ended.
Text becomes text; blocks, lines and braille become shapes, so that no font can tear them apart.
"""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from html import escape

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN = 8.4, 17.0, 14, 10
FOREGROUND, BACKGROUND = "#d8dee6", "#16191d"
BASIC = ["#2b3036", "#e5534b", "#57ab5a", "#daaa3f", "#539bf5", "#b083f0", "#56c8d8", "#c5ccd4",
         "#768390", "#ff7b72", "#7ee787", "#f2cc60", "#79c0ff", "#d2a8ff", "#76e3ea", "#f0f3f6"]
LIMIT_S = 60


# ---- the terminal ----

class Terminal:
    """A tmux server of its own, whose socket lies in a folder of its own."""

    def __init__(self, folder, columns, rows, command):
        self.environment = dict(os.environ, TMUX_TMPDIR=folder, TMUX="", LC_ALL="C.UTF-8")
        self.environment.pop("NO_COLOR", None)
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "env", "TERM=screen-256color", *command)

    def tmux(self, *arguments):
        run = subprocess.run(["tmux", "-L", "screenshot", "-f", "/dev/null", *arguments], env=self.environment,
                             capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"screenshot: tmux {arguments[0]}: {run.stderr.strip()}")
        return run.stdout

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def wait(self, what, is_there):
        end = time.monotonic() + LIMIT_S
        while not is_there(self.screen()):
            if time.monotonic() > end:
                sys.exit(f"screenshot: {what}: not seen within {LIMIT_S} s\n{self.screen()}")
            time.sleep(0.05)

    def close(self):
        self.tmux("kill-server")


def is_ready(screen):
    """Something is alive at the cursor, and nothing is being read or loaded."""
    status = screen.rstrip("\n").rsplit("\n", 1)[-1]
    return "Alive at" in screen and not re.search(r"reading|naming|loading|bash", status)


def check_names(screen):
    """A picture of a place without a name is no picture: the program was built anew after its trace was made."""
    nameless = re.search(r"\S+\+0x[0-9a-f]+|unknown place", screen)
    if nameless:
        sys.exit(f"screenshot: a place has no name: {nameless.group()}\n{screen}")


class Recording:
    """A command that makes the trace, with all that it starts."""

    def __init__(self, command, trace, output):
        if os.path.exists(trace):
            os.unlink(trace)
        self.child = subprocess.Popen(shlex.split(command), stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                      start_new_session=True)

    def end(self):
        os.killpg(self.child.pid, signal.SIGTERM)
        self.child.wait()


def has_come_to(words):
    """The recording has come so far, and what is shown of it has its names."""
    return lambda screen: re.search(words, " ".join(screen.split())) and is_ready(screen)


# ---- cells ----

class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.foreground = self.background = None
        self.bold = self.dim = self.underline = self.reverse = False

    def colours(self):
        front, back = self.foreground or FOREGROUND, self.background or BACKGROUND
        if self.reverse:
            front, back = back, front
        return front, back

    def key(self):
        return (*self.colours(), self.bold, self.dim, self.underline)

    def take(self, codes):
        """Takes the numbers of one ESC [ ... m."""
        codes = codes or [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (38, 48):
                colour = extended(codes)
                if code == 38:
                    self.foreground = colour
                else:
                    self.background = colour
            elif code in SWITCHES:
                name, value = SWITCHES[code]
                setattr(self, name, value)
            elif code == 22:
                self.bold = self.dim = False
            else:
                self.take_basic(code)

    def take_basic(self, code):
        for first, name, bright in ((30, "foreground", 0), (40, "background", 0), (90, "foreground", 8), (100, "background", 8)):
            if first <= code < first + 8:
                setattr(self, name, BASIC[code - first + bright])


SWITCHES = {1: ("bold", True), 2: ("dim", True), 4: ("underline", True), 7: ("reverse", True), 24: ("underline", False),
            27: ("reverse", False), 39: ("foreground", None), 49: ("background", None)}


def extended(codes):
    """The colour of 5;N or 2;R;G;B, which are taken off `codes`."""
    kind = codes.pop(0)
    if kind == 2:
        red, green, blue = codes.pop(0), codes.pop(0), codes.pop(0)
        return f"#{red:02x}{green:02x}{blue:02x}"
    return colour_of_256(codes.pop(0))


def colour_of_256(number):
    if number < 16:
        return BASIC[number]
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    number -= 16
    levels = [0 if part == 0 else 55 + 40 * part for part in (number // 36, number // 6 % 6, number % 6)]
    return "#{:02x}{:02x}{:02x}".format(*levels)


def cells_of(text, columns, rows):
    """Rows of (character, style); the style of a row goes on into the next one."""
    style, screen = Style(), []
    for line in text.split("\n")[:rows]:
        row = []
        for codes, other, character in re.findall(r"\x1b\[([0-9;:]*)m|(\x1b[()].|[\x0e\x0f])|(.)", line):
            if character:
                row.append((character, style.key()))
            elif not other:
                style.take([int(code or 0) for code in re.split("[;:]", codes)] if codes else [0])
        blank = (" ", (FOREGROUND, BACKGROUND, False, False, False))
        screen.append((row + [blank] * columns)[:columns])
    return screen


# ---- shapes ----

def rect(x, y, width, height, colour, opacity=""):
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{colour}"'
            f'{opacity}/>')


def shape_rects(character):
    """The part of its cell that a block or line character covers (x, y, width, height); None: it is a letter."""
    code = ord(character)
    if 0x2581 <= code <= 0x2588:  # lower eighths
        part = (code - 0x2580) / 8
        return [(0, 1 - part, 1, part)]
    if 0x2589 <= code <= 0x258F:  # left eighths
        return [(0, 0, (0x2590 - code) / 8, 1)]
    if 0x2800 <= code <= 0x28FF:
        return list(braille(code - 0x2800))
    return {"▀": [(0, 0, 1, 0.5)], "▐": [(0.5, 0, 0.5, 1)], "▔": [(0, 0, 1, 0.125)], "─": [(0, 0.47, 1, 0.06)],
            "│": [(0.44, 0, 0.12, 1)], "┤": [(0.44, 0, 0.12, 1), (0, 0.47, 0.5, 0.06)], "╵": [(0.44, 0, 0.12, 0.5)],
            "┊": [(0.44, part / 8, 0.12, 0.125) for part in (0, 2, 4, 6)]}.get(character)


def braille(dots):
    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
    for bit, (column, row) in enumerate(places):
        if dots >> bit & 1:
            yield (0.1 + 0.5 * column, 0.03 + 0.25 * row, 0.32, 0.19)


def runs_of(row):
    """(first column, text, style) of stretches of one style; shapes alone."""
    start = 0
    for column in range(1, len(row) + 1):
        ends = column == len(row) or row[column][1] != row[start][1] or \
            (shape_rects(row[column][0]) is None) != (shape_rects(row[start][0]) is None)
        if ends:
            yield start, "".join(character for character, _ in row[start:column]), row[start][1]
            start = column


def draw_text(column, top, text, style):
    """Words keep their places, however wide the reader's font is."""
    front, _, bold, dim, underline = style
    extra = (' font-weight="bold"' if bold else "") + (' fill-opacity="0.65"' if dim else "") + \
        (' text-decoration="underline"' if underline else "")
    for word in re.finditer(r"\S+(?: \S+)*", text):
        x = MARGIN + (column + word.start()) * CELL_WIDTH
        yield (f'<text x="{x:.2f}" y="{top + CELL_HEIGHT * 0.76:.2f}" textLength="{len(word[0]) * CELL_WIDTH:.2f}"'
               f' lengthAdjust="spacingAndGlyphs" fill="{front}"{extra}>{escape(word[0])}</text>')


def draw_shapes(column, top, text, style):
    """Neighbours that are equal are joined."""
    opacity = ' fill-opacity="0.65"' if style[3] else ""
    for same in re.finditer(r"(.)\1*", text):
        count = len(same[0])
        for x, y, width, height in shape_rects(same[1]):
            wide = x == 0 and width == 1
            for i in range(1 if wide else count):
                left = MARGIN + (column + same.start() + i + x) * CELL_WIDTH
                yield rect(left, top + y * CELL_HEIGHT, CELL_WIDTH * (count if wide else width), height * CELL_HEIGHT,
                           style[0], opacity)


def svg_of(screen, title):
    width, height = 2 * MARGIN + len(screen[0]) * CELL_WIDTH, 2 * MARGIN + len(screen) * CELL_HEIGHT
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
             f'height="{height:.0f}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', '
             f'monospace" font-size="{FONT_SIZE}" shape-rendering="crispEdges">',
             f"<title>{escape(title)}</title>",
             f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>']
    for number, row in enumerate(screen):
        top = MARGIN + number * CELL_HEIGHT
        for column, text, style in runs_of(row):
            if style[1] != BACKGROUND:
                lines.append(rect(MARGIN + column * CELL_WIDTH, top, len(text) * CELL_WIDTH, CELL_HEIGHT, style[1]))
            lines += (draw_text if shape_rects(text[0]) is None else draw_shapes)(column, top, text, style)
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memana")
    parser.add_argument("trace")
    parser.add_argument("output")
    parser.add_argument("--size", default="110x36")
    parser.add_argument("--keys", default="")
    parser.add_argument("--record", metavar="COMMAND")
    parser.add_argument("--until", metavar="REGEX", default="^Recording:")
    options = parser.parse_args()
    columns, rows = (int(part) for part in options.size.split("x"))
    title, ready = ("memana live", has_come_to(options.until)) if options.record else ("memana tui", is_ready)
    command = [os.path.abspath(options.memana), title.split()[1], os.path.abspath(options.trace)]
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "said"), "w") as said:
        recording = Recording(options.record, options.trace, said) if options.record else None
        terminal = Terminal(folder, columns, rows, command)
        try:
            terminal.wait("the first screen", ready)
            if options.keys:
                terminal.tmux("send-keys", *options.keys.split())
                terminal.wait("the screen after the keys", ready)
            check_names(terminal.screen())
            text = terminal.screen("-e", "-N")
        finally:
            terminal.close()
            if recording:
                recording.end()
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(svg_of(cells_of(text, columns, rows), title))


main()
