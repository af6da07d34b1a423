"""nn.MultiheadAttention with need_weights left on, and long sequences.

expect: no_backward|outlier|largest fewer-tokens|no-grad|checkpoint Layer.forward
"""
import torch
from torch import nn
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(d, 16, batch_first=True), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    def forward(self, x):
        h = self.norm(x)
        return self.mlp(x + self.attention(h, h, h)[0]) + x
def main():
    model = nn.Sequential(*[Layer(1024) for _ in range(12)]).to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(model.parameters())
    for step in range(6):
        x = torch.randn(4, 10240, 1024, device="cuda", dtype=torch.bfloat16)
        model(x).float().square().mean().backward(); opt.step(); opt.zero_grad()
        print("step", step, torch.cuda.max_memory_allocated() >> 20, flush=True)
main()
