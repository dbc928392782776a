"""Optimisers, step counters, learning rates and savers of TensorFlow 1."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
START, GRADS = np.array([1.0, -2.0]), [np.array([0.5, -1.0]), np.array([-0.25, 2.0]), np.array([1.5, 0.125])]


def descent(w, grads):
    for g in grads:
        w = w - 0.1 * g
    return w


def momentum(w, grads, nesterov=False):
    a = 0.0
    for g in grads:
        a = 0.9 * a + g
        w = w - 0.1 * (g + 0.9 * a if nesterov else a)
    return w


def adagrad(w, grads):
    a = 0.1
    for g in grads:
        a = a + g * g
        w = w - 0.1 * g / np.sqrt(a)
    return w


def adadelta(w, grads):
    a = u = 0.0
    for g in grads:
        a = 0.95 * a + 0.05 * g * g
        step = np.sqrt(u + 1e-8) / np.sqrt(a + 1e-8) * g
        u = 0.95 * u + 0.05 * step * step
        w = w - 0.1 * step
    return w


def rmsprop(w, grads, centered=False):
    ms, mg, mom = 1.0, 0.0, 0.0
    for g in grads:
        ms = 0.9 * ms + 0.1 * g * g
        mg = 0.9 * mg + 0.1 * g
        mom = 0.5 * mom + 0.1 * g / np.sqrt(ms - (mg * mg if centered else 0.0) + 1e-10)
        w = w - mom
    return w


def adam(w, grads):
    m = v = 0.0
    for t, g in enumerate(grads, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    return w


def ftrl(w, grads):
    n, z = 0.1, 0.0
    for g in grads:
        new = n + g * g
        z = z + g - (np.sqrt(new) - np.sqrt(n)) / 0.1 * w
        n = new
        w = (np.clip(z, -0.01, 0.01) - z) / (np.sqrt(n) / 0.1 + 2 * 0.02)
    return w


def proximal(w, grads):
    for g in grads:
        w = w - 0.1 * g
        w = np.sign(w) * np.maximum(np.abs(w) - 0.1 * 0.01, 0.0) / (1 + 0.1 * 0.02)
    return w


def adagrad_da(w, grads):
    sums, squares = 0.0, 0.1
    for step, g in enumerate(grads, 1):
        sums, squares = sums + g, squares + g * g
        far = np.sign(sums) * np.maximum(np.abs(sums) - 0.01 * step, 0.0)
        w = -0.1 * far / (0.02 * step * 0.1 + np.sqrt(squares))
    return w


class Counter:
    """A step that a variable counts; made where the optimizer is."""

    def __new__(cls):
        return tf.Variable(0, dtype=tf.int64, trainable=False, name="step")


class CountedAdagradDA(v1.train.AdagradDAOptimizer):
    """Counts its steps."""

    def minimize(self, loss, **options):
        return super().minimize(loss, self._global_step, **options)


CASES = {
    "descent": (lambda: v1.train.GradientDescentOptimizer(0.1), descent),
    "momentum": (lambda: v1.train.MomentumOptimizer(0.1, 0.9), momentum),
    "nesterov": (
        lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda w, g: momentum(w, g, True),
    ),
    "adagrad": (lambda: v1.train.AdagradOptimizer(0.1), adagrad),
    "adagrad_da": (lambda: CountedAdagradDA(0.1, Counter(), 0.1, 0.01, 0.02), adagrad_da),
    "adadelta": (lambda: v1.train.AdadeltaOptimizer(0.1), adadelta),
    "rmsprop": (lambda: v1.train.RMSPropOptimizer(0.1, momentum=0.5), rmsprop),
    "centered": (
        lambda: v1.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        lambda w, g: rmsprop(w, g, True),
    ),
    "adam": (lambda: v1.train.AdamOptimizer(0.1), adam),
    "ftrl": (
        lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
        ftrl,
    ),
    "proximal": (lambda: v1.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02), proximal),
}


@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_follows_its_formula_in_a_session(name):
    make, formula = CASES[name]
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=tf.constant(START))
        slope = v1.placeholder(tf.float64, [2])
        step = make().minimize(tf.reduce_sum(w * slope))
        session.run(v1.global_variables_initializer())
        for grad in GRADS:
            session.run(step, {slope: grad})
        np.testing.assert_allclose(session.run(w), formula(START, GRADS), rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_follows_its_formula_at_once(name):
    make, formula = CASES[name]
    w, optimizer = tf.Variable(START), make()
    for grad in GRADS:
        assert optimizer.minimize(lambda grad=grad: tf.reduce_sum(w * grad), var_list=[w]) is None
    np.testing.assert_allclose(w, formula(START, GRADS), rtol=1e-9)


@pytest.mark.parametrize("name", ["descent", "momentum", "adagrad", "rmsprop"])
def test_rows_without_a_gradient_stay(name):
    make, formula = CASES[name]
    w, optimizer = tf.Variable(np.stack([START, START, START])), make()
    for grad in GRADS:
        # Half of the gradient twice, for the same row.
        rows = tf.IndexedSlices(tf.constant(np.stack([grad / 2, grad / 2])), [1, 1])
        optimizer.apply_gradients([(rows, w)])
    np.testing.assert_allclose(w[0], START)
    np.testing.assert_allclose(w[1], formula(START, GRADS), rtol=1e-9)


def test_the_variables_of_an_optimizer_have_tensorflows_names():
    with tf.Graph().as_default():
        w = v1.get_variable("w", [2])
        optimizer = v1.train.AdamOptimizer()
        step = v1.train.get_or_create_global_step()
        train = optimizer.minimize(tf.reduce_sum(w * w), global_step=step)
        names = {v.name for v in v1.global_variables()}
        assert names == {
            "w:0", "w/Adam:0", "w/Adam_1:0", "beta1_power:0", "beta2_power:0", "global_step:0"
        }  # fmt: skip
        assert v1.trainable_variables() == [w]
        assert optimizer.get_slot(w, "m").name == "w/Adam:0"
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(train)
            session.run(train)
            assert v1.train.global_step(session, step) == 2


def test_a_loss_without_variables_is_an_error():
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    w = tf.Variable(1.0)
    with pytest.raises(ValueError, match="no gradients"):
        optimizer.minimize(lambda: tf.constant(1.0), var_list=[w])
    with pytest.raises(RuntimeError, match="'loss' must be a function"):
        optimizer.minimize(tf.constant(1.0), var_list=[w])
    with pytest.raises(TypeError, match="must list variables"):
        optimizer.minimize(lambda: w * 1.0, var_list=[tf.constant(1.0)])


def test_learning_rates_that_fall_are_tensors_of_a_graph():
    with tf.Graph().as_default(), v1.Session() as session:
        step = v1.placeholder(tf.int64, [])
        rates = [
            v1.train.exponential_decay(0.5, step, 4, 0.5, staircase=True),
            v1.train.polynomial_decay(1.0, step, 10, 0.1, power=2.0),
            v1.train.polynomial_decay(1.0, step, 4, 0.0, cycle=True),
            v1.train.inverse_time_decay(1.0, step, 2, 0.5),
            v1.train.cosine_decay(1.0, step, 8, alpha=0.5),
            v1.train.piecewise_constant(step, [4, 8], [1.0, 0.5, 0.25]),
        ]
        at = session.run(rates, {step: 6})
    expected = [0.25, 0.9 * 0.16 + 0.1, 1 - 6 / 8, 1 / 2.5, 0.5 * 0.5 * (1 + np.cos(np.pi * 0.75)) + 0.5, 0.5]
    np.testing.assert_allclose(at, expected, rtol=1e-6)


def test_a_saver_writes_and_reads_the_values_of_a_session(tmp_path):
    with tf.Graph().as_default():
        a = v1.get_variable("layer/a", initializer=tf.constant([1.0, 2.0]))
        step = v1.train.get_or_create_global_step()
        saver = v1.train.Saver(max_to_keep=2)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            paths = []
            for _ in range(3):
                session.run([a.assign_add([1.0, 1.0]), step.assign_add(1)])
                paths.append(saver.save(session, tmp_path / "model", global_step=step))
        assert [p.rsplit("/", 1)[-1] for p in paths] == ["model-1", "model-2", "model-3"]
        assert saver.last_checkpoints == paths[1:]
        assert not (tmp_path / "model-1.index").exists()
        assert v1.train.latest_checkpoint(tmp_path) == paths[-1]
        assert dict(tf.train.list_variables(paths[-1])) == {"layer/a": [2], "global_step": []}
        with v1.Session() as session:
            saver.restore(session, paths[1])
            assert session.run(a).tolist() == [3.0, 4.0]
            assert session.run(step) == 2


def test_a_saver_names_what_does_not_fit(tmp_path):
    path = v1.train.Saver({"v": tf.Variable([1.0])}).save(None, tmp_path / "model")
    with pytest.raises(tf.errors.NotFoundError, match="key w not found"):
        v1.train.Saver({"w": tf.Variable([1.0])}).restore(None, path)
    with pytest.raises(ValueError, match="shape"):
        v1.train.Saver({"v": tf.Variable([1.0, 2.0])}).restore(None, path)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="no variables to save"):
        v1.train.Saver()


def test_the_rest_of_train_is_version_2s():
    assert v1.train.Checkpoint is tf.train.Checkpoint
    with pytest.raises(AttributeError, match="NoSuchThing"):
        v1.train.NoSuchThing


def test_means_of_a_graph_are_its_variables_and_move_behind_a_step():
    with tf.Graph().as_default():
        v = v1.get_variable("v", [2], initializer=v1.constant_initializer([1.0, 2.0]))
        step = v1.assign_add(v, [1.0, 1.0])
        ema = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([step]):
            train = ema.apply([v])
        mean = ema.average(v)
        assert v1.get_collection(v1.GraphKeys.MOVING_AVERAGE_VARIABLES) == [v]
        assert any(each is mean for each in v1.global_variables())
        for _ in range(2):
            with v1.Session() as session:
                # Nothing that sets a variable first waits for the step.
                session.run(v1.global_variables_initializer())
                assert session.run(v).tolist() == [1, 2]
                assert session.run(mean).tolist() == [1, 2]
                session.run(train)
                assert session.run(v).tolist() == [2, 3]
                assert session.run(mean).tolist() == [1.5, 2.5]


def test_a_graph_with_a_seed_draws_the_same_in_each_session_and_in_a_graph_like_it():
    def drawn(seed):
        with tf.Graph().as_default() as graph:
            if seed is not None:
                v1.set_random_seed(seed)
            assert graph.seed == seed
            x, y = tf.random.uniform([3]), v1.random_normal([2])
            z = tf.random.shuffle(tf.range(20))
            w = v1.get_variable("w", [4])
            found = []
            for _ in range(2):
                with v1.Session() as session:
                    session.run(w.initializer)
                    found.append([part.tolist() for each in (x, x, y, z, w) for part in [session.run(each)]])
            return found

    first, again = drawn(7)
    assert first == again
    # What is drawn next is other numbers, and so is what another operation draws.
    assert first[0] != first[1]
    assert drawn(7) == [first, first]
    assert drawn(8)[0] != first
    free = drawn(None)
    assert free[0] != free[1]


def test_the_seed_of_a_graph_is_its_own():
    with tf.Graph().as_default() as graph:
        tf.random.set_seed(3)
        assert graph.seed == 3
    with tf.Graph().as_default() as other:
        assert other.seed is None
        other.seed = 4
        assert other.seed == 4
        tf.random.set_seed(None)
        assert other.seed is None
        with pytest.raises(TypeError, match="'seed' must be an integer"):
            other.seed = "a"


def test_each_session_draws_the_sequence_of_a_seed_from_its_beginning():
    with tf.Graph().as_default():
        x = tf.random.uniform([3], seed=5)
        found = []
        for _ in range(2):
            with v1.Session() as session:
                found.append([session.run(x).tolist() for _ in range(2)])
        assert found[0] == found[1]
        assert found[0][0] != found[0][1]
        assert v1.global_variables() == []


def test_means_are_restored_beside_all_other_variables():
    with tf.Graph().as_default():
        a = v1.get_variable("a", initializer=1.0)
        fixed = v1.get_variable("fixed", initializer=2.0, trainable=False)
        step = v1.train.get_or_create_global_step()
        averages = v1.train.ExponentialMovingAverage(0.5, step)
        averages.apply([a])
        assert averages.variables_to_restore() == {
            "a/ExponentialMovingAverage": a,
            "fixed": fixed,
            "global_step": step,
        }
        assert averages.variables_to_restore([a, fixed]) == {
            "a/ExponentialMovingAverage": a,
            "fixed/ExponentialMovingAverage": fixed,
            "global_step": step,
        }


def test_an_optimizer_lists_its_variables_by_name_and_wants_a_loss_of_floats():
    with tf.Graph().as_default():
        w, b = v1.get_variable("w", initializer=1.0), v1.get_variable("b", initializer=1.0)
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(w * b)
        assert [v.name for v in optimizer.variables()] == ["b/Momentum:0", "w/Momentum:0"]
        with pytest.raises(ValueError, match="'loss' must be of floats, got dtype int32"):
            optimizer.compute_gradients(tf.cast(w, tf.int32))


def test_a_path_without_a_checkpoint_is_a_value_error(tmp_path):
    with tf.Graph().as_default(), v1.Session() as sess:
        v1.get_variable("a", initializer=1.0)
        for path in (None, str(tmp_path / "none")):
            with pytest.raises(ValueError, match="argument 'save_path'"):
                v1.train.Saver().restore(sess, path)


def test_variables_that_an_optimizer_shares_come_before_those_of_each_variable():
    with tf.Graph().as_default():
        w = v1.get_variable("w", [2])
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(w))
        names = [variable.name for variable in v1.global_variables()]
    assert names == ["w:0", "beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0"]


def test_learning_rates_have_names_of_their_own():
    with tf.Graph().as_default() as graph:
        step = v1.train.get_or_create_global_step()
        decay = v1.train.exponential_decay
        assert decay(0.1, step, 10, 0.5).name == "ExponentialDecay:0"
        assert decay(0.1, step, 10, 0.5).name == "ExponentialDecay_1:0"
        assert v1.train.natural_exp_decay(0.1, step, 1, 1.0).name == "NaturalExpDecay:0"
        assert v1.train.polynomial_decay(0.1, step, 10).name == "PolynomialDecay:0"
        assert v1.train.cosine_decay(0.1, step, 10, name="rate").name == "rate:0"
        assert any(op.name.startswith("ExponentialDecay/") for op in graph.get_operations())


def test_updates_of_optimizers_are_in_the_collection_of_their_graph():
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [2])
        first = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w))
        second = v1.train.AdamOptimizer().minimize(tf.reduce_sum(w), v1.train.create_global_step())
    assert graph.get_collection(v1.GraphKeys.TRAIN_OP) == [first, second]
