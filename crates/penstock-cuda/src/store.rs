//! Compiled kernels on disk, so that a program that ran before needs no compiler.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use crate::nvrtc::{Arch, Nvrtc, OPTIONS};

/// The environment variable that names the folder; empty for none.
pub const CACHE_VARIABLE: &str = "PENSTOCK_CUDA_CACHE";

/// The folder: where the variable says, else in the user's folder for such files.
fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    match std::env::var_os(CACHE_VARIABLE) {
        Some(named) => (!named.is_empty()).then(|| named.into()),
        None => variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .or_else(|| variable("LOCALAPPDATA"))
            .map(|caches| caches.join("penstock").join("cuda")),
    }
}

/// The file of a source: 128 bits of everything that the machine code depends on.
fn file(nvrtc: &Nvrtc, source: &str, arch: Arch) -> Option<PathBuf> {
    let hash = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, nvrtc.version(), nvrtc.path(), OPTIONS, arch, source).hash(&mut hasher);
        hasher.finish()
    };
    Some(folder()?.join(format!("{:016x}{:016x}.cubin", hash(0), hash(1))))
}

/// The machine code of a source that was compiled before.
pub(crate) fn find(nvrtc: &Nvrtc, source: &str, arch: Arch) -> Option<Vec<u8>> {
    std::fs::read(file(nvrtc, source, arch)?).ok().filter(|image| !image.is_empty())
}

/// Keeps the machine code of a source. Where that cannot be, it is compiled again next time.
pub(crate) fn keep(nvrtc: &Nvrtc, source: &str, arch: Arch, image: &[u8]) {
    let Some(file) = file(nvrtc, source, arch) else { return };
    let Some(folder) = file.parent() else { return };
    // Written under a name of this process and thread: others see the whole file or none.
    let own = file.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&own, image))
        .and_then(|()| std::fs::rename(&own, &file));
    if written.is_err() {
        let _ = std::fs::remove_file(own);
    }
}
