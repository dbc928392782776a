//! The emulated driver, as the tests call it.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::ffi::{CString, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::sys::{self, CUresult};
use penstock_mockcuda::{
    Mock, nvrtcCompileProgram, nvrtcCreateProgram, nvrtcDestroyProgram, nvrtcGetCUBIN, nvrtcGetCUBINSize,
};

/// The emulated driver with a context, for one test at a time.
pub(crate) struct Driver {
    pub(crate) mock: &'static Mock,
    _turn: MutexGuard<'static, ()>,
}

pub(crate) fn ok(code: CUresult) {
    assert_eq!(code, CUresult::CUDA_SUCCESS);
}

/// The driver; `None` where there is no `g++`.
pub(crate) fn driver() -> Option<Driver> {
    static MOCK: OnceLock<Option<Mock>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if std::process::Command::new("g++").arg("--version").output().is_err() {
        eprintln!("skipped: there is no g++");
        return None;
    }
    let mock = MOCK.get_or_init(Mock::load).as_ref()?;
    // SAFETY: the calls that begin a use of the driver.
    unsafe {
        ok(sys::cuInit(0));
        let mut context = std::ptr::null_mut();
        ok(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(sys::cuCtxSetCurrent(context));
    }
    mock.findings();
    Some(Driver { mock, _turn: turn })
}

impl Driver {
    pub(crate) fn stream(&self) -> sys::CUstream {
        let mut out = std::ptr::null_mut();
        // SAFETY: writes a handle.
        unsafe { ok(sys::cuStreamCreate(&mut out, 1)) };
        out
    }

    pub(crate) fn memory(&self, len: usize, stream: sys::CUstream) -> u64 {
        let mut out = 0;
        // SAFETY: writes an address.
        unsafe { ok(sys::cuMemAllocAsync(&mut out, len, stream)) };
        out
    }

    pub(crate) fn kernel(&self, text: &str, name: &str) -> sys::CUfunction {
        let (source, name) = (CString::new(text).expect("a text"), CString::new(name).expect("a name"));
        let (mut program, mut module, mut function) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the texts end, and the image is as long as it says.
        unsafe {
            nvrtcCreateProgram(&mut program, source.as_ptr(), c"t".as_ptr(), 0, std::ptr::null(), std::ptr::null());
            assert_eq!(nvrtcCompileProgram(program, 0, [std::ptr::null()].as_ptr()), 0);
            let mut len = 0;
            nvrtcGetCUBINSize(program, &mut len);
            let mut image = vec![0u8; len];
            nvrtcGetCUBIN(program, image.as_mut_ptr().cast());
            nvrtcDestroyProgram(&mut program);
            ok(sys::cuModuleLoadData(&mut module, image.as_ptr().cast()));
            ok(sys::cuModuleGetFunction(&mut function, module, name.as_ptr()));
        }
        function
    }

    pub(crate) fn launch(
        &self,
        function: sys::CUfunction,
        blocks: u32,
        threads: u32,
        stream: sys::CUstream,
        args: &[u64],
    ) {
        let mut places: Vec<*mut c_void> = args.iter().map(|a| std::ptr::from_ref(a).cast_mut().cast()).collect();
        // SAFETY: the kernels of these tests have parameters of 64 bits.
        unsafe {
            let (none, params) = (std::ptr::null_mut(), places.as_mut_ptr());
            ok(sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, none));
        }
    }

    pub(crate) fn wait(&self, stream: sys::CUstream) -> CUresult {
        // SAFETY: the stream is alive.
        unsafe { sys::cuStreamSynchronize(stream) }
    }

    pub(crate) fn read(&self, from: u64, stream: sys::CUstream) -> u32 {
        let mut out = 0u32;
        // SAFETY: writes four bytes.
        unsafe { ok(sys::cuMemcpyDtoHAsync_v2(std::ptr::from_mut(&mut out).cast(), from, 4, stream)) };
        ok(self.wait(stream));
        out
    }

    #[track_caller]
    pub(crate) fn assert_found(&self, text: &str) {
        let found = self.mock.findings();
        assert!(found.iter().any(|f| f.contains(text)), "{found:?}");
    }
}
