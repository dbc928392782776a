"""Penstock."""

import penstock
from cases import Works
from frameworks import tf_style
from frameworks.tf_style import to_numpy

__all__ = ["DISTRIBUTION", "IMPORT", "to_numpy", "works"]

DISTRIBUTION = "penstock-engine"
IMPORT = "penstock"


def works() -> Works:
    return tf_style.works(penstock, count=1_000_000)
