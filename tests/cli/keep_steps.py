"""keep_steps.py STEPS CALLS [OOM_STEP] - steps of CALLS driver calls each, told as memrec_step() of memrec.h does it; one call of OOM_STEP asks
for more than there is. Counts for itself: the last line is "LIVE bytes live" of what was never freed."""
import ctypes
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from gpu_driver import Driver

steps, calls, oom_step = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
driver, program = Driver(), ctypes.CDLL(None)
held, live = [], 0
for step in range(1, steps + 1):
    for i in range(calls):
        if step == oom_step and i == calls // 2:
            if driver.cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1 << 50)) != 2:
                sys.exit("there was room for 1 PiB")
        if len(held) > 20 and (i * 7919 + step) % 5 < 3:
            address, size = held.pop((i * 31 + step) % len(held))
            driver.free(address)
            live -= size
        else:
            size = 4096 * (1 + (i * 104729 + step) % 500)
            held.append((driver.take(size), size))
            live += size
    program.memrec_agent_step()
print("%d bytes live" % live)
