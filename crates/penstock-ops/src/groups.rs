//! Rows in groups by index, on a device that works in the host's place.

#![expect(unsafe_code, reason = "asks a device for work on tensors; each contract is checked before")]

use penstock_data::{DType, DTypeSet, Dims, Result, Tensor, memory, num_elements};
use penstock_ir::{ByPlace, Call, DeviceKernels, Selection};
use penstock_kernels::segment::Empty;
use penstock_kernels::sort::{Direction, Rows, Side};
use penstock_kernels::{Binary, Reduce};
use smallvec::SmallVec;

use crate::moves;

/// The least and the greatest of integers, found by the device that they lie on, so that two numbers are copied instead of all; `None`
/// where they are at hand, or where the device has no kernel for it.
fn extremes(device: &dyn DeviceKernels, x: &Tensor) -> Result<Option<(i64, i64)>> {
    let Some([least, greatest]) = bounds(device, x)? else { return Ok(None) };
    Ok(least.to_ints()?.first().copied().zip(greatest.to_ints()?.first().copied()))
}

/// As [`extremes`], as scalars on the host.
pub(crate) fn bounds(device: &dyn DeviceKernels, x: &Tensor) -> Result<Option<[Tensor; 2]>> {
    if x.is_at_hand() || x.is_empty() {
        return Ok(None);
    }
    let marked: SmallVec<[bool; 4]> = SmallVec::from_elem(true, x.rank());
    // SAFETY: all dimensions are marked, and the result is a scalar.
    let (least, greatest) =
        unsafe { (device.reduce(Reduce::Min, x, &marked, &[])?, device.reduce(Reduce::Max, x, &marked, &[])?) };
    let (Some(least), Some(greatest)) = (least, greatest) else { return Ok(None) };
    Ok(Some([least.on_host()?, greatest.on_host()?]))
}

/// As [`moves::first_outside`], where a device works in the host's place: indices that lie there are copied only where one is outside.
pub(crate) fn first_outside(device: &dyn DeviceKernels, indices: &Tensor, n: usize) -> Result<Option<usize>> {
    let inside = |(least, greatest): (i64, i64)| least >= 0 && greatest < n as i64;
    if extremes(device, indices)?.is_some_and(inside) { Ok(None) } else { Ok(moves::first_outside(indices, n)) }
}

/// As many ids are sorted by the device.
const MANY_IDS: usize = 1 << 12;

/// The groups of rows that ids below `n` name, as [`DeviceKernels::reduce_groups`] takes them, sorted by the device; `None` where it has
/// no kernels for it, and of a few. Negative ids name none; none is too great.
///
/// # Errors
/// Those of the device.
fn sorted(device: &dyn DeviceKernels, ids: &Tensor, n: usize) -> Result<Option<[Tensor; 2]>> {
    let Some([sorted, rows]) = in_order(device, ids)? else { return Ok(None) };
    Ok(offsets(device, &sorted, n)?.map(|offsets| [offsets, rows]))
}

/// Where each of `n` segments begins in ids that ascend, and where the last one ends, `int32`; `None` where the device has no kernels for it.
fn offsets(device: &dyn DeviceKernels, ids: &Tensor, n: usize) -> Result<Option<Tensor>> {
    let dtype = ids.dtype();
    let number = |v: i64| if dtype == DType::I32 { Tensor::from(v as i32) } else { Tensor::from(v) };
    let from_0 = ByPlace::Range { start: &number(0), step: &number(1) };
    // SAFETY: both are one element of the dtype.
    let Some(groups) = unsafe { device.by_place(&from_0, dtype, &[n + 1]) }? else { return Ok(None) };
    // SAFETY: all ids are one row, which ascends.
    unsafe { device.search(Side::Left, ids, ids.len(), &groups, DType::I32) }
}

