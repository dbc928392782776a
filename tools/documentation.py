"""The documentation as a site: `python tools/documentation.py [--source-only] [OUT]`, or `make docs`.

The pages of `docs` and those beside the README are copied into one tree of Markdown, links between them are
fitted to it, notebooks are run and become pages with what their cells show, a page for each public module
and class is written from the docstrings, and one with all messages of errors from the source
(`error_messages.py`). Sphinx makes HTML of that. A link that leads nowhere, inside the repository or the
site, is an error, and so is a question whose answer is far from the first page (`site_links.py`).
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import error_messages
import notebooks
import penstock as tf
import public_names
import site_links
from penstock._api_names import symbols
from penstock.api_report import parameters

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/penstock/penstock"
# Where GitHub has the files of the repository as they are, such as pictures.
FILES = "https://raw.githubusercontent.com/penstock/penstock"
# Pages beside those of `docs`, and where they are in the site.
PROJECT = {
    name: f"project/{name}" for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
}
# Modules of older or unfinished interfaces: what has another name stands there.
SECOND_CHOICE = re.compile(r"(^|\.)(compat|experimental|as_tensorflow)\.")
LINK = re.compile(r"(!?\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\()([^)\s]+)(\))")


# --- links --------------------------------------------------------------------


def pages() -> dict[Path, str]:
    """The files of the repository that are pages of the site, and where they are in it."""
    found = {ROOT / name: place for name, place in PROJECT.items()}
    for page in sorted(DOCS.rglob("*.md")):
        found[page] = str(page.relative_to(DOCS))
    for notebook in sorted(DOCS.rglob("*.ipynb")):
        found[notebook] = str(notebook.relative_to(DOCS).with_suffix(".md"))
    found[DOCS / "README.md"] = "index.md"
    return found


def text_of(page: Path) -> str:
    """The Markdown of a page, or of a notebook that has not been run; nothing for another file."""
    if page.suffix == ".ipynb":
        return notebooks.as_markdown(page)
    return page.read_text(encoding="utf-8") if page.suffix == ".md" else ""


def without_code(text: str) -> str:
    """The text with its programs blanked, line by line."""
    return re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.MULTILINE | re.DOTALL)


def links(text: str) -> Iterator[tuple[int, str]]:
    """The links of a page with the numbers of their lines."""
    plain = re.sub(r"`[^`\n]*`", lambda m: "`" + "x" * (len(m[0]) - 2) + "`", without_code(text))
    for match in LINK.finditer(plain):
        yield text.count("\n", 0, match.start()) + 1, match[2]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ +(.*?) *$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(files: Iterable[Path]) -> list[str]:
    """The links of pages that lead to no file of the repository, or to no heading of it."""
    found = []
    for page in files:
        for line, link in links(text_of(page)):
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors(text_of(target))):
                found.append(f"{page.relative_to(ROOT)}:{line}: {link} leads nowhere")
    return found


def moved(text: str, page: Path, places: dict[Path, str]) -> str:
    """The text of a page with its links fitted to the site; other files are the repository's."""

    def fitted(match: re.Match[str]) -> str:
        path, sign, anchor = match[2].partition("#")
        if not path or re.match(r"[a-z]+:", match[2]):
            return match[0]
        target = (page.parent / path).resolve()
        if target.is_dir() and target / "README.md" in places:
            target = target / "README.md"
        if target in places:
            new = os.path.relpath(places[target], Path(places[page]).parent)
        elif target.is_relative_to(DOCS) and target.is_file():
            new = os.path.relpath(target.relative_to(DOCS), Path(places[page]).parent)
        else:
            kind = "tree" if target.is_dir() else "blob"
            new = f"{REPOSITORY}/{kind}/main/{target.relative_to(ROOT)}"
        return f"{match[1]}{new}{sign}{anchor}{match[3]}"

    return re.sub(
        r"^```.*?^```|" + LINK.pattern,
        lambda m: m[0] if m[0].startswith("```") else fitted(m),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def on_pypi(readme: str) -> str:
    """The README for PyPI, which has no files beside it: links and pictures are those of the repository."""

    def absolute(match: re.Match[str]) -> str:
        start, link, end = match.groups()
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        path = ROOT / link.partition("#")[0]
        if start.startswith("!"):
            place = f"{FILES}/main"
        else:
            place = f"{REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/main"
        return f"{start}{place}/{link}{end}"

    return LINK.sub(absolute, readme)


def contents(index: str, places: dict[Path, str]) -> str:
    """The tables of contents of the site: for each heading of the index, the pages that its list names."""
    parts = re.split(r"^## +(.*)$", index, flags=re.MULTILINE)
    trees = []
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        files = [(DOCS / link).resolve() for _, link in links(body)]
        named = [page for file in files for page in (sorted(file.glob("*.md")) if file.is_dir() else [file])]
        found = [places[page] for page in named if page in places]
        found += ["reference/index"] * (title == "Reference")
        trees.append(directive("toctree", options={"caption": title, "hidden": ""}, body="\n".join(found)))
    return "\n\n".join(trees)


# --- the reference ------------------------------------------------------------


def directive(name: str, argument: str = "", *, options: dict[str, str] | None = None, body: str = "") -> str:
    """A directive of MyST."""
    lines = [f":{key}: {value}".rstrip() for key, value in (options or {}).items()]
    text = "\n".join([*lines, *([""] if lines else []), body]).rstrip()
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=2))
    return f"{fence}{{{name}}} {argument}".rstrip() + f"\n{text}\n{fence}"


