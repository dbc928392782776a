"""SavedModels of open graphs, as sessions have their variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._types.argument_names import path_of
from penstock.compat.v1._graph import get_default_graph
from penstock.compat.v1._signatures import predict_signature_def

if TYPE_CHECKING:
    from penstock.compat.v1._graph_messages import MetaGraphDef, SignatureDef
    from penstock.compat.v1._operation import Operation
    from penstock.compat.v1._session import Session
    from penstock.compat.v1._training import Saver

__all__ = ["Builder", "simple_save"]


class Builder:
    """Puts together a SavedModel: graphs with tags, and the values of variables in a session.

    Args:
        export_dir: the directory, which must not hold anything.

    Raises:
        AssertionError: where the directory holds something.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> path = os.path.join(tempfile.mkdtemp(), "model")
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     x = v1.placeholder(tf.float32, [None], name="x")
    ...     y = x * v1.get_variable("by", [], initializer=v1.constant_initializer(3.0))
    ...     session.run(v1.global_variables_initializer())
    ...     builder = v1.saved_model.Builder(path)
    ...     signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
    ...     builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
    ...     os.path.basename(builder.save())
    b'saved_model.pb'
    >>> loaded = tf.saved_model.load(path)
    >>> loaded.signatures["serving_default"](x=tf.constant([1.0, 2.0]))["y"].numpy().tolist()
    [3.0, 6.0]
    """

    def __init__(self, export_dir: str | os.PathLike[str]) -> None:
        self._directory = Path(path_of(export_dir, "export_dir"))
        if self._directory.is_dir() and any(self._directory.iterdir()):
            raise AssertionError(
                f"argument 'export_dir': the directory {self._directory} holds something already"
            )
        self._graphs: list[MetaGraphDef] = []
        self._values: dict[str, _core.Tensor] = {}
        self._assets: list[str] = []
        self._session: Session | None = None

    def add_meta_graph_and_variables(
        self,
        sess: Session,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Iterable[_core.Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the graph of a session, and the values that the session has of its variables.

        Args:
            sess: the session.
            tags: those of the graph.
            signature_def_map: its signatures, by their names.
            assets_collection: scalars of string that are paths of files, which are copied.
            legacy_init_op: as `main_op`.
            clear_devices: accepted and ignored: devices are not written.
            main_op: an operation that runs when the SavedModel is loaded.
            strip_default_attrs: accepted and ignored.
            saver: what says which variables are written; by default all.

        Raises:
            AssertionError: where a graph was added before; others follow by `add_meta_graph`.
            FailedPreconditionError: for a global variable without a value in the session.
            UnimplementedError: for operators that TensorFlow does not have; it names all.
            FailedPreconditionError: for a graph that calls Python code while it runs.
        """
        if self._graphs:
            raise AssertionError("a graph with variables was added already: add others by add_meta_graph")
        from penstock._saving.meta_graph_export import held_variables  # which is above this in the package

        self._session = sess
        variables = held_variables(sess.graph) if saver is None else saver._variables()
        held = sess._values
        due = set(map(id, sess.graph.get_collection("variables") if saver is None else variables.values()))
        self._values = {name: held.read(v) for name, v in variables.items() if id(v) in due or held.has(v)}
        self.add_meta_graph(
            tags,
            signature_def_map,
            assets_collection,
            legacy_init_op,
            clear_devices,
            main_op,
            strip_default_attrs,
            saver,
        )

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Iterable[_core.Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph under other tags; its variables are those that were added before.

        Args:
            tags: those of the graph.
            signature_def_map: its signatures, by their names.
            assets_collection: scalars of string that are paths of files, which are copied.
            legacy_init_op: as `main_op`.
            clear_devices: accepted and ignored: devices are not written.
            main_op: an operation that runs when the SavedModel is loaded.
            strip_default_attrs: accepted and ignored.
            saver: what says which variables are written; by default all.

        Raises:
            AssertionError: where no variables were added before.
        """
        from penstock._saving import meta_graph_export as export  # which is above this in the package

        if self._session is None:
            raise AssertionError("there are no variables: add_meta_graph_and_variables comes first")
        graph = get_default_graph() if self._graphs else self._session.graph
        labels = [tags] if isinstance(tags, str) else list(tags)
        saved = None if saver is None else saver._variables()
        written = export.meta_graph(graph, None, labels, signature_def_map, saved)
        begin = main_op if main_op is not None else legacy_init_op
        export.note_begin(written, begin)
        for tensor in assets_collection or ():
            file = os.fsdecode(self._session.run(tensor))
            export.note_asset(written, tensor, file)
            self._assets.append(file)
        self._graphs.append(written)

    def save(self, as_text: bool = False) -> bytes:
        """Write the SavedModel.

        Args:
            as_text: whether the graphs are text, in `saved_model.pbtxt`.

        Returns:
            The path of the file of graphs, as bytes.

        Raises:
            ValueError: where no graph was added.
        """
        from penstock._saving.meta_graph_export import write_saved_model  # which is above this in the package

        if not self._graphs:
            raise ValueError("there is no graph: add_meta_graph_and_variables comes first")
        path = write_saved_model(
            self._directory, self._graphs, self._values, dict.fromkeys(self._assets), as_text
        )
        return os.fsencode(path)


def simple_save(
    session: Session,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Write a SavedModel of the graph of a session with one signature, for serving.

    Args:
        session: the session.
        export_dir: the directory, which must not hold anything.
        inputs: the tensors that are given, by names.
        outputs: the tensors that are made, by names.
        legacy_init_op: an operation that runs when the SavedModel is loaded.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "double")
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     x = tf.compat.v1.placeholder(tf.float32, [])
    ...     tf.compat.v1.saved_model.simple_save(session, path, {"x": x}, {"y": 2.0 * x})
    >>> float(tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(4.0))["y"])
    8.0
    """
    builder = Builder(export_dir)
    signature = predict_signature_def(inputs, outputs)
    builder.add_meta_graph_and_variables(
        session, ["serve"], {"serving_default": signature}, main_op=legacy_init_op, clear_devices=True
    )
    builder.save()
