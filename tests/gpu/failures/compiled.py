"""torch.compile: activations of a compiled model.

expect: more_than_before fewer-tokens main
"""
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.n, self.b = nn.Linear(d, 4 * d), nn.LayerNorm(d), nn.Linear(4 * d, d)
    def forward(self, x):
        return x + self.b(nn.functional.gelu(self.a(self.n(x))))
def main():
    model = nn.Sequential(*[Block(2048) for _ in range(8)]).to("cuda", torch.bfloat16)
    step_model = torch.compile(model)
    opt = torch.optim.AdamW(model.parameters())
    for step, tokens in enumerate([1 << 14, 1 << 14, 1 << 14, 1 << 20]):
        x = torch.randn(tokens, 2048, device="cuda", dtype=torch.bfloat16)
        step_model(x).float().square().mean().backward()
        opt.step(); opt.zero_grad()
        print("step", step, torch.cuda.max_memory_allocated() >> 20, flush=True)
main()
