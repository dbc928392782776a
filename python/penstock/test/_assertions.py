"""Assertions beside those of `unittest`, by the names of Abseil, whose test cases TensorFlow's are."""

from __future__ import annotations

import collections
import operator
import re
import unittest
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

__all__ = ["Assertions"]


class Assertions(unittest.TestCase):
    """A test case with Abseil's assertions about containers, texts, order and exceptions."""

    def _require(self, holds: object, what: str, msg: str | None) -> None:
        if not holds:
            self.fail(self._formatMessage(msg, what))

    def _require_almost(self, x: Any, y: Any, places: int | None, msg: str, delta: float | None) -> None:
        limits: dict[str, Any] = {"places": places, "delta": delta}
        self.assertAlmostEqual(x, y, msg=msg, **limits)

    def _size(self, container: Any) -> int:
        try:
            return len(container)
        except TypeError:
            self.fail(f"expected a container with a length, got {container!r}")

    # --- containers ---

    def assertEmpty(self, container: Collection[Any], msg: str | None = None) -> None:
        """Check that a container has no elements.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertEmpty([])
        """
        self._require(self._size(container) == 0, f"{container!r} has {self._size(container)} elements", msg)

    def assertNotEmpty(self, container: Collection[Any], msg: str | None = None) -> None:
        """Check that a container has elements.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNotEmpty([1])
        """
        self._require(self._size(container), f"{container!r} has no elements", msg)

    def assertLen(self, container: Collection[Any], expected_len: int, msg: str | None = None) -> None:
        """Check how many elements a container has.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertLen("abc", 3)
        """
        size = self._size(container)
        self._require(size == expected_len, f"{container!r} has {size} elements, and not {expected_len}", msg)

    def assertItemsEqual(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: Any = None
    ) -> None:
        """Check that two containers have the same elements as often, in any order.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertItemsEqual([1, 2, 2], [2, 1, 2])
        """
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Check that two containers have the same elements, in any order and number.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertSameElements([1, 2], [2, 1, 2])
        """
        expected, actual = list(expected_seq), list(actual_seq)
        missing = [x for x in expected if x not in actual]
        other = [x for x in actual if x not in expected]
        self._require(not missing and not other, f"missing: {missing!r}, not expected: {other!r}", msg)

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: str | None = None
    ) -> None:
        """Check that a container has all elements of another.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertContainsSubset({1}, {1, 2})
        """
        missing = set(expected_subset) - set(actual_set)
        self._require(not missing, f"missing: {missing!r}", msg)

    def assertNoCommonElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Check that no element is in both containers.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNoCommonElements({1}, {2})
        """
        common = set(expected_seq) & set(actual_seq)
        self._require(not common, f"in both: {common!r}", msg)

    def assertContainsSubsequence(
        self, container: Sequence[Any], subsequence: Sequence[Any], msg: str | None = None
    ) -> None:
        """Check that elements are in a container in this order, maybe with others between.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertContainsSubsequence([1, 2, 3], [1, 3])
        """
        rest = iter(container)
        found = all(any(x == y for y in rest) for x in subsequence)
        self._require(found, f"{subsequence!r} is no subsequence of {container!r}", msg)

    def assertContainsExactSubsequence(
        self, container: Sequence[Any], subsequence: Sequence[Any], msg: str | None = None
    ) -> None:
        """Check that elements are in a container one directly behind the other.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertContainsExactSubsequence([1, 2, 3], [2, 3])
        """
        whole, part = list(container), list(subsequence)
        starts = range(len(whole) - len(part) + 1)
        found = any(whole[i : i + len(part)] == part for i in starts)
        self._require(found, f"{part!r} does not stand in {whole!r}", msg)

    def assertSequenceStartsWith(
        self, prefix: Sequence[Any], whole: Sequence[Any], msg: str | None = None
    ) -> None:
        """Check what the first elements are.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertSequenceStartsWith([1], [1, 2])
        """
        start = list(whole)[: len(prefix)]
        self._require(start == list(prefix), f"{whole!r} does not start with {prefix!r}", msg)

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Sequence[Any],
        actual_seq: Sequence[Any],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Check that sequences are as long, and their elements equal as `assertAlmostEqual` has it.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertSequenceAlmostEqual([0.1], [0.1000001], places=5)
        """
        self.assertLen(expected_seq, len(actual_seq), msg)
        for i, (x, y) in enumerate(zip(expected_seq, actual_seq, strict=True)):
            self._require_almost(x, y, places, f"{i}: {msg or ''}", delta)

    def assertDictAlmostEqual(
        self,
        a: Mapping[Any, Any],
        b: Mapping[Any, Any],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Check that dicts have the same keys, and values equal as `assertAlmostEqual` has it.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertDictAlmostEqual({"a": 0.1}, {"a": 0.1000001}, places=5)
        """
        self.assertSameElements(a, b, msg)
        for key in a:
            self._require_almost(a[key], b[key], places, f"{key!r}: {msg or ''}", delta)

    def assertMappingEqual(
        self,
        a: Mapping[Any, Any],
        b: Mapping[Any, Any],
        msg: str | None = None,
        mapping_type: type = Mapping,
        check_values_equality: Callable[[Any, Any], bool] = operator.eq,
    ) -> None:
        """Check that mappings, of whatever classes, have the same keys and equal values.

        >>> import collections, penstock as tf
        >>> tf.test.TestCase().assertMappingEqual({"a": 1}, collections.OrderedDict(a=1))
        """
        self.assertIsInstance(a, mapping_type, msg)
        self.assertIsInstance(b, mapping_type, msg)
        self.assertSameElements(a, b, msg)
        unequal = [key for key in a if not check_values_equality(a[key], b[key])]
        self._require(not unequal, f"{a!r} and {b!r} differ at {unequal!r}", msg)

    # --- texts ---

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Check how a text starts.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertStartsWith("abc", "ab")
        """
        self._require(
            actual.startswith(expected_start), f"{actual!r} does not start with {expected_start!r}", msg
        )

    def assertNotStartsWith(self, actual: str, unexpected_start: str, msg: str | None = None) -> None:
        """Check how a text does not start.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNotStartsWith("abc", "b")
        """
        self._require(
            not actual.startswith(unexpected_start), f"{actual!r} starts with {unexpected_start!r}", msg
        )

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """Check how a text ends.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertEndsWith("abc", "bc")
        """
        self._require(actual.endswith(expected_end), f"{actual!r} does not end with {expected_end!r}", msg)

    def assertNotEndsWith(self, actual: str, unexpected_end: str, msg: str | None = None) -> None:
        """Check how a text does not end.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNotEndsWith("abc", "b")
        """
        self._require(not actual.endswith(unexpected_end), f"{actual!r} ends with {unexpected_end!r}", msg)

    def assertRegexMatch(
        self, actual_str: str, regexes: str | Iterable[str], message: str | None = None
    ) -> None:
        """Check that one of some regular expressions is found in a text.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertRegexMatch("abc", ["x", "b."])
        """
        patterns = [regexes] if isinstance(regexes, str) else list(regexes)
        found = any(re.search(pattern, actual_str) for pattern in patterns)
        self._require(found, f"{actual_str!r} has none of {patterns!r}", message)

    def assertContainsInOrder(
        self, strings: str | Iterable[str], target: str, msg: str | None = None
    ) -> None:
        """Check that texts are in another one, in this order.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertContainsInOrder(["a", "c"], "abc")
        """
        at = 0
        for part in [strings] if isinstance(strings, str) else strings:
            found = target.find(part, at)
            self._require(found >= 0, f"{part!r} is not in {target[at:]!r}", msg)
            at = found + len(part)

    # --- order and classes ---

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """Check that a value is in a range, with its ends.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertBetween(1, 0, 1)
        """
        self._require(minv <= value <= maxv, f"{value!r} is not from {minv!r} to {maxv!r}", msg)

    def assertTotallyOrdered(self, *groups: Iterable[Any], msg: str | None = None) -> None:
        """Check that the values of a group are equal, and less than those of the groups behind it.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertTotallyOrdered([1, 1.0], [2])
        """
        lists = [list(group) for group in groups]
        for i, group in enumerate(lists):
            for x in group:
                self._require(all(x == y for y in group), f"{group!r} are not equal", msg)
                for y in (y for later in lists[i + 1 :] for y in later):
                    self._require(x < y and not x >= y, f"{x!r} is not less than {y!r}", msg)

    def assertIsSubclass(self, cls: type, superclass: type, msg: str | None = None) -> None:
        """Check that a class is one of another kind.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertIsSubclass(bool, int)
        """
        self._require(issubclass(cls, superclass), f"{cls!r} is no subclass of {superclass!r}", msg)

    def assertNotIsSubclass(self, cls: type, superclass: type, msg: str | None = None) -> None:
        """Check that a class is not one of another kind.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertNotIsSubclass(int, bool)
        """
        self._require(not issubclass(cls, superclass), f"{cls!r} is a subclass of {superclass!r}", msg)

    # --- exceptions ---

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: type[BaseException],
        expected_exception_message: str,
        callable_obj: Callable[..., Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Check that something raises an exception with exactly this message.

        >>> import penstock as tf
        >>> with tf.test.TestCase().assertRaisesWithLiteralMatch(ValueError, "no"):
        ...     raise ValueError("no")
        """
        pattern = f"^{re.escape(expected_exception_message)}\\Z"
        if callable_obj is None:
            return self.assertRaisesRegex(expected_exception, pattern)
        self.assertRaisesRegex(expected_exception, pattern, callable_obj, *args, **kwargs)
        return None

    # --- structures ---

    def assertSameStructure(
        self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: str | None = None
    ) -> None:
        """Check that structures of dicts, lists and values are equal, and name the first place where not.

        >>> import penstock as tf
        >>> tf.test.TestCase().assertSameStructure({"a": [1]}, {"a": [1]})
        """
        due: collections.deque[tuple[Any, Any, str]] = collections.deque([(a, b, "")])
        while due:
            x, y, place = due.popleft()
            both = f"{aname}{place} is {x!r}, and {bname}{place} is {y!r}"
            if isinstance(x, Mapping) and isinstance(y, Mapping):
                self._require(set(x) == set(y), both, msg)
                due.extend((x[key], y[key], f"{place}[{key!r}]") for key in x)
            elif isinstance(x, list | tuple) and isinstance(y, list | tuple):
                self._require(len(x) == len(y), both, msg)
                due.extend((p, q, f"{place}[{i}]") for i, (p, q) in enumerate(zip(x, y, strict=True)))
            else:
                self._require(x == y, both, msg)
