"""A torch of a few lines: what census.py looks at, and an allocator that reports as PyTorch's does."""
import ctypes
import gc  # noqa: as torch does

from . import _C, nn, optim  # noqa
from ._tensor import Tensor, float32, strided  # noqa

__version__ = "2.0.0+fake"
_report = getattr(ctypes.CDLL(None), "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", None)
if _report is not None:
    _report.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint16]


class Allocator:
    next, total = 0x7f0000000000, 0

    def give(self, nbytes):
        address, self.next, self.total = self.next, self.next + (nbytes + 511) // 512 * 512, self.total + nbytes
        if _report is not None:
            _report(address, nbytes, self.total, self.total, 1)  # report on CUDA device 0
        return address


allocator = Allocator()


def tensor(*shape, kind=None):
    made = (kind or Tensor)()
    made.shape = shape
    made.address = allocator.give(made.numel() * 4)
    return made
