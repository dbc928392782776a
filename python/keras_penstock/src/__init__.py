"""What `keras.src.backend` takes from a backend."""

import keras as _keras
from keras.src.backend import config as _config

import keras_penstock as _keras_penstock
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

# Operations of layers have the line of the program that calls them.
_libraries.add(_keras)
_libraries.add(_keras_penstock)

if not hasattr(_config, "PLUGGABLE_BACKENDS"):
    # Keras 3.15 has the function in the place of its module.
    from keras_penstock.src.rnn import rnn

__all__ = [name for name in dir() if not name.startswith("_")]
