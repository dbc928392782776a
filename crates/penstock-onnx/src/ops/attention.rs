//! Attention, and what networks with attention are made of.

use penstock_data::{DType, Error, Result};
use penstock_ir::{Type, Value};

use super::Entry;
use crate::cx::{Cx, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[
    ("Attention", 23, attention),
    ("CausalConvWithState", 27, causal_conv),
    ("LinearAttention", 27, linear_attention),
    ("RotaryEmbedding", 23, rotary),
];

/// `[batch, time, heads * n]` as `[batch, heads, time, n]`.
fn heads_apart(cx: &mut Cx<'_, '_>, x: Value, heads: i64) -> Result<Value> {
    if cx.rank(x)? == 4 {
        return Ok(x);
    }
    if heads < 1 {
        return Err(Error::invalid("the number of heads is missing"));
    }
    let (batch, time, width) = (cx.extent(x, 0)?, cx.extent(x, 1)?, cx.known_extent(x, 2)? as i64);
    // One number for all heads is one for each.
    let heads = if width < heads { 1 } else { heads };
    let x = cx.reshape(x, &[batch, time, heads.into(), (width / heads).into()])?;
    cx.transpose(x, &[0, 2, 1, 3])
}

/// The inverse.
fn heads_together(cx: &mut Cx<'_, '_>, x: Value) -> Result<Value> {
    let x = cx.transpose(x, &[0, 2, 1, 3])?;
    let (batch, time, heads, n) = (cx.extent(x, 0)?, cx.extent(x, 1)?, cx.extent(x, 2)?, cx.extent(x, 3)?);
    let width = cx.product(&[heads, n])?;
    cx.reshape(x, &[batch, time, width])
}

/// Each head as often as query heads share it.
fn shared(cx: &mut Cx<'_, '_>, x: Value, query_heads: usize) -> Result<Value> {
    let heads = cx.known_extent(x, 1)?;
    if heads == query_heads {
        return Ok(x);
    }
    if !query_heads.is_multiple_of(heads) {
        return Err(Error::invalid(format!("{query_heads} heads cannot share {heads}")));
    }
    let places: Vec<i64> = (0..query_heads).map(|h| (h / (query_heads / heads)) as i64).collect();
    let places = cx.i64s(&places);
    cx.op("gather", &[x, places], &[("axis", 1i64.into())])
}

fn attention(cx: &mut Cx<'_, '_>) -> Outputs {
    let (q, k, v) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let flat = cx.rank(q)? == 3;
    let (query_heads, kv_heads) = (cx.int("q_num_heads", 0), cx.int("kv_num_heads", 0));
    let q = heads_apart(cx, q, query_heads)?;
    let (mut k, mut v) = (heads_apart(cx, k, kv_heads)?, heads_apart(cx, v, kv_heads)?);
    let mut offset = None;
    if let (Some(past_k), Some(past_v)) = (cx.opt(4), cx.opt(5)) {
        let past = cx.extent(past_k, 2)?;
        offset = Some(cx.size(past));
        k = cx.concat(&[past_k, k], 2)?;
        v = cx.concat(&[past_v, v], 2)?;
    }
    let (present_k, present_v) = (k, v);
    let heads = cx.known_extent(q, 1)?;
    let (k, v) = (shared(cx, k, heads)?, shared(cx, v, heads)?);
    let width = cx.known_extent(q, 3)?;
    let dtype = cx.dtype(q);
    // Either operand takes the root of the scale, so that products of 16 bits do not overflow.
    let scale = cx.opt_float("scale").unwrap_or(1.0 / (width as f64).sqrt()).sqrt();
    let (scaled_q, scaled_k) = (cx.with("mul", q, scale)?, cx.with("mul", k, scale)?);
    let raw = cx.op("matmul", &[scaled_q, scaled_k], &[("transpose_b", true.into())])?;
    let mut scores = raw;
    let softcap = cx.float("softcap", 0.0);
    if softcap > 0.0 {
        let part = cx.with("div", scores, softcap)?;
        let part = cx.un("tanh", part)?;
        scores = cx.with("mul", part, softcap)?;
    }
    let capped = scores;
    let (queries, keys) = (cx.extent(scores, 2)?, cx.extent(scores, 3)?);
    let mut allowed: Option<Value> = None;
    let restrict = |cx: &mut Cx<'_, '_>, allowed: &mut Option<Value>, mask: Value| -> Result<()> {
        *allowed = Some(match *allowed {
            Some(other) => cx.bin("logical_and", other, mask)?,
            None => mask,
        });
        Ok(())
    };
    let (rows, columns) = (cx.range(queries)?, cx.range(keys)?);
    let rows = cx.expand(rows, 1)?;
    if let Some(valid) = cx.opt(6) {
        let valid = cx.cast(valid, DType::I64)?;
        let valid = cx.trailing(valid, 3)?;
        let inside = cx.bin("less", columns, valid)?;
        restrict(cx, &mut allowed, inside)?;
        if offset.is_none() {
            let queries = cx.size(queries);
            offset = Some(cx.bin("sub", valid, queries)?);
        }
    }
    let at = match offset {
        Some(offset) => cx.bin("add", rows, offset)?,
        None => rows,
    };
    if cx.flag("is_causal", false) {
        let seen = cx.bin("less_equal", columns, at)?;
        restrict(cx, &mut allowed, seen)?;
    }
    for (name, compare, sign) in [("left_window_size", "greater_equal", -1.0), ("right_window_size", "less_equal", 1.0)]
    {
        let reach = cx.int(name, -1);
        if reach >= 0 {
            let bound = cx.with("add", at, sign * reach as f64)?;
            let near = cx.bin(compare, columns, bound)?;
            restrict(cx, &mut allowed, near)?;
        }
    }
    if let Some(mut mask) = cx.opt(3) {
        // A mask that is too short says nothing is to be seen behind it.
        let rank = cx.rank(mask)?;
        let (own, due) = (cx.known_extent(mask, rank - 1)?, cx.known_extent(scores, 3)?);
        if own != 1 && own < due {
            let fill = match cx.dtype(mask) {
                DType::Bool => cx.constant(false.into()),
                _ => cx.like(mask, f64::NEG_INFINITY)?,
            };
            let mut amounts = vec![(0, 0); rank];
            amounts[rank - 1] = (0, (due - own) as i64);
            mask = super::arrays::pad_by(cx, mask, &amounts, fill)?;
        }
        if cx.dtype(mask) == DType::Bool {
            restrict(cx, &mut allowed, mask)?;
        } else {
            let mask = cx.cast(mask, dtype)?;
            scores = cx.bin("add", scores, mask)?;
        }
    }
    if let Some(allowed) = allowed {
        let nothing = cx.like(scores, f64::NEG_INFINITY)?;
        scores = cx.select(allowed, scores, nothing)?;
    }
    let biased = scores;
    let precision = cx.dtype_attr("softmax_precision")?.unwrap_or(dtype);
    let wide = cx.cast(scores, precision)?;
    let shares = cx.op("softmax", &[wide], &[("axis", (-1i64).into())])?;
    // A query that sees nothing gets zeros.
    let greatest = cx.reduce("reduce_max", wide, &[3], true)?;
    let lowest = cx.like(greatest, f64::NEG_INFINITY)?;
    let blind = cx.bin("equal", greatest, lowest)?;
    let zero = cx.like(shares, 0.0)?;
    let shares = cx.select(blind, zero, shares)?;
    let shares = cx.cast(shares, dtype)?;
    let v_dtype = cx.dtype(v);
    let shares_v = cx.cast(shares, v_dtype)?;
    let y = cx.bin("matmul", shares_v, v)?;
    let y = if flat { heads_together(cx, y)? } else { y };
    let inner = match (cx.int("qk_matmul_output_mode", 0), cx.version < 25) {
        (0, _) => raw,
        (1, _) => capped,
        (2, _) => biased,
        _ => shares,
    };
    Ok(vec![y.into(), present_k.into(), present_v.into(), inner.into()])
}

/// Pairs of numbers turned by an angle that grows with their position.
fn rotary(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (mut cos, mut sin) = (cx.x(1)?, cx.x(2)?);
    let flat = cx.rank(x)? == 3;
    let x = heads_apart(cx, x, cx.int("num_heads", 0))?;
    let width = cx.known_extent(x, 3)? as i64;
    let turned = match cx.int("rotary_embedding_dim", 0) {
        0 => width,
        n => n,
    };
    if let Some(places) = cx.opt(3) {
        (cos, sin) = (cx.bin("gather", cos, places)?, cx.bin("gather", sin, places)?);
    }
    // `[batch, 1, time, n / 2]`.
    (cos, sin) = (cx.expand(cos, 1)?, cx.expand(sin, 1)?);
    let part = cx.slice(x, 3, 0.into(), Some(turned.into()))?;
    let interleaved = cx.flag("interleaved", false);
    let sizes = cx.sizes(part)?;
    let half = turned / 2;
    let (a, b) = if interleaved {
        let pairs = cx.reshape(part, &[sizes[0], sizes[1], sizes[2], half.into(), 2.into()])?;
        let (first, second) = (cx.i64(0), cx.i64(1));
        let axis = [("axis", 4i64.into())];
        (cx.op("gather", &[pairs, first], &axis)?, cx.op("gather", &[pairs, second], &axis)?)
    } else {
        (cx.slice(part, 3, 0.into(), Some(half.into()))?, cx.slice(part, 3, half.into(), None)?)
    };
    let (ac, bs, as_, bc) =
        (cx.bin("mul", a, cos)?, cx.bin("mul", b, sin)?, cx.bin("mul", a, sin)?, cx.bin("mul", b, cos)?);
    let (real, imaginary) = (cx.bin("sub", ac, bs)?, cx.bin("add", as_, bc)?);
    let y = if interleaved {
        let pairs = cx.op("stack", &[real, imaginary], &[("axis", (-1i64).into())])?;
        cx.reshape(pairs, &sizes)?
    } else {
        cx.concat(&[real, imaginary], 3)?
    };
    let y = if turned == width {
        y
    } else {
        let rest = cx.slice(x, 3, turned.into(), None)?;
        cx.concat(&[y, rest], 3)?
    };
    one(if flat { heads_together(cx, y)? } else { y })
}

/// A state of a matrix for each head that each step of time updates and reads.
fn linear_attention(cx: &mut Cx<'_, '_>) -> Outputs {
    let (q, k, v) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let (query_heads, kv_heads) = (cx.int("q_num_heads", 0), cx.int("kv_num_heads", 0));
    let rule = cx.text("update_rule", "gated_delta")?;
    let (out_dtype, wide) = (cx.dtype(q), if cx.dtype(q) == DType::F64 { DType::F64 } else { DType::F32 });
    // `[batch, heads, time, n]`, then the time in front.
    let steps = |cx: &mut Cx<'_, '_>, x: Value, heads: i64| -> Result<Value> {
        let x = cx.cast(x, wide)?;
        let x = heads_apart(cx, x, heads)?;
        cx.transpose(x, &[2, 0, 1, 3])
    };
    let (q, k, v) = (steps(cx, q, query_heads)?, steps(cx, k, kv_heads)?, steps(cx, v, kv_heads)?);
    let decay = match cx.opt(4) {
        Some(g) if rule.starts_with("gated") => {
            let g = steps(cx, g, kv_heads)?;
            Some(cx.un("exp", g)?)
        }
        _ => None,
    };
    let rate = match cx.opt(5) {
        Some(beta) if rule.ends_with("delta") => Some(steps(cx, beta, kv_heads)?),
        _ => None,
    };
    let (batch, dk, dv) = (cx.extent(q, 1)?, cx.known_extent(k, 3)? as i64, cx.known_extent(v, 3)? as i64);
    let scale = match cx.float("scale", 0.0) {
        0.0 => 1.0 / (dk as f64).sqrt(),
        scale => scale,
    };
    let zero = cx.scalar(wide, 0.0)?;
    let state = match cx.opt(3) {
        Some(state) => cx.cast(state, wide)?,
        None => cx.fill(&[batch, kv_heads.into(), dk.into(), dv.into()], zero)?,
    };
    let time = cx.extent(q, 0)?;
    let time = cx.size(time);
    let none = cx.i64(0);
    let list = cx.op("list_new", &[none], &[])?;
    let types = [Type::tensor(wide, cx.ty(state).shape().erased()), cx.ty(list).clone()];
    let done = cx.count_loop(time, &[state, list], &types, |cx, t, vars| {
        let now = |cx: &mut Cx<'_, '_>, x: Value| cx.bin("gather", x, t);
        let (qt, kt, vt) = (now(cx, q)?, now(cx, k)?, now(cx, v)?);
        let mut state = vars[0];
        if let Some(decay) = decay {
            // For each key, or one for the head.
            let g = now(cx, decay)?;
            let g = cx.expand(g, -1)?;
            state = cx.bin("mul", state, g)?;
        }
        let column = cx.expand(kt, -1)?;
        let row = cx.expand(vt, -2)?;
        let mut update = row;
        if rule.ends_with("delta") {
            let expected = cx.op("matmul", &[column, state], &[("transpose_a", true.into())])?;
            update = cx.bin("sub", row, expected)?;
        }
        if let Some(rate) = rate {
            let rate = now(cx, rate)?;
            let rate = cx.expand(rate, -1)?;
            update = cx.bin("mul", update, rate)?;
        }
        let outer = cx.bin("mul", column, update)?;
        state = cx.bin("add", state, outer)?;
        let read = shared(cx, state, query_heads as usize)?;
        let qt = cx.expand(qt, -2)?;
        let y = cx.bin("matmul", qt, read)?;
        let y = cx.with("mul", y, scale)?;
        let y = cx.op("squeeze", &[y], &[("axes", vec![-2].into())])?;
        Ok(vec![state, cx.op("list_push", &[vars[1], y], &[])?])
    })?;
    let shape = cx.i64s(&[-1, query_heads, dv]);
    let y = cx.op("list_stack", &[done[1], shape], &[("dtype", wide.into())])?;
    let y = cx.transpose(y, &[1, 2, 0, 3])?;
    let y = heads_together(cx, y)?;
    let state_dtype = match cx.opt(3) {
        Some(past) => cx.dtype(past),
        None => out_dtype,
    };
    Ok(vec![cx.cast(y, out_dtype)?.into(), cx.cast(done[0], state_dtype)?.into()])
}

/// A convolution of each channel over the past, which is carried from call to call.
fn causal_conv(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, w) = (cx.x(0)?, cx.x(1)?);
    let (batch, channels) = (cx.extent(x, 0)?, cx.known_extent(x, 1)? as i64);
    let past = cx.known_extent(w, 2)? as i64 - 1;
    let before = match cx.opt(3) {
        Some(state) => state,
        None => {
            let zero = cx.like(x, 0.0)?;
            cx.fill(&[batch, channels.into(), past.into()], zero)?
        }
    };
    let all = cx.concat(&[before, x], 2)?;
    let last = cx.transpose(all, &[0, 2, 1])?;
    let filters = cx.transpose(w, &[2, 1, 0])?;
    let mut y = cx.op("conv", &[last, filters], &[])?;
    if let Some(bias) = cx.opt(2) {
        y = cx.op("bias_add", &[y, bias], &[])?;
    }
    if cx.text("activation", "none")? != "none" {
        let gate = cx.un("sigmoid", y)?;
        y = cx.bin("mul", y, gate)?;
    }
    let y = cx.transpose(y, &[0, 2, 1])?;
    let total = cx.extent(all, 2)?;
    let begin = match total {
        Size::Known(n) => Size::Known(n - past),
        Size::Value(n) => Size::Value(cx.with("sub", n, past as f64)?),
    };
    let state = cx.slice(all, 2, begin, None)?;
    Ok(vec![y.into(), state.into()])
}
