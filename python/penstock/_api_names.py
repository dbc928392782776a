"""TensorFlow's public symbols, with their parameters, and which of them have no place in this package.

`_tensorflow.txt` beside this file lists them; `penstock.api_report` counts which of them exist.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["NOT_APPLICABLE", "Symbol", "reason", "symbols"]

_CLUSTER: Final = "TensorFlow's own cluster runtime, which gRPC servers and their protos make up"
_COLLECTIONS: Final = "messages of TensorFlow 1's collections of variables"
_LITE: Final = "TensorFlow Lite, a package of its own (LiteRT)"
_MLIR: Final = "internals of TensorFlow's compiler"
_QUANTIZER: Final = "the quantizer of SavedModels that TensorFlow's compiler is, and its protos"
_SERIALIZED: Final = "messages of TensorFlow's own form of types, which nothing else reads"
_SERVICE: Final = "servers of tf.data, which are part of TensorFlow's cluster runtime"
_TPU: Final = "for TPUs, which the engine does not run on"

# Symbols, or namespaces with all that they hold, that have no place here, and why.
NOT_APPLICABLE: Final[dict[str, str]] = {
    "DType.experimental_as_proto": _SERIALIZED,
    "DType.experimental_from_proto": _SERIALIZED,
    "DType.experimental_type_proto": _SERIALIZED,
    "TensorShape.experimental_as_proto": _SERIALIZED,
    "TensorShape.experimental_from_proto": _SERIALIZED,
    "TensorShape.experimental_type_proto": _SERIALIZED,
    "TensorSpec.experimental_as_proto": _SERIALIZED,
    "TensorSpec.experimental_from_proto": _SERIALIZED,
    "TensorSpec.experimental_type_proto": _SERIALIZED,
    "Variable.from_proto": _COLLECTIONS,
    "Variable.to_proto": _COLLECTIONS,
    "config.experimental.ClusterDeviceFilters": _CLUSTER,
    "config.experimental.disable_mlir_bridge": _MLIR,
    "config.experimental.enable_mlir_bridge": _MLIR,
    "config.experimental_connect_to_cluster": _CLUSTER,
    "config.experimental_connect_to_host": _CLUSTER,
    "data.experimental.ServiceOptions": _SERVICE,
    "data.experimental.distributed_save": _SERVICE,
    "data.experimental.get_model_proto": "a message of the tuner of TensorFlow's data sets",
    "data.experimental.make_saveable_from_iterator": "for TensorFlow 1's Saver: a Checkpoint has iterators",
    "data.experimental.service": _SERVICE,
    "distribute.Server": _CLUSTER,
    "distribute.TPUStrategy": _TPU,
    "distribute.cluster_resolver.TPUClusterResolver": _TPU,
    "distribute.experimental.TPUStrategy": _TPU,
    "distribute.experimental.rpc": _CLUSTER,
    "experimental.dtensor": "meshes of devices that TensorFlow's compiler divides graphs over",
    "experimental.register_filesystem_plugin": "plugins of TensorFlow's C interface for file systems",
    "experimental.tensorrt": "for TensorRT; the engine compiles for GPUs by itself",
    "lite": _LITE,
    "mlir": _MLIR,
    "profiler.experimental.client": "a client of TensorFlow's profiler server",
    "profiler.experimental.server": "a server in TensorFlow's own protocol",
    "quantization.experimental": _QUANTIZER,
    "test.create_local_cluster": _CLUSTER,
    "test.with_eager_op_as_function": "TensorFlow's own tests of a runtime that it no longer has",
    "tpu": _TPU,
    "train.ClusterDef": _CLUSTER,
    "train.JobDef": _CLUSTER,
    "train.ServerDef": _CLUSTER,
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """One public symbol of TensorFlow.

    Attributes:
        name: The dotted path below `tf`.
        kind: `function`, `class`, `attribute` or `constant`.
        parameters: The names of a function's or class's parameters, with stars, without `self`; None where
            they are not known.
        counted: Whether it is one of the symbols to cover; else its parameters alone are known.
    """

    name: str
    kind: str
    parameters: tuple[str, ...] | None
    counted: bool

    @property
    def namespace(self) -> str:
        """The module that it is in, empty for `tf` itself; members of a class are in that of the class."""
        parts = self.name.split(".")[:-1]
        return ".".join(part for part in parts if part[0].islower())


def _parameters(text: str) -> tuple[str, ...]:
    """The names in a list of parameters with defaults."""
    names, depth, quote, start = [], 0, "", 0
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{,)]}":
            depth += (sign in "([{") - (sign in ")]}")
            if sign == "," and depth == 0:
                names.append(text[start:i])
                start = i + 1
    return tuple(part.partition("=")[0].strip() for part in [*names, text[start:]] if part.strip())


@functools.cache
def symbols() -> dict[str, Symbol]:
    """TensorFlow's symbols by their names, in the order of the alphabet.

    >>> symbols()["math.add"].parameters
    ('x', 'y', 'name')
    """
    found = {}
    text = Path(__file__).with_name("_tensorflow.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        kind, opened, parameters = rest.partition("(")
        kind = kind.strip()
        known = _parameters(parameters[:-1]) if opened else None
        if kind == "class" and known is not None and known[:1] == ("*args",):
            known = None
        counted = kind != "also"
        found[name] = Symbol(
            name, kind if kind in ("class", "attribute", "constant") else "function", known, counted
        )
    return found


def reason(name: str) -> str | None:
    """Why a symbol has no place here; None where it has one.

    >>> reason("tpu.XLAOptions")
    'for TPUs, which the engine does not run on'
    """
    parts = name.split(".")
    paths = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
    return next((NOT_APPLICABLE[path] for path in paths if path in NOT_APPLICABLE), None)
