"""The GPUs that the extension lists are those that the driver knows."""

from __future__ import annotations

import ctypes
import sys

from penstock import _core


def driver_device_count() -> int:
    """The number of devices by the driver itself; 0 where there is no usable driver."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
    except OSError:
        return 0
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    if version.value < 12_080 or driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def test_the_gpus_of_the_driver_are_listed() -> None:
    gpus = [name for kind, name in _core._devices() if kind == "GPU"]
    assert gpus == [f"/physical_device:GPU:{i}" for i in range(driver_device_count())]


def test_the_cpu_is_always_listed() -> None:
    assert _core._devices()[0] == ("CPU", "/physical_device:CPU:0")
