//! Whether the instructions of a region fit together whatever the sizes are that are not known.

use penstock_data::{Dim, Shape, Symbol};
use penstock_ir::{Graph, Inst, Region, Type, Value, infer_types_for};
use rustc_hash::FxHashMap;

/// Whether no instruction of a region fails for the extents of its operands.
///
/// Inference tells: it is asked with numbers in place of the sizes that are not known. They are 0, 1 and 2, and then primes, another
/// for each size, which fit together only where any numbers do.
pub(super) fn fit_always(graph: &Graph, region: Region) -> bool {
    let mut insts = Vec::new();
    graph.visit_region(region, &mut |_, inst, _| insts.push(inst));
    let is_open = |&inst: &Inst| {
        let data = &graph.insts[inst];
        data.operands
            .iter()
            .chain(&data.results)
            .any(|&v| !graph.ty(v).is_variable() && !graph.ty(v).shape().is_static())
    };
    if !insts.iter().any(is_open) {
        return true;
    }
    [Trial::of(Some(0)), Trial::of(Some(1)), Trial::of(Some(2)), Trial::of(None)]
        .into_iter()
        .all(|mut trial| insts.iter().all(|&inst| trial.fits(graph, inst)))
}

/// Numbers in place of the sizes that are not known.
struct Trial {
    /// The number for all of them; else each has its own.
    all: Option<usize>,
    symbols: FxHashMap<Symbol, usize>,
    /// The last prime that was used.
    last: usize,
    /// The types with these numbers of values met so far.
    types: FxHashMap<Value, Type>,
}

impl Trial {
    fn of(all: Option<usize>) -> Trial {
        Trial { all, symbols: FxHashMap::default(), last: 1000, types: FxHashMap::default() }
    }

    /// Whether inference takes the operands of an instruction, and gives the extents of its results.
    fn fits(&mut self, graph: &Graph, inst: Inst) -> bool {
        let data = &graph.insts[inst];
        if !data.regions.is_empty() {
            // The instructions inside are looked at one by one; the graph has shown that the results fit.
            return true;
        }
        let Some(inputs) = data.operands.iter().map(|&v| self.operand(graph, v)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let Ok(results) = infer_types_for(graph, inst, &inputs) else { return false };
        for (&value, ty) in data.results.iter().zip(&results) {
            let Some(ty) = self.closed(ty, false) else { return false };
            self.types.insert(value, ty);
        }
        true
    }

    fn operand(&mut self, graph: &Graph, value: Value) -> Option<Type> {
        if let Some(ty) = self.types.get(&value) {
            return Some(ty.clone());
        }
        let ty = self.closed(graph.ty(value), true)?;
        self.types.insert(value, ty.clone());
        Some(ty)
    }

    /// A type with numbers for its sizes; those without a name too if `any`. `None` where some are left.
    fn closed(&mut self, ty: &Type, any: bool) -> Option<Type> {
        if super::is_list(ty) || ty.is_variable() {
            return Some(ty.clone());
        }
        let dims = ty.shape().dims()?.iter().map(|&dim| match dim {
            Dim::Known(size) => Some(size),
            Dim::Sym(symbol) => Some(match self.symbols.get(&symbol) {
                Some(&size) => size,
                None => {
                    let size = self.next();
                    self.symbols.insert(symbol, size);
                    size
                }
            }),
            Dim::Unknown => any.then(|| self.next()),
        });
        let dims: Option<Vec<usize>> = dims.collect();
        Some(ty.with_shape(Shape::known(&dims?)))
    }

    fn next(&mut self) -> usize {
        self.all.unwrap_or_else(|| {
            self.last += 1;
            while (2..self.last).take_while(|d| d * d <= self.last).any(|d| self.last.is_multiple_of(d)) {
                self.last += 1;
            }
            self.last
        })
    }
}
