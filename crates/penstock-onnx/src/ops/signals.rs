//! Windows, Fourier transforms, and samples of images at computed places.

use penstock_data::{DType, Error, Result};
use penstock_ir::Value;

use super::Entry;
use crate::cx::{Cx, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[
    ("AffineGrid", 20, affine_grid),
    ("BlackmanWindow", 17, window),
    ("DFT", 17, dft),
    ("GridSample", 16, grid_sample),
    ("HammingWindow", 17, window),
    ("HannWindow", 17, window),
    ("STFT", 17, stft),
];

/// A sum of cosines.
fn window(cx: &mut Cx<'_, '_>) -> Outputs {
    let size = cx.x(0)?;
    let size = cx.reshape_known(size, &[])?;
    let dtype = cx.dtype_attr("output_datatype")?.unwrap_or(DType::F32);
    let steps = cx.cast(size, DType::I64)?;
    let steps = cx.range(Size::Value(steps))?;
    let steps = cx.cast(steps, DType::F64)?;
    let mut period = cx.cast(size, DType::F64)?;
    if !cx.flag("periodic", true) {
        period = cx.with("sub", period, 1.0)?;
    }
    let angle = cx.bin("div", steps, period)?;
    let angle = cx.with("mul", angle, std::f64::consts::TAU)?;
    let shares: &[f64] = match cx.node.op {
        "HannWindow" => &[0.5, -0.5],
        "HammingWindow" => &[25.0 / 46.0, -21.0 / 46.0],
        _ => &[0.42, -0.5, 0.08],
    };
    let mut y = cx.scalar(DType::F64, shares[0])?;
    for (k, &share) in shares.iter().enumerate().skip(1) {
        let part = cx.with("mul", angle, k as f64)?;
        let part = cx.un("cos", part)?;
        let part = cx.with("mul", part, share)?;
        y = cx.bin("add", y, part)?;
    }
    one(cx.cast(y, dtype)?)
}

/// Real and imaginary parts in the last dimension as one complex number; one part alone is real.
fn complex_of(cx: &mut Cx<'_, '_>, x: Value) -> Result<Value> {
    let x = if cx.dtype(x).size() < 4 { cx.cast(x, DType::F32)? } else { x };
    let last = cx.rank(x)? - 1;
    let parts = cx.known_extent(x, last)?;
    let at = |cx: &mut Cx<'_, '_>, i: i64| {
        let i = cx.i64(i);
        cx.op("gather", &[x, i], &[("axis", (last as i64).into())])
    };
    let real = at(cx, 0)?;
    let imaginary = if parts == 2 { at(cx, 1)? } else { cx.un("zeros_like", real)? };
    cx.bin("complex", real, imaginary)
}

fn parts_of(cx: &mut Cx<'_, '_>, x: Value, dtype: DType) -> Result<Value> {
    let parts = [cx.un("real", x)?, cx.un("imag", x)?];
    let y = cx.op("stack", &parts, &[("axis", (-1i64).into())])?;
    cx.cast(y, dtype)
}

/// The rows cut off or filled with zeros to a length.
fn of_length(cx: &mut Cx<'_, '_>, x: Value, length: i64) -> Result<Value> {
    let rank = cx.rank(x)?;
    let have = cx.known_extent(x, rank - 1)? as i64;
    let zero = cx.like(x, 0.0)?;
    let mut amounts = vec![(0, 0); rank];
    amounts[rank - 1] = (0, length - have);
    super::arrays::pad_by(cx, x, &amounts, zero)
}

fn dft(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x));
    let axis = match cx.opt(2) {
        Some(axis) => *cx.known_ints(axis)?.first().unwrap_or(&-2),
        None => cx.int("axis", if cx.version < 20 { 1 } else { -2 }),
    };
    let axis = cx.axis(axis, rank)?;
    if axis + 1 >= rank {
        return Err(Error::invalid("the axis is that of the real and imaginary parts"));
    }
    let (inverse, onesided) = (cx.flag("inverse", false), cx.flag("onesided", false));
    let z = complex_of(cx, x)?;
    // The axis behind.
    let mut perm: Vec<usize> = (0..rank - 1).filter(|&a| a != axis).collect();
    perm.push(axis);
    let mut z = cx.transpose(z, &perm)?;
    let length = match cx.opt(1) {
        Some(length) => Some(*cx.known_ints(length)?.first().unwrap_or(&0)),
        None => None,
    };
    let last = rank - 2;
    let back: Vec<usize> = (0..rank - 1).map(|a| perm.iter().position(|&p| p == a).unwrap_or(a)).collect();
    if inverse && onesided {
        let half = cx.known_extent(z, last)? as i64;
        let length = length.unwrap_or(2 * (half - 1));
        z = of_length(cx, z, length / 2 + 1)?;
        let length = cx.i64(length);
        let y = cx.op("irfft", &[z, length], &[("scaled", true.into()), ("mirrored", true.into())])?;
        let y = cx.transpose(y, &back)?;
        let y = cx.expand(y, -1)?;
        return one(cx.cast(y, dtype)?);
    }
    if let Some(length) = length {
        z = of_length(cx, z, length)?;
    }
    let mut y = cx.op("fft", &[z], &[("inverse", inverse.into()), ("scaled", inverse.into())])?;
    if onesided {
        let total = cx.known_extent(y, last)? as i64;
        y = cx.slice(y, last, 0.into(), Some((total / 2 + 1).into()))?;
    }
    let y = cx.transpose(y, &back)?;
    one(parts_of(cx, y, dtype)?)
}

