//! Variables: cells that outlive a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_ir::Type;
use smallvec::SmallVec;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A handle to a cell that holds a tensor, or nothing yet.
///
/// Reads are snapshots: later assignments never change a tensor that was read.
pub struct Variable {
    id: u64,
    name: String,
    dtype: DType,
    shape: Shape,
    value: Mutex<Option<Tensor>>,
    /// The variable whose value this one shows, where it stands in for another.
    origin: Option<Arc<Variable>>,
}

impl Variable {
    /// A variable whose values have this dtype and a shape that `shape` allows.
    ///
    /// # Errors
    /// `DType` or `InvalidArgument` where the first value does not fit.
    pub fn new(name: &str, dtype: DType, shape: Shape, value: Option<Tensor>) -> Result<Arc<Variable>> {
        // A symbol means nothing outside of the graph that it came from.
        let shape = shape.erased();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let variable = Variable { id, name: name.into(), dtype, shape, value: Mutex::new(None), origin: None };
        if let Some(value) = value {
            variable.assign(value)?;
        }
        Ok(Arc::new(variable))
    }

    /// A variable that stands in for another while a function is traced: it has an id of its own, and
    /// the other's value.
    pub fn stand_in(self: &Arc<Variable>) -> Arc<Variable> {
        Arc::new(Variable {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name: self.name.clone(),
            dtype: self.dtype,
            shape: self.shape.clone(),
            value: Mutex::new(None),
            origin: Some(self.clone()),
        })
    }

    /// Another variable of the same name and type, without a value.
    pub fn without_value(&self) -> Arc<Variable> {
        Arc::new(Variable {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name: self.name.clone(),
            dtype: self.dtype,
            shape: self.shape.clone(),
            value: Mutex::new(None),
            origin: None,
        })
    }

    /// What it stands in for.
    pub fn origin(&self) -> Option<&Arc<Variable>> {
        self.origin.as_ref()
    }

    /// The id of the variable whose value it shows: its own, unless it stands in for another.
    pub fn root_id(&self) -> u64 {
        self.origin.as_ref().map_or(self.id, |o| o.root_id())
    }

    /// A number of its own, never used again.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dtype of its values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of its values; sizes that may change are unknown.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The type of a graph input that stands for it.
    pub fn ty(&self) -> Type {
        Type::Variable(self.dtype, self.shape.clone())
    }

    /// Whether it has a value.
    pub fn is_initialized(&self) -> bool {
        self.cell().is_some()
    }

    /// The value now.
    ///
    /// # Errors
    /// `FailedPrecondition` where there is none.
    pub fn read(&self) -> Result<Tensor> {
        self.cell().clone().ok_or_else(|| self.uninitialized())
    }

    /// Makes `out` the value now.
    ///
    /// # Errors
    /// As [`Variable::read`].
    pub fn read_into(&self, out: &mut Tensor) -> Result<()> {
        let value = match &*self.cell() {
            Some(value) if out.set_inline(value) => return Ok(()),
            value => value.clone(),
        };
        *out = value.ok_or_else(|| self.uninitialized())?;
        Ok(())
    }

    /// Replaces the value by one that the caller keeps.
    ///
    /// # Errors
    /// As [`Variable::assign`].
    pub fn assign_from(&self, value: &Tensor) -> Result<()> {
        if let Some(own) = &mut *self.cell()
            && own.set_inline(value)
        {
            return Ok(());
        }
        self.assign(value.clone())
    }

    /// Replaces the value.
    ///
    /// # Errors
    /// `DType` or `InvalidArgument` where it does not fit.
    pub fn assign(&self, value: Tensor) -> Result<()> {
        self.check(&value)?;
        let old = self.cell().replace(value);
        drop(old); // outside of the lock
        Ok(())
    }

