"""What functions that a loop or branch of the graph calls do to Python's objects."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf


def number(x: Any) -> Any:
    return x.numpy().tolist()


class Flagged(tf.Module):
    """A layer that says by a flag that it has its variables."""

    def __init__(self) -> None:
        super().__init__()
        self.is_built = False

    def __call__(self, x: Any) -> Any:
        if not self.is_built:
            self.w = tf.Variable(tf.ones([int(x.shape[-1]), 2]))
            self.b = tf.Variable(tf.zeros([2]))
            self.is_built = True
        return tf.nn.relu(x @ self.w + self.b)


class WithoutValue(tf.Module):
    """A layer whose variable is None at first."""

    def __init__(self) -> None:
        super().__init__()
        self.w: Any = None

    def __call__(self, x: Any) -> Any:
        if self.w is None:
            self.w = tf.Variable(tf.ones([2, 2]))
        return x @ self.w


class WithoutAttribute(tf.Module):
    """A layer that looks whether it has its variable."""

    def __call__(self, x: Any) -> Any:
        if not hasattr(self, "w"):
            self.w = tf.Variable(tf.ones([2, 2]))
        return x @ self.w


class Collecting(tf.Module):
    """A layer that keeps its variables in a list and a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []
        self.table: dict[str, Any] = {}

    def weight(self, name: str) -> Any:
        if name not in self.table:
            self.table[name] = tf.Variable(tf.ones([2, 2]))
            self.kept.append(self.table[name])
        return self.table[name]

    def __call__(self, x: Any) -> Any:
        return x @ self.weight("w")


class Stacked(tf.Module):
    """A layer of layers that it makes when it is called first."""

    def __init__(self) -> None:
        super().__init__()
        self.layers: list[Any] = []

    def __call__(self, x: Any) -> Any:
        if not self.layers:
            for _ in range(2):
                self.layers.append(WithoutValue())
        for layer in self.layers:
            x = layer(x) * 0.5
        return x


def in_while(layer: Any, x: Any, n: Any) -> Any:
    i = tf.constant(0)
    while i < n:
        x = layer(x)
        i += 1
    return x


def in_for(layer: Any, x: Any, n: Any) -> Any:
    for _ in tf.range(n):
        x = layer(x)
    return x


def in_if(layer: Any, x: Any, n: Any) -> Any:
    if n > 1:
        x = layer(x)
    else:
        x = x * 3.0
    return x


def in_both_branches(layer: Any, x: Any, n: Any) -> Any:
    if n > 1:
        x = layer(x)
    else:
        x = layer(x) * 2.0
    return x


def nested(layer: Any, x: Any, n: Any) -> Any:
    for i in tf.range(n):
        if i % 2 == 0:
            j = tf.constant(0)
            while j < i + 1:
                x = layer(x) * 0.25
                j += 1
    return x


def in_an_expression(layer: Any, x: Any, n: Any) -> Any:
    y = layer(x) if n > 1 else x
    return [layer(y) for _ in tf.range(n)][-1]


LAYERS = [Flagged, WithoutValue, WithoutAttribute, Collecting, Stacked]
PLACES = [in_while, in_for, in_if, in_both_branches, nested, in_an_expression]


