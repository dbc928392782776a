"""From a Python function to its converted one, which runs with the globals and cells of the original."""

from __future__ import annotations
import __future__

import ast
import enum
import functools
import gc
import os
import sys
import warnings
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from penstock._runtime.debug_switches import stepping
from penstock._runtime.identity import WeakIdentityMap
from penstock.autograph import _source, _transform
from penstock.autograph._line_events import STOPS
from penstock.autograph._nodes import LATER, OPERATORS, define
from penstock.autograph._slots import tracing
from penstock.autograph._tree import made, placed, places
from penstock.errors import ConversionError

__all__ = ["DO_NOT_CONVERT", "LIBRARIES", "converted", "source_of", "tree_of"]

DO_NOT_CONVERT = "_penstock_do_not_convert"


class _Conversion(NamedTuple):
    """What became of a code object."""

    # The converted code; None where it is called as it is.
    code: CodeType | None
    # Whether it has breakpoints.
    stops: bool = False


_conversions = WeakIdentityMap[CodeType, _Conversion]()
# Those that tell a debugger of their lines.
_stepped = WeakIdentityMap[CodeType, _Conversion]()
_by_file: dict[tuple[str, str], bool] = {}
# The code of what `_traced.py` makes: what is called by it belongs to one trace.
TRACED: set[CodeType] = set()
_warned: set[str] = set()

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH120, PTH100
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep  # noqa: PTH120, PTH100

# The modules, and packages of them, that need no conversion: they decide nothing by tensors, or convert by
# themselves what they are given. That of Keras is not as its file has it: see `_keras_hook`.
# fmt: off
LIBRARIES = frozenset({
    "IPython", "PIL", "_pytest", "absl", "attr", "attrs", "cloudpickle", "coverage", "cv2", "dask", "debugpy",
    "dill", "einops", "google", "grpc", "h5py", "hypothesis", "imageio", "ipdb", "ipykernel", "jax", "jaxlib",
    "keras.src.utils.backend_utils", "matplotlib", "ml_dtypes", "mock", "mpl_toolkits", "networkx", "numba",
    "numpy", "opt_einsum", "packaging", "pandas", "penstock", "pkg_resources", "plotly", "pluggy", "polars",
    "psutil", "pyarrow",
    "pydantic", "pytest", "requests", "rich", "scipy", "seaborn", "setuptools", "six", "skimage", "sklearn",
    "statsmodels", "sympy", "tensorflow", "torch", "tqdm", "traitlets", "typing_extensions", "urllib3",
    "wrapt", "xarray", "yaml", "zmq",
})
# fmt: on
# The same, and those that the user has named.
unconverted: set[str] = {*LIBRARIES}

_COROUTINE = 0x80 | 0x100 | 0x200  # CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR
_OPTIMIZED = 0x1  # CO_OPTIMIZED: the code of a function, not of a class
_GENERATOR = 0x20  # CO_GENERATOR


class _Mark(enum.Enum):
    """The last constant of code that the conversion made."""

    FUNCTION = enum.auto()
    # A piece of a function's body.
    PART = enum.auto()


def _is_exempt(file: str, module: str) -> bool:
    """Whether code is to stay as it is: this package's, the standard library's, or of a listed module."""
    known = _by_file.get((file, module))
    if known is None:
        own = file.startswith(_OWN) or is_standard(file)
        # What is typed in, or stands in a docstring, is the user's whatever module it is run in.
        listed = not file.startswith("<") and any(_prefixes(module))
        known = _by_file[file, module] = own or listed
    return known


def _prefixes(module: str) -> Iterator[bool]:
    """Whether a module, or a package that it is in, is listed."""
    while module:
        yield module in unconverted
        module = module.rpartition(".")[0]


def _is_installed(file: str) -> bool:
    """Whether a file was installed, rather than written by who runs it."""
    parts = file.replace("\\", "/").split("/")
    return "site-packages" in parts or "dist-packages" in parts


def is_standard(file: str) -> bool:
    """Whether a file is the standard library's."""
    return file.startswith("<frozen") or (file.startswith(_STDLIB) and not _is_installed(file))


def is_library(file: str) -> bool:
    """Whether a file is this package's, the standard library's, or was installed."""
    return file.startswith((_OWN, _STDLIB, "<frozen")) or _is_installed(file)


def forget_decisions() -> None:
    """Has every function asked for anew whether it is converted."""
    _by_file.clear()
    _conversions.clear()
    _stepped.clear()


def has_source(function: FunctionType) -> bool:
    """Whether a function stands in a file, or in what Python keeps the text of; generated ones do not."""
    return bool(_source.lines_of(function))


