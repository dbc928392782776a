"""Data sets of Arrow tables, files and streams, and of Ray."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest

import penstock as tf


def rows(dataset: Any) -> list[dict[str, Any]]:
    return [{name: np.asarray(x).tolist() for name, x in row.items()} for row in dataset]


NUMBERS = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_of_every_type_are_those_of_the_table(dtype: str) -> None:
    table = pa.table({"x": pa.array(np.arange(5, dtype=dtype))})
    dataset = tf.data.Dataset.from_arrow(table)
    assert dataset.element_spec == {"x": tf.TensorSpec([], dtype)}
    assert rows(dataset) == [{"x": i} for i in range(5)]
    assert rows(dataset) == rows(dataset)


def test_other_columns_become_what_tensors_have() -> None:
    day = datetime.date(1970, 1, 3)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 2)
    table = pa.table(
        {
            "text": ["a", "bc"],
            "bytes": [b"\x00", b""],
            "flag": [True, False],
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "matrix": pa.array([[[1], [2]], [[3], [4]]], pa.list_(pa.list_(pa.int16(), 1), 2)),
            "kind": pa.array(["u", "v"]).dictionary_encode(),
            "day": pa.array([day, day]),
            "moment": pa.array([moment, moment], pa.timestamp("ms")),
        }
    )
    first, second = rows(tf.data.Dataset.from_arrow(table))
    assert first == {
        "text": b"a",
        "bytes": b"\x00",
        "flag": True,
        "vector": [1.0, 2.0],
        "matrix": [[1], [2]],
        "kind": b"u",
        "day": 2,
        "moment": 2000,
    }
    assert second["vector"] == [3.0, 4.0]
    assert second["matrix"] == [[3], [4]]


def test_numbers_are_not_copied() -> None:
    column = pc.add(pa.array(np.arange(100_000, dtype="float32")), 1.0)
    whole = tf.data.Dataset.from_arrow(pa.table({"x": column})).batch(100_000)
    (batch,) = whole
    address = batch["x"].numpy().__array_interface__["data"][0]
    assert address == column.buffers()[1].address


def test_parts_of_tables_have_their_rows() -> None:
    table = pa.concat_tables(
        [pa.table({"x": [1, 2, 3]}), pa.table({"x": [4]}), pa.table({"x": pa.array([], pa.int64())})]
    )
    assert rows(tf.data.Dataset.from_arrow(table.slice(1, 3))) == [{"x": 2}, {"x": 3}, {"x": 4}]
    assert rows(tf.data.Dataset.from_arrow(table.slice(4))) == []
    assert rows(tf.data.Dataset.from_arrow(table.to_batches()[0])) == [{"x": 1}, {"x": 2}, {"x": 3}]


def test_columns_are_chosen() -> None:
    table = pa.table({"a": [1], "b": [2], "c": [3]})
    assert rows(tf.data.Dataset.from_arrow(table, ["c", "a"])) == [{"c": 3, "a": 1}]


def test_files_are_read_again_in_each_epoch(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(1000), "y": np.arange(1000) * 0.5})
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=300)
    pa.feather.write_feather(table, tmp_path / "t.feather", compression="uncompressed", chunksize=300)
    for name in ("t.parquet", "t.feather"):
        dataset = tf.data.Dataset.from_arrow(tmp_path / name).batch(1000)
        for _ in range(2):
            (batch,) = dataset
            np.testing.assert_array_equal(batch["x"], np.arange(1000))
            np.testing.assert_array_equal(batch["y"], np.arange(1000) * 0.5)


def test_a_stream_is_read_once() -> None:
    table = pa.table({"x": [1, 2]})
    dataset = tf.data.Dataset.from_arrow(table.to_reader())
    assert rows(dataset) == [{"x": 1}, {"x": 2}]
    with pytest.raises(Exception, match="read once"):
        rows(dataset)


def test_a_traced_loop_goes_over_rows() -> None:
    dataset = tf.data.Dataset.from_arrow(pa.table({"x": np.arange(10.0)}))

    @tf.function
    def total() -> tf.Tensor:
        found = tf.constant(0.0, tf.float64)
        for row in dataset:
            found += row["x"]
        return found

    assert float(total()) == 45.0


def test_what_no_tensor_has_is_named() -> None:
    with pytest.raises(TypeError, match="argument 'source'"):
        tf.data.Dataset.from_arrow([1])
    with pytest.raises(ValueError, match="argument 'source' must end in"):
        tf.data.Dataset.from_arrow("a.csv")
    with pytest.raises(ValueError, match=r"'z'.* not among"):
        tf.data.Dataset.from_arrow(pa.table({"a": [1]}), ["z"])
    with pytest.raises(TypeError, match="column 'a' has type list"):
        tf.data.Dataset.from_arrow(pa.table({"a": [[1], [2, 3]]}))
    with pytest.raises(Exception, match="column 'a' has 1 missing values"):
        rows(tf.data.Dataset.from_arrow(pa.table({"a": [1, None]})))
    with pytest.raises(TypeError, match="argument 'iterator'"):
        tf.data.Dataset.from_ray([1])
