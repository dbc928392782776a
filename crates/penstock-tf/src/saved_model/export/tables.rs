//! Tables: objects whose functions make and fill them, and nodes that do so where the graph alone is run.

use penstock_data::{DType, Error, Result, Shape, Tensor};
use penstock_format::Program;

use super::message::{Def, Node, Value};
use super::{constant, node};

/// A table of the program.
pub(super) struct Held {
    /// The number of the variable that holds it.
    pub(super) number: usize,
    op: &'static str,
    keys: Tensor,
    values: Tensor,
    /// Two keys that are never in it, where TensorFlow needs such.
    unused: Option<[Tensor; 2]>,
    /// The names of the functions that make, fill and destroy it.
    pub(super) functions: [String; 3],
}

impl Held {
    /// The table that a variable holds.
    ///
    /// # Errors
    /// `Unimplemented` for one that TensorFlow does not have.
    pub(super) fn of(program: &Program, number: usize, fixed: bool, unused: Option<usize>) -> Result<Held> {
        let variable = |number: usize| program.variables().get(number).map(|found| &found.variable);
        let missing = || Error::invalid("there is no such table");
        let value = variable(number).ok_or_else(missing)?.read()?;
        let table = value.table().ok_or_else(missing)?;
        let (keys, values) = (table.keys()?, table.values()?);
        let (mut op, mut pair) = ("MutableHashTableV2", None);
        if keys.rank() > 1 {
            op = "MutableDenseHashTableV2";
            let unused = unused.and_then(variable).ok_or_else(|| {
                Error::unimplemented("a table whose keys are rows, and that does not say which keys are unused")
            })?;
            let unused = unused.read()?;
            pair = Some([row(&unused, 0)?, row(&unused, 1)?]);
        } else if values.rank() > 1 {
            op = "MutableHashTableOfTensorsV2";
        } else if fixed {
            op = "HashTableV2";
        }
        Ok(Held { number, op, keys, values, unused: pair, functions: Default::default() })
    }

    /// The name of its node in the graph.
    pub(super) fn name(&self) -> String {
        format!("table_{}", self.number)
    }

    /// The nodes that make it, the last of which is the table; `output` is how their outputs are named.
    fn made(&self, output: &str) -> Vec<Node> {
        let (mut nodes, mut inputs) = (Vec::new(), Vec::new());
        for (i, key) in self.unused.iter().flatten().enumerate() {
            let name = format!("{}_unused_{i}", self.name());
            inputs.push(format!("{name}{output}"));
            nodes.push(constant(&name, key.clone()));
        }
        let mut attrs = vec![
            ("key_dtype", self.keys.dtype().into()),
            ("value_dtype", self.values.dtype().into()),
            ("shared_name", Value::from(&*self.name())),
        ];
        if self.unused.is_some() || self.values.rank() > 1 {
            attrs.push(("value_shape", Value::Shape(Shape::known(&self.values.dims()[1..]))));
        }
        nodes.push(node(&self.name(), self.op, inputs, attrs));
        nodes
    }

    /// The functions that make, fill and destroy it, named as `functions` says.
    pub(super) fn definitions(&self) -> [Def; 3] {
        let [create, fill, destroy] = self.functions.clone();
        let done = || ("done".to_owned(), DType::I32, "done:output:0".to_owned());
        let zero = || constant("done", Tensor::from(0i32));
        let inputs = ["table", "keys:output:0", "values:output:0"].map(str::to_owned).to_vec();
        let types = vec![("Tin", self.keys.dtype().into()), ("Tout", self.values.dtype().into())];
        let filled = vec![
            constant("keys", self.keys.clone()),
            constant("values", self.values.clone()),
            // A table whose keys are rows takes them by this alone.
            node(
                "import",
                if self.unused.is_some() { "LookupTableInsertV2" } else { "LookupTableImportV2" },
                inputs,
                types,
            ),
            zero(),
        ];
        [
            Def {
                name: create,
                args: vec![],
                results: vec![("table".to_owned(), DType::Resource, format!("{}:table_handle:0", self.name()))],
                nodes: self.made(":output:0"),
                effect: Some(self.name()),
            },
            Def {
                name: fill,
                args: vec![("table".to_owned(), DType::Resource)],
                results: vec![done()],
                nodes: filled,
                effect: Some("import".to_owned()),
            },
            Def { name: destroy, args: vec![], results: vec![done()], nodes: vec![zero()], effect: None },
        ]
    }

    /// The nodes that make and fill it in the graph; gives the name of the one that fills it.
    pub(super) fn in_graph(&self, nodes: &mut Vec<Node>) -> String {
        nodes.extend(self.made(""));
        let name = format!("{}_filled", self.name());
        let attrs = vec![
            ("f", Value::Func(self.functions[1].clone())),
            ("Tin", Value::Types(vec![DType::Resource])),
            ("Tout", Value::Types(vec![DType::I32])),
        ];
        nodes.push(node(&name, "StatefulPartitionedCall", vec![self.name()], attrs));
        name
    }
}

/// A row of a tensor.
fn row(tensor: &Tensor, index: usize) -> Result<Tensor> {
    let dims = tensor.dims().get(1..).unwrap_or_default();
    let count = penstock_data::num_elements(dims).unwrap_or(0);
    let missing = || Error::invalid("a table lacks an unused key");
    if tensor.dtype() == DType::Str {
        let found = tensor.strings().get(index * count..(index + 1) * count).ok_or_else(missing)?;
        return Tensor::from_strings(dims, found.to_vec());
    }
    let mut out = Tensor::empty(tensor.dtype(), dims)?;
    let size = out.byte_len();
    out.bytes_mut().copy_from_slice(tensor.bytes().get(index * size..(index + 1) * size).ok_or_else(missing)?);
    Ok(out)
}
