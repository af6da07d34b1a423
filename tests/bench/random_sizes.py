"""random_sizes.py [STEPS] - a training on the CPU whose batches have lengths of chance, to be recorded for top.sh."""
import random
import sys

import torch

WIDTH, HEADS, LAYERS, WORDS = 64, 4, 2, 500


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, LAYERS)
        self.head = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        return self.head(self.layers(self.embedding(tokens)))


def train(steps):
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        tokens = torch.randint(0, WORDS, (random.randint(1, 6), random.randint(4, 96)))
        optimizer.zero_grad(set_to_none=True)
        logits = model(tokens)
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, WORDS), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()


random.seed(1)
torch.manual_seed(1)
torch.set_num_threads(1)
train(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
