"""What `import penstock` brings in."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support import run_python

import penstock as tf

LIST = """
import os, sys, json
# Tests of Keras leave it set.
os.environ.pop("KERAS_BACKEND", None)
before = set(sys.modules)
import penstock
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules():
    return json.loads(run_python(LIST).stdout)


def test_the_import_brings_in_no_other_package():
    standard = set(sys.stdlib_module_names)
    foreign = {m.partition(".")[0] for m in modules()} - standard - {"penstock"}
    assert not foreign


def test_a_package_without_its_engine_says_how_to_get_it(tmp_path):
    shutil.copytree(
        Path(tf.__file__).parent, tmp_path / "penstock", ignore=shutil.ignore_patterns("*.so", "*.pyd")
    )
    found = subprocess.run(
        [sys.executable, "-c", "import penstock"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    *_, last = found.stderr.splitlines()
    assert last.startswith(
        "ImportError: the engine of Penstock cannot be loaded: No module named 'penstock._core'"
    )
    assert "make build" in last


def test_the_import_leaves_slow_modules_alone():
    slow = {
        "numpy",
        "logging",
        "asyncio",
        "subprocess",
        "multiprocessing",
        "unittest",
        "ml_dtypes",
        "argparse",
        "ast",
        "dataclasses",
        "inspect",
        "pprint",
        "tokenize",
    }
    if sys.version_info >= (3, 14):
        slow.remove("ast")  # of `annotationlib`, which `typing` imports to make a `NamedTuple`
    assert not slow.intersection(modules())


def test_namespaces_are_imported_when_they_are_used():
    assert "penstock.nn" not in modules()
    code = (
        "import penstock as tf; tf.nn.relu([1.0]); tf.random; tf.strings; tf.debugging; tf.config.threading"
    )
    run_python(code)


def test_no_start_compiles_annotations():
    program = """
import builtins
compiled, real = [], builtins.compile
builtins.compile = lambda source, *args, **kwargs: compiled.append(source) or real(source, *args, **kwargs)
import penstock
print([source for source in compiled if isinstance(source, str)])
"""
    assert run_python(program).stdout == "[]\n"


def test_the_import_of_a_private_module_loads_that_alone():
    program = """
import sys
import penstock
loaded = set(sys.modules)
from penstock import _keras_hook
print(sorted(name for name in set(sys.modules) - loaded if name.startswith("penstock")))
"""
    assert run_python(program).stdout == "['penstock._keras_hook']\n"


def test_every_name_of_the_package_can_be_had():
    for name in dir(tf):
        getattr(tf, name)
    for namespace in (
        "nn",
        "math",
        "linalg",
        "random",
        "strings",
        "debugging",
        "config",
        "bitwise",
        "initializers",
    ):
        module = getattr(tf, namespace)
        for name in module.__all__:
            assert getattr(module, name).__doc__, f"{namespace}.{name}"
    assert tf.__version__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        tf.no_such_name


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="the interpreter is not a free-threaded one"
)
def test_a_free_threaded_interpreter_gets_its_lock_back():
    program = """
import sys, warnings
assert not sys._is_gil_enabled()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import penstock
assert sys._is_gil_enabled()
print([w.category.__name__ for w in caught])
"""
    assert "RuntimeWarning" in run_python(program).stdout


def test_another_interpreter_of_the_process_is_refused():
    program = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import penstock
other = interpreters.create()
code = "try: import penstock" + chr(10) + "except ImportError as e: print('refused', flush=True)"
interpreters.run_string(other, code)
"""
    assert run_python(program).stdout == "refused\n"


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("layers", "tf.keras.layers"),
        ("placeholder", "tf.compat.v1.placeholder"),
        ("flags", "absl.flags"),
        ("py_func", "tf.numpy_function"),
    ],
)
def test_a_name_that_is_absent_says_where_to_look(name, where):
    assert not hasattr(tf, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{where}"):
        getattr(tf, name)


@pytest.mark.parametrize("name", ["keras", "losses", "metrics"])
def test_names_of_keras_say_how_to_install_it_where_it_is_not(name):
    program = f"""
import sys
sys.modules["keras"] = None
class Hidden:
    def find_spec(self, name, *rest):
        if name == "keras":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Hidden())
del sys.modules["keras"]
import penstock as tf
try:
    tf.{name}
except AttributeError as error:
    print(error)
"""
    assert "pip install penstock-engine[keras]" in run_python(program).stdout


def test_the_package_loads_keras_when_it_is_asked_for():
    program = """
import sys
import penstock as tf
print([name for name in sys.modules if name.startswith("keras")])
print(tf.losses.MeanSquaredError.__name__, tf.keras.backend.backend())
"""
    assert run_python(program).stdout == "[]\nMeanSquaredError penstock\n"


def test_a_name_that_nobody_knows_is_just_absent():
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name'$"):
        tf.no_such_name


def test_options_of_the_optimiser_are_kept():
    options = tf.config.optimizer
    before = options.get_jit(), options.get_experimental_options()
    try:
        options.set_jit(True)
        options.set_experimental_options({"constant_folding": True})
        assert options.get_jit() == "autoclustering"
        assert options.get_experimental_options()["constant_folding"] is True
        with pytest.raises(ValueError, match="'enabled'"):
            options.set_jit("sometimes")
    finally:
        options.set_jit(before[0])
        options.set_experimental_options({"constant_folding": False})
