//! A program: functions with names, and the variables that they share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_exec::{Arg, Place, StdEnv, Variable, executable};
use penstock_ir::{Attr, Env, Function, Graph, NoEnv, Type, require_portable};
use penstock_kernels::pool;

/// The surroundings of [`ProgramFunction::run`]: prints go to the process's streams.
static STD_ENV: StdEnv = StdEnv::new(0);

/// The signature that is meant where none is named.
const DEFAULT_SIGNATURE: &str = "serving_default";

/// Functions with names, and the variables that they share.
///
/// Any number of threads may use a program at once; a clone is the same program. A run takes no lock but that of a
/// variable at the moment of an access. [`Program::fork`] makes a program with variables of its own.
///
/// ```
/// use std::sync::Arc;
///
/// use penstock_data::{DType, Shape, Tensor};
/// use penstock_exec::Variable;
/// use penstock_format::{Capture, Program};
/// use penstock_ir::parse_function;
///
/// # fn main() -> penstock_data::Result<()> {
/// let text = "
///     func @count(%by: i64[], %n: var i64[]) -> i64[] {
///       assign_add %n, %by
///       %now = read_variable %n
///       return %now
///     }";
/// let mut program = Program::builder();
/// let n = Variable::new("n", DType::I64, Shape::scalar(), Some(Tensor::from(5i64)))?;
/// let n = program.variable(n, false);
/// let count = parse_function(text, &penstock_ops::Ops, &penstock_ir::no_hosts)?;
/// program.function("count", count, &["by"], &["total"], vec![Capture::Variable(n)]);
/// let program = program.finish()?;
/// let bytes = program.to_bytes()?;
///
/// let loaded = Program::from_bytes(&bytes)?;
/// let total = loaded.function("count")?.run(&[("by", Tensor::from(2i64).into())])?;
/// assert_eq!(total[0].item::<i64>(), Some(7));
/// assert_eq!(loaded.variable("n")?.read()?.item::<i64>(), Some(7));
/// assert_eq!(program.variable("n")?.read()?.item::<i64>(), Some(5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Program {
    pub(crate) shared: Arc<Shared>,
    pub(crate) variables: Arc<[ProgramVariable]>,
    /// The most threads that a run may use; 0 where nothing limits it.
    threads: usize,
}

/// What forks of a program share.
pub(crate) struct Shared {
    pub(crate) functions: Vec<Entry>,
    pub(crate) signatures: BTreeMap<String, usize>,
    pub(crate) texts: BTreeMap<String, String>,
}

/// A function of a program.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) function: Arc<Function>,
    /// The names of the arguments, then of the outputs.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// The inputs behind the arguments.
    pub(crate) captures: Vec<Capture>,
}

/// A variable of a program.
#[derive(Clone, Debug)]
pub struct ProgramVariable {
    /// The cell, which has its name.
    pub variable: Arc<Variable>,
    /// Whether training is to change it.
    pub trainable: bool,
}

/// What a function takes besides its arguments.
#[derive(Clone, Debug)]
pub enum Capture {
    /// A variable of the program, by its number.
    Variable(usize),
    /// A constant.
    Constant(Tensor),
}

/// Calls `visit` with each graph of functions and of all that they call, once.
pub(crate) fn each_graph(functions: &[Arc<Function>], mut visit: impl FnMut(&Graph)) {
    let (mut seen, mut due) = (HashSet::new(), functions.to_vec());
    while let Some(function) = due.pop() {
        let Some(graph) = function.graph().filter(|_| seen.insert(Arc::as_ptr(&function))) else { continue };
        visit(graph);
        graph.visit(&mut |_, _, data| {
            due.extend(data.attrs.0.iter().filter_map(|attr| match attr {
                Attr::Func(callee) => callee.get().ok(),
                _ => None,
            }));
        });
    }
}

/// Turns a panic, which is a defect of the engine, into an error.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is dropped with it: programs are shared once they are finished.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
}

impl Program {
    /// A program to put together.
    pub fn builder() -> ProgramBuilder {
        ProgramBuilder::default()
    }

