//! Arrays in and out of tensors.

use ndarray::{
    Array, Array1, Array2, ArrayD, ArrayView, ArrayViewD, Axis, Dimension, Ix0, Ix1, Ix2, IxDyn, arr0, array, s,
};
use penstock::{ArrayElement, Bool8, Bytes, C64, C128, Class, DType, DTypeSet, Tensor, TensorExt, bf16, f16};

/// The array, through a tensor and back.
fn through<T: ArrayElement, D: Dimension>(array: ArrayView<'_, T, D>) -> Array<T, D> {
    let tensor = Tensor::from_array(array.view()).unwrap();
    assert_eq!(tensor.dims(), array.shape());
    tensor.to_array().unwrap()
}

/// Round trips of twelve elements in every layout that `ndarray` has.
fn every_layout<T: ArrayElement + PartialEq + std::fmt::Debug>(dtype: DType, element: impl Fn(u8) -> T) {
    let owned = Array2::from_shape_fn((3, 4), |(i, j)| element((4 * i + j) as u8));
    let tensor = Tensor::from_array(owned.clone()).unwrap();
    assert_eq!((tensor.dtype(), tensor.dims()), (dtype, &[3, 4][..]));
    assert_eq!(tensor.array_view::<T, Ix2>().unwrap(), owned);
    assert_eq!(tensor.array_view::<T, IxDyn>().unwrap(), owned.view().into_dyn());

    assert_eq!(through(owned.view()), owned);
    assert_eq!(through(owned.t()), owned.t());
    assert_eq!(through(owned.slice(s![..;-1, 1..;2])), owned.slice(s![..;-1, 1..;2]));
    assert_eq!(through(owned.slice(s![1.., ..])), owned.slice(s![1.., ..]));
    assert_eq!(through(owned.column(2)), owned.column(2));
    assert_eq!(through(owned.row(1).broadcast((2, 4)).unwrap()), owned.row(1).broadcast((2, 4)).unwrap());
    assert_eq!(through(owned.to_shared().view()), owned);

    // Owned arrays whose elements do not lie in row-major order from the start of their memory.
    for part in [
        owned.clone().reversed_axes(),
        owned.clone().slice_move(s![1.., ..]),
        owned.clone().slice_move(s![.., 1..3]),
        owned.clone().slice_move(s![..;-1, ..]),
    ] {
        assert_eq!(Tensor::from_array(part.clone()).unwrap().array_view::<T, Ix2>().unwrap(), part);
    }

    let scalar = arr0(element(7));
    assert_eq!(through(scalar.view()), scalar);
    assert_eq!(Tensor::from_array(scalar.clone()).unwrap().to_array::<T, Ix0>().unwrap(), scalar);
    for dims in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 5]] {
        let empty: ArrayD<T> = ArrayD::from_shape_vec(dims, vec![]).unwrap();
        assert_eq!(through(empty.view()), empty);
        assert_eq!(through(empty.t()), empty.t());
        assert_eq!(Tensor::from_array(empty.clone()).unwrap().to_array::<T, IxDyn>().unwrap(), empty);
    }
    let deep = owned.clone().into_shape_with_order(IxDyn(&[1, 3, 1, 2, 1, 2, 1])).unwrap();
    assert_eq!(through(deep.view()), deep);
}

#[test]
fn arrays_of_every_dtype_and_layout_come_back() {
    every_layout(DType::Bool, |i| Bool8::new(i % 3 == 0));
    every_layout(DType::Bool, |i| i % 3 == 0);
    every_layout(DType::I8, |i| i as i8 - 6);
    every_layout(DType::I16, |i| i16::from(i) - 300);
    every_layout(DType::I32, |i| i32::from(i) - 70_000);
    every_layout(DType::I64, |i| i64::from(i) - (1 << 40));
    every_layout(DType::U8, |i| i + 200);
    every_layout(DType::U16, |i| u16::from(i) + 60_000);
    every_layout(DType::U32, |i| u32::from(i) + (1 << 31));
    every_layout(DType::U64, |i| u64::from(i) + (1 << 63));
    every_layout(DType::F16, |i| f16::from_f32(f32::from(i) / 4.0));
    every_layout(DType::Bf16, |i| bf16::from_f32(f32::from(i) / 4.0));
    every_layout(DType::F32, |i| f32::from(i) / 3.0);
    every_layout(DType::F64, |i| f64::from(i) / 3.0);
    every_layout(DType::C64, |i| C64::new(f32::from(i), -1.0));
    every_layout(DType::C128, |i| C128::new(f64::from(i), -1.0));
    every_layout(DType::Str, |i| Bytes::from(vec![b'a'; i.into()]));
}

