"""TensorFlow's operators by the names of its nodes, as `tf.raw_ops` has them.

`operators.jsonl` says what parameters and outputs they have; the modules beside it what they compute, each a
function of the parameters in their order.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import penstock as tf
from penstock import _core
from penstock._runtime.arguments import named
from penstock._types.argument_names import shown
from penstock.lookup._tables import Table

__all__ = ["Operator", "Parameter", "function", "names", "operators"]

# What the operators compute, by area.
_AREAS: Final = (
    "arithmetic",
    "arrays",
    "control",
    "images",
    "matrices",
    "networks",
    "numbers",
    "parsing",
    "places",
    "state",
    "text",
)


class Parameter(NamedTuple):
    """A parameter of an operator.

    Attributes:
        name: Its name.
        kind: The type of an input, or the kind of an attribute.
        is_input: Whether it is an input: a tensor.
        default: The default of an attribute; `inspect.Parameter.empty` where it must be given.
    """

    name: str
    kind: str
    is_input: bool
    default: Any


class Operator(NamedTuple):
    """An operator of TensorFlow.

    Attributes:
        name: Its name.
        parameters: Its parameters, without `name`.
        outputs: The names of its outputs with their types.
        types: The dtypes that its types may be, where not all are allowed.
        defaults: The dtypes of types where no input is a tensor.
    """

    name: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[tuple[str, str], ...]
    types: Mapping[str, frozenset[str]]
    defaults: Mapping[str, str]


_ATTRIBUTES: Final = frozenset({"bool", "float", "func", "int", "shape", "string", "tensor", "type"})


def _parameter(name: str, kind: str, *default: Any) -> Parameter:
    is_input = kind.removeprefix("list(").removesuffix(")") not in _ATTRIBUTES
    return Parameter(name, kind, is_input, default[0] if default else inspect.Parameter.empty)


@functools.cache
def operators() -> dict[str, Operator]:
    """All operators of TensorFlow, by name."""
    found = {}
    for line in Path(__file__).with_name("operators.jsonl").read_text(encoding="utf-8").splitlines():
        name, parameters, outputs, types, defaults = json.loads(line)
        # Quantized integers are integers here.
        allowed = {kind: frozenset(d.removeprefix("q") for d in dtypes) for kind, dtypes in types.items()}
        found[name] = Operator(
            name,
            tuple(_parameter(*p) for p in parameters),
            tuple((n, t) for n, t in outputs),
            allowed,
            defaults,
        )
    return found


@functools.cache
def _computed() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for area in _AREAS:
        found.update(importlib.import_module(f"penstock._nodes.{area}").NODES)
    return found


def names() -> list[str]:
    """The names of the operators that there are, in the order of the alphabet."""
    return sorted(_computed())


def _checked(operator: Operator, parameter: Parameter, value: Any) -> Any:
    """An attribute as the functions take it."""
    kind = parameter.kind
    if kind.startswith("list("):
        if value is None or isinstance(value, str | bytes) or not isinstance(value, Iterable):
            wrong = _wrong(operator, parameter.name, "a list", value, TypeError)
            raise wrong
        item = Parameter(parameter.name, kind[5:-1], False, None)
        return [_checked(operator, item, part) for part in value]
    if kind == "type":
        dtype = tf.as_dtype(value.removeprefix("q") if isinstance(value, str) else value)
        _check_dtype(operator, parameter.name, parameter.name, dtype)
        return dtype
    if kind == "shape":
        return tf.TensorShape(value)
    if kind == "string":
        if not isinstance(value, str | bytes):
            wrong = _wrong(operator, parameter.name, "a string", value, TypeError)
            raise wrong
        return value.decode() if isinstance(value, bytes) else value
    if kind in ("int", "float", "bool"):
        try:
            return {"int": int, "float": float, "bool": bool}[kind](value)
        except (TypeError, ValueError):
            what = {"int": "an integer", "float": "a number", "bool": "a boolean"}[kind]
            wrong = _wrong(operator, parameter.name, what, value, TypeError)
            raise wrong from None
    return value


def _wrong(operator: Operator, argument: str, what: str, value: Any, error: type[Exception]) -> Exception:
    return error(f"argument '{argument}' of tf.raw_ops.{operator.name} must be {what}, got {shown(value)}")


def _check_dtype(operator: Operator, argument: str, kind: str, dtype: _core.DType) -> None:
    allowed = operator.types.get(kind)
    if allowed is not None and dtype.name not in allowed:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"argument '{argument}' of tf.raw_ops.{operator.name} must be of one of the dtypes "
            f"{', '.join(sorted(allowed))}, got {dtype.name}",
        )


class _Inputs:
    """Converts the inputs of a call; those of one type get one dtype."""

    def __init__(self, operator: Operator, given: Mapping[str, Any]) -> None:
        self._operator = operator
        self._given = given
        # Functions may be given variables, which they read and change.
        self._calls = any("func" in parameter.kind for parameter in operator.parameters)
        self._dtypes: dict[str, _core.DType] = {}
        for parameter in operator.parameters:
            if not parameter.is_input:
                continue
            kind = parameter.kind.rpartition("*")[2]
            value = given[parameter.name]
            values = value if "*" in parameter.kind and isinstance(value, list | tuple) else [value]
            for part in values:
                if isinstance(part, _core.Tensor | _core._Variable):
                    self._dtypes.setdefault(kind, part.dtype)

    def converted(self, parameter: Parameter) -> Any:
        """The value of a parameter."""
        value, kind = self._given[parameter.name], parameter.kind
        count, _, single = kind.rpartition("*")
        if count or kind.startswith("["):
            if not isinstance(value, list | tuple):
                wrong = _wrong(self._operator, parameter.name, "a list of tensors", value, TypeError)
                raise wrong
            return [self._tensor(parameter.name, part, single) for part in value]
        return self._tensor(parameter.name, value, kind)

    def _tensor(self, name: str, value: Any, kind: str) -> Any:
        if kind in ("=resource", "=variant"):
            return value
        if kind.startswith("["):
            kept = self._calls and isinstance(value, _core._Variable | Table)
            return value if kept else _core._to_tensor(value)
        wanted = tf.as_dtype(kind[1:]) if kind.startswith("=") else self._dtypes.get(kind)
        default = self._operator.defaults.get(kind) if wanted is None else None
        try:
            tensor = self._of_default(value, default) if default else _core._to_tensor(value, wanted)
        except (TypeError, ValueError) as error:
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                f"argument '{name}' must be a tensor that tf.raw_ops.{self._operator.name} takes: {error}",
            ) from None
        _check_dtype(self._operator, name, kind, tensor.dtype)
        self._dtypes.setdefault(kind, tensor.dtype)
        return tensor

    @staticmethod
    def _of_default(value: Any, dtype: str) -> Any:
        """A value that is no tensor, of the default where it loses no fraction and no sign."""
        found, wanted = _core._to_tensor(value), tf.as_dtype(dtype)
        whole = found.dtype.is_integer
        if found.dtype == wanted or not (wanted.is_floating and (whole or found.dtype.is_floating)):
            return _core._to_tensor(value, wanted) if whole and wanted.is_integer else found
        return _core._to_tensor(value, wanted)


def _bound(operator: Operator, given: dict[str, Any]) -> dict[str, Any]:
    known = [parameter.name for parameter in operator.parameters]
    for name in given:
        if name not in known:
            raise TypeError(
                f"tf.raw_ops.{operator.name} has no argument '{name}': it has {', '.join([*known, 'name'])}"
            )
    bound = {}
    for parameter in operator.parameters:
        value = given.get(parameter.name, parameter.default)
        if value is inspect.Parameter.empty:
            raise TypeError(f"argument '{parameter.name}' must be given to tf.raw_ops.{operator.name}")
        bound[parameter.name] = value
    return bound


def _signature(operator: Operator) -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            *(inspect.Parameter(p.name, keyword, default=p.default) for p in operator.parameters),
            inspect.Parameter("name", keyword, default=None),
        ]
    )


@functools.cache
def function(name: str) -> Callable[..., Any] | None:
    """The function of an operator; None where there is none of this name."""
    compute, operator = _computed().get(name), operators().get(name)
    if compute is None or operator is None:
        return None
    fields = [output for output, _ in operator.outputs]
    Results = namedtuple(name, fields) if len(fields) > 1 else None

    def raw(*args: Any, name: str | None = None, **given: Any) -> Any:
        if args:
            raise TypeError(f"tf.raw_ops.{operator.name} takes its arguments by keyword only")
        bound = _bound(operator, given)
        inputs = _Inputs(operator, bound)
        result = compute(
            *(
                inputs.converted(p) if p.is_input else _attribute(operator, p, bound[p.name])
                for p in operator.parameters
            )
        )
        if Results is not None:
            return Results(*result)
        if not fields:
            return None
        if "*" in operator.outputs[0][1] or operator.outputs[0][1].startswith("["):
            return list(result)
        return named(result, name) if isinstance(result, _core.Tensor) else result

    raw.__name__ = raw.__qualname__ = operator.name
    raw.__module__ = "penstock.raw_ops"
    raw.__signature__ = _signature(operator)  # type: ignore[attr-defined]
    raw.__doc__ = f"Compute what TensorFlow's operator `{operator.name}` does; arguments go by keyword."
    return raw


def _attribute(operator: Operator, parameter: Parameter, value: Any) -> Any:
    if value is None and parameter.default is None:
        return tf.TensorShape(None) if parameter.kind == "shape" else None
    return _checked(operator, parameter, value)
