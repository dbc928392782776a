//! Vector loops against the kernels of their operators, for every instruction set that there is code for here.

#![expect(unsafe_code, reason = "runs loops on the memory of vectors")]

use penstock_data::DType;
use penstock_ir::{Cpu, OpDef};
use penstock_jit::vector::{Instruction, Machine, Operand, Region, Term, VectorLoop, supports};
use penstock_kernels::{Lane, LoopFn};

const DTYPES: [DType; 7] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::C64, DType::C128];

/// Bytes of an element, or of a part of one.
fn size(dtype: DType) -> usize {
    dtype.real().size()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 20
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
}

/// Elements of a dtype, as bytes at an address that suits them.
#[derive(Clone)]
struct Array {
    dtype: DType,
    words: Vec<u64>,
}

impl Array {
    fn of(dtype: DType, len: usize) -> Array {
        Array { dtype, words: vec![0; (len * dtype.size()).div_ceil(8).max(1)] }
    }

    /// Numbers of all sizes, with those among them at which arithmetic changes its ways.
    fn random(random: &mut Random, dtype: DType, len: usize) -> Array {
        let mut array = Array::of(dtype, len);
        let (dtype, len) = (dtype.real(), len * dtype.size() / size(dtype));
        for i in 0..len {
            let (kind, word) = (random.below(4), random.next() ^ random.next() << 24);
            let odd = [
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -2.5,
                6.0,
                7.0,
                5e-324,
                -1e-310,
                1e-40,
                f64::MAX,
                2147483647.0,
                2147483648.0,
                -2147483648.0,
                -2147483649.0,
                9.3e18,
                -9.3e18,
                3e38,
                1e9,
            ];
            let x = match kind {
                0 => odd[random.below(odd.len())],
                1 => random.below(2001) as f64 / 100.0 - 10.0,
                2 => f64::from_bits(word),
                _ => random.below(64) as f64 - 32.0,
            };
            let integers = [0, 1, -1, 31, 32, 33, 63, 64, 65, i64::MAX, i64::MIN, 2_147_483_648, -2_147_483_648];
            let whole = match kind {
                0 => integers[random.below(integers.len())],
                1 => random.below(80) as i64 - 10,
                _ => word as i64,
            };
            let bits = match dtype {
                DType::F32 if kind == 2 => u64::from(word as u32),
                DType::F32 => u64::from((x as f32).to_bits()),
                DType::F64 => x.to_bits(),
                DType::Bool => word >> 7 & 1,
                _ => whole as u64,
            };
            array.bytes_mut()[i * dtype.size()..(i + 1) * dtype.size()]
                .copy_from_slice(&bits.to_le_bytes()[..dtype.size()]);
        }
        array
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory of the words, as bytes.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 8) }
    }

    /// The bits of the parts of an element, of which all but complex numbers have one.
    fn element(&self, i: usize) -> [u64; 2] {
        let (bytes, size) = (self.dtype.size(), size(self.dtype));
        let mut parts = [0; 2];
        for (p, part) in parts.iter_mut().enumerate().take(bytes / size) {
            let mut word = [0; 8];
            // SAFETY: the words have more than `i` elements of so many bytes.
            let from =
                unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>().add(i * bytes + p * size), size) };
            word[..size].copy_from_slice(from);
            *part = u64::from_le_bytes(word);
        }
        parts
    }

    /// The element, with one NaN for all: which it is depends on the order of operands.
    fn settled(&self, i: usize) -> [u64; 2] {
        self.element(i).map(|bits| {
            let nan = match self.dtype.real() {
                DType::F32 => f32::from_bits(bits as u32).is_nan(),
                DType::F64 => f64::from_bits(bits).is_nan(),
                _ => false,
            };
            if nan { u64::MAX } else { bits }
        })
    }

    fn lane(&self, fixed: bool) -> Lane {
        let ptr = self.words.as_ptr().cast();
        if fixed { Lane::fixed(ptr) } else { Lane::new(ptr, self.dtype.size()) }
    }
}

