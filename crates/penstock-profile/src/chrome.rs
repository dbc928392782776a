//! The format of `chrome://tracing`, which Perfetto reads too.

use std::fmt::Write;

use penstock_ir::Activity;

use crate::json::{micros, put_list, put_text};
use crate::recording::{Event, Recording};

/// How many moments the curve of memory has.
const MOMENTS: usize = 2000;

impl Recording {
    /// The events as JSON of the trace event format: one complete event for each, and a counter of the bytes that tensors held.
    /// Runs that were only counted are not among them; `otherData` says so.
    pub fn chrome(&self) -> String {
        let mut out = String::from("{\"displayTimeUnit\":\"ns\",");
        if let Some(note) = self.sampled_note() {
            out.push_str("\"otherData\":{\"note\":");
            put_text(&mut out, &note);
            out.push_str("},");
        }
        out.push_str("\"traceEvents\":");
        let threads = self.lanes.iter().enumerate();
        let names = threads.clone().map(|(tid, lane)| Item::Thread(tid, &lane.name));
        let events = threads.flat_map(|(tid, lane)| lane.events.iter().map(move |event| Item::Event(tid, event)));
        let memory = self.memory(MOMENTS).into_iter().map(|(at, bytes)| Item::Memory(micros(at), bytes));
        put_list(&mut out, names.chain(events).chain(memory), |out, item| match item {
            Item::Thread(tid, name) => {
                let _ =
                    write!(out, "{{\"ph\":\"M\",\"pid\":1,\"tid\":{tid},\"name\":\"thread_name\",\"args\":{{\"name\":");
                put_text(out, name);
                out.push_str("}}");
            }
            Item::Memory(at, bytes) => {
                let _ = write!(
                    out,
                    "{{\"ph\":\"C\",\"pid\":1,\"ts\":{at},\"name\":\"tensors\",\"args\":{{\"bytes\":{bytes}}}}}"
                );
            }
            Item::Event(tid, event) => put_event(out, tid, event),
        });
        out.push('}');
        out
    }
}

enum Item<'a> {
    Thread(usize, &'a str),
    Event(usize, &'a Event),
    Memory(String, usize),
}

fn put_event(out: &mut String, tid: usize, event: &Event) {
    let (began, took) = (micros(event.began), micros(event.took));
    let _ = write!(out, "{{\"ph\":\"X\",\"pid\":1,\"tid\":{tid},\"ts\":{began},\"dur\":{took},\"name\":");
    match (event.activity, event.number) {
        (Activity::Operator | Activity::Function | Activity::Part, _) => put_text(out, &event.name),
        (Activity::Mark, Some(number)) => put_text(out, &format!("{} {number}", event.name)),
        (Activity::Mark, None) => put_text(out, &event.name),
        (activity, _) => put_text(out, &format!("{} {}", activity.name(), event.name)),
    }
    let _ = write!(out, ",\"cat\":\"{}\",\"args\":{{\"steps\":{}", event.activity.name(), event.count);
    if !event.kind.is_empty() {
        let _ = write!(out, ",\"kind\":\"{}\"", event.kind);
    }
    if let Some(line) = event.line() {
        out.push_str(",\"line\":");
        put_text(out, &line);
    }
    if event.failed {
        out.push_str(",\"failed\":true");
    }
    out.push_str("}}");
}
