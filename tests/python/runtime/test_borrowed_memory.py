"""Whose memory tensors share: nobody changes a tensor, and nobody is copied without need."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest
from support import place

import penstock as tf
from penstock import _core, array_api as xp

SIZE = 1000


def writable_views():
    """Ways to a read-only array that somebody can write all the same: `(the array, what writes it)`."""

    def frozen(array):
        array.flags.writeable = False
        return array

    def thaw(array):
        array.flags.writeable = True
        array[...] = 7

    memory = np.ones(SIZE, np.float32)
    view = memory[:]
    yield "an earlier view", frozen(memory), lambda: view.fill(7)

    own = frozen(np.ones(SIZE, np.float32))
    yield "made writable again", own, lambda: thaw(own)

    base = np.ones(SIZE, np.float32)
    yield "a frozen view", frozen(base[:]), lambda: base.fill(7)

    raw = bytearray(np.ones(SIZE, np.float32).tobytes())
    yield (
        "a read-only view of a bytearray",
        np.frombuffer(memoryview(raw).toreadonly(), np.float32),
        (lambda: raw.__setitem__(slice(None), bytes(len(raw)))),
    )

    shaped = frozen(np.ones((10, 100), np.float32)).reshape(100, 10)
    yield "another shape", shaped, lambda: thaw(shaped.base)

    class Sealed:
        """Says that its memory cannot be written."""

        def __init__(self, array):
            self.array = array
            self.__array_interface__ = {**array.__array_interface__, "data": (place(array), True)}

    hidden = np.ones(SIZE, np.float32)
    yield "an interface that says so", np.asarray(Sealed(hidden)), lambda: hidden.fill(7)


VIEWS = list(writable_views())


@pytest.mark.parametrize("index", range(len(VIEWS)), ids=[name for name, _, _ in VIEWS])
def test_a_tensor_does_not_change_with_memory_that_can_be_written(index):
    _, array, write = list(writable_views())[index]
    made = {
        "constant": tf.constant(array),
        "convert": tf.convert_to_tensor(array),
        "asarray": xp.asarray(array),
        "operand": tf.zeros_like(array) + array,
        "slices": next(iter(tf.data.Dataset.from_tensors(array))),
        "callback": tf.numpy_function(lambda: array, [], tf.float32),
        "variable": tf.Variable(array).read_value(),
    }
    captured = tf.function(lambda: array + tf.zeros([], tf.float32))
    assert captured().numpy().flat[0] == 1
    write()
    assert array.flat[0] != 1
    for name, tensor in made.items():
        assert (tensor.numpy() == 1).all(), name
    assert (captured().numpy() == 1).all()


def borrowable():
    data = bytes(range(256)) * 16
    yield "bytes", np.frombuffer(data, np.uint8)
    yield "a view of bytes", np.frombuffer(memoryview(data), np.uint8)
    yield "a part of bytes", np.frombuffer(data, np.int32, offset=64).reshape(28, 36)
    yield "a tensor", tf.range(SIZE).numpy()
    yield "a part of a tensor", tf.range(SIZE).numpy()[64:]
    yield "other bits of a tensor", tf.range(SIZE, dtype=tf.int64).numpy().view(np.float64)


@pytest.mark.parametrize("array", [a for _, a in borrowable()], ids=[name for name, _ in borrowable()])
def test_memory_that_nobody_can_write_is_shared(array):
    before = _core._taken_bytes()
    tensor = tf.constant(array)
    assert _core._taken_bytes() == before
    assert place(tensor.numpy()) == place(array)
    assert tensor.numpy().tobytes() == array.tobytes()


def test_shared_memory_lives_as_long_as_the_tensor():
    tensor = tf.constant(np.frombuffer(bytes(range(256)), np.uint8))
    part = tf.constant(tf.range(SIZE).numpy()[64:])
    gc.collect()
    rubbish = [bytes(256) for _ in range(1000)]
    assert tensor.numpy().tolist() == list(range(256))
    assert part.numpy().tolist() == list(range(64, SIZE))
    del rubbish


def test_a_result_of_a_callback_that_somebody_can_reach_is_copied():
    kept = []

    def weakly():
        array = np.ones(SIZE, np.float32)
        kept.append(weakref.ref(array))
        return array

    def by_a_view():
        array = np.ones(SIZE, np.float32)
        kept.append(array[::2])
        return array

    def by_a_buffer():
        array = np.ones(SIZE, np.float32)
        kept.append(memoryview(array))
        return array

    def its_owner():
        array = np.ones(SIZE, np.float32)
        kept.append(weakref.ref(array))
        return array[:]

    for make in (weakly, by_a_view, by_a_buffer, its_owner):
        kept.clear()
        tensor = tf.numpy_function(make, [], tf.float32)
        array = kept[0]() if isinstance(kept[0], weakref.ref) else np.asarray(kept[0])
        if array is not None:
            array[0] = 7
        assert tensor.numpy()[0] == 1


def test_a_result_of_a_callback_that_nobody_can_reach_is_taken_over():
    places = []

    def make():
        array = np.ones(SIZE, np.float32)
        places.append(place(array))
        return array

    tensor = tf.numpy_function(make, [], tf.float32)
    assert place(tensor.numpy()) == places[0]


def test_a_tensor_shows_row_major_memory_only():
    buffer = (ctypes.c_char * 512).from_buffer(bytearray(512))
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    fortran = 0x58
    with pytest.raises(BufferError, match="row-major"):
        get(tf.zeros([2, 3]), ctypes.addressof(buffer), fortran)
    assert get(tf.zeros([1, 3]), ctypes.addressof(buffer), fortran) == 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.c_void_p(ctypes.addressof(buffer)))


# --- DLPack ---


def test_a_consumer_that_knows_no_read_only_memory_gets_a_copy():
    tensor = tf.ones([SIZE])

    class Old:
        """An array of a library from before version 1."""

        def __dlpack__(self, stream=None):
            return tensor.__dlpack__()

        def __dlpack_device__(self):
            return tensor.__dlpack_device__()

    array = np.from_dlpack(Old())
    if not array.flags.writeable:
        array = np.lib.stride_tricks.as_strided(array)
    np.frombuffer((ctypes.c_char * array.nbytes).from_address(place(array)), np.float32)[...] = 7
    assert (tensor.numpy() == 1).all()
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__(copy=False)
    assert place(np.from_dlpack(tensor)) == place(tensor.numpy())


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("array", Array),
    ]


class Unversioned(ctypes.Structure):
    _fields_ = [("array", Array), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


MEMORY = (ctypes.c_float * SIZE)(*range(SIZE))
HELD = []


def capsule(versioned, *, major=1, shape=(10, 100), strides=None, **fields):
    """A capsule of what need not be so."""
    numbers = lambda values: None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)  # noqa: E731
    shape_of, strides_of = numbers(shape), numbers(strides)
    array = Array(
        data=ctypes.addressof(MEMORY),
        device_type=1,
        ndim=len(shape or ()),
        dtype=DataType(2, 32, 1),
        shape=shape_of,
        strides=strides_of,
    )
    for name, value in fields.items():
        setattr(array, name, value)
    managed = Versioned(major=major, array=array) if versioned else Unversioned(array=array)
    HELD.extend([shape_of, strides_of, managed])
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"dltensor_versioned" if versioned else b"dltensor"
    return new(ctypes.addressof(managed), name, None)


BROKEN = {
    "a negative rank": {"ndim": -1},
    "an absurd rank": {"ndim": 2**31 - 1},
    "no extents": {"shape": None, "ndim": 2},
    "a negative extent": {"shape": (10, -100)},
    "more elements than there are addresses": {"shape": (2**40, 2**40)},
    "more bytes than there are addresses": {"shape": (2**31, 2**31)},
    "no memory": {"data": None},
    "an offset beyond all memory": {"byte_offset": 2**64 - 8},
    "strides beyond all memory": {"strides": (2**62, 1)},
    "strides that overflow": {"strides": (-(2**63), 2**63 - 1)},
    "two lanes": {"dtype": DataType(2, 32, 2)},
    "no lane": {"dtype": DataType(2, 32, 0)},
    "odd bits": {"dtype": DataType(2, 33, 1)},
    "an unknown type": {"dtype": DataType(200, 32, 1)},
    "another device": {"device_type": 2},
}


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_capsule_is_an_error(what, versioned):
    with pytest.raises(BufferError):
        tf.experimental.dlpack.from_dlpack(capsule(versioned, **BROKEN[what]))


@pytest.mark.parametrize("versioned", [False, True])
def test_a_sound_capsule_is_a_tensor(versioned):
    expected = np.arange(SIZE, dtype=np.float32)
    read = tf.experimental.dlpack.from_dlpack
    assert read(capsule(versioned)).numpy().tolist() == expected.reshape(10, 100).tolist()
    across = read(capsule(versioned, shape=(100, 10), strides=(1, 100)))
    assert across.numpy().tolist() == expected.reshape(10, 100).T.tolist()
    back = read(capsule(versioned, shape=(SIZE,), strides=(-1,), byte_offset=4 * (SIZE - 1)))
    assert back.numpy().tolist() == expected[::-1].tolist()
    assert read(capsule(versioned, shape=(0, 3), data=None)).shape == [0, 3]
    assert read(capsule(versioned, shape=(), byte_offset=8)).numpy() == 2


@pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
def test_a_capsule_of_another_major_version_is_left_alone(major):
    given = capsule(True, major=major, ndim=-5)
    with pytest.raises(BufferError, match="version"):
        tf.experimental.dlpack.from_dlpack(given)
    assert "dltensor_versioned" in repr(given)
    assert "used" not in repr(given)
