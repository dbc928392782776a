"""Operators of libraries in Rust, which cargo builds, and in C, which the system's compiler does."""

import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "custom_operators.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "crates" / "penstock-plugin" / "examples"
# A build of the libraries waits for other builds of the tree.
pytestmark = pytest.mark.timeout(1200)
IN_RUST, IN_C = PAGE.split("## In Rust")[1].split("## In C")


def _blocks(text, language):
    return re.findall(rf"```{language}[^\n]*\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def built():
    """The libraries of the examples of the crate, by name."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("there is no cargo, which builds the library")
    command = [cargo, "build", "--offline", "--locked", "--quiet", "-p", "penstock-plugin", "--examples"]
    done = subprocess.run([*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return {m["target"]["name"]: m["filenames"][0] for m in messages if m["reason"] == "compiler-artifact"}


@pytest.fixture(scope="module")
def ops(built):
    return tf.load_op_library(built["tridiagonal"])


@pytest.fixture(scope="module")
def faults(built):
    return tf.load_op_library(built["faults"])


@pytest.fixture
def compiled(tmp_path):
    """Compiles a library of a text in C."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or sys.platform == "win32":
        pytest.skip("there is no compiler of C that takes the options of cc")

    def build(text, name="library"):
        source, library = tmp_path / f"{name}.c", tmp_path / f"lib{name}.so"
        source.write_text(text, encoding="utf-8")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
        flags += tf.sysconfig.get_compile_flags()
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True, cwd=tmp_path)
        return library

    return build


def _system(n, dtype=np.float64):
    """The diagonals of a matrix and a right side, and the solution."""
    rng = np.random.default_rng(n)
    below, above, right = (rng.normal(size=size) for size in (max(n - 1, 0), max(n - 1, 0), n))
    diagonal = 4.0 + rng.normal(size=n)
    matrix = np.diag(diagonal)
    if n > 1:
        matrix += np.diag(below, -1) + np.diag(above, 1)
    parts = [part.astype(dtype) for part in (below, diagonal, above, right)]
    return parts, np.linalg.solve(matrix, right)


# --- what is loaded -----------------------------------------------------------


def test_a_library_is_a_module_of_functions(ops, built):
    assert inspect.ismodule(ops)
    assert ops.__file__ == built["tridiagonal"]
    assert ops.__all__ == ["solve_tridiagonal", "solve_tridiagonal_gradient", "running_maximum"]
    function = ops.solve_tridiagonal
    assert inspect.isfunction(function)
    assert (function.__name__, function.__module__) == ("solve_tridiagonal", ops.__name__)
    assert str(inspect.signature(function)) == "(below, diagonal, above, right, name=None)"
    doc = inspect.getdoc(function)
    assert doc.startswith("Solves a system of equations whose matrix has three diagonals.")
    assert "right: a tensor." in doc
    assert "Returns:\n    x: a tensor." in doc


def test_the_guide_shows_the_example():
    source = (EXAMPLES / "tridiagonal.rs").read_text(encoding="utf-8")
    lines = {line.split("//")[0].strip() for line in source.splitlines()}
    (block,) = _blocks(IN_RUST, "rust")
    shown = [line.split("//")[0].strip() for line in block.splitlines()]
    assert [line for line in shown if line not in lines] == []


def _run(program, folder):
    """The variables of a program of the guide."""
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    return runpy.run_path(str(file), {"tf": tf})


def test_the_program_of_the_guide_runs(built, tmp_path):
    (program,) = _blocks(IN_RUST, "python")
    space = _run(program.replace("target/release/libtridiagonal.so", built["tridiagonal"]), tmp_path)
    x = space["solve"](tf.fill([5], 4.0)).numpy()
    matrix = 4.0 * np.eye(5) + np.eye(5, k=1) + np.eye(5, k=-1)
    np.testing.assert_allclose(matrix @ x, np.ones(5), rtol=1e-6)


