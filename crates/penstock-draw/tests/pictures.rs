//! Pictures of graphs.

use penstock_draw::{Block, Kind, Node, Page, Picture, Source, dot, page, svg};
use penstock_ir::{Function, no_hosts, parse_function};

fn parsed(text: &str) -> std::sync::Arc<Function> {
    parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()
}

fn drawn(function: &Function) -> Picture<'_> {
    Picture::of(function.graph().unwrap())
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
    let block = Block::of(drawn(&f));
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
    let mut open = vec![Block::of(drawn(&f))];
    while let Some(block) = open.pop() {
        assert!(block.edges.iter().all(|e| e.from < e.to && e.to < block.nodes.len()));
        open.extend(block.nodes.into_iter().flat_map(|node| node.blocks));
    }
}

#[test]
fn what_is_written_is_balanced_and_names_every_operator() {
    let f = parsed(LOOP);
    let graph = drawn(&f);
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
    let image = svg(drawn(&f));
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
        assert!(svg(drawn(&f)).ends_with("</svg>"));
        assert!(dot("f", drawn(&f)).ends_with("}\n"));
    }
}

#[test]
fn the_page_of_an_empty_graph_says_that_it_is_empty() {
    for (text, is_empty) in [("func @f() {\nreturn\n}", true), ("func @f(%x: f32[]) {\nreturn\n}", false)] {
        let f = parsed(text);
        let graphs = [("As traced", drawn(&f))];
        let text = page(&Page { title: "f", sources: &[], graphs: &graphs, texts: &[], times: &[] });
        assert_eq!(text.contains("This graph is empty"), is_empty, "{text}");
        assert!(text.contains("No operator of this graph comes from a line"), "{text}");
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
    let block = Block::of(drawn(&f));
    assert!(block.nodes.len() <= 300, "{}", block.nodes.len());
    assert!(block.edges.iter().all(|e| e.from < e.to));
    assert!(block.nodes.iter().any(|node| node.kind == Kind::Group));
    assert!(svg(drawn(&f)).contains("operators"));
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
    let block = Block::of(drawn(&f));
    let groups: Vec<&str> = block.nodes.iter().filter(|n| n.kind == Kind::Group).map(|n| &*n.label).collect();
    assert_eq!(groups.len(), 20, "{groups:?}");
    assert!(groups.contains(&"layer7"), "{groups:?}");
}

#[test]
fn a_model_within_one_scope_is_folded_by_its_layers_which_have_their_weights() {
    let params: Vec<String> = (0..40).map(|i| format!("%w{i} \"w{i}\": f32[4]")).collect();
    let mut text = format!("func @f(%x: f32[4], {}) -> f32[4] {{\n%v0 = neg %x\n", params.join(", "));
    for i in 1..=1000 {
        let layer = (i - 1) / 50;
        text += &format!(
            "%v{i} \"net/layer{layer}/add\": f32[4] = add %v{}, %w{}\n",
            i - 1,
            // Two weights of a layer; one of the first is the last one's too.
            if i == 1000 { 0 } else { 2 * layer + i % 2 }
        );
    }
    text += "return %v1000\n}";
    let f = parsed(&text);
    let block = Block::of(drawn(&f));
    let groups: Vec<&Node> = block.nodes.iter().filter(|n| n.kind == Kind::Group).collect();
    assert_eq!(groups.len(), 20, "{:?}", labels(&block));
    assert_eq!(groups[7].label, "net/layer7");
    assert!(groups[7].detail.ends_with(", 2 parameters"), "{}", groups[7].detail);
    assert!(groups[0].detail.ends_with(", 1 parameter"), "{}", groups[0].detail);
    let inputs: Vec<&str> = block.nodes.iter().filter(|n| n.kind == Kind::Input).map(|n| &*n.label).collect();
    assert_eq!(inputs.last(), Some(&"w0"), "{inputs:?}");
    assert_eq!(inputs.len(), 2, "{inputs:?}");
    assert!(block.edges.iter().all(|e| e.from < e.to && e.to < block.nodes.len()));
}

#[test]
fn a_page_shows_graphs_beside_the_lines_and_the_time_of_each() {
    let f = parsed(LOOP);
    let graph = drawn(&f);
    let sources = [Source { file: "net.py".into(), first: 6, text: "def f(x):\n    return sort(x) < 3\n".into() }];
    let times = [("net.py:7".to_owned(), 0.25)];
    let graphs: [(&str, Picture<'_>); 2] = [("as traced", graph), ("as it runs", graph)];
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

/// All nodes of a block with this label, in the order of the program.
fn labelled<'a>(block: &'a Block, label: &str) -> Vec<&'a Node> {
    let mut found = Vec::new();
    for node in &block.nodes {
        found.extend((node.label == label).then_some(node));
        found.extend(node.blocks.iter().flat_map(|inner| labelled(inner, label)));
    }
    found
}

/// What is said of the shape of the only result of the only node with this label.
fn shape_of(text: &str, label: &str) -> String {
    let f = parsed(text);
    let block = Block::of(drawn(&f));
    let [node] = labelled(&block, label)[..] else { panic!("{block:?}") };
    node.shapes.concat()
}

#[test]
fn a_size_is_said_to_come_from_the_input_that_has_it() {
    let text = "func @f(%x \"x\": f32[s0,8], %w \"w\": f32[8,5]) -> f32[s0,5] {\n\
                %p = matmul %x, %w ; net.py:1:1\n%y = tanh %p ; net.py:2:1\nreturn %y\n}";
    assert_eq!(shape_of(text, "tanh"), "f32[s0,5]: s0 is axis 0 of x; 5 is axis 1 of w");
    assert_eq!(shape_of(text, "x"), "f32[s0,8]: s0 is left open; 8 is given");
}

#[test]
fn a_broadcast_size_comes_from_the_operand_that_is_not_one() {
    let text = "func @f(%x \"x\": f32[1,8], %b \"b\": f32[5,1]) -> f32[5,8] {\n%y = add %x, %b\nreturn %y\n}";
    assert_eq!(shape_of(text, "add"), "f32[5,8]: 5 is axis 0 of b; 8 is axis 1 of x");
}

#[test]
fn a_size_that_attributes_or_several_operands_decide_names_the_line() {
    let text = "func @f(%x \"x\": f32[2,3], %y \"y\": f32[4,3]) -> f32[6,3] {\n\
                %z = concat %x, %y {axis=0} ; net.py:3:1\nreturn %z\n}";
    assert_eq!(shape_of(text, "concat"), "f32[6,3]: 6 comes from concat at net.py:3:1; 3 is axis 1 of x");
}

#[test]
fn a_size_that_is_not_known_has_its_reason() {
    let open = "func @f(%x \"x\": f32[?,3]) -> f32[?,3] {\n%y = tanh %x\nreturn %y\n}";
    assert_eq!(shape_of(open, "tanh"), "f32[?,3]: ? unknown because axis 0 of x is left open; 3 is axis 1 of x");
    let rank = "func @f(%x \"x\": f32[*]) -> f32[*] {\n%y = tanh %x\nreturn %y\n}";
    assert!(shape_of(rank, "tanh").ends_with("unknown because the shape of x is left open"));
    let values = "func @f(%x \"x\": bool[4]) -> i64[?,1] {\n%y = where_indices %x ; net.py:5:1\nreturn %y\n}";
    assert!(
        shape_of(values, "where_indices")
            .contains("? unknown because where_indices at net.py:5:1 decides it when it runs")
    );
}

#[test]
fn a_size_that_a_loop_changes_has_the_line_of_the_loop() {
    let text = "func @f(%n \"n\": i32[], %x \"x\": f32[4]) -> f32[?] {\n%zero = const {value=i32[] 0}\n\
                %i, %y = while %zero, %x ((%a: i32[], %b: f32[?]) {\n%go = less %a, %n\nyield %go\n}, \
                (%d: i32[], %e: f32[?]) {\n%one = const {value=i32[] 1}\n%next = add %d, %one\n\
                %s = concat %e, %e {axis=0}\nyield %next, %s\n}) ; net.py:9:1\nreturn %y\n}";
    assert!(shape_of(text, "while").contains("? unknown because while at net.py:9:1 may change it"));
    assert!(shape_of(LOOP, "while").contains("4 is axis 0 of x"));
}

#[test]
fn what_runs_together_is_a_node_with_a_block() {
    let f = parsed(
        "func @f(%x \"x\": f32[4,4]) -> f32[4,4] {\n%one = const {value=f32[] 1}\n%p = matmul %x, %x\n\
         %other = sort %x\n%s = add %p, %one\n%t = softmax %s\n%u = sub %t, %other\nreturn %u\n}",
    );
    let graph = f.graph().unwrap();
    let insts = &graph.regions[graph.body()].insts;
    let steps = [("pipeline, 3 stages".to_owned(), vec![insts[1], insts[3], insts[4]])];
    let picture = Picture { graph, steps: &steps };
    let block = Block::of(picture);
    assert_eq!(labels(&block), ["x", "pipeline", "sort", "sub", "return"]);
    let step = &block.nodes[1];
    assert_eq!((step.kind, &*step.detail), (Kind::Step, "3 stages"));
    // The constant that it alone uses goes with it; the input is a value from around it.
    assert_eq!(labels(&step.blocks[0]), ["f32[] 1", "x", "matmul", "add", "softmax"]);
    assert_eq!(step.blocks[0].nodes[1].kind, Kind::Outer);
    assert!(block.edges.iter().chain(&step.blocks[0].edges).all(|e| e.from < e.to));
    let (image, text) = (svg(picture), dot("f", picture));
    assert_eq!(image.matches("class=\"node step\"").count(), 1);
    assert_eq!(text.matches("fillcolor").count(), 1);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn instructions_that_cannot_run_as_one_are_drawn_one_by_one() {
    let f = parsed("func @f(%x: f32[4]) -> f32[4] {\n%a = neg %x\n%b = sort %a\n%c = neg %b\nreturn %c\n}");
    let graph = f.graph().unwrap();
    let insts = &graph.regions[graph.body()].insts;
    let steps = [("pipeline".to_owned(), vec![insts[0], insts[2]])];
    assert_eq!(labels(&Block::of(Picture { graph, steps: &steps })).len(), 5);
}
