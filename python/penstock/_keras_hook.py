"""Makes this package a backend of Keras 3, which is installed from PyPI and not changed on the disk.

Keras chooses its backend by the names that it knows when its modules are loaded. `install` adds a finder to
`sys.meta_path`; it loads a few of Keras's modules with an edited syntax tree:

- Keras 3.16 and later have a list of pluggable backends in `keras.src.backend.config`: the name is added.
- Keras 3.15 has chains of `if backend() == ...`: what their last `else` does is replaced by an import.
- Both ask TensorFlow itself about tensors, data sets and graphs: these questions are asked of this package.
- scikit-learn and pandas, which Keras imports where they are installed, are left until a program uses them.

A module that does not have the expected form is an `ImportError` that names it.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.machinery
import importlib.util
import marshal
import os
import sys
import types
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Final

__all__ = ["BACKEND", "install"]

BACKEND: Final = "penstock"

_TENSORFLOW: Final = "keras.src.backend.tensorflow"
_OURS: Final = "keras_penstock.src"
_FACADE: Final = f"{_OURS}.facade"

# What replaces the last `else` of a module's chain over backends, where it has one.
_BRANCHES: Final = {
    "keras.src.backend": f"""
from {_OURS} import *
from {_OURS}.core import Variable as BackendVariable
distribution_lib = None
""",
    "keras.src.layers.layer": f"from {_OURS}.layer import BackendLayer",
    "keras.src.models.model": f"from {_OURS}.trainer import Trainer",
    "keras.src.optimizers.optimizer": f"from {_OURS}.optimizer import BackendOptimizer",
    "keras.src.export.saved_model": f"""
from {_OURS}.export import SavedModelExportArchive as BackendSavedModelExportArchive
""",
}

# The functions that ask about TensorFlow, or do something by it, and what does so in their place.
_QUESTIONS: Final = {
    "keras.src.utils.backend_utils": {"in_tf_graph": "in_graph", "convert_tf_tensor": "keep_tensor"},
    "keras.src.trainers.data_adapters": {"is_tf_dataset": "is_dataset"},
    "keras.src.trainers.data_adapters.data_adapter_utils": {
        "is_tensorflow_tensor": "is_tensor",
        "is_tensorflow_ragged": "is_ragged",
        "is_tensorflow_sparse": "is_sparse",
    },
    "keras.src.utils.dataset_utils": {"is_tf_dataset": "is_dataset"},
    "keras.src.utils.tf_utils": {"is_ragged_tensor": "is_ragged"},
    "keras.src.export.onnx": {"export_onnx": "export_onnx"},
}

# The modules that do more on TensorFlow than elsewhere: with texts, ragged and sparse tensors, SavedModels,
# and replicas.
_MORE_ON_TENSORFLOW: Final = (
    "keras.src.export.tfsm_layer",
    "keras.src.layers.normalization.batch_normalization",
    "keras.src.layers.preprocessing.feature_space",
    "keras.src.layers.preprocessing.hashed_crossing",
    "keras.src.layers.preprocessing.integer_lookup",
    "keras.src.layers.preprocessing.string_lookup",
    "keras.src.layers.preprocessing.text_vectorization",
)

# The modules that import scikit-learn, which takes longer than Keras: loaded when one of their names is used.
_LAZY: Final = ("keras.wrappers", "keras._tf_keras.keras.wrappers")


def _chain(tree: ast.Module, module: str) -> ast.If:
    """The last `if` of the module's chain over backends."""
    for node in tree.body:
        if not (isinstance(node, ast.If) and "backend() == '" in ast.unparse(node.test)):
            continue
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
        if node.orelse:
            return node
    raise _unknown_form(module, "a chain of 'if backend() == ...' that ends in 'else'")


def _unknown_form(module: str, expected: str) -> ImportError:
    return ImportError(
        f"{module} has not {expected}: this version of Keras is not one that the backend '{BACKEND}' knows. "
        "Versions 3.15 and 3.16 are known: pip install 'keras>=3.15,<3.17'"
    )


def _take_branch(tree: ast.Module, module: str) -> None:
    chain = _chain(tree, module)
    if "get_pluggable_backend_module" not in "".join(map(ast.unparse, chain.orelse)):
        chain.orelse = ast.parse(_BRANCHES[module]).body


