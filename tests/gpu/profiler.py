"""profiler.py: three profiles of PyTorch's own profiler in a row, each a line of JSON: how many GPU events it has.

Between two of them a block of 30 MiB is taken from the driver and given back: whoever watches the driver sees that. A tool
that has lost CUPTI to the profiler has time to come back before it, and an occasion: a small tensor.
"""
import json
import time

import torch
from torch.profiler import ProfilerActivity, profile

PROFILES, PRODUCTS = 3, 20


def main():
    matrix = torch.randn(512, 512, device="cuda")
    for i in range(PROFILES):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as taken:
            for _ in range(PRODUCTS):
                product = matrix @ matrix
            torch.cuda.synchronize()
        gpu_events = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in taken.events())
        print(json.dumps({"profile": i, "gpu_events": gpu_events}), flush=True)
        torch.cuda.synchronize()  # a teardown is done in the next call of the runtime
        time.sleep(0.2)
        occasion = torch.ones(4, device="cuda")
        block = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
        del block, product, occasion
        torch.cuda.empty_cache()


main()
