"""Checks that the modules of the package depend on each other one way: `python tools/check_layers.py`.

`ROOMS` lists the folders and public modules from the bottom up. What a module imports when it is loaded is in
its own room or below. An import within a function may go up. A comment says why it is there.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent / "python"

# From the bottom up; rooms in one line do not know of each other.
ROOMS: Final = (
    ("_core", "errors", "_api_names"),
    ("raw_ops", "nest"),
    ("_types",),
    ("_runtime",),
    ("_values",),
    ("_ops",),
    (
        "audio",
        "debugging",
        "bitwise",
        "ragged",
        "sets",
        "sparse",
        "random",
        "signal",
        "strings",
        "math",
        "linalg",
        "config",
        "api_report",
        "dtypes",
        "profiler",
        "sysconfig",
        "version",
    ),
    ("_control", "initializers", "nn", "optimizers"),
    ("_dispatch",),
    ("_autodiff",),
    ("autodiff", "autograph"),
    ("_function",),
    ("array_api",),
    (
        "types",
        "experimental",
        "test",
        "data",
        "xla",
        "lookup",
        "io",
        "summary",
        "image",
        "quantization",
        "queue",
    ),
    ("compat",),
    ("_saving",),
    ("distribute",),
    ("saved_model", "train", "convert", "graph_util", "onnx"),
    ("feature_column",),
    ("_keras_hook", "_keras_import"),
    ("keras",),
    ("_hooks",),
    ("penstock",),
    ("_nodes",),
    ("as_tensorflow", "_shown_files"),
    ("_command_line",),
    ("__main__",),
)
LEVELS: Final = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def modules() -> dict[str, Path]:
    """The modules of the package by name."""
    found = {}
    for path in (ROOT / "penstock").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    """The room that a module is in; that of the package itself is `penstock`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def imports(tree: ast.AST, known: dict[str, Path], late: bool = False) -> Iterator[tuple[int, str, bool]]:
    """The line, the module and whether it is in a function, of each import from the package."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "penstock":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                module = name if name in known or alias.name == "_core" else str(node.module)
                yield node.lineno, module, late
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name, late) for a in node.names if a.name.split(".")[0] == "penstock")
        inner = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, known, inner)


def late_imports(tree: ast.AST) -> Iterator[int]:
    """The lines of the imports within functions."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found = (
                node.lineno for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)
            )
            yield from found


def faults() -> Iterator[str]:
    """What breaks the order, a line each."""
    known = modules()
    for module, path in sorted(known.items()):
        room, text = room_of(module), path.read_text(encoding="utf-8")
        if room not in LEVELS:
            yield f"{path}: the room '{room}' has no level in ROOMS"
            continue
        lines, tree = text.splitlines(), ast.parse(text)
        for line in late_imports(tree):
            if not ("#" in lines[line - 1] or lines[line - 2].lstrip().startswith("#")):
                yield f"{path}:{line}: an import within a function needs a comment that says why"
        for line, target, late in imports(tree, known):
            other = room_of(target)
            if other == room or LEVELS.get(other, len(ROOMS)) < LEVELS[room]:
                continue
            if other == "penstock" and not late and path.name == "__init__.py":
                continue
            if not late:
                yield f"{path}:{line}: '{module}' imports '{target}', which is above it"


def main() -> None:
    """Prints what breaks the order; the exit status is 1 if anything does."""
    found = list(faults())
    print("\n".join(found) or "every module imports from below")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
