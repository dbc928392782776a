"""Functions of TensorFlow 1 whose parameters version 2 changed. Each calls that of version 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import _core
from penstock._runtime import v1_graph_state
from penstock._runtime.print import showing
from penstock.compat.v1._configuration import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)
from penstock.compat.v1._graph import get_default_graph
from penstock.compat.v1._variables import VariableScope

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "OptimizerOptions",
    "Print",
    "RunMetadata",
    "RunOptions",
    "VariableScope",
    "add_to_collections",
    "arg_max",
    "arg_min",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
    "assert_type",
    "batch_gather",
    "batch_to_space",
    "bincount",
    "count_nonzero",
    "decode_csv",
    "decode_raw",
    "depth_to_space",
    "disable_control_flow_v2",
    "disable_resource_variables",
    "div",
    "enable_resource_variables",
    "get_collection_ref",
    "initialize_all_tables",
    "model_variables",
    "moving_average_variables",
    "multinomial",
    "no_regularizer",
    "parse_example",
    "parse_single_example",
    "random_poisson",
    "resource_variables_enabled",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "space_to_batch",
    "space_to_depth",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_to_dense",
    "string_split",
    "string_to_hash_bucket",
    "string_to_number",
    "substr",
    "tables_initializer",
    "to_bfloat16",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_int32",
    "to_int64",
    "verify_tensor_all_finite",
]


class _Package:
    """Version 2, whose public functions those here call."""

    def __getattr__(self, name: str) -> Any:
        import penstock  # which is above this in the package

        return getattr(penstock, name)


tf = _Package()


def _cast_to(dtype: _core.DType, label: str) -> Callable[..., Any]:
    def to(x: Any, name: str = label) -> Any:
        """Convert values to a dtype."""
        return tf.cast(x, dtype, name=name)

    return to


to_int32 = _cast_to(_core.int32, "ToInt32")
to_int64 = _cast_to(_core.int64, "ToInt64")
to_double = _cast_to(_core.float64, "ToDouble")
to_bfloat16 = _cast_to(_core.bfloat16, "ToBFloat16")
to_complex64 = _cast_to(_core.complex64, "ToComplex64")
to_complex128 = _cast_to(_core.complex128, "ToComplex128")


def _operation(check: Callable[..., Any], *args: Any, data: Any = None, **kwargs: Any) -> Any:
    """Makes a check, and in a graph the operation that does it, to run before others.

    The error shows `data` in place of what is compared.
    """
    start = v1_graph_state.mark()
    with showing(data):
        found = check(*args, **kwargs)
    made = v1_graph_state.operation(start)
    return found if made is None else made


def _of_two(check: Callable[..., Any]) -> Callable[..., Any]:
    def assert_two(
        x: Any, y: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: Any = None
    ) -> Any:
        """Check a relation of all elements of two tensors; the operation that does in a graph."""
        return _operation(check, x, y, message=message, summarize=summarize, name=name, data=data)

    return assert_two


def _of_one(check: Callable[..., Any]) -> Callable[..., Any]:
    def assert_one(
        x: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: Any = None
    ) -> Any:
        """Check all elements of a tensor; the operation that does in a graph."""
        return _operation(check, x, message=message, summarize=summarize, name=name, data=data)

    return assert_one


assert_equal = _of_two(tf.debugging.assert_equal)
assert_none_equal = _of_two(tf.debugging.assert_none_equal)
assert_less = _of_two(tf.debugging.assert_less)
assert_less_equal = _of_two(tf.debugging.assert_less_equal)
assert_greater = _of_two(tf.debugging.assert_greater)
assert_greater_equal = _of_two(tf.debugging.assert_greater_equal)
assert_negative = _of_one(tf.debugging.assert_negative)
assert_positive = _of_one(tf.debugging.assert_positive)
assert_non_negative = _of_one(tf.debugging.assert_non_negative)
assert_non_positive = _of_one(tf.debugging.assert_non_positive)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: Any = None,
    message: str | None = None,
    name: Any = None,
) -> Any:
    """Check that the elements of two tensors are near to each other."""
    return _operation(tf.debugging.assert_near, x, y, rtol, atol, message, summarize, name, data=data)


def _of_rank(check: Callable[..., Any]) -> Callable[..., Any]:
    def assert_of_rank(
        x: Any,
        rank: Any,
        data: Any = None,
        summarize: Any = None,
        message: str | None = None,
        name: Any = None,
    ) -> Any:
        """Check the rank of a tensor."""
        return _operation(check, x, rank, message, name, data=data)

    return assert_of_rank


assert_rank = _of_rank(tf.debugging.assert_rank)
assert_rank_at_least = _of_rank(tf.debugging.assert_rank_at_least)


def assert_rank_in(
    x: Any, ranks: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: Any = None
) -> Any:
    """Check that the rank of a tensor is one of several."""
    return _operation(tf.debugging.assert_rank_in, x, ranks, message, name, data=data)


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Check that a tensor is of integers."""
    return _operation(tf.debugging.assert_integer, x, message, name)


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """Check that a tensor is a scalar; the tensor."""
    tf.debugging.assert_scalar(tensor, message, name)
    return tf.convert_to_tensor(tensor)


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Any:
    """Check the dtype of a tensor."""
    return _operation(tf.debugging.assert_type, tensor, tf_type, message, name)


