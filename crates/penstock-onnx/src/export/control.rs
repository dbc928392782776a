//! Regions: branches become `If`, loops `Loop`, and calls what they call.
//!
//! The condition of a `Loop` is computed before it and at the end of each round. A list to which each round writes the element of
//! its number is an output that the loop scans; other lists are sequences that it carries.

use std::collections::HashMap;
use std::sync::Arc;

use penstock_data::{DType, Dim, Error, Loc, Result, Shape};
use penstock_ir::{Function, Graph, Inst, Region, Type, Value};
use penstock_ops::binary::ADD;
use penstock_ops::compare::LESS;

use super::cx::{Cx, Exporter, Item, Items, X, body, inner_port};
use super::lists::{List, sequence};
use super::message::{Node, Port};

/// A function of which the instructions are written.
pub(super) struct Frame<'a, 'g> {
    pub(super) exporter: &'a mut Exporter,
    graph: &'g Graph,
    items: HashMap<Value, Item>,
    /// The instructions that write the element of a round, with that element once it is there.
    rows: HashMap<Inst, Option<X>>,
    /// Where the function is called.
    caller: Loc,
}

/// Writes a function for operands; gives its results.
pub(super) fn inline(exporter: &mut Exporter, function: &Arc<Function>, operands: Vec<Item>, caller: Loc) -> Items {
    let place = Arc::as_ptr(function);
    if exporter.open.contains(&place) {
        return Err(Error::unimplemented(format!("'{}' calls itself, which no model of ONNX can", function.name())));
    }
    let graph = function.graph().ok_or_else(|| Error::precondition("the function has no graph"))?;
    let mut graph = graph.clone().into_graph();
    let root = graph.body();
    penstock_ir::drop_dead(&mut graph, &[root], &mut || true);
    let items = graph.inputs().iter().copied().zip(operands).collect();
    exporter.open.push(place);
    let mut frame = Frame { exporter, graph: &graph, items, rows: HashMap::new(), caller };
    let results = frame.region(root);
    exporter.open.pop();
    Ok(results)
}

