"""Sparse tensors, messages in JSON, compressed strings and graphs as bytes."""

import gzip
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import penstock as tf


def test_strings_are_decompressed() -> None:
    texts = [b"", b"one", bytes(10000)]
    for kind, press in (("ZLIB", zlib.compress), ("GZIP", gzip.compress), ("", bytes)):
        found = tf.io.decode_compressed([press(text) for text in texts], kind)
        assert found.numpy().tolist() == texts
    with pytest.raises(tf.errors.InvalidArgumentError, match="'compression_type'"):
        tf.io.decode_compressed([b""], "LZ4")
    for damaged in (b"no", zlib.compress(b"one")[:-3]):
        with pytest.raises(tf.errors.DataLossError, match="'bytes'"):
            tf.io.decode_compressed([damaged], "ZLIB")


def test_messages_in_json_are_those_of_tensorflow() -> None:
    text = """{"features": {"feature": {
        "n": {"int64List": {"value": ["9007199254740993", 2]}},
        "x": {"float_list": {"value": [0.5, "NaN", "-Infinity"]}},
        "b": {"bytesList": {"value": ["YWI=", "_-8"]}}}}}"""
    content = tf.io.decode_json_example([text, "{}"])
    found = tf.io.parse_example(
        content,
        {
            "n": tf.io.RaggedFeature(tf.int64),
            "x": tf.io.RaggedFeature(tf.float32),
            "b": tf.io.RaggedFeature(tf.string),
        },
    )
    assert found["n"].to_list() == [[9007199254740993, 2], []]
    np.testing.assert_array_equal(found["x"].to_list()[0], [0.5, np.nan, -np.inf])
    assert found["b"].to_list() == [[b"ab", b"\xff\xef"], []]
    for wrong in (
        "",
        "[]",
        '{"feature": {}}',
        '{"features": {"feature": {"n": {"int64List": {"value": ["x"]}}}}}',
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'json_examples'"):
            tf.io.decode_json_example(wrong)


@pytest.mark.parametrize("values", [[[0, 7, 0], [0, 0, 0], [8, 0, 9]], [["", "a"], ["b", ""]]])
def test_sparse_tensors_are_read_as_they_were_written(values: list) -> None:
    x = tf.sparse.from_dense(values)
    rows = tf.io.serialize_many_sparse(x)
    assert rows.shape == (len(values), 3)
    back = tf.io.deserialize_many_sparse(rows, x.dtype, rank=1)
    for a, b in zip(
        (x.indices, x.values, x.dense_shape), (back.indices, back.values, back.dense_shape), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    one = tf.io.serialize_sparse(x)
    indices, held, shape = (
        tf.io.parse_tensor(part, dtype)
        for part, dtype in zip(one, (tf.int64, x.dtype, tf.int64), strict=True)
    )
    dense = tf.constant(values).numpy()
    np.testing.assert_array_equal(tf.sparse.to_dense(tf.SparseTensor(indices, held, shape)), dense)
    stacked = tf.io.deserialize_many_sparse(tf.stack([one, one]), x.dtype)
    np.testing.assert_array_equal(tf.sparse.to_dense(stacked), [dense, dense])


def test_rows_of_several_widths_get_the_widest() -> None:
    rows = tf.stack([tf.io.serialize_sparse(tf.sparse.from_dense(v)) for v in ([1], [0, 0, 2])])
    found = tf.io.deserialize_many_sparse(rows, tf.int32)
    assert tf.sparse.to_dense(found).numpy().tolist() == [[1, 0, 0], [0, 0, 2]]
    for wrong in (tf.constant([["", "", ""]]), tf.io.serialize_many_sparse(tf.sparse.from_dense([[1.0]]))):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'serialized_sparse'"):
            tf.io.deserialize_many_sparse(wrong, tf.int32)
    with pytest.raises(ValueError, match="'serialized_sparse'"):
        tf.io.deserialize_many_sparse([["", ""]], tf.int32)
    with pytest.raises(TypeError, match="'sp_input'"):
        tf.io.serialize_sparse([1])


def test_graphs_are_written(tmp_path: Path) -> None:
    graph = tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([], "float32")).graph
    text = Path(tf.io.write_graph(graph, tmp_path / "new", "graph.pbtxt")).read_text()
    assert 'op: "AddV2"' in text
    assert text.count("node {") == len(graph.as_graph_def().node)
    path = tf.io.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pb", as_text=False)
    (found,) = tf.import_graph_def(Path(path).read_bytes(), {"x": 3.0}, ["Identity:0"])
    assert found.numpy() == 6.0
    host = tf.function(lambda x: tf.numpy_function(abs, [x], tf.float32))
    listed = tf.io.write_graph(
        host.get_concrete_function(tf.TensorSpec([])).graph, str(tmp_path), "host.pb", as_text=False
    )
    assert b"Placeholder" in Path(listed).read_bytes()
    with pytest.raises(TypeError, match="'graph_or_graph_def'"):
        tf.io.write_graph(1, tmp_path, "x")


def test_rows_of_a_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE t (n INTEGER, x REAL, word TEXT)")
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i, i / 2, f"w{i}") for i in range(100)])
    query = "SELECT word, x, n FROM t WHERE n < 50 ORDER BY n DESC"
    ds = tf.data.experimental.SqlDataset("sqlite", str(path), query, (tf.string, tf.float64, tf.int64))
    rows = [(w.numpy(), float(x), int(n)) for w, x, n in ds]
    assert rows == [(f"w{i}".encode(), i / 2, i) for i in reversed(range(50))]
    assert len(list(ds)) == 50
    with pytest.raises(tf.errors.InvalidArgumentError, match="'driver_name'"):
        tf.data.experimental.SqlDataset("mysql", str(path), query, tf.string)
    with pytest.raises(tf.errors.UnknownError, match="no such table"):
        list(tf.data.experimental.SqlDataset("sqlite", str(path), "SELECT * FROM u", tf.string))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'output_types'"):
        list(tf.data.experimental.SqlDataset("sqlite", str(path), query, tf.string))
