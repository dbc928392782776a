//! What is special to the operators that move elements and to those that reach the host: slices against
//! a plain model, classes of errors, printed text, assertions, host code, seeds.

#![expect(unsafe_code, reason = "runs kernels")]

mod common;

use std::any::Any;
use std::sync::Arc;
use std::sync::Mutex;

use common::{eval, infer, op, run};
use penstock_data::{Class, DType, Dim, Error, Result, Shape, Symbol, Tensor};
use penstock_ir::{Attr, Builder, Call, Cpu, Emitter, Env, HostFn, HostRef, KnownValues, NoValues, OpDef, Type};
use penstock_ops::format::{expand, general, tensor_summary, tensor_text};
use penstock_ops::samples::{strings, tensor};
use proptest::prelude::*;

fn i32s(values: &[i32]) -> Tensor {
    Tensor::vector(values)
}

fn i64s(values: &[i64]) -> Tensor {
    Tensor::vector(values)
}

fn counted(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    Tensor::from_slice(dims, &(1..=n as i64).collect::<Vec<_>>()).unwrap()
}

/// One item of a subscript.
#[derive(Clone, Debug)]
enum Item {
    Index(i64),
    Range { begin: Option<i64>, end: Option<i64>, stride: i64 },
    Ellipsis,
    NewAxis,
}

/// The positions that a range takes of `n`, by walking them.
fn walk(n: usize, begin: Option<i64>, end: Option<i64>, stride: i64) -> Vec<usize> {
    let n = n as i64;
    let from_end = |i: i64| if i < 0 { i.saturating_add(n) } else { i };
    let mut out = Vec::new();
    if stride > 0 {
        let end = end.map_or(n, from_end).min(n);
        let mut at = begin.map_or(0, from_end).max(0);
        while at < end {
            out.push(at as usize);
            at = at.saturating_add(stride);
        }
    } else {
        let end = end.map_or(-1, from_end).max(-1);
        let mut at = begin.map_or(n - 1, from_end).min(n - 1);
        while at > end {
            out.push(at as usize);
            at = at.saturating_add(stride);
        }
    }
    out
}

/// The shape and elements of a slice, or whether an index is out of range.
fn model(x: &Tensor, items: &[Item]) -> std::result::Result<(Vec<usize>, Vec<i64>), Class> {
    let used = items.iter().filter(|i| matches!(i, Item::Index(_) | Item::Range { .. })).count();
    if used > x.rank() {
        return Err(Class::InvalidArgument);
    }
    let mut items = items.to_vec();
    if !items.iter().any(|i| matches!(i, Item::Ellipsis)) {
        items.push(Item::Ellipsis);
    }
    let (mut dims, mut picks) = (Vec::new(), Vec::new());
    for item in &items {
        let n = x.dims().get(picks.len()).copied();
        match item {
            Item::NewAxis => dims.push(1),
            Item::Ellipsis => {
                for _ in 0..x.rank() - used {
                    let n = x.dims()[picks.len()];
                    dims.push(n);
                    picks.push((0..n).collect::<Vec<_>>());
                }
            }
            Item::Index(i) => {
                let n = n.unwrap() as i64;
                let at = if *i < 0 { i + n } else { *i };
                if !(0..n).contains(&at) {
                    return Err(Class::IndexOutOfBounds);
                }
                picks.push(vec![at as usize]);
            }
            Item::Range { begin, end, stride } => {
                let taken = walk(n.unwrap(), *begin, *end, *stride);
                dims.push(taken.len());
                picks.push(taken);
            }
        }
    }
    let mut rows = vec![0usize];
    for (pick, &n) in picks.iter().zip(x.dims()) {
        rows = rows.iter().flat_map(|r| pick.iter().map(move |p| r * n + p)).collect();
    }
    Ok((dims, rows.iter().map(|&r| x.as_slice::<i64>()[r]).collect()))
}