def test_importing_the_package_imports_nothing_for_it():
    names = {"ctypes", "numpy", "penstock._autodiff.loaded_ops"}
    code = f"import sys, penstock; print(sorted({names} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- results ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_results_are_numpys(ops, dtype, traced, n):
    parts, due = _system(n, dtype)
    run = tf.function(ops.solve_tridiagonal) if traced else ops.solve_tridiagonal
    x = run(*parts)
    assert x.dtype == dtype
    np.testing.assert_allclose(x.numpy(), due, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_arguments_go_by_position_or_name(ops):
    (below, diagonal, above, right), due = _system(4)
    x = ops.solve_tridiagonal(below, right=right, above=above, diagonal=diagonal, name="x")
    np.testing.assert_allclose(x.numpy(), due)
    with pytest.raises(TypeError, match=r"^solve_tridiagonal\(\) missing a required argument: 'right'$"):
        ops.solve_tridiagonal(below, diagonal, above)
    with pytest.raises(TypeError, match=r"^solve_tridiagonal\(\) got an unexpected keyword argument 'left'$"):
        ops.solve_tridiagonal(below, diagonal, above, right, left=right)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("shape", [[7], [2, 3, 5], [0], [3, 0]])
def test_several_results_are_a_named_tuple(ops, traced, shape):
    x = np.random.default_rng(0).integers(-9, 9, shape, np.int32)
    run = tf.function(ops.running_maximum) if traced else ops.running_maximum
    found = run(tf.constant(x))
    assert found._fields == ("maximum", "index")
    np.testing.assert_array_equal(found.maximum.numpy(), np.maximum.accumulate(x, axis=-1))
    assert found.index.dtype == tf.int64
    np.testing.assert_array_equal(np.take_along_axis(x, found.index.numpy(), -1), found.maximum.numpy())


def test_a_transposed_array_is_read_in_its_order(ops):
    x = np.arange(6, dtype=np.int32).reshape(2, 3).T
    np.testing.assert_array_equal(ops.running_maximum(x).maximum.numpy(), np.maximum.accumulate(x, axis=-1))


def test_sizes_may_be_unknown_while_tracing(ops):
    unknown = tf.TensorSpec([None], tf.float64)
    traces = []

    @tf.function(input_signature=[unknown] * 4)
    def solve(*parts):
        x = ops.solve_tridiagonal(*parts)
        traces.append(x.shape)
        return x

    for n in (1, 3, 8):
        parts, due = _system(n)
        np.testing.assert_allclose(solve(*parts).numpy(), due)
    assert [shape.as_list() for shape in traces] == [[None]]
    maximum = tf.function(lambda x: ops.running_maximum(x).maximum)
    trace = maximum.get_concrete_function(tf.TensorSpec(None, tf.int32))
    assert trace.output_shapes.rank is None
    np.testing.assert_array_equal(trace(tf.constant([[1, 3, 2]])).numpy(), [[1, 3, 3]])


def test_a_size_that_is_known_makes_known_ones(ops):
    trace = tf.function(ops.solve_tridiagonal).get_concrete_function(
        *[tf.TensorSpec([n], tf.float32) for n in (4, 5, 4, 5)]
    )
    assert trace.output_shapes.as_list() == [5]
    assert any(node.name.startswith("solve_tridiagonal/") for node in trace.graph.as_graph_def().node)


def test_its_operations_are_called_as_the_program_says(ops):
    trace = tf.function(lambda x: ops.running_maximum(x, name="best")).get_concrete_function(
        tf.TensorSpec([3], tf.int32)
    )
    assert any(node.name.startswith("best/") for node in trace.graph.as_graph_def().node)


def test_it_runs_in_loops_and_for_each_of_many_examples(ops):
    (below, diagonal, above, right), _ = _system(4)

    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = ops.solve_tridiagonal(below, diagonal, above, x)
        return x

    matrix = np.diag(diagonal) + np.diag(below, -1) + np.diag(above, 1)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(f(right).numpy(), inverse @ inverse @ inverse @ right)
    rights = np.stack([right, 2.0 * right])
    found = tf.vectorized_map(lambda r: ops.solve_tridiagonal(below, diagonal, above, r), rights)
    np.testing.assert_allclose(found.numpy(), rights @ inverse.T)


def test_python_can_give_it_a_form_for_many_examples(built):
    ops = tf.load_op_library(built["tridiagonal"])  # one of its own, which is changed
    op, seen = ops.running_maximum.custom_op, []

    @op.vmap
    def _(mapped, x):
        seen.append((mapped, x.shape))
        return op.operator.run([x])

    x = tf.constant([[1, 3, 2], [9, 2, 1]])
    found = tf.vectorized_map(lambda row: ops.running_maximum(row).maximum, x)
    np.testing.assert_array_equal(found.numpy(), [[1, 3, 3], [9, 9, 9]])
    assert seen == [((True,), (2, 3))]


# --- gradients ----------------------------------------------------------------


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_are_those_of_finite_differences(ops, traced):
    parts, _ = _system(5)
    weights = np.arange(1.0, 6.0)

    def loss(*parts):
        return tf.reduce_sum(weights * tf.sin(ops.solve_tridiagonal(*parts)))

    def slopes(*parts):
        with tf.GradientTape() as tape:
            tape.watch(parts)
            y = loss(*parts)
        return tape.gradient(y, parts)

    found = (tf.function(slopes) if traced else slopes)(*map(tf.constant, parts))
    step = 1e-6
    for i, part in enumerate(parts):
        due = np.empty_like(part)
        for j in range(part.size):
            there, back = ([p.copy() for p in parts] for _ in range(2))
            there[i][j] += step
            back[i][j] -= step
            due[j] = (float(loss(*there)) - float(loss(*back))) / (2 * step)
        np.testing.assert_allclose(found[i].numpy(), due, rtol=1e-6, atol=1e-8)


def test_gradients_of_unknown_sizes(ops):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def slope(diagonal):
        rest = tf.ones([tf.shape(diagonal)[0] - 1], tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(diagonal)
            y = tf.reduce_sum(ops.solve_tridiagonal(rest, diagonal, rest, diagonal))
        return tape.gradient(y, diagonal)

    for n in (2, 5):
        matrix = 4.0 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
        x, db = (np.linalg.solve(matrix, r) for r in (np.full(n, 4.0), np.ones(n)))
        np.testing.assert_allclose(slope(np.full(n, 4.0)).numpy(), db - db * x)


def test_one_without_a_gradient_has_none_until_python_gives_it_one(built):
    ops = tf.load_op_library(built["tridiagonal"])  # one of its own, which is changed
    parts, _ = _system(3)
    parts = [tf.constant(p) for p in (*parts, parts[3], parts[3])]

    def slope():
        with tf.GradientTape() as tape:
            tape.watch(parts[3])
            y = ops.solve_tridiagonal_gradient(*parts).diagonal
        return tape.gradient(y, parts[3])

    assert slope() is None

    @ops.solve_tridiagonal_gradient.custom_op.gradient
    def _(inputs, outputs, *slopes):
        return [None, None, None, 7.0 * slopes[1], None, None]

    np.testing.assert_array_equal(slope().numpy(), [7.0] * 3)


# --- errors -------------------------------------------------------------------


def _line_of_program(error):
    return re.search(rf'\n  File "{re.escape(__file__)}", line (\d+), in (\w+)$', str(error.value))


@pytest.mark.parametrize("traced", [False, True])
def test_wrong_dtypes_and_shapes_are_errors_of_the_call(ops, traced):
    (below, diagonal, above, right), _ = _system(4)

    def program(right):
        return ops.solve_tridiagonal(below, diagonal, above, right)

    run = tf.function(program) if traced else program
    for wrong, message in (
        (right.astype(np.float32), "all inputs must be float32, or all float64, got .*, float32"),
        (right[:2], r"a diagonal of 4 elements needs 4 of the others, got float64\[2\]"),
        (right[None], r"all inputs must be vectors, got .*, float64\[1, 4\]"),
        (tf.constant(["a"]), "argument 'right' is of string, which no operator of a library takes"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"^solve_tridiagonal: {message}") as error:
            run(wrong)
        assert error.value.op == "solve_tridiagonal"
        assert _line_of_program(error)[2] == "program"


def test_sizes_that_are_wrong_when_it_runs_are_an_error_with_the_line(ops):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def program(right):
        return ops.solve_tridiagonal(np.ones(3), np.ones(4), np.ones(3), right)

    with pytest.raises(tf.errors.InvalidArgumentError, match="needs 4 of the others") as error:
        program(np.ones(5))
    assert _line_of_program(error)[2] == "program"


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fail", "there is no result"),
        ("panic_in_run", "it panicked: there are 2 elements"),
        ("panic_in_types", "it panicked: no types"),
        ("read_as_float64", "the input 'x' is float32, and is used as float64"),
        ("two_types", "it says the types of 2 results, and has 1"),
        ("unknown_size", "it does not know all sizes of the result 'y' when it runs"),
        ("any_shape", "it does not know all sizes of the result 'y' when it runs"),
        ("many_dimensions", "a result has 33 dimensions, at most 32 can be"),
        ("fail_at_length", "ü{511}"),
    ],
)
def test_what_a_kernel_says_or_panics_with_is_an_error_with_the_line(faults, name, message, traced):
    function = getattr(faults, name)

    def program(x):
        return function(x)

    with pytest.raises(tf.errors.InvalidArgumentError, match=f"^{name}: {message}\n") as error:
        (tf.function(program) if traced else program)(tf.constant([1.0, 2.0]))
    assert _line_of_program(error)[2] == "program"


def test_after_an_error_the_operator_works(faults):
    with pytest.raises(tf.errors.InvalidArgumentError):
        faults.read_as_float64(tf.constant([1.0]))
    assert faults.read_as_float64(tf.constant([1.0], tf.float64)).shape == [1]


def test_more_dimensions_than_the_interface_has_are_an_error(faults):
    with pytest.raises(tf.errors.InvalidArgumentError, match="33 dimensions, at most 32"):
        faults.leave_as_it_is(tf.ones([1] * 33))
    assert faults.leave_as_it_is(tf.ones([1] * 32)).shape == [1] * 32


def test_a_graph_with_it_is_not_saved(ops, tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def __call__(self, x):
            return ops.running_maximum(x).maximum

    with pytest.raises(tf.errors.FailedPreconditionError, match=r"'running_maximum'.*cannot be saved"):
        tf.saved_model.save(Model(), str(tmp_path / "model"))


# --- elements, effects, threads -----------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    ],
)
def test_every_dtype_goes_through_and_memory_is_zero_at_first(faults, dtype):
    found = faults.leave_as_it_is(tf.cast(tf.constant([[1, 0]]), dtype))
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found.numpy(), np.zeros([1, 2]))


