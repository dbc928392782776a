//! Times of calls.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::arguments::{Arguments, Failure};
use crate::files::load;
use crate::{show, values};

/// How long calls are repeated where no number is given.
const ENOUGH: Duration = Duration::from_secs(1);

/// `penstock bench FILE [FUNCTION] [NAME=VALUE…]`.
pub(crate) fn bench(mut arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.due("the file")?;
    let began = Instant::now();
    let program = load(&path, arguments.flag("files"), arguments.number("threads")?.unwrap_or(0))?;
    let loaded = began.elapsed();
    let function = show::function(&program, arguments.plain().as_deref())?;
    let runs = arguments.number("runs")?;
    if runs == Some(0) {
        return Err(Failure::Usage("--runs is at least 1".into()));
    }
    let size = |text: &str| {
        let wrong = || Failure::Usage(format!("--size is NAME=N, not {text:?}"));
        let (name, n) = text.split_once('=').ok_or_else(wrong)?;
        Ok((name.to_owned(), n.parse().map_err(|_| wrong())?))
    };
    let sizes = arguments.all("size").map(size).collect::<Result<Vec<_>, Failure>>()?;
    let mut given = values::given(&mut arguments, &function)?;
    for (name, ty) in function.inputs() {
        if !given.iter().any(|(n, _)| n == name) {
            given.push((name.to_owned(), values::made_up(name, ty, &sizes)?));
        }
    }
    let args = values::args(&given);
    let call = || -> Result<Duration, Failure> {
        let began = Instant::now();
        function.run(&args)?;
        Ok(began.elapsed())
    };
    let first = call()?;
    let (began, mut times) = (Instant::now(), Vec::new());
    while runs.map_or(began.elapsed() < ENOUGH, |n| times.len() < n) || times.is_empty() {
        times.push(call()?);
    }
    times.sort();
    let ms = |d: Duration| format!("{:.3} ms", d.as_secs_f64() * 1e3);
    let text = format!(
        "load      {}\nfirst run {}\nruns      {}\nfastest   {}\nmedian    {}\n99th      {}\n",
        ms(loaded),
        ms(first),
        times.len(),
        ms(times[0]),
        ms(times[times.len() / 2]),
        ms(times[times.len() * 99 / 100]),
    );
    crate::put(out, &text)
}
