"""Objects that lie, raise, change while they are read, or give what they should not: no crash."""

from __future__ import annotations

import ctypes
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import array_api as xp


class Fault(Exception):
    """Raised by an object on purpose."""


def fault(*_: Any, **__: Any) -> Any:
    raise Fault


def always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


PROTOCOLS = [
    "__array__",
    "__array_interface__",
    "__array_struct__",
    "__array_namespace__",
    "__dlpack__",
    "__dlpack_device__",
    "__tf_tensor__",
    "__tf_tracing_type__",
    "__tf_flatten__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__index__",
    "__int__",
    "__float__",
    "__complex__",
    "__bool__",
    "__hash__",
    "__eq__",
    "__call__",
    "__repr__",
    "__add__",
    "__radd__",
    "__penstock_operand__",
    "dtype",
    "shape",
    "_dims",
    "ndim",
    "strides",
    "__name__",
    "__fspath__",
    "__copy__",
    "__deepcopy__",
]

ANSWERS: dict[str, Any] = {
    "raises": fault,
    "None": always(None),
    "an int": always(-1),
    "a huge int": always(2**70),
    "a text": always("\ud800"),
    "a list": always([1, "a", None]),
    "an object": always(object()),
    "a generator": lambda *_, **__: (i for i in (1, "a", None)),
    "a tensor": lambda *_, **__: tf.constant([1.0]),
    "an array": lambda *_, **__: np.array([object(), "a"], object),
    "no function": 5,
}


def ending(items: Callable[..., Any]) -> Callable[..., Any]:
    """`items` as `__getitem__`, which ends: what Python itself would read forever is nobody's fault."""

    def item(self: Any, i: Any) -> Any:
        if isinstance(i, int) and i >= 10:
            raise IndexError(i)
        return items(self, i)

    return item


FIELDS = [
    {"shape": (3,), "typestr": "<f4", "version": 3},
    {"shape": (-3,), "typestr": "<f4", "version": 3, "data": (0, False)},
    {"shape": (2**62, 2**62), "typestr": "<f4", "version": 3, "data": (64, True)},
    {"shape": "abc", "typestr": 5, "version": None, "data": b"abc"},
]


