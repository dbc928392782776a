"""The pictures of the documentation, which `tools/generate.py` writes.

Each is made of what it shows, or of a table here:

- `crates.svg`: the crates of the workspace, from their manifests;
- `loop.svg`: a loop in Python, in the graph and in the plan, from a trace of it;
- `pipeline.svg` and `cache.svg`: the way of a program, and of a call.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import penstock as tf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches"))
from svg import document, text  # noqa: E402 -- from the folder of benchmarks

FOLDER = ROOT / "docs" / "pictures"
# Pixels of a character of code, and of a line.
CHARACTER, LINE = 7.3, 18

# Lines of code with the lines of the program that they belong to.
Listing = list[tuple[str, int | None]]


def box(x: float, y: float, width: float, height: float, lines: list[str], kind: str = "box") -> list[str]:
    """A box with lines of text, the first in the colour of text, the others soft."""
    shape = f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5"/>'
    top = y + height / 2 - 16 * len(lines) / 2 + 12
    middle = x + width / 2
    words = [
        text(middle, top + 16 * i, line, "soft" if i else "text", "middle") for i, line in enumerate(lines)
    ]
    return [shape, *words]


def arrow(path: str, x: float, y: float, turned: str = "right") -> list[str]:
    """A line along `path`, with its head at a point."""
    heads = {"right": "l-8 -4v8z", "down": "l-4 -8h8z", "up": "l-4 8h8z"}
    return [
        f'<path class="line" d="{path}"/>',
        f'<path class="head" d="M{x:.1f} {y:.1f}{heads[turned]}"/>',
    ]


# --- the way of a program -----------------------------------------------------

STAGES = [
    ("your function", "Python", "box"),
    ("AutoGraph", "if, while, for", "box"),
    ("trace", "runs it once", "box"),
    ("graph", "operators, types", "kept"),
    ("passes", "fuse, unroll, …", "box"),
    ("plan", "steps, registers", "kept"),
    ("kernels", "CPU or GPU", "fast"),
]


def pipeline() -> str:
    """From a Python function to kernels: once for each kind of arguments, then in each call."""
    width, gap, height = 118, 18, 50
    parts: list[str] = []
    for i, (name, about, kind) in enumerate(STAGES):
        x = 12 + (width + gap) * i
        parts += box(x, 40, width, height, [name, about], kind)
        if i:
            parts += arrow(f"M{x - gap} 65h{gap - 6}", x - 1, 65)
    last = 12 + (width + gap) * 5
    end = last + 2 * width + gap
    parts += [
        f'<path class="line" d="M12 112v6h{last + width - 12}v-6"/>',
        text((12 + last + width) / 2, 135, "once for each kind of arguments", "soft", "middle"),
        f'<path class="line" d="M{last} 28v-6h{end - last}v6"/>',
        text((last + end) / 2, 16, "in each call, without Python", "soft", "middle"),
    ]
    return document(end + 12, 148, "From a Python function to kernels", parts)


def cache() -> str:
    """What a call of a traced function does."""
    parts = box(12, 20, 110, 50, ["f(x, n)", "a call"])
    parts += arrow("M122 45h36", 164, 45)
    parts += box(164, 20, 158, 50, ["kind of arguments", "types, sizes, values"])
    parts += arrow("M322 45h36", 364, 45)
    parts += box(364, 20, 150, 50, ["is it in the cache?", "one trace for each"], "kept")
    parts += [*arrow("M514 45h80", 600, 45), text(552, 38, "yes", "soft", "middle")]
    parts += box(600, 20, 150, 50, ["run the plan", "without Python"], "fast")
    parts += [*arrow("M439 70v46", 439, 122, "down"), text(447, 98, "no", "soft")]
    parts += box(364, 122, 150, 50, ["trace", "run the Python code"])
    parts += arrow("M514 147h80", 600, 147)
    parts += box(600, 122, 150, 50, ["optimise and plan", "keep it in the cache"], "kept")
    parts += arrow("M675 122v-46", 675, 71, "up")
    return document(762, 190, "What a call of a traced function does", parts)


# --- a loop -------------------------------------------------------------------


def repeated(x, n):  # type: ignore[no-untyped-def]
    """A loop whose number of iterations a tensor decides."""
    for _ in tf.range(n):
        x = tf.tanh(x) * 2.0
    return x


def listing(texts: Listing, x: float, kinds: dict[int, str]) -> list[str]:
    """Lines of code, each over a bar in the colour of its line of the program."""
    parts = []
    for i, (line, number) in enumerate(texts):
        y = 56 + LINE * i
        code = line.lstrip()
        indent = (len(line) - len(code)) * CHARACTER
        if number in kinds:
            wide = len(code) * CHARACTER + 12
            bar = f'x="{x + indent - 6:.1f}" y="{y - 13}" width="{wide:.1f}" height="{LINE - 1}" rx="3"'
            parts.append(f'<rect class="{kinds[number]}" {bar}/>')
        parts.append(text(x + indent, y, code, "text code"))
    return parts


def lines_with_places(listed: str) -> Listing:
    """The lines of a graph or a plan with the lines of the program that they come from."""
    found: Listing = []
    for line in listed.splitlines():
        code, _, place = line.partition(";")
        number = re.search(r":(\d+)", place)
        found.append((code.rstrip(), int(number[1]) if number else None))
    return found


def loop() -> str:
    """A loop in Python, in the graph, and in the plan; what belongs together has one colour."""
    lines, first = inspect.getsourcelines(repeated)
    program: Listing = [(line.rstrip(), first + i) for i, line in enumerate(lines) if '"""' not in line]
    program[0] = ("def repeated(x, n):", first)
    trace: Any = tf.function(repeated).get_concrete_function(tf.ones([100_000]), tf.constant(3))
    graph = lines_with_places(re.sub(r"@repeated_\d+", "@repeated", trace.graph.to_text()))
    # A loop ends with its line: its first line has the same.
    begun = next(i for i, (line, _) in enumerate(graph) if " while " in line)
    graph[begun] = (graph[begun][0], first + 2)
    plan = [(line[2:], n) for line, n in lines_with_places(trace._plan_text()) if re.match(r" *\d+  ", line)]
    kinds = {first + 2: "kept", first + 3: "fast"}
    columns: list[tuple[str, Listing]] = [
        ("Python", program),
        ("graph, as traced", graph),
        ("plan: steps that run", plan),
    ]
    parts, x = [], 18.0
    for title, listed in columns:
        parts += [text(x - 6, 26, title, "text title"), *listing(listed, x, kinds)]
        x += max(len(line) for line, _ in listed) * CHARACTER + 36
    height = 56 + LINE * max(len(listed) for _, listed in columns)
    return document(round(x - 12), height, "A loop in Python, in the graph, and in the plan", parts)


