"""Groups of processes, which compute together."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, raw_ops
from penstock._ops.arrangement import concat, split
from penstock._ops.shapes import reshape
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.variable import Variable

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, TensorLike

__all__ = ["Listener", "ProcessGroup"]

# Gradients of this many bytes travel at once: fewer start earlier, more have less overhead.
BYTES_PER_PACK = 4 << 20

_numbers = itertools.count()
_PACKAGE = __file__.rpartition("distribute")[0]


class Listener:
    """An address at which the other members of groups connect to this process.

    Args:
        address: the host and the port, such as `"10.0.0.1:2222"`; port 0 stands for a free one.

    Raises:
        UnavailableError: for an address that cannot be had.

    >>> import penstock as tf
    >>> listener = tf.distribute.Listener("127.0.0.1:0")
    >>> listener.address.startswith("127.0.0.1:")
    True
    >>> listener.close()
    """

    def __init__(self, address: str) -> None:
        self._engine = _core._Listener(address)

    @property
    def address(self) -> str:
        """The host and the port."""
        return self._engine.address

    def close(self) -> None:
        """Stop listening. Groups that were joined stay.

        >>> import penstock as tf
        >>> tf.distribute.Listener("127.0.0.1:0").close()
        """
        self._engine.close()


class ProcessGroup:
    """Processes that compute together, as one of them sees it.

    All of them call the same methods in the same order. Each method works eagerly and in a `tf.function`,
    where a result that is not needed at once travels while the graph goes on. Sums have derivatives: that of
    `all_reduce` is `all_reduce`, that of `all_gather` `reduce_scatter`, that of `broadcast` `reduce`. Values
    are combined in a fixed order, so that all members get the same bits.

    Args:
        members: the addresses of all members, by rank, as `"host:port"`.
        rank: the number of this process.
        timeout: for how many seconds another member may be silent while one waits for it.
        listener: the `Listener` of this process; by default one at its address.
        generation: another number for each group that the same members make one after the other.

    Raises:
        ValueError: for a rank that is not among the members.
        UnavailableError: for an address that cannot be had. Methods raise it where another process ended,
            left the group or was silent for too long; the group stays failed then.
        InvalidArgumentError: by methods, where another process calls another one, or with other shapes.

    >>> import penstock as tf
    >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
    >>> group.all_reduce(tf.constant([1.0, 2.0])).numpy()
    array([1., 2.], dtype=float32)
    >>> group.leave()
    """

    def __init__(
        self,
        members: Sequence[str],
        rank: int,
        *,
        timeout: float = 60.0,
        listener: Listener | None = None,
        generation: int = 0,
    ) -> None:
        addresses = list(members)
        if not addresses or not all(isinstance(address, str) for address in addresses):
            raise TypeError(f"argument 'members' must be a list of addresses, got {members!r}")
        if not 0 <= rank < len(addresses):
            raise ValueError(f"argument 'rank' must be at least 0 and less than {len(addresses)}, got {rank}")
        self._name = f"group {next(_numbers)}"
        self._timeout = float(timeout)
        self._varying: list[Variable] = []
        self._own_listener = listener is None
        self._listener = Listener(addresses[rank]) if listener is None else listener
        self._join(addresses, rank, generation)

    def _join(self, members: list[str], rank: int, generation: int) -> None:
        import hashlib  # slow to load

        text = f"{generation}|{'|'.join(members)}"
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        self._listener._engine.join(self._name, key, rank, members, self._timeout)
        self._members = members
        _joined[self._name] = None
        for variable, value in zip(self._varying, (rank, len(members)), strict=False):
            variable.assign(value)

    def rejoin(self, members: Sequence[str], rank: int, generation: int) -> None:
        """Go on as a member of another group, where this one has failed: functions that were traced use it.

        Args:
            members: the addresses of its members.
            rank: the number of this process.
            generation: another number than those of before.

        Raises:
            ValueError: for a rank that is not among the members.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.rejoin(["127.0.0.1:0"], 0, generation=1)
        >>> group.leave()
        """
        _core._leave_group(self._name)
        self._join(list(members), rank, generation)

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._place()[0]

    @property
    def size(self) -> int:
        """How many members there are."""
        return self._place()[1]

    @property
    def members(self) -> tuple[str, ...]:
        """The addresses of all members."""
        return tuple(self._members)

    @property
    def failure(self) -> str | None:
        """Why the group has failed; None where it has not."""
        return _core._group_failure(self._name)

    def _place(self) -> tuple[int, int]:
        place = _core._group_place(self._name)
        if place is None:
            raise RuntimeError("this process has left the group")
        return place

    def _vary(self) -> None:
        """Has traced functions ask for rank and size when they run: groups that follow have other ones."""
        with _core._Outside():
            self._varying = [Variable(number, trainable=False) for number in self._place()]

    @property
    def _now(self) -> tuple[Any, Any]:
        """Rank and size, for what is traced: variables where groups that follow may have other ones."""
        if not self._varying:
            return self._place()
        rank, size = self._varying
        return rank.value(), size.value()

    def leave(self) -> None:
        """Leave the group: calls that are under way in other processes fail where they need this one.

        >>> import penstock as tf
        >>> tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0).leave()
        """
        _core._leave_group(self._name)
        _joined.pop(self._name, None)
        if self._own_listener:
            self._listener.close()

    def abort(self, reason: str) -> None:
        """Make the group fail, here and for all others.

        Args:
            reason: a text for the errors.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.abort("there is something better")
        >>> group.failure
        'the group was left: there is something better'
        >>> group.leave()
        """
        _core._abort_group(self._name, reason)

    def _start(self, collective: str, value: Any, combine: str = "sum", root: int = 0) -> Any:
        attributes: dict[str, Any] = {
            "collective": collective,
            "combine": combine,
            "root": root,
            "group": self._name,
            "label": user_line(),
        }
        ticket = raw_ops.collective_start(value, **attributes)
        return lambda: raw_ops.collective_wait(ticket, value, **attributes)

    def _each(self, collective: str, value: Any, combine: str = "sum", root: int = 0) -> Any:
        """The collective of each tensor of a nest: all start before one is waited for."""
        waits = [self._start(collective, _core._to_tensor(x), combine, root) for x in nest.flatten(value)]
        return nest.pack_sequence_as(value, [wait() for wait in waits])

    def all_reduce(self, value: Nested[TensorLike], op: str = "sum", *, bytes_per_pack: int = 0) -> Any:
        """Combine the values of all members, for all of them.

        Args:
            value: a nest of tensors, of the same structure, shapes and dtypes for all members. Of
                `tf.IndexedSlices` the slices are joined.
            op: `"sum"`, `"mean"`, `"min"`, `"max"` or `"product"`.
            bytes_per_pack: tensors travel together, in packs of about so many bytes, those at the end first,
                as gradients are computed; 0 for a default.

        Returns:
            The nest.

        Raises:
            ValueError: for another `op`, or a mean of integers.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.all_reduce({"a": [1.0, 3.0]}, "max")["a"][1].numpy()
        np.float32(3.0)
        >>> group.leave()
        """
        if op not in ("sum", "mean", "min", "max", "product"):
            raise ValueError(f"argument 'op' must be sum, mean, min, max or product, got {op!r}")
        leaves = nest.flatten(value)
        dense = [leaf if isinstance(leaf, IndexedSlices) else _core._to_tensor(leaf) for leaf in leaves]
        if op == "mean" and any(x.dtype.is_integer or x.dtype.is_bool for x in dense):
            raise ValueError("argument 'op': the mean of integers is not an integer; use sum")
        combine = "sum" if op == "mean" else op
        waits: list[Any] = [None] * len(dense)
        for pack in packs(dense, bytes_per_pack or BYTES_PER_PACK):
            self._start_pack(pack, dense, waits, combine)
        found = [wait() for wait in waits]
        if op == "mean":
            size = self._now[1]
            found = [_divided(x, size) for x in found]
        return nest.pack_sequence_as(value, found)

    def _start_pack(self, pack: list[int], dense: list[Any], waits: list[Any], combine: str) -> None:
        if len(pack) == 1:
            x = dense[pack[0]]
            if isinstance(x, IndexedSlices):
                if combine != "sum":
                    raise ValueError(
                        f"argument 'op': IndexedSlices are added up; there is no {combine} of them"
                    )
                rows, indices = self._start("all_gather", x.values), self._start("all_gather", x.indices)
                waits[pack[0]] = lambda: IndexedSlices(rows(), indices(), x.dense_shape)
            else:
                waits[pack[0]] = self._start("all_reduce", x, combine)
            return
        together = self._start("all_reduce", concat([reshape(dense[i], [-1]) for i in pack], 0), combine)
        sizes = [dense[i].shape.num_elements() for i in pack]
        parts: list[Any] = []

        def part(k: int) -> Any:
            if not parts:
                parts.extend(split(together(), sizes))
            return reshape(parts[k], dense[pack[k]].shape)

        for k, i in enumerate(pack):
            waits[i] = lambda k=k: part(k)

    def all_gather(self, value: Nested[TensorLike]) -> Any:
        """Put the rows of all members one behind the other, for all of them.

        Args:
            value: a nest of tensors of rank 1 or more; the members may have different numbers of rows.

        Returns:
            The nest.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.all_gather(tf.constant([1, 2])).numpy()
        array([1, 2], dtype=int32)
        >>> group.leave()
        """
        return self._each("all_gather", value)

    def reduce_scatter(self, value: Nested[TensorLike], op: str = "sum") -> Any:
        """Combine the values of all members, and give each its part of the rows.

        Args:
            value: a nest of tensors, whose numbers of rows the number of members divides.
            op: `"sum"`, `"min"`, `"max"` or `"product"`.

        Returns:
            The nest.

        Raises:
            InvalidArgumentError: for another `op`, or rows that cannot be divided.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.reduce_scatter(tf.constant([1, 2])).numpy()
        array([1, 2], dtype=int32)
        >>> group.leave()
        """
        return self._each("reduce_scatter", value, op)

    def broadcast(self, value: Nested[TensorLike], root: int = 0) -> Any:
        """Give all members the values of one.

        Args:
            value: a nest of tensors, of the same shapes and dtypes for all.
            root: the rank of the one.

        Returns:
            The nest.

        Raises:
            InvalidArgumentError: for a root that is not among the members.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.broadcast(3.0).numpy()
        np.float32(3.0)
        >>> group.leave()
        """
        return self._each("broadcast", value, root=root)

    def reduce(self, value: Nested[TensorLike], op: str = "sum", root: int = 0) -> Any:
        """Combine the values of all members, for one of them.

        Args:
            value: a nest of tensors, of the same shapes and dtypes for all.
            op: `"sum"`, `"min"`, `"max"` or `"product"`.
            root: the rank of the one.

        Returns:
            The nest; zeros for the others.

        Raises:
            InvalidArgumentError: for another `op`, or a root that is not among the members.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.reduce(3.0).numpy()
        np.float32(3.0)
        >>> group.leave()
        """
        return self._each("reduce", value, op, root)

    def all_to_all(self, value: Nested[TensorLike]) -> Any:
        """Divide the rows of each member among all: part `i` goes to rank `i`.

        Args:
            value: a nest of tensors, whose numbers of rows the number of members divides.

        Returns:
            The nest: the parts that came, by rank.

        Raises:
            InvalidArgumentError: for rows that cannot be divided.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.all_to_all(tf.constant([1, 2])).numpy()
        array([1, 2], dtype=int32)
        >>> group.leave()
        """
        return self._each("all_to_all", value)

    def barrier(self) -> None:
        """Wait until all members are here. In a `tf.function` what has effects, and comes behind it, waits.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> group.barrier()
        >>> group.leave()
        """
        self._each("all_reduce", 0)

    def __repr__(self) -> str:
        place = _core._group_place(self._name)
        return "<ProcessGroup, left>" if place is None else f"<ProcessGroup, rank {place[0]} of {place[1]}>"


# The names of the groups that this process is in, in the order in which it joined them.
_joined: dict[str, None] = {}


@atexit.register
def _leave_all() -> None:
    """Says goodbye, so that what the others still wait for is sent."""
    for name in list(_joined):
        _core._leave_group(name)


def packs(tensors: Sequence[Any], limit: int) -> list[list[int]]:
    """The positions of tensors that travel together, the last tensors first."""
    found: list[list[int]] = []
    kind, room = None, 0
    for i in reversed(range(len(tensors))):
        x = tensors[i]
        size = None
        if not isinstance(x, IndexedSlices) and x.shape.is_fully_defined():
            size = x.shape.num_elements() * x.dtype.size
        if size is None or size >= limit:
            found.append([i])
            kind = None
        elif kind == x.dtype and size <= room:
            found[-1].append(i)
            room -= size
        else:
            found.append([i])
            kind, room = x.dtype, limit - size
    return found


def _divided(x: Any, size: Any) -> Any:
    if isinstance(x, IndexedSlices):
        return IndexedSlices(_divided(x.values, size), x.indices, x.dense_shape)
    return x / (size if isinstance(size, int) else raw_ops.cast(size, dtype=x.dtype))


def user_line() -> str:
    """The file and the line of the program that called this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename.rpartition(os.sep)[2]}:{frame.f_lineno}"