@pytest.mark.parametrize("first", ["eager", "traced"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_that_makes_its_variables_when_it_is_called(
    kind: Callable[[], Any], place: Callable[..., Any], first: str
) -> None:
    layer, expected = kind(), kind()
    x = tf.constant([[1.0, 2.0]])
    if first == "eager":
        layer(x)
    traced = tf.function(lambda x, n: place(layer, x, n))
    for n in (2, 1, 3):
        assert number(traced(x, tf.constant(n))) == number(place(expected, x, tf.constant(n)))
    made = layer.trainable_variables
    assert len(made) == len(expected.trainable_variables)
    assert all(isinstance(v, tf.Variable) for v in made)
    # It still serves eager calls, and no symbolic tensor is left in it.
    assert number(layer(x)) == number(expected(x))


def test_slots_of_an_optimiser_are_made_once_by_reference() -> None:
    slots: dict[Any, Any] = {}

    def apply(v: Any, gradient: Any) -> None:
        if v.ref() not in slots:
            slots[v.ref()] = tf.Variable(tf.zeros_like(v))
        momentum = slots[v.ref()]
        momentum.assign(0.5 * momentum + gradient)
        v.assign_sub(momentum)

    v, w = tf.Variable([8.0, 16.0]), tf.Variable([1.0])

    @tf.function
    def train(n: Any) -> Any:
        for _ in tf.range(n):
            apply(v, v * 0.5)
            apply(w, w * 0.0)
        return v.read_value()

    assert number(train(tf.constant(2))) == [0.0, 0.0]
    assert all(isinstance(s, tf.Variable) for s in slots.values())
    train(tf.constant(1))
    assert len(slots) == 2


def test_a_variable_starts_with_what_the_first_iteration_has() -> None:
    class Mean(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean: Any = None

        def __call__(self, x: Any) -> Any:
            if self.mean is None:
                self.mean = tf.Variable(x * 2.0)
            self.mean.assign_add(x)
            return x + 1.0

    mean = Mean()

    @tf.function
    def f(x: Any, n: Any) -> Any:
        y = x * 10.0
        for _ in tf.range(n):
            j = tf.constant(0)
            while j < 2:
                y = mean(y)
                j += 1
        return y

    assert number(f(tf.constant(1.0), tf.constant(1))) == 12.0
    # 20, then 10 and 11.
    assert number(mean.mean) == 41.0


def test_a_metric_that_makes_its_variables_in_a_loop() -> None:
    class Mean(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total: Any = None

        def update(self, x: Any) -> None:
            if self.total is None:
                self.total, self.count = tf.Variable(0.0), tf.Variable(0)
            self.total.assign_add(x)
            self.count.assign_add(1)

    mean = Mean()

    @tf.function
    def f(xs: Any) -> Any:
        for x in xs:
            mean.update(x)
        return mean.total / tf.cast(mean.count, tf.float32)

    assert number(f(tf.constant([1.0, 2.0, 6.0]))) == 3.0


counter = 0


def test_counters_flags_and_logs_that_a_helper_changes_are_pythons() -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls, self.log, self.names = 0, [], {}
            self.training = False

        def step(self, x: Any, training: bool = True) -> Any:
            before, self.training = self.training, training
            self.calls += 1
            self.log.append(len(self.log))
            self.names["add"] = self.names.get("add", 0) + 1
            y = x * 2 if self.training else x
            self.training = before
            return y

    helper, table, log = Counting(), {"n": 0}, []
    outside = 0

    def step(x: Any) -> Any:
        global counter
        nonlocal outside
        outside += 1
        counter += 1
        table["n"] += 1
        log.append(1)
        return helper.step(x)

    @tf.function
    def loop(x: Any, n: Any) -> Any:
        for _ in tf.range(n):
            x = step(x)
        return x

    @tf.function
    def branch(x: Any, n: Any) -> Any:
        if n > 0:
            x = step(x)
        return x

    for traced in (loop, branch):
        assert number(traced(tf.constant(1), tf.constant(1))) == 2
    assert (helper.calls, helper.log, helper.names, helper.training) == (2, [0, 1], {"add": 2}, False)
    assert (table, log, outside, counter) == ({"n": 2}, [1, 1], 2, 2)


def test_tensors_that_a_helper_adds_up_are_the_loops() -> None:
    class Total:
        def __init__(self, start: Any) -> None:
            self.value, self.parts, self.pair = start, {"a": start}, (start, 0)

        def add(self, x: Any) -> None:
            self.value = self.value + x
            self.parts["a"] = self.parts["a"] + x
            self.pair = (self.pair[1], self.pair[0] + x)

    held = Total(0)

    @tf.function
    def f(n: Any) -> Any:
        held.__init__(n * 0)
        for i in tf.range(n):
            held.add(i)
            if i > 1:
                held.add(i * 10)
        return held.value, held.parts["a"], held.pair

    assert tf.nest.map_structure(int, f(tf.constant(4))) == (56, 56, (5, 51))
    assert tf.nest.map_structure(int, f(tf.constant(0))) == (0, 0, (0, 0))


def test_numbers_of_an_object_that_the_function_makes_are_the_loops() -> None:
    class Steps:
        def __init__(self) -> None:
            self.count, self.found = 0, False

        def step(self) -> None:
            self.count += 1
            self.found = True

    @tf.function
    def f(n: Any) -> Any:
        steps = Steps()
        for _ in tf.range(n):
            steps.step()
        if n > 2:
            steps.step()
        return steps.count, steps.found

    for n in (0, 1, 4):
        assert [number(x) for x in f(tf.constant(n))] == [n + (n > 2), n > 0]


def push(items: Any, x: Any) -> None:
    items.append(x)


def bump(table: Any, key: str, x: Any) -> None:
    table[key] = table[key] + x


def test_containers_that_a_helper_is_given_are_the_loops() -> None:
    def f(n: Any) -> Any:
        items, table, rows = [n * 0], {"a": n * 0, "b": n * 0}, [[n * 0, n * 0], [n * 0]]
        for i in tf.range(n):
            push(items, i * 2)
            bump(table, "a", i)
            rows[0][1] += i
            if i % 2 == 0:
                bump(table, "b", i)
                push(items, i)
        total = n * 0
        for item in items:
            total += item
        return total, table["a"], table["b"], rows[0][1]

    traced = tf.function(f)
    for n in (0, 1, 5):
        assert list(map(int, traced(tf.constant(n)))) == list(map(int, f(tf.constant(n))))


def test_what_a_helper_changes_in_a_container_under_a_condition_its_callers_see() -> None:
    def change(items: Any, table: Any, n: Any) -> None:
        if n > 1:
            items[0] = n
            table["a"] = table["a"] + items[0]
        for i in tf.range(n):
            items[1] += i

    @tf.function
    def f(n: Any) -> Any:
        items, table = [n * 0, n * 0], {"a": n * 0}
        change(items, table, n)
        return items, table["a"]

    assert tf.nest.map_structure(int, f(tf.constant(3))) == ([3, 3], 3)
    assert tf.nest.map_structure(int, f(tf.constant(1))) == ([0, 0], 0)


def test_objects_that_a_body_makes_are_no_variables_of_it() -> None:
    class Node:
        def __init__(self, value: Any) -> None:
            self.value, self.items = value, [value]
            self.own = self

        def grow(self) -> Any:
            self.items.append(self.value * 2)
            self.value = self.value + self.items[1]
            return self

    def build(x: Any) -> list[Any]:
        out = [x]
        for k in range(1, 3):
            push(out, x + k)
        return out

    @tf.function
    def f(n: Any) -> Any:
        total = n * 0
        for i in tf.range(n):
            node = Node(i).grow()
            total += node.value + sum(build(i))
            if i > 1:
                total += Node(i).grow().value
        return total

    gc.disable()
    try:
        assert int(f(tf.constant(4))) == 18 + 30 + 15
    finally:
        gc.enable()


def test_what_a_body_leaves_behind_in_an_object_does_no_harm() -> None:
    class Layer:
        def __init__(self) -> None:
            self.last: Any = None
            self.losses: list[Any] = []
            self.box: Any = ([],)

        def __call__(self, x: Any) -> Any:
            self.last = x
            self.losses.append(tf.reduce_sum(x))
            self.box[0].append(x)
            return x * 2.0

    layer = Layer()

    @tf.function
    def f(x: Any, n: Any) -> Any:
        if n > 0:
            x = layer(x)
        else:
            x = layer(x) + 1.0
        for _ in tf.range(n):
            x = x + 1.0
        return x

    assert number(f(tf.ones([2]), tf.constant(2))) == [4.0, 4.0]
    assert number(f(tf.ones([3]), tf.constant(0))) == [3.0] * 3
    assert layer.losses == []


def test_a_tensor_that_is_only_stored_costs_a_loop_nothing() -> None:
    class Layer:
        def __call__(self, x: Any) -> Any:
            self.last = x
            return x * 2.0

    class Plain:
        def __call__(self, x: Any) -> Any:
            return x * 2.0

    def size(layer: Any) -> int:
        @tf.function
        def f(x: Any, n: Any) -> Any:
            for _ in tf.range(n):
                x = layer(x)
            return x

        concrete = f.get_concrete_function(tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32))
        return len(str(concrete.graph).splitlines())

    assert size(Layer()) == size(Plain())


def test_a_tensor_that_an_iteration_leaves_for_the_next_is_the_loops() -> None:
    class Cell:
        def __init__(self) -> None:
            self.h: Any = None

        @property
        def state(self) -> Any:
            return self.h

        def by_none(self, x: Any) -> Any:
            if self.state is None:
                self.h = x * 0
            self.h = self.state + x
            return self.h

        def by_name(self, x: Any) -> Any:
            if not hasattr(self, "g"):
                self.g = x * 0
            self.g = self.g + x
            return self.g

    cell = Cell()

    @tf.function
    def f(n: Any) -> Any:
        cell.h, total, named = None, n * 0, n * 0
        if hasattr(cell, "g"):
            del cell.g
        for i in tf.range(n):
            total += cell.by_none(i)
            named += cell.by_name(i)
        return total, named, cell.h

    # The sums of 0, 1, 3, 6.
    assert [int(v) for v in f(tf.constant(4))] == [10, 10, 6]


def test_an_object_in_a_list_is_found_by_a_computed_index() -> None:
    class Item:
        x: Any = None

    class Owner:
        def __init__(self) -> None:
            self.items = [Item(), Item(), Item()]

        def branch(self, i: int, condition: Any, x: Any) -> Any:
            if condition:
                self.items[i + 1].x = x
            else:
                self.items[i + 1].x = x * 2
            return self.items[i + 1].x

        def loop(self, i: int, n: Any) -> Any:
            self.items[i - 1].x = n * 0
            k = tf.constant(0)
            while k < n:
                self.items[i - 1].x += k
                k += 1
            return self.items[i - 1].x

    owner = Owner()
    branch = tf.function(lambda c, x: owner.branch(1, c, x))
    loop = tf.function(lambda n: owner.loop(1, n))
    assert [number(branch(tf.constant(c), tf.constant(2))) for c in (True, False)] == [2, 4]
    assert number(loop(tf.constant(5))) == 10


class Account:
    """An object that is found by calls only."""

    def __init__(self) -> None:
        self.x: Any = tf.constant(1)
        self.parts: dict[str, Any] = {"a": tf.constant(1)}
        self.asked = 0

    def found(self) -> Account:
        self.asked += 1
        return self


def by_attribute(account: Account) -> None:
    account.found().x += 2


def by_item(account: Account) -> None:
    account.found().parts["a"] *= 3


def by_item_of_call(account: Account) -> None:
    (lambda: account.parts)()["a"] *= 3


def by_computed_index(account: Account) -> None:
    accounts = [None, account]
    accounts[len(accounts) - 1].x += 2


def by_comprehension(account: Account) -> None:
    [a for a in [account] if a is not None][-1].x *= 3


def by_method_of_dict(account: Account) -> None:
    {"z": account}.get("z").x += 2


def by_one_of_several(account: Account) -> None:
    account.found().x, account.parts["a"] = account.x * 3, account.x + 5


def by_assignment_expression(account: Account) -> None:
    (other := account.found()).x += 2
    other.x += 1


CHANGES = [
    by_attribute,
    by_item,
    by_item_of_call,
    by_computed_index,
    by_comprehension,
    by_method_of_dict,
    by_one_of_several,
    by_assignment_expression,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_what_a_call_gives_changes_in_loops_and_branches(change: Any) -> None:
    def in_loop(n: Any) -> Any:
        account = Account()
        for _ in tf.range(n):
            change(account)
        return account.x * 100 + account.parts["a"]

    def in_branch(n: Any) -> Any:
        account = Account()
        if n > 1:
            change(account)
        else:
            account.x += 50
        return account.x * 100 + account.parts["a"]

    for function in (in_loop, in_branch):
        traced = tf.function(function)
        assert [number(traced(tf.constant(n))) for n in (3, 1)] == [number(function(n)) for n in (3, 1)]


def test_numbers_of_what_a_call_gives_are_those_of_the_branch_that_runs() -> None:
    @tf.function
    def f(n: Any) -> Any:
        account = Account()
        if n > 1:
            account.found().x = 7
        else:
            account.found().x = 8
        return account.x, account.asked

    assert [int(v) for v in f(tf.constant(3))] == [7, 1]
    assert [int(v) for v in f(tf.constant(0))] == [8, 1]


def test_one_body_may_have_other_types_in_another_call() -> None:
    class Config:
        size = 2

    def of_shape(shape: Any, n: Any) -> Any:
        for _ in tf.range(n):
            y = tf.zeros(shape)
        return tf.shape(y)

    def of_config(n: Any) -> Any:
        for _ in tf.range(n):
            y = tf.zeros([Config.size])
        return tf.size(y)

    def nothing_first(size: int, n: Any) -> Any:
        y = None
        for _ in tf.range(n):
            if y is None:
                y = tf.zeros([size * 1000])
            else:
                y = y + 1.0
        return tf.size(y)

    @tf.function
    def f(n: Any) -> Any:
        shapes = of_shape([2, 3], n), of_shape([4, 5], n), of_shape([6], n)
        first = of_config(n)
        Config.size = 5
        return shapes, first, of_config(n), nothing_first(1, n), nothing_first(2, n), nothing_first(1, n)

    assert tf.nest.map_structure(number, f(tf.constant(2))) == (
        ([2, 3], [4, 5], [6]),
        2,
        5,
        1000,
        2000,
        1000,
    )


class Running:
    """A sum that begins with its first value, and what it was given last."""

    def __init__(self) -> None:
        self.total, self.given, self.doubled = None, None, None

    def add(self, x: Any) -> Any:
        if self.total is None:
            self.total = x * 0
        self.total = self.total + x
        return self.total

    def note(self, x: Any) -> Any:
        self.given = x + 1
        return self.given

    def twice(self, x: Any) -> Any:
        if self.doubled is None:
            self.doubled = x * 2
        return self.doubled


@pytest.mark.parametrize("given", [2, 2.5, tf.constant(2)])
def test_a_sum_that_begins_with_its_first_value_grows_in_each_iteration(given: Any) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        running, found = Running(), x
        for _ in tf.range(n):
            found = running.add(x)
        return found, running.add(x)

    inside, after = f(tf.constant(3), given)
    assert number(inside) == 3 * number(tf.constant(given))
    assert number(after) == 4 * number(tf.constant(given))


@pytest.mark.parametrize("given", [2, tf.constant(2)])
def test_a_sum_that_has_no_value_in_one_branch_of_a_loop_is_refused(given: Any) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        running = Running()
        for i in tf.range(n):
            if i > 0:
                running.add(x)
        return n

    with pytest.raises(TypeError, match=r"'self\.total'"):
        f(tf.constant(3), given)


@pytest.mark.parametrize("given", [2, tf.constant(2)])
def test_what_a_branch_of_a_loop_only_writes_or_keeps_may_have_had_no_value(given: Any) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        running, noted, kept = Running(), 0, 0
        for i in tf.range(n):
            if i > 0:
                noted += running.note(x)
                kept += running.twice(x)
        return noted, kept

    noted, kept = f(tf.constant(3), given)
    assert (number(noted), number(kept)) == (6, 8)


class Seen:
    """Keeps what it was given last, and counts."""

    def __init__(self) -> None:
        self.count = 0
        self.names: list[str] = []
        self.last: Any = None

    def see(self, x: Any) -> Any:
        self.count += 1
        self.names.append("seen")
        self.last = x
        return x + 1

    def lazily(self, x: Any) -> Any:
        if self.last is None:
            self.last = x * 0
        self.last = self.last + x
        return self.last


def grows_in_the_other_branch(seen: Seen, x: Any) -> Any:
    items, y = [x * 0], x
    if x > 1:
        y = seen.see(x)
    else:
        items.append(x)
    return y + sum(items)


def grows_further_within(seen: Seen, x: Any) -> Any:
    items, y = [x * 0], x
    if x > 1:
        y = seen.see(x * 2)
    elif x > 0:
        items.append(x)
    return y + sum(items)


@pytest.mark.parametrize("body", [grows_in_the_other_branch, grows_further_within])
def test_a_branch_that_is_traced_again_has_its_effects_on_python_once(body: Any) -> None:
    seen = Seen()
    function = tf.function(body)
    results = [int(function(seen, tf.constant(n))) for n in (0, 1, 5)]
    assert results == [int(body(Seen(), n)) for n in (0, 1, 5)]
    assert (seen.count, seen.names) == (1, ["seen"])


def test_an_attribute_that_is_none_is_none_where_something_else_was_left_behind() -> None:
    seen = Seen()
    tf.function(grows_further_within)(seen, tf.constant(1))
    assert "last" in vars(seen)
