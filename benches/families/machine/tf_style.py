"""The machine's limits in TensorFlow's language."""

from collections.abc import Callable
from typing import Any

from cases import Work, Works
from families.machine import ELEMENTS, GEMMS, SCAN, byte_matrix, floats


def works(tf: Any, *, loops: bool) -> Works:
    """The cases.

    Args:
        tf: The package that stands for TensorFlow.
        loops: Whether ten million rounds of a loop take less than a minute.
    """

    def case(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Work]:
        return lambda: Work(tf.function(function), tuple(tf.constant(floats(*shape)) for shape in shapes))

    def scan() -> Work:
        def program(x, a, b):
            for _ in tf.range(SCAN):
                x = x * a + b
            return x

        numbers = tuple(tf.constant(number) for number in (1.0, 0.999, 0.5))
        return Work(tf.function(program), numbers, steps=SCAN)

    return {
        **{f"gemm_{n}": case(lambda x, y: tf.matmul(x, y), (n, n), (n, n)) for n in GEMMS},
        "gemm_bytes_1024": lambda: Work(
            tf.function(lambda x: tf.matmul(x, x, output_type=tf.int32)), (tf.constant(byte_matrix(1024)),)
        ),
        "scale": case(lambda x: 2.0 * x + 1.0, (ELEMENTS,)),
        "add": case(lambda x, y: x + y, (ELEMENTS,), (ELEMENTS,)),
        "sum": case(lambda x: tf.reduce_sum(x), (ELEMENTS,)),
        **({"scan": scan} if loops else {}),
    }
