"""census_again.py - for agent_embed, which runs it in two interpreters, one after the other: a model whose modules are told."""
import torch


def act():
    for _ in range(64):  # the recorder looks at each 32nd
        torch.tensor(8)


for module in torch.nn.Module(), torch.nn.Module():
    module(act)
    for _ in range(9):  # the recorder comes by
        pass
for number in range(99):
    report(0x5000 + 64 * number)  # noqa: agent_embed's
print("done")
