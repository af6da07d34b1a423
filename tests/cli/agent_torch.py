"""agent_torch.py train | check RING: a few training steps on the CPU; what the agent must have seen of them."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
STEPS = 4


def train():
    import torch

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("in backward")

    def train_step(model, optimizer):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        train_step(model, optimizer)
    torch.zeros(1000).share_memory_()
    try:
        Fails.apply(torch.ones(3, requires_grad=True)).sum().backward()
    except ValueError:
        pass


def check(path):
    import agent_ring
    ring, live, total, maps, inside = agent_ring.Ring(path), {}, 0, 0, 0
    assert ring.sources["cpu-tensors"][0] == 1 and ring.sources["autograd-engine"][0] == 1, ring.sources
    assert not any(ring.lost), ring.lost
    for event in ring.events:
        if event.what == "TENSOR_ALLOC":
            live[event.addr] = event
            if event.flags:
                maps += 1
                continue
            total += event.size
            assert event.total == total, "the allocator says %d, the sum is %d" % (event.total, total)
        elif event.what == "TENSOR_FREE":
            born = live.pop(event.addr)
            assert born.size == event.size
            if not born.flags:
                total -= event.size
                assert event.flags or event.total == total
        elif event.what == "BACKWARD_BEGIN":
            inside += 1
        elif event.what == "BACKWARD_END":
            inside -= 1
            assert inside == 0
    what = [event.what for event in ring.events]
    assert what.count("BACKWARD_BEGIN") == what.count("BACKWARD_END") == STEPS + 1, what.count("BACKWARD_END")
    assert maps == 1, "shared memory: %d" % maps
    functions = {code["qualname"] or code["name"] for code in ring.codes.values()}
    assert any(name.endswith("train_step") for name in functions) and any("backward" in name for name in functions)
    print("%d events, %d stacks" % (len(ring.events), len(ring.stacks)))


if sys.argv[1] == "train":
    train()
else:
    check(sys.argv[2])
