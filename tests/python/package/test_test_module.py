"""`tf.test`: assertions that hold and that fail, derivatives by tapes and by differences."""

import unittest
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

CASE = tf.test.TestCase()


def fail_with(message):
    raise ValueError(message)


# An assertion, arguments for which it holds, and some for which it fails.
ASSERTIONS = [
    ("assertAllEqual", ([1, np.nan], tf.constant([1, np.nan])), ([1, 2], tf.constant([1, 3]))),
    ("assertAllEqual", ({"a": [1]}, {"a": tf.constant([1])}), ({"a": 1}, {"b": 1})),
    ("assertAllEqual", ([b"a"], tf.constant(["a"])), ([1, 2], [[1, 2]])),
    ("assertNotAllEqual", ([1, 2], [1, 3]), ([1, 2], [1, 2])),
    ("assertAllClose", ([tf.ones([2]), 3.0], [[1, 1 + 1e-7], 3]), ([1.0], [1.1])),
    ("assertAllClose", (tf.constant(1, tf.float16), 1.0005), (1j, 1 + 1j)),
    ("assertNotAllClose", (1.0, 2.0), (1.0, 1.0)),
    ("assertAllCloseAccordingToType", (tf.constant(1, tf.bfloat16), 1.005), (tf.constant(1.0), 1.005)),
    ("assertAllGreater", ([2, 3], 1), ([1, 2], 1)),
    ("assertAllGreaterEqual", ([1, 3], 1), ([0, 2], 1)),
    ("assertAllLess", ([0, 1], 2), ([2], 2)),
    ("assertAllLessEqual", ([0, 2], 2), ([3], 2)),
    ("assertAllInRange", ([0, 1], 0, 1), ([0, 1], 0, 1, False, True)),
    ("assertAllInSet", ([0, 1], {0, 1}), ([2], {0, 1})),
    ("assertShapeEqual", (tf.zeros([2]), np.ones(2)), (tf.zeros([2]), np.ones(3))),
    ("assertDTypeEqual", (tf.zeros([2]), "float32"), (np.zeros(2), tf.float32)),
    ("assertNear", (1.0, 1.05, 0.1), (1.0, 1.2, 0.1)),
    ("assertArrayNear", ([1.0], [1.05], 0.1), ([1.0], [1.2], 0.1)),
    ("assertEmpty", ((),), ("a",)),
    ("assertNotEmpty", ("a",), ((),)),
    ("assertLen", ("ab", 2), ("ab", 3)),
    ("assertItemsEqual", ([1, 2, 2], [2, 1, 2]), ([1, 2], [1, 2, 2])),
    ("assertSameElements", ([1, 2], [2, 1, 2]), ([1], [1, 2])),
    ("assertContainsSubset", ([1], [2, 1]), ([1, 3], [2, 1])),
    ("assertNoCommonElements", ([1], [2]), ([1, 2], [2])),
    ("assertContainsSubsequence", ([1, 2, 3], [1, 3]), ([1, 2, 3], [3, 1])),
    ("assertContainsExactSubsequence", ([1, 2, 3], [2, 3]), ([1, 2, 3], [1, 3])),
    ("assertSequenceStartsWith", ([1], [1, 2]), ([2], [1, 2])),
    ("assertSequenceAlmostEqual", ([0.1], [0.1 + 1e-9]), ([0.1], [0.2])),
    ("assertDictAlmostEqual", ({"a": 0.1}, {"a": 0.1 + 1e-9}), ({"a": 0.1}, {"a": 0.2})),
    ("assertMappingEqual", ({"a": 1}, {"a": 1}), ({"a": 1}, {"a": 2})),
    ("assertStartsWith", ("abc", "ab"), ("abc", "b")),
    ("assertNotStartsWith", ("abc", "b"), ("abc", "ab")),
    ("assertEndsWith", ("abc", "bc"), ("abc", "b")),
    ("assertNotEndsWith", ("abc", "b"), ("abc", "bc")),
    ("assertRegexMatch", ("abc", ["x", "b."]), ("abc", ["x"])),
    ("assertContainsInOrder", (["a", "c"], "abc"), (["c", "a"], "abc")),
    ("assertBetween", (1, 0, 1), (2, 0, 1)),
    ("assertTotallyOrdered", ([1, 1.0], [2]), ([2], [1])),
    ("assertIsSubclass", (bool, int), (int, bool)),
    ("assertNotIsSubclass", (int, bool), (bool, int)),
    (
        "assertRaisesWithLiteralMatch",
        (ValueError, "x", fail_with, "x"),
        (ValueError, "x", fail_with, "xy"),
    ),
    ("assertSameStructure", ({"a": [1, 2]}, {"a": [1, 2]}), ({"a": [1, 2]}, {"a": [1, 3]})),
]


@pytest.mark.parametrize(("name", "holds", "fails"), ASSERTIONS)
def test_assertions_hold_and_fail(name, holds, fails):
    getattr(CASE, name)(*holds)
    with pytest.raises(AssertionError):
        getattr(CASE, name)(*fails)


def test_errors_of_operations_are_expected():
    with CASE.assertRaisesOpError("shapes"):
        tf.ones([2]) + tf.ones([3])
    with pytest.raises(AssertionError), CASE.assertRaisesOpError("other words"):
        tf.ones([2]) + tf.ones([3])
    with pytest.raises(AssertionError), CASE.assertRaisesOpError("nothing is raised"):
        pass
    with CASE.assertRaisesWithPredicateMatch(KeyError, lambda error: error.args == ("k",)):
        raise KeyError("k")


def test_a_case_runs_with_its_seed_files_and_session():
    drawn = []

    class Case(tf.test.TestCase):
        def test_it(self):
            drawn.append(tf.random.uniform([]).numpy())
            assert Path(self.create_tempfile("a", "text")).read_text() == "text"
            with self.cached_session() as session:
                assert session.run([tf.constant(1), tf.Variable(2)]) == [1, 2]

    for _ in range(2):
        result = Case("test_it").run()
        assert isinstance(result, unittest.TestResult)
        assert result.wasSuccessful(), result.errors
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_derivatives_by_tape_and_by_differences_agree(dtype):
    x = tf.cast([[0.5, 1.0], [2.0, -1.0]], dtype)
    y = tf.cast([2.0, 3.0], dtype)
    by_tape, by_differences = tf.test.compute_gradient(lambda x, y: tf.tanh(x) * y, [x, y])
    size = 8 if dtype == "complex128" else 4
    assert [a.shape for a in by_tape] == [(size, size), (size, size // 2)]
    for one, other in zip(by_tape, by_differences, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_what_a_function_does_not_depend_on_has_no_derivative():
    by_tape, by_differences = tf.test.compute_gradient(lambda x, y: x * 2, [[1.0], [3.0]])
    assert by_tape[1].tolist() == by_differences[1].tolist() == [[0.0]]
    with pytest.raises(ValueError, match="argument 'x' must be a list"):
        tf.test.compute_gradient(tf.square, tf.constant(1.0))


def test_dtypes_versions_and_places_are_named():
    assert tf.dtypes.as_dtype("half") == tf.dtypes.half == tf.float16
    assert tf.__version__ == tf.version.VERSION
    assert tf.saved_model.SAVED_MODEL_FILENAME_PB == "saved_model.pb"
    assert tf.test.is_built_with_cuda()
