"""agent_hooks.py - calls the agent's hooks as PyTorch, the driver and NVTX would; for tests of the agent alone."""
import ctypes
import glob
import os

import agent_ring


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int8), ("index", ctypes.c_int8)]


library = ctypes.CDLL(None, use_errno=True)
report = library["_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"]
report.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, Device]
report.restype = None
oom = library["_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"]
oom.argtypes = [ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, Device]
oom.restype = None
GPU, CPU, XPU = Device(1, 0), Device(0, -1), Device(12, 0)


def alloc(address, size=64, device=GPU):
    report(address, size, size, size, device)


def free(address, size=64, device=GPU):
    report(address, -size, 0, 0, device)


def rings():
    return sorted(glob.glob(os.path.join(os.environ["RINGS"], "*.ring")))


def ring():
    return agent_ring.Ring(os.path.join(os.environ["RINGS"], "%d.ring" % os.getpid()))
