"""Data sets of the lines of CSV files."""

from __future__ import annotations

import csv as _csv
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from penstock import _core, raw_ops
from penstock._runtime.arguments import items, results
from penstock._runtime.records import COMPRESSIONS, Reading, opened
from penstock._types.specs import TensorSpec
from penstock.data._arguments import integer
from penstock.data._dataset import Dataset
from penstock.data._node import Kind
from penstock.data._rows import Pull, Rows
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, PathLike

__all__ = ["CsvDataset", "make_csv_dataset"]

_DTYPES = (_core.int32, _core.int64, _core.float32, _core.float64, _core.string)


def _lines(file: IO[bytes], quotes: bool) -> Iterator[bytes]:
    """The lines of a file without their ends; a quoted field may have line breaks."""
    held = b""
    for line in file:
        held = held + line if held else line
        if quotes and held.count(b'"') % 2:
            continue
        yield held.removesuffix(b"\n").removesuffix(b"\r")
        held = b""
    if held:
        yield held.removesuffix(b"\n").removesuffix(b"\r")


def _read(names: Any, compression: str | None, header: bool, attrs: dict[str, Any], *defaults: Any) -> Pull:
    def pieces() -> Iterator[bytes]:
        for name in np.atleast_1d(names.numpy()).tolist():
            text = name.decode()
            with Reading(text), opened(text, compression) as file:
                lines = _lines(file, attrs["use_quote_delim"])
                yield from itertools.islice(lines, 1, None) if header else lines

    source = pieces()
    # Lines of a piece that has a bad one: they are read one by one, so that the error comes at its line.
    waiting: list[bytes] = []

    def fields(lines: list[bytes]) -> Rows:
        # A line of one field may be empty.
        whole = [line or b'""' for line in lines] if len(defaults) == 1 else lines
        columns = results(raw_ops.decode_csv(_core._to_tensor(whole, _core.string), *defaults, **attrs))
        return Rows(len(lines), columns)

    def pull(limit: int) -> Rows | None:
        if waiting:
            return fields([waiting.pop(0)])
        lines = list(itertools.islice(source, limit))
        if not lines:
            return None
        try:
            return fields(lines)
        except InvalidArgumentError:
            if len(lines) == 1:
                raise
            waiting.extend(lines)
            return fields([waiting.pop(0)])

    return pull


_CSV = Kind("CSV", _read)


def _default(value: Any) -> _core.Tensor:
    """What stands for a field that is missing; of a dtype alone, nothing does.

    Raises:
        ValueError: for more than one element.
        TypeError: for a dtype that fields do not have.
    """
    if isinstance(value, _core.DType) or (isinstance(value, type) and issubclass(value, int | float | str)):
        dtype = _core.DType(value)
        found = raw_ops.zeros_like(_core._to_tensor([], dtype=dtype)) if dtype != _core.string else None
        found = _core._to_tensor([], dtype=_core.string) if found is None else found
    else:
        found = _core._to_tensor(value)
    if found.dtype not in _DTYPES:
        raise TypeError(f"argument 'record_defaults' has dtype {found.dtype.name}, which is none of fields")
    if (found.shape.num_elements() or 0) > 1:
        raise InvalidArgumentError(
            f"argument 'record_defaults' must have one element each, got shape {found.shape}"
        )
    return found


def _names(filenames: Any) -> _core.Tensor:
    """The names of files, a string or a vector of them.

    Raises:
        TypeError: where they are none.
    """
    if isinstance(filenames, Dataset):
        filenames = [str(x, "utf8") for x in filenames.as_numpy_iterator()]
    if isinstance(filenames, list | tuple | Path):
        several = isinstance(filenames, list | tuple)
        found = [str(f) for f in filenames] if several else str(filenames)  # type: ignore[union-attr]
        filenames = _core._to_tensor(found, dtype=_core.string)
    names = _core._to_tensor(filenames)
    if names.dtype != _core.string or names.shape.rank not in (0, 1):
        raise TypeError(f"argument 'filenames' must be a string or a vector of them, got {filenames!r}")
    return names


