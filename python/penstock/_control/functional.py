"""Loops over the first dimension of tensors: `map_fn`, `scan`, `foldl`, `foldr` and `vectorized_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import _core, errors, nest, raw_ops
from penstock._control import flow
from penstock._runtime.arguments import filling
from penstock._runtime.scope import scoped
from penstock._types.composite import flatten, pack
from penstock._types.ragged_spec import RaggedTensorSpec
from penstock._types.rows import Stackable, encoder_of, row, row_count
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec, TypeSpec, own_spec
from penstock._values.tensor_array import TensorArray

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, SpecLike, TensorLike

__all__ = ["foldl", "foldr", "map_fn", "scan", "vectorized_map"]

_T = TypeVar("_T")


def _callable(fn: Any) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"argument 'fn' must be callable, got {fn!r}")
    return flow.converted(fn)


def _with_rows(leaf: Any) -> Any:
    """A tensor, or a composite value that has rows."""
    spec = own_spec(leaf)
    return leaf if isinstance(spec, Stackable) else _core._to_tensor(leaf)


class _Rows:
    """The rows of a nest of tensors."""

    def __init__(self, elems: Any) -> None:
        self.structure = elems
        self.tensors: list[Any] = [_with_rows(leaf) for leaf in nest.flatten(elems)]
        if not self.tensors:
            raise ValueError("argument 'elems' must hold at least one tensor")
        sizes = {n for t in self.tensors if (n := self._known_count(t)) is not None}
        if len(sizes) > 1:
            raise ValueError(
                f"argument 'elems': the tensors must have one first dimension, got {sorted(sizes)}"
            )
        # The number of rows, where it is known now.
        self.known: int | None = sizes.pop() if sizes else None
        first = self.tensors[0]
        if self.known is not None:
            self.count = _core._to_tensor(self.known)
        elif not isinstance(first, _core.Tensor):
            self.count = raw_ops.cast(row_count(first), dtype=_core.int32)
        else:
            self.count = raw_ops.gather(raw_ops.shape(first, dtype=_core.int32), 0)

    @staticmethod
    def _known_count(leaf: Any) -> int | None:
        if encoder_of(own_spec(leaf)) is not None:
            # What it calls its shape is its own affair.
            count = row_count(leaf)
            return count if isinstance(count, int) else None
        if leaf.shape.rank == 0:
            raise ValueError("argument 'elems' must hold tensors of at least one dimension, got a scalar")
        known: int | None = leaf.shape[0] if leaf.shape.rank else None
        return known

    def at(self, i: Any) -> Any:
        """Row `i`, in the structure of the nest."""
        rows = [raw_ops.gather(t, i) if isinstance(t, _core.Tensor) else row(t, i) for t in self.tensors]
        return nest.pack_sequence_as(self.structure, rows)

    def specs(self) -> Any:
        """The specification of a row."""
        rows = [
            TensorSpec(None if t.shape._dims is None else t.shape[1:], t.dtype)
            if isinstance(t, _core.Tensor)
            else t._type_spec._row_spec()
            for t in self.tensors
        ]
        return nest.pack_sequence_as(self.structure, rows)


def _repeat(count: Any, step: Callable[[Any, Any], Any], state: Any, backwards: bool = False) -> Any:
    """The state after `state = step(i, state)` for `i` from 0 to `count - 1`, or back."""
    if backwards:
        test, by, first = lambda i, _: i >= 0, -1, count - 1
    else:
        test, by, first = lambda i, _: i < count, 1, _core._to_tensor(0, count.dtype)
    return flow.while_loop(test, lambda i, s: (i + by, step(i, s)), (first, state))[1]


def _signature(spec: Any) -> Any:
    """A result's specification as a `TensorSpec`, or as it is where it is composite."""
    if isinstance(spec, TypeSpec):
        return spec
    return TensorSpec(None, spec)


