mod common;
use common::eval;
use penstock_data::Tensor;
#[test]
fn peer() {
    let p = |s: &str| -> Vec<i64> { s.split(',').filter(|x| !x.is_empty()).map(|x| x.parse().unwrap()).collect() };
    let mut bad = 0;
    for line in std::fs::read_to_string("/tmp/w/slices.txt").unwrap().lines() {
        let f: Vec<&str> = line.split(';').collect();
        let dims: Vec<usize> = p(f[0]).iter().map(|&d| d as usize).collect();
        let n: usize = dims.iter().product();
        let x = Tensor::from_slice(&dims, &(1..=n as i64).collect::<Vec<_>>()).unwrap();
        let m = p(f[4]);
        let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
        let attrs: Vec<_> = names.iter().zip(m).map(|(n, v)| (*n, v.into())).collect();
        let got = eval("strided_slice", &[&x, &Tensor::vector(&p(f[1])), &Tensor::vector(&p(f[2])), &Tensor::vector(&p(f[3]))], &attrs);
        let same = match (&got, f[5]) {
            (Ok(t), "ok") => t.dims().iter().map(|&d| d as i64).collect::<Vec<_>>() == p(f[6]) && t.as_slice::<i64>() == p(f[7]).as_slice(),
            (Err(_), "err") => true,
            _ => false,
        };
        if !same { bad += 1; if bad < 15 { println!("{line}\n   got {got:?}"); } }
    }
    assert_eq!(bad, 0);
}
