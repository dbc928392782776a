//! The order of dimensions in which elementwise instructions compute.
//!
//! Kernels of convolutions and products have one layout, so a program in another one (channels first) has transpositions
//! around each. What is elementwise between them may compute in either layout. Connected elementwise instructions go over
//! to the layout in front of a transposition where fewer transpositions of whole arrays are left than before; often, none.

use penstock_data::{Dims, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Cpu, Graph, Inst, InstData, OpDef, OpRef, Region, Type, Value};
use penstock_ops::control::CONST;
use penstock_ops::shape_ops::{RESHAPE, TRANSPOSE, permutation};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::edit::{regions, unlisted};
use crate::uses::Uses;
use crate::{Cx, dce};

/// An order of dimensions: dimension `i` of what is transposed is dimension `order[i]` of what it is made of.
type Order = SmallVec<[usize; 6]>;

/// An operand counts as a whole array from one element for so many of the result on.
const SMALL: usize = 4;

/// Moves transpositions out of the way of elementwise instructions.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    if !graph.insts.iter().any(|(_, data)| data.op.is(&TRANSPOSE)) {
        return Ok(());
    }
    // What is of no use needs no layout.
    dce::run(graph, cx)?;
    let mut seeds = Vec::new();
    for region in regions(graph) {
        let transposes = |&inst: &Inst| Some((inst, region, order_of(graph, inst)?));
        seeds.extend(graph.regions[region].insts.iter().filter_map(transposes));
    }
    let uses = Uses::of(graph);
    let mut seen: FxHashSet<Inst> = FxHashSet::default();
    // New instructions, by the one that they come in front of.
    let mut before: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    for (inst, region, order) in seeds {
        if replaced.contains_key(&graph.insts[inst].results[0]) {
            continue;
        }
        let found = Group::around(graph, &uses, inst, region, &order, &mut seen);
        if found.pays(graph, &uses) && cx.spend() {
            found.transpose(graph, &uses, &mut before, &mut replaced)?;
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    for region in regions(graph) {
        let insts = std::mem::take(&mut graph.regions[region].insts);
        let place = |inst: Inst| before.remove(&inst).unwrap_or_default().into_iter().chain([inst]);
        graph.regions[region].insts = insts.into_iter().flat_map(place).collect();
    }
    graph.replace_uses(&replaced);
    Ok(())
}

/// The order of a transposition of an array of known extents.
fn order_of(graph: &Graph, inst: Inst) -> Option<Order> {
    let data = &graph.insts[inst];
    if !data.op.is(&TRANSPOSE) {
        return None;
    }
    let rank = graph.ty(data.operands[0]).shape().extents()?.len();
    let order = permutation(data.attrs.opt_ints(0), rank).ok()?;
    order.iter().enumerate().any(|(i, &p)| i != p).then_some(order)
}

fn inverse(order: &Order) -> Order {
    let mut inverse: Order = smallvec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &p)| inverse[p] = i);
    inverse
}

/// What a whole array is to a group.
enum Operand {
    /// It is transposed to the layout of the group: this is what it is made of.
    Turned(Value),
    /// A member makes it.
    Own,
    /// It would have to be transposed.
    Foreign,
}

/// Elementwise instructions of one region that use each other's results, all of the same extents.
struct Group<'a> {
    order: &'a Order,
    region: Region,
    dims: Dims,
    members: Vec<Inst>,
    set: FxHashSet<Inst>,
}

