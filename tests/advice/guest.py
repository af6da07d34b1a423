"""guest.py PROGRAM FOLDER [NAME=VALUE...] - training programs whose settings can be changed, for tests/advice: the Trainer of
transformers, TRL's SFT and GRPO, and a loop of our own that packs samples up to a token budget. FOLDER is for what they write.

Settings of the frameworks go by their own names and reach their configurations as they are; those of the model, the data and
the adapters are in OURS. Nothing here knows memrec. With $ADVICE_COUNT=FILE PyTorch's profiler counts along, and the peak of
all tensors that it saw is written there; with $ADVICE_FAKE=FILE nothing is computed: one step under FakeTensorMode, and the
peak that MemTracker says.
"""
import json
import os
import random
import sys
from itertools import islice

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "frameworks"))
import tiny  # first: no hub

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

PROGRAMS = {}
OURS = dict(layers=6, hidden=192, vocabulary=4000, tied=False, attention="sdpa", dtype="float32",  # the model
            length=128, shortest=0,  # lengths of samples in tokens: all alike, or from shortest to length
            lora=0,  # rank of the adapters, 0: none
            budget=512, chunk=0, fused=False, checkpointing=False)  # settings of the loop
FUSED_ROWS = 128
folder = sys.argv[2]


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def value(text):
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


given = {name: value(text) for name, _, text in (word.partition("=") for word in sys.argv[3:])}
ours = {name: given.pop(name, default) for name, default in OURS.items()}  # what is left is the framework's


def model():
    """Built in code, with the census's shapes of a real one: half as many heads for keys, an FFN of 8/3."""
    torch.set_default_dtype(getattr(torch, ours["dtype"]))
    built = tiny.built(num_hidden_layers=ours["layers"], hidden_size=ours["hidden"], intermediate_size=ours["hidden"] * 8 // 3,
                       vocab_size=ours["vocabulary"], tie_word_embeddings=ours["tied"], attn_implementation=ours["attention"],
                       max_position_embeddings=1024)
    torch.set_default_dtype(torch.float32)
    return built


def adapters():
    from peft import LoraConfig

    names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    return LoraConfig(r=ours["lora"], target_modules=names, task_type="CAUSAL_LM")


def lengths(count):
    """The longest comes within the first samples, so that a short run has it."""
    draw = random.Random(3)
    if not ours["shortest"]:
        return [ours["length"]] * count
    drawn = [draw.randint(ours["shortest"], ours["length"]) for _ in range(count)]
    drawn[1] = ours["length"]
    return drawn


def token_rows(count):
    draw = torch.Generator().manual_seed(1)
    return [torch.randint(4, 1999, (length,), generator=draw) for length in lengths(count)]


def texts(column, count):
    """A data set of texts with as many words as the samples have tokens."""
    from datasets import Dataset

    draw = random.Random(1)
    return Dataset.from_dict({column: [tiny.text(draw, length) for length in lengths(count)]})


def arguments(**more):
    common = dict(output_dir=os.path.join(folder, "out"), use_cpu=True, report_to="none", save_strategy="no", logging_steps=1,
                  max_steps=3, learning_rate=1e-4, dataloader_num_workers=0, disable_tqdm=True, bf16=False, seed=7,
                  gradient_checkpointing=False, train_sampling_strategy="sequential")
    return dict(common, **dict(more, **given))


# --- what counts along ---

def before_forward():
    """Something else where MemTracker wants to be told."""


def counted(train):
    """Runs train while PyTorch's profiler hears of every allocation on the CPU; writes the most that was there at once."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        train()
    path = os.path.join(folder, "profile.json")
    seen.export_chrome_trace(path)
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    totals = [event["args"]["Total Allocated"] for event in events if event.get("name") == "[memory]"]
    with open(os.environ["ADVICE_COUNT"], "w") as file:
        json.dump({"peak": max(totals), "events": len(totals)}, file)


def imagined(make, step):
    """make(mode) gives (model, optimizer), step(model, optimizer) is one step of training with numbers that are not there."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    global before_forward
    torch.nn.Module.to = lambda net, *words, **more: net  # all is on the CPU, and numbers that are not there cannot be moved
    torch.Tensor.item = lambda tensor: 1  # metrics ask what a number is
    torch.Tensor.__bool__ = lambda tensor: True
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        net, optimizer = make(mode)
        tracker = MemTracker()
        tracker.track_external(net, optimizer)
        before_forward = tracker.reset_mod_stats  # it counts one forward of a module only
        with tracker:
            for _ in range(2):  # the states of the optimizer are there from the second on
                step(net, optimizer)
        peak = sum(kinds["Total"] for kinds in tracker.get_tracker_snapshot("peak").values())
    with open(os.environ["ADVICE_FAKE"], "w") as file:
        json.dump({"peak": peak}, file)


def run(train):
    if os.environ.get("ADVICE_COUNT"):
        counted(train)
    else:
        train()


