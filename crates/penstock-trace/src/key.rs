//! Trace types and the signature cache.
//!
//! The arguments of a call become a flat list of [`Token`]s: structure, literals and tensor types in
//! the order of a depth-first walk. Two calls share a trace where their lists are equal, or where one
//! is a subtype of the other, token by token.
//!
//! The hit path works on [`RawKey`], the same list packed into words, with every shape exact.

use std::fmt;
use std::sync::Arc;

use penstock_data::{DType, Dim, Shape, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// An argument that is neither a tensor nor a literal: its host decides what equals it.
pub trait Opaque: Send + Sync {
    /// Whether a call with `self` may use a trace made for `other`.
    fn is_subtype_of(&self, other: &dyn Opaque) -> bool;
    /// A description for people.
    fn describe(&self) -> String;
    /// For the crate that made it: access to what it is.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// One element of a trace type.
#[derive(Clone)]
pub enum Token {
    /// A tensor.
    Tensor(DType, Shape),
    /// A variable: the dtype and shape of its value, and its id. Variables count by identity, since a
    /// trace may reach the same variable through a closure.
    Variable(DType, Shape, u64),
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
            (Token::Variable(d, s, i), Token::Variable(e, t, j)) => d == e && i == j && s.is_subtype_of(t),
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
            _ => None,
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Tensor(d, s) => write!(f, "{d}{}", s.erased()),
            Token::Variable(d, s, i) => write!(f, "variable {i} {d}{}", s.erased()),
            Token::Open(kind, n) => write!(f, "{kind}({n})"),
            Token::None => f.write_str("None"),
            Token::Bool(v) => v.fmt(f),
            Token::Int(v) => v.fmt(f),
            Token::Float(v) => f64::from_bits(*v).fmt(f),
            Token::Literal(v) => f.write_str(v),
            Token::Opaque(v) => f.write_str(&v.describe()),
        }
    }
}

/// The trace type of a call's arguments.
pub type TraceType = Vec<Token>;

/// Whether a call of type `a` may use a trace made for `b`.
pub fn is_subtype(a: &[Token], b: &[Token]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.is_subtype_of(y))
}

/// The most specific type that covers both; `None` where they differ in more than tensor shapes.
pub fn generalize(a: &[Token], b: &[Token]) -> Option<TraceType> {
    if a.len() != b.len() {
        return None;
    }
    a.iter().zip(b).map(|(x, y)| x.generalize(y)).collect()
}

/// The position of the most specific of `candidates` that a call of type `ty` may use.
pub fn most_specific<'a>(ty: &[Token], candidates: impl IntoIterator<Item = &'a [Token]>) -> Option<usize> {
    let mut best: Option<(usize, &[Token])> = None;
    for (i, candidate) in candidates.into_iter().enumerate() {
        if is_subtype(ty, candidate) && best.is_none_or(|(_, b)| is_subtype(candidate, b)) {
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
    Keyword = 9,
    Text = 10,
}

/// The arguments of one call, packed into words: equal words, same trace.
///
/// An object is known by its address; whoever looks a key up makes sure that the object at that
/// address is still the one of the trace.
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

    /// An object, by its address.
    #[inline]
    pub fn object(&mut self, address: usize) {
        self.0.push(Tag::Object as u64);
        self.0.push(address as u64);
    }

    /// A keyword argument, by the address of its interned name.
    #[inline]
    pub fn keyword(&mut self, address: usize) {
        self.0.push(Tag::Keyword as u64);
        self.0.push(address as u64);
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

    /// The words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

/// At most this many raw keys are remembered for one function; then the table starts over.
const RAW_LIMIT: usize = 1 << 14;

/// The traces of one function.
pub struct Cache<T> {
    traces: Vec<(TraceType, T)>,
    raw: FxHashMap<Box<[u64]>, u32>,
    last: (Box<[u64]>, u32),
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Cache { traces: Vec::new(), raw: FxHashMap::default(), last: (Box::new([]), u32::MAX) }
    }
}

impl<T> Cache<T> {
    /// The trace that a call of this key used before: the last one first, then the table.
    #[inline]
    pub fn hit(&mut self, key: &[u64]) -> Option<&T> {
        if self.last.1 != u32::MAX && *self.last.0 == *key {
            return Some(&self.traces[self.last.1 as usize].1);
        }
        let &index = self.raw.get(key)?;
        self.last = (key.into(), index);
        Some(&self.traces[index as usize].1)
    }

    /// Adds a trace, in place of one of the same type.
    pub fn insert(&mut self, ty: TraceType, trace: T) -> usize {
        let same = self.traces.iter().position(|(t, _)| is_subtype(t, &ty) && is_subtype(&ty, t));
        match same {
            Some(i) => {
                self.traces[i].1 = trace;
                i
            }
            None => {
                // A more general trace may have served keys for which this one is more specific.
                self.forget_raw();
                self.traces.push((ty, trace));
                self.traces.len() - 1
            }
        }
    }

    /// Remembers that calls of this key use a trace.
    pub fn remember(&mut self, key: &[u64], index: usize) {
        if self.raw.len() >= RAW_LIMIT {
            self.forget_raw();
        }
        self.raw.insert(key.into(), index as u32);
        self.last = (key.into(), index as u32);
    }

    /// Forgets all keys; the traces stay.
    pub fn forget_raw(&mut self) {
        self.raw.clear();
        self.last = (Box::new([]), u32::MAX);
    }

    /// The traces, oldest first.
    pub fn traces(&self) -> &[(TraceType, T)] {
        &self.traces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[Option<usize>]) -> Token {
        Token::Tensor(DType::F32, Shape::new(dims.iter().map(|d| d.map_or(Dim::Unknown, Dim::Known))))
    }

    #[test]
    fn the_most_specific_matching_trace_is_chosen() {
        let mut cache = Cache::default();
        cache.insert(vec![Token::Tensor(DType::F32, Shape::UNRANKED)], "any");
        cache.insert(vec![tensor(&[None, None])], "matrix");
        cache.insert(vec![tensor(&[Some(1), None])], "row");
        let find = |dims: &[usize]| {
            most_specific(
                &[Token::Tensor(DType::F32, Shape::known(dims))],
                cache.traces().iter().map(|(t, _)| t.as_slice()),
            )
            .map(|i| cache.traces()[i].1)
        };
        assert_eq!(find(&[1, 2]), Some("row"));
        assert_eq!(find(&[3, 2]), Some("matrix"));
        assert_eq!(find(&[3]), Some("any"));
        let other = [Token::Tensor(DType::I32, Shape::known(&[3]))];
        assert_eq!(most_specific(&other, cache.traces().iter().map(|(t, _)| t.as_slice())), None);
    }

    #[test]
    fn literals_of_different_types_never_match() {
        let all =
            [Token::Int(1), Token::Bool(true), Token::Float(1f64.to_bits()), Token::Literal("1".into()), Token::None];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(a.is_subtype_of(b), i == j, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_new_trace_takes_over_keys_that_a_more_general_one_served() {
        let mut cache = Cache::default();
        let general = cache.insert(vec![tensor(&[None])], 0);
        cache.remember(&[7], general);
        assert_eq!(cache.hit(&[7]), Some(&0));
        cache.insert(vec![tensor(&[Some(2)])], 1);
        assert_eq!(cache.hit(&[7]), None);
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
            key(&|k| k.symbolic(DType::F32, &Shape::of_rank(1))),
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