class CsvDataset(Dataset[Any]):
    r"""The lines of CSV files, each a tuple of its fields.

    Args:
        filenames: a name, several, a tensor or a data set of them.
        record_defaults: for each field that is read a tensor of one element, which stands where there is
            none, or a dtype where there must be one: `float32`, `float64`, `int32`, `int64` or `string`.
        compression_type: None, `"GZIP"` or `"ZLIB"`.
        buffer_size: accepted and ignored.
        header: whether the first line of each file is left out.
        field_delim: the character between fields.
        use_quote_delim: whether a field may be in double quotes, where two of them stand for one.
        na_value: what stands for no value.
        select_cols: the indices of the fields that are read, in rising order; all by default.
        exclude_cols: the indices of the fields that are not read, where `select_cols` is not given.

    Raises:
        InvalidArgumentError: for another compression, both selections, and such that do not rise; when it
            runs, for lines of another number of fields, and fields that are missing or no number of their
            dtype.
        TypeError: for names that are no strings, and other dtypes.
        ValueError: for a default of more than one element.

    >>> import pathlib, tempfile
    >>> import penstock as tf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_text("n,word\n1,one\n,two\n")
    >>> ds = tf.data.experimental.CsvDataset(path, [0, tf.string], header=True)
    >>> [(int(n), word.numpy()) for n, word in ds]
    [(1, b'one'), (0, b'two')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[IntLike] | None = None,
        exclude_cols: Sequence[IntLike] | None = None,
    ) -> None:
        names = _names(filenames)
        defaults = [_default(value) for value in items(record_defaults, "record_defaults")]
        if compression_type not in COMPRESSIONS:
            raise InvalidArgumentError(
                f"argument 'compression_type' must be one of {COMPRESSIONS}, got {compression_type!r}"
            )
        if select_cols is not None and exclude_cols is not None:
            raise InvalidArgumentError("only one of 'select_cols' and 'exclude_cols' may be given")
        chosen = None
        if select_cols is not None:
            chosen = [integer(i, "select_cols", 0) for i in items(select_cols, "select_cols")]
        if exclude_cols is not None:
            left_out = {integer(i, "exclude_cols", 0) for i in items(exclude_cols, "exclude_cols")}
            kept = (i for i in itertools.count() if i not in left_out)
            chosen = list(itertools.islice(kept, len(defaults)))
        if chosen is not None and (
            len(chosen) != len(defaults) or any(a >= b for a, b in itertools.pairwise(chosen))
        ):
            raise InvalidArgumentError(
                f"argument 'select_cols' must rise and have {len(defaults)} indices, got {chosen}"
            )
        attrs = {
            "field_delim": field_delim,
            "use_quote_delim": bool(use_quote_delim),
            "na_value": na_value,
            "select_cols": chosen,
        }
        spec = tuple(TensorSpec([], default.dtype) for default in defaults)
        super().__init__(_CSV, [], [names, compression_type, bool(header), attrs, *defaults], spec)


def _kind(text: str, na_value: str, before: _core.DType | None) -> _core.DType | None:
    """The first dtype, not before that of other lines, that holds the text of a field."""
    if text in ("", na_value):
        return before
    first = 0 if before is None else _DTYPES.index(before)
    return next(dtype for dtype in _DTYPES[first:] if _holds(dtype, text))


def _holds(dtype: _core.DType, text: str) -> bool:
    if dtype == _core.string:
        return True
    try:
        if dtype.is_integer:
            info = np.iinfo(dtype.as_numpy_dtype)
            return bool(info.min <= int(text) <= info.max)
        value = float(text)
    except ValueError:
        return False
    limit = float(np.finfo(dtype.as_numpy_dtype).max)
    return -limit <= value <= limit


class _Head:
    """The first lines of CSV files, taken apart by Python's own reader."""

    def __init__(
        self,
        paths: list[str],
        compression: str | None,
        delimiter: str,
        quotes: bool,
        header: bool,
        encoding: str,
    ) -> None:
        self._paths, self._compression, self._header, self._encoding = paths, compression, header, encoding
        self._style: dict[str, Any] = {"delimiter": delimiter}
        if not quotes:
            self._style["quoting"] = _csv.QUOTE_NONE

    def _lines(self, path: str) -> Iterator[list[str]]:
        with Reading(path), opened(path, self._compression) as file:
            text = (line.decode(self._encoding) for line in file)
            yield from _csv.reader(text, **self._style)

    def names(self) -> list[str]:
        """The names of columns in the first file, which all files must have.

        Raises:
            ValueError: where another file has others.
        """
        found = next(self._lines(self._paths[0]), [])
        if self._header:
            for path in self._paths[1:]:
                if next(self._lines(path), []) != found:
                    raise InvalidArgumentError(
                        f"argument 'file_pattern': {path} has other columns than the first file"
                    )
        return found

    def kinds(self, columns: list[int], width: int, na_value: str, rows: int | None) -> list[_core.DType]:
        """The dtypes of columns, as far as the first lines tell.

        Raises:
            ValueError: for a line of another number of fields.
        """
        found: list[_core.DType | None] = [None] * len(columns)
        lines = (
            line
            for path in self._paths
            for line in itertools.islice(self._lines(path), int(self._header), None)
        )
        for line in itertools.islice(lines, rows):
            if len(line) != width:
                raise InvalidArgumentError(
                    f"argument 'file_pattern': a line has {len(line)} fields, not {width}: {line}"
                )
            found = [_kind(line[i], na_value, before) for i, before in zip(columns, found, strict=True)]
        return [_core.string if dtype is None else dtype for dtype in found]


def _columns(select_columns: Any, names: list[str]) -> list[int]:
    """The indices of columns by index or name, in rising order.

    Raises:
        ValueError: for such that are not there, and for one that is named twice.
    """
    if select_columns is None:
        return list(range(len(names)))
    found = []
    for column in select_columns:
        if isinstance(column, str):
            if column not in names:
                raise InvalidArgumentError(f"argument 'select_columns': there is no column {column!r}")
            found.append(names.index(column))
        else:
            found.append(integer(column, "select_columns", 0))
            if found[-1] >= len(names):
                raise InvalidArgumentError(f"argument 'select_columns': there is no column {column}")
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f"argument 'select_columns' has a column twice: {list(select_columns)}")
    return sorted(found)


