"""Writes the builder methods of the Rust crate, one for each operator, for `generate.py`.

What an operator takes is read from the built extension, where its static stands from the sources of
`penstock-ops`. Operators with regions have methods written by hand.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from penstock import _core

SOURCES = Path(__file__).resolve().parent.parent / "crates" / "penstock-ops" / "src"

# Operators with regions, constants, and what only the optimiser makes.
OTHERS = ("call", "cond", "const", "fused", "native", "switch", "while")

# How an attribute of a kind is given, and the value that is kept of it.
KINDS = {
    "Bool": ("bool", "{}"),
    "Int": ("i64", "{}"),
    "Float": ("f64", "{}"),
    "Str": ("&str", "{}"),
    "Ints": ("&[i64]", "{}"),
    "DType": ("DType", "{}"),
    "Shape": ("&penstock_data::Shape", "{}.clone()"),
    "Tensor": ("&Tensor", "{}.clone()"),
    "Types": ("&[Type]", "{}.to_vec()"),
    "Host": ("&HostRef", "{}.clone()"),
    "Func": ("&Arc<Function>", "FuncRef::called({})"),
}

HEADER = """\
// Written by tools/generate.py.

//! The operators as methods, and their attributes.

use std::sync::Arc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Attr, Attrs, Builder, FuncRef, Function, HostRef, OpDef, Type, Value};
use smallvec::SmallVec;

/// The results of an instruction.
type Values = SmallVec<[Value; 1]>;

