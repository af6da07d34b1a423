"""account.py - what a program of tests/frameworks says of itself: when it was in which phase, by timers of its own around its
calls, how many steps it made, and what its parameters, gradients and optimizer states add up to. Nothing here knows memrec.

Written as JSON into $ACCOUNT, "%r" in it is the rank. With $ACCOUNT_TRACKER set, PyTorch's MemTracker counts along.
"""
import contextlib
import functools
import json
import os
import time

import torch

started = time.monotonic_ns()


def local(tensor):
    """The part of a DTensor that is here."""
    return getattr(tensor, "_local_tensor", tensor)


def storages(tensors):
    """{address: bytes} of the memory that they lie in, each once, however many tensors share it."""
    found = {}
    for tensor in tensors:
        flatten = getattr(tensor, "__tensor_flatten__", None)
        if tensor is not None and flatten and type(tensor) is not torch.Tensor and not hasattr(tensor, "_local_tensor"):
            found.update(storages(getattr(tensor, name) for name in flatten()[0]))
        elif tensor is not None:
            storage = local(tensor).untyped_storage()
            if storage.nbytes() and storage.device.type == "cpu":
                found[storage.data_ptr()] = storage.nbytes()
    return found


class Account:
    def __init__(self):
        self.spans = []  # phase, begin, end: ns of CLOCK_MONOTONIC; inner ones end, and so stand, before outer ones
        self.sums = []  # after each step of the optimizer
        self.looks = []  # (when, sums): at other moments
        self.steps = 0
        self.models = []
        self.optimizers = []
        self.more = []  # functions that give (what, tensors) beyond those: flat buffers
        self.copies = {}  # what -> how often its bytes are there, where nobody gives the others as tensors: DDP's buckets
        self.tracker = None

    @contextlib.contextmanager
    def during(self, phase):
        if self.tracker and phase == "forward":
            self.tracker.reset_mod_stats()  # it counts one forward of a module only
        begin = time.monotonic_ns()
        try:
            yield
        finally:
            self.spans.append((phase, begin, time.monotonic_ns()))

    def around(self, owner, name, phase):
        """Every call of owner.name is in this phase."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def timed(*arguments, **words):
            with self.during(phase):
                return inner(*arguments, **words)

        setattr(owner, name, timed)

    def optimizer(self, optimizer, ends_step=True):
        """Its steps are of the phase optimizer; after each of them the sums are made."""
        inner = optimizer.step
        self.optimizers.append(optimizer)

        @functools.wraps(inner)
        def timed(*arguments, **words):
            with self.during("optimizer"):
                result = inner(*arguments, **words)
            self.steps += ends_step
            self.add_up()
            return result

        optimizer.step = timed

    def add_up(self):
        self.sums.append(self.counted())

    def look(self, name):
        """The sums in between, by the name of what has just ended."""
        self.looks.append((name, self.counted()))

    def counted(self):
        parameters = [p for model in self.models for p in model.parameters()]
        buffers = [b for model in self.models for b in model.buffers()]
        states = [value for optimizer in self.optimizers for of in optimizer.state.values() if isinstance(of, dict)
                  for value in of.values() if isinstance(value, torch.Tensor)]
        found = {"weights": storages(parameters + buffers), "gradients": storages(p.grad for p in parameters),
                 "optimizer state": storages(states)}
        for what, tensors in (pair for function in self.more for pair in function()):
            found.setdefault(what, {}).update(storages(tensors))
        sums = {what: sum(lies.values()) * self.copies.get(what, 1) for what, lies in found.items()}
        sums["time"] = time.monotonic_ns()
        if self.tracker:
            sums["tracker"] = self.tracked()
        return sums

    def tracked(self):
        """{kind: bytes} as MemTracker says it, all devices together."""
        sums = {}
        for snapshot in self.tracker.get_tracker_snapshot("current").values():
            for kind, count in snapshot.items():
                name = getattr(kind, "value", str(kind))
                sums[name] = sums.get(name, 0) + count
        return sums

    @contextlib.contextmanager
    def training(self):
        """Around the whole training: the models and optimizers are known by now."""
        self.spans.append(("init", started, time.monotonic_ns()))
        if not os.environ.get("ACCOUNT_TRACKER"):
            yield
            return
        from torch.distributed._tools.mem_tracker import MemTracker

        self.tracker = MemTracker()
        self.tracker.track_external(*self.models, *self.optimizers)
        with self.tracker:
            yield

    def write(self, steps=None):
        path = os.environ["ACCOUNT"].replace("%r", os.environ.get("RANK", "0"))
        said = {"pid": os.getpid(), "steps": self.steps if steps is None else steps, "spans": self.spans, "sums": self.sums, "looks": self.looks,
                "ended": time.monotonic_ns()}
        with open(path, "w") as file:
            json.dump(said, file)
