"""Checks what public functions say of themselves: `python tools/check_signatures.py [NAME ...]`.

A public function or method is one that a program reaches as `tf.…`. Of each it is asked that

- every parameter and the result have a type, that of a parameter not being `Any` without a reason in `ANY`;
- there is no `*args` or `**kwargs` but where TensorFlow has it;
- the names of parameters are TensorFlow's, in its order (`penstock._api_names.symbols`), and what is
  added comes behind them or by keyword;
- the documentation starts with an imperative, says what each parameter is, what is returned, and
  what is raised where the code of the function itself raises;
- there is an example, which imports what it uses and runs as pasted.

Given names of modules, classes or functions, it prints a table of what these lack. Otherwise the exit status
is 1 if anything is missing, or if an entry of a list is no longer needed.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import io
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from penstock._api_names import symbols
from penstock.api_report import OTHER_PARAMETERS, differing, parameters
from public_names import Public, public, sections

# Parameters that take anything, and why.
ANY: dict[str, str] = {
    "compat.as_str_any(value)": "anything that has a text",
    "compat.path_to_str(path)": "anything; what is no path is given back",
    "array_api.asarray(obj)": "an array of any library",
    "autograph.set_element_type(target)": "a list of the program or a name in it",
    "constant(value)": "a nest of whatever a registered conversion takes",
    "convert_to_tensor(value)": "whatever a registered conversion takes",
    "function(experimental_autograph_options)": "accepted and ignored",
    "TypeSpec.is_compatible_with(spec_or_value)": "a value that it describes, or a specification",
    "TypeSpec.to_tensors(value)": "a value of the class that it describes",
    "types.experimental.TraceType.cast(value)": "an argument of the type",
    "types.experimental.TraceType.to_tensors(value)": "an argument of the type",
    "experimental.dlpack.from_dlpack(dlcapsule)": "a capsule has no type in Python",
    **dict.fromkeys(
        (
            "nest.assert_same_structure(nest1)",
            "nest.assert_same_structure(nest2)",
            "nest.flatten(structure)",
            "nest.is_nested(seq)",
            "nest.map_structure(structure)",
            "nest.pack_sequence_as(structure)",
            "type_spec_from_value(value)",
            "data.Dataset.from_tensor_slices(tensors)",
            "data.Dataset.from_tensors(tensors)",
            "data.Dataset.reduce(initial_state)",
            "data.Dataset.scan(initial_state)",
            "data.Dataset.zip(datasets)",
            "data.experimental.scan(initial_state)",
        ),
        "nests of any objects",
    ),
}

# Functions without a runnable example, and why.
WITHOUT_EXAMPLE: dict[str, str] = {}

# What documentation starts with.
IMPERATIVES = frozenset(
    re.findall(
        r"\w+",
        """
    accumulate add adjust append apply ask begin broadcast call check choose combine compute concatenate
    convert convolve copy count crop cut decode demand describe divide do draw encode end evaluate factor
    fail find gather get give go group have hide insert invert iterate join keep leave let limit list load
    lower make mark move multiply negate note number open pad permute print put raise read rearrange
    register remove repeat replace resize restart restore reverse round run save say scale set shift show
    solve sort stack stand stop subtract sum take tell transpose turn undo wait watch write
    """,
    )
)


def untyped(path: str, function: Callable[..., Any]) -> list[str]:
    """The parameters without a type, or with one that says nothing; what is passed on may be anything."""
    return [
        f"type of {name}"
        for name, p in inspect.signature(function).parameters.items()
        if name not in ("self", "cls")
        and p.annotation in (p.empty, "Any", "Any | None")
        and (p.annotation is p.empty or p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
        and f"{path}({name})" not in ANY
    ]


def misplaced(path: str, function: Callable[..., Any]) -> list[str]:
    """What is wrong with names and order of parameters, beside those of TensorFlow."""
    symbol = symbols().get(path)
    if symbol is None or symbol.parameters is None or path in OTHER_PARAMETERS:
        return []
    theirs = symbol.parameters
    stars = [name for name in parameters(function) if name.startswith("*") and name not in theirs]
    return [f"parameters ({', '.join(theirs)})", *stars] if differing(symbol, function) else stars


def raises(function: Callable[..., Any]) -> bool:
    """Whether the code of a function itself raises."""
    function = inspect.unwrap(function)
    try:
        source = inspect.getsource(getattr(function, "__func__", function))
    except (TypeError, OSError):
        return False
    tree = ast.parse(textwrap.dedent(source))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def undocumented(path: str, function: Callable[..., Any]) -> list[str]:
    """What the documentation does not say."""
    text = inspect.getdoc(function)
    if not text:
        return ["documentation"]
    found, parts = [], sections(text)
    word = re.match(r"[A-Za-z-]*", text)
    if word is None or word[0].lower() not in IMPERATIVES or not word[0][:1].isupper():
        found.append(f"imperative: {text.split()[0]}")
    described = set(re.findall(r"^ {4}(\*{0,2}\w+): ", parts.get("Args", ""), flags=re.MULTILINE))
    found += [f"what {name} is" for name in parameters(function) if name not in described]
    found += [f"parameter {name}" for name in sorted(described - set(parameters(function)))]
    result = inspect.signature(function).return_annotation
    if result is inspect.Signature.empty:
        found.append("type of result")
    elif result not in ("None", "Never", "Self") and not {"Returns", "Yields"} & parts.keys():
        found.append("returns")
    if "Raises" not in parts and raises(function):
        found.append("raises")
    if re.search(r"^ *name: .*ignored|`name`[^,;.\n]*ignored", text, flags=re.MULTILINE):
        found.append("name")
    return found


def example(path: str, function: Callable[..., Any]) -> list[str]:
    """What is wrong with the example."""
    text = inspect.getdoc(function) or ""
    examples = doctest.DocTestParser().get_examples(text)
    if path in WITHOUT_EXAMPLE:
        return ["no reason to have no example"] if examples else []
    if not examples:
        return ["example"]
    test = doctest.DocTest(examples, {}, path, None, None, None)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.DocTestRunner(optionflags=options, verbose=False).run(test, out=io.StringIO().write)
    return ["example that runs"] if result.failed else []


def missing(entry: Public) -> list[str]:
    """What a public function does not have."""
    path, function, _ = entry
    return [
        *untyped(path, function),
        *misplaced(path, function),
        *undocumented(path, function),
        *example(path, function),
    ]


def table(lacks: dict[str, list[str]]) -> str:
    """What is missing, a line for each function."""
    width = max(map(len, lacks), default=0)
    return "\n".join(f"{path:{width}}  {'; '.join(found)}" for path, found in lacks.items())


def within(path: str) -> Callable[[str], bool]:
    """Whether something is a name, or the module or class that it lies in."""
    return lambda place: path == place or path.startswith(f"{place}.")


def main() -> int:
    """Prints what is missing, and says whether it is too much."""
    prefixes = tuple(sys.argv[1:])
    entries = public()
    lacks = {entry.path: found for entry in entries if (found := missing(entry))}
    if prefixes:
        chosen = {path: found for path, found in lacks.items() if any(map(within(path), prefixes))}
        print(table(chosen) or "nothing is missing")
        return bool(chosen)
    paths = {entry.path for entry in entries}
    listed = {*OTHER_PARAMETERS, *WITHOUT_EXAMPLE, *(name.partition("(")[0] for name in ANY)}
    if lacks:
        print(table(lacks))
    for path in sorted(listed - paths):
        print(f"{path}: there is no such function; take it out of the lists")
    if lacks or listed - paths:
        return 1
    print(f"{len(entries)} functions say all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
