"""A static cache for long generations, then training of the same model.

expect: unneeded release-own LlamaModel.forward
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache
def main():
    config = LlamaConfig(vocab_size=32000, hidden_size=4096, num_hidden_layers=16, intermediate_size=11008, num_attention_heads=32, max_position_embeddings=16384)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    cache = StaticCache(config=config, max_cache_len=8192)
    for step in range(3):
        prompts = torch.randint(32000, (40, 128), device="cuda")
        with torch.no_grad():
            model.generate(prompts, attention_mask=torch.ones_like(prompts), past_key_values=cache, max_new_tokens=8, disable_compile=True, pad_token_id=0)
        cache.reset()
        for micro in prompts.repeat(1, 8).split(20):
            model(input_ids=micro, labels=micro, use_cache=False).loss.backward()
        opt.step(); opt.zero_grad()
        print("step", step, torch.cuda.max_memory_allocated() >> 20, flush=True)
main()
