"""From a Python function to its converted one: code objects that run with the function's own globals and cells."""

from __future__ import annotations

import ast
import os
import weakref
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from penstock.autograph import _source, _transform
from penstock.autograph._matching import lower_matches

__all__ = ["DO_NOT_CONVERT", "ConversionError", "convert_function", "converted", "source_of", "tree_of"]

DO_NOT_CONVERT = "_penstock_do_not_convert"

_OPERATORS = _transform.OPERATORS

# For each code object, by identity: the converted one, or None where it is called as it is.
_by_code: dict[int, tuple[Any, CodeType | None]] = {}
# Code that the conversion made, by identity, with the code of the function that it is a part of.
made: dict[int, tuple[CodeType, CodeType | None]] = {}
_by_file: dict[str, bool] = {}
_warned: set[str] = set()

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH120, PTH100
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep  # noqa: PTH120, PTH100

_GENERATOR = (
    0x20 | 0x80 | 0x100 | 0x200
)  # CO_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR
_ASYNC = 0x80 | 0x200


class ConversionError(TypeError):
    """A function cannot be converted."""


def _is_library(file: str) -> bool:
    known = _by_file.get(file)
    if known is None:
        parts = file.replace("\\", "/").split("/")
        known = _by_file[file] = (
            file.startswith((_OWN, "<frozen"))
            or "site-packages" in parts
            or "dist-packages" in parts
            or (file.startswith(_STDLIB))
        )
    return known


def converted(function: FunctionType) -> FunctionType:
    """The function with its control flow converted; itself where it is a library's, or has no source."""
    code = function.__code__
    known = _by_code.get(id(code))
    if known is not None:
        target = known[1]
    elif id(code) in made:
        return function
    else:
        target = _target(function)
        # Dropped with the code, whose identity may then be another's.
        key = id(code)
        _by_code[key] = (weakref.ref(code, lambda _: _by_code.pop(key, None)), target)
    if target is None or DO_NOT_CONVERT in function.__dict__:
        return function
    return _bound(function, target)


def _bound(function: FunctionType, code: CodeType) -> FunctionType:
    """A function that runs `code` with the globals, defaults and cells of another."""
    from penstock.autograph import _operators

    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(
        CellType(_operators) if name == _OPERATORS else cells[name] if name in cells else CellType()
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


def _target(function: FunctionType) -> CodeType | None:
    code = function.__code__
    if _is_library(code.co_filename) or code.co_flags & _GENERATOR:
        return None
    try:
        return _compile(function)
    except _source.SourceError as error:
        _warn_once(function, str(error))
        return None


def _warn_once(function: FunctionType, why: str) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    if name in _warned:
        return
    _warned.add(name)
    import warnings

    warnings.warn(
        f"{name} is traced without conversion: {why}. Control flow in it cannot depend on tensors; define it in a "
        "file, or use tf.cond and tf.while_loop",
        stacklevel=2,
    )


def tree_of(function: FunctionType) -> tuple[ast.FunctionDef | ast.Lambda, CodeType]:
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
        node.body = lower_matches(node.body)
    lowered = _transform.lower(node, "__class__" in code.co_freevars)
    return lowered, code


def _compile(function: FunctionType) -> CodeType:
    lowered, code = tree_of(function)
    statement: ast.stmt
    if isinstance(lowered, ast.Lambda):
        statement = ast.copy_location(ast.Expr(lowered), lowered)
    else:
        statement = lowered
    owner = _class_of(code)
    if owner is not None:
        # Within its class, private names and `__class__` mean what they meant.
        scope = _class(owner, statement)
        statement = scope
    free = [name for name in (_OPERATORS, *code.co_freevars) if owner is None or name != "__class__"]
    factory = _factory(free, statement)
    module = ast.Module([factory], [])
    ast.copy_location(factory, lowered)
    ast.fix_missing_locations(module)
    try:
        top = compile(module, code.co_filename, "exec", dont_inherit=True, flags=_future_flags(code))
    except SyntaxError as error:
        raise ConversionError(
            f"the conversion of {function.__qualname__} does not compile: {error}"
        ) from error
    found = (
        _inner_code(_inner_code(top, "factory__"), owner)
        if owner is not None
        else _inner_code(top, "factory__")
    )
    target = _inner_code(found, code.co_name)
    prefix = target.co_qualname[: -len(code.co_name)] if target.co_qualname.endswith(code.co_name) else ""
    return _named(target, code, prefix, code.co_qualname[: -len(code.co_name)], None)


def _future_flags(code: CodeType) -> int:
    import __future__

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
    fields: dict[str, Any] = {"name": name, "bases": [], "keywords": [], "body": [body], "decorator_list": []}
    if "type_params" in ast.ClassDef._fields:
        fields["type_params"] = []
    return ast.copy_location(ast.ClassDef(**fields), body)


def _factory(free: list[str], body: ast.stmt) -> ast.FunctionDef:
    args = ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, [])
    fields: dict[str, Any] = {
        "name": "factory__",
        "args": args,
        "body": [body],
        "decorator_list": [],
        "returns": None,
    }
    if "type_params" in ast.FunctionDef._fields:
        fields["type_params"] = []
    return ast.FunctionDef(**fields)


