"""Graphs and sessions as TensorFlow 1 has them."""

import sys

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def test_a_session_runs_what_is_fetched_with_what_is_fed():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, shape=[None], name="x")
        y = x * 2.0
        z = tf.reduce_sum(y)
        with v1.Session() as sess:
            assert sess.run(y, feed_dict={x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
            assert sess.run([y, {"z": z, "again": (z, x)}], {x: [3.0]}) == [
                pytest.approx([6.0]),
                {"z": 6.0, "again": (6.0, pytest.approx([3.0]))},
            ]
            assert sess.run("x:0", {"x:0": [5.0]}).tolist() == [5.0]
            assert isinstance(sess.run(z, {x: np.ones(3, np.float32)}), np.float32)
            # Any tensor can be fed, and is not computed then.
            assert sess.run(z, {y: [10.0, 20.0]}) == 30.0


def test_variables_are_fetched_by_name():
    with tf.Graph().as_default(), v1.Session() as sess:
        w = v1.get_variable("w", [2], initializer=v1.constant_initializer(2.0))
        sess.run(w.initializer)
        assert sess.run("w:0").tolist() == [2.0, 2.0]
        sess.run(w.assign([1.0, 3.0]))
        assert sess.run(["w:0"])[0].tolist() == [1.0, 3.0]
        with pytest.raises(ValueError, match="u:0"):
            sess.run("u:0")


def test_what_is_not_fetched_does_not_run():
    ran = []

    def note(value):
        ran.append(float(value))
        return value

    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32)
        y = tf.py_function(note, [x], tf.float32)
        z = x + 1.0
        with v1.Session() as sess:
            assert sess.run(z, {x: 1.0}) == 2.0
            assert ran == []
            assert sess.run(y, {x: 3.0}) == 3.0
            assert ran == [3.0]


def test_the_example_of_py_function_in_a_graph():
    def log_huber(x, m):
        if tf.abs(x) <= m:
            return x**2
        else:
            return m**2 * (1 - 2 * tf.math.log(m) + tf.math.log(x**2))

    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32)
        m = v1.placeholder(tf.float32)
        y = tf.py_function(func=log_huber, inp=[x, m], Tout=tf.float32)
        dy_dx = v1.gradients(y, x)[0]
        with v1.Session() as sess:
            assert sess.run([y, dy_dx], feed_dict={x: 1.0, m: 2.0}) == [1.0, 2.0]
            y3, dy3 = sess.run([y, dy_dx], feed_dict={x: 3.0, m: 1.0})
            assert y3 == pytest.approx(1 + np.log(9.0))
            assert dy3 == pytest.approx(2 / 3)


def test_variables_are_initialised_by_an_operation():
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], name="v")
        w = tf.Variable(lambda: v1.to_float(3), trainable=False)
        assert v.name == "v:0"
        add = v.assign_add([10.0, 10.0])
        set_w = v1.assign(w, 7.0)
        with v1.Session() as sess:
            with pytest.raises(tf.errors.FailedPreconditionError, match="no value"):
                sess.run(v * 1.0)
            assert sess.run(v1.global_variables_initializer()) is None
            assert sess.run([v, w])[0].tolist() == [1.0, 2.0]
            assert sess.run(add).tolist() == [11.0, 12.0]
            assert sess.run(v + 0.0).tolist() == [11.0, 12.0]
            assert sess.run(w + 0.0) == 3.0
            assert sess.run(set_w) == 7.0
            sess.run(v.initializer)
            assert sess.run(v).tolist() == [1.0, 2.0]
        assert v1.global_variables() == [v, w]
        assert v1.trainable_variables() == [v]


