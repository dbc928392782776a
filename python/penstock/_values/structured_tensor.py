"""`tf.experimental.StructuredTensor`: tensors of structures, each of which has the same fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec, TypeSpec, type_spec_from_value
from penstock._values.batchable import BatchableExtensionType, ExtensionTypeBatchEncoder
from penstock._values.dynamic_ragged_shape import DynamicRaggedShape, DynamicRaggedShapeSpec
from penstock._values.ragged import RaggedTensor
from penstock._values.row_partition import RowPartition, RowPartitionSpec
from penstock._values.structured_parts import (
    by_structure,
    checked_name,
    depth_of_dicts,
    merged,
    of_fields,
    outer_partitioned,
    shape_dtype,
    static_shape,
    with_all_partitions,
    with_shape_dtype,
)
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, ShapeLike

__all__ = ["StructuredTensor"]


class _Encoder(ExtensionTypeBatchEncoder):
    """Structured tensors are stacked, and taken apart by rows, as their fields are."""

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        def batched(part: Any) -> Any:
            if isinstance(part, TensorSpec):
                return TensorSpec(TensorShape([batch_size]).concatenate(part.shape), part.dtype)
            return part._stacked_spec(batch_size)

        return _spec_like(spec, batched, [batch_size, *spec.shape])

    def unbatch(self, spec: Any) -> Any:
        if spec.rank == 0:
            raise InvalidArgumentError("a single structure has no rows")

        def unbatched(part: Any) -> Any:
            if isinstance(part, TensorSpec):
                return TensorSpec(part.shape[1:], part.dtype)
            return part._row_spec()

        return _spec_like(spec, unbatched, spec.shape[1:])

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        return {name: value._fields[name] for name in spec._fields}

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        fields = {name: encoded_value[name] for name in spec._fields}
        return StructuredTensor.from_fields(fields, [None] * spec.rank)

    def encoding_specs(self, spec: Any) -> Any:
        return dict(spec._fields)


def _spec_like(spec: Any, function: Callable[[Any], Any], shape: Any) -> Any:
    """A specification with what a function makes of those of the fields, and another shape."""
    dtype = spec._ragged_shape.dtype
    first, *rest = [*TensorShape(shape)] or [None]
    partitions, rows = [], first
    for size in rest:
        count = None if rows is None or size is None else rows * size
        partitions.append(RowPartitionSpec(rows, count, size, dtype))
        rows = count
    inner = TensorShape(shape).rank
    whole = DynamicRaggedShapeSpec(partitions, [rows] if inner else [], dtype)
    fields = {name: function(part) for name, part in spec._fields.items()}
    made: Any = StructuredTensor.Spec
    return made(_fields=fields, _ragged_shape=whole)


class StructuredTensor(BatchableExtensionType):
    """A tensor of structures: of any rank, with the same fields in each.

    A field is a tensor, a ragged tensor or another structured tensor. It holds the values of all structures:
    its first dimensions are those of the structured tensor, which may be ragged. A vector of structures is a
    table: a row is a structure, a column a field.

    Args:
        fields: the fields by their names.
        ragged_shape: the shape.

    Raises:
        TypeError: for a field that is no tensor.
        ValueError: for a name that a field cannot have.

    >>> import penstock as tf
    >>> people = tf.experimental.StructuredTensor.from_pyval(
    ...     [{"age": 12, "names": ["Josephine"]}, {"age": 82, "names": ["Bob", "Bobby"]}]
    ... )
    >>> people.shape, people.field_names()
    (TensorShape([2]), ('age', 'names'))
    >>> people[1, "names", 0].numpy()
    b'Bob'
    """

    __module__ = "penstock.experimental"
    __batch_encoder__ = _Encoder()

    _fields: Mapping[str, Any]
    _ragged_shape: DynamicRaggedShape

    class Spec(BatchableExtensionType.Spec):
        """What is known of a structured tensor: of its fields, and of its shape."""

        _fields: Mapping[str, Any]
        _ragged_shape: Any

        @property
        def shape(self) -> TensorShape:
            """What is known of the shape, None for ragged dimensions."""
            spec = self._ragged_shape
            if not spec.row_partitions:
                return TensorShape(spec.static_inner_shape)
            first = spec.row_partitions[0].nrows
            return TensorShape([first, *(part.uniform_row_length for part in spec.row_partitions)])

        @property
        def rank(self) -> int:
            """The number of dimensions."""
            return self.shape.rank or 0

    def __init__(self, fields: Mapping[str, Any], ragged_shape: DynamicRaggedShape) -> None:
        if not isinstance(ragged_shape, DynamicRaggedShape):
            raise TypeError(f"argument 'ragged_shape' must be a DynamicRaggedShape, got {ragged_shape!r}")
        if ragged_shape.rank is None:
            raise InvalidArgumentError("argument 'ragged_shape' must have a known rank")
        self._fields = _converted(fields)
        self._ragged_shape = with_all_partitions(ragged_shape)

    @classmethod
    def from_shape(cls, ragged_shape: DynamicRaggedShape) -> StructuredTensor:
        """Make a structured tensor without fields.

        Args:
            ragged_shape: the shape.

        Returns:
            The structured tensor.

        >>> import penstock as tf
        >>> shape = tf.experimental.DynamicRaggedShape.from_lengths([2, (1, 2)])
        >>> tf.experimental.StructuredTensor.from_shape(shape).to_pyval()
        [[{}], [{}, {}]]
        """
        return cls({}, ragged_shape)

    @classmethod
    def from_fields(
        cls,
        fields: Mapping[str, Any],
        shape: ShapeLike = (),
        nrows: IntLike | None = None,
        row_partitions: Sequence[RowPartition] | None = None,
        validate: bool = False,
    ) -> StructuredTensor:
        """Make a structured tensor of its fields.

        Args:
            fields: the fields by their names. The first dimensions of each are those of `shape`.
            shape: what is known of the shape, whose rank must be known.
            nrows: the number of structures of a vector; by default that of the fields.
            row_partitions: the partitions into rows, outermost first; by default those of the fields.
            validate: whether a traced function checks that the rows of all fields are the same.

        Returns:
            The structured tensor.

        Raises:
            TypeError: for a field that is no tensor.
            ValueError: where fields have other shapes, or the shape is not known.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_fields({"foo": [1, 2], "bar": [3, 4]}, shape=[2])
        >>> st.to_pyval()
        [{'foo': 1, 'bar': 3}, {'foo': 2, 'bar': 4}]
        """
        static = TensorShape(shape)
        if static.rank is None:
            raise InvalidArgumentError("argument 'shape' must have a known rank")
        if row_partitions and len(row_partitions) != static.rank - 1:
            raise InvalidArgumentError(
                f"argument 'row_partitions' must be one fewer than the {static.rank} dimension(s) of "
                f"'shape', got {len(row_partitions)}"
            )
        if nrows is not None and static.rank == 0:
            raise InvalidArgumentError("argument 'nrows' must not be given with a scalar 'shape'")
        values = _converted(fields)
        dtype = shape_dtype(values.values())
        if row_partitions:
            dtype = row_partitions[0].dtype
        values = {name: with_shape_dtype(value, dtype) for name, value in values.items()}
        return cls(values, of_fields(values, static, nrows, row_partitions, dtype, validate))

    @classmethod
    def from_fields_and_rank(
        cls, fields: Mapping[str, Any], rank: int, validate: bool = False, dtype: DTypeLike | None = None
    ) -> StructuredTensor:
        """Make a structured tensor of its fields and the number of its dimensions.

        Args:
            fields: the fields by their names, at least one.
            rank: how many of the first dimensions of the fields are those of the structured tensor.
            validate: whether a traced function checks that the rows of all fields are the same.
            dtype: that of the shape, `int32` or `int64`; by default that of the fields.

        Returns:
            The structured tensor.

        Raises:
            TypeError: for a field that is no tensor.
            ValueError: for no fields, fields of other shapes and a rank below 0.

        >>> import penstock as tf
        >>> tf.experimental.StructuredTensor.from_fields_and_rank({"x": [[1, 2], [3, 4]]}, 1).shape
        TensorShape([2])
        """
        if not expect(fields, Mapping, "fields", "a dict"):
            raise InvalidArgumentError("argument 'fields' must have a field")
        if not isinstance(rank, int) or not 0 <= rank < 255:
            raise InvalidArgumentError(f"argument 'rank' must be an integer from 0 to 254, got {rank!r}")
        made = cls.from_fields(fields, [None] * rank, validate=validate)
        return made if dtype is None else made.with_shape_dtype(dtype)

    @classmethod
    def from_pyval(cls, pyval: object, typespec: TypeSpec | None = None) -> Any:
        """Make a structured tensor of dicts and lists of Python.

        Args:
            pyval: a dict, or lists of dicts, for structures. Lists in them become tensors, ragged ones
                where they are lists of lists.
            typespec: a specification of the result; by default it is what the values say.

        Returns:
            The structured tensor; of a value without dicts a tensor or ragged tensor.

        Raises:
            ValueError: for values that do not fit together, or the specification; it names the field.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_pyval([{"a": 1, "b": [[2], [3, 4]]}])
        >>> st.field_value("b").to_list()
        [[[2], [3, 4]]]
        """
        if typespec is not None:
            expect(typespec, TypeSpec, "typespec", "a specification")
        return _from_pyval(pyval, typespec, ())

    # --- what it is ---

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self._ragged_shape.rank or 0

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape, None for ragged dimensions."""
        return static_shape(self._ragged_shape)

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The partitions into rows, outermost first: one fewer than there are dimensions."""
        return self._ragged_shape.row_partitions

    def nrows(self) -> Any:
        """Tell the number of rows.

        Returns:
            A scalar; None for a single structure.

        >>> import penstock as tf
        >>> int(tf.experimental.StructuredTensor.from_pyval([{"a": 1}, {"a": 2}]).nrows())
        2
        """
        return None if self.rank == 0 else self._ragged_shape[0]

    def with_shape_dtype(self, dtype: DTypeLike) -> StructuredTensor:
        """Have partitions of a dtype.

        Args:
            dtype: `int32` or `int64`.

        Returns:
            The structured tensor.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_pyval([{"a": 1}, {"a": 2}])
        >>> st.with_shape_dtype(tf.int32).nrows().dtype
        tf.int32
        """
        kind = _core.DType(dtype)
        if kind == self._ragged_shape.dtype:
            return self
        fields = {name: with_shape_dtype(value, kind) for name, value in self._fields.items()}
        return StructuredTensor(fields, self._ragged_shape.with_dtype(kind))

    def field_names(self) -> tuple[str, ...]:
        """List the names of the fields.

        Returns:
            The names.

        >>> import penstock as tf
        >>> tf.experimental.StructuredTensor.from_pyval({"a": 1, "b": 2}).field_names()
        ('a', 'b')
        """
        return tuple(self._fields)

    def field_value(self, field_name: str | Sequence[str]) -> Any:
        """Give a field.

        Args:
            field_name: its name; or a path of names, of fields in fields.

        Returns:
            A tensor, a ragged or a structured tensor.

        Raises:
            KeyError: where there is no such field.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_pyval({"a": {"b": [1, 2]}})
        >>> st.field_value(("a", "b")).numpy().tolist()
        [1, 2]
        """
        if isinstance(field_name, str):
            if field_name not in self._fields:
                raise KeyError(
                    f"there is no field {field_name!r}: there are {', '.join(self._fields) or 'none'}"
                )
            return self._fields[field_name]
        value: Any = self
        for name in field_name:
            if not isinstance(value, StructuredTensor):
                raise KeyError(f"there is no field {name!r} of the path {tuple(field_name)!r} in a tensor")
            value = value.field_value(name)
        return value

    def __getitem__(self, key: Any) -> Any:
        """Give a field, or some of the structures.

        A single structure is indexed by the name of a field. Of others, indices and slices of the first
        dimensions choose structures; the name of a field may follow, and indices of that.

        Raises:
            KeyError: where there is no such field.
            ValueError: for other keys.

        >>> import penstock as tf
        >>> people = tf.experimental.StructuredTensor.from_pyval([{"age": 12}, {"age": 82}, {"age": 42}])
        >>> people[1:, "age"].numpy().tolist(), people[0].to_pyval()
        ([82, 42], {'age': 12})
        """
        keys = tuple(key) if isinstance(key, tuple | list) else (key,)
        rank = self.rank
        front, rest = keys[:rank], keys[rank:]
        for item in front:
            if item is None or item is Ellipsis or isinstance(item, str | bytes):
                raise InvalidArgumentError(
                    f"a structured tensor of {rank} dimension(s) is indexed by integers and slices first, "
                    f"got {item!r}"
                )
        if rest and rest[0] == slice(None) and rank == 0:
            # Of a structure, all of it: its fields are indexed.
            return self._mapped(lambda value: value[rest[1:]] if rest[1:] else value, ())
        if rest:
            name = rest[0].decode() if isinstance(rest[0], bytes) else rest[0]
            if not isinstance(name, str):
                raise InvalidArgumentError(f"a structure is indexed by the name of a field, got {name!r}")
            value = self.field_value(name)
            return value[(*front, *rest[1:])] if front or rest[1:] else value
        if not front:
            return self
        left = [None] * (rank - sum(not isinstance(item, slice) for item in front))
        if self._fields:
            return self._mapped(lambda value: value[front], left)
        return StructuredTensor({}, DynamicRaggedShape.from_tensor(self._ragged_shape._filled(0)[front]))

    def _mapped(self, function: Callable[[Any], Any], shape: ShapeLike) -> StructuredTensor:
        fields = {name: function(value) for name, value in self._fields.items()}
        return StructuredTensor.from_fields(fields, shape)

    def to_pyval(self) -> Any:
        """Give the structures as dicts of Python, in lists for each dimension.

        Returns:
            A dict, or lists of dicts, with numbers, strings of bytes, lists and dicts.

        Raises:
            ValueError: in a traced function.

        >>> import penstock as tf
        >>> tf.experimental.StructuredTensor.from_fields({"a": [1, 2]}, [2]).to_pyval()
        [{'a': 1}, {'a': 2}]
        """
        if any(leaf._is_symbolic for leaf in nest.flatten(self, expand_composites=True)):
            raise InvalidArgumentError("a structured tensor has no values for Python in a traced function")
        found = {}
        for name, value in self._fields.items():
            if isinstance(value, StructuredTensor):
                found[name] = value.to_pyval()
            elif isinstance(value, RaggedTensor):
                found[name] = value.to_list()
            else:
                array = value.numpy()
                found[name] = array if isinstance(array, bytes) else array.tolist()
        if not found and self.rank:
            zeros = self._ragged_shape._filled(0)
            return _replaced(zeros.to_list() if isinstance(zeros, RaggedTensor) else zeros.numpy().tolist())
        return by_structure(list(found), list(found.values()), self.rank)

    # --- others made of it ---

    def with_updates(self, updates: Mapping[Any, Any], validate: bool = False) -> StructuredTensor:
        """Set, change and remove fields.

        Args:
            updates: by the name of a field, or the path of names of one within others: its new value; a
                function that makes it of the one before; or None to remove it.
            validate: whether a traced function checks that the rows of all fields are the same.

        Returns:
            A structured tensor of the same shape.

        Raises:
            ValueError: for a path in what is no structure, a function or None for a field that there is not,
                a field together with one within it, and values of another shape.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_pyval([{"a": 1, "b": {"c": 2.0}}])
        >>> st.with_updates({"a": None, ("b", "c"): lambda c: c * 2, "d": [7]}).to_pyval()
        [{'b': {'c': 4.0}, 'd': 7}]
        """
        given = expect(updates, Mapping, "updates", "a dict").items()
        paths = {(name,) if isinstance(name, str) else tuple(name): value for name, value in given}
        for path in paths:
            if not path or not all(path):
                raise InvalidArgumentError(
                    f"argument 'updates' must have names that are not empty, got {path!r}"
                )
            inside = [other for other in paths if other != path and other[: len(path)] == path]
            if inside:
                raise InvalidArgumentError(
                    f"argument 'updates' must have a field or one within it, got {path!r} and {inside[0]!r}"
                )
        made = self
        for path, value in paths.items():
            made = made._updated(path, value, validate)
        return made

    def _updated(self, path: tuple[str, ...], value: Any, validate: bool) -> StructuredTensor:
        name, *rest = path
        fields = dict(self._fields)
        if name not in fields and (rest or value is None or callable(value)):
            raise InvalidArgumentError(f"argument 'updates' has {path!r}, but there is no field {name!r}")
        if rest:
            inner = fields[name]
            if not isinstance(inner, StructuredTensor):
                raise InvalidArgumentError(f"argument 'updates' has {path!r}, but {name!r} is no structure")
            fields[name] = inner._updated(tuple(rest), value, validate)
        elif value is None:
            del fields[name]
        else:
            fields[name] = value(fields[name]) if callable(value) else value
        return StructuredTensor.from_fields(fields, self.shape, self.nrows(), self.row_partitions, validate)

    def promote(self, source_path: Sequence[str], new_name: str) -> StructuredTensor:
        """Add a field of a field one level up, and join the dimensions between the two.

        Args:
            source_path: the path of names of the field, at least two.
            new_name: the name of the new field, which is beside the one that has the field.

        Returns:
            A structured tensor with the new field besides.

        Raises:
            ValueError: for a shorter path, or a name that is no string.
            KeyError: where there is no such field.

        >>> import penstock as tf
        >>> docs = [{"docs": [{"tokens": [1, 2]}, {"tokens": [3]}]}, {"docs": [{"tokens": [7]}]}]
        >>> st = tf.experimental.StructuredTensor.from_pyval(docs)
        >>> st.promote(("docs", "tokens"), "tokens").field_value("tokens").to_list()
        [[1, 2, 3], [7]]
        """
        if not isinstance(new_name, str):
            raise InvalidArgumentError(f"argument 'new_name' must be a string, got {new_name!r}")
        if not isinstance(source_path, list | tuple) or len(source_path) < 2:
            raise InvalidArgumentError(
                f"argument 'source_path' must be a list of two names at least, got {source_path!r}"
            )
        above = tuple(source_path[:-2])
        value = self.field_value(source_path)
        outer, inner = self.field_value(above).rank, self.field_value(source_path[:-1]).rank
        last = min(inner, value.shape.rank - 1)
        if last > outer:
            value = merged(value, outer, last)
        return self.with_updates({(*above, new_name): value})

    def partition_outer_dimension(self, row_partition: RowPartition) -> StructuredTensor:
        """Divide the first dimension into rows.

        Args:
            row_partition: the partition.

        Returns:
            A structured tensor with one more dimension.

        Raises:
            TypeError: for what is no partition.
            ValueError: for a single structure.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_pyval([{"foo": 12}, {"foo": 33}, {"foo": 99}])
        >>> rows = tf.experimental.RowPartition.from_row_lengths([2, 0, 1])
        >>> st.partition_outer_dimension(rows).to_pyval()
        [[{'foo': 12}, {'foo': 33}], [], [{'foo': 99}]]
        """
        if not isinstance(row_partition, RowPartition):
            raise TypeError(f"argument 'row_partition' must be a RowPartition, got {row_partition!r}")
        if self.rank == 0:
            raise InvalidArgumentError("a single structure has no dimension to divide")
        shape = self._ragged_shape
        partition = row_partition.with_dtype(shape.dtype)
        fields = {name: outer_partitioned(value, partition) for name, value in self._fields.items()}
        whole = DynamicRaggedShape([partition, *shape.row_partitions], shape.inner_shape, shape.dtype)
        return StructuredTensor(fields, whole)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> StructuredTensor:
        """Join neighbouring dimensions to one.

        Args:
            outer_axis: the first of them.
            inner_axis: the last of them; below 0, both are counted from the last dimension.

        Returns:
            A structured tensor with fewer dimensions.

        Raises:
            ValueError: where the axes are out of range, or the wrong way round.

        >>> import penstock as tf
        >>> st = tf.experimental.StructuredTensor.from_pyval([[{"foo": 12}, {"foo": 33}], [], [{"foo": 99}]])
        >>> st.merge_dims(0, 1).to_pyval()
        [{'foo': 12}, {'foo': 33}, {'foo': 99}]
        """
        axes = []
        for axis, argument in ((outer_axis, "outer_axis"), (inner_axis, "inner_axis")):
            if not isinstance(axis, int) or not -self.rank <= axis < self.rank:
                raise InvalidArgumentError(
                    f"argument '{argument}' must be from {-self.rank} to {self.rank - 1}, got {axis!r}"
                )
            axes.append(axis + self.rank if axis < 0 else axis)
        outer, inner = axes
        if outer >= inner:
            raise InvalidArgumentError(
                f"argument 'outer_axis' must be less than 'inner_axis', got {outer} and {inner}"
            )
        fields = {name: merged(value, outer, inner) for name, value in self._fields.items()}
        shape = merged(self._ragged_shape._filled(0), outer, inner)
        return StructuredTensor(fields, DynamicRaggedShape.from_tensor(shape, self._ragged_shape.dtype))

    def __repr__(self) -> str:
        lines = (f'"{name}": {value!r}'.replace("\n", "\n    ") for name, value in self._fields.items())
        inner = ",\n    ".join(lines)
        return f"<StructuredTensor(fields={{\n    {inner}}}, shape={self.shape})>"


def _converted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as tensors."""
    made = {}
    for name, value in expect(fields, Mapping, "fields", "a dict").items():
        label = checked_name(name)
        if isinstance(value, _core.Tensor | RaggedTensor | StructuredTensor):
            made[label] = value
            continue
        try:
            made[label] = _core._to_tensor(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"argument 'fields': {name!r} must be a tensor, got {value!r}: {error}") from None
    return made


