//! Hash tables from keys to values.
//!
//! A table is a `resource` scalar. One that changes is the value of a variable: it is looked up in a snapshot, and changed in
//! place where no snapshot is left. A key, and a value, may be a row: `key_rank` is the rank of a key.

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Table, Tensor};
use penstock_ir::{
    ArgDef, ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Effect, Elements,
    Fails, Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg_of,
};

use crate::sample_arrays::i64s;
use crate::samples::strings;
use crate::util::{PROMISE, none, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&TABLE_OF, &TABLE_FIND, &TABLE_SIZE, &TABLE_EXPORT, &TABLE_INSERT, &TABLE_REMOVE];

const ON_HOST: Cuda = Cuda::HostFallback("tables live on the host");
const NO_CONSTANT: Fold = Fold::Never("a table is not a constant");
const KEYS: DTypeSet = DTypeSet::REAL.or(DTypeSet::STR);
const KEY: DTypeVar = DTypeVar::new("K", KEYS);
const BOTH: &[DTypeVar] = &[KEY, DTypeVar::new("V", DTypeSet::ANY)];
const TABLE: ArgDef = arg_of("table", ArgType::Fixed(DType::Resource));
const VARIABLE: ArgDef = arg_of("variable", ArgType::Variable);
const KEY_RANK: AttrDef = AttrDef::new("key_rank", AttrKind::Int, AttrDefault::Int(0));

fn no_samples() -> Vec<Sample> {
    Vec::new()
}

/// A table of `keys` and `values`, a row for each.
fn sample(keys: &Tensor, values: &Tensor) -> Tensor {
    let mut table = Table::new(keys.dtype(), &keys.dims()[1..], values.dtype(), &values.dims()[1..]);
    table.insert(keys, values).expect("the sample fits");
    Tensor::from_table(table)
}

fn words() -> Tensor {
    sample(&strings(&[2], &["a", "bc"]), &i64s(&[7, 8]))
}

fn rows() -> Tensor {
    Tensor::from_slice(&[2, 2], &[1i32, 2, 3, 4]).expect("the sample fits")
}

fn points() -> Tensor {
    sample(&rows(), &strings(&[2], &["x", ""]))
}

fn not_a_table() -> Error {
    Error::invalid("expected a table, got another resource").argument("table")
}

fn table_of(tensor: &Tensor) -> Result<&Table> {
    tensor.table().ok_or_else(not_a_table)
}

/// The rank of a key.
fn key_rank(attrs: &Attrs) -> Result<usize> {
    let rank = attrs.int(0);
    usize::try_from(rank).map_err(|_| Error::invalid(format!("must not be negative, got {rank}")).argument("key_rank"))
}

/// The shape of a tensor of keys without that of a key; `None` where the rank is not known.
fn batch<'a>(cx: &'a InferCx<'_>, index: usize) -> Result<Option<&'a [Dim]>> {
    let rank = key_rank(cx.attrs)?;
    let Some(dims) = cx.shape(index).dims() else { return Ok(None) };
    match dims.len().checked_sub(rank) {
        Some(lead) => Ok(Some(&dims[..lead])),
        None => {
            Err(Error::invalid(format!("expected rank {rank} or more, got shape {}", cx.shape(index))).argument("keys"))
        }
    }
}

/// Checks that there is a value for each key.
fn check_pairs(cx: &InferCx<'_>, keys: usize) -> Result<()> {
    let (Some(lead), Some(values)) = (batch(cx, keys)?, cx.shape(keys + 1).dims()) else { return Ok(()) };
    if values.len() >= lead.len() && lead.iter().zip(values).all(|(a, b)| a.compatible(*b)) {
        return Ok(());
    }
    let (keys, values) = (cx.shape(keys), cx.shape(keys + 1));
    Err(Error::invalid(format!("values of shape {values} for keys of shape {keys}")).argument("values"))
}

/// Checks that the variable holds a table.
fn check_variable(cx: &InferCx<'_>) -> Result<()> {
    if cx.dtype(0) == DType::Resource {
        return Ok(());
    }
    let message = format!("expected a variable that holds a table, got one of dtype {}", cx.dtype(0).tf_name());
    Err(Error::dtype(message).argument("variable"))
}

