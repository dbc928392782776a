"""Sparse tensors, messages in JSON, compressed strings and graphs as bytes."""

from __future__ import annotations

import base64
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.host_calls import numpy_function, py_function
from penstock._runtime.protos import Example, TensorProto, array_of, graph_bytes, tensor_proto
from penstock._runtime.scope import scoped
from penstock._types.specs import TensorSpec
from penstock._values.sparse import SparseTensor
from penstock.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, UnimplementedError
from penstock.io._bytes import each_string

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = [
    "decode_compressed",
    "decode_json_example",
    "deserialize_many_sparse",
    "serialize_many_sparse",
    "serialize_sparse",
    "write_graph",
]

# How many bytes of a string are decompressed for each of its own, at most: what deflate can do.
_RATIO = 1100


@scoped
def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> _core.Tensor:
    """Read compressed strings.

    Args:
        bytes: the strings.
        compression_type: `"ZLIB"`, `"GZIP"`, or `""` for none.
        name: a scope for the names of its operations in a graph.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: for another compression.
        DataLossError: where a string is damaged.
        TypeError: where `bytes` has no strings.

    >>> import zlib
    >>> import penstock as tf
    >>> tf.io.decode_compressed([zlib.compress(b"one")], "ZLIB").numpy().tolist()
    [b'one']
    """
    bits = {"": 0, "ZLIB": 15, "GZIP": 31}.get(compression_type)
    if bits is None:
        raise InvalidArgumentError(
            f"argument 'compression_type' must be '', 'ZLIB' or 'GZIP', got {compression_type!r}"
        )

    def plain(text: Any) -> Any:
        if not bits:
            return text
        inflate = zlib.decompressobj(bits)
        try:
            found = inflate.decompress(text, _RATIO * (len(text) + 64))
        except zlib.error as error:
            raise DataLossError(f"argument 'bytes' has a string that is damaged: {error}") from None
        if not inflate.eof:
            raise DataLossError("argument 'bytes' has a string that ends early")
        return found

    return each_string(plain, bytes, "bytes")


