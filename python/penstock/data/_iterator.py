"""Iterators of data sets, in programs and in graphs."""

from __future__ import annotations

import abc
import json
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock import _core, nest, raw_ops
from penstock._control import flow
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec
from penstock.autograph._traceback import USER_LINES
from penstock.autograph._values import zeros
from penstock.data._handles import ByHandle, handle, held, in_graph
from penstock.data._node import Node
from penstock.data._rows import Reader, Rows
from penstock.data._sources import Seeds
from penstock.data._structure import Structure
from penstock.errors import InvalidArgumentError, OperatorNotAllowedInGraphError, OutOfRangeError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock._values.optional import Optional

__all__ = ["Blocks", "GraphIterator", "Iterator", "NumpyIterator", "OwnedIterator", "Steps"]

_FLAG = TensorSpec([], _core.bool)

_T = TypeVar("_T", covariant=True)


class Iterator(ByHandle, abc.ABC, Generic[_T]):
    """An iterator of a data set: what `iter` gives.

    It can be an argument of traced functions, and what a `for` in one goes over: there it goes on where it
    was.

    >>> import penstock as tf
    >>> it = iter(tf.data.Dataset.range(2))
    >>> isinstance(it, tf.data.Iterator), int(it.get_next()), int(next(it))
    (True, 0, 1)
    """

    __slots__ = ("__weakref__", "_structure")

    def __init__(self, structure: Structure) -> None:
        self._structure = structure

    @property
    def element_spec(self) -> Any:
        """The specification of an element: a nest of `tf.TypeSpec`."""
        return self._structure.spec

    @abc.abstractmethod
    def _call(self, function: Callable[[Any], Sequence[Any]], specs: Sequence[TensorSpec]) -> list[Any]:
        """Has the graph call a function with this iterator."""

    @abc.abstractmethod
    def _handle(self) -> Any:
        """A tensor that stands for it."""

    def __iter__(self) -> Iterator[_T]:
        return self

    def __next__(self) -> _T:
        if _core._is_tracing():
            raise OperatorNotAllowedInGraphError(
                "an iterator of a data set cannot be stepped by Python while a function is traced: use a "
                "for loop or "
                "next() in code that AutoGraph converts, or get_next()"
            )
        with USER_LINES:
            return self._next()

    @abc.abstractmethod
    def _next(self) -> _T:
        """The next element.

        Raises:
            StopIteration: at the end.
        """

    def next(self) -> _T:
        """Take the next element, as `next(iterator)` does.

        Returns:
            The element.

        Raises:
            StopIteration: at the end.

        >>> import penstock as tf
        >>> int(iter(tf.data.Dataset.range(3)).next())
        0
        """
        return self.__next__()

    def get_next(self) -> _T:
        """Take the next element.

        Returns:
            The element.

        Raises:
            OutOfRangeError: at the end.

        >>> import penstock as tf
        >>> int(iter(tf.data.Dataset.range(3)).get_next())
        0
        """
        if _core._is_tracing():
            taken: _T = self._taken()
            return taken
        with USER_LINES:
            try:
                return self._next()
            except StopIteration:
                raise _ended() from None

    def get_next_as_optional(self) -> Optional[_T]:
        """Take the next element, if there is one.

        Returns:
            A `tf.experimental.Optional`, which is empty at the end.

        >>> import penstock as tf
        >>> bool(iter(tf.data.Dataset.range(0)).get_next_as_optional().has_value())
        False
        """
        from penstock._values.optional import Optional  # start-up does without it

        if _core._is_tracing():
            return flow.cond(
                self._peeked(),
                lambda: Optional(Optional.from_value(self._taken())._lists, self.element_spec),
                lambda: Optional.empty(self.element_spec),
            )
        with USER_LINES:
            try:
                return Optional.from_value(self._next())
            except StopIteration:
                return Optional.empty(self.element_spec)

    # In graphs.

    def _with_spec(self, element_spec: Any) -> Iterator[Any]:
        return GraphIterator(self._handle(), Structure(element_spec))

    def _peeked(self) -> Any:
        """Whether there is another element: a tensor."""
        with _core._Outside():
            yes, no = [_core._to_tensor(True)], [_core._to_tensor(False)]
        return self._call(lambda it: yes if it._peek() else no, [_FLAG])[0]

    def _taken(self) -> Any:
        """The next element, of tensors of the graph."""
        structure = self._structure

        def take(it: Any) -> list[Any]:
            leaves = it._leaves()
            if leaves is None:
                raise _ended()
            return structure.to_tensors(leaves)

        return structure.pack(structure.from_tensors(self._call(take, structure.tensor_specs)))

    def _next_in_graph(self, default: tuple[Any, ...]) -> Any:
        """`next(iterator)`, or `next(iterator, default)`."""
        if not default:
            return self._taken()
        return flow.cond(self._peeked(), self._taken, lambda: default[0])

    def _graph_steps(self) -> Steps:
        """What a loop of the graph goes over."""
        return Steps(self)

    @property
    def _type_spec(self) -> Any:
        from penstock.data._specs import IteratorSpec  # start-up does without it

        return IteratorSpec(self.element_spec)

    def __tf_tracing_type__(self, context: Any) -> Any:
        """The specification of the iterator."""
        return self._type_spec

    def __repr__(self) -> str:
        return f"<tf.data.Iterator element_spec={self.element_spec!r}>"