/// The operands and masks of a subscript.
fn spec(items: &[Item], noise: i64) -> (Vec<Tensor>, Vec<(&'static str, Attr)>) {
    let (mut begin, mut end, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    let mut masks = [0i64; 5];
    for (i, item) in items.iter().enumerate() {
        let bit = 1 << i;
        // Where a mask makes an entry void, anything may stand there.
        let (b, e, s) = match item {
            Item::Index(at) => {
                masks[4] |= bit;
                (*at, at.wrapping_add(noise), 1)
            }
            Item::Range { begin, end, stride } => {
                masks[0] |= if begin.is_none() { bit } else { 0 };
                masks[1] |= if end.is_none() { bit } else { 0 };
                (begin.unwrap_or(noise), end.unwrap_or(noise), *stride)
            }
            Item::Ellipsis => {
                masks[2] |= bit;
                (noise, noise, 1)
            }
            Item::NewAxis => {
                masks[3] |= bit;
                (noise, noise, 1)
            }
        };
        begin.push(b);
        end.push(e);
        strides.push(s);
    }
    let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let masks = names.into_iter().zip(masks.map(Attr::Int)).collect();
    (vec![i64s(&begin), i64s(&end), i64s(&strides)], masks)
}

fn bound() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![Just(None), (-7i64..7).prop_map(Some), Just(Some(i64::MAX)), Just(Some(i64::MIN))]
}

fn item() -> impl Strategy<Value = Item> {
    let stride = prop_oneof![1i64..4, -3i64..0, Just(i64::MAX), Just(-i64::MAX)];
    prop_oneof![
        2 => (-4i64..4).prop_map(Item::Index),
        5 => (bound(), bound(), stride).prop_map(|(begin, end, stride)| Item::Range { begin, end, stride }),
        1 => Just(Item::NewAxis),
    ]
}

fn subscript() -> impl Strategy<Value = Vec<Item>> {
    (prop::collection::vec(item(), 0..5), prop::option::of(0usize..5)).prop_map(|(mut items, ellipsis)| {
        if let Some(at) = ellipsis {
            items.insert(at.min(items.len()), Item::Ellipsis);
        }
        items
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_strided_slice_is_what_python_takes(
        dims in prop::collection::vec(0usize..5, 0..4),
        items in subscript(),
        noise in -9i64..9,
    ) {
        let x = counted(&dims);
        let (operands, masks) = spec(&items, noise);
        let inputs: Vec<&Tensor> = std::iter::once(&x).chain(&operands).collect();
        let got = eval("strided_slice", &inputs, &masks);
        match (model(&x, &items), got) {
            (Ok((dims, values)), Ok(got)) => {
                prop_assert_eq!(got.dims(), dims.as_slice());
                prop_assert_eq!(got.as_slice::<i64>(), values.as_slice());
                // Put back, the elements stand where they were, and zeros around them.
                let shape = i64s(&x.dims().iter().map(|&d| d as i64).collect::<Vec<_>>());
                let [begin, end, strides] = operands.as_slice() else { unreachable!() };
                let back = eval("strided_slice_grad", &[&shape, begin, end, strides, &got], &masks).unwrap();
                for (b, x) in back.as_slice::<i64>().iter().zip(x.as_slice::<i64>()) {
                    prop_assert_eq!(*b, if values.contains(x) { *x } else { 0 });
                }
            }
            (Err(class), Err(error)) => prop_assert_eq!(class, error.class(), "{}", error),
            (expected, got) => prop_assert!(false, "{:?} but {:?}", expected, got),
        }
    }

    #[test]
    fn what_is_inferred_of_a_slice_holds_for_every_size(
        dims in prop::collection::vec(0usize..5, 0..4),
        items in subscript(),
        known in any::<[bool; 7]>(),
    ) {
        let x = counted(&dims);
        let (operands, masks) = spec(&items, 0);
        let inputs: Vec<&Tensor> = std::iter::once(&x).chain(&operands).collect();
        let Ok(got) = eval("strided_slice", &inputs, &masks) else { return Ok(()) };
        let shape = Shape::new(dims.iter().enumerate().map(|(i, &d)| if known[i] { Dim::Known(d) } else { Dim::Sym(Symbol(i as u32)) }));
        let mut types: Vec<Type> = inputs.iter().map(|t| Type::of(t)).collect();
        types[0] = Type::tensor(DType::I64, shape);
        let attrs = op("strided_slice").attributes(&masks).unwrap();
        let values: Option<&[&Tensor]> = known[4].then_some(inputs.as_slice());
        let inferred = match values {
            Some(values) => {
                let partly = Only { values, hidden: if known[5] { Some(1 + known[6] as usize) } else { None } };
                infer_with(op("strided_slice"), &types, &attrs, &partly)
            }
            None => infer_with(op("strided_slice"), &types, &attrs, &NoValues),
        };
        let inferred = inferred.unwrap().remove(0);
        prop_assert!(Type::of(&got).is_subtype_of(&inferred), "{} is not {}", Type::of(&got), inferred);
        // A symbol stands for the size of its dimension.
        for (d, n) in inferred.shape().dims().unwrap_or(&[]).iter().zip(got.dims()) {
            if let Dim::Sym(s) = d {
                prop_assert_eq!(dims[s.0 as usize], *n);
            }
        }
    }
}

/// The values of the operands but the first, and perhaps one more.
struct Only<'a> {
    values: &'a [&'a Tensor],
    hidden: Option<usize>,
}

impl KnownValues for Only<'_> {
    fn constant(&self, index: usize) -> Option<Tensor> {
        (index > 0 && self.hidden != Some(index)).then(|| self.values[index].clone())
    }
}

fn infer_with(
    op: &'static OpDef,
    types: &[Type],
    attrs: &penstock_ir::Attrs,
    values: &dyn KnownValues,
) -> Result<Vec<Type>> {
    (op.infer)(&penstock_ir::InferCx { inputs: types, attrs, regions: &[], values }).map(|t| t.into_vec())
}

