"""Objects that lie about what they hold: each ends in a tensor or in an ordinary error, never in an abort."""

import ctypes
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as tf

Make = Callable[[], Any]


def with_array(*answers: Any) -> Make:
    """An object whose `__array__` gives these in turn; what can be called is called."""

    class Changing:
        asked = -1

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            self.asked += 1
            answer = answers[self.asked % len(answers)]
            return answer(self) if callable(answer) else answer

    return Changing


def with_interface(**fields: Any) -> Make:
    class Described:
        def __init__(self) -> None:
            self.__array_interface__ = {
                "shape": (3,),
                "typestr": "<f4",
                "version": 3,
                "data": (0, False),
                **fields,
            }

    return Described


def with_methods(**methods: Any) -> Make:
    """An object of a class with these special methods: what they raise, give, or call."""

    def method(answer: Any) -> Any:
        def give(self: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer(self, *args) if callable(answer) else answer

        return give

    return type("Lying", (), {f"__{name}__": method(answer) for name, answer in methods.items()})


def up_to(n: int) -> Callable[[Any, int], float]:
    def item(_: Any, i: int) -> float:
        if i >= n:
            raise IndexError
        return float(i)

    return item


def subclass(base: type, value: Any, **methods: Any) -> Make:
    body = {f"__{name}__": lambda self, *a, answer=answer: answer for name, answer in methods.items()}
    made = type("Lying", (base,), body)
    return lambda: value.view(made) if base is np.ndarray else made(value)


def growing() -> list[Any]:
    items: list[Any] = []

    class Adds:
        def __float__(self) -> float:
            if len(items) < 1000:
                items.append(Adds())
            return 1.0

        def __index__(self) -> int:
            items.clear()
            return 1

    items.extend(Adds() for _ in range(3))
    return items


class Fickle(Mapping[Any, Any]):
    """A mapping whose keys and values change while they are looked at."""

    asked = 0

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[Any]:
        self.asked += 1
        return iter(range(self.asked))

    def __getitem__(self, key: Any) -> Any:
        return 1.0 if self.asked % 2 else [1.0] * self.asked


def released() -> memoryview:
    view = memoryview(bytearray(8))
    view.release()
    return view


class DLDevice(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


def with_capsule(name: bytes = b"dltensor", dtype: tuple[int, int, int] = (2, 32, 1), **fields: Any) -> Make:
    """An object that gives a capsule of 16 floats, of which some fields are other than they should be."""

    class Exporting:
        def __init__(self) -> None:
            memory = (ctypes.c_float * 16)()
            numbers = {
                key: (ctypes.c_int64 * max(len(value), 1))(*value)
                for key, value in {"shape": (3,), **fields}.items()
                if key in ("shape", "strides") and value is not None
            }
            managed = DLManagedTensor()
            tensor = managed.tensor
            tensor.device = DLDevice(fields.get("device", 1), 0)
            tensor.dtype = DLDataType(*dtype)
            tensor.ndim = fields.get("ndim", 1)
            tensor.data = fields.get("data", ctypes.addressof(memory))
            tensor.byte_offset = fields.get("byte_offset", 0)
            for key, value in numbers.items():
                setattr(tensor, key, ctypes.addressof(value))
            if fields.get("shape", ()) is None:
                tensor.shape = None
            new = ctypes.pythonapi.PyCapsule_New
            new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            self.kept = memory, numbers, managed
            self.capsule = new(ctypes.addressof(managed), name, None)

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return fields.get("device", 1), 0

    return Exporting


OBJECTS: dict[str, Make] = {
    "arrays of changing shapes": with_array(np.ones(2), np.ones([3, 1]), np.float32(1), np.ones([0, 5])),
    "arrays of changing dtypes": with_array(np.ones(2), np.array(["a"]), np.array([None, 1])),
    "an array that is itself": with_array(lambda self: self),
    "an array that is asked for again": with_array(np.asarray),
    "an array that is None": with_array(None),
    "an array that is a list": with_array([1.0, 2.0]),
    "an array that holds itself": lambda: [a := np.empty(1, object), a.__setitem__(0, a)][0],
    "an array that says it is another": subclass(np.ndarray, np.ones(3), len=2**50, array_interface=None),
    "a null pointer": with_interface(),
    "a null pointer to much": with_interface(shape=(2**40,)),
    "a negative extent": with_interface(shape=(-3,)),
    "strides out of memory": with_interface(data=np.zeros(9, np.float32), strides=(2**60,)),
    "memory that is too short": with_interface(data=b"abcd", shape=(1000,)),
    "a negative offset": with_interface(data=bytes(400), offset=-50),
    "an interface of objects": with_interface(data=bytes(24), typestr="|O"),
    "an interface of nothing known": with_interface(typestr="zz9"),
    "an interface that is no dict": lambda: type("A", (), {"__array_interface__": 5})(),
    "a struct that is no capsule": lambda: type("A", (), {"__array_struct__": 5})(),
    "a length that is too great": with_methods(len=5, getitem=up_to(3)),
    "a length that is far too great": with_methods(len=2**62, getitem=up_to(3)),
    "a length beyond 64 bits": with_methods(len=2**70, getitem=up_to(3)),
    "a negative length": with_methods(len=-1, getitem=up_to(3)),
    "a length that raises": with_methods(len=OSError("no"), getitem=up_to(3)),
    "items that raise": with_methods(len=3, getitem=OSError("no")),
    "a list that grows": growing,
    "a list of another length": subclass(list, [1.0, 2.0], len=2**40, getitem=None),
    "a tuple of another length": subclass(tuple, (1.0, 2.0), len=2**40),
    "a mapping that changes": Fickle,
    "keys without an order": lambda: {1: 1.0, "a": 2.0, (1,): 3.0},
    "an index that raises": with_methods(index=OSError("no")),
    "an index that is a string": with_methods(index="5"),
    "an index of 100 bits": with_methods(index=2**100),
    "a float that is a string": with_methods(float="5"),
    "an int of no hash": subclass(int, 5, hash=None, index=None, int=None),
    "a string of another length": subclass(str, "abc", len=2**40, hash=None),
    "bytes of another length": subclass(bytes, b"abc", len=2**40, hash=None),
    "a lone surrogate": lambda: "\ud800",
    "a released view": released,
    "a view backwards": lambda: memoryview(b"0123456789")[::-2],
    "memory that is exported": lambda: [b := bytearray(8), memoryview(b)][0],
    "a buffer that changes": with_methods(buffer=lambda self, _: memoryview(bytearray(id(self) % 64 + 1))),
    "structures of ctypes": lambda: (DLDevice * 2)(),
    "a pointer of ctypes": lambda: ctypes.pointer(ctypes.c_float()),
    "one element, very often": lambda: np.broadcast_to(np.float32(1), (2**50,)),
    "records": lambda: np.zeros(3, [("a", "f4"), ("b", "i8")]),
    "times": lambda: np.array(["2020", "NaT"], "M8[D]"),
    "a date": lambda: datetime.date(2020, 1, 1),
    "long floats": lambda: np.zeros(3, np.longdouble),
    "floats that are not aligned": lambda: np.frombuffer(bytes(13), np.uint8)[1:].view(np.float32),
    "attributes that raise": with_methods(getattr=RuntimeError("no")),
    "all attributes raise": with_methods(getattribute=RuntimeError("no")),
    "the class of another": lambda: type("A", (), {"__class__": property(lambda self: np.ndarray)})(),
    "a tensor that is None": with_methods(tf_tensor=None),
    "a tensor that raises": with_methods(tf_tensor=OSError("no")),
    "a hash that changes": with_methods(hash=lambda self: id(object()), eq=False),
    "no equality": with_methods(hash=1, eq=OSError("no")),
    "no truth": with_methods(bool=OSError("no")),
    "no text": with_methods(repr=OSError("no"), str=OSError("no")),
    "a capsule that is a number": with_methods(dlpack=5, dlpack_device=(1, 0)),
    "a device that is a string": with_methods(dlpack=5, dlpack_device="x"),
    "a capsule": with_capsule(),
    "a capsule of negative rank": with_capsule(ndim=-1),
    "a capsule of any rank": with_capsule(ndim=2**31 - 1),
    "a capsule without extents": with_capsule(shape=None),
    "a capsule of negative extent": with_capsule(shape=(-3,)),
    "a capsule of great extent": with_capsule(shape=(2**62,)),
    "a capsule that is too large": with_capsule(ndim=2, shape=(2**40, 2**40)),
    "a capsule without data": with_capsule(data=None),
    "a capsule of another type": with_capsule(dtype=(99, 32, 1)),
    "a capsule of 7 bits": with_capsule(dtype=(2, 7, 1)),
    "a capsule of no lanes": with_capsule(dtype=(2, 32, 0)),
    "a capsule behind all memory": with_capsule(byte_offset=2**63),
    "a capsule of no known device": with_capsule(device=77),
    "a capsule of great strides": with_capsule(strides=(2**62,)),
    "one element of a capsule, very often": with_capsule(shape=(2**50,), strides=(0,)),
    "a capsule of another name": with_capsule(name=b"other"),
    "a used capsule": with_capsule(name=b"used_dltensor"),
}

USES: dict[str, Callable[[Any], Any]] = {
    "constant": tf.constant,
    "constant of a dtype": lambda x: tf.constant(x, tf.float32),
    "in a list": lambda x: tf.constant([x, x]),
    "operand": lambda x: tf.ones([3]) + x,
    "index": lambda x: tf.ones([3])[x],
    "shape": lambda x: tf.zeros(x),
    "capsule": tf.experimental.dlpack.from_dlpack,
    "argument": lambda x: tf.function(lambda a: 1.0, autograph=False)(x),
    "argument that is used": lambda x: tf.function(lambda a: tf.constant(a) + 1.0, autograph=False)(x),
    "argument of a signature": tf.function(
        lambda a: a, input_signature=[tf.TensorSpec([None])], autograph=False
    ),
    "result": lambda x: tf.function(lambda: x, autograph=False)(),
    "result of a callback": lambda x: tf.py_function(lambda: x, [], tf.float32),
    "result of a callback of NumPy": lambda x: tf.numpy_function(lambda: x, [], tf.float32),
    "slices": lambda x: list(tf.data.Dataset.from_tensor_slices(x).take(2)),
    "variable": tf.Variable,
    "nest": tf.nest.flatten,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_lies_ends_in_an_ordinary_error(name: str, use: str) -> None:
    value = OBJECTS[name]()
    try:
        USES[use](value)
    except tf.errors.InternalError as error:
        pytest.fail(f"an internal error: {error}")
    except (Exception, MemoryError):
        # Anything that Python programs can handle; a panic is none.
        return
