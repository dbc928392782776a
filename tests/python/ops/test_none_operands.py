"""None is no tensor: operators and functions refuse it by ValueError, as in TensorFlow."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.matmul, operator.lt, operator.le, operator.gt, operator.ge),
]
OPERANDS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: tf.constant([1.0]),
    "integers": lambda: tf.constant([1]),
    "variable": lambda: tf.Variable([1.0]),
}
FUNCTIONS = [tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.pow, tf.less, tf.equal, tf.matmul]


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_refuse_none_on_both_sides(function: Callable[..., Any], operand: str) -> None:
    value = OPERANDS[operand]()
    for pair in ((value, None), (None, value)):
        with pytest.raises(ValueError, match="None values not supported"):
            function(*pair)

        @tf.function
        def traced(x: Any, left: bool = pair[0] is None) -> Any:
            return function(None, x) if left else function(x, None)

        with pytest.raises(ValueError, match="None values not supported"):
            traced(value)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_refuse_none_on_both_sides(function: Callable[..., Any]) -> None:
    for pair in ((1.0, None), (None, 1.0), (tf.constant(1.0), None), (None, tf.constant(1.0))):
        with pytest.raises(ValueError, match="None values not supported"):
            function(*pair)


def test_values_of_none_are_no_tensors() -> None:
    variable = tf.Variable([1.0])
    for function in (tf.convert_to_tensor, tf.abs, tf.shape, tf.zeros_like, variable.assign, tf.identity):
        with pytest.raises(ValueError, match="None"):
            function(None)


def test_nothing_equals_none() -> None:
    assert (tf.constant(1.0) == None) is False  # noqa: E711
    assert (tf.constant(1.0) != None) is True  # noqa: E711
