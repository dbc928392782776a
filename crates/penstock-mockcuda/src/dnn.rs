//! cuDNN's functions for convolutions, as many as the engine calls: by plain loops, channels last.
//!
//! What the engine may not ask for is a finding: descriptors of other layouts, short numbers for `float32`, algorithms that differ
//! from run to run. Some convolutions are refused, at each of the places where the library refuses some.

use std::ffi::{CStr, c_char, c_int, c_void};

use cudarc::driver::sys::CUresult;

use crate::state::{State, Work, state};

const OK: c_int = 0;
const BAD_PARAM: c_int = 2000;
const NOT_SUPPORTED: c_int = 3000;
const EXECUTION_FAILED: c_int = 5000;

/// A convolution with two of its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Forward,
    InputGrad,
    FilterGrad,
}

/// What a handle names.
#[derive(Clone, Default)]
pub(crate) enum Object {
    #[default]
    Unset,
    Library {
        stream: u64,
    },
    Tensor {
        dtype: c_int,
        dims: Vec<usize>,
        steps: Vec<usize>,
    },
    Filter {
        dtype: c_int,
        format: c_int,
        dims: Vec<usize>,
    },
    Convolution(Settings),
}

/// A descriptor of convolutions.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pad: Vec<usize>,
    stride: Vec<usize>,
    dilation: Vec<usize>,
    mode: c_int,
    sum: c_int,
    math: c_int,
    groups: usize,
}

/// A convolution with its extents, of three dimensions.
#[derive(Clone)]
pub(crate) struct Shape {
    kind: Kind,
    dtype: c_int,
    batch: usize,
    groups: usize,
    /// Channels of a group.
    channels: [usize; 2],
    input: [usize; 3],
    window: [usize; 3],
    output: [usize; 3],
    pad: [usize; 3],
    stride: [usize; 3],
    dilation: [usize; 3],
    /// Dimensions that there are.
    rank: usize,
}

/// `cudnnConvolution…AlgoPerf_t`.
#[repr(C)]
pub struct Choice {
    algorithm: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

/// Defines functions of the library. Each call is counted, and fails where a test asks for it.
macro_rules! library {
    ($(fn $name:ident($state:ident $(, $arg:ident: $ty:ty)* $(,)?) $body:block)*) => {$(
        /// As cuDNN's function of this name.
        ///
        /// # Safety
        /// As cuDNN's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
            let mut $state = state();
            let injected = $state.count_call(stringify!($name));
            if injected != OK {
                return injected;
            }
            $body
        }
    )*};
}

fn create(state: &mut State, out: *mut *mut c_void, object: Object) -> c_int {
    let handle = state.handle();
    state.objects.insert(handle, object);
    // SAFETY: the caller of the C function gave a place for it.
    unsafe { *out = handle as *mut c_void };
    OK
}

fn destroy(state: &mut State, at: *mut c_void) -> c_int {
    if state.objects.remove(&(at as u64)).is_none() {
        state.find("cuDNN: a descriptor is destroyed that does not exist");
        return BAD_PARAM;
    }
    OK
}

fn set(state: &mut State, at: *mut c_void, change: impl FnOnce(&mut Object)) -> c_int {
    match state.objects.get_mut(&(at as u64)) {
        Some(object) => {
            change(object);
            OK
        }
        None => BAD_PARAM,
    }
}

fn set_convolution(state: &mut State, at: *mut c_void, change: impl FnOnce(&mut Settings)) -> c_int {
    set(state, at, |object| {
        let mut settings = if let Object::Convolution(s) = object { s.clone() } else { Settings::default() };
        change(&mut settings);
        *object = Object::Convolution(settings);
    })
}

/// # Safety
/// `at` has as many numbers.
unsafe fn numbers(at: *const c_int, count: c_int) -> Vec<usize> {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(at, count as usize) }.iter().map(|&n| n as usize).collect()
}

