//! From drafts to a pipeline: which rows each stage makes, where values are, and how many rows make a block.

use std::ops::Range;

use penstock_data::{DType, Dims};
use penstock_ir::Value;
use penstock_kernels::cost::second_level_cache;
use smallvec::SmallVec;

use super::draft::{Drafts, Reach, Rows};
use super::{Head, Made, Partition, Pipeline, ROWS, Slot, Span, Stage};
use crate::work::is_heavy;

impl Span {
    /// How many more rows there are than coordinates.
    fn halo(&self) -> usize {
        (self.after - self.before) as usize
    }
}

/// Which rows stages make, and all coordinates. `leaves` says of each value whether it leaves the pipeline.
fn spans(drafts: &Drafts<'_>, leaves: &[bool]) -> Option<(Vec<Span>, Range<isize>)> {
    let join =
        |span: Option<Reach>, other: Reach| span.map_or(other, |span| (span.0.min(other.0), span.1.max(other.1)));
    let mut reaches: Vec<Option<Reach>> = vec![None; drafts.list.len()];
    let mut origins = vec![0; drafts.list.len()];
    let mut all: Option<Range<isize>> = None;
    // From the last stage to the first: rows that leave, and rows that others read.
    for (number, draft) in drafts.list.iter().enumerate().rev() {
        if draft.whole || draft.outs.clone().any(|i| leaves[i]) {
            let origin = reaches[number].map_or(draft.origin, |(before, _)| -before);
            origins[number] = origin;
            reaches[number] = Some(join(reaches[number], (-origin, -origin)));
            let own = origin..origin + draft.rows as isize;
            all = Some(all.map_or(own.clone(), |all| all.start.min(own.start)..all.end.max(own.end)));
        }
        let (before, after) = reaches[number]?;
        for &(i, (low, high)) in &draft.reads {
            if let Some(producer) = drafts.own[i].stage {
                reaches[producer] = Some(join(reaches[producer], (before + low, after + high)));
            }
        }
    }
    let spans = drafts.list.iter().zip(reaches).zip(origins).map(|((draft, reach), origin)| {
        let (before, after) = reach?;
        Some(Span { before, after, extent: draft.rows as isize, origin })
    });
    Some((spans.collect::<Option<_>>()?, all?))
}

/// Where values are, the slots, and the values that leave. A value of which rows are kept from block to block has a slot of its own;
/// others share slots where they are not needed at once.
fn places(drafts: &Drafts<'_>, leaves: &[bool], spans: &[Span]) -> (Vec<Made>, Vec<Slot>, Vec<Value>) {
    let mut last: Vec<usize> = drafts.own.iter().map(|own| own.stage.unwrap_or(0)).collect();
    for (number, draft) in drafts.list.iter().enumerate() {
        draft.reads.iter().for_each(|&(i, _)| last[i] = number);
    }
    let (mut made, mut slots, mut outs): (Vec<Made>, Vec<Slot>, Vec<Value>) = Default::default();
    // Of each slot, the last stage that reads what is there; `None` where rows are kept.
    let mut taken: Vec<Option<usize>> = Vec::new();
    for (i, own) in drafts.own.iter().enumerate() {
        let halo = own.stage.map_or(0, |stage| spans[stage].halo());
        let out = leaves[i].then(|| {
            outs.push(own.value);
            outs.len() - 1
        });
        let slot = ((halo > 0 || out.is_none()) && own.stage.is_some()).then(|| {
            let now = own.stage.unwrap_or(0);
            // The free slot whose rows are nearest in size.
            let free = (0..slots.len()).filter(|&slot| halo == 0 && taken[slot].is_some_and(|last| last < now));
            let slot = free.min_by_key(|&slot| slots[slot].row.abs_diff(own.row)).unwrap_or_else(|| {
                slots.push(Slot { row: 0, halo });
                taken.push(None);
                slots.len() - 1
            });
            slots[slot].row = slots[slot].row.max(own.row);
            taken[slot] = (halo == 0).then_some(last[i]);
            slot
        });
        made.push(Made { row: own.row, slot, out });
    }
    (made, slots, outs)
}

