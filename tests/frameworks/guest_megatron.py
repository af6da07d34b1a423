"""guest_megatron.py CASE FOLDER - Megatron-Core's own buffers of weights and gradients, and its optimizers, on CPUs with gloo, a rank of
torchrun each: DistributedOptimizer over bf16 and float32 weights, and the optimizer that is not distributed.

The truth for memana's word are the bytes of Megatron's own buffers, main gradients and main weights, after each
backward and each step. It wants CUDA only by name: the current device is the CPU here, types are called as on CUDA,
and one number of its
optimizer is made on the CPU.
"""
import os
import sys

import torch
import torch.distributed as dist
from guest_torch import GPT, VOCABULARY, account

try:
    import megatron.core.optimizer.optimizer as megatron_optimizer
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.transformer import TransformerConfig
except Exception as error:
    print("lacks megatron.core: %s" % error)
    sys.exit(0)

MICRO = 2
CASES = {  # arguments of the buffers and the optimizer
    "megatron-distributed": (True, {"use_distributed_optimizer": True, "grad_reduce_in_fp32": True}),
    "megatron-distributed-bf16": (True, {"use_distributed_optimizer": True, "grad_reduce_in_fp32": False}),
    "megatron-distributed-fp32": (False, {"use_distributed_optimizer": True}),
    "megatron-bf16": (True, {"use_distributed_optimizer": False, "grad_reduce_in_fp32": True}),
    "megatron-fp32-accumulation": (True, {"use_distributed_optimizer": True, "grad_reduce_in_fp32": False, "overlap_grad_reduce": True,
                                          "reduce_scatter_with_fp32_accumulation": True, "bucket_size": 300000}),
}


class OnCPU:
    """torch, but for numbers that are made on CUDA."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def tensor(self, *values, device=None, **words):
        return torch.tensor(*values, **words)


def as_on_cuda(tensor, *words, plain=torch.Tensor.type, **more):
    said = plain(tensor, *words, **more)
    return said.replace("torch.", "torch.cuda.") if isinstance(said, str) else said


torch.cuda.current_device = lambda: "cpu"
torch.Tensor.type = as_on_cuda
megatron_optimizer.torch = OnCPU()


def held(model, optimizer):
    """[(kind, tensors)] of Megatron's structures."""
    buffers = model.buffers + model.expert_parallel_buffers
    own = [buffer.param_data for buffer in buffers if buffer.param_data is not None] + list(model.module.parameters())
    there = {tensor.untyped_storage().data_ptr() for tensor in own}
    inner = optimizer.optimizer
    masters = [p for group in inner.param_groups for p in group["params"]]
    states = masters + [value for of in inner.state.values() for value in of.values() if isinstance(value, torch.Tensor)]
    return [("weights", own), ("gradients", [buffer.grad_data for buffer in buffers] + [m.grad for m in masters]),
            ("optimizer state", [t for t in states if t.untyped_storage().data_ptr() not in there])]  # shards of float32 weights are views


def one_step(model, optimizer):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    for number in range(MICRO):
        tokens = torch.randint(VOCABULARY, (4, 65))
        with account.during("forward"):
            loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        with account.during("backward"):
            with model.no_sync() if number + 1 < MICRO else torch.enable_grad():
                loss.backward()
            if number + 1 == MICRO:
                model.finish_grad_sync()
        del loss
        account.look("backward")
    with account.during("optimizer"):
        optimizer.step()
    account.steps += 1
    account.add_up()


def main(case):
    bf16, words = CASES[case]
    dist.init_process_group("gloo")
    parallel_state.initialize_model_parallel()
    torch.manual_seed(0)
    inner = GPT()
    inner.head.weight = torch.nn.Parameter(inner.head.weight.detach().clone())
    inner = inner.bfloat16() if bf16 else inner
    config = TransformerConfig(num_layers=4, hidden_size=192, num_attention_heads=4, use_cpu_initialization=True, bf16=bf16)
    model = DistributedDataParallel(config, DistributedDataParallelConfig(**words), inner)
    optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, bf16=bf16, clip_grad=0.0,
                                                       use_distributed_optimizer=words["use_distributed_optimizer"]), [model])
    optimizer = optimizer.chained_optimizers[0] if hasattr(optimizer, "chained_optimizers") else optimizer
    account.models.append(inner)
    account.more.append(lambda: held(model, optimizer))
    with account.training():
        for _ in range(5):
            one_step(model, optimizer)
    account.write()
    dist.destroy_process_group()


main(sys.argv[1])
