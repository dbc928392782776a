//! Texts that were damaged, at random and with a sense for the grammar: reading one ends in a function or an error, never in
//! a panic or in the end of the process. `PENSTOCK_TEXTS=100000` reads so many.

use std::path::Path;

use penstock::{Attr, Class, ParseOptions, Type, builder, host_fn, ops};

/// A xorshift generator: the same texts in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// The texts of the file tests, and one instruction of every operator on each of its samples.
fn texts() -> Vec<String> {
    let mut out = Vec::new();
    let mut due = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests")];
    while let Some(folder) = due.pop() {
        let entries = std::fs::read_dir(folder).expect("the file tests are there");
        let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                due.push(path);
            } else if path.extension().is_some_and(|e| e == "pst") {
                let text = std::fs::read_to_string(path).expect("a file test");
                let from = text.find("func ").unwrap_or(0);
                out.push(text[from..].split("\n---").next().unwrap_or_default().to_string());
            }
        }
    }
    for op in ops::all() {
        for sample in (op.samples)() {
            let mut g = builder();
            let operands: Vec<_> = sample.inputs.iter().map(|t| g.input(Type::of(t), None)).collect();
            let named: Vec<(&str, Attr)> = sample.attrs.iter().map(|(n, a)| (*n, a.clone())).collect();
            if let Ok(results) = g.emit(op, &operands, &named)
                && let Ok(graph) = g.finish(&results)
            {
                out.push(penstock::Function::new("main", graph).to_string());
            }
        }
    }
    out
}

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "255",
    "4294967296",
    "2305843009213693952",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "nan",
    "-inf",
    "0x7fc00001",
    "140737488355328",
];
const TYPES: &[&str] = &[
    "f32[]",
    "i32[2]",
    "f64[2305843009213693952]",
    "i64[0,4611686018427387904]",
    "bool[*]",
    "str[s0]",
    "variant[]",
    "var f32[2]",
    "c64[?,3]",
    "f32[s4294967295]",
    "resource[]",
    "i32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
];
const MARKS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "->",
    "=",
    "%",
    "@",
    "\"",
    ";",
    ":",
    "?",
    "*",
    "#",
    "\n",
    "\\",
    "func",
    "return",
    "yield",
    "var",
    "host(\"h\")",
    "é",
    "\u{0}",
];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_.-".contains(c)
}

/// Where words are that `pick` takes.
fn words(text: &str, pick: impl Fn(&str) -> bool) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = None;
    for (i, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (is_word(c), start) {
            (true, None) => start = Some(i),
            (false, Some(s)) => {
                if pick(&text[s..i]) {
                    out.push((s, i));
                }
                start = None;
            }
            _ => {}
        }
    }
    out
}

