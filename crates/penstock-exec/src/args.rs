//! The check of a run's arguments against a graph's inputs.

use std::sync::Arc;

use penstock_data::{DType, Dim, Error, Result, Shape, Symbol};
use penstock_ir::{Graph, Type};
use smallvec::SmallVec;

use crate::variable::Arg;

/// What a graph takes.
#[derive(Debug)]
pub(crate) struct Inputs {
    list: Vec<Input>,
    /// Whether every tensor has a fully known shape.
    pub(crate) is_static: bool,
}

#[derive(Debug)]
struct Input {
    name: Option<Arc<str>>,
    ty: Type,
    dtype: DType,
    variable: bool,
    /// The extents, where all are known.
    exact: Option<SmallVec<[usize; 4]>>,
}

impl Inputs {
    pub(crate) fn of(graph: &Graph) -> Inputs {
        let list: Vec<Input> = graph
            .inputs()
            .iter()
            .map(|&v| {
                let ty = graph.ty(v).clone();
                Input {
                    name: graph.names.get(&v).cloned(),
                    dtype: ty.dtype(),
                    variable: ty.is_variable(),
                    exact: ty.shape().extents(),
                    ty,
                }
            })
            .collect();
        let is_static = list.iter().all(|input| input.exact.is_some());
        Inputs { list, is_static }
    }

    /// Checks number, dtypes and shapes; that one symbol has one size; and that no variable comes twice.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType`, naming the input.
    pub(crate) fn check(&self, args: &[Arg]) -> Result<()> {
        if args.len() != self.list.len() {
            return Err(Error::invalid(format!("takes {} arguments, got {}", self.list.len(), args.len())));
        }
        let mut last_variable = 0;
        let mut sorted = true;
        for (i, (input, arg)) in self.list.iter().zip(args).enumerate() {
            match arg {
                Arg::Tensor(t) if !input.variable => {
                    let fits = match &input.exact {
                        Some(dims) => dims.as_slice() == t.dims(),
                        None => input.ty.shape().compatible(&Shape::known(t.dims())),
                    };
                    if !fits || t.dtype() != input.dtype {
                        return Err(self.mismatch(i, arg));
                    }
                }
                Arg::Variable(v) if input.variable => {
                    if v.dtype() != input.dtype || !v.shape().compatible(input.ty.shape()) {
                        return Err(self.mismatch(i, arg));
                    }
                    sorted &= v.id() > last_variable;
                    last_variable = v.id();
                }
                _ => return Err(self.mismatch(i, arg)),
            }
        }
        if !sorted {
            self.check_distinct(args)?;
        }
        if self.is_static { Ok(()) } else { self.check_symbols(args) }
    }

    fn check_distinct(&self, args: &[Arg]) -> Result<()> {
        let mut ids: Vec<(u64, usize)> =
            args.iter().enumerate().filter_map(|(i, a)| Some((a.variable()?.id(), i))).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(()),
            Some(pair) => Err(Error::invalid(format!("is the same variable as {}", self.label(pair[0].1)))
                .argument(self.label(pair[1].1))),
        }
    }

    fn check_symbols(&self, args: &[Arg]) -> Result<()> {
        let mut bound: SmallVec<[(Symbol, usize, usize); 8]> = SmallVec::new();
        for (i, (input, arg)) in self.list.iter().zip(args).enumerate() {
            let (Some(tensor), Some(dims)) = (arg.tensor(), input.ty.shape().dims()) else { continue };
            for (axis, (dim, &size)) in dims.iter().zip(tensor.dims()).enumerate() {
                let Dim::Sym(symbol) = *dim else { continue };
                match bound.iter().find(|b| b.0 == symbol) {
                    None => bound.push((symbol, size, i)),
                    Some(&(_, due, _)) if due == size => {}
                    Some(&(_, due, first)) => {
                        return Err(Error::invalid(format!(
                            "has size {size} in dimension {axis}, which must be equal to the {due} of argument '{}'",
                            self.label(first)
                        ))
                        .argument(self.label(i)));
                    }
                }
            }
        }
        Ok(())
    }

    /// The name of an input, or its position.
    fn label(&self, index: usize) -> String {
        self.list[index].name.as_ref().map_or_else(|| format!("#{index}"), |n| n.to_string())
    }

    #[cold]
    fn mismatch(&self, index: usize, arg: &Arg) -> Error {
        let input = &self.list[index];
        let message = format!("expected {}, got {}", input.ty, arg.ty());
        let error = if arg.ty().dtype() == input.dtype { Error::invalid(message) } else { Error::dtype(message) };
        error.argument(self.label(index))
    }
}