    /// The names of the functions, in their order. One name may stand for several, as the traces of one Python function.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.shared.functions.iter().map(|f| &*f.name)
    }

    /// The names of the signatures: functions that programs outside call.
    pub fn signatures(&self) -> impl Iterator<Item = &str> {
        self.shared.signatures.keys().map(String::as_str)
    }

    /// The signature of a name, or else the first function of that name.
    ///
    /// # Errors
    /// `NotFound`, which lists the names that there are.
    pub fn function(&self, name: &str) -> Result<ProgramFunction> {
        let found = self.shared.signatures.get(name).copied();
        let found = found.or_else(|| self.shared.functions.iter().position(|f| f.name == name));
        found.map(|index| self.nth(index)).ok_or_else(|| {
            let mut known: Vec<&str> = self.signatures().chain(self.functions()).collect();
            known.dedup();
            Error::not_found(format!("the program has no function '{name}'; it has {}", listed(&known)))
        })
    }

    /// What is meant where no function is named: the only signature, that named `serving_default`, or the only function.
    ///
    /// # Errors
    /// `NotFound` where there are several, with their names.
    pub fn default_function(&self) -> Result<ProgramFunction> {
        let signatures = &self.shared.signatures;
        let only = match (signatures.len(), self.shared.functions.len()) {
            (1, _) => signatures.values().next().copied(),
            (0, 1) => Some(0),
            _ => signatures.get(DEFAULT_SIGNATURE).copied(),
        };
        only.map(|index| self.nth(index)).ok_or_else(|| {
            let known: Vec<&str> = self.signatures().chain(self.functions()).collect();
            Error::not_found(format!("no function is named, and the program has {}", listed(&known)))
        })
    }

    /// The function of a number, in the order of [`Program::functions`].
    ///
    /// # Errors
    /// `OutOfRange` where the index is not below the count.
    pub fn at(&self, index: usize) -> Result<ProgramFunction> {
        let count = self.shared.functions.len();
        match index < count {
            true => Ok(self.nth(index)),
            false => Err(Error::out_of_range(format!("the program has {count} functions"))),
        }
    }

    /// The function of a number that is below theirs.
    fn nth(&self, index: usize) -> ProgramFunction {
        ProgramFunction { program: self.clone(), index }
    }

    /// The variables, in their order.
    pub fn variables(&self) -> &[ProgramVariable] {
        &self.variables
    }

    /// The first variable of a name.
    ///
    /// # Errors
    /// `NotFound`, which lists the names that there are.
    pub fn variable(&self, name: &str) -> Result<&Arc<Variable>> {
        let found = self.variables.iter().find(|v| v.variable.name() == name);
        found.map(|v| &v.variable).ok_or_else(|| {
            let known: Vec<&str> = self.variables.iter().map(|v| v.variable.name()).collect();
            Error::not_found(format!("the program has no variable '{name}'; it has {}", listed(&known)))
        })
    }

    /// A text that was saved with the program under a name of the writer's own.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.shared.texts.get(name).map(String::as_str)
    }

    /// The same functions over variables of their own, whose values are now what those of this program are. Memory is
    /// shared until a value changes.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub fn fork(&self) -> Result<Program> {
        let copy = |v: &ProgramVariable| {
            let (cell, value) = (&v.variable, v.variable.read().ok());
            let variable = Variable::new(cell.name(), cell.dtype(), cell.shape().clone(), value)?;
            Ok(ProgramVariable { variable, trainable: v.trainable })
        };
        let variables = self.variables.iter().map(copy).collect::<Result<_>>()?;
        Ok(Program { shared: self.shared.clone(), variables, threads: self.threads })
    }

    /// Gives the same program with a limit of threads for its runs, the calling one included. 0 means no limit.
    #[must_use]
    pub fn with_threads(&self, threads: usize) -> Program {
        Program { threads, ..self.clone() }
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let functions: Vec<&str> = self.functions().collect();
        write!(f, "program of {} with {} variables", listed(&functions), self.variables.len())
    }
}

/// A function of a program, with the program that it works on.
#[derive(Clone)]
pub struct ProgramFunction {
    program: Program,
    index: usize,
}

impl ProgramFunction {
    fn entry(&self) -> &Entry {
        &self.program.shared.functions[self.index]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// The program that it works on.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The graph with its callees: the inputs are the arguments, then the captures.
    pub fn function(&self) -> &Arc<Function> {
        &self.entry().function
    }

    /// The name and the type of each argument.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = (&str, &Type)> {
        let entry = self.entry();
        entry.inputs.iter().map(String::as_str).zip(&entry.function.signature().params)
    }

