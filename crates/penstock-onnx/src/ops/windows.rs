//! Convolutions and pooling. ONNX has the channels first; the engine works on channels last, and the optimiser cancels the
//! transposes between.

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Attr, Value};

use super::Entry;
use super::arrays::pad_by;
use crate::cx::{Cx, Item, Outputs, Size, ints, one};

pub(super) const OPS: &[Entry] = &[
    ("AveragePool", 1, average_pool),
    ("Col2Im", 18, col2im),
    ("Conv", 1, conv),
    ("ConvTranspose", 1, conv_transpose),
    ("GlobalAveragePool", 1, global_pool),
    ("GlobalLpPool", 1, global_pool),
    ("GlobalMaxPool", 1, global_pool),
    ("LRN", 1, lrn),
    ("LpPool", 1, lp_pool),
    ("MaxPool", 1, max_pool),
    ("MaxUnpool", 9, max_unpool),
];

/// The channels moved behind the spatial dimensions.
fn channels_last(cx: &mut Cx<'_, '_>, x: Value) -> Result<Value> {
    let rank = cx.rank(x)?;
    let perm: Vec<usize> = std::iter::once(0).chain(2..rank).chain([1]).collect();
    cx.transpose(x, &perm)
}

/// The channels moved back.
fn channels_first(cx: &mut Cx<'_, '_>, x: Value) -> Result<Value> {
    let rank = cx.rank(x)?;
    let perm: Vec<usize> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    cx.transpose(x, &perm)
}

/// Where windows lie along the spatial dimensions.
#[derive(Clone)]
struct Windows {
    kernel: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// Before and after each dimension; `None` for `SAME`, with the zeros at the end where their number is odd.
    pads: Option<Vec<(i64, i64)>>,
}

