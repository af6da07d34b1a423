"""An engine of its own process holds nine tenths of the GPU for its cache; the trainer of the same node runs out.

expect: peer_awake release-peer engine
"""
import os, sys, time, torch, subprocess
def engine():
    free, total = torch.cuda.mem_get_info()
    weights = [torch.empty(4096, 4096, dtype=torch.bfloat16, device="cuda") for _ in range(100)]
    kv = torch.empty(int(total * 0.85) // 2, dtype=torch.bfloat16, device="cuda")
    print("engine ready", flush=True)
    sys.stdin.read()
def main():
        from transformers import LlamaConfig, LlamaForCausalLM
    e = subprocess.Popen([sys.executable, __file__, "engine"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    e.stdout.readline()
    config = LlamaConfig(vocab_size=32000, hidden_size=2048, num_hidden_layers=16, intermediate_size=5504, num_attention_heads=16)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            model = LlamaForCausalLM(config)
        opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
        for step in range(4):
            ids = torch.randint(32000, (24, 2048), device="cuda")
            model(input_ids=ids, labels=ids).loss.backward()
            opt.step(); opt.zero_grad()
            print("step", step, flush=True)
    finally:
        e.stdin.close(); e.wait()
engine() if sys.argv[1:] == ["engine"] else main()
