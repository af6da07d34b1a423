"""loader.py fork|spawn - trains on batches that two DataLoader workers make."""
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((1000,), float(index))


def main():
    model = torch.nn.Linear(1000, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for batch in DataLoader(Data(), batch_size=16, num_workers=2, multiprocessing_context=sys.argv[1]):
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    print("done")


if __name__ == "__main__":
    main()
