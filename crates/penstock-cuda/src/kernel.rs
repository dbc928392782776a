//! The text of a kernel, and what it is launched with.

use std::ffi::c_void;
use std::fmt::Write as _;

use penstock_data::{DType, Dims};
use penstock_kernels::fold::rows_of_part;
use smallvec::SmallVec;

use crate::layout::{Access, Layout};
use crate::program::{Output, Program, storage_type};

/// What every kernel text stands on.
pub const PRELUDE: &str = include_str!("prelude.cuh");

/// What kernels with sums over rows stand on, too.
const SUMS: &str = include_str!("sums.cuh");

/// Threads in a block.
pub const BLOCK: u32 = 256;

/// The rows of a tile of which sums are added up in sequence, and the packs of each; a thread of a block takes one.
const TILE: [usize; 2] = [64, 4];

/// The most tiles side by side, where there are several rows of them.
pub(crate) const TILES: usize = 1 << 12;

/// Bytes that a thread loads or stores at once where memory allows.
const PACK_BYTES: usize = 16;

/// Results are indexed in 32 bits up to this length, so that a grid's stride beyond it does not wrap.
const NARROW_LIMIT: usize = i32::MAX as usize;

/// What a kernel's text depends on beside its program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Variant {
    /// How each input is reached.
    pub inputs: SmallVec<[Reach; 4]>,
    /// The number of dimensions of coordinates; 0 where no input is strided.
    pub rank: usize,
    /// Whether indices take 64 bits.
    pub wide: bool,
    /// Elements that a thread takes at once.
    pub pack: usize,
    /// Whether there are sums over rows.
    pub sums: bool,
}

/// How a kernel reaches an input's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reach {
    /// By the index of the result.
    Linear,
    /// Once, before the loop.
    Fixed,
    /// It is an argument.
    Value,
    /// By coordinates and strides.
    Strided,
    /// By coordinates and strides, a pack at a time.
    Packed,
    /// By coordinates and strides, an element for all of a pack.
    Spread,
}

impl Reach {
    fn has_strides(self) -> bool {
        matches!(self, Reach::Strided | Reach::Packed | Reach::Spread)
    }
}

impl Variant {
    /// The variant for a layout. `aligned` says that every operand starts at a multiple of 16 bytes.
    pub fn new(program: &Program, layout: &Layout, aligned: bool) -> Variant {
        let moved = program.inputs.iter().zip(&layout.inputs).filter(|(_, a)| match a {
            Access::Linear => true,
            Access::Fixed | Access::Value => false,
            Access::Strided(strides) => strides.last() != Some(&0),
        });
        let widest = moved.map(|(d, _)| d.size()).chain(program.outputs.iter().map(|o| o.dtype.size())).max();
        let mut pack = if aligned { PACK_BYTES / widest.unwrap_or(PACK_BYTES) } else { 1 };
        let columns = layout.columns;
        while pack > 1 && !(packs(layout, pack) && columns.is_none_or(|n| n.is_multiple_of(pack))) {
            pack /= 2;
        }
        let strided = layout.is_strided();
        let inputs: SmallVec<[Reach; 4]> = layout
            .inputs
            .iter()
            .map(|access| match access {
                Access::Linear => Reach::Linear,
                Access::Fixed => Reach::Fixed,
                Access::Value => Reach::Value,
                Access::Strided(_) if pack == 1 => Reach::Strided,
                Access::Strided(strides) if strides.last() == Some(&0) => Reach::Spread,
                Access::Strided(_) => Reach::Packed,
            })
            .collect();
        let rank = if strided { layout.dims.len() } else { 0 };
        Variant { inputs, rank, wide: layout.len > NARROW_LIMIT, pack, sums: columns.is_some() }
    }
}

impl Variant {
    /// The tiles of rows and columns, down and across, where there are sums over rows.
    pub(crate) fn tiles(&self, layout: &Layout) -> Option<[usize; 2]> {
        let columns = layout.columns?;
        Some([(layout.len / columns.max(1)).div_ceil(TILE[0]), (columns / self.pack).div_ceil(TILE[1])])
    }

