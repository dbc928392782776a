"""Python's containers where tensors choose, are assigned and are looked for, and objects that hold lists."""

# The traced functions are written as users write them.
# ruff: noqa: PERF401, PT018, RUF005, RUF043, RUF060, SIM300

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import as_lists

import penstock as tf
from penstock.errors import OperatorNotAllowedInGraphError

FILE = __file__


CONTAINERS = {
    "list": [3, 5, 8],
    "tuple": (1.5, 2.5, -3.5),
    "mixed numbers": [1, 2.5, 3],
    "strings": ["a", "bc", ""],
    "vectors": [[1, 2], [3, 4], [5, 6]],
    "pairs": [(1, "x"), (2, "y"), (3, "z")],
    "range": range(10, 4, -2),
    "array": np.arange(6.0).reshape(3, 2),
    "bools": [True, False, True],
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.int8])
def test_a_tensor_chooses_an_element(kind: str, dtype: tf.DType) -> None:
    values = CONTAINERS[kind]
    f = tf.function(lambda i: values[i])
    for i in range(-3, 3):
        assert as_lists(f(tf.constant(i, dtype))) == as_lists(values[i])
    for i in (-4, 3):
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError), match="ind(ex|ices)"):
            f(tf.constant(i, dtype))
    assert f.experimental_get_tracing_count() == 1


def test_a_truth_chooses_one_of_two() -> None:
    f = tf.function(lambda x: ["odd", "even"][x % 2 == 0])
    assert f(tf.constant(3)).numpy() == b"odd" and f(tf.constant(4)).numpy() == b"even"


def test_tensors_give_numbers_their_dtype() -> None:
    f = tf.function(lambda x, i: [x, 2, x * x][i])
    assert [f(tf.constant(3.0), tf.constant(i)).numpy() for i in range(3)] == [3.0, 2.0, 9.0]


def test_elements_in_a_loop_and_in_attributes() -> None:
    class Model:
        def __init__(self) -> None:
            self.sizes = [4, 9, 16]

        @tf.function
        def total(self, n: Any) -> Any:
            total = 0
            for i in tf.range(n):
                total += self.sizes[i] * (1, 10, 100)[-1 - i]
            return total

    assert Model().total(tf.constant(3)) == 4 * 100 + 9 * 10 + 16


def test_an_element_of_an_array_by_several_indices() -> None:
    table = np.arange(12).reshape(3, 4)
    f = tf.function(lambda i, j: table[i, j] + table[1, j] + table[i, 2])
    assert f(tf.constant(2), tf.constant(3)) == 11 + 7 + 10


def test_a_variable_chooses() -> None:
    v = tf.Variable(1)
    f = tf.function(lambda: [10, 20, 30][v])
    assert f() == 20
    v.assign(2)
    assert f() == 30


def test_assignment_to_an_element_of_a_list() -> None:
    @tf.function
    def count(xs: Any) -> Any:
        counts = [0, 0, 0]
        pairs = [(0.0, 1), (0.0, 2)]
        for x in xs:
            counts[x] += 1
            pairs[x % 4] = (tf.cast(x, tf.float32), x)
        return counts, pairs

    counts, pairs = count(tf.constant([0, 1, -3, 0]))
    assert as_lists(counts) == [3, 1, 0] and as_lists(pairs) == [[0.0, 0], [-3.0, -3]]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"pairs\[x % 4\] = .*: the index is not in a list of 2"
    ):
        count(tf.constant([1, 2]))


def test_items_among_several_targets() -> None:
    @tf.function
    def sort(x: Any) -> Any:
        for i in tf.range(tf.size(x)):
            for j in tf.range(tf.size(x) - i - 1):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]
        return x

    assert as_lists(sort(tf.constant([3, 1, 2, 9, 0]))) == [0, 1, 2, 3, 9]

    def order(x: Any) -> Any:
        i = 0
        x[i], i = 5, 2
        i, x[i] = 1, 7
        last = x[i + 1] = 9
        (x[3], *rest), [first] = [1, 2, 3], "a"
        names: dict[str, Any] = {}
        values = [4, 5]
        values[0], names["a"], names["b"] = values[1], i, first
        return x, i, last, rest, values, names

    got = tf.function(order)(tf.constant([0, 0, 0, 0]))
    assert as_lists(got[:5]) == as_lists(order([0, 0, 0, 0])[:5]) == [[5, 7, 9, 1], 1, 9, [2, 3], [5, 5]]
    assert as_lists([got[5]["a"], got[5]["b"]]) == [1, "a"]


