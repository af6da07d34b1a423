"""paused_guest.py - takes GPU memory of the stand-in driver as it is told, line by line; for paused.py.

    calls N    takes and frees N blocks        take N     takes a block of N bytes and keeps it
    threads N  begins N threads that take and free without end, each a step of its own
    step, mark TEXT, push NAME, pop            memrec's Python package
    fork       a child takes memory and ends   exec       starts this program anew
    exit N     ends with status N
Answers "ok" to each, after the first line with its number.
"""
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import memrec
from gpu_driver import Driver


def give_and_take(driver, count):
    for _ in range(count):
        driver.free(driver.take(4096))


def turn_without_end():
    driver = Driver()
    while True:
        give_and_take(driver, 50)
        memrec.step()


def fork(driver):
    child = os.fork()
    if not child:
        give_and_take(driver, 10)
        os._exit(0)
    os.waitpid(child, 0)


def main():
    driver, kept, pushed = None, [], []
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if not driver and word in ("calls", "take", "threads", "fork"):
            driver = Driver()
        if word == "calls":
            give_and_take(driver, int(rest))
        elif word == "take":
            kept.append(driver.take(int(rest)))
        elif word == "threads":
            for _ in range(int(rest)):
                threading.Thread(target=turn_without_end, daemon=True).start()
        elif word == "step":
            memrec.step()
        elif word == "mark":
            memrec.mark(rest)
        elif word == "push":
            pushed.append(memrec.phase(rest))
            pushed[-1].__enter__()
        elif word == "pop":
            pushed.pop().__exit__()
        elif word == "fork":
            fork(driver)
        elif word == "exec":
            print("ok", flush=True)
            os.execv(sys.executable, [sys.executable, __file__])
        elif word == "exit":
            print("ok", flush=True)
            os._exit(int(rest)) if driver is None else sys.exit(int(rest))
        print("ok", flush=True)


main()
