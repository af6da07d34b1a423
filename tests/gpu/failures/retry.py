"""The failed step is tried again with half the batch, within the handler: the frames of the failed one stay.

expect: unneeded release-own LlamaModel.forward
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM
errors = []
def step(model, opt, batch):
    ids = torch.randint(32000, (batch, 2048), device="cuda")
    out = model(input_ids=ids, labels=ids)
    out.loss.backward()
    opt.step(); opt.zero_grad()
    return out.loss.item()
def main():
    config = LlamaConfig(vocab_size=32000, hidden_size=2048, num_hidden_layers=16, intermediate_size=5504, num_attention_heads=16)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    step(model, opt, 2); step(model, opt, 2)
    batch = 64
    while True:
        try:
            step(model, opt, batch); print("fits", batch, flush=True); break
        except torch.OutOfMemoryError as e:
            errors.append(e); print("too large", batch, torch.cuda.memory_allocated() >> 20, flush=True); batch = batch * 3 // 4
            if len(errors) > 3: raise
main()
