"""Data sets of what files hold: lines, records of one length, and TensorFlow's records."""

import gzip

import pytest

import penstock as tf

Dataset = tf.data.Dataset


def listed(dataset):
    return [x.tolist() for x in dataset]


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_written_records_come_back(compression, tmp_path):
    words = Dataset.from_tensor_slices(["a", "", "long " * 1000])
    tf.data.experimental.TFRecordWriter(tmp_path / "file", compression).write(words)
    assert listed(tf.data.TFRecordDataset(str(tmp_path / "file"), compression)) == listed(words)
    with pytest.raises(TypeError, match="scalar strings"):
        tf.data.experimental.TFRecordWriter(tmp_path / "file").write(Dataset.range(3))
    with pytest.raises(ValueError, match="compression_type"):
        tf.data.experimental.TFRecordWriter(tmp_path / "file", "LZMA")


def test_lines_of_files(tmp_path):
    first, second, third = (tmp_path / name for name in "abc")
    first.write_bytes(b"one\r\ntwo\n\nfour")
    second.write_bytes(b"")
    third.write_bytes(gzip.compress(b"five\n"))
    names = [str(first), str(second)]
    expected = [b"one", b"two", b"", b"four"]
    assert listed(tf.data.TextLineDataset(names)) == expected
    assert listed(tf.data.TextLineDataset(Dataset.from_tensor_slices(names)).batch(3)) == [
        expected[:3],
        expected[3:],
    ]
    assert listed(tf.data.TextLineDataset(third, "GZIP").map(tf.strings.length)) == [4]
    flat = Dataset.from_tensor_slices(names).flat_map(tf.data.TextLineDataset)
    assert listed(flat) == expected
    with pytest.raises(tf.errors.NotFoundError, match="filenames"):
        listed(tf.data.TextLineDataset(str(tmp_path / "nothing")))
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression_type"):
        tf.data.TextLineDataset(names, "LZMA")
    with pytest.raises(TypeError, match="filenames"):
        tf.data.TextLineDataset(3)


def test_records_of_one_length(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"HHaabbccF")
    assert listed(tf.data.FixedLengthRecordDataset(str(path), 2, 2, 1)) == [b"aa", b"bb", b"cc"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple of 2"):
        listed(tf.data.FixedLengthRecordDataset(str(path), 2))


# A file that TensorFlow wrote: two records, `ab` and the empty one.
RECORDS = bytes.fromhex("020000000000000078270b3461621cb0f0f4000000000000000029039807d8ea82a2")


def test_records_of_tensorflow(tmp_path):
    path = tmp_path / "records"
    tf.data.experimental.TFRecordWriter(path).write(Dataset.from_tensor_slices(["ab", ""]))
    assert path.read_bytes() == RECORDS
    assert listed(tf.data.TFRecordDataset([str(path), str(path)])) == [b"ab", b""] * 2


def test_a_directory_is_no_file_of_records(tmp_path):
    with pytest.raises(tf.errors.FailedPreconditionError, match="filenames"):
        listed(tf.data.TFRecordDataset(str(tmp_path)))


def test_files_that_are_not_compressed_as_was_said_are_corrupted(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    for compression in ("GZIP", "ZLIB"):
        with pytest.raises(tf.errors.DataLossError, match="corrupted"):
            listed(tf.data.TextLineDataset(str(path), compression))