class Itself:
    """Gives itself whatever it is asked for."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return self

    def __dlpack__(self, **_: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter([self])

    def __len__(self) -> int:
        return 1


class Shrinking(list[Any]):
    """A list that loses its items while others look at them."""

    def __len__(self) -> int:
        self.clear()
        return 5

    def __iter__(self) -> Any:
        self.clear()
        return iter([1, 2])


class Growing(Sequence[Any]):
    """A sequence whose length grows while it is looked at, up to some."""

    def __init__(self) -> None:
        self.length = 0

    def __len__(self) -> int:
        self.length += 1
        return self.length

    def __getitem__(self, i: Any) -> Any:
        if i > 100:
            raise IndexError(i)
        return [i] * self.length


class OtherKeys(Mapping[Any, Any]):
    """A mapping that has other keys each time."""

    def __init__(self) -> None:
        self.asked = 0

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        self.asked += 1
        return iter([f"a{self.asked}", f"b{self.asked}"])

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)


class Mutating(dict[Any, Any]):
    """A dict that changes while its values are compared."""

    def __init__(self) -> None:
        class Value:
            def __eq__(_, other: object) -> Any:
                self.clear()
                return NotImplemented

            __hash__ = None  # type: ignore[assignment]

        super().__init__(a=Value(), b=Value())


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


class Strange(np.ndarray[Any, Any]):
    """An array that says other things of itself than are so."""

    shape = property(lambda self: (10**9,))  # type: ignore[assignment]
    dtype = property(lambda self: np.dtype("float64"))  # type: ignore[assignment]
    strides = property(lambda self: (0,))  # type: ignore[assignment]
    base = property(lambda self: b"")  # type: ignore[assignment]
    flags = property(fault)  # type: ignore[assignment]
    nbytes = property(always(-1))  # type: ignore[assignment]
    size = property(always(10**9))  # type: ignore[assignment]
    ndim = property(always(0))  # type: ignore[assignment]

    def tolist(self) -> Any:
        fault()


class Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return True

    def __getattr__(cls, name: str) -> Any:
        raise Fault


class Number(int, numbers.Integral):  # type: ignore[misc]
    def __index__(self) -> Any:
        raise Fault

    __int__ = __float__ = __index__  # type: ignore[assignment]


class Real(float):
    __float__ = __index__ = always("a")  # type: ignore[assignment]


class Text(str):
    __slots__ = ()
    __str__ = __repr__ = fault
    __hash__ = fault  # type: ignore[assignment]


def structure() -> Any:
    fields = [("a", ctypes.c_int), ("b", ctypes.c_double)]
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})()


def hostile() -> dict[str, Any]:
    """Objects by name, new ones each time."""
    found: dict[str, Any] = {}
    for protocol in PROTOCOLS:
        for answer, given in ANSWERS.items():
            made = ending(given) if protocol == "__getitem__" and callable(given) else given
            found[f"{protocol} gives {answer}"] = type("Hostile", (), {protocol: made})()
            if protocol in ("__array_interface__", "dtype", "shape", "_dims", "ndim", "strides"):
                found[f"{protocol} is a property that gives {answer}"] = type(
                    "Hostile", (), {protocol: property(made if callable(made) else always(made))}
                )()
    for i, interface in enumerate(FIELDS):
        found[f"interface {i}"] = type("Hostile", (), {"__array_interface__": interface})()
    everything = {p: fault for p in PROTOCOLS if p not in ("__hash__", "__repr__")}
    found["everything raises"] = type("Hostile", (), everything)()
    found["every attribute raises"] = type("Hostile", (), {"__getattr__": fault})()
    found["every attribute is an object"] = type("Hostile", (), {"__getattr__": always(object())})()
    found["its class raises"] = type("Hostile", (), {"__class__": property(fault)})()
    found["its class lies"] = type("Hostile", (), {"__class__": property(always(tf.Tensor))})()
    found["itself"] = Itself()
    found["shrinking"] = Shrinking([1, 2, 3])
    found["shrinking within"] = [Shrinking([1, 2]), Shrinking([1, 2])]
    found["growing"] = Growing()
    found["other keys"] = OtherKeys()
    found["mutating"] = Mutating()
    found["unhashable"] = Unhashable()
    found["a strange array"] = np.ones(100, np.float32).view(Strange)
    found["an empty strange array"] = np.ones(0, np.float32).view(Strange)
    found["a strange class"] = Meta("Odd", (), {})
    found["a class"] = np.float32
    found["a class of tensors"] = tf.Tensor
    found["a number"] = Number(3)
    found["a real number"] = Real(3)
    found["a text"] = Text("a")
    found["a structure"] = structure()
    found["a structured array"] = np.zeros(3, [("a", "f4"), ("b", "i8")])
    found["dates"] = np.array(["2020-01-01"], "datetime64[D]")
    found["long doubles"] = np.ones(3, np.longdouble)
    found["objects"] = np.array([1, "a", None, object()], object)
    found["a memoryview of words"] = memoryview(bytearray(64)).cast("q")
    found["a released memoryview"] = memoryview(b"abc")
    found["a released memoryview"].release()
    found["a masked array"] = np.ma.masked_array([1.0, 2.0], [True, False])
    found["not finite"] = [float("nan"), float("inf"), -0.0]
    return found


T = [1.0, 2.0]


def traced(x: Any) -> Any:
    return tf.function(lambda y: 1 if y is None else 2)(x)


class Held:
    """A function whose result is the object."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __call__(self, *_: Any) -> Any:
        return self.x


