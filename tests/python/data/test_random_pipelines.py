"""Random pipelines: data sets whose elements come in chunks, one by one, and in graphs, and Python's lists.

An element is a number; a batch of them is summed before it goes on, with the weights 1, 2, 3 and so on.
"""

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import penstock as tf

Dataset = tf.data.Dataset
INT = tf.TensorSpec([], tf.int64)
LIMIT = 400


def weighted(batch):
    return tf.reduce_sum(batch * tf.range(1, tf.size(batch) + 1, dtype=tf.int64))


def model_batch(values, size, drop):
    parts = [values[i : i + size] for i in range(0, len(values), size)]
    parts = [p for p in parts if not drop or len(p) == size]
    return [sum((i + 1) * v for i, v in enumerate(p)) for p in parts]


def model_window(values, size, shift):
    parts = [values[i : i + size] for i in range(0, len(values), shift)]
    return [sum((i + 1) * v for i, v in enumerate(p)) for p in parts]


def model_until(values, bound):
    for i, value in enumerate(values):
        if value % 50 == bound:
            return values[:i]
    return values


def model_scan(values):
    total, out = 0, []
    for value in values:
        total = (total + value) % 1000
        out.append(total)
    return out


def collatz(x):
    return x // 2 if x % 2 == 0 else (3 * x + 1) % 1009


# What a step does to a data set, and to a list.
STEPS = {
    "map": (
        lambda d, a, b: d.map(lambda x: (x * a + b) % 997),
        lambda v, a, b: [(x * a + b) % 997 for x in v],
    ),
    "branch": (lambda d, a, b: d.map(collatz), lambda v, a, b: [collatz(x) for x in v]),
    "filter": (
        lambda d, a, b: d.filter(lambda x: x % (a + 1) != 0),
        lambda v, a, b: [x for x in v if x % (a + 1)],
    ),
    "take": (lambda d, a, b: d.take(a * b), lambda v, a, b: v[: a * b]),
    "skip": (lambda d, a, b: d.skip(a * b), lambda v, a, b: v[a * b :]),
    "repeat": (lambda d, a, b: d.repeat(a % 3), lambda v, a, b: v * (a % 3)),
    "forever": (lambda d, a, b: d.repeat().take(a * b), lambda v, a, b: (v * (a * b))[: a * b] if v else []),
    "batch": (
        lambda d, a, b: d.batch(a, b % 2 == 0).map(weighted),
        lambda v, a, b: model_batch(v, a, b % 2 == 0),
    ),
    "rebatch": (lambda d, a, b: d.batch(a).rebatch(b).unbatch(), lambda v, a, b: v),
    "window": (
        lambda d, a, b: d.window(a, b).flat_map(lambda w: w.batch(a)).map(weighted),
        lambda v, a, b: model_window(v, a, b),
    ),
    "zip": (
        lambda d, a, b: Dataset.zip(d, d.skip(a)).map(lambda x, y: (x * 3 + y) % 997),
        lambda v, a, b: [(x * 3 + y) % 997 for x, y in zip(v, v[a:], strict=False)],
    ),
    "enumerate": (
        lambda d, a, b: d.enumerate(a).map(lambda i, x: (i * x) % 997),
        lambda v, a, b: [((i + a) * x) % 997 for i, x in enumerate(v)],
    ),
    "concatenate": (lambda d, a, b: d.concatenate(d.take(a)), lambda v, a, b: v + v[:a]),
    "shard": (lambda d, a, b: d.shard(a, b % a), lambda v, a, b: v[b % a :: a]),
    "until": (
        lambda d, a, b: d.take_while(lambda x: x % 50 != b),
        lambda v, a, b: model_until(v, b),
    ),
    "scan": (
        lambda d, a, b: d.scan(np.int64(0), lambda s, x: ((s + x) % 1000, (s + x) % 1000)),
        lambda v, a, b: model_scan(v),
    ),
    "flat_map": (
        lambda d, a, b: d.take(20).flat_map(lambda x: Dataset.range(x % a).map(lambda y: y + x)),
        lambda v, a, b: [y + x for x in v[:20] for y in range(x % a)],
    ),
    "shuffle": (
        lambda d, a, b: d.shuffle(a * b, seed=b, reshuffle_each_iteration=False),
        lambda v, a, b: shuffled(v, a * b, b),
    ),
    "cache": (lambda d, a, b: d.cache(), lambda v, a, b: v),
    "unique": (lambda d, a, b: d.unique(), lambda v, a, b: list(dict.fromkeys(v))),
}


def shuffled(values, size, seed):
    """Draws from a buffer of the next `size` values, as is documented: the seed decides, and nothing else."""
    draw = random.Random(random.Random(seed).getrandbits(63)).random
    waiting, buffer, out = list(values), [], []
    while waiting or buffer:
        while waiting and len(buffer) < size:
            buffer.append(waiting.pop(0))
        at = int(draw() * len(buffer))
        out.append(buffer[at])
        buffer[at] = buffer[-1]
        buffer.pop()
    return out


pipelines = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5
)


def applied(source, steps):
    for name, a, b in steps:
        source = STEPS[name][0](source, a, b)
    return source


def modelled(values, steps):
    for name, a, b in steps:
        values = STEPS[name][1](values, a, b)
        if len(values) > LIMIT:
            return None
    return values


def one_by_one(n):
    return Dataset.from_generator(lambda: iter(range(n)), output_signature=INT)


@tf.function
def collected(ds):
    out = []
    for x in ds:
        out.append(x)  # noqa: PERF402 -- a list of the graph
    return tf.stack(out)


@given(st.integers(0, 90), pipelines)
def test_pipelines_are_those_of_lists(n, steps):
    expected = modelled(list(range(n)), steps)
    if expected is None:
        return
    chunked = applied(Dataset.range(n), steps)
    assert [int(x) for x in chunked] == expected
    assert [int(x) for x in applied(one_by_one(n), steps)] == expected
    # Again: a cache may have kept what came first.
    assert [x for batch in chunked.batch(7) for x in batch.numpy().tolist()] == expected
    if expected:
        assert collected(chunked).numpy().tolist() == expected


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("n", [0, 1, 2, 40, 300])
def test_each_step_is_that_of_lists(name, n):
    for a, b in ((1, 1), (3, 2), (9, 9)):
        for steps in ([(name, a, b)], [("map", 2, 3), (name, a, b)]):
            expected = list(range(n))
            for step, c, d in steps:
                expected = STEPS[step][1](expected, c, d)
            assert [int(x) for x in applied(Dataset.range(n), steps)] == expected


@given(pipelines, st.integers(1, 30))
def test_pipelines_that_a_graph_makes_are_those_of_lists(steps, n):
    expected = modelled(list(range(n)), steps)
    if not expected:
        return

    @tf.function
    def made(n):
        out = []
        for x in applied(Dataset.range(n), steps):
            out.append(x)  # noqa: PERF402 -- a list of the graph
        return tf.stack(out)

    assert made(tf.constant(n, tf.int64)).numpy().tolist() == expected