fn stft(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, step) = (cx.x(0)?, cx.x(1)?);
    let dtype = cx.dtype(x);
    let step = *cx.known_ints(step)?.first().unwrap_or(&1);
    let window = cx.opt(2);
    let length = match (cx.opt(3), window) {
        (Some(length), _) => *cx.known_ints(length)?.first().unwrap_or(&0),
        (None, Some(window)) => cx.known_extent(window, 0)? as i64,
        (None, None) => return Err(Error::invalid("there are neither a window nor a length")),
    };
    let total = cx.known_extent(x, 1)? as i64;
    if step < 1 || length < 1 || length > total {
        return Err(Error::invalid("the frames do not fit the signal"));
    }
    let real = cx.rank(x)? < 3 || cx.known_extent(x, 2)? == 1;
    let z = if cx.rank(x)? < 3 { cx.expand(x, -1)? } else { x };
    let z = complex_of(cx, z)?;
    let frames = (total - length) / step + 1;
    let places: Vec<i64> = (0..frames).flat_map(|f| (0..length).map(move |i| f * step + i)).collect();
    let places = penstock_data::Tensor::from_slice(&[frames as usize, length as usize], &places)?;
    let places = cx.constant(places);
    let mut z = cx.op("gather", &[z, places], &[("axis", 1i64.into())])?;
    if let Some(window) = window {
        let window = cx.cast(window, cx.dtype(z))?;
        z = cx.bin("mul", z, window)?;
    }
    let mut y = cx.op("fft", &[z], &[])?;
    if cx.flag("onesided", true) && real {
        y = cx.slice(y, 2, 0.into(), Some((length / 2 + 1).into()))?;
    }
    one(parts_of(cx, y, dtype)?)
}

/// Coordinates from -1 to 1 along an axis: of the corners, or of the centres of elements.
fn steps(cx: &mut Cx<'_, '_>, n: i64, corners: bool, dtype: DType) -> Result<Value> {
    let at = |i: i64| match corners {
        true if n == 1 => 0.0,
        true => 2.0 * i as f64 / (n - 1) as f64 - 1.0,
        false => (2.0 * i as f64 + 1.0) / n as f64 - 1.0,
    };
    let list: Vec<f64> = (0..n).map(at).collect();
    let list = cx.constant(penstock_data::Tensor::vector(&list));
    cx.cast(list, dtype)
}