def test_calls_with_effects_all_run_and_in_order(faults):
    @tf.function
    def f(x):
        faults.count_calls(x)
        return faults.count_calls(x), faults.count_calls(x)

    first = int(faults.count_calls(0))
    assert [int(n) for n in f(0)] == [first + 2, first + 3]


def test_kernels_run_at_the_same_time(faults):
    errors = []

    def run():
        try:
            faults.meet(tf.constant([3]))  # returns once three calls are in it
        except tf.errors.OpError as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# --- files --------------------------------------------------------------------


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"'library_filename': there is no file '.*no\.so'"):
        tf.load_op_library(tmp_path / "no.so")
    with pytest.raises(FileNotFoundError, match="neither a library nor a directory"):
        tf.load_library(tmp_path / "no.so")


def test_what_is_no_path_is_an_error():
    with pytest.raises(TypeError, match="argument 'library_filename' must be the path of a file, got 3"):
        tf.load_op_library(3)
    with pytest.raises(TypeError, match="argument 'library_location' must be the path of a file, got None"):
        tf.load_library(None)


def test_a_file_that_is_no_library_is_an_error(tmp_path):
    (tmp_path / "text.so").write_text("text", encoding="utf-8")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"TensorFlow's C\+\+ API are not binary"):
        tf.load_op_library(tmp_path / "text.so")


