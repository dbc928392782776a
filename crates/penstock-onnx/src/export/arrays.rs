//! Operators that move elements.

use penstock_data::{DType, Error, Result, Shape, Tensor};

use super::cx::{Cx, Handler, Items, X, one};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "identity" | "stop_gradient" | "ensure_shape" | "check_numerics" => |cx| one(cx.x(0)?),
        "barrier" => |cx| Ok(cx.all()?.into_iter().map(Into::into).collect()),
        "shape" => |cx| {
            let (x, dtype) = (cx.x(0)?, cx.attrs().dtype(0));
            let shape = cx.shape(&x);
            one(cx.cast(&shape, dtype))
        },
        "size" => |cx| {
            let (x, dtype) = (cx.x(0)?, cx.attrs().dtype(0));
            let size = match x.shape.num_elements() {
                Some(n) => X::int(n as i64),
                None => cx.raw("Size", &[&x], vec![], DType::I64),
            };
            one(cx.cast(&size, dtype))
        },
        "rank" => |cx| {
            let x = cx.x(0)?;
            let rank = match x.shape.rank() {
                Some(n) => X::int(n as i64),
                None => {
                    let shape = cx.shape(&x);
                    cx.raw("Size", &[&shape], vec![], DType::I64)
                }
            };
            one(cx.cast(&rank, DType::I32))
        },
        "fill" => |cx| {
            let (dims, value) = (cx.x(0)?, cx.x(1)?);
            let dims = cx.index(&dims);
            one(cx.fill(&dims, &value))
        },
        "zeros_like" => |cx| like(cx, 0.0),
        "ones_like" => |cx| like(cx, 1.0),
        "range" => range,
        "reshape" => |cx| {
            let (x, shape) = (cx.x(0)?, cx.x(1)?);
            let shape = cx.index(&shape);
            one(cx.reshape(&x, &shape))
        },
        "expand_dims" => |cx| {
            let (x, axis) = (cx.x(0)?, cx.attrs().int(0));
            one(cx.unsqueeze(&x, &[axis]))
        },
        "squeeze" => |cx| {
            let x = cx.x(0)?;
            match cx.attrs().opt_ints(0) {
                None | Some([]) => one(cx.raw("Squeeze", &[&x], vec![], x.dtype)),
                Some(axes) => one(cx.squeeze(&x, axes)),
            }
        },
        "transpose" => transpose,
        "broadcast_to" => |cx| {
            let (x, shape) = (cx.x(0)?, cx.x(1)?);
            let shape = cx.index(&shape);
            one(cx.raw("Expand", &[&x, &shape], vec![], x.dtype))
        },
        "tile" => |cx| {
            let (x, multiples) = (cx.x(0)?, cx.x(1)?);
            let multiples = cx.index(&multiples);
            one(cx.raw("Tile", &[&x, &multiples], vec![], x.dtype))
        },
        "reverse" => |cx| {
            let x = cx.x(0)?;
            let axes = cx.attrs().ints(0);
            let each = |n: i64| X::ints(&vec![n; axes.len()]);
            one(slice(cx, &x, &each(-1), &each(i64::MIN), axes, &each(-1)))
        },
        "pad" => pad,
        "concat" => |cx| {
            let (parts, axis) = (cx.all()?, cx.attrs().int(0));
            one(cx.concat(&parts.iter().collect::<Vec<_>>(), axis))
        },
        "stack" => |cx| {
            let (parts, axis) = (cx.all()?, cx.attrs().int(0));
            let parts: Vec<X> = parts.iter().map(|x| cx.unsqueeze(x, &[axis])).collect();
            one(cx.concat(&parts.iter().collect::<Vec<_>>(), axis))
        },
        "unstack" => |cx| {
            let (x, axis) = (cx.x(0)?, cx.attrs().int(1));
            let count = cx.data.results.len() as i64;
            Ok((0..count).map(|i| cx.gather(&x, &X::int(i), axis).into()).collect())
        },
        "split" => split,
        "slice" => slice_by_size,
        "slice_grad" => slice_grad,
        "strided_slice" => |cx| {
            let x = cx.x(0)?;
            one(strided(cx, &x, 1)?)
        },
        "strided_slice_grad" => |cx| {
            let (shape, dy) = (cx.x(0)?, cx.x(4)?);
            let zeros = zeros(cx, &shape, dy.dtype);
            add_at(cx, &zeros, &dy, |cx, places| strided(cx, places, 1))
        },
        "strided_slice_accumulate" => |cx| {
            let (x, dy) = (cx.x(0)?, cx.x(4)?);
            add_at(cx, &x, &dy, |cx, places| strided(cx, places, 1))
        },
        "matrix_band_part" => band_part,
        "matrix_diag_part" => diag_part,
        "matrix_set_diag" => set_diag,
        _ => return None,
    })
}

