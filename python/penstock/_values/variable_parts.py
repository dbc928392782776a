"""Parts of variables: entries and slices of them that are read, or written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import scoped
from penstock._types.argument_names import shown

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock._values.indexed_slices import IndexedSlices

__all__ = ["VariableParts"]


class VariableParts(_core._Variable):
    """What `tf.Variable` does with parts of itself."""

    def _after(self, read_value: bool) -> Any:
        graph = v1_graph_state.current()
        if graph is not None:
            # What is fetched is the value after the assignment, which is the last instruction so far.
            written = len(graph.engine) - 1
            value = self.read_value()
            graph.follow(written + 1, written)
            return value
        if not read_value:
            return None
        return self.read_value() if _core._is_tracing() else self

    def _scatter(self, mode: str, delta: Any) -> Any:
        """Changes the entries along the first dimension that an `IndexedSlices` names."""
        _check_slices(delta)
        indices, updates = _core._to_tensor(delta.indices), _core._to_tensor_hinted(delta.values, self.dtype)
        if updates.shape.rank == 0:
            entry = raw_ops.shape(self.read_value())[1:]
            extents = raw_ops.concat([raw_ops.shape(indices), entry], axis=0)
            updates = raw_ops.broadcast_to(updates, extents)
        return self._scatter_nd(mode, raw_ops.expand_dims(indices, axis=-1), updates)

    def _scatter_nd(self, mode: str, indices: Any, updates: Any) -> Any:
        updates = _core._to_tensor_hinted(updates, self.dtype)
        raw_ops.scatter_variable(self, indices, updates, mode=mode)
        return self._after(True)

    @scoped
    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add to the entries along the first dimension that `sparse_delta` names.

        Only these entries are touched. Entries that come several times are changed as often.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_add(tf.IndexedSlices(tf.constant([10.0]), tf.constant([1]))).numpy()
        array([ 1., 12.,  3.], dtype=float32)
        """
        return self._scatter("add", sparse_delta)

    @scoped
    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract from the entries along the first dimension that `sparse_delta` names.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_sub(tf.IndexedSlices(tf.constant([2.0]), tf.constant([1]))).numpy()
        array([1., 0., 3.], dtype=float32)
        """
        return self._scatter("sub", sparse_delta)

    @scoped
    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiply the entries along the first dimension that `sparse_delta` names.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_mul(tf.IndexedSlices(tf.constant([2.0]), tf.constant([1]))).numpy()
        array([1., 4., 3.], dtype=float32)
        """
        return self._scatter("mul", sparse_delta)

    @scoped
    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divide the entries along the first dimension that `sparse_delta` names, which must not be integers.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`, and for integers.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_div(tf.IndexedSlices(tf.constant([4.0]), tf.constant([1]))).numpy()
        array([1. , 0.5, 3. ], dtype=float32)
        """
        return self._scatter("div", sparse_delta)

    @scoped
    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Raise the entries along the first dimension that `sparse_delta` names to at least its values.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_max(tf.IndexedSlices(tf.constant([5.0]), tf.constant([1]))).numpy()
        array([1., 5., 3.], dtype=float32)
        """
        return self._scatter("max", sparse_delta)

    @scoped
    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Lower the entries along the first dimension that `sparse_delta` names to at most its values.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_min(tf.IndexedSlices(tf.constant([0.0]), tf.constant([1]))).numpy()
        array([1., 0., 3.], dtype=float32)
        """
        return self._scatter("min", sparse_delta)

    @scoped
    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace the entries along the first dimension that `sparse_delta` names.

        Args:
            sparse_delta: a `tf.IndexedSlices`, whose indices name entries along the first dimension.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for an index that is not there.
            TypeError: where `sparse_delta` is no `tf.IndexedSlices`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_update(tf.IndexedSlices(tf.constant([9.0]), tf.constant([1]))).numpy()
        array([1., 9., 3.], dtype=float32)
        """
        return self._scatter("update", sparse_delta)

    @scoped
    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace entries in each batch: those that `indices[b, i]` names in batch `b`.

        Args:
            sparse_delta: a `tf.IndexedSlices`; its indices have the batch dimensions, then one more.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            ValueError: for indices of an unknown rank, or without dimensions.

        >>> import penstock as tf
        >>> v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        >>> update = tf.IndexedSlices(tf.constant([[9.0], [8.0]]), tf.constant([[1], [0]]))
        >>> v.batch_scatter_update(update).numpy()
        array([[1., 9.],
               [8., 4.]], dtype=float32)
        """
        _check_slices(sparse_delta)
        indices, updates = _core._to_tensor(sparse_delta.indices), sparse_delta.values
        rank = indices.shape.rank
        if not rank:
            raise ValueError(
                f"argument 'sparse_delta' must have indices of a known rank above 0, got {indices.shape}"
            )
        extents = raw_ops.shape(indices, dtype=indices.dtype)
        places = []
        for axis in range(rank - 1):
            along = raw_ops.range(_zero(indices), extents[axis], _one(indices))
            along = raw_ops.reshape(along, [-1 if i == axis else 1 for i in range(rank)])
            places.append(raw_ops.broadcast_to(along, extents))
        return self._scatter_nd("update", raw_ops.stack([*places, indices], axis=-1), updates)

    @scoped
    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Add to the slices that the rows of `indices` name.

        Only these slices are touched. Slices that come several times are changed as often.

        Args:
            indices: integers; the last dimension, of size `k`, holds positions in the first `k` dimensions.
            updates: of shape `indices.shape[:-1] + self.shape[k:]`.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for a position that is not there, or another shape of `updates`.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_nd_add([[0], [2]], [10.0, 20.0]).numpy()
        array([11.,  2., 23.], dtype=float32)
        """
        return self._scatter_nd("add", indices, updates)

    @scoped
    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Subtract from the slices that the rows of `indices` name, as `scatter_nd_add` adds.

        Args:
            indices: integers; the last dimension, of size `k`, holds positions in the first `k` dimensions.
            updates: of shape `indices.shape[:-1] + self.shape[k:]`.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for a position that is not there, or another shape of `updates`.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_sub([[0], [2]], [1.0, 2.0]).numpy()
        array([0., 2., 1.], dtype=float32)
        """
        return self._scatter_nd("sub", indices, updates)

    @scoped
    def scatter_nd_max(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Raise the slices that the rows of `indices` name to at least `updates`.

        Args:
            indices: integers; the last dimension, of size `k`, holds positions in the first `k` dimensions.
            updates: of shape `indices.shape[:-1] + self.shape[k:]`.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for a position that is not there, or another shape of `updates`.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_max([[0], [2]], [5.0, 0.0]).numpy()
        array([5., 2., 3.], dtype=float32)
        """
        return self._scatter_nd("max", indices, updates)

    @scoped
    def scatter_nd_min(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Lower the slices that the rows of `indices` name to at most `updates`.

        Args:
            indices: integers; the last dimension, of size `k`, holds positions in the first `k` dimensions.
            updates: of shape `indices.shape[:-1] + self.shape[k:]`.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for a position that is not there, or another shape of `updates`.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_min([[0], [2]], [5.0, 0.0]).numpy()
        array([1., 2., 0.], dtype=float32)
        """
        return self._scatter_nd("min", indices, updates)

    @scoped
    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replace the slices that the rows of `indices` name.

        Args:
            indices: integers; the last dimension, of size `k`, holds positions in the first `k` dimensions.
            updates: of shape `indices.shape[:-1] + self.shape[k:]`.
            name: a scope for the names of its operations in a graph.

        Returns:
            The variable, or the new value while a function is traced.

        Raises:
            InvalidArgumentError: for a position that is not there, or another shape of `updates`.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_update([[0], [2]], [5.0, 6.0]).numpy()
        array([5., 2., 6.], dtype=float32)
        """
        return self._scatter_nd("update", indices, updates)

    @scoped
    def sparse_read(self, indices: TensorLike, name: str | None = None) -> _core.Tensor:
        """Gather the entries along the first dimension that `indices` names.

        Args:
            indices: integers.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `indices.shape + self.shape[1:]`, of the variable's dtype.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0, 3.0]).sparse_read([2, 0]).numpy()
        array([3., 1.], dtype=float32)
        """
        return raw_ops.gather(self.read_value(), indices)

    @scoped
    def gather_nd(self, indices: TensorLike, name: str | None = None) -> _core.Tensor:
        """Gather the slices that the rows of `indices` name, as `tf.gather_nd` does.

        Args:
            indices: integers; the last dimension, of size `k`, holds positions in the first `k` dimensions.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `indices.shape[:-1] + self.shape[k:]`, of the variable's dtype.

        >>> import penstock as tf
        >>> tf.Variable([[1.0, 2.0], [3.0, 4.0]]).gather_nd([[1, 0]]).numpy()
        array([3.], dtype=float32)
        """
        return raw_ops.gather_nd(self.read_value(), indices)


def _check_slices(delta: Any) -> None:
    if not hasattr(delta, "indices") or not hasattr(delta, "values"):
        raise TypeError(f"argument 'sparse_delta' must be a tf.IndexedSlices, got {shown(delta)}")


def _zero(like: _core.Tensor) -> _core.Tensor:
    return _core._to_tensor(0, like.dtype)


def _one(like: _core.Tensor) -> _core.Tensor:
    return _core._to_tensor(1, like.dtype)