fn damage(draw: &mut Draw, text: &mut String, other: &str, names: &[&'static str]) {
    let replace = |text: &mut String, spans: Vec<(usize, usize)>, draw: &mut Draw, with: &str| {
        if let Some(&(a, b)) = spans.get(draw.below(spans.len())) {
            text.replace_range(a..b, with);
        }
    };
    match draw.below(10) {
        0 | 1 => {
            let with = draw.of(NUMBERS);
            let spans = words(text, |w| w.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
            replace(text, spans, draw, with);
        }
        2 => {
            let with = draw.of(names);
            let spans = words(text, |w| names.contains(&w));
            replace(text, spans, draw, with);
        }
        3 => {
            let with = draw.of(TYPES);
            let spans: Vec<_> = text
                .match_indices(": ")
                .filter_map(|(i, _)| Some((i + 2, i + 2 + text[i + 2..].find(']')? + 1)))
                .collect();
            replace(text, spans, draw, with);
        }
        4 => {
            let spans: Vec<_> = text
                .match_indices('%')
                .map(|(i, _)| (i, i + 1 + text[i + 1..].find(|c| !is_word(c)).unwrap_or(0)))
                .collect();
            let Some(&(a, b)) = spans.get(draw.below(spans.len())) else { return };
            let with = text[a..b].to_string();
            replace(text, spans, draw, &with);
        }
        5 => {
            // Lines change places, go, or come twice.
            let mut lines: Vec<&str> = text.lines().collect();
            let (a, b) = (draw.below(lines.len()), draw.below(lines.len()));
            match draw.below(3) {
                _ if lines.is_empty() => {}
                0 => lines.swap(a, b),
                1 => drop(lines.remove(a)),
                _ => lines.insert(b, lines[a]),
            }
            *text = lines.join("\n");
        }
        6 => {
            let lines: Vec<&str> = other.lines().collect();
            let line = lines.get(draw.below(lines.len())).copied().unwrap_or_default();
            let ends: Vec<_> = text.match_indices('\n').map(|(i, _)| (i, i)).collect();
            replace(text, ends, draw, &format!("\n{line}"));
        }
        _ => {
            let places: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
            let at = draw.below(places.len());
            let Some(&a) = places.get(at) else { return };
            let b = places.get(at + draw.below(20)).copied().unwrap_or(text.len());
            match draw.below(3) {
                0 => text.insert_str(a, draw.of(MARKS)),
                1 => drop(text.remove(a)),
                _ => text.replace_range(a..b, ""),
            }
        }
    }
}

#[test]
fn damaged_texts_are_functions_or_errors() {
    let count = std::env::var("PENSTOCK_TEXTS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let (texts, mut draw) = (texts(), Draw(0x2545_f491_4f6c_dd1d));
    let names: Vec<&'static str> = ops::all().map(|op| op.name).collect();
    let hosts = [host_fn("h", |_| Ok(vec![]))];
    let mut read = 0;
    for i in 0..count {
        let mut text = texts[i % texts.len()].clone();
        for _ in 0..=draw.below(4) {
            let other = &texts[draw.below(texts.len())];
            damage(&mut draw, &mut text, other, &names);
        }
        if let Some(path) = std::env::var_os("PENSTOCK_TEXT_FILE") {
            std::fs::write(path, &text).expect("a place for the last text");
        }
        match ParseOptions::new().hosts(&hosts).parse(&text) {
            Ok(f) => {
                read += 1;
                drop(f.to_string());
            }
            Err(e) => assert_ne!(e.class(), Class::Internal, "{e}\n{text}"),
        }
    }
    assert!(read > count / 100, "{read} of {count} texts could be read");
}

#[test]
fn texts_that_nest_and_repeat_without_end_are_errors_or_functions() {
    let many = 200_000;
    let body = |inner: &str| format!("func @main(%x: f32[]) -> f32[] {{\n{inner}\nreturn %x\n}}");
    for text in [
        body(&"%y = cond %x ({\n".repeat(many)),
        "func @f(".repeat(many),
        "{".repeat(many),
        body(&format!("%y = neg %x ; a.py:1{}", " from a.py:1".repeat(many))),
        body(&format!("%y = reduce_sum %x {{axes=[{}]}}", "0,".repeat(many))),
        body(&format!("%y = const {{value=f32[{}1] [1]}}", "1,".repeat(many))),
        format!("func @main(%x: f32[{}1]) -> f32[] {{\nreturn %x\n}}", "1,".repeat(many)),
        (0..2000)
            .map(|i| format!("func @f{i}(%x: f32[]) -> f32[] {{\n%y = call %x {{func=@f{}}}\nreturn %y\n}}\n", i + 1))
            .collect::<String>()
            + "func @f2000(%x: f32[]) -> f32[] {\nreturn %x\n}\nfunc @main(%x: f32[]) -> f32[] {\n%y = call %x {func=@f0}\nreturn %y\n}",
        body("%y = concat"),
    ] {
        if let Err(error) = penstock::parse(&text) {
            assert_ne!(error.class(), Class::Internal, "{error}");
        }
    }
}
