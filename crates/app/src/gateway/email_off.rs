//! E-mails that were accepted before e-mail was turned off.
//!
//! They wait in the store and are sent if e-mail is turned on again in time. No lane runs meanwhile, so this
//! task expires them: those that are too old become dead letters, as they would with a running lane.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, Lane, Time};
use gancho_engine::Engine;
use gancho_store::{Result, Store};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

const LOOK_EVERY: Duration = Duration::from_mins(1);
/// Time for a node that sends e-mail to expire them itself and report `email.failed`.
const GRACE: Duration = Duration::from_hours(1);
/// Deliveries per step.
const STEP: usize = 500;

/// Returns their number.
pub async fn count(store: &dyn Store) -> Result<u64> {
    let depths = store.depths().await?;
    let of_email = depths.iter().filter(|depth| depth.lane == Lane::Email);
    Ok(of_email.map(|depth| depth.pending + depth.leased + depth.waiting).sum())
}

/// Expires those that are older than `expiry`, until stopped.
pub fn watch(
    store: Arc<dyn Store>,
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    expiry: Duration,
    tasks: &TaskTracker,
    stop: CancellationToken,
) {
    tasks.spawn(async move {
        while tokio::time::timeout(LOOK_EVERY, stop.cancelled()).await.is_err() {
            let now = clock.now();
            if !engine.trusts_clock(now) {
                continue;
            }
            match expire(&*store, expiry, now).await {
                Ok(0) => {}
                Ok(count) => tracing::warn!(count, "e-mails expired while e-mail is off"),
                Err(error) => tracing::warn!(%error, "could not expire waiting e-mails"),
            }
        }
    });
}

async fn expire(store: &dyn Store, expiry: Duration, now: Time) -> Result<u64> {
    let mut expired = 0;
    loop {
        let gone = store.expire(Lane::Email, now - (expiry + GRACE), STEP, now).await?;
        expired += gone.len() as u64;
        if gone.len() < STEP {
            return Ok(expired);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use gancho_domain::{Code, IdMaker, Parcel, ParcelKind, SystemClock, SystemRandom, Tenant};
    use gancho_mail::limits::EXPIRY;
    use gancho_store::{DeadFilter, NewDelivery, NewParcel, PageRequest};
    use gancho_store_sqlite::{Options, SqliteStore};

    use super::*;

    // faults.md 27
    #[tokio::test]
    async fn they_wait_for_a_day_and_are_then_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            SqliteStore::open(&Options::at(folder.path().join("test.db"))).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = IdMaker::new(clock.clone(), Arc::new(SystemRandom));
        let now = clock.now();
        let tenant = Tenant::new(ids.make(), "m2", now);
        store.create_tenant(tenant.clone()).await.unwrap();
        let node = store.join("test", now).await.unwrap();
        let parcel = Parcel {
            id: ids.make(),
            tenant: tenant.id,
            kind: ParcelKind::Email,
            event_type: "email".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: "{}".into(),
            created_at: now,
            trace: None,
            erased_at: None,
        };
        let delivery = NewDelivery {
            id: ids.make(),
            lane: Lane::Email,
            target: ids.make(),
            due_at: now,
            in_order: false,
            hold: false,
        };
        let new = NewParcel {
            parcel: Arc::new(parcel),
            once: None,
            ledger: None,
            deliveries: vec![delivery],
        };
        store.accept(vec![new], node).await.unwrap();
        assert_eq!(count(&*store).await.unwrap(), 1);
        assert_eq!(
            expire(&*store, EXPIRY, now + EXPIRY).await.unwrap(),
            0,
            "another node may send it"
        );
        assert_eq!(expire(&*store, EXPIRY, now + EXPIRY + 2 * GRACE).await.unwrap(), 1);
        assert_eq!(count(&*store).await.unwrap(), 0);
        let filter = DeadFilter { tenant: Some(tenant.id), ..DeadFilter::default() };
        let dead = store.dead_letters(filter, PageRequest::first(10)).await.unwrap();
        assert_eq!(dead.rows.len(), 1);
        assert_eq!(*dead.rows[0].failure.code(), Code::EXPIRED);
    }
}