def test_all_libraries_of_a_directory_are_loaded(built, tmp_path):
    shutil.copy(built["tridiagonal"], tmp_path / "a.so")
    (tmp_path / "readme.txt").write_text("text", encoding="utf-8")
    assert tf.load_library(tmp_path) is None
    assert tf.load_library(built["tridiagonal"]) is None
    (tmp_path / "b.so").write_text("text", encoding="utf-8")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"b\.so"):
        tf.load_library(tmp_path)


# --- in C ---------------------------------------------------------------------


def test_the_library_in_c_of_the_guide_runs_and_gets_a_gradient(compiled, monkeypatch, tmp_path):
    (source,), (program,) = _blocks(IN_C, "c"), _blocks(IN_C, "python")
    compiled(source, "pairs")
    monkeypatch.chdir(tmp_path)
    space = _run(program, tmp_path)
    sums = space["pairs"].sums_of_pairs
    np.testing.assert_array_equal(sums([1.0, 2.0, 5.0]).numpy(), [3.0, 7.0])
    assert sums(tf.zeros([0])).shape == [0]
    x = tf.Variable([1.0, 2.0, 5.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.function(sums)(x) * [10.0, 1.0])
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [10.0, 11.0, 1.0])
    trace = tf.function(sums).get_concrete_function(tf.TensorSpec([None], tf.float32))
    assert trace.output_shapes.as_list() == [None]
    with pytest.raises(tf.errors.InvalidArgumentError, match="sums_of_pairs: x must be a vector of float32"):
        sums(tf.ones([2, 2]))


