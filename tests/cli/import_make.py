"""import_make.py - writes PyTorch-like memory snapshots whose right answers are known.

    python import_make.py FILE CASE [PROTOCOL]
"""
import json
import pickle
import random
import sys

KIB, MIB = 1 << 10, 1 << 20


def frame(name, filename="train.py", line=1):
    return {"name": name, "filename": filename, "line": line}


FORWARD = [frame("torch::unwind::unwind()", "??", 0), frame("c10::cuda::alloc()", "Alloc.cpp", 3),
           frame("forward", "model.py", 12), frame("<module>", "train.py", 30)]
BACKWARD = [frame("torch::autograd::Engine::thread_main()", "engine.cpp", 99)]
STEP = [frame("step", "/x/torch/optim/adam.py", 80), frame("<module>", "train.py", 32)]


def event(action, addr, size, time, frames=FORWARD):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time, "frames": frames}


def segment(address, size, blocks, expandable=False, device=0):
    """blocks: (size, requested, state)"""
    found, at = [], address
    for bytes_, requested, state in blocks:
        found.append({"address": at, "size": bytes_, "requested_size": requested, "state": state, "frames": []})
        at += bytes_
    return {"device": device, "address": address, "total_size": size, "stream": 0, "segment_type": "large",
            "segment_pool_id": (0, 0), "is_expandable": expandable, "blocks": found, "frames": []}


def history():
    """20 MiB segment; 4 MiB weights from before; 8 MiB forward, 2 MiB backward, 1 MiB kept by the optimizer."""
    base = 0x7f0000000000
    trace = [
        event("alloc", base + 4 * MIB, 8 * MIB, 1000),
        event("alloc", base + 12 * MIB, 2 * MIB, 2000, BACKWARD),
        event("free_requested", base + 4 * MIB, 8 * MIB, 2500),
        event("free_completed", base + 4 * MIB, 8 * MIB, 3000),
        event("alloc", base + 4 * MIB, MIB, 4000, STEP),
        event("free_requested", base + 12 * MIB, 2 * MIB, 4500),
        event("free_completed", base + 12 * MIB, 2 * MIB, 5000),
        event("snapshot", 0, 0, 6000, []),
    ]
    segments = [segment(base, 20 * MIB, [(4 * MIB, 4 * MIB, "active_allocated"), (MIB, MIB, "active_allocated"),
                                         (15 * MIB, 0, "inactive")])]
    ranges = [{"stage": "START", "name": "Optimizer.step#Adam.step", "device": 0, "time_us": 3500},
              {"stage": "END", "name": "Optimizer.step#Adam.step", "device": 0, "time_us": 4200}]
    return {"segments": segments, "device_traces": [trace], "external_annotations": ranges, "allocator_settings": {}}


def unruled():
    """64 MiB from before, in equal blocks; 64 MiB by a function that no rule knows, freed in the backward; 48 MiB and 4 MiB of logits there."""
    base = 0x7f2000000000
    outer = [frame("<module>", "train.py", 30), frame("run_eval_code_obj", "??", 0), frame("__libc_start_main", "??", 0)]
    attend, loss = [frame("attend", "mine.py", 7)] + outer, [frame("cross_entropy", "torch/nn/functional.py", 9)] + outer
    node = frame("torch::autograd::generated::DivBackward0::apply(std::vector<at::Tensor>&&)", "Functions.cpp", 4)
    back = [node] + BACKWARD + [frame("clone", "??", 0)]
    made = [(base + (64 + 8 * i) * MIB, 8 * MIB, attend) for i in range(8)] + [(base + 128 * MIB, 4 * MIB, loss)]
    work = [(base + (132 + 16 * i) * MIB, 16 * MIB, back) for i in range(3)]
    trace = [event("alloc", at, size, 10 + i, frames) for i, (at, size, frames) in enumerate(made + work)]
    trace += [event("free_completed", at, size, 50 + i, back) for i, (at, size, _) in enumerate(work + made)]
    blocks = [(4 * MIB, 4 * MIB, "active_allocated")] * 16 + [(136 * MIB, 0, "inactive")]
    return {"segments": [segment(base, 200 * MIB, blocks)], "device_traces": [trace]}


