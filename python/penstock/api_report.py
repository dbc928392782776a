"""Which of TensorFlow's public symbols exist: `python -m penstock.api_report [--missing] [--json] [AREA …]`.

A symbol exists when an attribute lookup from the imported package finds it. Its parameters agree where those
of TensorFlow come first, by the same names and in the same order. Whether it also behaves as it should is
what the tests say.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock._api_names import Symbol, reason, symbols
from penstock.errors import NotFoundError

__all__ = [
    "OTHER_PARAMETERS",
    "Entry",
    "as_json",
    "as_markdown",
    "as_text",
    "coverage",
    "described",
    "differing",
    "parameters",
]

State = Literal["present", "other parameters", "planned", "not applicable"]
STATES: tuple[State, ...] = ("present", "other parameters", "planned", "not applicable")

# Symbols whose parameters are not those of TensorFlow, and why.
OTHER_PARAMETERS: dict[str, str] = {
    "optimizers.Optimizer.from_config": "there is no registry of classes, which `custom_objects` adds to",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What has become of one symbol.

    Attributes:
        symbol: The symbol.
        state: Whether it exists, with the parameters that TensorFlow has, and whether it is to.
        note: What TensorFlow's parameters are, or why the symbol has no place here.
    """

    symbol: Symbol
    state: State
    note: str = ""

    @property
    def exists(self) -> bool:
        """Whether a program finds it."""
        return self.state in ("present", "other parameters")


def _found(root: object, path: str) -> tuple[bool, Any]:
    value: Any = root
    for part in path.split("."):
        try:
            value = inspect.getattr_static(value, part) if isinstance(value, type) else getattr(value, part)
        except (AttributeError, ImportError):
            return False, None
    return True, value


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names of parameters, with stars, without `self` and `cls`.

    >>> import penstock as tf
    >>> parameters(tf.math.abs)
    ['x', 'name']
    """
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(p.kind, "") + p.name for p in inspect.signature(function).parameters.values()]
    return [name for name in names if name not in ("self", "cls")]


def differing(symbol: Symbol, value: Any) -> bool:
    """Whether the parameters of what a symbol stands for are not TensorFlow's, in its order.

    >>> import penstock as tf
    >>> differing(symbols()["math.abs"], tf.math.sign), differing(symbols()["math.abs"], tf.math.add)
    (False, True)
    """
    function = getattr(value, "__func__", value)
    if symbol.parameters is None or not callable(function):
        return False
    try:
        ours = parameters(function)
    except (TypeError, ValueError):
        # What Rust defines may have no signature.
        return False
    theirs = [name for name in symbol.parameters if not name.startswith("**")]
    return ours[: len(theirs)] != theirs


def _entry(root: object, symbol: Symbol) -> Entry:
    there, value = _found(root, symbol.name)
    if not there:
        why = reason(symbol.name)
        return Entry(symbol, "planned") if why is None else Entry(symbol, "not applicable", why)
    if symbol.name not in OTHER_PARAMETERS and differing(symbol, value):
        return Entry(symbol, "other parameters", f"({', '.join(symbol.parameters or ())})")
    return Entry(symbol, "present")


def coverage(package: str = "penstock") -> list[Entry]:
    """Looks every symbol up.

    Args:
        package: The name of the package to look into; it is imported.

    Returns:
        An entry for each symbol that counts, in the order of the alphabet.

    >>> {entry.symbol.name: entry.state for entry in coverage()}["math.add"]
    'present'
    """
    root = importlib.import_module(package)
    return [_entry(root, symbol) for symbol in symbols().values() if symbol.counted]


def described(name: str, package: str = "penstock") -> str:
    """Says what a name is: its parameters, its summary, and whether it is as in TensorFlow.

    Args:
        name: The name, with or without `tf.`.
        package: The name of the package to look into; it is imported.

    Raises:
        NotFoundError: where there is no such name, with the reason, or the name that it has here.

    >>> described("tf.math.abs").splitlines()[-1]
    "The parameters are TensorFlow's."
    """
    path = name.removeprefix("tf.")
    value: Any = importlib.import_module(package)
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError) as error:
            close = difflib.get_close_matches(part, dir(value), n=3)
            others = f"; there are {', '.join(close)}" if close else ""
            why = reason(path) or f"{error}{others}"
            raise NotFoundError(None, None, f"there is no tf.{path}: {why}") from None
    try:
        head = f"tf.{path}{inspect.signature(value)}" if callable(value) else f"tf.{path}"
    except (TypeError, ValueError):
        # What Rust defines may have no signature.
        head = f"tf.{path}(...)"
    # Annotations are texts: without quotes.
    lines = [re.sub(r"(: |-> )\"([^\"]*)\"", r"\1\2", re.sub(r"(: |-> )'([^']*)'", r"\1\2", head))]
    if callable(value) or inspect.ismodule(value):
        lines.append((inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " "))
    else:
        lines.append(repr(value))
    symbol = symbols().get(path)
    if symbol is None:
        if not inspect.ismodule(value):
            lines.append("Not in TensorFlow.")
    elif path in OTHER_PARAMETERS:
        lines.append(f"Other parameters than TensorFlow's: {OTHER_PARAMETERS[path]}.")
    elif differing(symbol, value):
        lines.append(f"TensorFlow's parameters are ({', '.join(symbol.parameters or ())}).")
    elif symbol.parameters is not None and callable(value):
        lines.append("The parameters are TensorFlow's.")
    return "\n".join(line for line in lines if line)


def areas(report: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The entries of a report by the module that they are in."""
    found: dict[str, list[Entry]] = {}
    for entry in report:
        found.setdefault(entry.symbol.namespace, []).append(entry)
    return dict(sorted(found.items()))