impl Windows {
    /// The attributes of a node, for an operand whose spatial dimensions begin at axis 2.
    fn of(cx: &mut Cx<'_, '_>, x: Value, kernel: Vec<i64>) -> Result<Windows> {
        let spatial = kernel.len();
        if cx.rank(x)? != spatial + 2 {
            return Err(Error::invalid(format!("the windows have {spatial} dimensions, the operand {}", cx.rank(x)?)));
        }
        let list = |cx: &Cx<'_, '_>, name: &str| cx.ints(name).unwrap_or_else(|| vec![1; spatial]);
        let (strides, dilations) = (list(cx, "strides"), list(cx, "dilations"));
        let bad = |list: &[i64]| list.len() != spatial || list.iter().any(|&n| n < 1);
        if bad(&strides) || bad(&dilations) || bad(&kernel) {
            return Err(Error::invalid("strides, dilations and extents are a positive number for each dimension"));
        }
        let mut windows = Windows { kernel, strides, dilations, pads: None };
        windows.pads = match cx.text("auto_pad", "NOTSET")? {
            "SAME_UPPER" => None,
            "SAME_LOWER" => {
                let pads = (0..spatial).map(|i| {
                    let total = windows.same_total(cx.known_extent(x, i + 2)? as i64, i);
                    Ok((total - total / 2, total / 2))
                });
                Some(pads.collect::<Result<_>>()?)
            }
            "VALID" => Some(vec![(0, 0); spatial]),
            _ => {
                let pads = cx.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial]);
                if pads.len() != 2 * spatial {
                    return Err(Error::invalid("pads are two numbers for each dimension"));
                }
                Some((0..spatial).map(|i| (pads[i], pads[spatial + i])).collect())
            }
        };
        Ok(windows)
    }

    /// The extent of a window with its gaps.
    fn reach(&self, i: usize) -> i64 {
        (self.kernel[i] - 1) * self.dilations[i] + 1
    }

    fn same_total(&self, extent: i64, i: usize) -> i64 {
        let outputs = (extent + self.strides[i] - 1) / self.strides[i];
        ((outputs - 1) * self.strides[i] + self.reach(i) - extent).max(0)
    }

    /// The padding in numbers.
    fn known_pads(&self, cx: &mut Cx<'_, '_>, x: Value) -> Result<Vec<(i64, i64)>> {
        match &self.pads {
            Some(pads) => Ok(pads.clone()),
            None => (0..self.kernel.len())
                .map(|i| {
                    let total = self.same_total(cx.known_extent(x, i + 2)? as i64, i);
                    Ok((total / 2, total - total / 2))
                })
                .collect(),
        }
    }

    /// The attributes of the engine.
    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        let mut attrs = vec![("strides", ints(self.strides.iter().copied()))];
        match &self.pads {
            None => attrs.push(("padding", "SAME".into())),
            Some(pads) if pads.iter().all(|&p| p == (0, 0)) => {}
            Some(pads) => {
                attrs.push(("padding", "EXPLICIT".into()));
                attrs.push(("explicit_paddings", ints(pads.iter().flat_map(|&(b, a)| [b, a]))));
            }
        }
        attrs
    }

    /// The number of windows along each dimension, where the last may begin inside and end outside if `ceil`.
    fn counts(&self, extents: &[i64], pads: &[(i64, i64)], ceil: bool) -> Vec<i64> {
        (0..self.kernel.len())
            .map(|i| {
                let room = extents[i] + pads[i].0 + pads[i].1 - self.reach(i);
                let stride = self.strides[i];
                let mut count = if ceil {
                    room.div_euclid(stride) + i64::from(room.rem_euclid(stride) > 0)
                } else {
                    room.div_euclid(stride)
                } + 1;
                if ceil && (count - 1) * stride >= extents[i] + pads[i].0 {
                    count -= 1;
                }
                count.max(0)
            })
            .collect()
    }

    /// The elements of each window: `[n, c, counts.., product of the kernel]`, padded with `value`.
    fn elements(
        &self,
        cx: &mut Cx<'_, '_>,
        x: Value,
        pads: &[(i64, i64)],
        counts: &[i64],
        value: Value,
    ) -> Result<Value> {
        let spatial = self.kernel.len();
        let mut amounts = vec![(0, 0), (0, 0)];
        for i in 0..spatial {
            let have = cx.known_extent(x, i + 2)? as i64 + pads[i].0;
            let need = (counts[i] - 1) * self.strides[i] + self.reach(i);
            amounts.push((pads[i].0, (need - have).max(0)));
        }
        let mut x = pad_by(cx, x, &amounts, value)?;
        for (i, &count) in counts.iter().enumerate() {
            let at: Vec<i64> = (0..count)
                .flat_map(|o| (0..self.kernel[i]).map(move |k| (o, k)))
                .map(|(o, k)| o * self.strides[i] + k * self.dilations[i])
                .collect();
            let at = Tensor::from_slice(&[count as usize, self.kernel[i] as usize], &at)?;
            let at = cx.constant(at);
            // Two dimensions for each that is done.
            x = cx.op("gather", &[x, at], &[("axis", (2 + 2 * i as i64).into())])?;
        }
        let perm: Vec<usize> =
            [0, 1].into_iter().chain((0..spatial).map(|i| 2 + 2 * i)).chain((0..spatial).map(|i| 3 + 2 * i)).collect();
        let x = cx.transpose(x, &perm)?;
        let mut sizes = vec![cx.extent(x, 0)?, cx.extent(x, 1)?];
        sizes.extend(counts.iter().map(|&n| Size::Known(n)));
        sizes.push(self.kernel.iter().product::<i64>().into());
        cx.reshape(x, &sizes)
    }
}

fn conv(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, w) = (cx.x(0)?, cx.x(1)?);
    let y = convolution(cx, x, w)?;
    let y = match cx.opt(2) {
        Some(bias) => cx.op("bias_add", &[y, bias], &[])?,
        None => y,
    };
    one(channels_first(cx, y)?)
}

/// A convolution, with the channels of the result last.
pub(super) fn convolution(cx: &mut Cx<'_, '_>, x: Value, w: Value) -> Result<Value> {
    let kernel = (2..cx.rank(w)?).map(|i| Ok(cx.known_extent(w, i)? as i64)).collect::<Result<Vec<_>>>()?;
    let windows = Windows::of(cx, x, kernel)?;
    let mut attrs = windows.attrs();
    attrs.push(("dilations", ints(windows.dilations.iter().copied())));
    let x = channels_last(cx, x)?;
    let rank = cx.rank(w)?;
    let perm: Vec<usize> = (2..rank).chain([1, 0]).collect();
    let w = cx.transpose(w, &perm)?;
    cx.op("conv", &[x, w], &attrs)
}

