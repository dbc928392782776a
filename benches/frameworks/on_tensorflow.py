"""TensorFlow, on the CPU."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from cases import Works
from frameworks import tf_style
from frameworks.tf_style import to_numpy

__all__ = ["DISTRIBUTION", "IMPORT", "to_numpy", "works"]

DISTRIBUTION = "tensorflow-cpu"
IMPORT = "tensorflow"


def works() -> Works:
    return tf_style.works(tf, count=20_000)