def _answer(tree: ast.Module, module: str) -> None:
    """Replaces functions that ask about TensorFlow by those of the backend."""
    for name, ours in _QUESTIONS[module].items():
        functions = [
            at for at, node in enumerate(tree.body) if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        if not functions:
            raise _unknown_form(module, f"the function '{name}'")
        # Imported in the call: some of these modules are loaded before the backend can be.
        asked = f"""
def {name}(*args, **kwargs):
    from {_FACADE} import {ours}
    return {ours}(*args, **kwargs)
"""
        tree.body[functions[0]] = ast.parse(asked).body[0]


def _know_backend(tree: ast.Module, module: str) -> None:
    """Lets `DynamicBackend`, by which layers run in data sets, find this backend.

    It is what is meant by TensorFlow, too. That of Keras 3.15 holds a table of backends as code.
    """
    _answer(tree, module)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "DynamicBackend":
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "set_backend"):
                    named = f"""
if backend == 'tensorflow':
    backend = {BACKEND!r}
"""
                    method.body[:0] = ast.parse(named).body
    if "PLUGGABLE_BACKENDS" in ast.unparse(tree):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and "'openvino'" in map(ast.unparse, node.elts):
            node.elts.append(ast.Constant(BACKEND))
        elif isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            branch = f"""
if self._backend == {BACKEND!r}:
    return getattr(importlib.import_module({_OURS!r}), name)
"""
            node.body[:0] = ast.parse(branch).body


def _add_backend(tree: ast.Module, module: str) -> None:
    """Adds the name to the pluggable backends, where this version of Keras has them."""
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PLUGGABLE_BACKENDS":
            tree.body[at + 1 : at + 1] = ast.parse(f"PLUGGABLE_BACKENDS |= {{{BACKEND!r}}}").body
            return


def _point_at_facade(tree: ast.Module, module: str) -> None:
    """Makes Keras's lazy module `tensorflow` one that has this package's names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node) == "tensorflow = LazyModule('tensorflow')":
            node.value = ast.parse(f"LazyModule({_FACADE!r})", mode="eval").body
            return
    raise _unknown_form(module, "the lazy module 'tensorflow'")


_ON_TENSORFLOW: Final = "config.backend() == 'tensorflow'"


def _keep_64_bits(tree: ast.Module, module: str) -> None:
    """Decorates the promotion of dtypes, so that 64 bits of an operand are not lost.

    The dtypes "int" and "complex" have as many as on TensorFlow: steps of optimizers are `int64`.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PYTHON_DTYPES_MAP":
            for choice in ast.walk(node):
                if isinstance(choice, ast.IfExp) and ast.unparse(choice.test) == _ON_TENSORFLOW:
                    choice.test = ast.Constant(True)
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == "result_type":
            node.decorator_list.append(ast.Name("keeping_64_bits", ast.Load()))
            tree.body[at:at] = ast.parse("from keras_penstock.dtypes import keeping_64_bits").body
            return
    raise _unknown_form(module, "function 'result_type'")


def _slice_arrays(tree: ast.Module, module: str) -> None:
    """Slices arrays of texts as on TensorFlow, and knows those of pandas once a program has loaded pandas."""
    _count_as_tensorflow(tree, module)
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.Try) and ast.unparse(node.body[0]) == "import pandas":
            tree.body[at] = ast.parse(f"from {_FACADE} import pandas").body[0]
            return


def _count_as_tensorflow(tree: ast.Module, module: str) -> None:
    """Makes a module that can do something on TensorFlow only do it on this backend.

    Its functions stay as they are in the file, which AutoGraph reads: what `backend` means to them changes.
    """
    for at, node in enumerate(tree.body):
        if ast.unparse(node) == "from keras.src import backend":
            renamed = """
from keras_penstock.naming import named_tensorflow
backend = named_tensorflow(backend)
"""
            tree.body[at + 1 : at + 1] = ast.parse(renamed).body
            return
    raise _unknown_form(module, "an import of 'backend'")


def _import_ours(tree: ast.Module, module: str) -> None:
    """Makes imports of TensorFlow ones of this package, which has profiles and tensors of texts as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                alias.name = _ours(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            node.module = _ours(node.module)
    _count_as_tensorflow(tree, module)


def _ours(module: str) -> str:
    first, dot, rest = module.partition(".")
    return f"penstock{dot}{rest}" if first == "tensorflow" else module


def _show_tensors(tree: ast.Module, module: str) -> None:
    """Shows tensors among the arguments of an error as `tf.Tensor`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node) == "tensor_cls = 'array'":
            node.value = ast.Constant("tf.Tensor")
            return
    raise _unknown_form(module, "a name for tensors")