#[test]
fn strings_move_as_numbers_do() {
    let label = |t: &Tensor| {
        let name = |n: &i64| if *n == 0 { String::new() } else { n.to_string() };
        let names: Vec<String> = t.as_slice::<i64>().iter().map(name).collect();
        strings(t.dims(), &names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut tried = 0;
    // Where a scatter writes one place twice, numbers are added and strings are joined.
    let arrays = penstock_ops::FAMILIES.iter().filter(|(name, _)| *name == "array").flat_map(|(_, ops)| ops.iter());
    for op in arrays.filter(|op| op.name != "scatter_nd") {
        for sample in (op.samples)() {
            let attrs = op.attributes(&sample.attrs).unwrap();
            // Distinct numbers in the place of the strings.
            let mut next = 0;
            let mut number = |t: &Tensor| {
                let list: Vec<i64> = (0..t.len() as i64).map(|i| next + i + 1).collect();
                next += t.len() as i64;
                Tensor::from_slice(t.dims(), &list).unwrap()
            };
            let is_text = |t: &Tensor| t.dtype() == DType::Str;
            if !sample.inputs.iter().any(is_text) {
                continue;
            }
            let numbers: Vec<Tensor> =
                sample.inputs.iter().map(|t| if is_text(t) { number(t) } else { t.clone() }).collect();
            let texts: Vec<Tensor> = sample
                .inputs
                .iter()
                .zip(&numbers)
                .map(|(t, n)| if is_text(t) { label(n) } else { t.clone() })
                .collect();
            let refs = |list: &[Tensor]| -> Vec<Tensor> {
                let list: Vec<&Tensor> = list.iter().collect();
                run(op, &list, &attrs).unwrap_or_else(|e| panic!("{}: {e}", op.name))
            };
            for (got, expected) in refs(&texts).iter().zip(refs(&numbers)) {
                let expected = if is_text(got) { label(&expected) } else { expected };
                assert_eq!(*got, expected, "{}", op.name);
            }
            tried += 1;
        }
    }
    assert!(tried > 25, "only {tried} samples hold strings");
}

#[test]
fn views_share_their_data() {
    let x = counted(&[4, 3, 2]);
    let shares = |name: &str, rest: &[&Tensor], attrs: &[(&str, Attr)]| {
        let inputs: Vec<&Tensor> = std::iter::once(&x).chain(rest.iter().copied()).collect();
        let op = op(name);
        run(op, &inputs, &op.attributes(attrs).unwrap()).unwrap().iter().all(|out| out.shares_data(&x))
    };
    assert!(shares("identity", &[], &[]));
    assert!(shares("reshape", &[&i32s(&[-1, 4])], &[]));
    assert!(shares("expand_dims", &[], &[("axis", 1.into())]));
    assert!(shares("broadcast_to", &[&i32s(&[4, 3, 2])], &[]));
    assert!(shares("slice", &[&i32s(&[1, 0, 0]), &i32s(&[2, -1, -1])], &[]));
    assert!(shares("strided_slice", &[&i32s(&[-1]), &i32s(&[0]), &i32s(&[1])], &[("shrink_axis_mask", 1.into())]));
    assert!(shares("unstack", &[], &[]));
    assert!(shares("split", &[], &[("sizes", (&[1, 3][..]).into())]));
    assert!(!shares("strided_slice", &[&i32s(&[0]), &i32s(&[4]), &i32s(&[2])], &[]));
}

#[test]
fn bad_arguments_are_named() {
    use Class::{DType as WrongDType, IndexOutOfBounds, InvalidArgument, ResourceExhausted};
    let x = || counted(&[3, 4]);
    let int = |n: i32| Tensor::scalar(n);
    let matrix = |dims: &[usize], v: &[i32]| Tensor::from_slice(dims, v).unwrap();
    let huge = || i64s(&[1 << 40, 1 << 40]);
    let axis = |n: i64| vec![("axis", Attr::Int(n))];
    let ints = |name: &'static str, v: &[i64]| vec![(name, Attr::from(v))];
    let none = Vec::new;
    let cases: Vec<(&str, Vec<Tensor>, Vec<(&str, Attr)>, Class, &str)> = vec![
        ("reshape", vec![x(), i32s(&[5, -1])], none(), InvalidArgument, "shape"),
        ("reshape", vec![x(), i32s(&[-1, -1])], none(), InvalidArgument, "shape"),
        ("reshape", vec![x(), i32s(&[-2, 6])], none(), InvalidArgument, "shape"),
        ("reshape", vec![x(), i32s(&[13])], none(), InvalidArgument, "shape"),
        ("reshape", vec![x(), int(12)], none(), InvalidArgument, "shape"),
        ("expand_dims", vec![x()], axis(3), InvalidArgument, "axis"),
        ("expand_dims", vec![x()], axis(-4), InvalidArgument, "axis"),
        ("squeeze", vec![x()], ints("axes", &[0]), InvalidArgument, "axes"),
        ("transpose", vec![x()], ints("perm", &[0, 0]), InvalidArgument, "perm"),
        ("transpose", vec![x()], ints("perm", &[0]), InvalidArgument, "perm"),
        ("broadcast_to", vec![x(), i32s(&[3, 5])], none(), InvalidArgument, "shape"),
        ("broadcast_to", vec![x(), i32s(&[4])], none(), InvalidArgument, "shape"),
        ("broadcast_to", vec![x(), i32s(&[-3, 4])], none(), InvalidArgument, "shape"),
        ("tile", vec![x(), i32s(&[1])], none(), InvalidArgument, "multiples"),
        ("tile", vec![x(), i32s(&[-1, 1])], none(), InvalidArgument, "multiples"),
        ("tile", vec![x(), huge()], none(), ResourceExhausted, "multiples"),
        ("reverse", vec![x()], ints("axes", &[0, -2]), InvalidArgument, "axes"),
        ("pad", vec![x(), matrix(&[2, 2], &[0, 0, -1, 0]), int(0)], none(), WrongDType, "constant_values"),
        ("pad", vec![x(), matrix(&[2, 2], &[0, 0, -1, 0]), Tensor::scalar(0i64)], none(), InvalidArgument, "paddings"),
        ("pad", vec![x(), matrix(&[1, 2], &[0, 0]), Tensor::scalar(0i64)], none(), InvalidArgument, "paddings"),
        ("fill", vec![huge(), int(0)], none(), ResourceExhausted, "dims"),
        ("fill", vec![i32s(&[-1]), int(0)], none(), InvalidArgument, "dims"),
        ("fill", vec![i32s(&[1]), i32s(&[0])], none(), InvalidArgument, "value"),
        ("range", vec![int(0), int(5), int(0)], none(), InvalidArgument, "delta"),
        ("range", vec![int(0), int(5), int(-1)], none(), InvalidArgument, "delta"),
        ("one_hot", vec![i32s(&[0]), int(-3), int(1), int(0)], none(), InvalidArgument, "depth"),
        ("one_hot", vec![i32s(&[0]), int(3), int(1), Tensor::scalar(0f32)], none(), WrongDType, "off_value"),
        ("concat", vec![x(), counted(&[3, 5])], axis(0), InvalidArgument, "values[1]"),
        ("concat", vec![int(1), int(2)], axis(0), InvalidArgument, "values[0]"),
        ("concat", vec![], axis(0), InvalidArgument, "values"),
        ("stack", vec![x(), counted(&[3, 5])], axis(0), InvalidArgument, "values[1]"),
        ("unstack", vec![x()], vec![("num", Attr::Int(2))], InvalidArgument, "num"),
        ("split", vec![x()], ints("sizes", &[1, 1]), InvalidArgument, "sizes"),
        ("split", vec![x()], ints("sizes", &[-1, -1]), InvalidArgument, "sizes"),
        ("split", vec![x()], vec![("num", Attr::Int(2))], InvalidArgument, "num"),
        ("split", vec![x()], none(), InvalidArgument, "sizes"),
        ("slice", vec![x(), i32s(&[4, 0]), i32s(&[0, 1])], none(), InvalidArgument, "begin"),
        ("slice", vec![x(), i32s(&[1, 0]), i32s(&[3, 1])], none(), InvalidArgument, "size"),
        ("slice", vec![x(), i32s(&[1]), i32s(&[1])], none(), InvalidArgument, "begin"),
        ("strided_slice", vec![x(), i32s(&[0]), i32s(&[1]), i32s(&[0])], none(), InvalidArgument, "strides"),
        ("strided_slice", vec![x(), i32s(&[0; 3]), i32s(&[1; 3]), i32s(&[1; 3])], none(), InvalidArgument, "begin"),
        ("strided_slice", vec![x(), i32s(&[0]), i32s(&[1, 1]), i32s(&[1])], none(), InvalidArgument, "end"),
        ("gather", vec![x(), i32s(&[0])], axis(2), InvalidArgument, "axis"),
        ("gather", vec![x(), i32s(&[0])], vec![("batch_dims", Attr::Int(1))], InvalidArgument, "batch_dims"),
        ("gather_nd", vec![x(), matrix(&[1, 3], &[0, 0, 0])], none(), InvalidArgument, "indices"),
        ("scatter_nd", vec![matrix(&[1, 1], &[5]), i64s(&[1]), i32s(&[3])], none(), InvalidArgument, "indices"),
        ("scatter_nd", vec![matrix(&[1, 1], &[0]), i64s(&[1, 2]), i32s(&[3])], none(), InvalidArgument, "updates"),
        ("unsorted_segment_sum", vec![i64s(&[1, 2]), i32s(&[0, 5]), int(3)], none(), InvalidArgument, "segment_ids"),
        ("unsorted_segment_sum", vec![i64s(&[1, 2]), i32s(&[0]), int(3)], none(), InvalidArgument, "segment_ids"),
        ("ensure_shape", vec![x()], vec![("shape", Shape::known(&[3, 5]).into())], InvalidArgument, "x"),
        ("placeholder_with_default", vec![x()], vec![("shape", Shape::known(&[3, 5]).into())], InvalidArgument, "x"),
        ("shape", vec![x()], vec![("dtype", DType::F32.into())], WrongDType, "dtype"),
        ("random_uniform", vec![huge()], none(), ResourceExhausted, "shape"),
        ("random_uniform", vec![i32s(&[2])], vec![("dtype", DType::I32.into())], WrongDType, "dtype"),
        ("random_uniform_int", vec![i32s(&[2]), int(3), int(3)], none(), InvalidArgument, "maxval"),
        ("stateless_random_normal", vec![i32s(&[2]), i32s(&[1])], none(), InvalidArgument, "seed"),
        ("string_to_number", vec![strings(&[1], &["1e"])], none(), InvalidArgument, "x"),
        ("substr", vec![strings(&[], &["hi"]), int(3), int(1)], none(), InvalidArgument, "pos"),
        ("string_length", vec![strings(&[], &["hi"])], vec![("unit", "WORD".into())], InvalidArgument, "unit"),
        ("as_string", vec![int(3)], vec![("precision", Attr::Int(2))], InvalidArgument, "precision"),
        ("string_format", vec![int(3)], vec![("template", "no place".into())], InvalidArgument, "template"),
    ];
    for (name, inputs, attrs, class, argument) in cases {
        let refs: Vec<&Tensor> = inputs.iter().collect();
        let error = eval(name, &refs, &attrs).expect_err(name);
        assert_eq!((error.class(), error.argument_name()), (class, Some(argument)), "{name}: {error}");
        // A kernel checks by itself: it may run on operands that inference knew nothing of.
        let op = op(name);
        let Ok(attrs) = op.attributes(&attrs) else { continue };
        let types: Vec<Type> = inputs.iter().map(|t| Type::tensor(t.dtype(), Shape::UNRANKED)).collect();
        let (Ok(()), Ok(inferred)) = (op.check_operands(&types), infer_with(op, &types, &attrs, &NoValues)) else {
            continue;
        };
        let Cpu::Kernel(kernel) = op.cpu else { unreachable!("{name} is not elementwise") };
        let mut outputs = vec![Tensor::default(); inferred.len()];
        let env = Recorder::default();
        let mut call = Call { inputs: &refs, attrs: &attrs, outputs: &mut outputs, env: &env };
        // SAFETY: inference accepts the operands where nothing is known of their shapes.
        let error = unsafe { kernel(&mut call) }.expect_err(name);
        assert_eq!((error.class(), error.argument_name()), (class, Some(argument)), "the kernel of {name}: {error}");
    }
    let at = [i32s(&[0, -5]), i32s(&[1, 1]), i32s(&[1, 1])];
    let error = eval("strided_slice", &[&x(), &at[0], &at[1], &at[2]], &[("shrink_axis_mask", 3.into())]).unwrap_err();
    assert_eq!((error.class(), error.message()), (IndexOutOfBounds, "slice index -5 of dimension 1 out of bounds"));
}

#[test]
fn a_bad_index_is_shown_with_its_position() {
    let x = counted(&[12]);
    let indices = Tensor::from_slice(&[2, 2], &[1, 50, -1, 70]).unwrap();
    let error = eval("gather", &[&x, &indices], &[]).unwrap_err();
    assert_eq!(error.message(), "indices[0,1] = 50 is not in [0, 12)");
    let error = eval("gather", &[&x, &Tensor::scalar(12i64)], &[]).unwrap_err();
    assert_eq!(error.message(), "indices = 12 is not in [0, 12)");
    let rows = Tensor::from_slice(&[2, 1], &[1, 50]).unwrap();
    let error = eval("gather_nd", &[&x, &rows], &[]).unwrap_err();
    assert_eq!(error.message(), "indices[1] = [50] does not index into shape [12]");
    // Nothing is copied, but the index is as wrong.
    let error = eval("gather", &[&counted(&[2, 0]), &i32s(&[2])], &[]).unwrap_err();
    assert_eq!(error.message(), "indices[0] = 2 is not in [0, 2)");
}

#[test]
fn symbols_pass_through_shapes() {
    let mut b = Builder::new(&penstock_ops::control::CONST);
    let batch = Dim::Sym(Symbol(0));
    let x = b.input(Type::tensor(DType::F32, Shape::new([batch, Dim::Known(28), Dim::Known(28)])), None);
    let mut emit = |name: &str, operands: &[_], attrs: &[(&str, Attr)]| b.emit(op(name), operands, attrs).unwrap()[0];
    let shape = emit("shape", &[x], &[]);
    let t = emit("transpose", &[x], &[("perm", (&[2, 0, 1][..]).into())]);
    let wide = emit("expand_dims", &[x], &[("axis", (-1).into())]);
    let flat = {
        let size = b.constant(i32s(&[-1, 784]));
        b.emit(op("reshape"), &[x, size], &[]).unwrap()[0]
    };
    let (zero, one) = (b.constant(i32s(&[0])), b.constant(i32s(&[1])));
    let n = b.emit(op("strided_slice"), &[shape, zero, one, one], &[("shrink_axis_mask", 1.into())]).unwrap()[0];
    let (start, step) = (b.constant(Tensor::scalar(0i32)), b.constant(Tensor::scalar(1i32)));
    let range = b.emit(op("range"), &[start, n, step], &[]).unwrap()[0];
    let ten = b.constant(Tensor::scalar(10i32));
    let pair = b.emit(op("stack"), &[n, ten], &[]).unwrap()[0];
    let value = b.constant(Tensor::scalar(0f32));
    let filled = b.emit(op("fill"), &[pair, value], &[]).unwrap()[0];
    let text = |v| b.type_of(v).to_string();
    assert_eq!(text(t), "f32[28,s0,28]");
    assert_eq!(text(wide), "f32[s0,28,28,1]");
    assert_eq!(text(flat), "f32[s0,784]");
    assert_eq!(text(range), "i32[s0]");
    assert_eq!(text(filled), "f32[s0,10]");
}

#[test]
fn reshape_gives_what_the_other_sizes_leave_of_nothing() {
    let sized = |dims: &[usize], shape: &[i32]| {
        eval("reshape", &[&counted(dims), &i32s(shape)], &[]).map(|t| t.dims().to_vec())
    };
    assert_eq!(sized(&[0, 28], &[0, -1]).unwrap(), [0, 28]);
    assert_eq!(sized(&[0, 28], &[-1, 28]).unwrap(), [0, 28]);
    assert_eq!(sized(&[0, 28], &[-1, 4]).unwrap(), [0, 4]);
    assert_eq!(sized(&[2, 3], &[0, -1]).unwrap_err().class(), Class::InvalidArgument);
}

#[test]
fn text_of_tensors_is_tensorflows() {
    let cases: Vec<(Tensor, i64, &str)> = vec![
        (Tensor::scalar(1.0f32), 3, "1"),
        (Tensor::scalar(0.1f32), 3, "0.1"),
        (Tensor::scalar(1.0f32 / 3.0), 3, "0.333333343"),
        (Tensor::scalar(1e10f32), 3, "1e+10"),
        (Tensor::scalar(16777216f32), 3, "16777216"),
        (Tensor::scalar(1e-5f32), 3, "1e-05"),
        (Tensor::scalar(0.0001f32), 3, "0.0001"),
        (Tensor::scalar(123456789f32), 3, "123456792"),
        (Tensor::scalar(3.4e38f32), 3, "3.4e+38"),
        (Tensor::scalar(-0.0f32), 3, "-0"),
        (Tensor::scalar(f32::NAN), 3, "nan"),
        (Tensor::scalar(f64::NEG_INFINITY), 3, "-inf"),
        (Tensor::scalar(1e10f64), 3, "10000000000"),
        (Tensor::scalar(1e16f64), 3, "1e+16"),
        (Tensor::scalar(1.0f64 / 3.0), 3, "0.33333333333333331"),
        (tensor(DType::F16, &[], &[0.1]), 3, "0.0999755859"),
        (tensor(DType::Bf16, &[], &[1e10]), 3, "9.99922074e+09"),
        (Tensor::from(true), 3, "1"),
        (tensor(DType::C64, &[2], &[1.0, -4.0]), 3, "[1-2j -4+0.5j]"),
        (strings(&[], &["a\"b"]), 3, "a\"b"),
        (strings(&[3], &["a", "b\n\"q", "\u{e9}"]), 3, "[\"a\" \"b\\n\\\"q\" \"\u{e9}\"]"),
        (counted(&[6]), 3, "[1 2 3 4 5 6]"),
        (counted(&[7]), 3, "[1 2 3 ... 5 6 7]"),
        (counted(&[7]), 1, "[1 ... 7]"),
        (counted(&[7]), -1, "[1 2 3 4 5 6 7]"),
        (counted(&[2, 2]), 3, "[[1 2]\n [3 4]]"),
        (counted(&[2, 2, 2]), 3, "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]"),
        (counted(&[3, 3]), 1, "[[1 ... 3]\n ...\n [7 ... 9]]"),
        (counted(&[1, 1, 1]), 3, "[[[1]]]"),
        (counted(&[0]), 3, "[]"),
        (counted(&[2, 0]), 3, "[]"),
    ];
    for (tensor, summarize, expected) in cases {
        assert_eq!(tensor_text(&tensor, summarize), expected, "{tensor:?}");
    }
    let summaries = [
        (counted(&[10]), 3, "1 2 3..."),
        (counted(&[3, 4]), 3, "[1 2 3...]..."),
        (counted(&[2, 2]), -1, "[1 2][3 4]"),
        (counted(&[0]), 3, ""),
        (strings(&[2], &["x", "y"]), 3, "x y"),
        (strings(&[], &["msg"]), 3, "msg"),
    ];
    for (tensor, summarize, expected) in summaries {
        assert_eq!(tensor_summary(&tensor, summarize), expected, "{tensor:?}");
    }
    assert_eq!(expand("{} {{}} {}", &[&counted(&[1]), &i32s(&[])], 3).unwrap(), "[1] {} []");
    assert_eq!(expand("{", &[], 3).unwrap_err().class(), Class::InvalidArgument);
}

proptest! {
    #[test]
    fn printed_floats_read_back(bits in any::<u32>()) {
        let value = f32::from_bits(bits);
        let text = tensor_text(&Tensor::scalar(value), 3);
        prop_assert!(value.is_nan() || text.parse::<f32>().unwrap().to_bits() == bits, "{value} as {text}");
        prop_assert!(general(value.into(), 6).len() <= 12);
    }
}

/// Keeps what is printed.
#[derive(Default)]
struct Recorder {
    printed: Mutex<Vec<(String, String)>>,
    drawn: Mutex<u64>,
}

impl Env for Recorder {
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        self.printed.lock().unwrap().push((stream.into(), text.into()));
        Ok(())
    }
    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        let mut drawn = self.drawn.lock().unwrap();
        *drawn += blocks;
        Ok((42, u128::from(*drawn - blocks)))
    }
    fn poll(&self) -> Result<()> {
        Ok(())
    }
}

