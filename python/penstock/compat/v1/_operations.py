"""Functions of TensorFlow 1 that version 2 has otherwise, or no longer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from penstock import _core, random, raw_ops
from penstock._ops import indexing
from penstock._types.shape import TensorShape
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.sparse import SparseTensorValue as SparseTensorValue
from penstock.compat.v1._dimension import disable_v2_tensorshape, enable_v2_tensorshape
from penstock.compat.v1._graph import disable_eager_execution, enable_eager_execution, get_default_graph
from penstock.compat.v1._variables import get_variable_scope, sharing, variable_scope

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "SparseTensorValue",
    "add_to_collection",
    "colocate_with",
    "control_flow_v2_enabled",
    "disable_v2_behavior",
    "enable_control_flow_v2",
    "enable_v2_behavior",
    "executing_eagerly_outside_functions",
    "make_template",
    "scatter_add",
    "scatter_sub",
    "scatter_update",
    "set_random_seed",
    "where",
]


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Choose rows or elements by a condition, or list where it holds.

    Args:
        condition: bools: of the shape of `x`; a vector, which chooses rows of `x` and `y`; or a scalar.
        x: what is taken where the condition holds.
        y: what is taken elsewhere; of the dtype and shape of `x`.
        name: what it is called in a graph.

    Returns:
        A tensor like `x`. Without `x` and `y` the indices of true elements, an `int64` tensor of shape
        `[count, rank]`.

    Raises:
        ValueError: where only one of `x` and `y` is given, or shapes differ.

    >>> import penstock as tf
    >>> tf.compat.v1.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]]).numpy()
    array([[1, 2],
           [7, 8]], dtype=int32)
    """
    if x is None or y is None:
        return indexing.where(condition, x, y, name)
    condition = _core._to_tensor(condition, _core.bool)
    x = _core._to_tensor_hinted(x, getattr(y, "dtype", None))
    y = _core._to_tensor(y, x.dtype)
    TensorShape(x.shape).assert_is_compatible_with(y.shape)
    rank, rows = x.shape.rank, condition.shape.rank
    if rows == 1 and rank is not None and rank > 1:
        shape = raw_ops.concat([raw_ops.shape(condition), [1] * (rank - 1)], axis=0)
        return indexing.where(raw_ops.reshape(condition, shape), x, y, name)
    if rows != 0:
        TensorShape(condition.shape).assert_is_compatible_with(x.shape)
    return indexing.where(condition, x, y, name)


def set_random_seed(seed: int | None) -> None:
    """Set the seed of random numbers, in a graph that of the graph, as `tf.random.set_seed`.

    Args:
        seed: an integer; None for no seed.

    >>> import penstock as tf
    >>> tf.compat.v1.set_random_seed(1)
    """
    random.set_seed(seed)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Do nothing: the engine places operations by itself.

    Args:
        op: accepted and ignored.
        ignore_existing: accepted and ignored.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.compat.v1.colocate_with(tf.constant(1)):
    ...     pass
    """
    return contextlib.nullcontext()


def control_flow_v2_enabled() -> bool:
    """Tell whether loops and branches are regions of the graph: they always are.

    Returns:
        True.

    >>> import penstock as tf
    >>> tf.compat.v1.control_flow_v2_enabled()
    True
    """
    return True


def enable_control_flow_v2() -> None:
    """Do nothing: loops and branches are always regions of the graph.

    >>> import penstock as tf
    >>> tf.compat.v1.enable_control_flow_v2()
    """


def enable_v2_behavior() -> None:
    """Have operations run at once and `==` compare elements, as unless `disable_v2_behavior` was called.

    >>> import penstock as tf
    >>> tf.compat.v1.enable_v2_behavior()
    """
    enable_eager_execution()
    enable_v2_tensorshape()
    _core._set_tensor_equality(True)


def disable_v2_behavior() -> None:
    """Have operations go into the default graph of the thread, as in TensorFlow 1.

    Shapes give a `Dimension` for each size, and `==` of tensors tells whether they are the same one.

    >>> import penstock as tf
    >>> tf.compat.v1.disable_v2_behavior()
    >>> tf.executing_eagerly(), tf.TensorShape([2])[0].value
    (False, 2)
    >>> tf.compat.v1.enable_v2_behavior()
    """
    disable_eager_execution()
    disable_v2_tensorshape()
    _core._set_tensor_equality(False)


def executing_eagerly_outside_functions() -> bool:
    """Tell whether operations outside of traced functions run at once.

    Returns:
        False within a graph of TensorFlow 1, and in functions that are traced there, else True.

    >>> import penstock as tf
    >>> tf.compat.v1.executing_eagerly_outside_functions()
    True
    """
    return not _core._inside_open_graph()


def add_to_collection(name: str, value: object) -> None:
    """Append a value to a collection of the default graph.

    Args:
        name: the collection's name.
        value: anything.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.add_to_collection("sizes", 3)
    ...     tf.compat.v1.get_collection("sizes")
    [3]
    """
    get_default_graph().add_to_collection(name, value)


def _scattered(method: str, ref: Any, indices: TensorLike, updates: TensorLike, name: str | None) -> Any:
    slices = IndexedSlices(_core._to_tensor(updates, ref.dtype), _core._to_tensor(indices))
    return getattr(ref, method)(slices, name=name)


def scatter_add(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Add to rows of a variable.

    Args:
        ref: a variable.
        indices: which rows.
        updates: what is added to each; of shape `indices.shape + ref.shape[1:]`.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.scatter_add`.

    >>> import penstock as tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = tf.compat.v1.scatter_add(v, [1], [5.0])
    >>> v.numpy()
    array([1., 7.], dtype=float32)
    """
    return _scattered("scatter_add", ref, indices, updates, name)


