"""Random Python functions with control flow, and how to make one that fails smaller."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import random
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

__all__ = ["ARGUMENTS", "Number", "StateWriter", "Writer", "compiled", "named", "numbers", "shrunk"]

NAMES = ["p", "q", "r", "s"]


class Writer:
    """Writes a random function of two small integers and a float that ends after some steps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counter = 0
        # What the function returns everywhere: one number or a pair.
        self.pair = self.random.random() < 0.3
        self.functions: list[str] = []
        # Which kinds of variables it has beside numbers.
        self.has_list, self.has_dict = self.random.random() < 0.3, self.random.random() < 0.3

    def write(self) -> str:
        self.emit(0, "def program(a, b, f):")
        self.emit(1, f"p, q, r, s = a, b, {self.constant()}, {self.constant()}")
        self.emit(1, f"u, v, t = f, {self.fraction()}, (a, {self.constant()})")
        if self.has_list:
            self.emit(1, "items = [a * 0]")
        if self.has_dict:
            self.emit(1, 'table = {"x": b, "y": (a, 7)}')
        if self.random.random() < 0.5:
            self.function(1)
        self.block(1, depth=3, loops=0, length=self.random.randint(2, 5), loop=False)
        if self.has_list:
            self.emit(1, "for item in items:")
            self.emit(2, "p = (p * 3 + item) % 43")
            self.emit(1, "q = (q + len(items)) % 31")
        self.emit(1, f"return {self.result()}")
        return "\n".join(self.lines) + "\n"

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def pick(self, *items: Any) -> Any:
        return self.random.choice(items)

    def constant(self) -> int:
        return self.random.randint(-3, 9)

    def fraction(self) -> float:
        """A multiple of a quarter, with which dtypes of any width compute exactly."""
        return self.random.randint(-12, 12) / 4

    def name(self) -> str:
        more = ['table["x"]', 'table["y"][1]'] if self.has_dict else []
        return self.pick(*NAMES, *NAMES, "a", "b", "t[0]", "t[1]", *more)

    def number(self, depth: int = 1) -> str:
        """An expression of floats: multiples of a quarter, not far from zero."""
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            return self.pick("u", "v", "u", "v", "f", str(self.fraction()))
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.6:
            return f"wrap({left} {self.pick('+', '-')} {right})"
        if kind < 0.75:
            return f"({left} * 0.5 // 0.25 * 0.25)"
        if kind < 0.85:
            return f"{self.pick('max', 'min')}({left}, {right})"
        return f"({left} if {self.test(1)} else {right})"

    def result(self) -> str:
        # A sum with an argument: a tensor wherever an argument is one.
        if self.pair:
            return f"(a * 0 + b * 0 + {self.name()}, f * 0.0 + {self.number(1)})"
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
        if kind < 0.1:
            return f"{self.number(1)} {self.pick('<', '<=', '>', '!=')} {self.number(0)}"
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
        if self.random.random() < 0.12:
            self.idiom(indent, target)
        elif kind < 0.1 and self.has_list:
            self.emit(indent, f"items.append({self.expression(1)})")
        elif kind < 0.2 and self.has_dict:
            place = self.pick('table["x"] =', 'table["x"] +=')
            self.emit(indent, f"{place} {self.expression(1)}")
            self.emit(indent, 'table["x"] %= 29')
        elif kind < 0.3:
            self.emit(indent, f"{self.pick('u', 'v')} = {self.number(2)}")
        elif kind < 0.38:
            self.emit(indent, f"t = (t[1], {self.expression(1)})")
        elif kind < 0.44:
            self.emit(indent, f"{target} = sum([{self.name()} % 7 + k for k in range(3) if k != 1])")
        elif kind < 0.6:
            self.emit(indent, f"{target} = {self.expression()}")
        elif kind < 0.8:
            self.emit(indent, f"{target} {self.pick('+=', '-=')} {self.expression(1)}")
            self.emit(indent, f"{target} %= 41")
        else:
            first, second = self.random.sample(NAMES, 2)
            self.emit(indent, f"{first}, {second} = {self.expression(1)}, {first}")

    def idiom(self, indent: int, target: str) -> None:
        """A statement, or a few, of a kind that random ones would hardly come to."""
        vector = f"vector(a, b, {self.constant()}, {self.name()})"
        kind = self.random.randrange(12)
        self.counter += 1
        k = f"k{self.counter}"
        if kind == 0:
            self.emit(indent, f"{k} = None")
            self.emit(indent, f"for {k}x in {vector}:")
            self.emit(indent + 1, f"if {k} is None or {k}x {self.pick('<', '>')} {k}:")
            self.emit(indent + 2, f"{k} = {k}x")
            self.emit(indent, f"{target} = ({target} + {k}) % 23")
        elif kind == 1:
            self.emit(indent, f"{k} = [x * 2 + {self.name()} for x in {vector} if x != {self.constant()}]")
            self.emit(indent, f"for {k}x in {k}:")
            self.emit(indent + 1, f"{target} = ({target} * 2 + {k}x) % 47")
        elif kind == 2:
            part = f"x * {self.constant()} % 5 for x in {vector} if {self.name()} > {self.constant()}"
            self.emit(indent, f"{target} = sum({part}) % 51")
        elif kind == 3:
            self.emit(indent, f"{target} = {self.pick('max', 'min')}(x % 9 for x in {vector})")
        elif kind == 4:
            self.emit(indent, f"match ({self.expression(1)}) % 3, {self.name()}:")
            self.emit(indent + 1, f"case (0, {k}) if {k} > {self.constant()}:")
            self.emit(indent + 2, f"{target} = {k} % 13")
            self.emit(indent + 1, f"case (1 | 2, {self.constant() % 5}):")
            self.emit(indent + 2, f"{target} = 12")
            self.emit(indent + 1, f"case ({k}, _):")
            self.emit(indent + 2, f"{target} = {k} + 1")
        elif kind == 5:
            first = f"({k} := {self.expression(1)}) > {self.constant()}"
            self.emit(indent, f"if {first} and ({k}x := {k} % 7) < {self.constant()}:")
            self.emit(indent + 1, f"{target} = {k}x")
            self.emit(indent, "else:")
            self.emit(indent + 1, f"{target} = {k} % 11")
        elif kind == 6:
            self.emit(indent, f"{k}, (p, *{k}x) = {self.name()}, [{self.name()}, q, r]")
            self.emit(indent, f"{k}x[{self.pick('0', '-1')}] += {k}")
            self.emit(indent, f"{target} = sum({k}x) % 39")
        elif kind == 7:
            self.emit(indent, f"{target} = [{self.name()}, {self.constant()}, q][({self.expression(1)}) % 3]")
        elif kind == 8:
            test = f"{self.name()} {self.pick('in', 'not in')} [{self.constant()}, {self.name()}, 4]"
            self.emit(indent, f"if {test} or {self.name()} in {vector}:")
            self.emit(indent + 1, f"{target} = 17")
        elif kind == 9:
            self.emit(indent, f"{k} = [{self.name()}, {self.name()}, 1]")
            self.emit(indent, f"{k}[({self.expression(1)}) % 3] {self.pick('=', '+=')} {self.constant()}")
            self.emit(indent, f"{k}[1], {k}[({self.name()}) % 3] = {k}[0], {k}[2]")
            self.emit(indent, f"{target} = ({k}[0] - {k}[1] * 2 + {k}[2]) % 33")
        elif kind == 10:
            operands = f"({self.name()} and {self.expression(1)}) + ({self.name()} or {self.constant()})"
            self.emit(indent, f"{target} = {operands}")
            self.emit(indent, f"{target} %= 45")
        else:
            self.emit(indent, f"{k} = [[{self.name()}, 1], {{'z': {self.name()}}}]")
            self.emit(indent, f"if {self.test(1)}:")
            self.emit(indent + 1, f"{k}[0][1] = {self.name()}")
            self.emit(indent, "else:")
            self.emit(indent + 1, f"{k}[1]['z'] -= 3")
            self.emit(indent, f"{target} = ({k}[0][0] * {k}[0][1] + {k}[1]['z']) % 37")

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
        kind = self.random.randrange(7)
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
        elif kind == 6:
            self.emit(indent, f"{i} = ({self.name()}) % 8 + a * 0")
            self.emit(indent, f"while ({i} := {i} // 2) > 0:")
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