/// Tables of keys and values.
pub static TABLE_OF: OpDef = OpDef {
    name: "table_of",
    tf_name: "AnonymousHashTable",
    doc: "A table with these keys and their values.\n\n\
          `keys` has the shape of what is looked up, then `key_rank` dimensions of a key; `values` has the same shape, then that of \
          a value. Raises FailedPrecondition where a key stands twice with different values.",
    dtypes: BOTH,
    operands: &[arg_of("keys", ArgType::Var(0)), arg_of("values", ArgType::Var(1))],
    attrs: &[KEY_RANK],
    effects: &[],
    infer: |cx| {
        check_pairs(cx, 0)?;
        one(Type::scalar(DType::Resource))
    },
    cpu: Cpu::Kernel(|call| {
        let (keys, values) = (call.inputs[0], call.inputs[1]);
        let lead = keys.rank().saturating_sub(key_rank(call.attrs)?);
        let (key_dims, value_dims) = (&keys.dims()[lead..], values.dims().get(lead..).unwrap_or_default());
        let mut table = Table::new(keys.dtype(), key_dims, values.dtype(), value_dims);
        table.insert_unique(keys, values)?;
        call.set(0, Tensor::from_table(table));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("tables are looked up by whole tensors of keys"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![strings(&[2], &["a", "bc"]), i64s(&[7, 8])]),
            Sample::new(vec![rows(), strings(&[2], &["x", ""])]).with("key_rank", 1i64),
        ]
    },
};

/// Values of keys.
pub static TABLE_FIND: OpDef = OpDef {
    name: "table_find",
    tf_name: "LookupTableFindV2",
    doc: "The value of each key; `default` where the key is not there.\n\n\
          `default` is one value, or, where `each` is set, one for each key.",
    dtypes: BOTH,
    operands: &[TABLE, arg_of("keys", ArgType::Var(0)), arg_of("default", ArgType::Var(1))],
    attrs: &[KEY_RANK, AttrDef::flag("each", false)],
    effects: &[],
    infer: infer_find,
    cpu: Cpu::Kernel(|call| {
        let found = table_of(call.inputs[0])?.find(call.inputs[1], call.inputs[2])?;
        call.set(0, found);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("tables are looked up by whole tensors of keys"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![words(), strings(&[3], &["bc", "q", "a"]), Tensor::scalar(-1i64)]),
            Sample::new(vec![words(), strings(&[2], &["q", "a"]), i64s(&[3, 4])]).with("each", true),
            Sample::new(vec![points(), rows(), strings(&[], &["none"])]).with("key_rank", 1i64),
        ]
    },
};

fn infer_find(cx: &InferCx<'_>) -> Result<OutTypes> {
    let lead = batch(cx, 1)?;
    let default = cx.shape(2);
    let shape = match (cx.attrs.flag(1), lead, default.dims()) {
        (true, _, _) => {
            check_pairs(cx, 1)?;
            default.clone()
        }
        (false, Some(lead), Some(value)) => Shape::new(lead.iter().chain(value).copied()),
        _ => Shape::UNRANKED,
    };
    one(Type::tensor(cx.dtype(2), shape))
}

