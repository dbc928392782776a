"""Ways of writing Python that meet control flow of the graph: patterns, walrus, containers, annotations."""

# The traced functions are written as users write them.

from __future__ import annotations

import copy
import dataclasses
import linecache
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from support import plain

import penstock as tf


def agrees(body: Any, *inputs: Any) -> None:
    """The body gives for tensors what it gives for numbers, with one trace."""
    f = tf.function(body)
    for values in inputs:
        args = values if isinstance(values, tuple) else (values,)
        assert plain(f(*map(tf.constant, args))) == body(*args), values
    assert f.experimental_get_tracing_count() == 1


def test_patterns_of_sequences() -> None:
    def fizz(i: Any) -> Any:
        match i % 3, i % 5:
            case 0, 0:
                return 35
            case 0, _:
                return 3
            case _, 0:
                return 5
            case _:
                return i

    def split(a: Any, b: Any) -> Any:
        match (a, (b, a + b)):
            case (0, (x, _)):
                r = x
            case (x, (y, z)) if x > y:
                r = x * 100 + z
            case (x, (1 | 2 as y, _)):
                r = x * 1000 + y
            case (first, [*rest]):
                r = first + rest[0] + rest[1]
        return r

    agrees(fizz, *range(16))
    agrees(split, (0, 7), (5, 3), (1, 2), (1, 1), (2, 8))


def test_patterns_of_structure_are_decided_while_tracing() -> None:
    def f(x: Any, form: Any) -> Any:
        match form(x):
            case {"a": 1, "b": b}:
                return b
            case {"a": a}:
                return a * 10
            case [a, *_, b] if a < b:
                return a
            case [*many, _]:
                return sum(many)
            case "text" | None:
                return x
            case other:
                return other - 1

    forms = (
        lambda x: {"a": x, "b": 7},
        lambda x: {"a": x},
        lambda x: [x, x + 1],
        lambda x: [x, x, x],
        lambda x: "text",
        lambda x: None,
        lambda x: x,
    )
    for form in forms:
        agrees(lambda x, form=form: f(x, form), 1, 5)


def test_walrus_in_an_and() -> None:
    def f(n: Any) -> Any:
        if (k := n * 2) > 5 and (m := k + 1) > 8:
            return m
        return k

    def g(n: Any) -> Any:
        if n > 0 and (k := n % 3) > 0 and (m := k * n) > 4:
            r = m + k
        else:
            r = -n
        return r

    def h(n: Any) -> Any:
        r, i = 0, n
        while True:
            i -= 1
            if i < 0:
                break
            j = n % 5
            while j > 0:
                if (k := n + j) > 6 and (m := k % 7) < 3:
                    r += m
                elif (k2 := k % 2) or (m2 := k) > 4:
                    r += k2 + 10
                else:
                    r = r + m2
                j -= 1
        return r

    agrees(f, 1, 3, 4, 9)
    agrees(g, -1, 0, 1, 3, 4, 5, 8)
    agrees(h, 0, 1, 3, 4, 8)


def test_containers_in_containers() -> None:
    def f(n: Any) -> Any:
        inner = [n, n]
        table = {"a": n, "b": inner}
        for i in range(n):
            table["a"] += i
            table["b"][0] = table["a"]
            if i % 2 == 0:
                table["b"][1] -= 1
        return table, inner

    class Holder:
        pass

    def g(n: Any) -> Any:
        held = Holder()
        held.items = [n, [n]]
        while n > 0:
            held.items[1][0] += n
            n -= 1
        return held.items

    agrees(f, 0, 4)
    agrees(g, 0, 4)


def test_slices_of_a_local_tensor() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
    def f(x: Any, n: Any) -> Any:
        x[1:3] = 7
        x[n:] += 100
        for i in range(n):
            x[::2] = x[::2] * 2 + i
        x[-1:] = [0]
        return x

    def due(x: Any, n: int) -> Any:
        x = tf.constant(x).numpy().copy()
        x[1:3] = 7
        x[n:] += 100
        for i in range(n):
            x[::2] = x[::2] * 2 + i
        x[-1:] = [0]
        return x.tolist()

    for values, n in (([1, 2, 3, 4, 5], 2), ([1, 2], 0), ([4], 1)):
        assert plain(f(tf.constant(values), tf.constant(n))) == due(values, n)

    @tf.function
    def g(m: Any) -> Any:
        rows = [1, 2, 3]
        rows[1:] = [m, m]
        m[0:1] = [[9, 9]]
        return m, rows

    assert plain(g(tf.constant([[1, 2], [3, 4]])))[0] == [[9, 9], [3, 4]]

    @tf.function
    def h(m: Any) -> Any:
        m[:, 0] = 1
        return m

    with pytest.raises(TypeError, match="several dimensions"):
        h(tf.constant([[1, 2], [3, 4]]))


