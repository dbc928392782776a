"""The step counter of TensorFlow 1, learning rates that fall with it, and checkpoints by names."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.scope import named, within
from penstock._types.argument_names import shown
from penstock._values.variable import Variable
from penstock.compat.v1._graph import Graph, get_default_graph
from penstock.compat.v1._variables import global_variables
from penstock.errors import FailedPreconditionError, NotFoundError, UnimplementedError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock.compat.v1._graph_messages import MetaGraphDef
    from penstock.compat.v1._session import Session

__all__ = [
    "Saver",
    "assert_global_step",
    "cosine_decay",
    "create_global_step",
    "decaying",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
]

_STEP = "global_step"


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """Find the step counter of a graph.

    Args:
        graph: the graph; by default the default graph.

    Returns:
        The variable; None where there is none.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.train.get_global_step() is None
    True
    """
    found = (graph or get_default_graph()).get_collection(_STEP)
    return found[0] if found else None


def create_global_step(graph: Graph | None = None) -> Variable:
    """Make the step counter of a graph.

    Args:
        graph: the graph; by default the default graph.

    Returns:
        A variable, a scalar of `int64`.

    Raises:
        ValueError: where there is one.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.train.create_global_step().name
    'global_step:0'
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists')
    if _core._is_tracing():
        with graph.entered():
            made = Variable(_core._to_tensor(0, _core.int64), trainable=False, name=_STEP)
    else:
        made = Variable(_core._to_tensor(0, _core.int64), trainable=False, name=_STEP)
    graph.add_to_collection(_STEP, made)
    return made


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """Find the step counter of a graph, or make it.

    Args:
        graph: the graph; by default the default graph.

    Returns:
        A variable, a scalar of `int64`.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.compat.v1.train.get_or_create_global_step()
    ...     step is tf.compat.v1.train.get_global_step()
    True
    """
    return get_global_step(graph) or create_global_step(graph)


def assert_global_step(global_step_tensor: Variable) -> None:
    """Check that a variable or tensor can be a step counter.

    Args:
        global_step_tensor: the variable.

    Raises:
        TypeError: where it is no scalar of integers.

    >>> import penstock as tf
    >>> tf.compat.v1.train.assert_global_step(tf.Variable(3))
    """
    if not isinstance(global_step_tensor, _core._Variable | _core.Tensor):
        raise TypeError(f"the step counter must be a variable or a tensor, got {shown(global_step_tensor)}")
    if not global_step_tensor.dtype.is_integer or global_step_tensor.shape.rank not in (0, None):
        raise TypeError(
            f"the step counter must be a scalar of integers, got {global_step_tensor.dtype.name} of shape "
            f"{global_step_tensor.shape}"
        )


def global_step(sess: Session | None, global_step_tensor: Variable) -> int:
    """Tell the value of a step counter.

    Args:
        sess: the session; None where operations run at once.
        global_step_tensor: the variable.

    Returns:
        The value.

    >>> import penstock as tf
    >>> tf.compat.v1.train.global_step(None, tf.Variable(3))
    3
    """
    return int(global_step_tensor.numpy() if sess is None else sess.run(global_step_tensor))


def decaying(formula: Callable[[Any, Any], Any], rate: TensorLike, step: Any, name: str) -> Any:
    """A learning rate: a tensor in graphs and traced functions, else a function that gives it."""

    def now() -> Any:
        start = _core._to_tensor(rate)
        return formula(start, raw_ops.cast(step, dtype=start.dtype))

    return named(within(name, now), name) if _core._is_tracing() else now


