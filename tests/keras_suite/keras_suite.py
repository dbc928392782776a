"""A plugin of pytest that runs the tests in Keras's wheel on this backend; `run.py` loads it.

Tests that say `import tensorflow` get the names of this package. Where they ask whether the backend is
TensorFlow's, this one counts as it: what is tested on TensorFlow alone is tested here. `excluded.toml` lists
what cannot pass, each entry with its reason: such a test is skipped, and the reason is shown. It also lists
functions that expect what only TensorFlow does: they are answered that it is another backend.
"""

import ast
import fnmatch
import importlib.util
import os
import re
import sys
import tempfile
import tomllib
import types
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

os.environ["KERAS_BACKEND"] = "penstock"
os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-home-"))

import pytest

import penstock

LISTS = tomllib.loads(Path(__file__).with_name("excluded.toml").read_text(encoding="utf-8"))
EXCLUDED, OTHER_BACKEND = LISTS["excluded"], LISTS["another_backend"]
MARKERS = ("requires_trainable_backend", "multi_device")


def pytest_configure(config):
    import keras

    from keras_penstock.src import facade

    assert keras.backend.backend() == "penstock"
    sys.modules["tensorflow"] = facade
    sys.modules.update(tensorflow_modules())
    sys.modules["conftest"] = keras_conftest()
    sys.meta_path.insert(0, TestsFinder())
    for marker in MARKERS:
        config.addinivalue_line("markers", f"{marker}: a marker of Keras's tests")


def tensorflow_modules():
    """The modules within TensorFlow that Keras's tests import: what event files and their records are."""
    from penstock._runtime import records

    def tf_record_iterator(path):
        with Path(path).open("rb") as file:
            yield from records.records(file, path)

    tf_record = types.SimpleNamespace(tf_record_iterator=tf_record_iterator)
    event_pb2 = types.SimpleNamespace(Event=penstock.compat.v1.Event)
    # Tests forget the devices of TensorFlow's context; here there are as many as a program names.
    context = types.SimpleNamespace(_reset_context=lambda: None)
    return {
        "tensorflow.summary": penstock.summary,
        "tensorflow.compat": penstock.compat,
        "tensorflow.compat.v1": penstock.compat.v1,
        "tensorflow.core.util": types.SimpleNamespace(event_pb2=event_pb2),
        "tensorflow.core.util.event_pb2": event_pb2,
        "tensorflow.python.eager": types.SimpleNamespace(context=context),
        "tensorflow.python.lib.io": types.SimpleNamespace(tf_record=tf_record),
    }


def keras_conftest():
    """The module of that name in Keras's repository, which its wheel leaves out."""
    module = types.ModuleType("conftest")

    def skip_if_backend(given_backend, reason):
        return pytest.mark.skipif(given_backend == "penstock", reason=reason)

    module.skip_if_backend = skip_if_backend
    return module


class TensorflowQuestions(ast.NodeTransformer):
    """Lets this backend pass where `backend.backend()` is compared with TensorFlow's name.

    Functions whose names are in `left_alone` are not edited.
    """

    def __init__(self, left_alone):
        self.left_alone = left_alone

    def visit_FunctionDef(self, node):
        return node if node.name in self.left_alone else self.generic_visit(node)

    def visit_Compare(self, node):
        operation, right = node.ops[0], node.comparators[0]
        if not ast.unparse(node.left).endswith("backend()"):
            return node
        if isinstance(right, ast.Tuple | ast.List) and "'tensorflow'" in map(ast.unparse, right.elts):
            right.elts.append(ast.Constant("penstock"))
        elif ast.unparse(right) == "'tensorflow'" and isinstance(operation, ast.Eq | ast.NotEq):
            node.ops = [ast.In() if isinstance(operation, ast.Eq) else ast.NotIn()]
            node.comparators = [ast.Tuple([right, ast.Constant("penstock")], ast.Load())]
        return node


class TestsFinder(MetaPathFinder):
    """Finds Keras's tests, and the module of their base class, for a loader that edits them."""

    def find_spec(self, name, path, target=None):
        if not (name.startswith("keras.src.") and name.endswith(("_test", ".test_case"))):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None:
            spec.loader = TestsLoader(name, spec.origin)
        return spec


class TestsLoader(SourceFileLoader):
    """Loads a module whose questions about the backend count this one as TensorFlow's.

    A table by backends gets TensorFlow's entry for this one, and the trainer is this backend's.
    """

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        name = path_in_keras(path)
        left_alone = [
            function.removeprefix(f"{name}::")
            for entry in OTHER_BACKEND
            for function in entry["functions"]
            if function.startswith(f"{name}::")
        ]
        TensorflowQuestions(left_alone).visit(tree)
        if importlib.util.find_spec("torch") is None:
            tree.body = [part for node in tree.body for part in without_torch(node)]
        for node in ast.walk(tree):
            keys = [getattr(key, "value", None) for key in getattr(node, "keys", ())]
            if isinstance(node, ast.Dict) and "tensorflow" in keys:
                node.keys.append(ast.Constant("penstock"))
                node.values.append(node.values[keys.index("tensorflow")])
            for name in getattr(node, "names", ()) if isinstance(node, ast.ImportFrom) else ():
                name.name = name.name.replace("TensorFlowTrainer", "Trainer")
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def without_torch(node):
    """The statements in place of one that may import PyTorch: most tests of such a module do not use it."""
    modules = {ast.Import: lambda: [name.name for name in node.names], ast.ImportFrom: lambda: [node.module]}
    if "torch" not in {module.partition(".")[0] for module in modules.get(type(node), list)()}:
        return [node]
    return ast.parse("\n".join(f"{name.asname or name.name} = object" for name in node.names)).body


def path_in_keras(path):
    """What follows `keras/src/` in a path or a test's name."""
    return path.replace("\\", "/").rpartition("keras/src/")[2]


def reason_of(nodeid):
    """Why a test is not run, or None; `nodeid` begins with `keras/src/`."""
    name = path_in_keras(nodeid)
    for entry in EXCLUDED:
        if "unless" in entry and importlib.util.find_spec(entry["unless"]):
            continue
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in entry["tests"]):
            return entry["reason"]
    return None


def pytest_ignore_collect(collection_path, config):
    """Leave out files that are excluded whole: some cannot even be imported."""
    return True if reason_of(f"{collection_path}::") else None


def pytest_collection_modifyitems(items):
    for item in items:
        # An address in a name would differ between processes.
        item._nodeid = re.sub(r"0x[0-9a-f]+", "0x", item.nodeid)
        reason = reason_of(item.nodeid) or (
            "needs several devices" if item.get_closest_marker("multi_device") else None
        )
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
