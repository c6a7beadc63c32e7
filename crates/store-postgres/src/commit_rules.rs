//! Settings that transactions need in addition to their calls.

use std::{sync::Arc, time::Duration};

use crate::{expiry_time::ExpiryTime, listen::Bells, orphaned_leases::OrphanedLeases};

#[derive(Clone)]
pub(crate) struct CommitRules {
    pub bells: Arc<Bells>,
    pub orphaned_leases: Arc<OrphanedLeases>,
    pub dead_letter_ttl: Duration,
    pub over: ExpiryTime,
}