/// The operators as methods of a [`Builder`]: each adds an instruction to the innermost open region and gives
/// its results.
///
/// A method takes the operands and the attributes that must be given. Where an operator has others, a second
/// method, whose name ends in `_with`, takes them as a struct of [`attributes`]. What does not fit is an
/// error that names the argument.
///
/// ```
/// use penstock::{DType, Operators, Shape, Type, attributes, builder};
///
/// # fn main() -> penstock::Result<()> {
/// let mut g = builder();
/// let x = g.input(Type::tensor(DType::F32, Shape::known(&[3, 4])), Some("x"));
/// let square = g.matmul_with(x, x, attributes::Matmul::new().transpose_b(true))?;
/// let sum = g.reduce_sum(square)?;
/// assert_eq!(g.type_of(square)?.to_string(), "f32[3,3]");
/// let error = g.matmul(x, x).unwrap_err();
/// assert_eq!(error.op(), Some("matmul"));
/// # g.finish(&[sum]).map(drop)
/// # }
/// ```
pub trait Operators {
    /// Adds an instruction with complete attributes, and gives its results.
    ///
    /// # Errors
    /// What the operator's declaration and inference report, with operator, argument and location.
    fn add_instruction(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<Values>;

    /// The type of a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a value of another graph.
    fn type_of(&self, value: Value) -> Result<&Type>;
"""

FOOTER = """
impl Operators for Builder {
    fn add_instruction(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<Values> {
        let inst = self.inst(op, operands, attrs, &[])?;
        Ok(self.results(inst).into())
    }

    fn type_of(&self, value: Value) -> Result<&Type> {
        self.ty(value).ok_or_else(|| Error::invalid(format!("{value} is of another graph")))
    }
}

/// The results of an instruction that has so many.
fn exactly<const N: usize>(results: &[Value]) -> Result<[Value; N]> {
    let wrong = |_| Error::internal(format!("an instruction has {} result(s), not {N}", results.len()));
    results.try_into().map_err(wrong)
}

/// Attributes that may be left out, a struct for each operator that has some. Each starts with the defaults.
pub mod attributes {
    use super::{Attr, DType};
"""


def statics(names: Iterable[str]) -> dict[str, str]:
    """The path of the static of each operator within `penstock_ops`.

    Raises:
        ValueError: where an operator has not exactly one.
    """
    found = {}
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.rs"))}
    for name in names:
        # Most statics are written out; those of a table are rows, the static before the name.
        written = rf'\bstatic (\w+): OpDef = (?:OpDef \{{\s*name: |\w+\(\s*)"{name}"'
        row = rf'\b([A-Z]\w+)[ ,:(]+"{name}"'
        for declared in (written, row):
            matches = [(module, re.findall(declared, text)) for module, text in texts.items()]
            if places := sorted({f"{module}::{static}" for module, found in matches for static in found}):
                break
        if len(places) != 1:
            raise ValueError(f"the static of {name} is one of {places}")
        found[name] = places[0]
    return found


def documented(text: str, indent: str) -> str:
    """A text as lines of documentation, in which brackets are no links.

    >>> print(documented("A matrix.", "    "), end="")
        /// A matrix.
    """
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        if lines:
            lines.append("")
        width = 118 - len(indent)
        lines += textwrap.wrap(unlinked(paragraph), width, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in lines)


def unlinked(text: str) -> str:
    r"""A text whose brackets outside of code are escaped.

    >>> print(unlinked("[n] of `[k]`"))
    \[n\] of `[k]`
    """
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\[\]<>])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def default_of(kind: str, default: object) -> str:
    """An attribute's default as a Rust expression."""
    if default is None:
        return "Attr::None"
    if isinstance(default, bool):
        return f"Attr::from({str(default).lower()})"
    if isinstance(default, str):
        escaped = default.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'Attr::from("{escaped}")'
    if isinstance(default, _core.DType):
        return f"Attr::from(DType::{RUST_DTYPES[default.name]})"
    return f"Attr::from({default!r}{'i64' if kind == 'Int' else 'f64'})"


RUST_DTYPES = {
    "bool": "Bool",
    "int32": "I32",
    "int64": "I64",
    "float32": "F32",
    "uint8": "U8",
    "float64": "F64",
}


def camel(name: str) -> str:
    """A name as that of a type.

    >>> camel("reduce_sum")
    'ReduceSum'
    """
    return "".join(part.capitalize() for part in name.split("_"))


def result_of(written: str) -> tuple[str, str]:
    """The Rust type of a method's result, and how it is taken from `results`."""
    count = written.count("Tensor") if written.startswith("tuple[") else 1
    if written == "None":
        return "()", "drop(results);\n        Ok(())"
    if "_Tensors" in written:
        return "Vec<Value>", "Ok(results.into_vec())"
    if count == 1:
        return "Value", "exactly(&results).map(|[result]| result)"
    return f"({', '.join(['Value'] * count)})", "exactly(&results).map(Into::into)"


def method(op: _core.Op, operands: Sequence[str], result: str, static: str) -> str:
    """The methods of an operator."""
    name = op.__name__
    fixed = [operand for operand in operands if not operand.startswith("*")]
    rest = [operand[1:] for operand in operands if operand.startswith("*")]
    required = [(a, kind) for a, kind, default in op.attributes if default is ...]
    optional = [(a, kind) for a, kind, default in op.attributes if default is not ...]
    parameters = [f"{operand}: Value" for operand in fixed]
    parameters += [f"{operand}: &[Value]" for operand in rest]
    parameters += [f"{a}: {KINDS[kind][0]}" for a, kind in required]
    arguments = [*fixed, *rest, *(a for a, _ in required)]
    given = f"&[{', '.join(fixed)}]"
    if rest:
        given = rest[0] if not fixed else f"&[{given}[..], {rest[0]}].concat()"
    returned, taken = result_of("_Tensors" if name == "with_gradient" else result)
    order = [a for a, _, _ in op.attributes]
    held = {a: f"Attr::from({KINDS[kind][1].format(a)})" for a, kind in required}
    held |= {a: f"attrs.{a}" for a, _ in optional}
    listed = ", ".join(held[a] for a in order)
    attrs = f"Attrs(SmallVec::from_vec(vec![{listed}]))" if order else "Attrs::default()"
    body = (
        f"        let results = self.add_instruction(&penstock_ops::{static}, {given}, {attrs})?;\n"
        f"        {taken}\n    }}\n"
    )
    errors = "    ///\n    /// # Errors\n    /// What the operator's declaration and inference report.\n"
    text = f"\n{documented(documentation(op), '    ')}{errors}"

    def head(name: str) -> str:
        listed = "".join(f", {parameter}" for parameter in parameters)
        return f"    fn {name}(&mut self{listed}) -> Result<{returned}> {{\n"

    if not optional:
        return text + head(name) + body
    settings = f"attributes::{camel(name)}"
    text += (
        head(name) + f"        self.{name}_with({', '.join([*arguments, f'{settings}::new()'])})\n    }}\n"
    )
    parameters.append(f"attrs: {settings}")
    text += f"\n    /// As [`Operators::{name}`], with attributes.\n{errors}"
    return text + head(f"{name}_with") + body


def documentation(op: _core.Op) -> str:
    """The summary of an operator, and the rest of its documentation."""
    return (op.__doc__ or "").strip()


def settings(op: _core.Op) -> str:
    """The struct of the attributes of an operator that may be left out; empty where it has none."""
    optional = [(a, kind, default) for a, kind, default in op.attributes if default is not ...]
    if not optional:
        return ""
    name = camel(op.__name__)
    fields = "".join(f"        pub(super) {a}: Attr,\n" for a, _, _ in optional)
    defaults = ", ".join(f"{a}: {default_of(kind, default)}" for a, kind, default in optional)
    rest = ", ..self" if len(optional) > 1 else ""
    setters = "".join(
        f"\n        /// Gives `{a}`{'' if default is None else f', by default `{shown(default)}`'}.\n"
        f"        #[must_use]\n        pub fn {a}(self, {a}: {KINDS[kind][0]}) -> {name} {{\n"
        f"            {name} {{ {a}: Attr::from({KINDS[kind][1].format(a)}){rest} }}\n        }}\n"
        for a, kind, default in optional
    )
    return (
        f"\n    /// Attributes of [`super::Operators::{op.__name__}_with`].\n"
        f"    #[derive(Clone, Debug)]\n    pub struct {name} {{\n{fields}    }}\n"
        f"\n    impl {name} {{\n        /// The defaults.\n        pub fn new() -> {name} {{\n"
        f"            {name} {{ {defaults} }}\n        }}\n{setters}    }}\n"
        f"\n    impl Default for {name} {{\n        fn default() -> {name} {{\n"
        f"            {name}::new()\n        }}\n    }}\n"
    )


def shown(default: object) -> str:
    """A default for people."""
    if isinstance(default, bool):
        return str(default).lower()
    return default.name if isinstance(default, _core.DType) else repr(default)


def module(
    ops: Mapping[str, _core.Op],
    families: Sequence[tuple[str, list[str]]],
    results: Mapping[str, str],
) -> str:
    """The text of `operators.rs`."""
    written = [name for _, names in families for name in names if name not in OTHERS]
    paths = statics(written)
    methods = []
    for name in written:
        operands = [operand for operand, _ in ops[name].operands]
        kinds = dict(ops[name].operands)
        operands = [f"*{o}" if kinds[o].startswith("*") else o for o in operands]
        methods.append(method(ops[name], operands, results.get(name, "Tensor"), paths[name]))
    structs = [settings(ops[name]) for name in written]
    return HEADER + "".join(methods) + "}\n" + FOOTER + "".join(structs) + "}\n"
