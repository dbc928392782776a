"""The command line: `python -m penstock COMMAND`."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.metadata
import os
import platform
import runpy
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock import _core
from penstock._runtime.settings import SETTINGS, without_effect

__all__ = ["main"]

# Packages that parts of this one use where they are installed, and for what.
_EXTRAS: Final = {
    "numpy": "arrays",
    "ml_dtypes": "bfloat16 arrays",
    "keras": "tf.keras",
    "pyarrow": "columns of Arrow",
    "ray": "several machines",
}


_LOOP: Final = """
def total(n):
    found = n - n
    while n > 0:
        found += n
        n -= 1
    return found
"""


class CommandError(Exception):
    """A mistake in the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: those behind `python -m penstock`; `sys.argv` when None.

    Returns:
        The exit status: 0, 1 where the command fails, and 2 where it is not understood.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock", description="Look into Penstock, its files, and programs that use it."
    )
    parser.add_argument("--version", action="version", version=f"penstock {_core.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="the version, the machine, and what is installed")
    commands.add_parser("doctor", help="check the installation, and say what to do where a check fails")
    api = commands.add_parser("api", help="which of TensorFlow's public names there are, and what a name is")
    api.add_argument(
        "areas",
        nargs="*",
        metavar="AREA or NAME",
        help="modules, as in tf.math, or names, as in tf.math.abs; all modules by default",
    )
    api.add_argument("--missing", action="store_true", help="list the names that are not there")
    api.add_argument("--json", action="store_true", help="print JSON")
    show = commands.add_parser("show", help="what a model, a checkpoint or logs for TensorBoard hold")
    show.add_argument(
        "file",
        type=Path,
        help="a SavedModel, a .penstock, .onnx, .keras or .h5, a checkpoint, or logs for TensorBoard",
    )
    graph = commands.add_parser("graph", help="the graph of a traced function, as a page, DOT or text")
    graph.add_argument("function", metavar="MODULE:FUNCTION", help="MODULE is a name, or the path of a .py")
    graph.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="what to trace for, if there is no trace: a type as 'float32[2,None]', or a Python value",
    )
    graph.add_argument("-o", "--output", type=Path, help="an .html, .dot or .txt; standard output by default")
    profile = commands.add_parser("profile", help="run a program, and tell where its time goes")
    profile.add_argument("-o", "--output", type=Path, help="write the page for a browser there, an .html")
    profile.add_argument("--logdir", help="write files for TensorBoard, a browser and Perfetto there")
    profile.add_argument(
        "--detail", choices=("functions", "steps", "all"), default="steps", help="how much is told"
    )
    debug = commands.add_parser(
        "debug", help="run a program in a debugger, which goes through traced functions too"
    )
    debug.add_argument(
        "-c",
        dest="commands",
        action="append",
        default=[],
        help="a first command, such as 'break 12'; may be repeated",
    )
    for parser_of_program in (profile, debug):
        add = parser_of_program.add_argument
        add("-m", dest="as_module", action="store_true", help="SCRIPT is the name of a module")
        add("script", metavar="SCRIPT")
        add("arguments", nargs=argparse.REMAINDER, metavar="ARG")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    run: Callable[[argparse.Namespace], int] = _COMMANDS[options.command]
    try:
        status = run(options)
        sys.stdout.flush()
    except CommandError as error:
        print(f"python -m penstock {options.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        if options.command in ("profile", "debug"):  # the program's own
            raise
        # Whoever reads has had enough, as `head`; the interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _facts() -> Iterator[tuple[str, str]]:
    """What there is: a name, and what is said of it."""
    from penstock import config  # slow to load

    yield "penstock", f"{_core.__version__} ({Path(__file__).parent})"
    yield "Python", f"{platform.python_version()}, {sys.executable}"
    yield "system", f"{platform.platform()}, {platform.machine()}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "threads", f"{_core._threads()} of {cores} cores that the process may use"
    yield "instruction set", _core._simd_level()
    yield "devices", ", ".join(device.name for device in config.list_physical_devices())
    for package, use in _EXTRAS.items():
        yield package, f"{_version(package) or 'not installed'} ({use})"
    for name, value in sorted(os.environ.items()):
        if name.startswith("PENSTOCK_"):
            yield name, value


def _info(options: argparse.Namespace) -> int:
    for name, value in _facts():
        print(f"{name + ':':20} {value}")
    return 0


def _api(options: argparse.Namespace) -> int:
    from penstock import api_report  # slow to load

    flags = [f"--{flag}" for flag in ("missing", "json") if getattr(options, flag)]
    api_report.main([*options.areas, *flags])
    return 0


class _Check(NamedTuple):
    """What is checked, how, and what to do where it fails."""

    name: str
    run: Callable[[], str]
    remedy: str


def _doctor(options: argparse.Namespace) -> int:
    failed = 0
    for check in _CHECKS:
        try:
            found = f"ok      {check.name}: {check.run()}"
        except Exception as error:
            failed += 1
            found = f"FAILED  {check.name}: {type(error).__name__}: {error}\n        {check.remedy}"
        print(found)
    print("all is well" if not failed else f"{failed} of {len(_CHECKS)} checks failed")
    return int(failed > 0)


def _check_version() -> str:
    installed = _version("penstock-engine")
    if installed is not None and installed != _core.__version__:
        raise RuntimeError(f"the package is of version {installed}, its engine of {_core.__version__}")
    return _core.__version__


def _check_operators() -> str:
    import penstock as tf  # the package is loaded last

    x = tf.random.stateless_uniform([64, 64], seed=[1, 2])

    def work(x: Any) -> Any:
        return tf.reduce_sum(tf.tanh(x @ x) * 2.0)

    eager, traced = work(x), tf.function(work)(x)
    if abs(float(eager - traced)) > 1e-3 * abs(float(eager)):
        raise RuntimeError(f"an operator gives {float(eager)} by itself, and {float(traced)} in a function")
    return f"eager and traced results agree, instruction set {_core._simd_level()}"


def _check_autograph() -> str:
    import penstock as tf  # the package is loaded last

    # A program of a user, as code of this package is not converted.
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(_LOOP, encoding="utf-8")
        total = runpy.run_path(str(program))["total"]
        if int(tf.function(total)(tf.constant(4))) != 10:
            raise RuntimeError("a loop gives another sum")
    return "a while loop on tensors is a loop of the graph"


def _check_gradients() -> str:
    import penstock as tf  # the package is loaded last

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    slope = float(tape.gradient(y, x))
    if slope != 6.0:
        raise RuntimeError(f"the slope of x*x at 3 is 6, got {slope}")
    return "the gradient of a variable is right"


def _check_threads() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if _core._threads() > cores:
        raise RuntimeError(f"{_core._threads()} threads share {cores} cores")
    return f"{_core._threads()} threads, {cores} cores"


def _check_devices() -> str:
    from penstock import config  # slow to load

    gpus = config.list_physical_devices("GPU")
    if gpus:
        import penstock as tf  # the package is loaded last

        with tf.device("GPU:0"):
            found = float(tf.reduce_sum(tf.ones([1000, 100])))
        if found != 100_000:
            raise RuntimeError(f"a sum on the GPU gives {found}, not 100000")
        return f"{len(gpus)} GPU, and it adds up"
    return "the CPU; a GPU is used where the driver of NVIDIA and its NVRTC are found"


def _check_keras() -> str:
    version = _version("keras")
    if version is None:
        return "not installed, and not needed but for tf.keras"
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < (3, 15):
        raise RuntimeError(f"Keras {version} is older than 3.15")
    backend = os.environ.get("KERAS_BACKEND")
    return f"{version}" + (f", KERAS_BACKEND={backend}" if backend else "")


def _check_environment() -> str:
    found = [name for name in sorted(os.environ) if name.startswith("PENSTOCK_")]
    known = {f"PENSTOCK_{name}" for name in SETTINGS}
    unknown = [name for name in found if name not in known and not name.startswith("PENSTOCK_MOCK_")]
    if unknown:
        raise RuntimeError(f"nothing reads {', '.join(unknown)}")
    for text in without_effect():
        raise RuntimeError(text)
    return "no variable of the environment is misspelt"


_CHECKS: Final = (
    _Check(
        "versions", _check_version, "Install the package anew: pip install --force-reinstall penstock-engine"
    ),
    _Check(
        "operators", _check_operators, "Try PENSTOCK_SIMD=base. If that helps, please report the machine."
    ),
    _Check("functions", _check_autograph, "Please report this, with `python -m penstock info`."),
    _Check("gradients", _check_gradients, "Please report this, with `python -m penstock info`."),
    _Check(
        "threads",
        _check_threads,
        "Set PENSTOCK_THREADS, or tf.config.threading.set_intra_op_parallelism_threads.",
    ),
    _Check("devices", _check_devices, "docs/gpu.md says which drivers and libraries are needed."),
    _Check("Keras", _check_keras, "pip install --upgrade keras"),
    _Check("environment", _check_environment, "docs/reliability.md lists the variables and their values."),
)


def _show(options: argparse.Namespace) -> int:
    from penstock import _shown_files  # slow to load

    try:
        for line in _shown_files.lines(options.file):
            print(line)
    except _shown_files.UnreadableError as error:
        raise CommandError(str(error)) from None
    return 0


# How a trace is written to a file of an ending.
_DRAWN: Final[dict[str, Callable[[Any], str]]] = {
    ".html": lambda trace: str(trace.to_html()),
    ".dot": lambda trace: str(trace.to_dot()),
    ".txt": lambda trace: str(trace.graph.to_text()),
}


def _graph(options: argparse.Namespace) -> int:
    _check_output(options.output, *_DRAWN)
    draw = _DRAWN[options.output.suffix.lower() if options.output is not None else ".txt"]
    # What the program prints is no part of the graph.
    with contextlib.redirect_stdout(sys.stderr):
        text = draw(_trace(_function(options.function), options.inputs))
    if options.output is None:
        print(text)
    else:
        options.output.write_text(text, encoding="utf-8")
        print(f"written to {options.output}", file=sys.stderr)
    return 0


def _check_output(output: Path | None, *endings: str) -> None:
    """Refuses a file that cannot be written, or has none of these endings, before anything runs."""
    if output is None:
        return
    if output.suffix.lower() not in endings:
        raise CommandError(f"the output must end in {', '.join(endings)}, got {output}")
    if not output.parent.is_dir():
        raise CommandError(f"cannot write {output}: there is no folder {output.parent}")
    if output.is_dir():
        raise CommandError(f"cannot write {output}: it is a folder")


def _function(place: str) -> Any:
    """The object that `MODULE:FUNCTION` names."""
    module, _, path = place.rpartition(":")
    if not module or not path:
        raise CommandError(f"expected MODULE:FUNCTION, got {place!r}")
    sys.path.insert(0, str(Path(module).resolve().parent if module.endswith(".py") else Path.cwd()))
    sys.argv = [module]
    found: Any = None
    try:
        if module.endswith(".py"):
            found = types.ModuleType(Path(module).stem)
            vars(found).update(runpy.run_path(module, run_name="__penstock__"), __name__=Path(module).stem)
        else:
            found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except AttributeError as error:
        traced = [
            name
            for name, value in getattr(found, "__dict__", {}).items()
            if hasattr(value, "get_concrete_function")
        ]
        known = f"; there are the traced functions {', '.join(traced)}" if traced else ""
        raise CommandError(f"cannot find {place}: {error}{known}") from None
    except SystemExit as leaving:
        raise CommandError(
            f"cannot find {place}: the program ended with status {leaving.code}; "
            "put what it runs behind `if __name__ == '__main__':`"
        ) from None
    except (ImportError, OSError) as error:
        raise CommandError(f"cannot find {place}: {error}") from None
    except Exception as error:
        _print_error(error)
        raise CommandError(f"cannot find {place}: the program failed") from None
    return found


def _trace(function: Any, inputs: list[str]) -> Any:
    """The trace of a function for these inputs; without any the latest that there is."""
    from penstock import function as traced  # the package is loaded last

    if isinstance(function, _core.ConcreteFunction):
        return function
    own = _inputs_of(function)
    if not hasattr(function, "get_concrete_function"):
        if not callable(function):
            raise CommandError(f"{function!r} is no function")
        function = traced(function)
    known = function._traces() if hasattr(function, "_traces") else []
    if not inputs and known:
        return known[-1]
    try:
        return function.get_concrete_function(*(map(_input, inputs) if inputs else own))
    except (TypeError, ValueError) as error:
        hint = "" if inputs else "; name its inputs behind it, as 'float32[2,None]' or Python values"
        raise CommandError(f"cannot trace the function for these inputs: {error}{hint}") from None


def _inputs_of(function: Any) -> list[Any]:
    """The inputs that a model of Keras was made for; none of another function."""
    from penstock import TensorSpec, as_dtype, nest  # the package is loaded last

    inputs = getattr(function, "inputs", None) if hasattr(function, "layers") else None
    if not isinstance(inputs, list) or not inputs:
        return []
    made_for = inputs[0] if len(inputs) == 1 else function.input  # several may be a dictionary
    return [nest.map_structure(lambda x: TensorSpec(x.shape, as_dtype(x.dtype), x.name), made_for)]


def _input(text: str) -> Any:
    """What an input on the command line stands for: `float32[2,None]` for a tensor; else a Python value."""
    from penstock import TensorSpec, as_dtype  # the package is loaded last

    dtype, bracket, dims = text.partition("[")
    if bracket and dtype.isidentifier():
        try:
            if not dims.endswith("]"):
                raise ValueError("it lacks the ] at its end")
            shape = [
                None if d.strip() in ("None", "?") else int(d) for d in dims[:-1].split(",") if d.strip()
            ]
            return TensorSpec(shape, as_dtype(dtype))
        except (TypeError, ValueError) as error:
            raise CommandError(f"{text!r} is no type of a tensor: {error}") from None
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        pass
    with contextlib.suppress(TypeError):
        as_dtype(text)
        raise CommandError(
            f"{text!r} has no shape: '{text}[]' for a scalar, '{text}[2,None]' for a matrix; the Python text "
            f"itself is \"'{text}'\""
        )
    return text


def _profile(options: argparse.Namespace) -> int:
    from penstock import profiler  # slow to load

    _check_output(options.output, ".html")
    if options.logdir is not None and Path(options.logdir).exists() and not Path(options.logdir).is_dir():
        raise CommandError(f"cannot write into {options.logdir}: it is no folder")
    with profiler.record(detail=options.detail) as recording:
        # What was recorded until an error is shown in any case.
        status = _run_program(options, _call, _print_error)
    print(recording, file=sys.stderr)
    if options.output is not None:
        options.output.write_text(recording.page(f"Profile of {options.script}"), encoding="utf-8")
        print(f"written to {options.output}", file=sys.stderr)
    if options.logdir is not None:
        print(f"written to {recording.save(options.logdir)}", file=sys.stderr)
    return status


def _debug(options: argparse.Namespace) -> int:
    from penstock import errors  # with the rest of the package
    from penstock.autograph._debugger import Debugger  # slow to load

    debugger = Debugger()
    debugger.rcLines.extend(options.commands)

    def failed(error: Exception) -> None:
        if not debugger.is_starved:
            _print_error(error)
            with contextlib.suppress(errors.FailedPreconditionError):
                debugger.examine(error)
        if debugger.is_starved:
            print("python -m penstock debug: there is no terminal, and no commands are left", file=sys.stderr)

    return _run_program(options, debugger.runcall, failed)


def _print_error(error: Exception) -> None:
    """Prints an error of a program with the program's own lines."""
    from penstock.autograph import _traceback  # slow to load

    _traceback.hide_library(error)
    traceback.print_exception(error)


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    function(*args, **kwargs)


def _run_program(
    options: argparse.Namespace,
    run: Callable[..., None],
    failed: Callable[[Exception], None],
) -> int:
    """Runs the program that a command names, by `run`, and gives its exit status.

    Args:
        options: those of the command.
        run: calls a function with arguments.
        failed: is given an error of the program.
    """
    sys.argv = [options.script, *options.arguments]
    try:
        if options.as_module:
            run(runpy.run_module, options.script, run_name="__main__", alter_sys=True)
        else:
            if not Path(options.script).exists():
                raise CommandError(f"there is no file {options.script}")
            if Path(options.script).is_dir() and not Path(options.script, "__main__.py").exists():
                raise CommandError(f"{options.script} is a folder without a __main__.py")
            sys.path[0] = str(Path(options.script).resolve().parent)
            run(runpy.run_path, options.script, run_name="__main__")
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)  # as the interpreter does
        return 1
    except CommandError:
        raise
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        failed(error)
        return 1
    return 0


_COMMANDS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "info": _info,
    "doctor": _doctor,
    "api": _api,
    "show": _show,
    "graph": _graph,
    "profile": _profile,
    "debug": _debug,
}
