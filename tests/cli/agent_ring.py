"""agent_ring.py - reads the ring that the agent writes (include/memtrace/ring.h), for tests of the agent alone.

    ring = Ring(path): .events (by seq), .stacks, .codes, .modules, .threads, .instances (by key), .sources, .lost
    python agent_ring.py FILE    prints it
"""
import mmap
import struct
import sys

SLOTS = 256
AT = {"version": 8, "log_offset": 24, "pid": 40, "python_version": 60, "start_ticks": 64, "host": 96,
      "boot_id": 160, "options": 200, "output": 16584, "command": 24776, "next_seq": 30720, "log_head": 30784,
      "stop": 30848, "ended": 30852, "lost": 30864, "source_state": 30928, "source_why": 30992, "slot": 39232}
SLOT_BYTES, SLOT_HEAD, SLOT_TAIL = 192, 64, 128
EVENT = struct.Struct("<IHBbQQQIi7QIIIHH")
EVENT_FIELDS = ("bytes record kind device_type seq time stack thread device_index addr size total reserved handle "
                "offset value entry result flags name_bytes domain_bytes").split()
KINDS = {1: "TENSOR_ALLOC", 2: "TENSOR_FREE", 3: "TENSOR_OOM", 8: "DRIVER_ALLOC", 9: "DRIVER_FREE",
         10: "DRIVER_KEEP", 11: "DRIVER_FAIL", 12: "DRIVER_NOTE", 13: "CONTEXT_GONE", 16: "VMM_RESERVE", 17: "VMM_UNRESERVE", 18: "VMM_CREATE",
         19: "VMM_RELEASE", 20: "VMM_RETAIN", 21: "VMM_MAP", 22: "VMM_UNMAP", 32: "RANGE_PUSH", 33: "RANGE_POP",
         34: "RANGE_START", 35: "RANGE_END", 36: "MARK", 37: "PHASE_PUSH", 38: "PHASE_POP", 39: "STEP_MARK",
         40: "BACKWARD_BEGIN", 41: "BACKWARD_END", 42: "CENSUS", 43: "INSTANCE_NAME", 44: "OPTIMIZER_STEP"}
SOURCES = "cupti cuda-tensors cpu-tensors nvtx python-stacks native-stacks marks autograd-engine gpu-samples host-samples census".split()
STACK, CODE, MODULE, THREAD, INSTANCE = 1, 2, 3, 4, 5
ELIDED = 0xffffffff


class Event:
    def __init__(self, data, at):
        self.__dict__.update(zip(EVENT_FIELDS, EVENT.unpack_from(data, at)))
        text = data[at + EVENT.size:at + EVENT.size + self.name_bytes + self.domain_bytes]
        self.name = text[:self.name_bytes].decode()
        self.domain = text[self.name_bytes:].decode()
        self.what = KINDS[self.kind]


