"""Variables that begin with the values of a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture
def trained(tmp_path: Path) -> str:
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("embedding", initializer=[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        v1.get_variable("kernel", initializer=[[1.0, 2.0, 3.0]])
        v1.get_variable("bias", initializer=[7.0])
        v1.get_variable("count", initializer=[8.0], trainable=False)
        session.run(v1.global_variables_initializer())
        path: str = v1.train.Saver().save(session, str(tmp_path / "model"))
    (tmp_path / "old.txt").write_text("a\nb\nc\n")
    (tmp_path / "new.txt").write_text("c\nx\na\n")
    return path


def started(path: str, **options: Any) -> dict[str, list[Any]]:
    """The values with which variables begin."""
    with tf.Graph().as_default(), v1.Session() as session:
        zeros = v1.zeros_initializer()
        shapes = {"embedding": [4, 2], "classes": [1, 3], "bias": [1]}
        made = {name: v1.get_variable(name, shape, initializer=zeros) for name, shape in shapes.items()}
        made["count"] = v1.get_variable("count", [1], initializer=zeros, trainable=False)
        v1.train.warm_start(path, **options)
        session.run(v1.global_variables_initializer())
        return {name: value.tolist() for name, value in session.run(made).items()}


def test_rows_and_columns_follow_their_words(trained: str, tmp_path: Path) -> None:
    new, old = tmp_path / "new.txt", tmp_path / "old.txt"
    vocabularies = {
        "embedding": v1.train.VocabInfo(new, 3, 1, old),
        "classes": v1.train.VocabInfo(
            new, 3, 0, old, axis=1, backup_initializer=v1.constant_initializer(9.0)
        ),
    }
    found = started(
        trained, var_name_to_vocab_info=vocabularies, var_name_to_prev_var_name={"classes": "kernel"}
    )
    assert found["embedding"] == [[3.0, 3.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    assert found["classes"] == [[3.0, 9.0, 1.0]]
    assert found["bias"] == [7.0]
    # It is not trainable.
    assert found["count"] == [0.0]


def test_words_behind_the_size_of_the_old_vocabulary_are_new(trained: str, tmp_path: Path) -> None:
    info = v1.train.VocabInfo(tmp_path / "new.txt", 3, 1, tmp_path / "old.txt", 2)
    found = started(trained, vars_to_warm_start=None, var_name_to_vocab_info={"embedding": info})
    assert found["embedding"] == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    assert found["bias"] == [0.0]


def test_a_list_names_variables_that_are_not_trainable_too(trained: str) -> None:
    found = started(trained, vars_to_warm_start=["bias", "count"])
    assert (found["bias"], found["count"]) == ([7.0], [8.0])


def test_variables_are_given_themselves(trained: str) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        other = v1.get_variable("other", [1])
        v1.train.warm_start(trained, [other], var_name_to_prev_var_name={"other": "bias"})
        session.run(other.initializer)
        assert session.run(other).tolist() == [7.0]


def test_what_is_wrong_is_named(trained: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'var_name_to_prev_var_name' has \['missing'\]"):
        started(trained, vars_to_warm_start="bias", var_name_to_prev_var_name={"missing": "bias"})
    with pytest.raises(ValueError, match="'vars_to_warm_start'"):
        started(trained, vars_to_warm_start=3)
    with pytest.raises(ValueError, match="'vars_to_warm_start'"):
        started(trained, vars_to_warm_start=["bias", 3])
    with pytest.raises(ValueError, match="shape"):
        started(trained)
    with pytest.raises(ValueError, match="'axis' must be 0 or 1, got 2"):
        v1.train.VocabInfo("new.txt", 1, 1, "old.txt", axis=2)
    short = v1.train.VocabInfo(tmp_path / "new.txt", 9, 1, tmp_path / "old.txt")
    with pytest.raises(ValueError, match=r"'new_vocab': .* has 3 words, and not 9"):
        started(trained, vars_to_warm_start=None, var_name_to_vocab_info={"embedding": short})
    wrong = v1.train.VocabInfo(tmp_path / "new.txt", 3, 0, tmp_path / "old.txt")
    with pytest.raises(ValueError, match="must have 3 along dimension 0"):
        started(trained, vars_to_warm_start=None, var_name_to_vocab_info={"embedding": wrong})
