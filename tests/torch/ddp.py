"""ddp.py - three steps of data-parallel training on the CPU: a rank of torchrun, or its own launcher of two ranks."""
import os
import socket

import torch
import torch.distributed as dist


def train(rank, world):
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 256))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(32, 512)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()
    os.write(1, b"rank %d of %d: done\n" % (rank, world))  # in one piece


def spawned(rank, world):
    os.environ["RANK"] = str(rank)
    train(rank, world)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    else:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        torch.multiprocessing.spawn(spawned, args=(2,), nprocs=2)
