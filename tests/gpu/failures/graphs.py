"""CUDA graphs for every batch size, each with its own pool.

expect: allocator_idle empty-cache capture
"""
import torch
from torch import nn
def capture(model, batch, hidden):
    x = torch.zeros(batch, hidden, device="cuda", dtype=torch.bfloat16)
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s), torch.no_grad():
        model(x)
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g), torch.no_grad():
        y = model(x)
    return g, x, y
def main():
    hidden = 16384
    model = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(hidden, 4 * hidden, device="cuda", dtype=torch.bfloat16), nn.SiLU(), nn.Linear(4 * hidden, hidden, device="cuda", dtype=torch.bfloat16))])
    graphs = {}
    for batch in range(8192, 8192 + 512 * 64, 512):
        graphs[batch] = capture(model, batch, hidden)
        print("captured", batch, torch.cuda.memory_reserved() >> 20, flush=True)
main()
