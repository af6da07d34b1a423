"""generations.py SEED FOLDER [cpu] - processes that take memory one generation after the other, and end in all ways.

GPU memory of the driver, or tensors on the CPU as PyTorch reports them.

A generation is one or two processes that hold their memory at once. The next one begins when they are gone; nobody waits for
them before the end, so the dead are zombies. Writes FOLDER/truth.json: the most that was held at once, how much each
generation held, and what the driver said was in use of the GPU then.
"""
import ctypes
import json
import os
import random
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from own_ring import collector_pid, wait_until_written

MIB = 1 << 20
ENDS = ("return", "_exit", "kill", "exec", "crash")


def say(word):
    sys.stdout.write("%s\n" % word)
    sys.stdout.flush()


def take_gpu(size):
    """Returns a function that tells the bytes in use by the driver."""
    from gpu_driver import Driver
    driver = Driver()
    driver.take(size)

    def used():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value
    return used


def take_cpu(size):
    """No driver counts tensors on the CPU. The step is a sign of life while all of a generation hold theirs."""
    import agent_hooks
    agent_hooks.alloc(0x7000000000, size, device=agent_hooks.CPU)
    return lambda: agent_hooks.library.memrec_agent_step() and 0


def hold(memory, plan):
    """Takes the first of `plan` ([size, how, ...]) and ends so when it is told; exec goes on with the rest."""
    size, how = int(plan[0]), plan[1]
    used = (take_cpu if memory == "cpu" else take_gpu)(size)
    say("holds")
    sys.stdin.readline()
    say(used())
    sys.stdin.readline()
    if how == "exec":
        os.execv(sys.executable, [sys.executable, __file__, "hold", memory] + plan[2:])
    if how == "crash":
        wait_until_written()
        os.kill(collector_pid(), signal.SIGKILL)
    if how in ("kill", "crash"):
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "_exit":
        os._exit(0)


class Process:
    def __init__(self, memory, plan):
        self.popen = subprocess.Popen([sys.executable, __file__, "hold", memory] + [str(word) for word in plan], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hears(self):
        return self.popen.stdout.readline().strip()

    def tell(self):
        self.popen.stdin.write("\n")
        self.popen.stdin.flush()


def run_generation(processes):
    """Returns the bytes in use by the driver while all of them hold theirs."""
    for process in processes:
        assert process.hears() == "holds"
    for process in processes:
        process.tell()
    used = [int(process.hears()) for process in processes]
    for process in processes:
        process.tell()
    return max(used)


def main(seed, folder, memory="gpu"):
    chance = random.Random(seed)
    ends = list(ENDS)
    chance.shuffle(ends)
    held, used, replaced = [], [], None
    while ends:
        size = [chance.randrange(1, 400) * MIB for _ in range(chance.randrange(1, 3))]
        how = [ends.pop() for _ in size if ends]
        size = size[:len(how)]
        then = [chance.randrange(1, 400) * MIB, "return"]
        processes = [Process(memory, [s, h] + (then if h == "exec" else [])) for s, h in zip(size, how)]
        held.append(sum(size))
        used.append(run_generation(processes))
        for process, end in zip(processes, how):
            if end == "exec":
                process.hears() == "holds" or sys.exit("not replaced")
                replaced = process
            else:
                os.waitid(os.P_PID, process.popen.pid, os.WEXITED | os.WNOWAIT)
        if replaced:
            held.append(then[0])
            replaced.tell()
            used.append(int(replaced.hears()))
            replaced.tell()
            os.waitid(os.P_PID, replaced.popen.pid, os.WEXITED | os.WNOWAIT)
            replaced = None
    with open(os.path.join(folder, "truth.json"), "w") as file:
        json.dump({"peak": max(held), "held": held, "used": used}, file)


if sys.argv[1] == "hold":
    hold(sys.argv[2], sys.argv[3:])
else:
    main(int(sys.argv[1]), *sys.argv[2:])