def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Any:
    """Check that all elements of a tensor are finite; the tensor."""
    return tf.debugging.assert_all_finite(_either(t, x, "t"), _either(msg, message, "msg"), name)


def _either(new: Any, old: Any, name: str) -> Any:
    """The value of a parameter that has two names."""
    if (new is None) == (old is None):
        raise ValueError(f"argument '{name}' must be given, by one of its names")
    return old if new is None else new


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python 2 does: integers are rounded down."""
    x = tf.convert_to_tensor(x)
    y = tf.convert_to_tensor(y, x.dtype)
    return tf.math.floordiv(x, y, name) if x.dtype.is_integer else tf.math.divide(x, y, name)


def arg_max(input: Any, dimension: Any, output_type: Any = _core.int64, name: str | None = None) -> Any:
    """Find the index of the greatest element along a dimension."""
    return tf.math.argmax(input, dimension, output_type, name)


def arg_min(input: Any, dimension: Any, output_type: Any = _core.int64, name: str | None = None) -> Any:
    """Find the index of the least element along a dimension."""
    return tf.math.argmin(input, dimension, output_type, name)


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = _core.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Any:
    """Count the elements that are not 0."""
    axis = reduction_indices if axis is None else axis
    kept = keep_dims if keepdims is None else keepdims
    return tf.math.count_nonzero(_either(input_tensor, input, "input_tensor"), axis, bool(kept), dtype, name)


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = _core.int32
) -> Any:
    """Count how often each number is in an array."""
    return tf.math.bincount(arr, weights, minlength, maxlength, dtype)


def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = None
) -> Any:
    """Draw from categorical distributions."""
    return tf.random.categorical(logits, num_samples, output_dtype or _core.int64, seed, name)


def random_poisson(
    lam: Any, shape: Any, dtype: Any = _core.float32, seed: Any = None, name: str | None = None
) -> Any:
    """Draw from Poisson distributions."""
    return tf.random.poisson(shape, lam, dtype, seed, name)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Take elements along the last dimension of the indices, those before being of a batch."""
    indices = tf.convert_to_tensor(indices)
    return tf.gather(
        params, indices, axis=indices.shape.rank - 1, batch_dims=indices.shape.rank - 1, name=name
    )


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Any:
    """Move blocks of space to channels."""
    return tf.nn.space_to_depth(input, block_size, data_format, name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Any:
    """Move channels to blocks of space."""
    return tf.nn.depth_to_space(input, block_size, data_format, name)


def _block(block_size: Any, block_shape: Any) -> Any:
    if (block_size is None) == (block_shape is None):
        raise ValueError("one of the arguments 'block_size' and 'block_shape' must be given")
    return [block_size, block_size] if block_shape is None else block_shape


def space_to_batch(
    input: Any, paddings: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None
) -> Any:
    """Move blocks of space to the batch."""
    return tf.space_to_batch(input, _block(block_size, block_shape), paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None
) -> Any:
    """Move the batch to blocks of space."""
    return tf.batch_to_space(input, _block(block_size, block_shape), crops, name)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Take parts of strings."""
    return tf.strings.substr(input, pos, len, unit, name)


def string_to_number(
    string_tensor: Any = None, out_type: Any = _core.float32, name: str | None = None, input: Any = None
) -> Any:
    """Read numbers."""
    return tf.strings.to_number(_either(string_tensor, input, "string_tensor"), out_type, name)


def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Any:
    """Hash strings."""
    return tf.strings.to_hash_bucket(_either(string_tensor, input, "string_tensor"), num_buckets, name)


def string_split(
    source: Any,
    sep: str | None = None,
    skip_empty: bool = True,
    delimiter: str | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Split strings at a separator, by default at spaces; a sparse or a ragged tensor."""
    separator = (delimiter if sep is None else sep) or " "
    parts = tf.strings.split(source, separator, name=name)
    if skip_empty:
        parts = tf.ragged.boolean_mask(parts, tf.ragged.map_flat_values(tf.strings.length, parts) > 0)
    return parts if result_type == "RaggedTensor" else parts.to_sparse()


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> Any:
    """Read records of comma-separated values."""
    return tf.io.decode_csv(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name=name
    )


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Any:
    """Read numbers of bytes."""
    given = _either(input_bytes, bytes, "input_bytes")
    return tf.io.decode_raw(given, out_type, little_endian=little_endian, name=name)


def parse_example(serialized: Any, features: Any, name: str | None = None, example_names: Any = None) -> Any:
    """Read messages of features."""
    return tf.io.parse_example(serialized, features, example_names, name)


def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> Any:
    """Read a message of features."""
    return tf.io.parse_single_example(serialized, features, example_names, name)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Make a tensor of values at indices: a scalar, a list of numbers, or a list of index vectors."""
    values = tf.convert_to_tensor(sparse_values)
    indices = tf.convert_to_tensor(sparse_indices)
    if indices.shape.rank == 0:
        indices = tf.reshape(indices, [1, 1])
    elif indices.shape.rank == 1:
        indices = tf.expand_dims(indices, 1)
    dense = tf.fill(output_shape, tf.cast(default_value, values.dtype))
    return tf.tensor_scatter_nd_update(
        dense, indices, tf.broadcast_to(values, tf.shape(indices)[:1]), name=name
    )


def _sparse_segments(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Any:
        """Reduce rows of a tensor by segments."""
        return reduce(data, indices, segment_ids, num_segments, name)

    return reduced


sparse_segment_sum = _sparse_segments(tf.sparse.segment_sum)
sparse_segment_mean = _sparse_segments(tf.sparse.segment_mean)
sparse_segment_sqrt_n = _sparse_segments(tf.sparse.segment_sqrt_n)


def _scatter(method: str) -> Callable[..., Any]:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Change rows of a variable."""
        return getattr(ref, method)(tf.IndexedSlices(tf.convert_to_tensor(updates, ref.dtype), indices))

    return scatter


scatter_mul, scatter_div = _scatter("scatter_mul"), _scatter("scatter_div")
scatter_max, scatter_min = _scatter("scatter_max"), _scatter("scatter_min")


def _scatter_nd(method: str) -> Callable[..., Any]:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Change elements of a variable."""
        return getattr(ref, method)(indices, updates, name)

    return scatter


scatter_nd_add, scatter_nd_sub = _scatter_nd("scatter_nd_add"), _scatter_nd("scatter_nd_sub")
scatter_nd_update = _scatter_nd("scatter_nd_update")


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Print values whenever a tensor is computed; the tensor. `first_n` is ignored."""
    start = v1_graph_state.mark()
    shown = 3 if summarize is None else summarize
    tf.print(*([message] if message else []), *(data or []), summarize=shown)
    printed = v1_graph_state.operation(start)
    if printed is None:
        return tf.identity(input_, name=name)
    with get_default_graph().control_dependencies([printed]):
        return tf.identity(input_, name=name)


def no_regularizer(_: Any) -> None:
    """Regularise nothing."""


def add_to_collections(names: Any, value: Any) -> None:
    """Add something to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection_ref(key: str) -> list[Any]:
    """Find a collection of the default graph, to change it."""
    return get_default_graph().get_collection_ref(key)


def _in_collection(key: str) -> Callable[..., list[Any]]:
    def variables(scope: str | None = None) -> list[Any]:
        """List the variables of a collection of the default graph."""
        return get_default_graph().get_collection(key, scope)

    return variables


model_variables = _in_collection("model_variables")
moving_average_variables = _in_collection("moving_average_variables")


def tables_initializer(name: str = "init_all_tables") -> Any:
    """Make the operation that fills tables: those of an imported graph, as others are full from the start."""
    graph = v1_graph_state.current()
    if graph is None:
        return None
    made = graph.group(*graph.get_collection("table_initializer"), name=name)
    made._fills_tables = True
    return made


initialize_all_tables = tables_initializer


def enable_resource_variables() -> None:
    """Have variables be what they are."""


disable_resource_variables = disable_control_flow_v2 = enable_resource_variables


def resource_variables_enabled() -> bool:
    """Tell whether variables are as in version 2: yes."""
    return True
