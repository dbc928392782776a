//! The run-time compiler of CUDA C++, found when it is first needed.

#![expect(unsafe_code, reason = "calls into a library that is loaded at run time")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;
use penstock_data::{Error, Result, settings};

/// The environment variable that names the library's file, or the folder that it is in.
pub const NVRTC_VARIABLE: &str = "PENSTOCK_NVRTC";

#[cfg(windows)]
const NAMES: &[&str] = &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// How the file of the compiler's own headers begins; it must be loaded before the compiler.
#[cfg(windows)]
const BUILTINS: &str = "nvrtc-builtins64_";
#[cfg(not(windows))]
const BUILTINS: &str = "libnvrtc-builtins.so.";

/// The folders of `site-packages` in which NVIDIA's wheels put the library.
const WHEEL_FOLDERS: &[&str] =
    &["nvidia/cu13/lib", "nvidia/cu13/bin/x86_64", "nvidia/cuda_nvrtc/lib", "nvidia/cuda_nvrtc/bin"];

static SITE_PACKAGES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static FILE: NamedFile = NamedFile::new();

/// Names the library's file, where [`NVRTC_VARIABLE`] does not. Of use until the library is first needed.
pub fn set_nvrtc(file: impl Into<PathBuf>) {
    FILE.set(file.into());
}

/// Adds a `site-packages` folder in which NVIDIA's wheels may be installed. Of use until the
/// library is first needed.
pub fn add_site_packages(folder: impl Into<PathBuf>) {
    SITE_PACKAGES.lock().unwrap_or_else(PoisonError::into_inner).push(folder.into());
}

/// What the compiler is told beside the architecture: arithmetic is as written.
pub(crate) const OPTIONS: &[&str] =
    &["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"];

/// A compute capability: major and minor number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Arch {
    /// 9 of 9.0.
    pub major: u32,
    /// 0 of 9.0.
    pub minor: u32,
}

impl Arch {
    /// The number in the names of targets: 90.
    pub fn number(self) -> u32 {
        self.major * 10 + self.minor
    }
}

type Program = *mut c_void;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($arg:ty),*);)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) -> c_int,)*
            error_string: unsafe extern "C" fn(c_int) -> *const c_char,
        }

        impl Functions {
            /// # Safety
            /// `library` is NVRTC.
            unsafe fn of(library: &Library) -> Result<Functions, libloading::Error> {
                // SAFETY: the types are those of nvrtc.h, which have not changed since CUDA 11.2; the
                // caller keeps the library loaded.
                unsafe {
                    Ok(Functions {
                        $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        error_string: *library.get(b"nvrtcGetErrorString\0")?,
                    })
                }
            }
        }
    };
}