/// Has the device reduce the rows of `x` by segments whose ids ascend, where one works in the host's place and has kernels for it.
///
/// # Errors
/// Those of the device. What is wrong with ids is left to the host.
pub(crate) fn segments_by_device(call: &mut Call<'_>, how: (Reduce, Empty), x: &Tensor, ids: &Tensor) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    if ids.is_empty() || x.is_empty() || !DTypeSet::INDEX.contains(ids.dtype()) {
        return Ok(false);
    }
    // SAFETY: it relies on nothing but the tensor.
    let Some((None, last)) = unsafe { device.descent(ids) }? else { return Ok(false) };
    let Some(n) = usize::try_from(last).ok().and_then(|last| last.checked_add(1)) else { return Ok(false) };
    if !fit(ids.len(), 1, n) {
        return Ok(false);
    }
    let Some(offsets) = offsets(device, ids, n)? else { return Ok(false) };
    let row = x.len() / ids.len();
    let dims: Dims = std::iter::once(n).chain(x.dims()[1..].iter().copied()).collect();
    assert_eq!(x.dims().first(), Some(&ids.len()));
    // SAFETY: there is an id for each row of `x`, and the offsets are those of the segments of ids that ascend from 0 on.
    let made = unsafe { device.reduce_segments(how, x, &offsets, [n, row], &dims) }?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// Ids in ascending order, equal ones in theirs, and where each of them was, sorted by the device; `None` where it has no kernels for it, and
/// of a few.
///
/// # Errors
/// Those of the device.
fn in_order(device: &dyn DeviceKernels, ids: &Tensor) -> Result<Option<[Tensor; 2]>> {
    let count = ids.len();
    if !DTypeSet::INDEX.contains(ids.dtype()) || count < MANY_IDS {
        return Ok(None);
    }
    let order = Selection {
        rows: Rows { outer: 1, n: count, inner: 1 },
        k: count,
        direction: Direction::Ascending,
        nan_first: false,
        elements: true,
        positions: Some(DType::I32),
    };
    // SAFETY: the ids are one row, and the results have an element for each of them.
    let Some(sorted) = unsafe { device.select(&order, ids, &[count]) }? else { return Ok(None) };
    Ok(match &sorted[..] {
        [sorted, rows] => Some([sorted.clone(), rows.clone()]),
        _ => None,
    })
}

/// As [`in_order`], by the host.
fn in_order_of_host(ids: &Tensor) -> Result<[Tensor; 2]> {
    let ints = ids.to_ints()?;
    let mut rows: Vec<i32> = memory::collected((0..ints.len()).map(|i| i as i32))?;
    rows.sort_by_key(|&i| ints[i as usize]);
    let sorted: Vec<i64> = memory::collected(rows.iter().map(|&i| ints[i as usize]))?;
    Ok([Tensor::vector(&sorted), Tensor::vector(&rows)])
}

/// Has the device make result 0 `x`, which is `n` rows, with those of `updates` combined into the rows that indices name, in order, where one
/// works in the host's place and has a kernel for it: by `op`, or by overwriting where that is none.
///
/// # Errors
/// `Err(Ok(position))` for the first index outside of `0..n`; `Err(Err(_))`: those of the device.
pub(crate) fn updated_by_device(
    call: &mut Call<'_>,
    op: Option<Binary>,
    x: &Tensor,
    updates: &Tensor,
    indices: &Tensor,
    n: usize,
) -> Result<bool, Result<usize>> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    if let Some(position) = first_outside(device, indices, n).map_err(Err)? {
        return Err(Ok(position));
    }
    if updates.is_empty() {
        call.set(0, x.clone());
        return Ok(true);
    }
    if !fit(indices.len(), 1, n) {
        return Ok(false);
    }
    let order = match in_order(device, indices).map_err(Err)? {
        Some(order) => order,
        None => in_order_of_host(indices).map_err(Err)?,
    };
    let width = updates.len() / indices.len();
    assert!(updates.len() == indices.len() * width && x.len() == n * width && x.dtype() == updates.dtype());
    // SAFETY: `x` is rows of `width` elements, as many as the indices, which were checked, are below; there is an update for each.
    let made = unsafe { device.update_rows(op, x, updates, [&order[0], &order[1]], width) }.map_err(Err)?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// As [`sorted`], by the host, of `batch` rows of ids.
fn of_rows(segments: &Tensor, batch: usize, n: usize) -> Result<[Tensor; 2]> {
    let ids = segments.to_ints()?;
    let (total, count) = (ids.len(), ids.len() / batch);
    let group = |i: usize| usize::try_from(ids[i]).ok().map(|id| i / count * n + id);
    let mut offsets: Vec<i32> = memory::collected((0..=batch * n).map(|_| 0))?;
    (0..total).filter_map(group).for_each(|g| offsets[g + 1] += 1);
    for g in 1..offsets.len() {
        offsets[g] += offsets[g - 1];
    }
    let mut next: Vec<i32> = memory::collected(offsets.iter().copied())?;
    let mut rows: Vec<i32> = memory::collected((0..total).map(|_| 0))?;
    for i in 0..total {
        if let Some(g) = group(i) {
            rows[next[g] as usize] = (i % count) as i32;
            next[g] += 1;
        }
    }
    Ok([Tensor::vector(&offsets), Tensor::vector(&rows)])
}