def test_items_of_items() -> None:
    @tf.function
    def in_a_tuple(x: Any) -> Any:
        pair = (x, 1)
        pair[0][0] = 5
        return pair

    with pytest.raises(TypeError, match="'tuple' object does not support item assignment"):
        in_a_tuple(tf.constant([1, 2]))

    @tf.function
    def lists(n: Any) -> Any:
        x = tf.zeros([3, 3], tf.int32)
        rows = [[0, 0], [tf.zeros([2], tf.int32), 1]]
        for i in tf.range(n):
            x[i][n - 1 - i] = i + 1
            x[0][i] += 10
            rows[0][i % 2] += i
            rows[1][0][0] = i
        return x, rows

    x, rows = lists(tf.constant(3))
    assert as_lists(x) == [[10, 10, 11], [0, 2, 0], [3, 0, 0]]
    assert as_lists(rows) == [[2, 1], [[2, 0], 1]]


def refused(f: Callable[..., Any], *texts: str) -> None:
    with pytest.raises(OperatorNotAllowedInGraphError) as caught:
        tf.function(f)(tf.constant(1))
    for text in texts:
        assert text in str(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].filename == FILE


def test_what_a_tensor_cannot_choose_from() -> None:
    table, unlike = {0: 1.0, 1: 2.0}, [tf.zeros([1]), tf.zeros([2])]
    calls = [abs, max]
    refused(lambda i: table[i], "table[i]", "keys of a mapping")
    refused(lambda i: "text"[i], '"text"[i]', "tf.strings.substr")
    refused(lambda i: unlike[i], "unlike[i]", "float32 of shape (1,), float32 of shape (2,)")
    refused(lambda i: calls[i], "calls[i]", "must be tensors, or numbers")
    refused(lambda i: [1, "a"][i], "one dtype and shape")
    refused(lambda i: [1, (2, 3)][i], "one structure")
    refused(lambda i: [1, 2][tf.cast(i, tf.float32)], "an integer without dimensions")
    refused(lambda i: [1, 2][[i, i] + tf.constant([0, 0])], "tf.gather")

    def assigned(i: Any) -> Any:
        values = [1, 2]
        values[i] = None
        return values

    refused(assigned, "values[i] = None", "None cannot take the place")
    with pytest.raises(IndexError, match=r"\[\]\[i\]: the list is empty"):
        tf.function(lambda i: [][i])(tf.constant(0))


def test_python_indices_stay_pythons() -> None:
    class Squares:
        def __getitem__(self, index: Any) -> Any:
            return "slice" if isinstance(index, slice) else index * index

    log: list[str] = []

    def noted(value: Any, name: str) -> Any:
        log.append(name)
        return value

    @tf.function
    def f(x: Any) -> Any:
        names = {"a": 1, ("b", 2): 3}
        key = "b"
        first = noted([7, 8, 9], "container")[noted(1, "index")]
        del names["a"]
        return first + names[key, 2] + Squares()[4], Squares()[x:2], Squares()[x], x[...], [1, 2, 3][-2:][0]

    got = f(tf.constant(5))
    assert as_lists(got) == [27, "slice", 25, 5, 2] and log == ["container", "index"]


def test_a_tensor_is_looked_for_in_a_container() -> None:
    table, numbers = {1: "a", 4: "b"}, {2, 3}

    @tf.function
    def f(x: Any, row: Any) -> Any:
        return (
            x in [1, 2],
            x not in (1, 2),
            x in range(9, 0, -4),
            x in range(0),
            x in [],
            x in table,
            x in numbers,
            x in row,
            3 in row,
            3 in [x, 5, None],
            0 < x in row,
            None in [x],
        )

    row = [3, 5]
    for x in (-1, 1, 2, 3, 4, 5, 9):
        due = [
            x in [1, 2],
            x not in (1, 2),
            x in (9, 5, 1),
            False,
            False,
            x in table,
            x in numbers,
            x in row,
            True,
            x == 3,
            0 < x and x in row,
            False,
        ]
        assert as_lists(f(tf.constant(x), tf.constant(row))) == due


