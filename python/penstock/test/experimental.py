"""Names that TensorFlow has under `tf.test.experimental`."""

from __future__ import annotations

from penstock._runtime.public_names import publish as _publish

__all__ = ["sync_devices"]


def sync_devices() -> None:
    """Wait until devices have done what they were given: they have when the calls end.

    >>> import penstock as tf
    >>> tf.test.experimental.sync_devices()
    """


_publish(__name__)
