//! Tables of TensorFlow's models. A table becomes a variable that holds a map of the engine. What is in it when a model is
//! loaded comes from the functions or nodes that fill it, which must do so with constants or with the lines of an asset, or
//! from the checkpoint.

use std::path::Path;
use std::sync::Arc;

use penstock_data::{Bytes, DType, Error, Result, Shape, Table, Tensor};

use penstock_exec::Variable;
use penstock_format::ProgramBuilder;
use penstock_ir::Value;
use serde_json::{Value as Json, json};

use super::lower::{Cx, Resource, Val};
use crate::damaged;

/// The directory of assets.
pub(super) const ASSETS: &str = "assets";
/// The bytes of all that tables give for keys that are not there: a file must not take much memory to say so little.
pub(super) const MOST_DEFAULT_BYTES: usize = 1 << 22;

/// What a table takes and gives.
#[derive(Clone, Debug)]
pub(super) struct TableType {
    /// Python's class for it.
    pub(super) class: &'static str,
    pub(super) key: DType,
    pub(super) value: DType,
    /// The extents of a key.
    pub(super) key_dims: Vec<usize>,
    /// The extents of a value.
    pub(super) value_dims: Vec<usize>,
    /// Two keys that are never in it, of a table that needs such.
    pub(super) unused: Option<Tensor>,
}

impl TableType {
    /// A table with nothing in it.
    pub(super) fn empty(&self) -> Table {
        Table::new(self.key, &self.key_dims, self.value, &self.value_dims)
    }

    /// What is given for keys that are not there where nobody says what: zeros, or empty texts. It takes at most `left` bytes.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub(super) fn default(&self, left: &mut usize) -> Result<Tensor> {
        let count = penstock_data::num_elements(&self.value_dims);
        let bytes = count.and_then(|n| n.checked_mul(self.value.size().max(size_of::<Bytes>())));
        let rest = bytes.and_then(|bytes| left.checked_sub(bytes));
        *left = rest.ok_or_else(|| Error::exhausted("the values of tables are larger than a file may ask for"))?;
        match self.value {
            DType::Str => Tensor::from_strings(&self.value_dims, vec![Bytes::from([]); count.unwrap_or(0)]),
            dtype => Tensor::zeros(dtype, &self.value_dims),
        }
    }

    /// The table of the keys and values of a checkpoint, which flattens rows and may hold keys that are none.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType` where they do not fit.
    pub(super) fn restored(&self, keys: &Tensor, values: &Tensor) -> Result<Table> {
        let rows = |tensor: &Tensor, dims: &[usize]| {
            let each = penstock_data::num_elements(dims).unwrap_or(0).max(1);
            tensor.reshaped(&[&[tensor.len() / each], dims].concat())
        };
        let mut table = self.empty();
        table.insert(&rows(keys, &self.key_dims)?, &rows(values, &self.value_dims)?)?;
        if let Some(unused) = &self.unused {
            table.remove(unused)?;
        }
        Ok(table)
    }
}

/// Adds a table to the program, and gives it with what the text of the objects says of it.
///
/// # Errors
/// `ResourceExhausted` where what it gives for keys that are not there takes more than `left` bytes.
pub(super) fn hold(
    table: Table,
    ty: TableType,
    left: &mut usize,
    builder: &mut ProgramBuilder,
) -> Result<(Resource, Json)> {
    let default = ty.default(left)?;
    let mut add = |name: &str, value: Tensor| -> Result<usize> {
        let shape = Shape::known(value.dims());
        Ok(builder.variable(Variable::new(name, value.dtype(), shape, Some(value))?, false))
    };
    let number = add("table", Tensor::from_table(table))?;
    let mut json = json!({
        "kind": "table", "type": ty.class, "name": "table", "variable": number, "default": add("default", default)?,
        "key_dtype": ty.key.tf_name(), "key_shape": ty.key_dims,
    });
    if let Some(unused) = &ty.unused {
        json["unused"] = add("unused", unused.clone())?.into();
    }
    Ok((Resource::Table(number, ty), json))
}

/// What the nodes that make and fill tables do when they are read, in place of adding to a graph.
#[derive(Default)]
pub(super) struct Recording {
    /// The tables that were made.
    pub(super) made: Vec<TableType>,
    /// What was put into which table.
    pub(super) filled: Vec<(usize, Tensor, Tensor)>,
    /// The bytes of files by the paths that the model has for them.
    pub(super) files: Vec<(String, Arc<[u8]>)>,
}

