"""Checkpoints of `tf.train.Checkpoint` and `tf.compat.v1.train.Saver`, each where the other is at home."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def _by_name(path, **values):
    """A checkpoint that knows variables by their names alone."""
    return v1.train.Saver({name.replace("__", "/"): tf.Variable(v) for name, v in values.items()}).save(
        None, str(path / "model")
    )


def _variables(*names, value=0.0):
    made = []
    for name in names:
        scope, _, own = name.rpartition("/")
        with v1.variable_scope(scope) if scope else v1.variable_scope(v1.get_variable_scope()):
            made.append(v1.get_variable(own, [], initializer=v1.constant_initializer(value)))
    return made


def test_values_are_restored_by_the_names_of_variables(tmp_path):
    path = _by_name(tmp_path, a=1.0, scoped__b=2.0)
    a = tf.Variable(0.0, name="a")
    with tf.name_scope("scoped"):
        b = tf.Variable(0.0, name="b")
    same = tf.Variable(0.0, name="scoped/b")
    status = tf.train.Checkpoint(any_key=[a, {"k": b}], same=same).restore(path)
    assert (float(a), float(b), float(same)) == (1.0, 2.0, 2.0)
    assert status.assert_consumed() is status
    assert status.assert_existing_objects_matched() is status
    assert status.assert_nontrivial_match() is status


def test_variables_that_come_later_are_restored_by_name_too(tmp_path):
    path = _by_name(tmp_path, w=3.0, v=4.0)
    module = tf.Module()
    inner = tf.Module()
    tf.train.Checkpoint(module=module).restore(path)
    module.w = tf.Variable(0.0, name="w")
    module.inner = inner
    inner.v = tf.Variable(0.0, name="v")
    assert (float(module.w), float(inner.v)) == (3.0, 4.0)


def test_what_a_checkpoint_of_names_lacks_is_told(tmp_path):
    path = _by_name(tmp_path, a=1.0)
    other = tf.Variable(5.0, name="other")
    status = tf.train.Checkpoint(a=tf.Variable(0.0, name="a"), other=other).restore(path)
    assert float(other) == 5.0
    for check in "assert_consumed", "assert_existing_objects_matched", "assert_nontrivial_match":
        with pytest.raises(AssertionError, match="other"):
            getattr(status, check)()
    assert status.expect_partial() is status
    with pytest.raises(ValueError, match="cannot restore 'a'"):
        tf.train.Checkpoint(a=tf.Variable([0.0, 0.0], name="a")).restore(path)


def test_a_checkpoint_holds_the_values_of_the_session(tmp_path):
    with tf.Graph().as_default():
        a, b = _variables("a", "s/b", value=2.0)
        checkpoint = tf.train.Checkpoint(a=a, rest=[b])
        with pytest.raises(ValueError, match="no default session"):
            checkpoint.write(str(tmp_path / "none"))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(b.assign(7.0))
            first = checkpoint.save(str(tmp_path / "ckpt"))
            session.run(b.assign(8.0))
            second = checkpoint.save(str(tmp_path / "ckpt"))
    assert [p.rpartition("-")[2] for p in (first, second)] == ["1", "2"]
    for path, value in (first, 7.0), (second, 8.0):
        assert tf.train.load_variable(path, "a/.ATTRIBUTES/VARIABLE_VALUE") == 2.0
        assert tf.train.load_variable(path, "rest/0/.ATTRIBUTES/VARIABLE_VALUE") == value
    restored = tf.Variable(0.0)
    tf.train.Checkpoint(rest=[restored]).restore(second)
    assert float(restored) == 8.0


def test_values_are_restored_into_the_session_that_runs_them(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), rest=[tf.Variable(2.0)]).save(str(tmp_path / "ckpt"))
    with tf.Graph().as_default():
        a, b, c = _variables("a", "b", "c", value=9.0)
        status = tf.train.Checkpoint(a=a, rest=[b, c]).restore(path)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            assert session.run([a, b, c]) == [9.0, 9.0, 9.0]
            status.run_restore_ops()
            assert session.run([a, b, c]) == [1.0, 2.0, 9.0]
            session.run(a.assign(5.0))
            status.run_restore_ops(session)
            assert session.run([a, b, c]) == [1.0, 2.0, 9.0]
        with v1.Session() as session:
            status.initialize_or_restore()
            assert session.run([a, b, c]) == [1.0, 2.0, 9.0]
        with v1.Session() as session:
            tf.train.Checkpoint(a=a).restore(None).initialize_or_restore(session)
            assert session.run(a) == 9.0


def test_names_are_restored_into_a_session_too(tmp_path):
    path = _by_name(tmp_path, a=1.0, s__b=2.0)
    with tf.Graph().as_default():
        a, b = _variables("a", "s/b", value=9.0)
        status = tf.train.Checkpoint(a=a, b=b).restore(path).assert_consumed()
        with v1.Session() as session:
            status.initialize_or_restore()
            assert session.run([a, b]) == [1.0, 2.0]


def test_a_session_reads_what_another_has_saved(tmp_path):
    with tf.Graph().as_default():
        (v,) = _variables("v", value=3.0)
        with v1.Session() as session:
            session.run(v.initializer)
            path = tf.train.Checkpoint(var_list={"v": v}).save(str(tmp_path / "ckpt"))
    with tf.Graph().as_default():
        (v,) = _variables("v")
        with v1.Session() as session:
            session.run(v.initializer)
            tf.train.Checkpoint(var_list={"v": v}).restore(path).assert_consumed().run_restore_ops()
            np.testing.assert_equal(session.run(v), np.float32(3.0))
