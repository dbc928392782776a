//! Pictures of graphs.

use penstock_draw::{Block, Kind, Page, Source, dot, page, svg};
use penstock_ir::{Function, no_hosts, parse_function};

fn parsed(text: &str) -> std::sync::Arc<Function> {
    parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()
}

const LOOP: &str = "func @f(%n \"n\": i32[], %x \"x\": f32[4]) -> f32[4] {\n%zero = const {value=i32[] 0}\n\
     %i, %y = while %zero, %x ((%a: i32[], %b: f32[4]) {\n%go = less %a, %n\nyield %go\n}, \
     (%d: i32[], %e: f32[4]) {\n%one = const {value=i32[] 1}\n%next = add %d, %one\n%s = sort %e  ; net.py:7:4\n\
     yield %next, %s\n})\nreturn %y\n}";

fn labels(block: &Block) -> Vec<&str> {
    block.nodes.iter().map(|node| &*node.label).collect()
}

#[test]
fn a_loop_is_a_node_with_its_regions_as_blocks() {
    let f = parsed(LOOP);
    let block = Block::of(f.graph().unwrap());
    assert_eq!(labels(&block), ["n", "x", "i32[] 0", "while", "return"]);
    let inner = &block.nodes[3].blocks;
    assert_eq!(inner.len(), 2);
    // The limit comes from around the loop: a value of the outer block, and an edge to the loop there.
    let outer = inner[0].nodes.iter().find(|node| node.kind == Kind::Outer).unwrap();
    assert_eq!(outer.label, "n");
    let edges: Vec<(usize, usize)> = block.edges.iter().map(|e| (e.from, e.to)).collect();
    for edge in [(0, 3), (1, 3), (2, 3), (3, 4)] {
        assert!(edges.contains(&edge), "{edges:?}");
    }
}

#[test]
fn nodes_come_before_those_that_use_them_and_edges_stay_inside() {
    let f = parsed(LOOP);
    let mut open = vec![Block::of(f.graph().unwrap())];
    while let Some(block) = open.pop() {
        assert!(block.edges.iter().all(|e| e.from < e.to && e.to < block.nodes.len()));
        open.extend(block.nodes.into_iter().flat_map(|node| node.blocks));
    }
}

#[test]
fn what_is_written_is_balanced_and_names_every_operator() {
    let f = parsed(LOOP);
    let graph = f.graph().unwrap();
    let text = dot("a \"name\"", graph);
    assert!(text.starts_with("digraph \"a \\\"name\\\"\" {"));
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    let image = svg(graph);
    assert_eq!(image.matches("<g ").count(), image.matches("</g>").count());
    for op in ["while", "less", "add", "sort"] {
        assert!(text.contains(op) && image.contains(op), "{op}");
    }
    assert!(image.contains("data-line=\"net.py:7\""));
}

#[test]
fn nodes_do_not_cover_one_another() {
    let f = parsed(LOOP);
    let image = svg(f.graph().unwrap());
    // The rectangles of the nodes of the outermost block: those that are in no other.
    let number = |text: &str, name: &str| -> f64 {
        let from = text.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        text[from..].split('"').next().unwrap().parse().unwrap()
    };
    let boxes: Vec<[f64; 4]> = image
        .match_indices("<rect x=")
        .map(|(at, _)| ["x", "y", "width", "height"].map(|name| number(&image[at..], name)))
        .collect();
    assert!(boxes.len() >= 10);
    let apart =
        |a: &[f64; 4], b: &[f64; 4]| (0..2).any(|i| a[i] + a[i + 2] <= b[i] + 0.2 || b[i] + b[i + 2] <= a[i] + 0.2);
    let within =
        |a: &[f64; 4], b: &[f64; 4]| (0..2).all(|i| a[i] >= b[i] - 0.2 && a[i] + a[i + 2] <= b[i] + b[i + 2] + 0.2);
    for (i, a) in boxes.iter().enumerate() {
        for b in &boxes[..i] {
            assert!(apart(a, b) || within(a, b) || within(b, a), "{a:?} {b:?}");
        }
    }
}

#[test]
fn an_empty_graph_and_one_that_passes_its_input_through_are_drawn() {
    for text in ["func @f() {\nreturn\n}", "func @f(%x: f32[]) -> f32[] {\nreturn %x\n}"] {
        let f = parsed(text);
        assert!(svg(f.graph().unwrap()).ends_with("</svg>"));
        assert!(dot("f", f.graph().unwrap()).ends_with("}\n"));
    }
}

#[test]
fn a_long_graph_is_folded_without_circles() {
    let mut text = String::from("func @f(%x: f32[4]) -> f32[4] {\n%v0 = neg %x ; net.py:1:1\n");
    for i in 1..2000 {
        let other = if i % 7 == 0 { format!("%v{}", i / 2) } else { "%x".to_owned() };
        text += &format!("%v{i} = add %v{}, {other} ; net.py:{}:1\n", i - 1, i / 3);
    }
    text += "return %v1999\n}";
    let f = parsed(&text);
    let block = Block::of(f.graph().unwrap());
    assert!(block.nodes.len() <= 300, "{}", block.nodes.len());
    assert!(block.edges.iter().all(|e| e.from < e.to));
    assert!(block.nodes.iter().any(|node| node.kind == Kind::Group));
    assert!(svg(f.graph().unwrap()).contains("operators"));
}

#[test]
fn a_long_graph_is_folded_by_the_scopes_of_names() {
    let mut text = String::from("func @f(%x: f32[4]) -> f32[4] {\n%v0 = neg %x\n");
    for i in 1..1000 {
        text += &format!(
            "%c{i} = const {{value=f32[] {i}}}\n%v{i} \"layer{}/add\": f32[4] = add %v{}, %c{i}\n",
            i / 50,
            i - 1
        );
    }
    text += "return %v999\n}";
    let f = parsed(&text);
    let block = Block::of(f.graph().unwrap());
    let groups: Vec<&str> = block.nodes.iter().filter(|n| n.kind == Kind::Group).map(|n| &*n.label).collect();
    assert_eq!(groups.len(), 20, "{groups:?}");
    assert!(groups.contains(&"layer7"), "{groups:?}");
}

#[test]
fn a_page_shows_graphs_beside_the_lines_and_the_time_of_each() {
    let f = parsed(LOOP);
    let graph = f.graph().unwrap();
    let sources = [Source { file: "net.py".into(), first: 6, text: "def f(x):\n    return sort(x) < 3\n".into() }];
    let times = [("net.py:7".to_owned(), 0.25)];
    let graphs: [(&str, &penstock_ir::Graph); 2] = [("as traced", graph), ("as it runs", graph)];
    let text = page(&Page {
        title: "f {{tabs}} <b>",
        sources: &sources,
        graphs: &graphs,
        texts: &[("plan", "r0 <- {{sources}}")],
        times: &times,
    });
    assert!(text.contains("f {{tabs}} &lt;b&gt;") && text.contains("r0 &lt;- {{sources}}"));
    assert_eq!(text.matches("<div class=\"view\"").count(), 3);
    assert!(text.contains("<li data-line=\"net.py:7\" style=\"--share:0.250\" title=\"25.0 % of the time\">"));
    assert!(text.contains("sort(x) &lt; 3"));
}
