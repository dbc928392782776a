"""Control flow on tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from penstock import _core, nest, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import scoped
from penstock._types.composite import after_loop, check_alike, flatten, is_composite, joined, pack
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, ShapeLike, TensorLike

__all__ = [
    "case",
    "cond",
    "control_dependencies",
    "converted",
    "group",
    "init_scope",
    "switch_case",
    "while_loop",
]

_ASSERT = getattr(raw_ops, "assert")

_T = TypeVar("_T")
_Values = TypeVar("_Values", bound=tuple[Any, ...])


def _value(tensor: Any) -> Any:
    """The Python value of a tensor that is known now, or None."""
    if not isinstance(tensor, _core.Tensor):
        tensor = _core._to_tensor(tensor)
    known = _core._known_value(tensor)
    value = None if known is None else known.numpy()
    return value if value is None or isinstance(value, bytes) else value.item()


# A traced branch: what it returns, the leaves of that (None for a leaf that is None), and the exception that
# always ends it, or None.
_Branch = NamedTuple(  # noqa: UP014 -- start-up would compile annotations
    "_Branch",
    [("structure", Any), ("flat", list[Any]), ("region", Any), ("stopped", BaseException | None)],
)


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a converted one hands over, converted too."""
    slots = sys.modules.get("penstock.autograph._slots")
    if slots is None or not slots.tracing.converting:
        return function
    from penstock.autograph._calls import callee  # AutoGraph builds on this

    return callee(function)  # type: ignore[no-any-return]


def _result(leaf: Any) -> Any:
    """The tensor of what a branch gives. For an operation, which ran, that is true."""
    return _core._to_tensor(True if v1_graph_state.is_operation(leaf) else leaf)


def _trace_region(function: Callable[[], Any]) -> _Branch:
    """Runs `function` in a region of the open trace."""
    from penstock.autograph._branch import traced_region  # AutoGraph builds on this
    from penstock.autograph._state import State  # AutoGraph builds on this

    structure: Any = None

    def run() -> None:
        nonlocal structure
        structure = function()

    _core._begin_region([])
    try:
        stopped = traced_region(State.of([]), run)
        flat = [None if leaf is None else _result(leaf) for leaf in flatten(structure)]
    except BaseException:
        _core._abandon_region()
        raise
    region = _core._end_region([leaf for leaf in flat if leaf is not None])
    return _Branch(structure, flat, region, stopped)


def _select(operator: str, selector: Any, functions: Sequence[Callable[[], Any]], what: str) -> Any:
    traced = [_trace_region(converted(function)) for function in functions]
    # A branch that never comes to its end says nothing about the result.
    ending = [i for i, branch in enumerate(traced) if branch.stopped is None]
    if not ending:
        for branch in traced:
            if isinstance(branch.stopped, _core._Recursion):
                raise branch.stopped
        _core._emit_regions(operator, [selector], [branch.region for branch in traced])
        return None
    first = ending[0]
    structure, flat = traced[first].structure, traced[first].flat
    result = structure
    for i in ending[1:]:
        other = traced[i]
        try:
            check_alike(structure, other.structure)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{what}: branches {first} and {i} must return the same structure: {error}"
            ) from None
        result = joined(result, other.structure)
        for k, (a, b) in enumerate(zip(flat, other.flat, strict=True)):
            if (a is None) != (b is None):
                raise TypeError(f"{what}: result {k} is None in only one of branches {first} and {i}")
            if a is not None and a.dtype != b.dtype:
                raise TypeError(
                    f"{what}: result {k} has dtype {a.dtype.name} in branch {first}, "
                    f"{b.dtype.name} in branch {i}"
                )
    specs = [TensorSpec(leaf.shape, leaf.dtype) for leaf in flat if leaf is not None]
    regions = [b.region if b.stopped is None else _dead_end(b.region, specs) for b in traced]
    out = iter(_core._emit_regions(operator, [selector], regions) or ())
    return pack(result, [None if leaf is None else next(out) for leaf in flat])