def test_the_header_is_one_of_cpp_too(tmp_path):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None or sys.platform == "win32":
        pytest.skip("there is no compiler of C++ that takes the options of c++")
    source = tmp_path / "library.cpp"
    body = "const penstock_library *penstock_operators_v1(void) { return nullptr; }\n"
    source.write_text('#include "penstock_plugin.h"\n' + body, encoding="utf-8")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    library = tmp_path / "library.so"
    command = [compiler, *flags, *tf.sysconfig.get_compile_flags(), str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="failed to describe its operators"):
        tf.load_op_library(library)


# A library of two operators, whose fields are to be filled in.
TWO = """
#include "penstock_plugin.h"
static int calls;
static int32_t types(void *data, const penstock_type *in, penstock_type *out, penstock_error *error) {
  (void)data, (void)in, (void)out, (void)error;
  return 0;
}
static int32_t run(void *data, const penstock_type *in_types, const void *const *in,
                   const penstock_type *out_types, void *const *out, penstock_error *error) {
  (void)data, (void)in_types, (void)in, (void)out_types, (void)out, (void)error;
  return ++calls > 2;
}
static const char *const none[] = {NULL}, *const x[] = {"x", NULL}, *const x_x[] = {"x", "x", NULL};
static const char *const x_y[] = {"x", "y", NULL}, *const name[] = {"name", NULL};
static const char *const *const lists[] = {none, x, x_x, x_y, name};
static const penstock_operator operators[] = {{FIRST}, {SECOND}};
static const penstock_library library = {operators, 2};
const penstock_library *penstock_operators_v1(void) { return lists[0] == none ? &library : NULL; }
"""


def _two(first, second):
    """The library, with other fields than those that are right."""
    own = {"types": "types", "run": "run", "inputs": "x"}
    fields = {
        "FIRST": own | {"name": '"act"', "outputs": "none", "flags": "PENSTOCK_STATEFUL"} | first,
        "SECOND": own | {"name": '"slope"', "outputs": "x"} | second,
    }
    text = TWO
    for place, values in fields.items():
        text = text.replace(place, ", ".join(f".{field} = {value}" for field, value in values.items()))
    return text


# y = n x³, its gradient, and the gradient of that.
CUBES = """
#include "penstock_plugin.h"
static int32_t types(void *data, const penstock_type *in, penstock_type *out, penstock_error *error) {
  (void)error;
  for (int i = 0; i < *(const int *)data; i++) out[i] = in[0];
  return 0;
}
static int32_t run(void *data, const penstock_type *in_types, const void *const *in,
                   const penstock_type *out_types, void *const *out, penstock_error *error) {
  const float *x = in[0];
  float *first = out[0];
  float n = *(const float *)in[1];
  int order = *((const int *)data + 1);
  const float *dy = order > 0 ? in[3] : NULL, *ddx = order > 1 ? in[5] : NULL;
  (void)in_types, (void)error;
  for (int64_t i = 0; i < out_types[0].sizes[0]; i++) {
    if (order == 0) first[i] = n * x[i] * x[i] * x[i];
    if (order == 1) first[i] = 3 * n * x[i] * x[i] * dy[i];
    if (order == 2) {
      first[i] = 6 * n * x[i] * dy[i] * ddx[i];
      ((float *)out[1])[i] = 3 * n * x[i] * x[i] * ddx[i];
    }
  }
  return 0;
}
static int about[3][2] = {{1, 0}, {1, 1}, {2, 2}}; /* how many results, which order */
static const char *const takes[3][7] = {
  {"x", "n"}, {"x", "n", "y", "dy"}, {"x", "n", "y", "dy", "dx", "ddx"},
};
static const char *const gives[3][3] = {{"y"}, {"x"}, {"x", "dy"}};
static const penstock_operator operators[] = {
  {"cube", "n x^3", takes[0], gives[0], "slope", 0, types, run, about[0]},
  {"slope", NULL, takes[1], gives[1], "curve", 0, types, run, about[1]},
  {"curve", NULL, takes[2], gives[2], NULL, 0, types, run, about[2]},
};
static const penstock_library library = {operators, 3};
const penstock_library *penstock_operators_v1(void) { return &library; }
"""


