"""Automatic differentiation: reverse mode by tapes, forward mode by accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._autodiff.tape import (
    GradientTape,
    UnconnectedGradients,
    behind_handle,
    is_differentiable,
    warn_of_dtype,
    zeros_of,
)
from penstock._runtime.public_names import publish as _publish

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, TensorOrVariable

__all__ = ["ForwardAccumulator", "GradientTape"]


class ForwardAccumulator:
    """Computes Jacobian-vector products while the operations of its context run.

    Reverse mode gives the gradient of one result by many arguments, forward mode the change of many
    results along one direction. Accumulators nest, and nest with tapes: an outer one differentiates
    what the inner one computes.

    Args:
        primals: a tensor or variable, or a nest of them: what is varied.
        tangents: the direction: for each of `primals` a tensor of its dtype and shape.

    Raises:
        ValueError: where the structures or shapes differ, or a primal is given twice.

    >>> import penstock as tf
    >>> x = tf.constant([2.0, 3.0])
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as acc:
    ...     y = x * x * x
    >>> acc.jvp(y).numpy().tolist()
    [12.0, 0.0]
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        nest.assert_same_structure(primals, tangents, check_types=False)
        self._accumulator = _core._Accumulator()
        self._recording = False
        seen: list[Any] = []
        for given, tangent in zip(nest.flatten(primals), nest.flatten(tangents), strict=True):
            primal = behind_handle(given)
            if not isinstance(primal, _core.Tensor | _core._Variable):
                raise TypeError(
                    f"argument 'primals' must hold tensors or variables, got {type(primal).__name__}"
                )
            if any(primal is other for other in seen):
                raise ValueError(
                    "a tensor or variable stands in argument 'primals' several times; add its tangents up"
                )
            seen.append(primal)
            if not is_differentiable(primal.dtype):
                warn_of_dtype("a primal", primal.dtype)
                continue
            direction = _core._to_tensor(tangent, primal.dtype)
            if not direction.shape.is_compatible_with(primal.shape):
                raise ValueError(
                    f"a primal has shape {primal.shape}, its entry of argument 'tangents' {direction.shape}"
                )
            self._accumulator.watch(primal, direction)

    def __enter__(self) -> ForwardAccumulator:
        if self._recording:
            raise ValueError("the accumulator is already recording")
        self._accumulator.push()
        self._recording = True
        return self

    def __exit__(self, *exc: object) -> None:
        if self._recording:
            self._accumulator.pop()
            self._recording = False

    def jvp(
        self,
        primals: Nested[TensorOrVariable],
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Compute the change of each of `primals` along the tangents: the Jacobian times the tangents.

        Args:
            primals: a tensor or variable, or a nest of them, computed while the accumulator recorded.
            unconnected_gradients: what a tensor gets that does not depend on the watched ones: `"none"` or
                `"zero"`.

        Returns:
            A tensor, None or zeros for each, in the structure of `primals`.

        Raises:
            LookupError: where an operator on the way has no gradient.

        >>> import penstock as tf
        >>> x = tf.constant(3.0)
        >>> with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        ...     y = x * x
        >>> accumulator.jvp(y).numpy()
        np.float32(6.0)
        """
        unconnected = UnconnectedGradients(unconnected_gradients)

        def one(primal: Any) -> Any:
            if not isinstance(primal, _core.Tensor | _core._Variable):
                primal = _core._to_tensor(primal)
            tangent = self._accumulator.jvp(primal)
            if tangent is None and unconnected is UnconnectedGradients.ZERO:
                return zeros_of(primal)
            return tangent

        return nest.map_structure(one, primals)


_publish(__name__)