def _count_rows(tree: ast.Module, module: str) -> None:
    """Weighs the loss of each output by the rows of a batch, also where the graph does not know their number.

    Keras asks for the static size: a batch of an unknown one would count as one row.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and ast.unparse(node) == (
            "sample_weight=tree.flatten(y_p)[0].shape[0]"
        ):
            node.value = ast.parse("_rows_of(tree.flatten(y_p)[0])", mode="eval").body
            tree.body += ast.parse("""
def _rows_of(tensor):
    from keras_penstock.src.core import shape
    return shape(tensor)[0]
""").body
            return
    raise _unknown_form(module, "a count of the rows of a batch")


_EDITS: Final[dict[str, Callable[[ast.Module, str], None]]] = {
    **dict.fromkeys(_BRANCHES, _take_branch),
    **dict.fromkeys(_QUESTIONS, _answer),
    **dict.fromkeys(_MORE_ON_TENSORFLOW, _count_as_tensorflow),
    "keras.src.utils.backend_utils": _know_backend,
    "keras.src.backend.common.dtypes": _keep_64_bits,
    "keras.src.backend.config": _add_backend,
    "keras.src.utils.module_utils": _point_at_facade,
    "keras.src.trainers.data_adapters.array_slicing": _slice_arrays,
    "keras.src.callbacks.tensorboard": _import_ours,
    "keras.src.trainers.compile_utils": _count_rows,
    "keras.src.utils.traceback_utils": _show_tensors,
    "keras.src.utils.grain_utils": _import_ours,
}


class _EditingLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of Keras from its source with the edit of its name.

    The code is kept beside that of Python, in a file that begins with a hash of what the code is made of: to
    make that of all modules anew takes a fifth of a second.
    """

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        key = importlib.util.MAGIC_NUMBER + importlib.util.source_hash(_edits() + source)
        kept = importlib.util.cache_from_source(path, optimization=f"penstock{sys.flags.optimize}")
        code = _kept_code(kept, key)
        if code is None:
            tree = ast.parse(source, path)
            _EDITS[fullname](tree, fullname)
            code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
            assert isinstance(code, types.CodeType)
            if not sys.dont_write_bytecode:
                self.set_data(kept, key + marshal.dumps(code))
        return code


@functools.cache
def _edits() -> bytes:
    """What this module is, by which it edits others."""
    return Path(__file__).read_bytes()


def _kept_code(file: str, key: bytes) -> types.CodeType | None:
    """The code of a file, where it is made of what the key says."""
    try:
        data = Path(file).read_bytes()
        code = marshal.loads(data[len(key) :]) if data.startswith(key) else None
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return code if isinstance(code, types.CodeType) else None


class _AliasLoader(Loader):
    """Loads a module that has the names of another one."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        names = vars(importlib.import_module(self.target))
        vars(module).update({name: value for name, value in names.items() if not name.startswith("__")})


def _alias(fullname: str) -> str | None:
    """The module whose names a module has, or None for one that is no alias.

    Layers that preprocess run "on TensorFlow" in data sets, whichever backend is in use: that is ours.
    """
    for prefix, target in (_TENSORFLOW, _OURS), ("penstock.keras", "keras._tf_keras.keras"):
        if fullname.startswith(f"{prefix}.") or fullname == _TENSORFLOW == prefix:
            return target + fullname.removeprefix(prefix).replace(".ops.", ".")
    return None


def _is_chosen() -> bool:
    """Whether Keras is on this backend, or will be: once it is loaded, the environment chooses no more."""
    backend = getattr(sys.modules.get("keras.src.backend.config"), "backend", None)
    return (os.environ.get("KERAS_BACKEND") if backend is None else backend()) == BACKEND


class _Finder(MetaPathFinder):
    """Finds the modules of Keras that are edited, and those that stand for TensorFlow's backend."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not _is_chosen():
            return None
        alias = _alias(fullname)
        if alias is not None and not fullname.endswith("_test"):
            if importlib.util.find_spec(alias) is None:
                return None
            return importlib.machinery.ModuleSpec(fullname, _AliasLoader(alias), is_package=True)
        if fullname not in _EDITS and fullname not in _LAZY:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None or spec.origin is None:
            return spec
        if fullname in _LAZY:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        else:
            spec.loader = _EditingLoader(fullname, spec.origin)
        return spec


def install() -> None:
    """Install the finder; does nothing where it is installed.

    Raises:
        RuntimeError: where Keras is loaded already, on another backend.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("keras.src.backend")
    if loaded is not None:
        raise RuntimeError(
            f"Keras is loaded on the backend '{loaded.backend()}': import penstock.keras before keras, "
            f"or start Python with KERAS_BACKEND={BACKEND} in the environment"
        )
    sys.meta_path.insert(0, _Finder())
