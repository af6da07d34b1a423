"""plain.py PROGRAM FOLDER [NAME=VALUE...] - training loops over plain modules of torch.nn, for tests/advice: no framework names the layers.

Settings are in OURS. FOLDER is for $ADVICE_COUNT=FILE alone: PyTorch's profiler counts along, and the peak of all tensors that it
saw is written there.
"""
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

OURS = dict(layers=8, width=192, batch=8, length=128, vocabulary=4000,
            checkpointing=False,  # each layer is computed again in the backward pass
            chunk=0,  # rows of the head and the loss at once, each part computed again; 0: all
            autocast=False, optimizer="AdamW")
given = dict(word.split("=") for word in sys.argv[3:])
ours = {name: type(default)(given[name]) if not isinstance(default, bool) else given[name] == "true"
        for name, default in OURS.items() if name in given}
ours = dict(OURS, **ours)


class Encoder(nn.Module):
    """Token by token, with a head as large as the vocabulary."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(ours["vocabulary"], ours["width"])
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(ours["width"], 4, 4 * ours["width"], batch_first=True)
                                    for _ in range(ours["layers"]))
        self.head = nn.Linear(ours["width"], ours["vocabulary"])

    def forward(self, tokens):
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=False) if ours["checkpointing"] else layer(hidden)
        return hidden.flatten(0, 1)

    def loss(self, hidden, wanted):
        return F.cross_entropy(self.head(hidden).float(), wanted, reduction="sum")

    def batch(self):
        tokens = torch.randint(0, ours["vocabulary"], (ours["batch"], ours["length"]))
        return tokens, tokens.flatten()


class Perceptron(nn.Module):
    """Blocks of linear layers; no vocabulary."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(ours["width"]), nn.Linear(ours["width"], 4 * ours["width"]), nn.GELU(),
                                                  nn.Linear(4 * ours["width"], ours["width"])) for _ in range(ours["layers"]))
        self.head = nn.Linear(ours["width"], 10)

    def forward(self, rows):
        for block in self.blocks:
            rows = rows + (checkpoint(block, rows, use_reentrant=False) if ours["checkpointing"] else block(rows))
        return rows

    def loss(self, rows, wanted):
        return F.cross_entropy(self.head(rows), wanted, reduction="sum")

    def batch(self):
        rows = ours["batch"] * ours["length"]
        return torch.randn(rows, ours["width"]), torch.randint(0, 10, (rows,))


class Pictures(nn.Module):
    """Convolutions over pictures of `length` by `length`."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, ours["width"], 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(ours["width"], ours["width"], 3, padding=1), nn.BatchNorm2d(ours["width"]),
                                                  nn.ReLU()) for _ in range(ours["layers"]))
        self.head = nn.Linear(ours["width"], 10)

    def forward(self, pictures):
        hidden = self.first(pictures)
        for block in self.blocks:
            hidden = checkpoint(block, hidden, use_reentrant=False) if ours["checkpointing"] else block(hidden)
        return hidden.mean((2, 3))

    def loss(self, hidden, wanted):
        return F.cross_entropy(self.head(hidden), wanted, reduction="sum")

    def batch(self):
        return torch.randn(ours["batch"], 3, ours["length"], ours["length"]), torch.randint(0, 10, (ours["batch"],))


def loss_of(net, given, wanted):
    hidden, size = net(given), ours["chunk"]
    if not size:
        return net.loss(hidden, wanted) / len(wanted)
    parts = [checkpoint(net.loss, part, of, use_reentrant=False) for part, of in zip(hidden.split(size), wanted.split(size))]
    return sum(parts) / len(wanted)


def train():
    net = {"encoder": Encoder, "perceptron": Perceptron, "pictures": Pictures}[sys.argv[1]]()
    optimizer = getattr(torch.optim, ours["optimizer"])(net.parameters(), lr=1e-4)
    for _ in range(3):
        given, wanted = net.batch()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=ours["autocast"]):
            loss = loss_of(net, given, wanted)
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad()


def counted():
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        train()
    path = os.path.join(sys.argv[2], "profile.json")
    seen.export_chrome_trace(path)
    with open(path) as file:
        totals = [event["args"]["Total Allocated"] for event in json.load(file)["traceEvents"] if event.get("name") == "[memory]"]
    with open(os.environ["ADVICE_COUNT"], "w") as file:
        json.dump({"peak": max(totals), "events": len(totals)}, file)


torch.manual_seed(7)
if os.environ.get("ADVICE_COUNT"):
    counted()
elif not os.environ.get("ADVICE_FAKE"):  # MemTracker has no modules here that it could follow
    train()
