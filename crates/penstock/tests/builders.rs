//! Graphs put together by the methods of operators and by closures.

use std::sync::Arc;

use ndarray::{Array1, Array2, arr1, arr2};
use penstock::attributes::{Argmax, ReduceSum, TopK};
use penstock::{
    Class, ConcreteFunction, DType, Dim, Function, Loop, Operators, Regions, Shape, Tensor, TensorExt, Type, Verified,
    builder, ops, place,
};

fn floats(dims: &[usize]) -> Type {
    Type::tensor(DType::F32, Shape::known(dims))
}

fn counts() -> Type {
    Type::tensor(DType::I64, Shape::scalar())
}

#[test]
fn every_operator_that_a_graph_may_hold_has_a_method() {
    let methods = include_str!("../src/operators.rs");
    let regions = include_str!("../src/regions.rs");
    let by_closures = ["cond", "switch", "while", "call"];
    for op in ops::all() {
        let made_by_optimiser = ["fused", "native"].contains(&op.name);
        let declared = if by_closures.contains(&op.name) {
            regions.contains(&format!("control::{}", op.name.to_uppercase()))
        } else {
            methods.contains(&format!("    fn {}(&mut self", op.name))
        };
        assert!(declared || made_by_optimiser || op.is_constant(), "{}", op.name);
    }
}

#[test]
fn a_method_adds_what_the_operator_by_name_adds() {
    let build = |by_method: bool| -> penstock::Result<Verified> {
        let mut g = builder();
        let x = g.input(floats(&[2, 3]), Some("x"));
        let sum = match by_method {
            true => g.reduce_sum_with(x, ReduceSum::new().axes(&[1]).keepdims(true))?,
            false => {
                let named = [("axes", vec![1].into()), ("keepdims", true.into())];
                g.emit(&ops::reduce::REDUCE_SUM, &[x], &named)?[0]
            }
        };
        g.finish(&[sum])
    };
    let print = |graph| ConcreteFunction::new("f", graph).unwrap().to_string();
    assert_eq!(print(build(true).unwrap()), print(build(false).unwrap()));
}

