"""Text and bytes by `tf.compat`."""

import pathlib

import pytest

import penstock as tf

compat = tf.compat


def test_text_and_bytes_are_converted():
    assert compat.as_bytes("é") == compat.as_bytes(bytearray(b"\xc3\xa9")) == b"\xc3\xa9"
    assert compat.as_text(b"\xe9", "latin-1") == compat.as_str("é") == "é"
    assert compat.as_str_any(1.5) == "1.5"
    assert compat.path_to_str(pathlib.PurePosixPath("a/b")) == "a/b"
    assert compat.path_to_str(3) == 3


@pytest.mark.parametrize("name", ["as_bytes", "as_text", "as_str"])
def test_anything_else_is_an_error(name):
    with pytest.raises(TypeError, match="argument 'bytes_or_text' must be text or bytes, got 1"):
        getattr(compat, name)(1)
