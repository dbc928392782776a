//! cublasLt's functions for products, as many as the engine calls: by plain loops.
//!
//! What the engine may not ask for is a finding: sums of `float32` in short numbers, working memory that is not there, a bias in no live
//! block. A ReLU passes NaN on, as on an H200. Products of a multiple of 13 terms are refused, and of 8-bit integers those that the
//! manual excludes.

use std::ffi::{c_int, c_void};

use half::{bf16, f16};

use crate::state::{State, Work, state};

const OK: c_int = 0;
const INVALID: c_int = 7;
const NOT_SUPPORTED: c_int = 15;

/// `cudaDataType_t`.
const R_8I: c_int = 3;
const R_32I: c_int = 10;

/// `cublasLtEpilogue_t`.
const DEFAULT: u32 = 1;
const RELU: u32 = 2;
const BIAS: u32 = 4;

/// What a handle names.
#[derive(Clone)]
pub(crate) enum Descriptor {
    Library,
    Product { compute: c_int, transposed: [bool; 2], epilogue: u32, bias: u64 },
    Layout(Layout),
    Preference { workspace: usize },
}

/// Matrices, by columns.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    dtype: c_int,
    rows: usize,
    columns: usize,
    ld: usize,
    batch: usize,
    step: i64,
}

/// A product that is queued.
#[derive(Clone)]
pub(crate) struct Product {
    layouts: [Layout; 3],
    at: [u64; 3],
    transposed: [bool; 2],
    epilogue: u32,
    bias: u64,
    workspace: (u64, usize),
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// Bytes that the algorithm wants.
const WANTED: usize = 4096;

/// Defines functions of the library. Each call is counted, and fails where a test asks for it.
macro_rules! library {
    ($(fn $name:ident($state:ident $(, $arg:ident: $ty:ty)* $(,)?) $body:block)*) => {$(
        /// As cublasLt's function of this name.
        ///
        /// # Safety
        /// As cublasLt's.
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

fn create(state: &mut State, out: *mut *mut c_void, made: Descriptor) -> c_int {
    let handle = state.handle();
    state.descriptors.insert(handle, made);
    // SAFETY: the caller of the C function gave a place for it.
    unsafe { *out = handle as *mut c_void };
    OK
}

fn destroy(state: &mut State, at: *mut c_void) -> c_int {
    if state.descriptors.remove(&(at as u64)).is_some() { OK } else { INVALID }
}

/// # Safety
/// `bytes` bytes can be read there.
unsafe fn number(at: *const c_void, bytes: usize) -> i64 {
    let mut word = [0u8; 8];
    // SAFETY: the caller's promise; attributes have at most eight bytes.
    unsafe { std::ptr::copy_nonoverlapping(at.cast::<u8>(), word.as_mut_ptr(), bytes.min(8)) };
    i64::from_le_bytes(word)
}

fn layout(state: &State, at: *mut c_void) -> Option<Layout> {
    match state.descriptors.get(&(at as u64)) {
        Some(Descriptor::Layout(layout)) => Some(*layout),
        _ => None,
    }
}

/// The product of descriptors; `None` where they are of other kinds, or do not fit.
fn product(state: &mut State, of: *mut c_void, [a, b, d]: [*mut c_void; 3]) -> Option<(Product, usize)> {
    let &Descriptor::Product { compute, transposed, epilogue, bias } = state.descriptors.get(&(of as u64))? else {
        return None;
    };
    let layouts = [layout(state, d)?, layout(state, a)?, layout(state, b)?];
    let turned = |l: Layout, t: bool| if t { (l.columns, l.rows) } else { (l.rows, l.columns) };
    let ((m, k), (inner, n)) = (turned(layouts[1], transposed[0]), turned(layouts[2], transposed[1]));
    let fits = k == inner && (m, n) == (layouts[0].rows, layouts[0].columns);
    if !fits || layouts.iter().any(|l| l.ld < l.rows || l.batch != layouts[0].batch) {
        state.find("cublasLt: matrices that do not fit");
        return None;
    }
    let dtypes = layouts.map(|l| l.dtype);
    let due = match dtypes {
        [R_32I, R_8I, R_8I] => 72,
        [1, 1, 1] => 70,
        [0, 0, 0] | [2, 2, 2] | [14, 14, 14] => 68,
        _ => {
            state.find("cublasLt: matrices of dtypes that do not go together");
            return None;
        }
    };
    if compute != due {
        state.find("cublasLt: sums in short numbers");
        return None;
    }
    if dtypes[0] == R_32I && epilogue != DEFAULT {
        state.find("cublasLt: an epilogue of a product of integers");
        return None;
    }
    Some((Product { layouts, at: [0; 3], transposed, epilogue, bias, workspace: (0, 0) }, k))
}

library! {
    fn cublasLtCreate(state, out: *mut *mut c_void) { create(&mut state, out, Descriptor::Library) }
    fn cublasLtMatmulDescCreate(state, out: *mut *mut c_void, compute: c_int, _scale: c_int) {
        let made = Descriptor::Product { compute, transposed: [false; 2], epilogue: DEFAULT, bias: 0 };
        create(&mut state, out, made)
    }
    fn cublasLtMatmulDescSetAttribute(state, at: *mut c_void, which: c_int, from: *const c_void, bytes: usize) {
        // SAFETY: the caller's buffer has the size that it names.
        let value = unsafe { number(from, bytes) };
        let Some(Descriptor::Product { transposed, epilogue, bias, .. }) = state.descriptors.get_mut(&(at as u64)) else {
            return INVALID;
        };
        match (which, bytes) {
            (3, 4) => transposed[0] = value != 0,
            (4, 4) => transposed[1] = value != 0,
            (7, 4) => *epilogue = value as u32,
            (8, 8) => *bias = value as u64,
            _ => return INVALID,
        }
        OK
    }
    fn cublasLtMatmulDescDestroy(state, at: *mut c_void) { destroy(&mut state, at) }
    fn cublasLtMatrixLayoutCreate(state, out: *mut *mut c_void, dtype: c_int, rows: u64, columns: u64, ld: i64) {
        let (rows, columns, ld) = (rows as usize, columns as usize, ld as usize);
        create(&mut state, out, Descriptor::Layout(Layout { dtype, rows, columns, ld, batch: 1, step: 0 }))
    }
    fn cublasLtMatrixLayoutSetAttribute(state, at: *mut c_void, which: c_int, from: *const c_void, bytes: usize) {
        // SAFETY: the caller's buffer has the size that it names.
        let value = unsafe { number(from, bytes) };
        let Some(Descriptor::Layout(layout)) = state.descriptors.get_mut(&(at as u64)) else { return INVALID };
        match (which, bytes) {
            (5, 4) => layout.batch = value as usize,
            (6, 8) => layout.step = value,
            _ => return INVALID,
        }
        OK
    }
    fn cublasLtMatrixLayoutDestroy(state, at: *mut c_void) { destroy(&mut state, at) }
    fn cublasLtMatmulPreferenceCreate(state, out: *mut *mut c_void) {
        create(&mut state, out, Descriptor::Preference { workspace: 0 })
    }
    fn cublasLtMatmulPreferenceSetAttribute(state, at: *mut c_void, which: c_int, from: *const c_void, bytes: usize) {
        // SAFETY: the caller's buffer has the size that it names.
        let value = unsafe { number(from, bytes) };
        match (state.descriptors.get_mut(&(at as u64)), which, bytes) {
            (Some(Descriptor::Preference { workspace }), 1, 8) => *workspace = value as usize,
            _ => return INVALID,
        }
        OK
    }
    fn cublasLtMatmulPreferenceDestroy(state, at: *mut c_void) { destroy(&mut state, at) }
    fn cublasLtMatmulAlgoGetHeuristic(
        state,
        _handle: *mut c_void,
        of: *mut c_void,
        a: *mut c_void,
        b: *mut c_void,
        _c: *mut c_void,
        d: *mut c_void,
        preference: *mut c_void,
        most: c_int,
        out: *mut Heuristic,
        count: *mut c_int,
    ) {
        let Some((product, k)) = product(&mut state, of, [a, b, d]) else { return INVALID };
        let Some(&Descriptor::Preference { workspace }) = state.descriptors.get(&(preference as u64)) else {
            return INVALID;
        };
        let taken = most > 0 && workspace >= WANTED && k % 13 != 0 && product.is_of_floats_or_fits();
        // SAFETY: the caller gives room for the number, and for as many results.
        unsafe {
            *count = c_int::from(taken);
            if taken {
                let algorithm = [k as u64; 8];
                out.write(Heuristic { algorithm, workspace: WANTED, status: OK, waves: 1.0, reserved: [0; 4] });
            }
        }
        if taken { OK } else { NOT_SUPPORTED }
    }
    fn cublasLtMatmul(
        state,
        _handle: *mut c_void,
        of: *mut c_void,
        alpha: *const c_void,
        a_at: *const c_void,
        a: *mut c_void,
        b_at: *const c_void,
        b: *mut c_void,
        beta: *const c_void,
        c_at: *const c_void,
        _c: *mut c_void,
        d_at: *mut c_void,
        d: *mut c_void,
        algorithm: *const [u64; 8],
        workspace: *mut c_void,
        bytes: usize,
        stream: *mut c_void,
    ) {
        let Some((mut product, k)) = product(&mut state, of, [a, b, d]) else { return INVALID };
        let made = product.layouts[0].dtype;
        // SAFETY: the factors are floats, of double precision for such products, or integers; the algorithm is one that was proposed.
        let (one, zero, of_k) = unsafe {
            let factor = |at: *const c_void| match made {
                1 => *at.cast::<f64>(),
                R_32I => f64::from(*at.cast::<i32>()),
                _ => f64::from(*at.cast::<f32>()),
            };
            (factor(alpha), factor(beta), (*algorithm)[0])
        };
        if (one, zero) != (1.0, 0.0) || of_k != k as u64 || c_at != d_at.cast_const() {
            state.find("cublasLt: factors that are not 1 and 0, or an algorithm that was not proposed for the product");
            return INVALID;
        }
        product.at = [d_at as u64, a_at as u64, b_at as u64];
        product.workspace = (workspace as u64, bytes);
        let stream = stream as u64;
        let Some(device) = state.streams.get(&stream).map(|s| s.device) else { return INVALID };
        state.queue(stream, device, Work::Product(Box::new(product))) as c_int
    }
}

fn size(dtype: c_int) -> usize {
    match dtype {
        0 | R_32I => 4,
        1 => 8,
        R_8I => 1,
        _ => 2,
    }
}

/// # Safety
/// There is an element.
unsafe fn get(dtype: c_int, at: u64, i: usize) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            0 => f64::from(*(at as *const f32).add(i)),
            1 => *(at as *const f64).add(i),
            2 => (*(at as *const f16).add(i)).to_f64(),
            R_8I => f64::from(*(at as *const i8).add(i)),
            _ => (*(at as *const bf16).add(i)).to_f64(),
        }
    }
}

/// # Safety
/// There is room for an element.
unsafe fn put(dtype: c_int, at: u64, i: usize, value: f64) {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            0 => *(at as *mut f32).add(i) = value as f32,
            1 => *(at as *mut f64).add(i) = value,
            2 => *(at as *mut f16).add(i) = f16::from_f32(value as f32),
            // Sums wrap.
            R_32I => *(at as *mut i32).add(i) = value as i64 as i32,
            _ => *(at as *mut bf16).add(i) = bf16::from_f32(value as f32),
        }
    }
}

