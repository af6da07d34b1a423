"""compiled.py - a function that torch.compile turns into C++: its frames are those of generated code."""
import torch


def double_product(x, w):
    return (torch.nn.functional.gelu(x @ w) @ w.t()).sum()


def main():
    compiled = torch.compile(double_product)
    w = torch.randn(256, 512, requires_grad=True)
    for _ in range(3):
        compiled(torch.randn(64, 256), w).backward()
        w.grad = None
    print("done")


main()
