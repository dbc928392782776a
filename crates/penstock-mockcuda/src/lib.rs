//! A CUDA driver, its run-time compiler, cuDNN's convolutions and cublasLt's products, emulated on the host, so that the CUDA device is tested without a GPU.
//!
//! The library has the C functions of all four, as many as the engine calls; [`path`] says where its file is,
//! which `PENSTOCK_CUDA_DRIVER`, `PENSTOCK_NVRTC` and `PENSTOCK_CUDNN` then name. Kernels are compiled by `g++`, after the real NVRTC has
//! checked them where `PENSTOCK_MOCK_NVRTC` names it.
//!
//! - **Memory** of the devices is closed to the host between calls of the driver. Fresh and freed memory are filled with
//!   bytes that mean nothing, and each block lies between zones that nobody may write.
//! - **Time**: a stream is a queue that runs only when somebody waits; a seed decides which of several goes on. Pinned
//!   memory is read when the copy runs, other memory at the call; the target of a copy to the host is overwritten first.
//! - **Threads** of a block are fibers where the kernel has barriers, so that shuffles and barriers that not all threads
//!   reach are found. With `PENSTOCK_MOCK_RACES=1` kernels are compiled so that races of threads are found, too.
//!
//! With `PENSTOCK_MOCK_IDLE=1` kernels and graphs are forgotten instead of run: what a program takes then is what the host does for it.
//!
//! What is found wrong is printed, kept for [`Mock::findings`], and added to the file that `PENSTOCK_MOCK_FINDINGS` names.
//! The emulation says nothing about speed, the memory
//! model, or the quirks of real drivers.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "C functions, and code that was compiled a moment ago")]
#![allow(non_snake_case, reason = "the names of the driver's functions")]

mod compiler;
mod dnn;
mod driver;
mod lt;
mod memory;
mod races;
mod state;

pub use compiler::*;
pub use dnn::*;
pub use driver::*;
pub use lt::*;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;

use libloading::Library;

use crate::state::state;

/// Sets what `name` says: `seed`, `devices`, `memory`, `driver_version`, `init`, `eager`, `idle`, `races` or
/// `without_barrier`. 0 where there is no such setting.
///
/// # Safety
/// `name` is a text that ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mockcuda_set(name: *const c_char, value: i64) -> c_int {
    let mut state = state();
    // SAFETY: the caller's promise.
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"seed" => state.set_seed(value as u64),
        b"devices" => state.settings.devices = value as i32,
        b"memory" => state.settings.memory = value as usize,
        b"driver_version" => state.settings.driver_version = value as i32,
        b"init" => state.settings.init = value as i32,
        b"eager" => state.settings.eager = value != 0,
        b"idle" => state.settings.idle = value != 0,
        b"races" => state.settings.races = value != 0,
        b"without_barrier" => state.settings.without_barrier = value as usize,
        _ => return 0,
    }
    1
}

/// Makes the `nth` call of a function from now, and those behind it, `times` in all, fail with `code`.
///
/// # Safety
/// `name` is a text that ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mockcuda_fail(name: *const c_char, nth: u64, times: u64, code: c_int) {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let mut state = state();
    let so_far = state.counts.get(name.as_str()).copied().unwrap_or(0);
    let first = so_far + nth;
    state.failures.insert(name, (first..first + times, code));
}

/// The calls of a function so far, or the launches of a kernel.
///
/// # Safety
/// `name` is a text that ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mockcuda_count(name: *const c_char) -> u64 {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let state = state();
    state.counts.get(&*name).or_else(|| state.launches.get(&*name)).copied().unwrap_or(0)
}

/// The live blocks of all devices, after everything that is queued has run.
#[unsafe(no_mangle)]
pub extern "C" fn mockcuda_blocks() -> u64 {
    let mut state = state();
    state.drain();
    state.arena.blocks() as u64
}

/// Takes what was found wrong so far, one a line: writes up to `len` bytes of it, and returns how many there are.
///
/// # Safety
/// `out` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mockcuda_findings(out: *mut c_char, len: usize) -> usize {
    let text = std::mem::take(&mut state().findings).join("\n");
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), text.len().min(len)) };
    text.len()
}

/// The file of the library beside the running test; `None` where it was not built.
pub fn path() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_path_buf();
    let file = folder.join("libpenstock_mockcuda.so");
    file.exists().then_some(file)
}

/// The emulated driver of the process, as tests steer it.
pub struct Mock(Library);

impl Mock {
    /// Loads the library; `None` where it was not built.
    pub fn load() -> Option<Mock> {
        // SAFETY: this crate's own library, which does nothing when it is loaded.
        unsafe { Library::new(path()?) }.ok().map(Mock)
    }

    /// Sets a setting; see [`mockcuda_set`].
    ///
    /// # Panics
    /// Where there is no such setting.
    pub fn set(&self, name: &str, value: i64) {
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: the function has this type.
        let known = unsafe {
            let set = self.0.get::<unsafe extern "C" fn(*const c_char, i64) -> c_int>(b"mockcuda_set\0");
            set.is_ok_and(|set| set(text.as_ptr(), value) != 0)
        };
        assert!(known, "no setting {name}");
    }

    /// Makes the `nth` call of a function from now fail with a code of the driver.
    pub fn fail(&self, name: &str, nth: u64, code: i32) {
        self.fail_times(name, nth, 1, code);
    }

    /// Makes the `nth` call of a function from now, and those behind it, `times` in all, fail with a code of the driver.
    pub fn fail_times(&self, name: &str, nth: u64, times: u64, code: i32) {
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: the function has this type.
        unsafe {
            if let Ok(fail) = self.0.get::<unsafe extern "C" fn(*const c_char, u64, u64, c_int)>(b"mockcuda_fail\0") {
                fail(text.as_ptr(), nth, times, code);
            }
        }
    }

    /// The calls of a function so far, or the launches of a kernel.
    pub fn count(&self, name: &str) -> u64 {
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: the function has this type.
        unsafe {
            self.0
                .get::<unsafe extern "C" fn(*const c_char) -> u64>(b"mockcuda_count\0")
                .map_or(0, |count| count(text.as_ptr()))
        }
    }

    /// The live blocks of all devices, after everything that is queued has run.
    pub fn blocks(&self) -> u64 {
        // SAFETY: the function has this type.
        unsafe { self.0.get::<extern "C" fn() -> u64>(b"mockcuda_blocks\0").map_or(0, |blocks| blocks()) }
    }

    /// Takes what was found wrong so far.
    pub fn findings(&self) -> Vec<String> {
        let mut out = vec![0u8; 1 << 16];
        // SAFETY: the function has this type, and writes no more than it is given.
        let len = unsafe {
            self.0
                .get::<unsafe extern "C" fn(*mut c_char, usize) -> usize>(b"mockcuda_findings\0")
                .map_or(0, |take| take(out.as_mut_ptr().cast(), out.len()))
        };
        out.truncate(len);
        String::from_utf8_lossy(&out).lines().map(String::from).collect()
    }
}
