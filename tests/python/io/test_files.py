"""Whole files as operations, records that are written one by one, and examples in them."""

import pytest

import penstock as tf


def test_files_are_read_and_written_in_functions_in_order(tmp_path):
    path = str(tmp_path / "new" / "a.bin")

    @tf.function
    def twice(name, content):
        tf.io.write_file(name, content)
        first = tf.io.read_file(name)
        tf.io.write_file(name, first + content)
        return tf.io.read_file(name)

    assert twice(path, b"\x00\xff").numpy() == b"\x00\xff" * 2
    assert tf.io.read_file(path).numpy() == b"\x00\xff" * 2


@pytest.mark.parametrize("place", ["", "file://", "ram://"])
def test_paths_may_have_a_scheme(tmp_path, place):
    path = f"{place}{tmp_path}/new/a"

    @tf.function
    def there_and_back(path, content):
        tf.io.write_file(path, content)
        return tf.io.read_file(path)

    for content in (b"\x00\xff", b"", b"x" * 100_000):
        assert there_and_back(path, content).numpy() == content
        assert tf.io.read_file(path).numpy() == content
    rows = tf.data.Dataset.from_tensors(path).map(tf.io.read_file)
    assert [row.numpy() for row in rows.concatenate(rows.map(tf.strings.upper))] == [content, content.upper()]
    there = tf.function(tf.io.read_file)
    with pytest.raises(tf.errors.NotFoundError, match="absent"):
        there(f"{path} absent")


def test_a_scheme_that_nobody_knows_is_named():
    with pytest.raises(tf.errors.UnimplementedError, match="'nobody'"):
        tf.io.read_file("nobody://a")


def test_a_file_is_read_at_its_place_and_never_in_advance(tmp_path):
    path = str(tmp_path / "a")

    @tf.function
    def counted(times):
        for i in tf.range(times):
            tf.io.write_file(path, tf.strings.as_string(i))
        found = tf.io.read_file(path)
        return found, tf.io.read_file(path)

    assert [x.numpy() for x in counted(5)] == [b"4", b"4"]

    @tf.function
    def unused():
        tf.io.read_file(str(tmp_path / "absent"))
        return tf.constant(1)

    with pytest.raises(tf.errors.NotFoundError):
        unused()


def test_a_data_set_reads_the_files_that_match(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    found = tf.io.matching_files([str(tmp_path / "*.txt"), str(tmp_path / "a*")])
    rows = tf.data.Dataset.from_tensor_slices(found).map(tf.io.read_file)
    assert [row.numpy() for row in rows] == [b"a.txt", b"b.txt"]


def test_errors_of_files_are_those_of_the_engine(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"\[Errno 2\] No such file or directory: '.*absent'"):
        tf.io.read_file(str(tmp_path / "absent"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="directory"):
        tf.io.write_file(str(tmp_path), "content")
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.AlreadyExistsError, match="file"):
        tf.io.write_file(str(tmp_path / "file" / "in it"), "content")
    with pytest.raises(tf.errors.OpError):
        tf.io.read_file(str(tmp_path))
    with pytest.raises(TypeError, match="filename"):
        tf.io.read_file(3)
    with pytest.raises(TypeError, match="contents"):
        tf.io.write_file(str(tmp_path / "a"), 3)
    with pytest.raises(ValueError, match="pattern"):
        tf.io.matching_files([["a"]])


@pytest.mark.parametrize("compression", [None, "", "GZIP", "ZLIB"])
def test_records_that_are_written_come_back(tmp_path, compression):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression, compression_level=9)) as file:
        for record in (b"one", b"", b"\0" * 1000):
            file.write(record)
        file.flush()
    rows = tf.data.TFRecordDataset(path, compression_type=compression or "")
    assert [row.numpy() for row in rows] == [b"one", b"", b"\0" * 1000]
    with pytest.raises(RuntimeError, match="closed"):
        file.write(b"")


def test_bad_options_and_records_are_named(tmp_path):
    with pytest.raises(ValueError, match="compression_type"):
        tf.io.TFRecordOptions("LZ4")
    with pytest.raises(ValueError, match="compression_level"):
        tf.io.TFRecordOptions("GZIP", compression_level=10)
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as file, pytest.raises(TypeError, match="record"):
        file.write("text")
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.TFRecordWriter(str(tmp_path / "absent" / "a"))


def test_examples_are_the_bytes_of_tensorflow():
    feature = {
        "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"])),
        "f": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
        "i": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 300])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    content = example.SerializeToString()
    # What TensorFlow 2.21 writes of the same example.
    assert content.hex() == EXAMPLE
    again = tf.train.Example.FromString(content)
    assert again == example
    assert again.features.feature["i"].WhichOneof("kind") == "int64_list"
    assert list(again.features.feature["i"].int64_list.value) == [1, 300]
    changed = tf.train.Example()
    changed.features.feature["n"].int64_list.value.extend([1, 2])
    assert tf.train.Example.FromString(changed.SerializeToString()) == changed


EXAMPLE = "0a290a0a0a016212050a030a01780a0d0a0166120812060a040000003f0a0c0a016912071a050a0301ac02"


def test_examples_of_sequences_come_back():
    steps = [tf.train.Feature(float_list={"value": [step]}) for step in (1.0, 2.0)]
    row = tf.train.SequenceExample(
        context={"feature": {"id": {"int64_list": {"value": [7]}}}},
        feature_lists={"feature_list": {"x": tf.train.FeatureList(feature=steps)}},
    )
    again = tf.train.SequenceExample.FromString(row.SerializeToString())
    assert [f.float_list.value[0] for f in again.feature_lists.feature_list["x"].feature] == [1.0, 2.0]
    assert again == row
