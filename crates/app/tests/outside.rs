//! The built binary, from outside: served, configured, killed, starved of its disk, started twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "outside/asked_for.rs"]
mod asked_for;
#[path = "outside/bench.rs"]
mod bench;
#[path = "outside/canary.rs"]
mod canary;
#[path = "outside/config.rs"]
mod config;
#[path = "outside/crash.rs"]
mod crash;
#[path = "outside/crowded.rs"]
mod crowded;
#[path = "outside/dev.rs"]
mod dev;
#[path = "outside/disk.rs"]
mod disk;
#[path = "outside/documents.rs"]
mod documents;
#[path = "outside/emails.rs"]
mod emails;
#[path = "outside/http.rs"]
mod http;
#[path = "outside/isolation.rs"]
mod isolation;
#[path = "outside/keys.rs"]
mod keys;
#[path = "outside/ledger.rs"]
mod ledger;
#[path = "outside/loops.rs"]
mod loops;
#[path = "outside/lost_ring.rs"]
mod lost_ring;
#[path = "outside/mailed.rs"]
mod mailed;
#[path = "outside/operated.rs"]
mod operated;
#[path = "outside/own_targets.rs"]
mod own_targets;
#[path = "outside/partner.rs"]
mod partner;
#[path = "outside/pipe.rs"]
mod pipe;
#[path = "outside/piped.rs"]
mod piped;
#[path = "outside/received.rs"]
mod received;
#[path = "outside/receiver.rs"]
mod receiver;
#[path = "outside/serve.rs"]
mod serve;
#[path = "outside/served.rs"]
mod served;
#[path = "outside/slow.rs"]
mod slow;
#[path = "outside/sources.rs"]
mod sources;
#[path = "outside/stop.rs"]
mod stop;
#[path = "outside/warned.rs"]
mod warned;
#[path = "outside/watch.rs"]
mod watch;
