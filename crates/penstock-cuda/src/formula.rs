//! The text of formulas: the functions of the CPU's kernels as CUDA C++.

use std::fmt::Write as _;

use penstock_kernels::Formula;
use penstock_kernels::formula::{Id, Kind, Primitive, Step};

/// The most operations of a formula that stands in the place of its call.
const MOST_INLINE: usize = 6;

/// A formula on operands of a compute type, as text.
pub(crate) struct Text<'a> {
    formula: &'a Formula,
    /// The compute type of the operands, which integers are of.
    ty: &'a str,
    /// How often each step is used.
    uses: Vec<usize>,
}

fn is_leaf(step: &Step) -> bool {
    matches!(step.primitive, Primitive::Operand(_) | Primitive::Constant(_))
}

impl<'a> Text<'a> {
    pub(crate) fn new(formula: &'a Formula, ty: &'a str) -> Text<'a> {
        let mut uses = vec![0; formula.steps.len()];
        formula.steps.iter().flat_map(Step::operands).for_each(|&id| uses[id as usize] += 1);
        Text { formula, ty, uses }
    }

    /// Whether it is a short expression, in which nothing is computed twice.
    pub(crate) fn is_inline(&self) -> bool {
        let steps = || self.formula.steps.iter().zip(&self.uses).filter(|(step, _)| !is_leaf(step));
        steps().count() <= MOST_INLINE && steps().all(|(_, &uses)| uses <= 1)
    }

    /// The expression of its value, of the names of the operands.
    pub(crate) fn expression(&self, operands: &[String]) -> String {
        self.value(self.formula.steps.len() - 1, operands, &|_| None)
    }

    /// A function that computes it.
    pub(crate) fn function(&self, name: &str) -> String {
        let steps = &self.formula.steps;
        let arity =
            steps.iter().filter_map(|s| if let Primitive::Operand(k) = s.primitive { Some(k + 1) } else { None });
        let operands: Vec<String> = (0..arity.max().unwrap_or(0)).map(|k| format!("a{k}")).collect();
        let of = steps
            .iter()
            .find(|s| matches!(s.primitive, Primitive::Operand(_)))
            .map_or(self.ty, |s| self.name_of(s.kind));
        let params: Vec<String> = operands.iter().map(|a| format!("const {of} {a}")).collect();
        let last = steps.len() - 1;
        let mut out = String::new();
        let _ =
            writeln!(out, "    static __device__ {} {name}({}) {{", self.name_of(steps[last].kind), params.join(", "));
        let value = self.statements(&mut out, "s", &operands);
        let _ = writeln!(out, "        return {value};\n    }}");
        out
    }

    /// Writes statements that compute it, and gives the value. Names of steps start with `prefix`.
    fn statements(&self, out: &mut String, prefix: &str, operands: &[String]) -> String {
        let steps = &self.formula.steps;
        // What is used once stands where it is used.
        let named =
            |id: Id| (!is_leaf(&steps[id as usize]) && self.uses[id as usize] > 1).then(|| format!("{prefix}{id}"));
        for (id, step) in steps.iter().enumerate() {
            if let Some(name) = named(id as Id) {
                let value = self.value(id, operands, &|other| named(other).filter(|_| other != id as Id));
                let _ = writeln!(out, "        const {} {name} = {value};", self.name_of(step.kind));
            }
        }
        self.value(steps.len() - 1, operands, &named)
    }

    fn name_of(&self, kind: Kind) -> &str {
        match kind {
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::Int => self.ty,
            Kind::Mask => "bool",
        }
    }

    /// The value of a step, of the names of operands and of other steps.
    fn value(&self, id: usize, operands: &[String], named: &dyn Fn(Id) -> Option<String>) -> String {
        let step = &self.formula.steps[id];
        let of = |id: Id| named(id).unwrap_or_else(|| self.value(id as usize, operands, named));
        let ins: Vec<String> = step.operands().iter().map(|&id| of(id)).collect();
        let from = step.operands().first().map(|&id| self.formula.steps[id as usize].kind);
        let infix = |sign: &str| format!("({} {sign} {})", ins[0], ins[1]);
        let call = |name: &str| format!("{name}({})", ins.join(", "));
        match step.primitive {
            Primitive::Operand(k) => operands[k as usize].clone(),
            Primitive::Constant(bits) => self.constant(step.kind, bits),
            Primitive::Add => infix("+"),
            Primitive::Sub => infix("-"),
            Primitive::Mul => infix("*"),
            Primitive::Div => infix("/"),
            Primitive::MulAdd => call("fma"),
            Primitive::Neg => format!("(-{})", ins[0]),
            Primitive::Abs => call("fabs"),
            Primitive::Copysign => call("copysign"),
            Primitive::Sqrt => call("sqrt"),
            Primitive::Floor => call("floor"),
            Primitive::Ceil => call("ceil"),
            Primitive::Trunc => call("trunc"),
            Primitive::Round => call("rint"),
            Primitive::Less => infix("<"),
            Primitive::LessEqual => infix("<="),
            Primitive::Equal => infix("=="),
            Primitive::NotEqual => infix("!="),
            Primitive::Greater => infix(">"),
            // Masks are computed as `bool`, of which C++ makes integers.
            Primitive::And if step.kind == Kind::Mask => infix("&&"),
            Primitive::Or if step.kind == Kind::Mask => infix("||"),
            Primitive::Xor if step.kind == Kind::Mask => infix("!="),
            Primitive::Not if step.kind == Kind::Mask => format!("(!{})", ins[0]),
            Primitive::And => infix("&"),
            Primitive::Or => infix("|"),
            Primitive::Xor => infix("^"),
            Primitive::Not => format!("(~{})", ins[0]),
            Primitive::Select => format!("({} ? {} : {})", ins[0], ins[1], ins[2]),
            Primitive::ShiftLeft(by) => format!("penstock_shift_left({}, {by})", ins[0]),
            Primitive::ShiftRight(by) => format!("penstock_shift_right({}, {by})", ins[0]),
            Primitive::Bits if matches!(from, Some(Kind::F32 | Kind::F64)) => call("penstock_bits_of"),
            Primitive::Bits => call("penstock_float_of"),
            Primitive::Convert => format!("{}({})", self.name_of(step.kind), ins[0]),
        }
    }

    fn constant(&self, kind: Kind, bits: u64) -> String {
        match kind {
            Kind::F32 => float32(f32::from_bits(bits as u32)),
            Kind::F64 => float64(f64::from_bits(bits)),
            Kind::I32 => format!("i32({})", integer(i64::from(bits as u32 as i32))),
            Kind::I64 => format!("i64({})", integer(bits as i64)),
            Kind::Int => format!("{}({})", self.ty, integer(bits as i64)),
            Kind::Mask => (bits != 0).to_string(),
        }
    }
}