/// The pipeline of all drafts, whose values leave it as `leaves` says, and the values that leave; `None` where it would not pay.
pub(super) fn pipeline(mut drafts: Drafts<'_>, head: Option<Head>, leaves: &[bool]) -> Option<(Pipeline, Vec<Value>)> {
    let least = drafts.least();
    let (spans, span) = spans(&drafts, leaves)?;
    let (made, slots, outs) = places(&drafts, leaves, &spans);
    let (stages, ns) = drafts.stages()?;
    let ns = ns + head.as_ref().map_or(0.0, Head::nanoseconds);
    let multipliers: SmallVec<[usize; 4]> = stages.iter().filter_map(Stage::multiplier).collect();
    let has_products = stages.iter().any(|stage| stage.matrix_bytes().is_some());
    let graph = drafts.graph;
    let type_of = |v: &Value| Some((graph.ty(*v).dtype(), graph.ty(*v).shape().extents()?));
    let due: Vec<(DType, Dims)> = drafts.ins.iter().map(type_of).collect::<Option<_>>()?;
    let types: Vec<(DType, Dims)> = outs.iter().map(type_of).collect::<Option<_>>()?;
    // The bytes of a row that a block goes through: what is kept of it, and what passes through the cache.
    let of_rows = |(dtype, dims): &&(DType, Dims)| match drafts.rows {
        Rows::Outermost => !dims.is_empty(),
        Rows::Count { rows, .. } => dims.iter().product::<usize>() >= rows && dtype.size() > 0,
    };
    let whole = |(i, _): &(usize, &(DType, Dims))| multipliers.contains(i);
    let read = due.iter().enumerate().filter(|d| !whole(d)).map(|d| d.1).filter(of_rows);
    let bytes = |(dtype, dims): &(DType, Dims)| dims.iter().product::<usize>() * dtype.size() / span.len().max(1);
    let streams: usize = read.chain(&types).map(bytes).sum();
    let kept: usize = slots.iter().map(|slot| slot.row).sum();
    let halos: usize = slots.iter().map(|slot| slot.row * slot.halo).sum();
    let halo = spans.iter().map(Span::halo).max().unwrap_or(0);
    let block_bytes = least.block_bytes.min(second_level_cache() / 2);
    let fits = block_bytes.saturating_sub(halos) / (streams / 2 + kept).max(1);
    // Images that no cache holds are better off one layer after the other, each shared among the threads.
    if fits == 0 && stages.iter().any(Stage::has_images) {
        return None;
    }
    let unit = if has_products || head.is_some() { ROWS } else { 1 };
    let grain = least.grain(ns / span.len() as f64).max(least.chunk_halo * halo);
    let (partition, most) = match drafts.rows {
        _ if head.is_some() => (Partition::Pixels, span.len()),
        Rows::Count { rows, unit } if unit < rows => (Partition::Matrices(unit), unit),
        _ if has_products => (Partition::Chunks { grain: grain.max(least.block_rows), unit }, span.len()),
        _ => (Partition::Chunks { grain, unit }, span.len()),
    };
    let fits = if has_products { fits.max(least.block_rows) } else { fits };
    let block = fits.max(halo).max(1).next_multiple_of(unit).min(most.next_multiple_of(unit));
    let step = Pipeline {
        head,
        stages,
        spans,
        made,
        slots,
        ins: SmallVec::new(),
        outs: SmallVec::new(),
        due,
        types,
        span,
        block,
        partition,
        nanoseconds: ns as u64,
        piece_ns: least.pipeline_piece_ns,
        heavy: is_heavy(1, ns, least.heavy_ns),
    };
    Some((step, outs))
}
