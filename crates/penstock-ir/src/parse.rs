//! Reads the text form, whose grammar stands in `print.rs`.

use std::borrow::Cow;
use std::sync::Arc;

use penstock_data::{
    DType, Dim, Dims, Error, Frame, Loc, Result, Shape, Symbol, Table, Tensor, num_elements, with_dtype,
};
use penstock_kernels::stack;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::attr::{Attr, AttrDef, AttrKind, FuncRef, HostRef};
use crate::builder::{MAX_NESTING, nests_too_deep};
use crate::entities::{Inst, Region, Value};
use crate::graph::{Def, Function, Graph, InstData, OpRef, RegionData, ValueData, Verified};
use crate::lex::{Token, line_column, next_token, quoted_len};
use crate::literal::{Literal, unescape};
use crate::op::{OpDef, OpSet, OutTypes, Signature};
use crate::print::{is_plain_file, is_plain_function};
use crate::types::Type;
use crate::verify::{check_results, infer_types};

/// Finds host code by the name that a text gives it.
pub type HostResolver<'a> = &'a dyn Fn(&str) -> Option<HostRef>;

/// The resolver that knows no host code.
pub fn no_hosts(_: &str) -> Option<HostRef> {
    None
}

/// Finds a constant by the key that a text gives it. The text says its type too, which must be the tensor's.
pub type ConstantResolver<'a> = &'a dyn Fn(&str) -> Option<Tensor>;

/// Where what a text names, and does not hold, is found.
#[derive(Clone, Copy)]
pub struct Resolvers<'a> {
    /// Host code.
    pub hosts: HostResolver<'a>,
    /// Constants.
    pub constants: ConstantResolver<'a>,
}

/// Reads the text form: the main function, which is the last, with all that it calls.
///
/// Types that the text leaves out are inferred; those that it gives are checked. Operators are
/// looked up in `ops`, host code through `hosts`.
///
/// # Errors
/// `InvalidArgument` with line and column, and what was expected there, or the class that the
/// verifier reports for an instruction. Never panics on any text.
pub fn parse_function(text: &str, ops: &dyn OpSet, hosts: HostResolver<'_>) -> Result<Arc<Function>> {
    let mut functions = parse_functions(text, ops, Resolvers { hosts, constants: &|_| None })?;
    functions.pop().ok_or_else(|| Error::internal("a text without functions was accepted"))
}

/// Reads the text form: all its functions, at least one, in their order, each under the name that it has there.
///
/// # Errors
/// As [`parse_function`].
pub fn parse_functions(text: &str, ops: &dyn OpSet, resolvers: Resolvers<'_>) -> Result<Vec<Arc<Function>>> {
    let mut parser = Parser::new(text, ops, resolvers);
    // All signatures first: a function may call itself, or one that follows.
    let mut headers = Vec::new();
    while parser.token != Token::End || headers.is_empty() {
        let header = parser.header()?;
        headers.push(header);
    }
    for header in callees_first(&headers) {
        if let Some(body) = header.body {
            let graph = parser.body(header, body)?;
            header.function.define(Verified::new(graph)?)?;
        }
    }
    Ok(headers.into_iter().map(|h| h.function).collect())
}

/// The functions of a text, each after those that it calls, but for those that call it in turn: these keep it, and it does
/// not keep them, so that functions which call each other are freed.
fn callees_first<'h, 'a>(headers: &'h [Header<'a>]) -> Vec<&'h Header<'a>> {
    let index: FxHashMap<&str, usize> = headers.iter().enumerate().map(|(i, h)| (h.function.name(), i)).collect();
    let mut seen = vec![false; headers.len()];
    let mut order = Vec::with_capacity(headers.len());
    // From the last, which is the main one and keeps all others.
    for root in (0..headers.len()).rev() {
        // Each function that is open, and how many of the names in it have been looked at.
        let mut open = vec![(root, 0)];
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some((at, next)) = open.last_mut() {
            let header = &headers[*at];
            let Some(name) = header.calls.get(*next) else {
                order.push(header);
                open.pop();
                continue;
            };
            *next += 1;
            if let Some(&callee) = index.get(&**name)
                && !std::mem::replace(&mut seen[callee], true)
            {
                open.push((callee, 0));
            }
        }
    }
    order
}

