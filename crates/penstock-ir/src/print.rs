//! The text form of graphs: how people read them, how passes are tested, how bugs are reported.
//!
//! It is complete: reading back what is printed gives the compacted graph, with ids, names,
//! attributes, callees and source locations.
//!
//! ```text
//! # The callees come before their callers; the last function is the main one.
//! func @main(%0 "x": f32[s0,784], %1 "w": var f32[10,784], %2: bool[]) -> f32[s0,10] {
//!   %3: f32[10,784] = read_variable %1                        ; train.py:12:9
//!   %4 "logits": f32[s0,10] = matmul %0, %3 {transpose_b=true}  ; train.py:12:9 in step from train.py:30:1
//!   %5: f32[s0,10] = cond %2 ({
//!     %6: f32[s0,10] = relu %4
//!     yield %6
//!   }, {
//!     yield %4
//!   })
//!   assign %1, %3
//!   return %5
//! }
//! ```
//!
//! # Grammar
//!
//! ```text
//! text      = function+
//! function  = "func" "@" name "(" [param {"," param}] ")" ["->" type {"," type}] ["{" inst* "return" [values] "}"]
//! param     = value [string] ":" type
//! inst      = [result {"," result} "="] operator [values] ["{" [attr {"," attr}] "}"] [regions] [location]
//! result    = value [string] [":" type]        the string is its name; a missing type is inferred
//! values    = value {"," value}                the first on the line of the operator, "return" or "yield"
//! regions   = "(" region {"," region} ")"
//! region    = ["(" [param {"," param}] ")"] "{" inst* "yield" [values] "}"
//! value     = "%" (letter | digit | "_" | ".")+
//! name      = word | string
//! type      = ["var"] dtype shape              f32[2,s0,?]  i64[]  var str[*]
//! shape     = "[" (size | symbol | "?"),* "]" | "[*]"
//! attr      = word "=" constant                one that equals its default is not printed
//! constant  = by the kind that the operator declares:
//!             flag    true, false
//!             number  3, -1.5, 1e-7, nan, inf, -inf, or the bits as 0x7fc00001
//!             text    "a\"b\\c\n\t\r\x00"
//!             list    [0,-1]
//!             dtype   f32
//!             shape   [s0,?,3]
//!             types   (f32[2], var str[*])
//!             tensor  f32[2,2] [1,2,3,4]   f32[] 1.5   c64[1] [(1,-2)]   str[1] ["a"]
//!                     f32[9,9] from "key"   stands elsewhere, and needs a resolver of constants when read
//!             callee  @name
//!             host    host("name")             needs a resolver of host code when read
//! location  = ";" place {"from" place}         to the end of the line; "from" leads outward through the callers
//! place     = file ":" line [":" column] ["in" function]     file and function are quoted where they have spaces
//! ```
//!
//! A comment starts with `#` and ends with its line. A value's id is used once in a function, and
//! is seen after its instruction until the end of the region.

use std::fmt::{self, Write};
use std::sync::Arc;

use penstock_data::{Frame, Loc, Result, Tensor};
use penstock_kernels::stack;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attr::{Attr, AttrDef, AttrDefault};
use crate::entities::{Region, Value};
use crate::graph::{Function, Graph, InstData};
use crate::lex::is_word;
use crate::literal::{Literal, write_string, write_tensor};
use crate::op::Signature;
use crate::types::Type;

/// The column at which locations stand, where the line leaves room.
const LOCATION_COLUMN: usize = 64;

/// What to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// Print at most so many elements of a constant, for people; such a text cannot be read back.
    pub elide: Option<usize>,
    /// What to print of source locations.
    pub locs: Locations,
}

/// What is printed of source locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Locations {
    /// Nothing.
    None,
    /// The names of files without their directories, which may tell of the machine and its user.
    Names,
    /// The paths of files as they are.
    #[default]
    Full,
}

impl Default for PrintOptions {
    /// Everything.
    fn default() -> PrintOptions {
        PrintOptions { elide: None, locs: Locations::Full }
    }
}

/// The text form of a function and of all that it calls.
pub fn print_function(function: &Function, options: &PrintOptions) -> String {
    let print = || {
        let mut printer = Printer::new(*options);
        printer.names.insert(function, function.name().to_string());
        if let Some(graph) = function.graph() {
            printer.callees(called(graph));
        }
        printer.function(function);
        printer.out
    };
    with_room(function.graph().map(|graph| &**graph), print)
}

/// Gives a constant the key by which a text refers to it; `None` to have it in the text.
pub type ConstantSink<'a> = &'a mut (dyn FnMut(&Tensor) -> Option<String> + Send);

