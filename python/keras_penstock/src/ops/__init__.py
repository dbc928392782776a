"""The functions of `keras.ops`, as Keras 3.16 looks for them."""

from keras_penstock.src import core, image, linalg, math, nn, numpy
from keras_penstock.src.core import *  # noqa: F403
