"""WAV files, beside Python's own module."""

import io
import wave

import numpy as np
import pytest

import penstock as tf


def written(samples: np.ndarray, rate: int, width: int = 2) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(samples.shape[1])
        out.setsampwidth(width)
        out.setframerate(rate)
        out.writeframes(samples.astype(f"<i{width}").tobytes())
    return file.getvalue()


SAMPLES = np.array([[0, 100], [-32768, 32767], [5, -5]])


def test_samples_are_shares_of_the_range() -> None:
    audio, rate = tf.audio.decode_wav(written(SAMPLES, 22050))
    assert (audio.dtype, rate.dtype, int(rate)) == (tf.float32, tf.int32, 22050)
    np.testing.assert_array_equal(audio, SAMPLES / 32768)


def test_channels_are_repeated_and_samples_filled_up() -> None:
    audio, _ = tf.audio.decode_wav(written(SAMPLES, 8000), desired_channels=3, desired_samples=4)
    wanted = np.concatenate([SAMPLES, SAMPLES[:, 1:]], 1) / 32768
    np.testing.assert_array_equal(audio, np.concatenate([wanted, np.zeros((1, 3))]))
    audio, _ = tf.audio.decode_wav(written(SAMPLES, 8000), desired_channels=1, desired_samples=2)
    np.testing.assert_array_equal(audio, SAMPLES[:2, :1] / 32768)


def test_what_is_written_python_reads() -> None:
    audio = np.array([[0.5, -0.5], [2.0, -2.0], [1 / 32768, np.nan]], np.float32)
    contents = tf.audio.encode_wav(audio, 16000).numpy()
    with wave.open(io.BytesIO(contents)) as file:
        assert (file.getnchannels(), file.getframerate(), file.getsampwidth()) == (2, 16000, 2)
        found = np.frombuffer(file.readframes(3), "<i2").reshape(3, 2)
    np.testing.assert_array_equal(found, [[16384, -16384], [32767, -32768], [1, 0]])
    again, rate = tf.audio.decode_wav(contents)
    assert (again.shape, int(rate)) == ((3, 2), 16000)


def test_chunks_beside_the_sound_are_passed_over() -> None:
    contents = written(SAMPLES, 8000)
    junk = b"JUNK\x04\0\0\0abcd"
    found, _ = tf.audio.decode_wav(contents[:12] + junk + contents[12:] + b"LIST\x02\0\0\0ab")
    np.testing.assert_array_equal(found, SAMPLES / 32768)


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"RIFF",
        written(SAMPLES, 8000)[:-1],
        written(SAMPLES, 8000)[:40],
        written(SAMPLES[:, :1], 8000, 4),
    ],
)
def test_what_is_no_such_wav(contents: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'contents'"):
        tf.audio.decode_wav(contents)


def test_arguments_are_checked() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'sample_rate'"):
        tf.audio.encode_wav([[0.0]], 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'audio'"):
        tf.audio.encode_wav([0.0], 8000)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'audio'"):
        tf.audio.encode_wav(np.zeros((3, 0), np.float32), 8000)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'desired_channels'"):
        tf.audio.decode_wav(written(SAMPLES, 8000), desired_channels=-2)


def test_traced_functions_know_the_wanted_extents() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(contents):
        audio, rate = tf.audio.decode_wav(contents, desired_channels=1)
        assert audio.shape.as_list() == [None, 1]
        return audio, rate

    audio, rate = read(written(SAMPLES, 8000))
    assert (audio.shape, int(rate)) == ((3, 1), 8000)