library! {
    fn cudnnCreate(state, out: *mut *mut c_void) { create(&mut state, out, Object::Library { stream: 0 }) }
    fn cudnnSetStream(state, handle: *mut c_void, stream: *mut c_void) {
        set(&mut state, handle, |o| *o = Object::Library { stream: stream as u64 })
    }
    fn cudnnCreateTensorDescriptor(state, out: *mut *mut c_void) { create(&mut state, out, Object::Unset) }
    fn cudnnDestroyTensorDescriptor(state, at: *mut c_void) { destroy(&mut state, at) }
    fn cudnnCreateFilterDescriptor(state, out: *mut *mut c_void) { create(&mut state, out, Object::Unset) }
    fn cudnnDestroyFilterDescriptor(state, at: *mut c_void) { destroy(&mut state, at) }
    fn cudnnCreateConvolutionDescriptor(state, out: *mut *mut c_void) { create(&mut state, out, Object::Unset) }
    fn cudnnDestroyConvolutionDescriptor(state, at: *mut c_void) { destroy(&mut state, at) }
    fn cudnnSetTensorNdDescriptor(
        state,
        at: *mut c_void,
        dtype: c_int,
        rank: c_int,
        dims: *const c_int,
        steps: *const c_int,
    ) {
        // SAFETY: the caller gives that many extents.
        let (dims, steps) = unsafe { (numbers(dims, rank), numbers(steps, rank)) };
        set(&mut state, at, |o| *o = Object::Tensor { dtype, dims, steps })
    }
    fn cudnnSetFilterNdDescriptor(
        state,
        at: *mut c_void,
        dtype: c_int,
        format: c_int,
        rank: c_int,
        dims: *const c_int,
    ) {
        // SAFETY: the caller gives that many extents.
        let dims = unsafe { numbers(dims, rank) };
        set(&mut state, at, |o| *o = Object::Filter { dtype, format, dims })
    }
    fn cudnnSetConvolutionNdDescriptor(
        state,
        at: *mut c_void,
        rank: c_int,
        pad: *const c_int,
        stride: *const c_int,
        dilation: *const c_int,
        mode: c_int,
        sum: c_int,
    ) {
        // SAFETY: the caller gives that many extents.
        let (pad, stride, dilation) = unsafe { (numbers(pad, rank), numbers(stride, rank), numbers(dilation, rank)) };
        set_convolution(&mut state, at, |s| *s = Settings { pad, stride, dilation, mode, sum, math: 0, groups: 1 })
    }
    fn cudnnSetConvolutionGroupCount(state, at: *mut c_void, groups: c_int) {
        set_convolution(&mut state, at, |s| s.groups = groups as usize)
    }
    fn cudnnSetConvolutionMathType(state, at: *mut c_void, math: c_int) {
        set_convolution(&mut state, at, |s| s.math = math)
    }
}

/// The functions of a kind: its proposals, its working memory, and itself.
macro_rules! kinds {
    ($($kind:ident $choices:ident $workspace:ident $run:ident;)*) => {$(
        library! {
            fn $choices(
                state,
                _handle: *mut c_void,
                a: *mut c_void,
                b: *mut c_void,
                convolution: *mut c_void,
                result: *mut c_void,
                most: c_int,
                count: *mut c_int,
                out: *mut Choice,
            ) {
                // SAFETY: the caller gives room for that many.
                unsafe { choices(&mut state, Kind::$kind, [a, b, convolution, result], most, count, out) }
            }
            fn $workspace(
                state,
                _handle: *mut c_void,
                a: *mut c_void,
                b: *mut c_void,
                convolution: *mut c_void,
                result: *mut c_void,
                algorithm: c_int,
                bytes: *mut usize,
            ) {
                match shape(&mut state, Kind::$kind, [a, b, convolution, result]) {
                    Some(shape) if shape.takes(algorithm) && !shape.is_late() => {
                        // SAFETY: the caller gives a place for it.
                        unsafe { *bytes = shape.workspace() };
                        OK
                    }
                    Some(_) => NOT_SUPPORTED,
                    None => BAD_PARAM,
                }
            }
            fn $run(
                state,
                handle: *mut c_void,
                alpha: *const c_void,
                a: *mut c_void,
                a_at: *const c_void,
                b: *mut c_void,
                b_at: *const c_void,
                convolution: *mut c_void,
                algorithm: c_int,
                workspace: *mut c_void,
                bytes: usize,
                beta: *const c_void,
                result: *mut c_void,
                result_at: *mut c_void,
            ) {
                let Some(shape) = shape(&mut state, Kind::$kind, [a, b, convolution, result]) else { return BAD_PARAM };
                // SAFETY: the factors are floats, of double precision for such tensors.
                if unsafe { [shape.factor(alpha), shape.factor(beta)] } != [1.0, 0.0] || !shape.takes(algorithm) {
                    state.find("cuDNN: factors that are not 1 and 0, or an algorithm that was not proposed");
                    return BAD_PARAM;
                }
                if shape.is_last() {
                    return NOT_SUPPORTED;
                }
                let at = [result_at as u64, a_at as u64, b_at as u64];
                queue(&mut state, handle, shape, at, (workspace as u64, bytes))
            }
        }
    )*};
}