    /// Changes the value: `f` gets it for writing, and writes in place where nobody else holds its
    /// buffer. It is to leave a value of a dtype and shape that the variable takes, even where it fails or panics: where it does
    /// not, the variable has no value any more.
    ///
    /// `f` runs while the cell is locked: it must not touch this variable, run host code, or drop a value that it
    /// replaces, whose memory may be the host's; it returns that, for the caller to drop.
    ///
    /// # Errors
    /// Those of `f`; `FailedPrecondition` where there is no value; `DType` or `InvalidArgument` where `f` leaves one that does not
    /// fit.
    pub fn update<R>(&self, f: impl FnOnce(&mut Tensor) -> Result<R>) -> Result<R> {
        let mut open = Open { variable: self, cell: self.cell(), closed: false, wrong: None };
        let result = f(open.cell.as_mut().ok_or_else(|| self.uninitialized())?);
        let checked = open.close();
        let result = result?;
        checked.map(|()| result)
    }

    /// How many elements an update has to copy first, since somebody else sees them too; no number is enough where somebody
    /// is at the variable, perhaps for long.
    pub(crate) fn elements_to_copy(&self) -> usize {
        if let Some(origin) = &self.origin {
            return origin.elements_to_copy();
        }
        let shared = |value: &mut Tensor| if value.as_mut_ptr().is_none() { value.len() } else { 0 };
        match self.value.try_lock() {
            Ok(mut cell) => cell.as_mut().map_or(0, shared),
            Err(TryLockError::Poisoned(cell)) => cell.into_inner().as_mut().map_or(0, shared),
            Err(TryLockError::WouldBlock) => usize::MAX,
        }
    }

    fn cell(&self) -> MutexGuard<'_, Option<Tensor>> {
        match &self.origin {
            None => self.value.lock().unwrap_or_else(PoisonError::into_inner),
            Some(origin) => origin.cell(),
        }
    }

    fn check(&self, value: &Tensor) -> Result<()> {
        if value.dtype() != self.dtype {
            return Err(Error::dtype(format!(
                "variable '{}' has dtype {}, the value {}",
                self.name,
                self.dtype.tf_name(),
                value.dtype().tf_name()
            )));
        }
        let fits = self.shape.dims().is_none_or(|dims| {
            dims.len() == value.rank()
                && dims.iter().zip(value.dims()).all(|(d, &n)| !matches!(*d, Dim::Known(k) if k != n))
        });
        if fits {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "variable '{}' has shape {}, the value {}",
            self.name,
            self.shape,
            Shape::known(value.dims())
        )))
    }

    #[cold]
    fn uninitialized(&self) -> Error {
        Error::precondition(format!("variable '{}' has no value yet", self.name))
    }
}

/// Whether a variable is twice among some, as itself or as what stands in for it.
pub(crate) fn is_any_twice(variables: &[&Variable]) -> bool {
    let mut ids: SmallVec<[u64; 8]> = variables.iter().map(|v| v.root_id()).collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}

/// Changes the values of variables as a whole, as [`Variable::update`] does that of one. Each is another variable. All are locked
/// meanwhile, in the order of their ids, so that no two such changes wait for each other.
///
/// # Errors
/// As [`Variable::update`].
pub(crate) fn update_all<R>(variables: &[&Variable], f: impl FnOnce(&mut [&mut Tensor]) -> Result<R>) -> Result<R> {
    let mut order: SmallVec<[usize; 8]> = (0..variables.len()).collect();
    order.sort_unstable_by_key(|&i| variables[i].root_id());
    let mut open: Vec<Open<'_>> = order
        .iter()
        .map(|&i| Open { variable: variables[i], cell: variables[i].cell(), closed: false, wrong: None })
        .collect();
    let mut values: Vec<(usize, &mut Tensor)> = Vec::with_capacity(open.len());
    for (&i, open) in order.iter().zip(&mut open) {
        values.push((i, open.cell.as_mut().ok_or_else(|| variables[i].uninitialized())?));
    }
    values.sort_unstable_by_key(|(i, _)| *i);
    let result = f(&mut values.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
    let checked = open.iter_mut().try_for_each(Open::close);
    let result = result?;
    checked.map(|()| result)
}

/// A value that is being changed. Whatever ends that, a panic too, a value that does not fit does not stay.
struct Open<'a> {
    variable: &'a Variable,
    cell: MutexGuard<'a, Option<Tensor>>,
    /// Whether the value was looked at after the change.
    closed: bool,
    /// The value that did not fit. Fields are dropped in order: it goes when the cell is open to others again.
    wrong: Option<Tensor>,
}

