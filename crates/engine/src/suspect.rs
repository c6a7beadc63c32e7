//! A delivery that several nodes in a row held when they died may be what kills them. Before such a
//! one is tried, the store is told, so that only what was on the wire is ever given up for it.

use std::sync::Arc;

use gancho_store::nodes::SUSPECT_LEASES;

use crate::{
    Engine,
    lane::Ticket,
    recovery::{Backoff, Recovery},
};

/// Whether the delivery may be tried. If not, another holds it, or the engine stops.
pub(crate) async fn may_try(engine: &Arc<Engine>, ticket: &Ticket) -> bool {
    let job = &ticket.job;
    if job.lost_leases < SUSPECT_LEASES {
        return true;
    }
    tracing::warn!(delivery = %job.delivery, lost_leases = job.lost_leases, "retrying suspect delivery");
    let mut backoff = Backoff::new();
    loop {
        match engine.store.note_attempt(ticket.node, job.tenant, job.delivery).await {
            // The note may have taken longer than the lease is good for.
            Ok(held) => return held && engine.membership.current() == Some(ticket.node),
            // What cannot be noted is tried all the same.
            Err(error) if error.is_permanent() => return true,
            Err(error) => match engine.recovery_for("note_attempt", ticket.node, &error) {
                Recovery::Retry => backoff.wait().await,
                Recovery::Fenced | Recovery::Stop => return false,
            },
        }
    }
}
