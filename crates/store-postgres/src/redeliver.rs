//! Sends a stored event to more targets.

use std::sync::Arc;

use gancho_domain::{EventId, Parcel, TenantScope};
use gancho_store::{NewDelivery, NewParcel, NodeId, Result};
use uuid::Uuid;

use crate::{
    PostgresStore,
    accept::{BatchParcel, insert_deliveries, place},
    order,
    rows::{self, PARCEL, uuid},
    session::{Session, Transaction, execute, query},
    time_buckets,
    tx_error::{TxError, error_of},
};

/// Maximum retries of a transaction that conflicts with another.
const MAX_TRIES: u32 = 5;

impl PostgresStore {
    /// Redelivers an event. Skips deliveries that the event has already, so a repeated call does no harm, and
    /// if the answer to a commit is lost, the transaction is simply run again.
    pub(crate) async fn add_deliveries(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: &[NewDelivery],
    ) -> Result<bool> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.add_deliveries_once(scope, event, deliveries).await {
                Err(TxError::Retry(error)) if tries < MAX_TRIES => {
                    tracing::debug!(%error, tries, "retrying to redeliver an event");
                }
                done => return done.map_err(TxError::into_error),
            }
        }
    }

    async fn add_deliveries_once(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: &[NewDelivery],
    ) -> Result<bool, TxError> {
        let transaction = Transaction::begin(self.session_of(Some(scope.tenant())).await?).await?;
        let session = transaction.session()?;
        let there = add(session, scope, event, deliveries).await?;
        transaction.commit().await.map_err(|error| TxError::Retry(error_of(&error)))?;
        Ok(there)
    }
}

async fn add(
    session: &Session,
    scope: TenantScope,
    event: EventId,
    deliveries: &[NewDelivery],
) -> Result<bool, TxError> {
    let Some((parcel, number, _)) = find(session, scope, event, "").await? else {
        return Ok(false);
    };
    if parcel.erased_at.is_some() {
        return Ok(false);
    }
    // The subject's row before the parcel's: the holder of a subject never waits for a parcel.
    if let Some(subject) = &parcel.subject {
        order::lock(session, &[], &[(parcel.tenant, subject)]).await?;
    }
    // It may have been pruned meanwhile. From here on it cannot be.
    let Some((parcel, _, known)) = find(session, scope, event, "for update").await? else {
        return Ok(false);
    };
    if parcel.erased_at.is_some() {
        return Ok(false);
    }
    let new: Vec<NewParcel> = deliveries
        .iter()
        .filter(|to| !known.contains(&uuid(to.id)))
        .map(|to| NewParcel {
            // Its expiry counts from its creation: with the event's own time, that of an old event would be
            // expired at once.
            parcel: Arc::new(Parcel { created_at: to.id.time(), ..Parcel::clone(&parcel) }),
            once: None,
            ledger: None,
            deliveries: vec![NewDelivery { hold: false, ..to.clone() }],
        })
        .collect();
    let fresh: Vec<BatchParcel<'_>> =
        new.iter().map(|new| BatchParcel { new, holder: NodeId(0), is_intake: false }).collect();
    let placed = place(session, &fresh).await?;
    insert_deliveries(session, &fresh, &placed, &vec![number; fresh.len()]).await?;
    let sent = new.iter().flat_map(|new| &new.deliveries);
    let sent = sent.map(|to| time_buckets::of(scope.tenant(), to)).collect();
    time_buckets::write(session, &sent).await?;
    let ids: Vec<Uuid> = new.iter().flat_map(|new| &new.deliveries).map(|to| uuid(to.id)).collect();
    let sql = "update parcels set deliveries = deliveries || $3::uuid[]
        where tenant_id = $1 and id = $2";
    execute(session, sql, &[&uuid(scope.tenant()), &uuid(event), &ids]).await?;
    Ok(true)
}

type EventDeliveries = (Arc<Parcel>, Option<u64>, Vec<Uuid>);

/// Returns the event, its number and its deliveries.
async fn find(
    session: &Session,
    scope: TenantScope,
    event: EventId,
    lock: &str,
) -> Result<Option<EventDeliveries>, TxError> {
    let sql = format!(
        "select {PARCEL}, p.deliveries from parcels p where p.tenant_id = $1 and p.id = $2 {lock}"
    );
    let found = query(session, &sql, &[&uuid(scope.tenant()), &uuid(event)]).await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let (parcel, number) = rows::parcel(row, 0)?;
    Ok(Some((parcel, number, rows::get(row, 12)?)))
}