/// The derivative of a convolution without padding, of which the padding is cut off.
fn conv_transpose(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, w) = (cx.x(0)?, cx.x(1)?);
    let rank = cx.rank(w)?;
    let spatial = rank.saturating_sub(2);
    let kernel = (2..rank).map(|i| Ok(cx.known_extent(w, i)? as i64)).collect::<Result<Vec<_>>>()?;
    let auto = cx.text("auto_pad", "NOTSET")?;
    let mut windows = Windows::of(cx, x, kernel)?;
    let extra = cx.ints("output_padding").unwrap_or_else(|| vec![0; spatial]);
    let shape = cx.ints("output_shape");
    if extra.len() != spatial || shape.as_ref().is_some_and(|s| s.len() < spatial) {
        return Err(Error::invalid("output_padding and output_shape are a number for each dimension"));
    }
    let by_shape = shape.is_some() || auto.starts_with("SAME");
    if by_shape {
        let pads = (0..spatial).map(|i| {
            let extent = cx.known_extent(x, i + 2)? as i64;
            let due = match &shape {
                Some(shape) => shape[shape.len() - spatial + i],
                None => extent * windows.strides[i],
            };
            let total = windows.strides[i] * (extent - 1) + extra[i] + windows.reach(i) - due;
            let half = total.div_euclid(2);
            Ok(if auto == "SAME_UPPER" { (half, total - half) } else { (total - half, half) })
        });
        windows.pads = Some(pads.collect::<Result<_>>()?);
    }
    let pads = windows.pads.clone().unwrap_or_else(|| vec![(0, 0); spatial]);
    let groups = cx.int("group", 1);
    let channels = cx.known_extent(w, 1)? as i64 * groups;
    let mut sizes = vec![cx.extent(x, 0)?];
    for i in 0..spatial {
        let extent = cx.extent(x, i + 2)?;
        sizes.push(match extent {
            Size::Known(n) => Size::Known(windows.strides[i] * (n - 1) + windows.reach(i)),
            Size::Value(n) => {
                let n = cx.with("mul", n, windows.strides[i] as f64)?;
                Size::Value(cx.with("add", n, (windows.reach(i) - windows.strides[i]) as f64)?)
            }
        });
    }
    sizes.push(channels.into());
    let sizes = cx.vector(&sizes)?;
    let perm: Vec<usize> = (2..rank).chain([1, 0]).collect();
    let w = cx.transpose(w, &perm)?;
    let x = channels_last(cx, x)?;
    let attrs =
        [("strides", ints(windows.strides.iter().copied())), ("dilations", ints(windows.dilations.iter().copied()))];
    let mut y = cx.op("conv_input_grad", &[sizes, w, x], &attrs)?;
    let amounts: Vec<(i64, i64)> = std::iter::once((0, 0))
        .chain(pads.iter().zip(&extra).map(|(&(before, after), &extra)| (-before, extra - after)))
        .chain([(0, 0)])
        .collect();
    let zero = cx.like(y, 0.0)?;
    y = pad_by(cx, y, &amounts, zero)?;
    if let Some(bias) = cx.opt(2) {
        y = cx.op("bias_add", &[y, bias], &[])?;
    }
    one(channels_first(cx, y)?)
}

fn kernel(cx: &Cx<'_, '_>) -> Result<Vec<i64>> {
    cx.ints("kernel_shape").ok_or_else(|| Error::invalid("attribute 'kernel_shape' is missing"))
}

/// Whether pooling is one of the engine's: no gaps, no window that begins inside and ends outside.
fn is_plain(cx: &mut Cx<'_, '_>, x: Value, windows: &Windows) -> Result<bool> {
    let fits = windows.pads.as_ref().is_none_or(|pads| {
        pads.iter().zip(&windows.kernel).all(|(&(before, after), &k)| before.max(after) < k && before.min(after) >= 0)
    });
    if !fits || windows.dilations.iter().any(|&d| d != 1) || windows.kernel.len() > 3 {
        return Ok(false);
    }
    if !cx.flag("ceil_mode", false) {
        return Ok(true);
    }
    let (extents, pads) = (extents(cx, x)?, windows.known_pads(cx, x)?);
    Ok(windows.counts(&extents, &pads, true) == windows.counts(&extents, &pads, false))
}

