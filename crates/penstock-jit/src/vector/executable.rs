//! Memory that holds machine code.

use memmap2::{Mmap, MmapMut};

/// Code, from which nothing is written any more.
pub(super) struct Executable(Mmap);

impl Executable {
    /// `None` where memory cannot be made executable.
    pub(super) fn new(code: &[u8]) -> Option<Executable> {
        let mut memory = MmapMut::map_anon(code.len()).ok()?;
        memory.copy_from_slice(code);
        // Before the memory is read-only: some processors want that.
        clean(&memory);
        let memory = memory.make_exec().ok()?;
        synchronise();
        Some(Executable(memory))
    }

    pub(super) fn start(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

/// Makes instructions be fetched from what was written, where the caches of data and of instructions do not see to that.
#[cfg(not(target_arch = "aarch64"))]
fn clean(_: &[u8]) {}

#[cfg(all(target_arch = "aarch64", not(any(target_vendor = "apple", windows))))]
fn clean(code: &[u8]) {
    use std::arch::asm;
    let (start, end) = (code.as_ptr() as usize, code.as_ptr() as usize + code.len());
    let sizes: usize;
    // SAFETY: reads the register that says how large the lines of the caches are; programs may.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack, preserves_flags)) };
    let [code_line, data_line] = [4 << (sizes & 15), 4 << (sizes >> 16 & 15)];
    for at in (start & !(data_line - 1)..end).step_by(data_line) {
        // SAFETY: writes a line back to where instructions are fetched from; it is of memory of `code`.
        unsafe { asm!("dc cvau, {}", in(reg) at, options(nostack, preserves_flags)) };
    }
    // SAFETY: waits for that.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for at in (start & !(code_line - 1)..end).step_by(code_line) {
        // SAFETY: drops a line of the cache of instructions; it is of memory of `code`.
        unsafe { asm!("ic ivau, {}", in(reg) at, options(nostack, preserves_flags)) };
    }
    // SAFETY: waits for that, and drops what this processor has fetched ahead.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

#[cfg(all(target_arch = "aarch64", target_vendor = "apple"))]
fn clean(code: &[u8]) {
    unsafe extern "C" {
        fn sys_icache_invalidate(start: *mut std::ffi::c_void, len: usize);
    }
    // SAFETY: the memory is that of `code`, which the function only reads.
    unsafe { sys_icache_invalidate(code.as_ptr().cast_mut().cast(), code.len()) };
}

#[cfg(all(target_arch = "aarch64", windows))]
fn clean(code: &[u8]) {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetCurrentProcess() -> *mut std::ffi::c_void;
        fn FlushInstructionCache(process: *mut std::ffi::c_void, start: *const std::ffi::c_void, len: usize) -> i32;
    }
    // SAFETY: the memory is that of `code`, in this process.
    unsafe { FlushInstructionCache(GetCurrentProcess(), code.as_ptr().cast(), code.len()) };
}

/// Makes every processor that runs this process drop what it has fetched ahead: the memory may have held other code before.
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
fn synchronise() {
    const SYNC_CORE: libc::c_int = 1 << 5;
    const REGISTER_SYNC_CORE: libc::c_int = 1 << 6;
    // SAFETY: the system call takes no memory. Where it is refused, what is fetched ahead is dropped at the next system call.
    unsafe {
        if libc::syscall(libc::SYS_membarrier, SYNC_CORE, 0) != 0 {
            libc::syscall(libc::SYS_membarrier, REGISTER_SYNC_CORE, 0);
            libc::syscall(libc::SYS_membarrier, SYNC_CORE, 0);
        }
    }
}

#[cfg(not(all(target_arch = "aarch64", target_os = "linux")))]
fn synchronise() {}
