"""oracle.py - what a training of tests/modules says of itself: which module each storage belongs to, and which storages are there
when. Nothing here knows memrec. Runs with PyTorch 1.13 and later.

run.py puts this file in the place of tests/frameworks/account.py, so that the programs there are used as they are. Without $ORACLE
an Account does nothing: the run that is compared. With $ORACLE it writes its log there as JSON, "%r" in it is the rank:

    operators   [begin, end], ns of CLOCK_MONOTONIC: each that a TorchDispatchMode saw
    moves       [time, place, in backward]: the innermost module whose call runs from then on
    places      name of each place: "Model:path" as named_modules() has it, without parts of wrappers; "?Class": it is in no model
    storages    [bytes, born, died, place, in backward, kind, owners, address, found]: born and died are indices of operators; the
                storage is there during operator i where born < i < died. A storage that an operator did not make is found.
    resized     {index of a storage: [[operator, bytes]]}
    moment      null, or ns: a compiled model is judged there, when its last forward had ended
    last        {kind: bytes} after the last step of an optimizer

The mode makes no tensor and keeps none: it has weak references to storages, which let memory go. A compiled model runs without
the mode, which PyTorch would not compile under: what its graph keeps for backward is the model's, and no operator is seen. When a part of this goes, in backward, is not known.
"""
import contextlib
import functools
import json
import os
import threading
import time
import weakref

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

WRAPPED = {"_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"}
BYTES, BORN, DIED, PLACE, BACKWARD, KIND, OWNERS, ADDRESS, FOUND = range(9)
clock = time.monotonic_ns


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()


def plain(tensor):
    """The tensors with memory that a tensor is made of."""
    if tensor is None:
        return []
    tensor = getattr(tensor, "_local_tensor", tensor)
    if type(tensor) not in (torch.Tensor, nn.Parameter) and hasattr(tensor, "__tensor_flatten__"):
        return [inner for name in tensor.__tensor_flatten__()[0] for inner in plain(getattr(tensor, name))]
    is_real = tensor.device.type == "cpu" and tensor.layout is torch.strided and type(tensor).__name__ != "FakeTensor"
    return [tensor] if is_real else []


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors_in(inner)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


