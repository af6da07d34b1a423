"""
real_loop.py [STEPS] - a policy gradient loop on a model so small that calls, not arithmetic, take the time.

A loop like TRL's GRPO on a tiny model: tokens are generated one by one, log-probs taken with and without gradients,
then backward and AdamW. Prints the seconds of the loop by the clock, and those of this process alone on a processor.
"""
import sys
import time

import torch
from torch import nn

WIDTH, LAYERS, WORDS, PROMPT, NEW, GROUP = 16, 4, 64, 6, 10, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_in, self.norm_out = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        scores = self.query(x) @ self.key(x).transpose(-1, -2)
        future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        return self.out(scores.masked_fill(future, -1e9).softmax(-1) @ self.value(x))

    def forward(self, x):
        x = x + self.attend(self.norm_in(x))
        return x + self.down(torch.relu(self.up(self.norm_out(x))))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


@torch.no_grad()
def generate(policy, tokens):
    for _ in range(NEW):
        words = torch.multinomial(policy(tokens)[:, -1].softmax(-1), 1)
        tokens = torch.cat([tokens, words], 1)
    return tokens


def log_probs(policy, tokens):
    logits = policy(tokens)[:, :-1]
    return logits.log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)[:, PROMPT - 1:]


def train(policy, optimizer):
    tokens = generate(policy, torch.randint(0, WORDS, (GROUP, PROMPT)))
    with torch.no_grad():
        old = log_probs(policy, tokens)
    rewards = (tokens[:, PROMPT:] % 2 == 0).float().mean(1)
    ratio = (log_probs(policy, tokens) - old).exp()
    loss = -(ratio * (rewards - rewards.mean())[:, None]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


torch.set_num_threads(1)
torch.manual_seed(1)
policy = Policy()
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
for _ in range(3):
    train(policy, optimizer)
wall, own = time.perf_counter(), time.process_time()
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 100):
    train(policy, optimizer)
print("%.6f %.6f" % (time.perf_counter() - wall, time.process_time() - own))
