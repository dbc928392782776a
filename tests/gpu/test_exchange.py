"""Tensors on a GPU and other libraries' arrays there: DLPack and CUDA's array interface."""

from __future__ import annotations

import importlib.util

import pytest
from gpu_process import has_gpu, run

# What all programs begin with.
START = """
import ctypes
import threading

import numpy as np
import penstock as tf
from gpu_arrays import *

driver = Driver()
read = tf.experimental.dlpack.from_dlpack
values = np.arange(1000, dtype=np.float32)


def raises(error, action, words=""):
    try:
        action()
    except error as e:
        assert words in str(e), e
    else:
        raise AssertionError("no error")


def address(tensor):
    return tensor.__cuda_array_interface__["data"][0]


def on_gpu(tensor):
    return tensor.device.endswith("device:GPU:0")


def place(array):
    return array.__array_interface__["data"][0]
"""
END = """
findings = driver.findings()
assert not findings, findings
"""


def exchange(program: str) -> None:
    lines = [line[8:] if line.startswith(" " * 8) else line for line in program.splitlines()]
    run(START + "\n".join(lines) + END)


# --- from the engine ---


def test_a_capsule_shows_the_memory_of_the_tensor_and_says_that_it_is_read_only() -> None:
    exchange("""
        with tf.device("GPU:0"):
            tensor = tf.reshape(tf.constant(values) * 2.0, [10, 100])
            few = tf.constant([1.0, 2.0]) * 2.0
        assert tensor.__dlpack_device__() == (2, 0)
        assert few.__dlpack_device__() == tf.constant(values).__dlpack_device__() == (1, 0)
        stream = driver.stream()
        shown = Reader(driver, tensor.__dlpack__(stream=stream, max_version=(1, 0)))
        assert (shown.device, shown.shape, shown.dtype) == ((2, 0), (10, 100), np.float32)
        assert shown.flags == READ_ONLY
        assert shown.address == address(tensor)
        np.testing.assert_array_equal(shown.read(stream), values.reshape(10, 100) * 2)
        same = dict(stream=stream, max_version=(2, 5), dl_device=(2, 0), copy=False)
        again = Reader(driver, tensor.__dlpack__(**same))
        assert again.address == shown.address
        for dtype in (tf.int8, tf.uint16, tf.int32, tf.float64, tf.bool, tf.complex64):
            with tf.device("GPU:0"):
                other = tf.constant(tf.cast(values, dtype).numpy())
            capsule = other.__dlpack__(stream=stream, max_version=(1, 0))
            np.testing.assert_array_equal(Reader(driver, capsule).read(stream), other.numpy())
    """)


def test_a_consumer_that_knows_no_read_only_memory_or_asks_for_a_copy_gets_one_on_the_device() -> None:
    exchange("""
        with tf.device("GPU:0"):
            tensor = tf.constant(values) + 1.0
        stream = driver.stream()
        old = Reader(driver, tensor.__dlpack__(stream=stream))
        asked = Reader(driver, tensor.__dlpack__(stream=stream, max_version=(1, 0), copy=True))
        assert asked.flags == IS_COPIED and old.flags is None
        assert len({old.address, asked.address, address(tensor)}) == 3
        for copy in (old, asked):
            assert copy.device == (2, 0)
            np.testing.assert_array_equal(copy.read(stream), values + 1)
            driver.fill(copy.address, 0, values.size, stream)
            driver.wait(stream)
            copy.delete()
        assert (tensor.numpy() == values + 1).all()
        raises(BufferError, lambda: tensor.__dlpack__(copy=False), "read-only")
        made = tf.experimental.dlpack.to_dlpack(tensor)
        assert Reader(driver, made).device == (2, 0)
    """)


def test_a_consumer_on_the_host_gets_a_copy_there() -> None:
    exchange("""
        with tf.device("GPU:0"):
            tensor = tf.constant(values) + 1.0
        asked = dict(max_version=(1, 0), dl_device=(1, 0))
        more = ({}, {"copy": True}, {"stream": 1})
        shown = [Reader(driver, tensor.__dlpack__(**asked, **other)) for other in more]
        assert [s.device for s in shown] == [(1, 0)] * 3 and [s.flags for s in shown] == [1, 2, 1]
        assert shown[0].address == place(tensor.numpy()) != shown[1].address
        for s in shown:
            there = (ctypes.c_float * values.size).from_address(s.address)
            np.testing.assert_array_equal(np.frombuffer(there, np.float32), values + 1)
        raises(BufferError, lambda: tensor.__dlpack__(**asked, copy=False), "copied to the CPU")
        raises(BufferError, lambda: tensor.__dlpack__(dl_device=(2, 1)), "dl_device")
        raises(BufferError, lambda: tf.constant(values).__dlpack__(dl_device=(2, 0)), "dl_device")
    """)


