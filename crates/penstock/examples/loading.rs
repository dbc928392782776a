//! How long programs take to load, and what many runs and loads cost: `make bench-embedding`. Prints a table.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use penstock::attributes::{Conv, MaxPool, ReduceMean};
use penstock::{
    Arg, Builder, Capture, DType, Dim, Function, Loader, Operators, Program, ProgramBuilder, Result, Shape, Tensor,
    Type, Value, Variable, builder,
};

/// A network under construction: its graph, and what it captures.
struct Network {
    g: Builder,
    program: ProgramBuilder,
    /// The weights, whose inputs follow the arguments.
    captures: Vec<(Value, Capture)>,
}

/// Numbers that look like weights.
fn weights(dims: &[usize], at: usize) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let scale = 1.0 / (count as f32 / dims.last().copied().unwrap_or(1) as f32).sqrt();
    let value = |i: usize| (((i + at) * 2_654_435_761 % 1_000_003) as f32 / 1_000_003.0 - 0.5) * scale;
    Tensor::from_slice(dims, &(0..count).map(value).collect::<Vec<f32>>())
}

impl Network {
    fn new() -> Network {
        Network { g: builder(), program: Program::builder(), captures: Vec::new() }
    }

    fn argument(&mut self, dims: &[usize]) -> Value {
        let rows = Dim::Sym(self.g.fresh_symbol());
        let shape = Shape::new([rows].into_iter().chain(dims.iter().map(|&d| Dim::Known(d))));
        self.g.input(Type::tensor(DType::F32, shape), Some("x"))
    }

    /// The value of a variable of the program.
    fn weight(&mut self, dims: &[usize]) -> Result<Value> {
        let number = self.captures.len();
        let name = format!("weight_{number}");
        let variable = Variable::new(&name, DType::F32, Shape::known(dims), Some(weights(dims, number)?))?;
        let input = self.g.input(variable.ty(), Some(&name));
        let number = self.program.variable(variable, true);
        self.captures.push((input, Capture::Variable(number)));
        self.g.read_variable(input)
    }

    /// A convolution and its normalisation.
    fn conv(&mut self, x: Value, k: usize, ins: usize, outs: usize, stride: i64) -> Result<Value> {
        let filters = self.weight(&[k, k, ins, outs])?;
        let y = self.g.conv_with(x, filters, Conv::new().strides(&[stride, stride]).padding("SAME"))?;
        let [mean, variance, gamma, beta] = [0; 4].map(|_| self.weight(&[outs]));
        let epsilon = self.g.constant(Tensor::scalar(1.001e-5f32));
        // Weights of either sign stand for variances.
        let variance = self.g.square(variance?)?;
        let variance = self.g.add(variance, epsilon)?;
        let scale = self.g.rsqrt(variance)?;
        let scale = self.g.mul(scale, gamma?)?;
        let centred = self.g.sub(y, mean?)?;
        let scaled = self.g.mul(centred, scale)?;
        self.g.add(scaled, beta?)
    }

    /// A block of three convolutions beside a shortcut.
    fn block(&mut self, x: Value, ins: usize, width: usize, stride: i64, project: bool) -> Result<Value> {
        let shortcut = if project { self.conv(x, 1, ins, 4 * width, stride)? } else { x };
        let a = self.conv(x, 1, ins, width, stride)?;
        let a = self.g.relu(a)?;
        let b = self.conv(a, 3, width, width, 1)?;
        let b = self.g.relu(b)?;
        let c = self.conv(b, 1, width, 4 * width, 1)?;
        let sum = self.g.add(shortcut, c)?;
        self.g.relu(sum)
    }

    fn dense(&mut self, x: Value, ins: usize, outs: usize) -> Result<Value> {
        let (w, b) = (self.weight(&[ins, outs])?, self.weight(&[outs])?);
        let product = self.g.matmul(x, w)?;
        self.g.bias_add(product, b)
    }

    fn finish(mut self, output: Value) -> Result<Program> {
        let probabilities = self.g.softmax(output)?;
        let function = Function::new("serve", self.g.finish(&[probabilities])?);
        let captures = self.captures.into_iter().map(|(_, capture)| capture).collect();
        self.program.function("serve", function.into(), &["x"], &["probabilities"], captures);
        self.program.finish()
    }
}

/// The layers and weights of ResNet50.
fn resnet50() -> Result<Program> {
    let mut n = Network::new();
    let x = n.argument(&[224, 224, 3]);
    let x = n.conv(x, 7, 3, 64, 2)?;
    let x = n.g.relu(x)?;
    let mut x = n.g.max_pool_with(x, &[3, 3], MaxPool::new().strides(&[2, 2]).padding("SAME"))?;
    let mut ins = 64;
    for (width, blocks, stride) in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)] {
        for i in 0..blocks {
            x = n.block(x, ins, width, if i == 0 { stride } else { 1 }, i == 0)?;
            ins = 4 * width;
        }
    }
    let x = n.g.reduce_mean_with(x, ReduceMean::new().axes(&[1, 2]))?;
    let x = n.dense(x, 2048, 1000)?;
    n.finish(x)
}

