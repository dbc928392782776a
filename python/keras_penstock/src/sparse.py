"""What functions of the backend make of sparse operands: of `tf.SparseTensor`, and of `tf.IndexedSlices`.

A rule is called as `rule(function, *operands)`. It gives the sparse result, for which it calls `function`,
which takes dense operands, on elements alone. `ELEMENTWISE` has the rules of functions that work element by
element, by their names. A function that has no rule fills sparse operands up with zeros, as
`core.dense_tensor` does, and so do rules where hardly an element of the result is zero.

Dense operands pay a type check for it.

A sparse tensor has places `[n, rank]` of single elements. Slices have places `[n, 1]` of rows. Rules know
both by their places and values. Slices of equal indices add up: functions that are not linear need the sums.
"""

import functools

from keras.src import tree

import penstock as tf
from keras_penstock.src.core import SPARSE, dense_tensor
from keras_penstock.src.promotion import Tensor, common, summable
from penstock._ops.sparse_places import groups, kept


def is_sparse(x):
    return type(x) in SPARSE


# --- parts of sparse operands ---


def _places(x):
    return x.indices if isinstance(x, tf.SparseTensor) else tf.expand_dims(tf.cast(x.indices, "int64"), 1)


def _with(x, values):
    """Other values in the same places."""
    return x.with_values(values) if isinstance(x, tf.SparseTensor) else x._with_values(values)


# An optimizer works on slices if a table has at least so many rows for each slice, else on all rows.
_ROWS_PER_SLICE = 32


def _at(x, places, values, distinct_as=None):
    """A sparse tensor of the same extents with other places and values.

    Places are distinct, unless `distinct_as` is given: then they are as distinct as those of that operand.
    """
    if isinstance(x, tf.SparseTensor):
        made = tf.SparseTensor(places, values, x.dense_shape)
        made.set_shape(x.shape)
        return made
    made = tf.IndexedSlices(values, places[:, 0], x.dense_shape)
    made._is_distinct = distinct_as is None or distinct_as._is_distinct
    return made


def _sums(values, of, count):
    if values.dtype == "bool":
        return tf.cast(_sums(tf.cast(values, "int32"), of, count), "bool")
    return tf.math.unsorted_segment_sum(values, of, count)


def _groups(x, places):
    """Which of these places in `x` are equal."""
    columns = tf.unstack(places, num=_places(x).shape[1], axis=1)
    return groups(columns, x.shape.as_list()[: len(columns)])


def distinct(x):
    """Slices with the sum of those of each index; a sparse tensor as it is."""
    if isinstance(x, tf.SparseTensor) or x._is_distinct:
        return x
    places = _places(x)
    found = _groups(x, places)
    return _at(x, tf.gather(places, found.first), _sums(x.values, found.of, found.count))


def _together(x1, x2):
    """All places that two operands have, the values of either there, and in which places either has one."""
    places = tf.concat([_places(x1), _places(x2)], 0)
    found = _groups(x1, places)
    mine = tf.shape(x1.values)[0]
    parts = (x1.values, found.of[:mine]), (x2.values, found.of[mine:])
    values = [_sums(values, of, found.count) for values, of in parts]
    has = [_sums(tf.ones_like(of), of, found.count) > 0 for _, of in parts]
    return tf.gather(places, found.first), *values, *has


def _alike(x1, x2):
    """Whether two operands are sparse in the same way, and of one shape."""
    return (
        is_sparse(x1)
        and is_sparse(x2)
        and isinstance(x1, tf.SparseTensor) == isinstance(x2, tf.SparseTensor)
        and x1.shape.rank is not None
        and x1.shape.rank > 0
        and x1.shape.is_compatible_with(x2.shape)
    )


def _share_places(x1, x2):
    """Whether two operands have the same places, each once."""
    return x1.indices is x2.indices and getattr(x1, "_is_distinct", True)


def _is_scalar(x):
    if not hasattr(x, "shape"):
        return not isinstance(x, (list, tuple))
    return tf.TensorShape(x.shape).rank == 0