    /// As [`Kernel::grid`].
    pub(crate) fn grid(&self, layout: &Layout, resident: u32) -> u32 {
        /// Waves of blocks after which threads loop instead.
        const WAVES: u32 = 4;
        let blocks = match self.tiles(layout) {
            Some([down, across]) => down.saturating_mul(across),
            None => layout.len.div_ceil(self.pack).div_ceil(BLOCK as usize),
        };
        let blocks = blocks.max(1);
        u32::try_from(blocks).unwrap_or(u32::MAX).min(resident.saturating_mul(WAVES).max(1))
    }

    /// The first of the [`Kernel::arguments`].
    pub(crate) fn addresses(&self, outputs: &[u64], inputs: &[u64]) -> impl Iterator<Item = Arg> {
        let operands = inputs.iter().zip(&self.inputs).map(|(&v, reach)| match reach {
            Reach::Value => Arg::Value(v),
            _ => Arg::Pointer(v),
        });
        outputs.iter().map(|&p| Arg::Pointer(p)).chain(operands)
    }

    /// The [`Kernel::arguments`] behind the addresses that every kernel has.
    pub(crate) fn extents(&self, layout: &Layout) -> Vec<Arg> {
        let mut args = Vec::new();
        args.push(if self.wide { Arg::U64(layout.len as u64) } else { Arg::U32(layout.len as u32) });
        if self.rank > 0 {
            let list = |dims: &Dims| {
                if self.wide {
                    Arg::List64(dims.iter().map(|&d| d as u64).collect())
                } else {
                    Arg::List32(dims.iter().map(|&d| d as u32).collect())
                }
            };
            let pack = self.pack;
            let mut dims = layout.dims.clone();
            if let Some(inner) = dims.last_mut() {
                *inner /= pack;
            }
            args.push(list(&dims));
            for (access, reach) in layout.inputs.iter().zip(&self.inputs) {
                let Access::Strided(strides) = access else { continue };
                let mut strides = strides.clone();
                if *reach == Reach::Packed
                    && let Some((_, outer)) = strides.split_last_mut()
                {
                    outer.iter_mut().for_each(|s| *s /= pack);
                }
                args.push(list(&strides));
            }
        }
        args
    }
}

/// Whether the elements of every operand lie so that a thread can take `pack` of them at once. Without strided inputs the
/// last few may be fewer.
fn packs(layout: &Layout, pack: usize) -> bool {
    !layout.is_strided()
        || layout.dims.last().is_some_and(|inner| inner.is_multiple_of(pack))
            && layout.inputs.iter().all(|access| match access {
                Access::Strided(strides) => match strides.split_last() {
                    Some((1, outer)) => outer.iter().all(|s| s.is_multiple_of(pack)),
                    inner => inner.is_some_and(|(&s, _)| s == 0),
                },
                _ => true,
            })
}

/// A generated kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The name of its entry.
    pub name: String,
    /// Its text, without the [`PRELUDE`].
    pub text: String,
    /// What the text was made for.
    pub variant: Variant,
    /// Whether it takes a word for faults.
    pub checked: bool,
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// An address on the device.
    Pointer(u64),
    /// A 32-bit number.
    U32(u32),
    /// A 64-bit number.
    U64(u64),
    /// An element, in the first bytes.
    Value(u64),
    /// A `penstock_list` of 32-bit numbers.
    List32(SmallVec<[u32; 8]>),
    /// A `penstock_list` of 64-bit numbers.
    List64(SmallVec<[u64; 8]>),
}