def replaced():
    """Three steps. Each optimizer makes 4 x 4 MiB anew, and frees those that it made in the step before."""
    base, trace, states = 0x7f4000000000, [], []
    for step in range(3):
        now, output, gradient = 10 + 100 * step, base, base + 8 * MIB
        trace += [event("alloc", output, 8 * MIB, now), event("alloc", gradient, 8 * MIB, now + 1, BACKWARD),
                  event("free_completed", output, 8 * MIB, now + 2, BACKWARD)]
        new = [base + (16 + 16 * step + 4 * k) * MIB for k in range(4)]
        for k, at in enumerate(new):
            trace.append(event("alloc", at, 4 * MIB, now + 20 + k, STEP))
            trace += [event("free_completed", states[k], 4 * MIB, now + 20 + k, STEP)] if states else []
        trace.append(event("free_completed", gradient, 8 * MIB, now + 30))
        states = new
    blocks = [(4 * MIB, 4 * MIB, "active_allocated")] * 4
    return {"segments": [segment(states[0], 16 * MIB, blocks)], "device_traces": [trace]}


def evaluated():
    """10 tensors each of 2, 3 and 4 MiB from before, which stay; a forward replaces 8 outputs of 8 MiB of the one before the history."""
    base, stay = 0x7f4000000000, [(size * MIB, size * MIB, "active_allocated") for size in (2, 3, 4) for _ in range(10)]
    trace = [event("alloc", base + (64 + 8 * k) * MIB, 8 * MIB, 10 + k) for k in range(8)]
    trace += [event("free_completed", base + 8 * k * MIB, 8 * MIB, 20 + k) for k in range(8)] + [event("alloc", base, MIB, 30)]
    blocks = [(MIB, MIB, "active_allocated"), (63 * MIB, 0, "inactive")] + [(8 * MIB, 8 * MIB, "active_allocated")] * 8
    return {"segments": [segment(base, 128 * MIB, blocks), segment(base + 512 * MIB, 90 * MIB, stay)], "device_traces": [trace]}


def two_bare():
    """A segment without a history on each of two GPUs."""
    blocks = [(8 * MIB, 8 * MIB, "active_allocated"), (32 * MIB, 0, "inactive")]
    return {"segments": [segment(0x7f5000000000 + (i << 32), 40 * MIB, blocks, device=i) for i in range(2)], "device_traces": [[], []]}


def mapped(grows=True):
    """8 MiB in use and 32 MiB idle in one segment that can grow."""
    blocks = [(8 * MIB, 8 * MIB, "active_allocated"), (32 * MIB, 0, "inactive")]
    return {"segments": [segment(0x7f5000000000, 40 * MIB, blocks, grows)], "device_traces": [[]], "allocator_settings": {}}


def fixed():
    """The same in a segment that cannot."""
    return mapped(False)


def configured():
    """The same, and the settings say that segments of later requests grow."""
    words = "expandable_segments:True,max_split_size_mb:128"
    return dict(fixed(), allocator_settings={"PYTORCH_CUDA_ALLOC_CONF": words, "max_split_size": 128 * MIB})


def expandable():
    """6 MiB mapped before, 4 MiB more, 2 MiB unmapped in the middle, then an allocation fails."""
    base = 0x7f1000000000
    trace = [event("segment_map", base + 6 * MIB, 4 * MIB, 10), event("alloc", base, 10 * MIB, 20),
             event("free_completed", base, 10 * MIB, 30), event("segment_unmap", base + 2 * MIB, 2 * MIB, 40),
             {"action": "oom", "device_free": 3 * MIB, "size": 64 * MIB, "stream": 0, "time_us": 50, "frames": FORWARD},
             {"action": "annotate", "addr": 0, "size": 0, "time_us": 60}]
    return {"segments": [segment(base, 2 * MIB, [], True), segment(base + 4 * MIB, 6 * MIB, [], True)],
            "device_traces": [trace]}