/// The text form of several functions and of all that they call, each function once, and the name that each of `functions`
/// has in it. The constants that `constants` gives a key are referred to by that.
///
/// # Errors
/// `ResourceExhausted` where calls and regions go too deep for any stack.
pub fn print_functions(
    functions: &[Arc<Function>],
    options: &PrintOptions,
    constants: ConstantSink<'_>,
) -> Result<(String, Vec<String>)> {
    let graphs = functions.iter().filter_map(|f| f.graph().map(|graph| &**graph));
    stack::with_room(levels(graphs), || {
        let mut printer = Printer { constants: Some(constants), ..Printer::new(*options) };
        for function in functions {
            printer.callees([function.clone()]);
        }
        let names = functions.iter().map(|f| printer.names[&Arc::as_ptr(f)].clone()).collect();
        (printer.out, names)
    })
}

/// How deep a printer of graphs may have to go, with all that they call.
fn levels<'a>(graphs: impl Iterator<Item = &'a Graph>) -> usize {
    let called = |graph: &Graph| -> Vec<Arc<Function>> {
        let attrs = graph.insts.iter().flat_map(|(_, data)| &data.attrs.0);
        attrs.filter_map(|a| if let Attr::Func(f) = a { f.get().ok() } else { None }).collect()
    };
    let (mut levels, mut open) = (0, Vec::new());
    for graph in graphs {
        levels = levels.max(graph.depth());
        open.extend(called(graph));
    }
    let mut seen: FxHashSet<*const Function> = FxHashSet::default();
    while let Some(function) = open.pop() {
        if seen.insert(Arc::as_ptr(&function))
            && let Some(graph) = function.graph()
        {
            levels = levels.max(graph.depth()) + 1;
            open.extend(called(graph));
        }
    }
    levels
}

/// Prints where the stack has room for the regions of a graph, and for the functions that it calls.
fn with_room(graph: Option<&Graph>, print: impl FnOnce() -> String + Send) -> String {
    stack::with_room(levels(graph.into_iter()), print).unwrap_or_else(|error| error.to_string())
}

/// The text form of a graph, as the function `@main`, and of all that it calls.
pub fn print_graph(graph: &Graph, options: &PrintOptions) -> String {
    let print = || {
        let mut printer = Printer::new(*options);
        printer.names.insert(std::ptr::null(), "main".to_string());
        printer.callees(called(graph));
        printer.definition("main", &graph.signature(), Some(graph));
        printer.out
    };
    with_room(Some(graph), print)
}

/// A constant as it stands in attributes: `f32[2,2] [1,2,3,4]`. With `elide`, at most that many elements.
pub fn print_tensor(tensor: &Tensor, elide: Option<usize>) -> String {
    let mut out = String::new();
    write_tensor(&mut out, tensor, elide);
    out
}

/// The attributes of an instruction that are not the default, as the text form has them: `axis=1, keep_dims=true`. With `elide`, at
/// most that many elements of a constant.
pub fn print_attributes(data: &InstData, elide: Option<usize>) -> String {
    let mut printer = Printer::new(PrintOptions { elide, ..PrintOptions::default() });
    let called = data.attrs.0.iter().filter_map(|a| if let Attr::Func(f) = a { f.get().ok() } else { None });
    for function in called {
        printer.names.insert(Arc::as_ptr(&function), function.name().to_owned());
    }
    printer.attrs(data);
    printer.out.strip_prefix(" {").and_then(|out| out.strip_suffix('}')).unwrap_or_default().to_owned()
}

/// An instruction in short, for errors: `%7 = matmul %1, %2`.
pub(crate) fn summary(data: &InstData) -> String {
    let mut out = String::new();
    write_list(&mut out, &data.results, "");
    if !data.results.is_empty() {
        out.push_str(" = ");
    }
    out.push_str(data.op.name);
    write_list(&mut out, &data.operands, " ");
    out
}

impl Function {
    /// The complete text form of this function and of all that it calls.
    pub fn to_text(&self) -> String {
        print_function(self, &PrintOptions::default())
    }
}

impl fmt::Display for Function {
    /// The complete text form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Display for Graph {
    /// The complete text form, as the function `@main`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_graph(self, &PrintOptions::default()))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn write_list<T: fmt::Display>(out: &mut String, items: &[T], lead: &str) {
    for (i, item) in items.iter().enumerate() {
        let _ = write!(out, "{}{item}", if i == 0 { lead } else { ", " });
    }
}