def _counts(entries: Sequence[Entry]) -> list[int]:
    return [sum(entry.state == state for entry in entries) for state in STATES]


def _called(area: str) -> str:
    return f"tf.{area}" if area else "tf"


def as_text(report: Sequence[Entry], *, missing: bool = False) -> str:
    """Renders a report as a table, one line a module.

    Args:
        report: What `coverage` returned.
        missing: Whether to list the symbols that do not exist, or have other parameters.
    """
    lines = [
        f"{'':<31}{'symbols':>8}{'present':>9}{'other parameters':>18}{'planned':>9}{'not applicable':>16}"
    ]
    named: list[tuple[str | None, Sequence[Entry]]] = [*areas(report).items(), (None, report)]
    for area, entries in named:
        name = "all" if area is None else _called(area)
        present, other, planned, none = _counts(entries)
        lines.append(f"{name:<31}{len(entries):>8}{present:>9}{other:>18}{planned:>9}{none:>16}")
        if missing and area is not None:
            prefix = f"{area}." if area else ""
            for state in STATES[1:]:
                names = [
                    e.symbol.name.removeprefix(prefix) + e.note * (state == "other parameters")
                    for e in entries
                    if e.state == state
                ]
                if names:
                    lines.append(f"    {state}: {' '.join(names)}")
    exist = sum(entry.exists for entry in report)
    lines.append(f"{exist} of {len(report)} exist, {exist / max(len(report), 1):.1%}")
    return "\n".join(lines)


def as_markdown(report: Sequence[Entry]) -> str:
    """Renders a report as Markdown: a line for each module, then what has no place here."""
    exist = sum(entry.exists for entry in report)
    lines = [
        f"{exist} of TensorFlow 2.21's {len(report)} public symbols exist, Keras and `compat` left out.",
        "",
    ]
    lines.append("| module | symbols | present | with other parameters | planned | not applicable |")
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for area, entries in areas(report).items():
        counts = " | ".join(map(str, _counts(entries)))
        lines.append(f"| `{_called(area)}` | {len(entries)} | {counts} |")
    reasons: dict[str, list[str]] = {}
    for entry in report:
        if entry.state == "not applicable":
            reasons.setdefault(entry.note, []).append(f"`{entry.symbol.name}`")
    lines += ["", "Not applicable:", ""]
    lines += [f"- {why}: {', '.join(names)}." for why, names in sorted(reasons.items())]
    return "\n".join(lines)


def as_json(report: Sequence[Entry]) -> str:
    """Renders a report as JSON: module, then state, then the names."""
    found = {
        area: {state: [e.symbol.name for e in entries if e.state == state] for state in STATES}
        for area, entries in areas(report).items()
    }
    return json.dumps(found, indent=2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the report.

    Args:
        arguments: The command line without the program's name; `sys.argv` when None.
    """
    parser = argparse.ArgumentParser(prog="python -m penstock.api_report", description="Public symbols.")
    parser.add_argument(
        "areas",
        nargs="*",
        metavar="AREA or NAME",
        help="modules, as in tf.math, or names, as in tf.math.abs; all modules by default",
    )
    parser.add_argument("--missing", action="store_true", help="list the symbols that do not exist")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    known = {symbol.namespace for symbol in symbols().values() if symbol.counted}
    wanted = {area.removeprefix("tf").removeprefix(".") for area in options.areas}
    try:
        texts = [described(name) for name in sorted(wanted - known)]
    except NotFoundError as error:
        sys.exit(str(error))
    if texts:
        print("\n\n".join(texts))
    if wanted & known or not wanted:
        report = [entry for entry in coverage() if not wanted or entry.symbol.namespace in wanted]
        print(as_json(report) if options.json else as_text(report, missing=options.missing))


if __name__ == "__main__":
    main()