impl Arg {
    /// Its value from a word on, as hosts of CUDA have it: the low bytes first.
    pub(crate) fn words(&self, mut put: impl FnMut(u64)) {
        match self {
            Arg::Pointer(v) | Arg::U64(v) | Arg::Value(v) => put(*v),
            Arg::U32(v) => put(u64::from(*v)),
            Arg::List64(v) => v.iter().copied().for_each(put),
            Arg::List32(v) => v.chunks(2).for_each(|pair| {
                let high = pair.get(1).copied().unwrap_or(0);
                put(u64::from(pair[0]) | u64::from(high) << 32);
            }),
        }
    }

    /// Where its value is, as a launch wants it.
    pub fn as_ptr(&self) -> *mut c_void {
        match self {
            Arg::Pointer(v) | Arg::U64(v) | Arg::Value(v) => std::ptr::from_ref(v).cast_mut().cast(),
            Arg::U32(v) => std::ptr::from_ref(v).cast_mut().cast(),
            Arg::List32(v) => v.as_ptr().cast_mut().cast(),
            Arg::List64(v) => v.as_ptr().cast_mut().cast(),
        }
    }
}

impl Kernel {
    /// The kernel that computes `program`, called `name`. Equal arguments give equal text.
    ///
    /// Its parameters are the results' and the inputs' starts, the number of elements, then, where an
    /// input is strided, the merged extents and each strided input's strides, and where it is checked
    /// the fault word and the number of its first site. Where packs are taken, the innermost extent and the strides of
    /// packed inputs count packs.
    ///
    /// # Panics
    /// Where `variant` has another number of inputs than `program`.
    pub fn new(program: &Program, variant: Variant, name: &str) -> Kernel {
        assert_eq!(program.inputs.len(), variant.inputs.len(), "a variant of another program");
        let checked = program.is_checked();
        let mut text = String::new();
        write_body(&mut text, program, name);
        write_entry(&mut text, program, &variant, name, checked);
        Kernel { name: name.to_string(), text, variant, checked }
    }

    /// The text of a function that a kernel of several programs calls, called `name`, with its arguments in a struct; not of a program that
    /// is checked. See [`combined`].
    ///
    /// # Panics
    /// As [`Kernel::new`].
    pub fn part(program: &Program, variant: &Variant, name: &str) -> String {
        assert_eq!(program.inputs.len(), variant.inputs.len(), "a variant of another program");
        let mut text = String::new();
        write_body(&mut text, program, name);
        write_part(&mut text, program, variant, name);
        text
    }

    /// The complete source, for a compiler.
    pub fn source(&self) -> String {
        Kernel::source_of([self])
    }

    /// The complete source of kernels.
    pub fn source_of<'k>(kernels: impl IntoIterator<Item = &'k Kernel> + Clone) -> String {
        format!("{PRELUDE}\n{}", Kernel::text_of(kernels))
    }

    /// The source without the prelude.
    pub(crate) fn text_of<'k>(kernels: impl IntoIterator<Item = &'k Kernel> + Clone) -> String {
        let sums = kernels.clone().into_iter().any(|kernel| kernel.variant.sums);
        let texts: Vec<&str> = kernels.into_iter().map(|kernel| &*kernel.text).collect();
        format!("{}{}", if sums { SUMS } else { "" }, texts.concat())
    }

    /// The number of blocks for a layout on a device that runs `resident` blocks at a time.
    pub fn grid(&self, layout: &Layout, resident: u32) -> u32 {
        self.variant.grid(layout, resident)
    }

    /// The arguments of a launch over `layout`, which has the kernel's variant. `fault` is the address of
    /// the fault word and the number of the first site, where the kernel is checked. Of an input that is an argument itself `inputs` has the
    /// bytes. Where there are sums over rows, `tables` are of each of them the address of [`Kernel::table_bytes`], and the address of
    /// counters, one for each column of tiles.
    pub fn arguments(
        &self,
        layout: &Layout,
        outputs: &[u64],
        inputs: &[u64],
        fault: (u64, u32),
        tables: (&[u64], u64),
    ) -> Vec<Arg> {
        let mut args: Vec<Arg> = self.variant.addresses(outputs, inputs).collect();
        args.extend(self.variant.extents(layout));
        args.extend(self.rest(layout, fault, tables));
        args
    }

    /// The last of the [`Kernel::arguments`]: those of sums over rows, and of checks.
    pub(crate) fn rest(&self, layout: &Layout, fault: (u64, u32), tables: (&[u64], u64)) -> SmallVec<[Arg; 8]> {
        let mut args = SmallVec::new();
        if let Some(columns) = layout.columns {
            let number = |v: usize| if self.variant.wide { Arg::U64(v as u64) } else { Arg::U32(v as u32) };
            args.extend(tables.0.iter().map(|&table| Arg::Pointer(table)));
            args.push(Arg::Pointer(tables.1));
            let part = rows_of_part(columns) / TILE[0];
            args.extend([layout.len / columns.max(1), columns / self.variant.pack, part].map(number));
        }
        if self.checked {
            args.push(Arg::Pointer(fault.0));
            args.push(Arg::U32(fault.1));
        }
        args
    }
}