kinds! {
    Forward cudnnGetConvolutionForwardAlgorithm_v7 cudnnGetConvolutionForwardWorkspaceSize cudnnConvolutionForward;
    InputGrad cudnnGetConvolutionBackwardDataAlgorithm_v7 cudnnGetConvolutionBackwardDataWorkspaceSize cudnnConvolutionBackwardData;
    FilterGrad cudnnGetConvolutionBackwardFilterAlgorithm_v7 cudnnGetConvolutionBackwardFilterWorkspaceSize cudnnConvolutionBackwardFilter;
}

/// As cuDNN's function.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    92_800
}

/// As cuDNN's function.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetErrorString(status: c_int) -> *const c_char {
    let text: &CStr = match status {
        OK => c"CUDNN_STATUS_SUCCESS",
        BAD_PARAM => c"CUDNN_STATUS_BAD_PARAM",
        NOT_SUPPORTED => c"CUDNN_STATUS_NOT_SUPPORTED",
        EXECUTION_FAILED => c"CUDNN_STATUS_EXECUTION_FAILED",
        _ => c"CUDNN_UNKNOWN_STATUS",
    };
    text.as_ptr()
}

/// # Safety
/// There is room for `most` proposals, and for their number.
unsafe fn choices(
    state: &mut State,
    kind: Kind,
    described: [*mut c_void; 4],
    most: c_int,
    count: *mut c_int,
    out: *mut Choice,
) -> c_int {
    let Some(shape) = shape(state, kind, described) else { return BAD_PARAM };
    let refused = if shape.is_early() { NOT_SUPPORTED } else { OK };
    // The fastest first: one by transforms, one that differs from run to run, and the right one.
    let (transform, varying) = (4, if kind == Kind::Forward { 3 } else { 0 });
    let proposals = [(transform, OK, 1), (varying, OK, 0), (2, NOT_SUPPORTED, 1), (shape.algorithm(), refused, 1)];
    for (i, (algorithm, status, determinism)) in proposals.into_iter().take(most as usize).enumerate() {
        let (time, memory, math) = (i as f32, shape.workspace(), if shape.is_short() { 1 } else { 0 });
        // SAFETY: the caller's promise.
        unsafe { out.add(i).write(Choice { algorithm, status, time, memory, determinism, math, reserved: [0; 3] }) };
    }
    // SAFETY: the caller's promise.
    unsafe { *count = most.min(proposals.len() as c_int) };
    OK
}

/// The convolution that descriptors describe; `None`, and a finding, where they are not what the engine should describe.
fn shape(state: &mut State, kind: Kind, [a, b, convolution, result]: [*mut c_void; 4]) -> Option<Shape> {
    let [x, filter, y] = match kind {
        Kind::Forward => [a, b, result],
        Kind::InputGrad => [result, a, b],
        Kind::FilterGrad => [a, result, b],
    };
    let object = |at: *mut c_void| state.objects.get(&(at as u64)).cloned().unwrap_or_default();
    match described(kind, object(x), object(filter), object(y), object(convolution)) {
        Ok(shape) => Some(shape),
        Err(why) => {
            state.find(format!("cuDNN: {why}"));
            None
        }
    }
}

