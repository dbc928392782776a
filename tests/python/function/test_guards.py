"""`guard="globals"`: which places count, and how far a chain of reads is followed."""

import types

import pytest
from support import guarded

import penstock as tf

ONE = tf.constant(1.0)
BIG = {i: float(i) for i in range(100)}
LAYERS = [types.SimpleNamespace(units=2.0), types.SimpleNamespace(units=3.0)]
CONFIG = {"layers": LAYERS, "rate": 2.0, "nested": {"rates": (2.0, 5.0)}}
HOLDER = types.SimpleNamespace(config=types.SimpleNamespace(rate=2.0, table={"a": 2.0}))
SWITCH = {"on": False, "log": []}


@pytest.fixture(autouse=True)
def fresh():
    BIG.update({i: float(i) for i in range(100)})
    LAYERS[:] = [types.SimpleNamespace(units=2.0), types.SimpleNamespace(units=3.0)]
    CONFIG.update(layers=LAYERS, rate=2.0, nested={"rates": (2.0, 5.0)})
    HOLDER.config = types.SimpleNamespace(rate=2.0, table={"a": 2.0})
    SWITCH.update(on=False, log=[])


def aliased(x):
    config = HOLDER.config
    return x * config.rate


def twice_aliased(x):
    holder = HOLDER
    config = holder.config
    return x * config.table["a"]


CASES = {
    "an element of a large dict": (lambda x: x * BIG[2], lambda v: BIG.update({2: v})),
    "an attribute of an element": (
        lambda x: x * CONFIG["layers"][0].units,
        lambda v: setattr(LAYERS[0], "units", v),
    ),
    "an element by a negative index": (
        lambda x: x * LAYERS[-2].units,
        lambda v: LAYERS.__setitem__(-2, types.SimpleNamespace(units=v)),
    ),
    "elements of elements": (
        lambda x: x * CONFIG["nested"]["rates"][0],
        lambda v: CONFIG["nested"].update(rates=(v, 5.0)),
    ),
    "a local variable": (aliased, lambda v: setattr(HOLDER.config, "rate", v)),
    "what a local variable is read from": (
        aliased,
        lambda v: setattr(HOLDER, "config", types.SimpleNamespace(rate=v)),
    ),
    "a local variable of a local variable": (twice_aliased, lambda v: HOLDER.config.table.update(a=v)),
}


@pytest.mark.parametrize(("function", "change"), CASES.values(), ids=CASES)
def test_what_a_chain_of_reads_comes_to_is_guarded(function, change):
    f = guarded(function)
    for _ in range(2):
        assert f(ONE).numpy() == 2
    change(7.0)
    for _ in range(2):
        assert f(ONE).numpy() == 7
    assert f.experimental_get_tracing_count() == 2
    change(2.0)
    assert f(ONE).numpy() == 2
    # A value that comes back finds its trace, unless it is in another object.
    assert f.experimental_get_tracing_count() <= 3


def test_only_the_element_that_is_read_counts():
    f = guarded(lambda x: x * BIG[2] * CONFIG["layers"][1].units)
    assert f(ONE).numpy() == 6
    BIG[3] = 0.0
    CONFIG["rate"] = 100.0
    LAYERS[0].units = 50.0
    assert f(ONE).numpy() == 6
    assert f.experimental_get_tracing_count() == 1
    LAYERS[1].units = 1.0
    assert f(ONE).numpy() == 2


def test_the_cache_names_the_element_that_changed():
    f = guarded(lambda x: x * CONFIG["layers"][0].units)
    f(ONE)
    LAYERS[0].units = 4.0
    f(ONE)
    (difference,) = f.explain_cache().misses[1].differences
    assert str(difference) == "CONFIG['layers'][0].units: 2.0 → 4.0"


def test_an_element_that_comes_to_be_and_goes():
    def body(x):
        return x * (CONFIG["late"] if "late" in CONFIG else 1.0)  # noqa: SIM401

    f = guarded(body)
    assert f(ONE).numpy() == 1
    CONFIG["late"] = 3.0
    assert f(ONE).numpy() == 3
    del CONFIG["late"]
    assert f(ONE).numpy() == 1


def test_writing_an_element_is_no_read():
    def body(x):
        SWITCH["on"] = True
        SWITCH["log"].append("traced")
        return x

    f = guarded(body)
    for _ in range(3):
        f(ONE)
    assert SWITCH["log"] == ["traced"]


def test_chains_from_the_object_of_a_method():
    class Model:
        def __init__(self):
            self.options = {"scale": 2.0}
            self.parts = [types.SimpleNamespace(k=1.0)]

        @guarded
        def __call__(self, x):
            options, part = self.options, self.parts[0]
            return x * options["scale"] * part.k

        @property
        def rate(self):
            return self.options["scale"]

        @guarded
        def by_property(self, x):
            return x * self.rate

    model, other = Model(), Model()
    assert [model(ONE).numpy(), model.by_property(ONE).numpy(), other(ONE).numpy()] == [2, 2, 2]
    model.options["scale"] = 3.0
    assert [model(ONE).numpy(), model.by_property(ONE).numpy(), other(ONE).numpy()] == [3, 3, 2]
    model.options = {"scale": 4.0}
    assert [model(ONE).numpy(), model.by_property(ONE).numpy(), other(ONE).numpy()] == [4, 4, 2]


def test_a_variable_that_is_assigned_twice_stands_for_nothing():
    def body(x):
        config = HOLDER.config
        config = types.SimpleNamespace(rate=config.rate + 1.0)
        return x * config.rate

    assert guarded(body)(ONE).numpy() == 3


def test_code_within_code_reads_its_own_cells():
    scale = {"k": 2.0}

    @guarded
    def f(x):
        def inner(y):
            return y * scale["k"]

        return {"made": inner(x)}["made"]

    assert f(ONE).numpy() == 2
    scale["k"] = 3.0
    assert f(ONE).numpy() == 3
    scale = {"k": 4.0}
    assert f(ONE).numpy() == 4


def test_a_container_that_becomes_something_else_is_read_by_its_own_rules():
    class Table(dict):
        reads = 0

        def __getitem__(self, key):
            Table.reads += 1
            return 5.0

    holder = types.SimpleNamespace(table={"a": 2.0})
    f = guarded(lambda x: x * holder.table["a"])
    assert f(ONE).numpy() == 2
    holder.table = Table()
    assert f(ONE).numpy() == 5
    reads = Table.reads
    assert f(ONE).numpy() == 5
    assert Table.reads == reads


def test_keywords_and_defaults_are_guarded_as_positions_are():
    class Model:
        rate = 2.0

        @guarded
        def __call__(self, x, k=1.0, *, j=1.0):
            return x * self.rate * k * j

    model = Model()
    calls = [
        lambda: model(ONE),
        lambda: model(x=ONE),
        lambda: model(ONE, j=1.0),
        lambda: Model.__call__(model, ONE),
    ]
    assert [call().numpy() for call in calls * 2] == [2] * 8
    model.rate = 3.0
    assert [call().numpy() for call in calls * 2] == [3] * 8
