use super::*;

#[test]
fn small_tensors_are_inline_and_large_ones_are_shared() {
    let small = Tensor::vector(&[1.0f32, 2.0, 3.0, 4.0]);
    assert!(!small.clone().shares_data(&small));
    let large = Tensor::vector(&[0i64; 3]);
    assert!(large.clone().shares_data(&large));
}

#[test]
fn shared_data_is_never_written() {
    let mut a = Tensor::vector(&[1i64, 2, 3]);
    assert!(a.as_mut_ptr().is_some());
    let b = a.clone();
    assert!(a.as_mut_ptr().is_none());
    a.prepare(DType::I64, &[3]).unwrap();
    a.as_mut_slice::<i64>().fill(9);
    assert_eq!(b.as_slice::<i64>(), [1, 2, 3]);
}

#[test]
fn data_that_another_thread_has_read_is_written_after_that() {
    for round in 0..200i64 {
        let mut own = Tensor::vector(&[round; 64]);
        let theirs = own.clone();
        let reader = std::thread::spawn(move || theirs.as_slice::<i64>().iter().sum::<i64>());
        while own.as_mut_ptr().is_none() {
            std::thread::yield_now();
        }
        own.as_mut_slice::<i64>().fill(-1);
        assert_eq!(reader.join().unwrap(), 64 * round);
    }
}

#[test]
fn memory_of_somebody_else_is_never_written_and_copied_where_its_alignment_is_too_small() {
    use std::ptr::NonNull;

    use crate::C64;

    // Elements of `complex64` are aligned to 4 bytes, those of `float64`, which are as large, to 8.
    let words: Box<[u64]> = (0..9).collect();
    let start = NonNull::from(&words[..]).cast::<u8>();
    // SAFETY: four bytes into 72 that their owner, the box, keeps where they are, and that nobody writes.
    let buffer = unsafe { Buffer::external(start.add(4), 64, Box::new(words)) };
    let mut t = Tensor::from_buffer(DType::C64, &[8], buffer).unwrap();
    assert!(t.as_mut_ptr().is_none() && !t.is_own());
    let bits = t.bitcast(DType::F64).unwrap();
    assert_eq!(bits.as_ptr().align_offset(8), 0);
    assert_eq!(bits.as_slice::<f64>()[0].to_bits(), 1 << 32);
    assert!(bits.is_own() && bits.bytes() == t.bytes());
    assert!(t.bitcast(DType::C64).unwrap().shares_data(&t));
    t.prepare(DType::C64, &[8]).unwrap();
    t.as_mut_slice::<C64>().fill(C64::default());
    assert_ne!(bits.as_slice::<f64>()[0].to_bits(), 0);

    // What a tensor is made of, it has alone: nobody can keep a reference to the buffer.
    let mut own = Tensor::from_buffer(DType::F32, &[4], Buffer::new(64).unwrap()).unwrap();
    assert!(own.as_mut_ptr().is_some());
}

#[test]
fn prepare_keeps_memory_that_suffices() {
    let mut t = Tensor::zeros(DType::F32, &[100]).unwrap();
    let place = t.as_ptr();
    assert_eq!(t.prepare(DType::F64, &[5, 10]).unwrap().cast_const(), place);
    assert_eq!((t.dtype(), t.dims()), (DType::F64, &[5, 10][..]));
    assert_ne!(t.prepare(DType::F64, &[5, 1000]).unwrap().cast_const(), place);
}

