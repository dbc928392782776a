//! Arrays of more than 2^32 elements: no position, extent or byte offset may pass through 32 bits.
//!
//! The arrays are zeros that were never written, which take no memory while they are only read. One test writes them all
//! and needs the memory: it says so and ends where there is less. Under sanitizers, which note something of each byte that is read, all
//! would take more memory than most machines have.

#![expect(unsafe_code, reason = "kernels take raw memory")]
#![cfg(all(target_pointer_width = "64", not(penstock_sanitizers)))]

use std::alloc::{Layout, alloc_zeroed, dealloc};

use penstock_data::DType;
use penstock_kernels::gather::{Indices, gather, one_hot};
use penstock_kernels::positions::Nonzero;
use penstock_kernels::segment::{AlongAxis, take_along};
use penstock_kernels::sort::{Direction, Rows, Side, search_sorted, select};
use penstock_kernels::{Reduce, arg_reduce, copy, reduce};

/// One element more than 32 bits count.
const N: usize = (1 << 32) + 5;

/// Bytes of zero.
struct Zeros {
    ptr: *mut u8,
    layout: Layout,
}

impl Zeros {
    fn new(bytes: usize) -> Zeros {
        let layout = Layout::from_size_align(bytes, 64).unwrap();
        // SAFETY: the layout has a size.
        let ptr = unsafe { alloc_zeroed(layout) };
        assert!(!ptr.is_null(), "{bytes} bytes of address space");
        Zeros { ptr, layout }
    }

    /// Zeros but for the last byte.
    fn but_last(bytes: usize) -> Zeros {
        let zeros = Zeros::new(bytes);
        // SAFETY: inside.
        unsafe { zeros.ptr.add(bytes - 1).write(7) };
        zeros
    }
}

/// The bytes of memory that are available, where the system says so.
fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse().ok().map(|kib: usize| kib << 10)
}

impl Drop for Zeros {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.ptr, self.layout) };
    }
}

#[test]
fn elements_far_out_are_reached_by_index() {
    let x = Zeros::but_last(N);
    let list = [N as i64 - 1, 0, N as i64 - 2];
    let indices = |count| Indices { ptr: list.as_ptr().cast(), dtype: DType::I64, count };
    let mut out = [9u8; 3];
    // SAFETY: buffers of these sizes.
    unsafe {
        gather(x.ptr, 1, N, 1, indices(3), out.as_mut_ptr()).unwrap();
        assert_eq!(out, [7, 0, 0]);
        assert_eq!(gather(x.ptr, 1, N - 1, 1, indices(3), out.as_mut_ptr()), Err(0));
        let along = AlongAxis { outer: 1, n: N, k: 3, inner: 1 };
        take_along(1, along, x.ptr, indices(3), out.as_mut_ptr()).unwrap();
        assert_eq!(out, [7, 0, 0]);
        // The last column of three rows.
        let (dims, third) = ([3, N / 3], N / 3);
        copy::strided_slice(1, x.ptr.add(N % 3), &dims, &[0, third - 1], &[1, 1], &[3, 1], out.as_mut_ptr());
        assert_eq!(out, [0, 0, 7]);
        // Every 2^31st from the end.
        copy::strided_slice(1, x.ptr, &[N], &[N - 1], &[-(1 << 31)], &[3], out.as_mut_ptr());
        assert_eq!(out, [7, 0, 0]);
        // The pieces of rows whose pitch is above 32 bits.
        let mut last = 0u8;
        copy::strided_slice(1, x.ptr, &[1, N], &[0, N - 1], &[1, 1], &[1, 1], &mut last);
        assert_eq!(last, 7);
    }
}

#[test]
fn places_far_out_are_found_by_search() {
    let x = Zeros::but_last(N);
    let (values, mut out) = ([0u8, 7, 8], [0i64; 3]);
    for (side, want) in [(Side::Left, [0, N - 1, N]), (Side::Right, [N - 1, N, N])] {
        // SAFETY: buffers of these sizes.
        unsafe {
            search_sorted(DType::U8, side, [1, N, 3], x.ptr, values.as_ptr(), DType::I64, out.as_mut_ptr().cast());
        }
        assert_eq!(out, want.map(|n| n as i64));
    }
}

#[test]
fn reductions_and_searches_see_the_last_element() {
    let x = Zeros::but_last(N);
    // SAFETY: buffers of these sizes.
    unsafe {
        let mut byte = 0u8;
        for (op, want) in [(Reduce::Sum, 7), (Reduce::Max, 7), (Reduce::Min, 0)] {
            reduce(op, DType::U8, x.ptr, &[N], &[true], &mut byte);
            assert_eq!(byte, want, "{op:?}");
        }
        reduce(Reduce::Any, DType::Bool, x.ptr, &[N], &[true], &mut byte);
        assert_eq!(byte, 1);
        let mut place = 0i64;
        let to = (&raw mut place).cast();
        arg_reduce(true, DType::U8, x.ptr, 1, N, 1, DType::I64, to);
        assert_eq!(place, N as i64 - 1);
        let found = Nonzero::count(DType::U8, x.ptr, N);
        assert_eq!(found.total(), 1);
        found.write(DType::U8, x.ptr, &[N], to.cast());
        assert_eq!(place, N as i64 - 1);
        let rows = Rows { outer: 1, n: N, inner: 1 };
        select(DType::U8, rows, 1, Direction::Descending, x.ptr, Some(&mut byte), DType::I64, to);
        assert_eq!((byte, place), (7, N as i64 - 1));
    }
}

#[test]
fn results_far_out_are_written() {
    if let Some(free) = available().filter(|&free| free < N + (1 << 30)) {
        return eprintln!("not run: it writes 4 GiB, and {free} bytes of memory are available");
    }
    let out = Zeros::new(N);
    let (index, on, off) = ([N as i64 - 1], 1u8, 0u8);
    let indices = Indices { ptr: index.as_ptr().cast(), dtype: DType::I64, count: 1 };
    // SAFETY: buffers of these sizes.
    unsafe {
        one_hot(1, indices, 1, N, 1, &on, &off, out.ptr);
        assert_eq!((out.ptr.add(N - 1).read(), out.ptr.add(N - 1 - (1 << 32)).read()), (1, 0));
    }
}
