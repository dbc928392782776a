"""Whose an object is that a called function changes: the program's, or the loop's or branch's that made it.

An object is the program's where something that the traced function names leads to it once the body is undone.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import dataclasses
import functools
import gc
import importlib
import itertools
import json
import operator
import queue
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

plain = tf.autograph.experimental.do_not_convert


class Box:
    """An object whose class has no `__init__` that could be converted."""

    total: Any


def boxed(value: Any) -> Any:
    box = Box()
    box.total = value
    return box


def add(items: Any, x: Any) -> None:
    items[0] = items[0] + x


def add_to_box(box: Any, x: Any) -> None:
    box.total = box.total + x


def append(items: Any, x: Any) -> None:
    items.append(x)


# --- objects that a body makes and drops ---

LISTS: dict[str, Callable[[], list[Any]]] = {
    "display": lambda: [0],
    "split": lambda: list(map(int, ["0", "1"]))[:1],
    "loads": lambda: json.loads("[0]"),
    "deepcopy": lambda: copy.deepcopy([0]),
    "itemgetter": lambda: operator.itemgetter(0)([[0]]),
    "method": lambda: np.zeros([1], np.int32).tolist(),
    "unconverted": plain(lambda: [0]),
    "of a dict": lambda: json.loads('{"a": [0]}')["a"],
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_a_list_that_a_body_makes_and_drops_is_no_variable(make: Callable[[], list[Any]]) -> None:
    def changed(n: Any) -> Any:
        total = n * 0
        for i in tf.range(n):
            items = make()
            add(items, i)
            total += items[0]
            if i > 1:
                others = make()
                add(others, i * 10)
                append(others, i)
                total += others[0] + others[1]
        return total

    traced = tf.function(changed)
    assert [int(traced(tf.constant(n))) for n in (0, 1, 4)] == [0, 0, 6 + 50 + 5]


BOXES: dict[str, Callable[[], Any]] = {
    "without __init__": lambda: boxed(0),
    "namespace": lambda: types.SimpleNamespace(total=0),
    "unconverted": plain(lambda: boxed(0)),
    "copied": lambda: copy.copy(boxed(0)),
    "in a list": lambda: [boxed(0)][0],
}


@pytest.mark.parametrize("make", BOXES.values(), ids=BOXES)
def test_an_object_that_a_body_makes_and_drops_is_no_variable(make: Callable[[], Any]) -> None:
    def changed(n: Any) -> Any:
        total = n * 0
        for i in tf.range(n):
            box = make()
            add_to_box(box, i)
            add_to_box(box, 1)
            total += box.total
        if n > 2:
            box = make()
            add_to_box(box, n)
            total += box.total
        return total

    traced = tf.function(changed)
    assert [int(traced(tf.constant(n))) for n in (0, 1, 4)] == [0, 1, 6 + 4 + 4]


def test_objects_that_refer_to_each_other_are_dropped_without_the_collector() -> None:
    def ring(x: Any) -> Any:
        first, second = types.SimpleNamespace(total=x), types.SimpleNamespace(total=x)
        first.other, second.other = second, first
        return first

    @tf.function
    def f(n: Any) -> Any:
        total = n * 0
        for i in tf.range(n):
            one = ring(0)
            add_to_box(one.other, i)
            add_to_box(one.other.other, 1)
            total += one.other.total * 10 + one.total
        return total

    gc.disable()
    try:
        assert int(f(tf.constant(4))) == 60 + 4
    finally:
        gc.enable()


def test_an_object_that_the_next_iteration_does_not_see_stays_in_its_iteration() -> None:
    @tf.function
    def f(n: Any) -> Any:
        total, last = n * 0, n * 0
        for i in tf.range(n):
            queue = collections.deque([[i]])
            while len(queue) > 0:
                items = queue.popleft()
                add(items, 5)
                last = items[0]
            total += last
        return total, last

    assert [int(v) for v in f(tf.constant(3))] == [3 + 15, 7]


def test_an_object_that_an_iteration_leaves_in_a_variable_of_the_loop_is_that_variable() -> None:
    @tf.function
    def f(n: Any) -> Any:
        items = [n * 0]
        for i in tf.range(n):
            add(items, i)
            items = json.loads("[0]")
            add(items, i * 10)
        return items[0]

    assert [int(f(tf.constant(n))) for n in (0, 1, 4)] == [0, 0, 30]


def test_who_watches_a_call_decides_nothing() -> None:
    watched: list[Any] = []

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "append":
            watched.append(dict(frame.f_locals))

    @tf.function
    def f(n: Any) -> Any:
        total = n * 0
        for i in tf.range(n):
            items = json.loads("[0]")
            append(items, i)
            total += items[1]
        return total

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        concrete = f.get_concrete_function(tf.TensorSpec([], tf.int32))
    finally:
        sys.setprofile(before)
    assert watched
    assert int(concrete(tf.constant(4))) == 6


# --- objects that were there before ---

local, variable = threading.local(), contextvars.ContextVar[Any]("variable")
in_a_module: Any = None


class Registry:
    items: Any = None

    @classmethod
    def of_class(cls) -> Any:
        return cls.items

    def __getitem__(self, key: Any) -> Any:
        return Registry.items


@plain
def by_unconverted_global() -> Any:
    return in_a_module


@plain
def by_import() -> Any:
    import _penstock_test_module

    return _penstock_test_module.items


@plain
def by_computed_name(name: str) -> Any:
    return globals()["in_" + name]


def of_generator(items: Any) -> Iterator[Any]:
    while True:
        yield items


class WithProperty:
    @property
    def items(self) -> Any:
        return in_a_module

    def __getattr__(self, name: str) -> Any:
        return vars(sys.modules[__name__])["in_a_module"]


class Meta(type):
    @property
    def found(cls) -> Any:
        return Registry.items


class WithMetaclass(metaclass=Meta):
    pass


class WithSlots:
    __slots__ = ("items",)

    def __init__(self, items: Any) -> None:
        self.items = items


@dataclasses.dataclass(frozen=True)
class Frozen:
    items: Any


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return plain(call)


def queued(items: Any) -> Any:
    made = queue.Queue[Any]()
    made.put(items)
    return made


@plain
def peeked(made: Any) -> Any:
    return made.queue[0]


@contextlib.contextmanager
def held(items: Any) -> Iterator[Any]:
    yield lambda: items


def suspended(items: Any) -> Any:
    manager = held(items)
    manager.__enter__()
    return plain(lambda: manager.gen.gi_frame.f_locals["items"])


def holders(items: list[Any]) -> dict[str, Callable[[], Any]]:
    """Functions that give this list or another one, to which nothing else leads."""
    local.items, Registry.items = [0], [0]
    variable.set([0])
    sys.modules["_penstock_test_module"] = types.ModuleType("_penstock_test_module")
    sys.modules["_penstock_test_module"].items = [0]  # type: ignore[attr-defined]
    globals()["in_a_module"] = [0]
    box, array, generator, error = boxed(items), np.empty([1], object), of_generator(items), ValueError(items)
    array[0] = items
    return {
        "closure": lambda: items,
        "default": lambda found=items: found,
        "keyword default": lambda *, found=items: found,
        "attribute": lambda: box.total,
        "unconverted closure": plain(lambda: items),
        "unconverted default": plain(lambda found=items: found),
        "partial": functools.partial(lambda found: found, items),
        "cached": functools.lru_cache(plain(lambda: items)),
        "bound method": functools.partial({"a": items}.get, "a"),
        "deque": functools.partial(collections.deque([items]).__getitem__, 0),
        "tuple in a dict": functools.partial({"a": (items,)}.__getitem__("a").__getitem__, 0),
        "class": Registry.of_class,
        "operator of a class": functools.partial(operator.getitem, Registry(), 0),
        "thread": plain(lambda: local.items),
        "context": plain(lambda: variable.get()),
        "global": lambda: in_a_module,
        "unconverted global": by_unconverted_global,
        "import": by_import,
        "computed name": functools.partial(by_computed_name, "a_module"),
        "import by name": plain(lambda: importlib.import_module("_penstock_test_module").items),
        "module by name": plain(lambda: sys.modules["_penstock_test_module"].items),
        "property": functools.partial(getattr, WithProperty(), "items"),
        "computed attribute": plain(lambda: WithProperty().anything),
        "metaclass": plain(lambda: WithMetaclass.found),
        "slots": functools.partial(operator.attrgetter("items"), WithSlots(items)),
        "decorated": decorated(lambda: items),
        "cycle": functools.partial(next, itertools.cycle([items])),
        "iterator": functools.partial(next, iter(itertools.repeat(items))),
        "mapping": functools.partial(types.MappingProxyType({"a": items}).__getitem__, "a"),
        "chain of mappings": functools.partial(collections.ChainMap({}, {"a": items}).__getitem__, "a"),
        "queue": functools.partial(peeked, queued(items)),
        "frozen dataclass": functools.partial(operator.attrgetter("items"), Frozen(items)),
        "exception": plain(lambda: error.args[0]),
        "context manager": suspended(items),
        "generator": plain(lambda: next(generator)),
        "array of objects": plain(lambda: array[0]),
        "traced function": plain(tf.function(lambda: items).python_function),
    }


KINDS = list(holders([0]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_was_there_before_is_a_variable_of_loops_and_branches(kind: str) -> None:
    get = holders([0])[kind]

    def changed(n: Any) -> Any:
        # A copy of the list is the function's own, so that the trace leaves nothing behind.
        add(get(), n * 0)
        for i in tf.range(n):
            add(get(), i)
            if i > 1:
                add(get(), 100)
        result = get()[0] * 1
        get()[0] = 0
        return result

    traced = tf.function(changed)
    assert [int(traced(tf.constant(n))) for n in (0, 1, 4)] == [0, 0, 206]


UNCONVERTED = """
import penstock as tf
import unconverted
tf.autograph.experimental.unconverted_modules("unconverted")

