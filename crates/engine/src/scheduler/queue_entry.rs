//! What comes into the queue.

use gancho_domain::Rate;

use super::Key;

/// A delivery that enters the queue, and on what terms.
pub struct QueueEntry<T> {
    pub key: Key,
    /// Over all nodes, as the rate; `None`: [`Terms::MAX_IN_FLIGHT`](crate::Terms::MAX_IN_FLIGHT) on each.
    pub max_in_flight: Option<u32>,
    pub rate: Option<Rate>,
    /// What it takes of the room.
    pub bytes: usize,
    /// Someone waits for its result: it goes before the others of its target, and through an open breaker.
    pub is_urgent: bool,
    pub item: T,
}