/// The text form of a dtype that the program was checked to consist of.
fn stored(dtype: DType) -> &'static str {
    storage_type(dtype).unwrap_or("void")
}

/// The function that computes one element.
fn write_body(out: &mut String, program: &Program, name: &str) {
    let _ = writeln!(out, "struct {name}_body : penstock_checks {{");
    program.functions.iter().for_each(|function| out.push_str(function));
    let params: Vec<String> = (0..program.inputs.len())
        .map(|i| format!("const {} a{i}", computed(program.inputs[i])))
        .chain(program.outputs.iter().enumerate().map(|(i, o)| {
            // What is added up is not rounded again.
            let ty = if o.columns.is_some() { computed(o.dtype) } else { stored(o.dtype) };
            format!("{ty}& r{i}")
        }))
        .collect();
    let _ = writeln!(out, "    __device__ void operator()({}) {{", params.join(", "));
    let mut sites = 0;
    for (i, step) in program.steps.iter().enumerate() {
        if step.checked {
            let _ = writeln!(out, "        site = {sites};");
            sites += 1;
        }
        let _ = writeln!(out, "        const {} v{i} = {};  // {}", computed(step.dtype), step.value, step.op.name);
    }
    for (i, output) in program.outputs.iter().enumerate() {
        if output.columns.is_some() {
            let _ = writeln!(out, "        r{i} = {};", output.value);
        } else {
            let _ = writeln!(out, "        penstock_store(r{i}, {});", output.value);
        }
    }
    out.push_str("    }\n};\n\n");
}

fn computed(dtype: DType) -> &'static str {
    crate::program::compute_type(dtype).unwrap_or("void")
}

/// The type and the name of each parameter of a kernel, but for what checked ones have beside.
fn parameters(program: &Program, variant: &Variant) -> Vec<(String, String)> {
    let index = index_type(variant);
    let list = format!("penstock_list<{index}, {}>", variant.rank);
    let mut params: Vec<(String, String)> = Vec::new();
    params.extend(program.outputs.iter().enumerate().map(|(i, o)| (format!("{}*", stored(o.dtype)), format!("p{i}"))));
    params.extend(program.inputs.iter().zip(&variant.inputs).enumerate().map(|(i, (&d, reach))| {
        let ty = if *reach == Reach::Value { stored(d).to_string() } else { format!("const {}*", stored(d)) };
        (ty, format!("q{i}"))
    }));
    params.push((index.to_string(), "n".to_string()));
    if variant.rank > 0 {
        params.push((list.clone(), "dims".to_string()));
        params.extend(with_strides(variant).map(|i| (list.clone(), format!("s{i}"))));
    }
    params
}

fn index_type(variant: &Variant) -> &'static str {
    if variant.wide { "penstock_index64" } else { "penstock_index32" }
}