@scoped
def map_fn(
    fn: Callable[[Any], _T],
    elems: Nested[TensorLike],
    dtype: Nested[SpecLike] | None = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Nested[SpecLike] | None = None,
) -> _T:
    """Apply `fn` to each row of `elems`, and stack the results.

    Args:
        fn: takes a row, a nest like `elems`, and gives a tensor or a nest of tensors.
        elems: a tensor, ragged or sparse tensor, value of a `tf.experimental.BatchableExtensionType`, or a
            nest of them, all with one first dimension `n`.
        dtype: the old name of `fn_output_signature`.
        parallel_iterations: accepted and ignored.
        back_prop: accepted and ignored.
        swap_memory: accepted and ignored.
        infer_shape: whether the results of all rows must have one shape.
        name: a scope for the names of its operations in a graph.
        fn_output_signature: the dtype or `TensorSpec` of the result, or a nest of them; by default the result
            has the structure and the dtypes of `elems`. Results that a `tf.RaggedTensorSpec` describes become
            rows of a ragged tensor; those that are tensors have `ragged_rank=0`. Results of a batchable
            extension type, which its `Spec` describes, become one value of it.

    Returns:
        The structure of the signature, with a tensor of shape `[n, ...]` for each leaf.

    Raises:
        TypeError: for a `fn` that is not callable, or a result that does not fit the signature.
        ValueError: for scalars, or different first dimensions, in `elems`.

    >>> import penstock as tf
    >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).numpy()
    array([1, 4, 9], dtype=int32)
    >>> types = (tf.float32, tf.float32)
    >>> tf.map_fn(lambda x: (x, -x), tf.constant([1.0, 2.0]), fn_output_signature=types)[1].numpy()
    array([-1., -2.], dtype=float32)
    """
    fn = _callable(fn)
    rows = _Rows(elems)
    signature = dtype if fn_output_signature is None else fn_output_signature
    specs = (
        nest.map_structure(_like_row, elems)
        if signature is None
        else nest.map_structure(_signature, signature)
    )
    mapped: _T = _mapped(fn, rows, specs, infer_shape)
    return mapped


def _mapped(fn: Callable[..., Any], rows: _Rows, specs: Any, infer_shape: bool) -> Any:
    flat = nest.flatten(specs)
    columns = [_column(spec, infer_shape) for spec in flat]
    arrays = [column.arrays(rows.count) for column in columns]

    def step(i: Any, arrays: Any) -> Any:
        result = fn(rows.at(i))
        try:
            nest.assert_same_structure(specs, result)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"map_fn: fn must return the structure of fn_output_signature: {error}"
            ) from None
        values = []
        for column, held, leaf in zip(columns, arrays, nest.flatten(result), strict=True):
            parts = column.parts(leaf)
            values.append([array.write(i, part) for array, part in zip(held, parts, strict=True)])
        return values

    if rows.known == 0 and not _core._is_tracing() and all(isinstance(spec, TensorSpec) for spec in flat):
        return nest.pack_sequence_as(specs, _nothing(fn, rows, flat))
    if rows.known == 0 and any(not isinstance(column, _Tensors) for column in columns):
        made = [
            column.whole(held, 0) if isinstance(column, _Tensors) else column.nothing()
            for column, held in zip(columns, arrays, strict=True)
        ]
        return nest.pack_sequence_as(specs, made)
    arrays = _repeat(rows.count, step, arrays)
    made = [column.whole(held, rows.known) for column, held in zip(columns, arrays, strict=True)]
    return nest.pack_sequence_as(specs, made)