def with_examples(text: str) -> str:
    """Markdown of a docstring's text: its dialogues with the interpreter become blocks of code."""
    lines, out, inside = textwrap.dedent(text).strip("\n").split("\n"), [], False
    for line in lines:
        if line.startswith(">>>") and not inside:
            out += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            out += ["```"]
            inside = False
        out.append(line)
    return "\n".join([*out, *(["```"] if inside else [])]).strip("\n")


def fields(text: str, kind: str) -> list[str]:
    """A list of fields of a kind from an indented list `word: text`."""
    items = re.split(r"^ {4}(?=\S)", text.replace("\t", "    "), flags=re.MULTILINE)
    found = []
    for item in items:
        word, colon, rest = item.strip().partition(":")
        if colon and " " not in word.strip("*"):
            name = word.replace("*", "\\*")
            found.append(f":{kind} {name}: {' '.join(rest.split())}")
        elif item.strip() and found:
            found[-1] += " " + " ".join(item.split())
    return found


def documentation(doc: str | None) -> str:
    """Markdown of a docstring."""
    parts = public_names.sections(inspect.cleandoc(doc or ""))
    listed: list[str] = []
    tail: list[str] = []

    def split(text: str) -> str:
        """The indented part of a section; what follows it, its examples mostly, goes to the end."""
        match = re.search(r"\n(?=\S)", text)
        if match:
            tail.append(text[match.end() :])
        return text[: match.start()] if match else text

    for heading, text in parts.items():
        if heading in ("Returns", "Yields"):
            listed.append(f":{heading.lower()}: {' '.join(split(text).split())}")
        elif heading:
            listed += fields(
                split(text), {"Args": "param", "Attributes": "ivar", "Raises": "raises"}[heading]
            )
    body = [with_examples(parts[""]), "\n".join(listed), *map(with_examples, tail)]
    return "\n\n".join(part for part in body if part.strip())