impl<'g> Frame<'_, 'g> {
    fn find(&self, value: Value) -> Item {
        self.items.get(&value).cloned().unwrap_or(Item::Refused)
    }

    /// Writes the instructions of a region; gives its results.
    fn region(&mut self, region: Region) -> Vec<Item> {
        let data = &self.graph.regions[region];
        for &inst in &data.insts {
            self.inst(inst);
        }
        data.results.iter().map(|&v| self.find(v)).collect()
    }

    fn inst(&mut self, inst: Inst) {
        let data = &self.graph.insts[inst];
        if let Some(row) = self.rows.get_mut(&inst) {
            if let Some(Item::Tensor(x)) = data.operands.last().and_then(|v| self.items.get(v)) {
                *row = Some(x.clone());
            }
            return;
        }
        let operands: Vec<Item> = data.operands.iter().map(|&v| self.find(v)).collect();
        let narrow =
            data.operands.iter().chain(&data.results).map(|&v| self.graph.ty(v).dtype()).find(|d| d.is_narrow());
        let made = match data.op.name {
            // What a model refuses was said where it came up.
            _ if operands.iter().any(|item| matches!(item, Item::Refused)) => Ok(vec![]),
            // ONNX's casts to these saturate, and it packs two elements in a byte.
            _ if narrow.is_some() => {
                Err(Error::unimplemented(format!("{} has another form in ONNX", narrow.map_or("", |d| d.tf_name()))))
            }
            "const" => Ok(vec![X::constant(data.attrs.tensor(0).clone()).into()]),
            "cond" => self.cond(inst, &operands),
            "switch" => self.switch(inst, &operands),
            "while" => self.repeat(inst, operands),
            "call" => {
                let caller = self.graph.locs[inst].within(self.caller);
                data.attrs.func(0).get().and_then(|f| inline(self.exporter, &f, operands, caller))
            }
            "with_gradient" => Ok(operands[..penstock_ops::control::results_with_gradient(&data.attrs)].to_vec()),
            // A model of ONNX checks nothing.
            "assert" => Ok(vec![]),
            name => {
                let mut cx = Cx { exporter: self.exporter, graph: self.graph, data, operands };
                match (super::handler(name), cx.fold()) {
                    (_, Some(folded)) => Ok(folded),
                    (Some(handler), _) => handler(&mut cx),
                    (None, _) => Err(Error::unimplemented("has no node in ONNX")),
                }
            }
        };
        let made = made.unwrap_or_else(|error| {
            let loc = self.graph.locs[inst].within(self.caller);
            self.exporter.refuse(format!("{}: {}", data.op.name, error.message()), loc);
            vec![]
        });
        for (i, &result) in data.results.iter().enumerate() {
            let ty = self.graph.ty(result);
            let item = match made.get(i) {
                Some(Item::Tensor(x)) => Item::Tensor(x.clone().of(ty)),
                Some(item) => item.clone(),
                None => Item::Refused,
            };
            self.items.insert(result, item);
        }
    }

    // --- branches ---

    fn cond(&mut self, inst: Inst, operands: &[Item]) -> Items {
        let regions = &self.graph.insts[inst].regions;
        let (then, otherwise) = (regions[0], regions[1]);
        let condition = tensor(&operands[0])?;
        match condition.known.as_ref().map(|t| t.bytes() != [0]) {
            Some(true) => Ok(self.region(then)),
            Some(false) => Ok(self.region(otherwise)),
            None => self.either(inst, &condition, |frame| frame.region(then), |frame| frame.region(otherwise)),
        }
    }

    /// The first region whose number the index is, else the last.
    fn switch(&mut self, inst: Inst, operands: &[Item]) -> Items {
        let regions = self.graph.insts[inst].regions.to_vec();
        let index = tensor(&operands[0])?;
        if let Some(known) = index.known_ints() {
            let chosen = usize::try_from(known[0]).ok().and_then(|i| regions.get(i)).or(regions.last());
            return Ok(chosen.map(|&region| self.region(region)).unwrap_or_default());
        }
        self.chosen(inst, &index, 0, &regions)
    }

    fn chosen(&mut self, inst: Inst, index: &X, number: i64, regions: &[Region]) -> Items {
        let (&first, rest) = regions.split_first().ok_or_else(|| Error::invalid("there is no branch"))?;
        if rest.is_empty() {
            return Ok(self.region(first));
        }
        let due = X::constant((number as i32).into());
        let hit = self.exporter.node("Equal", &[index, &due], vec![], Type::scalar(DType::Bool));
        let mut failed = None;
        let items = self.either(
            inst,
            &hit,
            |frame| frame.region(first),
            |frame| {
                frame.chosen(inst, index, number + 1, rest).unwrap_or_else(|error| {
                    failed = Some(error);
                    vec![]
                })
            },
        );
        failed.map_or(items, Err)
    }

    /// An `If` with what two regions give.
    fn either(
        &mut self,
        inst: Inst,
        condition: &X,
        then: impl FnOnce(&mut Self) -> Vec<Item>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Item>,
    ) -> Items {
        self.exporter.open_block();
        let first = then(self);
        let first_nodes = self.exporter.close_block();
        self.exporter.open_block();
        let second = otherwise(self);
        let second_nodes = self.exporter.close_block();
        let results = &self.graph.insts[inst].results;
        if results.is_empty() || refused(&first) || refused(&second) {
            return Ok(vec![]);
        }
        // A list is a sequence in both.
        let dtypes: Vec<Option<DType>> =
            first.iter().zip(&second).map(|(a, b)| list_dtype(a).or(list_dtype(b))).collect();
        let types: Vec<Type> = results.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let mut graphs = Vec::new();
        for (nodes, items) in [(first_nodes, first), (second_nodes, second)] {
            let ports;
            let nodes = {
                self.exporter.resume_block(nodes);
                let made = self.outputs(&items, &types, &dtypes);
                let nodes = self.exporter.close_block();
                ports = made?;
                nodes
            };
            graphs.push(body(self.exporter, nodes, vec![], ports));
        }
        let [otherwise, then] = [graphs.pop(), graphs.pop()].map(|g| g.unwrap_or(0i64.into()));
        let outputs: Vec<_> = types.iter().map(|_| self.exporter.name("")).collect();
        let inputs = vec![self.exporter.input(condition)];
        let attrs = vec![("then_branch", then), ("else_branch", otherwise)];
        self.exporter.push(Node { op: "If", inputs, outputs: outputs.clone(), attrs });
        let found = outputs.into_iter().zip(&types).zip(&dtypes);
        Ok(found.map(|((name, ty), dtype)| named(name, ty, *dtype)).collect())
    }

    /// The outputs of the graph at hand: each has a name of its own.
    fn outputs(&mut self, items: &[Item], types: &[Type], dtypes: &[Option<DType>]) -> Result<Vec<Port>> {
        let mut ports = Vec::new();
        for ((item, ty), dtype) in items.iter().zip(types).zip(dtypes) {
            let (x, is_sequence) = match item {
                Item::Tensor(x) => (x.clone(), false),
                Item::List(list) => {
                    let dtype = dtype.ok_or_else(|| Error::unimplemented("the dtype of a list is not known"))?;
                    (sequence(self.exporter, list, dtype)?, true)
                }
                Item::Refused => return Err(Error::internal("a refused value is an output")),
            };
            let ty = if is_sequence { Type::tensor(x.dtype, Shape::UNRANKED) } else { ty.clone() };
            let own = self.exporter.node("Identity", &[&x], vec![], ty.clone());
            ports.push(Port { is_sequence, ..inner_port(self.exporter.input(&own), &ty) });
        }
        Ok(ports)
    }

    // --- loops ---

    fn repeat(&mut self, inst: Inst, init: Vec<Item>) -> Items {
        let data = &self.graph.insts[inst];
        let (cond, inner) = (data.regions[0], data.regions[1]);
        let (conditions, region) = (&self.graph.regions[cond], &self.graph.regions[inner]);
        let params = region.params.to_vec();
        let kinds: Vec<Kind> = (0..params.len()).map(|i| self.kind(inst, i, &init)).collect();
        // Lists that are carried are sequences; nothing else changes their elements' dtype.
        let mut state = init.clone();
        for (i, kind) in kinds.iter().enumerate() {
            if let (Kind::Carried, Item::List(list)) = (kind, &init[i]) {
                let dtype = list.dtype().or_else(|| self.written(inner, params[i]));
                let dtype = dtype.ok_or_else(|| Error::unimplemented("the dtype of a list is not known"))?;
                state[i] = Item::List(List::Sequence(sequence(self.exporter, list, dtype)?));
            }
        }
        let condition_params = conditions.params.to_vec();
        let mut before = self.condition(cond, &condition_params, &state)?;
        before = self.exporter.node("Identity", &[&before], vec![], Type::scalar(DType::Bool));
        // The graph of a round.
        let carried: Vec<usize> = (0..params.len()).filter(|&i| matches!(kinds[i], Kind::Carried)).collect();
        let scanned: Vec<(usize, Inst)> = kinds
            .iter()
            .enumerate()
            .filter_map(|(i, k)| if let Kind::Scanned(at, _) = k { Some((i, *at)) } else { None })
            .collect();
        let types: Vec<Type> = params.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let dtypes: Vec<Option<DType>> = state.iter().map(list_dtype).collect();
        let (round, go) = (self.exporter.name(""), self.exporter.name(""));
        let mut inputs = vec![inner_port(round, &Type::scalar(DType::I64)), inner_port(go, &Type::scalar(DType::Bool))];
        self.exporter.open_block();
        for i in 0..params.len() {
            let item = match kinds[i] {
                Kind::Carried => {
                    let name = self.exporter.name("");
                    let ty = match dtypes[i] {
                        Some(dtype) => Type::tensor(dtype, Shape::UNRANKED),
                        None => types[i].clone(),
                    };
                    inputs.push(Port { is_sequence: dtypes[i].is_some(), ..inner_port(name.clone(), &ty) });
                    named(name, &types[i], dtypes[i])
                }
                _ => state[i].clone(),
            };
            self.items.insert(params[i], item);
        }
        self.rows.extend(scanned.iter().map(|&(_, at)| (at, None)));
        let made = self.round(inner, cond, &condition_params, &kinds, &state, &types, &dtypes);
        let nodes = self.exporter.close_block();
        let Some(outputs) = made? else { return Ok(vec![]) };
        let rows: Vec<Type> =
            outputs[1 + carried.len()..].iter().map(|p| Type::tensor(p.dtype, p.shape.clone())).collect();
        let graph = body(self.exporter, nodes, inputs, outputs);
        let mut operands = vec!["".into(), self.exporter.input(&before)];
        for &i in &carried {
            operands.push(match &state[i] {
                Item::Tensor(x) | Item::List(List::Sequence(x)) => self.exporter.input(x),
                _ => "".into(),
            });
        }
        let names: Vec<_> = (0..carried.len() + scanned.len()).map(|_| self.exporter.name("")).collect();
        self.exporter.push(Node { op: "Loop", inputs: operands, outputs: names.clone(), attrs: vec![("body", graph)] });
        let mut out = state;
        for (&i, name) in carried.iter().zip(&names) {
            out[i] = named(name.clone(), &types[i], dtypes[i]);
        }
        for ((&(i, _), name), row) in scanned.iter().zip(&names[carried.len()..]).zip(&rows) {
            let shape = match row.shape().dims() {
                Some(dims) => Shape::new(std::iter::once(Dim::Unknown).chain(dims.iter().copied())),
                None => Shape::UNRANKED,
            };
            let rows = X::named(name.clone(), &Type::tensor(row.dtype(), shape));
            let all = match (&kinds[i], &init[i]) {
                (Kind::Scanned(_, false), Item::List(List::New { length, .. })) => self.filled(&rows, length)?,
                _ => rows,
            };
            out[i] = Item::List(List::Rows(all));
        }
        Ok(out)
    }

    /// The condition for values of the variables.
    fn condition(&mut self, cond: Region, params: &[Value], items: &[Item]) -> Result<X> {
        self.items.extend(params.iter().copied().zip(items.iter().cloned()));
        match self.region(cond).first() {
            Some(Item::Tensor(x)) => Ok(x.clone()),
            // What is in the way was said.
            _ => Err(Error::unimplemented("its condition cannot be written")),
        }
    }

    /// Writes a round; gives the outputs of its graph, or nothing where one cannot be written.
    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    fn round(
        &mut self,
        inner: Region,
        cond: Region,
        condition_params: &[Value],
        kinds: &[Kind],
        state: &[Item],
        types: &[Type],
        dtypes: &[Option<DType>],
    ) -> Result<Option<Vec<Port>>> {
        let mut next = self.region(inner);
        for (i, kind) in kinds.iter().enumerate() {
            match kind {
                Kind::Carried => {}
                // The condition does not look at a list that is scanned.
                Kind::Kept | Kind::Scanned(..) => next[i] = state[i].clone(),
            }
        }
        if refused(&next) {
            return Ok(None);
        }
        for (item, dtype) in next.iter_mut().zip(dtypes) {
            if let (Item::List(list), Some(dtype)) = (&*item, dtype) {
                *item = Item::List(List::Sequence(sequence(self.exporter, list, *dtype)?));
            }
        }
        let go = self.condition(cond, condition_params, &next)?;
        let mut ports = self.outputs(&[go.into()], &[Type::scalar(DType::Bool)], &[None])?;
        for (i, kind) in kinds.iter().enumerate() {
            if matches!(kind, Kind::Carried) {
                ports.extend(self.outputs(&next[i..=i], &types[i..=i], &dtypes[i..=i])?);
            }
        }
        for kind in kinds {
            if let Kind::Scanned(at, _) = kind {
                let Some(Some(row)) = self.rows.remove(at) else { return Ok(None) };
                let ty = Type::tensor(row.dtype, row.shape.clone());
                ports.extend(self.outputs(&[row.into()], &[ty], &[None])?);
            }
        }
        Ok(Some(ports))
    }

    /// The rows with zeros behind them up to `length`.
    fn filled(&mut self, rows: &X, length: &X) -> Result<X> {
        let rank = rows.rank()?;
        let index = Type::tensor(DType::I64, Shape::UNRANKED);
        let count =
            self.exporter.node("Shape", &[rows], vec![("start", 0i64.into()), ("end", 1i64.into())], index.clone());
        let missing = self.exporter.node("Sub", &[length, &count], vec![], index.clone());
        let missing = self.exporter.node("Max", &[&missing, &X::ints(&[0])], vec![], index.clone());
        let (before, after) = (X::ints(&vec![0; rank]), X::ints(&vec![0; rank - 1]));
        let amounts = self.exporter.node("Concat", &[&before, &missing, &after], vec![("axis", 0i64.into())], index);
        let zero = X::constant(penstock_data::Tensor::zeros(rows.dtype, &[])?);
        let ty = Type::tensor(rows.dtype, rows.shape.clone());
        Ok(self.exporter.node("Pad", &[rows, &amounts, &zero], vec![("mode", "constant".into())], ty))
    }

    /// What a loop does with its variable `i`.
    fn kind(&self, inst: Inst, i: usize, init: &[Item]) -> Kind {
        let data = &self.graph.insts[inst];
        let (cond, inner) = (data.regions[0], data.regions[1]);
        let region = &self.graph.regions[inner];
        let (param, result) = (region.params[i], region.results[i]);
        if param == result {
            return Kind::Kept;
        }
        self.scanned(cond, inner, i, init).unwrap_or(Kind::Carried)
    }

    /// Whether each round writes the element of its number to list `i`, and nothing else is done with it.
    fn scanned(&self, cond: Region, inner: Region, i: usize, init: &[Item]) -> Option<Kind> {
        let Item::List(List::New { length, .. }) = &init[i] else { return None };
        let region = &self.graph.regions[inner];
        let (param, result) = (region.params[i], region.results[i]);
        let condition = &self.graph.regions[cond];
        let at = self.graph.def_inst(result).filter(|_| self.graph.values[result].region == inner)?;
        let data = &self.graph.insts[at];
        let uses = self.uses(inner, param) + self.uses(cond, condition.params[i]);
        if data.operands[0] != param || uses != 1 || self.uses(inner, result) != 1 {
            return None;
        }
        let row = *data.operands.last()?;
        match data.op.name {
            "list_push" if length.known_ints().is_some_and(|n| n == [0]) => Some(Kind::Scanned(at, true)),
            "list_set" => {
                let index = data.operands[1];
                let counter = region.params.iter().position(|&p| p == index)?;
                if !self.counts(inner, counter) || !is_zero(&init[counter]) {
                    return None;
                }
                let all = self.ends_at(cond, counter, length);
                (all || self.graph.ty(row).shape().rank().is_some()).then_some(Kind::Scanned(at, all))
            }
            _ => None,
        }
    }

    /// Whether a variable grows by 1 in each round.
    fn counts(&self, inner: Region, i: usize) -> bool {
        let region = &self.graph.regions[inner];
        let Some(next) = self.graph.def_inst(region.results[i]) else { return false };
        let data = &self.graph.insts[next];
        let is_one = |v: Value| {
            let known = match self.items.get(&v) {
                Some(Item::Tensor(x)) => x.known_ints(),
                _ => self.graph.constant(v).and_then(|t| t.to_ints().ok().map(|n| n.to_vec())),
            };
            known.is_some_and(|n| n == [1])
        };
        let is_param = |v: Value| v == region.params[i];
        data.op.is(&ADD)
            && (is_param(data.operands[0]) && is_one(data.operands[1])
                || is_one(data.operands[0]) && is_param(data.operands[1]))
    }

    /// Whether a loop goes on while variable `i` is below `length`, and for no other reason ends.
    fn ends_at(&self, cond: Region, i: usize, length: &X) -> bool {
        let region = &self.graph.regions[cond];
        let Some(test) = region.results.first().and_then(|&v| self.graph.def_inst(v)) else { return false };
        let data = &self.graph.insts[test];
        if !data.op.is(&LESS) || data.operands[0] != region.params[i] {
            return false;
        }
        let limit = match self.items.get(&data.operands[1]) {
            Some(Item::Tensor(x)) => x.known_ints(),
            _ => self.graph.constant(data.operands[1]).and_then(|t| t.to_ints().ok().map(|n| n.to_vec())),
        };
        limit.is_some() && limit == length.known_ints()
    }

    /// The dtype of what a region writes to or reads from a list.
    fn written(&self, region: Region, list: Value) -> Option<DType> {
        let mut found = None;
        self.graph.visit_region(region, &mut |_, _, data| {
            if found.is_none() && data.operands.first() == Some(&list) {
                found = match data.op.name {
                    "list_set" | "list_push" => data.operands.last().map(|&v| self.graph.ty(v).dtype()),
                    "list_get" | "list_pop" | "list_stack" | "list_concat" => Some(data.attrs.dtype(0)),
                    _ => None,
                };
            }
        });
        found.filter(|&dtype| dtype != DType::Variant)
    }

    /// How often a region and those in it name a value.
    fn uses(&self, region: Region, value: Value) -> usize {
        let in_results = |region: Region| self.graph.regions[region].results.iter().filter(|&&v| v == value).count();
        let mut count = in_results(region);
        self.graph.visit_region(region, &mut |_, _, data| {
            count += data.operands.iter().filter(|&&v| v == value).count();
            count += data.regions.iter().map(|&inner| in_results(inner)).sum::<usize>();
        });
        count
    }
}

/// What a loop does with a variable.
enum Kind {
    /// It stays as it is.
    Kept,
    /// It is another value in each round.
    Carried,
    /// Each round writes its element, by this instruction; the flag says that no element is left out.
    Scanned(Inst, bool),
}

fn refused(items: &[Item]) -> bool {
    items.iter().any(|item| matches!(item, Item::Refused))
}

fn tensor(item: &Item) -> Result<X> {
    match item {
        Item::Tensor(x) => Ok(x.clone()),
        _ => Err(Error::internal("a condition is no tensor")),
    }
}

fn list_dtype(item: &Item) -> Option<DType> {
    match item {
        Item::List(list) => list.dtype(),
        _ => None,
    }
}

fn is_zero(item: &Item) -> bool {
    matches!(item, Item::Tensor(x) if x.known_ints().is_some_and(|n| n == [0]))
}

/// What a result of a loop or branch is: a sequence of elements of a dtype, or a tensor.
fn named(name: super::message::Name, ty: &Type, elements: Option<DType>) -> Item {
    match elements {
        Some(dtype) => Item::List(List::Sequence(X::named(name, &Type::tensor(dtype, Shape::UNRANKED)))),
        None => Item::Tensor(X::named(name, ty)),
    }
}
