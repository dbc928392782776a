"""Variables of the environment whose values have no effect."""

import os
import subprocess
import sys

import pytest

from penstock._runtime.settings import without_effect

TESTED = """
import warnings
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    import penstock
print([(w.category.__name__, str(w.message)) for w in found])
"""


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("PENSTOCK_THREADS", "3", "abc"),
        ("PENSTOCK_THREADS", "1", "0"),
        ("PENSTOCK_SIMD", "v3", "v9"),
        ("PENSTOCK_VERIFY", "0", "yes"),
        ("PENSTOCK_CUDA_GRAPHS", "0", "off"),
        ("PENSTOCK_CUBLAS", "", "/nowhere/libcublas.so"),
        ("PENSTOCK_CUDNN", "libcudnn.so", "/nowhere"),
        ("PENSTOCK_NVRTC", "/", "/nowhere"),
        ("PENSTOCK_CUDA_DRIVER", "libcuda.so.1", "/nowhere/libcuda.so"),
    ],
)
def test_a_value_that_nothing_comes_of_is_named(name, right, wrong, monkeypatch):
    monkeypatch.setenv(name, right)
    assert not [text for text in without_effect() if text.startswith(name)]
    monkeypatch.setenv(name, wrong)
    (text,) = (text for text in without_effect() if text.startswith(name))
    assert f"'{wrong}'" in text


def test_the_import_warns_of_it_once():
    # With a backend of Keras in the environment, Python imports the package when it starts.
    env = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    env["PENSTOCK_THREADS"] = "abc"
    run = subprocess.run([sys.executable, "-c", TESTED], env=env, capture_output=True, text=True, check=True)
    text = "PENSTOCK_THREADS is 'abc', and not a positive number, such as '2': it has no effect"
    assert run.stdout.strip() == str([("RuntimeWarning", text)])
