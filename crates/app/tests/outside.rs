//! The built binary, from outside: killed, starved of its disk, started twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "outside/bench.rs"]
mod bench;
#[path = "outside/crash.rs"]
mod crash;
#[path = "outside/dev.rs"]
mod dev;
#[path = "outside/disk.rs"]
mod disk;
#[path = "outside/piped.rs"]
mod piped;
#[path = "outside/receiver.rs"]
mod receiver;
