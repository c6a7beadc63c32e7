//! OpenTelemetry traces over OTLP: HTTP with protobuf.
//!
//! In reading order: [`exporter`] receives spans from the engine, with the queue and the loop that sends
//! them; `spans` builds the span of a parcel or an attempt; `otlp` is the format.
//!
//! **What it promises.** A caller that reports a span never waits: a full queue drops it, and so does a
//! collector that does not answer. Both are counted.
//!
//! **What it must never do.** Write a payload, a header, a URL or an e-mail address into a span.

pub mod exporter;
mod otlp;
mod spans;

pub use exporter::{TraceExporter, TraceSettings, TraceSettingsError};
