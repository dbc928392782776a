"""Functions of the operators of a library.

It is imported where a library is loaded, so that programs without one need none of what it imports.
"""

from __future__ import annotations

import errno
import inspect
import keyword
import os
from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from penstock import _core
from penstock._autodiff.custom_op import CustomOp
from penstock._autodiff.plugin_abi import Operator, open_library
from penstock._types.argument_names import place_in_program
from penstock._types.specs import TensorSpec
from penstock.errors import InvalidArgumentError, NotFoundError

__all__ = ["load", "load_all"]

_SUFFIXES: Final = (".so", ".dylib", ".dll")


def load(library_filename: str | os.PathLike[str]) -> ModuleType:
    """A module of a library, as `load_op_library` gives it."""
    path = Path(library_filename).absolute()
    if not path.exists():
        raise NotFoundError(f"argument 'library_filename': there is no file '{library_filename}'")
    operators = open_library(path)
    module = ModuleType(path.name.partition(".")[0], f"The operators of {path.name}.")
    module.__file__ = str(path)
    module.__all__ = [operator.name for operator in operators]  # type: ignore[attr-defined]
    found: dict[str, _LoadedOp] = {}
    try:
        for operator in operators:
            _check_names(operator, found)
            found[operator.name] = _LoadedOp(operator)
        for op in found.values():
            _join_gradient(op, found)
    except ValueError as error:
        raise InvalidArgumentError(f"argument 'library_filename': '{path}': {error}") from error
    for name, op in found.items():
        setattr(module, name, _function(op, module.__name__))
    return module


def load_all(library_location: str | os.PathLike[str]) -> None:
    """Loads a library, or all of a directory, as `load_library` does."""
    path = Path(library_location)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is neither a library nor a directory", str(path))
    found = sorted(f for f in path.iterdir() if f.suffix in _SUFFIXES) if path.is_dir() else [path]
    for file in found:
        load(file)


class _LoadedOp(CustomOp):
    """An operator of a library."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator.run, None, operator.name, operator.stateful)
        self.operator = operator
        self.__doc__ = operator.doc
        # As TensorFlow's functions, one of several results gives them by name.
        fields = [f"{field}_" if keyword.iskeyword(field) else field for field in operator.outputs]
        make: Any = namedtuple
        self._pack = make(f"{operator.name}_results", fields)
        self.shape(self._specs)

    def _specs(self, *inputs: TensorSpec) -> Any:
        try:
            specs = self.operator.result_specs(inputs)
        except ValueError as error:
            raise _failure(self.name, error, place_in_program()) from None
        return specs[0] if len(specs) == 1 else self._pack(*specs)

    def _host_kernel(self) -> Callable[..., Any]:
        # A kernel of a graph names the line that made the operation; an eager one the line that runs.
        traced = place_in_program() if _core._is_tracing() else None

        def kernel(*arrays: Any) -> Any:
            try:
                results = self.operator.run(arrays)
            except ValueError as error:
                raise _failure(self.name, error, traced or place_in_program()) from None
            return results[0] if len(results) == 1 else results

        kernel.__name__ = self.name
        return kernel


def _failure(name: str, reason: Exception, place: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{name}: {reason}" + (f"\n  {place}" if place else ""), name)


def _check_names(operator: Operator, others: dict[str, Any]) -> None:
    """Raises where no function can be made of an operator."""
    name = operator.name
    if name in others:
        raise ValueError(f"there are two operators '{name}'")
    # An argument is called by its name, and 'name' is one of every function.
    for what, names, taken in (
        ("an operator", (name,), keyword.kwlist),
        (f"an input of '{name}'", operator.inputs, [*keyword.kwlist, "name"]),
        (f"an output of '{name}'", operator.outputs, ()),
    ):
        for i, found in enumerate(names):
            if not found.isidentifier() or found.startswith("_") or found in taken or found in names[:i]:
                raise ValueError(f"{what} cannot be called '{found}'")


def _join_gradient(op: _LoadedOp, others: dict[str, _LoadedOp]) -> None:
    """Gives an operator the gradient that another one of its library computes."""
    of = op.operator
    if of.gradient is None:
        return
    computes = others.get(of.gradient)
    if computes is None:
        raise ValueError(f"the operator '{of.gradient}', the gradient of '{of.name}', is not in the library")
    takes, due = len(computes.operator.inputs), len(of.inputs) + 2 * len(of.outputs)
    if takes != due:
        raise ValueError(
            f"'{of.gradient}', the gradient of '{of.name}', takes {takes} inputs, not {due}: the inputs, the "
            "outputs, and the gradient of each output"
        )
    foreign = [name for name in computes.operator.outputs if name not in of.inputs]
    if foreign:
        raise ValueError(
            f"'{of.gradient}', the gradient of '{of.name}', gives {foreign}, which are no inputs of that"
        )

    @op.gradient
    def gradient(inputs: list[Any], outputs: list[Any], *slopes: Any) -> list[Any]:
        found = computes(*inputs, *outputs, *slopes)
        names = computes.operator.outputs
        by_name = dict(zip(names, [found] if len(names) == 1 else found, strict=True))
        return [by_name.get(name) for name in of.inputs]


def _function(op: _LoadedOp, module: str) -> Callable[..., Any]:
    """The function that applies an operator."""
    operator = op.operator
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in operator.inputs]
    signature = inspect.Signature([*parameters, inspect.Parameter("name", kind, default=None)])

    count = len(parameters)

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != count:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{operator.name}() {error}") from None
            bound.apply_defaults()
            args = bound.args
        results = op._apply(args[:count], args[count] if len(args) > count and args[count] else op.name)
        return results if operator.outputs else None

    function.__name__ = function.__qualname__ = operator.name
    function.__module__, function.__doc__ = module, _doc(operator)
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.custom_op = op  # type: ignore[attr-defined]
    return function


def _doc(operator: Operator) -> str:
    def listed(title: str, names: Sequence[str]) -> str:
        return f"\n\n{title}:\n" + "\n".join(f"    {name}: a tensor." for name in names)

    takes = listed("Args", operator.inputs) + "\n    name: a name for the operation, optional."
    gives = listed("Returns", operator.outputs) if operator.outputs else ""
    return (operator.doc or f"The operator '{operator.name}'.") + takes + gives