fn like(cx: &mut Cx<'_, '_>, value: f64) -> Items {
    let x = cx.x(0)?;
    if x.dtype.is_complex() {
        return Err(Error::unimplemented("arrays of complex numbers have no node in ONNX"));
    }
    let (shape, value) = (cx.shape(&x), cx.like(&x, value));
    one(cx.fill(&shape, &value))
}

/// Zeros of the extents of an operand.
pub(super) fn zeros(cx: &mut Cx<'_, '_>, shape: &X, dtype: DType) -> X {
    let (shape, zero) = (cx.index(shape), cx.scalar(dtype, 0.0));
    let known = shape.known_ints();
    let mut zeros = cx.fill(&shape, &zero);
    if let Some(dims) = known {
        let dims: Vec<usize> = dims.iter().map(|&n| n.max(0) as usize).collect();
        zeros.shape = Shape::known(&dims);
    }
    zeros
}

/// `x` with `dy` added at the places that `read` reads of an array of the shape of `x`.
pub(super) fn add_at(cx: &mut Cx<'_, '_>, x: &X, dy: &X, read: impl FnOnce(&mut Cx<'_, '_>, &X) -> Result<X>) -> Items {
    if !dy.dtype.is_numeric() || dy.dtype.is_complex() {
        return Err(Error::unimplemented("there is no sum of such elements in ONNX"));
    }
    let shape = cx.shape(x);
    let size = match x.shape.num_elements() {
        Some(n) => X::int(n as i64),
        None => cx.raw("Size", &[x], vec![], DType::I64),
    };
    let count = cx.iota(&size);
    let mut numbers = cx.reshape(&count, &shape);
    numbers.shape = x.shape.clone();
    let places = read(cx, &numbers)?;
    let (places, values, flat) = (cx.flat(&places), cx.flat(dy), cx.flat(x));
    let sum = cx.raw("ScatterElements", &[&flat, &places, &values], vec![("reduction", "add".into())], dy.dtype);
    one(cx.reshape(&sum, &shape))
}

fn range(cx: &mut Cx<'_, '_>) -> Items {
    let operands = cx.all()?;
    one(cx.math("Range", &operands.iter().collect::<Vec<_>>())?)
}

fn transpose(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    match cx.attrs().opt_ints(0) {
        None => one(cx.raw("Transpose", &[&x], vec![], x.dtype)),
        Some(perm) => {
            let perm = perm.iter().map(|&p| cx.axis(p, perm.len())).collect::<Result<Vec<_>>>()?;
            one(cx.transpose(&x, &perm))
        }
    }
}

/// A part of `x`; `axes` may be negative.
pub(super) fn slice(cx: &mut Cx<'_, '_>, x: &X, starts: &X, ends: &X, axes: &[i64], steps: &X) -> X {
    cx.raw("Slice", &[x, starts, ends, &X::ints(axes), steps], vec![], x.dtype)
}

/// Pads by two vectors, before and after.
pub(super) fn pad_by(cx: &mut Cx<'_, '_>, x: &X, before: &X, after: &X, value: &X) -> X {
    let amounts = cx.joined(&[before.clone(), after.clone()]);
    cx.raw("Pad", &[x, &amounts, value], vec![("mode", "constant".into())], x.dtype)
}

fn pad(cx: &mut Cx<'_, '_>) -> Items {
    let (x, paddings, value) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let paddings = cx.index(&paddings);
    let amounts = match paddings.known_ints() {
        Some(list) => {
            let (before, after): (Vec<i64>, Vec<i64>) = list.chunks_exact(2).map(|p| (p[0], p[1])).unzip();
            X::ints(&[before, after].concat())
        }
        None => {
            let turned = cx.transpose(&paddings, &[1, 0]);
            cx.flat(&turned)
        }
    };
    one(cx.raw("Pad", &[&x, &amounts, &value], vec![("mode", "constant".into())], x.dtype))
}

