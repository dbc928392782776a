"""Strings made of neighbours: n-grams of rows of strings, and the characters of each string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, row_numbers
from penstock._runtime.arguments import known_rank
from penstock._runtime.scope import scoped
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["ngrams"]

# Of how many strings a run is at most whose strings are taken one after the other.
_FEW: Final = 16


@scoped
def ngrams(
    data: TensorLike | RaggedTensor,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: str | tuple[str, str] | None = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    """Join each run of neighbours in rows of strings.

    Args:
        data: strings, in a tensor or a ragged one; the rows are along the last dimension.
        ngram_width: how many strings make one; several widths give those of the first width first.
        separator: what is put between strings.
        pad_values: a string to put before and after each row, or one for each side.
        padding_width: how many of them to put; by default one less than the width.
        preserve_short_sequences: whether a row that is too short for any width is joined as a whole.
        name: a scope for the names of its operations in a graph.

    Returns:
        The runs of each row: a tensor of a tensor, a ragged one of a ragged one.

    Raises:
        ValueError: for a width below 1, or a scalar.

    >>> import penstock as tf
    >>> tf.strings.ngrams(["A", "B", "C"], 2).numpy().tolist()
    [b'A B', b'B C']
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if not widths or min(widths) < 1:
        raise InvalidArgumentError(
            f"argument 'ngram_width' must hold numbers of at least 1, got {ngram_width}"
        )
    if isinstance(data, RaggedTensor):
        if isinstance(data.values, RaggedTensor):
            inner = ngrams(
                data.values, widths, separator, pad_values, padding_width, preserve_short_sequences
            )
            return data.with_values(inner)
        flat, lengths = data.values, data.row_lengths()
        rows = _Rows(flat, raw_ops.cast(lengths, dtype=_core.int64))
        return rows.ngrams(widths, separator, pad_values, padding_width, preserve_short_sequences)
    x = _core._to_tensor(data)
    if not known_rank(x):
        raise InvalidArgumentError("argument 'data' must not be a scalar")
    extents = raw_ops.shape(x, dtype=_core.int64)
    lead, length = extents[:-1], extents[-1]
    count = raw_ops.reduce_prod(lead)
    rows = _Rows(raw_ops.reshape(x, [-1]), raw_ops.fill(raw_ops.reshape(count, [1]), length))
    made = rows.ngrams(widths, separator, pad_values, padding_width, preserve_short_sequences)
    # All rows are of one length, and so are the runs.
    of_each = raw_ops.floordiv(raw_ops.size(made.values, dtype=_core.int64), raw_ops.maximum(count, 1))
    return raw_ops.reshape(made.values, raw_ops.concat([lead, raw_ops.reshape(of_each, [1])], axis=0))


def _places(counts: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
    """For rows of some lengths, the row of each element, and its place in it."""
    row = row_numbers(counts)
    start = raw_ops.gather(raw_ops.cumsum(counts, exclusive=True), row)
    return row, raw_ops.range(0, raw_ops.size(row, dtype=_core.int64), 1) - start


class _Rows:
    """Strings in rows: the strings, and the length of each row."""

    def __init__(self, flat: _core.Tensor, lengths: _core.Tensor) -> None:
        self.flat, self.lengths = flat, lengths

    def padded(self, left: str, right: str, width: int) -> _Rows:
        """The rows with `width` strings more on each side."""
        row, place = _places(self.lengths + 2 * width)
        start = raw_ops.gather(raw_ops.cumsum(self.lengths, exclusive=True), row)
        size = raw_ops.size(self.flat, dtype=_core.int64)
        inside = place - width
        behind = inside >= raw_ops.gather(self.lengths, row)
        source = raw_ops.select(behind, size + 1, start + inside)
        source = raw_ops.select(inside < 0, size, source)
        return _Rows(raw_ops.gather(concat([self.flat, [left, right]], 0), source), self.lengths + 2 * width)

    def joined(self, first: _core.Tensor, lengths: _core.Tensor, separator: str) -> _core.Tensor:
        """The strings of some stretches, each joined: its first string, and how many it has."""
        width = raw_ops.reduce_max(concat([lengths, [0]], 0))
        place = raw_ops.range(0, width, 1)
        inside = place < raw_ops.expand_dims(lengths, axis=1)
        # The strings, nothing, and the strings behind a separator.
        pieces = concat([self.flat, [""], raw_ops.string_join([separator, self.flat])], 0)
        nothing = raw_ops.size(self.flat, dtype=_core.int64)
        source = raw_ops.expand_dims(first, axis=1) + place
        source = raw_ops.select(place > 0, source + (nothing + 1), source)
        words = raw_ops.gather(pieces, raw_ops.select(inside, source, nothing))
        return raw_ops.string_reduce_join(words, axes=[1])

    def runs(
        self, lengths: _core.Tensor | int, separator: str, counts: _core.Tensor
    ) -> tuple[_core.Tensor, _core.Tensor]:
        """The first `counts` runs of each row, of so many strings, and their rows."""
        row, place = _places(counts)
        first = raw_ops.gather(raw_ops.cumsum(self.lengths, exclusive=True), row) + place
        if isinstance(lengths, int):
            words = [raw_ops.gather(self.flat, first + i if i else first) for i in range(lengths)]
            return raw_ops.string_join(words, separator=separator), row
        return self.joined(first, raw_ops.gather(lengths, row), separator), row

    def ngrams(
        self,
        widths: list[int],
        separator: str,
        pad_values: str | tuple[str, str] | None,
        padding_width: int | None,
        preserve_short: bool,
    ) -> RaggedTensor:
        parts: list[tuple[Any, Any]] = []
        total = raw_ops.zeros_like(self.lengths)
        for width in widths:
            rows = self
            padding = width - 1 if padding_width is None else min(padding_width, width - 1)
            if pad_values is not None and padding > 0:
                left, right = (pad_values, pad_values) if isinstance(pad_values, str) else pad_values
                rows = self.padded(left, right, padding)
            counts = raw_ops.maximum(rows.lengths - (width - 1), 0)
            of_width = raw_ops.fill(raw_ops.shape(counts), raw_ops.cast(width, dtype=_core.int64))
            parts.append(rows.runs(width if width <= _FEW else of_width, separator, counts))
            total = total + counts
        if preserve_short:
            # What has no run of its own is shorter than every width.
            whole = raw_ops.logical_and(raw_ops.equal(total, 0), self.lengths > 0)
            counts = raw_ops.cast(whole, dtype=_core.int64)
            parts.append(self.runs(self.lengths, separator, counts))
            total = total + counts
        if len(parts) == 1:
            return RaggedTensor.from_row_lengths(parts[0][0], total, validate=False)
        runs, row = (raw_ops.concat(list(part), axis=0) for part in zip(*parts, strict=True))
        # Sorting keeps the order of the runs of one row.
        return RaggedTensor.from_row_lengths(
            raw_ops.gather(runs, raw_ops.argsort(row)), total, validate=False
        )