def _ended() -> OutOfRangeError:
    return OutOfRangeError("End of sequence: the iterator has no more elements")


class OwnedIterator(Iterator[Any]):
    """An iterator with a place in the elements of a data set.

    Args:
        dataset: the data set.
    """

    __slots__ = ("_count", "_dataset", "_lock", "_read", "_seeds", "_waits")

    # What a checkpoint calls its place. TensorFlow's is a tensor that only TensorFlow can read.
    _checkpoint_part = ("PENSTOCK_ITERATOR", ("",))

    def __init__(self, dataset: Node) -> None:
        super().__init__(expect(dataset, Node, "dataset", "a tf.data.Dataset")._structure)
        self._dataset: Any = dataset
        self._lock = threading.RLock()
        # Where a profile is recorded, it is told how long elements take.
        self._waits = _core._Waits(self._dataset._kind.name)
        self._begin([seeds.state for seeds in _seeds(dataset)], 0)

    def _begin(self, seeds: list[Any], count: int) -> None:
        """Restore the states of the seeds, and skip the first `count` elements."""
        for mine, state in zip(_seeds(self._dataset), seeds, strict=True):
            mine.state = state
        self._seeds, self._count = seeds, count
        self._read = Reader((self._dataset.skip(count) if count else self._dataset)._open())

    def _trackable_children(self) -> dict[str, Any]:
        return {}

    def _save_state(self) -> tuple[_core.Tensor]:
        """Where it is, for `_restore_state`: a `string` scalar."""
        with self._lock:
            return (_core._to_tensor(json.dumps([self._seeds, self._count])),)

    def _restore_state(self, state: TensorLike) -> None:
        """Goes on where an iterator of this data set was.

        Raises:
            InvalidArgumentError: for something else.
        """
        with self._lock:
            try:
                seeds, count = json.loads(_core._to_tensor(state, _core.string).numpy())
                self._begin([(int(first), int(n)) for first, n in seeds], int(count))
            except (TypeError, ValueError) as error:
                message = f"argument 'state' is no state of this iterator: {error}"
                raise InvalidArgumentError(message) from None

    def _leaves(self) -> list[Any] | None:
        """The leaves of the next element; None at the end."""
        with self._lock:
            found = self._read() if not _core._profiling() else self._waits.read(self._read)
            self._count += found is not None
            return found

    def _peek(self) -> bool:
        """Whether there is another element."""
        with self._lock:
            return self._read.peek()

    def _block(self) -> Rows | None:
        """The next elements, as many as nobody can see being read; None at the end."""
        with self._lock:
            found = self._read.block() if not _core._profiling() else self._waits.read(self._read.block)
            self._count += 0 if found is None else found.count
            return found

    def _next(self) -> Any:
        leaves = self._leaves()
        if leaves is None:
            raise StopIteration
        return self._structure.pack(leaves)

    def _call(self, function: Callable[[Any], Sequence[Any]], specs: Sequence[TensorSpec]) -> list[Any]:
        return in_graph(lambda: function(self), specs, [])

    def _handle(self) -> Any:
        return handle(self)