def _like_row(leaf: Any) -> TypeSpec:
    """The specification of results that are like the rows, of any shape."""
    spec = own_spec(leaf)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(None, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    if encoder_of(spec) is not None:
        return spec._row_spec()  # type: ignore[union-attr, no-any-return]
    return TensorSpec(None, _core._to_tensor(leaf).dtype)


def _column(spec: TypeSpec, infer_shape: bool) -> _Tensors | _Ragged | _Encoded:
    if isinstance(spec, RaggedTensorSpec):
        return _Ragged(spec)
    encoder = encoder_of(spec)
    if encoder is not None:
        return _Encoded(spec, encoder, infer_shape)
    if not isinstance(spec, TensorSpec):
        raise TypeError(
            "argument 'fn_output_signature' must describe tensors, ragged ones, or values of batchable "
            f"extension types, got {spec}"
        )
    return _Tensors(spec, infer_shape)


class _Tensors:
    """Results that are tensors of one shape, and are stacked."""

    def __init__(self, spec: TensorSpec, infer_shape: bool) -> None:
        self._spec, self._infer = spec, infer_shape

    def arrays(self, count: Any) -> list[TensorArray]:
        """What holds the results."""
        spec = self._spec
        return [TensorArray(spec.dtype, count, infer_shape=self._infer, element_shape=spec.shape)]

    def parts(self, leaf: Any) -> list[Any]:
        """What of a result goes into the arrays."""
        value = _core._to_tensor_hinted(leaf, self._spec.dtype)
        _check_result(self._spec, value)
        return [value]

    def nothing(self) -> Any:
        """What no results make."""
        dims = [0, *(size or 0 for size in self._spec.shape._dims or ())]
        return raw_ops.fill(dims, filling(None, self._spec.dtype))

    def whole(self, arrays: list[TensorArray], count: int | None) -> Any:
        """All results as one."""
        return _stacked(arrays[0], count)


class _Ragged:
    """Results that are ragged, or tensors of other lengths, and become the rows of a ragged tensor."""

    def __init__(self, spec: RaggedTensorSpec) -> None:
        self._spec = spec

    def arrays(self, count: Any) -> list[TensorArray]:
        """What holds the values, the number of rows of each result, and the lengths of rows."""
        dims = self._spec.shape._dims
        inner = None if dims is None else [None, *dims[self._spec.ragged_rank + 1 :]]
        lengths = [
            TensorArray(_core.int64, count, infer_shape=False, element_shape=[None])
            for _ in range(self._spec.ragged_rank + 1)
        ]
        values = TensorArray(self._spec.dtype, count, infer_shape=False, element_shape=inner)
        return [values, *lengths]

    def parts(self, leaf: Any) -> list[Any]:
        """What of a result goes into the arrays."""
        from penstock._values.ragged import RaggedTensor  # loaded where there are any

        if isinstance(leaf, RaggedTensor):
            _check_result(self._spec, leaf)
            flat, lengths = leaf.flat_values, leaf.nested_row_lengths()
            rows = leaf.nrows()
        else:
            flat, lengths = _core._to_tensor_hinted(leaf, self._spec.dtype), ()
            if self._spec.ragged_rank:
                raise TypeError(f"map_fn: fn returns a tensor where fn_output_signature says {self._spec}")
            _check_result(TensorSpec(self._spec.shape, self._spec.dtype), flat)
            if flat.shape.rank == 0:
                raise TypeError("map_fn: fn returns a scalar where fn_output_signature says a row of values")
            rows = raw_ops.shape(flat)[0]
        return [flat, *(raw_ops.cast(x, dtype=_core.int64) for x in (raw_ops.reshape(rows, [1]), *lengths))]

    def nothing(self) -> Any:
        """What no results make."""
        from penstock._values.ragged import RaggedTensor  # loaded where there are any

        dims = self._spec.shape._dims or ()
        sizes = [0, *(size or 0 for size in dims[self._spec.ragged_rank + 1 :])]
        values = raw_ops.fill(sizes, filling(None, self._spec.dtype))
        splits = _core._to_tensor([0], self._spec.row_splits_dtype)
        return RaggedTensor.from_nested_row_splits(values, [splits] * (self._spec.ragged_rank + 1))

    def whole(self, arrays: list[TensorArray], count: int | None) -> Any:
        """All results as one."""
        from penstock._values.ragged import RaggedTensor  # loaded where there are any

        values, *lengths = (array.concat() for array in arrays)
        if count is not None:
            lengths[0] = raw_ops.ensure_shape(lengths[0], shape=[count])
        made = RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)
        wanted = self._spec.row_splits_dtype
        return made if wanted == _core.int64 else made.with_row_splits_dtype(wanted)