impl Open<'_> {
    #[inline]
    fn close(&mut self) -> Result<()> {
        self.closed = true;
        let Some(value) = &*self.cell else { return Ok(()) };
        self.variable.check(value).inspect_err(|_| self.wrong = self.cell.take())
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.closed {
            let _ = self.close();
        }
    }
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "variable '{}' {}{}", self.name, self.dtype, self.shape)
    }
}

/// What a graph input stands for in one run.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A tensor.
    Tensor(Tensor),
    /// A variable.
    Variable(Arc<Variable>),
}

impl Arg {
    /// The tensor, where it is one.
    pub fn tensor(&self) -> Option<&Tensor> {
        match self {
            Arg::Tensor(t) => Some(t),
            Arg::Variable(_) => None,
        }
    }

    /// The variable, where it is one.
    pub fn variable(&self) -> Option<&Arc<Variable>> {
        match self {
            Arg::Tensor(_) => None,
            Arg::Variable(v) => Some(v),
        }
    }

    /// Its exact type.
    pub fn ty(&self) -> Type {
        match self {
            Arg::Tensor(t) => Type::of(t),
            Arg::Variable(v) => v.ty(),
        }
    }
}

/// The variable at a place of the arguments of a graph.
pub(crate) fn variable(args: &[Arg], index: usize) -> Result<&Arc<Variable>> {
    args.get(index).and_then(Arg::variable).ok_or_else(|| Error::internal("an argument is not a variable"))
}

impl From<Tensor> for Arg {
    fn from(tensor: Tensor) -> Arg {
        Arg::Tensor(tensor)
    }
}

impl From<Arc<Variable>> for Arg {
    fn from(variable: Arc<Variable>) -> Arg {
        Arg::Variable(variable)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use penstock_data::Class;

    use super::*;

    #[test]
    fn an_update_that_leaves_another_type_leaves_no_value() {
        let variable =
            || Variable::new("v", DType::F32, Shape::known(&[8]), Tensor::zeros(DType::F32, &[8]).ok()).unwrap();
        let wrong = || Tensor::zeros(DType::F64, &[1000]).unwrap();

        let v = variable();
        let put = |v: &Variable, new: Tensor| {
            v.update(|value| {
                *value = new;
                Ok(())
            })
        };
        let error = put(&v, wrong()).unwrap_err();
        assert_eq!(error.class(), Class::DType);
        assert_eq!(v.read().unwrap_err().class(), Class::FailedPrecondition);

        let v = variable();
        let error = put(&v, Tensor::zeros(DType::F32, &[9]).unwrap()).unwrap_err();
        assert_eq!(error.class(), Class::InvalidArgument);
        assert!(!v.is_initialized());

        // Where the change fails or panics on its way, too.
        let v = variable();
        let error = v.update(|value| {
            *value = wrong();
            Err::<(), _>(Error::cancelled("enough"))
        });
        assert_eq!(error.unwrap_err().class(), Class::Cancelled);
        assert!(!v.is_initialized());

        let v = variable();
        let panic = catch_unwind(AssertUnwindSafe(|| {
            v.update::<()>(|value| {
                *value = wrong();
                panic!("enough");
            })
        }));
        assert!(panic.is_err() && !v.is_initialized());
        v.assign(Tensor::zeros(DType::F32, &[8]).unwrap()).unwrap();
        put(&v, Tensor::zeros(DType::F32, &[8]).unwrap()).unwrap();
    }
}
