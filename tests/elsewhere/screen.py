"""screen.py COMMAND... - runs a screen in a terminal of its own and leaves it with q. Status 0: it drew "Peak", and ended with 0."""
import os
import pty
import sys
import time

pid, terminal = pty.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
time.sleep(2)
os.write(terminal, b"q")
data = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    data += piece
if os.waitpid(pid, 0)[1] or b"Peak" not in data:
    sys.exit(repr(data[-500:]))
