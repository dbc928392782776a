//! The language of Graphviz.

use std::fmt::Write;

use crate::block::{Block, Kind, Node, Picture};
use crate::escape::quoted;

/// A graph in the language of Graphviz. Regions, and instructions that run together, are clusters.
pub fn dot(name: &str, picture: Picture<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(name));
    out.push_str("  compound=true;\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n");
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=8];\n");
    put_block(&mut out, &Block::of(picture), "n", 1);
    out.push_str("}\n");
    out
}

fn put_block(out: &mut String, block: &Block, prefix: &str, depth: usize) {
    let indent = "  ".repeat(depth);
    for (i, node) in block.nodes.iter().enumerate() {
        let id = format!("{prefix}{i}");
        if node.blocks.is_empty() {
            let _ = writeln!(
                out,
                "{indent}{id} [label={}{}{}];",
                quoted(&text_of(node)),
                shapes_of(node),
                style_of(node.kind)
            );
            continue;
        }
        let _ = writeln!(out, "{indent}subgraph cluster_{id} {{\n{indent}  label={};", quoted(&text_of(node)));
        if node.kind == Kind::Step {
            let _ = writeln!(out, "{indent}  style=\"rounded,filled\"; fillcolor=\"#fdf3e1\";");
        }
        // Edges lead to a point in the cluster.
        let _ = writeln!(out, "{indent}  {id} [shape=point, label=\"\"];");
        for (k, inner) in node.blocks.iter().enumerate() {
            let _ = writeln!(out, "{indent}  subgraph cluster_{id}_{k} {{\n{indent}    label=\"\"; style=dashed;");
            put_block(out, inner, &format!("{id}_{k}_"), depth + 2);
            let _ = writeln!(out, "{indent}  }}");
        }
        let _ = writeln!(out, "{indent}}}");
    }
    for edge in &block.edges {
        let _ = writeln!(out, "{indent}{prefix}{} -> {prefix}{} [label={}];", edge.from, edge.to, quoted(&edge.ty));
    }
}

fn text_of(node: &Node) -> String {
    let mut text = node.label.clone();
    for more in [node.detail.clone(), if node.loc.is_unknown() { String::new() } else { node.loc.to_string() }] {
        if !more.is_empty() {
            text.push('\n');
            text += &more;
        }
    }
    text
}

/// Where the shapes of its results come from, for those who point at it.
fn shapes_of(node: &Node) -> String {
    if node.shapes.is_empty() { String::new() } else { format!(", tooltip={}", quoted(&node.shapes.join("\n"))) }
}

fn style_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Input | Kind::Results => ", shape=ellipse",
        Kind::Outer => ", shape=ellipse, style=dashed",
        Kind::Constant => ", shape=plaintext",
        Kind::Operator | Kind::Step => "",
        Kind::Group => ", peripheries=2",
    }
}