class _Encoded:
    """Results of a batchable extension type, which are stacked as its encoder says."""

    def __init__(self, spec: Any, encoder: Any, infer_shape: bool) -> None:
        self._spec, self._encoder = spec, encoder
        self._form = self._encoder.encoding_specs(spec)
        self._columns = [_column(part, infer_shape) for part in nest.flatten(self._form)]
        # How many arrays each of them has.
        self._sizes: list[int] = []

    def arrays(self, count: Any) -> list[TensorArray]:
        """What holds the parts of the results."""
        groups = [column.arrays(count) for column in self._columns]
        self._sizes = [len(group) for group in groups]
        return [array for group in groups for array in group]

    def parts(self, leaf: Any) -> list[Any]:
        """What of a result goes into the arrays."""
        if not self._spec.is_compatible_with(leaf):
            raise TypeError(f"map_fn: fn returns {leaf!r} where fn_output_signature says {self._spec}")
        encoded = nest.flatten(self._encoder.encode(leaf._type_spec, leaf))
        pairs = zip(self._columns, encoded, strict=True)
        return [part for column, value in pairs for part in column.parts(value)]

    def nothing(self) -> Any:
        """What no results make."""
        return self._decoded([column.nothing() for column in self._columns], 0)

    def whole(self, arrays: list[TensorArray], count: int | None) -> Any:
        """All results as one."""
        source = iter(arrays)
        groups = [[next(source) for _ in range(size)] for size in self._sizes]
        pairs = zip(self._columns, groups, strict=True)
        return self._decoded([column.whole(group, count) for column, group in pairs], count)

    def _decoded(self, parts: list[Any], count: int | None) -> Any:
        return self._encoder.decode(self._spec._stacked_spec(count), nest.pack_sequence_as(self._form, parts))


def _check_result(spec: Any, value: Any) -> None:
    if not spec.is_compatible_with(value):
        raise TypeError(
            f"map_fn: fn returns {value.dtype.name} of shape {value.shape} where "
            f"fn_output_signature says {spec.dtype.name} of shape {spec.shape}"
        )


def _stacked(array: TensorArray, count: int | None) -> Any:
    stacked = array.stack()
    if count is not None and stacked._is_symbolic and stacked.shape.rank is not None:
        stacked.set_shape([count, *stacked.shape[1:]])
    return stacked


def _nothing(fn: Callable[..., Any], rows: _Rows, flat: list[TensorSpec]) -> list[Any]:
    """The results for no rows: `fn` is traced for the shapes that it would give."""
    from penstock._function.function import function  # traced functions build on this

    if all(spec.shape.is_fully_defined() for spec in flat):
        found = flat
    else:
        traced = function(fn).get_concrete_function(rows.specs())
        found = nest.flatten(traced.structured_outputs)
    out = []
    for spec, shape in zip(flat, (s.shape for s in found), strict=True):
        dims = [0] if shape.rank is None else [0, *(0 if d is None else d for d in shape._dims or ())]
        out.append(raw_ops.fill(dims, _core._to_tensor("" if spec.dtype == _core.string else 0, spec.dtype)))
    return out


