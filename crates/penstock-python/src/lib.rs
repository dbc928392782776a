//! `penstock._core`: the engine for Python. No logic of its own beyond crossing the border.

mod array;
mod callback;
mod checkpoint;
mod collectives;
mod concrete;
mod convert;
mod depth;
mod dlpack;
mod dtype;
mod errors;
mod exit;
mod function;
mod gpu;
mod graph;
mod guard;
mod host;
mod index;
mod input;
mod keys;
mod layer;
mod lines;
mod objects;
mod onnx;
mod open;
mod operand;
mod operators;
mod ops;
mod overrides;
mod params;
mod profile;
mod program;
mod public_names;
mod recursion;
mod restored;
mod stack;
mod structure;
mod tape;
mod tensor;
mod tensor_methods;
mod traced;
mod tracing;
mod tree;
mod variable;
mod variable_methods;

use penstock_data::{DType, Reserve, settings};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[global_allocator]
static ALLOCATOR: Reserve = Reserve;

/// The tensor of a Python value, array, or nest of them; of the dtype that is asked for, or an error.
#[pyfunction]
#[pyo3(signature = (value, dtype=None))]
fn _to_tensor<'py>(
    value: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, tensor::PyTensor>> {
    to_tensor(value, dtype::parse_opt(dtype)?, None)
}

/// The tensor of a value whose dtype is the hint's where the value can take it, as Python's numbers can.
#[pyfunction]
#[pyo3(signature = (value, hint=None))]
fn _to_tensor_hinted<'py>(
    value: &Bound<'py, PyAny>,
    hint: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, tensor::PyTensor>> {
    to_tensor(value, None, dtype::parse_opt(hint)?)
}

/// Two operands as tensors of one dtype, where one of them can adapt: that of a tensor or a variable rules, else that of
/// the first where the second can take it.
#[pyfunction]
fn _operands<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, tensor::PyTensor>, Bound<'py, tensor::PyTensor>)> {
    let is_operand = |value: &Bound<'py, PyAny>| value.is_instance_of::<tensor::Operand>();
    if is_operand(x) || !is_operand(y) {
        let a = to_tensor(x, None, None)?;
        let b = to_tensor(y, None, Some(a.get().var.dtype()))?;
        if is_operand(x) || a.get().var.dtype() == b.get().var.dtype() {
            return Ok((a, b));
        }
    }
    let b = to_tensor(y, None, None)?;
    let a = to_tensor(x, None, Some(b.get().var.dtype()))?;
    Ok((a, b))
}

fn to_tensor<'py>(
    value: &Bound<'py, PyAny>,
    dtype: Option<DType>,
    hint: Option<DType>,
) -> PyResult<Bound<'py, tensor::PyTensor>> {
    // A tensor is itself.
    if let Ok(tensor) = value.cast_exact::<tensor::PyTensor>()
        && !tensor.get().promotes
        && dtype.is_none_or(|d| d == tensor.get().var.dtype())
        && penstock_trace::inaccessible(&tensor.get().var).is_none()
    {
        return Ok(tensor.clone());
    }
    let var = convert::to_var(value, dtype, hint).map_err(|e| errors::of_argument(e, value))?;
    tensor::wrap(value.py(), var)
}

/// A tensor that shares the memory of a DLPack capsule or of an object with `__dlpack__`.
#[pyfunction]
fn _from_dlpack<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, tensor::PyTensor>> {
    tensor::wrap_eager(value.py(), dlpack::from_dlpack(value)?)
}

/// The devices: `(kind, name)`.
#[pyfunction]
fn _devices() -> Vec<(&'static str, String)> {
    let mut list = vec![("CPU", "/physical_device:CPU:0".to_owned())];
    for (i, _) in penstock_cuda::devices().iter().enumerate() {
        list.push(("GPU", format!("/physical_device:GPU:{i}")));
    }
    list
}

/// Has the operations of this thread run on a device from now on, where it is there: `(kind, number)`, or `None` for the device
/// of their operands. Gives the device before.
#[pyfunction]
fn _set_device(device: Option<(String, usize)>) -> Option<(&'static str, usize)> {
    let named = device.and_then(|(kind, index)| {
        let kind = if kind == "GPU" { penstock_exec::DeviceKind::Gpu } else { penstock_exec::DeviceKind::Cpu };
        if kind == penstock_exec::DeviceKind::Gpu {
            penstock_cuda::register_devices();
        }
        penstock_exec::devices().into_iter().find(|d| d.kind() == kind && d.index() == index)
    });
    let before = penstock_exec::set_wish(named)?;
    Some((if before.kind() == penstock_exec::DeviceKind::Gpu { "GPU" } else { "CPU" }, before.index()))
}

