"""What programs can ask of how operations run: scopes that change nothing, and strict mode."""

import warnings

import pytest

import penstock as tf
from penstock._runtime import strict_mode
from penstock.as_tensorflow import _deprecation


def test_operations_of_an_async_scope_are_done_and_fail_where_they_are_called():
    total = tf.Variable(0)
    with tf.experimental.async_scope():
        for i in range(3):
            total.assign_add(i)
        assert int(total) == 3
    with pytest.raises(tf.errors.InvalidArgumentError), tf.experimental.async_scope():
        tf.debugging.assert_equal(1, 2)
    tf.experimental.async_clear_error()
    assert int(total + 1) == 4


@pytest.mark.parametrize("name", ["SINGLE_THREADED_EXECUTOR", "", None])
def test_the_name_of_an_executor_has_no_effect(name):
    with tf.experimental.function_executor_type(name):
        assert int(tf.function(lambda x: x * 2)(tf.constant(2))) == 4


def test_an_executor_is_a_name():
    with (
        pytest.raises(TypeError, match="executor_type"),
        tf.experimental.function_executor_type(3),
    ):
        pass


def test_what_is_deprecated_is_an_error_in_strict_mode(monkeypatch):
    monkeypatch.setattr(strict_mode, "_enabled", False)

    @_deprecation.deprecated("2030-01-01", "Use something else.")
    def old():
        return 1

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert old() == 1
    assert [w.category for w in found] == [DeprecationWarning]
    tf.experimental.enable_strict_mode()
    with pytest.raises(RuntimeError, match="Use something else"):
        old()
