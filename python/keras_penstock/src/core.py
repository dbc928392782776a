"""Variables, tensors and control flow of the backend."""

import builtins
import re

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, global_state, is_int_dtype, standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.name_scope import name_scope as base_name_scope
from keras.src.backend.common.stateless_scope import StatelessScope, in_stateless_scope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import penstock as tf

SUPPORTS_SPARSE_TENSORS = True
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = True
SUPPORTS_GRADIENT = True
IS_THREAD_SAFE = True

# What stands for a tensor most of whose elements, or rows, are zero.
SPARSE = frozenset((tf.SparseTensor, tf.IndexedSlices))


class Variable(KerasVariable):
    """Keras's variable over a `tf.Variable`."""

    # For `tf.is_tensor`.
    _is_kind_of_tensor = True

    @property
    def handle(self):
        """The variable of the engine. A `tf.GradientTape` knows the Keras variable by it."""
        return self._value

    @property
    def shape(self):
        return tf.TensorShape(super().shape)

    def _trackable_value(self):
        """What a checkpoint saves in its place; None before there is a value."""
        return self._value

    def _initialize(self, value):
        if isinstance(value, tf.Variable):
            self._value = value
        else:
            self._value = tf.Variable(
                value, dtype=self._dtype, trainable=self.trainable, name=self.name, **self._among_replicas()
            )

    def _among_replicas(self):
        """Say what replicas of one process make of it when all assign.

        Of moving averages the mean of what they assign counts. Metrics add up, since replicas change the one
        variable in turn.
        """
        if self.synchronization == "on_read":
            return {"synchronization": tf.VariableSynchronization.NONE}
        if self.aggregation != "none":
            return {"aggregation": tf.VariableAggregation[self.aggregation.upper()]}
        if not self.trainable and "float" in self._dtype:
            return {"aggregation": tf.VariableAggregation.MEAN}
        return {"synchronization": tf.VariableSynchronization.NONE}

    def _initialize_with_initializer(self, initializer):
        self._initialize(lambda: initializer(self._shape, dtype=self._dtype))

    def _deferred_initialize(self):
        if self._value is not None:
            raise ValueError(f"Variable {self.path} is already initialized.")
        if in_stateless_scope():
            raise ValueError(
                "You are attempting to initialize a variable while in a stateless scope. This is disallowed. "
                f"Build the layer or the model of variable {self.path} before it is used there."
            )
        with tf.init_scope():
            self._initialize_with_initializer(self._initializer)
            self._initializer = None

    def _direct_assign(self, value):
        self._value.assign(tf.cast(value, self._value.dtype))

    def _convert_to_tensor(self, value, dtype=None):
        if isinstance(value, tf.Variable) and dtype in (None, standardize_dtype(value.dtype)):
            # A variable of the engine is shared: a layer of a loaded model trains what the model has.
            return value
        return convert_to_tensor(value, dtype=dtype)

    def numpy(self):
        return self.value.numpy()

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value.numpy(), dtype=dtype)

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.convert_to_tensor(self.value, dtype=dtype, name=name)


NO_VALUE = (
    "None values not supported. Where it is a loss or a metric that asks for a tensor, targets are "
    "missing: argument 'y', or the second part of each element of a data set."
)


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    """Give `x` as a tensor; what is sparse stays so unless `sparse` is False."""
    if ragged:
        raise ValueError("`ragged=True` is not supported with the penstock backend.")
    # TensorFlow's backend does not fill slices up either.
    if type(x) in SPARSE and (sparse is None or sparse or type(x) is tf.IndexedSlices):
        return x if dtype is None or x.dtype.name == standardize_dtype(dtype) else cast(x, dtype)
    return dense_tensor(x, dtype)


def dense_tensor(x, dtype=None):
    """Give `x` as a tensor of all elements; what is none yet may be cast to any dtype."""
    if x is None:
        raise ValueError(NO_VALUE)
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    x = _dense(x)
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, tf.Variable):
        x = tf.convert_to_tensor(x)
    if tf.is_tensor(x):
        return x if dtype is None or standardize_dtype(x.dtype) == dtype else tf.cast(x, dtype)
    if dtype is None or dtype == "string":
        return tf.convert_to_tensor(x, dtype=dtype)
    if isinstance(x, (bool, int, float, np.generic, np.ndarray)) or dtype == "bool" or is_int_dtype(dtype):
        # The engine does not turn a float into an int unasked.
        x = tf.convert_to_tensor(x)
        return x if x.dtype == dtype else tf.cast(x, dtype)
    return tf.convert_to_tensor(x, dtype=dtype)


