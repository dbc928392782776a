//! Convolutions by cuDNN, found when it is first needed.
//!
//! A [`Plan`] is a convolution of one geometry, made ready: descriptors, algorithm and bytes of working memory. It is made once, and run
//! often. What cuDNN does not take has none, and is computed by products of patches.

#![expect(unsafe_code, reason = "calls into a library that is loaded at run time")]

mod layout;
mod library;

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cudarc::driver::CudaStream;
use layout::{Filter, Fit, Images, spatial};
use library::{
    CROSS_CORRELATION, Calls, Choice, DETERMINISTIC, Descriptor, Functions, Handle, Status, done, is_refused,
    is_unsupported, types,
};
pub use library::{CUDNN_VARIABLE, set_cudnn};
use penstock_data::{Class, DType, Error, Result};
use penstock_ir::Convolution;
use penstock_kernels::conv::{Axis, Geometry};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{NARROW_LIMIT, table};
use crate::memory::Memory;
use crate::opened::{Opened, lock};
use crate::queue::{Call, Command};

/// The most bytes of working memory of a convolution.
const WORKSPACE_MOST: usize = 1 << 30;
/// Geometries that are remembered; beyond that all are forgotten, and made ready anew.
const REMEMBERED: usize = 4096;

/// The library on one device.
pub(crate) struct Dnn {
    functions: &'static Functions,
    /// With the stream on which everything runs. Calls that share it come one after the other.
    handle: Mutex<Pointer>,
    /// With the one that captures.
    captures: Mutex<Pointer>,
    plans: Mutex<FxHashMap<Key, Prepared>>,
    is_used: AtomicBool,
}

struct Pointer(Handle);

// SAFETY: a handle may be used by any thread, one at a time.
unsafe impl Send for Pointer {}

/// What a plan is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    kind: Convolution,
    dtype: DType,
    geometry: Geometry,
}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Geometry { batch, axes, groups, in_channels, out_channels } = self.geometry;
        (self.kind as u8, self.dtype, batch, groups, in_channels, out_channels).hash(state);
        axes.map(|a| [a.input, a.window, a.output, a.stride, a.dilation, a.before]).hash(state);
    }
}

#[derive(Clone)]
enum Prepared {
    Plan(Arc<Plan>),
    /// Not by the library, for this reason.
    Patches(String),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Geometry { batch, axes, groups, in_channels, out_channels } = self.geometry;
        write!(
            f,
            "{:?} {} batch {batch} groups {groups} channels {in_channels} {out_channels}",
            self.kind, self.dtype
        )?;
        for a in axes.iter().filter(|&&a| a != Axis::NONE) {
            let Axis { input, window, output, stride, dilation, before } = a;
            write!(f, " [{input} by {window} to {output}, stride {stride}, dilation {dilation}, {before} before]")?;
        }
        Ok(())
    }
}

impl Dnn {
    /// The library on a device; `None` where it is not installed, or does not start.
    fn on(device: &Arc<Opened>) -> Option<&Arc<Dnn>> {
        Dnn::found(device).ok()
    }

    /// The library on a device, or the reason why there is none.
    fn found(device: &Arc<Opened>) -> Result<&Arc<Dnn>, &String> {
        let open = |functions| Dnn::open(device, functions).map_err(|e| e.message().to_string());
        let found = || Functions::get().map_err(String::clone).and_then(open).map(Arc::new);
        device.dnn.get::<Result<Arc<Dnn>, String>>(found).as_ref()
    }

    fn open(device: &Arc<Opened>, functions: &'static Functions) -> Result<Dnn> {
        let handle = |stream: &CudaStream| -> Result<Mutex<Pointer>> {
            let mut handle = std::ptr::null_mut();
            // SAFETY: the device is the calling thread's; the stream lives as long as the device, which is never closed.
            unsafe {
                functions.check((functions.create)(&mut handle))?;
                functions.check((functions.set_stream)(handle, stream.cu_stream().cast()))?;
            }
            Ok(Mutex::new(Pointer(handle)))
        };
        Ok(Dnn {
            functions,
            handle: handle(&device.stream)?,
            captures: handle(device.queue.capture())?,
            plans: Mutex::default(),
            is_used: AtomicBool::new(true),
        })
    }

    /// Lets convolutions go by the library, or without it.
    pub(crate) fn set_used(device: &Arc<Opened>, used: bool) {
        if let Some(dnn) = Dnn::on(device) {
            dnn.is_used.store(used, Ordering::Relaxed);
        }
    }

