//! Comparisons of remainders with constants, which need no division.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::FunctionBuilder;
use penstock_ir::ElementFn;
use penstock_kernels::Binary;

use crate::emit::type_of;
use crate::ranges::{Ranges, whole};
use crate::source::{Id, Node, Source};

/// `x % divisor == remainder`, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Residue {
    pub(crate) x: Id,
    divisor: u64,
    /// Less than the divisor.
    remainder: u64,
    equal: bool,
    bits: u32,
    /// Whether `x` may be negative.
    signed: bool,
}

/// The comparisons of a region that are tests of residues.
pub(crate) struct Residues {
    tests: Vec<Option<Residue>>,
    unused: Vec<bool>,
}

impl Residues {
    /// Finds them.
    pub(crate) fn of(source: &Source, ranges: &Ranges) -> Residues {
        let definitions = source.definitions();
        let mut tests = vec![None; source.origin_count()];
        let mut uses = source.uses();
        source.body.visit(&mut |node| {
            let Node::Op { function: ElementFn::Binary(op), ins, origin, .. } = node else { return };
            let constant = |id: Id| match definitions[id as usize] {
                Some(Node::Const { bits, .. }) => whole(source.dtypes[id as usize], *bits),
                _ => None,
            };
            let (&[a, b], true) = (&ins[..], matches!(op, Binary::Equal | Binary::NotEqual)) else { return };
            let (divided, remainder) = if constant(a).is_some() { (b, a) } else { (a, b) };
            let Some(Node::Op { function: ElementFn::Binary(division), ins: parts, origin: at, .. }) =
                definitions[divided as usize]
            else {
                return;
            };
            let dtype = source.dtypes[divided as usize];
            let machine = type_of(dtype).filter(|&ty| ty == I32 || ty == I64);
            let remains = dtype.is_integer() && matches!(division, Binary::FloorMod | Binary::TruncMod);
            let (Some(ty), true, Some(remainder)) = (machine, remains, constant(remainder)) else { return };
            let Some(divisor) = constant(parts[1]).filter(|&d| d > 1) else { return };
            let signed = ranges.operand(*at, 0).low < 0;
            // What truncates gives remainders of both signs.
            let floors = *division == Binary::FloorMod || remainder == 0 || !signed;
            if floors && (0..divisor).contains(&remainder) {
                let (divisor, remainder) = (divisor as u64, remainder as u64);
                let (x, equal, bits) = (parts[0], *op == Binary::Equal, ty.bits());
                tests[*origin as usize] = Some(Residue { x, divisor, remainder, equal, bits, signed });
                uses[divided as usize] -= 1;
            }
        });
        let unused = uses.into_iter().map(|n| n == 0).collect();
        Residues { tests, unused }
    }

    /// The test that the operator with this origin is.
    pub(crate) fn test(&self, origin: u32) -> Option<Residue> {
        self.tests[origin as usize]
    }

    /// Whether nothing needs a scalar.
    pub(crate) fn is_unused(&self, id: Id) -> bool {
        self.unused[id as usize]
    }
}

impl Residue {
    /// The test on `x`.
    ///
    /// The inverse of an odd divisor modulo 2^bits takes its multiples, and them alone, to their quotients, which are the
    /// numbers up to `max / divisor`. A factor of 2^k in the divisor is k zeros at the low end of a multiple, which a
    /// rotation would bring to the high end if they were none. H. S. Warren, Hacker's Delight, 10-17.
    pub(crate) fn emit(self, b: &mut FunctionBuilder<'_>, x: Value) -> Value {
        let Residue { divisor, remainder, equal, bits, signed, .. } = self;
        if divisor.is_power_of_two() {
            let low = b.ins().band_imm_s(x, (divisor - 1) as i64);
            return b.ins().icmp_imm_s(if equal { IntCC::Equal } else { IntCC::NotEqual }, low, remainder as i64);
        }
        let max = u64::MAX >> (64 - bits);
        // A signed number and half of the range more is an unsigned one, with another remainder.
        let offset = if signed { max / 2 + 1 } else { 0 };
        let remainder = (offset % divisor + remainder) % divisor;
        let shift = divisor.trailing_zeros();
        let less = offset.wrapping_sub(remainder) & max;
        let moved = if less == 0 { x } else { b.ins().iadd_imm_s(x, sign_extended(less, bits)) };
        let inverse = sign_extended(inverse(divisor >> shift) & max, bits);
        let mut quotient = b.ins().imul_imm_s(moved, inverse);
        if shift > 0 {
            quotient = b.ins().rotr_imm_s(quotient, i64::from(shift));
        }
        let most = sign_extended((max - remainder) / divisor, bits);
        let how = if equal { IntCC::UnsignedLessThanOrEqual } else { IntCC::UnsignedGreaterThan };
        b.ins().icmp_imm_u(how, quotient, most)
    }
}

fn sign_extended(word: u64, bits: u32) -> i64 {
    (word << (64 - bits)) as i64 >> (64 - bits)
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the number of right bits.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |y, _| y.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(y))))
}