def convert_to_numpy(x):
    """Give a copy of `x` as an array."""
    return np.array(_dense(x))


_FILL = {
    tf.RaggedTensor: tf.RaggedTensor.to_tensor,
    tf.SparseTensor: tf.sparse.to_dense,
    tf.IndexedSlices: tf.convert_to_tensor,
}


def _dense(x):
    """Give a ragged or sparse tensor, or slices, filled up with zeros; anything else as it is."""
    fill = _FILL.get(type(x))
    return x if fill is None else fill(x)


def is_tensor(x):
    return tf.is_tensor(x)


def shape(x):
    """Give the shape as a tuple: an int where an extent is known, else a scalar tensor."""
    if isinstance(x, KerasTensor):
        return x.shape
    if isinstance(x, tf.RaggedTensor):
        return tuple(x.shape.as_list())
    if not tf.is_tensor(x):
        x = tf.convert_to_tensor(x)
    if x.shape.rank is None:
        raise ValueError(f"The rank of a tensor must be known to `ops.shape`. Received: x={x}")
    if x.shape.is_fully_defined():
        return tuple(x.shape.as_list())
    extents = tf.shape(x)
    return tuple(extents[axis] if size is None else size for axis, size in enumerate(x.shape.as_list()))


def cast(x, dtype):
    dtype = standardize_dtype(dtype)
    if isinstance(x, KerasVariable):
        x = x.value
    return tf.cast(x, dtype)


def compute_output_spec(fn, *args, **kwargs):
    """Trace `fn` once, with a placeholder of the same unknown extents in the place of each `KerasTensor`."""
    leaves = tree.flatten((args, kwargs))
    specs = [
        (tf.SparseTensorSpec if x.sparse else tf.TensorSpec)(x.shape, x.dtype)
        for x in leaves
        if isinstance(x, KerasTensor)
    ]
    result = None

    def to_keras(x):
        if not tf.is_tensor(x):
            return x
        return KerasTensor(x.shape, standardize_dtype(x.dtype), sparse=isinstance(x, tf.SparseTensor))

    def traced(*placeholders):
        nonlocal result
        given = iter(placeholders)
        filled = [next(given) if isinstance(x, KerasTensor) else x for x in leaves]
        args_, kwargs_ = tree.pack_sequence_as((args, kwargs), filled)
        result = tree.map_structure(to_keras, fn(*args_, **kwargs_))

    with StatelessScope(), SymbolicScope():
        tf.function(traced, autograph=False).get_concrete_function(*specs)
    return result


def cond(pred, true_fn, false_fn):
    """Call one of the two; a predicate whose value is known while tracing chooses at once."""
    if isinstance(pred, KerasVariable):
        pred = pred.value
    if not isinstance(pred, tf.Variable):
        known = tf.get_static_value(pred) if tf.is_tensor(pred) else pred
        if known is not None:
            return true_fn() if known else false_fn()
    return tf.cond(pred, true_fn=true_fn, false_fn=false_fn)


def vectorized_map(function, elements):
    return tf.vectorized_map(function, elements)


def map(f, xs):
    """Apply `f` to each slice of `xs` along the first axis, and stack the results."""
    xs = tree.map_structure(dense_tensor, xs)

    def step(_, x):
        return None, f(x)

    return scan(step, None, xs)[1]