USES: dict[str, Callable[[Any], Any]] = {
    "constant": tf.constant,
    "constant in a list": lambda x: tf.constant([x, x]),
    "constant with a dtype": lambda x: tf.constant(x, tf.float32),
    "dtype": lambda x: tf.constant(1, x),
    "constant's shape": lambda x: tf.constant(1, shape=x),
    "convert": lambda x: tf.convert_to_tensor(x, dtype_hint=tf.float32),
    "as a shape": tf.TensorShape,
    "specification": lambda x: tf.TensorSpec(x, tf.float32),
    "dtype of a specification": lambda x: tf.TensorSpec([], x),
    "add": lambda x: tf.constant(T) + x,
    "reflected add": lambda x: x + tf.constant(T),
    "equal": lambda x: tf.constant(T) == x,
    "index": lambda x: tf.constant(T)[x],
    "slice": lambda x: tf.constant(T)[x:],
    "slice up to": lambda x: tf.constant(T)[..., :x],
    "matmul": lambda x: tf.matmul(tf.ones([2, 2]), x),
    "transpose_a": lambda x: tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), transpose_a=x),
    "sum": tf.reduce_sum,
    "axis": lambda x: tf.reduce_sum(tf.constant(T), axis=x),
    "reshape": lambda x: tf.reshape(tf.constant(T), x),
    "zeros": tf.zeros,
    "cast": lambda x: tf.cast(x, tf.float32),
    "cast to": lambda x: tf.cast(tf.constant(T), x),
    "concat": lambda x: tf.concat([tf.constant(T), x], 0),
    "stack": lambda x: tf.stack(x),
    "range": tf.range,
    "split": lambda x: tf.split(tf.constant(T), x),
    "one_hot": lambda x: tf.one_hot([1], x),
    "variable": tf.Variable,
    "assign": lambda x: tf.Variable(T).assign(x),
    "function": traced,
    "function in a list": lambda x: traced([x, {"a": x}]),
    "function in eager": lambda x: tf.function(lambda y: y + 1)(x),
    "result of a function": lambda x: tf.function(Held(x), autograph=False)(),
    "captured by a function": lambda x: tf.function(lambda: tf.constant(T) + x)(),
    "signature": lambda x: tf.function(lambda y: y, input_signature=[tf.TensorSpec(None, tf.float32)])(x),
    "signature itself": lambda x: tf.function(lambda y: y, input_signature=x),
    "decorated": tf.function,
    "py_function": lambda x: tf.py_function(Held(x), [], tf.float32),
    "py_function of it": lambda x: tf.py_function(lambda y: 1.0, [x], tf.float32),
    "py_function in a graph": lambda x: tf.function(lambda: tf.py_function(Held(x), [], tf.float32))(),
    "numpy_function": lambda x: tf.numpy_function(Held(x), [], tf.float32),
    "numpy_function of it": lambda x: tf.numpy_function(lambda y: np.float32(1), [x], tf.float32),
    "declared": lambda x: tf.py_function(lambda: 1.0, [], x),
    "cond": lambda x: tf.cond(x, lambda: 1, lambda: 2),
    "result of cond": lambda x: tf.cond(True, Held(x), Held(x)),
    "while_loop": lambda x: tf.while_loop(lambda i: False, lambda i: i, [x]),
    "map_fn": lambda x: tf.map_fn(lambda y: y, x),
    "gradient": lambda x: tf.GradientTape().watch(x),
    "slices": lambda x: list(tf.data.Dataset.from_tensor_slices(x).take(3)),
    "elements": lambda x: list(tf.data.Dataset.from_tensors(x)),
    "generator": lambda x: list(tf.data.Dataset.from_generator(lambda: [x], tf.float32)),
    "map": lambda x: list(tf.data.Dataset.range(2).map(Held(x))),
    "batch": lambda x: tf.data.Dataset.range(2).batch(x),
    "flatten": tf.nest.flatten,
    "map_structure": lambda x: tf.nest.map_structure(lambda y: y, x),
    "same structure": lambda x: tf.nest.assert_same_structure(x, x),
    "dlpack": tf.experimental.dlpack.from_dlpack,
    "array api's dlpack": xp.from_dlpack,
    "array api": xp.asarray,
    "format": lambda x: tf.strings.format("{}", x),
    "is_tensor": tf.is_tensor,
    "name_scope": tf.name_scope,
    "generator's seed": tf.random.Generator.from_seed,
    "seed": lambda x: tf.random.stateless_uniform([1], x),
    "ragged": tf.ragged.constant,
    "TensorArray": lambda x: tf.TensorArray(tf.float32, 1).write(0, x),
    "size of a TensorArray": lambda x: tf.TensorArray(tf.float32, x),
    "einsum": lambda x: tf.einsum(x, tf.constant(T)),
    "set_shape": lambda x: tf.constant(T).set_shape(x),
    "buffer": lambda x: np.add(tf.constant(T), x),
    "array of it": lambda x: tf.constant(T).__array__(x),
}

#: What an object that cannot be used may end in, besides its own exception.
FAIR = (TypeError, ValueError, IndexError, KeyError, OverflowError, BufferError, MemoryError, Fault)


def unfair(use: Callable[[Any], Any], name: str, value: Any) -> str | None:
    """What is wrong with how a use of a value ends; None where nothing is."""
    try:
        use(value)
    except (tf.errors.InternalError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    except (*FAIR, tf.errors.OpError, RuntimeError):
        return None
    except AttributeError as error:
        # What says that it is a tensor is asked for what tensors have.
        return None if name == "its class lies" else f"{type(error).__name__}: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("use", USES)
@pytest.mark.filterwarnings("ignore")
def test_an_object_that_lies_is_an_error_or_works(use, monkeypatch):
    # What cannot be raised, such as a fault in `__repr__` while a message is written, is not printed either.
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: unraisable.append(args.exc_value))
    said = {name: unfair(USES[use], name, value) for name, value in hostile().items()}
    assert not {name: wrong for name, wrong in said.items() if wrong is not None}
    assert not unraisable
    assert tf.executing_eagerly()
    assert (tf.constant(1) + 1).numpy() == 2
