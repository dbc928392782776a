"""The ocean models on TensorFlow."""

import tensorflow as tf

from cases import Works
from families.arrays import of_tensorflow
from families.pyhpc import shared


def works() -> Works:
    return shared.works(of_tensorflow(tf), tf.function, tf.constant)
