//! From a region of elementwise instructions to the statements of a kernel.

use std::fmt::Write as _;

use penstock_data::{Bool8, C64, C128, DType, Dims, Error, Loc, Result, Tensor, bf16, f16, with_dtype};
use penstock_ir::{Attr, Cuda, Graph, Inst, OpDef, OpRef, Region, Value};
use penstock_kernels::Formula;
use penstock_passes::summed_columns;
use rustc_hash::FxHashMap;

use crate::formula::{self, float32, float64};

/// The helpers of the prelude that note a fault for integers that they reject.
const CHECKED: &[&str] =
    &["penstock_trunc_div", "penstock_trunc_mod", "penstock_floor_div", "penstock_floor_mod", "penstock_pow"];

/// A straight line of elementwise instructions, to be computed by one kernel.
///
/// The inputs broadcast to one shape, which every result has, but for those that are sums over its rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The element types of the inputs.
    pub inputs: Vec<DType>,
    /// The text of the functions that the instructions call.
    pub functions: Vec<String>,
    /// The instructions, in order.
    pub steps: Vec<Step>,
    /// The results.
    pub outputs: Vec<Output>,
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Its operator.
    pub op: OpRef,
    /// The element type of its result.
    pub dtype: DType,
    /// Its value: an expression over the inputs `a0`, `a1`, … and the earlier steps `v0`, `v1`, ….
    pub value: String,
    /// Whether it can reject an integer.
    pub checked: bool,
    /// Where it was written.
    pub loc: Loc,
}

/// A result of a [`Program`].
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The element type.
    pub dtype: DType,
    /// Its value: an input, a step or a literal.
    pub value: String,
    /// Where it is the sums of the elements over rows, an element for each column: its extents.
    pub columns: Option<Dims>,
}

impl Output {
    /// A result of an element for each of the index space.
    pub fn of(dtype: DType, value: &str) -> Output {
        Output { dtype, value: value.to_string(), columns: None }
    }
}

/// The type in which values of a dtype are computed, as the prelude names it; `None` where there is none.
pub(crate) fn compute_type(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "bool",
        DType::F16 | DType::Bf16 => "f32",
        other => storage_type(other)?,
    })
}

/// The type of stored elements, as the prelude names it; `None` where there is none.
pub(crate) fn storage_type(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "b8",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::Bf16 => "bf16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::C64 => "c64",
        DType::C128 => "c128",
        _ => return None,
    })
}

fn supported(dtype: DType) -> Result<&'static str> {
    compute_type(dtype)
        .ok_or_else(|| Error::unimplemented(format!("generated CUDA kernels do not compute {}", dtype.tf_name())))
}

impl Program {
    /// The program of a region, the body of a graph for example. The inputs are the region's
    /// parameters, then the values from outside it that it uses, in the order of their first use;
    /// constants of one element become literals instead.
    ///
    /// # Errors
    /// `Unimplemented` where an instruction or a dtype has no generated form, with the reason.
    pub fn of_region(graph: &Graph, region: Region) -> Result<(Program, Vec<Value>)> {
        let data = &graph.regions[region];
        let mut lowering = Lowering::new(graph);
        for &param in &data.params {
            lowering.input(param)?;
        }
        for &inst in &data.insts {
            lowering.inst(inst).map_err(|e| e.in_op(graph.insts[inst].op.0.name).at(graph.locs[inst]))?;
        }
        lowering.finish(&data.results)
    }

