//! Recurrent layers: `RNN`, `GRU` and `LSTM`. The products of the inputs are made for all times at once; a loop goes through
//! the times.

use penstock_data::{DType, Error, Result};
use penstock_ir::{Type, Value};

use super::Entry;
use super::arrays::reversed;
use super::elementwise::hard_sigmoid_of;
use crate::cx::{Cx, Outputs, Size};

pub(super) const OPS: &[Entry] = &[("GRU", 1, layer), ("LSTM", 1, layer), ("RNN", 1, layer)];

/// A function of a gate, with its two numbers.
#[derive(Clone)]
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

impl Activation {
    fn apply(&self, cx: &mut Cx<'_, '_>, x: Value) -> Result<Value> {
        let (alpha, beta) = (|or: f64| self.alpha.unwrap_or(or), |or: f64| self.beta.unwrap_or(or));
        match self.name.to_lowercase().as_str() {
            "sigmoid" => cx.un("sigmoid", x),
            "tanh" => cx.un("tanh", x),
            "relu" => cx.un("relu", x),
            "softsign" => cx.un("softsign", x),
            "softplus" => cx.un("softplus", x),
            "hardsigmoid" => hard_sigmoid_of(cx, x, alpha(0.2), beta(0.5)),
            "affine" => {
                let y = cx.with("mul", x, alpha(1.0))?;
                cx.with("add", y, beta(0.0))
            }
            "scaledtanh" => {
                let y = cx.with("mul", x, beta(1.0))?;
                let y = cx.un("tanh", y)?;
                cx.with("mul", y, alpha(1.0))
            }
            "leakyrelu" | "elu" | "thresholdedrelu" => {
                let (below, bound) = match self.name.to_lowercase().as_str() {
                    "leakyrelu" => (cx.with("mul", x, alpha(0.01))?, 0.0),
                    "elu" => {
                        let y = cx.un("expm1", x)?;
                        (cx.with("mul", y, alpha(1.0))?, 0.0)
                    }
                    _ => (cx.un("zeros_like", x)?, alpha(1.0)),
                };
                let bound = cx.like(x, bound)?;
                let above = cx.bin("greater", x, bound)?;
                cx.select(above, x, below)
            }
            other => Err(Error::unimplemented(format!("the activation '{other}' is not supported"))),
        }
    }
}

/// What all directions share.
struct Layer {
    kind: &'static str,
    gates: i64,
    hidden: i64,
    activations: Vec<Activation>,
    clip: Option<f64>,
    /// Whether the recurrent product of a GRU is made before it is reset.
    resets_late: bool,
    /// Whether an LSTM forgets what it does not take in.
    coupled: bool,
}

/// The operands of one direction.
struct Direction {
    /// `[time, batch, gates * hidden]`, with the biases that are added to the inputs.
    inputs: Value,
    recurrent: Value,
    recurrent_bias: Option<Value>,
    peepholes: Option<[Value; 3]>,
    state: Vec<Value>,
    lengths: Option<Value>,
}

fn part(cx: &mut Cx<'_, '_>, x: Value, index: i64, width: i64) -> Result<Value> {
    let axis = cx.rank(x)? - 1;
    cx.slice(x, axis, (index * width).into(), Some(((index + 1) * width).into()))
}

impl Layer {
    fn activate(&self, cx: &mut Cx<'_, '_>, which: usize, x: Value) -> Result<Value> {
        let x = match self.clip {
            Some(clip) => {
                let x = cx.with("minimum", x, clip)?;
                cx.with("maximum", x, -clip)?
            }
            None => x,
        };
        self.activations[which].clone().apply(cx, x)
    }

