"""Data sets of Arrow and of Ray, in batches. Arrow's memory never changes, so numbers are not copied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._ops.shapes import reshape
from penstock._types.specs import TensorSpec
from penstock.data._making import from_generator
from penstock.data._node import Stage
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["of_arrow", "of_ray"]


def _arrow() -> Any:
    """Arrow's package.

    Raises:
        ImportError: where it is not installed.
    """
    try:
        import pyarrow  # an extra
    except ImportError as error:
        raise ImportError("Arrow tables need pyarrow: pip install penstock-engine[arrow]") from error
    return pyarrow


def of_arrow(source: object, columns: Sequence[str] | None) -> Stage:
    """The batches of a table, a file or a stream.

    Raises:
        TypeError: for something else, and for columns whose type no tensor has.
        ValueError: for a file whose name does not say what it is, and for columns that are not there.
    """
    schema, batches = _stream_of(source)
    signature = _signature_of(schema, columns)
    return _stage(lambda: _batches_of(batches(), signature), signature)


def of_ray(iterator: Any, columns: Sequence[str] | None) -> Stage:
    """The batches of a data set of Ray, or of an iterator of one.

    Raises:
        TypeError: for something else, and for columns whose type no tensor has.
        ValueError: for columns that are not there.
    """
    if not callable(getattr(iterator, "iter_batches", None)) or not callable(
        getattr(iterator, "schema", None)
    ):
        raise TypeError(
            "argument 'iterator' must be a data set of Ray or an iterator of one, "
            f"got {type(iterator).__name__}"
        )
    schema = iterator.schema()
    signature = _signature_of(getattr(schema, "base_schema", schema), columns)

    def batches() -> Iterator[dict[str, _core.Tensor]]:
        for table in iterator.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from _batches_of(iter(table.to_batches()), signature)

    return _stage(batches, signature)


def _stage(batches: Callable[[], Iterator[dict[str, _core.Tensor]]], rows: dict[str, TensorSpec]) -> Stage:
    """Batches of such rows."""
    signature = {name: TensorSpec([None, *spec.shape], spec.dtype) for name, spec in rows.items()}
    return from_generator(batches, None, None, None, signature)


def _stream_of(source: object) -> tuple[Any, Callable[[], Iterator[pa.RecordBatch]]]:
    """The schema of a table, a file or a stream, and what gives its batches anew.

    Raises:
        TypeError: for something else.
        ValueError: for a file whose name does not say what it is.
    """
    arrow = _arrow()
    if isinstance(source, str | os.PathLike):
        return _file(os.fspath(source))
    if isinstance(source, arrow.RecordBatch):
        source = arrow.Table.from_batches([source])
    if isinstance(source, arrow.Table):
        return source.schema, lambda: iter(source.to_batches())
    if isinstance(source, arrow.RecordBatchReader):
        schema, rest = source.schema, [source]

        def once() -> Iterator[pa.RecordBatch]:
            if not rest:
                raise InvalidArgumentError(
                    "a stream of Arrow can be read once: give the table or the file, or use cache()"
                )
            yield from rest.pop()

        return schema, once
    raise TypeError(
        "argument 'source' must be a table, a batch or a reader of pyarrow, or a path, "
        f"got {type(source).__name__}"
    )


def _file(path: str) -> tuple[Any, Callable[[], Iterator[pa.RecordBatch]]]:
    """The same of a file, which is read a piece at a time."""
    end = path[path.rfind(".") :]
    if end == ".parquet":
        import pyarrow.parquet as parquet  # a module of its own

        return parquet.read_schema(path), lambda: parquet.ParquetFile(path).iter_batches()
    if end not in (".arrow", ".feather", ".ipc"):
        raise InvalidArgumentError(
            f"argument 'source' must end in .parquet, .arrow, .feather or .ipc, got {path!r}"
        )
    import pyarrow as arrow  # an extra

    def mapped() -> Iterator[pa.RecordBatch]:
        reader = arrow.ipc.open_file(arrow.memory_map(path))
        return (reader.get_batch(i) for i in range(reader.num_record_batches))

    return arrow.ipc.open_file(arrow.memory_map(path)).schema, mapped


def _signature_of(schema: Any, columns: Sequence[str] | None) -> dict[str, TensorSpec]:
    """What rows of a schema are, with the columns chosen.

    Raises:
        TypeError: for columns whose type no tensor has.
        ValueError: for columns that are not there.
    """
    chosen = list(schema.names) if columns is None else list(columns)
    missing = [name for name in chosen if name not in schema.names]
    if missing or not chosen:
        raise InvalidArgumentError(
            f"argument 'columns': {missing} are not among the columns {list(schema.names)}"
        )
    return {name: _spec(schema.field(name).type, name) for name in chosen}


def _spec(kind: Any, name: str) -> TensorSpec:
    types = _arrow().types
    if types.is_dictionary(kind):
        return _spec(kind.value_type, name)
    if types.is_fixed_size_list(kind):
        inner = _spec(kind.value_type, name)
        return TensorSpec([kind.list_size, *inner.shape], inner.dtype)
    if (
        types.is_string(kind)
        or types.is_binary(kind)
        or types.is_large_string(kind)
        or types.is_large_binary(kind)
    ):
        return TensorSpec([], _core.string)
    if types.is_boolean(kind):
        return TensorSpec([], _core.bool)
    if types.is_temporal(kind) and not types.is_interval(kind):
        return TensorSpec([], _core.int64 if kind.bit_width == 64 else _core.int32)
    if types.is_integer(kind) or types.is_floating(kind):
        return TensorSpec([], _core._to_tensor(kind.to_pandas_dtype()(0)).dtype)
    raise TypeError(f"argument 'columns': column {name!r} has type {kind}, which no tensor has")


def _batches_of(
    batches: Iterator[pa.RecordBatch], signature: dict[str, TensorSpec]
) -> Iterator[dict[str, _core.Tensor]]:
    """The columns of each batch as tensors."""
    for batch in batches:
        if batch.num_rows:
            yield {
                name: _column(batch.column(batch.schema.get_field_index(name)), name) for name in signature
            }


def _column(array: Any, name: str) -> _core.Tensor:
    """A column as a tensor, which shares the memory of numbers.

    Raises:
        ValueError: for missing values.
    """
    types = _arrow().types
    if array.null_count:
        raise InvalidArgumentError(
            f"column {name!r} has {array.null_count} missing values: fill or drop them first"
        )
    kind = array.type
    if types.is_dictionary(kind):
        return _column(array.dictionary_decode(), name)
    if types.is_fixed_size_list(kind):
        inner = _column(array.flatten(), name)
        return reshape(inner, [len(array), kind.list_size, *inner.shape[1:]])
    if types.is_boolean(kind):
        return _core._to_tensor(array.to_numpy(zero_copy_only=False))
    if types.is_temporal(kind):
        array = array.view("int64" if kind.bit_width == 64 else "int32")
    elif not (types.is_integer(kind) or types.is_floating(kind)):
        return _core._to_tensor(array.to_pylist(), _core.string)
    return _core._from_dlpack(array)
