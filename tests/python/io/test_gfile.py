"""Files and directories by `tf.io.gfile`."""

import pytest

import penstock as tf

gfile = tf.io.gfile


def test_files_are_written_read_copied_renamed_and_removed(tmp_path):
    path = gfile.join(tmp_path, "a", "words.txt")
    gfile.makedirs(tmp_path / "a")
    with gfile.GFile(path, "w") as file:
        file.write("one\ntwo\n")
    assert list(gfile.GFile(path)) == ["one\n", "two\n"]
    assert gfile.stat(path).length == gfile.GFile(path, "rb").size() == 8
    gfile.copy(path, tmp_path / "copy")
    gfile.rename(tmp_path / "copy", tmp_path / "b")
    assert gfile.listdir(tmp_path) == ["a", "b"]
    assert gfile.glob(tmp_path / "*" / "*.txt") == [path]
    assert [names for _, *names in gfile.walk(tmp_path)] == [[["a"], ["b"]], [[], ["words.txt"]]]
    gfile.remove(tmp_path / "b")
    gfile.rmtree(tmp_path / "a")
    assert not gfile.exists(path)
    assert gfile.isdir(tmp_path)


def test_errors_are_those_of_the_engine(tmp_path):
    absent = tmp_path / "absent"
    for function in (
        gfile.stat,
        gfile.remove,
        gfile.rmtree,
        gfile.listdir,
        lambda path: gfile.GFile(path).read(),
    ):
        with pytest.raises(tf.errors.NotFoundError, match="absent"):
            function(absent)
    gfile.mkdir(absent)
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.mkdir(absent)
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.AlreadyExistsError, match="'overwrite' is False"):
        gfile.copy(tmp_path / "file", absent)
