"""Contractions: `einsum` and `tensordot`, by transposition, reshaping and matrix products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.contraction_order import ORDERS, contraction_order
from penstock._runtime.arguments import axis_of, extents, known_rank, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike


@dispatched
def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> _core.Tensor:
    """Sum products over pairs of dimensions of two tensors.

    Args:
        a: a tensor.
        b: a tensor of the same dtype.
        axes: the number of last dimensions of `a` and first of `b`, or a pair of lists of dimensions.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same dtype: the dimensions of `a` that are left, then those of `b`.

    Raises:
        ValueError: where the lists have different lengths or name dimensions that are not there.

    >>> import penstock as tf
    >>> tf.tensordot([[1, 2], [3, 4]], [1, 10], 1).numpy().tolist()
    [21, 43]
    """
    a = _core._to_tensor(a)
    b = _core._to_tensor_hinted(b, a.dtype)
    n, m = len(known_rank(a)), len(known_rank(b))
    if isinstance(axes, _core.Tensor):
        axes = _known_axes(axes)
    if isinstance(axes, int):
        if not 0 <= axes <= min(n, m):
            raise InvalidArgumentError(
                f"argument 'axes' must be from 0 to {min(n, m)} for ranks {n} and {m}, got {axes}"
            )
        of_a, of_b = list(range(n - axes, n)), list(range(axes))
    else:
        given: Any = axes
        pair = list(given)
        if len(pair) != 2:
            raise InvalidArgumentError(f"argument 'axes' must be an int or a pair of lists, got {axes!r}")
        of_a, of_b = (_axis_list(p, rank) for p, rank in zip(pair, (n, m), strict=True))
    if len(of_a) != len(of_b):
        raise InvalidArgumentError(f"argument 'axes' names {len(of_a)} dimensions of a and {len(of_b)} of b")
    free_a = [i for i in range(n) if i not in of_a]
    free_b = [i for i in range(m) if i not in of_b]
    dims_a, dims_b = sizes(a), sizes(b)
    left = raw_ops.reshape(
        raw_ops.transpose(a, perm=free_a + of_a),
        extents([product([dims_a[i] for i in free_a]), product([dims_a[i] for i in of_a])]),
    )
    right = raw_ops.reshape(
        raw_ops.transpose(b, perm=of_b + free_b),
        extents([product([dims_b[i] for i in of_b]), product([dims_b[i] for i in free_b])]),
    )
    result = raw_ops.matmul(left, right)
    return raw_ops.reshape(
        result, extents([dims_a[i] for i in free_a] + [dims_b[i] for i in free_b]), name=name
    )


def _known_axes(axes: _core.Tensor) -> Any:
    known = _core._known_value(axes)
    if known is None:
        raise TypeError("argument 'axes' must be constant while a function is traced, got a symbolic tensor")
    return known.numpy().tolist()


def _axis_list(axes: Any, rank: int) -> list[int]:
    if isinstance(axes, _core.Tensor):
        axes = _known_axes(axes)
    if hasattr(axes, "__index__"):
        axes = [axes]
    return [axis_of(a, rank, "axes") for a in axes]


@scoped
def einsum(
    equation: str, *inputs: TensorLike, optimize: str = "greedy", name: str | None = None
) -> _core.Tensor:
    """Sum products by Einstein's convention.

    Args:
        equation: a letter for each dimension of each operand, operands separated by commas, then `->` and the
            letters of the result; without `->` the result has the letters that appear once, in alphabetical
            order. `...` stands for dimensions that broadcast. A letter that an operand repeats takes its
            diagonal.
        *inputs: the operands, of one dtype.
        optimize: how to choose the order in which three operands or more are contracted, two at a time:
            `"greedy"` takes the pair that leaves the fewest elements at each step, `"optimal"` compares all
            orders, `"auto"`, `"branch-2"` and `"branch-all"` compare all where there are few. A size that is
            not known while a function is traced counts as 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of the operands, with a dimension for each letter of the result.

    Raises:
        ValueError: for an equation that is not well formed or does not fit the operands, or another
            `optimize`.

    >>> import penstock as tf
    >>> tf.einsum("ij,jk->ik", [[1, 2]], [[3], [4]]).numpy().tolist()
    [[11]]
    """
    if optimize not in ORDERS:
        raise InvalidArgumentError(
            f"einsum: argument 'optimize' must be one of {', '.join(ORDERS)}, got {optimize!r}"
        )
    tensors: list[_core.Tensor] = []
    for value in inputs:
        tensors.append(_core._to_tensor_hinted(value, tensors[0].dtype if tensors else None))
    labels, output = _parse(equation, tensors)
    terms = [
        _simplify(x, own, _outside(k, labels, output))
        for k, (x, own) in enumerate(zip(tensors, labels, strict=True))
    ]
    for i, j in _order(terms, output, optimize):
        (b, of_b), (a, of_a) = terms.pop(j), terms.pop(i)
        later = set(output).union(*(names for _, names in terms))
        if output and output[-1] in set(of_a).difference(of_b):
            # The labels of the second operand come last, as in the result: it is made in its order.
            a, of_a, b, of_b = b, of_b, a, of_a
        terms.append(_contract(a, of_a, b, of_b, later))
    x, own = _simplify(*terms[0], set(output))
    perm = [own.index(label) for label in output]
    return x if perm == list(range(len(perm))) else raw_ops.transpose(x, perm=perm)


def _order(
    terms: Sequence[tuple[_core.Tensor, list[str]]], output: list[str], optimize: str
) -> list[tuple[int, int]]:
    if len(terms) < 3:
        return [(0, 1)] * (len(terms) - 1)
    sizes: dict[str, int] = {}
    for x, own in terms:
        for label, size in zip(own, known_rank(x), strict=True):
            sizes[label] = max(sizes.get(label, 1), size or 1)
    return contraction_order([own for _, own in terms], output, sizes, optimize)


def _outside(k: int, labels: Sequence[list[str]], output: list[str]) -> set[str]:
    return set(output).union(*(own for i, own in enumerate(labels) if i != k))


def _parse(equation: str, tensors: list[_core.Tensor]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; those of an ellipsis are `.0`, `.1`, … from the last."""
    text = "".join(expect(equation, str, "equation", "a string").split())
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    if len(operands) != len(tensors):
        raise InvalidArgumentError(
            f"einsum: argument 'equation' {equation!r} has {len(operands)} operands, {len(tensors)} are given"
        )
    labels, widest = [], 0
    for k, (operand, x) in enumerate(zip(operands, tensors, strict=True)):
        rank = len(known_rank(x))
        own = _letters(operand, equation)
        if "..." in own:
            hidden = rank - len(own) + 1
            place = own.index("...")
            own[place : place + 1] = [f".{i}" for i in reversed(range(max(hidden, 0)))]
            widest = max(widest, hidden)
        if len(own) != rank:
            raise InvalidArgumentError(
                f"einsum: argument 'equation' {equation!r} does not fit operand {k} of rank {rank}"
            )
        labels.append(own)
    dots = [f".{i}" for i in reversed(range(widest))]
    if arrow:
        output = _letters(right, equation)
        if "..." in output:
            place = output.index("...")
            output[place : place + 1] = dots
        known = set().union(*labels) if labels else set()
        if len(set(output)) != len(output) or not set(output) <= known:
            raise InvalidArgumentError(
                f"einsum: the result of argument 'equation' {equation!r} repeats a label or has a new one"
            )
    else:
        counts = Counter(label for own in labels for label in own if not label.startswith("."))
        output = dots + sorted(label for label, n in counts.items() if n == 1)
    return labels, output


