"""`input_signature`: what it may be, and arguments as it asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from penstock import _core
from penstock._types.annotations import signature_of
from penstock._types.argument_kinds import (
    Conformed,
    Specified,
    argument_kind,
    fields_of,
    rebuilt_mapping,
    with_fields,
)
from penstock._types.specs import TensorSpec, TypeSpec, VariableSpec
from penstock.errors import SignatureError

__all__ = ["Signature", "check_signature", "conform_to_signature", "parameters_of"]

# `(name, has_default, default, positional, keyword)`.
Parameter = tuple[str, bool, Any, bool, bool]

# Flags of code objects.
_VARARGS, _VARKW = 0x04, 0x08
# Attributes of a function that has another one's parameters.
_DELEGATING = frozenset(("__wrapped__", "__signature__"))


def parameters_of(function: Callable[..., Any]) -> tuple[list[Parameter], str | None, str | None]:
    """The parameters of a callable, and the names of its `*args` and `**kwargs`.

    They are those of `inspect.signature`, which takes ten times as long as reading a plain function's code.
    """
    if type(function) is not FunctionType or not _DELEGATING.isdisjoint(function.__dict__):
        return _inspected(function)
    code, defaults = function.__code__, function.__defaults__ or ()
    positional, keyword_only = code.co_argcount, code.co_kwonlyargcount
    names, first = code.co_varnames, positional - len(defaults)
    params: list[Parameter] = [
        (name, i >= first, defaults[i - first] if i >= first else None, True, i >= code.co_posonlyargcount)
        for i, name in enumerate(names[:positional])
    ]
    end = positional + keyword_only
    if keyword_only:
        known = function.__kwdefaults__ or {}
        params.extend((name, name in known, known.get(name), False, True) for name in names[positional:end])
    varargs = names[end] if code.co_flags & _VARARGS else None
    varkw = names[end + bool(varargs)] if code.co_flags & _VARKW else None
    return params, varargs, varkw


def _inspected(function: Callable[..., Any]) -> tuple[list[Parameter], str | None, str | None]:
    params: list[Parameter] = []
    varargs = varkw = None
    for p in signature_of(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            varargs = p.name
        elif p.kind is p.VAR_KEYWORD:
            varkw = p.name
        else:
            given = p.default is not p.empty
            default = p.default if given else None
            params.append(
                (p.name, given, default, p.kind is not p.KEYWORD_ONLY, p.kind is not p.POSITIONAL_ONLY)
            )
    return params, varargs, varkw


class Signature(tuple[Any, ...]):  # noqa: SLOT001 -- it has an attribute
    """The specifications of the first parameters, and of `*args`.

    Attributes:
        fixed: the defaults of the other parameters, by name.
        positional: how many parameters can be given by position, without `*args` and a method's instance.
    """

    fixed: dict[str, Any]
    positional: int


def check_signature(
    name: str,
    input_signature: Sequence[Any],
    params: Sequence[Parameter],
    varargs: str | None,
) -> Signature:
    """The specifications, named after their parameters; those of `*args` follow.

    Raises:
        TypeError: for something that is no sequence of specifications, or not as many as parameters.
        ValueError: for a function whose parameters a signature cannot describe.
    """
    if not isinstance(input_signature, list | tuple):
        raise TypeError(
            f"{name}: argument 'input_signature' must be a sequence of TensorSpec, got {input_signature!r}"
        )
    own = params[1:] if params and params[0][0] == "self" else params
    for param in own:
        if not param[3] and not param[1]:
            raise ValueError(
                f"{name}: the keyword-only parameter '{param[0]}' needs a default where there is an "
                "input_signature, which describes positional ones"
            )
    positional = [param for param in own if param[3]]
    required = [param for param in positional if not param[1]]
    fits = len(required) <= len(input_signature) and (
        varargs is not None or len(input_signature) <= len(positional)
    )
    if not fits:
        listed = [param[0] for param in positional] + ([f"*{varargs}"] if varargs else [])
        raise TypeError(
            f"{name}: input_signature has {len(input_signature)} entries for "
            f"{len(listed)} parameters ({', '.join(listed)}): {tuple(input_signature)!r}"
        )
    names = [param[0] for param in positional]
    made = Signature(
        _named(_checked(name, spec), names[i] if i < len(names) else f"{varargs}_{i - len(names)}")
        for i, spec in enumerate(input_signature)
    )
    made.fixed = {p[0]: p[2] for i, p in enumerate(own) if i >= len(made) or not p[3]}
    made.positional = len(positional)
    return made


def _checked(name: str, spec: Any) -> Any:
    if isinstance(spec, TypeSpec):
        return spec
    if isinstance(spec, _core.Tensor | _core._Variable):
        raise TypeError(f"{name}: input_signature must hold TensorSpec objects, got the tensor {spec!r}")
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return type(spec)(*(_checked(name, item) for item in spec))
    if isinstance(spec, list | tuple):
        return type(spec)(_checked(name, item) for item in spec)
    if isinstance(spec, dict):
        return {key: _checked(name, value) for key, value in spec.items()}
    raise TypeError(f"{name}: input_signature must hold TensorSpec objects, got {spec!r}")


def _named(spec: Any, param: str) -> Any:
    if isinstance(spec, TensorSpec) and spec.name is None:
        return TensorSpec.from_spec(spec, param)
    return spec


def conform_to_signature(
    function: tuple[str, list[str], str | None],
    named: tuple[Any, ...],
    varargs: tuple[Any, ...],
    specs: Signature,
) -> tuple[list[Any], list[Any]]:
    """The arguments as the specifications ask for them: `(named, varargs)`.

    Args:
        function: its name, the names of its parameters, and that of `*args`.
        named: the argument of each parameter.
        varargs: those of `*args`.
        specs: what `check_signature` gave.

    Raises:
        TypeError: for a tensor that the specification does not describe, which is a ValueError too, for
            another structure, or an argument that the signature leaves to its default.
    """
    try:
        return _conformed(function, named, varargs, specs)
    except (TypeError, ValueError) as error:
        from penstock.autograph._traceback import USER_LINES  # start-up does without it

        with USER_LINES:
            raise error


def _conformed(
    function: tuple[str, list[str], str | None],
    named: tuple[Any, ...],
    varargs: tuple[Any, ...],
    specs: Signature,
) -> tuple[list[Any], list[Any]]:
    name, names, rest = function
    offset = 1 if names and names[0] == "self" else 0
    out, more = list(named), list(varargs)
    fixed = min(len(specs), specs.positional)
    for param, value in zip(names, named, strict=True):
        if param in specs.fixed and not _equals(value, specs.fixed[param]):
            raise TypeError(
                f"{name}: argument '{param}' has no specification in input_signature, and so keeps its "
                f"default {specs.fixed[param]!r}; got {value!r}"
            )
    if len(specs) - fixed != len(varargs):
        raise TypeError(
            f"{name}: input_signature has {len(specs) - fixed} entries for *{rest}, got {len(varargs)} "
            f"arguments\n{_sides(varargs, specs[fixed:])}"
        )
    try:
        for i in range(fixed):
            out[i + offset] = _conform(name, names[i + offset], named[i + offset], specs[i])
        for i, spec in enumerate(specs[fixed:]):
            more[i] = _conform(name, f"{rest}[{i}]", varargs[i], spec)
    except (TypeError, ValueError) as error:
        given = [*named[offset : offset + fixed], *varargs]
        raise SignatureError(f"{error}\n{_sides(given, specs)}") from None
    return out, more


def _equals(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except (TypeError, ValueError):
        return False


def _sides(given: Sequence[Any], specs: Sequence[Any]) -> str:
    def lines(values: Sequence[Any]) -> str:
        return "".join(f"\n    {value!r}," for value in values)

    return (
        "Python inputs incompatible with input_signature:\n"
        f"  inputs: ({lines(given)})\n  input_signature: ({lines(specs)})"
    )


def _conform(name: str, param: str, value: Any, spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return _tensor(name, param, value, spec)
    if isinstance(spec, VariableSpec):
        if not spec.is_compatible_with(value):
            raise ValueError(f"{name}: argument '{param}' must be a variable of {spec}, got {value!r}")
        return value
    if isinstance(spec, TypeSpec):
        return _composite(name, param, value, spec)
    if isinstance(spec, dict):
        if not isinstance(value, dict) or set(value) != set(spec):
            raise TypeError(
                f"{name}: argument '{param}' must be a dict with keys {sorted(spec)}, got {value!r}"
            )
        return {key: _conform(name, f"{param}[{key!r}]", value[key], spec[key]) for key in value}
    if not isinstance(value, list | tuple) or len(value) != len(spec):
        raise TypeError(f"{name}: argument '{param}' must be a sequence of {len(spec)}, got {value!r}")
    items = [_conform(name, f"{param}[{k}]", v, s) for k, (v, s) in enumerate(zip(value, spec, strict=True))]
    return type(spec)(*items) if hasattr(spec, "_fields") else type(spec)(items)


def _tensor(name: str, param: str, value: Any, spec: TensorSpec) -> Any:
    if isinstance(value, TensorSpec):
        if value.is_subtype_of(spec):
            return spec
        raise ValueError(f"{name}: argument '{param}' must be {spec}, got {value}")
    if isinstance(value, _core._Variable):
        value = value.read_value()
    elif not isinstance(value, _core.Tensor):
        try:
            value = _core._to_tensor_hinted(value, spec.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: argument '{param}' must be {spec}, got {value!r}: {error}") from None
    if not spec.is_compatible_with(value):
        raise ValueError(
            f"{name}: argument '{param}' must be {spec}, got {TensorSpec(value.shape, value.dtype)}"
        )
    return Specified(value, spec)


def _composite(name: str, param: str, value: Any, spec: Any) -> Any:
    if value is spec or (isinstance(value, TypeSpec) and value.is_subtype_of(spec)):
        return spec
    if not spec.is_compatible_with(value):
        raise ValueError(f"{name}: argument '{param}' must be {spec}, got {value!r}")
    by_fields = fields_of(type(value)) is not None and argument_kind(type(value)) != "protocol"
    if not by_fields and spec.flatten():
        return Conformed(value, spec)
    fields = {
        field: _field(name, f"{param}.{field}", getattr(value, field), getattr(spec, field, None))
        for field in fields_of(type(value)) or ()
    }
    return with_fields(value, fields)


def _field(name: str, path: str, value: Any, spec: Any) -> Any:
    """What a field holds; what is no specification, such as a literal, was compared as a whole."""
    if isinstance(spec, TypeSpec):
        return _conform(name, path, value, spec)
    if isinstance(spec, Mapping):
        return rebuilt_mapping(
            value, {key: _field(name, f"{path}[{key!r}]", value[key], part) for key, part in spec.items()}
        )
    if isinstance(spec, list | tuple):
        pairs = enumerate(zip(value, spec, strict=True))
        items = [_field(name, f"{path}[{i}]", item, part) for i, (item, part) in pairs]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