class GraphIterator(Iterator[Any]):
    """An iterator that a graph makes, or gets, when it runs.

    Args:
        tensor: its handle.
        structure: the structure of its elements.
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Any, structure: Structure) -> None:
        super().__init__(structure)
        self._tensor = tensor

    def _next(self) -> Any:
        raise OperatorNotAllowedInGraphError("an iterator of a graph has no elements outside of it")

    def _call(self, function: Callable[[Any], Sequence[Any]], specs: Sequence[TensorSpec]) -> list[Any]:
        return in_graph(lambda tensor: function(held(tensor)), specs, [self._tensor])

    def _handle(self) -> Any:
        return self._tensor


class Steps:
    """What a loop of the graph goes over, which does not know how many there are.

    The loop carries the next element, and whether there is one. It is read at the end of an iteration, which
    is when Python reads it, unless the iteration was the last one.

    Args:
        iterator: the iterator.
    """

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self._structure = iterator._structure
        self._prepare([_FLAG, *self._structure.tensor_specs], True)

    def _prepare(self, specs: list[TensorSpec], number: int) -> None:
        """Has `_call` read what the loop carries, of these specifications; `number` for a single element."""
        with _core._Outside():
            nothing = [zeros(spec) for spec in specs]
            one = _core._to_tensor(number, specs[0].dtype)

        def read(it: Any) -> list[Any]:
            found = self._read(it, one)
            return nothing if found is None else found

        self._call: Callable[[], list[Any]] = lambda: self._iterator._call(read, specs)

    def _read(self, it: Any, one: Any) -> list[Any] | None:
        leaves = it._leaves()
        return None if leaves is None else [one, *self._structure.to_tensors(leaves)]

    def count(self) -> None:
        """The number of elements: it is not known."""

    def start(self) -> list[Any]:
        """What the loop carries into the first iteration."""
        return self._call()

    def more(self, i: Any, state: Sequence[Any]) -> Any:
        """Whether there is an element `i`: a tensor."""
        return state[0]

    def item(self, i: Any, state: Sequence[Any]) -> Any:
        """Element `i`."""
        return self._structure.pack(self._structure.from_tensors(state[1:]))

    def following(self, i: Any, state: Sequence[Any], wanted: Any) -> list[Any]:
        """What the loop carries behind iteration `i`; anything, if no other one is `wanted`."""
        if wanted is None:
            return self._call()
        return flow.cond(wanted, self._call, lambda: list(state))


class Blocks(Steps):
    """As `Steps`, over an iterator that nobody else has: the loop carries elements that were read together.

    These are the number of the next row, that of all rows, and columns.
    """

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self._structure = iterator._structure
        self._prepare([TensorSpec([], _core.int64), *map(_column, self._structure.tensor_specs)], 1)

    def _read(self, it: Any, one: Any) -> list[Any] | None:
        rows = it._block()
        if rows is None:
            return None
        columns = self._structure.to_tensors(rows.columns)
        if rows.stacked:
            return [_core._to_tensor(rows.count, _core.int64), *columns]
        return [one, *(raw_ops.expand_dims(c, axis=0) for c in columns)]

    def start(self) -> list[Any]:
        """What the loop carries into the first iteration."""
        return [_core._to_tensor(0, _core.int64), *self._call()]

    def more(self, i: Any, state: Sequence[Any]) -> Any:
        """Whether there is another element: a tensor."""
        return raw_ops.less(state[0], state[1])

    def item(self, i: Any, state: Sequence[Any]) -> Any:
        """The next element."""
        at, _, *columns = state
        specs = self._structure.tensor_specs
        rows = [raw_ops.gather(c, at) if _is_small(s) else c[at] for c, s in zip(columns, specs, strict=True)]
        return self._structure.pack(self._structure.from_tensors(rows))

    def following(self, i: Any, state: Sequence[Any], wanted: Any) -> list[Any]:
        """What the loop carries behind iteration `i`; anything, if no other one is `wanted`."""
        at, count, *columns = state
        at = raw_ops.add(at, _core._to_tensor(1, _core.int64))
        ended = raw_ops.greater_equal(at, count)
        if wanted is not None:
            ended = raw_ops.logical_and(ended, wanted)
        return flow.cond(ended, self.start, lambda: [at, count, *columns])


# From how many bytes on a slice, which shares memory, takes less time than a copy.
_LARGE = 1 << 14


def _is_small(spec: TensorSpec) -> bool:
    """Whether tensors of a specification are known to be small."""
    dims = spec.shape._dims
    if dims is None or None in dims:
        return False
    return math.prod(dims) * (spec.dtype.size or 1) < _LARGE  # type: ignore[arg-type]


def _column(spec: TensorSpec) -> TensorSpec:
    """The specification of a column of what another one describes."""
    dims = spec.shape._dims
    return TensorSpec(None if dims is None else [None, *dims], spec.dtype)


class NumpyIterator:
    """An iterator whose elements have arrays and NumPy scalars in place of tensors.

    Args:
        dataset: the data set.

    >>> import penstock as tf
    >>> next(tf.data.NumpyIterator(tf.data.Dataset.from_tensors([1, 2]))).tolist()
    [1, 2]
    """

    __slots__ = ("_iterator",)

    def __init__(self, dataset: Any) -> None:
        self._iterator = OwnedIterator(dataset)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        with USER_LINES:
            return nest.map_structure(_numpy, self._iterator._next())

    def next(self) -> Any:
        """Take the next element, as `next(iterator)` does.

        Returns:
            The element.

        Raises:
            StopIteration: at the end.

        >>> import penstock as tf
        >>> tf.data.Dataset.range(3).as_numpy_iterator().next()
        np.int64(0)
        """
        return self.__next__()

    def save(self) -> _core.Tensor:
        """Tell where the iterator is, for `restore`.

        Returns:
            A `string` scalar.

        >>> import penstock as tf
        >>> it = tf.data.Dataset.range(9).shuffle(9).as_numpy_iterator()
        >>> first, state = next(it), it.save()
        >>> rest = [int(x) for x in it]
        >>> it.restore(state)
        >>> [int(x) for x in it] == rest
        True
        """
        return self._iterator._save_state()[0]

    def restore(self, state: TensorLike) -> None:
        """Go on where an iterator of this data set was.

        The elements before are computed again. Shuffled ones come in the same order; random numbers that
        functions draw are others.

        Args:
            state: what `save` gave.

        Raises:
            InvalidArgumentError: for something else.

        >>> import penstock as tf
        >>> it = tf.data.Dataset.range(9).as_numpy_iterator()
        >>> state = it.save()
        >>> first = next(it)
        >>> it.restore(state)
        >>> int(next(it))
        0
        """
        self._iterator._restore_state(state)


def _seeds(dataset: Node) -> list[Seeds]:
    """The seeds of the data sets that a data set is made of; what fixes them is drawn."""
    found: dict[int, Seeds] = {}
    waiting, seen = [dataset], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(node._inputs)
            for i, arg in enumerate(node._args):
                if isinstance(arg, Seeds):
                    # The seed comes before what it fixes.
                    arg.begin(node._args[i - 1])
                    found[id(arg)] = arg
    return list(found.values())


def _numpy(leaf: Any) -> Any:
    if isinstance(leaf, Node):
        return NumpyIterator(leaf)
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf
