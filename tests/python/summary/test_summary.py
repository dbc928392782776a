"""Summaries in event files, as TensorBoard reads them."""

import io
import struct
import wave
import zlib

import numpy as np
import pytest

import penstock as tf

Event = tf.compat.v1.Event


def events(folder):
    """The events of the files in a folder, behind the first of each, which says its version."""
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        first, *rest = [Event.FromString(r.numpy()) for r in tf.data.TFRecordDataset(str(path))]
        assert first.file_version == "brain.Event:2"
        found.extend(rest)
    return found


def written(folder, function):
    """What a function writes: the step, tag and value of each summary."""
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        function()
    writer.close()
    return [(event.step, event.summary.value[0].tag, event.summary.value[0]) for event in events(folder)]


def array(value):
    """The tensor of a summary."""
    proto = value.tensor
    shape = [d.size for d in proto.tensor_shape.dim]
    if proto.dtype == 7:
        strings = np.empty(len(proto.string_val), object)
        strings[:] = list(proto.string_val)
        return strings.reshape(shape)
    dtype = {1: np.float32, 2: np.float64, 3: np.int32}[proto.dtype]
    return np.frombuffer(proto.tensor_content, dtype).reshape(shape)


def test_a_scalar_has_its_tag_step_description_and_plugin(tmp_path):
    [(step, tag, value)] = written(tmp_path, lambda: tf.summary.scalar("loss", 2, step=7, description="d"))
    assert (step, tag, array(value).item()) == (7, "loss", 2.0)
    metadata = value.metadata
    assert (metadata.plugin_data.plugin_name, metadata.summary_description) == ("scalars", "d")
    assert metadata.data_class == 1


@pytest.mark.parametrize(
    ("data", "buckets", "expected"),
    [
        ([1.0, 2.0, 3.0, 3.0], 2, [[1, 2, 1], [2, 3, 3]]),
        ([2.0, 2.0], 2, [[2, 2, 0], [2, 2, 2]]),
        ([], 1, [[0, 0, 0]]),
        ([1.0], 0, np.zeros((0, 3))),
        ([np.nan, 0.0, 1.0, np.inf], 1, [[0, 1, 2]]),
        ([[1, 5]], 2, [[1, 3, 1], [3, 5, 1]]),
        (tf.ragged.constant([[1], [], [5, 5]]), 2, [[1, 3, 1], [3, 5, 2]]),
        (tf.IndexedSlices([[1.0], [3.0]], [0, 2], [3, 1]), 1, [[0, 3, 3]]),
    ],
)
def test_histograms_count_in_buckets_of_equal_widths(tmp_path, data, buckets, expected):
    [(_, _, value)] = written(tmp_path, lambda: tf.summary.histogram("h", data, step=1, buckets=buckets))
    np.testing.assert_allclose(array(value), expected)


def pixels(content):
    """The pixels of a file of PNG whose rows have filter 2."""
    width, height, _, color = struct.unpack(">IIBB", content[16:26])
    size = struct.unpack(">I", content[33:37])[0]
    rows = np.frombuffer(zlib.decompress(content[41 : 41 + size]), np.uint8).reshape(height, -1)
    assert (rows[:, 0] == 2).all()
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[color]
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_images_are_written_as_png_behind_their_width_and_height(tmp_path, channels):
    images = np.random.default_rng(0).integers(0, 256, (5, 3, 4, channels)).astype(np.uint8)
    [(_, _, value)] = written(tmp_path, lambda: tf.summary.image("i", images, step=1, max_outputs=2))
    width, height, *files = array(value)
    assert (width, height) == (b"4", b"3")
    np.testing.assert_array_equal([pixels(f) for f in files], images[:2])


def test_numbers_of_images_go_from_0_to_1_or_over_their_dtype(tmp_path):
    for data, expected in (
        (np.array([-1, 0.5, 2], np.float32), [0, 127, 255]),
        (np.array([0, 0x80FF, 0xFFFF], np.uint16), [0, 128, 255]),
    ):
        images = data.reshape(1, 3, 1, 1)
        [*_, (_, _, value)] = written(tmp_path, lambda x=images: tf.summary.image("i", x, step=1))
        assert pixels(array(value)[2]).ravel().tolist() == expected


