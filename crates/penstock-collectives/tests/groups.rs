//! Groups of threads, each a member as a process would be.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use penstock_collectives::{Listener, Membership, TcpGroup};
use penstock_data::{C64, Class, DType, DTypeSet, Result, Tensor, bf16, f16, with_dtype};
use penstock_ir::{Collective, Combine, Group};

fn key() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What each member of a group of `n` gives.
fn members<T: Send>(n: usize, timeout: Duration, work: impl Fn(&TcpGroup) -> T + Sync) -> Vec<T> {
    let listeners: Vec<Listener> = (0..n).map(|_| Listener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
    let key = key();
    let run = |(rank, listener): (usize, &Listener)| {
        work(&listener.join(Membership { key, rank, members: addresses.clone(), timeout }).unwrap())
    };
    std::thread::scope(|threads| {
        let run = &run;
        let started: Vec<_> = listeners.iter().enumerate().map(|at| threads.spawn(move || run(at))).collect();
        started.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

const LONG: Duration = Duration::from_secs(60);

fn together(group: &TcpGroup, collective: Collective, value: &Tensor) -> Result<Tensor> {
    group.wait(group.start(collective, "test", value)?, value, &|| Ok(()))
}

/// Small integers of a dtype, which all combinations keep exact; other ones for each rank.
fn value(dtype: DType, dims: &[usize], rank: usize) -> Tensor {
    let n: usize = dims.iter().product();
    let numbers = (0..n).map(|i| [1i8, 2, 0, 3, 1][(i * 7 + rank * 3) % 5]);
    let mut out = Tensor::zeros(dtype, dims).unwrap();
    match dtype {
        DType::Bool => out.bytes_mut().iter_mut().zip(numbers).for_each(|(to, v)| *to = u8::from(v > 1)),
        DType::F16 => out.as_mut_slice().iter_mut().zip(numbers).for_each(|(to, v)| *to = f16::from_f32(v.into())),
        DType::Bf16 => out.as_mut_slice().iter_mut().zip(numbers).for_each(|(to, v)| *to = bf16::from_f32(v.into())),
        DType::C64 => out.as_mut_slice().iter_mut().zip(numbers).for_each(|(to, v)| *to = C64::new(v.into(), 1.0)),
        DType::C128 => {
            out.as_mut_slice()
                .iter_mut()
                .zip(numbers)
                .for_each(|(to, v)| *to = penstock_data::C128::new(v.into(), 1.0));
        }
        _ => with_dtype!(real, dtype, T => {
            out.as_mut_slice::<T>().iter_mut().zip(numbers).for_each(|(to, v)| *to = num(v));
        }, else unreachable!()),
    }
    out
}

trait FromSmall {
    fn from_small(v: i8) -> Self;
}

macro_rules! from_small {
    ($($t:ty)*) => {$(impl FromSmall for $t { fn from_small(v: i8) -> Self { v as $t } })*};
}
from_small!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
impl FromSmall for f16 {
    fn from_small(v: i8) -> Self {
        f16::from_f32(v.into())
    }
}
impl FromSmall for bf16 {
    fn from_small(v: i8) -> Self {
        bf16::from_f32(v.into())
    }
}

fn num<T: FromSmall>(v: i8) -> T {
    T::from_small(v)
}

/// The values as complex numbers, which hold those of all dtypes.
fn numbers(t: &Tensor) -> Vec<(f64, f64)> {
    match t.dtype() {
        DType::Bool => t.bytes().iter().map(|&b| (b.into(), 0.0)).collect(),
        DType::C64 => t.as_slice::<C64>().iter().map(|z| (z.re.into(), z.im.into())).collect(),
        DType::C128 => t.as_slice::<penstock_data::C128>().iter().map(|z| (z.re, z.im)).collect(),
        DType::F16 => t.as_slice::<f16>().iter().map(|x| (x.to_f64(), 0.0)).collect(),
        DType::Bf16 => t.as_slice::<bf16>().iter().map(|x| (x.to_f64(), 0.0)).collect(),
        DType::F32 => t.as_slice::<f32>().iter().map(|&x| (x.into(), 0.0)).collect(),
        DType::F64 => t.as_slice::<f64>().iter().map(|&x| (x, 0.0)).collect(),
        _ => t.to_ints().unwrap().iter().map(|&i| (i as f64, 0.0)).collect(),
    }
}

fn combined(how: Combine, all: &[Tensor]) -> Vec<(f64, f64)> {
    let mut values = all.iter().map(numbers);
    let first = values.next().unwrap();
    values.fold(first, |acc, next| {
        let pairs = acc.into_iter().zip(next);
        let one = |((a, b), (c, d)): ((f64, f64), (f64, f64))| match how {
            Combine::Sum => (a + c, b + d),
            Combine::Product => (a * c - b * d, a * d + b * c),
            Combine::Min => (a.min(c), 0.0),
            Combine::Max => (a.max(c), 0.0),
        };
        pairs.map(one).collect()
    })
}

#[test]
fn every_kind_and_dtype_is_as_computed_in_one_place() {
    for n in [1, 2, 3, 4, 5, 7] {
        // Fewer elements than members, some, and more than a segment has.
        for extents in [vec![0, 2], vec![1], vec![2 * n, 3], vec![60_000 * n]] {
            let many = extents[0] > 1000;
            let dtypes =
                DTypeSet::PLAIN.iter().filter(|d| !many || matches!(d, DType::F32 | DType::C128 | DType::Bf16));
            let dtypes: Vec<DType> = dtypes.collect();
            let per_member = members(n, LONG, |group| {
                let mut found = Vec::new();
                for &dtype in &dtypes {
                    let own = value(dtype, &extents, group.rank());
                    for how in Combine::ALL.into_iter().filter(|c| c.dtypes().contains(dtype)) {
                        found.push(together(group, Collective::AllReduce(how), &own).unwrap());
                        found.push(together(group, Collective::Reduce(how, n - 1), &own).unwrap());
                        if extents[0] % n == 0 {
                            found.push(together(group, Collective::ReduceScatter(how), &own).unwrap());
                        }
                    }
                    found.push(together(group, Collective::Broadcast(n / 2), &own).unwrap());
                    found.push(together(group, Collective::AllGather, &own).unwrap());
                    if extents[0] % n == 0 {
                        found.push(together(group, Collective::AllToAll, &own).unwrap());
                    }
                }
                found
            });
            for (rank, found) in per_member.iter().enumerate() {
                let mut found = found.iter();
                for &dtype in &dtypes {
                    let all: Vec<Tensor> = (0..n).map(|rank| value(dtype, &extents, rank)).collect();
                    let label = format!("{dtype} {extents:?} rank {rank} of {n}");
                    let divided = extents[0] % n == 0;
                    let per_part = all[0].len() / n;
                    for how in Combine::ALL.into_iter().filter(|c| c.dtypes().contains(dtype)) {
                        // Products of many small integers leave what 8 bits hold.
                        let exact = dtype.size() > 1 || how != Combine::Product;
                        let due = combined(how, &all);
                        let got = numbers(found.next().unwrap());
                        assert!(!exact || got == due, "all_reduce {how:?} {label}");
                        let got = numbers(found.next().unwrap());
                        let here = if rank == n - 1 { due.clone() } else { vec![(0.0, 0.0); due.len()] };
                        assert!(!exact || got == here, "reduce {how:?} {label}");
                        if divided {
                            let got = numbers(found.next().unwrap());
                            assert!(
                                !exact || got == due[rank * per_part..(rank + 1) * per_part],
                                "reduce_scatter {how:?} {label}"
                            );
                        }
                    }
                    assert_eq!(numbers(found.next().unwrap()), numbers(&all[n / 2]), "broadcast {label}");
                    let gathered: Vec<(f64, f64)> = all.iter().flat_map(numbers).collect();
                    assert_eq!(numbers(found.next().unwrap()), gathered, "all_gather {label}");
                    if divided {
                        let mine = rank * per_part..(rank + 1) * per_part;
                        let turned: Vec<(f64, f64)> =
                            all.iter().flat_map(|t| numbers(t)[mine.clone()].to_vec()).collect();
                        assert_eq!(numbers(found.next().unwrap()), turned, "all_to_all {label}");
                    }
                }
            }
        }
    }
}

#[test]
fn all_members_get_the_same_bits_and_get_them_again() {
    for n in [2, 3, 4, 6] {
        for len in [100, 50_000] {
            let run = || {
                members(n, LONG, |group| {
                    let mut seed = 12345 + group.rank() as u32;
                    let mut own = Tensor::zeros(DType::F32, &[len]).unwrap();
                    for v in own.as_mut_slice::<f32>() {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        *v = f32::from_bits(seed);
                    }
                    together(group, Collective::AllReduce(Combine::Sum), &own).unwrap().bytes().to_vec()
                })
            };
            let first = run();
            assert!(first.iter().all(|bytes| *bytes == first[0]), "{n} members");
            assert_eq!(run(), first);
        }
    }
}

#[test]
fn nan_is_the_least_and_the_greatest() {
    let found = members(3, LONG, |group| {
        let own = Tensor::vector(&[if group.rank() == 1 { f64::NAN } else { 1.0 }, -0.0, f64::INFINITY]);
        let least = together(group, Collective::AllReduce(Combine::Min), &own).unwrap();
        let greatest = together(group, Collective::AllReduce(Combine::Max), &own).unwrap();
        least.as_slice::<f64>()[0].is_nan()
            && greatest.as_slice::<f64>()[0].is_nan()
            && greatest.as_slice::<f64>()[2] == f64::INFINITY
    });
    assert_eq!(found, [true; 3]);
}

#[test]
fn members_may_gather_different_numbers_of_rows() {
    let found = members(3, LONG, |group| {
        let own = value(DType::I32, &[group.rank() * 2, 2], group.rank());
        together(group, Collective::AllGather, &own).unwrap().dims().to_vec()
    });
    assert_eq!(found, vec![vec![6, 2]; 3]);
}

#[test]
fn several_are_under_way_at_once_and_are_awaited_in_any_order() {
    let found = members(2, LONG, |group| {
        let start = |i: i64| group.start(Collective::AllReduce(Combine::Sum), "", &Tensor::scalar(i)).unwrap();
        let tickets: Vec<i64> = (0..50).map(start).collect();
        let sums = tickets
            .iter()
            .rev()
            .map(|&t| group.wait(t, &Tensor::scalar(0i64), &|| Ok(())).unwrap().item::<i64>().unwrap());
        sums.collect::<Vec<_>>()
    });
    assert_eq!(found[0], (0..50).rev().map(|i| 2 * i).collect::<Vec<_>>());
    assert_eq!(found[0], found[1]);
}

#[test]
fn a_result_is_given_once() {
    members(1, LONG, |group| {
        let own = Tensor::vector(&[1i32]);
        let ticket = group.start(Collective::AllGather, "", &own).unwrap();
        group.wait(ticket, &own, &|| Ok(())).unwrap();
        for ticket in [ticket, 77, -1] {
            let error = group.wait(ticket, &own, &|| Ok(())).unwrap_err();
            assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some("ticket")));
        }
    });
}

#[test]
fn members_that_disagree_are_told_both_sides() {
    let other = |rank: usize| match rank {
        1 => (Collective::AllReduce(Combine::Max), Tensor::vector(&[1f32, 2.0])),
        _ => (Collective::AllReduce(Combine::Sum), Tensor::vector(&[1f32, 2.0])),
    };
    let messages = members(2, LONG, |group| {
        let (collective, own) = other(group.rank());
        let error = together(group, collective, &own).unwrap_err();
        assert_eq!(error.class(), Class::InvalidArgument, "{error}");
        // The group has failed for good.
        assert!(together(group, collective, &own).is_err());
        error.message().to_owned()
    });
    for message in messages {
        let (sum, max) = ("all_reduce of the sum 'test' of float32[2]", "all_reduce of the max 'test' of float32[2]");
        assert!(message.contains(sum) && message.contains(max), "{message}");
    }
}

#[test]
fn other_shapes_dtypes_and_names_are_disagreements() {
    let cases: [fn(usize) -> (String, Tensor); 3] = [
        |rank| ("a".into(), Tensor::zeros(DType::F32, &[2 + rank]).unwrap()),
        |rank| ("a".into(), Tensor::zeros([DType::F32, DType::I32][rank], &[2]).unwrap()),
        |rank| (format!("step {rank}"), Tensor::zeros(DType::F32, &[2]).unwrap()),
    ];
    for case in cases {
        let classes = members(2, LONG, |group| {
            let (name, own) = case(group.rank());
            let ticket = group.start(Collective::AllReduce(Combine::Sum), &name, &own).unwrap();
            group.wait(ticket, &own, &|| Ok(())).unwrap_err().class()
        });
        assert_eq!(classes, [Class::InvalidArgument; 2]);
    }
}

#[test]
fn what_cannot_take_part_is_refused_and_the_group_goes_on() {
    let rows = members(2, LONG, |group| {
        let refused = |collective, value: &Tensor, argument: &str| {
            let error = together(group, collective, value).unwrap_err();
            assert_eq!(error.argument_name(), Some(argument), "{error}");
        };
        refused(Collective::AllReduce(Combine::Sum), &Tensor::from("text"), "value");
        refused(Collective::AllReduce(Combine::Max), &Tensor::scalar(C64::new(1.0, 0.0)), "value");
        refused(Collective::AllGather, &Tensor::scalar(1f32), "value");
        refused(Collective::ReduceScatter(Combine::Sum), &Tensor::vector(&[1f32; 3]), "value");
        refused(Collective::AllToAll, &Tensor::vector(&[1f32; 3]), "value");
        refused(Collective::Broadcast(2), &Tensor::scalar(1f32), "root");
        refused(Collective::Reduce(Combine::Sum, 9), &Tensor::scalar(1f32), "root");
        together(group, Collective::AllGather, &Tensor::vector(&[1i32])).unwrap().len()
    });
    assert_eq!(rows, [2, 2]);
}

#[test]
fn a_member_that_leaves_is_an_error_for_the_others_at_once() {
    let errors = members(3, LONG, |group| {
        together(group, Collective::AllReduce(Combine::Sum), &Tensor::scalar(1f32)).unwrap();
        let large = Tensor::zeros(DType::F32, &[100_000]).unwrap();
        together(group, Collective::AllReduce(Combine::Sum), &large).unwrap();
        // Rank 1 goes here.
        (group.rank() != 1).then(|| together(group, Collective::AllReduce(Combine::Sum), &large).unwrap_err())
    });
    for error in errors.into_iter().flatten() {
        assert_eq!(error.class(), Class::Unavailable, "{error}");
    }
}

#[test]
fn a_silent_member_is_an_error_after_the_timeout() {
    let failed = Barrier::new(2);
    let errors = members(2, Duration::from_millis(300), |group| {
        let own = Tensor::scalar(1f32);
        // Rank 1 is there, and does not take part.
        let error =
            (group.rank() == 0).then(|| together(group, Collective::AllReduce(Combine::Sum), &own).unwrap_err());
        failed.wait();
        error
    });
    assert_eq!(errors.into_iter().flatten().next().unwrap().class(), Class::Unavailable);
}

#[test]
fn a_member_that_takes_nothing_is_an_error_after_the_timeout() {
    let failed = Barrier::new(2);
    let errors = members(2, Duration::from_millis(300), |group| {
        // Rank 1 never reads: what rank 0 sends fills the buffers between them.
        let own = Tensor::zeros(DType::F32, &[3000]).unwrap();
        let error = (group.rank() == 0).then(|| {
            let mut results = (0..5000).map(|_| together(group, Collective::Broadcast(0), &own));
            results.find_map(Result::err)
        });
        failed.wait();
        error
    });
    let error = errors.into_iter().flatten().next().unwrap().expect("buffers are finite");
    assert_eq!(error.class(), Class::Unavailable, "{error}");
}

#[test]
fn the_host_can_end_a_wait() {
    let ended = Barrier::new(2);
    members(2, LONG, |group| {
        if group.rank() == 0 {
            let own = Tensor::vector(&[1i32]);
            let ticket = group.start(Collective::AllGather, "", &own).unwrap();
            let stop = || Err(penstock_data::Error::cancelled("enough"));
            assert_eq!(group.wait(ticket, &own, &stop).unwrap_err().class(), Class::Cancelled);
        }
        ended.wait();
    });
}

#[test]
fn survivors_meet_in_a_new_group() {
    let listeners: Vec<Listener> = (0..3).map(|_| Listener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
    let (first, second) = (key(), key());
    let survivors = [addresses[0].clone(), addresses[2].clone()];
    let run = |rank: usize, listener: &Listener| {
        let group = listener.join(Membership { key: first, rank, members: addresses.clone(), timeout: LONG }).unwrap();
        together(&group, Collective::AllReduce(Combine::Sum), &Tensor::scalar(1f32)).unwrap();
        if rank == 1 {
            return None;
        }
        let large = Tensor::zeros(DType::F32, &[100_000]).unwrap();
        while together(&group, Collective::AllReduce(Combine::Sum), &large).is_ok() {}
        drop(group);
        let membership = Membership { key: second, rank: rank / 2, members: survivors.to_vec(), timeout: LONG };
        let group = listener.join(membership).unwrap();
        together(&group, Collective::AllReduce(Combine::Sum), &Tensor::scalar(rank as i32)).unwrap().item::<i32>()
    };
    let found: Vec<Option<i32>> = std::thread::scope(|threads| {
        let run = &run;
        let all: Vec<_> = listeners.iter().enumerate().map(|(i, l)| threads.spawn(move || run(i, l))).collect();
        all.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(found, [Some(2), None, Some(2)]);
}

#[test]
fn strangers_and_nonsense_do_no_harm() {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let key = key();
    let members = vec![listener.address().to_string(), "127.0.0.1:1".to_owned()];
    let group = listener.join(Membership { key, rank: 0, members, timeout: Duration::from_millis(400) }).unwrap();
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 64], b"PENSTOC1"] {
        TcpStream::connect(listener.address()).unwrap().write_all(bytes).unwrap();
    }
    // One that greets well and then sends no frames, or frames of absurd lengths.
    let mut greeting = [&b"PENSTOC1"[..], &key.to_le_bytes(), &1u32.to_le_bytes()].concat();
    greeting.extend_from_slice(&[1, 255, 255, 255, 255, 255, 255, 255, 255, 7]);
    TcpStream::connect(listener.address()).unwrap().write_all(&greeting).unwrap();
    let error = together(&group, Collective::Broadcast(1), &Tensor::scalar(1f32)).unwrap_err();
    assert_eq!(error.class(), Class::Unavailable, "{error}");
}

#[test]
fn a_rank_beyond_the_members_is_an_error() {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let error =
        listener.join(Membership { key: key(), rank: 1, members: vec!["x".into()], timeout: LONG }).unwrap_err();
    assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some("rank")));
    assert_eq!(Listener::bind("no such host:1").unwrap_err().class(), Class::Unavailable);
}

#[test]
fn timeouts_of_any_length_are_taken() {
    let own = Tensor::vector(&[1i32; 10_000]);
    let sums = members(2, Duration::MAX, |group| together(group, Collective::AllReduce(Combine::Sum), &own).unwrap());
    assert!(sums.iter().all(|sum| sum.as_slice::<i32>() == [2; 10_000]));
    let alone = members(2, Duration::ZERO, |group| {
        (group.rank() == 0).then(|| together(group, Collective::Broadcast(1), &own).unwrap_err().class())
    });
    assert_eq!(alone[0], Some(Class::Unavailable));
}

#[test]
fn a_group_of_32_meets_soon() {
    let sums = members(32, LONG, |group| {
        together(group, Collective::AllReduce(Combine::Sum), &Tensor::scalar(group.rank() as i64))
            .unwrap()
            .item::<i64>()
    });
    assert_eq!(sums, [Some(31 * 16); 32]);
}
