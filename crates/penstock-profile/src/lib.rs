//! Profiles: what took time in a program, recorded while it runs.
//!
//! A [`Recorder`] is the [`Profiler`](penstock_ir::Profiler) of an environment. What it was told becomes a [`Recording`], which sums
//! up ([`Recording::rows`], [`Recording::shares`], [`Recording::steps`]), and writes itself for others: as an HTML page
//! ([`Recording::page`]), as events for Perfetto and `chrome://tracing` ([`Recording::chrome`]), and for TensorBoard's profile
//! plugin ([`Recording::xspace`]).
//!
//! ```
//! use penstock_ir::{Activity, Profiler, Span};
//! use penstock_profile::{By, Recorder};
//!
//! let recorder = Recorder::default();
//! let began = std::time::Instant::now();
//! recorder.ended(&Span::since(began, Activity::Operator, "matmul"));
//! let recording = recorder.finish();
//! assert_eq!(recording.rows(By::Name)[0].key, "matmul");
//! ```

mod chrome;
mod json;
mod page;
mod recorder;
mod recording;
mod sampled;
mod sums;
mod xspace;

pub use recorder::Recorder;
pub use recording::{Event, Lane, Recording};
pub use sums::{By, Part, Row, Share, Step};