/// A region with the kernel of each instruction.
#[derive(Default)]
struct Program {
    region: Region,
    kernels: Vec<LoopFn>,
}

impl Program {
    fn operand(&mut self, dtype: DType, fixed: bool) -> Term {
        self.region.operands.push(Operand { dtype, fixed });
        Term::Operand(self.region.operands.len() as u16 - 1)
    }

    fn dtype(&self, term: Term) -> DType {
        match term {
            Term::Operand(k) => self.region.operands[k as usize].dtype,
            Term::Made(k) => self.region.insts[k as usize].to,
        }
    }

    /// Adds an operator, where vector loops take it.
    fn add(&mut self, op: &'static OpDef, ins: &[Term], to: DType, at: (Machine, usize)) -> Option<Term> {
        let Cpu::Elementwise(function) = op.cpu else { return None };
        let from: Vec<DType> = ins.iter().map(|&t| self.dtype(t)).collect();
        let inst = Instruction { function, to, ins: ins.iter().copied().collect() };
        if !supports(at.0, at.1, &inst, &from) {
            return None;
        }
        let f = function.kernel(&from, to).expect("what is compiled has a kernel");
        self.region.insts.push(inst);
        self.kernels.push(f);
        Some(Term::Made(self.kernels.len() as u16 - 1))
    }

    /// Runs the loop and the kernels on the same operands.
    fn check(&self, machine: Machine, widest: usize, n: usize, random: &mut Random, code: &VectorLoop) {
        let operands: Vec<Array> = (self.region.operands.iter())
            .map(|o| Array::random(random, o.dtype, if o.fixed { 1 } else { n }))
            .collect();
        let mut made: Vec<Array> = Vec::new();
        for (inst, f) in self.region.insts.iter().zip(&self.kernels) {
            let mut out = Array::of(inst.to, n);
            let lanes: Vec<Lane> = (inst.ins.iter())
                .map(|&t| match t {
                    Term::Operand(k) => operands[k as usize].lane(self.region.operands[k as usize].fixed),
                    Term::Made(k) => made[k as usize].lane(false),
                })
                .collect();
            // SAFETY: the kernel is of these dtypes; all have `n` elements, or one.
            unsafe { f(n, &lanes, out.words.as_mut_ptr().cast()) }.unwrap();
            made.push(out);
        }
        // One element more, which must stay as it is.
        let mut results: Vec<Array> = (self.region.results.iter())
            .map(|&r| Array::random(random, self.region.insts[r as usize].to, n + 1))
            .collect();
        let ends: Vec<[u64; 2]> = results.iter().map(|r| r.element(n)).collect();
        let mut table: Vec<*mut u8> = operands.iter().map(|a| a.words.as_ptr().cast_mut().cast()).collect();
        table.extend(results.iter_mut().map(|a| a.words.as_mut_ptr().cast::<u8>()));
        // SAFETY: the table has the operands and results of the region, of `n` elements or one.
        unsafe { code.run(&mut table, n, 1, &[]) };
        for ((result, &end), &r) in results.iter().zip(&ends).zip(&self.region.results) {
            assert_eq!(result.element(n), end, "{machine:?}: written behind the end of {n} elements");
            for i in 0..n {
                let (got, due) = (result.settled(i), made[r as usize].settled(i));
                assert_eq!(
                    got, due,
                    "{machine:?} {widest}: element {i} of {n} of result {r} is {got:#x?}, not {due:#x?}: {:?}",
                    self.region
                );
            }
        }
    }
}

