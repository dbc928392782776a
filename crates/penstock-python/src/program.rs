//! `penstock.Program`: functions with names, and the variables that they share, in a file.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_exec::{Arg, Variable};
use penstock_format::{Capture, Loader, Program, ProgramBuilder, ProgramFunction, SaveOptions};
use penstock_ir::{Locations, Type};
use penstock_trace::Kind;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::concrete::PyConcrete;
use crate::convert::to_var;
use crate::errors::OrPy;
use crate::layer;
use crate::open::PyPart;
use crate::tensor::{PyTensor, wrap_eager};
use crate::variable::PyVariable;

/// Functions with names, and the variables that they share: what a file holds that no Python is needed to run.
///
/// >>> import penstock as tf
/// >>> double = tf.function(lambda x: 2 * x).get_concrete_function(tf.TensorSpec([], name="x"))
/// >>> data = tf.Program.of({"double": double}).to_bytes()
/// >>> float(tf.Program.from_bytes(data).run("double", x=tf.constant(4.0))["output_0"])
/// 8.0
#[pyclass(frozen, name = "Program", module = "penstock")]
pub(crate) struct PyProgram(pub(crate) Program);

/// A function of a program, callable by the names of its arguments.
#[pyclass(frozen, name = "_ProgramFunction", module = "penstock._core")]
pub(crate) struct PyProgramFunction(pub(crate) ProgramFunction);

/// A program that is put together.
#[pyclass(frozen, name = "_ProgramBuilder", module = "penstock._core")]
pub(crate) struct PyProgramBuilder(Mutex<Option<ProgramBuilder>>);

/// What becomes a function of a program.
#[derive(FromPyObject)]
enum Traced<'py> {
    Function(Bound<'py, PyConcrete>),
    Part(Bound<'py, PyPart>),
}

/// A variable of a program: its name, dtype, shape, whether training is to change it, and its value if it has one.
type Described<'py> = (String, Bound<'py, PyAny>, Bound<'py, PyAny>, bool, Option<Bound<'py, PyTensor>>);