class Log:
    """All that happens, in the thread that made it."""

    def __init__(self):
        self.thread = threading.get_ident()
        self.operators, self.moves, self.storages, self.resized = [], [], [], {}
        self.alive = {}  # address of a StorageImpl -> (weak reference, index of the storage)
        self.stack, self.backward = [], 0
        self.place_of, self.places = {}, []  # id of a module -> (weak reference, place)
        self.models, self.optimizers, self.last, self.moment = [], [], {}, None
        self.buckets = {}  # id of a Reducer of DistributedDataParallel -> [index of a storage made while it made its buckets]
        self.compiled = "compile" in os.environ["ORACLE_FOR"]

    def place(self, module):
        known = self.place_of.get(id(module))
        if known is None or known[0]() is not module:
            inside = self.places[self.stack[-1]] if self.stack else "?"
            known = self.place_of[id(module)] = weakref.ref(module), len(self.places)
            self.places.append((inside + " > " if self.stack else "?") + type(module).__name__)
        return known[1]

    def here(self):
        return self.stack[-1] if self.stack else -1

    def move(self):
        self.moves.append([clock(), self.here(), self.backward])

    def tick(self):
        """Without a mode each look is an operator: what is gone since the last one is known by then."""
        self.sweep()
        self.operators.append([clock(), clock()])

    def sweep(self):
        expired, free, now = torch.UntypedStorage._expired, torch.UntypedStorage._free_weak_ref, len(self.operators)
        for key in [key for key, (weak, _) in self.alive.items() if expired(weak)]:
            weak, index = self.alive.pop(key)
            self.storages[index][DIED] = now
            free(weak)

    def note(self, tensor, found):
        """Index of its storage."""
        storage = storage_of(tensor)
        key = storage._cdata
        known = self.alive.get(key)
        if known is None:
            known = self.alive[key] = storage._weak_ref(), len(self.storages)
            self.storages.append([storage.nbytes(), len(self.operators) - 1, None, self.here(), self.backward, "", [], storage.data_ptr(), found])
        self.resize(known[1], storage.nbytes())
        return known[1]

    def resize(self, index, size):
        was = self.resized[index][-1][1] if index in self.resized else self.storages[index][BYTES]
        if was != size:
            self.resized.setdefault(index, []).append([len(self.operators) - 1, size])

    def tag(self, tensors, kind, owner):
        """Storages that several own are shared out by the sizes of the tensors."""
        for tensor in tensors:
            for part in plain(tensor):
                row = self.storages[self.note(part, True)]
                if row[KIND] != kind:
                    row[KIND], row[OWNERS] = kind, []
                if owner not in [name for name, _, _ in row[OWNERS]] or all(
                        (name, at) != (owner, part.data_ptr()) for name, at, _ in row[OWNERS]):
                    row[OWNERS].append([owner, part.data_ptr(), part.numel() * part.element_size()])

    def walk(self):
        """Names of modules, and what parameters, gradients and states are now."""
        if self.compiled:
            self.tick()
        owners, seen = {}, set()
        for number, model in enumerate(self.models):
            root = "%s@%d:" % (type(model).__name__, number)
            for name, module in named(model):
                self.places[self.place(module)] = root + name
                for kind, table in (("weights", module._parameters), ("buffers", module._buffers)):
                    for tensor in [t for t in table.values() if t is not None and id(t) not in seen]:
                        seen.add(id(tensor))
                        owners[id(tensor)] = root + name
                        self.tag([tensor], kind, root + name)
                        if kind == "weights":
                            self.tag([tensor.grad], "gradients", root + name)
                self.units(module, root + name)
                self.tag_buckets(module, root + name)
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                if isinstance(state, dict):
                    self.tag(tensors_in(state), "optimizer state", owners.get(id(parameter), "?"))

    def units(self, module, name):
        """FSDP2's buffers of whole parameters: their unit."""
        group = getattr(getattr(module, "_get_fsdp_state", lambda: None)(), "_fsdp_param_group", None)
        for parameter in group.fsdp_params if group else ():
            self.tag(parameter.all_gather_outputs, "communication", name)

    def tag_buckets(self, module, name):
        """A bucket that no gradient is a view of holds the gradients a second time. It is of the module that reduces them."""
        for index in self.buckets.get(id(getattr(module, "reducer", None)), ()):
            row = self.storages[index]
            if not row[KIND] and row[DIED] is None:
                row[KIND], row[OWNERS] = "buckets", [[name, row[ADDRESS], row[BYTES]]]

    def found_in_graph(self, loss):
        """The compiled module, which ran last, has it."""
        self.tick()
        self.stack.append(self.place(self.models[0]))
        for tensor in saved_by(loss):
            for part in plain(tensor):
                self.note(part, True)
        self.stack.pop()
        self.moment = clock()

    def sums(self):
        found = {}
        for _, index in self.alive.values():
            row = self.storages[index]
            if row[KIND]:
                found[row[KIND]] = found.get(row[KIND], 0) + (self.resized[index][-1][1] if index in self.resized else row[BYTES])
        return found

    def write(self, path):
        rows = [row[:OWNERS] + [[[name, size] for name, _, size in row[OWNERS]]] + row[OWNERS + 1:] for row in self.storages]
        with open(path, "w") as file:
            json.dump({"pid": os.getpid(), "operators": self.operators, "moves": self.moves, "places": self.places, "storages": rows,
                       "resized": self.resized, "last": self.last, "moment": self.moment}, file)


def named(model):
    """(name without parts of wrappers, module), each module once."""
    seen, stack = set(), [("", model)]
    while stack:
        name, module = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield name, module
        for part, child in reversed([(p, c) for p, c in module._modules.items() if c is not None]):
            is_wrapper = part in WRAPPED or (part == "module" and type(module).__name__ == "DistributedDataParallel")
            stack.append((name if is_wrapper else (name + "." + part).lstrip("."), child))