    /// The name and the type of each output.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = (&str, &Type)> {
        let entry = self.entry();
        entry.outputs.iter().map(String::as_str).zip(&entry.function.signature().results)
    }

    /// What it takes besides its arguments.
    pub fn captures(&self) -> &[Capture] {
        &self.entry().captures
    }

    /// Runs it on arguments by name, in any order. The results are in the order of [`ProgramFunction::outputs`].
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is missing, unknown or given twice; as [`ProgramFunction::run_in`].
    pub fn run(&self, inputs: &[(&str, Arg)]) -> Result<Vec<Tensor>> {
        self.run_in(&self.in_order(inputs)?, &STD_ENV)
    }

    /// Runs it as [`ProgramFunction::run`] does, and writes the results to memory of the caller, in the order of
    /// [`ProgramFunction::outputs`]: all, or, where one does not fit or the run fails, none.
    ///
    /// # Errors
    /// As [`ProgramFunction::run`]; as [`Place::write_all`].
    pub fn run_into(&self, inputs: &[(&str, Arg)], outputs: &mut [Place<'_>]) -> Result<()> {
        Place::write_all(outputs, &self.run(inputs)?)
    }

    /// The arguments of those names, in their order.
    fn in_order(&self, inputs: &[(&str, Arg)]) -> Result<Vec<Arg>> {
        let entry = self.entry();
        if let Some((name, _)) = inputs.iter().find(|(n, _)| !entry.inputs.iter().any(|i| i == n)) {
            let known: Vec<&str> = entry.inputs.iter().map(String::as_str).collect();
            return Err(Error::invalid(format!("'{}' takes {}", entry.name, listed(&known))).argument(*name));
        }
        let args = entry.inputs.iter().map(|name| {
            let mut given = inputs.iter().filter(|(n, _)| n == name);
            match (given.next(), given.next()) {
                (Some((_, arg)), None) => Ok(arg.clone()),
                (None, _) => Err(Error::invalid(format!("must be given to '{}'", entry.name)).argument(name)),
                _ => Err(Error::invalid("is given twice").argument(name)),
            }
        });
        args.collect()
    }

    /// Runs it on all arguments in their order, in given surroundings, which may print elsewhere, seed the random
    /// operators, or stop the run.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType` for arguments that do not fit; what the instructions and `env` report.
    pub fn run_in(&self, args: &[Arg], env: &dyn Env) -> Result<Vec<Tensor>> {
        let entry = self.entry();
        if args.len() != entry.inputs.len() {
            let (name, due) = (&entry.name, entry.inputs.len());
            return Err(Error::invalid(format!("'{name}' takes {due} arguments, got {}", args.len())));
        }
        let captured = entry.captures.iter().map(|capture| match capture {
            Capture::Variable(i) => Arg::Variable(self.program.variables[*i].variable.clone()),
            Capture::Constant(t) => Arg::Tensor(t.clone()),
        });
        let args: Vec<Arg> = args.iter().cloned().chain(captured).collect();
        let run = || guard(|| Ok(executable(&entry.function, env)?.run(&args, env)?.into_vec()));
        if self.program.threads == 0 { run() } else { pool::with_limit(self.program.threads, run) }
    }

    /// Makes it ready to run, so that the first run does not have to.
    ///
    /// # Errors
    /// What the optimiser reports.
    pub fn warm_up(&self) -> Result<()> {
        guard(|| executable(&self.entry().function, &NoEnv).map(drop))
    }
}

impl std::fmt::Debug for ProgramFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names =
            |types: Vec<(&str, &Type)>| types.iter().map(|(n, t)| format!("{n}: {t}")).collect::<Vec<_>>().join(", ");
        write!(f, "{}({}) -> ({})", self.name(), names(self.inputs().collect()), names(self.outputs().collect()))
    }
}

/// Puts a program together.
#[derive(Default)]
pub struct ProgramBuilder {
    functions: Vec<Entry>,
    variables: Vec<ProgramVariable>,
    /// The numbers of the variables by their ids.
    numbers: HashMap<u64, usize>,
    signatures: BTreeMap<String, usize>,
    texts: BTreeMap<String, String>,
}

