"""The machine's limits with Penstock."""

import penstock as tf
from cases import Works
from families.machine import tf_style


def works() -> Works:
    return tf_style.works(tf, loops=True)
