"""Ways of writing Python that meet control flow of the graph: patterns, walrus, containers, annotations."""

# The traced functions are written as users write them.

from __future__ import annotations

import linecache
import sys
import warnings
from typing import Any

import pytest

import penstock as tf


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.numpy().tolist() if hasattr(value, "numpy") else value


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
