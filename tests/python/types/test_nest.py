"""Nests of mapping views and of dataclasses that take themselves apart."""

import dataclasses

import pytest

import penstock as tf


@dataclasses.dataclass
class Pair:
    a: object
    b: object
    kept: int = 3

    def __tf_flatten__(self):
        return (self.kept,), (self.a, self.b)

    @classmethod
    def __tf_unflatten__(cls, kept, parts):
        return cls(*parts, *kept)


NAMED = {"b": 1, "a": 2}


def test_views_of_mappings_are_nests_in_their_order():
    assert tf.nest.flatten(NAMED.keys()) == ["b", "a"]
    assert tf.nest.flatten(NAMED.values()) == [1, 2]
    assert tf.nest.flatten(NAMED.items()) == ["b", 1, "a", 2]
    assert tf.nest.map_structure(lambda x: x * 10, NAMED.values()) == [10, 20]
    assert tf.nest.pack_sequence_as(NAMED.items(), [5, 6, 7, 8]) == [(5, 6), (7, 8)]
    assert all(map(tf.nest.is_nested, (NAMED.keys(), NAMED.values(), NAMED.items())))


def test_a_dataclass_that_takes_itself_apart_is_a_nest():
    value = Pair(1, [2, 3], kept=7)
    assert tf.nest.is_nested(value)
    assert tf.nest.flatten({"x": value}) == [1, 2, 3]
    assert tf.nest.map_structure(lambda x: x * 2, value) == Pair(2, [4, 6], kept=7)
    assert tf.nest.map_structure(lambda x, y: x + y, Pair(1, 2), Pair(3, 4)) == Pair(4, 6)
    assert tf.nest.pack_sequence_as(value, [7, 8, 9]) == Pair(7, [8, 9], kept=7)
    tf.nest.assert_same_structure(Pair(1, 2), Pair(3, 4, kept=9))
    with pytest.raises(TypeError, match="same nested structure"):
        tf.nest.assert_same_structure(Pair(1, 2), (1, 2))


def test_a_dataclass_that_has_one_half_of_the_protocol_alone_is_a_leaf():
    @dataclasses.dataclass
    class Plain:
        a: int

    class Other:
        def __tf_flatten__(self):
            return (), ()

    for leaf in (Plain(1), Other(), Pair):
        assert not tf.nest.is_nested(leaf)


def test_such_a_dataclass_goes_through_functions_and_control_flow():
    given = Pair(tf.constant(1), tf.constant(2))

    @tf.function
    def called(p):
        return Pair(p.a + 1, p.b * 2, p.kept)

    @tf.function
    def looped(p):
        for _ in tf.range(3):
            p = Pair(p.a + 1, p.b * 2, p.kept)
        return p

    @tf.function
    def chosen(flag, p):
        return tf.cond(flag, lambda: p, lambda: Pair(tf.constant(5), tf.constant(6)))

    def numbers(p):
        return int(p.a), int(p.b), int(p.kept)

    assert numbers(called(given)) == (2, 4, 3)
    assert numbers(looped(given)) == (4, 16, 3)
    assert numbers(chosen(tf.constant(False), given)) == (5, 6, 3)