/// A tensor on the device that is wished for on this thread: the same one, where there is no wish.
#[pyfunction]
fn _placed<'py>(tensor: &Bound<'py, tensor::PyTensor>) -> PyResult<Bound<'py, tensor::PyTensor>> {
    use crate::errors::OrPy;
    let py = tensor.py();
    match tensor.get().var.tensor() {
        Some(value) if penstock_exec::wish().is_some() => {
            tensor::wrap_eager(py, penstock_exec::placed(value).or_py(py)?)
        }
        _ => Ok(tensor.clone()),
    }
}

/// Names what this thread traces from now on below a scope: empty, or names that each end in `/`.
#[pyfunction]
fn _set_scope(scope: &str) {
    penstock_trace::set_scope(scope);
}

/// Names a tensor while a function is traced: the node that gives it, or the input that is made of it.
#[pyfunction]
fn _set_name(tensor: &Bound<'_, tensor::PyTensor>, name: &str) {
    penstock_trace::set_name(&tensor.get().var, name);
}

/// The path of a scope that is opened: with a number where the innermost trace had one of this path before.
#[pyfunction]
fn _unique_scope(path: &str) -> String {
    penstock_trace::unique_scope(path)
}

/// Uses this many threads for work that is split; 0 lets the engine choose.
#[pyfunction]
fn _set_threads(n: usize) {
    penstock_kernels::pool::set_threads(n);
}

/// The number of threads.
#[pyfunction]
fn _threads() -> usize {
    penstock_kernels::pool::threads()
}

/// Has every operation check that its floating point results are finite, or stops that.
#[pyfunction]
fn _set_check_numerics(on: bool) {
    penstock_exec::set_check_numerics(on);
}

/// The instruction set that kernels run with.
#[pyfunction]
fn _simd_level() -> &'static str {
    match penstock_kernels::level() {
        penstock_kernels::Level::Base => "base",
        penstock_kernels::Level::V3 => "v3 (AVX2)",
        penstock_kernels::Level::V4 => "v4 (AVX-512)",
    }
}

/// The bytes of all blocks of memory that tensors have taken so far, those given back included.
#[pyfunction]
fn _taken_bytes() -> usize {
    penstock_data::taken_bytes()
}

/// The checksum CRC-32C of bytes.
#[pyfunction]
fn _crc32c(data: &[u8]) -> u32 {
    crc32c::crc32c(data)
}

/// A record as files of records have it: behind its length, with masked checksums of both.
#[pyfunction]
fn _framed_record<'py>(py: Python<'py>, record: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let masked = |bytes: &[u8]| crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let length = (record.len() as u64).to_le_bytes();
    PyBytes::new_with(py, record.len() + 16, |out| {
        let (head, rest) = out.split_at_mut(12);
        head[..8].copy_from_slice(&length);
        head[8..].copy_from_slice(&masked(&length));
        let (body, check) = rest.split_at_mut(record.len());
        body.copy_from_slice(record);
        check.copy_from_slice(&masked(record));
        Ok(())
    })
}

/// The names of all that `PENSTOCK_PASSES` can leave out.
#[pyfunction]
fn _switches() -> Vec<&'static str> {
    penstock_exec::switches().collect()
}

