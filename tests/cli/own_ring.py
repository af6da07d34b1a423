"""own_ring.py - a recorded program looks at its own ring: who collects it, and whether its events are in the trace."""
import glob
import os
import struct
import sys
import time

from agent_ring import AT, SLOT_BYTES, SLOT_HEAD, SLOT_TAIL, SLOTS  # places of the fields of struct ring_header

COLLECTOR_PID_OFFSET = AT["ended"] + 4
PATIENCE = 3.0  # s; the collector's own is 0.5 s, and the machine may be busy


def ring_path():
    text = os.environ["MEMREC_OPTIONS"]
    run_dir = next(word[len("run-dir="):] for word in text.split() if word.startswith("run-dir="))
    return glob.glob("%s/%d*.ring" % (run_dir, os.getpid()))[-1]


def collector_pid():
    """The agent starts it with the first event; it writes its number into the ring."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with open(ring_path(), "rb") as ring:
            ring.seek(COLLECTOR_PID_OFFSET)
            pid = struct.unpack("<I", ring.read(4))[0]
        if pid:
            return pid
        os.sched_yield()
    sys.exit("no collector")


def wait_until_written():
    """The collector gives the room of an event back when it is in the file."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with open(ring_path(), "rb") as ring:
            header = ring.read(AT["slot"] + SLOTS * SLOT_BYTES)
        slots = range(AT["slot"], len(header), SLOT_BYTES)
        at = [struct.unpack_from("<Q", header, slot + cursor)[0] for cursor in (SLOT_HEAD, SLOT_TAIL) for slot in slots]
        if any(at) and at[:SLOTS] == at[SLOTS:]:
            return
        os.sched_yield()
    sys.exit("events have waited in the ring for %g s" % PATIENCE)