def add(items, x):
    items[0] = items[0] + x

@tf.function
def f(n):
    add(unconverted.get(), n * 0)
    for i in tf.range(n):
        add(unconverted.get(), i)
    return unconverted.get()[0]

print(int(f(tf.constant(4))))
"""


def test_a_list_of_a_module_that_the_user_takes_out_of_conversion_is_a_variable(tmp_path: Path) -> None:
    (tmp_path / "unconverted.py").write_text("items = [0]\ndef get():\n    return items\n")
    (tmp_path / "program.py").write_text(UNCONVERTED)
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("6\n", "")


def test_a_list_that_only_a_weak_reference_names_is_its_holders() -> None:
    def run() -> Any:
        box = boxed(0)
        reference = weakref.ref(box)

        def changed(n: Any) -> Any:
            add_to_box(reference(), n * 0)
            for i in tf.range(n):
                add_to_box(reference(), i)
            return reference().total

        result = tf.function(changed)(tf.constant(4))
        assert box is reference()
        return result

    assert int(run()) == 6


def test_a_list_of_an_argument_and_of_the_caller_is_a_variable() -> None:
    def inner(items: Any, boxes: Any, n: Any) -> None:
        for i in tf.range(n):
            add(items, i)
            add_to_box(boxes[0], 1)

    @tf.function
    def f(n: Any) -> Any:
        items, boxes = json.loads("[0]"), [boxed(n * 0)]
        add(items, n * 0)
        inner(items, boxes, n)
        return items[0], boxes[0].total

    assert [int(v) for v in f(tf.constant(4))] == [6, 4]


@pytest.mark.parametrize("kind", [list, collections.deque, collections.OrderedDict])
def test_a_list_that_something_kept_is_refused_where_it_grows(kind: Any) -> None:
    kept = kind()
    keep = plain(lambda items: kept.update(a=items) if hasattr(kept, "update") else kept.append(items))

    @tf.function
    def f(n: Any) -> Any:
        for i in tf.range(n):
            items = [0]
            keep(items)
            append(items, i)
        return n

    with pytest.raises(TypeError, match=r"^the contents of a list cannot change its length"):
        f(tf.constant(3))