    /// The next state: the hidden one first.
    fn step(
        &self,
        cx: &mut Cx<'_, '_>,
        direction: &Direction,
        x: Value,
        state: &[Value],
        base: usize,
    ) -> Result<Vec<Value>> {
        let (h, n) = (state[0], self.hidden);
        let times = |cx: &mut Cx<'_, '_>, h: Value, r: Value| cx.op("matmul", &[h, r], &[("transpose_b", true.into())]);
        if self.kind == "GRU" {
            let rows = |cx: &mut Cx<'_, '_>, from: i64, to: i64| {
                cx.slice(direction.recurrent, 0, (from * n).into(), Some((to * n).into()))
            };
            let (both, candidate) = (rows(cx, 0, 2)?, rows(cx, 2, 3)?);
            let mut gates = times(cx, h, both)?;
            let bias = direction.recurrent_bias;
            let bias_of = |cx: &mut Cx<'_, '_>, from: i64, to: i64| match bias {
                Some(b) => cx.slice(b, 0, (from * n).into(), Some((to * n).into())).map(Some),
                None => Ok(None),
            };
            let (gate_bias, late_bias) = (bias_of(cx, 0, 2)?, bias_of(cx, 2, 3)?);
            if let Some(bias) = gate_bias {
                gates = cx.bin("add", gates, bias)?;
            }
            let given = cx.slice(x, 1, 0.into(), Some((2 * n).into()))?;
            let gates = cx.bin("add", gates, given)?;
            let gates = self.activate(cx, base, gates)?;
            let (update, reset) = (part(cx, gates, 0, n)?, part(cx, gates, 1, n)?);
            let candidate_x = part(cx, x, 2, n)?;
            let mut past = if self.resets_late {
                let product = times(cx, h, candidate)?;
                match late_bias {
                    Some(bias) => cx.bin("add", product, bias)?,
                    None => product,
                }
            } else {
                let h = cx.bin("mul", reset, h)?;
                let product = times(cx, h, candidate)?;
                match late_bias {
                    Some(bias) => cx.bin("add", product, bias)?,
                    None => product,
                }
            };
            if self.resets_late {
                past = cx.bin("mul", reset, past)?;
            }
            let sum = cx.bin("add", candidate_x, past)?;
            let new = self.activate(cx, base + 1, sum)?;
            // new + update (h - new)
            let distance = cx.bin("sub", h, new)?;
            let moved = cx.bin("mul", update, distance)?;
            return Ok(vec![cx.bin("add", new, moved)?]);
        }
        let product = times(cx, h, direction.recurrent)?;
        let mut gates = cx.bin("add", x, product)?;
        if let Some(bias) = direction.recurrent_bias {
            gates = cx.bin("add", gates, bias)?;
        }
        if self.kind == "RNN" {
            return Ok(vec![self.activate(cx, base, gates)?]);
        }
        let c = state[1];
        // In, out, forget, candidate.
        let mut parts = Vec::new();
        for i in 0..4 {
            parts.push(part(cx, gates, i, n)?);
        }
        let peep = |cx: &mut Cx<'_, '_>, gate: Value, which: usize, c: Value| match direction.peepholes {
            Some(weights) => {
                let seen = cx.bin("mul", weights[which], c)?;
                cx.bin("add", gate, seen)
            }
            None => Ok(gate),
        };
        let take = peep(cx, parts[0], 0, c)?;
        let take = self.activate(cx, base, take)?;
        let keep = if self.coupled {
            let one = cx.like(take, 1.0)?;
            cx.bin("sub", one, take)?
        } else {
            let keep = peep(cx, parts[2], 2, c)?;
            self.activate(cx, base, keep)?
        };
        let candidate = self.activate(cx, base + 1, parts[3])?;
        let (kept, taken) = (cx.bin("mul", keep, c)?, cx.bin("mul", take, candidate)?);
        let c = cx.bin("add", kept, taken)?;
        let give = peep(cx, parts[1], 1, c)?;
        let give = self.activate(cx, base, give)?;
        let shown = self.activate(cx, base + 2, c)?;
        Ok(vec![cx.bin("mul", give, shown)?, c])
    }

    /// The states of all times, `[time, batch, hidden]`, and the last ones.
    fn run(&self, cx: &mut Cx<'_, '_>, direction: &Direction, base: usize) -> Result<(Value, Vec<Value>)> {
        let time = cx.extent(direction.inputs, 0)?;
        let time = cx.size(time);
        let none = cx.i64(0);
        let list = cx.op("list_new", &[none], &[])?;
        let mut init = direction.state.clone();
        let mut types: Vec<Type> = init.iter().map(|&v| Type::tensor(cx.dtype(v), cx.ty(v).shape().clone())).collect();
        // The batch is that of the inputs, as the state has been made for it.
        let batch = cx.ty(direction.inputs).shape().dims().map(|d| d[1]);
        for ty in &mut types {
            if let (Some(dims), Some(batch)) = (ty.shape().dims(), batch) {
                let mut dims = dims.to_vec();
                if dims[0] != batch && dims[0].known().is_none() {
                    dims[0] = penstock_data::Dim::Unknown;
                }
                *ty = ty.with_shape(penstock_data::Shape::new(dims));
            }
        }
        init.push(list);
        types.push(cx.ty(list).clone());
        let done = cx.count_loop(time, &init, &types, |cx, t, vars| {
            let (list, state) = vars.split_last().ok_or_else(|| Error::internal("a loop lost its list"))?;
            let x = cx.bin("gather", direction.inputs, t)?;
            let mut next = self.step(cx, direction, x, state, base)?;
            let mut shown = next[0];
            if let Some(lengths) = direction.lengths {
                // Behind the end of a row nothing changes, and zeros are shown.
                let inside = cx.bin("less", t, lengths)?;
                let inside = cx.expand(inside, 1)?;
                for (next, &old) in next.iter_mut().zip(state) {
                    *next = cx.select(inside, *next, old)?;
                }
                let zero = cx.like(shown, 0.0)?;
                shown = cx.select(inside, shown, zero)?;
            }
            next.push(cx.op("list_push", &[*list, shown], &[])?);
            Ok(next)
        })?;
        let shape = cx.i64s(&[-1, self.hidden]);
        let dtype = cx.dtype(direction.inputs);
        let all = cx.op("list_stack", &[done[done.len() - 1], shape], &[("dtype", dtype.into())])?;
        Ok((all, done[..done.len() - 1].to_vec()))
    }
}

