"""Which variables have values, what they begin with, and checkpoints of TensorFlow 1."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture(name="session")
def open_session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def test_a_session_tells_which_variables_have_values(session):
    v, w = v1.get_variable("v", [2]), v1.get_local_variable("w", [2])
    report, there = v1.report_uninitialized_variables(), v1.is_variable_initialized(w)
    assert session.run(report).tolist() == [b"v", b"w"]
    session.run(v.initializer)
    assert session.run([report, there])[0].tolist() == [b"w"]
    assert not session.run(there)
    session.run(w.initializer)
    assert session.run(report).tolist() == []
    assert session.run(there)
    assert session.run(v.is_initialized())
    # Another session has values of its own.
    with v1.Session(graph=session.graph) as other:
        assert other.run(report).tolist() == [b"v", b"w"]
    assert session.run(v1.report_uninitialized_variables([])).tolist() == []
    # A branch runs by it.
    u = v1.get_variable("u", [], initializer=v1.constant_initializer(4.0))
    begun = tf.cond(v1.is_variable_initialized(u), lambda: 1, lambda: 0)
    assert session.run(begun) == 0
    session.run(u.initializer)
    assert session.run(begun) == 1


def test_variables_without_values_stop_a_check(session):
    v = v1.get_variable("v", [2])
    check = v1.assert_variables_initialized()
    with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        session.run(check)
    session.run(v.initializer)
    assert session.run(check) is None


def test_outside_of_graphs_variables_have_values():
    v = tf.Variable(1.0)
    assert v1.is_variable_initialized(v).numpy()
    assert v1.report_uninitialized_variables([v]).numpy().tolist() == []
    assert v1.assert_variables_initialized([v]) is None


def test_a_count_goes_up_to_its_limit(session):
    v = v1.get_variable("v", [], tf.int32, v1.zeros_initializer())
    session.run(v.initializer)
    count = v.count_up_to(2)
    assert [session.run(count), session.run(count)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="limit of 2"):
        session.run(count)
    assert session.run(v) == 2


# Values of TensorFlow 2.21.


def test_initializers_have_the_dtype_and_the_defaults_of_version_1():
    assert v1.zeros_initializer(dtype=tf.int32)([2]).dtype == tf.int32
    assert v1.ones_initializer(tf.float64)([2]).dtype == tf.float64
    assert v1.zeros_initializer(tf.int32)([2], tf.float32).dtype == tf.float32
    assert v1.zeros_initializer().get_config() == {"dtype": "float32"}
    normal = {"mean": 0.0, "stddev": 1.0, "seed": None, "dtype": "float32"}
    assert v1.random_normal_initializer().get_config() == normal
    assert v1.truncated_normal_initializer().get_config() == normal
    uniform = {"minval": 0.0, "maxval": None, "seed": None, "dtype": "float32"}
    assert v1.random_uniform_initializer().get_config() == uniform
    drawn = v1.random_uniform_initializer(3, 5, dtype=tf.int64)([100]).numpy()
    assert set(drawn) == {3, 4}
    drawn = v1.initializers.random_uniform()([1000]).numpy()
    assert 0 <= drawn.min() < 0.1 < 0.9 < drawn.max() < 1
    assert v1.glorot_uniform_initializer(seed=1)([2, 2]).shape == (2, 2)
    assert v1.initializers.identity(2.0)([2, 2]).numpy().tolist() == [[2, 0], [0, 2]]
    with pytest.raises(TypeError, match=r"zeros\(\) .*'foo'"):
        v1.zeros_initializer(foo=1)


def test_the_last_value_of_a_constant_stands_for_the_rest():
    assert v1.constant_initializer([1, 2])([2, 2]).numpy().tolist() == [[1, 2], [2, 2]]
    assert v1.constant_initializer(3, tf.int32)([2]).numpy().tolist() == [3, 3]
    assert v1.constant_initializer(2).get_config() == {"value": 2, "dtype": "float32"}
    with pytest.raises(TypeError, match=r"\(2, 2\), got \(2,\)"):
        v1.constant_initializer([1, 2], verify_shape=True)([2, 2])
    with pytest.raises(ValueError, match="too many elements"):
        v1.constant_initializer([1, 2, 3])([2])


def test_classes_of_initializers_serve_as_well(session):
    v = v1.get_variable("v", [2], initializer=v1.zeros_initializer)
    w = v1.get_variable("w", [2], initializer=v1.constant_initializer([1.0, 2.0]))
    session.run(v1.initializers.global_variables())
    assert session.run([v, w])[1].tolist() == [1, 2]


def test_variables_are_cut_into_parts(session):
    shape = tf.TensorShape([10, 4])
    assert v1.fixed_size_partitioner(3)(shape=shape, dtype=tf.float32) == [3, 1]
    assert v1.variable_axis_size_partitioner(64)(shape=shape, dtype=tf.float32) == [3, 1]
    assert v1.variable_axis_size_partitioner(64, max_shards=2)(shape=shape, dtype=tf.float32) == [2, 1]
    assert v1.min_max_variable_partitioner(4, 0, 16)(shape=shape, dtype=tf.float32) == [4, 1]
    parts = v1.create_partitioned_variables([5, 2], [2, 1], np.arange(10.0).reshape(5, 2), name="p")
    session.run(v1.global_variables_initializer())
    assert [part.name for part in parts] == ["p/part_0:0", "p/part_1:0"]
    assert [found.tolist() for found in session.run(parts)] == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9]]]
    with pytest.raises(ValueError, match="one dimension"):
        v1.create_partitioned_variables([2, 2], [2, 2], v1.zeros_initializer())


# --- checkpoints ---


@pytest.fixture(name="checkpoint")
def saved(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("old/a", [2], initializer=v1.constant_initializer(3.0))
        v1.get_variable("old/b", [], initializer=v1.constant_initializer(4.0))
        session.run(v1.global_variables_initializer())
        return v1.train.Saver().save(session, str(tmp_path / "m"), global_step=3)


def begun(checkpoint, make):
    with tf.Graph().as_default(), v1.Session() as session:
        zeros = v1.zeros_initializer()
        with v1.variable_scope("new"):
            a, b = v1.get_variable("a", [2], initializer=zeros), v1.get_variable("b", [], initializer=zeros)
        c = v1.get_variable("c", [2], initializer=zeros)
        v1.train.init_from_checkpoint(checkpoint, make(a, b, c))
        session.run(v1.global_variables_initializer())
        return [found.tolist() for found in session.run([a, b, c])]


def test_variables_begin_with_the_values_of_a_checkpoint(checkpoint, tmp_path):
    both = [[3, 3], 4, [0, 0]]
    assert begun(checkpoint, lambda a, b, c: {"old/": "new/"}) == both
    assert begun(checkpoint, lambda a, b, c: {"old/a": a, "old/b": [b]}) == both
    assert begun(str(tmp_path), lambda a, b, c: [("old/a", "c")]) == [[0, 0], 0, [3, 3]]
    assert begun(checkpoint, lambda a, b, c: {"old/": "absent/"}) == [[0, 0], 0, [0, 0]]
    for wrong, words in (
        ({"missing": "c"}, "no value 'missing'"),
        ({"/": "new/"}, "no value 'a'"),
        ({"/": "/"}, "no value 'new/a'"),
        ({"old/b": "c"}, r"shape \[\] for old/b, but c:0"),
        ({"old/a": "zzz"}, "no variable 'zzz'"),
        ({"old": "new/"}, "must end in '/'"),
    ):
        with pytest.raises(ValueError, match=words):
            begun(checkpoint, lambda a, b, c, wrong=wrong: wrong)
    v = tf.Variable([0.0, 0.0])
    v1.train.init_from_checkpoint(checkpoint, {"old/a": v})
    assert v.numpy().tolist() == [3, 3]


def test_files_of_checkpoints(checkpoint, tmp_path):
    train = v1.train
    assert train.checkpoint_exists(checkpoint)
    assert not train.checkpoint_exists(tmp_path / "m")
    assert len(train.get_checkpoint_mtimes([checkpoint, "nowhere"])) == 1
    reader = train.NewCheckpointReader(checkpoint)
    assert reader.get_variable_to_shape_map() == {"old/a": [2], "old/b": []}
    with pytest.raises(tf.errors.NotFoundError):
        train.NewCheckpointReader("nowhere")
    made = train.generate_checkpoint_state_proto(tmp_path, checkpoint, ["x"])
    assert made.all_model_checkpoint_paths == ["x", checkpoint]
    with pytest.raises(ValueError, match="one length"):
        train.generate_checkpoint_state_proto(tmp_path, checkpoint, ["x"], [1.0, 2.0])
    train.update_checkpoint_state(tmp_path, str(tmp_path / "m-9"), [checkpoint, str(tmp_path / "m-9")])
    assert [p[-3:] for p in tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths] == [
        "m-3",
        "m-9",
    ]
    train.remove_checkpoint(checkpoint)
    assert not train.checkpoint_exists(checkpoint)
    assert train.write_graph is tf.io.write_graph
    train.assert_global_step(tf.Variable(1))
    with pytest.raises(TypeError, match="scalar of integers"):
        train.assert_global_step(tf.Variable(1.0))


def test_rates_along_a_cosine():
    steps = (0, 5, 9, 10, 15, 29, 30, 50)
    due = [1.0, 0.54999995, 0.12202458, 0.55, 0.48409903, 0.10277012, 0.325, 0.21249999]
    found = [v1.train.cosine_decay_restarts(1.0, step, 10, 2.0, 0.5, 0.1)() for step in steps]
    np.testing.assert_allclose(found, due, rtol=1e-5)
    np.testing.assert_allclose(v1.train.cosine_decay_restarts(1.0, 15, 10, 1.0)(), 0.5, rtol=1e-5)
    found = [v1.train.linear_cosine_decay(1.0, step, 10, 0.5, 0.0, 0.1)() for step in (0, 5, 10, 20)]
    np.testing.assert_allclose(found, [1.1, 0.35, 0.1, 0.1], rtol=1e-5)
    noisy = [v1.train.noisy_linear_cosine_decay(1.0, 5, 10)() for _ in range(3)]
    assert len({float(rate) for rate in noisy}) == 3