def why_plain(code: CodeType) -> str | None:
    """Why code of a traced function is as the user wrote it; None for code that was converted."""
    if is_made(code):
        if code.co_flags & _GENERATOR:
            return (
                "in a generator, a statement with a 'yield' in it stays Python's: no graph can be left in "
                "it. Append to a list, and return it, in place of 'yield'"
            )
        return None
    if any(exempt for (file, _), exempt in _by_file.items() if file == code.co_filename):
        return "it belongs to a module of tf.autograph.experimental.unconverted_modules()"
    known = _conversions.get(code)
    if known is not None and known.code is None:
        return "its source is not available"
    return (
        "converted code does not call it. Python does, as with properties and operators, or a library, or it "
        "is marked so; tf.autograph.convert() decorates what is to be converted"
    )


def converted(function: FunctionType, strict: bool = False) -> Any:
    """The function with its control flow converted; itself where it is a library's, or has no source.

    Raises:
        SourceError: where it has no source, and `strict` asks for one.
        ConversionError: where it cannot be converted.
    """
    if DO_NOT_CONVERT in function.__dict__:
        return function
    code = function.__code__
    known = _conversions.get(code)
    conversions, stepped = _conversions, False
    if stepping.on or known is None or known.stops:
        stepped = _is_stepped(code)
        if stepped:
            conversions, known = _stepped, _stepped.get(code)
    if known is not None and not (strict and known.code is None):
        target = known.code
    elif is_made(code):
        # One that a converted function defines.
        return _told(function) if "at_line" in code.co_names else function
    else:
        target = _target(function, strict, stepped)
        conversions[code] = _Conversion(target, not STOPS.isdisjoint(code.co_names))
    if target is None:
        return function
    bound = _bound(function, target)
    return _told(bound) if stepped else bound


def _is_stepped(code: CodeType) -> bool:
    """Whether a function tells a debugger of its lines: one goes through it, or it stops at a breakpoint."""
    if not stepping.on and STOPS.isdisjoint(code.co_names):
        return False
    from penstock.autograph._breakpoint import is_stepped  # start-up does without it

    return (stepping.on or is_stepped()) and not is_library(code.co_filename)


def _told(function: FunctionType) -> Any:
    if function.__code__.co_flags & _GENERATOR or function.__name__ == "<lambda>":
        return function
    from penstock.autograph._breakpoint import told  # start-up does without it

    return told(function)