/// The bytes of an asset by its path below the directory of the model.
///
/// # Errors
/// `NotFound` where there is none; `InvalidArgument` for one that is a link to a place outside of the directory.
pub(super) fn asset(directory: Option<&Path>, path: &str) -> Result<Arc<[u8]>> {
    let Some(directory) = directory else { return Err(Error::not_found("the model has no directory of assets")) };
    let failed = |e: std::io::Error| Error::not_found(format!("the asset '{path}': {e}"));
    let room = directory.join(ASSETS).canonicalize().map_err(failed)?;
    let file = directory.join(path).canonicalize().map_err(failed)?;
    match file.parent() == Some(&room) {
        true => std::fs::read(file).map(Arc::from).map_err(failed),
        false => Err(Error::invalid(format!("the asset '{path}' is a file outside of the directory"))),
    }
}

/// A node that makes a table.
pub(super) fn create(cx: &mut Cx<'_, '_, '_, '_>, class: &'static str) -> Result<Vec<Val>> {
    let (key, value) = (cx.dtype("key_dtype", DType::Str)?, cx.dtype("value_dtype", DType::Str)?);
    let value_dims = match cx.node.attr("value_shape")? {
        Some(shape) => shape.shape()?.extents().ok_or_else(|| Error::unimplemented("values of an unknown shape"))?,
        None => Default::default(),
    };
    let constant = |cx: &Cx<'_, '_, '_, '_>, index: usize| {
        let known = cx.lowering.known(cx.tensor(index)?);
        known.ok_or_else(|| Error::unimplemented("a table whose unused keys are computed while the function runs"))
    };
    let (mut key_dims, mut unused) = (Vec::new(), None);
    if class == "DenseHashTable" {
        let (empty, deleted) = (constant(cx, 0)?, constant(cx, 1)?);
        key_dims = empty.dims().to_vec();
        let mut both = Table::new(DType::Bool, &[], key, &key_dims);
        both.insert(&Tensor::from(false), &empty)?;
        both.insert(&Tensor::from(true), &deleted)?;
        unused = Some(both.values()?);
    }
    let Some(recording) = &mut cx.lowering.tables else {
        return Err(Error::unimplemented("a table that is made while the function runs"));
    };
    recording.made.push(TableType { class, key, value, key_dims, value_dims: value_dims.to_vec(), unused });
    Ok(vec![Val::Resource(usize::MAX)])
}

/// A node that replaces what is in a table.
pub(super) fn import(cx: &mut Cx<'_, '_, '_, '_>) -> Result<Vec<Val>> {
    if cx.lowering.tables.is_none() {
        let [held, _] = export(cx)?[..] else { return Err(Error::internal("a table has keys and values")) };
        change(cx, "table_remove", &[held])?;
    }
    insert(cx)
}

/// A node that puts keys and values into a table.
pub(super) fn insert(cx: &mut Cx<'_, '_, '_, '_>) -> Result<Vec<Val>> {
    let (keys, values) = (cx.tensor(1)?, cx.tensor(2)?);
    if cx.lowering.tables.is_none() {
        let (_, ty) = cx.table(0)?;
        refuse_unused(cx, &ty, keys)?;
        return change(cx, "table_insert", &[keys, values]);
    }
    match (cx.lowering.known(keys), cx.lowering.known(values)) {
        (Some(keys), Some(values)) => record(cx, keys, values),
        _ => Err(Error::unimplemented("a table that is filled with what a function computes")),
    }
}

/// Checks that no key is one of the two that are never in a table, where it has such.
pub(super) fn refuse_unused(cx: &mut Cx<'_, '_, '_, '_>, ty: &TableType, keys: Value) -> Result<()> {
    let Some(unused) = &ty.unused else { return Ok(()) };
    let size = penstock_data::num_elements(&ty.key_dims).unwrap_or(0).max(1);
    let equal = if ty.key == DType::Str { "string_equal" } else { "equal" };
    let rows = cx.constant(Tensor::vector(&[-1, size as i64]));
    let keys = cx.op("reshape", &[keys, rows], &[])?;
    let unused = unused.reshaped(&[2, size])?;
    for (i, name) in ["empty_key", "deleted_key"].into_iter().enumerate() {
        let one = cx.constant(unused.rows(i, 1)?);
        let same = cx.op(equal, &[keys, one], &[])?;
        let same = cx.op("reduce_all", &[same], &[("axes", vec![1i64].into())])?;
        let met = cx.op("reduce_any", &[same], &[])?;
        let absent = cx.op("logical_not", &[met], &[])?;
        let message = format!("Using the {name} as a table key is not allowed");
        cx.ops("assert", &[absent], &[("message", (&*message).into())])?;
    }
    Ok(())
}

/// Inserts or removes.
pub(super) fn change(cx: &mut Cx<'_, '_, '_, '_>, op: &str, operands: &[Value]) -> Result<Vec<Val>> {
    let (table, ty) = cx.table(0)?;
    let operands = [&[table], operands].concat();
    cx.ops(op, &operands, &[("key_rank", (ty.key_dims.len() as i64).into())])?;
    Ok(Vec::new())
}

