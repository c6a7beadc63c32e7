//! Claim → carry → settle: delivers accepted parcels to their targets, fairly, at least once.
//!
//! In reading order: `carrier` is the code that a lane adds, `retry_read` how it reads from the store, and
//! `check_threads` how flows run long checks; `engine` is the whole and how it starts; `lane` is one lane at
//! work. Deliveries enter by `accept` (directly from a flow, in turns by `write_shares` and `tenant_shares`)
//! or by `claim` (from the store), each with a seat in the `room`; `scheduler` decides which is next;
//! `dispatch` starts it; `carry` makes the attempt (`suspect` has the precaution before some); `follow` gets
//! the parcels to publish with its result; `settle` writes both (`reduce` leaves parts out if the store
//! rejects them); `release` returns to the store what is not carried here; `preemption` ends attempts that hang in a
//! lane with hard slots. `membership` and `heartbeat` prove
//! that the node lives, `fleet` counts the living nodes, `rescue` takes over from dead ones, `pauses` hold
//! work back, `expire`, `archive`, `prune` and `erase` clean up (`erase_content` for single parcels) while
//! `clock_guard` trusts the clock, `stop` ends the engine, `stats`, `status` and `timings` report on it,
//! `statistics` counts for plots, and `tail` shows changes to watchers. `bell` passes on the store's
//! wake-ups, `recovery` decides what to do when a call to the store fails, `refused_writes` counts writes
//! that the store refused, `spans` reports to the exporter of traces, `delivery_log` logs results
//! (`log_sampler` chooses which), `outcome_counters` counts them by code and tenant, and `run_to_completion`
//! finishes work whose caller goes away.
//!
//! **What it promises.** What the store acknowledged is carried until it is delivered or a dead letter. A
//! result is never dropped while the engine lives and holds the lease. Memory does not grow with the backlog.
//! A slow target, tenant or lane delays only itself.
//!
//! **What it must never do.** Know a database, HTTP or SMTP. Read the wall clock other than by its `Clock`,
//! draw random numbers other than from its `Random`, start a task that is not tracked, or let the order of a
//! hash decide anything: on one thread and with paused time, the same seed must give the same run.

pub mod accept;
pub mod archive;
mod bell;
pub mod carrier;
mod carry;
mod check_threads;
pub mod claim;
mod clock_guard;
mod delivery_log;
mod dispatch;
pub mod engine;
pub mod erase_content;
mod erase_tenants;
mod expire;
mod fleet;
mod follow;
mod heartbeat;
pub mod lane;
mod lane_counters;
mod limits;
mod log_sampler;
mod membership;
mod open_breakers;
pub mod outcome_counters;
mod pauses;
mod preemption;
mod prune;
mod recovery;
mod reduce;
mod refused_writes;
mod release;
mod rescue;
mod retry_read;
pub mod room;
mod run_to_completion;
pub mod scheduler;
mod set_aside;
mod settle;
pub mod spans;
mod statistics;
pub mod status;
pub mod stop;
mod suspect;
pub mod tail;
mod tenant_shares;
pub mod timings;
mod write_shares;

pub use archive::{Archive, ArchiveError, ArchiveRunError, LetterName};
pub use carrier::{AttemptResult, Carrier, Terms};
pub use check_threads::{CheckThreads, run_inline};
pub use clock_guard::{MAX_CLOCK_OFFSET, correct_clock};
pub use engine::{Engine, EngineSetup};
pub use erase_content::ErasedContent;
pub use fleet::NodeRole;
pub use lane::{LaneSetup, LaneTerms};
pub use lane_counters::LaneCounters;
pub use limits::Limits;
pub use open_breakers::OpenBreaker;
pub use outcome_counters::{FailureCount, OutcomeCounts, TenantCount};
pub use preemption::Preemption;
pub use refused_writes::RefusedCounts;
pub use retry_read::retry_read;
pub use scheduler::{Pool, SlotPolicy};
pub use spans::{SpanCounts, SpanSink};
pub use status::TargetStatus;
pub use stop::StopSummary;
pub use tail::{DeliveryChange, Tail, TailBatch, TailFilter, TailInterest};
pub use tenant_shares::{TenantShare, TenantShares};
pub use timings::{Buckets, Histogram, Timing};
