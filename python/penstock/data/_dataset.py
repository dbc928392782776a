"""`tf.data.Dataset`, whose methods build the stages that the modules beside it have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from penstock import _core
from penstock._runtime.scope import scoped
from penstock._types.specs import TensorSpec
from penstock.autograph._traceback import USER_LINES
from penstock.data import _elementwise, _grouping, _making
from penstock.data._handles import HANDLE, handle
from penstock.data._node import INFINITE, UNKNOWN, Node
from penstock.data._options import Options

if TYPE_CHECKING:
    import pyarrow as pa
    import ray

    from penstock._types.aliases import BoolLike, DTypeLike, IntLike, Nested, PathLike, ShapeLike, TensorLike
    from penstock._types.specs import TypeSpec
    from penstock._values.sparse import SparseTensor
    from penstock.data._iterator import Iterator, NumpyIterator, Steps

__all__ = ["Dataset"]

_T = TypeVar("_T", covariant=True)
_R = TypeVar("_R")
_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D", bound="Dataset[Any]")


class Dataset(Node, Generic[_T]):
    """A sequence of elements, each a nest of tensors, that is computed as it is iterated over.

    Data sets are made by the static methods; the other methods make data sets of data sets. Elements are
    tensors, tuples, named tuples and mappings of them, composite values such as ragged tensors, None, and
    data sets.

    A `for` in a traced function that goes over a data set is a loop of the graph, whose body is traced once.
    A data set can be an argument and a result of traced functions: a trace serves all that have one
    `element_spec`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(10).filter(lambda x: x % 3 == 0).map(lambda x: x * x).batch(2)
    >>> [x.numpy().tolist() for x in ds]
    [[0, 9], [36, 81]]
    >>> @tf.function
    ... def total(ds):
    ...     s = tf.constant(0, tf.int64)
    ...     for x in ds:
    ...         s += tf.reduce_sum(x)
    ...     return s
    >>> int(total(ds))
    126
    """

    @property
    def element_spec(self) -> Any:
        """The specification of an element: a nest of `tf.TypeSpec`."""
        return self._structure.spec

    def options(self) -> Options:
        """Tell what `with_options` said of this data set and of those that it is made of.

        Returns:
            The options; those that were not set have their defaults.

        >>> import penstock as tf
        >>> options = tf.data.Options()
        >>> options.deterministic = False
        >>> tf.data.Dataset.range(3).with_options(options).batch(2).options().deterministic
        False
        """
        return self._all_options()

    @scoped
    def cardinality(self, name: str | None = None) -> _core.Tensor:
        """Count the elements without computing them.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            The number of elements, an `int64` scalar; `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`.

        >>> import penstock as tf
        >>> int(tf.data.Dataset.range(7).batch(3).cardinality())
        3
        """
        if self._is_in_graph():
            spec = TensorSpec([], _core.int64)
            count: _core.Tensor
            (count,) = self._on_host(lambda ds: [_core._to_tensor(ds._size(), _core.int64)], [spec])
            return count
        return _core._to_tensor(self._size(), _core.int64)

    def __len__(self) -> int:
        """Count the elements without computing them.

        Returns:
            The number of elements.

        Raises:
            TypeError: where there is no end, or it is not known.

        >>> import penstock as tf
        >>> len(tf.data.Dataset.range(7))
        7
        """
        size = self._size()
        if size == INFINITE:
            raise TypeError("The dataset is infinite.")
        if size == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return size

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[_T]:
        from penstock.data._iterator import GraphIterator, OwnedIterator  # start-up does without it

        if _core._is_tracing():
            made = self._on_host(lambda ds: [handle(OwnedIterator(ds))], [HANDLE])
            return GraphIterator(made[0], self._structure)
        return OwnedIterator(self)

    def _graph_steps(self) -> Steps:
        """What a loop of the graph goes over."""
        from penstock.data._iterator import Blocks, Steps  # start-up does without it

        return (Blocks if self._structure.plain else Steps)(iter(self))

    def as_numpy_iterator(self) -> NumpyIterator:
        """Iterate over the elements with arrays, and NumPy scalars, in place of tensors.

        Returns:
            An iterator.

        Raises:
            RuntimeError: while a function is traced.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).as_numpy_iterator()]
        [0, 1, 2]
        """
        from penstock.data._iterator import NumpyIterator  # start-up does without it

        if _core._is_tracing():
            raise RuntimeError("as_numpy_iterator() has no meaning while a function is traced")
        return NumpyIterator(self)

    # Made of what is at hand.

    @overload
    @staticmethod
    def from_tensors(tensors: tuple[Any, ...], name: str | None = None) -> Dataset[Any]: ...
    @overload
    @staticmethod
    def from_tensors(tensors: TensorLike, name: str | None = None) -> Dataset[_core.Tensor]: ...
    @overload
    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset[Any]: ...
    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset[Any]:
        """Make a data set of one element.

        Args:
            tensors: a tensor, or a nest of them; a list is made a tensor.
            name: a name for the data set.

        Returns:
            A data set of one element, the tensors in the structure of `tensors`.

        Raises:
            TypeError: for a leaf that can be no tensor.

        >>> import penstock as tf
        >>> [x.numpy().tolist() for x in tf.data.Dataset.from_tensors([1, 2])]
        [[1, 2]]
        """
        return Dataset(*_making.from_tensors(tensors), name=name)

    @overload
    @staticmethod
    def from_tensor_slices(tensors: tuple[Any, ...], name: str | None = None) -> Dataset[Any]: ...
    @overload
    @staticmethod
    def from_tensor_slices(tensors: TensorLike, name: str | None = None) -> Dataset[_core.Tensor]: ...
    @overload
    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset[Any]: ...
    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset[Any]:
        """Make a data set of the rows of tensors.

        Args:
            tensors: a tensor, or a nest of them, all with one first dimension; a list is made a tensor.
            name: a name for the data set.

        Returns:
            A data set whose elements are the rows, in the structure of `tensors`.

        Raises:
            TypeError: for a leaf that can be no tensor.
            ValueError: for scalars, or different first dimensions.

        >>> import penstock as tf
        >>> [int(x["a"]) for x in tf.data.Dataset.from_tensor_slices({"a": [1, 2]})]
        [1, 2]
        """
        return Dataset(*_making.from_tensor_slices(tensors), name=name)

    @staticmethod
    def range(
        *args: IntLike, output_type: DTypeLike = _core.int64, name: str | None = None
    ) -> Dataset[_core.Tensor]:
        """Make a data set of the numbers of a range.

        Args:
            *args: as Python's `range` takes them: where it stops, or where it starts, where it stops, and the
                step.
            output_type: the dtype of the numbers.
            name: a name for the data set.

        Returns:
            A data set of scalars of dtype `output_type`.

        Raises:
            TypeError: for other numbers of arguments, or none that are integers.
            InvalidArgumentError: for a step of 0.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(1, 7, 2)]
        [1, 3, 5]
        """
        return Dataset(*_making.range(args, output_type), name=name)

    @staticmethod
    def counter(
        start: IntLike = 0, step: IntLike = 1, dtype: DTypeLike = _core.int64, name: str | None = None
    ) -> Dataset[_core.Tensor]:
        """Make a data set of numbers without end.

        Args:
            start: the first one.
            step: how much more the next one is.
            dtype: their dtype.
            name: a name for the data set.

        Returns:
            A data set of scalars of this dtype.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.counter(5, 2).take(3)]
        [5, 7, 9]
        """
        return Dataset(*_making.counter(start, step, dtype), name=name)

    @staticmethod
    def random(
        seed: IntLike | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset[_core.Tensor]:
        """Make a data set of random numbers without end, from 0 to before 2**32.

        Args:
            seed: an integer that fixes them.
            rerandomize_each_iteration: whether each iteration has others.
            name: a name for the data set.

        Returns:
            A data set of `int64` scalars.

        >>> import penstock as tf
        >>> list(tf.data.Dataset.random(4).take(3)) == list(tf.data.Dataset.random(4).take(3))
        True
        """
        return Dataset(*_making.random(seed, rerandomize_each_iteration), name=name)

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: Nested[DTypeLike] | None = None,
        output_shapes: Nested[ShapeLike] = None,
        args: Sequence[TensorLike] | None = None,
        output_signature: Nested[TypeSpec] | None = None,
        name: str | None = None,
    ) -> Dataset[Any]:
        """Make a data set of what an iterable gives; each iteration asks for a new iterable.

        Args:
            generator: gives the iterable: a generator function, or anything else that can be called.
            output_types: a nest of dtypes, in place of `output_signature`.
            output_shapes: a nest of shapes that goes with it.
            args: tensors, which `generator` gets as arrays.
            output_signature: a nest of `tf.TypeSpec`: what elements are.
            name: a name for the data set.

        Returns:
            A data set whose elements are those of the signature.

        Raises:
            TypeError: where `generator` cannot be called, or there is no signature.
            InvalidArgumentError: when it runs, for an element that is none of the signature.

        >>> import penstock as tf
        >>> def count(stop):
        ...     yield from range(stop)
        >>> spec = tf.TensorSpec([], tf.int32)
        >>> ds = tf.data.Dataset.from_generator(count, args=(3,), output_signature=spec)
        >>> [int(x) for x in ds]
        [0, 1, 2]
        """
        return Dataset(
            *_making.from_generator(generator, output_types, output_shapes, args, output_signature), name=name
        )

    @staticmethod
    def from_arrow(
        source: pa.Table | pa.RecordBatch | pa.RecordBatchReader | PathLike,
        columns: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Dataset[dict[str, _core.Tensor]]:
        """Make a data set of the rows of an Arrow table, file or stream.

        It needs `pip install penstock-engine[arrow]`. Numbers are not copied. Lists of a fixed size become
        vectors, dictionaries their values, dates and times integers; texts and booleans are copied. A file
        is read a piece at a time.

        Args:
            source: a `Table`, a `RecordBatch` or a `RecordBatchReader` of pyarrow, which is read once, or
                the path of a file that ends in `.parquet`, `.arrow`, `.feather` or `.ipc`.
            columns: the names of the columns, by default all.
            name: a name for the data set.

        Returns:
            A data set whose elements are dicts of scalars, by the names of the columns.

        Raises:
            ImportError: without pyarrow.
            TypeError: for another source, and for columns whose type no tensor has.
            ValueError: for columns that are not there, and for other files.
            InvalidArgumentError: when it runs, for missing values.

        >>> import penstock as tf
        >>> import pyarrow as pa
        >>> table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
        >>> for row in tf.data.Dataset.from_arrow(table).batch(2):
        ...     print(row["a"].numpy(), row["b"].numpy())
        [1 2] [b'x' b'y']
        [3] [b'z']
        """
        from penstock.data import _arrow  # an extra

        return Dataset(*_arrow.of_arrow(source, columns)).unbatch(name=name)

    @staticmethod
    def from_ray(
        iterator: ray.data.Dataset | ray.data.DataIterator,
        columns: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Dataset[dict[str, _core.Tensor]]:
        """Make a data set of the rows of a Ray data set. Needs `pip install penstock-engine[ray]`.

        The iterators of `ray_dataset.streaming_split(n)` share out the rows among `n` processes: each row
        comes once an epoch.

        Args:
            iterator: a `ray.data.Dataset`, or one of the iterators of `streaming_split`.
            columns: the names of the columns, by default all.
            name: a name for the data set.

        Returns:
            A data set whose elements are dicts of tensors, by the names of the columns. Each iteration is an
            epoch.

        Raises:
            TypeError: for something else, and for columns whose type no tensor has.
            ValueError: for columns that are not there.
            InvalidArgumentError: when it runs, for missing values.

        >>> import penstock as tf
        >>> import ray  # doctest: +SKIP
        >>> rows = ray.data.from_items([{"a": 1}, {"a": 2}])  # doctest: +SKIP
        >>> [int(row["a"]) for row in tf.data.Dataset.from_ray(rows)]  # doctest: +SKIP
        [1, 2]
        """
        from penstock.data import _arrow  # an extra

        return Dataset(*_arrow.of_ray(iterator, columns)).unbatch(name=name)

    @staticmethod
    def list_files(
        file_pattern: TensorLike,
        shuffle: bool | None = None,
        seed: IntLike | None = None,
        name: str | None = None,
    ) -> Dataset[_core.Tensor]:
        """Make a data set of the names of files.

        Args:
            file_pattern: a pattern as `glob` takes it, or several: a string, a list or a tensor.
            shuffle: whether they come in random order, by default they do.
            seed: an integer that fixes the order.
            name: a name for the data set.

        Returns:
            A data set of `string` scalars.

        Raises:
            InvalidArgumentError: where there is no such file.

        >>> import penstock as tf
        >>> len(tf.data.Dataset.list_files(tf.__file__))
        1
        """
        names = _making.file_names(file_pattern)
        found = Dataset.from_tensor_slices(names, name)
        return found.shuffle(len(names), seed=seed) if shuffle or shuffle is None else found

    @staticmethod
    def load(
        path: PathLike,
        element_spec: Nested[TypeSpec] | None = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset[Dataset[Any]]], Dataset[Any]] | None = None,
        wait: bool = False,
    ) -> Dataset[Any]:
        """Read the elements that `save` wrote.

        Args:
            path: the directory.
            element_spec: what they must be; by default what they are. With it, a traced function may load
                what it saves itself: the files need not be there yet.
            compression: as for `save`, checked only: the files say how they are compressed.
            reader_func: takes a data set of data sets, the shards; gives the data set. By default one
                element of each comes in turn.
            wait: accepted; only False has a meaning.

        Returns:
            A data set of the elements.

        Raises:
            NotFoundError: where nothing was saved; when it runs, in a traced function with `element_spec`.
            InvalidArgumentError: for another compression.
            TypeError: where the elements are others, or the function gives no data set.
            DataLossError: where the files are corrupted; for the elements when it runs.

        >>> import penstock as tf
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.data.Dataset.range(5).save(folder, shard_func=lambda x: x % 2)
        ...     ds = tf.data.Dataset.load(folder, reader_func=lambda shards: shards.flat_map(lambda x: x))
        ...     [int(x) for x in ds]
        [0, 2, 4, 1, 3]
        """
        prefix, structure = _making.saved_at(path, element_spec, compression)
        saved: Dataset[Any] = _making.reader(reader_func)(prefix, structure)
        return saved

    # Made of several data sets.

    @overload
    @staticmethod
    def zip(a: Dataset[_A], b: Dataset[_B], /, *, name: str | None = None) -> Dataset[tuple[_A, _B]]: ...
    @overload
    @staticmethod
    def zip(
        a: Dataset[_A], b: Dataset[_B], c: Dataset[_C], /, *, name: str | None = None
    ) -> Dataset[tuple[_A, _B, _C]]: ...
    @overload
    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset[Any]: ...
    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset[Any]:
        """Put the elements of several data sets together, as long as all of them have one.

        Args:
            *args: the data sets, or one nest of them.
            datasets: the nest, in place of `args`.
            name: a name for the data set.

        Returns:
            A data set whose elements have the structure of the nest of data sets.

        Raises:
            TypeError: for something else.

        >>> import penstock as tf
        >>> few, many = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9)
        >>> [(int(a), int(b)) for a, b in tf.data.Dataset.zip(few, many)]
        [(0, 5), (1, 6)]
        """
        return Dataset(*_making.zip(args, datasets), name=name)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset[_R]],
        choice_dataset: Dataset[_core.Tensor],
        stop_on_empty_dataset: bool = True,
    ) -> Dataset[_R]:
        """Take elements of several data sets in the order that another one gives.

        Args:
            datasets: the data sets.
            choice_dataset: a data set of the numbers, `int64`, of those to take the next element from.
            stop_on_empty_dataset: whether it ends when a data set has no element that is asked for; else that
                one is passed over.

        Returns:
            A data set of such elements.

        Raises:
            TypeError: for something else, or elements of different types.
            ValueError: for no data sets.

        >>> import penstock as tf
        >>> sets = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)]
        >>> choices = tf.data.Dataset.from_tensor_slices([0, 1, 1])
        >>> [int(x) for x in tf.data.Dataset.choose_from_datasets(sets, choices)]
        [0, 10, 11]
        """
        return Dataset(*_making.choose(datasets, choice_dataset, stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset[_R]],
        weights: TensorLike | Dataset[_core.Tensor] | None = None,
        seed: IntLike | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset[_R]:
        """Take elements of several data sets, each drawn at random.

        Args:
            datasets: the data sets.
            weights: how likely each is, by default all alike: a vector, or a data set of vectors, one for
                each element. Data sets without a chance are not read; without any there are no elements.
            seed: an integer that fixes the choices.
            stop_on_empty_dataset: whether it ends when a data set has no element that is asked for; else that
                one is passed over.
            rerandomize_each_iteration: whether each iteration has other choices, by default it has the same.

        Returns:
            A data set of such elements.

        Raises:
            TypeError: for something else, or elements of different types.
            ValueError: where there is not one weight, not less than 0, for each data set.
            InvalidArgumentError: when it runs, for weights of a data set that are no chances.

        >>> import penstock as tf
        >>> sets = [tf.data.Dataset.from_tensors(0).repeat(), tf.data.Dataset.from_tensors(1).repeat()]
        >>> {int(x) for x in tf.data.Dataset.sample_from_datasets(sets, [1.0, 0.0], seed=3).take(9)}
        {0}
        """
        return Dataset(
            *_making.sample(datasets, weights, seed, stop_on_empty_dataset, rerandomize_each_iteration)
        )

    def concatenate(self, dataset: Dataset[_R], name: str | None = None) -> Dataset[_T | _R]:
        """Append the elements of another data set.

        Args:
            dataset: the other one, whose elements have the same dtypes.
            name: a name for the data set.

        Returns:
            A data set of both.

        Raises:
            TypeError: where it has elements of other types.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(1))]
        [0, 1, 0]
        """
        return Dataset(*_making.concatenate(self, dataset), name=name)

    # One element after the other.

    def map(
        self,
        map_func: Callable[..., _R],
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset[_R]:
        """Apply a function to each element, in order.

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

        Returns:
            A data set of the results.

        Raises:
            TypeError: where the function gives what can be no tensors.
            InvalidArgumentError: for a number of calls below 1.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x * x)]
        [0, 1, 4]
        """
        with USER_LINES:
            return Dataset(*_elementwise.map(self, map_func, num_parallel_calls, deterministic), name=name)

    def filter(self, predicate: Callable[..., TensorLike], name: str | None = None) -> Dataset[_T]:
        """Keep the elements for which a function gives True.

        Args:
            predicate: takes an element as `map` gives it; gives a scalar `bool`.
            name: a name for the data set.

        Returns:
            A data set of these elements.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        with USER_LINES:
            return Dataset(*_elementwise.filter(self, predicate), name=name)

    def take_while(self, predicate: Callable[..., TensorLike], name: str | None = None) -> Dataset[_T]:
        """Keep the elements before the first for which a function gives False.

        Args:
            predicate: takes an element as `map` gives it; gives a scalar `bool`.
            name: a name for the data set.

        Returns:
            A data set of these elements.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).take_while(lambda x: x < 2)]
        [0, 1]
        """
        with USER_LINES:
            return Dataset(*_elementwise.take_while(self, predicate), name=name)

    def take(self, count: IntLike, name: str | None = None) -> Dataset[_T]:
        """Keep the first elements.

        Args:
            count: how many; all for a negative number.
            name: a name for the data set.

        Returns:
            A data set of these elements.

        Raises:
            TypeError: where `count` is no integer.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).take(2)]
        [0, 1]
        """
        return Dataset(*_elementwise.take(self, count), name=name)

    def skip(self, count: IntLike, name: str | None = None) -> Dataset[_T]:
        """Leave out the first elements.

        Args:
            count: how many to leave out; all for a negative number.
            name: a name for the data set.

        Returns:
            A data set of the other elements.

        Raises:
            TypeError: where `count` is no integer.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).skip(3)]
        [3, 4]
        """
        return Dataset(*_elementwise.skip(self, count), name=name)

    def repeat(self, count: IntLike | None = None, name: str | None = None) -> Dataset[_T]:
        """Repeat the elements.

        Args:
            count: how many times; without end for None or a negative number.
            name: a name for the data set.

        Returns:
            A data set of the same elements, over and over.

        Raises:
            TypeError: where `count` is no integer.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        return Dataset(*_elementwise.repeat(self, count), name=name)

    def shuffle(
        self,
        buffer_size: IntLike,
        seed: IntLike | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset[_T]:
        """Put the elements in a random order: each is drawn from a buffer of the next ones.

        Args:
            buffer_size: how many elements are drawn from; the number of elements, or more, or
                `UNKNOWN_CARDINALITY` for all of them, for orders that are all equally likely.
            seed: an integer that fixes the order, or the sequence of orders.
            reshuffle_each_iteration: whether each iteration, as by `repeat`, has another order; None is True.
            name: a name for the data set.

        Returns:
            A data set of the same elements.

        Raises:
            InvalidArgumentError: for a buffer of no elements; when it runs, for all of elements without end.
            ResourceExhaustedError: when it runs, where there is no memory for the buffer.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(5).shuffle(5, seed=1, reshuffle_each_iteration=False)
        >>> list(ds.as_numpy_iterator()) == list(ds.as_numpy_iterator())
        True
        """
        return Dataset(*_elementwise.shuffle(self, buffer_size, seed, reshuffle_each_iteration), name=name)

    def prefetch(self, buffer_size: IntLike | None, name: str | None = None) -> Dataset[_T]:
        """Have a thread compute elements before they are asked for.

        It begins when the first element is asked for, and ends with the iterator. An error comes where its
        element would have been. Random numbers are drawn from a stream of the thread's own.

        Args:
            buffer_size: how many elements are computed ahead at most; `AUTOTUNE` and None are 2, 0 is none.
            name: a name for the data set.

        Returns:
            A data set of the same elements.

        Raises:
            InvalidArgumentError: for a negative size other than `AUTOTUNE`.

        >>> import penstock as tf
        >>> len(tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE))
        3
        """
        return Dataset(*_elementwise.prefetch(self, buffer_size), name=name)

    def cache(self, filename: PathLike = "", name: str | None = None) -> Dataset[_T]:
        """Keep the elements once an iterator has computed all of them.

        Args:
            filename: how the names of the files begin that they are kept in; for the empty string, they are
                kept in memory. Files are read by later programs too, until they are removed.
            name: a name for the data set.

        Returns:
            A data set of the same elements.

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
        return Dataset(*_elementwise.cache(self, filename, _making.reader), name=name)

    def snapshot(
        self,
        path: PathLike,
        compression: str | None = "AUTO",
        reader_func: Callable[[Dataset[Dataset[Any]]], Dataset[Any]] | None = None,
        shard_func: Callable[..., TensorLike] | None = None,
        name: str | None = None,
    ) -> Dataset[_T]:
        """Keep the elements in files once an iterator has come to their end, and read them from there.

        Args:
            path: a directory, as `save` has it.
            compression: as for `save`.
            reader_func: as for `load`.
            shard_func: as for `save`.
            name: a name for the data set.

        Returns:
            A data set of the same elements.

        Raises:
            TypeError: when it runs, for elements that cannot be saved, or where others were.
            DataLossError: when it runs, where the files are corrupted.

        >>> import tempfile
        >>> import penstock as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds = tf.data.Dataset.range(3).snapshot(folder)
        ...     len(list(ds)), len(list(ds))
        (3, 3)
        """
        with USER_LINES:
            return Dataset(
                *_elementwise.snapshot(self, path, compression, _making.reader(reader_func), shard_func),
                name=name,
            )

    def enumerate(self, start: IntLike = 0, name: str | None = None) -> Dataset[tuple[_core.Tensor, _T]]:
        """Number the elements.

        Args:
            start: the first number.
            name: a name for the data set.

        Returns:
            A data set of pairs of a number, an `int64` scalar, and an element.

        >>> import penstock as tf
        >>> [(int(i), int(x)) for i, x in tf.data.Dataset.range(7, 9).enumerate()]
        [(0, 7), (1, 8)]
        """
        return Dataset(*_elementwise.enumerate(self, start), name=name)

    def shard(self, num_shards: IntLike, index: IntLike, name: str | None = None) -> Dataset[_T]:
        """Keep every `num_shards`th element, from number `index` on.

        Args:
            num_shards: how many parts there are; `tf.data.experimental.SHARD_HINT` where a strategy is to say
                so, by the policy `HINT`.
            index: which of them it is; then `SHARD_HINT` too.
            name: a name for the data set.

        Returns:
            A data set of these elements.

        Raises:
            InvalidArgumentError: where `index` is not from 0 to before `num_shards`.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        return Dataset(*_elementwise.shard(self, num_shards, index), name=name)

    def fingerprint(self) -> _core.Tensor:
        """Compute a number that stands for what the data set is made of.

        Data sets of the same kinds, arguments, tensors and graphs of functions have the same, in each run of
        a program. Those that differ may give the same elements. Of what Python functions and variables do
        nothing is known: data sets that use them differ.

        Returns:
            The fingerprint, a `uint64` scalar.

        Raises:
            InvalidArgumentError: for a data set that is made while a function is traced.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(3)
        >>> bool(ds.batch(2).fingerprint() == tf.data.Dataset.range(3).batch(2).fingerprint())
        True
        """
        from penstock.data._fingerprints import fingerprint_of  # most programs ask for none

        return fingerprint_of(self)

    def unique(self, name: str | None = None) -> Dataset[_T]:
        """Leave out elements that came before.

        Args:
            name: a name for the data set.

        Returns:
            A data set of elements that all differ.

        Raises:
            TypeError: for elements that are not tensors.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique()]
        [1, 2]
        """
        return Dataset(*_elementwise.unique(self), name=name)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., tuple[Any, _R]], name: str | None = None
    ) -> Dataset[_R]:
        """Apply a function to each element and a state, which it changes.

        Args:
            initial_state: the state before the first element: a nest of tensors.
            scan_func: takes the state and an element; gives the next state and a result.
            name: a name for the data set.

        Returns:
            A data set of the results.

        Raises:
            TypeError: where the function gives a state of other dtypes.
            InvalidArgumentError: where it gives no such pair, or a state that is nested otherwise.

        >>> import penstock as tf
        >>> zero = tf.constant(0, tf.int64)
        >>> [int(x) for x in tf.data.Dataset.range(1, 4).scan(zero, lambda s, x: (s + x, s * x))]
        [0, 2, 9]
        """
        with USER_LINES:
            return Dataset(*_elementwise.scan(self, initial_state, scan_func), name=name)

    def flat_map(self, map_func: Callable[..., Dataset[_R]], name: str | None = None) -> Dataset[_R]:
        """Put the data sets one after the other that a function gives for each element.

        Args:
            map_func: takes an element as `map` gives it; gives a data set.
            name: a name for the data set.

        Returns:
            A data set of their elements.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).flat_map(tf.data.Dataset.range)]
        [0, 0, 1]
        """
        with USER_LINES:
            return Dataset(*_elementwise.flat_map(self, map_func), name=name)

    def interleave(
        self,
        map_func: Callable[..., Dataset[_R]],
        cycle_length: IntLike | None = None,
        block_length: IntLike | None = None,
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset[_R]:
        """Take elements in turn from some of the data sets that a function gives for each element.

        Args:
            map_func: takes an element as `map` gives it; gives a data set.
            cycle_length: how many data sets are gone through in turn, by default one for each processor
                that the program may use; one that ends makes place for the next.
            block_length: how many elements each gives in a turn, by default one.
            num_parallel_calls: how many of these data sets are computed at once, ahead of time and each on a
                thread; `AUTOTUNE` is as many as there are processors.
            deterministic: accepted and ignored: elements come in order.
            name: a name for the data set.

        Returns:
            A data set of their elements.

        Raises:
            TypeError: where the function gives no data set.
            InvalidArgumentError: for lengths and numbers below 1, and more calls than data sets.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(2).interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2))
        >>> [int(x) for x in ds]
        [0, 1, 0, 1]
        """
        with USER_LINES:
            return Dataset(
                *_elementwise.interleave(self, map_func, cycle_length, block_length, num_parallel_calls),
                name=name,
            )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset[_T]:
        """Leave out the elements that cannot be computed without an error.

        Args:
            log_warning: whether each error is a warning.
            name: a name for the data set.

        Returns:
            A data set of the other elements.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
        >>> ds = ds.map(lambda x: tf.debugging.check_numerics(1.0 / x, "x"))
        >>> [float(x) for x in ds.ignore_errors()]
        [1.0, 0.5]
        """
        return Dataset(*_elementwise.ignore_errors(self, log_warning), name=name)

    def rejection_resample(
        self,
        class_func: Callable[..., TensorLike],
        target_dist: TensorLike,
        initial_dist: TensorLike | None = None,
        seed: IntLike | None = None,
        name: str | None = None,
    ) -> Dataset[tuple[_core.Tensor, _T]]:
        """Leave out some elements, so that classes come as often as asked.

        Args:
            class_func: takes an element as `map` gives it; gives its class, an integer scalar.
            target_dist: how often each class is to come: a vector of numbers.
            initial_dist: how often each comes; by default as often as it came so far.
            seed: an integer that fixes which elements are left out.
            name: a name for the data set.

        Returns:
            A data set of pairs of a class, an integer scalar, and an element.

        Raises:
            TypeError: where the function gives something else.
            ValueError: for distributions that are no vectors of one length.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(100).rejection_resample(lambda x: x % 2, [0.0, 1.0], [0.5, 0.5])
        >>> {int(number) for number, x in ds}
        {1}
        """
        with USER_LINES:
            return Dataset(
                *_elementwise.rejection_resample(self, class_func, target_dist, initial_dist, seed), name=name
            )

    def with_options(self, options: Options, name: str | None = None) -> Dataset[_T]:
        """Set options; those that are not set stay as they are.

        Args:
            options: a `tf.data.Options`.
            name: a name for the data set.

        Returns:
            A data set of the same elements.

        Raises:
            TypeError: for something else.

        >>> import penstock as tf
        >>> options = tf.data.Options()
        >>> options.deterministic = False
        >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
        False
        """
        if not isinstance(options, Options):
            raise TypeError(f"argument 'options' must be a tf.data.Options, got {options!r}")
        found: Dataset[_T] = Dataset(*self._stage(_elementwise.OPTIONS), name=name)
        found._options = options
        return found

    # Elements put together, and taken apart.

    def batch(
        self,
        batch_size: IntLike,
        drop_remainder: BoolLike = False,
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset[_T]:
        """Stack so many elements at a time along a new first dimension.

        Args:
            batch_size: how many.
            drop_remainder: whether fewer elements at the end are left out.
            num_parallel_calls: accepted and ignored.
            deterministic: accepted and ignored.
            name: a name for the data set.

        Returns:
            A data set of batches, in the structure of the elements.

        Raises:
            InvalidArgumentError: for a size below 1; when it runs, for elements of different shapes.
            TypeError: for elements that cannot be stacked.

        >>> import penstock as tf
        >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        return Dataset(*_grouping.batch(self, batch_size, drop_remainder), name=name)

    def padded_batch(
        self,
        batch_size: IntLike,
        padded_shapes: Nested[ShapeLike] = None,
        padding_values: Nested[TensorLike] | None = None,
        drop_remainder: BoolLike = False,
        name: str | None = None,
    ) -> Dataset[_T]:
        """Pad so many elements at a time at their ends to one shape, and stack them.

        Args:
            batch_size: how many.
            padded_shapes: a shape for each component, in which None and -1 are the largest size in the batch;
                by default the static shapes of the elements.
            padding_values: a scalar for each component, or one for all; by default zero, or the empty string.
            drop_remainder: whether fewer elements at the end are left out.
            name: a name for the data set.

        Returns:
            A data set of batches, in the structure of the elements.

        Raises:
            ValueError: for a component of unknown rank without a shape.
            InvalidArgumentError: when it runs, for an element that is larger than its shape.
            TypeError: for components that are no tensors.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
        >>> [x.numpy().tolist() for x in ds.padded_batch(2)]
        [[[1, 0], [2, 2]], [[3, 3, 3]]]
        """
        return Dataset(
            *_grouping.padded_batch(self, batch_size, padded_shapes, padding_values, drop_remainder),
            name=name,
        )

    def sparse_batch(
        self, batch_size: IntLike, row_shape: ShapeLike, name: str | None = None
    ) -> Dataset[SparseTensor]:
        """Put so many tensors at a time into the rows of a sparse tensor, with all their elements.

        Args:
            batch_size: how many elements; the last batch may have fewer.
            row_shape: the shape of a row, which no element exceeds; None for extents that all share.
            name: a name for the data set.

        Returns:
            A data set of sparse tensors of shape `[batch_size, *row_shape]`.

        Raises:
            TypeError: for elements that are not one tensor.
            ValueError: where `row_shape` has another rank.
            InvalidArgumentError: when it runs, for an element that is larger.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(1, 3).map(tf.range).sparse_batch(2, [3])
        >>> tf.sparse.to_dense(next(iter(ds))).numpy().tolist()
        [[0, 0, 0], [0, 1, 0]]
        """
        # What is made of data sets builds on this.
        from penstock.data._more_experimental import sparse_batch

        return sparse_batch(self, batch_size, row_shape, name)

    def ragged_batch(
        self,
        batch_size: IntLike,
        drop_remainder: BoolLike = False,
        row_splits_dtype: DTypeLike = _core.int64,
        name: str | None = None,
    ) -> Dataset[Any]:
        """Stack so many elements at a time, to ragged tensors where they have sizes that vary.

        Args:
            batch_size: how many.
            drop_remainder: whether fewer elements at the end are left out.
            row_splits_dtype: the dtype of the splits.
            name: a name for the data set.

        Returns:
            A data set of batches, in the structure of the elements.

        Raises:
            InvalidArgumentError: for a size below 1.
            ValueError: for elements of unknown rank.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(3).map(lambda n: tf.range(n))
        >>> next(iter(ds.ragged_batch(3))).to_list()
        [[], [0], [0, 1]]
        """
        return Dataset(*_grouping.ragged_batch(self, batch_size, drop_remainder, row_splits_dtype), name=name)

    def unbatch(self, name: str | None = None) -> Dataset[_T]:
        """Take elements apart into their rows.

        Args:
            name: a name for the data set.

        Returns:
            A data set of the rows.

        Raises:
            ValueError: for scalars.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.from_tensors([1, 2]).unbatch()]
        [1, 2]
        """
        return Dataset(*_grouping.unbatch(self), name=name)

    def rebatch(
        self,
        batch_size: IntLike | Sequence[IntLike],
        drop_remainder: BoolLike = False,
        name: str | None = None,
    ) -> Dataset[_T]:
        """Put the rows of the elements in batches of another size.

        Args:
            batch_size: how many rows; or a vector of sizes, which come in turn. For a size of 0 a batch of no
                rows comes, also behind the last row: if all sizes are 0, without end.
            drop_remainder: whether fewer rows at the end are left out.
            name: a name for the data set.

        Returns:
            A data set of batches.

        Raises:
            InvalidArgumentError: for a size below 0.

        >>> import penstock as tf
        >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2).rebatch(3)]
        [[0, 1, 2], [3, 4]]
        """
        return Dataset(*_grouping.rebatch(self, batch_size, drop_remainder), name=name)

    def window(
        self,
        size: IntLike,
        shift: IntLike | None = None,
        stride: IntLike = 1,
        drop_remainder: BoolLike = False,
        name: str | None = None,
    ) -> Dataset[Any]:
        """Make data sets of elements that follow each other.

        Args:
            size: how many elements a window has.
            shift: how many elements the next window starts later, by default `size`.
            stride: how many elements apart those of a window are.
            drop_remainder: whether windows of fewer elements, at the end, are left out.
            name: a name for the data set.

        Returns:
            A data set whose elements are nests of data sets: one for each component.

        Raises:
            InvalidArgumentError: for numbers below 1.

        >>> import penstock as tf
        >>> for window in tf.data.Dataset.range(4).window(3, shift=1, drop_remainder=True):
        ...     print([int(x) for x in window])
        [0, 1, 2]
        [1, 2, 3]
        """
        return Dataset(*_grouping.window(self, size, shift, stride, drop_remainder), name=name)

    def group_by_window(
        self,
        key_func: Callable[..., TensorLike],
        reduce_func: Callable[[_core.Tensor, Dataset[_T]], Dataset[_R]],
        window_size: IntLike | None = None,
        window_size_func: Callable[[_core.Tensor], TensorLike] | None = None,
        name: str | None = None,
    ) -> Dataset[_R]:
        """Apply a function to windows of elements that have one key.

        A window is given to the function once it is full; at the end the others follow in the order of their
        keys.

        Args:
            key_func: takes an element as `map` gives it; gives a scalar `int64`.
            reduce_func: takes a key and a data set of the elements of a window; gives a data set.
            window_size: how many elements a window has.
            window_size_func: gives the size for a key, in place of `window_size`.
            name: a name for the data set.

        Returns:
            A data set of the elements of the data sets that the function gives.

        Raises:
            ValueError: where both or none of the sizes are given.
            TypeError: where a function gives something else.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(5)
        >>> ds = ds.group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), window_size=3)
        >>> [x.numpy().tolist() for x in ds]
        [[0, 2, 4], [1, 3]]
        """
        with USER_LINES:
            return Dataset(
                *_grouping.group_by_window(self, key_func, reduce_func, window_size, window_size_func),
                name=name,
            )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., TensorLike],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Nested[ShapeLike] = None,
        padding_values: Nested[TensorLike] | None = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset[_T]:
        """Put elements of like lengths in batches, padded.

        Args:
            element_length_func: takes an element as `map` gives it; gives its length.
            bucket_boundaries: the lengths where the next bucket begins, in ascending order.
            bucket_batch_sizes: the size of the batches of each bucket: one more than there are boundaries.
            padded_shapes: as for `padded_batch`.
            padding_values: as for `padded_batch`.
            pad_to_bucket_boundary: whether open sizes are padded to one less than the boundary of the bucket;
                longer elements than the last boundary allows are then an error.
            no_padding: whether elements, which must have one shape, are only batched.
            drop_remainder: whether fewer elements at the end are left out.
            name: a name for the data set.

        Returns:
            A data set of batches, in the structure of the elements.

        Raises:
            ValueError: where the numbers of boundaries and sizes do not go together.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))
        >>> ds = ds.bucket_by_sequence_length(lambda x: tf.size(x), [3], [2, 2])
        >>> [x.shape.as_list() for x in ds]
        [[2, 2], [2, 4]]
        """
        functions = _grouping.buckets(
            element_length_func,
            bucket_boundaries,
            bucket_batch_sizes,
            padded_shapes,
            padding_values,
            pad_to_bucket_boundary,
            no_padding,
            drop_remainder,
        )
        return self.group_by_window(*functions, name=name)

    # What comes of all elements.

    def save(
        self,
        path: PathLike,
        compression: str | None = None,
        shard_func: Callable[..., TensorLike] | None = None,
        checkpoint_args: Mapping[str, object] | None = None,
    ) -> None:
        """Write all elements to files, from which `load` reads them. The files are not TensorFlow's.

        While a function is traced, its graph does.

        Args:
            path: a directory, which is made. What was saved there is replaced once all elements are written.
            compression: `"GZIP"` or `"ZLIB"`; `"SNAPPY"` is GZIP here, None, `"AUTO"` and `"NONE"` are none.
            shard_func: takes an element as `map` gives it; gives the number, `int64`, of its shard. By
                default there is one.
            checkpoint_args: accepted and ignored.

        Raises:
            InvalidArgumentError: for another compression; for a shard of a number below 0.
            TypeError: for elements that hold more than tensors and ragged tensors.

        >>> import penstock as tf
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.data.Dataset.range(3).save(folder)
        ...     [int(x) for x in tf.data.Dataset.load(folder)]
        [0, 1, 2]
        """
        with USER_LINES:
            Dataset(*_making.save(self, path, compression, shard_func)).get_single_element()

    def apply(self, transformation_func: Callable[[Dataset[_T]], _D], name: str | None = None) -> _D:
        """Apply a function to this data set.

        Args:
            transformation_func: takes a data set and gives one.
            name: of no effect: the function names what it makes.

        Returns:
            What the function gives, a data set.

        Raises:
            TypeError: where it gives something else.

        >>> import penstock as tf
        >>> len(tf.data.Dataset.range(6).apply(lambda ds: ds.batch(2)))
        3
        """
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(f"argument 'transformation_func' must give a data set, got {found!r}")
        return found

    @scoped
    def reduce(self, initial_state: Any, reduce_func: Callable[..., _R], name: str | None = None) -> _R:
        """Apply a function to a state and each element, one after the other.

        Args:
            initial_state: the state before the first element: a nest of tensors.
            reduce_func: takes the state and an element; gives the next state.
            name: a scope for the names of its operations in a graph.

        Returns:
            The last state, in the structure of `initial_state`.

        Raises:
            TypeError: where the function gives a state of other dtypes.
            InvalidArgumentError: where it gives one that is nested otherwise.

        >>> import penstock as tf
        >>> int(tf.data.Dataset.range(5).reduce(tf.constant(0, tf.int64), lambda s, x: s + x))
        10
        """
        with USER_LINES:
            whole: Dataset[_R] = Dataset(*_making.reduce(self, initial_state, reduce_func))
            return whole.get_single_element()

    @scoped
    def get_single_element(self, name: str | None = None) -> _T:
        """Take the only element.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            The element.

        Raises:
            InvalidArgumentError: where there is none, or another one.

        >>> import penstock as tf
        >>> tf.data.Dataset.from_tensors([1, 2]).get_single_element().numpy().tolist()
        [1, 2]
        """
        structure = self._structure
        element: _T
        if _core._is_tracing():
            tensors = self._on_host(
                lambda ds: structure.to_tensors(_making.single(ds)), structure.tensor_specs
            )
            element = structure.pack(structure.from_tensors(tensors))
        else:
            with USER_LINES:
                element = structure.pack(_making.single(self))
        return element


Node._make = Dataset
