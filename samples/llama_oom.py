"""A small Llama of transformers on one GPU: rollout, forward, backward, optimizer; the batch of step 4 does not fit.

The ranges are the phases. NCCL has one rank. Prints PyTorch's own peaks after each step: the sample's test compares them.
"""
import os

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS, LENGTH, BATCHES = 32000, 1024, (4, 4, 4, 96)


def connect():
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group("nccl", rank=0, world_size=1)
    torch.distributed.all_reduce(torch.ones(1 << 20, device="cuda"))


def rollout(model, batch):
    prompts = torch.randint(3, WORDS, (batch, 32), device="cuda")
    model.eval()
    with torch.no_grad():
        model.generate(prompts, max_new_tokens=24, do_sample=True, pad_token_id=0)
    model.train()


def step(model, optimizer, batch):
    phase = torch.cuda.nvtx.range
    with phase("rollout"):
        rollout(model, batch)
    tokens = torch.randint(3, WORDS, (batch, LENGTH), device="cuda")
    with phase("forward"):
        loss = model(input_ids=tokens, labels=tokens).loss
    with phase("backward"):
        loss.backward()
    with phase("optimizer"):
        optimizer.step()
        optimizer.zero_grad()


def main():
    torch.manual_seed(0)
    connect()
    config = LlamaConfig(hidden_size=1536, intermediate_size=4096, num_hidden_layers=12, num_attention_heads=12,
                         num_key_value_heads=12, vocab_size=WORDS)
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for batch in BATCHES:
        step(model, optimizer, batch)
        print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), flush=True)


main()
