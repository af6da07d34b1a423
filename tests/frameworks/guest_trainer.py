"""guest_trainer.py CASE FOLDER - the Trainer of transformers and those of TRL, with a model that fits on a CPU; FOLDER is for
what they write. The account of each is kept from outside, around the trainer's own methods.
"""
import os
import sys

import tiny  # first: no hub

import torch
from account import Account
from transformers import Qwen2ForCausalLM, Trainer, TrainingArguments

CASES = {}
folder = sys.argv[2]
account = Account()
COMMON = dict(output_dir=os.path.join(folder, "out"), use_cpu=True, report_to="none", save_strategy="no", logging_steps=1,
              max_steps=int(os.environ.get("STEPS", 4)), learning_rate=1e-4, dataloader_num_workers=0, disable_tqdm=True)


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


def watch(trainer, *more_models):
    """The timers: within a training step all that is neither backward nor of another role is forward."""
    trainer.create_optimizer()
    account.models += [trainer.model, *[model for model in more_models if model is not None]]
    account.around(trainer, "training_step", "forward")
    account.around(trainer.accelerator, "backward", "backward")
    account.around(trainer.accelerator, "clip_grad_norm_", "optimizer")
    account.optimizer(trainer.optimizer)


def train(trainer):
    with account.training():
        trainer.train()
    account.write(trainer.state.global_step)


def lora():
    from peft import LoraConfig

    return LoraConfig(r=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
                      task_type="CAUSAL_LM")


def rows(count=64, words=64):
    torch.manual_seed(1)
    tokens = torch.randint(4, 2000, (count, words))
    return [{"input_ids": row, "labels": row} for row in tokens]


def hf_trainer(model, **more):
    trainer = Trainer(model, TrainingArguments(per_device_train_batch_size=4, **dict(COMMON, **more)), train_dataset=rows())
    watch(trainer)
    train(trainer)


@case
def trainer():
    hf_trainer(tiny.built())


@case
def trainer_checkpointing():
    hf_trainer(Qwen2ForCausalLM.from_pretrained(tiny.saved(folder)), gradient_checkpointing=True)


@case
def trainer_bf16():
    hf_trainer(Qwen2ForCausalLM.from_pretrained(tiny.saved(folder, torch.bfloat16), dtype=torch.bfloat16), bf16=True)


@case
def trainer_accumulation():
    hf_trainer(tiny.built(tie_word_embeddings=True), gradient_accumulation_steps=3)


@case
def trainer_lora():
    from peft import get_peft_model

    hf_trainer(get_peft_model(Qwen2ForCausalLM.from_pretrained(tiny.saved(folder)), lora()))


def trl_sft(model, **more):
    from trl import SFTConfig, SFTTrainer

    words = {key: more.pop(key) for key in ("peft_config",) if key in more}
    arguments = SFTConfig(per_device_train_batch_size=4, max_length=64, **dict(COMMON, **more))
    trainer = SFTTrainer(model, arguments, train_dataset=tiny.texts(64, ["text"]), processing_class=tiny.tokenizer(), **words)
    watch(trainer)
    train(trainer)


@case
def sft():
    trl_sft(tiny.saved(folder))


@case
def sft_built():
    trl_sft(tiny.built(), bf16=False, gradient_checkpointing=False)


@case
def sft_lora():
    trl_sft(tiny.saved(folder), peft_config=lora())


def trl_grpo(model, **more):
    from trl import GRPOConfig, GRPOTrainer

    words = dict(per_device_train_batch_size=4, num_generations=4, max_completion_length=24, beta=0.04, temperature=1.0)
    trainer = GRPOTrainer(model, reward, args=GRPOConfig(**dict(dict(COMMON, **words), **more)),
                          train_dataset=tiny.texts(64, ["prompt"], 12), processing_class=tiny.tokenizer())
    watch(trainer, trainer.ref_model)
    account.around(trainer, "_generate_and_score_completions", "rollout")
    account.around(trainer, "_calculate_rewards", "other")
    inner = trainer._get_per_token_logps_and_entropies

    def asked(*arguments, **more):
        if torch.is_grad_enabled():
            return inner(*arguments, **more)  # part of the loss: forward
        with account.during("logprob"):
            return inner(*arguments, **more)

    trainer._get_per_token_logps_and_entropies = asked
    train(trainer)


def reward(completions, **more):
    return [float(len(set(completion.split()))) for completion in completions]


@case
def grpo():
    trl_grpo(tiny.saved(folder))


@case
def grpo_built():
    trl_grpo(tiny.built(), beta=0.0)


@case
def grpo_iterations():
    trl_grpo(tiny.saved(folder), gradient_accumulation_steps=2, num_iterations=2, max_steps=6)


@case
def dpo():
    from trl import DPOConfig, DPOTrainer

    trainer = DPOTrainer(tiny.saved(folder), args=DPOConfig(per_device_train_batch_size=4, max_length=96, **COMMON),
                         train_dataset=tiny.texts(64, ["prompt", "chosen", "rejected"], 24), processing_class=tiny.tokenizer())
    watch(trainer, trainer.ref_model)
    train(trainer)


CASES[sys.argv[1]]()
