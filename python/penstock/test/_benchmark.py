"""Measurements of programs, and comparisons of graphs."""

from __future__ import annotations

import functools
import inspect
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import _core, nest

if TYPE_CHECKING:
    from penstock._runtime.graph import GraphDef
    from penstock._types.aliases import Nested, TensorLike
    from penstock.compat.v1 import Session

__all__ = [
    "Benchmark",
    "assert_equal_graph_def",
    "benchmark_config",
    "disable_with_predicate",
    "run_benchmarks",
]

_F = TypeVar("_F", bound=Callable[..., Any])


class Benchmark:
    """The base of classes with measurements: their methods whose names begin with `benchmark`.

    `tf.test.main` runs those of all classes that `--benchmarks=REGEX` names; each reports by
    `report_benchmark`, or has `run_op_benchmark` measure and report.

    >>> import penstock as tf
    >>> class Sums(tf.test.Benchmark):
    ...     def benchmark_ones(self):
    ...         self.report_benchmark(iters=1, wall_time=0.5)
    >>> Sums().benchmark_ones()
    {"name": "Sums.benchmark_ones", "iters": 1, "wall_time": 0.5}
    """

    @classmethod
    def is_abstract(cls) -> bool:
        """Tell whether the class is the base alone.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.test.Benchmark.is_abstract()
        True
        """
        return cls is Benchmark

    def _name_of_caller(self) -> str:
        for frame in inspect.stack()[1:]:
            if frame.function.startswith("benchmark"):
                return f"{type(self).__name__}.{frame.function}"
        raise ValueError("argument 'name' must be given outside of methods that begin with 'benchmark'")

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
        metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Print a measurement, a line of JSON.

        Args:
            iters: how often it was measured.
            cpu_time: the time of processors, in seconds.
            wall_time: the time, in seconds.
            throughput: megabytes in a second.
            extras: other figures by name.
            name: what was measured, by default the class and the method.
            metrics: figures with names, and bounds that they should keep.

        Raises:
            ValueError: without a name where no method of the class is running that begins with `benchmark`.

        >>> import penstock as tf
        >>> tf.test.Benchmark().report_benchmark(name="sum", iters=3)
        {"name": "sum", "iters": 3}
        """
        found = {
            "name": name or self._name_of_caller(),
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": dict(extras) if extras else None,
            "metrics": [dict(metric) for metric in metrics] if metrics else None,
        }
        print(json.dumps({key: value for key, value in found.items() if value is not None}))

    def evaluate(self, tensors: Nested[TensorLike] | Callable[[], Nested[TensorLike]]) -> Any:
        """Make arrays of the tensors of a nest.

        Args:
            tensors: tensors, or a function of no arguments that gives them.

        Returns:
            The arrays in the same structure.

        >>> import penstock as tf
        >>> tf.test.Benchmark().evaluate([tf.constant(1)])
        [np.int32(1)]
        """
        given = tensors() if callable(tensors) else tensors
        return nest.map_structure(lambda t: _core._to_tensor(t).numpy(), given)

    def run_op_benchmark(
        self,
        sess: Session | None,
        op_or_tensor: Callable[[], object] | Nested[object],
        feed_dict: Mapping[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run an operation several times, and report the median of its times.

        Args:
            sess: a session of TensorFlow 1, or None.
            op_or_tensor: what to run; without a session a function of no arguments.
            feed_dict: values for placeholders.
            burn_iters: how often to run before.
            min_iters: how often to measure.
            store_trace: accepted and ignored.
            store_memory_usage: accepted and ignored.
            name: what is measured, by default the class and the method.
            extras: other figures by name.
            mbs: the megabytes that one run moves.

        Returns:
            The figures: `iters`, `wall_time`, `throughput`, `extras` and the name.

        >>> import penstock as tf
        >>> found = tf.test.Benchmark().run_op_benchmark(None, lambda: tf.ones([2]), name="ones")
        {"name": "ones", "iters": 10, "wall_time": ...
        >>> found["iters"]
        10
        """

        def run() -> None:
            if sess is None:
                op_or_tensor()  # type: ignore[operator]
            else:
                sess.run(op_or_tensor, feed_dict=feed_dict)

        for _ in range(burn_iters):
            run()
        times = []
        for _ in range(max(min_iters, 1)):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        times.sort()
        median = times[len(times) // 2]
        throughput = mbs / median if mbs and median else 0.0
        spread = {"wall_time_min": times[0], "wall_time_max": times[-1], **(extras or {})}
        title = name or self._name_of_caller()
        self.report_benchmark(len(times), None, median, throughput or None, spread, title)
        return {
            "iters": len(times),
            "wall_time": median,
            "throughput": throughput,
            "extras": spread,
            "name": title,
        }


def _classes(cls: type[Benchmark]) -> list[type[Benchmark]]:
    return [found for sub in cls.__subclasses__() for found in (sub, *_classes(sub))]


def run_benchmarks(pattern: str) -> None:
    """Run the measurements of all classes whose `Class.method` has a match of a regular expression."""
    for cls in _classes(Benchmark):
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if name.startswith("benchmark") and re.search(pattern, f"{cls.__name__}.{name}"):
                method(cls())


def benchmark_config() -> Any:
    """Give the options of a session for measurements. There are none here: the optimiser runs as always.

    Returns:
        None, which `tf.compat.v1.Session` takes.

    >>> import penstock as tf
    >>> tf.test.benchmark_config() is None
    True
    """
    return None


def _nodes(graph: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    if not hasattr(graph, "node"):
        raise TypeError(f"expected a graph as as_graph_def() gives it, got {graph!r}")
    return {node.name: (node.op, tuple(node.input)) for node in graph.node}


def assert_equal_graph_def(expected: GraphDef, actual: GraphDef) -> None:
    """Check that two graphs have the same nodes, in any order.

    Args:
        expected: what `as_graph_def()` gives.
        actual: likewise.

    Raises:
        AssertionError: where a node is missing or differs.
        TypeError: for something else than such graphs.

    >>> import penstock as tf
    >>> trace = tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([], "float32"))
    >>> graph = trace.graph.as_graph_def()
    >>> tf.test.assert_equal_graph_def(graph, graph)
    """
    first, second = _nodes(expected), _nodes(actual)
    for name in sorted({*first, *second}):
        if first.get(name) != second.get(name):
            raise AssertionError(
                f"node {name!r} is {first.get(name, 'absent')} in 'expected', "
                f"{second.get(name, 'absent')} in 'actual'"
            )


def disable_with_predicate(pred: Callable[[], bool], skip_message: str) -> Callable[[_F], _F]:
    """Have a test skipped where a condition holds when it runs.

    Args:
        pred: a function without arguments.
        skip_message: why it is skipped.

    Returns:
        A decorator of methods of test cases.

    >>> import penstock as tf
    >>> class Tests(tf.test.TestCase):
    ...     @tf.test.disable_with_predicate(lambda: True, "not here")
    ...     def test_nothing(self):
    ...         raise AssertionError
    >>> len(Tests("test_nothing").run().skipped)
    1
    """

    def decorate(test: _F) -> _F:
        @functools.wraps(test)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return test(self, *args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
