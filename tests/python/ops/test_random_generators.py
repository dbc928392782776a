"""Generators of random numbers with a state of their own."""

import copy
import threading

import numpy as np
import pytest

import penstock as tf

Generator = tf.random.Generator


def test_the_numbers_of_a_seed_are_those_that_tensorflow_documents():
    first = Generator.from_seed(1234).normal(shape=(2, 3))
    expected = [[0.9356609, 1.0854305, -0.93788373], [-0.5061547, 1.3169702, 0.7137579]]
    np.testing.assert_allclose(first, expected, rtol=1e-6)


def test_integers_of_a_seed_are_tensorflows():
    keys = [472453817354278855, 4059409125917362668, -65898304404607253]
    assert [int(g.key) for g in Generator.from_seed(1234).split(3)] == keys
    assert Generator.from_seed(1234).make_seeds(2).numpy().tolist() == [keys[:2], [0, 0]]
    due = {
        tf.int32: ([-1464656591, 182738035, -1202265352], [-180254357, -1901470197, 1629830848]),
        tf.uint32: ([2830310705, 182738035, 3092701944], [4114712939, 2393497099, 1629830848]),
        tf.int64: (
            [784853886890614065, 8349095772848317176, -6877555611328403100],
            [-8166752306318964373, -6335611874240545088, -1107207716418095382],
        ),
        tf.uint64: (
            [784853886890614065, 8349095772848317176, 11569188462381148516],
            [10279991767390587243, 12111132199469006528, 17339536357291456234],
        ),
    }
    for dtype, (of_generator, of_seed) in due.items():
        assert Generator.from_seed(7).uniform_full_int([3], dtype).numpy().tolist() == of_generator
        assert tf.random.stateless_uniform([3], [5, 6], None, None, dtype).numpy().tolist() == of_seed


def test_truncated_normal_numbers_are_tensorflows():
    of_generator = {
        tf.float16: [-0.43652344, -1.9638672, -0.064514160, -1.0566406, 0.13720703, 0.036560059, 1.0302734],
        tf.float32: [-0.43640924, -1.9633987, -0.064524829, -1.0568410, 0.13718261, 0.036548216, 1.0302736],
        tf.float64: [-0.97696041, -0.12784382, -0.97894198, 1.7347309, 0.14666319, -0.38173066, -1.6923358],
    }
    of_seed = {
        tf.float32: [0.54411012, 0.20738031, 0.073564321, 0.046434551, 0.16820592, -1.6850333, 0.24202858],
        tf.float64: [-0.14231181, 0.74060725, -0.55238776, -0.73445009, -0.39842024, 0.18996540, -1.1075958],
    }
    for dtype, due in of_generator.items():
        got = Generator.from_seed(3).truncated_normal([7], dtype=dtype)
        np.testing.assert_allclose(got.numpy(), due, rtol=1e-3 if dtype == tf.float16 else 3e-6)
    for dtype, due in of_seed.items():
        got = tf.random.stateless_truncated_normal([7], [1, 2], dtype=dtype)
        np.testing.assert_allclose(got.numpy(), due, rtol=3e-6)


def test_truncated_normal_numbers_do_not_depend_on_how_many_are_drawn():
    for dtype in (tf.float32, tf.float64, tf.bfloat16):
        many = tf.random.stateless_truncated_normal([3001], [1, 2], dtype=dtype).numpy().astype(float)
        assert (np.abs(many) <= 2).all()
        few = tf.random.stateless_truncated_normal([100], [1, 2], dtype=dtype).numpy().astype(float)
        np.testing.assert_array_equal(many[:100], few)


def test_binomial_numbers_are_tensorflows():
    g = Generator.from_seed(1)
    assert g.binomial([8], 20.0, 0.3).numpy().tolist() == [5, 6, 8, 4, 3, 7, 5, 4]
    assert g.binomial([8], 200.0, 0.9).numpy().tolist() == [183, 188, 187, 179, 180, 185, 176, 179]
    assert g.binomial([3, 2], [5.0, 500.0], [0.2, 0.7]).numpy().tolist() == [[2, 356], [0, 358], [2, 348]]
    assert g.state.numpy().tolist() == [435201, 0, 0]
    np.testing.assert_allclose(g.uniform([2]), [0.71916974, 0.39287877], rtol=1e-6)


def test_a_state_gives_the_same_numbers_each_time():
    g = Generator.from_seed(7)
    assert g.state.numpy().tolist() == [7, 0, 0]
    a, b = g.normal([5]), g.normal([5])
    assert not np.array_equal(a, b)
    h = Generator.from_state([7, 0, 0], alg="philox")
    np.testing.assert_array_equal(h.normal([5]), a)
    np.testing.assert_array_equal(h.normal([5]), b)
    h.reset([7, 0, 0])
    np.testing.assert_array_equal(h.normal([5]), a)
    h.reset_from_seed(7)
    np.testing.assert_array_equal(h.normal([5]), a)
    h.reset_from_key_counter(0, [7, 0])
    np.testing.assert_array_equal(h.normal([5]), a)
    np.testing.assert_array_equal(Generator.from_key_counter(0, [7, 0]).normal([5]), a)
    assert (g.algorithm, int(g.key)) == (1, 0)