fn layer(cx: &mut Cx<'_, '_>) -> Outputs {
    let (kind, gates, functions): (_, i64, &[&str]) = match cx.node.op {
        "LSTM" => ("LSTM", 4, &["Sigmoid", "Tanh", "Tanh"]),
        "GRU" => ("GRU", 3, &["Sigmoid", "Tanh"]),
        _ => ("RNN", 1, &["Tanh"]),
    };
    let (x, w, r) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let hidden = cx.known_extent(r, 2)? as i64;
    let directions: &[bool] = match cx.text("direction", "forward")? {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(Error::invalid(format!("there is no direction '{other}'"))),
    };
    let names: Vec<String> = match cx.texts("activations") {
        Some(list) => list.iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect(),
        None => directions.iter().flat_map(|_| functions.iter().map(|&f| f.to_owned())).collect(),
    };
    if names.len() != functions.len() * directions.len() {
        return Err(Error::invalid(format!("there are {} activations for {} gates", names.len(), functions.len())));
    }
    let number = |list: &Option<Vec<f32>>, i: usize| list.as_ref().and_then(|l| l.get(i)).map(|&x| f64::from(x));
    let (alphas, betas) = (cx.floats("activation_alpha"), cx.floats("activation_beta"));
    let activation = |(i, name)| Activation { name, alpha: number(&alphas, i), beta: number(&betas, i) };
    let layer = Layer {
        kind,
        gates,
        hidden,
        activations: names.into_iter().enumerate().map(activation).collect(),
        clip: cx.opt_float("clip"),
        resets_late: cx.flag("linear_before_reset", false),
        coupled: cx.flag("input_forget", false),
    };
    let batch_first = cx.flag("layout", false);
    let x = if batch_first { cx.transpose(x, &[1, 0, 2])? } else { x };
    let lengths = match cx.opt(4) {
        Some(lengths) => Some(cx.cast(lengths, DType::I64)?),
        None => None,
    };
    let batch = cx.extent(x, 1)?;
    let states = if kind == "LSTM" { 2 } else { 1 };
    let (mut all, mut last) = (Vec::new(), vec![Vec::new(); states]);
    for (d, &backward) in directions.iter().enumerate() {
        let of = |cx: &mut Cx<'_, '_>, x: Value| cx.pick(x, d as i64);
        let turn = |cx: &mut Cx<'_, '_>, x: Value| match (backward, lengths) {
            (false, _) => Ok(x),
            (true, Some(lengths)) => reversed(cx, x, lengths, false),
            (true, None) => cx.op("reverse", &[x], &[("axes", vec![0].into())]),
        };
        let own = turn(cx, x)?;
        let (w, r) = (of(cx, w)?, of(cx, r)?);
        let mut inputs = cx.op("matmul", &[own, w], &[("transpose_b", true.into())])?;
        let mut recurrent_bias = None;
        if let Some(b) = cx.opt(3) {
            let b = of(cx, b)?;
            let width = layer.gates * hidden;
            let front = cx.slice(b, 0, 0.into(), Some(width.into()))?;
            inputs = cx.bin("add", inputs, front)?;
            recurrent_bias = Some(cx.slice(b, 0, width.into(), None)?);
        }
        let peepholes = match cx.opt(7) {
            Some(p) if kind == "LSTM" => {
                let p = of(cx, p)?;
                Some([part(cx, p, 0, hidden)?, part(cx, p, 1, hidden)?, part(cx, p, 2, hidden)?])
            }
            _ => None,
        };
        let mut state = Vec::new();
        for i in 0..states {
            state.push(match cx.opt(5 + i) {
                Some(given) => {
                    let given = if batch_first { cx.transpose(given, &[1, 0, 2])? } else { given };
                    of(cx, given)?
                }
                None => {
                    let zero = cx.like(x, 0.0)?;
                    cx.fill(&[batch, Size::Known(hidden)], zero)?
                }
            });
        }
        let direction = Direction { inputs, recurrent: r, recurrent_bias, peepholes, state, lengths };
        let (shown, ends) = layer.run(cx, &direction, d * functions.len())?;
        all.push(turn(cx, shown)?);
        for (list, end) in last.iter_mut().zip(ends) {
            list.push(end);
        }
    }
    // `[time, directions, batch, hidden]`.
    let mut y = cx.op("stack", &all, &[("axis", 1i64.into())])?;
    if batch_first {
        y = cx.transpose(y, &[2, 0, 1, 3])?;
    }
    let mut outputs = vec![y.into()];
    for list in last {
        let axis = i64::from(batch_first);
        outputs.push(cx.op("stack", &list, &[("axis", axis.into())])?.into());
    }
    Ok(outputs)
}