fn record(cx: &mut Cx<'_, '_, '_, '_>, keys: Tensor, values: Tensor) -> Result<Vec<Val>> {
    let resource = cx.resource(0)?;
    if let Some(recording) = &mut cx.lowering.tables {
        recording.filled.push((resource, keys, values));
    }
    Ok(Vec::new())
}

/// The keys and the values of a table.
pub(super) fn export(cx: &mut Cx<'_, '_, '_, '_>) -> Result<Vec<Value>> {
    let (table, ty) = cx.table(0)?;
    let held = cx.op("read_variable", &[table], &[])?;
    let shape = |dims: &[usize]| Shape::known(dims);
    let attrs = [
        ("key_dtype", ty.key.into()),
        ("value_dtype", ty.value.into()),
        ("key_shape", shape(&ty.key_dims).into()),
        ("value_shape", shape(&ty.value_dims).into()),
    ];
    cx.ops("table_export", &[held], &attrs)
}

/// A node that fills a table with the lines of a file.
pub(super) fn from_file(cx: &mut Cx<'_, '_, '_, '_>) -> Result<Vec<Val>> {
    let resource = cx.resource(0)?;
    let path = cx.lowering.known(cx.tensor(1)?).filter(|path| path.dtype() == DType::Str && path.len() == 1);
    let Some(recording) = &cx.lowering.tables else {
        return Err(Error::unimplemented("a table that is filled from a file while the function runs"));
    };
    let path = path.ok_or_else(|| Error::unimplemented("a table that is filled from a file whose path is computed"))?;
    let path = path.strings()[0].to_vec();
    let file = recording.files.iter().find(|(name, _)| name.as_bytes() == path).map(|(_, bytes)| bytes);
    let file = file.ok_or_else(|| Error::invalid("a table that is filled from a file that is no asset"))?;
    let ty = cx.lowering.table_type(resource)?;
    let (most, delimiter) = (cx.int("vocab_size", -1)?, cx.text("delimiter", "\t")?);
    let mut lines: Vec<Vec<u8>> = file.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    lines.iter_mut().for_each(|line| line.retain(|&b| b != b'\r'));
    if lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    if let Ok(most) = usize::try_from(most) {
        lines.truncate(most);
    }
    let offset = cx.int("offset", 0)?;
    let keys = column(&lines, cx.int("key_index", 0)?, delimiter, ty.key, 0)?;
    let values = column(&lines, cx.int("value_index", 0)?, delimiter, ty.value, offset)?;
    record(cx, keys, values)
}

/// What each line has at an index: -2 is the whole line, -1 its number.
fn column(lines: &[Vec<u8>], index: i64, delimiter: &str, dtype: DType, offset: i64) -> Result<Tensor> {
    let wrong = |line: &[u8]| {
        let text = format!("the line '{}' of a file has no {dtype} at {index}", String::from_utf8_lossy(line));
        damaged("assets", text)
    };
    if index == -1 {
        let numbers: Vec<i64> = (0..lines.len() as i64).map(|i| i.wrapping_add(offset)).collect();
        let numbers = Tensor::vector(&numbers);
        return match dtype {
            DType::I64 => Ok(numbers),
            _ => Err(Error::unimplemented(format!("numbers of lines as {dtype}"))),
        };
    }
    let text = |line: &Vec<u8>| -> Result<Vec<u8>> {
        if index == -2 {
            return Ok(line.clone());
        }
        let place = usize::try_from(index).map_err(|_| wrong(line))?;
        let text = String::from_utf8_lossy(line);
        let part = match delimiter.is_empty() {
            true => None,
            false => text.split(delimiter).nth(place),
        };
        part.map(|part| part.as_bytes().to_vec()).ok_or_else(|| wrong(line))
    };
    let texts = lines.iter().map(text).collect::<Result<Vec<_>>>()?;
    fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
        std::str::from_utf8(text).ok()?.trim().parse().ok()
    }
    macro_rules! numbers {
        ($t:ty) => {{
            let number = |(text, line): (&Vec<u8>, &Vec<u8>)| parsed::<$t>(text).ok_or_else(|| wrong(line));
            Tensor::vector(&texts.iter().zip(lines).map(number).collect::<Result<Vec<$t>>>()?)
        }};
    }
    Ok(match dtype {
        DType::Str => Tensor::from_strings(&[texts.len()], texts.into_iter().map(Bytes::from).collect())?,
        DType::I64 => numbers!(i64),
        DType::I32 => numbers!(i32),
        DType::F32 => numbers!(f32),
        DType::F64 => numbers!(f64),
        other => return Err(Error::unimplemented(format!("a table of the lines of a file as {other}"))),
    })
}
