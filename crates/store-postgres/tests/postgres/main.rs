//! What only a database for many nodes can get wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crash;
mod far;
mod growth;
mod lost_answer;
mod many_nodes;
mod refusals;
mod scratch;
mod world;