def _dead_end(region: Any, specs: list[TensorSpec]) -> Any:
    """A region that never comes to its end, with results that nobody sees."""
    from penstock.autograph._values import zeros  # AutoGraph builds on this

    _core._begin_region([])
    try:
        _core._emit_regions("switch", [_core._to_tensor(0)], [region])
        results = [zeros(spec) for spec in specs]
    except BaseException:
        _core._abandon_region()
        raise
    return _core._end_region(results)


@scoped
def cond(
    pred: TensorLike, true_fn: Callable[[], _T], false_fn: Callable[[], _T], name: str | None = None
) -> _T:
    """Run `true_fn` where `pred` is true, else `false_fn`.

    While a function is traced both are traced, and the choice is made when the graph runs.

    Args:
        pred: a `bool` of one element.
        true_fn: a function without arguments that returns a nest of tensors.
        false_fn: likewise, of the same structure and dtypes.
        name: a scope for the names of its operations in a graph.

    Returns:
        What the function returns that ran; while a function is traced with tensors for numbers.

    Raises:
        TypeError: where a function is not callable or the results differ in structure or dtype.

    >>> import penstock as tf
    >>> @tf.function
    ... def halved(x):
    ...     return tf.cond(x > 0.0, lambda: x / 2.0, lambda: x)
    >>> halved(tf.constant(3.0)).numpy()
    np.float32(1.5)
    """
    for name, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"'{name}' must be callable.")
    if not isinstance(pred, _core.Tensor | _core._Variable):
        if not isinstance(pred, bool) and not hasattr(pred, "dtype"):
            raise TypeError(f"argument 'pred' must be a bool, got {pred!r}")
        return true_fn() if pred else false_fn()
    if isinstance(pred, _core._Variable):
        pred = pred.read_value()
    if pred.dtype != _core.bool:
        raise TypeError(f"argument 'pred' must be a bool tensor, got dtype {pred.dtype.name}")
    if not pred._is_symbolic:
        return true_fn() if pred else false_fn()
    chosen: _T = _select("cond", _scalar(pred), [true_fn, false_fn], "cond")
    return chosen


def _scalar(condition: Any) -> Any:
    """A condition of one element without dimensions."""
    if condition.shape.rank == 0 or condition.shape.num_elements() not in (1, None):
        return condition
    return raw_ops.reshape(condition, [])


@scoped
def switch_case(
    branch_index: TensorLike,
    branch_fns: Sequence[Callable[[], _T]]
    | Sequence[tuple[int, Callable[[], _T]]]
    | dict[int, Callable[[], _T]],
    default: Callable[[], _T] | None = None,
    name: str = "switch_case",
) -> _T:
    """Run the function at `branch_index`; for any other index `default`, or the last.

    Args:
        branch_index: a scalar `int32`.
        branch_fns: functions without arguments: a list, a list of `(index, function)`, or a dict; the
            indices are 0 to n-1.
        default: for every other index.
        name: a scope for the names of its operations in a graph.

    Returns:
        What the function returns that ran; while a function is traced with tensors for numbers.

    Raises:
        TypeError: where something is not callable.
        ValueError: where the indices have gaps.

    >>> import penstock as tf
    >>> tf.switch_case(tf.constant(1), [lambda: 10, lambda: 20])
    20
    """
    items: Any = branch_fns.items() if isinstance(branch_fns, dict) else list(branch_fns)
    if isinstance(branch_fns, dict) or any(isinstance(item, tuple) for item in items):
        by_index = dict(items)
        if sorted(by_index) != list(range(len(by_index))):
            raise ValueError(
                f"argument 'branch_fns' must have indices 0 to {len(by_index) - 1}, got {sorted(by_index)}"
            )
        functions = [by_index[i] for i in range(len(by_index))]
    else:
        functions = list(items)
    if default is not None:
        functions.append(default)
    if not functions or not all(map(callable, functions)):
        raise TypeError("argument 'branch_fns' must hold at least one callable, and only callables")
    last = len(functions) - 1
    index = _core._to_tensor_hinted(branch_index, _core.int32)
    known = _value(index)
    chosen: _T = (
        _select("switch", index, functions, "switch_case")
        if known is None
        else functions[known if 0 <= known < last else last]()
    )
    return chosen