def test_a_gradient_descent_in_a_graph():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 2])
        t = v1.placeholder(tf.float32, [None, 1])
        w = v1.get_variable("w", [2, 1], initializer=v1.glorot_uniform_initializer())
        loss = tf.reduce_mean((tf.matmul(x, w) - t) ** 2)
        (grad,) = v1.gradients(loss, [w])
        train = w.assign_sub(0.1 * grad)
        rng = np.random.default_rng(0)
        xs = rng.normal(size=(50, 2)).astype(np.float32)
        ts = xs @ np.array([[2.0], [-3.0]], np.float32)
        with v1.Session() as sess:
            sess.run(v1.global_variables_initializer())
            first = sess.run(loss, {x: xs, t: ts})
            for _ in range(100):
                sess.run(train, {x: xs, t: ts})
            assert sess.run(loss, {x: xs, t: ts}) < first * 1e-3
            np.testing.assert_allclose(sess.run(w), [[2.0], [-3.0]], atol=0.05)


def test_an_operation_that_does_nothing_runs_what_it_waits_for():
    for no_op in (tf.no_op, v1.no_op, v1.group):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
            session.run(v.initializer)
            with (
                tf.control_dependencies([v1.assign_add(v, 1.0)]),
                tf.control_dependencies([v1.assign_add(v, 10.0)]),
            ):
                train = no_op(name="train")
                with tf.control_dependencies(None):
                    free = no_op(name="free")
            assert graph.get_operation_by_name("train") is train
            session.run(train)
            assert session.run(v) == 11
            session.run("free")
            assert session.run(v) == 11
            session.run([train, free])
            assert session.run(v) == 22
    assert tf.no_op() is None


def test_control_dependencies_on_none_free_what_is_within():
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        session.run(v.initializer)
        with tf.control_dependencies([v1.assign_add(v, 1.0)]):
            waiting = tf.constant(1.0) * 2.0
            with tf.control_dependencies(None):
                free = tf.constant(2.0) * 3.0
            last = tf.constant(3.0) * 4.0
        assert session.run(free) == 6
        assert session.run(v) == 0
        assert session.run([waiting, last]) == [2, 12]
        assert session.run(v) == 1


def test_tables_are_filled_with_what_a_graph_computes_of_constants():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.string, [None])
        keys = tf.strings.join([tf.constant(["a", "b"]), "!"])
        pairs = tf.lookup.KeyValueTensorInitializer(keys, tf.range(2, dtype=tf.int64) * 5)
        table = tf.lookup.StaticHashTable(pairs, tf.constant(-1, tf.int64))
        y = table.lookup(x)
        session.run(v1.tables_initializer())
        assert session.run(y, {x: ["b!", "b"]}).tolist() == [5, -1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="'keys' must have a value when the table"):
            tf.lookup.KeyValueTensorInitializer(x, [1])

    @tf.function
    def made(x):
        pairs = tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([1]))
        tf.lookup.StaticHashTable(pairs, tf.constant(0))
        return tf.lookup.KeyValueTensorInitializer(x, tf.constant([1]))

    with pytest.raises(ValueError, match="out of scope"):
        made(tf.constant(["a"]))


def test_control_dependencies_and_groups_make_operations_run(capsys):
    for control in (tf.control_dependencies, v1.control_dependencies):
        with tf.Graph().as_default():
            v = tf.Variable(0)
            bump = v.assign_add(1)
            with control([bump]):
                after = tf.constant(5) + 0
            plain = tf.constant(5) + 0
            both = tf.group(v.assign_add(10), tf.print("grouped", output_stream=sys.stdout))
            with v1.Session() as sess:
                sess.run(v1.global_variables_initializer())
                assert sess.run(plain) == 5
                assert sess.run(v) == 0
                assert sess.run(after) == 5
                assert sess.run(v) == 1
                assert sess.run(both) is None
                assert sess.run(v) == 11
                sess.run(v1.no_op())
    assert capsys.readouterr().out == "grouped\n" * 2


def test_control_flow_and_traced_functions_in_a_graph():
    @tf.function
    def square(x):
        if tf.reduce_sum(x) > 100.0:
            x = -x
        return x * x

    with tf.Graph().as_default():
        n = v1.placeholder(tf.int32, [])
        total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))[1]
        picked = tf.cond(n > 2, lambda: n * 10, lambda: n)
        squared = square(tf.cast(n, tf.float32))
        with v1.Session() as sess:
            assert sess.run([total, picked, squared], {n: 5}) == [10, 50, 25.0]
            assert sess.run([total, picked], {n: 1}) == [0, 1]


