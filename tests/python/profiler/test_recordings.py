"""What profiles of Python programs tell."""

import gzip
import json
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

HERE = Path(__file__).name


def _keys(recording, by="operator"):
    return {row.key for row in recording.rows(by)}


def _row(recording, key, by="operator"):
    return next(row for row in recording.rows(by) if row.key == key)


def _runs(recording, name):
    """How often functions ran whose graphs are called so, with a number behind."""
    return sum(row.count for row in recording.rows() if re.fullmatch(rf"function {name}(_\d+)?", row.key))


def test_operators_of_functions_are_told_with_the_line_and_the_function_that_they_are_written_in():
    @tf.function
    def ordered(x):
        return tf.sort(x)

    x = tf.range(5000)
    ordered(x)
    with tf.profiler.record() as recording:
        ordered(x)
    line = ordered.python_function.__code__.co_firstlineno + 2
    assert "sort" in _keys(recording)
    assert any(key.endswith(f"{HERE}:{line}") for key in _keys(recording, "line"))
    assert "ordered" in _keys(recording, "function")
    assert "kernel" in _keys(recording, "kind")
    assert _runs(recording, "ordered") == 1


def test_the_guide_lists_the_kinds_of_steps_that_there_are():
    root = Path(__file__).resolve().parents[3]
    steps = (root / "crates/penstock-exec/src/plan/step.rs").read_text(encoding="utf-8")
    kinds = re.findall(r'"(\w+)"', re.search(r"STEP_KINDS.*?\[\n(.*?)\];", steps, flags=re.DOTALL)[1])
    guide = (root / "docs/profiling.md").read_text(encoding="utf-8")
    rows = guide.partition("| kind | what runs |")[2].partition("\n\n")[0].splitlines()[2:]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(listed) == sorted([*kinds, "eager"])


def test_tracing_and_planning_are_told_of_the_first_call_alone():
    f = tf.function(lambda x: tf.sort(x) + 1)
    x = tf.range(100)
    with tf.profiler.record() as first:
        f(x)
    with tf.profiler.record() as second:
        f(x)
    assert any(key.startswith("tracing") for key in _keys(first))
    assert any(key.startswith("planning") for key in _keys(first))
    assert not any(key.startswith(("tracing", "planning")) for key in _keys(second))


def test_eager_operators_are_told_with_their_line():
    with tf.profiler.record() as recording:
        x = tf.constant([3.0, 1.0])
        y = x + x
        tf.sort(y)
    assert {"add", "sort"} <= _keys(recording)
    lines = _keys(recording, "line")
    assert any(HERE in line for line in lines), lines
    assert _row(recording, "eager", "kind").count >= 2


def test_python_code_that_a_graph_calls_is_a_callback():
    @tf.function
    def f(x):
        return tf.py_function(lambda v: v * 2, [x], tf.float32)

    x = tf.constant(1.0)
    f(x)
    with tf.profiler.record() as recording:
        f(x)
    assert "callback" in _keys(recording, "kind")
    assert recording.shares()["callbacks"] > 0


@pytest.mark.parametrize("traced", [False, True])
def test_waiting_for_a_data_set_is_input(traced):
    def total(data):
        found = tf.constant(0, tf.int64)
        for x in data:
            found += x
        return found

    data = tf.data.Dataset.range(20).map(lambda x: x * 2)
    run = tf.function(total) if traced else total
    with tf.profiler.record() as recording:
        assert int(run(data)) == 380
    assert any(key.startswith("input ") for key in _keys(recording))
    assert recording.shares()["input"] > 0
    assert 0 < recording.input_bound < 1


def test_shares_add_up_to_the_time_of_the_recording_and_of_each_step():
    f = tf.function(lambda x: tf.linalg.matmul(x, x))
    x = tf.ones([64, 64])
    with tf.profiler.record() as recording:
        for i in range(3):
            with tf.profiler.experimental.Trace("train", step_num=i + 5):
                f(x)
    assert sum(recording.shares().values()) == pytest.approx(recording.took)
    steps = recording.steps()
    assert [(step.name, step.number) for step in steps] == [("train", 5), ("train", 6), ("train", 7)]
    for step in steps:
        assert sum(step.shares.values()) == pytest.approx(step.took)
    assert "tracing" in steps[0].shares
    assert "tracing" not in steps[2].shares


def test_the_calls_of_a_function_by_itself_are_counted():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    with tf.profiler.record() as recording:
        assert int(fibonacci(tf.constant(18))) == 2584
    (calls,) = (row.count for row in recording.rows() if row.key.startswith("call fibonacci"))
    # All but those that are inlined.
    assert 1000 < calls < 8361
    assert _runs(recording, "fibonacci") == 1
    recorded, all_of_them = recording.sampled
    assert recorded < all_of_them == calls


