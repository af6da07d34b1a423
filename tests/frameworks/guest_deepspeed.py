"""guest_deepspeed.py CASE FOLDER - DeepSpeed's own engine on CPUs with gloo, a rank of torchrun each: ZeRO's three stages, in
float32 and in bf16 with partitions of the master weights, accumulated over micro-batches, with the optimizer on the host.

The truth for memana's word are the bytes of DeepSpeed's own flat buffers, after each backward and each step. Its own
operators are not compiled: its shared memory between ranks of one host gives way to gloo, its Adam to PyTorch's.
"""
import os
import sys

os.environ.update(DS_ACCELERATOR="cpu", DS_BUILD_OPS="0")

import torch
import torch.distributed as dist
from guest_torch import GPT, VOCABULARY, account

try:
    import deepspeed
except Exception as error:
    print("lacks deepspeed: %s" % error)
    sys.exit(0)
import deepspeed.ops

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
MICRO = 2
BF16 = {"bf16": {"enabled": True}}
ZERO = {
    "zero1": (1, {}),
    "zero2": (2, {}),
    "zero3": (3, {}),
    "zero1-bf16": (1, BF16),
    "zero1-bf16-fp32": (1, dict(BF16, data_types={"grad_accum_dtype": "fp32"})),  # an optimizer of its own, BF16_Optimizer
    "zero2-bf16": (2, BF16),
    "zero2-bf16-fp32": (2, dict(BF16, data_types={"grad_accum_dtype": "fp32"})),
    "zero3-bf16": (3, BF16),
    "zero2-offload": (2, dict(BF16, zero_force_ds_cpu_optimizer=False, offload={"device": "cpu", "pin_memory": False})),
}


def said(case):
    """(stage, DeepSpeed's JSON)."""
    stage, more = ZERO[case]
    more = dict(more)
    zero = {"stage": stage, "reduce_bucket_size": 300000, "allgather_bucket_size": 300000, "stage3_prefetch_bucket_size": 100000,
            "stage3_param_persistence_threshold": 1000, "overlap_comm": False}
    if "offload" in more:
        zero["offload_optimizer"] = more.pop("offload")
    return stage, dict(train_micro_batch_size_per_gpu=4, gradient_accumulation_steps=MICRO, zero_optimization=zero, steps_per_print=1000,
                       zero_allow_untested_optimizer=True, **more)


def tensors(value):
    """Those in it, however deep."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif hasattr(value, "buffer"):  # a bucket
        value = value.buffer
        return tensors(value)
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for inner in value for tensor in tensors(inner)]


# Buffers of each stage's optimizer, by its own names.
WEIGHTS = ("bit16_groups_flat", "bf16_groups_flat", "lp_param_buffer", "param_buffer_of_bit16_for_cpu_offload_groups")
GRADIENTS = ("averaged_gradients", "all_grad_tensors", "grad_partitions_flat_buffer", "ipg_buckets", "fp32_groups_gradients_flat",
             "temp_grad_buffer_for_cpu_offload", "temp_grad_buffer_for_gpu_offload", "accumulated_grads_in_cpu")
MASTERS = ("single_partition_of_fp32_groups", "fp32_partitioned_groups_flat", "fp32_groups_flat_partition")


def held(engine):
    """[(kind, tensors)] of DeepSpeed's structures."""
    zero = engine.optimizer
    parameters = list(engine.module.parameters())

    def of(names):
        return tensors([getattr(zero, name, None) for name in names])

    weights = parameters + of(WEIGHTS) + [p.ds_tensor for p in parameters if hasattr(p, "ds_tensor")]
    masters = of(MASTERS)
    there = {tensor.untyped_storage().data_ptr() for tensor in weights}
    states = masters + [value for state in zero.optimizer.state.values() for value in tensors(state)]
    return [("weights", weights), ("gradients", of(GRADIENTS) + [p.grad_accum for p in parameters if getattr(p, "grad_accum", None) is not None]
                                   + [m.grad for m in masters]),
            ("optimizer state", [t for t in states if t.untyped_storage().data_ptr() not in there])]  # float32 of stage 3 is updated in place


def one_step(engine):
    for _ in range(MICRO):
        tokens = torch.randint(VOCABULARY, (4, 65))
        with account.during("forward"):
            loss = engine(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        with account.during("backward"):
            engine.backward(loss)
        del loss
        account.look("backward")
        with account.during("optimizer"):
            engine.step()
    account.steps += 1
    account.add_up()


def main(case):
    stage, words = said(case)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(0)
    model = GPT()
    model.head.weight = torch.nn.Parameter(model.head.weight.detach().clone())
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=words,
                                      optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4))
    account.models.append(engine.module)
    account.more.append(lambda: held(engine))
    with account.training():
        for _ in range(5):
            one_step(engine)
    account.write()
    dist.destroy_process_group()


main(sys.argv[1])