impl Product {
    /// Of 8-bit integers the first matrix is transposed and the second is not, and all but the columns of the second are multiples of 4.
    fn is_of_floats_or_fits(&self) -> bool {
        let [d, a, b] = self.layouts;
        let sizes = [d.rows, d.ld, a.rows, a.ld, b.rows, b.ld];
        a.dtype != R_8I || self.transposed == [true, false] && sizes.iter().all(|size| size.is_multiple_of(4))
    }

    pub(crate) fn run(&self, state: &mut State) {
        let reach = |l: &Layout| ((l.batch - 1) as i64 * l.step) as usize + (l.columns - 1) * l.ld + l.rows;
        let [d, a, b] = self.layouts;
        let bytes = |l: &Layout| reach(l) * size(l.dtype);
        let live =
            self.layouts.iter().zip(self.at).fold(true, |all, (l, at)| state.takes("cublasLt", at, bytes(l)) && all);
        let has_bias = self.epilogue & BIAS != 0;
        let bias = !has_bias || state.takes("the bias of cublasLt", self.bias, d.rows * size(d.dtype));
        let (workspace, room) = self.workspace;
        if room < WANTED || !state.takes("the working memory of cublasLt", workspace, room) || !live || !bias {
            return;
        }
        let place = |at: u64| state.arena.place(at) as u64;
        let (at, bias) = (self.at.map(place), place(self.bias));
        // SAFETY: the matrices, the bias and the working memory are in live blocks.
        unsafe {
            std::ptr::write_bytes(state.arena.place(workspace), 0xCD, WANTED);
            let k = if self.transposed[0] { a.rows } else { a.columns };
            for batch in 0..d.batch {
                let start = |l: &Layout| (batch as i64 * l.step) as usize;
                for column in 0..d.columns {
                    for row in 0..d.rows {
                        let mut sum = 0.0;
                        for i in 0..k {
                            let (ar, ac) = if self.transposed[0] { (i, row) } else { (row, i) };
                            let (br, bc) = if self.transposed[1] { (column, i) } else { (i, column) };
                            let x = get(a.dtype, at[1], start(&a) + ac * a.ld + ar);
                            sum += x * get(b.dtype, at[2], start(&b) + bc * b.ld + br);
                        }
                        if has_bias {
                            sum += get(d.dtype, bias, row);
                        }
                        if self.epilogue & RELU != 0 {
                            sum = if sum < 0.0 { 0.0 } else { sum };
                        }
                        put(d.dtype, at[0], start(&d) + column * d.ld + row, sum);
                    }
                }
            }
        }
    }
}
