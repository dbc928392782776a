"""`tf.data.Dataset`: how data sets are made, put together, and reduced."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import _core, nest
from penstock._types.specs import TensorSpec, TypeSpec
from penstock.autograph._traceback import USER_LINES
from penstock.data import _elementwise, _saved, _sources, _stages
from penstock.data._arguments import integer
from penstock.data._base import INFINITE, UNKNOWN, Base, Kind
from penstock.data._functions import traced_with_state
from penstock.data._grouping import Grouping
from penstock.data._rows import Pull, Reader, Rows, one
from penstock.data._specs import DatasetSpec
from penstock.data._structure import Structure, checked_spec, converted, row_spec, spec_of
from penstock.errors import DataLossError, InvalidArgumentError, NotFoundError

__all__ = ["Dataset"]


def _range_size(start: int, stop: int | None, step: int, dtype: Any) -> int:
    return INFINITE if stop is None else len(builtins.range(start, stop, step))


def _summed(*sizes: int) -> int:
    if INFINITE in sizes:
        return INFINITE
    return UNKNOWN if UNKNOWN in sizes else sum(sizes)


def _least(*sizes: int) -> int:
    ends = [n for n in sizes if n != INFINITE]
    if 0 in ends:
        return 0
    return UNKNOWN if UNKNOWN in ends else min(ends, default=INFINITE)


def _chosen_size(choices: int, *args: Any) -> int:
    """Without end where both the choices and the data sets that they come to are."""
    *sizes, stop_on_empty = args
    ends = [n != INFINITE for n in sizes]
    return UNKNOWN if choices != INFINITE or (any(ends) if stop_on_empty else all(ends)) else INFINITE


def _told(prefix: str, count: Callable[[Any], int]) -> int:
    """A number that the files of saved elements tell."""
    try:
        return count(_saved.read_index(prefix))
    except (NotFoundError, DataLossError):
        return UNKNOWN


def _slice_count(*leaves: Any) -> int:
    return next((_sources._length(leaf) for leaf in leaves if leaf is not None), 0)


TENSORS = Kind("Tensor", _sources.tensors, lambda *_: 1)
SLICES = Kind("TensorSlice", _sources.slices, _slice_count)
RANGE = Kind("Range", _sources.numbers, _range_size)
RANDOM = Kind("Random", _sources.random, lambda *_: INFINITE)
GENERATOR = Kind("Generator", lambda make, structure, args: _sources.generated(make, structure, args))
SAVED = Kind("Save", _saved.saved, lambda *_: 1)
SHARD_FILE = Kind("Shard", _saved.shard, lambda prefix, told, *_: told.size)
SHARDS = Kind("Shards", _saved.shards, lambda prefix, *_: _told(prefix, lambda index: len(index.shards)))
READ = Kind(
    "Load",
    lambda source, prefix: source._open(),
    lambda n, prefix: _told(prefix, _saved.Index.size) if n == UNKNOWN else n,
)
LOADED = Kind("Load", _saved.loaded, lambda prefix, *_: _told(prefix, _saved.Index.size))
CONCATENATE = Kind("Concatenate", _stages.concatenate, _summed)
ZIP = Kind("Zip", _stages.zipped, _least)
CHOOSE = Kind("DirectedInterleave", lambda *a: _stages.chosen(a[0], a[-1], *a[1:-1]), _chosen_size)
DRAWN_BY = Kind("Drawn", _stages.drawn_by, lambda n, *_: n)
DRAWN = Kind("Drawn", _stages.drawn, lambda *_: INFINITE)


class Dataset(Grouping):
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

    __slots__ = ()

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A data set of one element.

        Args:
            tensors: a tensor, or a nest of them; a list is made a tensor.
            name: a name for the data set.

        Raises:
            TypeError: for a leaf that can be no tensor.

        >>> [x.numpy().tolist() for x in Dataset.from_tensors([1, 2])]
        [[1, 2]]
        """
        value = converted(tensors, "argument 'tensors'")
        return Dataset(TENSORS, [], nest.flatten(value), spec_of(value), name)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The rows of tensors.

        Args:
            tensors: a tensor, or a nest of them, all with one first dimension; a list is made a tensor.
            name: a name for the data set.

        Raises:
            TypeError: for a leaf that can be no tensor.
            ValueError: for scalars, or different first dimensions.

        >>> [int(x["a"]) for x in Dataset.from_tensor_slices({"a": [1, 2]})]
        [1, 2]
        """
        value = converted(tensors, "argument 'tensors'")
        spec = nest.map_structure(lambda s: row_spec(s, "argument 'tensors'"), spec_of(value))
        leaves = nest.flatten(value)
        sizes = {
            int(s) for x in leaves if isinstance(x, _core.Tensor) and (s := x.shape.dims and x.shape.dims[0])
        }
        sizes |= {0 for x in leaves if isinstance(x, _core.Tensor) and x.shape.dims and x.shape.dims[0] == 0}
        if len(sizes) > 1:
            raise ValueError(f"argument 'tensors' must have one first dimension, got {sorted(sizes)}")
        if not [leaf for leaf in leaves if leaf is not None]:
            raise ValueError("argument 'tensors' must hold at least one tensor")
        return Dataset(SLICES, [], leaves, spec, name)

    @staticmethod
    def range(*args: Any, output_type: Any = _core.int64, name: str | None = None) -> Dataset:
        """The numbers of a range.

        Args:
            *args: as Python's `range` takes them: where it stops, or where it starts, where it stops, and the
                step.
            output_type: the dtype of the numbers.
            name: a name for the data set.

        Raises:
            TypeError: for other numbers of arguments, or none that are integers.
            InvalidArgumentError: for a step of 0.

        >>> [int(x) for x in Dataset.range(1, 7, 2)]
        [1, 3, 5]
        """
        if not 1 <= len(args) <= 3:
            raise TypeError(f"range takes 1 to 3 positional arguments, got {len(args)}")
        names = ("stop",) if len(args) == 1 else ("start", "stop", "step")
        numbers = [integer(a, n) for a, n in builtins.zip(args, names, strict=False)]
        start, stop, step = (0, numbers[0], 1) if len(args) == 1 else (*numbers, 1)[:3]
        if isinstance(step, int) and step == 0:
            raise InvalidArgumentError("argument 'step' must not be 0")
        dtype = _core.DType(output_type)
        return Dataset(RANGE, [], [start, stop, step, dtype], TensorSpec([], dtype), name)

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = _core.int64, name: str | None = None) -> Dataset:
        """Numbers without end.

        Args:
            start: the first one.
            step: how much more the next one is.
            dtype: their dtype.
            name: a name for the data set.

        >>> [int(x) for x in Dataset.counter(5, 2).take(3)]
        [5, 7, 9]
        """
        dtype = _core.DType(dtype)
        args = [integer(start, "start"), None, integer(step, "step"), dtype]
        return Dataset(RANGE, [], args, TensorSpec([], dtype), name)

    @staticmethod
    def random(
        seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Random numbers without end, `int64` from 0 to before 2**32.

        Args:
            seed: an integer that fixes them.
            rerandomize_each_iteration: whether each iteration has others.
            name: a name for the data set.

        >>> list(Dataset.random(4).take(3)) == list(Dataset.random(4).take(3))
        True
        """
        number = None if seed is None else integer(seed, "seed")
        seeds = _sources.Seeds(bool(rerandomize_each_iteration))
        return Dataset(RANDOM, [], [number, seeds], TensorSpec([], _core.int64), name)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What an iterable gives, which is asked for one element at a time; each iteration has a new one.

        Args:
            generator: gives the iterable: a generator function, or anything else that can be called.
            output_types: a nest of dtypes, in place of `output_signature`.
            output_shapes: a nest of shapes that goes with it.
            args: tensors, which `generator` gets as arrays.
            output_signature: a nest of `tf.TypeSpec`: what elements are.
            name: a name for the data set.

        Raises:
            TypeError: where `generator` cannot be called, or there is no signature.
            InvalidArgumentError: when it runs, for an element that is none of the signature.

        >>> import penstock as tf
        >>> def count(stop):
        ...     yield from range(stop)
        >>> ds = Dataset.from_generator(count, args=(3,), output_signature=tf.TensorSpec([], tf.int32))
        >>> [int(x) for x in ds]
        [0, 1, 2]
        """
        if not callable(generator):
            raise TypeError(f"argument 'generator' must be callable, got {generator!r}")
        if output_signature is None:
            if output_types is None:
                raise TypeError("from_generator needs argument 'output_signature' or 'output_types'")
            output_signature = _signature(output_types, output_shapes)
        elif output_types is not None or output_shapes is not None:
            raise TypeError(
                "from_generator takes argument 'output_signature', or output_types and output_shapes"
            )
        structure = Structure(checked_spec(output_signature, "output_signature"))
        given = [_core._to_tensor(arg) for arg in args or ()]
        return Dataset(GENERATOR, [], [generator, structure, given], structure, name)

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """The names of files.

        Args:
            file_pattern: a pattern as `glob` takes it, or several: a string, a list or a tensor.
            shuffle: whether they come in random order, by default they do.
            seed: an integer that fixes the order.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: where there is no such file.

        >>> len(Dataset.list_files(__file__))
        1
        """
        import glob

        given = _core._to_tensor(file_pattern)
        if given.dtype != _core.string:
            raise TypeError(f"argument 'file_pattern' must hold strings, got dtype {given.dtype.name}")
        patterns = np.atleast_1d(given.numpy()).tolist()
        names = sorted({name for pattern in patterns for name in glob.glob(pattern.decode())})  # noqa: PTH207 -- patterns are absolute or not
        if not names:
            raise InvalidArgumentError(
                f"argument 'file_pattern': no file matches {[p.decode() for p in patterns]}"
            )
        found = Dataset.from_tensor_slices(names, name)
        return found.shuffle(len(names), seed=seed) if shuffle or shuffle is None else found

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several data sets together, as long as all of them have one.

        Args:
            *args: the data sets, or one nest of them.
            datasets: the nest, in place of `args`.
            name: a name for the data set.

        Raises:
            TypeError: for something else.

        >>> [(int(a), int(b)) for a, b in Dataset.zip(Dataset.range(2), Dataset.range(5, 9))]
        [(0, 5), (1, 6)]
        """
        if bool(args) == (datasets is not None):
            raise TypeError("zip takes data sets, or argument 'datasets'")
        found = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(found, list):
            raise TypeError("zip takes a tuple of data sets, or another nest: a list is none")
        sources = nest.flatten(found)
        for source in sources:
            _check(source, "args" if args else "datasets")
        spec = nest.pack_sequence_as(found, [source.element_spec for source in sources])
        return Dataset(ZIP, sources, [], spec, name)

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset:
        """The elements of this data set, then those of another one.

        Args:
            dataset: the other one, whose elements have the same dtypes.
            name: a name for the data set.

        Raises:
            TypeError: where it has elements of other types.

        >>> [int(x) for x in Dataset.range(2).concatenate(Dataset.range(1))]
        [0, 1, 0]
        """
        _check(dataset, "dataset")
        return Dataset(CONCATENATE, [self, dataset], [], _common([self, dataset], "dataset"), name)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Elements of several data sets, in the order that another one gives.

        Args:
            datasets: the data sets.
            choice_dataset: a data set of the numbers, `int64`, of those to take the next element from.
            stop_on_empty_dataset: whether it ends when a data set has no element that is asked for; else that
                one is passed over.

        Raises:
            TypeError: for something else, or elements of different types.
            ValueError: for no data sets.

        >>> sets = [Dataset.range(3), Dataset.range(10, 13)]
        >>> [int(x) for x in Dataset.choose_from_datasets(sets, Dataset.from_tensor_slices([0, 1, 1]))]
        [0, 10, 11]
        """
        sources = list(datasets)
        if not sources:
            raise ValueError("argument 'datasets' must hold at least one data set")
        for source in sources:
            _check(source, "datasets")
        _check(choice_dataset, "choice_dataset")
        spec = choice_dataset.element_spec
        if not isinstance(spec, TensorSpec) or not spec.dtype.is_integer or spec.shape.rank != 0:
            raise TypeError(f"argument 'choice_dataset' must have int64 scalars, got {spec}")
        inputs = [choice_dataset, *sources]
        return Dataset(CHOOSE, inputs, [bool(stop_on_empty_dataset)], _common(sources, "datasets"))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Elements of several data sets, each drawn at random.

        Args:
            datasets: the data sets.
            weights: how likely each is, by default all alike: a vector, or a data set of vectors, one for
                each element. Data sets without a chance are not read; without any there are no elements.
            seed: an integer that fixes the choices.
            stop_on_empty_dataset: whether it ends when a data set has no element that is asked for; else that
                one is passed over.
            rerandomize_each_iteration: whether each iteration has other choices, by default it has the same.

        Raises:
            TypeError: for something else, or elements of different types.
            ValueError: where there is not one weight, not less than 0, for each data set.
            InvalidArgumentError: when it runs, for weights of a data set that are no chances.

        >>> sets = [Dataset.from_tensors(0).repeat(), Dataset.from_tensors(1).repeat()]
        >>> {int(x) for x in Dataset.sample_from_datasets(sets, [1.0, 0.0], seed=3).take(9)}
        {0}
        """
        sources = list(datasets)
        if not sources:
            raise ValueError("argument 'datasets' must hold at least one data set")
        number = None if seed is None else integer(seed, "seed")
        seeds = _sources.Seeds(bool(rerandomize_each_iteration))
        if isinstance(weights, Base):
            _check_weights(weights.element_spec, len(sources), weights)
            choices = Dataset(DRAWN_BY, [weights], [number, seeds], TensorSpec([], _core.int64))
            return Dataset.choose_from_datasets(sources, choices, stop_on_empty_dataset)
        chances = _core._to_tensor([1.0] * len(sources) if weights is None else weights)
        _check_weights(chances, len(sources), weights)
        if not chances._is_symbolic:
            found = chances.numpy()
            if not (found >= 0).all():
                raise ValueError(f"argument 'weights' must hold no chance below 0, got {weights}")
            spec = _common(sources, "datasets")
            kept = [source for source, chance in builtins.zip(sources, found, strict=True) if chance > 0]
            if len(kept) < 2:
                return (kept[0] if kept else sources[0].take(0))._then(_elementwise.OPTIONS, spec)  # type: ignore[no-any-return]
            sources, chances = kept, _core._to_tensor(found[found > 0])
        choices = Dataset(DRAWN, [], [number, seeds, chances], TensorSpec([], _core.int64))
        return Dataset.choose_from_datasets(sources, choices, stop_on_empty_dataset)

    def save(
        self, path: Any, compression: str | None = None, shard_func: Any = None, checkpoint_args: Any = None
    ) -> None:
        """Writes all elements to files, from which `load` reads them. The files are not TensorFlow's.

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

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Dataset.range(3).save(folder)
        ...     [int(x) for x in Dataset.load(folder)]
        [0, 1, 2]
        """
        args = [_saved.path_of(path, "path"), _saved.compression_of(compression), self._to_shards(shard_func)]
        _saved.portable(self.element_spec)
        Dataset(SAVED, [self], args, TensorSpec([], _core.int64)).get_single_element()

    def snapshot(
        self,
        path: Any,
        compression: Any = "AUTO",
        reader_func: Any = None,
        shard_func: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements, which come from files once an iterator has come to their end and written them.

        Args:
            path: a directory, as `save` has it.
            compression: as for `save`.
            reader_func: as for `load`.
            shard_func: as for `save`.
            name: a name for the data set.

        Raises:
            TypeError: when it runs, for elements that cannot be saved, or where others were.
            DataLossError: when it runs, where the files are corrupted.
        """
        prefix = _saved.prefix_in(_saved.path_of(path, "path"))
        return self._kept(prefix, _saved.compression_of(compression), shard_func, reader_func, "path", name)

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Any = None,
        wait: bool = False,
    ) -> Dataset:
        """The elements that `save` wrote.

        Args:
            path: the directory.
            element_spec: what they must be; by default what they are.
            compression: as for `save`, checked only: the files say how they are compressed.
            reader_func: takes a data set of data sets, the shards; gives the data set. By default one
                element of each comes in turn.
            wait: accepted; only False has a meaning.

        Raises:
            NotFoundError: where nothing was saved.
            InvalidArgumentError: for another compression.
            TypeError: where the elements are others, or the function gives no data set.
            DataLossError: where the files are corrupted; for the elements when it runs.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Dataset.range(5).save(folder, shard_func=lambda x: x % 2)
        ...     ds = Dataset.load(folder, reader_func=lambda shards: shards.flat_map(lambda x: x))
        ...     [int(x) for x in ds]
        [0, 2, 4, 1, 3]
        """
        prefix, _ = _saved.prefix_in(_saved.path_of(path, "path")), _saved.compression_of(compression)
        index = _saved.read_index(prefix)
        if element_spec is not None:
            _saved.check(checked_spec(element_spec, "element_spec"), index.spec, prefix)
        return Dataset._reader(reader_func)(prefix, Structure(index.spec))

    @staticmethod
    def _reader(reader_func: Any) -> Callable[[str, Structure], Dataset]:
        """What makes the data set of saved elements: a function of how names begin and of the structure."""
        if reader_func is None:
            return lambda prefix, structure: Dataset(LOADED, [], [prefix, structure], structure)
        if not callable(reader_func):
            raise TypeError(f"argument 'reader_func' must be callable, got {reader_func!r}")

        def read(prefix: str, structure: Structure) -> Dataset:
            def make(*args: Any) -> Dataset:
                return Dataset(SHARD_FILE, [], args, structure)

            shards = Dataset(SHARDS, [], [prefix, structure, make], DatasetSpec(structure.spec))
            found = reader_func(shards)
            if not isinstance(found, Dataset):
                raise TypeError(f"argument 'reader_func' must give a data set, got {found!r}")
            return found._same(READ, prefix)

        return read

    def apply(self, transformation_func: Callable[[Any], Any], name: str | None = None) -> Any:
        """What a function makes of this data set.

        Args:
            transformation_func: takes a data set and gives one.
            name: accepted and ignored.

        Raises:
            TypeError: where it gives something else.

        >>> len(Dataset.range(6).apply(lambda ds: ds.batch(2)))
        3
        """
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(f"argument 'transformation_func' must give a data set, got {found!r}")
        return found

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """The state that a function makes of all elements, one after the other.

        Args:
            initial_state: the state before the first element: a nest of tensors.
            reduce_func: takes the state and an element; gives the next state.
            name: accepted and ignored.

        Raises:
            TypeError: where the function gives a state of other dtypes.
            InvalidArgumentError: where it gives one that is nested otherwise.

        >>> import penstock as tf
        >>> int(Dataset.range(5).reduce(tf.constant(0, tf.int64), lambda s, x: s + x))
        10
        """
        state = converted(initial_state, "argument 'initial_state'")
        with USER_LINES:
            found, spec = traced_with_state(reduce_func, "reduce_func", spec_of(state), self.element_spec)
        # Of the state as an element, so that it may depend on the graph, and the function too.
        whole = Dataset(REDUCED, [self], [found, *nest.flatten(state)], spec)
        with USER_LINES:
            return whole.get_single_element()

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        Args:
            name: accepted and ignored.

        Raises:
            InvalidArgumentError: where there is none, or another one.

        >>> Dataset.from_tensors([1, 2]).get_single_element().numpy().tolist()
        [1, 2]
        """
        structure = self._structure

        def single(dataset: Any) -> list[Any]:
            read = Reader(dataset._open())
            leaves = read()
            if leaves is None:
                raise InvalidArgumentError("get_single_element: the data set is empty")
            if read() is not None:
                raise InvalidArgumentError("get_single_element: the data set has more than one element")
            return leaves

        if not _core._is_tracing():
            with USER_LINES:
                return structure.pack(single(self))
        tensors = self._on_host(lambda ds: structure.to_tensors(single(ds)), structure.tensor_specs)
        return structure.pack(structure.from_tensors(tensors))


Base._make = Dataset


def _check(value: Any, argument: str) -> None:
    if not isinstance(value, Base):
        raise TypeError(f"argument '{argument}' must hold tf.data.Dataset, got {value!r}")


def _check_weights(spec: Any, count: int, weights: Any) -> None:
    """Raises unless these are as many numbers as there are data sets."""
    shape = spec.shape if isinstance(spec, TensorSpec | _core.Tensor) else None
    if shape is None or not shape.is_compatible_with([count]):
        raise ValueError(
            f"argument 'weights' must have a chance for each of {count} data sets, got {weights}"
        )
    if not (spec.dtype.is_floating or spec.dtype.is_integer):
        raise TypeError(f"argument 'weights' must hold numbers, got {weights}")


def _common(sources: Sequence[Any], argument: str) -> Any:
    """What the elements of several data sets are."""
    first = sources[0].element_spec
    for other in sources[1:]:
        spec = other.element_spec
        try:
            nest.assert_same_structure(first, spec)
            pairs = builtins.zip(nest.flatten(first), nest.flatten(spec), strict=True)
            joined = [a.most_specific_common_supertype([b]) for a, b in pairs]
        except (TypeError, ValueError):
            joined = [None]
        if any(leaf is None for leaf in joined):
            raise TypeError(f"argument '{argument}': the elements must have one type, got {first} and {spec}")
        first = nest.pack_sequence_as(first, joined)
    return first


def _signature(types: Any, shapes: Any) -> Any:
    """The specifications for a nest of dtypes and one of shapes."""
    if isinstance(types, TypeSpec):
        return types
    if isinstance(types, tuple):
        shapes = [None] * len(types) if shapes is None else shapes
        return tuple(_signature(t, s) for t, s in builtins.zip(types, shapes, strict=True))
    if isinstance(types, dict):
        return {k: _signature(t, None if shapes is None else shapes[k]) for k, t in types.items()}
    return TensorSpec(shapes, types)


def _reduced(source: Any, function: Any, *state: Any) -> Pull:
    """The last state as the only element."""
    done = False

    def pull(limit: int) -> Rows | None:
        nonlocal done
        if done:
            return None
        done, held, read = True, list(state), Reader(source._open())
        while (leaves := read()) is not None:
            held = function([*held, *leaves])
        return one(held)

    return pull


REDUCED = Kind("Reduce", _reduced, lambda *_: 1)