fn described(kind: Kind, x: Object, filter: Object, y: Object, convolution: Object) -> Result<Shape, String> {
    let Object::Tensor { dtype, dims: x, steps: x_steps } = x else { return Err("x is no tensor".into()) };
    let Object::Tensor { dtype: y_dtype, dims: y, steps: y_steps } = y else { return Err("y is no tensor".into()) };
    let Object::Filter { dtype: f_dtype, format, dims: f } = filter else { return Err("a filter is none".into()) };
    let Object::Convolution(s) = convolution else { return Err("a convolution is none".into()) };
    let last = |dims: &[usize]| {
        let mut steps = vec![1; dims.len()];
        let mut step = dims[1];
        for i in (2..dims.len()).rev() {
            steps[i] = step;
            step *= dims[i];
        }
        steps[0] = step;
        steps
    };
    let rank = s.pad.len();
    if !(2..=3).contains(&rank) || [x.len(), y.len(), f.len()] != [rank + 2; 3] {
        return Err(format!("{rank} dimensions, of tensors {x:?}, {y:?} and a filter {f:?}"));
    }
    if x_steps != last(&x) || y_steps != last(&y) || format != 1 {
        return Err(format!("channels are not last: {x:?} {x_steps:?}, {y:?} {y_steps:?}, format {format}"));
    }
    let sum = if dtype == 1 { 1 } else { 0 };
    if [y_dtype, f_dtype] != [dtype; 2] || s.sum != sum || s.mode != 1 || (dtype == 0 && s.math != 3) {
        return Err(format!("types {dtype} {y_dtype} {f_dtype}, sums {}, mode {}, math {}", s.sum, s.mode, s.math));
    }
    let output = |i: usize| {
        (x[i + 2] + 2 * s.pad[i]).checked_sub((f[i + 2] - 1) * s.dilation[i] + 1).map(|n| n / s.stride[i] + 1)
    };
    let is_whole = f[1] * s.groups == x[1] && f[0] == y[1] && x[0] == y[0] && y[1].is_multiple_of(s.groups);
    if !is_whole || (0..rank).any(|i| output(i) != Some(y[i + 2])) {
        return Err(format!("{x:?} by {f:?} to {y:?}, groups {}, pad {:?}", s.groups, s.pad));
    }
    let three =
        |of: &dyn Fn(usize) -> usize, rest| std::array::from_fn(|i| if i < 3 - rank { rest } else { of(i + rank - 3) });
    Ok(Shape {
        kind,
        dtype,
        batch: x[0],
        groups: s.groups,
        channels: [f[1], f[0] / s.groups],
        input: three(&|i| x[i + 2], 1),
        window: three(&|i| f[i + 2], 1),
        output: three(&|i| y[i + 2], 1),
        pad: three(&|i| s.pad[i], 0),
        stride: three(&|i| s.stride[i], 1),
        dilation: three(&|i| s.dilation[i], 1),
        rank,
    })
}

fn queue(state: &mut State, handle: *mut c_void, shape: Shape, at: [u64; 3], workspace: (u64, usize)) -> c_int {
    let Some(Object::Library { stream }) = state.objects.get(&(handle as u64)) else { return BAD_PARAM };
    if workspace.1 < shape.workspace() {
        state.find("cuDNN: too little working memory");
        return BAD_PARAM;
    }
    let stream = *stream;
    match state.queue(stream, 0, Work::Convolution { shape: Box::new(shape), at, workspace }) {
        CUresult::CUDA_SUCCESS => OK,
        _ => EXECUTION_FAILED,
    }
}

impl Shape {
    /// The one algorithm that runs.
    fn algorithm(&self) -> c_int {
        if self.kind == Kind::Forward { 0 } else { 1 }
    }

    fn takes(&self, algorithm: c_int) -> bool {
        algorithm == self.algorithm()
    }

    fn workspace(&self) -> usize {
        16 * self.batch
    }

    /// Whether all proposals are refused,
    fn is_early(&self) -> bool {
        self.dtype == 1 && self.rank == 3
    }

    /// or that of the chosen one when its working memory is asked for,
    fn is_late(&self) -> bool {
        self.dtype == 1 && self.dilation != [1; 3]
    }

    /// or when it is to run.
    fn is_last(&self) -> bool {
        self.dtype == 1 && self.groups > 1
    }

    /// Whether elements have 16 bits.
    fn is_short(&self) -> bool {
        matches!(self.dtype, 2 | 9)
    }

