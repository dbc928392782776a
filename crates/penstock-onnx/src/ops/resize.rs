//! Images of other sizes. Each axis is resized by itself: an element of the result is a sum of a few elements of the operand,
//! whose places and weights are computed while the graph is made.

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::Value;

use super::Entry;
use crate::cx::{Cx, Outputs, one};

pub(super) const OPS: &[Entry] = &[("Resize", 10, resize), ("Upsample", 7, resize)];

/// How coordinates of the result become coordinates of the operand.
struct Sampling<'a> {
    mode: &'a str,
    coordinates: &'a str,
    nearest: &'a str,
    cubic: f64,
    exclude_outside: bool,
    antialias: bool,
}

/// The places and weights of one axis: `taps` of them for each element of the result.
struct Taps {
    places: Vec<i64>,
    weights: Vec<f64>,
    taps: usize,
    /// Which elements of the result lie outside of the operand.
    outside: Vec<bool>,
}

impl Sampling<'_> {
    fn coordinate(&self, i: usize, from: usize, to: usize, scale: f64, roi: (f64, f64)) -> f64 {
        let (i, n, exact) = (i as f64, from as f64, from as f64 * scale);
        match self.coordinates {
            "align_corners" => {
                if to <= 1 {
                    0.0
                } else {
                    i * (n - 1.0) / (exact - 1.0).max(1.0).max(to as f64 - 1.0)
                }
            }
            "asymmetric" => i / scale,
            "pytorch_half_pixel" => {
                if to <= 1 {
                    0.0
                } else {
                    (i + 0.5) / scale - 0.5
                }
            }
            "half_pixel_symmetric" => {
                let adjusted = to as f64 / exact;
                let centre = n / 2.0;
                centre * (1.0 - adjusted) + (i + 0.5) / scale - 0.5
            }
            "tf_half_pixel_for_nn" => (i + 0.5) / scale,
            "tf_crop_and_resize" => {
                let (start, end) = roi;
                match to > 1 {
                    true => start * (n - 1.0) + i * (end - start) * (n - 1.0) / (to as f64 - 1.0),
                    false => 0.5 * (start + end) * (n - 1.0),
                }
            }
            _ => (i + 0.5) / scale - 0.5,
        }
    }

    fn nearest_place(&self, x: f64) -> i64 {
        let near = match self.nearest {
            "floor" => x.floor(),
            "ceil" => x.ceil(),
            "round_prefer_ceil" => (x + 0.5).floor(),
            _ => (x - 0.5).ceil(),
        };
        near as i64
    }

    /// The weight of a place at a distance.
    fn kernel(&self, distance: f64) -> f64 {
        let d = distance.abs();
        match self.mode {
            "linear" => (1.0 - d).max(0.0),
            _ => {
                let a = self.cubic;
                match () {
                    () if d <= 1.0 => (a + 2.0) * d * d * d - (a + 3.0) * d * d + 1.0,
                    () if d < 2.0 => a * d * d * d - 5.0 * a * d * d + 8.0 * a * d - 4.0 * a,
                    () => 0.0,
                }
            }
        }
    }

    fn taps(&self, from: usize, to: usize, scale: f64, roi: (f64, f64)) -> Taps {
        let crops = self.coordinates == "tf_crop_and_resize";
        let last = from as i64 - 1;
        let xs: Vec<f64> = (0..to).map(|i| self.coordinate(i, from, to, scale, roi)).collect();
        let outside = xs.iter().map(|&x| crops && !(0.0..=last as f64).contains(&x)).collect();
        if self.mode == "nearest" {
            let places = xs.iter().map(|&x| self.nearest_place(x).clamp(0, last)).collect();
            return Taps { places, weights: vec![1.0; to], taps: 1, outside };
        }
        // A smaller image is the mean over wider windows.
        let stretch = if self.antialias { scale.min(1.0) } else { 1.0 };
        let reach = if self.mode == "linear" { 1.0 } else { 2.0 } / stretch;
        let taps = if stretch < 1.0 { 2 * reach.ceil() as usize + 1 } else { 2 * reach as usize };
        let (mut places, mut weights) = (Vec::new(), Vec::new());
        for &x in &xs {
            let first = x.floor() as i64 - taps as i64 / 2 + 1 - i64::from(stretch < 1.0 && taps % 2 == 1)
                + i64::from(stretch < 1.0);
            let row: Vec<(i64, f64)> = (0..taps as i64)
                .map(|k| {
                    let place = first + k;
                    let weight = self.kernel((place as f64 - x) * stretch);
                    let inside = (0..=last).contains(&place);
                    (place.clamp(0, last), if self.exclude_outside && !inside { 0.0 } else { weight })
                })
                .collect();
            let sum: f64 = row.iter().map(|(_, w)| w).sum();
            let normal = if (self.exclude_outside || stretch < 1.0) && sum != 0.0 { sum } else { 1.0 };
            places.extend(row.iter().map(|(p, _)| *p));
            weights.extend(row.iter().map(|(_, w)| w / normal));
        }
        Taps { places, weights, taps, outside }
    }
}

fn floats(cx: &mut Cx<'_, '_>, value: Value) -> Result<Vec<f64>> {
    let value = cx.cast(value, DType::F64)?;
    Ok(cx.known(value)?.as_slice::<f64>().to_vec())
}

