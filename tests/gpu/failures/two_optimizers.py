"""PPO: actor, critic, reference, reward model on one GPU, AdamW in float32 for two of them; the critic's state does not fit.

expect: twice drop-copy build
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification
CONFIG = LlamaConfig(vocab_size=32000, hidden_size=4096, num_hidden_layers=20, intermediate_size=11008, num_attention_heads=32, num_labels=1, pad_token_id=0)
def build(kind, dtype):
    with torch.device("meta"):
        model = kind(CONFIG)
    model = model.to(dtype).to_empty(device="cuda")
    for p in model.parameters():
        p.data.normal_(std=0.02)
    return model
def logprobs(model, seq):
    logits = model(input_ids=seq).logits[:, :-1].float()
    return torch.log_softmax(logits, -1).gather(-1, seq[:, 1:, None]).squeeze(-1)
def main():
    actor, critic = build(LlamaForCausalLM, torch.float32), build(LlamaForSequenceClassification, torch.float32)
    reference, reward = build(LlamaForCausalLM, torch.bfloat16).eval(), build(LlamaForSequenceClassification, torch.bfloat16).eval()
    actor_opt, critic_opt = torch.optim.AdamW(actor.parameters(), lr=1e-6), torch.optim.AdamW(critic.parameters(), lr=1e-6)
    for m in (actor, critic):
        m.gradient_checkpointing_enable()
    for step in range(4):
        seq = torch.randint(1, 32000, (2, 512), device="cuda")
        with torch.no_grad():
            ref, r = logprobs(reference, seq), reward(input_ids=seq).logits
        with torch.autocast("cuda", torch.bfloat16):
            loss = (logprobs(actor, seq) - ref).mean() * r.mean().item()
            value = critic(input_ids=seq).logits.float().square().mean()
        loss.backward(); actor_opt.step(); actor_opt.zero_grad()
        value.backward(); critic_opt.step(); critic_opt.zero_grad()
        print("step", step, torch.cuda.max_memory_allocated() >> 20, flush=True)
main()
