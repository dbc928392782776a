"""Random numbers: names that TensorFlow has under `tf.random.experimental`."""

from __future__ import annotations

from penstock._ops.random_more import (
    create_rng_state as create_rng_state,
    index_shuffle as index_shuffle,
    stateless_shuffle as stateless_shuffle,
)
from penstock._runtime.public_names import publish as _publish
from penstock.random import (
    Algorithm as Algorithm,
    Generator as Generator,
    fold_in as stateless_fold_in,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
    split as stateless_split,
)

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "index_shuffle",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]

_publish(__name__)
