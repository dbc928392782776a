//! Instructions that one step of a plan runs, drawn as one node.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

use penstock_ir::Inst;

use crate::block::{Block, Edge, Kind, Node};

/// The block with one node for each step, which holds the nodes of that step; `of` tells the step of each node.
///
/// A constant that one step alone uses goes with that.
pub(crate) fn clustered(block: Block, of: &[Option<usize>], steps: &[(String, Vec<Inst>)]) -> Block {
    if of.iter().all(Option::is_none) {
        return block;
    }
    let mut of = of.to_vec();
    for i in 0..of.len() {
        if block.nodes[i].kind == Kind::Constant {
            let mut users = block.edges.iter().filter(|edge| edge.from == i).map(|edge| of[edge.to]);
            let first = users.next().flatten();
            of[i] = first.filter(|_| users.all(|user| user == first));
        }
    }
    // The new nodes by the first of what each stands for, and the new number of each node.
    let mut first_of: FxHashMap<usize, usize> = FxHashMap::default();
    let head: Vec<usize> =
        of.iter().enumerate().map(|(i, step)| step.map_or(i, |s| *first_of.entry(s).or_insert(i))).collect();
    let Some(order) = ordered(&head, &block.edges) else { return block };
    let place: FxHashMap<usize, usize> = order.iter().enumerate().map(|(new, &old)| (old, new)).collect();
    let numbers: Vec<usize> = head.iter().map(|first| place[first]).collect();

    let mut nodes = Vec::with_capacity(order.len());
    for &first in &order {
        nodes.push(match of[first] {
            None => block.nodes[first].clone(),
            Some(step) => {
                let (what, detail) = steps[step].0.split_once(", ").unwrap_or((&steps[step].0, ""));
                let loc = block.nodes[first].loc;
                let blocks = vec![within(&block, &|i| of[i] == Some(step)).folded()];
                Node {
                    kind: Kind::Step,
                    label: what.to_owned(),
                    detail: detail.to_owned(),
                    loc,
                    blocks,
                    ..Node::empty()
                }
            }
        });
    }
    let mut edges: Vec<Edge> = Vec::with_capacity(block.edges.len());
    for Edge { from, to, ty } in block.edges {
        let edge = Edge { from: numbers[from], to: numbers[to], ty };
        if edge.from != edge.to && !edges.contains(&edge) {
            edges.push(edge);
        }
    }
    let outer = block.outer.into_iter().map(|(value, node)| (value, numbers[node])).collect();
    Block { nodes, edges, outer }
}

/// The new nodes, each before those that use it and else as they were; `None` where they need each other.
fn ordered(head: &[usize], edges: &[Edge]) -> Option<Vec<usize>> {
    let mut waits = vec![0; head.len()];
    let mut users = vec![Vec::new(); head.len()];
    for edge in edges {
        let (from, to) = (head[edge.from], head[edge.to]);
        if from != to {
            waits[to] += 1;
            users[from].push(to);
        }
    }
    let all: BTreeSet<usize> = head.iter().copied().collect();
    let mut ready: BTreeSet<usize> = all.iter().copied().filter(|&i| waits[i] == 0).collect();
    let mut order = Vec::with_capacity(all.len());
    while let Some(next) = ready.pop_first() {
        order.push(next);
        for &user in &users[next] {
            waits[user] -= 1;
            if waits[user] == 0 {
                ready.insert(user);
            }
        }
    }
    (order.len() == all.len()).then_some(order)
}

/// The nodes of a step, with those that they use from around it.
fn within(block: &Block, is_inside: &dyn Fn(usize) -> bool) -> Block {
    let mut inner = Block::default();
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    for (i, node) in block.nodes.iter().enumerate().filter(|&(i, _)| is_inside(i)) {
        for edge in block.edges.iter().filter(|edge| edge.to == i) {
            let from = *numbers.entry(edge.from).or_insert_with(|| {
                let source = &block.nodes[edge.from];
                let label = if source.name.is_empty() { &source.label } else { &source.name };
                inner.nodes.push(Node {
                    kind: Kind::Outer,
                    label: label.clone(),
                    detail: edge.ty.clone(),
                    ..Node::empty()
                });
                inner.nodes.len() - 1
            });
            // The node itself comes behind what it uses.
            inner.edges.push(Edge { from, to: usize::MAX, ty: edge.ty.clone() });
        }
        inner.nodes.push(node.clone());
        let number = inner.nodes.len() - 1;
        numbers.insert(i, number);
        inner.edges.iter_mut().filter(|edge| edge.to == usize::MAX).for_each(|edge| edge.to = number);
    }
    inner
}
