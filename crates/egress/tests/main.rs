//! The HTTP client against tables of addresses and spellings, malicious DNS names, and receivers that
//! misbehave. Nothing here leaves loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod addresses {
    mod ranges;
    mod spellings;
}
mod connections {
    mod http2;
    mod pool;
    mod proxy;
    mod tls;
}
mod dns {
    mod rebinding;
    mod resolve;
}
mod requests {
    mod fetch;
    mod hostile_receivers;
}
mod stage;
