"""Random programs give the same results as plain Python, eagerly, and traced."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf

NAMES = ["p", "q", "r", "s"]
SEEDS = range(300)


class Writer:
    """Writes a random function of two small integers that ends after a bounded number of steps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counter = 0
        # What the function returns everywhere: one number or a pair.
        self.pair = self.random.random() < 0.3
        self.functions: list[str] = []

    def write(self) -> str:
        self.emit(0, "def program(a, b):")
        self.emit(1, f"p, q, r, s = a, b, {self.constant()}, {self.constant()}")
        if self.random.random() < 0.5:
            self.function(1)
        self.block(1, depth=3, loops=0, length=self.random.randint(2, 5), loop=False)
        self.emit(1, f"return {self.result()}")
        return "\n".join(self.lines) + "\n"

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def pick(self, *items: Any) -> Any:
        return self.random.choice(items)

    def constant(self) -> int:
        return self.random.randint(-3, 9)

    def name(self) -> str:
        return self.pick(*NAMES, "a", "b")

    def result(self) -> str:
        # A sum with an argument: a tensor wherever an argument is one.
        if self.pair:
            return f"(a * 0 + b * 0 + {self.name()}, a * 0 + b * 0 + {self.name()})"
        return f"a * 0 + b * 0 + {self.expression(1)}"

    def expression(self, depth: int = 2) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.35:
            return self.pick(self.name(), self.name(), str(self.constant()))
        if kind < 0.75:
            left, right = self.expression(depth - 1), self.expression(depth - 1)
            return f"(({left} {self.pick('+', '-', '*')} {right}) % 53)"
        if kind < 0.82:
            return f"({self.expression(depth - 1)} // {self.random.randint(2, 5)})"
        if kind < 0.94 or not self.functions:
            return f"({self.expression(depth - 1)} if {self.test(1)} else {self.expression(depth - 1)})"
        return f"{self.pick(*self.functions)}({self.expression(depth - 1)})"

    def test(self, depth: int = 2) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.6:
            return f"{self.expression(1)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.expression(1)}"
        if kind < 0.7:
            return f"not ({self.test(depth - 1)})"
        if kind < 0.8:
            return f"{self.expression(0)} < {self.expression(1)} <= {self.expression(0)}"
        return f"({self.test(depth - 1)}) {self.pick('and', 'or')} ({self.test(depth - 1)})"

    def function(self, indent: int) -> None:
        name = f"inner{len(self.functions)}"
        self.emit(indent, f"def {name}(x):")
        outside = self.pick(*NAMES)
        if self.random.random() < 0.5:
            self.emit(indent + 1, f"nonlocal {outside}")
            self.emit(indent + 1, f"{outside} = ({outside} + x) % 19")
        self.emit(indent + 1, f"if x > {self.constant()}:")
        self.emit(indent + 2, f"return x + {self.pick(*NAMES)}")
        self.emit(indent + 1, f"for k in range({self.random.randint(1, 3)}):")
        self.emit(indent + 2, f"if k * x > {self.constant()}:")
        self.emit(indent + 3, f"return {self.pick('x', 'k')} - a")
        self.emit(indent + 1, "return x - b")
        self.functions.append(name)

    def block(self, indent: int, depth: int, loops: int, length: int, loop: bool) -> None:
        for _ in range(length):
            self.statement(indent, depth, loops, loop)

    def statement(self, indent: int, depth: int, loops: int, loop: bool) -> None:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            self.simple(indent)
        elif kind < 0.55:
            self.branch(indent, depth, loops, loop)
        elif kind < 0.8 and loops < 2:
            self.loop(indent, depth, loops)
        elif kind < 0.9:
            self.jump(indent, loop)
        elif kind < 0.94:
            self.emit(indent, f"match {self.name()}:")
            self.emit(indent + 1, f"case {abs(self.constant())}:")
            self.block(indent + 2, depth - 1, loops, 1, loop)
            self.emit(indent + 1, f"case {abs(self.constant())} | 11 if {self.test(1)}:")
            self.block(indent + 2, depth - 1, loops, 1, loop)
            self.emit(indent + 1, "case _:")
            self.block(indent + 2, depth - 1, loops, 1, loop)
        elif kind < 0.97:
            self.emit(indent, "try:")
            self.block(indent + 1, depth - 1, loops, 2, loop)
            self.emit(indent, "finally:")
            self.simple(indent + 1)
        else:
            self.emit(indent, "with context():")
            self.block(indent + 1, depth - 1, loops, 2, loop)

    def simple(self, indent: int) -> None:
        kind = self.random.random()
        target = self.pick(*NAMES)
        if kind < 0.5:
            self.emit(indent, f"{target} = {self.expression()}")
        elif kind < 0.8:
            self.emit(indent, f"{target} {self.pick('+=', '-=')} {self.expression(1)}")
            self.emit(indent, f"{target} %= 41")
        else:
            first, second = self.random.sample(NAMES, 2)
            self.emit(indent, f"{first}, {second} = {self.expression(1)}, {first}")

    def branch(self, indent: int, depth: int, loops: int, loop: bool) -> None:
        self.emit(indent, f"if {self.test()}:")
        self.block(indent + 1, depth - 1, loops, self.random.randint(1, 3), loop)
        if self.random.random() < 0.4:
            self.emit(indent, f"elif {self.test()}:")
            self.block(indent + 1, depth - 1, loops, self.random.randint(1, 2), loop)
        if self.random.random() < 0.6:
            self.emit(indent, "else:")
            self.block(indent + 1, depth - 1, loops, self.random.randint(1, 2), loop)

    def loop(self, indent: int, depth: int, loops: int) -> None:
        self.counter += 1
        i = f"i{self.counter}"
        kind = self.random.randrange(6)
        limit = self.random.randint(1, 4)
        if kind == 0:
            self.emit(indent, f"{i} = 0")
            self.emit(indent, f"while {i} < {limit} and ({self.test(1)}):")
            self.emit(indent + 1, f"{i} += 1")
        elif kind == 1:
            self.emit(indent, f"{i} = a * 0")
            self.emit(indent, "while True:")
            self.emit(indent + 1, f"{i} += 1")
            self.emit(indent + 1, f"if {i} > {limit}: break")
        elif kind == 2:
            self.emit(indent, f"for {i} in range({limit}):")
        elif kind == 3:
            self.emit(indent, f"for {i} in tensor_range(({self.expression(1)}) % {limit + 1}):")
        elif kind == 4:
            self.emit(indent, f"for {i} in [{self.expression(1)}, {self.expression(1)}, {self.constant()}]:")
        else:
            self.emit(indent, f"for {i}, {i}j in enumerate(vector(a, b, {self.constant()})):")
            self.emit(indent + 1, f"{self.pick(*NAMES)} = ({i}j + {i}) % 31")
        self.block(indent + 1, depth - 1, loops + 1, self.random.randint(1, 3), True)
        if self.random.random() < 0.6:
            self.emit(indent + 1, f"{self.pick(*NAMES)} = ({i} + {self.name()}) % 37")
        if self.random.random() < 0.25 and kind != 1:
            self.emit(indent, "else:")
            self.simple(indent + 1)

    def jump(self, indent: int, loop: bool) -> None:
        self.emit(indent, f"if {self.test()}:")
        kinds = ["return", "break", "continue"] if loop else ["return"]
        kind = self.pick(*kinds)
        if self.random.random() < 0.4:
            self.simple(indent + 1)
        self.emit(indent + 1, f"return {self.result()}" if kind == "return" else kind)