def scatter_sub(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtract from rows of a variable; the parameters are those of `scatter_add`.

    Args:
        ref: a variable.
        indices: which rows.
        updates: what is subtracted from each.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.scatter_sub`.

    >>> import penstock as tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = tf.compat.v1.scatter_sub(v, [1], [5.0])
    >>> v.numpy()
    array([ 1., -3.], dtype=float32)
    """
    return _scattered("scatter_sub", ref, indices, updates, name)


def scatter_update(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replace rows of a variable; the parameters are those of `scatter_add`.

    Args:
        ref: a variable.
        indices: which rows.
        updates: what replaces each.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.scatter_update`.

    >>> import penstock as tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = tf.compat.v1.scatter_update(v, [1], [5.0])
    >>> v.numpy()
    array([1., 5.], dtype=float32)
    """
    return _scattered("scatter_update", ref, indices, updates, name)


class Template:
    """A function that has its variables in a scope of its own: what `make_template` gives.

    Args:
        name: the name of the scope.
        func: the function.
        kwargs: arguments of each call.
        custom_getter: is called in place of `get_variable`.

    >>> import penstock as tf
    >>> scale = tf.compat.v1.make_template("scale", lambda x: x * tf.compat.v1.get_variable("w", [2]))
    >>> y = scale(1.0)
    >>> [variable.name for variable in scale.variables]
    ['scale/w:0']
    """

    def __init__(
        self, name: str, func: Callable[..., Any], kwargs: dict[str, Any], custom_getter: Any
    ) -> None:
        self._name, self._func, self._kwargs, self._getter = name, func, kwargs, custom_getter
        self._variables: dict[str, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in the scope."""
        reuse = True if self._variables else None
        with (
            sharing(self._variables),
            variable_scope(self._name, reuse=reuse, custom_getter=self._getter),
        ):
            return self._func(*args, **self._kwargs, **kwargs)

    @property
    def name(self) -> str:
        """The name of the scope."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._func

    @property
    def variables(self) -> list[Any]:
        """The variables, in the order in which they were made."""
        return list(self._variables.values())

    global_variables = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that tapes watch."""
        return [variable for variable in self.variables if variable.trainable]

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The other variables."""
        return [variable for variable in self.variables if not variable.trainable]


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Make a function that has its variables, by `get_variable`, in a scope of its own.

    Args:
        name_: the name of the scope.
        func_: a function; the first call makes its variables, the others find them.
        create_scope_now_: accepted and ignored.
        unique_name_: the name of the scope where `name_` is not to be it.
        custom_getter_: is called in place of `get_variable` within the function.
        **kwargs: arguments of each call.

    Returns:
        The function, which has `variables` and `trainable_variables`.

    >>> import penstock as tf
    >>> scale = tf.compat.v1.make_template("scale", lambda x: x * tf.compat.v1.get_variable("w", [2]))
    >>> bool(tf.reduce_all(scale(1.0) == scale(1.0)))
    True
    """
    outer = get_variable_scope().name
    local = unique_name_ or get_default_graph().unique_name(name_)
    return Template(f"{outer}/{local}" if outer else local, func_, kwargs, custom_getter_)