fn run_in(env: &Recorder, name: &str, inputs: &[&Tensor], attrs: &[(&str, Attr)]) -> Result<Vec<Tensor>> {
    let op = op(name);
    let attrs = op.attributes(attrs)?;
    let types: Vec<Type> = inputs.iter().map(|t| Type::of(t)).collect();
    let mut outputs = vec![Tensor::default(); infer(op, &types, &attrs, Some(inputs))?.len()];
    let Cpu::Kernel(kernel) = op.cpu else { return Err(Error::internal("not a kernel")) };
    // SAFETY: the results were inferred above.
    unsafe { kernel(&mut Call { inputs, attrs: &attrs, outputs: &mut outputs, env })? };
    Ok(outputs)
}

#[test]
fn print_writes_to_its_stream() {
    let env = Recorder::default();
    run_in(&env, "print", &[&counted(&[2]), &strings(&[], &["x"])], &[]).unwrap();
    let attrs = [("template", "n: {}".into()), ("stream", "stdout".into()), ("end", "".into())];
    run_in(&env, "print", &[&Tensor::scalar(1.5f32)], &attrs).unwrap();
    let printed = env.printed.lock().unwrap();
    let seen: Vec<(&str, &str)> = printed.iter().map(|(s, t)| (s.as_str(), t.as_str())).collect();
    assert_eq!(seen, [("stderr", "[1 2] x\n"), ("stdout", "n: 1.5")]);
}