/// The places that a matrix for each image moves a grid to, the last coordinate first.
fn affine_grid(cx: &mut Cx<'_, '_>) -> Outputs {
    let (theta, size) = (cx.x(0)?, cx.x(1)?);
    let size = cx.known_ints(size)?;
    let (spatial, dtype) = (size.len().saturating_sub(2), cx.dtype(theta));
    let corners = cx.flag("align_corners", false);
    let shape: Vec<Size> = size[size.len() - spatial..].iter().map(|&n| Size::Known(n)).collect();
    let mut parts = Vec::new();
    for axis in (0..spatial).rev() {
        let list = steps(cx, size[2 + axis], corners, dtype)?;
        let list = cx.trailing(list, spatial - 1 - axis)?;
        parts.push(cx.broadcast(list, &shape)?);
    }
    let unit = cx.scalar(dtype, 1.0)?;
    parts.push(cx.fill(&shape, unit)?);
    let grid = cx.op("stack", &parts, &[("axis", (-1i64).into())])?;
    let count: i64 = size[2..].iter().product();
    let grid = cx.reshape_known(grid, &[count, spatial as i64 + 1])?;
    let y = cx.op("matmul", &[grid, theta], &[("transpose_b", true.into())])?;
    let mut sizes = vec![Size::Known(size[0])];
    sizes.extend(shape);
    sizes.push(Size::Known(spatial as i64));
    one(cx.reshape(y, &sizes)?)
}

/// A coordinate folded back into `[low, high]`.
fn reflected(cx: &mut Cx<'_, '_>, x: Value, low: f64, high: f64) -> Result<Value> {
    let range = high - low;
    if range <= 0.0 {
        return cx.un("zeros_like", x);
    }
    let x = cx.with("sub", x, low)?;
    let x = cx.with("floormod", x, 2.0 * range)?;
    let top = cx.like(x, 2.0 * range)?;
    let back = cx.bin("sub", top, x)?;
    let x = cx.bin("minimum", x, back)?;
    cx.with("add", x, low)
}

