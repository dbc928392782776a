"""`tf.function`: Python functions that are traced into graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core, _variable
from penstock._shape import TensorShape
from penstock._spec import TensorSpec

__all__ = ["ConcreteFunction", "Function", "function"]

ConcreteFunction = _core.ConcreteFunction


class Function(_core._Function):
    """A Python function that is traced once for each type of its arguments, and then runs as a graph.

    Made by `penstock.function`.
    """

    def __new__(
        cls,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None,
        autograph: bool,
        reduce_retracing: bool,
    ) -> Function:
        import functools
        import inspect

        signature = inspect.signature(python_function)
        params, varargs, varkw = [], None, None
        for p in signature.parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                varargs = p.name
            elif p.kind is p.VAR_KEYWORD:
                varkw = p.name
            else:
                has_default = p.default is not p.empty
                params.append(
                    (
                        p.name,
                        has_default,
                        p.default if has_default else None,
                        p.kind is not p.KEYWORD_ONLY,
                        p.kind is not p.POSITIONAL_ONLY,
                    )
                )
        specs = None if input_signature is None else _check_signature(name, input_signature, params, varkw)
        self: Function = super().__new__(
            cls,
            _guarded(python_function, autograph),
            name,
            params,
            varargs,
            varkw,
            specs,
            reduce_retracing,
        )
        functools.update_wrapper(self, python_function)
        self.__dict__.update(
            _user_function=python_function,
            _input_signature=specs,
            _autograph=autograph,
            _reduce_retracing=reduce_retracing,
        )
        return self

    def __init__(self, *args: Any) -> None:
        pass

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function that is traced."""
        return self.__dict__["_user_function"]  # type: ignore[no-any-return]

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The specifications that the arguments must meet, or None."""
        return self.__dict__["_input_signature"]  # type: ignore[no-any-return]

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """A description of every trace."""
        return "\n\n".join(describe(trace) if verbose else signature_line(trace) for trace in self._traces())

    def __repr__(self) -> str:
        return f"<penstock.Function {self.python_function.__qualname__} at {id(self):#x}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.python_function.__module__, self.python_function.__qualname__)


def _restore(module: str, qualname: str) -> Any:
    import importlib

    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


# Whether the traced function that returned last made variables.
_made = False


def made_variables(function: Any) -> bool:
    """Whether the function that was just traced made variables; the engine asks after each trace."""
    global _made
    made, _made = _made, False
    return made


def _guarded(python_function: Callable[..., Any], autograph: bool) -> Callable[..., Any]:
    """The function to trace: converted by AutoGraph, and variables may be made in its first trace only."""
    import functools

    traced = False
    target: Callable[..., Any] | None = None if autograph else python_function

    @functools.wraps(python_function)
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal traced, target
        global _made
        if not _core._is_tracing():
            return python_function(*args, **kwargs)
        if target is None:
            from penstock.autograph import convert_function

            target = convert_function(python_function)
        new: list[Any] = []
        _variable.on_create.append(new.append)
        try:
            result = target(*args, **kwargs)
        finally:
            _variable.on_create.remove(new.append)
        if new and traced:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call: "
                f"{python_function.__qualname__} created {len(new)} more. Create them outside, or keep and "
                "reuse those of the first call"
            )
        traced, _made = True, bool(new)
        return result

    return run


def _check_signature(
    name: str, input_signature: Sequence[Any], params: list[Any], varkw: str | None
) -> tuple[Any, ...]:
    if not isinstance(input_signature, list | tuple):
        raise TypeError(
            f"{name}: argument 'input_signature' must be a sequence of TensorSpec, got {input_signature!r}"
        )
    if varkw is not None:
        raise ValueError(f"{name}: a function with **kwargs cannot have an input_signature")
    own = [p for p in params if p[0] != "self"]
    required = [p for p in own if not p[1]]
    if not len(required) <= len(input_signature) <= len(own):
        raise TypeError(
            f"{name}: input_signature has {len(input_signature)} entries for {len(own)} parameters "
            f"({', '.join(p[0] for p in own)})"
        )

    def check(spec: Any) -> Any:
        if isinstance(spec, TensorSpec):
            return spec
        if isinstance(spec, tuple) and hasattr(spec, "_fields"):
            return type(spec)(*map(check, spec))
        if isinstance(spec, list | tuple):
            return type(spec)(map(check, spec))
        if isinstance(spec, dict):
            return {key: check(value) for key, value in spec.items()}
        raise TypeError(f"{name}: input_signature must hold TensorSpec objects, got {spec!r}")

    def named(spec: Any, param: str) -> Any:
        return (
            TensorSpec.from_spec(spec, param) if isinstance(spec, TensorSpec) and spec.name is None else spec
        )

    return tuple(named(check(spec), p[0]) for spec, p in zip(input_signature, own, strict=False))


def conform_to_signature(
    name: str, names: list[str], values: tuple[Any, ...], specs: tuple[Any, ...]
) -> list[Any]:
    """The arguments as the specifications ask for them; the engine calls this for each call."""
    offset = 1 if names and names[0] == "self" else 0
    out = list(values)
    for i, spec in enumerate(specs):
        out[i + offset] = _conform(name, names[i + offset], values[i + offset], spec)
    return out


def _conform(name: str, param: str, value: Any, spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        if isinstance(value, TensorSpec):
            if value.is_subtype_of(spec):
                return TensorSpec.from_spec(spec, param)
            raise ValueError(f"{name}: argument '{param}' must be {spec}, got {value}")
        if not isinstance(value, _core.Tensor | _core._Variable):
            try:
                value = _core._convert(value, None, spec.dtype)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{name}: argument '{param}' must be {spec}, got {value!r}: {error}"
                ) from None
        elif isinstance(value, _core._Variable):
            value = value.read_value()
        if not spec.is_compatible_with(value):
            got = TensorSpec(value.shape, value.dtype)
            raise ValueError(f"{name}: argument '{param}' must be {spec}, got {got}")
        return _Specified(value, spec)
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


class _Specified:
    """A tensor that stands for every tensor of a specification."""

    __slots__ = ("spec", "value")

    def __init__(self, value: Any, spec: TensorSpec) -> None:
        self.value = value
        self.spec = spec


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: dict[str, Any] | None = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Makes of a Python function one that is traced into a graph and run by the engine.

    The Python code runs once for each type of the arguments: dtypes and shapes of tensors, values of
    everything else. What it does to tensors becomes a graph, which later calls of that type run.

    Args:
        func: the function; without it the result is a decorator.
        input_signature: a `TensorSpec`, or a nest of them, for each parameter: one trace for all calls.
        autograph: whether Python control flow on tensors becomes graph control flow.
        jit_compile: accepted; graphs are always compiled.
        reduce_retracing: whether shapes are generalised after the first trace.
        experimental_implements: accepted and ignored.
        experimental_autograph_options: accepted and ignored.
        experimental_attributes: accepted and ignored.
        experimental_relax_shapes: the old name of `reduce_retracing`.
        experimental_compile: accepted and ignored.
        experimental_follow_type_hints: accepted and ignored.

    Returns:
        A `Function`, or a decorator that makes one.

    Raises:
        TypeError: for a signature that is no sequence of specifications, or a `func` that is not callable.

    >>> import penstock as tf
    >>> @tf.function
    ... def double(x):
    ...     return x + x
    >>> double(tf.constant(21)).numpy()
    np.int32(42)
    """
    relax = reduce_retracing or bool(experimental_relax_shapes)

    def decorate(target: Callable[..., Any]) -> Any:
        if isinstance(target, Function):
            target = target.python_function
        if isinstance(target, staticmethod | classmethod):
            return type(target)(decorate(target.__func__))
        if not callable(target):
            raise TypeError(f"argument 'func' must be callable, got {target!r}")
        name = getattr(target, "__name__", None) or type(target).__name__
        return Function(target, name.replace("<lambda>", "lambda"), input_signature, autograph, relax)

    return decorate if func is None else decorate(func)


