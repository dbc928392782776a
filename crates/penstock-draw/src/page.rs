//! The page for a browser: one file, which loads nothing.

use std::fmt::Write;

use crate::block::Picture;
use crate::escape::xml;
use crate::svg::svg;

const PAGE: &str = include_str!("page.html");

/// What stands in the place of a picture without nodes.
const EMPTY: &str = "This graph is empty: it takes nothing, computes nothing and gives nothing.";

/// What stands in the place of the program where there is no text of it.
const NO_LINES: &str = "No operator of this graph comes from a line of a file that is there.";

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
    if page.sources.is_empty() {
        let _ = write!(sources, "<p>{NO_LINES}</p>");
    }
    let mut put = |name: &str, count: Option<usize>, content: &str| {
        let more = count.map_or_else(String::new, |n| format!(" ({n} operators)"));
        let _ = write!(tabs, "<button>{}{more}</button>", xml(name));
        let _ = write!(views, "<div class=\"view\" hidden>{content}</div>");
    };
    for &(name, picture) in page.graphs {
        let body = &picture.graph.regions[picture.graph.body()];
        let is_empty = body.params.is_empty() && body.insts.is_empty() && body.results.is_empty();
        let drawn = if is_empty { format!("<p>{EMPTY}</p>") } else { svg(picture) };
        put(name, Some(picture.graph.len()), &drawn);
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