/// Elements between those of an image, at places that are given from -1 to 1.
fn grid_sample(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, grid) = (cx.x(0)?, cx.x(1)?);
    let spatial = cx.rank(x)? - 2;
    let extents: Vec<f64> = (0..spatial).map(|i| Ok(cx.known_extent(x, i + 2)? as f64)).collect::<Result<_>>()?;
    let mode = match cx.text("mode", "linear")? {
        "bilinear" => "linear",
        "bicubic" => "cubic",
        other => other,
    };
    let (padding, corners) = (cx.text("padding_mode", "zeros")?, cx.flag("align_corners", false));
    let dtype = cx.dtype(grid);
    let taps: i64 = match mode {
        "nearest" => 1,
        "linear" => 2,
        _ => 4,
    };
    // For each axis the places, the weights, and whether they are inside, of each tap.
    let mut axes: Vec<Vec<(Value, Option<Value>, Option<Value>)>> = Vec::new();
    for (i, &n) in extents.iter().enumerate() {
        let which = cx.i64((spatial - 1 - i) as i64);
        let g = cx.op("gather", &[grid, which], &[("axis", (spatial as i64 + 1).into())])?;
        let g = cx.with("add", g, 1.0)?;
        let (low, high) = if corners { (0.0, n - 1.0) } else { (-0.5, n - 0.5) };
        let mut at = if corners {
            cx.with("mul", g, (n - 1.0) / 2.0)?
        } else {
            let at = cx.with("mul", g, n / 2.0)?;
            cx.with("sub", at, 0.5)?
        };
        let fold = |cx: &mut Cx<'_, '_>, at: Value| -> Result<Value> {
            let at = match padding {
                "reflection" => reflected(cx, at, low, high)?,
                _ => at,
            };
            if padding == "zeros" {
                return Ok(at);
            }
            let at = cx.with("maximum", at, 0.0)?;
            cx.with("minimum", at, n - 1.0)
        };
        if mode != "cubic" {
            at = fold(cx, at)?;
        }
        let base = if mode == "nearest" { cx.un("rint", at)? } else { cx.un("floor", at)? };
        let distance = cx.bin("sub", at, base)?;
        let mut list = Vec::new();
        for k in 0..taps {
            let offset = if taps == 4 { k - 1 } else { k };
            let mut place = cx.with("add", base, offset as f64)?;
            if mode == "cubic" {
                place = fold(cx, place)?;
            }
            let inside = if padding == "zeros" {
                let (zero, end) = (cx.like(place, 0.0)?, cx.like(place, n - 1.0)?);
                let (above, below) = (cx.bin("greater_equal", place, zero)?, cx.bin("less_equal", place, end)?);
                Some(cx.bin("logical_and", above, below)?)
            } else {
                None
            };
            let weight = match mode {
                "nearest" => None,
                "linear" if k == 1 => Some(distance),
                "linear" => {
                    let unit = cx.scalar(dtype, 1.0)?;
                    Some(cx.bin("sub", unit, distance)?)
                }
                _ => Some(cubic_weight(cx, distance, offset)?),
            };
            let clamped = cx.with("maximum", place, 0.0)?;
            let clamped = cx.with("minimum", clamped, n - 1.0)?;
            list.push((cx.cast(clamped, DType::I64)?, weight, inside));
        }
        axes.push(list);
    }
    let perm: Vec<usize> = std::iter::once(0).chain(2..spatial + 2).chain([1]).collect();
    let last = cx.transpose(x, &perm)?;
    let batch = cx.extent(x, 0)?;
    let batch = cx.range(batch)?;
    let batch = cx.trailing(batch, spatial)?;
    let mut total: Option<Value> = None;
    for combination in 0..taps.pow(spatial as u32) {
        let (mut rest, mut parts) = (combination, Vec::new());
        let (mut weight, mut inside): (Option<Value>, Option<Value>) = (None, None);
        for list in &axes {
            let (place, w, there) = list[(rest % taps) as usize];
            rest /= taps;
            parts.push(place);
            weight = match (weight, w) {
                (Some(a), Some(b)) => Some(cx.bin("mul", a, b)?),
                (a, b) => a.or(b),
            };
            inside = match (inside, there) {
                (Some(a), Some(b)) => Some(cx.bin("logical_and", a, b)?),
                (a, b) => a.or(b),
            };
        }
        let zeros = cx.un("zeros_like", parts[0])?;
        parts.insert(0, cx.bin("add", zeros, batch)?);
        let at = cx.op("stack", &parts, &[("axis", (-1i64).into())])?;
        let mut value = cx.bin("gather_nd", last, at)?;
        if let Some(inside) = inside {
            let (inside, zero) = (cx.expand(inside, -1)?, cx.like(value, 0.0)?);
            value = cx.select(inside, value, zero)?;
        }
        if let Some(weight) = weight {
            let weight = cx.expand(weight, -1)?;
            let weight = cx.cast(weight, cx.dtype(value))?;
            value = cx.bin("mul", value, weight)?;
        }
        total = Some(match total {
            Some(total) => cx.bin("add", total, value)?,
            None => value,
        });
    }
    let y = total.ok_or_else(|| Error::invalid("the image has no spatial dimension"))?;
    let perm: Vec<usize> = [0, spatial + 1].into_iter().chain(1..spatial + 1).collect();
    one(cx.transpose(y, &perm)?)
}

/// The cubic of coefficient -0.75 for a tap `offset` from the one below.
fn cubic_weight(cx: &mut Cx<'_, '_>, distance: Value, offset: i64) -> Result<Value> {
    const A: f64 = -0.75;
    let shifted = cx.with("sub", distance, offset as f64)?;
    let d = cx.un("abs", shifted)?;
    let coefficients = match offset {
        0 | 1 => [A + 2.0, -(A + 3.0), 0.0, 1.0],
        _ => [A, -5.0 * A, 8.0 * A, -4.0 * A],
    };
    let mut y = cx.like(d, coefficients[0])?;
    for &c in &coefficients[1..] {
        y = cx.bin("mul", y, d)?;
        y = cx.with("add", y, c)?;
    }
    Ok(y)
}
