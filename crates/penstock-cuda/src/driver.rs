//! The driver, found when it is first needed, and the devices that it knows.

#![expect(unsafe_code, reason = "driver calls that describe devices")]

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::{DriverError, result, sys};
use penstock_data::{Error, Result, settings};

use crate::nvrtc::Arch;

/// The environment variable that names the driver's library, in place of the one that the system finds.
pub const DRIVER_VARIABLE: &str = "PENSTOCK_CUDA_DRIVER";

/// The oldest driver that has every function used here: its CUDA version, as it reports it.
const LEAST_DRIVER: i32 = 12_080;

static FILE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names the driver's library, where [`DRIVER_VARIABLE`] does not. Of use until the driver is first needed.
pub fn set_driver(file: impl Into<PathBuf>) {
    *FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.into());
}

/// Loads the library that a setting names. Later loads of `libcuda.so` by its name find it.
fn load_named() -> Result<()> {
    let Some(file) =
        settings::path(DRIVER_VARIABLE).or_else(|| FILE.lock().unwrap_or_else(PoisonError::into_inner).clone())
    else {
        return Ok(());
    };
    // SAFETY: a driver, which does nothing when it is loaded.
    match unsafe { libloading::Library::new(&file) } {
        Ok(library) => {
            std::mem::forget(library);
            Ok(())
        }
        Err(e) => Err(Error::precondition(format!("{DRIVER_VARIABLE}: {} does not load: {e}", file.display()))),
    }
}

/// What is known of a device without using it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// The name that its maker gave it.
    pub name: String,
    /// Its number among the devices of the machine.
    pub ordinal: usize,
    /// Its memory in bytes.
    pub memory: usize,
    /// Its compute capability.
    pub arch: Arch,
    /// Its multiprocessors.
    pub multiprocessors: u32,
}

/// Makes sure that the driver is there, recent enough and initialised.
///
/// # Errors
/// `FailedPrecondition` with the reason.
pub fn driver() -> Result<()> {
    static STATE: OnceLock<Result<()>> = OnceLock::new();
    STATE
        .get_or_init(|| {
            load_named()?;
            // SAFETY: opens the driver's library by its names, no more.
            if !unsafe { sys::is_culib_present() } {
                return Err(Error::precondition("there is no NVIDIA driver (libcuda) on this machine"));
            }
            let version = version()?;
            if version < LEAST_DRIVER {
                return Err(Error::precondition(format!(
                    "the NVIDIA driver supports CUDA {}.{}, and {}.{} or newer is needed: install a newer driver",
                    version / 1000,
                    version % 1000 / 10,
                    LEAST_DRIVER / 1000,
                    LEAST_DRIVER % 1000 / 10
                )));
            }
            result::init().map_err(start_failure)
        })
        .clone()
}

/// The CUDA version of the driver, 1000 times the major and 10 times the minor number.
pub(crate) fn version() -> Result<i32> {
    let mut version = 0;
    // SAFETY: writes one number; every driver has this function.
    let code = unsafe { sys::cuDriverGetVersion(&mut version) };
    code.result().map_err(start_failure)?;
    Ok(version)
}

/// Why the driver does not start, and what to do about it.
#[cold]
fn start_failure(error: DriverError) -> Error {
    use sys::CUresult as Code;
    Error::precondition(match error.0 {
        Code::CUDA_ERROR_STUB_LIBRARY => {
            "the libcuda that was found is the stub of a CUDA toolkit, which only links programs: install the NVIDIA \
             driver, or take the stub's folder out of LD_LIBRARY_PATH"
                .to_string()
        }
        Code::CUDA_ERROR_NO_DEVICE => {
            "the NVIDIA driver sees no GPU; a container needs to be started with access to it (docker run --gpus all)"
                .to_string()
        }
        _ => format!("the NVIDIA driver does not start: {}", text(error)),
    })
}

/// The CUDA devices of this machine; none where [`driver`] fails. Nothing is allocated on them.
pub(crate) fn list() -> Vec<DeviceInfo> {
    if driver().is_err() {
        return Vec::new();
    }
    let count = result::device::get_count().unwrap_or(0);
    (0..usize::try_from(count).unwrap_or(0)).filter_map(|ordinal| describe(ordinal).ok()).collect()
}

fn describe(ordinal: usize) -> Result<DeviceInfo, DriverError> {
    use sys::CUdevice_attribute_enum as Attribute;
    let device = result::device::get(ordinal as i32)?;
    // SAFETY: `device` is a device of the initialised driver.
    let (memory, attribute) = unsafe {
        (result::device::total_mem(device)?, |which| result::device::get_attribute(device, which).map(|v| v as u32))
    };
    Ok(DeviceInfo {
        name: result::device::get_name(device)?,
        ordinal,
        memory,
        arch: Arch {
            major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        },
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
    })
}

#[cold]
fn text(error: DriverError) -> String {
    fn part(text: Result<&std::ffi::CStr, DriverError>) -> String {
        text.map_or_else(|_| "?".to_string(), |t| t.to_string_lossy().into_owned())
    }
    format!("{} ({})", part(error.error_string()), part(error.error_name()))
}

/// An error of the driver, as one of ours.
#[cold]
pub(crate) fn failure(error: DriverError) -> Error {
    use sys::CUresult as Code;
    match error.0 {
        Code::CUDA_ERROR_OUT_OF_MEMORY => Error::exhausted(format!("CUDA: {}", text(error))),
        Code::CUDA_ERROR_ILLEGAL_ADDRESS
        | Code::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | Code::CUDA_ERROR_MISALIGNED_ADDRESS
        | Code::CUDA_ERROR_LAUNCH_FAILED
        | Code::CUDA_ERROR_LAUNCH_TIMEOUT
        | Code::CUDA_ERROR_ECC_UNCORRECTABLE => {
            Error::internal(format!("CUDA: {}; this process cannot use the GPU any more", text(error)))
        }
        _ => Error::internal(format!("CUDA: {}", text(error))),
    }
}
