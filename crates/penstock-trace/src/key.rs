//! Trace types: what a trace depends on.
//!
//! The arguments of a call become a flat list of [`Token`]s: structure, literals and tensor types in
//! the order of a depth-first walk. Two calls share a trace where their lists are equal, or where one
//! is a subtype of the other, token by token.
//!
//! The hit path works on [`RawKey`], the same list packed into words, with every shape exact and every
//! variable by its id.
//!
//! **Variables** are stood in for while a function is traced, so that a trace serves other variables of
//! the same kind. It may use them in three ways that bind it to particular ones, and each is part of the
//! type: two arguments may be one variable ([`VariableType::alias`]); the function may look at which
//! variable it was given ([`VariableType::pinned`]); and it may reach a variable by itself, through a
//! closure or an attribute ([`TraceType::reached`]), which then must not be an argument as well, since
//! the graph takes different inputs for different variables.

use std::fmt;
use std::sync::Arc;

use penstock_data::{DType, Dim, Shape, Tensor};
use smallvec::SmallVec;

/// An argument that is neither a tensor nor a literal: its host decides what equals it.
pub trait Opaque: Send + Sync {
    /// Whether a call with `self` may use a trace made for `other`.
    fn is_subtype_of(&self, other: &dyn Opaque) -> bool;
    /// The most specific that covers both, where the host knows one other than the two.
    fn generalize(&self, _other: &dyn Opaque) -> Option<Arc<dyn Opaque>> {
        None
    }
    /// Whether some later call can still match: false once the object is gone.
    fn is_alive(&self) -> bool {
        true
    }
    /// A description for people.
    fn describe(&self) -> String;
    /// For the crate that made it: access to what it is.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A variable among the arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct VariableType {
    /// The dtype of its values.
    pub dtype: DType,
    /// The shape of its values, as it was declared.
    pub shape: Shape,
    /// What else of its kind matters to the host, such as its class.
    pub kind: u64,
    /// Its position among the different variables of the arguments, in the order of the walk.
    pub alias: u32,
    /// Its id.
    pub id: u64,
    /// In the type of a trace: whether it serves this very variable only.
    pub pinned: bool,
}

/// One element of a trace type.
#[derive(Clone)]
pub enum Token {
    /// A tensor.
    Tensor(DType, Shape),
    /// A variable.
    Variable(Box<VariableType>),
    /// The start of a container: its kind, with the type or keys that matter, and its length.
    Open(Arc<str>, u32),
    /// `None`.
    None,
    /// A `bool`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// A number, by its bits.
    Float(u64),
    /// A literal of another type, by its type and spelling: big integers, strings, bytes, dtypes, enums.
    Literal(Arc<str>),
    /// Any other object.
    Opaque(Arc<dyn Opaque>),
}

impl Token {
    /// Whether a call with `self` here may use a trace made for `other`.
    pub fn is_subtype_of(&self, other: &Token) -> bool {
        match (self, other) {
            (Token::Tensor(d, s), Token::Tensor(e, t)) => d == e && s.is_subtype_of(t),
            (Token::Variable(a), Token::Variable(b)) => {
                (a.dtype, a.kind, a.alias) == (b.dtype, b.kind, b.alias)
                    && a.shape == b.shape
                    && (!b.pinned || a.id == b.id)
            }
            (Token::Open(a, n), Token::Open(b, m)) => n == m && a == b,
            (Token::None, Token::None) => true,
            (Token::Bool(a), Token::Bool(b)) => a == b,
            (Token::Int(a), Token::Int(b)) => a == b,
            (Token::Float(a), Token::Float(b)) => a == b,
            (Token::Literal(a), Token::Literal(b)) => a == b,
            (Token::Opaque(a), Token::Opaque(b)) => a.is_subtype_of(b.as_ref()),
            _ => false,
        }
    }