functions! {
    version = "nvrtcVersion" (*mut c_int, *mut c_int);
    supported_count = "nvrtcGetNumSupportedArchs" (*mut c_int);
    supported = "nvrtcGetSupportedArchs" (*mut c_int);
    create = "nvrtcCreateProgram" (*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    destroy = "nvrtcDestroyProgram" (*mut Program);
    compile = "nvrtcCompileProgram" (Program, c_int, *const *const c_char);
    log_size = "nvrtcGetProgramLogSize" (Program, *mut usize);
    log = "nvrtcGetProgramLog" (Program, *mut c_char);
    ptx_size = "nvrtcGetPTXSize" (Program, *mut usize);
    ptx = "nvrtcGetPTX" (Program, *mut c_char);
    cubin_size = "nvrtcGetCUBINSize" (Program, *mut usize);
    cubin = "nvrtcGetCUBIN" (Program, *mut c_char);
}

/// The compiler.
pub struct Nvrtc {
    functions: Functions,
    path: PathBuf,
    version: (u32, u32),
    archs: Vec<u32>,
    /// Kept loaded, the compiler after its headers.
    _libraries: Vec<Library>,
}

/// Machine code, or PTX where the compiler does not know the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image(Vec<u8>);

impl Image {
    /// What a module is loaded from: an ELF file, or text that ends in a zero byte.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Nvrtc {
    /// The compiler, loaded at the first call: from where [`NVRTC_VARIABLE`] says, else from the folders
    /// of [`add_site_packages`], else from where the system finds libraries.
    ///
    /// # Errors
    /// `FailedPrecondition` where it is not found, with the places that were looked at.
    pub fn get() -> Result<&'static Nvrtc> {
        static NVRTC: OnceLock<Result<Nvrtc>> = OnceLock::new();
        NVRTC.get_or_init(Nvrtc::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Nvrtc> {
        let mut tried = Vec::new();
        for path in candidates() {
            match Nvrtc::load(&path) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(error) => tried.push(format!("{}: {error}", path.display())),
            }
        }
        Err(Error::precondition(format!(
            "CUDA kernels need NVRTC: pip install nvidia-cuda-nvrtc, or set {NVRTC_VARIABLE} to its file; tried {}",
            tried.join("; ")
        )))
    }

    fn load(path: &Path) -> Result<Nvrtc, libloading::Error> {
        let mut libraries = Vec::new();
        if let Some(builtins) = path.parent().and_then(builtins_in) {
            // SAFETY: NVIDIA's library; loading it has no effect beyond its own initialisation.
            libraries.push(unsafe { Library::new(&builtins) }?);
        }
        // SAFETY: NVIDIA's library; loading it has no effect beyond its own initialisation.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the library has NVRTC's name, and is kept loaded beside its functions.
        let functions = unsafe { Functions::of(&library) }?;
        libraries.push(library);
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: each writes the numbers that it is given places for.
        let archs = unsafe {
            (functions.version)(&mut major, &mut minor);
            (functions.supported_count)(&mut count);
            let mut archs = vec![0; usize::try_from(count).unwrap_or(0)];
            (functions.supported)(archs.as_mut_ptr());
            archs
        };
        let archs = archs.into_iter().filter_map(|a| u32::try_from(a).ok()).collect();
        Ok(Nvrtc { functions, path: path.into(), version: (major as u32, minor as u32), archs, _libraries: libraries })
    }

    /// Its version: major and minor number.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The file that it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Machine code of `source` for a device of capability `arch`; PTX where the compiler knows no device of its
    /// generation.
    ///
    /// Arithmetic is as written: no contraction to fused multiply-add, no flushing of subnormal numbers,
    /// correctly rounded division and square root.
    ///
    /// # Errors
    /// `Unimplemented` where the device is older than what the compiler supports; `Internal` with the
    /// compiler's messages where it rejects the source.
    pub fn compile(&self, source: &str, arch: Arch) -> Result<Image> {
        let below = self.archs.iter().copied().filter(|&a| a <= arch.number()).max().ok_or_else(|| {
            Error::unimplemented(format!(
                "NVRTC {}.{} does not compile for compute capability {}.{}",
                self.version.0, self.version.1, arch.major, arch.minor
            ))
        })?;
        // Machine code runs on later devices of the same major number.
        let exact = below / 10 == arch.major;
        let target = format!("--gpu-architecture={}_{below}", if exact { "sm" } else { "compute" });
        let options: Vec<&str> = [target.as_str()].into_iter().chain(OPTIONS.iter().copied()).collect();
        let compiled = self.program(source)?;
        compiled.compile(&options)?;
        let f = &self.functions;
        let image = if exact { compiled.output(f.cubin_size, f.cubin) } else { compiled.output(f.ptx_size, f.ptx) };
        image.map(Image)
    }

    fn program(&self, source: &str) -> Result<Compilation<'_>> {
        let source = CString::new(source).map_err(|_| Error::internal("a kernel source holds a zero byte"))?;
        let mut program = std::ptr::null_mut();
        // SAFETY: the strings end in zero and are copied; there are no headers.
        let code = unsafe {
            (self.functions.create)(
                &mut program,
                source.as_ptr(),
                c"penstock.cu".as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        self.check(code, "nvrtcCreateProgram")?;
        Ok(Compilation { nvrtc: self, program })
    }

    fn check(&self, code: c_int, call: &str) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: gives a static string for any number.
        let text = unsafe { CStr::from_ptr((self.functions.error_string)(code)) };
        Err(Error::internal(format!("{call}: {}", text.to_string_lossy())))
    }
}

/// A program of the compiler, destroyed with this value.
struct Compilation<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Compilation<'_> {
    fn compile(&self, options: &[&str]) -> Result<()> {
        let options: Vec<CString> = options.iter().filter_map(|o| CString::new(*o).ok()).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: `pointers` holds that many strings, alive until the call returns.
        let code = unsafe { (self.nvrtc.functions.compile)(self.program, pointers.len() as c_int, pointers.as_ptr()) };
        self.nvrtc.check(code, "nvrtcCompileProgram").map_err(|e| {
            let f = &self.nvrtc.functions;
            let log = self.output(f.log_size, f.log).unwrap_or_default();
            Error::internal(format!("{}\n{}", e.message(), String::from_utf8_lossy(&log).trim_end_matches('\0')))
        })
    }

    /// What the pair of functions, one for its size and one for itself, give.
    fn output(
        &self,
        size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
        get: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ) -> Result<Vec<u8>> {
        let mut len = 0;
        // SAFETY: the program is alive; the size is written to `len`.
        self.nvrtc.check(unsafe { size(self.program, &mut len) }, "nvrtcGet…Size")?;
        let mut out = vec![0u8; len];
        // SAFETY: the call writes `len` bytes.
        self.nvrtc.check(unsafe { get(self.program, out.as_mut_ptr().cast()) }, "nvrtcGet…")?;
        Ok(out)
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        // SAFETY: the program came from `create` and is destroyed once.
        unsafe { (self.nvrtc.functions.destroy)(&mut self.program) };
    }
}

