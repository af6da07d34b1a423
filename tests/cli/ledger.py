"""ledger.py LEDGER INFO_JSON TOP_JSON: the stand-in driver's own account against the trace.

The driver counts for itself (tests/standin/ledger.c says how a line looks); the trace must have the same number of
events of every kind and the same peak.
"""
import json
import sys
from collections import Counter

KINDS = {
    "driver-alloc": {"cuMemAlloc_v2", "cuMemAllocPitch_v2", "cuMemAllocAsync", "cuMemAllocManaged", "cuMemHostAlloc",
                     "cuMemAllocHost_v2", "cuMemHostRegister_v2"},
    "driver-free": {"cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost", "cuMemHostUnregister"},
    "vmm-reserve": {"cuMemAddressReserve"},
    "vmm-unreserve": {"cuMemAddressFree"},
    "vmm-create": {"cuMemCreate"},
    "vmm-release": {"cuMemRelease"},
    "vmm-map": {"cuMemMap"},
    "vmm-unmap": {"cuMemUnmap"},
}


def read_ledger(path):
    """Calls by entry, and the most bytes that were on device 0 at once."""
    calls, held, peak = Counter(), 0, 0
    for line in open(path):
        _, entry, result, device, _, _, _, change = line.split()
        if result != "0":
            continue
        calls[entry] += 1
        if device == "0":
            held += int(change)
            peak = max(peak, held)
    return calls, peak


def main(ledger, info_file, top_file):
    calls, peak = read_ledger(ledger)
    recorded = json.load(open(info_file))["traces"][0]["events_by_kind"]
    wanted = {kind: sum(calls[entry] for entry in entries) for kind, entries in KINDS.items()}
    wrong = [f"{kind}: the driver counts {count}, the trace has {recorded.get(kind, 0)}"
             for kind, count in wanted.items() if recorded.get(kind, 0) != count]
    found = json.load(open(top_file))["devices"][0]["peak"]["bytes"]
    if found != peak:
        wrong.append(f"peak: the driver counts {peak}, the trace has {found}")
    print("\n".join(wrong) or f"{sum(wanted.values())} events and a peak of {peak} bytes agree")
    return bool(wrong) or not peak or not sum(wanted.values())


sys.exit(main(*sys.argv[1:]))
