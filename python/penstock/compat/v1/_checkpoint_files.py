"""Checkpoints of TensorFlow 1: their files, and variables that begin with the values of one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime import v1_graph_state
from penstock._types.argument_names import path_of, shown
from penstock.compat.v1._graph import get_default_graph
from penstock.compat.v1._graph_messages import MetaGraphDef
from penstock.compat.v1._training import Saver
from penstock.compat.v1._variables import get_variable_scope, variables_by_name
from penstock.errors import NotFoundError

if TYPE_CHECKING:
    from penstock._saving.checkpoint_reader import CheckpointReader
    from penstock._saving.checkpoint_state import CheckpointState
    from penstock.compat.v1._graph import Graph

__all__ = [
    "NewCheckpointReader",
    "begin_with",
    "checkpoint_exists",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "import_meta_graph",
    "init_from_checkpoint",
    "remove_checkpoint",
    "update_checkpoint_state",
]


def NewCheckpointReader(filepattern: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint.

    Args:
        filepattern: the path of the checkpoint.

    Returns:
        A reader, which knows the names, shapes, dtypes and values of what is in it.

    Raises:
        NotFoundError: where there is no such checkpoint.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> saver = tf.compat.v1.train.Saver({"v": tf.Variable([1.0, 2.0])})
    >>> path = saver.save(None, os.path.join(tempfile.mkdtemp(), "model"))
    >>> tf.compat.v1.train.NewCheckpointReader(path).get_variable_to_shape_map()
    {'v': [2]}
    """
    from penstock._saving.checkpoint_reader import CheckpointReader  # which is above this in the package

    return CheckpointReader(filepattern)


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Tell whether there is a checkpoint.

    Args:
        checkpoint_prefix: the path that `Saver.save` gave.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.compat.v1.train.checkpoint_exists("nowhere")
    False
    """
    from penstock._saving import checkpoint_state  # which is above this in the package

    return checkpoint_state.exists(path_of(checkpoint_prefix, "checkpoint_prefix"))


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str | os.PathLike[str]]) -> list[float]:
    """Tell when checkpoints were written.

    Args:
        checkpoint_prefixes: their paths.

    Returns:
        For each that there is the time in seconds since 1970; there is none for others.

    >>> import penstock as tf
    >>> tf.compat.v1.train.get_checkpoint_mtimes(["nowhere"])
    []
    """
    paths = [path_of(prefix, "checkpoint_prefixes") for prefix in checkpoint_prefixes]
    return [Path(f"{path}.index").stat().st_mtime for path in paths if checkpoint_exists(path)]


def remove_checkpoint(
    checkpoint_prefix: str | os.PathLike[str],
    checkpoint_format_version: int = 2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Remove the files of a checkpoint.

    Args:
        checkpoint_prefix: its path.
        checkpoint_format_version: accepted and ignored.
        meta_graph_suffix: how the name of the file of its graph ends, which is removed too.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> saver = v1.train.Saver({"v": tf.Variable(1.0)})
    >>> path = saver.save(None, os.path.join(tempfile.mkdtemp(), "model"))
    >>> v1.train.remove_checkpoint(path)
    >>> v1.train.checkpoint_exists(path)
    False
    """
    from penstock._saving import checkpoint_state  # which is above this in the package

    path = path_of(checkpoint_prefix, "checkpoint_prefix")
    checkpoint_state.remove(path)
    Path(f"{path}.{meta_graph_suffix}").unlink(missing_ok=True)