#[test]
fn a_failed_assertion_shows_its_data() {
    let run = |holds: bool, data: &[&Tensor], attrs: &[(&str, Attr)]| {
        let condition = Tensor::from(holds);
        let inputs: Vec<&Tensor> = std::iter::once(&condition).chain(data.iter().copied()).collect();
        run_in(&Recorder::default(), "assert", &inputs, attrs)
    };
    assert!(run(true, &[&counted(&[2])], &[]).unwrap().is_empty());
    let error = run(false, &[&strings(&[], &["x must be positive"]), &counted(&[2, 5])], &[]).unwrap_err();
    assert_eq!(error.class(), Class::InvalidArgument);
    assert_eq!(error.message(), "assertion failed: [x must be positive] [[1 2 3...]...]");
    let error = run(false, &[&counted(&[2])], &[("message", "no".into())]).unwrap_err();
    assert_eq!(error.message(), "assertion failed: [no] [1 2]");
}

#[test]
fn check_numerics_tells_infinities_from_nan() {
    let check =
        |values: &[f64]| eval("check_numerics", &[&tensor(DType::F64, &[2], values)], &[("message", "loss".into())]);
    assert!(check(&[1.0, -2.0]).is_ok());
    for (values, what) in [
        ([f64::NAN, 1.0], "NaN values, the first at [0]"),
        ([1.0, f64::INFINITY], "Inf values, the first at [1]"),
        ([f64::NAN, f64::INFINITY], "Inf and NaN values, the first at [0]"),
    ] {
        assert_eq!(check(&values).unwrap_err().message(), format!("loss : Tensor had {what}"));
    }
    let scalar = eval("check_numerics", &[&Tensor::from(f32::NAN)], &[("message", "loss".into())]);
    assert_eq!(scalar.unwrap_err().message(), "loss : Tensor had NaN values");
}

