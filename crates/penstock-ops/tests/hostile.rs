//! Every operator on absurd shapes and attributes: inference ends in an error, never in a panic or in the end of the
//! process.

use penstock_data::{Class, Dim, Shape, Symbol};
use penstock_ir::{Attr, Attrs, InferCx, NoValues, OpDef, Sample, Type};

/// A xorshift generator: the same cases in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

const EXTENTS: &[usize] =
    &[0, 0, 1, 2, 3, 255, 1 << 31, 1 << 33, 1 << 40, 1 << 47, 1 << 61, 1 << 62, isize::MAX as usize, usize::MAX];
const NUMBERS: &[i64] = &[
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    255,
    1 << 31,
    1 << 33,
    1 << 40,
    1 << 47,
    1 << 61,
    1 << 62,
    i64::MAX - 1,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    -(1 << 31),
    -(1 << 40),
];

fn dim(draw: &mut Draw) -> Dim {
    match draw.below(4) {
        0 => Dim::Unknown,
        1 => Dim::Sym(Symbol(draw.of(&[0, 1, u32::MAX]))),
        _ => Dim::Known(draw.of(EXTENTS)),
    }
}

fn shape(draw: &mut Draw, like: &Shape) -> Shape {
    let Some(dims) = like.dims() else { return Shape::UNRANKED };
    let mut dims = dims.to_vec();
    match draw.below(12) {
        0 => return Shape::UNRANKED,
        1 => dims.push(dim(draw)),
        2 => drop(dims.pop()),
        3 => dims = vec![Dim::Known(1); draw.of(&[64, 254, 255, 300])],
        4 => {}
        _ => {
            for _ in 0..=draw.below(3) {
                let at = draw.below(dims.len());
                if let Some(d) = dims.get_mut(at) {
                    *d = dim(draw);
                }
            }
        }
    }
    Shape::new(dims)
}

/// Attributes with some numbers changed.
fn attributes(draw: &mut Draw, attrs: &Attrs) -> Attrs {
    let mut attrs = attrs.clone();
    for attr in &mut attrs.0 {
        if draw.below(2) == 0 {
            continue;
        }
        match attr {
            Attr::Int(n) => *n = draw.of(NUMBERS),
            Attr::Float(v) => *v = draw.of(&[0.0, -0.0, -1.0, 1e300, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE]),
            Attr::Ints(list) => match draw.below(4) {
                0 => list.push(draw.of(NUMBERS)),
                1 => drop(list.pop()),
                _ => {
                    let at = draw.below(list.len());
                    if let Some(n) = list.get_mut(at) {
                        *n = draw.of(NUMBERS);
                    }
                }
            },
            Attr::Shape(s) => *s = shape(draw, s),
            Attr::Types(list) => {
                *list = list.iter().map(|t| t.with_shape(shape(draw, t.shape()))).collect();
            }
            _ => {}
        }
    }
    attrs
}

/// Calls `f` with every sample so often, and with a generator; the operators for which it fails, with what it says.
fn each(times: usize, f: impl Fn(&mut Draw, &'static OpDef, &Sample) -> std::result::Result<(), String>) {
    let times = std::env::var("PENSTOCK_HOSTILE").ok().and_then(|n| n.parse().ok()).unwrap_or(times);
    let mut failed = Vec::new();
    for (k, op) in penstock_ops::all().enumerate() {
        let samples = (op.samples)();
        let mut draw = Draw(0x9e37_79b9_7f4a_7c15 ^ (k as u64 + 1));
        for i in 0..times {
            let Some(sample) = samples.get(i % samples.len().max(1)) else { break };
            if let Err(what) = f(&mut draw, op, sample) {
                failed.push(format!("{}: {what}", op.name));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn inference_of_absurd_types_never_panics() {
    each(300, |draw, op, sample| {
        let Ok(attrs) = op.attributes(&sample.attrs) else { return Ok(()) };
        let attrs = attributes(draw, &attrs);
        let types: Vec<Type> = sample
            .inputs
            .iter()
            .map(|t| {
                let ty = Type::of(t);
                let shape = shape(draw, ty.shape());
                ty.with_shape(shape)
            })
            .collect();
        match op.infer_types(&InferCx { inputs: &types, attrs: &attrs, regions: &[], values: &NoValues }) {
            Err(e) if e.class() == Class::Internal => Err(format!("{types:?} {attrs:?}: {e}")),
            _ => Ok(()),
        }
    });
}
