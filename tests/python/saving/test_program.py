"""`tf.Program`: functions with names in a file."""

import numpy as np
import pytest

import penstock as tf


def counting():
    n = tf.Variable(5, name="n")
    trace = tf.function(lambda by: (n.assign_add(by), n * 2)[1]).get_concrete_function(
        tf.TensorSpec([], tf.int32, name="by")
    )
    return n, tf.Program.of({"count": trace})


def test_functions_are_run_by_names(tmp_path):
    n, program = counting()
    program.save(tmp_path / "p")
    loaded = tf.Program.load(tmp_path / "p")
    assert loaded.functions == ["count"]
    assert loaded.function("count").inputs == {"by": tf.TensorSpec([], tf.int32)}
    assert list(loaded.function(0).outputs) == ["output_0"]
    assert int(loaded.run("count", by=2)["output_0"]) == 14
    assert int(loaded.variables["n"]) == 7
    assert int(n) == 5


def test_a_fork_has_variables_of_its_own():
    _, program = counting()
    fork = program.fork()
    fork.run("count", by=1)
    assert int(fork.variables["n"]) == 6
    assert int(program.variables["n"]) == 5


def test_equal_programs_have_equal_bytes():
    _, program = counting()
    data = program.to_bytes()
    assert tf.Program.from_bytes(data).to_bytes() == data


def test_names_that_are_not_there_are_named():
    _, program = counting()
    with pytest.raises(tf.errors.NotFoundError, match="it has count"):
        program.run("missing")
    with pytest.raises(IndexError, match="program of 1"):
        program.function(3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="to"):
        program.run("count", to=1)
    with pytest.raises(TypeError, match="'f' must be a ConcreteFunction"):
        tf.Program.of({"f": 3})
    with pytest.raises(ValueError, match="locations"):
        program.save("p", locations="all")


def test_changed_bytes_are_an_error_or_an_equal_program():
    _, program = counting()
    data = program.to_bytes()
    generator = np.random.default_rng(3)
    for _ in range(300):
        changed = bytearray(data)
        changed[generator.integers(len(data))] ^= 1 << int(generator.integers(8))
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError)):
            tf.Program.from_bytes(bytes(changed))