#[test]
fn lists_of_operands_attributes_that_must_be_given_and_several_results() -> penstock::Result<()> {
    let mut g = builder();
    let x = g.input(floats(&[2]), Some("x"));
    let y = g.input(floats(&[3]), Some("y"));
    let joined = g.concat(&[x, y], 0)?;
    let k = g.constant(Tensor::from(2i32));
    let (values, at) = g.top_k_with(joined, k, TopK::new().dtype(DType::I64))?;
    let whole = g.cast(values, DType::I32)?;
    let best = g.argmax_with(joined, Argmax::new().dtype(DType::I32))?;
    let f = ConcreteFunction::new("f", g.finish(&[whole, at, best])?)?;
    let out = f.run(&[&arr1(&[1.0f32, 5.0]), &arr1(&[7.0f32, 2.0, 3.0])])?;
    assert_eq!(out[0].to_array::<i32, _>()?, arr1(&[7, 5]));
    assert_eq!(out[1].to_array::<i64, _>()?, arr1(&[2, 1]));
    assert_eq!(out[2].item(), Some(2i32));
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_named() {
    let mut g = builder();
    let x = g.input(floats(&[2, 3]), Some("x"));
    let count = g.input(counts(), Some("count"));
    let error = g.add(x, count).unwrap_err();
    assert_eq!((error.class(), error.op(), error.argument_name()), (Class::DType, Some("add"), Some("y")));
}

#[test]
fn a_branch_is_taken_by_index() -> penstock::Result<()> {
    let mut g = builder();
    let index = g.input(Type::tensor(DType::I32, Shape::scalar()), Some("index"));
    let x = g.input(counts(), Some("x"));
    let out = g.switch(index, 3, |g, i| {
        let by = g.constant(Tensor::from(10i64.pow(i as u32)));
        Ok(vec![g.mul(x, by)?])
    })?;
    let f = ConcreteFunction::new("f", g.finish(&out)?)?;
    let results = [0, 1, 2, 9].map(|i: i32| f.run(&[&i, &3i64]).unwrap()[0].item::<i64>().unwrap());
    assert_eq!(results, [3, 30, 300, 300]);
    Ok(())
}

#[test]
fn a_loop_variable_may_grow_where_its_type_says_so() -> penstock::Result<()> {
    let mut g = builder();
    let n = g.input(counts(), Some("n"));
    let (zero, one) = (g.constant(Tensor::from(0i64)), g.constant(Tensor::from(1i64)));
    let empty = g.constant(Tensor::from_slice::<i64>(&[0], &[])?);
    let shape = g.constant(Tensor::from_slice(&[1], &[1i64])?);
    let grown = Type::tensor(DType::I64, Shape::new([Dim::Unknown]));
    let end = g.while_loop_with(
        &[zero, empty],
        Loop::new().types(&[counts(), grown]),
        |g, at| g.less(at[0], n),
        |g, at| {
            let square = g.mul(at[0], at[0])?;
            let square = g.reshape(square, shape)?;
            Ok(vec![g.add(at[0], one)?, g.concat(&[at[1], square], 0)?])
        },
    )?;
    let f = ConcreteFunction::new("squares", g.finish(&[end[1]])?)?;
    assert_eq!(f.run(&[&4i64])?[0].to_array::<i64, _>()?, arr1(&[0, 1, 4, 9]));
    Ok(())
}

#[test]
fn a_region_that_fails_leaves_the_builder_as_it_was() -> penstock::Result<()> {
    let mut g = builder();
    let n = g.input(counts(), Some("n"));
    let x = g.input(floats(&[]), Some("x"));
    let error = g.while_loop(&[n], |g, at| g.less(at[0], n), |g, at| Ok(vec![g.add(at[0], x)?])).unwrap_err();
    assert_eq!(error.op(), Some("add"));
    let error = g.cond(n, |_| Ok(vec![n]), |_| Ok(vec![n])).unwrap_err();
    assert_eq!((error.op(), error.argument_name()), (Some("cond"), Some("pred")));
    let error = g.while_loop(&[n], |g, _| Ok(g.begin_region([])).map(|_| n), |_, at| Ok(at.to_vec())).unwrap_err();
    assert!(error.message().contains("leaves another open"), "{error}");
    assert_eq!(g.depth(), 1);
    g.finish(&[n]).map(drop)
}

#[test]
fn a_function_calls_another() -> penstock::Result<()> {
    let mut g = builder();
    let x = g.input(counts(), Some("x"));
    let square = g.mul(x, x)?;
    let square = Arc::new(Function::new("square", g.finish(&[square])?));
    let mut g = builder();
    let x = g.input(counts(), Some("x"));
    let once = g.call(&square, &[x])?;
    let twice = g.call(&square, &once)?;
    let f = ConcreteFunction::new("fourth", g.finish(&twice)?)?;
    assert_eq!(f.run(&[&3i64])?[0].item(), Some(81i64));
    Ok(())
}

#[test]
fn outputs_go_to_memory_of_the_caller_all_or_none() -> penstock::Result<()> {
    let mut g = builder();
    let x = g.input(floats(&[2, 2]), Some("x"));
    let (doubled, sum) = (g.add(x, x)?, g.reduce_sum(x)?);
    let f = ConcreteFunction::new("f", g.finish(&[doubled, sum])?)?;
    let x = arr2(&[[1.0f32, 2.0], [3.0, 4.0]]);
    let (mut a, mut b) = (Array2::<f32>::zeros((2, 2)), Array1::<f32>::zeros(1));
    let error = f.run_into(&[&x], &mut [place(&mut a)?, place(&mut b)?]).unwrap_err();
    assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some("outputs[1]")));
    assert_eq!(a, Array2::<f32>::zeros((2, 2)));
    let mut b = ndarray::arr0(0.0f32);
    f.run_into(&[&x], &mut [place(&mut a)?, place(&mut b)?])?;
    assert_eq!((a.clone(), b), (&x + &x, ndarray::arr0(10.0)));
    assert!(place(&mut a.view_mut().reversed_axes()).is_err());
    Ok(())
}
