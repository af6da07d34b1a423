"""on_terminal.py COMMAND [ARG...]: runs a command on a terminal prints all output of the terminal, last "status N", and exits with N."""
import os
import pty
import sys


def run(command):
    """Output and exit status of the command."""
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
    return data, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


written, status = run(sys.argv[1:])
sys.stdout.buffer.write(written.replace(b"\r\n", b"\n"))
print("status", status)
sys.exit(status)