def test_iterations_of_brief_operators_are_counted_with_their_operators():
    @tf.function
    def squares(x):
        for _ in tf.range(20_000):
            x = x * x
        return x

    x = tf.constant(0.5j, tf.complex128)
    squares(x)
    with tf.profiler.record() as recording:
        squares(x)
    (iterations,) = (row.count for row in recording.rows() if row.key.startswith("iteration"))
    # The first ones, which are all recorded, are a part of the loop.
    assert 19_980 < iterations < 20_000
    # A comparison, a product and a sum each, told together.
    assert sum(row.count for row in recording.rows() if row.key == "less") > 2 * iterations
    recorded, all_of_them = recording.sampled
    assert recorded < all_of_them / 10


def test_a_run_that_fails_is_in_the_profile():
    f = tf.function(lambda i: tf.gather(tf.range(3), i))
    with tf.profiler.record() as recording, pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([7] * 1000))
    assert any(event.get("args", {}).get("failed") for event in json.loads(recording.chrome())["traceEvents"])


def test_functions_alone_are_told_where_no_more_is_asked_for():
    f = tf.function(lambda x: tf.sort(x))
    with tf.profiler.record(detail="functions") as recording:
        f(tf.range(10))
    assert {key.split()[0] for key in _keys(recording)} <= {"function", "tracing", "planning"}


def test_each_brief_step_is_told_where_all_is_asked_for():
    @tf.function(jit_compile=False)
    def f(x, y):
        return tf.sort(x), y * 2.0 + 1.0

    args = tf.range(10.0), tf.constant(1.0)
    f(*args)
    counts = []
    for detail in ("steps", "all"):
        with tf.profiler.record(detail=detail) as recording:
            f(*args)
        counts.append(sum(row.count for row in recording.rows("kind")))
    assert counts[0] == counts[1]


def test_threads_have_lanes_of_their_own():
    def work():
        tf.sort(tf.range(100))

    with tf.profiler.record() as recording:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lanes = {
        event["tid"] for event in json.loads(recording.chrome())["traceEvents"] if event.get("name") == "sort"
    }
    assert len(lanes) == 2


def test_memory_of_tensors_is_in_the_profile():
    with tf.profiler.record() as recording:
        x = tf.zeros([1 << 20])
        tf.sort(x)
    counters = [e for e in json.loads(recording.chrome())["traceEvents"] if e["ph"] == "C"]
    assert max(event["args"]["bytes"] for event in counters) >= x.numpy().nbytes
    moments = recording.memory(5)
    assert 1 <= len(moments) <= 5
    assert moments == sorted(moments)
    assert all(0 <= at <= recording.took for at, _ in moments)
    assert max(held for _, held in moments) == max(event["args"]["bytes"] for event in counters)
    assert re.search(r"tensors held [\d.]+ MiB at most", str(recording))
    with pytest.raises(ValueError, match="argument 'moments' must be positive, got 0"):
        recording.memory(0)


def test_the_table_begins_with_what_is_known_of_the_whole():
    def slow():
        for i in range(10):
            time.sleep(0.002)
            yield i

    data = tf.data.Dataset.from_generator(slow, output_signature=tf.TensorSpec([], tf.int64))
    with tf.profiler.record() as recording:
        for step, x in enumerate(data):
            with tf.profiler.experimental.Trace("train", step_num=step):
                tf.sort(tf.fill([100], x))
    second = str(recording).splitlines()[1]
    assert re.match(r"input bound: \d\d%; 10 steps, of [\d.]+ (µs|ms) in the median; tensors held", second)
    assert re.fullmatch(r"<tf.profiler.Recording of [\d.]+ ms, \d+ events>", repr(recording))
    shown = recording._repr_html_()
    assert second in shown
    assert "<td>sort</td>" in shown
    assert f"{HERE}:" in shown
    assert len(shown) < 20_000


def test_events_beyond_the_limit_are_counted():
    with tf.profiler.record(limit=3) as recording:
        x = tf.constant(1.0)
        for _ in range(10):
            x = x + 1.0
    assert recording.dropped >= 7
    assert "were not kept" in str(recording)


def test_a_recording_of_nothing_says_so():
    with tf.profiler.record() as recording:
        pass
    assert "no operation ran, and no function was traced" in str(recording)
    assert "own time" not in str(recording)


def test_what_is_not_complete_says_so():
    with tf.profiler.record() as recording:
        for text in (str(recording), repr(recording), recording._repr_html_()):
            assert "not complete" in text
        with pytest.raises(tf.errors.InvalidArgumentError, match="leave its `with` statement"):
            recording.rows()
    with pytest.raises(ValueError, match="argument 'by'"):
        recording.rows("colour")
    with pytest.raises(ValueError, match="argument 'detail'"):
        tf.profiler.record(detail="much")
    with pytest.raises(ValueError, match="argument 'limit'"):
        tf.profiler.record(limit=-1)