    /// The version and the file of the library, and what was decided for each geometry, one a line.
    pub(crate) fn report(device: &Arc<Opened>) -> Vec<String> {
        let dnn = match Dnn::found(device) {
            Ok(dnn) => dnn,
            Err(reason) => return vec![format!("no cuDNN: {reason}")],
        };
        let Functions { version, path, .. } = dnn.functions;
        let mut lines: Vec<String> = lock(&dnn.plans)
            .iter()
            .map(|(key, prepared)| match prepared {
                Prepared::Plan(plan) => {
                    let Plan { algorithm, math, workspace, .. } = **plan;
                    format!("{key}: algorithm {algorithm}, math {math}, {workspace} bytes")
                }
                Prepared::Patches(reason) => format!("{key}: patches, {reason}"),
            })
            .collect();
        lines.sort_unstable();
        lines.insert(0, format!("cuDNN {version}: {}", path.display()));
        lines
    }

    /// What was decided for a convolution, now where it was not before.
    fn prepared(&self, key: Key) -> Result<Prepared> {
        if let Some(found) = lock(&self.plans).get(&key) {
            return Ok(found.clone());
        }
        // Outside the lock. Of two threads that decide the same, the second drops its own.
        let prepared = match Plan::new(self, key)? {
            Ok(plan) => Prepared::Plan(Arc::new(plan)),
            Err(reason) => Prepared::Patches(reason),
        };
        let mut plans = lock(&self.plans);
        if plans.len() >= REMEMBERED {
            plans.clear();
        }
        Ok(plans.entry(key).or_insert(prepared).clone())
    }
}

/// Whether the library is faster than products of patches, as it was measured on an H200: where it multiplies in full precision, its
/// derivatives by the filter take twice as long, and a copy of the images costs more than it gains. With 16-bit floats, whose patches take
/// longer than their products, it is ahead but where the images are copied first.
fn is_ahead(kind: Convolution, dtype: DType, is_padded: bool) -> bool {
    match dtype {
        DType::F16 | DType::Bf16 => kind == Convolution::InputGrad || !is_padded,
        _ => kind != Convolution::FilterGrad && !is_padded,
    }
}

/// A convolution of one geometry that is ready to run.
struct Plan {
    a: Descriptor,
    b: Descriptor,
    result: Descriptor,
    convolution: Descriptor,
    calls: Calls,
    algorithm: c_int,
    math: c_int,
    /// Bytes of working memory.
    workspace: usize,
    /// Whether sums are in double precision.
    is_double: bool,
    /// Of each dimension that there is.
    fits: SmallVec<[Fit; 3]>,
}

impl Plan {
    /// Decides how the library computes a convolution; the reason where it does not.
    fn new(dnn: &Dnn, key: Key) -> Result<Result<Plan, String>> {
        let functions = dnn.functions;
        match Plan::of(dnn, key) {
            Ok(plan) => Ok(plan),
            Err(status) if is_refused(status) => Ok(Err(functions.text(status))),
            Err(status) => Err(functions.error(status)),
        }
    }

