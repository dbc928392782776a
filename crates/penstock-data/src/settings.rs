//! Variables of the environment that steer the engine, and what is said where one has no effect.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a program does with warnings.
pub type Listener = fn(&str);

/// Who hears warnings, and the variables that have been warned of.
static WARNINGS: Mutex<(Listener, Vec<String>)> = Mutex::new((print, Vec::new()));

fn print(text: &str) {
    eprintln!("penstock: {text}");
}

/// Hands warnings to `listener` from now on. By default they are printed on the standard error stream.
pub fn on_warning(listener: Listener) {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).0 = listener;
}

/// Warns that the value of a variable has no effect: once for each variable.
///
/// `wanted` says what the value should be, such as `"a positive number"`.
pub fn warn_of(name: &str, value: &OsStr, wanted: &str) {
    let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if warnings.1.iter().any(|told| told == name) {
        return;
    }
    warnings.1.push(name.to_owned());
    let listener = warnings.0;
    drop(warnings);
    listener(&format!("{name} is '{}', and not {wanted}: it has no effect", value.to_string_lossy()));
}

/// What `read` makes of the value of a variable; `None` where it is not set, and where `read` gives `None`, which is warned of.
///
/// `wanted` says what the value should be, such as `"a positive number"`.
pub fn get<T>(name: &str, wanted: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let value = std::env::var_os(name)?;
    let found = value.to_str().and_then(read);
    if found.is_none() {
        warn_of(name, &value, wanted);
    }
    found
}

/// Whether a variable is `1` rather than `0`; `default` where it is neither.
pub fn flag(name: &str, default: bool) -> bool {
    let read = |value: &str| match value {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    get(name, "'1' or '0'", read).unwrap_or(default)
}

/// The path that a variable names; `None` where it is empty or not set. A path to nothing is warned of; a mere name may be one that the
/// system finds.
pub fn path(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    let path = Path::new(&value);
    if path.components().count() > 1 && !path.exists() {
        warn_of(name, &value, "the path of a file or a folder");
    }
    Some(value.into())
}