class Mode(TorchDispatchMode):
    def __init__(self, log):
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ and kind.__name__ != "FakeTensor" for kind in types):
            return NotImplemented  # a tensor made of others: its own operators come here
        log = self.log
        log.sweep()
        for tensor in tensors_in([args, kwargs]):
            for part in plain(tensor):
                log.note(part, True)
        begin = clock()
        result = function(*args, **(kwargs or {}))
        log.operators.append([begin, clock()])
        for tensor in tensors_in(result):
            for part in plain(tensor):
                log.note(part, False)
        return result


def saved_by(tensor):
    """Tensors that functions of a graph keep for backward; only functions like that of a compiled graph show theirs."""
    seen, stack = set(), [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield from getattr(node, "saved_tensors", ())
            stack += [inner for inner, _ in node.next_functions]


def watch(log):
    """Around every call of a module, every backward pass, and each change of a storage's size."""
    for name in ("backward",) if log.compiled else ("backward", "grad"):  # the compiler itself calls grad
        setattr(torch.autograd, name, in_backward(log, getattr(torch.autograd, name)))
    if log.compiled:
        return
    call, resize = nn.Module.__call__, torch.UntypedStorage.resize_

    @functools.wraps(call)
    def called(self, *args, **kwargs):
        if threading.get_ident() != log.thread:
            return call(self, *args, **kwargs)
        log.stack.append(log.place(self))
        log.move()
        try:
            return call(self, *args, **kwargs)
        finally:
            log.stack.pop()
            log.move()

    def resized(self, size):
        result = resize(self, size)
        known = log.alive.get(self._cdata)
        if known:
            log.resize(known[1], self.nbytes())
        return result

    nn.Module.__call__, torch.UntypedStorage.resize_ = called, resized
    reducer = getattr(torch.distributed, "Reducer", None)
    for name in ("__init__", "_rebuild_buckets") if reducer else ():
        setattr(reducer, name, making_buckets(log, getattr(reducer, name)))


def making_buckets(log, inner):
    @functools.wraps(inner)
    def made(reducer, *args, **kwargs):
        first = len(log.storages)
        result = inner(reducer, *args, **kwargs)
        rows = [index for index in range(first, len(log.storages)) if not log.storages[index][FOUND]]
        log.buckets.setdefault(id(reducer), []).extend(rows)
        return result

    return made


def in_backward(log, inner):
    @functools.wraps(inner)
    def backward(*args, **kwargs):
        if log.compiled:
            log.found_in_graph(args[0])
        log.backward += 1
        log.move()
        try:
            return inner(*args, **kwargs)
        finally:
            log.backward -= 1
            log.move()
            log.walk()

    return backward


log, mode = None, contextlib.nullcontext()


def begin():
    """Called by run.py before the program."""
    global log, mode
    if os.environ.get("ORACLE"):
        log = Log()
        watch(log)
        mode = mode if log.compiled else Mode(log)
    return mode


class Account:
    """The face of tests/frameworks/account.py."""

    def __init__(self):
        self.models, self.optimizers, self.more, self.copies = [], [], [], {}

    @contextlib.contextmanager
    def during(self, phase):
        if not log or not log.compiled or phase != "forward":
            yield
            return
        log.stack.append(log.place(self.models[0]))
        log.move()
        yield
        log.stack.pop()
        log.move()

    def training(self):
        if log:
            log.models = self.models
        return contextlib.nullcontext()

    def around(self, owner, name, phase):
        pass

    def look(self, name):
        pass

    def optimizer(self, optimizer, ends_step=True):
        inner = optimizer.step
        if not log:
            return
        log.optimizers.append(optimizer)

        @functools.wraps(inner)
        def step(*args, **kwargs):
            log.walk()
            result = inner(*args, **kwargs)
            log.walk()
            log.last = log.sums()
            return result

        optimizer.step = step

    def write(self, steps=None):
        if log:
            log.write(os.environ["ORACLE"].replace("%r", os.environ.get("RANK", "0")))
