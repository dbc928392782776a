"""Numbers that stand for the content of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.scope import scoped
from penstock._types.specs import TensorSpec
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["farm_hashes", "fingerprint"]


def farm_hashes(strings: list[bytes]) -> Any:
    """The 64 bits of FarmHash of strings, an array of `uint64`."""
    import numpy as np  # start-up does without it

    operator = _core._ops()["string_to_hash_bucket_fast"]
    # The engine gives remainders: one has all bits but two, another tells these.
    keys, low, whole = _core._to_tensor(strings, dtype=_core.string), 1 << 62, (1 << 63) - 1
    first = operator(keys, num_buckets=low).numpy().astype(np.uint64)
    second = operator(keys, num_buckets=whole).numpy().astype(np.uint64)
    found = np.zeros(len(strings), np.uint64)
    for high in range(4):
        candidate = first + np.uint64(high << 62)
        found = np.where(candidate % np.uint64(whole) == second, candidate, found)
    return found


@scoped
def fingerprint(data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None) -> _core.Tensor:
    """Compute a fingerprint of each row.

    Rows of numbers have that of their bytes, one string that of its own, and several strings that of the
    fingerprints of each.

    Args:
        data: the rows, along the first dimension, of any dtype.
        method: `"farmhash64"`.
        name: a scope for the names of its operations in a graph.

    Returns:
        `uint8` of shape `[rows, 8]`: the bytes of each fingerprint, the lowest one first.

    Raises:
        InvalidArgumentError: for a scalar, or another method.

    >>> import penstock as tf
    >>> tf.fingerprint(["a", "bc"]).numpy()[0].tolist()
    [227, 117, 223, 182, 101, 66, 69, 179]
    """
    known = _core._known_value(_core._to_tensor(method, dtype=_core.string))
    if known is None or known.numpy() != b"farmhash64":
        raise InvalidArgumentError(f"argument 'method' must be 'farmhash64', got {method!r}")
    rows = _core._to_tensor(data)
    if rows.shape.rank == 0:
        raise InvalidArgumentError("argument 'data' must have at least one dimension, got a scalar")
    text = rows.dtype == _core.string

    def found(array: Any) -> Any:
        import numpy as np  # start-up does without it

        if array.ndim == 0:
            raise InvalidArgumentError("argument 'data' must have at least one dimension, got a scalar")
        count = len(array)
        if text:
            width = array.size // count if count else 0
            parts = array.reshape(count, width).tolist()
            if width != 1:
                hashed = farm_hashes([s for row in parts for s in row]).reshape(count, width)
                parts = [[row.astype("<u8").tobytes()] for row in hashed]
            contents = [row[0] for row in parts]
        else:
            contents = [np.ascontiguousarray(row).tobytes() for row in array]
        hashes = farm_hashes(contents) if contents else np.zeros(0, np.uint64)
        return hashes.astype("<u8").view(np.uint8).reshape(count, 8)

    before = None if rows.shape.rank is None else rows.shape[0]
    result: _core.Tensor = numpy_function(found, [rows], TensorSpec([before, 8], _core.uint8), stateful=False)
    return result
