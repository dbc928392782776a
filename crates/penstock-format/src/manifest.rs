//! What a program consists of besides its graphs: the text `penstock.manifest`, in JSON.

use std::collections::BTreeMap;

use penstock_data::{DType, Dim, Shape};
use penstock_ir::{Function, OpDef};
use serde::{Deserialize, Serialize};

use crate::container::Once;

/// The format that this release writes, and the latest that it reads.
pub(crate) const FORMAT: u32 = 1;

/// The versions of operators whose meaning has changed since format 1; that of every other is 1.
const VERSIONS: &[(&str, u32)] = &[];

/// The version of an operator.
pub(crate) fn version(name: &str) -> u32 {
    VERSIONS.iter().find(|(n, _)| *n == name).map_or(1, |(_, version)| *version)
}

/// The text `penstock.manifest`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Who wrote the file, for people.
    pub(crate) producer: String,
    /// The earliest format whose readers understand it.
    pub(crate) min_reader: u32,
    /// The operators in the graphs, with their versions.
    #[serde(deserialize_with = "once")]
    pub(crate) operators: BTreeMap<String, u32>,
    pub(crate) functions: Vec<FunctionEntry>,
    /// Functions by the names that programs outside call them by.
    #[serde(deserialize_with = "once")]
    pub(crate) signatures: BTreeMap<String, usize>,
    pub(crate) variables: Vec<VariableEntry>,
    /// The CRC-32C of the bytes of each array.
    #[serde(deserialize_with = "once")]
    pub(crate) checksums: BTreeMap<String, u32>,
}

fn once<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<BTreeMap<String, T>, D::Error> {
    Once::deserialize(d).map(|found| found.0)
}

/// A function that programs may call.
#[derive(Serialize, Deserialize)]
pub(crate) struct FunctionEntry {
    pub(crate) name: String,
    /// Its name in the text form.
    pub(crate) graph: String,
    /// The names of the inputs that are arguments.
    pub(crate) inputs: Vec<String>,
    /// The names of the outputs.
    pub(crate) outputs: Vec<String>,
    /// The other inputs.
    pub(crate) captures: Vec<CaptureEntry>,
}

/// What a function takes besides its arguments.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureEntry {
    /// A variable, by its number.
    Variable(usize),
    /// A constant, by its key.
    Constant(String),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct VariableEntry {
    pub(crate) name: String,
    pub(crate) dtype: String,
    /// `null` stands for an unknown size, and for an unknown rank.
    pub(crate) shape: Option<Vec<Option<usize>>>,
    pub(crate) trainable: bool,
    /// The key of its value; `null` where it has none.
    pub(crate) value: Option<String>,
}

impl VariableEntry {
    pub(crate) fn dtype(&self) -> Option<DType> {
        DType::from_name(&self.dtype)
    }

    pub(crate) fn shape(&self) -> Shape {
        match &self.shape {
            None => Shape::UNRANKED,
            Some(dims) => Shape::new(dims.iter().map(|d| d.map_or(Dim::Unknown, Dim::Known))),
        }
    }

    pub(crate) fn dims(shape: &Shape) -> Option<Vec<Option<usize>>> {
        Some(shape.dims()?.iter().map(|d| d.known()).collect())
    }
}

/// The operators of functions and of all that they call.
pub(crate) fn operators(functions: &[std::sync::Arc<Function>]) -> BTreeMap<&'static str, &'static OpDef> {
    let mut found = BTreeMap::new();
    crate::program::each_graph(functions, |graph| {
        graph.visit(&mut |_, _, data| {
            found.insert(data.op.name, data.op.0);
        });
    });
    found
}
