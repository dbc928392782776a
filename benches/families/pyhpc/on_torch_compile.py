"""The ocean models on PyTorch, with `torch.compile`, which keeps on disk what it compiled."""

import torch

from cases import Works
from families.arrays import of_torch
from families.pyhpc import shared


def works() -> Works:
    return shared.works(of_torch(torch), torch.compile, torch.as_tensor)
