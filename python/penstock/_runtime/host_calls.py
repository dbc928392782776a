"""Python functions as operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from penstock import _core, nest, raw_ops
from penstock._runtime.arguments import results
from penstock._runtime.scope import scoped
from penstock._types.specs import TensorSpec, TypeSpec, own_spec

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, Nested, SpecLike, TensorLike

__all__ = ["HostFunction", "numpy_function", "py_func", "py_function"]


@overload
def py_function(
    func: Callable[..., Any],
    inp: TensorLike | Sequence[Any] | None,
    Tout: TensorSpec | DTypeLike,
    name: str | None = None,
) -> _core.Tensor: ...
@overload
def py_function(
    func: Callable[..., Any],
    inp: TensorLike | Sequence[Any] | None = None,
    Tout: Nested[SpecLike] | None = None,
    name: str | None = None,
) -> Any: ...
@overload
def py_function(
    func: None = None,
    inp: None = None,
    Tout: Nested[SpecLike] | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
@scoped
def py_function(
    func: Callable[..., Any] | None = None,
    inp: TensorLike | Sequence[Any] | None = None,
    Tout: Nested[SpecLike] | None = None,
    name: str | None = None,
) -> Any:
    """Call a Python function with eager tensors; from a traced function each time that it runs.

    It is differentiable where `func` is, to any order and in both modes: in a traced function the gradient
    runs `func` once more, under a tape. An exception in `func` reaches the caller as it is.

    Args:
        func: takes a tensor, composite value or dict of tensors for each of `inp`, and gives a tensor, or
            what `Tout` describes.
        inp: the arguments: a list, or one of them.
        Tout: the dtype, `TensorSpec` or other `TypeSpec` of the result; a list or another nest of them where
            there are several; an empty list or None where there is none. The shape of a `TensorSpec` is known
            of the result while tracing, and checked when it runs.
        name: a scope for the names of its operations in a graph.

    Returns:
        The result, in the structure of `Tout`; without a function a decorator, which takes the arguments.

    Raises:
        InvalidArgumentError: where `func` gives another number of results, or other dtypes or shapes. Numbers
            and arrays of NumPy take the declared dtype, where their kind of number goes there.

    >>> import penstock as tf
    >>> tf.py_function(lambda x: x * 2, [tf.constant(21)], tf.int32).numpy()
    np.int32(42)
    """
    if func is None:
        return lambda f: lambda *args: py_function(f, args, Tout)
    return HostFunction(func, Tout, as_numpy=False).call(inp, stateful=True)


@overload
def numpy_function(
    func: Callable[..., Any],
    inp: TensorLike | Sequence[Any] | None,
    Tout: TensorSpec | DTypeLike,
    stateful: bool = True,
    name: str | None = None,
) -> _core.Tensor: ...
@overload
def numpy_function(
    func: Callable[..., Any],
    inp: TensorLike | Sequence[Any] | None = None,
    Tout: Nested[SpecLike] | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any: ...
@overload
def numpy_function(
    func: None = None,
    inp: None = None,
    Tout: Nested[SpecLike] | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
@scoped
def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: TensorLike | Sequence[Any] | None = None,
    Tout: Nested[SpecLike] | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function with NumPy arrays; from a traced function each time that it runs.

    It has no gradient. An exception in `func` reaches the caller as it is. The arrays are read-only views.

    Args:
        func: takes an array for each of `inp` and gives an array, or a sequence of them.
        inp: the arguments.
        Tout: the dtype, or `TensorSpec`, of the result; a list of them where there are several; an empty list
            or None where there is none.
        stateful: whether the function does more than compute its result. If not, a call in a traced function
            runs only where its result is used, and keeps no order with what has effects.
        name: a scope for the names of its operations in a graph.

    Returns:
        The result, in the structure of `Tout`; without a function a decorator, which takes the arguments.

    Raises:
        InvalidArgumentError: where `func` gives another number of results, or other dtypes or shapes.
            Python's numbers, which have no dtype, take the declared one, where their kind of number goes
            there.

    >>> import penstock as tf
    >>> import numpy as np, penstock as tf
    >>> tf.numpy_function(np.sinh, [tf.constant(0.0)], tf.float32).numpy()
    np.float32(0.0)
    """
    if func is None:
        return lambda f: lambda *args: numpy_function(f, args, Tout, stateful)
    return HostFunction(func, Tout, as_numpy=True).call(inp, stateful)


