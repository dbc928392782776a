"""Another library with arrays in the memory of a GPU, by the driver's functions alone."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np

LEGACY, PER_THREAD = 1, 2
READ_ONLY, IS_COPIED = 1, 2
NON_BLOCKING = 1


class Driver:
    """The driver, with the context of the first device."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ.get("PENSTOCK_CUDA_DRIVER") or "libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ctypes.c_int(0))

    @property
    def is_emulated(self) -> bool:
        return hasattr(self.library, "mockcuda_set")

    def call(self, name: str, *args: Any) -> None:
        code = getattr(self.library, name)(*args)
        assert code == 0, f"{name} failed with {code}"

    def enter(self) -> None:
        self.call("cuCtxSetCurrent", self.context)

    def stream(self) -> int:
        self.enter()
        out = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(out), ctypes.c_uint(NON_BLOCKING))
        return out.value or 0

    def allocate(self, count: int) -> int:
        self.enter()
        out = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(count))
        return out.value

    def free(self, address: int) -> None:
        self.enter()
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def fill(self, address: int, word: int, count: int, stream: int) -> None:
        """Queue words of 32 bits."""
        self.enter()
        words = ctypes.c_uint(word), ctypes.c_size_t(count)
        self.call("cuMemsetD32Async", ctypes.c_uint64(address), *words, ctypes.c_void_p(stream))

    def write(self, address: int, values: np.ndarray, stream: int) -> None:
        self.enter()
        source = ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)
        self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), *source, ctypes.c_void_p(stream))

    def queue_read(self, address: int, target: np.ndarray, stream: int) -> None:
        self.enter()
        size = ctypes.c_size_t(target.nbytes)
        place = ctypes.c_void_p(target.ctypes.data)
        self.call("cuMemcpyDtoHAsync_v2", place, ctypes.c_uint64(address), size, ctypes.c_void_p(stream))

    def wait(self, stream: int) -> None:
        self.enter()
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def order(self, first: int, second: int) -> None:
        """Has the second stream wait for the first."""
        self.enter()
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(2))
        self.call("cuEventRecord", event, ctypes.c_void_p(first))
        self.call("cuStreamWaitEvent", ctypes.c_void_p(second), event, ctypes.c_uint(0))
        self.call("cuEventDestroy_v2", event)

    def set_seed(self, seed: int) -> None:
        """Draw another order of the streams, where they are emulated."""
        if self.is_emulated:
            self.library.mockcuda_set(b"seed", ctypes.c_int64(seed))

    def findings(self) -> str:
        """What the emulation found wrong."""
        if not self.is_emulated:
            return ""
        text = ctypes.create_string_buffer(1 << 16)
        self.library.mockcuda_findings.restype = ctypes.c_size_t
        return text.raw[: self.library.mockcuda_findings(text, ctypes.c_size_t(1 << 16))].decode()


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
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


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Unversioned(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", DELETER)]


_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

_KINDS = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
_DTYPES = {
    (code, bits): np.dtype(f"{kind}{bits // 8}")
    for kind, code in _KINDS.items()
    for bits in (8, 16, 32, 64)
    if (kind, bits) not in [("f", 8), ("c", 8), ("c", 16), ("c", 32), ("b", 16), ("b", 32), ("b", 64)]
}
# What structures point to, and names that are not copied.
_HELD: list[Any] = []
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


class Array:
    """Elements in memory of the device, which work on a stream writes: a producer."""

    def __init__(
        self,
        driver: Driver,
        values: np.ndarray,
        *,
        stream: int = LEGACY,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
        versioned: bool = True,
        flags: int = 0,
        **broken: Any,
    ) -> None:
        self.driver, self.stream, self.versioned, self.flags = driver, stream, versioned, flags
        self.values, self.strides, self.offset = values, strides, offset
        self.shape = values.shape if shape is None else shape
        self.memory = driver.allocate(values.nbytes)
        self.broken = broken
        self.asked: list[int | None] = []
        self.gone = threading.Event()
        driver.write(self.memory, values, stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.broken.get("device_type", 2), self.broken.get("device_id", 0)

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None) -> Any:
        self.asked.append(stream)
        if stream != -1:
            self.driver.order(self.stream, stream or LEGACY)
        return self.capsule()

    def capsule(self) -> Any:
        numbers = lambda values: (ctypes.c_int64 * max(len(values), 1))(*values)  # noqa: E731
        tensor = DLTensor(
            data=self.memory,
            device_type=2,
            ndim=len(self.shape),
            dtype=DataType(_KINDS[self.values.dtype.kind], self.values.itemsize * 8, 1),
            shape=numbers(self.shape),
            byte_offset=self.offset,
        )
        if self.strides is not None:
            tensor.strides = numbers(self.strides)
        for name, value in self.broken.items():
            setattr(tensor, name, value)
        deleter = DELETER(lambda _: self.gone.set())
        if self.versioned:
            managed: Any = Versioned(major=1, flags=self.flags, tensor=tensor, deleter=deleter)
        else:
            managed = Unversioned(tensor=tensor, deleter=deleter)
        _HELD.append((managed, deleter, tensor))
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return _api.PyCapsule_New(ctypes.addressof(managed), name, None)

    def rewrite(self, values: np.ndarray) -> None:
        """Writes other elements, and waits for that."""
        self.driver.write(self.memory, values, self.stream)
        self.driver.wait(self.stream)


class Interface:
    """The elements of an array, by the array interface of CUDA alone."""

    def __init__(self, array: Array, **parts: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.values.dtype.str,
            "data": (array.memory + array.offset, False),
            "strides": array.strides,
            "stream": array.stream,
            "version": 3,
        } | parts


class Reader:
    """What a capsule shows: a consumer."""

    def __init__(self, driver: Driver, capsule: Any) -> None:
        self.driver = driver
        name = _api.PyCapsule_GetName(capsule)
        form = {b"dltensor_versioned": Versioned, b"dltensor": Unversioned}[name]
        self.managed: Any = form.from_address(_api.PyCapsule_GetPointer(capsule, name))
        _api.PyCapsule_SetName(capsule, _USED[name])
        tensor = self.managed.tensor
        self.flags = self.managed.flags if form is Versioned else None
        self.device = (tensor.device_type, tensor.device_id)
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        self.dtype = _DTYPES[tensor.dtype.code, tensor.dtype.bits]
        assert not tensor.strides

    def queue(self, stream: int) -> np.ndarray:
        """Queue a copy to the host; the array is to be read when the stream is through."""
        target = np.empty(self.shape, self.dtype)
        self.driver.queue_read(self.address, target, stream)
        return target

    def read(self, stream: int) -> np.ndarray:
        target = self.queue(stream)
        self.driver.wait(stream)
        return target

    def delete(self) -> None:
        self.managed.deleter(ctypes.addressof(self.managed))
