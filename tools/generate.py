"""Writes what follows from the operators' declarations: `python tools/generate.py [--check]`.

The declarations are read from the built extension. From them come `python/penstock/raw_ops.pyi`, which types
and documents `penstock.raw_ops`, `python/penstock/_ops/elementwise.py`, the public functions of one
elementwise operator each (`elementwise.py` beside this file lists them), those of the array standard in
`python/penstock/array_api/_elementwise.py` (`array_elementwise.py`), `docs/ops.md`, the table of operators,
and `crates/penstock/src/operators.rs`, the methods of the Rust crate (`rust_operators.py`); of the header of
the crate `penstock-plugin` a copy in `python/penstock/include`, which wheels have; of the licence one beside
each crate that is published; of the README one for PyPI (`documentation.py`); from the report
of public symbols (`penstock.api_report`) the tables at the end of `docs/tensorflow.md`; and from the
docstrings of `penstock.errors` and the kinds of messages in `error_kinds.toml` the tables in
`docs/errors.md`; from the list of differences from TensorFlow and the recorded calls (`agreement`) parts of
`docs/differences.md`. With `--check` nothing is written, and the exit status is 1 if a file differs from what
would be.
"""

import argparse
import inspect
import json
import keyword
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import array_elementwise
import elementwise
import error_messages
import pictures
import public_names
import rust_operators
import tensorflow_inside
from agreement import differences, recorded
from documentation import on_pypi
from penstock import _core, _nodes, api_report, errors
from penstock._api_names import symbols as tensorflow_symbols

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 110

Family = tuple[str, list[str]]

# The page that ends with the report of symbols, and what stands before it.
SYMBOLS = ROOT / "docs" / "tensorflow.md"
# What operators in C are compiled with, beside the crate that has the same for those in Rust.
HEADER = ROOT / "crates" / "penstock-plugin" / "include" / "penstock_plugin.h"
# Pages with a part that is written here.
LIBRARIES = ROOT / "docs" / "libraries.md"
SAVING = ROOT / "docs" / "saving.md"
ERRORS = ROOT / "docs" / "errors.md"
DIFFERENCES = ROOT / "docs" / "differences.md"
SYMBOLS_MARK = "<!-- Below: written by tools/generate.py. -->\n"

# What an attribute of a kind may be.
ATTRIBUTES = {
    "Bool": "bool",
    "Int": "int",
    "Float": "float",
    "Str": "str",
    "Ints": "int | Sequence[int] | Tensor",
    "DType": "_DTypeLike",
    "Shape": "_ShapeLike",
    "Tensor": "_TensorLike",
    "Types": "Iterable[_TypeLike]",
    "Host": "Callable[..., Iterable[_TensorLike]]",
    "Func": "Never",
}

# The results of the operators that do not have exactly one.
RESULTS = {
    **dict.fromkeys(
        ("softmax_cross_entropy", "sparse_softmax_cross_entropy", "top_k"), "tuple[Tensor, Tensor]"
    ),
    **dict.fromkeys(("list_pop", "list_take", "table_export"), "tuple[Tensor, Tensor]"),
    **dict.fromkeys(("string_bytes_split", "string_split", "unicode_decode"), "tuple[Tensor, Tensor]"),
    "unicode_decode_with_offsets": "tuple[Tensor, Tensor, Tensor]",
    **dict.fromkeys(
        ("eig", "log_matrix_determinant", "lu", "qr", "qr_full", "self_adjoint_eig"), "tuple[Tensor, Tensor]"
    ),
    **dict.fromkeys(("svd", "svd_full"), "tuple[Tensor, Tensor, Tensor]"),
    **dict.fromkeys(("decode_wav", "non_max_suppression_overlaps"), "tuple[Tensor, Tensor]"),
    **dict.fromkeys(
        ("non_max_suppression", "stateless_sample_distorted_bounding_box"), "tuple[Tensor, Tensor, Tensor]"
    ),
    **dict.fromkeys(("decode_csv", "example_features"), "_Tensors"),
    "unique": "tuple[Tensor, Tensor, Tensor]",
    **dict.fromkeys(("barrier", "concat_offset", "split", "unstack"), "_Tensors"),
    **dict.fromkeys(("call", "cond", "fused", "native", "host_call", "switch", "while"), "_Tensors | None"),
    **dict.fromkeys(
        (
            "assert",
            "assign",
            "assign_add",
            "assign_sub",
            "print",
            "table_insert",
            "table_remove",
            "write_file",
        ),
        "None",
    ),
}