/// The entry: a loop over the elements with the grid's stride.
fn write_entry(out: &mut String, program: &Program, variant: &Variant, name: &str, checked: bool) {
    let constant = |ty: &str| if ty.ends_with('*') { "" } else { "const " };
    let params = parameters(program, variant);
    let mut params: Vec<String> = params.iter().map(|(ty, name)| format!("{}{ty} {name}", constant(ty))).collect();
    if variant.sums {
        params.extend(sums(program).map(|(i, o)| format!("{}* t{i}", computed(o.dtype))));
        let index = index_type(variant);
        params.push(format!("unsigned int* counters, const {index} rows, const {index} columns, const {index} part"));
    }
    if checked {
        params.push("unsigned int* faults, const unsigned int first_site".to_string());
    }
    let _ = writeln!(out, "extern \"C\" __global__ void {name}({}) {{", params.join(", "));
    let _ = writeln!(out, "    {name}_body body;");
    if variant.sums {
        write_single(out, program, variant);
        write_tiles(out, program, variant);
    } else {
        write_loops(out, program, variant, ["blockIdx.x", "gridDim.x"]);
    }
    if checked {
        out.push_str("    body.report(faults, first_site);\n");
    }
    out.push_str("}\n");
}

/// The function of a part of a kernel: that of the entry for some of its blocks. Each argument begins at a word, as [`Arg::words`] has it.
fn write_part(out: &mut String, program: &Program, variant: &Variant, name: &str) {
    let params = parameters(program, variant);
    let _ = writeln!(out, "struct {name}_args {{");
    for (ty, name) in &params {
        let _ = writeln!(out, "    alignas(8) {ty} {name};");
    }
    let _ = writeln!(
        out,
        "}};\n\n__device__ inline void {name}(const {name}_args& args, const unsigned int block, const unsigned int blocks) {{"
    );
    for (_, name) in &params {
        let _ = writeln!(out, "    const auto {name} = args.{name};");
    }
    let _ = writeln!(out, "    {name}_body body;");
    write_loops(out, program, variant, ["block", "blocks"]);
    out.push_str("}\n\n");
}

/// The kernel `name` that runs parts side by side, as [`Kernel::part`] has them: of each its name, and how many runs of it follow each other.
/// Its parameters are, of each run, the block behind its last one, then the arguments of the runs of each part.
pub fn combined(name: &str, parts: &[(&str, usize)]) -> String {
    let mut out = String::new();
    let total: usize = parts.iter().map(|(_, count)| count).sum();
    let mut params = vec![format!("const __grid_constant__ penstock_list<unsigned int, {total}> ends")];
    params.extend(
        parts
            .iter()
            .enumerate()
            .map(|(i, (part, count))| format!("const __grid_constant__ penstock_list<{part}_args, {count}> a{i}")),
    );
    let _ = writeln!(out, "extern \"C\" __global__ void {name}({}) {{", params.join(", "));
    out.push_str("    unsigned int run = 0, first = 0;\n");
    let _ = writeln!(out, "    #pragma unroll\n    for (int i = 0; i < {}; ++i) {{", total.saturating_sub(1));
    out.push_str("        if (blockIdx.x >= ends.at[i]) { run = i + 1; first = ends.at[i]; }\n    }\n");
    out.push_str("    const unsigned int block = blockIdx.x - first, blocks = ends.at[run] - first;\n");
    let mut before = 0;
    for (i, (part, count)) in parts.iter().enumerate() {
        let end = before + count;
        let head = if end == total { String::new() } else { format!("if (run < {end}) ") };
        let _ = writeln!(out, "    {head}return {part}(a{i}.at[run - {before}], block, blocks);");
        before = end;
    }
    out.push_str("}\n");
    out
}

/// The loops over the elements, by some blocks of threads: what the number of the block and that of the blocks are called.
fn write_loops(out: &mut String, program: &Program, variant: &Variant, [block, blocks]: [&str; 2]) {
    let (index, pack) = (index_type(variant), variant.pack);
    write_single(out, program, variant);
    let first = format!("{index}({block}) * blockDim.x + threadIdx.x");
    let _ = writeln!(out, "    const {index} step = {index}({blocks}) * blockDim.x;");
    let _ = writeln!(out, "    {index} i = {first};");
    if pack > 1 {
        write_packed_loop(out, program, variant, index);
        if variant.rank == 0 {
            let _ = writeln!(out, "    i = n / {pack} * {pack} + {first};");
        }
    }
    if pack == 1 || variant.rank == 0 {
        write_loop(out, program, variant, index);
    }
}