impl<'a> Group<'a> {
    /// The group that uses the result of a transposition; without those that were looked at before.
    fn around(
        graph: &Graph,
        uses: &Uses,
        seed: Inst,
        region: Region,
        order: &'a Order,
        seen: &mut FxHashSet<Inst>,
    ) -> Group<'a> {
        let result = graph.insts[seed].results[0];
        let dims = graph.ty(result).shape().extents().unwrap_or_default();
        let mut group = Group { order, region, dims, members: Vec::new(), set: FxHashSet::default() };
        let mut open: Vec<Inst> = uses.users(result).iter().copied().flatten().collect();
        while let Some(inst) = open.pop() {
            if !group.can_turn(graph, inst) || !seen.insert(inst) {
                continue;
            }
            let data = &graph.insts[inst];
            group.set.insert(inst);
            group.members.push(inst);
            open.extend(uses.users(data.results[0]).iter().copied().flatten());
            let made = |&v: &Value| (graph.values[v].region == region).then(|| graph.def_inst(v))?;
            open.extend(data.operands.iter().filter_map(made));
        }
        group
    }

    /// Whether an instruction computes element by element what has the extents of the group.
    fn can_turn(&self, graph: &Graph, inst: Inst) -> bool {
        let data = &graph.insts[inst];
        let ([result], Cpu::Elementwise(_)) = (&data.results[..], data.op.cpu) else { return false };
        // The bias is along the last dimension.
        let extents = |v: Value| graph.ty(v).shape().extents();
        data.op.broadcasts()
            && graph.values[*result].region == self.region
            && extents(*result).as_ref() == Some(&self.dims)
            && data
                .operands
                .iter()
                .all(|&v| extents(v).is_some_and(|dims| self.is_whole(&dims) || self.is_small(&dims)))
    }

    fn is_whole(&self, dims: &Dims) -> bool {
        *dims == self.dims
    }

    fn is_small(&self, dims: &Dims) -> bool {
        dims.iter().product::<usize>() * SMALL <= self.dims.iter().product()
    }

    /// What an operand that is a whole array is; `None` for others.
    fn operand(&self, graph: &Graph, value: Value) -> Option<Operand> {
        if !self.is_whole(&graph.ty(value).shape().extents()?) {
            return None;
        }
        Some(match graph.def_inst(value) {
            Some(inst) if self.set.contains(&inst) => Operand::Own,
            Some(inst) if order_of(graph, inst).as_ref() == Some(self.order) => {
                Operand::Turned(graph.insts[inst].operands[0])
            }
            _ => Operand::Foreign,
        })
    }

    /// Whether a user of a member's result transposes it back.
    fn turns_back(&self, graph: &Graph, user: Inst) -> bool {
        order_of(graph, user).is_some_and(|order| order == inverse(self.order))
    }

    /// Whether fewer whole arrays are transposed in the other layout.
    fn pays(&self, graph: &Graph, uses: &Uses) -> bool {
        let (mut now, mut then) = (FxHashSet::default(), FxHashSet::default());
        for &inst in &self.members {
            let data = &graph.insts[inst];
            for &v in &data.operands {
                let inside = |user: &Option<Inst>| user.is_some_and(|user| self.set.contains(&user));
                match self.operand(graph, v) {
                    // Others may need it as it is.
                    Some(Operand::Turned(_)) if uses.users(v).iter().all(inside) => now.insert(v),
                    Some(Operand::Foreign) => then.insert(v),
                    _ => false,
                };
            }
            for user in uses.users(data.results[0]) {
                match user {
                    Some(user) if self.set.contains(user) => false,
                    Some(user) if self.turns_back(graph, *user) => now.insert(graph.insts[*user].results[0]),
                    _ => then.insert(data.results[0]),
                };
            }
        }
        now.len() > then.len()
    }

    /// Makes the members anew in the other layout, in `before`; each becomes the transposition of its new self.
    fn transpose(
        &self,
        graph: &mut Graph,
        uses: &Uses,
        before: &mut FxHashMap<Inst, Vec<Inst>>,
        replaced: &mut FxHashMap<Value, Value>,
    ) -> Result<()> {
        let back = inverse(self.order);
        let dims = reordered(&self.dims, &back);
        // What comes from outside; in place of `None` comes the new self of a member.
        let mut outside: Vec<SmallVec<[Option<Value>; 3]>> = Vec::with_capacity(self.members.len());
        let mut lists: Vec<Vec<Inst>> = Vec::with_capacity(self.members.len());
        for &inst in &self.members {
            let mut list = Vec::new();
            let operands = graph.insts[inst].operands.clone();
            let mut made = Maker { graph, list: &mut list, inst, region: self.region };
            let operands = operands.iter().map(|&v| {
                Ok(match self.operand(made.graph, v) {
                    Some(Operand::Own) => None,
                    // It may be the result of a member, as that was.
                    Some(Operand::Turned(x)) => Some(x),
                    Some(Operand::Foreign) => Some(made.transpose(v, &back)?),
                    None => Some(made.small(v, &back)?),
                })
            });
            outside.push(operands.collect::<Result<_>>()?);
            lists.push(list);
        }
        let mut transposed: FxHashMap<Value, Value> = FxHashMap::default();
        let mut new = Vec::with_capacity(self.members.len());
        for &inst in &self.members {
            let (op, attrs, result) = {
                let data = &graph.insts[inst];
                (data.op.0, data.attrs.clone(), data.results[0])
            };
            let ty = graph.ty(result).with_shape(Shape::known(&dims));
            let (made, value) = unlisted(graph, self.region, op, &[], attrs, ty, graph.locs[inst]);
            transposed.insert(result, value);
            for user in uses.users(result).iter().copied().flatten().filter(|&user| self.turns_back(graph, user)) {
                replaced.insert(graph.insts[user].results[0], value);
            }
            new.push(made);
        }
        let attrs = transposition(self.order)?;
        for (((&inst, made), mut list), outside) in self.members.iter().zip(new).zip(lists).zip(outside) {
            let operands = graph.insts[inst].operands.iter().zip(&outside);
            graph.insts[made].operands =
                operands.map(|(v, outside)| outside.unwrap_or_else(|| transposed[v])).collect();
            list.push(made);
            before.insert(inst, list);
            let results = graph.insts[inst].results.clone();
            let operands = smallvec![transposed[&results[0]]];
            graph.insts[inst] =
                InstData { op: OpRef(&TRANSPOSE), operands, attrs: attrs.clone(), regions: SmallVec::new(), results };
        }
        Ok(())
    }
}