/// The files to try, in order.
fn candidates() -> Vec<PathBuf> {
    FILE.files(NVRTC_VARIABLE).unwrap_or_else(|| library_files(NVRTC_VARIABLE, WHEEL_FOLDERS, NAMES))
}

/// The file of a library that the program names.
pub(crate) struct NamedFile(Mutex<Option<PathBuf>>);

impl NamedFile {
    pub(crate) const fn new() -> NamedFile {
        NamedFile(Mutex::new(None))
    }

    pub(crate) fn set(&self, file: PathBuf) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }

    /// The file as the only one to try; `None` where none was named, or the environment variable names another.
    pub(crate) fn files(&self, variable: &str) -> Option<Vec<PathBuf>> {
        let named = std::env::var_os(variable).is_some_and(|p| !p.is_empty());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|_| !named).map(|file| vec![file])
    }
}

/// Where a library of NVIDIA's may be: what the environment variable names, a file or the folder that it is in, else in the folders of
/// [`add_site_packages`], else where the system finds libraries.
pub(crate) fn library_files(variable: &str, wheel_folders: &[&str], names: &[&str]) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    if let Some(path) = settings::path(variable) {
        return if path.is_dir() { in_folder(&path) } else { vec![path] };
    }
    let folders = SITE_PACKAGES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let wheels = folders.iter().flat_map(|folder| wheel_folders.iter().map(move |wheel| folder.join(wheel)));
    let mut out: Vec<PathBuf> = wheels.flat_map(|folder| in_folder(&folder)).filter(|file| file.exists()).collect();
    out.extend(names.iter().map(PathBuf::from));
    out
}

/// The file of the compiler's own headers in a folder.
fn builtins_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let named = |name: &OsStr| name.to_str().is_some_and(|n| n.starts_with(BUILTINS) && !n.contains("alt"));
    entries.map(|e| e.path()).filter(|p| p.file_name().is_some_and(named)).min()
}
