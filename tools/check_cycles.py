"""Checks that few files of a crate depend on each other in a circle: `python tools/check_cycles.py`.

Files that need each other have to be read together. No more than `LIMIT` of a crate may. A file depends on
another one where it names a path into it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CRATES: Final = Path(__file__).resolve().parent.parent / "crates"
LIMIT: Final = 4

Module = tuple[str, ...]
Graph = dict[Module, set[Module]]

PATH: Final = re.compile(r"\b((?:crate|super)(?:::\w+)*)(::\{)?")


def files_of(crate: Path) -> dict[Module, Path]:
    """The files of a crate by the modules that they are."""
    found = {}
    for path in (crate / "src").rglob("*.rs"):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        found[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = path
    return found


def listed(text: str, start: int) -> Iterator[str]:
    """The entries of the list in braces that begins at `start`, each up to a list of its own."""
    depth, entry = 1, ""
    for char in text[start:]:
        depth += (char == "{") - (char == "}")
        if depth == 0 or (depth == 1 and char == ","):
            yield entry.split("::{")[0].strip()
            entry = ""
        else:
            entry += char
        if depth == 0:
            return


def paths(text: str) -> Iterator[list[str]]:
    """The paths into the own crate that a file names, tests and comments aside."""
    text = re.sub(r"//[^\n]*", "", text).split("#[cfg(test)]\nmod tests")[0]
    for match in PATH.finditer(text):
        base = match[1].split("::")
        entries = listed(text, match.end()) if match[2] else [""]
        yield from (base + entry.split("::") for entry in entries)


def graph_of(crate: Path) -> Graph:
    """Which files of a crate name which."""
    files = files_of(crate)
    graph: Graph = {module: set() for module in files}
    for module, path in files.items():
        for first, *rest in paths(path.read_text(encoding="utf-8")):
            target = list(module[:-1]) if first == "super" else []
            for part in rest:
                target = target[:-1] if part == "super" else [*target, part]
            known = (tuple(target[:n]) for n in range(len(target), 0, -1))
            if (found := next((m for m in known if m in files), module)) != module:
                graph[module].add(found)
    return graph


def circles(graph: Graph) -> Iterator[set[Module]]:
    """The sets of modules that depend on each other: those that each reach all others of the set."""
    reached: Graph = {}
    for start in graph:
        seen, open_ = set[Module](), [start]
        while open_:
            fresh = graph[open_.pop()] - seen
            seen |= fresh
            open_ += fresh
        reached[start] = seen
    done: set[Module] = set()
    for module, seen in reached.items():
        if module in seen and module not in done:
            circle = {other for other in seen if module in reached[other]}
            done |= circle
            yield circle


def main() -> int:
    """Prints each circle that is too large."""
    wrong = 0
    for crate in sorted(path for path in CRATES.iterdir() if (path / "src").is_dir()):
        largest = max(circles(graph_of(crate)), key=len, default=set())
        if len(largest) > LIMIT:
            wrong = 1
            names = ", ".join(sorted("/".join(module) or "lib" for module in largest))
            print(f"{crate.name}: {len(largest)} files need each other, {LIMIT} may: {names}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