def _letters(term: str, equation: str) -> list[str]:
    head, dots, tail = term.partition("...")
    letters = [*head, *(["..."] if dots else []), *tail]
    if not all(c == "..." or c.isalpha() for c in letters):
        raise InvalidArgumentError(
            f"einsum: argument 'equation' {equation!r} has a character that is no letter"
        )
    return letters


def _simplify(x: Any, labels: list[str], needed: set[str]) -> tuple[Any, list[str]]:
    """Takes diagonals of repeated labels, and sums over those that are not needed."""
    labels = list(labels)
    for label in [name for name, n in Counter(labels).items() if n > 1]:
        while labels.count(label) > 1:
            first, second = [i for i, name in enumerate(labels) if name == label][:2]
            x = _diagonal(x, first, second, label)
            rest = [name for i, name in enumerate(labels) if i not in (first, second)]
            labels = [*rest, label]
    gone = [i for i, name in enumerate(labels) if name not in needed]
    if gone:
        x = raw_ops.reduce_sum(x, axes=gone)
        labels = [name for name in labels if name in needed]
    return x, labels


def _diagonal(x: Any, first: int, second: int, label: str) -> Any:
    """The diagonal of two dimensions, as the last one."""
    dims = sizes(x)
    if isinstance(dims[first], int) and isinstance(dims[second], int) and dims[first] != dims[second]:
        raise InvalidArgumentError(
            f"einsum: label '{label}' stands for sizes {dims[first]} and {dims[second]}"
        )
    rest = [i for i in range(len(dims)) if i not in (first, second)]
    n = dims[first]
    flat = raw_ops.reshape(
        raw_ops.transpose(x, perm=[*rest, first, second]),
        extents([*(dims[i] for i in rest), product([n, dims[second]])]),
    )
    return raw_ops.gather(flat, raw_ops.range(0, n, 1) * (n + 1), axis=-1)