/// The groups of rows that checked ids name, of each of `batch` rows of ids: sorted by the device where they are many, else by the host.
fn of_ids(device: &dyn DeviceKernels, ids: &Tensor, batch: usize, n: usize) -> Result<[Tensor; 2]> {
    if batch == 1
        && let Some(groups) = sorted(device, ids, n)?
    {
        return Ok(groups);
    }
    of_rows(ids, batch, n)
}

/// Whether as many ids and groups have places of 32 bits.
fn fit(ids: usize, batch: usize, n: usize) -> bool {
    let most = i32::MAX as usize;
    ids <= most && batch.checked_mul(n).is_some_and(|groups| groups < most)
}

/// As [`segment_reduce`](crate::moves::segment_reduce), by the device that works in the host's place; whether it has kernels for it.
///
/// # Errors
/// As there.
pub(crate) fn by_device(
    call: &mut Call<'_>,
    (op, empty): (Reduce, Empty),
    x: &Tensor,
    segments: &Tensor,
    [batch, outer, n, width]: [usize; 4],
    dims: &[usize],
) -> Result<bool, Result<usize>> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // Single elements are joined side by side on the host.
    let plain = matches!((op, empty), (Reduce::Sum | Reduce::Mean, Empty::Zero) | (Reduce::Prod, Empty::One));
    if !plain || width < 2 || batch == 0 || !fit(segments.len(), batch, n) {
        return Ok(false);
    }
    let is_below = extremes(device, segments).map_err(Err)?.is_some_and(|(_, greatest)| greatest < n as i64);
    if !is_below && let Some(position) = segments.to_ints().map_err(Err)?.iter().position(|&id| id >= n as i64) {
        return Err(Ok(position));
    }
    let count = segments.len() / batch;
    let groups = of_ids(device, segments, batch, n).map_err(Err)?;
    assert_eq!(x.len(), batch * outer * count * width);
    assert_eq!(num_elements(dims), Some(batch * outer * n * width));
    // SAFETY: each block of `x` has `count` rows, and the groups name rows below `count`. The result has one row for each group.
    let made = unsafe { device.reduce_groups(op, x, [&groups[0], &groups[1]], [batch, outer, n, width], dims) };
    let made = made.map_err(Err)?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// Has the device make result 0 zeros, to whose rows those of `updates` are added in order, where one works in the host's place and has a
/// kernel that gives the host's bits. There are `outer` blocks of `n` rows of `width` elements, and as many rows of indices, each for an
/// update.
///
/// # Errors
/// `Err(Ok(position))` for the first index outside of `0..n`; `Err(Err(_))`: those of the device.
pub(crate) fn sums_by_device(
    call: &mut Call<'_>,
    updates: &Tensor,
    indices: &Tensor,
    [outer, n, width]: [usize; 3],
    dims: &[usize],
) -> Result<bool, Result<usize>> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // Floats of 16 bits are rounded after each addition on the host.
    let is_exact = updates.dtype().is_integer() || updates.dtype().size() >= 4;
    if !is_exact || outer == 0 || updates.is_empty() || !fit(indices.len(), outer, n) {
        return Ok(false);
    }
    if let Some(position) = first_outside(device, indices, n).map_err(Err)? {
        return Err(Ok(position));
    }
    let groups = of_ids(device, indices, outer, n).map_err(Err)?;
    assert_eq!(updates.len(), indices.len() * width);
    assert_eq!(num_elements(dims), Some(outer * n * width));
    // SAFETY: each block of updates has a row for each of its indices, which the groups name. The result has a row for each group.
    let made =
        unsafe { device.reduce_groups(Reduce::Sum, updates, [&groups[0], &groups[1]], [outer, 1, n, width], dims) };
    Ok(made.map_err(Err)?.map(|tensor| call.set(0, tensor)).is_some())
}
