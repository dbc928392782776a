"""Operators of shared libraries, written in Rust or C."""

from __future__ import annotations

import errno
import inspect
import keyword
import os
from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from penstock import _core
from penstock._autodiff.custom_op import CustomOp
from penstock._types.argument_names import expect, place_in_program
from penstock.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from penstock._autodiff.plugin_abi import Operator
    from penstock._types.specs import TensorSpec

__all__ = ["load_library", "load_op_library"]

_SUFFIXES: Final = (".so", ".dylib", ".dll")


def load_op_library(library_filename: str | os.PathLike[str]) -> ModuleType:
    """Load a shared library of operators, written in Rust or C.

    Each operator is a function of the module that is returned. It takes tensors by position or by the names
    of the operator's inputs, and `name`; it gives a tensor, or a named tuple where there are several results.
    It runs at once on eager tensors, and is one operation of the graph in a traced function. Its attribute
    `custom_op` is the `CustomOp`, by whose decorators it can be given a gradient in Python, or a form for
    many examples. `docs/custom_operators.md` shows how a library is written.

    Args:
        library_filename: the file. Its code runs in this process: load none that you do not trust.

    Returns:
        A module with a function for each operator.

    Raises:
        TypeError: where `library_filename` is no path.
        NotFoundError: where there is no such file.
        InvalidArgumentError: where the file is no library of operators, or one for another version of
            `penstock_plugin.h`. Libraries built for TensorFlow's C++ API cannot be loaded. Also when an
            operator is called: where it takes no such tensors, or fails.

    >>> import penstock as tf
    >>> try:
    ...     ops = tf.load_op_library("./libtridiagonal.so")
    ... except tf.errors.NotFoundError:
    ...     print("it has to be built first")
    it has to be built first
    """
    path = _path(library_filename, "library_filename").absolute()
    if not path.exists():
        raise NotFoundError(f"argument 'library_filename': there is no file '{library_filename}'")
    # Programs that load no library do without ctypes and NumPy.
    from penstock._autodiff.plugin_abi import open_library

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


def load_library(library_location: str | os.PathLike[str]) -> None:
    """Load a shared library of operators, or all of a directory, to see whether they can be.

    `load_op_library` gives the functions.

    Args:
        library_location: a file, or a directory with files that end with `.so`, `.dylib` or `.dll`.

    Raises:
        TypeError: where `library_location` is no path.
        FileNotFoundError: where there is neither.
        InvalidArgumentError: where a file is no library of operators.

    >>> import penstock as tf
    >>> try:
    ...     tf.load_library("./operators")
    ... except FileNotFoundError:
    ...     print("they have to be built first")
    they have to be built first
    """
    path = _path(library_location, "library_location")
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is neither a library nor a directory", str(path))
    found = sorted(f for f in path.iterdir() if f.suffix in _SUFFIXES) if path.is_dir() else [path]
    for file in found:
        load_op_library(file)


def _path(value: Any, argument: str) -> Path:
    return Path(expect(value, (str, os.PathLike), argument, "the path of a file"))


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