def _replaced(value: Any) -> Any:
    """Lists of numbers as lists of empty dicts."""
    return [_replaced(item) for item in value] if isinstance(value, list) else {}


# --- of Python's values ---


def _mismatch(path: tuple[str, ...], value: Any, spec: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"argument 'pyval' does not fit its specification at {path!r}: {value!r}, not {spec}"
    )


def _from_pyval(value: Any, spec: Any, path: tuple[str, ...]) -> Any:
    structured = spec is not None and isinstance(spec, StructuredTensor.Spec)
    if isinstance(value, Mapping):
        if spec is not None and not (structured and spec.rank == 0 and set(value) == set(spec._fields)):
            raise _mismatch(path, value, spec)
        specs = {} if spec is None else spec._fields
        fields = {name: _from_pyval(item, specs.get(name), (*path, name)) for name, item in value.items()}
        return StructuredTensor.from_fields(fields)
    names: dict[str, None] = {}
    depth = depth_of_dicts(value, names)
    if depth is None and structured:
        depth = _depth_of_nothing(value)
        if depth is None:
            raise _mismatch(path, value, spec)
    if depth is not None:
        return _of_lists(value, list(names), depth, spec, path)
    return _of_values(value, spec, path)


def _depth_of_nothing(value: Any) -> int | None:
    """How deep lists without anything in them are; None for other values."""
    if not isinstance(value, list | tuple):
        return None
    depths = [_depth_of_nothing(item) for item in value]
    return None if None in depths else max((d for d in depths if d is not None), default=0) + 1


