"""Objects of dataclasses within each other: taken apart and put together in time linear in their depth."""

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf
from penstock._types import composite


@dataclasses.dataclass
class Record:
    inside: Any
    beside: Any = None


@dataclasses.dataclass
class Flat(Record):
    def __tf_flatten__(self) -> tuple[tuple[()], tuple[Any, Any]]:
        return (), (self.inside, self.beside)

    @classmethod
    def __tf_unflatten__(cls, metadata: Any, components: Any) -> "Flat":
        return cls(*components)


def nested(kind: type[Record], depth: int) -> Any:
    value: Any = tf.constant(1.0)
    for _ in range(depth):
        value = kind(value, tf.constant(2.0))
    return value


def innermost(value: Any) -> Any:
    while isinstance(value, Record):
        value = value.inside
    return value


@tf.function
def in_a_loop(value: Any, n: Any) -> Any:
    for _ in tf.range(n):
        value = dataclasses.replace(value, beside=value.beside + 1.0)
    return value


@tf.function
def in_a_branch(value: Any, n: Any) -> Any:
    if n > 1:
        value = dataclasses.replace(value, beside=value.beside * 2.0)
    return value


USES: dict[str, Callable[[Any], Any]] = {
    "an argument": lambda v: tf.function(lambda v: innermost(v) * 2.0)(v),
    "a result": lambda v: tf.function(lambda v: v, autograph=False)(v),
    "a loop": lambda v: in_a_loop(v, tf.constant(3)),
    "a branch": lambda v: in_a_branch(v, tf.constant(3)),
    "an eager loop": lambda v: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v), (0, v)),
    "a traced loop": lambda v: tf.function(
        lambda: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v), (0, v)), autograph=False
    )(),
    "leaves": lambda v: composite.pack(v, composite.flatten(v)),
}


def calls_of(work: Callable[[], Any]) -> int:
    """How many Python functions are called meanwhile."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", [Record, Flat])
@pytest.mark.parametrize("use", USES)
def test_twice_the_depth_takes_twice_the_work(use: str, kind: type[Record]) -> None:
    USES[use](nested(kind, 5))
    short, long = (nested(kind, depth) for depth in (20, 40))
    few, many = calls_of(lambda: USES[use](short)), calls_of(lambda: USES[use](long))
    # Where each level walks all below it, it is four times as much.
    assert many < 2.6 * few, (few, many)


@pytest.mark.parametrize("kind", [Record, Flat])
def test_values_of_nested_objects_are_right(kind: type[Record]) -> None:
    value = nested(kind, 50)
    assert in_a_loop(value, tf.constant(3)).beside.numpy() == 5.0
    assert innermost(in_a_loop(value, tf.constant(0))).numpy() == 1.0
    assert in_a_branch(value, tf.constant(3)).beside.numpy() == 4.0
    assert len(composite.flatten(value)) == 51
    again = composite.pack(value, range(51))
    assert composite.flatten(again) == list(range(51))


def test_objects_that_refer_to_themselves_are_no_records() -> None:
    first, second = Record(None, tf.constant(1.0)), Record(None, tf.constant(2.0))
    first.inside, second.inside = second, first
    outer = Record([first, {"a": second}], tf.constant(3.0))
    plain = Record(tf.constant(4.0))
    records = composite.Records()
    assert [records.has(x) for x in (outer, first, second, plain)] == [True, False, False, True]
    assert not composite.is_record(first)
    assert [float(x) for x in composite.flatten(outer)] == [3.0]


def test_what_has_no_tensor_in_its_fields_is_no_record() -> None:
    records = composite.Records()
    for value, is_one in [
        (Record("a", None), False),
        (Record(Record("a")), False),
        (Record(Record(1)), True),
        (Record([{"a": Record("b", 2.0)}]), True),
        ("a", False),
        (Record, False),
    ]:
        assert records.has(value) is composite.is_record(value) is is_one
