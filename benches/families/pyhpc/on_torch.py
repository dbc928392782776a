"""The ocean models on PyTorch, eagerly."""

import torch

from cases import Works
from families.arrays import of_torch
from families.pyhpc import shared


def works() -> Works:
    return shared.works(of_torch(torch), lambda kernel: kernel, torch.as_tensor)
