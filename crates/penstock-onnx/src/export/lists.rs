//! Lists: the rows of a tensor where that is what they are, else sequences of ONNX.

use penstock_data::{DType, Error, Result, Shape};

use super::arrays::zeros;
use super::cx::{Cx, Exporter, Handler, Item, Items, X, body, inner_port, one};
use super::message::Node;

/// A list.
#[derive(Clone, Debug)]
pub(crate) enum List {
    /// So many elements, none of which is set.
    New { length: X, dtype: Option<DType>, shape: Shape },
    /// The rows of a tensor.
    Rows(X),
    /// A sequence; what is said of it is said of its elements.
    Sequence(X),
}

impl List {
    /// The dtype of the elements, where it is known.
    pub(crate) fn dtype(&self) -> Option<DType> {
        match self {
            List::New { dtype, .. } => *dtype,
            List::Rows(x) | List::Sequence(x) => Some(x.dtype),
        }
    }
}

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "list_new" => |cx| {
            let length = cx.x(0)?;
            let length = cx.index(&length);
            let attrs = cx.attrs();
            let shape = match &attrs.0[1] {
                penstock_ir::Attr::Shape(shape) => shape.clone(),
                _ => Shape::UNRANKED,
            };
            list(List::New { length, dtype: attrs.opt_dtype(0), shape })
        },
        "list_from_tensor" => |cx| list(List::Rows(cx.x(0)?)),
        "list_length" => |cx| {
            let (length, dtype) = (length_of(cx)?, cx.attrs().dtype(0));
            one(cx.cast(&length, dtype))
        },
        "list_get" => get,
        "list_set" => set,
        "list_push" => push,
        "list_pop" => pop,
        "list_resize" => |cx| match operand(cx)? {
            List::New { dtype, shape, .. } => {
                let length = cx.x(1)?;
                let length = cx.index(&length);
                list(List::New { length, dtype, shape })
            }
            _ => Err(Error::unimplemented("a sequence of ONNX is not cut or made longer")),
        },
        "list_stack" => |cx| {
            let dtype = cx.attrs().dtype(0);
            let rows = stacked(cx, dtype, 1)?;
            one(rows)
        },
        "list_concat" => concat,
        "list_lengths" => lengths,
        "list_split" => |cx| {
            let (x, lengths) = (cx.x(0)?, cx.x(1)?);
            let lengths = cx.index(&lengths);
            let pieces = cx.raw("SplitToSequence", &[&x, &lengths], vec![("axis", 0i64.into())], x.dtype);
            list(List::Sequence(pieces))
        },
        _ => return None,
    })
}

fn list(list: List) -> Items {
    Ok(vec![Item::List(list)])
}

fn operand(cx: &Cx<'_, '_>) -> Result<List> {
    match cx.operands.first() {
        Some(Item::List(list)) => Ok(list.clone()),
        _ => Err(Error::unimplemented("a list that comes from outside cannot be written")),
    }
}

/// The list as a sequence of elements of `dtype`. Elements that are not set are zeros.
pub(crate) fn sequence(exporter: &mut Exporter, list: &List, dtype: DType) -> Result<X> {
    let ty = penstock_ir::Type::tensor(dtype, Shape::UNRANKED);
    let split = |exporter: &mut Exporter, x: &X| {
        let attrs = vec![("axis", 0i64.into()), ("keepdims", 0i64.into())];
        exporter.node("SplitToSequence", &[x], attrs, ty.clone())
    };
    match list {
        List::Sequence(x) => Ok(x.clone()),
        List::Rows(x) => Ok(split(exporter, x)),
        List::New { length, shape, .. } => {
            if length.known_ints().is_some_and(|n| n == [0]) {
                return Ok(exporter.node("SequenceEmpty", &[], vec![("dtype", dtype.into())], ty));
            }
            if dtype == DType::Str {
                return Err(Error::unimplemented("a list of strings that are not set"));
            }
            let extents: Vec<i64> = match shape.extents() {
                Some(extents) => extents.iter().map(|&n| n as i64).collect(),
                None => vec![],
            };
            let index = penstock_ir::Type::tensor(DType::I64, Shape::UNRANKED);
            let first = exporter.node("Reshape", &[length, &X::ints(&[1])], vec![], index.clone());
            let shape = exporter.node("Concat", &[&first, &X::ints(&extents)], vec![("axis", 0i64.into())], index);
            let zero = X::constant(penstock_data::Tensor::zeros(dtype, &[])?);
            let zeros = exporter.node("Expand", &[&zero, &shape], vec![], ty.clone());
            Ok(split(exporter, &zeros))
        }
    }
}

