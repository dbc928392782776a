"""Tests of programs: comparisons of tensors in `unittest`, and of derivatives with differences."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, config, nest
from penstock._autodiff.tape import GradientTape
from penstock._runtime.public_names import publish as _publish
from penstock.test import experimental as experimental
from penstock.test._assertions import Assertions as _Assertions
from penstock.test._benchmark import (
    Benchmark as Benchmark,
    assert_equal_graph_def as assert_equal_graph_def,
    benchmark_config as benchmark_config,
    disable_with_predicate as disable_with_predicate,
    run_benchmarks as _run_benchmarks,
)

if TYPE_CHECKING:
    import numpy as np

    from penstock._types.aliases import DTypeLike, Nested, TensorLike

__all__ = [
    "Benchmark",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "disable_with_predicate",
    "experimental",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_cpu_target_available",
    "is_gpu_available",
    "main",
]


def compute_gradient(
    f: Callable[..., _core.Tensor], x: Sequence[TensorLike], delta: float | None = None
) -> tuple[list[Any], list[Any]]:
    """Compute the derivatives of a function by a tape and by differences.

    Args:
        f: a function of tensors with one tensor as its result.
        x: a list of arguments.
        delta: the step of the differences; by default a power of 2 that fits the dtype of an argument.

    Returns:
        Two lists of NumPy arrays, one for each argument, of shape `[elements of the result, elements of the
        argument]`. For complex numbers the real and the imaginary part count as two elements.

    Raises:
        TypeError: where `f` gives something else.
        ValueError: where `x` is no list or tuple.

    >>> import penstock as tf
    >>> by_tape, by_differences = tf.test.compute_gradient(tf.square, [tf.constant([1.0, 2.0])])
    >>> by_tape[0].tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    import numpy as np  # loaded by those who convert to arrays

    if not isinstance(x, list | tuple):
        raise ValueError(f"argument 'x' must be a list of arguments, got {x!r}")
    arguments = [_core._to_tensor(value) for value in x]

    def flat(value: np.ndarray) -> np.ndarray:
        value = np.ascontiguousarray(value).reshape(-1)
        return value.view(value.real.dtype) if np.iscomplexobj(value) else value

    with GradientTape(persistent=True) as tape:
        tape.watch(arguments)
        y = f(*arguments)
        if not isinstance(y, _core.Tensor):
            raise TypeError(f"argument 'f' must give one tensor, got {y!r}")
        parts = [_real(y), _imaginary(y)] if y.dtype.is_complex else [y]
        elements = [[part[index] for index in np.ndindex(*part.shape)] for part in parts]
    results = [element for pair in zip(*elements, strict=True) for element in pair]
    by_tape, by_differences = [], []
    for i, argument in enumerate(arguments):
        size = flat(argument.numpy()).size
        rows = [tape.gradient(element, argument) for element in results]
        by_tape.append(
            np.array([np.zeros(size) if row is None else _row(flat, row) for row in rows]).reshape(-1, size)
        )
        step = delta or (2.0**-10 if argument.dtype.size <= 4 else 2.0**-17)
        columns = []
        for j in range(size):
            sides = []
            for sign in (1, -1):
                moved = np.array(argument.numpy())
                flat_view = moved.reshape(-1)
                if argument.dtype.is_complex:
                    flat_view = flat_view.view(moved.real.dtype)
                flat_view[j] += sign * step
                others = [*arguments[:i], _core._to_tensor(moved), *arguments[i + 1 :]]
                sides.append(flat(f(*others).numpy()).astype("float64"))
            columns.append((sides[0] - sides[1]) / (2 * step))
        by_differences.append(np.stack(columns, axis=-1) if columns else np.zeros((len(results), 0)))
    return by_tape, by_differences


def _row(flat: Callable[[Any], Any], slope: Any) -> Any:
    return flat(_core._to_tensor(slope).numpy())


def _real(x: _core.Tensor) -> _core.Tensor:
    from penstock import raw_ops  # for complex results alone

    return raw_ops.real(x)


def _imaginary(x: _core.Tensor) -> _core.Tensor:
    from penstock import raw_ops  # for complex results alone

    return raw_ops.imag(x)


