"""An engine as people write them: the cache takes what is free, then a prefill of many tokens does not fit.

expect: logits|engine_share chunk-logits|smaller-share Engine.prefill|Engine.__init__
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM
class Engine:
    def __init__(self, config, utilization):
        with torch.device("cuda"):
            self.model = LlamaForCausalLM(config).eval()
        free, total = torch.cuda.mem_get_info()
        blocks = int((total * utilization - (total - free)) // (config.num_hidden_layers * 2 * 16 * config.hidden_size * 2))
        self.cache = [torch.zeros(2, blocks, 16, config.num_key_value_heads, config.hidden_size // config.num_attention_heads, device="cuda") for _ in range(config.num_hidden_layers)]
        print("blocks", blocks, torch.cuda.memory_allocated() >> 20, flush=True)
    @torch.inference_mode()
    def prefill(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).logits.float().softmax(-1).argmax(-1)
def main():
    torch.set_default_dtype(torch.bfloat16)
    config = LlamaConfig(vocab_size=128256, hidden_size=4096, num_hidden_layers=16, intermediate_size=11008, num_attention_heads=32)
    engine = Engine(config, 0.92)
    for n in (1, 2, 4, 8, 16, 32):
        engine.prefill(torch.randint(128256, (n, 1024), device="cuda"))
        print("prefill", n, torch.cuda.max_memory_allocated() >> 20, flush=True)
main()