def _of_lists(value: Any, names: list[str], depth: int, spec: Any, path: tuple[str, ...]) -> Any:
    """The structured tensor of lists of dicts."""
    if spec is not None:
        fits = isinstance(spec, StructuredTensor.Spec) and not set(names) - set(spec._fields)
        if not fits or spec.rank < depth:
            raise _mismatch(path, value, spec)
        names = list(spec._fields)
    if not names:
        from penstock.ragged import constant  # operations build on this

        zeros = constant(_zeros(value), row_splits_dtype=_core.int64)
        return StructuredTensor({}, DynamicRaggedShape.from_tensor(zeros, _core.int64))

    def column(item: Any, name: str) -> Any:
        if not isinstance(item, Mapping):
            return [column(part, name) for part in item]
        if name not in item:
            raise InvalidArgumentError(f"argument 'pyval' has a dict without {name!r} at {path!r}: {item!r}")
        return item[name]

    specs = {} if spec is None else spec._fields
    fields = {name: _from_pyval(column(value, name), specs.get(name), (*path, name)) for name in names}
    shape = TensorShape([None] * depth) if spec is None else spec.shape
    try:
        return StructuredTensor.from_fields(fields, shape)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"argument 'pyval' has structures that differ at {path!r}: {error}"
        ) from None


def _zeros(value: Any) -> Any:
    return [_zeros(item) for item in value] if isinstance(value, list | tuple) else 0


def _of_values(value: Any, spec: Any, path: tuple[str, ...]) -> Any:
    """The tensor of a value, or of lists of values."""
    from penstock._types.ragged_spec import RaggedTensorSpec  # start-up does without it
    from penstock.ragged import constant  # operations build on this

    made: Any
    try:
        if isinstance(spec, RaggedTensorSpec):
            inner = spec.shape[spec.ragged_rank + 1 :]
            known: Any = inner.as_list() if inner.rank and inner.is_fully_defined() else None
            return constant(value, spec.dtype, spec.ragged_rank, known, None, spec.row_splits_dtype)
        if isinstance(spec, TensorSpec) or not isinstance(value, list | tuple):
            if spec is not None and not isinstance(spec, TensorSpec):
                raise _mismatch(path, value, spec)
            made = _core._to_tensor(value, None if spec is None else spec.dtype)
        else:
            made = constant(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"argument 'pyval' has no tensor at {path!r}: {error}") from None
    if spec is not None and not type_spec_from_value(made).is_compatible_with(spec):
        raise _mismatch(path, value, spec)
    return made