fn extents(cx: &mut Cx<'_, '_>, x: Value) -> Result<Vec<i64>> {
    (2..cx.rank(x)?).map(|i| Ok(cx.known_extent(x, i)? as i64)).collect()
}

/// The least number of a dtype.
fn lowest(cx: &mut Cx<'_, '_>, dtype: DType) -> Result<Value> {
    let nothing = cx.constant(Tensor::zeros(dtype, &[0])?);
    cx.op("reduce_max", &[nothing], &[])
}

fn max_pool(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let kernel = kernel(cx)?;
    let windows = Windows::of(cx, x, kernel)?;
    if !cx.wants(1) && is_plain(cx, x, &windows)? {
        let mut attrs = windows.attrs();
        attrs.push(("ksize", ints(windows.kernel.iter().copied())));
        let x = channels_last(cx, x)?;
        let y = cx.op("max_pool", &[x], &attrs)?;
        return one(channels_first(cx, y)?);
    }
    let (extents, pads) = (extents(cx, x)?, windows.known_pads(cx, x)?);
    let counts = windows.counts(&extents, &pads, cx.flag("ceil_mode", false));
    let lowest = lowest(cx, cx.dtype(x))?;
    let elements = windows.elements(cx, x, &pads, &counts, lowest)?;
    let last = counts.len() + 2;
    let y = cx.reduce("reduce_max", elements, &[last], false)?;
    if !cx.wants(1) {
        return one(y);
    }
    let best = cx.op("argmax", &[elements], &[("axis", (last as i64).into()), ("dtype", DType::I64.into())])?;
    // The place of an element of a window, counted through the whole operand.
    let by_columns = cx.flag("storage_order", false);
    let (mut linear, mut step) = (None, 1);
    let order: Vec<usize> = if by_columns { (0..counts.len()).collect() } else { (0..counts.len()).rev().collect() };
    let mut inner = vec![1; counts.len()];
    for i in (0..counts.len().saturating_sub(1)).rev() {
        inner[i] = inner[i + 1] * windows.kernel[i + 1];
    }
    for i in order {
        let offset = cx.with("floordiv", best, inner[i] as f64)?;
        let offset = cx.with("floormod", offset, windows.kernel[i] as f64)?;
        let offset = cx.with("mul", offset, windows.dilations[i] as f64)?;
        let starts: Vec<i64> = (0..counts[i]).map(|o| o * windows.strides[i] - pads[i].0).collect();
        let starts = cx.i64s(&starts);
        let starts = cx.trailing(starts, counts.len() - 1 - i)?;
        let at = cx.bin("add", offset, starts)?;
        let at = cx.with("mul", at, step as f64)?;
        linear = Some(match linear {
            Some(linear) => cx.bin("add", linear, at)?,
            None => at,
        });
        step *= extents[i];
    }
    let (n, c) = (cx.extent(x, 0)?, cx.extent(x, 1)?);
    let planes = cx.product(&[n, c])?;
    let planes = cx.range(planes)?;
    let planes = cx.with("mul", planes, step as f64)?;
    let planes = cx.reshape(planes, &[n, c])?;
    let planes = cx.trailing(planes, counts.len())?;
    let linear = linear.ok_or_else(|| Error::invalid("there is no spatial dimension"))?;
    let linear = cx.bin("add", linear, planes)?;
    Ok(vec![y.into(), linear.into()])
}

