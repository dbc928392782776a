//! `XSpace`, the message that TensorBoard's profile plugin reads: planes of lines of events, whose names and statistics are kept
//! once in tables. The fields are those of `xplane.proto` of the project `openxla/xprof`.

use std::cmp::Reverse;
use std::time::Duration;

use penstock_ir::Activity;
use penstock_wire::{put_bytes, put_message, put_number, put_text, put_varint};
use rustc_hash::FxHashMap;

use crate::recording::{Event, Lane, Recording};

/// The names of a table by number, from 1.
#[derive(Default)]
struct Table(FxHashMap<String, u64>);

impl Table {
    fn number(&mut self, name: String) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(name).or_insert(next)
    }

    /// Appends the entries to field `field` of a plane.
    fn put(&self, out: &mut Vec<u8>, field: u64) {
        let mut entries: Vec<(&String, &u64)> = self.0.iter().collect();
        entries.sort_by_key(|(_, number)| **number);
        for (name, &number) in entries {
            put_message(out, field, |entry| {
                put_number(entry, 1, number);
                put_message(entry, 2, |metadata| {
                    put_number(metadata, 1, number);
                    put_text(metadata, 2, name);
                });
            });
        }
    }
}

impl Recording {
    /// The message. `host` is the name of the machine. Runs that were only counted are not in it; a warning says so.
    pub fn xspace(&self, host: &str) -> Vec<u8> {
        let mut space = Vec::new();
        put_message(&mut space, 1, |plane| self.put_plane(plane));
        if let Some(note) = self.sampled_note() {
            put_text(&mut space, 3, &note);
        }
        put_text(&mut space, 4, host);
        space
    }

    fn put_plane(&self, plane: &mut Vec<u8>) {
        let (mut names, mut stats) = (Table::default(), Table::default());
        put_number(plane, 1, 1);
        put_text(plane, 2, "/host:CPU");
        for (i, lane) in self.lanes.iter().enumerate() {
            let parents = lane.parents();
            let scopes = scopes(lane, &parents);
            // The plugin takes the events inside a mark for its step. They have to be on the line of the mark.
            let mut events: Vec<&Event> = lane.events.iter().collect();
            events.sort_by_key(|event| (event.began, Reverse(event.took)));
            put_message(plane, 3, |line| {
                put_number(line, 1, i as u64 + 1);
                put_text(line, 2, &lane.name);
                put_number(line, 3, nanos(self.began_at));
                for event in events {
                    let scope = if event.activity == Activity::Operator {
                        scopes.get(&std::ptr::from_ref(event))
                    } else {
                        None
                    };
                    let name = name_of(event, scope.copied());
                    put_message(line, 4, |out| put_event(out, event, names.number(name), &mut stats));
                }
            });
        }
        names.put(plane, 4);
        stats.put(plane, 5);
    }
}

/// The function that each event ran in.
fn scopes<'a>(lane: &'a Lane, parents: &[Option<usize>]) -> FxHashMap<*const Event, &'a str> {
    let mut found: Vec<Option<&str>> = Vec::with_capacity(parents.len());
    let mut scopes = FxHashMap::default();
    for (event, parent) in lane.events.iter().zip(parents) {
        let around = parent.and_then(|p| match lane.events[p].activity {
            Activity::Function | Activity::Call => Some(&*lane.events[p].name),
            _ => found[p],
        });
        found.push(around);
        if let Some(around) = around {
            scopes.insert(std::ptr::from_ref(event), around);
        }
    }
    scopes
}

/// An operator is `scope/name:Type`, by which the plugin knows it.
fn name_of(event: &Event, scope: Option<&str>) -> String {
    let plain = |text: &str| text.replace(['+', ':', '/'], "_");
    match event.activity {
        Activity::Operator => format!("{}/{1}:{1}", plain(scope.unwrap_or("eager")), plain(&event.name)),
        Activity::Mark | Activity::Function | Activity::Part => event.name.to_string(),
        // By this name the plugin knows that a step waits for its input.
        Activity::Input => format!("IteratorGetNext {}", event.name),
        activity => format!("{} {}", activity.name(), event.name),
    }
}

fn put_event(out: &mut Vec<u8>, event: &Event, name: u64, stats: &mut Table) {
    put_number(out, 1, name);
    put_number(out, 2, nanos(event.began) * 1000);
    put_number(out, 3, nanos(event.took) * 1000);
    let mut number = |out: &mut Vec<u8>, stat: &str, value: i64| {
        let stat = stats.number(stat.to_owned());
        put_message(out, 4, |out| {
            put_number(out, 1, stat);
            // A value of 0 is written too: it is one of several.
            put_varint(out, 4 << 3);
            put_varint(out, value.cast_unsigned());
        });
    };
    if let Some(step) = event.number {
        number(out, "step_num", step);
        number(out, "_r", 1);
    }
    if event.count > 1 {
        number(out, "steps", i64::try_from(event.count).unwrap_or(i64::MAX));
    }
    let mut text = |out: &mut Vec<u8>, stat: &str, value: &str| {
        let stat = stats.number(stat.to_owned());
        put_message(out, 4, |out| {
            put_number(out, 1, stat);
            put_bytes(out, 5, value.as_bytes());
        });
    };
    if let Some(line) = event.line() {
        text(out, "source", &line);
    }
    if !event.kind.is_empty() {
        text(out, "kind", event.kind);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
