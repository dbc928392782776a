"""Programs that Ray runs in several processes, also where some of them are killed."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.distribute import _launch, _launched

ray = pytest.importorskip("ray")

KILLS = int(os.environ.get("PENSTOCK_KILLS", "3"))


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


# Functions are sent as values: a test module cannot be imported in another process.


def ranks() -> Any:
    def program(first: int, second: int = 0) -> list[Any]:
        import penstock as tf

        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        all_of_them = strategy.gather(tf.constant([strategy.group.rank]), axis=0)
        return [
            strategy.group.rank,
            all_of_them.numpy().tolist(),
            first + second,
            strategy.cluster_resolver.task_id,
        ]

    return program


def test_each_process_has_a_rank_and_returns_a_result() -> None:
    found = tf.distribute.launch(ranks(), 3, args=(1,), kwargs={"second": 2})
    assert found == [[rank, [0, 1, 2], 3, rank] for rank in range(3)]


def test_an_error_of_the_program_is_raised() -> None:
    def program() -> None:
        raise ValueError("the program's own")

    with pytest.raises(ValueError, match="the program's own"):
        tf.distribute.launch(program, 2)


def test_a_number_of_processes_below_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="argument 'num_workers'"):
        tf.distribute.launch(ranks(), 0)


def test_more_than_the_cluster_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="5 processes need 5 CPU, and the cluster has 4"):
        tf.distribute.launch(ranks(), 5)
    with pytest.raises(ValueError, match="2 processes need 2 unicorn"):
        tf.distribute.launch(ranks(), 2, resources={"unicorn": 1})


def trainer() -> Any:
    """A program that notes its process and its steps in files, and gives what it has trained."""

    def program(folder: str, steps: int, saved: str | None, random_numbers: bool) -> Any:
        import os
        from pathlib import Path

        import penstock as tf

        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            w, mean = tf.Variable(tf.zeros([8, 1])), tf.Variable(0.0, trainable=False)
            count = tf.Variable(0)
        optimizer = tf.optimizers.Adam(0.01)
        generator = tf.random.Generator.from_seed(5)
        data = tf.data.Dataset.range(4000).map(
            lambda i: tf.sin(tf.cast(tf.range(8) + tf.cast(i, tf.int32) * 8, tf.float32))
        )
        batches = iter(strategy.experimental_distribute_dataset(data.batch(8).repeat()))

        @tf.function
        def one(x: tf.Tensor) -> None:
            # It is written before gradients are combined.
            mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(x))
            noise = generator.normal([8, 1]) if random_numbers else 0.0
            with tf.GradientTape() as tape:
                error = x @ (w + noise) - tf.reduce_sum(x, 1, keepdims=True)
                loss = tf.reduce_sum(tf.square(error)) / 8.0
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])

        def step() -> None:
            strategy.run(one, args=(next(batches),))
            count.assign_add(1)
            (Path(folder) / f"{strategy.group.rank}").write_text(f"{os.getpid()} {int(count)}")

        state = {"w": w, "mean": mean, "optimizer": optimizer, "batches": batches, "generator": generator}
        manager = None
        if saved is not None:
            checkpoint = tf.train.Checkpoint(counter=count, **state)
            manager = tf.train.CheckpointManager(checkpoint, saved, max_to_keep=3)
        tf.distribute.run_steps(step, count, steps, state, manager, save_every=20)
        return w.numpy().ravel().tolist(), int(count)

    return program


class Killer:
    """Kills processes of a program at given steps; the program notes its process and its step in files."""

    def __init__(self, folder: Path, victims: list[tuple[list[int], int]]) -> None:
        self._folder, self._victims = folder, victims
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.killed = 0

    def _run(self) -> None:
        for ranks, at in self._victims:
            while not self._stop.wait(0.005):
                notes = [self._folder / str(rank) for rank in ranks]
                if not all(note.exists() for note in notes):
                    continue
                said = [note.read_text().split() for note in notes]
                if all(len(words) == 2 and int(words[1]) >= at for words in said):
                    for note, (process, _) in zip(notes, said, strict=True):
                        note.unlink()
                        os.kill(int(process), signal.SIGKILL)
                        self.killed += 1
                    break

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.mark.timeout(60 + 10 * KILLS)
def test_processes_that_are_killed_change_no_bit_of_the_result(tmp_path: Path) -> None:
    steps = 100 * (KILLS + 1)
    due = tf.distribute.launch(trainer(), 2, args=(str(tmp_path), steps, None, False))
    for note in tmp_path.iterdir():
        note.unlink()
    chosen = random.Random(7)
    victims = [([chosen.randrange(2)], 100 * k + chosen.randrange(50)) for k in range(KILLS)]
    with Killer(tmp_path, victims) as killer:
        found = tf.distribute.launch(trainer(), 2, args=(str(tmp_path), steps, None, False))
    assert killer.killed == KILLS
    assert found == due


def test_where_nobody_survives_the_steps_go_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    notes, saved = tmp_path / "notes", tmp_path / "saved"
    notes.mkdir()
    due = tf.distribute.launch(trainer(), 2, args=(str(notes), 120, None, False))
    for note in notes.iterdir():
        note.unlink()
    with Killer(notes, [([0, 1], 50)]) as killer:
        found = tf.distribute.launch(trainer(), 2, args=(str(notes), 120, str(saved), False))
    assert killer.killed == 2
    assert found == due
    assert tf.train.latest_checkpoint(str(saved)) is not None


def test_random_numbers_of_a_step_that_fails_are_drawn_again(tmp_path: Path) -> None:
    with Killer(tmp_path, [([1], 40)]) as killer:
        first, second = tf.distribute.launch(trainer(), 2, args=(str(tmp_path), 90, None, True))
    assert killer.killed == 1
    assert first == second


@pytest.mark.timeout(120)
def test_fewer_processes_go_on_where_none_can_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three processes have room; one that ends has no successor, since its room is taken then."""
    monkeypatch.setattr(_launch, "_PATIENCE", 1.0)
    due = tf.distribute.launch(trainer(), 1, args=(str(tmp_path), 150, None, False))
    (tmp_path / "0").unlink()
    cpus = {"CPU": 1.0}

    @ray.remote(num_cpus=2)
    class Other:
        """What takes the room."""

        def here(self) -> None:
            """It has come."""

    def squeeze() -> None:
        # It waits in the queue of the cluster until a process ends.
        ray.get(other.here.remote())

    with Killer(tmp_path, [([1], 40)]) as killer:
        other = Other.remote()
        waiting = threading.Thread(target=squeeze)
        waiting.start()
        found = tf.distribute.launch(
            trainer(), (2, 3), args=(str(tmp_path), 150, None, False), resources=cpus
        )
        ray.kill(other)
        waiting.join()
    assert killer.killed == 1
    assert len(found) == 2
    assert all(one == found[0] for one in found)
    # The same batches, but for the rounding of sums over other numbers of processes.
    np.testing.assert_allclose(found[0][0], due[0][0], rtol=1e-4)


