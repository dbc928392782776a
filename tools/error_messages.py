"""The messages of errors of the package and the crates: `python tools/error_messages.py [--unlisted]`.

Each is read from the source, with `…` for what is filled in when the error comes up: the texts of `raise`
statements in Python and of the functions that give what is raised, and those of the constructors of errors
in Rust. Errors of the class `InternalError` are left out. Each is printed with its entry in `docs/errors.md`:
the first heading of the third level that has it as a pattern, with `…` for any text and `, or ` between
several, or else its kind (`error_kinds.toml`). `--unlisted` prints those alone that have neither.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
PYTHON = ("python/penstock", "python/keras_penstock")
# Crates that only tests use. Files named `tests.rs` are left out of the others.
MACHINERY = {"penstock-mockcuda", "penstock-filetests"}
GAP = "…"
# How many words of a kind the table shows.
SHOWN = 6
LISTING = """# Messages of errors

Every message that the package and the engine raise, by kind, with `…` for what differs. What to do about a
kind stands below its heading; [the errors that come up most](../errors.md) have a program and a remedy
each."""


class Message(NamedTuple):
    """A text with gaps, and the place in the source that has it."""

    text: str
    place: str


class Kind(NamedTuple):
    """A kind of messages: what they mean, what to do, and which words or files make a message one of it."""

    name: str
    means: str
    do: str
    words: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


def _is_sentence(text: str) -> bool:
    """Whether a text has several words, and is no key, name or separator."""
    return re.search("[A-Za-z]{2}", text) is not None and " " in text.strip()


# --- Python ----------------------------------------------------------------------------------------------


def template(node: ast.expr, names: Mapping[str, ast.expr]) -> str:
    """The text that an expression gives, with a gap for each part that is not known here."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(template(v, names) for v in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return template(left, names) + template(right, names)
        case ast.BinOp(left=left, op=ast.Mod()):
            return re.sub(r"%[-\d.]*[a-z]", GAP, template(left, names))
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return re.sub(r"\{[^{}]*\}", GAP, template(value, names))
        case ast.Name(id=name) if name in names:
            return template(names[name], {k: v for k, v in names.items() if k != name})
    return GAP


def _texts(node: ast.AST, names: Mapping[str, ast.expr], helpers: set[str]) -> Iterator[tuple[str, int]]:
    """The texts in an expression that are sentences, and not keys or separators.

    Adds the names of the functions that are called in it to `helpers`.
    """
    if isinstance(node, ast.Subscript):
        return
    if isinstance(node, ast.Call):
        helpers.add(ast.unparse(node.func).rpartition(".")[2])
    if isinstance(node, ast.expr):
        text = template(node, names)
        if _is_sentence(text):
            yield text, node.lineno
            return
    for child in ast.iter_child_nodes(node):
        yield from _texts(child, names, helpers)