#[test]
fn tensors_that_follow_each_other_in_memory_are_stacked_where_they_lie() {
    let all = Tensor::from_slice(&[5, 3], &(0..15).collect::<Vec<i64>>()).unwrap();
    let rows: Vec<Tensor> = (0..5).map(|i| all.rows(i, 1).unwrap()).collect();
    let stacked = Tensor::stacked_in_place(rows[1..4].iter()).unwrap();
    assert!(stacked.shares_data(&all));
    assert!(rows[1].is_same(&all.rows(1, 1).unwrap()) && !rows[1].is_same(&rows[2]) && !stacked.is_same(&all));
    assert_eq!((stacked.dims(), stacked.as_slice::<i64>()), (&[3, 1, 3][..], &[3, 4, 5, 6, 7, 8, 9, 10, 11][..]));
    let other = Tensor::from_slice(&[1, 3], &[0i64; 3]).unwrap();
    let apart = [&rows[0], &rows[2]];
    let turned = [&rows[1], &rows[0]];
    let foreign = [&rows[0], &other];
    let bits = rows[1].bitcast(DType::F64).unwrap();
    let small = Tensor::vector(&[1i64]);
    for parts in [apart, turned, foreign, [&rows[0], &bits], [&small, &small]] {
        assert!(Tensor::stacked_in_place(parts.into_iter()).is_none());
    }
    assert!(Tensor::stacked_in_place([].into_iter()).is_none());
}

#[test]
fn rows_share_and_check_their_range() {
    let t = Tensor::from_slice(&[4, 3], &(0..12).collect::<Vec<i64>>()).unwrap();
    let r = t.rows(1, 2).unwrap();
    assert_eq!((r.dims(), r.as_slice::<i64>()), (&[2, 3][..], &[3, 4, 5, 6, 7, 8][..]));
    assert!(r.shares_data(&t));
    assert!(t.rows(3, 2).is_err() && t.rows(usize::MAX, 2).is_err());
    assert!(Tensor::from(1.0f32).rows(0, 1).is_err());
    assert_eq!(t.rows(4, 0).unwrap().len(), 0);
}

/// Memory of a device that a test has.
struct Elsewhere(Vec<u8>, std::sync::atomic::AtomicUsize);

impl Remote for Elsewhere {
    fn fetch(&self, to: &mut [u8]) -> Result<()> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if self.0.is_empty() {
            return Err(Error::invalid("division by zero"));
        }
        to.copy_from_slice(&self.0);
        Ok(())
    }

    fn device(&self) -> &str {
        "/device:GPU:0"
    }
}

fn elsewhere(values: &[i64]) -> Tensor {
    let memory = Elsewhere(bytemuck::cast_slice(values).to_vec(), 0.into());
    Tensor::on_device(DType::I64, &[values.len()], Box::new(memory)).unwrap()
}

#[test]
fn elements_on_a_device_are_copied_to_the_host_once() {
    let t = elsewhere(&[1, 2, 3, 4]);
    let view = t.reshaped(&[2, 2]).unwrap();
    assert!(view.shares_data(&t) && t.remote().is_some() && !t.is_at_hand());
    assert_eq!(
        (t.rows(1, 2).unwrap(), view.bitcast(DType::U64).unwrap().dtype()),
        (Tensor::vector(&[2i64, 3]), DType::U64)
    );
    assert_eq!(view.as_slice::<i64>(), [1, 2, 3, 4]);
    assert!(t.on_host().unwrap().remote().is_none() && t.on_host().unwrap() == t && t.is_at_hand());
    let memory: &dyn std::any::Any = t.remote().unwrap();
    let fetched = &memory.downcast_ref::<Elsewhere>().unwrap().1;
    assert_eq!(fetched.load(std::sync::atomic::Ordering::Relaxed), 1);
    let mut own = t.clone();
    assert!(own.as_mut_ptr().is_none());
    own.prepare(DType::I64, &[4]).unwrap();
    own.as_mut_slice::<i64>().fill(0);
    assert_eq!(t.as_slice::<i64>(), [1, 2, 3, 4]);
}

#[test]
fn what_was_copied_to_a_device_is_read_where_it_came_from() {
    let host = Tensor::vector(&[1i64, 2, 3, 4]);
    let t = host.rows(1, 3).unwrap().mirrored(Box::new(Elsewhere(Vec::new(), 0.into())));
    assert!(t.remote().is_some() && t.is_at_hand() && t.on_host().unwrap().shares_data(&host));
    assert_eq!(t.as_slice::<i64>(), [2, 3, 4]);
    assert!(Tensor::from(1i64).mirrored(Box::new(Elsewhere(Vec::new(), 0.into()))).remote().is_none());
}

