"""What a table of constants is filled with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock import _core
from penstock._control.flow import init_scope
from penstock._runtime import v1_graph_state
from penstock._runtime.conversion import constant, convert_to_tensor
from penstock._runtime.os_errors import engine_errors
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = ["KeyValueTensorInitializer", "TextFileIndex", "TextFileInitializer", "with_value"]


class _Fillable(Protocol):
    def _fill(self, keys: _core.Tensor, values: _core.Tensor) -> None: ...


class TextFileIndex:
    """What `TextFileInitializer` takes from each line, where it is not the number of a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def with_value(given: TensorLike, dtype: DTypeLike | None, argument: str) -> _core.Tensor:
    """A tensor with a value, outside of what is traced.

    What a graph of TensorFlow 1 computes of constants alone has one.

    Raises:
        InvalidArgumentError: for a tensor that has none.
    """
    value: Any = given
    graph = v1_graph_state.current()
    if graph is not None and isinstance(given, _core.Tensor) and given._is_symbolic:
        try:
            (value,) = graph.engine.part([given], [], [], graph.after)([], _core._SessionValues())
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                f"argument '{argument}' must have a value when the table is made: {error}"
            ) from None
    with init_scope():
        made: _core.Tensor = convert_to_tensor(value, dtype=dtype)
    return made


class KeyValueTensorInitializer:
    """The keys and values of a table, as two vectors.

    >>> import penstock as tf
    >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> pairs.key_dtype.name, pairs.value_dtype.name
    ('string', 'int32')
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        """Take the keys and values.

        Args:
            keys: a vector of any dtype that has an order.
            values: as many values, of any dtype.
            key_dtype: the dtype of the keys; by default that which they have.
            value_dtype: the dtype of the values; by default that which they have.
            name: of no effect: it is no operation of a graph.

        Raises:
            ValueError: where there are not as many values as keys, and for tensors without a value.
        """
        self._keys = with_value(keys, key_dtype, "keys")
        self._values = with_value(values, value_dtype, "values")
        if self._keys.shape.rank != 1 or self._keys.shape._dims != self._values.shape._dims:
            raise InvalidArgumentError(
                "arguments 'keys' and 'values' must be vectors of one length, "
                f"got shapes {self._keys.shape} and {self._values.shape}"
            )

    @property
    def key_dtype(self) -> _core.DType:
        """The dtype of the keys."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> _core.DType:
        """The dtype of the values."""
        return self._values.dtype

    def initialize(self, table: _Fillable) -> None:
        """Put the keys and values into a table, which calls this when it is made.

        Args:
            table: the table.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a"], [1])
        >>> int(tf.lookup.StaticHashTable(pairs, 0).size())
        1
        """
        table._fill(self._keys, self._values)


class TextFileInitializer(KeyValueTensorInitializer):
    r"""The keys and values of a table, from the lines of a file.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("emerson\nlake\npalmer")
    >>> index = tf.lookup.TextFileIndex
    >>> lines = tf.lookup.TextFileInitializer(path, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    >>> tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["lake", "king"])).numpy().tolist()
    [1, -1]
    """

    def __init__(
        self,
        filename: str | bytes | os.PathLike[str],
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        """Read the file.

        Args:
            filename: the path.
            key_dtype: the dtype of the keys: strings or integers.
            key_index: the column of the keys, or a constant of `TextFileIndex`.
            value_dtype: the dtype of the values.
            value_index: the column of the values, or a constant of `TextFileIndex`.
            vocab_size: how many lines to read; by default, and for -1, all.
            delimiter: what is between columns.
            name: of no effect: it is no operation of a graph.
            value_index_offset: what is added to the number of a line where that is the value.

        Raises:
            NotFoundError: where there is no such file.
            FailedPreconditionError: for a directory.
            ValueError: for a line that lacks the column, or is no number where one is expected.
        """
        with engine_errors():
            lines = Path(os.fsdecode(filename)).read_bytes().splitlines()
        if vocab_size is not None and vocab_size != -1:
            if not 0 < vocab_size <= len(lines):
                raise InvalidArgumentError(
                    f"argument 'vocab_size' is {vocab_size}; {os.fsdecode(filename)} has {len(lines)} lines"
                )
            lines = lines[:vocab_size]
        keys = _column(lines, key_index, delimiter, _core.DType(key_dtype), 0, "key_index")
        offset = value_index_offset
        values = _column(lines, value_index, delimiter, _core.DType(value_dtype), offset, "value_index")
        super().__init__(keys, values, name=name)


def _column(
    lines: list[bytes], index: int, delimiter: str, dtype: _core.DType, offset: int, argument: str
) -> _core.Tensor:
    """What each line has at an index."""
    found: list[Any]
    if index == TextFileIndex.LINE_NUMBER:
        found = [number + offset for number in range(len(lines))]
    elif index == TextFileIndex.WHOLE_LINE:
        found = list(lines)
    else:
        try:
            found = [line.split(delimiter.encode())[index] for line in lines]
        except IndexError:
            raise InvalidArgumentError(
                f"argument '{argument}' is {index}, but a line has fewer columns"
            ) from None
    if dtype == _core.string:
        found = [item if isinstance(item, bytes) else str(item).encode() for item in found]
    else:
        found = [float(item) if dtype.is_floating else int(item) for item in found]
    with init_scope():
        return constant(found, dtype=dtype, shape=[len(found)])
