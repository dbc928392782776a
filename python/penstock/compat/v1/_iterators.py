"""Iterators of data sets in graphs of TensorFlow 1, and what they say of their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, data as current, nest
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import name_scope
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec
from penstock._values.variable import Variable
from penstock.autograph._values import zeros
from penstock.compat.v1._variables import collected_in
from penstock.data._handles import HANDLE, handle, held, in_graph, number_of, of_number
from penstock.data._iterator import GraphIterator, OwnedIterator
from penstock.data._making import signature_of
from penstock.data._structure import Structure
from penstock.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, TensorLike
    from penstock.compat.v1._operation import Operation

__all__ = [
    "ElementTypes",
    "Iterator",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]

_TEXT = TensorSpec([], _core.string)


class ElementTypes:
    """What an element of a data set or iterator of TensorFlow 1 is."""

    __slots__ = ()

    @property
    def output_types(self) -> Any:
        """The dtypes of an element."""
        return get_output_types(self)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element."""
        return get_output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """The classes of what an element holds."""
        return get_output_classes(self)


class Iterator(ElementTypes, GraphIterator):
    """An iterator that `make_initializable_iterator` gives. Each session has its own position in it.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as sess:
    ...     it = v1.data.Iterator.from_structure(tf.int64, [])
    ...     following, begin = it.get_next(), it.make_initializer(tf.data.Dataset.range(5, 7))
    ...     sess.run(begin)
    ...     int(sess.run(following)), int(sess.run(following))
    (5, 6)
    """

    def __init__(self, held_by: Any, structure: Structure, initializer: Operation | None = None) -> None:
        super().__init__(held_by, structure)
        self._initializer = initializer

    @staticmethod
    def from_structure(
        output_types: Nested[Any],
        output_shapes: Nested[Any] | None = None,
        shared_name: str | None = None,
        output_classes: Nested[Any] | None = None,
    ) -> Iterator:
        """Make an iterator that begins with one of several data sets, by `make_initializer`.

        Args:
            output_types: the dtypes of an element.
            output_shapes: the shapes of an element; by default unknown.
            shared_name: accepted and ignored.
            output_classes: accepted and ignored: elements hold tensors.

        Returns:
            An iterator without elements.

        Raises:
            RuntimeError: outside of a graph.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     it = tf.compat.v1.data.Iterator.from_structure((tf.int32, tf.string), ([], [None]))
        >>> it.element_spec[1].shape
        TensorShape([None])
        """
        _check_graph("Iterator.from_structure")
        return Iterator(_place(_empty), Structure(signature_of(output_types, output_shapes)))

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike,
        output_types: Nested[Any],
        output_shapes: Nested[Any] | None = None,
        output_classes: Nested[Any] | None = None,
    ) -> Iterator:
        """Make an iterator that takes its elements from that of a handle, which may be fed.

        Args:
            string_handle: what `string_handle()` of another one gives in the same session.
            output_types: the dtypes of an element.
            output_shapes: the shapes of an element; by default unknown.
            output_classes: accepted and ignored.

        Returns:
            An iterator.

        Raises:
            RuntimeError: outside of a graph.

        >>> import penstock as tf
        >>> v1 = tf.compat.v1
        >>> with tf.Graph().as_default(), v1.Session() as sess:
        ...     which = v1.placeholder(tf.string, [])
        ...     following = v1.data.Iterator.from_string_handle(which, tf.int64, []).get_next()
        ...     chosen = sess.run(v1.data.make_one_shot_iterator(tf.data.Dataset.range(3, 5)).string_handle())
        ...     int(sess.run(following, {which: chosen}))
        3
        """
        _check_graph("Iterator.from_string_handle")

        def find(text: Any) -> list[Any]:
            written = text.numpy().decode()
            if not written.isdecimal():
                raise InvalidArgumentError(
                    f"argument 'string_handle' is no handle of an iterator: {written!r}"
                )
            return [of_number(int(written))]

        (tensor,) = in_graph(find, [HANDLE], [_core._to_tensor(string_handle, _core.string)])
        return Iterator(tensor, Structure(signature_of(output_types, output_shapes)))

    @property
    def initializer(self) -> Operation:
        """The operation that begins with the first element.

        Raises:
            ValueError: where the iterator has no data set of its own.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer: use make_initializer(dataset)")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Make an operation that begins with the first element of a data set.

        Args:
            dataset: a data set with elements as those of the iterator.
            name: a name for the operation.

        Returns:
            The operation.

        Raises:
            TypeError: for other elements.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     it = tf.compat.v1.data.Iterator.from_structure(tf.int64, [])
        ...     it.make_initializer(tf.data.Dataset.range(5), name="begin").name
        'begin'
        """
        own, given = self.element_spec, expect(dataset, current.Dataset, "dataset", "a tf.data.Dataset")
        if not given._type_spec.is_subtype_of(current.DatasetSpec(own)):
            raise TypeError(f"argument 'dataset' must have elements of {own}, got {given.element_spec}")
        graph: Any = v1_graph_state.current()
        (made,) = given._on_host(lambda ds: [handle(OwnedIterator(ds))], [HANDLE])
        start = len(graph.engine)
        in_graph(_begin, [], [self._handle(), made])
        begin: Operation = graph.operation_since(start, name or "MakeIterator")
        return begin

    def get_next(self, name: str | None = None) -> Any:
        """Take the next element, in each run anew.

        Args:
            name: a scope for the names of its operations.

        Returns:
            The element, of tensors of the graph. A session raises `OutOfRangeError` at the end.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        ...     it = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(2).batch(2))
        ...     sess.run(it.get_next()).tolist()
        [0, 1]
        """
        with name_scope(name or "IteratorGetNext"):
            return super().get_next()

    def string_handle(self, name: str | None = None) -> Any:
        """Name the iterator, for `from_string_handle` in the same session.

        Args:
            name: a scope for the names of its operations.

        Returns:
            A `string` scalar.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(2)).string_handle().dtype
        tf.string
        """
        with name_scope(name or "IteratorToStringHandle"):
            (text,) = in_graph(
                lambda tensor: [_core._to_tensor(str(number_of(tensor)))], [_TEXT], [self._handle()]
            )
        return text

    def _handle(self) -> Any:
        held_by = self._tensor
        return held_by.read_value() if isinstance(held_by, Variable) else held_by

    def _call(self, function: Callable[[Any], Sequence[Any]], specs: Sequence[TensorSpec]) -> list[Any]:
        return in_graph(lambda tensor: function(held(tensor)), specs, [self._handle()])


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Tell the dtypes of an element.

    Args:
        dataset_or_iterator: a data set or an iterator.

    Returns:
        A nest of dtypes.

    >>> import penstock as tf
    >>> tf.compat.v1.data.get_output_types(tf.data.Dataset.range(2))
    tf.int64
    """
    return nest.map_structure(lambda spec: spec.dtype, dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Tell the shapes of an element.

    Args:
        dataset_or_iterator: a data set or an iterator.

    Returns:
        A nest of shapes.

    >>> import penstock as tf
    >>> tf.compat.v1.data.get_output_shapes(tf.data.Dataset.range(2).batch(2))
    TensorShape([None])
    """
    return nest.map_structure(lambda spec: spec.shape, dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Tell the classes of what an element holds.

    Args:
        dataset_or_iterator: a data set or an iterator.

    Returns:
        A nest of classes, such as `tf.Tensor` and `tf.RaggedTensor`.

    >>> import penstock as tf
    >>> tf.compat.v1.data.get_output_classes(tf.data.Dataset.range(2)) is tf.Tensor
    True
    """
    return nest.map_structure(lambda spec: spec.value_type, dataset_or_iterator.element_spec)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Make an iterator of a data set, which may depend on placeholders.

    Args:
        dataset: the data set.
        shared_name: accepted and ignored.

    Returns:
        An iterator whose `initializer` must run before elements are taken.

    Raises:
        RuntimeError: outside of a graph.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as sess:
    ...     x = v1.placeholder(tf.float32, [None])
    ...     it = v1.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(x))
    ...     following = it.get_next()
    ...     sess.run(it.initializer, {x: [1.5, 2.5]})
    ...     float(sess.run(following)), float(sess.run(following))
    (1.5, 2.5)
    """
    _check_graph("make_initializable_iterator")
    given = expect(dataset, current.Dataset, "dataset", "a tf.data.Dataset")
    made = Iterator(_place(_empty), given._structure)
    made._initializer = made.make_initializer(given, "MakeIterator")
    return made


def make_one_shot_iterator(dataset: Any) -> Any:
    """Make an iterator of a data set, which begins by itself in each session.

    Args:
        dataset: a data set that does not depend on placeholders.

    Returns:
        An iterator; outside of graphs what `iter(dataset)` gives.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
    ...     following = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()
    ...     int(sess.run(following)), int(sess.run(following))
    (0, 1)
    """
    given = expect(dataset, current.Dataset, "dataset", "a tf.data.Dataset")
    if v1_graph_state.current() is None:
        return iter(given)

    def begun() -> Any:
        return given._on_host(lambda ds: [handle(_Place(OwnedIterator(ds)))], [HANDLE])[0]

    return Iterator(_place(begun), given._structure)


def _check_graph(what: str) -> None:
    if v1_graph_state.current() is None:
        raise RuntimeError(
            f"tf.compat.v1.data.{what} needs a graph: enter one by `with tf.Graph().as_default()`, or use "
            "`for element in dataset`"
        )


class _Place:
    """What the handle of an iterator stands for in a session: an iterator, and another after a new beginning.

    It is read as an iterator is.
    """

    def __init__(self, iterator: OwnedIterator | None = None) -> None:
        self.iterator = iterator

    def __getattr__(self, name: str) -> Any:
        if self.iterator is None:
            raise FailedPreconditionError(
                "the iterator has not been initialized: run its initializer before elements are taken"
            )
        return getattr(self.iterator, name)


def _begin(place: Any, iterator: Any) -> list[Any]:
    held(place).iterator = held(iterator)
    return []


def _empty() -> Any:
    return in_graph(lambda: [handle(_Place())], [HANDLE], [])[0]


def _place(begun: Callable[[], Any]) -> Any:
    """What holds the handle of an iterator: each session has its own, which it makes when it begins."""
    graph: Any = v1_graph_state.current()
    with collected_in(()):
        made = Variable(zeros(HANDLE), trainable=False, name="Iterator")
    first = begun()
    start = len(graph.engine)
    made.assign(first)
    graph.begun_by_sessions.append((made, graph.operation_since(start, "Iterator")))
    return made
