"""Variables that begin with the values of a trained model, also where its vocabularies were others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from penstock import _core
from penstock._types.argument_names import path_of, shown
from penstock.compat.v1._checkpoint_files import begin_with, init_from_checkpoint
from penstock.compat.v1._graph import GraphKeys, get_collection

__all__ = ["VocabInfo", "warm_start"]


class _VocabInfo(NamedTuple):
    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int
    backup_initializer: Callable[..., Any] | None
    axis: int


class VocabInfo(_VocabInfo):
    """The vocabularies of a variable that has a row, or a column, for each word.

    Args:
        new_vocab: the path of the file with the words of the variable, one a line.
        new_vocab_size: how many of them it has.
        num_oov_buckets: how many rows it has for words that are not in the file, behind the others.
        old_vocab: the path of the file with the words of the trained model.
        old_vocab_size: how many of them it had; -1 for all.
        backup_initializer: gives rows of words that the trained model did not have; zeros by default.
        axis: 0 where rows are words, 1 where columns are.

    Raises:
        ValueError: for another axis.

    >>> import penstock as tf
    >>> tf.compat.v1.train.VocabInfo("new.txt", 3, 1, "old.txt").old_vocab_size
    -1
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str | os.PathLike[str],
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str | os.PathLike[str],
        old_vocab_size: int = -1,
        backup_initializer: Callable[..., Any] | None = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(f"argument 'axis' must be 0 or 1, got {axis}")
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def warm_start(
    ckpt_to_initialize_from: str | os.PathLike[str],
    vars_to_warm_start: str | Sequence[str] | Sequence[Any] | None = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Have variables begin with the values that a checkpoint has.

    Args:
        ckpt_to_initialize_from: the path of the checkpoint, or of a directory, whose latest one it is.
        vars_to_warm_start: how the names of the variables begin, a regular expression, among those that are
            trainable; a list of such, among all; or a list of variables. None for those trainable ones alone
            that have a vocabulary.
        var_name_to_vocab_info: vocabularies by the names of variables, where they are other ones than those
            of the checkpoint.
        var_name_to_prev_var_name: by the names of variables those that they have in the checkpoint.

    Raises:
        NotFoundError: where there is no checkpoint.
        ValueError: for another kind of `vars_to_warm_start`, for names of variables that are not started, and
            where the checkpoint has no such value or one of another shape.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> path = v1.train.Saver({"v": tf.Variable(3.0)}).save(None, os.path.join(tempfile.mkdtemp(), "model"))
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     v = v1.get_variable("v", [])
    ...     v1.train.warm_start(path)
    ...     session.run(v.initializer)
    ...     float(session.run(v))
    3.0
    """
    chosen = {variable.name.removesuffix(":0"): variable for variable in _chosen(vars_to_warm_start)}
    vocabularies, before = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    for argument, names in (
        ("var_name_to_vocab_info", vocabularies),
        ("var_name_to_prev_var_name", before),
    ):
        if unused := sorted(names.keys() - chosen.keys()):
            raise ValueError(
                f"argument '{argument}' has {unused}, which are no variables that are started: these are "
                f"{sorted(chosen)}"
            )
    for name, variable in chosen.items():
        there = before.get(name, name)
        if name in vocabularies:
            _start_by_vocabulary(ckpt_to_initialize_from, there, variable, vocabularies[name])
        elif vars_to_warm_start is not None:
            init_from_checkpoint(ckpt_to_initialize_from, {there: variable})


def _chosen(wanted: Any) -> list[Any]:
    if wanted is None or isinstance(wanted, str):
        return get_collection(GraphKeys.TRAINABLE_VARIABLES, wanted)
    if not isinstance(wanted, list | tuple):
        raise ValueError(f"argument 'vars_to_warm_start' must be a string or a list, got {shown(wanted)}")
    if all(isinstance(each, _core._Variable) for each in wanted):
        return list(wanted)
    if not all(isinstance(each, str) for each in wanted):
        raise ValueError(
            "argument 'vars_to_warm_start' must list variables alone, or strings alone, got "
            f"{[type(each).__name__ for each in wanted]}"
        )
    return [v for each in wanted for v in get_collection(GraphKeys.GLOBAL_VARIABLES, each)]


def _words(path: Any, argument: str, size: int) -> list[str]:
    lines = Path(path_of(path, argument)).read_text(encoding="utf-8").splitlines()
    if size > len(lines):
        raise ValueError(f"argument '{argument}': {path} has {len(lines)} words, and not {size}")
    return lines if size < 0 else lines[:size]


def _start_by_vocabulary(checkpoint: Any, there: str, variable: Any, info: VocabInfo) -> None:
    from penstock._saving.checkpoint_reader import load_checkpoint  # which is above this in the package

    with _core._Outside():
        reader = load_checkpoint(checkpoint)
        if not reader.has_tensor(there):
            raise ValueError(f"the checkpoint {os.fspath(checkpoint)} has no value {there!r}")
        old = reader.get_tensor(there)
    places = {word: i for i, word in enumerate(_words(info.old_vocab, "old_vocab", info.old_vocab_size))}
    words = _words(info.new_vocab, "new_vocab", info.new_vocab_size)
    shape = variable.shape.as_list()
    count = len(words) + info.num_oov_buckets
    if len(shape) <= info.axis or shape[info.axis] != count:
        raise ValueError(
            f"argument 'var_name_to_vocab_info': {variable.name} is of shape {variable.shape}, and must have "
            f"{count} along dimension {info.axis}: as many as words and buckets"
        )
    if old.shape[: info.axis] + old.shape[info.axis + 1 :] != (*shape[: info.axis], *shape[info.axis + 1 :]):
        raise ValueError(
            f"the checkpoint has a value of shape {old.shape} for {there}, but {variable.name} is of shape "
            f"{variable.shape}"
        )
    known = [(i, places[word]) for i, word in enumerate(words) if word in places]
    begin_with(variable, _moved(old, known, shape, info, variable.dtype))


def _moved(old: Any, known: Iterable[tuple[int, int]], shape: list[int], info: VocabInfo, dtype: Any) -> Any:
    """The values of words where they are now, with those of the backup for words that are new."""
    import numpy as np  # start-up does without it

    with _core._Outside():
        initializer = info.backup_initializer
        backup = None if initializer is None else initializer(shape, dtype=dtype)
    new = np.zeros(shape, old.dtype) if backup is None else np.array(backup.numpy())
    to, source = np.moveaxis(new, info.axis, 0), np.moveaxis(old, info.axis, 0)
    for here, there in known:
        to[here] = source[there]
    return new