#[test]
fn few_elements_of_a_device_stay_there_until_they_are_read_as_many_do() {
    let t = elsewhere(&[5, 6]);
    assert!(t.remote().is_some() && !t.is_at_hand());
    assert_eq!(t, Tensor::vector(&[5i64, 6]));
    assert!(t.remote().is_some() && t.is_at_hand());
    let text = Tensor::on_device(DType::Str, &[2], Box::new(Elsewhere(Vec::new(), 0.into())));
    assert_eq!(text.err().unwrap().class(), crate::Class::DType);
}

#[test]
fn what_a_device_rejected_is_an_error_of_who_reads_it() {
    let memory = Box::new(Elsewhere(Vec::new(), 0.into()));
    let t = Tensor::on_device(DType::I64, &[3], memory).unwrap();
    assert_eq!(t.on_host().unwrap_err().message(), "division by zero");
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| t.bytes().len())).unwrap_err();
    assert_eq!(Error::of_panic(&*panic).message(), "division by zero");
    assert_eq!(t.rows(0, 1).unwrap_err().message(), "division by zero");
}

#[test]
fn memory_of_a_device_that_no_other_library_knows_is_neither_lent_nor_copied_there() {
    let t = elsewhere(&[1, 2, 3, 4]);
    let memory = t.remote().unwrap();
    assert!(memory.place().is_none() && t.is_own());
    for error in [memory.lend(None).err(), t.duplicated().err()] {
        assert_eq!(error.unwrap().class(), crate::Class::Unimplemented);
    }
    assert!(Tensor::vector(&[1i64, 2, 3]).duplicated().is_ok());
}

#[test]
fn equality_is_of_bits() {
    let nan = Tensor::from(f32::NAN);
    assert_eq!(nan, nan.clone());
    assert_ne!(Tensor::from(0.0f32), Tensor::from(-0.0f32));
    assert_ne!(Tensor::from("a"), Tensor::from("b"));
}

#[test]
fn a_list_is_copied_only_where_it_is_shared() {
    let mut a = Tensor::from_list(List::zeros(0));
    a.list_mut().unwrap().push(Tensor::zeros(DType::F64, &[100]).unwrap()).unwrap();
    let b = a.clone();
    assert!(b.shares_data(&a));
    a.list_mut().unwrap().push(Tensor::zeros(DType::F64, &[100]).unwrap()).unwrap();
    assert_eq!((a.list().unwrap().len(), b.list().unwrap().len()), (2, 1));
    assert!(a.list().unwrap().get(0).unwrap().shares_data(b.list().unwrap().get(0).unwrap()));
    assert_ne!(a, b);
    assert!(Tensor::empty(DType::Variant, &[2]).is_err());
    assert!(Tensor::empty(DType::Resource, &[]).is_err());
    assert_eq!((a.dims(), a.byte_len(), a.bytes().len()), (&[][..], 0, 0));
}

#[test]
fn impossible_sizes_are_errors() {
    for dims in [&[usize::MAX][..], &[1 << 40, 1 << 40], &[1 << 44]] {
        let e = Tensor::empty(DType::F64, dims).err().unwrap();
        assert_eq!(e.class(), crate::Class::ResourceExhausted);
    }
    for dtype in [DType::F64, DType::Str] {
        let e = Tensor::empty(dtype, &[1 << 40, 1 << 40, 0]).err().unwrap();
        assert_eq!(e.class(), crate::Class::ResourceExhausted);
    }
    assert_eq!(Tensor::empty(DType::Str, &[1 << 50]).err().unwrap().class(), crate::Class::ResourceExhausted);
    let many = [1; crate::MAX_RANK + 1];
    assert!(Tensor::empty(DType::F64, &many).is_err() && Tensor::from(1i32).reshaped(&many).is_err());
    assert!(Tensor::from_slice(&[2], &[1.0f32]).is_err());
}