# The table names groups of dtypes; each is named where an operator takes all of it.
GROUPS = {
    "int": ("int8", "int16", "int32", "int64"),
    "uint": ("uint8", "uint16", "uint32", "uint64"),
    "float": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}

STUB_HEADER = '''\
"""The operators of the engine, one callable each, named and documented as they are declared in Rust.

Operands come by position or keyword, attributes by keyword. An operand that is not a tensor is converted: to
the dtype of the operands that share its dtype, where a Python value can be. `name` names the result in a
graph.
"""

# Written by tools/generate.py.

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never, TypeAlias

from penstock._core import Tensor, _DTypeLike, _ShapeLike, _Variable
from penstock._types.specs import TensorSpec

# A tensor, a variable, or what converts to a tensor: Python values, nested sequences of them, arrays, and
# instances of classes with a conversion.
_TensorLike: TypeAlias = Any
# One tensor where there is one result, else a tuple.
_Tensors: TypeAlias = Tensor | tuple[Tensor, ...]
_TypeLike: TypeAlias = TensorSpec | _DTypeLike
'''

TABLE_HEADER = """\
<!-- Written by tools/generate.py. -->

# Operators

The operators of the engine, by family, as `penstock.raw_ops` has them. *Node* is the name in a `GraphDef`.

An operand with `*` stands for any number of them. An attribute without a default must be given; it is
optional where the default is `None`. Operands of the same dtype variable, `T`, have the same dtype. Among
dtypes,

- `int` is {int},
- `uint` is {uint},
- `float` is {float},
- `complex` is {complex}.

The gradient is by a *rule*; *zero*, where the result does not change smoothly with the operands or has none;
*structural*, where differentiation treats the operator specially; or there is *none*.
"""


def documentation(op: _core.Op) -> str:
    """The operator's own documentation, without space at its ends."""
    return (op.__doc__ or "").strip()


def kinds(op: _core.Op) -> list[tuple[str, str, list[str]]]:
    """`(name, dtype variable or "", dtypes)` of each operand; the name starts with `*` if it is variadic.

    What takes more than tensors has the one dtype `"variable"` or `"any"`.
    """
    variables = dict(op.dtype_variables)
    found = []
    for name, kind in op.operands:
        star, kind = ("*", kind[1:]) if kind.startswith("*") else ("", kind)
        dtypes = variables.get(kind)
        found.append((star + name, "", kind.split(", ")) if dtypes is None else (star + name, kind, dtypes))
    return found


def parameters(op: _core.Op) -> list[str]:
    """The parameters of the operator's stub, with types and defaults."""
    written = []
    for name, _, dtypes in kinds(op):
        written.append(f"{name}: {'_Variable' if dtypes == ['variable'] else '_TensorLike'}")
    if not any(parameter.startswith("*") for parameter in written):
        written.append("*")
    for name, kind, default in op.attributes:
        annotation = ATTRIBUTES[kind]
        if default is ...:
            written.append(f"{name}: {annotation}")
        elif default is None:
            written.append(f"{name}: {annotation} | None = None")
        else:
            written.append(f"{name}: {annotation} = {literal(default)}")
    return [*written, "name: str | None = None"]


def literal(default: object) -> str:
    """A default as source; a dtype is written by its name.

    >>> print(literal("a"), literal(_core.int32))
    "a" "int32"
    """
    if isinstance(default, _core.DType):
        default = default.name
    return json.dumps(default) if isinstance(default, str) else repr(default)