/// The functions that a graph calls, in the order of the calls.
fn called(graph: &Graph) -> Vec<Arc<Function>> {
    let mut called = Vec::new();
    graph.visit(&mut |_, _, data| {
        called.extend(data.attrs.0.iter().filter_map(|a| if let Attr::Func(f) = a { f.get().ok() } else { None }));
    });
    called
}

struct Printer<'a> {
    out: String,
    options: PrintOptions,
    /// Where constants go that are not to be in the text.
    constants: Option<ConstantSink<'a>>,
    /// The name of each function in this text. The graph that is printed without a function has the null key.
    names: FxHashMap<*const Function, String>,
}

impl<'a> Printer<'a> {
    fn new(options: PrintOptions) -> Printer<'a> {
        Printer { out: String::new(), options, constants: None, names: FxHashMap::default() }
    }

    /// Prints these functions, each after those that it calls itself.
    fn callees(&mut self, functions: impl IntoIterator<Item = Arc<Function>>) {
        // Each function that is being printed, with those that it calls and that are still to be looked at.
        let mut open = vec![(None, functions.into_iter().collect::<Vec<_>>().into_iter())];
        while let Some((_, rest)) = open.last_mut() {
            if let Some(function) = rest.next() {
                let key = Arc::as_ptr(&function);
                if self.names.contains_key(&key) {
                    continue;
                }
                let name = self.unique(function.name());
                self.names.insert(key, name);
                let inner = function.graph().map(|graph| called(graph)).unwrap_or_default();
                open.push((Some(function), inner.into_iter()));
            } else if let Some((Some(function), _)) = open.pop() {
                self.function(&function);
                self.out.push('\n');
            }
        }
    }

    /// `name`, or with a number where another function of this text has it.
    fn unique(&self, name: &str) -> String {
        let taken: FxHashSet<&str> = self.names.values().map(String::as_str).collect();
        let mut candidates = std::iter::once(name.to_string()).chain((1..).map(|n| format!("{name}_{n}")));
        candidates.find(|c| !taken.contains(c.as_str())).unwrap_or_default()
    }

    fn function(&mut self, function: &Function) {
        let name = self.names[&std::ptr::from_ref(function)].clone();
        self.definition(&name, function.signature(), function.graph().map(|graph| &**graph));
    }

    fn definition(&mut self, name: &str, signature: &Signature, graph: Option<&Graph>) {
        self.out.push_str("func ");
        write_function_name(&mut self.out, name);
        match graph {
            Some(graph) => self.params(graph, graph.inputs()),
            None => {
                let params: Vec<String> =
                    signature.params.iter().enumerate().map(|(i, ty)| format!("%{i}: {ty}")).collect();
                let _ = write!(self.out, "({})", params.join(", "));
            }
        }
        write_list(&mut self.out, &signature.results, " -> ");
        if let Some(graph) = graph {
            self.out.push_str(" {\n");
            self.region(graph, graph.body(), "return", 1);
            self.out.push('}');
        }
        self.out.push('\n');
    }

    fn params(&mut self, graph: &Graph, params: &[Value]) {
        self.out.push('(');
        self.typed_values(graph, params);
        self.out.push(')');
    }

    /// `%0 "x": f32[2], %1: i32[]`
    fn typed_values(&mut self, graph: &Graph, values: &[Value]) {
        for (i, &v) in values.iter().enumerate() {
            let _ = write!(self.out, "{}{v}", if i == 0 { "" } else { ", " });
            if let Some(name) = graph.names.get(&v) {
                self.out.push(' ');
                write_string(&mut self.out, name.as_bytes());
            }
            // Broken graphs are printed too, when they are debugged.
            if let Some(data) = graph.values.get(v) {
                let _ = write!(self.out, ": {}", data.ty);
            }
        }
    }

    fn region(&mut self, graph: &Graph, region: Region, end: &str, depth: usize) {
        let data = &graph.regions[region];
        for &inst in &data.insts {
            self.indent(depth);
            self.inst(graph, &graph.insts[inst], depth);
            if self.options.locs != Locations::None {
                self.location(graph.locs.get(inst).copied().unwrap_or_default());
            }
            self.out.push('\n');
        }
        self.indent(depth);
        self.out.push_str(end);
        write_list(&mut self.out, &data.results, " ");
        self.out.push('\n');
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }

    fn inst(&mut self, graph: &Graph, data: &InstData, depth: usize) {
        self.typed_values(graph, &data.results);
        if !data.results.is_empty() {
            self.out.push_str(" = ");
        }
        self.out.push_str(data.op.name);
        write_list(&mut self.out, &data.operands, " ");
        self.attrs(data);
        if data.regions.is_empty() {
            return;
        }
        for (i, &region) in data.regions.iter().enumerate() {
            self.out.push_str(if i == 0 { " (" } else { ", " });
            let params = &graph.regions[region].params;
            if !params.is_empty() {
                self.params(graph, params);
                self.out.push(' ');
            }
            self.out.push_str("{\n");
            self.region(graph, region, "yield", depth + 1);
            self.indent(depth);
            self.out.push('}');
        }
        self.out.push(')');
    }

    fn attrs(&mut self, data: &InstData) {
        let mut first = true;
        for (def, attr) in data.op.attrs.iter().zip(&data.attrs.0) {
            if is_default(def, attr) {
                continue;
            }
            self.out.push_str(if first { " {" } else { ", " });
            first = false;
            self.out.push_str(def.name);
            self.out.push('=');
            self.attr(attr);
        }
        if !first {
            self.out.push('}');
        }
    }

    fn attr(&mut self, attr: &Attr) {
        let out = &mut self.out;
        match attr {
            // Only a broken graph has one that is not the default.
            Attr::None => out.push_str("none"),
            Attr::Bool(v) => {
                let _ = write!(out, "{v}");
            }
            Attr::Int(v) => v.write(out),
            Attr::Float(v) => {
                v.write(out);
            }
            Attr::Str(v) => write_string(out, v.as_bytes()),
            Attr::Ints(v) => {
                let items: Vec<String> = v.iter().map(i64::to_string).collect();
                let _ = write!(out, "[{}]", items.join(","));
            }
            Attr::DType(v) => {
                let _ = write!(out, "{v}");
            }
            Attr::Shape(v) => {
                let _ = write!(out, "{v}");
            }
            Attr::Types(v) => {
                let items: Vec<String> = v.iter().map(Type::to_string).collect();
                let _ = write!(out, "({})", items.join(", "));
            }
            Attr::Tensor(v) => match self.constants.as_mut().and_then(|sink| sink(v)) {
                Some(key) => {
                    let _ = write!(out, "{}{} from ", v.dtype(), penstock_data::Shape::known(v.dims()));
                    write_string(out, key.as_bytes());
                }
                None => write_tensor(out, v, self.options.elide),
            },
            Attr::Func(v) => match v.get() {
                Ok(f) => write_function_name(out, self.names.get(&Arc::as_ptr(&f)).map_or(f.name(), String::as_str)),
                Err(_) => write_function_name(out, "freed"),
            },
            Attr::Host(v) => {
                out.push_str("host(");
                write_string(out, v.0.name().as_bytes());
                out.push(')');
            }
        }
    }

    fn location(&mut self, loc: Loc) {
        let stack = loc.stack();
        if stack.is_empty() {
            return;
        }
        let line_start = self.out.rfind('\n').map_or(0, |i| i + 1);
        let column = self.out[line_start..].chars().count() + 2;
        for _ in column..LOCATION_COLUMN {
            self.out.push(' ');
        }
        self.out.push_str("  ;");
        for (i, frame) in stack.iter().enumerate() {
            self.out.push_str(if i == 0 { " " } else { " from " });
            let file = match self.options.locs {
                Locations::Names => frame.file.rsplit(['/', '\\']).next().unwrap_or_default(),
                _ => &frame.file,
            };
            write_place(&mut self.out, file, frame);
        }
    }
}

