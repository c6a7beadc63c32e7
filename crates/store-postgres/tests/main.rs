//! The store for many nodes on a real server: the suite that every store must pass, and what only a server
//! can get wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod claims {
    mod many_targets;
    mod unreadable;
}
mod conformance;
mod intake {
    mod turns;
}
mod nodes {
    mod many;
}
mod open {
    mod refusals;
    mod schema;
    mod scratch;
    mod tls;
}
mod pooler {
    mod conformance;
    mod sessions;
}
mod replica {
    mod reads;
}
mod server {
    mod crash;
    mod lost_answer;
    mod shares;
}
mod upkeep {
    mod growth;
}
mod world;
