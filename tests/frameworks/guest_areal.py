"""guest_areal.py CASE FOLDER - AReaL's own PPO actor over its FSDP2 engine on CPUs with gloo, a rank of torchrun each: log-probs of
actor and reference, advantages, the update in mini- and micro-batches, and the weights handed to an engine by disk, which is
the one part that is made up.

AReaL has a platform for CPUs; what lacks is stood in for by a line each.
"""
import os
import sys
from concurrent.futures import Future
from importlib.util import find_spec
from unittest.mock import MagicMock

import tiny  # first: no hub

import torch
import torch.distributed as dist
from account import Account

for name in ("swanlab", "tensorboardX", "trackio", "wandb"):  # destinations of its figures
    if not find_spec(name):
        sys.modules[name] = MagicMock()
try:
    import areal.engine.fsdp_engine as fsdp_engine
    from areal.api import FinetuneSpec, WeightUpdateMeta
    from areal.api.cli_args import MicroBatchSpec, OptimizerConfig, PPOActorConfig
    from areal.infra.platforms.cpu import CpuPlatform
except ImportError as error:
    print("lacks areal: %s" % error)
    sys.exit(0)

ROWS, PROMPT, ANSWER, MICRO = 8, 12, 48, 128
case, folder = sys.argv[1:3]
account = Account()

for name in ("set_device", "set_numa_affinity"):
    if not hasattr(CpuPlatform, name):
        setattr(CpuPlatform, name, classmethod(lambda *_: None))
fsdp_engine.name_resolve.add = lambda *_, **__: None  # a file for other hosts


class Engine:
    """Stands for the engine: is told where the weights lie, and reads nothing of them."""

    def pause_generation(self):
        pass

    continue_generation = pause_generation

    def update_weights_from_disk(self, meta):
        told = Future()
        told.set_result(None)
        return told


def actor(path, role, trained=True):
    config = PPOActorConfig(experiment_name="test", trial_name=role, path=path, backend="fsdp:d2", attn_impl="sdpa", dtype="float32",
                            mb_spec=MicroBatchSpec(max_tokens_per_mb=MICRO), ppo_n_minibatches=2, kl_ctl=0.1,
                            gradient_checkpointing=case == "areal-checkpointing", optimizer=OptimizerConfig(lr=1e-4) if trained else None)
    engine = fsdp_engine.FSDPPPOActor(config)
    engine.create_process_group()
    engine.initialize(None, FinetuneSpec(total_train_epochs=1, dataset_size=10 * ROWS, train_batch_size=ROWS))
    return engine


def batch():
    """Prompts with their answers, one dictionary each, as a rollout gives them."""
    mask = torch.cat([torch.zeros(PROMPT), torch.ones(ANSWER)]).int()[None]
    return [{"input_ids": torch.randint(4, 2000, (1, PROMPT + ANSWER)), "attention_mask": torch.ones_like(mask).bool(), "loss_mask": mask,
             "logprobs": torch.zeros(1, PROMPT + ANSWER), "rewards": torch.ones(1),
             "versions": torch.zeros(1, PROMPT + ANSWER, dtype=torch.int32)} for _ in range(ROWS)]


def watch(engine, reference):
    account.models += [engine.model, reference.model]
    account.around(engine, "compute_logp", "logprob")
    account.around(engine, "ppo_update", "forward")  # but for what lies inside it
    account.around(torch.Tensor, "backward", "backward")
    account.around(engine, "optimizer_step", "optimizer")
    account.around(engine, "update_weights", "weight-update")
    account.optimizer(engine.optimizer, ends_step=False)


def one_step(engine, reference):
    data = batch()
    for row, values in zip(data, engine.compute_logp(data)):
        row["prox_logp"] = values
    with account.during("logprob"):  # the same functions as the actor's: no stack tells them apart
        values = reference.compute_logp(data)
    for row, value in zip(data, values):
        row["ref_logp"] = value
    data = engine.compute_advantages(data)
    engine.ppo_update(data)
    engine.update_weights(WeightUpdateMeta(type="disk", path=os.path.join(folder, "weights")))
    account.steps += 1
    account.add_up()


dist.init_process_group("gloo")
path = tiny.saved(folder) if dist.get_rank() == 0 else os.path.join(folder, "model-float32")
dist.barrier()
engine, reference = actor(path, "actor"), actor(path, "reference", trained=False)
engine.connect_engine(Engine(), WeightUpdateMeta(type="disk", path=os.path.join(folder, "weights")))
watch(engine, reference)
with account.training():
    for _ in range(4):
        one_step(engine, reference)
account.write()
dist.destroy_process_group()
