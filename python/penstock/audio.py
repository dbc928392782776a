"""Sound in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._ops.image_codecs import contents_of
from penstock._runtime.arguments import integer
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["decode_wav", "encode_wav"]


@scoped
def decode_wav(
    contents: TensorLike,
    desired_channels: IntLike = -1,
    desired_samples: IntLike = -1,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Read sound from a WAV of 16 bits a sample.

    Args:
        contents: the bytes of the file, a string scalar.
        desired_channels: the number of channels, or -1 for as many as there are. The last one is repeated
            where there are fewer.
        desired_samples: the number of samples, or -1 for as many as there are. Zeros follow where there are
            fewer.
        name: a scope for the names of its operations in a graph.

    Returns:
        The samples from -1 to 1, `float32` of shape `[samples, channels]`, and how many there are in a
        second, an `int32` scalar.

    Raises:
        InvalidArgumentError: for contents that are no such WAV, and numbers below -1.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.audio.encode_wav([[0.5], [-0.25]], 8000)
    >>> audio, rate = tf.audio.decode_wav(contents)
    >>> audio.numpy().tolist(), int(rate)
    ([[0.5], [-0.25]], 8000)
    """
    return raw_ops.decode_wav(
        contents_of(contents),
        desired_channels=integer(desired_channels, "desired_channels"),
        desired_samples=integer(desired_samples, "desired_samples"),
    )


@scoped
def encode_wav(audio: TensorLike, sample_rate: IntLike, name: str | None = None) -> _core.Tensor:
    """Write sound as a WAV of 16 bits a sample.

    Args:
        audio: samples from -1 to 1, `float32` of shape `[samples, channels]`; what is beyond is cut off.
        sample_rate: how many there are in a second, a scalar.
        name: a scope for the names of its operations in a graph.

    Returns:
        The bytes of the file, a string scalar.

    Raises:
        InvalidArgumentError: for other shapes, no channels, and a rate that is not positive.

    >>> import penstock as tf
    >>> tf.strings.length(tf.audio.encode_wav([[0.5], [-0.25]], 8000)).numpy()
    np.int32(48)
    """
    samples = _core._to_tensor(audio, dtype=_core.float32)
    return raw_ops.encode_wav(samples, _core._to_tensor(sample_rate, dtype=_core.int32))


_publish(__name__)
