"""Random chains of stages against a model of lists, in which some elements cannot be computed.

In the model such an element is None: an error comes in its place, and the iterator goes on behind it.
"""

import random

import numpy as np
import pytest
from support.data_cases import INT

import penstock as tf

Dataset = tf.data.Dataset

# How many events a chain may have.
LIMIT = 300


def failing(x, k):
    """The number; an error for multiples of `k`."""
    return x + 0 * (12 // (x % k))


def called(function):
    """A function that the graph calls in Python."""
    return lambda x: tf.ensure_shape(tf.numpy_function(function, [x], tf.int64), [])


def each(function):
    """A model that is a function of each number."""
    return lambda events, a, b: [e if e is None else function(e, a, b) for e in events]


def grouped(events, size, drop):
    """Lists of so many numbers; those that were gathered are lost with an element that cannot be computed."""
    found, held = [], []
    for e in events:
        if e is None:
            found.append(None)
            held = []
            continue
        held.append(e)
        if len(held) == size:
            found.append(held)
            held = []
    return found if drop or not held else [*found, held]


def regrouped(events, size):
    """Rows of lists, in lists of another size."""
    rows = []
    for e in events:
        rows.extend([None] if e is None else e)
    return grouped(rows, size, False)


def flat(events):
    return [row for e in events for row in ([None] if e is None else e)]


def total(events):
    return [e if e is None else sum((i + 1) * x for i, x in enumerate(e)) for e in events]


def first(events, count, reads):
    """The first numbers, with the errors between them; no more is read behind the last one."""
    found = []
    for e in events:
        if count <= 0:
            break
        found.append(e)
        count -= e is not None
    return found if reads else [e for e in found if e is not None]


def behind(events, count):
    found = []
    for e in events:
        if e is None or count <= 0:
            found.append(e)
        else:
            count -= 1
    return found


def while_below(events, bound):
    found = []
    for e in events:
        if e is not None and e % 50 >= bound:
            break
        found.append(e)
    return found


def running(events):
    found, state = [], 0
    for e in events:
        if e is not None:
            state = (state + e) % 1000
        found.append(e if e is None else state)
    return found


def counted(events, start):
    found = []
    for e in events:
        found.append(None if e is None else (start * e) % 997)
        start += e is not None
    return found


def sharded(events, count, index):
    found, at = [], 0
    for e in events:
        if e is None or at % count == index:
            found.append(e)
        at += e is not None
    return found


def distinct(events):
    seen, found = set(), []
    for e in events:
        if e is None or e not in seen:
            found.append(e)
            seen.add(e)
    return found


def weighted(batch):
    return tf.reduce_sum(batch * tf.range(1, tf.size(batch) + 1, dtype=tf.int64))


def collatz(x, a=0, b=0):
    return x // 2 if x % 2 == 0 else (3 * x + 1) % 1009


def pieces(x, a):
    """A data set of a few numbers, some of which cannot be computed."""
    return Dataset.range(x % 4).map(lambda y: failing(y * 7 + x, a + 2))


def model_pieces(e, a):
    values = [y * 7 + e for y in range(e % 4)]
    return [None if v % (a + 2) == 0 else v for v in values]


def model_interleaved(events, cycle, block, a):
    """As `interleave`: a data set that cannot be made leaves its place to the next one."""
    source, slots, place, left, found = iter(events), [None] * cycle, 0, block, []
    ended = False
    while True:
        if slots[place] is None and not ended:
            e = next(source, "end")
            if e == "end":
                ended = True
                continue
            if e is None:
                found.append(None)
                continue
            slots[place] = iter(model_pieces(e, a))
        if slots[place] is not None:
            value = next(slots[place], "end")
            if value != "end":
                found.append(value)
                left -= value is not None
                if left == 0:
                    place, left = (place + 1) % cycle, block
                continue
            slots[place] = None
        elif not any(s is not None for s in slots):
            return found
        place, left = (place + 1) % cycle, block


def summed(ds, state):
    return ds.scan(np.int64(state), lambda s, x: ((s + x) % 1000, (s + x) % 1000))


# What a stage does to a data set, and to the events of its model.
STAGES = {
    "fail": (
        lambda d, a, b: d.map(lambda x: failing(x, a + 2)),
        lambda e, a, b: [x if x is None or x % (a + 2) else None for x in e],
    ),
    "fail in python": (
        lambda d, a, b: d.map(called(lambda x: np.int64(failing(int(x), a + 2))), b if b > 1 else None),
        lambda e, a, b: [x if x is None or x % (a + 2) else None for x in e],
    ),
    "map": (lambda d, a, b: d.map(lambda x: (x * a + b) % 997), each(lambda x, a, b: (x * a + b) % 997)),
    "branch": (lambda d, a, b: d.map(collatz, num_parallel_calls=a), each(collatz)),
    "python": (lambda d, a, b: d.map(called(lambda x: x + a), a), each(lambda x, a, b: x + a)),
    "filter": (
        lambda d, a, b: d.filter(lambda x: x % (a + 1) != 0),
        lambda e, a, b: [x for x in e if x is None or x % (a + 1)],
    ),
    "take": (lambda d, a, b: d.take(a * b), lambda e, a, b: first(e, a * b, True)),
    "skip": (lambda d, a, b: d.skip(a + b), lambda e, a, b: behind(e, a + b)),
    "repeat": (lambda d, a, b: d.repeat(a % 3), lambda e, a, b: e * (a % 3)),
    "batch": (
        lambda d, a, b: d.batch(a, b % 2 == 0).map(weighted),
        lambda e, a, b: total(grouped(e, a, b % 2 == 0)),
    ),
    "rebatch": (
        lambda d, a, b: d.batch(a).rebatch(b).map(weighted),
        lambda e, a, b: total(regrouped(grouped(e, a, False), b)),
    ),
    "unbatch": (lambda d, a, b: d.batch(a).unbatch(), lambda e, a, b: flat(grouped(e, a, False))),
    "zip": (
        lambda d, a, b: Dataset.zip(d, d.skip(a)).map(lambda x, y: (x * 3 + y) % 997),
        lambda e, a, b: [
            None if None in (x, y) else (x * 3 + y) % 997 for x, y in zip(e, behind(e, a), strict=False)
        ],
    ),
    "enumerate": (
        lambda d, a, b: d.enumerate(a).map(lambda i, x: (i * x) % 997),
        lambda e, a, b: counted(e, a),
    ),
    "concatenate": (lambda d, a, b: d.concatenate(d.take(a)), lambda e, a, b: e + first(e, a, True)),
    "shard": (lambda d, a, b: d.shard(a, b % a), lambda e, a, b: sharded(e, a, b % a)),
    "until": (
        lambda d, a, b: d.take_while(lambda x: x % 50 < 40 + a),
        lambda e, a, b: while_below(e, 40 + a),
    ),
    "scan": (lambda d, a, b: summed(d, 0), lambda e, a, b: running(e)),
    "flat_map": (
        lambda d, a, b: d.take(20).flat_map(lambda x: pieces(x, a)),
        lambda e, a, b: [
            v for x in first(e, 20, True) for v in ([None] if x is None else model_pieces(x, a))
        ],
    ),
    "interleave": (
        lambda d, a, b: d.take(20).interleave(lambda x: pieces(x, a), a, b),
        lambda e, a, b: model_interleaved(first(e, 20, True), a, b, a),
    ),
    "interleave at once": (
        lambda d, a, b: d.take(20).interleave(lambda x: pieces(x, a), a, b, num_parallel_calls=a),
        lambda e, a, b: model_interleaved(first(e, 20, True), a, b, a),
    ),
    "ignore": (lambda d, a, b: d.ignore_errors(), lambda e, a, b: [x for x in e if x is not None]),
    "shuffle": (lambda d, a, b: d.shuffle(1), lambda e, a, b: e),
    "cache": (lambda d, a, b: d.cache(), lambda e, a, b: e),
    "prefetch": (lambda d, a, b: d.prefetch(a), lambda e, a, b: e),
    "unique": (lambda d, a, b: d.unique(), lambda e, a, b: distinct(e)),
    "unknown size": (lambda d, a, b: d.filter(lambda x: True), lambda e, a, b: e),
}


def chain(draw):
    """A number of elements, stages, and the events that they give; None where these are too many."""
    n = draw.choice([0, 1, 2, 5, 17, 40])
    stages = [
        (draw.choice(sorted(STAGES)), draw.randint(1, 6), draw.randint(1, 6))
        for _ in range(draw.randint(1, 6))
    ]
    events = list(range(n))
    for name, a, b in stages:
        events = STAGES[name][1](events, a, b)
        if len(events) > LIMIT:
            return None
    return n, stages, events


def applied(source, stages):
    for name, a, b in stages:
        source = STAGES[name][0](source, a, b)
    return source


def read(iterator, count):
    """The next events of an iterator."""
    found = []
    while len(found) < count:
        try:
            found.append(int(next(iterator)))
        except StopIteration:
            break
        except tf.errors.InvalidArgumentError:
            found.append(None)
        except ZeroDivisionError:
            found.append(None)
    return found


def generated(n):
    return Dataset.from_generator(lambda: iter(range(n)), output_signature=INT)


def check(seed):
    """Compares a chain with its model: from two sources, after a partial iteration, and in a graph."""
    draw = random.Random(seed)
    made = chain(draw)
    if made is None:
        return
    n, stages, events = made
    for source in (Dataset.range(n), generated(n)):
        dataset = applied(source, stages)
        stop = draw.randint(0, len(events))
        assert read(iter(dataset), stop) == events[:stop], (n, stages)
        assert read(iter(dataset), LIMIT + 1) == events, (n, stages)
        size = int(dataset.cardinality())
        assert size < 0 or None in events or size == len(events), (n, stages)

    @tf.function
    def total(n):
        s = tf.constant(0, tf.int64)
        for x in applied(Dataset.range(n), stages):
            s = s * 3 % 10007 + x
        return s

    expected = 0
    for e in events:
        if e is None:
            with pytest.raises((tf.errors.InvalidArgumentError, ZeroDivisionError)):
                total(tf.constant(n, tf.int64))
            return
        expected = expected * 3 % 10007 + e
    assert int(total(tf.constant(n, tf.int64))) == expected, (n, stages)


@pytest.mark.parametrize("seed", range(60))
def test_chains_of_stages_are_those_of_lists(seed):
    check(seed)


@pytest.mark.parametrize("name", STAGES)
def test_each_stage_is_that_of_lists(name):
    for a, b in ((1, 1), (3, 2), (2, 5)):
        for stages in ([(name, a, b)], [("fail", 3, 1), (name, a, b)]):
            events = list(range(19))
            for stage, c, d in stages:
                events = STAGES[stage][1](events, c, d)
            assert read(iter(applied(Dataset.range(19), stages)), LIMIT) == events
            assert read(iter(applied(generated(19), stages)), LIMIT) == events