def signature(function: Callable[..., Any]) -> str:
    """The parameters of a function or class, with types and defaults."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "()"
    rest = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    text = str(found.replace(parameters=rest))
    # Annotations are texts: without quotes. A default that is an object of no literal is an ellipsis.
    text = re.sub(r"(: |-> )'((?:[^'\\]|\\.)*)'", lambda m: m[1] + m[2].replace("\\'", "'"), text)
    text = re.sub(r'(: |-> )"([^"]*)"', r"\1\2", text)
    return re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "...", text)


def in_tensorflow(path: str, value: Callable[..., Any]) -> str:
    """What TensorFlow has under the name of a function or class."""
    symbol = symbols().get(path)
    if symbol is None:
        return "" if path.startswith("array_api") else "*Not in TensorFlow.*"
    if symbol.parameters is None or not shows_parameters(value):
        return ""
    here = parameters(value)
    missing, own = (
        ", ".join(f"`{name}`" for name in names if name not in others)
        for names, others in ((symbol.parameters, here), (here, symbol.parameters))
    )
    if not missing and not own:
        return ""
    return f"*TensorFlow's parameters{f' without {missing}' * bool(missing)}{f', and {own}' * bool(own)}.*"


def shows_parameters(value: Callable[..., Any]) -> bool:
    """Whether the reference shows parameters: not of a class whose objects other functions make."""
    return not isinstance(value, type) or "Args" in public_names.sections(inspect.getdoc(value) or "")


def summary(value: Any) -> str:
    """The beginning of the first sentence of the documentation, for a cell of a table."""
    text = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    line = re.split(r"[.:;](?:\s|$)", text)[0]
    return line.replace("|", "\\|") + "." * bool(line)


def notes(path: str, value: Callable[..., Any], others: list[str]) -> str:
    """What there is to say of the names of a function or class."""
    also = "Also " + ", ".join(f"`tf.{other}`" for other in others) + "." if others else ""
    return " ".join(note for note in (in_tensorflow(path, value), also) if note)


def method(name: str, member: Any, function: Callable[..., Any]) -> str:
    """A method of the reference."""
    kind = {staticmethod: "staticmethod", classmethod: "classmethod"}.get(type(member))
    options = {kind: ""} if kind else None
    return directive(
        "py:method", name + signature(function), options=options, body=documentation(function.__doc__)
    )


def class_page(path: str, cls: type, others: list[str]) -> str:
    """The page of a class."""
    entries = []
    for name, member in sorted(public_names.attributes(cls)):
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            entries.append(method(name, member, function))
        elif hasattr(member, "__get__") and member.__doc__:
            entries.append(directive("py:property", name, body=documentation(member.__doc__)))
    body = "\n\n".join([documentation(inspect.getdoc(cls)), notes(path, cls, others), *entries])
    shown = signature(cls) if shows_parameters(cls) else ""
    return f"# tf.{path}\n\n" + directive("py:class", f"tf.{path}{shown}", body=body) + "\n"


def home(names: list[str]) -> str:
    """Of the names of one thing, that of the module where its documentation stands."""
    return min(names, key=lambda n: (bool(SECOND_CHOICE.search(n)), "." not in n, n.count("."), n))


def reference(out: Path) -> None:
    """Writes a page for each public module and each public class."""
    names = public_names.aliases()
    place = {name: (home(all_names), value) for value, all_names in names.items() for name in all_names}
    index = []
    for module_path, module in public_names.modules().items():
        title = f"tf.{module_path}" if module_path else "tf"
        rows, entries, classes = [], [], []
        for name, value in public_names.members(module):
            path = f"{module_path}.{name}" if module_path else name
            if path not in place:
                if isinstance(value, tf.DType) or (module_path and isinstance(value, int | float | str)):
                    rows.append(f"| `tf.{path}` | `{value!r}` |")
                continue
            where, _ = place[path]
            shown = names[value][0]
            is_class = isinstance(value, type)
            rows.append(f"| {{py:obj}}`tf.{path} <tf.{shown}>` | {summary(value)} |")
            if where == path and is_class:
                classes.append(f"tf.{shown}")
                page = class_page(shown, value, names[value][1:])
                (out / f"tf.{shown}.md").write_text(page, encoding="utf-8")
            elif where == path:
                body = "\n\n".join([documentation(value.__doc__), notes(shown, value, names[value][1:])])
                entries.append(directive("py:function", f"tf.{shown}{signature(value)}", body=body))
        # Names of entries are whole: none is to be one of the module that its page is about.
        module_of_page = [directive("py:module", title), directive("py:currentmodule", "None")]
        parts = [f"# {title}", *module_of_page, documentation(module.__doc__)]
        if rows:
            parts.append("\n".join(["| name | |", "|---|---|", *rows]))
        if classes:
            parts.append(directive("toctree", options={"hidden": ""}, body="\n".join(classes)))
        if entries:
            parts += ["## Functions", *entries]
        (out / f"{title}.module.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        index.append((title, summary(module)))
    pages = ["messages", *(f"{title}.module" for title, _ in index)]
    table = "\n".join(f"| [{title}]({title}.module.md) | {text} |" for title, text in index)
    text = f"""# Reference of the Python package

