//! Files of this machine, by the paths that programs have for them: strings of bytes, with or without `file://` in front.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use penstock_data::{Bytes, Error, Result, memory};

/// The scheme in front of the `://` of a path, if it has one.
fn scheme(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once("://")?;
    let rest = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(rest)).then_some(scheme)
}

/// Where a path leads on this machine.
fn local(path: &[u8]) -> Result<PathBuf> {
    let text = String::from_utf8_lossy(path);
    match scheme(&text) {
        None => Ok(os_path(path)),
        Some("file") => Ok(os_path(&path["file://".len()..])),
        Some(scheme) => Err(Error::unimplemented(format!("this host has no file system '{scheme}' (path '{text}')"))),
    }
}

#[cfg(unix)]
fn os_path(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(path).into()
}

#[cfg(not(unix))]
fn os_path(path: &[u8]) -> PathBuf {
    String::from_utf8_lossy(path).into_owned().into()
}

fn refused(path: &Path, error: &io::Error) -> Error {
    let message = format!("{error}: '{}'", path.display());
    match error.kind() {
        ErrorKind::NotFound => Error::not_found(message),
        ErrorKind::OutOfMemory => Error::exhausted(message),
        _ => Error::precondition(message),
    }
}

/// What a file holds.
///
/// # Errors
/// `NotFound` where there is none; `FailedPrecondition` where it cannot be read; `Unimplemented` for a path elsewhere.
pub fn read(path: &[u8]) -> Result<Bytes> {
    let path = local(path)?;
    let content = || {
        let mut file = File::open(&path)?;
        // The size may be that of a directory, or of what a driver makes up: it says how much may come, and no more.
        let expected = file.metadata().ok().filter(fs::Metadata::is_file).map_or(0, |file| file.len());
        let mut content = Vec::new();
        content.try_reserve_exact(usize::try_from(expected).unwrap_or(usize::MAX))?;
        file.read_to_end(&mut content)?;
        Ok(content)
    };
    memory::shared(content().map_err(|error: io::Error| refused(&path, &error))?)
}

/// Makes a file that holds these bytes, in directories that are made where they are absent.
///
/// # Errors
/// As [`read`].
pub fn write(path: &[u8], contents: &[u8]) -> Result<()> {
    let path = local(path)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| refused(folder, &error))?;
    }
    fs::write(&path, contents).map_err(|error| refused(&path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_letters_digits_and_few_signs() {
        let found = ["ram://a", "s3+http://a", "a/b://c", "3d://a", "://a", "a:/b", "file://a"].map(scheme);
        assert_eq!(found, [Some("ram"), Some("s3+http"), None, None, None, None, Some("file")]);
    }
}