def growing():
    """A forward on two devices maps ranges, unmaps parts of most, maps some parts anew, and fails. Prints what is right."""
    page, base, chance, clock = 2 * MIB, 0x7f1000000000, random.Random(7), iter(range(10, 1 << 20))
    made, right = {"segments": [], "device_traces": [[], []]}, {"parts": 0, "bytes": [], "tensors": 60}
    for device, trace in enumerate(made["device_traces"]):
        mapped = []
        for i in range(30):
            start, size = base + 1000 * (30 * device + i) * page, chance.randint(2, 900)
            low = chance.randint(0, size - 1)
            high = chance.randint(low + 1, size)
            part = start + low * page, (high - low) * page
            trace += [event("segment_map", start, size * page, next(clock)), event("alloc", start, MIB, next(clock)),
                      event("free_completed", start, MIB, next(clock))]
            right["parts"] += 1
            if i % 3:
                trace.append(event("segment_unmap", *part, next(clock)))
                right["parts"] += (low > 0) + (high < size)
            if i % 3 == 2:
                trace.append(event("segment_map", *part, next(clock)))
                right["parts"] += 1
            mapped += [(start, low * page), part, (start + high * page, (size - high) * page)]
            if i % 3 == 1:
                mapped.remove(part)
        made["segments"] += [segment(at, bytes_, [], True, device) for at, bytes_ in mapped if bytes_]
        right["bytes"].append(sum(bytes_ for _, bytes_ in mapped))
    made["device_traces"][1].append({"action": "oom", "device_free": 3 * MIB, "size": 64 * MIB, "stream": 0,
                                     "time_us": next(clock), "frames": FORWARD})
    print(json.dumps(right))
    return made


def terminal():
    """Names that a terminal would act on: an escape, CSI in one character, what turns text round, DEL."""
    name = "f\x1b[31m\x9bm\u202eg\u2066\x7f\u2028"
    place = [frame(name, name + ".py", 7)]
    trace = [event("alloc", 0x7f2000000000, 8 * MIB, 10, place),
             {"action": "oom", "device_free": 3 * MIB, "size": 64 * MIB, "stream": 0, "time_us": 50, "frames": place}]
    return {"segments": [segment(0x7f2000000000, 8 * MIB, [(8 * MIB, 8 * MIB, "active_allocated")])], "device_traces": [trace]}


def devices():
    """Two devices whose events take turns."""
    one = [event("segment_alloc", 0x1000000, 2 * MIB, 10), event("alloc", 0x1000000, MIB, 30)]
    two = [event("segment_alloc", 0x1000000, 20 * MIB, 20), event("alloc", 0x1000000, 5 * MIB, 40)]
    return {"segments": [segment(0x1000000, 2 * MIB, [(MIB, MIB, "active_allocated")]),
                         segment(0x1000000, 20 * MIB, [(5 * MIB, 5 * MIB, "active_allocated")], device=1)],
            "device_traces": [one, two]}


def cached():
    """Two segments that nothing was in when the recording began; one goes back, one stays."""
    trace = [event("segment_free", 0x2000000, 20 * MIB, 1000), event("segment_alloc", 0x1000000, 2 * MIB, 2000),
             event("alloc", 0x1000000, MIB, 3000)]
    return {"segments": [segment(0x1000000, 2 * MIB, [(MIB, MIB, "active_allocated"), (MIB, 0, "inactive")]),
                         segment(0x6000000, 4 * MIB, [(4 * MIB, 0, "inactive")]),
                         segment(0x8000000, 2 * MIB, [(2 * MIB, 0, "inactive")], True)],
            "device_traces": [trace]}


def old():
    """PyTorch 2.0: no times, blocks without address, frames in the history."""
    trace = history()["device_traces"][0]
    for entry in trace:
        del entry["time_us"]
    block = {"size": 4 * MIB, "state": "active_allocated", "history": [{"addr": 1, "real_size": 4 * MIB, "frames": FORWARD}]}
    kept = {"size": MIB, "state": "active_allocated"}
    return {"segments": [{"device": 0, "address": 0x7f0000000000, "total_size": 20 * MIB, "stream": 0,
                          "segment_type": "large", "blocks": [block, kept]}], "device_traces": [trace]}