def test_errors_say_what_is_wrong():
    with pytest.raises(RuntimeError, match="not compatible with eager"):
        v1.placeholder(tf.float32)
    with pytest.raises(RuntimeError, match="GradientTape"):
        v1.gradients(tf.constant(1.0), tf.constant(1.0))
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="data")
        y = x + 1.0
        with v1.Session() as sess:
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"'data' with dtype float32 and shape \[2\]"
            ):
                sess.run(y)
            with pytest.raises(ValueError, match="shape"):
                sess.run(y, {x: [1.0]})
            with pytest.raises(TypeError, match="fetches"):
                sess.run(3.0)
            with pytest.raises(TypeError, match="feed_dict"):
                sess.run(y, {3: 1.0})
            with pytest.raises(ValueError, match="missing"):
                sess.run("missing:0")
        with pytest.raises(RuntimeError, match="closed"):
            sess.run(y, {x: [1.0, 2.0]})
    with tf.Graph().as_default():
        z = v1.placeholder(tf.float32, [])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not an element"):
            v1.Session(graph=graph).run(z, {z: 1.0})


def test_a_graph_can_be_entered_again_and_run_from_outside():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32)
        y = x * 2.0
    assert tf.executing_eagerly()
    assert (tf.constant(1.0) + 1.0).numpy() == 2.0
    with graph.as_default():
        assert not tf.executing_eagerly()
        assert v1.get_default_graph() is graph
        z = y + 1.0
    with v1.Session(graph=graph) as sess:
        assert sess.run(z, {x: 3.0}) == 7.0
    sess = v1.Session(graph=graph)
    assert sess.run([y, z], {x: 1.0}) == [2.0, 3.0]


def test_the_default_graph_without_eager_execution():
    v1.disable_eager_execution()
    try:
        v1.reset_default_graph()
        x = v1.placeholder(tf.float32, name="x")
        y = tf.sqrt(x)
        assert not tf.executing_eagerly()
        with v1.Session() as sess:
            assert sess.run(y, {x: 9.0}) == 3.0
        first = v1.get_default_graph()
        v1.reset_default_graph()
        assert v1.get_default_graph() is not first
    finally:
        v1.enable_eager_execution()
    assert tf.executing_eagerly()


def test_variables_are_shared_by_name_where_a_scope_says_so():
    with tf.Graph().as_default():
        with v1.variable_scope("layer"):
            w = v1.get_variable("w", [2], initializer=tf.zeros_initializer())
        assert w.name == "layer/w:0"
        with v1.variable_scope("layer", reuse=True):
            assert v1.get_variable("w", [2]) is w
            with pytest.raises(ValueError, match="does not exist"):
                v1.get_variable("b", [2])
        with v1.variable_scope("layer"), pytest.raises(ValueError, match="already exists"):
            v1.get_variable("w", [2])
        with v1.variable_scope("layer", reuse=v1.AUTO_REUSE):
            assert v1.get_variable("w", [2]) is w
            assert v1.get_variable("b", [3]).shape == [3]


def test_py_func_and_host_functions_run_in_sessions():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float64, [None])
        y = v1.py_func(np.sort, [x], tf.float64)
        with v1.Session() as sess:
            assert sess.run(y, {x: [3.0, 1.0, 2.0]}).tolist() == [1.0, 2.0, 3.0]
            assert sess.run(v1.placeholder_with_default(tf.constant(4), [])) == 4


