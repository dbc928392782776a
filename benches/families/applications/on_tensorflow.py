"""The applications on TensorFlow."""

import tensorflow as tf

from cases import Works
from families.applications import tf_style


def works() -> Works:
    return tf_style.works(tf)