def test_a_process_records_one_profile_at_a_time(tmp_path):
    with tf.profiler.record():
        with pytest.raises(tf.errors.AlreadyExistsError):
            tf.profiler.experimental.start(tmp_path)
        with pytest.raises(tf.errors.AlreadyExistsError), tf.profiler.record():
            pass
    with pytest.raises(tf.errors.UnavailableError):
        tf.profiler.experimental.stop()
    assert list(tmp_path.iterdir()) == []


def test_a_profile_ends_with_its_block_when_that_raises(tmp_path):
    with pytest.raises(KeyError), tf.profiler.experimental.Profile(tmp_path):
        raise KeyError("user")
    with tf.profiler.record() as recording:
        pass
    assert recording.rows() == []


def test_results_are_those_of_a_run_without_a_profile():
    @tf.function
    def f(x):
        for _ in tf.range(5):
            x = tf.tanh(x @ x) + 1.0
        return x

    x = tf.constant(np.random.default_rng(0).standard_normal((8, 8)), tf.float32)
    expected = f(x).numpy()
    for detail in ("functions", "steps", "all"):
        with tf.profiler.record(detail=detail):
            np.testing.assert_array_equal(f(x).numpy(), expected)


def test_files_lie_where_tensorboard_looks_for_them(tmp_path):
    for _ in range(2):
        with tf.profiler.experimental.Profile(tmp_path, options={"host_tracer_level": 3}):
            tf.sort(tf.range(10))
    runs = sorted((tmp_path / "plugins" / "profile").iterdir())
    assert len(runs) == 2
    for run in runs:
        plane, perfetto, page = sorted(run.iterdir(), key=lambda f: (f.suffix != ".pb", f.suffix))
        assert b"/host:CPU" in plane.read_bytes()
        assert plane.name.endswith(".xplane.pb")
        with gzip.open(perfetto, "rt") as file:
            assert any(event["name"] == "sort" for event in json.load(file)["traceEvents"])
        assert "sort" in page.read_text(encoding="utf-8")


def test_short_runs_are_counted_all_and_some_stand_for_them():
    f = tf.function(lambda x: x + 1.0)
    x = tf.constant(1.0)
    f(x)
    runs = 5000
    with tf.profiler.record() as recording:
        for _ in range(runs):
            f(x)
    recorded, counted = recording.sampled
    assert counted == runs
    assert 0 < recorded < runs
    name = next(row.key for row in recording.rows() if row.key.startswith("function"))
    assert _row(recording, name).count == runs
    assert _row(recording, "add").count == runs
    assert f"{recorded} of {runs} short runs" in str(recording)
    assert f"{recorded} of {runs} short runs" in json.loads(recording.chrome())["otherData"]["note"]
    assert sum(recording.shares().values()) == pytest.approx(recording.took)
    total = sum(row.own for row in recording.rows()) + recording.shares()["program"]
    assert total == pytest.approx(recording.took, rel=0.02)


@pytest.mark.parametrize("options", [{"detail": "all"}, {"detail": "functions"}])
def test_all_runs_are_recorded_where_all_is_asked_for(options):
    f = tf.function(lambda x: x + 1.0)
    x = tf.constant(1.0)
    f(x)
    with tf.profiler.record(**options) as recording:
        for _ in range(500):
            f(x)
    if options["detail"] == "all":
        assert recording.sampled is None
        events = json.loads(recording.chrome())["traceEvents"]
        assert sum(event.get("cat") == "function" for event in events) == 500
    name = next(row.key for row in recording.rows() if row.key.startswith("function"))
    assert _row(recording, name).count == 500


def test_operators_outside_of_functions_are_counted_all():
    x = tf.constant([1.0, 2.0])
    with tf.profiler.record() as recording:
        for _ in range(3000):
            tf.sort(x)
    assert _row(recording, "sort").count == 3000


def test_iterations_of_loops_in_graphs_are_counted_all():
    @tf.function
    def sorts(x, n):
        for _ in tf.range(n):
            x = tf.reverse(tf.sort(x), [0])
        return tf.cumsum(x)

    x = tf.random.normal([50])
    sorts(x, 3)
    with tf.profiler.record() as recording:
        sorts(x, tf.constant(20000))
    assert 0 < recording.sampled[0] < recording.sampled[1]
    assert _row(recording, "sort").count == 20000
    total = sum(row.own for row in recording.rows()) + recording.shares()["program"]
    assert total == pytest.approx(recording.took, rel=0.02)


