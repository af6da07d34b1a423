"""guest_plain.py CASE FOLDER - trainings in plain PyTorch, 1.13 or later, with models that fit on a CPU."""
import sys

import torch
from account import Account
from torch import nn

CASES = {}
account = Account()


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


def train(model, inputs, optimizer=None, steps=3):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    account.models.append(model)
    account.optimizer(optimizer)
    with account.training():
        for _ in range(steps):
            with account.during("forward"):
                loss = model(inputs()).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            print("%.6f" % loss.item())
            del loss
    account.write()


@case
def sequential():
    train(nn.Sequential(*[nn.TransformerEncoderLayer(128, 4, 512, batch_first=True) for _ in range(6)]), lambda: torch.randn(8, 64, 128))


def block(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2))


@case
def convnet():
    model = nn.Sequential(block(3, 16), block(16, 32), block(32, 64), nn.Flatten(), nn.Linear(64 * 8 * 8, 64))
    train(model, lambda: torch.randn(8, 3, 64, 64), torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Mixture(nn.Module):
    """Expert i gets twice the tokens of expert i + 1."""

    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def forward(self, x):
        weights, parts, rest = self.gate(x).softmax(-1), [], x
        for i, expert in enumerate(self.experts):
            mine, rest = (rest, rest[:0]) if expert is self.experts[-1] else (rest[:len(rest) // 2], rest[len(rest) // 2:])
            parts.append(expert(mine) * weights[len(x) - len(rest) - len(mine):len(x) - len(rest), i:i + 1])
        return x + torch.cat(parts)


class Layers(nn.Module):
    def __init__(self, width=128, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Mixture(width, 5) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


@case
def experts():
    train(Layers(), lambda: torch.randn(2048, 128))


@case
def ddp():
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(Layers(96, 3))
    train(model, lambda: torch.randn(1024, 96))
    torch.distributed.destroy_process_group()


torch.manual_seed(0)
CASES[sys.argv[1]]()
