//! How the operands of an elementwise kernel lie in memory.

use penstock_data::{Dims, Error, Result, num_elements};
use smallvec::SmallVec;

/// Where an input's element for result `i` is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// At `i`: the input has the shape of the results.
    Linear,
    /// At 0: the input has one element.
    Fixed,
    /// In the arguments: the input has one element, which the host knows.
    Value,
    /// At the sum of coordinate times stride over the dimensions of the [`Layout`].
    Strided(Dims),
}

/// The index space of an elementwise kernel, with adjacent dimensions merged wherever every operand
/// steps through them as through one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The number of elements of each result.
    pub len: usize,
    /// The merged extents, outermost first.
    pub dims: Dims,
    /// Where the elements of each input are.
    pub inputs: SmallVec<[Access; 4]>,
    /// The columns, where there are sums over rows.
    pub columns: Option<usize>,
}

impl Layout {
    /// The layout of dense row-major results of extents `out` from dense row-major inputs that
    /// broadcast to them.
    ///
    /// # Errors
    /// `InvalidArgument` where an input does not broadcast to `out`, or `out` has too many elements to count.
    pub fn new(out: &[usize], inputs: &[&[usize]]) -> Result<Layout> {
        let len =
            num_elements(out).ok_or_else(|| Error::exhausted(format!("shape {out:?} is too large to address")))?;
        let strides: SmallVec<[Dims; 4]> =
            inputs.iter().map(|dims| broadcast_strides(out, dims)).collect::<Result<_>>()?;
        let (dims, strides) = merge(out, strides);
        let dense = dense_strides(&dims);
        let inputs = strides
            .into_iter()
            .map(|s| {
                if s == dense {
                    Access::Linear
                } else if s.iter().all(|&s| s == 0) {
                    Access::Fixed
                } else {
                    Access::Strided(s)
                }
            })
            .collect();
        Ok(Layout { len, dims, inputs, columns: None })
    }

    /// Has the kernel get an input of one element as an argument.
    pub fn pass_value(&mut self, input: usize) {
        if self.inputs[input] == Access::Fixed || self.len == 1 {
            self.inputs[input] = Access::Value;
        }
    }

    /// Whether some input needs index arithmetic.
    pub fn is_strided(&self) -> bool {
        self.inputs.iter().any(|a| matches!(a, Access::Strided(_)))
    }
}

fn dense_strides(dims: &[usize]) -> Dims {
    let mut strides: Dims = dims.into();
    let mut step = 1;
    for (stride, &extent) in strides.iter_mut().zip(dims).rev() {
        *stride = step;
        step *= extent;
    }
    strides
}

/// The strides of a dense tensor over the dimensions that it broadcasts to: 0 where it has one element.
fn broadcast_strides(out: &[usize], dims: &[usize]) -> Result<Dims> {
    let mismatch = || Error::invalid(format!("shape {dims:?} does not broadcast to {out:?}"));
    let lead = out.len().checked_sub(dims.len()).ok_or_else(mismatch)?;
    if out[lead..].iter().zip(dims).any(|(&o, &d)| d != o && d != 1) {
        return Err(mismatch());
    }
    let mut strides: Dims = std::iter::repeat_n(0, lead).collect();
    strides.extend(dense_strides(dims).iter().zip(dims).map(|(&s, &d)| if d == 1 { 0 } else { s }));
    Ok(strides)
}

/// Drops dimensions of one element, and merges each dimension into the next inner one where every
/// operand's outer stride is its inner stride times the inner extent.
fn merge(out: &[usize], strides: SmallVec<[Dims; 4]>) -> (Dims, SmallVec<[Dims; 4]>) {
    let mut dims = Dims::new();
    let mut merged: SmallVec<[Dims; 4]> = strides.iter().map(|_| Dims::new()).collect();
    for (axis, &extent) in out.iter().enumerate().rev() {
        if extent == 1 {
            continue;
        }
        let joins = dims.last().is_some_and(|&inner: &usize| {
            strides.iter().zip(&merged).all(|(s, m)| m.last().is_some_and(|&step| s[axis] == step * inner))
        });
        if joins {
            if let Some(inner) = dims.last_mut() {
                *inner *= extent;
            }
        } else {
            dims.push(extent);
            merged.iter_mut().zip(&strides).for_each(|(m, s)| m.push(s[axis]));
        }
    }
    dims.reverse();
    merged.iter_mut().for_each(|m| m.reverse());
    (dims, merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(out: &[usize], inputs: &[&[usize]]) -> Layout {
        Layout::new(out, inputs).unwrap()
    }

    #[test]
    fn operands_of_one_shape_are_one_dimension() {
        let l = layout(&[2, 3, 4], &[&[2, 3, 4], &[], &[1, 1, 1]]);
        assert_eq!((l.len, l.dims.as_slice()), (24, &[24][..]));
        assert_eq!(l.inputs.as_slice(), [Access::Linear, Access::Fixed, Access::Fixed]);
    }

    #[test]
    fn a_bias_is_strided_over_two_dimensions() {
        let l = layout(&[2, 3, 4], &[&[2, 3, 4], &[4]]);
        assert_eq!(l.dims.as_slice(), [6, 4]);
        assert_eq!(l.inputs.as_slice(), [Access::Linear, Access::Strided([0, 1].as_slice().into())]);
    }

    #[test]
    fn inner_and_outer_broadcasts_keep_their_dimensions() {
        let l = layout(&[5, 2, 3, 4], &[&[5, 1, 3, 1], &[2, 3, 4]]);
        assert_eq!(l.dims.as_slice(), [5, 2, 3, 4]);
        assert_eq!(
            l.inputs.as_slice(),
            [Access::Strided([3, 0, 1, 0].as_slice().into()), Access::Strided([0, 12, 4, 1].as_slice().into())]
        );
    }

    #[test]
    fn scalars_and_empty_shapes_have_layouts() {
        let l = layout(&[], &[&[]]);
        assert_eq!((l.len, l.dims.len()), (1, 0));
        assert!(!l.is_strided());
        assert_eq!(layout(&[0, 3], &[&[0, 3], &[3]]).len, 0);
    }

    #[test]
    fn shapes_that_do_not_broadcast_are_errors() {
        assert!(Layout::new(&[2], &[&[3]]).is_err());
        assert!(Layout::new(&[2], &[&[1, 2]]).is_err());
        assert!(Layout::new(&[usize::MAX, 3], &[]).is_err());
    }
}