/// Reads constants as they stand in attributes, with commas between them: `f32[] 1.5, i64[2] [1,2]`.
///
/// # Errors
/// `InvalidArgument` with line and column, and what was expected there.
pub fn parse_tensors(text: &str) -> Result<Vec<Tensor>> {
    let mut parser = Parser::new(text, &NoOps, Resolvers { hosts: &no_hosts, constants: &|_| None });
    let mut out = Vec::new();
    while parser.token != Token::End {
        out.push(parser.tensor()?);
        if !parser.eat(",") && parser.token != Token::End {
            return parser.expected("',' or the end of the text");
        }
    }
    Ok(out)
}

struct NoOps;

impl OpSet for NoOps {
    fn find(&self, _: &str) -> Option<&'static OpDef> {
        None
    }
}

/// How a call refers to a function: one that is only declared in the text is kept by its callers.
type Refer = fn(&Arc<Function>) -> FuncRef;

/// The head of a function.
struct Header<'a> {
    function: Arc<Function>,
    params: Vec<Param<'a>>,
    /// Where its `{` stands; `None` where it is only declared.
    body: Option<usize>,
    /// The functions that the body names.
    calls: Vec<Cow<'a, str>>,
}

/// A parameter or a result in the text.
struct Param<'a> {
    id: &'a str,
    at: usize,
    name: Option<Arc<str>>,
    ty: Type,
}

/// A graph as far as it has been read.
struct Body<'a> {
    graph: Graph,
    values: FxHashMap<&'a str, Value>,
    open: Vec<Region>,
}

struct Parser<'a, 'e> {
    text: &'a str,
    token: Token<'a>,
    /// Where the token starts.
    start: usize,
    /// Where it ends.
    end: usize,
    /// Where the one before it ended.
    last: usize,
    ops: &'e dyn OpSet,
    resolvers: Resolvers<'e>,
    /// By name, and how a call refers to it.
    functions: FxHashMap<Cow<'a, str>, (Arc<Function>, Refer)>,
}

impl<'a, 'e> Parser<'a, 'e> {
    fn new(text: &'a str, ops: &'e dyn OpSet, resolvers: Resolvers<'e>) -> Parser<'a, 'e> {
        let functions = FxHashMap::default();
        let mut parser = Parser { text, start: 0, end: 0, last: 0, token: Token::End, ops, resolvers, functions };
        parser.advance();
        parser
    }

    // --- words ---

    fn advance(&mut self) {
        self.last = self.end;
        (self.start, self.end, self.token) = next_token(self.text, self.end);
    }

    fn seek(&mut self, at: usize) {
        self.end = at;
        self.advance();
    }

    #[cold]
    fn error_at(&self, at: usize, message: impl std::fmt::Display) -> Error {
        let (line, column) = line_column(self.text, at);
        Error::invalid(format!("{line}:{column}: {message}"))
    }

    /// The error of a check, with the place in the text.
    #[cold]
    fn placed(&self, at: usize, error: &Error) -> Error {
        let (line, column) = line_column(self.text, at);
        let placed = Error::new(error.class(), format!("{line}:{column}: {error}"));
        error.loc().map_or(placed.clone(), |loc| placed.at(loc))
    }

    #[cold]
    fn expected<T>(&self, what: impl std::fmt::Display) -> Result<T> {
        Err(self.error_at(self.start, format!("expected {what}, found {}", self.token)))
    }

    fn is(&self, punct: &str) -> bool {
        matches!(self.token, Token::Punct(p) if p == punct)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: &str) -> Result<()> {
        if self.eat(punct) { Ok(()) } else { self.expected(format_args!("'{punct}'")) }
    }

