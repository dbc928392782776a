//! Filters and images as the library has them, and copies there and back.

use std::sync::Arc;

use penstock_data::Result;
use penstock_ir::CopyDim;
use penstock_kernels::conv::{Axis, Geometry};

use super::super::copy::{copy, zero};
use super::super::table;
use crate::memory::Memory;
use crate::opened::Opened;

/// How the library, whose padding is the same on both sides, takes one dimension of the images.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    /// What the library pads with on either side.
    pub(super) pad: usize,
    /// The extent of the images that it is given,
    pub(super) input: usize,
    /// in which the images begin here.
    before: usize,
}

impl Fit {
    /// `None` where no padding gives the extent of the result.
    pub(super) fn of(a: &Axis) -> Option<Fit> {
        let span = (a.window - 1) * a.dilation + 1;
        let output = |padded: usize| padded.checked_sub(span).map(|rest| rest / a.stride + 1);
        if output(a.input + 2 * a.before) == Some(a.output) {
            return Some(Fit { pad: a.before, input: a.input, before: 0 });
        }
        // The images are padded before.
        let input = (a.before + a.input).max((a.output - 1) * a.stride + span);
        (output(input) == Some(a.output)).then_some(Fit { pad: 0, input, before: a.before })
    }
}

/// The first spatial dimension that the library is given: it takes two, or three.
pub(super) fn spatial(g: &Geometry) -> usize {
    usize::from(g.axes[0] == Axis::NONE)
}

/// A filter, whose results come last here, and first in the library.
pub(super) struct Filter {
    /// Elements of the window and channels,
    rows: usize,
    /// and results.
    columns: usize,
    size: usize,
}

impl Filter {
    pub(super) fn new(g: &Geometry, size: usize) -> Filter {
        let window: usize = g.axes.iter().map(|a| a.window).product();
        Filter { rows: window * g.in_channels, columns: g.groups * g.out_channels, size }
    }

    pub(super) fn room(&self, device: &Arc<Opened>) -> Result<Memory> {
        table(device, self.rows * self.columns, self.size)
    }

    /// # Safety
    /// The address is of the filter's memory.
    pub(super) unsafe fn turned(&self, device: &Arc<Opened>, from: u64) -> Result<Memory> {
        let to = self.room(device)?;
        // SAFETY: both have as many elements.
        unsafe { transpose(device, self.size, to.address, from, [self.rows, self.columns]) }?;
        Ok(to)
    }

    /// # Safety
    /// The addresses are of memory for the filter.
    pub(super) unsafe fn turn_back(&self, device: &Arc<Opened>, from: u64, to: u64) -> Result<()> {
        // SAFETY: both have as many elements.
        unsafe { transpose(device, self.size, to, from, [self.columns, self.rows]) }
    }
}

/// Queues the transposition of a matrix.
///
/// # Safety
/// Both addresses are of memory of this device for the matrix.
unsafe fn transpose(device: &Arc<Opened>, size: usize, to: u64, from: u64, [rows, columns]: [usize; 2]) -> Result<()> {
    let len = rows * columns;
    let dims = [
        CopyDim { extent: rows, from: columns as isize, to: 1 },
        CopyDim { extent: columns, from: 1, to: rows as isize },
    ];
    // SAFETY: the caller's promise; the copy stays within.
    unsafe { copy(device, size, to, len, from, len, &dims, (0, 0)) }
}

/// Images, and those that the library is given, which may be padded.
pub(super) struct Images {
    /// Extents of the images and of the padded ones, and where the images begin in them.
    dims: [usize; 5],
    padded: [usize; 5],
    before: [usize; 5],
    size: usize,
}

impl Images {
    pub(super) fn new(g: &Geometry, size: usize, fits: &[Fit]) -> Images {
        let all = |pixels: [usize; 3]| [g.batch, pixels[0], pixels[1], pixels[2], g.groups * g.in_channels];
        let dims = all(g.axes.map(|a| a.input));
        let (mut padded, mut before) = (dims, [0; 5]);
        let first = 1 + spatial(g);
        for (i, fit) in fits.iter().enumerate() {
            (padded[first + i], before[first + i]) = (fit.input, fit.before);
        }
        Images { dims, padded, before, size }
    }

    /// Memory for padded images; `None` where they are the images.
    pub(super) fn room(&self, device: &Arc<Opened>) -> Result<Option<Memory>> {
        if self.dims == self.padded {
            return Ok(None);
        }
        table(device, self.padded.iter().product(), self.size).map(Some)
    }

    /// Padded images; `None` where they are the images.
    ///
    /// # Safety
    /// The address is of the images' memory.
    pub(super) unsafe fn padded(&self, device: &Arc<Opened>, from: u64) -> Result<Option<Memory>> {
        let Some(to) = self.room(device)? else { return Ok(None) };
        let len: usize = self.padded.iter().product();
        // SAFETY: the memory has as many bytes, and the images lie within the padded ones.
        unsafe {
            zero(device, to.address, len * self.size)?;
            let dims = self.box_of(|own, padded| (own, padded));
            let own = self.dims.iter().product();
            copy(device, self.size, to.address, len, from, own, &dims, (0, self.start()))?;
        }
        Ok(Some(to))
    }

    /// Queues the copy of the images out of padded ones.
    ///
    /// # Safety
    /// The addresses are of memory for padded images, and for the images.
    pub(super) unsafe fn cut(&self, device: &Arc<Opened>, from: u64, to: u64) -> Result<()> {
        let dims = self.box_of(|own, padded| (padded, own));
        let (len, own) = (self.padded.iter().product(), self.dims.iter().product());
        // SAFETY: the images lie within the padded ones.
        unsafe { copy(device, self.size, to, own, from, len, &dims, (self.start(), 0)) }
    }

    /// The images as a box, with steps from those in the images and in the padded ones.
    fn box_of(&self, sides: fn(usize, usize) -> (usize, usize)) -> [CopyDim; 5] {
        let (own, padded) = (steps(&self.dims), steps(&self.padded));
        std::array::from_fn(|i| {
            let (from, to) = sides(own[i], padded[i]);
            CopyDim { extent: self.dims[i], from: from as isize, to: to as isize }
        })
    }

    /// The element of the padded images at which the images begin.
    fn start(&self) -> usize {
        self.before.iter().zip(steps(&self.padded)).map(|(at, step)| at * step).sum()
    }
}

/// Elements from one entry of each dimension to the next.
fn steps(dims: &[usize; 5]) -> [usize; 5] {
    let mut out = [1; 5];
    for i in (0..4).rev() {
        out[i] = out[i + 1] * dims[i + 1];
    }
    out
}