def test_the_stream_of_the_consumer_waits_for_the_work_that_computes_the_tensor() -> None:
    exchange("""
        streams = [driver.stream(), driver.stream(), LEGACY, PER_THREAD, None]
        for seed in range(40):
            driver.set_seed(seed)
            for stream in streams:
                with tf.device("GPU:0"):
                    tensor = tf.constant(values) * float(seed) - 1.0
                shown = Reader(driver, tensor.__dlpack__(stream=stream, max_version=(1, 0)))
                np.testing.assert_array_equal(shown.read(stream or LEGACY), values * seed - 1)
                shown.delete()
    """)


def test_what_is_no_stream_is_an_error() -> None:
    exchange("""
        with tf.device("GPU:0"):
            tensor = tf.constant(values) * 2.0
        for stream in (0, -2, -(2**63)):
            raises(ValueError, lambda: tensor.__dlpack__(stream=stream), "stream")
        for stream in ("a", 1.5, 2**70, object()):
            raises(TypeError, lambda: tensor.__dlpack__(stream=stream), "stream")
        if driver.is_emulated:
            # A real driver believes what it is given.
            raises(tf.errors.InvalidArgumentError, lambda: tensor.__dlpack__(stream=12345), "stream")
        raises(ValueError, lambda: tf.constant(values).__dlpack__(stream=1), "stream")
        shown = Reader(driver, tensor.__dlpack__(stream=-1, max_version=(1, 0)))
        assert shown.address == address(tensor)
    """)


def test_the_memory_of_a_capsule_is_kept_until_its_deleter_has_run_on_any_thread() -> None:
    exchange("""
        stream = driver.stream()
        for seed in range(20):
            driver.set_seed(seed)
            with tf.device("GPU:0"):
                tensor = tf.constant(values) * 3.0
                shown = Reader(driver, tensor.__dlpack__(stream=stream, max_version=(1, 0)))
                del tensor
                # What takes the place of freed memory.
                others = [tf.constant(values) + float(i) for i in range(5)]
                np.testing.assert_array_equal(shown.read(stream), values * 3)
                # The consumer lets go of the memory while its work is still queued.
                late = shown.queue(stream)
                thread = threading.Thread(target=shown.delete)
                thread.start()
                thread.join()
                more = [tf.constant(values) + float(i) for i in range(5)]
            driver.wait(stream)
            np.testing.assert_array_equal(late, values * 3)
            assert all((t.numpy() == values + i % 5).all() for i, t in enumerate(others + more))
        unused = [tensor.__dlpack__(max_version=(1, 0)) for tensor in more]
        del unused, more, others
    """)


def test_what_a_device_has_rejected_is_raised_where_the_tensor_is_exported() -> None:
    exchange("""
        with tf.device("GPU:0"):
            wrong = tf.ones([50], tf.int32) // tf.zeros([50], tf.int32)
            after = wrong + 1
            sound = tf.ones([50], tf.int32) // tf.ones([50], tf.int32)
        for export in (
            lambda: wrong.__dlpack__(max_version=(1, 0)),
            lambda: after.__dlpack__(stream=-1, max_version=(1, 0)),
            lambda: after.__dlpack__(),
            lambda: after.__dlpack__(dl_device=(1, 0)),
            lambda: after.__cuda_array_interface__,
        ):
            raises(tf.errors.InvalidArgumentError, export, "zero")
        assert Reader(driver, sound.__dlpack__()).read(LEGACY).tolist() == [1] * 50
    """)


# --- to the engine ---


def test_a_capsule_becomes_a_tensor_over_its_memory() -> None:
    exchange("""
        for versioned in (True, False):
            array = Array(driver, values, shape=(10, 100), versioned=versioned)
            tensor = read(array)
            assert on_gpu(tensor) and tensor.shape == [10, 100] and tensor.dtype == tf.float32
            assert address(tensor) == array.memory
            np.testing.assert_array_equal(tensor.numpy(), values.reshape(10, 100))
            product = tf.matmul(tensor, tensor, transpose_b=True)
            np.testing.assert_allclose(product.numpy(), tensor.numpy() @ tensor.numpy().T, rtol=1e-5)
            assert on_gpu(product) and not array.gone.is_set()
        bare = read(Array(driver, values).capsule())
        assert on_gpu(bare) and (bare.numpy() == values).all()
        assert read(Array(driver, values, offset=400, shape=(900,))).numpy().tolist() == values[100:].tolist()
        assert read(Array(driver, values[:3], shape=())).numpy() == 0
        assert read(Array(driver, values, shape=(0, 3))).shape == [0, 3]
        again = read(tensor)
        assert address(again) == address(tensor) and (again.numpy() == tensor.numpy()).all()
    """)


