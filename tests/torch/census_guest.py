"""census_guest.py HOW - trains a small model, and prints losses, random numbers and what it saw of the recorder: nothing."""
import gc
import sys
import threading
import warnings

import torch
import torch.nn as nn

warnings.simplefilter("error")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(2048, 64)
        self.up = nn.ModuleList(nn.Linear(64, 256) for _ in range(4))
        self.down = nn.ModuleList(nn.Linear(256, 64) for _ in range(4))
        self.head = nn.Linear(64, 2048, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.full((64,), 0.5))

    def forward(self, tokens):
        x = self.embed(tokens)
        for up, down in zip(self.up, self.down):
            x = x + down(torch.relu(up(x)))
        return self.head(x * self.scale)


def train(net, optimizer, steps, step=None):
    for i in range(steps):
        tokens = torch.randint(2048, (4, 32))
        loss = nn.functional.cross_entropy(net(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        (step or optimizer.step)()
        print("step %d loss %s" % (i + 1, loss.item().hex()))
        optimizer.zero_grad()


def main(how):
    torch.manual_seed(1)
    net = Net()
    reference = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    if how == "thread":
        thread = threading.Thread(target=train, args=(net, optimizer, 4))
        thread.start()
        while thread.is_alive():
            thread.join(0.05)
    elif how == "default-device":
        torch.set_default_device("cpu")
        train(net, optimizer, 4)
    elif how == "traced":
        seen = set()
        sys.settrace(lambda frame, event, argument: seen.add((frame.f_code.co_filename, frame.f_code.co_name)))
        train(net, optimizer, 4)
        sys.settrace(None)
        print("traced", sorted(name for file, name in seen if "memrec" in file and name not in ("hook", "is_compiling")))
    elif how == "hooked":
        calls = []
        handle = sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(lambda *arguments: calls.append(len(arguments)))
        train(net, optimizer, 4)
        handle.remove()
        print("hooks", calls)
    elif how == "broken":
        class Broken(torch.optim.SGD):
            def __getattribute__(self, name):
                if name == "__dict__":
                    raise ValueError("nobody is to look")
                return super().__getattribute__(name)
        train(net, Broken(net.parameters(), lr=0.1), 4)
    elif how == "compiled":
        compiled = torch.compile(optimizer.step, backend="eager")
        train(net, optimizer, 4, compiled)
        import torch._dynamo.utils as utils
        print("dynamo", dict(utils.counters["stats"]), sorted(utils.counters["graph_break"].values()))
    else:
        train(net, optimizer, 4)
    print("random", torch.rand(()).item().hex(), "collects", gc.isenabled(), "reference", reference.scale.sum().item())


main(sys.argv[1])
