"""Processes that are told to end save a checkpoint, and go on from it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.members import together

import penstock as tf

experimental = tf.distribute.experimental
RESOLVER = tf.distribute.cluster_resolver.SimpleClusterResolver({})


def test_a_program_goes_on_from_where_it_was_told_to_end(tmp_path: Path) -> None:
    def program(end_at: int) -> tuple[int, int, bool]:
        v, told, ended = tf.Variable(0), [False], []
        config = experimental.TerminationConfig(
            termination_watcher_fn=lambda: told[0], exit_fn=lambda: ended.append(True)
        )
        handler = experimental.PreemptionCheckpointHandler(
            RESOLVER, tf.train.Checkpoint(v=v), str(tmp_path), config
        )
        first = handler.total_run_calls
        while handler.total_run_calls < 10 and not ended:
            told[0] = handler.total_run_calls + 1 == end_at
            assert handler.run(lambda x: v.assign_add(x), 2) is v
        return first, int(v), bool(ended)

    assert program(4) == (0, 8, True)
    assert program(99) == (4, 20, False)


def test_a_program_goes_on_for_as_long_as_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    saved: list[int] = []
    ended: list[int] = []
    config = experimental.TerminationConfig(
        termination_watcher_fn=lambda: now[0] >= 2,
        exit_fn=lambda: ended.append(int(now[0])),
        grace_period=3,
        save_fn=lambda: saved.append(int(now[0])),
    )
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), max_to_keep=2)
    handler = experimental.PreemptionCheckpointHandler(RESOLVER, manager, termination_config=config)
    while not ended:
        with handler.watch_preemption_scope():
            now[0] += 1
    assert (saved, ended) == ([2, 5], [5])


def on_signal(folder: str) -> Any:
    import signal

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        v = tf.Variable(0)
        handler = tf.distribute.experimental.PreemptionCheckpointHandler(
            strategy.cluster_resolver, tf.train.Checkpoint(v=v), folder
        )
        try:
            while handler.total_run_calls < 10:
                if handler.total_run_calls == 5 and strategy.group.rank == 1:
                    os.kill(os.getpid(), signal.SIGTERM)
                handler.run(v.assign_add, 1)
        except SystemExit as error:
            return int(v), error.code, tf.train.latest_checkpoint(folder).rpartition("-")[2]
    return int(v), None, None


def test_a_signal_to_one_process_has_all_save_and_end(tmp_path: Path) -> None:
    assert together(on_signal, 2, str(tmp_path)) == [[6, 143, "6"]] * 2
    assert together(on_signal, 2, str(tmp_path / "other"))[0][0] == 6


def test_a_watcher_tells_what_the_process_was_told() -> None:
    before = signal.getsignal(signal.SIGTERM)
    experimental.PreemptionWatcher()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as another library might, which then watches no more
    try:
        watcher = experimental.PreemptionWatcher()
        watcher.block_until_worker_exit()
        assert watcher.preemption_message is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert "SIGTERM" in str(watcher.preemption_message)
    finally:
        from penstock.distribute._preemption import _Signal  # what the process was told is forgotten

        _Signal.told.clear()
        signal.signal(signal.SIGTERM, before)


def test_a_checkpoint_needs_a_folder() -> None:
    with pytest.raises(ValueError, match="argument 'checkpoint_dir'"):
        experimental.PreemptionCheckpointHandler(RESOLVER, tf.train.Checkpoint())
    with pytest.raises(TypeError, match="argument 'checkpoint_or_checkpoint_manager'"):
        experimental.PreemptionCheckpointHandler(RESOLVER, 3)
