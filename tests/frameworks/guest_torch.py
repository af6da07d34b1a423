"""guest_torch.py CASE FOLDER - training loops in plain PyTorch: one like nanoGPT's, compiled or not, and two ranks of
DistributedDataParallel and of FSDP2 under torchrun; with a model that fits on a CPU.
"""
import os
import sys

import torch
import torch.distributed as dist
from account import Account
from torch import nn
from torch.nn import functional as F

CASES = {}
account = Account()
VOCABULARY, WIDTH, LAYERS = 2000, 192, 4


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, 4, c // 4).transpose(1, 2) for part in self.attention(self.norm(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(128, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def train(model, optimizer, steps=int(os.environ.get("STEPS", 5)), micro=1, clip=True, call=None):
    account.optimizer(optimizer)
    call = model if call is None else call
    with account.training():
        for _ in range(steps):
            for _ in range(micro):
                tokens = torch.randint(VOCABULARY, (4, 65))
                with account.during("forward"):
                    loss = call(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
                with account.during("backward"):
                    loss.backward()
                del loss
            if clip:
                with account.during("optimizer"):
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    account.write()


@case
def nanogpt():
    torch.manual_seed(0)
    model = GPT()
    account.models.append(model)
    train(model, torch.optim.AdamW(model.parameters(), lr=1e-4), micro=2)


@case
def nanogpt_compile():
    torch.manual_seed(0)
    model = GPT()
    account.models.append(model)
    train(model, torch.optim.AdamW(model.parameters(), lr=1e-4), call=torch.compile(model))


def data_parallel(**more):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(GPT(), **more)
    account.models.append(model)
    train(model, torch.optim.AdamW(model.parameters(), lr=1e-4))
    dist.destroy_process_group()


@case
def ddp():
    account.copies["gradients"] = 2  # in the parameters' own, and in the buckets that are reduced
    data_parallel()


@case
def ddp_views():
    data_parallel(gradient_as_bucket_view=True)


def fsdp2(**more):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = GPT()
    model.head.weight = nn.Parameter(model.head.weight.detach().clone())  # sharded weights are not tied
    for block in model.blocks:
        fully_shard(block, mesh=mesh, **more)
    fully_shard(model, mesh=mesh, **more)
    account.models.append(model)
    train(model, torch.optim.AdamW(model.parameters(), lr=1e-4), clip=False)
    dist.destroy_process_group()


@case
def fsdp2_shard():
    fsdp2()


@case
def fsdp2_bf16():
    from torch.distributed.fsdp import MixedPrecisionPolicy

    fsdp2(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))


@case
def sgd_tied():
    torch.manual_seed(0)
    model = GPT()
    account.models.append(model)
    train(model, torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9))


if __name__ == "__main__":
    CASES[sys.argv[1]]()