def gpu_device_name() -> str:
    """Tell the name of the first GPU.

    Returns:
        Its name, or an empty string.

    >>> import penstock as tf
    >>> tf.test.gpu_device_name() in ("", "/device:GPU:0")
    True
    """
    return next((device.name for device in config.list_logical_devices("GPU")), "")


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Tell whether there is a GPU that is visible.

    Args:
        cuda_only: accepted; every GPU that the engine uses has CUDA.
        min_cuda_compute_capability: accepted and ignored.

    Returns:
        Whether there is one.

    >>> import penstock as tf
    >>> tf.test.is_gpu_available() == bool(tf.config.list_logical_devices("GPU"))
    True
    """
    return bool(config.list_logical_devices("GPU"))


def is_built_with_cuda() -> bool:
    """Tell whether the engine can use GPUs of NVIDIA where there are any: it always can.

    Returns:
        True.

    >>> import penstock as tf
    >>> tf.test.is_built_with_cuda()
    True
    """
    return True


def is_built_with_gpu_support() -> bool:
    """Tell whether the engine can use GPUs where there are any: it always can.

    Returns:
        True.

    >>> import penstock as tf
    >>> tf.test.is_built_with_gpu_support()
    True
    """
    return True


def is_built_with_rocm() -> bool:
    """Tell whether the engine can use GPUs of AMD: it cannot.

    Returns:
        False.

    >>> import penstock as tf
    >>> tf.test.is_built_with_rocm()
    False
    """
    return False


def is_built_with_xla() -> bool:
    """Tell whether XLA is there: the engine compiles by itself.

    Returns:
        False.

    >>> import penstock as tf
    >>> tf.test.is_built_with_xla()
    False
    """
    return False


def is_cpu_target_available(target: str) -> bool:
    """Tell whether machine code can be made for a kind of processor: it is for the one at hand.

    Args:
        target: such as `"x86"`, `"aarch64"`.

    Returns:
        Whether it is that of this machine.

    Raises:
        TypeError: where it is no string.

    >>> import penstock as tf
    >>> tf.test.is_cpu_target_available("z80")
    False
    """
    import platform  # for this question alone

    if not isinstance(target, str):
        raise TypeError(f"argument 'target' must be a string, got {target!r}")
    machine = platform.machine().lower()
    return target.lower() in {machine, "x86" if machine in ("x86_64", "amd64") else machine}


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program, as `unittest.main` does, or its measurements.

    Args:
        argv: the arguments of the program; those of the process by default. With `--benchmarks=REGEX` the
            methods of `tf.test.Benchmark` classes are run whose `Class.method` it matches, and no tests.

    >>> import penstock as tf
    >>> callable(tf.test.main)
    True
    """
    given = sys.argv if argv is None else argv
    for argument in given[1:]:
        name, _, pattern = argument.lstrip("-").partition("=")
        if name == "benchmarks":
            _run_benchmarks("" if pattern in ("all", ".") else pattern)
            return
    unittest.main(argv=argv)


