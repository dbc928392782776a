//! What operators tell of the elements of results that may be extents, before a graph runs.

use penstock_data::{DType, Dim};
use penstock_ir::{Element, ElementsCx};
use smallvec::{SmallVec, smallvec};

type Elements = Option<SmallVec<[Element; 4]>>;

/// The extents of operand 0.
pub(crate) fn shape(cx: &ElementsCx<'_>) -> Elements {
    Some(cx.inputs[0].shape().dims()?.iter().map(|&d| Element::Extent(d)).collect())
}

/// The outermost extent of operand 0.
pub(crate) fn rows(cx: &ElementsCx<'_>) -> Elements {
    Some(smallvec![Element::Extent(*cx.inputs[0].shape().dims()?.first()?)])
}

/// The same numbers, as far as the dtype of the result has them.
pub(crate) fn cast(cx: &ElementsCx<'_>) -> Elements {
    let (from, to) = (cx.inputs[0].dtype(), cx.result.dtype());
    if !from.is_integer() || !to.is_integer() {
        return None;
    }
    let kept = |element: Element| match element {
        Element::Extent(Dim::Known(n)) if holds(to, n) => element,
        Element::Negative if !to.is_unsigned() && to.size() >= from.size() => element,
        _ => Element::UNKNOWN,
    };
    Some(cx.values.elements(0)?.into_iter().map(kept).collect())
}

/// Whether an integer dtype has the number `n`.
fn holds(dtype: DType, n: usize) -> bool {
    let bits = 8 * dtype.size() as u32 - u32::from(!dtype.is_unsigned());
    n.checked_shr(bits).unwrap_or(0) == 0
}

/// The scalars that are stacked.
pub(crate) fn stack(cx: &ElementsCx<'_>) -> Elements {
    (0..cx.inputs.len()).map(|i| cx.values.elements(i).filter(|e| e.len() == 1).map(|e| e[0])).collect()
}

/// One operand after the other.
pub(crate) fn concat(cx: &ElementsCx<'_>) -> Elements {
    let parts: Option<Vec<_>> = (0..cx.inputs.len()).map(|i| cx.values.elements(i)).collect();
    Some(parts?.into_iter().flatten().collect())
}

/// A slice with positive stride, or a single element, of a vector.
pub(crate) fn strided_slice(cx: &ElementsCx<'_>) -> Elements {
    let elements = cx.values.elements(0)?;
    let [begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask] = [0, 1, 2, 3, 4].map(|i| cx.attrs.int(i));
    if new_axis_mask != 0 || ellipsis_mask != 0 {
        // One number stays one number, in how many dimensions ever.
        return (cx.inputs[0].shape().rank() == Some(0)).then_some(elements);
    }
    let int = |i: usize| match cx.values.constant(i)?.to_ints().ok()?[..] {
        [n] => Some(n),
        _ => None,
    };
    let (begin, end, stride) = (int(1)?, int(2)?, int(3)?);
    let n = elements.len() as i64;
    let clamp = |i: i64| (if i < 0 { i + n } else { i }).clamp(0, n);
    if shrink_mask & 1 == 1 {
        let i = if begin < 0 { begin + n } else { begin };
        return elements.get(usize::try_from(i).ok()?).map(|&e| smallvec![e]);
    }
    if stride < 1 {
        return None;
    }
    let first = if begin_mask & 1 == 1 { 0 } else { clamp(begin) };
    let last = if end_mask & 1 == 1 { n } else { clamp(end) };
    Some((first..last).step_by(stride as usize).map(|i| elements[i as usize]).collect())
}