# What programs with state call. `variable` makes a variable of the engine, or of Python.
STATE = """
class Sum:
    limit = 3

    def __init__(self, start):
        self.total, self.parts, self.pair, self.last = start, {"x": start, "y": 1}, (start, 2), None
        self.seen = [start * 0]
        if start > 2:
            self.total = start - 1

    @property
    def double(self):
        return self.total * 2 % 31

    @double.setter
    def double(self, x):
        self.total = x // 2

    def note(self, x):
        if x > self.limit:
            self.seen.append(x % 17)
        return len(self.seen)

    def add(self, x):
        self.total = (self.total + x) % 47

    def choose(self, x):
        if x > self.limit:
            self.total = (self.total * 2 + x) % 41
            return x - self.total
        return self.total

    def store(self, key, x):
        self.parts[key] = (self.parts[key] + x) % 31
        self.pair = (self.pair[1], self.parts[key])

    def lazily(self, x):
        if self.last is None:
            self.last = x * 0 + 1
        self.last = (self.last + x) % 29
        return self.last

    def repeat(self, x, times):
        for _ in range(times):
            self.add(x)
        return self


class Held:
    def __init__(self):
        self.built, self.calls = False, 0

    def begin(self):
        if self.built:
            self.v.assign(0)

    def bump(self, x):
        self.calls += 1
        if not self.built:
            self.v, self.built = variable(0), True
        self.v.assign((self.v + x) % 13)
        return x + 1

    def read(self):
        return self.v + 0 if self.built else 0


def push(items, x):
    items.append(x)


def bump(table, key, x):
    table[key] = (table[key] + x) % 37


def swap(items, i):
    items[0], items[i] = items[i], items[0] + 1
    return items


def fill(items, x, times=1):
    for k in range(times):
        items[k] = (items[k] * 2 + x) % 31
        if items[k] > 9:
            items[-1] = k
    return items


def most(objects, x):
    found = x * 0
    for key in objects:
        if objects[key].total > found:
            found = objects[key].total
    return found


class Tree:
    def __init__(self, left, right):
        self.left, self.right, self.by_name = left, right, {"l": left, "r": right}

    def add(self, x):
        if x > self.left.total:
            self.right.add(x)
        else:
            self.left.add(x + 1)
        return self.by_name["r"]

    def turn(self):
        self.left.total, self.right.total = self.right.total, self.left.total


def apply(function, x, times=2):
    for _ in range(times):
        x = function(x) % 17
    return x


held = Held()


"""