@pytest.mark.parametrize("traced", [False, True])
def test_a_gradient_may_have_one_and_may_leave_inputs_out(compiled, traced):
    cube = tf.load_op_library(compiled(CUBES)).cube

    def slopes(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch([x, n])  # of which n has no gradient
                y = tf.reduce_sum(cube(x, n))
            first, of_n = inner.gradient(y, [x, n])
            assert of_n is None
        return y, first, outer.gradient(first, x)

    y, first, second = (tf.function(slopes) if traced else slopes)(tf.constant([1.0, 2.0]), tf.constant(5.0))
    assert float(y) == 45.0
    np.testing.assert_array_equal(first.numpy(), [15.0, 60.0])
    np.testing.assert_array_equal(second.numpy(), [30.0, 60.0])


def test_an_operator_without_results_gives_none(compiled):
    ops = tf.load_op_library(compiled(_two({}, {})))
    assert ops.act(1.0) is None
    tf.function(lambda x: [ops.act(x), x][1])(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="act: it failed, and does not say why"):
        ops.act(1.0)
    assert "Returns" not in ops.act.__doc__


def test_a_result_without_a_dtype_is_an_error(compiled):
    ops = tf.load_op_library(compiled(_two({}, {})))
    with pytest.raises(tf.errors.InvalidArgumentError, match="that the result 'x' has the dtype of number 0"):
        ops.slope(1.0)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"flags": "2"}, {}, "'act' has flags that nobody knows: 0x2"),
        ({"flags": "0"}, {}, "'act' has neither results nor the flag PENSTOCK_STATEFUL"),
        ({"run": "NULL"}, {}, "'act' lacks the function 'types' or 'run'"),
        ({"name": '"slope"'}, {}, "there are two operators 'slope'"),
        ({"name": '"1st"'}, {}, "an operator cannot be called '1st'"),
        ({"name": '"_act"'}, {}, "an operator cannot be called '_act'"),
        ({"name": '"del"'}, {}, "an operator cannot be called 'del'"),
        ({"inputs": "name"}, {}, "an input of 'act' cannot be called 'name'"),
        ({"inputs": "x_x"}, {}, "an input of 'act' cannot be called 'x'"),
        ({}, {"outputs": "x_x"}, "an output of 'slope' cannot be called 'x'"),
        ({"gradient": '"gone"'}, {}, "the operator 'gone', the gradient of 'act', is not in the library"),
        ({"gradient": '"slope"'}, {"inputs": "x_y"}, "'slope', the gradient of 'act', takes 2 inputs, not 1"),
        ({"gradient": '"slope"'}, {"outputs": "x_y"}, r"gives \['y'\], which are no inputs of that"),
    ],
)
def test_a_library_that_contradicts_itself_is_not_loaded(compiled, first, second, message):
    library = compiled(_two(first, second))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"argument 'library_filename': .*{message}"):
        tf.load_op_library(library)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("penstock_operators_v2", "is built for version 2 of .*, this release loads version 1"),
        ("TF_InitKernel", "lacks the function penstock_operators_v1. Libraries built for TensorFlow's C"),
        ("penstock_operators_v1", "failed to describe its operators"),
    ],
)
def test_a_library_of_another_kind_is_an_error_that_says_so(compiled, function, message):
    library = compiled(f"const void *{function}(void);\nconst void *{function}(void) {{ return 0; }}\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.load_op_library(library)


@pytest.mark.skipif(
    sys.platform != "linux", reason="the linkers of other systems build no library with undefined symbols"
)
def test_a_library_that_needs_tensorflows_is_an_error(compiled):
    source = "int TF_Version(void);\nint at_first(void);\nint at_first(void) { return TF_Version(); }\n"
    library = compiled(source + "int (*const needed)(void) = TF_Version;\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"TF_Version.*are not binary compatible"):
        tf.load_op_library(library)