def test_more_ends_than_allowed_are_an_error(tmp_path: Path) -> None:
    with Killer(tmp_path, [([1], 5)]), pytest.raises(tf.errors.UnavailableError, match="max_restarts"):
        tf.distribute.launch(trainer(), 2, args=(str(tmp_path), 5000, None, False), max_restarts=0)


def test_steps_of_one_process_end_at_the_count() -> None:
    count, total = tf.Variable(0), tf.Variable(0)

    def step() -> None:
        total.assign_add(count)
        count.assign_add(1)

    tf.distribute.run_steps(step, count, 5, {"total": total})
    assert int(total) == 10
    with pytest.raises(RuntimeError, match="argument 'step'"):
        tf.distribute.run_steps(lambda: None, count, 6, {})


class Failing(tf.distribute.ProcessGroup):
    """A group of one process, whose first barriers fail."""

    failures = 0

    def barrier(self) -> None:
        if self.failures:
            self.failures -= 1
            raise tf.errors.UnavailableError(None, None, "another process ended")
        super().barrier()


def test_a_step_that_was_made_stays_made_where_another_process_ends_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Worker:
        group = Failing(["127.0.0.1:0"], 0)

        def recover(self) -> None:
            """The group goes on by itself."""

    Worker.group.failures = 2
    monkeypatch.setattr(_launched, "worker", Worker)
    count, total, mean = tf.Variable(0), tf.Variable(0), tf.Variable(0, trainable=False)

    def step() -> None:
        mean.assign_add(1)
        total.assign_add(1)
        count.assign_add(1)

    tf.distribute.run_steps(step, count, 3, {"total": total, "mean": mean})
    assert (int(count), int(total), int(mean)) == (3, 3, 3)
    assert Worker.group.failures == 0
    Worker.group.leave()


def test_consumers_of_a_split_see_each_row_once_an_epoch() -> None:
    import ray.data

    splits = ray.data.range(1000, override_num_blocks=8).streaming_split(2)
    seen: list[list[list[int]]] = [[], []]

    def consume(which: int) -> None:
        dataset = tf.data.Dataset.from_ray(splits[which])
        for _ in range(2):
            seen[which].append([int(row["id"]) for row in dataset])

    threads = [threading.Thread(target=consume, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for epoch in range(2):
        assert sorted(seen[0][epoch] + seen[1][epoch]) == list(range(1000))
        assert all(seen[which][epoch] for which in range(2))