def test_strings_and_grown_lists_are_looked_through() -> None:
    @tf.function
    def f(word: Any, n: Any) -> Any:
        found = []
        for i in tf.range(n):
            found.append(i * i)
        if word not in ("and", "or") and 16 in found:
            return 1
        return 0

    assert f(tf.constant("not"), tf.constant(5)) == 1 and f(tf.constant("or"), tf.constant(5)) == 0
    assert f(tf.constant("not"), tf.constant(4)) == 0
    assert tf.function(lambda: "a" in "cat" and 1 in {1: 2})() == True  # noqa: E712


class Stack:
    """A list that methods change."""

    def __init__(self, first: Any) -> None:
        if first > 5:
            first = first - 5
        self.items = [first]

    def push(self, x: Any) -> None:
        self.items.append(x)

    def pop(self) -> Any:
        return self.items.pop()

    @property
    def pairs(self) -> Any:
        return [(0, 0)]


def test_methods_that_change_a_list_of_their_object() -> None:
    @tf.function
    def f(n: Any) -> Any:
        stack = Stack(n * 0)
        for i in tf.range(n):
            stack.push(i * 2)
            stack.pairs.append((i, i))
            if i % 3 == 0:
                stack.push(i)
                stack.pop()
        count, total = len(stack.items), 0
        while len(stack.items) > 0:
            total += stack.pop()
        return count, total

    assert as_lists(f(tf.constant(5))) == [6, 20] and as_lists(f(tf.constant(0))) == [1, 0]
    assert f.experimental_get_tracing_count() == 1


def test_constructors_are_converted() -> None:
    class Named(Stack):
        def __init__(self, x: Any, name: str = "b") -> None:
            super().__init__(x)
            self.size = 1 if x > 0 else 2
            self.name = name

    @tf.function
    def f(x: Any) -> Any:
        named = Named(x, name="a")
        return named.items[0], named.size, named.name

    assert as_lists(f(tf.constant(8))) == [3, 1, "a"] and as_lists(f(tf.constant(-1))) == [-1, 2, "a"]
    with pytest.raises(TypeError, match="argument"):
        tf.function(lambda x: Named())(tf.constant(1))


class Rows(NamedTuple):
    rows: Any
    count: Any


def test_lists_in_a_named_tuple_change_in_place() -> None:
    @tf.function
    def f(n: Any) -> Any:
        made = Rows([n * 0, n * 0], n * 0)
        i = tf.constant(0)
        while i < n:
            made.rows[0] += i
            if i > 1:
                made.rows[1] = i
            last = Rows([i, i + 1], {"i": i})
            i += 1
        return made, last

    result = tf.nest.map_structure(int, f(tf.constant(4)))
    assert result == (Rows([6, 3], 0), Rows([3, 4], {"i": 3}))

    @tf.function
    def grows(n: Any) -> Any:
        made = Rows([n], 0)
        for i in tf.range(n):
            made.rows.append(i)
        return made

    with pytest.raises(TypeError, match="'made.rows' cannot change its length"):
        grows(tf.constant(3))


def appended(items: list[Any], x: Any) -> None:
    items.append(x)


@pytest.mark.parametrize("make", [lambda: [0], lambda: str.split("0"), lambda: json.loads("[0]")])
def test_a_list_that_a_body_makes_itself_may_grow_in_a_called_function(make: Callable[[], list[Any]]) -> None:
    @tf.function
    def in_a_loop(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            items = make()
            appended(items, i)
            total += items[1]
        return total

    @tf.function
    def in_a_branch(n: Any) -> Any:
        result = n
        if n > 2:
            items = make()
            for k in range(3):
                appended(items, n + k)
            result = items[1] + items[3]
        return result

    assert [int(in_a_loop(tf.constant(n))) for n in (0, 1, 5)] == [0, 0, 10]
    assert [int(in_a_branch(tf.constant(n))) for n in (1, 5)] == [1, 12]


def test_a_list_that_somebody_else_holds_may_not_grow_unseen() -> None:
    kept: list[list[Any]] = []
    keep = tf.autograph.experimental.do_not_convert(lambda items: kept.append(items))

    @tf.function
    def grow(n: Any) -> Any:
        for i in tf.range(n):
            items = [0]
            keep(items)
            appended(items, i)
        return n

    with pytest.raises(TypeError, match="cannot change its length"):
        grow(tf.constant(3))
