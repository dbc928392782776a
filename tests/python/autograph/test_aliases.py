"""Containers with several names: what replaces one is another one, and what changes one is seen by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf


class Owner:
    """An object with a mapping and a list of mappings."""

    def __init__(self, b: Any) -> None:
        self.parts, self.rows = {"x": b, "y": b}, [{"a": b}]

    def store(self, key: str, x: Any) -> None:
        self.parts[key] = x * 1

    def renew(self, x: Any) -> None:
        self.parts = {"x": x, "y": x}

    def put(self, x: Any) -> None:
        self.rows[0]["a"] = x


def bump(items: Any, key: Any, x: Any) -> None:
    items[key] = items[key] + x


def replaced_in_a_branch(c: Any, b: Any) -> Any:
    items = [b]
    before, pair = items, (items, 3)
    if c:
        items = [b + 9]
    return items, before, pair


def replaced_mapping(c: Any, b: Any) -> Any:
    items = {"x": b}
    before = items
    if c:
        items = {"x": b + 9}
    return items, before


def replaced_in_one_branch_and_changed_in_the_other(c: Any, b: Any) -> Any:
    items = [b]
    before = items
    if c:
        items[0] = b + 5
    else:
        items[0] = b + 7
        items = [b + 9]
    return items, before


def replaced_item(c: Any, b: Any) -> Any:
    items = {"a": [b], "b": [b + 1]}
    whole, first, second = items, items["a"], items["b"]
    if c:
        items["a"] = [items["a"][0] + 1]
        items["b"][0] += 5
    return items, whole, first, second


def one_name_takes_the_place_of_another(c: Any, b: Any) -> Any:
    here, there = [b], [b + 1]
    third = here
    if c:
        here = there
    else:
        there = [b + 5]
    return here, there, third


def replaced_in_a_loop(c: Any, b: Any) -> Any:
    items = [b, b + 1]
    before = items
    for _ in tf.range(3):
        items = [items[1], items[0] + before[0]]
    return items, before


def replaced_in_nested_loops(c: Any, b: Any) -> Any:
    items = [b, b + 1]
    before = items
    for _ in tf.range(3):
        for _ in tf.range(2):
            items = [items[1], items[0] + before[0]]
    return items, before


def changed_in_a_loop(c: Any, b: Any) -> Any:
    items = [b]
    before, never = items, False
    for _ in tf.range(3):
        if never:
            items = [b + 7]
        items[0] += 1
    return items, before


def replaced_item_in_a_loop(c: Any, b: Any) -> Any:
    items = {"a": [b], "b": [b]}
    whole, first = items, items["a"]
    for i in tf.range(3):
        items["a"] = [items["a"][0] + 1]
        items["b"][0] += i
    return items, whole, first


def replaced_and_then_changed_in_a_loop(c: Any, b: Any) -> Any:
    items = {"a": [b], "b": [b]}
    first, i = items["a"], b * 0
    while i < 4:
        i += 1
        items = {"a": [-3], "b": items["b"]}
        items["a"] = first
    return items, first


def replaced_attribute_in_a_loop(c: Any, b: Any) -> Any:
    owner = Owner(b)
    before = owner.parts
    for _ in tf.range(3):
        owner.renew(owner.parts["x"] + before["x"])
    return owner.parts, before


def swapped_items(c: Any, b: Any) -> Any:
    items = [[b], [b + 1]]
    first = items[0]
    for _ in tf.range(3):
        items = [items[1], items[0]]
    return items, first


def changed_by_a_function_and_by_a_method(c: Any, b: Any) -> Any:
    owner = Owner(b)
    if c:
        bump(owner.parts, "y", 6)
    else:
        owner.store("y", 3)
    return owner.parts


def changed_by_both_in_one_branch(c: Any, b: Any) -> Any:
    owner = Owner(b)
    if c:
        bump(owner.parts, "y", 6)
        owner.store("y", b)
        bump(owner.parts, "y", b)
    else:
        bump(owner.parts, "x", 6)
    return owner.parts


def changed_within_by_a_function_and_by_a_method(c: Any, b: Any) -> Any:
    owner = Owner(b)
    if c:
        bump(owner.rows[0], "a", 6)
    else:
        owner.put(9)
    return owner.rows


def changed_by_a_function_and_replaced_by_a_method(c: Any, b: Any) -> Any:
    owner = Owner(b)
    before = owner.parts
    if c:
        bump(owner.parts, "y", 6)
    else:
        bump(before, "x", 3)
        owner.renew(9)
    return owner.parts, before


def changed_by_both_in_a_loop(c: Any, b: Any) -> Any:
    owner = Owner(b)
    for i in tf.range(4):
        if i % 2 == 0:
            bump(owner.parts, "y", 6)
        else:
            owner.store("y", i)
    return owner.parts


def give(items: Any, x: Any) -> None:
    items["l"] = [x]


def change(items: Any, x: Any) -> None:
    items["l"][0] = x


def item_replaced_by_a_function(c: Any, b: Any) -> Any:
    items = {"l": [b], "r": 3}
    first = items["l"]
    if c:
        give(items, 5)
    return items, first


def item_replaced_by_a_function_in_a_loop(c: Any, b: Any) -> Any:
    items = {"l": [b], "r": 3}
    first = items["l"]
    for i in tf.range(3):
        give(items, first[0] + i)
    return items, first


def item_changed_by_a_function_in_a_loop(c: Any, b: Any) -> Any:
    items = {"l": [b], "r": 3}
    first = items["l"]
    for i in tf.range(3):
        change(items, first[0] + i)
    return items, first


def item_replaced_by_one_function_and_changed_by_another(c: Any, b: Any) -> Any:
    items = {"l": [b], "r": 3}
    first = items["l"]
    if c:
        give(items, 5)
        change(items, 6)
    else:
        change(items, 7)
    return items, first


def item_replaced_in_one_branch_and_the_whole_in_the_other(c: Any, b: Any) -> Any:
    items = {"l": [b], "r": 3}
    first = items["l"]
    if c:
        items["l"] = [b + 1]
    else:
        items = {"l": [6], "r": 1}
    return items, first


def changed_and_then_replaced_in_a_branch(c: Any, k: Any) -> Any:
    deep, side = {"items": [k + 5]}, [k]
    if c:
        deep["items"] = side
        deep = {"items": [k + 1]}
    return side, deep["items"]


def changed_and_replaced_in_a_branch_within(c: Any, k: Any) -> Any:
    deep, side = {"items": [k + 5]}, [k]
    if c:
        deep["items"] = side
        if k > 5:
            pass
        else:
            deep = {"items": [k + 1]}
    return side, deep["items"]


def changed_and_replaced_until_a_break(c: Any, k: Any) -> Any:
    deep = {"items": [k]}
    side = deep["items"]
    for _ in range(2):
        deep["items"] = side
        if c:
            break
        deep = {"items": [k + 1]}
    return side, deep["items"]


def changed_by_another_name_in_a_loop(c: Any, b: Any) -> Any:
    here, total, never = [b * 0], b * 0, False
    there = here
    for _ in tf.range(4):
        if never:
            here = [b]
        there[0] += 1
        total += here[0]
    return total, here, there


def changed_by_another_name_in_a_loop_within(c: Any, b: Any) -> Any:
    here, total, never = [b * 0], b * 0, False
    there = here
    for _ in tf.range(2):
        if never:
            here = [b]
        for k in tf.range(2):
            there[0] += 1
            total += here[0]
            last = k
    return total, here, there, last


def changed_by_a_function_and_another_name_in_a_loop(c: Any, b: Any) -> Any:
    here, total, never = [b * 0], b * 0, False
    there = here
    for i in tf.range(4):
        if never:
            here = [b]
        bump(there, 0, i + 5)
        total += here[0]
    return total, here, there


def never_replaced_in_a_loop_that_sets_a_variable_first(c: Any, b: Any) -> Any:
    here, i = [b, -3], b + 3
    there = here
    while i > 0:
        i //= 2
        if there[1] == 2 and b > 4:
            here = [here[1], 5]
        last = i
    here[0] += 1
    return here, there, last


def kept_by_both_branches_in_a_loop(c: Any, b: Any) -> Any:
    here, total, never = [b, b + 1], b * 0, False
    there = here
    for i in tf.range(3):
        if c:
            if never:
                here = [b]
            total += i
        else:
            total += here[1]
    there[0] += 5
    return here, there, total


PROGRAMS = [
    changed_by_another_name_in_a_loop,
    changed_by_another_name_in_a_loop_within,
    changed_by_a_function_and_another_name_in_a_loop,
    never_replaced_in_a_loop_that_sets_a_variable_first,
    kept_by_both_branches_in_a_loop,
    item_replaced_by_a_function,
    item_replaced_by_a_function_in_a_loop,
    item_changed_by_a_function_in_a_loop,
    item_replaced_by_one_function_and_changed_by_another,
    item_replaced_in_one_branch_and_the_whole_in_the_other,
    replaced_in_a_branch,
    replaced_mapping,
    replaced_in_one_branch_and_changed_in_the_other,
    replaced_item,
    one_name_takes_the_place_of_another,
    replaced_in_a_loop,
    replaced_in_nested_loops,
    changed_in_a_loop,
    replaced_item_in_a_loop,
    replaced_and_then_changed_in_a_loop,
    replaced_attribute_in_a_loop,
    swapped_items,
    changed_by_a_function_and_by_a_method,
    changed_by_both_in_one_branch,
    changed_within_by_a_function_and_by_a_method,
    changed_by_a_function_and_replaced_by_a_method,
    changed_by_both_in_a_loop,
    changed_and_then_replaced_in_a_branch,
    changed_and_replaced_in_a_branch_within,
    changed_and_replaced_until_a_break,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("c", [True, False])
def test_names_of_a_container_see_what_python_shows(program: Callable[..., Any], c: bool) -> None:
    due = tf.nest.map_structure(int, program(c, 2))
    assert tf.nest.map_structure(int, tf.function(program)(tf.constant(c), tf.constant(2))) == due


def test_a_container_that_is_another_one_where_it_is_not_is_refused() -> None:
    def put(items: Any, x: Any) -> None:
        items[0] = x

    @tf.function
    def f(n: Any) -> Any:
        here = [n, -3]
        there = here
        for i in tf.range(n):
            put(there, i)
            # A number of Python, unless the loop carries what `here` holds.
            if there[1] == 2:
                here = [i, 2]
        return here, there

    with pytest.raises(TypeError, match=r"'here' may become another list or dict .*: give it a copy"):
        f(tf.constant(3))


def test_a_container_that_one_branch_replaces_is_another_one_after_it() -> None:
    @tf.function
    def f(c: Any) -> Any:
        items = [1]
        before = items
        if c:
            items = [9]
        items[0] += 1
        return items, before

    assert tf.nest.map_structure(int, f(tf.constant(True))) == ([10], [1])
    # Python's `before` would be changed.
    assert tf.nest.map_structure(int, f(tf.constant(False))) == ([2], [1])
