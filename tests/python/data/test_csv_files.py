"""Data sets of the lines of CSV files."""

import gzip
from pathlib import Path

import pytest

import penstock as tf
from penstock.data import experimental


def file(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def rows(dataset: tf.data.Dataset) -> list[tuple]:
    return [tuple(x.numpy() for x in row) for row in dataset]


def test_lines_are_tuples_of_fields(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", 'n,word,x\r\n1,"two\nlines",0.5\r\n2,,\r\n')
    ds = experimental.CsvDataset(path, [tf.int32, "none", 7.0], header=True)
    assert ds.element_spec == (
        tf.TensorSpec([], tf.int32),
        tf.TensorSpec([], tf.string),
        tf.TensorSpec([], tf.float32),
    )
    assert rows(ds) == [(1, b"two\nlines", 0.5), (2, b"none", 7.0)]
    assert rows(ds) == rows(ds)
    for chosen in ({"select_cols": [0, 2]}, {"exclude_cols": [1]}):
        found = experimental.CsvDataset(path, [tf.int32, 7.0], header=True, **chosen)
        assert rows(found) == [(1, 0.5), (2, 7.0)]
    several = experimental.CsvDataset([path, path], [tf.int32], header=True, select_cols=[0])
    assert [int(x) for (x,) in several] == [1, 2, 1, 2]


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1;NA\n2;3\n"))
    ds = experimental.CsvDataset(str(path), [0, 9], compression_type="GZIP", field_delim=";", na_value="NA")
    assert rows(ds) == [(1, 9), (2, 3)]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'compression_type'"):
        experimental.CsvDataset(str(path), [0], compression_type="LZ4")


def test_an_error_comes_at_its_line(tmp_path: Path) -> None:
    lines = [f"{i}" for i in range(200)]
    lines[150] = "bad"
    path = file(tmp_path, "a.csv", "\n".join(lines))
    iterator = iter(experimental.CsvDataset(path, [tf.int32]))
    assert [int(next(iterator)[0]) for _ in range(150)] == list(range(150))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a valid int32: bad"):
        next(iterator)
    assert [int(x) for (x,) in iterator] == list(range(151, 200))
    kept = experimental.CsvDataset(path, [tf.int32]).ignore_errors()
    assert len(rows(kept)) == 199


def test_arguments_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'filenames'"):
        experimental.CsvDataset(1, [0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="only one of"):
        experimental.CsvDataset("a", [0], select_cols=[0], exclude_cols=[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'select_cols'"):
        experimental.CsvDataset("a", [0, 0], select_cols=[1, 0])
    with pytest.raises(TypeError, match="'record_defaults'"):
        experimental.CsvDataset("a", [tf.bool])
    with pytest.raises(tf.errors.NotFoundError):
        rows(experimental.CsvDataset(str(tmp_path / "none.csv"), [0]))


TEXT = "n,big,x,word,empty\n1,1,0.5,a,\n2,99999999999,1,b,\n,,,,\n"


def test_batches_of_columns_by_name(tmp_path: Path) -> None:
    file(tmp_path, "a.csv", TEXT)
    file(tmp_path, "b.csv", TEXT)
    pattern = str(tmp_path / "*.csv")
    ds = experimental.make_csv_dataset(pattern, 4, num_epochs=1, shuffle=False)
    first, last = ds
    assert list(first) == ["n", "big", "x", "word", "empty"]
    assert [x.dtype for x in first.values()] == [tf.int32, tf.int64, tf.float32, tf.string, tf.string]
    assert (first["n"].shape, last["n"].shape) == ((4,), (2,))
    assert sorted(first["n"].numpy().tolist() + last["n"].numpy().tolist()) == [0, 0, 1, 1, 2, 2]
    ds = experimental.make_csv_dataset(
        pattern, 3, label_name="word", select_columns=["word", 0], shuffle_seed=1
    )
    features, label = next(iter(ds))
    assert (list(features), label.shape) == (["n"], (3,))
    # Without end, and each batch is full.
    assert [label.shape[0] for _, label in ds.take(5)] == [3] * 5


def test_names_and_defaults_that_are_given(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", "1,a\n,b\n3,c,extra\n")
    ds = experimental.make_csv_dataset(
        path,
        1,
        column_names=["n", "w"],
        column_defaults=[5, tf.string],
        header=False,
        num_epochs=1,
        shuffle=False,
        ignore_errors=True,
    )
    assert [(int(b["n"][0]), b["w"].numpy()[0]) for b in ds] == [(1, b"a"), (5, b"b")]
    for message, given in (
        ("'column_names' must be given", {"header": False}),
        ("'label_name'", {"column_names": ["n", "w"], "column_defaults": [0, ""], "label_name": "z"}),
        ("'column_defaults' has 1", {"column_names": ["n", "w"], "column_defaults": [0]}),
        ("'select_columns'", {"column_names": ["n", "w"], "select_columns": ["z"]}),
    ):
        with pytest.raises(ValueError, match=message):
            experimental.make_csv_dataset(path, 1, **given)
    with pytest.raises(ValueError, match="no files match"):
        experimental.make_csv_dataset(str(tmp_path / "*.txt"), 1)


def example(n: int) -> bytes:
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))
    return tf.train.Example(features=tf.train.Features(feature={"n": feature})).SerializeToString()


def test_files_of_examples(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with tf.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for n in range(3):
                writer.write(example(n))
    wanted = {"n": tf.io.FixedLenFeature([], tf.int64)}
    ds = experimental.make_batched_features_dataset(
        [str(tmp_path / "a"), str(tmp_path / "b")], 4, wanted, num_epochs=1, shuffle=False
    )
    assert [batch["n"].shape[0] for batch in ds] == [4, 2]
    ds = experimental.make_batched_features_dataset(
        str(tmp_path / "*"),
        5,
        {"n": wanted["n"], "m": tf.io.VarLenFeature(tf.int64)},
        label_key="n",
        drop_final_batch=True,
    )
    features, label = next(iter(ds))
    assert (sorted(features), label.shape) == (["m"], (5,))
    with pytest.raises(ValueError, match="'label_key'"):
        experimental.make_batched_features_dataset(str(tmp_path / "*"), 5, wanted, label_key="z")