    /// Items between the opening mark, which has been read, and `close`, with commas between them.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut out = Vec::new();
        while !self.is(close) {
            out.push(item(self)?);
            if !self.eat(",") && !self.is(close) {
                return self.expected(format_args!("',' or '{close}'"));
            }
        }
        self.advance();
        Ok(out)
    }

    fn string(&mut self, what: &str) -> Result<Vec<u8>> {
        let Token::Str(inside) = self.token else { return self.expected(what) };
        let bytes = unescape(inside).ok_or_else(|| {
            self.error_at(self.start, r#"a wrong escape in a string; there are \" \\ \n \t \r and \xNN"#)
        })?;
        self.advance();
        Ok(bytes)
    }

    fn text_string(&mut self, what: &str) -> Result<String> {
        let at = self.start;
        String::from_utf8(self.string(what)?).map_err(|_| self.error_at(at, "expected a string that is UTF-8"))
    }

    /// The name after `@`, with the place where it stands.
    fn function_name(&mut self) -> Result<Cow<'a, str>> {
        self.expect("@")?;
        if let Token::Word(name) = self.token {
            self.advance();
            return Ok(Cow::Borrowed(name));
        }
        self.text_string("the name of a function").map(Cow::Owned)
    }

    // --- functions ---

    fn header(&mut self) -> Result<Header<'a>> {
        if !self.is_word("func") {
            return self.expected("'func'");
        }
        self.advance();
        let at = self.start;
        let name = self.function_name()?;
        if self.functions.contains_key(&name) {
            return Err(self.error_at(at, format!("the function @{name} is defined twice")));
        }
        self.expect("(")?;
        let params = self.list(")", Self::param)?;
        let mut results = Vec::new();
        if self.eat("->") {
            results.push(self.ty()?);
            while self.eat(",") {
                results.push(self.ty()?);
            }
        }
        let body = self.is("{").then_some(self.start);
        let mut calls = Vec::new();
        if body.is_some() {
            calls = self.skip_block()?;
        } else if self.token != Token::End && !self.is_word("func") {
            return self.expected("'{' or the next function");
        }
        let signature = Signature { params: params.iter().map(|p| p.ty.clone()).collect(), results };
        let function = Arc::new(Function::declare(name.as_ref(), signature));
        let refer = if body.is_some() { FuncRef::called } else { |f: &Arc<Function>| FuncRef::new(f.clone()) };
        self.functions.insert(name, (function.clone(), refer));
        Ok(Header { function, params, body, calls })
    }

    /// Passes over a block, and gives the names of the functions in it.
    fn skip_block(&mut self) -> Result<Vec<Cow<'a, str>>> {
        let open = self.start;
        let mut depth = 0usize;
        let mut names = Vec::new();
        loop {
            match self.token {
                Token::Punct("@") => {
                    names.push(self.function_name()?);
                    continue;
                }
                Token::Punct("{") => depth += 1,
                Token::Punct("}") => depth -= 1,
                Token::Unterminated => return Err(self.error_at(self.start, self.token)),
                Token::End => return Err(self.error_at(open, "this '{' is not closed")),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return Ok(names);
            }
        }
    }

    fn body(&mut self, header: &Header<'a>, at: usize) -> Result<Graph> {
        self.seek(at);
        let mut body = Body { graph: Graph::default(), values: FxHashMap::default(), open: Vec::new() };
        self.region(&mut body, &header.params, "return")?;
        let got = body.graph.signature().results;
        let due = &header.function.signature().results;
        if got.len() != due.len() || !got.iter().zip(due).all(|(g, d)| g.is_subtype_of(d)) {
            let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            return Err(self.error_at(
                at,
                format!(
                    "@{} is declared to give ({}), but returns ({})",
                    header.function.name(),
                    list(due),
                    list(&got)
                ),
            ));
        }
        Ok(body.graph)
    }

    /// `%0 "x": f32[2]`
    fn param(&mut self) -> Result<Param<'a>> {
        let (id, at) = self.value_id()?;
        let name = self.value_name()?;
        self.expect(":")?;
        Ok(Param { id, at, name, ty: self.ty()? })
    }

    fn value_id(&mut self) -> Result<(&'a str, usize)> {
        let Token::Value(id) = self.token else { return self.expected("a value") };
        let at = self.start;
        self.advance();
        Ok((id, at))
    }

    fn value_name(&mut self) -> Result<Option<Arc<str>>> {
        Ok(match self.token {
            Token::Str(_) => Some(self.text_string("a name")?.into()),
            _ => None,
        })
    }

    // --- regions and instructions ---

    /// Reads `{ inst* end values }`.
    fn region(&mut self, body: &mut Body<'a>, params: &[Param<'a>], end: &str) -> Result<Region> {
        stack::check(body.open.len())?;
        let brace = self.start;
        if body.open.len() == MAX_NESTING {
            return Err(self.error_at(brace, nests_too_deep()));
        }
        self.expect("{")?;
        let region = body.graph.regions.push(RegionData::default());
        body.open.push(region);
        for (i, param) in params.iter().enumerate() {
            let data = ValueData { ty: param.ty.clone(), def: Def::Param(i as u32), region };
            let value = body.graph.values.push(data);
            body.graph.regions[region].params.push(value);
            self.define(body, param.id, param.at, param.name.clone(), value)?;
        }
        while !self.is_word(end) {
            self.inst(body, region, end)?;
        }
        body.graph.regions[region].results = self.operands(body)?.into_iter().collect();
        self.expect("}")?;
        body.open.pop();
        Ok(region)
    }

    fn define(&self, body: &mut Body<'a>, id: &'a str, at: usize, name: Option<Arc<str>>, value: Value) -> Result<()> {
        if body.values.insert(id, value).is_some() {
            return Err(self.error_at(at, format!("%{id} is defined twice")));
        }
        if let Some(name) = name {
            body.graph.names.insert(value, name);
        }
        Ok(())
    }

    /// Passes over a word, and reads the values that follow it on its line.
    fn operands(&mut self, body: &Body<'a>) -> Result<SmallVec<[Value; 3]>> {
        self.advance();
        let mut out = SmallVec::new();
        let same_line = !self.text[self.last..self.start].contains('\n');
        if same_line && matches!(self.token, Token::Value(_)) {
            out.push(self.operand(body)?);
            while self.eat(",") {
                out.push(self.operand(body)?);
            }
        }
        Ok(out)
    }

    fn operand(&mut self, body: &Body<'a>) -> Result<Value> {
        let (id, at) = self.value_id()?;
        match body.values.get(id) {
            None => Err(self.error_at(at, format!("%{id} is not defined"))),
            Some(&v) if !body.open.contains(&body.graph.values[v].region) => {
                Err(self.error_at(at, format!("%{id} is out of scope here")))
            }
            Some(&v) => Ok(v),
        }
    }

    fn inst(&mut self, body: &mut Body<'a>, region: Region, end: &str) -> Result<()> {
        let at = self.start;
        let mut results = Vec::new();
        if matches!(self.token, Token::Value(_)) {
            results.push(self.result()?);
            while self.eat(",") {
                results.push(self.result()?);
            }
            self.expect("=")?;
        }
        let Token::Word(name) = self.token else {
            return if results.is_empty() {
                self.expected(format_args!("an instruction or '{end}'"))
            } else {
                self.expected("an operator")
            };
        };
        let op =
            self.ops.find(name).ok_or_else(|| self.error_at(self.start, format!("there is no operator '{name}'")))?;
        let operands = self.operands(body)?;
        let attrs = self.attrs(op.attrs).and_then(|named| op.attributes(&named).map_err(|e| self.placed(at, &e)))?;
        self.ops.admit(op, &attrs).map_err(|e| self.placed(at, &e.in_op(op.name)))?;

        // Ids are given in the order of the text, those of nested regions after those of the results.
        let graph = &mut body.graph;
        let inst = graph.insts.push(InstData {
            op: OpRef(op),
            operands,
            attrs,
            regions: SmallVec::new(),
            results: SmallVec::new(),
        });
        graph.locs.push(Loc::UNKNOWN);
        graph.regions[region].insts.push(inst);
        for (i, result) in results.iter().enumerate() {
            let ty = result.ty.clone().unwrap_or_else(|| Type::scalar(DType::F32));
            let value = graph.values.push(ValueData { ty, def: Def::Result(inst, i as u32), region });
            graph.insts[inst].results.push(value);
        }
        if self.eat("(") {
            let regions = self.list(")", |p| {
                let params = if p.eat("(") { p.list(")", Self::param)? } else { Vec::new() };
                p.region(body, &params, "yield")
            })?;
            body.graph.insts[inst].regions = regions.into();
        }
        if let Token::Location(text) = self.token {
            body.graph.locs[inst] = self.location(text)?;
            self.advance();
        }
        self.check(body, inst, &results).map_err(|e| self.placed(at, &e.in_op(op.name).at(body.graph.locs[inst])))?;
        for (i, result) in results.into_iter().enumerate() {
            let value = body.graph.insts[inst].results[i];
            self.define(body, result.id, result.at, result.name, value)?;
        }
        Ok(())
    }

    /// Infers the types of an instruction's results, and checks those that the text gives.
    fn check(&self, body: &mut Body<'a>, inst: Inst, results: &[ResultText<'a>]) -> Result<()> {
        let inferred: OutTypes = infer_types(&body.graph, inst)?;
        for (i, (result, ty)) in results.iter().zip(&inferred).enumerate() {
            if result.ty.is_none() {
                let value = body.graph.insts[inst].results[i];
                body.graph.values[value].ty = ty.clone();
            }
        }
        check_results(&body.graph, inst, &inferred)
    }

    fn result(&mut self) -> Result<ResultText<'a>> {
        let (id, at) = self.value_id()?;
        let name = self.value_name()?;
        let ty = if self.eat(":") { Some(self.ty()?) } else { None };
        Ok(ResultText { id, at, name, ty })
    }

    // --- types ---

    fn ty(&mut self) -> Result<Type> {
        let variable = self.is_word("var");
        if variable {
            self.advance();
        }
        let dtype = self.dtype("a type")?;
        let shape = self.shape()?;
        Ok(if variable { Type::Variable(dtype, shape) } else { Type::Tensor(dtype, shape) })
    }

    fn dtype(&mut self, what: &str) -> Result<DType> {
        let Token::Word(name) = self.token else { return self.expected(what) };
        let Some(dtype) = DType::from_name(name) else { return self.expected("a dtype") };
        self.advance();
        Ok(dtype)
    }

    fn shape(&mut self) -> Result<Shape> {
        self.expect("[")?;
        if self.eat("*") {
            self.expect("]")?;
            return Ok(Shape::UNRANKED);
        }
        Ok(Shape::new(self.list("]", Self::dim)?))
    }

    fn dim(&mut self) -> Result<Dim> {
        let dim = match self.token {
            Token::Punct("?") => Some(Dim::Unknown),
            Token::Number(n) => n.parse().ok().map(Dim::Known),
            Token::Word(w) => w.strip_prefix('s').and_then(|n| n.parse().ok()).map(|n| Dim::Sym(Symbol(n))),
            _ => None,
        };
        let Some(dim) = dim else { return self.expected("a size, a symbol such as s0, or '?'") };
        self.advance();
        Ok(dim)
    }

    // --- attributes ---

    fn attrs(&mut self, defs: &'static [AttrDef]) -> Result<Vec<(&'static str, Attr)>> {
        let mut named: Vec<(&'static str, Attr)> = Vec::new();
        if self.eat("{") {
            self.list("}", |p| {
                let at = p.start;
                let Token::Word(name) = p.token else { return p.expected("the name of an attribute") };
                let Some(def) = defs.iter().find(|d| d.name == name) else {
                    let names: Vec<&str> = defs.iter().map(|d| d.name).collect();
                    let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
                    return Err(p.error_at(at, format!("there is no attribute '{name}'; the operator has {known}")));
                };
                if named.iter().any(|(n, _)| *n == name) {
                    return Err(p.error_at(at, format!("the attribute '{name}' is given twice")));
                }
                p.advance();
                p.expect("=")?;
                let value = p.attr(def.kind)?;
                named.push((def.name, value));
                Ok(())
            })?;
        }
        Ok(named)
    }

    fn attr(&mut self, kind: AttrKind) -> Result<Attr> {
        Ok(match kind {
            AttrKind::Bool => Attr::Bool(self.literal::<penstock_data::Bool8>()?.get()),
            AttrKind::Int => Attr::Int(self.literal()?),
            AttrKind::Float => Attr::Float(self.literal()?),
            AttrKind::Str => Attr::Str(self.text_string("a quoted string")?.into()),
            AttrKind::Ints => {
                self.expect("[")?;
                Attr::Ints(self.list("]", Self::literal::<i64>)?.into())
            }
            AttrKind::DType => Attr::DType(self.dtype("a dtype")?),
            AttrKind::Shape => Attr::Shape(self.shape()?),
            AttrKind::Types => {
                self.expect("(")?;
                Attr::Types(self.list(")", Self::ty)?.into())
            }
            AttrKind::Tensor => Attr::Tensor(self.tensor()?),
            AttrKind::Func => {
                let at = self.start;
                let name = self.function_name()?;
                let function = self.functions.get(&name);
                let (found, refer) =
                    function.ok_or_else(|| self.error_at(at, format!("there is no function @{name}")))?;
                Attr::Func(refer(found))
            }
            AttrKind::Host => {
                if !self.is_word("host") {
                    return self.expected("host(\"name\")");
                }
                self.advance();
                self.expect("(")?;
                let at = self.start;
                let name = self.text_string("the name of host code")?;
                self.expect(")")?;
                Attr::Host(
                    (self.resolvers.hosts)(&name)
                        .ok_or_else(|| self.error_at(at, format!("there is no host code {name:?}")))?,
                )
            }
        })
    }

    /// One value of a type; complex ones stand in parentheses.
    fn literal<T: Literal>(&mut self) -> Result<T> {
        let at = self.start;
        let read = if T::DTYPE.is_complex() {
            let open = self.eat("(");
            let parts = if open { self.list(")", Self::number_text)? } else { Vec::new() };
            <[&str; 2]>::try_from(parts).ok().and_then(|[re, im]| T::read(&format!("{re},{im}")))
        } else {
            let word = match self.token {
                Token::Number(w) | Token::Word(w) => w,
                _ => return self.expected(T::EXPECTED),
            };
            let read = T::read(word);
            if read.is_some() {
                self.advance();
            }
            read
        };
        read.map_or_else(
            || {
                let (_, _, found) = next_token(self.text, at);
                Err(self.error_at(at, format!("expected {}, found {found}", T::EXPECTED)))
            },
            Ok,
        )
    }

    fn number_text(&mut self) -> Result<&'a str> {
        match self.token {
            Token::Number(w) | Token::Word(w) => {
                self.advance();
                Ok(w)
            }
            _ => self.expected("a number"),
        }
    }

    fn tensor(&mut self) -> Result<Tensor> {
        let at = self.start;
        let ty = self.ty()?;
        let is_array = !ty.is_variable() && ty.dtype() != DType::Variant;
        let Some(dims) = ty.shape().extents().filter(|_| is_array) else {
            return Err(self.error_at(at, format!("expected the type of a constant, found {ty}")));
        };
        if self.is_word("from") {
            self.advance();
            return self.constant(&ty, &dims);
        }
        if ty.dtype() == DType::Resource {
            return self.table(at);
        }
        if ty.dtype() == DType::Str {
            let values = self.elements(&dims, |p| p.string("a quoted string").map(penstock_data::Bytes::from))?;
            return Tensor::from_strings(&dims, values).map_err(|e| self.placed(at, &e));
        }
        let made = with_dtype!(plain, ty.dtype(), T => Tensor::from_slice(&dims, &self.elements(&dims, Self::literal::<T>)?),
            else with_dtype!(narrow, ty.dtype(), T => Tensor::from_slice(&dims, &self.elements(&dims, Self::literal::<T>)?),
                else unreachable!("lists and tables are read above")));
        made.map_err(|e| self.placed(at, &e))
    }

    /// The keys of a table and their values: `{str[2] ["a","b"]: i64[2] [1,2]}`.
    fn table(&mut self, at: usize) -> Result<Tensor> {
        self.expect("{")?;
        let keys = self.rows()?;
        self.expect(":")?;
        let values = self.rows()?;
        self.expect("}")?;
        let ([count, key_dims @ ..], [of, value_dims @ ..]) = (keys.dims(), values.dims()) else {
            return Err(self.error_at(at, "expected a row of keys and of values for each entry of the table"));
        };
        let mut table = Table::new(keys.dtype(), key_dims, values.dtype(), value_dims);
        if count != of {
            return Err(self.error_at(at, format!("{of} values for the {count} keys of a table")));
        }
        table.insert_unique(&keys, &values).map_err(|e| self.placed(at, &e))?;
        Ok(Tensor::from_table(table))
    }

    /// The keys or the values of a table.
    fn rows(&mut self) -> Result<Tensor> {
        if self.is_word(DType::Resource.name()) {
            return Err(self.error_at(self.start, "expected an array, found a table in a table"));
        }
        self.tensor()
    }

    /// A constant that stands outside of the text, by its key.
    fn constant(&mut self, ty: &Type, dims: &Dims) -> Result<Tensor> {
        let at = self.start;
        let key = self.text_string("the key of a constant")?;
        let Some(found) = (self.resolvers.constants)(&key) else {
            return Err(self.error_at(at, format!("there is no constant {key:?}")));
        };
        if found.dtype() != ty.dtype() || found.dims() != &**dims {
            return Err(self.error_at(at, format!("the constant {key:?} is {}, not {ty}", Type::of(&found))));
        }
        Ok(found)
    }

    /// The elements of a tensor of these extents: one alone for a scalar, else a flat list.
    fn elements<T>(&mut self, dims: &Dims, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut item = item;
        if dims.is_empty() {
            return Ok(vec![item(self)?]);
        }
        let at = self.start;
        self.expect("[")?;
        let values = self.list("]", item)?;
        if num_elements(dims) != Some(values.len()) {
            let message = format!("{} elements do not fill the shape {}", values.len(), Shape::known(dims));
            return Err(self.error_at(at, message));
        }
        Ok(values)
    }

    // --- locations ---

    /// `file:line:column in function from …`, the text after `;`.
    fn location(&self, text: &str) -> Result<Loc> {
        let wrong = || {
            self.error_at(self.start, "expected ;file:line[:column] [in function] [from …] up to the end of the line")
        };
        let mut frames: Vec<Frame> = Vec::new();
        let mut rest = text.trim_start();
        loop {
            let (frame, after) = place(rest).ok_or_else(wrong)?;
            frames.push(frame);
            rest = after.trim_start();
            match rest.strip_prefix("from ") {
                Some(outer) => rest = outer.trim_start(),
                None if rest.is_empty() || rest.starts_with('#') => break,
                None => return Err(wrong()),
            }
        }
        let outermost_first = frames.into_iter().rev();
        let loc = outermost_first.fold(None, |caller, frame| Some(Loc::new(Frame { caller, ..frame })));
        Ok(loc.unwrap_or_default())
    }
}