def files_of(file_pattern: Any) -> list[str]:
    """The names of the files that match patterns, in order.

    Raises:
        ValueError: where there are none.
    """
    from penstock.io import gfile  # files know of data sets when these are used

    patterns = file_pattern if isinstance(file_pattern, list | tuple) else [file_pattern]
    found = sorted(name for pattern in patterns for name in gfile.glob(str(pattern)))
    if not found:
        raise InvalidArgumentError(f"argument 'file_pattern': no files match {file_pattern!r}")
    return found


def ordered(
    dataset: Dataset[Any], shuffle: bool, buffer_size: Any, seed: Any, num_epochs: Any
) -> Dataset[Any]:
    """The elements in the order that readers of files give them."""
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def make_csv_dataset(
    file_pattern: PathLike | Sequence[PathLike],
    batch_size: IntLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: IntLike | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntLike = 10000,
    shuffle_seed: IntLike | None = None,
    prefetch_buffer_size: IntLike | None = None,
    num_parallel_reads: IntLike | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset[Any]:
    r"""Read CSV files as batches of named columns.

    Args:
        file_pattern: a name or a pattern of names, or several.
        batch_size: how many lines are a batch.
        column_names: the names of all columns; those of the first line by default.
        column_defaults: for each column that is read a default or a dtype, as `CsvDataset` has them; by
            default a dtype that the first lines fit in, and 0 or an empty string.
        label_name: a column that is an element of its own, beside the others.
        select_columns: the columns that are read, by index or name; all by default.
        field_delim: the character between fields.
        use_quote_delim: whether a field may be in double quotes, where two of them stand for one.
        na_value: what stands for no value.
        header: whether the first line of each file has names.
        num_epochs: how often files are read; without end by default, and then each batch is full.
        shuffle: whether lines come in a random order.
        shuffle_buffer_size: how many lines are drawn from.
        shuffle_seed: an integer that fixes the orders.
        prefetch_buffer_size: how many batches a thread computes ahead, one by default.
        num_parallel_reads: how many files are read at once, one by default.
        sloppy: accepted; lines of several files come in turn.
        num_rows_for_inference: how many lines tell the dtypes; all for None.
        compression_type: None, `"GZIP"` or `"ZLIB"`.
        ignore_errors: whether lines with errors are left out.
        encoding: of the names of columns.

    Returns:
        A data set of ordered dicts of columns; with `label_name` of pairs of one and the label.

    Raises:
        ValueError: for no files, names and columns that are not there, and other numbers of them.
        InvalidArgumentError: when it runs, for lines that do not fit.

    >>> import pathlib, tempfile
    >>> import penstock as tf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_text("n,word\n1,one\n2,two\n")
    >>> ds = tf.data.experimental.make_csv_dataset(path, 2, label_name="n", num_epochs=1, shuffle=False)
    >>> for features, label in ds:
    ...     print(features["word"].numpy(), label.numpy())
    [b'one' b'two'] [1 2]
    """
    paths = files_of(file_pattern)
    head = _Head(paths, compression_type, field_delim, use_quote_delim, header, encoding)
    if column_names is None:
        if not header:
            raise InvalidArgumentError("argument 'column_names' must be given where files have no header")
        names = head.names()
    else:
        names = list(column_names)
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"argument 'column_names' has a name twice: {names}")
    columns = _columns(select_columns, names)
    if column_defaults is None:
        kinds = head.kinds(columns, len(names), na_value, num_rows_for_inference)
        column_defaults = [
            _core._to_tensor([b"" if kind == _core.string else 0], dtype=kind) for kind in kinds
        ]
    elif len(column_defaults) != len(columns):
        raise InvalidArgumentError(
            f"argument 'column_defaults' has {len(column_defaults)} items for {len(columns)} columns"
        )
    chosen = [names[i] for i in columns]
    if label_name is not None and label_name not in chosen:
        raise InvalidArgumentError(f"argument 'label_name': {label_name!r} is none of the columns {chosen}")

    def read(name: Any) -> Dataset[Any]:
        dataset: Dataset[Any] = CsvDataset(
            name,
            column_defaults,
            compression_type,
            None,
            header,
            field_delim,
            use_quote_delim,
            na_value,
            columns if select_columns is not None else None,
        )
        return dataset.ignore_errors() if ignore_errors else dataset

    def named(*fields: Any) -> Any:
        features = OrderedDict(zip(chosen, fields, strict=True))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    if len(paths) == 1:
        dataset = read(paths)
    else:
        files = Dataset.from_tensor_slices(paths)
        if shuffle:
            files = files.shuffle(len(paths), shuffle_seed)
        dataset = files.interleave(read, cycle_length=num_parallel_reads or 1)
    dataset = ordered(dataset, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)
