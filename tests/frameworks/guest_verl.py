"""guest_verl.py CASE FOLDER - verl's own workers (ActorRolloutRefWorker's methods over TrainingWorker and its FSDP2 engine) on CPUs
with gloo, a rank of torchrun each: log-probs of actor and reference, the update in mini- and micro-batches with PPO's loss, and
the weights handed to an engine, which is the one part that is made up.

Stand-ins for parts that a machine without GPUs cannot have: the platform (verl has it for plugins), pinned memory,
and the patches of attention for packed sequences.
"""
import asyncio
import os
import sys
import types
from functools import partial

import tiny  # first: no hub

import torch
import torch.distributed as dist
from account import Account

os.environ.update(VERL_ENGINE_DEVICE="cuda", VERL_ENGINE_VENDOR="nvidia")  # which class of engine
try:
    from verl.plugin.platform.platform_cuda import PlatformCUDA
    from verl.plugin.platform.platform_manager import set_platform
except ImportError as error:
    print("lacks verl: %s" % error)
    sys.exit(0)

MICRO, ROWS, PROMPT, ANSWER = 4, 8, 12, 48
case, folder = sys.argv[1:3]
account = Account()


def device():
    """The functions of torch.cuda that verl calls."""
    module = types.ModuleType("cpu")
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "current_device"):
        setattr(module, name, lambda *_: 0)
    for name in ("empty_cache", "synchronize", "set_device", "ipc_collect", "reset_peak_memory_stats"):
        setattr(module, name, lambda *_: None)
    module.mem_get_info = lambda *_: (1 << 34, 1 << 34)
    module.device_count, module.is_available, module.get_device_name = lambda: 1, lambda: True, lambda *_: "cpu"
    module.get_rng_state, module.set_rng_state, module.manual_seed = torch.get_rng_state, torch.set_rng_state, torch.manual_seed
    module.Stream, module.current_stream = torch.cpu.Stream, torch.cpu.current_stream
    return module


class PlatformCPU(PlatformCUDA):
    device_name = "cpu"
    device_module = device()

    def is_available(self):
        return True

    def current_device(self):
        return "cpu"

    def device_count(self):
        return 1

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def is_ipc_supported(self):
        return False

    def nothing(self, *_):
        pass

    set_device = synchronize = empty_cache = set_allocator_settings = nothing
    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)


set_platform(PlatformCPU())
import verl.workers.engine.fsdp.transformer_impl as fsdp_engine
import verl.workers.engine_workers as workers
from omegaconf import OmegaConf
from verl.utils import tensordict_utils
from verl.utils.dataset.dataset_utils import DatasetPadMode
from verl.workers.config import FSDPActorConfig, FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig, TrainingWorkerConfig
from verl.workers.utils.losses import ppo_loss

fsdp_engine.apply_monkey_patch = lambda **_: None
fsdp_engine.CPUOffloadPolicy = lambda policy=fsdp_engine.CPUOffloadPolicy, **_: policy(pin_memory=False)
workers.set_expandable_segments = lambda _: None


class Rollout:
    """Stands for the engine: takes what is sent, and keeps nothing of it."""

    async def resume(self, tags):
        pass

    async def update_weights(self, weights, **_):
        for _ in weights:
            pass


def training_worker(path, forward_only=False):
    model = HFModelConfig(path=path, use_remove_padding=False, enable_gradient_checkpointing=case == "verl-checkpointing",
                          override_config={"attn_implementation": "eager"})
    engine = FSDPEngineConfig(strategy="fsdp2", forward_only=forward_only, use_dynamic_bsz=False, micro_batch_size_per_gpu=MICRO,
                              infer_micro_batch_size_per_gpu=ROWS, use_torch_compile=False, dtype="float32",
                              use_remove_padding=False, entropy_checkpointing=case == "verl-checkpointing")
    worker = workers.TrainingWorker(TrainingWorkerConfig(
        model_type="language_model", model_config=model, engine_config=engine,
        optimizer_config=None if forward_only else FSDPOptimizerConfig(lr=1e-4, total_training_steps=10)))
    worker.reset()
    return worker


def actor_rollout_ref(path):
    both = object.__new__(workers.ActorRolloutRefWorker)  # its own start needs Ray and an engine
    both.enable_routing_replay = both.layered_summon = both.peft_merge = False
    both.actor, both.ref, both.rollout = training_worker(path), training_worker(path, forward_only=True), Rollout()
    both.actor.set_loss_fn(partial(ppo_loss, config=FSDPActorConfig(
        strategy="fsdp2", rollout_n=1, ppo_mini_batch_size=ROWS, ppo_micro_batch_size_per_gpu=MICRO, use_dynamic_bsz=False,
        entropy_coeff=0.01, use_kl_loss=True)))
    both.config = OmegaConf.create({"rollout": {"name": "vllm", "free_cache_engine": True, "checkpoint_engine": {"backend": "naive"}}})
    return both


def batch(**more):
    """Prompts with their answers; `more` for each token of an answer."""
    rows = [torch.randint(4, 2000, (PROMPT + ANSWER,)) for _ in range(ROWS)]
    mask = torch.cat([torch.zeros(PROMPT), torch.ones(ANSWER)])
    jagged = partial(torch.nested.as_nested_tensor, layout=torch.jagged)
    tensors = {"input_ids": jagged(rows), "position_ids": jagged([torch.arange(len(row)) for row in rows]),
               "loss_mask": jagged([mask] * ROWS), "prompts": jagged([row[:PROMPT] for row in rows]),
               "responses": jagged([row[PROMPT:] for row in rows]), "response_mask": torch.ones(ROWS, ANSWER),
               "attention_mask": torch.ones(ROWS, PROMPT + ANSWER, dtype=torch.int64)}
    said = {"temperature": 1.0, "calculate_entropy": True, "global_batch_size": 2 * ROWS, "max_response_len": ANSWER,
            "pad_mode": DatasetPadMode.NO_PADDING}
    return tensordict_utils.get_tensordict({**tensors, **more}, said)


def watch(both):
    engine = both.actor.engine
    account.models += [engine.module, both.ref.engine.module]
    account.around(both, "compute_log_prob", "logprob")
    account.around(both, "compute_ref_log_prob", "ref")
    account.around(both, "update_actor", "forward")  # but for what lies inside it
    account.around(torch.Tensor, "backward", "backward")
    account.around(engine, "optimizer_step", "optimizer")
    account.optimizer(engine.optimizer, ends_step=False)


def one_step(both):
    data = batch()
    tensordict_utils.assign_non_tensor(data, compute_loss=False)
    both.compute_log_prob(data.copy())
    both.compute_ref_log_prob(data.copy())
    data = batch(**{name: torch.zeros(ROWS, ANSWER) for name in ("old_log_probs", "ref_log_prob", "advantages")})
    tensordict_utils.assign_non_tensor(data, mini_batch_size=2 * ROWS, epochs=1, seed=1, dataloader_kwargs={})
    both.update_actor(data)
    with account.during("weight-update"):
        asyncio.run(both.update_weights())
    account.steps += 1
    account.add_up()  # the gradients are gone by now


dist.init_process_group("gloo")
path = tiny.saved(folder) if dist.get_rank() == 0 else os.path.join(folder, "model-float32")
dist.barrier()
both = actor_rollout_ref(path)
watch(both)
with account.training():
    for _ in range(4):
        one_step(both)
account.write()
dist.destroy_process_group()