/// A function that computes what formulas say the parts of its result are, of `arity` operands of the type `of`, whose parts, where they
/// are complex, are of the type `part`. One formula alone is the result itself.
pub(crate) fn of_parts(
    name: &str,
    formulas: &[Formula],
    part: &str,
    (of, arity, is_complex): (&str, usize, bool),
    result: &str,
) -> String {
    let params: Vec<String> = (0..arity).map(|k| format!("const {of} a{k}")).collect();
    let fields: &[&str] = if is_complex { &[".re", ".im"] } else { &[""] };
    let operands: Vec<String> = (0..arity).flat_map(|k| fields.iter().map(move |f| format!("a{k}{f}"))).collect();
    let mut out = String::new();
    let _ = writeln!(out, "    static __device__ {result} {name}({}) {{", params.join(", "));
    let values: Vec<String> = ["s", "t"]
        .iter()
        .zip(formulas)
        .map(|(prefix, formula)| Text::new(formula, part).statements(&mut out, prefix, &operands))
        .collect();
    let _ = writeln!(out, "        return {result}({});\n    }}", values.join(", "));
    out
}

/// A number of 64 bits, for the lowest of which C++ has no literal.
fn integer(v: i64) -> String {
    if v == i64::MIN { "(-0x7fffffffffffffffll - 1)".to_string() } else { format!("{v}ll") }
}

fn float(is_finite: bool, is_negative: bool, text: String, bits: String) -> String {
    match (is_finite, is_negative) {
        (false, _) => bits,
        (true, true) => format!("({text})"),
        (true, false) => text,
    }
}

/// A literal, exact to the bit.
pub(crate) fn float32(v: f32) -> String {
    let bits = format!("penstock_f32_of_bits({:#010x}u)", v.to_bits());
    float(v.is_finite(), v.is_sign_negative(), format!("{v:?}f"), bits)
}

/// A literal, exact to the bit.
pub(crate) fn float64(v: f64) -> String {
    let bits = format!("penstock_f64_of_bits({:#018x}ull)", v.to_bits());
    float(v.is_finite(), v.is_sign_negative(), format!("{v:?}"), bits)
}