def _bound(function: FunctionType, code: CodeType) -> FunctionType:
    """A function that runs `code` with the globals, defaults and cells of another."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if tracing.converting:
        tracing.called.add(function.__code__)
        tracing.outside.update(cells.values())
    closure = tuple(
        _operators_cell() if name == OPERATORS else cells[name] if name in cells else CellType()
        for name in code.co_freevars
    )
    new = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__module__ = function.__module__
    new.__doc__ = function.__doc__
    new.__qualname__ = function.__qualname__
    if function.__dict__:
        new.__dict__.update(function.__dict__)
    return new


@functools.cache
def _operators_cell() -> CellType:
    """The cell of what converted code calls, which it only reads."""
    from penstock.autograph import _operators  # it depends on this module

    return CellType(_operators)


def _target(function: FunctionType, strict: bool, stepped: bool = False) -> CodeType | None:
    code = function.__code__
    module = function.__globals__.get("__name__")
    if code.co_flags & _COROUTINE or _is_exempt(code.co_filename, module if isinstance(module, str) else ""):
        return None
    # A syntax tree is thousands of objects, none of which is garbage before it is compiled: the collector
    # would go through them, and through what else is young, again and again.
    collects = gc.isenabled()
    gc.disable()
    try:
        made = _compile(function, stepped)
        if "logging" in sys.modules:
            sys.modules["logging"].getLogger("penstock.autograph").info("converted %s", code.co_qualname)
        return made
    except (_source.SourceError, ConversionError) as error:
        of_others = _is_installed(getattr(sys.modules.get(function.__module__), "__file__", None) or "")
        if strict or (isinstance(error, ConversionError) and not of_others):
            raise
        if not of_others:
            _warn_once(function, str(error))
        return None
    finally:
        if collects:
            gc.enable()


def _warn_once(function: FunctionType, why: str) -> None:
    name = ".".join(filter(None, (function.__module__, function.__qualname__)))
    if name in _warned:
        return
    _warned.add(name)
    warnings.warn_explicit(
        f"{name} is traced without conversion: {why}. Control flow in it cannot depend on tensors; define "
        "it in a file, or use tf.cond and tf.while_loop",
        UserWarning,
        function.__code__.co_filename,
        function.__code__.co_firstlineno,
    )


def tree_of(function: FunctionType, stepped: bool = False) -> tuple[ast.FunctionDef | ast.Lambda, CodeType]:
    """The converted syntax tree of a function, and its code."""
    code = function.__code__
    node = _source.function_node(function)
    if isinstance(node, ast.AsyncFunctionDef):
        raise ConversionError(
            f"{function.__qualname__} is async: a graph has no coroutines. Make it a plain function"
        )
    args = node.args
    args.defaults = []
    args.kw_defaults = [None] * len(args.kwonlyargs)
    # Positional parameters without defaults may follow none: the function keeps its own.
    for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *(x for x in (args.vararg, args.kwarg) if x)):
        a.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        node.returns = None
        # The function has their values among its cells.
        if hasattr(node, "type_params"):
            node.type_params = []
    lowered = _transform.lower(node, "__class__" in code.co_freevars, stepped)
    return lowered, code


def _compile(function: FunctionType, stepped: bool) -> CodeType:
    lowered, code = tree_of(function, stepped)
    statement: ast.stmt
    if isinstance(lowered, ast.Lambda):
        statement = placed(ast.Expr(lowered), lowered)
        name = "<lambda>"
    else:
        # Under another name, or the function's own would hide what it calls by it.
        lowered.name = name = "function__"
        statement = lowered
    owner = _class_of(code)
    if owner is not None:
        # Within its class, private names and `__class__` mean what they meant.
        statement = _class(owner, statement)
    free = [name for name in (OPERATORS, *code.co_freevars) if owner is None or name != "__class__"]
    factory = define("factory__", [statement], lowered, *free)
    module = ast.Module([factory], [])
    try:
        flags = _future_flags(code)
        top = _source.unwarned(
            lambda: compile(module, code.co_filename, "exec", dont_inherit=True, flags=flags)
        )
    except SyntaxError as error:
        raise ConversionError(
            f"the conversion of {function.__qualname__} does not compile: {error}"
        ) from error
    found = _inner_code(top, "factory__")
    if owner is not None:
        found = _inner_code(found, _class_name(owner))
    target = _inner_code(found, name)
    return _named(target, code.co_name, code.co_qualname)


def _future_flags(code: CodeType) -> int:

    mask = 0
    for name in __future__.all_feature_names:
        mask |= getattr(__future__, name).compiler_flag
    return code.co_flags & mask


def _class_of(code: CodeType) -> str | None:
    """The class in whose body a function is defined."""
    parts = code.co_qualname.split(".")
    if len(parts) < 2 or parts[-2] == "<locals>" or not parts[-2].isidentifier():
        return None
    return parts[-2]


def _class(name: str, body: ast.stmt) -> ast.ClassDef:
    head = {"name": _class_name(name), "bases": [], "keywords": [], "body": [body]}
    return made(ast.ClassDef, {**head, "decorator_list": [], "type_params": [], **places(body)[0]})


def _class_name(name: str) -> str:
    # Leading underscores make no difference to private names, and keep the name apart from the class's own.
    return "____" + name.lstrip("_")


def _inner_code(code: CodeType, name: str) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == name:
            return constant
    raise ConversionError(f"no code of {name}")


_PARTS = frozenset({_transform.IF, _transform.ELSE, _transform.WHILE, _transform.FOR, _transform.TEST})


def _named(code: CodeType, name: str, qualname: str, part: bool = False, made: bool = True) -> CodeType:
    """The code with the names of the user's function; parts of its body go by the function's name too.

    The functions of a nested class are as the user wrote them (`made` is false).
    """
    within = qualname
    if code.co_flags & _OPTIMIZED:
        within += ".<locals>"
    else:
        made = False
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = constant.co_name
            if inner in _PARTS or constant.co_varnames[:1] == (LATER,):
                constant = _named(constant, name, qualname, True)
            else:
                # The scope of type parameters does not show in names.
                full = qualname if inner.startswith("<generic parameters of ") else f"{within}.{inner}"
                constant = _named(constant, inner, full, made and inner == "<lambda>", made)
        constants.append(constant)
    if made:
        constants.append(_Mark.PART if part else _Mark.FUNCTION)
    return code.replace(co_name=name, co_qualname=qualname, co_consts=tuple(constants))


def is_part(code: CodeType) -> bool:
    """Whether the code is a piece of a function's body, not a function of the user's."""
    return code.co_consts[-1:] == (_Mark.PART,)


def is_own(code: CodeType) -> bool:
    """Whether the code is this package's, not a user's."""
    return code.co_filename.startswith(_OWN)


def is_made(code: CodeType) -> bool:
    """Whether the conversion made the code."""
    return bool(code.co_consts) and type(code.co_consts[-1]) is _Mark


def source_of(function: FunctionType) -> str:
    """The converted source of a function, for people to read."""
    from penstock.autograph._readable import readable  # start-up does without it

    lowered, _ = tree_of(function)
    # The function keeps the values of its defaults, so its code has none.
    written = _source.function_node(function)
    lowered.args = written.args
    if isinstance(lowered, ast.FunctionDef) and isinstance(written, ast.FunctionDef):
        lowered.returns = written.returns
    return readable(lowered)