fn length_of(cx: &mut Cx<'_, '_>) -> Result<X> {
    Ok(match operand(cx)? {
        List::New { length, .. } => length,
        List::Rows(x) => {
            let rows = cx.extent(&x, 0);
            cx.element(&rows)
        }
        List::Sequence(x) => cx.raw("SequenceLength", &[&x], vec![], DType::I64),
    })
}

/// Zeros for `length` elements of the shape that operand `index` says.
fn unset(cx: &mut Cx<'_, '_>, dtype: DType, length: Option<&X>, index: usize) -> Result<X> {
    let shape = cx.x(index)?;
    let extents =
        shape.known_ints().filter(|extents| shape.rank().is_ok_and(|r| r == 1) && extents.iter().all(|&n| n >= 0));
    let extents = extents.ok_or_else(|| Error::unimplemented("the shape of elements that are not set is not known"))?;
    let mut parts = vec![X::ints(&extents)];
    if let Some(length) = length {
        parts.insert(0, cx.raw("Reshape", &[length, &X::ints(&[1])], vec![], DType::I64));
    }
    let shape = cx.joined(&parts);
    Ok(zeros(cx, &shape, dtype))
}

/// The elements along a new first dimension. `shape` is the index of the operand that says their shape.
fn stacked(cx: &mut Cx<'_, '_>, dtype: DType, shape: usize) -> Result<X> {
    match operand(cx)? {
        List::New { length, .. } => unset(cx, dtype, Some(&length), shape),
        List::Rows(x) => Ok(x),
        List::Sequence(x) => {
            let attrs = vec![("axis", 0i64.into()), ("new_axis", 1i64.into())];
            Ok(cx.raw("ConcatFromSequence", &[&x], attrs, dtype))
        }
    }
}

fn get(cx: &mut Cx<'_, '_>) -> Items {
    let (at, dtype) = (cx.x(1)?, cx.attrs().dtype(0));
    let is_one = at.rank()? == 0;
    match operand(cx)? {
        List::New { length, .. } if is_one => {
            let _ = length;
            one(unset(cx, dtype, None, 2)?)
        }
        List::Sequence(x) if is_one => one(cx.raw("SequenceAt", &[&x, &at], vec![], dtype)),
        _ => {
            let rows = stacked(cx, dtype, 2)?;
            one(cx.gather(&rows, &at, 0))
        }
    }
}

/// The sequence with another element at a position.
fn replaced(cx: &mut Cx<'_, '_>, x: &X, at: &X, value: &X) -> X {
    let rest = cx.raw("SequenceErase", &[x, at], vec![], x.dtype);
    cx.raw("SequenceInsert", &[&rest, value, at], vec![], x.dtype)
}