/// Sums of windows divided by how many elements each has: those of the padding count where the node says so.
fn average_pool(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let kernel = kernel(cx)?;
    let mut windows = Windows::of(cx, x, kernel)?;
    let (ceil, counted) = (cx.flag("ceil_mode", false), cx.flag("count_include_pad", false));
    if is_plain(cx, x, &windows)? {
        let mut x = x;
        if counted && windows.pads.as_ref().is_none_or(|p| p.iter().any(|&p| p != (0, 0))) {
            let pads = windows.known_pads(cx, x)?;
            let amounts: Vec<(i64, i64)> = [(0, 0), (0, 0)].into_iter().chain(pads).collect();
            let zero = cx.like(x, 0.0)?;
            x = pad_by(cx, x, &amounts, zero)?;
            windows.pads = Some(vec![(0, 0); windows.kernel.len()]);
        }
        let mut attrs = windows.attrs();
        attrs.push(("ksize", ints(windows.kernel.iter().copied())));
        let x = channels_last(cx, x)?;
        let y = cx.op("avg_pool", &[x], &attrs)?;
        return one(channels_first(cx, y)?);
    }
    let (extents, pads) = (extents(cx, x)?, windows.known_pads(cx, x)?);
    let counts = windows.counts(&extents, &pads, ceil);
    let zero = cx.like(x, 0.0)?;
    let elements = windows.elements(cx, x, &pads, &counts, zero)?;
    let last = counts.len() + 2;
    let sum = cx.reduce("reduce_sum", elements, &[last], false)?;
    let mut shape = vec![Size::Known(1), Size::Known(1)];
    shape.extend(extents.iter().map(|&n| Size::Known(n)));
    let ones = cx.like(x, 1.0)?;
    let mut ones_x = cx.fill(&shape, ones)?;
    let mut inner = pads.clone();
    if counted {
        let amounts: Vec<(i64, i64)> = [(0, 0), (0, 0)].into_iter().chain(pads.iter().copied()).collect();
        ones_x = pad_by(cx, ones_x, &amounts, ones)?;
        inner = vec![(0, 0); pads.len()];
    }
    let members = windows.elements(cx, ones_x, &inner, &counts, zero)?;
    let members = cx.reduce("reduce_sum", members, &[last], false)?;
    one(cx.bin("div", sum, members)?)
}

/// `(sum |x|^p)^(1 / p)`.
fn norm(cx: &mut Cx<'_, '_>, x: Value, p: f64, axes: &[usize], keepdims: bool) -> Result<Value> {
    let x = cx.un("abs", x)?;
    let powers = if p == 1.0 { x } else { cx.with("pow", x, p)? };
    let sum = cx.reduce("reduce_sum", powers, axes, keepdims)?;
    if p == 1.0 { Ok(sum) } else { cx.with("pow", sum, 1.0 / p) }
}

fn lp_pool(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let kernel = kernel(cx)?;
    let windows = Windows::of(cx, x, kernel)?;
    let (extents, pads) = (extents(cx, x)?, windows.known_pads(cx, x)?);
    let counts = windows.counts(&extents, &pads, cx.flag("ceil_mode", false));
    let zero = cx.like(x, 0.0)?;
    let elements = windows.elements(cx, x, &pads, &counts, zero)?;
    one(norm(cx, elements, cx.float("p", 2.0), &[counts.len() + 2], false)?)
}

fn global_pool(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let axes: Vec<usize> = (2..cx.rank(x)?).collect();
    one(match cx.node.op {
        "GlobalAveragePool" => cx.reduce("reduce_mean", x, &axes, true)?,
        "GlobalMaxPool" => cx.reduce("reduce_max", x, &axes, true)?,
        _ => norm(cx, x, cx.float("p", 2.0), &axes, true)?,
    })
}

/// Each element divided by a power of the sum of squares of the channels near it.
fn lrn(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let size = cx.int("size", 1);
    let square = cx.un("square", x)?;
    let zero = cx.like(x, 0.0)?;
    let mut amounts = vec![(0, 0); cx.rank(x)?];
    amounts[1] = ((size - 1) / 2, size / 2);
    let padded = pad_by(cx, square, &amounts, zero)?;
    let channels = cx.known_extent(x, 1)? as i64;
    let mut sum = None;
    for i in 0..size {
        let part = cx.slice(padded, 1, i.into(), Some((i + channels).into()))?;
        sum = Some(match sum {
            Some(sum) => cx.bin("add", sum, part)?,
            None => part,
        });
    }
    let sum = sum.ok_or_else(|| Error::invalid("attribute 'size' must be positive"))?;
    let scaled = cx.with("mul", sum, cx.float("alpha", 1e-4) / size as f64)?;
    let base = cx.with("add", scaled, cx.float("bias", 1.0))?;
    let power = cx.with("pow", base, cx.float("beta", 0.75))?;
    one(cx.bin("div", x, power)?)
}