/// Numbers of keys.
pub static TABLE_SIZE: OpDef = OpDef {
    name: "table_size",
    tf_name: "LookupTableSizeV2",
    doc: "How many keys the table has, `i64`.",
    dtypes: &[],
    operands: &[TABLE],
    attrs: &[],
    effects: &[],
    infer: |_| one(Type::scalar(DType::I64)),
    cpu: Cpu::Kernel(|call| {
        let size = table_of(call.inputs[0])?.len() as i64;
        call.set(0, Tensor::scalar(size));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("tables are looked up by whole tensors of keys"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || vec![Sample::new(vec![words()]), Sample::new(vec![points()])],
};

/// All keys and values.
pub static TABLE_EXPORT: OpDef = OpDef {
    name: "table_export",
    tf_name: "LookupTableExportV2",
    doc: "The keys of the table and their values, a row for each.\n\n\
          The table has keys and values of these dtypes and shapes. The rows are in the order in which the keys came; the last \
          takes the place of one that is removed.",
    dtypes: &[],
    operands: &[TABLE],
    attrs: &[
        AttrDef::required("key_dtype", AttrKind::DType),
        AttrDef::required("value_dtype", AttrKind::DType),
        AttrDef::required("key_shape", AttrKind::Shape),
        AttrDef::required("value_shape", AttrKind::Shape),
    ],
    effects: &[],
    infer: |cx| {
        let rows = |i: usize| match cx.attrs.shape(i).dims() {
            Some(dims) => Shape::new(std::iter::once(Dim::Unknown).chain(dims.iter().copied())),
            None => Shape::UNRANKED,
        };
        Ok(OutTypes::from_iter([Type::tensor(cx.attrs.dtype(0), rows(2)), Type::tensor(cx.attrs.dtype(1), rows(3))]))
    },
    cpu: Cpu::Kernel(|call| {
        let table = table_of(call.inputs[0])?;
        let (keys, values) = (table.keys()?, table.values()?);
        for (i, (tensor, name)) in [(&keys, "key"), (&values, "value")].into_iter().enumerate() {
            let (dtype, shape) = (call.attrs.dtype(i), call.attrs.shape(2 + i));
            if tensor.dtype() != dtype || !shape.compatible(&Shape::known(&tensor.dims()[1..])) {
                return Err(Error::invalid(format!(
                    "a {name} of the table is {}{}, not {dtype}{shape}",
                    tensor.dtype(),
                    Shape::known(&tensor.dims()[1..])
                )));
            }
        }
        call.set(0, keys);
        call.set(1, values);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("tables are looked up by whole tensors of keys"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let scalar = || Shape::new([]);
        let both = |key: DType, value: DType| {
            let made = Sample::new(vec![if key == DType::Str { words() } else { points() }]);
            made.with("key_dtype", key).with("value_dtype", value).with("value_shape", scalar())
        };
        vec![
            both(DType::Str, DType::I64).with("key_shape", scalar()),
            both(DType::I32, DType::Str).with("key_shape", Shape::known(&[2])),
        ]
    },
};

/// Keys that come.
pub static TABLE_INSERT: OpDef = OpDef {
    name: "table_insert",
    tf_name: "LookupTableInsertV2",
    doc: "Sets the values of keys in the table that the variable holds: of equal keys the last one counts.",
    dtypes: BOTH,
    operands: &[VARIABLE, arg_of("keys", ArgType::Var(0)), arg_of("values", ArgType::Var(1))],
    attrs: &[KEY_RANK],
    effects: &[Effect::Write(0)],
    infer: |cx| {
        check_variable(cx)?;
        check_pairs(cx, 1)?;
        none()
    },
    cpu: Cpu::Variable(run_insert),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("tables are looked up by whole tensors of keys"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: no_samples,
};

/// Keys that go.
pub static TABLE_REMOVE: OpDef = OpDef {
    name: "table_remove",
    tf_name: "LookupTableRemoveV2",
    doc: "Removes keys from the table that the variable holds. Those that are not there make no difference.",
    dtypes: &[KEY],
    operands: &[VARIABLE, arg_of("keys", ArgType::Var(0))],
    attrs: &[KEY_RANK],
    effects: &[Effect::Write(0)],
    infer: |cx| {
        check_variable(cx)?;
        batch(cx, 1)?;
        none()
    },
    cpu: Cpu::Variable(run_remove),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("tables are looked up by whole tensors of keys"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: no_samples,
};

/// The table in the place of the first result.
fn table_in<'a>(call: &'a mut Call<'_>) -> Result<&'a mut Table> {
    call.outputs[0].table_mut().ok_or_else(not_a_table)
}

fn run_insert(call: &mut Call<'_>) -> Result<()> {
    let (keys, values) = (call.inputs[0], call.inputs[1]);
    table_in(call)?.insert(keys, values)
}

fn run_remove(call: &mut Call<'_>) -> Result<()> {
    let keys = call.inputs[0];
    table_in(call)?.remove(keys)
}
