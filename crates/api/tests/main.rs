//! The API as its callers see it: a real store, a real engine, a real listener, and bytes over TCP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access {
    mod isolation;
    mod roles;
    mod scopes;
    mod secrets;
    mod throttle;
}
mod api_keys {
    mod create;
    mod portal_links;
}
mod audit {
    mod reasons;
    mod record;
}
mod dead_letters {
    mod list;
    mod page_size;
    mod redirect;
    mod replay;
}
mod deliveries {
    mod cancel;
    mod check_signature;
    mod export;
    mod read_and_retry;
    mod search;
    mod tail;
    mod waiting_for;
}
mod emails {
    mod as_delivery;
    mod dead_letters;
    mod sink;
    pub mod submit;
    mod suppressions;
}
mod erasures {
    mod content;
}
mod event_types {
    mod catalog;
}
mod events {
    mod idempotency;
    mod publish;
}
mod health {
    mod probes;
}
mod contract;
mod http;
mod ingest {
    mod acceptance;
    pub mod receive;
}
mod input {
    mod fields;
    mod json;
    mod strings;
}
mod ledger {
    mod checkpoints;
}
mod listener {
    mod capacity;
    pub mod hostile_clients;
    mod smuggling;
    mod unread_bodies;
    mod unread_streams;
}
mod lists {
    mod all_tenants;
    mod cursors;
    mod page_size;
    mod scan_limit;
}
mod nodes {
    mod list;
}
mod openapi {
    mod documents;
}
mod problems {
    mod bodies;
    mod format;
}
mod queues {
    mod pause;
}
mod receipts {
    mod read;
}
mod replays {
    mod cancel;
    mod create;
    mod order;
    mod run;
}
mod requests;
mod search {
    mod find;
}
mod sources {
    mod create;
    mod keys;
    mod reload;
}
mod stage;
mod stats {
    mod read;
}
mod tail_reader;
mod tenants {
    mod create;
    mod delete;
    mod limits;
}
mod usage {
    mod get;
}
mod users {
    mod create;
}
mod webhooks {
    mod create;
    mod health;
    mod list;
    mod pause;
    mod rotate_secret;
    mod test;
}
