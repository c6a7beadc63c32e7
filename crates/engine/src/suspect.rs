//! Suspect deliveries: several nodes in a row held one when they died, so it may be what kills them. The
//! engine notes the attempt in the store before it begins, so that a delivery is given up only for
//! deaths during its own attempts.

use std::sync::Arc;

use gancho_store::nodes::SUSPECT_LEASES;

use crate::{
    Engine,
    lane::Ticket,
    recovery::{Backoff, Recovery},
};

/// Returns whether the delivery may be tried. If not, another node holds it or the engine is stopping.
pub(crate) async fn may_try(engine: &Arc<Engine>, ticket: &Ticket) -> bool {
    let job = &ticket.job;
    if job.lost_leases < SUSPECT_LEASES {
        return true;
    }
    tracing::warn!(delivery = %job.delivery, lost_leases = job.lost_leases, "trying a suspect delivery");
    Box::pin(note_attempt(engine, ticket)).await
}

async fn note_attempt(engine: &Arc<Engine>, ticket: &Ticket) -> bool {
    let mut backoff = Backoff::new();
    loop {
        match engine.store.note_attempt(ticket.node, ticket.lease()).await {
            // Writing the note may have outlasted the lease.
            Ok(held) => return held && engine.membership.current() == Some(ticket.node),
            // A delivery whose attempt cannot be noted is tried anyway.
            Err(error) if error.is_permanent() => return true,
            Err(error) => match engine.recovery_for("note_attempt", ticket.node, &error) {
                Recovery::Retry => backoff.wait().await,
                Recovery::Fenced | Recovery::Stop => return false,
            },
        }
    }
}
