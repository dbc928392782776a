//! Random graphs with collectives, run by several members at once in every way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_collectives::{Listener, Membership};
use penstock_data::{DType, Result, Shape, Tensor};
use penstock_exec::{Arg, Executable, Variable, reference};
use penstock_ir::{Attrs, Builder, Env, Function, Group, OpDef, Type, Value, Verified};
use penstock_ops::binary::{ADD, MUL, SUB};
use penstock_ops::collective::{COLLECTIVE_START, COLLECTIVE_WAIT};
use penstock_ops::compare::LESS;
use penstock_ops::control::{COND, CONST, WHILE};
use penstock_ops::host::{ASSERT, PRINT};
use penstock_ops::state::{ASSIGN, ASSIGN_ADD, READ_VARIABLE};
use penstock_passes::{Options, Thresholds};

/// The surroundings of a member: its group, and what it prints.
struct Member {
    group: Arc<dyn Group>,
    printed: Mutex<String>,
}

impl Env for Member {
    fn print(&self, _: &str, text: &str) -> Result<()> {
        self.printed.lock().unwrap().push_str(text);
        Ok(())
    }

    fn group(&self, _: &str) -> Result<Arc<dyn Group>> {
        Ok(self.group.clone())
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// The values in scope. Members have different ones, but for the common ones, on which they may branch.
#[derive(Clone)]
struct Scope {
    vectors: Vec<Value>,
    common: Vec<Value>,
    /// What has been started: the ticket, the value, whether it is a scalar, and the name.
    started: Vec<(Value, Value, bool, &'static str)>,
}

struct Generator {
    builder: Builder,
    random: Random,
    variables: Vec<Value>,
}

const LEN: usize = 6;

/// A program of the inputs `vector, variable, variable`.
fn program(seed: u64) -> Verified {
    let mut builder = Builder::new(&CONST);
    let ty = Type::tensor(DType::F32, Shape::known(&[LEN]));
    let vector = builder.input(ty, None);
    let variables = (0..2).map(|_| builder.input(Type::Variable(DType::F32, Shape::known(&[LEN])), None)).collect();
    let one = builder.constant(Tensor::scalar(1f32));
    let mut generator = Generator { builder, random: Random(seed), variables };
    let mut scope = Scope { vectors: vec![vector], common: vec![one], started: Vec::new() };
    let count = 6 + generator.random.below(14);
    generator.statements(&mut scope, count, 0);
    let outputs =
        [generator.random.pick(&scope.vectors), *scope.vectors.last().unwrap(), *scope.common.last().unwrap()];
    generator.builder.finish(&outputs).unwrap()
}

impl Generator {
    fn emit(&mut self, op: &'static OpDef, operands: &[Value]) -> Value {
        self.builder.emit(op, operands, &[]).unwrap()[0]
    }

    fn statements(&mut self, scope: &mut Scope, count: usize, depth: usize) {
        for _ in 0..count {
            self.statement(scope, depth);
        }
        // What a block has started it awaits, mostly.
        while !scope.started.is_empty() && self.random.below(8) > 0 {
            self.wait(scope);
        }
        scope.started.clear();
    }

    fn statement(&mut self, scope: &mut Scope, depth: usize) {
        match self.random.below(if depth < 2 { 13 } else { 11 }) {
            0..=1 => {
                let op = self.random.pick(&[&ADD, &SUB, &MUL]);
                let (a, b) = (self.random.pick(&scope.vectors), self.random.pick(&scope.vectors));
                let made = self.emit(op, &[a, b]);
                scope.vectors.push(made);
            }
            2 => {
                let op = self.random.pick(&[&ADD, &MUL]);
                let (a, b) = (self.random.pick(&scope.common), self.random.pick(&scope.common));
                let made = self.emit(op, &[a, b]);
                scope.common.push(made);
            }
            3..=4 => {
                let scalar = self.random.below(4) == 0;
                let value = if scalar { self.random.pick(&scope.common) } else { self.random.pick(&scope.vectors) };
                let name = self.random.pick(&["all_reduce", "broadcast", "reduce"]);
                // A common value stays one where all get the same.
                let name = if scalar { "broadcast" } else { name };
                let attrs = [("collective", name.into())];
                let ticket = self.builder.emit(&COLLECTIVE_START, &[value], &attrs).unwrap()[0];
                scope.started.push((ticket, value, scalar, name));
            }
            5..=6 => self.wait(scope),
            7 => {
                let v = self.random.pick(&self.variables.clone());
                let made = self.emit(&READ_VARIABLE, &[v]);
                scope.vectors.push(made);
            }
            8 => {
                let (op, v) = (self.random.pick(&[&ASSIGN, &ASSIGN_ADD]), self.random.pick(&self.variables.clone()));
                let value = self.random.pick(&scope.vectors);
                self.builder.emit(op, &[v, value], &[]).unwrap();
            }
            9 => {
                let value = self.random.pick(&scope.common);
                self.builder.emit(&PRINT, &[value], &[]).unwrap();
            }
            10 => {
                let yes = self.builder.constant(Tensor::from(true));
                self.builder.emit(&ASSERT, &[yes], &[]).unwrap();
            }
            11 => {
                let (a, b) = (self.random.pick(&scope.common), self.random.pick(&scope.common));
                let test = self.emit(&LESS, &[a, b]);
                let mut regions = Vec::new();
                for _ in 0..2 {
                    self.builder.begin_region([]);
                    let mut inner = Scope { started: Vec::new(), ..scope.clone() };
                    let count = self.random.below(6);
                    self.statements(&mut inner, count, depth + 1);
                    let result = self.random.pick(&inner.vectors);
                    regions.push(self.builder.end_region(&[result]).unwrap());
                }
                let inst = self.builder.inst(&COND, &[test], Attrs::EMPTY, &regions).unwrap();
                scope.vectors.push(self.builder.results(inst)[0]);
            }
            _ => self.repeat(scope, depth),
        }
    }

    fn wait(&mut self, scope: &mut Scope) {
        if scope.started.is_empty() {
            return;
        }
        let (ticket, value, scalar, name) = scope.started.remove(self.random.below(scope.started.len()));
        let attrs = [("collective", name.into())];
        let found = self.builder.emit(&COLLECTIVE_WAIT, &[ticket, value], &attrs).unwrap()[0];
        if scalar { &mut scope.common } else { &mut scope.vectors }.push(found);
    }

    fn repeat(&mut self, scope: &mut Scope, depth: usize) {
        let init = [self.builder.constant(Tensor::from(0i32)), self.random.pick(&scope.vectors)];
        let types: Vec<Type> = init.iter().map(|&v| self.builder.graph().ty(v).clone()).collect();
        let cond = self.builder.begin_region(types.clone());
        let i = self.builder.params(cond)[0];
        let limit = self.builder.constant(Tensor::from(self.random.below(4) as i32));
        let go = self.emit(&LESS, &[i, limit]);
        let cond = self.builder.end_region(&[go]).unwrap();
        let body = self.builder.begin_region(types);
        let params = self.builder.params(body);
        let mut inner = Scope { started: Vec::new(), ..scope.clone() };
        inner.vectors.push(params[1]);
        let count = self.random.below(6);
        self.statements(&mut inner, count, depth + 1);
        let one = self.builder.constant(Tensor::from(1i32));
        let next = self.emit(&ADD, &[params[0], one]);
        let result = self.random.pick(&inner.vectors);
        let body = self.builder.end_region(&[next, result]).unwrap();
        let inst = self.builder.inst(&WHILE, &init, Attrs::EMPTY, &[cond, body]).unwrap();
        scope.vectors.push(self.builder.results(inst)[1]);
    }
}

/// What a run leaves behind: results, variables, prints. NaN counts as one value.
type Outcome = (Vec<Vec<u32>>, String);

fn bits(tensor: &Tensor) -> Vec<u32> {
    tensor.as_slice::<f32>().iter().map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() }).collect()
}

/// Runs a program in every way, and checks that all leave the same behind.
fn agree(graph: &Verified, member: &Member, seed: u64) {
    let rank = member.group.rank();
    let outcome = |run: &dyn Fn(&[Arg]) -> Result<Vec<Tensor>>| -> Outcome {
        member.printed.lock().unwrap().clear();
        let vector = |start: f32| Tensor::vector(&(0..LEN).map(|i| start + i as f32 * 0.5).collect::<Vec<f32>>());
        let variables: Vec<Arc<Variable>> = (0..2)
            .map(|k| {
                Variable::new("v", DType::F32, Shape::known(&[LEN]), Some(vector(k as f32 - rank as f32))).unwrap()
            })
            .collect();
        let mut args = vec![Arg::Tensor(vector(rank as f32 * 0.25 - 1.0))];
        args.extend(variables.iter().cloned().map(Arg::Variable));
        let results =
            run(&args).unwrap_or_else(|e| panic!("rank {rank}: {e:?}\n{}", Function::new("f", graph.clone())));
        let mut found: Vec<Vec<u32>> = results.iter().map(bits).collect();
        found.extend(variables.iter().map(|v| bits(&v.read().unwrap())));
        (found, member.printed.lock().unwrap().clone())
    };
    let due = outcome(&|args| reference::run(graph, args, member));
    for shuffle in 0..4 {
        // Each member has an order of its own.
        let shuffle = seed.wrapping_mul(31) + shuffle * 7 + rank as u64;
        let got = outcome(&|args| reference::run_shuffled(graph, args, member, shuffle));
        assert_eq!(got, due, "shuffled, seed {seed}");
    }
    let function = Function::new("main", graph.clone());
    for thresholds in [Thresholds::DEFAULT, Thresholds::from_name("small").unwrap()] {
        for skip in [vec![], vec!["overlap".to_owned()]] {
            let options = Options { thresholds, skip: skip.clone(), ..Options::default() };
            let executable = Executable::with_options(&function, options).unwrap();
            let got = outcome(&|args| Ok(executable.run(args, member)?.into_vec()));
            assert_eq!(got, due, "plan without {skip:?}, seed {seed}\n{function}");
        }
    }
}

#[test]
fn every_way_to_run_a_program_gives_the_same_on_all_members() {
    static KEY: AtomicU64 = AtomicU64::new(1 << 32);
    for n in [1, 2, 3] {
        let listeners: Vec<Listener> = (0..n).map(|_| Listener::bind("127.0.0.1:0").unwrap()).collect();
        let members: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
        let key = KEY.fetch_add(1, Ordering::Relaxed);
        std::thread::scope(|threads| {
            for (rank, listener) in listeners.iter().enumerate() {
                let membership = Membership { key, rank, members: members.clone(), timeout: Duration::from_secs(30) };
                threads.spawn(move || {
                    let group = Arc::new(listener.join(membership).unwrap());
                    let member = Member { group, printed: Mutex::default() };
                    for seed in 0..150 {
                        agree(&program(seed), &member, seed);
                    }
                });
            }
        });
    }
}

/// The lines of the optimised graph, by the names of their operators.
fn operators(text: &str) -> Vec<String> {
    let function = penstock_ir::parse_function(text, &penstock_ops::Ops, &penstock_ir::no_hosts).unwrap();
    let graph = penstock_passes::optimize(function.graph().unwrap()).unwrap();
    let graph: &penstock_ir::Graph = &graph;
    graph.regions[graph.body()].insts.iter().map(|&i| graph.insts[i].op.name.to_owned()).collect()
}

#[test]
fn collectives_start_when_their_value_is_there_and_are_awaited_when_it_is_needed() {
    let found = operators(
        "func @main(%x: f32[4,4]) -> f32[4,4], f32[4,4] {
           %a = matmul %x, %x
           %b = matmul %a, %x
           %t = collective_start %a {collective=\"all_reduce\"}
           %r = collective_wait %t, %a {collective=\"all_reduce\"}
           %c = matmul %b, %b
           %d = matmul %r, %x
           return %c, %d
         }",
    );
    assert_eq!(found, ["matmul", "collective_start", "matmul", "matmul", "collective_wait", "matmul"]);
}

#[test]
fn what_is_joined_for_a_collective_is_joined_when_its_parts_are_there() {
    let found = operators(
        "func @main(%x: f32[4,4]) -> f32[4,4], f32[32] {
           %shape = const {value=i32[1] [16]}
           %a = matmul %x, %x
           %b = matmul %a, %x
           %c = matmul %b, %x
           %d = matmul %c, %x
           %flat_a = reshape %a, %shape
           %flat_b = reshape %b, %shape
           %ab = concat %flat_a, %flat_b {axis=0}
           %t = collective_start %ab {collective=\"all_reduce\"}
           %r = collective_wait %t, %ab {collective=\"all_reduce\"}
           return %d, %r
         }",
    );
    let at = |name: &str| found.iter().position(|op| op == name).unwrap();
    let products: Vec<usize> = (0..found.len()).filter(|&i| found[i] == "matmul").collect();
    assert!(at("collective_start") > products[1] && at("collective_start") < products[2], "{found:?}");
    assert_eq!(at("collective_wait"), found.len() - 1, "{found:?}");
}

#[test]
fn a_write_does_not_pass_a_wait_in_front_of_it() {
    let found = operators(
        "func @main(%v: var f32[4,4], %x: f32[4,4]) -> f32[4,4] {
           %t = collective_start %x {collective=\"all_reduce\"}
           %r = collective_wait %t, %x {collective=\"all_reduce\"}
           %a = matmul %x, %x
           assign %v, %a
           %b = matmul %a, %a
           %c = matmul %b, %r
           return %c
         }",
    );
    let at = |name: &str| found.iter().position(|op| op == name).unwrap();
    assert!(at("collective_wait") < at("assign"), "{found:?}");
}