fn transposition(order: &Order) -> Result<Attrs> {
    let perm: SmallVec<[i64; 4]> = order.iter().map(|&p| p as i64).collect();
    TRANSPOSE.attributes(&[("perm", Attr::Ints(perm))])
}

fn reordered(dims: &[usize], order: &Order) -> Dims {
    order.iter().map(|&p| dims[p]).collect()
}

/// Makes instructions in front of one.
struct Maker<'a> {
    graph: &'a mut Graph,
    list: &'a mut Vec<Inst>,
    inst: Inst,
    region: Region,
}

impl Maker<'_> {
    fn emit(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs, ty: Type) -> Value {
        let loc = self.graph.locs[self.inst];
        let (inst, value) = unlisted(self.graph, self.region, op, operands, attrs, ty, loc);
        self.list.push(inst);
        value
    }

    fn transpose(&mut self, x: Value, order: &Order) -> Result<Value> {
        let dims = self.graph.ty(x).shape().extents().unwrap_or_default();
        let ty = self.graph.ty(x).with_shape(Shape::known(&reordered(&dims, order)));
        Ok(self.emit(&TRANSPOSE, &[x], transposition(order)?, ty))
    }

    fn reshape(&mut self, x: Value, dims: &[usize]) -> Value {
        let shape = Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
        let ty = Type::of(&shape);
        let shape = self.emit(&CONST, &[], Attrs(smallvec![Attr::Tensor(shape)]), ty);
        let ty = self.graph.ty(x).with_shape(Shape::known(dims));
        self.emit(&RESHAPE, &[x, shape], Attrs::EMPTY, ty)
    }

    /// What is broadcast, in another order of dimensions.
    fn small(&mut self, x: Value, order: &Order) -> Result<Value> {
        let dims = self.graph.ty(x).shape().extents().unwrap_or_default();
        if dims.iter().all(|&d| d == 1) {
            return Ok(x);
        }
        let mut full: Dims = smallvec![1; order.len() - dims.len()];
        full.extend_from_slice(&dims);
        let large = |&d: &usize| full[d] > 1;
        if order.iter().copied().filter(large).is_sorted() {
            return Ok(self.reshape(x, &reordered(&full, order)));
        }
        let x = if dims == full { x } else { self.reshape(x, &full) };
        self.transpose(x, order)
    }
}