def _spec(x):
    x = dense_tensor(x)
    return KerasTensor(x.shape, standardize_dtype(x.dtype))


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """Scan `f(carry, x) -> (carry, y)` over the leading axis, as `jax.lax.scan` does."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and not (isinstance(unroll, int) and unroll >= 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    xs, init = _tensors(xs), _tensors(init)
    flat_xs = [x for x in tree.flatten(xs) if x is not None]
    static = flat_xs[0].shape[0] if length is None else int(length)
    n = static if static is not None else tf.shape(flat_xs[0])[0]

    # What a step gives is not known before it is traced.
    def element(x):
        return None if x is None else KerasTensor(x.shape[1:], standardize_dtype(x.dtype))

    spec = compute_output_spec(f, tree.map_structure(_spec_or_none, init), tree.map_structure(element, xs))
    if not (isinstance(spec, (tuple, list)) and len(spec) == 2):
        raise ValueError(f"`f` must return a pair of a carry and an output. Received: {spec}")
    outputs = [
        tf.TensorArray(y.dtype, size=n, element_shape=y.shape) for y in tree.flatten(spec[1]) if y is not None
    ]

    # A list of the slices: its gradient is one too, where that of `x[i]` would be added up over all steps.
    slices = [tf.TensorArray(x.dtype, size=n, element_shape=x.shape[1:]).unstack(x) for x in flat_xs]

    def at(i):
        return _pack(xs, [x.read(i) for x in slices])

    def body(i, carry, arrays):
        position = n - 1 - i if reverse else i
        carry, y = f(carry, at(position))
        carry = _tensors(carry)
        leaves = [dense_tensor(leaf) for leaf in tree.flatten(y) if leaf is not None]
        return i + 1, carry, [array.write(position, leaf) for array, leaf in zip(arrays, leaves, strict=True)]

    if unroll is True and static is not None:
        carry, arrays = init, outputs
        for i in range(static):
            _, carry, arrays = body(i, carry, arrays)
    else:
        flat_init = [x for x in tree.flatten(init) if x is not None]

        def flat_body(i, flat_carry, arrays):
            i, carry, arrays = body(i, _pack(init, flat_carry), arrays)
            return i, [x for x in tree.flatten(carry) if x is not None], arrays

        _, flat_carry, arrays = tf.while_loop(lambda i, *_: i < n, flat_body, (0, flat_init, outputs))
        carry = _pack(init, flat_carry)
    stacked = [array.stack() for array in arrays]
    for y in stacked:
        if static is not None:
            y.set_shape([static, *y.shape[1:]])
    return carry, _pack(spec[1], stacked)


def _tensors(structure):
    """Make the leaves that are not None tensors."""
    return tree.map_structure(lambda x: None if x is None else dense_tensor(x), structure)


def _spec_or_none(x):
    return None if x is None else _spec(x)


def _pack(structure, leaves):
    """Put `leaves` in the places of `structure` that are not None."""
    given = iter(leaves)
    return tree.pack_sequence_as(
        structure, [None if x is None else next(given) for x in tree.flatten(structure)]
    )


def associative_scan(f, elems, reverse=False, axis=0):
    """Give all prefixes of `elems` combined by `f`, which is associative.

    The distance that elements are combined over doubles: Hillis and Steele, "Data parallel algorithms", 1986.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    flat = [dense_tensor(x) for x in tree.flatten(elems)]
    rank = flat[0].shape.rank
    if not -rank <= axis < rank:
        raise ValueError(f"`axis` must be within the rank {rank} of the elements. Received: axis={axis}")
    axis %= rank
    known = {x.shape[axis] for x in flat} - {None}
    if len(known) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"(saw: {[tuple(x.shape) for x in flat]})"
        )
    if reverse:
        flat = [tf.reverse(x, [axis]) for x in flat]
    n = shape(flat[0])[axis]
    before = (builtins.slice(None),) * axis

    def part(x, start, stop):
        return x[(*before, builtins.slice(start, stop))]

    def combine(distance, flat):
        earlier = tree.pack_sequence_as(elems, [part(x, 0, n - distance) for x in flat])
        later = tree.pack_sequence_as(elems, [part(x, distance, n) for x in flat])
        combined = tree.flatten(f(earlier, later))
        return [tf.concat([part(x, 0, distance), y], axis) for x, y in zip(flat, combined, strict=True)]

    if isinstance(n, int):
        distance = 1
        while distance < n:
            flat, distance = combine(distance, flat), 2 * distance
    else:
        shapes = [x.shape for x in flat]
        _, flat = tf.while_loop(
            lambda distance, _: distance < n,
            lambda distance, flat: (2 * distance, combine(distance, flat)),
            (1, flat),
            shape_invariants=(tf.TensorShape([]), shapes),
        )
    if reverse:
        flat = [tf.reverse(x, [axis]) for x in flat]
    return tree.pack_sequence_as(elems, flat)


def scatter(indices, values, shape):
    return tf.scatter_nd(dense_tensor(indices), dense_tensor(values), shape)