def generate_checkpoint_state_proto(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Describe which checkpoints a directory has.

    Args:
        save_dir: the directory.
        model_checkpoint_path: the path of the latest checkpoint.
        all_model_checkpoint_paths: those of all, the oldest first; the latest is added where it is missing.
        all_model_checkpoint_timestamps: when each was written, in seconds.
        last_preserved_timestamp: when one was last kept for good.

    Returns:
        The description.

    Raises:
        ValueError: for as many times as there are not paths.

    >>> import penstock as tf
    >>> tf.compat.v1.train.generate_checkpoint_state_proto("d", "d/m-2", ["d/m-1"]).all_model_checkpoint_paths
    ['d/m-1', 'd/m-2']
    """
    from penstock._saving.checkpoint_state import CheckpointState  # which is above this in the package

    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise ValueError(
            f"arguments 'all_model_checkpoint_paths' and 'all_model_checkpoint_timestamps' must be of one "
            f"length, got {len(paths)} and {len(times)}"
        )
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    return CheckpointState(model_checkpoint_path, paths, times, last_preserved_timestamp or 0.0)


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write which checkpoints a directory has, as `Saver.save` does.

    Args:
        save_dir: the directory.
        model_checkpoint_path: the path of the latest checkpoint.
        all_model_checkpoint_paths: those of all, the oldest first.
        latest_filename: the name of the file, by default `checkpoint`.
        all_model_checkpoint_timestamps: when each was written, in seconds.
        last_preserved_timestamp: when one was last kept for good.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> directory = tempfile.mkdtemp()
    >>> tf.compat.v1.train.update_checkpoint_state(directory, os.path.join(directory, "model-3"))
    >>> os.path.basename(tf.train.get_checkpoint_state(directory).model_checkpoint_path)
    'model-3'
    """
    from penstock._saving import checkpoint_state  # which is above this in the package

    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    checkpoint_state.record(
        Path(path_of(save_dir, "save_dir")),
        state.model_checkpoint_path,
        state.all_model_checkpoint_paths,
        state.all_model_checkpoint_timestamps or None,
        state.last_preserved_timestamp,
        latest_filename,
    )


def init_from_checkpoint(
    ckpt_dir_or_file: str | os.PathLike[str],
    assignment_map: Mapping[str, Any] | Sequence[tuple[str, Any]],
) -> None:
    """Have variables begin with the values that a checkpoint has.

    In a graph, their initializers set these values from then on; elsewhere the variables have them at once.

    Args:
        ckpt_dir_or_file: the path of the checkpoint, or of a directory, whose latest one it is.
        assignment_map: for the name of a value in the checkpoint a variable, or the name that one has by
            `get_variable`; for a scope there, which ends in `/`, a scope here: each variable in it begins
            with the value of that name. `"/"` is the outermost scope.

    Raises:
        NotFoundError: where there is no checkpoint.
        ValueError: where the checkpoint has no such value or one of another shape, or there is no such
            variable.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> saver = v1.train.Saver({"old/v": tf.Variable(3.0)})
    >>> path = saver.save(None, os.path.join(tempfile.mkdtemp(), "model"))
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     v = v1.get_variable("new/v", [])
    ...     v1.train.init_from_checkpoint(path, {"old/": "new/"})
    ...     session.run(v.initializer)
    ...     float(session.run(v))
    3.0
    """
    from penstock._saving.checkpoint_reader import load_checkpoint  # which is above this in the package

    with _core._Outside():
        reader = load_checkpoint(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    found = [pair for name, target in pairs for pair in _pairs(name, target, shapes)]
    for name, variable in found:
        if name not in shapes:
            raise ValueError(f"the checkpoint {os.fspath(ckpt_dir_or_file)} has no value {name!r}")
        if not variable.shape.is_compatible_with(shapes[name]):
            raise ValueError(
                f"the checkpoint has a value of shape {shapes[name]} for {name}, but {variable.name} is of "
                f"shape {variable.shape}"
            )
    for name, variable in found:
        begin_with(variable, reader.get_tensor(name))


def _pairs(name: str, target: Any, shapes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names of values of a checkpoint, with the variables that they are for."""
    if isinstance(target, _core._Variable):
        return [(name, target)]
    if isinstance(target, list | tuple):
        if len(target) != 1:
            raise ValueError(f"argument 'assignment_map' has {len(target)} variables for {name!r}")
        return _pairs(name, target[0], shapes)
    if not isinstance(target, str):
        raise TypeError(f"argument 'assignment_map' has {shown(target)}, which is no variable or name of one")
    store = variables_by_name()
    if not target.endswith("/"):
        outer = get_variable_scope().name
        full = f"{outer}/{target}" if outer else target
        if full in store:
            return [(name, store[full])]
        raise ValueError(
            f"argument 'assignment_map': there is no variable {full!r}; a scope is named with a '/' at its "
            "end"
        )
    if not name.endswith("/"):
        raise ValueError(
            f"argument 'assignment_map' has the scope {target!r} for {name!r}, which is no scope: it must "
            "end in '/'"
        )
    here, there = target.lstrip("/"), name.lstrip("/")
    return [
        (there + full.removeprefix(here), variable)
        for full, variable in store.items()
        if full.startswith(here)
    ]


def begin_with(variable: Any, value: Any) -> None:
    """Have a variable begin with a value: in a graph its initializer sets it from then on."""
    graph = v1_graph_state.current()
    if graph is None:
        variable.assign(value)
        return
    start = v1_graph_state.mark()
    variable.assign(_core._to_tensor(value, variable.dtype))
    variable.__dict__["_initializer"] = v1_graph_state.operation(start)


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Add the graph of a file of TensorFlow 1 (`model.meta`) to the default graph.

    Operations have their names; those that the package does not have, and what depends on them, are left out.
    Collections hold the variables and tensors that they held.

    Args:
        meta_graph_or_file: the path of the file, or a `MetaGraphDef`.
        clear_devices: accepted and ignored.
        import_scope: a scope for the names.
        **kwargs: those of `Saver`.

    Returns:
        What restores and saves the variables, by the names that they have in the file; None where there are
        none.

    Raises:
        NotFoundError: where there is no such file.
        DataLossError: where it is damaged.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.train.import_meta_graph(tf.compat.v1.MetaGraphDef()) is None
    True
    """
    from penstock._saving import meta_graph  # which is above this in the package

    content = meta_graph_or_file
    if not isinstance(content, MetaGraphDef):
        path = Path(path_of(meta_graph_or_file, "meta_graph_or_file"))
        if not path.is_file():
            raise NotFoundError(f"argument 'meta_graph_or_file': there is no file {path}")
        content = meta_graph.read_meta_graph(path)
    with get_default_graph().entered():
        made = meta_graph.import_meta_graph(content, import_scope)
    return Saver(made, **kwargs) if made else None


def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: Any = None,
    graph_def: object = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> MetaGraphDef:
    """Describe a graph with its variables and collections, and write that to a file (`model.meta`).

    Args:
        filename: the path of the file; None for none.
        meta_info_def: what is said of the graph, in place of what the package says.
        graph_def: must be None: the graph is `graph`.
        saver_def: the names of the operations that write and read its variables; by default operations for
            all variables are added.
        collection_list: the names of the collections, by default all.
        as_text: whether the message is written in its text form.
        graph: the graph, by default the default graph.
        export_scope: must be None: the whole graph is written.
        clear_devices: accepted and ignored: devices are not written.
        clear_extraneous_savers: accepted and ignored.
        strip_default_attrs: accepted and ignored.
        save_debug_info: accepted and ignored.
        **kwargs: accepted and ignored.

    Returns:
        The description.

    Raises:
        ValueError: for one of the arguments that must have a value.
        UnimplementedError: for operators that TensorFlow does not have; it names all.
        FailedPreconditionError: for a graph that calls Python code while it runs.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "model.meta")
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    ...     y = tf.square(x, name="y")
    ...     _ = tf.compat.v1.train.export_meta_graph(path)
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     _ = tf.compat.v1.train.import_meta_graph(path)
    ...     float(session.run("y:0", {"x:0": 3.0}))
    9.0
    """
    from penstock._saving import meta_graph_export  # which is above this in the package

    for name, value in (("graph_def", graph_def), ("export_scope", export_scope)):
        if value is not None:
            raise ValueError(f"argument '{name}' of export_meta_graph is not taken, got {value!r}")
    made = meta_graph_export.meta_graph(graph or get_default_graph(), collection_list)
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    if saver_def is not None:
        made.saver_def.CopyFrom(saver_def)
    if filename is not None:
        meta_graph_export.write_meta_graph(Path(path_of(filename, "filename")), made, as_text)
    return made
