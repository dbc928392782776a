"""`tf.experimental.BatchableExtensionType`: extension types whose values are stacked and taken apart by rows.

An *encoder* says of which tensors, or composite values that have rows, a value is made so that to stack
values is to stack these, and to take a row is to take one of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from penstock import nest
from penstock._types.rows import Stackable, row, row_count, stack_values
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock._values.extension_type import ExtensionType, ExtensionTypeSpec, mapped_parts

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, TensorLike

__all__ = ["BatchableExtensionType", "ExtensionTypeBatchEncoder"]


class ExtensionTypeBatchEncoder:
    """How values of a `tf.experimental.BatchableExtensionType` are stacked, and taken apart by rows.

    This one stacks every tensor, ragged and sparse tensor and batchable extension type in the fields, puts
    the number of values in front of every `tf.TensorShape` in them, and leaves the other fields as they are.
    For a type of which that is not true, a subclass overrides its methods, and an object of it is the type's
    `__batch_encoder__`. Stacking encoded values and decoding the result must be stacking the values.

    >>> import penstock as tf
    >>> class Interval(tf.experimental.BatchableExtensionType):
    ...     low: tf.Tensor
    ...     high: tf.Tensor
    >>> encoder = tf.experimental.ExtensionTypeBatchEncoder()
    >>> spec = Interval.Spec(tf.TensorSpec([]), tf.TensorSpec([]))
    >>> encoder.batch(spec, 3).low.shape
    TensorShape([3])
    """

    __module__ = "penstock.experimental"

    def batch(self, spec: ExtensionTypeSpec, batch_size: int | None) -> ExtensionTypeSpec:
        """Make the specification of several values, stacked.

        Args:
            spec: the specification of a value.
            batch_size: the number of values; None where it is not known.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> class Pair(tf.experimental.BatchableExtensionType):
        ...     one: tf.Tensor
        ...     two: tf.Tensor
        >>> spec = Pair.Spec(tf.TensorSpec([2]), tf.TensorSpec([]))
        >>> tf.experimental.ExtensionTypeBatchEncoder().batch(spec, None).one.shape
        TensorShape([None, 2])
        """

        def batched(part: Any) -> Any:
            if isinstance(part, TensorSpec):
                return TensorSpec(_in_front(batch_size, part.shape), part.dtype)
            if isinstance(part, TensorShape):
                return _in_front(batch_size, part)
            return part._stacked_spec(batch_size) if isinstance(part, Stackable) else part

        made: ExtensionTypeSpec = mapped_parts(batched, spec)
        return made

    def unbatch(self, spec: ExtensionTypeSpec) -> ExtensionTypeSpec:
        """Make the specification of a row.

        Args:
            spec: the specification of several values, stacked.

        Returns:
            The specification.

        Raises:
            ValueError: where a tensor or a shape in the fields has no dimension.

        >>> import penstock as tf
        >>> class Pair(tf.experimental.BatchableExtensionType):
        ...     one: tf.Tensor
        ...     two: tf.Tensor
        >>> spec = Pair.Spec(tf.TensorSpec([3, 2]), tf.TensorSpec([3]))
        >>> tf.experimental.ExtensionTypeBatchEncoder().unbatch(spec).one.shape
        TensorShape([2])
        """

        def unbatched(part: Any) -> Any:
            if isinstance(part, TensorSpec):
                return TensorSpec(_without_first(part.shape, spec), part.dtype)
            if isinstance(part, TensorShape):
                return _without_first(part, spec)
            return part._row_spec() if isinstance(part, Stackable) else part

        made: ExtensionTypeSpec = mapped_parts(unbatched, spec)
        return made

    def encode(self, spec: ExtensionTypeSpec, value: ExtensionType, minimum_rank: int = 0) -> Any:
        """Take a value apart into what is stacked, or taken apart by rows.

        Args:
            spec: the specification of the value.
            value: the value.
            minimum_rank: how often the result must allow rows to be taken: 0 for values to be stacked, 1 for
                those to be taken apart.

        Returns:
            A nest of tensors, ragged or sparse tensors, and values of batchable extension types.

        >>> import penstock as tf
        >>> class Pair(tf.experimental.BatchableExtensionType):
        ...     one: tf.Tensor
        ...     two: tf.Tensor
        >>> value = Pair([1, 2], 3)
        >>> len(tf.experimental.ExtensionTypeBatchEncoder().encode(tf.type_spec_from_value(value), value))
        2
        """
        return spec._to_components(value)

    def decode(self, spec: ExtensionTypeSpec, encoded_value: Nested[TensorLike]) -> Any:
        """Make a value of what encoded ones were stacked to, or of the rows of one.

        Args:
            spec: the specification of the result, by `batch` or `unbatch`.
            encoded_value: a nest as `encode` gives it.

        Returns:
            The value.

        >>> import penstock as tf
        >>> class Pair(tf.experimental.BatchableExtensionType):
        ...     one: tf.Tensor
        ...     two: tf.Tensor
        >>> spec = Pair.Spec(tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.int32))
        >>> parts = (tf.constant([1, 2]), tf.constant(3))
        >>> tf.experimental.ExtensionTypeBatchEncoder().decode(spec, parts).two.numpy()
        np.int32(3)
        """
        return spec._from_components(encoded_value)

    def encoding_specs(self, spec: ExtensionTypeSpec) -> Any:
        """List the specifications of what `encode` gives.

        Args:
            spec: the specification of a value.

        Returns:
            A nest of specifications, like that of `encode`.

        >>> import penstock as tf
        >>> class Pair(tf.experimental.BatchableExtensionType):
        ...     one: tf.Tensor
        ...     two: tf.Tensor
        >>> spec = Pair.Spec(tf.TensorSpec([2]), tf.TensorSpec([]))
        >>> [part.shape.rank for part in tf.experimental.ExtensionTypeBatchEncoder().encoding_specs(spec)]
        [1, 0]
        """
        return spec._component_specs


def _in_front(size: int | None, shape: TensorShape) -> TensorShape:
    return TensorShape(None if shape._dims is None else [size, *shape._dims])


def _without_first(shape: TensorShape, spec: Any) -> TensorShape:
    if shape._dims == ():
        raise ValueError(f"{spec} has a part of no dimension, and so no rows")
    return TensorShape(None if shape._dims is None else shape._dims[1:])


class BatchableExtensionType(ExtensionType):
    """The base of extension types whose values can be stacked, and have rows.

    Data sets stack, take apart and slice such values, and `tf.map_fn` takes and gives them. By what
    `__batch_encoder__`, an object of `tf.experimental.ExtensionTypeBatchEncoder`, says, which unless a class
    overrides it stacks every tensor and shape in the fields.

    Raises:
        TypeError: for a value that a field cannot hold, or fields that are missing.

    >>> import penstock as tf
    >>> class Vehicle(tf.experimental.BatchableExtensionType):
    ...     top_speed: tf.Tensor
    ...     mpg: tf.Tensor
    >>> rows = tf.data.Dataset.from_tensor_slices(Vehicle([120, 150, 80], [30, 40, 12]))
    >>> [int(v.top_speed) for v in rows]
    [120, 150, 80]
    >>> next(iter(rows.batch(2))).mpg.numpy()
    array([30, 40], dtype=int32)
    """

    __module__ = "penstock.experimental"

    _penstock_abstract: ClassVar[bool] = True
    __batch_encoder__: ClassVar[ExtensionTypeBatchEncoder] = ExtensionTypeBatchEncoder()

    class Spec:
        """The specification of such a value: it has one for a row, and one for several values, stacked."""

        @property
        def __batch_encoder__(self) -> ExtensionTypeBatchEncoder:
            """The encoder of the type."""
            return self._value_type.__batch_encoder__  # type: ignore[attr-defined, no-any-return]

        def _row_spec(self) -> Any:
            return self.__batch_encoder__.unbatch(self)  # type: ignore[arg-type]

        def _stacked_spec(self, size: int | None) -> Any:
            return self.__batch_encoder__.batch(self, size)  # type: ignore[arg-type]

        def _stack(self, values: Sequence[Any]) -> Any:
            encoder: Any = self.__batch_encoder__
            encoded = [encoder.encode(self, value) for value in values]
            columns = zip(*map(nest.flatten, encoded), strict=True)
            parts = nest.flatten(encoder.encoding_specs(self))
            stacked = [stack_values(leaves, part) for leaves, part in zip(columns, parts, strict=True)]
            return encoder.decode(self._stacked_spec(len(values)), nest.pack_sequence_as(encoded[0], stacked))

    def _encoded(self, minimum_rank: int) -> tuple[Any, list[Any]]:
        """The nest that stands for the value, and its leaves, which have rows if they are to."""
        nested = self.__batch_encoder__.encode(self._type_spec, self, minimum_rank)
        return nested, nest.flatten(nested)

    def _row_count(self) -> Any:
        leaves = self._encoded(1)[1]
        return row_count(leaves[0]) if leaves else 0

    def _row(self, i: Any) -> Any:
        nested, leaves = self._encoded(1)
        spec = self._type_spec._row_spec()  # type: ignore[attr-defined]
        rows = nest.pack_sequence_as(nested, [row(leaf, i) for leaf in leaves])
        return self.__batch_encoder__.decode(spec, rows)
