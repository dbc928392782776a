//! Small loops as one kernel: one block of threads that runs many iterations.
//!
//! What an iteration does is noted as launches of kernels. Each of those loops over what its blocks of threads are given, and none waits for
//! another block. So one block can do the work of all, one after the other, with the same bits, and a barrier does for it what the end of a
//! launch does for the next one. The texts of the kernels become functions of one text, in namespaces of their own. Nothing is generated
//! twice, and whatever has a text of a kernel, and says how many bytes it moves, can be a phase.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cudarc::driver::CudaFunction;
use penstock_kernels::cost::{DEVICE, KernelWork};
use smallvec::SmallVec;

use crate::faults::NONE;
use crate::kernel::Arg;
use crate::opened::{Opened, Source};
use crate::queue::{Command, Launch, While};

/// The iterations of a launch: some milliseconds, so that nobody waits long for a loop to end that is interrupted, and the launch itself does
/// not count.
const ROUNDS: u32 = 256;
/// The most words of arguments, of the 4 KiB that a launch has.
const MOST_WORDS: usize = 500;
/// The most phases of an iteration, so that a text compiles in reasonable time.
const MOST_PHASES: usize = 48;
const NAME: &str = "penstock_rounds";

/// A loop that is small enough for one block of threads, as one kernel: of its iterations, the condition is the kernel, which runs the body,
/// too, and there is nothing else. `None` for other loops.
pub(crate) fn one_block(
    device: &Arc<Opened>,
    looped: &While,
    as_launch: &dyn Fn(&Command) -> Option<Launch>,
) -> Option<While> {
    if !device.small_loops.load(Ordering::Relaxed) {
        return None;
    }
    let launches = |commands: &[Command]| commands.iter().map(as_launch).collect::<Option<Vec<Launch>>>();
    let (condition, body) = (launches(&looped.condition)?, launches(&looped.body)?);
    if body.is_empty() || condition.len() + body.len() > MOST_PHASES {
        return None;
    }
    let work = |launch: &Launch| Some(KernelWork { bytes: launch.bytes?, blocks: launch.blocks as usize });
    let work = condition.iter().chain(&body).map(work).collect::<Option<Vec<KernelWork>>>()?;
    if DEVICE.one_block(&work) >= DEVICE.nodes(&work, device.info.multiprocessors as usize) {
        return None;
    }
    let mut text = Text::default();
    let condition = text.phases(device, &condition)?;
    let body = text.phases(device, &body)?;
    text.words.push(looped.going);
    text.words.extend_from_slice(&looped.faults);
    if text.words.len() > MOST_WORDS {
        return None;
    }
    let function = text.function(device, &condition, &body, looped.faults.len())?;
    let args = [Arg::List64(text.words), Arg::U32(ROUNDS)];
    let rounds = Launch::new(function.cu_function(), 1, &args);
    Some(While { condition: vec![Command::Launch(rounds)], body: Vec::new(), ..looped.clone() })
}

/// The text of a kernel in the making.
#[derive(Default)]
struct Text {
    /// The kernels that it is made of.
    sources: Vec<Source>,
    /// The arguments of all phases.
    words: SmallVec<[u64; 8]>,
}

impl Text {
    /// The statements that run launches, one after the other.
    fn phases(&mut self, device: &Opened, launches: &[Launch]) -> Option<String> {
        let mut out = String::new();
        for launch in launches {
            let source = device.source(launch.function())?;
            let known = self.sources.iter().position(|s| s.text == source.text && s.name == source.name);
            let at = known.unwrap_or_else(|| {
                self.sources.push(source.clone());
                self.sources.len() - 1
            });
            let first = self.words.len();
            self.words.extend_from_slice(&launch.words);
            let args: String =
                launch.starts.iter().map(|&s| format!(", args.at[{}]", first + usize::from(s))).collect();
            let name = format!("penstock_phase{at}::{}", source.name);
            if launch.blocks == 1 {
                let _ = writeln!(out, "        penstock_phase({name}, 0, 1{args});");
            } else {
                let count = self.words.len();
                self.words.push(u64::from(launch.blocks));
                let _ = writeln!(
                    out,
                    "        for (unsigned int block = 0; block < (unsigned int)args.at[{count}]; ++block) {{"
                );
                let _ =
                    writeln!(out, "            penstock_phase({name}, block, (unsigned int)args.at[{count}]{args});");
                if source.text.contains("__shared__") {
                    out.push_str("            __syncthreads();\n");
                }
                out.push_str("        }\n");
            }
            out.push_str("        __syncthreads();\n");
        }
        Some(out)
    }