class TestCase(_Assertions):
    """A test case of `unittest` that compares tensors, variables, arrays and nests of them.

    >>> import penstock as tf
    >>> class Test(tf.test.TestCase):
    ...     def test_sum(self):
    ...         self.assertAllClose(tf.reduce_sum([0.1, 0.2]), 0.3)
    >>> Test("test_sum").run().wasSuccessful()
    True
    """

    def setUp(self) -> None:
        """Set the seed of random numbers, so that each test draws the same ones.

        >>> import penstock as tf
        >>> tf.test.TestCase().setUp()
        """
        super().setUp()
        from penstock import random  # with the first test

        random.set_seed(87654321)

    def evaluate(self, tensors: Nested[TensorLike]) -> Any:
        """Convert the tensors and variables of a nest to NumPy arrays.

        Args:
            tensors: a nest of tensors, variables and other values.

        Returns:
            The nest, with arrays.

        >>> import penstock as tf
        >>> tf.test.TestCase().evaluate({"a": tf.constant(1)})
        {'a': np.int32(1)}
        """

        def plain(value: Any) -> Any:
            return value.numpy() if hasattr(value, "numpy") else value

        return nest.map_structure(plain, tensors)

    def get_temp_dir(self) -> str:
        """Make a directory for files of the test, which is removed after it.

        Returns:
            The name of the directory; the same one within a test.

        >>> import penstock as tf
        >>> case = tf.test.TestCase()
        >>> case.get_temp_dir() == case.get_temp_dir()
        True
        """
        found = getattr(self, "_temp_dir", None)
        if found is None:
            made = tempfile.TemporaryDirectory()
            self.addCleanup(made.cleanup)
            found = self._temp_dir = made.name
        return str(found)

    def create_tempfile(self, name: str = "file", content: str = "") -> str:
        """Write a file for the test.

        Args:
            name: its name within `get_temp_dir()`.
            content: its text.

        Returns:
            The whole name of the file.

        >>> import penstock as tf
        >>> case = tf.test.TestCase()
        >>> open(case.create_tempfile("words", "a b")).read()
        'a b'
        """
        from pathlib import Path  # for files alone

        path = Path(self.get_temp_dir()) / name
        path.write_text(content)
        return str(path)

    def _arrays(self, a: Any, b: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Pairs of arrays to compare, each with where it is found."""
        import numpy as np  # loaded by those who convert to arrays

        a, b = self.evaluate(a), self.evaluate(b)
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertIsInstance(a, dict)
            self.assertIsInstance(b, dict)
            self.assertCountEqual(a, b)
            return [(f"[{key!r}]{where}", x, y) for key in a for where, x, y in self._arrays(a[key], b[key])]
        try:
            return [("", np.asarray(a), np.asarray(b))]
        except ValueError:  # lists of arrays of several shapes
            self.assertEqual(len(a), len(b))
            return [
                (f"[{i}]{where}", x, y)
                for i, pair in enumerate(zip(a, b, strict=True))
                for where, x, y in self._arrays(*pair)
            ]

    def assertAllEqual(self, a: Nested[TensorLike], b: Nested[TensorLike], msg: str | None = None) -> None:
        """Fail where two nests of arrays differ in shape or in an element; NaN equals NaN.

        Args:
            a: what is expected.
            b: what was found.
            msg: a text for the failure.

        Raises:
            AssertionError: where they differ.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllEqual([1, 2], tf.constant([1, 2]))
        """
        import numpy as np  # loaded by those who convert to arrays

        for where, x, y in self._arrays(a, b):
            if np.issubdtype(x.dtype, np.inexact) and np.issubdtype(y.dtype, np.inexact):
                np.testing.assert_array_equal(x, y, err_msg=f"{where} {msg or ''}")
            else:
                self.assertEqual(x.shape, y.shape, f"shapes{where} differ. {msg or ''}")
                self.assertTrue(bool(np.all(x == y)), f"elements{where} differ: {x} and {y}. {msg or ''}")

    def assertNotAllEqual(self, a: Nested[TensorLike], b: Nested[TensorLike], msg: str | None = None) -> None:
        """Fail where two nests of arrays are equal.

        Args:
            a: a nest.
            b: another one.
            msg: a text for the failure.

        Raises:
            AssertionError: where they are equal.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNotAllEqual([1, 2], tf.constant([1, 3]))
        """
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(msg or "the arrays are equal")

    def assertAllClose(
        self,
        a: Nested[TensorLike],
        b: Nested[TensorLike],
        rtol: float = 1e-6,
        atol: float = 1e-6,
        msg: str | None = None,
    ) -> None:
        """Fail where two nests of arrays differ by more than `atol + rtol * abs(b)`.

        Args:
            a: a nest of arrays.
            b: another one.
            rtol: the relative bound; wider for `float16` and `bfloat16`.
            atol: the absolute bound.
            msg: a text for the failure.

        Raises:
            AssertionError: where they differ.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllClose({"a": 0.1}, {"a": tf.constant(0.1)})
        """
        import numpy as np  # loaded by those who convert to arrays

        for where, x, y in self._arrays(a, b):
            least = max(_resolution(x), _resolution(y))
            np.testing.assert_allclose(
                x.astype("complex128") if np.iscomplexobj(x) else x.astype("float64"),
                y.astype("complex128") if np.iscomplexobj(y) else y.astype("float64"),
                rtol=max(rtol, least),
                atol=max(atol, least),
                err_msg=f"{where} {msg or ''}",
            )

    def assertNotAllClose(
        self,
        a: Nested[TensorLike],
        b: Nested[TensorLike],
        rtol: float = 1e-6,
        atol: float = 1e-6,
        msg: str | None = None,
    ) -> None:
        """Fail where two nests of arrays are close.

        Args:
            a: a nest of arrays.
            b: another one.
            rtol: the relative bound.
            atol: the absolute bound.
            msg: a text for the failure.

        Raises:
            AssertionError: where they are close.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNotAllClose([1.0], [2.0])
        """
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self.fail(msg or "the arrays are close")

    def assertAllCloseAccordingToType(
        self,
        a: Nested[TensorLike],
        b: Nested[TensorLike],
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Fail where two arrays differ by more than the bound for their dtypes.

        Args:
            a: an array.
            b: another one.
            rtol: the relative bound for `float64`.
            atol: the absolute bound for `float64`.
            float_rtol: the relative bound for `float32` and `complex64`.
            float_atol: the absolute bound for these.
            half_rtol: the relative bound for `float16`.
            half_atol: the absolute bound for it.
            bfloat16_rtol: the relative bound for `bfloat16`.
            bfloat16_atol: the absolute bound for it.
            msg: a text for the failure.

        Raises:
            AssertionError: where they differ.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllCloseAccordingToType(tf.constant(1.0, tf.float16), 1.0005)
        """
        bounds = {
            "float32": (float_rtol, float_atol),
            "complex64": (float_rtol, float_atol),
            "float16": (half_rtol, half_atol),
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
        }
        for _, x, y in self._arrays(a, b):
            of_dtypes = [bounds.get(array.dtype.name, (rtol, atol)) for array in (x, y)]
            self.assertAllClose(x, y, max(r for r, _ in of_dtypes), max(t for _, t in of_dtypes), msg)

    def _assert_all(self, a: Nested[TensorLike], holds: Callable[[Any], Any], what: str) -> None:
        import numpy as np  # loaded by those who convert to arrays

        array = np.asarray(self.evaluate(a))
        self.assertTrue(bool(np.all(holds(array))), f"not all elements are {what}: {array}")

    def assertAllGreater(self, a: Nested[TensorLike], comparison_target: TensorLike) -> None:
        """Fail unless all elements are greater than a number.

        Args:
            a: an array.
            comparison_target: the number.

        Raises:
            AssertionError: where one is not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllGreater([2, 3], 1)
        """
        self._assert_all(a, lambda x: x > comparison_target, f"greater than {comparison_target!r}")

    def assertAllGreaterEqual(self, a: Nested[TensorLike], comparison_target: TensorLike) -> None:
        """Fail unless all elements are a number or greater.

        Args:
            a: an array.
            comparison_target: the number.

        Raises:
            AssertionError: where one is not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllGreaterEqual([1, 3], 1)
        """
        self._assert_all(a, lambda x: x >= comparison_target, f"at least {comparison_target!r}")

    def assertAllLess(self, a: Nested[TensorLike], comparison_target: TensorLike) -> None:
        """Fail unless all elements are less than a number.

        Args:
            a: an array.
            comparison_target: the number.

        Raises:
            AssertionError: where one is not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllLess([2, 3], 4)
        """
        self._assert_all(a, lambda x: x < comparison_target, f"less than {comparison_target!r}")

    def assertAllLessEqual(self, a: Nested[TensorLike], comparison_target: TensorLike) -> None:
        """Fail unless all elements are a number or less.

        Args:
            a: an array.
            comparison_target: the number.

        Raises:
            AssertionError: where one is not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllLessEqual([2, 3], 3)
        """
        self._assert_all(a, lambda x: x <= comparison_target, f"at most {comparison_target!r}")

    def assertAllInRange(
        self,
        target: TensorLike,
        lower_bound: TensorLike,
        upper_bound: TensorLike,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fail unless all elements are within two bounds.

        Args:
            target: an array.
            lower_bound: the lower bound.
            upper_bound: the upper bound.
            open_lower_bound: whether the lower bound itself is outside.
            open_upper_bound: whether the upper bound itself is outside.

        Raises:
            AssertionError: where one is not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllInRange([0.0, 0.5], 0.0, 1.0)
        """
        (self.assertAllGreater if open_lower_bound else self.assertAllGreaterEqual)(target, lower_bound)
        (self.assertAllLess if open_upper_bound else self.assertAllLessEqual)(target, upper_bound)

    def assertAllInSet(self, target: TensorLike, expected_set: Iterable[object]) -> None:
        """Fail unless all elements are among some values.

        Args:
            target: an array.
            expected_set: the values.

        Raises:
            AssertionError: where one is not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertAllInSet([0, 1, 1], {0, 1})
        """
        import numpy as np  # loaded by those who convert to arrays

        values: list[Any] = list(expected_set)
        self._assert_all(target, lambda x: np.isin(x, values), f"among {values}")

    def assertShapeEqual(self, input_a: TensorLike, input_b: TensorLike, msg: str | None = None) -> None:
        """Fail where the shapes of two arrays or tensors differ.

        Args:
            input_a: an array or tensor.
            input_b: another one.
            msg: a text for the failure.

        Raises:
            AssertionError: where they differ.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertShapeEqual(tf.zeros([2, 3]), tf.ones([2, 3]))
        """
        self.assertEqual(_core._to_tensor(input_a).shape, _core._to_tensor(input_b).shape, msg)

    def assertDTypeEqual(self, target: TensorLike, expected_dtype: DTypeLike) -> None:
        """Fail where an array or tensor has another dtype.

        Args:
            target: an array or tensor.
            expected_dtype: the dtype.

        Raises:
            AssertionError: where it has another one.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertDTypeEqual(tf.constant(1.0), tf.float32)
        """
        self.assertEqual(_core._to_tensor(target).dtype, _core.DType(expected_dtype))

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fail where two numbers differ by more than a bound.

        Args:
            f1: a number.
            f2: another one.
            err: the bound.
            msg: a text for the failure.

        Raises:
            AssertionError: where they differ.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNear(1.0, 1.05, 0.1)
        """
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, msg or f"{f1} and {f2} differ by more than {err}")

    def assertArrayNear(
        self, farray1: TensorLike, farray2: TensorLike, err: float, msg: str | None = None
    ) -> None:
        """Fail where elements of two arrays differ by more than a bound.

        Args:
            farray1: an array.
            farray2: another one of the same length.
            err: the bound.
            msg: a text for the failure.

        Raises:
            AssertionError: where they differ.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertArrayNear([1.0], [1.05], 0.1)
        """
        for _, x, y in self._arrays(farray1, farray2):
            self.assertEqual(x.shape, y.shape, msg)
            for one, other in zip(x.reshape(-1), y.reshape(-1), strict=True):
                self.assertNear(float(one), float(other), err, msg)

    @contextlib.contextmanager
    def assertRaisesOpError(self, expected_err_re_or_predicate: str | Callable[..., bool]) -> Iterator[None]:
        """Fail unless an error of an operation is raised within.

        Args:
            expected_err_re_or_predicate: a regular expression that its text has, or a function that accepts
                the error.

        Returns:
            A context.

        Raises:
            AssertionError: where none is raised, or another one.

        >>> import penstock as tf
        >>> with tf.test.TestCase().assertRaisesOpError("shapes"):
        ...     _ = tf.ones([2]) + tf.ones([3])
        """
        from penstock.errors import OpError  # no name of this module

        with self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate):
            yield

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: type[Exception], expected_err_re_or_predicate: str | Callable[..., bool]
    ) -> Iterator[None]:
        """Fail unless an error of a class is raised within.

        Args:
            exception_type: the class.
            expected_err_re_or_predicate: a regular expression that its text has, or a function that accepts
                the error.

        Returns:
            A context.

        Raises:
            AssertionError: where none is raised, or another one.

        >>> import penstock as tf
        >>> with tf.test.TestCase().assertRaisesWithPredicateMatch(ValueError, "invalid literal"):
        ...     _ = int("a")
        """
        with self.assertRaises(exception_type) as caught:
            yield
        if callable(expected_err_re_or_predicate):
            self.assertTrue(expected_err_re_or_predicate(caught.exception), str(caught.exception))
        else:
            self.assertRegex(str(caught.exception), expected_err_re_or_predicate)

    @contextlib.contextmanager
    def session(
        self,
        graph: object = None,
        config: object = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[_Eager]:
        """Make a context in which `run` gives the values of tensors. Operations run eagerly in it.

        Args:
            graph: accepted and ignored.
            config: accepted and ignored.
            use_gpu: accepted and ignored.
            force_gpu: accepted and ignored.

        Returns:
            A context.

        >>> import penstock as tf
        >>> with tf.test.TestCase().session() as session:
        ...     int(session.run(tf.constant(1)))
        1
        """
        yield _Eager(self)

    cached_session = session


class _Eager:
    """What stands for a session where operations run eagerly."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, feed_dict: None = None) -> Any:
        """The values of tensors."""
        return self._case.evaluate(fetches)


def _resolution(array: np.ndarray) -> float:
    """The bound below which numbers of a dtype are not compared."""
    return {"float16": 1e-3, "bfloat16": 1e-2}.get(array.dtype.name, 0.0)


_publish(__name__)