    /// The most specific token that covers both tensors; `None` where there is none.
    pub fn generalize(&self, other: &Token) -> Option<Token> {
        match (self, other) {
            (Token::Tensor(d, s), Token::Tensor(e, t)) if d == e => Some(Token::Tensor(*d, s.join(t).erased())),
            _ if self.is_subtype_of(other) => Some(other.clone()),
            (Token::Opaque(a), Token::Opaque(b)) => a.generalize(b.as_ref()).map(Token::Opaque),
            _ => None,
        }
    }
}

impl fmt::Display for Token {
    /// As people know it: `float32 Tensor, shape=(2, None)`, or the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Tensor(d, s) => write!(f, "{} Tensor, shape={}", d.tf_name(), python_shape(s)),
            Token::Variable(v) => {
                write!(f, "{} Variable, shape={}", v.dtype.tf_name(), python_shape(&v.shape))?;
                if v.pinned { write!(f, ", number {} only", v.id) } else { Ok(()) }
            }
            Token::Open(kind, n) => write!(f, "{} of {n}", kind.rsplit('.').next().unwrap_or(kind)),
            Token::None => f.write_str("None"),
            Token::Bool(v) => f.write_str(if *v { "True" } else { "False" }),
            Token::Int(v) => v.fmt(f),
            Token::Float(v) => write!(f, "{:?}", f64::from_bits(*v)),
            Token::Literal(v) => f.write_str(v),
            Token::Opaque(v) => f.write_str(&v.describe()),
        }
    }
}

/// A shape as Python writes it: `(2, None)`, `<unknown>`.
pub(crate) fn python_shape(shape: &Shape) -> String {
    let Some(dims) = shape.dims() else { return "<unknown>".to_owned() };
    let dims: Vec<String> = dims.iter().map(|d| d.known().map_or("None".to_owned(), |n| n.to_string())).collect();
    match dims.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}

/// The trace type of a call's arguments, or of a trace.
#[derive(Clone, Default)]
pub struct TraceType {
    /// The arguments.
    pub tokens: Vec<Token>,
    /// In the type of a trace: the variables that it reaches by itself. No argument may be one of them,
    /// unless it is pinned.
    pub reached: Vec<u64>,
}

impl TraceType {
    /// Whether a call of this type may use a trace made for `other`.
    pub fn is_subtype_of(&self, other: &TraceType) -> bool {
        let apart = |(call, trace): (&Token, &Token)| match (call, trace) {
            (Token::Variable(c), Token::Variable(t)) => t.pinned || !other.reached.contains(&c.id),
            _ => true,
        };
        self.tokens.len() == other.tokens.len()
            && self.tokens.iter().zip(&other.tokens).all(|(x, y)| x.is_subtype_of(y))
            && (other.reached.is_empty() || self.tokens.iter().zip(&other.tokens).all(apart))
    }

    /// The most specific type that covers both; `None` where they differ in more than what can be generalised.
    pub fn generalize(&self, other: &TraceType) -> Option<TraceType> {
        if self.tokens.len() != other.tokens.len() {
            return None;
        }
        let tokens = self.tokens.iter().zip(&other.tokens).map(|(x, y)| x.generalize(y)).collect::<Option<_>>()?;
        Some(TraceType { tokens, reached: Vec::new() })
    }

    /// Whether some later call can still match.
    pub fn is_alive(&self) -> bool {
        !self.tokens.iter().any(|t| matches!(t, Token::Opaque(o) if !o.is_alive()))
    }
}

impl From<Vec<Token>> for TraceType {
    fn from(tokens: Vec<Token>) -> TraceType {
        TraceType { tokens, reached: Vec::new() }
    }
}

/// The position of the most specific of `candidates` that a call of type `ty` may use; of several that
/// do not compare, the first.
pub fn most_specific<'a>(ty: &TraceType, candidates: impl IntoIterator<Item = &'a TraceType>) -> Option<usize> {
    let mut best: Option<(usize, &TraceType)> = None;
    for (i, candidate) in candidates.into_iter().enumerate() {
        if ty.is_subtype_of(candidate) && best.is_none_or(|(_, b)| candidate.is_subtype_of(b)) {
            best = Some((i, candidate));
        }
    }
    best.map(|(i, _)| i)
}

