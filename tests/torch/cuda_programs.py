"""cuda_programs.py NAME - small trainings on the stand-in GPU; each prints what PyTorch's allocator says of itself."""
import json
import sys

import torch

D = 2048
LAYER = D * D * 4


def build(layers):
    return torch.nn.Sequential(*[torch.nn.Linear(D, D, bias=False) for _ in range(layers)]).cuda()


def one_step(model, optimizer, rows):
    loss = model(torch.empty(rows, D, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def train():
    model = build(6)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(5):
        one_step(model, optimizer, 1024 + 256 * step)


def leak():
    model, kept = build(2), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        one_step(model, optimizer, 256)
        kept.append(torch.empty(1 << 20, dtype=torch.uint8, device="cuda"))  # the line that leaks


def fill():
    model = build(4)
    cache = [torch.empty(LAYER, dtype=torch.uint8, device="cuda") for _ in range(20)]  # the line that fills
    one_step(model, torch.optim.AdamW(model.parameters()), 64)
    return cache


try:
    globals()[sys.argv[1]]()
finally:
    print(json.dumps(torch.cuda.memory_stats()))