/// Ways to apply an operator: the dtypes of its operands, and of its result.
fn applications(op: &'static OpDef) -> Vec<(Vec<DType>, DType)> {
    let Cpu::Elementwise(function) = op.cpu else { return Vec::new() };
    let mut found = Vec::new();
    for dtype in DTYPES {
        match op.name {
            "cast" => found.extend(DTYPES.iter().map(|&to| (vec![dtype], to))),
            "select" => found.push((vec![DType::Bool, dtype, dtype], dtype)),
            _ => {
                let from = vec![dtype; op.operands.len()];
                let made = |&to: &DType| op.attrs.is_empty() && function.kernel(&from, to).is_some();
                if let Some(to) = DTYPES.into_iter().find(made) {
                    found.push((from, to));
                }
            }
        }
    }
    found
}

#[test]
fn every_operator_gives_what_its_kernel_gives() {
    let mut random = Random(1);
    for &machine in Machine::all() {
        let mut count = 0;
        for op in penstock_ops::all() {
            for (from, to) in applications(op) {
                for widest in [4, 8] {
                    if from.iter().chain([&to]).any(|&d| size(d) > widest) {
                        continue;
                    }
                    // Each operand in turn has one element.
                    for fixed in 0..=from.len() {
                        let mut program = Program::default();
                        let ins: Vec<Term> =
                            from.iter().enumerate().map(|(k, &d)| program.operand(d, k + 1 == fixed)).collect();
                        if program.add(op, &ins, to, (machine, widest)).is_none() {
                            continue;
                        }
                        program.region.results = vec![0];
                        let code =
                            VectorLoop::compile(&program.region, machine, widest).expect("what is supported compiles");
                        count += 1;
                        for n in (0..40).chain([63, 64, 100, 1000]) {
                            program.check(machine, widest, n, &mut random, &code);
                        }
                    }
                }
            }
        }
        assert!(count > if machine == Machine::Avx512 { 400 } else { 150 }, "{machine:?} has {count} operators");
    }
}

#[test]
fn random_regions_give_what_their_kernels_give() {
    let ops: Vec<&'static OpDef> = penstock_ops::all().filter(|op| !applications(op).is_empty()).collect();
    for seed in 0..300u64 {
        for &machine in Machine::all() {
            let mut random = Random(seed);
            let widest = [4, 8][random.below(2)];
            let mut program = Program::default();
            let mut terms = Vec::new();
            for _ in 0..1 + random.below(if seed % 5 == 0 { 40 } else { 6 }) {
                let dtype = DTYPES[random.below(DTYPES.len())];
                if size(dtype) <= widest {
                    let fixed = random.below(3) == 0;
                    terms.push(program.operand(dtype, fixed));
                }
            }
            let wanted = [3, 20, 150][random.below(3)];
            for _ in 0..wanted * 40 {
                let op = ops[random.below(ops.len())];
                let ways = applications(op);
                let (from, to) = &ways[random.below(ways.len())];
                // The newest more often, so that chains are long.
                let pick = |random: &mut Random, dtype: DType| {
                    let fitting: Vec<Term> = terms.iter().copied().filter(|&t| program.dtype(t) == dtype).collect();
                    let newest = fitting.len().saturating_sub(1 + random.below(4));
                    let any = random.below(fitting.len().max(1));
                    fitting.get(if random.below(2) == 0 { newest } else { any }).copied()
                };
                let ins: Option<Vec<Term>> = from.iter().map(|&d| pick(&mut random, d)).collect();
                let Some(ins) = ins.filter(|_| size(*to) <= widest) else { continue };
                terms.extend(program.add(op, &ins, *to, (machine, widest)));
                if program.kernels.len() == wanted {
                    break;
                }
            }
            let count = program.kernels.len();
            if count == 0 {
                continue;
            }
            program.region.results = (0..count as u16).filter(|_| random.below(8) == 0).collect();
            program.region.results.push(count as u16 - 1);
            program.region.results.dedup();
            let code = VectorLoop::compile(&program.region, machine, widest).expect("what is supported compiles");
            for n in [1, 7, 8, 9, 16, 31, 64, 100 + random.below(100)] {
                program.check(machine, widest, n, &mut random, &code);
            }
        }
    }
}

