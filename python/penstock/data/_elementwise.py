"""The methods of data sets that pass elements on one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._types.specs import TensorSpec
from penstock.autograph._traceback import USER_LINES
from penstock.data import _saved, _stages
from penstock.data._arguments import integer
from penstock.data._base import INFINITE, UNKNOWN, Base, Kind
from penstock.data._functions import traced, traced_with_state, unpacked
from penstock.data._options import Options
from penstock.data._shuffling import buffer, shuffled
from penstock.data._sources import Seeds, elements
from penstock.data._specs import DatasetSpec
from penstock.data._structure import converted, spec_of
from penstock.data._threads import AUTOTUNE, workers
from penstock.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
)

if TYPE_CHECKING:
    from penstock.data._dataset import Dataset

__all__ = ["Elementwise"]


def _same(n: int, *_: Any) -> int:
    return n


def _filtered(n: int, *_: Any) -> int:
    return 0 if n == 0 else UNKNOWN


def _taken(n: int, count: int) -> int:
    if count < 0 or n == UNKNOWN:
        return n
    return count if n == INFINITE else min(n, count)


def _skipped(n: int, count: int) -> int:
    if n == INFINITE:
        return 0 if count < 0 else INFINITE
    if n == UNKNOWN:
        return 0 if count < 0 else UNKNOWN
    return 0 if count < 0 else max(0, n - count)


def _repeated(n: int, count: int) -> int:
    if count == 0 or n == 0:
        return 0
    if n == INFINITE or (count < 0 and n > 0):
        return INFINITE
    return UNKNOWN if n == UNKNOWN or count < 0 else n * count


def _sharded(n: int, shards: int, index: int) -> int:
    return n if n < 0 else max(0, (n - index + shards - 1) // shards)


MAP = Kind("Map", _stages.mapped, _same)
FILTER = Kind("Filter", _stages.filtered, _filtered)
TAKE_WHILE = Kind("TakeWhile", _stages.take_while, _filtered)
TAKE = Kind("Take", _stages.take, _taken)
SKIP = Kind("Skip", _stages.skip, _skipped)
REPEAT = Kind("Repeat", _stages.repeat, _repeated)
SHUFFLE = Kind("Shuffle", shuffled, _same)
PREFETCH = Kind("Prefetch", _stages.prefetched, _same)
OPTIONS = Kind("Options", _stages.passed, _same)
CACHE = Kind("Cache", _stages.cached, _same)
KEPT = Kind("Snapshot", _saved.kept, _same)
ENUMERATE = Kind("Enumerate", _stages.numbered, _same)
SHARD = Kind("Shard", _stages.sharded, _sharded)
UNIQUE = Kind("Unique", _stages.unique, _filtered)
SCAN = Kind("Scan", _stages.scanned, _same)
IGNORE_ERRORS = Kind("IgnoreErrors", _stages.without_errors, _filtered)
COUNTED = Kind("AssertCardinality", _stages.counted, lambda n, expected: expected)
FLAT_MAP = Kind("FlatMap", _stages.flat_mapped, _filtered)
INTERLEAVE = Kind("Interleave", _stages.interleaved, _filtered)

RESAMPLE = Kind("RejectionResample", _stages.resampled, _filtered)


def _element(source: Any, index: Any) -> Any:
    """The element of a number alone; those before it are computed only where they must be."""
    kind, args, number = source._kind, source._args, int(index)
    if kind is MAP:
        leaves = _element(source._inputs[0], number)(1)
        return elements([args[0](leaves.at(0))])
    if kind in (PREFETCH, OPTIONS):
        return _element(source._inputs[0], number)
    if kind is SHUFFLE:
        size, seed, seeds = args
        return _stages.skip_in(shuffled(source._inputs[0], size, seed, seeds.still(seed)), number)
    return _stages.skip(source, number)


def _at(source: Any, index: Any) -> Any:
    size, number = source._size(), int(index)
    if size == INFINITE:
        raise FailedPreconditionError("at: argument 'dataset' has elements without end")
    if size == UNKNOWN:
        raise UnimplementedError(
            "at: Random access is not implemented where the number of elements is unknown"
        )
    if not 0 <= number < size:
        raise OutOfRangeError(f"at: argument 'index': Index out of range [0, {size}):{number}")
    pull = _element(source, number)
    return elements([pull(1).at(0)])


AT = Kind("At", _at, lambda *_: 1)


class Elementwise(Base):
    """The methods of `tf.data.Dataset` that pass elements on one by one."""

    __slots__ = ()

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """The results of a function for each element, in order.

        The function is traced once. Where it does nothing but compute, it runs for many elements at once.

        Args:
            map_func: takes an element, the items of a tuple as arguments of their own; gives a tensor or a
                nest.
            num_parallel_calls: how many calls run at once, each on a thread, where the function does more
                than compute: calls Python, for example. `AUTOTUNE` is as many as there are processors.
            deterministic: whether results come in order even if others are ready before; None is True.
            synchronous: accepted and ignored; so is the next one.
            use_unbounded_threadpool: accepted and ignored.
            name: a name for the data set.

        Raises:
            TypeError: where the function gives what can be no tensors.
            InvalidArgumentError: for a number of calls below 1.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x * x)]
        [0, 1, 4]
        """
        calls = workers(num_parallel_calls)
        with USER_LINES:
            function = traced(map_func, "map_func", unpacked(self.element_spec))
        in_order = deterministic is not False
        return self._then(MAP, function.gives, function, calls, in_order, name=name)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function gives True.

        Args:
            predicate: takes an element as `map` gives it; gives a scalar `bool`.
            name: a name for the data set.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        with USER_LINES:
            return self._same(FILTER, self._predicate(predicate), name=name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which a function gives False.

        Args:
            predicate: takes an element as `map` gives it; gives a scalar `bool`.
            name: a name for the data set.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).take_while(lambda x: x < 2)]
        [0, 1]
        """
        with USER_LINES:
            return self._same(TAKE_WHILE, self._predicate(predicate), name=name)

    def _predicate(self, predicate: Any) -> Any:
        function = traced(predicate, "predicate", unpacked(self.element_spec))
        spec = function.gives.spec
        if not isinstance(spec, TensorSpec) or spec.dtype != _core.bool or spec.shape.rank not in (0, None):
            raise TypeError(f"argument 'predicate' must give a scalar bool, got {spec}")
        return function

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements.

        Args:
            count: how many; all for a negative number.
            name: a name for the data set.

        Raises:
            TypeError: where `count` is no integer.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).take(2)]
        [0, 1]
        """
        return self._same(TAKE, integer(count, "count"), name=name)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """What comes after the first elements.

        Args:
            count: how many to leave out; all for a negative number.
            name: a name for the data set.

        Raises:
            TypeError: where `count` is no integer.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).skip(3)]
        [3, 4]
        """
        return self._same(SKIP, integer(count, "count"), name=name)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements over and over.

        Args:
            count: how many times; without end for None or a negative number.
            name: a name for the data set.

        Raises:
            TypeError: where `count` is no integer.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        return self._same(REPEAT, -1 if count is None else integer(count, "count"), name=name)

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """The elements in a random order: each is drawn from a buffer of the next ones.

        Args:
            buffer_size: how many elements are drawn from; the number of elements, or more, or
                `UNKNOWN_CARDINALITY` for all of them, for orders that are all equally likely.
            seed: an integer that fixes the order, or the sequence of orders.
            reshuffle_each_iteration: whether each iteration, as by `repeat`, has another order; None is True.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: for a buffer of no elements; when it runs, for all of elements without end.
            ResourceExhaustedError: when it runs, where there is no memory for the buffer.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(5).shuffle(5, seed=1, reshuffle_each_iteration=False)
        >>> list(ds.as_numpy_iterator()) == list(ds.as_numpy_iterator())
        True
        """
        size = integer(buffer_size, "buffer_size")
        if isinstance(size, int):
            buffer(size)
        number = None if seed is None else integer(seed, "seed")
        return self._same(SHUFFLE, size, number, Seeds(reshuffle_each_iteration is not False), name=name)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The elements, which a thread computes before they are asked for.

        It begins when the first element is asked for, and ends with the iterator. An error comes where its
        element would have been. Random numbers are drawn from a stream of the thread's own.

        Args:
            buffer_size: how many elements are computed ahead at most; `AUTOTUNE` and None are 2, 0 is none.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: for a negative size other than `AUTOTUNE`.

        >>> import penstock as tf
        >>> len(tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE))
        3
        """
        size = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size", -1)
        return self._same(PREFETCH, size, name=name)

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """The elements, which are kept once an iterator has computed all of them.

        Args:
            filename: how the names of the files begin that they are kept in; for the empty string, they are
                kept in memory. Files are read by later programs too, until they are removed.
            name: a name for the data set.

        Raises:
            TypeError: where it is no path; for elements that cannot be saved in files, and when it runs,
                where those in the files are others.
            NotFoundError: when it runs, where the directory of the files does not exist.
            DataLossError: when it runs, where the files are corrupted.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(3).cache()
        >>> len(list(ds)), len(list(ds))
        (3, 3)
        """
        prefix = _saved.path_of(filename, "filename")
        if prefix:
            return self._kept(prefix, None, None, None, "filename", name)
        return self._same(CACHE, _stages.Store(), name=name)

    def _kept(
        self,
        prefix: str,
        compression: Any,
        shard_func: Any,
        reader_func: Any,
        argument: str,
        name: str | None,
    ) -> Dataset:
        """The elements, which are kept in files; the arguments are those of `snapshot`."""
        structure = self._structure
        _saved.portable(structure.spec)
        read = self._make._reader(reader_func)

        def opened(prefix: str) -> Any:
            return read(prefix, structure)._open()

        args = [prefix, compression, self._to_shards(shard_func), opened, argument]
        return self._same(KEPT, *args, name=name)

    def _to_shards(self, shard_func: Any) -> Any:
        if shard_func is None:
            return None
        with USER_LINES:
            number = TensorSpec([], _core.int64)
            return traced(shard_func, "shard_func", unpacked(self.element_spec), number)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, `int64`, and an element.

        Args:
            start: the first number.
            name: a name for the data set.

        >>> import penstock as tf
        >>> [(int(i), int(x)) for i, x in tf.data.Dataset.range(7, 9).enumerate()]
        [(0, 7), (1, 8)]
        """
        spec = (TensorSpec([], _core.int64), self.element_spec)
        return self._then(ENUMERATE, spec, integer(start, "start"), name=name)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`th element, from number `index` on.

        Args:
            num_shards: how many parts there are.
            index: which of them it is.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: where `index` is not from 0 to before `num_shards`.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        shards, at = integer(num_shards, "num_shards", 1), integer(index, "index", 0)
        if isinstance(at, int) and isinstance(shards, int) and at >= shards:
            raise InvalidArgumentError(f"argument 'index' must be below num_shards, {shards}, got {at}")
        return self._same(SHARD, shards, at, name=name)

    def unique(self, name: str | None = None) -> Dataset:
        """The elements that did not come before.

        Args:
            name: a name for the data set.

        Raises:
            TypeError: for elements that are not tensors.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique()]
        [1, 2]
        """
        if not self._structure.plain:
            raise TypeError(f"unique() compares tensors, the elements are {self.element_spec}")
        return self._same(UNIQUE, name=name)

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """What a function gives for each element and a state, which it changes.

        Args:
            initial_state: the state before the first element: a nest of tensors.
            scan_func: takes the state and an element; gives the next state and a result.
            name: a name for the data set.

        Raises:
            TypeError: where the function gives a state of other dtypes.
            InvalidArgumentError: where it gives no such pair, or a state that is nested otherwise.

        >>> import penstock as tf
        >>> zero = tf.constant(0, tf.int64)
        >>> [int(x) for x in tf.data.Dataset.range(1, 4).scan(zero, lambda s, x: (s + x, s * x))]
        [0, 2, 9]
        """
        state = converted(initial_state, "argument 'initial_state'")
        size = len(nest.flatten(state))
        with USER_LINES:
            function, _ = traced_with_state(scan_func, "scan_func", spec_of(state), self.element_spec, True)
        return self._then(SCAN, function.gives.spec[1], function, size, *nest.flatten(state), name=name)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the data sets that a function gives, one set after the other.

        Args:
            map_func: takes an element as `map` gives it; gives a data set.
            name: a name for the data set.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).flat_map(tf.data.Dataset.range)]
        [0, 0, 1]
        """
        with USER_LINES:
            function, spec = self._maker(map_func)
        return self._then(FLAT_MAP, spec, function, name=name)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the data sets that a function gives, some from each in turn.

        Args:
            map_func: takes an element as `map` gives it; gives a data set.
            cycle_length: how many data sets are gone through in turn, by default one for each processor
                that the program may use; one that ends makes place for the next.
            block_length: how many elements each gives in a turn, by default one.
            num_parallel_calls: how many of these data sets are computed at once, ahead of time and each on a
                thread; `AUTOTUNE` is as many as there are processors.
            deterministic: accepted and ignored: elements come in order.
            name: a name for the data set.

        Raises:
            TypeError: where the function gives no data set.
            InvalidArgumentError: for lengths and numbers below 1, and more calls than data sets.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(2).interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2))
        >>> [int(x) for x in ds]
        [0, 1, 0, 1]
        """
        with USER_LINES:
            function, spec = self._maker(map_func)
        cycle = AUTOTUNE if cycle_length is None else integer(cycle_length, "cycle_length", -1)
        if isinstance(cycle, int) and cycle == 0:
            raise InvalidArgumentError("argument 'cycle_length' must be at least 1, or AUTOTUNE, got 0")
        block = 1 if block_length is None else integer(block_length, "block_length", 1)
        calls = workers(num_parallel_calls)
        if isinstance(calls, int) and isinstance(cycle, int) and 0 < cycle < calls:
            raise InvalidArgumentError(
                f"argument 'num_parallel_calls' must be at most cycle_length, {cycle}, got {calls}"
            )
        return self._then(INTERLEAVE, spec, function, cycle, block, calls, name=name)

    def _maker(self, map_func: Any) -> tuple[Any, Any]:
        function = traced(map_func, "map_func", unpacked(self.element_spec))
        if not isinstance(function.gives.spec, DatasetSpec):
            raise TypeError(f"argument 'map_func' must give a data set, got {function.gives.spec}")
        return function, function.gives.spec.element_spec

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that can be computed without an error.

        Args:
            log_warning: whether each error is a warning.
            name: a name for the data set.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
        >>> ds = ds.map(lambda x: tf.debugging.check_numerics(1.0 / x, "x"))
        >>> [float(x) for x in ds.ignore_errors()]
        [1.0, 0.5]
        """
        return self._same(IGNORE_ERRORS, bool(log_warning), name=name)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Pairs of a class and an element; some are left out, so that classes come as often as asked.

        Args:
            class_func: takes an element as `map` gives it; gives its class, an integer scalar.
            target_dist: how often each class is to come: a vector of numbers.
            initial_dist: how often each comes; by default as often as it came so far.
            seed: an integer that fixes which elements are left out.
            name: a name for the data set.

        Raises:
            TypeError: where the function gives something else.
            ValueError: for distributions that are no vectors of one length.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(100).rejection_resample(lambda x: x % 2, [0.0, 1.0], [0.5, 0.5])
        >>> {int(number) for number, x in ds}
        {1}
        """
        with USER_LINES:
            classes = traced(class_func, "class_func", unpacked(self.element_spec))
        spec = classes.gives.spec
        if not isinstance(spec, TensorSpec) or not spec.dtype.is_integer or spec.shape.rank not in (0, None):
            raise TypeError(f"argument 'class_func' must give an integer scalar, got {spec}")
        target = _core._to_tensor(target_dist, _core.float32)
        initial = None if initial_dist is None else _core._to_tensor(initial_dist, _core.float32)
        for given, argument in ((target, "target_dist"), (initial, "initial_dist")):
            if given is not None and (given.shape.rank != 1 or given.shape != target.shape):
                raise ValueError(
                    f"argument '{argument}' must be a vector with a number for each class, got {given}"
                )
        number = None if seed is None else integer(seed, "seed")
        args = [classes, target, initial, number, Seeds(True)]
        return self._then(RESAMPLE, (spec, self.element_spec), *args, name=name)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The data set with options; those that are not set stay as they are.

        Args:
            options: a `tf.data.Options`.
            name: a name for the data set.

        Raises:
            TypeError: for something else.
        """
        if not isinstance(options, Options):
            raise TypeError(f"argument 'options' must be a tf.data.Options, got {options!r}")
        found = self._same(OPTIONS, name=name)
        found._options = options
        return found

    def _counted(self, expected: Any) -> Dataset:
        return self._same(COUNTED, integer(expected, "expected_cardinality"))
