//! The parameters of a traced Python function, and the arguments of one call by parameter.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

use crate::keys::{PathSink, TypeSink};
use crate::stack::Stack;
use crate::structure::{Collect, Leaf, Leaves, Sink, rebuild, walk};
use penstock_trace::TraceType;

/// One parameter of the Python function that is neither `*args` nor `**kwargs`.
pub(crate) struct Param {
    pub(crate) name: Py<PyString>,
    pub(crate) text: String,
    default: Option<Py<PyAny>>,
    pub(crate) positional: bool,
    keyword: bool,
}

/// `(name, has_default, default, positional, keyword)`, as Python hands a parameter over.
pub(crate) type Given<'py> = (Bound<'py, PyString>, bool, Py<PyAny>, bool, bool);

impl Param {
    pub(crate) fn new((name, has_default, default, positional, keyword): Given<'_>) -> PyResult<Param> {
        Ok(Param {
            text: name.to_str()?.to_owned(),
            name: name.unbind(),
            default: has_default.then_some(default),
            positional,
            keyword,
        })
    }
}

/// The parameters of the Python function.
pub(crate) struct Params {
    pub(crate) named: Vec<Param>,
    pub(crate) varargs: Option<String>,
    pub(crate) varkw: Option<String>,
    /// How many named parameters, the first, take a positional argument.
    positional: usize,
}

/// The arguments of one call, by parameter.
#[derive(Clone)]
pub(crate) struct Bindings<'py> {
    /// A value for each named parameter.
    pub(crate) named: SmallVec<[Bound<'py, PyAny>; 8]>,
    pub(crate) varargs: SmallVec<[Bound<'py, PyAny>; 2]>,
    /// Sorted by name.
    pub(crate) varkw: Vec<(String, Bound<'py, PyAny>)>,
    /// Whether the first argument is the instance of a method, which counts by identity.
    pub(crate) instance: bool,
}

impl Params {
    pub(crate) fn new(named: Vec<Param>, varargs: Option<String>, varkw: Option<String>) -> Params {
        let positional = named.iter().take_while(|p| p.positional).count();
        Params { named, varargs, varkw, positional }
    }

    /// Walks over the arguments of a call as they lie on the interpreter's stack, in the order in which
    /// [`Bindings::walk`] sees them. False where they do not fit the parameters, or only [`Params::bind`] can tell.
    #[inline]
    pub(crate) fn walk_stack<'py>(
        &self,
        stack: &Stack<'_, 'py>,
        sink: &mut impl Sink,
        leaves: &mut impl Collect<'py>,
    ) -> PyResult<bool> {
        let mut positional = stack.positional();
        let first = usize::from(stack.first.is_some());
        if let Some(instance) = stack.first {
            if self.positional == 0 {
                return Ok(false);
            }
            sink.object(instance, true)?;
        }
        // The commonest case first: as many positional arguments as parameters.
        if positional.len() + first == self.named.len() && self.positional == self.named.len() && stack.is_positional()
        {
            for value in positional {
                walk(&value, sink, leaves)?;
            }
            return Ok(true);
        }
        let mut used = 0;
        for (i, param) in self.named.iter().enumerate().skip(first) {
            if i < self.positional
                && let Some(value) = positional.next()
            {
                walk(&value, sink, leaves)?;
            } else if param.keyword
                && let Some(value) = stack.keyword(&param.name)
            {
                used += 1;
                walk(&value, sink, leaves)?;
            } else if let Some(default) = &param.default {
                walk(default.bind(stack.py()), sink, leaves)?;
            } else {
                return Ok(false);
            }
        }
        if used != stack.keywords() || (positional.len() > 0 && self.varargs.is_none()) {
            return Ok(false);
        }
        for value in positional {
            walk(&value, sink, leaves)?;
        }
        Ok(true)
    }

    /// The argument of named parameter `i` of a call that [`Params::walk_stack`] took.
    pub(crate) fn argument<'py>(&self, stack: &Stack<'_, 'py>, i: usize) -> Option<Bound<'py, PyAny>> {
        let param = self.named.get(i)?;
        let first = usize::from(stack.first.is_some());
        if i < first {
            return stack.first.cloned();
        }
        let positional = if i < self.positional { stack.positional().nth(i - first) } else { None };
        let given = positional.or_else(|| stack.keyword(&param.name)).map(|value| value.to_owned());
        given.or_else(|| param.default.as_ref().map(|default| default.bind(stack.py()).clone()))
    }

    /// Binds arguments; `None` where they do not fit the parameters. Parameters without argument and
    /// default are left to `fill`.
    pub(crate) fn bind<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        fill: &dyn Fn(usize) -> Option<Bound<'py, PyAny>>,
    ) -> Option<Bindings<'py>> {
        // The commonest case first: as many positional arguments as parameters.
        let given = args.len() + usize::from(first.is_some());
        if kwargs.is_none() && given == self.named.len() && self.positional == self.named.len() {
            let mut named = SmallVec::new();
            named.extend(first.cloned());
            for value in args.iter_borrowed() {
                named.push(value.to_owned());
            }
            let instance = first.is_some();
            return Some(Bindings { named, varargs: SmallVec::new(), varkw: Vec::new(), instance });
        }
        let mut positional = first.cloned().into_iter().chain(args.iter());
        let mut out = Bindings {
            named: SmallVec::new(),
            varargs: SmallVec::new(),
            varkw: Vec::new(),
            instance: first.is_some() && self.named.first().is_some_and(|p| p.positional),
        };
        let mut used = 0;
        for (i, param) in self.named.iter().enumerate() {
            let given = if param.positional { positional.next() } else { None };
            let keyword = match kwargs {
                Some(kwargs) if param.keyword => kwargs.get_item(&param.name).ok().flatten(),
                _ => None,
            };
            let value = match (given, keyword) {
                (Some(v), None) => v,
                (None, Some(v)) => {
                    used += 1;
                    v
                }
                (None, None) => match fill(i) {
                    Some(value) => value,
                    None => param.default.as_ref()?.bind(py).clone(),
                },
                (Some(_), Some(_)) => return None,
            };
            out.named.push(value);
        }
        out.varargs.extend(positional);
        if !out.varargs.is_empty() && self.varargs.is_none() {
            return None;
        }
        if let Some(kwargs) = kwargs
            && kwargs.len() > used
        {
            self.varkw.as_ref()?;
            for (key, value) in kwargs.iter() {
                let key: String = key.extract().ok()?;
                if !self.named.iter().any(|p| p.keyword && p.text == key) {
                    out.varkw.push((key, value));
                }
            }
            out.varkw.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Some(out)
    }

    /// The names as a signature lists them: `a, b, *rest`.
    pub(crate) fn list(&self) -> String {
        let mut names: Vec<String> = self.named.iter().map(|p| p.text.clone()).collect();
        names.extend(self.varargs.iter().map(|n| format!("*{n}")));
        names.extend(self.varkw.iter().map(|n| format!("**{n}")));
        names.join(", ")
    }

    /// For the garbage collector: the Python objects that it holds.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.named.iter().filter_map(|p| p.default.as_ref()).try_for_each(|d| visit.call(d))
    }
}

