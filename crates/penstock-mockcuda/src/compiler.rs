//! NVRTC's functions: the text is checked by the real compiler where that is there, and becomes a library of the host.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

use crate::state::state;

/// The environment variable with the file of the real compiler.
const REAL_VARIABLE: &str = "PENSTOCK_MOCK_NVRTC";
/// How the images that this compiler makes begin. The length and the path of a library follow.
pub(crate) const MAGIC: &[u8; 8] = b"MOCKCUDA";
const DEVICE: &str = include_str!("device.h");
/// What finds races of kernels that are compiled to be watched.
const RACES: &str = include_str!("races.cpp");

const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const COMPILATION: c_int = 6;

struct Program {
    source: String,
    log: CString,
    image: Vec<u8>,
}

type Handle = *mut c_void;

/// The real compiler.
struct Real {
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    log_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    _libraries: Vec<Library>,
}

impl Real {
    fn get() -> Option<&'static Real> {
        static REAL: OnceLock<Option<Real>> = OnceLock::new();
        REAL.get_or_init(|| Real::load(Path::new(&std::env::var_os(REAL_VARIABLE)?))).as_ref()
    }

    fn load(path: &Path) -> Option<Real> {
        let mut libraries = Vec::new();
        let builtins = std::fs::read_dir(path.parent()?).ok()?.flatten().map(|e| e.path()).find(|p| {
            p.file_name()
                .and_then(|n| n.to_str())
                .is_some_and(|n| n.starts_with("libnvrtc-builtins.so.") && !n.contains("alt"))
        });
        if let Some(builtins) = builtins {
            // SAFETY: NVIDIA's library, which does nothing when it is loaded.
            libraries.push(unsafe { Library::new(builtins) }.ok()?);
        }
        // SAFETY: NVIDIA's library, which does nothing when it is loaded.
        let library = unsafe { Library::new(path) }.ok()?;
        // SAFETY: the types are those of nvrtc.h, and the library stays loaded.
        let real = unsafe {
            Real {
                create: *library.get(b"nvrtcCreateProgram\0").ok()?,
                compile: *library.get(b"nvrtcCompileProgram\0").ok()?,
                log_size: *library.get(b"nvrtcGetProgramLogSize\0").ok()?,
                log: *library.get(b"nvrtcGetProgramLog\0").ok()?,
                destroy: *library.get(b"nvrtcDestroyProgram\0").ok()?,
                _libraries: libraries,
            }
        };
        std::mem::forget(library);
        Some(real)
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// The compiler's messages.
    fn check(&self, source: &str, options: &[*const c_char]) -> Result<(), String> {
        let text = CString::new(source).map_err(|e| e.to_string())?;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the handle is made, used and destroyed here; all texts live until the calls return.
        unsafe {
            (self.create)(&mut handle, text.as_ptr(), c"kernels.cu".as_ptr(), 0, std::ptr::null(), std::ptr::null());
            let code = (self.compile)(handle, options.len() as c_int, options.as_ptr());
            let mut len = 0;
            (self.log_size)(handle, &mut len);
            let mut log = vec![0u8; len];
            (self.log)(handle, log.as_mut_ptr().cast());
            (self.destroy)(&mut handle);
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_string();
            if code == SUCCESS { Ok(()) } else { Err(log) }
        }
    }
}

/// The names of the kernels of a text.
fn kernels(source: &str) -> Vec<&str> {
    let name = |rest: &'_ str| -> Option<usize> {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        (end > 0 && rest[end..].starts_with('(')).then_some(end)
    };
    let mut out = Vec::new();
    for part in source.split("__global__ ").skip(1) {
        let part = part.trim_start();
        // Bounds of the launch may stand in between.
        let part =
            part.strip_prefix("__launch_bounds__").map_or(part, |rest| rest.split_once(") ").map_or("", |p| p.1));
        if let Some(rest) = part.strip_prefix("void ")
            && let Some(end) = name(rest)
        {
            out.push(&rest[..end]);
        }
    }
    out
}

/// Where compiled texts are kept.
fn folder() -> PathBuf {
    std::env::var_os("PENSTOCK_MOCK_CACHE").map_or_else(
        // SAFETY: reads a number of the process.
        || std::env::temp_dir().join(format!("penstock-mockcuda-{}", unsafe { libc::getuid() })),
        PathBuf::from,
    )
}

