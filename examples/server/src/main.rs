//! A server that answers HTTP requests with what a program computes: `cargo run --release -- model.penstock 127.0.0.1:8080`.
//!
//!     curl -d '{"x": [[1, 2], [3, 4]]}' http://127.0.0.1:8080/
//!     {"y":{"data":[2.0,4.0,6.0,8.0],"dtype":"float32","shape":[2,2]}}
//!
//! It is written with the standard library, so that what matters for the engine is all there is: one program, loaded once
//! and shared; as many workers as cores, each run on one thread; a deadline for every run. With hyper or axum the handler
//! is `answer`, called by `spawn_blocking`: a run computes, and would hold up a thread of the executor.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use penstock::{Arg, Class, DType, Env, Error, Limits, Loader, ProgramFunction, Result, Tensor, Type};
use serde_json::{Map, Value, json};

/// A request is at most so large,
const LARGEST: u64 = 16 << 20;
/// its headers are,
const LARGEST_HEADERS: u64 = 16 << 10;
/// and its run takes at most so long.
const DEADLINE: Duration = Duration::from_secs(10);

/// Stops a run at a time. Programs of others print nothing here.
struct Until(Instant);

impl Env for Until {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    fn poll(&self) -> Result<()> {
        if Instant::now() < self.0 { Ok(()) } else { Err(Error::cancelled("the run takes too long")) }
    }
}

