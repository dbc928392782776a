"""The Python array API standard, revision 2025.12, on tensors.

`Tensor.__array_namespace__()` gives this module, so that code written against the standard, for NumPy, CuPy or
PyTorch, runs on tensors: eagerly, and in a traced function. Names, signatures and semantics are those of
https://data-apis.org/array-api/2025.12/; `docs/array-api.md` lists what differs, and why.

Arrays are the tensors of `penstock.Tensor`. Python's operators on a tensor that comes from here promote dtypes
as the standard has it, where those on others are TensorFlow's, which never do; `asarray(x)` makes the one of
the other at no cost.

>>> import penstock as tf
>>> def normalised(x):
...     xp = x.__array_namespace__()
...     return x / xp.linalg.vector_norm(x)
>>> normalised(tf.constant([3.0, 4.0])).tolist()
[0.6000000238418579, 0.800000011920929]
"""

import math as _math

from penstock import _core
from penstock.array_api import linalg as linalg
from penstock.array_api._creation import *
from penstock.array_api._data_types import *
from penstock.array_api._elementwise import *
from penstock.array_api._info import __array_namespace_info__ as __array_namespace_info__
from penstock.array_api._linear_algebra import *
from penstock.array_api._manipulation import *
from penstock.array_api._reductions import *
from penstock.array_api._searching import *

__array_api_version__ = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

bool = _core.bool
int8, int16, int32, int64 = _core.int8, _core.int16, _core.int32, _core.int64
uint8, uint16, uint32, uint64 = _core.uint8, _core.uint16, _core.uint32, _core.uint64
float32, float64 = _core.float32, _core.float64
complex64, complex128 = _core.complex64, _core.complex128
# Beyond the standard.
float16, bfloat16 = _core.float16, _core.bfloat16

e, inf, nan, pi = _math.e, _math.inf, _math.nan, _math.pi
newaxis = None
