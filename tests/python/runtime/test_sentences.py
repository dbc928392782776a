"""Messages in which libraries look for TensorFlow's sentences."""

import re

import pytest

import penstock as tf

V = tf.Variable([1.0, 2.0])


def asked_twice():
    with tf.GradientTape() as tape:
        y = V * V
    tape.gradient(y, V)
    tape.gradient(y, V)


def entered_twice():
    tape = tf.GradientTape()
    with tape, tape:
        pass


def traced(function, *args, **options):
    return lambda: tf.function(function, **options)(*args)


# What fails, the exception as TensorFlow has it, and the sentence.
SENTENCES = {
    "reshape": (
        lambda: tf.reshape(tf.zeros([128]), [192]),
        tf.errors.InvalidArgumentError,
        "Input to reshape is a tensor with 128 values, but the requested shape has 192",
    ),
    "reshape to a multiple": (
        lambda: tf.reshape(tf.zeros([7]), [2, -1]),
        tf.errors.InvalidArgumentError,
        "Input to reshape is a tensor with 7 values, but the requested shape requires a multiple of 2",
    ),
    "reshape with two holes": (
        lambda: tf.reshape(tf.zeros([8]), [-1, -1]),
        tf.errors.InvalidArgumentError,
        "Only one input size may be -1, not both 0 and 1",
    ),
    "broadcasting": (
        lambda: tf.zeros([2]) + tf.zeros([3]),
        tf.errors.InvalidArgumentError,
        "Incompatible shapes: [2] vs. [3]",
    ),
    "matmul": (
        lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5])),
        tf.errors.InvalidArgumentError,
        "Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5]",
    ),
    "stack": (
        lambda: tf.stack([tf.zeros([2]), tf.zeros([3])]),
        tf.errors.InvalidArgumentError,
        "Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [3]",
    ),
    "squeeze": (
        lambda: tf.squeeze(tf.zeros([2, 3]), 0),
        tf.errors.InvalidArgumentError,
        "Can not squeeze dim[0], expected a dimension of 1, got 2",
    ),
    "gather": (
        lambda: tf.gather(tf.zeros([3]), 5),
        tf.errors.InvalidArgumentError,
        "indices = 5 is not in [0, 3)",
    ),
    "an index": (
        lambda: tf.zeros([3])[5],
        tf.errors.InvalidArgumentError,
        "slice index 5 of dimension 0 out of bounds",
    ),
    "fill": (lambda: tf.fill([-1], 0), tf.errors.InvalidArgumentError, "Dimension -1 must be >= 0"),
    "division": (
        lambda: tf.constant(1) // tf.constant(0),
        tf.errors.InvalidArgumentError,
        "Integer division by zero",
    ),
    "inverse": (
        lambda: tf.linalg.inv(tf.zeros([2, 2])),
        tf.errors.InvalidArgumentError,
        "not invertible",
    ),
    "cholesky": (
        lambda: tf.linalg.cholesky(tf.zeros([2, 3])),
        tf.errors.InvalidArgumentError,
        "Input matrix must be square",
    ),
    "check_numerics": (
        lambda: tf.debugging.check_numerics(tf.constant(float("nan")), "here"),
        tf.errors.InvalidArgumentError,
        "here : Tensor had NaN values",
    ),
    "assertions of signs": (
        lambda: tf.debugging.assert_positive([-1.0]),
        tf.errors.InvalidArgumentError,
        "Condition x > 0 did not hold element-wise",
    ),
    "assertions of relations": (
        lambda: tf.debugging.assert_less([1, 3], [2, 2]),
        tf.errors.InvalidArgumentError,
        "Condition x < y did not hold",
    ),
    "assertions of ranks": (
        lambda: tf.debugging.assert_rank(tf.zeros([2]), 2),
        ValueError,
        "must have rank 2.  Received rank 1, shape (2,)",
    ),
    "lists of uneven length": (
        lambda: tf.constant([[1, 2], [3]]),
        ValueError,
        "Can't convert non-rectangular Python sequence to Tensor",
    ),
    "another dtype": (
        lambda: tf.convert_to_tensor(tf.constant(1), tf.float32),
        ValueError,
        "Tensor conversion requested dtype float32 for Tensor with dtype int32",
    ),
    "no dtype": (
        lambda: tf.as_dtype("foo"),
        TypeError,
        "Cannot convert the argument `type_value`: 'foo' to a",
    ),
    "optimizers": (
        lambda: tf.optimizers.SGD().apply_gradients([(None, V)]),
        ValueError,
        "No gradients provided for any variable",
    ),
    "a tape that is used up": (
        asked_twice,
        RuntimeError,
        "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)",
    ),
    "a tape entered twice": (
        entered_twice,
        ValueError,
        "Tape is still recording, This can happen if you try to re-enter an already-active tape.",
    ),
    "watching a number": (
        lambda: tf.GradientTape().watch(3),
        ValueError,
        "Passed in object 3 of type 'int', not tf.Tensor or tf.Variable or ExtensionType.",
    ),
    "a truth value while tracing": (
        traced(lambda x: 1 if x else 2, tf.constant(1), autograph=False),
        tf.errors.OperatorNotAllowedInGraphError,
        "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed",
    ),
    "iteration while tracing": (
        traced(lambda x: list(x), tf.constant([1]), autograph=False),
        tf.errors.OperatorNotAllowedInGraphError,
        "Iterating over a symbolic `tf.Tensor` is not allowed",
    ),
    "NumPy while tracing": (
        traced(lambda x: __import__("numpy").sin(x), tf.constant(1.0)),
        NotImplementedError,
        "This error may indicate that you're trying to pass a Tensor to a NumPy call, which is not supported",
    ),
    "iteration over a scalar": (
        lambda: list(tf.constant(1)),
        TypeError,
        "Cannot iterate over a scalar tensor",
    ),
    "the length of a scalar": (lambda: len(tf.constant(1)), TypeError, "Scalar tensor has no `len()`"),
    "hashing a tensor": (
        lambda: hash(tf.constant(1)),
        TypeError,
        "Tensor is unhashable. Instead, use tensor.ref() as the key.",
    ),
    "hashing a variable": (
        lambda: hash(V),
        TypeError,
        "Variable is unhashable. Instead, use variable.ref() as the key.",
    ),
    "branches that are no functions": (
        lambda: tf.cond(True, 1, 2),
        TypeError,
        "'true_fn' must be callable.",
    ),
    "a shape of unknown rank": (
        lambda: tf.TensorShape(None).as_list(),
        ValueError,
        "as_list() is not defined on an unknown TensorShape.",
    ),
    "the length of an unknown shape": (
        lambda: len(tf.TensorShape(None)),
        ValueError,
        "Cannot take the length of shape with unknown rank.",
    ),
    "a shape of another rank": (
        lambda: tf.TensorShape([2]).with_rank(3),
        ValueError,
        "Shape (2,) must have rank 3",
    ),
    "a shape that is not known in full": (
        lambda: tf.TensorShape([None]).assert_is_fully_defined(),
        ValueError,
        "Shape (None,) is not fully defined",
    ),
    "a negative extent": (lambda: tf.TensorShape([-2]), ValueError, "Dimension -2 must be >= 0"),
    "shapes that differ": (
        lambda: tf.TensorShape([2]).assert_is_compatible_with([3]),
        ValueError,
        "Shapes (2,) and (3,) are incompatible",
    ),
    "a shape that is set": (
        lambda: tf.zeros([2]).set_shape([3]),
        ValueError,
        "Tensor's shape (2,) is not compatible with supplied shape (3,)",
    ),
    "dropout": (
        lambda: tf.nn.dropout([1.0], 2.0),
        ValueError,
        "`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate=2.0",
    ),
    "integers at random": (
        lambda: tf.random.uniform([2], dtype=tf.int32),
        ValueError,
        "Must specify maxval for integer dtype tf.int32",
    ),
    "nests of other lengths": (
        lambda: tf.nest.assert_same_structure([1], [1, 2]),
        ValueError,
        "The two structures don't have the same nested structure.",
    ),
    "nests of other types": (
        lambda: tf.nest.map_structure(lambda a, b: a, [1], (1,)),
        TypeError,
        "First structure: type=list str=[1]",
    ),
    "too few leaves": (
        lambda: tf.nest.pack_sequence_as([1, 2], [1]),
        ValueError,
        "Could not pack sequence. Structure had 2 atoms, but flat_sequence had 1 items.",
    ),
    "batch_jacobian of vectors": (
        lambda: tf.GradientTape(persistent=True).batch_jacobian(V, V),
        ValueError,
        "Shape (2,) must have rank at least 2",
    ),
    "a function that is decorated late": (
        lambda: traced_once()._decorate(lambda f: f),
        ValueError,
        "Functions cannot be decorated after they have been traced.",
    ),
}


def traced_once():
    function = tf.function(lambda: tf.constant(1))
    function()
    return function


@pytest.mark.parametrize("name", SENTENCES)
def test_the_message_has_tensorflows_sentence(name):
    call, kind, sentence = SENTENCES[name]
    with pytest.raises(kind, match=re.escape(sentence)):
        call()