/// `(name, TensorSpec)` of each.
fn specs<'a, 'py>(py: Python<'py>, values: impl Iterator<Item = (&'a str, &'a Type)>) -> PyResult<Bound<'py, PyDict>> {
    let (tensors, variables) = (layer::get(py, "TensorSpec")?, layer::get(py, "VariableSpec")?);
    let out = PyDict::new(py);
    for (name, ty) in values {
        let class = if ty.is_variable() { &variables } else { &tensors };
        let shape = crate::tensor::shape_object(py, ty.shape())?;
        out.set_item(name, class.call1((shape, crate::dtype::object(py, ty.dtype())?))?)?;
    }
    Ok(out)
}

fn loader(files: bool, threads: usize) -> Loader {
    Loader::new().files(files).threads(threads)
}

#[pymethods]
impl PyProgram {
    /// The program of a file.
    #[staticmethod]
    #[pyo3(signature = (path, files=false, threads=0))]
    fn load(py: Python<'_>, path: PathBuf, files: bool, threads: usize) -> PyResult<PyProgram> {
        py.detach(|| loader(files, threads).load(path)).map(PyProgram).or_py(py)
    }

    /// The program of the bytes of a file.
    #[staticmethod]
    #[pyo3(signature = (data, files=false, threads=0))]
    fn from_bytes(py: Python<'_>, data: &[u8], files: bool, threads: usize) -> PyResult<PyProgram> {
        loader(files, threads).from_bytes(data).map(PyProgram).or_py(py)
    }

    /// The program of a directory with a SavedModel of TensorFlow, and the functions that could not be converted: by name the
    /// reason.
    #[staticmethod]
    #[pyo3(signature = (directory, files=false))]
    fn _of_tensorflow(
        py: Python<'_>,
        directory: PathBuf,
        files: bool,
    ) -> PyResult<(PyProgram, BTreeMap<String, String>)> {
        let options = penstock_tf::LoadOptions { files };
        let loaded = py.detach(|| penstock_tf::load_saved_model_with(directory, options)).or_py(py)?;
        Ok((PyProgram(loaded.program), loaded.refused))
    }

    /// A program of traces, by name: the results are `output_0` and so on.
    #[staticmethod]
    fn of(py: Python<'_>, functions: &Bound<'_, PyDict>) -> PyResult<PyProgram> {
        let builder = PyProgramBuilder::new();
        for (name, function) in functions.iter() {
            let name: String = name.extract()?;
            let concrete = function.cast::<PyConcrete>().map_err(|_| {
                PyTypeError::new_err(format!("function '{name}' must be a ConcreteFunction, got {function:?}"))
            })?;
            let count = concrete.get().trace().concrete.function.signature().results.len();
            let outputs = (0..count).map(|i| format!("output_{i}")).collect();
            builder.function(py, &name, Traced::Function(concrete.clone()), outputs, HashMap::new())?;
        }
        builder.finish(py)
    }

    /// Writes it to a file, as a whole or not at all.
    #[pyo3(signature = (path, locations="names"))]
    fn save(&self, py: Python<'_>, path: PathBuf, locations: &str) -> PyResult<()> {
        let locations = match locations {
            "full" => Locations::Full,
            "names" => Locations::Names,
            "none" => Locations::None,
            other => {
                let text = format!("argument 'locations' must be 'full', 'names' or 'none', got '{other}'");
                return Err(PyValueError::new_err(text));
            }
        };
        py.detach(|| self.0.save_with(path, SaveOptions { locations })).or_py(py)
    }

    /// The bytes of a file that holds it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes()).or_py(py)?))
    }

    /// The bytes of a model of ONNX of a function, by its name or number.
    fn _to_onnx<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let function = self.function(py, name)?.0;
        Ok(PyBytes::new(py, &py.detach(|| penstock_onnx::export(&function)).or_py(py)?))
    }

    /// Writes a model of ONNX of a function, and its weights beside it where asked for or needed.
    fn _save_onnx(&self, py: Python<'_>, path: PathBuf, name: &Bound<'_, PyAny>, weights_beside: bool) -> PyResult<()> {
        let (function, options) = (self.function(py, name)?.0, penstock_onnx::ExportOptions { weights_beside });
        py.detach(|| penstock_onnx::save(&function, path, &options)).or_py(py)
    }

    /// Writes a SavedModel of TensorFlow to a directory.
    fn _save_tensorflow(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        py.detach(|| penstock_tf::save_saved_model(&self.0, directory)).or_py(py)
    }

    /// A function, by its number, as one of TensorFlow: its name, and the bytes of a `FunctionDefLibrary` with it and those that it
    /// calls.
    fn _tensorflow_functions<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        in_parts: bool,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let (name, library) = py.detach(|| penstock_tf::function_library(&self.0, number, in_parts)).or_py(py)?;
        Ok((name, PyBytes::new(py, &library)))
    }

    /// The names of the functions, in their order; one may stand for several.
    #[getter]
    fn functions(&self) -> Vec<&str> {
        self.0.functions().collect()
    }

    /// The names of the signatures.
    #[getter]
    fn signatures(&self) -> Vec<&str> {
        self.0.signatures().collect()
    }

    /// The function of a name, or of a number in the order of `functions`.
    fn function(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<PyProgramFunction> {
        if let Ok(index) = name.extract::<usize>() {
            let count = self.0.functions().len();
            if index >= count {
                return Err(PyIndexError::new_err(format!("function {index} of a program of {count}")));
            }
            return self.0.at(index).map(PyProgramFunction).or_py(py);
        }
        self.0.function(&name.extract::<String>()?).map(PyProgramFunction).or_py(py)
    }

    /// Runs a function on arguments by name; the results, by name.
    #[pyo3(signature = (name, /, **inputs))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyAny>,
        inputs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.function(py, name)?.__call__(py, inputs)
    }

    /// The value of each variable, by name; of several of one name, the last.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for v in self.0.variables() {
            if let Ok(value) = v.variable.read() {
                out.set_item(v.variable.name(), wrap_eager(py, value)?)?;
            }
        }
        Ok(out)
    }

    /// What each variable is, in their order.
    fn _described<'py>(&self, py: Python<'py>) -> PyResult<Vec<Described<'py>>> {
        let described = self.0.variables().iter().map(|v| {
            let cell = &v.variable;
            let dtype = crate::dtype::object(py, cell.dtype())?.clone().into_any();
            let value = cell.read().ok().map(|t| wrap_eager(py, t)).transpose()?;
            Ok((cell.name().to_owned(), dtype, crate::tensor::shape_object(py, cell.shape())?, v.trainable, value))
        });
        described.collect()
    }

    /// A text that was saved with it, or `None`.
    fn text(&self, name: &str) -> Option<&str> {
        self.0.text(name)
    }

    /// The same functions over variables of their own.
    fn fork(&self, py: Python<'_>) -> PyResult<PyProgram> {
        self.0.fork().map(PyProgram).or_py(py)
    }

    /// Gives the same program with a limit of threads for its runs. 0 means no limit.
    fn with_threads(&self, threads: usize) -> PyProgram {
        PyProgram(self.0.with_threads(threads))
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

#[pymethods]
impl PyProgramFunction {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The specification of each argument, by name.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        specs(py, self.0.inputs())
    }

    /// The specification of each result, by name.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        specs(py, self.0.outputs())
    }

    /// The results by name, for arguments by name.
    #[pyo3(signature = (**inputs))]
    fn __call__<'py>(&self, py: Python<'py>, inputs: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyDict>> {
        let due: BTreeMap<&str, &Type> = self.0.inputs().collect();
        let mut given: Vec<(String, Arg)> = Vec::new();
        for (name, value) in inputs.into_iter().flat_map(|k| k.iter()) {
            let name: String = name.extract()?;
            let arg = match value.cast::<PyVariable>() {
                Ok(v) if due.get(&*name).is_some_and(|ty| ty.is_variable()) => Arg::Variable(v.get().variable.clone()),
                _ => {
                    let var = to_var(&value, None, due.get(&*name).map(|ty| ty.dtype()))?;
                    Arg::Tensor(var.tensor().cloned().ok_or_else(|| {
                        PyTypeError::new_err(format!("argument '{name}' must be a tensor at hand, got {value:?}"))
                    })?)
                }
            };
            given.push((name, arg));
        }
        let named: Vec<(&str, Arg)> = given.iter().map(|(name, arg)| (name.as_str(), arg.clone())).collect();
        let results = py.detach(|| self.0.run(&named)).or_py(py)?;
        let out = PyDict::new(py);
        for ((name, _), value) in self.0.outputs().zip(results) {
            out.set_item(name, wrap_eager(py, value)?)?;
        }
        Ok(out)
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

impl PyProgramBuilder {
    fn with<T>(&self, work: impl FnOnce(&mut ProgramBuilder) -> T) -> PyResult<T> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map(work).ok_or_else(|| PyValueError::new_err("the program is finished"))
    }
}

