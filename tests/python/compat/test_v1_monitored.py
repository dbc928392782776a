"""Monitored sessions of TensorFlow 1 and their hooks, summaries in files, and local variables."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
train = v1.train


def counting():
    """A step counter, and what advances it."""
    step = train.get_or_create_global_step()
    return step, step.assign_add(1)


def events(folder):
    """The summaries in a folder, as (tag, step, number)."""
    found = []
    for path in sorted(folder.glob("events*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = v1.Event.FromString(record.numpy())
            found += [(value.tag, event.step, value.simple_value) for value in event.summary.value]
    return found


def test_a_training_session_goes_on_from_its_checkpoint(tmp_path):
    def run(steps):
        with tf.Graph().as_default():
            w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
            _step, advance = counting()
            both = v1.group(advance, w.assign_add(2.0))
            hooks = [train.StopAtStepHook(num_steps=steps)]
            with train.MonitoredTrainingSession(checkpoint_dir=tmp_path, hooks=hooks) as session:
                while not session.should_stop():
                    session.run(both)
        reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(tmp_path)))
        return int(reader.get_tensor("global_step")), float(reader.get_tensor("w"))

    assert run(3) == (3, 6.0)
    assert run(2) == (5, 10.0)


def test_summaries_are_written_every_so_many_steps(tmp_path):
    with tf.Graph().as_default():
        step, advance = counting()
        v1.summary.scalar("twice", 2.0 * tf.cast(step, tf.float32))
        hook = train.SummarySaverHook(save_steps=2, output_dir=tmp_path, summary_op=v1.summary.merge_all())
        with train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(5):
                session.run(advance)
    v1.summary.FileWriterCache.clear()
    assert [step for tag, step, _ in events(tmp_path) if tag == "twice"] == [1, 3, 5]


def test_checkpoints_have_listeners(tmp_path):
    seen = []

    class Listener(train.CheckpointSaverListener):
        def before_save(self, session, global_step_value):
            seen.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            seen.append(("after", global_step_value))
            return global_step_value >= 4

    with tf.Graph().as_default():
        _, advance = counting()
        hook = train.CheckpointSaverHook(tmp_path, save_steps=2, listeners=[Listener()])
        with train.MonitoredSession(hooks=[hook]) as session:
            while not session.should_stop():
                session.run(advance)
    assert [step for kind, step in seen if kind == "after"] == [0, 2, 4]
    assert len(list(tmp_path.glob("model.ckpt-*.index"))) == 3


def test_an_error_ends_the_session_without_the_end_of_hooks():
    ended = []

    class Hook(train.SessionRunHook):
        def end(self, session):
            ended.append(True)

    with tf.Graph().as_default():
        x = tf.constant(1.0) + 1.0
        with pytest.raises(tf.errors.InvalidArgumentError), train.MonitoredSession(hooks=[Hook()]) as session:
            session.run(tf.debugging.check_numerics(x / 0.0, "x"))
        assert not ended
        with train.MonitoredSession(hooks=[Hook()]) as session:
            raise tf.errors.OutOfRangeError(None, None, "no more")
    assert ended == [True]
    with pytest.raises(RuntimeError, match="should_stop"):
        session.run(x)


def test_a_loss_that_is_no_number_stops():
    with tf.Graph().as_default():
        loss = tf.math.log(v1.placeholder_with_default(-1.0, []))
        hook = train.NanTensorHook(loss)
        session = train.MonitoredSession(hooks=[hook])
        with pytest.raises(train.NanLossDuringTrainingError, match="NaN loss"):
            session.run(loss)


def test_hooks_feed_and_log(caplog):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        y = tf.multiply(x, 2.0, name="y")
        feed = train.FeedFnHook(lambda: {x: 3.0})
        log = train.LoggingTensorHook(
            {"y": y}, every_n_iter=2, formatter=lambda values: f"y is {values['y']}"
        )
        final = train.FinalOpsHook(y, {x: 5.0})
        with train.MonitoredSession(hooks=[feed, log, final]) as session:
            assert session.run(y) == 6.0
            with pytest.raises(RuntimeError, match="fed twice"):
                session.run(y, {x: 4.0})
            assert session.run_step_fn(lambda context: context.run_with_hooks(y)) == 6.0
    assert final.final_ops_values == 10.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: train.StopAtStepHook(), "'num_steps' and 'last_step'"),
        (lambda: train.SecondOrStepTimer(1, 1), "'every_secs' and 'every_steps'"),
        (lambda: train.LoggingTensorHook(["x"]), "'at_end' must be given"),
        (lambda: train.LoggingTensorHook(["x"], every_n_iter=0), "'every_n_iter' must be above 0"),
        (lambda: train.SummarySaverHook(1), "'scaffold' and 'summary_op'"),
    ],
)
def test_hooks_refuse_what_contradicts_itself(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_hook_that_counts_needs_a_step_counter():
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="global step must be created"):
        train.MonitoredSession(hooks=[train.StopAtStepHook(last_step=1)])


def test_names_that_are_not_there_say_what_is():
    with pytest.raises(AttributeError, match=r"shuffle_batch is not there.*tf\.data\.Dataset"):
        train.shuffle_batch
    with pytest.raises(AttributeError, match=r"TFRecordReader is not there.*TFRecordDataset"):
        v1.TFRecordReader


def test_metrics_need_a_graph_and_are_collected():
    with pytest.raises(RuntimeError, match="eager execution"):
        v1.metrics.mean([1.0])
    with tf.Graph().as_default() as graph:
        value, update = v1.metrics.mean([1.0], metrics_collections=["m"], updates_collections=["u"])
        assert graph.get_collection("m") == [value]
        assert graph.get_collection("u") == [update]
        assert [v.name for v in v1.local_variables()] == ["mean/total:0", "mean/count:0"]
        assert not v1.global_variables()
        assert v1.local_variables() == graph.get_collection(v1.GraphKeys.METRIC_VARIABLES)


def test_metrics_refuse_what_does_not_fit():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="'labels' and 'predictions'"):
            v1.metrics.accuracy([1, 2], [1, 2, 3])
        with pytest.raises(ValueError, match="'weights'"):
            v1.metrics.mean([[1.0, 2.0]], [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="'curve'"):
            v1.metrics.auc([1], [0.5], curve="XY")
        with pytest.raises(ValueError, match="'num_thresholds'"):
            v1.metrics.sensitivity_at_specificity([1], [0.5], 0.5, num_thresholds=1)


def test_scopes_pass_on_what_makes_variables():
    with tf.Graph().as_default() as graph:
        doubled = lambda getter, name, **kwargs: 2.0 * getter(name, **kwargs)  # noqa: E731
        with (
            v1.variable_scope(
                "a", regularizer=tf.nn.l2_loss, dtype=tf.float64, initializer=v1.ones_initializer()
            ),
            v1.variable_scope("b"),
        ):
            w = v1.get_variable("w", [3])
        with v1.variable_scope("c", custom_getter=doubled, initializer=v1.ones_initializer()) as scope:
            twice = v1.get_variable("v", [2])
        with v1.variable_scope(scope, reuse=True):
            again = v1.get_variable("v", [2])
        assert (w.name, w.dtype) == ("a/b/w:0", tf.float64)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            assert session.run(v1.losses.get_regularization_loss()) == 1.5
            np.testing.assert_array_equal(session.run(twice), [2.0, 2.0])
            np.testing.assert_array_equal(session.run(again), [2.0, 2.0])
        assert [v.name for v in graph.get_collection("variables")] == ["a/b/w:0", "c/v:0"]
    with pytest.raises(TypeError, match="'name_or_scope'"), v1.variable_scope(3):
        pass


def test_writers_say_once_what_a_series_is(tmp_path):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        text = v1.summary.text("note", ["a"])
        with v1.summary.FileWriter(tmp_path, graph) as writer:
            writer.add_summary(session.run(text), 1)
            writer.add_summary(session.run(text), 2)
    (path,) = tmp_path.glob("events*")
    found = [v1.Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset(str(path))]
    assert [event.summary.value[0].HasField("metadata") for event in found[3:]] == [True, False]
    assert found[1].graph_def
    assert found[2].meta_graph_def


def test_the_graph_stands_beside_the_checkpoints_as_text(tmp_path):
    with tf.Graph().as_default():
        _, advance = counting()
        with train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), log_step_count_steps=None
        ) as session:
            session.run(advance)
    v1.summary.FileWriterCache.clear()
    assert 'op: "' in (tmp_path / "graph.pbtxt").read_text()