impl ProgramBuilder {
    /// Adds a variable, and gives its number; that of before where it was added already.
    pub fn variable(&mut self, variable: Arc<Variable>, trainable: bool) -> usize {
        *self.numbers.entry(variable.root_id()).or_insert_with(|| {
            self.variables.push(ProgramVariable { variable, trainable });
            self.variables.len() - 1
        })
    }

    /// Adds a function under a name, with the names of its arguments and outputs and what it takes besides them; gives
    /// its number.
    pub fn function(
        &mut self,
        name: &str,
        function: Arc<Function>,
        inputs: &[&str],
        outputs: &[&str],
        captures: Vec<Capture>,
    ) -> usize {
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        let (inputs, outputs) = (owned(inputs), owned(outputs));
        self.functions.push(Entry { name: name.to_owned(), function, inputs, outputs, captures });
        self.functions.len() - 1
    }

    pub(crate) fn entry(&mut self, entry: Entry) {
        self.functions.push(entry);
    }

    /// Gives a function, by its number, a name that programs outside call it by.
    pub fn signature(&mut self, name: &str, function: usize) {
        self.signatures.insert(name.to_owned(), function);
    }

    /// Adds a text of the writer's own, which is kept as it is. Names that start with `penstock.` are taken.
    pub fn text(&mut self, name: &str, text: &str) {
        self.texts.insert(name.to_owned(), text.to_owned());
    }

    /// The program.
    ///
    /// # Errors
    /// `InvalidArgument` for a function whose names and captures are not those of its graph, or a number that stands for
    /// nothing; `FailedPrecondition` for a function without a graph, and one that calls host code.
    pub fn finish(self) -> Result<Program> {
        for entry in &self.functions {
            self.check(entry).map_err(|e| {
                let named = Error::new(e.class(), format!("function '{}': {e}", entry.name));
                e.loc().map_or(named.clone(), |loc| named.at(loc))
            })?;
        }
        if let Some((name, _)) = self.signatures.iter().find(|(_, i)| **i >= self.functions.len()) {
            return Err(Error::invalid(format!("the signature '{name}' is of a function that does not exist")));
        }
        if let Some(name) = self.texts.keys().find(|name| name.starts_with("penstock.")) {
            return Err(Error::invalid(format!("a text of one's own may not be named '{name}'")));
        }
        for entry in &self.functions {
            entry.function.set_captures(entry.captures.len());
        }
        let shared = Shared { functions: self.functions, signatures: self.signatures, texts: self.texts };
        Ok(Program { shared: Arc::new(shared), variables: self.variables.into(), threads: 0 })
    }

    fn check(&self, entry: &Entry) -> Result<()> {
        require_portable(&entry.function)?;
        if entry.function.graph().is_none() {
            return Err(Error::precondition("has no graph"));
        }
        let signature = entry.function.signature();
        let (inputs, captures) = (entry.inputs.len(), entry.captures.len());
        if (inputs + captures, entry.outputs.len()) != (signature.params.len(), signature.results.len()) {
            return Err(Error::invalid(format!(
                "its graph takes {} values and gives {}, named are {inputs} arguments, {captures} captures and {} outputs",
                signature.params.len(),
                signature.results.len(),
                entry.outputs.len()
            )));
        }
        for names in [&entry.inputs, &entry.outputs] {
            let mut seen = HashSet::new();
            if let Some(name) = names.iter().find(|n| !seen.insert(n.as_str())) {
                return Err(Error::invalid(format!("the name '{name}' stands twice")));
            }
        }
        for (capture, due) in entry.captures.iter().zip(&signature.params[inputs..]) {
            let ty = match capture {
                Capture::Constant(t) if t.dtype() == DType::Variant => {
                    return Err(Error::precondition("takes a list of tensors from outside, which cannot be saved"));
                }
                Capture::Constant(t) => Type::of(t),
                Capture::Variable(i) => match self.variables.get(*i) {
                    Some(v) => v.variable.ty(),
                    None => return Err(Error::invalid(format!("there is no variable {i}"))),
                },
            };
            let fits = ty.is_variable() == due.is_variable()
                && ty.dtype() == due.dtype()
                && ty.shape().is_subtype_of(&due.shape().erased());
            if !fits {
                return Err(Error::invalid(format!("takes a {due} from outside, given is a {ty}")));
            }
        }
        Ok(())
    }
}
