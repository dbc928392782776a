"""The promotion of dtypes that keeps 64 bits.

Keras's rule gives 32 bits in the place of 64, as JAX does by default, on every backend but TensorFlow's. Here
a result has 64 bits where an operand has them, so that a model of `float64` stays one. Two shorter operands,
such as `uint32` and `int32`, do not make one.

This module imports nothing of Keras: the hook puts it into Keras's own.
"""

import functools

_WIDER = {
    "int32": ("int64", {"int64", "uint64"}),
    "uint32": ("uint64", {"int64", "uint64"}),
    "float32": ("float64", {"float64", "complex128"}),
    "complex64": ("complex128", {"float64", "complex128"}),
}


def keeping_64_bits(result_type):
    """Decorate Keras's `result_type`, whose module has `config` and `standardize_dtype`."""
    names = result_type.__globals__

    @functools.wraps(result_type)
    def widened(*dtypes):
        result = result_type(*dtypes)
        if result not in _WIDER:
            return result
        floatx = names["config"].floatx()
        kinds = [floatx if kind is None else kind for kind in dtypes]
        # By identity: a dtype may be equal to a type of Python.
        given = {names["standardize_dtype"](kind) for kind in kinds if kind is not int and kind is not float}
        if any(kind is float for kind in kinds) and not any(
            "float" in name or "complex" in name for name in given
        ):
            # A number of Python is of the dtype of floats that is configured, unless a tensor says otherwise.
            given.add(floatx)
        wider, causes = _WIDER[result]
        return wider if given & causes else result

    return widened
