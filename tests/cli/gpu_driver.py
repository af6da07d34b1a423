"""gpu_driver.py - the few driver calls that take and give back GPU memory."""
import ctypes
import sys


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        result = getattr(self.cuda, name)(*args)
        if result:
            sys.exit("%s: error %d" % (name, result))

    def take(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def free(self, address):
        self.call("cuMemFree_v2", address)
