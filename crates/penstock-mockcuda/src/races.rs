//! What was found of races, in words: which memory, which threads, which lines of the kernel.

use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;

use crate::memory::Arena;
use crate::state::Function;

/// Two accesses that nothing orders, as `races.cpp` has them.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Race {
    place: u64,
    blocks: [u32; 2],
    threads: [u32; 2],
    kinds: [u32; 2],
    code: [u64; 2],
}

/// The races of the last launch: writes how many there are, and whether memory was left out.
pub(crate) type ReadRaces = unsafe extern "C" fn(*mut u32, *mut u32) -> *const Race;

/// The function of a library that is watched.
pub(crate) fn reader(library: &Library) -> Option<ReadRaces> {
    // SAFETY: the symbol is that of `races.cpp`, of this type.
    unsafe { library.get::<ReadRaces>(b"mock_races\0") }.ok().map(|read| *read)
}

/// The file that a function's code is in.
fn file(function: &Function) -> Option<PathBuf> {
    // SAFETY: all zeros are a value of the type, and the call writes it; the name lives as long as the code is loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(function.run as *const c_void, &mut info) != 0 && !info.dli_fname.is_null();
        found.then(|| PathBuf::from(CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()))
    }
}

fn output(program: &str, args: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(args).arg(file).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
}

/// The lines of the kernel's text that code was made of, the innermost first.
fn lines(file: &Path, code: u64) -> String {
    // The address is that behind the call.
    let frames = output("addr2line", &["-i", "-a", &format!("{:#x}", code.saturating_sub(1)), "-e"], file);
    let kept = file.with_extension("cu");
    let text = std::fs::read_to_string(&kept).unwrap_or_default();
    let numbers = frames.lines().filter_map(|frame| {
        let (_, line) = frame.rsplit_once(':').filter(|(name, _)| Path::new(name) == kept)?;
        line.split_whitespace().next()?.parse::<usize>().ok()
    });
    let told: Vec<String> =
        numbers.map(|n| format!("line {n}: {}", text.lines().nth(n.saturating_sub(1)).unwrap_or("").trim())).collect();
    if told.is_empty() { "an unknown line".to_string() } else { told.join(", from ") }
}

/// The variable in shared memory at an address, and how far behind its start that is.
fn variable(library: &Library, file: &Path, place: u64) -> Option<String> {
    // SAFETY: the symbol is that of `races.cpp`, of this type.
    let start =
        unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(b"mock_shared_start\0").ok()?() } as u64;
    let symbols = output("nm", &["-C", "-S", "--defined-only"], file);
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let section = symbols.lines().find_map(|l| l.strip_suffix(" __start_mock_shared")?.split(' ').next())?;
    let place = place - start + number(section)?;
    symbols.lines().find_map(|line| {
        let mut words = line.splitn(4, ' ');
        let (at, size) = (number(words.next()?)?, number(words.next()?)?);
        let name = words.nth(1)?;
        let short = name.rsplit("::").next().unwrap_or(name);
        (at..at + size).contains(&place).then(|| format!("byte {} of {short} in shared memory", place - at))
    })
}

/// The races of the launch of `function` that ran last, one a text.
pub(crate) fn found(function: &Function, args: &[Vec<u8>], arena: &Arena) -> Vec<String> {
    let Some(read) = function.races else { return Vec::new() };
    let (mut count, mut is_full) = (0, 0);
    // SAFETY: the function gives as many entries as it says, which stay until the next launch.
    let races = unsafe {
        let first = read(&mut count, &mut is_full);
        std::slice::from_raw_parts(first, count as usize)
    };
    if is_full != 0 {
        eprintln!("mock CUDA: kernel {} takes more memory than is watched for races", function.name);
    }
    let file = if races.is_empty() { None } else { file(function) };
    let file = file.unwrap_or_default();
    let place = |place: u64| {
        let place = arena.address(place);
        let Some((start, len)) = arena.block(place) else {
            let shared = (!arena.contains(place)).then(|| variable(&function.library, &file, place)).flatten();
            return shared.unwrap_or_else(|| format!("the byte at {place:#x}"));
        };
        let argument = args.iter().position(|a| {
            <[u8; 8]>::try_from(&a[..]).is_ok_and(|a| arena.block(u64::from_ne_bytes(a)).is_some_and(|b| b.0 == start))
        });
        let whose = argument.map_or_else(String::new, |i| format!(", that of argument {i}"));
        format!("byte {} of a block of {len} bytes{whose}", place - start)
    };
    let access = |race: &Race, i: usize| {
        let verb = ["", "reads", "writes", "has an atomic"].get(race.kinds[i] as usize).unwrap_or(&"");
        let (block, thread) = (race.blocks[i], race.threads[i]);
        format!("thread {thread} of block {block} {verb} ({})", lines(&file, race.code[i]))
    };
    let tell = |race: &Race| {
        let apart = if race.blocks[0] == race.blocks[1] { "no barrier" } else { "nothing" };
        let [first, second] = [0, 1].map(|i| access(race, i));
        format!("a race at {}: {first} and {second}, with {apart} in between", place(race.place))
    };
    races.iter().map(tell).collect()
}
