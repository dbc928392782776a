//! The driver, found when it is first needed, and the devices that it knows.

#![expect(unsafe_code, reason = "driver calls that describe devices")]

use std::sync::OnceLock;

use cudarc::driver::{DriverError, result, sys};
use penstock_data::{Error, Result};

use crate::nvrtc::Arch;

/// The oldest driver that has every function used here: its CUDA version, as it reports it.
const LEAST_DRIVER: i32 = 13_000;

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
            // SAFETY: opens the driver's library by its names, no more.
            if !unsafe { sys::is_culib_present() } {
                return Err(Error::precondition("there is no NVIDIA driver (libcuda) on this machine"));
            }
            let mut version = 0;
            // SAFETY: writes one number; every driver has this function.
            let code = unsafe { sys::cuDriverGetVersion(&mut version) };
            if code != sys::CUresult::CUDA_SUCCESS || version < LEAST_DRIVER {
                return Err(Error::precondition(format!(
                    "the NVIDIA driver supports CUDA {}.{}; {}.{} or newer is needed",
                    version / 1000,
                    version % 1000 / 10,
                    LEAST_DRIVER / 1000,
                    LEAST_DRIVER % 1000 / 10
                )));
            }
            result::init().map_err(|e| Error::precondition(format!("the NVIDIA driver does not start: {}", text(e))))
        })
        .clone()
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
    match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::exhausted(format!("CUDA: {}", text(error))),
        _ => Error::internal(format!("CUDA: {}", text(error))),
    }
}