/// Writes each element at its place in an output of zeros.
fn max_unpool(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, places) = (cx.x(0)?, cx.x(1)?);
    let kernel = kernel(cx)?;
    let windows = Windows::of(cx, x, kernel)?;
    let (n, c) = (cx.known_extent(x, 0)? as i64, cx.known_extent(x, 1)? as i64);
    let (extents, pads) = (extents(cx, x)?, windows.known_pads(cx, x)?);
    // Places are counted through the output that the attributes give.
    let mut own = vec![n, c];
    own.extend(
        (0..extents.len()).map(|i| (extents[i] - 1) * windows.strides[i] + windows.reach(i) - pads[i].0 - pads[i].1),
    );
    let (count, places) = (own.iter().product::<i64>(), cx.reshape_known(places, &[-1, 1])?);
    let values = cx.reshape_known(x, &[-1])?;
    let count = cx.i64s(&[count]);
    let flat = cx.op("scatter_nd", &[places, values, count], &[])?;
    let y = cx.reshape_known(flat, &own)?;
    let Some(shape) = cx.opt(2) else { return one(y) };
    let due = cx.known_ints(shape)?;
    let amounts: Vec<(i64, i64)> = due.iter().zip(&own).map(|(due, own)| (0, due - own)).collect();
    let zero = cx.like(y, 0.0)?;
    one(pad_by(cx, y, &amounts, zero)?)
}

/// The image whose windows are the columns, each element the sum of those that stand at its place.
fn col2im(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, image, block) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let (image, kernel) = (cx.known_ints(image)?, cx.known_ints(block)?);
    let spatial = kernel.len();
    let list = |cx: &Cx<'_, '_>, name: &str| cx.ints(name).unwrap_or_else(|| vec![1; spatial]);
    let (strides, dilations) = (list(cx, "strides"), list(cx, "dilations"));
    let pads = cx.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial]);
    if [image.len(), strides.len(), dilations.len(), pads.len() / 2].iter().any(|&n| n != spatial) {
        return Err(Error::invalid("the extents and attributes are of different lengths"));
    }
    let pads: Vec<(i64, i64)> = (0..spatial).map(|i| (pads[i], pads[spatial + i])).collect();
    let windows = Windows { kernel, strides, dilations, pads: Some(pads.clone()) };
    let counts = windows.counts(&image, &pads, false);
    // The place of each element of each window; what lies in the padding is dropped.
    let mut places = vec![0i64];
    for i in 0..spatial {
        let grid: Vec<i64> = (0..windows.kernel[i])
            .flat_map(|k| (0..counts[i]).map(move |o| (k, o)))
            .map(|(k, o)| k * windows.dilations[i] + o * windows.strides[i] - pads[i].0)
            .map(|at| if (0..image[i]).contains(&at) { at } else { -1 })
            .collect();
        places = places
            .iter()
            .flat_map(|&outer| grid.iter().map(move |&at| (outer, at)))
            .map(|(outer, at)| if outer < 0 || at < 0 { -1 } else { outer * image[i] + at })
            .collect();
    }
    let pixels = image.iter().product::<i64>();
    let (n, block): (Size, i64) = (cx.extent(x, 0)?, windows.kernel.iter().product());
    let channels = cx.known_extent(x, 1)? as i64 / block;
    // `[n, c, k0, k1, .., o0, o1, ..]` to `[k0, o0, k1, o1, .., n, c]`.
    let mut sizes = vec![n, channels.into()];
    sizes.extend(windows.kernel.iter().chain(&counts).map(|&n| Size::Known(n)));
    let x = cx.reshape(x, &sizes)?;
    let perm: Vec<usize> = (0..spatial).flat_map(|i| [2 + i, 2 + spatial + i]).chain([0, 1]).collect();
    let x = cx.transpose(x, &perm)?;
    let x = cx.reshape(x, &[Size::Known(places.len() as i64), n, channels.into()])?;
    let (places, pixels) = (cx.i64s(&places), cx.i64(pixels));
    let y = cx.op("unsorted_segment_sum", &[x, places, pixels], &[])?;
    let y = cx.transpose(y, &[1, 2, 0])?;
    let mut sizes = vec![n, channels.into()];
    sizes.extend(image.iter().map(|&n| Size::Known(n)));
    Ok(vec![Item::Tensor(cx.reshape(y, &sizes)?)])
}
