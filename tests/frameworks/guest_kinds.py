"""guest_kinds.py CASE FOLDER - the kinds of memory that a census meets beyond plain training: what lies on the host, in parts,
packed, flat, or twice. A program that lacks its library says "lacks NAME: why".
"""
import os
import sys

import torch
import torch.distributed as dist
from guest_torch import GPT, account, case, fsdp2, train, CASES


def needs(name):
    try:
        return __import__(name, fromlist=["_"])
    except Exception as error:  # some fail in their own ways where there is no GPU
        print("lacks %s: %s" % (name, str(error).splitlines()[0] if str(error) else type(error).__name__), flush=True)
        sys.exit(0)


@case
def fsdp2_offload():
    from torch.distributed.fsdp import CPUOffloadPolicy

    fsdp2(offload_policy=CPUOffloadPolicy(pin_memory=False))


@case
def zero_redundancy():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    account.copies["gradients"] = 2  # in the parameters' own, and in the buckets that are reduced
    model = torch.nn.parallel.DistributedDataParallel(GPT())
    account.models.append(model)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-4)
    account.more.append(lambda: [("optimizer state", [value for of in optimizer.optim.state.values() for value in of.values()])])
    train(model, optimizer)
    dist.destroy_process_group()


@case
def torchao_8bit():
    torchao = needs("torchao.optim")
    model = plain()
    train(model, torchao.AdamW8bit(model.parameters(), lr=1e-4))


@case
def torchao_quantized():
    quantization = needs("torchao.quantization")
    model = plain(tied=False)
    quantization.quantize_(model.blocks, quantization.Int8WeightOnlyConfig())
    for parameter in model.blocks.parameters():
        parameter.requires_grad_(False)
    train(model, torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4))


@case
def bitsandbytes_8bit():
    optim = needs("bitsandbytes.optim")
    model = plain()
    train(model, optim.AdamW8bit(model.parameters(), lr=1e-4))


@case
def master_weights():
    """The weights in bf16, and the optimizer's own copy of them in fp32, as many frameworks do by hand."""
    model = plain(tied=False).to(torch.bfloat16)
    masters = [torch.nn.Parameter(p.detach().float()) for p in model.parameters()]
    optimizer = torch.optim.AdamW(masters, lr=1e-4)
    account.more.append(lambda: [("optimizer state", masters + [v for of in optimizer.state.values() for v in of.values()]),
                                 ("gradients", [m.grad for m in masters])])

    def give(*ignored):
        for master, parameter in zip(masters, model.parameters()):
            master.grad = parameter.grad.float()

    def take(*ignored):
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters()):
                parameter.copy_(master)

    optimizer.register_step_pre_hook(give)
    optimizer.register_step_post_hook(take)
    train(model, optimizer, clip=False)


def plain(tied=True):
    torch.manual_seed(0)
    model = GPT()
    if not tied:
        model.head.weight = torch.nn.Parameter(model.head.weight.detach().clone())
    account.models.append(model)
    return model


CASES[sys.argv[1]]()
