//! SVG.

use std::fmt::Write;

use crate::block::{Block, Picture};
use crate::escape::xml;
use crate::layout::{Placed, Spot, place, text_height};

/// Pixels around a block.
const MARGIN: f64 = 8.0;

/// A graph as an image, with the classes of nodes and their lines (`data-line`) for a style and a script.
pub fn svg(picture: Picture<'_>) -> String {
    let block = Block::of(picture);
    let placed = place(&block);
    let (width, height) = (placed.width + 2.0 * MARGIN, placed.height + 2.0 * MARGIN);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">"
    );
    put_block(&mut out, &placed, MARGIN, MARGIN);
    out.push_str("</svg>");
    out
}

fn put_block(out: &mut String, placed: &Placed<'_>, x: f64, y: f64) {
    for edge in &placed.block.edges {
        let (from, to) = (&placed.nodes[edge.from], &placed.nodes[edge.to]);
        let (x1, y1) = (x + from.x + from.width / 2.0, y + from.y + from.height);
        let (x2, y2) = (x + to.x + to.width / 2.0, y + to.y);
        let bend = ((y2 - y1) / 2.0).max(10.0);
        let _ = write!(
            out,
            "<path class=\"edge\" d=\"M{x1:.1} {y1:.1}C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\" \
             fill=\"none\" stroke=\"#98a2b3\"><title>{}</title></path>",
            y1 + bend,
            y2 - bend,
            xml(&edge.ty)
        );
    }
    for spot in &placed.nodes {
        put_node(out, spot, x + spot.x, y + spot.y);
    }
}

fn put_node(out: &mut String, spot: &Spot<'_>, x: f64, y: f64) {
    let node = spot.node;
    let _ = write!(out, "<g class=\"node {}\"", node.kind.name());
    if let Some(frame) = node.loc.frame() {
        let _ = write!(out, " data-line=\"{}:{}\"", xml(&frame.file), frame.line);
    }
    let place = if node.loc.is_unknown() { String::new() } else { node.loc.to_string() };
    let texts = [&node.name, &node.label, &node.detail, &place].into_iter().chain(&node.shapes);
    let title: Vec<String> = texts.filter(|t| !t.is_empty()).map(|t| xml(t)).collect();
    let _ = write!(
        out,
        "><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\" \
         fill=\"#fff\" stroke=\"#667085\"/>",
        title.join("\n"),
        spot.width,
        spot.height
    );
    for (k, &(dx, dy, ref inner)) in spot.inner.iter().enumerate() {
        let _ = write!(
            out,
            "<rect class=\"region\" data-region=\"{k}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"none\" stroke=\"#98a2b3\" stroke-dasharray=\"4 3\"/>",
            x + dx - MARGIN,
            y + dy - MARGIN / 2.0,
            inner.width + 2.0 * MARGIN,
            inner.height + MARGIN
        );
    }
    // What holds blocks has its texts at the left, where they are seen however wide it is.
    let (at, anchor) = if spot.inner.is_empty() { (x + spot.width / 2.0, "middle") } else { (x + MARGIN, "start") };
    let mut line = |dy: f64, class: &str, text: &str| {
        if !text.is_empty() {
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" \
                 font-family=\"monospace\" font-size=\"11\">{}</text>",
                y + dy,
                xml(text)
            );
        }
    };
    line(15.0, "label", &node.label);
    line(15.0 + text_height(node) - 22.0, "detail", &node.detail);
    for (dx, dy, inner) in &spot.inner {
        put_block(out, inner, x + dx, y + dy);
    }
    out.push_str("</g>");
}