/// The operands of one element.
fn write_single(out: &mut String, program: &Program, variant: &Variant) {
    for (reached, of) in [(Reach::Fixed, "*"), (Reach::Value, "")] {
        for i in reaching(variant, reached) {
            let _ = writeln!(out, "    const {} x{i} = penstock_load({of}q{i});", computed(program.inputs[i]));
        }
    }
}

/// The results that are sums over rows.
fn sums(program: &Program) -> impl Iterator<Item = (usize, &Output)> {
    program.outputs.iter().enumerate().filter(|(_, o)| o.columns.is_some())
}

/// The loop over tiles of rows and columns, of which sums are added up.
fn write_tiles(out: &mut String, program: &Program, variant: &Variant) {
    let (index, [rows, packs]) = (index_type(variant), TILE);
    let width = packs * variant.pack;
    for (i, output) in sums(program) {
        let _ = writeln!(out, "    __shared__ {} sums{i}[{rows}][{width}];", computed(output.dtype));
    }
    let _ = writeln!(out, "    __shared__ bool last;");
    let _ = writeln!(
        out,
        "    const {index} across = (columns + {}) / {packs}, down = (rows + {}) / {rows};",
        packs - 1,
        rows - 1
    );
    let _ = writeln!(out, "    const int line = threadIdx.x / {packs}, lane = threadIdx.x % {packs};");
    let _ = writeln!(out, "    for ({index} tile = blockIdx.x; tile < down * across; tile += gridDim.x) {{");
    let _ = writeln!(out, "        const {index} at = tile / across, first = tile % across * {width};");
    let _ = writeln!(out, "        const {index} row = at * {rows} + line, column = tile % across * {packs} + lane;");
    let _ = writeln!(out, "        if (row < rows && column < columns) {{");
    let _ = writeln!(out, "        const {index} i = row * columns + column;");
    write_pack(out, program, variant, index);
    let _ = writeln!(out, "        }}\n        __syncthreads();");
    let all = format!("columns * {}", variant.pack);
    for (i, _) in sums(program) {
        let _ = writeln!(out, "        penstock_sum_tile(p{i}, t{i}, sums{i}, at, rows, {index}({all}), first);");
    }
    let _ = writeln!(out, "        if (down > 1 && penstock_is_last(counters + tile % across, down, last)) {{");
    for (i, output) in sums(program) {
        let _ = writeln!(
            out,
            "            penstock_sum_table<{}, {}>(p{i}, t{i}, {width}, down, part, {index}({all}), first);",
            stored(output.dtype),
            computed(output.dtype)
        );
    }
    out.push_str("        }\n        __syncthreads();\n    }\n");
}

/// The loop over single elements.
fn write_loop(out: &mut String, program: &Program, variant: &Variant, index: &str) {
    let call = |access: &dyn Fn(usize) -> String| {
        let inputs = variant.inputs.iter().enumerate().map(|(i, reach)| match reach {
            Reach::Fixed | Reach::Value => format!("x{i}"),
            _ => format!("penstock_load({})", access(i)),
        });
        let outputs = (0..program.outputs.len()).map(|i| format!("p{i}[i]"));
        inputs.chain(outputs).collect::<Vec<_>>().join(", ")
    };
    out.push_str("    for (; i < n; i += step) {\n");
    if variant.rank > 0 {
        write_offsets(out, variant, index);
    }
    let element = call(&|i| match variant.inputs[i] {
        Reach::Strided => format!("q{i}[o{i}]"),
        _ => format!("q{i}[i]"),
    });
    let _ = writeln!(out, "        body({element});\n    }}");
}

