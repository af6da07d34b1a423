"""told_before.py TRACE - what PyTorch's allocator held before the recording is in the live set that the trace begins with: tensors, and the driver's memory under
them. The first event's total is the sum of both, no later total differs, and no free is of unknown memory. PyTorch does not say the handles of expandable segments:
each release of one from before is of unknown memory, which its unmapping has ended already."""
import json
import os
import subprocess
import sys

BUILD, TRACE = os.environ["BUILD"], sys.argv[1]


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


events = [line.split() for line in said(BUILD + "/allocator/trace_events", TRACE).splitlines()]
first = next(words for words in events if words[0] == "tensor-alloc")
HANDLE = events[0].index("handle")
handles, unknown = set(), 0
for words in events:
    if words[0] == "vmm-create":
        handles.add(words[HANDLE])
    elif words[0] == "vmm-release":
        unknown += words[HANDLE] not in handles
        handles.discard(words[HANDLE])
size, total, reserved = int(first[6]), int(first[7]), int(first[8])
row = said(BUILD + "/memana", "sql", TRACE, """SELECT sum(bytes) FILTER (WHERE memory = 'tensor'), sum(bytes) FILTER (WHERE memory <> 'tensor'),
    count(*) FILTER (WHERE phase = 'before') FROM allocation WHERE alloc_seq < %s AND (free_seq IS NULL OR free_seq > %s)""" % (first[1], first[1])).splitlines()[-1]
tensors, driver, before = [int(float(word)) for word in row.split()]
told = json.loads(said(BUILD + "/memana", "verify", "--json", TRACE))["traces"][0]
print(tensors, driver, before, first, told)
assert before > 8 and tensors == total - size and driver == reserved
assert told["differing"] == 0 and told["compared"] > 50 and told["unknown_frees"] == unknown
