"""`tf.saved_model` of TensorFlow 1: SavedModels in sessions, and signatures; the rest is version 2's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from penstock.compat.v1._signatures import (
    build_signature_def as build_signature_def,
    build_tensor_info as build_tensor_info,
    classification_signature_def as classification_signature_def,
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
    is_valid_signature as is_valid_signature,
    predict_signature_def as predict_signature_def,
    regression_signature_def as regression_signature_def,
)
from penstock.compat.v1.saved_model._builder import Builder as Builder, simple_save as simple_save

if TYPE_CHECKING:
    from penstock.compat.v1._graph_messages import MetaGraphDef
    from penstock.compat.v1._session import Session

__all__ = ["LEGACY_INIT_OP_KEY", "MAIN_OP_KEY", "Builder", "load", "simple_save"]

LEGACY_INIT_OP_KEY, MAIN_OP_KEY = "legacy_init_op", "saved_model_main_op"


def load(
    sess: Session,
    tags: Iterable[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> MetaGraphDef:
    """Add a SavedModel to the graph of a session, with the values of its variables.

    Of one that TensorFlow 1 wrote all operations are added by their names, but those that the package does
    not have, and what depends on them; variables are those of the graph. Of others there are placeholders for
    the arguments of each signature, and its results; `signature_def` has their names.

    Args:
        sess: the session.
        tags: those of the graph, such as `["serve"]`.
        export_dir: the directory.
        import_scope: a scope for the names; those in `signature_def` are without it where TensorFlow 1 wrote
            them.
        **saver_kwargs: accepted and ignored.

    Returns:
        The graph, with `signature_def`.

    Raises:
        NotFoundError: where there is no SavedModel.
        RuntimeError: where it has no graph of these tags.
        UnimplementedError: where a signature needs operators that the package does not have.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> module = tf.Module()
    >>> module.double = tf.function(lambda x: 2 * x, input_signature=[tf.TensorSpec([], tf.int32, name="x")])
    >>> path = os.path.join(tempfile.mkdtemp(), "double")
    >>> tf.saved_model.save(module, path)
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     found = tf.compat.v1.saved_model.loader.load(session, ["serve"], path)
    ...     signature = found.signature_def["serving_default"]
    ...     x, y = signature.inputs["x"].name, signature.outputs["output_0"].name
    ...     int(session.run(y, {x: 21}))
    42
    """
    from penstock._saving.meta_graph import load_into  # which is above this in the package

    return load_into(sess, tags, export_dir, import_scope)


SavedModelBuilder = Builder
_OTHERS: Final = {"load_v2": "load", "maybe_saved_model_directory": "contains_saved_model"}
# The names of modules of this one.
_PARTS: Final = {
    "builder": ("SavedModelBuilder",),
    "constants": (
        *(
            "ASSETS_DIRECTORY",
            "ASSETS_KEY",
            "DEBUG_DIRECTORY",
            "DEBUG_INFO_FILENAME_PB",
            "LEGACY_INIT_OP_KEY",
        ),
        *("MAIN_OP_KEY", "SAVED_MODEL_FILENAME_PB", "SAVED_MODEL_FILENAME_PBTXT"),
        *("SAVED_MODEL_SCHEMA_VERSION", "VARIABLES_DIRECTORY", "VARIABLES_FILENAME"),
    ),
    "loader": ("load", "maybe_saved_model_directory"),
    "signature_constants": (
        *("CLASSIFY_INPUTS", "CLASSIFY_METHOD_NAME", "CLASSIFY_OUTPUT_CLASSES", "CLASSIFY_OUTPUT_SCORES"),
        *("DEFAULT_SERVING_SIGNATURE_DEF_KEY", "PREDICT_INPUTS", "PREDICT_METHOD_NAME", "PREDICT_OUTPUTS"),
        *("REGRESS_INPUTS", "REGRESS_METHOD_NAME", "REGRESS_OUTPUTS"),
    ),
    "signature_def_utils": (
        *("build_signature_def", "classification_signature_def", "is_valid_signature"),
        *("predict_signature_def", "regression_signature_def"),
    ),
    "tag_constants": ("GPU", "SERVING", "TPU", "TRAINING"),
    "utils": ("build_tensor_info", "get_tensor_from_tensor_info"),
}


class _Part(ModuleType):
    """A module whose names this one has too."""

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dir__():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(sys.modules[__name__], name)

    def __dir__(self) -> list[str]:
        return list(_PARTS[self.__name__.rpartition(".")[2]])


for _name in _PARTS:
    # Who has this module may import them by their names.
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _Part(
        f"{__name__}.{_name}", f"Names of `tf.compat.v1.saved_model` for `{_name}`."
    )


def __getattr__(name: str) -> object:
    import penstock.saved_model  # which is above this in the package

    return getattr(penstock.saved_model, _OTHERS.get(name, name))