def signature_line(trace: Any) -> str:
    """`name(a, b=2)`: tensors by name, Python values as they were bound."""
    args, kwargs = trace.structured_input_signature
    parts = []
    for name, value in [*zip(trace._parameter_names, args, strict=False), *kwargs.items()]:
        parts.append(name if _has_tensor(value) else f"{name}={value!r}")
    parts.extend(str(value) for value in args[len(trace._parameter_names) :])
    return f"{trace._function_name}({', '.join(parts)})"


def _has_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_tensor, value))
    if isinstance(value, dict):
        return any(map(_has_tensor, value.values()))
    return isinstance(value, TensorSpec | _core._Variable)


def _tensor_line(spec: Any) -> str:
    return f"{spec.dtype.name} Tensor, shape={TensorShape(spec.shape)}"


def describe(trace: Any) -> str:
    """A trace in the layout of TensorFlow's documentation."""
    args, kwargs = trace.structured_input_signature
    lines = [signature_line(trace)]
    named = [*zip(trace._parameter_names, args, strict=False), *kwargs.items()]
    tensors = [(name, value) for name, value in named if _has_tensor(value)]
    if tensors:
        lines.append("  Args:")
        for name, value in tensors:
            lines.extend(_value_lines(f"{name}: ", value, 4))
    lines.append("  Returns:")
    lines.extend(_value_lines("", trace.structured_outputs, 4))
    return "\n".join(lines)


def _value_lines(label: str, value: Any, indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(value, TensorSpec | _core._Variable):
        return [f"{pad}{label}{_tensor_line(value)}"]
    leaves: list[Any] = []

    def number(nested: Any) -> Any:
        if isinstance(nested, TensorSpec | _core._Variable):
            leaves.append(nested)
            return _Marker(len(leaves))
        if isinstance(nested, tuple) and hasattr(nested, "_fields"):
            return type(nested)(*map(number, nested))
        if isinstance(nested, list | tuple):
            return type(nested)(map(number, nested))
        if isinstance(nested, dict):
            return {key: number(item) for key, item in nested.items()}
        return nested

    lines = [f"{pad}{label}{number(value)!r}"]
    lines.extend(f"{pad}  <{i}>: {_tensor_line(leaf)}" for i, leaf in enumerate(leaves, 1))
    return lines


class _Marker:
    """The place of a tensor in a printed structure."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<{self.number}>"