def cut():
    """max_entries was reached: of what is there, the allocations of a weight and of an activation are no longer told."""
    base = 0x7f0000000000
    load = [frame("load", "loader.py", 3)]
    made = segment(base, 20 * MIB, [(4 * MIB, 4 * MIB, "active_allocated"), (2 * MIB, 2 * MIB, "active_allocated"),
                                    (MIB, MIB, "active_allocated"), (13 * MIB, 0, "inactive")])
    made["blocks"][0]["frames"], made["blocks"][1]["frames"], made["blocks"][2]["frames"] = load, FORWARD, FORWARD
    return {"segments": [made], "device_traces": [[event("alloc", base + 6 * MIB, MIB, 1000)]]}


def rounded():
    """Asked for 1000 bytes and 3 MiB, in blocks of 1024 bytes and 4 MiB; 100 and 700 bytes that are freed at the end."""
    base = 0x7f0000000000
    trace = [event("alloc", base + 4 * MIB, 3 * MIB, 1000), event("alloc", base + 8 * MIB, 100, 2000),
             event("alloc", base + 9 * MIB, 700, 3000), event("free_completed", base + 8 * MIB, 100, 4000),
             event("free_completed", base + 9 * MIB, 700, 5000)]
    blocks = [(1024, 1000, "active_allocated"), (4 * MIB - 1024, 0, "inactive"), (4 * MIB, 3 * MIB, "active_allocated"),
              (12 * MIB, 0, "inactive")]
    return {"segments": [segment(base, 20 * MIB, blocks)], "device_traces": [trace]}


def layers(cache=0, after=FORWARD, made=MIB):
    """Twelve layers and an embedding that were there before, of which no one has a stack; then a forward."""
    base = 0x7f0000000000
    sizes = [8 * MIB] + 12 * ([MIB] * 4 + [4 * MIB] * 2 + [2048] * 2 + [cache] * (cache > 0))
    blocks = [(size, size, "active_allocated") for size in sizes]
    total = sum(sizes)
    trace = [event("alloc", base + total, made, 1000, after), event("free_requested", base + total, made, 2000),
             event("free_completed", base + total, made, 2100)]
    return {"segments": [segment(base, total + MIB, blocks + [(MIB, 0, "inactive")])], "device_traces": [trace]}


def layers_with_cache():
    return layers(cache=64 * MIB)


def layers_trained():
    return layers(after=BACKWARD)


def layers_frozen():
    """Adapters beside them have a gradient."""
    made = layers(after=BACKWARD, made=96 * KIB)
    made["device_traces"][0].append(event("alloc", 0x7f0000000000 + made["segments"][0]["total_size"] - MIB, 64 * KIB, 3000))
    return made


def warm():
    """A cache from before, of which a piece goes to the driver, and what is computed in the rest then."""
    base, other = 0x7f0000000000, 0x7f4000000000
    trace = [event("segment_free", other, 2 * MIB, 500, []), event("alloc", base, 15 * MIB, 1000),
             event("free_requested", base, 15 * MIB, 2000), event("free_completed", base, 15 * MIB, 2100)]
    return {"segments": [segment(base, 20 * MIB, [(20 * MIB, 0, "inactive")])], "device_traces": [trace]}


def segments_only():
    """The answer of torch.cuda.memory_snapshot()."""
    return history()["segments"]


def bomb():
    """A few hundred bytes that ask for 10^8 pieces of mapped memory."""
    return {"segments": [], "device_traces": [[event("segment_map", 0x7f0000000000, 1 << 40, 10)] * 200]}


class Evil:
    def __reduce__(self):
        return (print, ("this must never be printed",))


def evil():
    made = history()
    made["segments"].append(Evil())
    return made


def other():
    return {"state_dict": [1, 2, 3]}


def windows():
    """Blocks of 1 MiB that were asked for with 100 bytes less, in one segment with one hole; paths of Windows; host memory."""
    base, frames = 0x7f0000000000, [frame("silu", "C:\\w\\venv\\Lib\\site-packages\\torch\\functional.py", 9),
                                    frame("forward", "D:\\train\\model.py", 5)]
    trace = [event("segment_alloc", base, 4 * MIB, 5, frames)]
    trace += [event("alloc", base + i * MIB, MIB - 100, 10 + i, frames) for i in range(3)]
    blocks = [(MIB, MIB - 100, "active_allocated")] * 3 + [(MIB, 0, "inactive")]
    return {"segments": [segment(base, 4 * MIB, blocks)], "device_traces": [trace], "allocator_settings": {},
            "host_segments": [{"address": 64, "total_size": MIB}, {"address": 2 * MIB, "total_size": MIB}]}