    /// # Safety
    /// `at` is a factor for elements of this dtype.
    unsafe fn factor(&self, at: *const c_void) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { if self.dtype == 1 { *at.cast::<f64>() } else { f64::from(*at.cast::<f32>()) } }
    }

    fn size(&self) -> usize {
        match self.dtype {
            1 => 8,
            0 => 4,
            _ => 2,
        }
    }

    /// Elements of the images, the filter and the results.
    fn lens(&self) -> [usize; 3] {
        let product = |of: &[usize; 3]| of.iter().product::<usize>();
        let [i, o] = self.channels;
        [
            self.batch * product(&self.input) * self.groups * i,
            self.groups * o * product(&self.window) * i,
            self.batch * product(&self.output) * self.groups * o,
        ]
    }

    /// # Safety
    /// The memory has as many elements.
    unsafe fn load(&self, at: u64, len: usize) -> Vec<f64> {
        // SAFETY: the caller's promise; memory of devices is aligned.
        (0..len)
            .map(|i| unsafe {
                match self.dtype {
                    1 => *(at as *const f64).add(i),
                    0 => f64::from(*(at as *const f32).add(i)),
                    2 => f64::from(half::f16::from_bits(*(at as *const u16).add(i))),
                    _ => f64::from(half::bf16::from_bits(*(at as *const u16).add(i))),
                }
            })
            .collect()
    }

    /// # Safety
    /// The memory has as many elements.
    unsafe fn store(&self, at: u64, values: &[f64]) {
        for (i, &value) in values.iter().enumerate() {
            // SAFETY: the caller's promise; memory of devices is aligned.
            unsafe {
                match self.dtype {
                    1 => *(at as *mut f64).add(i) = value,
                    0 => *(at as *mut f32).add(i) = value as f32,
                    2 => *(at as *mut u16).add(i) = half::f16::from_f64(value).to_bits(),
                    _ => *(at as *mut u16).add(i) = half::bf16::from_f64(value).to_bits(),
                }
            }
        }
    }

    /// Adds the products of all pairs of elements that meet.
    fn sums(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        let places = |extents: [usize; 3]| {
            (0..extents.iter().product())
                .map(move |i: usize| [i / extents[2] / extents[1], i / extents[2] % extents[1], i % extents[2]])
        };
        let [ins, outs] = self.channels;
        for n in 0..self.batch {
            for (o, at) in places(self.output).enumerate() {
                for (w, tap) in places(self.window).enumerate() {
                    let pixel = std::array::from_fn::<_, 3, _>(|d| {
                        (at[d] * self.stride[d] + tap[d] * self.dilation[d]).wrapping_sub(self.pad[d])
                    });
                    if (0..3).any(|d| pixel[d] >= self.input[d]) {
                        continue;
                    }
                    let [_, height, width] = self.input;
                    let pixel = (pixel[0] * height + pixel[1]) * width + pixel[2];
                    let pixels: usize = self.input.iter().product();
                    let (outputs, taps): (usize, usize) = (self.output.iter().product(), self.window.iter().product());
                    for k in 0..self.groups * outs {
                        for c in 0..ins {
                            let x = (n * pixels + pixel) * self.groups * ins + k / outs * ins + c;
                            let f = (k * taps + w) * ins + c;
                            let y = (n * outputs + o) * self.groups * outs + k;
                            match self.kind {
                                Kind::Forward => out[y] += a[x] * b[f],
                                Kind::InputGrad => out[x] += a[f] * b[y],
                                Kind::FilterGrad => out[f] += a[x] * b[y],
                            }
                        }
                    }
                }
            }
        }
    }

    /// Runs the convolution.
    pub(crate) fn run(&self, state: &mut State, [result, a, b]: [u64; 3], (workspace, bytes): (u64, usize)) {
        let [x, filter, y] = self.lens();
        let [result_len, a_len, b_len] = match self.kind {
            Kind::Forward => [y, x, filter],
            Kind::InputGrad => [x, filter, y],
            Kind::FilterGrad => [filter, x, y],
        };
        let places = [(result, result_len), (a, a_len), (b, b_len)].map(|(at, len)| (at, len * self.size()));
        if !places.into_iter().chain([(workspace, bytes)]).all(|(at, len)| state.takes("a convolution", at, len)) {
            return;
        }
        let mut out = vec![0.0; result_len];
        let [result, a, b] = [result, a, b].map(|at| state.arena.place(at) as u64);
        // SAFETY: all are in live blocks.
        unsafe {
            std::ptr::write_bytes(state.arena.place(workspace), 0x5A, bytes);
            self.sums(&self.load(a, a_len), &self.load(b, b_len), &mut out);
            self.store(result, &out);
        }
    }
}
