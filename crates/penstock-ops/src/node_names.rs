//! The names of the nodes of a graph, as TensorFlow gives them: those that the program gave, else that of the operator, each with a
//! number where it is taken.

use penstock_ir::{Graph, Inst, Region, Value};
use rustc_hash::FxHashMap;

/// Names that are taken, each with how often it was asked for.
#[derive(Default)]
pub struct UniqueNames(FxHashMap<String, u32>);

impl UniqueNames {
    /// Takes a name: the wanted one, else the first of `wanted_1`, `wanted_2`, ... that is free.
    pub fn take(&mut self, wanted: &str) -> String {
        let Some(asked) = self.0.get(wanted) else {
            self.0.insert(wanted.to_owned(), 1);
            return wanted.to_owned();
        };
        let mut number = *asked;
        let name = loop {
            let name = format!("{wanted}_{number}");
            number += 1;
            if !self.0.contains_key(&name) {
                break name;
            }
        };
        self.0.insert(wanted.to_owned(), number);
        self.0.insert(name.clone(), 1);
        name
    }
}

/// The names of the nodes of a graph, those of nested regions included.
pub struct NodeNames {
    /// For each value that of its node, with `:k` for result `k > 0`.
    values: FxHashMap<Value, String>,
    /// Those of nodes without results.
    silent: FxHashMap<Inst, String>,
    /// Those of the nodes that stand for the results of the graph.
    results: Vec<String>,
}

impl NodeNames {
    /// The names of the nodes of a graph: inputs, instructions in program order, results.
    pub fn of(graph: &Graph) -> NodeNames {
        let mut taken = UniqueNames::default();
        let (mut values, mut silent) = (FxHashMap::default(), FxHashMap::default());
        for (i, &v) in graph.inputs().iter().enumerate() {
            let mut base = graph.names.get(&v).map_or_else(String::new, |n| n.to_string());
            // No name, or that of a scope alone.
            if base.is_empty() || base.ends_with('/') {
                base += &if graph.ty(v).is_variable() { format!("resource_{i}") } else { format!("capture_{i}") };
            }
            values.insert(v, taken.take(&base));
        }
        // The scopes of loops and branches: what is within them and has none is in theirs.
        let mut around: FxHashMap<Region, String> = FxHashMap::default();
        graph.visit(&mut |region, inst, data| {
            let named = data.results.first().map_or_else(|| graph.scopes.get(&inst), |v| graph.names.get(v));
            let mut base = named.map_or_else(|| around.get(&region).cloned().unwrap_or_default(), |n| n.to_string());
            // No name, or that of a scope alone.
            if base.is_empty() || base.ends_with('/') {
                base += base_name(data.op.name, data.op.tf_name);
            }
            let name = taken.take(&base);
            if data.results.is_empty() {
                silent.insert(inst, name.clone());
            }
            for (k, &v) in data.results.iter().enumerate() {
                values.insert(v, if k == 0 { name.clone() } else { format!("{name}:{k}") });
            }
            for &region in &data.regions {
                around.insert(region, name.rfind('/').map_or(String::new(), |end| name[..=end].to_owned()));
                for (k, &p) in graph.regions[region].params.iter().enumerate() {
                    values.insert(p, format!("{name}/loop_var_{k}"));
                }
            }
        });
        let results = graph.outputs().iter().map(|_| taken.take("Identity")).collect();
        NodeNames { values, silent, results }
    }

    /// The name of a value: that of its node, with `:k` for result `k > 0`. Empty where the graph does not have it.
    pub fn value(&self, value: Value) -> &str {
        self.values.get(&value).map_or("", String::as_str)
    }

    /// The name of an instruction's node. Empty where the graph does not list it.
    pub fn node(&self, graph: &Graph, inst: Inst) -> &str {
        let first = graph.insts[inst].results.first();
        first.map_or_else(|| self.silent.get(&inst), |v| self.values.get(v)).map_or("", String::as_str)
    }

    /// The names of the nodes that stand for the results of the graph, in order.
    pub fn results(&self) -> &[String] {
        &self.results
    }
}

/// The name that TensorFlow gives to a node by default: its operator, unless the function or the operator of
/// Python that makes it has a name for it.
fn base_name<'a>(name: &'a str, tf_name: &'a str) -> &'a str {
    match name {
        "const" => "Const",
        "matmul_int32" => "MatMul",
        "add" | "string_add" => "add",
        "sub" | "mul" | "pow" | "floordiv" | "range" | "stack" | "unstack" | "split" | "concat" | "transpose"
        | "strided_slice" | "one_hot" | "zeros_like" | "ones_like" => name,
        "div" => "truediv",
        "floormod" => "mod",
        "divide_no_nan" => "div_no_nan",
        "logical_and" => "and",
        "logical_or" => "or",
        "logical_xor" => "xor",
        _ => tf_name,
    }
}

#[cfg(test)]
mod tests {
    use penstock_data::{DType, Shape};
    use penstock_ir::{Builder, Type};

    use super::{NodeNames, UniqueNames};

    #[test]
    fn a_name_that_was_given_with_a_number_is_not_made_again() {
        let mut names = UniqueNames::default();
        let taken = ["a_1", "a", "a", "a", "a_1"].map(|name| names.take(name));
        assert_eq!(taken, ["a_1", "a", "a_2", "a_3", "a_1_1"]);
    }

    #[test]
    fn nodes_have_the_names_that_were_given_or_those_of_their_operators() {
        let mut builder = Builder::new(&crate::control::CONST);
        let x = builder.input(Type::tensor(DType::F32, Shape::scalar()), Some("x"));
        let first = builder.emit(&crate::binary::ADD, &[x, x], &[]).unwrap()[0];
        let second = builder.emit(&crate::binary::ADD, &[first, x], &[]).unwrap()[0];
        builder.name(second, "Identity");
        let graph = builder.finish(&[second, first]).unwrap();
        let names = NodeNames::of(&graph);
        assert_eq!([x, first, second].map(|v| names.value(v)), ["x", "add", "Identity"]);
        // No two nodes have one name.
        assert_eq!(names.results(), ["Identity_1", "Identity_2"]);
    }
}
