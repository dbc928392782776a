//! What surrounds a run.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_data::{Bytes, DType, Error, Result, Tensor};

use crate::collective::{Alone, Group};
use crate::element_fn::ElementFn;
use crate::local_files;
use crate::profile::{Pace, Profiler};
use crate::whole::DeviceKernels;

/// What surrounds a run: the streams, the random state and the interrupt flag of its host. What a host does not say is as in
/// any program: prints go to the process's streams, random numbers come from one generator of the process, and nothing stops
/// a run.
pub trait Env: Sync {
    /// Writes a text to a stream: `stdout`, `stderr`, `log:<level>` or `file://<path>`. By default to those of the process,
    /// a log to `stderr`; a file is appended to.
    ///
    /// # Errors
    /// Whatever the host reports.
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        let written = match stream {
            "stdout" => std::io::stdout().lock().write_all(text.as_bytes()),
            _ => match stream.strip_prefix("file://") {
                Some(path) => std::fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path)
                    .and_then(|mut file| file.write_all(text.as_bytes())),
                None => std::io::stderr().lock().write_all(text.as_bytes()),
            },
        };
        written.map_err(|e| Error::precondition(format!("cannot write to {stream}: {e}")))
    }

    /// What a file holds. By default one of this machine, and paths with a scheme are refused.
    ///
    /// # Errors
    /// `NotFound` where there is none; whatever the host reports.
    fn read_file(&self, path: &[u8]) -> Result<Bytes> {
        local_files::read(path)
    }

    /// Makes a file that holds these bytes, in directories that are made where they are absent. By default on this machine.
    ///
    /// # Errors
    /// Whatever the host reports.
    fn write_file(&self, path: &[u8], contents: &[u8]) -> Result<()> {
        local_files::write(path, contents)
    }

    /// Takes a stretch of `blocks` Philox blocks of the stateful generator: its key and first counter. By default from a
    /// generator that all such hosts share; it starts at seed 0.
    ///
    /// # Errors
    /// Whatever the host reports.
    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        static SHARED: Stream = Stream::new(0);
        Ok(SHARED.draw(blocks))
    }

    /// Called at least every few milliseconds of a long run, by the thread that asked for it; an error stops it. A kernel
    /// that is at work then is abandoned: it ends in the background, and what it computes is dropped.
    ///
    /// # Errors
    /// `Cancelled` or `Host` where the host wants the run to stop; by default it never does.
    fn poll(&self) -> Result<()> {
        Ok(())
    }

    /// Who is told what takes time, where somebody is. It is asked when a run starts, and when a call within it ends.
    fn profiler(&self) -> Option<&dyn Profiler> {
        None
    }

    /// Whether a profiler is to be told of a run that begins ([`Profiler::takes`]).
    fn tells(&self, pace: &Pace) -> bool {
        self.profiler().is_some_and(|profiler| profiler.takes(pace))
    }

    /// The device that does the work on whole tensors in the host's place. It is asked by the kernels of operators that say
    /// [`Cuda::Kernels`](crate::Cuda::Kernels).
    fn kernels(&self) -> Option<&dyn DeviceKernels> {
        None
    }

    /// What a function makes of the elements of operands, as `dtype`, by the device that does the work in the host's place; `None` where there
    /// is none, or it has no code for it. Operands beyond those that the function takes are joined to the result, one after the other.
    ///
    /// # Errors
    /// Those of the operator, and of the device.
    fn elementwise(&self, function: ElementFn, dtype: DType, inputs: &[&Tensor]) -> Result<Option<Tensor>> {
        let _ = (function, dtype, inputs);
        Ok(None)
    }

    /// The group of processes of a name, for the operators that compute together with others. By default there is that of the empty
    /// name, in which this process is alone.
    ///
    /// # Errors
    /// `FailedPrecondition` where this process belongs to none of that name.
    fn group(&self, name: &str) -> Result<Arc<dyn Group>> {
        if name.is_empty() {
            return Ok(Arc::new(Alone));
        }
        Err(Error::precondition(format!("this process is in no group '{name}'")))
    }

    /// Runs `work`, which is long or calls back: a host with a global lock lets go of it meanwhile.
    fn run_long(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// A stream of Philox blocks that threads share.
#[derive(Debug)]
pub struct Stream(Mutex<(u64, u128)>);

impl Stream {
    /// The stream of a seed, from its start.
    pub const fn new(seed: u64) -> Stream {
        Stream(Mutex::new((seed, 0)))
    }

    /// Goes to the start of the stream of a seed.
    pub fn restart(&self, seed: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (seed, 0);
    }

    /// Takes a stretch of `blocks`: the seed and the first counter.
    pub fn draw(&self, blocks: u64) -> (u64, u128) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seed, first) = *state;
        state.1 = first.wrapping_add(u128::from(blocks));
        (seed, first)
    }
}

/// The surroundings of instructions without effects, which have none.
#[derive(Debug)]
pub struct NoEnv;

impl Env for NoEnv {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Err(Error::internal("a pure instruction prints"))
    }

    fn read_file(&self, _: &[u8]) -> Result<Bytes> {
        Err(Error::internal("a pure instruction reads a file"))
    }

    fn write_file(&self, _: &[u8], _: &[u8]) -> Result<()> {
        Err(Error::internal("a pure instruction writes a file"))
    }

    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Err(Error::internal("a pure instruction draws random numbers"))
    }
}
