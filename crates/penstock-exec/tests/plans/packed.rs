//! Products by matrices that stay the same from run to run.

use std::sync::Arc;

use penstock_data::{DType, Dim, Shape, Tensor};
use penstock_exec::{Arg, Executable, reference};
use penstock_ir::{Builder, Function, Type, Verified};
use penstock_ops::control::CONST;

use super::products::whole;
use super::random::Random;
use super::rows::{op, same};
use super::{env, executable};

const SIZES: [usize; 6] = [1, 16, 17, 64, 100, 300];

/// A product by a matrix, which is an input behind the rows or a constant.
struct Product {
    graph: Verified,
    rows: Tensor,
    matrix: Tensor,
    transposed: bool,
}

impl Product {
    fn new(random: &mut Random, constant: bool) -> Product {
        let dtype = [DType::F32, DType::F64, DType::F16][random.below(3)];
        let (k, n) = (SIZES[random.below(6)], SIZES[random.below(6)]);
        let lead = [vec![1], vec![2], vec![8], vec![17], vec![33], vec![128], vec![129], vec![0], vec![3, 6]];
        let mut rows = lead[random.below(lead.len())].clone();
        rows.push(k);
        let (transposed, odd) = (random.below(2) == 0, random.below(3) == 0);
        let (rows, matrix) = (whole(random, dtype, &rows, odd), matrix(random, dtype, [k, n], transposed));
        let mut b = Builder::new(&CONST);
        let x = b.input(Type::of(&rows), None);
        let w = if constant { b.constant(matrix.clone()) } else { b.input(Type::of(&matrix), None) };
        let y = b.emit(op("matmul"), &[x, w], &[("transpose_b", transposed.into())]).unwrap()[0];
        Product { graph: b.finish(&[y]).unwrap(), rows, matrix, transposed }
    }
}

fn matrix(random: &mut Random, dtype: DType, [k, n]: [usize; 2], transposed: bool) -> Tensor {
    whole(random, dtype, &if transposed { [n, k] } else { [k, n] }, false)
}

#[test]
fn products_by_constants_agree_with_the_reference() {
    let (mut random, mut found) = (Random(3), 0);
    for _ in 0..300 {
        let Product { graph, rows, .. } = Product::new(&mut random, true);
        let args = [Arg::from(rows)];
        let (due, executable) = (reference::run(&graph, &args, &env()).unwrap(), executable(&graph));
        found += usize::from(executable.text().unwrap().contains("resolved"));
        for run in 0..2 {
            let got = executable.run(&args, &env()).unwrap();
            assert!(same(&got[0], &due[0]), "run {run}:\n{}", executable.text().unwrap());
        }
    }
    assert!(found > 50, "{found} of them are by packed matrices");
}

#[test]
fn a_captured_matrix_may_be_another_one_in_another_run() {
    let (mut random, mut found) = (Random(4), 0);
    for _ in 0..300 {
        let Product { graph, rows, matrix: first, transposed } = Product::new(&mut random, false);
        let function = Function::new("f", graph.clone());
        function.set_captures(1);
        let executable = Executable::new(&function).unwrap();
        found += usize::from(executable.text().unwrap().contains("resolved"));
        let (k, n) = (rows.dims()[rows.rank() - 1], first.dims()[usize::from(!transposed)]);
        let other = matrix(&mut random, rows.dtype(), [k, n], transposed);
        for w in [&first, &first, &other, &first, &other] {
            let args = [Arg::from(rows.clone()), Arg::from(w.clone())];
            let due = reference::run(&graph, &args, &env()).unwrap();
            let got = executable.run(&args, &env()).unwrap();
            assert!(same(&got[0], &due[0]), "{}", executable.text().unwrap());
        }
    }
    assert!(found > 50, "{found} of them are by packed matrices");
}

/// `x w` for rows of any number, `w` being a constant.
fn of_any_rows(w: &Tensor) -> Arc<Function> {
    let mut b = Builder::new(&CONST);
    let x = b.input(Type::tensor(w.dtype(), Shape::new([Dim::Unknown, Dim::Known(w.dims()[0])])), None);
    let w = b.constant(w.clone());
    let y = b.emit(op("matmul"), &[x, w], &[]).unwrap()[0];
    Arc::new(Function::new("f", b.finish(&[y]).unwrap()))
}

#[test]
fn functions_and_threads_share_a_packed_matrix() {
    let mut random = Random(5);
    let w = matrix(&mut random, DType::F16, [300, 200], false);
    let functions = [of_any_rows(&w), of_any_rows(&w)];
    let executables = functions.map(|function| Executable::new(&function).unwrap());
    let graph = of_any_rows(&w).graph().unwrap().clone();
    let rows: Vec<Tensor> = (0..40).map(|m| whole(&mut random, DType::F16, &[m, 300], false)).collect();
    std::thread::scope(|scope| {
        for executable in executables.iter().chain(&executables) {
            scope.spawn(|| {
                for x in &rows {
                    let args = [Arg::from(x.clone())];
                    let due = reference::run(&graph, &args, &env()).unwrap();
                    assert_eq!(executable.run(&args, &env()).unwrap()[0], due[0]);
                }
            });
        }
    });
}
