"""Random nests of arguments: subtyping and dispatch against a model, traced calls against eager ones."""

import collections
import dataclasses

import numpy as np
from hypothesis import given, settings, strategies as st

import penstock as tf

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Record:
    x: object
    y: object


# --- the model ----------------------------------------------------------------
#
# A nest is modelled as nested tuples: ("tensor", dtype, shape), ("literal", type, value), or a container's
# kind, its keys and its children. A shape is None or a tuple of sizes and Nones.


def shape_within(a, b):
    if b is None:
        return True
    return a is not None and len(a) == len(b) and all(y is None or x == y for x, y in zip(a, b, strict=True))


def within(a, b):
    """Whether a call of type `a` may use a trace made for `b`."""
    if a[0] != b[0]:
        return False
    if a[0] == "tensor":
        return a[1] == b[1] and shape_within(a[2], b[2])
    if a[0] == "literal":
        return a[1] is b[1] and repr(a[2]) == repr(b[2])
    return a[1] == b[1] and len(a[2]) == len(b[2]) and all(map(within, a[2], b[2]))


def chosen(call, traces):
    """The position of the trace that serves a call, or None: of the narrowest, the first."""
    fitting = [i for i, t in enumerate(traces) if within(call, t)]
    narrowest = [
        i
        for i in fitting
        if not any(within(traces[j], traces[i]) and not within(traces[i], traces[j]) for j in fitting)
    ]
    return narrowest[0] if narrowest else None


def built(model, leaf):
    """The argument of a model, with `leaf(dtype, shape)` in place of tensors."""
    kind = model[0]
    if kind == "tensor":
        return leaf(model[1], model[2])
    if kind == "literal":
        return model[2]
    keys, children = model[1], [built(child, leaf) for child in model[2]]
    if kind == "dict":
        return dict(zip(keys, children, strict=True))
    if kind == "pair":
        return Pair(*children)
    if kind == "record":
        return Record(*children)
    return list(children) if kind == "list" else tuple(children)


DTYPES = ["float32", "int32"]
sizes = st.integers(0, 2)
open_shapes = st.none() | st.lists(st.none() | sizes, max_size=2).map(tuple)
known_shapes = st.lists(sizes, max_size=2).map(tuple)
literals = st.sampled_from([None, True, False, 0, 1, 2, 0.0, -0.0, 1.0, "", "a", b"a", 2**70]).map(
    lambda v: ("literal", type(v), v)
)


def nests(shapes):
    tensors = st.tuples(st.just("tensor"), st.sampled_from(DTYPES), shapes)

    def containers(inner):
        few = st.lists(inner, max_size=3)
        return st.one_of(
            few.map(lambda xs: ("list", (), tuple(xs))),
            few.map(lambda xs: ("tuple", (), tuple(xs))),
            st.tuples(inner, inner).map(lambda xs: ("pair", (), xs)),
            st.tuples(inner, inner).map(lambda xs: ("record", (), xs)),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
                lambda d: ("dict", tuple(sorted(d)), tuple(d[k] for k in sorted(d)))
            ),
        )

    return st.recursive(tensors | literals, containers, max_leaves=5)


def spec(dtype, shape):
    return tf.TensorSpec(shape, dtype)


def zeros(dtype, shape):
    return tf.zeros(shape, dtype)


def variations(model):
    """Models that differ from one here and there."""

    def vary(m, draw):
        if m[0] == "tensor" and draw(st.booleans()):
            return (
                m[0],
                draw(st.sampled_from([m[1], *DTYPES])),
                draw(st.sampled_from([m[2], None, (None,) * len(m[2] or ())])),
            )
        if m[0] == "literal" and draw(st.integers(0, 3)) == 0:
            return draw(literals)
        if m[0] in ("tensor", "literal"):
            return m
        return (m[0], m[1], tuple(vary(child, draw) for child in m[2]))

    return st.composite(lambda draw: vary(model, draw))()


# --- the properties -----------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_subtyping_agrees_with_the_model(data):
    a = data.draw(nests(known_shapes))
    b = data.draw(nests(open_shapes) | variations(a))
    f = tf.function(lambda x: 0, autograph=False)
    f.get_concrete_function(built(b, spec))
    f(built(a, zeros))
    assert (f.experimental_get_tracing_count() == 1) == within(a, b), (a, b)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_dispatch_is_the_model_s_choice(data):
    call = data.draw(nests(known_shapes))
    models = data.draw(st.lists(variations(call) | nests(open_shapes), min_size=1, max_size=5))
    f = tf.function(lambda x: 0, autograph=False)
    traces = []
    for m in models:
        f.get_concrete_function(built(m, spec))
        if not any(within(m, t) and within(t, m) for t in traces):
            traces.append(m)
    assert len(f._traces()) == len(traces)
    for _ in range(2):  # by comparison, then from the table
        before = [t._statistics()[0] for t in f._traces()]
        f(built(call, zeros))
        after = [t._statistics()[0] for t in f._traces()]
        served = [i for i, n in enumerate(after) if n != (before[i] if i < len(before) else 0)]
        expected = chosen(call, traces)
        if expected is None:
            expected = len(traces)
            traces.append(call)
        assert served == [expected]


@settings(max_examples=150, deadline=None)
@given(st.lists(nests(known_shapes), min_size=1, max_size=4), st.booleans())
def test_traced_calls_equal_eager_ones(models, relax):
    def body(x):
        leaves = [leaf for leaf in tf.nest.flatten(unwrapped(x)) if tf.is_tensor(leaf)]
        total = tf.constant(0.0)
        for i, leaf in enumerate(leaves):
            total += tf.reduce_sum(tf.cast(leaf, tf.float32)) * float(i + 1)
        return {"total": total, "argument": list(leaves)}

    rng = np.random.default_rng(7)

    def numbers(dtype, shape):
        return tf.constant(rng.integers(-5, 5, shape), dtype)

    f = tf.function(body, autograph=False, reduce_retracing=relax)
    for model in models * 2:
        argument = built(model, numbers)
        eager, traced = body(argument), f(argument)
        assert float(eager["total"]) == float(traced["total"])
        for a, b in zip(eager["argument"], traced["argument"], strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a.numpy(), b.numpy())


def unwrapped(x):
    """Records as tuples, which `tf.nest` knows."""
    if isinstance(x, Record):
        return (unwrapped(x.x), unwrapped(x.y))
    if isinstance(x, dict):
        return {k: unwrapped(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return tuple(unwrapped(v) for v in x)
    return x


@settings(max_examples=100, deadline=None)
@given(st.lists(known_shapes, min_size=1, max_size=6))
def test_generalised_traces_cover_what_they_were_made_of(shapes):
    seen = []

    def body(x):
        seen.append(None if x.shape.rank is None else tuple(x.shape.as_list()))
        return tf.shape(x)

    f = tf.function(body, autograph=False, reduce_retracing=True)
    for shape in shapes:
        assert tuple(f(tf.zeros(shape)).numpy()) == shape
        assert shape_within(shape, seen[-1]) or any(shape_within(shape, s) for s in seen)
    # A size never becomes known again, so there are few traces.
    assert len(seen) <= 8
