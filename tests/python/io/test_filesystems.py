"""Files that are not of this machine: in the memory of the process, and where fsspec finds them."""

import itertools
import threading

import pytest

import penstock as tf
from penstock._runtime import filesystems

gfile = tf.io.gfile
NUMBERS = itertools.count()


@pytest.fixture(params=["local", "ram", "fsspec"])
def folder(request, tmp_path):
    """A new directory of each kind."""
    if request.param == "local":
        yield str(tmp_path)
        return
    if request.param == "fsspec":
        pytest.importorskip("fsspec", reason="fsspec is not installed")
    path = f"{'ram' if request.param == 'ram' else 'memory'}://folder{next(NUMBERS)}"
    gfile.makedirs(path)
    yield path
    if gfile.exists(path):
        gfile.rmtree(path)


def write(path, content):
    with gfile.GFile(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)


def test_files_are_written_read_listed_and_removed(folder):
    path = gfile.join(folder, "a", "b", "words.txt")
    gfile.makedirs(gfile.join(folder, "a", "b"))
    write(path, "one\ntwo\n")
    assert gfile.GFile(path).read() == "one\ntwo\n"
    assert gfile.GFile(path, "rb").read() == b"one\ntwo\n"
    assert list(gfile.GFile(path)) == ["one\n", "two\n"]
    assert gfile.stat(path).length == gfile.GFile(path).size() == 8
    assert not gfile.stat(path).is_directory
    assert gfile.exists(path)
    assert gfile.isdir(gfile.join(folder, "a"))
    assert not gfile.isdir(path)
    assert gfile.listdir(folder) == ["a"]
    assert gfile.listdir(gfile.join(folder, "a", "b")) == ["words.txt"]
    gfile.remove(path)
    assert not gfile.exists(path)
    gfile.rmtree(gfile.join(folder, "a"))
    assert gfile.listdir(folder) == []


def test_files_are_copied_and_renamed_within_and_between_kinds(folder, tmp_path):
    first, second = gfile.join(folder, "first"), gfile.join(folder, "second")
    write(first, "one")
    gfile.copy(first, second)
    gfile.rename(first, gfile.join(folder, "third"))
    assert gfile.listdir(folder) == ["second", "third"]
    with pytest.raises(tf.errors.AlreadyExistsError, match="'overwrite' is False"):
        gfile.copy(second, gfile.join(folder, "third"))
    gfile.copy(second, str(tmp_path / "here"))
    gfile.rename(str(tmp_path / "here"), gfile.join(folder, "there"))
    assert gfile.GFile(gfile.join(folder, "there")).read() == "one"
    assert not (tmp_path / "here").exists()
    gfile.rename(gfile.join(folder, "there"), second, overwrite=True)
    assert gfile.listdir(folder) == ["second", "third"]


def test_patterns_match_paths_of_their_own_kind(folder):
    for name in "a1", "a2", "b1":
        write(gfile.join(folder, name), name)
    found = gfile.glob(gfile.join(folder, "a*"))
    assert [gfile.GFile(path).read() for path in found] == ["a1", "a2"]
    assert gfile.glob(gfile.join(folder, "c*")) == []
    paths = tf.io.matching_files([gfile.join(folder, "?1")])
    assert [gfile.GFile(path.decode()).read() for path in paths.numpy()] == ["a1", "b1"]


def test_a_tree_is_walked_from_both_ends(folder):
    gfile.makedirs(gfile.join(folder, "a", "b"))
    write(gfile.join(folder, "one"), "")
    write(gfile.join(folder, "a", "b", "two"), "")
    expected = [(["a"], ["one"]), (["b"], []), ([], ["two"])]
    assert [(names, files) for _, names, files in gfile.walk(folder)] == expected
    assert [(names, files) for _, names, files in gfile.walk(folder, topdown=False)] == expected[::-1]


@pytest.mark.parametrize(
    "function",
    [gfile.stat, gfile.remove, gfile.rmtree, gfile.listdir, lambda path: gfile.GFile(path).read()],
)
def test_what_is_not_there_is_an_error_that_names_it(folder, function):
    with pytest.raises(tf.errors.NotFoundError, match="absent"):
        function(gfile.join(folder, "absent"))


def test_a_directory_is_made_once(folder):
    path = gfile.join(folder, "new")
    gfile.mkdir(path)
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.mkdir(path)
    gfile.makedirs(path)


def test_operations_and_data_sets_read_and_write_them(folder):
    path = gfile.join(folder, "a", "text")
    tf.io.write_file(path, "one\ntwo\n")
    assert tf.io.read_file(path).numpy() == b"one\ntwo\n"
    lines = tf.data.TextLineDataset([path])
    assert [line.numpy() for line in lines] == [b"one", b"two"]
    for compression in "", "GZIP", "ZLIB":
        records = gfile.join(folder, f"records{compression}")
        with tf.io.TFRecordWriter(records, compression) as writer:
            writer.write(b"one")
            writer.write(b"two")
        found = tf.data.TFRecordDataset(records, compression)
        assert [record.numpy() for record in found] == [b"one", b"two"]
    with pytest.raises(tf.errors.NotFoundError, match="absent"):
        list(tf.data.TextLineDataset(gfile.join(folder, "absent")))


@pytest.mark.parametrize(
    ("mode", "content", "read"), [("w", "new", "new"), ("a", "new", "oldnew"), ("r+", "n", "nld")]
)
def test_a_file_in_memory_is_written_in_each_mode(mode, content, read):
    path = f"ram://file{next(NUMBERS)}"
    write(path, "old")
    with gfile.GFile(path, mode) as file:
        file.write(content)
    assert gfile.GFile(path).read() == read
    gfile.remove(path)


def test_what_was_flushed_to_a_file_in_memory_is_there_for_others():
    path = f"ram://file{next(NUMBERS)}"
    file = gfile.GFile(path, "wb")
    file.write(b"one")
    file.flush()
    assert gfile.GFile(path, "rb").read() == b"one"
    file.close()
    gfile.remove(path)


def test_threads_share_files_in_memory():
    root = f"ram://folder{next(NUMBERS)}"

    def work(number):
        gfile.makedirs(gfile.join(root, str(number % 2)))
        write(gfile.join(root, str(number % 2), str(number)), str(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for _, _, files in gfile.walk(root) for name in files) == list("01234567")
    gfile.rmtree(root)


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("ram://a", "b", "c"), "ram://a/b/c"),
        (("gs://bucket", "b"), "gs://bucket/b"),
        (("a", "gs://bucket", "b"), "gs://bucket/b"),
        ((b"s3://a", b"b"), "s3://a/b"),
    ],
)
def test_parts_of_paths_with_schemes_are_joined_as_they_are(parts, joined):
    assert gfile.join(*parts) == joined


def test_a_path_of_this_machine_may_have_its_scheme(tmp_path):
    write(f"file://{tmp_path}/file", "one")
    assert (tmp_path / "file").read_text() == "one"


def test_a_scheme_without_a_file_system_is_an_error_that_names_it(monkeypatch):
    with pytest.raises(tf.errors.UnimplementedError, match=r"'nothing'.*nothing://a"):
        gfile.exists("nothing://a")
    monkeypatch.setattr(filesystems, "_OTHERS", {})
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(tf.errors.UnimplementedError, match=r"'gs' needs fsspec.*gs://a/b"):
        gfile.stat("gs://a/b")
