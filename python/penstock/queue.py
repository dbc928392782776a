"""Queues of tensors between threads, and between calls of functions."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._control.flow import group
from penstock._runtime.arguments import integer
from penstock._runtime.host_calls import py_function
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock._values.queue_store import Element, Store, by_priority, in_order, shuffled
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, Nested, ShapeLike, TensorLike

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]

_numbers = itertools.count()
_shared: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
_sharing = threading.Lock()


class _Ref:
    """Which store a queue speaks of: one, or the one of several that a tensor says when it runs."""

    def __init__(self, stores: Sequence[Store], index: Any = None) -> None:
        self.stores, self.index = list(stores), index

    @property
    def inputs(self) -> list[Any]:
        return [] if self.index is None else [self.index]

    def split(self, arguments: Sequence[Any]) -> tuple[Store, Sequence[Any]]:
        """The store, and the arguments behind the index."""
        if self.index is None:
            return self.stores[0], arguments
        return self.stores[int(arguments[0].numpy())], arguments[1:]


class QueueBase:
    """What all queues do. Its constructor makes another object of a queue that there is.

    A queue lives outside of graphs: functions enqueue and dequeue each time that they run, in the order of
    the program. A call that waits for room or for elements lets other threads run.

    Args:
        dtypes: the dtypes of the components of an element.
        shapes: their shapes, or None where they are not known.
        names: their names, or None; with names, elements are dicts.
        queue_ref: the `queue_ref` of a queue.

    Raises:
        ValueError: where the lists differ in length.

    >>> import penstock as tf
    >>> queue = tf.queue.FIFOQueue(10, [tf.int32], [[]])
    >>> isinstance(queue, tf.queue.QueueBase)
    True
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None,
        names: Sequence[str] | None,
        queue_ref: Any,
    ) -> None:
        self._dtypes = [_core.DType(dtype) for dtype in dtypes]
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise ValueError(f"argument 'shapes' must have a shape for each dtype, got {len(shapes)}")
        self._shapes = [TensorShape(s) for s in ([None] * len(self._dtypes) if shapes is None else shapes)]
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError(f"argument 'names' must have a name for each dtype, got {len(names)}")
        self._names = None if names is None else list(names)
        self._queue_ref: _Ref = queue_ref

    @staticmethod
    def from_list(index: IntLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Make a queue that is the one of several with a number, which may be known only when a graph runs.

        Args:
            index: the number, an integer or a scalar tensor.
            queues: queues of the same dtypes and names.

        Returns:
            The queue; of its shapes is known what holds for all.

        Raises:
            TypeError: for something else than a list of queues, or queues of other dtypes.
            ValueError: for queues of other names.

        >>> import penstock as tf
        >>> queues = [tf.queue.FIFOQueue(2, [tf.int32], [[]]) for _ in "ab"]
        >>> tf.queue.QueueBase.from_list(1, queues).enqueue(7)
        >>> int(queues[1].dequeue())
        7
        """
        if (
            not isinstance(queues, list | tuple)
            or not queues
            or not all(isinstance(q, QueueBase) for q in queues)
        ):
            raise TypeError(f"argument 'queues' must be a list of queues, got {queues!r}")
        first = queues[0]
        if any(q._dtypes != first._dtypes for q in queues):
            raise TypeError("argument 'queues' must have queues of the same dtypes")
        if any(q._names != first._names for q in queues):
            raise ValueError("argument 'queues' must have queues of the same names")
        shapes = list(first._shapes)
        for queue in queues[1:]:
            shapes = [a.most_specific_compatible_shape(b) for a, b in zip(shapes, queue._shapes, strict=True)]
        stores = [store for queue in queues for store in queue._queue_ref.stores]
        if len(stores) != len(queues):
            raise ValueError("argument 'queues' must have queues that were not made by from_list")
        ref = _Ref(stores, raw_ops.cast(_core._to_tensor(index), dtype=_core.int64))
        return QueueBase(first._dtypes, shapes, first._names, ref)

    @property
    def queue_ref(self) -> Any:
        """What stands for the queue in the constructor of `QueueBase`."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue_ref.stores[0].name

    @property
    def dtypes(self) -> list[_core.DType]:
        """The dtypes of the components of an element."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components of an element."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """The names of the components of an element, or None."""
        return None if self._names is None else list(self._names)

    # --- what an element is ---

    def _given(self, vals: Any) -> list[Any]:
        """The components of an argument as tensors."""
        if isinstance(vals, Mapping):
            if self._names is None:
                raise ValueError("argument 'vals' must not be a dict: the queue has no names")
            if sorted(vals) != sorted(self._names):
                raise ValueError(
                    f"argument 'vals' must have the keys {sorted(self._names)}, got {sorted(vals)}"
                )
            values = [vals[name] for name in self._names]
        else:
            if self._names is not None:
                raise ValueError(f"argument 'vals' must be a dict: the queue has the names {self._names}")
            many = isinstance(vals, list | tuple) and (len(self._dtypes) > 1 or len(vals) == 1)
            values = list(vals) if many else [vals]
        if len(values) != len(self._dtypes):
            raise ValueError(f"argument 'vals' must have {len(self._dtypes)} components, got {len(values)}")
        return [_core._to_tensor(value, dtype) for value, dtype in zip(values, self._dtypes, strict=True)]

    def _result(self, values: Sequence[Any]) -> Any:
        if self._names is not None:
            return dict(zip(self._names, values, strict=True))
        return values[0] if len(values) == 1 else list(values)

    def _checked(self, values: Sequence[Any], batched: bool) -> None:
        for value, shape in zip(values, self._shapes, strict=True):
            due = TensorShape([None]).concatenate(shape) if batched else shape
            if not value.shape.is_compatible_with(due):
                raise ValueError(f"argument 'vals' must have components of shape {due}, got {value.shape}")
        if batched:
            counts = {value.shape[0] for value in values} - {None}
            if len(counts) > 1:
                raise ValueError(f"argument 'vals' must have components of one length, got {sorted(counts)}")

    def _call(self, function: Callable[..., Any], inputs: Sequence[Any], specs: list[TensorSpec]) -> Any:
        """Run a function of a store and tensors: at once, or each time that the graph runs."""
        ref = self._queue_ref

        def run(*arguments: Any) -> Any:
            store, rest = ref.split(arguments)
            return function(store, *rest)

        given = [*ref.inputs, *inputs]
        if not _core._is_tracing():
            return run(*given)
        return py_function(run, given, specs)

    def _many(self, elements: Sequence[Element]) -> list[Any]:
        """Elements as a batch."""
        return [self._stacked([e[i] for e in elements], i) for i in range(len(self._dtypes))]

    def _stacked(self, parts: list[Any], component: int) -> Any:
        if parts:
            return raw_ops.stack(parts)
        return raw_ops.fill(
            [0, *(n or 0 for n in self._shapes[component].as_list())], _zero(self._dtypes[component])
        )

    # --- the operations ---

    @scoped
    def enqueue(self, vals: Nested[TensorLike], name: str | None = None) -> Any:
        """Add an element; wait while the queue is full.

        Args:
            vals: a tensor, a list of a tensor for each component, or a dict by name.
            name: a scope for the names of its operations in a graph.

        Returns:
            None; in a graph of TensorFlow 1 an operation.

        Raises:
            CancelledError: where the queue is closed, or is closed with `cancel_pending_enqueues` meanwhile.
            ValueError: where the components are not those of the queue.

        >>> import penstock as tf
        >>> queue = tf.queue.FIFOQueue(10, [tf.int32, tf.string])
        >>> queue.enqueue([1, "a"])
        >>> [value.numpy() for value in queue.dequeue()]
        [np.int32(1), b'a']
        """
        values = self._given(vals)
        self._checked(values, batched=False)

        def put(store: Store, *element: Any) -> list[Any]:
            store.put([element])
            return [0]

        return self._ended(self._call(put, values, [TensorSpec([], _core.int32)]))

    @scoped
    def enqueue_many(self, vals: Nested[TensorLike], name: str | None = None) -> Any:
        """Add the elements of a batch, one after the other; wait while the queue is full.

        Args:
            vals: as for `enqueue`, with a dimension more at the front.
            name: a scope for the names of its operations in a graph.

        Returns:
            None; in a graph of TensorFlow 1 an operation.

        Raises:
            CancelledError: where the queue is closed, or is closed with `cancel_pending_enqueues` meanwhile.
            ValueError: where the components are not those of the queue, or not of one length.

        >>> import penstock as tf
        >>> queue = tf.queue.FIFOQueue(10, [tf.int32], [[]])
        >>> queue.enqueue_many([[1, 2, 3]])
        >>> int(queue.size())
        3
        """
        values = self._given(vals)
        self._checked(values, batched=True)

        def put(store: Store, *batch: Any) -> list[Any]:
            counts = {part.shape[0] for part in batch}
            if len(counts) != 1:
                raise InvalidArgumentError(
                    f"argument 'vals' must have components of one length, got {sorted(counts)}"
                )
            store.put([tuple(part[i] for part in batch) for i in range(counts.pop())])
            return [0]

        return self._ended(self._call(put, values, [TensorSpec([], _core.int32)]))

    def _ended(self, made: Any) -> Any:
        return group(*made) if _core._is_tracing() else None

    @scoped
    def dequeue(self, name: str | None = None) -> Any:
        """Remove an element; wait while there is none.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor, a list of a tensor for each component where there are several, or a dict by name.

        Raises:
            OutOfRangeError: where the queue is closed and empty.

        >>> import penstock as tf
        >>> queue = tf.queue.FIFOQueue(10, [tf.int32])
        >>> queue.enqueue([5])
        >>> int(queue.dequeue())
        5
        """
        specs = [TensorSpec(s, d) for s, d in zip(self._shapes, self._dtypes, strict=True)]
        return self._result(self._call(lambda store: list(store.take(1, False)[0]), [], specs))

    @scoped
    def dequeue_many(self, n: IntLike, name: str | None = None) -> Any:
        """Remove so many elements as a batch; wait until there are as many.

        Args:
            n: how many.
            name: a scope for the names of its operations in a graph.

        Returns:
            As `dequeue`, with a dimension of size `n` at the front.

        Raises:
            OutOfRangeError: where the queue is closed with fewer elements, which stay in it.
            ValueError: where the shapes of the components are not known.
            InvalidArgumentError: for a negative `n`.

        >>> import penstock as tf
        >>> queue = tf.queue.FIFOQueue(10, [tf.int32], [[]])
        >>> queue.enqueue_many([[1, 2, 3]])
        >>> queue.dequeue_many(2).numpy().tolist()
        [1, 2]
        """
        return self._taken(n, at_most=False)

    @scoped
    def dequeue_up_to(self, n: IntLike, name: str | None = None) -> Any:
        """Remove so many elements as a batch, or what there is once the queue is closed.

        Args:
            n: how many at most.
            name: a scope for the names of its operations in a graph.

        Returns:
            As `dequeue`, with a dimension at the front.

        Raises:
            OutOfRangeError: where the queue is closed and empty.
            ValueError: where the shapes of the components are not known.
            InvalidArgumentError: for a negative `n`.

        >>> import penstock as tf
        >>> queue = tf.queue.FIFOQueue(10, [tf.int32], [[]])
        >>> queue.enqueue_many([[1, 2, 3]])
        >>> queue.close()
        >>> queue.dequeue_up_to(5).numpy().tolist()
        [1, 2, 3]
        """
        return self._taken(n, at_most=True)

    def _batch_shapes(self) -> list[TensorShape]:
        """The shapes of the components of a batch behind its first dimension."""
        if not all(shape.is_fully_defined() for shape in self._shapes):
            raise ValueError("a batch needs components of known shapes: give the queue argument 'shapes'")
        return self._shapes

    def _taken(self, n: Any, at_most: bool) -> Any:
        shapes = self._batch_shapes()
        number = _core._to_tensor(n)
        known = _core._known_value(number)
        if known is not None and int(known.numpy()) < 0:
            raise InvalidArgumentError(f"argument 'n' must not be negative, got {n}")
        size = None if known is None or at_most else int(known.numpy())
        specs = [
            TensorSpec(TensorShape([size]).concatenate(shape), dtype)
            for shape, dtype in zip(shapes, self._dtypes, strict=True)
        ]

        def take(store: Store, number: Any) -> list[Any]:
            count = int(number.numpy())
            if count < 0:
                raise InvalidArgumentError(f"argument 'n' must not be negative, got {count}")
            return self._many(store.take(count, at_most))

        return self._result(self._call(take, [number], specs))

    @scoped
    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Let nothing be enqueued from now on. What there is can still be dequeued.

        Args:
            cancel_pending_enqueues: whether calls that wait for room are cancelled, rather than served.
            name: a scope for the names of its operations in a graph.

        Returns:
            None; in a graph of TensorFlow 1 an operation.

        >>> import penstock as tf
        >>> queue = tf.queue.FIFOQueue(10, [tf.int32])
        >>> queue.close()
        >>> bool(queue.is_closed())
        True
        """
        cancel = bool(cancel_pending_enqueues)

        def close(store: Store) -> list[Any]:
            store.close(cancel)
            return [0]

        return self._ended(self._call(close, [], [TensorSpec([], _core.int32)]))

    @scoped
    def is_closed(self, name: str | None = None) -> _core.Tensor:
        """Tell whether the queue is closed.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A boolean scalar.

        >>> import penstock as tf
        >>> bool(tf.queue.FIFOQueue(10, [tf.int32]).is_closed())
        False
        """
        made = self._call(lambda store: [_core._to_tensor(store.closed())], [], [TensorSpec([], _core.bool)])
        return made[0]  # type: ignore[no-any-return]

    @scoped
    def size(self, name: str | None = None) -> _core.Tensor:
        """Count the elements.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            An `int32` scalar.

        >>> import penstock as tf
        >>> int(tf.queue.FIFOQueue(10, [tf.int32]).size())
        0
        """
        made = self._call(
            lambda store: [_core._to_tensor(store.size(), _core.int32)], [], [TensorSpec([], _core.int32)]
        )
        return made[0]  # type: ignore[no-any-return]


def _zero(dtype: Any) -> Any:
    return _core._to_tensor("" if dtype == _core.string else False if dtype == _core.bool else 0, dtype)


def _dtype_list(dtypes: Any) -> list[Any]:
    return [_core.DType(d) for d in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]


def _shape_list(shapes: Any) -> list[Any] | None:
    """A shape for each component, of one or several; a list of sizes is one shape."""
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        return [shapes]
    if not isinstance(shapes, list | tuple):
        raise TypeError(f"argument 'shapes' must be a list of shapes, got {shapes!r}")
    single = all(n is None or isinstance(n, int) for n in shapes)
    return [list(shapes)] if single else list(shapes)


def _name_list(names: Any) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _store(shared_name: str | None, make: Callable[[], Store], what: tuple[Any, ...]) -> Store:
    """A new store, or the one that has the shared name."""
    if not shared_name:
        return make()
    with _sharing:
        found = _shared.get(shared_name)
        if found is None:
            found = make()
            found.what = what
            _shared[shared_name] = found
        if found.what != what:
            raise InvalidArgumentError(
                f"argument 'shared_name' is that of a queue of another kind: {shared_name!r}"
            )
        return found


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which they came.

    Args:
        capacity: how many elements there is room for; without bound where it is negative.
        dtypes: the dtypes of the components of an element, or one dtype.
        shapes: their shapes, fully defined, or None where they may differ; needed for batches.
        names: their names; with names, elements are dicts.
        shared_name: queues with one such name are the same.
        name: a name for messages.

    Raises:
        ValueError: where the lists differ in length, or a shape is not fully defined.
        InvalidArgumentError: where `shared_name` is that of a queue of another kind.

    >>> import penstock as tf
    >>> queue = tf.queue.FIFOQueue(3, tf.float32)
    >>> for value in (1.0, 2.0):
    ...     queue.enqueue(value)
    >>> float(queue.dequeue()), float(queue.dequeue())
    (1.0, 2.0)
    """

    def __init__(
        self,
        capacity: IntLike,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Any = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        kinds = _dtype_list(dtypes)
        sizes = _defined(_shape_list(shapes))
        most, title = integer(capacity, "capacity"), f"{name}_{next(_numbers)}"
        store = _store(
            shared_name,
            lambda: Store("FIFOQueue", title, most, 0, in_order()),
            ("FIFOQueue", most, tuple(kinds)),
        )
        super().__init__(kinds, sizes, _name_list(names), _Ref([store]))


def _defined(shapes: list[Any] | None) -> list[Any] | None:
    for shape in shapes or ():
        if not TensorShape(shape).is_fully_defined():
            raise ValueError(f"argument 'shapes' must have fully defined shapes, got {TensorShape(shape)}")
    return shapes


class PaddingFIFOQueue(QueueBase):
    """A queue in order, whose elements may differ in size: batches of them are filled up with zeros.

    Args:
        capacity: how many elements there is room for; without bound where it is negative.
        dtypes: the dtypes of the components of an element, or one dtype.
        shapes: their shapes, of known rank; `None` for sizes that may differ.
        names: their names; with names, elements are dicts.
        shared_name: queues with one such name are the same.
        name: a name for messages.

    Raises:
        ValueError: where the lists differ in length, or a rank is not known.
        InvalidArgumentError: where `shared_name` is that of a queue of another kind.

    >>> import penstock as tf
    >>> queue = tf.queue.PaddingFIFOQueue(3, [tf.int32], [[None]])
    >>> for value in ([1, 2], [3]):
    ...     queue.enqueue([value])
    >>> queue.dequeue_many(2).numpy().tolist()
    [[1, 2], [3, 0]]
    """

    def __init__(
        self,
        capacity: IntLike,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Any,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        kinds = _dtype_list(dtypes)
        sizes = _shape_list(shapes)
        if sizes is None or any(TensorShape(s).rank is None for s in sizes):
            raise ValueError("argument 'shapes' must have shapes of known rank")
        most, title = integer(capacity, "capacity"), f"{name}_{next(_numbers)}"
        store = _store(
            shared_name,
            lambda: Store("PaddingFIFOQueue", title, most, 0, in_order()),
            ("PaddingFIFOQueue", most, tuple(kinds)),
        )
        super().__init__(kinds, sizes, _name_list(names), _Ref([store]))

    def _batch_shapes(self) -> list[TensorShape]:
        return self._shapes

    def _stacked(self, parts: list[Any], component: int) -> Any:
        if not parts:
            return super()._stacked(parts, component)
        longest = [max(sizes) for sizes in zip(*(part.shape for part in parts), strict=True)]
        zero = _zero(self._dtypes[component])
        filled = []
        for part in parts:
            missing = [[0, most - n] for most, n in zip(longest, part.shape, strict=True)]
            grown = any(more for _, more in missing)
            filled.append(raw_ops.pad(part, _core._to_tensor(missing, _core.int64), zero) if grown else part)
        return raw_ops.stack(filled)


class PriorityQueue(QueueBase):
    """A queue that gives the element of the least priority first: an `int64` scalar, the first component.

    Elements of one priority come in the order in which they were enqueued.

    Args:
        capacity: how many elements there is room for; without bound where it is negative.
        types: the dtypes of the components behind the priority, or one dtype.
        shapes: their shapes, fully defined, or None where they may differ; needed for batches.
        names: the names of all components, that of the priority first; with names, elements are dicts.
        shared_name: queues with one such name are the same.
        name: a name for messages.

    Raises:
        ValueError: where the lists differ in length, or a shape is not fully defined.
        InvalidArgumentError: where `shared_name` is that of a queue of another kind.

    >>> import penstock as tf
    >>> queue = tf.queue.PriorityQueue(10, [tf.string], [[]])
    >>> for element in ((3, "c"), (1, "a"), (2, "b")):
    ...     queue.enqueue(element)
    >>> [queue.dequeue()[1].numpy() for _ in range(3)]
    [b'a', b'b', b'c']
    """

    def __init__(
        self,
        capacity: IntLike,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: Any = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        kinds = _dtype_list(types)
        sizes = _defined(_shape_list(shapes))
        most, title = integer(capacity, "capacity"), f"{name}_{next(_numbers)}"
        store = _store(
            shared_name,
            lambda: Store("PriorityQueue", title, most, 0, by_priority()),
            ("PriorityQueue", most, tuple(kinds)),
        )
        of_each = [None] * len(kinds) if sizes is None else sizes
        super().__init__([_core.int64, *kinds], [[], *of_each], _name_list(names), _Ref([store]))


class RandomShuffleQueue(QueueBase):
    """A queue that gives any of its elements, each as likely as any other.

    Args:
        capacity: how many elements there is room for; without bound where it is negative.
        min_after_dequeue: how many elements stay in the queue until it is closed.
        dtypes: the dtypes of the components of an element, or one dtype.
        shapes: their shapes, fully defined, or None where they may differ; needed for batches.
        names: their names; with names, elements are dicts.
        seed: makes the order repeatable.
        shared_name: queues with one such name are the same.
        name: a name for messages.

    Raises:
        ValueError: where the lists differ in length, or a shape is not fully defined.
        InvalidArgumentError: where `shared_name` is that of a queue of another kind.

    >>> import penstock as tf
    >>> queue = tf.queue.RandomShuffleQueue(10, 0, [tf.int32], [[]], seed=1)
    >>> queue.enqueue_many([[1, 2, 3]])
    >>> sorted(queue.dequeue_many(3).numpy().tolist())
    [1, 2, 3]
    """

    def __init__(
        self,
        capacity: IntLike,
        min_after_dequeue: IntLike,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Any = None,
        names: str | Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        kinds = _dtype_list(dtypes)
        sizes = _defined(_shape_list(shapes))
        most, title = integer(capacity, "capacity"), f"{name}_{next(_numbers)}"
        keep = integer(min_after_dequeue, "min_after_dequeue")
        if keep < 0 or 0 <= most <= keep:
            raise InvalidArgumentError(
                f"argument 'min_after_dequeue' must not be negative, and below the capacity, got {keep}"
            )
        store = _store(
            shared_name,
            lambda: Store("RandomShuffleQueue", title, most, keep, shuffled(seed)),
            ("RandomShuffleQueue", most, keep, tuple(kinds)),
        )
        super().__init__(kinds, sizes, _name_list(names), _Ref([store]))


_publish(__name__)