def _spread(x, sparse):
    """A dense operand with the extents of a sparse one; None where it is the sparse one that is spread."""
    x, extents = dense_tensor(x), sparse.shape
    if extents.rank is None or x.shape.rank is None or x.shape.rank > extents.rank:
        return None
    missing = extents.rank - x.shape.rank
    if any(size == 1 and given != 1 for given, size in zip(x.shape, extents[missing:], strict=True)):
        return None
    if x.shape == extents and extents.is_fully_defined():
        return x
    return tf.ensure_shape(tf.broadcast_to(x, tf.shape(sparse)), extents)


def _elements(whole, x):
    """The elements, or rows, of a tensor in the places of a sparse operand."""
    return tf.gather_nd(whole, x.indices) if isinstance(x, tf.SparseTensor) else tf.gather(whole, x.indices)


def _densely(function, *operands):
    return function(*(dense_tensor(x) if is_sparse(x) else x for x in operands))


# --- rules of functions that work element by element ---


def of_each_value(function, x, *args, **kwargs):
    """The rule of a function that is linear: it may go through slices whose sum counts."""
    return _with(x, function(x.values, *args, **kwargs))


def of_values(function, x, *args, **kwargs):
    """The rule of a function of which 0 is 0."""
    if isinstance(x, tf.IndexedSlices) and not x._is_distinct and is_mostly_filled(x, True):
        return function(dense_tensor(x), *args, **kwargs)
    return of_each_value(function, distinct(x), *args, **kwargs)


def has_known_rows(slices):
    """Whether the indices are known: there is nothing to find out when such slices are used."""
    return tf.get_static_value(slices.indices) is not None


def is_mostly_filled(slices, of_unknown_number):
    """Whether a function takes less time on all rows than on slices, as far as their number is known.

    Slices whose indices are known stay slices.
    """
    if has_known_rows(slices):
        return False
    rows, count = slices.shape[0], slices.indices.shape[0]
    return of_unknown_number if rows is None or count is None else rows < _ROWS_PER_SLICE * count


def union(function, x1, x2):
    """The rule of a function that is 0 where both operands are: with a dense operand the result is dense."""
    if not _alike(x1, x2):
        return _densely(function, x1, x2)
    if _share_places(x1, x2):
        return _with(x1, function(x1.values, x2.values))
    places, values1, values2, _, _ = _together(x1, x2)
    return _at(x1, places, function(values1, values2))


def intersection(function, x1, x2):
    """The rule of a function that is 0 where one operand is, and linear in either."""
    if _alike(x1, x2):
        if _share_places(x1, x2):
            return _with(x1, function(x1.values, x2.values))
        places, values1, values2, has1, has2 = _together(x1, x2)
        both = kept(tf.logical_and(has1, has2))
        values = function(tf.gather(values1, both), tf.gather(values2, both))
        return _at(x1, tf.gather(places, both), values)
    sparse, other = (x1, x2) if is_sparse(x1) else (x2, x1)
    if not _is_scalar(other):
        whole = _spread(other, sparse)
        if whole is None:
            return _densely(function, x1, x2)
        other = _elements(whole, sparse)
    return _with(sparse, function(sparse.values, other) if sparse is x1 else function(other, sparse.values))


def division(function, x1, x2):
    """The rule of a quotient: NaN stands where both are 0, and where the divisor is NaN.

    By a sparse divisor nearly all quotients are NaN or infinite. A scalar divisor is taken as not 0, as
    TensorFlow's backend does.
    """
    if not is_sparse(x1) or is_sparse(x2):
        return _densely(function, x1, x2)
    if _is_scalar(x2):
        return _with(x1, function(x1.values, x2))
    whole = _spread(x2, x1)
    if whole is None:
        return _densely(function, x1, x2)
    # A comparison with NaN is false.
    zero = tf.zeros([], whole.dtype)
    defined = tf.abs(whole) > zero if whole.dtype.is_floating else tf.not_equal(whole, zero)

    def in_more_places():
        axes = list(range(1, whole.shape.rank)) if isinstance(x1, tf.IndexedSlices) else []
        more = tf.where(tf.reduce_any(tf.logical_not(defined), axis=axes))
        zeros = tf.zeros(tf.concat([tf.shape(more)[:1], tf.shape(x1.values)[1:]], 0), x1.dtype)
        places, values, *_ = _together(x1, _at(x1, more, zeros))
        return places, function(values, tf.gather_nd(whole, places))

    def in_its_places():
        return _places(x1), function(x1.values, _elements(whole, x1))

    return _at(x1, *tf.cond(tf.reduce_all(defined), in_its_places, in_more_places), x1)