fn split(cx: &mut Cx<'_, '_>) -> Items {
    let (x, axis, count) = (cx.x(0)?, cx.attrs().int(2), cx.data.results.len());
    let dtypes = vec![x.dtype; count];
    let outputs = match cx.attrs().opt_ints(0) {
        Some(sizes) => {
            let mut sizes = sizes.to_vec();
            let known = sizes.iter().filter(|&&n| n >= 0).sum::<i64>();
            if let Some(open) = sizes.iter().position(|&n| n < 0) {
                let from_front = cx.axis(axis, x.rank()?)?;
                let all = x.shape.dims().and_then(|dims| dims.get(from_front)?.known());
                let all = all.ok_or_else(|| Error::unimplemented("the extent that is split is not known"))?;
                sizes[open] = all as i64 - known;
            }
            cx.many("Split", &[&x, &X::ints(&sizes)], vec![("axis", axis.into())], &dtypes)
        }
        None => {
            let attrs = vec![("axis", axis.into()), ("num_outputs", (count as i64).into())];
            cx.many("Split", &[&x], attrs, &dtypes)
        }
    };
    Ok(outputs.into_iter().map(Into::into).collect())
}

fn slice_by_size(cx: &mut Cx<'_, '_>) -> Items {
    let (x, begin, size) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let (begin, size) = (cx.index(&begin), cx.index(&size));
    let rank = match x.shape.rank().or_else(|| begin.shape.num_elements()) {
        Some(rank) => rank,
        None => x.rank()?,
    };
    let axes: Vec<i64> = (0..rank as i64).collect();
    let ends = match (begin.known_ints(), size.known_ints()) {
        (Some(begin), Some(size)) => {
            let ends = begin.iter().zip(&size).map(|(&b, &n)| if n < 0 { i64::MAX } else { b + n });
            X::ints(&ends.collect::<Vec<_>>())
        }
        _ => {
            let (sum, open) = (cx.math("Add", &[&begin, &size])?, cx.test("Less", &[&size, &X::int(0)])?);
            cx.select(&open, &X::int(i64::MAX), &sum)
        }
    };
    one(slice(cx, &x, &begin, &ends, &axes, &X::ints(&vec![1; rank])))
}