#[test]
fn more_values_than_registers_are_all_kept() {
    let op = |name: &str| penstock_ops::all().find(|op| op.name == name).expect("an operator");
    for &machine in Machine::all() {
        for (dtype, first, join) in [(DType::F64, "sub", "add"), (DType::F32, "less", "logical_xor")] {
            let (mut program, at) = (Program::default(), (machine, dtype.size()));
            let (x, y) = (program.operand(dtype, false), program.operand(dtype, true));
            let mut chain = vec![x];
            for _ in 0..200 {
                let made = program.add(op("sub"), &[chain[chain.len() - 1], y], dtype, at);
                chain.push(made.expect("is supported"));
            }
            // All made before any is used, and used in the order that they were made in.
            let to = if first == "less" { DType::Bool } else { dtype };
            let parts: Vec<Term> =
                chain.iter().map(|&t| program.add(op(first), &[t, y], to, at).expect("is supported")).collect();
            let mut sum = parts[0];
            for &part in &parts[1..] {
                sum = program.add(op(join), &[sum, part], to, at).expect("is supported");
            }
            program.region.results = vec![program.kernels.len() as u16 - 1];
            let code = VectorLoop::compile(&program.region, machine, dtype.size()).expect("compiles");
            for n in [1, 8, 33, 500] {
                program.check(machine, dtype.size(), n, &mut Random(n as u64), &code);
            }
        }
    }
}

#[test]
fn rows_are_taken_one_after_the_other() {
    let op = |name: &str| penstock_ops::all().find(|op| op.name == name).expect("an operator");
    // More addresses than there are registers for them, too.
    for (machine, count) in Machine::all().iter().flat_map(|&machine| [2, 5, 30].map(|count| (machine, count))) {
        let mut program = Program::default();
        let ins: Vec<Term> = (0..count).map(|k| program.operand(DType::F64, k == 1)).collect();
        let mut sum = ins[0];
        for &x in &ins[1..] {
            sum = program.add(op("add"), &[sum, x], DType::F64, (machine, 8)).expect("is supported");
        }
        program.region.results = vec![program.kernels.len() as u16 - 1];
        let code = VectorLoop::compile(&program.region, machine, 8).expect("compiles");
        for (n, rows) in [(3, 4), (8, 1), (8, 3), (13, 7), (40, 2)] {
            // Operand `k` has rows `n + k` elements apart, of the one that repeats each has another element; results go backwards.
            let pitch = |k: usize| if k == 1 { 1 } else { n + k };
            let operands: Vec<Vec<f64>> = (0..count)
                .map(|k| (0..pitch(k) * (rows - 1) + n).map(|i| (i * (k + 1)) as f64 / 8.0).collect())
                .collect();
            let mut result = vec![-1.0; rows * n + 1];
            let mut table: Vec<*mut u8> = operands.iter().map(|o| o.as_ptr().cast_mut().cast()).collect();
            table.push(result[(rows - 1) * n..].as_mut_ptr().cast());
            let mut steps: Vec<isize> = (0..count).map(|k| 8 * pitch(k) as isize).collect();
            steps.push(-8 * n as isize);
            // SAFETY: every operand has so many rows, and so has the result, from its last row on.
            unsafe { code.run(&mut table, n, rows, &steps) };
            assert_eq!(result[rows * n], -1.0, "{machine:?}: written behind the end");
            for (row, i) in (0..rows).flat_map(|row| (0..n).map(move |i| (row, i))) {
                let element = |k: usize| operands[k][row * pitch(k) + if k == 1 { 0 } else { i }];
                let due = (1..count).fold(element(0), |sum, k| sum + element(k));
                assert_eq!(result[(rows - 1 - row) * n + i], due, "{machine:?} {count}: element {i} of row {row}");
            }
        }
    }
}