HOSTILE = ['say "hi"', "it's", "</script><script>alert(1)</script>", "<!-- <b>", "two\nlines\r", "semi;colon", "comma,tab\t", "=cmd()",
           "back\\slash", "nul\x01bell\x07\x1b[31m", "lone \ud800", "right \u202e left", "zero\u200bwidth", "%s%n", "{}", "a" * 3000, "\U0001f600" * 400,
           "layers.0 > x", ""]


def hostile():
    """Names that would end a string, a line or a page, each a function that holds 1 MiB more than the one before."""
    base, at, trace, blocks = 0x7f0000000000, 0x7f0000000000, [], []
    for i, name in enumerate(HOSTILE):
        frames = [frame(name, f"code/{name}.py", i), frame("<module>", "train.py", 1)]
        trace.append(event("alloc", at, (i + 1) * MIB, 1000 + i, frames))
        blocks.append(((i + 1) * MIB, (i + 1) * MIB, "active_allocated"))
        at += (i + 1) * MIB
    trace.insert(0, event("segment_alloc", base, at - base, 1, frames))
    return {"segments": [segment(base, at - base, blocks)], "device_traces": [trace], "allocator_settings": {}}


def pinned():
    """Pinned memory alone: 8 MiB from before, 4 MiB that go, 2 MiB that stay; and blocks in them, which are no memory of their own."""
    base = 0x7f2000000000
    trace = [event("segment_alloc", base, 4 * MIB, 1000), event("alloc", base, MIB, 1100),
             event("segment_alloc", base + 16 * MIB, 2 * MIB, 2000, STEP), event("free_requested", base, MIB, 2500),
             event("free_completed", base, MIB, 2500), event("segment_free", base, 4 * MIB, 3000)]
    segments = [{"address": base + 32 * MIB, "total_size": 8 * MIB, "blocks": [], "frames": []},
                {"address": base + 16 * MIB, "total_size": 2 * MIB, "blocks": [], "frames": STEP}]
    return {"segments": [], "device_traces": [[]], "host_segments": segments, "host_traces": trace, "allocator_settings": {}}


def pinned_lists():
    """The same, the history as a list of lists, of blocks alone; and a tensor on a GPU."""
    made, base = pinned(), 0x7f0000000000
    trace = [dict(entry, action={"segment_alloc": "alloc", "segment_free": "free_completed"}[entry["action"]])
             for entry in made["host_traces"] if entry["action"].startswith("segment")]
    made["host_traces"] = [trace]
    made["segments"] = [segment(base, 2 * MIB, [(MIB, MIB, "active_allocated"), (MIB, 0, "inactive")])]
    made["device_traces"] = [[event("segment_alloc", base, 2 * MIB, 1500), event("alloc", base, MIB, 1501)]]
    return made


def products(which):
    """A few KB in which one list, or one dict of many keys, stands in for very many."""
    base = 0x7f0000000000
    entry = event("alloc", base, 512, 1000)
    made = {"segments": [segment(base, 2 * MIB, [(512, 512, "active_allocated")])], "device_traces": [[entry]], "allocator_settings": {}}
    if which == "blocks":
        made["segments"][0]["blocks"] *= 3000
        made["segments"] *= 20000
    elif which == "host":
        made["host_traces"] = [[entry] * 20000] * 3000
    elif which == "traces":
        made["device_traces"] = [[entry] * 200000] * 64
    else:
        entry.update((f"key {i}", i) for i in range(3000))
        made["device_traces"] = [[entry] * 200000]
    return made


def product_blocks():
    return products("blocks")


def product_host():
    return products("host")


def product_traces():
    return products("traces")


def product_keys():
    return products("keys")


def empty():
    return {"segments": [], "device_traces": [], "allocator_settings": {}}


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        pickle.dump(globals()[sys.argv[2]](), file, protocol=int(sys.argv[3]) if len(sys.argv) > 3 else 4)