@scoped
def case(
    pred_fn_pairs: Sequence[tuple[TensorLike, Callable[[], _T]]] | Mapping[Any, Callable[[], _T]],
    default: Callable[[], _T] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> _T:
    """Run the first function whose predicate is true, else `default`.

    Args:
        pred_fn_pairs: pairs of a scalar `bool` and a function without arguments, or a dict of them.
        default: for no predicate true. Without it one must be.
        exclusive: whether at most one predicate may be true. Else the first that is counts.
        strict: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        What the function returns that ran; while a function is traced with tensors for numbers.

    Raises:
        TypeError: where the pairs are no pairs.
        InvalidArgumentError: at run time, where no predicate is true and there is no `default`, or several
            are and they are `exclusive`.

    >>> import penstock as tf
    >>> x = tf.constant(3)
    >>> tf.case([(x < 2, lambda: tf.constant("small")), (x < 4, lambda: tf.constant("middle"))]).numpy()
    b'middle'
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    if not pairs or not all(isinstance(p, tuple | list) and len(p) == 2 and callable(p[1]) for p in pairs):
        raise TypeError("argument 'pred_fn_pairs' must be a non-empty list of (predicate, function)")
    if default is None or exclusive:
        preds = raw_ops.stack([_core._to_tensor(pred, _core.bool) for pred, _ in pairs])
        if default is None:
            message = "case: none of the predicates is true, and there is no argument 'default'"
            _ASSERT(raw_ops.reduce_any(preds), message=message)
        if exclusive:
            count = raw_ops.reduce_sum(raw_ops.cast(preds, dtype=_core.int32))
            message = "case: more than one of the predicates is true, but argument 'exclusive' is set"
            _ASSERT(raw_ops.less_equal(count, 1), message=message)
    rest = default
    if rest is None:
        rest = pairs[-1][1]
        pairs = pairs[:-1]
    for pred, function in reversed(pairs):
        rest = _either(pred, function, rest)
    return rest()


def _either(pred: Any, function: Callable[[], _T], otherwise: Callable[[], _T]) -> Callable[[], _T]:
    return lambda: cond(pred, function, otherwise)


@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., _Values],
    loop_vars: tuple[Any, ...],
    shape_invariants: Nested[ShapeLike] = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
    checkpoint_every: int | None = None,
) -> _Values: ...
@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: list[_T],
    shape_invariants: Nested[ShapeLike] = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
    checkpoint_every: int | None = None,
) -> list[Any]: ...
@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: tuple[Any, ...],
    shape_invariants: Nested[ShapeLike] = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
    checkpoint_every: int | None = None,
) -> tuple[Any, ...]: ...
@scoped
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: list[Any] | tuple[Any, ...],
    shape_invariants: Nested[ShapeLike] = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
    checkpoint_every: int | None = None,
) -> Any:
    """Repeat `body` while `cond` gives true.

    Args:
        cond: takes the loop variables, gives a `bool` of one element.
        body: takes the loop variables, gives their next values in the same structure.
        loop_vars: the first values: a list or tuple of tensors, or of nests of them.
        shape_invariants: for each loop variable the shape that it keeps to, `None` for sizes that change.
        parallel_iterations: accepted and ignored.
        back_prop: accepted and ignored.
        swap_memory: accepted and ignored.
        maximum_iterations: at most this many repetitions.
        name: a scope for the names of its operations in a graph.
        checkpoint_every: keep the loop variables for the gradient only at every so many repetitions. The
            gradient repeats those in between, which takes the time of one more run and the memory of that
            many repetitions. By default all that the gradient reads is kept. A body that prints, draws random
            numbers, assigns to variables or runs Python is never repeated.

    Returns:
        The last values, in the structure of `loop_vars`.

    Raises:
        TypeError: where something is not callable, or a loop variable changes its dtype.
        ValueError: where a loop variable changes its shape against its invariant, or the structure changes.

    >>> import penstock as tf
    >>> i, total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), (0, 0))
    >>> int(total)
    10
    """
    if not callable(cond) or not callable(body):
        raise TypeError("arguments 'cond' and 'body' must be callable")
    if not isinstance(loop_vars, list | tuple) or not loop_vars:
        raise ValueError("argument 'loop_vars' must be a non-empty list or tuple")
    cond, body = converted(cond), converted(body)
    if maximum_iterations is not None:
        return _bounded(cond, body, loop_vars, shape_invariants, maximum_iterations, checkpoint_every)
    flat = [_core._to_tensor(leaf) for leaf in flatten(loop_vars)]
    if not _core._is_tracing():
        leaves = [v if is_composite(v) else _core._to_tensor(v) for v in nest.flatten(loop_vars)]
        return _eager_loop(cond, body, nest.pack_sequence_as(loop_vars, leaves))
    specs = _loop_specs(flat, loop_vars, shape_invariants)

    params = _core._begin_region(specs)
    try:
        test = _scalar(_core._to_tensor(cond(*pack(loop_vars, params))))
    except BaseException:
        _core._abandon_region()
        raise
    if test.dtype != _core.bool or test.shape.rank not in (0, None):
        _core._abandon_region()
        raise TypeError(f"the condition must give a bool scalar, got {TensorSpec(test.shape, test.dtype)}")
    test_region = _core._end_region([test])

    params = _core._begin_region(specs, flat)
    try:
        result = _as_loop_vars(body(*pack(loop_vars, params)), loop_vars)
        after = [
            _core._to_tensor_hinted(leaf, spec.dtype)
            for leaf, spec in zip(flatten(result), specs, strict=True)
        ]
        for k, (spec, value) in enumerate(zip(specs, after, strict=True)):
            _check_loop_var(k, spec, value)
    except BaseException:
        _core._abandon_region()
        raise
    body_region = _core._end_region(after)
    outs = _core._emit_regions("while", flat, [test_region, body_region], checkpoint_every) or ()
    return pack(after_loop(loop_vars, result), outs)


def _as_loop_vars(result: Any, loop_vars: Any) -> Any:
    """What a loop's body returns, in the structure of the loop variables."""
    if not isinstance(result, list | tuple) or (len(loop_vars) == 1 and len(result) != 1):
        result = [result]
    check_alike(list(loop_vars), list(result), check_types=False)
    return nest.pack_sequence_as(loop_vars, nest.flatten(list(result)))


