"""The array API namespace has every name of the standard, with the signature that it gives."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

import array_api_strict
import pytest

import penstock as tf
from penstock import array_api as xp

# What `array_api_strict` has beyond the standard.
OWN = {
    "ArrayAPIStrictFlagsContext",
    "array_api_strict_namespace",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}


def functions(module: Any) -> list[str]:
    return [
        name for name in module.__all__ if name not in OWN and isinstance(getattr(module, name), FunctionType)
    ]


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults; `array_api_strict` has a marker in place of the standard's None."""
    return [
        (p.name, p.kind, None if type(p.default).__name__ == "Undef" else p.default)
        for p in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", functions(array_api_strict))
def test_functions_have_the_signatures_of_the_standard(name):
    assert parameters(getattr(xp, name)) == parameters(getattr(array_api_strict, name))


@pytest.mark.parametrize(
    ("extension", "name"),
    [(e, name) for e in ("linalg", "fft") for name in functions(getattr(array_api_strict, e))],
)
def test_functions_of_extensions_have_the_signatures_of_the_standard(extension, name):
    ours, theirs = getattr(xp, extension), getattr(array_api_strict, extension)
    assert parameters(getattr(ours, name)) == parameters(getattr(theirs, name))


def test_every_function_is_documented_with_an_example():
    for module in (xp, xp.linalg, xp.fft):
        for name, function in vars(module).items():
            if name in module.__all__ and isinstance(function, FunctionType):
                assert ">>> " in (function.__doc__ or ""), name


@pytest.mark.parametrize(
    "name",
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_dtypes_are_those_of_tensors(name):
    assert getattr(xp, name) is getattr(tf, name)


def test_constants():
    for name in ("e", "inf", "pi"):
        assert getattr(xp, name) == getattr(array_api_strict, name)
    assert xp.nan != xp.nan
    assert xp.newaxis is None


def test_info_says_what_the_namespace_can_do():
    info = xp.__array_namespace_info__()
    own = array_api_strict.__array_namespace_info__()
    for name in ("capabilities", "default_device", "default_dtypes", "devices", "dtypes"):
        assert parameters(getattr(info, name)) == parameters(getattr(own, name))
    assert xp.zeros(()).device == info.default_device()
    assert set(info.dtypes()) == set(own.dtypes())
    assert list(info.dtypes(kind=("bool", "unsigned integer"))) == [
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    ]
    defaults = info.default_dtypes()
    assert xp.zeros(()).dtype == defaults["real floating"]
    assert xp.asarray(1j).dtype == defaults["complex floating"]
    assert xp.asarray(1).dtype == defaults["integral"]
    assert xp.argmax(xp.zeros(3)).dtype == defaults["indexing"]


def test_tensors_give_the_namespace():
    x = tf.constant([1.0])
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match=r"api_version.*'1999.12'"):
        x.__array_namespace__(api_version="1999.12")
    seen = []

    @tf.function
    def f(x):
        seen.append(x.__array_namespace__())
        return x

    f(x)
    assert seen == [xp]


# `__buffer__` is a name of Python 3.12 and later for what tensors have in all versions.
METHODS = [
    name
    for name, method in vars(array_api_strict._array_object.Array).items()
    if name.startswith("__") and isinstance(method, FunctionType) and name != "__buffer__"
]
# Those that are not the standard's, and those that an immutable array cannot have.
LACKING = {"__setitem__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__", "__imod__"}
LACKING |= {"__imul__", "__ior__", "__ipow__", "__irshift__", "__isub__", "__itruediv__", "__ixor__"}


@pytest.mark.parametrize("name", [n for n in METHODS if n not in LACKING])
def test_tensors_have_the_methods_of_the_standard(name):
    assert hasattr(tf.constant([1.0]), name)


@pytest.mark.parametrize("name", sorted(LACKING))
def test_tensors_are_immutable(name):
    assert not hasattr(tf.Tensor, name)


def test_attributes():
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    assert (x.ndim, x.size, x.shape) == (2, 6, (2, 3))
    assert x.T.tolist() == x.mT.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert xp.zeros((4, 2, 3)).mT.shape == (4, 3, 2)
    with pytest.raises(ValueError, match=r"Tensor\.T .*\[3\]"):
        xp.zeros(3).T
    with pytest.raises(ValueError, match=r"Tensor\.mT"):
        xp.zeros(3).mT
    assert x.to_device(x.device) is x
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match=r"device.*'GPU:0'"):
        x.to_device("GPU:0")
    with pytest.raises(ValueError, match="stream"):
        x.to_device(x.device, stream=1)
    with pytest.raises(ValueError, match=r"zeros.*device"):
        xp.zeros(3, device="tpu")


def test_size_is_unknown_where_a_dimension_is():
    sizes = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x):
        sizes.append(x.size)
        return x.mT

    assert f(tf.zeros([3, 2])).shape == (2, 3)
    assert sizes == [None]
