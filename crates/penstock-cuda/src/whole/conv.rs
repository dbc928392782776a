//! Convolutions and their transposes: by cuDNN where it is installed and takes them, else by products of matrices of patches.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use penstock_data::{DType, Result, Tensor};
use penstock_ir::Convolution;
use penstock_kernels::Reduce;
use penstock_kernels::conv::{Axis, Geometry};
use smallvec::smallvec;

use super::copy::element;
use super::dnn;
use super::product::{BatchDim, Matrices, multiply};
use super::{Operands, Width, fold, launch, table};
use crate::device::CudaMemory;
use crate::faults;
use crate::kernel::Arg;
use crate::memory::Memory;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// A convolution of some of the images.
struct Part<'d> {
    device: &'d Arc<Opened>,
    g: Geometry,
    dtype: DType,
    width: Width,
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn convolution(
    device: &Arc<Opened>,
    kind: Convolution,
    g: &Geometry,
    [a, b]: [&Tensor; 2],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let dtype = a.dtype();
    let sizes = Sizes::new(g);
    let empty = [g.batch, sizes.outputs, sizes.patch, g.out_channels].contains(&0) || dims.contains(&0);
    if empty || storage_type(dtype).is_none() {
        return Ok(None);
    }
    // Patches on the way back are kept in the precision of their sums.
    let patch = match kind {
        Convolution::InputGrad => wide(dtype),
        _ => dtype,
    };
    let image = sizes.outputs * g.groups * sizes.patch;
    let most = device.patch_bytes.load(Ordering::Relaxed);
    let images = (most / (image * patch.size()).max(1)).clamp(1, g.batch);
    let memory = device.allocate(dtype, dims)?;
    let mut operands = Operands::new(device);
    let (a, b) = (operands.address(a)?, operands.address(b)?);
    // SAFETY: the caller's promise: the geometry is that of the tensors, and was found to have elements.
    if !sizes.are_pixels && unsafe { dnn::convolve(device, kind, dtype, g, [memory.address, a, b]) }? {
        return operands.result(dtype, dims, memory).map(Some);
    }
    let patches = if sizes.are_pixels { None } else { Some(table(device, image * images, patch.size())?) };
    let parts = g.batch.div_ceil(images);
    let filter = g.groups * sizes.patch * g.out_channels;
    let sums = if kind == Convolution::FilterGrad && parts > 1 {
        Some(table(device, filter * parts, dtype.size())?)
    } else {
        None
    };
    for part in 0..parts {
        let first = part * images;
        let g = Geometry { batch: images.min(g.batch - first), ..*g };
        let entries = (g.batch * image).max(g.batch * sizes.inputs * g.groups * g.in_channels);
        let of = Part { device, g, dtype, width: Width::of(entries) };
        let at = |start: u64, elements: usize| start + (first * elements * dtype.size()) as u64;
        let x = |start: u64| at(start, sizes.inputs * g.groups * g.in_channels);
        let y = |start: u64| at(start, sizes.outputs * g.groups * g.out_channels);
        // SAFETY: the caller's promise: the geometry is that of the tensors. The patches have room for `images` images.
        unsafe {
            match kind {
                Convolution::Forward => {
                    let rows = of.patches(&patches, x(a))?;
                    multiply(device, &of.forward(&sizes), [y(memory.address), rows, b])?;
                }
                Convolution::FilterGrad => {
                    let rows = of.patches(&patches, x(a))?;
                    let own =
                        sums.as_ref().map_or(memory.address, |s| s.address + (part * filter * dtype.size()) as u64);
                    multiply(device, &of.filter_grad(&sizes), [own, rows, y(b)])?;
                }
                Convolution::InputGrad => {
                    // With one element in each window the patches are the pixels.
                    let rows = patches.as_ref().map_or(x(memory.address), |p| p.address);
                    let stored = if patches.is_some() { patch } else { dtype };
                    multiply(device, &of.input_grad(&sizes, stored), [rows, y(b), a])?;
                    if patches.is_some() {
                        of.unpatch(rows, x(memory.address))?;
                    }
                }
            }
        }
    }
    if let Some(sums) = sums {
        let origins = faults::joined(operands.origins.iter().copied(), None);
        let all = Tensor::on_device(dtype, &[parts, filter], Box::new(CudaMemory { memory: sums, origins }))?;
        // SAFETY: `all` has one row for each part, with the elements of a filter.
        let sum = unsafe { fold::reduce(device, fold::Fold::Of(Reduce::Sum), &all, &[true, false], &[filter]) }?;
        return sum.map(|sum| sum.reshaped(dims)).transpose();
    }
    operands.result(dtype, dims, memory).map(Some)
}

/// The dtype in which a dtype is added up.
fn wide(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::Bf16) { DType::F32 } else { dtype }
}

/// Products of extents.
struct Sizes {
    /// Pixels of an image of the input,
    inputs: usize,
    /// and of the result.
    outputs: usize,
    /// Elements of a group that a window meets.
    patch: usize,
    /// Whether the patches of all pixels are the pixels themselves.
    are_pixels: bool,
}