    fn of(dnn: &Dnn, key: Key) -> Result<Result<Plan, String>, Status> {
        let Key { kind, dtype, geometry: g } = key;
        let Some((element, sum, math)) = types(dtype) else { return Ok(Err("its dtype".to_string())) };
        let axes = &g.axes[spatial(&g)..];
        let Some(fits) = axes.iter().map(Fit::of).collect::<Option<SmallVec<[Fit; 3]>>>() else {
            return Ok(Err("its padding".to_string()));
        };
        if !is_ahead(kind, dtype, fits.iter().zip(axes).any(|(fit, axis)| fit.input != axis.input)) {
            return Ok(Err("products are faster".to_string()));
        }
        let images = |pixels: &[usize], channels: usize| narrow([&[g.batch, channels], pixels].concat());
        let list = |of: fn(&Axis) -> usize| axes.iter().map(of).collect::<Vec<_>>();
        let inputs: Vec<usize> = fits.iter().map(|f| f.input).collect();
        let extents = (
            images(&inputs, g.groups * g.in_channels),
            images(&list(|a| a.output), g.groups * g.out_channels),
            narrow([&[g.groups * g.out_channels, g.in_channels], &list(|a| a.window)[..]].concat()),
            narrow(fits.iter().map(|f| f.pad).collect()),
            narrow(list(|a| a.stride)),
            narrow(list(|a| a.dilation)),
        );
        let (Some(x), Some(y), Some(filter), Some(pads), Some(strides), Some(dilations)) = extents else {
            return Ok(Err("its size".to_string()));
        };
        let f = dnn.functions;
        let x = Descriptor::tensor(f, element, &x)?;
        let y = Descriptor::tensor(f, element, &y)?;
        let filter = Descriptor::filter(f, element, &filter)?;
        let convolution = Descriptor::new(f.convolutions)?;
        let rank = axes.len() as c_int;
        // SAFETY: the lists have that many entries.
        unsafe {
            done((f.set_convolution)(
                convolution.at,
                rank,
                pads.as_ptr(),
                strides.as_ptr(),
                dilations.as_ptr(),
                CROSS_CORRELATION,
                sum,
            ))?;
            done((f.set_groups)(convolution.at, g.groups as c_int))?;
            done((f.set_math)(convolution.at, math))?;
        }
        let (a, b, result) = match kind {
            Convolution::Forward => (x, filter, y),
            Convolution::InputGrad => (filter, y, x),
            Convolution::FilterGrad => (x, y, filter),
        };
        let calls = *f.calls(kind);
        let is_double = dtype == DType::F64;
        let mut plan = Plan { a, b, result, convolution, calls, algorithm: 0, math, workspace: 0, is_double, fits };
        Ok(match plan.choose(dnn, dtype)? {
            None => Ok(plan),
            Some(reason) => Err(reason),
        })
    }

    /// Takes the first of the library's proposals that gives the same bits each time, by sums of products; the reason where there is none.
    fn choose(&mut self, dnn: &Dnn, dtype: DType) -> Result<Option<String>, Status> {
        let f = dnn.functions;
        let handle = lock(&dnn.handle);
        let mut choices = [Choice::default(); 16];
        let most = self.calls.most;
        let mut count = 0;
        let (a, b, convolution, result) = (self.a.at, self.b.at, self.convolution.at, self.result.at);
        // SAFETY: the list has room for as many.
        done(unsafe {
            (self.calls.choices)(handle.0, a, b, convolution, result, most as c_int, &mut count, choices.as_mut_ptr())
        })?;
        let mut refused = Vec::new();
        for choice in &choices[..usize::try_from(count).unwrap_or(0).min(most)] {
            let Choice { algorithm, status, determinism, .. } = *choice;
            let mut refuse = |why: &str| refused.push(format!("algorithm {algorithm}: {why}"));
            if status != 0 {
                refuse(&f.text(status));
                continue;
            }
            if determinism != DETERMINISTIC || !self.calls.exact.contains(&algorithm) {
                refuse("other bits or by transforms");
                continue;
            }
            // The proposals for 16-bit floats differ in what multiplies.
            if matches!(dtype, DType::F16 | DType::Bf16) {
                self.math = choice.math;
            }
            let mut bytes = 0;
            // SAFETY: the size is written to `bytes`.
            let status = unsafe {
                done((f.set_math)(convolution, self.math))?;
                (self.calls.workspace)(handle.0, a, b, convolution, result, algorithm, &mut bytes)
            };
            match status {
                0 if bytes <= WORKSPACE_MOST => {
                    (self.algorithm, self.workspace) = (algorithm, bytes);
                    return Ok(None);
                }
                0 => refuse("working memory"),
                status if is_refused(status) => refuse(&f.text(status)),
                status => return Err(status),
            }
        }
        Ok(Some(refused.join("; ")))
    }

    /// Hands the convolution to the stream of a handle: allocates nothing, and waits for nothing.
    ///
    /// # Safety
    /// The addresses are of memory of the handle's device, of the result and of both operands as they are described, and of as many bytes
    /// of working memory as the plan asks for.
    unsafe fn run(&self, handle: &Mutex<Pointer>, [result, a, b]: [u64; 3], workspace: u64) -> Status {
        let (one_f32, zero_f32, one_f64, zero_f64) = (1f32, 0f32, 1f64, 0f64);
        let scales: [*const c_void; 2] = if self.is_double {
            [std::ptr::from_ref(&one_f64).cast(), std::ptr::from_ref(&zero_f64).cast()]
        } else {
            [std::ptr::from_ref(&one_f32).cast(), std::ptr::from_ref(&zero_f32).cast()]
        };
        let handle = lock(handle);
        // SAFETY: the caller's promise; the factors are read by the call.
        unsafe {
            (self.calls.run)(
                handle.0,
                scales[0],
                self.a.at,
                a as *const c_void,
                self.b.at,
                b as *const c_void,
                self.convolution.at,
                self.algorithm,
                workspace as *mut c_void,
                self.workspace,
                scales[1],
                self.result.at,
                result as *mut c_void,
            )
        }
    }
}