def _loop_specs(flat: list[Any], loop_vars: Any, shape_invariants: Any) -> list[TensorSpec]:
    if shape_invariants is None:
        return [TensorSpec(value.shape, value.dtype) for value in flat]
    shapes = _flatten_shapes(shape_invariants)
    if len(shapes) != len(flat):
        raise ValueError(
            f"argument 'shape_invariants' has {len(shapes)} entries for {len(flat)} loop variables"
        )
    for value, shape in zip(flat, shapes, strict=True):
        # The shape of a list is that of its elements, which may be anything.
        if value.dtype != _core.variant and not value.shape.is_subtype_of(shape):
            raise ValueError(
                f"a loop variable starts with shape {value.shape}, which its invariant {shape} does not allow"
            )
    return [
        TensorSpec(value.shape if value.dtype == _core.variant else shape, value.dtype)
        for value, shape in zip(flat, shapes, strict=True)
    ]


def _flatten_shapes(shapes: Any) -> list[TensorShape]:
    if isinstance(shapes, TensorShape):
        return [shapes]
    if hasattr(shapes, "shape"):
        return [TensorShape(shapes.shape)]
    if isinstance(shapes, dict):
        return [s for key in sorted(shapes) for s in _flatten_shapes(shapes[key])]
    return [s for item in shapes for s in _flatten_shapes(item)]


