"""shared_gpu.py before|after - an engine and a trainer on one GPU, each a process. A request of the engine fails.

The engine asks the driver for the free bytes when the trainer holds 20 GiB and itself nothing. Then the trainer takes 25 GiB and the
engine 10 GiB before the request. `after`: the engine asks when the trainer has given 25 GiB back.
"""
import ctypes
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gpu_driver import Driver

GIB = 1 << 30


def ask(driver):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))


def trainer(orders, answers):
    """Does what it is told: takes GiB, or gives the newest back."""
    driver, taken = Driver(), []
    for order in orders:
        if int(order):
            taken.append(driver.take(int(order) * GIB))
        else:
            driver.free(taken.pop())
        answers.write("done\n")
        answers.flush()


def engine(when, orders, answers):
    def tell(order):
        orders.write("%d\n" % order)
        orders.flush()
        answers.readline()

    tell(20)
    driver = Driver()
    if when == "before":
        ask(driver)
    tell(25)
    driver.take(10 * GIB)
    if not driver.cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(30 * GIB)):
        sys.exit("30 GiB more fit")
    if when == "after":
        tell(0)
        ask(driver)


def main():
    order, answer = os.pipe(), os.pipe()
    if not os.fork():
        os.close(order[1])
        trainer(open(order[0]), open(answer[1], "w"))
        os._exit(0)
    os.close(order[0])
    with open(order[1], "w") as orders:
        engine(sys.argv[1], orders, open(answer[0]))
        time.sleep(0.2)  # both are there for longer than their clocks differ
    os.wait()


main()
