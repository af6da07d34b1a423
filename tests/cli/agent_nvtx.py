"""agent_nvtx.py - plays a library of the program that uses NVTX: hands its tables to the agent, then calls what the
agent put into them. Runs under the agent, with RINGS naming the folder of the rings."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_hooks as hooks

CORE, CORE2, SIZE = 1, 5, 16
Function = ctypes.c_void_p
Get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
Module = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))


class Callbacks(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("module", Module)]


class Attributes(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("bytes", ctypes.c_uint16), ("category", ctypes.c_uint32),
                ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32),
                ("message", ctypes.c_void_p)]


class Library:
    """Function pointers as NVTX keeps them: a table of pointers to them, for each module."""

    def __init__(self, size=SIZE):
        self.pointers = {module: [Function() for _ in range(size)] for module in (CORE, CORE2)}
        self.tables = {module: (ctypes.c_void_p * size)(*[ctypes.addressof(p) for p in pointers])
                       for module, pointers in self.pointers.items()}
        self.size = size
        self.module = Module(self.table)
        self.callbacks = Callbacks(ctypes.sizeof(Callbacks), self.module)
        self.get = Get(lambda table: ctypes.addressof(self.callbacks) if table == 1 else None)

    def table(self, module, out, size):
        if module not in self.tables:
            return 0
        out[0], size[0] = ctypes.addressof(self.tables[module]), self.size
        return 1

    def call(self, module, index, result, *arguments):
        types = [type(argument) for argument in arguments]
        return ctypes.CFUNCTYPE(result, *types)(self.pointers[module][index].value)(*arguments)


class Segment(ctypes.Structure):
    _fields_ = [("id", ctypes.c_size_t), ("count", ctypes.c_size_t), ("slots", ctypes.POINTER(ctypes.c_ssize_t))]


class Extension(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("bytes", ctypes.c_uint16), ("id", ctypes.c_uint16), ("compatible", ctypes.c_uint16),
                ("segments", ctypes.c_size_t), ("segment", ctypes.POINTER(Segment)), ("get_export", ctypes.c_void_p),
                ("types", ctypes.c_void_p)]


def extend(id, size, slots=18):
    """An extension of a library after the agent was asked to fill its slots: the result, and the slots."""
    table = (ctypes.c_ssize_t * slots)()
    segment = Segment(0, slots, ctypes.cast(table, ctypes.POINTER(ctypes.c_ssize_t)))
    extension = Extension(3, size, id, 0x0104, 1, ctypes.pointer(segment))
    return hooks.library.InitializeInjectionNvtxExtension(ctypes.byref(extension)), table


def use_payloads(nvtx):
    """As NCCL does: a plain push, and a pop with a payload."""
    done, slots = extend(2, ctypes.sizeof(Extension))
    assert done == 1 and [i for i, slot in enumerate(slots) if slot] == [3, 4, 5, 6], list(slots)
    assert extend(4, ctypes.sizeof(Extension))[0] == 0 and extend(2, 8)[0] == 0 and extend(2, ctypes.sizeof(Extension), 4)[0] == 1
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    call = lambda slot, result, *types: ctypes.CFUNCTYPE(result, pointer, *types, pointer, size)(slots[slot])
    domain = pointer(nvtx.call(CORE2, 12, pointer, ctypes.c_char_p(b"NCCL")))
    attributes = Attributes(3, ctypes.sizeof(Attributes), message_type=1,
                            message=ctypes.cast(ctypes.c_char_p(b"ncclCommInit"), pointer).value)
    nvtx.call(CORE2, 4, ctypes.c_int, domain, ctypes.pointer(attributes))
    assert call(4, ctypes.c_int)(domain, None, 1) == -2
    call(3, ctypes.c_int)(domain, None, 1)
    call(4, ctypes.c_int)(domain, None, 0)
    id = call(5, ctypes.c_uint64)(None, None, 1)
    call(6, None, ctypes.c_uint64)(None, id, None, 1)
    return id


def use(nvtx):
    pointer, text, wide = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p
    ascii_text = ctypes.create_string_buffer(b"ex")
    wide_text = ctypes.create_unicode_buffer("w\u00e4it\U0001f600")
    attributes = lambda kind, value: ctypes.pointer(Attributes(3, ctypes.sizeof(Attributes), message_type=kind,
                                                               message=ctypes.cast(value, pointer).value))
    assert nvtx.call(CORE, 9, ctypes.c_int, text(b"plain")) == -2
    nvtx.call(CORE, 10, ctypes.c_int, wide("br\u00fccke"))
    nvtx.call(CORE, 8, ctypes.c_int, attributes(1, ascii_text))
    for _ in range(3):
        assert nvtx.call(CORE, 11, ctypes.c_int) == -2
    domain = pointer(nvtx.call(CORE2, 12, pointer, text(b"NCCL")))
    name = pointer(nvtx.call(CORE2, 10, pointer, domain, text(b"ncclAllReduce")))
    nvtx.call(CORE2, 4, ctypes.c_int, domain, attributes(3, name))
    nvtx.call(CORE2, 5, ctypes.c_int, domain)
    nvtx.call(CORE2, 4, ctypes.c_int, pointer(), attributes(2, wide_text))
    first = nvtx.call(CORE, 5, ctypes.c_uint64, text(b"start"))
    second = nvtx.call(CORE2, 2, ctypes.c_uint64, domain, attributes(1, ascii_text))
    assert first != second
    nvtx.call(CORE, 7, None, ctypes.c_uint64(first))
    nvtx.call(CORE2, 3, None, domain, ctypes.c_uint64(second))
    nvtx.call(CORE, 2, None, text(b"mark"))
    nvtx.call(CORE2, 1, None, domain, attributes(1, ascii_text))
    nvtx.call(CORE, 8, ctypes.c_int, attributes(0, None))
    return first, second


def main():
    inject = hooks.library.InitializeInjectionNvtx2
    library, another, old = Library(), Library(), Library(size=12)
    assert inject(library.get) == 1 and inject(another.get) == 1
    assert hooks.library.InitializeInjectionNvtx(old.get) == 1
    assert another.pointers[CORE][9].value and old.pointers[CORE][11].value and not library.pointers[CORE][14].value
    hooks.alloc(0x1000)
    first, second = use(library)
    another.call(CORE, 9, ctypes.c_int, ctypes.c_char_p(b"from another library"))
    third = use_payloads(library)
    ring = hooks.ring()
    assert ring.sources["nvtx"][0] == 1, ring.sources
    got = [(event.what, event.name, event.domain, event.handle) for event in ring.events[1:]]
    wanted = [("RANGE_PUSH", "plain", "", 0), ("RANGE_PUSH", "br\u00fccke", "", 0), ("RANGE_PUSH", "ex", "", 0),
              ("RANGE_POP", "", "", 0), ("RANGE_POP", "", "", 0), ("RANGE_POP", "", "", 0),
              ("RANGE_PUSH", "ncclAllReduce", "NCCL", 0), ("RANGE_POP", "", "NCCL", 0),
              ("RANGE_PUSH", "w\u00e4it\U0001f600", "", 0), ("RANGE_START", "start", "", first),
              ("RANGE_START", "ex", "NCCL", second), ("RANGE_END", "", "", first), ("RANGE_END", "", "NCCL", second),
              ("MARK", "mark", "", 0), ("MARK", "ex", "NCCL", 0), ("RANGE_PUSH", "", "", 0),
              ("RANGE_PUSH", "from another library", "", 0), ("RANGE_PUSH", "ncclCommInit", "NCCL", 0), ("RANGE_POP", "", "NCCL", 0),
              ("RANGE_PUSH", "", "NCCL", 0), ("RANGE_POP", "", "NCCL", 0), ("RANGE_START", "", "", third), ("RANGE_END", "", "", third)]
    assert got == wanted, "\n".join(map(str, got))


main()
