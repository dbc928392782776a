//! The methods of variables and of their slices.

use penstock_data::{Error, Tensor};
use penstock_exec::Variable;
use penstock_ops::state;
use penstock_trace::{self as trace, Var};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::convert::{shape_of, to_var};
use crate::dtype::{self, PyDType};
use crate::errors::OrPy;
use crate::index;
use crate::operand::numpy_of;
use crate::operators::find;
use crate::tensor::{Operand, Reference, device_name, shape_object, wrap};
use crate::variable::{PyVariable, PyVariableSlice};

impl PyVariable {
    fn set(&self, op: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let value = to_var(value, None, Some(self.variable.dtype()))?;
        let attrs = penstock_ir::Attrs::EMPTY;
        trace::dispatch(find(op), &[self.var(), value], attrs).or_py(py)?;
        Ok(())
    }
}

#[pymethods]
impl PyVariable {
    /// A variable with a first value, or without one where `value` is `None`; where it is a variable, one that stands
    /// in for it while a function is traced.
    #[new]
    #[pyo3(signature = (value, dtype, shape, name, trainable))]
    fn new(
        py: Python<'_>,
        value: Option<&Bound<'_, PyAny>>,
        dtype: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
        name: &str,
        trainable: bool,
    ) -> PyResult<PyClassInitializer<PyVariable>> {
        if let Some(Ok(origin)) = value.map(|v| v.cast::<PyVariable>()) {
            let origin = origin.get();
            return Ok(PyVariable::initializer(origin.variable.stand_in(), origin.is_trainable()));
        }
        let dtype = dtype::parse(dtype)?;
        let value: Option<Tensor> = match value {
            None => None,
            Some(v) => {
                let var = to_var(v, Some(dtype), None)?;
                Some(var.tensor().cloned().ok_or_else(|| {
                    PyValueError::new_err("the initial value of a variable cannot be a symbolic tensor; create the variable outside the traced function, or under tf.init_scope")
                })?)
            }
        };
        let variable = Variable::new(name, dtype, shape_of(shape)?, value).or_py(py)?;
        Ok(PyVariable::initializer(variable, trainable))
    }

    /// The device that holds the value, by its whole name.
    #[getter]
    fn _device(&self) -> String {
        device_name(&self.variable.read().unwrap_or_default())
    }

    /// The element type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        dtype::object(py, self.variable.dtype()).cloned()
    }

    /// The shape that values must have; unknown dimensions are `None`.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shape_object(py, self.variable.shape())
    }

    /// Whether tapes watch it when it is read.
    #[getter]
    fn trainable(&self) -> bool {
        self.is_trainable()
    }

    /// `trainable`, which can be changed by this name, as in TensorFlow.
    #[getter]
    fn _trainable(&self) -> bool {
        self.is_trainable()
    }

    #[setter(_trainable)]
    fn change_trainable(&self, trainable: bool) {
        self.set_trainable(trainable);
    }

    #[getter]
    fn _name(&self) -> String {
        self.variable.name().to_owned()
    }

    /// The number of the variable: where it stands in for another, of that one.
    #[getter]
    fn _unique_id(&self) -> u64 {
        self.see_identity();
        self.variable.root_id()
    }

    /// Notes that which variable it is matters.
    fn _see_identity(&self) {
        self.see_identity();
    }

    /// The value: a snapshot, which later assignments do not change.
    fn read_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(wrap(py, self.read(py)?)?.into_any())
    }

    /// The value.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.read_value(py)
    }

    /// The value as a NumPy array.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        numpy_of(slf.as_any().cast::<Operand>()?)
    }

    fn _is_initialized(&self) -> bool {
        self.variable.is_initialized()
    }

    fn _assign(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set(state::ASSIGN.name, value)
    }

    fn _assign_add(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set(state::ASSIGN_ADD.name, value)
    }

    fn _assign_sub(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set(state::ASSIGN_SUB.name, value)
    }

    /// A hashable handle: equal for the same variable only.
    fn r#ref(slf: Bound<'_, Self>) -> Reference {
        slf.get().see_identity();
        let id = Var::variable_id(slf.get().variable.root_id());
        Reference { id, target: slf.into_any().unbind() }
    }

    /// `ref` by its old name.
    fn experimental_ref(slf: Bound<'_, Self>) -> Reference {
        Self::r#ref(slf)
    }
}

#[pymethods]
impl PyVariableSlice {
    /// PyO3 gives classes without this method one of its own, which knows the class by the method's address. The compiler may
    /// merge that with the one of [`Operand`], two classes up, and each then calls the other without end.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.variable)?;
        visit.call(&self.key)
    }

    /// Writes `value`, of the variable's dtype and a shape that broadcasts to the slice's, to this part of the variable, in
    /// place.
    ///
    /// Returns the variable, or its new value while a function is traced; None if `read_value` is false.
    #[pyo3(signature = (value, use_locking=false, name=None, read_value=true))]
    fn assign<'py>(
        slf: &Bound<'py, Self>,
        value: &Bound<'py, PyAny>,
        use_locking: bool,
        name: Option<&str>,
        read_value: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (use_locking, name);
        let py = value.py();
        let (variable, part) = (slf.get().variable.bind(py), &slf.as_super().get().var);
        let mut value = to_var(value, None, Some(variable.get().variable.dtype()))?;
        if value.shape() != part.shape() || !part.shape().is_static() {
            let (from, to) = (value.shape(), part.shape());
            if from.is_static() && to.is_static() && to.broadcast(&from).as_ref() != Some(&to) {
                let name = variable.get().variable.name();
                let text =
                    format!("variable '{name}': a value of shape {from} does not broadcast to the slice's shape {to}");
                return Err(Error::invalid(text).in_op("assign")).or_py(py);
            }
            let extents = trace::apply(find("shape"), std::slice::from_ref(part), &[]).or_py(py)?;
            let same = trace::apply(find("broadcast_to"), &[value, extents[0].clone()], &[]).or_py(py)?;
            value = same[0].clone();
        }
        index::assign(py, &variable.get().var(), slf.get().key.bind(py), value)?;
        variable.call_method1("_after", (read_value,))
    }
}