def vectorized_map(
    fn: Callable[[Any], _T],
    elems: Nested[TensorLike],
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> _T:
    """Apply `fn` to each row of `elems`, in any order or at once, and stack the results.

    Args:
        fn: takes a row, a nest like `elems`, and gives a nest of tensors of the same types for every row.
        elems: a tensor or a nest of them with one first dimension `n`; one of size 1 is repeated.
        fallback_to_while_loop: whether rows are computed one after the other where an operation has no form
            for all rows at once, which is an `UnimplementedError` else.
        warn: accepted and ignored.

    Returns:
        The structure of what `fn` returns, with a tensor of shape `[n, ...]` for each leaf.

    Raises:
        TypeError: for a `fn` that is not callable.
        ValueError: for scalars, or different first dimensions, in `elems`.

    >>> import penstock as tf
    >>> tf.vectorized_map(lambda row: tf.reduce_sum(row), tf.constant([[1, 2], [3, 4]])).numpy()
    array([3, 7], dtype=int32)
    """
    fn = _callable(fn)
    elems = nest.map_structure(_core._to_tensor, elems)
    sizes = [t.shape[0] for t in nest.flatten(elems) if t.shape.rank]
    most = max((s for s in sizes if s is not None), default=1)
    rows = _Rows(
        nest.map_structure(
            lambda t: raw_ops.gather(t, [0] * most) if t.shape.rank and t.shape[0] == 1 else t, elems
        )
    )
    results: list[Any] = []

    def row(leaves: list[_core.Tensor]) -> list[Any]:
        results.append(fn(nest.pack_sequence_as(rows.structure, leaves)))
        return flatten(results[-1])

    mapped: _T
    try:
        stacked = _core._map_rows(row, rows.tensors, False)
    except errors.UnimplementedError:
        if not fallback_to_while_loop:
            raise
        mapped = _mapped(fn, rows, _result_specs(fn, rows), True)
    else:
        mapped = pack(results[-1], stacked)
    return mapped


def _result_specs(fn: Callable[..., Any], rows: _Rows) -> Any:
    """What `fn` returns for a row, from a trace that is thrown away."""
    if not _core._is_tracing():
        from penstock._function.function import function  # traced functions build on this

        return function(fn).get_concrete_function(rows.specs()).structured_outputs
    _core._begin_region([])
    try:
        result = fn(rows.at(0))
        return nest.map_structure(lambda t: TensorSpec((v := _core._to_tensor(t)).shape, v.dtype), result)
    finally:
        _core._abandon_region()


@scoped
def scan(
    fn: Callable[[Any, Any], _T],
    elems: Nested[TensorLike],
    initializer: Nested[TensorLike] | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> _T:
    """Accumulate `fn` over the rows of `elems`, and stack all accumulated values.

    Args:
        fn: takes the accumulated value and a row, and gives the next accumulated value.
        elems: a tensor or a nest of them, all with one first dimension `n`.
        initializer: the accumulated value before the first row; by default the first row is the first value.
        parallel_iterations: accepted and ignored.
        back_prop: accepted and ignored.
        swap_memory: accepted and ignored.
        infer_shape: whether all accumulated values must have one shape.
        reverse: whether to go from the last row to the first; results stand in the order of the rows.
        name: a scope for the names of its operations in a graph.

    Returns:
        The structure of the accumulated value, with a tensor of shape `[n, ...]` for each leaf.

    Raises:
        TypeError: for a `fn` that is not callable, or a value that changes its dtype or structure.
        ValueError: for scalars, or different first dimensions, in `elems`; for no rows and no `initializer`.

    >>> import penstock as tf
    >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
    array([1, 3, 6], dtype=int32)
    """
    fn = _callable(fn)
    rows = _Rows(elems)
    value, first = _start(rows, initializer, reverse, "scan")
    arrays = [
        TensorArray(v.dtype, rows.count, infer_shape=infer_shape, element_shape=_shape(v, infer_shape))
        for v in flatten(value)
    ]
    if first:
        at = rows.count - 1 if reverse else 0
        arrays = [a.write(at, v) for a, v in zip(arrays, flatten(value), strict=True)]

    def step(i: Any, state: Any) -> Any:
        value, arrays = state
        value = _accumulated(fn(value, rows.at(i)), value, "scan")
        return value, [a.write(i, v) for a, v in zip(arrays, flatten(value), strict=True)]

    _, arrays = _fold(rows, step, (value, arrays), first, reverse)
    stacked: _T = pack(value, [_stacked(a, rows.known) for a in arrays])
    return stacked


def _shape(value: Any, fixed: bool) -> TensorShape | None:
    return value.shape if fixed else None


def _start(rows: _Rows, initializer: Any, reverse: bool, what: str) -> tuple[Any, bool]:
    """The first accumulated value, and whether it is a row."""
    if initializer is not None:
        return nest.map_structure(_core._to_tensor, initializer), False
    if rows.known == 0:
        raise ValueError(f"{what}: argument 'elems' has no rows, and there is no argument 'initializer'")
    return rows.at(rows.count - 1 if reverse else 0), True


def _accumulated(value: Any, before: Any, what: str) -> Any:
    """The next accumulated value, in the structure of the one before it."""
    try:
        nest.assert_same_structure(before, value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: fn must return the structure of the accumulated value: {error}") from None
    leaves = []
    for leaf, old in zip(flatten(value), flatten(before), strict=True):
        new = _core._to_tensor_hinted(leaf, old.dtype)
        if new.dtype != old.dtype:
            raise TypeError(
                f"{what}: the accumulated value has dtype {old.dtype.name}, but fn returns {new.dtype.name}"
            )
        leaves.append(new)
    return pack(before, leaves)


def _fold(rows: _Rows, step: Callable[[Any, Any], Any], state: Any, first: bool, reverse: bool) -> Any:
    """The state after all rows; without the one that comes first, if that is in the state already."""
    count = rows.count
    if not first:
        return _repeat(count, step, state, reverse)
    if reverse:
        return _repeat(count - 1, step, state, True)
    return _repeat(count - 1, lambda i, s: step(i + 1, s), state)


@scoped
def foldl(
    fn: Callable[[Any, Any], _T],
    elems: Nested[TensorLike],
    initializer: Nested[TensorLike] | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> _T:
    """Accumulate `fn` over the rows of `elems`, from the first to the last.

    Args:
        fn: takes the accumulated value and a row, and gives the next accumulated value.
        elems: a tensor or a nest of them, all with one first dimension.
        initializer: the accumulated value before the first row; by default the first row is the first value.
        parallel_iterations: accepted and ignored.
        back_prop: accepted and ignored.
        swap_memory: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        The last accumulated value: what `fn` returns last, a tensor or a nest of them.

    Raises:
        TypeError: for a `fn` that is not callable, or a value that changes its dtype or structure.
        ValueError: for scalars, or different first dimensions, in `elems`; for no rows and no `initializer`.

    >>> import penstock as tf
    >>> tf.foldl(lambda a, x: 10 * a + x, tf.constant([1, 2, 3])).numpy()
    np.int32(123)
    """
    return _folded(fn, elems, initializer, False, "foldl")


@scoped
def foldr(
    fn: Callable[[Any, Any], _T],
    elems: Nested[TensorLike],
    initializer: Nested[TensorLike] | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> _T:
    """Accumulate `fn` over the rows of `elems`, from the last to the first.

    Args:
        fn: takes the accumulated value and a row, and gives the next accumulated value.
        elems: a tensor or a nest of them, all with one first dimension.
        initializer: the accumulated value before the last row; by default the last row is the first value.
        parallel_iterations: accepted and ignored.
        back_prop: accepted and ignored.
        swap_memory: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        The last accumulated value: what `fn` returns last, a tensor or a nest of them.

    Raises:
        TypeError: for a `fn` that is not callable, or a value that changes its dtype or structure.
        ValueError: for scalars, or different first dimensions, in `elems`; for no rows and no `initializer`.

    >>> import penstock as tf
    >>> tf.foldr(lambda a, x: 10 * a + x, tf.constant([1, 2, 3])).numpy()
    np.int32(321)
    """
    return _folded(fn, elems, initializer, True, "foldr")


def _folded(fn: Callable[[Any, Any], _T], elems: Any, initializer: Any, reverse: bool, what: str) -> _T:
    fn = _callable(fn)
    rows = _Rows(elems)
    value, first = _start(rows, initializer, reverse, what)

    def step(i: Any, before: Any) -> Any:
        return _accumulated(fn(before, rows.at(i)), before, what)

    folded: _T = _fold(rows, step, value, first, reverse)
    return folded