/// Runs the C++ compiler.
///
/// # Errors
/// Its messages.
fn run_cxx<'a>(args: impl IntoIterator<Item = &'a OsStr>) -> Result<(), String> {
    let output = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "g++".into()))
        .args(["-std=c++17", "-fPIC", "-w"])
        .args(args)
        .output()
        .map_err(|e| format!("g++ does not run: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// A name of this process and thread: several may make one file, and who comes last replaces the same with the same.
fn own(file: &Path, extension: &str) -> PathBuf {
    file.with_extension(format!("{}-{:?}.{extension}", std::process::id(), std::thread::current().id()))
}

/// The compiled form of [`RACES`].
///
/// # Errors
/// The messages of the compiler.
fn races(folder: &Path) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    RACES.hash(&mut hasher);
    let object = folder.join(format!("races-{:016x}.o", hasher.finish()));
    if !object.exists() {
        let (file, made) = (own(&object, "cpp"), own(&object, "o"));
        std::fs::write(&file, RACES).map_err(|e| format!("{}: {e}", file.display()))?;
        run_cxx(["-O2".as_ref(), "-c".as_ref(), "-o".as_ref(), made.as_os_str(), file.as_os_str()])?;
        std::fs::rename(&made, &object).map_err(|e| format!("{}: {e}", object.display()))?;
        let _ = std::fs::remove_file(&file);
    }
    Ok(object)
}

/// The library of a text, whose accesses to memory are watched where `watched`.
///
/// # Errors
/// The messages of the compilers.
fn compile(source: &str, options: &[*const c_char], watched: bool) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    (DEVICE, source, watched.then_some(("dwarf 4", RACES)), Real::get().is_some()).hash(&mut hasher);
    let folder = folder();
    let library = folder.join(format!("{:016x}.so", hasher.finish()));
    if library.exists() {
        return Ok(library);
    }
    if let Some(real) = Real::get() {
        real.check(source, options)?;
    }
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut text = String::new();
    if watched {
        text.push_str("#define MOCK_RACES\n");
    }
    if ["__sync", "_sync("].iter().any(|word| source.contains(word)) {
        text.push_str("#define MOCK_FIBERS\n");
    }
    text.push_str(DEVICE);
    // The source stays, for those who look at kernels. Its lines are the ones that findings name.
    let kept = library.with_extension("cu");
    std::fs::write(&kept, source).map_err(|e| format!("{}: {e}", kept.display()))?;
    text.push_str(&format!("\n#line 1 \"{}\"\n", kept.display()));
    text.push_str(source);
    for kernel in kernels(source) {
        text.push_str(&format!(
            "\nextern \"C\" const char* mock_run_{kernel}(void** args, const mock_launch* launch) {{ return mock_run({kernel}, args, launch); }}\
             \nextern \"C\" int mock_sizes_{kernel}(size_t* sizes) {{ return mock_sizes({kernel}, sizes); }}\n"
        ));
    }
    let (file, object, made) = (own(&library, "cpp"), own(&library, "o"), own(&library, "so"));
    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    // Many kernels run a few times each, and take longer to optimise than to run.
    let level = if kernels(source).len() > 16 { "-O0" } else { "-O1" };
    let flags = [level, "-ffp-contract=off", "-fno-strict-aliasing"].map(OsStr::new);
    let [output, shared] = ["-o", "-shared"].map(OsStr::new);
    let compiled = if watched {
        // Lines in the form of DWARF 4, since addr2line confuses files in that of 5. Not linked by the compiler, which would add ThreadSanitizer's own library.
        let watching = ["-fsanitize=thread", "-gdwarf-4", "-g1", "-c"].map(OsStr::new);
        let compiled = run_cxx(flags.into_iter().chain(watching).chain([output, object.as_os_str(), file.as_os_str()]));
        let linked = compiled.and_then(|()| {
            let races = races(&folder)?;
            run_cxx([shared, output, made.as_os_str(), object.as_os_str(), races.as_os_str()])
        });
        let _ = std::fs::remove_file(&object);
        linked
    } else {
        run_cxx(flags.into_iter().chain([shared, output, made.as_os_str(), file.as_os_str()]))
    };
    compiled.map_err(|log| format!("{}: {log}", file.display()))?;
    std::fs::rename(&made, &library).map_err(|e| format!("{}: {e}", library.display()))?;
    let _ = std::fs::remove_file(&file);
    Ok(library)
}

/// A text whose last kernel lacks a barrier, counted from 1 on.
fn without_barrier(source: &str, number: usize) -> Cow<'_, str> {
    const BARRIER: &str = "__syncthreads();";
    let kernel = source.rfind("__global__ void ").unwrap_or(source.len());
    let nth = number.checked_sub(1).and_then(|i| source[kernel..].match_indices(BARRIER).nth(i));
    match nth {
        Some((at, _)) => format!("{};{}", &source[..kernel + at], &source[kernel + at + BARRIER.len()..]).into(),
        None => source.into(),
    }
}

unsafe fn program<'a>(handle: Handle) -> Option<&'a mut Program> {
    // SAFETY: handles are those of `nvrtcCreateProgram`, used by one thread at a time, as NVRTC asks.
    unsafe { handle.cast::<Program>().as_mut() }
}

/// Writes a size.
unsafe fn put_size(at: *mut usize, value: usize) -> c_int {
    // SAFETY: the caller of the C function gave a place for it.
    unsafe { *at = value };
    SUCCESS
}

