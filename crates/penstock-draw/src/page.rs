//! The page for a browser: one file, which loads nothing.

use std::fmt::Write;

use crate::block::Picture;
use crate::escape::xml;
use crate::svg::svg;

const PAGE: &str = include_str!("page.html");

/// A stretch of a file of the program.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path of the file, as locations have it.
    pub file: String,
    /// The number of its first line.
    pub first: u32,
    /// The text.
    pub text: String,
}

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// The stretches of the program that the graph was traced from.
    pub sources: &'a [Source],
    /// Graphs, each with what it is: as it was traced, as it runs, …
    pub graphs: &'a [(&'a str, Picture<'a>)],
    /// Texts, each with what it is.
    pub texts: &'a [(&'a str, &'a str)],
    /// Which part of the time goes to lines, as `file:line`.
    pub times: &'a [(String, f64)],
}

/// The page.
pub fn page(page: &Page<'_>) -> String {
    let (mut sources, mut tabs, mut views) = (String::new(), String::new(), String::new());
    let share = |line: &str| page.times.iter().find(|(l, _)| l == line).map_or(0.0, |(_, share)| *share);
    for source in page.sources {
        let name = source.file.rsplit(['/', '\\']).next().unwrap_or(&source.file);
        let _ =
            write!(sources, "<h2 title=\"{}\">{}</h2><ol start=\"{}\">", xml(&source.file), xml(name), source.first);
        for (line, number) in source.text.lines().zip(source.first..) {
            let key = format!("{}:{number}", source.file);
            let part = share(&key);
            let _ = write!(sources, "<li data-line=\"{}\"", xml(&key));
            if part >= 0.001 {
                let _ = write!(sources, " style=\"--share:{part:.3}\" title=\"{:.1} % of the time\"", part * 100.0);
            }
            let _ = write!(sources, "><code>{}</code></li>", xml(line));
        }
        sources.push_str("</ol>");
    }
    let mut put = |name: &str, count: Option<usize>, content: &str| {
        let more = count.map_or_else(String::new, |n| format!(" ({n} operators)"));
        let _ = write!(tabs, "<button>{}{more}</button>", xml(name));
        let _ = write!(views, "<div class=\"view\" hidden>{content}</div>");
    };
    for &(name, picture) in page.graphs {
        put(name, Some(picture.graph.len()), &svg(picture));
    }
    for (name, text) in page.texts {
        put(name, None, &format!("<pre>{}</pre>", xml(text)));
    }
    let mut out = String::with_capacity(PAGE.len() + sources.len() + views.len());
    // The parts are put in at once, so that none is looked for in another.
    for piece in PAGE.split("{{") {
        match piece.split_once("}}") {
            Some((name, rest)) => {
                out.push_str(match name {
                    "title" => "",
                    "sources" => &sources,
                    "tabs" => &tabs,
                    _ => &views,
                });
                if name == "title" {
                    out.push_str(&xml(page.title));
                }
                out.push_str(rest);
            }
            None => out.push_str(piece),
        }
    }
    out
}
