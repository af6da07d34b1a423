"""Sequences of many lengths: halves of large segments stay in use, and nothing fits the next request.

expect: allocator_idle expandable-segments -
"""
import torch
def main():
    keep, drop = [], []
    total = torch.cuda.get_device_properties(0).total_memory
    size, i = 0, 0
    while size < total * 0.80:
        n = (64 + i % 9 * 7) << 20
        pair = torch.empty(2 * n, dtype=torch.uint8, device="cuda")
        del pair
        keep.append(torch.empty(n // 2, dtype=torch.uint8, device="cuda"))
        drop.append(torch.empty(n, dtype=torch.uint8, device="cuda"))
        size = torch.cuda.memory_reserved(); i += 1
    del drop
    print("reserved", torch.cuda.memory_reserved() >> 20, "allocated", torch.cuda.memory_allocated() >> 20, flush=True)
    big = torch.empty(90 << 30, dtype=torch.uint8, device="cuda")
main()