unsafe fn put_bytes(at: *mut c_char, bytes: &[u8]) -> c_int {
    // SAFETY: the caller of the C function gave as many bytes as it was told.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), bytes.len()) };
    SUCCESS
}

macro_rules! export {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$doc])*
        /// # Safety
        /// As NVRTC's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $out)? $body
    )*};
}

export! {
    /// The version of the interface.
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
        // SAFETY: the caller gives places for both. It is another version where accesses are watched, so that nobody takes code that was kept for code that is watched.
        unsafe { (*major, *minor) = (13, c_int::from(state().settings.races)) };
        SUCCESS
    }
    /// The number of architectures.
    fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
        // SAFETY: the caller gives a place for it.
        unsafe { *count = 1 };
        SUCCESS
    }
    /// The architectures.
    fn nvrtcGetSupportedArchs(archs: *mut c_int) -> c_int {
        // SAFETY: the caller gives places for as many as it was told.
        unsafe { *archs = 90 };
        SUCCESS
    }
    /// What a code means.
    fn nvrtcGetErrorString(code: c_int) -> *const c_char {
        match code {
            SUCCESS => c"success",
            INVALID_INPUT => c"invalid input",
            _ => c"the text does not compile",
        }
        .as_ptr()
    }
    /// A program of a text.
    fn nvrtcCreateProgram(
        out: *mut Handle,
        source: *const c_char,
        _name: *const c_char,
        _headers: c_int,
        _texts: *const *const c_char,
        _includes: *const *const c_char,
    ) -> c_int {
        // SAFETY: the caller gives a text that ends, and a place for the program.
        unsafe {
            let source = CStr::from_ptr(source).to_string_lossy().into_owned();
            let program = Program { source, log: CString::default(), image: Vec::new() };
            *out = Box::into_raw(Box::new(program)).cast();
        }
        SUCCESS
    }
    /// Ends a program.
    fn nvrtcDestroyProgram(handle: *mut Handle) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, destroyed once.
        unsafe {
            drop(Box::from_raw((*handle).cast::<Program>()));
            *handle = std::ptr::null_mut();
        }
        SUCCESS
    }
    /// Compiles a program.
    fn nvrtcCompileProgram(handle: Handle, count: c_int, options: *const *const c_char) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time.
        let Some(program) = (unsafe { program(handle) }) else { return INVALID_INPUT };
        // SAFETY: the caller gives as many texts as it says.
        let options = unsafe { std::slice::from_raw_parts(options, count as usize) };
        let watched = state().settings.races;
        let planted = state().settings.without_barrier;
        let source = without_barrier(&program.source, planted);
        match compile(&source, options, watched) {
            Ok(path) => {
                let path = path.to_string_lossy().into_owned().into_bytes();
                program.image = MAGIC.iter().copied().chain((path.len() as u64).to_le_bytes()).chain(path).collect();
                SUCCESS
            }
            Err(log) => {
                program.log = CString::new(log.replace('\0', "")).unwrap_or_default();
                COMPILATION
            }
        }
    }
    /// The bytes of the messages.
    fn nvrtcGetProgramLogSize(handle: Handle, size: *mut usize) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time; the caller gave a place for the size.
        unsafe { program(handle).map_or(INVALID_INPUT, |p| put_size(size, p.log.as_bytes_with_nul().len())) }
    }
    /// The messages.
    fn nvrtcGetProgramLog(handle: Handle, log: *mut c_char) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time; the caller gave as many bytes as it was told.
        unsafe { program(handle).map_or(INVALID_INPUT, |p| put_bytes(log, p.log.as_bytes_with_nul())) }
    }
    /// The bytes of the image as text.
    fn nvrtcGetPTXSize(handle: Handle, size: *mut usize) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time; the caller gave a place for the size.
        unsafe { program(handle).map_or(INVALID_INPUT, |p| put_size(size, p.image.len())) }
    }
    /// The image as text.
    fn nvrtcGetPTX(handle: Handle, image: *mut c_char) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time; the caller gave as many bytes as it was told.
        unsafe { program(handle).map_or(INVALID_INPUT, |p| put_bytes(image, &p.image)) }
    }
    /// The bytes of the image.
    fn nvrtcGetCUBINSize(handle: Handle, size: *mut usize) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time; the caller gave a place for the size.
        unsafe { program(handle).map_or(INVALID_INPUT, |p| put_size(size, p.image.len())) }
    }
    /// The image.
    fn nvrtcGetCUBIN(handle: Handle, image: *mut c_char) -> c_int {
        // SAFETY: the handle is one of `nvrtcCreateProgram`, used by one thread at a time; the caller gave as many bytes as it was told.
        unsafe { program(handle).map_or(INVALID_INPUT, |p| put_bytes(image, &p.image)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_name() {
        let text = "extern \"C\" __global__ void one(int* p) {}\n__device__ void two();\n\
                    extern \"C\" __global__ __launch_bounds__(256) void three(\n    int n) {}";
        assert_eq!(kernels(text), ["one", "three"]);
    }
}