    /// The kernel, loaded now where it was not before; `None` where it cannot be compiled, for want of shared memory for example.
    fn function(&self, device: &Opened, condition: &str, body: &str, faults: usize) -> Option<CudaFunction> {
        let words = self.words.len();
        let going = words - faults - 1;
        let mut text = String::from(include_str!("rounds.cuh"));
        for (i, source) in self.sources.iter().enumerate() {
            let _ = writeln!(text, "namespace penstock_phase{i} {{\n{}}}", as_functions(&source.text));
            let macros = source.text.lines().filter_map(|line| line.strip_prefix("#define "));
            for name in macros.filter_map(|line| line.split([' ', '(']).next()) {
                let _ = writeln!(text, "#undef {name}");
            }
        }
        let _ = write!(
            text,
            "\nextern \"C\" __global__ void {NAME}(\n    \
             const __grid_constant__ penstock_list<unsigned long long, {words}> args, const unsigned int rounds\n) {{\n    \
             for (unsigned int round = 0;; ++round) {{\n{condition}        bool goes_on = false;\n        \
             if (threadIdx.x == 0) {{\n            \
             goes_on = round < rounds && *reinterpret_cast<const unsigned char*>(args.at[{going}]) != 0;\n"
        );
        for word in going + 1..words {
            let _ = writeln!(
                text,
                "            if (*reinterpret_cast<const unsigned int*>(args.at[{word}]) != {NONE}u) goes_on = false;"
            );
        }
        // What the first thread found is every thread's, and nobody writes before it has read.
        let _ = write!(text, "        }}\n        if (!__syncthreads_or(goes_on)) return;\n{body}    }}\n}}\n");
        device.function("rounds", NAME, &text, || text.clone()).ok()
    }
}

/// The text of kernels as that of functions, whose first two parameters are the number of the block of threads and how many there are.
fn as_functions(text: &str) -> String {
    const ENTRY: &str = "extern \"C\" __global__ ";
    const CONSTANT: &str = "__grid_constant__ ";
    let mut out = String::with_capacity(text.len() + 256);
    let mut rest = text;
    while let Some((before, entry)) = rest.split_once(ENTRY) {
        out.push_str(before);
        let (head, behind) = entry.split_once('(').unwrap_or((entry, ""));
        let (params, behind) = behind.split_once(") {").unwrap_or((behind, ""));
        let _ = write!(
            out,
            "__device__ inline {head}(const penstock_blocks penstock_block, const penstock_blocks penstock_grid"
        );
        for param in split(params) {
            // A parameter in constant memory is passed by reference.
            let param = match param.split_once(CONSTANT).map(|(a, b)| format!("{a}{b}")) {
                Some(param) => param.rsplit_once(' ').map(|(ty, name)| format!("{ty}& {name}")).unwrap_or(param),
                None => param.to_string(),
            };
            let _ = write!(out, ", {}", param.trim());
        }
        out.push_str(") {");
        rest = behind;
    }
    out.push_str(rest);
    out.replace("blockIdx.x", "penstock_block.x").replace("gridDim.x", "penstock_grid.x")
}

/// Parameters, split at the commas between them.
fn split(params: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0, 0, Vec::new());
    for (i, c) in params.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&params[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push(&params[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_become_functions_of_one_block() {
        let text = "#define N 2\nextern \"C\" __global__ void f(\n    E* to, const penstock_list<I, N> dims\n) {\n    g(blockIdx.x, gridDim.x);\n}\n";
        let due = "#define N 2\n__device__ inline void f(const penstock_blocks penstock_block, const penstock_blocks penstock_grid, \
                   E* to, const penstock_list<I, N> dims) {\n    g(penstock_block.x, penstock_grid.x);\n}\n";
        assert_eq!(as_functions(text), due);
    }

    #[test]
    fn what_lies_in_constant_memory_is_passed_by_reference() {
        let text =
            "extern \"C\" __global__ void f(const __grid_constant__ penstock_list<unsigned int, 3> ends, const I n) {}";
        let due = "const penstock_list<unsigned int, 3>& ends, const I n) {}";
        assert!(as_functions(text).ends_with(due), "{}", as_functions(text));
    }
}