impl Sizes {
    fn new(g: &Geometry) -> Sizes {
        let product = |of: fn(&Axis) -> usize| g.axes.iter().map(of).product::<usize>();
        let is_one = |a: &Axis| a.window == 1 && a.stride == 1 && a.before == 0 && a.input == a.output;
        Sizes {
            inputs: product(|a| a.input),
            outputs: product(|a| a.output),
            patch: product(|a| a.window) * g.in_channels,
            are_pixels: g.axes.iter().all(is_one),
        }
    }
}

impl Part<'_> {
    /// `y[p, c] = sum patches[p, k] filter[k, c]` of each group.
    fn forward(&self, sizes: &Sizes) -> Matrices {
        let (g, k) = (&self.g, sizes.patch);
        Matrices {
            m: g.batch * sizes.outputs,
            k,
            n: g.out_channels,
            rows: [g.groups * g.out_channels, g.groups * k, g.groups * g.out_channels],
            transposed: [false, false],
            batch: smallvec![BatchDim { extent: g.groups, c: g.out_channels, a: k, b: g.out_channels }],
            dtype: self.dtype,
            out: self.dtype,
        }
    }

    /// `df[k, c] = sum patches[p, k] dy[p, c]` of each group.
    fn filter_grad(&self, sizes: &Sizes) -> Matrices {
        let (g, k) = (&self.g, sizes.patch);
        Matrices {
            m: k,
            k: g.batch * sizes.outputs,
            n: g.out_channels,
            rows: [g.groups * g.out_channels, g.groups * k, g.groups * g.out_channels],
            transposed: [true, false],
            batch: smallvec![BatchDim { extent: g.groups, c: g.out_channels, a: k, b: g.out_channels }],
            dtype: self.dtype,
            out: self.dtype,
        }
    }

    /// `patches[p, k] = sum dy[p, c] filter[k, c]` of each group.
    fn input_grad(&self, sizes: &Sizes, out: DType) -> Matrices {
        let (g, k) = (&self.g, sizes.patch);
        Matrices {
            m: g.batch * sizes.outputs,
            k: g.out_channels,
            n: k,
            rows: [g.groups * k, g.groups * g.out_channels, g.groups * g.out_channels],
            transposed: [false, true],
            batch: smallvec![BatchDim { extent: g.groups, c: k, a: g.out_channels, b: g.out_channels }],
            dtype: self.dtype,
            out,
        }
    }

    /// Where the patches of images are: the images themselves, where there is no memory for others.
    ///
    /// # Safety
    /// The images are memory of this device, and the patches have room for theirs.
    unsafe fn patches(&self, memory: &Option<Memory>, x: u64) -> Result<u64> {
        let Some(memory) = memory else { return Ok(x) };
        let count: usize = self.g.batch * Sizes::new(&self.g).outputs;
        let threads = count * self.g.groups * Sizes::new(&self.g).patch;
        // SAFETY: the caller's promise.
        unsafe { self.run("penstock_patches", [memory.address, x], count, threads, self.dtype.size()) }?;
        Ok(memory.address)
    }

    /// Adds patches to images.
    ///
    /// # Safety
    /// As for [`Part::patches`].
    unsafe fn unpatch(&self, patches: u64, dx: u64) -> Result<()> {
        let count = self.g.batch * Sizes::new(&self.g).inputs * self.g.groups * self.g.in_channels;
        // SAFETY: the caller's promise.
        unsafe { self.run("penstock_unpatch", [dx, patches], self.g.batch, count, wide(self.dtype).size()) }
    }

    /// # Safety
    /// The addresses are those of the kernel's arguments, in memory of this device.
    unsafe fn run(&self, name: &'static str, at: [u64; 2], count: usize, threads: usize, size: usize) -> Result<()> {
        const PACK_BYTES: usize = 16;
        let (stored, computed) = (storage_type(self.dtype).unwrap_or("f32"), compute_type(self.dtype).unwrap_or("f32"));
        let (width, channels) = (self.width, self.g.in_channels);
        // Neighbouring channels that are moved as one.
        let mut pack = PACK_BYTES / size;
        while !channels.is_multiple_of(pack) {
            pack /= 2;
        }
        let function = self.device.function("conv", name, (stored, width.name(), pack), || {
            let (index, own) = (width.name(), include_str!("conv.cuh"));
            let moved = element(self.dtype.size() * pack);
            format!(
                "typedef {index} I;\ntypedef {stored} E;\ntypedef {computed} A;\ntypedef {moved} P;\n#define PACK {pack}\n{own}"
            )
        })?;
        let mut args: Vec<Arg> = at.into_iter().map(Arg::Pointer).collect();
        args.extend([count, self.g.groups, channels / pack].map(|v| width.number(v)));
        let axes = self.g.axes.iter().flat_map(|a| [a.input, a.window, a.output, a.stride, a.dilation, a.before]);
        args.push(width.list(axes.map(|v| v as isize)));
        // SAFETY: the arguments are those of the kernel, of which the last is 18 numbers in a row; the caller's promise. Memory is
        // aligned to more than a pack, and everything in it begins at a multiple of the channels.
        unsafe { launch(self.device, &function, threads / pack, &args) }
    }
}
