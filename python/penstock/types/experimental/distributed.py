"""Types of values that replicas have."""

from __future__ import annotations

import abc

from penstock import _core
from penstock._runtime.public_names import publish as _publish

__all__ = ["Mirrored", "PerReplica"]


class PerReplica(abc.ABC):  # noqa: B024
    """The class of values that each replica has its own of: with one replica, any tensor.

    >>> import penstock as tf
    >>> isinstance(tf.constant(1), tf.types.experimental.distributed.PerReplica)
    True
    """


class Mirrored(abc.ABC):  # noqa: B024
    """The class of values that are the same in all replicas: with one replica, any variable and any tensor.

    >>> import penstock as tf
    >>> isinstance(tf.Variable(1), tf.types.experimental.distributed.Mirrored)
    True
    """


PerReplica.register(_core.Tensor)
Mirrored.register(_core.Tensor)
Mirrored.register(_core._Variable)

_publish(__name__)