def _assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """The names that are given a text, each with what it is first given."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if template(value, {}) != GAP:
                    found.setdefault(name, value)
    return found


def _is_error(node: ast.expr) -> bool:
    return re.search(r"(Error|Exception|raised|SystemExit)\b", ast.unparse(node)) is not None


def of_python() -> Iterator[Message]:
    """The messages of the Python packages."""
    helpers: set[str] = set()
    texts: list[tuple[str, list[Message]]] = []
    for file in sorted(f for folder in PYTHON for f in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        statements = [s for s in tree.body if isinstance(s, ast.Assign | ast.AnnAssign)]
        constants = _assigned(ast.Module(body=list(statements), type_ignores=[]))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        seen: set[int] = set()
        for scope in [*reversed(functions), tree]:
            names = constants | _assigned(scope)
            result = scope.returns if isinstance(scope, ast.FunctionDef) else None
            gives_error = result is not None and _is_error(result)
            gives_text = result is not None and ast.unparse(result) == "str"
            given = []
            for node in ast.walk(scope):
                if isinstance(node, ast.Raise):
                    wanted = node.exc
                elif isinstance(node, ast.Return) and (gives_error or gives_text):
                    wanted = node.value
                elif isinstance(node, ast.Call) and _is_error(node.func):
                    wanted = node
                else:
                    continue
                if wanted is None or id(node) in seen:
                    continue
                seen.update(map(id, ast.walk(node)))
                of_text = gives_text and isinstance(node, ast.Return)
                found = [
                    Message(text, f"{file.relative_to(ROOT)}:{line}")
                    for text, line in _texts(wanted, names, set() if of_text else helpers)
                ]
                if of_text:
                    given += found
                else:
                    yield from found
            if given:
                texts.append((getattr(scope, "name", ""), given))
    # Functions that give texts, of which some are messages.
    yield from (message for name, found in texts if name in helpers for message in found)


# --- Rust ------------------------------------------------------------------------------------------------

# Comments, strings, characters, words, blanks, and whatever else.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/
    |b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"
    |b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'
    |[A-Za-z_]\w*!?|[ \t\r\n]+|.""",
    re.DOTALL | re.VERBOSE,
)
CONSTRUCTORS = {
    *("invalid", "dtype", "index", "out_of_range", "not_found", "precondition", "unimplemented", "exhausted"),
    *("cancelled", "unavailable", "data_loss", "host", "new", "new_err"),
}


# What a text is called that an error gets.
NAMES = {"message", "what", "why", "reason", "hint"}


def _tokens(text: str) -> list[tuple[str, int]]:
    """The tokens of a Rust file, each with its line, without comments and without the modules of tests."""
    found, line = [], 1
    for match in TOKEN.finditer(text):
        token = match.group()
        if not token.isspace() and not token.startswith(("//", "/*")):
            found.append((token, line))
        line += token.count("\n")
    kept, i = [], 0
    while i < len(found):
        if [t for t, _ in found[i : i + 7]] == ["#", "[", "cfg", "(", "test", ")", "]"]:
            i += 7
            while found[i][0] not in "{;":
                i += 1
            i = _closing(found, i) + 1 if found[i][0] == "{" else i + 1
            continue
        kept.append(found[i])
        i += 1
    return kept


def _closing(tokens: list[tuple[str, int]], start: int) -> int:
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i][0] in "([{") - (tokens[i][0] in ")]}")
        if depth == 0:
            return i
    return len(tokens) - 1


def _rust_text(token: str) -> str:
    if re.match(r'b?r#*"', token):
        text = token[token.index('"') + 1 : token.rindex('"')]
    else:
        text = re.sub(r"\\\n\s*", "", token[token.index('"') + 1 : -1])
        text = text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    text = re.sub(r"\{[^{}]*\}", GAP, text.replace("{{", "\0").replace("}}", "\1"))
    return text.replace("\0", "{").replace("\1", "}")


def _makers(tokens: list[tuple[str, int]]) -> set[str]:
    """The functions of a file that give an error."""
    found = set()
    words = [t for t, _ in tokens]
    for i, word in enumerate(words):
        if word == "fn" and "(" in words[i : i + 40]:
            end = _closing(tokens, words.index("(", i))
            if words[end + 1 : end + 3] == ["-", ">"]:
                result = "".join(words[end + 3 : end + 9])
                if re.match(r"(\w+::)*(Error|PyErr|Failure)\b", result):
                    found.add(words[i + 1])
    return found


