//! What an operator is.

use crate::tensor_type::TensorType;
use crate::view::{View, ViewMut};

/// What an operator is called, takes and gives. Names are identifiers of Python.
#[derive(Clone, Debug)]
pub struct Description {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) gradient: Option<String>,
    pub(crate) stateful: bool,
}

impl Description {
    /// An operator of this name; `doc` says in a line or more what it does.
    pub fn new(name: impl Into<String>, doc: impl Into<String>) -> Description {
        let (name, doc) = (name.into(), doc.into());
        Description { name, doc, inputs: Vec::new(), outputs: Vec::new(), gradient: None, stateful: false }
    }

    /// The names of its inputs.
    #[must_use]
    pub fn inputs(mut self, names: &[&str]) -> Description {
        self.inputs = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// The names of its results.
    #[must_use]
    pub fn outputs(mut self, names: &[&str]) -> Description {
        self.outputs = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// The operator of the same library that computes its gradients.
    ///
    /// The inputs of that are the inputs of this, then its outputs, then the gradient of each output. The outputs of that have
    /// the names of the inputs whose gradients they are; an input that is not among them has none.
    #[must_use]
    pub fn gradient(mut self, name: impl Into<String>) -> Description {
        self.gradient = Some(name.into());
        self
    }

    /// Says that it does more than compute its results: every call runs, in the order of the program. Of others a call runs
    /// only where a result is used, and equal calls may become one.
    #[must_use]
    pub fn stateful(mut self) -> Description {
        self.stateful = true;
        self
    }
}

/// An operator. Its functions are called from any number of threads at once; a panic in one is an error of the call.
pub trait Operator: Send + Sync + 'static {
    /// What it is called, takes and gives; asked once.
    fn description(&self) -> Description;

    /// What the results are, by what the inputs are. It depends on nothing else, and where all sizes of the inputs are known,
    /// it knows all sizes of the results.
    ///
    /// # Errors
    /// Says why there is no result for such inputs.
    fn types(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, String>;

    /// Computes the results, whose types are those that `types` said.
    ///
    /// # Errors
    /// Says why there is no result for these inputs.
    fn run(&self, inputs: &[View<'_>], outputs: &mut [ViewMut<'_>]) -> Result<(), String>;
}
