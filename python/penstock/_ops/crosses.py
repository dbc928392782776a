"""Crosses of features: each combination of elements of rows, as a text or a hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.sparse_places import int64
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import DTypeError, InvalidArgumentError

__all__ = ["Crossed", "Feature", "crossed", "feature"]

# What a hash of several values starts with, unless a key is given.
HASH_KEY = 0xDECAFCAFFE
_MULTIPLIER = 0xC6A4A7935BD1E995
_INT64, _UINT64 = _core.int64, _core.uint64


class Feature(NamedTuple):
    """A list of values for each row.

    Attributes:
        values: Those of all rows, one row after the other.
        starts: Where each row begins.
        lengths: How many each row has.
    """

    values: Any
    starts: Any
    lengths: Any


class Crossed(NamedTuple):
    """The combinations of each row.

    Attributes:
        values: Those of all rows, one row after the other.
        lengths: How many each row has.
        rows: The row of each combination.
        columns: Its number within the row.
    """

    values: Any
    lengths: Any
    rows: Any
    columns: Any


def feature(value: Any) -> Feature:
    """The rows of a sparse, ragged or dense matrix of integers or strings.

    Raises:
        TypeError: for other elements.
        ValueError: for what is no matrix.
    """
    if isinstance(value, SparseTensor):
        if value.shape.rank not in (2, None):
            raise InvalidArgumentError(f"argument 'inputs' must hold matrices, got shape {value.shape}")
        ones = raw_ops.ones_like(value.indices[:, 0])
        lengths = raw_ops.unsorted_segment_sum(ones, value.indices[:, 0], value.dense_shape[0])
        values = value.values
    elif isinstance(value, RaggedTensor):
        if value.ragged_rank != 1 or value.shape.rank != 2:
            raise InvalidArgumentError(f"argument 'inputs' must hold matrices, got shape {value.shape}")
        lengths, values = int64(value.row_lengths()), value.values
    else:
        x = _core._to_tensor(value)
        if x.shape.rank != 2:
            raise InvalidArgumentError(f"argument 'inputs' must hold matrices, got shape {x.shape}")
        sizes = raw_ops.shape(x, dtype=_INT64)
        lengths, values = raw_ops.fill(sizes[:1], sizes[1]), raw_ops.reshape(x, [-1])
    if values.dtype != _core.string and not values.dtype.is_integer:
        raise DTypeError(f"argument 'inputs' must hold integers or strings, got {values.dtype.name}")
    return Feature(values, raw_ops.cumsum(lengths, axis=0, exclusive=True), lengths)


def crossed(
    features: Sequence[Feature], separator: Any = "_X_", buckets: int | None = None, key: int | None = None
) -> Crossed:
    """Each combination of a value of each feature, row by row, that of the last feature changing first.

    Args:
        features: with as many rows each.
        separator: what stands between the texts.
        buckets: where given, the combinations are hashes below it; 0 for no bound but that of `int64`.
        key: what a hash starts with.

    Raises:
        ValueError: where there are no features.
    """
    from penstock._ops.arrangement import repeat  # that module needs this one, too

    if not features:
        raise InvalidArgumentError("argument 'inputs' must hold at least one feature")
    lengths = features[0].lengths
    for one in features[1:]:
        lengths = lengths * one.lengths
    count = raw_ops.size(lengths, dtype=_INT64)
    rows = repeat(raw_ops.range(int64(0), count, int64(1)), lengths)
    first = raw_ops.gather(raw_ops.cumsum(lengths, axis=0, exclusive=True), rows)
    columns = raw_ops.range(int64(0), raw_ops.reduce_sum(lengths), int64(1)) - first
    rest, parts = columns, []
    for one in reversed(features):
        size = raw_ops.gather(one.lengths, rows)
        place = raw_ops.gather(one.starts, rows) + raw_ops.floormod(rest, size)
        rest = raw_ops.floordiv(rest, size)
        parts.append(raw_ops.gather(one.values, place))
    parts.reverse()
    if buckets is None:
        texts = [x if x.dtype == _core.string else raw_ops.as_string(x) for x in parts]
        return Crossed(raw_ops.string_join(*texts, separator=separator), lengths, rows, columns)
    start = HASH_KEY if key is None else int(key)
    found = raw_ops.fill(raw_ops.shape(rows), _core._to_tensor(start, _UINT64))
    for part in parts:
        found = _joined(found, _fingerprint(part))
    bound = _core._to_tensor(buckets or 2**63 - 1, _UINT64)
    return Crossed(raw_ops.cast(raw_ops.floormod(found, bound), dtype=_INT64), lengths, rows, columns)


def _fingerprint(values: Any) -> Any:
    """64 bits for each value: of a string its FarmHash fingerprint, of an integer itself."""
    if values.dtype != _core.string:
        return raw_ops.bitcast(raw_ops.cast(values, dtype=_INT64), dtype=_UINT64)
    # The remainders by 2**63 - 1 and by 8 tell all of 64 bits: 2**63 - 1 is -1 modulo 8.
    most = 2**63 - 1
    whole = raw_ops.string_to_hash_bucket_fast(values, num_buckets=most)
    eighth = raw_ops.string_to_hash_bucket_fast(values, num_buckets=8)
    times = raw_ops.floormod(raw_ops.floormod(whole, int64(8)) - eighth, int64(8))
    return raw_ops.cast(whole, dtype=_UINT64) + raw_ops.cast(times, dtype=_UINT64) * _core._to_tensor(
        most, _UINT64
    )


def _mixed(x: Any) -> Any:
    return raw_ops.bitwise_xor(x, raw_ops.right_shift(x, _core._to_tensor(47, _UINT64)))


def _joined(a: Any, b: Any) -> Any:
    """The fingerprint of two of them, as TensorFlow joins them."""
    factor = _core._to_tensor(_MULTIPLIER, _UINT64)
    found = raw_ops.bitwise_xor(a, factor)
    found = raw_ops.bitwise_xor(found, _mixed(b * factor) * factor) * factor
    return _mixed(_mixed(found) * factor)