def test_work_on_a_capsule_waits_for_the_stream_of_its_producer() -> None:
    exchange("""
        for seed in range(40):
            driver.set_seed(seed)
            for stream in (driver.stream(), LEGACY, PER_THREAD):
                array = Array(driver, values, stream=stream)
                driver.fill(array.memory, 0, values.size // 2, stream)
                array.values = values
                tensor = read(array) if seed % 2 else tf.constant(array)
                assert len(array.asked) == 1 and array.asked[0] > 2
                due = np.where(np.arange(values.size) < values.size // 2, 0, values)
                np.testing.assert_array_equal((tensor + 1.0).numpy(), due + 1)
            array = Array(driver, values)
            np.testing.assert_array_equal((read(array.capsule()) + 1.0).numpy(), values + 1)
    """)


def test_the_deleter_of_a_capsule_runs_when_the_device_is_through_with_it() -> None:
    exchange("""
        array = Array(driver, values)
        tensor = read(array)
        part = tf.reshape(tensor, [10, 100])
        result = tensor * 2.0
        del tensor
        assert not array.gone.is_set()
        del part
        assert array.gone.wait(60)
        assert (result.numpy() == values * 2).all()
        copied = Array(driver, values)
        tensor = tf.constant(copied)
        assert copied.gone.wait(60) and (tensor.numpy() == values).all()
        # Also where another library has the tensor's memory in turn.
        array = Array(driver, values)
        shown = Reader(driver, read(array).__dlpack__(max_version=(1, 0)))
        assert shown.address == array.memory and not array.gone.is_set()
        shown.delete()
        assert array.gone.wait(60)
        # And where a tensor is of few elements, which come to the host.
        few = Array(driver, values[:4])
        assert read(few).numpy().tolist() == [0, 1, 2, 3] and few.gone.wait(60)
    """)


def test_elements_that_are_not_in_row_major_order_or_not_aligned_are_copied_on_the_device() -> None:
    exchange("""
        cases = [
            ((100, 10), (1, 100), 0),
            ((10, 100), (100, -1), 4 * 99),
            ((1000,), (-1,), 4 * 999),
            ((5, 3, 20), (200, 40, 2), 8),
            ((7, 100), (0, 1), 400),
            ((999,), None, 4),
            ((1, 998), (12345, 1), 8),
            ((50, 2, 10), (10, 500, 1), 0),
        ]
        for dtype in (np.uint8, np.int16, np.float32, np.int64, np.complex128):
            flat = np.arange(1000).astype(dtype)
            for shape, strides, offset in cases:
                first = offset // 4
                array = Array(driver, flat, shape=shape, strides=strides, offset=first * flat.itemsize)
                steps = [s * flat.itemsize for s in strides] if strides else None
                due = np.lib.stride_tricks.as_strided(flat[first:], shape, steps)
                tensor = read(array)
                assert on_gpu(tensor)
                np.testing.assert_array_equal(tensor.numpy(), due)
                start = array.memory + array.offset
                shared = due.flags.c_contiguous and start % 16 == 0
                assert (address(tensor) == start) == shared
                assert shared or array.gone.wait(60)
        # Memory that is not aligned to its elements at all.
        raw = np.arange(4008, dtype=np.uint8)
        tensor = read(Array(driver, raw.view(np.float64), shape=(500,), offset=3))
        np.testing.assert_array_equal(tensor.numpy().view(np.uint8), raw[3:4003])
    """)


def test_a_value_that_lies_on_a_gpu_becomes_a_tensor_there_that_does_not_change_with_it() -> None:
    exchange("""
        def made(array):
            captured = tf.function(lambda: tf.constant(array) + 0.0)
            yield from (tf.constant(array), tf.convert_to_tensor(array), captured())
            yield from (tf.Variable(array).read_value(), tf.zeros_like(array) + array)
            yield from (tf.stack([array, array])[1], tf.constant([array, array])[0])

        for wrap in (lambda a: a, Interface):
            array = Array(driver, values)
            tensors = list(made(wrap(array)))
            array.rewrite(np.zeros_like(values))
            for i, tensor in enumerate(tensors):
                assert (tensor.numpy() == values).all(), i
            assert on_gpu(tensors[0]) and on_gpu(tensors[1])
            array.rewrite(values)
            assert tf.constant(wrap(array), tf.float64).dtype == tf.float64
            assert tf.constant(wrap(array), shape=[10, 100]).shape == [10, 100]
            with tf.device("CPU:0"):
                assert not on_gpu(tf.constant(wrap(array)))
        # What is a copy that nobody else has is not copied again.
        copy = Array(driver, values, flags=IS_COPIED)
        assert address(tf.constant(copy)) == copy.memory
        sealed = Array(driver, values, flags=READ_ONLY)
        assert address(tf.constant(sealed)) != sealed.memory
    """)


