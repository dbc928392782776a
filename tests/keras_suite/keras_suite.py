"""A plugin of pytest that runs the tests in Keras's wheel on this backend; `run.py` loads it.

Tests that say `import tensorflow` get the names of this package. What cannot pass is listed in
`excluded.toml`, each entry with its reason; such a test is skipped, and the reason is shown.
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
from pathlib import Path

os.environ["KERAS_BACKEND"] = "penstock"
os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-home-"))

import pytest

from penstock import _keras_hook

EXCLUDED = tomllib.loads(Path(__file__).with_name("excluded.toml").read_text(encoding="utf-8"))["excluded"]
MARKERS = ("requires_trainable_backend", "multi_device")


def pytest_configure(config):
    import keras

    from keras_penstock.src import facade

    assert keras.backend.backend() == "penstock"
    sys.modules["tensorflow"] = facade
    sys.modules.update(tensorflow_modules())
    sys.modules["conftest"] = keras_conftest()
    if importlib.util.find_spec("jax"):
        load_edited("keras.src.trainers.trainer_test", "from keras_penstock.src.trainer import Trainer")
    for marker in MARKERS:
        config.addinivalue_line("markers", f"{marker}: a marker of Keras's tests")


def tensorflow_modules():
    """The modules within TensorFlow that Keras's tests import: what event files and their records are."""
    import penstock
    from penstock._runtime import records

    def tf_record_iterator(path):
        with Path(path).open("rb") as file:
            yield from records.records(file, path)

    tf_record = types.SimpleNamespace(tf_record_iterator=tf_record_iterator)
    event_pb2 = types.SimpleNamespace(Event=penstock.compat.v1.Event)
    return {
        "tensorflow.summary": penstock.summary,
        "tensorflow.compat": penstock.compat,
        "tensorflow.compat.v1": penstock.compat.v1,
        "tensorflow.core.util": types.SimpleNamespace(event_pb2=event_pb2),
        "tensorflow.core.util.event_pb2": event_pb2,
        "tensorflow.python.lib.io": types.SimpleNamespace(tf_record=tf_record),
    }


def keras_conftest():
    """The module of that name in Keras's repository, which its wheel leaves out."""
    module = types.ModuleType("conftest")

    def skip_if_backend(given_backend, reason):
        return pytest.mark.skipif(given_backend == "penstock", reason=reason)

    module.skip_if_backend = skip_if_backend
    return module


def load_edited(name, branch):
    """Load a test module that chooses by backend, with a branch for this one, as the hook does for modules.

    A table by backends gets TensorFlow's entry for this one.
    """

    def edit(tree, module):
        _keras_hook._take_branch(tree, module)
        for node in ast.walk(tree):
            keys = [getattr(key, "value", None) for key in getattr(node, "keys", ())]
            if isinstance(node, ast.Dict) and "tensorflow" in keys:
                node.keys.append(ast.Constant("penstock"))
                node.values.append(node.values[keys.index("tensorflow")])

    _keras_hook._BRANCHES[name] = branch
    _keras_hook._EDITS[name] = edit
    spec = _keras_hook._Finder().find_spec(name, importlib.import_module(name.rpartition(".")[0]).__path__)
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


def reason_of(nodeid):
    """Why a test is not run, or None; `nodeid` begins with `keras/src/`."""
    name = nodeid.replace("\\", "/").rpartition("keras/src/")[2]
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
