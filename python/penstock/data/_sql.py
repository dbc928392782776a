"""Data sets of what a database answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._types.specs import TensorSpec
from penstock.data._dataset import Dataset
from penstock.data._node import Kind
from penstock.data._rows import Pull, Rows
from penstock.errors import InvalidArgumentError, UnknownError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike

__all__ = ["SqlDataset"]


def _text(value: Any) -> bytes:
    if value is None:
        return b""
    return value if isinstance(value, bytes) else str(value).encode()


def _column(values: Sequence[Any], dtype: _core.DType) -> _core.Tensor:
    if dtype == _core.string:
        return _core._to_tensor([_text(value) for value in values], dtype=_core.string)
    known = [0 if value is None else value for value in values]
    return _core._to_tensor(np.array(known).astype(dtype.as_numpy_dtype))


def _answers(path: Any, query: Any, dtypes: tuple[_core.DType, ...]) -> Pull:
    import sqlite3  # few programs have a database

    source: Any = None

    def pull(limit: int) -> Rows | None:
        nonlocal source
        try:
            if source is None:
                connection = sqlite3.connect(f"file:{path.numpy().decode()}?mode=ro", uri=True)
                source = connection.execute(query.numpy().decode())
            found = source.fetchmany(limit)
        except sqlite3.Error as error:
            raise UnknownError(f"argument 'query': {error}") from None
        if not found:
            return None
        if len(found[0]) != len(dtypes):
            raise InvalidArgumentError(
                f"argument 'output_types' has {len(dtypes)} dtypes for {len(found[0])} columns"
            )
        columns = zip(*found, strict=True)
        return Rows(len(found), [_column(c, d) for c, d in zip(columns, dtypes, strict=True)])

    return pull


_SQL = Kind("Sql", _answers)


class SqlDataset(Dataset[Any]):
    """The rows that a query of an SQLite database gives, each a tuple.

    Args:
        driver_name: `"sqlite"`.
        data_source_name: the path of the database.
        query: the query, in SQL.
        output_types: the dtypes of the columns. NULL is 0 or an empty string.

    Raises:
        InvalidArgumentError: for another driver; when it runs, for another number of columns.
        UnknownError: when it runs, for what the database refuses.

    >>> import contextlib, pathlib, sqlite3, tempfile
    >>> import penstock as tf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.db")
    >>> with contextlib.closing(sqlite3.connect(path)) as db, db:
    ...     _ = db.execute("CREATE TABLE t (n INTEGER, word TEXT)")
    ...     _ = db.execute("INSERT INTO t VALUES (1, 'one'), (2, NULL)")
    >>> ds = tf.data.experimental.SqlDataset("sqlite", str(path), "SELECT * FROM t", (tf.int32, tf.string))
    >>> [(int(n), word.numpy()) for n, word in ds]
    [(1, b'one'), (2, b'')]
    """

    __slots__ = ()

    def __init__(self, driver_name: str, data_source_name: Any, query: Any, output_types: Any) -> None:
        if driver_name != "sqlite":
            raise InvalidArgumentError(f"argument 'driver_name' must be 'sqlite', got {driver_name!r}")
        given: Sequence[DTypeLike] = (
            output_types if isinstance(output_types, list | tuple) else (output_types,)
        )
        dtypes = tuple(_core.DType(dtype) for dtype in given)
        path, text = (_core._to_tensor(str(value)) for value in (data_source_name, query))
        spec = tuple(TensorSpec([], dtype) for dtype in dtypes)
        super().__init__(_SQL, [], [path, text, dtypes], spec)