# --- the crates ---------------------------------------------------------------


def crates() -> dict[str, set[str]]:
    """The crates that are published or bound to Python, and those of them that each needs."""
    known = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    folders = {name: Path(d["path"]).name for name, d in known.items() if isinstance(d, dict) and "path" in d}
    found = {}
    for file in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        manifest = tomllib.loads(file.read_text())
        # The binding is not published by itself, but in the wheel.
        if manifest["package"].get("publish", True) or file.parent.name == "penstock-python":
            needed = manifest.get("dependencies", {})
            found[file.parent.name] = {folders.get(name, name) for name in needed}
    return {name: needed & set(found) for name, needed in found.items()}


def reduced(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same without what follows: a crate needs what those that it needs do."""

    def all_of(name: str) -> set[str]:
        return needs[name].union(*map(all_of, needs[name]))

    return {name: own - set().union(*map(all_of, own)) for name, own in needs.items()}


def layers(needs: dict[str, set[str]]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Rows of names, and the edges between rows that follow one another.

    A crate needs those above it alone. An edge that passes a row has a place there, a name with `>`. In a
    row, what needs much in common is near.
    """
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max(map(deep, needs[name]), default=-1)
        return depth[name]

    rows: list[list[str]] = [[] for _ in range(1 + max(map(deep, needs)))]
    edges = []
    for name in sorted(needs):
        rows[depth[name]].append(name)
        for needed in sorted(needs[name]):
            last = needed
            # Edges from one crate share their way until they part.
            for level in range(depth[needed] + 1, depth[name]):
                here = f"{needed}>{level}"
                if here not in rows[level]:
                    rows[level].append(here)
                edges.append((last, here))
                last = here
            edges.append((last, name))
    edges = sorted(set(edges))
    for turn in range(8):
        up = turn % 2 == 1
        for row in reversed(rows) if up else rows:
            place = {name: i / len(r) for r in rows for i, name in enumerate(r)}
            near: dict[str, list[float]] = {name: [] for name in row}
            for pair in edges:
                own, other = pair if up else reversed(pair)
                if own in near:
                    near[own].append(place[other])
            middle = {name: sum(near[name]) / len(near[name]) if near[name] else place[name] for name in row}
            row.sort(key=middle.__getitem__)
    return rows, edges


def crate_picture() -> str:
    """The crates and what each needs; what follows from other lines is left out."""
    needs = reduced(crates())
    rows, edges = layers(needs)
    high, gap, step = 28, 16, 62
    wide = {name: 12.0 if ">" in name else 92.0 for row in rows for name in row}
    spans = [sum(wide[name] + gap for name in row) - gap for row in rows]
    width = 24 + max(spans)
    at: dict[str, tuple[float, float]] = {}
    for i, row in enumerate(rows):
        x = (width - spans[i]) / 2
        for name in row:
            at[name] = (x + wide[name] / 2, 14.0 + step * i)
            x += wide[name] + gap
    parts = []
    for above, below in edges:
        (x1, y1), (x2, y2) = at[above], at[below]
        y1 += high
        bend = (y2 - y1) / 2
        down = f"V{y2 + high}" if ">" in below else ""
        parts.append(
            f'<path class="line" d="M{x1:.1f} {y1:.0f}C{x1:.1f} {y1 + bend:.0f} {x2:.1f} {y2 - bend:.0f} '
            f'{x2:.1f} {y2:.0f}{down}"/>'
        )
    for name in needs:
        kind = "box" if any(name in own for own in needs.values()) else "fast"
        x, y = at[name]
        parts += box(x - wide[name] / 2, y, wide[name], high, [name.removeprefix("penstock-")], kind)
    return document(round(width), 28 + step * (len(rows) - 1) + high, "The crates and what each needs", parts)


def generated() -> dict[Path, str]:
    """The text of each picture."""
    return {
        FOLDER / "pipeline.svg": pipeline(),
        FOLDER / "cache.svg": cache(),
        FOLDER / "loop.svg": loop(),
        FOLDER / "crates.svg": crate_picture(),
    }
