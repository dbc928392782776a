//! Loop-invariant motion.

use penstock_data::{Result, Shape};
use penstock_ir::{Cpu, Fails, Graph, Inst, Region, Value};
use penstock_ops::control::{CONST, WHILE};
use penstock_ops::linalg::MATMUL;
use penstock_ops::shape_ops::TRANSPOSE;
use rustc_hash::FxHashMap;

use crate::edit::unlisted;
use crate::{Cx, dce};

/// Moves instructions that give the same in every iteration to before their loop, and transpositions of matrices by which each
/// iteration multiplies.
///
/// A loop may run no iteration, and then these ran for nothing: so only such move as cannot fail. Each goes to the outermost place
/// that it can have at once, so that the time does not grow with the depth of loops.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    keep_outside(graph, cx)?;
    let body = graph.body();
    let mut mover = Mover { graph, cx, at: FxHashMap::default(), open: Vec::new() };
    mover.region(body, 0);
    Ok(())
}

/// Puts what loop variables start with in place of those that each iteration leaves as they are.
fn keep_outside(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut loops: Vec<Inst> = Vec::new();
    graph.visit(&mut |_, inst, data| {
        if data.op.is(&WHILE) {
            loops.push(inst);
        }
    });
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    // Loops inside of others come first: what these leave as it is, the others may as well.
    for inst in loops.into_iter().rev() {
        let data = &graph.insts[inst];
        let [cond, body] = [0, 1].map(|r| &graph.regions[data.regions[r]]);
        for (k, &start) in data.operands.iter().enumerate() {
            let mut next = body.results[k];
            while let Some(&new) = replaced.get(&next) {
                next = new;
            }
            let same = [cond.params[k], body.params[k], data.results[k]];
            let alike = same.iter().all(|&v| graph.ty(v) == graph.ty(start));
            if next == body.params[k] && alike && cx.spend() {
                replaced.extend(same.map(|v| (v, start)));
            }
        }
    }
    if replaced.is_empty() {
        return Ok(());
    }
    graph.replace_uses(&replaced);
    dce::run(graph, cx)
}

struct Mover<'a> {
    graph: &'a mut Graph,
    cx: &'a Cx,
    /// How many regions each open region lies in.
    at: FxHashMap<Region, usize>,
    /// The regions around the present place, outermost first.
    open: Vec<Open>,
}

/// A region whose instructions are being listed anew.
struct Open {
    region: Region,
    /// The outermost region that an instruction here may move to: only loops are in between.
    top: usize,
    listed: Vec<Inst>,
}

impl Mover<'_> {
    fn region(&mut self, region: Region, top: usize) {
        let depth = self.open.len();
        self.at.insert(region, depth);
        self.open.push(Open { region, top, listed: Vec::new() });
        for inst in std::mem::take(&mut self.graph.regions[region].insts) {
            let data = &self.graph.insts[inst];
            let inner_top = if data.op.is(&WHILE) { top } else { depth + 1 };
            for inner in data.regions.clone() {
                self.region(inner, inner_top);
            }
            let to = self.place(&self.graph.insts[inst].operands, depth);
            let moves = to < depth && never_fails(self.graph, inst) && self.cx.spend();
            let to = if moves { to } else { depth };
            self.turn_once(inst, to);
            self.list(inst, to);
        }
        if let Some(open) = self.open.pop() {
            self.graph.regions[region].insts = open.listed;
        }
    }

    /// The outermost open region, by its depth, where an instruction of the open region at `depth` finds these operands, out of
    /// loops alone.
    fn place(&self, operands: &[Value], depth: usize) -> usize {
        operands.iter().map(|&v| self.depth(v)).fold(self.open[depth].top, usize::max)
    }

    /// The depth of the region that a value is of.
    fn depth(&self, value: Value) -> usize {
        self.at[&self.graph.values[value].region]
    }

    /// Lists an instruction in the open region at `depth`, before what that is at.
    fn list(&mut self, inst: Inst, depth: usize) {
        let open = &mut self.open[depth];
        for &v in &self.graph.insts[inst].results {
            self.graph.values[v].region = open.region;
        }
        open.listed.push(inst);
    }

    /// A product, to be listed at `depth`, by the transpose of a matrix from outside of its loop becomes one by what an
    /// instruction outside transposes once for all iterations: a kernel goes through memory by rows.
    fn turn_once(&mut self, inst: Inst, depth: usize) {
        let data = &self.graph.insts[inst];
        let Some(flag) = data.op.is(&MATMUL).then(|| data.op.attr_index("transpose_b")).flatten() else { return };
        let (left, right) = (data.operands[0], data.operands[1]);
        let to = self.place(&[right], depth);
        if !data.attrs.flag(flag) || self.depth(left) < depth || to == depth {
            return;
        }
        let ty = self.graph.ty(right);
        let Some(&[rows, columns]) = ty.shape().extents().as_deref() else { return };
        // A single row is multiplied by each row of the matrix as it is.
        if self.graph.ty(data.results[0]).shape().num_elements().is_none_or(|n| n <= rows) {
            return;
        }
        let ty = ty.with_shape(Shape::known(&[columns, rows]));
        let (Ok(attrs), true) = (TRANSPOSE.attributes(&[]), self.cx.spend()) else { return };
        let (region, loc) = (self.open[to].region, self.graph.locs[inst]);
        let (transposed, value) = unlisted(self.graph, region, &TRANSPOSE, &[right], attrs, ty, loc);
        self.graph.insts[inst].operands[1] = value;
        self.graph.insts[inst].attrs.0[flag] = false.into();
        self.list(transposed, to);
    }
}

/// Whether an elementwise instruction rejects some elements: divisions and powers of integers.
pub fn rejects_elements(graph: &Graph, inst: Inst) -> bool {
    let data = &graph.insts[inst];
    let integers = data.operands.iter().any(|&v| graph.ty(v).dtype().is_integer());
    integers && data.op.fails == Fails::OnIntegers
}

/// Whether an instruction cannot fail, whatever its operands are.
pub(crate) fn never_fails(graph: &Graph, inst: Inst) -> bool {
    let data = &graph.insts[inst];
    let fixed = data.operands.iter().chain(&data.results).all(|&v| graph.ty(v).shape().is_static());
    fixed
        && match data.op.cpu {
            Cpu::Elementwise(_) => !rejects_elements(graph, inst),
            Cpu::Kernel(_) => data.op.is_pure() && never_rejects(graph, inst),
            Cpu::Update(_) | Cpu::Variable(_) => false,
            Cpu::Executor(_) => data.op.is(&CONST),
        }
}

/// Whether an instruction of known extents takes all values of its operands: inference has seen those that it may refuse.
fn never_rejects(graph: &Graph, inst: Inst) -> bool {
    let data = &graph.insts[inst];
    match data.op.fails {
        Fails::Never => true,
        Fails::OnOperands(places) => places.iter().all(|&i| graph.constant(data.operands[i]).is_some()),
        Fails::OnIntegers | Fails::OnShapes | Fails::OnValues => false,
    }
}
