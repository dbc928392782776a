"""How values of replicas in one process are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._ops.arithmetic import add_n
from penstock._runtime.arguments import integer
from penstock._runtime.scope import device
from penstock.distribute import _context
from penstock.distribute._values import PerReplica, reduced

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock.distribute._strategy import ReduceOp

__all__ = ["CrossDeviceOps", "HierarchicalCopyAllReduce", "NcclAllReduce", "ReductionToOneDevice"]


class CrossDeviceOps:
    """The base of what combines values of replicas. This one adds them up in their order.

    >>> import penstock as tf
    >>> ops = tf.distribute.ReductionToOneDevice()
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"], cross_device_ops=ops)
    >>> float(ops.reduce("SUM", strategy.run(lambda: tf.constant(2.0)), destinations="CPU:0"))
    2.0
    """

    def reduce(
        self,
        reduce_op: ReduceOp | str,
        per_replica_value: TensorLike | PerReplica,
        destinations: object,
        options: object = None,
    ) -> Any:
        """Combine a value of all replicas.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or their names.
            per_replica_value: a value that each replica has, or a tensor of one replica.
            destinations: accepted: replicas of one process see the same result.
            options: accepted and ignored.

        Returns:
            A tensor; `tf.IndexedSlices` where the replicas have these.

        Raises:
            ValueError: for another `reduce_op`.

        >>> import penstock as tf
        >>> float(tf.distribute.NcclAllReduce().reduce("MEAN", tf.constant(2.0), None))
        2.0
        """
        name = _context._reduction(reduce_op)
        parts = per_replica_value.values if isinstance(per_replica_value, PerReplica) else [per_replica_value]
        return self._combined(name, parts)

    def batch_reduce(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[Any, object]],
        options: object = None,
    ) -> list[Any]:
        """Combine several values of all replicas.

        Args:
            reduce_op: how.
            value_destination_pairs: the values, each with its place.
            options: accepted and ignored.

        Returns:
            The combined values.

        Raises:
            ValueError: for another `reduce_op`.

        >>> import penstock as tf
        >>> ops = tf.distribute.HierarchicalCopyAllReduce()
        >>> [float(x) for x in ops.batch_reduce("SUM", [(1.0, None), (2.0, None)])]
        [1.0, 2.0]
        """
        return [self.reduce(reduce_op, value, place, options) for value, place in value_destination_pairs]

    def broadcast(self, tensor: TensorLike, destinations: object) -> Any:
        """Give all replicas a value: they see the same tensor.

        Args:
            tensor: the value.
            destinations: accepted.

        Returns:
            The value, as a tensor.

        >>> import penstock as tf
        >>> float(tf.distribute.NcclAllReduce().broadcast(2.0, None))
        2.0
        """
        return _context._tensor(tensor)

    def _combined(self, name: str, values: Sequence[Any]) -> Any:
        return reduced(name, values)


class ReductionToOneDevice(CrossDeviceOps):
    """Combines values on one device.

    Args:
        reduce_to_device: the device; by default that of the strategy's variables.
        accumulation_fn: adds up a list of tensors; by default `tf.add_n`.

    Raises:
        ValueError: for something that names no device.

    >>> import penstock as tf
    >>> ops = tf.distribute.ReductionToOneDevice("CPU:0", accumulation_fn=tf.add_n)
    >>> float(ops.reduce("SUM", tf.constant(2.0), None))
    2.0
    """

    def __init__(
        self,
        reduce_to_device: str | None = None,
        accumulation_fn: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        self._place = device(reduce_to_device)
        self._has_place = reduce_to_device is not None
        self._add = accumulation_fn or add_n

    def _combined(self, name: str, values: Sequence[Any]) -> Any:
        if not self._has_place:
            return self._added(name, values)
        with self._place:
            return self._added(name, values)

    def _added(self, name: str, values: Sequence[Any]) -> Any:
        if self._add is add_n or not all(isinstance(x, _core.Tensor) for x in values):
            return reduced(name, values)
        total = self._add(list(values))
        return total / len(values) if name == "MEAN" else total


class _Packed(CrossDeviceOps):
    """A class of TensorFlow's for several GPUs; replicas of one process have one memory here.

    Args:
        num_packs: accepted: nothing is sent.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if integer(num_packs, "num_packs") < 0:
            raise ValueError(f"argument 'num_packs' must be at least 0, got {num_packs}")


class NcclAllReduce(_Packed):
    """Adds values of replicas up in the memory that they share, as `CrossDeviceOps` does.

    Args:
        num_packs: accepted: nothing is sent.

    Raises:
        ValueError: for a negative number.

    >>> import penstock as tf
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"], tf.distribute.NcclAllReduce(num_packs=2))
    """


class HierarchicalCopyAllReduce(_Packed):
    """Adds values of replicas up in the memory that they share, as `CrossDeviceOps` does.

    Args:
        num_packs: accepted: nothing is sent.

    Raises:
        ValueError: for a negative number.

    >>> import penstock as tf
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"], tf.distribute.HierarchicalCopyAllReduce())
    """
