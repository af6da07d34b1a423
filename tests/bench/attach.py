#!/usr/bin/env python3
"""attach.py BUILD - what a training pays while memrec attach records it, and after memrec detach: processor time of a step.

Two processes run the same training on the CPU, in one thread. One is attached to and detached from, the other is left alone. One of them runs at a time, in turns of
ATTACH_STEPS (50); a figure is the median of ATTACH_TURNS (100) ratios. A process has a speed of its own: each ratio is divided by the one before the attach.
"""
import mmap
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
STEPS, TURNS = int(os.environ.get("ATTACH_STEPS", 50)), int(os.environ.get("ATTACH_TURNS", 100))
COUNTS = struct.Struct("QQ")  # steps, ns of processor time


def train(path):
    """Steps without a pause, until it is killed."""
    import torch
    torch.set_num_threads(1)
    with open(path, "r+b") as file:
        counts = mmap.mmap(file.fileno(), COUNTS.size)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    optimizer, steps = torch.optim.Adam(model.parameters()), 0
    while True:
        data = torch.randn(32, 64)
        loss = (model(data) - data).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        counts[:] = COUNTS.pack(steps, time.process_time_ns())


class Training:
    def __init__(self, python, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(bytes(COUNTS.size))
        self.process = subprocess.Popen([python, os.path.abspath(__file__), "train", path], env={**os.environ, "OMP_NUM_THREADS": "1"})
        while self.counts()[0] < 200:
            time.sleep(0.05)
        self.process.send_signal(signal.SIGSTOP)

    def counts(self):
        with open(self.path, "rb") as file:
            return COUNTS.unpack(file.read())

    def turn(self):
        """ns of processor time for each step of a turn."""
        steps, spent = self.counts()
        self.process.send_signal(signal.SIGCONT)
        while self.counts()[0] < steps + STEPS:
            time.sleep(0.005)
        self.process.send_signal(signal.SIGSTOP)
        more, later = self.counts()
        return (later - spent) / (more - steps)

    def do(self, *words):
        self.process.send_signal(signal.SIGCONT)
        subprocess.run([BUILD + "/memrec", *words, str(self.process.pid)], check=True)
        self.process.send_signal(signal.SIGSTOP)


def ratio(attached, alone):
    """The ratio of both, in turns, and the microseconds of a step."""
    pairs = [(attached.turn(), alone.turn()) for _ in range(TURNS)]
    return statistics.median(one / other for one, other in pairs), statistics.median(one for one, _ in pairs) / 1000


def main():
    python = next((p for p in ("python3", "/usr/bin/python3") if not subprocess.run([p, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode), None)
    if not python or not (shutil.which("gdb") or shutil.which("lldb")):
        print("skip: no python3 with torch, or no debugger")
        return
    with tempfile.TemporaryDirectory() as folder:
        trainings = [Training(python, os.path.join(folder, name)) for name in ("attached", "alone")]
        try:
            before, us = ratio(*trainings)
            print("before: %.0f us of processor time a step" % us)
            for _ in range(int(os.environ.get("ATTACH_ROUNDS", 2))):
                trainings[0].do("attach", "-q", "-o", os.path.join(folder, "trace.zst"))
                print("attached: %+.1f %%" % (100 * (ratio(*trainings)[0] / before - 1)), flush=True)
                trainings[0].do("detach", "-q")
                print("detached: %+.1f %%" % (100 * (ratio(*trainings)[0] / before - 1)), flush=True)
        finally:
            for training in trainings:
                training.process.kill()
                training.process.wait()


if len(sys.argv) > 2 and sys.argv[1] == "train":
    train(sys.argv[2])
else:
    main()