    /// A name for the kernel, from its operators.
    pub fn name(&self) -> String {
        const SHOWN: usize = 4;
        let mut name = String::from("penstock");
        for step in self.steps.iter().take(SHOWN) {
            name.push('_');
            name.extend(step.op.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
        }
        if self.steps.len() > SHOWN {
            let _ = write!(name, "_and_{}_more", self.steps.len() - SHOWN);
        }
        name
    }

    /// The columns of the index space, where there are sums over its rows.
    pub fn columns(&self) -> Option<usize> {
        self.outputs.iter().find_map(|o| o.columns.as_ref()).map(|dims| dims.iter().product())
    }

    /// The bytes of an element of each operand and result.
    pub(crate) fn element_bytes(&self) -> usize {
        self.inputs.iter().copied().chain(self.outputs.iter().map(|o| o.dtype)).map(DType::size).sum()
    }

    /// Whether running it can fault.
    pub fn is_checked(&self) -> bool {
        self.steps.iter().any(|s| s.checked)
    }
}

struct Lowering<'a> {
    graph: &'a Graph,
    /// What each value is called.
    names: FxHashMap<Value, String>,
    inputs: Vec<Value>,
    functions: Vec<String>,
    steps: Vec<Step>,
    /// Of sums over rows what is added up, and the extents.
    sums: FxHashMap<Value, (Value, Dims)>,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a Graph) -> Lowering<'a> {
        Lowering {
            graph,
            names: FxHashMap::default(),
            inputs: Vec::new(),
            functions: Vec::new(),
            steps: Vec::new(),
            sums: FxHashMap::default(),
        }
    }

    fn dtype(&self, value: Value) -> DType {
        self.graph.ty(value).dtype()
    }

    fn input(&mut self, value: Value) -> Result<String> {
        if self.graph.ty(value).is_variable() {
            return Err(Error::unimplemented("a generated CUDA kernel does not read variables"));
        }
        supported(self.dtype(value))?;
        let name = format!("a{}", self.inputs.len());
        self.inputs.push(value);
        self.names.insert(value, name.clone());
        Ok(name)
    }

    /// What a value is called: a step or an input seen before, a literal, or a new input.
    fn name(&mut self, value: Value) -> Result<String> {
        if let Some(name) = self.names.get(&value) {
            return Ok(name.clone());
        }
        if self.sums.contains_key(&value) {
            return Err(Error::unimplemented("a generated CUDA kernel computes nothing of its sums"));
        }
        match self.graph.constant(value) {
            Some(tensor) if tensor.len() == 1 => literal(tensor),
            _ => self.input(value),
        }
    }

    fn inst(&mut self, inst: Inst) -> Result<()> {
        let data = &self.graph.insts[inst];
        let op = data.op.0;
        if op.is_constant() {
            // Read where it is used.
            return Ok(());
        }
        let &[result] = &data.results[..] else {
            return Err(Error::internal("an elementwise operator has one result"));
        };
        if let Some(columns) = summed_columns(self.graph, inst) {
            self.sums.insert(result, (data.operands[0], columns));
            return Ok(());
        }
        let dtype = self.dtype(result);
        let first = data.operands.first().map_or(dtype, |&v| self.dtype(v));
        let is_complex = first.is_complex() || dtype.is_complex();
        let text = match op.cuda {
            Cuda::Formula(_) if is_complex => {
                let parts = op.function().and_then(|function| function.parts(first));
                let none = || Error::unimplemented(format!("has no formula for {}", dtype.tf_name()));
                return self.parts(inst, parts.ok_or_else(none)?);
            }
            Cuda::Formula(text) => match op.function().and_then(|function| function.formula(computed(first))) {
                Some(formula) => return self.formula(inst, formula),
                None => text,
            },
            Cuda::Elementwise(text) => Some(text),
            Cuda::HostFallback(reason) => return Err(Error::unimplemented(format!("runs on the host: {reason}"))),
            Cuda::Kernels | Cuda::Region => {
                return Err(Error::unimplemented("is not computed element by element"));
            }
        };
        supported(first)?;
        let template = text.ok_or_else(|| Error::unimplemented(format!("has no CUDA text for {}", first.tf_name())))?;
        let operands = data.operands.iter().map(|&v| self.name(v)).collect::<Result<Vec<_>>>()?;
        let value = expand(template, |key| match key {
            "T" => supported(first).map(str::to_string),
            "R" => supported(dtype).map(str::to_string),
            "S" => Ok(storage_type(dtype).unwrap_or_default().to_string()),
            _ => match key.parse::<usize>() {
                Ok(i) => operands.get(i).cloned().ok_or_else(|| unknown_key(key)),
                Err(_) => attribute(op, &data.attrs.0, key),
            },
        })?;
        let checked = CHECKED.iter().any(|helper| template.contains(helper)) && first.is_integer();
        let value = round(value, dtype);
        self.names.insert(result, format!("v{}", self.steps.len()));
        self.steps.push(Step { op: data.op, dtype, value, checked, loc: self.graph.locs[inst] });
        Ok(())
    }

    /// An instruction whose operator is a formula: an expression where that is short, else a call.
    fn formula(&mut self, inst: Inst, formula: &Formula) -> Result<()> {
        let data = &self.graph.insts[inst];
        let (op, result) = (data.op.0, data.results[0]);
        let operands = data.operands.iter().map(|&v| self.name(v)).collect::<Result<Vec<_>>>()?;
        let (dtype, ty) = (self.dtype(result), supported(self.dtype(data.operands[0]))?);
        supported(dtype)?;
        let text = formula::Text::new(formula, ty);
        let value = if text.is_inline() {
            text.expression(&operands)
        } else {
            let name = format!("{}_of_{ty}", op.name);
            let function = text.function(&name);
            if !self.functions.contains(&function) {
                self.functions.push(function);
            }
            format!("{name}({})", operands.join(", "))
        };
        self.names.insert(result, format!("v{}", self.steps.len()));
        let value = round(value, dtype);
        self.steps.push(Step { op: data.op, dtype, value, checked: false, loc: self.graph.locs[inst] });
        Ok(())
    }

    /// An instruction on, or to, complex numbers, whose operator has a formula for each part: a call.
    fn parts(&mut self, inst: Inst, formulas: &[Formula]) -> Result<()> {
        let data = &self.graph.insts[inst];
        let (op, result) = (data.op.0, data.results[0]);
        let operands = data.operands.iter().map(|&v| self.name(v)).collect::<Result<Vec<_>>>()?;
        let (dtype, first) = (self.dtype(result), self.dtype(data.operands[0]));
        let name = format!("{}_of_{}", op.name, supported(first)?);
        let (of, part) = (supported(first)?, supported(first.real())?);
        let sides = (of, operands.len(), first.is_complex());
        let function = formula::of_parts(&name, formulas, part, sides, supported(dtype)?);
        if !self.functions.contains(&function) {
            self.functions.push(function);
        }
        let value = format!("{name}({})", operands.join(", "));
        self.names.insert(result, format!("v{}", self.steps.len()));
        self.steps.push(Step { op: data.op, dtype, value, checked: false, loc: self.graph.locs[inst] });
        Ok(())
    }

    fn finish(mut self, results: &[Value]) -> Result<(Program, Vec<Value>)> {
        let mut outputs = Vec::with_capacity(results.len());
        for &value in results {
            let dtype = self.dtype(value);
            supported(dtype)?;
            let (value, columns) = self.sums.get(&value).cloned().map_or((value, None), |(v, dims)| (v, Some(dims)));
            outputs.push(Output { dtype, value: self.name(value)?, columns });
        }
        let inputs = self.inputs.iter().map(|&v| self.graph.ty(v).dtype()).collect();
        Ok((Program { inputs, functions: self.functions, steps: self.steps, outputs }, self.inputs))
    }
}