def test_sound_is_written_as_wav(tmp_path):
    clip = np.array([[[0.5], [-1.0], [2.0], [3 / 65536]]])
    [(_, _, value)] = written(tmp_path, lambda: tf.summary.audio("a", clip, 8000, step=1))
    [[content, label]] = array(value)
    with wave.open(io.BytesIO(content)) as file:
        assert (file.getframerate(), file.getsampwidth(), file.getnchannels(), label) == (8000, 2, 1, b"")
        frames = np.frombuffer(file.readframes(9), "<i2")
    assert frames.tolist() == [16384, -32768, 32767, 2]


def test_text_and_tensors_are_written_as_they_are(tmp_path):
    def write():
        tf.summary.text("t", [["a", "b"]], step=1)
        tf.summary.write("w", lambda: tf.constant([1, 2]), step=2)

    (_, _, text), (_, _, tensor) = written(tmp_path, write)
    assert array(text).tolist() == [[b"a", b"b"]]
    assert array(tensor).tolist() == [1, 2]


def test_functions_write_each_time_that_they_run_in_order(tmp_path):
    step = tf.Variable(5, dtype=tf.int64)

    @tf.function
    def train(x):
        tf.summary.scalar("first", x, step=step)
        step.assign_add(1)
        for i in tf.range(2):
            tf.summary.scalar("second", i, step=step)

    def write():
        train(1.0)
        train(2.0)

    found = [(step, tag, array(value).item()) for step, tag, value in written(tmp_path, write)]
    assert found == [
        *((5, "first", 1), (6, "second", 0), (6, "second", 1)),
        *((6, "first", 2), (7, "second", 0), (7, "second", 1)),
    ]


def test_conditions_are_asked_for_each_summary(tmp_path):
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train():
        with tf.summary.record_if(lambda: step % 2 == 0):
            recorded = tf.summary.scalar("x", 0.0, step=step)
        step.assign_add(1)
        return recorded

    def write():
        assert [bool(train()) for _ in range(4)] == [True, False, True, False]
        with tf.summary.record_if(False):
            assert not tf.summary.scalar("y", 0.0, step=1)
            assert not tf.summary.should_record_summaries()
        assert tf.summary.should_record_summaries()

    assert [step for step, _, _ in written(tmp_path, write)] == [0, 2]


def test_tags_are_below_the_open_scopes(tmp_path):
    def write():
        with tf.name_scope("model"):
            tf.summary.scalar("my loss", 0.0, step=1)
            with tf.summary.experimental.summary_scope("$") as names:
                assert names == ("model/$", "model/summary/")

    assert [tag for _, tag, _ in written(tmp_path, write)] == ["model/my loss"]


def test_the_current_step_is_that_of_the_writer_or_was_set(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=3):
        tf.summary.scalar("a", 0.0)
        tf.summary.experimental.set_step(4)
        tf.summary.scalar("a", 0.0)
    assert tf.summary.experimental.get_step() is None
    assert [event.step for event in events(tmp_path)] == [3, 4]
    with writer.as_default(), pytest.raises(ValueError, match="No step set"):
        tf.summary.scalar("a", 0.0)


def test_events_wait_until_the_queue_is_full(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path), max_queue=2)
    counts = []
    with writer.as_default():
        for step in range(4):
            tf.summary.scalar("a", 0.0, step=step)
            counts.append(len(events(tmp_path)))
    assert counts == [0, 0, 3, 3]
    assert len(events(tmp_path)) == 4


