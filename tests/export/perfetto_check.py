#!/usr/bin/env python3
"""Reads a trace of Perfetto with Perfetto's own generated module and holds it against `memana top --json`.

usage: perfetto_check.py TRACE TOP.json [STEP.json]     TOP: top --json; STEP: top --at step:N --json, named N.json
"""
import collections
import json
import os
import sys

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def fail(text):
    sys.exit(f"perfetto_check: {text}")


def check_known(message, where="Trace"):
    if len(unknown_fields.UnknownFieldSet(message)):
        fail(f"a field that Perfetto does not know in {where}")
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for part in value if field.is_repeated else [value]:
            check_known(part, f"{where}.{field.name}")


class Reader:
    def __init__(self, trace):
        self.tracks, self.interned = {}, collections.defaultdict(dict)
        self.open = collections.defaultdict(list)
        self.slices = collections.defaultdict(list)
        self.counters = []  # time, track, value
        self.instants, self.dumps, self.clocks = [], [], {}
        self.cleared = False
        for packet in trace.packet:
            self.packet(packet)
        for track, names in self.open.items():
            if names:
                fail(f"slice {names[-1]} of track {self.tracks[track].name} has no end")
        self.counters.sort(key=lambda counter: counter[0])

    def packet(self, packet):
        if packet.trusted_packet_sequence_id != 1:
            fail("a packet without a sequence")
        if packet.HasField("clock_snapshot"):
            self.clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
        if packet.HasField("track_descriptor"):
            self.descriptor(packet.track_descriptor)
        if packet.HasField("interned_data"):
            self.names(packet.interned_data)
        if packet.HasField("track_event"):
            self.event(packet.timestamp, packet.track_event)
        if packet.HasField("profile_packet"):
            self.profile(packet.profile_packet)

    def descriptor(self, track):
        if track.uuid in self.tracks:
            fail(f"track {track.uuid} is described twice")
        if track.parent_uuid and track.parent_uuid not in self.tracks:
            fail(f"the parent of track {track.name} is not known")
        self.tracks[track.uuid] = track

    def known(self, kind, number):
        if number not in self.interned[kind]:
            fail(f"{kind} {number} is not known")
        return self.interned[kind][number]

    def names(self, data):
        for kind in ("event_names", "function_names", "mapping_paths", "source_paths"):
            for entry in getattr(data, kind):
                self.interned[kind][entry.iid] = entry.name if kind == "event_names" else entry.str.decode()
        for entry in data.mappings:
            [self.known("mapping_paths", number) for number in entry.path_string_ids]
            self.interned["mappings"][entry.iid] = entry
        for entry in data.frames:
            self.known("function_names", entry.function_name_id)
            self.known("mappings", entry.mapping_id)
            if entry.source_path_iid:
                self.known("source_paths", entry.source_path_iid)
            self.interned["frames"][entry.iid] = entry
        for entry in data.callstacks:
            stack = []
            for number in entry.frame_ids:
                stack.append(self.interned["function_names"][self.known("frames", number).function_name_id])
            self.interned["callstacks"][entry.iid] = stack

    def event(self, time, event):
        if event.track_uuid not in self.tracks:
            fail(f"an event of track {event.track_uuid}, which is not known")
        track = event.track_uuid
        if event.type == BEGIN:
            name = event.name or self.known("event_names", event.name_iid)
            if self.slices[track] and time < self.slices[track][-1][2]:
                fail(f"slice {name} begins before the one before it has ended")
            self.open[track].append((name, time))
        elif event.type == END:
            if not self.open[track]:
                fail("an end without a begin")
            name, begin = self.open[track].pop()
            if time < begin:
                fail(f"slice {name} ends before it begins")
            self.slices[track].append((name, begin, time))
        elif event.type == COUNTER:
            if not self.tracks[track].HasField("counter") or event.counter_value < 0:
                fail(f"a counter of track {self.tracks[track].name}")
            self.counters.append((time, track, event.counter_value))
        elif event.type == INSTANT:
            if event.callstack_iid:
                self.known("callstacks", event.callstack_iid)
            self.instants.append((time, track, event))
        else:
            fail(f"an event of type {event.type}")

    def profile(self, profile):
        if profile.index != len(self.dumps):
            fail(f"heap dump {profile.index} is the one after {len(self.dumps)}")
        (dump,) = profile.process_dumps
        self.dumps.append(dump)

    def held(self, time):
        """Bytes by device and name, all processes, at a time; after each of the changes that have this time."""
        values = {}
        for when, track, value in self.counters:
            if when > time:
                break
            values[track] = value
            if when == time:
                yield self.sums(values)
        yield self.sums(values)

    def sums(self, values):
        sums = collections.Counter()
        for track, value in values.items():
            parent = self.tracks[self.tracks[track].parent_uuid]
            if parent.name.endswith(", held by phase"):
                sums[parent.name.split(",")[0], self.tracks[track].name] += value
        return sums

    def highest(self, device):
        """The time of the dump in which a device holds most."""
        return max((dump.timestamp for dump in self.dumps), key=lambda time: self.heap(time)[device], default=0)

    def heap(self, time):
        """Bytes and stacks by device in the dumps up to a time."""
        newest = {}
        for dump in self.dumps:
            if dump.timestamp > time:
                continue
            for sample in dump.samples:
                key = dump.pid, dump.heap_name, sample.callstack_id
                self.known("callstacks", sample.callstack_id)
                before = newest.get(key)
                if before and (sample.self_allocated < before.self_allocated or sample.self_freed < before.self_freed):
                    fail("a heap dump goes back")
                newest[key] = sample
        sums = collections.Counter()
        for (_, device, _), sample in newest.items():
            sums[device] += sample.self_allocated - sample.self_freed
        return sums


def name_of(device):
    return "CPU" if device["kind"] == "cpu" else f"GPU {device['id']}"


def check_peak(reader, top, origin):
    for device in top["devices"]:
        peak, name = device["peak"], name_of(device)
        if not peak["bytes"]:
            continue
        # A snapshot may tell no times, but the order of events alone.
        time = reader.highest(name) if peak["time_ns"] is None else origin + peak["time_ns"]
        want = {(name, part["phase"]): part["bytes"] for part in device["by_phase"]}
        want[name, "held"] = peak["bytes"]
        found = list(reader.held(time))
        if not any(all(held[key] == size for key, size in want.items()) for held in found):
            fail(f"{name}: {found[-1]} at the peak, not {want}")
        if reader.heap(time)[name] != peak["bytes"]:
            fail(f"{name} has {reader.heap(time)[name]} in the heap dump, not {peak['bytes']}")


def main():
    trace = pb.Trace()
    with open(sys.argv[1], "rb") as file:
        trace.ParseFromString(file.read())
    check_known(trace)
    reader = Reader(trace)
    with open(sys.argv[2], encoding="utf-8") as file:
        top = json.load(file)
    origin = reader.clocks[3]
    check_peak(reader, top, origin)
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as file:
            check_peak(reader, json.load(file), origin)
    oom = [oom for oom in top["oom"]]
    steps = sum(len(slices) for track, slices in reader.slices.items() if reader.tracks[track].name == "steps")
    print(f"{len(trace.packet)} packets, {len(reader.counters)} counters, {steps} steps, {len(reader.dumps)} heap dumps, "
          f"{len(reader.instants)} failed requests, {len(oom)} in top, {os.path.getsize(sys.argv[1])} bytes")
    if steps != sum(process["steps"] for process in top["traces"]):
        fail("there are other steps in top")


main()