def _contract(a: Any, of_a: list[str], b: Any, of_b: list[str], later: set[str]) -> tuple[Any, list[str]]:
    """The product of two terms, summed over the labels that both have and nothing later needs."""
    shared = [name for name in of_a if name in of_b]
    batch = [name for name in shared if name in later]
    summed = [name for name in shared if name not in later]
    # A broadcast dimension may have size 1 in one of the terms, so it is multiplied out and summed after.
    late = [name for name in summed if name.startswith(".")]
    batch, summed = batch + late, [name for name in summed if name not in late]
    free_a = [name for name in of_a if name not in shared]
    free_b = [name for name in of_b if name not in shared]
    size_a, size_b = dict(zip(of_a, sizes(a), strict=True)), dict(zip(of_b, sizes(b), strict=True))
    for name in shared:
        p, q = size_a[name], size_b[name]
        if (
            isinstance(p, int)
            and isinstance(q, int)
            and p != q
            and (not name.startswith(".") or 1 not in (p, q))
        ):
            raise InvalidArgumentError(f"einsum: label '{name}' stands for sizes {p} and {q}")
    left = raw_ops.transpose(a, perm=[of_a.index(n) for n in batch + free_a + summed])
    right = raw_ops.transpose(b, perm=[of_b.index(n) for n in batch + summed + free_b])
    rows, columns = product([size_a[n] for n in free_a]), product([size_b[n] for n in free_b])
    head_a, head_b = [size_a[n] for n in batch], [size_b[n] for n in batch]
    if summed:
        inner_a, inner_b = product([size_a[n] for n in summed]), product([size_b[n] for n in summed])
        result = raw_ops.matmul(
            raw_ops.reshape(left, extents([*head_a, rows, inner_a])),
            raw_ops.reshape(right, extents([*head_b, inner_b, columns])),
        )
    else:
        result = raw_ops.reshape(left, extents([*head_a, rows, 1])) * raw_ops.reshape(
            right, extents([*head_b, 1, columns])
        )
    head = sizes(result)[: len(batch)]
    result = raw_ops.reshape(
        result, extents([*head, *(size_a[n] for n in free_a), *(size_b[n] for n in free_b)])
    )
    labels = batch + free_a + free_b
    if late:
        result = raw_ops.reduce_sum(result, axes=[labels.index(name) for name in late])
        labels = [name for name in labels if name not in late]
    return result, labels