def scatter_update(inputs, indices, updates, reduction=None):
    """Give `inputs` with `updates` written, or combined by `reduction`, at `indices`."""
    inputs, indices = dense_tensor(inputs), dense_tensor(indices)
    updates = dense_tensor(updates, inputs.dtype)
    if reduction is None:
        return tf.tensor_scatter_nd_update(inputs, indices, updates)
    if reduction == "mul":
        # The product of all updates of an element, times the element: two updates of one place both count.
        index = tf.reshape(indices, [-1, indices.shape[-1]])
        rows = tf.reshape(updates, tf.concat([[-1], tf.shape(updates)[indices.shape.rank - 1 :]], 0))
        return tf.while_loop(
            lambda i, _: i < tf.shape(index)[0],
            lambda i, result: (
                i + 1,
                tf.tensor_scatter_nd_update(
                    result, index[i : i + 1], tf.gather_nd(result, index[i : i + 1]) * rows[i : i + 1]
                ),
            ),
            (0, inputs),
        )[1]
    if reduction not in ("add", "max", "min"):
        raise ValueError(f"Unsupported reduction: {reduction}")
    return getattr(tf, f"tensor_scatter_nd_{reduction}")(inputs, indices, updates)


def slice(inputs, start_indices, shape):
    return tf.slice(dense_tensor(inputs), start_indices, shape)


def slice_update(inputs, start_indices, updates):
    """Give `inputs` with `updates` written at `start_indices`, moved so that all of it fits."""
    inputs = dense_tensor(inputs)
    updates = dense_tensor(updates, inputs.dtype)
    space = tf.shape(inputs) - tf.shape(updates)
    start = tf.clip_by_value(dense_tensor(start_indices, "int32"), 0, space)
    around = tf.stack([start, space - start], axis=1)
    inside = tf.pad(tf.ones_like(updates, "bool"), around)
    result = tf.where(inside, tf.pad(updates, around), inputs)
    result.set_shape(inputs.shape)
    return result


def switch(index, branches, *operands):
    index = tf.clip_by_value(dense_tensor(index, "int32"), 0, len(branches) - 1)
    return tf.switch_case(index, [lambda branch=branch: branch(*operands) for branch in branches])


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """Loop as `tf.while_loop`; a single variable need not stand in a tuple."""
    if isinstance(loop_vars, (tuple, list)):
        return tf.while_loop(
            cond, lambda *args: tuple(body(*args)), tuple(loop_vars), maximum_iterations=maximum_iterations
        )
    return tf.while_loop(cond, lambda x: (body(x),), (loop_vars,), maximum_iterations=maximum_iterations)[0]


def fori_loop(lower, upper, body_fun, init_val):
    """Give `init_val` after `body_fun(i, val)` for each `i` from `lower` to `upper`."""
    init_val = tree.map_structure(dense_tensor, init_val)
    if tf.executing_eagerly():
        for i in range(int(lower), int(upper)):
            init_val = body_fun(dense_tensor(i), init_val)
        return init_val
    lower, upper = dense_tensor(lower), dense_tensor(upper)
    # A loop over integers of 64 bits counts with as many: its body may add the index to them.
    long = "int64" in (x.dtype.name for x in (lower, upper, *tree.flatten(init_val)))
    dtype = "int64" if long else "int32"
    lower, upper = tf.cast(lower, dtype), tf.cast(upper, dtype)
    return tf.while_loop(lambda i, _: i < upper, lambda i, val: (i + 1, body_fun(i, val)), (lower, init_val))[
        1
    ]


def stop_gradient(variable):
    return tf.stop_gradient(variable)


def unstack(x, num=None, axis=0):
    return tf.unstack(dense_tensor(x), num=num, axis=axis)


def random_seed_dtype():
    return "int64"


def custom_gradient(fun):
    return tf.custom_gradient(fun)


def remat(f):
    return tf.recompute_grad(f)


def _legal(name):
    """A name that nodes of graphs may have, for one of a layer, which may have any characters."""
    legal = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name)
    return legal if re.match("[A-Za-z0-9.]|$", legal) else f"layer{legal}"


class name_scope(base_name_scope):
    """Keras's scope of names, which names the operations of a graph too."""

    def __init__(self, name, **kwargs):
        super().__init__(name, **kwargs)
        self._graph_scope = tf.name_scope(_legal(name))

    def __enter__(self):
        result = super().__enter__()
        if self._pop_on_exit:
            self._graph_scope.__enter__()
        return result

    def __exit__(self, *args, **kwargs):
        super().__exit__(*args, **kwargs)
        if self._pop_on_exit:
            self._graph_scope.__exit__(*args, **kwargs)


def device_scope(device_name):
    return tf.device(device_name)