fn set(cx: &mut Cx<'_, '_>) -> Items {
    let (held, at, value, grows) = (operand(cx)?, cx.x(1)?, cx.x(2)?, cx.attrs().flag(0));
    let at = cx.index(&at);
    if at.rank()? == 1 {
        let rows = match held {
            List::Rows(x) => x,
            List::New { length, .. } if !grows => {
                // The shape of an element is that of a row of the values.
                let length = cx.raw("Reshape", &[&length, &X::ints(&[1])], vec![], DType::I64);
                let mut parts = vec![length];
                for axis in 1..value.rank()? {
                    parts.push(cx.extent(&value, axis));
                }
                let shape = cx.joined(&parts);
                zeros(cx, &shape, value.dtype)
            }
            _ => return Err(Error::unimplemented("several elements of a sequence of ONNX are not set at once")),
        };
        let at = cx.unsqueeze(&at, &[-1]);
        return list(List::Rows(cx.raw("ScatterND", &[&rows, &at, &value], vec![], rows.dtype)));
    }
    let x = sequence(cx.exporter, &held, value.dtype)?;
    if !grows {
        return list(List::Sequence(replaced(cx, &x, &at, &value)));
    }
    // Behind the last element it is inserted, which is all that lists that grow element by element need.
    let length = cx.raw("SequenceLength", &[&x], vec![], DType::I64);
    let there = cx.test("Less", &[&at, &length])?;
    let branch = |cx: &mut Cx<'_, '_>, there: bool| {
        cx.exporter.open_block();
        let y = match there {
            true => replaced(cx, &x, &at, &value),
            false => cx.raw("SequenceInsert", &[&x, &value, &at], vec![], x.dtype),
        };
        let nodes: Vec<Node> = cx.exporter.close_block();
        let mut port = inner_port(cx.exporter.input(&y), &penstock_ir::Type::tensor(x.dtype, Shape::UNRANKED));
        port.is_sequence = true;
        body(cx.exporter, nodes, vec![], vec![port])
    };
    let (then, otherwise) = (branch(cx, true), branch(cx, false));
    let attrs = vec![("then_branch", then), ("else_branch", otherwise)];
    list(List::Sequence(cx.raw("If", &[&there], attrs, x.dtype)))
}

fn push(cx: &mut Cx<'_, '_>) -> Items {
    let (held, value) = (operand(cx)?, cx.x(1)?);
    let x = sequence(cx.exporter, &held, value.dtype)?;
    list(List::Sequence(cx.raw("SequenceInsert", &[&x, &value], vec![], value.dtype)))
}

fn pop(cx: &mut Cx<'_, '_>) -> Items {
    let (held, dtype) = (operand(cx)?, cx.attrs().dtype(0));
    let x = sequence(cx.exporter, &held, dtype)?;
    let last = cx.raw("SequenceAt", &[&x, &X::int(-1)], vec![], dtype);
    let rest = cx.raw("SequenceErase", &[&x], vec![], dtype);
    Ok(vec![Item::List(List::Sequence(rest)), last.into()])
}

fn concat(cx: &mut Cx<'_, '_>) -> Items {
    let dtype = cx.attrs().dtype(0);
    match operand(cx)? {
        List::Sequence(x) => one(cx.raw("ConcatFromSequence", &[&x], vec![("axis", 0i64.into())], dtype)),
        List::Rows(x) => {
            let rest = match x.shape.extents() {
                Some(extents) => X::ints(&extents[2..].iter().map(|&n| n as i64).collect::<Vec<_>>()),
                None => cx.raw("Shape", &[&x], vec![("start", 2i64.into())], DType::I64),
            };
            let shape = cx.joined(&[X::ints(&[-1]), rest]);
            one(cx.raw("Reshape", &[&x, &shape], vec![], dtype))
        }
        List::New { .. } => Err(Error::unimplemented("a list of which nothing is known")),
    }
}

/// The first extent of each element.
fn lengths(cx: &mut Cx<'_, '_>) -> Items {
    match operand(cx)? {
        List::Rows(x) => {
            let (rows, each) = (cx.extent(&x, 0), cx.extent(&x, 1));
            one(cx.fill(&rows, &each))
        }
        List::Sequence(x) => {
            let ty = penstock_ir::Type::tensor(x.dtype, Shape::UNRANKED);
            let name = cx.exporter.name("");
            cx.exporter.open_block();
            let element = X::named(name.clone(), &ty);
            let extent = cx.raw("Shape", &[&element], vec![("start", 0i64.into()), ("end", 1i64.into())], DType::I64);
            let nodes = cx.exporter.close_block();
            let index = penstock_ir::Type::tensor(DType::I64, Shape::UNRANKED);
            let out = inner_port(cx.exporter.input(&extent), &index);
            let graph = body(cx.exporter, nodes, vec![inner_port(name, &ty)], vec![out]);
            let each = cx.raw("SequenceMap", &[&x], vec![("body", graph)], DType::I64);
            one(cx.raw("ConcatFromSequence", &[&each], vec![("axis", 0i64.into())], DType::I64))
        }
        List::New { .. } => Err(Error::unimplemented("a list of which nothing is known")),
    }
}