def _example_of(text: bytes) -> Example:
    """A message, of its form in JSON.

    Raises:
        ValueError: where it is none.
    """
    content = json.loads(text)

    def only(value: Any, names: dict[str, str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidArgumentError(f"expected an object, got {value!r}")
        unknown = [key for key in value if key not in names]
        if unknown:
            raise InvalidArgumentError(f"there is no field {unknown[0]!r}")
        return {names[key]: item for key, item in value.items()}

    kinds = {
        "bytesList": "bytes_list",
        "floatList": "float_list",
        "int64List": "int64_list",
        "bytes_list": "bytes_list",
        "float_list": "float_list",
        "int64_list": "int64_list",
    }
    read: dict[str, Any] = {
        "bytes_list": lambda x: base64.b64decode(x.translate(_FROM_URLS) + "=" * (-len(x) % 4)),
        "float_list": float,
        "int64_list": int,
    }
    features: dict[str, Any] = {}
    outer = only(content, {"features": "features"}).get("features") or {}
    for key, feature in (only(outer, {"feature": "feature"}).get("feature") or {}).items():
        lists = only(feature, kinds)
        if len(lists) > 1:
            raise InvalidArgumentError(f"feature {key!r} has several lists")
        features[key] = {
            kind: {"value": [read[kind](x) for x in only(held or {}, {"value": "value"}).get("value") or []]}
            for kind, held in lists.items()
        }
    return Example(features={"feature": features})


_FROM_URLS = str.maketrans("-_", "+/")


@scoped
def decode_json_example(json_examples: TensorLike, name: str | None = None) -> _core.Tensor:
    """Write `tf.train.Example` messages that are in JSON as their bytes.

    Args:
        json_examples: messages in the form that protocol buffers have in JSON, strings of any shape.
        name: a scope for the names of its operations in a graph.

    Returns:
        Strings of the same shape, for `tf.io.parse_example`.

    Raises:
        InvalidArgumentError: where a string is no such message.
        TypeError: where `json_examples` has no strings.

    >>> import penstock as tf
    >>> text = '{"features": {"feature": {"age": {"int64List": {"value": ["42"]}}}}}'
    >>> content = tf.io.decode_json_example(text)
    >>> tf.io.parse_single_example(content, {"age": tf.io.FixedLenFeature([], tf.int64)})["age"].numpy()
    np.int64(42)
    """

    def written(text: bytes) -> bytes:
        try:
            return _example_of(text).SerializeToString()
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise InvalidArgumentError(f"argument 'json_examples' has what is no Example: {error}") from None

    return each_string(written, json_examples, "json_examples")


def _sparse(value: Any, out_type: DTypeLike) -> SparseTensor:
    """A sparse tensor whose parts are to be strings.

    Raises:
        TypeError: where it is none.
        ValueError: for another dtype of the parts.
    """
    if not isinstance(value, SparseTensor):
        raise TypeError(f"argument 'sp_input' must be a SparseTensor, got {value!r}")
    if _core.DType(out_type) != _core.string:
        raise InvalidArgumentError(f"argument 'out_type' must be string, got {_core.DType(out_type).name}")
    return value


def _parts(indices: Any, values: Any, shape: Any) -> list[bytes]:
    return [tensor_proto(_core._to_tensor(part)).SerializeToString() for part in (indices, values, shape)]


@scoped
def serialize_sparse(
    sp_input: SparseTensor, out_type: DTypeLike = _core.string, name: str | None = None
) -> _core.Tensor:
    """Write a sparse tensor as three strings.

    Args:
        sp_input: the sparse tensor.
        out_type: `string`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The bytes of the `TensorProto` messages of its places, its values and its shape.

    Raises:
        TypeError: where `sp_input` is no sparse tensor.
        ValueError: for another `out_type`.

    >>> import penstock as tf
    >>> tf.io.serialize_sparse(tf.sparse.from_dense([0, 7])).shape
    TensorShape([3])
    """
    x = _sparse(sp_input, out_type)

    def written(*parts: _core.Tensor) -> _core.Tensor:
        return _core._to_tensor(_parts(*parts), dtype=_core.string)

    spec = TensorSpec([3], _core.string)
    found: _core.Tensor = py_function(written, [x.indices, x.values, x.dense_shape], spec)
    return found


@scoped
def serialize_many_sparse(
    sp_input: SparseTensor, out_type: DTypeLike = _core.string, name: str | None = None
) -> _core.Tensor:
    """Write each row of a sparse tensor as three strings.

    Args:
        sp_input: the sparse tensor, of two dimensions or more, its places in order.
        out_type: `string`.
        name: a scope for the names of its operations in a graph.

    Returns:
        Strings of shape `[rows, 3]`: the bytes of the `TensorProto` messages of places, values and shape.

    Raises:
        InvalidArgumentError: for fewer dimensions.
        TypeError: where `sp_input` is no sparse tensor.
        ValueError: for another `out_type`.

    >>> import penstock as tf
    >>> rows = tf.io.serialize_many_sparse(tf.sparse.from_dense([[0, 7], [8, 9]]))
    >>> tf.sparse.to_dense(tf.io.deserialize_many_sparse(rows, tf.int32)).numpy().tolist()
    [[0, 7], [8, 9]]
    """
    x = _sparse(sp_input, out_type)

    def written(indices: _core.Tensor, values: _core.Tensor, shape: _core.Tensor) -> _core.Tensor:
        places, extents = indices.numpy(), shape.numpy()
        if len(extents) < 2:
            raise InvalidArgumentError(
                f"argument 'sp_input' must have 2 dimensions or more, got shape {extents.tolist()}"
            )
        rows = []
        for row in range(int(extents[0])):
            mine = places[:, 0] == row
            at = mine.nonzero()[0].tolist()
            held = _core._ops()["gather"](values, _core._to_tensor(at, dtype=_core.int64))
            rows.append(_parts(places[mine, 1:], held, extents[1:]))
        if rows:
            return _core._to_tensor(rows, dtype=_core.string)
        import numpy as np  # start-up does without it

        return _core._to_tensor(np.zeros([0, 3], object), dtype=_core.string)

    spec = TensorSpec([None, 3], _core.string)
    found: _core.Tensor = py_function(written, [x.indices, x.values, x.dense_shape], spec)
    return found


@scoped
def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Read sparse tensors from strings, as the rows of one.

    Args:
        serialized_sparse: strings of shape `[rows, 3]`, as `serialize_many_sparse` and a stack of what
            `serialize_sparse` gives have them.
        dtype: the dtype of the values.
        rank: the number of dimensions of a row, where it is known.
        name: a scope for the names of its operations in a graph.

    Returns:
        A sparse tensor with a row for each, as wide as the widest.

    Raises:
        InvalidArgumentError: where strings are no such messages, have values of another dtype, or rows of
            other numbers of dimensions.
        ValueError: where `serialized_sparse` has another shape.

    >>> import penstock as tf
    >>> rows = tf.stack([tf.io.serialize_sparse(tf.sparse.from_dense([0, 7]))])
    >>> tf.io.deserialize_many_sparse(rows, tf.int32).dense_shape.numpy().tolist()
    [1, 2]
    """
    kind = _core.DType(dtype)
    content = _core._to_tensor(serialized_sparse, dtype=_core.string)
    if not content.shape.is_compatible_with([None, 3]):
        raise InvalidArgumentError(
            f"argument 'serialized_sparse' must have shape [rows, 3], got {content.shape}"
        )

    def wrong(message: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"argument 'serialized_sparse' {message}")

    def read(rows: Any) -> list[Any]:
        import numpy as np  # start-up does without it

        places, values, shapes = [], [], []
        for number, row in enumerate(rows):
            try:
                (at, _), (held, named), (shape, _) = (array_of(TensorProto.FromString(part)) for part in row)
            except (DataLossError, ValueError) as error:
                raise wrong(f"has what is no tensor: {error}") from None
            if named != kind.name:
                raise wrong(f"has values of dtype {named}, 'dtype' is {kind.name}")
            if (
                at.ndim != 2
                or at.shape != (len(held), len(shape))
                or (rank is not None and len(shape) != rank)
            ):
                raise wrong(
                    f"has places of shape {at.shape} for {len(held)} values in shape {shape.tolist()}"
                )
            places.append(np.concatenate([np.full([len(at), 1], number, np.int64), at], 1))
            values.append(held)
            shapes.append(shape)
        if len({len(shape) for shape in shapes}) > 1:
            raise wrong("has rows of several numbers of dimensions")
        if not shapes:
            width = 0 if rank is None else rank
            return [np.zeros([0, width + 1], np.int64), _none(kind), np.zeros([width + 1], np.int64)]
        widest = np.max(np.stack(shapes), 0)
        whole = np.concatenate([[len(rows)], widest]).astype(np.int64)
        return [np.concatenate(places), np.concatenate(values), whole]

    width = None if rank is None else rank + 1
    specs = [
        TensorSpec([None, width], _core.int64),
        TensorSpec([None], kind),
        TensorSpec([width], _core.int64),
    ]
    indices, values, shape = numpy_function(read, [content], specs, stateful=False)
    return SparseTensor(indices, values, shape)


def _none(dtype: _core.DType) -> Any:
    import numpy as np  # start-up does without it

    return np.zeros([0], object if dtype == _core.string else dtype.as_numpy_dtype)


def write_graph(
    graph_or_graph_def: object, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Write a graph to a file, as a `GraphDef` message.

    As bytes it is what TensorFlow and `tf.import_graph_def` read. Of a graph that they cannot run it is the
    list of nodes without attributes.

    Args:
        graph_or_graph_def: the graph of a traced function, or what its `as_graph_def()` gives.
        logdir: the directory, which is made where it is absent.
        name: the name of the file.
        as_text: whether the message is written in its text form.

    Returns:
        The path of the file.

    Raises:
        TypeError: for what is no graph.

    >>> import tempfile
    >>> import penstock as tf
    >>> graph = tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([], "float32")).graph
    >>> path = tf.io.write_graph(graph, tempfile.mkdtemp(), "graph.pbtxt")
    >>> tf.io.read_file(path).numpy().decode().splitlines()[:3]
    ['node {', '  name: "x"', '  op: "Placeholder"']
    """
    given: Any = graph_or_graph_def
    graph = given.as_graph_def() if hasattr(given, "as_graph_def") else given
    nodes = getattr(graph, "node", None)
    if nodes is None:
        raise TypeError(f"argument 'graph_or_graph_def' must be a graph, got {given!r}")
    path = Path(logdir, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        content = graph.SerializeToString()
    except (UnimplementedError, FailedPreconditionError):
        content = graph_bytes(nodes)
    if as_text:
        from penstock._saving.graph_export import graph_text  # which is above this in the package

        path.write_text(graph_text(content), encoding="utf8")
    else:
        path.write_bytes(content)
    return str(path)