class Context:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def compiled(source: str, name: str, **names: Any) -> Callable[..., Any]:
    """The function `program` of a source, which `linecache` knows."""
    file = f"<program {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"context": Context, **names}
    exec(compile(source, file, "exec"), namespace)
    return namespace["program"]  # type: ignore[no-any-return]


def numbers(result: Any) -> Any:
    """A result as Python numbers."""
    if isinstance(result, tuple):
        return tuple(map(numbers, result))
    return int(result.numpy()) if hasattr(result, "numpy") else int(result)


ARGUMENTS = [(0, 0), (1, 2), (5, -3), (-2, 7), (9, 4)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_agree(seed: int) -> None:
    source = Writer(seed).write()
    plain = compiled(source, f"{seed}", tensor_range=range, vector=lambda *v: list(v))
    tensors = compiled(source, f"{seed}", tensor_range=tf.range, vector=lambda *v: tf.stack(list(v)))
    both, first = tf.function(tensors), tf.function(tensors)
    for a, b in ARGUMENTS:
        expected = numbers(plain(a, b))
        assert numbers(tensors(tf.constant(a), tf.constant(b))) == expected, f"eager({a}, {b})\n{source}"
        assert numbers(both(tf.constant(a), tf.constant(b))) == expected, f"traced({a}, {b})\n{source}"
        assert numbers(first(tf.constant(a), b)) == expected, f"traced with a number({a}, {b})\n{source}"
        assert numbers(tf.autograph.to_graph(plain)(a, b)) == expected, f"converted({a}, {b})\n{source}"
    assert both.experimental_get_tracing_count() == 1