def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Make a learning rate that is multiplied by a number every so many steps.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: the number of steps.
        decay_rate: what it is multiplied by.
        staircase: whether it stays as it is in between.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> step = tf.Variable(2)
    >>> float(tf.compat.v1.train.exponential_decay(1.0, step, 1, 0.5)())
    0.25
    """

    def formula(rate: Any, step: Any) -> Any:
        part = step / raw_ops.cast(decay_steps, dtype=rate.dtype)
        part = raw_ops.floor(part) if staircase else part
        return rate * raw_ops.cast(decay_rate, dtype=rate.dtype) ** part

    return decaying(formula, learning_rate, global_step, name or "ExponentialDecay")


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Make a learning rate that falls by powers of e.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: every how many steps the power grows by `decay_rate`.
        decay_rate: by how much it grows.
        staircase: whether it stays as it is in between.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> round(float(tf.compat.v1.train.natural_exp_decay(1.0, tf.Variable(1), 1, 1.0)()), 4)
    0.3679
    """
    factor = raw_ops.exp(-raw_ops.cast(decay_rate, dtype=_core.float32))
    label = name or "NaturalExpDecay"
    return exponential_decay(learning_rate, global_step, decay_steps, factor, staircase, label)


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Make a learning rate that is divided by a number that grows with the steps.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: every how many steps the number grows by `decay_rate`.
        decay_rate: by how much it grows.
        staircase: whether it stays as it is in between.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> float(tf.compat.v1.train.inverse_time_decay(1.0, tf.Variable(1), 1, 1.0)())
    0.5
    """

    def formula(rate: Any, step: Any) -> Any:
        part = step / raw_ops.cast(decay_steps, dtype=rate.dtype)
        part = raw_ops.floor(part) if staircase else part
        return rate / (1.0 + raw_ops.cast(decay_rate, dtype=rate.dtype) * part)

    return decaying(formula, learning_rate, global_step, name or "InverseTimeDecay")


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Make a learning rate that falls to another one, as a power of the steps that are left.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: after how many steps it is the other one.
        end_learning_rate: the other one.
        power: the power.
        cycle: whether it begins anew, over more steps, once it is there.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> float(tf.compat.v1.train.polynomial_decay(1.0, tf.Variable(5), 10, 0.0)())
    0.5
    """

    def formula(rate: Any, step: Any) -> Any:
        steps = raw_ops.cast(decay_steps, dtype=rate.dtype)
        if cycle:
            steps = steps * raw_ops.maximum(raw_ops.ceil(step / steps), raw_ops.ones_like(steps))
        else:
            step = raw_ops.minimum(step, steps)
        end = raw_ops.cast(end_learning_rate, dtype=rate.dtype)
        return (rate - end) * (1.0 - step / steps) ** power + end

    return decaying(formula, learning_rate, global_step, name or "PolynomialDecay")


def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: float = 0.0,
    name: str | None = None,
) -> Any:
    """Make a learning rate that falls as half a wave of the cosine.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: after how many steps it is the least.
        alpha: the least rate, as a part of the first one.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> float(tf.compat.v1.train.cosine_decay(1.0, tf.Variable(10), 10)())
    0.0
    """

    def formula(rate: Any, step: Any) -> Any:
        steps = raw_ops.cast(decay_steps, dtype=rate.dtype)
        wave = 0.5 * (1.0 + raw_ops.cos(math.pi * raw_ops.minimum(step, steps) / steps))
        return rate * ((1.0 - alpha) * wave + alpha)

    return decaying(formula, learning_rate, global_step, name or "CosineDecay")


