//! The matrix unit of AMX, for products of bytes: tiles of 16 rows of 64 bytes each.

#![expect(unsafe_code, reason = "instructions that have no functions yet")]

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::LazyLock;

use crate::arch::{Level, level};
use crate::integer_tile::{Block, CHUNK, LINES, put};

/// Whether the machine has the unit, and the system lets this process use it.
pub(crate) fn is_there() -> bool {
    static IS_THERE: LazyLock<bool> = LazyLock::new(|| level() == Level::V4 && has_tiles_of_bytes() && is_permitted());
    *IS_THERE
}

fn has_tiles_of_bytes() -> bool {
    const AMX_TILE_AND_INT8: u32 = 0b11 << 24;
    // A machine of level V4 has this leaf.
    __cpuid_count(7, 0).edx & AMX_TILE_AND_INT8 == AMX_TILE_AND_INT8
}

/// Asks the system for the state of tiles, for all threads of this process.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: the call takes two numbers and touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

/// The shapes of the tiles, as `ldtilecfg` reads them: eight of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start: u8,
    zeros: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

static SHAPES: Shapes = Shapes {
    palette: 1,
    start: 0,
    zeros: [0; 14],
    bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// The square of 32 by 32 elements that two stripes of each side make.
#[repr(C, align(64))]
struct Square([[i32; 2 * LINES]; 2 * LINES]);

/// Products of two stripes by two, `(a, b, bytes of a stripe, chunks, out, bytes from row to row)`; a second stripe may be the first.
type Four = unsafe fn([*const u32; 2], [*const u32; 2], usize, *mut i32, usize);

/// Defines products of four pairs of stripes by the instruction that multiplies tiles.
macro_rules! four {
    ($($name:ident: $dot:literal;)*) => {$(
        /// # Safety
        /// Shapes of tiles are set. Stripes have so many chunks, not none; `out` is writable for 32 rows of 128 bytes.
        unsafe fn $name(a: [*const u32; 2], b: [*const u32; 2], chunks: usize, out: *mut i32, ldo: usize) {
            // SAFETY: the caller's contract; loads are of whole chunks. Nothing but this function uses tiles.
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{a0} + {line}]",
                    "tileloadd tmm6, [{b0} + {line}]",
                    concat!($dot, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [{b1} + {line}]",
                    concat!($dot, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [{a1} + {line}]",
                    concat!($dot, " tmm2, tmm5, tmm6"),
                    concat!($dot, " tmm3, tmm5, tmm7"),
                    "add {a0}, 1024",
                    "add {a1}, 1024",
                    "add {b0}, 1024",
                    "add {b1}, 1024",
                    "dec {chunks}",
                    "jnz 2b",
                    "tilestored [{out} + {ldo}], tmm0",
                    "tilestored [{out} + {ldo} + 64], tmm1",
                    "tilestored [{low} + {ldo}], tmm2",
                    "tilestored [{low} + {ldo} + 64], tmm3",
                    a0 = inout(reg) a[0] => _,
                    a1 = inout(reg) a[1] => _,
                    b0 = inout(reg) b[0] => _,
                    b1 = inout(reg) b[1] => _,
                    line = in(reg) 64usize,
                    chunks = inout(reg) chunks => _,
                    out = in(reg) out,
                    low = in(reg) out.wrapping_add(LINES * ldo),
                    ldo = in(reg) ldo * size_of::<i32>(),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    )*};
}

four! {
    signed_by_signed: "tdpbssd";
    signed_by_unsigned: "tdpbsud";
    unsigned_by_signed: "tdpbusd";
    unsigned_by_unsigned: "tdpbuud";
}

/// # Safety
/// As for [`crate::integer_tile::Kernel::run`]; [`is_there`] says so.
pub(crate) unsafe fn run(block: &Block) {
    let four: Four = match block.signed {
        (true, true) => signed_by_signed,
        (true, false) => signed_by_unsigned,
        (false, true) => unsigned_by_signed,
        (false, false) => unsigned_by_unsigned,
    };
    let stripe = block.chunks * CHUNK;
    let mut square = Square([[0; 2 * LINES]; 2 * LINES]);
    // SAFETY: a second stripe is taken only where it is there; what goes to `out` at once is a whole square of it.
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, readonly));
        for column in (0..block.columns).step_by(2 * LINES) {
            let width = (block.columns - column).min(2 * LINES);
            for row in (0..block.rows).step_by(2 * LINES) {
                let height = (block.rows - row).min(2 * LINES);
                let two = |from: *const u32, line: usize, lines: usize| {
                    let first = from.add(line / LINES * stripe);
                    [first, if lines > LINES { first.add(stripe) } else { first }]
                };
                let (a, b) = (two(block.a, row, height), two(block.b, column, width));
                let out = block.out.add(row * block.ldo + column);
                if height == 2 * LINES && width == 2 * LINES && !block.add {
                    four(a, b, block.chunks, out, block.ldo);
                    continue;
                }
                four(a, b, block.chunks, square.0.as_mut_ptr().cast(), 2 * LINES);
                for (i, line) in square.0.iter().enumerate().take(height) {
                    put(&line[..width], out.add(i * block.ldo), block.add);
                }
            }
        }
        asm!("tilerelease", options(nostack));
    }
}
