"""The stubs of the extension agree with the extension."""

import ast
import contextlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import penstock
from penstock import _core, _nodes, raw_ops

PACKAGE = Path(penstock.__file__).parent
Node = ast.ClassDef | ast.FunctionDef | ast.AnnAssign

# What modules and classes have without a word in a stub, and what only a type checker looks at.
OF_MODULES = {*vars(ModuleType("module")), "__all__", "__file__"}
OF_CLASSES = {*dir(object), "__annotations__", "__dict__", "__getattr__", "__module__", "__release_buffer__"}
if sys.version_info < (3, 12):
    OF_CLASSES.add("__buffer__")


def declared(body: list[ast.stmt]) -> dict[str, Node]:
    """The declarations by name; of overloads, the last."""
    found: dict[str, Node] = {}
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "TypeAlias":
            found[ast.unparse(node.target)] = node
    return found


def stub(name: str) -> dict[str, Node]:
    return declared(ast.parse((PACKAGE / f"{name}.pyi").read_text(encoding="utf-8")).body)


CORE = stub("_core")
CLASSES = {name: node for name, node in CORE.items() if isinstance(node, ast.ClassDef)}


def kind_of_node(node: Node) -> str:
    if isinstance(node, ast.ClassDef):
        return "class"
    if isinstance(node, ast.AnnAssign):
        return "value"
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return "property" if any(d == "property" or d.endswith(".setter") for d in decorators) else "function"


def kind_of(value: object) -> str:
    if isinstance(value, type):
        return "class"
    # Python puts some in the place of those of the engine.
    if inspect.isgetsetdescriptor(value) or isinstance(value, property):
        return "property"
    return "function" if inspect.isroutine(value) else "value"


def parameters(function: ast.FunctionDef) -> list[tuple[str, bool]]:
    """The parameters as a text signature lists them: name, and whether there is a default."""
    given = function.args
    names = [a.arg for a in [*given.posonlyargs, *given.args]]
    defaults = [False] * (len(names) - len(given.defaults)) + [True] * len(given.defaults)
    # The names of positional parameters are nobody's concern.
    names[: len(given.posonlyargs)] = [""] * len(given.posonlyargs)
    listed = list(zip(names, defaults, strict=True))
    listed += [(f"*{given.vararg.arg}", False)] if given.vararg else []
    listed += [(a.arg, d is not None) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return listed + ([(f"**{given.kwarg.arg}", False)] if given.kwarg else [])


def real_parameters(function: object) -> list[tuple[str, bool]]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        ("" if p.kind is p.POSITIONAL_ONLY else stars.get(p.kind, "") + p.name, p.default is not p.empty)
        for p in inspect.signature(function).parameters.values()
    ]


def signatures() -> Iterator[tuple[str, list[tuple[str, bool]], list[tuple[str, bool]]]]:
    """Name, declared and real parameters of whatever has a text signature; without `self` and `cls`."""
    for name, node in CORE.items():
        value = getattr(_core, name, None)
        if value is None:
            continue  # The test of the names says so.
        if isinstance(node, ast.FunctionDef):
            yield name, parameters(node), real_parameters(value)
        elif isinstance(node, ast.ClassDef):
            methods = [m for m in declared(node.body).values() if isinstance(m, ast.FunctionDef)]
            for method in methods:
                real = vars(value).get(method.name)
                if method.name == "__new__":
                    yield name, parameters(method)[1:], real_parameters(value)
                elif getattr(real, "__text_signature__", None) is not None:
                    yield f"{name}.{method.name}", parameters(method)[1:], real_parameters(real)[1:]


def test_the_stub_of_the_module_names_what_it_has() -> None:
    assert set(CORE) == set(vars(_core)) - OF_MODULES
    assert {n: kind_of_node(node) for n, node in CORE.items()} == {
        n: kind_of(getattr(_core, n)) for n in CORE
    }


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_of_a_class_names_what_it_has(name: str) -> None:
    members = {n: node for n, node in declared(CLASSES[name].body).items() if n not in OF_CLASSES}
    real = {n: value for n, value in vars(getattr(_core, name)).items() if n not in OF_CLASSES}
    assert {n: kind_of_node(node) for n, node in members.items()} == {n: kind_of(v) for n, v in real.items()}


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_of_a_class_derives_it_as_it_is(name: str) -> None:
    # A parameter of types is for type checkers alone.
    written = [ast.unparse(base) for base in CLASSES[name].bases]
    bases = [base for base in written if not base.startswith("Generic[")] or ["object"]
    assert bases == [base.__name__ for base in getattr(_core, name).__bases__]


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_of_a_class_says_whether_it_can_be_derived(name: str) -> None:
    final = any(ast.unparse(decorator) == "final" for decorator in CLASSES[name].decorator_list)
    try:
        type("Derived", (getattr(_core, name),), {})
    except TypeError:
        assert final
    else:
        assert not final


@pytest.mark.parametrize(("given", "real"), [pytest.param(*pair, id=name) for name, *pair in signatures()])
def test_parameters_are_those_of_the_text_signature(
    given: list[tuple[str, bool]], real: list[tuple[str, bool]]
) -> None:
    assert given == real


def test_the_stub_of_the_operators_names_all_but_keywords() -> None:
    # Those of TensorFlow have another test; `Any` is a name of types there.
    nodes = set(_nodes.names())
    assert set(stub("raw_ops")) | {"assert", "while"} == set(raw_ops.__all__) | nodes - {"Any"}


def test_operators_have_their_own_documentation() -> None:
    operators = [getattr(raw_ops, name) for name in raw_ops.__all__]
    assert all(isinstance(op.__doc__, str) for op in operators)
    assert raw_ops.matmul.__doc__ != raw_ops.concat.__doc__


def shape_of_result(result: object) -> str:
    """How the stub would declare it."""
    if result is None or isinstance(result, _core.Tensor):
        return "None" if result is None else "Tensor"
    assert isinstance(result, tuple)
    assert all(isinstance(item, _core.Tensor) for item in result)
    return f"tuple[{', '.join(['Tensor'] * len(result))}]"


def sampled() -> Iterator[str]:
    """The operators with samples that can be given from Python."""
    for name in raw_ops.__all__:
        with contextlib.suppress(TypeError):
            if _core._op_samples(name):
                yield name


@pytest.mark.parametrize("name", list(sampled()))
def test_operators_have_the_results_that_the_stub_says(name: str) -> None:
    operator = getattr(raw_ops, name)
    found = {shape_of_result(operator(*values, **named)) for values, named in _core._op_samples(name)}
    node = stub("raw_ops").get(name)
    if not isinstance(node, ast.FunctionDef):
        assert name == "assert"
        assert found == {"None"}
    elif ast.unparse(node.returns) == "_Tensors":
        assert len(found) > 1
    else:
        assert found == {ast.unparse(node.returns)}
