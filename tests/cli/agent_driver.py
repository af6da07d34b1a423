"""agent_driver.py RING LEDGER - the agent's driver events against what the stand-in driver itself wrote down."""
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_ring

# Entry: what the agent makes of a call that succeeded. The events that carry no entry id are told by their kind.
EVENT_OF = {"cuMemAlloc_v2": "DRIVER_ALLOC", "cuMemAllocAsync": "DRIVER_ALLOC", "cuMemAllocManaged": "DRIVER_ALLOC",
            "cuMemAllocPitch_v2": "DRIVER_ALLOC", "cuMemHostAlloc": "DRIVER_ALLOC", "cuMemAllocHost_v2": "DRIVER_ALLOC",
            "cuMemHostRegister_v2": "DRIVER_ALLOC", "cuMemAllocFromPoolAsync": "DRIVER_ALLOC",
            "cuMemFree_v2": "DRIVER_FREE", "cuMemFreeAsync": "DRIVER_FREE", "cuMemFreeHost": "DRIVER_FREE",
            "cuMemHostUnregister": "DRIVER_FREE", "cuMemAddressReserve": "VMM_RESERVE",
            "cuMemAddressFree": "VMM_UNRESERVE", "cuMemCreate": "VMM_CREATE", "cuMemRelease": "VMM_RELEASE",
            "cuMemMap": "VMM_MAP", "cuMemUnmap": "VMM_UNMAP"}


def main(ring_path, ledger_path):
    ring, calls, sizes = agent_ring.Ring(ring_path), Counter(), Counter()
    for line in open(ledger_path):
        _, entry, result, _, _, address, size, _ = line.split()
        if entry in EVENT_OF:
            what = EVENT_OF[entry] if result == "0" else "DRIVER_FAIL"
            calls[what] += 1
            if what in ("DRIVER_ALLOC", "VMM_CREATE"):
                sizes[what] += int(size)
    assert ring.sources["cupti"][0] == 1 and not any(ring.lost), (ring.sources, ring.lost)
    events = [event for event in ring.events if event.what in set(EVENT_OF.values()) | {"DRIVER_FAIL"}]
    assert Counter(event.what for event in events) == calls, (Counter(event.what for event in events), calls)
    for what, size in sizes.items():
        assert sum(event.size for event in events if event.what == what) == size, what
    assert all(event.stack for event in events if event.what in ("DRIVER_ALLOC", "DRIVER_FREE", "VMM_CREATE"))
    assert all(event.device_index == 0 for event in events
               if event.what == "VMM_CREATE" or (event.what == "DRIVER_ALLOC" and event.flags not in (3, 6)))
    assert all(event.size and event.result == 2 for event in events if event.what == "DRIVER_FAIL")
    print(dict(calls))


main(*sys.argv[1:])