/// A network for handwritten digits.
fn mlp() -> Result<Program> {
    let mut n = Network::new();
    let x = n.argument(&[784]);
    let x = n.dense(x, 784, 256)?;
    let x = n.g.relu(x)?;
    let x = n.dense(x, 256, 10)?;
    n.finish(x)
}

/// The least time of some tries.
fn least(tries: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..tries {
        let began = Instant::now();
        work()?;
        least = least.min(began.elapsed());
    }
    Ok(least)
}

/// What of the memory of this process is resident, in MB; 0 where nobody says.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

fn row(what: &str, figure: impl std::fmt::Display) {
    println!("| {what} | {figure} |");
}

fn ms(d: Duration) -> String {
    format!("{:.1} ms", d.as_secs_f64() * 1e3)
}

/// Ten thousand runs from eight threads; how many gave another result than the first.
fn many_runs(path: &str) -> Result<(Duration, usize)> {
    const THREADS: usize = 8;
    const EACH: usize = 1250;
    let f = Program::load(path)?.default_function()?;
    let x = Tensor::from_slice(&[1, 784], &(0..784).map(|i| (i % 29) as f32 / 29.0).collect::<Vec<_>>())?;
    let first = f.run(&[("x", Arg::Tensor(x.clone()))])?;
    let began = Instant::now();
    let others = |_| -> Result<usize> {
        let mut others = 0;
        for _ in 0..EACH {
            others += usize::from(f.run(&[("x", Arg::Tensor(x.clone()))])?[0].bytes() != first[0].bytes());
        }
        Ok(others)
    };
    let differing = std::thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|i| s.spawn(move || others(i))).collect();
        threads.into_iter().map(|t| t.join().expect("a run does not panic")).sum::<Result<usize>>()
    })?;
    Ok((began.elapsed(), differing))
}

#[expect(unsafe_code, reason = "maps a file")]
fn figures(folder: &std::path::Path) -> Result<()> {
    let file = |name: &str| folder.join(name).to_str().expect("a temporary folder has a name in UTF-8").to_owned();
    let (large, small) = (file("resnet50.penstock"), file("mlp.penstock"));
    let program = resnet50()?;
    program.save(&large)?;
    mlp()?.save(&small)?;
    let megabytes = |path: &str| std::fs::metadata(path).map_or(0.0, |m| m.len() as f64 / 1e6);
    let mut instructions = 0;
    let graph = program.at(0)?.function().clone();
    graph.graph().expect("it has one").visit(&mut |_, _, _| instructions += 1);
    drop((program, graph));

    let sizes = format!("{:.0} MB, {instructions} instructions", megabytes(&large));
    println!("| | |\n| --- | ---: |");
    row(&format!("ResNet50 ({sizes}): load, all checksums"), ms(least(7, || Program::load(&large).map(drop))?));
    // SAFETY: the file is in a folder of this process, which does not write to it again.
    let mapped = least(7, || unsafe { Loader::new().load_mapped(&large) }.map(drop))?;
    row("ResNet50: load, mapped", ms(mapped));

    let me = std::env::current_exe().expect("a running program has a file");
    let start = || {
        let out = Command::new(&me).arg(&small).output();
        assert!(out.is_ok_and(|o| o.status.success()), "the program that is started fails");
        Ok(())
    };
    row(
        &format!("MLP ({:.1} MB): a process from its start, through a load and a run, to its end", megabytes(&small)),
        ms(least(15, start)?),
    );
    let (took, differing) = many_runs(&small)?;
    row("MLP: 10,000 runs from 8 threads", format!("{:.2} s, {differing} of other results", took.as_secs_f64()));

    let load_and_run = || -> Result<()> {
        let f = Program::load(&small)?.default_function()?;
        black_box(f.run(&[("x", Arg::Tensor(Tensor::zeros(DType::F32, &[1, 784])?))])?);
        Ok(())
    };
    for _ in 0..100 {
        load_and_run()?;
    }
    let before = resident();
    for _ in 0..1000 {
        load_and_run()?;
    }
    row(
        "MLP: resident memory before and after 1,000 more loads, runs and drops",
        format!("{before:.1} MB, {:.1} MB", resident()),
    );
    Ok(())
}

/// What a process that is started does.
fn first_result(path: &str) -> Result<()> {
    let f = Program::load(path)?.default_function()?;
    let out = f.run(&[("x", Arg::Tensor(Tensor::zeros(DType::F32, &[1, 784])?))])?;
    println!("{:?}", out[0].dims());
    Ok(())
}

fn main() -> Result<()> {
    if let Some(path) = std::env::args().nth(1) {
        return first_result(&path);
    }
    let folder = tempfile::tempdir().expect("the temporary folder can be written");
    figures(folder.path())
}