@scoped
def py_func(
    func: Callable[..., Any],
    inp: TensorLike | Sequence[Any] | None,
    Tout: Nested[SpecLike] | None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function with NumPy arrays: `numpy_function` by its old name.

    Args:
        func: takes an array for each of `inp` and gives an array, or a sequence of them.
        inp: the arguments.
        Tout: the dtype of the result, or a list of them, as for `numpy_function`.
        stateful: whether the function does more than compute its result.
        name: a scope for the names of its operations in a graph.

    Returns:
        The result, in the structure of `Tout`.

    >>> import penstock as tf
    >>> tf.compat.v1.py_func(lambda x: x + 1, [1.0], tf.float32).numpy()
    np.float32(2.0)
    """
    return numpy_function(func, inp, Tout, stateful)


class HostFunction:
    """A Python function and the types of its results."""

    def __init__(
        self,
        func: Callable[..., Any],
        Tout: Any,
        as_numpy: bool,
        batched: Callable[[tuple[bool, ...]], Any] | None = None,
    ) -> None:
        if not callable(func):
            raise TypeError(f"argument 'func' must be callable, got {func!r}")
        self.func = func
        self.as_numpy = as_numpy
        # Gives the host function of the engine for many examples, by which arguments are mapped.
        self.batched = batched
        self.structure = Tout
        declared = [] if Tout is None else nest.flatten(Tout)
        self.declared = [_spec(t) for t in declared]
        self.specs = [leaf for spec in self.declared for leaf in spec.flatten()]

    def call(self, inp: Any, stateful: bool) -> Any:
        args = [] if inp is None else inp
        args = list(args) if isinstance(args, list | tuple) else [args]
        if self.as_numpy:
            self._check_arrays(args)
        inputs, pack = _arguments(args)
        run = self.engine(pack)
        if not _core._is_tracing():
            outputs = run(*inputs)
        else:
            found = raw_ops.host_call(inputs, func=run, outs=self.specs, stateful=stateful)
            outputs = results(found)
        if self.structure is None:
            return None
        outputs = self._composed(outputs)
        return (
            nest.pack_sequence_as(self.structure, outputs) if nest.is_nested(self.structure) else outputs[0]
        )

    def _check_arrays(self, args: list[Any]) -> None:
        """Raises where an argument or a result is composite, of which NumPy knows nothing."""
        for i, arg in enumerate(args):
            if _type_spec(arg) is not None:
                raise TypeError(
                    f"argument 'inp' must hold tensors, got {arg!r} at {i}: "
                    "give its tensors, or use py_function"
                )
        for spec in self.declared:
            if not isinstance(spec, TensorSpec):
                raise TypeError(f"argument 'Tout' must hold dtypes and TensorSpec, got {spec}")

    def engine(self, pack: Callable[..., Any] | None) -> Any:
        """The function as the engine calls it: on tensors, for a flat list of them."""
        structure = self.structure
        composite = any(not isinstance(spec, TensorSpec) for spec in self.declared)
        one = structure is not None and not nest.is_nested(structure)
        flat = isinstance(structure, list | tuple) and not any(map(nest.is_nested, structure))
        plain = not composite and (one or flat or structure is None)
        unpack = None if plain else _unpacking(structure, self.declared)
        return _core._HostFunction(self.func, self.specs, one, self.as_numpy, unpack, pack, self.batched)

    def _composed(self, tensors: list[Any]) -> list[Any]:
        """The declared values, of which some are composite, from their tensors."""
        source = iter(tensors)
        return [spec.from_tensors(source) for spec in self.declared]


def _unpacking(structure: Any, declared: list[Any]) -> Callable[[Any], list[Any]]:
    """What takes the tensors out of a nested result, or of composite values in it."""

    def unpack(result: Any) -> list[Any]:
        if isinstance(structure, list | tuple) and not isinstance(result, list | tuple):
            result = [result]
        values = _values(structure, result, "the result")
        return [leaf for value, spec in zip(values, declared, strict=True) for leaf in _parts(value, spec)]

    return unpack


def _values(structure: Any, result: Any, place: str) -> list[Any]:
    """What a result has in the places of the leaves of `structure`."""
    if not nest.is_nested(structure):
        return [result]
    if isinstance(structure, Mapping):
        if not isinstance(result, Mapping) or set(result) != set(structure):
            raise ValueError(f"{place} is {result!r}, argument 'Tout' has a dict with {list(structure)}")
        keys = nest._sorted_keys(structure)
    else:
        if not isinstance(result, list | tuple) or len(result) != len(structure):
            raise ValueError(f"{place} is {result!r}, argument 'Tout' has {len(structure)} values")
        keys = list(range(len(structure)))
    return [leaf for k in keys for leaf in _values(structure[k], result[k], f"{place}[{k!r}]")]


def _spec(declared: Any) -> Any:
    """What an entry of `Tout` says of a result: a dtype is a tensor of any shape."""
    return declared if isinstance(declared, TypeSpec) else TensorSpec(None, declared)


def _parts(value: Any, spec: Any) -> list[Any]:
    """The tensors of a value."""
    if isinstance(spec, TensorSpec):
        return [value]
    if not spec.is_compatible_with(value):
        raise TypeError(f"a result that argument 'Tout' describes by {spec} is {value!r}")
    tensors: list[Any] = spec.to_tensors(value)
    return tensors


def _arguments(args: list[Any]) -> tuple[list[Any], Callable[..., Any] | None]:
    """The tensors of the arguments; and what makes the arguments of them, unless they are the tensors."""
    if not any(isinstance(arg, Mapping) or _type_spec(arg) is not None for arg in args):
        return [_core._to_tensor(arg) for arg in args], None
    specs: list[Any] = []
    tensors: list[Any] = []
    for leaf in nest.flatten([arg if isinstance(arg, Mapping) else _Leaf(arg) for arg in args]):
        value = leaf.value if isinstance(leaf, _Leaf) else leaf
        spec = _type_spec(value)
        value = _core._to_tensor(value) if spec is None else value
        specs.append(spec or TensorSpec(value.shape, value.dtype))
        tensors.extend(_core._to_tensor(part) for part in _parts(value, specs[-1]))
    structure = [arg if isinstance(arg, Mapping) else None for arg in args]

    def pack(flat: tuple[Any, ...]) -> tuple[Any, ...]:
        source = iter(flat)
        return tuple(nest.pack_sequence_as(structure, [spec.from_tensors(source) for spec in specs]))

    return tensors, pack


class _Leaf:
    """An argument that is one value, even if it is a list."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _type_spec(value: Any) -> Any:
    """The specification of a composite value, None for all others."""
    spec = own_spec(value)
    return None if isinstance(spec, TensorSpec) else spec
