"""Gradients registered by name."""

import pytest
from support import gradient

import penstock as tf
from penstock._autodiff.registered import gradient_override_map


@tf.RegisterGradient("OurTenfold")
def tenfold(op, grad):
    assert op.type == "Square"
    return grad * op.inputs[0] * 10.0


@tf.RegisterGradient("OurMatMul")
def product(op, grad):
    assert op.get_attr("transpose_b") is True
    with pytest.raises(ValueError, match="transpose_a"):
        op.get_attr("nothing")
    return None, tf.ones_like(op.inputs[1])


tf.no_gradient("OurNothing")


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_an_operation_within_the_map_gets_the_registered_gradient(wrap):
    @wrap
    def f(x):
        with gradient_override_map({"Square": "OurTenfold"}):
            y = tf.square(x)
        return y + tf.square(x)

    (g,) = gradient(f, 3.0)
    assert g.numpy() == 36


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_several_inputs_attributes_and_no_gradient(wrap):
    @wrap
    def f(a, b):
        with gradient_override_map(
            {"BatchMatMulV2": "OurMatMul", "MatMul": "OurMatMul", "Exp": "OurNothing"}
        ):
            return tf.matmul(a, b, transpose_b=True) * tf.exp(a)

    da, db = gradient(f, [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
    assert da is None or not da.numpy().any()
    assert db.numpy().tolist() == [[1, 1], [1, 1]]


def test_names_that_are_taken_or_unknown():
    with pytest.raises(KeyError, match="OurTenfold"):
        tf.RegisterGradient("OurTenfold")(tenfold)
    with pytest.raises(KeyError, match="Square"):
        tf.no_gradient("Square")
    with pytest.raises(TypeError, match="op_type"):
        tf.RegisterGradient(3)
    with pytest.raises(TypeError, match="op_type_map"), gradient_override_map({"Square": 3}):
        pass

    def unknown(x):
        with gradient_override_map({"Square": "NobodyRegisteredThis"}):
            return tf.square(x)

    with pytest.raises(LookupError, match="NobodyRegisteredThis"):
        gradient(unknown, 1.0)
    # The map ends with its context, whatever is raised in it.
    assert gradient(tf.square, 1.0)[0].numpy() == 2