#[test]
fn a_row_major_array_gives_its_memory_and_a_view_shows_the_memory_of_its_tensor() {
    let array = Array2::<f32>::ones((8, 8));
    let place = array.as_ptr();
    let tensor = Tensor::from_array(array).unwrap();
    assert_eq!(tensor.as_ptr().cast(), place);
    assert_eq!(tensor.array_view::<f32, Ix2>().unwrap().as_ptr(), place);

    // The elements of a part start inside the memory of the whole.
    let part = Array2::<f32>::ones((8, 8)).slice_move(s![3.., ..]);
    let place = part.as_ptr();
    assert_eq!(Tensor::from_array(part).unwrap().as_ptr().cast(), place);

    let bools = Array1::from_elem(100, true);
    let place = bools.as_ptr();
    assert_eq!(Tensor::from_array(bools).unwrap().as_ptr().cast(), place);
}

#[test]
fn what_somebody_else_sees_is_copied() {
    let array = Array2::<f32>::ones((8, 8));
    let mut copy = array.clone();
    let tensor = Tensor::from_array(copy.view()).unwrap();
    copy.fill(2.0);
    assert_eq!(tensor.array_view::<f32, Ix2>().unwrap(), array);

    let mut shared = array.to_shared();
    let tensor = Tensor::from_array(shared.clone()).unwrap();
    shared.fill(2.0);
    assert_eq!(tensor.array_view::<f32, Ix2>().unwrap(), array);
}

#[test]
fn a_graph_never_writes_to_memory_that_an_array_gave() {
    let f = penstock::parse("func @f(%x: f32[100]) -> f32[100] {\n%y = neg %x\n%z = neg %y\nreturn %y\n}").unwrap();
    let x = Tensor::from_array(Array1::<f32>::ones(100)).unwrap();
    f.run(&[&x]).unwrap();
    assert_eq!(x.array_view::<f32, Ix1>().unwrap(), Array1::<f32>::ones(100));
}

#[test]
fn a_view_of_another_dtype_or_rank_is_an_error() {
    let tensor = Tensor::from_array(array![[1.0f32, 2.0]]).unwrap();
    let error = tensor.array_view::<f64, Ix2>().unwrap_err();
    assert_eq!(error.class(), Class::DType);
    assert_eq!(error.to_string(), "a float32 tensor cannot be viewed as float64");
    let error = tensor.to_array::<f32, Ix1>().unwrap_err();
    assert_eq!(error.class(), Class::InvalidArgument);
    assert_eq!(error.to_string(), "expected rank 1, got rank 2 (shape [1, 2])");
    for dtype in DTypeSet::ANY.iter() {
        let zeros = Tensor::zeros(dtype, &[2]).unwrap();
        assert_eq!(zeros.array_view::<f32, Ix1>().is_ok(), dtype == DType::F32);
    }
}

#[test]
fn extents_that_no_array_has_are_an_error() {
    let error = Tensor::zeros(DType::F32, &[usize::MAX, 2, 0]).unwrap_err();
    assert_eq!(error.class(), Class::ResourceExhausted);
}

#[test]
fn a_bool_tensor_of_other_bytes_is_viewed_as_bytes_only() {
    let tensor = Tensor::vector(&[0u8, 1, 2]).bitcast(DType::Bool).unwrap();
    assert_eq!(tensor.array_view::<bool, Ix1>().unwrap_err().class(), Class::InvalidArgument);
    let bytes: ArrayViewD<'_, Bool8> = tensor.array_view().unwrap();
    assert_eq!(bytes.mapv(Bool8::get), array![false, true, true].into_dyn());
}

#[test]
fn a_view_may_be_cut_and_given_to_a_run() {
    let tensor = Tensor::from_array(Array2::from_shape_fn((4, 3), |(i, j)| (3 * i + j) as i64)).unwrap();
    let view = tensor.array_view::<i64, Ix2>().unwrap();
    let f = penstock::parse("func @f(%x: i64[*]) -> i64[*] {\n%y = neg %x\nreturn %y\n}").unwrap();
    for part in [view.slice(s![.., ..;2]), view.t()] {
        assert_eq!(f.run(&[&part]).unwrap()[0].array_view::<i64, Ix2>().unwrap(), part.mapv(|x| -x));
    }
    let column = view.index_axis(Axis(1), 2);
    assert_eq!(f.run(&[&column]).unwrap()[0].array_view::<i64, Ix1>().unwrap(), column.mapv(|x| -x));
}