_LINEAR = "conj conjugate copy imag negative real"
_OF_ZERO = """
    abs absolute arcsin arcsinh arctan arctanh ceil digitize expm1 fabs floor log1p round sign signbit sin
    sinh sqrt square tan tanh
    elu gelu leaky_relu relu relu6 selu silu softsign
"""

ELEMENTWISE = {
    **dict.fromkeys(_LINEAR.split(), of_each_value),
    **dict.fromkeys(_OF_ZERO.split(), of_values),
    **dict.fromkeys(("add", "subtract", "maximum", "minimum"), union),
    "multiply": intersection,
    **dict.fromkeys(("divide", "true_divide"), division),
}


# --- rules of other functions ---


def total(function, x, axis, keepdims):
    """The rule of a sum."""
    if isinstance(x, tf.IndexedSlices):
        return _of_rows(function, x, axis, keepdims)
    x = x.with_values(summable(x.values))
    return tf.sparse.reduce_sum(x, axis, keepdims=keepdims, output_is_sparse=True)


def mean(function, x, axis, keepdims):
    """The rule of a mean."""
    if isinstance(x, tf.IndexedSlices):
        return _of_rows(function, x, axis, keepdims)
    # The mean of a single element has the dtype of means.
    x = x.with_values(function(tf.expand_dims(x.values, 1), 1))
    sums = tf.sparse.reduce_sum(x, axis, keepdims=keepdims, output_is_sparse=True)
    sizes = x.dense_shape if axis is None else tf.gather(x.dense_shape, _from_the_front(axis, x.shape.rank))
    return sums.with_values(sums.values / tf.cast(tf.reduce_prod(sizes), x.dtype))


def _from_the_front(axis, rank):
    return tf.constant([a % rank for a in ([axis] if isinstance(axis, int) else axis)], "int64")


def _of_rows(function, x, axis, keepdims):
    """A linear function of slices that takes other axes than the first away, where several are left."""
    rank = x.shape.rank
    axes = list(range(rank)) if axis is None else [a % rank for a in tree.flatten(axis)]
    if 0 in axes or (len(axes) == rank - 1 and not keepdims):
        return function(dense_tensor(x), axis, keepdims)
    values = function(x.values, axes, keepdims)
    extents = tf.concat([tf.convert_to_tensor(x.dense_shape)[:1], tf.shape(values)[1:]], 0)
    made = tf.IndexedSlices(values, x.indices, extents)
    made._is_distinct = x._is_distinct
    return made


# --- functions that follow rules ---


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    return function


def unary(name, prepare, op):
    """Make the function `name(x)` of the operator `op` on the operand that `prepare` gives."""
    rule = ELEMENTWISE.get(name)

    def of_tensor(x):
        return op(prepare(x))

    def function(x):
        if type(x) in SPARSE:
            return rule(of_tensor, x)
        return op(prepare(x))

    return _named(of_tensor if rule is None else function, name)


def binary(name, op, *kinds):
    """Make the function `name(x1, x2)` of the operator `op` on operands of the dtype that both promote to."""
    rule = ELEMENTWISE.get(name)

    def of_tensors(x1, x2):
        return op(*common(x1, x2, *kinds))

    def function(x1, x2):
        if type(x1) is Tensor and type(x2) is Tensor:
            if x1.dtype is x2.dtype and not kinds:
                return op(x1, x2)
        elif type(x1) in SPARSE or type(x2) in SPARSE:
            return rule(of_tensors, x1, x2)
        return op(*common(x1, x2, *kinds))

    return _named(of_tensors if rule is None else function, name)


def takes_sparse(function):
    """Let a function follow the rule of its name where its first operand is sparse."""
    rule = ELEMENTWISE[function.__name__]

    @functools.wraps(function)
    def applied(x, *args, **kwargs):
        if type(x) in SPARSE:
            return rule(function, x, *args, **kwargs)
        return function(x, *args, **kwargs)

    return applied