def test_each_session_has_its_own_values_of_the_variables():
    outside = tf.Variable(100.0)
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v")
        bump = v.assign_add([1.0, 1.0])
        shared = outside.assign_add(1.0)
        init = v1.global_variables_initializer()
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    first.run(init)
    assert first.run(bump).tolist() == [2.0, 3.0]
    for fetch in (v, bump):
        with pytest.raises(tf.errors.FailedPreconditionError, match="'v' has no value"):
            second.run(fetch)
    second.run(init)
    assert second.run(bump).tolist() == [2.0, 3.0]
    assert second.run(bump).tolist() == [3.0, 4.0]
    assert first.run(v).tolist() == [2.0, 3.0]
    # A variable of eager execution is one for all.
    assert (first.run(shared), second.run(shared), outside.numpy()) == (101.0, 102.0, 102.0)
    first.close()
    assert second.run(v).tolist() == [3.0, 4.0]
    with v1.Session(graph=graph) as third, pytest.raises(tf.errors.FailedPreconditionError):
        third.run(v)


def test_variables_are_read_and_loaded_by_the_session_that_is_open():
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0)
        init = v1.global_variables_initializer()
        with v1.Session() as a:
            a.run(init)
            v.load(5.0)
            assert v.eval() == 5.0
            with v1.Session() as b:
                b.run(init)
                assert v.eval() == 1.0
                assert v.eval(session=a) == 5.0
                v.load(7.0, session=a)
            assert v.eval() == 7.0
    sess = v1.Session(graph=graph)
    sess.run(init)
    with sess.as_default():
        assert v.eval() == 1.0
    with pytest.raises(ValueError, match="no default session"):
        v.eval()


def test_gradients_are_overridden_by_graphs():
    @tf.RegisterGradient("SevenfoldOfAGraph")
    def sevenfold(op, grad):
        return 7.0 * grad

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])
        with graph.gradient_override_map({"Square": "SevenfoldOfAGraph"}):
            y = tf.square(x)
        z = tf.square(x)
        with v1.Session() as sess:
            assert sess.run(v1.gradients([y, z], [x, x]), {x: 3.0}) == [13.0, 13.0]
            assert sess.run(v1.gradients(y, x), {x: 3.0}) == [7.0]
        with pytest.raises(TypeError, match="op_type_map"), graph.gradient_override_map(["Square"]):
            pass


def test_a_scope_of_a_default_name_gets_a_number_where_there_are_variables():
    with tf.Graph().as_default():
        names = []
        for _ in range(3):
            with v1.variable_scope(None, default_name="layer"):
                names.append(v1.get_variable("w", [1]).name)
        assert names == ["layer/w:0", "layer_1/w:0", "layer_2/w:0"]


def test_a_variable_takes_the_arguments_of_the_first_version_in_their_order():
    with tf.Graph().as_default() as graph:
        v = v1.Variable([1.0, 2.0], False, [v1.GraphKeys.LOCAL_VARIABLES, "mine"], True, None, "v")
        w = v1.Variable(lambda: tf.zeros([2]), name="w", use_resource=False, expected_shape=[2])
        assert (v.name, w.name, v.trainable, w.trainable) == ("v:0", "w:0", False, True)
        assert v1.global_variables() == v1.trainable_variables() == [w]
        assert v1.local_variables() == graph.get_collection("mine") == [v]
        with v1.Session() as sess:
            sess.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
            assert sess.run(v + w).tolist() == [1.0, 2.0]
    kept = tf.Variable(1.0)
    assert isinstance(kept, v1.Variable)
    assert isinstance(v1.Variable(1.0), tf.Variable)
    assert not isinstance(kept.read_value(), v1.Variable)
    with pytest.raises(TypeError, match=r"Variable\(\) got an unexpected keyword argument 'shap'"):
        v1.Variable(1.0, shap=[])
    with pytest.raises(TypeError, match="argument 'collections'"):
        v1.Variable(1.0, collections="mine")


def test_variables_may_be_of_a_class_derived_from_that_of_the_first_version():
    class Counter(v1.Variable):
        def count(self):
            return self.assign_add(1)

    counter = Counter(1, trainable=False, use_resource=True)
    assert int(counter.count()) == 2
    assert isinstance(counter, Counter)
    assert not isinstance(v1.Variable(1), Counter)
