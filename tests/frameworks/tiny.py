"""tiny.py - models, a tokenizer and texts that are made here: nothing comes from a hub."""
import os
import random

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

WORDS = ["w%d" % n for n in range(1996)]
CHAT = "{% for m in messages %}{{ m['content'] }} <end> {% endfor %}"


def config(**more):
    words = dict(vocab_size=2000, hidden_size=192, intermediate_size=448, num_hidden_layers=4, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=256, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2,
                 pad_token_id=0, attn_implementation="eager")
    return Qwen2Config(**dict(words, **more))


def built(**more):
    """A model built in code."""
    torch.manual_seed(0)
    return Qwen2ForCausalLM(config(**more))


def saved(folder, dtype=torch.float32, **more):
    """Its path, after one was saved there: for from_pretrained."""
    path = os.path.join(folder, "model-%s" % str(dtype).rpartition(".")[2])
    if not os.path.isdir(path):
        built(**more).to(dtype).save_pretrained(path)
        tokenizer().save_pretrained(path)
    return path


def tokenizer():
    words = {word: n for n, word in enumerate(["<pad>", "<begin>", "<end>", "<unk>"] + WORDS)}
    inner = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", bos_token="<begin>", eos_token="<end>",
                                   unk_token="<unk>", chat_template=CHAT)


def text(draw, count):
    return " ".join(draw.choice(WORDS) for _ in range(count))


def texts(count, columns, words=48):
    """A data set with a text in each column."""
    from datasets import Dataset

    draw = random.Random(1)
    return Dataset.from_dict({column: [text(draw, words) for _ in range(count)] for column in columns})
