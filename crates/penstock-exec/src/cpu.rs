//! The CPU as a device.

use std::any::Any;
use std::sync::Arc;

use penstock_data::{Error, Result, Tensor};
use penstock_ir::{DeviceKernels, Graph, Region};
use penstock_passes::Options;
use penstock_passes::evaluate::Outputs;

use crate::device::{Device, DeviceKind, Memory, Program};
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

    fn upload(&self, tensor: &Tensor) -> Result<Tensor> {
        tensor.on_host()
    }

    fn compile(&self, graph: &Graph, region: Region) -> Result<Arc<dyn Program>> {
        Ok(Arc::new(TileProgram::new(graph, region, &Options::default())?))
    }

    fn kernels(&self) -> Option<&dyn DeviceKernels> {
        None
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl Program for TileProgram {
    fn launch(&self, inputs: &[&Tensor], dims: &[usize]) -> Result<Outputs> {
        let mut results: Outputs = (0..self.results()).map(|_| Tensor::default()).collect();
        self.run(inputs, &mut results)?;
        match results.iter().find(|t| t.dims() != dims) {
            Some(t) => Err(Error::invalid(format!("the results have the extents {:?}, not {dims:?}", t.dims()))),
            None => Ok(results),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