/// An instruction's result in the text.
struct ResultText<'a> {
    id: &'a str,
    at: usize,
    name: Option<Arc<str>>,
    ty: Option<Type>,
}

/// Reads one place of a location, without its caller, and what follows it.
fn place(text: &str) -> Option<(Frame, &str)> {
    let (file, rest) = word_or_quoted(text, ':', is_plain_file)?;
    let (line, mut rest) = digits(rest.strip_prefix(':')?)?;
    let mut column = 0;
    if let Some(after) = rest.strip_prefix(':') {
        (column, rest) = digits(after)?;
    }
    let mut function = Cow::Borrowed("");
    if let Some(after) = rest.trim_start().strip_prefix("in ") {
        (function, rest) = word_or_quoted(after.trim_start(), ' ', is_plain_function)?;
    }
    Some((Frame { file: file.as_ref().into(), line, column, function: function.as_ref().into(), caller: None }, rest))
}

/// A quoted string, or what stands before `end`, where that is `plain`; and what follows.
fn word_or_quoted(text: &str, end: char, plain: fn(&str) -> bool) -> Option<(Cow<'_, str>, &str)> {
    if text.starts_with('"') {
        let len = quoted_len(text)?;
        let bytes = unescape(&text[1..len - 1])?;
        return Some((Cow::Owned(String::from_utf8(bytes).ok()?), &text[len..]));
    }
    let len = text.find(|c: char| c == end || c.is_whitespace()).unwrap_or(text.len());
    plain(&text[..len]).then(|| (Cow::Borrowed(&text[..len]), &text[len..]))
}

fn digits(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..len].parse().ok()?, &text[len..]))
}