def signature(op: _core.Op) -> str:
    """The `def` line of the operator's stub, broken as ruff breaks it."""
    name, result, each = op.__name__, RESULTS.get(op.__name__, "Tensor"), parameters(op)
    line = f"def {name}({', '.join(each)}) -> {result}:"
    if len(line) <= WIDTH:
        return line
    inner = f"    {', '.join(each)}"
    if len(inner) > WIDTH:
        inner = "\n".join(f"    {parameter}," for parameter in each)
    return f"def {name}(\n{inner}\n) -> {result}:"


def dtype_lines(op: _core.Op) -> list[str]:
    """For each set of operands that share their dtypes, what these are."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, variable, dtypes in kinds(op):
        # Operands without a dtype variable are independent of each other.
        shared.setdefault((variable or name, *dtypes), []).append(name.removeprefix("*"))
    lines = []
    for (_, *dtypes), names in shared.items():
        if dtypes not in (["variable"], ["any"]):
            lines.append(f"{', '.join(names)}: {', '.join(dtypes)}.")
    return lines


def docstring(op: _core.Op, indent: str) -> str:
    """The operator's documentation and dtypes as an indented docstring."""
    summary, *rest = documentation(op).split("\n\n")
    quotes = 'r"""' if "\\" in documentation(op) else '"""'
    wrap = textwrap.TextWrapper(WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    wrap.initial_indent = quotes
    paragraphs = [wrap.fill(summary)]
    wrap.initial_indent = ""
    paragraphs.extend(map(wrap.fill, rest))
    if lines := dtype_lines(op):
        wrap.initial_indent, wrap.subsequent_indent = " " * 4, " " * 8
        paragraphs.append("\n".join(["Dtypes:", *map(wrap.fill, lines)]))
    text = "\n\n".join(paragraphs)
    return textwrap.indent(f'{text}\n"""' if "\n" in text else f'{text}"""', indent)


def stub(ops: Mapping[str, _core.Op], families: Sequence[Family]) -> str:
    """The text of `raw_ops.pyi`."""
    parts = [STUB_HEADER]
    for family, names in families:
        parts.append(f"\n# --- {family} ---\n")
        for name in names:
            written = f"{signature(ops[name])}\n{docstring(ops[name], ' ' * 4)}\n"
            if keyword.iskeyword(name):
                hint = f'# A keyword of Python: `getattr(raw_ops, "{name}")`.\n'
                written = hint + textwrap.indent(written, "# ", lambda _: True).replace("# \n", "#\n")
            parts.append(f"\n{written}")
    parts.append("\n# --- TensorFlow's operators by their own names ---\n\n")
    parts.extend(f"{node_signature(_nodes.operators()[name])}\n" for name in _nodes.names())
    return "".join(parts)


# What a parameter of one of TensorFlow's operators may be, by the kind of an attribute.
NODE_KINDS = {
    "bool": "bool",
    "float": "float",
    "func": "Callable[..., Any]",
    "int": "int",
    "shape": "_ShapeLike",
    "string": "str | bytes",
    "tensor": "_TensorLike",
    "type": "_DTypeLike",
}


def node_signature(operator: _nodes.Operator) -> str:
    """The declaration of one of TensorFlow's operators in the stub."""
    parameters = []
    for parameter in operator.parameters:
        kind = parameter.kind
        if parameter.is_input:
            several = "*" in kind or kind.startswith("[")
            annotation = "Sequence[_TensorLike]" if several else "_TensorLike"
        elif kind.startswith("list("):
            annotation = f"Sequence[{NODE_KINDS[kind[5:-1]]}]"
        else:
            annotation = NODE_KINDS[kind]
        default = ""
        if parameter.default is not inspect.Parameter.empty:
            text = json.dumps(parameter.default)
            default = f" = {text if isinstance(parameter.default, str) else repr(parameter.default)}"
        parameters.append(f"{parameter.name}: {annotation}{default}")
    if operator.name == "Any":
        return '\n# `Any` is taken: `getattr(raw_ops, "Any")`.'
    given = ["*", *parameters, "name: str | None = None"]
    kinds = [kind for _, kind in operator.outputs]
    if len(kinds) == 1:
        several = "*" in kinds[0] or kinds[0].startswith("[")
        result = "list[Tensor]" if several else "Any" if kinds[0] in ("=resource", "=variant") else "Tensor"
    else:
        result = "Any" if kinds else "None"
    line = f"def {operator.name}({', '.join(given)}) -> {result}: ..."
    if len(line) <= WIDTH:
        return line
    inner = f"    {', '.join(given)}"
    lines = [inner] if len(inner) <= WIDTH else [f"    {part}," for part in given]
    return "\n".join([f"def {operator.name}(", *lines, f") -> {result}: ..."])


def group(dtypes: Sequence[str]) -> str:
    """Dtypes, with groups of them named.

    >>> group(["bool", "int32", "complex64", "complex128"])
    'bool, int32, complex'
    """
    shown = dict.fromkeys(dtypes)
    for name, members in GROUPS.items():
        if set(members) <= set(dtypes):
            shown = dict.fromkeys(name if dtype in members else dtype for dtype in shown)
    return ", ".join(shown)


def row(op: _core.Op) -> str:
    """The operator's line in the table."""
    operands, dtypes = [], {}
    for name, variable, found in kinds(op):
        shown = variable or group(found)
        operands.append(f"`{name}: {shown}`" if len(shown) < 20 else f"`{name}: tensor`")
        if variable or len(shown) >= 20:
            dtypes[variable or name.removeprefix("*")] = group(found)
    attributes = []
    for name, _, default in op.attributes:
        attributes.append(f"`{name}`" if default is ... else f"`{name}={literal(default)}`")
    gradient = op.gradient if op.gradient in ("rule", "zero", "structural") else f"none: {op.gradient}"
    cells = [
        f"`{op.__name__}`",
        op.tf_name,
        ", ".join(operands),
        ", ".join(attributes),
        "; ".join(f"`{name}`: {found}" for name, found in dtypes.items()),
        gradient,
        documentation(op).split("\n\n")[0],
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(ops: Mapping[str, _core.Op], families: Sequence[Family]) -> str:
    """The text of `docs/ops.md`."""
    parts = [TABLE_HEADER.format(**{name: ", ".join(members) for name, members in GROUPS.items()})]
    for family, names in families:
        parts.append(f"\n## {family}\n\n")
        parts.append("| name | node | operands | attributes | dtypes | gradient | result |\n")
        parts.append("| --- | --- | --- | --- | --- | --- | --- |\n")
        parts.extend(f"{row(ops[name])}\n" for name in names)
    return "".join(parts)


def symbols(page: str) -> str:
    """The text of `docs/tensorflow.md` with the present report of symbols at its end."""
    head, mark, _ = page.partition(SYMBOLS_MARK)
    return f"{head}{mark}\n{api_report.as_markdown(api_report.coverage())}\n\n{raw_operators()}\n"


def raw_operators() -> str:
    """How many of TensorFlow's operators there are."""
    there, all_ = _nodes.names(), _nodes.operators()
    return (
        f"`tf.raw_ops` has {len(there)} of TensorFlow's {len(all_)} operators by their names, with their"
        " parameters; tests hold calls of them against what TensorFlow gave. It has none on reference "
        "variables, none of data sets and iterators, summaries, collectives and debuggers, and none that "
        "only TPUs, XLA, cuDNN, oneDNN or boosted trees have."
    )


def between(page: str, begin: str, end: str, text: str) -> str:
    """The text of a page with what stands between two marks replaced."""
    before, after = page[: page.index(begin)], page[page.index(end) :]
    return f"{before}{begin}\n\n{text}\n\n{after}"


def unwritten(families: Sequence[Family]) -> str:
    """The operators of which no SavedModel for TensorFlow can be written."""
    known = set(_core._tensorflow_operators())
    names = sorted(name for _, members in families for name in members if name not in known)
    return ", ".join(f"`{name}`" for name in names) + "."


def error_classes() -> str:
    """The table of the classes of errors: Python's classes that each is, when it comes, and what to do."""
    rows = ["| class in `tf.errors` | is also a | has happened | what to do |", "|---|---|---|---|"]
    for name in errors.__all__:
        cls = getattr(errors, name)
        if not isinstance(cls, type) or cls is errors.OpError:
            continue
        python = [base for base in cls.__mro__ if base.__module__ == "builtins"]
        narrow = [base for base in python if not any(c is not base and issubclass(c, base) for c in python)]
        also = ", ".join(f"`{base.__name__}`" for base in narrow if base is not Exception)
        summary, todo, *_ = (inspect.getdoc(cls) or "").split("\n\n")
        rows.append(f"| `{name}` | {also} | {summary} | {todo} |".replace("\n", " "))
    return "\n".join(rows)


def errors_page(page: str) -> str:
    """The text of `docs/errors.md` with its tables of classes and of kinds of messages."""
    page = between(page, "<!-- classes:begin -->", "<!-- classes:end -->", error_classes())
    return between(page, "<!-- kinds:begin -->", "<!-- kinds:end -->", error_messages.table())


def differences_page(page: str) -> str:
    """The text of `docs/differences.md` with how much is compared, and the list."""
    calls = [call for call, _ in recorded.load()]
    there = {symbol.name for symbol in tensorflow_symbols().values() if symbol.counted}
    found = recorded.compared(calls, public_names.aliases().values()) & there
    text = f"The sample is {len(calls)} calls, of {len(found)} of TensorFlow's {len(there)} symbols."
    page = between(page, "<!-- compared:begin -->", "<!-- compared:end -->", text)
    return between(page, "<!-- differences:begin -->", "<!-- differences:end -->", differences.as_markdown())


def generated() -> dict[Path, str]:
    """The text of each generated file.

    Raises:
        ValueError: where `RESULTS` names an operator that there is not.
    """
    ops, families = _core._ops(), _core._op_families()
    if unknown := sorted(set(RESULTS) - set(ops)):
        raise ValueError(f"RESULTS names operators that do not exist: {', '.join(unknown)}")
    return {
        ROOT / "python" / "penstock" / "raw_ops.pyi": stub(ops, families),
        ROOT / "python" / "penstock" / "_ops" / "elementwise.py": elementwise.module(ops),
        ROOT / "python" / "penstock" / "array_api" / "_elementwise.py": array_elementwise.module(),
        ROOT / "docs" / "ops.md": table(ops, families),
        SYMBOLS: symbols(SYMBOLS.read_text(encoding="utf-8")),
        LIBRARIES: between(
            LIBRARIES.read_text(encoding="utf-8"),
            "<!-- inside:begin -->",
            "<!-- inside:end -->",
            tensorflow_inside.table(),
        ),
        SAVING: between(
            SAVING.read_text(encoding="utf-8"),
            "<!-- unwritten:begin -->",
            "<!-- unwritten:end -->",
            unwritten(families),
        ),
        ERRORS: errors_page(ERRORS.read_text(encoding="utf-8")),
        DIFFERENCES: differences_page(DIFFERENCES.read_text(encoding="utf-8")),
        ROOT / "python" / "penstock" / "include" / HEADER.name: HEADER.read_text(encoding="utf-8"),
        ROOT / "crates" / "penstock" / "src" / "operators.rs": rust_operators.module(ops, families, RESULTS),
        ROOT / "packaging" / "pypi.md": on_pypi((ROOT / "README.md").read_text(encoding="utf-8")),
        **pictures.generated(),
        **licences(),
    }


def licences() -> dict[Path, str]:
    """The licence beside each crate that is published: a package has the files of its own folder alone."""
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    manifests = sorted((ROOT / "crates").glob("*/Cargo.toml"))
    return {m.parent / "LICENSE": text for m in manifests if "\npublish = false" not in m.read_text("utf-8")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the files, or says which are stale.

    Args:
        arguments: The command line without the program's name; `sys.argv` when None.
    """
    parser = argparse.ArgumentParser(description="Write the files that follow from the operators.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    options = parser.parse_args(arguments)
    stale = []
    for path, text in generated().items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if not options.check:
            path.write_text(text, encoding="utf-8", newline="\n")
    if options.check and stale:
        sys.exit(f"stale: {', '.join(stale)}; run `make generate`")
    print("\n".join(f"wrote {name}" for name in stale) or "up to date")


if __name__ == "__main__":
    main()
