"""Gradients of the graph that is being traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, raw_ops
from penstock._autodiff.tape import (
    UnconnectedGradients,
    as_dense,
    check_seed,
    flat_sources,
    one_hot_rows,
    zeros_of,
)
from penstock._runtime.scope import name_scope, scoped
from penstock._values.indexed_slices import from_pieces

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike, TensorOrVariable

__all__ = ["AggregationMethod", "gradients", "hessians"]


class AggregationMethod:
    """How gradients are summed: accepted by `gradients`, which has one way."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: TensorOrVariable | Sequence[TensorOrVariable],
    xs: TensorOrVariable | Sequence[TensorOrVariable],
    grad_ys: TensorLike | Sequence[TensorLike | None] | None = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: TensorOrVariable | Sequence[TensorOrVariable] | None = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """Compute the gradients of the sum of `ys` by each of `xs`, in the graph that is being traced.

    Args:
        ys: a tensor or a list of them.
        xs: a tensor or variable, or a list of them.
        grad_ys: a cotangent for each of `ys`, None for ones.
        name: a scope for the names of its operations in a graph.
        gate_gradients: ignored.
        aggregation_method: ignored.
        stop_gradients: tensors that count as constants.
        unconnected_gradients: what `xs` get on which no `ys` depend: `"none"` or `"zero"`.

    Returns:
        A list with a tensor, `IndexedSlices` or None for each of `xs`.

    Raises:
        RuntimeError: outside of a traced function.
        TypeError: for one of `xs` that is neither tensor nor variable, and for one of `grad_ys` of another
            dtype than its entry of `ys`.
        ValueError: where `grad_ys` and `ys` differ in length or shapes.
        LookupError: where an operator on the way has no gradient.

    >>> import penstock as tf
    >>> @tf.function
    ... def f(x):
    ...     return tf.gradients(x * x, x)[0]
    >>> f(tf.constant(3.0)).numpy()
    np.float32(6.0)
    """
    if not _core._is_tracing():
        raise RuntimeError("tf.gradients needs a function that is being traced; use tf.GradientTape instead")
    unconnected = UnconnectedGradients(unconnected_gradients)
    targets = [t if isinstance(t, _core.Tensor) else _core._to_tensor(t) for t in nest.flatten(ys)]
    sources = flat_sources(xs, "xs")
    seeds = [None] * len(targets) if grad_ys is None else nest.flatten(grad_ys)
    if len(seeds) != len(targets):
        raise ValueError(f"argument 'grad_ys' has {len(seeds)} entries for {len(targets)} of argument 'ys'")
    for seed, target in zip(seeds, targets, strict=True):
        check_seed(seed, target, "grad_ys")
    stops = [] if stop_gradients is None else nest.flatten(stop_gradients)
    found: list[Any] = []
    with name_scope(name or "gradients"):
        grads = _core._gradients(targets, sources, seeds, stops)
    for source, grad in zip(sources, grads, strict=True):
        if isinstance(grad, list):
            found.append(from_pieces(grad, source))
        elif grad is None and unconnected is UnconnectedGradients.ZERO:
            found.append(zeros_of(source))
        else:
            found.append(grad)
    return found


@scoped
def hessians(
    ys: TensorOrVariable | Sequence[TensorOrVariable],
    xs: TensorOrVariable | Sequence[TensorOrVariable],
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    name: str = "hessians",
) -> list[Any]:
    """Compute the second derivatives of the sum of `ys` by each of `xs`.

    Args:
        ys: a tensor or a list of them.
        xs: a tensor or variable, or a list of them.
        gate_gradients: ignored.
        aggregation_method: ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        For each of `xs` a tensor of shape `x.shape + x.shape`.

    Raises:
        RuntimeError: outside of a traced function.
        ValueError: where no `ys` depend on one of `xs`.

    >>> import penstock as tf
    >>> @tf.function
    ... def f(x):
    ...     return tf.hessians(tf.reduce_prod(x), x)[0]
    >>> f(tf.constant([2.0, 3.0])).numpy().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    sources = nest.flatten(xs)
    found = []
    for i, (source, grad) in enumerate(zip(sources, gradients(ys, sources), strict=True)):
        if grad is None:
            raise ValueError(f"no element of argument 'ys' depends on element {i} of argument 'xs'")
        slope = as_dense(grad)
        seeds = one_hot_rows(slope)

        def row(seed: list[Any], slope: Any = slope, source: Any = source) -> list[Any]:
            (second,) = gradients(slope, source, grad_ys=seed, unconnected_gradients="zero")
            return [as_dense(second)]

        (rows,) = _core._map_rows(row, [seeds], False)
        shape = raw_ops.shape(slope)
        found.append(raw_ops.reshape(rows, raw_ops.concat([shape, shape], axis=0)))
    return found
