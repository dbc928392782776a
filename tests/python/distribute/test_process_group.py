"""What several processes compute together."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from support.members import free_addresses, joined, started, together

import penstock as tf

# Of what runs in other processes the text is sent there.


def every_collective(dtype: str) -> Any:
    group = joined()
    own = tf.cast(tf.reshape(tf.range(8), [4, 2]) % 3 + group.rank, dtype)

    def all_of_them(x: Any) -> Any:
        found = [group.all_reduce(x, op) for op in ("sum", "product", "min", "max")]
        found += [group.all_gather(x), group.reduce_scatter(x), group.broadcast(x, 1)]
        return [*found, group.reduce(x, "sum", 1), group.all_to_all(x)]

    eager, traced = all_of_them(own), tf.function(all_of_them)(own)
    return [[np.array(x, "float64").tolist() for x in found] for found in (eager, traced)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16", "bfloat16"])
@pytest.mark.parametrize("count", [2, 4])
def test_collectives_are_those_of_numpy(dtype: str, count: int) -> None:
    found = together(every_collective, count, dtype)
    values = np.stack([np.arange(8).reshape(4, 2) % 3 + rank for rank in range(count)]).astype("float64")
    part = 4 // count
    for rank, ways in enumerate(found):
        mine = slice(rank * part, (rank + 1) * part)
        due = [
            values.sum(0),
            values.prod(0),
            values.min(0),
            values.max(0),
            values.reshape(-1, 2),
            values.sum(0)[mine],
            values[1],
            values.sum(0) if rank == 1 else np.zeros([4, 2]),
            values[:, mine].reshape(4, 2),
        ]
        for way in ways:
            for got, expected in zip(way, due, strict=True):
                np.testing.assert_array_equal(np.array(got), expected)


def derivatives() -> Any:
    group = joined()
    weight = tf.reshape(tf.range(4.0), [4, 1]) + 1.0
    functions = [
        lambda x: group.all_reduce(x) ** 2 * weight,
        lambda x: group.all_gather(x) ** 2 * tf.concat([weight, weight * 3.0], 0),
        lambda x: group.reduce_scatter(x) ** 2 * weight[:2],
        lambda x: group.broadcast(x, 1) ** 2 * weight,
        lambda x: group.reduce(x, "sum", 1) ** 2 * weight,
        lambda x: group.all_to_all(x) ** 2 * weight,
    ]
    own = tf.reshape(tf.range(4.0), [4, 1]) + 10.0 * group.rank

    def both(function: Any) -> Any:
        x = tf.identity(own)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(function(x) * (1.0 + group.rank))
            first = inner.gradient(y, x)
            total = tf.reduce_sum(first * weight)
        return first, outer.gradient(total, x)

    found = []
    for function in functions:
        for way in (both, tf.function(both)):
            found += [[x.numpy().ravel().tolist() for x in way(function)]]
    return found


def test_derivatives_of_collectives_are_those_of_the_sum_of_all_losses() -> None:
    """In one process: the two values are one variable, and each loss has its part of it."""
    found = together(derivatives, 2)
    weight = tf.reshape(tf.range(4.0), [4, 1]) + 1.0
    twice = tf.concat([weight, weight * 3.0], 0)
    x = tf.stack([tf.reshape(tf.range(4.0), [4, 1]) + 10.0 * rank for rank in range(2)])
    losses = [
        lambda x, r: tf.reduce_sum(x, 0) ** 2 * weight,
        lambda x, r: tf.reshape(x, [8, 1]) ** 2 * twice,
        lambda x, r: tf.reduce_sum(x, 0)[2 * r : 2 * r + 2] ** 2 * weight[:2],
        lambda x, r: x[1] ** 2 * weight,
        lambda x, r: (tf.reduce_sum(x, 0) if r == 1 else tf.zeros([4, 1])) ** 2 * weight,
        lambda x, r: tf.reshape(x[:, 2 * r : 2 * r + 2], [4, 1]) ** 2 * weight,
    ]
    for k, loss in enumerate(losses):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = sum(tf.reduce_sum(loss(x, rank) * (1.0 + rank)) for rank in range(2))
            first = inner.gradient(y, x)
            total = tf.reduce_sum(first * weight)
        second = outer.gradient(total, x)
        for rank in range(2):
            for way in range(2):
                got = found[rank][2 * k + way]
                np.testing.assert_allclose(got[0], first[rank].numpy().ravel(), rtol=1e-6, err_msg=str(k))
                np.testing.assert_allclose(got[1], second[rank].numpy().ravel(), rtol=1e-6, err_msg=str(k))


def packs_of_many() -> Any:
    group = joined()
    parts = {f"k{i}": tf.fill([i % 5, 3], float(i + group.rank)) for i in range(30)}
    parts["whole"] = tf.range(7) * group.rank
    parts["rows"] = tf.IndexedSlices(
        tf.fill([2, 3], 1.0 + group.rank), tf.constant([group.rank, 1]), tf.constant([4, 3])
    )
    step = tf.function(lambda nest: group.all_reduce(nest, "sum", bytes_per_pack=100))
    alike = []
    for found in (group.all_reduce(parts), step(parts)):
        alike += [float(tf.reduce_sum(found[f"k{i}"])) for i in range(30)] + found["whole"].numpy().tolist()
        alike += tf.convert_to_tensor(found["rows"]).numpy().ravel().tolist()
    return alike


def test_a_nest_is_reduced_in_packs() -> None:
    found = together(packs_of_many, 2)
    due = [float((2 * i + 1) * (i % 5) * 3) for i in range(30)] + list(range(7))
    rows = np.zeros([4, 3])
    for rank in range(2):
        for row in (rank, 1):
            rows[row] += 1.0 + rank
    due += rows.ravel().tolist()
    assert found == [due * 2, due * 2]


def other_programs(case: str) -> Any:
    group = joined()
    group.barrier()
    try:
        if case == "kind":
            group.all_reduce(tf.zeros([2])) if group.rank else group.broadcast(tf.zeros([2]), 1)
        elif case == "shape":
            group.all_reduce(tf.zeros([2 + group.rank]))
        elif case == "order":
            for x in (tf.zeros([2]), tf.zeros([2, 2])) if group.rank else (tf.zeros([2, 2]), tf.zeros([2])):
                group.all_reduce(x)
        elif case == "ended" and group.rank == 0:
            group.all_reduce(tf.zeros([2]))
    except tf.errors.OpError as error:
        return [type(error).__name__, str(error)]
    return None


@pytest.mark.parametrize("case", ["kind", "shape", "order"])
def test_programs_that_disagree_are_told_what_both_do(case: str) -> None:
    for name, message in together(other_programs, 2, case):
        assert name == "InvalidArgumentError"
        assert message.count(" of float32[") == 2
        assert message.count(".py:") >= 2


def test_the_end_of_a_process_is_an_error_in_the_others() -> None:
    first, second = together(other_programs, 2, "ended")
    assert second is None
    assert first[0] == "UnavailableError"
    assert "rank 1" in first[1]


def waits_for_ever() -> Any:
    group = joined()
    group.barrier()
    print("here", flush=True)
    if group.rank == 1:
        sys.stdin.read()
    try:
        tf.function(lambda x: group.all_reduce(x) + 1.0)(tf.zeros([100000]))
    except tf.errors.UnavailableError as error:
        return str(error)
    return None


def test_a_killed_process_is_an_error_that_names_the_line() -> None:
    first, second = processes = started(waits_for_ever, 2)
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
        second.kill()
        out, err = first.communicate(timeout=60)
        assert first.returncode == 0, err
        assert "rank 1" in out
        assert "collective_wait" in out
    finally:
        for process in processes:
            process.kill()


def test_a_failed_group_goes_on_as_another() -> None:
    (address,) = free_addresses(1)
    group = tf.distribute.ProcessGroup([address], 0)
    add = tf.function(lambda x: group.all_reduce(x))
    group.abort("for a reason")
    assert group.failure is not None
    with pytest.raises(tf.errors.UnavailableError, match="for a reason"):
        add(tf.constant(1.0))
    group.rejoin([address], 0, generation=1)
    assert float(add(tf.constant(1.0))) == 1.0
    assert group.failure is None
    group.leave()
    with pytest.raises(tf.errors.FailedPreconditionError, match="in no group"):
        add(tf.constant(1.0))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="argument 'rank'"):
        tf.distribute.ProcessGroup(["127.0.0.1:0"], 1)
    with pytest.raises(TypeError, match="argument 'members'"):
        tf.distribute.ProcessGroup([3], 0)  # type: ignore[list-item]
    with pytest.raises(tf.errors.UnavailableError, match="cannot listen at"):
        tf.distribute.ProcessGroup(["192.0.2.1:1"], 0)
    group = tf.distribute.ProcessGroup(["127.0.0.1:0"], 0)
    with pytest.raises(ValueError, match="argument 'op'"):
        group.all_reduce(1.0, "median")
    with pytest.raises(ValueError, match="mean of integers"):
        group.all_reduce(1, "mean")
    with pytest.raises(tf.errors.InvalidArgumentError, match="root"):
        group.broadcast(1.0, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a scalar has none"):
        group.all_gather(1.0)
    # The group is as it was.
    assert float(group.all_reduce(1.0)) == 1.0
    group.leave()
