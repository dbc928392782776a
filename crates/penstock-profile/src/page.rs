//! The page for a browser: one file, which loads nothing.

use std::cmp::Reverse;
use std::fmt::Write;

use crate::json::{micros, put_list, put_text};
use crate::recording::{Event, Recording};
use crate::sums::{By, Row, Share};

/// The page, with a mark where the data goes.
const PAGE: &str = include_str!("page.html");
const MARK: &str = "/*DATA*/null";
/// How many rows of each table, events of the timeline and moments of the curve a page has: the largest ones.
const ROWS: usize = 200;
const EVENTS: usize = 20_000;
const MOMENTS: usize = 600;

impl Recording {
    /// The page: where the time went, by operator, line, function and step, memory over time, and a timeline.
    pub fn page(&self, title: &str) -> String {
        let mut data = String::from("{\"title\":");
        put_text(&mut data, title);
        let _ = write!(data, ",\"took\":{},\"events\":{}", micros(self.took), self.len());
        let _ = write!(data, ",\"dropped\":{},\"input\":{:.4}", self.dropped, self.input_bound());
        data.push_str(",\"note\":");
        put_text(&mut data, &self.sampled_note().unwrap_or_default());
        data.push_str(",\"shares\":");
        put_shares(&mut data, &self.shares());
        for (name, by) in
            [("operators", By::Name), ("lines", By::Line), ("functions", By::Function), ("kinds", By::Kind)]
        {
            let _ = write!(data, ",\"{name}\":");
            let rows = self.rows(by);
            put_list(&mut data, rows.iter().take(ROWS), put_row);
        }
        data.push_str(",\"steps\":");
        put_list(&mut data, self.steps().iter().take(ROWS * 10), |out, step| {
            out.push('[');
            put_text(out, &step.name);
            let _ = write!(out, ",{},{},{},", step.number, micros(step.began), micros(step.took));
            put_shares(out, &step.shares);
            out.push(']');
        });
        data.push_str(",\"memory\":");
        put_list(&mut data, self.memory(MOMENTS), |out, (at, bytes)| {
            let _ = write!(out, "[{},{bytes}]", micros(at));
        });
        self.put_timeline(&mut data);
        data.push('}');
        PAGE.replacen(MARK, &data, 1)
    }

    /// Appends the threads, with the longest of all events, and how deep each lies.
    fn put_timeline(&self, out: &mut String) {
        let mut lengths: Vec<_> = self.lanes.iter().flat_map(|lane| &lane.events).map(|e| Reverse(e.took)).collect();
        let shortest =
            if lengths.len() > EVENTS { lengths.select_nth_unstable(EVENTS).1.0 } else { Default::default() };
        out.push_str(",\"threads\":");
        put_list(out, self.lanes.iter().zip(self.threads()), |out, (lane, (name, busy))| {
            out.push_str("{\"name\":");
            put_text(out, name);
            let _ = write!(out, ",\"busy\":{},\"events\":", micros(busy));
            let mut depths: Vec<usize> = Vec::new();
            let parents = lane.parents();
            for parent in &parents {
                depths.push(parent.map_or(0, |p| depths[p] + 1));
            }
            let shown = lane.events.iter().zip(&depths).filter(|(e, _)| e.took >= shortest);
            put_list(out, shown, |out, (event, depth)| put_event(out, event, *depth));
            out.push('}');
        });
    }
}

fn put_shares(out: &mut String, shares: &[Share]) {
    put_list(out, shares, |out, share| {
        let _ = write!(out, "[\"{}\",{}]", share.part.name(), micros(share.took));
    });
}

fn put_row(out: &mut String, row: &Row) {
    out.push('[');
    put_text(out, &row.key);
    let _ = write!(out, ",{},{},{}]", row.count, micros(row.own), micros(row.total));
}

fn put_event(out: &mut String, event: &Event, depth: usize) {
    let _ = write!(out, "[{},{},{depth},", micros(event.began), micros(event.took));
    put_text(out, &event.number.map_or_else(|| event.name.to_string(), |n| format!("{} {n}", event.name)));
    let _ = write!(out, ",\"{}\",\"{}\",", event.activity.name(), event.kind);
    put_text(out, &event.line().unwrap_or_default());
    out.push(']');
}