Every public name, by module. A thing with several names stands under the module that fits it best; its
signature has the shortest name. What has no note is TensorFlow's of the same name, with its parameters; a
note says what differs, or that TensorFlow has no such thing. `import penstock as tf` is understood
throughout. Operators, with the dtypes that they take, are [a table of their own](../ops.md);
{{py:obj}}`tf.function` is where to begin.

| module | |
|---|---|
{table}

[Every message of an error](messages.md) is listed by kind, with what to do.

{directive("toctree", options={"hidden": ""}, body=chr(10).join(pages))}
"""
    (out / "index.md").write_text(text, encoding="utf-8")
    # Pages mention a thing by any of its names; its entry has the first.
    entry_of = {f"tf.{name}": f"tf.{all_names[0]}" for all_names in names.values() for name in all_names}
    (out / "names.json").write_text(json.dumps(entry_of, indent=0, sort_keys=True), encoding="utf-8")


# --- the site -----------------------------------------------------------------


def write_source(out: Path) -> None:
    """Writes the tree of Markdown that Sphinx reads."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "reference").mkdir(parents=True)
    places = pages()
    for page, place in places.items():
        given = text_of(page)
        if page.suffix == ".ipynb":
            given = notebooks.executed(page)
            title, _, rest = given.partition("\n")
            given = f"{title}\n\n{{download}}`This page is a notebook <{page.name}>`.\n{rest}"
        text = moved(given, page, places)
        if place == "errors.md":
            text += "\n[All messages of errors](reference/messages.md), by kind.\n"
        if place == "index.md":
            text += "\n" + contents(given, places) + "\n"
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        (out / place).write_text(text, encoding="utf-8")
    for file in DOCS.rglob("*"):
        if file.suffix in (".png", ".svg", ".ipynb"):
            (out / file.relative_to(DOCS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, out / file.relative_to(DOCS))
    reference(out / "reference")
    (out / "reference" / "messages.md").write_text(error_messages.listing(), encoding="utf-8")
    shutil.copy(DOCS / "conf.py", out)


def main() -> int:
    """Makes the site."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "target" / "site", metavar="OUT")
    parser.add_argument("--source-only", action="store_true", help="write the Markdown, without Sphinx")
    options = parser.parse_args()
    broken = broken_links(pages())
    if broken:
        print("\n".join(broken), file=sys.stderr)
        return 1
    source, html = options.out / "source", options.out / "html"
    write_source(source)
    if options.source_only:
        return 0
    flags = ["-W", "-n", "--keep-going", "-q", "-j", "auto", "-d", str(options.out / "doctrees")]
    status = subprocess.call([sys.executable, "-m", "sphinx", *flags, "-b", "html", str(source), str(html)])
    if status == 0:
        entries = {f"tf.{names[0]}" for names in public_names.aliases().values()}
        if found := site_links.faults(html, entries):
            print("\n".join(found), file=sys.stderr)
            return 1
        print(html / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
