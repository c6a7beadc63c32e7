//! Webhooks from an endpoint's draft to the receiver: with a real SQLite file, a real engine and receivers on
//! loopback. The clock is manual.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod deliveries {
    mod deliver;
}
mod endpoints {
    mod cache;
    mod delete;
    mod draft;
    mod headers;
    mod health;
    mod rotate_secret;
    mod secrets;
    mod test;
}
mod event_types {
    mod catalog;
    mod costly_schemas;
}
mod events {
    mod batch;
    mod publish;
}
mod notices {
    mod send;
}
mod replays {
    mod order;
    mod resume;
    mod run;
}
mod stage;