def test_a_graph_is_written(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    function = tf.function(lambda x: x + x)
    with writer.as_default():
        assert tf.summary.graph(function.get_concrete_function(tf.TensorSpec([], tf.float32)).graph)
    [event] = events(tmp_path)
    assert b"Placeholder" in event.graph_def
    assert b"AddV2" in event.graph_def
    with pytest.raises(ValueError, match="graph_data"):
        tf.summary.graph("none")


def test_messages_are_written_as_they_are(tmp_path):
    message = tf.compat.v1.Summary(value=[{"tag": "old", "simple_value": 1.5}]).SerializeToString()
    [(_, tag, value)] = written(tmp_path, lambda: tf.summary.experimental.write_raw_pb(message, step=1))
    assert (tag, value.simple_value, value.WhichOneof("value")) == ("old", 1.5, "simple_value")


def test_event_files_are_read(tmp_path):
    written(tmp_path, lambda: [tf.summary.scalar("loss", 0.5 * i, step=i) for i in range(3)])
    [file] = tmp_path.iterdir()
    version, *found = tf.compat.v1.train.summary_iterator(str(file))
    assert version.file_version == "brain.Event:2"
    assert [(e.step, float(tf.make_ndarray(e.summary.value[0].tensor))) for e in found] == [
        (0, 0.0),
        (1, 0.5),
        (2, 1.0),
    ]
    file.write_bytes(file.read_bytes()[:-1])
    reading = tf.compat.v1.train.summary_iterator(file)
    assert len([next(reading) for _ in range(3)]) == 3
    with pytest.raises(tf.errors.DataLossError, match="ends within a record"):
        next(reading)
    with pytest.raises(tf.errors.NotFoundError):
        next(tf.compat.v1.train.summary_iterator(tmp_path / "none"))


def test_without_a_writer_nothing_is_recorded(tmp_path):
    assert not tf.summary.scalar("a", 0.0)
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        with tf.summary.create_noop_writer().as_default():
            assert not tf.summary.scalar("a", 0.0, step=1)
        assert tf.summary.scalar("a", 0.0, step=1)


def test_a_closed_writer_cannot_be_used(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    writer.close()
    writer.close()
    writer.flush()
    with pytest.raises(RuntimeError, match="closed"):
        writer.set_as_default()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.summary.scalar("a", [1.0], step=1), ValueError, "'data' must have rank 0"),
        (lambda: tf.summary.scalar("a", 1.0, step=[1, 2]), ValueError, "'step' must be a scalar"),
        (lambda: tf.summary.scalar("a", 1.0, step=1.5), TypeError, "'step' must be an integer"),
        (lambda: tf.summary.image("a", [1.0], step=1), ValueError, "'data' must have rank 4"),
        (lambda: tf.summary.image("a", tf.zeros([1, 1, 1, 5]), step=1), ValueError, "1 to 4 channels"),
        (lambda: tf.summary.audio("a", [1.0], 1, step=1), ValueError, "'data' must have rank 3"),
        (lambda: tf.summary.audio("a", [[[1.0]]], 1, step=1, encoding="ogg"), ValueError, "'encoding'"),
        (lambda: tf.summary.histogram("a", [1.0], step=1, buckets=-1), ValueError, "'buckets'"),
        (lambda: tf.summary.histogram("a", tf.sparse.eye(2), step=1), TypeError, "'data': cannot convert"),
        (
            lambda: tf.summary.graph(tf.function(lambda: 1).get_concrete_function()),
            ValueError,
            "'graph_data' must be the `graph` of <ConcreteFunction",
        ),
    ],
)
def test_bad_arguments_are_named(tmp_path, call, error, words):
    with tf.summary.create_file_writer(str(tmp_path)).as_default(), pytest.raises(error, match=words):
        call()


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError, match="logdir"):
        tf.summary.create_file_writer(str(tmp_path / "file" / "logs"))
    with pytest.raises(ValueError, match="logdir"):
        tf.summary.create_file_writer(None)


def test_what_is_no_scalar_is_refused_also_where_nothing_is_written():
    with pytest.raises(ValueError, match="argument 'data' must have rank 0, got shape"):
        tf.summary.scalar("x", [1.0, 2.0], step=0)
