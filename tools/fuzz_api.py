"""Calls every public function with arguments that it does not expect: `python tools/fuzz_api.py [--calls N]`.

A call is a line of source, made from a seed and its number alone: a function of the package or a method of
one of its objects, and for each argument a value that fits its name or a hostile one. Calls run in batches,
each in a process of its own with limits of memory and time. What comes of a call is a result, an error that
users are to expect (`TypeError`, `ValueError`, an error of `penstock.errors` but InternalError), or a
finding: another exception, an end of the process, or no end. Findings are grouped by the innermost frame of
the package in their traceback, and the shortest call of each group is printed. The exit status is 1 if there
are any.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import enum
import faulthandler
import hashlib
import importlib
import inspect
import io
import json
import keyword
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

PACKAGE = "penstock"
# Objects whose methods are called, as source.
OBJECTS = {
    "Tensor": "tf.constant([[1.0, 2.0], [3.0, 4.0]])",
    "Variable": "tf.Variable([[1.0, 2.0], [3.0, 4.0]])",
    "TensorShape": "tf.TensorShape([2, None])",
    "TensorSpec": "tf.TensorSpec([2, None], tf.float32)",
    "TensorArray": "tf.TensorArray(tf.float32, 2, dynamic_size=True, clear_after_read=False)",
    "RaggedTensor": "tf.ragged.constant([[1, 2], [3]])",
    "IndexedSlices": "tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([3, 2]))",
    "Optional": "tf.experimental.Optional.from_value(tf.constant(1))",
    "Dataset": "tf.data.Dataset.range(4)",
    "iterator": "iter(tf.data.Dataset.range(4))",
    "Generator": "tf.random.Generator.from_seed(1)",
    "GradientTape": "tf.GradientTape(persistent=True)",
    "Module": "tf.Module()",
    "function": "tf.function(lambda x, y=1: x)",
    "concrete": "tf.function(lambda x, y=1: x).get_concrete_function(tf.TensorSpec([None], tf.float32))",
    "DType": "tf.float32",
    "SGD": "tf.optimizers.SGD(0.1)",
    "Adam": "tf.optimizers.Adam()",
    "array": "tf.array_api.ones((2, 3))",
    "StaticHashTable": "tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(['a'], [1]), -1)",
    "MutableHashTable": "tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)",
    "SummaryWriter": "tf.summary.create_file_writer('logs')",
    "TFRecordWriter": "tf.io.TFRecordWriter('records')",
    "Checkpoint": "tf.train.Checkpoint(v=tf.Variable(1.0))",
    "Example": "tf.train.Example()",
}
# Methods of the objects that are called beside the public ones.
OPERATORS = {
    f"__{name}__"
    for name in (
        *("add", "radd", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "lshift"),
        *("getitem", "setitem", "contains", "eq", "lt", "call"),
    )
}


class FuzzError(Exception):
    """What hostile objects raise: any function may pass it on."""


class Liar:
    """An object whose special methods give what the arguments say, or raise FuzzError for `...`."""

    def __new__(cls, **methods: Any) -> Any:
        """Makes one; names that end with an underscore are those of plain attributes."""

        def method(value: Any) -> Any:
            if value is ...:

                def raising(*args: Any, **kwargs: Any) -> Any:
                    raise FuzzError("on purpose")

                return raising
            return lambda *args, **kwargs: value

        special = {f"__{name}__": method(value) for name, value in methods.items() if not name.endswith("_")}
        plain = {name.rstrip("_"): value for name, value in methods.items() if name.endswith("_")}
        return type("Liar", (), {**special, **plain})()


class Anything:
    """An object that has every attribute, is callable, and gives itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__tf_tensor__", "__dlpack__", "__tf_tracing_type__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Gives itself."""
        return self


def _loop() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


def _deep(n: int) -> list[Any]:
    values: list[Any] = []
    for _ in range(n):
        values = [values]
    return values


HOSTILE = [
    "None",
    "True",
    "...",
    "NotImplemented",
    "0",
    "-1",
    "7",
    "2**31",
    "2**63",
    "-2**63",
    "2**200",
    "0.5",
    "-1.5",
    "float('nan')",
    "float('inf')",
    "1e308",
    "1j",
    "''",
    "'a'",
    "'\\ud800'",
    "'float32'",
    "b'\\xff'",
    "bytearray(b'a')",
    "[]",
    "()",
    "{}",
    "set()",
    "[None]",
    "[[1], [2, 3]]",
    "[1, 'a']",
    "[1, 2.5, True]",
    "[-1, -1]",
    "[2**40, 2**40]",
    "[[[[[]]]]]",
    "{'a': 1, 'b': [2, None]}",
    "{1: 2, 'a': 3}",
    "(1, (2, {'c': 3}))",
    "[tf.constant(1), 2.0, np.int64(3)]",
    "loop()",
    "deep(2000)",
    "range(3)",
    "range(2**40)",
    "slice(None, None, 2)",
    "iter([1, 2])",
    "(i for i in range(2))",
    "object()",
    "object",
    "int",
    "np.float32",
    "np",
    "tf",
    "len",
    "lambda *a: a[0] if a else 1",
    "lambda *a: None",
    "lambda *a: 'a'",
    "lambda *a, **k: Liar(array=...)()",
    "tf.add",
    "tf.float32",
    "tf.string",
    "tf.variant",
    "tf.resource",
    "tf.TensorShape(None)",
    "tf.TensorShape([None, 2])",
    "tf.TensorSpec([None])",
    "ValueError('a')",
    "Anything()",
    "Liar()",
    "Liar(len=-1)",
    "Liar(len=2**31)",
    "Liar(len=2, getitem=...)",
    "Liar(iter=...)",
    "Liar(iter=1)",
    "Liar(index=...)",
    "Liar(index='a')",
    "Liar(float='a')",
    "Liar(bool=...)",
    "Liar(bool=7)",
    "Liar(eq=..., hash=...)",
    "Liar(repr=..., str=...)",
    "Liar(repr=1)",
    "Liar(array=...)",
    "Liar(array=1)",
    "Liar(array=[1, 2])",
    "Liar(array=np.array([None, 1]), shape_=(3, 4), dtype_=np.float32)",
    "Liar(array_interface_={'shape': (-1,), 'typestr': '<f4', 'data': (0, True), 'version': 3})",
    "Liar(array_interface_='a')",
    "Liar(shape_=None, dtype_='a', ndim_=-1)",
    "Liar(dlpack=..., dlpack_device=(1, 0))",
    "Liar(dlpack=1, dlpack_device='a')",
    "Liar(tf_tensor=...)",
    "Liar(tf_tensor=3)",
    "Liar(tf_tracing_type=...)",
    "Liar(tf_tracing_type=1)",
    "Liar(class_=int)",
    "Liar(buffer=memoryview(b'abc'))",
    "Liar(enter=1, exit=True)",
    "Liar(name='a')",
    "Liar(call=...)",
    "Liar(call=tf.constant([1.0]))",
]
TENSORS = [
    "tf.constant(1)",
    "tf.constant(2.5)",
    "tf.constant([1.0, 2.0, 3.0])",
    "tf.constant([[1.0, 2.0], [3.0, 4.0]])",
    "tf.constant([0, 1, 2])",
    "tf.constant([[0, 1], [1, 0]])",
    "tf.constant([2, 1], tf.int64)",
    "tf.constant([True, False, True])",
    "tf.constant(['a', 'bc', ''])",
    "tf.constant([1 + 2j, 3])",
    "tf.constant([float('nan'), float('inf'), -1.0])",
    "tf.constant(-1)",
    "tf.constant([-5, 100])",
    "tf.constant(2**62, tf.int64)",
    "tf.constant([2**31 - 1, -2**31])",
    "tf.zeros([0])",
    "tf.zeros([0, 3])",
    "tf.zeros([2, 0, 2], tf.float64)",
    "tf.ones([1, 2, 3, 4])",
    "tf.ones([2, 3, 4], tf.float16)",
    "tf.ones([2], tf.bfloat16)",
    "tf.ones([2, 2], tf.uint8)",
    "tf.ones([1, 5, 5, 3])",
    "tf.ones([1, 1, 1, 1, 1, 1])",
    "tf.Variable([1.0, 2.0])",
    "tf.Variable(1)",
    "np.ones((2, 2))",
    "np.array([1, 2, 3])",
    "np.array([], np.float32)",
    "np.array(['a', 'b'])",
    "np.array([None, 1], object)",
    "np.zeros((2, 3))[::-1, ::2]",
    "np.ma.array([1, 2], mask=[True, False])",
    "np.array([(1, 2.0)], dtype=[('a', int), ('b', float)])",
    "np.array(['2001-01-01'], 'datetime64[D]')",
    "np.longdouble(1)",
    "np.float16([1, 2])",
    "np.int8(3)",
    "np.bool_(True)",
    "memoryview(b'abcd')",
    "[1.0, 2.0]",
    "[[1, 2], [3, 4]]",
    "[tf.constant([1.0]), tf.constant([2.0])]",
    "tf.ragged.constant([[1, 2], [3]])",
    "tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([3, 2]))",
    "tf.data.Dataset.range(2)",
]
INTEGERS = [
    "0",
    "1",
    "2",
    "-1",
    "3",
    "-2",
    "5",
    "np.int64(1)",
    "tf.constant(1)",
    "tf.constant(0, tf.int64)",
    "2**33",
]
SHAPES = [
    "[]",
    "[2]",
    "[2, 3]",
    "[1, 2, 2]",
    "(0,)",
    "[-1]",
    "[3, -1]",
    "3",
    "tf.constant([2, 2])",
    "np.array([1, 2])",
    "tf.TensorShape([2])",
    "[None]",
    "[2**20, 2**20, 2**20, 2**20]",
    "[2**31, 2]",
    "[2**31, 0]",
]
DTYPES = [
    *(
        f"tf.{name}"
        for name in [
            "float32",
            "float64",
            "int32",
            "int64",
            "bool",
            "string",
            "complex64",
            "uint8",
            "float16",
            "bfloat16",
        ]
    ),
    "'int32'",
    "np.float32",
    "float",
]
FUNCTIONS = [
    "lambda *a: a[0] if a else tf.constant(1.0)",
    "lambda *a: a",
    "lambda *a: tf.constant(1.0)",
    "lambda *a: True",
    "lambda x: x",
    "lambda x: x * 2",
    "lambda x, y: x + y",
    "lambda: tf.constant(1)",
    "tf.function(lambda x: x)",
    "tf.identity",
]
PATHS = ["'a'", "'logs'", "'no/such/file'", "''", "b'a'", "tf.constant('a')", "['a', 'b']", "'a\\0b'"]
TEXTS = [
    "b''",
    "b'\\x0a\\x02ab'",
    "tf.constant([b'1,2', b'a,b'])",
    "tf.constant(b'\\x00\\x01')",
    "'YWI='",
    "'1'",
]
IMAGES = [
    "tf.ones([4, 4, 3])",
    "tf.zeros([2, 5, 4, 3], tf.uint8)",
    "tf.ones([1, 4, 4, 1], tf.float16)",
    "tf.zeros([0, 4, 3])",
    "tf.fill([1, 3, 3, 3], float('nan'))",
    "np.ones((3, 3, 2))",
]
# Parts of the names of arguments, and what fits them.
FITTING: list[tuple[tuple[str, ...], list[str]]] = [
    (
        (
            "path",
            "filename",
            "filenames",
            "dir",
            "directory",
            "logdir",
            "prefix",
            "file",
            "pattern",
            "src",
            "dst",
        ),
        PATHS,
    ),
    (("contents", "serialized", "bytes", "records", "encoded", "raw", "model", "csv"), TEXTS),
    (("image", "images", "boxes", "img1", "img2"), IMAGES),
    (("shape", "dims", "size", "multiples", "perm", "begin", "sizes"), SHAPES),
    (("dtype", "type", "out_type", "Tout"), DTYPES),
    (
        ("axis", "axes", "num", "k", "depth", "n", "count", "rank", "batch_dims", "index", "step", "length"),
        INTEGERS,
    ),
    (
        ("fn", "func", "f", "function", "cond", "body", "elems_fn", "initializer", "key", "callable"),
        FUNCTIONS,
    ),
    (("seed",), ["1", "[1, 2]", "tf.constant([1, 2])", "None", "2**70"]),
    (("name",), ["None", "'a'", "''", "1"]),
    (
        ("mode", "padding", "align", "direction", "method", "unit"),
        ["'SAME'", "'VALID'", "'a'", "'constant'", "'LEFT'"],
    ),
    (
        ("strides", "ksize", "kernel_size", "window_shape", "dilations"),
        ["1", "2", "[1, 2, 2, 1]", "[1]", "0", "[-1, 1]"],
    ),
    (
        ("keepdims", "exclusive", "reverse", "adjoint", "transpose_a", "stable", "sorted"),
        ["True", "False", "1", "None"],
    ),
]

# Starting a cluster takes longer than a call may; what changes the whole process changes the calls after it.
LEFT_OUT = ("tf.distribute.launch", "tf.experimental.numpy.experimental_enable_numpy_behavior")


def functions() -> dict[str, Any]:
    """The public functions and classes by the path under which they are called, and methods of objects."""
    tf = importlib.import_module(PACKAGE)
    names = importlib.import_module(f"{PACKAGE}._api_names").symbols()
    found: dict[int, tuple[str, Any]] = {}

    def add(path: str, value: Any) -> None:
        # The constructors of enumerations are Python's own, dtypes may be NumPy's.
        foreign = isinstance(value, enum.EnumType) or getattr(value, "__module__", None) == "numpy"
        if callable(value) and not foreign and path not in LEFT_OUT:
            found.setdefault(id(value), (path, value))

    for path in names:
        value: Any = tf
        owner: Any = None
        for part in path.split("."):
            owner, value = value, getattr(value, part, None)
        # Methods are called on objects.
        if not inspect.isclass(owner) or inspect.ismethod(value):
            add(f"tf.{path}", value)
    seen: set[int] = set()

    def walk(path: str, module: types.ModuleType) -> None:
        if id(module) in seen:
            return
        seen.add(id(module))
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            if name.startswith("_"):
                continue
            value = getattr(module, name, None)
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith(PACKAGE):
                    walk(f"{path}.{name}", value)
            elif getattr(value, "__module__", None) is None or str(value.__module__).startswith(PACKAGE):
                add(f"getattr({path}, {name!r})" if keyword.iskeyword(name) else f"{path}.{name}", value)

    walk("tf", tf)
    calls = dict(found.values())
    space = _namespace()
    for source in OBJECTS.values():
        # Some open files, where the process is.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            value = eval(source, dict(space))
        for name in sorted({*dir(type(value)), *dir(value)}):
            if not name.startswith("_") or name in OPERATORS:
                with contextlib.suppress(Exception):
                    member = getattr(value, name)
                    if callable(member):
                        calls[f"{source}.{name}"] = member
    return dict(sorted(calls.items()))


def _namespace() -> dict[str, Any]:
    """What the source of a call may name."""
    import numpy as np

    return {
        "tf": importlib.import_module(PACKAGE),
        "np": np,
        "Liar": Liar,
        "Anything": Anything,
        "FuzzError": FuzzError,
        "loop": _loop,
        "deep": _deep,
    }


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        kind = inspect.Parameter.POSITIONAL_ONLY
        operands = getattr(function, "operands", None)
        names = [name for name, _ in operands] if isinstance(operands, list) else ["x", "y"]
        optional = [inspect.Parameter(f"p{i}", kind, default=None) for i in range(2)]
        return [inspect.Parameter(name, kind) for name in names if name.isidentifier()] + optional


def _value(rng: random.Random, name: str, depth: int = 0) -> str:
    """The source of a value for an argument."""
    kind = rng.random()
    if depth < 2 and kind < 0.08:
        items = ", ".join(_value(rng, name, depth + 1) for _ in range(rng.randrange(4)))
        return f"[{items}]" if rng.random() < 0.7 else f"{{'a': {_value(rng, name, depth + 1)}, 'b': 1}}"
    if kind < 0.3:
        return rng.choice(HOSTILE)
    words = {*name.split("_"), name}
    fitting = next((values for parts, values in FITTING if words & {*parts}), TENSORS)
    return rng.choice(fitting if kind < 0.85 else TENSORS)


def call_source(seed: int, number: int, callables: dict[str, list[inspect.Parameter]]) -> str:
    """The source of call `number` of a seed."""
    rng = random.Random(int.from_bytes(hashlib.sha256(f"{seed}:{number}".encode()).digest()[:8], "big"))
    path = rng.choice(list(callables))
    given: list[str] = []
    keywords: list[str] = []
    for parameter in callables[path]:
        optional = parameter.default is not inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            if not keywords:
                given.extend(_value(rng, parameter.name) for _ in range(rng.randrange(3)))
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            if rng.random() < 0.05:
                keywords.append(f"nonsense={_value(rng, 'nonsense')}")
        elif (optional and rng.random() < 0.6) or (not optional and rng.random() < 0.01):
            continue
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY or keywords or optional:
            if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
                keywords.append(f"{parameter.name}={_value(rng, parameter.name)}")
        else:
            given.append(_value(rng, parameter.name))
    call = f"{path}({', '.join([*given, *keywords])})"
    way = rng.random()
    if way < 0.15:
        return f"tf.function(lambda: {call})()"
    if way < 0.3 and given:
        # The first argument is symbolic, of which nothing is known but the dtype.
        rest = ", ".join(["x", *given[1:], *keywords])
        anything = f"tf.TensorSpec(None, tf.convert_to_tensor({given[0]}).dtype)"
        return f"tf.function(lambda x: {path}({rest}), input_signature=[{anything}])({given[0]})"
    return call


def _use(result: Any) -> None:
    """Looks at a result as users do: prints it."""
    if isinstance(result, types.GeneratorType | threading.Thread):
        return
    text = repr(result)
    del text


def outcome(source: str, space: dict[str, Any]) -> dict[str, str] | None:
    """What is wrong with what comes of a call, None if nothing is."""
    try:
        _use(eval(source, dict(space)))
    except BaseException as error:
        return None if _is_expected(error, source) else _finding(source, error)
    return None


def _is_expected(error: BaseException, source: str) -> bool:
    """Whether an exception of a call tells users what they did, or is their own."""
    errors = importlib.import_module(f"{PACKAGE}.errors")
    if isinstance(error, errors.InternalError | SystemError):
        return False
    # A RuntimeError is raised for what the state of the program does not allow.
    told = (
        TypeError,
        ValueError,
        BufferError,
        MemoryError,
        NotImplementedError,
        StopIteration,
        ImportError,
        errors.OpError,
    )
    if isinstance(error, (FuzzError, *told)) or type(error) is RuntimeError:
        return True
    if isinstance(error, RecursionError) and any(word in source for word in ("deep(", "loop()", "repr")):
        return True
    # It is that of `unittest`, which ends the program.
    if "tf.test.main(" in source:
        return True
    # The array API standard has it for axes, Python for items.
    if isinstance(error, IndexError) and (
        "argument 'axis' is out of" in str(error) or "__getitem__" in source
    ):
        return True
    # What names the argument tells users what they did.
    if str(error).startswith("argument '"):
        return True
    # A symbolic tensor has no value, and so none of the attributes that give it.
    if isinstance(error, AttributeError) and "symbolic" in str(error):
        return True
    # Nor has a tensor with a value what parts of graphs have.
    if isinstance(error, AttributeError) and "when eager execution is enabled" in str(error):
        return True
    # What is raised on purpose.
    return (traceback.extract_tb(error.__traceback__)[-1].line or "").startswith("raise ")


def _finding(source: str, error: BaseException) -> dict[str, str]:
    place = source.split("(")[0]
    for frame in traceback.extract_tb(error.__traceback__):
        if f"{os.sep}{PACKAGE}{os.sep}" in frame.filename:
            place = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}"
    try:
        message = str(error)[:200]
    except Exception:
        message = "(no message)"
    return {"kind": type(error).__name__, "place": place, "call": source, "message": message}


def _child(seconds: float, gigabytes: float) -> None:
    """Makes the calls that the standard input lists; writes how many are begun, and findings, as JSON."""
    calls = json.load(sys.stdin)
    report = os.fdopen(os.dup(1), "w", buffering=1)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    os.dup2(quiet, 1)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    faulthandler.enable()
    space = _namespace()
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def attempt(source: str) -> dict[str, str] | None:
        faulthandler.dump_traceback_later(seconds, exit=True)
        with contextlib.redirect_stderr(io.StringIO()):
            found = outcome(source, space)
        faulthandler.cancel_dump_traceback_later()
        return found

    for number, source in enumerate(calls):
        report.write(json.dumps({"begun": number + 1}) + "\n")
        found = attempt(source)
        if found is not None:
            report.write(json.dumps(_shortened(found, attempt)) + "\n")
    report.write(json.dumps({"done": True}) + "\n")
    report.flush()
    # Whatever the calls have left running ends here.
    os._exit(0)


def _shortened(found: dict[str, str], attempt: Callable[[str], dict[str, str] | None]) -> dict[str, str]:
    """A finding of a call without the arguments by keyword that make no difference to it."""
    tree = ast.parse(found["call"], mode="eval")
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        for argument in list(call.keywords):
            at = call.keywords.index(argument)
            call.keywords.remove(argument)
            other = attempt(ast.unparse(tree))
            if other is None or (other["kind"], other["place"]) != (found["kind"], found["place"]):
                call.keywords.insert(at, argument)
    return {**found, "call": ast.unparse(tree)}


def run_calls(
    calls: Sequence[str], *, batch: int = 500, seconds: float = 20, gigabytes: float = 4
) -> list[dict[str, str]]:
    """Makes the calls of these sources, in processes of `batch` calls, and gives the findings."""
    found: list[dict[str, str]] = []
    at = 0
    while at < len(calls):
        part = calls[at : at + batch]
        words = [sys.executable, str(Path(__file__).resolve()), "--child", f"{seconds}:{gigabytes}"]
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.run(
                words,
                input=json.dumps(part),
                capture_output=True,
                text=True,
                errors="replace",
                cwd=folder,
                check=False,
                # As many threads on every machine: each takes of the memory.
                env={**os.environ, "PENSTOCK_THREADS": "2"},
            )
        lines = [json.loads(line) for line in child.stdout.splitlines() if line.endswith("}")]
        found.extend(line for line in lines if "kind" in line)
        begun = max((line["begun"] for line in lines if "begun" in line), default=0)
        if not begun:
            raise RuntimeError(f"no call was made: {child.stderr[-2000:]}")
        at += begun
        if "done" not in lines[-1]:
            hangs = "Timeout (" in child.stderr
            kind = "hang" if hangs else f"abort ({child.returncode})"
            place = _native_place(child.stderr, part[begun - 1])
            message = "" if hangs else child.stderr.strip()[:200]
            found.append({"kind": kind, "place": place, "call": part[begun - 1], "message": message})
    return found


def _native_place(text: str, call: str) -> str:
    """The innermost frame that a dump of the interpreter names, or the function that was called."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("File")]
    inside = next((line for line in lines if f"/{PACKAGE}/" in line), None)
    return inside or call.split("(")[0]