/// Kinds of words in a [`RawKey`]; each starts an element.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Tag {
    Tensor = 1,
    Variable = 2,
    Open = 3,
    None = 4,
    Bool = 5,
    Int = 6,
    Float = 7,
    Object = 8,
    Text = 9,
}

/// The arguments of one call, packed into words: equal words, same trace.
#[derive(Default)]
pub struct RawKey(SmallVec<[u64; 24]>);

impl RawKey {
    /// An empty key.
    #[inline]
    pub fn new() -> RawKey {
        RawKey::default()
    }

    /// A tensor at hand.
    #[inline]
    pub fn tensor(&mut self, tensor: &Tensor) {
        let dims = tensor.dims();
        self.0.push(Tag::Tensor as u64 | (tensor.dtype() as u64) << 8 | (dims.len() as u64) << 16);
        for &d in dims {
            self.0.push(d as u64);
        }
    }

    /// A symbolic tensor, of which only what is known counts. Symbols of the caller stand for unknown sizes.
    pub fn symbolic(&mut self, dtype: DType, shape: &Shape) {
        let Some(dims) = shape.dims() else {
            self.0.push(Tag::Tensor as u64 | (dtype as u64) << 8 | 0xffff << 16);
            return;
        };
        self.0.push(Tag::Tensor as u64 | (dtype as u64) << 8 | (dims.len() as u64) << 16);
        for d in dims {
            self.0.push(match d {
                Dim::Known(n) => *n as u64,
                _ => u64::MAX,
            });
        }
    }

    /// A variable, by its id.
    #[inline]
    pub fn variable(&mut self, id: u64) {
        self.0.push(Tag::Variable as u64);
        self.0.push(id);
    }

    /// The start of a container, by a word for its kind and its length.
    #[inline]
    pub fn open(&mut self, kind: u64, len: usize) {
        self.0.push(Tag::Open as u64 | (len as u64) << 8);
        self.0.push(kind);
    }

    /// `None`.
    #[inline]
    pub fn none(&mut self) {
        self.0.push(Tag::None as u64);
    }

    /// A `bool`.
    #[inline]
    pub fn bool(&mut self, v: bool) {
        self.0.push(Tag::Bool as u64 | (v as u64) << 8);
    }

    /// An integer.
    #[inline]
    pub fn int(&mut self, v: i64) {
        self.0.push(Tag::Int as u64);
        self.0.push(v as u64);
    }

    /// A number.
    #[inline]
    pub fn float(&mut self, v: f64) {
        self.0.push(Tag::Float as u64);
        self.0.push(v.to_bits());
    }

    /// An object, by a number that no other object ever has.
    #[inline]
    pub fn object(&mut self, number: u64) {
        self.0.push(Tag::Object as u64);
        self.0.push(number);
    }

