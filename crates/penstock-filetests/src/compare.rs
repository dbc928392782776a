//! When two functions, or two results, are the same.

use penstock_data::{Tensor, with_dtype};
use penstock_ir::{Attr, Function, Verified};
use rustc_hash::FxHashSet;

/// Whether both functions have the same text form and the same graphs, callees included.
///
/// Unlike equality of graphs, this looks into callees instead of asking whether they are the same
/// object, and a NaN attribute equals itself. Host code is the same where its name is.
pub fn same_function(a: &Function, b: &Function) -> bool {
    Comparison::default().functions(a, b)
}

#[derive(Default)]
struct Comparison {
    /// The pairs that are being compared, or are the same: a function may call itself.
    met: FxHashSet<(*const Function, *const Function)>,
}

impl Comparison {
    fn functions(&mut self, a: &Function, b: &Function) -> bool {
        if !self.met.insert((a, b)) {
            return true;
        }
        a.name() == b.name()
            && a.signature() == b.signature()
            && match (a.graph(), b.graph()) {
                (Some(a), Some(b)) => self.graphs(a, b),
                (a, b) => a.is_none() && b.is_none(),
            }
    }

    fn graphs(&mut self, a: &Verified, b: &Verified) -> bool {
        a.values == b.values
            && a.regions == b.regions
            && a.locs == b.locs
            && a.names == b.names
            && a.insts.len() == b.insts.len()
            && a.insts.iter().zip(b.insts.iter()).all(|((_, a), (_, b))| {
                a.op == b.op
                    && a.operands == b.operands
                    && a.regions == b.regions
                    && a.results == b.results
                    && a.attrs.0.len() == b.attrs.0.len()
                    && a.attrs.0.iter().zip(&b.attrs.0).all(|(a, b)| self.attrs(a, b))
            })
    }

    fn attrs(&mut self, a: &Attr, b: &Attr) -> bool {
        match (a, b) {
            (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
            (Attr::Func(a), Attr::Func(b)) => match (a.get(), b.get()) {
                (Ok(a), Ok(b)) => self.functions(&a, &b),
                (a, b) => a.is_err() && b.is_err(),
            },
            (Attr::Host(a), Attr::Host(b)) => a.0.name() == b.0.name(),
            _ => a == b,
        }
    }
}

/// Whether both tensors are the same result: the same bits, but that any NaN is as good as another.
pub fn same_tensor(a: &Tensor, b: &Tensor) -> bool {
    if a == b {
        return true;
    }
    if let (Some(a), Some(b)) = (a.list(), b.list()) {
        let (x, y) = (a.elements(), b.elements());
        let same = |(x, y): (&(usize, &Tensor), &(usize, &Tensor))| x.0 == y.0 && same_tensor(x.1, y.1);
        return a.len() == b.len() && x.len() == y.len() && x.iter().zip(&y).all(same);
    }
    a.dtype() == b.dtype()
        && a.dims() == b.dims()
        && with_dtype!(float, a.dtype().real(), T => {
            // A complex number is two real ones in a row.
            let reals = |t: &Tensor| t.bytes().chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>).collect::<Vec<T>>();
            let same = |(x, y): (&T, &T)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
            reals(a).iter().zip(&reals(b)).all(same)
        }, else false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_data::C64;

    #[test]
    fn nans_are_the_same_and_zeros_are_not() {
        let same = |a: f32, b: f32| {
            let both = same_tensor(&Tensor::from(a), &Tensor::from(b));
            assert_eq!(both, same_tensor(&Tensor::scalar(C64::new(1.0, a)), &Tensor::scalar(C64::new(1.0, b))));
            both
        };
        assert!(same(f32::NAN, -f32::NAN) && same(1.5, 1.5));
        assert!(!same(0.0, -0.0) && !same(f32::NAN, 1.0));
        assert!(!same_tensor(&Tensor::from(1i32), &Tensor::from(2i32)));
        assert!(!same_tensor(&Tensor::from(1i32), &Tensor::vector(&[1i32])));
    }
}
