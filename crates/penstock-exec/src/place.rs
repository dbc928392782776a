//! Memory of the caller that an output is written to.

use penstock_data::{DType, Element, Error, Result, Tensor};

/// Memory of the caller for one output: row-major elements of a dtype, of known extents.
///
/// The output is computed in memory of the engine, which later runs use again, and copied. So a run that fails leaves the
/// places as they were.
#[derive(Debug)]
pub struct Place<'a> {
    dtype: DType,
    dims: Vec<usize>,
    bytes: &'a mut [u8],
}

impl<'a> Place<'a> {
    /// The memory of a slice, as a tensor of the extents `dims`.
    ///
    /// # Errors
    /// `InvalidArgument` where the extents have another number of elements.
    pub fn new<T: Element>(dims: &[usize], elements: &'a mut [T]) -> Result<Place<'a>> {
        Place::of_bytes(T::DTYPE, dims, bytemuck::cast_slice_mut(elements))
    }

    /// The memory of a tensor of the extents `dims`, by its bytes, of any alignment.
    ///
    /// # Errors
    /// `InvalidArgument` where there are more or fewer bytes; `DType` for strings and lists, which are not their bytes.
    pub fn of_bytes(dtype: DType, dims: &[usize], bytes: &'a mut [u8]) -> Result<Place<'a>> {
        if dtype.size() == 0 || matches!(dtype, DType::Str | DType::Variant) {
            return Err(Error::dtype(format!("outputs of dtype {} have no memory of the caller", dtype.tf_name())));
        }
        let due = dims.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d));
        if due != Some(bytes.len()) {
            let (name, len) = (dtype.tf_name(), bytes.len());
            return Err(Error::invalid(format!("{len} bytes are no memory of a {name} tensor of shape {dims:?}")));
        }
        Ok(Place { dtype, dims: dims.to_vec(), bytes })
    }

    /// Checks that a tensor fits.
    ///
    /// # Errors
    /// `DType` for another dtype, `InvalidArgument` for another shape.
    pub fn check(&self, tensor: &Tensor) -> Result<()> {
        let (due, got) = (self.dtype, tensor.dtype());
        if due != got {
            return Err(Error::dtype(format!("the output is {}, its memory {}", got.tf_name(), due.tf_name())));
        }
        if tensor.dims() != self.dims {
            let message = format!("the output has the shape {:?}, its memory {:?}", tensor.dims(), self.dims);
            return Err(Error::invalid(message));
        }
        Ok(())
    }

    /// Copies a tensor.
    ///
    /// # Errors
    /// As [`Place::check`].
    pub fn write(&mut self, tensor: &Tensor) -> Result<()> {
        self.check(tensor)?;
        self.bytes.copy_from_slice(tensor.bytes());
        Ok(())
    }

    /// Copies the outputs of a run to their places: all of them, or, where one does not fit, none.
    ///
    /// # Errors
    /// `InvalidArgument` for another number of places; as [`Place::check`], naming the output by its number.
    pub fn write_all(places: &mut [Place<'_>], outputs: &[Tensor]) -> Result<()> {
        if places.len() != outputs.len() {
            return Err(Error::invalid(format!("{} outputs, memory for {} of them", outputs.len(), places.len())));
        }
        for (i, (place, output)) in places.iter().zip(outputs).enumerate() {
            place.check(output).map_err(|e| e.argument(format!("outputs[{i}]")))?;
        }
        places.iter_mut().zip(outputs).try_for_each(|(place, output)| place.write(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_written_all_or_none() {
        let (mut a, mut b) = ([0.0f32; 2], [7i64; 1]);
        let outputs = [Tensor::from_slice(&[2], &[1.0f32, 2.0]).unwrap(), Tensor::from_slice(&[1], &[3i64]).unwrap()];
        let wrong = [Place::new(&[2], &mut a).unwrap(), Place::new(&[1, 1], &mut b).unwrap()];
        let error = Place::write_all(&mut { wrong }, &outputs).unwrap_err();
        assert_eq!(error.argument_name(), Some("outputs[1]"));
        assert_eq!(a, [0.0; 2]);
        Place::write_all(&mut [Place::new(&[2], &mut a).unwrap(), Place::new(&[1], &mut b).unwrap()], &outputs)
            .unwrap();
        assert_eq!((a, b), ([1.0, 2.0], [3]));
    }

    #[test]
    fn memory_of_another_size_or_of_strings_is_refused() {
        assert!(Place::new(&[3], &mut [0u8; 2]).is_err());
        assert!(Place::of_bytes(DType::Str, &[0], &mut []).is_err());
        assert!(Place::of_bytes(DType::F64, &[usize::MAX, 2], &mut []).is_err());
    }
}