def calls_of(seed: int, count: int, first: int = 0) -> list[str]:
    """The sources of `count` calls of a seed, from number `first` on."""
    callables = {path: _parameters(function) for path, function in functions().items()}
    return [call_source(seed, number, callables) for number in range(first, first + count)]


def grouped(found: Iterable[dict[str, str]]) -> Iterator[tuple[int, dict[str, str]]]:
    """For each kind and place how many findings there are, and the one with the shortest call."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for finding in found:
        groups.setdefault((finding["kind"], finding["place"]), []).append(finding)
    for group in sorted(groups.values(), key=len, reverse=True):
        yield len(group), min(group, key=lambda finding: len(finding["call"]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line says; gives the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="decides what the calls are")
    parser.add_argument("--calls", type=int, default=2000, help="how many calls to make")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--batch", type=int, default=500, help="how many calls a process makes")
    parser.add_argument("--seconds", type=float, default=20, help="how long a call may take")
    parser.add_argument("--gigabytes", type=float, default=4, help="how much memory a process may use")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        seconds, gigabytes = options.child.split(":")
        _child(float(seconds), float(gigabytes))
    found = run_calls(
        calls_of(options.seed, options.calls, options.first),
        batch=options.batch,
        seconds=options.seconds,
        gigabytes=options.gigabytes,
    )
    for count, finding in grouped(found):
        print(f"{finding['kind']} ({count}) at {finding['place']}")
        print(f"    {finding['call']}\n    {finding['message']}")
    print(f"{options.calls} calls, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
