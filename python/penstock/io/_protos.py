"""Messages of protocol buffers of any type, as tensors of their fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock import _core
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.scope import scoped
from penstock._types.specs import TensorSpec
from penstock.errors import DataLossError, InvalidArgumentError, UnimplementedError
from penstock.io._proto_schema import FieldType, Schema, file_set
from penstock.io._proto_wire import DTYPES, canonical, field_bytes, values_of

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = ["decode_proto", "encode_proto"]

_BITS: Final = {"int32": 32, "int64": 64}


class DecodeProtoV2(NamedTuple):
    """The fields of messages.

    Attributes:
        sizes: how many values each field has, of shape `[…, fields]`.
        values: for each field the values, of shape `[…, largest number of values, at least 1]`.
    """

    sizes: _core.Tensor
    values: list[_core.Tensor]


@scoped
def decode_proto(
    bytes: TensorLike,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[DTypeLike],
    descriptor_source: str | bytes = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> DecodeProtoV2:
    """Read fields of messages of protocol buffers.

    Messages within them are read as their bytes, for another call; so are the entries of maps, which are
    repeated messages with the fields `key` and `value`. Enumerations are `int32`. Unsigned integers may be
    read as signed ones of the same or more bits.

    Args:
        bytes: messages, strings of any shape.
        message_type: the full name of their type, such as `"tensorflow.Example"`.
        field_names: the names of the fields to read; of extensions with their package.
        output_types: the dtype of each.
        descriptor_source: where the type is described: the path of a file with a `FileDescriptorSet` message,
            as `protoc --include_imports --descriptor_set_out` writes it, or that message behind `bytes://`;
            `"local://"` for the types of the library `protobuf`, where the program has loaded them, and those
            that this package has, such as `tensorflow.Example`.
        message_format: `"binary"`, or `"text"`, which needs the library `protobuf`.
        sanitize: whether messages are first written anew, each field once and by number.
        name: a scope for the names of its operations in a graph.

    Returns:
        A named tuple: `sizes`, `int32` of shape `[…, fields]`, how many values each field has; and `values`,
        for each field a tensor of shape `[…, n]`, where `n` is the largest number of values, at least 1.
        Behind the last value, and where there is none, stands the default of the field.

    Raises:
        InvalidArgumentError: for a type or a field that is not described, a dtype that the field does not
            have, and another format.
        DataLossError: where a string is no such message.
        UnimplementedError: for text where `protobuf` is not installed.

    >>> import penstock as tf
    >>> message = tf.train.Int64List(value=[7, 8]).SerializeToString()
    >>> sizes, values = tf.io.decode_proto([message, b""], "tensorflow.Int64List", ["value"], [tf.int64])
    >>> sizes.numpy().tolist(), values[0].numpy().tolist()
    ([[2], [0]], [[7, 8], [0, 0]])
    """
    names = _names(field_names)
    dtypes = [_core.DType(dtype) for dtype in output_types]
    if len(names) != len(dtypes):
        raise InvalidArgumentError(
            f"argument 'output_types' must have a dtype for each of 'field_names', got {len(dtypes)} for "
            f"{len(names)}"
        )
    types = file_set(descriptor_source, message_type)
    fields = _fields(types, message_type, names)
    for field, dtype in zip(fields, dtypes, strict=True):
        if dtype.name not in DTYPES[field.kind]:
            raise InvalidArgumentError(
                f"argument 'output_types': field '{field.name}' of type {field.kind} is read as "
                f"{' or '.join(DTYPES[field.kind])}, got {dtype.name}"
            )
    binary = _reader(types, message_type, message_format)
    content = _core._to_tensor(bytes, dtype=_core.string)
    wanted = {field.number: field for field in fields}

    def read(messages: Any) -> list[Any]:
        import numpy as np  # start-up does without it

        shape = np.shape(messages)
        rows = []
        for one in np.asarray(messages, object).ravel().tolist():
            try:
                plain = binary(one)
                if sanitize:
                    plain = canonical(plain, types, message_type)
                rows.append(values_of(plain, wanted))
            except ValueError as error:
                raise DataLossError(
                    f"argument 'bytes' has what is no message '{message_type}': {error}"
                ) from None
        sizes = [[len(row.get(field.number, ())) for field in fields] for row in rows]
        found: list[Any] = [np.array(sizes, np.int32).reshape(*shape, len(fields))]
        for field, dtype in zip(fields, dtypes, strict=True):
            found.append(_padded([row.get(field.number, []) for row in rows], field, dtype, shape))
        return found

    batch = content.shape
    before = None if batch.rank is None else batch.as_list()
    specs = [TensorSpec(None if before is None else [*before, len(fields)], _core.int32)]
    specs += [TensorSpec(None if before is None else [*before, None], dtype) for dtype in dtypes]
    found = numpy_function(read, [content], specs, stateful=False)
    return DecodeProtoV2(found[0], list(found[1:]))


def _names(field_names: Any) -> list[str]:
    if isinstance(field_names, str | bytes):
        raise TypeError(f"argument 'field_names' must be a list of names, got {field_names!r}")
    return [name.decode() if isinstance(name, bytes) else str(name) for name in field_names]


def _fields(types: Schema, message_type: str, names: Sequence[str]) -> list[FieldType]:
    known = types.fields(message_type)
    for name in names:
        if name not in known:
            raise InvalidArgumentError(
                f"argument 'field_names': '{message_type}' has no field '{name}': it has {', '.join(known)}"
            )
    return [known[name] for name in names]


def _padded(rows: list[list[Any]], field: FieldType, dtype: _core.DType, shape: Sequence[int]) -> Any:
    """The values of a field in each message, of one length."""
    import numpy as np  # start-up does without it

    width = max([1, *map(len, rows)])
    bits = _BITS.get(dtype.name)
    if bits is not None and field.kind in ("uint32", "uint64", "fixed32", "fixed64"):
        # The same bits, of which the first is the sign.
        half = 1 << (bits - 1)
        rows = [[((value & (2 * half - 1)) ^ half) - half for value in row] for row in rows]
        field = field._replace(default=((field.default & (2 * half - 1)) ^ half) - half)
    kind = object if dtype == _core.string else dtype.as_numpy_dtype
    found = np.full([len(rows), width], field.default, kind)
    for at, row in enumerate(rows):
        if row:
            found[at, : len(row)] = row
    return found.reshape(*shape, width)


def _reader(types: Schema, message_type: str, message_format: str) -> Any:
    """What gives the bytes of a message in a format."""
    if message_format == "binary":
        return lambda content: content
    if message_format != "text":
        raise InvalidArgumentError(
            f"argument 'message_format' must be 'binary' or 'text', got {message_format!r}"
        )
    try:
        # Third-party code, for who has messages as text.
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
    except ImportError:
        raise UnimplementedError(
            "argument 'message_format' may be 'text' where the package 'protobuf' is installed: "
            "run 'pip install protobuf'"
        ) from None
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(types.content).file:
        pool.Add(file)
    cls = message_factory.GetMessageClass(pool.FindMessageTypeByName(message_type))

    def binary(content: Any) -> Any:
        try:
            return text_format.Parse(content, cls(), descriptor_pool=pool).SerializePartialToString()
        except text_format.ParseError as error:
            raise ValueError(str(error)) from None

    return binary


@scoped
def encode_proto(
    sizes: TensorLike,
    values: Sequence[TensorLike],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> _core.Tensor:
    r"""Write messages of protocol buffers from their fields.

    It is the inverse of `tf.io.decode_proto`, and takes what that gives.

    Args:
        sizes: how many values each field of each message has, integers of shape `[…, fields]`.
        values: for each field a tensor of shape `[…, n]` of which the first so many are written; messages
            within the message as their bytes.
        field_names: the names of the fields.
        message_type: the full name of the type of the messages.
        descriptor_source: where the type is described, as for `tf.io.decode_proto`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The messages, strings of shape `[…]`, with their fields by number.

    Raises:
        InvalidArgumentError: for a type or a field that is not described, values of a dtype that the field
            does not have, or of shapes that do not belong together.

    >>> import penstock as tf
    >>> tf.io.encode_proto([[2], [0]], [[[7, 8], [0, 0]]], ["value"], "tensorflow.Int64List").numpy().tolist()
    [b'\n\x02\x07\x08', b'']
    """
    names = _names(field_names)
    types = file_set(descriptor_source, message_type)
    fields = _fields(types, message_type, names)
    if not isinstance(values, list | tuple) or len(values) != len(names) or not names:
        count = len(values) if isinstance(values, list | tuple) else values
        raise InvalidArgumentError(
            f"argument 'values' must be a list with a tensor for each of 'field_names', got {count!r} for "
            f"{len(names)}"
        )
    counts = _core._to_tensor(sizes, dtype=_core.int32)
    columns = [_column(value, field) for value, field in zip(values, fields, strict=True)]
    batch = counts.shape
    for column in columns:
        if column.shape.rank is not None:
            batch = _merged(batch, column.shape, len(fields))
    order = sorted(range(len(fields)), key=lambda i: fields[i].number)

    def write(counted: Any, *held: Any) -> Any:
        import numpy as np  # start-up does without it

        shape = counted.shape[:-1]
        for array in held:
            if counted.ndim < 1 or array.shape[:-1] != shape or counted.shape[-1] != len(fields):
                raise _unequal(counted.shape, array.shape, len(fields))
        each = counted.reshape(-1, len(fields)).tolist()
        flat = [array.reshape(len(each), -1) if array.size else None for array in held]
        found = np.empty(len(each), object)
        for row, numbers in enumerate(each):
            pieces = []
            for i in order:
                size, there = numbers[i], held[i].shape[-1]
                if not 0 <= size <= there:
                    raise InvalidArgumentError(
                        f"argument 'sizes' has {size} for field '{names[i]}', of which there are {there} "
                        "values"
                    )
                array = flat[i]
                if size and array is not None:
                    pieces.append(field_bytes(fields[i], array[row, :size].tolist()))
            found[row] = b"".join(pieces)
        return found.reshape(shape) if shape else found[0]

    spec = TensorSpec(None if batch.rank is None else batch.as_list()[:-1], _core.string)
    result: _core.Tensor = numpy_function(write, [counts, *columns], spec, stateful=False)
    return result


def _column(value: Any, field: FieldType) -> _core.Tensor:
    """The values of a field as a tensor of a dtype that it has."""
    allowed = DTYPES[field.kind]
    if isinstance(value, _core.Tensor) or hasattr(value, "dtype"):
        found = _core._to_tensor(value)
    else:
        found = _core._to_tensor(value, dtype=getattr(_core, allowed[0]))
    if found.dtype.name not in allowed:
        raise InvalidArgumentError(
            f"argument 'values': field '{field.name}' of type {field.kind} takes {' or '.join(allowed)}, "
            f"got {found.dtype.name}"
        )
    if found.shape.rank == 0:
        raise InvalidArgumentError(f"argument 'values': field '{field.name}' must have a dimension of values")
    return found


def _merged(sizes: Any, column: Any, fields: int) -> Any:
    """The shape of the sizes, as far as it and that of a column say it."""
    implied = [*column.as_list()[:-1], fields]
    if not sizes.is_compatible_with(implied):
        raise _unequal(sizes, column, fields)
    return sizes.merge_with(implied)


def _unequal(sizes: Any, column: Any, fields: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"argument 'sizes' must have the shape of 'values' with {fields} in place of its last dimension, got "
        f"{tuple(sizes)} for {tuple(column)}"
    )