/// Whether an attribute is what reading gives where it is left out. Exact: `-0.0` is not `0.0`.
fn is_default(def: &AttrDef, attr: &Attr) -> bool {
    match (def.default, attr) {
        (AttrDefault::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
        _ => def.default_value().as_ref() == Some(attr),
    }
}

fn write_function_name(out: &mut String, name: &str) {
    out.push('@');
    if is_word(name) {
        out.push_str(name);
    } else {
        write_string(out, name.as_bytes());
    }
}

fn write_place(out: &mut String, file: &str, frame: &Frame) {
    if is_plain_file(file) {
        out.push_str(file);
    } else {
        write_string(out, file.as_bytes());
    }
    let _ = write!(out, ":{}", frame.line);
    if frame.column > 0 {
        let _ = write!(out, ":{}", frame.column);
    }
    if !frame.function.is_empty() {
        out.push_str(" in ");
        if is_plain_function(&frame.function) {
            out.push_str(&frame.function);
        } else {
            write_string(out, frame.function.as_bytes());
        }
    }
}

/// Whether a path needs no quotes in a location.
pub(crate) fn is_plain_file(file: &str) -> bool {
    !file.is_empty() && file.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b':' | b'"' | b'#' | b'\\'))
}

/// Whether the name of a function (`f`, `C.f`, `<lambda>`) needs no quotes in a location.
pub(crate) fn is_plain_function(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'<' | b'>'))
}