def test_marks_within_runs_that_are_only_counted_are_recorded():
    def marked(x):
        with tf.profiler.experimental.Trace("inner"):
            return x

    @tf.function
    def f(x):
        return tf.py_function(marked, [x], tf.float32)

    x = tf.constant(1.0)
    f(x)
    with tf.profiler.record() as recording:
        for _ in range(500):
            f(x)
    assert _row(recording, "mark inner").count == 500


def test_options_that_are_not_there_are_named(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="colour"):
        tf.profiler.experimental.start(tmp_path, options={"colour": 1})
    with pytest.raises(tf.errors.InvalidArgumentError, match="host_tracer_level"):
        tf.profiler.experimental.start(
            tmp_path, tf.profiler.experimental.ProfilerOptions(host_tracer_level=7)
        )


def test_marks_tell_what_is_known_of_them():
    with (
        tf.profiler.record() as recording,
        tf.profiler.experimental.Trace("read", step_num=1, _r=1, file="a") as mark,
    ):
        mark.set_metadata(rows=3)
    assert [step.name for step in recording.steps()] == ["read#file=a,rows=3#"]
    with tf.profiler.experimental.Trace("nobody listens") as mark:
        mark.set_metadata(rows=3)


def test_threads_of_the_engine_are_told_with_the_steps_that_they_work_for():
    """Whether a thread comes in time for a loop is its luck: the program runs until one has."""
    before = tf.config.threading.get_intra_op_parallelism_threads()
    tf.config.threading.set_intra_op_parallelism_threads(2)
    f = tf.function(lambda x: tf.reduce_sum(tf.exp(x @ x)))
    x = tf.ones([512, 512]) * 1e-3
    f(x)
    try:
        for _ in range(100):
            with tf.profiler.record() as recording:
                f(x)
            if len(recording.threads()) > 1:
                break
    finally:
        tf.config.threading.set_intra_op_parallelism_threads(before)
    helpers = [name for name in recording.threads() if name.startswith("penstock-")]
    assert helpers
    assert all(0 < busy <= recording.took for busy in recording.threads().values())
    events = json.loads(recording.chrome())["traceEvents"]
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    parts = [e for e in events if lanes.get(e.get("tid")) in helpers and e["ph"] == "X"]
    assert {e["cat"] for e in parts} == {"part"}
    assert {e["name"] for e in parts} <= {"matmul", "fused", "exp", "reduce_sum", ""}
    assert _row(recording, "matmul").count == 1


def _training():
    w = tf.Variable(tf.ones([32, 32]))

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return lambda: train(tf.ones([16, 32]))


def _loops():
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            x = tf.sort(x) * 0.5
            if i % 2 == 0:
                x = tf.py_function(lambda v: tf.cumsum(v) - v, [x], tf.TensorSpec([50]))
        return x

    return lambda: f(tf.random.normal([50]), tf.constant(6))


def _recursion():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    return lambda: fibonacci(tf.constant(9))


def _data():
    data = tf.data.Dataset.range(40).map(lambda x: x * 2).batch(10)
    total = tf.function(lambda data: data.reduce(tf.constant(0, tf.int64), lambda s, x: s + tf.reduce_sum(x)))
    return lambda: [total(data), *[tf.reduce_sum(x) for x in data]]


def _tracing():
    return lambda: tf.function(lambda x: tf.sort(x) + 1)(tf.range(9))


@pytest.mark.parametrize("detail", ["functions", "steps", "all"])
@pytest.mark.parametrize("program", [_training, _loops, _recursion, _data, _tracing])
def test_the_rows_of_a_serial_program_add_up_to_its_wall_time(program, detail):
    """The sums are estimates where some runs stand for all, and yet they are those of the clock."""
    before = tf.config.threading.get_intra_op_parallelism_threads()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    try:
        run = program()
        run()
        outer = time.perf_counter()
        with tf.profiler.record(detail=detail) as recording:
            inner = time.perf_counter()
            for _ in range(30):
                run()
            inner = time.perf_counter() - inner
        outer = time.perf_counter() - outer
    finally:
        tf.config.threading.set_intra_op_parallelism_threads(before)
    assert inner <= recording.took <= outer
    total = sum(row.own for row in recording.rows()) + recording.shares()["program"]
    assert total == pytest.approx(recording.took, rel=0.02)
    for by in ("line", "function", "kind"):
        assert sum(row.own for row in recording.rows(by)) <= recording.took * 1.02


def test_the_time_of_a_long_run_is_that_of_its_operators():
    @tf.function
    def sorts(x):
        for _ in tf.range(2000):
            x = tf.reverse(tf.sort(x), [0])
        return x

    x = tf.random.normal([1000])
    sorts(x)
    with tf.profiler.record(detail="all") as recording:
        sorts(x)
    assert recording.shares()["operators"] > 0.5 * recording.took