def test_a_plain_function_that_calls_itself_says_what_to_do() -> None:
    def down(n: Any) -> Any:
        if n < 2:
            return n
        return down(n - 1)

    with pytest.raises(RecursionError, match="input_signature"):
        tf.function(down)(tf.constant(3))


def from_source(text: str) -> Any:
    """The function `f` of a source that `linecache` knows."""
    file = f"<source {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tf": tf}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names["f"]


def test_groups_of_exceptions() -> None:
    f = from_source("""
def f(n):
    try:
        if n > 0:
            n += 1
        raise ExceptionGroup("both", [KeyError("a"), ValueError("b")])
    except* KeyError:
        for i in range(n):
            n += i
    except* ValueError:
        n *= 2
    return n
""")
    agrees(f, 3, -1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_type_parameters_and_aliases() -> None:
    f = from_source("""
def f[T](n: T) -> T:
    type Pair = tuple[T, T]
    def inner[S: int](x: S, y: Pair = None) -> S:
        if x > 2:
            return x * 2
        return x
    total = 0
    while n > 0:
        total += inner(n)
        n -= 1
    return total
""")
    agrees(f, 0, 5)
    assert tf.autograph.to_graph(f).__qualname__ == "f"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="nested quotes came with Python 3.12")
def test_formatted_strings_with_nested_quotes() -> None:
    f = from_source("""
def f(n):
    names = {"a": 1}
    if n > len(f"{names["a"]!r:>{n.shape.rank if hasattr(n, "shape") else 0}}"):
        return n
    return -n
""")
    agrees(f, 0, 5)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="template strings came with Python 3.14")
def test_template_strings_and_late_annotations() -> None:
    f = from_source("""
def f(n):
    def inner(x: Later, y=2) -> Later:
        if x > y:
            return x
        return y
    parts = t"{[k for k in range(2)]!r} {n}"
    if n > len(parts.interpolations):
        return inner(n)
    return inner(-n)
""")
    agrees(f, 0, 5)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="generic classes came with Python 3.12")
def test_objects_of_generic_classes_within_a_function() -> None:
    f = from_source("""
import dataclasses
def f(n):
    @dataclasses.dataclass
    class Box[T]:
        value: T
        def grown(self, by: T) -> "Box[T]":
            if self.value > 2:
                return Box(self.value + by)
            return Box(self.value - by)
    box = Box(n)
    while box.value < 4:
        box.value += 3
    return box.grown(n).value
""")
    agrees(f, 0, 5)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="defaults of type parameters came with Python 3.13")
def test_type_parameters_with_defaults() -> None:
    f = from_source("""
def f(n):
    def inner[T = int, *Ts = *tuple[int, ...], **P = [int]](x: T) -> T:
        while x < 10:
            x += 4
        return x
    return inner(n)
""")
    agrees(f, 0, 12)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="`except` without brackets came with Python 3.14")
def test_exceptions_without_brackets() -> None:
    f = from_source("""
def f(n):
    try:
        if n > 3:
            n = n * 2
        last = [1, 2][2]
    except IndexError, KeyError:
        last = 5
    return n + last
""")
    agrees(f, 0, 5)


# Annotations are evaluated late from Python 3.14 on, and before where the source asks for it.
LATE = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"


def test_annotations_without_a_value() -> None:
    f = from_source(f"""{LATE}
def f(n: Missing, *rest: Missing, k: Missing = 2) -> Missing:
    m: Missing = n
    if m > 2:
        m = m * k
    return m
""")
    agrees(f, 0, 5)
    assert str(tf.function(f).function_type) == "(n, *rest, k=2)"
    names: dict[str, Any] = {"tf": tf, "__name__": __name__}
    source = "class Tree(tf.experimental.ExtensionType):\n    value: tf.Tensor\n    left: Tree | None = None"
    exec(compile(LATE + source, "<tree>", "exec", dont_inherit=True), names)
    tree = names["Tree"](tf.constant(1), names["Tree"](tf.constant(2)))
    assert int(tf.function(lambda t: t.value + t.left.value)(tree)) == 3


def test_a_source_that_python_warns_of_where_warnings_are_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = from_source(r"""
def f(n):
    while n < 3 or 2 is 3:
        n += len("\d")
    return n
""")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agrees(f, 0, 5)


