//! The arguments of a command.

use penstock::Error;

/// Why a command ends early.
pub(crate) enum Failure {
    /// It was not understood.
    Usage(String),
    /// The program is not as it should be, or failed.
    Program(Error),
    /// Nothing can be written.
    Output(std::io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Program(error)
    }
}

/// Arguments by place and options by name.
pub(crate) struct Arguments {
    places: std::collections::VecDeque<String>,
    options: Vec<(&'static str, String)>,
    flags: Vec<&'static str>,
}

impl Arguments {
    /// Reads the arguments of a command that has these options, which take a value, and these flags.
    pub(crate) fn read(
        all: Vec<String>,
        options: &[&'static str],
        flags: &[&'static str],
    ) -> Result<Arguments, Failure> {
        let mut read = Arguments { places: Default::default(), options: Vec::new(), flags: Vec::new() };
        let mut all = all.into_iter();
        while let Some(argument) = all.next() {
            let named = match argument.as_str() {
                "-o" => Some("outputs"),
                other => other.strip_prefix("--"),
            };
            let Some(named) = named else {
                read.places.push_back(argument);
                continue;
            };
            let (name, value) = named.split_once('=').map_or((named, None), |(n, v)| (n, Some(v.to_owned())));
            if let Some(flag) = flags.iter().find(|f| **f == name && value.is_none()) {
                read.flags.push(flag);
            } else if let Some(option) = options.iter().find(|o| **o == name) {
                let value = value.or_else(|| all.next());
                let value = value.ok_or_else(|| Failure::Usage(format!("{argument} needs a value")))?;
                read.options.push((option, value));
            } else {
                return Err(Failure::Usage(format!("there is no option {argument}")));
            }
        }
        Ok(read)
    }

    /// The next argument by place.
    pub(crate) fn due(&mut self, what: &str) -> Result<String, Failure> {
        self.places.pop_front().ok_or_else(|| Failure::Usage(format!("{what} is missing")))
    }

    /// The next argument by place, where it is no `NAME=VALUE`.
    pub(crate) fn plain(&mut self) -> Option<String> {
        if self.places.front().is_some_and(|a| !a.contains('=')) { self.places.pop_front() } else { None }
    }

    /// The other arguments by place, each a `NAME=VALUE`.
    pub(crate) fn pairs(&mut self) -> Result<Vec<(String, String)>, Failure> {
        let pair = |a: String| match a.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(Failure::Usage(format!("{a} is no NAME=VALUE"))),
        };
        std::mem::take(&mut self.places).into_iter().map(pair).collect()
    }

    /// Fails where an argument is left.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        match self.places.front() {
            Some(more) => Err(Failure::Usage(format!("{more} is one argument too many"))),
            None => Ok(()),
        }
    }

    /// Whether a flag is given.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }

    /// The values of an option, in their order.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option; the last, where it stands several times.
    pub(crate) fn option<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).last()
    }

    /// The number that is the value of an option.
    pub(crate) fn number(&self, name: &str) -> Result<Option<usize>, Failure> {
        let number = |v: &str| v.parse().map_err(|_| Failure::Usage(format!("--{name} is a number, not {v:?}")));
        self.option(name).map(number).transpose()
    }
}