class StateWriter(Writer):
    """Writes programs whose objects, containers and functions have a state that what they call changes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.has_held = self.random.random() < 0.4
        self.has_list = self.has_list or self.random.random() < 0.3
        self.lazy = self.random.random() < 0.1

    def emit(self, indent: int, line: str) -> None:
        super().emit(indent, line)
        if line == "def program(a, b, f):":
            self.begin()

    def begin(self) -> None:
        super().emit(1, f"acc, other = Sum(a * 0 + {self.constant()}), Sum(b)")
        super().emit(1, f"table_of = {{'m': Sum(a), 'n': Sum({self.constant()})}}")
        super().emit(1, "box, pairs = [Sum(b), Sum(a + b)], [a, b, 3]")
        super().emit(1, f"here, deep = [a, {self.constant()}], {{'l': [a], 'r': [b, {self.constant()}]}}")
        super().emit(1, "there, side, sums = here, deep['l'], [a, b]")
        super().emit(1, "same, all_of = sums, {'s': sums}")
        super().emit(1, f"shift = lambda x: x * 2 + {self.constant()}")
        super().emit(1, f"tree = Tree(Sum(a - b), {self.pick('other', f'Sum({self.constant()})')})")
        super().emit(1, "of = lambda o, x: (o.total + o.parts['x'] * x) % 43")
        if self.has_held:
            super().emit(1, "held.begin()")

    def name(self) -> str:
        more = ["acc.total", "other.total", "table_of['m'].total", "box[1].total", "pairs[0]", "acc.pair[1]"]
        more += ["here[0]", "there[1]", "deep['l'][0]", "side[0]", "sums[0]", "same[1]", "all_of['s'][0]"]
        more += ["tree.left.total", "tree.by_name['r'].double", "of(box[0], a)", "len(acc.seen)"]
        return self.pick(*more) if self.random.random() < 0.3 else super().name()

    def result(self) -> str:
        every = "acc.total * 3 + table_of['n'].total + box[0].total + other.parts['y'] + pairs[2]"
        every += " + here[1] * 2 + there[0] * 3 + deep['l'][0] * 5 + side[0] + same[0] + all_of['s'][1] * 2"
        every = f"({every} + tree.left.total * 5 + tree.right.total + sum(acc.seen) + len(acc.seen)) % 61"
        if self.pair:
            return f"(a * 0 + b * 0 + {self.name()} + {every}, f * 0.0 + {self.number(1)})"
        state = f"{every} + held.read()" if self.has_held else every
        return f"a * 0 + b * 0 + {self.expression(1)} + {state}"

    def simple(self, indent: int) -> None:
        if self.random.random() < 0.45:
            self.effect(indent, self.pick(*NAMES))
        else:
            super().simple(indent)

    def effect(self, indent: int, target: str) -> None:
        """A statement that calls what changes something."""
        whose = self.pick("acc", "other", "table_of['m']", "table_of['n']", "box[0]", "box[(1 + 1) // 2]")
        if self.random.random() < 0.2:
            self.alias(indent)
            return
        if self.random.random() < 0.35:
            self.object(indent, target, whose)
            return
        kind = self.random.randrange(16)
        self.counter += 1
        k = f"o{self.counter}"
        if kind < 3:
            self.emit(indent, f"{whose}.add({self.expression(1)})")
        elif kind == 3:
            self.emit(indent, f"{target} = {whose}.choose({self.expression(1)}) % 43")
        elif kind == 4:
            self.emit(
                indent,
                f"{whose}.store({self.pick(repr('x'), repr('y'))}, {self.expression(1)})",
            )
        elif kind == 5:
            self.emit(indent, f"{whose}.total = {self.expression(1)}")
        elif kind == 6:
            self.emit(indent, f"{whose}.total += {self.expression(1)}")
            self.emit(indent, f"{whose}.total %= 39")
        elif kind == 7:
            self.emit(
                indent, f"{k} = Sum({self.expression(1)}).repeat({self.name()}, {self.random.randint(1, 2)})"
            )
            self.emit(indent, f"{k}.store('x', {self.expression(0)})")
            self.emit(indent, f"{target} = ({k}.total + {k}.parts['x']) % 23")
        elif kind == 8 and self.has_list:
            self.emit(indent, f"push(items, {self.expression(1)})")
        elif kind == 9 and self.has_dict:
            self.emit(indent, f"bump(table, 'x', {self.expression(1)})")
        elif kind == 10:
            self.emit(indent, f"bump({whose}.parts, 'y', {self.expression(1)})")
        elif kind == 11:
            self.emit(indent, f"{target} = swap(pairs, {self.random.randint(1, 2)})[1] % 33")
        elif kind == 12:
            extra = f"lambda x, y={self.name()}: x + y * {self.pick(*NAMES)}"
            function = self.pick("shift", extra, f"({extra})", "lambda x: x if x > 3 else x + acc.total")
            self.emit(indent, f"{target} = apply({function}, {self.expression(1)})")
        elif kind == 13 and self.has_held:
            self.emit(indent, f"{target} = held.bump({self.expression(1)}) % 19")
        elif kind == 14 and self.lazy:
            self.emit(indent, f"{target} = {whose}.lazily({self.expression(1)})")
        else:
            self.emit(indent, f"{k} = [Sum({self.name()}), Sum({self.constant()})]")
            self.emit(indent, f"for {k}x in {k}:")
            self.emit(indent + 1, f"{k}x.add({self.expression(1)})")
            self.emit(indent, f"{target} = ({k}[0].total * 2 + {k}[1].total) % 27")

    def alias(self, indent: int) -> None:
        """A statement about containers with several names: some are replaced by others, some are changed."""
        value = f"{self.expression(1)} % 31"
        place = self.pick("sums", "same", "all_of['s']")
        self.emit(
            indent,
            self.pick(
                f"here = [here[1] % 29, {value}]",
                f"there = [{value}, here[0]]",
                "here = there",
                "there = here",
                "here, there = there, here",
                f"deep['l'] = [{value}]",
                "side = deep['l']",
                "deep['l'] = side",
                f"deep = {{'l': [{value}], 'r': deep['r']}}",
                f"{place}[{self.random.randint(0, 1)}] = {value}",
                f"{place}[{self.random.randint(0, 1)}] += {self.name()} % 7",
            ),
        )

    def object(self, indent: int, target: str, whose: str) -> None:
        """A statement about objects in containers, in each other, in loops and in lambdas."""
        kind = self.random.randrange(13)
        self.counter += 1
        k = f"j{self.counter}"
        if kind == 0:
            self.emit(indent, f"for {k}, {k}o in table_of.items():")
            self.emit(indent + 1, f"{k}o.store({self.pick(repr('x'), repr('y'))}, {self.expression(1)})")
        elif kind == 1:
            self.emit(indent, f"for {k} in {self.pick('box', 'table_of.values()', '(acc, other, acc)')}:")
            self.emit(indent + 1, f"if {k}.total {self.pick('>', '<')} {self.expression(1)}:")
            self.emit(indent + 2, f"{k}.{self.pick('add', 'choose')}({self.expression(1)})")
        elif kind == 2:
            every = self.pick(f"range({self.random.randint(1, 3)})", f"tensor_range(({self.name()}) % 3)")
            self.emit(indent, f"for {k} in {every}:")
            self.emit(indent + 1, f"fill(pairs, {k} + {self.expression(1)}, {self.random.randint(1, 3)})")
        elif kind == 3:
            self.emit(indent, f"{k} = fill([{self.name()}, {self.name()}, 1], {self.expression(1)}, 2)")
            self.emit(indent, f"{target} = ({k}[0] + fill({k}, {self.name()})[2]) % 37")
        elif kind == 4:
            self.emit(indent, f"{target} = of({whose}, {self.expression(1)})")
        elif kind == 5:
            self.emit(indent, f"{target} = (lambda o, x: o.choose(x) % 41)({whose}, {self.expression(1)})")
        elif kind == 6:
            self.emit(indent, f"tree.{self.pick('turn()', f'add({self.expression(1)})')}")
        elif kind == 7:
            self.emit(indent, f"{target} = tree.add({self.expression(1)}).total % 23")
        elif kind == 8:
            self.emit(indent, f"{whose}.double {self.pick('=', '+=')} {self.expression(1)}")
        elif kind == 9:
            self.emit(indent, f"{target} = {whose}.note({self.expression(1)})")
        elif kind == 10:
            self.emit(indent, f"{target} = most(table_of, {self.expression(1)})")
        elif kind == 11:
            self.emit(indent, f"setattr({whose}, 'total', getattr({whose}, 'double') + {self.expression(1)})")
        else:
            self.emit(indent, f"{k} = {{0: [Sum({self.name()})], 1: [acc, other]}}")
            self.emit(indent, f"for {k}o in {k}[{self.pick('0', '1')}]:")
            self.emit(indent + 1, f"{k}o.total = ({k}o.total + {self.expression(1)}) % 43")
            self.emit(indent, f"{target} = {k}[0][0].total % 19")


def _smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """Each tree with one statement less: dropped, or replaced by what is in it."""
    count = sum(len(block) for block in _blocks(tree))
    for at in range(count):
        for replaced in (False, True):
            new = copy.deepcopy(tree)
            seen = 0
            for block in _blocks(new):
                if at < seen + len(block):
                    k = at - seen
                    inner = [s for b in _inner(block[k]) for s in b] if replaced else []
                    if replaced and not inner:
                        break
                    block[k : k + 1] = inner
                    if not block:
                        block.append(ast.Pass())
                    yield ast.fix_missing_locations(new)
                    break
                seen += len(block)


def _inner(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef):
        return []
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    return [b for b in (*found, *(c.body for c in getattr(statement, "cases", []))) if b]


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements in a tree, that of the function itself among them."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                found.append(block)
    return found


def shrunk(source: str, fails: Callable[[str], bool], tries: int) -> str:
    """A source with fewer statements for which `fails` is still true: what so many tries find."""
    tree = ast.parse(source)
    while True:
        for new in _smaller(tree):
            tries -= 1
            if tries < 0:
                return ast.unparse(tree)
            if fails(ast.unparse(new)):
                tree = new
                break
        else:
            return ast.unparse(tree)


class Context:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def wrap(x: Any) -> Any:
    """A float brought near to zero, in steps of a whole number."""
    if x > 40:
        return x - 60
    return x + 60 if x < -40 else x


class Number:
    """What stands for a variable where all is Python's."""

    def __init__(self, value: int) -> None:
        self.value = value

    def assign(self, value: int) -> None:
        self.value = value

    def __add__(self, other: int) -> int:
        return self.value + other


def compiled(source: str, name: str, **names: Any) -> Callable[..., Any]:
    """The function `program` of a source, which `linecache` knows."""
    namespace: dict[str, Any] = {"context": Context, "wrap": wrap, **names}
    if "acc" in source:
        exec(_code(STATE, "<state of programs>"), namespace)
    exec(_code(source, f"<program {name}>"), namespace)
    return namespace["program"]  # type: ignore[no-any-return]


def named(source: str) -> str:
    """A source with the classes and functions that it uses."""
    return STATE + source if "acc" in source else source


@functools.lru_cache(16)
def _code(source: str, file: str) -> CodeType:
    """A source as code. That of one source is converted once, whatever the names in it stand for."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return compile(source, file, "exec")


def numbers(result: Any) -> Any:
    """A result as Python numbers."""
    if isinstance(result, tuple | list):
        return tuple(map(numbers, result))
    return float(result.numpy()) if hasattr(result, "numpy") else float(result)


ARGUMENTS = [(0, 0, 0.5), (1, 2, -1.25), (5, -3, 3.0), (-2, 7, 0.0), (9, 4, -8.75)]
