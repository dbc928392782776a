"""The machine's limits with TensorFlow."""

import tensorflow as tf

from cases import Works
from families.machine import tf_style


def works() -> Works:
    return tf_style.works(tf, loops=False)
