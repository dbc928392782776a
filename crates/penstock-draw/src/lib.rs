//! Pictures of graphs: [`dot`] for Graphviz, [`svg`], and [`page`] for a browser, where the lines of the program lie beside the
//! graph as it was traced and as it runs.
//!
//! A graph becomes blocks of nodes ([`Block`]), one block for each region, so that a loop is a node with blocks in it. Nodes are
//! instructions, inputs, results, and the values that a region takes from around it; each knows where the shapes of its results come
//! from. Instructions that one step of a plan runs are a node with a block, too. A block of many nodes is folded: nodes that
//! follow one another and have the scope of their names in common, or else their line, become one.

mod block;
mod cluster;
mod dot;
mod escape;
mod layout;
mod page;
mod shapes;
mod svg;

pub use block::{Block, Edge, Kind, Node, Picture};
pub use dot::dot;
pub use page::{Page, Source, page};
pub use svg::svg;