BROKEN = {
    "a negative rank": "ndim=-1",
    "an absurd rank": "ndim=2**31 - 1",
    "more dimensions than tensors have": "shape=(1,) * 300",
    "no extents": "shape=None",
    "a negative extent": "shape=(10, -100)",
    "more bytes than there are addresses": "shape=(2**31, 2**31)",
    "no memory": "data=None",
    "memory of the host": "data=place(values)",
    "an offset beyond all memory": "byte_offset=2**64 - 8",
    "strides beyond all memory": "strides=(2**62,)",
    "two lanes": "dtype=DataType(2, 32, 2)",
    "an unknown dtype": "dtype=DataType(200, 32, 1)",
    "another device": "device_id=77",
    "no device": "device_id=-1",
    "another kind of device": "device_type=4",
}


def test_a_broken_capsule_is_an_error() -> None:
    exchange(f"""
        for what, parts in {BROKEN!r}.items():
            for versioned in (True, False):
                parts_of = eval(f"dict({{parts}})")
                if "shape" in parts_of and parts_of["shape"] is None:
                    parts_of["shape"] = ctypes.POINTER(ctypes.c_int64)()
                    array = Array(driver, values, versioned=versioned)
                    array.broken = parts_of
                else:
                    array = Array(driver, values, versioned=versioned, **parts_of)
                try:
                    read(array)
                except (BufferError, tf.errors.InvalidArgumentError):
                    continue
                raise AssertionError(what)
        assert (read(Array(driver, values)).numpy() == values).all()

        class Lying(Array):
            def __dlpack_device__(self):
                return "a"

        raises(TypeError, lambda: read(Lying(driver, values)), "__dlpack_device__")
    """)


# --- the array interface ---


def test_a_tensor_on_a_gpu_has_the_array_interface_of_cuda_and_others_have_not() -> None:
    exchange("""
        with tf.device("GPU:0"):
            tensor = tf.reshape(tf.constant(values) * 2.0, [10, 100])
            bits = tf.cast(tensor, tf.bfloat16)
        interface = tensor.__cuda_array_interface__
        stream = interface["stream"]
        assert stream > 2 and interface == {
            "shape": (10, 100),
            "typestr": "<f4",
            "data": (address(tensor), True),
            "strides": None,
            "stream": stream,
            "version": 3,
        }
        target = np.empty((10, 100), np.float32)
        driver.queue_read(address(tensor), target, stream)
        driver.wait(stream)
        np.testing.assert_array_equal(target, tensor.numpy())
        assert hasattr(tensor, "__cuda_array_interface__")
        for other in (tf.constant(values), tf.constant(1.0), tf.constant("a"), bits):
            assert not hasattr(other, "__cuda_array_interface__")
        tf.function(lambda x: print(hasattr(x, "__cuda_array_interface__")))(tensor)
        np.testing.assert_array_equal(np.asarray(tensor), tensor.numpy())
    """)


def test_an_object_with_the_array_interface_of_cuda_becomes_a_tensor_on_the_gpu() -> None:
    exchange("""
        def check(tensor, due):
            assert on_gpu(tensor), tensor
            np.testing.assert_array_equal(tensor.numpy(), due)

        for seed in range(20):
            driver.set_seed(seed)
            for stream in (driver.stream(), LEGACY, PER_THREAD):
                check(tf.constant(Interface(Array(driver, values, stream=stream))), values)
        check(tf.constant(Interface(Array(driver, values), version=2, stream=None)), values)
        array = Array(driver, values, shape=(100, 10), strides=(4, 400))
        check(tf.convert_to_tensor(Interface(array)), values.reshape(10, 100).T)
        array = Array(driver, values, shape=(500,), strides=(-8,), offset=4 * 999)
        check(tf.convert_to_tensor(Interface(array)), values[:0:-2])
        assert tf.constant(Interface(Array(driver, values), shape=(0, 2), data=(0, False))).shape == [0, 2]
        small = Interface(Array(driver, values.astype(np.uint8)), typestr="|u1")
        assert tf.constant(small).dtype == tf.uint8
        for parts in (
            {"mask": object()},
            {"typestr": "<f3"},
            {"typestr": ">f4"},
            {"shape": (-1,)},
            {"shape": (2**62, 2**62)},
            {"strides": (2**63 - 1,)},
            {"strides": (4, 4)},
            {"stream": 0},
            {"data": (place(values), False)},
            {"data": (0, False)},
        ):
            raises(BufferError, lambda: tf.constant(Interface(Array(driver, values), **parts)))
    """)