struct Host(fn(&[&Tensor]) -> Result<Vec<Tensor>>);

impl HostFn for Host {
    fn name(&self) -> &str {
        "f"
    }
    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        (self.0)(inputs)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn host_code_must_keep_to_what_is_declared() {
    let call = |f: fn(&[&Tensor]) -> Result<Vec<Tensor>>, outs: &[Type]| {
        let attrs = [("func", HostRef(Arc::new(Host(f))).into()), ("outs", outs.to_vec().into())];
        run_in(&Recorder::default(), "host_call", &[&counted(&[2]), &strings(&[], &["a"])], &attrs)
    };
    let vector = Type::tensor(DType::I64, Shape::of_rank(1).unwrap());
    let first: fn(&[&Tensor]) -> Result<Vec<Tensor>> = |x| Ok(vec![x[0].clone()]);
    assert_eq!(call(first, std::slice::from_ref(&vector)).unwrap(), [counted(&[2])]);
    assert!(call(|_| Ok(vec![]), &[]).unwrap().is_empty());
    let errors = [
        (call(|_| Ok(vec![]), std::slice::from_ref(&vector)), Class::InvalidArgument),
        (call(first, &[Type::scalar(DType::I64)]), Class::InvalidArgument),
        (call(first, &[Type::tensor(DType::F32, Shape::UNRANKED)]), Class::DType),
        (call(|_| Err(Error::host("raised", Arc::new(7u8))), std::slice::from_ref(&vector)), Class::Host),
    ];
    for (result, class) in errors {
        assert_eq!(result.unwrap_err().class(), class);
    }
}

#[test]
fn a_seed_gives_tensorflows_numbers() {
    let seed = i32s(&[1, 2]);
    let draw = |name: &str, rest: &[&Tensor], attrs: &[(&str, Attr)]| {
        let shape = i32s(&[8]);
        let inputs: Vec<&Tensor> = [&shape, &seed].into_iter().chain(rest.iter().copied()).collect();
        eval(name, &inputs, attrs).unwrap()
    };
    let uniform = draw("stateless_random_uniform", &[], &[]);
    let expected = [0.8440604, 0.19204533, 0.9962232, 0.1603874, 0.27199018, 0.649346, 0.10694444, 0.06516242f32];
    for (u, e) in uniform.as_slice::<f32>().iter().zip(expected) {
        assert!((u - e).abs() < 1e-7, "{u} {e}");
    }
    let double = draw("stateless_random_uniform", &[], &[("dtype", DType::F64.into())]);
    let expected = [0.75248375, 0.96978577, 0.17592234, 0.85555566, 0.51481187];
    for (u, e) in double.as_slice::<f64>().iter().zip(expected) {
        assert!((u - e).abs() < 1e-8, "{u} {e}");
    }
    let normal = draw("stateless_random_normal", &[], &[]);
    let expected = [0.5441101, 0.20738031, 0.07356432, 0.04643455, -1.3015898, -0.9538565f32];
    for (n, e) in normal.as_slice::<f32>().iter().zip(expected) {
        assert!((n - e).abs() < 1e-6, "{n} {e}");
    }
    let (low, high) = (Tensor::scalar(0i32), Tensor::scalar(10i32));
    assert_eq!(draw("stateless_random_uniform_int", &[&low, &high], &[]), i32s(&[0, 9, 4, 9, 7, 5, 1, 2]));
    let (low, high) = (Tensor::scalar(0i64), Tensor::scalar(10i64));
    let wide = draw("stateless_random_uniform_int", &[&low, &high], &[]);
    assert_eq!(wide.as_slice::<i64>()[..4], [4, 8, 7, 3]);
}

#[test]
fn stateful_draws_do_not_overlap() {
    let env = Recorder::default();
    let draw = || run_in(&env, "random_uniform", &[&i32s(&[6])], &[]).unwrap().remove(0);
    let (a, b) = (draw(), draw());
    assert_eq!(*env.drawn.lock().unwrap(), 4, "blocks of four words");
    assert!(a.as_slice::<f32>().iter().all(|v| !b.as_slice::<f32>().contains(v)));
}

#[test]
fn numbers_are_written_as_tensorflow_writes_them() {
    let write = |x: Tensor, attrs: &[(&str, Attr)]| {
        String::from_utf8(eval("as_string", &[&x], attrs).unwrap().strings()[0].to_vec()).unwrap()
    };
    let third = || Tensor::scalar(1.0f32 / 3.0);
    assert_eq!(write(third(), &[]), "0.333333");
    assert_eq!(write(Tensor::scalar(1e10f32), &[]), "10000000000.000000");
    assert_eq!(write(third(), &[("shortest", true.into())]), "0.333333");
    assert_eq!(write(Tensor::scalar(123456789f32), &[("shortest", true.into())]), "1.23457e+08");
    assert_eq!(write(third(), &[("scientific", true.into())]), "3.333333e-01");
    assert_eq!(write(third(), &[("precision", 2.into()), ("width", 12.into()), ("fill", "0".into())]), "000000000.33");
    assert_eq!(write(third(), &[("precision", 2.into()), ("width", 12.into()), ("fill", "-".into())]), "0.33        ");
    assert_eq!(write(Tensor::scalar(f32::NAN), &[("width", 6.into()), ("fill", "0".into())]), "   nan");
    assert_eq!(write(Tensor::scalar(-5i32), &[("width", 4.into()), ("fill", "0".into())]), "-005");
    assert_eq!(write(Tensor::from(true), &[]), "true");
    assert_eq!(write(tensor(DType::C64, &[1], &[1.0]), &[]), "(1.000000,0.000000)");
    assert_eq!(write(Tensor::scalar(u64::MAX), &[]), "18446744073709551615");
}

#[test]
fn patterns_rewrite_bytes() {
    let replace = |text: &str, pattern: &str, rewrite: &str| {
        eval("regex_replace", &[&strings(&[], &[text])], &[("pattern", pattern.into()), ("rewrite", rewrite.into())])
            .map(|t| String::from_utf8_lossy(&t.strings()[0]).into_owned())
    };
    assert_eq!(replace("abc abc", "(b)c", r"<\1\0>").unwrap(), "a<bbc> a<bbc>");
    assert_eq!(replace("a$1", r"\$", "$0").unwrap(), "a$01");
    for (pattern, rewrite, argument) in [("(b", "", "pattern"), ("b", r"\1", "rewrite"), ("b", r"\x", "rewrite")] {
        let error = replace("abc", pattern, rewrite).unwrap_err();
        assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some(argument)));
    }
    let full =
        eval("regex_full_match", &[&strings(&[3], &["abc", "abcd", "b"])], &[("pattern", "a.c|b".into())]).unwrap();
    assert_eq!(full, tensor(DType::Bool, &[3], &[1.0, 0.0, 1.0]));
}
