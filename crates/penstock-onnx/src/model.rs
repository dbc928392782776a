//! A model, and the programs made of it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_exec::{Arg, Variable};
use penstock_format::{Capture, Program};
use penstock_ir::{Function, Type};

use crate::import::{self, Given, Wanted, Weights};
use crate::proto;
use crate::tensor::{Files, decode};

/// The name of the function of a program that is made of a model.
const MAIN: &str = "main";

/// Programs of one model that are kept at most.
const KEPT: usize = 64;

/// How a model becomes a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether initialisers of floating point become variables, which can be trained. Else they are constants.
    pub variables: bool,
    /// Types of inputs that are narrower than what the model says.
    pub types: BTreeMap<String, Type>,
    /// Inputs whose values are always these: they stay, and are not read.
    pub values: BTreeMap<String, Tensor>,
}

/// An input or an output of a model.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its type. `None` for an output of which the model says none.
    pub ty: Option<Type>,
}

/// A model of ONNX.
///
/// ```
/// use penstock_onnx::Model;
///
/// let error = Model::from_bytes(b"no model").unwrap_err();
/// assert!(error.message().starts_with("the ONNX model is damaged"));
/// ```
pub struct Model {
    bytes: Arc<[u8]>,
    directory: Option<PathBuf>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    weights: Mutex<Weights>,
    made: Mutex<Made>,
}

/// The programs that calls made.
#[derive(Default)]
struct Made {
    /// What the calls so far showed that has to be known.
    wanted: Wanted,
    programs: HashMap<Vec<Key>, Program>,
}

/// What a program was made for, of one input.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Any,
    Shape(Vec<usize>),
    Value(Vec<usize>, Vec<u8>),
}