fn with_strides(variant: &Variant) -> impl Iterator<Item = usize> + '_ {
    variant.inputs.iter().enumerate().filter(|(_, r)| r.has_strides()).map(|(i, _)| i)
}

fn reaching(variant: &Variant, reach: Reach) -> impl Iterator<Item = usize> + '_ {
    variant.inputs.iter().enumerate().filter(move |(_, r)| **r == reach).map(|(i, _)| i)
}

/// The loop over whole packs.
fn write_packed_loop(out: &mut String, program: &Program, variant: &Variant, index: &str) {
    let _ = writeln!(out, "    for (const {index} packs = n / {}; i < packs; i += step) {{", variant.pack);
    write_pack(out, program, variant, index);
    out.push_str("    }\n");
}

/// The statements for pack `i`.
fn write_pack(out: &mut String, program: &Program, variant: &Variant, index: &str) {
    let pack = variant.pack;
    if variant.rank > 0 {
        write_offsets(out, variant, index);
    }
    for (i, reach) in variant.inputs.iter().enumerate() {
        let place = match reach {
            Reach::Fixed | Reach::Value => continue,
            Reach::Linear => "i".to_string(),
            _ => format!("o{i}"),
        };
        if *reach == Reach::Spread {
            let _ = writeln!(out, "        const {} x{i} = penstock_load(q{i}[{place}]);", computed(program.inputs[i]));
        } else {
            let ty = format!("penstock_pack<{}, {pack}>", stored(program.inputs[i]));
            let _ = writeln!(out, "        const {ty} x{i} = reinterpret_cast<const {ty}*>(q{i})[{place}];");
        }
    }
    let elementwise = || program.outputs.iter().enumerate().filter(|(_, o)| o.columns.is_none());
    for (i, output) in elementwise() {
        let _ = writeln!(out, "        penstock_pack<{}, {pack}> y{i};", stored(output.dtype));
    }
    let _ = writeln!(out, "        #pragma unroll\n        for (int k = 0; k < {pack}; ++k) {{");
    let inputs = variant.inputs.iter().enumerate().map(|(i, reach)| match reach {
        Reach::Fixed | Reach::Value | Reach::Spread => format!("x{i}"),
        _ => format!("penstock_load(x{i}.at[k])"),
    });
    let outputs = program.outputs.iter().enumerate().map(|(i, output)| match output.columns {
        Some(_) => format!("sums{i}[line][lane * {pack} + k]"),
        None => format!("y{i}.at[k]"),
    });
    let args: Vec<String> = inputs.chain(outputs).collect();
    let _ = writeln!(out, "            body({});\n        }}", args.join(", "));
    for (i, output) in elementwise() {
        let ty = format!("penstock_pack<{}, {pack}>", stored(output.dtype));
        let _ = writeln!(out, "        reinterpret_cast<{ty}*>(p{i})[i] = y{i};");
    }
}

/// The offsets of the strided inputs' elements for result `i`.
fn write_offsets(out: &mut String, variant: &Variant, index: &str) {
    let offsets: Vec<usize> = with_strides(variant).collect();
    let _ = writeln!(out, "        {index} rest = i;");
    for o in &offsets {
        let _ = writeln!(out, "        {index} o{o} = 0;");
    }
    let sums = |axis: &str, coordinate: &str| {
        offsets.iter().map(|o| format!("o{o} += {coordinate} * s{o}.at[{axis}];")).collect::<Vec<_>>().join(" ")
    };
    let _ = writeln!(out, "        #pragma unroll\n        for (int axis = {}; axis > 0; --axis) {{", variant.rank - 1);
    let _ = writeln!(out, "            const {index} outer = rest / dims.at[axis], c = rest - outer * dims.at[axis];");
    let _ = writeln!(out, "            {}", sums("axis", "c"));
    let _ = writeln!(out, "            rest = outer;\n        }}");
    let _ = writeln!(out, "        {}", sums("0", "rest"));
}
