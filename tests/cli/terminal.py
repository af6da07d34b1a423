"""terminal.py COMMAND [ARG...]: runs a command on a terminal and says what reached it that is no text.

The judge knows nothing of the programs' own list: it asks Python's Unicode tables. Colours, and clearing a line, are ours.
"""
import os
import pty
import re
import sys
import unicodedata

OURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[K")


def run(command):
    """All that the command writes to its terminal: stdout and stderr."""
    pid, terminal = pty.fork()
    if not pid:
        os.execvp(command[0], command)
    data = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        data += piece
    os.waitpid(pid, 0)
    return data


data = run(sys.argv[1:])
wrong = []
try:
    text = OURS.sub(b"", data).decode()
    wrong = [f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\r\n\t"]
except UnicodeDecodeError as error:
    wrong = [str(error)]
if wrong or not data:
    print(f"{len(data)} bytes, among them: {' '.join(sorted(set(wrong)))}\n{data!r}")
sys.exit(bool(wrong or not data))