impl Model {
    /// Reads a file. Data outside of it are read from its directory when a program is made.
    ///
    /// # Errors
    /// `NotFound` and others for a file that cannot be read; as [`Model::from_bytes`].
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| {
            let message = format!("cannot read '{}': {e}", path.display());
            match e.kind() {
                std::io::ErrorKind::NotFound => Error::not_found(message),
                _ => Error::precondition(message),
            }
        })?;
        let directory = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
        Model::new(bytes.into(), directory.map(Path::to_owned))
    }

    /// Reads a model.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are no model; `Unimplemented` for operators that are not supported, which names all
    /// of them with their numbers, and for dtypes that are not.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::new(bytes.into(), None)
    }

    fn new(bytes: Arc<[u8]>, directory: Option<PathBuf>) -> Result<Model> {
        let model = proto::model(&bytes)?;
        let missing = import::missing(&model);
        if !missing.is_empty() {
            let listed: Vec<String> = missing.iter().map(|(name, count)| format!("{name}: {count}")).collect();
            return Err(Error::unimplemented(format!(
                "the model has operators that are not supported, with the numbers of nodes: {}",
                listed.join(", ")
            )));
        }
        let (mut names, mut next) = (BTreeMap::new(), 0);
        let mut inputs = Vec::new();
        for info in import::main_inputs(&model) {
            let ty = import::type_of(&info.ty, &mut names, &mut next)
                .map_err(|e| Error::new(e.class(), format!("input '{}': {}", info.name, e.message())))?;
            inputs.push(Port { name: info.name.to_owned(), ty: Some(ty) });
        }
        let mut outputs = Vec::new();
        for info in &model.graph.outputs {
            let ty = import::type_of(&info.ty, &mut names, &mut next).ok();
            outputs.push(Port { name: info.name.to_owned(), ty });
        }
        let (weights, made) = (Mutex::default(), Mutex::default());
        Ok(Model { bytes, directory, inputs, outputs, weights, made })
    }

    /// The inputs, without those that initialisers give.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// A program with one function, `main`, which is its signature too.
    ///
    /// # Errors
    /// `FailedPrecondition` where more has to be known of inputs than the model and `options` say, which names them; what
    /// the nodes say, with the name of the node.
    pub fn program(&self, options: &Options) -> Result<Program> {
        let known = |name: &String| self.inputs.iter().any(|port| port.name == *name);
        if let Some(name) = options.types.keys().chain(options.values.keys()).find(|name| !known(name)) {
            return Err(Error::invalid(format!("the model has no input '{name}'")));
        }
        let given: Vec<Given> = self.inputs.iter().map(|port| self.given(port, options)).collect();
        let (program, wanted) = self.make(&given, options.variables)?;
        program.map_err(|error| {
            let names: Vec<&str> = wanted.values.iter().map(|&i| self.inputs[i].name.as_str()).collect();
            let mut message = error.message().to_owned();
            if !names.is_empty() {
                message += &format!("; give values for the inputs: {}", names.join(", "));
            }
            if wanted.shapes {
                message += "; give types with all extents for the inputs";
            }
            Error::new(error.class(), message)
        })
    }

    fn given(&self, port: &Port, options: &Options) -> Given {
        let ty = port.ty.clone().unwrap_or(Type::tensor(DType::F32, Shape::UNRANKED));
        match (options.values.get(&port.name), options.types.get(&port.name)) {
            (Some(value), _) => Given::Value(value.clone()),
            (None, ty_given) => Given::Type(ty_given.cloned().unwrap_or(ty)),
        }
    }

    /// A program, and what has to be known where there is none.
    fn make(&self, given: &[Given], variables: bool) -> Result<(Result<Program>, Wanted)> {
        let model = proto::model(&self.bytes)?;
        let files = Files { directory: self.directory.as_deref() };
        let mut weights = self.weights.lock().unwrap_or_else(PoisonError::into_inner);
        let (imported, wanted) = import::import(&model, given, variables, &files, &mut weights);
        let program = imported.and_then(|imported| {
            let mut program = Program::builder();
            let mut captures = Vec::new();
            for (name, value) in &imported.variables {
                let shape = Shape::known(value.dims());
                let variable = Variable::new(name, value.dtype(), shape, Some(value.clone()))?;
                captures.push(Capture::Variable(program.variable(variable, true)));
            }
            let names = |ports: &[Port]| ports.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
            let (inputs, outputs) = (names(&self.inputs), names(&self.outputs));
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            let function = Arc::new(Function::new(MAIN, imported.graph));
            let index = program.function(MAIN, function, &inputs, &outputs, captures);
            program.signature(MAIN, index);
            program.finish()
        });
        Ok((program, wanted))
    }

    /// The program for a call with these values, which are in the order of [`Model::inputs`]. What is not known of the
    /// inputs while the program is made, and has to be, is taken from the values; programs are kept.
    ///
    /// # Errors
    /// `InvalidArgument` for another number of values, or one that is not of the type of its input; as [`Model::program`].
    pub fn program_for(&self, values: &[Tensor]) -> Result<Program> {
        if values.len() != self.inputs.len() {
            return Err(Error::invalid(format!("the model takes {} inputs, got {}", self.inputs.len(), values.len())));
        }
        for (port, value) in self.inputs.iter().zip(values) {
            let fits = port.ty.as_ref().is_none_or(|ty| {
                ty.dtype() == value.dtype() && Shape::known(value.dims()).is_subtype_of(&ty.shape().erased())
            });
            if !fits {
                let due = port.ty.as_ref().map(Type::to_string).unwrap_or_default();
                return Err(Error::invalid(format!("expected {due}, got {}", Type::of(value))).argument(&port.name));
            }
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let wanted = made.wanted.clone();
            let key: Vec<Key> = values.iter().enumerate().map(|(i, v)| key_of(v, &wanted, i)).collect();
            if let Some(program) = made.programs.get(&key) {
                return Ok(program.clone());
            }
            let given: Vec<Given> = (0..values.len()).map(|i| self.given_for(i, &values[i], &wanted)).collect();
            match self.make(&given, false)? {
                (Ok(program), _) => {
                    if made.programs.len() == KEPT {
                        made.programs.clear();
                    }
                    made.programs.insert(key, program.clone());
                    return Ok(program);
                }
                (Err(error), more) => {
                    let before = (made.wanted.values.len(), made.wanted.shapes);
                    made.wanted.values.extend(more.values);
                    made.wanted.shapes |= more.shapes;
                    if before == (made.wanted.values.len(), made.wanted.shapes) {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn given_for(&self, index: usize, value: &Tensor, wanted: &Wanted) -> Given {
        if wanted.values.contains(&index) {
            return Given::Value(value.clone());
        }
        let ty = self.inputs[index].ty.clone().unwrap_or(Type::of(value));
        let unranked = ty.shape().rank().is_none() && value.dtype() != DType::Variant;
        match () {
            () if wanted.shapes => Given::Type(Type::of(value)),
            () if unranked => Given::Type(ty.with_shape(Shape::new(vec![Dim::Unknown; value.rank()]))),
            () => Given::Type(ty),
        }
    }

    /// Runs the model on values in the order of [`Model::inputs`]; gives those of the outputs.
    ///
    /// # Errors
    /// As [`Model::program_for`]; what running says.
    pub fn run(&self, values: &[Tensor]) -> Result<Vec<Tensor>> {
        let program = self.program_for(values)?;
        let args: Vec<(&str, Arg)> =
            self.inputs.iter().zip(values).map(|(port, value)| (port.name.as_str(), value.clone().into())).collect();
        program.function(MAIN)?.run(&args)
    }
}

fn key_of(value: &Tensor, wanted: &Wanted, index: usize) -> Key {
    if wanted.values.contains(&index) {
        let bytes = match value.dtype() {
            DType::Str => {
                value.strings().iter().flat_map(|s| [&(s.len() as u64).to_le_bytes(), &s[..]].concat()).collect()
            }
            _ => value.bytes().to_vec(),
        };
        return Key::Value(value.dims().to_vec(), bytes);
    }
    // An input of unknown rank is of the rank of the call.
    if wanted.shapes { Key::Shape(value.dims().to_vec()) } else { Key::Any }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("inputs", &self.inputs).field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

/// The tensor in a file of its own, as the data of ONNX's tests are.
///
/// # Errors
/// `InvalidArgument` for bytes that are no tensor.
pub fn tensor_from_bytes(bytes: &[u8]) -> Result<Tensor> {
    decode(&proto::lone_tensor(bytes)?, &Files { directory: None })
}
