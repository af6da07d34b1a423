"""driver_calls.py - takes and frees GPU memory through the driver API, counts for itself, and ends as it is told.

    driver_calls.py [--calls N] [--seed S] [--live N] [--account FILE] [--before ACT]... [--after ACT]... [--end HOW]

The account (JSON: allocations, events, peak and live bytes) is worked out and written before the first call, so that
nothing lies between the last call and the end. ACTs happen before the calls or after half of them:
    stop-collector      SIGSTOP           limit-collector     no file of it may grow beyond 4 KiB
    kill-collector      SIGKILL           term-collector      SIGTERM
    fill-ring-dir       nobody can write there any more, where it is small
    say-collector       its pid to collector.pid        until-written       waits until all calls are in the trace
--kills N: SIGKILL to the collector that there is, N times in the course of the calls.
HOW: exit (default), kill, kill-both (the collector, then itself), kill-all (memrec too), exec (start over, once),
lose-ring (like kill-all, after waiting until all calls are in the trace, and the ring is deleted, too),
kill-slowly (like kill-all, but it takes itself a while to end, as if it had much memory to give back),
vanish (waits until all calls are in the trace, and deletes ./away).
"""
import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gpu_driver import Driver
from own_ring import collector_pid, ring_path, wait_until_written


def plan(calls, seed, most):
    """(size, None) takes memory, (None, i) frees what the i-th call took. The number alive at once stays below a limit."""
    chance, live, result = random.Random(seed), [], []
    for i in range(calls):
        if len(live) >= most or (len(live) > 8 and chance.random() < 0.45):
            result.append((None, live.pop(chance.randrange(len(live)))))
        else:
            result.append((chance.randrange(1, 4096) * 2048, None))
            live.append(i)
    return result


def account(steps):
    sizes, held, peak = {}, 0, 0
    for i, (size, freed) in enumerate(steps):
        held += size if freed is None else -sizes[freed]
        if freed is None:
            sizes[i] = size
        peak = max(peak, held)
    return {"calls": len(steps), "taken": len(sizes), "peak": peak, "live": held}


def fill(folder):
    """To the last byte."""
    with open(os.path.join(folder, "fill"), "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


killed = set()


def kill_next():
    """The collector that has come since the last one was killed, if there is one."""
    pid = collector_pid()
    if pid not in killed:
        killed.add(pid)
        os.kill(pid, signal.SIGKILL)


def act(what):
    if what == "until-written":
        return wait_until_written()
    if what == "fill-ring-dir":
        return fill(os.path.dirname(os.path.dirname(ring_path())))
    pid = collector_pid()
    if what == "stop-collector":
        os.kill(pid, signal.SIGSTOP)
    elif what == "kill-collector":
        os.kill(pid, signal.SIGKILL)
    elif what == "term-collector":
        os.kill(pid, signal.SIGTERM)
    elif what == "limit-collector":
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, 4096))
    if what in ("say-collector", "stop-collector"):
        with open("collector.pid", "w") as file:
            file.write(str(pid))


def end(how):
    if how == "exec":
        os.execv(sys.executable, [sys.executable] + [a if a != "exec" else "exit" for a in sys.argv])
    if how in ("lose-ring", "vanish"):
        wait_until_written()
    if how == "vanish":
        shutil.rmtree("away")
    if how in ("kill-both", "kill-all", "kill-slowly", "lose-ring"):
        collector, ring = collector_pid(), ring_path()
        if how != "kill-both":
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(collector, signal.SIGKILL)
        if how == "lose-ring":
            os.unlink(ring)
    if how == "kill-slowly":
        threading.Thread(target=lambda: (time.sleep(2.5), os.kill(os.getpid(), signal.SIGKILL))).start()
        ctypes.CDLL(None).syscall(60, 0)  # exit of this thread alone
    if how.startswith("kill") or how == "lose-ring":
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--live", type=int, default=1 << 30)
    parser.add_argument("--account")
    parser.add_argument("--before", action="append", default=[])
    parser.add_argument("--after", action="append", default=[])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--end", default="exit")
    args = parser.parse_args()
    steps = plan(args.calls, args.seed, args.live)
    if args.account:
        with open(args.account, "w") as file:
            json.dump(account(steps), file)
    driver, addresses = Driver(), {}
    for i, (size, freed) in enumerate(steps):
        if freed is None:
            addresses[i] = driver.take(size)
        else:
            driver.free(addresses.pop(freed))
        if args.kills and i % (len(steps) // (args.kills + 1) or 1) == 1 and i > 1:
            kill_next()
        for what in args.before if i == 0 else args.after if i == len(steps) // 2 else ():
            act(what)
    print("%d calls" % len(steps))
    sys.stdout.flush()
    end(args.end)


main()
