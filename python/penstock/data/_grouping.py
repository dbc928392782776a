"""The methods of data sets that put elements together, and take them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._types.ragged_spec import RaggedTensorSpec
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock.autograph._traceback import USER_LINES
from penstock.data import _batching
from penstock.data._arguments import flag, integer
from penstock.data._base import INFINITE, UNKNOWN, Kind
from penstock.data._elementwise import Elementwise
from penstock.data._functions import traced, unpacked
from penstock.data._sources import elements
from penstock.data._specs import DatasetSpec
from penstock.data._structure import NoneTensorSpec, Structure, batched_spec, row_spec
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock.data._dataset import Dataset

__all__ = ["Grouping"]


def _batches(n: int, size: int, drop: bool, *_: Any) -> int:
    return n if n < 0 else n // size if drop else -(-n // size)


def _windows(n: int, size: int, shift: int, stride: int, drop: bool, *_: Any) -> int:
    if n < 0:
        return n
    if drop:
        n = max(0, n - (size - 1) * stride + shift - 1)
        return n // shift
    return -(-n // shift)


def _some(n: int, *_: Any) -> int:
    return 0 if n == 0 else INFINITE if n == INFINITE else UNKNOWN


BATCH = Kind("Batch", _batching.batched, _batches)
PADDED = Kind("PaddedBatch", _batching.padded, _batches)
RAGGED = Kind("RaggedBatch", _batching.ragged, _batches)
UNBATCH = Kind("Unbatch", _batching.unbatched, _some)
REBATCH = Kind("Rebatch", _batching.rebatched, _some)
WINDOW = Kind("Window", _batching.windows, _windows)
GROUPED = Kind("GroupByWindow", _batching.grouped, _some)
ELEMENTS = Kind("Elements", lambda rows: elements(rows), len)


class Grouping(Elementwise):
    """The methods of `tf.data.Dataset` that put elements together."""

    __slots__ = ()

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """So many elements at a time, stacked along a new first dimension.

        Args:
            batch_size: how many.
            drop_remainder: whether fewer elements at the end are left out.
            num_parallel_calls: accepted and ignored.
            deterministic: accepted and ignored.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: for a size below 1; when it runs, for elements of different shapes.
            TypeError: for elements that cannot be stacked.

        >>> import penstock as tf
        >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        size, drop = integer(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
        known = _fixed(size, drop)
        spec = self._structure.mapped(lambda s: batched_spec(s, known, "batch"))
        return self._then(BATCH, spec, size, drop, name=name)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """So many elements at a time, padded at their ends to one shape and stacked.

        Args:
            batch_size: how many.
            padded_shapes: a shape for each component, in which None and -1 are the largest size in the batch;
                by default the static shapes of the elements.
            padding_values: a scalar for each component, or one for all; by default zero, or the empty string.
            drop_remainder: whether fewer elements at the end are left out.
            name: a name for the data set.

        Raises:
            ValueError: for a component of unknown rank without a shape.
            InvalidArgumentError: when it runs, for an element that is larger than its shape.
            TypeError: for components that are no tensors.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
        >>> [x.numpy().tolist() for x in ds.padded_batch(2)]
        [[[1, 0], [2, 2]], [[3, 3, 3]]]
        """
        size, drop = integer(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
        structure = self._structure
        if not structure.plain:
            raise TypeError(f"padded_batch pads tensors, the elements are {self.element_spec}")
        shapes = _padded_shapes(structure, padded_shapes)
        values = _padding_values(structure, padding_values)
        known = _fixed(size, drop)
        batched = [
            s if isinstance(s, NoneTensorSpec) else TensorSpec([known, *map(_known, shape)], s.dtype)
            for s, shape in zip(structure.leaves, shapes, strict=True)
        ]
        spec = nest.pack_sequence_as(structure.spec, batched)
        return self._then(PADDED, spec, size, drop, shapes, *values, name=name)

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        row_splits_dtype: Any = _core.int64,
        name: str | None = None,
    ) -> Dataset:
        """So many elements at a time, stacked to ragged tensors where they have sizes that vary.

        Args:
            batch_size: how many.
            drop_remainder: whether fewer elements at the end are left out.
            row_splits_dtype: the dtype of the splits.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: for a size below 1.
            ValueError: for elements of unknown rank.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(3).map(lambda n: tf.range(n))
        >>> next(iter(ds.ragged_batch(3))).to_list()
        [[], [0], [0, 1]]
        """
        size, drop = integer(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
        known, dtype = _fixed(size, drop), _core.DType(row_splits_dtype)

        def rank(spec: Any) -> int | None:
            if not isinstance(spec, TensorSpec):
                return None
            if spec.shape.rank is None:
                raise ValueError("ragged_batch needs elements of known rank")
            return max((i + 1 for i, d in enumerate(spec.shape.as_list()) if d is None), default=0)

        def batched(spec: Any) -> Any:
            levels = rank(spec)
            if not levels:
                return batched_spec(spec, known, "ragged_batch")
            return RaggedTensorSpec([known, *spec.shape.dims], spec.dtype, levels, dtype)

        ranks = [rank(spec) for spec in self._structure.leaves]
        return self._then(RAGGED, self._structure.mapped(batched), size, drop, ranks, dtype, name=name)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of the elements.

        Args:
            name: a name for the data set.

        Raises:
            ValueError: for scalars.

        >>> import penstock as tf
        >>> [int(x) for x in tf.data.Dataset.from_tensors([1, 2]).unbatch()]
        [1, 2]
        """
        return self._then(
            UNBATCH, self._structure.mapped(lambda s: row_spec(s, "unbatch: the elements")), name=name
        )

    def rebatch(self, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Dataset:
        """The rows of the elements in batches of another size.

        Args:
            batch_size: how many rows; or a vector of sizes, which come in turn. For a size of 0 a batch of no
                rows comes, also behind the last row: if all sizes are 0, without end.
            drop_remainder: whether fewer rows at the end are left out.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: for a size below 0.

        >>> import penstock as tf
        >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2).rebatch(3)]
        [[0, 1, 2], [3, 4]]
        """
        drop, known = flag(drop_remainder, "drop_remainder"), None
        sizes: Any = batch_size if isinstance(batch_size, list | tuple) else [batch_size]
        if sizes is not batch_size and len(getattr(batch_size, "shape", ())) != 0:
            sizes = _core._to_tensor(batch_size)
            if not sizes.dtype.is_integer or sizes.shape.rank != 1:
                raise TypeError(
                    f"argument 'batch_size' must be an integer or a vector of them, got {batch_size!r}"
                )
        if not isinstance(sizes, _core.Tensor) or not sizes._is_symbolic:
            sizes = [integer(size, "batch_size", 0) for size in sizes]
            if not sizes:
                raise InvalidArgumentError("argument 'batch_size' must hold at least one size")
            same = all(isinstance(size, int) and size == sizes[0] for size in sizes)
            known = _fixed(sizes[0], drop) if same else None

        def spec(leaf: Any) -> Any:
            return batched_spec(row_spec(leaf, "rebatch: the elements"), known, "rebatch")

        return self._then(REBATCH, self._structure.mapped(spec), sizes, drop, name=name)

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Data sets of elements that follow each other: a nest of them, one for each component.

        Args:
            size: how many elements a window has.
            shift: how many elements the next window starts later, by default `size`.
            stride: how many elements apart those of a window are.
            drop_remainder: whether windows of fewer elements, at the end, are left out.
            name: a name for the data set.

        Raises:
            InvalidArgumentError: for numbers below 1.

        >>> import penstock as tf
        >>> for window in tf.data.Dataset.range(4).window(3, shift=1, drop_remainder=True):
        ...     print([int(x) for x in window])
        [0, 1, 2]
        [1, 2, 3]
        """
        n = integer(size, "size", 1)
        by = n if shift is None else integer(shift, "shift", 1)
        step = integer(stride, "stride", 1)
        drop = flag(drop_remainder, "drop_remainder")
        make, specs = self._make, self._structure.leaves

        def wrap(found: Sequence[list[Any]]) -> list[Any]:
            return [make(ELEMENTS, [], [[[row[i]] for row in found]], spec) for i, spec in enumerate(specs)]

        return self._then(WINDOW, self._structure.mapped(DatasetSpec), n, by, step, drop, wrap, name=name)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of what a function makes of windows of elements that have one key.

        A window is given to the function once it is full; at the end the others follow in the order of their
        keys.

        Args:
            key_func: takes an element as `map` gives it; gives a scalar `int64`.
            reduce_func: takes a key and a data set of the elements of a window; gives a data set.
            window_size: how many elements a window has.
            window_size_func: gives the size for a key, in place of `window_size`.
            name: a name for the data set.

        Raises:
            ValueError: where both or none of the sizes are given.
            TypeError: where a function gives something else.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(5)
        >>> ds = ds.group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), window_size=3)
        >>> [x.numpy().tolist() for x in ds]
        [[0, 2, 4], [1, 3]]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "group_by_window takes one of the arguments 'window_size' and 'window_size_func'"
            )
        number = TensorSpec([], _core.int64)
        with USER_LINES:
            key = traced(key_func, "key_func", unpacked(self.element_spec), number)
            reduce = traced(reduce_func, "reduce_func", (number, DatasetSpec(self.element_spec)))
        if not isinstance(reduce.gives.spec, DatasetSpec):
            raise TypeError(f"argument 'reduce_func' must give a data set, got {reduce.gives.spec}")
        by = None
        if window_size_func is not None:
            with USER_LINES:
                by = traced(window_size_func, "window_size_func", (number,), number)
        fixed = None if window_size is None else integer(window_size, "window_size", 1)
        make, structure = self._make, self._structure

        def wrap(found: Sequence[list[Any]]) -> Any:
            return make(ELEMENTS, [], [found], structure)

        return self._then(GROUPED, reduce.gives.spec.element_spec, key, reduce, by, fixed, wrap, name=name)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batches of elements of like lengths, padded.

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

        Raises:
            ValueError: where the numbers of boundaries and sizes do not go together.

        >>> import penstock as tf
        >>> ds = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))
        >>> ds = ds.bucket_by_sequence_length(lambda x: tf.size(x), [3], [2, 2])
        >>> [x.shape.as_list() for x in ds]
        [[2, 2], [2, 4]]
        """
        boundaries, sizes = list(bucket_boundaries), list(bucket_batch_sizes)
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                f"argument 'bucket_batch_sizes' must have {len(boundaries) + 1} sizes for {len(boundaries)} "
                f"boundaries, got {len(sizes)}"
            )
        from penstock import math
        from penstock.autograph import convert_function

        below = _core._to_tensor(boundaries, _core.int64)
        batch_sizes = _core._to_tensor(sizes, _core.int64)
        length_of = convert_function(element_length_func)

        def bucket(*element: Any) -> Any:
            length = math.cast(length_of(*element), _core.int64)
            return math.reduce_sum(math.cast(math.less_equal(below, length), _core.int64))

        def reduced(key: Any, group: Any) -> Any:
            size = batch_sizes[key]
            if no_padding:
                return group.batch(size, drop_remainder=drop_remainder)
            shapes: Any = padded_shapes
            if pad_to_bucket_boundary:
                ends = _core._to_tensor([b - 1 for b in boundaries] or [0], _core.int64)
                count = len(boundaries)
                from penstock.debugging import Assert

                Assert(
                    math.less(key, count),
                    ["an element is longer than the last of argument 'bucket_boundaries'"],
                )
                shapes = _Bound(shapes, ends[math.minimum(key, max(0, count - 1))])
            return group.padded_batch(size, shapes, padding_values, drop_remainder)

        return self.group_by_window(bucket, reduced, window_size_func=lambda key: batch_sizes[key], name=name)


class _Bound:
    """Shapes to pad to, whose open sizes are a tensor."""

    def __init__(self, shapes: Any, size: Any) -> None:
        self.shapes = shapes
        self.size = size


def _fixed(size: Any, drop: Any) -> int | None:
    """The size that all batches have, where that is known."""
    return size if drop is True and isinstance(size, int) else None


def _known(size: Any) -> Any:
    return None if isinstance(size, _core.Tensor) else size


def _padded_shapes(structure: Structure, given: Any) -> list[Any]:
    """The sizes to pad each leaf to; None for one that is None."""
    bound = given.size if isinstance(given, _Bound) else None
    given = given.shapes if isinstance(given, _Bound) else given
    if given is None:
        wanted: list[Any] = [None if isinstance(s, NoneTensorSpec) else s.shape for s in structure.leaves]
    else:
        wanted = _flat_like(structure.spec, given, "padded_shapes")
    shapes: list[Any] = []
    for spec, shape in zip(structure.leaves, wanted, strict=True):
        if isinstance(spec, NoneTensorSpec):
            shapes.append(None)
            continue
        if isinstance(shape, _core.Tensor):
            shape = shape.numpy().tolist()
        if isinstance(shape, list | tuple):
            shape = [None if d == -1 else d for d in shape]
        found = TensorShape(shape)
        if found.rank is None:
            raise ValueError(
                "padded_batch: argument 'padded_shapes' must be given for components of unknown rank"
            )
        if spec.shape.rank is not None and spec.shape.rank != found.rank:
            raise ValueError(
                f"argument 'padded_shapes' has shape {found} for a component of shape {spec.shape}"
            )
        for own, size in zip(spec.shape.dims or [], found.as_list(), strict=False):
            if own is not None and size is not None and size < own:
                raise ValueError(
                    f"argument 'padded_shapes' has shape {found} for a component of shape {spec.shape}"
                )
        shapes.append(found.as_list())
    return [s if s is None or bound is None else [bound if d is None else d for d in s] for s in shapes]


def _flat_like(spec: Any, value: Any, argument: str) -> list[Any]:
    """What a nest of arguments has for each leaf of a specification."""
    if not nest.is_nested(spec):
        return [value]
    if isinstance(value, list):
        value = tuple(value)
    try:
        if isinstance(spec, dict):
            return [x for k in nest._sorted_keys(spec) for x in _flat_like(spec[k], value[k], argument)]
        return [x for s, v in zip(spec, value, strict=True) for x in _flat_like(s, v, argument)]
    except (TypeError, KeyError, ValueError):
        raise ValueError(
            f"argument '{argument}' must be nested as the elements, {spec}, got {value!r}"
        ) from None


def _padding_values(structure: Structure, given: Any) -> list[Any]:
    """The scalar to pad each leaf with."""
    if given is None or not nest.is_nested(given):
        found = [given] * len(structure.leaves)
    else:
        found = _flat_like(structure.spec, given, "padding_values")
    values: list[Any] = []
    for spec, value in zip(structure.leaves, found, strict=True):
        if isinstance(spec, NoneTensorSpec):
            values.append(None)
            continue
        if value is None:
            value = "" if spec.dtype == _core.string else 0
        try:
            tensor = _core._to_tensor(value, spec.dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"argument 'padding_values' must be a {spec.dtype.name} scalar: {error}"
            ) from None
        if tensor.shape.rank != 0:
            raise ValueError(f"argument 'padding_values' must hold scalars, got shape {tensor.shape}")
        values.append(tensor)
    return values