#[pymethods]
impl PyProgramBuilder {
    #[new]
    fn new() -> PyProgramBuilder {
        PyProgramBuilder(Mutex::new(Some(Program::builder())))
    }

    /// Adds a variable, which the program shares; gives its number. With a value it is one of the program's own, which
    /// has that.
    #[pyo3(signature = (variable, value=None))]
    fn variable(
        &self,
        py: Python<'_>,
        variable: &Bound<'_, PyVariable>,
        value: Option<&Bound<'_, PyTensor>>,
    ) -> PyResult<usize> {
        let PyVariable { variable: cell, .. } = variable.get();
        let cell = match value {
            None => cell.clone(),
            Some(value) => {
                let value = value.get().var.tensor().cloned();
                Variable::new(cell.name(), cell.dtype(), cell.shape().clone(), value).or_py(py)?
            }
        };
        self.with(|builder| builder.variable(cell, variable.get().is_trainable()))
    }

    /// Adds a trace, or a part of an open graph, under a name, with the names of its results; gives its number. `variables` has the
    /// numbers of variables by their ids; those that are missing are added.
    fn function(
        &self,
        py: Python<'_>,
        name: &str,
        concrete: Traced<'_>,
        outputs: Vec<String>,
        variables: HashMap<u64, usize>,
    ) -> PyResult<usize> {
        let (held, inputs) = match &concrete {
            Traced::Function(function) => (&function.get().trace().concrete, function.get().trace().inputs.clone()),
            Traced::Part(part) => (part.get().concrete(), part.get().inputs()?),
        };
        let captures = held.captures.iter().map(|var| match var.kind() {
            Kind::Eager(tensor) => Ok(Capture::Constant(tensor.clone())),
            Kind::Variable(cell) => match variables.get(&cell.root_id()) {
                Some(&number) => Ok(Capture::Variable(number)),
                None => {
                    let trainable = PyVariable::object(py, cell)?.getattr("trainable")?.extract()?;
                    self.with(|builder| Capture::Variable(builder.variable(Arc::clone(cell), trainable)))
                }
            },
            Kind::Symbolic(_) => Err(PyKeyError::new_err(format!(
                "function '{name}' takes a tensor of a function that is still being traced"
            ))),
        });
        let captures = captures.collect::<PyResult<Vec<Capture>>>()?;
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        self.with(|builder| builder.function(name, held.function.clone(), &inputs, &outputs, captures))
    }

    /// Gives a function, by its number, a name that programs outside call it by.
    fn signature(&self, name: &str, function: usize) -> PyResult<()> {
        self.with(|builder| builder.signature(name, function))
    }

    /// Adds a text.
    fn text(&self, name: &str, text: &str) -> PyResult<()> {
        self.with(|builder| builder.text(name, text))
    }

    /// The program.
    fn finish(&self, py: Python<'_>) -> PyResult<PyProgram> {
        let builder = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let builder = builder.ok_or_else(|| PyValueError::new_err("the program is finished"))?;
        builder.finish().map(PyProgram).or_py(py)
    }
}

/// The operators of which SavedModels can be written, in part at least.
#[pyfunction]
pub(crate) fn _tensorflow_operators() -> Vec<&'static str> {
    penstock_tf::saved_model_operators().collect()
}
