//! The CPU as a device.

use std::any::Any;
use std::sync::Arc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Graph, Region};
use penstock_passes::Options;

use crate::device::{Device, DeviceKind, DeviceTensor, Memory, Program};
use crate::tile::TileProgram;

/// The CPU: its memory is the host's.
pub(crate) struct CpuDevice;

impl Device for CpuDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn index(&self) -> usize {
        0
    }

    fn description(&self) -> String {
        format!("{} threads, {:?}", penstock_kernels::pool::threads(), penstock_kernels::level())
    }

    fn memory(&self) -> Option<Memory> {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = text.lines().find(|l| l.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        Some(Memory { total: field("MemTotal:")?, free: field("MemAvailable:")? })
    }

    fn allocate(&self, dtype: DType, dims: &[usize]) -> Result<DeviceTensor> {
        self.upload(&Tensor::empty(dtype, dims)?)
    }

    fn upload(&self, tensor: &Tensor) -> Result<DeviceTensor> {
        Ok(DeviceTensor::new(tensor.dtype(), tensor.dims(), Box::new(tensor.clone())))
    }

    fn download(&self, tensor: &DeviceTensor) -> Result<Tensor> {
        tensor.memory::<Tensor>().cloned()
    }

    fn compile(&self, graph: &Graph, region: Region) -> Result<Arc<dyn Program>> {
        Ok(Arc::new(TileProgram::new(graph, region, &Options::default())?))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl Program for TileProgram {
    fn launch(&self, inputs: &[&DeviceTensor], outputs: &mut [DeviceTensor]) -> Result<()> {
        let tensors: Vec<&Tensor> = inputs.iter().map(|t| t.memory::<Tensor>()).collect::<Result<_>>()?;
        if outputs.is_empty() {
            return Err(Error::invalid("no output to write"));
        }
        let mut results: Vec<Tensor> = Vec::with_capacity(outputs.len());
        for out in outputs.iter_mut() {
            results.push(std::mem::take(out.memory_mut::<Tensor>()?));
        }
        let ran = self.run(&tensors, &mut results);
        for (out, result) in outputs.iter_mut().zip(results) {
            *out.memory_mut::<Tensor>()? = result;
        }
        ran
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
