"""step_time.py HISTORY [--device cpu] [--steps N]: seconds of a training step of a small transformer, as JSON.

HISTORY: off, python or all, PyTorch's own record of its allocator with those stacks. Each step waits for the GPU, so
that the time is that of the whole step. Prints the median of the steps, the tenth and the ninetieth percentile.
"""
import argparse
import json
import time

import torch
from workload import Training

WARM = 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("history", choices=["off", "python", "all"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    if args.history != "off":
        torch.cuda.init()
        torch.cuda.memory._record_memory_history(context="all", stacks=args.history, max_entries=100000)
    training, times = Training(args.device), []
    for i in range(WARM + args.steps):
        start = time.perf_counter()
        training.step(length=128)
        if args.device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    times = sorted(times[WARM:])
    print(json.dumps({"median": times[len(times) // 2], "p10": times[len(times) // 10], "p90": times[len(times) * 9 // 10]}))


main()