def _inner_code(code: CodeType, name: str) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == name:
            return constant
    raise ConversionError(f"no code of {name}")


def _named(
    code: CodeType, original: CodeType, made_prefix: str, prefix: str, parent: CodeType | None
) -> CodeType:
    """The code with the qualified names of the user's; what the conversion made goes by the function's name."""
    is_part = code.co_name.endswith("__") and code.co_name in _PARTS
    name = parent.co_name if is_part and parent is not None else code.co_name
    qualname = code.co_qualname
    if qualname.startswith(made_prefix):
        qualname = prefix + qualname[len(made_prefix) :]
    for part in _PARTS:
        qualname = qualname.replace(f".<locals>.{part}", "")
    new = code.replace(co_name=name, co_qualname=qualname)
    owner = new
    constants = tuple(
        _named(c, original, made_prefix, prefix, owner) if isinstance(c, CodeType) else c
        for c in code.co_consts
    )
    result = new.replace(co_consts=constants)
    made[id(result)] = (result, original)
    _families[id(result)] = _Family(is_part or code.co_name == "<lambda>", name)
    return result


_PARTS = ("if_body__", "else_body__", "while_body__", "for_body__", "loop_test__")


class _Family:
    """What a code object that the conversion made is: part of a function, or a function."""

    __slots__ = ("name", "part")

    def __init__(self, part: bool, name: str) -> None:
        self.part, self.name = part, name


_families: dict[int, _Family] = {}


def is_part(code: CodeType) -> bool:
    """Whether the code is a piece of a function's body, not a function of the user's."""
    found = _families.get(id(code))
    return found is not None and found.part


def is_made(code: CodeType) -> bool:
    """Whether the conversion made the code."""
    return id(code) in made


def source_of(function: FunctionType) -> str:
    """The converted source of a function, for people to read."""
    lowered, _ = tree_of(function)
    return ast.unparse(ast.fix_missing_locations(lowered))


def convert_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function to trace in place of a Python callable."""
    from penstock.autograph._calls import callee
    from penstock.autograph._traceback import filtered

    target = function
    unwrapped = getattr(function, "__func__", function)
    code = getattr(unwrapped, "__code__", None)
    if (
        isinstance(code, CodeType)
        and code.co_flags & _ASYNC
        and not getattr(unwrapped, DO_NOT_CONVERT, False)
    ):
        raise ConversionError(
            f"{function.__qualname__} is async: a graph has no coroutines. Make it a plain function"
        )
    changed = callee(target)

    def traced(*args: Any, **kwargs: Any) -> Any:
        try:
            return changed(*args, **kwargs)
        except Exception as error:
            raise filtered(error) from error.__cause__

    traced.__wrapped__ = changed  # type: ignore[attr-defined]
    return traced
