//! Machine code against the kernels: every elementwise operator on scalars of every dtype, at values that matter.

#![expect(unsafe_code, reason = "runs loops and generated code on raw memory")]

use std::sync::atomic::{AtomicU32, Ordering};

use penstock_data::{ALL_DTYPES, DType, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Builder, Cpu, Env, OpDef, Type, Verified};
use penstock_jit::{Native, Source, Stop};
use penstock_kernels::{Lane, cast};
use penstock_ops::{all, array, binary, cast::CAST, compare, control};

/// A host that lets so many polls pass.
struct Host(AtomicU32);

impl Env for Host {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Ok((0, 0))
    }
    fn poll(&self) -> Result<()> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        left.map(|_| ()).map_err(|_| Error::new(penstock_data::Class::Cancelled, "enough"))
    }
}

/// Values of a dtype: zeros, ones, small and odd ones, ties, the limits, and what is no number.
fn values(dtype: DType) -> Vec<Tensor> {
    const WHOLE: &[i64] = &[0, 1, -1, 2, 3, 5, 7, -7, 8, -8, 31, 64, 100, i64::MIN, i64::MAX, 1 << 31, -(1 << 31), 127];
    const REAL: &[f64] = &[
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        7.25,
        -7.25,
        1e-3,
        88.5,
        -104.0,
        4.5e9,
        -3e9,
        1e19,
        -1e19,
        1e38,
        1e-42,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let (source, to) = if dtype.is_float() {
        (Tensor::vector(REAL), cast(DType::F64, dtype))
    } else {
        (Tensor::vector(WHOLE), cast(DType::I64, dtype))
    };
    let n = source.dims()[0];
    let mut all = Tensor::empty(dtype, &[n]).unwrap();
    let lane = Lane { ptr: source.as_ptr(), step: source.dtype().size() };
    // SAFETY: a loop from the source's dtype to that of the new tensor, of as many elements.
    unsafe { to.unwrap()(n, &[lane], all.as_mut_ptr().unwrap()) }.unwrap();
    (0..n).map(|i| all.bytes()[i * dtype.size()..][..dtype.size()].to_vec()).map(|b| scalar(dtype, &b)).collect()
}

fn scalar(dtype: DType, bytes: &[u8]) -> Tensor {
    let mut t = Tensor::empty(dtype, &[]).unwrap();
    // SAFETY: a scalar of the dtype has as many bytes.
    unsafe { t.as_mut_ptr().unwrap().copy_from(bytes.as_ptr(), bytes.len()) };
    t
}

/// Equal bits, or both NaN.
fn same(a: &Tensor, b: &Tensor) -> bool {
    let nan = |t: &Tensor| match t.dtype() {
        DType::F16 => t.item::<penstock_data::f16>().unwrap().is_nan(),
        DType::Bf16 => t.item::<penstock_data::bf16>().unwrap().is_nan(),
        DType::F32 => t.item::<f32>().unwrap().is_nan(),
        DType::F64 => t.item::<f64>().unwrap().is_nan(),
        _ => false,
    };
    a.bytes() == b.bytes() || (nan(a) && nan(b))
}

fn run(native: &Native, args: &[&Tensor], dtype: DType) -> Result<Tensor, Stop> {
    let mut out = Tensor::empty(dtype, &[]).unwrap();
    let ins: Vec<*const u8> = args.iter().map(|t| t.as_ptr()).collect();
    // SAFETY: the arguments are scalars of the dtypes that the source was made for.
    unsafe { native.run(&ins, &[out.as_mut_ptr().unwrap()], &Host(AtomicU32::new(u32::MAX))) }?;
    Ok(out)
}

/// The operator on parameters, or with a constant as its last operand.
fn graph(op: &'static OpDef, attrs: &Attrs, dtypes: &[DType], last: Option<&Tensor>) -> Option<Verified> {
    let mut b = Builder::new(&control::CONST);
    let count = dtypes.len() - usize::from(last.is_some());
    let mut args: Vec<_> = dtypes[..count].iter().map(|&d| b.input(Type::scalar(d), None)).collect();
    args.extend(last.map(|c| b.constant(c.clone())));
    let inst = b.inst(op, &args, attrs.clone(), &[]).ok()?;
    let results = b.results(inst).to_vec();
    b.finish(&results).ok()
}

/// Every operator with a loop, for every dtype of which a machine has registers.
fn cases() -> Vec<(&'static OpDef, Attrs, Vec<DType>)> {
    let mut found = Vec::new();
    let scalars = ALL_DTYPES.into_iter().filter(|d| *d <= DType::F64);
    for op in all() {
        let Cpu::Elementwise(function) = op.cpu else { continue };
        for dtype in scalars.clone() {
            let attrs: Vec<Attrs> = if op.is(&CAST) {
                scalars.clone().map(|to| Attrs::build(op.attrs, &[("dtype", Attr::DType(to))]).unwrap()).collect()
            } else {
                Attrs::build(op.attrs, &[]).into_iter().collect()
            };
            for attrs in attrs {
                let dtypes = [vec![dtype], vec![dtype; 2], vec![DType::Bool, dtype, dtype]];
                for dtypes in dtypes
                    .into_iter()
                    .filter(|d| op.operands.iter().any(|o| o.variadic) || d.len() == op.operands.len())
                {
                    let types: Vec<Type> = dtypes.iter().map(|&d| Type::scalar(d)).collect();
                    if op.check_operands(&types).is_ok()
                        && result(op, &attrs, &dtypes)
                            .is_some_and(|d| !d.is_complex() && function.kernel(&dtypes, d).is_some())
                    {
                        found.push((op, attrs.clone(), dtypes));
                    }
                }
            }
        }
    }
    found
}

fn result(op: &'static OpDef, attrs: &Attrs, dtypes: &[DType]) -> Option<DType> {
    graph(op, attrs, dtypes, None).map(|g| g.ty(g.outputs()[0]).dtype())
}

fn check(op: &'static OpDef, attrs: &Attrs, dtypes: &[DType], native: &Native, args: &[&Tensor], given: &[&Tensor]) {
    let Cpu::Elementwise(function) = op.cpu else { unreachable!() };
    let dtype = result(op, attrs, dtypes).unwrap();
    let mut due = Tensor::empty(dtype, &[]).unwrap();
    let lanes: Vec<Lane> = args.iter().map(|t| Lane { ptr: t.as_ptr(), step: 0 }).collect();
    // SAFETY: the loop for the dtypes of the arguments, on one element.
    let looped = unsafe { function.kernel(dtypes, dtype).unwrap()(1, &lanes, due.as_mut_ptr().unwrap()) };
    match (run(native, given, dtype), looped) {
        (Ok(found), Ok(())) => {
            assert!(same(&found, &due), "{} {attrs:?} of {args:?} is {found:?}, not {due:?}", op.name)
        }
        (Err(Stop::Fault(_)), Err(due)) => assert_eq!(op.fault(), due),
        (found, due) => panic!("{} of {args:?}: {} instead of {due:?}", op.name, found.is_ok()),
    }
}

#[test]
fn every_operator_gives_what_its_kernel_gives() {
    let cases = cases();
    assert!(cases.len() > 600, "{}", cases.len());
    for (op, attrs, dtypes) in cases {
        let g = graph(op, &attrs, &dtypes, None).unwrap();
        let native = Native::compile(&Source::read(&g, g.body()).unwrap()).unwrap();
        let lists: Vec<Vec<Tensor>> = dtypes.iter().map(|&d| values(d)).collect();
        match &lists[..] {
            [xs] => xs.iter().for_each(|x| check(op, &attrs, &dtypes, &native, &[x], &[x])),
            [xs, ys] => {
                for (x, y) in xs.iter().flat_map(|x| ys.iter().map(move |y| (x, y))) {
                    check(op, &attrs, &dtypes, &native, &[x, y], &[x, y]);
                }
            }
            [cs, xs, ys] => {
                for (c, (x, y)) in cs.iter().take(2).flat_map(|c| xs.iter().zip(ys.iter().rev()).map(move |p| (c, p))) {
                    check(op, &attrs, &dtypes, &native, &[c, x, y], &[c, x, y]);
                }
            }
            _ => unreachable!(),
        }
    }
}

#[test]
fn an_operand_that_is_a_constant_changes_nothing() {
    let integers = [DType::I8, DType::U8, DType::I16, DType::I32, DType::U32, DType::I64, DType::U64];
    let ops = [&binary::FLOORDIV, &binary::FLOORMOD, &binary::TRUNCATEDIV, &binary::TRUNCATEMOD];
    let ops = ops.into_iter().chain([&binary::LEFT_SHIFT, &binary::RIGHT_SHIFT, &compare::LESS]);
    for (op, dtype) in ops.flat_map(|op| integers.map(|d| (op, d))) {
        for y in &values(dtype) {
            let g = graph(op, &Attrs::EMPTY, &[dtype; 2], Some(y)).unwrap();
            let native = Native::compile(&Source::read(&g, g.body()).unwrap()).unwrap();
            values(dtype).iter().for_each(|x| check(op, &Attrs::EMPTY, &[dtype; 2], &native, &[x, y], &[x]));
        }
    }
}

/// The value of an integer scalar.
fn whole(t: &Tensor) -> i128 {
    let narrow = t.item::<i32>().map(i128::from).or(t.item::<u32>().map(i128::from));
    narrow.or(t.item::<i64>().map(i128::from)).or(t.item::<u64>().map(i128::from)).unwrap()
}

#[test]
fn a_remainder_is_compared_without_a_division() {
    let divisors = [DType::I32, DType::U32, DType::I64, DType::U64].into_iter().flat_map(values);
    for (divisor, op) in divisors.flat_map(|c| [(c.clone(), &binary::FLOORMOD), (c, &binary::TRUNCATEMOD)]) {
        let (dtype, c) = (divisor.dtype(), whole(&divisor));
        let remainders = values(dtype).into_iter().filter(|r| (-3..9).contains(&whole(r)));
        for (remainder, how) in remainders.flat_map(|r| [(r.clone(), &compare::EQUAL), (r, &compare::NOT_EQUAL)]) {
            let mut b = Builder::new(&control::CONST);
            let x = b.input(Type::scalar(dtype), None);
            let (divisor, other) = (b.constant(divisor.clone()), b.constant(remainder.clone()));
            let rest = b.emit(op, &[x, divisor], &[]).unwrap()[0];
            let same = b.emit(how, &[other, rest], &[]).unwrap()[0];
            let g = b.finish(&[same]).unwrap();
            let native = Native::compile(&Source::read(&g, g.body()).unwrap()).unwrap();
            for x in values(dtype) {
                let found = run(&native, &[&x], DType::Bool).ok().map(|t| t.bytes()[0] == 1);
                let due = (c != 0).then(|| {
                    let rest = whole(&x) % c;
                    let floors = op.is(&binary::FLOORMOD) && rest != 0 && (rest < 0) != (c < 0);
                    (rest + if floors { c } else { 0 } == whole(&remainder)) == how.is(&compare::EQUAL)
                });
                assert_eq!(found, due, "{x:?} {} {c} {} {remainder:?}", op.name, how.name);
            }
        }
    }
}

#[test]
fn quotients_by_constants_of_what_is_not_negative_are_exact() {
    let ops = [&binary::FLOORDIV, &binary::FLOORMOD, &binary::TRUNCATEDIV, &binary::TRUNCATEMOD];
    let divisors = [3, 5, 6, 7, 10, 100, 641, 1000, 65_537, 1_000_003, i32::MAX - 1, i32::MAX];
    let number = |dtype, x: i32| {
        if dtype == DType::I32 { Tensor::scalar(x) } else { Tensor::scalar(i64::from(x)) }
    };
    for dtype in [DType::I32, DType::I64] {
        for (mask, op) in [255, 65_535, i32::MAX].into_iter().flat_map(|mask| ops.map(|op| (mask, op))) {
            for divisor in divisors {
                let mut b = Builder::new(&control::CONST);
                let x = b.input(Type::scalar(dtype), None);
                let [bits, by] = [mask, divisor].map(|c| b.constant(number(dtype, c)));
                let low = b.emit(&binary::BITWISE_AND, &[x, bits], &[]).unwrap()[0];
                let found = b.emit(op, &[low, by], &[]).unwrap()[0];
                let g = b.finish(&[found]).unwrap();
                let native = Native::compile(&Source::read(&g, g.body()).unwrap()).unwrap();
                let around = [0, 1, 2, 12345, mask / divisor].map(|k: i32| k.wrapping_mul(divisor));
                for x in around.into_iter().chain([mask]).flat_map(|x| [x.wrapping_sub(1), x, x.wrapping_add(1)]) {
                    let low = x & mask;
                    let due = if op.name.ends_with("div") { low / divisor } else { low % divisor };
                    let got = run(&native, &[&number(dtype, x)], dtype).ok().map(|t| whole(&t));
                    assert_eq!(got, Some(i128::from(due)), "{} {low} {divisor}", op.name);
                }
            }
        }
    }
}

#[test]
fn a_loop_without_end_stops_when_the_host_wants_it() {
    let mut b = Builder::new(&control::CONST);
    let x = b.input(Type::scalar(DType::I64), None);
    let condition = b.begin_region([Type::scalar(DType::I64)]);
    let yes = b.constant(Tensor::scalar(penstock_data::Bool8::new(true)));
    b.end_region(&[yes]).unwrap();
    let body = b.begin_region([Type::scalar(DType::I64)]);
    let i = b.params(body)[0];
    let next = b.emit(&binary::ADD, &[i, x], &[]).unwrap()[0];
    b.end_region(&[next]).unwrap();
    let inst = b.inst(&control::WHILE, &[x], Attrs::EMPTY, &[condition, body]).unwrap();
    let results = b.results(inst).to_vec();
    let g = b.finish(&results).unwrap();
    let native = Native::compile(&Source::read(&g, g.body()).unwrap()).unwrap();
    let (x, mut out) = (Tensor::scalar(1i64), Tensor::scalar(0i64));
    let host = Host(AtomicU32::new(3));
    // SAFETY: one `i64` in, one out.
    let stopped = unsafe { native.run(&[x.as_ptr()], &[out.as_mut_ptr().unwrap()], &host) };
    assert!(matches!(stopped, Err(Stop::Host(e)) if e.message() == "enough"));
    assert_eq!(out.item::<i64>(), Some(0));
}

#[test]
fn what_is_no_scalar_region_is_refused() {
    let mut b = Builder::new(&control::CONST);
    let x = b.input(Type::tensor(DType::F32, Shape::known(&[2])), None);
    let y = b.emit(&array::IDENTITY, &[x], &[]).unwrap()[0];
    let g = b.finish(&[y]).unwrap();
    assert!(Source::read(&g, g.body()).is_err());
}