def of_rust() -> Iterator[Message]:
    """The messages of the crates."""
    for crate in sorted((ROOT / "crates").iterdir()):
        if crate.name in MACHINERY:
            continue
        sources = sorted(f for f in (crate / "src").rglob("*.rs") if f.name != "tests.rs")
        files = {f: _tokens(f.read_text(encoding="utf-8")) for f in sources}
        makers = set().union(*map(_makers, files.values()))
        for file, tokens in files.items():
            words = [t for t, _ in tokens]
            wanted: set[int] = set()
            for i, word in enumerate(words[:-1]):
                path = "".join(words[max(i - 3, 0) : i])
                if word == "let" and words[i + 1] in NAMES and words[i + 2] == "=":
                    wanted.update(range(i, words.index(";", i)))
                elif word == "fn" and words[i + 1] in makers:
                    body = words.index("{", _closing(tokens, words.index("(", i)))
                    formats = (
                        k for k in range(body, _closing(tokens, body)) if words[k - 2 : k] == ["format!", "("]
                    )
                    wanted.update(formats)
                elif (
                    words[i + 1] == "("
                    and words[i - 1] != "fn"
                    and (
                        word in makers
                        or (word in CONSTRUCTORS and re.search(r"(Error|Exception|_Recursion)::$", path))
                    )
                ):
                    wanted.update(range(i + 2, _closing(tokens, i + 1)))
            for i in sorted(wanted):
                token, line = tokens[i]
                if re.match(r'b?r?#*"', token) and _is_sentence(text := _rust_text(token)):
                    yield Message(text, f"{file.relative_to(ROOT)}:{line}")


# --- the catalogue ---------------------------------------------------------------------------------------


@cache
def headings() -> tuple[str, ...]:
    """The headings of the page that describe messages, each with one or several patterns."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return tuple(line.removeprefix("### ") for line in lines if line.startswith("### "))


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(
        ".*?".join(map(re.escape, pattern.replace("`", "").split(GAP))), re.DOTALL | re.IGNORECASE
    )


def has(text: str, pattern: str) -> bool:
    """Whether a text has a pattern within."""
    return _expression(pattern).search(text.replace("`", "")) is not None


def entry(message: Message) -> str | None:
    """The heading or the kind of a message, None where it has none."""
    for heading in headings():
        if any(has(message.text, pattern) for pattern in heading.split(", or ")):
            return heading
    for kind in kinds():
        if message.place.startswith(kind.places) or any(has(message.text, word) for word in kind.words):
            return kind.name
    return None


@cache
def messages() -> tuple[Message, ...]:
    """All messages, in the order of their places."""
    return tuple(sorted({*of_python(), *of_rust()}, key=lambda m: (m.place.partition(":")[0], m.text)))


@cache
def kinds() -> tuple[Kind, ...]:
    """The kinds of messages, those of few messages before those of many."""
    found = tomllib.loads((ROOT / "tools" / "error_kinds.toml").read_text(encoding="utf-8"))["kind"]
    return tuple(
        Kind(k["name"], k["means"], k["do"], tuple(k.get("words", ())), tuple(k.get("places", ())))
        for k in found
    )


def table() -> str:
    """The table of the kinds, for the page."""
    rows = ["| kind | has words such as | what it means | what to do |", "|---|---|---|---|"]
    for kind in kinds():
        shown = ", ".join(f"`{word}`" for word in kind.words[:SHOWN])
        rows.append(f"| {kind.name} | {shown} | {kind.means} | {kind.do} |")
    return "\n".join(rows)


def listing() -> str:
    """A page with all messages: those of each heading and of each kind."""
    by_entry: dict[str | None, set[str]] = {}
    for message in messages():
        text = " ".join(message.text.split()).replace("`", "").strip()
        by_entry.setdefault(entry(message), set()).add(text)
    described = [text for heading in headings() for text in by_entry.get(heading, ())]
    parts = [LISTING, "## Messages with an entry of their own", _listed(described)]
    for kind in kinds():
        advice = re.sub(
            r"\]\((#?)", lambda m: "](../errors.md#" if m[1] else "](../", f"{kind.means} {kind.do}"
        )
        parts += [f"## {kind.name}", advice, _listed(by_entry.get(kind.name, ()))]
    return "\n\n".join(parts) + "\n"


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(["```text", *sorted(texts, key=str.lower), "```"])


def main() -> int:
    """Prints the messages; the exit status is 1 if one has no entry."""
    found = 0
    for message in messages():
        place = entry(message)
        if place is None or "--unlisted" not in sys.argv[1:]:
            print(f"{message.place}: {message.text!r}: {place}")
        found += place is None
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