def test_skipping_is_as_drawing():
    g, h = Generator.from_seed(1), Generator.from_seed(1)
    before = g.skip(6)
    h.uniform([2, 3])
    assert before.numpy().tolist() == [1, 0, 0]
    assert g.state.numpy().tolist() == h.state.numpy().tolist() == [1 + 6 * 256, 0, 0]
    g.reset([-1, 0, 5])
    g.skip(1)
    assert g.state.numpy().tolist() == [255, 1, 5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="delta"):
        g.skip(-1)


def test_draws_in_a_function_follow_the_program_and_go_on_from_call_to_call():
    g = Generator.from_seed(3)

    @tf.function
    def f(n):
        total = tf.constant(0.0)
        for _ in tf.range(n):
            total += g.uniform([])
        return total, g.normal([2])

    h = Generator.from_seed(3)
    for n in (3, 0, 2):
        total, pair = f(tf.constant(n))
        assert float(total) == pytest.approx(sum(float(h.uniform([])) for _ in range(n)), rel=1e-6)
        np.testing.assert_array_equal(pair, h.normal([2]))
    assert f.experimental_get_tracing_count() == 1


def test_a_function_makes_its_generator_once():
    class Model(tf.Module):
        g = None

        @tf.function
        def draw(self):
            if self.g is None:
                self.g = Generator.from_seed(5)
            return self.g.normal([])

    model = Model()
    h = Generator.from_seed(5)
    for _ in range(3):
        np.testing.assert_array_equal(model.draw(), h.normal([]))


def test_distributions():
    g = Generator.from_seed(11)
    u = g.uniform([2000], -1.0, 3.0, tf.float64).numpy()
    assert -1 <= u.min() < -0.9
    assert 2.9 < u.max() < 3
    i = g.uniform([2000], 2, 5, tf.int32).numpy()
    assert set(i) == {2, 3, 4}
    t = g.truncated_normal([2000], 10.0, 2.0).numpy()
    assert t.min() >= 6
    assert t.max() <= 14
    b = g.binomial([2000], counts=[20.0], probs=[0.25]).numpy()
    assert b.dtype == np.int32
    assert b.min() >= 0
    assert b.max() <= 20
    assert abs(b.mean() - 5) < 0.2
    assert g.binomial([3, 2], [1.0, 5.0], [0.0, 1.0], tf.float32).numpy().tolist() == [[0.0, 5.0]] * 3
    for dtype in (tf.int32, tf.uint32, tf.int64, tf.uint64):
        full = g.uniform_full_int([4000], dtype)
        assert full.dtype == dtype
        info = np.iinfo(dtype.name)
        spread = float(info.max) - float(info.min)
        assert abs(full.numpy().astype(float).mean() - (float(info.min) + spread / 2)) < 0.03 * spread
    assert g.normal([0]).shape == [0]


def test_splitting_and_seeds():
    g = Generator.from_seed(2)
    parts = g.split(3)
    draws = [tuple(p.normal([3]).numpy()) for p in parts]
    assert len(set(draws)) == 3
    seeds = g.make_seeds(4)
    assert (seeds.shape, seeds.dtype) == ([2, 4], tf.int64)
    assert tf.random.stateless_uniform([2], seeds[:, 0]).shape == [2]
    other = copy.deepcopy(g)
    np.testing.assert_array_equal(other.normal([2]), g.normal([2]))
    np.testing.assert_array_equal(Generator(copy_from=g).normal([2]), g.normal([2]))


def test_a_generator_splits_into_many():
    parts = Generator.from_seed(2).split(65_535)
    keys = {part.state.numpy().tobytes() for part in parts}
    assert (len(parts), len(keys)) == (65_535, 65_535)
    few = Generator.from_seed(2).split(3)
    for many, one in zip(parts, few, strict=False):
        np.testing.assert_array_equal(many.normal([4]), one.normal([4]))


def test_the_global_generator():
    g = Generator.from_seed(9)
    tf.random.set_global_generator(g)
    assert tf.random.get_global_generator() is g


def test_threads_never_draw_the_same_numbers():
    g = Generator.from_seed(1)
    f = tf.function(lambda: g.uniform_full_int([], tf.int64))
    f()
    seen = []

    def work():
        seen.extend(int(f()) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(seen)) == 200


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Generator(), "state"),
        (lambda: Generator.from_state([1, 2], "philox"), r"\[3\]"),
        (lambda: Generator.from_seed(1, alg="mersenne"), "alg"),
        (lambda: Generator.from_seed(1).uniform([2], 0, None, tf.int32), "maxval"),
        (lambda: Generator.from_seed(1).uniform_full_int([2], tf.int8), "int8"),
        (lambda: Generator.from_seed(1).binomial([2], 3.0, 1.5), "probs"),
        (lambda: Generator.from_seed(1).binomial([2], -3.0, 0.5), "counts"),
    ],
)
def test_errors(make, match):
    with pytest.raises(ValueError, match=match):
        make()
