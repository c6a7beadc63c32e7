//! The API as its callers see it: a real store, a real engine, a real listener, and bytes over TCP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod closing;
mod crowd;
mod cursors;
mod deliveries;
mod dlq;
mod documents;
mod emails;
mod event_types;
mod fields;
mod guessing;
mod http;
mod idempotency;
mod ingest;
mod ingest_proof;
mod isolation;
mod json;
mod keys;
mod ledger;
mod letters;
mod limits;
mod listening;
mod probes;
mod problems;
mod publish;
mod queues;
mod replays;
mod requests;
mod scopes;
mod secrets;
mod smuggling;
mod sources;
mod stage;
mod strings;
mod tenants;
mod webhooks;
