//! Where nodes lie: a block from the inside out, its nodes in layers.

use rust_sugiyama::configure::Config;
use rust_sugiyama::from_vertices_and_edges;

use crate::block::{Block, Node};

/// Pixels of a character, of a line, around a text, and between nodes.
const CHARACTER: f64 = 6.7;
const LINE: f64 = 14.0;
const MARGIN: f64 = 8.0;
const SPACE: f64 = 28.0;

/// A block with the places of its nodes.
#[derive(Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) nodes: Vec<Spot<'a>>,
    pub(crate) block: &'a Block,
}

/// A node with its place, of which this is the upper left corner.
#[derive(Debug)]
pub(crate) struct Spot<'a> {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) node: &'a Node,
    /// The blocks of the node, with their places in it.
    pub(crate) inner: Vec<(f64, f64, Placed<'a>)>,
}

/// The height of the texts of a node.
pub(crate) fn text_height(node: &Node) -> f64 {
    MARGIN + LINE * if node.detail.is_empty() { 1.0 } else { 2.0 }
}

/// Places the nodes of a block.
pub(crate) fn place(block: &Block) -> Placed<'_> {
    let mut nodes: Vec<Spot<'_>> = block.nodes.iter().map(sized).collect();
    let sizes: Vec<(u32, (f64, f64))> =
        nodes.iter().zip(0..).map(|(spot, number)| (number, (spot.width, spot.height))).collect();
    let edges: Vec<(u32, u32)> = {
        let mut edges: Vec<_> = block.edges.iter().map(|e| (e.from as u32, e.to as u32)).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    };
    let config = Config { vertex_spacing: SPACE, ..Config::default() };
    let mut right = 0.0f64;
    // One picture for each part that hangs together, side by side.
    for (places, ..) in from_vertices_and_edges(&sizes, &edges, &config) {
        let corner =
            |(number, (x, y)): &(usize, (f64, f64))| (x - nodes[*number].width / 2.0, y - nodes[*number].height / 2.0);
        let left = places.iter().map(|p| corner(p).0).fold(f64::INFINITY, f64::min);
        let top = places.iter().map(|p| corner(p).1).fold(f64::INFINITY, f64::min);
        let corners: Vec<(usize, f64, f64)> = places
            .iter()
            .map(|p| {
                let (x, y) = corner(p);
                (p.0, x - left + right, y - top)
            })
            .collect();
        for (number, x, y) in corners {
            (nodes[number].x, nodes[number].y) = (x, y);
        }
        let edge = places.iter().map(|p| nodes[p.0].x + nodes[p.0].width).fold(right, f64::max);
        right = edge + SPACE;
    }
    let width = nodes.iter().map(|s| s.x + s.width).fold(0.0, f64::max);
    let height = nodes.iter().map(|s| s.y + s.height).fold(0.0, f64::max);
    Placed { width, height, nodes, block }
}

/// A node with its size, which holds its texts, and its blocks beside each other.
fn sized(node: &Node) -> Spot<'_> {
    let longest = node.label.chars().count().max(node.detail.chars().count());
    let (mut width, mut height) = (longest as f64 * CHARACTER + 2.0 * MARGIN, text_height(node));
    let mut inner = Vec::new();
    let mut x = MARGIN;
    for placed in node.blocks.iter().map(place) {
        let (right, bottom) = (x + placed.width + 2.0 * MARGIN, text_height(node) + placed.height + 3.0 * MARGIN);
        inner.push((x + MARGIN, text_height(node) + MARGIN, placed));
        (width, height, x) = (width.max(right + MARGIN), height.max(bottom), right + MARGIN);
    }
    Spot { x: 0.0, y: 0.0, width, height, node, inner }
}