fn resize(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let legacy = cx.node.op == "Upsample" || cx.version < 11;
    let axes: Vec<usize> = match cx.ints("axes") {
        Some(axes) => axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?,
        None => (0..rank).collect(),
    };
    let sampling = Sampling {
        mode: match cx.text("mode", "nearest")? {
            "bilinear" => "linear",
            other => other,
        },
        coordinates: if legacy { "asymmetric" } else { cx.text("coordinate_transformation_mode", "half_pixel")? },
        nearest: if legacy { "floor" } else { cx.text("nearest_mode", "round_prefer_floor")? },
        cubic: cx.float("cubic_coeff_a", -0.75),
        exclude_outside: cx.flag("exclude_outside", false),
        antialias: cx.flag("antialias", false),
    };
    let (roi, scales, sizes) = if legacy { (None, cx.opt(1), None) } else { (cx.opt(1), cx.opt(2), cx.opt(3)) };
    let given = |cx: &mut Cx<'_, '_>, v: Option<Value>| -> Result<Option<Vec<f64>>> {
        Ok(match v {
            Some(v) => Some(floats(cx, v)?).filter(|list| !list.is_empty()),
            None => None,
        })
    };
    let roi = if sampling.coordinates == "tf_crop_and_resize" { given(cx, roi)? } else { None };
    let (scales, sizes) = match (given(cx, scales)?, cx.floats("scales")) {
        (None, Some(scales)) => (Some(scales.iter().map(|&s| f64::from(s)).collect::<Vec<_>>()), None),
        (scales, _) => (scales, given(cx, sizes)?),
    };
    let list =
        scales.as_ref().or(sizes.as_ref()).ok_or_else(|| Error::invalid("there are neither scales nor sizes"))?;
    if list.len() != axes.len() {
        return Err(Error::invalid(format!("there are {} scales or sizes for {} axes", list.len(), axes.len())));
    }
    // Axes that keep their size need not be known.
    let mut targets = Vec::new();
    let mut common: Option<f64> = None;
    let policy = cx.text("keep_aspect_ratio_policy", "stretch")?;
    for (k, &axis) in axes.iter().enumerate() {
        if scales.as_ref().is_some_and(|s| s[k] == 1.0) && roi.is_none() {
            continue;
        }
        let from = cx.known_extent(x, axis)?;
        let (to, scale) = match (&scales, &sizes) {
            (Some(scales), _) => ((from as f64 * scales[k]).floor() as usize, scales[k]),
            (None, Some(sizes)) => (sizes[k] as usize, sizes[k] / from as f64),
            (None, None) => continue,
        };
        common = Some(match (common, policy) {
            (Some(c), "not_larger") => c.min(scale),
            (Some(c), _) => c.max(scale),
            (None, _) => scale,
        });
        let region =
            roi.as_ref().filter(|r| r.len() == 2 * axes.len()).map_or((0.0, 1.0), |r| (r[k], r[axes.len() + k]));
        targets.push((axis, from, to, scale, region));
    }
    if policy != "stretch"
        && sizes.is_some()
        && let Some(scale) = common
    {
        for target in &mut targets {
            target.2 = (target.1 as f64 * scale).round() as usize;
            target.3 = scale;
        }
    }
    let dtype = cx.dtype(x);
    let wide = sampling.mode != "nearest" && !dtype.is_float();
    let mut y = if wide { cx.cast(x, DType::F32)? } else { x };
    let mut outside: Option<Value> = None;
    for (axis, from, to, scale, region) in targets {
        if from == to && roi.is_none() && scale == 1.0 {
            continue;
        }
        if from == 0 {
            return Err(Error::invalid("an image without elements has no other size"));
        }
        let taps = sampling.taps(from, to, scale, region);
        y = apply(cx, y, axis, &taps)?;
        if taps.outside.iter().any(|&o| o) {
            let flags: Vec<penstock_data::Bool8> = taps.outside.iter().map(|&o| penstock_data::Bool8::new(o)).collect();
            let flags = cx.constant(Tensor::vector(&flags));
            let flags = cx.trailing(flags, rank - 1 - axis)?;
            outside = Some(match outside {
                Some(other) => cx.bin("logical_or", other, flags)?,
                None => flags,
            });
        }
    }
    if let Some(outside) = outside {
        let value = cx.like(y, cx.float("extrapolation_value", 0.0))?;
        y = cx.select(outside, value, y)?;
    }
    if wide {
        y = cx.un("rint", y)?;
        y = cx.cast(y, dtype)?;
    }
    one(y)
}

fn apply(cx: &mut Cx<'_, '_>, x: Value, axis: usize, taps: &Taps) -> Result<Value> {
    let rank = cx.rank(x)?;
    let mut sum = None;
    for k in 0..taps.taps {
        let column = |list: &[i64]| list.iter().skip(k).step_by(taps.taps).copied().collect::<Vec<i64>>();
        let places = cx.i64s(&column(&taps.places));
        let mut part = cx.op("gather", &[x, places], &[("axis", (axis as i64).into())])?;
        if taps.weights.iter().any(|&w| w != 1.0) {
            let weights: Vec<f64> = taps.weights.iter().skip(k).step_by(taps.taps).copied().collect();
            let weights = cx.constant(Tensor::vector(&weights));
            let weights = cx.cast(weights, cx.dtype(x))?;
            let weights = cx.trailing(weights, rank - 1 - axis)?;
            part = cx.bin("mul", part, weights)?;
        }
        sum = Some(match sum {
            Some(sum) => cx.bin("add", sum, part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| Error::internal("no element takes part"))
}
