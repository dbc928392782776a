"""What `import tensorflow` means after `penstock.as_tensorflow.install()`."""

import importlib
import pickle
import subprocess
import sys
import textwrap

import pytest
from support import run_python

import penstock as tf
from penstock import as_tensorflow


@pytest.fixture(autouse=True)
def _installed():
    with as_tensorflow.installed():
        yield


def test_the_names_are_this_packages_objects():
    import tensorflow

    assert tensorflow.Tensor is tf.Tensor
    assert tensorflow.nn.relu is tf.nn.relu
    assert tensorflow.compat.v1.placeholder is tf.compat.v1.placeholder
    assert tensorflow.compat.v1.math.reduce_sum is tf.compat.v1.math.reduce_sum
    assert tensorflow.compat.v1.gfile.Exists is tf.io.gfile.exists
    assert tensorflow.compat.v2.function is tf.function
    assert isinstance(tensorflow.constant([1.0]), tf.Tensor)
    assert tensorflow.newaxis is None


def test_the_version_is_that_whose_names_these_are():
    import tensorflow

    assert tensorflow.__version__ == tensorflow.version.VERSION == tensorflow.compat.v2.__version__
    assert tensorflow.__version__.startswith("2.")


def test_what_is_listed_of_a_module_can_be_had():
    import tensorflow

    for module in tensorflow, tensorflow.data, tensorflow.linalg, tensorflow.compat.v1:
        for name in dir(module):
            assert hasattr(module, name), name


@pytest.mark.parametrize(
    "statement",
    [
        "import tensorflow.nn as found",
        "from tensorflow import nn as found",
        "import tensorflow.compat.v2 as v2; found = v2.nn",
        "from tensorflow.compat.v2 import nn as found",
    ],
)
def test_modules_can_be_imported_in_each_form(statement):
    space = {}
    exec(statement, space)
    assert space["found"].softmax is tf.nn.softmax


def test_an_attribute_and_an_import_give_one_module():
    import tensorflow

    assert tensorflow.linalg is importlib.import_module("tensorflow.linalg")
    assert tensorflow.data.experimental is importlib.import_module("tensorflow.data.experimental")


def test_every_name_can_be_had_by_a_star():
    space = {}
    exec("from tensorflow.math import *", space)
    assert space["reduce_sum"] is tf.math.reduce_sum


def test_every_line_of_the_table_names_something():
    from penstock.as_tensorflow._table import MODULES

    for name, names in MODULES.items():
        if name.startswith("tf_keras"):
            continue
        module = importlib.import_module(name)
        for attribute in names.here:
            assert getattr(module, attribute) is not None, f"{name}.{attribute}"
        for source in names.of:
            importlib.import_module(source)


@pytest.mark.parametrize(
    ("statement", "error", "text"),
    [
        ("import tensorflow.absent", ImportError, "tensorflow.absent"),
        ("import tensorflow.python.absent", ImportError, "docs/libraries.md"),
        ("from tensorflow.python.framework import absent", ImportError, "tensorflow.python.framework.absent"),
        ("from tensorflow.python.framework.ops import absent", ImportError, "docs/libraries.md"),
        ("import tensorflow; tensorflow.absent", AttributeError, "'tensorflow' has no attribute 'absent'"),
        ("import tensorflow; tensorflow.flags", AttributeError, "absl.flags"),
        (
            "import tensorflow; tensorflow.nn.absent",
            AttributeError,
            "'tensorflow.nn' has no attribute 'absent'",
        ),
    ],
)
def test_what_is_absent_is_an_error_that_says_so(statement, error, text):
    with pytest.raises(error) as caught:
        exec(statement, {})
    assert text in str(caught.value)


def test_pickles_are_the_same_under_both_names():
    import tensorflow

    shape = pickle.loads(pickle.dumps(tensorflow.TensorShape([1, None])))
    assert isinstance(shape, tf.TensorShape)
    assert pickle.loads(pickle.dumps(tensorflow.nn)) is tensorflow.nn
    assert b"tensorflow" not in pickle.dumps(tensorflow.TensorSpec([2]))


def test_nothing_is_left_behind():
    code = """
    import sys
    import penstock
    before = set(sys.modules)
    with penstock.as_tensorflow.installed():
        import tensorflow.python.util.nest
    assert not [name for name in sys.modules if name.startswith("tensorflow")]
    try:
        import tensorflow
    except ModuleNotFoundError as error:
        assert error.name == "tensorflow"
    """
    run_python(textwrap.dedent(code))