/// The dtype in which elements are computed.
fn computed(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::Bf16) { DType::F32 } else { dtype }
}

/// A 16-bit float is rounded after every instruction, as where each is stored.
fn round(value: String, dtype: DType) -> String {
    match storage_type(dtype) {
        Some(stored @ ("f16" | "bf16")) => format!("penstock_round_to<{stored}>({value})"),
        _ => value,
    }
}

fn unknown_key(key: &str) -> Error {
    Error::internal(format!("the CUDA expression has no operand or attribute {{{key}}}"))
}

fn attribute(op: &OpDef, attrs: &[Attr], key: &str) -> Result<String> {
    let attr = op.attr_index(key).and_then(|i| attrs.get(i)).ok_or_else(|| unknown_key(key))?;
    match attr {
        Attr::Bool(v) => Ok(v.to_string()),
        Attr::Int(v) => literal(&Tensor::from(*v)),
        Attr::Float(v) => literal(&Tensor::from(*v)),
        Attr::DType(d) => supported(*d).map(str::to_string),
        _ => Err(unknown_key(key)),
    }
}

/// The text of `template` with each `{key}` replaced.
fn expand(template: &str, mut replace: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        let close = after.find('}').ok_or_else(|| Error::internal("an open brace in a CUDA expression"))?;
        out.push_str(before);
        out.push_str(&replace(&after[1..close])?);
        rest = &after[close + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The only element of a tensor as an expression of its compute type, exact to the bit.
fn literal(tensor: &Tensor) -> Result<String> {
    let dtype = tensor.dtype();
    let ty = supported(dtype)?;
    let item = || Error::internal("a literal is made of one element");
    Ok(match dtype {
        DType::Bool => tensor.item::<Bool8>().ok_or_else(item)?.get().to_string(),
        DType::F16 => float32(tensor.item::<f16>().ok_or_else(item)?.to_f32()),
        DType::Bf16 => float32(tensor.item::<bf16>().ok_or_else(item)?.to_f32()),
        DType::F32 => float32(tensor.item::<f32>().ok_or_else(item)?),
        DType::F64 => float64(tensor.item::<f64>().ok_or_else(item)?),
        DType::C64 => {
            let z = tensor.item::<C64>().ok_or_else(item)?;
            format!("c64({}, {})", float32(z.re), float32(z.im))
        }
        DType::C128 => {
            let z = tensor.item::<C128>().ok_or_else(item)?;
            format!("c128({}, {})", float64(z.re), float64(z.im))
        }
        _ => with_dtype!(integer, dtype, T => {
            let v = tensor.item::<T>().ok_or_else(item)?;
            match (dtype.is_unsigned(), v == T::MIN) {
                (true, _) => format!("{ty}({v}ull)"),
                // C++ has no literal for the lowest number.
                (false, true) => format!("{ty}::lowest()"),
                (false, false) => format!("{ty}({v}ll)"),
            }
        }, else return Err(item())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_exact() {
        let text = |t: Tensor| literal(&t).unwrap();
        assert_eq!(text(Tensor::from(0.1f32)), "0.1f");
        assert_eq!(text(Tensor::from(1e30f32)), "1e30f");
        assert_eq!(text(Tensor::from(-0.0f64)), "(-0.0)");
        assert_eq!(text(Tensor::from(f32::INFINITY)), "penstock_f32_of_bits(0x7f800000u)");
        assert_eq!(text(Tensor::from(f64::NAN)), "penstock_f64_of_bits(0x7ff8000000000000ull)");
        assert_eq!(text(Tensor::from(i64::MIN)), "i64::lowest()");
        assert_eq!(text(Tensor::from(-3i8)), "i8(-3ll)");
        assert_eq!(text(Tensor::from(u64::MAX)), "u64(18446744073709551615ull)");
        assert_eq!(text(Tensor::from(true)), "true");
        assert_eq!(text(Tensor::scalar(C64::new(0.5, -0.0))), "c64(0.5f, (-0.0f))");
        assert_eq!(text(Tensor::scalar(f16::from_f32(0.5))), "0.5f");
        assert!(literal(&Tensor::from("text")).is_err());
    }

    #[test]
    fn templates_name_what_they_lack() {
        assert_eq!(expand("f({0}) + {x}", |k| Ok(format!("<{k}>"))).unwrap(), "f(<0>) + <x>");
        assert!(expand("{0", |_| Ok(String::new())).is_err());
        assert!(expand("{9}", |k| Err(unknown_key(k))).unwrap_err().message().contains("{9}"));
    }
}
