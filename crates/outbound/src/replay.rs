//! Replays: send past deliveries or events again, selected by a filter. A replay is a job that counts
//! first, keeps to a rate, reports its progress, can be canceled, and continues where it stopped if a node
//! dies. The oldest go first; those of one subject never overtake each other at an ordered endpoint.
//!
//! In reading order: [`job`] is the request and its progress; `validate` checks it; [`jobs`] creates, lists
//! and cancels; `codec` is the stored form; `count` counts; `run` runs open jobs, a page at a time, whose
//! owners take turns; `steps` and `page_locks` are its state; `page` sends one page, `redirect` one of dead letters to another endpoint; `outcomes` counts their results.
//!
//! **Invariant.** One node at a time works on a job: it holds the job's lease, which the store renews with
//! every page. A node that has lost the lease stops. If a page was sent but not recorded, because a node
//! died in between, each item is checked before it is sent again.

mod codec;
mod count;
pub mod job;
pub mod jobs;
mod outcomes;
mod page;
mod page_locks;
mod redirect;
mod run;
mod steps;
mod validate;

pub use self::{
    job::{NewReplay, Replay, ReplayFilter, ReplayItems, ReplayState},
    jobs::{ReplayError, Replays},
    outcomes::ReplayOutcomes,
    redirect::RedirectOutcome,
};