# --- other libraries ---


def real(library: str) -> None:
    """Skip without a GPU of the machine, or the library."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    if not has_gpu():
        pytest.skip(f"{library} needs a GPU")


def test_torch_and_the_engine_read_each_others_memory() -> None:
    real("torch")
    exchange("""
        import torch

        if not torch.cuda.is_available():
            print("torch has no GPU")
            raise SystemExit
        with tf.device("GPU:0"):
            tensor = tf.reshape(tf.constant(values) * 2.0, [10, 100])
        theirs = torch.from_dlpack(tensor)
        assert theirs.is_cuda and theirs.tolist() == (values * 2).reshape(10, 100).tolist()
        if theirs.data_ptr() != address(tensor):
            print("torch of this version asks for a copy")
        side = torch.cuda.Stream()
        for i in range(20):
            with tf.device("GPU:0"):
                tensor = tf.constant(values) * float(i)
            with torch.cuda.stream(side):
                product = torch.from_dlpack(tensor) + 1
                del tensor
                # Back again, ordered after torch's stream.
                back = read(product)
            assert address(back) == product.data_ptr()
            np.testing.assert_array_equal((back * 2.0).numpy(), (values * i + 1) * 2)
        source = torch.arange(1000, dtype=torch.float32, device="cuda")
        shared, copied = read(source), tf.constant(source)
        assert address(shared) == source.data_ptr() != address(copied)
        turned = read(source.reshape(10, 100).T)
        np.testing.assert_array_equal(turned.numpy(), values.reshape(10, 100).T)
        source.zero_()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(copied.numpy(), values)
        for dtype in (torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.uint8):
            there = torch.ones(100, dtype=dtype, device="cuda")
            ours = tf.convert_to_tensor(there)
            assert on_gpu(ours) and ours.dtype.name == str(dtype).split(".")[1]
            assert torch.equal(torch.from_dlpack(ours), there)
        learned = torch.ones(100, device="cuda", requires_grad=True)
        raises(BufferError, lambda: tf.constant(learned), "grad")
        assert on_gpu(tf.ones([1000]) + source) and on_gpu(tf.function(lambda: tf.constant(source) * 2.0)())
    """)


def test_cupy_and_the_engine_read_each_others_memory() -> None:
    real("cupy")
    exchange("""
        import cupy

        with tf.device("GPU:0"):
            tensor = tf.reshape(tf.constant(values) * 2.0, [10, 100])
        for theirs in (cupy.from_dlpack(tensor), cupy.asarray(tensor)):
            np.testing.assert_array_equal(theirs.get(), (values * 2).reshape(10, 100))
        assert theirs.data.ptr == address(tensor)
        with cupy.cuda.Stream(non_blocking=True):
            for i in range(20):
                with tf.device("GPU:0"):
                    tensor = tf.constant(values) * float(i)
                product = cupy.from_dlpack(tensor) + 1
                back = read(product)
                assert address(back) == product.data.ptr
                np.testing.assert_array_equal((back * 2.0).numpy(), (values * i + 1) * 2)
        source = cupy.arange(1000, dtype=cupy.float32)
        shared, copied = read(source), tf.constant(source)
        assert address(shared) == source.data.ptr != address(copied)
        np.testing.assert_array_equal(tf.convert_to_tensor(source[::3]).numpy(), values[::3])
        source.fill(0)
        cupy.cuda.Device().synchronize()
        np.testing.assert_array_equal(copied.numpy(), values)
    """)


def test_jax_and_the_engine_read_each_others_memory() -> None:
    real("jax")
    exchange("""
        import jax

        if jax.default_backend() != "gpu":
            print("jax has no GPU")
            raise SystemExit
        with tf.device("GPU:0"):
            tensor = tf.constant(values) * 2.0
        np.testing.assert_array_equal(np.asarray(jax.numpy.from_dlpack(tensor)), values * 2)
        theirs = jax.numpy.arange(1000, dtype=jax.numpy.float32) + 1
        for ours in (read(theirs), tf.constant(theirs)):
            assert on_gpu(ours)
            np.testing.assert_array_equal(ours.numpy(), values + 1)
    """)
