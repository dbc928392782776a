"""The applications on Penstock."""

import penstock as tf
from cases import Works
from families.applications import tf_style


def works() -> Works:
    return tf_style.works(tf)
