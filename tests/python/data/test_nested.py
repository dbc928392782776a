"""Data sets that branches and loops of graphs make or go over, and data sets as elements."""

import numpy as np
import pytest

import penstock as tf

Dataset = tf.data.Dataset


def early(x):
    if x == 0:
        return Dataset.range(2)
    return Dataset.range(x + 4).map(lambda y: y * x)


def assigned(x):
    if x == 0:
        found = Dataset.range(x + 1)
    elif x == 1:
        found = Dataset.range(x + 4).map(lambda y: y - x)
    else:
        found = Dataset.range(3)
        if x == 2:
            found = found.batch(2).unbatch()
    return found


def grown(x):
    found = Dataset.range(x)
    for i in tf.range(2):
        by = tf.cast(i, tf.int64) + x
        found = found.map(lambda y, by=by: y + by)
    return found


def chosen(x):
    twice = Dataset.range(x).concatenate(Dataset.range(x))
    return tf.cond(x > 1, lambda: Dataset.range(x * x), lambda: twice)


def switched(x):
    def one():
        return Dataset.range(x * 3)

    return tf.switch_case(tf.cast(x, tf.int32), [lambda: Dataset.range(x + 1), one], lambda: Dataset.range(x))


@pytest.mark.parametrize("make", [early, assigned, grown, chosen, switched])
def test_a_mapped_function_makes_data_sets_in_branches_and_loops(make):
    def eagerly(x):
        return [int(y) for y in make(np.int64(x) if make in (early, assigned) else tf.constant(x, tf.int64))]

    expected = [eagerly(x) for x in range(4)]
    assert [[int(y) for y in inner] for inner in Dataset.range(4).map(make)] == expected
    assert [int(y) for y in Dataset.range(4).flat_map(make)] == [y for inner in expected for y in inner]
    traced = tf.function(lambda x: make(x).reduce(np.int64(0), lambda s, y: s + y))
    assert [int(traced(tf.constant(x, tf.int64))) for x in range(4)] == [sum(inner) for inner in expected]


def test_data_sets_of_branches_have_a_common_specification():
    def parts(x):
        if x == 0:
            return Dataset.range(3).batch(2, drop_remainder=True)
        return Dataset.range(3).batch(2)

    found = Dataset.range(2).flat_map(parts)
    assert found.element_spec == tf.TensorSpec([None], tf.int64)
    assert [x.numpy().tolist() for x in found] == [[0, 1], [0, 1], [2]]

    def different(x):
        if x == 0:
            return Dataset.range(2)
        return Dataset.from_tensor_slices(["a"])

    with pytest.raises(TypeError, match="one type"):
        Dataset.range(2).map(different)

    def changing(x):
        found = Dataset.range(4).batch(2, drop_remainder=True)
        for _ in tf.range(x):
            found = found.unbatch().batch(2)
        return found

    with pytest.raises(TypeError, match="specification in a loop"):
        Dataset.range(2).map(changing)


def test_iterators_of_branches_go_on_behind_them():
    @tf.function
    def total(x):
        if x > 0:
            iterator = iter(Dataset.range(x))
        else:
            iterator = iter(Dataset.range(x + 5))
        s = next(iterator) * 100
        for y in iterator:
            s += y
        return s

    assert [int(total(tf.constant(x, tf.int64))) for x in (3, 0)] == [3, 10]


def test_data_sets_are_elements_of_data_sets_that_a_graph_makes():
    @tf.function
    def total(n):
        s = tf.constant(0, tf.int64)
        for inner, factor in Dataset.from_tensors((Dataset.range(n), n)):
            for x in inner:
                s += x * factor
        return s

    assert int(total(tf.constant(4, tf.int64))) == 24
    nested = Dataset.range(3).map(Dataset.range).window(2).flat_map(lambda w: w)
    found = nested.flat_map(lambda inner: Dataset.from_tensors(inner)).flat_map(lambda inner: inner)
    assert [int(x) for x in found] == [0, 0, 1]


def listed(dataset):
    return [[int(y) for y in inner] for inner in dataset]


def test_data_sets_are_stacked_and_taken_apart():
    inner = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    given = Dataset.from_tensor_slices([Dataset.range(3), Dataset.range(2)])
    assert given.element_spec == inner
    assert listed(given) == [[0, 1, 2], [0, 1]]
    stacked = Dataset.range(3).map(Dataset.range).batch(2)
    assert stacked.element_spec == tf.data.DatasetSpec(tf.TensorSpec([], tf.int64), [None])
    assert [len(x) for x in stacked] == [2, 1]
    assert stacked.unbatch().element_spec == inner
    assert listed(stacked.unbatch()) == listed(stacked.batch(2).unbatch().unbatch()) == [[], [0], [0, 1]]
    assert [len(x) for x in stacked.rebatch([0, 3])] == [0, 3, 0]
    assert listed(Dataset.range(6).window(3).batch(2).unbatch()) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="one type"):
        Dataset.from_tensor_slices([Dataset.range(3), Dataset.from_tensors("a")])
    with pytest.raises(TypeError, match="unbatch"):
        given.unbatch()

    @tf.function
    def total(n):
        s = tf.constant(0, tf.int64)
        made = Dataset.range(n).map(Dataset.range).batch(2).map(lambda stack: stack)
        for x in made.unbatch().flat_map(lambda inner: inner):
            s += x
        return s

    assert int(total(tf.constant(4, tf.int64))) == 4


def test_specifications_of_stacks_tell_their_shapes_apart():
    one, two, some = (tf.data.DatasetSpec(tf.TensorSpec([]), shape) for shape in ([], [2], [None]))
    assert some.is_compatible_with(two)
    assert not one.is_compatible_with(two)
    assert two.most_specific_common_supertype([tf.data.DatasetSpec(tf.TensorSpec([]), [3])]) == some
    assert len({one, two, some, tf.data.DatasetSpec(tf.TensorSpec([]))}) == 3


def test_elements_of_unknown_shape_add_up_to_a_scalar():
    def pairs():
        yield 1, 2
        yield 3, 4

    @tf.function
    def total(ds):
        s = 0
        for x, y in ds:
            s += x * y
        return s

    ds = Dataset.from_generator(pairs, (tf.int32, tf.int32))
    assert ds.element_spec == (tf.TensorSpec(None, tf.int32),) * 2
    assert int(total(ds)) == int(total(ds.prefetch(1))) == 14