def _check_loop_var(index: int, spec: TensorSpec, value: Any) -> None:
    if value.dtype != spec.dtype:
        raise TypeError(
            f"loop variable {index} has dtype {spec.dtype.name} before the body, {value.dtype.name} after it"
        )
    if not value.shape.is_subtype_of(spec.shape):
        raise ValueError(
            f"loop variable {index} has shape {spec.shape} before the body and {value.shape} after it; "
            "give shape_invariants with None for the sizes that change"
        )


def _eager_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any) -> Any:
    while cond(*loop_vars):
        result = _as_loop_vars(body(*loop_vars), loop_vars)
        leaves = [v if is_composite(v) else _core._to_tensor(v) for v in nest.flatten(result)]
        loop_vars = nest.pack_sequence_as(loop_vars, leaves)
    return loop_vars


def _bounded(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    limit: Any,
    checkpoint_every: int | None,
) -> Any:
    limit = _core._to_tensor_hinted(limit, _core.int32)
    structure = list(loop_vars)

    def test(i: Any, items: Any) -> Any:
        return cond_and(i < limit, lambda: cond(*items))

    def step(i: Any, items: Any) -> Any:
        result = body(*items)
        if not isinstance(result, list | tuple) or (len(structure) == 1 and len(result) != 1):
            result = [result]
        return i + 1, list(result)

    invariants: Any = None if shape_invariants is None else [TensorShape([]), list(shape_invariants)]
    first = _core._to_tensor(0, limit.dtype)
    _, out = while_loop(test, step, (first, structure), invariants, checkpoint_every=checkpoint_every)
    return type(loop_vars)(*out) if hasattr(loop_vars, "_fields") else type(loop_vars)(out)


def cond_and(first: Any, second: Callable[[], Any]) -> Any:
    """`first and second()`, where `second` runs only if `first` is true."""
    return cond(first, second, lambda: _core._to_tensor(False))


@contextmanager
def control_dependencies(
    control_inputs: Sequence[TensorLike | Callable[[], object] | None] | None,
) -> Iterator[None]:
    """Let operations within it follow `control_inputs`.

    Effects keep the order of the program anyhow, and operations without effects need none.

    Args:
        control_inputs: tensors, or what `group` gives; None for none. Functions among them are called
            first, but in graphs of TensorFlow 1.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> v = tf.Variable(1)
    >>> with tf.control_dependencies([v.assign(2)]):
    ...     print(int(v))
    2
    """
    graph = v1_graph_state.current()
    if graph is None:
        for item in control_inputs or ():
            if callable(item):
                item()
        yield
        return
    with graph.control_dependencies(control_inputs):
        yield


def group(*inputs: Any, **kwargs: Any) -> Any:
    """Stand for all of its inputs; effects among them run in the order of the program.

    Args:
        *inputs: tensors and operations, or nests of them.
        **kwargs: `name`: what the operation is called, in a graph of TensorFlow 1.

    Returns:
        None; in a graph of TensorFlow 1 an operation that runs all of them.

    >>> import penstock as tf
    >>> v = tf.Variable(1)
    >>> tf.group(v.assign_add(1), v.assign_add(2)) is None
    True
    """
    graph = v1_graph_state.current()
    return None if graph is None else graph.group(*inputs, **kwargs)


@contextmanager
def init_scope() -> Iterator[None]:
    """Run operations within it at once, outside of the traced function and of its tapes.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> @tf.function
    ... def f():
    ...     with tf.init_scope():
    ...         return tf.executing_eagerly()
    >>> bool(f())
    True
    """
    with _core._Outside():
        yield
