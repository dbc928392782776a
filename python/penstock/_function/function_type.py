"""The types of a traced function's parameters and results, and what its decorator was told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from penstock._types.annotations import signature_of
from penstock._types.argument_names import expect

if TYPE_CHECKING:
    from penstock._function.function import ConcreteFunction, Function

__all__ = ["FunctionSpec", "FunctionType"]


class FunctionType(inspect.Signature):
    """The parameters of a function, annotated with the types of arguments, and the type of its result.

    `parameters` maps names to `inspect.Parameter`s whose annotation is a nest of specifications, a Python
    value, or `inspect.Parameter.empty` where anything goes; `return_annotation` is the same of the result.

    >>> import penstock as tf
    >>> @tf.function(input_signature=[tf.TensorSpec([None], "int32")])
    ... def double(a):
    ...     return a + a
    >>> double.function_type.parameters["a"].annotation.shape
    TensorShape([None])
    """

    __slots__ = ()

    def __init__(
        self,
        parameters: Iterable[inspect.Parameter] | None = None,
        *,
        return_annotation: Any = inspect.Signature.empty,
        __validate_parameters__: bool = True,
    ) -> None:
        given = None if parameters is None else list(parameters)
        for parameter in given or ():
            expect(parameter, inspect.Parameter, "parameters", "a sequence of inspect.Parameter")
        super().__init__(
            given, return_annotation=return_annotation, __validate_parameters__=__validate_parameters__
        )

    @classmethod
    def from_callable(
        cls,
        obj: Callable[..., Any],
        *,
        follow_wrapped: bool = True,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        eval_str: bool = False,
    ) -> FunctionType:
        """Describe a Python function: its parameters as they stand.

        Args:
            obj: the function.
            follow_wrapped: as for `inspect.signature`.
            globals: as for `inspect.signature`.
            locals: as for `inspect.signature`.
            eval_str: as for `inspect.signature`.

        Returns:
            The type.

        >>> import penstock as tf
        >>> tf.types.experimental.FunctionType.from_callable(lambda x, y=1: x)
        <FunctionType (x, y=1)>
        """
        found = inspect.signature(
            obj, follow_wrapped=follow_wrapped, globals=globals, locals=locals, eval_str=eval_str
        )
        return cls(list(found.parameters.values()), return_annotation=found.return_annotation)

    @classmethod
    def of_function(cls, function: Function[..., Any]) -> FunctionType:
        """Make the type of a traced function: its signature, with what `input_signature` demands.

        Args:
            function: the function.

        Returns:
            The type.

        >>> import penstock as tf
        >>> f = tf.function(lambda x: x + 1)
        >>> list(tf.types.experimental.FunctionType.of_function(f).parameters)
        ['x']
        """
        parameters = list(signature_of(function.python_function).parameters.values())
        specs = list(function.input_signature or ())
        out = []
        for i, p in enumerate(parameters):
            if specs and p.kind is p.VAR_POSITIONAL:
                out.append(p.replace(annotation=tuple(specs)))
                specs = []
            elif specs and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and (i or p.name != "self"):
                out.append(p.replace(annotation=specs.pop(0)))
            else:
                out.append(p.replace(annotation=p.empty))
        return cls(out)

    @classmethod
    def of_concrete(cls, concrete: ConcreteFunction) -> FunctionType:
        """Make the type of a trace: what each argument was, and what comes out.

        Args:
            concrete: the trace.

        Returns:
            The type.

        >>> import penstock as tf
        >>> concrete = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([2]))
        >>> tf.types.experimental.FunctionType.of_concrete(concrete).output
        TensorSpec(shape=(2,), dtype=tf.float32, name=None)
        """
        args, kwargs = concrete.structured_input_signature
        names = [name for name in concrete._parameter_names if name not in kwargs]
        more = len(args) > len(names)
        kind = inspect.Parameter.POSITIONAL_ONLY if more else inspect.Parameter.POSITIONAL_OR_KEYWORD
        out = [
            inspect.Parameter(name, kind, annotation=value) for name, value in zip(names, args, strict=False)
        ]
        out += [
            inspect.Parameter(f"args_{i}", inspect.Parameter.POSITIONAL_ONLY, annotation=value)
            for i, value in enumerate(args[len(names) :])
        ]
        out += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=value)
            for name, value in kwargs.items()
        ]
        return cls(out, return_annotation=concrete.structured_outputs)

    @property
    def output(self) -> Any:
        """The structure of the result, with specifications at the leaves."""
        return self.return_annotation


class FunctionSpec:
    """What a decorator was told, and what it read of the Python function.

    Attributes:
        function_type: the parameters.
        input_signature: the specifications, or None.
        fullargspec: as `inspect.getfullargspec` gives it.
        is_method: whether the first parameter is called `self`.
        jit_compile: None: graphs are always compiled.
    """

    jit_compile = None

    def __init__(self, function_type: FunctionType, input_signature: Any, fullargspec: Any) -> None:
        self.function_type = function_type
        self.input_signature = input_signature
        self.fullargspec = fullargspec

    @classmethod
    def of_function(cls, function: Any) -> FunctionSpec:
        """Of a `Function`."""
        spec = inspect.getfullargspec(function.python_function)
        return cls(function.function_type, function.input_signature, spec)

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is called `self`."""
        return bool(self.fullargspec.args[:1] == ["self"])

    @property
    def arg_names(self) -> list[str]:
        """The names of positional parameters."""
        return list(self.fullargspec.args)

    @property
    def vararg_name(self) -> str | None:
        """The name of `*args`, or None."""
        return self.fullargspec.varargs  # type: ignore[no-any-return]

    @property
    def default_values(self) -> tuple[Any, ...]:
        """The defaults of positional parameters."""
        return self.fullargspec.defaults or ()

    def signature_summary(self, default_values: bool = False) -> str:
        """The parameters in a line: `a, b=2`; with the defaults if asked."""
        parts = []
        for p in self.function_type.parameters.values():
            star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
            default = f"={p.default!r}" if default_values and p.default is not p.empty else ""
            parts.append(f"{star}{p.name}{default}")
        return ", ".join(parts)
