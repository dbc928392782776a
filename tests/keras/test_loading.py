"""How Keras is loaded on this backend, by each of the ways in."""

import importlib.util
import os
import subprocess
import sys

import pytest

import penstock as tf


def run(program, **environment):
    """What a program prints in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_keras_runs_on_this_backend_by_the_environment():
    program = "import penstock, keras; print(keras.backend.backend(), type(keras.ops.ones([2])).__module__)"
    assert run(program, KERAS_BACKEND="penstock") == "penstock penstock\n"


def test_the_environment_may_be_set_after_this_package_is_imported():
    program = """
import os
import penstock
os.environ["KERAS_BACKEND"] = "penstock"
import keras
print(keras.backend.backend(), type(keras.ops.ones([2])).__module__)
"""
    assert run(program) == "penstock penstock\n"


def test_a_plain_keras_program_needs_only_the_environment():
    program = "import keras; print(keras.backend.backend(), type(keras.ops.ones([2])).__module__)"
    assert run(program, KERAS_BACKEND="penstock") == "penstock penstock\n"


def test_python_starts_without_this_package_unless_the_environment_asks_for_it():
    assert run("import sys; print('penstock' in sys.modules)") == "False\n"
    assert run("import sys; print('penstock' in sys.modules)", KERAS_BACKEND="jax") == "False\n"


@pytest.mark.parametrize("environment", [{}, {"KERAS_BACKEND": "tensorflow"}])
def test_where_tensorflow_means_this_package_keras_runs_on_it(environment):
    program = """
from penstock import as_tensorflow
as_tensorflow.install()
import keras
import tensorflow
print(keras.backend.backend(), type(keras.ops.ones([2])) is tensorflow.Tensor)
"""
    assert run(program, **environment) == "penstock True\n"


@pytest.mark.parametrize(
    ("chosen", "within", "after"),
    [(None, "penstock", "None"), ("tensorflow", "penstock", "tensorflow"), ("jax", "jax", "jax")],
)
def test_the_choice_of_a_backend_is_what_it_was_where_keras_was_not_loaded(chosen, within, after):
    program = """
import os
from penstock import as_tensorflow
with as_tensorflow.installed():
    print(os.environ["KERAS_BACKEND"])
print(os.environ.get("KERAS_BACKEND"))
"""
    environment = {} if chosen is None else {"KERAS_BACKEND": chosen}
    assert run(program, **environment).split() == [within, after]


def test_tf_keras_and_keras_are_one():
    program = "import penstock as tf; a = tf.keras.Model; import keras; print(a is keras.Model)"
    assert run(program) == "True\n"


def test_submodules_are_imported_by_the_package_of_this_name():
    program = """
import penstock as tf
from penstock.keras.layers import Dense
import penstock.keras.optimizers as optimizers
print(Dense is tf.keras.layers.Dense, optimizers.Adam is tf.keras.optimizers.Adam)
"""
    assert run(program) == "True True\n"


def test_what_keras_has_for_other_packages_leaves_them_until_it_is_used():
    program = """
import sys
import penstock, keras
print([name for name in ("sklearn", "pandas") if name in sys.modules])
from keras.wrappers import SKLearnClassifier
import penstock.keras.wrappers
print("sklearn" in sys.modules, penstock.keras.wrappers.SKLearnClassifier is SKLearnClassifier)
"""
    assert run(program, KERAS_BACKEND="penstock") == "[]\nTrue True\n"


def test_frames_of_pandas_are_data_whether_loaded_before_keras_or_after():
    pytest.importorskip("pandas")
    rest = """
x = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
layer = keras.layers.Lambda(lambda x: x[:, :1])
print(keras.Sequential([layer]).predict(x, verbose=0).tolist())
"""
    for imports in "import pandas, penstock, keras", "import penstock, keras, pandas":
        assert run(imports + rest, KERAS_BACKEND="penstock") == "[[1.0], [2.0]]\n"


def test_edited_modules_are_kept_as_those_of_python_are(tmp_path, monkeypatch):
    hook = importlib.import_module("penstock._keras_hook")
    name = "keras.src.utils.traceback_utils"
    loader = hook._EditingLoader(name, importlib.util.find_spec(name).origin)
    edit, edited = hook._EDITS[name], []
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setitem(hook._EDITS, name, lambda *args: edited.append(edit(*args)))
    code = loader.get_code(name)
    (file,) = tmp_path.rglob("*.opt-penstock*.pyc")
    assert loader.get_code(name) == code
    assert len(edited) == 1
    whole = file.read_bytes()
    for count, damaged in enumerate([b"", b"no code", whole[:40], b"?" + whole[1:]], 2):
        file.write_bytes(damaged)
        assert loader.get_code(name) == code
        assert len(edited) == count
        assert file.read_bytes() == whole
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file.unlink()
    assert loader.get_code(name) == code
    assert not file.exists()


def test_keras_that_is_loaded_on_another_backend_is_an_error():
    program = """
import sys, types
fake = types.ModuleType("keras.src.backend")
fake.backend = lambda: "jax"
sys.modules["keras.src.backend"] = fake
import penstock
try:
    import penstock.keras
except RuntimeError as error:
    print(error)
"""
    assert "Keras is loaded on the backend 'jax': import penstock.keras before keras" in run(program)


@pytest.mark.parametrize("name", ["layers", "saving", "backend", "utils", "Model", "Input", "version"])
def test_names_of_tf_keras_are_there(name):
    assert hasattr(tf.keras, name)


def test_a_module_of_keras_in_an_unknown_form_is_an_import_error_that_names_it():
    hook = importlib.import_module("penstock._keras_hook")
    import ast

    for module in ("keras.src.backend", "keras.src.utils.module_utils", "keras.src.trainers.data_adapters"):
        with pytest.raises(ImportError, match=f"{module} has not .* Versions 3.15 and 3.16 are known"):
            hook._EDITS[module](ast.parse("x = 1"), module)
