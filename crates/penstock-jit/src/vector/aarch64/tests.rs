//! Words of instructions, against those that GNU's assembler gives for their texts.
//!
//! `encodings.txt` is what `tools/test_aarch64.sh encodings` wrote.

use super::encode::{self, Assembler, Condition, SP, ZERO};

/// Instructions with the text that the assembler takes.
fn instructions() -> Vec<(&'static str, Assembler)> {
    let mut found: Vec<(&'static str, Assembler)> = Vec::new();
    let mut add = |text, write: &dyn Fn(&mut Assembler)| {
        let mut asm = Assembler::default();
        write(&mut asm);
        found.push((text, asm));
    };
    add("fadd v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FADD, 0, 0, 1, 2));
    add("fadd v31.2d, v30.2d, v29.2d", &|a| a.three(encode::FADD, 1, 31, 30, 29));
    add("fsub v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FSUB, 0, 0, 1, 2));
    add("fsub v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FSUB, 1, 3, 4, 5));
    add("fmul v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FMUL, 0, 0, 1, 2));
    add("fmul v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FMUL, 1, 3, 4, 5));
    add("fdiv v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FDIV, 0, 0, 1, 2));
    add("fdiv v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FDIV, 1, 3, 4, 5));
    add("fmla v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FMLA, 0, 0, 1, 2));
    add("fmla v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FMLA, 1, 3, 4, 5));
    add("fmls v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FMLS, 0, 0, 1, 2));
    add("fmls v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FMLS, 1, 3, 4, 5));
    add("fcmeq v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FCMEQ, 0, 0, 1, 2));
    add("fcmeq v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FCMEQ, 1, 3, 4, 5));
    add("fcmge v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FCMGE, 0, 0, 1, 2));
    add("fcmge v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FCMGE, 1, 3, 4, 5));
    add("fcmgt v0.4s, v1.4s, v2.4s", &|a| a.three(encode::FCMGT, 0, 0, 1, 2));
    add("fcmgt v3.2d, v4.2d, v5.2d", &|a| a.three(encode::FCMGT, 1, 3, 4, 5));
    add("fabs v6.4s, v7.4s", &|a| a.two(encode::FABS, 0, 6, 7));
    add("fabs v6.2d, v7.2d", &|a| a.two(encode::FABS, 1, 6, 7));
    add("fneg v6.4s, v7.4s", &|a| a.two(encode::FNEG, 0, 6, 7));
    add("fneg v6.2d, v7.2d", &|a| a.two(encode::FNEG, 1, 6, 7));
    add("fsqrt v6.4s, v7.4s", &|a| a.two(encode::FSQRT, 0, 6, 7));
    add("fsqrt v6.2d, v7.2d", &|a| a.two(encode::FSQRT, 1, 6, 7));
    add("frintn v6.4s, v7.4s", &|a| a.two(encode::FRINTN, 0, 6, 7));
    add("frintn v6.2d, v7.2d", &|a| a.two(encode::FRINTN, 1, 6, 7));
    add("frintm v6.4s, v7.4s", &|a| a.two(encode::FRINTM, 0, 6, 7));
    add("frintm v6.2d, v7.2d", &|a| a.two(encode::FRINTM, 1, 6, 7));
    add("frintp v6.4s, v7.4s", &|a| a.two(encode::FRINTP, 0, 6, 7));
    add("frintp v6.2d, v7.2d", &|a| a.two(encode::FRINTP, 1, 6, 7));
    add("frintz v6.4s, v7.4s", &|a| a.two(encode::FRINTZ, 0, 6, 7));
    add("frintz v6.2d, v7.2d", &|a| a.two(encode::FRINTZ, 1, 6, 7));
    add("fcvtzs v6.4s, v7.4s", &|a| a.two(encode::FCVTZS, 0, 6, 7));
    add("fcvtzs v6.2d, v7.2d", &|a| a.two(encode::FCVTZS, 1, 6, 7));
    add("scvtf v6.4s, v7.4s", &|a| a.two(encode::SCVTF, 0, 6, 7));
    add("scvtf v6.2d, v7.2d", &|a| a.two(encode::SCVTF, 1, 6, 7));
    add("fcvtl v8.2d, v9.2s", &|a| a.two(encode::FCVTL, 1, 8, 9));
    add("fcvtl2 v8.2d, v9.4s", &|a| a.two(encode::FCVTL2, 1, 8, 9));
    add("fcvtn v8.2s, v9.2d", &|a| a.two(encode::FCVTN, 1, 8, 9));
    add("fcvtn2 v8.4s, v9.2d", &|a| a.two(encode::FCVTN2, 1, 8, 9));
    add("add v0.4s, v1.4s, v2.4s", &|a| a.three(encode::ADD, 2, 0, 1, 2));
    add("add v0.2d, v1.2d, v2.2d", &|a| a.three(encode::ADD, 3, 0, 1, 2));
    add("sub v0.4s, v1.4s, v2.4s", &|a| a.three(encode::SUB, 2, 0, 1, 2));
    add("sub v0.2d, v1.2d, v2.2d", &|a| a.three(encode::SUB, 3, 0, 1, 2));
    add("mul v0.4s, v1.4s, v2.4s", &|a| a.three(encode::MUL, 2, 0, 1, 2));
    add("smax v0.4s, v1.4s, v2.4s", &|a| a.three(encode::SMAX, 2, 0, 1, 2));
    add("smin v0.4s, v1.4s, v2.4s", &|a| a.three(encode::SMIN, 2, 0, 1, 2));
    add("cmgt v0.4s, v1.4s, v2.4s", &|a| a.three(encode::CMGT, 2, 0, 1, 2));
    add("cmgt v0.2d, v1.2d, v2.2d", &|a| a.three(encode::CMGT, 3, 0, 1, 2));
    add("cmge v0.4s, v1.4s, v2.4s", &|a| a.three(encode::CMGE, 2, 0, 1, 2));
    add("cmge v0.2d, v1.2d, v2.2d", &|a| a.three(encode::CMGE, 3, 0, 1, 2));
    add("cmeq v0.4s, v1.4s, v2.4s", &|a| a.three(encode::CMEQ, 2, 0, 1, 2));
    add("cmeq v0.2d, v1.2d, v2.2d", &|a| a.three(encode::CMEQ, 3, 0, 1, 2));
    add("sshl v0.4s, v1.4s, v2.4s", &|a| a.three(encode::SSHL, 2, 0, 1, 2));
    add("sshl v0.2d, v1.2d, v2.2d", &|a| a.three(encode::SSHL, 3, 0, 1, 2));
    add("abs v6.4s, v7.4s", &|a| a.two(encode::ABS, 2, 6, 7));
    add("abs v6.2d, v7.2d", &|a| a.two(encode::ABS, 3, 6, 7));
    add("neg v6.4s, v7.4s", &|a| a.two(encode::NEG, 2, 6, 7));
    add("neg v6.2d, v7.2d", &|a| a.two(encode::NEG, 3, 6, 7));
    add("xtn v6.8b, v7.8h", &|a| a.two(encode::XTN, 0, 6, 7));
    add("xtn v6.4h, v7.4s", &|a| a.two(encode::XTN, 1, 6, 7));
    add("xtn v6.2s, v7.2d", &|a| a.two(encode::XTN, 2, 6, 7));
    add("uzp1 v0.4s, v1.4s, v2.4s", &|a| a.three(encode::UZP1, 2, 0, 1, 2));
    add("uzp1 v0.2d, v1.2d, v2.2d", &|a| a.three(encode::UZP1, 3, 0, 1, 2));
    add("uzp2 v0.4s, v1.4s, v2.4s", &|a| a.three(encode::UZP2, 2, 0, 1, 2));
    add("uzp2 v0.2d, v1.2d, v2.2d", &|a| a.three(encode::UZP2, 3, 0, 1, 2));
    add("zip1 v0.4s, v1.4s, v2.4s", &|a| a.three(encode::ZIP1, 2, 0, 1, 2));
    add("zip1 v0.2d, v1.2d, v2.2d", &|a| a.three(encode::ZIP1, 3, 0, 1, 2));
    add("zip2 v0.4s, v1.4s, v2.4s", &|a| a.three(encode::ZIP2, 2, 0, 1, 2));
    add("zip2 v0.2d, v1.2d, v2.2d", &|a| a.three(encode::ZIP2, 3, 0, 1, 2));
    add("and v0.16b, v1.16b, v2.16b", &|a| a.three(encode::AND, 0, 0, 1, 2));
    add("orr v0.16b, v1.16b, v2.16b", &|a| a.three(encode::ORR, 0, 0, 1, 2));
    add("eor v0.16b, v1.16b, v2.16b", &|a| a.three(encode::EOR, 0, 0, 1, 2));
    add("bsl v0.16b, v1.16b, v2.16b", &|a| a.three(encode::BSL, 0, 0, 1, 2));
    add("bit v0.16b, v1.16b, v2.16b", &|a| a.three(encode::BIT, 0, 0, 1, 2));
    add("bif v0.16b, v1.16b, v2.16b", &|a| a.three(encode::BIF, 0, 0, 1, 2));
    add("mvn v6.16b, v7.16b", &|a| a.two(encode::NOT, 0, 6, 7));
    add("mov v10.16b, v20.16b", &|a| a.copy(10, 20));
    add("movi v21.2d, #0", &|a| a.clear(21));
    add("shl v6.4s, v7.4s, #23", &|a| a.shift_left(2, 6, 7, 23));
    add("shl v6.2d, v7.2d, #52", &|a| a.shift_left(3, 6, 7, 52));
    add("ushr v6.4s, v7.4s, #23", &|a| a.shift_right(2, 6, 7, 23));
    add("ushr v6.2d, v7.2d, #52", &|a| a.shift_right(3, 6, 7, 52));
    add("ushll v6.8h, v7.8b, #0", &|a| a.widen(0, 6, 7));
    add("ushll v6.4s, v7.4h, #0", &|a| a.widen(1, 6, 7));
    add("ushll v6.2d, v7.2s, #0", &|a| a.widen(2, 6, 7));
    add("ldr q5, [x16, #48]", &|a| a.memory(16, false, 5, 16, 48));
    add("str q31, [sp, #65520]", &|a| a.memory(16, true, 31, SP, 65520));
    add("ldr d5, [x16, #8]", &|a| a.memory(8, false, 5, 16, 8));
    add("str d5, [x16, #8]", &|a| a.memory(8, true, 5, 16, 8));
    add("ldr s5, [x16, #12]", &|a| a.memory(4, false, 5, 16, 12));
    add("str s5, [x16, #12]", &|a| a.memory(4, true, 5, 16, 12));
    add("ldr h5, [x16, #6]", &|a| a.memory(2, false, 5, 16, 6));
    add("str h5, [x16]", &|a| a.memory(2, true, 5, 16, 0));
    add("ld1r {v5.16b}, [x17]", &|a| a.repeat(0, 5, 17));
    add("ld1r {v5.4s}, [x6]", &|a| a.repeat(2, 5, 6));
    add("ld1r {v30.2d}, [x28]", &|a| a.repeat(3, 30, 28));
    add("ldr x17, [x0, #160]", &|a| a.load(17, 0, 160));
    add("str x16, [x0, #168]", &|a| a.store(16, 0, 168));
    add("str xzr, [sp]", &|a| a.store(ZERO, SP, 0));
    add("add x17, x1, #12", &|a| a.add(17, 1, 12));
    add("add sp, sp, #1, lsl #12", &|a| a.add(SP, SP, 4096));
    add("sub sp, sp, #32", &|a| a.subtract(SP, SP, 32));
    add("sub x1, x1, #16", &|a| a.subtract(1, 1, 16));
    add("subs x2, x2, #1", &|a| a.subtract_and_test(2, 2, 1));
    add("add x16, x7, x4, lsl #4", &|a| a.add_shifted(16, 7, 4, 4));
    add("add x7, x7, x17", &|a| a.add_shifted(7, 7, 17, 0));
    add("cmp x4, x17", &|a| a.compare(4, 17));
    add("mov x4, x1", &|a| a.copy_general(4, 1));
    add("mov x4, xzr", &|a| a.copy_general(4, ZERO));
    add("stp x19, x20, [sp, #-16]!", &|a| a.push(19, 20));
    add("ldp x19, x20, [sp], #16", &|a| a.pop(19, 20));
    add("stp d8, d9, [sp, #-16]!", &|a| a.push_halves(8, 9));
    add("ldp d14, d15, [sp], #16", &|a| a.pop_halves(14, 15));
    add("adr x5, . - 50", &|a| a.address_before(5, 50));
    add("b .", &|a| a.jump(0));
    add("b.eq .", &|a| a.jump_if(Condition::Equal, 0));
    add("b.lo .", &|a| a.jump_if(Condition::Below, 0));
    add("b.ls . + 4", &|a| a.jump_if(Condition::NotAbove, 1));
    add("ret", &|a| a.ret());
    found
}

#[test]
fn instructions_are_those_of_the_assembler() {
    let lines: Vec<String> = (instructions().iter())
        .map(|(text, asm)| {
            let [word] = asm.words[..] else { panic!("{text} is one instruction") };
            assert!(!asm.overflowed, "{text} fits");
            format!("{word:08x} {text}")
        })
        .collect();
    let recorded: Vec<&str> = include_str!("encodings.txt").lines().collect();
    assert_eq!(lines, recorded);
}

#[test]
fn jumps_go_both_ways() {
    let mut asm = Assembler::default();
    asm.ret();
    asm.jump(0);
    let skipping = asm.words.len();
    asm.jump_if(Condition::Equal, skipping);
    asm.ret();
    asm.land(skipping);
    assert_eq!(asm.words[1], 0x17ff_ffff, "b . - 4");
    assert_eq!(asm.words[2], 0x5400_0040, "b.eq . + 8");
}

#[test]
fn what_does_not_fit_is_noticed() {
    let overflows = |write: &dyn Fn(&mut Assembler)| {
        let mut asm = Assembler::default();
        write(&mut asm);
        asm.overflowed
    };
    assert!(overflows(&|a| a.memory(16, false, 0, SP, 65536)));
    assert!(overflows(&|a| a.memory(16, false, 0, SP, 8)), "an offset that is no multiple");
    assert!(overflows(&|a| a.add(0, 0, 4097)));
    assert!(overflows(&|a| a.jump_if(Condition::Below, 1 << 18)));
    assert!(!overflows(&|a| a.jump_if(Condition::Below, (1 << 18) - 1)));
    assert!(overflows(&|a| a.address_before(5, (1 << 20) + 1)));
    assert!(!overflows(&|a| a.address_before(5, 1 << 20)));
}