def piecewise_constant(
    x: TensorLike, boundaries: Sequence[TensorLike], values: Sequence[TensorLike], name: str | None = None
) -> Any:
    """Make a learning rate that has one value up to each boundary, and another one behind it.

    Args:
        x: the step counter.
        boundaries: steps, ascending; the last step of each value but the last.
        values: the values, one more than boundaries.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    Raises:
        ValueError: for another number of values.

    >>> import penstock as tf
    >>> float(tf.compat.v1.train.piecewise_constant(tf.Variable(3), [2, 4], [1.0, 0.5, 0.25])())
    0.5
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            f"argument 'boundaries' must have one item less than 'values', which has {len(values)}, "
            f"got {len(boundaries)}"
        )

    def now() -> _core.Tensor:
        step = _core._to_tensor(x)
        found = _core._to_tensor(values[0])
        for boundary, value in zip(boundaries, values[1:], strict=True):
            beyond = raw_ops.greater(step, raw_ops.cast(boundary, dtype=step.dtype))
            found = raw_ops.select(beyond, _core._to_tensor(value, found.dtype), found)
        return found

    return now() if _core._is_tracing() else now


class Saver:
    """Writes variables to checkpoints by their names, and reads them.

    Args:
        var_list: the variables, or a dict of them by the names that they have in files; by default all of the
            graph.
        reshape: whether a value of another shape, but of as many elements, fits.
        sharded: accepted and ignored.
        max_to_keep: how many checkpoints stay; None or 0 for all.
        keep_checkpoint_every_n_hours: accepted and ignored.
        name: accepted and ignored.
        restore_sequentially: accepted and ignored.
        saver_def: accepted and ignored.
        builder: accepted and ignored.
        defer_build: whether variables are looked up when it is used first.
        allow_empty: whether there may be no variables.
        write_version: accepted and ignored.
        pad_step_number: whether steps in file names have eight digits.
        save_relative_paths: accepted; paths are relative.
        filename: accepted and ignored.

    Raises:
        ValueError: where there are no variables.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     v = tf.compat.v1.get_variable("v", [], initializer=tf.compat.v1.constant_initializer(3.0))
    ...     session.run(v.initializer)
    ...     saver = tf.compat.v1.train.Saver()
    ...     path = saver.save(session, os.path.join(tempfile.mkdtemp(), "model"), global_step=7)
    ...     os.path.basename(path)
    'model-7'
    """

    def __init__(
        self,
        var_list: Sequence[Variable] | Mapping[str, Variable] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: object = None,
        builder: object = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        self._given = var_list
        self._reshape, self._pad, self._allow_empty = reshape, pad_step_number, allow_empty
        self._most = max_to_keep or 0
        self._paths: list[str] = []
        # The message of a graph, and the state in which the graph was.
        self._written: tuple[object, bytes | None] | None = None
        self._found: dict[str, Variable] | None = None
        if not defer_build:
            self._variables()

    def _variables(self) -> dict[str, Variable]:
        if self._found is None:
            given = global_variables() if self._given is None else self._given
            named = given if isinstance(given, Mapping) else {v._name: v for v in given}
            if not named and not self._allow_empty:
                raise ValueError("no variables to save")
            self._found = dict(named)
        return self._found

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that it has written and not removed, oldest first."""
        return list(self._paths)

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Take over checkpoints that another one has written.

        Args:
            last_checkpoints: their paths, oldest first.

        >>> import penstock as tf
        >>> saver = tf.compat.v1.train.Saver([tf.Variable(1.0)])
        >>> saver.set_last_checkpoints(["model-1"])
        >>> saver.last_checkpoints
        ['model-1']
        """
        self._paths = list(last_checkpoints)

    def save(
        self,
        sess: Session | None,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write the variables.

        Args:
            sess: the session whose values they are; None where operations run at once.
            save_path: the path of the files, without what tells them apart.
            global_step: a number or variable, which is added to the path.
            latest_filename: the name of the file that lists checkpoints, by default `checkpoint`.
            meta_graph_suffix: the end of the name of the file with the graph.
            write_meta_graph: whether the graph of the session is written, too. The first time takes seconds
                for thousands of operations, later ones no time while the graph stays as it is. A graph that
                TensorFlow has no message for, such as one that calls Python in a loop, is not written.
            write_state: whether to list the checkpoint.
            strip_default_attrs: accepted and ignored.
            save_debug_info: accepted and ignored.

        Returns:
            The path of the checkpoint.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> saver = tf.compat.v1.train.Saver({"v": tf.Variable(1.0)})
        >>> path = saver.save(None, os.path.join(tempfile.mkdtemp(), "model"))
        >>> tf.train.load_checkpoint(path).get_tensor("v")
        np.float32(1.0)
        """
        from penstock._saving import checkpoint_state  # which is above this in the package

        path = os.fspath(save_path)
        if global_step is not None:
            number = global_step
            if isinstance(number, _core.Tensor | _core._Variable):
                number = number.numpy() if sess is None else sess.run(number)
            path = f"{path}-{int(number):08d}" if self._pad else f"{path}-{int(number)}"
        tensors = [(name, [_value(sess, variable)]) for name, variable in sorted(self._variables().items())]
        directory = Path(path).parent
        directory.mkdir(parents=True, exist_ok=True)
        _core._write_bundle(path, tensors, None)
        self._paths = [*(p for p in self._paths if p != path), path]
        while self._most and len(self._paths) > self._most:
            checkpoint_state.remove(self._paths.pop(0))
        if write_meta_graph and sess is not None:
            content = self._message(sess.graph)
            if content is not None:
                Path(f"{path}.{meta_graph_suffix}").write_bytes(content)
        if write_state:
            checkpoint_state.record(directory, path, self._paths, name=latest_filename)
        return path

    def _message(self, graph: Graph) -> bytes | None:
        """What a file of the graph holds, kept while that is the same; None where it cannot be written."""
        state = graph._state()
        if self._written is None or state is None or self._written[0] != state:
            content = None
            with suppress(FailedPreconditionError, UnimplementedError):
                content = self._described(graph).SerializeToString()
            self._written = state, content
        return self._written[1]

    def _described(self, graph: Graph, collections: Iterable[str] | None = None) -> MetaGraphDef:
        from penstock._saving.meta_graph_export import meta_graph  # which is above this in the package

        return meta_graph(graph, collections, saved=self._variables(), most=self._most)

    def export_meta_graph(
        self,
        filename: str | os.PathLike[str] | None = None,
        collection_list: Iterable[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> MetaGraphDef:
        """Describe the default graph, with the operations that write and read these variables.

        Args:
            filename: the path of the file to write; None for none.
            collection_list: the names of the collections, by default all.
            as_text: whether the message is written in its text form.
            export_scope: must be None: the whole graph is written.
            clear_devices: accepted and ignored: devices are not written.
            clear_extraneous_savers: accepted and ignored.
            strip_default_attrs: accepted and ignored.
            save_debug_info: accepted and ignored.

        Returns:
            The description.

        Raises:
            ValueError: for one of the arguments that must have a value.
            UnimplementedError: for operators that TensorFlow does not have; it names all.
            FailedPreconditionError: for a graph that calls Python code while it runs.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.compat.v1.get_variable("v", [2])
        ...     made = tf.compat.v1.train.Saver([v], max_to_keep=3).export_meta_graph()
        >>> made.saver_def.restore_op_name, made.saver_def.max_to_keep
        ('save/restore_all', 3)
        """
        from penstock._saving.meta_graph_export import write_meta_graph  # which is above this in the package

        if export_scope is not None:
            raise ValueError(
                f"argument 'export_scope' of export_meta_graph is not taken, got {export_scope!r}"
            )
        made = self._described(get_default_graph(), collection_list)
        if filename is not None:
            write_meta_graph(Path(filename), made, as_text)
        return made

    def restore(self, sess: Session | None, save_path: str | os.PathLike[str]) -> None:
        """Give the variables the values that a checkpoint has for them.

        Args:
            sess: the session whose values they are; None where operations run at once.
            save_path: the path of the checkpoint.

        Raises:
            NotFoundError: where the checkpoint has no value of a variable.
            ValueError: where there is no checkpoint; for a value of another shape.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> v = tf.Variable(1.0)
        >>> saver = tf.compat.v1.train.Saver({"v": v})
        >>> path = saver.save(None, os.path.join(tempfile.mkdtemp(), "model"))
        >>> _ = v.assign(2.0)
        >>> saver.restore(None, path)
        >>> float(v)
        1.0
        """
        from penstock._saving.checkpoint_reader import Bundle  # which is above this in the package

        if save_path is None:
            raise ValueError("argument 'save_path' must be the path of a checkpoint, got None")
        try:
            bundle = Bundle(os.fspath(save_path))
        except NotFoundError as error:
            raise ValueError(f"argument 'save_path' is no path of a checkpoint: {error.message}") from None
        there = {key for key, _, _ in bundle.entries()}
        for name, variable in self._variables().items():
            if name not in there:
                raise NotFoundError(f"key {name} not found in checkpoint {os.fspath(save_path)}")
            with _core._Outside():
                value = bundle.read(name)
                if self._reshape and not variable.shape.is_compatible_with(value.shape):
                    value = raw_ops.reshape(value, variable.shape.as_list())
                if not variable.shape.is_compatible_with(value.shape):
                    raise ValueError(
                        f"the checkpoint has a value of shape {value.shape} for {name}, "
                        f"which is of shape {variable.shape}"
                    )
            if sess is None:
                variable.assign(value)
            else:
                sess.load(variable, value)


def _value(sess: Session | None, variable: Variable) -> _core.Tensor:
    """The value of a variable, in a session or at once."""
    if not isinstance(variable, _core._Variable):
        raise TypeError(f"argument 'var_list' must have variables, got {shown(variable)}")
    if sess is None:
        return variable.read_value()
    with _core._Outside():
        return sess._values.read(variable)