    /// A text or other bytes, packed eight to a word.
    pub fn text(&mut self, kind: u8, bytes: &[u8]) {
        self.0.push(Tag::Text as u64 | (kind as u64) << 8 | (bytes.len() as u64) << 16);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0.push(u64::from_le_bytes(word));
        }
    }

    /// A word of the host's own, after those of the arguments.
    #[inline]
    pub fn push(&mut self, word: u64) {
        self.0.push(word);
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[Option<usize>]) -> Token {
        Token::Tensor(DType::F32, Shape::new(dims.iter().map(|d| d.map_or(Dim::Unknown, Dim::Known))))
    }

    fn unranked() -> Token {
        Token::Tensor(DType::F32, Shape::UNRANKED)
    }

    fn variable(id: u64, alias: u32, pinned: bool) -> Token {
        let shape = Shape::known(&[2]);
        Token::Variable(Box::new(VariableType { dtype: DType::F32, shape, kind: 0, alias, id, pinned }))
    }

    #[test]
    fn the_most_specific_matching_type_is_chosen() {
        let traces: Vec<TraceType> =
            [unranked(), tensor(&[None, None]), tensor(&[Some(1), None])].map(|t| TraceType::from(vec![t])).into();
        let find = |call: Token| most_specific(&vec![call].into(), &traces);
        assert_eq!(find(tensor(&[Some(1), Some(2)])), Some(2));
        assert_eq!(find(tensor(&[Some(3), Some(2)])), Some(1));
        assert_eq!(find(tensor(&[Some(3)])), Some(0));
        assert_eq!(find(Token::Tensor(DType::I32, Shape::known(&[3]))), None);
    }

    #[test]
    fn variables_match_by_kind_and_by_which_of_them_are_one() {
        let distinct: TraceType = vec![variable(1, 0, false), variable(2, 1, false)].into();
        let swapped: TraceType = vec![variable(2, 0, false), variable(1, 1, false)].into();
        let same: TraceType = vec![variable(1, 0, false), variable(1, 0, false)].into();
        assert!(swapped.is_subtype_of(&distinct));
        assert!(!same.is_subtype_of(&distinct) && !distinct.is_subtype_of(&same));
    }

    #[test]
    fn a_variable_that_a_trace_reaches_or_looked_at_is_told_apart() {
        let call = |id| TraceType::from(vec![variable(id, 0, false)]);
        let reaching = TraceType { tokens: vec![variable(1, 0, false)], reached: vec![7] };
        assert!(call(2).is_subtype_of(&reaching));
        assert!(!call(7).is_subtype_of(&reaching));
        let pinned = TraceType { tokens: vec![variable(7, 0, true)], reached: vec![7] };
        assert!(call(7).is_subtype_of(&pinned));
        assert!(!call(2).is_subtype_of(&pinned));
    }

    #[test]
    fn types_generalise_where_only_sizes_differ() {
        let a = TraceType::from(vec![tensor(&[Some(1), Some(5)]), Token::Int(3)]);
        let b = TraceType::from(vec![tensor(&[Some(2), Some(5)]), Token::Int(3)]);
        let joined = a.generalize(&b).unwrap();
        assert_eq!(joined.tokens[0].to_string(), "float32 Tensor, shape=(None, 5)");
        assert!(a.is_subtype_of(&joined) && b.is_subtype_of(&joined) && !joined.is_subtype_of(&a));
        let c = TraceType::from(vec![tensor(&[Some(2), Some(5)]), Token::Int(4)]);
        assert!(a.generalize(&c).is_none());
    }

    #[test]
    fn literals_of_different_types_never_match() {
        let all =
            [Token::Int(1), Token::Bool(true), Token::Float(1f64.to_bits()), Token::Literal("1".into()), Token::None];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(a.is_subtype_of(b), i == j, "{a} {b}");
            }
        }
    }

    #[test]
    fn raw_keys_tell_shapes_dtypes_and_structure_apart() {
        let key = |f: &dyn Fn(&mut RawKey)| {
            let mut k = RawKey::new();
            f(&mut k);
            k.words().to_vec()
        };
        let keys = [
            key(&|k| k.tensor(&Tensor::from(1.0f32))),
            key(&|k| k.tensor(&Tensor::from(1.0f64))),
            key(&|k| k.tensor(&Tensor::vector(&[1.0f32]))),
            key(&|k| k.symbolic(DType::F32, &Shape::UNRANKED)),
            key(&|k| k.symbolic(DType::F32, &Shape::of_rank(1).unwrap())),
            key(&|k| k.int(1)),
            key(&|k| k.bool(true)),
            key(&|k| k.float(1.0)),
            key(&|k| k.none()),
            key(&|k| k.open(1, 0)),
            key(&|k| k.text(0, b"1")),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert_ne!(a, b);
            }
        }
    }
}
