//! Runs ONNX's backend tests: `cases DIRECTORY REFUSALS [FILTER]`, with the cases as `tools/peers/onnx_cases.py` writes them, and
//! the list of those that are known to fail, a name and a reason in each line. Fails where another case fails, and where one
//! of the list passes.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use penstock_data::{DType, Tensor};
use penstock_exec::{StdEnv, eager};
use penstock_onnx::{Model, tensor_from_bytes};
use penstock_ops::cast::CAST;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, directory, refusals, filter @ ..] = args.as_slice() else {
        return Err("usage: cases DIRECTORY REFUSALS [FILTER]".into());
    };
    let refusals = fs::read_to_string(refusals)?;
    let refused: BTreeMap<&str, &str> = refusals
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_once(' ').unwrap_or((line, "")))
        .collect();
    let mut cases: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    cases.sort_by_key(|case| case.file_name());
    let (mut passed, mut as_listed, mut wrong) = (0, 0, 0);
    for case in cases {
        let name = case.file_name().to_string_lossy().into_owned();
        if filter.first().is_some_and(|f| !name.contains(f.as_str())) {
            continue;
        }
        match (run(&case.path()), refused.get(name.as_str())) {
            (Ok(()), None) => passed += 1,
            (Err(_), Some(_)) => as_listed += 1,
            (Err(error), None) => {
                wrong += 1;
                println!("{name}: {error}");
            }
            (Ok(()), Some(reason)) => {
                wrong += 1;
                println!("{name}: passes, though it is listed: {reason}");
            }
        }
    }
    println!("{passed} passed, {as_listed} fail as listed, {wrong} are not as listed");
    if wrong == 0 { Ok(()) } else { Err("cases are not as listed".into()) }
}

fn run(case: &Path) -> Fallible<()> {
    let model = Model::load(case.join("model.onnx"))?;
    let tolerance = fs::read_to_string(case.join("tolerance"))?;
    let tolerance: Vec<f64> = tolerance.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    for set in 0.. {
        let data = case.join(format!("test_data_set_{set}"));
        if !data.exists() {
            break;
        }
        let outputs = model.run(&tensors(&data, "input")?)?;
        for (i, (output, due)) in outputs.iter().zip(tensors(&data, "output")?).enumerate() {
            compare(output, &due, tolerance[0], tolerance[1]).map_err(|e| format!("output {i}: {e}"))?;
        }
    }
    Ok(())
}

fn tensors(data: &Path, kind: &str) -> Fallible<Vec<Tensor>> {
    let mut list = Vec::new();
    while let Ok(bytes) = fs::read(data.join(format!("{kind}_{}.pb", list.len()))) {
        list.push(tensor_from_bytes(&bytes)?);
    }
    Ok(list)
}

fn compare(got: &Tensor, due: &Tensor, rtol: f64, atol: f64) -> Fallible<()> {
    if (got.dtype(), got.dims()) != (due.dtype(), due.dims()) {
        return Err(format!("{}{:?} for {}{:?}", got.dtype(), got.dims(), due.dtype(), due.dims()).into());
    }
    if got.dtype() == DType::Str {
        return if got.strings() == due.strings() { Ok(()) } else { Err("other texts".into()) };
    }
    let wide = if got.dtype().is_complex() { DType::C128 } else { DType::F64 };
    let cast = |t: &Tensor| -> Fallible<Tensor> {
        Ok(eager(&CAST, &[t], &CAST.attributes(&[("dtype", wide.into())])?, &StdEnv::new(0))?.remove(0))
    };
    let (got, due) = (cast(got)?, cast(due)?);
    let numbers =
        |t: &Tensor| -> Vec<f64> { t.bytes().as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect() };
    for (i, (x, y)) in numbers(&got).into_iter().zip(numbers(&due)).enumerate() {
        let near = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= atol + rtol * y.abs();
        if !near {
            return Err(format!("element {i} is {x}, due is {y}").into());
        }
    }
    Ok(())
}