impl<'py> Bindings<'py> {
    /// What gives the argument of a named parameter.
    pub(crate) fn argument(&self) -> impl Fn(usize) -> Option<Bound<'py, PyAny>> {
        |i| self.named.get(i).cloned()
    }

    #[inline]
    pub(crate) fn walk(&self, sink: &mut impl Sink, leaves: &mut impl Collect<'py>) -> PyResult<()> {
        let mut named = self.named.iter();
        if self.instance
            && let Some(instance) = named.next()
        {
            sink.object(instance, true)?;
        }
        for value in named {
            walk(value, sink, leaves)?;
        }
        for value in &self.varargs {
            walk(value, sink, leaves)?;
        }
        for (key, value) in &self.varkw {
            sink.text(b'k', key.as_bytes());
            walk(value, sink, leaves)?;
        }
        Ok(())
    }

    /// The trace type.
    pub(crate) fn trace_type(&self) -> PyResult<TraceType> {
        let mut sink = TypeSink::default();
        self.walk(&mut sink, &mut Leaves::new())?;
        Ok(sink.finish())
    }

    /// A name for each token of the trace type.
    pub(crate) fn paths(&self, params: &Params) -> PyResult<Vec<String>> {
        let (mut sink, mut leaves) = (PathSink::default(), Leaves::new());
        for (i, (value, param)) in self.named.iter().zip(&params.named).enumerate() {
            sink.at(&param.text);
            if self.instance && i == 0 {
                sink.object(value, true)?;
            } else {
                walk(value, &mut sink, &mut leaves)?;
            }
        }
        for (i, value) in self.varargs.iter().enumerate() {
            sink.at(&format!("{}[{i}]", params.varargs.as_deref().unwrap_or("args")));
            walk(value, &mut sink, &mut leaves)?;
        }
        for (key, value) in &self.varkw {
            sink.at(key);
            sink.text(b'k', key.as_bytes());
            walk(value, &mut sink, &mut leaves)?;
        }
        Ok(sink.paths)
    }

    /// The same bindings with each leaf replaced, and other objects as `None` leaves. `replace` is told the
    /// name of the parameter.
    pub(crate) fn replaced(
        &self,
        replace: &mut dyn FnMut(&str, Option<&Leaf<'py>>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
        params: &Params,
    ) -> PyResult<Bindings<'py>> {
        let mut out =
            Bindings { named: SmallVec::new(), varargs: SmallVec::new(), varkw: Vec::new(), instance: self.instance };
        for (i, (value, param)) in self.named.iter().zip(&params.named).enumerate() {
            out.named.push(if self.instance && i == 0 {
                replace(&param.text, None, value)?
            } else {
                rebuild(value, &mut |leaf, v| replace(&param.text, leaf, v))?
            });
        }
        let name = params.varargs.as_deref().unwrap_or("args");
        for (i, value) in self.varargs.iter().enumerate() {
            let name = format!("{name}_{i}");
            out.varargs.push(rebuild(value, &mut |leaf, v| replace(&name, leaf, v))?);
        }
        for (key, value) in &self.varkw {
            out.varkw.push((key.clone(), rebuild(value, &mut |leaf, v| replace(key, leaf, v))?));
        }
        Ok(out)
    }

    /// The arguments of a Python call.
    pub(crate) fn call_args(
        &self,
        py: Python<'py>,
        params: &Params,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let kwargs = PyDict::new(py);
        let mut args: Vec<Bound<'py, PyAny>> = Vec::new();
        for (value, param) in self.named.iter().zip(&params.named) {
            if param.positional {
                args.push(value.clone());
            } else {
                kwargs.set_item(&param.name, value)?;
            }
        }
        args.extend(self.varargs.iter().cloned());
        for (key, value) in &self.varkw {
            kwargs.set_item(key, value)?;
        }
        Ok((PyTuple::new(py, args)?, kwargs))
    }
}
