"""The ocean models on NumPy."""

import numpy as np

from cases import Works
from families.arrays import of_numpy
from families.pyhpc import shared


def works() -> Works:
    return shared.works(of_numpy(np), lambda kernel: kernel, np.asarray)