/// A convolution by a plan: where its result, its operands and its working memory are.
struct Convolve {
    dnn: Arc<Dnn>,
    plan: Arc<Plan>,
    at: [u64; 3],
    workspace: u64,
}

impl Call for Convolve {
    /// # Errors
    /// `Unimplemented` where the library does not take it.
    unsafe fn run(&self, captures: bool) -> Result<()> {
        let Dnn { functions, handle, captures: capturing, .. } = &*self.dnn;
        // SAFETY: the caller's promise.
        let status = unsafe { self.plan.run(if captures { capturing } else { handle }, self.at, self.workspace) };
        if is_unsupported(status) {
            return Err(Error::unimplemented(functions.text(status)));
        }
        functions.check(status)
    }

    fn is_same(&self, other: &dyn Call) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Convolve>().is_some_and(|other| {
            Arc::ptr_eq(&self.plan, &other.plan) && self.at == other.at && self.workspace == other.workspace
        })
    }
}

/// Extents as the library has them; `None` where they, or their product, take more than 32 bits.
fn narrow(extents: Vec<usize>) -> Option<SmallVec<[c_int; 5]>> {
    extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e.max(1))).filter(|&n| n <= NARROW_LIMIT)?;
    extents.into_iter().map(|e| c_int::try_from(e).ok()).collect()
}

/// Queues a convolution; `false` where the library is missing, or does not take it.
///
/// # Safety
/// The addresses are of memory of this device: of the result, and of both operands in the order of [`Convolution`], by the geometry. No
/// extent is 0.
pub(super) unsafe fn convolve(
    device: &Arc<Opened>,
    kind: Convolution,
    dtype: DType,
    g: &Geometry,
    [result, a, b]: [u64; 3],
) -> Result<bool> {
    let Some(dnn) = Dnn::on(device).filter(|dnn| dnn.is_used.load(Ordering::Relaxed)) else { return Ok(false) };
    let key = Key { kind, dtype, geometry: *g };
    let Prepared::Plan(plan) = dnn.prepared(key)? else { return Ok(false) };
    let size = dtype.size();
    let filter = Filter::new(g, size);
    let images = Images::new(g, size, &plan.fits);
    let workspace = if plan.workspace == 0 { None } else { Some(table(device, plan.workspace, 1)?) };
    let start = |memory: &Memory| memory.address;
    let run = |at: [u64; 3]| {
        let workspace = workspace.as_ref().map_or(0, start);
        let convolve = Convolve { dnn: dnn.clone(), plan: plan.clone(), at, workspace };
        // SAFETY: the caller's promise. The copies have the extents that the plan describes, and are freed behind the work.
        unsafe { device.queue.push(device, Command::Call(Arc::new(convolve))) }
    };
    // SAFETY: the caller's promise.
    let queued = unsafe {
        match kind {
            Convolution::Forward => {
                let (x, filter) = (images.padded(device, a)?, filter.turned(device, b)?);
                run([result, x.as_ref().map_or(a, start), filter.address])
            }
            Convolution::InputGrad => {
                let (dx, filter) = (images.room(device)?, filter.turned(device, a)?);
                run([dx.as_ref().map_or(result, start), filter.address, b]).and_then(|()| match &dx {
                    Some(dx) => images.cut(device, dx.address, result),
                    None => Ok(()),
                })
            }
            Convolution::FilterGrad => {
                let (x, turned) = (images.padded(device, a)?, filter.room(device)?);
                run([turned.address, x.as_ref().map_or(a, start), b])
                    .and_then(|()| filter.turn_back(device, turned.address, result))
            }
        }
    };
    match queued {
        // What was held back has run before.
        Err(e) if e.class() == Class::Unimplemented => {
            lock(&dnn.plans).insert(key, Prepared::Patches(e.message().to_string()));
            Ok(false)
        }
        queued => queued.map(|()| true),
    }
}
