//! What programs are written of, in forms that passes and kinds of steps are made for: stencils, layers, recurrent and
//! counting loops, gradients.

use penstock_autodiff::{Request, gradients_in};
use penstock_data::{C64, DType, DTypeSet, Result, Tensor};
use penstock_ir::{Attr, OpSet, Type, Value};
use penstock_ops::{Ops, control};

use crate::random::{Generator, Item};

impl Generator<'_> {
    /// Adds one of the idioms, and gives how many instructions it counts for.
    pub(crate) fn idiom(&mut self) -> usize {
        match self.rng.below(14) {
            0 => self.transposed(),
            1 => self.columns(),
            2 => self.layer(),
            3 => self.recurrent(),
            4 => self.counting(),
            5 => self.iterated(),
            6 => self.magnitude(),
            7 | 8 => self.gradient(),
            10 => self.stencil(),
            11 => self.images(),
            9 if self.options.variables => self.assigned(),
            _ => self.moved(),
        };
        4
    }

    /// Applies an operator, unless its value would be an error; gives the results.
    fn apply(&mut self, name: &str, operands: &[Item], attrs: &[(&str, Attr)]) -> Option<Vec<Item>> {
        let op = Ops.find(name).unwrap_or_else(|| panic!("there is no operator {name}"));
        let attrs = op.attributes(attrs).unwrap_or_else(|e| panic!("{name}: {e}"));
        let before = self.pool.len();
        self.emit(op, operands, attrs).ok()?;
        Some(self.pool[before..].to_vec())
    }

    /// As [`Generator::apply`], for an operator of one result.
    fn one(&mut self, name: &str, operands: &[Item], attrs: &[(&str, Attr)]) -> Option<Item> {
        self.apply(name, operands, attrs)?.pop()
    }

    fn constant(&mut self, tensor: Tensor) -> Item {
        Item { value: self.b.constant(tensor.clone()), tensor: Some(tensor) }
    }

    /// Whole numbers as a constant, or as what is computed of one, so that nothing is known of it until it is folded.
    fn numbers(&mut self, numbers: &[i64]) -> Item {
        let constant = self.constant(Tensor::vector(numbers));
        match self.rng.below(3) {
            0 => self.one("neg", &[constant], &[]).and_then(|n| self.one("neg", &[n], &[])),
            1 => self.one("cast", std::slice::from_ref(&constant), &[("dtype", DType::I32.into())]),
            _ => Some(constant),
        }
        .expect("whole numbers")
    }

    /// A value of the pool of this type, or a new input or constant of small halves.
    fn array(&mut self, dims: &[usize]) -> Item {
        let halves: Vec<f32> = (0..dims.iter().product()).map(|_| self.rng.below(9) as f32 / 2.0 - 2.0).collect();
        self.leaf(&Tensor::from_slice(dims, &halves).expect("memory for a small tensor"))
    }

    /// A number in a range.
    fn size(&mut self, from: usize, to: usize) -> usize {
        from + self.rng.below(to - from + 1)
    }

    /// Elementwise operators between a transposition and the one back.
    fn transposed(&mut self) -> Option<()> {
        let dims = [self.size(1, 3), self.size(1, 4), self.size(1, 3)];
        let x = self.array(&dims);
        let perm = [[0i64, 2, 1], [2, 0, 1], [2, 1, 0]][self.rng.below(3)];
        let back: Vec<i64> = (0..3).map(|i| perm.iter().position(|&p| p == i).map_or(0, |p| p as i64)).collect();
        let turned = self.one("transpose", &[x], &[("perm", perm[..].into())])?;
        let half = self.constant(Tensor::from(0.5f32));
        let other = if self.rng.one_in(2) { half } else { turned.clone() };
        let sum = self.one("sub", &[turned.clone(), other], &[])?;
        let most = self.one("maximum", &[sum, turned], &[])?;
        self.one("transpose", &[most], &[("perm", back[..].into())]).map(|_| ())
    }

    /// The columns of an array, and something of them.
    fn columns(&mut self) -> Option<()> {
        let (rows, columns) = (self.size(1, 4), self.size(2, 5));
        let x = self.array(&[rows, columns]);
        let mut last = None;
        for k in 0..columns {
            if self.rng.one_in(5) {
                continue;
            }
            let spec = [vec![0, k as i64], vec![0, k as i64 + 1], vec![1, 1]].map(|v| Tensor::vector(&v));
            let [begin, end, step] = spec.map(|t| self.constant(t));
            let masks = [("begin_mask", 1i64.into()), ("end_mask", 1i64.into()), ("shrink_axis_mask", 2i64.into())];
            let column = self.one("strided_slice", &[x.clone(), begin, end, step], &masks)?;
            let op = ["add", "mul"][self.rng.below(2)];
            last = match last {
                Some(last) => self.one(op, &[last, column], &[]),
                None => Some(column),
            };
        }
        last.map(|_| ())
    }

    /// A layer of a net: a product, a bias, and what follows.
    fn layer(&mut self) -> Option<()> {
        let (rows, inner, columns) = ([1, 3, 17, 24][self.rng.below(4)], self.size(1, 4), 2 * self.size(1, 3));
        let (x, bias) = (self.array(&[rows, inner]), self.array(&[columns]));
        let transposed = self.rng.one_in(3);
        let w = self.array(&if transposed { [columns, inner] } else { [inner, columns] });
        let product = self.one("matmul", &[x, w], &[("transpose_b", transposed.into())])?;
        match self.rng.below(4) {
            0 => {
                let axis = [("num", 2i64.into()), ("axis", 1i64.into())];
                let pieces = self.apply("split", &[product], &axis)?;
                let piece = pieces[self.rng.below(2)].clone();
                self.one("square", &[piece], &[]).map(|_| ())
            }
            1 => self.one("softmax", &[product], &[]).map(|_| ()),
            _ => {
                let sum = self.one("add", &[product, bias], &[])?;
                let active = self.one("relu", &[sum], &[])?;
                let w = self.array(&[columns, 2]);
                self.one("matmul", &[active, w], &[]).map(|_| ())
            }
        }
    }

    /// Layers of images: convolutions, poolings, and what stands between them.
    fn images(&mut self) -> Option<()> {
        let axes = self.size(1, 2);
        let mut dims = vec![self.size(1, 5)];
        dims.extend((0..axes).map(|_| self.size(2, 6)));
        dims.push(self.size(1, 3));
        let mut x = self.array(&dims);
        let before = self.pool.len();
        for _ in 0..self.size(2, 5) {
            let dims = self.ty(&x).shape().extents()?.to_vec();
            let channels = dims[axes + 1];
            let window: Vec<usize> = dims[1..=axes].iter().map(|&n| self.size(1, n.clamp(1, 3))).collect();
            let strides: Vec<i64> = (0..axes).map(|_| self.size(1, 2) as i64).collect();
            let padding = ["SAME", "VALID"][self.rng.below(2)];
            let attrs = [("strides", strides.into()), ("padding", padding.into())];
            let elementwise = ["relu", "neg"][self.rng.below(2)];
            let next = match self.rng.below(6) {
                0 | 1 => {
                    let outs = self.size(1, 4);
                    let filter = self.array(&[&window[..], &[channels, outs]].concat());
                    self.one("conv", &[x, filter], &attrs)
                }
                pool @ 2..=3 => {
                    let ksize = window.iter().map(|&n| n as i64).collect::<Vec<_>>();
                    let [strides, padding] = attrs;
                    let op = ["max_pool", "avg_pool"][pool - 2];
                    self.one(op, &[x], &[strides, padding, ("ksize", ksize.into())])
                }
                4 => {
                    let bias = self.array(&[channels]);
                    self.one("add", &[x, bias], &[])
                }
                _ => self.one(elementwise, &[x], &[]),
            };
            x = next?;
        }
        // Nothing else is to use what is in between.
        self.pool.drain(before..self.pool.len() - 1);
        Some(())
    }

    /// A loop that counts from 0 to `iterations`; `body` gives the next of the other variables.
    fn count(
        &mut self,
        iterations: usize,
        init: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Option<Vec<Value>>,
    ) -> Option<()> {
        let (less, add) = (Ops.find("less")?, Ops.find("add")?);
        let mut all = vec![self.b.constant(Tensor::from(0i64))];
        all.extend(init);
        let types: Vec<Type> = all.iter().map(|&v| self.b.graph().ty(v).clone()).collect();
        let cond = self.region(types.clone(), |g, params| {
            let limit = g.b.constant(Tensor::from(iterations as i64));
            g.b.emit(less, &[params[0], limit], &[]).expect("less of two integers").to_vec()
        });
        let body = self.region(types, |g, params| {
            let one = g.b.constant(Tensor::from(1i64));
            let mut next = g.b.emit(add, &[params[0], one], &[]).expect("add of two integers").to_vec();
            next.extend(body(g, params[0], &params[1..]).unwrap_or_else(|| params[1..].to_vec()));
            next
        });
        self.structured(&control::WHILE, &all, &[cond, body]);
        Some(())
    }

    /// A value in a region, of which nothing more is known.
    fn plain(&mut self, name: &str, operands: &[Value], attrs: &[(&str, Attr)]) -> Option<Value> {
        let op = Ops.find(name).unwrap_or_else(|| panic!("there is no operator {name}"));
        self.b.emit(op, operands, attrs).ok().and_then(|results| results.first().copied())
    }

    /// A recurrent net: iterations read rows or columns of an array, multiply, and keep what they make in a list.
    fn recurrent(&mut self) -> Option<()> {
        let (iterations, rows, width) = (self.size(1, 4), [1, 2, 17, 24][self.rng.below(4)], self.size(1, 3));
        let by_columns = self.rng.one_in(3);
        let xs = self.array(&if by_columns { [rows, iterations, width] } else { [iterations, rows, width] }).value;
        let [w, u] = [0, 1].map(|_| self.array(&[width, width]).value);
        let wide = self.array(&[width, 2 * width]).value;
        let h = self.array(&[rows, width]).value;
        let (form, gates) = (self.rng.below(3), self.rng.one_in(3));
        let empty = self.b.constant(Tensor::from(0i64));
        let list = self.plain("list_new", &[empty], &[("dtype", DType::F32.into())])?;
        let shape = self.b.constant(Tensor::vector(&[rows as i64, width as i64]));
        self.count(iterations, &[h, list], |g, i, v| {
            let x = if by_columns {
                let zero = g.b.constant(Tensor::from(0i64));
                let at = g.plain("stack", &[zero, i], &[])?;
                let steps = g.b.constant(Tensor::vector(&[1i64, 1]));
                let column =
                    [("begin_mask", 1i64.into()), ("end_mask", 1i64.into()), ("shrink_axis_mask", 2i64.into())];
                g.plain("strided_slice", &[xs, at, at, steps], &column)?
            } else {
                g.plain("gather", &[xs, i], &[])?
            };
            let read = g.plain("matmul", &[x, w], &[])?;
            let kept = if gates {
                let both = g.plain("matmul", &[v[0], wide], &[])?;
                g.plain("split", &[both], &[("num", 2i64.into()), ("axis", 1i64.into())])?
            } else {
                g.plain("matmul", &[v[0], u], &[("transpose_b", (form == 1).into())])?
            };
            let sum = g.plain("add", &[read, kept], &[])?;
            let next = g.plain(["relu", "neg", "relu"][form], &[sum], &[])?;
            Some(vec![next, g.plain("list_push", &[v[1], next], &[])?])
        })?;
        let list = self.pool.last()?.value;
        let value = self.plain("list_stack", &[list, shape], &[("dtype", DType::F32.into())])?;
        self.pool.push(Item { value, tensor: None });
        Some(())
    }

    /// A loop of integers that only counts.
    fn counting(&mut self) -> Option<()> {
        let (iterations, by) = (self.size(0, 5), self.rng.below(5) as i64 - 2);
        let init = [0, 1].map(|k| self.b.constant(Tensor::from(k + by)));
        self.count(iterations, &init, |g, i, v| {
            let by = g.b.constant(Tensor::from(by));
            Some(vec![g.plain("add", &[v[0], by], &[])?, g.plain("add", &[v[1], i], &[])?])
        })
    }

    /// A loop of elementwise operators on arrays of one shape.
    fn iterated(&mut self) -> Option<()> {
        let dims = [self.size(1, 3), self.size(1, 4)];
        let [x, y] = [0, 1].map(|_| self.array(&dims).value);
        let iterations = self.size(1, 9);
        self.count(iterations, &[x, y], |g, _, v| {
            let half = g.b.constant(Tensor::from(0.5f32));
            let less = g.plain("mul", &[v[0], half], &[])?;
            Some(vec![g.plain("sub", &[less, v[1]], &[])?, g.plain("maximum", &[v[1], less], &[])?])
        })
    }

    /// A magnitude of complex numbers that is compared with a constant.
    fn magnitude(&mut self) -> Option<()> {
        let halves = |g: &mut Self| g.rng.below(9) as f32 / 2.0 - 2.0;
        let numbers: Vec<C64> = (0..self.size(1, 4)).map(|_| C64::new(halves(self), halves(self))).collect();
        let z = self.leaf(&Tensor::vector(&numbers));
        let magnitude = self.one("abs", &[z], &[])?;
        let bound = [0.5f32, 2.0, 2.5][self.rng.below(3)];
        let bound = self.constant(Tensor::from(bound));
        let op = ["less", "greater_equal"][self.rng.below(2)];
        self.one(op, &[magnitude, bound], &[]).map(|_| ())
    }

    /// Differences of neighbours, and of neighbours of these.
    fn stencil(&mut self) -> Option<()> {
        let (rows, columns) = (self.size(3, 5), self.size(1, 4));
        let x = self.array(&[rows, columns]);
        let before = self.pool.len();
        let mut last = x;
        for n in [rows, rows - 1] {
            let size = self.constant(Tensor::vector(&[n as i64 - 1, columns as i64]));
            let parts = [0, 1].map(|first| {
                let begin = self.constant(Tensor::vector(&[first, 0i64]));
                self.one("slice", &[last.clone(), begin, size.clone()], &[])
            });
            let [Some(low), Some(high)] = parts else { return None };
            last = self.one(["sub", "mul"][n % 2], &[high, low], &[])?;
        }
        // Nothing else is to use what is in between.
        self.pool.drain(before..self.pool.len() - 1);
        Some(())
    }

    /// A part of a variable becomes what elementwise operators make.
    fn assigned(&mut self) -> Option<()> {
        let (rows, columns) = (self.size(1, 3), self.size(1, 4));
        let [x, y] = [0, 1].map(|_| self.array(&[rows, columns]));
        let (above, left) = (self.rng.below(2), self.rng.below(3));
        let first = Tensor::zeros(DType::F32, &[rows + 2, columns + 3]).ok()?;
        let variable = self.new_variable(&first);
        let sum = self.one("sub", &[x, y.clone()], &[])?;
        let value = self.one("maximum", &[sum, y], &[])?.value;
        // Nothing else is to use it: it need not be there as a whole.
        self.pool.pop();
        let [begin, end, step] = [[above, left], [above + rows, left + columns], [1, 1]]
            .map(|pair| self.b.constant(Tensor::vector(&pair.map(|n| n as i64))));
        self.plain("strided_slice_assign", &[variable, begin, end, step, value], &[]);
        let value = self.plain("read_variable", &[variable], &[])?;
        self.pool.push(Item { value, tensor: None });
        Some(())
    }

    /// The gradient of values with respect to earlier ones, where it stands in no region.
    fn gradient(&mut self) -> Option<()> {
        if self.regions > 0 {
            return self.moved();
        }
        let fits = |i: &&Item| self.ty(i).dtype().is_differentiable() && self.is_exact(i);
        let numbers: Vec<Value> = self.pool.iter().filter(fits).map(|i| i.value).collect();
        let targets = [*numbers.last()?, *self.rng.pick(&numbers)?];
        let sources = [*numbers.first()?, *self.rng.pick(&numbers)?];
        let request = Request { targets: &targets, target_grads: &[], sources: &sources, stops: &[], recorded: None };
        // Not every operator has a gradient.
        let made = gradients_in(&mut self.b, &request).ok()?;
        self.pool.extend(made.into_iter().flatten().map(|value| Item { value, tensor: None }));
        Some(())
    }

    /// An operator that moves, repeats or reduces the elements of a value, by numbers that may have to be folded first.
    fn moved(&mut self) -> Option<()> {
        let plain = |i: &&Item| {
            let ty = self.ty(i);
            DTypeSet::PLAIN.contains(ty.dtype()) && ty.shape().is_static() && ty.shape().rank() != Some(0)
        };
        let fits: Vec<Item> = self.pool.iter().filter(plain).cloned().collect();
        let item = self.rng.pick(&fits)?.clone();
        let ty = self.ty(&item);
        let dims = ty.shape().extents()?;
        let rank = dims.len();
        let each = |g: &mut Self, n: usize| (0..n).map(|_| g.rng.below(3) as i64).collect::<Vec<_>>();
        match self.rng.below(6) {
            0 => {
                let pairs = each(self, 2 * rank);
                let widths = self.constant(Tensor::from_slice(&[rank, 2], &pairs).ok()?);
                let fill = self.constant(Tensor::zeros(ty.dtype(), &[]).ok()?);
                self.one("pad", &[item, widths, fill], &[])
            }
            1 => {
                let times: Vec<i64> = each(self, rank).iter().map(|n| n.max(&1)).copied().collect();
                let times = self.numbers(&times);
                self.one("tile", &[item, times], &[])
            }
            2 => {
                let shape = self.numbers(&[-1, dims[rank - 1].max(1) as i64]);
                self.one("reshape", &[item, shape], &[])
            }
            3 => {
                let mut to: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
                to.insert(0, 2);
                let to = self.numbers(&to);
                self.one("broadcast_to", &[item, to], &[])
            }
            4 => {
                let axis = self.rng.below(rank) as i64;
                let axes = [("axes", [axis][..].into()), ("keepdims", self.rng.one_in(2).into())];
                let op = ["reduce_sum", "reduce_max"][self.rng.below(2)];
                self.one(op, &[item], &axes)
            }
            _ => {
                let same: Vec<Item> = fits.iter().filter(|i| self.ty(i) == ty).cloned().collect();
                let other = self.rng.pick(&same)?.clone();
                let axis = self.rng.below(rank) as i64;
                self.one("concat", &[item, other], &[("axis", axis.into())])
            }
        }
        .map(|_| ())
    }

    /// A constant of halves.
    pub(crate) fn halves(&mut self, dims: &[usize]) -> Value {
        let all: Vec<f32> = (0..dims.iter().product()).map(|_| self.rng.below(9) as f32 / 2.0 - 2.0).collect();
        self.b.constant(Tensor::from_slice(dims, &all).expect("memory for a small tensor"))
    }

    /// The product of a matrix and a row of an array.
    pub(crate) fn row_product(&mut self, rows: Value, index: Value, matrix: Value) -> Result<()> {
        let (Some(gather), Some(matmul)) = (Ops.find("gather"), Ops.find("matmul")) else { return Ok(()) };
        let row = self.b.emit(gather, &[rows, index], &[])?[0];
        let value = self.b.emit(matmul, &[row, matrix], &[])?[0];
        self.pool.push(Item { value, tensor: None });
        Ok(())
    }

    /// Combines neighbours: two boxes of one value, of equal extents, in an elementwise operator, with padding around them.
    pub(crate) fn windows(&mut self) -> usize {
        let fits: Vec<&Item> = self.pool.iter().filter(|i| self.ty(i).shape().is_static()).collect();
        let Some(&item) = self.rng.pick(&fits) else {
            return 0;
        };
        let (item, dims) = (item.clone(), self.ty(item).shape().extents().unwrap_or_default());
        let sizes: Vec<i64> = dims.iter().map(|&d| 1 + self.rng.below(d.max(1)) as i64).collect();
        // Where a box takes one index of a dimension, its result may lack the dimension.
        let shrink = (0..dims.len()).filter(|&k| sizes[k] == 1 && self.rng.one_in(4)).map(|k| 1i64 << k).sum::<i64>();
        let mut boxes = Vec::new();
        for _ in 0..2 {
            let begin: Vec<i64> = sizes
                .iter()
                .zip(&dims)
                .map(|(&n, &d)| self.rng.below((d as i64 - n + 1).max(1) as usize) as i64)
                .collect();
            let end: Vec<i64> = begin.iter().zip(&sizes).map(|(b, n)| b + n).collect();
            let spec = [begin, end, vec![1; dims.len()]].map(|v| Tensor::vector(&v));
            let mut operands = vec![item.clone()];
            operands.extend(spec.map(|t| Item { value: self.b.constant(t.clone()), tensor: Some(t) }));
            let op = Ops.find("strided_slice").expect("an operator of slices");
            let attrs = op.attributes(&[("shrink_axis_mask", shrink.into())]).expect("a mask");
            if self.emit(op, &operands, attrs).is_err() {
                return 1;
            }
            boxes.extend(self.pool.last().cloned());
        }
        let dtype = self.ty(&item).dtype();
        if let [first, second] = &mut boxes[..]
            && DTypeSet::PLAIN.contains(dtype)
            && self.rng.one_in(2)
        {
            let zero = Tensor::zeros(dtype, &[]).expect("memory for an element");
            let rank = self.ty(first).shape().rank().unwrap_or_default();
            let before: Vec<i64> = (0..rank).map(|_| self.rng.below(3) as i64).collect();
            for (x, flipped) in [(first, false), (second, true)] {
                // As much in all around either, so that their extents stay equal.
                let pairs: Vec<i64> =
                    before.iter().flat_map(|&n| if flipped { [2 - n, n] } else { [n, 2 - n] }).collect();
                let widths = Tensor::from_slice(&[rank, 2], &pairs).expect("memory for a few numbers");
                let [widths, fill] =
                    [widths, zero.clone()].map(|t| Item { value: self.b.constant(t.clone()), tensor: Some(t) });
                let op = Ops.find("pad").expect("an operator of padding");
                let attrs = op.attributes(&[]).expect("no attributes are needed");
                if self.emit(op, &[x.clone(), widths, fill], attrs).is_ok() {
                    *x = self.pool.last().cloned().expect("what was just added");
                }
            }
        }
        for name in ["sub", "maximum", "logical_and", "equal"] {
            let op = Ops.find(name).expect("an elementwise operator");
            let attrs = op.attributes(&[]).expect("no attributes are needed");
            if self.emit(op, &boxes, attrs).is_ok() {
                break;
            }
        }
        3
    }
}