class Ring:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:8] != b"MRING\0\0\1":
            raise ValueError("no ring: %r" % self.data[:8])
        self.header_bytes, self.slots, self.slot_bytes = struct.unpack_from("<III", self.data, 12)
        self.pid, self.python_version = self.u32("pid"), self.u32("python_version")
        self.lost = struct.unpack_from("<8Q", self.data, AT["lost"])
        states = struct.unpack_from("<10I", self.data, AT["source_state"])
        self.sources = {SOURCES[i]: (states[i] - 1, self.text_at(AT["source_why"] + 256 * i)) for i in range(10)}
        self.ended = self.u32("ended")
        self.command = self.text_at(AT["command"])
        self.events = sorted(self.read_slots(), key=lambda event: event.seq)
        self.read_log()

    def u32(self, field):
        return struct.unpack_from("<I", self.data, AT[field])[0]

    def u64_at(self, at):
        return struct.unpack_from("<Q", self.data, at)[0]

    def text_at(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode()

    def read_slots(self):
        for slot in range(self.slots):
            head = self.u64_at(AT["slot"] + slot * SLOT_BYTES + SLOT_HEAD)
            at = self.u64_at(AT["slot"] + slot * SLOT_BYTES + SLOT_TAIL)
            base = self.header_bytes + slot * self.slot_bytes
            while at < head:
                size, record = struct.unpack_from("<IH", self.data, base + at % self.slot_bytes)
                if record == 1:
                    yield Event(self.data, base + at % self.slot_bytes)
                at += size

    def read_log(self):
        self.stacks, self.codes, self.modules, self.threads, self.instances = {}, {}, [], {}, {}
        base, at, end = self.u64_at(AT["log_offset"]), 0, self.u64_at(AT["log_head"])
        while at < end:
            size, kind, key = struct.unpack_from("<IIQ", self.data, base + at)
            if not size:
                raise ValueError("a log record is not finished")
            define = {STACK: self.stack, CODE: self.code, MODULE: self.module, THREAD: self.thread,
                      INSTANCE: self.instance}[kind]
            define(key, base + at + 16)
            at += size

    def stack(self, key, at):
        python, native, elided, cut, instances = struct.unpack_from("<5H", self.data, at)
        at += 16
        frames = [struct.unpack_from("<QI", self.data, at + 16 * i) for i in range(python)]
        at += 16 * python
        addresses = struct.unpack_from("<%dQ" % native, self.data, at)
        at += 8 * native
        calls = [struct.unpack_from("<QI", self.data, at + 16 * i) for i in range(instances)]
        self.stacks[key] = {"python": frames, "native": addresses, "elided": elided, "cut": cut, "calls": calls}

    def instance(self, key, at):
        address, name, _ = struct.unpack_from("<QII", self.data, at)
        self.instances[key] = address, self.data[at + 16:at + 16 + name].decode()

    def calls(self, event):
        """Modules that the event's stack is inside, innermost first: address, class, index of the frame (None: elided)."""
        stack = self.stacks.get(event.stack, {"calls": ()})
        return [self.instances[key] + (None if frame == ELIDED else frame,) for key, frame in stack["calls"]]

    def code(self, key, at):
        line, name, qualname, file, _, table = struct.unpack_from("<IHHHHI", self.data, at)
        texts, at = [], at + 16
        for size in (name, qualname, file):
            texts.append(self.data[at:at + size].decode())
            at += size
        self.codes[key] = {"line": line, "name": texts[0], "qualname": texts[1], "file": texts[2],
                           "table": self.data[at:at + table]}

    def module(self, _, at):
        start, end, bias, build_id, path = struct.unpack_from("<QQQII", self.data, at)
        at += 32
        self.modules.append({"start": start, "end": end, "bias": bias, "id": self.data[at:at + build_id].hex(),
                             "path": self.data[at + build_id:at + build_id + path].decode()})

    def thread(self, key, at):
        tid, flags, name, _ = struct.unpack_from("<4I", self.data, at)
        self.threads[key] = {"tid": tid, "flags": flags, "name": self.data[at + 16:at + 16 + name].decode()}

    def module_of(self, address):
        for module in reversed(self.modules):
            if module["start"] <= address < module["end"]:
                return module
        return None


def main():
    ring = Ring(sys.argv[1])
    print("pid", ring.pid, "python %x" % ring.python_version, "lost", ring.lost, "command", ring.command)
    for source, (state, why) in ring.sources.items():
        print("source", source, state, why)
    print("threads", ring.threads)
    for kind in ("events", "stacks", "codes", "modules"):
        print(len(getattr(ring, kind)), kind)
    for event in ring.events[:int(sys.argv[2]) if len(sys.argv) > 2 else 20]:
        print(event.seq, event.what, "device", event.device_type, event.device_index, "addr %x" % event.addr,
              "size", event.size, "total", event.total, repr(event.name), repr(event.domain), "thread", event.thread)
        stack = ring.stacks.get(event.stack)
        for code, lasti in stack["python"] if stack else ():
            print("     ", ring.codes[code]["qualname"] or ring.codes[code]["name"], ring.codes[code]["file"], lasti)
        for address in stack["native"] if stack else ():
            module = ring.module_of(address)
            print("     ", "%x" % address, module and "%s+%x" % (module["path"], address - 1 - module["bias"]))


if __name__ == "__main__":
    main()