/// The tensor of nested lists of numbers.
fn tensor(value: &Value, ty: &Type) -> Result<Tensor> {
    let (mut dims, mut flat) = (Vec::new(), vec![value]);
    while let Some(Value::Array(first)) = flat.first() {
        let len = first.len();
        let rows = flat.iter().map(|v| v.as_array().filter(|a| a.len() == len));
        let rows = rows.collect::<Option<Vec<_>>>().ok_or_else(|| Error::invalid("the lists differ in length"))?;
        flat = rows.into_iter().flatten().collect();
        dims.push(len);
    }
    let wrong = || Error::invalid(format!("not all elements are numbers of {}", ty.dtype()));
    let floats = || flat.iter().map(|v| v.as_f64()).collect::<Option<Vec<f64>>>().ok_or_else(wrong);
    let ints = || flat.iter().map(|v| v.as_i64()).collect::<Option<Vec<i64>>>().ok_or_else(wrong);
    match ty.dtype() {
        DType::F32 => Tensor::from_slice(&dims, &floats()?.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        DType::F64 => Tensor::from_slice(&dims, &floats()?),
        DType::I64 => Tensor::from_slice(&dims, &ints()?),
        DType::I32 => {
            let narrow = ints()?.iter().map(|&v| i32::try_from(v).ok()).collect::<Option<Vec<i32>>>();
            Tensor::from_slice(&dims, &narrow.ok_or_else(wrong)?)
        }
        other => Err(Error::dtype(format!("{other} does not come in JSON here"))),
    }
}

fn json_of(tensor: &Tensor) -> Result<Value> {
    let data = match tensor.dtype() {
        DType::F32 => json!(tensor.as_slice::<f32>()),
        DType::F64 => json!(tensor.as_slice::<f64>()),
        DType::I32 => json!(tensor.as_slice::<i32>()),
        DType::I64 => json!(tensor.as_slice::<i64>()),
        other => return Err(Error::dtype(format!("{other} does not go to JSON here"))),
    };
    Ok(json!({"dtype": tensor.dtype().tf_name(), "shape": tensor.dims(), "data": data}))
}

/// What the program makes of the inputs of a request.
fn answer(function: &ProgramFunction, body: &[u8]) -> Result<Value> {
    let inputs: Map<String, Value> = serde_json::from_slice(body).map_err(|e| Error::invalid(e.to_string()))?;
    let arg = |(name, ty): (&str, &Type)| {
        let value = inputs.get(name).ok_or_else(|| Error::invalid("is missing").argument(name))?;
        tensor(value, ty).map(Arg::Tensor).map_err(|e| e.argument(name))
    };
    let args = function.inputs().map(arg).collect::<Result<Vec<Arg>>>()?;
    let results = function.run_in(&args, &Until(Instant::now() + DEADLINE))?;
    let named = function.outputs().zip(&results).map(|((name, _), t)| Ok((name.to_owned(), json_of(t)?)));
    named.collect::<Result<Map<String, Value>>>().map(Value::Object)
}

/// The body of a request; an error of one that is too large or ends early.
fn body(stream: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream.take(LARGEST_HEADERS + LARGEST));
    let (mut length, mut headers) = (0, 0);
    loop {
        let mut line = String::new();
        headers += reader.by_ref().take(LARGEST_HEADERS).read_line(&mut line)? as u64;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(u64::MAX);
        }
        if headers > LARGEST_HEADERS || length > LARGEST {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
    }
    let mut body = vec![0; length as usize];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn serve(mut stream: TcpStream, function: &ProgramFunction) -> std::io::Result<()> {
    stream.set_read_timeout(Some(DEADLINE))?;
    let (status, text) = match body(&stream).map(|body| answer(function, &body)) {
        Ok(Ok(value)) => ("200 OK", value.to_string()),
        Ok(Err(error)) => {
            let status = match error.class() {
                Class::Cancelled | Class::ResourceExhausted => "503 Service Unavailable",
                Class::Internal => "500 Internal Server Error",
                _ => "400 Bad Request",
            };
            (status, json!({"error": error.to_string()}).to_string())
        }
        Err(error) => ("400 Bad Request", json!({"error": error.to_string()}).to_string()),
    };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, address] = &arguments[..] else { return Err("usage: server PROGRAM ADDRESS".into()) };
    // A program that somebody else wrote: it reaches no files, and is of a size that this machine can hold.
    let limits = Limits { bytes: 1 << 30, instructions: 1 << 20, nesting: 64 };
    let program = Loader::new().limits(limits).threads(1).load(path)?;
    let function = program.default_function()?;
    function.warm_up()?;
    let listener = TcpListener::bind(address)?;
    println!("{function:?} on {}", listener.local_addr()?);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|s| {
        for _ in 0..workers {
            s.spawn(|| {
                for stream in listener.incoming().flatten() {
                    // Who closes the connection wants no answer.
                    serve(stream, &function).ok();
                }
            });
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is answered to a request.
    fn ask(request: &str) -> String {
        let text = "func @f(%x: f32[s0,2]) -> f32[s0,2] {\n %y = add %x, %x\n return %y\n}";
        let mut program = penstock::Program::builder();
        let double = penstock::parse(text).unwrap().function().clone();
        program.function("double", double, &["x"], &["y"], Vec::new());
        let function = program.finish().unwrap().default_function().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        serve(listener.accept().unwrap().0, &function).unwrap();
        let mut answered = String::new();
        client.read_to_string(&mut answered).unwrap();
        answered
    }

    fn post(body: &str) -> String {
        ask(&format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    #[test]
    fn inputs_are_answered_with_outputs() {
        let answered = post(r#"{"x": [[1, 2], [3, 4]]}"#);
        assert!(answered.starts_with("HTTP/1.1 200 OK\r\n"), "{answered}");
        assert!(
            answered.ends_with(r#"{"y":{"data":[2.0,4.0,6.0,8.0],"dtype":"float32","shape":[2,2]}}"#),
            "{answered}"
        );
    }

    #[test]
    fn what_is_wrong_with_a_request_is_said() {
        for (body, part) in [
            ("{}", "argument 'x': is missing"),
            (r#"{"x": [[1, 2], [3]]}"#, "differ in length"),
            (r#"{"x": [[1, "2"]]}"#, "not all elements are numbers"),
            (r#"{"x": [1, 2]}"#, "expected f32[s0,2], got f32[2]"),
            ("nonsense", "expected"),
        ] {
            let answered = post(body);
            assert!(answered.starts_with("HTTP/1.1 400") && answered.contains(part), "{body}: {answered}");
        }
        assert!(ask("POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n").starts_with("HTTP/1.1 400"));
    }
}
