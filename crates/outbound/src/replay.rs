//! Sending past deliveries or events again, by filter: as a job that counts first, keeps to a rate,
//! says how far it is, can be cancelled, and goes on where it stopped when a node dies. The oldest go
//! first; those of one subject never overtake each other at an endpoint that is kept in order.
//!
//! In reading order: [`job`] is what is asked for and how it stands; `judge` finds its faults;
//! [`jobs`] makes, lists and cancels; `codec` is how a job is stored; `count` counts without sending;
//! `run` is the loop that takes open jobs in turn, a page at a time; `page` sends one page again.
//!
//! **Invariant.** One node at a time works on a job: it holds the job's lease, which the store renews with
//! every page. A node that has lost the lease stops. A page that was sent but not noted, because a node died
//! in between, is looked at one by one before it is sent again.

mod codec;
mod count;
pub mod job;
pub mod jobs;
mod judge;
mod page;
mod run;

pub use self::{
    job::{NewReplay, Replay, ReplayFilter, ReplayOf, ReplayState},
    jobs::{ReplayError, Replays},
};