def test_lists_of_pairs() -> None:
    def f(v: Any) -> Any:
        pairs = [[0, 1]]
        for x in v:
            if x < 0:
                break
            pairs.append([x, x + 1])
        total = 0
        for a, b in pairs:
            total += a * b
        return pairs, total, len(pairs)

    agrees(f, [1, 2, -1, 3], [-1, 0, 0, 0], [5, 6, 7, 8])

    @tf.function
    def g(n: Any) -> Any:
        pairs = []
        for i in tf.range(n):
            pairs.append((i, tf.cast(i, tf.float32)))  # noqa: PERF401
        return pairs

    with pytest.raises(TypeError, match="'pairs'"):
        g(tf.constant(2))


def test_annotations_in_branches() -> None:
    def f(n: Any) -> Any:
        y: int
        if n > 3:
            n: int = n * 2
            y = n
        else:
            y: int = 1
        return n + y

    agrees(f, 1, 5)


def test_a_branch_that_raises_within_a_try() -> None:
    def f(n: Any) -> Any:
        try:
            if n > 0:
                return 1
            raise KeyError("n")
        finally:
            n = 0

    traced = tf.function(f)
    assert traced(tf.constant(1)).numpy() == 1
    with pytest.raises(KeyError):
        traced(tf.constant(-1))


# --- records ---


@dataclasses.dataclass
class Pair:
    first: Any
    second: Any
    name: str = "pair"


@dataclasses.dataclass(frozen=True)
class FrozenPair:
    first: Any
    second: Any


def fibonacci(make: Any, n: Any) -> Any:
    pair = make(0, 1)
    for _ in range(n):
        pair = make(pair.second, pair.first + pair.second)
    return pair.first, pair.second


def replaced(make: Any, n: Any) -> Any:
    pair = make(0, 1)
    while pair.first < n:
        pair = dataclasses.replace(pair, first=pair.first + pair.second, second=pair.second + 1)
    return pair.second


def of_a_branch(make: Any, n: Any) -> Any:
    pair = make(0, 1)
    pair = make(n, 2) if n > 2 else make(pair.first, n * 5)
    if n > 3:
        pair = make(pair.second, 7)
    return pair.first, pair.second


def left_with(make: Any, n: Any) -> Any:
    def found() -> Any:
        for i in range(n):
            if i == 2:
                return make(i, n)
        return make(0, 0)

    pair = found()
    return pair.first + 10 * pair.second


def made_in_a_list(make: Any, n: Any) -> Any:
    pairs = [make(0, 1), (make(2, 3), 4)]
    for i in range(n):
        pairs[0] = make(pairs[1][0].first, i)
    return pairs[0].first, pairs[0].second


@pytest.mark.parametrize("make", [Pair, FrozenPair])
@pytest.mark.parametrize("body", [fibonacci, replaced, of_a_branch, left_with, made_in_a_list])
def test_records_are_variables_of_loops_and_branches(make: Any, body: Any) -> None:
    traced = tf.function(lambda n: body(make, n))
    for n in (0, 1, 4, 6):
        assert tf.nest.map_structure(int, traced(tf.constant(n))) == body(make, n)


def test_a_record_that_is_changed_and_replaced_in_a_loop_keeps_what_it_held_before() -> None:
    pair = Pair(1, 2)

    @tf.function
    def swapped(n: Any) -> Any:
        mine = pair
        for _ in range(n):
            mine.first += 1
            mine = Pair(mine.second, mine.first)
        return mine.first, mine.second

    assert [int(x) for x in swapped(tf.constant(3))] == [3, 3]
    assert (pair.first, pair.second) == (1, 2)


def test_what_is_no_number_in_a_record_stays_what_it_is() -> None:
    @tf.function
    def renamed(n: Any) -> Any:
        pair = Pair(0, 1)
        for _ in range(n):
            pair = Pair(1, 0, "other")
        return pair.first

    with pytest.raises(
        TypeError, match=r"'pair' must keep.*field 'name' is 'pair' in one and 'other' in the other"
    ):
        renamed(tf.constant(3))


def test_arrays_in_a_record_are_numbers_too() -> None:
    zeros = np.zeros(3, np.float32)

    @tf.function
    def loop(n: Any) -> Any:
        pair = Pair(np.float32(0), zeros)
        for _ in range(n):
            pair = Pair(pair.first + 1.0, pair.second + pair.first)
        return pair.first, pair.second

    @tf.function
    def branch(n: Any) -> Any:
        pair = Pair(0, zeros)
        if n > 2:
            pair = Pair(1, zeros + 1)
        return pair.second

    first, second = loop(tf.constant(3))
    assert (first.numpy(), second.numpy().tolist()) == (3, [3, 3, 3])
    assert [branch(tf.constant(n)).numpy().tolist() for n in (2, 3)] == [[0, 0, 0], [1, 1, 1]]


