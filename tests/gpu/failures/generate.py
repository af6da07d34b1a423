"""Generation for RL: a batch of 384 prompts, the cache grows.

expect: outlier fewer-tokens LlamaModel.forward
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM
def rollout(model, prompts, new_tokens):
    with torch.no_grad():
        return model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=new_tokens, min_new_tokens=new_tokens, do_sample=True, pad_token_id=0)
def main():
    config = LlamaConfig(vocab_size=32000, hidden_size=2048, num_hidden_layers=12, intermediate_size=5504, num_attention_heads=16, max_position_embeddings=8192)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).eval()
    for step, length in enumerate([64, 128, 256, 2400]):
        out = rollout(model, torch.randint(32000, (512, length), device="cuda"), 24)
        print("step", step, tuple(out.shape), torch.cuda.max_memory_allocated() >> 20, flush=True)
main()
