//! Elements in another order: what is of one instruction on aarch64 takes several on x86, whose instructions stay within pieces
//! of 16 bytes.

use super::super::Machine;
use super::super::op::{Elem, Make, Op};
use super::super::select::{Builder, Id};
use super::encode::{Code, Length};
use super::form::length;

/// An instruction that takes elements of two vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::vector) struct Shuffle {
    pub(super) code: Code,
    pub(super) length: Length,
    pub(super) immediate: Option<u8>,
    /// Whether the second vector may lie in memory.
    pub(super) from_memory: bool,
}

impl Builder {
    /// What two vectors have at even places, and what they have at odd ones.
    pub(in crate::vector) fn shuffled_apart(&mut self, a: Id, b: Id) -> (Id, Id) {
        // The pieces of 16 bytes at even places, and those at odd ones; of both what is at even places, and at odd ones.
        let (even, odd) = self.pieces(a, b, Some(0x88), Some(0xdd));
        let wide = self.elem(a).is_wide();
        let (re, im) = if wide { (0x00, 0xff) } else { (0x88, 0xdd) };
        let code = Code::float(0xc6, wide);
        (self.shuffle(code, even, odd, Some(re)), self.shuffle(code, even, odd, Some(im)))
    }

    /// Two vectors of the elements of two in turn.
    pub(in crate::vector) fn shuffled_together(&mut self, a: Id, b: Id) -> (Id, Id) {
        let elem = self.elem(a);
        let low = self.shuffle(Code::float(0x14, elem.is_wide()), a, b, None);
        let high = self.shuffle(Code::float(0x15, elem.is_wide()), a, b, None);
        let (mut first, mut second) = self.pieces(low, high, Some(0x44), Some(0xee));
        if length(self, elem) == 2 {
            // Two pieces of one, then two of the other: those in the middle change places.
            first = self.pieces(first, first, Some(0xd8), None).0;
            second = self.pieces(second, second, Some(0xd8), None).0;
        }
        (first, second)
    }

    /// Two vectors of pieces of 16 bytes of `a` and `b`: those that `first` and `second` name where a vector has four, two of `a`
    /// and then two of `b`; where it has two, one of each.
    fn pieces(&mut self, a: Id, b: Id, first: Option<u8>, second: Option<u8>) -> (Id, Id) {
        let four = length(self, self.elem(a)) == 2;
        let (code, halves) = match self.machine {
            Machine::Avx512 => (Code::new(1, 3, 0x23, true), [0, 3]),
            _ => (Code::new(1, 3, 0x06, false), [0x20, 0x31]),
        };
        let [first, second] = if four { [first, second] } else { halves.map(Some) };
        let made = self.shuffle(code, a, b, first);
        (made, if second.is_some() { self.shuffle(code, a, b, second) } else { made })
    }

    fn shuffle(&mut self, code: Code, a: Id, b: Id, immediate: Option<u8>) -> Id {
        let length = length(self, self.elem(a));
        self.two(Op::Shuffle(Shuffle { code, length, immediate, from_memory: true }), a, b)
    }

    /// The bytes of the elements of a mask of AVX2.
    pub(in crate::vector) fn packed(&mut self, mask: Id) -> Id {
        let high = self.make(Make::one(Op::HighHalf, Elem::Mask, mask), Elem::Byte);
        let pair = |code, a, b, immediate, this: &mut Builder| {
            let shuffle = Shuffle { code, length: 0, immediate, from_memory: false };
            this.make(Make::two(Op::Shuffle(shuffle), Elem::Byte, a, b), Elem::Byte)
        };
        let dwords_to_words = Code::new(1, 1, 0x6b, false);
        let words = if self.size(Elem::Mask) == 8 {
            let dwords = pair(Code::new(0, 1, 0xc6, false), mask, high, Some(0x88), self);
            pair(dwords_to_words, dwords, dwords, None, self)
        } else {
            pair(dwords_to_words, mask, high, None, self)
        };
        pair(Code::new(1, 1, 0x63, false), words, words, None, self)
    }
}
