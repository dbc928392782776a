"""What `keras.src.backend` takes from a backend."""

import sys as _sys

from keras.src.backend import config as _config

from keras_penstock.src import core, image, linalg, math, nn, numpy, ops, random, rnn, tensorboard
from keras_penstock.src.core import (
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_GRADIENT,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    name_scope,
    random_seed_dtype,
    scatter,
    shape,
    stop_gradient,
    vectorized_map,
)
from keras_penstock.src.rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm
from penstock._runtime import libraries as _libraries

distribution_lib = None

# Operations have the line of the program that calls Keras, also where Keras goes through nests of tensors.
for _name in ("keras", "keras_penstock", "optree", "tree"):
    if _name in _sys.modules:
        _libraries.add(_sys.modules[_name])

if not hasattr(_config, "PLUGGABLE_BACKENDS"):
    # Keras 3.15 has the function in the place of its module.
    from keras_penstock.src.rnn import rnn

__all__ = [name for name in dir() if not name.startswith("_")]