def test_an_object_that_refers_to_itself_is_no_record() -> None:
    @tf.function
    def total(n: Any) -> Any:
        pair = Pair(tf.constant(0), None)
        pair.second = Pair(1, pair)
        for i in range(n):
            mine = pair
            mine.first += i
        return pair.second.second.first

    assert [int(total(tf.constant(n))) for n in (0, 1, 4)] == [0, 0, 6]


class Counter:
    def __init__(self, start: Any) -> None:
        self.value = start

    def add(self, amount: Any) -> None:
        self.value = self.value + amount


def test_objects_that_an_iteration_makes_are_its_own() -> None:
    kept = Counter(0)

    def total(n: Any) -> Any:
        out = 0
        for i in range(n):
            counter = Counter(i)
            counter.add(2)
            if i > 1:
                third = copy.copy(counter)
                third.add(1)
                out += third.value
            other = copy.copy(counter)
            other.add(counter.value)
            kept.add(i * 0 + 1)
            out += other.value
        found, kept.value = kept.value, 0
        return out, found

    traced = tf.function(total)
    for n in (0, 1, 4):
        assert [int(x) for x in traced(tf.constant(n))] == list(total(n))
        kept.value = 0


def each_changed(n: Any) -> Any:
    counters = [Counter(0), Counter(1)]
    for i in range(n):
        for counter in counters:
            counter.value += i
    return counters[0].value, counters[1].value


def changed_by_place(n: Any) -> Any:
    counters = {"a": Counter(0), "b": [Counter(1)]}
    for i in range(n):
        counters["a"].value += i
        counters["b"][0].value = counters["a"].value * 2
    return counters["a"].value, counters["b"][0].value


def changed_by_another_name(n: Any) -> Any:
    counter = Counter(0)
    for i in range(n):
        other = counter
        other.value += i
    return counter.value, 0


def changed_in_a_branch(n: Any) -> Any:
    counters = [Counter(0), Counter(1)]
    if n > 2:
        for counter in counters:
            counter.value += n
    else:
        for counter in counters:
            counter.value -= 1
    return counters[0].value, counters[1].value


def appended_to(n: Any) -> Any:
    counters = [Counter([]), Counter([])]
    for i in range(n):
        for counter in counters:
            counter.value.append(i)
    return len(counters[0].value), sum(counters[1].value)


def made_anew(n: Any) -> Any:
    total = 0
    for i in range(n):
        counter = Counter(1)
        counter.value = i
        counter.value += 1
        total += counter.value
    return total, 0


@pytest.mark.parametrize(
    "body",
    [each_changed, changed_by_place, changed_by_another_name, changed_in_a_branch, appended_to, made_anew],
)
def test_attributes_of_objects_that_a_body_finds_are_variables(body: Any) -> None:
    traced = tf.function(body)
    for n in (0, 1, 4):
        assert tf.nest.map_structure(int, traced(tf.constant(n))) == body(n)


def lists_in_a_dict(n: Any) -> Any:
    table: Any = {"first": [], "second": [0]}
    for i in range(n):
        table["first"].append(i)
        table["second"][0] += i
    return len(table["first"]), table["second"][0]


def lists_in_a_list(n: Any) -> Any:
    rows: Any = [[], [5]]
    for i in range(n):
        rows[0].append(i)
        rows[1].append(i * 2)
        if i > 1:
            rows[1].pop()
    return len(rows[0]), sum(rows[1])


def a_list_deep_within(n: Any) -> Any:
    table: Any = {"a": {"b": []}, "count": 0}
    for i in range(n):
        if i % 2 == 0:
            table["a"]["b"].append(i)
        table["count"] += 1
    return len(table["a"]["b"]), table["count"]


def in_a_branch_alone(n: Any) -> Any:
    table = {"a": [1]}
    if n > 2:
        table["a"].append(n)
    return sum(table["a"]), len(table["a"])


@pytest.mark.parametrize("body", [lists_in_a_dict, lists_in_a_list, a_list_deep_within, in_a_branch_alone])
def test_lists_that_grow_may_be_in_containers(body: Any) -> None:
    traced = tf.function(body)
    for n in (0, 1, 4):
        assert tf.nest.map_structure(int, traced(tf.constant(n))) == body(n)