// Arrays that come back are adopted where their reference count is one, which needs the interpreter lock.
#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Reserve::fill();
    // `penstock._runtime.settings` warns of them, when the package is imported.
    settings::on_warning(|_| ());
    penstock_trace::set_host(Box::new(host::Interpreter));
    m.add_class::<dtype::PyDType>()?;
    m.add_class::<tensor::Operand>()?;
    m.add_class::<tensor::PyTensor>()?;
    m.add_class::<tensor::Reference>()?;
    m.add_class::<variable::PyVariable>()?;
    m.add_class::<callback::PyHostFunction>()?;
    m.add_class::<ops::PyOp>()?;
    m.add_class::<tape::PyTape>()?;
    m.add_class::<tape::PyNoTapes>()?;
    m.add_class::<tape::PyAccumulator>()?;
    m.add_class::<overrides::PyOverride>()?;
    m.add_class::<stack::Callable>()?;
    m.add_class::<function::PyFunction>()?;
    m.add_class::<function::PyBoundFunction>()?;
    m.add_class::<concrete::PyConcrete>()?;
    m.add_class::<program::PyProgram>()?;
    m.add_class::<onnx::PyOnnxModel>()?;
    m.add_class::<checkpoint::PyBundleReader>()?;
    m.add_class::<collectives::PyListener>()?;
    m.add_class::<program::PyProgramFunction>()?;
    m.add_class::<program::PyProgramBuilder>()?;
    m.add_class::<graph::PyGraph>()?;
    m.add_class::<graph::PyOutside>()?;
    m.add_class::<graph::PyHandedOver>()?;
    m.add_class::<graph::PyRegion>()?;
    m.add_class::<open::PyOpenGraph>()?;
    m.add_class::<open::PyPart>()?;
    m.add_class::<open::PyValues>()?;
    m.add_class::<variable::PyVariableSlice>()?;
    m.add_class::<profile::PySpan>()?;
    m.add_class::<profile::PyWaits>()?;
    m.add_class::<profile::PyRecording>()?;
    m.add_class::<input::PyStage>()?;
    m.add_class::<input::PyWindows>()?;
    for function in [
        wrap_pyfunction!(_to_tensor, m)?,
        wrap_pyfunction!(_to_tensor_hinted, m)?,
        wrap_pyfunction!(_operands, m)?,
        wrap_pyfunction!(_from_dlpack, m)?,
        wrap_pyfunction!(dtype::_promote, m)?,
        wrap_pyfunction!(tensor::_promoting, m)?,
        wrap_pyfunction!(_devices, m)?,
        wrap_pyfunction!(_set_device, m)?,
        wrap_pyfunction!(_placed, m)?,
        wrap_pyfunction!(_set_name, m)?,
        wrap_pyfunction!(_set_scope, m)?,
        wrap_pyfunction!(_unique_scope, m)?,
        wrap_pyfunction!(_set_threads, m)?,
        wrap_pyfunction!(_threads, m)?,
        wrap_pyfunction!(errors::_set_error_classes, m)?,
        wrap_pyfunction!(layer::_set_layer, m)?,
        wrap_pyfunction!(ops::_ops, m)?,
        wrap_pyfunction!(ops::_op_families, m)?,
        wrap_pyfunction!(ops::_op_samples, m)?,
        wrap_pyfunction!(onnx::_onnx_operators, m)?,
        wrap_pyfunction!(program::_tensorflow_operators, m)?,
        wrap_pyfunction!(host::_set_seed, m)?,
        wrap_pyfunction!(host::_new_stream, m)?,
        wrap_pyfunction!(host::_draw_from, m)?,
        wrap_pyfunction!(tape::_record_custom, m)?,
        wrap_pyfunction!(tape::_with_gradient, m)?,
        wrap_pyfunction!(tape::_gradients, m)?,
        wrap_pyfunction!(tape::_map_rows, m)?,
        wrap_pyfunction!(function::_run_functions_eagerly, m)?,
        wrap_pyfunction!(function::_functions_run_eagerly, m)?,
        wrap_pyfunction!(stack::with_vectorcall, m)?,
        wrap_pyfunction!(exit::_interpreter_ends, m)?,
        wrap_pyfunction!(exit::_forked, m)?,
        wrap_pyfunction!(open::_placeholder, m)?,
        wrap_pyfunction!(_set_check_numerics, m)?,
        wrap_pyfunction!(_taken_bytes, m)?,
        wrap_pyfunction!(_simd_level, m)?,
        wrap_pyfunction!(profile::_profiling, m)?,
        wrap_pyfunction!(profile::_start_profile, m)?,
        wrap_pyfunction!(profile::_stop_profile, m)?,
        wrap_pyfunction!(_crc32c, m)?,
        wrap_pyfunction!(_framed_record, m)?,
        wrap_pyfunction!(collectives::_leave_group, m)?,
        wrap_pyfunction!(collectives::_group_place, m)?,
        wrap_pyfunction!(collectives::_abort_group, m)?,
        wrap_pyfunction!(collectives::_group_failure, m)?,
        wrap_pyfunction!(checkpoint::_write_bundle, m)?,
        wrap_pyfunction!(_switches, m)?,
        wrap_pyfunction!(graph::_is_tracing, m)?,
        wrap_pyfunction!(graph::_current_trace, m)?,
        wrap_pyfunction!(operand::_compares_elements, m)?,
        wrap_pyfunction!(operand::_inside_open_graph, m)?,
        wrap_pyfunction!(operand::_set_tensor_equality, m)?,
        wrap_pyfunction!(graph::_begin_region, m)?,
        wrap_pyfunction!(graph::_is_in_scope, m)?,
        wrap_pyfunction!(graph::_end_region, m)?,
        wrap_pyfunction!(graph::_abandon_region, m)?,
        wrap_pyfunction!(graph::_emit_regions, m)?,
        wrap_pyfunction!(graph::_known_value, m)?,
        wrap_pyfunction!(graph::_computed, m)?,
    ] {
        m.add_function(function)?;
    }
    m.add("_Recursion", m.py().get_type::<recursion::_Recursion>())?;
    for d in penstock_data::ALL_DTYPES {
        m.add(d.tf_name(), dtype::object(m.py(), d)?)?;
    }
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
