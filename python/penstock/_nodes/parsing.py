"""Operators that read and write bytes: messages, numbers, files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock._nodes._parts import ints, static

__all__ = ["NODES"]


def _decode_csv(
    records: Any, defaults: Sequence[Any], delimiter: str, quotes: bool, na_value: str, columns: Any
) -> Any:
    return tf.io.decode_csv(records, defaults, delimiter, quotes, na_value, columns or None)


def _padded_raw(contents: Any, length: Any, dtype: Any, little: bool) -> Any:
    return tf.io.decode_raw(contents, dtype, little, fixed_length=ints(length, "fixed_length"))


def _texts(keys: Any, argument: str) -> list[str]:
    return [str(key.decode()) for key in static(keys, argument).reshape(-1).tolist()]


def _default(value: Any, dtype: Any) -> Any:
    return None if value.shape.num_elements() == 0 else tf.cast(value, dtype) if dtype != tf.string else value


def _dense(default: Any, shape: Any, dtype: Any) -> Any:
    """What a dense feature is: of one length, or of one that differs, where its first size is not known."""
    if shape.rank and shape[0] is None:
        return tf.io.FixedLenSequenceFeature(shape[1:], dtype, True, _default(default, dtype))
    return tf.io.FixedLenFeature(shape, dtype, _default(default, dtype))


def _parsed(
    parse: Callable[..., Any],
    serialized: Any,
    sparse: Any,
    dense: Any,
    defaults: Any,
    types: Any,
    shapes: Any,
) -> Any:
    features: dict[str, Any] = {k: tf.io.VarLenFeature(t) for k, t in zip(sparse, types, strict=True)}
    features |= {
        key: _dense(default, shape, default.dtype)
        for key, default, shape in zip(dense, defaults, shapes, strict=True)
    }
    found = parse(serialized, features)
    of_sparse = [found[key] for key in sparse]
    return (
        [s.indices for s in of_sparse],
        [s.values for s in of_sparse],
        [s.dense_shape for s in of_sparse],
        [found[key] for key in dense],
    )


def _example(
    serialized: Any, names: Any, sparse: Any, dense: Any, defaults: Any, types: Any, shapes: Any
) -> Any:
    of_sparse, of_dense = ([_texts(key, "keys")[0] for key in listed] for listed in (sparse, dense))
    return _parsed(tf.io.parse_example, serialized, of_sparse, of_dense, defaults, types, shapes)


def _single(
    serialized: Any, defaults: Any, num_sparse: int, sparse: Any, dense: Any, types: Any, shapes: Any
) -> Any:
    return _parsed(tf.io.parse_single_example, serialized, sparse, dense, defaults, types, shapes)


def _example_v2(
    serialized: Any,
    names: Any,
    sparse_keys: Any,
    dense_keys: Any,
    ragged_keys: Any,
    defaults: Any,
    num_sparse: int,
    types: Any,
    value_types: Any,
    split_types: Any,
    shapes: Any,
) -> Any:
    sparse, dense, ragged = (_texts(keys, "keys") for keys in (sparse_keys, dense_keys, ragged_keys))
    features: dict[str, Any] = {
        key: tf.io.RaggedFeature(dtype, row_splits_dtype=splits)
        for key, dtype, splits in zip(ragged, value_types, split_types, strict=True)
    }
    features |= {k: tf.io.VarLenFeature(t) for k, t in zip(sparse, types, strict=True)}
    features |= {
        key: _dense(default, shape, default.dtype)
        for key, default, shape in zip(dense, defaults, shapes, strict=True)
    }
    parse = tf.io.parse_single_example if serialized.shape.rank == 0 else tf.io.parse_example
    found = parse(serialized, features)
    of_sparse = [found[key] for key in sparse]
    of_ragged = [found[key] for key in ragged]
    return (
        [s.indices for s in of_sparse],
        [s.values for s in of_sparse],
        [s.dense_shape for s in of_sparse],
        [found[key] for key in dense],
        [r.values if isinstance(r, tf.RaggedTensor) else r for r in of_ragged],
        [r.row_splits if isinstance(r, tf.RaggedTensor) else tf.zeros([0], tf.int64) for r in of_ragged],
    )


def _sparse(indices: Any, values: Any, shape: Any, out_type: Any) -> Any:
    return tf.io.serialize_sparse(tf.SparseTensor(indices, values, shape), out_type)


def _many_sparse(indices: Any, values: Any, shape: Any, out_type: Any) -> Any:
    return tf.io.serialize_many_sparse(tf.SparseTensor(indices, values, shape), out_type)


def _back(serialized: Any, dtype: Any) -> Any:
    if serialized.shape.rank == 1:
        # One tensor: that of a batch of one, without the batch.
        found = tf.io.deserialize_many_sparse(serialized[None], dtype)
        return found.indices[:, 1:], found.values, found.dense_shape[1:]
    found = tf.io.deserialize_many_sparse(serialized, dtype)
    return found.indices, found.values, found.dense_shape


NODES: Final[dict[str, Callable[..., Any]]] = {
    "DecodeBase64": tf.io.decode_base64,
    "DecodeCSV": _decode_csv,
    "DecodeCompressed": tf.io.decode_compressed,
    "DecodeJSONExample": tf.io.decode_json_example,
    "DecodePaddedRaw": _padded_raw,
    "DecodeProtoV2": tf.io.decode_proto,
    "DecodeRaw": tf.io.decode_raw,
    "DeserializeManySparse": _back,
    "DeserializeSparse": _back,
    "EncodeBase64": tf.io.encode_base64,
    "EncodeProto": tf.io.encode_proto,
    "MatchingFiles": tf.io.matching_files,
    "ParseExample": _example,
    "ParseExampleV2": _example_v2,
    "ParseSingleExample": _single,
    "ParseTensor": tf.io.parse_tensor,
    "ReadFile": tf.io.read_file,
    "SerializeManySparse": _many_sparse,
    "SerializeSparse": _sparse,
    "SerializeTensor": tf.io.serialize_tensor,
    "WriteFile": tf.io.write_file,
}