fn slice_grad(cx: &mut Cx<'_, '_>) -> Items {
    let (shape, begin, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let (shape, begin, size) = (cx.index(&shape), cx.index(&begin), cx.shape(&dy));
    let after = cx.math("Sub", &[&shape, &begin])?;
    let (after, zero) = (cx.math("Sub", &[&after, &size])?, cx.like(&dy, 0.0));
    one(pad_by(cx, &dy, &begin, &after, &zero))
}

/// `x[begin[0]:end[0]:strides[0], …]` by the masks of the instruction, whose operand `first` is `begin`.
fn strided(cx: &mut Cx<'_, '_>, x: &X, first: usize) -> Result<X> {
    let masks: Vec<i64> = (0..5).map(|i| cx.attrs().int(i)).collect();
    let [begin_mask, end_mask, ellipsis, new_axis, shrink] = masks[..] else { return Ok(x.clone()) };
    let (begin, end, strides) = (cx.x(first)?, cx.x(first + 1)?, cx.x(first + 2)?);
    let (begin, end, strides) = (cx.index(&begin), cx.index(&end), cx.index(&strides));
    let entries = [&begin, &end, &strides].iter().find_map(|v| v.shape.num_elements());
    let entries = entries.ok_or_else(|| Error::unimplemented("the number of slices is not known"))?;
    let bit = |mask: i64, i: usize| mask >> i & 1 == 1;
    // An ellipsis stands for the dimensions that no entry names.
    let named = (0..entries).filter(|&i| !bit(ellipsis, i) && !bit(new_axis, i)).count();
    let has_ellipsis = (0..entries).any(|i| bit(ellipsis, i));
    let skipped = match has_ellipsis && (0..entries).rev().take_while(|&i| !bit(ellipsis, i)).count() > 0 {
        true => x.rank()?.saturating_sub(named),
        false => 0,
    };
    let (mut axes, mut picked) = (Vec::new(), Vec::new());
    let (mut starts, mut ends, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    // Dimensions of the result that are new.
    let mut fresh = Vec::new();
    let (mut axis, mut out) = (0i64, 0i64);
    let entry = |cx: &mut Cx<'_, '_>, v: &X, i: usize| match v.known_ints() {
        Some(list) => X::ints(&[list[i]]),
        None => cx.gather(v, &X::ints(&[i as i64]), 0),
    };
    for i in 0..entries {
        if bit(ellipsis, i) {
            axis += skipped as i64;
            out += skipped as i64;
            continue;
        }
        if bit(new_axis, i) {
            fresh.push(out);
            out += 1;
            continue;
        }
        if bit(shrink, i) {
            picked.push((axis, entry(cx, &begin, i)));
            axis += 1;
            continue;
        }
        let stride = strides.known_ints().map(|list| list[i]);
        let backwards = match stride {
            Some(stride) => stride < 0,
            None if bit(begin_mask, i) || bit(end_mask, i) => {
                return Err(Error::unimplemented("the direction of a slice is not known"));
            }
            None => false,
        };
        let start = match bit(begin_mask, i) {
            true => X::ints(&[if backwards { i64::MAX } else { 0 }]),
            false => entry(cx, &begin, i),
        };
        let limit = match bit(end_mask, i) {
            true => X::ints(&[if backwards { i64::MIN } else { i64::MAX }]),
            false => entry(cx, &end, i),
        };
        let is_whole = stride == Some(1) && bit(begin_mask, i) && bit(end_mask, i);
        if !is_whole {
            axes.push(axis);
            starts.push(start);
            ends.push(limit);
            steps.push(entry(cx, &strides, i));
        }
        axis += 1;
        out += 1;
    }
    let mut y = x.clone();
    if !axes.is_empty() {
        let (starts, ends, steps) = (cx.joined(&starts), cx.joined(&ends), cx.joined(&steps));
        y = slice(cx, &y, &starts, &ends, &axes, &steps);
    }
    for (axis, index) in picked.iter().rev() {
        let index = cx.element(index);
        y = cx.gather(&y, &index, *axis);
    }
    if !fresh.is_empty() {
        y = cx.unsqueeze(&y, &fresh);
    }
    Ok(y)
}

fn band_part(cx: &mut Cx<'_, '_>) -> Items {
    let mut x = cx.x(0)?;
    let (lower, upper) = (cx.attrs().int(0), cx.attrs().int(1));
    if lower >= 0 {
        x = cx.raw("Trilu", &[&x, &X::int(-lower)], vec![("upper", 1i64.into())], x.dtype);
    }
    if upper >= 0 {
        x = cx.raw("Trilu", &[&x, &X::int(upper)], vec![("upper", 0i64.into())], x.dtype);
    }
    one(x)
}

/// The extents of matrices and whether each has no more rows than columns.
fn matrix(cx: &Cx<'_, '_>, x: &X) -> Result<(usize, usize, usize)> {
    let rank = x.rank()?;
    let dims = x.shape.dims().unwrap_or(&[]);
    match dims {
        [.., m, n] => match (m.known(), n.known()) {
            (Some(m), Some(n)) => Ok((rank, m, n)),
            _ => Err(Error::unimplemented("the extents of the matrices are not known")),
        },
        _ => Err(Error::invalid(format!("{} needs matrices", cx.data.op.name))),
    }
}

/// Every `n + 1`-th element of the matrix in a row, from the first.
fn diag_part(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let (rank, m, n) = matrix(cx, &x)?;
    let mut dims = Vec::new();
    for axis in 0..rank - 2 {
        dims.push(cx.extent(&x, axis));
    }
    dims.push(X::ints(&[(m * n) as i64]));
    let shape = cx.joined(&dims);
    let rows = cx.reshape(&x, &shape);
    let end = (m.min(n) * (n + 1)) as i64;
    one(slice(cx, &rows, &X::ints(&[0]), &X::ints(&[end]), &[-1], &X::ints(&[n as i64 + 1])))
}

fn set_diag(cx: &mut Cx<'_, '_>) -> Items {
    let (x, diagonal) = (cx.x(0)?, cx.x(1)?);
    let (_, m, n) = matrix(cx, &x)?;
    let mask: Vec<_> = (0..m * n).map(|i| penstock_data::Bool8::new(n != 0 && i / n == i % n)).collect();
    let mask = X::constant(Tensor::from_slice(&[m, n], &mask)?);
    let diagonal = cx.unsqueeze(&diagonal, &[if m <= n { -1 } else { -2 }]);
    one(cx.select(&mask, &diagonal, &x))
}
