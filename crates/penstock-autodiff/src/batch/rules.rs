//! How each operator without regions is batched. `None` stands for "by a loop".

use penstock_data::{DType, Dim, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Cpu, Inst, OpDef, Value};
use penstock_ops::{array, binary, compare, gather, joining, nn, reduce, shape_ops, slicing};
use smallvec::{SmallVec, smallvec};

use super::{Batcher, Outs};

/// An axis that is counted from the front moves by the leading one.
fn moved(axis: i64) -> i64 {
    if axis < 0 { axis } else { axis + 1 }
}

fn with(attrs: &Attrs, index: usize, value: impl Into<Attr>) -> Attrs {
    let mut attrs = attrs.clone();
    attrs.0[index] = value.into();
    attrs
}

type Rule = Result<Option<Outs>>;

impl Batcher<'_> {
    /// Batches an instruction some operand of which is mapped, or which draws random numbers.
    pub(super) fn rule(&mut self, inst: Inst) -> Rule {
        let source = self.source;
        let data = &source.insts[inst];
        let (op, attrs, operands) = (data.op.0, &data.attrs, &data.operands[..]);
        if matches!(op.cpu, Cpu::Elementwise(_)) && !op.is(&nn::BIAS_ADD) {
            return self.elementwise(op, operands, attrs.clone());
        }
        if op.name.starts_with("list_") {
            return self.list(inst);
        }
        // All but the first are the same for every example.
        let only_first = operands.first().is_some_and(|&x| self.is_mapped(x))
            && operands.iter().skip(1).all(|&v| !self.is_mapped(v));
        let rank = operands.first().and_then(|&v| self.rank(v));
        let first = |this: &mut Self, attrs: Attrs| {
            let operands: SmallVec<[Value; 4]> = operands.iter().map(|v| this.map[v]).collect();
            this.whole(op, &operands, attrs).map(Some)
        };
        match op.name {
            "identity" | "stop_gradient" | "check_numerics" | "zeros_like" | "ones_like" | "string_length"
            | "string_lower" | "string_upper" | "string_strip" | "as_string" | "string_to_number" | "regex_replace"
            | "regex_full_match" | "fft" | "rfft" | "irfft" | "eig" | "eigvals"
                if only_first =>
            {
                first(self, attrs.clone())
            }
            "reduce_sum" | "reduce_prod" | "reduce_max" | "reduce_min" | "reduce_mean" | "reduce_any"
            | "reduce_all" | "reduce_logsumexp" => {
                let axes: Vec<i64> = match (&attrs.0[0], rank) {
                    (Attr::Ints(axes), _) => axes.iter().map(|&a| moved(a)).collect(),
                    (_, Some(rank)) => (1..=rank as i64).collect(),
                    _ => return Ok(None),
                };
                first(self, with(attrs, 0, axes))
            }
            "reverse" => {
                let axes: Vec<i64> = attrs.ints(0).iter().map(|&a| moved(a)).collect();
                first(self, with(attrs, 0, axes))
            }
            "cumsum"
            | "cumprod"
            | "cumulative_logsumexp"
            | "argmax"
            | "argmin"
            | "softmax"
            | "log_softmax"
            | "expand_dims" => first(self, with(attrs, 0, moved(attrs.int(0)))),
            "one_hot" if only_first => first(self, with(attrs, 0, moved(attrs.int(0)))),
            "unstack" => first(self, with(attrs, 1, moved(attrs.int(1)))),
            "split" => first(self, with(attrs, 2, moved(attrs.int(2)))),
            "ensure_shape" => {
                let Attr::Shape(shape) = &attrs.0[0] else { return Ok(None) };
                let dims = shape.dims().map(|dims| std::iter::once(Dim::Unknown).chain(dims.iter().copied()));
                first(self, with(attrs, 0, dims.map_or(Shape::UNRANKED, Shape::new)))
            }
            "transpose" => {
                let Some(rank) = rank else { return Ok(None) };
                let perm: Vec<i64> = match &attrs.0[0] {
                    Attr::Ints(perm) => perm.iter().map(|&p| if p < 0 { p + rank as i64 } else { p }).collect(),
                    _ => (0..rank as i64).rev().collect(),
                };
                first(self, with(attrs, 0, std::iter::once(0).chain(perm.iter().map(|p| p + 1)).collect::<Vec<_>>()))
            }
            "squeeze" => self.squeeze(operands[0], attrs),
            "shape" | "size" | "rank" => self.described(inst, op, attrs),
            "reshape" if only_first => {
                let out = data.results[0];
                let shape = match source.ty(out).shape().extents() {
                    Some(dims) => self.ints(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>()),
                    None => self.map[&operands[1]],
                };
                let shape = self.leading(shape)?;
                self.one(&shape_ops::RESHAPE, &[self.map[&operands[0]], shape])
            }
            "broadcast_to" if only_first => {
                let Some(to) = self.length(operands[1]) else { return Ok(None) };
                let Some(x) = self.aligned(operands[0], to)? else { return Ok(None) };
                let shape = self.leading(self.map[&operands[1]])?;
                self.one(op, &[x, shape])
            }
            "sum_to_shape" if only_first => self.sum_to_shape(operands),
            "fill" if !self.is_mapped(operands[0]) => {
                let Some(to) = self.length(operands[0]) else { return Ok(None) };
                let Some(x) = self.aligned(operands[1], to)? else { return Ok(None) };
                let shape = self.leading(self.map[&operands[0]])?;
                self.one(&shape_ops::BROADCAST_TO, &[x, shape])
            }
            "tile" if only_first => {
                let multiples = self.prepend(&[1], self.map[&operands[1]])?;
                self.one(op, &[self.map[&operands[0]], multiples])
            }
            "pad" if only_first => {
                let none = self.b.constant(Tensor::from_slice(&[1, 2], &[0i64, 0])?);
                let paddings = self.wide(self.map[&operands[1]])?;
                let paddings = self.emit(&joining::CONCAT, &[none, paddings], &[("axis", 0i64.into())])?;
                self.one(op, &[self.map[&operands[0]], paddings, self.map[&operands[2]]])
            }
            "concat" | "stack" | "linear_recurrence" => {
                let operands = self.all_full(operands)?;
                self.whole(op, &operands, with(attrs, 0, moved(attrs.int(0)))).map(Some)
            }
            "softmax_cross_entropy" | "sparse_softmax_cross_entropy" => {
                let operands = self.all_full(operands)?;
                self.whole(op, &operands, attrs.clone()).map(Some)
            }
            "slice" if only_first => {
                let begin = self.prepend(&[0], self.map[&operands[1]])?;
                let size = self.prepend(&[-1], self.map[&operands[2]])?;
                self.one(op, &[self.map[&operands[0]], begin, size])
            }
            "slice_grad" if self.only(operands, 2) => {
                let shape = self.leading(self.map[&operands[0]])?;
                let begin = self.prepend(&[0], self.map[&operands[1]])?;
                self.one(op, &[shape, begin, self.map[&operands[2]]])
            }
            "strided_slice" if only_first => {
                let x = self.map[&operands[0]];
                self.strided(op, x, &operands[1..4], None, attrs)
            }
            "strided_slice_grad" if self.only(operands, 4) => {
                let shape = self.leading(self.map[&operands[0]])?;
                let dy = self.map[&operands[4]];
                self.strided(op, shape, &operands[1..4], Some(dy), attrs)
            }
            "matmul" | "matmul_int32" => {
                let (Some(a), Some(b)) = (self.rank(operands[0]), self.rank(operands[1])) else { return Ok(None) };
                let rank = a.max(b);
                let (Some(a), Some(b)) = (self.aligned(operands[0], rank)?, self.aligned(operands[1], rank)?) else {
                    return Ok(None);
                };
                self.whole(op, &[a, b], attrs.clone()).map(Some)
            }
            "bias_add" => {
                let Some(rank) = rank else { return Ok(None) };
                let (x, Some(bias)) = (self.full(operands[0])?, self.aligned(operands[1], rank)?) else {
                    return Ok(None);
                };
                self.one(&binary::ADD, &[x, bias])
            }
            "gather" => self.gather(operands, attrs),
            "gather_grad" => self.gather_grad(operands, attrs),
            "gather_nd" => {
                if !self.is_mapped(operands[0]) {
                    return self.one(op, &[self.map[&operands[0]], self.map[&operands[1]]]);
                }
                let Some(indices) = self.numbered(operands[1])? else { return Ok(None) };
                self.one(op, &[self.map[&operands[0]], indices])
            }
            "scatter_nd" if !self.is_mapped(operands[2]) => {
                let Some(indices) = self.numbered(operands[0])? else { return Ok(None) };
                let updates = self.full(operands[1])?;
                let shape = self.leading(self.map[&operands[2]])?;
                self.one(op, &[indices, updates, shape])
            }
            name if name.starts_with("tensor_scatter_nd_") => {
                let Some(indices) = self.numbered(operands[1])? else { return Ok(None) };
                let (tensor, updates) = (self.full(operands[0])?, self.full(operands[2])?);
                self.one(op, &[tensor, indices, updates])
            }
            "unsorted_segment_sum" if !self.is_mapped(operands[2]) => self.segment_sum(op, operands),
            "random_uniform" | "random_normal" | "truncated_normal" | "random_uniform_int"
                if operands.iter().all(|&v| !self.is_mapped(v)) =>
            {
                let mut new: SmallVec<[Value; 4]> = operands.iter().map(|v| self.map[v]).collect();
                new[0] = self.leading(new[0])?;
                self.whole(op, &new, attrs.clone()).map(Some)
            }
            "assert" => {
                let mut new: SmallVec<[Value; 4]> = operands.iter().map(|v| self.map[v]).collect();
                if self.is_mapped(operands[0]) {
                    new[0] = self.emit(&reduce::REDUCE_ALL, &[new[0]], &[])?;
                }
                self.whole(op, &new, attrs.clone()).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn whole(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<Outs> {
        let inst = self.b.inst(op, operands, attrs, &[])?;
        Ok(self.b.results(inst).into())
    }

    fn one(&mut self, op: &'static OpDef, operands: &[Value]) -> Rule {
        let out = self.emit(op, operands, &[])?;
        Ok(Some(smallvec![out]))
    }

    /// Whether operand `index` alone is mapped.
    fn only(&self, operands: &[Value], index: usize) -> bool {
        operands.iter().enumerate().all(|(i, &v)| self.is_mapped(v) == (i == index))
    }

    fn all_full(&mut self, operands: &[Value]) -> Result<SmallVec<[Value; 4]>> {
        operands.iter().map(|&v| self.full(v)).collect()
    }

    /// The length of a vector of the source.
    fn length(&self, vector: Value) -> Option<usize> {
        self.source.ty(vector).shape().extents().and_then(|dims| dims.first().copied())
    }

    fn elementwise(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Rule {
        let ranks: Option<SmallVec<[usize; 4]>> = operands.iter().map(|&v| self.rank(v)).collect();
        let rank = match ranks {
            Some(ranks) => ranks.into_iter().max().unwrap_or(0),
            // One operand needs no alignment.
            None if operands.len() == 1 => 0,
            None => return Ok(None),
        };
        let mut new: SmallVec<[Value; 4]> = SmallVec::new();
        for &v in operands {
            // `add_n` does not broadcast.
            let one = if op.is(&binary::ADD_N) { Some(self.full(v)?) } else { self.aligned(v, rank)? };
            match one {
                Some(one) => new.push(one),
                None if operands.len() == 1 => new.push(self.map[&v]),
                None => return Ok(None),
            }
        }
        self.whole(op, &new, attrs).map(Some)
    }

    fn squeeze(&mut self, x: Value, attrs: &Attrs) -> Rule {
        let axes: Vec<i64> = match &attrs.0[0] {
            Attr::Ints(axes) if !axes.is_empty() => axes.iter().map(|&a| moved(a)).collect(),
            _ => {
                let Some(dims) = self.source.ty(x).shape().extents() else { return Ok(None) };
                dims.iter().enumerate().filter(|(_, d)| **d == 1).map(|(i, _)| i as i64 + 1).collect()
            }
        };
        if axes.is_empty() {
            return Ok(Some(smallvec![self.map[&x]]));
        }
        let out = self.emit(&shape_ops::SQUEEZE, &[self.map[&x]], &[("axes", axes.into())])?;
        Ok(Some(smallvec![out]))
    }

    /// `shape`, `size` and `rank` are the same for every example; their result is broadcast by who needs it.
    fn described(&mut self, inst: Inst, op: &'static OpDef, attrs: &Attrs) -> Rule {
        let data = &self.source.insts[inst];
        let (x, out) = (data.operands[0], data.results[0]);
        let dtype = if op.is(&array::RANK) { DType::I32 } else { attrs.dtype(0) };
        let wide = if op.is(&array::RANK) {
            let shape = self.example_extents(x)?;
            let rank = self.emit(&array::SIZE, &[shape], &[("dtype", DType::I32.into())])?;
            self.set(out, rank, false)?;
            return Ok(Some(Outs::new()));
        } else {
            let shape = self.example_extents(x)?;
            if op.is(&array::SIZE) { self.emit(&reduce::REDUCE_PROD, &[shape], &[])? } else { shape }
        };
        let made = if dtype == DType::I64 {
            wide
        } else {
            self.emit(&penstock_ops::cast::CAST, &[wide], &[("dtype", dtype.into())])?
        };
        self.set(out, made, false)?;
        Ok(Some(Outs::new()))
    }

    fn sum_to_shape(&mut self, operands: &[Value]) -> Rule {
        let (Some(from), Some(to)) = (self.rank(operands[0]), self.length(operands[1])) else { return Ok(None) };
        let Some(lead) = from.checked_sub(to) else { return Ok(None) };
        let shape = self.map[&operands[1]];
        let padded = self.prepend(&vec![1; lead], shape)?;
        let padded = self.leading(padded)?;
        let sum = self.emit(&reduce::SUM_TO_SHAPE, &[self.map[&operands[0]], padded], &[])?;
        let shape = self.leading(shape)?;
        self.one(&shape_ops::RESHAPE, &[sum, shape])
    }

    /// `strided_slice` or its gradient: `first`, the specification of the slice, `last`.
    fn strided(
        &mut self,
        op: &'static OpDef,
        first: Value,
        spec: &[Value],
        last: Option<Value>,
        attrs: &Attrs,
    ) -> Rule {
        let mut operands: SmallVec<[Value; 5]> = smallvec![first];
        for (k, v) in spec.iter().enumerate() {
            operands.push(self.prepend(&[i64::from(k == 2)], self.map[v])?);
        }
        operands.extend(last);
        // The masks have a bit for each entry; the first two say "from the start" and "to the end".
        let masks = (0..5).map(|i| Attr::Int(attrs.int(i) << 1 | i64::from(i < 2)));
        self.whole(op, &operands, Attrs(masks.collect())).map(Some)
    }

    /// `axis` and `batch_dims` of a gather, counted from the front.
    fn gather_axes(&self, rank: usize, indices: Value, attrs: &Attrs) -> Option<(i64, i64)> {
        let axis = if attrs.int(0) < 0 { attrs.int(0) + rank as i64 } else { attrs.int(0) };
        let batch = attrs.int(1);
        Some((axis, if batch < 0 { batch + self.rank(indices)? as i64 } else { batch }))
    }

    fn gather(&mut self, operands: &[Value], attrs: &Attrs) -> Rule {
        let (params, indices) = (operands[0], operands[1]);
        let Some(rank) = self.rank(params) else { return Ok(None) };
        let Some((axis, batch)) = self.gather_axes(rank, indices, attrs) else { return Ok(None) };
        let (new, places) = (self.map[&params], self.map[&indices]);
        let moved = |axis: i64, batch: i64| with(&with(attrs, 0, axis), 1, batch);
        let out = match (self.is_mapped(params), self.is_mapped(indices)) {
            (true, false) if batch == 0 => self.whole(&gather::GATHER, &[new, places], moved(axis + 1, 0))?,
            (false, true) if axis == 0 => self.whole(&gather::GATHER, &[new, places], moved(0, 0))?,
            _ => {
                let (new, places) = (self.full(params)?, self.full(indices)?);
                self.whole(&gather::GATHER, &[new, places], moved(axis + 1, batch + 1))?
            }
        };
        Ok(Some(out))
    }

    fn gather_grad(&mut self, operands: &[Value], attrs: &Attrs) -> Rule {
        let [shape, indices, dy] = operands[..] else { return Ok(None) };
        let Some(rank) = self.length(shape).filter(|_| !self.is_mapped(shape)) else { return Ok(None) };
        let Some((axis, batch)) = self.gather_axes(rank, indices, attrs) else { return Ok(None) };
        let shape = self.leading(self.map[&shape])?;
        let dy = self.full(dy)?;
        let (indices, batch) = if self.is_mapped(indices) || batch > 0 {
            (self.full(indices)?, batch + 1)
        } else {
            (self.map[&indices], 0)
        };
        let attrs = with(&with(attrs, 0, axis + 1), 1, batch);
        self.whole(&gather::GATHER_GRAD, &[shape, indices, dy], attrs).map(Some)
    }

    /// Rows of indices with the number of their example before them.
    fn numbered(&mut self, indices: Value) -> Result<Option<Value>> {
        let Some(rank) = self.rank(indices) else { return Ok(None) };
        let full = self.full(indices)?;
        let dtype = self.b.graph().ty(full).dtype();
        let numbers = self.numbers(dtype, rank)?;
        // One column of the extents of the indices.
        let extents = self.extents(full)?;
        let (begin, size) = (self.ints(&[0]), self.ints(&[rank as i64]));
        let rows = self.emit(&slicing::SLICE, &[extents, begin, size], &[])?;
        let one = self.ints(&[1]);
        let column = self.emit(&joining::CONCAT, &[rows, one], &[("axis", 0i64.into())])?;
        let column = self.emit(&shape_ops::BROADCAST_TO, &[numbers, column], &[])?;
        self.emit(&joining::CONCAT, &[column, full], &[("axis", (-1i64).into())]).map(Some)
    }

    /// The numbers of the examples, as a tensor of extents `[count, 1, …]` of rank `rank + 1`.
    fn numbers(&mut self, dtype: DType, rank: usize) -> Result<Value> {
        let [zero, one] = [0i64, 1].map(|n| self.b.constant(Tensor::scalar(n)));
        let mut numbers = self.emit(&array::RANGE, &[zero, self.count, one], &[])?;
        if dtype != DType::I64 {
            numbers = self.emit(&penstock_ops::cast::CAST, &[numbers], &[("dtype", dtype.into())])?;
        }
        for _ in 0..rank {
            numbers = self.emit(&shape_ops::EXPAND_DIMS, &[numbers], &[("axis", (-1i64).into())])?;
        }
        Ok(numbers)
    }

    /// The segments of all examples in one row: example `e` has the segments from `e * n` on.
    fn segment_sum(&mut self, op: &'static OpDef, operands: &[Value]) -> Rule {
        let (data, ids) = (operands[0], operands[1]);
        let (Some(rank), Some(own)) = (self.rank(data), self.rank(ids)) else { return Ok(None) };
        let (data, ids) = (self.full(data)?, self.full(ids)?);
        let (ids, n) = (self.wide_like(ids)?, self.wide_like(self.map[&operands[2]])?);
        let numbers = self.numbers(DType::I64, own)?;
        let offset = self.emit(&binary::MUL, &[numbers, n], &[])?;
        let moved = self.emit(&binary::ADD, &[ids, offset], &[])?;
        // A negative segment drops its row.
        let zero = self.b.constant(Tensor::scalar(0i64));
        let dropped = self.emit(&compare::LESS, &[ids, zero], &[])?;
        let ids = self.emit(&compare::SELECT, &[dropped, ids, moved], &[])?;
        let total = self.emit(&binary::MUL, &[n, self.count], &[])?;
        let sums = self.emit(op, &[data, ids, total], &[])?;
        let extents = self.extents(data)?;
        let (begin, size) = (self.ints(&[own as i64 + 1]), self.ints(&[(rank - own) as i64]));
        let rest = self.emit(&slicing::SLICE, &[extents, begin, size], &[])?;
        let one = self.ints(&[1]);
        let n = self.emit(&shape_ops::RESHAPE, &[n, one], &[])?;
        let shape = self.emit(&joining::CONCAT, &[self.extent, n, rest], &[("axis", 0i64.into())])?;
        self.one(&shape_ops::RESHAPE, &[sums, shape])
    }

    /// Integers of any shape as `i64`.
    fn wide_like(&mut self, value: Value) -> Result<Value> {
        if self.b.graph().ty(value).dtype() == DType::I64 {
            return Ok(value);
        }
        self.emit(&penstock_ops::cast::CAST, &[value], &[("dtype", DType::I64.into())])
    }
}