def test_tensorflow_that_is_loaded_is_not_replaced(monkeypatch):
    as_tensorflow.uninstall()
    monkeypatch.setitem(sys.modules, "tensorflow", type(sys)("tensorflow"))
    with pytest.raises(RuntimeError, match="TensorFlow itself is loaded"):
        as_tensorflow.install()


def test_start_up_does_without_it():
    run_python("import penstock, sys; assert 'penstock.as_tensorflow' not in sys.modules")


# A small library, written as those for TensorFlow are.
LIBRARY = {
    "__init__.py": """
        from tensorflow.python.util import nest
        from smalllib.layers import Scale
        from smalllib import training
    """,
    "layers.py": """
        import numpy as np
        import tensorflow as tf
        from tensorflow.python.framework import tensor_shape
        from tensorflow.python.util import tf_inspect

        class Scale(tf.Module):
            def __init__(self, size, name=None):
                super().__init__(name=name)
                with self.name_scope:
                    self.w = tf.Variable(tf.ones([size]), name="w")

            @tf.Module.with_name_scope
            def __call__(self, x: tf.Tensor) -> tf.Tensor:
                if tensor_shape.dimension_value(x.shape[-1]) != self.w.shape[0]:
                    raise ValueError("sizes differ")
                return x * self.w

        def parameters(function):
            return tf_inspect.getfullargspec(function).args
    """,
    "training.py": """
        import tensorflow.compat.v2 as tf
        from tensorflow.python.eager import context
        from tensorflow.python.framework import ops
        from tensorflow.python.util import nest, deprecation

        @deprecation.deprecated_args(None, "it is no longer of use", "unused")
        def fit(module, x, y, steps, unused=None):
            assert context.context().executing_eagerly()

            @tf.function
            def step():
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((module(x) - y) ** 2)
                slopes = tape.gradient(loss, module.trainable_variables)
                variables = list(module.trainable_variables)
                nest.map_structure(lambda v, g: v.assign_sub(0.1 * g), variables, list(slopes))
                return loss

            return [float(step()) for _ in range(steps)]

        class Loss(ops.Tensor if False else object):
            kinds = (ops.Tensor, tf.Variable)
    """,
    "__main__.py": """
        import sys
        import numpy as np
        import tensorflow as tf
        import smalllib

        scale = smalllib.Scale(2)
        losses = smalllib.training.fit(scale, tf.ones([3, 2]), tf.constant([2.0, 3.0]), 60)
        assert losses[-1] < 1e-3 < losses[0]
        assert smalllib.layers.parameters(smalllib.Scale.__init__)[0] == "self"
        print(sys.argv[1:], scale.w.name, np.round(scale.w.numpy(), 1).tolist())
    """,
}


@pytest.fixture
def library(tmp_path):
    folder = tmp_path / "smalllib"
    folder.mkdir()
    for name, text in LIBRARY.items():
        (folder / name).write_text(textwrap.dedent(text))
    return tmp_path


def run_as_tensorflow(folder, *arguments):
    command = [sys.executable, "-m", "penstock.as_tensorflow", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_library_runs_unchanged_as_a_module(library):
    assert run_as_tensorflow(library, "-m", "smalllib", "a", "-b") == "['a', '-b'] scale/w:0 [2.0, 3.0]\n"


def test_a_program_runs_unchanged(library):
    program = library / "program.py"
    program.write_text(
        "import sys, tensorflow as tf, smalllib\nprint(sys.argv[1:], __name__, tf.add(1, 2).numpy())"
    )
    assert run_as_tensorflow(library.parent, str(program), "x") == "['x'] __main__ 3\n"


def test_without_a_program_the_usage_is_shown(library):
    command = [sys.executable, "-m", "penstock.as_tensorflow"]
    done = subprocess.run(command, cwd=library, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "usage" in done.stderr


@pytest.mark.parametrize("first", ["import keras", "import tensorflow as tf", "import tensorflow.keras"])
def test_a_program_that_names_tensorflow_as_the_backend_of_keras_runs(first):
    program = f"""
        import os

        {first}
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import keras
        import tensorflow as tf

        lookup = keras.layers.IntegerLookup(vocabulary=[5, 7])

        @tf.function
        def found(x):
            return lookup(x)

        print(keras.backend.backend(), found(tf.constant([7, 5])).numpy(), lookup([5]).numpy())
    """
    for before in "", "import os; os.environ['KERAS_BACKEND'] = 'tensorflow'\n":
        source = f"{before}from penstock import as_tensorflow\nas_tensorflow.install()\n"
        result = run_python(source + textwrap.dedent(program))
        assert result.stdout == "penstock [2 1] [1]\n", result.stderr
