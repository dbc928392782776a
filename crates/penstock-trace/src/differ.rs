//! Why a call does not fit a trace: which leaves of the arguments differ, and how, in words.

use std::fmt;

use penstock_data::Shape;

use crate::key::{Token, TraceType, python_shape};

/// One leaf in which a call differs from a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which: `x.shape[0]`, `options['training']`.
    pub leaf: String,
    /// What the trace was made for.
    pub before: String,
    /// What the call has.
    pub after: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} \u{2192} {}", self.leaf, self.before, self.after)
    }
}

/// What stands where an object of a trace is gone.
pub const DEAD: &str = "object dead";

/// How a call of type `call`, whose tokens have the names `paths`, differs from `trace`. Stops where
/// the structures part.
pub fn differences(call: &TraceType, paths: &[String], trace: &TraceType) -> Vec<Difference> {
    let mut out = Vec::new();
    for (i, (x, y)) in call.tokens.iter().zip(&trace.tokens).enumerate() {
        let path = paths.get(i).map_or("argument", String::as_str);
        let reached =
            matches!((x, y), (Token::Variable(c), Token::Variable(t)) if !t.pinned && trace.reached.contains(&c.id));
        if reached {
            out.push(difference(path, "a variable apart", "one that the function reaches by itself"));
        } else if !x.is_subtype_of(y) {
            describe(path, y, x, &mut out);
            if matches!(x, Token::Open(..)) || matches!(y, Token::Open(..)) {
                return out;
            }
        }
    }
    if out.is_empty() && call.tokens.len() != trace.tokens.len() {
        out.push(difference(
            "arguments",
            &format!("{} in all", trace.tokens.len()),
            &format!("{} in all", call.tokens.len()),
        ));
    }
    out
}

/// The position of the trace that a call differs least from, and how it differs; the latest of equals.
pub fn nearest<'a>(
    call: &TraceType,
    paths: &[String],
    traces: impl IntoIterator<Item = &'a TraceType>,
) -> Option<(usize, Vec<Difference>)> {
    let mut best: Option<(usize, usize, Vec<Difference>)> = None;
    for (i, trace) in traces.into_iter().enumerate() {
        let found = differences(call, paths, trace);
        // Where the structures part, the rest was not compared.
        let far = found.len() + if call.tokens.len() == trace.tokens.len() { 0 } else { call.tokens.len() };
        if best.as_ref().is_none_or(|(_, distance, _)| far <= *distance) {
            best = Some((i, far, found));
        }
    }
    best.map(|(i, _, found)| (i, found))
}

fn difference(leaf: &str, before: &str, after: &str) -> Difference {
    Difference { leaf: leaf.to_owned(), before: before.to_owned(), after: after.to_owned() }
}

fn describe(path: &str, before: &Token, after: &Token, out: &mut Vec<Difference>) {
    match (before, after) {
        (Token::Tensor(d, s), Token::Tensor(e, t)) => {
            if d != e {
                out.push(difference(&format!("{path}.dtype"), d.tf_name(), e.tf_name()));
            }
            shapes(path, s, t, out);
        }
        (Token::Variable(v), Token::Variable(w)) => {
            if v.dtype != w.dtype {
                out.push(difference(&format!("{path}.dtype"), v.dtype.tf_name(), w.dtype.tf_name()));
            } else if v.shape != w.shape {
                shapes(path, &v.shape, &w.shape, out);
            } else if v.alias != w.alias {
                let which = |alias: u32| format!("variable {} of the arguments", alias + 1);
                out.push(difference(path, &which(v.alias), &which(w.alias)));
            } else if v.kind != w.kind {
                out.push(difference(path, "a variable", "a variable of another class, or trainable otherwise"));
            } else {
                out.push(difference(path, "the variable that the function looked at", "another variable"));
            }
        }
        (Token::Opaque(o), _) if !o.is_alive() => out.push(difference(path, DEAD, &after.to_string())),
        _ => out.push(difference(path, &before.to_string(), &after.to_string())),
    }
}

fn shapes(path: &str, before: &Shape, after: &Shape, out: &mut Vec<Difference>) {
    match (before.dims(), after.dims()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                if x.known().is_some() && x != y {
                    let size = |d: &penstock_data::Dim| d.known().map_or("None".to_owned(), |n| n.to_string());
                    out.push(difference(&format!("{path}.shape[{i}]"), &size(x), &size(y)));
                }
            }
        }
        (None, _) => {}
        _ => out.push(difference(&format!("{path}.shape"), &python_shape(before), &python_shape(after))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_data::DType;

    fn tensor(dims: &[usize]) -> Token {
        Token::Tensor(DType::F32, Shape::known(dims))
    }

    fn words(call: Vec<Token>, trace: Vec<Token>) -> Vec<String> {
        let paths: Vec<String> = ["x", "training", "n"].map(String::from).into();
        differences(&call.into(), &paths, &trace.into()).iter().map(Difference::to_string).collect()
    }

    #[test]
    fn leaves_that_differ_are_named_with_both_sides() {
        let before = vec![tensor(&[32, 4]), Token::Bool(true)];
        assert_eq!(words(vec![tensor(&[17, 4]), Token::Bool(true)], before.clone()), ["x.shape[0]: 32 → 17"]);
        assert_eq!(words(vec![tensor(&[32, 4]), Token::Bool(false)], before.clone()), ["training: True → False"]);
        assert_eq!(words(vec![tensor(&[32]), Token::Bool(true)], before.clone()), ["x.shape: (32, 4) → (32,)"]);
        let int = Token::Tensor(DType::I32, Shape::known(&[32, 4]));
        assert_eq!(words(vec![int, Token::Bool(true)], before.clone()), ["x.dtype: float32 → int32"]);
        assert_eq!(words(vec![Token::Int(3), Token::Bool(true)], before), ["x: float32 Tensor, shape=(32, 4) → 3"]);
    }

    #[test]
    fn where_structures_part_the_container_is_named() {
        let list = |n| Token::Open("builtins.list".into(), n);
        let found = words(vec![list(1), tensor(&[])], vec![list(2), tensor(&[]), tensor(&[])]);
        assert_eq!(found, ["x: list of 2 → list of 1"]);
    }

    #[test]
    fn the_nearest_trace_is_that_with_the_fewest_differences() {
        let paths: Vec<String> = ["x", "n"].map(String::from).into();
        let traces: [TraceType; 2] =
            [vec![tensor(&[2]), Token::Int(1)].into(), vec![tensor(&[3]), Token::Int(2)].into()];
        let (i, found) = nearest(&vec![tensor(&[2]), Token::Int(5)].into(), &paths, &traces).unwrap();
        assert_eq!((i, found[0].to_string().as_str()), (0, "n: 1 → 5"));
        assert!(nearest(&TraceType::default(), &paths, &[]).is_none());
    }
}
