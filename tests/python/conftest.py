"""Makes `support` importable by the tests beside it; has property tests draw the same examples in every run.

`HYPOTHESIS_PROFILE=explore` draws others each time.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# What a script starts in the background ignores interrupts, and so would the programs that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--default-device GPU:0` has the tests run on a device: `make gpu-python`."""
    parser.addoption("--default-device", default=None, help="the device that the tests run on")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark of tests whose subject is the host's memory, or processes that are forked."""
    config.addinivalue_line("markers", "of_host: is left out with --default-device")


@pytest.fixture(autouse=True)
def _device(request: pytest.FixtureRequest) -> Iterator[None]:
    device = request.config.getoption("--default-device")
    if device is not None and request.node.get_closest_marker("of_host"):
        pytest.skip("is about the host")
    if device is None:
        yield
        return
    import penstock as tf  # not before the tests of Keras have chosen its backend

    with tf.device(device):
        yield