def trained(make):
    """make() gives a trainer of transformers' kind."""
    if not os.environ.get("ADVICE_FAKE"):
        return run(lambda: make().train())

    from torch._subclasses.fake_tensor import unset_fake_temporarily

    def parts(mode):
        trainer = make()
        if trainer.args.gradient_checkpointing:
            trainer.model.gradient_checkpointing_enable(trainer.args.gradient_checkpointing_kwargs)
        net = trainer.accelerator.prepare(trainer.model)  # autocast; both are done by train()
        trainer.create_optimizer()
        with unset_fake_temporarily():  # samples are real: they were drawn
            batches = list(islice(trainer.get_train_dataloader(), trainer.args.gradient_accumulation_steps))
        parts.trainer = trainer
        parts.batches = [{name: mode.from_tensor(tensor) for name, tensor in batch.items()} for batch in batches]
        return net, trainer.optimizer

    def step(net, optimizer):
        trainer = parts.trainer
        net.train()
        for batch in parts.batches:
            before_forward()
            with trainer.compute_loss_context_manager():
                loss = trainer.compute_loss(net, batch)
            trainer.accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

    imagined(parts, step)


# --- the programs ---

@program
def trainer():
    from transformers import Trainer, TrainingArguments

    def padded(rows):
        words = torch.nn.utils.rnn.pad_sequence([row["input_ids"] for row in rows], batch_first=True)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row["input_ids"]) for row in rows], batch_first=True)
        return {"input_ids": words, "attention_mask": mask, "labels": words.masked_fill(mask == 0, -100)}

    def make():
        net = model()
        if ours["lora"]:
            from peft import get_peft_model

            net = get_peft_model(net, adapters())
        rows = [{"input_ids": row} for row in token_rows(128)]
        return Trainer(net, TrainingArguments(**arguments()), train_dataset=rows, data_collator=padded)

    trained(make)


@program
def sft():
    from trl import SFTConfig, SFTTrainer

    def make():
        return SFTTrainer(model(), SFTConfig(**arguments()), train_dataset=texts("text", 128), processing_class=tiny.tokenizer(),
                          peft_config=adapters() if ours["lora"] else None)

    trained(make)


def reward(completions, **more):
    return [float(len(set(completion.split()))) for completion in completions]


@program
def grpo():
    from trl import GRPOConfig, GRPOTrainer

    def make():
        words = arguments(temperature=1.0)
        del words["train_sampling_strategy"]
        net = model()
        if words.get("beta"):  # a reference is loaded by name
            net.save_pretrained(os.path.join(folder, "model"))
            tiny.tokenizer().save_pretrained(os.path.join(folder, "model"))
            net = os.path.join(folder, "model")
        return GRPOTrainer(net, reward, args=GRPOConfig(**words), train_dataset=texts("prompt", 128),
                           processing_class=tiny.tokenizer(), peft_config=adapters() if ours["lora"] else None)

    trained(make)


def packed(rows):
    """Micro-batches of whole samples, in their order, each of at most budget tokens unless one sample has more."""
    batches = []
    for row in rows:
        if batches and sum(map(len, batches[-1])) + len(row) <= ours["budget"]:
            batches[-1].append(row)
        else:
            batches.append([row])
    return [torch.cat(batch)[None] for batch in batches]


def token_log_probs(head, hidden, targets):
    """One number a token. Its softmax is there for at most chunk rows at once, and made again for the backward pass; fused, so
    are the logits."""
    def of(rows, wanted):
        return -F.cross_entropy((head(rows) if ours["fused"] else rows).float(), wanted, reduction="none")

    rows = hidden if ours["fused"] else head(hidden)
    size = FUSED_ROWS if ours["fused"] else ours["chunk"]
    if not size:
        return of(rows, targets)
    return torch.cat([checkpoint(of, part, wanted, use_reentrant=False)
                      for part, wanted in zip(rows.split(size), targets.split(size))])


@program
def loop():
    """The update of RL by token budget: log-probs of all micro-batches first, then a step over them."""
    def make(mode=None):
        net = model()
        if ours["checkpointing"]:
            net.gradient_checkpointing_enable()
        return net, torch.optim.AdamW(net.parameters(), lr=1e-4)

    def log_probs(net, tokens):
        before_forward()
        hidden = net.model(input_ids=tokens, use_cache=False).last_hidden_state
        return token_log_probs(net.lm_head, hidden[0, :-1], tokens[0, 1:])

    def compute_log_probs(net, batches):
        with torch.no_grad():
            return [log_probs(net, batch) for batch in batches]

    def update(net, optimizer, batches, old):
        for batch, before in zip(batches, old):
            loss = -(log_probs(net, batch) - before).exp().mean()
            loss.backward()
            del loss
        optimizer.step()
        optimizer.zero_grad()

    def step(net, optimizer, rows):
        net.train()
        batches = packed(rows)
        update(net, optimizer, batches, compute_log_probs(net, batches))

    def train():
        net, optimizer = make()
        rows = token_rows(3 * 12)
        for at in range(0, len(rows), 12):
            step(net, optimizer, rows[at:at + 12])

    if os.environ.get("ADVICE_FAKE"):
        return imagined(make, lambda net, optimizer: step(net, optimizer, token_rows(12)))
    run(train)


torch.manual_seed(7)
PROGRAMS[sys.argv[1]]()
